# SPDX-License-Identifier: MIT
"""All nodes of a tree, found in one walk and kept by their class. Many rules look at a program, each of them at a few
classes of nodes, and most jobs are so short that the walks cost more than the rules."""

import _ast

import suite

FUNCTIONS = (_ast.FunctionDef, _ast.Lambda)
DEFINITIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)
ANNOTATIONS = frozenset(("annotation", "returns"))
LEAVES = frozenset((_ast.Constant, _ast.Name))


def _is_annotation(value):
    """Returns whether an expression that stands where annotations do is no more than that: it binds nothing."""
    return not any(isinstance(part, _ast.NamedExpr) for part in suite.nodes(value))


def _sort(stack, into, apart, leaves_out=None):
    """Puts the nodes of STACK, and all below them, into the lists of INTO; but onto the list APART, what is in
    annotations. LEAVES_OUT(node) tells the if statements outside of all functions of which only the else part counts."""
    fields_by_class, node_class = suite.FIELDS, _ast.AST
    while stack:
        one = stack.pop()
        node, _, _, around = one
        kind = type(node)
        if kind is _ast.If and leaves_out is not None and around is None and leaves_out(node):
            stack += [(part, node, "orelse", None) for part in node.orelse]
            continue
        into.setdefault(kind, []).append(one)
        inner = node if kind in FUNCTIONS else around
        names = vars(node)
        for field in fields_by_class.get(kind) or suite.fields_of(kind):
            value = names.get(field)
            if type(value) is not list:
                if not isinstance(value, node_class):
                    continue
                if field in ANNOTATIONS and _is_annotation(value):
                    apart.append((value, node, field, around))
                    continue
                value = (value,)
            for part in value:
                kind = type(part)
                if kind in LEAVES:  # most are: a turn of the loop more would do no more
                    into.setdefault(kind, []).append((part, node, field, inner))
                elif isinstance(part, node_class):
                    stack.append((part, node, field, inner))


class Outline:
    """The nodes of TREE, which is not to be changed. NODES has a list for each class of nodes, of (node, parent, field of
    the parent, innermost function or lambda around it, or None); ANNOTATIONS has the same for nodes within annotations.
    Without operators and contexts (Load), as suite.children()."""

    def __init__(self, tree, leaves_out=None):
        self.nodes, self.annotations, apart = {}, {}, []
        self._names = None
        _sort([(tree, None, "", None)], self.nodes, apart, leaves_out)
        _sort(apart, self.annotations, apart)

    def of(self, *kinds):
        """Returns the entries of nodes of these classes, those within annotations left out."""
        if len(kinds) == 1:
            return self.nodes.get(kinds[0], ())
        return [one for kind in kinds for one in self.nodes.get(kind, ())]

    def every(self, *kinds):
        """Returns the nodes of these classes, wherever they are."""
        return [one[0] for groups in (self.nodes, self.annotations) for kind in kinds for one in groups.get(kind, ())]

    def names(self):
        """Returns what suite.names_of() does: the names that are looked up and those that are bound, wherever that is."""
        if self._names is None:
            used, bound = set(), {node.arg for node in self.every(_ast.arg)}
            for node in self.every(_ast.Name):
                (used if isinstance(node.ctx, _ast.Load) else bound).add(node.id)
            bound.update(node.name for node in self.every(*DEFINITIONS))
            bound.update((node.asname or node.name).partition(".")[0] for node in self.every(_ast.alias))
            bound.update(node.name for node in self.every(_ast.ExceptHandler) if node.name)
            self._names = used, bound
        return self._names
