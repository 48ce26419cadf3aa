# SPDX-License-Identifier: MIT
"""Runs rounds: clients and faults at the same time, then a calm in which everything must be as it was."""

import json
import time

import catalog
import clients
import conftest
import faults
import oracle
from place import RECOVERY, SETTLING, Place

ROUND_MAX = 240.0  # seconds until a round is given up for hung
# What a calm batch may need a second attempt for: a host that is too busy.
BUSY = "starved"


class Runner:
    """Runs the rounds of a PLANNER, each on a daemon of its shape."""

    def __init__(self, planner, say=print, ledger=None):
        self.planner, self.say = planner, say
        self.ledger = ledger or oracle.Ledger()
        self.place = None

    def run(self, first, last, until):
        """Runs the rounds from FIRST on: LAST of them, or until the time UNTIL."""
        number = first
        try:
            while (last is None or number < first + last) and time.monotonic() < until:
                if not self.run_one(number):
                    break
                number += 1
        finally:
            self.leave()
        return number - first

    def run_one(self, number):
        """Returns whether it makes sense to go on."""
        shape = self.planner.shape(number)
        if self.place is None or self.place.shape != shape:
            self.leave()
            self.place = Place(shape)
            calm(self.place, self.ledger, "before the first round")
            self.place.set_baseline()
        known = len(self.ledger.complaints)
        plan = self.planner.round(number, str(self.place.bench))
        round_ = Round(self.place, self.ledger, plan)
        began = time.monotonic()
        round_.run()
        calm(self.place, self.ledger, f"round {number}")
        compare(self.place, self.ledger, number)
        found = len(self.ledger.complaints) - known
        self.say(
            f"round {number} ({shape}): {sum(len(c['jobs']) for c in plan.clients)} jobs, "
            f"{', '.join(round_.applied) or 'no fault'}; {time.monotonic() - began:.1f} s; {found} faults found"
        )
        self.tell(known)
        return self.place.daemon.process.poll() is None

    def tell(self, known):
        """Says what was found wrong beyond the first KNOWN complaints."""
        for complaint in self.ledger.complaints[known:]:
            self.say(json.dumps({"seed": self.planner.seed, **complaint}, default=str)[:6000])

    def leave(self):
        if self.place is not None:
            place, self.place = self.place, None
            known = len(self.ledger.complaints)
            trouble = place.close()
            if trouble:
                self.ledger.complain("left over", trouble, log=place.log_text[-2000:])
            self.tell(known)


class Round:
    def __init__(self, place, ledger, plan):
        self.place, self.ledger, self.plan = place, ledger, plan
        self.base = ledger.answers
        self.applied = []
        self.threads, self.batches = [], []
        for script in plan.clients:
            if script["behaviour"] == "batch":
                self.batches.append(clients.Batch(place, ledger, script))
            else:
                script = {**script, "jobs": [j for j in script["jobs"] if place.can_hold(j)]}
                self.threads.append(clients.KINDS[script["behaviour"]](place, ledger, script))

    def run(self):
        for thread in self.threads:
            thread.start()
        end = time.monotonic() + ROUND_MAX
        for fault in self.plan.faults:
            self.wait(lambda after=fault["after"]: self.ledger.answers - self.base >= after, end)
            self.inflict(fault, end)
        self.wait(lambda: False, end)
        for thread in self.threads:
            if isinstance(thread, clients.Deaf):
                thread.listen.set()
        for thread in self.threads:
            thread.join(max(0, end + clients.PATIENCE - time.monotonic()))
            if thread.is_alive():
                self.ledger.complain("lost", "the client did not end", client=thread.name)
        for batch in self.batches:
            batch.judge()

    def wait(self, condition, end):
        """Waits until CONDITION() holds or nobody has anything to do but those who do not listen."""
        while time.monotonic() < end and not condition():
            over = [batch.poll() for batch in self.batches]
            over += [not t.is_alive() for t in self.threads if not isinstance(t, clients.Deaf)]
            if all(over):
                return
            if self.place.has_crashed():
                self.crashed()
            time.sleep(0.01)

    def crashed(self):
        log = self.place.daemon.log()[-2000:]
        status = self.place.daemon.process.returncode
        self.ledger.complain("crashed", f"the daemon ended with {status}", log=log)
        self.place.endings[self.place.pid] = "crashed"
        self.place.await_end()
        self.place.start()

    def inflict(self, plan, end):
        fault = faults.FAULTS[plan["name"]]
        try:
            state = self.carefully(plan, lambda: fault.begin(self.place, plan["pick"]))
            if not state:
                return
            over = time.monotonic() + plan["hold"]
            while time.monotonic() < min(over, end):
                for batch in self.batches:
                    batch.poll()
                time.sleep(0.01)
            self.carefully(plan, lambda: fault.end(self.place, state))
        except conftest.Closed:
            if not self.place.has_crashed():
                raise
            self.crashed()
        self.ledger.events[plan["name"]] += 1
        self.applied.append(plan["name"])

    def carefully(self, plan, step):
        """Returns what a step of a fault returns; true if the daemon has answered it as it should not."""
        try:
            return step()
        except faults.Wrong as wrong:
            self.ledger.complain("wrong", str(wrong), injected=plan["name"])
            return True


def complain_of_calm(place, ledger, when, what, **details):
    ledger.complain("wrong", f"{when}, in the calm: {what}", log=place.daemon.log()[-1500:], **details)


def calm(place, ledger, when):
    """Waits until nothing is to be done, and then asks for a job of every kind: each is right at once."""
    end = time.monotonic() + RECOVERY
    while not place.is_calm():
        if time.monotonic() > end:
            complain_of_calm(place, ledger, when, f"no calm within {RECOVERY} s: {place.status()}")
            return
        time.sleep(0.02)
    makes = catalog.Catalog(str(place.bench))
    jobs = {}
    for n, (row, name) in enumerate(makes.names()):
        job = makes.get(row, name, f"calm{n}", n)
        if not job.slow:
            jobs[f"calm/{n}"] = job
    # At once, so that every slot has both programs of a pair.
    pairs = [catalog.waiting_pair(0.2)] * place.slots
    wanted = oracle.catalog.verdict("pass")
    jobs.update({f"pair/{n}": catalog.Job("code isolated", "pair", p, wanted) for n, p in enumerate(pairs)})
    for _ in range(3):
        jobs = ask(place, ledger, when, jobs)
    check_counters(place, ledger, when)


def ask(place, ledger, when, jobs):
    """Submits JOBS and judges the answers. Returns those that a busy host has not answered."""
    left = {}
    with place.daemon.connect() as client:
        client.sock.settimeout(clients.PATIENCE)
        for id, job in jobs.items():
            client.send_frame(job.payload(id))
        for _ in jobs:
            try:
                answer = client.recv_answer()
            except (OSError, ValueError, conftest.Closed) as error:
                complain_of_calm(place, ledger, when, f"{error!r}")
                return {}
            job = jobs[answer["id"]]
            outcome, why = oracle.judge(job, answer)
            if outcome == BUSY:
                left[answer["id"]] = job
            elif outcome != "right" or why:
                what = why or f"a retriable error: {outcome}"
                complain_of_calm(place, ledger, when, what, request=job.raw or job.request, answer=answer)
    return left


def check_counters(place, ledger, when):
    """The daemon counts every job that has ended exactly once."""
    for kind, counted in place.status()["kinds"].items():
        ended = counted["passed"] + counted["failed"] + sum(counted["errors"].values())
        if counted["submitted"] != ended + counted["dropped"]:
            complain_of_calm(place, ledger, when, f"counters of {kind}: {json.dumps(counted)[:300]}")


def compare(place, ledger, number):
    """Compares what there is with what there was; what ends late has some time."""
    end = time.monotonic() + SETTLING
    while (found := place.unlike_baseline()) and time.monotonic() < end:
        time.sleep(0.1)
    if found:
        ledger.complain("left over", f"after round {number}: {found}", log=place.daemon.log()[-1500:])
    if touched := place.world.touched():
        ledger.complain("left over", f"after round {number}, on the host: {touched}")
