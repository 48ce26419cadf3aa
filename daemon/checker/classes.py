# SPDX-License-Identifier: MIT
"""Sends instances of classes beyond the built-in ones over the pipe.

Both sides have a copy of each class that the prelude defines. Only the state of an instance crosses; the
reader puts it into an instance of its own class. To the checker that is plain data: what the instance does
is what the prelude says, whatever the candidate has made of its copy.

For an exception of any other class, a stub with the same name and bases is made, so that tests can catch
it."""

import sys

import wire

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
MEMBER = type(type(lambda: 0).__globals__)  # the type of a name in __slots__
STUB_MODULE = "other_side"


def _found_on(of_class, name):
    for one in of_class.__mro__:
        if name in vars(one):
            return vars(one)[name]
    return None


def may_be_set(of_class, name):
    """Returns whether NAME may be set on an instance. Methods and computed attributes of the class may
    not: in the instance's own dictionary such a value would take precedence."""
    found = _found_on(of_class, name)
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
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        if type(name) is not str:
            raise wire.WireError("a bad attribute")
        if type(_found_on(of_class, name)) is MEMBER:
            object.__setattr__(value, name, part)
        elif may_be_set(of_class, name) and hasattr(value, "__dict__"):
            value.__dict__[name] = part


def _fill_state(value, parts):
    if hasattr(value, "__dict__"):
        value.__dict__.clear()
    set_state(value, parts)


def _is_enumeration(value):
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(value, enum.EnumMeta)


def kind_of(value):
    """Returns what the instances of a class are made of; "" if not simply of attributes, or if it is no
    class."""
    if not isinstance(value, type) or not value.__flags__ & HEAP_TYPE:
        return ""
    if _is_enumeration(value):
        return "enumeration"
    base = next(one for one in value.__mro__ if not one.__flags__ & HEAP_TYPE)
    if issubclass(base, Exception):
        return "exception"
    return {object: "object", tuple: "tuple"}.get(base, "")


class Shared:
    """The classes that both sides have, by name."""

    def __init__(self):
        self.classes = {}
        self.names = {}  # by id(), because a metaclass may define equality

    def add(self, name, value):
        self.classes[name] = value
        self.names[id(value)] = name

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
        writer.out += {"class": b"K", "enumeration": b"m", "tuple": b"u", "object": b"o"}[kind]
        writer.text(name)
        if kind == "enumeration":
            writer.text(value.name)
        elif kind == "tuple":
            writer.children(list(value))
        elif kind == "object":
            writer.origin(value)
            writer.children([part for item in state_of(value).items() for part in item])
        return True

    TAGS = b"Kmuo"

    def read(self, tag, reader, table):
        of_class = self.classes.get(reader.text())
        if of_class is None:
            raise wire.WireError("an unknown class")
        if tag == 75:  # K
            return of_class
        if kind_of(of_class) != {109: "enumeration", 117: "tuple", 111: "object"}[tag]:  # m u o
            raise wire.WireError("no such object")
        if tag == 109:
            name = reader.text()
            if name not in of_class.__members__:
                raise wire.WireError("an unknown member")
            return of_class.__members__[name]
        if tag == 117:
            return table.put_off(lambda parts: _make_tuple(of_class, parts), reader)
        value = table.read_original(reader, of_class)
        if value is None:
            value = object.__new__(of_class)
        table.fill_later(value, _fill_state, reader, is_state=True)
        return value


def _make_tuple(of_class, parts):
    if len(parts) != len(getattr(of_class, "_fields", parts)):
        raise wire.WireError("no such object")
    return tuple.__new__(of_class, parts)


# --- exceptions -----------------------------------------------------------------------------------


def is_exception(value):
    return isinstance(value, type) and issubclass(value, Exception)


def is_built_in(value):
    return wire.TYPES.get(value.__name__) is value


def write_exception(writer, value):
    """Writes the rest of a class's node, after its number: its names and its bases that are exception
    classes."""
    writer.text(f"{value.__module__}")
    writer.text(value.__name__)
    writer.children([base for base in value.__bases__ if is_exception(base)])


def read_exception(reader, table, keep, namespace):
    """Reads an exception class, made as soon as its bases are there: the library's own class if this
    process has loaded it, otherwise a stub with NAMESPACE. KEEP(class) returns the one to keep."""
    module, name = reader.text(), reader.text()

    def make(bases):
        if not bases or not all(map(is_exception, bases)) or "\0" in name:
            raise wire.WireError("a bad exception")
        known = None
        if module.partition(".")[0] in sys.stdlib_module_names and module in sys.modules:
            known = vars(sys.modules[module]).get(name)
        return keep(known if is_exception(known) else type(name, tuple(bases), dict(namespace)))

    return table.put_off(make, reader)


def tell(error):
    """Returns the roots of a message: class, arguments, text, attributes, and, unless the class is built
    in, the exception itself, so that the other side can ask for more."""
    try:
        text = str(error)
    except Exception:
        text = ""
    arguments = tuple(error.args)
    if isinstance(error, OSError) and len(arguments) == 2 and error.filename is not None:
        arguments += (error.filename,)
    more = None if is_built_in(type(error)) else error
    return ["raise", type(error), arguments, text, dict(vars(error)), more]


def rebuild(kind, arguments, attributes):
    """Makes an exception without running its class's constructor, unless the class is built in or a stub."""
    try:
        plain = all(is_built_in(one) or one.__module__ == STUB_MODULE for one in kind.__mro__)
        error = kind(*arguments) if plain else kind.__new__(kind, *arguments)
    except Exception:
        error = kind.__new__(kind)
        error.args = arguments
    set_state(error, [part for item in attributes.items() for part in item])
    return error
