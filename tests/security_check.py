#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that SECURITY.md names tests that exist. Prints TAP, one line for each row of its tables.

    security_check.py [ROOT]

A table whose last column is `held by` makes claims: each row names at least one test there. One whose last
column is `shown by` lists what is open: an attack that it names is open in the manifest, too, and each attack
that is open there is named. A test is `tests/FILE::FUNCTION`, or the name of an attack in
tests/hostile/manifest.toml."""

import re
import sys
import tomllib
from pathlib import Path

CLAIMS, OPEN = "held by", "shown by"


def rows(page):
    """Yields (heading of the last column, line number, cells) of each row of a table."""
    heading = None
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("|"):
            heading = None
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if heading is None:
            heading = cells[-1]
        elif not set(line) <= set("|-: "):
            yield heading, number, cells


def defines(path, function):
    """Returns whether the test file PATH defines FUNCTION and, if it is of C, runs it."""
    text = path.read_text()
    if path.suffix == ".py":
        return re.search(rf"^(?:async )?def {re.escape(function)}\(", text, re.M) is not None
    defined = re.search(rf"^static (?:void|int) {re.escape(function)}\(", text, re.M)
    return defined is not None and len(re.findall(rf"\b{re.escape(function)}\b", text)) > 1


def fault_of(name, root, attacks):
    """Says what is wrong with the test NAME; None if nothing is."""
    path, found, function = name.partition("::")
    if not found:
        return None if name in attacks else f"there is no attack {name}"
    if not path.startswith("tests/") or not (root / path).is_file():
        return f"there is no file {path}"
    return None if defines(root / path, function) else f"{path} has no {function}"


def check(root):
    """Yields (row, what is wrong with it or None)."""
    attacks = tomllib.loads((root / "tests/hostile/manifest.toml").read_text())
    still_open = {name for name, fields in attacks.items() if "open" in fields}
    named, claims = set(), 0
    for heading, number, cells in rows((root / "SECURITY.md").read_text()):
        if heading not in (CLAIMS, OPEN):
            continue
        names = re.findall(r"`([^`]+)`", cells[-1])
        faults = [fault for fault in (fault_of(name, root, attacks) for name in names) if fault]
        if heading == CLAIMS:
            claims += 1
            faults += [f"{name} is open" for name in names if name in still_open]
            faults += [] if names else ["no test is named"]
        else:
            named |= set(names)
            faults += [f"{name} is not open" for name in names if name not in still_open]
        yield f"line {number}: {cells[0][:60]}", "; ".join(faults) or None
    forgotten = sorted(still_open - named)
    yield "each open attack is named", f"not named: {', '.join(forgotten)}" if forgotten else None
    yield "there are claims", None if claims else "no table ends with the column `held by`"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    results = list(check(root))
    print(f"1..{len(results)}")
    for i, (row, fault) in enumerate(results, 1):
        print(f"{'not ok' if fault else 'ok'} {i} - {row}" + (f": {fault}" if fault else ""))
    return 1 if any(fault for _, fault in results) else 0


if __name__ == "__main__":
    sys.exit(main())
