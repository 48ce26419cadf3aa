# SPDX-License-Identifier: MIT
"""The referee of wire_fuzz.py: as that of the unit tests (referee.py), but where a job says so, the candidate's
messages, or those that it gets, are altered on their way. The judge is as ever, and its report has a line
{"confirmed": WHY} for a pass that is run once more in one process. A judge that does nothing but read or write for
READING_SECONDS of CPU time has the verdict "endless"; one that waits longer than it may, or whose tests do not end, is
hung.

    altering_referee.py CHECKER"""

import _signal
import os
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1] / "unit" / "daemon" / "checker")

import referee  # noqa: E402

READING_SECONDS, LOOKS = 1, 20
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
    watch_reading()
    run_job(job, report_fd)


def watch_reading():
    """Ends this process if it is seen to read or write at each of LOOKS looks in a row."""
    import conversation

    codes = conversation.Conversation.read.__code__, conversation.Conversation.write.__code__
    seen = 0

    def look(_, frame):
        nonlocal seen
        while frame is not None and frame.f_code not in codes:
            frame = frame.f_back
        seen = seen + 1 if frame is not None else 0
        if seen == LOOKS:
            referee.say("endless", frame.f_code.co_name)
            os._exit(0)

    _signal.signal(_signal.SIGPROF, look)
    _signal.setitimer(_signal.ITIMER_PROF, READING_SECONDS / LOOKS, READING_SECONDS / LOOKS)


def candidate(program, *fds):
    _signal.signal(_signal.SIGPROF, _signal.SIG_DFL)
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
