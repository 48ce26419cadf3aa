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
import copies
import describe
import library
import signatures
from describe import SPECIALS
from wire import WireError, dictionary_of

NUMBERED = 8191  # makes hashes of numbers of objects others than those of the numbers
COPIED = ("__name__", "__qualname__", "__module__", "__doc__")
NAME_MAX = 1000
mro_of, bases_of = type.__dict__["__mro__"].__get__, type.__dict__["__bases__"].__get__
annotations_of, set_annotations = type.__dict__["__annotations__"].__get__, type.__dict__["__annotations__"].__set__


class Info:
    """What a space knows of a mirror class."""

    __slots__ = "number name methods properties functions kept data named limited is_here library maker items replaced".split()

    def __init__(self, number, name):
        self.number, self.name = number, name
        self.methods, self.properties, self.functions = {}, set(), {}
        self.kept, self.data = set(), set()  # what a class body of this side defines (bodies.py)
        self.named = False  # special methods answer
        self.limited = False  # but only those that a function's result needs (plain_methods.py)
        self.is_here = False  # instances live on this side
        self.maker = None  # the stand-in for its __new__
        self.replaced = {}  # properties that this side has replaced: what it has in their place, and theirs
        self.items = None  # the class of the library by which it is compared
        self.library = None  # module and name of the class of the library that this stands for

    def fully_named(self):
        return self.named and not self.limited


def checked_name(name, otherwise="unknown"):
    if type(name) is not str or not name or len(name) > NAME_MAX or "\0" in name or not name.isprintable():
        return otherwise
    return name


def make_function(space, number, parts):
    """Makes the stand-in for a function."""
    _, name, qualified, module, doc, flags, attributes, signature = parts

    if signature is None:

        def stand_in(*arguments, **keywords):
            return space.call(stand_in, number, arguments, keywords)

    else:
        signature = checked_signature(signature)
        stand_in = signatures.shaped(signature, lambda *given: space.call(stand_in, number, *given))
        stand_in.__annotations__ = {name: space.heard(one) for name, one in dictionary_of(signature[4]).items()}
    if type(flags) is int and flags & describe.FUNCTION_FLAGS:
        code = stand_in.__code__
        stand_in.__code__ = code.replace(co_flags=code.co_flags | flags & describe.FUNCTION_FLAGS)
    stand_in.__name__ = checked_name(name)
    stand_in.__qualname__ = checked_name(qualified)
    stand_in.__module__ = module if type(module) is str else None
    stand_in.__doc__ = doc if type(doc) is str else None
    if type(attributes) is dict:
        stand_in.__dict__ = attributes
    elif attributes is not None and not isinstance(attributes, dict):  # a derived one stays where it is
        if type(attributes) is not tuple or not all(type(name) is str for name in attributes[::2]):
            raise WireError("bad attributes")
        stand_in.__dict__.update(dictionary_of(attributes))
    return stand_in


def checked_signature(parts):
    try:
        return signatures.checked(parts)
    except signatures.BadSignature:
        raise WireError("a bad signature") from None


def is_statement_over_mirrors(space, arguments):
    """Returns whether ARGUMENTS are those of a metaclass, for a class that derives from a mirror."""
    return len(arguments) == 3 and type(arguments[1]) is tuple and any(id(one) in space.infos for one in arguments[1])


def make_machinery(space):
    """Returns the metaclass of the mirror classes of a space and the class of all mirrored instances."""

    class Mirror(type):
        def __new__(mcs, name, bases, namespace, /, **keywords):
            made = space.derive(mcs, name, bases, namespace, keywords)
            return made

        def __init__(cls, *_, **__):
            pass

        def __call__(cls, /, *arguments, **keywords):
            if issubclass(cls, Mirror) and is_statement_over_mirrors(space, arguments):
                return type.__call__(cls, *arguments, **keywords)
            if space.info(cls).is_here:
                return space.has_made(cls, type.__call__(cls, *arguments, **keywords))
            if space.info(cls).library:
                return space.class_of_library(*space.info(cls).library)(*arguments, **keywords)
            return space.make_object(cls, arguments, keywords)

        def __getattr__(cls, name):
            return class_attribute(space, cls, name)

        def __setattr__(cls, name, value):
            if id(cls) not in space.infos:  # in the making: __init_subclass__ of a base on this side
                return type.__setattr__(cls, name, value)
            if not space.info(cls).is_here:
                space.ask("set", cls, (name, put_back(space, cls, name, value)))
            if space.info(cls).is_here or name in vars(cls) or callable(value):
                type.__setattr__(cls, name, value)

        def __delattr__(cls, name):
            if not space.info(cls).is_here:
                space.ask("delete", cls, (name,))
            if name in vars(cls):
                type.__delattr__(cls, name)

        def __dir__(cls):
            return [name for name in space.ask("dir", cls) if name not in OF_STAND_INS]

        # As the other side has them, without what makes it a mirror. Python itself does not look here.
        @property
        def __mro__(cls):
            return tuple(one for one in mro_of(cls) if one is not Instance and one is not Mirror)

        @property
        def __bases__(cls):
            shown = tuple(one for one in bases_of(cls) if one is not Instance and one is not Mirror)
            return shown or (type if issubclass(cls, Mirror) else object,)

        @property
        def __annotations__(cls):
            info = space.info(cls)
            is_told = info.is_here or info.library or "__annotations__" in vars(cls)
            return annotations_of(cls) if is_told else space.get(cls, "__annotations__")

        @property
        def __signature__(cls):
            return signatures.without_first(constructor_of(space, cls))

    Instance = make_instance(space)
    return Mirror, Instance


# What a stand-in's class has for itself, as functions that the other side's class does not have.
OF_STAND_INS = frozenset(("__getattribute__", "__setattr__", "__delattr__", "__dir__", "__hash__", "__reduce_ex__"))


def put_back(space, cls, name, value):
    """Returns what the other side's class gets as its attribute NAME for VALUE: its own property again, if this side
    has replaced it, and puts back the one that it has in its place."""
    info = space.info(cls)
    before = vars(cls).get(name)
    if type(before) is property and name in info.properties and name not in info.replaced:
        info.replaced[name] = before, space.get(cls, name)
    shown, theirs = info.replaced.get(name, (None, None))
    return theirs if shown is not None and value is shown else value


def class_attribute(space, cls, name):
    """Returns an attribute of a class that its stand-in does not have."""
    info = space.info(cls)
    if info.is_here:
        for one in cls.__mro__[1:]:
            if type(one) in space.metaclasses and not space.info(one).is_here:
                return space.get(one, name)
    if info.is_here or info.library:
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
    return space.get(cls, name)


def constructor_of(space, cls):
    """Returns the function that tells what a class is called with, if it tells that at all; else None."""
    mro = mro_of(cls)
    makers = (info.maker for info in (space.infos.get(id(one)) for one in mro) if info is not None)
    found = next((maker for maker in makers if maker is not None), None)
    if found is None:
        found = next((vars(one)["__init__"] for one in mro if "__init__" in vars(one)), None)
    is_silent = type(found) is not describe.FUNCTION or found.__globals__.get("__name__") == __name__
    return None if is_silent else found


def make_instance(space):
    class Instance:
        __slots__ = ()

        def __getattribute__(self, name):
            return space.attribute(self, name)

        def __setattr__(self, name, value):
            if space.is_here(self):
                return object.__setattr__(self, name, value)
            space.ask("set", self, (name, value))
            space.has_set(self, name)

        def __delattr__(self, name):
            if space.is_here(self):
                return object.__delattr__(self, name)
            return space.ask("delete", self, (name,))

        def __dir__(self):
            return object.__dir__(self) if space.is_here(self) else space.ask("dir", self)

        def __hash__(self):
            # By number, where addresses differ from run to run: a transcript has to be the same in each.
            number = space.number_of(self)
            return object.__hash__(self) if number is None else hash((NUMBERED, number))

        def __reduce_ex__(self, protocol):
            if space.is_here(self):
                return object.__reduce_ex__(self, protocol)
            return copies.restored, (copies.Copy(space, self),)

    del Instance.__slots__  # a class without any has none to show
    return Instance


def empty_instance(kind):
    """Makes an instance of a mirror. A time zone is made by tzinfo, and by nothing else."""
    datetime = sys.modules.get("datetime")
    maker = datetime.tzinfo if datetime is not None and issubclass(kind, datetime.tzinfo) else object
    return maker.__new__(kind)


# --- classes --------------------------------------------------------------------------------------


def checked_class(parts):
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
    name, qualified, module, doc, bases, attributes, specials, more = checked_class(parts)
    if type(more) is tuple and more and more[0] == "enum":
        return space.make_enumeration(number, parts)
    if more == describe.METACLASS:
        return space.make_metaclass(number, parts)
    info = Info(number, name)
    names = {"__module__": shown_module(module), "__qualname__": qualified}
    names["__doc__"] = doc if type(doc) is str else None
    for attribute in attributes:
        add_attribute(space, info, names, attribute)
    info.items = library.class_of_items(bases)
    bases = mirrored_bases(space, bases)
    for special in library.answered_for_mixin(bases):
        names.setdefault(special, make_special(space, info, special, None))
    solid = solid_of(bases)
    if solid is object:
        for zone in filter(describe.is_zone, bases):
            # datetime calls it with itself, which the other side would not take for one.
            names.setdefault("fromutc", zone.fromutc)
            names["__getattribute__"] = space.Instance.__getattribute__
        bases += (space.Instance,)
        names["__slots__"] = () if any(hasattr(one, "__weakref__") for one in bases) else ("__weakref__",)
    else:
        add_local_access(space, names, solid)
        if issubclass(solid, BaseException):
            add_error_access(space, info, names, solid, bases)
    if type(more) is tuple and len(more) == 3 and more[0] == "namedtuple" and solid is tuple:
        add_fields(names, more[1], more[2])
    made = new_class(space, space.metaclass_of(specials, bases, more), name, bases, names)
    if "__slots__" in names:
        type.__delattr__(made, "__slots__")  # those of the other side's class are asked for
    space.infos[id(made)] = info
    return made


def new_class(space, metaclass, name, bases, names):
    try:
        return type.__new__(metaclass, name, bases, names)
    except TypeError:
        # Bases that do not go together here: those of the library are left out.
        bases = tuple(one for one in bases if isinstance(one, space.Mirror))
        return type.__new__(metaclass, name, bases, names)


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
    if kind == "a":
        names["__annotations__"] = heard_annotations(space, value)
        return
    if kind in "fsk":
        info.functions[name] = value
    if name == "__new__" and kind == "s" and signatures.is_shaped(value):
        info.maker = value
    if name.startswith("__") and name.endswith("__") and name not in SPECIALS and name not in CALLED_BY_SUPER:
        return
    if kind in "fsk" and type(value) is not describe.FUNCTION:
        raise WireError("a bad method")
    if name == "__class_getitem__" and kind == "k":
        names[name] = classmethod(make_class_getitem(space, info, value))
    elif name in SPECIALS:
        # Whatever stands behind the name: what it does on this side is for the space to say.
        names[name] = None if kind == "0" else make_special(space, info, name, value if kind == "f" else None)
    elif kind == "p":
        info.properties.add(name)
        names[name] = make_property(space, name, value)
    elif kind == "0":
        names[name] = None
    elif kind == "f":
        info.methods[name] = make_virtual(space, name, value)
        names[name] = value
    elif kind == "s":
        names[name] = staticmethod(value)
    elif kind == "k":
        names[name] = classmethod(value)


def heard_annotations(space, parts):
    if type(parts) is not tuple or not all(type(name) is str for name in parts[::2]):
        raise WireError("bad annotations")
    return {name: space.heard(one) for name, one in dictionary_of(parts).items()}


def make_virtual(space, name, like):
    """Makes what an instance's method is: the other side looks it up when it is called, as Python does."""

    def method(self, /, *arguments, **keywords):
        number = space.number_of(self)
        if number is not None and (number, name) in space.shadows:  # bound before this side put something else in its place
            return space.ask("call", like, (self, *arguments), keywords)
        return space.ask("method", self, (name, *arguments), keywords)

    if signatures.is_shaped(like):
        unshaped = method
        method = signatures.shaped(signatures.of_function(like), lambda given, more: unshaped(*given, **more))
        method.__annotations__ = like.__annotations__
    method.__name__, method.__qualname__ = like.__name__, like.__qualname__
    method.__doc__, method.__module__ = like.__doc__, like.__module__
    method.__code__ = method.__code__.replace(
        co_flags=method.__code__.co_flags | like.__code__.co_flags & describe.FUNCTION_FLAGS
    )
    return method


def make_property(space, name, parts):
    if type(parts) is not tuple or len(parts) != 3:
        raise WireError("a bad property")
    doc, is_set, is_deleted = parts

    def behind(self):
        """Returns the property itself if a class of this side has another in its place: by name, that would answer."""
        is_hidden = False
        for one in mro_of(type(self)):
            if vars(one).get(name) is made:
                return space.get(one, name) if is_hidden else None
            is_hidden = is_hidden or name in vars(one)
        return None

    def get(self):
        own = behind(self)
        return space.get(self, name) if own is None else space.get(own, "fget")(self)

    def set_(self, value):
        own = behind(self)
        return space.ask("set", self, (name, value)) if own is None else space.get(own, "fset")(self, value)

    def delete(self):
        own = behind(self)
        return space.ask("delete", self, (name,)) if own is None else space.get(own, "fdel")(self)

    made = property(get, set_ if is_set else None, delete if is_deleted else None, doc if type(doc) is str else None)
    return made


def make_class_getitem(space, info, function):
    def class_getitem(cls, item):
        space.check_named(info, cls, "__class_getitem__")
        return function(cls, item)

    return class_getitem


def make_special(space, info, name, function):
    """Makes a special method. FUNCTION is the stand-in for the other side's; None: it is looked up."""

    def special(self, /, *arguments, **keywords):
        if name == "__deepcopy__":
            arguments = tuple({} for _ in arguments)  # the keys of a memo are addresses, which tell the other side nothing
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
        # A container is made there again if nobody but this side has it any more.
        is_known = space.number_of(self) is not None or describe.is_among(solid, describe.MUTABLE_BASES)
        if name.startswith("__") or not is_known:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return space.get(self, name)

    names["__getattr__"] = __getattr__
    if not issubclass(solid, BaseException):

        def __setattr__(self, name, value):
            space.ask("set", self, (name, value))

        def __delattr__(self, name):
            space.ask("delete", self, (name,))

        names["__setattr__"], names["__delattr__"] = __setattr__, __delattr__


def add_error_access(space, info, names, solid, bases):
    """The other side tells the text of an exception, unless a class of this side's makes it."""

    def __str__(self):
        makers = [vars(one)["__str__"] for one in mro_of(type(self)) if "__str__" in vars(one)]
        if makers[0] is not __str__:  # super().__str__() in a class of this side
            theirs = info.functions.get("__str__")
            following = next(after for one, after in zip(makers, makers[1:]) if one is __str__)
            return space.ask("call", theirs, (self,)) if theirs else following(self)
        text = self.__dict__.get(classes.TEXT)
        return text if text is not None else solid.__str__(self)

    def __init__(self, *arguments, **keywords):
        solid.__init__(self, *arguments, **keywords)
        if space.number_of(self) is not None:  # super().__init__() in a constructor of this side
            space.ask("set", self, ("args", self.args))

    def own(name):
        function = info.functions.get(name)
        return function if type(function) is describe.FUNCTION and space.number_of(function) is None else None

    def __reduce_ex__(self, protocol):
        is_theirs = space.number_of(self) is not None
        return (copies.restored, (copies.Copy(space, self),)) if is_theirs else solid.__reduce_ex__(self, protocol)

    names["__str__"], names["__reduce_ex__"] = own("__str__") or __str__, __reduce_ex__
    names.pop("__repr__", None)
    if own("__repr__"):
        names["__repr__"] = own("__repr__")
    if not any(id(one) in space.infos for one in bases):
        names.setdefault("__init__", __init__)
        __init__.of_library = solid.__init__


def add_fields(names, fields, defaults):
    if type(fields) is not tuple or not all(type(one) is str and one.isidentifier() for one in fields):
        raise WireError("bad fields")
    names["_fields"] = fields
    names["_field_defaults"] = dict(defaults) if type(defaults) is tuple else {}
    for number, field in enumerate(fields):
        if field in names or field.startswith("__"):  # no field of an honest named tuple, but a method
            continue
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
    if "__anext__" in names:
        names.setdefault("__aiter__", lambda self: self)
    if "__next__" in names:
        add_reading_ahead(space, info, names)
    made = type.__new__(space.Mirror, info.name, (space.Instance,), names)
    space.infos[id(made)] = info
    return made


def add_sending(space, names):
    """A generator may end when something is sent to it."""
    names["send"] = lambda self, value: space.ask("special", self, ("send", value))
    # contextlib hands over the class, the exception and its traceback; the last is of this side.
    names["throw"] = lambda self, *error: space.ask("special", self, ("throw", *error[:2]))


def add_reading_ahead(space, info, names):
    """An iterator fetches items one by one, as the asking loop wants them. list() and sorted(), which ask
    for the length first, want them all, so they arrive many at once."""
    ahead, ended = {}, set()
    ends_once = info.library[0] in ("builtins", "itertools")  # others may have more items later, as files have

    def end(number):
        (ended.add if ends_once else space.notes_end)(number)

    def __length_hint__(self):
        ahead.setdefault(space.number_of(self), [])
        return NotImplemented

    def __next__(self):
        space.may_use(self, "__next__")
        number = space.number_of(self)
        if number in ended or space.has_ended(number):
            raise StopIteration
        items = ahead.get(number)
        if items is None:
            try:
                return space.ask("next", self)
            except StopIteration:
                end(number)
                raise
        if not items:
            fetched = space.ask("drain", self)
            if type(fetched) is not tuple or not fetched:
                del ahead[number]
                end(number)
                raise StopIteration
            items.extend(fetched[::-1])
        return items.pop()

    names["__next__"] = __next__
    names.setdefault("__iter__", lambda self: self)
    names["__length_hint__"] = __length_hint__
