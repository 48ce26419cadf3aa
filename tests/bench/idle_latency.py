#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures how long one job takes on an idle daemon: a sandbox job of a static `exit 0` through an open
connection, from sending the request to receiving the result. The baseline, in turn, is fork, execve and
wait of the same program. Jobs run back to back, and each after a pause in which processors go to sleep."""

from bench import EXIT0, EXIT0_JOB, PROCESSORS, Daemon, fork_loop, message_loop, submit
from table import Row, at_most, main, percentile, ratios

JOBS = 1000
PAUSE_US = 5000


def median_and_p99(latencies_ns):
    """Returns milliseconds. Leaves out the first latency, which includes the connection."""
    return tuple(percentile(latencies_ns[1:], share) / 1e6 for share in (0.5, 0.99))


def rows_with(name, options, count, scale):
    ours, bare = [], []
    with Daemon(f"daemon.slots={PROCESSORS}") as daemon:
        request = submit(EXIT0_JOB)
        message_loop(daemon.socket, 100, request)
        for _ in range(scale.rounds(9)):
            done = fork_loop(count, 1, EXIT0, options=options)
            bare.append(median_and_p99(done["latencies_ns"]))
            done = message_loop(daemon.socket, count, request, options=options)
            ours.append(median_and_p99(done["latencies_ns"]))
    over = [a[0] - b[0] for a, b in zip(ours, bare)]
    medians, tails = zip(*ours)
    yield Row("e", f"bare p50, {name}", [p50 for p50, _ in bare], "ms")
    yield Row("e", f"job p50, {name}", medians, "ms")
    yield Row("e", f"job p50 over bare, {name}", over, "ms", at_most(0.3))
    yield Row("e", f"job p99, {name}", tails, "ms")
    yield Row("e", f"job p99 to its p50, {name}", ratios(tails, medians), goal=at_most(3))
    yield Row("e", f"bare p99 to its p50, {name}", [p99 / p50 for p50, p99 in bare])


def measure(scale):
    """the latency of one job on an idle daemon"""
    yield from rows_with("one after the other", [], scale.jobs(JOBS), scale)
    yield from rows_with(f"{PAUSE_US // 1000} ms apart", ["-p", PAUSE_US], scale.jobs(JOBS // 2), scale)


if __name__ == "__main__":
    main(__doc__, measure)
