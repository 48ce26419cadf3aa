# SPDX-License-Identifier: MIT
"""Instances that exist on both sides: of the classes that the prelude defines, of classes that derive from
built-in types, and exceptions.

Both sides have a copy of each class that the prelude defines. Only the state of an instance crosses; the
reader puts it into an instance of its own class. To the judge that is plain data: what the instance does is
what the prelude says, whatever the candidate has made of its copy."""

from _operator import is_

import describe
import sharing
import wire
from trusted import is_protocol

HEAP_TYPE = describe.HEAP_TYPE
MEMBER = describe.MEMBER
SLOT = type(BaseException.__init__)
TEXT = "str()"  # where a stand-in for an exception keeps its text; no program has such an attribute


def found_on(of_class, name):
    for one in of_class.__mro__:
        if name in vars(one):
            return vars(one)[name]
    return None


def may_be_set(of_class, name):
    """Returns whether NAME may be set on an instance. Methods and computed attributes of the class may
    not: in the instance's own dictionary such a value would take precedence."""
    found = found_on(of_class, name)
    if hasattr(type(found), "__set__"):
        return True
    return not callable(found) and not hasattr(type(found), "__get__")


def state_of(value):
    """Returns the names and values that an instance consists of."""
    state = {}
    for one in type(value).__mro__:
        for name, member in vars(one).items():
            if type(member) is MEMBER and hasattr(value, name):
                state[name] = getattr(value, name)
    state.update(getattr(value, "__dict__", {}))
    return state


def set_state(value, parts):
    of_class = type(value)
    if not all(type(name) is str for name in parts[::2]):
        raise wire.WireError("a bad attribute")
    for name, part in wire.dictionary_of(parts).items():
        if type(found_on(of_class, name)) is MEMBER:
            object.__setattr__(value, name, part)
        elif not is_protocol(name) and may_be_set(of_class, name) and hasattr(value, "__dict__"):
            value.__dict__[name] = part


# --- classes that both sides have -----------------------------------------------------------------


def kind_of(value):
    """Returns what the instances of a class are made of; "" if not simply of attributes, or if it is no
    class."""
    if not isinstance(value, type) or not value.__flags__ & HEAP_TYPE:
        return ""
    if describe.is_enumeration(value):
        return "enumeration"
    base = next(one for one in value.__mro__ if not one.__flags__ & HEAP_TYPE)
    if issubclass(base, Exception):
        return "exception"
    return {object: "object", tuple: "tuple"}.get(base, "")


class SharedObject(sharing.Container):
    """Instances of a class that both sides have, as containers of their attributes."""

    def __init__(self, name, kind):
        super().__init__(kind, self.parts, self.refill)
        self.name = name

    @staticmethod
    def parts(value):
        return [part for item in state_of(value).items() for part in item]

    @staticmethod
    def refill(value, parts):
        if hasattr(value, "__dict__"):
            value.__dict__.clear()
        set_state(value, parts)

    def write(self, writer, value):
        writer.text(self.name)
        writer.children(self.flat(value))

    def make(self, reader):
        try:
            return object.__new__(self.kind)
        except TypeError:
            raise wire.WireError("an instance of an abstract class") from None


class Shared:
    """The classes that both sides have, by name."""

    def __init__(self):
        self.classes = {}
        self.names = {}  # by id(), because a metaclass may define equality
        self.codecs = {}

    def add(self, name, value):
        self.classes[name] = value
        self.names[id(value)] = name
        self.codecs[name] = SharedObject(name, value)

    def write(self, writer, value):
        """Returns whether VALUE or its class is one of them; if so, writes its node."""
        is_class = isinstance(value, type)
        of_class = value if is_class else type(value)
        name = self.names.get(id(of_class))
        if name is None:
            return False
        kind = "class" if is_class else kind_of(of_class)
        if kind == "exception" or kind == "enumeration" and value.name not in of_class.__members__:
            return False
        if kind == "object":
            writer.container(b"o", self.codecs[name], value)
            return True
        writer.out += {"class": b"K", "enumeration": b"e", "tuple": b"u"}[kind]
        writer.text(name)
        if kind == "enumeration":
            writer.text(value.name)
        elif kind == "tuple":
            writer.children(list(value))
        return True

    TAGS = b"Keuo"

    def read(self, tag, reader, table):
        number = reader.number() if tag == 111 else None  # o
        name = reader.text()
        of_class = self.classes.get(name)
        if of_class is None:
            raise wire.WireError("an unknown class")
        if tag == 75:  # K
            return of_class
        if kind_of(of_class) != {101: "enumeration", 117: "tuple", 111: "object"}[tag]:  # e u o
            raise wire.WireError("no such object")
        if tag == 101:
            member = reader.text()
            if member not in of_class.__members__:
                raise wire.WireError("an unknown member")
            return of_class.__members__[member]
        if tag == 117:
            return table.put_off(lambda parts: _make_tuple(of_class, parts), reader)
        return table.take_container(reader, number, self.codecs[name])


def _make_tuple(of_class, parts):
    if len(parts) != len(getattr(of_class, "_fields", parts)):
        raise wire.WireError("no such object")
    return tuple.__new__(of_class, parts)


# --- instances of classes that derive from mutable built-in types ---------------------------------


class Derived(sharing.Container):
    def __init__(self, base, flat, fill):
        super().__init__(base, flat, fill)

    def write(self, writer, value):
        parts = self.flat(value)
        writer.children((type(value), *((parts,) if type(parts) is bytes else parts)))


def _fill_list(value, parts):
    list.__setitem__(value, slice(None), parts)


def _fill_dictionary(value, parts):
    half, odd = divmod(len(parts), 2)
    if odd:
        raise wire.WireError("a key without a value")
    dict.clear(value)
    dict.update(value, zip(parts[:half], parts[half:]))
    wire.need_different(dict.keys(value), parts[:half])


def _fill_set(value, parts):
    set.clear(value)
    set.update(value, parts)
    wire.need_different(list(set.__iter__(value)), parts)


def _fill_bytes(value, parts):
    if len(parts) != 1 or type(parts[0]) is not bytes:
        raise wire.WireError("no bytes")
    bytearray.__setitem__(value, slice(None), parts[0])


DERIVED = {
    list: Derived(list, lambda value: list(list.__iter__(value)), _fill_list),
    dict: Derived(dict, lambda value: [*dict.keys(value), *dict.values(value)], _fill_dictionary),
    set: Derived(set, lambda value: list(set.__iter__(value)), _fill_set),
    bytearray: Derived(bytearray, lambda value: bytes(memoryview(value)), _fill_bytes),
}


def derived(base):
    return DERIVED[base]


def _check_class(value, parts):
    if not isinstance(parts[0], type):
        raise wire.WireError("no class of containers")


def read_derived(reader, table, space):
    """Reads a container whose class is its first part."""
    number = reader.number()
    parts = reader.children()
    if not parts:
        raise wire.WireError("a container without a class")
    node = len(table.objects)
    entry = space.sharing.by_number.get(number)
    if entry is not None:
        if entry.codec not in DERIVED.values():
            raise wire.WireError("a container changes its type")
        table.fills += [(entry.value, _check_class, parts[:1]), (entry.value, entry.codec.fill, parts[1:])]
        table.bring(node, number, entry.codec)
        return entry.value

    def make(made):
        kind = made[0]
        base = describe.solid_base(kind) if isinstance(kind, type) else None
        if base not in DERIVED or not space.may_make(kind):
            raise wire.WireError("no class of containers")
        codec = DERIVED[base]
        table.late.append((node, codec.fill, parts[1:]))
        table.bring(node, number, codec)
        return base.__new__(kind)

    table.pending[node] = (make, parts[:1])
    return None


# --- exceptions -----------------------------------------------------------------------------------


def is_exception(value):
    return isinstance(value, type) and issubclass(value, BaseException)


def is_built_in(value):
    return wire.TYPES.get(value.__name__) is value


def check_error(kind, arguments, text, state, cause, suppressed, context):
    kinds = (type(arguments), type(text), type(state), type(suppressed))
    if not is_exception(kind) or kinds != (tuple, str, tuple, bool):
        raise wire.WireError("a bad exception")
    if not all(one is None or isinstance(one, BaseException) for one in (cause, context)):
        raise wire.WireError("a bad cause")


def rebuild(kind, arguments, text, state, cause, suppressed, context):
    """Makes an exception. No constructor of a class that is not built in runs."""
    check_error(kind, arguments, text, state, cause, suppressed, context)
    try:
        error = kind(*arguments) if is_built_in(kind) else kind.__new__(kind, *arguments)
        initialize = getattr(kind.__init__, "of_library", kind.__init__)
        if isinstance(initialize, SLOT):  # of a built-in class, which keeps more than the arguments
            initialize(error, *arguments)
    except Exception:
        error = kind.__new__(kind)
        error.args = arguments
    set_state(error, state)
    if not is_built_in(kind):
        error.__dict__[TEXT] = text
        error.args = arguments
    set_causes(error, cause, suppressed, context)
    return error


def set_causes(error, cause, suppressed, context):
    if cause is not None:
        error.__cause__ = cause
    error.__context__ = context
    error.__suppress_context__ = suppressed


def has_changed(parts, told):
    """Returns whether an exception of which PARTS are to be told is not as it was when TOLD were told."""
    if told is None or told[1] is not parts[1]:
        return False  # the other side cannot give it another class
    _, _, arguments, text, state, *causes = parts
    _, _, told_arguments, told_text, told_state, *told_causes = told
    pairs = ((arguments, told_arguments), (state, told_state), (causes, told_causes))
    return text != told_text or any(len(one) != len(other) or not all(map(is_, one, other)) for one, other in pairs)


def contents_of(error):
    """Returns what a side may change of the other's exception: its arguments, and its attributes in pairs. TEXT is no
    attribute of the program's."""
    attributes = (item for item in vars(error).items() if item[0] != TEXT and item[1] is not error)
    return (tuple(error.args), *(part for item in attributes for part in item))


def is_same(contents, others):
    """Compares two results of contents_of()."""
    return len(contents) == len(others) and all(map(is_, contents, others))


def change(error, parts):
    """Makes an exception of this side what contents_of() has said of its stand-in. Returns it."""
    if not parts or type(parts[0]) is not tuple:
        raise wire.WireError("a bad exception")
    set_state(error, parts[1:])
    error.args = parts[0]
    return error


def renew(error, parts):
    """Makes a stand-in for an exception what the other side's exception has become. Returns it."""
    if len(parts) != 8 or not isinstance(error, BaseException) or parts[1] is not type(error):
        raise wire.WireError("a bad exception")
    _, kind, arguments, text, state, cause, suppressed, context = parts
    check_error(kind, arguments, text, state, cause, suppressed, context)
    set_state(error, state)
    if not is_built_in(kind):
        error.__dict__[TEXT] = text
    error.args = arguments
    set_causes(error, cause, suppressed, context)
    return error
