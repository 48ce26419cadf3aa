# SPDX-License-Identifier: MIT
"""The candidate's end of the pipe: runs model-written code and answers the checker's questions about it.
Nobody trusts anything here: the code that it runs can change all of it, and gains nothing by that."""

import _weakref
import builtins
import os
import sys
from marshal import loads

import blame
import captures
import classes
import conversation
import describe
import floor
import instance_dict
import membrane
import mirror
import mirrors
import plain
import program
import signatures
import suite
import tasks
import wire

NAME = "candidate"
WIRE_READ, WIRE_WRITE = 3, 4  # descriptors
NAMES_MAX = 10000
DRAINED_MAX = 4096


CALLING = ("call", "method", "special")
OWN_REFERENCES = 1  # Space.new_instance() has one, which tells when the stand-in goes


class NoLock:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


class Server(membrane.Space):
    trusted = False

    def __init__(self, read_fd, write_fd):
        super().__init__(read_fd, write_fd, 1)
        self.unfinished = {}  # exceptions that iterators raised after items that have already been sent
        self.module = type(sys)(NAME)
        self.steps.lends = True
        self.floor, self.lock = floor.Floor(), NoLock()
        self.signals = None
        self.known_weakly = {}  # by id(): stand-ins to which the code has weak references
        self.let_go_of = []  # objects that go once their __del__ may ask
        self.ambient = mirror.Mirror(self.ask_ambient, sends_objects=True)
        self.redirections = captures.Redirections(self.ambient.placed)
        self.operations = {
            "call": lambda function, /, *arguments, **keywords: function(*arguments, **keywords),
            "method": lambda value, name, /, *arguments, **keywords: getattr(value, name)(*arguments, **keywords),
            "get": getattr,
            "set": setattr,
            "delete": delattr,
            "special": special,
            "dir": dir,
            "next": next,
            "drain": self.drain,
            "derive": derive,
            "copy": copied("copy"),
            "deepcopy": copied("deepcopy"),
            "pickle": pickled,
            "unpickle": unpickled,
            "step": self.steps.step,
            "watch": self.steps.watch,
            "wake": self.steps.wake,
            "run_handle": self.steps.run_handle,
            "task": self.task,
            "load": self.load,
            "global": self.fetch,
            "set_global": self.bind,
            "execute": self.execute,
            "rest": lambda seconds: __import__("time").sleep(seconds),
            "share": self.share,
            "shared": self.shared,
            "end": lambda: os._exit(plain.END_STATUS),
        }

    def ask(self, operation, target, arguments=(), keywords=None):
        names = self.redirections.names() if operation in CALLING else ()
        if not names:
            return self.ask_with_signals(operation, target, arguments, keywords)
        try:
            return self.ask_with_signals("captured", target, (names, operation, *arguments), keywords)
        finally:
            self.redirections.write(self.ask_ambient("captured"))

    def ask_with_signals(self, operation, target, arguments, keywords):
        if self.signals is None:
            return self.ask_in_turn(operation, target, arguments, keywords)
        before = self.signals.hold()
        try:
            seconds = self.signals.seconds_left() if operation in CALLING else 0
            if seconds:
                operation, arguments = "within", (seconds, operation, *arguments)
            return self.ask_in_turn(operation, target, arguments, keywords)
        finally:
            self.signals.hold(before)

    def let_go(self, value):
        self.let_go_of.append(value)

    def ask_in_turn(self, operation, target, arguments, keywords):
        asker = self.floor.ask()
        try:
            return super().ask(operation, target, arguments, keywords)
        finally:
            self.floor.done(asker)
            self.let_go_of.clear()

    def handle_between_signals(self, *question):
        try:
            self.signals.hold(False)
            return Server.handle(self, *question)
        finally:
            self.signals.hold()

    def handle(self, operation, target, arguments, keywords):
        if operation not in WITHOUT_TARGET:
            arguments = (target, *arguments)
        if self.steps.tasks is not None and operation != "task":
            return self.steps.tasks.run(self.operations[operation], *arguments, **keywords)
        return self.operations[operation](*arguments, **keywords)

    def task(self, number, name, parent):
        """Hears which task of the tests' loop asks from now on."""
        if self.steps.tasks is None:
            self.steps.tasks = tasks.Lent()
        self.steps.tasks.enter(number, name, parent)

    def send(self, data):
        """The judge ends when it has heard enough, and this process with it: what the code has printed is out by
        then."""
        try:
            self.flush()
        except (OSError, ValueError):  # the code has closed it
            pass
        super().send(data)

    def answer(self, operation, target, arguments, keywords):
        level = self.floor.asked()
        self.let_go_of.clear()
        reply = super().answer(operation, target, arguments, keywords)
        self.keep_for_weak_references((*arguments, *keywords.values()))
        self.floor.answers(level)
        if operation == "load" and reply[0] == "!" and not isinstance(reply[1], Exception):
            raise reply[1]  # code that ends its process while it is loaded
        return reply

    def keep_for_weak_references(self, values):
        """The tests may have objects of theirs for longer than the code has the stand-ins. Those to which the code keeps
        weak references live on: it cannot be told when the tests have let theirs go."""
        for value in values:
            if type(value) is describe.BOUND_METHOD:
                value = value.__self__
            if id(type(value)) in self.infos and _weakref.getweakrefcount(value) > OWN_REFERENCES:
                self.known_weakly[id(value)] = value

    def is_brief_answer(self, data):
        """Makes the call that DATA asks for; what comes to this side in the short form is a question."""
        number, arguments = loads(data[1:])
        reply = self.answer("call", self.exports[number], arguments, {})
        news = self.news()
        if reply[0] == "=" and not self.sharing.by_number and news is None and type(reply[1]) in wire.BRIEF_TYPES:
            brief = wire.brief_answer(reply[1])
            if brief is not None and len(brief) < wire.BRIEF_MAX:
                self.send(brief)
                return False
        self.send(self.written(reply, news))
        return False

    def ask_ambient(self, kind, *arguments):
        return self.ask("ambient", None, (kind, conversation.frozen(arguments) if kind == "events" else arguments))

    def may_forget(self, parts):
        return parts[0] == "e" and classes.is_built_in(parts[1])

    def may_make(self, kind):
        return isinstance(kind, type)

    def make_library_object(self, number, parts):
        _, module, qualified = parts
        __import__(module)
        value = sys.modules[module]
        for name in qualified.split("."):
            value = getattr(value, name)
        return self.ambient.original(value)

    def heard(self, annotation):
        return signatures.heard(annotation)

    def class_of_library(self, module, qualified):
        return self.make_library_object(None, ("Y", module, qualified))

    def make_module(self, number, parts):
        return __import__(parts[1], fromlist=("",))

    def get(self, value, name):
        found = super().get(value, name)
        if name == "__dict__" and type(found) is dict and isinstance(value, self.Instance):
            return instance_dict.InstanceDict(self, value, found)
        return found

    def export(self, writer, value):
        if type(value) is instance_dict.InstanceDict:
            writer.node(value.copied)
        else:
            super().export(writer, value)

    def make_method(self, number, parts):
        """A method that a class of the library has runs where the tests' object is: it uses attributes of the object that
        are not for the code."""
        made = super().make_method(number, parts)
        _, value, function = parts
        info = self.infos.get(id(type(value)))
        is_of_tests = type(function) is not describe.FUNCTION or id(function) in self.stand_in_numbers
        if is_of_tests or info is None or not info.library or info.library[0].startswith("concurrent"):
            return made
        name = function.__name__
        if name not in info.methods:
            info.methods[name] = mirrors.make_virtual(self, name, function)
        return describe.BOUND_METHOD(info.methods[name], value)

    # --- answers to questions ---

    def load(self, prelude, code, asked, tells_signature, shows_attributes, seed):
        self.teller, self.shows_attributes = signatures.Teller() if tells_signature else None, shows_attributes
        text, _ = program.compose(prelude, code, asked)
        try:
            compiled = compile(text, f"<{NAME}>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            return ("syntax", suite.describe(error))
        sys.modules[NAME] = self.module
        self.ambient.loading(text)
        suite.seed_random(text, seed)
        signals = floor.Signals() if "signal" in text else None
        try:
            exec(compiled, self.module.__dict__)
        except Exception as error:
            return ("raised", suite.describe(error))
        finally:
            if signals:
                signals.hold()
                self.signals, self.handle = signals, self.handle_between_signals
        names = [name for name in vars(self.module) if type(name) is str and not name.startswith("__")]
        return ("loaded", tuple(names[:NAMES_MAX]))

    def share(self, kinds):
        """Receives the kinds of the prelude's classes by name. Returns the names whose class here is of
        the same kind."""
        names = []
        for name, kind in kinds:
            value = vars(self.module).get(name)
            if classes.kind_of(value) == kind:
                self.shared_classes.add(name, value)
                names.append(name)
        return tuple(names)

    def fetch(self, name):
        return vars(self.module)[name]

    def bind(self, name, value):
        vars(self.module)[name] = value

    def execute(self, mode, text, names, inner):
        """Runs a text of the code's for the tests, in a namespace of theirs; if NAMES is a tuple, (name, value), in
        the code's own, with these. Then the answer tells what the text has bound, too."""
        is_own = type(names) is tuple
        space = vars(self.module) if is_own else names
        space.update(names if is_own else ())
        before = dict(space)
        space.setdefault("__name__", NAME)  # of classes that it defines
        compiled = compile(text, "<text>", mode, dont_inherit=True)
        try:
            value = (eval if mode == "eval" else exec)(compiled, space, *(() if inner is None else (inner,)))
        finally:
            for name in {"__name__", "__builtins__"} - before.keys():
                space.pop(name, None)
        if not is_own:
            return value
        bound = (name for name in space if type(name) is str and not name.startswith("__"))
        return value, tuple(name for name in bound if name not in before or space[name] is not before[name])

    def drain(self, iterator):
        """Returns many next items at once; none if there are no more."""
        items = []
        if id(iterator) in self.unfinished:
            raise self.unfinished.pop(id(iterator))
        try:
            while len(items) < DRAINED_MAX:
                items.append(next(iterator))
        except StopIteration:
            pass
        except Exception as error:
            if not items:
                raise
            self.unfinished[id(iterator)] = error
        return tuple(items)

    def shared(self, test, entry_point, setup, targets):
        """Runs tests in the candidate's own process, on its own objects. Here the candidate can forge the
        verdict."""
        recorder, namespace = suite.Recorder(), vars(self.module)
        namespace.update(__compare__=recorder.compare, __truth__=recorder.truth, __name__=program.TESTS)
        sys.modules[program.TESTS] = self.module
        lacking = blame.Lacking(f"<{NAME}>")
        job = (setup, test, targets, entry_point)
        try:
            results = tuple(plain.run_tests(namespace, job, suite.compile_tests, recorder, lacking.note))
        except ModuleNotFoundError:
            if not lacking.module:
                raise
        return lacking.module or results

    # --- the loop ---

    def serve(self):
        self.flush = sys.stdout.flush  # this program's own, whatever the code puts in its place
        while True:
            self.converse()


WITHOUT_TARGET = frozenset(("load", "global", "set_global", "execute", "share", "shared", "derive", "unpickle", "wake", "end",
                            "run_handle", "rest", "task"))  # fmt: skip


def special(value, name, /, *arguments, **keywords):
    return describe.special_method(value, name)(*arguments, **keywords)


def derive(name, bases, names, /, **keywords):
    """Makes a class that a class statement of the tests derives from classes here."""
    import types

    namespace = dict(zip(names[::2], names[1::2]))
    return types.new_class(name, bases, keywords, lambda made: made.update(namespace))


def copied(how):
    def copy(value):
        import copy

        return getattr(copy, how)(value)

    return copy


def pickled(value):
    import pickle

    return pickle.dumps(value)


def unpickled(data):
    import pickle

    return pickle.loads(data)


def make_server():
    """Makes the server of the one job of this process, or of a fork of it."""
    return Server(WIRE_READ, WIRE_WRITE)


def main(server=None):
    keep_wire()
    run(server or make_server())


def confirm(begin):
    """Is the second program in the candidate's place, once the judge has ended the first: runs the job once
    more as a plain program. What the code prints it has printed already."""
    keep_wire()
    null = os.open("/dev/null", os.O_WRONLY)
    for fd in (1, 2):
        os.dup2(null, fd)
    os.close(null)
    plain.run(WIRE_READ, WIRE_WRITE, begin)


def keep_wire():
    sys.argv = [NAME]
    for fd in (WIRE_READ, WIRE_WRITE):
        os.set_inheritable(fd, False)
    os.set_blocking(WIRE_READ, True)  # the program before this one may have left it otherwise (turns.py)


def run(server):
    status = 0
    try:
        server.serve()
    except EOFError:
        pass
    except SystemExit as leaving:
        status = leaving.code if type(leaving.code) is int else 0 if leaving.code is None else 1
    except BaseException:
        status = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status & 0xFF)
