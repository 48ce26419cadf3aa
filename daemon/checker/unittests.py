# SPDX-License-Identifier: MIT
"""Assertions of unittest that would hand what the tests expect to an object of the code's: assertSetEqual() calls
`first.difference(second)`. And what doctest takes as a part of the tests' module."""

import callbacks
import program


def guard(link, text):
    """Changes what TEXT, that of the tests, uses of the two."""
    if "testmod" in text or "DocTestFinder" in text:
        guard_finder(link)
    if "unittest" in text or "TestCase" in text:
        guard_sets(link)


def guard_finder(link):
    """Has doctest find the functions and classes of the code's among the names of the tests' module."""
    from doctest import DocTestFinder

    plain = DocTestFinder._from_module

    def _from_module(self, module, object):
        if link.is_theirs(object):
            return module.__name__ == program.TESTS and getattr(object, "__module__", None) == callbacks.NAME
        return plain(self, module, object)

    DocTestFinder._from_module = _from_module


def _as_set(link, value):
    """Returns a set of the code's as the plain one that the judge has of it; None for any other object of its."""
    if not link.is_theirs(value):
        return value
    for base in (set, frozenset):
        if isinstance(value, base):
            return base(base.__iter__(value))
    return None


def guard_sets(link):
    """Has assertSetEqual() compare plain sets only, where a set is the code's."""
    from unittest import TestCase

    plain = TestCase.assertSetEqual

    def assertSetEqual(self, first, second, msg=None):
        first_set, second_set = _as_set(link, first), _as_set(link, second)
        if first_set is None or second_set is None:
            place = "first" if first_set is None else "second"
            self.fail(self._formatMessage(msg, f"the {place} argument is an object of the code's and no set"))
        plain(self, first_set, second_set, msg)

    assertSetEqual.__doc__ = plain.__doc__
    TestCase.assertSetEqual = assertSetEqual
