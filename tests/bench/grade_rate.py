#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares grading many completions with rubricctl grade to a plain runner on as many processors. The
plain runner starts a Python for each sample, with candidate and tests in one program; the exit status is
the verdict. The two run in turn.

    grade_rate.py DATASET SAMPLES [ROUNDS]      (files in the form of HumanEval: task_id, prompt, test,
                                                 entry_point; task_id, completion)"""

import os
import subprocess
import sys
import time

import code_runner
from bench import Daemon
from table import describe
from tasks import program, read


def plain(programs):
    began = time.monotonic()
    return code_runner.plain(programs, os.cpu_count()), time.monotonic() - began


def graded(daemon, dataset, samples):
    output = daemon.directory / "graded.jsonl"
    command = [*daemon.client(), "grade", "--no-fail", "--no-preflight", "--quiet", "--dataset", dataset,
               "--samples", samples, "--force", "--output", output]  # fmt: skip
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True)
    took = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"rubricctl: {done.stderr.decode()}")
    return took, sum(line["passed"] for line in read(output))


def main():
    dataset, samples = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    tasks = {task["task_id"]: task for task in read(dataset)}
    programs = [program(tasks[sample["task_id"]], sample) for sample in read(samples)]
    ratios, rates = [], {"plain": [], "rubricctl grade": []}
    with Daemon(f"daemon.slots={os.cpu_count()}") as daemon:
        for _ in range(rounds):
            plain_passed, plain_took = plain(programs)
            took, passed = graded(daemon, dataset, samples)
            rates["plain"].append(len(programs) / plain_took)
            rates["rubricctl grade"].append(len(programs) / took)
            ratios.append(plain_took / took)
    print(f"{len(programs)} samples, {rounds} rounds, {os.cpu_count()} at once; median (least to most)")
    for name, values in rates.items():
        print(f"  {name + ' per second':28} {describe(values)}")
    print(f"  {'grade to plain':28} {describe(ratios)}")
    print(f"  passed: {passed}; by the plain runner {plain_passed}")


if __name__ == "__main__":
    main()
