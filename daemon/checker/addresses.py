# SPDX-License-Identifier: MIT
"""Finds out whether tests that are recorded depend on addresses in memory: on the order of a set whose items are
hashed by their addresses, or on such a hash. Their trees are changed so that what they iterate over, and hash, is
looked at first; it stays what it is. So are the trees of a replay, which has to do the same."""

import _ast
import builtins

from classes import found_on, state_of
from suite import _at

LOOK, LOOK_AT_HASH = "__look_at_order__", "__look_at_hash__"  # names by which the tests' code calls this module
# Functions whose result depends on the order of what they are given.
READERS = frozenset("""list tuple iter enumerate map zip filter sorted min max sum any all next reversed print str repr format
deque join extend chain from_iterable product combinations permutations choice choices sample reduce fromkeys accumulate
cycle islice array dict OrderedDict Counter fsum""".split())
BY_VALUE = (int, str, bytes, bool, complex)
NESTED_MAX = 50


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

    def hash(self, value, /):
        if not self.is_by_value(value):
            self.refuse("the tests look at a hash that is an address")
        return hash(value)


def _called(name, argument):
    function = _at(_ast.Name(id=name, ctx=_ast.Load()), argument)
    return _at(_ast.Call(func=function, args=[argument], keywords=[]), argument)


def _name_of(function):
    return function.id if isinstance(function, _ast.Name) else getattr(function, "attr", None)


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
            node.value = _called(LOOK, node.value)
        elif isinstance(node, _ast.Call):
            _rewrite_call(node)


def _rewrite_call(node):
    name = _name_of(node.func)
    if name == "hash" and isinstance(node.func, _ast.Name) and len(node.args) == 1 and not node.keywords:
        node.func.id = LOOK_AT_HASH
    elif name == "pop" and isinstance(node.func, _ast.Attribute) and not node.args:
        node.func.value = _called(LOOK, node.func.value)
    elif name in READERS:
        node.args = [one if isinstance(one, _ast.Starred) else _called(LOOK, one) for one in node.args]
