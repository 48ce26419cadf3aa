# SPDX-License-Identifier: MIT
"""Writes messages (wire.py): the node of each object that a message needs."""

import math

import bulk
import values
from sharing import CONTAINER_BY_TAG, container_tag, in_order
from wire import INTEGER_MAX, MESSAGE_MAX, NODES_MAX, TYPE_NAMES, WireError, pack_float, write_number

ITEMS = type({}.items())
# Types are compared by identity: a metaclass may define equality and hash.
DICTIONARY_VIEWS = {id(type({}.keys())): b"k", id(type({}.values())): b"v", id(ITEMS): b"w"}


class Writer:
    """Writes a message. SPACE.export(writer, object) writes the node of an object that is neither plain
    data nor a container; SPACE.container_of(object) returns tag and codec of other containers."""

    def __init__(self, space):
        self.out = bytearray()
        self.objects = []
        self.numbers = {}
        self.space = space
        self.sharing = space.sharing
        self.written = []  # entries whose contents this message brings
        self.entered = set()  # numbers of those that it brings for the first time
        self.exported = []  # numbers of the objects that it describes
        self.told_again = []  # numbers of the exceptions that it describes again, and what was told of each before
        self.changed_errors = []  # the same for the other side's exceptions

    def number_of(self, value):
        key = id(value)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.objects)
            self.objects.append(value)
            if number >= NODES_MAX:
                raise WireError("too many values")
        return number

    def children(self, values):
        out = self.out
        write_number(out, len(values))
        numbers, objects = self.numbers, self.objects
        for value in values:
            key = id(value)  # once: each call tells the audit hook (sinks.py)
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(objects)
                objects.append(value)
            if number < 0x80:
                out.append(number)
            else:
                write_number(out, number)
        if len(objects) > NODES_MAX:
            raise WireError("too many values")

    def text(self, text):
        data = text.encode("utf-8", "surrogatepass")
        write_number(self.out, len(data))
        self.out += data

    def bytes(self, data):
        write_number(self.out, len(data))
        self.out += data

    def message(self, roots):
        changed = self.sharing.scan() if self.sharing.by_number else ()
        dropped = self.sharing.dropped
        self.children(roots)
        self.children(changed)
        write_number(self.out, len(dropped))
        for number in dropped:
            write_number(self.out, number)
        at = 0
        objects, out = self.objects, self.out
        while at < len(objects):
            value = objects[at]
            write = SCALARS.get(id(type(value)))
            if write is not None:
                write(self, value)
            else:
                self.node(value)
            at += 1
            if len(out) > MESSAGE_MAX:
                raise WireError("too much data")
        for entry in self.written:
            entry.seen = entry.codec.flat(entry.value)
        dropped.clear()
        return bytes(out)

    def node(self, value):
        kind = type(value)
        tag = container_tag(kind)
        if tag is not None:
            self.container(tag, CONTAINER_BY_TAG[tag[0]], value)
        elif id(kind) in DICTIONARY_VIEWS:
            self.out += DICTIONARY_VIEWS[id(kind)]
            self.children([part for item in value for part in item] if kind is ITEMS else list(value))
        elif kind is type and value in TYPE_NAMES:
            self.node_of(value)
        else:
            self.described(kind, value)

    def node_of(self, built_in):
        self.out += b"y"
        self.text(TYPE_NAMES[built_in])

    def described(self, kind, value):
        parts = values.describe(value)
        if parts is None:
            self.space.export(self, value)
        elif parts[0] in values.MUTABLE_NAMES:
            self.container(b"A", CONTAINER_BY_TAG[b"A"[0]], value)
        else:
            self.out += b"V"
            self.text(parts[0])
            self.children(parts[1])

    def container(self, tag, codec, value):
        """A container: its number, and its contents where the other side does not have them."""
        entry = self.sharing.by_id.get(id(value))
        if entry is not None and entry.seen is not None:
            self.out += b"R"
            write_number(self.out, entry.number)
            return
        if entry is None:
            entry = self.sharing.add(value, codec)
            self.entered.add(entry.number)
        self.out += tag
        write_number(self.out, entry.number)
        codec.write(self, value)
        self.written.append(entry)
        entry.seen = ()


def _integer(writer, value):
    size = value.bit_length() // 8 + 1
    if size > INTEGER_MAX:
        raise WireError("too large an integer")
    out = writer.out
    out += b"i"
    if size < 0x80:
        out.append(size)
    else:
        write_number(out, size)
    out += value.to_bytes(size, "little", signed=True)


def _float(writer, value):
    if value != value:
        # A NaN equals nothing, but a list finds it by identity.
        writer.out += b"q"
        write_number(writer.out, 0 if value is math.nan else writer.space.nan_number(value) + 1)
        if value is not math.nan:
            writer.out += pack_float(value)  # it has a sign
        return
    writer.out += b"d"
    writer.text(value.hex())  # also writes infinities and -0.0


def _complex(writer, value):
    writer.out += b"c" + pack_float(value.real) + pack_float(value.imag)


def _string(writer, value):
    data = value.encode("utf-8", "surrogatepass")
    out = writer.out
    out += b"s"
    write_number(out, len(data))
    out += data


def _bytes(writer, value):
    writer.out += b"b"
    writer.bytes(value)


def _constant(tag):
    def write(writer, value):
        writer.out += tag

    return write


def _boolean(writer, value):
    writer.out += b"T" if value else b"F"


def _frozenset(writer, value):
    writer.out += b"Z"
    writer.children(in_order(writer.space, value))


def _tuple(writer, value):
    packed = bulk.pack(value) if len(value) >= bulk.COUNT_MIN else None
    if packed is None:
        writer.out += b"t"
        writer.children(value)
    else:
        writer.out += b"P"
        writer.bytes(packed)


def _range(tag):
    def write(writer, value):
        writer.out += tag
        parts = (value.start, value.stop, value.step)
        writer.children(parts)

    return write


SCALARS = {
    id(type(None)): _constant(b"N"),
    id(bool): _boolean,
    id(type(...)): _constant(b"E"),
    id(type(NotImplemented)): _constant(b"X"),
    id(int): _integer,
    id(float): _float,
    id(complex): _complex,
    id(str): _string,
    id(bytes): _bytes,
    id(tuple): _tuple,
    id(frozenset): _frozenset,
    id(range): _range(b"r"),
    id(slice): _range(b"p"),
}
