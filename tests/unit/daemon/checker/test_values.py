# SPDX-License-Identifier: MIT
"""The values of the library, there and back (daemon/checker/values.py): exact for what is a value, and a
ValueError for whatever else arrives."""

import array
import collections
import datetime
import decimal
import difflib
import enum
import fractions
import functools
import http
import inspect
import ipaddress
import os
import pathlib
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import time
import tracemalloc
import types
import urllib.parse
import uuid
import warnings
import zoneinfo
from unittest import mock

import pytest

CHECKER = str(pathlib.Path(__file__).resolve().parents[4] / "daemon" / "checker")
sys.path.insert(0, CHECKER)

import values  # noqa: E402
from wire_parts import ASKED, LIARS, Liar, Strange, fuzz, liars_for, there_and_back  # noqa: E402

UTC = datetime.timezone.utc
EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=45), "Nepal")
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


@functools.lru_cache
def cached():
    return 1


VALUES = [
    fractions.Fraction(-3, 7),
    fractions.Fraction(2**200, 3**100),
    fractions.Fraction(0),
    *map(decimal.Decimal, "0 -0 1.10 -1E+5 0E-7 123456789012345678901234567890.5 Infinity -Infinity".split()),
    decimal.Decimal((0, (1,), decimal.MAX_EMAX)),
    decimal.Decimal((1, (1,), -425000000)),
    datetime.date(1, 1, 1),
    datetime.date(2020, 2, 29),
    datetime.time(23, 59, 58, 999999),
    datetime.time(2, 30, tzinfo=EAST, fold=1),
    datetime.datetime(2021, 10, 31, 2, 30, fold=1, tzinfo=BERLIN),
    datetime.datetime(1999, 12, 31, 1, 2, 3, 4, UTC),
    datetime.datetime.min,
    datetime.datetime.max,
    datetime.timedelta(-1, 5, 6),
    datetime.timedelta.min,
    datetime.timedelta.max,
    datetime.timezone(datetime.timedelta(seconds=-1, microseconds=1)),
    datetime.timezone(datetime.timedelta(0), ""),
    EAST,
    BERLIN,
    datetime.date(2020, 1, 1).isocalendar(),
    time.struct_time((2020, 1, 2, 3, 4, 5, 6, 7, 0)),
    time.gmtime(0),
    uuid.UUID(int=0),
    uuid.uuid1(),
    uuid.uuid4(),
    pathlib.Path("/a/b/../c"),
    pathlib.Path(),
    pathlib.PurePosixPath("//x/y"),
    pathlib.PurePosixPath("a\udc80\nb"),
    pathlib.PureWindowsPath("c:/a/b"),
    ipaddress.ip_address("127.0.0.1"),
    ipaddress.ip_address("::1"),
    ipaddress.ip_address("fe80::1%eth0"),
    ipaddress.ip_network("10.0.0.0/8"),
    ipaddress.ip_network("2001:db8::/32"),
    ipaddress.ip_interface("10.1.2.3/8"),
    ipaddress.ip_interface("2001:db8::5/64"),
    re.compile("a+(b)?", re.I | re.X),
    re.compile(b"\\w", re.L),
    re.compile("(?im)a|\udc80"),
    http.HTTPStatus.NOT_FOUND,
    re.I,
    re.I | re.M,
    re.RegexFlag(0),
    signal.Signals.SIGTERM,
    socket.AddressFamily.AF_UNIX,
    inspect.Parameter.KEYWORD_ONLY,
    uuid.SafeUUID.unknown,
    cached.cache_info(),
    urllib.parse.urlparse("https://u@h:1/p;q?a=b#c"),
    urllib.parse.urlsplit(b"//h/p"),
    urllib.parse.urldefrag("a#b"),
    difflib.SequenceMatcher(None, "abc", "bc").find_longest_match(),
    statistics.linear_regression([1, 2, 3], [2, 4, 7]),
    decimal.Decimal("1.5").as_tuple(),
    os.terminal_size((80, 24)),
    os.times(),
    resource.getrusage(resource.RUSAGE_SELF),
    types.SimpleNamespace(a=1, b=[2]),
    types.SimpleNamespace(),
    types.MappingProxyType({1: 2, "a": [3]}),
    collections.UserList([1, 2]),
    collections.UserDict(a=1),
    collections.UserString("abc"),
    collections.ChainMap({1: 2}, {3: 4}),
    array.array("i", [1, -2]),
    array.array("d", [0.5, float("inf")]),
    array.array("u", "a\U0010ffff"),
    array.array("B"),
    memoryview(b"abc"),
    memoryview(b"")[:0],
    memoryview(bytearray(b"abcd"))[1:3],
    memoryview(array.array("i", [1, 2, 3])),
    memoryview(b"abcdef").cast("H").cast("B", (2, 3)),
    memoryview(bytearray(8)).cast("d"),
    memoryview(bytearray(8)).toreadonly(),
]


def names_of(found):
    """Returns names for tests: the same ones in each process that collects them, so without the values' text."""
    return [f"{type(value).__name__} {number}" for number, value in enumerate(found)]


@pytest.mark.parametrize("value", VALUES, ids=names_of(VALUES))
def test_a_value_arrives_equal_and_of_its_exact_type(value):
    back = there_and_back(value)
    assert type(back) is type(value)
    assert back == value
    if type(value) is memoryview:
        assert (back.format, back.shape, back.readonly) == (value.format, value.shape, value.readonly)
    else:
        assert repr(back) == repr(value)


def test_what_equality_does_not_see_arrives_too():
    assert there_and_back(decimal.Decimal("-0")).is_signed()
    for text in ("NaN", "-NaN123", "sNaN4"):
        assert repr(there_and_back(decimal.Decimal(text))) == repr(decimal.Decimal(text))
    assert there_and_back(VALUES[-1]).readonly
    assert there_and_back(UTC) is UTC
    assert there_and_back(datetime.datetime(2020, 1, 1, fold=1)).fold == 1
    assert there_and_back(BERLIN) is BERLIN
    local = time.localtime(0)
    assert there_and_back(local).tm_gmtoff == local.tm_gmtoff and there_and_back(local).tm_zone == local.tm_zone
    assert there_and_back(uuid.UUID(int=1, is_safe=uuid.SafeUUID.safe)).is_safe is uuid.SafeUUID.safe
    assert there_and_back(http.HTTPStatus.OK) is http.HTTPStatus.OK
    assert there_and_back(re.compile("(a)")).match("a").group(1) == "a"


def test_a_decimal_does_not_depend_on_the_context():
    value = decimal.Decimal("1.23456789E+1000")
    with decimal.localcontext() as context:
        context.prec, context.Emax, context.capitals = 2, 5, 0
        back = there_and_back(value)
    assert back == value
    with decimal.localcontext() as context:
        context.traps[decimal.InvalidOperation] = False
        with pytest.raises(ValueError):
            values.make("Decimal", (0, "1", 10**19))


def test_a_view_shows_the_container_that_it_was_made_of():
    base = bytearray(b"abc")
    name, parts = values.describe(memoryview(base))
    assert parts[0] is base
    back = values.make(name, parts)
    back[0] = 65
    assert base == b"Abc"
    assert values.describe(memoryview(base)[1:])[1][0] == b"bc"


# --- what is none ---------------------------------------------------------------------------------


class Text(str):
    pass


class OwnZone(datetime.tzinfo):
    pass


def not_values():
    forged = type("Fraction", (fractions.Fraction,), {"__module__": "fractions"})
    with_zone = datetime.datetime(2020, 1, 1, tzinfo=OwnZone())
    broken = fractions.Fraction.__new__(fractions.Fraction)
    del broken._numerator
    odd = types.SimpleNamespace()
    vars(odd)[1] = 2
    user_list = collections.UserList()
    user_list.data = (1,)
    own_flags = re.RegexFlag(1 << 40)
    forged_status = enum.IntEnum("HTTPStatus", "OK", module="http")
    with_file = zoneinfo.ZoneInfo.from_file(open("/usr/share/zoneinfo/UTC", "rb"))
    released = memoryview(b"a")
    released.release()
    found = [1, "a", [1], None, int, fractions.Fraction, object(), Ellipsis, len, iter([]), re.match("a", "a")]
    found += [forged(), broken, odd, user_list, with_zone, datetime.time(1, tzinfo=OwnZone()), with_file]
    found += [Strange("C", (), {})(), Strange("D", (), {"__module__": "http"})(), released]
    found += [type("C", (), {"__module__": 5})(), type("HTTPStatus", (), {"__module__": "http"})()]
    for value in (fractions.Fraction(1), decimal.Decimal(1), datetime.date.min, pathlib.Path(), array.array("i")):
        found.append(type("Own", (type(value),), {})(*["i"] * (type(value) is array.array),
                     *[1, 1, 1] * (type(value) is datetime.date)))
    found += [memoryview(b"abc")[::-1], memoryview(b"abcdef").cast("B", (2, 3))[:1][::2][:0:2]]
    found += [fractions.Fraction(1 << values.FRACTION_BITS), own_flags, forged_status.OK, forged_status]
    found += [re.compile("a" * (values.PATTERN_MAX + 1)), re.compile(Text("a")), pathlib.PureWindowsPath("./c:b")]
    found += [ipaddress.ip_network("fe80::1%x/128"), ipaddress.ip_interface("fe80::1%x/64")]
    found += [types.MappingProxyType(collections.UserDict()), types.MappingProxyType(collections.defaultdict())]
    return found


@pytest.mark.parametrize("value", not_values(), ids=lambda value: type.__repr__(type(value)))
def test_anything_else_is_no_value(value):
    assert values.describe(value) is None


# --- what is refused ------------------------------------------------------------------------------


HOSTILE = [
    ("Fraction", (1,), (1, 0), (2, 4), (1, -2), (1.0, 2), (True, 2), ("1", 2), (LIARS[0], 2), (1 << (1 << 19), 1),
     (fractions.Fraction(1, 2), 3)),
    ("Decimal", ("1",), (0, "1"), (2, "1", 0), (0, "x", 0), (0, "01", 0), (0, "١", 0), (0, (1,), 0), (0, "1", "G"),
     (0, "1", 1.0), (0, "1", 1 << 70), (True, "1", 0), (0, "-1", 0), (0, " 1", 0), (0, "1", "F")),
    ("date", (1, 1), (2020, 2, 30), (0, 1, 1), (2020, 1, True), (2020, 1, 1.0), (LIARS[0], 1, 1), (1 << 80, 1, 1),
     (b"\x07\xe4\x01\x01\x00\x00\x00\x00\x00\x00",), (2020, 1, 1, 1)),
    ("time", (24, 0, 0, 0, 0, None), (0, 0, 0, 0, 2, None), (0, 0, 0, 0, 0, OwnZone()), (0, 0, 0, 0, 0, "UTC"),
     (0, 0, 0, 0, 0), (0, 0, 0, 0, True, None), (0, 0, 0, 0.0, 0, None)),
    ("datetime", (2020, 1, 1, 0, 0, 0, 0, 0), (2020, 13, 1, 0, 0, 0, 0, 0, None), (2020, 1, 1, 0, 0, 0, 0, 0, OwnZone()),
     (2020, 1, 1, 0, 0, 0, 0, 0, datetime.timezone), (2020, 1, 1, 0, 0, 0, 0, 0, 0, None), (2020, 1, 1, 0, None), (b"\x07\xe4\x01\x01" + bytes(6), 0, None),
     (2020, 1, 1, 0, 0, 0, True, 0, None), (2020, 1, 1, 0, 0, 0, 0.0, 0, None)),
    ("timedelta", (0, 86400, 0), (0, 0, -1), (0, 0, 10**6), (10**9, 0, 0), (1.5, 0, 0), (0, True, 0), (0, 0), (1, -1, 0), (0, 0, 0, 0)),
    ("timezone", (1, 0, 0), (-1, 0, 0), (0, 0, 0, 5), (0, 0, 0, "a", "b"), (1, -1, 0), (0, 0), (0, 60, 0, None)),
    ("IsoCalendarDate", (2020, 54, 1), (2020, 1, 8), (2020, 1), (2020, 1, True)),
    ("ZoneInfo", ("../../etc/passwd",), ("/etc/localtime",), ("No/Such",), ("Europe/",), ("Europe",), (b"UTC",), (None,),
     ("Europe/./Berlin",), ("UTC", 1), ("",), ("tzdata.zi",), ("a\0b",)),
    ("struct_time", (1,) * 9, (1,) * 12, (1,) * 8 + ("a", None, None), (1,) * 9 + (1, None), (1,) * 9 + (None, "a"),
     (1,) * 8 + (1 << 64, None, None), (1,) * 8 + (True, None, None), (1,) * 7 + (None, None),
     (1,) * 8 + (-(1 << 64), None, None)),
    ("UUID", (-1, None), (1 << 128, None), (1.0, None), (1, 7), (1, "safe"), (1, False), (1,)),
    ("PosixPath", (1,), (b"a",), (), ("a", "b"), (pathlib.Path("a"),)),
    ("IPv4Address", ("127.0.0.1",), (-1,), (1 << 32,), (1, "eth0"), (True,), ()),
    ("IPv6Address", (1 << 128,), (1, 2), (1, ""), (1, "a%b"), (1, "a", "b"), ("::1",)),
    ("IPv4Network", (1, 8), (0, 33), (0, "8"), (0, True), (0,), ("10.0.0.0/8",), (1 << 32, 0)),
    ("IPv6Interface", (0, 129), (0, -1), (1 << 128, 0), ("::", 1)),
    ("Pattern", ("(",), ("(", 32), ("a", 0), ("a", 32 | 128), ("a", 33), (b"a", 32), ("a", "32"), ("a", -1), ("(" * 9000, 32),
     ("a" * (values.PATTERN_MAX + 1), 32), (1, 0), ("a", 1 << 40), (["a"], 32), ("a", True)),
    ("enumeration", ("http", "HTTPStatus"), ("http", "HTTPStatus", 404), ("http", "HTTPStatus", "NONE"), ("os", "HTTPStatus", "OK"),
     ("http", "__init__", "OK"), ("re", "RegexFlag", "I"), ("re", "RegexFlag", -1), ("re", "RegexFlag", 1 << 30),
     ("re", "RegexFlag", True), (["http"], "HTTPStatus", "OK"), ("http", "HTTPStatus", "__class__"), ("this", "s", "d")),
    ("CacheInfo", (1, 2, 3), (1, 2, 3, []), (1, 2, 3, object()), (1, 2, 3, LIARS[0]), (1, 2, 3, ("a",))),
    ("ParseResult", ("",) * 5, ("",) * 7, ("",) * 5 + ([],)),
    ("terminal_size", (1,), (1, 2, 3), (1, [])),
    ("SimpleNamespace", ("a",), (1, 2), (LIARS[0], 2)),
    ("mappingproxy", (1,), ([], 1)),
    ("UserList", ((1,),), ({},), ([], []), (LIARS[0],)),
    ("UserDict", ([],), (collections.OrderedDict(),)),
    ("UserString", (), (1,), (collections.UserString("a"),)),
    ("ChainMap", ({},), ({}, {})),
    ("array", ("i", b"abc"), ("x", b""), ("ii", b""), (1, b""), ("i", "abcd"), ("i", [1]), ("i", bytearray(4)),
     ("u", b"\xff\xff\xff\xff"), ("i",), ("", b"")),
    ("memoryview", (b"a", "B"), ("a", "B", False), (b"abc", "i", False), (b"abc", "B", 0), (b"abc", "3B", False),
     (bytes(8), "P", False), (b"abc", "@B", False), (b"abc", "BB", False), (b"abc", b"B", False), (b"abcd", "B", False, 4), (b"abcd", "B", False, 2, 3),
     (b"abcd", "B", False, -2, -2), (b"abcd", "B", False, 2, True, 2), (b"abcd", "B", False, *[1] * 70, 4), (b"", "B", False, 0, 1),
     (memoryview(b"abc"), "B", False), (type("Own", (bytes,), {})(b"abc"), "B", False)),
]  # fmt: skip
REFUSED = [(name, parts) for name, *all_parts in HOSTILE for parts in all_parts]


@pytest.mark.parametrize(("name", "parts"), REFUSED, ids=lambda part: part if type(part) is str else "")
def test_parts_that_make_no_value_are_refused(name, parts):
    with pytest.raises(ValueError):
        values.make(name, parts)


def test_unknown_names_are_refused():
    for name in ("", "object", "Popen", "PosixPath\0", None, 1, [], LIARS[0], b"date", "generic", "os.system"):
        with pytest.raises(ValueError, match="unknown"):
            values.make(name, (1, 1, 1))
    for parts in ({}, "abc", None, iter((1, 1, 1)), range(1, 4)):
        with pytest.raises(ValueError, match="unknown"):
            values.make("date", parts)


def test_no_part_is_asked_anything():
    """A part of another type is refused by its type alone: what it says of itself is the code's word."""
    for value in VALUES:
        name, parts = values.describe(value)
        if name == "mappingproxy":  # of any value that can be a key
            continue
        for i in range(0, len(parts), 2 if name == "SimpleNamespace" else 1):
            for liar in liars_for(parts[i]):
                with pytest.raises(ValueError):
                    values.make(name, (*parts[:i], liar, *parts[i + 1 :]))
                assert ASKED == [], (name, i)
    for liar in LIARS:
        assert values.describe(liar) is None
        with pytest.raises(ValueError):
            values.make(liar, (1, 1, 1))
        with pytest.raises(ValueError):
            values.make("date", liar)
        with pytest.raises(ValueError):
            values.refresh(types.SimpleNamespace(), liar)
        assert values.describe(type("C", (), {"__module__": liar})()) is None
    assert ASKED == []


def test_no_module_is_loaded_that_is_not_listed():
    assert "this" not in sys.modules
    with pytest.raises(ValueError):
        values.make("enumeration", ("this", "s", "d"))
    assert "this" not in sys.modules


def test_a_pattern_gives_no_warning_to_the_tests():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        back = values.make("Pattern", ("[[a]b]", 32))  # a FutureWarning
    assert back.pattern == "[[a]b]" and seen == []


def test_a_class_that_a_test_has_patched_is_not_called(monkeypatch):
    monkeypatch.setattr(values, "_classes", {})
    called = []
    fakes = [mock.Mock(side_effect=called.append), type("Fake", (datetime.date,), {"__new__": called.append})]
    for fake in fakes:
        with mock.patch("datetime.date", fake), pytest.raises(ValueError):
            values.make("date", (2020, 1, 1))
    assert called == []
    assert values.make("date", (2020, 1, 1)) == datetime.date(2020, 1, 1)


def test_an_enumeration_that_a_test_has_patched_is_not_asked():
    for fake in (mock.Mock(), enum.IntEnum("Fake", "OK")):
        with mock.patch("http.HTTPStatus", fake), pytest.raises(ValueError):
            values.make("enumeration", ("http", "HTTPStatus", "OK"))


def test_a_file_of_the_code_is_no_package_of_time_zones(tmp_path):
    zones = tmp_path / "tzdata" / "zoneinfo"
    zones.mkdir(parents=True)
    for place in (zones.parent, zones):
        (place / "__init__.py").write_text("print('the code ran')")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import values\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "try: values.make('ZoneInfo', ('No',))\n"
        "except ValueError: print('refused', sys.path[0] == sys.argv[2])"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, CHECKER, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("refused True\n", "")


def test_a_file_of_the_code_is_no_module_of_the_library(tmp_path):
    (tmp_path / "fractions.py").write_text("raise SystemExit('the code ran')")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import values\n"
        "sys.path.insert(0, sys.argv[2]); sys.path.insert(0, '')\n"
        "assert 'fractions' not in sys.modules\n"
        "print(values.make('Fraction', (1, 2)), sys.path[1] == sys.argv[2])"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, CHECKER, str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("1/2 True\n", "")


def test_nothing_is_loaded_before_it_is_needed():
    program = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]); import values\n"
        "class Own: pass\n"
        "for value in (1, 'a', Own(), Own, len): assert values.describe(value) is None\n"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-I", "-B", "-c", program, CHECKER], capture_output=True, text=True, check=True)
    assert done.stdout == "['numpy_values', 'pandas_values', 'trusted', 'values']\n"


# --- changes follow -------------------------------------------------------------------------------


def test_contents_are_put_into_what_is_there():
    cases = [
        (array.array("i", [1, 2]), array.array("i", [3])),
        (types.SimpleNamespace(a=1, b=2), types.SimpleNamespace(b=3, c=4)),
        (collections.UserList([1]), collections.UserList([2, 3])),
        (collections.UserDict(a=1), collections.UserDict(b=1)),
        (collections.ChainMap({1: 1}), collections.ChainMap({}, {2: 2})),
    ]
    for old, new in cases:
        name, parts = values.describe(new)
        assert name in values.MUTABLE_NAMES
        assert values.refresh(old, parts) is None
        assert old == new and type(old) is type(new)


def test_what_may_be_part_of_itself_is_made_empty_first():
    for name in values.FILLED_LATER:
        empty = values.make(name, ())
        assert values.describe(empty)[0] == name
    space = values.make("SimpleNamespace", ())
    values.refresh(space, ["me", space])
    assert space.me is space


def test_what_cannot_change_or_does_not_fit_is_not_refreshed():
    for value, parts in (
        (array.array("i", [1]), ("d", bytes(8))),
        (array.array("i", [1]), ("i", b"abc")),
        (types.SimpleNamespace(a=1), ("a",)),
        (types.SimpleNamespace(a=1), ([], 1)),
        (collections.UserList([1]), ({},)),
        (collections.UserList([1]), ()),
        (collections.UserString("a"), ("b",)),
        (types.MappingProxyType({}), (1, 2)),
        (datetime.date.min, (2020, 1, 1)),
        ([1], (2,)),
        (types.SimpleNamespace(), {"a": 1}),
    ):
        before = repr(value)
        with pytest.raises(ValueError):
            values.refresh(value, parts)
        assert repr(value) == before


def test_an_array_with_a_view_on_it_keeps_its_length():
    shown = array.array("i", [1, 2])
    view = memoryview(shown)
    values.refresh(shown, values.describe(array.array("i", [3, 4]))[1])
    assert view.tolist() == [3, 4]
    with pytest.raises(ValueError):
        values.refresh(shown, values.describe(array.array("i", [3]))[1])


def test_nobody_writes_into_a_class_by_its_dictionary():
    class Own:
        secret = 1

    name, parts = values.describe(vars(Own))
    back = values.make(name, parts)
    assert back["secret"] == 1
    Own.secret = 2
    assert back["secret"] == 1 and name not in values.MUTABLE_NAMES


# --- fuzz -----------------------------------------------------------------------------------------

def test_mutated_parts_make_a_value_or_are_refused():
    made, refused, peak = fuzz([values.describe(value) for value in VALUES], 20000)
    print(f"\nmade {made}, refused {refused}, peak {peak >> 10} KiB")
    assert made > 500 and refused > 5000
    assert peak < 32 << 20


def test_a_small_message_takes_little_memory():
    cases = [("array", ("i", bytes(4))), ("memoryview", (bytes(8), "B", False, 1 << 40, 1 << 40)),
             ("Decimal", (0, "1", decimal.MAX_EMAX)), ("Pattern", ("(?:a{60000}){60000}", 32)),
             ("IPv4Network", (0, 0)), ("IsoCalendarDate", (1 << 100, 1, 1)), ("UUID", (1 << (1 << 20), None))]  # fmt: skip
    for name, parts in cases:
        tracemalloc.start()
        try:
            values.make(name, parts)
        except ValueError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 1 << 20, name
