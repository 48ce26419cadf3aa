# SPDX-License-Identifier: MIT
"""Takes values of library classes apart into plain parts, and makes them from such parts again.

Both sides of the wire use it: one describes, the other makes. Parts are plain data or other values, which
the caller takes apart in turn. Whoever makes a value believes nothing: make() and refresh() check the
number of parts, their exact types and ranges, and raise ValueError for anything that describe() would not
have said. They call only the constructor of the class, take no more memory than in proportion to the
parts, and look up no name that arrived but those listed here.

A module of the library is imported only when a value of it arrives, and never to describe a value: the module
of a value that exists is loaded. Types are compared by identity: a metaclass may define equality and hash."""

import sys

import numpy_values
import pandas_values
from trusted import is_buffer, is_one_of, is_protocol, library_only, load, module_of, mro_of, name_of, need, need_integers

# The copy on one side of these follows changes of the copy on the other, by refresh().
MUTABLE_NAMES = frozenset(("array", "ndarray", "SimpleNamespace", "UserList", "UserDict", "ChainMap", "Series",
                           "DataFrame"))  # fmt: skip
# These may be part of themselves: make(name, ()) returns an empty one, which refresh() fills.
FILLED_LATER = MUTABLE_NAMES - {"array", "ndarray", "Series", "DataFrame"}

ADD_ONS = ("numpy", "pandas")  # no part of Python's library
FRACTION_BITS = 1 << 18  # the greatest common divisor takes quadratic time
PATTERN_MAX = 1 << 14
SCALARS = (type(None), bool, int, float, str, bytes)


# --- numbers --------------------------------------------------------------------------------------


def _take_fraction(value):
    parts = value.numerator, value.denominator
    return parts if max(part.bit_length() for part in parts) <= FRACTION_BITS else None


def _make_fraction(of_class, parts):
    over, under = parts
    need_integers((over, under))
    need(max(over.bit_length(), under.bit_length()) <= FRACTION_BITS)
    value = of_class(over, under)
    need(value.denominator == under)
    return value


def _take_decimal(value):
    sign, digits, exponent = value.as_tuple()  # str() would depend on the context
    return sign, bytes(digits).translate(_DIGITS).decode(), exponent


_DIGITS = b"0123456789" + bytes(246)


def _make_decimal(of_class, parts):
    sign, text, exponent = parts
    need(type(sign) is int and type(text) is str and text.isascii())
    need(type(exponent) is int or type(exponent) is str and exponent in ("F", "n", "N"))
    digits = tuple(map(int, text))
    value = of_class((sign, digits, exponent))
    # Out of range it is a NaN if the context lets that pass.
    need(tuple(value.as_tuple()) == (sign, digits, exponent))
    return value


# --- time -----------------------------------------------------------------------------------------


def _take_date(value):
    return value.year, value.month, value.day


def _make_of_integers(of_class, parts):
    need_integers(parts)
    return of_class(*parts)


def _take_timedelta(value):
    return value.days, value.seconds, value.microseconds


def _make_timedelta(of_class, parts):
    days, seconds, micro = parts
    need_integers((days,))
    need_integers((seconds,), 0, 86399)
    need_integers((micro,), 0, 999999)
    return of_class(days, seconds, micro)


def _take_timezone(value):
    offset, *name = value.__getinitargs__()
    return (*_take_timedelta(offset), *name)


def _make_timezone(of_class, parts):
    offset = _make_timedelta(_class_of("timedelta"), parts[:3])
    need(all(type(name) is str for name in parts[3:]))
    return of_class(offset, *parts[3:])


def _take_zone(value):
    return None if value.key is None else (value.key,)


def _make_zone(of_class, parts):
    (key,) = parts
    need(type(key) is str)
    with library_only():  # it looks for a package with more zones
        return of_class(key)


def _is_tzinfo(value):
    return value is None or describe(value) is not None and _name(value) in ("timezone", "ZoneInfo")


def _take_time(value):
    if not _is_tzinfo(value.tzinfo):
        return None
    return value.hour, value.minute, value.second, value.microsecond, value.fold, value.tzinfo


def _make_time(of_class, parts):
    *clock, fold, zone = parts
    need(_is_tzinfo(zone))
    need_integers((*clock, fold))
    return of_class(*clock, zone, fold=fold)


def _take_datetime(value):
    clock = _take_time(value)
    return clock and _take_date(value) + clock


def _make_datetime(of_class, parts):
    *clock, fold, zone = parts
    need(_is_tzinfo(zone))
    need_integers((*clock, fold))
    return of_class(*clock, zone, fold=fold)


def _isocalendar(module):
    return type(module.date.min.isocalendar())


def _make_isocalendar(of_class, parts):
    need_integers(parts)
    return _class_of("date").fromisocalendar(*parts).isocalendar()


def _take_struct_time(value):
    return (*value, value.tm_zone, value.tm_gmtoff)


def _make_struct_time(of_class, parts):
    *clock, zone, offset = parts
    need(len(clock) == 9 and (zone is None or type(zone) is str) and (offset is None or type(offset) is int))
    need_integers(clock, -(1 << 63), (1 << 63) - 1)
    return of_class(parts)


# --- names and addresses --------------------------------------------------------------------------


def _take_uuid(value):
    return value.int, value.is_safe.value


def _make_uuid(of_class, parts):
    number, safe = parts
    need_integers((number,))
    need(safe is None or type(safe) is int)
    return of_class(int=number, is_safe=load("uuid").SafeUUID(safe))


def _take_path(value):
    text = str(value)
    return (text,) if type(value)(text) == value else None


def _make_path(of_class, parts):
    (text,) = parts
    need(type(text) is str)
    return of_class(text)


def _take_address(value):
    scope = getattr(value, "scope_id", None)
    return (int(value),) if scope is None else (int(value), scope)


def _make_address(of_class, parts):
    number, *scope = parts
    need_integers((number,))
    value = of_class(number)
    if not scope:
        return value
    (scope,) = scope
    need(type(scope) is str)
    return of_class(f"{value}%{scope}")


def _take_network(value):
    parts = _take_address(value.network_address)
    return (*parts, value.prefixlen) if len(parts) == 1 else None


def _take_interface(value):
    parts = _take_address(value)
    return (*parts, value.network.prefixlen) if len(parts) == 1 else None


def _make_network(of_class, parts):
    number, prefix = parts
    need_integers((number, prefix))
    return of_class((number, prefix))


def _take_pattern(value):
    return (value.pattern, value.flags) if _is_pattern(value.pattern, value.flags) else None


def _is_pattern(pattern, flags):
    # TEMPLATE and DEBUG, which prints, are no properties of a pattern.
    is_text = is_one_of(pattern, str, bytes) and len(pattern) <= PATTERN_MAX
    return is_text and type(flags) is int and not flags & ~0x17E


def _make_pattern(_, parts):
    pattern, flags = parts
    need(_is_pattern(pattern, flags))
    warnings = load("warnings")
    with warnings.catch_warnings():  # the tests may record theirs
        warnings.simplefilter("ignore")
        value = load("re").compile(pattern, flags)
    need(value.flags == flags)
    return value


def _take_enumeration(value):
    of_class = type(value)
    names = module_of(of_class), name_of(of_class)
    if not is_flag(of_class):
        return (*names, value._name_)
    known = 0 <= value._value_ and not value._value_ & ~_mask(of_class)
    return (*names, value._value_) if known else None


def is_flag(of_class):
    return load("enum").Flag in mro_of(of_class)


def _mask(of_class):
    mask = 0
    for member in of_class.__members__.values():
        mask |= member._value_
    return mask


def _make_enumeration(_, parts):
    module, name, member = parts
    need(type(module) is str and type(name) is str and name in ENUMERATIONS.get(module, ()))
    of_class = vars(load(module)).get(name)
    need(_is_enumeration(of_class, module))
    if is_flag(of_class):
        need(type(member) is int and not member & ~_mask(of_class))
        return of_class(member)
    need(type(member) is str)
    return of_class.__members__[member]


ENUMERATIONS = {
    "calendar": ("Day", "Month"),
    "enum": ("EnumCheck", "FlagBoundary"),
    "http": ("HTTPMethod", "HTTPStatus"),
    "inspect": ("_ParameterKind",),
    "plistlib": ("PlistFormat",),
    "pstats": ("SortKey",),
    "re": ("RegexFlag",),
    "signal": ("Handlers", "Sigmasks", "Signals"),
    "socket": ("AddressFamily", "AddressInfo", "MsgFlag", "SocketKind"),
    "uuid": ("SafeUUID",),
}


# --- what is made of other values -----------------------------------------------------------------


def _make_tuple(of_class, parts):
    """Makes a named tuple or a structure sequence of the library."""
    for part in parts:
        if type(part) is tuple:
            need_integers(part)
        else:
            need(is_one_of(part, *SCALARS))
    fields = getattr(of_class, "_fields", None)
    if fields is None:
        return of_class(parts)
    need(len(parts) == len(fields))
    return tuple.__new__(of_class, parts)


def _take_namespace(value):
    names = vars(value)
    return _pairs(names) if all(type(name) is str and not is_protocol(name) for name in names) else None


def _pairs(items):
    return tuple(part for item in items.items() for part in item)


def _make_namespace(of_class, parts):
    value = of_class()
    _fill_namespace(value, parts)
    return value


def _fill_namespace(value, parts):
    need(len(parts) % 2 == 0 and all(type(name) is str and not is_protocol(name) for name in parts[::2]))
    need(len(set(parts[::2])) == len(parts[::2]))
    vars(value).clear()
    vars(value).update(zip(parts[::2], parts[1::2]))


def _take_proxy(value):
    import gc

    # Of the dictionary of a class, too, only a copy goes: nobody may put anything into it.
    (behind,) = gc.get_referents(value)
    is_plain = type(behind) is dict or module_of(type(behind)) == "collections" and name_of(type(behind)) == "OrderedDict"
    return _pairs(behind) if is_plain else None


def _make_proxy(of_class, parts):
    need(len(parts) % 2 == 0)
    held = dict(zip(parts[::2], parts[1::2]))
    # Objects with an equality of their own may have become equal since they are keys.
    need(2 * len(held) == len(parts) or not all(is_one_of(key, *SCALARS) for key in parts[::2]))
    return of_class(held)


# Classes of the library that are written in Python and hold one plain container.
_HELD = {"UserList": ("data", list), "UserDict": ("data", dict), "UserString": ("data", str),
         "ChainMap": ("maps", list)}  # fmt: skip


def _take_holder(value):
    name, kind = _HELD[name_of(type(value))]
    held = vars(value)
    return (held[name],) if len(held) == 1 and type(held[name]) is kind else None


def _make_holder(of_class, parts):
    _name, kind = _HELD[name_of(of_class)]
    value = of_class.__new__(of_class)
    need(parts or kind is not str)
    _fill_holder(value, parts or [kind()])
    return value


def _fill_holder(value, parts):
    name, kind = _HELD[name_of(type(value))]
    (part,) = parts
    need(type(part) is kind)
    vars(value)[name] = part


def _take_array(value):
    return value.typecode, value.tobytes()


def _make_array(of_class, parts):
    code, data = parts
    need(type(code) is str and type(data) is bytes)
    value = of_class(code)
    value.frombytes(data)
    if code in "uw":
        value.tounicode()  # which no other value can be done with
    return value


def _fill_array(value, parts):
    value[:] = _make_array(type(value), parts)  # which takes no array of another type


def _take_view(value):
    if not value.c_contiguous or value.format not in _VIEW_FORMATS or not value.ndim:
        return None
    if value.ndim > 1 and 0 in value.shape:  # cast() makes none such
        return None
    base = value.obj
    has_plain_base = is_one_of(base, bytes, bytearray) or _name(base) == "array"
    if not has_plain_base or memoryview(base).nbytes != value.nbytes:
        # Memory that is to be written has what was there before, of this process: none of that is for the other side.
        base = bytes(value.nbytes) if is_buffer(value) else value.tobytes()
    return (base, value.format, not value.readonly, *(value.shape if value.ndim > 1 else ()))


_VIEW_FORMATS = frozenset("cbBhHiIlLqQnNfd?")


def _make_view(of_class, parts):
    base, code, may_write, *shape = parts
    need(is_one_of(base, bytes, bytearray) or _name(base) == "array")
    need(type(code) is str and code in _VIEW_FORMATS and type(may_write) is bool)
    need_integers(shape)
    need(len(shape) != 1)
    if may_write and type(base) is bytes:
        base = bytearray(base)
    view = of_class(base).cast("B")
    view = view.cast(code, shape) if shape else view.cast(code)
    return view if may_write else view.toreadonly()


# --- all of them ----------------------------------------------------------------------------------

# By name: module, the class in it (a name, or a function that finds it), and how to take and to make.
_TIME = {"date": (_take_date, _make_of_integers), "time": (_take_time, _make_time),
         "datetime": (_take_datetime, _make_datetime), "timedelta": (_take_timedelta, _make_timedelta),
         "timezone": (_take_timezone, _make_timezone)}  # fmt: skip
_TUPLES = {
    "decimal": ("DecimalTuple",),
    "difflib": ("Match",),
    "os": ("terminal_size",),
    "posix": ("times_result",),
    "resource": ("struct_rusage",),
    "statistics": ("LinearRegression",),
    "urllib.parse": ("DefragResult", "DefragResultBytes", "ParseResult", "ParseResultBytes", "SplitResult",
                     "SplitResultBytes"),
}  # fmt: skip
ROWS = {
    "Fraction": ("fractions", "Fraction", _take_fraction, _make_fraction),
    "Decimal": ("decimal", "Decimal", _take_decimal, _make_decimal),
    **{name: ("datetime", name, *how) for name, how in _TIME.items()},
    "IsoCalendarDate": ("datetime", _isocalendar, tuple, _make_isocalendar),
    "ZoneInfo": ("zoneinfo", "ZoneInfo", _take_zone, _make_zone),
    "struct_time": ("time", "struct_time", _take_struct_time, _make_struct_time),
    "UUID": ("uuid", "UUID", _take_uuid, _make_uuid),
    **{name: ("pathlib", name, _take_path, _make_path)
       for name in ("PurePosixPath", "PureWindowsPath", "PosixPath")},
    **{f"IPv{v}Address": ("ipaddress", f"IPv{v}Address", _take_address, _make_address) for v in (4, 6)},
    **{f"IPv{v}Network": ("ipaddress", f"IPv{v}Network", _take_network, _make_network) for v in (4, 6)},
    **{f"IPv{v}Interface": ("ipaddress", f"IPv{v}Interface", _take_interface, _make_network) for v in (4, 6)},
    "Pattern": ("re", "Pattern", _take_pattern, _make_pattern),
    "CacheInfo": ("functools", "_CacheInfo", tuple, _make_tuple),
    **{name: (module, name, tuple, _make_tuple) for module, names in _TUPLES.items() for name in names},
    "SimpleNamespace": ("types", "SimpleNamespace", _take_namespace, _make_namespace),
    "mappingproxy": ("types", "MappingProxyType", _take_proxy, _make_proxy),
    **{name: ("collections", name, _take_holder, _make_holder) for name in _HELD},
    "array": ("array", "array", _take_array, _make_array),
    "memoryview": ("builtins", "memoryview", _take_view, _make_view),
    "enumeration": (None, None, _take_enumeration, _make_enumeration),
    **numpy_values.ROWS,
    **pandas_values.rows_with(lambda value: describe(value) is not None),
}  # fmt: skip
ROWS = {name: (name, *row) for name, row in ROWS.items()}


def _fill_table(value, parts):
    type(value).__init__(value, ROWS[_name(value)][4](type(value), parts))


_FILLS = {"array": _fill_array, "ndarray": numpy_values.fill_array, "SimpleNamespace": _fill_namespace,
          **dict.fromkeys(("UserList", "UserDict", "ChainMap"), _fill_holder),
          **dict.fromkeys(("Series", "DataFrame"), _fill_table)}  # fmt: skip
# By the module and the name that a class itself says, which may differ from where it is found.
_BY_MODULE = {}
for _row in ROWS.values():
    if _row[1] not in (None, *ADD_ONS):
        _BY_MODULE.setdefault(_row[1], {})[_row[0]] = _row
_BY_MODULE["builtins"]["mappingproxy"] = _BY_MODULE["types"].pop("mappingproxy")
_BY_MODULE["pathlib._local"] = _BY_MODULE["pathlib"]  # Python 3.13

_MODULES = frozenset(_BY_MODULE) | frozenset(ENUMERATIONS)

_known = {}  # by id(): the class, which is kept so that its id() stays its own, and its row
_classes = {}  # by name


def _class_of(name):
    """Returns the class of a row; it is looked up once, in the library."""
    of_class = _classes.get(name)
    if of_class is None:
        _, module, attribute, _, _ = ROWS[name]
        loaded = load(module)
        of_class = attribute(loaded) if callable(attribute) else vars(loaded).get(attribute)
            # A test may have put another class there.
        need(module in ADD_ONS or _row_called(of_class) is ROWS[name])
        _classes[name] = of_class
    return of_class


def _row_called(kind):
    return _BY_MODULE.get(module_of(kind), {}).get(name_of(kind))


def _is_enumeration(kind, module):
    """Returns whether a class that says it is in MODULE is the enumeration there."""
    if name_of(kind) not in ENUMERATIONS.get(module, ()):
        return False
    return vars(load(module)).get(name_of(kind)) is kind


def _row_of(kind):
    """Returns the row of a class that is one of the library's values; else None."""
    known = _known.get(id(kind))
    if known:
        return known[1]
    module = module_of(kind)
    if type(module) is not str:
        return None
    if module not in _MODULES and not module.startswith(ADD_ONS):
        return None  # so it is for most classes
    row = _row_called(kind)
    if row is not None:
        row = row if _class_of(row[0]) is kind else None
    elif _is_enumeration(kind, module):
        row = ROWS["enumeration"]
    else:
        row = ROWS.get(numpy_values.row_name(kind) or pandas_values.row_name(kind))
    if row is not None:
        _known[id(kind)] = kind, row
    return row


def _name(value):
    row = _row_of(type(value))
    return row and row[0]


name_of_value = _name


def has_parts(kind):
    """Returns whether values of exactly this class are taken apart."""
    return bool(_row_of(kind))


def is_akin(kind):
    """Returns whether a class of the library is a base of a class of values, as `pathlib.Path` is, or derives from one."""
    for _, module, attribute, *_ in ROWS.values():
        loaded = sys.modules.get(module) if module not in ("builtins", *ADD_ONS) else None
        of_class = vars(loaded).get(attribute) if loaded is not None and type(attribute) is str else None
        if isinstance(of_class, type) and kind is not object and (issubclass(of_class, kind) or issubclass(kind, of_class)):
            return True
    return False


def describe(value):
    """Returns (name, parts) if the exact type of VALUE is one of the library's values, else None. PARTS is
    a tuple of plain data and of values that can be described, too."""
    try:
        row = _row_of(type(value))
        parts = row and row[3](value)
    except Exception:  # one that was made past its constructor, or a module that somebody has changed
        return None
    return None if parts is None else (row[0], tuple(parts))


def make(name, parts):
    """Returns the value that describe() has taken apart. PARTS is a tuple or a list. Raises ValueError for
    parts that are none, and if the module that the value needs is not here."""
    row = ROWS.get(name) if type(name) is str else None
    if row is None or not is_one_of(parts, tuple, list):
        raise ValueError("an unknown value")
    try:
        of_class = _class_of(name) if row[1] else None
        return row[4](of_class, tuple(parts))
    except Exception as error:  # whatever a constructor raises for parts that are no such thing
        raise ValueError(f"not a {name}: {type(error).__name__}") from None


def refresh(value, parts):
    """Puts PARTS into VALUE, one of MUTABLE_NAMES. Raises ValueError if they do not fit: an array keeps its
    type, one of numpy also its size, and one that a memoryview shows its length."""
    name = _name(value)
    if name not in MUTABLE_NAMES or not is_one_of(parts, tuple, list):
        raise ValueError("not a value that changes")
    try:
        _FILLS[name](value, tuple(parts))
    except Exception as error:
        raise ValueError(f"not a {name}: {type(error).__name__}") from None


def has_only_own(value, names):
    """Returns whether the attributes NAMES of a container are those with which its class makes it."""
    if not names or _name(value) not in ("Series", "DataFrame"):
        return not names
    return all(pandas_values.is_own(value, name) for name in names)
