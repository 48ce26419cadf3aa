# SPDX-License-Identifier: MIT
"""Checks the example bench: its rubrics give the expected verdicts and valid scores."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[1] / "data" / "bench"
PYTHON = "/usr/bin/python3"
SCRUBBED_ENV = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8",
}
TASK_CLASSES = ("exact-match", "sql-answer", "unified-diff", "json-extraction")
JOB_FIELDS = {"id", "kind", "task_class", "case", "harness_output", "sut"}
DEADLINE_SECONDS = 60


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; refuse duplicate keys."""
    found = dict(pairs)
    assert len(found) == len(pairs), "duplicate key"
    return found


def refuse_constant(name: str) -> None:
    """Refuse NaN and the infinities, which are not JSON."""
    raise AssertionError(f"{name} is not JSON")


def strict_json(text: str) -> Any:
    """Read JSON the way the daemon does."""
    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse_constant)


def read_lines(name: str) -> list[dict[str, Any]]:
    """Read a JSON Lines file of the bench."""
    return [strict_json(line) for line in (BENCH / name).read_text("utf-8").splitlines()]


JOBS = read_lines("cases.jsonl")
EXPECTED = {verdict["id"]: verdict for verdict in read_lines("expected.jsonl")}
RUBRIC_JOBS = {job["id"]: job for job in JOBS if "sut" not in job}
PASSING = {name: job for name, job in RUBRIC_JOBS.items() if EXPECTED[name]["passed"]}


def passing(task_class: str) -> list[str]:
    """Return the ids of the passing jobs of a task class."""
    return [name for name in PASSING if name.startswith(f"{task_class}/")]


def run_rubric(rubric: Path, request: Any, cwd: Path) -> bytes:
    """Run a rubric as the daemon does, and return what it wrote to stdout."""
    done = subprocess.run(
        [PYTHON, "-s", "-B", str(rubric)],
        input=json.dumps(request).encode(),
        env=SCRUBBED_ENV,
        cwd=cwd,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    assert done.stderr == b""
    return done.stdout


def run_job(job: dict[str, Any], cwd: Path) -> bytes:
    """Run the rubric of one line of cases.jsonl in a new directory."""
    cwd.mkdir()
    output = run_rubric(
        BENCH / job["task_class"] / "rubric.py",
        {"case": job["case"], "harness_output": job["harness_output"]},
        cwd,
    )
    assert not list(cwd.iterdir()), "the rubric left files behind"
    return output


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite JSON number; true and false are not."""
    return type(value) in (int, float) and math.isfinite(value)


def assert_sound(task_class: str, score: Any) -> None:
    """Assert that a value is a BenchScore that uses only names that the task class declares."""
    declared = strict_json((BENCH / task_class / "task_class.json").read_text("utf-8"))
    assert set(score) == {"passed", "score", "breakdown", "failure_modes", "cost_usd"}
    assert type(score["passed"]) is bool
    assert is_number(score["score"]) and 0 <= score["score"] <= 1
    assert is_number(score["cost_usd"]) and score["cost_usd"] >= 0
    assert set(score["breakdown"]) <= set(declared["breakdown_keys"])
    assert all(is_number(value) for value in score["breakdown"].values())
    for mode in score["failure_modes"]:
        assert {"code", "severity"} <= set(mode) <= {"code", "severity", "detail"}
        assert all(type(value) is str for value in mode.values())
        assert mode["code"] in declared["failure_modes"]
        assert mode["severity"] in ("block", "warn", "info")
        mode.get("detail", "").encode("utf-8")
        assert len(mode.get("detail", "")) <= 200
    blocked = any(mode["severity"] == "block" for mode in score["failure_modes"])
    assert score["passed"] is not blocked


def codes(score: dict[str, Any]) -> list[str]:
    """Return a score's failure-mode codes in order."""
    return [mode["code"] for mode in score["failure_modes"]]


@pytest.fixture(scope="session", name="rubrics")
def load_rubrics() -> dict[str, ModuleType]:
    """Import each rubric as the author's tests of a bench would, without leaving bytecode."""
    loaded = {}
    wrote_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    search_path = sys.path[:]
    try:
        for task_class in TASK_CLASSES:
            name = "bench_" + task_class.replace("-", "_")
            spec = importlib.util.spec_from_file_location(name, BENCH / task_class / "rubric.py")
            assert spec and spec.loader
            loaded[task_class] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded[task_class])
    finally:
        sys.dont_write_bytecode = wrote_bytecode
        sys.path[:] = search_path
    return loaded


# The data


def test_each_job_has_one_expectation() -> None:
    assert [job["id"] for job in JOBS] == list(EXPECTED)
    assert len(JOBS) == len(EXPECTED)


def test_jobs_are_batch_lines() -> None:
    for job in JOBS:
        assert set(job) - {"sut"} == JOB_FIELDS - {"sut"}
        assert job["kind"] == "rubric"
        assert job["task_class"] in TASK_CLASSES
        assert job["id"].startswith(job["task_class"] + "/")
        assert len(job["id"].encode()) <= 128
        assert type(job["case"]["case_id"]) is str
        assert 0 < job["case"].get("rubric_wall_clock_seconds", 60) <= 300


def test_the_batch_is_balanced() -> None:
    assert len(JOBS) >= 72
    for task_class in TASK_CLASSES:
        ours = [name for name in RUBRIC_JOBS if name.startswith(task_class + "/")]
        assert len(ours) >= 15
        assert 1 / 3 <= len(passing(task_class)) / len(ours) <= 2 / 3
    assert Counter(job["sut"]["status"] for job in JOBS if "sut" in job) == {
        "exception": 2,
        "timeout": 2,
    }


def test_a_failed_harness_is_no_verdict_of_a_rubric() -> None:
    for job in JOBS:
        if "sut" in job:
            assert EXPECTED[job["id"]] == {
                "id": job["id"],
                "passed": False,
                "score": 0.0,
                "failure_modes": ["sut." + job["sut"]["status"]],
            }


def test_every_declared_failure_mode_occurs() -> None:
    seen = {code for verdict in EXPECTED.values() for code in verdict["failure_modes"]}
    for task_class in TASK_CLASSES:
        declared = strict_json((BENCH / task_class / "task_class.json").read_text("utf-8"))
        assert set(declared) == {"breakdown_keys", "failure_modes"}
        # These two need an answer that is too long to ship.
        missing = set(declared["failure_modes"]) - seen - {"diff.too_large", "extraction.too_long"}
        assert not missing


# The verdicts


@pytest.mark.parametrize("name", RUBRIC_JOBS)
def test_verdict(name: str, tmp_path: Path) -> None:
    job = RUBRIC_JOBS[name]
    output = run_job(job, tmp_path / "first")
    score = strict_json(output.decode("utf-8"))
    assert_sound(job["task_class"], score)
    assert EXPECTED[name] == {
        "id": name,
        "passed": score["passed"],
        "score": score["score"],
        "failure_modes": codes(score),
    }
    assert score["cost_usd"] == job["harness_output"].get("cost_usd", 0)
    assert run_job(job, tmp_path / "second") == output


BAD_OUTPUTS = {
    "null": None,
    "a number": 7,
    "a list": [],
    "empty": {},
    "answer null": {"answer": None},
    "answer a number": {"answer": 7},
    "answer an object": {"answer": {"answer": "x"}},
    "answer empty": {"answer": ""},
    "answer blank": {"answer": "\n \t\u00a0"},
    "answer huge": {"answer": "x " * 1_000_000},
    "answer all brackets": {"answer": "{[(" * 3_000},
    "answer with nul": {"answer": "a\0b"},
    "answer with a lone surrogate": {"answer": "--- a/\ud800\n+++ b/\ud800\n@@ -1 +1 @@\n-a\n+b\n"},
    "cost of a wrong type": {"answer": "?", "cost_usd": "free"},
    "cost true": {"answer": "?", "cost_usd": True},
    "cost negative": {"answer": "?", "cost_usd": -0.5},
    "cost beyond a double": {"answer": "?", "cost_usd": 10**400},
}


@pytest.mark.parametrize("bad", BAD_OUTPUTS)
@pytest.mark.parametrize("task_class", TASK_CLASSES)
def test_bad_harness_output_fails_the_case(task_class: str, bad: str, tmp_path: Path) -> None:
    job = RUBRIC_JOBS[passing(task_class)[0]]
    output = run_job({**job, "harness_output": BAD_OUTPUTS[bad]}, tmp_path / "cwd")
    score = strict_json(output.decode("utf-8"))
    assert_sound(task_class, score)
    assert score["passed"] is False
    assert score["score"] < 0.5
    assert score["cost_usd"] == 0


def test_the_readme_example_works(tmp_path: Path) -> None:
    example = re.search(r"```python\n(.*?)```", (BENCH / "README.md").read_text("utf-8"), re.DOTALL)
    assert example
    rubric = tmp_path / "rubric.py"
    rubric.write_text(example[1], "utf-8")
    case = {"low": 10, "high": 20}
    for answer, passed in (("13", True), ("15", False), ("23", False), ("a prime", False)):
        request = {"case": case, "harness_output": {"answer": answer}}
        score = strict_json(run_rubric(rubric, request, tmp_path).decode())
        assert score["passed"] is passed
        assert score["score"] == float(passed)


# exact-match


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "1000.0"),
        ("1e3", "1000"),
        ("-5", "\u22125"),
        (".5", "0.50"),
        ("3½", "3 1/2"),
        ("10²", "10^2"),
        ("The Hague", "hague"),
        ("an apple", "Apple."),
        ("The The", "the"),
        ("Straße", "STRASSE"),
        ("e\u0301clair", "éclair"),
        ("zero\u200bwidth", "zerowidth"),
        ("U.S.", "US"),
        ("O’Brien", "O'Brien"),
        ("twenty-one", "twenty one"),
        ("5 km", "5km"),
        ("1990–1995", "1990-1995"),
    ],
)
def test_equal_answers(rubrics: dict[str, ModuleType], one: str, other: str) -> None:
    tokens = rubrics["exact-match"].tokens
    assert tokens(one) == tokens(other) != []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5", "-5"),
        ("3.14", "314"),
        ("10²", "102"),
        ("3½", "31/2"),
        ("007", "7"),
        ("C++", "C"),
        ("C#", "C"),
        ("50%", "50"),
        ("$5", "€5"),
        ("Vitamin A", "Vitamin"),
        ("1,000", "1,00"),
        ("दिल्ली", "दल"),
        ("9" * 39 + "1", "9" * 39 + "2"),
    ],
)
def test_different_answers(rubrics: dict[str, ModuleType], one: str, other: str) -> None:
    tokens = rubrics["exact-match"].tokens
    assert tokens(one) != tokens(other)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Canberra", "Canberra"),
        ("It is an old city.\nAnswer: Rome", "Rome"),
        ("**Final Answer:** 42", "42"),
        ("The answer is: 7", "The answer is: 7"),
        ("Answer:\n\n  **Bob**\nHope this helps!", "Bob"),
        ("Answer: 1\nNo.\nAnswer: 2", "2"),
        ("Answer:", ""),
    ],
)
def test_final_answer(rubrics: dict[str, ModuleType], text: str, answer: str) -> None:
    assert rubrics["exact-match"].final_answer(text) == answer


# sql-answer

ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"


def query_case(gold: str, ordered: bool) -> dict[str, Any]:
    """Return a case over one small table."""
    return {
        "case_id": "t",
        "schema": "CREATE TABLE t (a INTEGER, b TEXT);",
        "rows": {"t": [[1, "x"], [2, "y"], [2, "y"], [None, "z"]]},
        "gold_sql": gold,
        "ordered": ordered,
    }


def run_query(rubrics: dict[str, ModuleType], answer: str, ordered: bool = False) -> dict[str, Any]:
    """Grade a query that should give all rows of the table by `b`."""
    case = query_case("SELECT a, b FROM t ORDER BY b", ordered)
    score = rubrics["sql-answer"].score(case, {"answer": answer})
    assert_sound("sql-answer", score)
    return score


def test_order_counts_only_where_asked_for(rubrics: dict[str, ModuleType]) -> None:
    backwards = "SELECT a, b FROM t ORDER BY b DESC"
    assert run_query(rubrics, backwards)["passed"]
    score = run_query(rubrics, backwards, ordered=True)
    assert codes(score) == ["sql.wrong_order"]
    assert score["score"] == 0.5


def test_numbers_compare_by_value(rubrics: dict[str, ModuleType]) -> None:
    case = query_case("SELECT 0.3, 3", False)
    score = rubrics["sql-answer"].score
    assert score(case, {"answer": "SELECT 0.1 + 0.2, 3.0"})["passed"]
    assert not score(case, {"answer": "SELECT 0.30001, 3"})["passed"]
    assert not score(case, {"answer": "SELECT 0.3, '3'"})["passed"]


def test_duplicate_rows_count(rubrics: dict[str, ModuleType]) -> None:
    score = run_query(rubrics, "SELECT DISTINCT a, b FROM t")
    assert codes(score) == ["sql.wrong_rows"]
    assert score["breakdown"]["row_f1"] == round(6 / 7, 6)


@pytest.mark.parametrize("name", passing("sql-answer"))
def test_a_dropped_row_never_passes(name: str, rubrics: dict[str, ModuleType]) -> None:
    rubric = rubrics["sql-answer"]
    query = rubric.extract_query(PASSING[name]["harness_output"]["answer"])
    # The newline ends a comment at the end of the query.
    mutant = f"SELECT * FROM ({query.split(';')[0]}\n) LIMIT -1 OFFSET 1"
    score = rubric.score(PASSING[name]["case"], {"answer": mutant})
    assert codes(score) == ["sql.wrong_rows"]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (3, 'q')",
        "INSERT INTO t VALUES (3, 'q') RETURNING a, b",
        "UPDATE t SET a = 0",
        "DELETE FROM t",
        "DROP TABLE t",
        "CREATE TABLE u AS SELECT * FROM t",
        "ATTACH DATABASE 'other.db' AS other",
        "VACUUM INTO 'copy.db'",
        "PRAGMA hard_heap_limit = 0",
        "SELECT * FROM pragma_table_info('t')",
        "BEGIN",
        "SELECT load_extension('evil')",
        "SELECT randomblob(9)",
        "SELECT a, b FROM t; SELECT 1",
        "SELECT a, b FROM t; DROP TABLE t",
        "WITH gone AS (SELECT 1) DELETE FROM t",
    ],
)
def test_only_reading_is_allowed(statement: str, rubrics: dict[str, ModuleType]) -> None:
    assert codes(run_query(rubrics, statement)) == ["sql.forbidden"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (f"{ENDLESS} SELECT n FROM c", "sql.too_large"),
        (f"{ENDLESS} SELECT max(n) FROM c", "sql.too_slow"),
        (f"{ENDLESS} SELECT hex(zeroblob(8000)) FROM c LIMIT 1000", "sql.too_large"),
        ("SELECT zeroblob(1000000)", "sql.too_large"),
        ("SELECT group_concat(hex(zeroblob(4000))) FROM t", "sql.too_large"),
        ("-- nothing here", "sql.syntax"),
        ("SELECT ?", "sql.invalid"),
        ("SELECT cast(x'ff' AS TEXT)", "sql.invalid"),
    ],
)
def test_a_query_that_fails(query: str, code: str, rubrics: dict[str, ModuleType]) -> None:
    assert codes(run_query(rubrics, query)) == [code]


def test_the_step_budget_is_the_case_s(rubrics: dict[str, ModuleType]) -> None:
    case = {**query_case("SELECT count(*) FROM t", False), "max_steps": 1_000}
    cross = "SELECT count(*) FROM t, t AS u, t AS v, t AS w, t AS x"
    assert codes(rubrics["sql-answer"].score(case, {"answer": cross})) == ["sql.too_slow"]


# unified-diff


def patch_files(rubrics: dict[str, ModuleType], files: dict[str, str], diff: str) -> Any:
    """Apply a diff to the files and return the outcome."""
    unidiff = rubrics["unified-diff"].unidiff
    return unidiff.apply(files, unidiff.parse(diff))


def refusal(rubrics: dict[str, ModuleType], diff: str) -> str:
    """Parse a malformed diff and return the code of its failure mode."""
    unidiff = rubrics["unified-diff"].unidiff
    with pytest.raises(unidiff.DiffError) as caught:
        unidiff.parse(diff)
    return caught.value.code


@pytest.mark.parametrize("name", passing("unified-diff"))
def test_wrong_context_does_not_apply(
    name: str, rubrics: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changing any context or removed line of the diff makes it fail to apply."""
    monkeypatch.chdir(tmp_path)
    job = PASSING[name]
    lines = job["harness_output"]["answer"].split("\n")
    first_hunk = next(at for at, line in enumerate(lines) if line.startswith("@@"))
    mutants = 0
    for at, line in enumerate(lines):
        sign_off = line.startswith("-- ") or line.startswith("--- ")
        if at > first_hunk and line[:1] in (" ", "-") and not sign_off:
            mutant = [*lines[:at], line + "#", *lines[at + 1 :]]
            score = rubrics["unified-diff"].score(job["case"], {"answer": "\n".join(mutant)})
            assert codes(score) == ["diff.does_not_apply"], line
            mutants += 1
    assert mutants


def test_the_nearest_match_is_taken(rubrics: dict[str, ModuleType]) -> None:
    text = "x\n" + "same\n" * 5 + "y\n"
    diff = "--- a/f\n+++ b/f\n@@ -4 +4 @@\n-same\n+new\n"
    applied = patch_files(rubrics, {"f": text}, diff)
    assert applied.files["f"] == "x\nsame\nsame\nnew\nsame\nsame\ny\n"
    assert (applied.problem, applied.offsets) == ("", 0)


def test_a_hunk_never_reaches_back_before_the_last_one(rubrics: dict[str, ModuleType]) -> None:
    diff = "--- a/f\n+++ b/f\n@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n"
    assert patch_files(rubrics, {"f": "a\nb\nc\n"}, diff).problem


def test_drift_carries_over_to_the_next_hunk(rubrics: dict[str, ModuleType]) -> None:
    added = "new\n" * 15
    shifted = added + "".join(f"{n}\n" + added * (n == 20) for n in range(1, 61))
    diff = "--- a/f\n+++ b/f\n@@ -5 +5 @@\n-5\n+five\n@@ -50 +50 @@\n-50\n+fifty\n"
    applied = patch_files(rubrics, {"f": shifted}, diff)
    assert applied.problem == ""
    fixed = shifted.replace("\n5\n", "\nfive\n").replace("\n50\n", "\nfifty\n")
    assert applied.files["f"] == fixed


def test_only_a_newline_ends_a_line(rubrics: dict[str, ModuleType]) -> None:
    diff = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\x0cb\u2028c\n-d\n+e\n"
    applied = patch_files(rubrics, {"f": "a\x0cb\u2028c\nd\n"}, diff)
    assert applied.files["f"] == "a\x0cb\u2028c\ne\n"


def test_a_removed_line_may_look_like_a_header(rubrics: dict[str, ModuleType]) -> None:
    diff = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n keep\n"
    assert patch_files(rubrics, {"f": "-- old\nkeep\n"}, diff).files["f"] == "++ new\nkeep\n"


@pytest.mark.parametrize(
    "path",
    [
        "../up",
        "a/../../up",
        "/etc/passwd",
        "~/x",
        "..\\up",
        "C:/x",
        ".git/config",
        "sub/.git/hooks/x",
    ],
)
@pytest.mark.parametrize(
    "header",
    [
        "--- {}\n+++ {}",
        "--- a/{}\n+++ b/{}",
        "--- a/{}\n+++ /dev/null",
        "--- /dev/null\n+++ b/{}",
        "--- a/f\n+++ b/{}",
    ],
)
def test_paths_outside_of_the_tree(path: str, header: str, rubrics: dict[str, ModuleType]) -> None:
    head = header.replace("{}", path)
    assert refusal(rubrics, f"{head}\n@@ -1 +1 @@\n-a\n+b\n") == "diff.outside_tree"


@pytest.mark.parametrize(
    "diff",
    [
        "no diff at all",
        "--- a/f\n+++ b/f\n",
        "--- a/f\n@@ -1 +1 @@\n-a\n+b\n",
        "@@ -1 +1 @@\n-a\n+b\n",
        "--- a/f\n+++ b/f\n@@ -1 +1\n-a\n+b\n",
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n+c\n",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n-b\n+c\n",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n b\n",
        "--- a/f\n+++ b/f\n@@ -x +y @@\n-a\n+b\n",
        "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/g b/g\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/f\n+++ b/f//g\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/f\n+++ b/" + "n" * 256 + "\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_malformed_diffs(diff: str, rubrics: dict[str, ModuleType]) -> None:
    assert refusal(rubrics, diff) == "diff.malformed"


@pytest.mark.parametrize(
    "diff",
    [
        "--- a/gone\n+++ b/gone\n@@ -1 +1 @@\n-a\n+b\n",
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n",
        "--- /dev/null\n+++ b/f/g\n@@ -0,0 +1 @@\n+b\n",
        "--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+b\n",
        "--- a/f\n+++ b/d/e\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
    ],
)
def test_diffs_that_do_not_fit_the_tree(diff: str, rubrics: dict[str, ModuleType]) -> None:
    assert patch_files(rubrics, {"f": "a\n", "d/e": "e\n"}, diff).problem


@pytest.mark.parametrize(
    "source", ["x = (", "\0", "(" * 10_000, "-" * 50_000 + "1", "a" + ".b" * 50_000, "if x:\n"]
)
def test_hostile_python_does_not_compile(source: str, rubrics: dict[str, ModuleType]) -> None:
    assert rubrics["unified-diff"].parse_python(source) is None


# json-extraction


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2024-03-05T10:00:00Z", "2024-03-05"),
        ("2024/3/5", "2024-03-05"),
        ("March 5, 2024", "2024-03-05"),
        ("5th of March 2024", "2024-03-05"),
        ("05-Mar-2024", "2024-03-05"),
        ("13/04/2024", "2024-04-13"),
        ("04/13/2024", "2024-04-13"),
        ("04/04/2024", "2024-04-04"),
        ("03/04/2024", None),
        ("2024-02-30", None),
        ("5 March", None),
        (20240305, None),
    ],
)
def test_dates(written: Any, iso: str | None, rubrics: dict[str, ModuleType]) -> None:
    day = rubrics["json-extraction"].normalise.date(written)
    assert (day.isoformat() if day else None) == iso


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (12, "12"),
        (0.1, "0.1"),
        ("1,234.50", "1234.50"),
        ("$1,234.50", "1234.50"),
        ("-$12", "-12"),
        ("(3.00)", "-3.00"),
        ("12 EUR", "12"),
        ("\u22124", "-4"),
        ("1.234,50", None),
        ("12 apples", None),
        ("1,23", None),
        (True, None),
        ([1], None),
    ],
)
def test_numbers(written: Any, value: str | None, rubrics: dict[str, ModuleType]) -> None:
    number = rubrics["json-extraction"].normalise.number(written)
    assert (str(number) if number is not None else None) == value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("there is none", "no_json"),
        ("a brace {in prose} is none", "no_json"),
        ('{"a": 1,}', "malformed_json"),
        ("{'a': 1}", "malformed_json"),
        ("{a: 1}", "malformed_json"),
        ('{"a": 1, "a": 2}', "malformed_json"),
        ('{"a": Infinity}', "malformed_json"),
        ('{"a": 1e999}', "malformed_json"),
        ('{"a": ' * 5_000, "malformed_json"),
        ('{"a": ' + "9" * 5_000 + "}", "malformed_json"),
        ('{"result": {"a": 1},}', "malformed_json"),
        ('[{"a": 1}]', "not_an_object"),
        ('"{}"', "not_an_object"),
    ],
)
def test_no_object_to_grade(text: str, code: str, rubrics: dict[str, ModuleType]) -> None:
    rubric = rubrics["json-extraction"]
    with pytest.raises(rubric.ExtractionFailed) as caught:
        rubric.extract(text)
    assert caught.value.code == f"extraction.{code}"


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        'Sure: {"a": 1}.',
        '```json\n{"a": 1}\n```',
        '```json\n{"a": 1}',
        'With {braces} in prose: {"a": 1}',
        '{"a": 0} was wrong, {"a": 1} is right',
    ],
)
def test_the_object_is_found(text: str, rubrics: dict[str, ModuleType]) -> None:
    assert rubrics["json-extraction"].extract(text)[0] == {"a": 1}


@pytest.mark.parametrize("name", passing("json-extraction"))
def test_each_field_counts(name: str, rubrics: dict[str, ModuleType]) -> None:
    """Spoiling one field lowers the score by that field's share of the weight."""
    rubric = rubrics["json-extraction"]
    case = PASSING[name]["case"]
    answer = rubric.extract(PASSING[name]["harness_output"]["answer"])[0]
    whole = EXPECTED[name]["score"]
    weights = {field["name"]: field.get("weight", 1) for field in case["fields"]}
    for field in case["fields"]:
        if rubric.field_score(field, answer.get(field["name"])) == 1:
            spoilt = {**answer, field["name"]: {"not": "the value"}}
            score = rubric.score(case, {"answer": json.dumps(spoilt)})
            share = weights[field["name"]] / sum(weights.values())
            assert score["score"] == pytest.approx(whole - share, abs=2e-6)
            assert "extraction.wrong_value" in codes(score)


def test_a_case_nobody_can_pass_is_an_error(rubrics: dict[str, ModuleType]) -> None:
    case = {"case_id": "c", "fields": [{"name": "d", "kind": "date", "value": "soon"}]}
    with pytest.raises(ValueError, match="the reference is not a date"):
        rubrics["json-extraction"].score(case, {"answer": '{"d": "2024-01-01"}'})
