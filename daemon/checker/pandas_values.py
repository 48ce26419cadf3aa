# SPDX-License-Identifier: MIT
"""Takes tables, columns and times of pandas apart, and makes them again: see values.py.

The parts of a table are a structure, which is one tuple of types, sizes and plain bytes, and after it the objects that the
structure counts: names, labels, and items of columns of objects. So two lists of parts say exactly whether a table has
changed. A table is taken apart only if it can be made again: what it holds beside plain data are values that cross, too."""

import sys

import numpy_values
from trusted import is_protocol, load, mro_of, name_of, need, need_integers

FREQUENCY_MAX = 24  # characters
COUNT_MAX = 1 << 31
ZONE_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/")
MASKED = frozenset(("boolean", *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)),
                    "Float32", "Float64"))  # fmt: skip
DATES = ("DatetimeIndex", "TimedeltaIndex")
TEXTS = ("string", "str")
NUMERIC = ("Int64Index", "UInt64Index", "Float64Index")  # of pandas before 2.0
MOMENTS = ("Timestamp", "Timedelta")
SINGLES = ("NaT", "NA")
CODES = "<i8"
SCALARS = (type(None), bool, int, float, str, bytes)
SIMPLE = (*SCALARS, complex, tuple, list, dict, set, frozenset)
_SIMPLE_IDS = frozenset(map(id, SIMPLE))  # a metaclass may define equality and hash
_SCALAR_IDS = frozenset(map(id, SCALARS))


class Unfit(Exception):
    """The value has something that does not cross."""


def _want(holds):
    if not holds:
        raise Unfit


def _kinds(objects):
    """Returns the ids of the types of OBJECTS."""
    return set(map(id, map(type, objects)))


def _is_label(label, is_value):
    """Returns whether LABEL is plain data, so that its hash asks nobody, and makes no object take part in a protocol:
    pandas finds what a label names as an attribute, too."""
    if type(label) is tuple:
        return _kinds(label) <= _SCALAR_IDS
    if type(label) is str:
        return not is_protocol(label)
    return id(type(label)) in _SCALAR_IDS or is_value(label)


class Taking:
    """Takes one value apart. `objects` is what its structure counts. IS_VALUE tells whether an object crosses as a value."""

    def __init__(self, is_value):
        self.is_value, self.objects = is_value, []

    def items(self, objects):
        """Adds OBJECTS, and returns how many they are."""
        if not _kinds(objects) <= _SIMPLE_IDS:
            _want(all(id(type(one)) in _SIMPLE_IDS or self.is_value(one) for one in objects))
        self.objects += objects
        return len(objects)

    def labels(self, labels):
        _want(all(_is_label(label, self.is_value) for label in labels))
        self.objects += labels
        return len(labels)

    def array(self, array, add=None):
        """Returns the structure of an array of numpy's or pandas', whose objects go to ADD."""
        pandas, numpy = load("pandas"), load("numpy")
        dtype = array.dtype
        if isinstance(dtype, numpy.dtype):
            if dtype.kind == "O":
                return ("objects", (add or self.items)(array.tolist()))
            return ("plain", *_flat(array))
        if isinstance(dtype, pandas.CategoricalDtype):
            codes = numpy.asarray(array.codes, CODES).tobytes()
            return ("category", bool(dtype.ordered), codes, self.index(dtype.categories))
        if isinstance(dtype, pandas.DatetimeTZDtype):
            return ("zone", _zone_text(dtype.tz), *_flat(numpy.asarray(array.tz_convert(None))))
        if isinstance(dtype, pandas.IntervalDtype):
            return ("interval", array.closed, self.index(array.left), self.index(array.right))
        if isinstance(dtype, pandas.PeriodDtype):
            return ("period", dtype.freq.freqstr, array.asi8.astype(CODES).tobytes())
        return self.extension(array, str(dtype))

    def extension(self, array, name):
        """The same for numbers and texts of which some are missing."""
        pandas, numpy = load("pandas"), load("numpy")
        missing = numpy.asarray(array.isna())
        if name in MASKED:
            kind = array.dtype.numpy_dtype
            return ("masked", name, array.to_numpy(kind, na_value=kind.type(0)).tobytes(), missing.tobytes())
        _want(name in TEXTS and pandas.array([], dtype=name).dtype == array.dtype)
        texts = [None if gone else text for text, gone in zip(array.tolist(), missing.tolist())]
        return ("texts", name, self.items(texts))

    def index(self, index):
        pandas, kind = load("pandas"), type(index).__name__
        names = self.labels(list(index.names))
        if type(index) is pandas.RangeIndex:
            return (kind, names, index.start, index.stop, index.step)
        if type(index) is pandas.MultiIndex:
            codes = tuple(load("numpy").asarray(one, CODES).tobytes() for one in index.codes)
            return (kind, names, tuple(self.index(level) for level in index.levels), codes)
        frequency = index.freqstr if kind in DATES else None
        return (kind, names, frequency, self.array(_array_of(index), self.labels))

    def series(self, series):
        _want(not series.attrs)
        return (self.labels([series.name]), self.index(series.index), self.array(_array_of(series)))

    def frame(self, frame):
        _want(not frame.attrs)
        columns, index = self.index(frame.columns), self.index(frame.index)
        arrays = tuple(self.array(_array_of(frame.iloc[:, place])) for place in range(len(frame.columns)))
        return (columns, index, arrays)


def _array_of(column):
    """Returns what a column or an index holds, as numpy has it if numpy has such a type."""
    return column.to_numpy() if isinstance(column.dtype, load("numpy").dtype) else column.array


def _flat(array):
    text = numpy_values.text_of(array.dtype)
    _want(text is not None and array.dtype.kind in "biufcmM")
    return text, array.tobytes()


def _is_zone(text):
    """Returns whether TEXT may name a time zone of the host, and no file elsewhere."""
    return type(text) is str and text[:1].isalpha() and not text.startswith("dateutil") and ZONE_LETTERS.issuperset(text)


def _name_of_zone(zone):
    return getattr(zone, "zone", None) or getattr(zone, "key", None) or str(zone)


def _zone_text(zone):
    """Returns the text for which pandas finds ZONE."""
    text = _name_of_zone(zone)
    _want(_is_zone(text))
    found = load("pandas").Timestamp(0, tz=text).tz
    _want(type(found) is type(zone) and _name_of_zone(found) == text)
    return text


class Making:
    """Makes one value of a structure and its OBJECTS, and believes nothing of either."""

    def __init__(self, is_value, objects):
        self.is_value, self.objects, self.place = is_value, objects, 0

    def take(self, count):
        need_integers((count,), 0, len(self.objects) - self.place)
        self.place += count
        return list(self.objects[self.place - count : self.place])

    def items(self, count):
        items = self.take(count)
        if not _kinds(items) <= _SIMPLE_IDS:
            need(all(id(type(one)) in _SIMPLE_IDS or self.is_value(one) for one in items))
        return items

    def labels(self, count):
        labels = self.take(count)
        need(all(_is_label(label, self.is_value) for label in labels))
        return labels

    def array(self, parts, take=None):
        """Returns an array of numpy's or pandas' with one dimension."""
        need(type(parts) is tuple and parts and type(parts[0]) is str)
        kind, *rest = parts
        if kind == "objects":
            (count,) = rest
            return numpy_values.of_objects((take or self.items)(count))
        return self.MAKERS[kind](self, *rest)

    def plain(self, text, data):
        return numpy_values.make_flat(text, data)

    def category(self, is_ordered, codes, categories):
        need(type(is_ordered) is bool)
        pandas = load("pandas")
        dtype = pandas.CategoricalDtype(self.index(categories), is_ordered)
        return pandas.Categorical.from_codes(numpy_values.make_flat(CODES, codes), dtype=dtype)

    def zone(self, text, *moments):
        need(_is_zone(text))
        moments = numpy_values.make_flat(*moments)
        need(moments.dtype.kind == "M")
        return load("pandas").DatetimeIndex(moments).tz_localize("UTC").tz_convert(text).array

    def interval(self, closed, left, right):
        need(type(closed) is str)
        return load("pandas").arrays.IntervalArray.from_arrays(self.index(left), self.index(right), closed)

    def period(self, frequency, data):
        need(_is_frequency(frequency))
        ordinals = numpy_values.make_flat(CODES, data)
        return load("pandas").arrays.PeriodArray(ordinals, dtype=f"period[{frequency}]")

    def masked(self, name, data, missing):
        need(type(name) is str and name in MASKED)
        pandas = load("pandas")
        kind = pandas.array([], dtype=name).dtype.numpy_dtype
        data, missing = numpy_values.make_flat(kind.str, data), numpy_values.make_flat("|b1", missing)
        need(len(data) == len(missing))
        array = pandas.array(data, dtype=name)
        array[missing] = pandas.NA
        return array

    def texts(self, name, count):
        need(type(name) is str and name in TEXTS)
        texts = self.items(count)
        need(all(type(text) in (str, type(None)) for text in texts))
        return load("pandas").array(texts, dtype=name)

    MAKERS = {"plain": plain, "category": category, "zone": zone, "interval": interval, "period": period,
              "masked": masked, "texts": texts}  # fmt: skip

    def index(self, parts):
        need(type(parts) is tuple and len(parts) > 2 and type(parts[0]) is str)
        pandas = load("pandas")
        kind, count, *rest = parts
        names = self.labels(count)
        if kind == "MultiIndex":
            return self.levels(names, *rest)
        (name,) = names
        if kind == "RangeIndex":
            need_integers(rest, -(1 << 63), (1 << 63) - 1)
            start, stop, step = rest
            return pandas.RangeIndex(start, stop, step, name=name)
        frequency, array = rest
        array = self.array(array, self.labels)
        if kind in DATES:
            need(frequency is None or _is_frequency(frequency))
            index = getattr(pandas, kind)(array, freq=frequency, name=name)
        else:
            need(frequency is None)
            index = pandas.Index(array, dtype=array.dtype, name=name, tupleize_cols=False)
        need(type(index).__name__ == kind and index.dtype == array.dtype)
        return index

    def levels(self, names, levels, codes):
        need(type(levels) is tuple and type(codes) is tuple and len(levels) == len(codes) == len(names) > 0)
        levels = [self.index(level) for level in levels]
        codes = [numpy_values.make_flat(CODES, one) for one in codes]
        return load("pandas").MultiIndex(levels, codes, names=names)  # which checks the codes

    def series(self, names, index, array):
        (name,) = self.labels(names)
        index, array = self.index(index), self.array(array)
        need(len(array) == len(index))
        return load("pandas").Series(array, index, array.dtype, name, copy=True)

    def frame(self, columns, index, arrays):
        pandas = load("pandas")
        columns, index = self.index(columns), self.index(index)
        need(type(arrays) is tuple and len(arrays) == len(columns))
        arrays = [self.array(array) for array in arrays]
        need(all(len(array) == len(index) for array in arrays))
        by_place = {place: pandas.Series(array, index, array.dtype) for place, array in enumerate(arrays)}
        frame = pandas.DataFrame(by_place, index, copy=True)
        frame.columns = columns
        return frame


def _take_moment(value):
    """Takes a Timestamp apart, or a Timedelta."""
    zone = getattr(value, "tz", None)
    if zone is not None:
        value = value.tz_convert(None)
    flat = _flat(value.to_numpy())
    return (*flat, zone and _zone_text(zone))


def _make_moment(of_class, parts):
    text, data, zone = parts
    (moment,) = numpy_values.make_flat(text, data)
    need(moment.dtype.kind == ("M" if name_of(of_class) == "Timestamp" else "m"))
    value = of_class(moment)
    need(value.to_numpy() == moment)  # not NaT, which is of another class
    if zone is None:
        return value
    need(_is_zone(zone))
    return value.tz_localize("UTC").tz_convert(zone)


def _is_frequency(text):
    return type(text) is str and len(text) <= FREQUENCY_MAX


def _take_period(value):
    return value.ordinal, value.freqstr


def _make_period(of_class, parts):
    ordinal, frequency = parts
    need_integers((ordinal,), -(1 << 62), 1 << 62)
    need(_is_frequency(frequency))
    return of_class(ordinal=ordinal, freq=frequency)


def _take_interval(value):
    return value.closed, value.left, value.right


def _make_interval(of_class, parts):
    closed, left, right = parts
    need(type(closed) is str and all(type(end) in (int, float) or row_name(type(end)) in MOMENTS for end in (left, right)))
    return of_class(left, right, closed)


def _take_offset(value):
    words = value.kwds
    fit = all(type(word) in (int, str) or (type(word).__module__, type(word).__name__) == ("datetime", "timedelta") for word in words.values())
    return (type(value).__name__, value.n, value.normalize, *(part for word in words.items() for part in word)) if fit else None


def _make_offset(_, parts):
    """Makes a step of a calendar, such as `MonthEnd(2)`."""
    name, count, normalizes, *words = parts
    need(type(name) is str and type(normalizes) is bool and all(type(word) is str for word in words[::2]))
    need_integers((count, *(word for word in words[1::2] if type(word) not in (str, load("datetime").timedelta))), -COUNT_MAX, COUNT_MAX)
    of_class = vars(load("pandas").offsets).get(name)
    need(_is_offset(of_class))
    value = of_class(count, normalizes, **dict(zip(words[::2], words[1::2], strict=True)))
    need(type(value) is of_class and _take_offset(value) == (*parts,))
    return value


def _is_offset(kind):
    """Returns whether a class is one of pandas' steps of a calendar, under its own name."""
    offsets = vars(vars(sys.modules["pandas"]).get("offsets", sys))
    base = offsets.get("BaseOffset")
    return base is not kind and kind is offsets.get(name_of(kind)) and any(one is base for one in mro_of(kind))


def _make_single(of_class, parts):
    need(not parts)
    return {type(value): value for value in (load("pandas").NaT, load("pandas").NA)}[of_class]


def rows_with(is_value):
    """Returns the rows for values.py, which tells by IS_VALUE whether an object crosses as a value."""

    def row(attribute, method):
        def take(value):
            taking = Taking(is_value)
            structure = getattr(taking, method)(value)
            return (structure, *taking.objects)

        def make(_, parts):
            return _made(method, Making(is_value, parts[1:]), parts[0])

        return ("pandas", attribute, take, make)

    return {
        "DataFrame": row("DataFrame", "frame"),
        "Series": row("Series", "series"),
        "Index": row("Index", "index"),
        **{name: ("pandas", name, _take_moment, _make_moment) for name in MOMENTS},
        **{name: ("pandas", _class_of_single(name), lambda _: (), _make_single) for name in SINGLES},
        "Interval": ("pandas", "Interval", _take_interval, _make_interval),
        "Period": ("pandas", "Period", _take_period, _make_period),
        "offset": ("pandas", lambda module: module.offsets.BaseOffset, _take_offset, _make_offset),
    }


def _made(method, making, structure):
    need(type(structure) is tuple)
    value = making.index(structure) if method == "index" else getattr(making, method)(*structure)
    need(making.place == len(making.objects))
    return value


def _class_of_single(name):
    return lambda module: type(vars(module)[name])


def row_name(kind):
    """Returns the name of the row for KIND, a class that claims to be one of pandas'; None if no row is for it."""
    if "pandas" not in sys.modules:
        return None
    names = vars(sys.modules["pandas"])
    for name in ("DataFrame", "Series", "Interval", "Period", *MOMENTS):
        if kind is names.get(name):
            return name
    for name in SINGLES:
        if name in names and kind is type(names[name]):
            return name
    return "Index" if is_index(kind, names) else "offset" if _is_offset(kind) else None


def is_index(kind, names):
    """Returns whether a class is one of pandas' indexes; NAMES are those of the package."""
    name = name_of(kind)
    if kind is names.get(name):
        return any(one is names.get("Index") for one in mro_of(kind))
    return name in NUMERIC and kind is vars(sys.modules.get("pandas.core.indexes.numeric", sys)).get(name)


def is_own(value, name):
    """Returns whether pandas has put an attribute of that name into a table."""
    return name.startswith("_") or name in type(value)._accessors
