# SPDX-License-Identifier: MIT
"""The examples of the manual pages and of --help run as they are printed."""

import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
from conftest import BENCH, BUILD, DEADLINE, RUBRICCTL, open_up

pytestmark = pytest.mark.once

PLACE = BUILD / "packaging" / "describe"
TABLES = json.loads((PLACE / "tables.json").read_text())

# What cannot run here, and why. Everything else has to.
ELSEWHERE = {
    "sudo ": "needs root and ends the daemon",
    "systemctl ": "needs a service",
    "journalctl ": "needs a journal",
    "--watch": "runs until somebody ends it",
    "--tty": "needs a terminal",
    "rubricctl fleet": "needs a NATS server",
    "make-jobs": "stands for the reader's own program",
    "&& promote": "stands for the reader's own program",
    "man 7 ": "opens a pager",
    "less ": "opens a pager",
    "--dataset": "test_grade.py and test_grade_formats.py run these forms on the data sets",
    "rubricctl replay": "test_replay.py runs these forms",
    "rubricctl passk": "test_passk.py runs these forms",
    "/tmp/s": "uses fixed names in /tmp",
    "rubricctl cancel": "test_control.py runs it with the number of a job",
    "xargs rubricctl cancel": "likewise",
    "--compare tokens": "needs a Java compiler",
    "-- cc -c": "needs a C compiler in the sandbox",
}


def joined(text):
    """Returns the commands of TEXT, each on one line."""
    return [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def of_help():
    return [line for command in TABLES["rubricctl"]["commands"] for line in joined(command["examples"])]


def of_pages():
    found = []
    for page in ("rubricctl.1", "rubricd.8", "rubricd.conf.5"):
        text = (PLACE / page).read_text().partition(".Sh EXAMPLES")[2]
        for block in re.findall(r"\.Bd -literal\n(.*?)\.Ed", text, re.S):
            plain = block.replace("\\e\n", "\\\n").replace("\\-", "-").replace("\\(aq", "'")
            found += [line for line in joined(plain) if line.startswith(("rubricctl ", "rubricd ", "jq "))]
    return found


def runs_elsewhere(example):
    return any(part in example for part in ELSEWHERE)


EXAMPLES = [example for example in dict.fromkeys([*of_pages(), *of_help()]) if not runs_elsewhere(example)]
# Jobs of the example bench are wrong on purpose, and so are `exit 3` and a job that its harness did not end.
# The first part that an example has tells its status.
STATUS = {
    "exit 3": 3,
    "qa-*": 2,  # no job here is of such a task class
    "|": 0,
    "report": 0,
    "--sut timeout": 1,
    "cases.jsonl": 1,
    "jq ": 0,
    "jobs.jsonl": 1,
}


@pytest.fixture(name="place")
def make_place(tmp_path):
    """Returns a folder with the files that the examples name."""
    job = {"kind": "rubric", "task_class": "exact-match", "bench_root": str(BENCH)}
    right = {**job, "case": {"answer": "4"}, "harness_output": {"answer": "4"}}
    wrong = {**right, "harness_output": {"answer": "5"}}
    (tmp_path / "job.json").write_text(json.dumps(right))
    (tmp_path / "case.json").write_text('{"answer": "4"}')
    (tmp_path / "output.json").write_text('{"answer": "4"}')
    (tmp_path / "jobs.jsonl").write_text("".join(json.dumps({"id": id, **of}) + "\n" for id, of in (("a", right), ("b", wrong))))
    (tmp_path / "answer.txt").write_text("4")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "check.py").write_text("import sys; assert open(sys.argv[1]).read() == '4'")
    (tmp_path / "main.cpp").write_text("#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n << '\\n'; }\n")
    (tmp_path / "check.cpp").write_text("int main() { return 0; }\n")
    (tmp_path / "tests" / "1.in").write_text("7\n")
    (tmp_path / "tests" / "1.ans").write_text("7\n")
    open_up(tmp_path)
    return tmp_path


def run(example, place, socket):
    programs = place / "bin"
    programs.mkdir(exist_ok=True)
    for program in (RUBRICCTL, BUILD / "daemon" / "rubricd"):
        if not (programs / program.name).exists():
            (programs / program.name).symlink_to(program)
    bench = next(iter(re.findall(r"/\S*/share/rubricd/bench", example)), "/none")
    return subprocess.run(
        ["/bin/bash", "-c", example.replace(bench, shlex.quote(str(BENCH)))],
        cwd=place,
        env={
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "RUBRICD_SOCKET": str(socket),
            "RUBRICD": str(BUILD / "daemon" / "rubricd"),
            "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=5 * DEADLINE,
        check=False,
    )


def need_programs(example):
    for name, part in (("jq", "jq "), ("g++", ".cpp")):
        if part in example and not shutil.which(name):
            pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example, place, daemon):
    need_programs(example)
    if "problem.zip" in example:
        pytest.skip("test_run_program.py makes such archives")
    for before in ("check-rubric", "bench/my-class/cases.jsonl"):
        if before in example:
            run("rubricctl new-rubric bench/my-class", place, daemon.socket)
            open_up(place)
    if re.search(r"report|^jq ", example):
        for name in ("scores", "new", "old"):
            run(f"rubricctl batch --output {name}.jsonl jobs.jsonl", place, daemon.socket)
    done = run(example, place, daemon.socket)
    expected = next((status for part, status in STATUS.items() if part in example), 0)
    assert done.returncode == expected, done.stdout + done.stderr


def test_the_first_example_of_the_page_passes(place, daemon):
    """It is the first command that a newcomer types."""
    done = run(of_pages()[0], place, daemon.socket)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["passed"] is True


def test_the_rubric_of_its_page_works(place, daemon):
    block = (PLACE / "rubricd-rubric.7").read_text().partition(".Sh EXAMPLES")[2]
    rubric = re.search(r"\.Bd -literal\n(.*?)\.Ed", block, re.S)[1].replace("\\-", "-")
    (place / "bench" / "mine").mkdir(parents=True)
    (place / "bench" / "mine" / "rubric.py").write_text(rubric)
    open_up(place)
    for answer, passed in (("42", True), ("41", False)):
        output = json.dumps({"answer": answer})
        done = run(f"rubricctl run -b bench -t mine -c '{{\"expected\": 42}}' --harness-output '{output}'", place, daemon.socket)
        assert json.loads(done.stdout)["passed"] is passed, done.stderr


def test_every_reason_still_stands():
    examples = [*of_pages(), *of_help()]
    unused = [part for part in ELSEWHERE if not any(part in example for example in examples)]
    assert unused == ["journalctl "] or unused == [], "a line that names no example"
