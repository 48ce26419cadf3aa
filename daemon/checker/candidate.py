# SPDX-License-Identifier: MIT
"""The candidate's end of the pipe: runs model-written code and answers the checker's questions about it.
Nothing here is trusted by anybody: the code that it runs can change all of it, and gains nothing."""

import _ast
import builtins
import operator
import os
import sys

import suite
import wire
from wire import CALLABLE, CLASS, EXCEPTION, ITERATOR

NAME = "candidate"
NAMES_MAX = 10000
# A backstop for what graders should not do; it is the sandbox that holds.
DENIED = ("subprocess", "socket", "requests", "urllib", "ctypes", "shutil", "http.client", "asyncio.subprocess")


def _is_denied(name):
    return any(name == denied or name.startswith(denied + ".") for denied in DENIED)


def _guarded(real_import):
    def guarded_import(name, globals=None, locals=None, fromlist=(), level=0):
        # What the standard library imports for its own needs is its own affair.
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


class Foreign:
    """Something of the checker's: it can be called or iterated over, and handed back."""

    def __init__(self, server, number):
        self._server, self._number = server, number

    def __call__(self, /, *arguments, **keywords):
        return self._server.call_back(self, arguments, keywords)


class ForeignIterator(Foreign):
    def __iter__(self):
        return self

    def __next__(self):
        return self._server.call_back(self, (), {})


OPERATIONS = {
    "call": lambda function, /, *arguments, **keywords: function(*arguments, **keywords),
    "get": getattr,
    "set": setattr,
    "delete": delattr,
    "len": len,
    "iter": iter,
    "next": next,
    "str": str,
    "repr": repr,
    "format": format,
    "int": int,
    "float": float,
    "isinstance": isinstance,
    "issubclass": issubclass,
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "enter": lambda value: type(value).__enter__(value),
    "exit": lambda value: type(value).__exit__(value, None, None, None) and None,
}
for _name in wire.BINARY + wire.UNARY:
    OPERATIONS[_name] = getattr(operator, _name)


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
    """The program. Code that defines the entry point stands behind the prelude; other code continues it.
    Of a function body that is cut out of an answer the first line has often lost its indentation."""
    if not prelude:
        return code
    tree = _parses(code)
    names = set(_defined_names(tree)) if tree else ()
    if entry_point in names if entry_point else names:
        return f"{prelude}\n{code}"
    indentation = suite.last_indentation(prelude)
    if indentation and not code.lstrip("\n")[:1].isspace():
        indented = f"{prelude.rstrip()}\n{indentation}{code}"
        if _parses(indented):
            return indented
    return prelude + code


class Server:
    def __init__(self, read_fd, write_fd):
        self.fds = read_fd, write_fd
        self.exported = []
        self.numbers = {}
        self.foreign = {}
        self.module = type(sys)(NAME)
        OPERATIONS["load"] = self.load
        OPERATIONS["global"] = self.fetch
        OPERATIONS["shared"] = self.shared

    def export(self, writer, value):
        if type(value) in (Foreign, ForeignIterator):
            writer.out += b"g"
            wire.write_number(writer.out, value._number)
            return
        number = self.number_of(value)
        kind = type(value)
        is_class = issubclass(kind, type)
        exception = is_class and issubclass(value, Exception)
        flags = CALLABLE if callable(value) else 0
        flags |= ITERATOR if hasattr(kind, "__next__") else 0
        flags |= CLASS if is_class else 0
        flags |= EXCEPTION if exception else 0
        writer.out += b"h"
        wire.write_number(writer.out, number)
        wire.write_number(writer.out, flags)
        if exception:
            self.export_chain(writer, value)

    def export_chain(self, writer, value):
        """Its own classes above it, up to the first that is built in."""
        known = next(c for c in value.__mro__ if wire.TYPES.get(c.__name__) is c)
        chain = [c for c in value.__mro__ if issubclass(c, known) and c is not known]
        wire.write_number(writer.out, len(chain))
        for of_class in chain:
            wire.write_number(writer.out, self.number_of(of_class))
            writer.text(of_class.__name__)
        writer.text(known.__name__)

    def number_of(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.exported)
            self.exported.append(value)
        return number

    def resolve(self, tag, reader):
        if tag == 110:  # n
            return getattr(builtins, reader.text())
        number = reader.number()
        if tag == 103:  # g
            return self.exported[number]
        flags = reader.number()
        if number not in self.foreign:
            kind = ForeignIterator if flags & ITERATOR else Foreign
            self.foreign[number] = kind(self, number)
        return self.foreign[number]

    def call_back(self, target, arguments, keywords):
        message = wire.Writer(self.export).message(["call", target, arguments, keywords])
        wire.send(self.fds[1], message)
        while True:
            data = wire.receive(self.fds[0])
            table = wire.Table(data, self.resolve)
            reply = table.roots
            if reply[0] == "ok":
                return reply[1]
            if reply[0] == "raise":
                raise reply[1](reply[3])
            # What is called asks for something of ours in its turn.
            wire.send(self.fds[1], self.handle(table, data))

    # What is asked.

    def load(self, prelude, code, entry_point):
        program = compose(prelude, code, entry_point)
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
        return ("loaded", names[:NAMES_MAX])

    def fetch(self, name):
        return vars(self.module)[name]

    def shared(self, test, entry_point, setup, targets):
        """Tests in the candidate's own process, with its own objects; the verdict can be forged."""
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
        return results

    # The loop.

    def serve(self):
        while True:
            data = wire.receive(self.fds[0])
            table = wire.Table(data, self.resolve)
            reply = self.handle(table, data)
            wire.send(self.fds[1], reply)

    def handle(self, table, data):
        question, arguments, keywords = table.roots
        origins = {id(value): n for n, value in enumerate(table.objects) if type(value) in wire.MUTABLE}
        try:
            result = OPERATIONS[question](*arguments, **keywords)
            roots = ["ok", result]
        except Exception as error:
            roots = ["raise", type(error), self.plain(error.args), suite.describe(error)]
        try:
            # What was done to the arguments is told only if something was.
            again = wire.Writer(self.export).message(table.roots)
            if again != data:
                roots += [arguments, keywords]
            return wire.Writer(self.export, origins).message(roots)
        except wire.WireError as error:
            return wire.Writer(self.export).message(["raise", ValueError, (f"{error}",), f"{error}"])

    def plain(self, arguments):
        kinds = (str, int, float, bool, type(None), bytes)
        return arguments if all(type(value) in kinds for value in arguments) else ()


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
