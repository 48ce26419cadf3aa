# SPDX-License-Identifier: MIT
"""Assertions that are not reached because a context manager of the code suppresses what was raised before them. A
block that begins with a method that the code lacks would end there, and pass."""

import _ast
import builtins

import suite

LOOPS = (_ast.For, _ast.AsyncFor, _ast.While)
FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.Lambda, _ast.ClassDef)


def _asserts(node):
    """Returns whether a statement or a call checks something. What always fails stands where nobody is to come."""
    if isinstance(node, _ast.Assert):
        return not isinstance(node.test, _ast.Constant)
    function = node.func if isinstance(node, _ast.Call) else None
    name = function.attr if isinstance(function, _ast.Attribute) else getattr(function, "id", "")
    return name.startswith("assert") or name == "fail"


def judges(node):
    """Returns whether a class of the tests' has tests or assertions in it, or derives from one of a test framework's."""
    bases = [base.attr if isinstance(base, _ast.Attribute) else getattr(base, "id", "") for base in node.bases]
    methods = [part.name for part in node.body if isinstance(part, FUNCTIONS) and not isinstance(part, _ast.Lambda)]
    is_test = any("TestCase" in name for name in bases) or any(name.startswith("test") for name in methods)
    return is_test or any(map(_asserts, suite.nodes(node)))


def _inside(node):
    """Yields what a block runs: no bodies of functions that it only defines."""
    stack = [*node.body]
    while stack:
        part = stack.pop()
        yield part
        if not isinstance(part, FUNCTIONS):
            stack += suite.children(part)


def has_any(text, line):
    """Returns whether the innermost `with` around LINE of TEXT has assertions there or behind."""
    blocks = [one for one in suite.nodes(suite.parse(text, "<tests>")) if isinstance(one, (_ast.With, _ast.AsyncWith))]
    around = [one for one in blocks if one.body[0].lineno <= line <= one.end_lineno]
    if not around:
        return False
    return _is_behind(max(around, key=lambda one: one.body[0].lineno), line)


def _is_behind(block, line):
    """Returns whether BLOCK has assertions on LINE or behind."""
    for part in _inside(block):  # the next round of a loop is left out, too
        if isinstance(part, LOOPS) and part.lineno <= line <= part.end_lineno:
            line = part.lineno
    return any(_asserts(part) and part.end_lineno >= line for part in _inside(block))


def _functions(text):
    parts = suite.nodes(suite.parse(text, "<tests>"))
    return [one for one in parts if isinstance(one, (_ast.FunctionDef, _ast.AsyncFunctionDef))]


def is_left(text, line):
    """Returns whether the innermost function around LINE of TEXT has assertions there or behind."""
    around = [one for one in _functions(text) if one.body[0].lineno <= line <= one.end_lineno]
    return bool(around) and _is_behind(max(around, key=lambda one: one.body[0].lineno), line)


def asserts_at(text, line):
    """Returns whether a statement or a call on LINE of TEXT checks something. One that looks at constants and no more
    (`assert 1 == 2`) is there to fail."""
    parts = [one for one in suite.nodes(suite.parse(text, "<tests>")) if hasattr(one, "lineno")]
    parts = [one for one in parts if one.lineno <= line <= one.end_lineno]
    looked_at = [one for one in parts if _asserts(one)]
    if any(isinstance(one, _ast.Raise) for one in parts):  # an assert in other words
        looked_at += [one.test for one in parts if isinstance(one, _ast.If)]
    return any(suite.names_of(one)[0] - vars(builtins).keys() for one in looked_at)


def expected_at(text, line):
    """Returns the names of what a `try` around LINE of TEXT catches, or a `with` is given there."""
    found = set()
    for node in suite.nodes(suite.parse(text, "<tests>")):
        if not isinstance(node, (_ast.Try, _ast.TryStar, _ast.With, _ast.AsyncWith)):
            continue
        if not node.body[0].lineno <= line <= node.body[-1].end_lineno:
            continue
        if isinstance(node, (_ast.Try, _ast.TryStar)):
            parts = [one.type for one in node.handlers]
            found.update({"BaseException"} if None in parts else ())
        else:
            calls = [one.context_expr for one in node.items if isinstance(one.context_expr, _ast.Call)]
            parts = [part for call in calls for part in call.args]
        found.update(one.id for part in parts if part for one in suite.nodes(part) if isinstance(one, _ast.Name))
    return found


def has_any_in(text, first_line):
    """Returns whether the function of TEXT that begins on FIRST_LINE has assertions."""
    for node in _functions(text):
        if min([node.lineno, *(one.lineno for one in node.decorator_list)]) == first_line:
            return any(map(_asserts, suite.nodes(node)))
    return False


def because_of(error, sources):
    """Returns whether assertions of the tests are left out if ERROR, which was raised in a `with`, is suppressed there:
    in the block or in functions that it calls. SOURCES are the tests' texts by file name."""
    at, is_any = error.__traceback__, has_any
    while at is not None:
        code = at.tb_frame.f_code
        # A comprehension has none, and is within the function around it.
        if code.co_filename in sources and (is_any is has_any or not code.co_name.startswith("<")):
            if is_any(sources[code.co_filename], at.tb_lineno):
                return True
        at, is_any = at.tb_next, is_left  # in what the block calls
    return False


def without_traceback(arguments, kind, sources, failures):
    """Returns ARGUMENTS with None for those of type KIND, tracebacks, which tell where the tests raised something. Of a
    failure they stay and are refused: a function of the code that contextlib calls with one could suppress it."""
    errors = [one for one in arguments if isinstance(one, BaseException)]
    if not errors or any(isinstance(one, failures) or because_of(one, sources) for one in errors):
        return arguments
    return tuple(None if type(one) is kind else one for one in arguments)
