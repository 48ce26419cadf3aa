# SPDX-License-Identifier: MIT
"""What people see of a job that did not pass: the end of what it wrote, where a traceback has its
exception, for every result and not only for the first few."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest
import schema_check
from conftest import DEADLINE, RUBRICCTL, open_up

# Long enough that the first 200 bytes of the traceback end before the exception.
CRASH = """
import json, sys

def the_reference_answer_of_a_case_which_has_to_have_one(case):
    return case["the_reference_answer"]

def score(request):
    return the_reference_answer_of_a_case_which_has_to_have_one(request["case"])

score(json.load(sys.stdin))
"""
EXCEPTION = "KeyError: 'the_reference_answer'"


@pytest.fixture(name="crashed", scope="module")
def run_crashing_rubric(tmp_path_factory):
    """Returns a folder with a bench whose rubric crashes, and the results of two jobs."""
    root = tmp_path_factory.mktemp("crash")
    (root / "bench" / "crash").mkdir(parents=True)
    (root / "bench" / "crash" / "rubric.py").write_text(CRASH)
    open_up(root)
    job = {"kind": "rubric", "task_class": "crash", "case": {}, "harness_output": {}}
    (root / "jobs.jsonl").write_text("".join(json.dumps({**job, "id": name}) + "\n" for name in "ab"))
    done = ctl(root, "batch", "--embedded", "-b", "bench", "jobs.jsonl", "-o", "r.jsonl")
    assert done.returncode == 1, done.stderr
    return root


def ctl(directory, *arguments, **environment):
    return subprocess.run(
        [RUBRICCTL, *arguments],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def test_a_job_without_a_bench_root_is_answered_with_the_option(tmp_path):
    done = ctl(tmp_path, "run", "--embedded", "-t", "crash", "-c", "{}", "--harness-output", "{}")
    assert done.returncode == 4
    assert done.stderr.endswith("has no [rubric] bench_root; name the bench with --bench-root DIR (-b)\n")


def test_detail_stays_the_start_of_stderr(crashed):
    for line in (crashed / "r.jsonl").read_text().splitlines():
        answer = json.loads(line)
        detail = answer["score"]["failure_modes"][0]["detail"]
        assert detail == answer["outcome"]["stderr"][:200]
        assert EXCEPTION not in detail


def test_run_shows_the_traceback(crashed):
    done = ctl(crashed, "run", "--embedded", "-b", "bench", "-t", "crash", "-c", "{}", "--harness-output", "{}")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert "rubricctl:   rubric.malformed_output (block)" in lines
    assert "rubricctl:   all of its standard error:" in lines
    assert lines[-1] == f"rubricctl:     {EXCEPTION}"


def test_run_shows_the_end_of_a_long_stderr(tmp_path):
    code = "import sys; [print('line', n, file=sys.stderr) for n in range(1000)]; sys.exit(3)"
    (tmp_path / "job.json").write_text(json.dumps({"kind": "sandbox", "argv": ["/usr/bin/python3", "-c", code]}))
    done = ctl(tmp_path, "run", "--embedded", "job.json")
    shown = [line for line in done.stderr.splitlines() if re.fullmatch(r"rubricctl:     line \d+", line)]
    assert "rubricctl:   the end of its standard error:" in done.stderr
    assert shown == [f"rubricctl:     line {n}" for n in range(970, 1000)]


def test_text_and_json_show_the_exception(crashed):
    text = ctl(crashed, "report", "r.jsonl").stdout
    assert f"\n            {EXCEPTION}\n" in text
    assert "Traceback" not in text
    report = json.loads(ctl(crashed, "report", "--json", "r.jsonl").stdout)
    schema_check.validate_by("bench-run-report", report)
    assert report["failures"]["shown"][0]["output"].endswith(EXCEPTION)
    assert report["failure_modes"][0]["examples"][0]["output"].endswith(EXCEPTION)


def test_junit_names_the_exception_and_has_the_traceback(crashed):
    suites = ElementTree.fromstring(ctl(crashed, "report", "--junit", "r.jsonl").stdout)
    failures = suites.findall(".//failure")
    assert [failure.get("message") for failure in failures] == [EXCEPTION, EXCEPTION]
    for failure in failures:
        assert failure.text.startswith("Traceback (most recent call last):\n")
        assert failure.text.endswith(EXCEPTION)


def many(n, kind):
    for i in range(n):
        name = {"id": f"c{i}", "run": {"case_id": f"c{i}", "sample": 1, "task_class": "t"}}
        if kind == "error":
            yield {"type": "error", "code": "internal", "message": f"message {i}", "retriable": True, **name}
            continue
        modes = [{"code": "wrong", "severity": "block", "detail": f"message {i}"}]
        score = {"passed": False, "score": 0, "breakdown": {}, "failure_modes": modes, "cost_usd": 0}
        yield {"type": "result", "job_no": i, "kind": "rubric", "score": score, **name}


@pytest.mark.parametrize("kind", ["error", "failure"])
def test_junit_has_the_message_of_every_result(kind, tmp_path):
    """More results than the report keeps examples of: 3 of an error, 1,000 of failures."""
    n = 1500
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in many(n, kind)))
    done = ctl(tmp_path, "report", "--no-fail", "r.jsonl", "-q", "-o", "r.xml", "--resamples", "10")
    assert done.stderr == ""
    found = ElementTree.parse(tmp_path / "r.xml").getroot().findall(f".//{kind}")
    assert [element.get("message") for element in found] == [f"message {i}" for i in range(n)]


def test_a_place_without_room_for_the_messages_is_named(tmp_path):
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in many(1, "failure")))
    done = ctl(tmp_path, "report", "--junit", "r.jsonl", TMPDIR=f"{tmp_path}/none")
    assert done.returncode == 2
    assert done.stderr == (
        f"rubricctl: {tmp_path}/none: cannot keep the messages of failures there: No such file or directory "
        "(TMPDIR names another place)\n"
    )
    assert ctl(tmp_path, "report", "r.jsonl", TMPDIR=f"{tmp_path}/none").returncode == 0


def test_the_first_difference_of_a_program(tmp_path):
    tests = [
        {"verdict": "pass", "exit_code": 0},
        {
            "verdict": "wrong_answer",
            "name": "large",
            "exit_code": 0,
            "difference": {"why": "the tokens differ", "line": 1, "got": "5", "expected": "6"},
        },
    ]
    line = {**next(many(1, "failure")), "kind": "program", "tests": tests, "verdict": "wrong_answer"}
    (tmp_path / "r.jsonl").write_text(json.dumps(line) + "\n")
    report = json.loads(ctl(tmp_path, "report", "--json", "r.jsonl").stdout)
    assert report["failures"]["shown"][0]["output"] == (
        "test 2 (large): wrong_answer\nthe tokens differ, line 1\ngot       5\nexpected  6"
    )


def program_line(verdict, **fields):
    line = {**next(many(1, "failure")), "kind": "program", "verdict": verdict, "tests": [], **fields}
    line["score"]["failure_modes"][0] = {"code": f"program.{verdict}", "severity": "block", "detail": "why"}
    return json.dumps(line) + "\n"


def test_what_the_checker_said(tmp_path):
    tests = [{"verdict": "wrong_answer", "exit_code": 0, "checker": "wrong answer 3 is no prime"}]
    (tmp_path / "r.jsonl").write_text(program_line("wrong_answer", tests=tests))
    report = json.loads(ctl(tmp_path, "report", "--json", "r.jsonl").stdout)
    assert report["failures"]["shown"][0]["output"] == "test 1: wrong_answer\nchecker: wrong answer 3 is no prime"


def test_the_first_words_of_a_compiler(tmp_path):
    words = "".join(f"line {i}\n" for i in range(1, 20))
    (tmp_path / "r.jsonl").write_text(program_line("compile_error", compile={"exit_code": 1, "output": words}))
    told = ctl(tmp_path, "report", "r.jsonl").stdout
    assert "line 1\n" in told and "line 6\n" in told and "line 7\n" not in told, told
    report = json.loads(ctl(tmp_path, "report", "--json", "r.jsonl").stdout)
    assert report["failures"]["shown"][0]["output"] == words.rstrip("\n")


HOSTILE = "a|b](http://x.example) **b** <img src=x> `c` www.x.example @all &amp; \u202e\x1b[1m"


def test_markdown_shows_the_traceback(crashed):
    done = ctl(crashed, "report", "--quiet", "-f", "-o", "summary.md", "r.jsonl")
    assert done.returncode == 0, done.stderr
    text = (crashed / "summary.md").read_text()
    assert text.startswith("### 0 passed, 2 failed, 0 without a verdict\n")
    assert "<details><summary>a: rubric.malformed_output</summary>\n\n```text\nTraceback (most" in text
    assert f"\n{EXCEPTION}\n```\n\n</details>\n" in text
    assert "| crash | 0 | 2 | 0 | 0.0000 " in text
    assert ctl(crashed, "report", "--markdown", "r.jsonl").stdout == text


def test_markdown_obeys_no_text_of_results(tmp_path):
    line = next(many(1, "failure"))
    line["outcome"] = {"stderr": f"````\n{HOSTILE}\n```\n# heading"}
    line["score"]["failure_modes"] = [{"code": HOSTILE, "severity": "block", "detail": f"{HOSTILE}\n# heading"}]
    line["run"].update(case_id=HOSTILE, task_class=HOSTILE)
    (tmp_path / "r.jsonl").write_text(json.dumps(line) + "\n")
    text = ctl(tmp_path, "report", "--markdown", "r.jsonl").stdout
    before, fence, rest = text.partition("`````text\n")
    block, _, after = rest.partition("\n`````\n")
    assert fence
    assert "````\n" in block
    assert "\n# heading" in block
    summary = re.search("<details><summary>(.*)</summary>\n\n", before)
    assert "<" not in summary[1]
    assert "&lt;img src=x&gt;" in summary[1]
    for part in (before.replace(summary[0], ""), after):
        assert "<img" not in part
        assert not re.search(r"(?<!\\)[`|](?=b|c`)", part), part
        assert not re.search(r"(?<!\\)\*\*b", part)
        assert "\n# heading" not in part
        assert "http:" not in part
        assert "www.x" not in part
    assert "\x1b" not in text
    assert "\u202e" not in text
