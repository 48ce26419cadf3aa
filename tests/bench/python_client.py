#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures the Python package: jobs per second through `grader.stream()` on one connection that stays open; the
baseline, in turn, is `rubricctl batch` with the same jobs. All rounds together are 100,000 jobs through one
grader, whose process must not grow after the first round. In a further round the daemon is killed and started
again: each job must have one result."""

import asyncio
import collections
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from bench import EXIT0_JOB, PASSED, ROOT, Daemon, NotMeasured
from table import Row, at_least, at_most, main, ratios

sys.path.insert(0, str(ROOT / "client" / "python"))
import rubricd  # noqa: E402

JOBS = 10_000
ROUNDS = 10
# The daemon is killed once this part of the round's jobs is answered.
KILL_AFTER = 0.3


def memory():
    """Returns the resident MiB of this process."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


async def stream(grader, count, disturb=None):
    """Returns jobs per second. After a part of the answers, calls DISTURB."""
    began, answers = time.monotonic(), collections.Counter()
    jobs = ({"id": str(i), **EXIT0_JOB} for i in range(count))
    async for result in grader.stream(jobs):
        answers[result.id] += result.passed
        if disturb and len(answers) == int(KILL_AFTER * count):
            disturb()
    took = time.monotonic() - began
    once = sum(n == 1 for n in answers.values())
    if (len(answers), once) != (count, count):
        raise NotMeasured(f"of {count} jobs {len(answers)} have results, {once} just one that passed")
    return count / took


def kill_and_start(daemon):
    """Kills DAEMON and starts another with the same socket; does not wait for it."""
    daemon.process.kill()
    daemon.process.wait()
    daemon.process = subprocess.Popen(
        daemon.process.args, stdin=subprocess.DEVNULL, stdout=daemon.log, stderr=daemon.log
    )


def batch(daemon, jobs, count):
    """Returns jobs per second of `rubricctl batch`. Keeps no result, for this process is the one that is weighed."""
    output = daemon.directory / "output.jsonl"
    command = [*daemon.client(), "batch", "--no-fail", "--force", "--quiet", "--output", output, jobs]
    began = time.monotonic()
    subprocess.run(command, check=True)
    took = time.monotonic() - began
    with output.open() as lines:
        good = sum(PASSED in line for line in lines)
    if good != count:
        raise NotMeasured(f"{good} results of {count}")
    return count / took


async def rounds(daemon, jobs, count, scale):
    bare, ours, sizes = [], [], []
    async with rubricd.connect(str(daemon.socket)) as grader:
        for _ in range(scale.rounds(ROUNDS)):
            bare.append(batch(daemon, jobs, count))
            ours.append(await stream(grader, count))
            sizes.append(memory())
        killed = await stream(grader, count, lambda: kill_and_start(daemon))
    return bare, ours, sizes, killed


def measure(scale):
    """the Python package"""
    count = scale.jobs(JOBS)
    with Daemon() as daemon:
        jobs = daemon.write_jobs("jobs", [EXIT0_JOB] * count)
        bare, ours, sizes, killed = asyncio.run(rounds(daemon, jobs, count, scale))
    yield Row("o", "rubricctl batch", bare, "/s")
    yield Row("o", f"Python package, {len(ours) * count:,} jobs", ours, "/s")
    yield Row("o", "Python package, to batch", ratios(ours, bare), goal=at_least(0.5))
    yield Row("o", "Python process after the first round", sizes[:1], "MiB")
    yield Row("o", "later rounds, to the first", [size / sizes[0] for size in sizes[1:]], goal=at_most(1.1))
    yield Row("o", "daemon killed and started again meanwhile; nothing lost or doubled", [killed], "/s")


if __name__ == "__main__":
    os.environ.pop("RUBRICD_SOCKET", None)
    main(__doc__, measure)
