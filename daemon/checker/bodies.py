# SPDX-License-Identifier: MIT
"""What the body of a class statement of the tests defines stays the tests', though a base or metaclass of the code's
makes the class: it may add attributes, and replaces none.

The base or metaclass can also exchange an attribute later. So the judge reads methods, properties and plain data of the
class here, and does not ask the code. It asks the code which data an instance has."""

import describe
import gates
from operators import Refused

DESCRIPTORS = (staticmethod, classmethod, property)
DATA = (type(None), bool, int, float, complex, str, bytes)
# A class is made with these; they are no attributes of it.
OF_STATEMENT = ("__module__", "__qualname__", "__doc__", "__slots__", "__firstlineno__")
MADE_CLASS_METHODS = ("__new__", "__init_subclass__", "__class_getitem__")  # by Python, of functions


def of_tests(link, namespace):
    """Returns the attributes in the NAMESPACE of a class body that the tests have written."""
    kinds = (describe.FUNCTION, *DESCRIPTORS, *DATA)
    found = {}
    for name, value in namespace.items():
        is_attribute = type(name) is str and name not in OF_STATEMENT and name not in MADE_CLASS_METHODS
        if not is_attribute or not describe.is_among(type(value), kinds) or id(value) in link.stand_in_numbers:
            continue
        if type(value) is not describe.FUNCTION or not describe.of_library(value):  # the code has that of its own library
            found[name] = value
    return found


def of_statement(arguments):
    """Returns the name and the namespace of a class, if ARGUMENTS are those of a metaclass; the code may change these."""
    if len(arguments) == 3 and tuple(map(type, arguments)) == (str, tuple, dict):
        return arguments[0], dict(arguments[2])
    return "", {}


def keep(link, made, name, own):
    """MADE is what a base or metaclass of the code's has made of a class statement that defines OWN."""
    info = link.infos.get(id(made))
    if info is not None and info.is_here:
        return
    if info is None or describe.is_enumeration(made):
        if any(type(value) not in DATA for value in own.values()):
            raise Refused(f"the code makes something else of class {name} of the tests'")
        return
    for attribute, value in own.items():
        if attribute in gates.SPLITTING and issubclass(made, BaseExceptionGroup):
            continue  # which are no part of such a class here (stand_ins.py)
        if is_replaced(link, made, info, attribute, value):
            raise Refused(f"the code replaces {attribute} of class {name} of the tests'")
    for attribute, value in own.items():
        if not attribute.startswith("__"):
            type.__setattr__(made, attribute, value)
            info.methods.pop(attribute, None)
            (info.data if type(value) in DATA else info.kept).add(attribute)


def is_replaced(link, made, info, name, value):
    if type(value) is describe.FUNCTION:
        return info.functions.get(name) is not value
    if type(value) in DESCRIPTORS:
        return name in info.functions or name in info.properties
    if name.startswith("__"):
        return False
    try:
        told = link.get(made, name)
    except AttributeError:
        return False  # it is one of the instances' now
    return type(told) in DATA and (type(told) is not type(value) or told != value) and value == value


def is_kept(link, kind, name):
    """Returns whether NAME of an instance is what the body of a class of the tests' defines."""
    for one in type.__dict__["__mro__"].__get__(kind):
        if name in vars(one):
            info = link.infos.get(id(one))
            return info is not None and name in info.kept
    return False


def check_made(link, kind, value):
    """KIND, a class of the tests', has been called, and gave VALUE."""
    info = link.infos.get(id(kind))
    if info is not None and info.kept and not any(one is kind for one in type(value).__mro__):
        raise Refused(f"the code makes something else than an object of class {info.name} of the tests'")
