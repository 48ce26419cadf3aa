# SPDX-License-Identifier: MIT
"""Takes numbers, texts, arrays and types of numpy apart, and makes them again: see values.py.

The items of an array are plain bytes, fields of such in structures without padding, or objects that are
plain data of Python."""

import sys

from trusted import load, mro_of, name_of, need, need_integers

EMPTY_ITEM_MAX = 1 << 16  # numpy allocates room for one item in an array without any
TEXT_MAX = 24  # numpy reads lists of types, too, however long
OBJECTS, RECORDS = "objects", "records"  # in the place of a type
PLAIN = (type(None), bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset)
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement


def text_of(dtype):
    """Returns the text that stands for a type; None if it has none."""
    if dtype.kind not in "biufcmMSU" or not dtype.itemsize:
        return None
    if load("numpy").dtype(dtype.str).char == dtype.char:
        return dtype.str
    return dtype.char if dtype.isnative else dtype.byteorder + dtype.char  # two types of C have one size


def _dtype(text):
    need(type(text) is str and len(text) <= TEXT_MAX)
    dtype = load("numpy").dtype(text)
    need(text_of(dtype) == text)  # not any of the other things that numpy reads
    return dtype


def _take_dtype(value):
    text = text_of(value)
    return text and (text,)


def _make_dtype(_, parts):
    (text,) = parts
    return _dtype(text)


def _items(dtype, data):
    """Returns DATA as an array that cannot be written to."""
    numpy = load("numpy")
    if dtype.kind == "b":
        need(not data.translate(None, b"\0\1"))
    if dtype.kind == "U":
        codes = numpy.frombuffer(data, dtype.byteorder.replace("=", "") + "u4")
        need(codes.max() <= sys.maxunicode)
    return numpy.frombuffer(data, dtype)


def make_flat(text, data):
    """Returns an array of one dimension. Raises ValueError as make() of values.py does."""
    dtype = _dtype(text)
    need(type(data) is bytes and (data or dtype.itemsize <= EMPTY_ITEM_MAX))
    return _items(dtype, data).copy() if data else load("numpy").empty(0, dtype)


def _take_number(value):
    text = text_of(value.dtype)
    return text and (text, value.tobytes())


def _make_number(_, parts):
    text, data = parts
    dtype = _dtype(text)
    need(dtype.kind not in "SU" and dtype.isnative and type(data) is bytes and len(data) == dtype.itemsize)
    return _items(dtype, data)[0]


def _take_str(value):
    return (str.__str__(value),)  # an array would drop zeros at the end


def _take_bytes(value):
    return (bytes.__getitem__(value, slice(None)),)


def _make_text(of_class, parts):
    (text,) = parts
    need(type(text) is (str if issubclass(of_class, str) else bytes))
    return of_class(text)


def _take_array(value):
    if value.dtype.kind == "O":
        return _take_objects(value)
    if value.dtype.names:
        return _take_records(value)
    text = text_of(value.dtype)
    if text is None or not value.size and value.itemsize > EMPTY_ITEM_MAX:
        return None
    return (text, value.tobytes(), value.flags.writeable, *value.shape)


def _make_array(_, parts):
    if _is_of_parts(parts):
        return (_make_objects if parts[0] == OBJECTS else _make_records)(parts)
    text, data, may_write, *shape = parts
    dtype = _dtype(text)
    need(type(data) is bytes and type(may_write) is bool)
    need_integers(shape, 0)
    if data:
        value = _items(dtype, data).reshape(shape).copy()
    else:
        need(0 in shape and dtype.itemsize <= EMPTY_ITEM_MAX)
        value = load("numpy").empty(shape, dtype)
    value.flags.writeable = may_write
    return value


def _is_of_parts(parts):
    return bool(parts) and type(parts[0]) is str and parts[0] in (OBJECTS, RECORDS)


def _is_plain(value):
    return any(type(value) is kind for kind in PLAIN)


def of_objects(items):
    """Returns an array of one dimension that has ITEMS as they are."""
    array = load("numpy").empty(len(items), object)
    for number, item in enumerate(items):  # else a list would become many items
        array[number] = item
    return array


def _take_objects(value):
    items = value.ravel().tolist()
    if not all(map(_is_plain, items)):
        return None
    return (OBJECTS, value.ndim, value.flags.writeable, *value.shape, *items)


def _make_objects(parts):
    _, dimensions, may_write, *rest = parts
    need_integers((dimensions,), 0, len(rest))
    shape, items = rest[:dimensions], rest[dimensions:]
    need_integers(shape, 0)
    need(type(may_write) is bool and all(map(_is_plain, items)))
    value = of_objects(items).reshape(shape)
    value.flags.writeable = may_write
    return value


def _take_records(value):
    names = value.dtype.names
    texts = tuple(text_of(value.dtype.fields[name][0]) for name in names)
    if None in texts or load("numpy").dtype(list(zip(names, texts))) != value.dtype:
        return None
    if not value.size and value.itemsize > EMPTY_ITEM_MAX:
        return None
    fields = (value[name].tobytes() for name in names)
    return (RECORDS, names, texts, value.flags.writeable, value.ndim, *value.shape, *fields)


def _make_records(parts):
    _, names, texts, may_write, dimensions, *rest = parts
    need(type(names) is tuple and type(texts) is tuple and len(names) == len(texts) > 0)
    need(all(type(name) is str for name in names) and type(may_write) is bool)
    need_integers((dimensions,), 0, len(rest))
    shape, fields = rest[:dimensions], rest[dimensions:]
    need_integers(shape, 0)
    need(len(fields) == len(names) and all(type(data) is bytes for data in fields))
    types = [_dtype(text) for text in texts]
    dtype = load("numpy").dtype(list(zip(names, types)))
    if 0 in shape:
        need(not any(fields) and dtype.itemsize <= EMPTY_ITEM_MAX)
        value = load("numpy").empty(shape, dtype)
    else:
        columns = [_items(one, data).reshape(shape) for one, data in zip(types, fields)]
        value = load("numpy").empty(shape, dtype)
        for name, column in zip(names, columns):
            value[name] = column
    value.flags.writeable = may_write
    return value


def fill_array(value, parts):
    new = _make_array(None, parts)
    need(value.dtype == new.dtype and text_of(value.dtype) == text_of(new.dtype))
    if value.shape != new.shape:
        value.shape = new.shape
    if new.flags.writeable and not value.flags.writeable:
        value.flags.writeable = True
    # One that cannot be written to may still be the same.
    if _is_of_parts(parts) and value.flags.writeable or value.tobytes() != new.tobytes():
        value[...] = new
    if not new.flags.writeable:
        value.flags.writeable = False


# By name: module, the class in it, and how to take apart and to make.
ROWS = {
    "dtype": ("numpy", "dtype", _take_dtype, _make_dtype),
    "number": ("numpy", "generic", _take_number, _make_number),
    "str_": ("numpy", "str_", _take_str, _make_text),
    "bytes_": ("numpy", "bytes_", _take_bytes, _make_text),
    "ndarray": ("numpy", "ndarray", _take_array, _make_array),
}


def row_name(kind):
    """Returns the name of the row of a class that says it is numpy's; None if there is none."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if kind is numpy.ndarray:
        return "ndarray"
    mro = mro_of(kind)
    if any(one is numpy.dtype for one in mro):
        return "dtype"
    if kind.__flags__ & HEAP_TYPE or not any(one is numpy.generic for one in mro):
        return None
    return name_of(kind) if name_of(kind) in ("str_", "bytes_") else "number"
