# SPDX-License-Identifier: MIT
"""Exception classes that the code names anew, as in `Insufficient = AssertionError`. To a test that catches
`Insufficient` it must not mean the test's own failure. So the tests get a class of their own for such a
name: a subclass of the class itself, of which only what the candidate raises is an instance."""

import sys

import classes

# What makes a test framework believe that a test was left out: from the code it is a failure.
CONTROL = {"unittest.case": ("SkipTest", "_ShouldStop"), "_pytest.outcomes": ("OutcomeException",),
           "bdb": ("BdbQuit",)}  # fmt: skip


def _is_exception(value):
    return isinstance(value, type) and issubclass(value, BaseException)


def is_control(kind):
    """Returns whether an exception of class KIND would end a test of the judge's without a failure."""
    for module, names in CONTROL.items():
        loaded = sys.modules.get(module)
        if any(issubclass(kind, getattr(loaded, name, ())) for name in names):
            return True
    return False


class Aliases:
    def __init__(self):
        self.made = {}  # by class
        self.originals = {}  # by id() of what was made

    def of(self, name, value):
        """Returns what the tests get if the candidate's NAME is VALUE. A class that only stands for one of
        the candidate's own is itself."""
        if type(value) is tuple:
            parts = tuple(self.of("", part) for part in value)
            return parts if any(a is not b for a, b in zip(parts, value)) else value
        if not _is_exception(value) or name == value.__name__ or value.__module__ == classes.STUB_MODULE:
            return value
        if value not in self.made:
            self.made[value] = type(value)(value.__name__, (value,), {"__module__": classes.STUB_MODULE})
            self.originals[id(self.made[value])] = value
        return self.made[value]

    def raised(self, kind):
        """Returns the class of which an exception is made that the candidate raises as KIND."""
        return self.made.get(kind, kind)

    def original(self, value):
        return self.originals.get(id(value))
