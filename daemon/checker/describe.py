# SPDX-License-Identifier: MIT
"""What one side tells the other of an object that stays where it is: a tuple of plain data and of other
objects, whose first item says what it is.

    ("f", name, qualified name, module, doc, flags, attributes, signature)    a function
    ("b", object, function)                                       a bound method
    ("c", name, qualified name, module, doc, bases, attributes, specials of its class, more)    a class
    ("Y", module, qualified name)                                 a class of the library
    ("q", module, qualified name)                                 a function of the library
    ("m", name)                                                   a module of the library
    ("s", module, name)                                           a sentinel of the library
    ("i", class, shadowing attributes)                            an instance
    ("l", module, qualified name, specials)                       an instance of a class of the library
    ("e", class, arguments, text, attributes, cause, suppressed, context)  an exception
    ("p", class, value)                                           an immutable value of a derived class
    ("v", value)                                                  the same of a class that only the library needs
    ("n", class, name or value)                                   a member of an enumeration, or a combination of flags

Nothing here runs code of the object that it describes, except where a class has a metaclass of its own."""

import sys

import aliases
from trusted import is_of_host
from values import is_flag

FUNCTION = type(lambda: 0)
METHOD = type(object().__init__)
BOUND = type("".join)
BOUND_METHOD = type(type("", (), {"f": lambda self: 0})().f)
DESCRIPTORS = (type(str.join), type(str.__len__), type(dict.__dict__["fromkeys"]))
GENERATOR = type(i for i in ())
BUILT_IN_FUNCTIONS = (BOUND, METHOD, *DESCRIPTORS)
OF_CYTHON = "cython_function_or_method"  # the type of functions in modules that Cython has made
MEMBER = type(FUNCTION.__globals__)  # the type of a name in __slots__
MODULE = type(sys)
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
FUNCTION_FLAGS = 0x20 | 0x80 | 0x100 | 0x200  # generator, coroutine, iterable coroutine, asynchronous generator
NUMBERED = "fciep l"  # kinds whose objects keep their identity
# Sentinels that code compares by identity, and the modules that have them.
SENTINELS = {
    "dataclasses": ("MISSING", "KW_ONLY", "_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR", "_HAS_DEFAULT_FACTORY"),
    "inspect": ("_empty",),
}
# Of these, too, the candidate has its own when the tests bind them for the code.
SCIENTIFIC = ("numpy", "pandas", "scipy", "sympy", "sklearn", "networkx", "matplotlib", "requests", "torch", "yaml")
IMMUTABLE_BASES = (int, float, complex, str, bytes, frozenset, tuple)
MUTABLE_BASES = (list, dict, set, bytearray)

ARITHMETIC = tuple(
    f"__{prefix}{name}__"
    for name in """add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift""".split()
    for prefix in ("", "r", "i")
    if name != "divmod" or prefix != "i"
)
UNARY = ("__neg__", "__pos__", "__abs__", "__invert__", "__round__", "__trunc__", "__floor__", "__ceil__")
COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
CONVERSIONS = {
    "__bool__": bool,
    "__len__": int,
    "__int__": int,
    "__index__": int,
    "__float__": float,
    "__complex__": complex,
    "__str__": str,
    "__repr__": str,
    "__format__": str,
    "__bytes__": bytes,
    "__hash__": int,
    "__fspath__": str,
}
CONTAINERS = ("__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "__next__", "__reversed__",
              "__missing__", "__length_hint__")  # fmt: skip
OTHERS = ("__call__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__aiter__", "__anext__", "__await__",
          "__get__", "__set__", "__delete__", "__set_name__", "__instancecheck__", "__subclasscheck__",
          "__class_getitem__", "__copy__", "__deepcopy__")  # fmt: skip
SPECIALS = frozenset((*ARITHMETIC, *UNARY, *COMPARISONS, *CONVERSIONS, *CONTAINERS, *OTHERS))


def _text(value):
    return value if type(value) is str else None


def _path(module, qualified):
    """Returns the object at that place of a module that is loaded; None if there is none."""
    value = sys.modules.get(module)
    for name in qualified.split("."):
        if value is None:
            return None
        value = vars(value).get(name) if hasattr(value, "__dict__") else None
    return value


def class_at(module, qualified):
    """Returns the class that a loaded module defines under that name: one that says so itself, and to which only
    classes lead. What a module has merely imported is not its own. None if there is none."""
    value = sys.modules.get(module)
    for name in qualified.split("."):
        is_way = isinstance(value, (MODULE, type))
        value = vars(value).get(name) if is_way else None
        if not isinstance(value, type):
            return None
    says = type.__getattribute__(value, "__module__"), type.__getattribute__(value, "__qualname__")
    return value if all(type(one) is str for one in says) and says == (module, qualified) else None


def of_library(value):
    """Returns module and qualified name of a class or function that Python's library defines."""
    module, name = _text(getattr(value, "__module__", None)), _text(getattr(value, "__qualname__", None))
    if module and name and module.partition(".")[0] in sys.stdlib_module_names and _path(module, name) is value:
        return module, name
    return None


def class_of_library(value):
    """Like of_library(), also for the classes that the interpreter hides. None for a class of the code."""
    if not value.__flags__ & HEAP_TYPE:
        return f"{type.__getattribute__(value, '__module__')}", type.__getattribute__(value, "__qualname__")
    return of_library(value)


# Their exceptions say that a test is not to run, or has ended.
RUNNERS = ("_pytest", "pytest", "hypothesis", "pluggy", "nose", "twisted", "testtools")


def exception_of_host(module, qualified):
    """Returns the exception class that a package of the host, which is loaded here, defines under that name:
    `numpy.linalg.LinAlgError`. None if there is none, if it is the library's, or if it is one of a test framework's or
    of the kind by which a test is left out."""
    found = class_at(module, qualified) if type(module) is str and type(qualified) is str else None
    if found is None or not issubclass(found, Exception) or aliases.is_control(found):
        return None
    root = module.partition(".")[0]
    if root in RUNNERS or root in sys.stdlib_module_names:
        return None
    spec = vars(sys.modules[module]).get("__spec__")
    return found if is_of_host(getattr(spec, "origin", None)) else None


def place_of_exception(value):
    """Returns module and qualified name of such a class; None for any other class."""
    place = type.__getattribute__(value, "__module__"), type.__getattribute__(value, "__qualname__")
    is_exception = issubclass(value, Exception) and value.__flags__ & HEAP_TYPE
    return place if is_exception and exception_of_host(*place) is value else None


def function(value, is_of_code, teller, shows_attributes):
    flags = value.__code__.co_flags & FUNCTION_FLAGS
    doc = _text(value.__doc__)
    attributes = value.__dict__ or (value.__dict__ if shows_attributes else None)
    # The tests' functions keep theirs: a framework reads there what to skip.
    if attributes and (teller or not is_of_code):
        attributes = tuple(part for item in attributes.items() for part in item)
    names = (_text(value.__name__), _text(value.__qualname__), _text(value.__module__))
    return ("f", *names, doc, flags, attributes, teller.function(value) if teller else None)


def built_in_function(value, by_reference):
    """The other side may have the same function; a bound one belongs to an object."""
    name = f"{value.__name__}"
    if by_reference:
        owner = getattr(value, "__objclass__", None)
        # A method that is bound to an object would lose it, and the types that the interpreter hides have no path.
        place = owner and type(value) is not METHOD and class_of_library(owner)
        if place and _path(place[0], f"{owner.__qualname__}.{name}") is not None:
            return ("q", place[0], f"{owner.__qualname__}.{name}")
        module = getattr(value, "__self__", None)
        if type(module) is MODULE and vars(module).get(name) is value:
            return ("q", module.__name__, name)
        if isinstance(module, type) and class_of_library(module):  # dict.fromkeys
            return ("q", class_of_library(module)[0], f"{module.__qualname__}.{name}")
    return ("f", name, name, "builtins", None, 0, None, None)


def is_among(value, kinds):
    """Like `value in kinds`. A metaclass may define equality."""
    return any(value is one for one in kinds)


def solid_base(value):
    """Returns the built-in type that instances of a class are made of; object for most classes."""
    for one in value.__mro__:
        if is_among(one, IMMUTABLE_BASES) or is_among(one, MUTABLE_BASES):
            return one
        if issubclass(one, BaseException) and not one.__flags__ & HEAP_TYPE:
            return one
    return type if issubclass(value, type) else object


def is_container_of(kind, base):
    """Returns whether instances of a class of the code's or the tests' are containers of the built-in type BASE, and
    no more than that: classes of the library between the two, such as OrderedDict, keep something of their own."""
    return issubclass(kind, base) and not any(
        one is not base and issubclass(one, base) and class_of_library(one) for one in kind.__mro__
    )


def is_enumeration(value):
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(value, enum.EnumMeta)


def _attribute(name, value):
    """Describes an entry of a class's dictionary; None if it is fetched when it is asked for."""
    kind = type(value)
    if kind is FUNCTION:
        return (name, "f", value)
    if kind is staticmethod and type(value.__func__) is FUNCTION:
        return (name, "s", value.__func__)
    if kind is classmethod and type(value.__func__) is FUNCTION:
        return (name, "k", value.__func__)
    if kind is property:
        return (name, "p", (_text(value.__doc__), value.fset is not None, value.fdel is not None))
    if name in SPECIALS:
        return (name, "0" if value is None else "o", None)
    if kind is MEMBER or hasattr(kind, "__get__"):
        return (name, "d", None)
    return None


def _more(value, solid):
    """What makes an enumeration, a named tuple or an exception class of the host's."""
    if is_enumeration(value):
        members = tuple((name, member._value_) for name, member in value.__members__.items())
        return ("enum", members, value._boundary_.value if is_flag(value) else None)
    if solid is tuple and type(getattr(value, "_fields", None)) is tuple:
        return ("namedtuple", value._fields, tuple(getattr(value, "_field_defaults", {}).items()))
    place = place_of_exception(value)
    if place:
        return ("host", *place)
    if is_metaclass(value):
        return METACLASS
    return ("metaclass", type(value)) if is_metaclass(type(value)) else None


# Marks a metaclass that the other side takes for one.
METACLASS = ("metaclass",)
# The other side takes no metaclass for one that decides what an instance is, or prepares the names of a class.
NOT_MIRRORED = frozenset(("__prepare__", "__instancecheck__", "__subclasscheck__"))


def is_metaclass(kind):
    """Returns whether the other side takes a class for a metaclass: a class statement has made it and all its bases but
    `type`."""
    *own, last = kind.__mro__[:-1] or (type,)
    return (
        bool(own)
        and last is type
        and not any(class_of_library(one) for one in own)
        and all(NOT_MIRRORED.isdisjoint(vars(one)) for one in own)
    )


def is_zone(base):
    return base.__module__ == "datetime" and base.__name__ == "tzinfo"


def has_mirror(base):
    """Returns whether the other side takes a class of the library as a base: built-in types that instances
    are made of, exceptions, `tzinfo`, whose methods datetime calls, and abstract classes, whose methods work on whatever
    has the methods they need."""
    is_solid = is_among(base, IMMUTABLE_BASES) or is_among(base, MUTABLE_BASES)
    return is_solid or is_zone(base) or issubclass(base, BaseException) or base.__module__ in ("collections.abc", "numbers")


def _inherited(value):
    """Special methods of classes of the library that the other side does not take as bases."""
    found = {}
    for one in value.__bases__:
        if one is not object and class_of_library(one) and not has_mirror(one):
            found.update((name, (name, "o", None)) for name in specials_of(one) if name != "__class_getitem__")
    return tuple(found[name] for name in sorted(found) if name not in vars(value))


# Marks a class whose metaclass is ABCMeta, and which may have others registered as its subclasses.
ABSTRACT = ("abc",)


def class_(value, tells_doc, teller):
    names = (_text(value.__name__), _text(value.__qualname__), _text(vars(value).get("__module__")))
    entries = (_attribute(name, entry) for name, entry in vars(value).items() if type(name) is str)
    attributes = tuple(entry for entry in entries if entry is not None)
    if is_enumeration(value):
        attributes = tuple(one for one in attributes if one[1] != "f" or one[2].__globals__.get("__name__") != "enum")
    elif not is_metaclass(value):  # these two have on the other side, too, what the library's classes have
        attributes += _inherited(value)
    if teller:
        attributes += (("__annotations__", "a", teller.annotations(vars(value).get("__annotations__"))),)
    own = [one for one in type(value).__mro__ if one is not type and one is not object]
    abc = sys.modules.get("abc")
    if is_enumeration(value):
        own = []
    is_abstract = abc is not None and type(value) is abc.ABCMeta
    specials = tuple({name for one in own for name in vars(one) if name in SPECIALS})
    more = _more(value, solid_base(value)) or (ABSTRACT if is_abstract else None)
    bases = tuple(one for one in value.__bases__)
    doc = _text(value.__doc__) if tells_doc else None
    return ("c", *names, doc, bases, attributes, tuple(sorted(specials)), more)


# Attributes of built-in exceptions that are not in their arguments.
ERROR_MEMBERS = ("name", "obj", "path", "msg")


def exception(value, trusted):
    try:
        text = f"{value}"
    except Exception:
        text = ""
    arguments = tuple(value.args)
    if isinstance(value, BaseExceptionGroup):
        arguments = (value.message, value.exceptions)
    if isinstance(value, OSError) and len(arguments) == 2 and value.filename is not None:
        arguments += (value.filename,)
    state = dict(vars(value))
    if not trusted:
        members = (name for name in ERROR_MEMBERS if type(_found_on(type(value), name)) is MEMBER)
        state.update((name, getattr(value, name)) for name in members)
    state = tuple(part for item in state.items() if item[1] is not value for part in item)
    context = None if trusted else value.__context__
    return ("e", type(value), arguments, text, state, value.__cause__, value.__suppress_context__, context)


def specials_of(kind):
    """Returns the special methods of a class of the library."""
    found = {}
    for one in kind.__mro__[:-1]:
        for name in vars(one):
            found.setdefault(name, vars(one)[name])
    return tuple(name for name in found if name in SPECIALS and found[name] is not None)


def special_method(value, name):
    """Returns a special method of an object as Python finds it: on its class, and bound if it can be."""
    found = _found_on(type(value), name)
    if found is None:
        return getattr(type(value), name).__get__(value)
    bind = getattr(type(found), "__get__", None)
    return bind(found, value, type(value)) if bind else found


def _is_function_of_library(value):
    """Returns whether an entry of a class's dictionary, if it is a function, is one of Python's library."""
    value = value.fget if type(value) is property else value
    value = value.__func__ if type(value) in (staticmethod, classmethod) else value
    if type(value) is not FUNCTION:
        return True
    name = _text(value.__globals__.get("__name__")) or ""
    module = sys.modules.get(name) if name.partition(".")[0] in sys.stdlib_module_names else None
    return module is not None and vars(module) is value.__globals__


def is_of_library(kind):
    """Returns whether a class is Python's library's, or one that the library makes for an object, as those of mocks: what
    the class itself says of that does not count."""
    if class_of_library(kind):
        return True
    if kind.__module__ == "types":  # make_dataclass() says so of what it makes
        return False
    own = [one for one in kind.__mro__ if not class_of_library(one)]
    return all(_is_function_of_library(value) for one in own for value in vars(one).values())


def instance(value):
    kind = type(value)
    module, qualified = class_of_library(kind) or (kind.__module__, kind.__qualname__)
    root = module.partition(".")[0] if type(module) is str else ""
    is_of_c = not kind.__flags__ & HEAP_TYPE  # of numpy, lxml and others: both sides may have the class itself
    if is_of_c or root in sys.stdlib_module_names and is_of_library(kind):
        return ("l", module, qualified, specials_of(kind))
    shadows = ()
    own = getattr(value, "__dict__", None) if hasattr(kind, "__dict__") else None
    if type(own) is dict and own:
        shadows = tuple(name for name in own if type(name) is str and type(_found_on(kind, name)) is FUNCTION)
    return ("i", kind, shadows)


def _found_on(kind, name):
    for one in kind.__mro__:
        if name in vars(one):
            return vars(one)[name]
    return None


def describe(value, trusted, teller=None, shows_attributes=False):
    """Describes VALUE. TRUSTED: the reader believes a name of the library's and has the function or class
    itself. TELLER tells of parameters and annotations, if anybody looks at them."""
    kind = type(value)
    if kind is FUNCTION:
        place = of_library(value) if trusted else None
        return ("q", *place) if place else function(value, not trusted, teller, shows_attributes)
    if kind is BOUND_METHOD:
        return ("b", value.__self__, value.__func__)
    if issubclass(kind, BUILT_IN_FUNCTIONS) or type(kind) is type and kind.__name__ == OF_CYTHON:
        return built_in_function(value, trusted)
    if isinstance(value, type):
        place = class_of_library(value) or trusted and place_of_exception(value)
        return ("Y", *place) if place else class_(value, not trusted, teller)
    if kind is MODULE and sys.modules.get(value.__name__) is value:
        root = value.__name__.partition(".")[0]
        if root in sys.stdlib_module_names or trusted and root in SCIENTIFIC:
            return ("m", value.__name__)
    if isinstance(value, BaseException):
        return exception(value, trusted)
    if trusted and (kind.__module__, kind.__name__) == ("numpy", "ufunc"):
        if vars(sys.modules["numpy"]).get(value.__name__) is value:
            return ("q", "numpy", value.__name__)
    for module, names in SENTINELS.items():
        if module in sys.modules:
            for name in names:
                if vars(sys.modules[module]).get(name) is value:
                    return ("s", module, name)
    if is_enumeration(kind) and not class_of_library(kind):
        if kind.__members__.get(value.name) is value:
            return ("n", kind, value.name)
        if is_flag(kind) and type(value._value_) is int:
            return ("n", kind, value._value_)
    solid = solid_base(kind)
    if is_among(solid, IMMUTABLE_BASES) and not class_of_library(kind):
        if not is_enumeration(kind) and not is_container_of(kind, solid):
            return ("v", plain(solid, value))  # of a class that the library derives from it, for one object
        return ("p", kind, plain(solid, value))
    return instance(value)


def plain(base, value):
    """Returns the plain value in an instance of a derived class, without running any of its methods."""
    if base is int:
        return int.__add__(value, 0)
    if base is float:
        return float.__pos__(value)
    if base is complex:
        return complex.__pos__(value)
    if base is str:
        return str.__str__(value) if type(value) is str else str.__add__(value, "")
    if base is bytes:
        return bytes.__add__(value, b"")
    if base is tuple:
        return tuple(tuple.__iter__(value))
    return frozenset(frozenset.__iter__(value))
