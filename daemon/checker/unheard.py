# SPDX-License-Identifier: MIT
"""Assertions that fail in a function of the tests' that the code has called, of which the tests hear nothing. Code that
calls such a function and catches what it raises has seen a failure, and the tests go on as if there were none."""

import sys
from marshal import dumps

import asynchronous
import unreached
from membrane import Lost
from operators import Refused

CAUSES_MAX = 64  # exceptions that are looked at behind one
# Python keeps these to itself where it asks for an item, an attribute or a length.
KEPT = (StopIteration, StopAsyncIteration, IndexError, AttributeError, TypeError)
CALLS = ("call", "method", "global", "load", "derive")


def _is_failure(error):
    of_pytest = getattr(sys.modules.get("_pytest.outcomes"), "Failed", ())
    return isinstance(error, AssertionError) or isinstance(error, of_pytest)


def is_heard(operation, error):
    """Returns whether the tests hear of ERROR, which a question of theirs ends in."""
    return operation in CALLS or not isinstance(error, KEPT)


def left(failures, error, is_async, ask, *question):
    """Has a context manager of the code's end a `with` of the tests, from which ERROR comes. It may suppress what the tests
    raise, or raise something else, but with no failure of theirs, and nothing that keeps them from one."""
    try:
        result = ask(*question)
    except Exception as other:
        failures.replaced(error, other)
        raise
    is_kept = isinstance(error, (AssertionError, Refused, Lost)) or error is None
    is_kept = is_kept or unreached.because_of(error, failures.sources)
    if is_async:
        return asynchronous.left(result, is_kept, lambda other: failures.replaced(error, other))
    return False if is_kept else result


class Failures:
    """SOURCES are the tests' texts by file name, and OWN what the code knows of the tests' objects, by id()."""

    def __init__(self, sources, own):
        self.sources, self.own = sources, own
        self.refusal = ""  # an answer that was not taken
        self.pending = []  # (error, what was called, by what, with what)

    def refused(self, why):
        """Returns an error for the tests to hear, who may catch it where they expect one of the code's: what it says
        counts as a failure whatever comes of it."""
        self.refusal = self.refusal or why
        return Refused(why)

    def replaced(self, error, other):
        """A context manager of the code raises OTHER where ERROR came in: who expects that one does not hear of this."""
        is_one = _is_failure(error) and self.where(error) is not None
        if error is not None and other is not error and (is_one or unreached.because_of(error, self.sources)):
            self.refusal = self.refusal or f"the code raises another exception where the tests fail: {error}".rstrip(": ")

    def mark(self):
        return len(self.pending)

    def note(self, error, operation, target, arguments):
        """A function of the tests' has raised ERROR, and the code hears of it."""
        if _is_failure(error) and self.where(error) is not None:
            self.pending.append((error, operation, target, list(map(self.key_of, arguments))))

    def where(self, error):
        """Returns where in the tests ERROR was raised, if they check something there; else None."""
        trace, where = error.__traceback__, None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename in self.sources:
                where = trace
            trace = trace.tb_next
        if where is not None and unreached.asserts_at(self.sources[where.tb_frame.f_code.co_filename], where.tb_lineno):
            return where
        return None

    def key_of(self, value):
        """Returns something equal for the same argument. What an object of the code's is may change meanwhile."""
        try:
            return dumps(value, 2)
        except ValueError:
            return id(value) if id(value) in self.own else object()

    def passed(self, operation, target, arguments):
        """A function of the tests' has returned. If it has failed before, with the same arguments, the code has tried
        again."""
        if self.pending:
            keys = list(map(self.key_of, arguments))
            same = [one for one in self.pending if one[1] == operation and one[2] is target and one[3] == keys]
            self.pending = [one for one in self.pending if not any(one is other for other in same)]

    def raised(self, error, mark):
        """The tests hear of ERROR, an exception of the code, and so of all that has failed since MARK."""
        del self.pending[mark:]
        for _ in range(CAUSES_MAX):
            if error is None:
                return
            self.pending = [one for one in self.pending if one[0] is not error]
            error = error.__cause__ or error.__context__

    def why(self):
        """Says why an assertion that has completed does not pass, "" if it does."""
        failed = self.pending[0][0] if self.pending else None
        self.pending.clear()
        refusal, self.refusal = self.refusal, ""
        if failed is None:
            return refusal
        return f"the code catches what fails in a function of the tests: {failed}".rstrip(": ")
