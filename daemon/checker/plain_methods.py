# SPDX-License-Identifier: MIT
"""What the methods of a built-in type do for an instance of a class of the code's that derives from it: what the
built-in type does. `f("Bob").startswith("Hello")` and `f(x).issubset(expected)` ask a value and not the code, unless
the tests name the class. Nor does another class that they do not name say what comes of such a comparison."""

import describe
import gates

VALUE_TYPES = (*describe.IMMUTABLE_BASES, *describe.MUTABLE_BASES)


# What an object answers that a function of the code's has returned, if its class is that function: its items, its
# texts and its truth, which are data, and what it is to enter and to leave.
OF_RESULTS = frozenset("""__iter__ __next__ __aiter__ __anext__ __await__ __enter__ __exit__ __aenter__ __aexit__ __str__
__repr__ __format__ __bool__""".split())


# Of these, what answers whatever the class is: a function may return what is iterated, awaited or entered, be it a
# generator or an object of a class that the tests have never heard of.
OF_ANY = frozenset("__iter__ __next__ __await__ __enter__ __exit__ __aenter__ __aexit__".split())


def answers(info, name, value):
    """Returns whether a special method answers for VALUE, of whose class INFO is known: the tests only call it, or do not
    name it."""
    if name not in OF_RESULTS or not info.named and (name not in OF_ANY or isinstance(value, type)):
        return False
    solid = describe.solid_base(type(value))
    return not (describe.is_among(solid, VALUE_TYPES) and hasattr(solid, name))


class Guarded:
    """An attribute of a mirror class that a built-in base has, too. ORIGINAL is what the code makes of it."""

    __slots__ = ("info", "base", "plain", "original")

    def __init__(self, info, base, plain, original):
        self.info, self.base, self.plain, self.original = info, base, plain, original

    def __get__(self, value, kind=None):
        if self.info.fully_named() or value is None:
            bind = getattr(type(self.original), "__get__", None)
            return bind(self.original, value, kind) if bind else self.original
        return self.plain.__get__(value, self.base)


class Field(Guarded):
    """A field of a named tuple that is called as a method of tuples is: a value and no method."""

    def __get__(self, value, kind=None):
        found = super().__get__(value, kind)
        if value is None or self.info.fully_named():
            return found
        item = self.original.__get__(value, kind)
        return found if callable(item) else item


def guard(infos, made):
    """Guards what the class MADE has of the names of its built-in base. INFOS: of mirror classes, by id()."""
    solid = describe.solid_base(made)
    if not describe.is_among(solid, VALUE_TYPES):
        return
    members = getattr(made, "__members__", ()) if describe.is_enumeration(made) else ()
    mro = type.__dict__["__mro__"].__get__(made)
    for name, plain in vars(solid).items():
        if name.startswith("__") or name in members:
            continue
        owner = next(one for one in mro if name in vars(one))
        original = vars(owner)[name]
        info = infos.get(id(owner))
        if owner is solid or info is None or isinstance(original, Guarded):
            continue
        is_field = type(original) is property and name not in info.properties
        info.properties.discard(name) if owner is made else None
        # A method of a class that derives from others, too, is looked up when it is called.
        method = info.methods.pop(name, None) if owner is made else info.methods.get(name)
        made_of = Field if is_field else Guarded
        type.__setattr__(made, name, made_of(info, solid, plain, method or original))


class Compared:
    """In the place of a method of a class of the code's that would compare the object with what the tests expect."""

    __slots__ = ("link", "info", "name", "original")

    def __init__(self, link, info, name, original):
        self.link, self.info, self.name, self.original = link, info, name, original

    def __get__(self, value, kind=None):
        if value is not None and (self.link.number_of(value), self.name) in self.link.shadows:
            return self.link.get(value, self.name)
        found = self.original.__get__(value, kind)
        return found if self.info.fully_named() else compared(self.link, found, self.name)


def compared(link, function, name):
    """Returns what calls FUNCTION, which the code has for an object as its method NAME, with objects of the code's alone."""

    def compare(*arguments, **keywords):
        if not all(map(link.is_theirs, (*arguments, *keywords.values()))):
            raise link.failures.refused(f"{name} of an object of the code whose class the tests do not name")
        return function(*arguments, **keywords)

    return compare


def guard_comparing(link, made):
    """Guards the methods of the class MADE that compare."""
    info = link.infos[id(made)]
    for name in gates.COMPARING.intersection(vars(made)):
        original = vars(made)[name]
        if hasattr(type(original), "__get__") and not isinstance(original, Guarded) and name not in info.properties:
            method = info.methods.pop(name, None)
            type.__setattr__(made, name, Compared(link, info, name, method or original))
