#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the rate of JSON rubrics through the socket, warm and cold, to two ways of running them without
a daemon. One is a plain loop of `python3 rubric.py` with as many children in flight, which does not even
read what they print. The other is a runner written with asyncio, at its best of 2, 4 and 8 in flight. They
run in turn; each ratio is of one round. The benchmark checks every score that it measures."""

import json
import subprocess

from bench import PROCESSORS, PYTHON, ROOT, SCRUBBED_ENV, Daemon, NotMeasured, fork_loop, run_loop
from rubrics import AS_CLASS, HEAVY, SHIPPED, SMALL, install, is_right, job_for
from table import Row, at_least, main, ratios

WARM_JOBS = 1500
COLD_JOBS = 200
HEAVY_JOBS = 20
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


def rates_as_class(rubric, plain, daemon, root, rounds, scale, plain_jobs):
    """The rates of RUBRIC, whose class has everything loaded ahead, and of a plain loop of PLAIN."""
    count = scale.jobs(WARM_JOBS)
    jobs = daemon.write_jobs("class", (job_for(root, rubric, n) for n in range(count)))
    rates = {"plain": [], "class": []}
    daemon.rate(jobs, count, lambda result: result["type"] == "result")  # loads it
    for _ in range(rounds):
        rates["plain"].append(plain_rate(daemon, root, plain, scale.jobs(plain_jobs)))
        rates["class"].append(daemon.rate(jobs, count, lambda result: is_right(result, rubric, "warm", True)))
    return rates


def rows_as_class(rubric, rates, goal):
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
        rates = rates_as_class(AS_CLASS, SHIPPED, daemon, root, scale.rounds(5), scale, COLD_JOBS)
        yield from rows_as_class(AS_CLASS, rates, 8)
        if subprocess.run([PYTHON, "-c", "import numpy, pandas"], stderr=subprocess.DEVNULL).returncode != 0:
            raise NotMeasured("the rubric that imports numpy and pandas: they are not installed (python3-pandas)")
        rates = rates_as_class(HEAVY, HEAVY, daemon, root, scale.rounds(5), scale, HEAVY_JOBS)
        yield from rows_as_class(HEAVY, rates, 30)


if __name__ == "__main__":
    main(__doc__, measure)
