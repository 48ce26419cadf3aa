# SPDX-License-Identifier: MIT
"""Whether a test program that has asked nothing of the code may have looked at it nevertheless: at what the judge knows of
a function without asking, or by way of a process. Otherwise its pass says nothing, as if its `check` were never run."""

import _ast

import planted
import program
import suite

CHECK = "check"
FUNCTION = type(lambda: None)
RUN_LATER = ("coroutine", "generator", "async_generator")  # what a call makes that has not run
# Functions that tell something of a function that is not called, and modules of such.
LOOKING = frozenset("bool callable dir getattr hasattr id isinstance issubclass repr str type vars".split())
LOOKING_MODULES = frozenset("ast dis inspect types typing".split())
INNER = (*program.DEFINITIONS, _ast.Lambda)


class Looks:
    """Finds out whether the check of JOB may have looked at GIVEN without a question to the code.

    GIVEN IS_THEIRS if it is an object of the code's. Otherwise it is plain data, which the judge has, so that no use of it
    is a question."""

    def __init__(self, job, given, is_theirs):
        self.job = job
        self.is_function = type(given) is FUNCTION
        self.is_theirs = is_theirs
        self.has_run = True

    def returned(self, value):
        self.has_run = type(value).__name__ not in RUN_LATER

    def may_have_looked(self):
        text = self.job.test
        if not self.has_run:
            return False
        if any(word in self.job.tests() for word in (*planted.WORDS, "fork")):
            return True  # a process may have asked
        tree = program.parse(text)
        checks = [node for node in tree.body if isinstance(node, program.FUNCTIONS) and node.name == CHECK] if tree else []
        return bool(checks) and self.looks(checks[-1])

    def looks(self, check):
        """Returns whether the body of a function uses what it is given, other than by calling it."""
        given = {node.arg for node in suite.nodes(check.args) if isinstance(node, _ast.arg)}
        stack = [(node, check) for node in _until_return(check.body)]
        while stack:
            node, parent = stack.pop()
            if isinstance(node, _ast.Name) and node.id in given and isinstance(node.ctx, _ast.Load):
                if not self.is_function or _is_look(node, parent):
                    return True
            elif not (self.is_theirs and isinstance(node, INNER)):  # an inner function asks if it runs
                stack += [(part, node) for part in suite.children(node)]
        return False


def _until_return(body):
    """Yields the statements of a function up to the first that ends it."""
    for node in body:
        yield node
        if isinstance(node, (_ast.Return, _ast.Raise)):
            return


def _is_look(node, parent):
    """Returns whether PARENT looks at NODE, a name, without calling it."""
    if isinstance(parent, _ast.Call) and parent.func is not node:
        function = parent.func
        if isinstance(function, _ast.Attribute):
            function = function.value
            return isinstance(function, _ast.Name) and function.id in LOOKING_MODULES
        return isinstance(function, _ast.Name) and function.id in LOOKING
    return isinstance(parent, (_ast.Attribute, _ast.Compare, _ast.BoolOp, _ast.UnaryOp, _ast.Assert, _ast.If, _ast.FormattedValue))
