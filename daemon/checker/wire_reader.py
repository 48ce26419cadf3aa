# SPDX-License-Identifier: MIT
"""Reads messages (wire.py), and believes nothing: every part is checked before it is used, or WireError says that
it is not what the writer writes."""

import math
from itertools import repeat

import values
from sharing import CONTAINER_BY_TAG, FactoryContainer, fill_dictionary, fill_set
from wire import INTEGER_MAX, NODES_MAX, TYPES, Reader, WireError, dictionary_of, integer_of, need_different, unpack_float

# Of values within values that cannot change: to hash or to free one takes C's stack for each.
DEPTH_MAX = 1 << 14


class Table:
    """A message that was read: ROOTS, and OBJECTS by node. SPACE.resolve(tag, reader, table) returns the
    object for a node that is neither plain data nor a container, and may use put_off() and
    fill_later()."""

    def __init__(self, data, space):
        reader = Reader(data)
        self.space = space
        self.sharing = space.sharing
        self.objects = []
        self.fills = []  # containers may contain themselves: objects first, then what they hold
        self.late = []  # the same for containers that are themselves made of parts: by node
        self.pending = {}  # what can only be made once its parts exist
        self.brought = {}  # containers whose contents this message brings: by number, node and codec
        self.depths = {}  # of what is made of parts: how deep these are nested, by node
        root_numbers = reader.children()
        changed = reader.children()
        dropped = reader.children()
        size = len(data)
        objects = self.objects
        while reader.at < size:
            if len(objects) >= NODES_MAX:
                raise WireError("too many values")
            tag = data[reader.at]
            reader.at += 1
            read = READERS.get(tag)
            objects.append(self.read_node(tag, reader) if read is None else read(reader))
        self.build()
        self.checked(changed)
        self.roots = [self.objects[number] for number in self.checked(root_numbers)]
        for number in dropped:
            self.sharing.forget(number)

    def checked(self, numbers):
        for number in numbers:
            if number >= len(self.objects):
                raise WireError("a bad index")
        return numbers

    def read_node(self, tag, reader):
        """Returns the object for a node whose TAG is none of READERS."""
        if tag in CONTAINER_BY_TAG:
            return self.read_container(reader, CONTAINER_BY_TAG[tag])
        if tag == 82:  # R
            entry = self.sharing.by_number.get(reader.number())
            if entry is None:
                raise WireError("an unknown container")
            return entry.value
        if tag == 121:  # y
            return self.space.built_in(_read_type(reader))
        if tag == 113:  # q
            number = reader.number()
            return math.nan if number == 0 else self.space.nan(number - 1, _read_packed_float(reader))
        if tag in MADE_OF:
            return self.put_off(MADE_OF[tag], reader)
        if tag == 86:  # V
            name = reader.text()
            if name in values.MUTABLE_NAMES:
                raise WireError("a container without a number")
            return self.put_off(lambda parts: values.make(name, tuple(parts)), reader)
        return self.space.resolve(tag, reader, self)

    def put_off(self, make, reader):
        """Makes the current node later, as MAKE(parts), of the parts that READER yields now."""
        self.pending[len(self.objects)] = (make, reader.children())

    def fill_later(self, value, fill, reader):
        """Calls FILL(VALUE, parts) once all parts exist."""
        self.fills.append((value, fill, reader.children()))

    def read_container(self, reader, codec):
        return self.take_container(reader, reader.number(), codec)

    def take_container(self, reader, number, codec):
        entry = self.sharing.by_number.get(number)
        if entry is not None and entry.codec is not codec:
            raise WireError("a container changes its type")
        value = entry.value if entry is not None else codec.make(reader)
        self.bring(len(self.objects), number, codec)
        codec.read(reader, self, value)
        return value

    def bring(self, node, number, codec):
        """Notes that the message brings the contents of a container. There is one container of a number, and one
        content of it: two nodes would make two objects of different types."""
        if number in self.brought:
            raise WireError("a container twice")
        self.brought[number] = node, codec

    def build(self):
        # What stands first is mostly made of what follows.
        for number in reversed(self.pending.copy()):
            self.make(number)
        self.fills += [(self.objects[node], fill, numbers) for node, fill, numbers in self.late]
        # Dictionaries and sets last: hashes may need what the others hold.
        for hashed in (False, True):
            for value, fill, numbers in self.fills:
                if (fill in (fill_dictionary, fill_set, FactoryContainer.refill)) is hashed:
                    self.fill(value, fill, numbers)
        for number, (node, codec) in self.brought.items():
            entry = self.sharing.by_number.get(number)
            if entry is None:
                entry = self.sharing.enter_theirs(self.objects[node], number, codec)
            entry.seen = codec.flat(entry.value)

    def fill(self, value, fill, numbers):
        objects = self.objects
        try:
            fill(value, [objects[n] for n in numbers])
        except WireError:
            raise
        except IndexError:
            raise WireError("a bad index") from None
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
                depth = self.depths[top] = 1 + max(map(self.depths.get, numbers, repeat(0)), default=0)
                if depth > DEPTH_MAX:
                    raise WireError("values nested too deeply")
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


def _make_range(parts):
    if len(parts) != 3 or not all(type(part) is int for part in parts):
        raise TypeError
    return range(*parts)


def _make_slice(parts):
    if len(parts) != 3:
        raise TypeError
    return slice(*parts)


def _read_integer(reader):
    size = reader.number()
    if size > INTEGER_MAX:
        raise WireError("too large an integer")
    return integer_of(reader.take(size))


def _read_float(reader):
    text = reader.text()
    try:
        value = float.fromhex(text)
    except (ValueError, OverflowError):
        raise WireError("a bad float") from None
    if value != value or value.hex() != text:  # a NaN has a node of its own
        raise WireError("a bad float")
    return value


def _read_packed_float(reader):
    return unpack_float(reader.take(8))[0]


def _read_type(reader):
    name = reader.text()
    if name not in TYPES:
        raise WireError("not a built-in type")
    return TYPES[name]


def _make_frozenset(parts):
    made = frozenset(parts)
    need_different(made, parts)
    return made


def _make_keys(parts):
    made = dict.fromkeys(parts)
    need_different(made, parts)
    return made.keys()


READERS = {
    78: lambda reader: None,  # N
    84: lambda reader: True,  # T
    70: lambda reader: False,  # F
    69: lambda reader: ...,  # E
    88: lambda reader: NotImplemented,  # X
    105: _read_integer,  # i
    115: Reader.text,  # s
    100: _read_float,  # d
    99: lambda reader: complex(_read_packed_float(reader), _read_packed_float(reader)),  # c
    98: lambda reader: bytes(reader.take(reader.number())),  # b
    80: lambda reader: tuple(reader.packed()),  # P
}
MADE_OF = {
    ord("t"): tuple,
    ord("Z"): _make_frozenset,
    ord("r"): _make_range,
    ord("p"): _make_slice,
    ord("k"): _make_keys,
    ord("v"): lambda parts: dict(enumerate(parts)).values(),
    ord("w"): lambda parts: dictionary_of(parts).items(),
}
