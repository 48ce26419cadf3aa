#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Many mixed jobs, mostly cheap ones, on one daemon: each has its right verdict, and at the end the daemon has
and takes what it did at the beginning.

    tests/chaos/soak.py --jobs 1000000 --build build

Prints rate and latency of the first and last 10,000 jobs side by side, and what daemon, zygote and host had
before and after. The exit status is 1 if a job has a wrong verdict, two or none, if descriptors, processes,
mounts, control groups or inodes are left, or if memory grew by more than a tenth and 8 MiB. The figures of
time depend on other load of the host, so they are only shown."""

import argparse
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PART = 10_000  # jobs at the beginning and at the end that are compared
SESSION = 2_000  # jobs of one connection: what a client remembers is bounded
POOL = 1_000  # different jobs
SLACK = 8 << 20
# How often of a thousand jobs each is chosen. Those that are not here are not in the mix.
WEIGHTS = {
    "echo": 220, "status": 180, "brief": 40, "snippet": 60, "alone": 40, "files": 60, "no code": 40, "unrun": 80,
    "told": 60, "detail": 20, "broken": 20, "mute": 10, "example": 20, "pass": 40, "partly": 20, "syntax": 10,
    "exit": 10, "generation": 10, "transcript": 5, "signal": 10, "flood": 5, "full": 5, "tree": 5, "long": 5,
    "python": 5, "cold": 2, "cold code": 2, "no rubric": 10, "no field": 10, "nan": 5, "deadline": 1,
}  # fmt: skip


class Mix:
    """An endless, repeatable mix of jobs out of a bounded number."""

    def __init__(self, seed, root):
        import catalog

        makes, rng = catalog.Catalog(root), random.Random(seed)
        names = [(row, name) for row, name in makes.names() if name in WEIGHTS]
        weights = [WEIGHTS[name] for _, name in names]
        chosen = rng.choices(names, weights, k=POOL)
        self.jobs = [makes.get(*at, f"soak{n}", rng.randrange(1000)) for n, at in enumerate(chosen)]


class Figures:
    """The jobs so far, and the times of the first and the last PART of COUNT."""

    def __init__(self, count):
        self.count, self.part = count, min(PART, count // 2)
        self.taken = self.done = 0
        self.lock = threading.Lock()
        self.first, self.last = [], []
        self.marks = {0: time.monotonic()}

    def take(self):
        """Returns whether there is another job to submit."""
        with self.lock:
            self.taken += self.taken < self.count + 1
            return self.taken <= self.count

    def note(self, seconds):
        with self.lock:
            self.done += 1
            if self.done <= self.part:
                self.first.append(seconds)
            if self.done > self.count - self.part:
                self.last.append(seconds)
            if self.done in (self.part, self.count - self.part, self.count):
                self.marks[self.done] = time.monotonic()

    def columns(self):
        """Returns {row: (first, last)}."""
        times = [
            self.marks[self.part] - self.marks[0],
            self.marks[self.count] - self.marks[self.count - self.part],
        ]
        rates = [f"{self.part / seconds:.0f}" for seconds in times]
        rows = {"jobs/s": rates}
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            parts = (sorted(part) for part in (self.first, self.last))
            rows[f"latency {name}, ms"] = [f"{1000 * p[int(share * (len(p) - 1))]:.1f}" for p in parts]
        return rows


def make_client(place, ledger, figures, mix, script):
    """Returns a client that submits jobs of MIX until FIGURES has enough."""
    import clients
    import oracle

    class Soaking(clients.Client):
        def run(self):
            try:
                clients.become(self.script["uid"])
                while self.session():
                    pass
            except Exception as error:  # noqa: BLE001  whatever it is, the run has to fail
                self.ledger.complain("lost", f"the client failed: {error!r}", client=self.name)
                raise

        def serve(self, connection, attempts):
            began, since, ended = self.serial, {}, False
            while not ended or attempts.waiting:
                while not ended and len(attempts.waiting) < self.script["window"]:
                    ended = self.serial - began >= SESSION or not figures.take()
                    if not ended:
                        job, id = self.random.choice(mix.jobs), self.next_id()
                        attempts.submit(id, job)
                        since[id] = time.monotonic()
                        self.ledger.jobs[job.row] += 1
                        connection.send(job.payload(id))
                message = attempts.waiting and connection.recv()
                if message is None:
                    connection.settle(attempts)
                    return False
                if message and (end := attempts.hear(message)):
                    figures.note(time.monotonic() - since.pop(end[0]))
                    if end[2] in oracle.RETRIABLE - {"starved"}:
                        self.ledger.complain("wrong", f"an error without a fault: {message}", client=self.name)
            self.finish(connection, attempts)
            return figures.taken <= figures.count

    return Soaking(place, ledger, script)


def resident(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) << 10


def state_of(place):
    """Returns what is measured before and after."""
    census = place.quiet_census()
    found = {"daemon, KiB": resident(place.pid) >> 10}
    zygotes = place.zygotes()
    found["zygote, KiB"] = resident(zygotes[0]) >> 10 if zygotes else 0
    for what in ("descriptors", "jail descriptors", "mounts", "jail mounts"):
        found[what] = census[what]
    found["processes"] = 1 + len(place.children())
    found["others' processes"] = len(census["processes"])
    found["files"] = len(census["files"])
    found["control groups"] = len(census["groups"])
    found["inodes in the work directory"] = place.settled_inodes()
    return found


def faults_of(before, after, is_sanitized=False):
    for what, was in before.items():
        now = after[what]
        if what.endswith("KiB"):
            # A sanitizer keeps what was freed.
            if not is_sanitized and now > was * 1.1 and now > was + (SLACK >> 10):
                yield f"{what}: {was} has become {now}"
        elif now != was:
            yield f"{what}: {was} has become {now}"


def show(figures, before, after):
    part = f"{figures.part:,}"
    print(f"{'':30} {'first ' + part:>16} {'last ' + part:>16}")
    for name, (first, last) in figures.columns().items():
        print(f"{name:30} {first:>16} {last:>16}")
    print(f"{'':30} {'before':>16} {'after':>16}")
    for name, was in before.items():
        print(f"{name:30} {was!s:>16} {after[name]!s:>16}")


def soak(options):
    import oracle
    import place
    import plan
    import rounds

    ledger, figures = oracle.Ledger(), Figures(options.jobs)
    here = place.Place(options.shape, slots=options.slots, settings=["daemon.log_level=warning"])
    try:
        mix = Mix(options.seed, str(here.bench))
        rounds.calm(here, ledger, "before")
        before = state_of(here)
        figures.marks[0] = time.monotonic()
        users = plan.USERS if place.IS_ROOT else (None,) * 4
        scripts = [
            {"name": f"soak-{n}", "uid": uid, "seed": f"{options.seed}/{n}", "window": 4, "jobs": []}
            for n, uid in enumerate(users)
        ]
        threads = [make_client(here, ledger, figures, mix, script) for script in scripts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rounds.calm(here, ledger, "after")
        after = state_of(here)
        for what in faults_of(before, after, place.is_sanitized()):
            ledger.complain("left over", what)
    finally:
        if trouble := here.close():
            ledger.complain("left over", trouble)
    if figures.done == options.jobs:
        show(figures, before, after)
    else:
        ledger.complain("lost", f"{figures.done} of {options.jobs} jobs have an answer")
    return ledger, oracle.table(ledger)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--shape", default="all layers")
    parser.add_argument("--build", default=os.environ.get("RUBRICD_BUILD", HERE.parents[1] / "build"))
    options = parser.parse_args()
    os.environ["RUBRICD_BUILD"] = str(Path(options.build).resolve())
    # What was mounted and started is taken away however the run ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.path.insert(0, str(HERE))
    import catalog  # noqa: F401  makes the other folders of tests known

    ledger, lines = soak(options)
    print("\n".join(lines))
    for complaint in ledger.complaints[:20]:
        print(json.dumps(complaint, default=str)[:4000])
    return 1 if ledger.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
