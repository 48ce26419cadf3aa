# SPDX-License-Identifier: MIT
"""Checks parts that arrived, and loads modules of the library in which nothing of the code can hide.

Types are compared by identity: a metaclass may define equality and hash."""

import os
import sys
from _thread import RLock

# What was in the path before any test ran: no file that the code writes is found in it.
_PATH = [place for place in sys.path if place.startswith("/")]
_lock = RLock()  # a second thread must not take the short path for the tests' own

module_of = type.__dict__["__module__"].__get__
name_of = type.__dict__["__name__"].__get__
mro_of = type.__dict__["__mro__"].__get__


# Names with two underscores at each end that merely describe an object. Any other such name makes the object
# take part in some protocol, and libraries look that up as any other attribute.
TELLING = frozenset(f"__{name}__" for name in """dict name qualname module doc class annotations wrapped slots match_args
dataclass_fields dataclass_params abstractmethods isabstractmethod orig_bases parameters args origin members self func
defaults kwdefaults version author all file path post_init total required_keys optional_keys type_params notes cause
context suppress_context signature text_signature getattr getattribute setattr delattr del init new init_subclass
static_attributes firstlineno weakref bases mro base code closure""".split())
PROTOCOLS = frozenset(("_sympy_", "_mpf_", "_mpc_", "_mpi_", "_mpmath_"))


def is_protocol(name):
    """Returns whether an attribute of that name makes an object answer to more than who asks for the name."""
    return name.startswith("__") and name.endswith("__") and name not in TELLING or name in PROTOCOLS


def need(holds):
    """Raises ValueError unless HOLDS."""
    if not holds:
        raise ValueError("parts that do not fit")


def need_integers(parts, low=None, high=None):
    """Raises ValueError unless all are exactly of type int, at least LOW and at most HIGH."""
    for part in parts:
        need(type(part) is int and (low is None or part >= low) and (high is None or part <= high))


def is_one_of(value, *kinds):
    """Returns whether the type of VALUE is exactly one of KINDS."""
    return any(type(value) is kind for kind in kinds)


class library_only:
    """While it is entered, imports find nothing but the library."""

    def __enter__(self):
        _lock.acquire()
        self.path, sys.path = sys.path, list(_PATH)

    def __exit__(self, *_error):
        sys.path = self.path
        _lock.release()


def is_of_host(path):
    """Returns whether a file lies where the host's modules lie. Nothing of the code does."""
    return type(path) is str and os.path.realpath(path).startswith(LIBRARY)


LIBRARY = tuple(os.path.realpath(place) + "/" for place in _PATH)


def load(name):
    """Returns a module of the library or numpy. Raises ImportError if there is none."""
    if name not in sys.modules:
        with library_only():
            __import__(name)
    return sys.modules[name]


def is_buffer(value):
    """Returns whether VALUE shows memory of Python's own that somebody is to fill, as for readinto()."""
    return type(value) is memoryview and value.obj is None and not value.readonly
