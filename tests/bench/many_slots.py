#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures one daemon with as many slots as hosts with many processors have. The jobs sleep, so few
processors do: what is measured is how soon a slot has its next job, and the daemon's own CPU time per job,
which bounds how many jobs a second one daemon can run on any host."""

from bench import NAP, Daemon, NotMeasured, message_loop_at_depth, submit
from scaling import ROOM
from table import Row, at_least, main

# Jobs that end in a second, with any number of slots: a host with two processors has to start them, too.
RATE = 200
SLOTS = (16, 64, 256, 512, 1024)
GOALS = {512: at_least(0.98)}
SECONDS = 6
# Slots, and jobs that wait at least.
DEEP = (512, 100_000)


def naps(slots):
    """Returns a job that sleeps for so long that SLOTS of them end at RATE, and how long that is on average."""
    ms = slots * 1000 // RATE
    return {"kind": "sandbox", "argv": [str(NAP), f"{ms}"]}, ms / 1000


def of_round(daemon, slots, waiting, seconds):
    """Returns the rate as a part of the ideal one, and the daemon's CPU time per job in microseconds."""
    job, nap = naps(slots)
    ideal = slots / nap
    count = round(max(seconds, 2 * nap) * ideal)
    # Each slot runs one job and may hold the next one. The first jobs began together; once each slot has had
    # two, jobs end at any time.
    done = message_loop_at_depth(daemon, slots + waiting, 1, count, submit(job), running=2 * slots, skip=2 * slots)
    daemon.await_idle()
    return count / done["seconds"] / ideal, done["cpu_ns"][0] / count / 1e3


def rows_with(slots, waiting, scale):
    with Daemon(f"daemon.slots={slots}", "warm.use=no", *ROOM) as daemon:
        what = f"{slots:,} slots, {waiting:,} waiting"
        try:
            rounds = [of_round(daemon, slots, waiting, 2 if scale.quick else SECONDS) for _ in range(scale.rounds(5))]
        except NotMeasured as why:
            yield Row("n", f"jobs that sleep, {what}", missing=str(why))
            return
    yield Row("n", f"jobs that sleep, to the ideal, {what}", [rate for rate, _ in rounds], goal=GOALS.get(slots))
    yield Row("n", f"daemon CPU per job that sleeps, {what}", [cpu for _, cpu in rounds], "µs")


def measure(scale):
    """one daemon with many slots"""
    for slots in SLOTS:
        yield from rows_with(slots, 2 * slots, scale)
    yield from rows_with(*DEEP, scale)


if __name__ == "__main__":
    main(__doc__, measure)
