# SPDX-License-Identifier: MIT
"""Python's built-in functions and classes as tests use them that run in one process with the code. Both look names up in
the same two dictionaries, which the code can write to. So the tests' code has what these names stand for among its
constants; and what else the code changes in `builtins` is found out afterwards, since the library looks there, too.

A name that the tests replace themselves, or that a global name hides as they are compiled, stays a name."""

import _ast
import _warnings
import builtins
import sys

import suite

NOT_FIXED = ("super",)  # the compiler knows it by its name
# What a name means there is text, or the compiler wants a name.
LEFT_OUT = ("annotation", "returns", "pattern")
MARK = "\0built-in "
CODE = type((lambda: 0).__code__)
# The compiler takes a call of such a constant for a mistake, and to say so takes it longer than to compile it.
UNSAID = ("ignore", "'str' object is not callable; perhaps you missed a comma?", SyntaxWarning, None, 0)


def _is_replaced_by(text, name):
    """Returns whether tests say in TEXT that they replace a built-in name: `patch("builtins.open")`, `b.input = ...`."""
    if f'{name}"' in text or f"{name}'" in text:
        return True
    return "builtins" in text and any(form in text for form in (f".{name}", f"{name}=", f"{name} ="))


def quieten_compiler():
    sys.modules.get("warnings", _warnings).filters.insert(0, UNSAID)
    _warnings._filters_mutated()


class Builtins:
    """Of a process in which no code has run yet. TEXTS are those of the tests."""

    def __init__(self, texts):
        text = "\n".join(texts)
        self.there = vars(builtins)
        self.before = {name: value for name, value in self.there.items() if not _is_replaced_by(text, name)}
        self.before.pop("_", None)
        is_fixed = {name: callable(value) and not name.startswith("_") for name, value in self.before.items()}
        self.values = {MARK + name: self.before[name] for name in is_fixed if is_fixed[name] and name not in NOT_FIXED}

    def changed(self):
        """Returns the first name that does not stand for what it stood for, or "". Uses no built-in name itself."""
        for name, value in self.before.items():
            if self.there.get(name) is not value:
                return name
        return ""

    def compiler(self, namespace):
        """Returns a function that compiles texts that run in NAMESPACE."""

        def compiled(text, name):
            tree = suite.parse(text, name)
            bound = {*namespace, *suite.names_of(tree)[1]}
            self.fix(tree, bound)
            try:
                return self.with_values(compile(tree, name, "exec", dont_inherit=True, optimize=0))
            except SyntaxError:  # the tests have made errors of warnings: `type(x) is "..."`
                return suite.compile_plain(text, name)

        return compiled

    def fix(self, tree, bound):
        stack = [tree]
        while stack:
            node = stack.pop()
            bound.update(_bound_by_pattern(node))
            stack += [part for _, _, part in _parts(node)]
        stack = [tree]
        while stack:
            node = stack.pop()
            for field, place, part in _parts(node):
                if field in LEFT_OUT:
                    continue
                is_name = type(part) is _ast.Name and type(part.ctx) is _ast.Load and MARK + part.id in self.values
                if not is_name or part.id in bound or type(node) is _ast.Expr:  # that would be a docstring
                    stack.append(part)
                    continue
                made = _constant(part)
                if place is None:
                    setattr(node, field, made)
                else:
                    getattr(node, field)[place] = made

    def with_values(self, code):
        return code.replace(co_consts=tuple(map(self.value_of, code.co_consts)))

    def value_of(self, constant):
        kind = type(constant)
        if kind is str:
            return self.values.get(constant, constant)
        if kind in (tuple, frozenset):
            return kind(map(self.value_of, constant))
        return self.with_values(constant) if kind is CODE else constant


def _constant(name):
    places = {field: getattr(name, field) for field in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
    return _ast.Constant(MARK + name.id, **places)


def _parts(node):
    """Returns the nodes directly below NODE: field, place in a list or None, and node."""
    found = []
    for field, value in vars(node).items():
        if isinstance(value, _ast.AST):
            found.append((field, None, value))
        elif type(value) is list:
            found += [(field, place, part) for place, part in enumerate(value) if isinstance(part, _ast.AST)]
    return found


def _bound_by_pattern(node):
    if isinstance(node, (_ast.MatchAs, _ast.MatchStar)):
        return (node.name,)
    return (node.rest,) if isinstance(node, _ast.MatchMapping) else ()
