# SPDX-License-Identifier: MIT
"""The judge's side of the wire: what the candidate defines, as far as the tests can see it.

Answers are data. The candidate decides what a function returns and what an object's attributes are; it does
not decide how two values of the judge compare. The rules are in `special` and `handle`: the first says what
the tests may do with an object of the candidate's, the second what the candidate may do with an object of
the tests'."""

import collections
import sys
from marshal import dumps

import aliases
import asynchronous
import classes
import describe
import membrane
import mirrors
import plain
import program
import simple
import values
import wire
from describe import ARITHMETIC, COMPARISONS, CONVERSIONS, SPECIALS, UNARY
from membrane import Lost
from wire import WireError

TESTS = program.TESTS  # __module__ of what the tests define
# Exceptions by which a test framework says that a test has not failed.
SKIPPING = ("SkipTest", "_ShouldStop", "_UnexpectedSuccess", "Skipped", "XFailed", "Exit")
FRAMEWORKS = ("unittest", "_pytest", "pytest")
# What may end an iteration by an exception.
ENDING = ("__next__", "__anext__", "send", "throw")
MISSING_MAX = 64  # exceptions of the code that are remembered


def _traceback_type():
    try:
        raise ValueError
    except ValueError as error:
        return type(error.__traceback__)


# Through these the candidate would reach the judge's frames and with them everything.
FORBIDDEN = (type(sys._getframe()), type((lambda: 0).__code__), type(vars(object)), _traceback_type())
CLOSED = (*FORBIDDEN, describe.MODULE, type(None), type(i for i in ()))
# Modules whose classes the judge has, too, and which do nothing but hold values or describe types.
CLASSES_KNOWN = ("builtins", "collections", "collections.abc", "fractions", "decimal", "datetime", "uuid", "pathlib",
                 "array", "enum", "numbers", "typing", "abc", "ipaddress", "numpy")  # fmt: skip
# Modules in which the judge looks up the special methods of an instance's class.
MODULES_KNOWN = ("contextlib", "re", "functools", "io", "itertools", "collections", "threading", "types", "queue",
                 "builtins", "dataclasses", "typing", "string", "operator", "asyncio", "_asyncio", "_io", "_thread", "random",
                 "weakref", "contextvars", "logging", "heapq", "csv", "configparser", "argparse",
                 "struct", "zlib", "hashlib", "_hashlib", "time", "inspect", "datetime", "enum", "abc")  # fmt: skip
HOLLOW = frozenset(("__float__", "__int__", "__index__", "__complex__", "__trunc__", "__floor__", "__ceil__", "__round__",
                    *COMPARISONS, "__hash__", "__bool__"))  # fmt: skip
PLAIN = (int, float, complex, str, bytes, bool, tuple, list, dict, set, frozenset, bytearray, type(None))
# Every failure of a test is one of these.
FAILURES = (AssertionError, Exception, BaseException)
# Built-in functions that reach into objects, run text or leave the process.
REACHING = frozenset("""eval exec compile getattr setattr delattr hasattr open __import__ vars globals locals dir input
breakpoint __build_class__""".split())
BUILT_IN_MODULES = ("builtins", "math", "cmath", "_operator")


class Refused(TypeError):
    """What the tests ask of an object of the candidate's would leave the verdict to the candidate."""


class CandidateExit(SystemExit):
    """The code exits. In the tests a SystemExit is one of their own."""


CandidateExit.__name__ = CandidateExit.__qualname__ = "SystemExit"


def _is_of_tests(of_class):
    return type.__getattribute__(of_class, "__module__") == TESTS


def _root(of_class):
    return f"{type.__getattribute__(of_class, '__module__')}".partition(".")[0]


def _exactly(kind, value):
    if type(value) is not kind:
        raise Refused(f"the code returned {type(value).__name__} where {kind.__name__} is due")
    return value


def _may_be_called(value):
    """Returns whether the candidate may call VALUE here: functions and classes that tests define, methods of
    their objects, and what C modules offer, but no built-in function, since some of those run text or look
    into objects."""
    kind = type(value)
    while kind.__module__ == "functools" and kind.__name__ == "partial":
        value = value.func
        kind = type(value)
    if kind is describe.BOUND_METHOD:
        return _may_be_called(value.__func__)
    if kind is describe.FUNCTION:
        return _is_for_tests(value)
    if kind is describe.BOUND:
        return value.__self__ is not None and type(value.__self__) is not describe.MODULE
    if isinstance(value, type):
        return _is_of_tests(value)
    return callable(value) and kind not in describe.BUILT_IN_FUNCTIONS and kind not in CLOSED


def _may_be_called_inside(value):
    """Returns whether the candidate may call VALUE, a functools.partial or the like, as a whole: the tests have
    chosen what it calls, and gave it away."""
    while type(value).__module__ == "functools" and type(value).__name__ == "partial":
        value = value.func
    if type(value) is describe.BOUND and type(value.__self__) is describe.MODULE:
        return value.__self__.__name__ in BUILT_IN_MODULES and value.__name__ not in REACHING
    return any(value is kind for kind in PLAIN) or _may_be_called(value)


def _is_of_framework(of_class):
    """Returns whether instances of a class count what fails. The candidate may call the methods that tests
    define there, and nothing else."""
    return any(_root(one) in FRAMEWORKS and not _is_mock(one) for one in of_class.__mro__)


def _is_mock(of_class):
    return f"{type.__getattribute__(of_class, '__module__')}" == "unittest.mock"


def _is_own(target, name):
    """Returns whether an attribute of an object of a framework's was put there by tests."""
    mro = (target if isinstance(target, type) else type(target)).__mro__
    found = next((one for one in mro if name in vars(one)), None)
    if found is None:
        return not name.startswith("_")
    return _is_of_tests(found) and not isinstance(target, type)


def _is_for_tests(function):
    """A function of the tests', or one of the library's, but none of the judge's own."""
    return function.__globals__.get("__name__") not in OWN_MODULES


OWN_MODULES = ("judge", "link", "membrane", "mirrors", "describe", "classes", "wire", "suite", "candidate", "names",
               "values", "ambient", "plain", "transcript", "watch", "start", "bulk", "trusted", "asynchronous", "names",
               "program", "simple", "aliases", "states", "mirror", "numpy_values")  # fmt: skip


class Alias(type):
    """The class of aliases of built-in exception classes: equal to them, and not the same."""

    def __eq__(cls, other):
        return other is cls or other is getattr(cls, "original", None)

    def __hash__(cls):
        return hash(getattr(cls, "original", None))


class Link(membrane.Space):
    def __init__(self, read_fd, write_fd, status_fd):
        super().__init__(read_fd, write_fd, 0)
        self.status_fd = status_fd
        self.named_names = frozenset()  # global names by which the tests name classes of the candidate's
        self.shadows = set()
        self.tainted = set()  # numbers of objects that an operator made of a value of the judge's
        self.answers = {}  # to pure questions, since the last other one
        self.aliases = {}  # built-in exception classes that the code has given another name
        self.alias_mixtures = {}
        self.originals = {}  # of those two, by id()
        self.denied = False
        self.missing = collections.deque(maxlen=MISSING_MAX)  # exceptions of the code that name a module
        self.crossings = simple.Crossings()
        self.asking = ""  # the operation of the question that has no answer yet
        self.observed = {}  # by id(): the function of the library that each function of watch.py stands for
        self.operators = {
            "call": self.call_for_candidate,
            "method": self.method_for_candidate,
            "get": self.get_for_candidate,
            "set": self.set_for_candidate,
            "delete": self.delete_for_candidate,
            "special": self.special_for_candidate,
            "next": self.next_for_candidate,
            "drain": self.drain_for_candidate,
            "copy": self.copy_for_candidate,
            "deepcopy": self.copy_for_candidate,
            "ambient": self.ambient_for_candidate,
            "step": self.steps.step,
            "watch": self.steps.watch,
            "wake": self.steps.wake,
            "call_later": self.steps.call_later,
        }

    # --- asking the candidate ---

    def before(self):
        """What the judge has to tell before it asks something."""

    def ask(self, operation, target, arguments=(), keywords=None):
        self.before()
        self.answers.clear()
        if operation not in PLAIN_QUESTIONS:
            self.crossings.note(f"a question: {operation}")
        self.asking = operation
        return super().ask(operation, target, arguments, keywords)

    def call(self, function, number, arguments, keywords):
        if keywords or self.sharing.by_number or self.dead or number is None:
            return self.ask("call", function, arguments, keywords)
        for argument in arguments:
            if type(argument) not in wire.BRIEF_TYPES or argument != argument:  # a NaN has an identity
                return self.ask("call", function, arguments, keywords)
        self.before()
        self.answers.clear()
        if self.lost is not None:
            raise Lost
        data = dumps((number, arguments), 2)
        with self.lock:
            news = self.news()
            if news is None and len(data) < wire.BRIEF_MAX:
                what, value = self.exchange(b"\xfe" + data)
            else:
                what, value = self.exchange(self.question("call", function, arguments, keywords, news))
        if what == "!":
            raise self.raised("call", value)
        return value

    def ask_pure(self, key, operation, target, arguments=()):
        """An answer stays until the next call, assignment or callback."""
        if key in self.answers:
            return self.answers[key]
        self.crossings.note(f"a question: {operation}")
        self.asking = operation
        value = super().ask(operation, target, arguments)
        self.answers[key] = value
        return value

    def crossed(self, objects, is_answer):
        """Notes what in a message makes a run in two processes another than one in a single process."""
        if self.crossings.why or self.asking == "load":
            return
        if self.sharing.survivors:
            self.crossings.note("a container that lives on")
        allowed = PLAIN_AND_FUNCTION if self.asking == "global" or not is_answer else PLAIN_CROSSING
        for value in objects:
            if type(value) not in allowed:
                self.crossings.note(type(value).__name__)
                return

    def end(self):
        """Ends the candidate, without an answer."""
        self.send(self.write(("?", None, "end", None, (), ())))

    def confirm(self, data):
        """Has the plain process run a job, DATA. Returns its answer."""
        if self.transcript is not None:
            self.transcript.sent(data)
        answer = plain.exchange(self.fds, self.status_fd, data)
        if self.transcript is not None:
            self.transcript.received(answer)
        return answer

    def get(self, value, name):
        return self.ask_pure(("get", self.mark_of(value), name), "get", value, (name,))

    def mark_of(self, value):
        """What tells VALUE from all others. An address would be that of another object once VALUE is gone."""
        number = self.stand_in_numbers.get(id(value))
        return ("at", id(value)) if number is None else number

    def property(self, info, value, name):
        self.check_named(info, value, name)
        return self.get(value, name)

    def check_named(self, info, value, name):
        if not info.named:
            raise Refused(f"{name} of {info.name} does not answer: the tests do not name that class")

    def is_theirs(self, value):
        return id(value) in self.stand_in_numbers or id(type(value)) in self.infos

    # --- what the tests may do with special methods ---

    def special(self, info, name, function, value, arguments, keywords):
        number = self.stand_in_numbers.get(id(value))
        here = self.infos.get(id(type(value)))
        if here is not None and here.is_here and function is not None:
            return self.ask("call", function, (value, *arguments), keywords)
        if not info.named and name != "__call__":
            return self.default(info, name, value, arguments)
        if name in COMPARISONS:
            return self.compare(name, function, value, arguments)
        if name in ARITHMETIC or name in UNARY and not (name == "__round__" and number not in self.tainted):
            return self.operate(name, function, value, arguments)
        if name == "__exit__" or name == "__aexit__":
            return self.leave(name, function, value, arguments)
        if number in self.tainted and name != "__call__":
            raise Refused(f"{name} of an object that was made of a value of the tests'")
        kind = CONVERSIONS.get(name)
        if kind is not None:
            return _exactly(kind, self.pure_special(name, function, value, arguments))
        if name in ("__next__", "__anext__"):
            return self.ask("special", value, (name,))
        if name in ("__getitem__", "__contains__"):
            return self.pure_special(name, function, value, arguments)
        return super().special(info, name, function, value, arguments, keywords)

    def pure_special(self, name, function, value, arguments):
        key = ("special", name, self.mark_of(value), *map(self.key_of, arguments))
        if function is not None:
            operation, target, given = "call", function, (value, *arguments)
        else:
            operation, target, given = "special", value, (name, *arguments)
        if any(type(part) is object for part in key):
            return self.ask(operation, target, given)
        return self.ask_pure(key, operation, target, given)

    def key_of(self, value):
        """Something equal for the same argument; a new object where there is no such thing."""
        if type(value) in (int, str, bool, float, bytes, type(None)):
            return type(value), value
        number = self.stand_in_numbers.get(id(value))
        return object() if number is None else ("theirs", number)

    def default(self, info, name, value, arguments):
        """What an object of a class that the tests do not name does: truth and identity of any object."""
        base = describe.solid_base(type(value))
        if base is not object and base is not type and hasattr(base, name):
            return getattr(base, name)(value, *arguments)
        if name == "__eq__" or name == "__ne__":
            return NotImplemented
        if name == "__hash__":
            return object.__hash__(value)
        if name == "__bool__":
            return base.__len__(value) > 0 if hasattr(base, "__len__") else True
        if name in ("__repr__", "__str__"):
            return object.__repr__(value)
        if name == "__format__":
            return object.__format__(value, *arguments)
        raise Refused(f"{name} of {info.name} does not answer: the tests do not name that class")

    def compare(self, name, function, value, arguments):
        """Decides only between two objects of the code."""
        if len(arguments) != 1 or not self.is_theirs(arguments[0]):
            return NotImplemented
        return self.pure_special(name, function, value, arguments)

    def operate(self, name, function, value, arguments):
        """`abs(f(x) - 2) < 0.1` shows the expected value to whatever f(x) is, which could subtract it from
        itself. So the result of an operator with a value of the judge's is never plain data, and refuses to
        become some."""
        if function is not None:
            result = self.ask("call", function, (value, *arguments))
        else:
            result = self.ask("special", value, (name, *arguments))
        if result is NotImplemented:
            return result
        numbers = [self.stand_in_numbers.get(id(part)) for part in (value, *arguments)]
        if None in numbers or not self.tainted.isdisjoint(numbers):
            made = self.stand_in_numbers.get(id(result))
            if made is None or not issubclass(type(result), self.Instance):
                raise Refused("an object of the code turns into plain data in an expression with a value of the tests'")
            self.tainted.add(made)
        return result

    def leave(self, name, function, value, arguments):
        """A context manager of the code may suppress what the tests raise, but no failure of theirs."""
        kind, error = arguments[0], arguments[1]
        if function is not None:
            result = self.ask("call", function, (value, kind, error, None))
        else:
            result = self.ask("special", value, (name, kind, error, None))
        if kind is None or isinstance(error, (AssertionError, Refused, Lost)):
            return asynchronous.false_after(result) if name == "__aexit__" else False
        return result

    # --- making stand-ins ---

    def make_class(self, number, parts):
        if len(parts) == 9 and type(parts[5]) is tuple:
            parts = (*parts[:5], tuple(map(self.original, parts[5])), *parts[6:])
        made = super().make_class(number, parts)
        info = self.infos[id(made)]
        info.named = info.named or any(one in self.named_classes for one in (number,))
        return made

    named_classes = frozenset()

    def name(self, kind):
        """The tests name a class of the candidate's: its special methods answer, and those of its bases."""
        for one in kind.__mro__:
            info = self.infos.get(id(one))
            if info is not None:
                info.named = True

    def make_library_object(self, number, parts):
        kind, module, qualified = parts
        if kind != "Y" or type(module) is not str or type(qualified) is not str:
            raise WireError("a name of the library")
        if module == "builtins" and qualified in wire.TYPES:
            return self.built_in(wire.TYPES[qualified])
        if module in CLASSES_KNOWN or module in sys.modules and module.partition(".")[0] in sys.stdlib_module_names:
            value = describe._path(module, qualified) if module in sys.modules else None
            if value is None and module in CLASSES_KNOWN and module != "numpy":
                __import__(module)
                value = describe._path(module, qualified)
            is_known = module in CLASSES_KNOWN or classes.is_exception(value)
            if isinstance(value, type) and is_known:
                return value
        return self.opaque_class(module, qualified)

    def opaque_class(self, module, qualified):
        """A class of the library that the judge does not take as its own: it can be compared and no more."""
        key = ("class", module, qualified)
        made = self.library_classes.get(key)
        if made is None:
            names = {"__module__": module, "__qualname__": qualified}
            made = self.library_classes[key] = type(mirrors.checked_name(qualified), (), names)
        return made

    def make_module(self, number, parts):
        name = parts[1]
        if type(name) is str and name in sys.modules and name in sys.stdlib_module_names:
            return sys.modules[name]
        raise WireError("an unknown module")

    def specials_of_library(self, module, qualified, specials):
        """Those of the judge's own class of that name: the candidate cannot add any."""
        if module.partition(".")[0] in MODULES_KNOWN and module.partition(".")[0] in sys.stdlib_module_names:
            __import__(module if module in CLASSES_KNOWN else module.partition(".")[0])
        kind = describe._path(module, qualified)
        if kind is None:
            kind = HIDDEN_TYPES.get((module, qualified))
        if isinstance(kind, type) and self.is_plain(kind):
            raise WireError("a value that is an object")
        if not isinstance(kind, type) or self.is_value(kind):
            return ()
        return tuple(name for name in describe.specials_of(kind) if name not in HOLLOW)

    @staticmethod
    def is_plain(kind):
        """Returns whether an honest description of an instance is never one of an object of the library."""
        plain = (*PLAIN, type(...), type(NotImplemented), describe.FUNCTION, describe.BOUND_METHOD)
        is_one = any(kind is one for one in plain) or wire.container_tag(kind) is not None
        return is_one or classes.is_exception(kind) or issubclass(kind, type)

    @staticmethod
    def is_value(kind):
        """Returns whether instances of a class cross as values: none of them stays on the other side, where
        it could answer now one thing and now another."""
        plain = (*describe.IMMUTABLE_BASES, *describe.MUTABLE_BASES, bool)
        return kind in plain or wire.container_tag(kind) is not None or values.has_parts(kind)

    def class_shown(self, info, kind):
        module, qualified = info.library
        found = describe._path(module, qualified) or HIDDEN_TYPES.get((module, qualified))
        return found if isinstance(found, type) else kind

    def may_make(self, kind):
        return id(kind) in self.infos or isinstance(kind, type) and _is_of_tests(kind)

    def make_exception(self, number, parts):
        if len(parts) != 8 or not classes.is_exception(parts[1]):
            raise WireError("a bad exception")
        kind = self.original(parts[1])
        if kind is SystemExit:
            kind = CandidateExit
        error = classes.rebuild(self.mixed_with_aliases(kind), *parts[2:])
        if isinstance(error, ModuleNotFoundError):
            self.missing.append(error)
        return error

    def has_raised(self, error):
        """Returns whether a ModuleNotFoundError came from the code."""
        return any(error is one for one in self.missing)

    def raised(self, operation, error, arguments=()):
        kind = type(error)
        self.crossings.note("an exception")
        if kind in (ImportError, PermissionError) and error.args == ("denied",):
            self.denied = True
        # Raised by a plain call it would silently end a loop elsewhere: map() would stop, and all() of
        # nothing is true.
        may_end = operation in ("next", "step") or operation == "special" and arguments[0] in ENDING
        if isinstance(error, (StopIteration, StopAsyncIteration)) and not may_end:
            return RuntimeError(f"candidate raised {kind.__name__}")
        is_skipping = any(one.__name__ in SKIPPING and _root(one) in FRAMEWORKS for one in kind.__mro__)
        if is_skipping or aliases.is_control(kind):
            return RuntimeError(f"candidate raised {kind.__name__}")
        return error

    # --- exception classes that the code merely renames ---

    def alias(self, kind):
        """Returns a class that stands for a built-in exception class under a name of the code's: it catches
        what the code raises, and nothing that the judge raises itself."""
        made = self.aliases.get(kind)
        if made is None:
            made = self.aliases[kind] = Alias(kind.__name__, (kind,), {"__module__": "candidate"})
            made.original = kind
            self.originals[id(made)] = kind
        return made

    def built_in(self, kind):
        """A built-in class that arrives as a value, from wherever: `except Account.Error` is no better than
        `except Error`."""
        return self.alias(kind) if any(kind is one for one in FAILURES) else kind

    def original(self, kind):
        return self.originals.get(id(kind), kind)

    def export(self, writer, value):
        original = self.originals.get(id(value))
        if original is None:
            super().export(writer, self.observed.get(id(value), value))
        else:
            writer.node_of(original)

    def without_aliases(self, name, value):
        """The value of a global name of the code's, as the tests see it."""
        if type(value) is tuple:
            return tuple(self.without_aliases(name, part) for part in value)
        if id(value) in self.originals:
            return self.original(value) if value.__name__ == name else value
        is_own = classes.is_exception(value) and id(value) not in self.stand_in_numbers
        return self.alias(value) if is_own and value.__name__ != name else value

    def mixed_with_aliases(self, kind):
        if not self.aliases:
            return kind
        above = tuple(alias for original, alias in self.aliases.items() if issubclass(kind, original))
        if not above:
            return kind
        key = (kind, len(self.aliases))
        made = self.alias_mixtures.get(key)
        if made is None:
            try:
                above = sorted(above, key=lambda alias: -len(alias.__mro__))
                bases = above if any(issubclass(alias, kind) for alias in above) else (kind, *above)
                made = type(kind.__name__, tuple(bases), {"__module__": kind.__module__})
                self.originals[id(made)] = kind
            except TypeError:
                made = kind
            self.alias_mixtures[key] = made
        return made

    # --- what the candidate may do ---

    def describe(self, value):
        if type(value) in FORBIDDEN:
            raise WireError(f"a {type(value).__name__} is not for the code")
        return super().describe(value)

    def handle(self, operation, target, arguments, keywords):
        self.answers.clear()
        self.crossings.note("a callback")
        handler = self.operators.get(operation)
        if handler is None:
            raise WireError("an unknown question")
        if operation in ("wake", "call_later", "ambient"):
            return handler(*arguments)
        if id(target) not in self.export_numbers and not self.is_shared_copy(target):
            raise WireError("a question about an unknown object")
        return handler(target, *arguments, **keywords)

    def is_shared_copy(self, value):
        return id(value) in self.sharing.by_id

    @staticmethod
    def call_for_candidate(target, /, *arguments, **keywords):
        if not _may_be_called(target):
            raise TypeError("not for the code")
        return target(*arguments, **keywords)

    def method_for_candidate(self, target, name, /, *arguments, **keywords):
        return self.call_for_candidate(self.get_for_candidate(target, name), *arguments, **keywords)

    @staticmethod
    def get_for_candidate(target, name):
        if type(name) is not str or name.startswith("__") and name not in SHOWN:
            raise AttributeError(name)
        if type(target) in CLOSED and name not in ("send", "throw", "close"):
            raise AttributeError(name)
        of_class = target if isinstance(target, type) else type(target)
        of_tests = _is_of_tests(of_class)
        if _is_of_framework(of_class) and (name == "__dict__" or name not in SHOWN and not _is_own(target, name)):
            raise AttributeError(name)
        if name == "__dict__":
            # A copy: what is written into the dictionary itself would take precedence over methods.
            if isinstance(target, type) or not of_tests and type(target) is not describe.FUNCTION:
                raise AttributeError(name)
            return dict(vars(target))
        if name.startswith("_") and not of_tests and name not in SHOWN:
            raise AttributeError(name)
        if type(target) is describe.FUNCTION and name not in vars(target):
            raise AttributeError(name)
        value = getattr(target, name)
        if type(value) in (describe.FUNCTION, describe.BOUND_METHOD, describe.BOUND) and not _may_be_called(value):
            raise AttributeError(name)
        return value

    @staticmethod
    def set_for_candidate(target, name, value):
        is_class = isinstance(target, type)
        of_class = target if is_class else type(target)
        if type(name) is str and _is_mock(of_class.__mro__[min(1, len(of_class.__mro__) - 1)]) and not is_class:
            is_closed = name.startswith(("_", "assert")) or hasattr(of_class, name)
        else:
            is_closed = type(name) is not str or name.startswith("__") or not _is_of_tests(of_class)
        if is_closed or _is_of_framework(of_class):
            raise AttributeError(f"{name} is not for the code")
        if is_class and hasattr(target, name) or not is_class and not classes.may_be_set(type(target), name):
            raise AttributeError(f"{name} is not for the code")
        setattr(target, name, value)

    @staticmethod
    def delete_for_candidate(target, name):
        of_class = type(target)
        if type(name) is not str or name.startswith("__") or not _is_of_tests(of_class) or _is_of_framework(of_class):
            raise AttributeError(f"{name} is not for the code")
        delattr(target, name)

    @staticmethod
    def special_for_candidate(target, name, /, *arguments, **keywords):
        is_method = name in SPECIALS or name in ("send", "throw") and type(target) is describe.GENERATOR
        if not is_method or type(target) in FORBIDDEN or isinstance(target, type):
            raise TypeError("not for the code")
        if name == "__call__" and not _may_be_called_inside(target):
            raise TypeError("not for the code")
        if _is_of_framework(type(target)) and name not in ("__eq__", "__hash__", "__repr__", "__str__"):
            raise TypeError("not for the code")
        return describe.special_method(target, name)(*arguments, **keywords)

    def ambient_for_candidate(self, kind, arguments):
        if type(kind) is not str or type(arguments) is not tuple:
            raise WireError("a bad request")
        return self.ambient.called(kind, membrane.thawed(arguments) if kind == "events" else arguments)

    @staticmethod
    def next_for_candidate(target):
        return next(target)

    @staticmethod
    def drain_for_candidate(target):
        items = []
        for item in target:
            items.append(item)
            if len(items) == 1000:
                break
        return tuple(items)

    @staticmethod
    def copy_for_candidate(target):
        import copy

        if not _is_of_tests(type(target)):
            raise TypeError("not for the code")
        return copy.deepcopy(target)


PLAIN_QUESTIONS = ("load", "global", "call", "share")
PLAIN_CROSSING = frozenset((type(None), bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, range))
PLAIN_AND_FUNCTION = PLAIN_CROSSING | {describe.FUNCTION}
SHOWN = ("__name__", "__doc__", "__qualname__", "__module__", "__dataclass_fields__", "__dict__",
         "__dataclass_params__", "_field_type")  # fmt: skip


def _hidden_types():
    """Types that no module has under the name that they give."""
    found = [type(iter(one)) for one in ([], (), {}, set(), "", b"", range(0), {}.values(), {}.items())]
    found += [type(reversed([])), type((i for i in ())), describe.FUNCTION, describe.BOUND_METHOD]
    found += [type(iter(int, 0)), type(map), type(zip())]

    async def coroutine():
        pass

    async def generator():
        yield

    running, stepping = coroutine(), generator().asend(None)
    running.close()
    stepping.close()
    found += [type(running), type(stepping), type(generator()), type(generator().athrow(ValueError))]
    return {(one.__module__, one.__qualname__): one for one in found}


HIDDEN_TYPES = _hidden_types()
