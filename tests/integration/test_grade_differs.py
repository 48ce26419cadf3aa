# SPDX-License-Identifier: MIT
"""Which records rubricctl grade refuses because tests of theirs would not be run."""

import json

import pytest
from test_grade_formats import SUM, Place, pack


@pytest.fixture(name="place")
def make_place(tmp_path):
    return Place(tmp_path)


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
