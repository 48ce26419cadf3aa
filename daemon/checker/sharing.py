# SPDX-License-Identifier: MIT
"""The mutable containers that judge and candidate both have: how those of each type are compared, written and
filled, and which ones there are (class Sharing)."""

import sys
from _collections import OrderedDict, defaultdict, deque  # without the cost of importing collections
from _operator import is_

import bulk
import values
from wire import WireError, need_different, write_number


class Container:
    """How containers of one type are compared, written and filled. `flat` lists what a container holds:
    two lists with the same objects mean that nothing has changed."""

    def __init__(self, kind, flat, fill):
        self.kind, self.flat, self.fill = kind, flat, fill

    def write(self, writer, value):
        writer.children(self.flat(value))

    def make(self, reader):
        return self.kind()

    def read(self, reader, table, value):
        table.fill_later(value, self.fill, reader)


class ListContainer(Container):
    def write(self, writer, value):
        packed = bulk.pack(value) if len(value) >= bulk.COUNT_MIN else None
        writer.out.append(packed is not None)
        if packed is None:
            writer.children(value)
        else:
            writer.bytes(packed)

    def read(self, reader, table, value):
        is_packed = reader.number()
        if is_packed > 1:
            raise WireError("a bad list")
        if is_packed:
            value[:] = reader.packed()
        else:
            table.fill_later(value, self.fill, reader)


def in_order(space, values):
    """Returns the values of a set in an order that is the same in each process that a transcript must be the
    same in: some hashes are addresses."""
    values = list(values)
    events = getattr(space, "transcript", None)
    if events is None or len(values) < 2 or all(type(value) in HASHED_BY_VALUE for value in values):
        return values
    try:
        return sorted(values, key=_place)
    except (TypeError, RecursionError):
        events.refuse("a set of objects is part of a message: its order is that of addresses")
        return values


HASHED_BY_VALUE = frozenset((int, str, bytes, bool))


def _place(value):
    if type(value) in (tuple, frozenset):
        parts = list(map(_place, value))
        return f"{type(value).__name__} {sorted(parts) if type(value) is frozenset else parts}"
    if type(value) in (*HASHED_BY_VALUE, float, complex, type(None), range):
        return f"{type(value).__name__} {value!r}"
    raise TypeError


class SetContainer(Container):
    def write(self, writer, value):
        writer.children(in_order(writer.space, value))


class BytesContainer(Container):
    def write(self, writer, value):
        writer.bytes(value)

    def read(self, reader, table, value):
        try:
            value[:] = bytes(reader.take(reader.number()))
        except BufferError:
            raise WireError("a bytearray that a memoryview shows changes its length") from None


class DequeContainer(Container):
    def write(self, writer, value):
        write_number(writer.out, 0 if value.maxlen is None else value.maxlen + 1)
        writer.children(value)

    def make(self, reader):
        return deque(maxlen=self.most(reader.ahead()))

    @staticmethod
    def most(reader):
        number = reader.number()
        return number - 1 if number else None

    def read(self, reader, table, value):
        if self.most(reader) != value.maxlen:
            raise WireError("a deque of another length")
        table.fill_later(value, self.fill, reader)


class FactoryContainer(Container):
    """A defaultdict: the factory is its first part."""

    def __init__(self):
        super().__init__(defaultdict, self.parts, self.refill)

    @staticmethod
    def parts(value):
        return [value.default_factory, *dict.keys(value), *dict.values(value)]

    @staticmethod
    def refill(value, parts):
        if not parts or parts[0] is not None and not callable(parts[0]):
            raise WireError("no factory")
        factory = parts[0]
        value.default_factory = factory
        fill_dictionary(value, parts[1:])


def _dictionary_parts(value):
    return [*dict.keys(value), *dict.values(value)]


def _ordered_parts(value):  # an OrderedDict has an order of its own
    return [*OrderedDict.keys(value), *OrderedDict.values(value)]


def fill_dictionary(value, parts):
    half, odd = divmod(len(parts), 2)
    if odd:
        raise WireError("a key without a value")
    type(value).clear(value)
    # A Counter's update() would add.
    update = OrderedDict.update if isinstance(value, OrderedDict) else dict.update
    update(value, zip(parts[:half], parts[half:]))
    need_different(value, parts[:half])


def _fill_list(value, parts):
    value[:] = parts


def fill_set(value, parts):
    value.clear()
    value.update(parts)
    need_different(value, parts)


def _fill_deque(value, parts):
    if value.maxlen is not None and len(parts) > value.maxlen:
        raise WireError("too many items for a deque")
    value.clear()
    value.extend(parts)


class Counter(Container):
    """collections is imported when a Counter first crosses."""

    def __init__(self):
        super().__init__(None, _dictionary_parts, fill_dictionary)

    def make(self, reader):
        from collections import Counter as counter

        return counter()


class ValueContainer(Container):
    """The mutable values of the library: array, SimpleNamespace, numpy's arrays."""

    def __init__(self):
        super().__init__(None, self.parts, None)

    @staticmethod
    def parts(value):
        found = values.describe(value)
        if found is None:  # somebody has changed more of it than its parts
            raise WireError("a value that can no longer be taken apart")
        return found[1]

    def write(self, writer, value):
        name, parts = values.describe(value)
        writer.text(name)
        writer.children(parts)

    def make(self, reader):
        name = reader.ahead().text()
        try:
            return values.make(name, ()) if name in values.FILLED_LATER else None
        except ValueError as error:
            raise WireError(f"{error}") from None

    def read(self, reader, table, value):
        name = reader.text()
        if name not in values.MUTABLE_NAMES:
            raise WireError("an unknown container")
        if value is not None and values.name_of_value(value) != name:
            raise WireError("a container changes its type")
        if name in values.FILLED_LATER:
            table.fill_later(value, values.refresh, reader)
            return
        number = len(table.objects)

        def make(parts):
            try:
                if value is None:
                    return values.make(name, parts)
                values.refresh(value, parts)
                return value
            except ValueError as error:
                raise WireError(f"{error}") from None

        table.pending[number] = (make, reader.children())


CONTAINERS = {
    id(list): b"l",
    id(dict): b"D",
    id(set): b"S",
    id(bytearray): b"a",
    id(OrderedDict): b"O",
    id(defaultdict): b"f",
    id(deque): b"Q",
}
CONTAINER_BY_TAG = {
    b"l"[0]: ListContainer(list, list, _fill_list),
    b"D"[0]: Container(dict, _dictionary_parts, fill_dictionary),
    b"S"[0]: SetContainer(set, list, fill_set),
    b"a"[0]: BytesContainer(bytearray, bytes, None),
    b"O"[0]: Container(OrderedDict, _ordered_parts, fill_dictionary),
    b"f"[0]: FactoryContainer(),
    b"Q"[0]: DequeContainer(deque, list, _fill_deque),
    b"C"[0]: Counter(),
    b"A"[0]: ValueContainer(),
}


def container_tag(kind):
    """Returns the tag of containers of exactly this class; None if it is no container."""
    tag = CONTAINERS.get(id(kind))
    if tag is None:
        collections = sys.modules.get("collections")
        if collections is not None and kind is collections.Counter:
            return b"C"
    return tag


def is_same(before, now):
    """Compares two results of Container.flat."""
    if type(now) is bytes:
        return before == now
    if len(before) != len(now):
        return False
    if type(now) is list:
        return all(map(is_, before, now))
    return all(a is b or type(a) is type(b) in (bytes, str, int, tuple) and a == b for a, b in zip(before, now))


class Entry:
    """A container that both sides have. `seen` is what it held when it last crossed."""

    __slots__ = ("value", "number", "codec", "seen")

    def __init__(self, value, number, codec):
        self.value, self.number, self.codec, self.seen = value, number, codec, None


HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
# References to a container that nothing but an Entry refers to, as sys.getrefcount() counts them.
UNREFERENCED = 2


def holds_more(value):
    """Returns whether a container has attributes, which the other side's copy has not."""
    try:
        if not type(value).__flags__ & HEAP_TYPE:
            return False
        names = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return False
    return not values.has_only_own(value, names)


class Sharing:
    """The containers that both sides have. FIRST is 0 on one side and 1 on the other, so that both can
    give numbers. A container that nothing on one side refers to any more ceases to be shared: the other
    side keeps it as an ordinary object."""

    def __init__(self, first):
        self.first = self.next = first
        self.by_number = {}
        self.by_id = {}
        self.dropped = []
        self.survivors = 0  # that were shared before the last message and still are

    def enter(self, value, number, codec):
        entry = self.by_number[number] = self.by_id[id(value)] = Entry(value, number, codec)
        return entry

    def add(self, value, codec):
        number = self.next
        self.next += 2
        return self.enter(value, number, codec)

    def enter_theirs(self, value, number, codec):
        """The other side has numbered a container."""
        if number % 2 == self.first:
            raise WireError("a number that is not the other side's to give")
        return self.enter(value, number, codec)

    def forget(self, number):
        entry = self.by_number.pop(number, None)
        if entry is not None:
            del self.by_id[id(entry.value)]

    def has_changed(self):
        """Returns whether this side has changed a container since it last crossed."""
        entries = self.by_number.values()
        return any(one.seen is None or not is_same(one.seen, one.codec.flat(one.value)) for one in entries)

    def scan(self):
        """Returns the containers that have changed since they last crossed, and drops those that nothing
        refers to."""
        changed = []
        unused = []
        for number, entry in self.by_number.items():
            if not is_same(entry.seen, entry.codec.flat(entry.value)):
                entry.seen = None
                changed.append(entry.value)
            elif sys.getrefcount(entry.value) <= UNREFERENCED and not holds_more(entry.value):
                unused.append(number)
        for number in unused:
            self.forget(number)
        self.dropped += unused
        self.survivors = len(self.by_number)
        return changed
