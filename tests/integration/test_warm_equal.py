# SPDX-License-Identifier: MIT
"""Warm or cold, the verdict is the same. The tests run the cases of the shipped bench and a few hundred
scripts, each in an interpreter that waited, in one started for it, and, if it is a rubric, as a task class
that is loaded once for all its jobs. The results must be equal except for measured values."""

import json
import re
import shutil

import equal_jobs
import pytest
from conftest import BENCH, Bench, Daemon, need_warm_jail

need_warm_jail()

CASES = {job["id"]: job for job in map(json.loads, (BENCH / "cases.jsonl").read_text("utf-8").splitlines())}
# Cases whose rubric does not run because the system under test has failed.
NOT_RUN = {name for name, job in CASES.items() if job.get("sut", {}).get("status", "ok") != "ok"}
IN_FLIGHT = 32
WITH = ["warm", "cold", "class"]
# Addresses, random names, and directories with a job's number.
NEVER_EQUAL = ("id", "job_no", "usage", "interpreter", "warm_class", "deadline")
NEVER_THE_SAME = re.compile(r"(?<= at 0x)[0-9a-f]+|(?<=/psm_)[0-9a-f]+|(?<=/slot-)[0-9]+/job-[0-9]+")
# The kernel counts the processes of the jail, too: the more classes it keeps, the higher is this limit.
OF_THE_JAIL = re.compile(r"(?<=Max processes) +\d+ +\d+|(?<=nprocess) +\d+")


def shipped_as_classes(root):
    """Copies the shipped bench, whose task classes then are to be loaded once for all their jobs."""
    shutil.copytree(BENCH, root)
    for path in root.glob("*/task_class.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"warm": {}}))


def jobs(bench, classes, shipped):
    """Yields (name, which, job) for all jobs. BENCH and CLASSES get the same rubrics; the latter are to be
    loaded once, as are the rubrics in SHIPPED."""
    for name, job in CASES.items():
        fields = {key: value for key, value in job.items() if key != "id"}
        for which in WITH:
            yield name, which, fields | {"bench_root": str(shipped if which == "class" else BENCH)}
    case = {"text": "é\n", "number": 1.5}
    for name, source in equal_jobs.RUBRICS.items():
        fields = {"case": case, "output": {"answer": [1, None]}, "limits": {"output_bytes": 100000}}
        job = bench.job(source, task_class={}, **fields)
        yield name, "warm", job
        yield name, "cold", job
        yield name, "class", classes.job(source, task_class={"warm": {}}, **fields)
    for name, job in equal_jobs.CODE.items():
        yield f"code: {name}", "warm", job
        yield f"code: {name}", "cold", job


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Runs all jobs warm and cold, many at a time. Returns the answers by id."""
    directory = tmp_path_factory.mktemp("equal")
    benches = Bench(directory / "bench"), Bench(directory / "classes"), directory / "shipped"
    shipped_as_classes(benches[2])
    daemon = Daemon(tmp_path_factory.mktemp("equal-daemon"), "warm.use=yes")
    found = {}
    with daemon.connect() as client:
        waiting = 0
        for name, which, job in jobs(*benches):
            client.submit(f"{which} {name}"[:128], {**job, "warm": which != "cold"})
            waiting += 1
            while waiting > IN_FLIGHT:
                answer = client.recv_answer()
                found[answer["id"]] = answer
                waiting -= 1
        for _ in range(waiting):
            answer = client.recv_answer()
            found[answer["id"]] = answer
    assert daemon.stop() == 0
    return found


def taken(answer):
    """Returns a result as text, without measured values and without text that differs in every run."""
    assert answer["type"] == "result", answer
    kept = {key: value for key, value in answer.items() if key not in NEVER_EQUAL}
    kept["score"] = {key: value for key, value in answer["score"].items() if key != "wall_clock_ms"}
    text = NEVER_THE_SAME.sub("X", json.dumps(kept, indent=1, sort_keys=True))
    return OF_THE_JAIL.sub(" X X", text)


NAMES = [*CASES, *equal_jobs.RUBRICS, *(f"code: {name}" for name in equal_jobs.CODE)]


def test_there_are_enough_of_them():
    assert len(CASES) == 155 and len(set(NAMES)) == len(NAMES) > 200 + 155


@pytest.mark.parametrize("name", NAMES)
def test_equal(answers, name):
    warm, cold = (answers[f"{which} {name}"] for which in ("warm", "cold"))
    assert taken(warm) == taken(cold)
    if name in NOT_RUN:
        assert "interpreter" not in warm and "interpreter" not in cold
    else:
        assert (warm["interpreter"], cold["interpreter"]) == ("warm", "cold")


@pytest.mark.parametrize("name", [*CASES, *equal_jobs.RUBRICS])
def test_a_class_is_equal(answers, name):
    loaded, cold = (answers[f"{which} {name}"] for which in ("class", "cold"))
    assert taken(loaded) == taken(cold)
    assert name in NOT_RUN or loaded["warm_class"]["loaded"], loaded["warm_class"]
