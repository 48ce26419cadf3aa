# SPDX-License-Identifier: MIT
"""Tells whether tests could ask anything of any code.

The daemon says of a pass that its tests have asked nothing of the code. That alone does not show that the tests are
broken: `assert sorted([2, 1]) == [1, 2]` asks a code that defines `sorted`, and a code that leaves it out must not
get rid of its score by that. So only such tests count here of which the text shows it: they use no name that they
have not bound themselves before, not even a built-in one. In doubt they could ask something."""

import ast
import symtable
from typing import Any, Iterator, List, Mapping, Set

from .results import Result

# The detail of the daemon's verdict. No code has a say in it: what ends in other words has another beginning.
DETAIL = "the tests ask nothing of the code"
# With these in it a text may find names that it does not mention.
_WAYS_ROUND = ("__", "f_globals", "f_locals", "f_builtins")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def is_broken(result: Result, job: Mapping[str, Any]) -> bool:
    """Whether the tests of JOB have asked nothing of the code, and would not have of any other."""
    details = [mode.detail for mode in result.failure_modes]
    if result.kind != "code_exec" or result.verdict != "error" or details != [DETAIL]:
        return False
    if any(name in job for name in ("prelude", "test_setup", "names")):
        return False
    texts = [*job.get("targets", ()), *filter(None, [job.get("test")])]
    try:
        return _use_own_names(texts, job.get("entry_point"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # another Python than the daemon's reads it here
        return False


def _use_own_names(texts: List[str], entry_point: Any) -> bool:
    """Whether TEXTS, which have run one after another without an exception, use names of their own alone."""
    bound: Set[str] = set()
    for text in texts:
        tree = ast.parse(text)
        if any(word in text for word in _WAYS_ROUND) or any(map(_may_undo, ast.walk(tree))):
            return False
        lines = text.splitlines()
        for statement in tree.body:
            decorators = getattr(statement, "decorator_list", [])
            begin = min(node.lineno for node in [statement, *decorators])
            source = "\n".join(lines[begin - 1 : statement.end_lineno])  # and what else is on these lines
            table = symtable.symtable(source, "<tests>", "exec")
            if not _looked_up(table, statement, bound):
                return False
            bound |= set(_binds(statement)) - {entry_point}
    return True


def _may_undo(node: ast.AST) -> bool:
    """Whether NODE may take a name away again, or run a file of the code's."""
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.Delete))


def _looked_up(table: symtable.SymbolTable, statement: ast.stmt, bound: Set[str]) -> bool:
    """Whether all that STATEMENT looks up outside its functions is BOUND."""
    own = {statement.name} if isinstance(statement, _DEFINITIONS) and not statement.decorator_list else set()
    if any(each.is_referenced() and each.get_name() not in bound for each in table.get_symbols()):
        return False
    for inner in _below(table):
        known = bound | own if inner.get_type() == "function" else bound
        for each in inner.get_symbols():
            outside = each.is_global() or inner.get_type() != "function"
            if outside and each.is_referenced() and each.get_name() not in known:
                return False
    return not _is_check(statement) or not _uses_arguments(table)


def _below(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for inner in table.get_children():
        yield inner
        yield from _below(inner)


def _is_check(statement: ast.stmt) -> bool:
    return isinstance(statement, _DEFINITIONS) and statement.name == "check"


def _uses_arguments(table: symtable.SymbolTable) -> bool:
    """Whether check(), the one function of TABLE that gets the code's, may look at it."""
    inner = list(_below(table))
    given = {each.get_name() for each in inner[0].get_symbols() if each.is_parameter()}
    return any(each.is_referenced() and each.get_name() in given for one in inner for each in one.get_symbols())


def _binds(statement: ast.stmt) -> Iterator[str]:
    """The names that STATEMENT binds in any case."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            yield from (part.id for part in parts if isinstance(part, ast.Name))
