# SPDX-License-Identifier: MIT
"""Which names the tests use as functions are used. Where a function is due the code may bind a class: then its
instances are what the function returns, and the tests have not named the class by calling it. Pure functions of the
job's texts."""

import _ast

import suite

# A test that finds one of these on a result has not asked for an object of the code's: values of Python's library
# and of numpy and pandas have them.
_OF_VALUES = frozenset("""T all any astype columns cumsum day days denominator dot dtype elapsed fill flatten getvalue group
groups head hour iloc is_integer isoformat item loc max mean min minute month ndim numerator read reshape result round
second seconds send shape size std strftime sum tail throw tolist total_seconds to_dict values var write year""".split())
VALUE_NAMES = _OF_VALUES.union(*map(dir, (0, 0.0, 0j, "", b"", (), [], {}, set(), frozenset(), range(0))))
FUNCTION_NAMES = frozenset("cache cache_clear cache_info cache_parameters calls dispatch register registry".split())
# Functions whose arguments are classes, and which of the arguments.
_TAKE_CLASSES = {"isinstance": slice(1, 2), "issubclass": slice(2), "assertIsInstance": slice(1, 2), "raises": slice(1),
                 "assertNotIsInstance": slice(1, 2), "assertRaises": slice(1), "assertRaisesRegex": slice(1)}  # fmt: skip


def is_class_name(name):
    """Returns whether a name is one as classes have."""
    bare = name.strip("_")
    return bare[:1].isupper() and "_" not in bare


def _names_in(*nodes):
    return {part.id for node in nodes if node is not None for part in suite.nodes(node) if isinstance(part, _ast.Name)}


def _called(node):
    return node.func.id if isinstance(node, _ast.Call) and isinstance(node.func, _ast.Name) else None


def _is_kind_of(node):
    return _called(node) == "type" or isinstance(node, _ast.Attribute) and node.attr == "__class__"


def _named_as_class(node):
    """Returns the names that NODE, a part of the tests, uses as only classes are used."""
    if isinstance(node, _ast.Call):
        name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
        return _names_in(*node.args[_TAKE_CLASSES[name]]) if name in _TAKE_CLASSES else ()
    if isinstance(node, _ast.ClassDef):
        return _names_in(*node.bases)
    if isinstance(node, _ast.ExceptHandler):
        return _names_in(node.type)
    if isinstance(node, (_ast.arg, _ast.AnnAssign)):
        return _names_in(node.annotation)
    if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef)):
        return _names_in(node.returns)
    if isinstance(node, _ast.MatchClass):
        return _names_in(node.cls)
    if isinstance(node, _ast.Compare):
        sides = (node.left, *node.comparators)
        return _names_in(*sides) - {"type"} if any(map(_is_kind_of, sides)) else ()
    if isinstance(node, _ast.Attribute) and isinstance(node.value, _ast.Name):
        return {node.value.id} if not node.attr.startswith("__") and node.attr not in FUNCTION_NAMES else ()
    return ()


def _place(node):
    """Returns by what the tests reach what they have assigned to NODE."""
    if isinstance(node, _ast.Name):
        return "name", node.id
    return ("attribute", node.attr) if isinstance(node, _ast.Attribute) else None


def _assigned(node):
    """Yields (name, place) for each call of a name whose result NODE keeps."""
    if isinstance(node, _ast.Assign):
        yield from ((_called(node.value), _place(target)) for target in node.targets)
    elif isinstance(node, (_ast.AnnAssign, _ast.NamedExpr)):
        yield _called(node.value), _place(node.target)
    elif isinstance(node, _ast.withitem):
        yield _called(node.context_expr), _place(node.optional_vars)


def _made_as_objects(nodes):
    """Returns the names by calling which the tests make objects: of these they use what no plain value has."""
    made = {}
    for node in nodes:
        for name, place in _assigned(node):
            made.setdefault(place, set()).add(name)
    found = set()
    for node in nodes:
        if isinstance(node, _ast.Attribute) and not node.attr.startswith("__") and node.attr not in VALUE_NAMES:
            found.add(_called(node.value))
            place = _place(node.value)
            found.update(made.get(place, ()) if place else ())
    return found


def _candidates(nodes):
    """Returns the parameter names of `check(candidate)`."""
    checks = [node for node in nodes if isinstance(node, _ast.FunctionDef) and node.name == "check"]
    return {one.arg for node in checks for one in (*node.args.posonlyargs, *node.args.args)[:1]}


def used_as_classes(trees, entry_point):
    """Returns the names that the tests use as names of classes."""
    nodes = [node for tree in trees for node in suite.nodes(tree)]
    found = _made_as_objects(nodes).union(*map(_named_as_class, nodes))
    return found | {entry_point} if entry_point and found & _candidates(nodes) else found


def functions_of(prelude):
    """Returns what a prelude, a tree or None, defines as functions."""
    body = prelude.body if prelude else ()
    return {node.name for node in body if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef))}


def are_functions(names, trees, prelude, entry_point):
    """Returns which of NAMES stand for functions, whatever the code binds to them."""
    functions = names & functions_of(prelude)
    others = {name for name in names - functions if not is_class_name(name)}
    if others:
        functions |= others - used_as_classes([*trees, *([prelude] if prelude else [])], entry_point)
    return functions
