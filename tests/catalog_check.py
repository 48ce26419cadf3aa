#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks the journal's message catalogue against the daemon: every MESSAGE_ID in the code has an entry with
text and every entry an id in the code, the daemon writes the fields that an entry names, and systemd accepts
the catalogue.

    catalog_check.py MESSAGES_C RECORD_C CATALOG

Prints TAP."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ENTRY = re.compile(r"^-- ([0-9a-f]{32})\n(.*?)(?=^-- |\Z)", re.MULTILINE | re.DOTALL)
CODE_ID = re.compile(r'\{"([0-9a-f]{32})", "(\w+)"\}')
CODE_FIELD = re.compile(r'^\s+\[RECORD_\w+\] = \{\.name = "(\w+)"', re.MULTILINE)


def read_catalog(text):
    """Returns {id: (headers, text)} of the catalogue, and a fault for each id with two entries."""
    entries, wrong = {}, []
    for id, body in ENTRY.findall(text):
        if id in entries:
            wrong.append(f"{id} has two entries")
        head, _, rest = body.partition("\n\n")
        entries[id] = (dict(line.split(": ", 1) for line in head.splitlines() if line), rest.strip())
    return entries, wrong


def check(messages, record, catalog):
    """Returns all faults as lines, and the number of ids compared."""
    named = CODE_ID.findall(messages)
    fields = {"RUBRIC_" + name.upper() for name in CODE_FIELD.findall(record)}
    entries, wrong = read_catalog(catalog)
    ids = [id for id, _ in named]
    wrong += [f"{id} stands twice in the code" for id in set(ids) if ids.count(id) > 1]
    wrong += [f"{name} ({id}) has no entry in the catalogue" for id, name in named if id not in entries]
    wrong += [f"{id} is an entry of no message" for id in entries if id not in ids]
    for id, (head, text) in entries.items():
        for header in "Subject", "Defined-By":
            if not head.get(header):
                wrong.append(f"{id} has no {header}")
        if len(text) < 60:
            wrong.append(f"{id} explains nothing")
        for field in re.findall(r"@(\w+)@", head.get("Subject", "") + text):
            if field not in fields:
                wrong.append(f"{id} names {field}, which is no field")
    if not fields:
        wrong.append("no field was found in the code")
    return wrong, len(ids)


def compile_catalog(path):
    """Returns journalctl's complaints about the catalogue, or None without journalctl."""
    if not shutil.which("journalctl"):
        return None
    with tempfile.TemporaryDirectory() as root:
        place = Path(root, "usr/lib/systemd/catalog")
        place.mkdir(parents=True)
        Path(root, "var/lib/systemd/catalog").mkdir(parents=True)
        shutil.copy(path, place / "rubricd.catalog")
        done = subprocess.run(
            ["journalctl", "--update-catalog", f"--root={root}"],
            capture_output=True,
            text=True,
            check=False,
        )
        listed = subprocess.run(
            ["journalctl", "--list-catalog", f"--root={root}"],
            capture_output=True,
            text=True,
            check=False,
        )
    return done.stdout + done.stderr, done.returncode or listed.returncode, listed.stdout


def main():
    messages, record, catalog = (Path(name).read_text() for name in sys.argv[1:4])
    wrong, count = check(messages, record, catalog)
    print("1..2")
    for line in wrong:
        print(f"# {line}")
    print(f"{'not ok' if wrong or count == 0 else 'ok'} 1 - {count} ids have their entry")
    compiled = compile_catalog(sys.argv[3])
    if compiled is None:
        print("ok 2 - systemd takes the catalogue # SKIP there is no journalctl")
        return
    said, status, listed = compiled
    good = status == 0 and said == "" and listed.count("\n") == count
    if not good:
        print(f"# status {status}, {listed.count(chr(10))} entries: {said}")
    print(f"{'ok' if good else 'not ok'} 2 - systemd takes the catalogue")


if __name__ == "__main__":
    main()
