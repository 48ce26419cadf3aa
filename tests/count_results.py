#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Adds up JUnit XML files, shows what tests measured, and lists skipped tests, then failed ones.

    count_results.py FILE...

A FILE that ends in .json is meson's log (testlog.json) of the same tests: a test program that comes to its time limit,
or ends with a status of its own behind its last case, has no failed case in meson's XML, and is one failure.
Failed tests come last, so that the end of a log shows them, however many were skipped. The last line is
`N passed, N failed, N skipped`. Ends with 1 if a test failed, or none was run."""

import json
import sys
import xml.etree.ElementTree as ElementTree

# How much of a test's reason is shown, in characters.
LENGTHS = {"passed": 0, "failed": 1000, "skipped": 200}


def outcomes(path):
    """Yields (outcome, name, reason) of each test case in the file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname') or ''} {case.get('name')}".strip()
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        skipped = case.find("skipped")
        if failure is not None:
            yield "failed", name, failure.get("message") or ""
        elif skipped is not None:
            # meson writes the reason next to the element, not into it.
            yield "skipped", name, skipped.get("message") or case.findtext("system-out") or ""
        else:
            yield "passed", name, ""


def ended_badly(path, failed):
    """Yields (name, reason) of each test program in meson's log that did not end well, though the lines FAILED have no
    case of it."""
    with open(path) as log:
        for test in map(json.loads, log):
            is_told = any(f"{test['name']} " in line for line in failed)
            if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and not is_told:
                yield test["name"], f"{test['result']}, status {test.get('returncode')}"


def measured(path):
    """Yields (name, property, value) of each property that a test case in the file recorded."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        for item in case.iter("property"):
            yield case.get("name"), item.get("name"), item.get("value")


def main():
    lines = {"passed": [], "failed": [], "skipped": []}
    logs = [path for path in sys.argv[1:] if path.endswith(".json")]
    for path in sys.argv[1:]:
        if path in logs:
            continue
        for name, item, value in measured(path):
            print(f"measured: {name}: {item}: {value}")
        for outcome, name, reason in outcomes(path):
            lines[outcome].append(f"{outcome}: {name}: {' '.join(reason.split())[: LENGTHS[outcome]]}")
    for path in logs:
        lines["failed"] += [f"failed: {name}: {reason}" for name, reason in ended_badly(path, lines["failed"])]
    for line in lines["skipped"] + lines["failed"]:
        print(line)
    counts = {outcome: len(some) for outcome, some in lines.items()}
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
