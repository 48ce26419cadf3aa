# SPDX-License-Identifier: MIT
"""Which classes of Python's library the judge takes as its own when the candidate names one, and what stand-ins
for instances of the library's classes answer. Both lists say what is allowed: any other class that a name
leads to can be compared and no more."""

import sys

import aliases
import classes
import describe
from describe import COMPARISONS, CONVERSIONS
from trusted import load

_NUMPY = ("ndarray", "dtype", "generic")
# Classes that do nothing but hold values or describe types, by module.
CLASSES = {
    "abc": ("ABC", "ABCMeta"),
    "array": ("array",),
    "collections": ("ChainMap", "Counter", "OrderedDict", "UserDict", "UserList", "UserString", "defaultdict",
                    "deque"),
    "collections.abc": (
        "AsyncGenerator", "AsyncIterable", "AsyncIterator", "Awaitable", "ByteString", "Callable", "Collection",
        "Container", "Coroutine", "Generator", "Hashable", "ItemsView", "Iterable", "Iterator", "KeysView", "Mapping",
        "MappingView", "MutableMapping", "MutableSequence", "MutableSet", "Reversible", "Sequence", "Set", "Sized",
        "ValuesView"),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone", "tzinfo"),
    "decimal": ("Context", "Decimal", "DecimalTuple"),
    "enum": ("Enum", "EnumMeta", "EnumType", "Flag", "IntEnum", "IntFlag", "ReprEnum", "StrEnum", "auto"),
    "fractions": ("Fraction",),
    "ipaddress": ("IPv4Address", "IPv4Interface", "IPv4Network", "IPv6Address", "IPv6Interface", "IPv6Network"),
    "numbers": ("Complex", "Integral", "Number", "Rational", "Real"),
    "pathlib": ("Path", "PosixPath", "PurePath", "PurePosixPath", "PureWindowsPath", "WindowsPath"),
    "typing": ("Any", "BinaryIO", "Generic", "IO", "Protocol", "SupportsAbs", "SupportsBytes", "SupportsComplex",
               "SupportsFloat", "SupportsIndex", "SupportsInt", "SupportsRound", "TextIO"),
    "uuid": ("SafeUUID", "UUID"),
}  # fmt: skip
# Exceptions that do not derive from Exception, and that do not end a test in the judge.
BASE_EXCEPTIONS = (("asyncio.exceptions", "CancelledError"),)
# Modules of packages that it loads for that.
SUBMODULES = ("email.message", "xml.etree.ElementTree", "http.cookies",
              *(f"email.mime.{name}" for name in ("base", "text", "multipart", "application", "image", "audio")))  # fmt: skip
# Modules in which the judge looks up the special methods of an instance's class.
MODULES_KNOWN = ("contextlib", "re", "functools", "io", "itertools", "collections", "threading", "types", "queue",
                 "builtins", "dataclasses", "typing", "string", "operator", "asyncio", "_asyncio", "_io", "_thread", "random",
                 "weakref", "contextvars", "logging", "heapq", "csv", "configparser", "argparse",
                 "struct", "zlib", "hashlib", "_hashlib", "time", "inspect", "datetime", "enum", "abc",
                 "sqlite3", "gzip", "bz2", "lzma", "zipfile", "tarfile", "shlex", "tempfile", "graphlib", "difflib", "fileinput",
                 "shelve", "mailbox", "plistlib", "selectors", "concurrent", "mmap", "codecs", "wave", "zoneinfo",
                 "calendar", "traceback", "email", "http", "array", "os")  # fmt: skip
# What stand-ins for the library's objects answer: their items, texts and steps, which are data. They do no
# arithmetic and compare with nothing, a proxy or a mock least of all; what they contain the judge finds among
# their items.
ANSWERED = frozenset((
    "__len__", "__iter__", "__next__", "__reversed__", "__length_hint__", "__getitem__", "__setitem__", "__delitem__",
    "__missing__", "__call__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__aiter__", "__anext__", "__await__",
    "__get__", "__set__", "__delete__", "__set_name__", "__str__", "__repr__", "__format__", "__bytes__", "__fspath__",
    "__instancecheck__", "__subclasscheck__", "__class_getitem__", "__copy__", "__deepcopy__",
))  # fmt: skip
# The same of classes written in C of other packages. The code says what special methods such a class has.
OF_PACKAGES = frozenset(("__len__", "__iter__", "__next__", "__reversed__", "__getitem__", "__setitem__", "__delitem__",
                         "__call__", "__enter__", "__exit__", "__str__", "__repr__", "__format__", "__bytes__"))  # fmt: skip
OF_TYPES = ("__or__", "__ror__")  # int | None, list[int] | None


def _is_known_of_numpy(value):
    numpy = sys.modules["numpy"]
    return any(issubclass(value, vars(numpy)[name]) for name in _NUMPY)


def may_cross(module, qualified, value):
    """Returns whether the class VALUE, which describe.class_at() has found, is one that the candidate may name."""
    if qualified in CLASSES.get(module, ()):
        return True
    if module == "numpy" or module.startswith("numpy.dtype"):
        return _is_known_of_numpy(value)
    if module.partition(".")[0] not in sys.stdlib_module_names or not classes.is_exception(value):
        return False
    is_ordinary = issubclass(value, Exception) or (module, qualified) in BASE_EXCEPTIONS
    return is_ordinary and not aliases.is_control(value)


def load_numpy(module):
    """Looks for the classes of numpy's functions and generators; its other objects cross as values."""
    if module in ("numpy", "numpy.random._generator"):
        try:
            load("numpy")
        except ImportError:
            pass


def load_if_there(module):
    try:
        load(module)
    except (Exception, SystemExit):
        pass  # nothing of it answers; nor does a module end a test


def _of_directory(module):
    with module.scandir(module.path.dirname(module.__file__)) as entries:
        return type(entries)


HIDDEN = {
    ("_elementtree", "_element_iterator"): ("xml.etree.ElementTree", lambda module: type(module.Element("x").iter())),
    ("_csv", "reader"): ("csv", lambda module: type(module.reader(()))),
    ("array", "arrayiterator"): ("array", lambda module: type(iter(module.array("b")))),
    ("_struct", "unpack_iterator"): ("struct", lambda module: type(module.iter_unpack("b", b""))),
    ("posix", "ScandirIterator"): ("os", _of_directory),
    ("functools", "KeyWrapper"): ("functools", lambda module: type(module.cmp_to_key(max))),
}


def hidden_type(module, qualified):
    """Returns a type that no module has under the name that it gives."""
    where, find_in = HIDDEN.get((module, qualified), (None, None))
    return find_in(load(where)) if where else None


def find(module, qualified):
    """Returns the judge's own class of that name, if the candidate may name it; else None. Built-in classes have a
    way of their own."""
    if module in CLASSES and module not in sys.modules:
        __import__(module)
    value = describe.class_at(module, qualified) if module != "builtins" else None
    return value if value is not None and may_cross(module, qualified, value) else None


def is_pythons_or_numpys(module):
    root = module.partition(".")[0]
    return root == "numpy" or root in sys.stdlib_module_names


def answered_of_package(specials):
    """The same for an instance of a class of another package, which has SPECIALS as the code says."""
    names = specials if type(specials) is tuple else ()
    return tuple(name for name in names if type(name) is str and name in OF_PACKAGES)


def answered_by(kind):
    """Returns the special methods that a stand-in for an instance of KIND, a class of the library, answers. What the
    iterator of an iterator is nobody has to ask."""
    names = ANSWERED.union(OF_TYPES) if kind.__module__ in ("types", "typing") else ANSWERED
    if (kind.__module__, kind.__name__) == ("functools", "KeyWrapper"):  # the code's function compares what these wrap
        names = names.union(("__lt__", "__gt__", "__le__", "__ge__"))
    found = tuple(name for name in describe.specials_of(kind) if name in names)
    own = {"__iter__": "__next__", "__aiter__": "__anext__"}
    return tuple(name for name in found if own.get(name) not in found)


# --- comparisons of abstract classes ---------------------------------------------------------------


def answered_for_mixin(bases):
    """Returns what a class has from an abstract one of the library among BASES, and must not have here: comparisons
    that ask the object what it contains, and conversions that ask it for its parts."""
    found = set()
    for one in bases:
        if describe.class_of_library(one) and one.__module__ in ("collections.abc", "numbers"):
            kept = COMPARISONS if one.__module__ == "collections.abc" and compares_items_of(one) else CONVERSIONS
            found.update(name for above in one.__mro__[:-1] for name in kept if callable(vars(above).get(name)))
    return tuple(sorted(found - {"__hash__", "__len__"}))


def compares_items_of(kind):
    abc = sys.modules.get("collections.abc")
    return abc is not None and issubclass(kind, abc.Set)


def compares_items(value):
    return compares_items_of(type(value))


# Classes of collections as which objects of classes that derive from them are compared: by their items, or what they hold.
BY_ITEMS = ("OrderedDict", "defaultdict", "Counter", "UserDict")
BY_DATA = {"UserList": list, "UserString": str}


def class_of_items(bases):
    """Returns the class of the library among BASES, as which an object is compared."""
    collections = sys.modules.get("collections")
    known = [getattr(collections, name) for name in (*BY_ITEMS, *BY_DATA)] if collections is not None else ()
    return next((one for one in bases if any(one is kind for kind in known)), None)


def compare_parts(link, name, value, other):
    """Compares an object of the code's, whose class derives from a container of the library's, by its parts: these
    the code tells without knowing what they are compared with."""
    number = link.stand_in_numbers.get(id(value))
    is_made_here = number in link.tainted or number in link.constructed.made
    if name not in ("__eq__", "__ne__") or not isinstance(other, (dict, list, str)) or is_made_here:
        return NotImplemented
    infos = (link.infos.get(id(one)) for one in type.__dict__["__mro__"].__get__(type(value)))
    kind = next((info.items for info in infos if info is not None and info.items), None)
    if kind is None:
        return NotImplemented
    plain = BY_DATA.get(kind.__name__)
    if plain is None:
        return compare_mapping(kind, name, link.get(value, "items")(), other)
    data = link.get(value, "data")
    return getattr(plain, name)(data, other) if type(data) is plain else NotImplemented


def compare_mapping(kind, name, items, other):
    """Compares a dictionary of the code's, of which ITEMS are told, with a value of the judge."""
    pairs = list(items)
    if not all(type(one) is tuple and len(one) == 2 for one in pairs):
        return NotImplemented
    made = kind() if kind.__name__ != "defaultdict" else {}
    for key, value in pairs:
        made[key] = value
    return made == other if name == "__eq__" else made != other  # a Counter leaves that to a plain dictionary


def compare_items(name, value, other):
    """Compares a set of the code's with one of the judge's by its items, which are data here."""
    if not compares_items(other):
        return NotImplemented
    return getattr(frozenset, name)(frozenset(value), frozenset(other))
