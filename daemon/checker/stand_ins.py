# SPDX-License-Identifier: MIT
"""What the judge makes of what the candidate says of its objects: stand-ins for classes, modules and exceptions.
Of a name of the library's it takes its own class only where library.py says so. Exception classes that the code
merely renames stay apart from those by which the tests fail."""

import collections
import sys

import aliases
import bodies
import callbacks
import classes
import describe
import gates
import library
import membrane
import mirrors
import names
import plain_methods
import sharing
import values
import wire
from callbacks import PLAIN, TESTS
from trusted import load
from wire import WireError

ABSTRACT = 1 << 20  # Py_TPFLAGS_IS_ABSTRACT
# Every failure of a test is one of these, or ends it.
FAILURES = (AssertionError, Exception, BaseException, SystemExit, KeyboardInterrupt, GeneratorExit)


# Where no class of a package is that the code has objects of: what is there means something to the judge.
NO_PACKAGES = frozenset((TESTS, callbacks.NAME, *callbacks.OWN_MODULES, *callbacks.FRAMEWORKS, *describe.RUNNERS))
# Modules that the code may not hand over whole: they have functions that end tests, and objects that equal everything.
ENDING_MODULES = ("unittest", "unittest.mock")


class CandidateExit(SystemExit):
    """The code exits. In the tests a SystemExit is one of their own."""


CandidateExit.__name__ = CandidateExit.__qualname__ = "SystemExit"


class Alias(type):
    """The class of aliases of built-in exception classes: equal to them, and not the same."""

    def __eq__(cls, other):
        return other is cls or other is getattr(cls, "original", None)

    def __hash__(cls):
        return hash(getattr(cls, "original", None))


class Makers(membrane.Space):
    """The part of a link (link.py) that makes stand-ins."""

    def __init__(self, read_fd, write_fd, first):
        super().__init__(read_fd, write_fd, first)
        self.tamed = {}  # classes that stand for those by which a framework skips a test
        self.may_show = {}  # by id(): whether objects of the code may be of a class of the library's, and the class
        self.modules = {}  # of the library that only the code has loaded, by name and by id()
        self.aliases = {}  # built-in exception classes that the code has given another name
        self.alias_mixtures = {}
        self.alias_uses = {}  # how often each such class has arrived as a value, and not as a base of a class
        self.originals = {}  # of those two, by id()

    def make_class(self, number, parts):
        if len(parts) == 9 and type(parts[5]) is tuple:
            for kind in (self.originals.get(id(base)) for base in parts[5]):
                self.use_alias(kind, -1)
        more = parts[8] if len(parts) == 9 else None
        if type(more) is tuple and len(more) == 3 and more[0] == "host":
            found = self.exception_of_host(*more[1:])
            if found is not None and number is not None:
                self.stand_ins[number] = found
                return found
        if len(parts) == 9 and type(parts[5]) is tuple:
            bases = tuple(map(self.original, parts[5]))
            parts = (*parts[:5], bases, gates.without_splitting(bases, parts[6]), *parts[7:])
        made = super().make_class(number, parts)
        info = self.infos[id(made)]
        info.named = info.named or any(one in self.named_classes for one in (number,))
        plain_methods.guard(self.infos, made)
        plain_methods.guard_comparing(self, made)
        return made

    named_classes = frozenset()

    @staticmethod
    def packages():
        """Returns the names of the packages that the tests import."""
        return ()

    def exception_of_host(self, module, qualified):
        """Returns the judge's own exception class of that name, if the tests import its package; else None."""
        if type(module) is str and module not in sys.modules and self.may_load(module):
            library.load_if_there(module)
        return describe.exception_of_host(module, qualified)

    def may_load(self, module):
        """Returns whether the judge loads MODULE because the code says that it has a class there. Of Python's library it
        does not, and one named __main__ is a program."""
        root, *names = module.split(".")
        return root in self.packages() and root not in sys.stdlib_module_names and not any(one.startswith("__") for one in names)

    def name(self, kind, is_function=False):
        """The tests name a class of the candidate's: its special methods answer, and those of its bases. With
        IS_FUNCTION its name stands for a function, and few of them do."""
        for one in kind.__mro__:
            info = self.infos.get(id(one))
            if info is not None:
                info.limited = is_function and (info.limited or not info.named)
                info.named = True

    def derive(self, metaclass, name, bases, namespace, keywords):
        own = bodies.of_tests(self, namespace)
        made = super().derive(metaclass, name, bases, namespace, keywords)
        bodies.keep(self, made, name, own)
        if id(made) in self.infos:
            self.name(made)  # a class statement of the tests names it
        return made

    def make_object(self, kind, arguments, keywords):
        name, namespace = bodies.of_statement(arguments)
        own = bodies.of_tests(self, namespace)
        made = super().make_object(kind, arguments, keywords)
        if own and (isinstance(made, type) or "__qualname__" in namespace):
            bodies.keep(self, made, name, own)
        return made

    def told_shadow(self, kind, number, name):
        if not bodies.is_kept(self, kind, name):
            super().told_shadow(kind, number, name)

    def make_library_object(self, number, parts):
        kind, module, qualified = parts
        if kind != "Y" or type(module) is not str or type(qualified) is not str:
            raise WireError("a name of the library")
        if module == "builtins" and qualified in wire.TYPES:
            return self.built_in(wire.TYPES[qualified])
        found = library.find(module, qualified)
        if found is not None:
            return found
        kind = describe.class_at(module, qualified)
        if kind is not None and classes.is_exception(kind) and aliases.is_control(kind):
            return self.tame(kind)
        return self.opaque_class(module, qualified)

    def tame(self, kind):
        """Returns what stands for a class by which a framework skips a test: an error as any other."""
        made = self.tamed.get(kind)
        if made is None:
            made = self.tamed[kind] = Alias(kind.__name__, (RuntimeError,), {"__module__": "candidate", "original": kind})
            self.tamed[id(made)] = kind
        return made

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
        if type(name) is not str or name.partition(".")[0] not in sys.stdlib_module_names:
            raise WireError("an unknown module")
        if name in sys.modules and name in names.TAKEN_FROM and name not in ENDING_MODULES:
            return sys.modules[name]
        made = self.modules.get(name)
        if made is None:
            made = self.modules[name] = self.part_of_module(name)
            self.modules[id(made)] = name
        return made

    def part_of_module(self, name):
        """Returns what the code may hand to the tests of a module, if that is less than all."""
        if name not in sys.modules or name not in ENDING_MODULES:
            return type("module", (), {"__slots__": ()})()
        made = type(sys)(name)
        for attribute in names.TAKEN_FROM[name]:
            value = vars(sys.modules[name]).get(attribute)
            if value is not None:
                setattr(made, attribute, self.make_module(None, ("p", value.__name__)) if type(value) is type(sys) else value)
        return made

    def specials_of_library(self, module, qualified, specials):
        """Those of the judge's own class of that name: the candidate cannot add any."""
        root = module.partition(".")[0]
        if not library.is_pythons_or_numpys(module):
            if root in NO_PACKAGES or not all(one.isidentifier() for one in module.split(".")):
                raise WireError("an object of no class of the library")
            return library.answered_of_package(specials)
        if root in library.MODULES_KNOWN:
            library.load_if_there(module if module in library.CLASSES else root)
        if module in library.SUBMODULES:
            load(module)
        library.load_numpy(module)
        kind = class_called(module, qualified)
        if isinstance(kind, type) and self.is_plain(kind):
            raise WireError("a value that is an object")
        return library.answered_by(kind) if self.may_be_shown(kind) else ()

    def may_be_shown(self, kind):
        """Returns whether KIND, what the library has under a name, is a class of which the code may have an object: it
        has instances of its own, and they do not cross as values. Of numpy's only those written in C are the library's."""
        known = self.may_show.get(id(kind))
        if known is None:
            is_pythons = isinstance(kind, type) and kind.__flags__ & describe.HEAP_TYPE and callbacks.root_of(kind) == "numpy"
            may = isinstance(kind, type) and not is_pythons and not kind.__flags__ & ABSTRACT
            known = self.may_show[id(kind)] = may and not self.is_value(kind) and not values.is_akin(kind), kind
        return known[0]

    @staticmethod
    def is_plain(kind):
        """Returns whether an honest description of an instance is never one of an object of the library."""
        plain = (*PLAIN, type(...), type(NotImplemented), describe.FUNCTION, describe.BOUND_METHOD)
        is_one = any(kind is one for one in plain) or sharing.container_tag(kind) is not None
        return is_one or classes.is_exception(kind) or issubclass(kind, type)

    @staticmethod
    def is_value(kind):
        """Returns whether instances of a class cross as values: none of them stays on the other side, where
        it could answer now one thing and now another."""
        plain = (*describe.IMMUTABLE_BASES, *describe.MUTABLE_BASES, bool)
        return kind in plain or sharing.container_tag(kind) is not None or values.has_parts(kind)

    def class_shown(self, info, kind):
        found = class_called(*info.library) if library.is_pythons_or_numpys(info.library[0]) else None
        return found if self.may_be_shown(found) else kind

    def may_make(self, kind):
        return id(kind) in self.infos or isinstance(kind, type) and callbacks.is_of_tests(kind)

    def make_exception(self, number, parts):
        if len(parts) != 8 or not classes.is_exception(parts[1]):
            raise WireError("a bad exception")
        kind = self.original(parts[1])
        if kind is SystemExit:
            kind = CandidateExit
        return classes.rebuild(self.mixed_with_aliases(kind), *parts[2:])

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
        `except Error`. SystemExit is the code's own, which ends no test."""
        if kind is SystemExit:
            self.originals[id(CandidateExit)] = kind
            return CandidateExit
        if not any(kind is one for one in FAILURES):
            return kind
        self.use_alias(kind, 1)
        return self.alias(kind)

    def use_alias(self, kind, times):
        if kind is not None:
            self.alias_uses[kind] = self.alias_uses.get(kind, 0) + times

    def original(self, kind):
        return self.originals.get(id(kind), kind)

    def export(self, writer, value):
        original = self.originals.get(id(value))
        if id(value) in self.tamed:
            super().export(writer, self.tamed[id(value)])
        elif original is None:
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
        if not is_own or value.__name__ == name:
            return value
        self.use_alias(value, 1)
        return self.alias(value)

    def mixed_with_aliases(self, kind):
        if not self.aliases:
            return kind
        used = ((original, alias) for original, alias in self.aliases.items() if self.alias_uses.get(original, 0) > 0)
        above = tuple(alias for original, alias in used if issubclass(kind, original))
        if not above:
            return kind
        key = (kind, *map(id, above))
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


def _hidden_types():
    """Types that no module has under the name that they give."""
    containers = [], (), {}, set(), "", "\xe9", b"", bytearray(), memoryview(b""), range(0), range(1 << 64), {}.values(), {}.items()
    found = [type(iter(one)) for one in containers]
    found += [type(reversed(one)) for one in ([], {}, {}.values(), {}.items())]
    # What iter() makes of an object that has nothing but items, such as an array of numpy's.
    found += [type(iter(type("Items", (), {"__getitem__": None})())), type(iter(list[int]))]
    found += [type((i for i in ())), describe.FUNCTION, describe.BOUND_METHOD]
    found += [type(iter(int, 0)), type(map), type(zip())]
    ordered = collections.OrderedDict()
    found += [type(one) for one in (iter(ordered), ordered.keys(), ordered.values(), ordered.items())]

    async def coroutine():
        pass

    async def generator():
        yield

    running, stepping = coroutine(), generator().asend(None)
    running.close()
    stepping.close()
    found += [type(running), type(running.__await__()), type(stepping), type(generator()), type(generator().athrow(ValueError))]
    return {(one.__module__, one.__qualname__): one for one in found}


HIDDEN_TYPES = _hidden_types()


def class_called(module, qualified):
    """Returns what the library has under a name, be it one that no module shows; None if there is no such class."""
    found = describe.class_at(module, qualified) or HIDDEN_TYPES.get((module, qualified))
    return found or library.hidden_type(module, qualified)
