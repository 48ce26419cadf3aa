# SPDX-License-Identifier: MIT
"""Stand-ins for what the other side defines: functions, classes, instances, exceptions.

A stand-in for a function is a function; one for a class is a class with the same name, bases and methods,
which shows exactly the special methods that the class has. What they do is asked of the other side. So
whatever Python finds out by looking at types works as in one process: isinstance, callable, operators,
hasattr, subclassing, super().

A space (membrane.py) makes them and says, with its method `rule`, what the special methods of a class may
do on this side."""

import sys

import asynchronous
import classes
import describe
from describe import ARITHMETIC, COMPARISONS, CONVERSIONS, SPECIALS, UNARY
from wire import TYPES, WireError

COPIED = ("__name__", "__qualname__", "__module__", "__doc__")
NAME_MAX = 1000
mro_of, bases_of = type.__dict__["__mro__"].__get__, type.__dict__["__bases__"].__get__
annotations_of = type.__dict__["__annotations__"].__get__


class Info:
    """What a space knows of a mirror class."""

    __slots__ = ("number", "name", "methods", "properties", "named", "is_here", "library")

    def __init__(self, number, name):
        self.number, self.name = number, name
        self.methods, self.properties = {}, set()
        self.named = False  # special methods answer
        self.is_here = False  # instances live on this side
        self.library = None  # module and name of the class of the library that this stands for


def checked_name(name, otherwise="unknown"):
    if type(name) is not str or not name or len(name) > NAME_MAX or "\0" in name or not name.isprintable():
        return otherwise
    return name


def make_function(space, number, parts):
    """Makes the stand-in for a function."""
    _, name, qualified, module, doc, flags, attributes, signature = parts

    def stand_in(*arguments, **keywords):
        return space.call(stand_in, number, arguments, keywords)

    if type(flags) is int and flags & describe.FUNCTION_FLAGS:
        code = stand_in.__code__
        stand_in.__code__ = code.replace(co_flags=code.co_flags | flags & describe.FUNCTION_FLAGS)
    stand_in.__name__ = checked_name(name)
    stand_in.__qualname__ = checked_name(qualified)
    stand_in.__module__ = module if type(module) is str else None
    stand_in.__doc__ = doc if type(doc) is str else None
    if type(attributes) is dict:
        stand_in.__dict__ = attributes
    elif type(attributes) is tuple and all(type(name) is str for name in attributes[::2]):
        stand_in.__dict__.update(zip(attributes[::2], attributes[1::2]))
    if signature is not None:
        add_signature(stand_in, signature)
    return stand_in


def add_signature(stand_in, signature):
    """Shows the parameters, where the tests look at them. Calls are passed on as they are made."""
    shapes = (tuple, tuple, (tuple, type(None)), tuple, tuple)
    if type(signature) is not tuple or len(signature) != 5 or not all(map(isinstance, signature, shapes)):
        raise WireError("a bad signature")
    kinds, names, defaults, keyword_defaults, annotations = signature
    texts = (*names, *annotations[::2], *keyword_defaults[::2])
    if len(kinds) != 4 or not all(type(one) is int for one in kinds) or not all(type(one) is str for one in texts):
        raise WireError("a bad signature")
    stand_in.__annotations__ = dict(zip(annotations[::2], annotations[1::2]))
    inspect = __import__("inspect")
    positional, first, keyword_only, flags = kinds
    parameters, empty = [], inspect.Parameter.empty
    by_keyword = dict(zip(keyword_defaults[::2], keyword_defaults[1::2]))
    ordered = [*names[:positional], *(names[positional + keyword_only :][:1] if flags & 4 else ())]
    ordered += [*names[positional : positional + keyword_only], *(names[-1:] if flags & 8 else ())]
    for number, name in enumerate(ordered):
        default = by_keyword.get(name, empty)
        if number < positional:
            kind = inspect._POSITIONAL_ONLY if number < first else inspect._POSITIONAL_OR_KEYWORD
            at = number - positional + len(defaults or ())
            default = defaults[at] if defaults and at >= 0 else empty
        elif name in names[positional : positional + keyword_only]:
            kind = inspect._KEYWORD_ONLY
        else:
            kind = inspect._VAR_KEYWORD if flags & 8 and number == len(ordered) - 1 else inspect._VAR_POSITIONAL
        shown = stand_in.__annotations__.get(name, empty)
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=shown))
    # Never used, since a stand-in has no such parameters.
    stand_in.__defaults__, stand_in.__kwdefaults__ = defaults, by_keyword or None
    returned = stand_in.__annotations__.get("return", empty)
    stand_in.__signature__ = inspect.Signature(parameters, return_annotation=returned)


def make_machinery(space):
    """Returns the metaclass of the mirror classes of a space and the class of all mirrored instances."""

    class Mirror(type):
        def __new__(mcs, name, bases, namespace, /, **keywords):
            made = space.derive(mcs, name, bases, namespace, keywords)
            return made

        def __init__(cls, *_, **__):
            pass

        def __call__(cls, /, *arguments, **keywords):
            if space.info(cls).is_here:
                return type.__call__(cls, *arguments, **keywords)
            return space.ask("call", cls, arguments, keywords)

        def __getattr__(cls, name):
            info = space.info(cls)
            if info.is_here:
                for one in cls.__mro__[1:]:
                    if type(one) in space.metaclasses and not space.info(one).is_here:
                        return space.get(one, name)
            if info.is_here or info.library:
                raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
            return space.get(cls, name)

        def __setattr__(cls, name, value):
            if not space.info(cls).is_here:
                space.ask("set", cls, (name, value))
            if space.info(cls).is_here or name in vars(cls) or callable(value):
                type.__setattr__(cls, name, value)

        def __delattr__(cls, name):
            if not space.info(cls).is_here:
                space.ask("delete", cls, (name,))
            if name in vars(cls):
                type.__delattr__(cls, name)

        def __dir__(cls):
            return space.ask("dir", cls)

        # As the other side has them, without what makes it a mirror. Python itself does not look here.
        @property
        def __mro__(cls):
            return tuple(one for one in mro_of(cls) if one is not Instance)

        @property
        def __bases__(cls):
            return tuple(one for one in bases_of(cls) if one is not Instance) or (object,)

        @property
        def __annotations__(cls):
            info = space.info(cls)
            return annotations_of(cls) if info.is_here or info.library else space.get(cls, "__annotations__")

    Instance = make_instance(space)
    return Mirror, Instance


def make_instance(space):
    class Instance:
        __slots__ = ()

        def __getattribute__(self, name):
            return space.attribute(self, name)

        def __setattr__(self, name, value):
            if space.is_here(self):
                return object.__setattr__(self, name, value)
            return space.ask("set", self, (name, value))

        def __delattr__(self, name):
            if space.is_here(self):
                return object.__delattr__(self, name)
            return space.ask("delete", self, (name,))

        def __dir__(self):
            return object.__dir__(self) if space.is_here(self) else space.ask("dir", self)

        def __reduce_ex__(self, protocol):
            if space.is_here(self):
                return object.__reduce_ex__(self, protocol)
            return restored, (Copy(space, self),)

    return Instance


class Copy:
    """Stands for an instance while `copy` or `pickle` works on it."""

    def __init__(self, space, value, is_deep=False):
        self.space, self.value, self.is_deep = space, value, is_deep

    def __deepcopy__(self, memo):
        made = self.space.ask("deepcopy", self.value)
        return Copy(None, made)

    def __reduce_ex__(self, protocol):
        return unpickled, (self.space.number_here, self.space.ask("pickle", self.value))


# Spaces by number, for what pickle calls.
spaces = []


def restored(copy):
    return copy.value if copy.space is None else copy.space.ask("copy", copy.value)


def unpickled(number, data):
    return Copy(None, spaces[number].ask("unpickle", None, (data,)))


# --- classes --------------------------------------------------------------------------------------


def _checked_class(parts):
    if len(parts) != 9:
        raise WireError("a bad class")
    _, name, qualified, module, doc, bases, attributes, specials, more = parts
    if type(bases) is not tuple or type(attributes) is not tuple or type(specials) is not tuple:
        raise WireError("a bad class")
    if not all(isinstance(one, type) for one in bases):
        raise WireError("a bad base")
    if not all(type(name) is str and name in SPECIALS for name in specials):
        raise WireError("a bad metaclass")
    return checked_name(name), checked_name(qualified), module, doc, bases, attributes, specials, more


def shown_module(module):
    """Modules that mean something to this side are not for a mirror."""
    is_taken = type(module) is not str or module == "__main__" or module.partition(".")[0] in sys.stdlib_module_names
    return "candidate" if is_taken else module


def make_class(space, number, parts):
    """Makes the mirror of a class."""
    name, qualified, module, doc, bases, attributes, specials, more = _checked_class(parts)
    if type(more) is tuple and more and more[0] == "enum":
        return make_enumeration(space, number, parts)
    info = Info(number, name)
    names = {"__module__": shown_module(module), "__qualname__": qualified}
    names["__doc__"] = doc if type(doc) is str else None
    for attribute in attributes:
        add_attribute(space, info, names, attribute)
    bases = mirrored_bases(space, bases)
    solid = solid_of(bases)
    if solid is object:
        bases += (space.Instance,)
        names["__slots__"] = ("__weakref__",) if not has_weak(bases) else ()
    else:
        add_local_access(space, names, solid)
    if type(more) is tuple and len(more) == 3 and more[0] == "namedtuple" and solid is tuple:
        add_fields(names, more[1], more[2])
    metaclass = space.metaclass(specials, bases)
    made = new_class(metaclass, name, bases, names)
    space.infos[id(made)] = info
    return made


def new_class(metaclass, name, bases, names):
    try:
        return type.__new__(metaclass, name, bases, names)
    except TypeError:
        # Bases that do not go together here: those of the library are left out.
        bases = tuple(one for one in bases if isinstance(type(one), type) and type(one).__name__ == "Mirror")
        return type.__new__(metaclass, name, bases, names)


def has_weak(bases):
    return any(hasattr(one, "__weakref__") for one in bases)


def mirrored_bases(space, bases):
    """Returns the bases that a mirror has: mirrors, and some of the library's."""
    return tuple(
        one for one in bases if id(one) in space.infos and isinstance(one, space.Mirror) or describe.has_mirror(one)
    )


def solid_of(bases):
    for one in bases:
        solid = describe.solid_base(one)
        if solid is not object and solid is not type:
            return solid
    return object


# A class that derives from the mirror may call these.
CALLED_BY_SUPER = ("__init__", "__post_init__")


def add_attribute(space, info, names, attribute):
    if type(attribute) is not tuple or len(attribute) != 3:
        raise WireError("a bad attribute")
    name, kind, value = attribute
    if type(name) is not str or type(kind) is not str:
        raise WireError("a bad attribute")
    if name.startswith("__") and name.endswith("__") and name not in SPECIALS and name not in CALLED_BY_SUPER:
        return
    if kind in "fsk" and type(value) is not describe.FUNCTION:
        raise WireError("a bad method")
    if kind == "p":
        info.properties.add(name)
        names[name] = make_property(space, name, value)
    elif kind == "0":
        names[name] = None
    elif name in SPECIALS and kind in "fo":
        names[name] = make_special(space, info, name, value if kind == "f" else None)
    elif kind == "f":
        info.methods[name] = make_virtual(space, name, value)
        names[name] = value
    elif kind == "s":
        names[name] = staticmethod(value)
    elif kind == "k":
        names[name] = classmethod(value)


def make_virtual(space, name, like):
    """Makes what an instance's method is: the other side looks it up when it is called, as Python does."""

    def method(self, /, *arguments, **keywords):
        return space.ask("method", self, (name, *arguments), keywords)

    method.__name__, method.__qualname__ = like.__name__, like.__qualname__
    method.__doc__, method.__module__ = like.__doc__, like.__module__
    if "__signature__" in like.__dict__:
        method.__signature__, method.__annotations__ = like.__signature__, like.__annotations__
    method.__code__ = method.__code__.replace(
        co_flags=method.__code__.co_flags | like.__code__.co_flags & describe.FUNCTION_FLAGS
    )
    return method


def make_property(space, name, doc):
    def get(self):
        return space.get(self, name)

    def set_(self, value):
        space.ask("set", self, (name, value))

    def delete(self):
        space.ask("delete", self, (name,))

    return property(get, set_, delete, doc if type(doc) is str else None)


def make_special(space, info, name, function):
    """Makes a special method. FUNCTION is the stand-in for the other side's; None: it is looked up."""

    def special(self, /, *arguments, **keywords):
        return space.special(info, name, function, self, arguments, keywords)

    special.__name__ = name
    special.__qualname__ = f"{info.name}.{name}"
    special.__doc__ = function.__doc__ if function else None
    if function:
        special.__code__ = special.__code__.replace(
            co_flags=special.__code__.co_flags | function.__code__.co_flags & describe.FUNCTION_FLAGS
        )
    return special


def add_local_access(space, names, solid):
    """Exceptions and values of derived classes are on both sides; what is not here is asked for."""

    def __getattr__(self, name):
        is_known = space.number_of(self) is not None or id(self) in space.sharing.by_id
        if name.startswith("__") or not is_known:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return space.get(self, name)

    names["__getattr__"] = __getattr__
    if issubclass(solid, BaseException):

        def __str__(self):
            text = self.__dict__.get(classes.TEXT)
            return text if text is not None else solid.__str__(self)

        names["__str__"] = __str__
        names.pop("__repr__", None)
    else:

        def __setattr__(self, name, value):
            space.ask("set", self, (name, value))

        names["__setattr__"] = __setattr__


def add_fields(names, fields, defaults):
    if type(fields) is not tuple or not all(type(one) is str and one.isidentifier() for one in fields):
        raise WireError("bad fields")
    names["_fields"] = fields
    names["_field_defaults"] = dict(defaults) if type(defaults) is tuple else {}
    for number, field in enumerate(fields):
        names[field] = property(lambda self, number=number: tuple.__getitem__(self, number))

    def _make(cls, iterable):
        return cls(*iterable)

    def _replace(self, /, **keywords):
        return type(self)(*map(keywords.pop, fields, tuple.__iter__(self)))

    def _asdict(self):
        return dict(zip(fields, tuple.__iter__(self)))

    def __repr__(self):
        shown = ", ".join(f"{field}={value!r}" for field, value in zip(fields, tuple.__iter__(self)))
        return f"{type(self).__name__}({shown})"

    names.update(_make=classmethod(_make), _replace=_replace, _asdict=_asdict)
    names["__repr__"] = __repr__


def make_enumeration(space, number, parts):
    """Makes an enumeration with the same members: a member is a constant, which the other side cannot
    change later."""
    import enum

    name, qualified, module, doc, bases, attributes, _, more = _checked_class(parts)
    members = more[1]
    enumerations = tuple(one for one in bases if isinstance(one, enum.EnumMeta))
    mixed = tuple(one for one in bases if one in (int, str, float, tuple, bytes))
    if not enumerations or type(members) is not tuple or len(mixed) + len(enumerations) != len(bases):
        raise WireError("a bad enumeration")
    names = enum.EnumMeta.__prepare__(name, mixed + enumerations)
    names["__module__"] = shown_module(module)
    names["__qualname__"] = qualified
    names["__doc__"] = doc if type(doc) is str else None
    info = Info(number, name)
    for attribute in attributes:
        if type(attribute) is tuple and len(attribute) == 3 and attribute[0] not in ENUM_OWN:
            found = {}
            add_attribute(space, info, found, attribute)
            names.update(found)
    for member in members:
        if type(member) is not tuple or len(member) != 2 or type(member[0]) is not str:
            raise WireError("a bad member")
        names[member[0]] = member[1]
    made = enum.EnumMeta.__new__(enum.EnumMeta, name, mixed + enumerations, names)
    space.infos[id(made)] = info
    return made


# What EnumMeta puts into each class.
ENUM_OWN = frozenset(
    """_generate_next_value_ __new__ _new_member_ _use_args_ _member_names_ _member_map_ _value2member_map_
    _unhashable_values_ _member_type_ _value_repr_ __reduce_ex__ __dir__ __format__ __repr__ __str__ __or__ __and__
    __xor__ __ror__ __rand__ __rxor__ __invert__ __contains__ __iter__ __len__ __bool__ __hash__ name value""".split()
)


# --- instances of the library's classes -----------------------------------------------------------


def make_library_class(space, module, qualified, specials):
    """Makes the class of stand-ins for instances of a class of the library."""
    info = Info(None, qualified.rpartition(".")[2])
    info.named = True
    info.library = (module, qualified)
    names = {"__module__": module, "__qualname__": qualified, "__slots__": ("__weakref__", "ahead")}
    for name in specials:
        if name in SPECIALS:
            names[name] = make_special(space, info, name, None)
    if "__await__" in names:
        asynchronous.add_awaiting(space, names)
    if (module, qualified) == ("builtins", "generator"):
        add_sending(space, names)
    if "__next__" in names:
        add_reading_ahead(space, info, names)
    made = type.__new__(space.Mirror, info.name, (space.Instance,), names)
    space.infos[id(made)] = info
    return made


def add_sending(space, names):
    """A generator may end when something is sent to it."""
    names["send"] = lambda self, value: space.ask("special", self, ("send", value))
    names["throw"] = lambda self, *error: space.ask("special", self, ("throw", *error))


def add_reading_ahead(space, info, names):
    """An iterator fetches items one by one, as the asking loop wants them. list() and sorted(), which ask
    for the length first, want them all, so they arrive many at once."""
    ahead = {}

    def __length_hint__(self):
        ahead.setdefault(space.number_of(self), [])
        return NotImplemented

    def __next__(self):
        number = space.number_of(self)
        items = ahead.get(number)
        if items is None:
            return space.ask("next", self)
        if not items:
            fetched = space.ask("drain", self)
            if type(fetched) is not tuple or not fetched:
                del ahead[number]
                raise StopIteration
            items.extend(fetched[::-1])
        return items.pop()

    names["__next__"] = __next__
    names.setdefault("__iter__", lambda self: self)
    names["__length_hint__"] = __length_hint__
