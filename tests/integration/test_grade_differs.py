# SPDX-License-Identifier: MIT
"""What rubricctl grade does otherwise than the data sets' own projects, which --list-formats says, and which records
it refuses because tests of theirs would not be run."""

import json

import pytest
from test_grade_formats import SUM, Place, pack


@pytest.fixture(name="place")
def make_place(tmp_path):
    return Place(tmp_path)


def listed(place, name):
    """Returns what --list-formats says of the format, as one line."""
    (entry,) = [text for text in place.run("--list-formats").stdout.split("\n\n") if text.startswith(f"{name}: ")]
    return " ".join(entry.split())


VALUES = (
    "the values of calls are compared as JSON has them: a tuple in another value is a list, a key that is a number is "
    "its text, an array of NumPy's is a list; what JSON has not (Fraction, Decimal, complex) is no answer, though "
    "Python's == may find it equal"
)

# What a function returns, and whether that is right where a JSON value is expected.
RETURNED = [
    ("[(1, 2), [3]]", [[1, 2], [3]], "pass"),
    ("{1: 2}", {"1": 2}, "pass"),
    ("type('Array', (), {'tolist': lambda self: [1, 2]})()", [1, 2], "pass"),
    ("__import__('fractions').Fraction(2)", 2, "runtime_error"),
    ("__import__('decimal').Decimal(2)", 2, "runtime_error"),
    ("2 + 0j", 2, "runtime_error"),
]


def test_values_of_calls(place):
    """NumPy is not needed: what stands in for an array has the method that makes a list of it."""
    rows, samples = [], []
    for number, (returned, expected, _) in enumerate(RETURNED):
        calls = [{"input": "1", "output": json.dumps(expected), "testtype": "functional"}]
        rows.append({"question_id": f"l{number}", "public_test_cases": json.dumps(calls), "metadata": {"func_name": "f"}})
        samples.append({"question_id": f"l{number}", "solution": f"def f(n):\n    return {returned}\n"})
    _, verdicts = place.grade(rows, samples)
    assert verdicts == [verdict for _, _, verdict in RETURNED]
    rows = [{"id": f"a{number}", "input_output": {"fn_name": "f", "inputs": [[1]], "outputs": [expected]}}
            for number, (_, expected, _) in enumerate(RETURNED)]  # fmt: skip
    samples = [{"id": f"a{number}", "solution": f"def f(n):\n    return {returned}\n"}
               for number, (returned, _, _) in enumerate(RETURNED)]  # fmt: skip
    _, verdicts = place.grade(rows, samples)
    assert verdicts == [verdict for _, _, verdict in RETURNED]
    assert VALUES in listed(place, "livecodebench") and VALUES in listed(place, "apps")


def test_a_status_of_apps(place):
    row = {"id": 1, "input_output": {"inputs": ["1 2\n"], "outputs": ["3\n"]}}
    samples = [{"id": 1, "solution": SUM + f"raise SystemExit({status})\n"} for status in (0, 1)]
    _, verdicts = place.grade([row], samples)
    assert verdicts == ["pass", "runtime_error"]
    assert "a wrong exit status fails a test, whatever its output" in listed(place, "apps")


def test_answers_of_cruxeval(place):
    row = {"id": "s", "code": "import math\ndef f(a):\n    return a, math.floor(a)", "input": "2", "output": "(2, 2)"}
    samples = [{"id": "s", "solution": text} for text in ("2, 2", "(2, math.floor(2))", "(2, __import__('math').floor(2))")]
    _, verdicts = place.grade([row], samples)
    assert verdicts == ["pass", "assertion_fail", "pass"]
    said = listed(place, "cruxeval-o")
    assert "a bare `1, 2` is the tuple, where an assertion of it fails" in said
    assert "nor what the record's code imports" in said
    # An input may use it: the code is a part of the tests there, and what tests import, the answer has, too.
    _, verdicts = place.grade([row], [{"id": "s", "solution": "f(math.floor(2))"}], "--format", "cruxeval-i")
    assert verdicts == ["pass"] and "imports" not in listed(place, "cruxeval-i")


# --- tests that would not be run -------------------------------------------------------------------------------------

PACKED = {"inputs": ["1 2\n"], "outputs": ["3"], "fn_name": None}
CASE = {"input": "1 2\n", "output": "3", "testtype": "stdin"}


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"name": 1, "public_tests": {"input": ["1 2"], "output": ["3"], "hidden_input": ["3 4"]}},
         "public_tests.hidden_input: it has tests that would not be run: expected only input and output"),
        ({"id": 1, "input_output": json.dumps(PACKED | {"hidden_inputs": ["3 4"]})},
         "input_output.hidden_inputs: it has tests that would not be run: expected only inputs, outputs and fn_name"),
        ({"question_id": 1, "private_test_cases": pack(json.dumps([CASE | {"hidden_output": "7"}]))},
         "private_test_cases[0].hidden_output: it has tests that would not be run: expected only input, output and "
         "testtype"),
        ({"id": 1, "labels": "{}", "test": pack({"input_output": json.dumps(PACKED | {"tests": ["x"]})})},
         "test: input_output.tests: it has tests that would not be run: expected only inputs, outputs and fn_name"),
        ({"id": 1, "labels": "{}", "test": pack({"input_output": json.dumps(PACKED | {"fn_nam": "f"})})},
         "test: input_output.fn_nam: it is not read; did you mean fn_name?"),
        ({"id": 1, "input_output": PACKED, "cases": [{"input": "3 4", "output": "7"}]},
         "cases: it has tests that would not be run: a task of APPS/TACO has none there (--format chooses another "
         "format; --list-formats)"),
        ({"name": 1, "public_tests": {"input": ["1 2"], "output": ["3"]}, "checker": "int main() {}"},
         "checker: it says how to judge outputs, which would not be done: a task of CodeContests has none there "
         "(--format chooses another format; --list-formats)"),
    ],
)  # fmt: skip
def test_a_record_with_further_tests_is_unusable(place, row, complaint):
    place.write("tasks.jsonl", [row])
    place.write("samples.jsonl", [{"id": 1, "task_id": 1, "solution": SUM}])
    done = place.run("--quiet", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"rubricctl: tasks.jsonl:1: {complaint}")
