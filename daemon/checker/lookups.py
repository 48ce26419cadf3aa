# SPDX-License-Identifier: MIT
"""Functions of the library that find an object by a name, and call or replace it: for them a name that the tests have
from the code is as good as a program. They find what the tests name."""

import sys

import callbacks
import program
from suite import shorten
from texts import SHOWN_MAX, words_of
from trusted import is_of_host

LOGGING = (("logging.config", "BaseConfigurator", "resolve"),)
LOADERS = (("unittest.loader", "TestLoader", "loadTestsFromName"),)
ENTRIES = (("importlib.metadata", "EntryPoint", "load"),)
# By a word in the tests.
RESOLVERS = {
    "Config": LOGGING,
    "logging.config": LOGGING,
    "logging import config": LOGGING,
    "TestLoader": LOADERS,
    "unittest.main": LOADERS,
    "unittest import": LOADERS,
    "resolve_name": (("pkgutil", "", "resolve_name"),),
    "pydoc": (("pydoc", "", "locate"),),
    "EntryPoint": ENTRIES,
    "entry_points": ENTRIES,
    "yaml": (("yaml.constructor", "FullConstructor", "find_python_name"),
             ("yaml.constructor", "UnsafeConstructor", "find_python_name"),
             ("yaml.constructor", "FullConstructor", "find_python_module"),
             ("yaml.constructor", "UnsafeConstructor", "find_python_module")),
}  # fmt: skip


def names_in(values):
    """Yields those of VALUES, the arguments of a function of the library, that name objects."""
    for one in values:
        if type(one) is str:
            yield one
        elif type(one).__name__ == "EntryPoint" and not is_of_host(f"{getattr(one.dist, '_path', '')}"):
            yield one.value


class Lookups:
    """GATE is the texts.Gate of the job."""

    def __init__(self, gate):
        self.gate = gate
        self.text = gate.job.tests()

    def install(self):
        for module, owner, name in dict.fromkeys(one for word, all_ in RESOLVERS.items() if word in self.text for one in all_):
            self.guard(module, owner, name, self.check)
        if "mock" in self.text and ("patch(" in self.text or "patch." in self.text):
            self.guard("unittest.mock", "", "_get_target", self.check_patched)
            mock = sys.modules.get("unittest.mock")
            if hasattr(mock, "pkgutil"):
                mock.pkgutil = type(sys)("pkgutil")
                mock.pkgutil.resolve_name = self.guarded(__import__("pkgutil").resolve_name, self.check_place, "pkgutil")
        if "monkeypatch" in self.text.lower():
            self.guard("_pytest.monkeypatch", "", "derive_importpath", self.check_patched)
        if "import_module" in self.text:
            self.guard("importlib", "", "import_module", self.check_module)
        if "__import__" in self.text:
            self.guard("builtins", "", "__import__", self.check_module)

    def guard(self, module, owner, name, check):
        """Has a function of the library check the names that it is told."""
        try:
            found = __import__(module, fromlist=[""])
        except ImportError:
            return
        found = getattr(found, owner) if owner else found
        if hasattr(found, name):
            setattr(found, name, self.guarded(getattr(found, name), check, module))

    @staticmethod
    def guarded(original, check, module):
        def resolve(*arguments, **keywords):
            for one in names_in((*arguments, *keywords.values())):
                check(module, one)
            return original(*arguments, **keywords)

        resolve.__name__ = resolve.__qualname__ = original.__name__
        resolve.__module__ = original.__module__
        return resolve

    def refuse(self, module, name):
        self.gate.refuse(f"`{module}` looks up a name that is not in the tests: {shorten(name, SHOWN_MAX)}")

    def check(self, module, name):
        if name not in self.text:
            self.refuse(module, name)

    def is_written(self, name):
        return any(name in text for text in self.gate.own().constants)

    def check_patched(self, module, name):
        """Tests may put together what they patch, of texts of theirs and of names of modules and classes."""
        place, _, last = name.rpartition(".")
        if not self.is_written(last) and last not in self.gate.space.theirs:
            self.refuse(module, name)
        self.check_place(module, place)

    def check_place(self, module, name):
        root, *parts = name.split(".")
        is_codes = root in (program.TESTS, callbacks.NAME) and (not parts or parts[0] in self.gate.space.theirs)
        is_named = name in sys.modules and name in self.text and name not in callbacks.OWN_MODULES
        if not is_codes and not is_named and not self.is_written(name):
            self.refuse(module, name)

    def check_module(self, module, name):
        """The checker's own modules are there for nobody else."""
        if module == "builtins" and sys._getframe(2).f_globals.get("__name__") != program.TESTS:
            return  # a statement of a library's, which may name a module of its own package
        if name.partition(".")[0] in callbacks.OWN_MODULES and name not in words_of(self.text):
            self.refuse(module, name)
