#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures what the daemon itself uses. CPU time per job, of the supervisor and of a jail without its
jobs, for sandbox jobs of a static `exit 0` and for rubrics. Resident memory, idle and after load."""

from pathlib import Path

from bench import EXIT0_JOB, PROCESSORS, Daemon, message_loop, submit, watch
from rubrics import SMALL, install, job_for
from table import Row, at_most, main

JOBS = 4000
WARM_JOBS = 1500
COLD_JOBS = 200
# Requests in flight, enough that no slot waits for the client.
WINDOW = 8


def ticks(pid):
    """Returns the CPU time of PID in clock ticks, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]), int(fields[12])


def resident_mib(pid):
    """Returns the resident memory of PID in MiB, now and at its peak."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return [int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")]


def cost_rows(daemon, what, job, count, scale):
    pid, jails = daemon.process.pid, daemon.jails()
    options = [f"-w{WINDOW}", *watch(pid, *jails)]
    message_loop(daemon.socket, 100, submit(job), options=options)
    before, ours, theirs = ticks(pid), [], []
    for _ in range(scale.rounds(7)):
        cpu_ns = message_loop(daemon.socket, count, submit(job), options=options)["cpu_ns"]
        ours.append(cpu_ns[0] / count / 1e6)
        theirs.append(sum(cpu_ns[1:]) / count / 1e6)
    user, kernel = (after - before for after, before in zip(ticks(pid), before))
    yield Row("h", f"daemon CPU per job, {what}", ours, "ms", at_most(0.1))
    if user + kernel > 0:
        yield Row("h", f"of it in the kernel, {what}", [100 * kernel / (user + kernel)], "%")
    yield Row("h", f"jail CPU per job beside it, {what}", theirs, "ms")


def size_rows(daemon, when):
    (now, most), jails = resident_mib(daemon.process.pid), [resident_mib(pid)[0] for pid in daemon.jails()]
    yield Row("h", f"daemon resident, {when}", [now], "MiB")
    yield Row("h", f"daemon resident at most, {when}", [most], "MiB")
    yield Row("h", f"a jail resident, {when}", jails, "MiB")


def measure_without_interpreter(scale):
    """the daemon's cost without interpreters that wait"""
    with Daemon(f"daemon.slots={PROCESSORS}", "warm.use=no") as daemon:
        yield from size_rows(daemon, "no interpreter waits, idle")
        yield from cost_rows(daemon, "`exit 0`, no interpreter waits", EXIT0_JOB, scale.jobs(JOBS), scale)
        yield from size_rows(daemon, "no interpreter waits, after load")


def measure(scale):
    """the daemon's cost"""
    with Daemon(f"daemon.slots={PROCESSORS}") as daemon:
        daemon.require_warm()
        root = install(daemon)
        yield from size_rows(daemon, "idle")
        yield from cost_rows(daemon, "`exit 0`", EXIT0_JOB, scale.jobs(JOBS), scale)
        yield from cost_rows(daemon, "warm rubric", job_for(root, SMALL, 1), scale.jobs(WARM_JOBS), scale)
        yield from cost_rows(daemon, "cold rubric", job_for(root, SMALL, 1, warm=False), scale.jobs(COLD_JOBS), scale)
        yield from size_rows(daemon, "after load")


if __name__ == "__main__":
    main(__doc__, measure, measure_without_interpreter)
