# SPDX-License-Identifier: MIT
"""Packs long sequences of plain values of one type into one piece, at the speed of C.

It packs ints of 64 bits, floats, bools, strings and bytes of exactly these types, and tuples of up to 8 of
these, in columns. It packs no list in a list, since each has an identity, and no NaN, for the same reason.
unpack() believes nothing: it returns what pack() could have been given, of exact types, or raises ValueError;
it takes at most AMPLIFICATION bytes for each byte of data."""

from _operator import is_not, itemgetter, ne
from itertools import accumulate, repeat

from trusted import need

COUNT_MIN = 16  # shorter sequences gain nothing
WIDTH_MAX = 8
AMPLIFICATION = 64
SEPARATORS = "\0\n\x1f"
# An unsigned byte is an int that Python has ready, so that one byte of data costs no object.
WIDTHS = {"B": (0, 1 << 8)}
WIDTHS.update((code, (-1 << bits, 1 << bits)) for code, bits in (("h", 15), ("i", 31), ("q", 63)))


def _array(code, values=()):
    from array import array  # most jobs need it not

    return array(code, values)


def _pack_integers(values):
    sample = (*values[:COUNT_MIN], values[-1])
    for code, (low, above) in WIDTHS.items():
        if all(low <= value < above for value in sample):
            try:
                return code.encode() + _array(code, values).tobytes()
            except OverflowError:
                continue  # the others are larger than the sample
    return None


def _pack_floats(values):
    total = sum(values)  # a NaN if there is one, or if there are both infinities
    if total != total and any(map(ne, values, values)):
        return None
    return b"d" + _array("d", values).tobytes()


def _pack_bools(values):
    return b"T" + bytes(values)


def _pack_texts(values, tag, encode):
    empty = values[0][:0]
    for separator in SEPARATORS:
        mark = encode(separator) if type(empty) is bytes else separator
        text = mark.join(values)
        if text.count(mark) == len(values) - 1:
            return tag + separator.encode() + encode(text)
    lengths = _array("I", map(len, values)).tobytes()
    return tag.upper() + len(values).to_bytes(4, "little") + lengths + encode(empty.join(values))


def _encode(text):
    return text.encode("utf-8", "surrogatepass")


def _pack_strings(values):
    return _pack_texts(values, b"s", _encode)


def _pack_bytes(values):
    return _pack_texts(values, b"y", lambda text: text.encode() if type(text) is str else text)


def _pack_tuples(values):
    width = len(values[0])
    if not 2 <= width <= WIDTH_MAX or any(map(is_not, map(len, values), repeat(width))):
        return None
    packed = b"t" + bytes((width,))
    for i in range(width):
        column = _pack_column(list(map(itemgetter(i), values)))
        if column is None:
            return None
        packed += len(column).to_bytes(4, "little") + column
    return packed


_PACKERS = {int: _pack_integers, float: _pack_floats, bool: _pack_bools, str: _pack_strings,
            bytes: _pack_bytes}  # fmt: skip
_PACKERS = {id(kind): pack for kind, pack in _PACKERS.items()}


def _is_homogeneous(values):
    # Not by a set of types: a metaclass may define hash.
    return not any(map(is_not, map(type, values), repeat(type(values[0]))))


def _pack_column(values):
    pack_them = _PACKERS.get(id(type(values[0])))
    return pack_them(values) if pack_them and _is_homogeneous(values) else None


def pack(values):
    """Returns a list or a tuple as bytes, for unpack(); None if it is not of that kind."""
    if len(values) < COUNT_MIN:
        return None
    if type(values[0]) is tuple:
        return _pack_tuples(values) if _is_homogeneous(values) else None
    return _pack_column(values)


# --- and back -------------------------------------------------------------------------------------


def _unpack_numbers(code, data):
    numbers = _array(code)
    numbers.frombytes(data)
    values = numbers.tolist()
    if code == "d":
        total = sum(values)
        need(total == total or not any(map(ne, values, values)))
    return values


def _unpack_bools(data):
    need(not data.translate(None, b"\0\1"))
    return list(map(bool, data))


def _decode(data):
    return str(data, "utf-8", "surrogatepass")


def _unpack_texts(tag, data):
    decode = _decode if tag in b"sS" else bytes
    if tag in b"sy":
        mark = decode(data[:1])
        need(data and data[0] < 0x80)
        return decode(data[1:]).split(mark)
    count = int.from_bytes(data[:4], "little")
    need(len(data) >= 4 + 4 * count)
    lengths = _array("I")
    lengths.frombytes(data[4 : 4 + 4 * count])
    text = decode(data[4 + 4 * count :])
    ends = list(accumulate(lengths))
    need(count and ends[-1] == len(text))
    return list(map(text.__getitem__, map(slice, [0, *ends[:-1]], ends)))


def _unpack_tuples(data):
    need(data)
    width, at, columns = data[0], 1, []
    need(2 <= width <= WIDTH_MAX)
    for _ in range(width):
        size = int.from_bytes(data[at : at + 4], "little")
        at += 4
        need(0 < size <= len(data) - at)
        columns.append(_unpack_column(data[at : at + size]))
        at += size
    need(at == len(data))
    return list(zip(*columns, strict=True))


def _unpack_column(data):
    tag, data = data[0], data[1:]
    if tag in b"Bhiqd":
        return _unpack_numbers(chr(tag), data)
    if tag == ord("T"):
        return _unpack_bools(data)
    need(tag in b"sSyY")
    return _unpack_texts(tag, data)


def unpack(data):
    """Returns what was packed, as a list. Raises ValueError if DATA is not what pack() has made."""
    need(type(data) is bytes and data)
    values = _unpack_tuples(data[1:]) if data[0] == ord("t") else _unpack_column(data)
    need(len(values) >= COUNT_MIN)
    return values
