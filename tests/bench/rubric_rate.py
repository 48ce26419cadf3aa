#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the rate of JSON rubrics through the socket, warm and cold, to two ways of running them without
a daemon. One is a plain loop of `python3 rubric.py` with as many children in flight, which does not even
read what they print. The other is a runner written with asyncio, at its best of 2, 4 and 8 in flight. They
run in turn; each ratio is of one round. The benchmark checks every score that it measures."""

import json

from bench import PROCESSORS, PYTHON, ROOT, SCRUBBED_ENV, Daemon, NotMeasured, fork_loop, run_loop
from rubrics import CLASS, LARGE, SHIPPED, SMALL, install, is_right, job_for
from table import Row, at_least, main, ratios

WARM_JOBS = 1500
COLD_JOBS = 200
FEW_JOBS = 20
RUNNER = ROOT / "tests" / "bench" / "asyncio_runner.py"
RUNNER_IN_FLIGHT = (2, 4, 8)


def plain_rate(daemon, root, rubric, count):
    """Runs children with the environment and the standard input that the daemon would give them."""
    job = job_for(root, rubric, 1)
    stdin = daemon.directory / "stdin"
    stdin.write_text(json.dumps({"case": job["case"], "harness_output": job["harness_output"]}))
    script = root / rubric.task_class / "rubric.py"
    done = fork_loop(count, PROCESSORS, PYTHON, script, options=["-i", stdin], env=SCRUBBED_ENV)
    return count / done["seconds"]


def runner_rate(jobs, rubric, count, in_flight):
    done = run_loop([PYTHON, RUNNER, jobs, in_flight])
    if done["scores"] != [rubric.score(n) for n in range(count)]:
        raise NotMeasured(f"the asyncio runner has other scores: {done['scores']}")
    return count / done["seconds"]


def rates_of(rubric, daemon, root, rounds, scale):
    warm, cold = scale.jobs(WARM_JOBS), scale.jobs(COLD_JOBS)
    warm_jobs = daemon.write_jobs("warm", (job_for(root, rubric, n) for n in range(warm)))
    cold_jobs = daemon.write_jobs("cold", (job_for(root, rubric, n, warm=False) for n in range(cold)))
    rates = {"plain": [], "asyncio": [], "cold": [], "warm": []}
    for _ in range(rounds):
        rates["plain"].append(plain_rate(daemon, root, rubric, cold))
        rates["cold"].append(daemon.rate(cold_jobs, cold, lambda result: is_right(result, rubric, "cold")))
        rates["warm"].append(daemon.rate(warm_jobs, warm, lambda result: is_right(result, rubric, "warm")))
        rates["asyncio"].append(max(runner_rate(cold_jobs, rubric, cold, n) for n in RUNNER_IN_FLIGHT))
    return rates


def rows_of(rubric, rates, goals):
    name = f"rubric `{rubric.task_class}`"
    yield Row("c", f"{name}, plain loop, {PROCESSORS} in flight", rates["plain"], "/s")
    yield Row("c", f"{name}, cold", rates["cold"], "/s")
    yield Row("c", f"{name}, warm", rates["warm"], "/s")
    yield Row("c", f"{name}, cold to plain", ratios(rates["cold"], rates["plain"]), goal=goals and at_least(0.95))
    yield Row("c", f"{name}, warm to plain", ratios(rates["warm"], rates["plain"]), goal=goals and at_least(6))
    yield Row("d", f"{name}, asyncio at its best", rates["asyncio"], "/s")
    yield Row("d", f"{name}, warm to asyncio", ratios(rates["warm"], rates["asyncio"]), goal=goals and at_least(8))


def class_rows(rubric, daemon, root, rounds, scale, few, goal):
    """Rows of a task class that is loaded once for all its jobs; FEW of them run without a daemon."""
    many, few = scale.jobs(WARM_JOBS), scale.jobs(few)
    jobs = daemon.write_jobs(rubric.task_class, (job_for(root, rubric, n) for n in range(many)))
    first = daemon.write_jobs(f"{rubric.task_class}-first", (job_for(root, rubric, n) for n in range(PROCESSORS * 8)))
    daemon.rate(first, PROCESSORS * 8, lambda result: is_right(result, rubric, "class"))
    rates = {"plain": [], "class": []}
    for _ in range(rounds):
        rates["plain"].append(plain_rate(daemon, root, rubric, few))
        rates["class"].append(daemon.rate(jobs, many, lambda result: is_right(result, rubric, "class")))
    name = f"rubric `{rubric.task_class}`"
    yield Row("c", f"{name}, plain loop, {PROCESSORS} in flight", rates["plain"], "/s")
    yield Row("c", f"{name}, as a warm class", rates["class"], "/s")
    yield Row("c", f"{name}, as a warm class to plain", ratios(rates["class"], rates["plain"]), goal=at_least(goal))


def measure(scale):
    """the rate of rubrics"""
    with Daemon(f"daemon.slots={PROCESSORS}") as daemon:
        daemon.require_warm()
        root = install(daemon)
        yield from rows_of(SMALL, rates_of(SMALL, daemon, root, scale.rounds(7), scale), True)
        yield from rows_of(SHIPPED, rates_of(SHIPPED, daemon, root, scale.rounds(3), scale), False)
        yield from class_rows(CLASS, daemon, root, scale.rounds(5), scale, COLD_JOBS, 8)
        yield from class_rows(LARGE, daemon, root, scale.rounds(5), scale, FEW_JOBS, 30)


if __name__ == "__main__":
    main(__doc__, measure)
