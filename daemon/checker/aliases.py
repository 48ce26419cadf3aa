# SPDX-License-Identifier: MIT
"""Knows the exceptions by which a test says that it was left out and has not failed. If the code raises one, that
is a failure."""

import sys

# What makes a test framework believe that a test was left out: from the code it is a failure.
CONTROL = {"unittest.case": ("SkipTest", "_ShouldStop"), "_pytest.outcomes": ("OutcomeException",),
           "bdb": ("BdbQuit",)}  # fmt: skip


def is_control(kind):
    """Returns whether an exception of class KIND would end a test of the judge's without a failure."""
    for module, names in CONTROL.items():
        loaded = sys.modules.get(module)
        if any(issubclass(kind, getattr(loaded, name, ())) for name in names):
            return True
    return False
