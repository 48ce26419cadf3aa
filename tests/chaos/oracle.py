# SPDX-License-Identifier: MIT
"""Judges what a client hears. Every submitted job has exactly one ending: its right verdict, a retriable error
with its id, or the end of its connection for a reason that somebody has given. Anything else is a fault:

    wrong    another verdict, or an error that is for good where it should not be
    lost     no answer in time, or a connection that ended without a reason
    doubled  an answer to a job that has one, or that nobody has submitted
    no id    an error that names no job"""

import collections
import json
import threading

import catalog

RETRIABLE = {"draining", "sandbox_failed", "starved", "internal"}
FAULTS = ("wrong", "lost", "doubled", "no id")


def difference(answer, expected, path=""):
    """Returns where ANSWER lacks what EXPECTED has, as text; None if it has all of it."""
    if expected == catalog.NOT_A_PASS:
        return f"{path}: {answer!r}" if answer in (None, "pass") else None
    if isinstance(expected, dict):
        if not isinstance(answer, dict):
            return f"{path}: {answer!r}, expected an object"
        found = (difference(answer.get(k, "absent"), v, f"{path}.{k}") for k, v in expected.items())
        return next(filter(None, found), None)
    if isinstance(expected, list):
        if not isinstance(answer, list) or len(answer) != len(expected):
            return f"{path}: {answer!r}, expected {len(expected)} items"
        found = (
            difference(a, e, f"{path}[{n}]") for n, (a, e) in enumerate(zip(answer, expected))
        )
        return next(filter(None, found), None)
    same = answer == expected and isinstance(answer, bool) == isinstance(expected, bool)
    return None if same else f"{path}: {str(answer)[:200]!r}, expected {str(expected)[:200]!r}"


def holds(answer):
    """Returns why ANSWER says that an attack has got through; None if it was held."""
    if answer["type"] != "result":
        return "an error"
    printed = answer["stdout"]
    if "unclear: " in printed:
        return "the attack could not judge its result"
    through = "SUCCEEDED: " in printed and answer["outcome"]["exit_code"] == 0
    return "the attack has succeeded" if through else None


def judge(job, answer, cancelled=False):
    """Returns the outcome of an answer, and what is wrong with it (or None): ("right", None)."""
    if answer["type"] == "error" and answer["retriable"]:
        known = answer["code"] in RETRIABLE
        return answer["code"], None if known else f"{answer['code']} is not retriable"
    if cancelled and answer["type"] == "error" and answer["code"] == "cancelled":
        return "cancelled", None
    why = holds(answer) if job.expected == catalog.HELD else difference(answer, job.expected)
    return ("wrong", why) if why else ("right", None)


class Ledger:
    """Counts of a run, and the complaints. Clients of all threads write to it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.outcomes = collections.Counter()  # by (row, outcome): of attempts
        self.jobs = collections.Counter()  # by row: of jobs, however often they were submitted
        self.faults = collections.Counter()
        self.events = collections.Counter()  # injected faults
        self.complaints = []
        self.answers = 0

    def count(self, row, outcome):
        with self.lock:
            self.outcomes[row, outcome] += 1
            self.answers += 1

    def add_job(self, row):
        with self.lock:
            self.jobs[row] += 1

    def complain(self, fault, what, **details):
        with self.lock:
            self.faults[fault] += 1
            self.complaints.append({"fault": fault, "what": what, **details})

    def summary(self):
        """Returns the complaints in short, the most frequent first: for what prints little of a failure."""
        counts = collections.Counter(f"{c['fault']}: {c['what'][:160]}" for c in self.complaints)
        return "; ".join(f"{n} times {text}" for text, n in counts.most_common(4))


class Attempts:
    """The jobs of one connection, from their submission to their one answer."""

    def __init__(self, ledger, who):
        self.ledger, self.who = ledger, who
        self.waiting = {}  # by id: the job
        self.answered = {}  # by id: its row
        self.started = set()
        self.cancels = collections.Counter()  # by id: those that have no answer yet
        self.spare = collections.Counter()  # by id: those that need none, since one before them had its effect
        self.farewell = None  # an error that names no job, which has to be the last message

    def submit(self, id, job):
        self.waiting[id] = job

    def cancel(self, id):
        self.cancels[id] += 1

    def hear(self, message):
        """Takes a message. Returns (id, job, outcome) if it ends an attempt, else None."""
        kind, id = message["type"], message.get("id")
        if self.farewell:
            self._complain("no id", "an error without an id, and the connection goes on", self.farewell)
            self.farewell = None
        if kind == "started":
            if id in self.started or id not in self.waiting:
                self._complain("doubled", "a second start, or of a job that has ended", message)
            self.started.add(id)
            return None
        if kind not in ("result", "error"):
            return None
        if id is None:
            self.farewell = message
            return None
        if id not in self.waiting:
            self._hear_again(id, message)
            return None
        return self._end(id, message)

    def _end(self, id, message):
        job = self.waiting.pop(id)
        outcome, why = judge(job, message, cancelled=self.cancels[id] > 0)
        if outcome == "cancelled":
            # Those that the daemon read while it ended the job have no answer of their own.
            self.spare[id] = self.cancels.pop(id) - 1
        elif outcome in RETRIABLE and self.cancels[id] > 0:
            self.spare[id] = self.cancels.pop(id)  # nor those of a job that was lost meanwhile
        if why:
            self._complain("wrong", why, message, job)
        self.answered[id] = job.row
        self.ledger.count(job.row, outcome)
        return id, job, outcome

    def _hear_again(self, id, message):
        """A cancel that comes too late is a bad request, behind the answer of its job."""
        late = message["type"] == "error" and message["code"] == "bad_request"
        for cancels in (self.cancels, self.spare):
            if id in self.answered and late and cancels[id] > 0:
                cancels[id] -= 1
                return
        self._complain("doubled", "an answer to a job that has none to come", message)

    def close(self, reason, is_short=False):
        """Ends the connection. REASON: why, or None if nobody knows. IS_SHORT: the daemon may run out of memory
        for a frame, which it says. Returns the jobs without an answer."""
        if self.farewell and not (is_short and self.farewell["code"] == "internal"):
            self._complain("no id", "an error without an id", self.farewell)
        elif self.farewell:
            reason = "internal"
        left, self.waiting = self.waiting, {}
        for id, job in left.items():
            if reason is None:
                self._complain("lost", "the connection ended without a reason", {"id": id}, job)
            elif reason == "draining" and id in self.started:
                self._complain("lost", "a running job has no answer before bye", {"id": id}, job)
            self.ledger.count(job.row, f"closed: {reason}" if reason else "lost")
        return list(left.values())

    def give_up(self, seconds):
        """Counts the jobs for which nothing was heard in SECONDS."""
        for id, job in self.waiting.items():
            self._complain("lost", f"no answer within {seconds} s", {"id": id}, job)
            self.ledger.count(job.row, "lost")
        self.waiting = {}

    def check_cancels(self):
        """Every cancel has an answer by now."""
        late = {id: n for id, n in self.cancels.items() if n > 0}
        if late:
            self._complain("lost", f"cancels without an answer: {late}", {})

    def _complain(self, fault, what, message, job=None):
        request = None if job is None else job.raw or job.request
        self.ledger.complain(
            fault, what, client=self.who, job=job.name if job else None, request=request, answer=message
        )



def judge_file(ledger, who, jobs, lines, complete):
    """Judges the results that `rubricctl batch` wrote for JOBS, by id. COMPLETE: it had the time to end."""
    seen = set()
    for text in lines:
        line = json.loads(text)
        id = line.get("id")
        if id in seen or id not in jobs:
            ledger.complain("doubled", "a line for a job that has one", client=who, answer=line)
            continue
        seen.add(id)
        outcome, why = judge(jobs[id], line)
        ledger.count(jobs[id].row, outcome)
        if why:
            ledger.complain("wrong", why, client=who, request=jobs[id].request, answer=line)
    for id in set(jobs) - seen if complete else ():
        ledger.complain("lost", "no line in the results", client=who, request=jobs[id].request)
        ledger.count(jobs[id].row, "lost")


COLUMNS = ("right", "sandbox_failed", "internal", "draining", "starved", "cancelled")


def table(ledger):
    """Returns the table of attempts by row and outcome, as lines."""
    others = sorted({o for _, o in ledger.outcomes if o not in COLUMNS})
    columns = [*COLUMNS, *others]
    rows = sorted(set(ledger.jobs) | {row for row, _ in ledger.outcomes})
    width = [max(len(c), 7) for c in columns]
    head = " ".join(f"{c:>{w}}" for c, w in zip(columns, width))
    lines = [f"{'jobs':14} {'count':>7} {head}"]
    for row in [*rows, None]:
        count = sum(ledger.jobs.values()) if row is None else ledger.jobs[row]
        cells = []
        for column, w in zip(columns, width):
            n = sum(v for (r, o), v in ledger.outcomes.items() if o == column and row in (None, r))
            cells.append(f"{n or '':>{w}}")
        lines.append(f"{row or 'all':14} {count:>7} {' '.join(cells)}")
    lines.append("faults: " + ", ".join(f"{k} {v}" for k, v in sorted(ledger.events.items())))
    left = {name: ledger.faults[name] for name in (*FAULTS, "left over")}
    more = {k: v for k, v in ledger.faults.items() if k not in left}
    lines.append("; ".join(f"{name} {count}" for name, count in {**left, **more}.items()))
    return lines
