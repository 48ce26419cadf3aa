# SPDX-License-Identifier: MIT
"""The judge's side of the wire: what the candidate defines, as far as the tests can see it.

Answers are data. The candidate decides what a function returns and what an object's attributes are; it does
not decide how two values of the judge compare. The rules are in `special` and `handle`: the first says what
the tests may do with an object of the candidate's, the second what the candidate may do with an object of
the tests'."""

from _thread import get_ident
from marshal import dumps

import alarms
import aliases
import bodies
import callbacks
import classes
import conversation
import describe
import endings
import gates
import library
import membrane
import operators
import plain
import plain_methods
import simple
import stand_ins
import trusted
import unheard
import unreached
import walks
import wire
from callbacks import PLAIN, TESTS  # noqa: F401  for judge.py
from describe import ARITHMETIC, COMPARISONS, CONVERSIONS, UNARY
from membrane import Lost
from operators import Refused, exactly
from stand_ins import CandidateExit
from suite import HAS_CROSSED
from wire import WireError

# Exceptions by which a test framework says that a test has not failed.
SKIPPING = ("SkipTest", "_ShouldStop", "_UnexpectedSuccess", "Skipped", "XFailed", "Exit")
# What may end an iteration by an exception.
ENDING = ("__next__", "__anext__", "send", "throw")

# Protocols that a class may take part in, if the tests name it: what they lead to is data.
ANSWERED = ("__array__", "__class_getitem__")
# What no function of the code's may suppress.
FAILING = (AssertionError, Refused, Lost)


def not_for_code(*_):
    """In the place of operations that a stand-in asks for on either side, and the tests' side never does."""


class Link(stand_ins.Makers):
    def __init__(self, read_fd, write_fd, status_fd):
        super().__init__(read_fd, write_fd, 0)
        self.status_fd = status_fd
        self.named_names = frozenset()  # global names by which the tests name classes of the candidate's
        self.shadows = set()
        self.tainted = set()  # numbers of objects that an operator made of a value of the judge's
        self.closed = set()  # those of them whose attributes do not answer either: made of an array
        self.differences = set()  # of these, what was made of a difference
        self.on_mocks = set()  # numbers of objects that the code has made attributes of the tests' mocks
        self.constructed = operators.Constructed(self)
        self.walks = walks.Walks()
        self.leaving = []  # exceptions that end a test, raised by the tests in callbacks of the question
        self.function_attributes = gates.FunctionAttributes()
        self.answers = {}  # to pure questions, since the last other one
        self.denied = False
        self.tasks = None  # what the code is told of tasks (tasks.py), if it looks at them
        self.crossings = simple.Crossings()
        self.sources = {}  # texts of the tests, by file name
        self.failures = unheard.Failures(self.sources, self.export_numbers)
        self.main = get_ident()
        self.asking = ""  # the operation of the question that has no answer yet
        self.asks_special = False  # it calls a special method
        self.observed = {}  # by id(): the function of the library that each function of watch.py stands for
        self.operators = {
            "call": callbacks.call,
            "method": callbacks.method,
            "get": callbacks.get_attribute,
            "set": self.set_for_candidate,
            "delete": callbacks.delete_attribute,
            "put": self.put_for_candidate,
            "drop": self.put_for_candidate,
            "dir": callbacks.directory,
            "special": callbacks.special,
            "next": callbacks.next_item,
            "drain": callbacks.drain,
            "copy": callbacks.deep_copy,
            "deepcopy": callbacks.deep_copy,
            "ambient": self.ambient_for_candidate,
            "within": self.call_within,
            "captured": not_for_code,  # see handle()
            "step": self.step_for_candidate,
            "watch": self.watch_for_candidate,
            "wake": self.steps.wake,
            "call_later": self.steps.call_later,
            **dict.fromkeys(("derive", "pickle", "unpickle"), not_for_code),
        }

    # --- asking the candidate ---

    def before(self):
        """What the judge has to tell before it asks something."""

    def tell_task(self, number, name, parent):
        super().ask("task", None, (number, name, parent))

    def ask(self, operation, target, arguments=(), keywords=None):
        self.before()
        if self.tasks is not None:
            self.tasks.tell()
        self.answers.clear()
        if operation not in STEPPING and not (operation == "special" and arguments[0] == "__next__"):
            self.walks.forget()
        self.has_asked = self.has_asked or operation not in UNHEARD_OF
        if operation not in PLAIN_QUESTIONS:
            self.crossings.note(f"a question: {operation}")
        self.asking = operation
        if any(type(one) is callbacks.TRACEBACK for one in arguments):
            arguments = unreached.without_traceback(arguments, callbacks.TRACEBACK, self.sources, FAILING)
        number = self.stand_in_numbers.get(id(target)) if target is not None else None
        if number in self.tainted:
            result = self.ask_tainted(number, operation, target, arguments, keywords)
        else:
            result = super().ask(operation, target, arguments, keywords)
        if self.differences:
            self.follow(self.differences, target, result)
        return result

    def ask_tainted(self, number, operation, target, arguments, keywords):
        is_sent = operation == "special" and arguments[0] in ("send", "throw")
        if operation in ("pickle", "next", "drain", "step") or is_sent:
            raise Refused(f"{operation} of an object that was made of a value of the tests'")
        result = super().ask(operation, target, arguments, keywords)
        made = self.stand_in_numbers.get(id(result))
        if operation in ("copy", "deepcopy"):
            if made is None:
                raise Refused("a copy of an object of the code is none")
            self.tainted.add(made)
            self.closed.update({made} if number in self.closed else ())
        return result

    def follow(self, numbers, source, value):
        """What comes of an object with one of NUMBERS is as that one."""
        made = self.stand_in_numbers.get(id(value))
        if made is not None and self.stand_in_numbers.get(id(source)) in numbers:
            numbers.add(made)

    def call(self, function, number, arguments, keywords):
        if keywords or self.sharing.by_number or self.dead or number is None:
            return self.ask("call", function, arguments, keywords)
        for argument in arguments:
            if type(argument) not in wire.BRIEF_TYPES or argument != argument:  # a NaN has an identity
                return self.ask("call", function, arguments, keywords)
        self.before()
        if self.tasks is not None:
            self.tasks.tell()
        self.answers.clear()
        self.walks.forget()
        self.has_asked = True
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
        """An answer stays until the next call, assignment or callback, or change of what the code has, too."""
        if key in self.answers and self.sharing.has_changed():
            self.answers.clear()
        if key in self.answers:
            return self.answers[key]
        self.crossings.note(f"a question: {operation}")
        if self.tasks is not None:
            self.tasks.tell()
        self.asking, self.has_asked = operation, True
        value = super().ask(operation, target, arguments)
        self.answers[key] = value
        return value

    def crossed(self, objects, is_answer):
        """Notes what in a message makes a run in two processes another than one in a single process."""
        if self.crossings.why or self.asking == "load":
            return
        if self.sharing.survivors:
            self.crossings.note("a container that lives on")
        # The function that is called, or the global name's.
        self.crossings.values(objects, 1 if self.asking == "global" or not is_answer else 0)

    def end(self):
        """Ends the candidate, without an answer."""
        try:
            self.send(self.write(("?", None, "end", None, (), ())))
        except OSError:  # it has ended itself
            self.lost = ""  # nobody asks it to rest any more
            raise Lost from None

    def confirm(self, data):
        """Has the plain process run a job, DATA. Returns its answer."""
        if self.transcript is not None:
            self.transcript.sent(data)
        answer = plain.exchange(self.fds, self.status_fd, data)
        if answer is None:
            raise Lost
        if self.transcript is not None:
            self.transcript.received(answer)
        return answer

    def get(self, value, name):
        info = self.infos.get(id(value if isinstance(value, type) else type(value)))
        number = self.stand_in_numbers.get(id(value))
        if trusted.is_protocol(name) and not (name in ANSWERED and info is not None and info.fully_named() and not info.library):
            raise AttributeError(f"{name} of an object of the code's does not answer")
        if number in self.tainted and (info is None or info.library or trusted.is_protocol(name)):
            raise Refused(f"{name} of an object that was made of a value of the tests'")
        if name in gates.SKIPPING_NAMES or name in gates.MOCK_NAMES and number in self.on_mocks:
            raise AttributeError(name)
        if name in gates.MOCK_ASSERTS and describe.is_enumeration(type(value)) and not (info and info.fully_named()):
            raise AttributeError(name)
        found = self.ask_pure(("get", self.mark_of(value), name), "get", value, (name,))
        self.follow(self.on_mocks, value, found)
        self.follow(self.differences, value, found)
        if name in gates.COMPARING and callable(found) and (info is None or info.library or not info.fully_named()):
            return plain_methods.compared(self, found, name)
        return found

    def read(self, data):
        found = super().read(data)
        self.function_attributes.clean()
        return found

    def make_function(self, number, parts):
        made = super().make_function(number, parts)
        attributes = vars(made)
        if attributes is parts[6]:
            self.function_attributes.watch(attributes)
        else:
            gates.drop(attributes, gates.SKIPPING_NAMES | gates.MOCK_ASSERTS | gates.COMPARING)
            if type(parts[6]) is dict:
                self.function_attributes.watch(parts[6])
        return made

    def mark_of(self, value):
        """What tells VALUE from all others. An address would be that of another object once VALUE is gone."""
        number = self.stand_in_numbers.get(id(value))
        return ("at", id(value)) if number is None else number

    def attribute(self, value, name):
        if self.closed and self.stand_in_numbers.get(id(value)) in self.closed and name not in membrane.LOCAL:
            raise Refused(f"{name} of an object that was made of an array of the tests'")
        seen = self.differences or self.constructed.seen_here
        if name in gates.MOCK_NAMES or seen and name in gates.REDUCTIONS:
            number = self.stand_in_numbers.get(id(value))
            if number in self.differences or self.constructed.has_seen(value):
                raise Refused(f"{name} of a difference to a value of the tests'")
            info = self.infos.get(id(type(value)))
            if number in self.on_mocks or name in gates.MOCK_ASSERTS and info is not None and not info.fully_named():
                raise AttributeError(name)
        return super().attribute(value, name)

    def may_use(self, value, name):
        if self.stand_in_numbers.get(id(value)) in self.tainted:
            raise Refused(f"{name} of an object that was made of a value of the tests'")

    def check_named(self, info, value, name):
        if not info.named:
            raise Refused(f"{name} of {info.name} does not answer: the tests do not name that class")

    def is_numbered(self, value):
        """Returns whether VALUE is hashed by the number of a stand-in (mirrors.py), or as the code says."""
        return id(type(value)) in self.infos and isinstance(value, self.Instance) and not self.is_here(value)

    def is_theirs(self, value):
        return id(value) in self.stand_in_numbers or id(type(value)) in self.infos

    # --- what the tests may do with special methods ---

    def special(self, info, name, function, value, arguments, keywords):
        number = self.stand_in_numbers.get(id(value))
        if isinstance(value, type):  # what its metaclass defines answers as the class does
            info = self.infos.get(id(value), info)
        here = self.infos.get(id(type(value)))
        if here is not None and here.is_here and function is not None:
            return self.constructed.special_here(name, function, value, arguments, keywords)
        if name != "__call__" and not (info.fully_named() or plain_methods.answers(info, name, value)):
            return self.default(info, name, value, arguments)
        if name in COMPARISONS:
            return self.compare(name, function, value, arguments)
        if name in ARITHMETIC or name in UNARY and not (name == "__round__" and number not in self.tainted):
            return self.operate(name, function, value, arguments)
        if name == "__exit__" or name == "__aexit__":
            return self.leave(name, function, value, arguments)
        if (number in self.tainted or number in self.differences) and name != "__call__":
            raise Refused(f"{name} of an object that was made of a value of the tests'")
        kind = CONVERSIONS.get(name)
        if kind is not None:
            return exactly(kind, self.pure_special(name, function, value, arguments))
        if name in ("__next__", "__anext__"):
            made = self.ask("special", value, (name,)) if number not in self.walks.ended_for_good else None
            return self.walks.step_of(number, made) if name == "__anext__" and info.library else made
        if name in ("__getitem__", "__contains__"):
            return self.item(name, function, value, arguments)
        if name == "__iter__" and (info.library or not info.fully_named()) and number is not None:
            made = self.walks.without_forgetting(super().special, info, name, function, value, arguments, keywords)
            return self.walks.steps(number, made, made is value or info.library is not None) if hasattr(type(made), "__next__") else made
        return super().special(info, name, function, value, arguments, keywords)

    def pure_special(self, name, function, value, arguments):
        key = ("special", name, self.mark_of(value), *map(self.key_of, arguments))
        if function is not None:
            operation, target, given = "call", function, (value, *arguments)
        else:
            operation, target, given = "special", value, (name, *arguments)
        self.asks_special = True
        try:
            if any(type(part) is object for part in key):
                return self.ask(operation, target, given)
            return self.ask_pure(key, operation, target, given)
        finally:
            self.asks_special = False

    def item(self, name, function, value, arguments):
        """That there is no item stays an answer, as any item does."""
        end = ("end", self.mark_of(value), *map(self.key_of, arguments))
        if end in self.answers:
            raise IndexError(*self.answers[end])
        try:
            return self.pure_special(name, function, value, arguments)
        except IndexError as error:
            self.answers[end] = error.args
            raise

    def has_ended(self, number):
        return number in self.walks.ended

    def notes_end(self, number):
        self.walks.ended.add(number)

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
        if base is type and hasattr(type, name):
            return getattr(type, name)(value, *arguments)
        if name == "__eq__" or name == "__ne__":
            return NotImplemented if self.is_theirs(arguments[0]) else library.compare_parts(self, name, value, arguments[0])
        if name == "__hash__":
            return self.Instance.__hash__(value) if isinstance(value, self.Instance) else object.__hash__(value)
        if name == "__bool__":
            return base.__len__(value) > 0 if hasattr(base, "__len__") else True
        if name in ("__repr__", "__str__"):
            return object.__repr__(value)
        if name == "__format__":
            return object.__format__(value, *arguments)
        if name in ("__instancecheck__", "__subclasscheck__") and base is type:
            return getattr(type, name)(value, *arguments)
        why = "call it as a function" if info.named else "do not name that class"
        raise Refused(f"{name} of {info.name} does not answer: the tests {why}")

    def compare(self, name, function, value, arguments):
        """Decides only between two objects of the code."""
        if len(arguments) != 1:
            return NotImplemented
        if function is None and library.compares_items(value) and (
            self.is_here(value) or not self.is_theirs(arguments[0])
        ):
            return library.compare_items(name, value, arguments[0])
        if not self.is_theirs(arguments[0]):
            return library.compare_parts(self, name, value, arguments[0])
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
        is_tainted = not self.tainted.isdisjoint(numbers) or any(map(self.constructed.has_seen, (value, *arguments)))
        if is_tainted or None in numbers and not self.constructed.are_of_code(value, arguments):
            made = self.stand_in_numbers.get(id(result))
            is_object = self.constructed.is_object(result)
            if not is_tainted and self.constructed.may_tell(name, value, arguments, is_object):
                if is_object:
                    self.constructed.has_made(result)  # `str(Vector(1, 2) * 3)`
                return result
            if not is_object:
                raise self.failures.refused("an object of the code turns into plain data in an expression with a value of the tests'")
            if made is None:
                return self.constructed.taint(result)
            self.tainted.add(made)
            if any(type(one).__name__ == "ndarray" for one in arguments) or not self.closed.isdisjoint(numbers):
                self.closed.add(made)
            if gates.subtracts(name, value) or not self.differences.isdisjoint(numbers):
                self.differences.add(made)
        return result

    def leave(self, name, function, value, arguments):
        given = (arguments[0], arguments[1], None)
        ask = (self.ask, "call", function, (value, *given)) if function is not None else (self.ask, "special", value, (name, *given))
        return unheard.left(self.failures, given[1], name == "__aexit__", *ask)

    def exchange(self, message):
        mark, failed = len(self.leaving), self.failures.mark()
        operation, self.asks_special = "special" if self.asks_special else self.asking, False
        try:
            what, value = super().exchange(message)
        except BaseException:
            del self.leaving[mark:]
            raise
        self.is_left = what == "!" and any(value is one for one in self.leaving[mark:])
        del self.leaving[mark:]
        if what == "!" and unheard.is_heard(operation, value):
            self.failures.raised(value, failed)
        return what, value

    has_asked = False  # the tests have asked something of the code
    is_left = False  # the last answer was an exception that the tests had raised in a callback

    def raised(self, operation, error, arguments=()):
        kind = type(error)
        self.crossings.note("an exception")
        if kind in (ImportError, PermissionError) and error.args == ("denied",):
            self.denied = True
        # Raised by a plain call it would silently end a loop elsewhere: map() would stop, and all() of
        # nothing is true.
        may_end = operation in ("next", "step") or operation == "special" and arguments[0] in ENDING
        is_ending = endings.ends(kind, self.main) and not self.may_end(operation, arguments, kind)
        if not self.is_left and (is_ending or endings.is_unheard(kind, self.main, self.sources)):
            return RuntimeError(f"candidate raised {kind.__name__}")
        if kind is SystemExit and not self.is_left:
            return CandidateExit(*error.args)
        if isinstance(error, (StopIteration, StopAsyncIteration)) and not may_end:
            return RuntimeError(f"candidate raised {kind.__name__}")
        is_skipping = any(id(one) in self.tamed or one.__name__ in SKIPPING and callbacks.root_of(one) in callbacks.FRAMEWORKS for one in kind.__mro__)
        if is_skipping or aliases.is_control(kind):
            return RuntimeError(f"candidate raised {kind.__name__}")
        return error

    def may_end(self, operation, arguments, kind):
        """As endings.may_close(). Tests that cancel know what comes of it, where they wait for what they cancelled."""
        if operation == "step" and not issubclass(kind, GeneratorExit):
            if endings.are_cancelled(self.sources):
                return True
        return endings.may_close(operation, arguments, kind)

    # --- what the candidate may do ---

    def describe(self, value):
        if type(value) in callbacks.FORBIDDEN:
            raise WireError(f"a {type(value).__name__} is not for the code")
        name = self.modules.get(id(value))
        return super().describe(value) if name is None else ("m", name)

    def handle(self, operation, target, arguments, keywords):
        self.answers.clear()
        self.walks.forget()
        self.crossings.note("a callback")
        handler = self.operators.get(operation)
        if handler is None:
            raise WireError("an unknown question")
        if operation in ("wake", "call_later", "ambient"):
            return handler(*arguments)
        if operation == "captured":
            return self.ambient.captures.run(arguments[0], lambda: self.handle(arguments[1], target, arguments[2:], keywords))
        if handler is not_for_code:
            raise TypeError("not for the code")
        if id(target) not in self.export_numbers and not self.is_without_number(target):
            raise WireError("a question about an unknown object")
        if endings.cancels(operation, target, arguments, self.sources) and not endings.are_cancelled(self.sources):
            raise TypeError("not for the code: the tests cancel nothing")
        try:
            result = handler(target, *arguments, **keywords)
            self.constructed.give_to_code(operation, target, result)
            self.failures.passed(operation, target, arguments)
            return result
        except BaseException as error:
            self.failures.note(error, operation, target, arguments)
            is_exit = isinstance(error, (SystemExit, KeyboardInterrupt, GeneratorExit))
            if is_exit and callbacks.is_raised_by_tests(error):
                self.leaving.append(error)
                setattr(error, HAS_CROSSED, True)
            raise
        finally:
            self.answers.clear()  # what the tests have asked here, the code may change when it goes on

    def is_without_number(self, value):
        """Returns whether VALUE is something of the tests' that the code knows otherwise: a container, or a member of an
        enumeration, which its class and its name tell."""
        kind = type(value)
        is_member = describe.is_enumeration(kind) and callbacks.is_of_tests(kind) and id(kind) in self.export_numbers
        return is_member or self.is_container_of_tests(value)

    def is_container_of_tests(self, value):
        """Returns whether VALUE is shared and the code has to ask for what it does: of a class that the tests derive from
        list, dict, set or bytearray. Of any other container the code has a copy that does all by itself."""
        entry = self.sharing.by_id.get(id(value))
        if entry is None or not any(entry.codec is one for one in classes.DERIVED.values()):
            return False
        return callbacks.is_of_tests(type(value))

    def step_for_candidate(self, target, how, value):
        if not callbacks.may_step(target):
            raise TypeError("not for the code")
        callbacks.no_exits((value,))
        return self.steps.step(target, how, value)

    may_be_changed = staticmethod(callbacks.may_be_changed)

    def set_for_candidate(self, target, name, value):
        callbacks.set_attribute(target, name, value, self.is_asserting)

    def call_within(self, target, seconds, operation, /, *arguments, **keywords):
        """Does what the code asks while a timer of its runs."""
        if operation not in ("call", "method", "special"):
            raise TypeError("not for the code")
        return alarms.within(self.ask, seconds, self.operators[operation], (target, *arguments), keywords)

    def put_for_candidate(self, target, name, *values):
        """Writes into the dictionary of an object of the tests', or deletes there."""
        if not callbacks.may_be_put(target, name, self.is_descriptor_of_code):
            raise AttributeError(f"{name} is not for the code")
        if values:
            (vars(target)[name],) = values
        else:
            del vars(target)[name]

    def is_descriptor_of_code(self, value):
        return id(value) in self.stand_in_numbers and isinstance(value, self.Instance)

    def has_made(self, kind, value):
        bodies.check_made(self, kind, value)
        self.constructed.note(kind, value)
        return value

    def has_set(self, value, name):
        self.shadows.add((self.stand_in_numbers.get(id(value)), name))  # even if its class has a method of that name

    def is_asserting(self, value):
        """An object becomes an attribute of a mock of the tests': it does not say how it was called. Returns
        whether it is one that could not be kept from that."""
        kind = type(value)
        if any(kind is one for one in PLAIN):
            return False
        if kind is describe.BOUND_METHOD:
            value, kind = value.__func__, type(value.__func__)
        if kind is describe.FUNCTION:
            self.function_attributes.narrow(vars(value))
            return False
        number = self.stand_in_numbers.get(id(value))
        if number is not None:
            self.on_mocks.add(number)
        if isinstance(value, type):
            return gates.asserts_itself(value)
        return number is None or not issubclass(kind, self.Instance)

    def watch_for_candidate(self, future, number):
        if not callbacks.may_step(future):
            raise TypeError("not for the code")
        return self.steps.watch(future, number)

    def ambient_for_candidate(self, kind, arguments):
        if type(kind) is not str or type(arguments) is not tuple:
            raise WireError("a bad request")
        return self.ambient.called(kind, conversation.thawed(arguments) if kind == "events" else arguments)


STEPPING = ("next", "drain")
PLAIN_QUESTIONS = ("load", "global", "call", "share")
# What the judge asks by itself, whatever the tests do.
UNHEARD_OF = ("load", "global", "share", "set_global")
