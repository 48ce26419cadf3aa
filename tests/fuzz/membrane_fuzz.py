#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Fuzzes the judge's side of the wire. It records what a candidate answers to the tests of some jobs, and judges
them again in a judge that has no candidate and is given those messages altered: bits, bytes, pieces of other
messages, messages left out, repeated or swapped, forged questions between them, nodes of any kind (messages.py),
and objects that answer every question with `True` and the like.

    membrane_fuzz.py [SECONDS [SEED]]

Violations: reading a message raises anything but WireError or takes more than HANG_SECONDS, the judge ends
without a verdict, cannot be ended or takes more than MEMORY_MAX; or a comparison of an assert holds between a plain
value of the tests and something that is not that value. Exits with 1 after a violation and names its seed."""

import marshal
import os
import random
import resource
import select
import signal
import tempfile
from fractions import Fraction
from pathlib import Path
from time import process_time  # itself, not what a judge reads from a recording

import fuzzing  # first: it says where the others are

import candidate
import describe
import duel
import judge
import referee
import transcript
import wire
import wire_writer
from messages import message

BATCH = 100  # runs of one job
HANG_SECONDS = 10  # of CPU time
WAIT_SECONDS = 10  # by the clock, until a judge that takes none is ended; one that goes on is killed after as many more
MEMORY_MAX = 1 << 30
OPERATIONS = "call method get set delete special next drain copy deepcopy step watch wake call_later global load".split()
NAMES = (*describe.SPECIALS, "__globals__", "__dict__", "__class__", "__init__", "send", "throw", "append", "x", "name")
EXACT = r"""
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
import datetime, enum
P = namedtuple("P", "x y")
class E(enum.IntEnum):
    A = 1
    B = 2
class L(list): pass
class S(str): pass
def values():
    return [1, -7, 2 ** 80, 1.5, -0.0, "text", b"bytes", None, True, (1, (2,)), {"k": [1, 2]}, {3, 4}, frozenset([5]), range(3), 2j]
def library():
    return [Fraction(1, 3), Decimal("1.5"), datetime.date(2024, 1, 2), Counter("ab"), OrderedDict(a=1), deque([1], 3), bytearray(b"z")]
def derived(): return P(1, 2), E.B, L([1]), S("s")
def many(n): return list(range(n)), [str(i) for i in range(n)], [(i, i / 2) for i in range(n)]
def change(l, d): l.append(9); d["new"] = l; return l
def fails(x): raise ValueError("bad", x)
def call(f, x): return f(x) + f(x + 1)
def short(x): return x * 2
"""
EXACT_TESTS = [
    "assert values() == [1, -7, 2 ** 80, 1.5, -0.0, 'text', b'bytes', None, True, (1, (2,)), {'k': [1, 2]}, {3, 4},"
    " frozenset([5]), range(3), 2j]",
    "from fractions import Fraction\nfrom decimal import Decimal\nassert library()[0] == Fraction(1, 3)\n"
    "assert library()[3] == {'a': 1, 'b': 1} and library()[6] == b'z'\nassert library()[1] == Decimal('1.5')",
    "assert derived() == ((1, 2), 2, [1], 's')",
    "assert many(40) == (list(range(40)), [str(i) for i in range(40)], [(i, i / 2) for i in range(40)])",
    "l, d = [1], {}\nassert change(l, d) == [1, 9]\nassert d == {'new': [1, 9]}\nassert l == [1, 9]",
    "try:\n    fails(3)\nexcept ValueError as error:\n    assert error.args == ('bad', 3)\nelse:\n    assert 1 == 2",
    "assert call(lambda x: x * 10, 1) == 30",
    "assert short(21) == 42\nassert short('ab') == 'abab'\nassert short(1.5) == 3.0",
]


def jobs():
    found = {"exact": {"id": "exact", "code": EXACT, "targets": EXACT_TESTS}}
    found.update(duel.Jobs(Path(duel.HERE) / "features.txt").jobs)
    return [job for name, job in found.items() if "refused" not in job and "asyncio" not in job["code"]
            and "thread" not in job["code"] and "doctest" not in name]  # fmt: skip


# --- the oracle -----------------------------------------------------------------------------------


class Violation(BaseException):
    """Tests catch whatever is raised, so each is noted, too."""

    noted = []

    def __init__(self, text):
        super().__init__(text)
        self.noted.append(self)


def canon(value, depth=0):
    """Returns something that is equal for the same plain data only, computed without a method of VALUE;
    None stands for what is no plain data."""
    kind = type(value)
    if depth > 50:
        raise RecursionError
    solid = describe.solid_base(kind)
    if kind in (bool, int, float, complex, Fraction) or solid in (int, float, complex):
        value = value if kind in (bool, Fraction) else describe.plain(solid, value)
        if type(value) is complex and not value.imag:
            value = value.real
        return ("number", Fraction(value)) if type(value) is not complex and value == value and abs(value) < 1e308 else ("number", value)
    if value is None or solid in (str, bytes):
        return ("text", value if value is None else describe.plain(solid, value))
    if kind is range:
        return ("range", *value)
    if solid is bytearray:
        return ("text", bytes(memoryview(value)))
    for base in (tuple, list, set, frozenset, dict):
        if issubclass(kind, base):
            name = {list: "list", tuple: "tuple", dict: "dict"}.get(base, "set")
            if base is dict:
                return name, frozenset((canon(k, depth + 1), canon(v, depth + 1)) for k, v in dict.items(value))
            parts = [canon(part, depth + 1) for part in base.__iter__(value)]
            return name, frozenset(parts) if name == "set" else tuple(parts)
    return ("object", kind.__name__) if kind.__module__ in ("decimal", "datetime", "uuid") else None


def holds_plain(parts):
    return parts is not None and "None" not in repr(parts).replace("('text', None)", "")


class Recorder(judge.suite.Recorder):
    """Checks each comparison that holds."""

    def compare(self, operator, left, right, swapped):
        result = super().compare(operator, left, right, swapped)
        try:
            sides = canon(left), canon(right)
        except (RecursionError, OverflowError):
            return result
        if operator == "==" and result is True and holds_plain(sides[0]) != holds_plain(sides[1]):
            raise Violation(f"{left!r} of {type(left)} == {right!r}")
        if operator == "==" and result is True and holds_plain(sides[0]) and sides[0] != sides[1]:
            if "object" not in repr(sides):
                raise Violation(f"{left!r} == {right!r}: {sides}")
        return result


# --- judging without a candidate --------------------------------------------------------------------


def record(job):
    """Returns the messages that a judge received, and what it read of clocks and the like; no messages if the tests
    do not pass, or do what cannot be played again (watch.py)."""
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_fd)
        write_fd, report_fd = os.dup2(write_fd, referee.REPORT + 1), os.dup2(silence(), referee.REPORT)
        candidate_pid = referee.start_candidate()
        asked = referee.request({**job, "how": "record"})
        link, report = judge.begin(asked, judge.Report(report_fd))
        judge.judge(asked, link, report)
        if report.results and all(report.results):
            events = [event for event in link.transcript.events if event[0] != transcript.SENT]
            data = marshal.dumps(events)
            os.write(write_fd, data) if len(data) < 60000 else None
        os.kill(candidate_pid, signal.SIGKILL)
        os._exit(0)
    os.close(write_fd)
    with os.fdopen(read_fd, "rb") as file:
        data = file.read()
    os.waitpid(pid, 0)
    events = marshal.loads(data) if data else []
    readings = [transcript.literal(data.decode()) for kind, data in events if kind == transcript.READ]
    return [data for kind, data in events if kind == transcript.RECEIVED], readings


def silence():
    """Leaves this process nothing to read, and nobody who hears it. Returns a descriptor of /dev/null."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    return null


def checked(function):
    """Whatever arrives, reading it and writing the answer raise nothing but WireError."""

    def call(*arguments):
        try:
            return function(*arguments)
        except wire.WireError as error:
            if error.__cause__ is not None:  # what no check has found
                raise Violation(f"{function.__name__} raises {error.__cause__!r}") from error
            raise
        except (judge.membrane.Lost, Violation):
            raise
        except BaseException as error:
            raise Violation(f"{function.__name__} raises {error!r}") from error

    return call


CHECKED = checked(None).__code__


class Played(transcript.Events):
    """Gives a judge the READINGS of a recording, as long as they are what it reads. It drops stand-ins when the
    recorded one did: the candidate has heard of that, and its messages tell."""

    def __init__(self, readings):
        super().__init__()
        self.left = iter(readings)

    def read(self, make, kind, size=None):
        value = next(self.left, None)
        return value if type(value) is kind and (size is None or len(value) == size) else make()


class Given(judge.Link):
    """The judge's side of a wire on which MESSAGES come, whatever it asks. Without READINGS it is as in a job that
    nobody records."""

    def __init__(self, messages, readings):
        super().__init__(-1, -1, -1)
        self.left = iter(messages)
        self.transcript = None if readings is None else Played(readings)
        self.read, self.written = checked(self.read), checked(self.written)

    def send(self, data):
        if self.transcript is not None:
            self.transcript.count_sent()

    def receive(self):
        data = next(self.left, None)
        if data is None:
            raise EOFError
        return data

    def confirm(self, data):
        return next(self.left, b"")


def judge_again(job, messages, readings):
    """Returns the verdict of a judge that receives MESSAGES. It is the judge of one job, and leaves its process as
    such a judge does: fork before."""
    judge.suite.Recorder = Recorder
    link, report = Given(messages, readings), judge.Report(os.open("/dev/null", os.O_WRONLY))
    kept = judge.judge(referee.request(job), link, report)
    if Violation.noted:
        raise Violation.noted[0]
    if not kept:
        return "lost" if link.lost else "ended"
    return "pass" if report.results and all(report.results) else "fail"


# --- altering ---------------------------------------------------------------------------------------


def number(n):
    out = bytearray()
    wire.write_number(out, n)
    return bytes(out)


def text(value):
    return b"s" + number(len(value)) + value.encode()


def forged_question(rng):
    """A question about some object of the judge's."""
    target = rng.choice((b"N", b"g" + number(rng.randrange(12)), b"R" + number(rng.randrange(12))))
    argument = rng.choice((b"N", b"i\1\5", text(rng.choice(NAMES)), b"g" + number(rng.randrange(12))))
    nodes = [text("?"), b"N", text(rng.choice(OPERATIONS)), target, b"t\2\6\7" if rng.random() < 0.6 else b"t\1\6",
             b"t\0", text(rng.choice(NAMES)), argument]  # fmt: skip
    return b"\6\0\1\2\3\4\5\0\0" + b"".join(nodes)


LIBRARY = [("re", "Match"), ("unittest.mock", "_ANY"), ("numbers", "Integral"), ("builtins", "int"), ("statistics", "NormalDist"),
           ("fractions", "Fraction"), ("types", "MappingProxyType"), ("inspect", "Signature"), ("builtins", "generator")]  # fmt: skip


def forged_object(rng):
    """An answer that is an object of a class that has whatever special methods it likes, and answers to what the
    judge then asks it."""
    kind = rng.choice((object, object, int, float, str, list, tuple, dict, ValueError))
    made = type("Forged", (kind,), {"f": lambda self: True})
    value = made()
    specials = [*describe.COMPARISONS, *rng.sample(sorted(describe.SPECIALS), 20)]
    how = rng.choice("ofo")
    attributes = tuple((name, "f" if how == "f" else "o", made.f if how == "f" else None) for name in specials)
    base = rng.choice((kind, kind, object))
    told = {id(made): ("c", "Forged", "Forged", rng.choice(("m", "__main__")), None, (base,), attributes, (), None)}
    if rng.random() < 0.3:
        told[id(value)] = ("l", *rng.choice(LIBRARY), tuple(specials))
    elif kind in describe.IMMUTABLE_BASES and rng.random() < 0.7:
        told[id(value)] = ("p", made, rng.choice((0, 42, 3.0, "text", (), (1, 2))))
    server = candidate.Server(-1, -1)
    server.next_export = 1000
    server.describe = lambda one: told.get(id(one)) or describe.describe(one, False)
    shown = rng.choice((value, value, [value], (value, value), {"k": value}))
    answers = [wire.brief_answer(rng.choice((True, True, False, 0, 42, 0.0, "text", None))) for _ in range(20)]
    return [wire_writer.Writer(server).message(("=", None, shown)), *answers]


def altered_messages(rng, messages, corpus):
    messages = list(messages)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(1, len(messages)) if len(messages) > 1 and rng.random() < 0.95 else 0
        what = rng.randrange(14)
        if what == 0:
            messages[at:at] = [forged_question(rng) for _ in range(rng.randrange(1, 4))]
        elif what == 1:
            messages[at] = rng.choice(messages)
        elif what == 2:
            messages[at] = rng.choice(rng.choice(corpus))
        elif what == 12:
            return messages[:at] + forged_object(rng)
        elif what == 13:
            messages[at : at + 1] = [message(rng) for _ in range(rng.randrange(1, 4))]
        elif what == 3:
            del messages[at]
            if not messages:
                return [b""]
        else:
            messages[at] = fuzzing.altered(rng, messages[at], rng.choice(corpus), names=NAMES)
    return messages


# --- the loop ---------------------------------------------------------------------------------------


def end(frame, write_fd):
    """Ends a run that has used up its time. A loop of the tests over data that is a ring is no violation, nor is a
    coroutine that waits for the code. What reads or writes and has had less than its CPU time may go on."""
    while frame is not None and frame.f_code is not CHECKED:
        frame = frame.f_back
    if frame is None or process_time() >= HANG_SECONDS:
        os.write(write_fd, b"hung" if frame is None else b"VIOLATION reading or writing does not end")
        os._exit(0)


def forked(job, messages, readings):
    """Returns what judge_again() returns in a process of its own, or what it raises there as a VIOLATION."""
    referee.clear()
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_fd)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
        silence()
        signal.signal(signal.SIGPROF, lambda _, frame: end(frame, write_fd))  # a job may have SIGALRM for itself
        signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS, 0.1)  # it may come a tick too early
        try:
            said = judge_again(job, messages, readings)
        except BaseException as error:
            said = f"VIOLATION {type(error).__name__}: {error}".replace("\n", " ")[:600]
        os.write(write_fd, said.encode("utf-8", "replace"))
        os._exit(0)
    os.close(write_fd)
    with os.fdopen(read_fd, "rb") as file:
        for how in (signal.SIGPROF, signal.SIGKILL):
            if not select.select((file,), (), (), WAIT_SECONDS)[0]:
                os.kill(pid, how)
        said = file.read().decode("utf-8", "replace")
    _, status = os.waitpid(pid, 0)
    return said or f"VIOLATION the judge was killed ({status})"


def run_batch(job, recording, corpus, seed):
    messages, readings = recording

    def once(run):
        rng = random.Random(run)
        given = altered_messages(rng, messages, corpus)
        said = forked(job, given, readings if rng.random() < 0.5 else None)
        came_out, _, wrong = said.partition(" ")
        return came_out, wrong

    return fuzzing.batch(job, seed, BATCH, once)


def main():
    directory = tempfile.TemporaryDirectory()
    os.chdir(directory.name)  # the judge empties the working directory
    recorded = [(job, recording) for job in jobs() for recording in (record(job),) if recording[0]]
    for job, recording in recorded:
        said = forked(job, *recording)
        assert said == "pass", f"{job['id']}: what was recorded ends with {said}"
    corpus = [messages for _, (messages, _) in recorded]

    def round_(seed):
        rng = random.Random(seed)
        job, recording = recorded[0] if rng.random() < 0.2 else rng.choice(recorded)
        return run_batch(job, recording, corpus, seed)

    fuzzing.run(f"{len(recorded)} jobs, {sum(map(len, corpus))} messages", round_)


if __name__ == "__main__":
    main()
