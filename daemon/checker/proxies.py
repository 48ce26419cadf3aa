# SPDX-License-Identifier: MIT
"""The checker's end of the pipe: what the candidate defines, as far as assertions can see it. Calls go
over, plain data comes back. An object that is not plain data stays on the other side; its stand-in here
equals nothing but itself and has no truth value, so that no answer of the candidate's own making can
take the place of a comparison."""

import wire
from wire import CALLABLE, CLASS, EXCEPTION, ITERATOR

HANDLES_MAX = 1 << 20
CHAIN_MAX = 64  # of an exception's own classes above each other


class Lost(BaseException):
    """The candidate is gone or does not keep to the protocol. No test catches it by accident, and
    Link.lost tells of it even if one does."""


def _may_be_called(value):
    """Whether the candidate may call VALUE here: functions that tests define, and what C modules offer;
    no classes, and none of the built-in functions, some of which run text or look into objects."""
    while type(value).__module__ == "functools" and type(value).__name__ == "partial":
        value = value.func
    if type(value) is type(len) and wire.FUNCTIONS.get(value.__name__) is value:
        return False
    return callable(value) and not isinstance(value, (type, type(len.__call__)))


class Link:
    def __init__(self, read_fd, write_fd):
        self.fds = read_fd, write_fd
        self.exported = []  # what the candidate may call or iterate over, kept alive
        self.numbers = {}
        self.handles = {}
        self.stubs = {}  # exception classes
        self.lost = None
        self.denied = False

    # What goes over that is not plain data.

    def export(self, writer, value):
        kind = type(value)
        theirs = value._number if kind in PROXIES else self.stubs.get(value) if kind is type else None
        if theirs is not None:
            writer.out += b"g"
            wire.write_number(writer.out, theirs)
            return
        if kind is type(len) and wire.FUNCTIONS.get(value.__name__) is value:
            # The candidate's own one does; through eval() or getattr() of ours it would get at us.
            writer.out += b"n"
            writer.text(value.__name__)
            return
        flags = CALLABLE if _may_be_called(value) else 0
        flags |= ITERATOR if hasattr(kind, "__next__") else 0
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.exported)
            self.exported.append((value, flags))
        writer.out += b"h"
        wire.write_number(writer.out, number)
        wire.write_number(writer.out, flags)

    # What comes.

    def resolve(self, tag, reader):
        if tag == 103:  # g: one of ours comes back
            number = reader.number()
            if number >= len(self.exported):
                raise wire.WireError("an unknown object")
            return self.exported[number][0]
        if tag != 104:  # h
            raise wire.WireError("an unknown tag")
        number, flags = reader.number(), reader.number()
        if flags & EXCEPTION:
            return self.exception_class(reader, number)
        if number not in self.handles:
            if len(self.handles) >= HANDLES_MAX:
                raise wire.WireError("too many objects")
            kind = ClassHandle if flags & CLASS else Iterator if flags & ITERATOR else Handle
            handle = self.handles[number] = object.__new__(kind)
            object.__setattr__(handle, "_link", self)
            object.__setattr__(handle, "_number", number)
        handle = self.handles[number]
        if type(handle) is type:
            raise wire.WireError("an exception that is none")
        return handle

    def exception_class(self, reader, number):
        """A class of our own for one of the candidate's, so that tests can catch it."""
        count = reader.number()
        if not 0 < count <= CHAIN_MAX:
            raise wire.WireError("a bad exception")
        chain = [(reader.number(), reader.text()) for _ in range(count)]
        base = wire.TYPES.get(reader.text())
        if base is None or not issubclass(base, Exception) or chain[0][0] != number:
            raise wire.WireError("a bad exception")
        for of_class, name in reversed(chain):
            stub = self.handles.get(of_class)
            if stub is None:
                if len(self.handles) >= HANDLES_MAX or "\0" in name:
                    raise wire.WireError("a bad exception")
                stub = self.handles[of_class] = type(name, (base,), {"__module__": "candidate"})
                self.stubs[stub] = of_class
            if type(stub) is not type:
                raise wire.WireError("a bad exception")
            base = stub
        return base

    # Questions.

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
        """What was returned, or the exception that was raised."""
        while True:
            roots = wire.Table(wire.receive(self.fds[0]), self.resolve, originals).roots
            what = roots[0] if roots and type(roots[0]) is str else ""
            if what == "ok" and len(roots) in (2, 4):
                return roots[1], None
            if what == "raise" and len(roots) in (4, 6):
                return None, self.exception(question, *roots[1:4])
            if what == "call" and len(roots) == 4:
                self.call_back(*roots[1:])
            else:
                raise wire.WireError("no answer")

    def exception(self, question, kind, arguments, text):
        if type(kind) is not type or not issubclass(kind, Exception):
            raise wire.WireError("no exception")
        if type(arguments) is not tuple or type(text) is not str:
            raise wire.WireError("a bad exception")
        self.denied |= kind in (ImportError, PermissionError) and arguments == ("denied",)
        # Out of a plain call it would end somebody else's loop without a word: map() and the like
        # would be done, and all() of nothing is true.
        if issubclass(kind, (StopIteration, StopAsyncIteration)) and question != "next":
            return RuntimeError(f"candidate raised {kind.__name__}")
        try:
            return kind(*arguments)
        except Exception:
            return RuntimeError(f"{kind.__name__}: {text}")

    def call_back(self, target, arguments, keywords):
        """The candidate calls, or takes the next of, what a test has given it; it can do no more."""
        number = self.numbers.get(id(target))
        if number is None or type(arguments) is not tuple or type(keywords) is not dict:
            raise wire.WireError("a bad call")
        if not all(type(name) is str for name in keywords):
            raise wire.WireError("a bad call")
        flags = self.exported[number][1]
        try:
            if flags & ITERATOR and not arguments and not keywords:
                reply = ["ok", next(target)]
            elif flags & CALLABLE:
                reply = ["ok", target(*arguments, **keywords)]
            else:
                raise TypeError("not for the candidate")
        except Exception as error:
            kind = type(error) if wire.TYPES.get(type(error).__name__) is type(error) else RuntimeError
            reply = ["raise", kind, (), str(error)]
        wire.send(self.fds[1], wire.Writer(self.export).message(reply))


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
        return _exactly(Iterator, self._link.ask("iter", (self,)))

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
        self._link.ask("exit", (self,))  # and no failure is swallowed for it


def _add_operators():
    """Arithmetic gives one more such object, never plain data: `abs(f(x) - 2) < 0.1` shows the expected
    value to whatever f(x) is, which could subtract it from itself."""

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
    __slots__ = ()

    def __iter__(self):
        return self

    def __next__(self):
        return self._link.ask("next", (self,))


class ClassHandle(Handle):
    __slots__ = ()

    def __instancecheck__(self, value):
        return type(value) in PROXIES and self._link.ask("isinstance", (value, self)) is True

    def __subclasscheck__(self, value):
        return type(value) is ClassHandle and self._link.ask("issubclass", (value, self)) is True


PROXIES = (Handle, Iterator, ClassHandle)
_add_operators()
