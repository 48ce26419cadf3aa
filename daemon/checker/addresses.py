# SPDX-License-Identifier: MIT
"""Finds out whether tests that are recorded depend on addresses in memory: on the order of a set whose items are
hashed by their addresses, or on such a hash. Their trees are changed so that what they iterate over, and hash, is
looked at first; it stays what it is. So are the trees of a replay, which has to do the same."""

import _ast
import builtins

from classes import found_on, state_of
from suite import _at
from transcript import has_address

LOOK, LOOK_AT_HASH, LOOK_AT_TEXT = "__look_at_order__", "__look_at_hash__", "__look_at_text__"  # names by which the tests' code calls this module
# Functions whose result depends on the order of what they are given.
READERS = frozenset("""list tuple iter enumerate map zip filter sorted min max sum any all next reversed print str repr format
deque join extend chain from_iterable product combinations permutations choice choices sample reduce fromkeys accumulate
cycle islice array dict OrderedDict Counter fsum fromiter nsmallest nlargest merge dumps dump""".split())
LOOK_AT_MADE = "__look_at_made__"
# Functions that make texts of what they are given, and others that call what they are given.
WRITERS = frozenset("repr str ascii print pformat pprint saferepr".split())
CALLERS = frozenset("map filter sorted sort min max".split())
CALLED = {"hash": "__look_at_hash__", "repr": "__look_and_repr__", "str": "__look_and_str__", "ascii": "__look_and_repr__"}
BY_VALUE = (int, str, bytes, bool, complex)
NESTED_MAX = 50


OF_OBJECT, OF_OBJECT_STR = object.__repr__, object.__str__
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
# Of types that hash their objects by address.
ADDRESSED = [found_on(type(one), "__hash__") for one in (object(), None, len, "".join, type, ..., str.join, object().__str__, (lambda: 0).__get__(1))]


class Addresses:
    """REFUSE(why) says that the tests depend on something that no transcript has. IS_NUMBERED(value) says of which
    other objects the hash is the same in each process."""

    def __init__(self, refuse, is_numbered):
        self.refuse, self.is_numbered = refuse, is_numbered

    def install(self):
        setattr(builtins, LOOK, self.look)
        setattr(builtins, LOOK_AT_HASH, self.hash)
        setattr(builtins, LOOK_AT_TEXT, self.text)
        setattr(builtins, LOOK_AT_MADE, self.made)
        setattr(builtins, CALLED["repr"], lambda value, /: repr(self.text(value)))
        setattr(builtins, CALLED["str"], lambda value, /: str(self.text(value)))

    def is_by_value(self, value, depth=NESTED_MAX):
        """Returns whether the hash of VALUE is the same in each process. Asks neither the object nor its class."""
        kind = type(value)
        if any(kind is one for one in BY_VALUE):
            return True
        if kind is float:
            return value == value  # a NaN is hashed by its address
        if isinstance(value, type) or not depth:
            return False
        if self.is_numbered(value):
            return True
        hashed = found_on(kind, "__hash__")
        if any(hashed is vars(one)["__hash__"] for one in (tuple, frozenset)):
            return all(self.is_by_value(part, depth - 1) for part in value)
        parameters = found_on(kind, "__dataclass_params__")
        if parameters is not None and parameters.eq and (parameters.frozen or parameters.unsafe_hash):
            fields = found_on(kind, "__dataclass_fields__").values()
            names = (one.name for one in fields if (one.compare if one.hash is None else one.hash))
            return all(self.is_by_value(state_of(value).get(name), depth - 1) for name in names)
        return not any(hashed is one for one in ADDRESSED)  # a hash of the class's own, of what the object holds

    def look(self, value):
        kind = type(value)
        if kind in (set, frozenset):
            items = value
        elif kind.__name__ == "WeakSet" and kind.__module__ == "_weakrefset":
            items = list(value)
        else:
            return value
        if len(items) > 1 and not all(map(self.is_by_value, items)):
            self.refuse("the tests look at the order of a set of objects, which is that of addresses")
        return value

    def text(self, value):
        """Looks at what a text is made of."""
        if self.shows_address(value):
            self.refuse("an address in memory is part of a text")
        return self.look(value)

    def made(self, text):
        """Looks at a text that has been made of several values."""
        if type(text) is str and has_address(text.encode("utf-8", "replace")):
            self.refuse("an address in memory is part of a text")
        return text

    def shows_address(self, value, depth=NESTED_MAX):
        kind = type(value)
        if any(kind is one for one in (*BY_VALUE, float)) or not depth or self.is_numbered(value):
            return False
        if any(kind is one for one in (list, tuple, set, frozenset)):
            return any(self.shows_address(part, depth - 1) for part in value)
        if kind is dict:
            return any(self.shows_address(part, depth - 1) for pair in value.items() for part in pair)
        shown = found_on(kind, "__repr__")
        if shown is OF_OBJECT:
            return found_on(kind, "__str__") is OF_OBJECT_STR
        if kind.__module__ == "unittest.mock":
            return True
        return not kind.__flags__ & HEAP_TYPE and type(shown) is type(OF_OBJECT) and has_address(f"{shown(value)}".encode("utf-8", "replace"))

    def hash(self, value, /):
        if not self.is_by_value(value):
            self.refuse("the tests look at a hash that is an address")
        return hash(value)


def _called(name, argument):
    function = _at(_ast.Name(id=name, ctx=_ast.Load()), argument)
    return _at(_ast.Call(func=function, args=[argument], keywords=[]), argument)


def _name_of(function):
    """Returns the name of a function, also of one that formats.py looks up."""
    if isinstance(function, _ast.Call) and len(function.args) == 2 and getattr(function.args[1], "value", None) in ("format", "format_map"):
        return "format"
    return function.id if isinstance(function, _ast.Name) else getattr(function, "attr", None)


def is_text(node):
    return isinstance(node, _ast.JoinedStr) or isinstance(node, _ast.Constant) and type(node.value) is str


def rewrite(tree):
    """Changes the tree of tests that are recorded."""
    stack = [tree]
    while stack:
        node = stack.pop()
        for field in node._fields:
            value = getattr(node, field, None)
            stack.extend(one for one in (value if type(value) is list else (value,)) if isinstance(one, _ast.AST))
        if isinstance(node, (_ast.For, _ast.AsyncFor, _ast.comprehension)) and not getattr(node, "is_async", 0):
            node.iter = _called(LOOK, node.iter)
        elif isinstance(node, _ast.Starred) and isinstance(node.ctx, _ast.Load):
            node.value = _called(LOOK, node.value)
        elif isinstance(node, _ast.Assign) and any(isinstance(one, (_ast.Tuple, _ast.List)) for one in node.targets):
            node.value = _called(LOOK, node.value)
        elif isinstance(node, _ast.FormattedValue):
            node.value = _called(LOOK_AT_TEXT, node.value)
        elif isinstance(node, _ast.BinOp) and isinstance(node.op, _ast.Mod) and is_text(node.left):
            parts = node.right.elts if isinstance(node.right, _ast.Tuple) else None
            if parts is None:
                node.right = _called(LOOK_AT_TEXT, node.right)
            else:
                parts[:] = [one if isinstance(one, _ast.Starred) else _called(LOOK_AT_TEXT, one) for one in parts]
        elif isinstance(node, _ast.Call):
            _rewrite_call(node)


def _rewrite_call(node):
    name = _name_of(node.func)
    if name == "hash" and isinstance(node.func, _ast.Name) and len(node.args) == 1 and not node.keywords:
        node.func.id = LOOK_AT_HASH
    elif name == "pop" and isinstance(node.func, _ast.Attribute) and not node.args:
        node.func.value = _called(LOOK, node.func.value)
    elif name in ("__repr__", "__str__", "__format__") and isinstance(node.func, _ast.Attribute):
        node.func.value = _called(LOOK_AT_TEXT, node.func.value)
    elif name in READERS or name in WRITERS:
        look = LOOK_AT_TEXT if name in WRITERS else LOOK
        _look_at_called(node, name)
        node.args = [one if isinstance(one, _ast.Starred) else _called(look, one) for one in node.args]
        if name == "format":
            made = _at(_ast.Call(func=node.func, args=node.args, keywords=node.keywords), node)
            node.func, node.args, node.keywords = _at(_ast.Name(id=LOOK_AT_MADE, ctx=_ast.Load()), node), [made], []


def _look_at_called(node, name):
    """Has a function that is called for each item look at it first."""
    if name in CALLERS:
        for one in (*node.args[:1], *(one.value for one in node.keywords if one.arg == "key")):
            if isinstance(one, _ast.Name) and one.id in CALLED:
                one.id = CALLED[one.id]
