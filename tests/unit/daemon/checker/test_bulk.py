# SPDX-License-Identifier: MIT
"""Long sequences in one piece (daemon/checker/bulk.py): exact there and back, and nothing else is read."""

import random
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "daemon" / "checker"))

import bulk  # noqa: E402
from wire_parts import Strange  # noqa: E402

N = bulk.COUNT_MIN
NAN = float("nan")


class Number(int):
    pass


def exact(value):
    """What distinguishes values that are equal."""
    if type(value) in (tuple, list):
        return type(value), [exact(one) for one in value]
    return type(value), value.hex() if type(value) is float else value


PACKED = {
    "small ints": list(range(N)),
    "negative ints": list(range(-N, N)),
    "all sizes": [0] * N + [255, 256, -1, -(1 << 15), (1 << 15) - 1, 1 << 15, 1 << 31, -(1 << 63), (1 << 63) - 1, 0],
    "large at the end": [0] * N + [1 << 40],
    "large but for the sample": [0] * N + [1 << 40, 0],
    "floats": [0.0, -0.0, 1e308, 5e-324, float("inf"), 1.0] * N,
    "both infinities": [float("inf"), float("-inf")] * N,
    "sum of infinity": [1e308] * N,
    "bools": [True, False, True] * N,
    "strings": ["", "a", "\0", "b" * 300, "\u00e9\U0010ffff"] * N,
    "no separator": ["abc"] * N,
    "all separators": ["\0", "\n", "\x1f", "\x1e"] * N,
    "only separators": ["\0\n\x1f"] * N,
    "surrogates": ["\ud800", "\udc00", "\udc80x"] * N,
    "empty strings": [""] * N,
    "bytes": [b"", b"a\xff", b"b" * 300] * N,
    "bytes with separators": [b"\0", b"\n\x1f", b"\xff"] * N,
    "empty bytes": [b""] * N,
    "tuple": tuple(range(N)),
    "pairs": [(i, str(i)) for i in range(N)],
    "rows": tuple((i, -1.5 * i, i % 2 == 0, b"x", "y", 1 << 40, "\0\n\x1f", 0) for i in range(N)),
}


@pytest.mark.parametrize("values", PACKED.values(), ids=PACKED)
def test_a_sequence_arrives_exactly(values):
    data = bulk.pack(values)
    assert type(data) is bytes
    back = bulk.unpack(data)
    assert type(back) is list
    assert exact(back) == exact(list(values))


OTHERS = {
    "short": [1] * (N - 1),
    "empty": [],
    "large ints": [1 << 63] * N,
    "one large int": [1] * N + [-(1 << 63) - 1],
    "one large int but for the sample": [1] * N + [1 << 70, 1],
    "an int and a bool": [1] * N + [True],
    "bools and an int": [True] * N + [1],
    "ints and a float": [1] * N + [1.0],
    "floats and an int": [1.0] * N + [1],
    "a NaN": [1.0] * N + [NAN],
    "a NaN among infinities": [float("inf"), float("-inf"), NAN] * N,
    "only NaN": [NAN] * N,
    "strings and bytes": ["a"] * N + [b"a"],
    "None": [None] * N,
    "lists": [[1, 2]] * N,
    "a subclass": [1] * N + [Number(1)],
    "subclasses": [Number(1)] * N,
    "a class with a metaclass": [1] * N + [Strange("C", (), {})()],
    "such a class first": [Strange("C", (), {})(), *[1] * N],
    "such a class in a tuple": [(1, 2)] * N + [(1, Strange("C", (), {})())],
    "lengths of tuples": [(1, 2)] * N + [(1, 2, 3)],
    "empty tuples": [()] * N,
    "tuples of one": [(1,)] * N,
    "tuples of nine": [(1,) * 9] * N,
    "a list among tuples": [(1, 2)] * N + [[1, 2]],
    "tuples of lists": [(1, [])] * N,
    "tuples of tuples": [(1, (2, 3))] * N,
    "mixed columns": [(1, 2)] * N + [(1, 2.0)],
    "a NaN in a tuple": [(1, 2.0)] * N + [(1, NAN)],
}


@pytest.mark.parametrize("values", OTHERS.values(), ids=OTHERS)
def test_no_other_sequence_is_packed(values):
    assert bulk.pack(values) is None
    assert bulk.pack(tuple(values)) is None


def piece(data):
    return len(data).to_bytes(4, "little") + data


def texts(tag, lengths, text, count=None):
    numbers = b"".join(length.to_bytes(4, "little") for length in lengths)
    return tag + (len(lengths) if count is None else count).to_bytes(4, "little") + numbers + text


SMALL = b"B" + bytes(N)
MALFORMED = {
    "empty": b"",
    "no bytes": bytearray(SMALL),
    "text": "B" * 20,
    "None": None,
    "unknown": b"x" + bytes(N),
    "unknown with lengths": texts(b"X", [1] * N, b"a" * N),
    "tag of an object": b"P" + bytes(N),
    "short": b"B" + bytes(N - 1),
    "only a tag": b"q",
    "half a number": b"q" + bytes(8 * N + 1),
    "half a float": b"d" + bytes(8 * N + 4),
    "a NaN": bulk.pack([1.0] * N) + b"\0\0\0\0\0\0\xf8\x7f",
    "a NaN among infinities": bulk.pack([float("inf"), float("-inf")] * N) + b"\0\0\0\0\0\0\xf8\x7f",
    "not bools": b"T" + bytes(N) + b"\2",
    "no separator": b"s",
    "no separator of bytes": b"y",
    "a wide separator": b"s\xff" + b"a\xff" * N,
    "a wide separator of bytes": b"y\xff" + b"a\xff" * N,
    "bad text": b"s\0" + b"\xff\0" * N,
    "half a character": b"s\0" + b"a\0" * N + b"\xc3",
    "no count": b"S\1",
    "a large count": b"S" + b"\xff\xff\xff\xff" + bytes(64),
    "no strings": texts(b"S", [], b""),
    "text too long": texts(b"S", [1] * N, b"a" * (N + 1)),
    "text too short": texts(b"S", [1] * N, b"a" * (N - 1)),
    "bytes too short": texts(b"Y", [1] * N, b"a" * (N - 1)),
    "a large length": texts(b"S", [0xFFFFFFFF] * N, b"a" * N),
    "lengths of bytes": texts(b"S", [1] * (2 * N), "\u00e9".encode() * N),
    "no width": b"t",
    "width 0": b"t\0",
    "width 1": b"t\1" + piece(SMALL),
    "width 9": b"t\x09" + piece(SMALL) * 9,
    "a column is missing": b"t\2" + piece(SMALL),
    "a column is empty": b"t\2" + piece(SMALL) + piece(b""),
    "a column is longer": b"t\2" + piece(SMALL) + piece(SMALL + b"\0"),
    "a column is cut": b"t\2" + piece(SMALL) + piece(SMALL)[:-1],
    "more after the columns": b"t\2" + piece(SMALL) * 2 + b"\0",
    "a tuple in a tuple": b"t\2" + piece(SMALL) + piece(b"t\2" + piece(SMALL) * 2),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_malformed_data_are_refused(data):
    with pytest.raises(ValueError):
        bulk.unpack(data)


def test_random_data_are_sequences_that_could_be_packed_or_refused():
    chance = random.Random(20)
    seeds = [bulk.pack(values) for values in PACKED.values()]
    read = refused = 0
    for _ in range(10000):
        data = bytearray(chance.choice(seeds))
        if chance.random() < 0.2:
            data = bytearray(chance.choice(b"BhiqdTsSyYt").to_bytes(1, "big") + chance.randbytes(chance.randrange(80)))
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(data) + 1)
            if chance.random() < 0.5 and at < len(data):
                data[at] = chance.choice((0, 1, 2, 127, 255, chance.randrange(256)))
            else:
                data[at : at + chance.randrange(9)] = chance.randbytes(chance.randrange(9))
        try:
            values = bulk.unpack(bytes(data))
        except ValueError:
            refused += 1
            continue
        read += 1
        again = bulk.pack(values)
        assert again is not None and exact(bulk.unpack(again)) == exact(values)
    print(f"\nread {read}, refused {refused}")
    assert read > 1000 and refused > 1000


GREEDY = {
    "bytes": b"B" + b"\x07" * 200_000,
    "shorts": b"h" + b"\x07\x70" * 100_000,
    "longs": b"q" + b"\x07\x70\0\0\0\0\0\0" * 50_000,
    "bools": b"T" + b"\1" * 200_000,
    "strings of nothing": b"s\0" + bytes(200_000),
    "strings of one": b"s\0" + "\u0107\0".encode() * 60_000,
    "strings of two": b"s\0" + b"aa\0" * 60_000,
    "bytes of two": b"y\0" + b"aa\0" * 60_000,
    "strings with lengths": texts(b"S", [2] * 60_000, b"ab" * 60_000),
    "strings without text": texts(b"S", [0] * 60_000, b""),
    "wide text": b"s\0" + b"a" * 200_000 + "\U0010ffff".encode() + bytes(N),
    "pairs": b"t\2" + piece(b"B" + bytes(100_000)) * 2,
    "pairs of strings": b"t\2" + piece(b"s\0" + b"aa\0" * 60_000) * 2,
}


@pytest.mark.parametrize("data", GREEDY.values(), ids=GREEDY)
def test_memory_is_in_proportion_to_the_data(data):
    tracemalloc.start()
    try:
        values = bulk.unpack(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    print(f"\n{len(values)} values, {peak / len(data):.1f} bytes for each")
    assert peak < bulk.AMPLIFICATION * len(data)


@pytest.mark.parametrize("data", (b"S\xff\xff\xff\x7f" + bytes(64), b"t\2\xff\xff\xff\x7f" + bytes(64),
                                  texts(b"Y", [0xFFFFFFFF] * N, b"")), ids=("count", "column", "length"))  # fmt: skip
def test_a_size_that_is_not_there_takes_no_memory(data):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError):
            bulk.unpack(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_time_is_told():
    chance = random.Random(1)
    some = range(100_000)
    for name, values in (
        ("ints", [chance.randrange(-(10**9), 10**9) for _ in some]),
        ("small ints", [i % 100 for i in some]),
        ("large ints", [chance.randrange(-(10**18), 10**18) for _ in some]),
        ("floats", [chance.random() for _ in some]),
        ("bools", [i % 3 == 0 for i in some]),
        ("strings", [str(i) for i in some]),
        ("strings with separators", [f"{i}\0\n\x1f" for i in some]),
        ("pairs", [(i, i * 0.5) for i in some]),
    ):
        began = time.process_time()
        data = bulk.pack(values)
        packed = time.process_time()
        assert bulk.unpack(data) == values
        print(f"\n{name}: {len(data) >> 10} KiB, packed in {(packed - began) * 1e3:.0f} ms,", end=" ")
        print(f"unpacked and compared in {(time.process_time() - packed) * 1e3:.0f} ms")
