# SPDX-License-Identifier: MIT
"""The places where a text, a file or a name becomes a program, each with the gate of texts.py before it: the built-in
functions, pickles, the import system, and what an audit hook tells of all others."""

import builtins
import os
import sys

import callbacks
import channels
import children
import lookups
import makers
import pickles
import planted
import queries
from restricted import REAL_COMPILE, REAL_EVAL, REAL_EXEC, is_data
from texts import CODE, inner_codes, is_module_of_library, is_of_library, is_rewriter, spaces_of

# Tests without one of these run no text of the code's, unless a library does, which must not.
WORDS = ("eval", "exec", "compile", "doctest", "timeit", "code", "marshal", "pickle", "run", "query", "bmat", "oader", "importer",
         "multiprocessing")  # fmt: skip
# Modules that run texts which they have made themselves. All others run what they are given.
MAKERS = frozenset("collections dataclasses enum typing inspect functools gettext unittest numpy attr hypothesis".split())
RUNNERS = ("numpy.testing", "numpy.f2py", "numpy.distutils", "unittest.main", "unittest.loader")
REAL = {"eval": REAL_EVAL, "exec": REAL_EXEC, "compile": REAL_COMPILE}
IMPORTERS = ("_frozen_importlib", "_frozen_importlib_external")


_kept = set()  # what keep_real() returns


def keep_real():
    """Has the checker's own modules find the real functions, whatever stands in their place among the built-in ones.
    Returns the id() of each module's dictionary. A new name in a module makes Python forget where it has found
    others: better in the interpreter that waits than in each of its forks."""
    if not _kept:
        for name in callbacks.OWN_MODULES:
            if name in sys.modules:
                names = vars(sys.modules[name])
                names.update((name, function) for name, function in REAL.items() if name not in names)
                _kept.add(id(names))
    return _kept


class Sinks:
    """GATE is the texts.Gate of the job."""

    def __init__(self, gate):
        self.gate = gate
        self.pickles = pickles.Pickles(gate)
        self.modules = _kept

    def hook(self):
        """Returns the audit hook. Python calls it for each id(), and before that looks for an attribute of it: in a
        function it finds none at once, in a method only by an exception."""
        watched_events, getframe = self.EVENTS.get, sys._getframe

        def hear(event, arguments):
            watched = watched_events(event)
            if watched is not None:
                watched(self, getframe(1), *arguments)

        return hear

    def on_exec(self, frame, code):
        space = frame.f_globals
        if id(space) in self.modules:
            return
        if not any(space is vars(sys.modules[name]) for name in IMPORTERS):
            self.gate.refuse("a text is run in a way that is not known")
        while frame is not None and "module" not in frame.f_locals:
            frame = frame.f_back
        spec = getattr(frame and frame.f_locals["module"], "__spec__", None)
        if spec is None or spec.origin not in ("frozen", "built-in") and not is_of_library(spec.origin) and id(code) not in self.gate.own_codes:
            self.gate.refuse("the tests import a file that they have not written")
        if spec.name.endswith("__main__") and spec.name.rpartition(".")[0] not in self.gate.job.tests():
            self.gate.refuse(f"the tests import `{spec.name}`, which they do not name")

    def on_import(self, _frame, name, path, *_rest):
        if path is not None and not is_of_library(path):
            self.gate.refuse("the tests import a file that they have not written")

    def on_library(self, _frame, name):
        try:
            path = os.fsdecode(name)
        except TypeError:
            return  # the program itself
        if "/" in path and not is_of_library(path):
            self.gate.refuse("the tests load a library that is not the host's")

    def on_extension(self, frame, _connection, path):
        self.on_library(frame, path)

    def on_extensions(self, _frame, _connection, is_on):
        if is_on:  # a function of SQL loads them, too, without a word
            self.gate.refuse("the tests let SQL load libraries")

    def on_interpreter(self, _frame):
        self.gate.refuse("the tests start an interpreter in which nothing is looked at")

    def on_code(self, frame, *_parts):
        if id(frame.f_globals) not in self.modules and not is_module_of_library(frame.f_globals):
            self.gate.refuse("the tests make code of their own")

    def on_function(self, _frame, code):
        if id(code) in self.gate.codes:
            self.gate.refuse("the tests make a function of a text that is not theirs")

    def on_setattr(self, frame, value, name, code):
        if name == "__code__":
            self.on_function(frame, code)

    def on_find_class(self, frame, module, name):
        self.pickles.on_find(frame, module, name)

    def on_process(self, _frame, executable, command, directory, environment):
        words = [command] if isinstance(command, (str, bytes)) else command
        children.check(self.gate, [executable, *words], directory, environment)

    def on_command(self, _frame, command):
        children.check(self.gate, command)

    def on_program(self, _frame, path, arguments, environment):
        children.check(self.gate, [path, *arguments], None, environment)

    def guard_spawn(self):
        """multiprocessing starts interpreters without an audit event."""
        import _posixsubprocess

        start = _posixsubprocess.fork_exec

        def fork_exec(words, *arguments):
            if sys._getframe(1).f_globals.get("__name__") != "subprocess":
                if self.gate.link.transcript is not None:
                    self.gate.link.transcript.refuse("the tests start processes")
                children.check(self.gate, list(words))
            return start(words, *arguments)

        _posixsubprocess.fork_exec = fork_exec

    EVENTS = {
        "subprocess.Popen": on_process,
        "os.system": on_command,
        "os.exec": on_program,
        "os.posix_spawn": on_program,
        "pickle.find_class": on_find_class,
        "exec": on_exec,
        "import": on_import,
        "ctypes.dlopen": on_library,
        "sqlite3.load_extension": on_extension,
        "sqlite3.enable_load_extension": on_extensions,
        "cpython.PyInterpreterState_New": on_interpreter,
        "code.__new__": on_code,
        "function.__new__": on_function,
        "object.__setattr__": on_setattr,
    }

    def guard_marshal(self):
        """Has marshal give the tests no code but their own."""
        import marshal

        def checked(load):
            def loaded(source, /):
                value = load(source)
                if is_of_library(sys._getframe(1).f_locals.get("bytecode_path")):
                    return value  # the host's library is imported
                stack = [value]
                while stack:
                    part = stack.pop()
                    if type(part) is CODE:
                        self.gate.codes[id(part)] = part, None, "exec"
                        self.gate.codes.update((id(one), (one, None, "exec")) for one in inner_codes(part))
                    elif isinstance(part, (tuple, list, set, frozenset, dict)):
                        stack += [one for item in part.items() for one in item] if type(part) is dict else part
                return value

            return loaded

        for name in ("load", "loads"):
            original = getattr(marshal, name)
            made = checked(original)
            made.__name__ = made.__qualname__ = name
            made.__module__ = "marshal"
            setattr(marshal, name, made)

    def guard_stylesheets(self):
        """A stylesheet of XSLT writes files, also to descriptors of this process, unless it is kept from it."""
        try:
            etree = __import__("lxml.etree", fromlist=[""])
        except ImportError:
            return
        closed = etree.XSLTAccessControl(write_file=False, create_dir=False, write_network=False)

        class XSLT(etree.XSLT):
            def __init__(self, stylesheet, *, access_control=None, **more):
                super().__init__(stylesheet, access_control=access_control or closed, **more)

        XSLT.__module__, XSLT.__qualname__ = "lxml.etree", "XSLT"
        etree.XSLT = XSLT

    def compiled_module(self, data, path, mode, **more):
        """Is compile() for the import system."""
        code = REAL_COMPILE(data, path, mode, **more)
        text = "" if is_of_library(path) else self.gate.text_of(data)
        if text and (self.gate.is_own(text) or is_data(text)):
            self.gate.own_codes[id(code)] = code, None
        elif text:
            self.gate.codes[id(code)] = code, text, "exec"
            self.gate.codes.update((id(one), (one, None, "exec")) for one in inner_codes(code))
        return code

    def install(self):
        text = self.gate.job.tests()
        if any(word in text for word in WORDS):
            self.gate.follow()
        if "pickle" in text or "shelve" in text:
            self.pickles.install()
        if any(word in text for word in ("marshal", "get_code", "loader", "Loader", "importer")):
            self.guard_marshal()
        if "dataclass" in text:
            makers.keep_fields()
        if "bmat" in text:
            queries.guard_matrices(self.gate)
        if "lxml" in text or "stylesheet" in text:
            self.guard_stylesheets()
        lookups.Lookups(self.gate).install()
        self.gate.planted = planted.Planted(self.gate)
        self.gate.planted.install()
        if "multiprocessing" in text or "concurrent" in text:
            self.guard_spawn()
            self.gate.planted.unheard(channels.renew_key)
        self.modules = keep_real()
        for name in IMPORTERS:
            vars(sys.modules[name]).update(exec=REAL_EXEC, compile=self.compiled_module)
        for stand_in, name in zip(stand_ins(self.gate), REAL):
            stand_in.__name__ = stand_in.__qualname__ = name
            stand_in.__module__ = "builtins"
            stand_in.__doc__ = REAL[name].__doc__
            setattr(builtins, name, stand_in)
        sys.addaudithook(self.hook())


def stand_ins(gate):
    """Returns what stands for eval(), exec() and compile()."""

    def evaluate(source, /, globals=None, locals=None):
        frame = sys._getframe(1)
        if makes_texts(frame.f_globals):
            spaces = spaces_of(frame, globals, locals)
            if frame.f_globals["__name__"] in makers.EVALUATING:
                return makers.evaluate(gate, source, frame, spaces, REAL_EVAL)
            makers.check(gate, frame)
            return REAL_EVAL(source, *spaces)
        return gate.evaluated(source, "eval", (globals, locals), REAL_EVAL)

    def execute(source, /, globals=None, locals=None, *, closure=None):
        frame = sys._getframe(1)
        more = {} if closure is None else {"closure": closure}
        if is_rewriter(frame):
            source = rewritten(gate, frame, source)
        if makes_texts(frame.f_globals):
            makers.check(gate, frame)
            return REAL_EXEC(source, *spaces_of(frame, globals, locals), **more)
        return gate.evaluated(source, "exec", (globals, locals), REAL_EXEC, **more)

    def compile(source, filename, mode, flags=0, dont_inherit=False, optimize=-1, *, _feature_version=-1):
        more = {"dont_inherit": True, "optimize": optimize, "_feature_version": _feature_version}
        frame = sys._getframe(1)
        if makes_texts(frame.f_globals):
            code = REAL_COMPILE(source, filename, mode, flags, **more)
            if frame.f_globals["__name__"] in makers.EVALUATING:
                gate.annotations[id(code)] = code, source
            return code
        return gate.compiled(source, filename, mode, flags, **more)

    return evaluate, execute, compile


def rewritten(gate, frame, code):
    """Returns what pytest, in FRAME, is to run for CODE: never what somebody has left in a `__pycache__`."""
    names = frame.f_locals
    children.check_pytest(gate, os.path.dirname(f"{names.get('fn')}"))
    if id(code) in gate.own_codes or is_of_library(f"{names.get('pyc')}"):
        return code
    return frame.f_globals["_rewrite_test"](names["fn"], names["self"].config)[1]


def makes_texts(namespace):
    name = namespace.get("__name__")
    if name in ("_pytest.mark.expression", "multiprocessing.managers"):  # of names that a test goes by, and of methods
        return is_module_of_library(namespace)
    if type(name) is not str or name.partition(".")[0] not in MAKERS or name.startswith(RUNNERS):
        return False
    return is_module_of_library(namespace)
