#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures what one more job costs as the queue and the number of clients grow. A given number of sandbox
jobs of a static `exit 0` waits, and each answer triggers another submit. Measures the time and the
daemon's own CPU time from one answer to the next. Each length runs in turn with the base."""

from bench import EXIT0_JOB, PROCESSORS, Daemon, NotMeasured, message_loop_at_depth, submit
from table import Row, at_most, main

JOBS = 3000
# (jobs in the queue, clients that own them): the base, and the cases to compare with it.
BASE = (10, 1)
CASES = ((1, 1), (100, 1), (1000, 1), (10_000, 1), (100_000, 1), (10_000, 10), (10_000, 100), (10_000, 1000),
         (100_000, 1000))  # fmt: skip
GOALS = {(100_000, 1): at_most(1.1), (100_000, 1000): at_most(1.1)}
# The speed of a shared machine varies from second to second by more than a goal allows, so cases with a goal
# take more rounds.
ROUNDS, ROUNDS_WITH_GOAL = 5, 21
# Limits that let the queue hold these jobs.
ROOM = ("queue.jobs=200000", "queue.jobs_per_client=200000", "queue.bytes=1G")


def cost(daemon, case, count, request):
    """Returns microseconds per job: elapsed time, and the daemon's CPU time."""
    try:
        done = message_loop_at_depth(daemon, *case, count, request)
    finally:
        daemon.await_idle()
    return done["seconds"] / count * 1e6, done["cpu_ns"][0] / count / 1e3


def costs(scale):
    """Returns for each case and round its cost and that of the base in the seconds before or after, and the
    reasons why cases could not be measured."""
    measured, missing = {case: [] for case in CASES}, {}
    count = scale.jobs(JOBS)
    with Daemon(f"daemon.slots={PROCESSORS}", *ROOM) as daemon:
        request = submit(EXIT0_JOB)
        for turn in range(scale.rounds(ROUNDS_WITH_GOAL)):
            for case in CASES:
                if case in missing or (turn >= scale.rounds(ROUNDS) and case not in GOALS):
                    continue
                pair = (BASE, case) if turn % 2 == 0 else (case, BASE)
                try:
                    done = {each: cost(daemon, each, count, request) for each in pair}
                except NotMeasured as why:
                    missing[case] = str(why)
                    continue
                measured[case].append((done[case], done[BASE]))
    return measured, missing


def name_of(case):
    depth, clients = case
    return f"{depth:,} queued by {f'{clients:,} clients' if clients > 1 else 'one client'}"


def measure(scale):
    """the cost of a job as the queue grows"""
    measured, missing = costs(scale)
    for i, what in enumerate(("time", "daemon CPU")):
        every = [base[i] for pairs in measured.values() for _, base in pairs]
        if not every:
            raise NotMeasured("; ".join(missing.values()))
        yield Row("f", f"{what} per job, {name_of(BASE)}", every, "µs")
        for case, pairs in measured.items():
            values = [] if case in missing else [ours[i] / base[i] for ours, base in pairs]
            name = f"{what} per job, {name_of(case)}, to that"
            yield Row("f", name, values, goal=GOALS.get(case), missing=missing.get(case, ""))


if __name__ == "__main__":
    main(__doc__, measure)
