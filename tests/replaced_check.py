#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Finds names that a Python file of the tests binds twice by a definition: the second test, or helper, replaces the
first, which is then never run.

    replaced_check.py ROOT"""

import ast
import sys
from pathlib import Path

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def names_of(statement):
    if isinstance(statement, DEFINITIONS):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [name.asname or name.name for name in statement.names]
    return []


def is_property(statement):
    """Whether a definition adds to the one before it: `@value.setter`."""
    return any(isinstance(decorator, ast.Attribute) for decorator in getattr(statement, "decorator_list", []))


def replaced(body):
    """Yields each definition of a BODY, and of the classes in it, whose name is bound there already."""
    seen = set()
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield from replaced(statement.body)
        if isinstance(statement, DEFINITIONS) and statement.name in seen and not is_property(statement):
            yield statement
        seen.update(names_of(statement))


def check(root):
    """Returns the faults of all files below ROOT/tests, as text."""
    faults = []
    for file in sorted((root / "tests").rglob("*.py")):
        for found in replaced(ast.parse(file.read_text(), file).body):
            faults.append(f"{file.relative_to(root)}:{found.lineno}: {found.name} replaces one of the same name")
    return faults


if __name__ == "__main__":
    FAULTS = check(Path(sys.argv[1]))
    print("\n".join(FAULTS))
    sys.exit(1 if FAULTS else 0)
