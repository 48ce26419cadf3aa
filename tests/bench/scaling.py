#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What one more job costs as the queue and the number of clients grow: while so many sandbox jobs of a
static `exit 0` wait, for each that is answered another one is submitted, and what is measured is the time
and the daemon's own CPU time from one answer to the next. In turn over all lengths in each round."""

from bench import EXIT0_JOB, PROCESSORS, Daemon, NotMeasured, message_loop_at_depth, submit
from table import Row, at_most, main, ratios

JOBS = 3000
# (jobs in the queue, clients that they are of); the first is what the others are compared with.
BASE = (10, 1)
CASES = (BASE, (1, 1), (100, 1), (1000, 1), (10_000, 1), (100_000, 1), (10_000, 10), (10_000, 100), (10_000, 1000),
         (100_000, 1000))  # fmt: skip
GOALS = {(100_000, 1): at_most(1.1), (100_000, 1000): at_most(1.1)}
# The queue takes what is measured here.
ROOM = ("queue.jobs=200000", "queue.jobs_per_client=200000", "queue.bytes=1G")


def costs(scale):
    """For each case microseconds per job for each round, of time and of CPU; and why there are none."""
    wall, cpu, missing = {case: [] for case in CASES}, {case: [] for case in CASES}, {}
    count = scale.jobs(JOBS)
    with Daemon(f"daemon.slots={PROCESSORS}", *ROOM) as daemon:
        request = submit(EXIT0_JOB)
        for turn in range(scale.rounds(5)):
            for case in CASES if turn % 2 == 0 else reversed(CASES):
                if case in missing:
                    continue
                try:
                    done = message_loop_at_depth(daemon, *case, count, request)
                except NotMeasured as why:
                    missing[case] = str(why)
                daemon.await_idle()
                if case not in missing:
                    wall[case].append(done["seconds"] / count * 1e6)
                    cpu[case].append(done["cpu_ns"][0] / count / 1e3)
    return wall, cpu, missing


def name_of(case):
    depth, clients = case
    return f"{depth:,} queued by {f'{clients:,} clients' if clients > 1 else 'one client'}"


def measure(scale):
    """the cost of a job as the queue grows"""
    wall, cpu, missing = costs(scale)
    for what, cost in (("time", wall), ("daemon CPU", cpu)):
        if BASE in missing:
            raise NotMeasured(missing[BASE])
        yield Row("f", f"{what} per job, {name_of(BASE)}", cost[BASE], "µs")
        for case in CASES[1:]:
            values = [] if case in missing else ratios(cost[case], cost[BASE])
            name = f"{what} per job, {name_of(case)}, to that"
            yield Row("f", name, values, goal=GOALS.get(case), missing=missing.get(case, ""))


if __name__ == "__main__":
    main(__doc__, measure)
