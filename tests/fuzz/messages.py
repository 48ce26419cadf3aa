# SPDX-License-Identifier: MIT
"""Messages that no writer wrote: nodes of all kinds, whose parts are any nodes, and often the right number of them.
What the bytes of a real message lead to when they are altered rarely gets that far."""

import struct

import describe
import values
import wire

TEXTS = ("", "x", "name", "stdout", "\0", "\ud800", "builtins", "int", "list", "re", "Match", "dataclasses", "MISSING", "__eq__",
         "__hash__", "__dict__", "args", "enum", "namedtuple", "RED", "generator", "d", "l", "t", *"fbcYqmsilepn", "events", "environ",
         "random", "decimal", "stdin", "uses", "warning", "log", "i", "u", "UTC", "h")  # fmt: skip
TYPES = ("object", "int", "str", "tuple", "list", "dict", "type", "ValueError", "BaseException", "SystemExit", "property", "frozenset",
         "bytearray", "KeyError", "OSError", "UnicodeDecodeError", "ExceptionGroup", "StopIteration", "set")  # fmt: skip
FLOATS = (*("0x0.0p+0", "-0x1.8000000000000p+0", "inf") * 6, "nan", "0x1p0")
# What follows the tag of a node before its parts, and how many parts there usually are.
MADE_OF = {"t": (0, 1, 2, 3, 5), "Z": (0, 1, 2), "r": (3,), "p": (3,), "k": (0, 1, 2), "v": (0, 1, 2), "w": (0, 2, 4)}
CONTAINERS = {"l": (0, 1, 2), "D": (0, 2, 4), "S": (0, 1, 2), "O": (0, 2), "f": (1, 3), "C": (0, 2), "M": (1, 2, 3)}
VALUES = sorted(values.ROWS.keys() - values.MUTABLE_NAMES)
DESCRIBED = {"f": 8, "b": 3, "c": 9, "Y": 3, "q": 3, "m": 2, "s": 3, "i": 3, "l": 4, "e": 8, "p": 3, "n": 3}


def number(n):
    out = bytearray()
    wire.write_number(out, n)
    return bytes(out)


def text(value):
    data = value.encode("utf-8", "surrogatepass")
    return number(len(data)) + data


def integer(value):
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"i" + number(len(data)) + data


class Message:
    """Writes nodes from the last to the first: parts usually stand after what they are part of."""

    def __init__(self, rng, shared):
        self.rng, self.shared = rng, shared
        self.count = rng.choice((4, 5, 6, 8, 12, 20))

    def parts(self, count, node):
        at_least = min(node + 1, self.count - 1) if self.rng.random() < 0.99 else 0
        chosen = [number(self.rng.randrange(at_least, self.count + (self.rng.random() < 0.01))) for _ in range(count)]
        return number(count) + b"".join(chosen)

    def node(self, at):
        if 3 * at > 2 * self.count:  # so that the others have something to be made of
            return self.plain(at)
        return self.rng.choice(4 * (self.plain, self.made, self.container, self.value, self.object) + (self.known,))(at)

    def plain(self, _):
        rng = self.rng
        what = rng.randrange(8)
        if what < 3:
            return b"s" + text(rng.choice((rng.choice(TEXTS), rng.choice(sorted(values.ROWS)), rng.choice(sorted(describe.SPECIALS)))))
        if what == 3:
            return integer(rng.choice((0, 1, -1, 3, 1 << 31, 1 << 64, rng.randrange(300))))
        if what == 4:
            return rng.choice((b"d" + text(rng.choice(FLOATS)), b"q\0", b"q" + number(rng.randrange(6)) + struct.pack("<d", float("nan"))))
        if what == 5:
            return b"y" + text(rng.choice(TYPES))
        if what == 6:
            return b"b" + number(size := rng.randrange(9)) + rng.randbytes(size)
        return rng.choice((b"N", b"T", b"F", b"E", b"X"))

    def made(self, at):
        tag = self.rng.choice(sorted(MADE_OF))
        return tag.encode() + self.parts(self.rng.choice(MADE_OF[tag]), at)

    def container(self, at):
        rng = self.rng
        tag = rng.choice(sorted(CONTAINERS) + ["a", "Q", "A", "o"])
        new = 2 * rng.randrange(50) + 1
        head = tag.encode() + number(new if rng.random() < 0.9 else rng.randrange(40))
        if tag in CONTAINERS:
            head += b"\0" if tag == "l" else b""
            return head + self.parts(rng.choice(CONTAINERS[tag]), at)
        if tag == "a":
            return head + number(size := rng.randrange(5)) + rng.randbytes(size)
        if tag == "Q":
            return head + number(rng.randrange(4)) + self.parts(rng.randrange(3), at)
        names = sorted(values.MUTABLE_NAMES) if tag == "A" else self.shared[:1]
        return head + text(rng.choice(names)) + self.parts(rng.choice((0, 1, 2, 4)), at)

    def value(self, at):
        return b"V" + text(self.rng.choice(VALUES)) + self.parts(self.rng.choice((1, 2, 3, 4, 7)), at)

    def object(self, at):
        """An object of the code's. The first part says what it is, so there is a node for that."""
        kind = self.rng.choice(sorted(DESCRIBED))
        is_named = kind in "YqmsIb" or self.rng.random() < 0.1
        return (b"U" if is_named else b"H" + number(self.rng.randrange(200))) + self.described(kind, at)

    def described(self, kind, at):
        count = DESCRIBED[kind] + self.rng.choice((0, 0, 0, 0, 0, 0, 1, -1))
        parts = self.parts(count, at)
        return number(count) + number(self.kinds[kind]) + parts[2:] if count > 1 and self.count < 0x80 else parts

    def known(self, at):
        rng = self.rng
        tag = rng.choice("RghKeun")
        if tag == "n":
            return b"n" + number(rng.randrange(9)) + self.described("e", at)
        if tag in "Rgh":
            return tag.encode() + number({"R": 2 * rng.randrange(12), "g": 0, "h": rng.randrange(9)}[tag])
        head = tag.encode() + text(rng.choice(self.shared))
        return head if tag == "K" else head + (text("RED") if tag == "e" else self.parts(rng.randrange(3), at))

    def data(self):
        own = self.count
        self.kinds = {kind: own + n for n, kind in enumerate(sorted(DESCRIBED))}
        word = self.rng.choice("==!?")
        roots = 6 if word == "?" else 3
        nodes = [b"s" + text(word), b"N"] + [self.node(at) for at in range(2, own)]
        if word == "?" and self.rng.random() < 0.8:
            nodes[2:6] = [b"s" + text("get"), b"g\0", b"t" + self.parts(1, 5), b"t\0"]
            roots = 6
        nodes += [b"s" + text(kind) for kind in sorted(DESCRIBED)]
        return number(roots) + bytes(range(roots)) + b"\0\0" + b"".join(nodes)


def message(rng, shared=("nothing",)):
    """Returns a message of random nodes. SHARED are the names of classes that both sides have, first that of one whose
    instances do."""
    return Message(rng, shared).data()
