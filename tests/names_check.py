#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the names that rubricctl finds in Python programs with what Python's own parser says, for each
module of the standard library.

    names_check.py DRIVER"""

import ast
import json
import re
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path

NAMES_MAX = 256
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def targets(node):
    """Yields the names that an assignment to NODE binds."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, (ast.Tuple, ast.List)):
        for part in node.elts:
            yield from targets(part)
    elif isinstance(node, ast.Starred):
        yield from targets(node.value)


def defined(statements):
    """Yields what STATEMENTS define at the level of their module, in order."""
    for node in statements:
        if isinstance(node, DEFINITIONS):
            yield node.name
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from targets(target)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from targets(node.target)
        elif isinstance(node, (*BLOCKS, ast.Match)):
            for part in (node.cases if isinstance(node, ast.Match) else [node]):
                yield from defined(part.body)
            for handler in getattr(node, "handlers", []):
                yield from defined(handler.body)
            yield from defined(getattr(node, "orelse", []))
            yield from defined(getattr(node, "finalbody", []))


def mentioned(tree):
    """Returns the names that TREE looks up or assigns, and those that may be counted, too; neither with what
    it defines or imports."""
    must, may, own = set(), {"match", "case", "_"}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            must.add(node.id)
        elif isinstance(node, ast.arg):
            may.add(node.arg)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            may.update(node.names)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            may.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            may.add(node.rest)
        elif isinstance(node, ast.MatchClass):
            may.update(node.kwd_attrs)
        elif isinstance(node, ast.JoinedStr):
            may.update(re.findall(r"\w+", ast.unparse(node)))
        elif isinstance(node, DEFINITIONS):
            own.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            own.update(alias.asname or alias.name for alias in node.names)
            own.update(alias.name.partition(".")[0] for alias in node.names)
            if not getattr(node, "level", 0):
                own.add((getattr(node, "module", None) or "").partition(".")[0])
    return must - own, (must | may) - own


class Driver:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def find(self, solution, test, prompt=""):
        line = json.dumps({"prompt": prompt, "solution": solution, "test": test}, ensure_ascii=False)
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline()) or []


def check_definitions(driver, text, tree):
    words = sorted(set(re.findall(r"\b[^\W\d]\w*", text)))
    found = driver.find(text, "\n".join(f"[{word}]" for word in words))
    expected = list(dict.fromkeys(defined(tree.body)))[:NAMES_MAX]
    assert found == expected, f"{set(found) ^ set(expected) or 'order'}"


def check_mentions(driver, text, tree):
    must, may = mentioned(tree)
    words = sorted(set(re.findall(r"\b[^\W\d]\w*", text)))
    words = [word for word in words if word.isidentifier()]
    found = set()
    for at in range(0, len(words), NAMES_MAX):
        names = words[at : at + NAMES_MAX]
        found.update(driver.find("".join(f"def {name}(): pass\n" for name in names), text))
    assert must <= found, f"overlooked: {must - found}"
    assert found <= may, f"imagined: {found - may}"


def modules():
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "dist-packages" in path.parts or "site-packages" in path.parts:
            continue
        try:
            text = path.read_text("utf-8")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield path, text, ast.parse(text)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue


def main():
    driver = Driver(sys.argv[1])
    checks = {"definitions": check_definitions, "mentions": check_mentions}
    wrong, n = dict.fromkeys(checks, 0), 0
    for path, text, tree in modules():
        n += 1
        for name, check in checks.items():
            try:
                check(driver, text, tree)
            except AssertionError as failure:
                wrong[name] += 1
                print(f"# {path}: {name}: {failure}")
    print(f"1..{len(checks)}")
    for number, name in enumerate(checks, 1):
        good = n > 100 and wrong[name] == 0
        print(f"{'ok' if good else 'not ok'} {number} - {name} of {n} modules, {wrong[name]} of them wrong")


if __name__ == "__main__":
    main()
