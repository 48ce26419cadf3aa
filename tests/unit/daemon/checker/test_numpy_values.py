# SPDX-License-Identifier: MIT
"""The values of numpy, there and back (daemon/checker/numpy_values.py)."""

import sys
import tracemalloc

import pytest
from wire_parts import ASKED, LIARS, fuzz, liars_for, there_and_back, values

try:
    import numpy
except ImportError:
    numpy = None
needs_numpy = pytest.mark.skipif(numpy is None, reason="numpy is not installed")

NUMBERS = """bool_ byte ubyte short ushort intc uintc int_ uint longlong ulonglong half single double longdouble csingle
cdouble clongdouble""".split()


def test_without_numpy_its_values_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.setattr(values, "_classes", {})
    cases = [("number", ("<f8", bytes(8))), ("ndarray", ("<f8", b"", True, 0)), ("dtype", ("<f8",)), ("str_", ("a",))]
    for name, parts in cases:
        with pytest.raises(ValueError):
            values.make(name, parts)
    assert values.describe(type("ndarray", (), {"__module__": "numpy"})()) is None


def scalars():
    found = [getattr(numpy, name)(1) for name in NUMBERS]
    found += [numpy.float64(-0.0), numpy.float64("inf"), numpy.float32(0.1), numpy.uint64(2**64 - 1), numpy.bool_(False)]
    found += [numpy.datetime64("2020-01-02"), numpy.datetime64("2020-01-02T03", "25s"), numpy.datetime64("NaT", "ns")]
    found += [numpy.timedelta64(5), numpy.timedelta64(3, "D"), numpy.str_("a\0\udc80"), numpy.str_(), numpy.bytes_(b"a\0")]
    return found + [numpy.complex128(1 - 2j)]


@needs_numpy
def test_a_number_arrives_equal_and_of_its_exact_type():
    for value in scalars():
        back = there_and_back(value)
        assert type(back) is type(value) and repr(back) == repr(value) and back.dtype == value.dtype
        if isinstance(value, (str, bytes)):
            assert len(back) == len(value) and back == value
    assert bool(there_and_back(numpy.bool_(False))) is False
    assert bool(there_and_back(numpy.bool_(True))) is True


def arrays():
    found = [numpy.array([[1, 2], [3, 4]]), numpy.arange(12.0).reshape(3, 4).T, numpy.arange(10)[::-2], numpy.array(5)]
    found += [numpy.zeros((2, 0, 3)), numpy.array([True, False]), numpy.array(["a", "bcd\U0010ffff"]), numpy.array([b"a", b""])]
    found += [numpy.array([1, 2], ">i4"), numpy.array([1, 2], ">q"), numpy.array([1], numpy.longlong), numpy.array([1 + 2j])]
    found += [numpy.array(["2020-01-01", "NaT"], "M8[D]"), numpy.array([1], "m8[3h]"), numpy.array([numpy.nan, -0.0])]
    frozen = numpy.arange(3)
    frozen.flags.writeable = False
    return [*found, frozen, numpy.broadcast_to(1.5, (2, 3)), numpy.array(["ab"], ">U2"), numpy.empty((0,), "S5")]


@needs_numpy
def test_an_array_arrives_with_shape_type_and_contents():
    for value in arrays():
        back = there_and_back(value)
        assert type(back) is numpy.ndarray and back.shape == value.shape
        assert back.dtype == value.dtype and back.dtype.char == value.dtype.char
        assert back.tobytes() == value.tobytes() and repr(back) == repr(value)
        assert back.flags.writeable == value.flags.writeable and back.flags.owndata


@needs_numpy
def test_a_type_arrives():
    for text in ("f8", ">f8", "?", "U5", "S3", "M8[10ms]", "q", ">Q", "c16", "g", "c"):
        value = numpy.dtype(text)
        back = there_and_back(value)
        assert type(back) is type(value) and back == value and back.char == value.char


@needs_numpy
def test_what_is_not_made_of_bytes_is_no_value():
    class Own(numpy.ndarray):
        pass

    class Number(numpy.float64):
        pass

    structure = numpy.zeros(2, "i4,f8")
    aligned = numpy.zeros(2, numpy.dtype("i1,f8", align=True))
    found = [numpy.array([object()]), aligned, numpy.zeros(2, "O,f8"), numpy.zeros(2, "(2,)i4,f8"), structure[0], structure.dtype, numpy.array([1]).view(Own), numpy.dtype("O"), Number(1)]
    found += [numpy.ma.array([1]), numpy.dtype("(2,2)f8"), numpy.void(b"abc"), numpy.float64, numpy, numpy.sin]
    found += [type("ndarray", (), {"__module__": "numpy"})(), type("float64", (), {"__module__": "numpy"})()]
    found += [type("Forged", (numpy.float64,), {"__module__": "numpy"})(1), numpy.zeros(1, "V0"), numpy.random.default_rng()]
    found += [numpy.empty((0,), f"S{1 << 17}")]
    for value in found:
        assert values.describe(value) is None, repr(value)


@needs_numpy
def test_objects_and_records_arrive_as_they_were():
    shared = [1]
    objects = numpy.empty(4, object)
    objects[:] = None, "a", shared, 2.5
    frozen = objects.reshape(2, 2).copy()
    frozen.flags.writeable = False
    for value in (objects, frozen, numpy.empty(0, object), numpy.empty((2, 0), object), numpy.array(5, object)):
        back = values.make(*values.describe(value))
        assert back.dtype == object and back.shape == value.shape and back.tolist() == value.tolist()
        assert back.flags.writeable == value.flags.writeable
    assert values.make(*values.describe(objects))[2] is shared
    records = numpy.array([(1, "ab", True), (2, "c", False)], "i4,U5,?")
    for value in (records, records.reshape(2, 1), records[:0], records[::-1], records[0:1].reshape(())):
        back = values.make(*values.describe(value))
        assert back.dtype == value.dtype and back.shape == value.shape and back.tobytes() == value.tobytes()
    other = records[::-1].copy()
    values.refresh(other, values.describe(records)[1])
    assert other.tobytes() == records.tobytes()
    mine = numpy.array([1, 2, 3, 4], object)
    values.refresh(mine, values.describe(objects)[1])
    assert mine.tolist() == objects.tolist()
    for old, new in ((mine, records), (records, mine), (mine, numpy.array([1, 2, 3, 4])), (records, records["f0"])):
        with pytest.raises(ValueError):
            values.refresh(old, values.describe(new)[1])


def hostile():
    return {
        "dtype": [("O",), ("i4,f8",), ("(1000000,)f8",), ("f8 ",), (" f8",), ("=f8",), ("<>f8",), ("f8",), ("float64",), (b"<f8",), (1,),
                  ("V8",), ("<U",), ("S0",), ("<M8[x]",), ("<M8[s",), ("<M8[s]]",), ("<M8[2020-01]",), ("<i4[s]",), ("",), ("<U9999999999",),
                  ("<",), ("\u0661f8",), ("<f\u0668",), (numpy.dtype("f8"),), ("<f8", "<f8"), ("|O",), ("{'a':1}",), ("i4," * 50000,)],
        "number": [("<f8", bytes(7)), ("<f8", bytes(16)), ("<f8", b""), ("<f8", "abcdefgh"), ("<f8", bytearray(8)), ("|b1", b"\2"), ("O", bytes(8)),
                   ("|O", bytes(8)), (">f8", bytes(8)), ("<U2", bytes(8)), ("|S2", b"ab"), ("<f8",), ("|V8", bytes(8)), ("<f8", 1)],
        "str_": [(b"a",), (1,), ("a", "b"), (), (numpy.str_("a"),)],
        "bytes_": [("a",), (5,), (1 << 40,), (), (bytearray(b"a"),)],
        "ndarray": [("<f8", bytes(8), True, 2), ("<f8", bytes(16), True), ("<f8", bytes(8), True, -1), ("<f8", bytes(8), 1, 1), ("<f8", b"", True, 1),
                    ("<f8", b"", True), ("<f8", bytes(16), True, 2, 1.0), ("<f8", bytes(16), True, True, 2), ("<f8", bytes(16), True, LIARS[0]),
                    ("O", bytes(8), True, 1), ("|O", bytes(8), True, 1), ("|b1", b"\0\2", True, 2), ("<U1", b"\0\0\x11\0", True, 1), (">U1", b"\0\x11\0\0", True, 1),
                    ("<f8", b"", True, 0, 1 << 62, 1 << 62), ("<f8", b"", True, 0, 1 << 70), ("<f8", "", True, 0), ("<f8", bytes(8), True, *[1] * 70),
                    ("objects", 1, True, 2, 1), ("objects", 1, True, 2, 1, 2, 3), ("objects", -1, True), ("objects", 3, True, 1, 1), ("objects", 1, 1, 1, 5),
                    ("objects", 1, True, 1, object()), ("objects", 1, True, 1, numpy.array([1])), ("objects", 2, True, 0, 1 << 70), ("objects",),
                    ("objects", 1, True, -1, 5), ("records", ("a",), ("<i4",), True, 1, 2, bytes(4)), ("records", ("a",), ("<i4",), True, 1, 1, 5),
                    ("records", ("a", "a"), ("<i4", "<i4"), True, 1, 1, bytes(4), bytes(4)), ("records", (), (), True, 0), ("records", ("a",), ("|O",), True, 1, 1, bytes(8)),
                    ("records", ("a",), ("|b1",), True, 1, 1, b"\2"), ("records", ("a",), ("<U1",), True, 1, 1, b"\0\0\x11\0"), ("records", ("a",), ("<i4",), True, 1, 1),
                    ("records", ("a",), ("|S100000000",), True, 1, 0, b""), ("records", (1,), ("<i4",), True, 1, 1, bytes(4)), ("records",),
                    ("records", ("a",), ("<i4",), True, 1, 0, bytes(4)), ("records", ("a",), ("<i4",), True, 2, 0, 1 << 62, b""),
                    ("|S100000000", b"", True, 0), ("<U100000000", bytes(8), True, 1), ("<f8", bytearray(8), True, 1), ("<f8", bytes(8), True, (1,)), ("<f8",)],
    }  # fmt: skip


@needs_numpy
def test_parts_that_make_no_value_are_refused():
    for name, all_parts in hostile().items():
        for parts in all_parts:
            tracemalloc.start()
            try:
                with pytest.raises(ValueError):
                    values.make(name, parts)
                assert tracemalloc.get_traced_memory()[1] < 1 << 20, (name, parts)
            finally:
                tracemalloc.stop()


@needs_numpy
def test_no_part_is_asked_anything():
    for value in [*scalars(), *arrays(), numpy.dtype("f8")]:
        name, parts = values.describe(value)
        for i in range(len(parts)):
            for liar in liars_for(parts[i]):
                with pytest.raises(ValueError):
                    values.make(name, (*parts[:i], liar, *parts[i + 1 :]))
                assert ASKED == [], (name, i)


@needs_numpy
def test_contents_are_put_into_the_array_that_is_there():
    def refreshed(old, new):
        values.refresh(old, values.describe(new)[1])
        assert old.tobytes() == new.tobytes() and old.shape == new.shape
        assert old.flags.writeable == new.flags.writeable

    refreshed(numpy.array([1, 2]), numpy.array([3, 4]))
    refreshed(numpy.arange(6), numpy.arange(6, 0, -1).reshape(2, 3))
    refreshed(numpy.arange(10)[::2], numpy.arange(5))
    frozen = numpy.array([1, 2])
    frozen.flags.writeable = False
    refreshed(frozen.copy(), frozen)
    refreshed(numpy.broadcast_to(1.5, 3), numpy.broadcast_to(1.5, 3))
    refreshed(frozen, numpy.array([1, 3]))
    assert frozen.flags.writeable


@needs_numpy
def test_an_array_of_another_size_or_type_is_not_refreshed():
    for old, parts in (
        (numpy.array([1, 2]), values.describe(numpy.array([1]))[1]),
        (numpy.array([1, 2]), values.describe(numpy.array([1.0, 2.0]))[1]),
        (numpy.array([1, 2]), values.describe(numpy.array([1, 2], numpy.longlong))[1]),
        (numpy.array([object()]), ("<i8", bytes(8), True, 1)),
        (numpy.array([1]), ("<i8", bytes(7), True, 1)),
        (numpy.float64(1), ("<f8", bytes(8))),
    ):
        before = repr(old)
        with pytest.raises(ValueError):
            values.refresh(old, parts)
        assert repr(old) == before


@needs_numpy
def test_mutated_parts_make_a_value_or_are_refused():
    seeds = [values.describe(value) for value in [*scalars(), *arrays(), numpy.dtype("f8"), numpy.dtype("M8[s]")]]
    made, refused, peak = fuzz(seeds, 20000)
    print(f"\nmade {made}, refused {refused}, peak {peak >> 10} KiB")
    assert made > 500 and refused > 5000
    assert peak < 32 << 20
