# SPDX-License-Identifier: MIT
"""What the judge sent, received and read while it judged a job: enough to judge again without the candidate.

A transcript is a sequence of events: messages in both directions, those of the confirmation included, and
what the judge read of the clock, of the kernel's random numbers and of process ids; its own seed is one of
these. A replay runs the same tests in a judge that has no candidate. Each question must be the recorded one,
byte for byte, and is given the recorded answer. If the verdict is a pass again, it follows from the
transcript and the tests alone.

That needs a judge that does the same twice. What could differ is recorded, made equal (Events), or makes
the job one that cannot be replayed, with the reason (watch.py)."""

import gc
import sys

import membrane
from link import Link
from trusted import load

EVENTS_MAX = 16 << 20  # bytes of all events
DATA_MAX = 3 << 20  # bytes of the compressed transcript: as base64 it has to fit into a frame with its job
SENT, RECEIVED, READ = 0, 1, 2
COLLECT_EVERY = 256  # questions
FORMAT = b"rubricd transcript "
VERSION = b"2 "  # of the judge: what it asks and in which order
# What stands before an address in the text of an object, and how many digits follow at least; mocks have the latter.
ADDRESSES = ((b" at 0x", 6), (b" id='", 10))
DIGITS = frozenset(b"0123456789abcdef")


def mark():
    """What a transcript begins with: its format, and the kind of Python that can read it."""
    return FORMAT + VERSION + sys.implementation.cache_tag.encode() + b"\n"


def has_address(data):
    for begin, most in ADDRESSES:
        at = data.find(begin)
        while at >= 0:
            at += len(begin)
            if len(data) >= at + most and DIGITS.issuperset(data[at : at + most]):
                return True
            at = data.find(begin, at)
    return False


class Diverged(membrane.Lost):
    """The tests ask something else than they asked when the transcript was made."""


class Events:
    """What recording and replaying have in common. Automatic collection of cycles would drop stand-ins
    sooner or later, so it happens at certain events only."""

    def __init__(self):
        self.why = ""  # why there is no transcript, or what diverges
        self.sends = 0
        gc.freeze()
        gc.disable()

    def collect(self):
        gc.collect()

    def count_sent(self):
        self.sends += 1
        if self.sends % COLLECT_EVERY == 0:
            gc.collect()

    def refuse(self, why):
        """Says that the tests depend on something that no transcript has."""

    def is_silent(self):
        """Returns whether the judge's own doings are not to be watched now."""
        return True


class Recorder(Events):
    """Records the events of a job."""

    def __init__(self):
        super().__init__()
        self.events = []
        self.size = 0
        self.is_paused = False
        self.before_sent = self.after_received = lambda: None  # for watch.py

    def event(self, kind, data):
        self.size += len(data) + 5
        if self.size > EVENTS_MAX:
            self.refuse(f"its transcript has more than {EVENTS_MAX >> 20} MiB")
        if not self.why:
            self.events.append((kind, bytes(data)))

    def refuse(self, why):
        if not self.why:
            self.why = why
            self.events.clear()

    def is_silent(self):
        return self.is_paused or bool(self.why)

    def sent(self, data):
        if has_address(data):
            self.refuse("an address in memory is part of a message")
        self.event(SENT, data)
        self.count_sent()
        self.before_sent()

    def received(self, data):
        self.after_received()
        self.event(RECEIVED, data)

    def read(self, make, kind, size=None):
        """Returns what MAKE() reads: a value of type KIND, of SIZE bytes if it has a size."""
        before, self.is_paused = self.is_paused, True
        try:
            value = make()
        finally:
            self.is_paused = before
        self.event(READ, repr(value).encode())
        return value

    def data(self):
        """Returns the transcript, or None and sets `why`."""
        if self.why:
            return None
        data = b"".join(bytes((kind,)) + len(data).to_bytes(4, "big") + data for kind, data in self.events)
        data = mark() + load("zlib").compress(data, 1 if len(data) > 1 << 20 else 6)
        if len(data) > DATA_MAX:
            self.refuse(f"its transcript has more than {DATA_MAX >> 20} MiB when compressed")
            return None
        return data


class Player(Events):
    """Gives back the events of a transcript. Once one differs, `why` says so for good: tests may catch what is
    raised."""

    def __init__(self, data):
        super().__init__()
        self.data, self.at = b"", 0
        begin = mark()
        self.is_foreign = data.startswith(FORMAT) and not data.startswith(begin)
        zlib = load("zlib")
        try:
            unpack = zlib.decompressobj()
            self.data = unpack.decompress(data[len(begin) :], EVENTS_MAX + 1)
            is_whole = unpack.eof and not unpack.unused_data and len(self.data) <= EVENTS_MAX
        except zlib.error:
            is_whole = False
        if not is_whole or not data.startswith(begin):
            self.why = "this is no transcript"

    def diverge(self, why):
        self.why = self.why or why
        raise Diverged

    def next(self, kind, due):
        head = self.data[self.at : self.at + 5]
        size = int.from_bytes(head[1:], "big")
        found = self.data[self.at + 5 : self.at + 5 + size]
        if len(head) < 5 or len(found) != size:
            self.diverge(f"the transcript has ended where {due} is due")
        if head[0] != kind:
            self.diverge(f"the transcript has another event where {due} is due")
        self.at += 5 + size
        return found

    def sent(self, data):
        if self.next(SENT, "a question") != data:
            self.diverge("the tests ask another question")
        self.count_sent()

    def received(self):
        return self.next(RECEIVED, "an answer")

    def read(self, make, kind, size=None):
        text = self.next(READ, "a reading of the clock or the like")
        try:
            value = literal(str(text, "ascii"))
        except (ValueError, SyntaxError, RecursionError, MemoryError):  # however deep it is nested
            self.diverge("a reading that is no number")
        if repr(value).encode() != text or type(value) is not kind or size is not None and len(value) != size:
            self.diverge("a reading that is none of what is read there")
        return value

    def how_it_ended(self):
        """Returns why the replay is no pass although all tests have passed, or ""."""
        if self.why:
            return self.why
        return "" if self.at == len(self.data) else "the transcript goes on where the tests have ended"


def literal(text):
    """Reads the repr() of a number or of bytes."""
    import _ast

    tree = compile(text, "<transcript>", "eval", 0x400, dont_inherit=True)
    node = tree.body
    is_negative = isinstance(node, _ast.UnaryOp) and isinstance(node.op, _ast.USub)
    value = getattr(node.operand if is_negative else node, "value", None)
    if type(value) not in (int, float, bytes) or is_negative and type(value) is bytes:
        raise ValueError(text)
    return -value if is_negative else value


class ReplayedLink(Link):
    """The judge's side of a wire that has no other side."""

    def __init__(self, player):
        super().__init__(-1, -1, -1)
        self.transcript = player

    def send(self, data):
        self.transcript.sent(data)

    def receive(self):
        return self.transcript.received()

    def confirm(self, data):
        self.transcript.sent(data)
        return self.transcript.received()


def line_of(recorder):
    """Returns the line of the report for the transcript, and None; or None, and why there is none."""
    data = recorder.data()
    if data is None:
        return None, recorder.why
    return str(load("binascii").b2a_base64(data, newline=False), "ascii"), None

