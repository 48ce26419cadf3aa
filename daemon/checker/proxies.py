# SPDX-License-Identifier: MIT
"""The checker's end of the pipe: what the candidate defines, as far as assertions can see it. Calls go
over, plain data comes back. An object that is not plain data stays on the other side. Its stand-in here
equals nothing but itself and has no truth value, so that no answer of the candidate's own making can
replace a comparison."""

from _collections import deque

import classes
import wire
from wire import CALLABLE, CLASS, EXCEPTION, ITERATOR, OBJECT

HANDLES_MAX = 1 << 20
TESTS = "__test__"  # __module__ of what the tests define
# The operations that the candidate may call on a test's object, if the object's class has them.
SPECIALS = """__abs__ __add__ __and__ __bool__ __call__ __contains__ __delitem__ __enter__ __eq__ __exit__ __float__
__floordiv__ __format__ __ge__ __getitem__ __gt__ __hash__ __iadd__ __index__ __int__ __invert__ __iter__ __le__
__len__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __next__ __or__ __pos__ __pow__ __radd__ __rmul__
__repr__ __reversed__ __rsub__ __setitem__ __str__ __sub__ __truediv__ __xor__""".split()


class Lost(BaseException):
    """The candidate is gone or violates the protocol. No test catches this by accident; even if one does,
    Link.lost still says so."""


def _is_of_tests(of_class):
    return of_class.__module__ == TESTS


def _may_be_called(value):
    """Returns whether the candidate may call VALUE here: functions and classes that tests define, and what
    C modules offer, but no built-in function, since some of those run text or look into objects."""
    while type(value).__module__ == "functools" and type(value).__name__ == "partial":
        value = value.func
    if type(value) is type(len) and wire.FUNCTIONS.get(value.__name__) is value:
        return False
    if isinstance(value, type):
        return _is_of_tests(value)
    return callable(value) and type(value) is not type(len.__call__)


def _specials(of_class):
    found = {}
    for one in of_class.__mro__[:-1]:
        for name in vars(one):
            found.setdefault(name, vars(one)[name])
    return [name for name in SPECIALS if found.get(name) is not None]


def _get(target, name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(target, name)


def _set(target, name, value):
    if name.startswith("__") or isinstance(target, type) or not classes.may_be_set(type(target), name):
        raise AttributeError(f"{name} is not for the candidate")
    setattr(target, name, value)


def _delete(target, name):
    if name.startswith("__") or isinstance(target, type):
        raise AttributeError(f"{name} is not for the candidate")
    delattr(target, name)


def _is_instance(target, value):
    return isinstance(value, target)


ON_OBJECTS = {"get": _get, "set": _set, "delete": _delete, "isinstance": _is_instance}


class Link:
    def __init__(self, read_fd, write_fd):
        self.fds = read_fd, write_fd
        self.exported = []  # objects that the candidate may ask, kept alive
        self.numbers = {}
        self.handles = {}
        self.stubs = {}  # exception classes, by id()
        self.raised = {}  # exceptions that the tests raised, by class, on their way through the candidate
        self.shared = classes.Shared()
        self.lost = None

    # --- sending what is not plain data ---

    def export(self, writer, value):
        kind = type(value)
        theirs = value._number if kind in PROXIES else self.stubs.get(id(value))
        if theirs is not None:
            writer.out += b"g"
            wire.write_number(writer.out, theirs)
        elif self.shared.write(writer, value):
            pass
        elif kind is type(len) and wire.FUNCTIONS.get(value.__name__) is value:
            # The candidate's own copy serves as well. Through eval() or getattr() of ours it would get at us.
            writer.out += b"n"
            writer.text(value.__name__)
        else:
            self.export_object(writer, value)

    def export_object(self, writer, value):
        kind = type(value)
        number = self.numbers.get(id(value))
        if number is None:
            flags = CALLABLE if _may_be_called(value) else 0
            flags |= ITERATOR if hasattr(kind, "__next__") else 0
            flags |= OBJECT if _is_of_tests(value if isinstance(value, type) else kind) else 0
            flags = EXCEPTION if classes.is_exception(value) else flags
            number = self.numbers[id(value)] = len(self.exported)
            self.exported.append((value, flags))
        flags = self.exported[number][1]
        writer.out += b"h"
        wire.write_number(writer.out, number)
        wire.write_number(writer.out, flags)
        if flags & EXCEPTION:
            classes.write_exception(writer, value)
        elif flags & OBJECT:
            writer.text(" ".join([] if isinstance(value, type) else _specials(kind)))

    # --- receiving ---

    def resolve(self, tag, reader, table):
        if tag in classes.Shared.TAGS:
            return self.shared.read(tag, reader, table)
        if tag == 103:  # g: one of ours comes back
            number = reader.number()
            if number >= len(self.exported):
                raise wire.WireError("an unknown object")
            return self.exported[number][0]
        if tag != 104:  # h
            raise wire.WireError("an unknown tag")
        number, flags = reader.number(), reader.number()
        if flags & EXCEPTION:
            return classes.read_exception(reader, table, lambda new: self.keep(number, new), STUB)
        if number not in self.handles:
            kind = ClassHandle if flags & CLASS else Iterator if flags & ITERATOR else Handle
            handle = self.keep(number, object.__new__(kind))
            object.__setattr__(handle, "_link", self)
            object.__setattr__(handle, "_number", number)
            if kind is Iterator:
                handle._keep(None, False)
        handle = self.handles[number]
        if isinstance(handle, type):
            raise wire.WireError("an exception that is none")
        return handle

    def keep(self, number, new):
        """Returns the stand-in for the candidate's object NUMBER: NEW, unless there is one already."""
        known = self.handles.get(number)
        if known is None:
            if len(self.handles) >= HANDLES_MAX:
                raise wire.WireError("too many objects")
            known = self.handles[number] = new
            if isinstance(new, type):
                self.stubs[id(new)] = number
        if isinstance(known, type) is not isinstance(new, type):
            raise wire.WireError("an exception that is none")
        return known

    # --- questions ---

    def ask(self, question, arguments=(), keywords=None):
        if self.lost is not None:
            raise Lost
        writer = wire.Writer(self.export)
        try:
            message = writer.message([question, arguments, keywords or {}])
        except wire.WireError as error:
            raise ValueError(f"cannot be handed over: {error}") from None
        try:
            wire.send(self.fds[1], message)
            value, error = self.answer(question, writer.objects)
        except (OSError, EOFError):
            self.lost = ""
            raise Lost from None
        except wire.WireError as broken:
            self.lost = f"{broken}"
            raise Lost from None
        if error is not None:
            raise error
        return value

    def answer(self, question, originals):
        """Returns the value that was returned, or the exception that was raised."""
        while True:
            data = wire.receive(self.fds[0])
            table = wire.Table(data, self.resolve, originals)
            roots = table.roots
            what = roots[0] if roots and type(roots[0]) is str else ""
            if what == "ok" and len(roots) in (2, 4):
                return roots[1], None
            if what == "raise" and len(roots) in (6, 8):
                return None, self.exception(question, *roots[1:6])
            if what not in ("call", "on") or len(roots) != 4:
                raise wire.WireError("no answer")
            self.call_back(table, data)

    def exception(self, question, kind, arguments, text, attributes, more):
        kinds = (type(arguments), type(text), type(attributes))
        if not classes.is_exception(kind) or kinds != (tuple, str, dict):
            raise wire.WireError("a bad exception")
        # Raised by a plain call it would silently end a loop elsewhere: map() would stop, and all() of
        # nothing is true.
        if issubclass(kind, (StopIteration, StopAsyncIteration)) and question != "next":
            return RuntimeError(f"candidate raised {kind.__name__}")
        if kind in self.raised:
            return self.raised[kind]
        error = classes.rebuild(kind, arguments, attributes)
        if id(kind) in self.stubs and kind.__module__ == classes.STUB_MODULE:
            error.__dict__.update(_candidate=more, _text=text)
        return error

    def call_back(self, table, data):
        """Answers the candidate's request for what a test has given it; it can do no more."""
        try:
            reply = ["ok", self.called(*table.roots)]
        except wire.WireError:
            raise
        except Exception as error:
            reply = classes.tell(error)
            if not classes.is_built_in(type(error)):
                self.raised[type(error)] = error
        origins = table.origins()
        if origins and wire.Writer(self.export).message(table.roots) != data:
            reply += table.roots[2:]
        wire.send(self.fds[1], wire.Writer(self.export, origins).message(reply))

    def called(self, what, target, arguments, more):
        number = self.numbers.get(id(target))
        if number is None or type(arguments) is not tuple:
            raise wire.WireError("a bad call")
        flags = self.exported[number][1]
        if what == "on":
            return self.asked_of(target, flags, more, arguments)
        if type(more) is not dict or not all(type(name) is str for name in more):
            raise wire.WireError("a bad call")
        if flags & ITERATOR and not arguments and not more:
            return next(target)
        if not flags & CALLABLE:
            raise TypeError("not for the candidate")
        return target(*arguments, **more)

    @staticmethod
    def asked_of(target, flags, name, arguments):
        """Attributes and operators of an object whose class the tests define."""
        if not flags & OBJECT or type(name) is not str:
            raise TypeError("not for the candidate")
        if name in ON_OBJECTS:
            if name != "isinstance" and not (arguments and type(arguments[0]) is str):
                raise wire.WireError("a bad call")
            return ON_OBJECTS[name](target, *arguments)
        if isinstance(target, type) or name not in _specials(type(target)):
            raise TypeError("not for the candidate")
        return getattr(type(target), name)(target, *arguments)


def _stub_text(stub):
    text = stub.__dict__.get("_text")
    if text is not None:
        return text
    return next(one for one in type(stub).__mro__ if classes.is_built_in(one)).__str__(stub)


def _stub_attribute(stub, name):
    theirs = stub.__dict__.get("_candidate")
    if name.startswith("__") or type(theirs) not in PROXIES:
        raise AttributeError(f"{type(stub).__name__!r} object has no attribute {name!r}")
    return getattr(theirs, name)


# Methods of the stub for an exception class of the candidate's own.
STUB = {"__module__": classes.STUB_MODULE, "__str__": _stub_text, "__getattr__": _stub_attribute}


def _exactly(kind, value):
    if type(value) is not kind:
        raise TypeError(f"candidate returned {type(value).__name__} where {kind.__name__} is due")
    return value


class Handle:
    """Stands for an object of the candidate's."""

    __slots__ = ("_link", "_number", "__weakref__")

    def __getattr__(self, name):
        return self._link.ask("get", (self, name))

    def __setattr__(self, name, value):
        self._link.ask("set", (self, name, value))

    def __delattr__(self, name):
        self._link.ask("delete", (self, name))

    def __call__(self, /, *arguments, **keywords):
        return self._link.ask("call", (self, *arguments), keywords)

    def __bool__(self):
        raise TypeError("an object of the candidate has no truth value")

    def __len__(self):
        return _exactly(int, self._link.ask("len", (self,)))

    def __iter__(self):
        value = self._link.ask("iter", (self,))
        # An object of the tests comes back as itself; plain data do not pass.
        return value if hasattr(type(value), "__next__") else _exactly(Iterator, value)

    def __str__(self):
        return _exactly(str, self._link.ask("str", (self,)))

    def __repr__(self):
        return _exactly(str, self._link.ask("repr", (self,)))

    def __format__(self, specification):
        return _exactly(str, self._link.ask("format", (self, specification)))

    def __int__(self):
        return _exactly(int, self._link.ask("int", (self,)))

    def __float__(self):
        return _exactly(float, self._link.ask("float", (self,)))

    def __getitem__(self, key):
        return self._link.ask("getitem", (self, key))

    def __setitem__(self, key, value):
        self._link.ask("setitem", (self, key, value))

    def __delitem__(self, key):
        self._link.ask("delitem", (self, key))

    def __enter__(self):
        return self._link.ask("enter", (self,))

    def __exit__(self, *_):
        self._link.ask("exit", (self,))  # its return value cannot swallow a failure


def _add_operators():
    """Adds the operators. Their result is another stand-in, never plain data: `abs(f(x) - 2) < 0.1` shows
    the expected value to whatever f(x) is, which could subtract it from itself."""

    def stays_away(value):
        if type(value) not in PROXIES:
            raise TypeError("an object of the candidate turns into plain data in an expression")
        return value

    def binary(name):
        return lambda self, other: stays_away(self._link.ask(name, (self, other)))

    def reflected(name):
        return lambda self, other: stays_away(self._link.ask(name, (other, self)))

    def unary(name):
        return lambda self: stays_away(self._link.ask(name, (self,)))

    for name in wire.BINARY:
        plain = name.rstrip("_")
        setattr(Handle, f"__{plain}__", binary(name))
        setattr(Handle, f"__r{plain}__", reflected(name))
    for name in wire.UNARY:
        setattr(Handle, f"__{name}__", unary(name))


class Iterator(Handle):
    """Fetches items one by one, as the asking loop wants them. list() and sorted(), which ask for the
    length first, want them all, so they arrive many at once."""

    __slots__ = ("_ahead", "_more")

    def __iter__(self):
        return self

    def __length_hint__(self):
        if self._ahead is None:
            self._keep(deque(), True)
        return NotImplemented

    def _keep(self, ahead, more):
        object.__setattr__(self, "_ahead", ahead)
        object.__setattr__(self, "_more", more)

    def __next__(self):
        if self._ahead is None:
            return self._link.ask("next", (self,))
        if not self._ahead and self._more:
            items, more = _exactly(tuple, self._link.ask("drain", (self,)))
            self._keep(deque(_exactly(list, items)), more is True)
        if not self._ahead:
            self._keep(None, False)
            raise StopIteration
        return self._ahead.popleft()


class ClassHandle(Handle):
    __slots__ = ()

    def __instancecheck__(self, value):
        return type(value) in PROXIES and self._link.ask("isinstance", (value, self)) is True

    def __subclasscheck__(self, value):
        return type(value) is ClassHandle and self._link.ask("issubclass", (value, self)) is True


PROXIES = (Handle, Iterator, ClassHandle)
_add_operators()
