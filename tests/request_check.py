#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tables of valid and invalid messages from clients: JSON, and every field of every message except the job
fields that test_kind_sandbox.c and test_kind_code_exec.c test. A program that reads messages as the
daemon does answers each message; tests/integration/test_protocol.py sends some of them to a daemon.

    request_check.py DRIVER

DRIVER is the program built from request_driver.c. Prints TAP, one line for each case."""

import json
import struct
import subprocess
import sys
from pathlib import Path

from limit_table import CEILING_WORDS, LIMITS

ROOT = Path(__file__).resolve().parents[1]
JSON_CASES = ROOT / "tests" / "data" / "json"
JSON_SUITE = ROOT.parent / "shared" / "data" / "jsontestsuite" / "test_parsing"
NO_ID = 0xFFFFFFFF

# `sut` says that there is nothing to grade, so the daemon answers without a child.
SUT = {
    "kind": "rubric",
    "task_class": "none",
    "case": {},
    "harness_output": {},
    "sut": {"status": "exception"},
}
SUBMIT = {"type": "submit", "id": "a", "job": SUT}


# The fields of every message


ABSENT = object()


def changed(message, path, value):
    """Returns a copy of MESSAGE in which the field at the dotted PATH is VALUE, or left out."""
    first, _, rest = path.partition(".")
    copy = dict(message)
    if rest:
        copy[first] = changed(copy.get(first) or {}, rest, value)
    elif value is ABSENT:
        del copy[first]
    else:
        copy[first] = value
    return copy


def got(value):
    names = {
        dict: "an object",
        list: "an array",
        str: "a string",
        int: "a number",
        float: "a number",
        bool: "a boolean",
        type(None): "null",
    }
    return names[type(value)]


VALUES = [{}, [], "x", 1, 1.5, True, None]

# (path, type as messages name it, matching Python types, whether null means absent)
SUBMIT_FIELDS = [
    ("job", "an object", (dict,), False),
    ("job.kind", "a string", (str,), False),
    ("job.priority", "an integer", (int,), True),
    ("job.limits", "an object", (dict,), True),
    ("job.task_class", "a string", (str,), False),
    ("job.case", "an object", (dict,), False),
    ("job.harness_output", "an object", (dict,), False),
    ("job.bench_root", "a string", (str,), True),
    ("job.rubric_digest", "a string", (str,), True),
    ("job.sut", "an object", (dict,), True),
    ("job.sut.status", "a string", (str,), True),
    ("job.sut.detail", "a string", (str,), True),
]


def mistyped():
    for path, what, types, nullable in SUBMIT_FIELDS:
        for value in VALUES:
            if type(value) not in types and not (nullable and value is None):
                yield path, value, f"{path}: expected {what}, got {got(value)}"


DIGEST_RULE = "is not a digest (64 hexadecimal digits in lower case)"
TASK_CLASS_RULE = "is not a task class name ([A-Za-z0-9][A-Za-z0-9._-]*, at most 255 bytes)"
SECONDS = "job.case.rubric_wall_clock_seconds"
# The ceilings of the limits that are integers.
INTEGERS = {row["key"]: row["ceiling"] for row in LIMITS if row["unit"] != "seconds"}
BAD_SUBMITS = [
    *mistyped(),
    ("job", ABSENT, "job: missing"),
    ("job.kind", ABSENT, "job.kind: missing"),
    ("job.task_class", ABSENT, "job.task_class: missing"),
    ("job.case", ABSENT, "job.case: missing"),
    ("job.harness_output", ABSENT, "job.harness_output: missing"),
    ("x", 1, "x: unknown field"),
    ("", 1, "\"\": unknown field"),
    ("job_no", 1, "job_no: unknown field"),
    ("job.x", None, "job.x: unknown field"),
    ("job.target", {}, "job.target: unknown field"),
    ("job.Kind", "rubric", "job.Kind: unknown field"),
    ("job." + "k" * 64, 1, f"job.{'k' * 64}: unknown field"),
    ("job." + "k" * 65, 1, f"job.{'k' * 64}...: unknown field"),
    ("job." + "\u00e9" * 33, 1, f"job.{chr(0xE9) * 32}...: unknown field"),
    ("job.sut.x", 1, "job.sut.x: unknown field"),
    ("job.limits.x", 1, "job.limits.x: unknown field"),
    ("job.kind", "", 'job.kind: unknown kind ""'),
    ("job.kind", "sandboxed", 'job.kind: unknown kind "sandboxed"'),
    ("job.kind", "rubric\0", "job.kind: contains a NUL character"),
    ("job.kind", "k" * 90, f'job.kind: unknown kind "{"k" * 80}"'),
    ("job.kind", "\U0001f600" * 21, f'job.kind: unknown kind "{chr(0x1F600) * 20}"'),
    ("job.priority", 11, "job.priority: expected an integer from -10 to 10"),
    ("job.priority", -11, "job.priority: expected an integer from -10 to 10"),
    ("job.priority", 2**63 - 1, "job.priority: expected an integer from -10 to 10"),
    ("job.priority", 1.0, "job.priority: expected an integer, got a number"),
    ("job.task_class", "", f'job.task_class: "" {TASK_CLASS_RULE}'),
    ("job.task_class", "../x", f'job.task_class: "../x" {TASK_CLASS_RULE}'),
    ("job.task_class", "a/b", f'job.task_class: "a/b" {TASK_CLASS_RULE}'),
    ("job.task_class", "a\n", f'job.task_class: "a\n" {TASK_CLASS_RULE}'),
    ("job.task_class", "a\0", "job.task_class: contains a NUL character"),
    ("job.task_class", "a" * 256, f'job.task_class: "{"a" * 80}" {TASK_CLASS_RULE}'),
    ("job.bench_root", "", 'job.bench_root: "" is not an absolute path'),
    ("job.bench_root", "bench", 'job.bench_root: "bench" is not an absolute path'),
    ("job.bench_root", "/a\0", "job.bench_root: contains a NUL character"),
    ("job.bench_root", "/" + "a" * 4095, "job.bench_root: longer than 4095 bytes"),
    ("job.rubric_digest", "", f'job.rubric_digest: "" {DIGEST_RULE}'),
    ("job.rubric_digest", "A" * 64, f'job.rubric_digest: "{"A" * 64}" {DIGEST_RULE}'),
    ("job.rubric_digest", "0" * 63, f'job.rubric_digest: "{"0" * 63}" {DIGEST_RULE}'),
    ("job.rubric_digest", "0" * 65, f'job.rubric_digest: "{"0" * 65}" {DIGEST_RULE}'),
    ("job.sut.status", "", "job.sut.status: expected ok, exception or timeout"),
    ("job.sut.status", "failed", "job.sut.status: expected ok, exception or timeout"),
    ("job.sut.status", "ok\0", "job.sut.status: contains a NUL character"),
    (SECONDS, -1, f"{SECONDS}: negative"),
    (SECONDS, -0.001, f"{SECONDS}: negative"),
    (SECONDS, 301, f"{SECONDS}: above the ceiling of 300 s"),
    (SECONDS, 300.0001, f"{SECONDS}: above the ceiling of 300 s"),
    (SECONDS, 1e308, f"{SECONDS}: above the ceiling of 300 s"),
    (SECONDS, "60", f"{SECONDS}: expected a number of seconds, got a string"),
    (SECONDS, True, f"{SECONDS}: expected a number of seconds, got a boolean"),
    (SECONDS, [], f"{SECONDS}: expected a number of seconds, got an array"),
    ("job.limits.wall_clock", 1, f"job.limits.wall_clock: a rubric's is set by {SECONDS}"),
    ("job.limits.cpu", 0, "job.limits.cpu: expected a number of seconds above 0"),
    ("job.limits.cpu", -1, "job.limits.cpu: expected a number of seconds above 0"),
    ("job.limits.cpu", None, "job.limits.cpu: expected a number of seconds above 0"),
    ("job.limits.cpu", "1", "job.limits.cpu: expected a number of seconds above 0"),
    ("job.limits.cpu", 300.5, "job.limits.cpu: above the ceiling of 300 s"),
    *(
        (f"job.limits.{key}", value, f"job.limits.{key}: expected an integer above 0")
        for key in INTEGERS
        for value in (0, -1, 1.0, "1", None, True, [])
    ),
    *(
        (f"job.limits.{key}", ceiling + 1, f"job.limits.{key}: above the ceiling of {CEILING_WORDS[key]}")
        for key, ceiling in INTEGERS.items()
    ),
    ("job.limits.disk_bytes", 2**63 - 1, "job.limits.disk_bytes: above the ceiling of 1 GiB"),
]


GOOD_SUBMITS = [
    *((path, None) for path, _, _, nullable in SUBMIT_FIELDS if nullable and "sut" not in path),
    ("job.priority", -10),
    ("job.priority", 10),
    ("job.limits", {}),
    ("job.sut.detail", None),
    ("job.bench_root", "/" + "a" * 4094),
    ("job.rubric_digest", "0123456789abcdef" * 4),
    ("job.task_class", "a" * 255),
    ("job.task_class", "0.._-"),
    (SECONDS, None),
    (SECONDS, 0),
    (SECONDS, 0.0),
    (SECONDS, 300),
    (SECONDS, 0.001),
    ("job.limits.cpu", 300),
    *((f"job.limits.{key}", ceiling) for key, ceiling in INTEGERS.items()),
]


TYPES = [
    *((value, f"type: expected a string, got {got(value)}") for value in VALUES if value != "x"),
    ("", 'type: unknown message type ""'),
    ("x", 'type: unknown message type "x"'),
    ("Ping", 'type: unknown message type "Ping"'),
    ("ping ", 'type: unknown message type "ping "'),
    ("ping\0", "type: contains a NUL character"),
    ("hello", 'type: unknown message type "hello"'),
    ("result", 'type: unknown message type "result"'),
    ("t" * 100, f'type: unknown message type "{"t" * 80}"'),
    ("\u00e9" * 50, f'type: unknown message type "{chr(0xE9) * 40}"'),
]


OTHER_MESSAGES = [
    *(
        ({"type": type, field: value}, (field or '""') + ": unknown field")
        for type in ("ping", "status", "drain")
        for field, value in (("x", 1), ("job", SUT), ("", None), ("types", type))
    ),
    ({"type": "cancel"}, "cancel: expected either id or job_no"),
    ({"type": "cancel", "job_no": 0}, "job_no: expected an integer above 0"),
    ({"type": "cancel", "job_no": -1}, "job_no: expected an integer above 0"),
    ({"type": "cancel", "job": 1}, "job: unknown field"),
    *(
        ({"type": "cancel", "job_no": value}, f"job_no: expected an integer, got {got(value)}")
        for value in ({}, [], "1", 1.0, True, None)
    ),
    *(
        ({"type": "cancel", "id": value}, f"id: expected a string, got {got(value)}")
        for value in ({}, [], 1, 1.5, True, None)
    ),
    ({"type": "cancel", "id": ""}, "id: expected 1 to 128 bytes, got 0"),
    ({"type": "cancel", "id": "x" * 129}, "id: expected 1 to 128 bytes, got 129"),
]



def expected_of(case):
    """Returns the error's text of a file in tests/data/json."""
    return case.with_suffix(".expected").read_bytes().decode().removesuffix("\n")


# The daemon refuses duplicate keys, and the JSON library cannot represent a key with NUL.
SUITE_EXCEPTIONS = {
    "y_object_duplicated_key": "duplicate object key",
    "y_object_duplicated_key_and_value": "duplicate object key",
    "y_object_escaped_null_in_key": "NUL byte in object key not supported",
}



def good_json(payload):
    """Returns the answer to valid JSON: an object without its type, or a value that is no object."""
    value = json.loads(payload.decode("utf-8", "surrogateescape"))
    return "type: missing" if isinstance(value, dict) else f"expected an object, got {got(value)}"


def judge_of_suite(case, message):
    """Returns whether the error's text is right for CASE, a file of the JSON test suite. The first letter of its
    name says what the suite expects."""
    if case.stem in SUITE_EXCEPTIONS:
        return message.startswith("JSON: ") and SUITE_EXCEPTIONS[case.stem] in message
    is_json = not message.startswith("JSON: ")
    if case.name[0] == "y" or (case.name[0] == "i" and is_json):
        return message == good_json(case.read_bytes())
    return not is_json


# The command


def run_driver(driver, payloads):
    """Runs DRIVER on PAYLOADS; returns (what becomes of it, id, text) for each."""
    sent = b"".join(struct.pack(">I", len(payload)) + payload for payload in payloads)
    out = subprocess.run([driver], input=sent, stdout=subprocess.PIPE, check=True).stdout
    names = {"+": "accepted", "-": "refused"}
    results, at = [], 0

    def take():
        nonlocal at
        (length,) = struct.unpack_from(">I", out, at)
        at += 4
        if length == NO_ID:
            return None
        at += length
        # An error's text may end inside a character; the daemon repairs that when it builds the reply.
        return out[at - length : at].decode(errors="replace")

    while at < len(out):
        at += 1
        results.append((names[chr(out[at - 1])], take(), take()))
    assert len(results) == len(payloads), f"{len(results)} results of {len(payloads)} payloads"
    return results


def messages():
    """Yields (what, message, its id in the answer, the error's text or None) of each case."""
    for n, (path, value, text) in enumerate(BAD_SUBMITS):
        yield f"submit {n} {path[:24]}", changed(SUBMIT, path, value), "a", text
    for path, value in GOOD_SUBMITS:
        yield f"submit with {path} {str(value)[:40]}", changed(SUBMIT, path, value), "a", None
    yield "submit without an id", changed(SUBMIT, "id", ABSENT), None, "id: missing"
    yield "nothing but submit", {"type": "submit"}, None, "id: missing"
    yield "nothing", {}, None, "type: missing"
    for value in VALUES:
        if not isinstance(value, str):
            text = f"id: expected a string, got {got(value)}"
            yield f"submit with the id {value}", changed(SUBMIT, "id", value), None, text
    for n, (value, text) in enumerate(TYPES):
        yield f"type {n}", {"type": value}, None, text
        yield f"type {n} of a job", {"type": value, "id": "a", "job": SUT}, "a", text
    for n, (message, text) in enumerate(OTHER_MESSAGES):
        yield f"other message {n}", message, None, text
    for type in ("ping", "status", "drain"):
        yield f"{type} with an id", {"type": type, "id": "a"}, "a", "id: unknown field"
    both = {"type": "cancel", "id": "a", "job_no": 1}
    yield "cancel by id and number", both, "a", "cancel: expected either id or job_no"


def check_messages(driver):
    cases = list(messages())
    results = run_driver(driver, [json.dumps(message).encode() for _, message, _, _ in cases])
    for (what, _, id, text), result in zip(cases, results):
        expected = ("accepted", id, "") if text is None else ("refused", id, text)
        yield what, result == expected, f"got {result}, expected {expected}"


def check_json(driver):
    files = [*sorted(JSON_CASES.glob("*.json"))]
    yield "the selection of JSON is there", len(files) >= 100, f"{len(files)} files"
    for file, result in zip(files, run_driver(driver, [f.read_bytes() for f in files])):
        expected = ("refused", None, expected_of(file))
        yield f"JSON {file.stem}", result == expected, f"got {result}, expected {expected}"


def check_suite(driver):
    """Leaves out the empty file: a frame without payload fails before its JSON, in test_protocol.py."""
    files = [file for file in sorted(JSON_SUITE.glob("*.json")) if file.stat().st_size > 0]
    for file, (_, _, text) in zip(files, run_driver(driver, [f.read_bytes() for f in files])):
        yield f"suite {file.stem}", judge_of_suite(file, text), f"got {text}"


def main():
    driver = sys.argv[1]
    checks = [*check_messages(driver), *check_json(driver), *check_suite(driver)]
    skipped = [] if JSON_SUITE.is_dir() else [f"the JSON test suite # SKIP {JSON_SUITE} is not here"]
    print(f"1..{len(checks) + len(skipped)}")
    for number, (name, good, why) in enumerate(checks, 1):
        name = name.encode("ascii", "backslashreplace").decode().replace("#", "\\x23")
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        if not good:
            print("\n".join(f"# {line}" for line in ascii(why).splitlines()))
    for number, name in enumerate(skipped, len(checks) + 1):
        print(f"ok {number} - {name}")
    return 0 if all(good for _, good, _ in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
