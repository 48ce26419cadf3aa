# SPDX-License-Identifier: MIT
"""Texts, code and files that the tests run. What the code has returned is data: it is not run where the verdict is
made.

The gate stands where a text becomes a program, since a text that has been cut, joined or printed says no longer where
it comes from. A text of the job's own (a constant of the tests or the prelude) runs as ever. Of any other
text a formula runs here, and gets no further than its values do (restricted.py). What else the code has written,
line by line, the candidate runs as any other question. The rest is refused: the job does not pass, and says why."""

import _ast
import builtins
import os
import sys

import callbacks
import describe
import program
import queries
import restricted
from restricted import PURE, REAL_COMPILE, REAL_EVAL, REAL_EXEC
from suite import names_in, nodes, shorten
from trusted import is_of_host

CODE = type(restricted.parse.__code__)
RECEIVED_MAX = 16 << 20  # bytes of what the candidate has sent
SHOWN_MAX = 40  # characters of a text
WORDS_MAX = 100000
SINKS = frozenset("eval exec compile timeit repeat Timer run runctx runsource literal_eval query bmat".split())


class Refused(TypeError):
    """A text does not run."""


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def folded(text):
    """Returns a text as textwrap.dedent() and strip() leave it, however it is indented."""
    lines = [line.rstrip() for line in text.expandtabs().splitlines() if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return "\n".join(line[margin:] for line in lines)


def _texts_below(node):
    return [one.value for one in nodes(node) if isinstance(one, _ast.Constant) and isinstance(one.value, (str, bytes))]


def is_program(text):
    """Returns whether a constant of the tests' may be statements."""
    return bool(text.strip()) and not text.strip().isidentifier() and program.parse(text.strip()) is not None


class Own:
    """The texts that are the job's own. Made when the tests run the first text."""

    def __init__(self, job):
        trees = [program.parse(text) for text in (job.setup, job.test, *job.targets) if text]
        if job.prelude:
            trees.append(program.Prelude(job.prelude).tree)
        trees = [tree for tree in trees if tree is not None]
        constants = {text for tree in trees for text in _texts_below(tree)}
        self.data = {text for text in constants if type(text) is bytes}
        texts = self.constants = [text if type(text) is str else str(text, "utf-8", "replace") for text in constants]
        self.texts = {folded(text) for text in texts if not text.strip().isidentifier()}
        self.lines = {line for text in self.texts for line in lines_of(text) if not line.isidentifier()}
        # Longer ones first: one may be the end of another.
        self.programs = sorted({text.strip() for text in texts if is_program(text)}, key=len, reverse=True)
        for text in texts:
            if ">>>" in text:
                self.add_examples(text)
        self.words = set()  # of texts that they run, if only in part
        for tree in trees:
            self.find_words(tree)

    def add_examples(self, text):
        try:
            examples = __import__("doctest").DocTestParser().get_examples(text)
        except ValueError:
            return
        self.texts.update(folded(example.source) for example in examples)

    def find_words(self, tree):
        """Finds the names in texts that are arguments of eval() and the like, or the value of a name there."""
        names, texts = set(), []
        for node in nodes(tree):
            if isinstance(node, _ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in SINKS:
                for part in (*node.args, *(one.value for one in node.keywords)):
                    texts += _texts_below(part)
                    names.update(one.id for one in nodes(part) if isinstance(one, _ast.Name))
        for node in nodes(tree):
            targets = node.targets if isinstance(node, _ast.Assign) else [node.target] if isinstance(node, _ast.For) else ()
            if any(isinstance(one, _ast.Name) and one.id in names for target in targets for one in nodes(target)):
                texts += _texts_below(node.value if isinstance(node, _ast.Assign) else node.iter)
        for text in texts:
            self.words |= words_of(text)


def words_of(text):
    text = text if type(text) is str else str(text, "utf-8", "replace")
    return set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())


class Gate:
    def __init__(self, job, link, space):
        self.job, self.link, self.space = job, link, space
        self.found = None
        self.why = ""  # why the job does not pass
        self.received, self.size, self.told = [], 0, set()
        self.codes = {}  # by id(): code of texts that are not the job's own, with what they are
        self.own_codes = {}  # by id(): code that the tests have compiled of their own texts
        self.library_codes = {}  # by id(): what a package of the host has made of a text while it was imported
        self.annotations = {}  # by id(): code that typing has made of an annotation, with its text
        self.protected = {}  # by id() of such a namespace: what the tests define there
        self.prepare = lambda source, mode, space=None: source  # makes a program of a text of the job's own: formats.py
        self.handed_over = {}  # by id(): namespaces that the candidate has had, and what was in them before

    def own(self):
        if self.found is None:
            self.found = Own(self.job)
        return self.found

    def refuse(self, why):
        """Says why the job does not pass. Tests may catch what is raised."""
        self.why = self.why or why
        raise Refused(why)

    def judged(self, passed, detail):
        """Returns what becomes of an assertion that came out as (PASSED, DETAIL)."""
        why = self.link.failures.why() or self.why
        return (False, why) if why else (passed, detail)

    # --- what has crossed ---

    def follow(self):
        """Notes from now on what crosses."""
        link = self.link
        receive, ask, call = link.receive, link.ask, link.call

        def received():
            data = receive()
            if self.size < RECEIVED_MAX:
                self.received.append(bytes(data))
                self.size += len(data)
            return data

        def asked(operation, target, arguments=(), keywords=None):
            if operation not in ("load", "execute", "global", "set_global"):
                self.tell((arguments, keywords))
            return checked(ask, operation, target, arguments, keywords)

        def called(function, number, arguments, keywords):
            self.tell((arguments, keywords))
            return checked(call, function, number, arguments, keywords)

        def checked(question, *arguments):
            try:
                return question(*arguments)
            finally:
                self.check_protected()

        link.receive, link.ask, link.call = received, asked, called

    def tell(self, value, depth=0):
        """Notes the words in what the code is told."""
        kind = type(value)
        if kind is str:
            if len(self.told) < WORDS_MAX:
                self.told |= words_of(value)
        elif depth < 5 and kind in (tuple, list, set, dict):
            for part in value.items() if kind is dict else value:
                self.tell(part, depth + 1)

    def has_received(self, data):
        if len(self.received) > 1:
            self.received = [b"\n".join(self.received)]
        return bool(self.received) and data in self.received[0]

    def is_of_code(self, text):
        """Returns whether the code has written a text, line by line."""
        lines = lines_of(text)
        return bool(lines) and all(self.has_received(line.encode("utf-8", "surrogatepass")) for line in lines)

    def pieces(self, text):
        """Splits a program that the tests have put together: texts of theirs, and of the code's, one after the
        other."""
        for own in self.own().programs:
            if text.rstrip().endswith("\n" + own):
                return [*self.pieces(text.rstrip()[: -len(own)]), own]
            if text.lstrip("\n").startswith(own + "\n"):
                return [own, *self.pieces(text.lstrip("\n")[len(own) :])]
        lines, found = text.splitlines(True), []
        for node in program.parse(text).body:
            first = min(one.lineno for one in (node, *getattr(node, "decorator_list", ())))
            piece = "".join(lines[first - 1 : node.end_lineno])
            is_theirs = self.is_of_code(piece)
            if found and found[-1][0] == is_theirs:
                found[-1] = is_theirs, found[-1][1] + piece
            else:
                found.append((is_theirs, piece))
        return [piece for _, piece in found]

    # --- names ---

    def is_implicit(self, namespace, frame):
        """Returns whether a namespace is the tests' own, of which not all is meant for the text."""
        if namespace is None or namespace is frame.f_globals or namespace is frame.f_locals:
            return True
        return namespace is self.space or "__compare__" in namespace and "__truth__" in namespace

    def names_for(self, text, spaces):
        """Returns what the names in a text stand for, as far as it may use them; those that it may not; and whether
        some are Python's that do more than compute. SPACES are (namespace, is_implicit)."""
        names, foreign, is_open = {}, [], False
        for name in sorted(program.loads(text)[0]):
            found = self.look_up(name, spaces)
            if found is None:
                if name in PURE:
                    names[name] = PURE[name]
                else:  # the code may have it
                    is_open = is_open or hasattr(builtins, name) or self.is_of_code(text)
            elif found[1] and not self.may_use(name, found[0]):
                foreign.append(name)
            else:
                names[name] = found[0]
        return names, foreign, is_open

    def look_up(self, name, spaces):
        for space, is_implicit in spaces:
            try:
                is_theirs = space is self.space and name not in space
                return space[name], is_implicit and not is_theirs
            except KeyError:
                pass
        return None

    def may_use(self, name, value):
        if self.link.is_theirs(value) or restricted.is_value_class(value) or restricted.is_module(value):
            return True
        return name in self.told or name in self.own().words

    # --- running ---

    def is_own(self, text):
        return folded(text) in self.own().texts

    def is_own_tree(self, text):
        """Returns whether a text that was made of a tree is what a text of the job's own comes to."""
        unparse = __import__("ast").unparse
        return any(unparse(program.parse(own)) == text for own in self.own().programs)

    def evaluate(self, text, mode, frame, outer, inner):
        """Runs a text that may be the job's own."""
        if not self.is_own(text):
            return self.run(text, mode, frame, (outer, inner))
        real = REAL_EVAL if mode == "eval" else REAL_EXEC
        return self.run_own(text, lambda: real(self.prepare(text, mode, outer), outer, inner), outer, inner)

    def run_own(self, text, step, *spaces):
        """Runs a text of the job's own by STEP()."""
        is_shared = text is not None and any(id(space) in self.handed_over for space in spaces)
        if is_shared:
            self.check_space(text, *spaces)
        try:
            return step()
        finally:
            if is_shared:
                self.protect(spaces, program.loads(text)[1])

    def protect(self, spaces, names):
        """The code cannot replace what the tests define in a namespace that it shares."""
        for space in spaces:
            if id(space) in self.handed_over:
                kept = self.protected.setdefault(id(space), {})
                kept.update((name, space[name]) for name in names if name in space)

    def check_protected(self):
        for number, kept in self.protected.items():
            space, given = self.handed_over[number]
            for name, value in kept.items():
                if space.get(name) is not value:
                    self.refuse(f"the code replaces `{name}`, which the tests define")
                used = names_in(value.__code__) if is_function(value) else ()
                for one in used:
                    if hasattr(builtins, one) and one in space and one not in given:
                        self.refuse(f"the code binds `{one}`, which is Python's")

    def check_space(self, text, *spaces):
        """Sees to it that in a namespace that the candidate has had, built-in names are Python's."""
        for space in spaces:
            if id(space) not in self.handed_over:
                continue
            _, given = self.handed_over[id(space)]
            space["__builtins__"] = given.get("__builtins__", vars(builtins))
            for name in program.loads(text)[0]:
                if hasattr(builtins, name) and name in space and name not in given:
                    self.refuse(f"the code binds `{name}`, which is Python's")

    def run(self, text, mode, frame, spaces):
        """Runs a text that is not the job's own. SPACES are the namespaces that were given, globals and locals."""
        self.link.crossings.note("a text that is run")
        text = text.strip(" \t") if mode == "eval" else text
        shown = shorten(" ".join(lines_of(text)), SHOWN_MAX)
        is_implicit = self.is_implicit(spaces[0], frame)
        inner = spaces[0] if spaces[1] is None else spaces[1]
        order = [(inner, self.is_implicit(inner, frame)), (spaces[0], is_implicit)]
        self.check_space(text, *spaces)
        names, foreign, is_open = self.names_for(text, order)
        if foreign:
            self.refuse(f"the tests run a text that uses `{foreign[0]}`, which is theirs: {shown}")
        tree = None if is_open else restricted.parse(text, mode)
        if tree is not None:
            bound = restricted.bound_by(tree)
            called = [value for value in names.values() if callbacks._may_be_called(value)]
            formula = restricted.Formula(tree, self.link, names, called)
            if formula.may_have_all():
                return self.calculate(formula, bound, inner, is_implicit, shown)
        pieces = self.pieces(text) if mode == "exec" else ()
        if len(pieces) > 1:
            for piece in pieces:
                self.evaluate(piece, mode, frame, *spaces)
            return None
        if not self.is_of_code(text):
            self.refuse(f"the tests run a text that is neither theirs nor one of the code's: {shown}")
        if restricted.decides(text, mode):
            self.refuse(f"the tests run a text that judges by itself: {shown}")
        return self.hand_over(text, mode, names, inner, spaces[0], is_implicit)

    def calculate(self, formula, bound, inner, is_implicit, shown):
        try:
            return formula.run()
        except restricted.Unsafe as error:
            self.refuse(f"the tests run a text that asks for {error}: {shown}")
        finally:
            for name in bound:
                if name in formula.names:
                    self.bind(inner, name, formula.names[name], is_implicit)

    def hand_over(self, text, mode, names, inner, outer, is_implicit):
        """Has the candidate run a text."""
        self.check_not_library(outer, inner)
        if not is_implicit:
            given = None if inner is outer else inner
            of_python = outer.get("__builtins__")
            if of_python is vars(builtins) or of_python is builtins:
                del outer["__builtins__"]  # what the tests run themselves has put it there
            for space in {id(outer): outer, id(inner): inner}.values():
                if id(space) not in self.handed_over:
                    self.handed_over[id(space)] = space, copy_of(space)
                    self.protect((space,), [name for name, value in space.items() if is_of_tests(value)])
            return self.link.ask("execute", None, (mode, text, outer, given))
        if any(is_function(value) for value in names.values()):
            self.refuse("the tests run a text of the code's that calls a function of theirs")
        told = tuple((name, value) for name, value in names.items() if name not in PURE)
        answer = self.link.ask("execute", None, (mode, text, told, None))
        if type(answer) is not tuple or len(answer) != 2 or type(answer[1]) is not tuple:
            self.refuse("the code's answer is none")
        for name in answer[1]:
            if type(name) is not str or not name.isidentifier() or name.startswith("__"):
                self.refuse("the code's answer is none")
            self.bind(inner, name, self.link.ask("global", None, (name,)), True)
        return answer[0]

    def bind(self, space, name, value, is_implicit):
        """A text has given a name a value."""
        self.check_not_library(space)
        if is_implicit and not self.may_bind(name, space):
            self.refuse(f"the tests run a text that binds `{name}`, which is not the code's")
        space[name] = value

    def check_not_library(self, *spaces):
        if any(map(is_module_of_library, spaces)):
            self.refuse("the tests run a text of the code's in a module of Python's library")

    def may_bind(self, name, space):
        if hasattr(builtins, name):
            return False
        if name in self.told or name in self.own().words:
            return True
        try:
            return self.link.is_theirs(space[name])
        except KeyError:
            return name not in self.space

    # --- what stands for the built-in functions ---

    def compiled(self, source, filename, mode, flags, **more):
        """Is compile() for the tests and for modules that run what they are given."""
        frame = sys._getframe(2)
        code = REAL_COMPILE(source, filename, mode, flags, **more)
        if type(code) is not CODE:
            queries.check(self, code, frame)
            return code
        if is_rewriter(frame):
            return self.rewritten_module(code, filename, frame.f_locals.get("source", ""))
        text = self.text_of(source)
        is_own = self.is_own_tree(text) if isinstance(source, _ast.AST) else self.is_own(text)
        if type(source) is str and self.is_of_library(source, frame):
            self.own_codes[id(code)] = code, None
            self.library_codes.update((id(one), one) for one in (code, *inner_codes(code)))
        elif is_own or frame.f_globals.get("__name__") == "timeit" and self.may_time(frame.f_locals):
            code = REAL_COMPILE(self.prepare(source, mode), filename, mode, flags, **more)
            self.own_codes[id(code)] = code, text
        else:
            self.codes[id(code)] = code, text, mode
            self.codes.update((id(one), (one, None, mode)) for one in inner_codes(code))
        return code

    def is_of_library(self, source, frame):
        """Returns whether a text is the host's library's own: a constant in the function or module that has it run, as
        in six, or one that a module makes while it is imported, with nothing of the tests' or the code's in between."""
        while frame is not None and (is_module_of_library(frame.f_globals) or id(frame.f_code) in self.library_codes):
            constants = frame.f_code.co_consts
            if frame.f_code.co_name == "<module>" or any(type(one) is type(source) and one == source for one in constants):
                return True
            frame = frame.f_back
        return False

    def rewritten_module(self, code, path, source):
        """Returns the CODE of a module, as pytest has rewritten the SOURCE that it has read from PATH."""
        if is_of_library(path) or self.is_own(self.text_of(source)) or restricted.is_data(self.text_of(source)):
            self.own_codes[id(code)] = code, None
        return code

    def may_time(self, given):
        """Returns whether what timeit makes a program of are texts of the job's own, or calls."""
        for text in (given.get("stmt"), given.get("setup")):
            if type(text) is not str or self.is_own(text):
                continue
            space = given.get("global_ns") or given.get("globals") or {}
            names, foreign, is_open = self.names_for(text, [(space, True)])
            tree = restricted.parse(text, "exec")
            if foreign or is_open or tree is None or restricted.has_attributes(tree) or restricted.bound_by(tree):
                return False
            if not all(id(value) in restricted.PURE_IDS or self.link.is_theirs(value) for value in names.values()):
                return False
        return True

    @staticmethod
    def text_of(source):
        if isinstance(source, _ast.AST):
            return __import__("ast").unparse(source)
        return source if type(source) is str else str(bytes(source), "utf-8", "replace")

    def evaluated(self, source, mode, spaces, real, **more):
        """Is eval(), or exec(), for the tests and for modules that run what they are given."""
        frame = sys._getframe(2)
        given = spaces = self.spaces_for(frame, *spaces)
        if type(source) is CODE:
            if id(source) not in self.codes:
                self.check_module(source, frame, given[0])
                text = self.own_codes.get(id(source), (source, None))[1]
                return self.run_own(text, lambda: real(source, *given, **more), *given)
            _, text, mode = self.codes[id(source)]
        elif not isinstance(source, (str, bytes, bytearray, memoryview)):
            return real(source, *given, **more)  # which raises an exception
        else:
            text = self.text_of(source)
            if self.is_own(text):
                return self.run_own(text, lambda: real(self.prepare(source, mode, given[0]), *given, **more), *given)
            if self.is_of_library(source, frame):
                return real(source, *given, **more)
            REAL_COMPILE(text.strip(" \t") if mode == "eval" else text, "<string>", mode, dont_inherit=True)
        if text is None:
            self.refuse("the tests run a part of a text that is not theirs")
        return self.run(text, mode, frame, spaces)

    def spaces_for(self, frame, *spaces):
        """Returns what spaces_of() does. The dictionary of the tests' module is the names of the tests."""
        tests = vars(sys.modules[program.TESTS])
        return tuple(self.space if space is tests else space for space in spaces_of(frame, *spaces))

    def check_module(self, code, frame, namespace):
        """Refuses modules that runpy was told to run, unless the tests name them or have written them."""
        if is_rewriter(frame) and id(code) not in self.own_codes and not is_of_library(f"{frame.f_locals.get('pyc')}"):
            self.refuse("pytest runs a file that the tests have not written")
        if frame.f_globals.get("__name__") != "runpy" or id(code) in self.own_codes:
            return
        spec = namespace.get("__spec__")
        if spec is None or not is_of_library(spec.origin) or spec.name.removesuffix(".__main__") not in self.job.tests():
            self.refuse("`runpy` runs what is not the tests'")


def is_rewriter(frame):
    """Returns whether FRAME is one of the module by which pytest imports what it runs."""
    return frame.f_globals.get("__name__") == "_pytest.assertion.rewrite" and is_module_of_library(frame.f_globals)


def spaces_of(frame, globals, locals):
    """Returns the namespaces that eval() and exec() use if they are called from FRAME with these."""
    if globals is not None:
        return globals, locals
    return frame.f_globals, frame.f_locals if locals is None else locals


def is_function(value):
    """Returns whether VALUE is a function, and not one of the code's."""
    return type(value) is describe.FUNCTION and value.__globals__.get("__name__") not in callbacks.OWN_MODULES


def is_of_tests(value):
    return is_function(value) or isinstance(value, type) and callbacks.is_of_tests(value)


def copy_of(space):
    """Returns what is in a namespace; of its built-in names a copy, since dictionaries are shared."""
    found = dict(space)
    if type(found.get("__builtins__")) is dict:
        found["__builtins__"] = dict(found["__builtins__"])
    return found


def inner_codes(code):
    for constant in code.co_consts:
        if type(constant) is CODE:
            yield constant
            yield from inner_codes(constant)


def is_module_of_library(namespace):
    module = sys.modules.get(namespace.get("__name__"))
    if type(module) is not describe.MODULE or vars(module) is not namespace:
        return False
    return is_of_library(getattr(module.__spec__, "origin", None))


def is_of_library(path):
    """Returns whether a file is the host's. Nothing of the code lies there."""
    if path in ("frozen", "built-in"):
        return True
    return is_of_host(path)
