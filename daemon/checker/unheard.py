# SPDX-License-Identifier: MIT
"""Assertions that fail in a function of the tests' that the code has called, of which the tests hear nothing. Code that
calls such a function and catches what it raises has seen a failure, and the tests go on as if there were none."""

import unreached

VALUES = (int, float, complex, str, bytes, bool, type(None))
CAUSES_MAX = 64  # exceptions that are looked at behind one


def _key_of(value):
    return (type(value), value) if type(value) in VALUES else id(value)


class Failures:
    """SOURCES are the tests' texts by file name."""

    def __init__(self, sources):
        self.sources = sources
        self.pending = []  # (error, what was called, by what, with what)

    def mark(self):
        return len(self.pending)

    def note(self, error, operation, target, arguments):
        """A function of the tests' has raised ERROR, an AssertionError, and the code hears of it."""
        trace, where = error.__traceback__, None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename in self.sources:
                where = trace
            trace = trace.tb_next
        if where is not None:
            text = self.sources[where.tb_frame.f_code.co_filename]
            if unreached.asserts_at(text, where.tb_lineno):
                self.pending.append((error, operation, target, arguments))

    def passed(self, operation, target, arguments):
        """The same function has returned: the code has tried again, with the same arguments."""
        asked = [operation, id(target), *map(_key_of, arguments)]
        self.pending = [one for one in self.pending if [one[1], id(one[2]), *map(_key_of, one[3])] != asked]

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
        if failed is None:
            return ""
        return f"the code catches what fails in a function of the tests: {failed}".rstrip(": ")
