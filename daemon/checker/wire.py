# SPDX-License-Identifier: MIT
"""The format of what crosses the wire between judge and candidate.

A message is a table of nodes. So neither writing nor reading recurses, whatever the depth, and objects
that are shared or cyclic on one side are so on the other. Before the nodes stand the numbers of the roots,
of the containers that have changed, and of the containers that are no longer shared.

Plain data is copied. A mutable container gets a number when it first crosses, and both sides keep their
copies in step (sharing.py): each message brings the new contents of what has changed. All else is up to
the space that the message belongs to (membrane.py).

Here is what wire_writer.py and wire_reader.py have in common, and the way of a message through a pipe. Whoever
reads believes nothing: it makes objects of exact types only, checks every size and index, and raises
WireError for anything malformed. It never executes anything, and looks up no name that arrived but those
in fixed tables."""

import builtins
import os
from _struct import Struct

import bulk

MESSAGE_MAX = 96 << 20
NODES_MAX = 4 << 20
INTEGER_MAX = 1 << 20  # bytes

pack_float, unpack_float = Struct("<d").pack, Struct("<d").unpack_from


class WireError(Exception):
    """A received message is malformed, or a value to send does not fit into a message."""


# Built-in classes by name. Among the names of builtins is one of an importer, too, and some stand there twice.
TYPES = {name: value for name, value in vars(builtins).items() if type(value) is type and name == value.__name__}
TYPES["NoneType"] = type(None)
TYPE_NAMES = {value: name for name, value in TYPES.items()}


def write_number(out, n):
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, n):
        end = self.at + n
        if end > len(self.data):
            raise WireError("it ends early")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def number(self):
        at = self.at
        if at < len(self.data) and self.data[at] < 0x80:
            self.at = at + 1
            return self.data[at]
        n = shift = 0
        while True:
            if self.at >= len(self.data) or shift > 56:
                raise WireError("a bad number")
            byte = self.data[self.at]
            self.at += 1
            n |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    raise WireError("a bad number")  # nobody writes it longer than it is
                return n
            shift += 7

    def ahead(self):
        """Returns a reader of what comes next, which leaves this one where it is."""
        reader = Reader(self.data)
        reader.at = self.at
        return reader

    def children(self):
        count = self.number()
        if count > len(self.data) - self.at:
            raise WireError("a bad count")
        piece = self.data[self.at : self.at + count]
        if piece.isascii():  # each is a number of its own
            self.at += count
            return list(piece)
        number = self.number
        return [number() for _ in range(count)]

    def text(self):
        try:
            return str(self.take(self.number()), "utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise WireError("a bad string") from None

    def packed(self):
        try:
            return bulk.unpack(self.take(self.number()))
        except ValueError as error:
            raise WireError(f"{error}") from None


def integer_of(data):
    value = int.from_bytes(data, "little", signed=True)
    if len(data) != value.bit_length() // 8 + 1:
        raise WireError("a bad integer")
    return value


def need_different(made, keys):
    """Refuses plain KEYS of which two are the same. Objects with an equality of their own may have become equal
    after they went into the dictionary or set that is MADE here."""
    if len(made) != len(keys) and all(type(key) in BRIEF_TYPES for key in keys):
        raise WireError("a key twice")


def dictionary_of(parts):
    """Makes a dictionary of its keys and values, in turn."""
    if len(parts) % 2:
        raise WireError("a key without a value")
    made = dict(zip(parts[::2], parts[1::2]))
    need_different(made, parts[::2])
    return made


# --- calls with plain arguments -------------------------------------------------------------------

# A call whose arguments are of these types, while no container is shared, is most of what most tests do. It
# has a shorter form: BRIEF, then for a question what marshal makes of the function's number and the
# arguments, which only the candidate reads, and for an answer a tag and the value.
BRIEF = 0xFE
BRIEF_TYPES = frozenset((type(None), bool, int, float, str, bytes))
BRIEF_MAX = 4096


def brief_answer(value):
    """Returns the short form of an answer; None if it has none."""
    kind = type(value)
    if kind is int:
        return b"\xfei" + value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    if kind is str:
        return b"\xfes" + value.encode("utf-8", "surrogatepass")
    if kind is bool:
        return b"\xfeT" if value else b"\xfeF"
    if value is None:
        return b"\xfeN"
    if kind is float and value == value:
        return b"\xfed" + pack_float(value)
    return b"\xfeb" + value if kind is bytes else None


def read_brief_answer(data):
    if len(data) > BRIEF_MAX:
        raise WireError("too long an answer")
    tag = data[1:2]
    if tag == b"i":
        return integer_of(data[2:])
    if tag == b"s":
        try:
            return str(memoryview(data)[2:], "utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise WireError("a bad string") from None
    if tag == b"d" and len(data) == 10:
        value = unpack_float(data, 2)[0]
        if value == value:
            return value
    elif tag == b"b":
        return data[2:]
    elif len(data) == 2 and tag in BRIEF_CONSTANTS:
        return BRIEF_CONSTANTS[tag]
    raise WireError("a bad answer")


BRIEF_CONSTANTS = {b"N": None, b"T": True, b"F": False}


# --- messages on a pipe ---------------------------------------------------------------------------


def send(fd, data):
    if len(data) > MESSAGE_MAX:
        raise WireError("too much data")
    data = len(data).to_bytes(4, "big") + data
    sent = os.write(fd, data)
    if sent < len(data):
        view = memoryview(data)[sent:]
        while view:
            view = view[os.write(fd, view) :]


def receive(turns):
    """Returns the next message. Raises EOFError at the end, even in the middle of a message."""
    data = turns.read()
    while len(data) < 4:
        more = turns.read_part(1 << 16)
        if not more:
            raise EOFError
        data += more
    size = int.from_bytes(data[:4], "big")
    if size > MESSAGE_MAX:
        raise WireError("too much data")
    left = size + 4 - len(data)
    if left == 0:
        return data[4:]
    if left < 0:
        raise WireError("more than one message")
    parts = [data[4:]]
    while left > 0:
        part = turns.read_part(min(left, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
