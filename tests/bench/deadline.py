#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures how late the daemon enforces a deadline when every slot spins: the job's wall clock minus its
limit. The daemon reports whole milliseconds, rounded up. Runs with as many slots as processors, with twice
as many, and with rubrics between the jobs that spin."""

from bench import PROCESSORS, Daemon, NotMeasured, passed
from rubrics import SMALL, install, job_for
from table import Row, at_most, main, percentile

LIMIT_SECONDS = 0.1
SPINNING = 400


def late_ms(result):
    if result["outcome"]["limit_exceeded"] != "wall_clock":
        raise NotMeasured(f"not ended by its deadline: {result}")
    due = result.get("deadline", {"wall_clock_ms": round(LIMIT_SECONDS * 1000)})["wall_clock_ms"]
    return result["usage"]["wall_clock_ms"] - due


def round_of(daemon, jobs):
    """Returns how late the daemon killed each of the jobs that spin."""
    # No reruns: jobs that waited for a processor are what this benchmark measures. Where their
    # deadline has moved for that, it counts from there.
    _, results = daemon.batch(jobs, "--no-rerun-starved")
    for result in results:
        if result["kind"] == "rubric" and not passed(result):
            raise NotMeasured(f"the rubric beside it did not pass: {result}")
    return [late_ms(result) for result in results if result["kind"] == "sandbox"]


def rows_with(slots, rubrics, scale):
    limits = {"wall_clock": LIMIT_SECONDS}
    spin = {"kind": "sandbox", "snippet": "while :; do :; done", "limits": limits}
    with Daemon(f"daemon.slots={slots}") as daemon:
        beside = [job_for(install(daemon), SMALL, 1)] * (2 if rubrics else 0)
        jobs = daemon.write_jobs("jobs", [spin, *beside] * scale.jobs(SPINNING))
        rounds = [round_of(daemon, jobs) for _ in range(scale.rounds(3))]
    what = f"{slots} at once{', rubrics between them' if rubrics else ''}"
    for name, share in (("median", 0.5), ("p99", 0.99), ("most", 1)):
        late = [percentile(of_round, share) for of_round in rounds]
        yield Row("g", f"killed after it is due, {name}, {what}", late, "ms", at_most(5) if name == "p99" else None)


def measure(scale):
    """how late deadlines are kept"""
    yield from rows_with(PROCESSORS, False, scale)
    yield from rows_with(2 * PROCESSORS, False, scale)
    yield from rows_with(2 * PROCESSORS, True, scale)


if __name__ == "__main__":
    main(__doc__, measure)
