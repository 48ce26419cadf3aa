#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs many jobs of the cheapest kind (no program runs) through one rubricctl batch. The memory of client
and daemon must stay flat, and the last job must cost what the first did. Prints both ten times. The cost
is the CPU time of client and daemon, which does not depend on other load of the host.

    million.py [JOBS]        (1,000,000; about 1.5 GB in /var/tmp)

Exits with 1 if memory grew by more than a tenth, or 8 MiB, after the first tenth of the jobs, or if a job
of the last tenth cost more than 1.1 times one of the first."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import RUBRICCTL, Daemon

PARTS = 10
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
SLACK = 8 << 20


def write_jobs(path, count):
    job = {"kind": "rubric", "task_class": "none", "bench_root": "/usr", "case": {}, "harness_output": {},
           "sut": {"status": "exception"}}  # fmt: skip
    with open(path, "w") as out:
        for n in range(count):
            out.write(json.dumps({"id": f"job-{n}", **job, "case": {"n": n}}) + "\n")


def rss(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Follower:
    """Counts the lines of a growing file."""

    def __init__(self, path):
        self.path = path
        self.file = None
        self.lines = 0

    def count(self):
        if self.file is None and self.path.exists():
            self.file = open(self.path, "rb")
        while self.file and (data := self.file.read(1 << 20)):
            self.lines += data.count(b"\n")
        return self.lines


def measure(client, daemon, output, count):
    """Returns (jobs, seconds, client's RSS, daemon's RSS, CPU seconds of both) after each part."""
    follower, begun, marks = Follower(output), time.monotonic(), []
    pids = (client.pid, daemon.process.pid)
    marks.append((0, 0.0, rss(pids[0]), rss(pids[1]), sum(map(cpu_seconds, pids))))
    while len(marks) <= PARTS:
        wanted = count * len(marks) // PARTS
        # Take the last one a little early, while the client still runs.
        if follower.count() >= min(wanted, count - 300):
            marks.append((follower.lines, time.monotonic() - begun, rss(pids[0]), rss(pids[1]),
                          sum(map(cpu_seconds, pids))))  # fmt: skip
            show(*marks[-2:])
        elif client.poll() is not None:
            sys.exit(f"the batch ended with {client.returncode} after {follower.lines} jobs")
        time.sleep(0.01)
    return marks


def cost(before, after):
    """Returns microseconds of CPU time per job."""
    return (after[4] - before[4]) / (after[0] - before[0]) * 1e6


def show(before, after):
    jobs, seconds, of_client, of_daemon, _ = after
    rate = (jobs - before[0]) / (seconds - before[1])
    print(f"{jobs:>9} jobs {seconds:8.1f} s  client {of_client / 2**20:6.1f} MiB  daemon "
          f"{of_daemon / 2**20:6.1f} MiB  {rate:6.0f} jobs/s  {cost(before, after):5.1f} us CPU/job",
          flush=True)  # fmt: skip


def judge(marks):
    """Yields the requirements that MARKS do not meet."""
    for name, at in (("client", 2), ("daemon", 3)):
        first, most = marks[1][at], max(mark[at] for mark in marks[2:])
        if most > first * 1.1 and most > first + SLACK:
            yield f"the {name}'s memory grew from {first >> 20} to {most >> 20} MiB"
    first, last = cost(*marks[:2]), cost(*marks[-2:])
    print(f"a job of the last tenth costs {last / first:.3f} times one of the first")
    if last > 1.1 * first:
        yield f"the cost of a job grew from {first:.1f} to {last:.1f} us"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    daemon = Daemon("daemon.slots=2")
    with tempfile.TemporaryDirectory(prefix="rubricd-million-", dir="/var/tmp") as directory:
        jobs, output = Path(directory, "jobs.jsonl"), Path(directory, "results.jsonl")
        write_jobs(jobs, count)
        client = subprocess.Popen([RUBRICCTL, f"--socket={daemon.socket}", "batch", "--no-fail", "--quiet",
                                   "--output", output, jobs])  # fmt: skip
        wrong = list(judge(measure(client, daemon, output, count)))
        if client.wait() != 0:
            wrong.append(f"the batch ended with {client.returncode}")
        with open(output, "rb") as lines:
            ids = {json.loads(line)["id"] for line in lines}
        if len(ids) != count:
            wrong.append(f"{len(ids)} of {count} jobs have a result")
    daemon.stop()
    for what in wrong:
        print(what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
