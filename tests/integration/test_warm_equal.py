# SPDX-License-Identifier: MIT
"""Warm or cold, the verdict is the same. The tests run the cases of the shipped bench and a few hundred
scripts, each in an interpreter that waited and in one started for it. The two results must be equal
except for measured values."""

import json
import re

import equal_jobs
import pytest
from conftest import BENCH, Bench, Daemon, need_warm_jail

need_warm_jail()

CASES = {job["id"]: job for job in map(json.loads, (BENCH / "cases.jsonl").read_text("utf-8").splitlines())}
# Cases whose rubric does not run because the system under test has failed.
NOT_RUN = {name for name, job in CASES.items() if job.get("sut", {}).get("status", "ok") != "ok"}
IN_FLIGHT = 32
WITH = ["warm", "cold"]
# Addresses, random names, and directories with a job's number.
NEVER_EQUAL = ("id", "job_no", "usage", "interpreter", "deadline")
NEVER_THE_SAME = re.compile(r"(?<= at 0x)[0-9a-f]+|(?<=/psm_)[0-9a-f]+|(?<=/slot-)[0-9]+/job-[0-9]+")
# What a job may have beside the processes of the account, which others of the account start meanwhile.
OF_THE_ACCOUNT = re.compile(r"(?<=nprocess) +[0-9]+")


def jobs(bench):
    """Yields (name, job) for all jobs."""
    for name, job in CASES.items():
        yield name, {key: value for key, value in job.items() if key != "id"} | {"bench_root": str(BENCH)}
    case = {"text": "é\n", "number": 1.5}
    for name, source in equal_jobs.RUBRICS.items():
        yield name, bench.job(source, case=case, output={"answer": [1, None]}, limits={"output_bytes": 100000})
    for name, job in equal_jobs.CODE.items():
        yield f"code: {name}", job


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Runs all jobs warm and cold, many at a time. Returns the answers by id."""
    bench = Bench(tmp_path_factory.mktemp("equal") / "bench")
    daemon = Daemon(tmp_path_factory.mktemp("equal-daemon"), "warm.use=yes")
    found = {}
    with daemon.connect() as client:
        waiting = 0
        for name, job in jobs(bench):
            for which in WITH:
                client.submit(f"{which} {name}"[:128], {**job, "warm": which == "warm"})
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
    return text if "user_namespace" in answer["isolation"]["layers"] else OF_THE_ACCOUNT.sub(" X", text)


NAMES = [*CASES, *equal_jobs.RUBRICS, *(f"code: {name}" for name in equal_jobs.CODE)]


def test_there_are_enough_of_them():
    assert len(CASES) == 155 and len(set(NAMES)) == len(NAMES) > 200 + 155


@pytest.mark.parametrize("name", NAMES)
def test_equal(answers, name):
    warm, cold = (answers[f"{which} {name}"] for which in WITH)
    assert taken(warm) == taken(cold)
    if name in NOT_RUN:
        assert "interpreter" not in warm and "interpreter" not in cold
    else:
        assert (warm["interpreter"], cold["interpreter"]) == ("warm", "cold")
