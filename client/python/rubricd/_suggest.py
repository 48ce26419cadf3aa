# SPDX-License-Identifier: MIT
"""Tells how to mend a refused job: which field was meant, or which argument is missing. rubricctl says the same."""

import difflib
import inspect
import json
from typing import Any, Callable, Dict, Iterable, Mapping

from . import jobs

_UNKNOWN = ": unknown field"
_UNKNOWN_KIND = "job.kind: unknown kind"
_NO_BENCH_ROOT = "job.bench_root: missing"
_MAKERS: Dict[str, Callable[..., jobs.Job]] = {
    "rubric": jobs.rubric,
    "code_exec": jobs.code,
    "program": jobs.program,
    "sandbox": jobs.sandbox,
}


def _fields(kind: str) -> Iterable[str]:
    """The fields of jobs of KIND: what its function takes, without what it turns into other fields."""
    names = set(inspect.signature(_MAKERS[kind]).parameters) - {"timeout"}
    if kind == "code_exec":
        names = names - {"tests"} | {"test", "targets"}
    return names


def remedy(message: str, frame: bytes, hello: Mapping[str, Any]) -> str:
    """Returns what to add to the MESSAGE of an error, "job.limits.cpus: unknown field", about the job that
    FRAME submits, or about its kind. Empty if it is another error, or nothing is near."""
    if message.startswith(_NO_BENCH_ROOT):
        return "; name the bench with connect(bench_root=...), or with bench_root in the job"
    kind_is_unknown = message.startswith(_UNKNOWN_KIND)
    if not kind_is_unknown and not message.endswith(_UNKNOWN):
        return ""
    kind = json.loads(frame[4:])["job"].get("kind")
    if kind_is_unknown:
        near = difflib.get_close_matches(str(kind), sorted(_MAKERS), 1)
        return f"; did you mean {near[0]}?" if near else ""
    place, _, name = message[: -len(_UNKNOWN)].rpartition(".")
    names: Iterable[str] = ()
    if place == "job" and kind in _MAKERS:
        names = _fields(kind)
    elif place == "job.limits":
        names = hello["limits"]["defaults"].get(kind, ())
    near = difflib.get_close_matches(name, sorted(names), 1)
    return f"; did you mean {near[0]}?" if near else ""
