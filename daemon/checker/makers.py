# SPDX-License-Identifier: MIT
"""Names that the library writes into programs. dataclasses and attrs make the methods of a class out of text in which the
names of its fields stand as they are, and these may be the code's: those of a class of the code's that a class of the
tests derives from, or what the tests hand on. A name that is none would run as a piece of that text.

The names are looked at where the text is run, with what the library itself goes by: what the code says may change from
one question to the next, the library's own objects do not."""

import sys
from keyword import iskeyword

import gates
from suite import shorten

SHOWN_MAX = 40
EVALUATING = ("typing", "inspect")  # evaluate annotations


def is_name(value):
    return type(value) is str and value.isidentifier() and not iskeyword(value)


def frames_of(frame):
    """Yields FRAME and those that have led to it, as long as they are of its module."""
    of_module = frame.f_globals
    while frame is not None and frame.f_globals is of_module:
        yield frame
        frame = frame.f_back


def names_of(objects, kind):
    """Yields the names that OBJECTS of the library's go by, or the object itself, if it is not of class KIND."""
    for one in objects:
        if type(one) is not kind:
            yield one
        else:
            yield one.name
            if getattr(one, "alias", None) is not None:
                yield one.alias


def of_dataclass(frame):
    kind = frame.f_globals["Field"]
    for one in frames_of(frame):
        fields = one.f_locals.get("fields")
        if one.f_code.co_name == "_process_class" and type(fields) is dict:
            return [*fields, *names_of(fields.values(), kind)]
    return None


def copied(field, kind):
    """Returns a Field of this process that says what FIELD, an object of the code's, says now."""
    made = kind.__new__(kind)
    for name in kind.__slots__:
        setattr(made, name, getattr(field, name))
    return made


def keep_fields():
    """Has dataclasses copy the fields that a class of the tests inherits from one of the code's."""
    import dataclasses

    def get(value, name, /, *default):
        found = getattr(value, name, *default)
        if name != "__dataclass_fields__" or found is None or sys._getframe(1).f_code.co_name != "_process_class":
            return found
        kind = dataclasses.Field
        return {key: one if type(one) is kind else copied(one, kind) for key, one in found.items()}

    vars(dataclasses)["getattr"] = get


def of_attrs(frame):
    kind, found = frame.f_globals.get("Attribute"), None
    for one in frames_of(frame):
        names = one.f_locals
        if "cls_name" in names and "attr_names" in names:
            return [names["cls_name"], *names["attr_names"]]
        if type(names.get("attrs")) in (tuple, list):
            found = [*(found or ()), *names_of(names["attrs"], kind)]
        if type(names.get("self")).__name__ == "_ClassBuilder":
            found = [*(found or ()), *names_of(names["self"]._attrs, kind)]
    return found


def of_proxy(frame):
    names = frame.f_locals
    return [*names["exposed"]] if frame.f_code.co_name == "MakeProxyType" else None


# By the module that makes a program: what finds the names in it, None if there is no telling.
FINDERS = {"dataclasses": of_dataclass, "attr._make": of_attrs, "multiprocessing.managers": of_proxy}


def check(gate, frame):
    """FRAME is where a module of the library runs a text that it has made. Refuses names in it that are none."""
    module = frame.f_globals["__name__"]
    find = FINDERS.get(module)
    if find is None:
        return
    names = find(frame)
    if names is None:
        gate.refuse(f"`{module}` makes a program in a way that is not known")
    for name in names:
        if not is_name(name):
            gate.refuse(f"`{module}` makes a program with a name that is none: {shown(name)}")


def shown(name):
    return shorten(" ".join(name.split()), SHOWN_MAX) if type(name) is str else "an object of the code's"


def evaluate(gate, source, frame, spaces, real):
    """Is eval() for the module of FRAME, which evaluates annotations: those that the tests do not have in their text call
    nothing and bind nothing."""
    text = source if type(source) is str else gate.annotations.get(id(source), (None, ""))[1]
    if gates.does_more(source) and (not text or text not in gate.job.tests()):
        gate.refuse(f"`{frame.f_globals['__name__']}` evaluates an annotation that calls or binds something: {shown(text)}")
    return real(source, *spaces)
