# SPDX-License-Identifier: MIT
"""Enumerations of the other side: a member is a constant, which both sides have."""

import copies
from describe import SPECIALS
from mirrors import CALLED_BY_SUPER, Info, add_attribute, checked_class, mro_of, shown_module
from wire import WireError


def make(space, number, parts):
    """Makes an enumeration with the same members: a member is a constant, which the other side cannot
    change later."""
    import enum

    name, qualified, module, doc, bases, attributes, _, more = checked_class(parts)
    if len(more) != 3:
        raise WireError("a bad enumeration")
    _, members, boundary = more
    enumerations = tuple(one for one in bases if isinstance(one, enum.EnumMeta))
    mixed = tuple(one for one in bases if one in (int, str, float, tuple, bytes))
    mirrored = [one for one in bases if id(one) in space.infos and isinstance(one, space.Mirror) and one not in enumerations]
    is_whole = len(mixed) + len(enumerations) + len(mirrored) == len(bases)
    if not enumerations or type(members) is not tuple or not is_whole:
        raise WireError("a bad enumeration")
    names = enum.EnumMeta.__prepare__(name, mixed + enumerations)
    names["__module__"] = shown_module(module)
    names["__qualname__"] = qualified
    names["__doc__"] = doc if type(doc) is str else None
    info = Info(number, name)
    names.update(of_mixins(space, mirrored))
    names["__getattr__"] = make_member_getattr(space)
    # pickle would look for the class by its name.
    names["__reduce_ex__"] = lambda self, _: (copies.member, (space.number_here, number, self._name_, self._value_))
    for attribute in attributes:
        if type(attribute) is not tuple or len(attribute) != 3:
            continue
        if attribute[0] not in ENUM_OWN or attribute[0] in SPECIALS and attribute[1] == "f":
            if members and attribute[0] in CALLED_BY_SUPER:
                continue  # the other side has called it, and nobody derives from an enumeration with members
            found = {}
            add_attribute(space, info, found, attribute)
            names.update(found)
    for member in members:
        if type(member) is not tuple or len(member) != 2 or type(member[0]) is not str:
            raise WireError("a bad member")
        if member[0] in names or member[0].startswith("_") and member[0].endswith("_"):
            raise WireError("a member with the name of a method")
        names[member[0]] = member[1]
    how = {} if boundary is None else {"boundary": checked_boundary(boundary)}
    made = enum.EnumMeta.__new__(enum.EnumMeta, name, mixed + enumerations, names, **how)
    space.infos[id(made)] = info
    return made


def checked_boundary(value):
    """Returns what flags do with bits that no member has."""
    import enum

    if type(value) is not str or value not in [one.value for one in enum.FlagBoundary]:
        raise WireError("a bad boundary")
    return enum.FlagBoundary(value)


def combination(kind, value):
    """Returns the combination of the flags of KIND that has VALUE. Runs nothing that the class defines."""
    import enum

    if not issubclass(kind, enum.Flag):
        raise WireError("an unknown member")
    try:
        found = kind._value2member_map_.get(value)
        if found is None:
            found = enum.Flag._missing_.__func__(kind, value)
    except ValueError:
        raise WireError("an unknown combination") from None
    if type(found) is not kind:
        raise WireError("no combination")
    return found


def of_mixins(space, mirrored):
    """Returns what members have from classes of the other side beside the enumeration's: their methods and properties.
    The classes themselves go with no enumeration here."""
    found = {}
    for kind in mirrored:
        for one in mro_of(kind):
            info = space.infos.get(id(one))
            for name in (*info.methods, *info.properties) if info is not None else ():
                found.setdefault(name, vars(one)[name])
    return found


def make_member_getattr(space):
    """Members have attributes that the enumeration's __init__ or __new__ gave to them: these are asked for."""

    def __getattr__(self, name):
        if name.startswith("_") and name.endswith("_") or id(type(self)) not in space.infos:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return space.get(self, name)

    return __getattr__


# What EnumMeta puts into each class.
ENUM_OWN = frozenset(
    """_generate_next_value_ __new__ _new_member_ _use_args_ _member_names_ _member_map_ _value2member_map_
    _unhashable_values_ _member_type_ _value_repr_ __reduce_ex__ __dir__ __format__ __repr__ __str__ __or__ __and__
    __xor__ __ror__ __rand__ __rxor__ __invert__ __contains__ __iter__ __len__ __bool__ __hash__ name value""".split()
)
