#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Validates protocol messages against the JSON Schemas in proto/schema/.

As a module: validate(message, direction) raises SchemaError with a readable text.
As a command: checks the schemas themselves, every example in proto/protocol.md, and that a list of
broken messages is refused; prints TAP, one line a check."""

import copy
import json
import re
import sys
from functools import lru_cache
from pathlib import Path

import jsonschema

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "proto" / "schema"
PAGE = ROOT / "proto" / "protocol.md"

BY_TYPE = {
    "client": {
        "submit": "submit",
        "cancel": "cancel",
        "status": "status-request",
        "ping": "ping",
        "drain": "drain",
    },
    "daemon": {
        name: name for name in ("hello", "started", "result", "error", "status", "pong", "bye")
    },
}


class SchemaError(AssertionError):
    """A message does not match its schema."""


@lru_cache(maxsize=None)
def store():
    """All schemas by their $id; nothing is ever fetched."""
    return {
        schema["$id"]: schema
        for schema in (json.loads(file.read_text()) for file in sorted(SCHEMAS.glob("*.json")))
    }


@lru_cache(maxsize=None)
def validator(name):
    schema = store()[f"{name}.schema.json"]
    resolver = jsonschema.RefResolver(schema["$id"], schema, store=store())
    return jsonschema.Draft202012Validator(schema, resolver=resolver)


def validate(message, direction):
    """DIRECTION is who sends it: "client" or "daemon"."""
    types = BY_TYPE[direction]
    name = types.get(message.get("type")) if isinstance(message, dict) else None
    if name is None:
        raise SchemaError(f"no {direction} message has the type of {str(message)[:200]}")
    error = jsonschema.exceptions.best_match(validator(name).iter_errors(message))
    if error is not None:
        path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
        raise SchemaError(f"{name}{path}: {error.message[:300]}")


def is_valid(message, direction):
    try:
        validate(message, direction)
    except SchemaError:
        return False
    return True


# --- the command -------------------------------------------------------------------------------


def page_examples():
    """(line, direction, message) of each JSON example on the protocol page. A message's type tells
    its direction, but for `status`, which both sides send."""
    text = PAGE.read_text()
    for block in re.finditer(r"^```json\n(.*?)^```", text, re.M | re.S):
        line = text.count("\n", 0, block.start()) + 1
        message = json.loads(block.group(1))
        client = message["type"] in BY_TYPE["client"] and not (
            message["type"] == "status" and len(message) > 1
        )
        yield line, "client" if client else "daemon", message


def mutations(message):
    """(what, broken copy): each field left out, or of a wrong type, or joined by an unknown one,
    at every depth of MESSAGE."""

    def walk(path, value):
        if isinstance(value, dict):
            yield path, value
            for key, item in value.items():
                yield from walk(path + [key], item)

    for path, holder in walk([], message):
        for key in holder:
            for what, wrong in (("array", [[]]), ("nested", {"x": {}})):
                broken = copy.deepcopy(message)
                at = broken
                for step in path:
                    at = at[step]
                at[key] = wrong
                yield f"{'.'.join(path + [key])} as {what}", broken


BASE_RESULT = {
    "type": "result",
    "id": "a",
    "job_no": 1,
    "kind": "rubric",
    "score": {
        "passed": True,
        "score": 1,
        "breakdown": {"exact": 1},
        "failure_modes": [{"code": "x", "severity": "warn", "detail": "d"}],
        "cost_usd": 0,
        "wall_clock_ms": 1,
    },
    "outcome": {
        "success": True,
        "exit_code": 0,
        "signal": None,
        "limit_exceeded": None,
        "stderr": "",
        "summary": "ok",
    },
    "usage": {
        "wall_clock_ms": 1,
        "cpu_ms": 1,
        "cpu_wait_ms": None,
        "max_rss_bytes": 1,
        "queue_ms": 0,
    },
    "isolation": {"class": "subprocess", "layers": ["env"], "digest": "0" * 64},
}

# What mutations() may write without making a message wrong: the fields that are the user's own.
FREE_FORM = re.compile(r"job\.(case|harness_output)(\.(?!rubric_wall).* as .*| as nested)$")

# (dotted path, value) that make BASE_RESULT wrong; DELETE leaves the field out.
DELETE = object()
WRONG = [
    ("id", ""),
    ("id", "x" * 129),
    ("id", 1),
    ("job_no", 0),
    ("job_no", "1"),
    ("kind", "other"),
    ("extra", 1),
    ("score.passed", 1),
    ("score.passed", "yes"),
    ("score.score", 1.01),
    ("score.score", -0.1),
    ("score.score", "1"),
    ("score.breakdown", []),
    ("score.breakdown.exact", None),
    ("score.breakdown.exact", "1"),
    ("score.failure_modes", {}),
    ("score.failure_modes.0.severity", "high"),
    ("score.failure_modes.0.code", DELETE),
    ("score.failure_modes.0.detail", None),
    ("score.failure_modes.0.extra", 1),
    ("score.cost_usd", -1),
    ("score.wall_clock_ms", 0),
    ("score.wall_clock_ms", 1.5),
    ("score.wall_clock_ms", DELETE),
    ("score.extra", 1),
    ("outcome.success", None),
    ("outcome.exit_code", -1),
    ("outcome.exit_code", 256),
    ("outcome.signal", 0),
    ("outcome.limit_exceeded", "time"),
    ("outcome.limit_exceeded", DELETE),
    ("outcome.stderr", None),
    ("outcome.summary", DELETE),
    ("usage.wall_clock_ms", 0),
    ("usage.cpu_ms", -1),
    ("usage.cpu_wait_ms", "0"),
    ("usage.queue_ms", 0.5),
    ("usage.max_rss_bytes", DELETE),
    ("isolation.class", "container"),
    ("isolation.digest", "0" * 63),
    ("isolation.digest", "G" * 64),
    ("isolation.layers", ["env", "env"]),
    ("isolation.layers", "env"),
]


def with_value(message, path, value):
    broken = copy.deepcopy(message)
    at = broken
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        at = at[step]
    if value is DELETE:
        del at[last]
    else:
        at[last] = value
    return broken


def checks():
    """(what, whether it holds) of everything that is checked."""
    for name, schema in store().items():
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
            good = schema["$schema"].endswith("2020-12/schema")
        except jsonschema.SchemaError:
            good = False
        yield f"{name} is a schema of draft 2020-12", good
    seen = set()
    for line, direction, message in page_examples():
        seen.add((direction, message["type"]))
        yield f"protocol.md:{line} is a valid {message['type']}", is_valid(message, direction)
        for what, broken in mutations(message):
            if FREE_FORM.match(what):
                continue
            yield f"protocol.md:{line} with {what} is refused", not is_valid(broken, direction)
    for direction, types in BY_TYPE.items():
        for type_ in types:
            yield f"protocol.md has an example of {direction} {type_}", (direction, type_) in seen
    yield "the base result is valid", is_valid(BASE_RESULT, "daemon")
    for path, value in WRONG:
        shown = "left out" if value is DELETE else f"= {value!r:.40}"
        broken = with_value(BASE_RESULT, path, value)
        yield f"a result with {path} {shown} is refused", not is_valid(broken, "daemon")


def main():
    failed = count = 0
    for what, good in checks():
        count += 1
        failed += not good
        print(f"{'ok' if good else 'not ok'} {count} - {what.replace('#', 'no.')}")
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
