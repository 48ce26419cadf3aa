# SPDX-License-Identifier: MIT
"""The candidate's end of the pipe: runs model-written code and answers the checker's questions about it.
Nobody trusts anything here: the code that it runs can change all of it, and gains nothing by that."""

import _ast
import builtins
import os
import sys
from marshal import loads

import classes
import describe
import membrane
import suite
import wire

NAME = "candidate"
NAMES_MAX = 10000
DRAINED_MAX = 4096
# A backstop against what graded code should not do; the sandbox is what holds.
DENIED = ("subprocess", "socket", "requests", "urllib", "ctypes", "shutil", "http.client", "asyncio.subprocess")


def _is_denied(name):
    return any(name == denied or name.startswith(denied + ".") for denied in DENIED)


def _guarded(real_import):
    def guarded_import(name, globals=None, locals=None, fromlist=(), level=0):
        # The standard library may import what it needs for itself.
        of_candidate = globals is None or globals.get("__name__") == NAME
        if of_candidate and level == 0:
            names = [name, *(f"{name}.{part}" for part in fromlist or ())]
            if any(map(_is_denied, names)):
                raise ImportError("denied")
        return real_import(name, globals, locals, fromlist, level)

    return guarded_import


def _denied(*_, **__):
    raise PermissionError("denied")


def deny():
    builtins.__import__ = _guarded(builtins.__import__)
    os.system = sys.modules["posix"].system = _denied


def _parses(text):
    try:
        return suite.parse(text, NAME)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _defined_names(tree):
    functions = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)
    for node in tree.body:
        if isinstance(node, functions):
            yield node.name
        elif isinstance(node, _ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, _ast.Name))


def compose(prelude, code, entry_point):
    """Returns the program and whether the code continues the prelude. Code that defines the entry point
    follows the prelude instead. A function body cut out of an answer has often lost the indentation of its
    first line."""
    if not prelude:
        return code, False
    tree = _parses(code)
    names = set(_defined_names(tree)) if tree else ()
    if entry_point in names if entry_point else names:
        return f"{prelude}\n{code}", False
    indentation = suite.last_indentation(prelude)
    if indentation and not code.lstrip("\n")[:1].isspace():
        indented = f"{prelude.rstrip()}\n{indentation}{code}"
        if _parses(indented):
            return indented, True
    return prelude + code, True


def _exit(value, kind, error, traceback):
    return type(value).__exit__(value, kind, error, traceback)


class Server(membrane.Space):
    trusted = False

    def __init__(self, read_fd, write_fd):
        super().__init__(read_fd, write_fd, 1)
        self.unfinished = {}  # exceptions that iterators raised after items that have already been sent
        self.module = type(sys)(NAME)
        self.steps.lends = True
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
            "load": self.load,
            "global": self.fetch,
            "set_global": self.bind,
            "share": self.share,
            "shared": self.shared,
        }

    def handle(self, operation, target, arguments, keywords):
        if operation in WITHOUT_TARGET:
            return self.operations[operation](*arguments, **keywords)
        return self.operations[operation](target, *arguments, **keywords)

    def answer(self, operation, target, arguments, keywords):
        reply = super().answer(operation, target, arguments, keywords)
        if operation == "load" and isinstance(reply[1], SystemExit):
            raise reply[1]
        return reply

    def is_brief_answer(self, data):
        """Makes the call that DATA asks for; what comes to this side in the short form is a question."""
        number, arguments = loads(data[1:])
        reply = self.answer("call", self.exports[number], arguments, {})
        brief = None
        if reply[0] == "=" and not self.sharing.by_number and not self.dead and type(reply[1]) in wire.BRIEF_TYPES:
            if self.ambient is None or not self.ambient.has_news():
                brief = wire.brief_answer(reply[1])
        self.send(brief if brief is not None and len(brief) < wire.BRIEF_MAX else self.written(reply))
        return False

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
        return value

    def make_module(self, number, parts):
        return __import__(parts[1], fromlist=("",))

    # --- answers to questions ---

    def load(self, prelude, code, entry_point, tells_signature):
        self.tells_signature = tells_signature
        program, _ = compose(prelude, code, entry_point)
        try:
            compiled = compile(program, f"<{NAME}>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            return ("syntax", suite.describe(error))
        sys.modules[NAME] = self.module
        try:
            exec(compiled, self.module.__dict__)
        except Exception as error:
            denied = type(error) in (ImportError, PermissionError) and error.args == ("denied",)
            return ("denied" if denied else "raised", suite.describe(error))
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
        namespace.update(__compare__=recorder.compare, __truth__=recorder.truth)
        results = []
        if setup:
            exec(compile(setup, "<test_setup>", "exec", dont_inherit=True), namespace)
        for number, target in enumerate(targets):
            compiled = suite.compile_tests(target, f"<target {number}>")
            results.append(suite.run(lambda: exec(compiled, namespace), recorder))
        if test:
            exec(suite.compile_tests(test, "<test>"), namespace)
            results.append(suite.run(lambda: namespace["check"](namespace[entry_point]), recorder))
        return tuple(results)

    # --- the loop ---

    def serve(self):
        while True:
            self.converse()


WITHOUT_TARGET = frozenset(("load", "global", "set_global", "share", "shared", "derive", "unpickle", "wake",
                            "run_handle"))  # fmt: skip


def special(value, name, *arguments):
    return describe.special_method(value, name)(*arguments)


def derive(name, bases, names, **keywords):
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


def run(read_fd, write_fd):
    deny()
    status = 0
    try:
        Server(read_fd, write_fd).serve()
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
