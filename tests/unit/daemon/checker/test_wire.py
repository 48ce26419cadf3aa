# SPDX-License-Identifier: MIT
"""What the judge reads from the wire (daemon/checker/wire_reader.py and what uses it): of each kind of message and of
node a table of malformed ones. Each is a WireError, which ends the job without a pass; none is any other exception,
which the tests could catch, and none ends the judge."""

import abc
import array
import collections
import enum
import math
import os
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "daemon" / "checker"))

import ambient  # noqa: E402
import link  # noqa: E402
import mirrors  # noqa: E402
import wire  # noqa: E402
import wire_reader  # noqa: E402
from wire import WireError  # noqa: E402

FIRST = 3  # the node of the first part of a value


def number(n):
    out = bytearray()
    wire.write_number(out, n)
    return bytes(out)


def text(value):
    data = value if type(value) is bytes else value.encode("utf-8", "surrogatepass")
    return number(len(data)) + data


def s(value):
    return b"s" + text(value)


def i(value):
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"i" + number(len(data)) + data


def of(*nodes):
    """The children of a node."""
    return number(len(nodes)) + b"".join(map(number, nodes))


def message(*nodes, changed=b"\0", dropped=b"\0", roots=(0, 1, 2)):
    return of(*roots) + changed + dropped + b"".join(nodes)


def answer(value, *parts, **more):
    """An answer whose value is the node VALUE; the nodes from FIRST on are PARTS."""
    return message(s("="), b"N", value, *parts, **more)


def question(operation=s("get"), target=b"g\0", arguments=b"t\1\6", keywords=b"t\0", *parts):
    return message(s("?"), b"N", operation, target, arguments, keywords, *(parts or (s("x"),)), roots=range(6))


def told(news, *parts):
    """An answer with news: those are node 1, and PARTS the nodes from FIRST on."""
    return message(s("="), news, b"N", *parts)


def state(name, *parts):
    """News of ambient state: {NAME: PARTS[0]}; the nodes from 7 on are PARTS."""
    return told(b"t\2\3\4", b"t\0", b"t" + of(5, 6, 7), s("d"), s(name), *parts)


class Plain:
    def __init__(self):
        self.x = 1


class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self):
        pass


class Failing:
    def __hash__(self):
        raise OSError


class Colour(enum.Enum):
    RED = 1


Pair = collections.namedtuple("Pair", "a b")


@pytest.fixture
def judge():
    made = link.Link(-1, -1, -1)
    for one in (Plain, Abstract, Failing, Colour, Pair):
        made.shared_classes.add(one.__name__, one)
    made.ambient = ambient.Ambient("import random, decimal, warnings, logging")
    written = []
    made.send = written.append
    # The candidate has the judge's object 0 and containers of each kind, with the numbers 0, 2, 4, ...
    containers = [[1], {1: 2}, {3}, bytearray(b"abc"), collections.OrderedDict(a=1), collections.defaultdict(int),
                  collections.deque([1], 3), collections.Counter("a"), array.array("i", [1]), collections.UserList([1]), Plain(),
                  collections.UserDict(a=1)]  # fmt: skip
    made.send(made.write(("?", None, "call", lambda: 0, (containers,), ())))
    made.containers = containers
    made.kept = [entry.value for entry in made.sharing.by_number.values()]
    return made


def numbers_of(judge):
    return {type(entry.value).__name__: n for n, entry in judge.sharing.by_number.items() if n}


def refused(judge, data):
    with pytest.raises(WireError) as found:
        judge.read(data)
    # The checks have said it, not the net below them.
    assert found.value.__cause__ is None, repr(found.value.__cause__)
    return f"{found.value}"


@pytest.mark.parametrize("value, parts, made", [
    (i(-300), (), -300),
    (b"d" + text((1.5).hex()), (), 1.5),
    (b"d" + text("-inf"), (), -math.inf),
    (b"l\x65\0" + of(3), (b"T",), [True]),
    (b"D\x65" + of(3, 4), (s("a"), b"F"), {"a": False}),
    (b"w" + of(3, 4), (s("a"), b"F"), {"a": False}.items()),
    (b"Q\x65\x02" + of(3), (s("a"),), collections.deque("a", 1)),
    (b"u" + text("Pair") + of(3, 3), (b"N",), Pair(None, None)),
    (b"f\x65" + of(3), (b"y" + text("list"),), collections.defaultdict(list)),
    (b"V" + text("Fraction") + of(3, 4), (i(1), i(3)), __import__("fractions").Fraction(1, 3)),
])  # fmt: skip
def test_what_is_well_formed(judge, value, parts, made):
    """The tables below fail for the reason that they name, and not for what the messages have in common."""
    what, found = judge.read(answer(value, *parts))
    assert what == "=" and found == made and type(found) is type(made)


DEEP = wire_reader.DEPTH_MAX
DEEP_TUPLES = [b"t\0", *(b"t" + of(FIRST + n) for n in range(DEEP))]
NAN = struct.pack("<d", math.nan)

MESSAGES = {
    "nothing": b"",
    "no end of a number": b"\x83",
    "a number that is longer than it is": b"\x83\x80\0" + answer(b"N")[1:],
    "a number without end": b"\xff" * 20,
    "more children than bytes": b"\x7f\0\0\0",
    "no such root": message(s("="), b"N", roots=(0, 1, 2)),
    "no such changed node": answer(b"N", changed=of(9)),
    "no roots": message(roots=()),
    "no word": message(b"N", b"N", b"N"),
    "an unknown word": message(s("#"), b"N", b"N"),
    "too few roots": message(s("="), b"N", b"N", roots=(0, 1)),
    "too many roots": message(s("="), b"N", b"N", roots=(0, 1, 2, 2)),
    "an answer with the roots of a question": message(s("="), b"N", b"N", roots=(0, 1, 2, 2, 2, 2)),
    "a question with the roots of an answer": message(s("?"), b"N", b"N"),
    "an exception that is none": message(s("!"), b"N", i(3)),
    "a class as an exception": message(s("!"), b"N", b"y" + text("ValueError")),
    "a question that is no text": question(operation=b"N"),
    "a question of bytes": question(operation=b"b\3get"),
    "a question of a list": question(operation=b"l\x65\0\0"),
    "arguments that are no tuple": question(arguments=b"l\x65\0\1\6"),
    "arguments that are none": question(arguments=b"N"),
    "keywords that are a dictionary": question(keywords=b"D\x65\0"),
    "a keyword without a value": question(s("get"), b"g\0", b"t\0", b"t\1\6", s("x")),
    "a keyword that is no text": question(s("get"), b"g\0", b"t\0", b"t\2\6\6", i(1)),
    "a keyword twice": question(s("get"), b"g\0", b"t\0", b"t\4\6\7\6\7", s("x"), b"N"),
    "news that are a number": told(i(1)),
    "news of one part": told(b"t\1\3", b"t\0"),
    "news whose dead are a list": told(b"t\2\3\2", b"l\x65\0\0"),
    "news whose dead are texts": told(b"t\2\3\2", b"t\1\4", s("x")),
    "news whose dead are bools": told(b"t\2\3\2", b"t\1\4", b"T"),
    "state that is a number": told(b"t\2\3\4", b"t\0", i(1)),
    "state that is empty": told(b"t\2\3\3", b"t\0"),
    "state of an unknown form": told(b"t\2\3\4", b"t\0", b"t\1\5", s("x")),
    "state of a form that is none": told(b"t\2\3\4", b"t\0", b"t\1\5", b"l\x65\0\0"),
    "state with a key and no value": told(b"t\2\3\4", b"t\0", b"t\2\5\5", s("d")),
    "state with a key that is no text": told(b"t\2\3\4", b"t\0", b"t\3\5\6\6", s("d"), i(1)),
    "state with a key that has no hash": told(b"t\2\3\4", b"t\0", b"t\3\5\6\6", s("d"), b"l\x65\0\0"),
    "state with a key that fails": told(b"t\2\3\4", b"t\0", b"t\3\5\6\6", s("d"), b"o\x65" + text("Failing") + b"\0"),
    "state with a key twice": told(b"t\2\3\4", b"t\0", b"t\5\5\6\2\6\2", s("d"), s("uses")),
    "state nested too deeply": told(b"t\2\3\4", b"t\0", b"t" + of(6, FIRST + 2 + 999), s("l"),
                                    *(b"t" + of(5, FIRST + 2 + n) for n in range(1000))),
    "state of an unknown name": state("unknown", b"N"),
    "events that are a tuple": state("events", b"t\1\10", s("t")),
    "an event that is a text": state("events", b"t\2\10\11", s("l"), s("stdout")),
    "an event that is empty": state("events", b"t\2\10\11", s("l"), b"t\1\12", s("t")),
    "an event with a name that is none": state("events", b"t\2\10\11", s("l"), b"t\2\12\1", s("t")),
    "output that is a number": state("events", b"t\2\10\11", s("l"), b"t\3\12\13\14", s("t"), s("stdout"), i(1)),
    "a warning of no class": state("events", b"t\2\10\11", s("l"), b"t\6\12\13\14\14\14\14", s("t"), s("warning"), i(1)),
    "a position that is a bool": state("stdin", b"T"),
    "a position below 0": state("stdin", i(-1)),
    "variables that are a list": state("environ", b"t\1\10", s("l")),
    "a variable that is a number": state("environ", b"t\3\10\11\12", s("d"), s("A"), i(1)),
    "a variable with a NUL": state("environ", b"t\3\10\11\12", s("d"), s("A"), s("\0")),
    "a variable that is no UTF-8": state("environ", b"t\3\10\11\12", s("d"), s("A\ud800"), s("a")),
    "a directory that is a number": state("cwd", i(1)),
    "a directory that is no UTF-8": state("cwd", s("/\ud800")),
    "generators that are a tuple": state("uses", b"t\1\10", s("t")),
    "a state of random of the wrong size": state("random", b"t\3\10\11\1", s("l"), b"b\4abcd"),
    "a state of random that is a text": state("random", b"t\3\10\11\1", s("l"), s("\0" * 2500)),
    "a state of random with a position": state("random", b"t\3\10\11\1", s("l"), b"b" + text(b"\xff" * 2500)),
    "a state of numpy of the wrong size": state("numpy", b"t\2\10\1", s("l")),
    "a context of seven numbers": state("decimal", b"t" + of(8, *[9] * 7), s("l"), i(1)),
    "a context with a precision of bool": state("decimal", b"t" + of(8, 9, 10, 11, 11, 11, 11, 12), s("l"), b"T", s("ROUND_UP"),
                                                i(0), b"t\1\10"),
    "a context with a huge precision": state("decimal", b"t" + of(8, 9, 10, 11, 11, 11, 11, 12), s("l"), i(1 << 200),
                                             s("ROUND_UP"), i(0), b"t\1\10"),
    "a context with an unknown rounding": state("decimal", b"t" + of(8, 9, 10, 11, 11, 11, 11, 12), s("l"), i(5),
                                                s("\ud800"), i(0), b"t\1\10"),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message(judge, name):
    refused(judge, MESSAGES[name])


VALUES = {
    # name: the node of the value, and its parts
    "no tag": (b"",),
    "an unknown tag": (b"?",),
    "an integer of no bytes": (b"i\0",),
    "an integer that ends early": (b"i\5ab",),
    "an integer with a byte too many": (b"i\2\1\0",),
    "an integer that is too large": (b"i" + number(wire.INTEGER_MAX + 1) + bytes(wire.INTEGER_MAX + 1),),
    "a text that ends early": (b"s\5ab",),
    "a text that is no UTF-8": (b"s\2\xff\xff",),
    "a float of no text": (b"d\0",),
    "a float of another text": (b"d\3abc",),
    "a float that is a NaN": (b"d\3nan",),
    "a float in another form": (b"d" + text("0x1p0"),),
    "a float that is too large": (b"d" + text("0x1.0p+9999"),),
    "a complex number that ends early": (b"c" + bytes(15),),
    "bytes that end early": (b"b\5ab",),
    "a NaN that ends early": (b"q\3" + NAN[:7],),
    "a NaN that is a number": (b"q\4" + struct.pack("<d", 1.5),),
    "a NaN with a number of the judge's": (b"q\5" + NAN,),
    "no such part": (b"t\1\x09", b"N"),
    "a tuple that is part of itself": (b"t\1\2",),
    "tuples that are parts of each other": (b"t\1\3", b"t\1\2"),
    "a frozen set with a list": (b"Z\1\3", b"l\x65\0\0"),
    "a frozen set with an item twice": (b"Z\2\3\4", i(1), i(1)),
    "a frozen set with 1 and True": (b"Z\2\3\4", i(1), b"T"),
    "a range of two parts": (b"r\2\3\3", i(1)),
    "a range of four parts": (b"r\4\3\3\3\3", i(1)),
    "a range with a step of 0": (b"r\3\3\3\3", i(0)),
    "a range of bools": (b"r\3\3\3\3", b"T"),
    "a range of floats": (b"r\3\3\3\3", b"d" + text((1.0).hex())),
    "a slice of two parts": (b"p\2\3\3", i(1)),
    "keys with a list": (b"k\1\3", b"l\x65\0\0"),
    "keys with a key twice": (b"k\2\3\4", s("a"), s("a")),
    "items without a value": (b"w\1\3", i(1)),
    "items with a list as key": (b"w\2\3\3", b"l\x65\0\0"),
    "items with a key twice": (b"w\4\3\5\4\5", s("a"), s("a"), b"N"),
    "no built-in class": (b"y" + text("open"),),
    "an importer": (b"y" + text("__loader__"),),
    "another name of a class": (b"y" + text("IOError"),),
    "packed, of nothing": (b"P\0",),
    "packed, of an unknown type": (b"P\2zz",),
    "packed, of few items": (b"P\3Bab",),
    "packed, of a part of an item": (b"P" + text(b"q" + bytes(8 * 16 + 1)),),
    "packed, of a NaN": (b"P" + text(b"d" + NAN * 16),),
    "packed, of bools that are none": (b"P" + text(b"T" + b"\2" * 16),),
    "packed, of texts that are no UTF-8": (b"P" + text(b"s\n" + b"\xff\n" * 16),),
    "packed, of texts of other lengths": (b"P" + text(b"S" + bytes((16, 0, 0, 0)) + b"\1\0\0\0" * 16 + b"a"),),
    "packed, of tuples without columns": (b"P\2t\2",),
    "packed, of too many columns": (b"P\2t\xff",),
    "packed, of columns that differ": (b"P" + text(b"t\2" + b"\x11\0\0\0B" + b"a" * 16 + b"\x12\0\0\0B" + b"a" * 17),),
    "a value of an unknown name": (b"V" + text("nothing") + b"\0",),
    "a value that is a container": (b"V" + text("UserList") + b"\0",),
    "a value of too few parts": (b"V" + text("Fraction") + b"\1\3", i(1)),
    "a value of a bool": (b"V" + text("Fraction") + b"\2\3\4", i(1), b"T"),
    "a fraction with 0 below": (b"V" + text("Fraction") + b"\2\3\4", i(1), i(0)),
    "a decimal of bytes": (b"V" + text("Decimal") + b"\3\3\4\3", i(0), b"b\1a"),
    "a pattern that does not compile": (b"V" + text("Pattern") + b"\2\3\4", s("("), i(32)),
    "a proxy with a list as key": (b"V" + text("mappingproxy") + b"\2\3\3", b"l\x65\0\0"),
    "a proxy with a key twice": (b"V" + text("mappingproxy") + b"\4\3\4\3\4", s("a"), b"N"),
    "a value that is part of itself": (b"V" + text("mappingproxy") + b"\2\3\2", s("a")),
    # containers; those of the judge have the numbers 0, 2, 4, ...
    "an unknown container": (b"R\x65",),
    "a container of its own number later": (b"R\x65", b"l\x65\0\0"),
    "a container with a number of the judge's": (b"l\x64\0\0",),
    "a container with two types": (b"t\2\3\4", b"l\x65\0\0", b"D\x65\0"),
    "a container with two contents": (b"t\2\3\4", b"l\x65\0\0", b"l\x65\0\0"),
    "a value with two types": (b"t\2\3\4", b"A\x65" + text("UserList") + b"\0", b"A\x65" + text("UserDict") + b"\0"),
    "a list of another form": (b"l\x65\2\0",),
    "a list with no such part": (b"l\x65\0\1\x09",),
    "a list that is packed wrongly": (b"l\x65\1\2zz",),
    "a list that ends early": (b"l\x65\1\5ab",),
    "a dictionary with a key and no value": (b"D\x65\1\3", i(1)),
    "a dictionary with a list as key": (b"D\x65\2\3\3", b"l\x67\0\0"),
    "a dictionary with itself as key": (b"D\x65\2\2\2",),
    "a dictionary with a key twice": (b"D\x65\4\3\4\5\5", i(1), i(1), b"N"),
    "a dictionary with a key that fails": (b"D\x65\2\3\3", b"o\x67" + text("Failing") + b"\0"),
    "a set with a list": (b"S\x65\1\3", b"l\x67\0\0"),
    "a set with an item twice": (b"S\x65\2\3\4", s("a"), s("a")),
    "a byte array that ends early": (b"a\x65\x09a",),
    "an ordered dictionary with a key twice": (b"O\x65\4\3\4\5\5", i(1), i(1), b"N"),
    "a default dictionary of nothing": (b"f\x65\0",),
    "a default dictionary whose factory is a number": (b"f\x65\1\3", i(1)),
    "a default dictionary with a key and no value": (b"f\x65\2\3\3", b"N"),
    "a deque with too many items": (b"Q\x65\2\2\3\3", b"N"),
    "a counter with a list as key": (b"C\x65\2\3\3", b"l\x67\0\0"),
    "a value that changes, of an unknown name": (b"A\x65" + text("nothing") + b"\0",),
    "a value that changes, and does not": (b"A\x65" + text("Fraction") + b"\2\3\3", i(1)),
    "an array of text": (b"A\x65" + text("array") + b"\2\3\3", s("i")),
    "an array of a part of an item": (b"A\x65" + text("array") + b"\2\3\4", s("i"), b"b\3abc"),
    "an array of itself": (b"A\x65" + text("array") + b"\2\2\2",),
    "a namespace with a number as name": (b"A\x65" + text("SimpleNamespace") + b"\2\3\3", i(1)),
    "a namespace with a name and no value": (b"A\x65" + text("SimpleNamespace") + b"\1\3", s("a")),
    "a namespace with a name twice": (b"A\x65" + text("SimpleNamespace") + b"\4\3\4\5\4", s("a"), b"N", s("a")),
    "a list that holds a dictionary": (b"A\x65" + text("UserList") + b"\1\3", b"D\x67\0"),
    # classes that both sides have
    "an unknown class": (b"K" + text("Nobody"),),
    "an instance of an unknown class": (b"o\x65" + text("Nobody") + b"\0",),
    "an instance of an enumeration": (b"o\x65" + text("Colour") + b"\0",),
    "an instance of an abstract class": (b"o\x65" + text("Abstract") + b"\0",),
    "an instance with a name and no value": (b"o\x65" + text("Plain") + b"\1\3", s("x")),
    "an instance with a number as name": (b"o\x65" + text("Plain") + b"\2\3\3", i(1)),
    "an instance with a list as name": (b"o\x65" + text("Plain") + b"\2\3\3", b"l\x67\0\0"),
    "an instance with a name twice": (b"o\x65" + text("Plain") + b"\4\3\4\5\4", s("x"), b"N", s("x")),
    "a member of an unknown name": (b"e" + text("Colour") + text("GREEN"),),
    "a member of another class": (b"e" + text("Plain") + text("RED"),),
    "a tuple of another class": (b"u" + text("Plain") + b"\0",),
    "a named tuple of one part": (b"u" + text("Pair") + b"\1\3", b"N"),
    # objects of either side
    "an unknown object of the judge's": (b"g\7",),
    "an unknown object of the code's": (b"h\7",),
    "an object that comes later": (b"h\7", b"H\7\3\4\5\6", s("l"), s("m"), s("q")),
    "an object twice": (b"t\2\3\4", b"H\7\4\5\6\6\7", b"H\7\4\5\6\6\7", s("l"), s("re"), b"t\0"),
    "an object of nothing": (b"H\7\0",),
    "an object of an unknown kind": (b"H\7\1\3", s("z")),
    "an object whose kind is a number": (b"H\7\1\3", i(1)),
    "an object whose kind is a list": (b"H\7\1\3", b"l\x65\0\0"),
    "a number for what has a name": (b"H\7\3\3\4\5", s("Y"), s("builtins"), s("int")),
    "a function of seven parts": (b"H\7\7\3\3\3\3\3\3\3", s("f")),
    "a function with attributes that are a number": (b"H\7" + of(3, 4, 4, 4, 4, 5, 5, 4), s("f"), b"N", i(1)),
    "a function with an attribute and no value": (b"H\7" + of(3, 4, 4, 4, 4, 5, 6, 4), s("f"), b"N", i(1), b"t\1\3"),
    "a function with an attribute twice": (b"H\7" + of(3, 4, 4, 4, 4, 5, 6, 4), s("f"), b"N", i(1), b"t\4\3\4\3\4"),
    "a function with an annotation and no type": (b"H\7" + of(3, 4, 4, 4, 4, 5, 4, 6), s("f"), b"N", i(1), b"t\5\7\10\4\10\11",
                                                  b"t\4\5\5\5\5", b"t\0", b"t\1\3"),
    "a function with a signature that is a number": (b"H\7" + of(3, 4, 4, 4, 4, 5, 4, 5), s("f"), b"N", i(1)),
    "a function with an empty signature": (b"H\7" + of(3, 4, 4, 4, 4, 5, 4, 6), s("f"), b"N", i(1), b"t\0"),
    "a function with a signature of lists": (b"H\7" + of(3, 4, 4, 4, 4, 5, 4, 6), s("f"), b"N", i(1), b"t\5\7\7\7\7\7", b"l\x65\0\0"),
    "a method of a number": (b"U\3\3\4\4", s("b"), i(1)),
    "a method of two parts": (b"U\2\3\4", s("b"), i(1)),
    "a class of three parts": (b"H\7\3\3\3\3", s("c")),
    "a class whose bases are a list": (b"H\7" + of(3, 3, 3, 3, 4, 5, 6, 6, 4), s("c"), b"N", b"l\x65\0\0", b"t\0"),
    "a class whose base is a number": (b"H\7" + of(3, 3, 3, 3, 4, 5, 6, 6, 4), s("c"), b"N", b"t\1\7", b"t\0", i(1)),
    "a class whose attribute is a number": (b"H\7" + of(3, 3, 3, 3, 4, 6, 5, 6, 4), s("c"), b"N", b"t\1\7", b"t\0", i(1)),
    "a class whose attribute has no name": (b"H\7" + of(3, 3, 3, 3, 4, 6, 5, 6, 4), s("c"), b"N", b"t\1\7", b"t\0", b"t\3\4\3\4"),
    "a class whose method is a number": (b"H\7" + of(3, 3, 3, 3, 4, 6, 5, 6, 4), s("c"), b"N", b"t\1\7", b"t\0", b"t\3\3\10\11",
                                         s("f"), i(1)),
    "a class with an unknown special method": (b"H\7" + of(3, 3, 3, 3, 4, 6, 6, 5, 4), s("c"), b"N", b"t\1\7", b"t\0", s("__new__")),
    "an enumeration that derives from none": (b"H\7" + of(3, 3, 3, 3, 4, 6, 6, 6, 5), s("c"), b"N", b"t\2\7\6", b"t\0", s("enum")),
    "a class of the library with a number as name": (b"U\3\3\4\4", s("Y"), i(1)),
    "a function of the library": (b"U\3\3\4\5", s("q"), s("os"), s("system")),
    "a module with a number as name": (b"U\2\3\4", s("m"), i(1)),
    "a module of no name": (b"U\1\3", s("m")),
    "a module that is not the library's": (b"U\2\3\4", s("m"), s("nothing")),
    "a sentinel with a list as name": (b"U\3\3\4\4", s("s"), b"l\x65\0\0"),
    "a sentinel that is none": (b"U\3\3\4\5", s("s"), s("dataclasses"), s("field")),
    "an instance of a number": (b"H\7\3\3\4\5", s("i"), i(1), b"t\0"),
    "an instance of a class of the judge's": (b"H\7\3\3\4\5", s("i"), b"K" + text("Plain"), b"t\0"),
    "an instance of two parts": (b"H\7\2\3\4", s("i"), i(1)),
    "an instance of the library with a number as name": (b"H\7\4\3\4\4\5", s("l"), i(1), b"t\0"),
    "an instance of the library without a number": (b"U\4\3\4\4\5", s("l"), s("re"), b"t\0"),
    "an instance that is a plain value": (b"H\7\4\3\4\5\6", s("l"), s("builtins"), s("int"), b"t\0"),
    "an exception of a class that is none": (b"U" + of(3, 4, 5, 3, 5, 6, 7, 6), s("e"), b"y" + text("int"), b"t\0", b"N", b"F"),
    "an exception with a list of arguments": (b"U" + of(3, 4, 8, 3, 5, 6, 7, 6), s("e"), b"y" + text("ValueError"), b"t\0", b"N", b"F",
                                              b"l\x65\0\0"),
    "an exception with a number as flag": (b"U" + of(3, 4, 5, 3, 5, 6, 7, 6), s("e"), b"y" + text("ValueError"), b"t\0", b"N", i(0)),
    "an unknown exception that is told again": (b"n\7" + of(3, 4, 5, 3, 5, 6, 7, 6), s("e"), b"y" + text("ValueError"), b"t\0", b"N", b"F"),
    "an exception that is told again with another class": (
        b"t\2\4\5", b"H\7" + of(6, 7, 9, 6, 9, 10, 11, 10), b"n\7" + of(6, 8, 9, 6, 9, 10, 11, 10), s("e"),
        b"y" + text("ValueError"), b"y" + text("KeyError"), b"t\0", b"N", b"F"),
    "a class that is told again": (b"t\2\4\5", b"H\7" + of(6, 7), b"n\7" + of(6, 7), s("s"), s("x")),
    "an exception with a number as cause": (b"U" + of(3, 4, 5, 3, 5, 7, 8, 6), s("e"), b"y" + text("ValueError"), b"t\0", b"N", i(0), b"F"),
    "an exception with an attribute and no value": (b"U" + of(3, 4, 5, 3, 8, 6, 7, 6), s("e"), b"y" + text("ValueError"), b"t\0", b"N",
                                                    b"F", b"t\1\3"),
    "a derived value of a number": (b"H\7\3\3\4\4", s("p"), i(1)),
    "a derived value of a class of the judge's": (b"H\7\3\3\4\5", s("p"), b"y" + text("int"), i(1)),
    "a plain value with a number": (b"H\7\2\3\4", s("v"), i(1)),
    "a plain value that can change": (b"U\2\3\4", s("v"), b"l\x65\0\0"),
    "a plain value that is none": (b"U\2\3\4", s("v"), b"y" + text("int")),
    "a member of no enumeration": (b"H\7\3\3\4\3", s("n"), b"y" + text("int")),
    "a member with a number as name": (b"H\7\3\3\4\5", s("n"), b"K" + text("Colour"), i(1)),
    "a derived container without a class": (b"M\x65\0",),
    "a derived container of a number": (b"M\x65\1\3", i(1)),
    "a derived container of a plain class": (b"M\x65\1\3", b"y" + text("int")),
    "a derived container of a class of the library": (b"M\x65\1\3", b"y" + text("list")),
    "a derived container of no such class": (b"M\x65\1\x09",),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_a_value(judge, name):
    node, *parts = VALUES[name]
    refused(judge, answer(node, *parts))


@pytest.mark.parametrize("name", [name for name, (node, *_) in VALUES.items() if node])
def test_a_value_within_others(judge, name):
    """The same as a part of a list, of a dictionary and of an attribute: all its nodes stand one later."""
    node, *parts = VALUES[name]
    refused(judge, answer(node, *parts, b"l\x7d\0\1\2", roots=(0, 1, FIRST + len(parts))))
    refused(judge, answer(node, *parts, b"o\x7d" + text("Plain") + of(FIRST + len(parts) + 1, 2), s("x")))


# --- containers that both sides have ---------------------------------------------------------------------

CHANGES = {
    # name: the type of the container, what follows its number in its node, with its tag before, and parts
    "another type": ("list", b"D", b"\0"),
    "a list as a set": ("list", b"S", b"\0"),
    "a dictionary as an ordered one": ("dict", b"O", b"\0"),
    "a dictionary as a counter": ("dict", b"C", b"\0"),
    "a counter as a dictionary": ("Counter", b"D", b"\0"),
    "a list as a derived one": ("list", b"M", of(3), b"y" + text("list")),
    "a list as an instance": ("list", b"o", text("Plain") + b"\0"),
    "an instance as one of another class": ("Plain", b"o", text("Failing") + b"\0"),
    "an array as a list": ("array", b"A", text("UserList") + of(3), b"l\x65\0\0"),
    "a list of the library as a dictionary": ("UserList", b"A", text("UserDict") + of(3), b"D\x65\0"),
    "an array of another type": ("array", b"A", text("array") + of(3, 4), s("d"), b"b" + text(bytes(8))),
    "a deque of another length": ("deque", b"Q", b"\0\0"),
    "a deque with too many items": ("deque", b"Q", b"\4" + of(3, 3, 3, 3), b"N"),
    "a dictionary with a key twice": ("dict", b"D", of(3, 4, 5, 5), i(1), i(1), b"N"),
    "a default dictionary without a factory": ("defaultdict", b"f", b"\0"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change(judge, name):
    kind, tag, rest, *parts = CHANGES[name]
    node = tag + number(numbers_of(judge)[kind]) + rest
    refused(judge, answer(node, *parts, changed=of(2)))


def test_two_changes_of_one_container(judge):
    node = b"l" + number(numbers_of(judge)["list"]) + b"\0\0"
    assert "twice" in refused(judge, answer(node, node))


def test_a_bytearray_that_a_view_shows(judge):
    shown = next(value for value in judge.containers if type(value) is bytearray)
    with memoryview(shown):
        refused(judge, answer(b"a" + number(numbers_of(judge)["bytearray"]) + text(b"longer")))


def test_a_value_that_has_more_than_its_parts(judge):
    """The tests have given it an attribute."""
    kept = next(value for value in judge.containers if type(value) is collections.UserDict)
    kept.more = 1
    refused(judge, answer(b"A" + number(numbers_of(judge)["UserDict"]) + text("UserDict") + of(3), b"D\x65\0"))


def test_derived_containers(judge):
    judge.infos[id(Derived)] = mirrors.Info(7, "Derived")
    nodes = (b"K" + text("Derived"), i(1), i(1))
    judge.shared_classes.classes["Derived"] = Derived
    refused(judge, answer(b"M\x65" + of(3, 4), *nodes))
    refused(judge, answer(b"M\x65" + of(3, 4, 5, 4, 5), *nodes))
    judge.read(answer(b"M\x65" + of(3, 4, 5), *nodes))
    for again in (b"M\x65" + of(9, 4, 5), b"M\x65" + of(4, 4, 5), b"M\x65" + of(3, 4), b"D\x65\0", b"M\x65" + of(3, 4, 5, 4, 5)):
        refused(judge, answer(again, *nodes))
    assert judge.read(answer(b"R\x65"))[1] == {1: 1}
    for twice in (b"M\x67" + of(4), b"D\x67\0"):
        refused(judge, answer(b"t" + of(7, 8), b"N", *nodes, b"M\x67" + of(4), twice))


class Derived(dict):
    pass


# --- what would end the process --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tuples as a key", "slices", "methods"])
def test_values_nested_too_deeply(judge, name):
    """To hash such tuples, or to free such slices and methods, takes the stack of C, which has an end."""
    if name == "tuples as a key":
        data = answer(b"D\x65" + of(FIRST + DEEP, FIRST + DEEP), *DEEP_TUPLES)
    elif name == "slices":
        data = answer(b"N", b"N", *(b"p" + of(*[FIRST + n] * 3) for n in range(DEEP + 1)))
    else:
        at = FIRST + 1 + DEEP
        methods = (b"U" + of(at, FIRST + n, at + 2) for n in range(DEEP))
        data = answer(b"N", i(0), *methods, s("b"), s("f"), b"U" + of(at + 1, *[at + 3] * 7), b"N")
    assert "nested" in refused(judge, data)


# --- short answers ---------------------------------------------------------------------------------------

BRIEF = {
    "nothing": b"",
    "an unknown tag": b"x",
    "an integer of no bytes": b"i",
    "an integer with a byte too many": b"i\1\0",
    "a text that is no UTF-8": b"s\xff",
    "a float that ends early": b"d" + bytes(7),
    "a float that is longer": b"d" + bytes(9),
    "a NaN": b"d" + NAN,
    "None and more": b"Nx",
    "too long": b"b" + bytes(wire.BRIEF_MAX),
}


@pytest.mark.parametrize("name", BRIEF)
def test_a_short_answer(name):
    with pytest.raises(WireError):
        wire.read_brief_answer(b"\xfe" + BRIEF[name])


# --- what is left ----------------------------------------------------------------------------------------


def test_the_net(judge, monkeypatch):
    """Whatever a check has overlooked ends the job all the same."""
    monkeypatch.setitem(wire_reader.READERS, ord("N"), lambda reader: {}["missing"])
    with pytest.raises(WireError, match="KeyError") as found:
        judge.read(answer(b"N"))
    assert type(found.value.__cause__) is KeyError


def test_a_lost_candidate_stays_lost(judge):
    """A test that catches what a malformed answer raises learns nothing more."""
    judge.receive = lambda: answer(b"t\2\3\4", b"l\x65\0\0", b"D\x65\0")
    for _ in range(2):
        with pytest.raises(link.Lost):
            judge.ask("call", lambda: 0)
    assert judge.lost == "a container twice"


def test_each_message_cut_off(judge):
    """A message that ends early is malformed, or another message; nothing else."""
    data = judge.write(("=", None, [judge.containers, 1.5, 2**70, "text", b"bytes", (1, 2), {1: (3, 4)}, range(3), *range(40)]))
    for end in range(len(data)):
        with pytest.raises(WireError):
            link.Link(-1, -1, -1).read(data[:end])


def test_the_directory_stays(judge):
    before = os.getcwd()
    refused(judge, MESSAGES["a directory that is no UTF-8"])
    assert os.getcwd() == before
