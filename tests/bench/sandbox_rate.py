#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures the price of confinement: sandbox jobs of a static program that does nothing, through the
socket, with every layer that the host grants. The baselines are a plain fork+execve loop of the same
program with as many children in flight, and bubblewrap. They run in turn; each ratio is of one round. Runs
with as many slots as processors and with twice as many, and also for a program without a C library, which
shows the cost that confinement adds to each job undiluted."""

import shutil

from bench import EXIT0, EXIT0_BARE, PROCESSORS, Daemon, NotMeasured, fork_loop, job_of, passed
from table import Row, at_least, main, ratios

JOBS = 3000
# bubblewrap gets this fraction of the jobs, since each costs it several times as much.
BUBBLEWRAP_SHARE = 8
BUBBLEWRAP_OPTIONS = ["--unshare-all", "--new-session", "--die-with-parent", "--ro-bind", "/", "/"]


def loop(count, in_flight, *command):
    """Returns programs per second of the fork loop."""
    return count / fork_loop(count, in_flight, *command)["seconds"]


def rates_with(slots, program, scale):
    bubblewrap, count = shutil.which("bwrap"), scale.jobs(JOBS)
    rates = {"plain": [], "sandbox": [], "bubblewrap": []}
    with Daemon(f"daemon.slots={slots}") as daemon:
        jobs = daemon.write_jobs("jobs", [job_of(program)] * count)
        daemon.batch(daemon.write_jobs("warm-up", [job_of(program)] * 100))
        for _ in range(scale.rounds(7)):
            rates["plain"].append(loop(count, slots, program))
            rates["sandbox"].append(daemon.rate(jobs, count, passed))
            if bubblewrap:
                few = count // BUBBLEWRAP_SHARE
                rates["bubblewrap"].append(loop(few, slots, bubblewrap, *BUBBLEWRAP_OPTIONS, program))
    return rates


def added_us(rates):
    """Returns how many microseconds a job takes longer than in the plain loop."""
    return [(1 / ours - 1 / plain) * 1e6 for ours, plain in zip(rates["sandbox"], rates["plain"])]


def measure(scale):
    """the rate of sandbox jobs"""
    for slots in (PROCESSORS, 2 * PROCESSORS):
        rates, flight = rates_with(slots, EXIT0, scale), f"{slots} in flight"
        yield Row("a", f"plain fork+execve, {flight}", rates["plain"], "/s")
        yield Row("a", f"sandbox `exit 0`, {flight}", rates["sandbox"], "/s")
        yield Row("a", f"sandbox to plain, {flight}", ratios(rates["sandbox"], rates["plain"]), goal=at_least(1))
        yield Row("a", f"added to each, {flight}", added_us(rates), "µs")
        if not rates["bubblewrap"]:
            raise NotMeasured("bubblewrap is not installed")
        yield Row("b", f"bubblewrap, {flight}", rates["bubblewrap"], "/s")
        to_bubblewrap = ratios(rates["sandbox"], rates["bubblewrap"])
        yield Row("b", f"sandbox to bubblewrap, {flight}", to_bubblewrap, goal=at_least(4))


def measure_bare(scale):
    """the rate of sandbox jobs that have no C library"""
    if not EXIT0_BARE.exists():
        raise NotMeasured(f"there is no {EXIT0_BARE} on this architecture")
    rates, name = rates_with(PROCESSORS, EXIT0_BARE, scale), f"without a C library, {PROCESSORS} in flight"
    yield Row("a", f"plain fork+execve, {name}", rates["plain"], "/s")
    yield Row("a", f"sandbox, {name}", rates["sandbox"], "/s")
    yield Row("a", f"sandbox to plain, {name}", ratios(rates["sandbox"], rates["plain"]))
    yield Row("a", f"added to each, {name}", added_us(rates), "µs")


if __name__ == "__main__":
    main(__doc__, measure, measure_bare)
