#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints how many lines of each room have run, according to the counts of a build with gcov.

    coverage_by_room.py BUILD

A line counts once, however many programs contain it. Leaves gcovr's output in BUILD/coverage.json."""

import collections
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("daemon", "client", "conf", "rubricdir", "proto")


def main():
    build = Path(sys.argv[1]).resolve()
    table = build / "coverage.json"
    filters = [word for folder in FOLDERS for word in ("--filter", f"{ROOT}/{folder}/")]
    subprocess.run(
        ["gcovr", "--gcov-ignore-parse-errors", "--root", ROOT, "--object-directory", build, *filters, "--json", table, build],
        cwd=build,
        check=True,
    )
    run, all_lines = collections.Counter(), collections.Counter()
    for file in json.loads(table.read_text())["files"]:
        room = str(Path(file["file"]).parent)
        for line in file["lines"]:
            if not line.get("gcovr/noncode"):
                all_lines[room] += 1
                run[room] += line["count"] > 0
    top = lambda room: room.split("/")[0]  # noqa: E731
    print(f"{'room':24} {'lines':>7} {'run':>7} {'%':>7}")
    for room in sorted(all_lines):
        print(f"{room:24} {all_lines[room]:7} {run[room]:7} {100 * run[room] / all_lines[room]:7.2f}")
    for folder in (*FOLDERS, ""):
        lines = sum(n for room, n in all_lines.items() if folder in ("", top(room)))
        done = sum(n for room, n in run.items() if folder in ("", top(room)))
        print(f"{(folder or 'all') + ', together':24} {lines:7} {done:7} {100 * done / lines:7.2f}")


if __name__ == "__main__":
    sys.exit(main())
