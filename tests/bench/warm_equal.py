#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that the canonical solutions of a data set get the same results in an interpreter that waited in
its jail and in one started for them. Compares all of each result except measured values.

    warm_equal.py DATASET      (in the form of HumanEval: task_id, prompt, canonical_solution, test,
                                entry_point; JSON Lines, .gz is inflated)

Exits with 0 if they are the same. RUBRICD_BUILD names the build directory."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(os.environ.get("RUBRICD_BUILD", Path(__file__).resolve().parents[2] / "build"))


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def job(task, warm):
    return {
        "id": f"{task['task_id']} {'warm' if warm else 'cold'}", "kind": "code_exec", "warm": warm,
        "prelude": task["prompt"], "code": task["canonical_solution"], "test": task["test"],
        "entry_point": task["entry_point"], "metadata": {"timeout_s": 30},
    }  # fmt: skip


def grade(jobs):
    """Returns the daemon's answers by id."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
        config.write("[warm]\nuse = yes\n")
        config.flush()
        os.chmod(config.name, 0o644)
        done = subprocess.run(
            [BUILD / "client" / "rubricctl", "batch", "--embedded", f"--config={config.name}", "--no-fail", "--quiet",
             "-"], input="".join(json.dumps(job) + "\n" for job in jobs), stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    if done.returncode != 0:
        sys.exit(done.returncode)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {answer["id"]: answer for answer in answers}


def unmeasured(answer):
    """Returns, as text, the part of ANSWER that is the same in each run of a job."""
    kept = {key: value for key, value in answer.items() if key not in ("id", "job_no", "usage", "run", "interpreter")}
    kept["score"] = {key: value for key, value in answer["score"].items() if key != "wall_clock_ms"}
    return json.dumps(kept, sort_keys=True)


def main(path):
    tasks = read(path)
    answers = grade([job(task, warm) for task in tasks for warm in (True, False)])
    equal = passed = 0
    for task in tasks:
        warm, cold = (answers[f"{task['task_id']} {which}"] for which in ("warm", "cold"))
        if (warm.get("interpreter"), cold.get("interpreter")) != ("warm", "cold"):
            print(f"{task['task_id']}: not run warm and cold: {warm.get('interpreter')}, {cold.get('interpreter')}")
        elif unmeasured(warm) != unmeasured(cold):
            print(f"{task['task_id']}: warm: {unmeasured(warm)}\n    cold: {unmeasured(cold)}")
        else:
            equal += 1
        passed += warm["score"]["passed"]
    print(f"{len(tasks)} tasks, {passed} pass, {equal} equal warm and cold")
    return 0 if equal == len(tasks) else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
