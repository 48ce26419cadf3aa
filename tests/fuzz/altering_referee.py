# SPDX-License-Identifier: MIT
"""The referee of wire_fuzz.py: as that of the unit tests (referee.py), but where a job says so, the candidate's
messages, or those that it gets, are altered on their way. The judge is as ever, and its report has a line
{"confirmed": WHY} for a pass that is run once more in one process.

    altering_referee.py CHECKER"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1] / "unit" / "daemon" / "checker")

import referee  # noqa: E402

JOB = {}  # of this process
run_job, run_candidate = referee.child, referee.run_candidate


def child(job, report_fd):
    import judge
    import suite

    confirm = judge.Checker.confirm

    def noted(self):
        why = self.not_simple or self.link.crossings.why
        if why:
            self.report.write('{"confirmed":%s}' % suite.quote(why))
        return confirm(self)

    judge.Checker.confirm = noted
    JOB.update(job)
    run_job(job, report_fd)


def candidate(program, *fds):
    if program == "main" and "altered" in JOB:
        alter(**JOB["altered"])
    run_candidate(program, *fds)


def alter(seed, rate, way):
    """Alters one message in RATE. WAY is "sent" by the candidate, "received" by it, or "both"."""
    path = list(sys.path)
    sys.path.append(str(Path(__file__).resolve().parent))
    import random

    import candidate
    import fuzzing

    sys.path[:] = path
    rng, history = random.Random(seed), []

    def passed(data):
        history.append(data)
        is_code = len(history) == 1  # the first question, most of which is text of a program
        if rng.random() >= (0.1 if is_code else 1) / rate:
            return data
        return rng.choice(history) if rng.randrange(12) == 0 else fuzzing.altered(rng, data, history)

    send, receive = candidate.Server.send, candidate.Server.receive
    if way != "received":
        candidate.Server.send = lambda self, data: send(self, passed(data))
    if way != "sent":
        candidate.Server.receive = lambda self: passed(receive(self))


if __name__ == "__main__":
    referee.child, referee.run_candidate = child, candidate
    referee.main()
