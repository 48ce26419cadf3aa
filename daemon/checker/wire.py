# SPDX-License-Identifier: MIT
"""The format of what crosses the pipe between checker and candidate: plain data, and numbers for objects
that stay where they are.

A message is a table of nodes. So neither writing nor reading recurses, whatever the depth, and objects
that are shared or cyclic on one side are so on the other. The first nodes are the roots. A reader believes
nothing: it makes objects of exact built-in types only, checks every size and index, and raises WireError
for anything malformed. It never executes anything, and looks up no name that arrived but those of built-in
types and exceptions."""

import builtins
import math
import os
import sys
from _collections import OrderedDict, defaultdict, deque  # without the cost of importing collections

# Flags of an object that is not copied: its abilities. OBJECT: the tests define its class.
CALLABLE, ITERATOR, CLASS, EXCEPTION, OBJECT = 1, 2, 4, 8, 16
# Questions that are functions of `operator`, with two operands and with one.
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift",
          "rshift")  # fmt: skip
UNARY = ("neg", "pos", "abs", "invert")

MESSAGE_MAX = 16 << 20
NODES_MAX = 2 << 20
INTEGER_MAX = 1 << 20  # bytes


class WireError(Exception):
    """A received message is malformed, or a value to send does not fit into a message."""


# Built-in classes by name. No function is sent to the checker: some run text.
TYPES = {name: value for name, value in vars(builtins).items() if type(value) is type}
FUNCTIONS = {name: value for name, value in vars(builtins).items() if type(value) is type(len)}
DICTIONARY_VIEWS = {type({}.keys()): b"k", type({}.values()): b"v", type({}.items()): b"w"}
# The copy on one side of these follows changes of the copy on the other.
MUTABLE = {list: b"l", dict: b"D", set: b"S", bytearray: b"a", OrderedDict: b"O", defaultdict: b"f", deque: b"Q"}
MUTABLE_BY_TAG = {tag[0]: kind for kind, tag in MUTABLE.items()}


def is_counter(kind):
    collections = sys.modules.get("collections")
    return collections is not None and kind is collections.Counter


def _counter():
    from collections import Counter

    return Counter


def write_number(out, n):
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, n):
        end = self.at + n
        if end > len(self.data):
            raise WireError("it ends early")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def number(self):
        n = shift = 0
        while True:
            if self.at >= len(self.data) or shift > 56:
                raise WireError("a bad number")
            byte = self.data[self.at]
            self.at += 1
            n |= (byte & 0x7F) << shift
            if byte < 0x80:
                return n
            shift += 7

    def text(self):
        try:
            return str(self.take(self.number()), "utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise WireError("a bad string") from None


# --- writing --------------------------------------------------------------------------------------


class Writer:
    """Writes a message. ORIGINS maps the id() of an object to the node by which it came, so that the other
    side finds its own object again (Table.origins). EXPORT(writer, object) writes the node of an object
    that is not plain data."""

    def __init__(self, export, origins=None):
        self.out = bytearray()
        self.objects = []
        self.numbers = {}
        self.export = export
        self.origins = origins or {}

    def number_of(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.objects)
            self.objects.append(value)
            if number >= NODES_MAX:
                raise WireError("too many values")
        return number

    def children(self, values):
        out = self.out
        write_number(out, len(values))
        for value in values:
            write_number(out, self.number_of(value))

    def text(self, text):
        data = text.encode("utf-8", "surrogatepass")
        write_number(self.out, len(data))
        self.out += data

    def message(self, roots):
        self.children(list(roots))
        at = 0
        while at < len(self.objects):
            self.node(self.objects[at])
            at += 1
            if len(self.out) > MESSAGE_MAX:
                raise WireError("too much data")
        return bytes(self.out)

    def node(self, value):
        kind = type(value)
        write = SCALARS.get(kind)
        if write:
            write(self, value)
        elif kind in MUTABLE or is_counter(kind):
            self.out += MUTABLE.get(kind, b"C")
            self.origin(value)
            self.contents(kind, value)
        elif kind in DICTIONARY_VIEWS:
            self.out += DICTIONARY_VIEWS[kind]
            self.children([part for item in value for part in item] if kind is ITEMS else list(value))
        elif kind is type and TYPES.get(value.__name__) is value:
            self.built_in(value)
        else:
            self.export(self, value)

    def built_in(self, value):
        self.out += b"y"
        self.text(value.__name__)

    def origin(self, value):
        write_number(self.out, self.origins.get(id(value), -1) + 1)

    def contents(self, kind, value):
        if kind is bytearray:
            write_number(self.out, len(value))
            self.out += value
        elif kind in (list, set):
            self.children(list(value))
        elif kind is deque:
            write_number(self.out, 0 if value.maxlen is None else value.maxlen + 1)
            self.children(list(value))
        else:
            if kind is defaultdict:
                factory = value.default_factory
                known = type(factory) is type and TYPES.get(factory.__name__) is factory
                self.text(factory.__name__ if known else "")
            items = OrderedDict.items if kind is OrderedDict else dict.items
            self.children([part for item in items(value) for part in item])


ITEMS = type({}.items())


def _integer(writer, value):
    size = value.bit_length() // 8 + 1
    if size > INTEGER_MAX:
        raise WireError("too large an integer")
    writer.out += b"i"
    write_number(writer.out, size)
    writer.out += value.to_bytes(size, "little", signed=True)


def _float(writer, value):
    if value != value:
        # A NaN equals nothing, but a list finds it by identity.
        writer.out += b"q"
        write_number(writer.out, 1 if value is math.nan else 0)
        writer.origin(value)
        return
    writer.out += b"d"
    writer.text(value.hex())  # also writes infinities and -0.0


def _complex(writer, value):
    writer.out += b"c"
    writer.text(value.real.hex())
    writer.text(value.imag.hex())


def _string(writer, value):
    writer.out += b"s"
    writer.text(value)


def _bytes(writer, value):
    writer.out += b"b"
    write_number(writer.out, len(value))
    writer.out += value


def _constant(tag):
    def write(writer, value):
        if type(value) is bool:
            writer.out += b"T" if value else b"F"
        else:
            writer.out += tag

    return write


def _sequence(tag):
    def write(writer, value):
        writer.out += tag
        writer.children(list(value))

    return write


def _range(writer, value):
    writer.out += b"r"
    writer.children([value.start, value.stop, value.step])


def _slice(writer, value):
    writer.out += b"p"
    writer.children([value.start, value.stop, value.step])


SCALARS = {
    type(None): _constant(b"N"),
    bool: _constant(b""),
    type(...): _constant(b"E"),
    type(NotImplemented): _constant(b"X"),
    int: _integer,
    float: _float,
    complex: _complex,
    str: _string,
    bytes: _bytes,
    tuple: _sequence(b"t"),
    frozenset: _sequence(b"Z"),
    range: _range,
    slice: _slice,
}


# --- reading --------------------------------------------------------------------------------------


class Table:
    """A message that was read: ROOTS, and OBJECTS by node. ORIGINALS are the objects that the nodes of an
    earlier message stand for; what comes back for them is put into them. RESOLVE(tag, reader, table)
    returns the object for a node that is not plain data, and may use put_off() and fill_later()."""

    def __init__(self, data, resolve, originals=()):
        reader = Reader(data)
        self.resolve = resolve
        self.originals = originals
        root_numbers = self.read_children(reader)
        self.objects = []
        self.identities = []  # nodes of objects that have an identity
        self.states, self.fills = [], []  # what may contain itself: objects first, then containers
        self.pending = {}  # what can only be made once its parts exist
        while reader.at < len(data):
            if len(self.objects) >= NODES_MAX:
                raise WireError("too many values")
            self.objects.append(self.read_node(reader))
        self.build()
        self.roots = [self.objects[number] for number in self.checked(root_numbers)]

    def origins(self):
        """Returns the ORIGINS for a Writer that answers this message."""
        return {id(self.objects[number]): number for number in self.identities}

    @staticmethod
    def read_children(reader):
        count = reader.number()
        if count > len(reader.data) - reader.at:
            raise WireError("a bad count")
        return [reader.number() for _ in range(count)]

    def checked(self, numbers):
        for number in numbers:
            if number >= len(self.objects):
                raise WireError("a bad index")
        return numbers

    def read_node(self, reader):
        tag = reader.take(1)[0]
        if tag in MUTABLE_BY_TAG:
            return self.read_mutable(reader, MUTABLE_BY_TAG[tag])
        if tag == 67:  # C
            return self.read_mutable(reader, _counter())
        if tag in CONSTANTS:
            return CONSTANTS[tag]
        if tag == 105:  # i
            size = reader.number()
            if size > INTEGER_MAX:
                raise WireError("too large an integer")
            return int.from_bytes(reader.take(size), "little", signed=True)
        if tag == 115:  # s
            return reader.text()
        if tag == 100:  # d
            return self.read_float(reader)
        if tag == 99:  # c
            return complex(self.read_float(reader), self.read_float(reader))
        if tag == 98:  # b
            return bytes(reader.take(reader.number()))
        if tag == 121:  # y
            name = reader.text()
            if name not in TYPES:
                raise WireError("not a built-in type")
            return TYPES[name]
        if tag == 113:  # q
            return self.read_nan(reader)
        if tag in MADE_OF:
            return self.put_off(MADE_OF[tag], reader)
        return self.resolve(tag, reader, self)

    def put_off(self, make, reader):
        """Makes the current node later, as MAKE(parts), of the parts that READER yields now."""
        self.pending[len(self.objects)] = (make, self.read_children(reader))

    def fill_later(self, value, fill, reader, is_state=False):
        """Calls FILL(VALUE, parts) once all parts exist; states first, since containers may need their
        hash."""
        into = self.states if is_state else self.fills
        into.append((value, fill, self.read_children(reader)))

    def read_original(self, reader, kind):
        """Returns the object that came back, if it is exactly of KIND; else None."""
        self.identities.append(len(self.objects))
        origin = reader.number()
        value = self.originals[origin - 1] if 0 < origin <= len(self.originals) else None
        return value if type(value) is kind else None

    def read_nan(self, reader):
        known = reader.number()
        value = self.read_original(reader, float)
        if known == 1:
            return math.nan
        return float("nan") if value is None or value == value else value

    @staticmethod
    def read_float(reader):
        try:
            return float.fromhex(reader.text())
        except (ValueError, OverflowError):
            raise WireError("a bad float") from None

    def read_mutable(self, reader, kind):
        value = self.read_original(reader, kind)
        if kind is bytearray:
            data = bytes(reader.take(reader.number()))
            value = bytearray() if value is None else value
            value[:] = data
            return value
        extra = None
        if kind is deque:
            extra = reader.number()
        elif kind is defaultdict:
            extra = TYPES.get(reader.text())
        if value is None:
            value = deque(maxlen=extra - 1) if kind is deque and extra else kind()
            if kind is defaultdict:
                value.default_factory = extra
        self.fill_later(value, FILLS.get(kind, _fill_dictionary), reader)
        return value

    def build(self):
        for number in list(self.pending):
            self.make(number)
        for value, fill, numbers in self.states + self.fills:
            parts = [self.objects[n] for n in self.checked(numbers)]
            try:
                fill(value, parts)
            except WireError:
                raise
            except Exception:  # also from a test class whose __hash__ met something unexpected
                raise WireError("a key that cannot be one") from None

    def make(self, number):
        """Makes the node NUMBER, its parts first, without recursing."""
        stack, begun = [number], set()
        while stack:
            top = stack[-1]
            if top not in self.pending:
                stack.pop()
                continue
            make, numbers = self.pending[top]
            missing = [n for n in self.checked(numbers) if n in self.pending]
            if not missing:
                del self.pending[top]
                self.objects[top] = self.made(make, [self.objects[n] for n in numbers])
                stack.pop()
            elif top in begun:
                raise WireError("a value that is part of itself")
            else:
                begun.add(top)
                stack.extend(missing)

    @staticmethod
    def made(make, parts):
        try:
            return make(parts)
        except WireError:
            raise
        except Exception:
            raise WireError("parts that do not fit") from None


def _fill_list(value, parts):
    value[:] = parts


def _fill_set(value, parts):
    value.clear()
    value.update(parts)


def _fill_deque(value, parts):
    value.clear()
    value.extend(parts)


def _fill_dictionary(value, parts):
    if len(parts) % 2:
        raise WireError("a key without a value")
    value.clear()
    # An OrderedDict keeps its own order; a Counter's update() would add.
    update = OrderedDict.update if type(value) is OrderedDict else dict.update
    update(value, zip(parts[::2], parts[1::2]))


FILLS = {list: _fill_list, set: _fill_set, deque: _fill_deque}


def _make_range(parts):
    if len(parts) != 3 or not all(type(part) is int for part in parts):
        raise TypeError
    return range(*parts)


def _make_slice(parts):
    if len(parts) != 3:
        raise TypeError
    return slice(*parts)


CONSTANTS = {78: None, 84: True, 70: False, 69: ..., 88: NotImplemented}  # N T F E X
MADE_OF = {
    ord("t"): tuple,
    ord("Z"): frozenset,
    ord("r"): _make_range,
    ord("p"): _make_slice,
    ord("k"): lambda parts: dict.fromkeys(parts).keys(),
    ord("v"): lambda parts: dict(enumerate(parts)).values(),
    ord("w"): lambda parts: dict(zip(parts[::2], parts[1::2], strict=True)).items(),
}


# --- messages on a pipe ---------------------------------------------------------------------------


def send(fd, data):
    if len(data) > MESSAGE_MAX:
        raise WireError("too much data")
    view = memoryview(len(data).to_bytes(4, "big") + data)
    while view:
        view = view[os.write(fd, view) :]


def receive(fd):
    """Returns the next message. Raises EOFError at the end, even in the middle of a message."""
    size = int.from_bytes(_read(fd, 4), "big")
    if size > MESSAGE_MAX:
        raise WireError("too much data")
    return _read(fd, size)


def _read(fd, size):
    parts, left = [], size
    while left > 0:
        part = os.read(fd, min(left, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
