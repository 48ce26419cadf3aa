# SPDX-License-Identifier: MIT
"""The candidate's end of the pipe: runs model-written code and answers the checker's questions about it.
Nobody trusts anything here: the code that it runs can change all of it, and gains nothing by that."""

import _ast
import builtins
import operator
import os
import sys

import blame
import classes
import suite
import wire
from wire import CALLABLE, CLASS, EXCEPTION, ITERATOR, OBJECT

NAME = "candidate"
NAMES_MAX = 10000
DRAINED_MAX = 4096


class Foreign:
    """Stands for an object of the checker's. The candidate can hand it back and use it in the ways that
    the checker permits."""

    def __init__(self, server, number):
        vars(self).update(_server=server, _number=number)


def _called(self, /, *arguments, **keywords):
    return self._server.call_back("call", self, arguments, keywords)


def _next(self):
    return self._server.call_back("call", self, (), {})


def _on(name):
    return lambda self, *arguments: self._server.call_back("on", self, arguments, name)


def foreign_class(flags, specials):
    """Makes the class of objects with FLAGS and, for instances of the tests' own classes, the methods
    SPECIALS."""
    methods = {}
    if flags & OBJECT:
        methods.update(__getattr__=_on("get"), __setattr__=_on("set"), __delattr__=_on("delete"))
        methods.update(__instancecheck__=_on("isinstance"))
        methods.update((name, _on(name)) for name in specials)
    if flags & CALLABLE:
        methods["__call__"] = _called
    if flags & ITERATOR and not flags & OBJECT:
        methods.update(__iter__=lambda self: self, __next__=_next)
    return type("Foreign", (Foreign,), methods)


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


class Server:
    def __init__(self, read_fd, write_fd):
        self.fds = read_fd, write_fd
        self.exported = []
        self.numbers = {}
        self.foreign = {}
        self.foreign_exceptions = {}  # by id()
        self.foreign_classes = {}
        self.unfinished = {}  # exceptions that iterators raised after items that have already been sent
        self.shared_classes = classes.Shared()
        self.module = type(sys)(NAME)
        OPERATIONS["load"] = self.load
        OPERATIONS["global"] = self.fetch
        OPERATIONS["share"] = self.share
        OPERATIONS["drain"] = self.drain
        OPERATIONS["shared"] = self.shared

    def export(self, writer, value):
        theirs = value._number if isinstance(value, Foreign) else self.foreign_exceptions.get(id(value))
        if theirs is not None:
            writer.out += b"g"
            wire.write_number(writer.out, theirs)
        elif not self.shared_classes.write(writer, value):
            self.export_object(writer, value)

    def export_object(self, writer, value):
        kind = type(value)
        flags = CALLABLE if callable(value) else 0
        flags |= ITERATOR if hasattr(kind, "__next__") else 0
        flags |= CLASS if issubclass(kind, type) else 0
        flags |= EXCEPTION if classes.is_exception(value) else 0
        writer.out += b"h"
        wire.write_number(writer.out, self.number_of(value))
        wire.write_number(writer.out, flags)
        if flags & EXCEPTION:
            classes.write_exception(writer, value)

    def number_of(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.exported)
            self.exported.append(value)
        return number

    def resolve(self, tag, reader, table):
        if tag in classes.Shared.TAGS:
            return self.shared_classes.read(tag, reader, table)
        if tag == 110:  # n
            return getattr(builtins, reader.text())
        number = reader.number()
        if tag == 103:  # g
            return self.exported[number]
        flags = reader.number()
        if flags & EXCEPTION:
            return classes.read_exception(reader, table, lambda new: self.keep(number, new), {})
        key = (flags, reader.text() if flags & OBJECT else "")
        if number not in self.foreign:
            if key not in self.foreign_classes:
                self.foreign_classes[key] = foreign_class(flags, key[1].split())
            self.foreign[number] = self.foreign_classes[key](self, number)
        return self.foreign[number]

    def keep(self, number, exception):
        known = self.foreign.setdefault(number, exception)
        self.foreign_exceptions[id(known)] = number
        return known

    def call_back(self, what, target, arguments, more):
        writer = wire.Writer(self.export)
        wire.send(self.fds[1], writer.message([what, target, arguments, more]))
        while True:
            data = wire.receive(self.fds[0])
            table = wire.Table(data, self.resolve, writer.objects)
            reply = table.roots
            if reply[0] == "ok":
                return reply[1]
            if reply[0] == "raise":
                raise classes.rebuild(*reply[1:3], reply[4])
            # The called object asks for something of ours in turn.
            wire.send(self.fds[1], self.handle(table, data))

    # --- answers to questions ---

    def load(self, prelude, code, entry_point):
        program, _ = compose(prelude, code, entry_point)
        try:
            compiled = compile(program, f"<{NAME}>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            return ("syntax", suite.describe(error))
        sys.modules[NAME] = self.module
        try:
            exec(compiled, self.module.__dict__)
        except Exception as error:
            return ("raised", suite.describe(error))
        names = [name for name in vars(self.module) if type(name) is str and not name.startswith("__")]
        return ("loaded", names[:NAMES_MAX])

    def share(self, kinds):
        """Receives the kinds of the prelude's classes by name. Returns the names whose class here is of
        the same kind."""
        names = []
        for name, kind in kinds.items():
            value = vars(self.module).get(name)
            if classes.kind_of(value) == kind:
                self.shared_classes.add(name, value)
                names.append(name)
        return names

    def fetch(self, name):
        return vars(self.module)[name]

    def drain(self, iterator):
        """Returns many next items at once, and whether there may be more."""
        items = []
        if id(iterator) in self.unfinished:
            raise self.unfinished.pop(id(iterator))
        try:
            while len(items) < DRAINED_MAX:
                items.append(next(iterator))
        except StopIteration:
            return items, False
        except Exception as error:
            if not items:
                raise
            self.unfinished[id(iterator)] = error
        return items, True

    def shared(self, test, entry_point, setup, targets):
        """Runs tests in the candidate's own process, on its own objects. Here the candidate can forge the
        verdict."""
        recorder, namespace = suite.Recorder(), vars(self.module)
        namespace.update(__compare__=recorder.compare, __truth__=recorder.truth)
        results, lacking = [], blame.Lacking(f"<{NAME}>")
        try:
            if setup:
                lacking.note(exec, compile(setup, "<test_setup>", "exec", dont_inherit=True), namespace)
            for number, target in enumerate(targets):
                compiled = suite.compile_tests(target, f"<target {number}>")
                results.append(suite.run(lambda: lacking.note(exec, compiled, namespace), recorder))
            if test:
                lacking.note(exec, suite.compile_tests(test, "<test>"), namespace)
                check = namespace["check"]
                results.append(suite.run(lambda: lacking.note(check, namespace[entry_point]), recorder))
        except ModuleNotFoundError:
            if not lacking.module:
                raise
        return lacking.module or results

    # --- the loop ---

    def serve(self):
        while True:
            data = wire.receive(self.fds[0])
            table = wire.Table(data, self.resolve)
            reply = self.handle(table, data)
            wire.send(self.fds[1], reply)

    def handle(self, table, data):
        question, arguments, keywords = table.roots
        origins = table.origins()
        try:
            roots = ["ok", OPERATIONS[question](*arguments, **keywords)]
        except Exception as error:
            roots = classes.tell(error)
            error.__traceback__ = None  # keep the exception, but not its frames
        try:
            # Send the arguments back only if the call changed them.
            if origins and wire.Writer(self.export).message(table.roots) != data:
                roots += [arguments, keywords]
            return wire.Writer(self.export, origins).message(roots)
        except wire.WireError as error:
            return wire.Writer(self.export).message(classes.tell(ValueError(f"{error}")))


def run(read_fd, write_fd):
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
