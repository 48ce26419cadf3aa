# SPDX-License-Identifier: MIT
"""What the tests of values share: the way of a value over the wire, and parts that nobody should believe."""

import datetime
import decimal
import random
import sys
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "daemon" / "checker"))

import values  # noqa: E402

PLAIN = (type(None), bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, bytearray)


def there_and_back(value):
    """Does what the two sides of the wire do, without the wire."""
    if type(value) in PLAIN:
        return value
    name, parts = values.describe(value)
    assert type(name) is str and type(parts) is tuple
    return values.make(name, list(map(there_and_back, parts)))


class Strange(type):
    """Of classes that must not be asked whether they are another one."""

    def __hash__(cls):
        raise AssertionError("hashed")

    def __eq__(cls, other):
        raise AssertionError("compared")

    __ne__ = __eq__


ASKED = []  # the methods of a Liar that ran


class Liar:
    """Passes for a plain value, and is none: nobody who believes nothing asks it anything."""


def _lying(kind, content):
    def answer(method):
        def asked(self, *arguments, **more):
            ASKED.append((kind.__name__, method))
            return getattr(kind, method)(self, *arguments, **more)

        return asked

    own = {name for name in dir(kind) if name.startswith("__") and callable(getattr(kind, name))}
    own -= {"__new__", "__init__", "__class__", "__init_subclass__", "__subclasshook__", "__repr__", "__dir__"}
    methods = {name: answer(name) for name in own | {n for n in dir(kind) if not n.startswith("_")} if callable(getattr(kind, name))}
    made = type("Liar", (kind, Liar), methods)
    return made(content)


LIARS = [_lying(int, 1), _lying(str, "a"), _lying(bytes, b"abcdefgh"), _lying(tuple, (1, 2)), _lying(list, [1]), _lying(float, 1.0),
         _lying(dict, {"a": 1})]  # fmt: skip


def liars_for(part):
    """Returns liars, one of which says what PART says."""
    same = type(part) in (int, str, bytes, float, tuple, list, dict)
    return [*LIARS, _lying(type(part), part)] if same else LIARS


ODD = [0, -1, 1 << 31, 1 << 63, 1 << 200, True, None, 1.5, float("nan"), "", "a", "\0", "\udc80", b"", b"\xff" * 9, (), (1,),
       [], {}, object(), *LIARS, datetime.timezone.utc, int, bytearray(b"a"), decimal.Decimal("NaN")]  # fmt: skip


def mutated(chance, parts):
    parts = list(parts)
    for _ in range(chance.randrange(1, 4)):
        what = chance.randrange(4)
        at = chance.randrange(len(parts) + 1)
        if what == 0:
            parts[at:at + 1] = []
        elif what == 1:
            parts.insert(at, chance.choice(ODD))
        elif what == 2 and at < len(parts) and type(parts[at]) in (str, bytes) and parts[at]:
            i = chance.randrange(len(parts[at]))
            one = chr(chance.choice((0, 46, 57, 97, 0x10FFFF))) if type(parts[at]) is str else bytes([chance.randrange(256)])
            parts[at] = parts[at][:i] + one + parts[at][i + 1 :]
        elif what == 2 and at < len(parts) and type(parts[at]) is int:
            parts[at] += chance.choice((-1, 1, 100, -(1 << 40)))
        else:
            parts[at:at + 1] = [chance.choice(ODD)]
    return tuple(parts)


def fuzz(seeds, count):
    chance = random.Random(20)
    made = refused = 0
    names = sorted({name for name, _ in seeds})
    tracemalloc.start()
    try:
        for _ in range(count):
            name, parts = chance.choice(seeds)
            if chance.random() < 0.05:
                name = chance.choice(names)
            parts = mutated(chance, parts)
            try:
                value = values.make(name, parts)
            except ValueError:
                refused += 1
                continue
            made += 1
            again = values.describe(value)
            assert again is not None and again[0] == name, (name, parts)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return made, refused, peak
