#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Validates protocol messages against the JSON Schemas in proto/schema/.

As a module: validate(message, direction) raises SchemaError with a readable text.
As a command: checks the schemas themselves and every example in proto/protocol.md, checks that the
schemas refuse a list of broken messages, that schemas and page have every limit of limit_table.py, and that
each kind of job has all that CONTRIBUTING.md says it consists of.
Prints TAP, one line for each check."""

import copy
import json
import keyword
import math
import re
import sys
from functools import lru_cache
from pathlib import Path

import jsonschema

from limit_table import LIMITS

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "proto" / "schema"
PAGE = ROOT / "proto" / "protocol.md"

BY_TYPE = {
    "client": {
        "submit": "submit",
        "cancel": "cancel",
        "status": "status-request",
        "metrics": "metrics-request",
        "ping": "ping",
        "drain": "drain",
        "reload": "reload",
        "put": "put",
        "session_open": "session-open",
        "session_close": "session-close",
        "input": "input",
        "resize": "resize",
    },
    "daemon": {
        name: name.replace("_", "-")
        for name in (
            "hello",
            "started",
            "result",
            "error",
            "status",
            "metrics",
            "pong",
            "reloaded",
            "stored",
            "session_opened",
            "session_closed",
            "output",
            "input_taken",
            "bye",
        )
    },
}


class SchemaError(AssertionError):
    """A message does not match its schema."""


@lru_cache(maxsize=None)
def store():
    """Returns all schemas by their $id; nothing is fetched from the network."""
    return {
        schema["$id"]: schema
        for schema in (json.loads(file.read_text()) for file in sorted(SCHEMAS.glob("*.json")))
    }


def references(schema):
    """Yields each file that SCHEMA refers to."""
    if isinstance(schema, dict):
        yield from (ref.partition("#")[0] for ref in [schema.get("$ref")] if isinstance(ref, str) and ref[0] != "#")
        schema = list(schema.values())
    for part in schema if isinstance(schema, list) else ():
        yield from references(part)


def missing():
    """Returns the names of the schemas that messages or other schemas need and that are not there."""
    needed = {f"{name}.schema.json" for names in BY_TYPE.values() for name in names.values()}
    needed |= {"limits.schema.json", "kinds.schema.json", *references(list(store().values()))}
    return sorted(needed - {*store()})


def is_integer(checker, value):
    """Rejects 1.0, which is an integer to JSON Schema but not to the daemon."""
    return isinstance(value, int) and not isinstance(value, bool)


def match_pattern(validator, pattern, value, schema):
    """Matches `$` at the very end only, as JSON Schema does; Python's also matches before a last newline."""
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {"pattern": match_pattern},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer),
)


def refuse_to_fetch(uri):
    raise SchemaError(f"there is no schema {uri}")


@lru_cache(maxsize=None)
def validator(name):
    # If a schema named its draft, the library would use that draft's validator instead of ours.
    own = {id_: {k: v for k, v in s.items() if k != "$schema"} for id_, s in store().items()}
    schema = own[f"{name}.schema.json"]
    handlers = dict.fromkeys(("", "file", "http", "https"), refuse_to_fetch)
    resolver = jsonschema.RefResolver(schema["$id"], schema, store=own, handlers=handlers)
    return Validator(schema, resolver=resolver)


DEPTH_MAX = 200
ID_BYTES_MAX = 128


def wire_faults(value, path="", depth=1):
    """Yields faults that the protocol page forbids but JSON Schema cannot express."""
    if isinstance(value, (dict, list)):
        if depth > DEPTH_MAX:
            yield f"{path[:80]}: nested deeper than {DEPTH_MAX} levels"
            return
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            if isinstance(key, str) and "\0" in key:
                yield f"{path}: NUL in the key {key!r}"
            below = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}"
            yield from wire_faults(item, below, depth + 1)
    elif is_integer(None, value):
        if not -(2**63) <= value < 2**63:
            yield f"{path}: {value} does not fit into 64 bits"
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{path}: {value} is no number of JSON"
    elif path == ".id" and isinstance(value, str):
        if len(value.encode(errors="surrogatepass")) > ID_BYTES_MAX:
            yield f"{path}: longer than {ID_BYTES_MAX} bytes"


def validate_by(name, value):
    """Checks VALUE against the schema NAME.schema.json."""
    for fault in wire_faults(value):
        raise SchemaError(f"{name}{fault}")
    error = jsonschema.exceptions.best_match(validator(name).iter_errors(value))
    if error is not None:
        path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
        raise SchemaError(f"{name}{path}: {error.message[:300]}")


def validate(message, direction):
    """Raises SchemaError unless DIRECTION ("client" or "daemon") may send MESSAGE."""
    types = BY_TYPE[direction]
    type_ = message.get("type") if isinstance(message, dict) else None
    if not isinstance(type_, str) or type_ not in types:
        raise SchemaError(f"no {direction} message has the type of {str(message)[:200]}")
    validate_by(types[type_], message)


def is_valid_by(name, value):
    try:
        validate_by(name, value)
    except SchemaError:
        return False
    return True


def is_valid(message, direction):
    try:
        validate(message, direction)
    except SchemaError:
        return False
    return True


# --- the command -------------------------------------------------------------------------------


def schema_of_example(info, message):
    """Returns the schema's name for an example on the protocol page: the word after "```json", or else by its
    type. Both sides send `status` and `metrics`; the client's have no other field."""
    if info:
        return info
    if message["type"] in ("status", "metrics"):
        return message["type"] + ("-request" if len(message) == 1 else "")
    return BY_TYPE["client"].get(message["type"]) or BY_TYPE["daemon"][message["type"]]


def page_examples():
    """Yields (line, name of its schema, value) of each JSON example on the protocol page."""
    text = PAGE.read_text()
    for block in re.finditer(r"^```json *([a-z-]*)\n(.*?)^```", text, re.M | re.S):
        line = text.count("\n", 0, block.start()) + 1
        message = json.loads(block.group(2))
        yield line, schema_of_example(block.group(1), message), message


DELETE = object()


def with_value(message, path, value):
    """Returns a copy of MESSAGE with VALUE at PATH (dotted text or a sequence). DELETE removes the field."""
    broken = copy.deepcopy(message)
    if isinstance(path, str):
        path = [int(step) if step.isdigit() else step for step in path.split(".")]
    *steps, last = path
    at = broken
    for step in steps:
        at = at[step]
    if value is DELETE:
        del at[last]
    else:
        at[last] = value
    return broken


def walk(value, path=()):
    """Yields (path, object) of VALUE and of each object in it."""
    if isinstance(value, dict):
        yield path, value
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from walk(item, (*path, key))


def mutations(message):
    """Yields (what, broken copy): each object in MESSAGE gets an unknown field, and each of its fields gets
    values that no field may have."""
    for path, holder in walk(message):
        dotted = ".".join(map(str, path))
        yield f"{dotted} and an unknown field", with_value(message, (*path, "zzz"), 1)
        for key in holder:
            for what, wrong in (("array", [[]]), ("nested", {"x": {}})):
                broken = with_value(message, (*path, key), wrong)
                yield f"{dotted}.{key} as {what}".lstrip("."), broken


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

BASE_SUBMIT = {
    "type": "submit",
    "id": "a",
    "job": {
        "kind": "rubric",
        "task_class": "t",
        "bench_root": "/b",
        "case": {"rubric_wall_clock_seconds": 1.5},
        "harness_output": {},
        "sut": {"status": "ok", "detail": "d"},
        "priority": 0,
        "limits": {"cpu": 0.5, "memory_bytes": 1},
    },
}

BASE_SANDBOX = {
    "type": "submit",
    "id": "a",
    "job": {
        "kind": "sandbox",
        "argv": ["/bin/true", ""],
        "files": {
            "a": "text",
            "b/c.d": {"text": "", "mode": "0755"},
            "..b": {"base64": "AAEC/w==", "mode": None},
        },
        "stdin": {"base64": ""},
        "env": {"TZ": "UTC"},
        "readable": ["/srv/x"],
        "priority": 1,
        "limits": {"wall_clock": 0.5, "allow_network": True},
    },
}

BASE_SNIPPET = {
    "type": "submit",
    "id": "a",
    "job": {"kind": "sandbox", "snippet": "true", "runner": "shell", "stdin": "x"},
}

BASE_STEPS = {
    "type": "submit",
    "id": "a",
    "job": {
        "kind": "sandbox",
        "steps": [
            {"argv": ["/bin/true"], "limits": {"wall_clock": 0.5}, "may_fail": True},
            {"argv": ["/bin/cat", "x"], "stdin": {"base64": ""}},
        ],
        "collect": ["a", "*.log"],
    },
}

BASE_CODE = {
    "type": "submit",
    "id": "a",
    "job": {
        "kind": "code_exec",
        "generation": "x",
        "targets": ["assert x", "assert y"],
        "entry_point": "f_1",
        "prelude": "",
        "test_setup": "",
        "verdict": "isolated",
        "metadata": {"timeout_s": 0.5, "note": 1},
        "priority": 1,
        "limits": {row["key"]: 1 for row in LIMITS if row["key"] != "wall_clock"},
    },
}

BASE_CODE_TEST = {
    "type": "submit",
    "id": "a",
    "job": {
        "kind": "code_exec",
        "code": "",
        "test": "def check(f): pass",
        "entry_point": "f",
        "limits": {"wall_clock": 1},
    },
}

BASE_SANDBOX_RESULT = {**BASE_RESULT, "kind": "sandbox", "stdout": "x"}
BASE_FILES = {
    **BASE_SANDBOX_RESULT,
    "files": [
        {"name": "a", "mode": "0644", "content": ""},
        {"name": "b/c", "mode": "0000", "content_base64": "AA=="},
    ],
    "left_out": [{"name": "d", "why": "missing"}, {"name": "e", "why": "too_large", "size": 1}],
    "files_complete": False,
}
BASE_STEPS_RESULT = {
    **BASE_RESULT,
    "kind": "sandbox",
    "steps": [{key: BASE_RESULT[key] for key in ("outcome", "usage")} | {"stdout": ""}],
}
BASE_NO_CODE = {**BASE_SANDBOX_RESULT, "score": None, "reason": "no_code"}



def code_result(verdict, score, *assertions):
    """Returns a result of kind code_exec. ASSERTIONS says for each assertion whether it passed."""
    failure = {"code": f"code_exec.{verdict}", "severity": "block", "detail": "d"}
    passed = verdict == "pass"
    return {
        **BASE_RESULT,
        "kind": "code_exec",
        "score": {
            **BASE_RESULT["score"],
            "passed": passed,
            "score": score,
            "breakdown": {},
            "failure_modes": [] if passed else [failure],
        },
        "verdict": verdict,
        "mode": "isolated",
        "assertions": [{"passed": p} if p else {"passed": p, "detail": "d"} for p in assertions],
    }


BASE_PASS = code_result("pass", 1, True, True)
BASE_ASSERTION_FAIL = code_result("assertion_fail", 0.5, True, False)
BASE_SYNTAX_ERROR = code_result("syntax_error", 0)
BASE_TIMEOUT = code_result("timeout", 0, True, False)
BASE_CRASH = code_result("error", 0.5, True)

BASE_ERROR = {"type": "error", "id": "a", "code": "internal", "message": "m", "retriable": True}
BASE_STARTED = {"type": "started", "id": "a", "job_no": 1, "slot": 0}
BASE_BYE = {"type": "bye", "reason": "draining", "message": "m"}

BASES = (
    BASE_RESULT,
    BASE_SANDBOX_RESULT,
    BASE_FILES,
    BASE_STEPS_RESULT,
    BASE_NO_CODE,
    BASE_SUBMIT,
    BASE_SANDBOX,
    BASE_SNIPPET,
    BASE_STEPS,
    BASE_CODE,
    BASE_CODE_TEST,
    BASE_PASS,
    BASE_ASSERTION_FAIL,
    BASE_SYNTAX_ERROR,
    BASE_TIMEOUT,
    BASE_CRASH,
    BASE_ERROR,
    BASE_STARTED,
    BASE_BYE,
)

# Fields whose content belongs to the user: mutations() may change them and the message stays valid.
FREE_FORM = re.compile(
    r"job\.(case|harness_output)(\.(?!rubric_wall).* as .*| as nested| and an unknown field)$"
    r"|(score\.)?breakdown and an unknown field$"
    r"|job\.files and an unknown field$"
    r"|job\.tests\.\d+\.(args|expected)(\..*)? as .*$"
    r"|job\.metadata(\.(?!timeout_s).* as .*| as nested| and an unknown field)$"
)

def nested(depth):
    """Returns DEPTH nested arrays."""
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


# (dotted path, value) pairs, each of which makes BASE_RESULT invalid.
WRONG_RESULT = [
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
    ("isolation.digest", "0" * 64 + "\n"),
    ("isolation.layers", ["env", "env"]),
    ("isolation.layers", ["Env"]),
    ("isolation.layers", "env"),
    ("job_no", 1.0),
    ("job_no", 2**63),
    ("score.wall_clock_ms", 1.0),
    ("score.breakdown.exact", float("nan")),
    ("score.cost_usd", float("inf")),
    ("outcome.exit_code", 1),
    ("outcome.exit_code", None),
    ("outcome.signal", 9),
    ("outcome.limit_exceeded", "output"),
    ("outcome.summary", "exit status 0"),
    ("outcome.stderr", "x" * 65537),
]

WRONG_SUBMIT = [
    ("id", ""),
    ("id", "x" * 129),
    ("id", "\u00e9" * 65),
    ("id", None),
    ("id", DELETE),
    ("job", DELETE),
    ("job.kind", "sandbox"),
    ("job.kind", "other"),
    ("job.argv", ["/bin/true"]),
    ("job.kind", DELETE),
    ("job.task_class", ""),
    ("job.task_class", "../x"),
    ("job.task_class", "/etc"),
    ("job.task_class", ".x"),
    ("job.task_class", "a/b"),
    ("job.task_class", "a\0b"),
    ("job.task_class", "a\n"),
    ("job.task_class", "n" * 256),
    ("job.task_class", DELETE),
    ("job.bench_root", "b"),
    ("job.bench_root", ""),
    ("job.bench_root", "/b\0"),
    ("job.bench_root", "/" + "b" * 4095),
    ("job.case", None),
    ("job.case", DELETE),
    ("job.case.rubric_wall_clock_seconds", -1),
    ("job.case.rubric_wall_clock_seconds", True),
    ("job.case.rubric_wall_clock_seconds", "5"),
    ("job.case.key\0", 1),
    ("job.case.big", 2**63),
    ("job.case.not_a_number", float("nan")),
    ("job.case.deep", nested(198)),
    ("job.harness_output", DELETE),
    ("job.harness_output", "text"),
    ("job.sut", "ok"),
    ("job.sut.status", "error"),
    ("job.sut.detail", 1),
    ("job.priority", 11),
    ("job.priority", -11),
    ("job.priority", 1.0),
    ("job.limits.cpu", 0),
    ("job.limits.cpu", None),
    ("job.limits.wall_clock", 5),
    ("job.limits.memory_bytes", 0),
    ("job.limits.memory_bytes", 1e9),
    ("job.limits.allow_network", True),
]

WRONG_SANDBOX = [
    ("job.argv", []),
    ("job.argv", ["true"]),
    ("job.argv", ["/bin/true", 1]),
    ("job.argv", ["/bin/true", "a\0b"]),
    ("job.argv", ["/bin/true"] * 61),
    ("job.argv", None),
    ("job.argv", DELETE),
    ("job.snippet", "x"),
    ("job.generation", "x"),
    ("job.runner", "shell"),
    ("job.files", []),
    ("job.files", {"": ""}),
    ("job.files", {"/a": ""}),
    ("job.files", {"a/": ""}),
    ("job.files", {"a//b": ""}),
    ("job.files", {".": ""}),
    ("job.files", {"a/..": ""}),
    ("job.files", {"../a": ""}),
    ("job.files", {"n" * 256: ""}),
    ("job.files", {"n/" * 511 + "nn": ""}),
    ("job.files", {str(i): "" for i in range(1025)}),
    ("job.files.a", None),
    ("job.files.a", 1),
    ("job.files.a", {}),
    ("job.files.a", {"text": "", "base64": ""}),
    ("job.files.a", {"text": None}),
    ("job.files.a", {"text": "", "mode": 493}),
    ("job.files.a", {"text": "", "mode": "1777"}),
    ("job.files.a", {"text": "", "mode": "0o755"}),
    ("job.files.a", {"text": "", "mode": ""}),
    ("job.files.a", {"base64": "A"}),
    ("job.files.a", {"base64": "AAA"}),
    ("job.files.a", {"base64": "AB=="}),
    ("job.files.a", {"base64": "AAE-"}),
    ("job.files.a", {"base64": "AAEC\n"}),
    ("job.stdin", 1),
    ("job.stdin", {"text": "x"}),
    ("job.stdin", {}),
    ("job.env", {"PATH": "/x"}),
    ("job.env", {"LD_PRELOAD": "/x"}),
    ("job.env", {"A=B": "/x"}),
    ("job.env.TZ", 1),
    ("job.env.TZ", "a\0b"),
    ("job.readable", ["srv"]),
    ("job.readable", ["/srv/../etc"]),
    ("job.readable", ["/."]),
    ("job.readable", ["/x"] * 17),
    ("job.readable", "/x"),
    ("job.limits.allow_network", 1),
    ("job.limits.wall_clock", 0),
    ("job.limits.zzz", 1),
    ("job.task_class", "t"),
    ("job.cwd", "/"),
]

WRONG_SNIPPET = [
    ("job.snippet", DELETE),
    ("job.snippet", 1),
    ("job.runner", "perl"),
    ("job.generation", "x"),
]

WRONG_STEPS = [
    ("job.steps", []),
    ("job.steps", None),
    ("job.steps", [{"argv": ["/bin/true"]}] * 65),
    ("job.steps.0.argv", DELETE),
    ("job.steps.0.argv", ["true"]),
    ("job.steps.0.may_fail", 1),
    ("job.steps.0.limits.disk_bytes", 1),
    ("job.steps.0.limits.allow_network", False),
    ("job.argv", ["/bin/true"]),
    ("job.snippet", "x"),
    ("job.runner", "shell"),
    ("job.stdin", ""),
    ("job.collect", ["/a"]),
    ("job.collect", ["a/../b"]),
    ("job.collect", [""]),
    ("job.collect", ["a"] * 65),
]

WRONG_SANDBOX_RESULT = [
    (BASE_FILES, "left_out", DELETE),
    (BASE_FILES, "files_complete", DELETE),
    (BASE_FILES, "files.0.mode", "644"),
    (BASE_FILES, "files.0.content", DELETE),
    (BASE_FILES, "files.0.content_base64", ""),
    (BASE_FILES, "left_out.0.why", "lost"),
    (BASE_STEPS_RESULT, "steps", []),
    (BASE_STEPS_RESULT, "steps.0.stdout", DELETE),
    (BASE_STEPS_RESULT, "stdout", ""),
    (BASE_RESULT, "files", []),
    (BASE_SANDBOX_RESULT, "stdout", DELETE),
    (BASE_SANDBOX_RESULT, "stdout", None),
    (BASE_SANDBOX_RESULT, "reason", "no_code"),
    (BASE_SANDBOX_RESULT, "score", None),
    (BASE_NO_CODE, "reason", "tired"),
    (BASE_NO_CODE, "reason", DELETE),
    (BASE_NO_CODE, "score", BASE_RESULT["score"]),
    (BASE_RESULT, "stdout", ""),
    ({**BASE_RESULT, "reason": "no_code"}, "score", None),
]

WRONG_CODE = [
    ("job.generation", DELETE),
    ("job.generation", None),
    ("job.generation", 1),
    ("job.code", ""),
    ("job.test", "def check(f): pass"),
    ("job.targets", DELETE),
    ("job.targets", None),
    ("job.targets", []),
    ("job.targets", ""),
    ("job.targets", " \t\n\v\f\r"),
    ("job.targets", 1),
    ("job.targets", ["x"] * 4097),
    ("job.targets.1", ""),
    ("job.targets.1", " \t\n\v\f\r"),
    ("job.targets.1", None),
    ("job.targets.1", 1),
    ("job.entry_point", ""),
    ("job.entry_point", "1f"),
    ("job.entry_point", "f "),
    ("job.entry_point", "f\n"),
    ("job.entry_point", "f\0"),
    ("job.entry_point", "f.g"),
    ("job.entry_point", "f()"),
    ("job.entry_point", "lambda"),
    ("job.entry_point", "n" * 256),
    ("job.prelude", 1),
    ("job.test_setup", ["x"]),
    ("job.verdict", "Shared"),
    ("job.verdict", True),
    ("job.metadata", []),
    ("job.metadata.timeout_s", 0),
    ("job.metadata.timeout_s", "3"),
    ("job.metadata.timeout_s", True),
    ("job.limits.wall_clock", 3),  # together with timeout_s
    ("job.limits.allow_network", False),
    ("job.priority", 11),
    ("job.priority", -11),
    ("job.stdin", ""),
    ("job.timeout_s", 1),
]

WRONG_CODE += [("job.entry_point", word) for word in keyword.kwlist]
WRONG_CODE += [
    (f"job.limits.{key}", wrong) for key in BASE_CODE["job"]["limits"] for wrong in (0, "1")
]

WRONG_CODE_TEST = [
    ("job.code", DELETE),
    ("job.code", None),
    ("job.test", DELETE),
    ("job.test", ""),
    ("job.test", " \n"),
    ("job.test", ["x"]),
    ("job.targets", ["x"]),
    ("job.entry_point", DELETE),
    ("job.entry_point", None),
    ("job.metadata", {"timeout_s": 1}),  # together with wall_clock
    ("job.limits.wall_clock", 0),
    ("job.limits.wall_clock", "1"),
]

WRONG_CODE_RESULT = [
    (BASE_PASS, "verdict", DELETE),
    (BASE_PASS, "verdict", None),
    (BASE_PASS, "verdict", "passed"),
    (BASE_PASS, "verdict", "timeout"),
    (BASE_PASS, "mode", DELETE),
    (BASE_PASS, "mode", None),
    (BASE_PASS, "mode", "both"),
    (BASE_PASS, "assertions", DELETE),
    (BASE_PASS, "assertions", None),
    (BASE_PASS, "assertions", []),
    (BASE_PASS, "assertions", [{"passed": True}] * 4097),
    (BASE_PASS, "assertions.0", True),
    (BASE_PASS, "assertions.0.passed", 1),
    (BASE_PASS, "assertions.0.passed", False),
    (BASE_PASS, "assertions.0.passed", DELETE),
    (BASE_PASS, "assertions.0.detail", None),
    (BASE_PASS, "assertions.0.detail", "d" * 201),
    (BASE_PASS, "assertions.0.name", "x"),
    (BASE_PASS, "score", None),
    (BASE_PASS, "score.passed", False),
    (BASE_PASS, "score.score", 0.5),
    (BASE_PASS, "score.failure_modes", BASE_CRASH["score"]["failure_modes"]),
    (BASE_PASS, "stdout", ""),
    (BASE_PASS, "reason", "no_code"),
    (BASE_PASS, "kind", "rubric"),
    ({**BASE_PASS, "stdout": ""}, "kind", "sandbox"),
    (BASE_ASSERTION_FAIL, "assertions.1.passed", True),
    (BASE_ASSERTION_FAIL, "assertions", []),
    (BASE_ASSERTION_FAIL, "score.score", 1),
    (BASE_ASSERTION_FAIL, "score.score", None),
    (BASE_SYNTAX_ERROR, "assertions", [{"passed": False}]),
    (BASE_SYNTAX_ERROR, "score.score", 0.5),
    (BASE_TIMEOUT, "score.score", 0.5),
    (BASE_CRASH, "score.score", None),
    (BASE_RESULT, "verdict", "pass"),
    (BASE_RESULT, "mode", "isolated"),
    (BASE_RESULT, "assertions", []),
]
for failed in (BASE_ASSERTION_FAIL, BASE_SYNTAX_ERROR, BASE_TIMEOUT, BASE_CRASH):
    modes = failed["score"]["failure_modes"]
    WRONG_CODE_RESULT += [
        (failed, "score.passed", True),
        (failed, "score.failure_modes", []),
        (failed, "score.failure_modes", modes * 2),
        (failed, "score.failure_modes.0.code", "code_exec.pass"),
        (failed, "score.failure_modes.0.severity", "warn"),
        (failed, "score.failure_modes.0.detail", DELETE),
    ]

WRONG_OTHERS = [
    (BASE_ERROR, "id", ""),
    (BASE_ERROR, "code", "timeout"),
    (BASE_ERROR, "code", "bad_request"),  # not retriable
    (BASE_ERROR, "retriable", False),
    (BASE_ERROR, "retriable", 1),
    (BASE_ERROR, "job_no", 0),
    (BASE_ERROR, "message", DELETE),
    (BASE_STARTED, "slot", -1),
    (BASE_STARTED, "job_no", DELETE),
    (BASE_STARTED, "id", DELETE),
    (BASE_BYE, "reason", "tired"),
    (BASE_BYE, "message", DELETE),
    ({"type": "ping"}, "id", "a"),
    ({"type": "ping"}, "type", "resume"),
    ({"type": "ping"}, "type", None),
    ({"type": "ping"}, "type", DELETE),
    ({"type": "drain"}, "grace", 1),
    ({"type": "reload"}, "config", "/etc/rubricd/rubricd.conf"),
    ({"type": "cancel", "id": "a"}, "id", ""),
    ({"type": "cancel", "id": "a"}, "id", DELETE),
    ({"type": "cancel", "id": "a"}, "job_no", 1),
    ({"type": "cancel", "job_no": 1}, "job_no", 0),
    ({"type": "cancel", "job_no": 1}, "job_no", None),
]

# Messages that look wrong but are valid.
RIGHT = [
    (BASE_RESULT, "score.score", None),
    (BASE_RESULT, "score.score", 0.5),
    (BASE_RESULT, "id", "a\0\u00e9"),
    (BASE_RESULT, "outcome.stderr", "kept: the score was not taken"),
    (BASE_SUBMIT, "id", "\u00e9" * 64),
    (BASE_SUBMIT, "job.case.deep", nested(197)),
    (BASE_SUBMIT, "job.case.rubric_wall_clock_seconds", None),
    (BASE_SUBMIT, "job.case.text", "\0"),
    (BASE_SUBMIT, "job.case.big", 2**63 - 1),
    (BASE_SUBMIT, "job.sut", None),
    (BASE_SUBMIT, "job.limits", None),
    (BASE_SUBMIT, "job.bench_root", DELETE),
    (BASE_SANDBOX, "job.argv", ["/bin/true"] * 60),
    (BASE_SANDBOX, "job.snippet", None),
    (BASE_SANDBOX, "job.files", {"n/" * 511 + "n": ""}),
    (BASE_SANDBOX, "job.files", {"...": "", ".a": "", "a b\n": ""}),
    (BASE_SANDBOX, "job.files", {str(i): "" for i in range(1024)}),
    (BASE_SANDBOX, "job.readable", ["/", "/x/", "//x/.../y"]),
    (BASE_SANDBOX, "job.readable", None),
    (BASE_SANDBOX, "job.limits", None),
    (BASE_SNIPPET, "job.runner", "python"),
    (BASE_SNIPPET, "job.runner", DELETE),
    (BASE_SNIPPET, "job.snippet", "a\0b"),
    (BASE_CODE, "job.generation", ""),
    (BASE_CODE, "job.code", None),
    (BASE_CODE, "job.test", None),
    (BASE_CODE, "job.targets", "x"),
    (BASE_CODE, "job.targets", ["\0", "\u00a0", " x\n"]),
    (BASE_CODE, "job.targets", ["x"] * 4096),
    (BASE_CODE, "job.entry_point", None),
    (BASE_CODE, "job.entry_point", "_\u00e9\U0001f600"),
    (BASE_CODE, "job.entry_point", "ifs"),
    (BASE_CODE, "job.entry_point", "n" * 255),
    (BASE_CODE, "job.verdict", "shared"),
    (BASE_CODE, "job.verdict", None),
    (BASE_CODE, "job.metadata", None),
    (BASE_CODE, "job.prelude", None),
    (BASE_CODE, "job.test_setup", None),
    (BASE_CODE, "job.priority", None),
    (BASE_CODE, "job.limits", None),
    (BASE_CODE, "job.limits", DELETE),
    (BASE_CODE_TEST, "job.code", "a\0b"),
    (BASE_CODE_TEST, "job.generation", None),
    (BASE_CODE_TEST, "job.targets", None),
    (BASE_CODE_TEST, "job.metadata", {"timeout_s": None}),
    (BASE_CODE_TEST, "job.metadata", {"note": 1}),
    (BASE_CODE_TEST, "job.metadata", None),
    (BASE_PASS, "mode", "shared"),
    (BASE_CRASH, "assertions", []),
    (BASE_ERROR, "id", DELETE),
    (BASE_ERROR, "job_no", 7),
]


def resolves(ref, name):
    """Returns whether REF in the schema NAME resolves."""
    target, _, pointer = ref.partition("#")
    place = store().get(target or name)
    for step in pointer.split("/")[1:]:
        place = place.get(step) if isinstance(place, dict) else None
    return isinstance(place, dict)


def check_schemas():
    for name, schema in store().items():
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
            good = schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        except jsonschema.SchemaError:
            good = False
        yield f"{name} is a schema of draft 2020-12", good
        for ref in re.findall(r'"\$ref": "([^"]*)"', json.dumps(schema)):
            yield f"{name}: there is a schema {ref}", resolves(ref, name)


def check_page():
    seen = set()
    for line, name, message in page_examples():
        seen.add(name)
        yield f"protocol.md:{line} is a valid {name}", is_valid_by(name, message)
        for what, broken in mutations(message):
            if not FREE_FORM.match(what):
                yield f"protocol.md:{line} with {what} is refused", not is_valid_by(name, broken)
    for direction, types in BY_TYPE.items():
        for type_, name in types.items():
            yield f"protocol.md has an example of {direction} {type_}", name in seen
    text = PAGE.read_text()
    for name in store():
        yield f"protocol.md has a link to {name}", f"(schema/{name})" in text


def page_section(heading):
    """Returns the text below HEADING on the protocol page, up to the next heading."""
    return PAGE.read_text().partition(f"\n{heading}\n")[2].partition("\n#")[0]


def page_limits():
    """Returns {key: (type, unit, name in `limit_exceeded`)} of the page's table of limits."""
    rows = [
        [cell.strip().strip("`") for cell in line.split("|")[1:-1]]
        for line in page_section("## Limits").splitlines()
        if line.startswith("| `")
    ]
    return {key: (type_, unit, name) for key, type_, unit, _, name in rows}


def check_limits():
    """Every limit is in the schemas and on the page, and no other one is."""
    keys, names = sorted(row["key"] for row in LIMITS), sorted(row["name"] for row in LIMITS)
    schema = store()["limits.schema.json"]["$defs"]
    fields, told = schema["some"]["properties"], page_limits()
    values = re.findall(r"^\| `limit_exceeded` \| string or null \|(.*)", PAGE.read_text(), re.M)
    yield "limits.schema.json requires every limit", sorted(schema["all"]["required"]) == keys
    yield "limits.schema.json has every limit", sorted(fields) == keys
    yield "limits.schema.json has every name", sorted(schema["name"]["enum"]) == names
    yield "the page's table has every limit", sorted({*told} - {"allow_network"}) == keys
    yield "the page's limit_exceeded has every name", sorted(re.findall(r"`(\w+)`", *values)) == names
    for row in LIMITS:
        key, unit = row["key"], row["unit"].replace("number", "")
        type_ = "number" if unit == "seconds" else "integer"
        yield f"limits.schema.json has {key} as {type_}", fields.get(key, {}).get("type") == type_
        yield f"the page's table describes {key}", told.get(key) == (type_, unit, row["name"])


def check_kinds(root=ROOT):
    """Every row of JOB_KINDS has the files and sections that belong to a kind, and the schemas have no other kind."""

    def text(name):
        file = root / name
        return file.read_text() if file.exists() else ""

    kinds = re.findall(r"^\s+ROW\([A-Z_]+, (\w+), ", text("proto/jobspec.h"), re.M)
    named = json.loads(text("proto/schema/kinds.schema.json"))["$defs"]
    jobs = [part["if"]["properties"]["kind"]["const"] for part in named["job"]["allOf"]]
    yield "kinds.schema.json has the kinds of JOB_KINDS under name", kinds == named["name"]["enum"]
    yield "kinds.schema.json has the kinds of JOB_KINDS under job", kinds == jobs
    for part in ("limits", "counts"):
        same = kinds == [*named[part]["properties"]] == named[part]["required"]
        yield f"kinds.schema.json has the kinds of JOB_KINDS under {part}", same
    for kind in kinds:
        yield f"conf/rubricd.conf has the section [{kind}]", f"\n[{kind}]\n" in text("conf/rubricd.conf")
        heading = f"\n## Jobs of kind `{kind}`\n"
        yield f"proto/protocol.md has a section on kind {kind}", heading in text("proto/protocol.md")
        yield f"README.md lists the kind {kind}", f"\n- `{kind}`: " in text("README.md")
        test = f"tests/integration/test_{kind}.py"
        yield f"{test} is there", "def test_" in text(test)


def direction_of(message):
    return "client" if message["type"] in BY_TYPE["client"] else "daemon"


def shown(base, path, value):
    how = "left out" if value is DELETE else f"= {value!r:.40}"
    return f"{base['type']} with {path!r} {how}"


def check_tables():
    wrong = [(BASE_RESULT, path, value) for path, value in WRONG_RESULT]
    wrong += [(BASE_SUBMIT, path, value) for path, value in WRONG_SUBMIT]
    wrong += [(BASE_SANDBOX, path, value) for path, value in WRONG_SANDBOX]
    wrong += [(BASE_SNIPPET, path, value) for path, value in WRONG_SNIPPET]
    wrong += [(BASE_STEPS, path, value) for path, value in WRONG_STEPS]
    wrong += [(BASE_CODE, path, value) for path, value in WRONG_CODE]
    wrong += [(BASE_CODE_TEST, path, value) for path, value in WRONG_CODE_TEST]
    wrong += WRONG_SANDBOX_RESULT + WRONG_CODE_RESULT + WRONG_OTHERS
    for base in BASES:
        yield f"the {base['type']} to start from is valid", is_valid(base, direction_of(base))
    for base, path, value in RIGHT:
        message = with_value(base, path, value)
        yield f"{shown(base, path, value)} is valid", is_valid(message, direction_of(base))
    for base, path, value in wrong:
        message = with_value(base, path, value)
        yield f"{shown(base, path, value)} is refused", not is_valid(message, direction_of(base))
    for value in (None, [], "ping", 7, {}, {"type": []}, {"type": "submit"}):
        yield f"{value!r} is no message of the daemon", not is_valid(value, "daemon")


def main():
    if absent := missing():
        print(f"1..{len(absent)}")
        for number, name in enumerate(absent, 1):
            print(f"not ok {number} - {SCHEMAS.relative_to(ROOT) / name} is there")
        return 1
    failed = count = 0
    parts = {
        "schemas": check_schemas(),
        "protocol page": check_page(),
        "limits": check_limits(),
        "kinds": check_kinds(),
        "messages": check_tables(),
    }
    for part, checks in parts.items():
        before = count
        for what, good in checks:
            count += 1
            failed += not good
            print(f"{'ok' if good else 'not ok'} {count} - {what.replace('#', 'no.')}")
        print(f"# {part}: {count - before} checks")
    print(f"1..{count}")
    print(f"# {len(store())} schemas, {count} checks, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
