# SPDX-License-Identifier: MIT
"""Runs a text of unknown origin in the judge as far as it is a formula: constants, operators, comprehensions, lambdas,
simple assignments and asserts, and calls of what cannot do harm. What a name, a call or an attribute leads to is
checked when it is used, so the text gets no further than its values do."""

import _ast
import builtins
import sys

import callbacks
import describe
import library
import program
from suite import nodes

REAL_COMPILE, REAL_EVAL, REAL_EXEC = builtins.compile, builtins.eval, builtins.exec
PARSE_ONLY = 0x400  # ast.PyCF_ONLY_AST
NODES = tuple(getattr(_ast, name) for name in """Module Expression Interactive Expr Assign Assert Pass Constant UnaryOp
BinOp BoolOp Compare IfExp Tuple List Set Dict Subscript Slice Starred Name Call keyword Attribute ListComp SetComp
DictComp GeneratorExp comprehension Lambda arguments arg JoinedStr FormattedValue operator unaryop boolop cmpop
expr_context""".split())
# Built-in functions and classes that compute, and reach nothing that they are not given.
PURE = {name: getattr(builtins, name) for name in """abs all any ascii bin bool bytearray bytes callable chr complex dict
divmod enumerate filter float frozenset hash hex int isinstance issubclass iter len list map max min next oct ord pow
range repr reversed round set slice sorted str sum tuple zip Ellipsis NotImplemented""".split()}
PURE_IDS = {id(value) for value in PURE.values()}
MODULES = frozenset("math cmath operator itertools functools collections fractions decimal datetime statistics string"
                    " heapq bisect numbers".split())  # fmt: skip
# Of those that library.CLASSES lists: other modules have metaclasses there, and paths.
VALUE_MODULES = frozenset("array collections datetime decimal fractions ipaddress uuid".split())
FUNCTION_MODULES = frozenset(("math", "cmath"))
# Of plain values: these look up attributes as their text says.
UNSAFE = frozenset(("format", "format_map", "mro"))
METHODS = (describe.BOUND, type(str.upper), type(int.__dict__["from_bytes"]))


class Unsafe(Exception):
    """A text asks for what it may not have."""


def parse(text, mode):
    """Returns the tree of a text, or None if it is more than a formula."""
    tree = REAL_COMPILE(text, "<text>", mode, PARSE_ONLY, dont_inherit=True)
    for node in nodes(tree):
        if not isinstance(node, NODES):
            return None
        if isinstance(node, _ast.Assign) and not all(isinstance(one, _ast.Name) for one in node.targets):
            return None
        name = getattr(node, "id", getattr(node, "attr", getattr(node, "arg", "")))
        if type(name) is str and name.startswith("__"):
            return None
        if isinstance(node, _ast.Attribute) and not isinstance(node.ctx, _ast.Load):
            return None
    return tree


def is_value_class(value):
    """Returns whether VALUE is a class that does nothing but hold values, or one of the tests'."""
    if not isinstance(value, type):
        return False
    if id(value) in PURE_IDS or callbacks.is_of_tests(value):
        return True
    return value.__module__ in VALUE_MODULES and value.__qualname__ in library.CLASSES[value.__module__]


def is_module(value):
    return type(value) is describe.MODULE and sys.modules.get(value.__name__) is value and value.__name__ in MODULES


def is_function_of_module(value):
    is_one = type(value) is describe.BOUND and type(value.__self__) is describe.MODULE
    return is_one and value.__self__.__name__ in FUNCTION_MODULES


class Formula:
    """A text that parse() has returned a tree for. LINK knows the objects of the code, NAMES are what it may use."""

    def __init__(self, tree, link, names, called=()):
        self.link, self.tree = link, tree
        self.called = {id(value) for value in called}
        self.names = {"__builtins__": {}, **names}
        self.names["__attribute__"], self.names["__called__"] = self.attribute, self.call
        self.guard(tree)

    def may_have_all(self):
        """Returns whether it may call all that its names stand for: map() and the like call what they are given."""
        names = [value for name, value in self.names.items() if not name.startswith("__")]
        return all(self.link.is_theirs(value) or not callable(value) or self.may_call(value) for value in names)

    def attribute(self, value, name):
        if self.link.is_theirs(value):
            return getattr(value, name)
        if name.startswith("_") or name in UNSAFE:
            raise Unsafe(f"the attribute `{name}`")
        if is_module(value):
            found = getattr(value, name)
            if type(found) in (int, float, complex, str) or is_value_class(found) or is_function_of_module(found):
                return found
        else:
            kind = value if isinstance(value, type) else type(value)
            if is_value_class(kind) and not callbacks.is_of_tests(kind):
                return getattr(value, name)
            if not isinstance(value, type) and callbacks.is_of_tests(kind):
                return callbacks.get_attribute(value, name)  # as the code may, if it is handed one
        raise Unsafe(f"the attribute `{name}`")

    def call(self, function, *arguments, **keywords):
        if not self.may_call(function):
            raise Unsafe("a call")
        return function(*arguments, **keywords)

    def may_call(self, function):
        kind = type(function)
        if self.link.is_theirs(function) or id(function) in PURE_IDS or id(function) in self.called:
            return True
        if is_value_class(function) or is_function_of_module(function):
            return True
        if kind is describe.FUNCTION:
            return function.__globals__ is self.names
        if kind is describe.BOUND_METHOD:
            is_of_tests = callbacks.is_of_tests(type(function.__self__)) and callbacks._may_be_called(function)
            return is_of_tests or self.link.is_theirs(function.__self__)
        if kind in METHODS:  # attribute() has let it pass
            owner = getattr(function, "__self__", None) or getattr(function, "__objclass__", None)
            return type(owner) is not describe.MODULE
        return False

    def guard(self, tree):
        """Has each attribute and each call checked."""
        for node in reversed(list(nodes(tree))):  # what is inside comes first
            for field in node._fields:
                value = getattr(node, field, None)
                if type(value) is list:
                    value[:] = [self.guarded(part) for part in value]
                elif isinstance(value, _ast.AST):
                    setattr(node, field, self.guarded(value))

    def guarded(self, node):
        if isinstance(node, _ast.Attribute):
            text = _ast.Constant(value=node.attr, **_place(node))
            return _call("__attribute__", [node.value, text], [], node)
        if isinstance(node, _ast.Call):
            return _call("__called__", [node.func, *node.args], node.keywords, node)
        return node

    def run(self):
        """Runs it. Returns its value, if it has one."""
        mode = {_ast.Expression: "eval", _ast.Interactive: "single"}.get(type(self.tree), "exec")
        compiled = REAL_COMPILE(self.tree, "<text>", mode, dont_inherit=True, optimize=0)
        return (REAL_EVAL if mode == "eval" else REAL_EXEC)(compiled, self.names)


def _place(node):
    return {name: getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}


def _call(name, arguments, keywords, like):
    function = _ast.Name(id=name, ctx=_ast.Load(), **_place(like))
    return _ast.Call(func=function, args=arguments, keywords=keywords, **_place(like))


def has_attributes(tree):
    return any(isinstance(node, _ast.Attribute) for node in nodes(tree))


def is_data(text):
    """Returns whether a program only gives names to plain data: it calls nothing and looks into nothing."""
    tree = parse(text, "exec")
    active = (_ast.Attribute, _ast.Call, _ast.Lambda, _ast.JoinedStr)
    return tree is not None and not any(isinstance(node, active) for node in nodes(tree))


def bound_by(tree):
    """Returns the names that the statements of a formula assign."""
    body = tree.body if isinstance(tree.body, list) else []
    return [target.id for node in body if isinstance(node, _ast.Assign) for target in node.targets]


# --- texts that the candidate runs ------------------------------------------------------------------

_JUDGING = (_ast.Compare, _ast.BoolOp)


def decides(text, mode):
    """Returns whether running a text is a judgement in itself, which must not be left to the code: an assert, or a
    comparison at the top."""
    tree = REAL_COMPILE(text, "<text>", mode, PARSE_ONLY, dont_inherit=True)
    stack = list(tree.body) if isinstance(tree.body, list) else [tree.body]
    while stack:
        node = stack.pop()
        if isinstance(node, program.DEFINITIONS):
            continue
        value = node if isinstance(node, _ast.expr) else getattr(node, "value", None)
        is_negated = isinstance(value, _ast.UnaryOp) and isinstance(value.op, _ast.Not)
        if isinstance(node, (_ast.Assert, _ast.Raise)) or isinstance(value, _JUDGING) or is_negated:
            return True
        stack.extend(part for part in program.children(node) if isinstance(part, (_ast.stmt, _ast.ExceptHandler)))
    return False
