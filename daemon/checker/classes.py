# SPDX-License-Identifier: MIT
"""Classes beyond the built-in ones, as they cross the pipe.

What the prelude defines both sides have, each in a copy of its own: of an instance the state goes over,
and the reader puts it into an instance of its own class. To the checker that is plain data; what it can
do is what the prelude says, whatever the candidate has made of its copy.

Exceptions of other classes are met by a stub of the same name and bases, so that they can be caught."""

import sys

import wire

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
MEMBER = type(type(lambda: 0).__globals__)  # what a name in __slots__ becomes
STUB_MODULE = "other_side"


def _found_on(of_class, name):
    for one in of_class.__mro__:
        if name in vars(one):
            return vars(one)[name]
    return None


def may_be_set(of_class, name):
    """Not what the class itself says: a method, or what computes a value. In the instance's own dictionary
    it would go first."""
    found = _found_on(of_class, name)
    if hasattr(type(found), "__set__"):
        return True
    return not callable(found) and not hasattr(type(found), "__get__")


def state_of(value):
    """The names and values that an instance consists of."""
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
    """What the instances of a class are made of; "" if not simply of attributes, or if it is no class."""
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
        self.names = {}  # by id(): a metaclass may have an idea of its own of what is equal

    def add(self, name, value):
        self.classes[name] = value
        self.names[id(value)] = name

    def write(self, writer, value):
        """Whether VALUE, or its class, is one of them; then its node is written."""
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
    """A class, behind its number: its names, and the classes of exceptions that it is derived from."""
    writer.text(f"{value.__module__}")
    writer.text(value.__name__)
    writer.children([base for base in value.__bases__ if is_exception(base)])


def read_exception(reader, table, keep, namespace):
    """The class, made as soon as what it is derived from is there: the library's own, where this process
    has loaded it, else a stub with NAMESPACE. KEEP(class) says which one is kept."""
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
    """The roots of a message: class, arguments, text, attributes, and, if it is no built-in one, the
    exception itself, to be asked for what else it has."""
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
    """Without what the class itself does at its making, unless it is a built-in one or a stub."""
    try:
        plain = all(is_built_in(one) or one.__module__ == STUB_MODULE for one in kind.__mro__)
        error = kind(*arguments) if plain else kind.__new__(kind, *arguments)
    except Exception:
        error = kind.__new__(kind)
        error.args = arguments
    set_state(error, [part for item in attributes.items() for part in item])
    return error
