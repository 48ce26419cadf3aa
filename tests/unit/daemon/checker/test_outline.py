# SPDX-License-Identifier: MIT
"""An outline has exactly the nodes of a tree, and tells the same of its names (daemon/checker/outline.py). Programs are
those of the checker, of Python's library, and some that have what these lack."""

import ast
import sysconfig
from pathlib import Path

import jobs  # noqa: F401  finds the modules
import program
import pytest
import suite
from outline import FUNCTIONS, Outline

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
CHECKER = Path(suite.__file__).parent
FILES = [LIBRARY / f"{name}.py" for name in ("ast", "dataclasses", "inspect", "statistics", "typing")] + sorted(CHECKER.glob("*.py"))
ODD = """
@one(lambda x, *y, z=2, **w: x)
def f(a: "b" = c, *d: (e := 1), g: int = lambda: h) -> list[i]:
    x: (j := 3) = 4
    global k
    k, *l = m
    async def n(o=p): return [q async for r, s in t if u for v in await w]
    try: del y[z]
    except (A, B) as C: raise D from E
    match F:
        case {"a": G, **H} | I.J(K, L=M) | [N, *O]: pass
class P(Q, metaclass=R):
    __s: T = 5
    def u(self): return super().v
if __name__ == "__main__":
    W = X
else:
    Y = Z
import a.b, c.d as e
from ..f import g as h, i
from j import *
"""


def without_operators(node):
    return not isinstance(node, (ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.expr_context))


def around(tree):
    """Returns the innermost function or lambda around each node."""
    found, stack = {}, [(tree, None)]
    while stack:
        node, function = stack.pop()
        found[node] = function
        inner = node if isinstance(node, FUNCTIONS) else function
        stack += [(part, inner) for part in ast.iter_child_nodes(node)]
    return found


@pytest.mark.parametrize("text", [ODD, *(path.read_text() for path in FILES)], ids=["odd", *(path.name for path in FILES)])
def test_has_every_node_once(text):
    tree = suite.parse(text, "<text>")
    outline = Outline(tree)
    entries = [one for groups in (outline.nodes, outline.annotations) for group in groups.values() for one in group]
    assert len(entries) == len({one[0] for one in entries})
    assert {one[0] for one in entries} == set(filter(without_operators, ast.walk(tree)))
    assert all(type(one[0]) is kind for kind, group in outline.nodes.items() for one in group)
    functions = around(tree)
    for group in outline.nodes.values():
        for node, parent, field, function in group:
            assert function is functions[node]
            value = getattr(parent, field) if parent else node
            assert value is node or any(part is node for part in value)
    assert outline.names() == suite.names_of(tree)


def test_annotations_are_apart_unless_they_bind():
    outline = Outline(suite.parse("def f(a: b, c: (d := 1)) -> e: g: h = i", "<text>"))
    assert {node.id for node, *_ in outline.of(ast.Name)} == {"d", "g", "i"}
    assert {node.id for node in outline.every(ast.Name)} == {"b", "d", "e", "g", "h", "i"}


def test_leaves_out_guards_outside_of_functions():
    text = "if here:\n    a\nelse:\n    b\ndef f():\n    if here: c\nfor x in y:\n    if here: d\n"
    outline = Outline(suite.parse(text, "<text>"), lambda node: node.test.id == "here")
    assert {node.id for node, *_ in outline.of(ast.Name)} == {"b", "here", "c", "x", "y"}


def test_is_made_once_and_goes_with_the_tree():
    program.forget()
    tree = program.parse("a = 1")
    assert program.outline(tree) is program.outline(tree)
    assert program.take("a = 1") is tree and not program._outlines


def test_bindings_are_the_same_with_a_tree():
    """A tree only tells whether there is a statement `global`."""
    for text in [ODD, *(path.read_text() for path in FILES)]:
        tree = program.parse(text)
        shown = [[(how, [part if type(part) is str else id(part) for part in parts]) for how, *parts in ways]
                 for ways in map(dict.values, (program.bindings(tree.body)[0], program.bindings(tree.body, tree)[0]))
                 for ways in ways]  # fmt: skip
        half = len(shown) // 2
        assert shown[:half] == shown[half:] and program.bindings(tree.body, tree)[1] == program.bindings(tree.body)[1]
