# SPDX-License-Identifier: MIT
"""What the judge sent, received and read while it judged a job: enough to judge again without the candidate.

A transcript is a sequence of events: messages in both directions, and what the judge read of the clock and
of the kernel's random numbers. A replay runs the same tests in a judge that has no candidate: each question
must be the recorded one, byte for byte, and is given the recorded answer. If the verdict is a pass again, it
follows from the transcript and the tests alone."""

import sys

TRANSCRIPT_MAX = 16 << 20
SENT, RECEIVED, READ = 0, 1, 2
CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
          "process_time_ns", "thread_time", "thread_time_ns")  # fmt: skip
# Names in the tests that lead to what a transcript does not have, and what that is.
ELSEWHERE = {
    "now": "the clock",
    "utcnow": "the clock",
    "today": "the clock",
    "localtime": "the clock",
    "gmtime": "the clock",
    "ctime": "the clock",
    "strftime": "the clock",
    "open": "files",
    "listdir": "files",
    "exists": "files",
    "isfile": "files",
    "isdir": "files",
    "stat": "files",
    "getsize": "files",
    "read_text": "files",
    "read_bytes": "files",
    "tempfile": "files",
    "Popen": "processes",
    "subprocess": "processes",
    "popen": "processes",
    "system": "processes",
    "getpid": "processes",
    "multiprocessing": "processes",
    "Thread": "threads",
    "threading": "threads",
    "ThreadPoolExecutor": "threads",
    "asyncio": "an event loop",
    "id": "addresses",
    "tracemalloc": "memory",
    "getrusage": "memory",
}


class Diverged(BaseException):
    """The tests ask something else than they asked when the transcript was made."""


def reason_against(names):
    """Returns why tests that use NAMES cannot be replayed; None if they can."""
    for name in sorted(names):
        if name in ELSEWHERE:
            return f"the tests depend on {ELSEWHERE[name]} (`{name}`)"
    return None


class Recorder:
    """Records the events of a job."""

    def __init__(self):
        self.events = []
        self.size = 0
        self.is_complete = True

    def event(self, kind, data):
        self.size += len(data) + 5
        if self.size > TRANSCRIPT_MAX:
            self.is_complete = False
            self.events.clear()
        elif self.is_complete:
            self.events.append((kind, bytes(data)))

    def sent(self, data):
        self.event(SENT, data)

    def received(self, data):
        self.event(RECEIVED, data)

    def read(self, make):
        value = make()
        self.event(READ, repr(value).encode())
        return value

    def data(self):
        return b"".join(bytes((kind,)) + len(data).to_bytes(4, "big") + data for kind, data in self.events)


class Player:
    """Gives back the events of a transcript."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def next(self, kind):
        head = self.data[self.at : self.at + 5]
        size = int.from_bytes(head[1:], "big")
        found = self.data[self.at + 5 : self.at + 5 + size]
        if len(head) < 5 or head[0] != kind or len(found) != size:
            raise Diverged("the transcript has ended" if not head else "another event is due")
        self.at += 5 + size
        return found

    def sent(self, data):
        if self.next(SENT) != data:
            raise Diverged("the tests ask another question")

    def received(self):
        return self.next(RECEIVED)

    def read(self, make):
        text = self.next(READ)
        try:
            return literal(str(text, "ascii"))
        except (ValueError, SyntaxError):
            raise Diverged("a value that nothing reads") from None

    def is_over(self):
        return self.at == len(self.data)


def literal(text):
    """Reads the repr() of a number or of bytes."""
    import _ast

    tree = compile(text, "<transcript>", "eval", 0x400, dont_inherit=True)
    node = tree.body
    if isinstance(node, _ast.UnaryOp) and isinstance(node.op, _ast.USub):
        return -node.operand.value
    if not isinstance(node, _ast.Constant) or type(node.value) not in (int, float, bytes):
        raise ValueError(text)
    return node.value


def observe(events):
    """Has the clock and the kernel's random numbers read through EVENTS, a Recorder or a Player."""
    import time

    def observed(function):
        def read(*arguments):
            return events.read(lambda: function(*arguments))

        read.__name__ = read.__qualname__ = function.__name__
        return read

    for name in CLOCKS:
        setattr(time, name, observed(getattr(time, name)))
    os = sys.modules["os"]
    os.urandom = observed(os.urandom)
    if "random" in sys.modules:
        sys.modules["random"]._urandom = os.urandom
