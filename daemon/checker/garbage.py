# SPDX-License-Identifier: MIT
"""Python's garbage collector does not look at what the judge makes of a job's texts. That lives as long as the process,
but each collection would visit it, and write to each object that it visits. What the prelude and the tests make is
collected as ever, and they see a collector that runs."""

import _ast
import gc

# Statements of a prelude after which there is no garbage that somebody might watch.
HARMLESS = (_ast.Import, _ast.ImportFrom, _ast.FunctionDef)


def _is_harmless(node):
    is_text = isinstance(node, _ast.Expr) and isinstance(node.value, _ast.Constant)
    return is_text or isinstance(node, HARMLESS) and not getattr(node, "decorator_list", None)


class Collector:
    """Of the process of one job. It is off from here on, until begin()."""

    def __init__(self):
        gc.disable()

    def begin(self):
        """The prelude begins, or where there is none, the tests: nothing of theirs is there yet."""
        gc.freeze()
        gc.enable()

    def pause(self, prelude):
        """PRELUDE, a tree or None, has run, and may have switched the collector off."""
        self.was_on = gc.isenabled()
        self.freezes = prelude is None or all(map(_is_harmless, prelude.body))
        gc.disable()

    def go_on(self):
        """The tests begin."""
        if self.freezes:
            gc.freeze()
        if self.was_on:
            gc.enable()


class Nobodys:
    """In its place in an interpreter that is not the job's own, and where a transcript says when to collect."""

    def begin(self, *_):
        pass

    pause = go_on = begin
