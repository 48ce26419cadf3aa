# SPDX-License-Identifier: MIT
"""Metaclasses of mirrors.

A metaclass of the other side's is a metaclass here, too, so that type(), isinstance() and issubclass() find what they
find in one process. It has the special methods of the other side's. Whatever else that one defines is asked for, as
all attributes of classes are. Where this cannot be (NOT_MIRRORED, another metaclass among the bases), the mirror of a
class has a metaclass without a name of its own, which has the special methods alone."""

import sys

import classes
import describe
import mirrors
from describe import SPECIALS
from wire import WireError


def special_methods(space, names):
    """Returns what a metaclass defines so that classes have these special methods."""
    info = mirrors.Info(None, "class")
    info.named = True
    return {name: mirrors.make_special(space, info, name, None) for name in names if name != "__call__"}


def make(space, number, parts):
    """Makes the mirror of a metaclass."""
    name, qualified, module, doc, bases, attributes, _, _ = mirrors.checked_class(parts)
    info = mirrors.Info(number, name)
    for attribute in attributes:
        mirrors.add_attribute(space, info, {}, attribute)
    defined = {name: kind for name, kind, _ in attributes}
    if not describe.NOT_MIRRORED.isdisjoint(defined):
        raise WireError("a metaclass that is no mirror")
    names = special_methods(space, (name for name in defined if name in SPECIALS))
    names.update((name, None) for name in names if defined[name] == "0")
    names.update(__module__=mirrors.shown_module(module), __qualname__=qualified, __doc__=doc if type(doc) is str else None)
    parents = tuple(one for one in bases if issubclass(one, space.Mirror)) or (space.Mirror,)
    made = type.__new__(space.Mirror, name, parents, names)
    space.infos[id(made)] = info
    space.metaclasses.add(made)
    return made


def of_mirror(space, specials, bases, more):
    """Returns the metaclass of the mirror of a class whose class has the special methods SPECIALS."""
    own = told(space, bases, more)
    if own is not None:
        return own
    if more == describe.ABSTRACT and not space.asks_abstract:
        specials = ()  # nothing is registered
    if any(classes.is_exception(one) for one in bases):
        # What a test expects, or lets pass, is decided by the classes themselves.
        specials = tuple(name for name in specials if name not in ("__instancecheck__", "__subclasscheck__"))
    abc = sys.modules.get("abc")
    is_abstract = abc is not None and any(isinstance(one, abc.ABCMeta) for one in bases)
    above = [type(one) for one in bases if type(one) in space.metaclasses and type(one) is not space.Mirror]
    key = (specials, is_abstract, *above)
    if key == ((), False):
        return space.Mirror
    made = space.metaclass_by_bases.get(key)
    if made is None:
        names = special_methods(space, specials)
        parents = [*dict.fromkeys(above), *([space.Mirror] if not above else [])]
        if is_abstract and not any(issubclass(one, abc.ABCMeta) for one in parents):
            parents.append(abc.ABCMeta)
        made = space.metaclass_by_bases[key] = type("Mirror", tuple(parents), names)
        space.metaclasses.add(made)
    return made


def told(space, bases, more):
    """Returns the mirror of the metaclass that MORE names, if a class with these bases may have it."""
    if type(more) is not tuple or len(more) != 2 or more[0] != "metaclass":
        return None
    own = more[1]
    if not describe.is_among(own, space.metaclasses):
        raise WireError("a bad metaclass")
    return own if all(issubclass(own, type(one)) for one in bases) else None
