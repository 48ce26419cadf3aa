# SPDX-License-Identifier: MIT
"""Grade a unified diff by applying it to the case's files and checking the result.

The case has `files` (text by path) and `checks`, objects with `kind` and `path`:

- `file_equals` (`text`): the file has exactly this content.
- `file_absent`: the file does not exist.
- `contains`, `lacks` (`text`): the file contains, or does not contain, this text.
- `python_compiles`: the file is Python that compiles. The rubric does not run it.
- `python_defines` (`names`): it compiles and defines these functions, classes, `Class.method`s.

The harness output has `answer`: a diff, bare or in a Markdown fence. The rubric writes the files to
a directory below the current one, which is private to the job, and the checks read them from there.
The score of a diff that applies but fails some checks is half of the share of checks that hold.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_lib"))

import unidiff  # noqa: E402  (from _lib)

MAX_ANSWER_CHARS = 200_000
MAX_DETAIL_CHARS = 160

FENCE = re.compile(r"^```[^\n`]*\n(.*?)(?:^```[ \t\r]*$|\Z)", re.MULTILINE | re.DOTALL)


def extract_diff(text: str) -> str:
    """Join the fenced blocks that have a file header. Without any, return the whole text."""
    blocks = [fence[1] for fence in FENCE.finditer(text)]
    return "".join(block for block in blocks if re.search("^--- ", block, re.MULTILINE)) or text


def write_tree(root: Path, files: dict[str, str]) -> None:
    """Write the files below root, byte for byte."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def read_text(path: Path) -> str | None:
    """Return a file's text, or None if the file does not exist."""
    return path.read_bytes().decode() if path.is_file() else None


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree of a text, or None if it does not compile as Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
            compile(module, "<patched>", "exec", dont_inherit=True)
            return module
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def defined_names(module: ast.Module) -> Iterator[str]:
    """Yield the names of the module's functions and classes, and of its classes' methods."""
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield f"{node.name}.{inner.name}"


def check_met(check: dict[str, Any], root: Path) -> bool:
    """Return whether one check of the case holds for the files below root."""
    kind = check["kind"]
    text = read_text(root / check["path"])
    if kind == "file_absent":
        return text is None
    if kind == "file_equals":
        return text == check["text"]
    if kind == "contains":
        return text is not None and check["text"] in text
    if kind == "lacks":
        return text is not None and check["text"] not in text
    if kind not in ("python_compiles", "python_defines"):
        raise ValueError(f"no such kind of check: {kind}")
    module = parse_python(text) if text is not None else None
    return module is not None and set(check.get("names", [])) <= set(defined_names(module))


def failure(code: str, severity: str = "block", detail: str = "") -> dict[str, str]:
    """Build one failure mode. Make its detail a single line of valid UTF-8, and cut it."""
    text = " ".join(detail.encode("utf-8", "replace").decode().split())[:MAX_DETAIL_CHARS]
    return {"code": code, "severity": severity, **({"detail": text} if text else {})}


def cost_usd(harness_output: dict[str, Any]) -> float:
    """Return the cost that the harness reports, or 0 if it is missing or not a valid number."""
    cost = harness_output.get("cost_usd")
    if isinstance(cost, bool) or not isinstance(cost, (int, float)):
        return 0
    return cost if 0 <= cost <= sys.float_info.max else 0


def grade(case: dict[str, Any], text: Any) -> tuple[float, dict[str, float], list[dict[str, str]]]:
    """Return the score, the breakdown and the failure modes of one answer."""
    if not case["checks"]:
        raise ValueError(f"case {case['case_id']} checks nothing")
    if not isinstance(text, str) or not text.strip():
        return 0.0, {}, [failure("diff.missing", detail="no answer text")]
    if len(text) > MAX_ANSWER_CHARS:
        return 0.0, {}, [failure("diff.too_large", detail=f"{len(text)} characters")]
    try:
        patches = unidiff.parse(extract_diff(text.encode("utf-8", "replace").decode()))
    except unidiff.DiffError as error:
        return 0.0, {"parsed": 0.0}, [failure(error.code, detail=str(error))]

    applied = unidiff.apply(case["files"], patches)
    breakdown = {"parsed": 1.0, "applied": round(applied.hunks / applied.total, 6)}
    if applied.problem:
        return 0.0, breakdown, [failure("diff.does_not_apply", detail=applied.problem)]

    with tempfile.TemporaryDirectory(dir=".") as root:
        write_tree(Path(root), applied.files)
        unmet = [check for check in case["checks"] if not check_met(check, Path(root))]
    share = 1 - len(unmet) / len(case["checks"])
    breakdown["checks"] = round(share, 6)
    modes = []
    if unmet:
        named = ", ".join(f"{check['kind']} {check['path']}" for check in unmet)
        modes.append(failure("diff.wrong_result", detail=named))
    if applied.offsets:
        moved = f"hunks that had moved: {applied.offsets}"
        modes.append(failure("diff.applied_with_offset", "info", moved))
    return round(share / 2, 6) if unmet else 1.0, breakdown, modes


def score(case: dict[str, Any], harness_output: Any) -> dict[str, Any]:
    """Return the BenchScore of one case."""
    output = harness_output if isinstance(harness_output, dict) else {}
    points, breakdown, modes = grade(case, output.get("answer"))
    return {
        "passed": points == 1.0,
        "score": points,
        "breakdown": breakdown,
        "failure_modes": modes,
        "cost_usd": cost_usd(output),
    }


def main() -> None:
    """Read one case and one harness output from stdin, write one BenchScore to stdout."""
    request = json.loads(sys.stdin.buffer.read())
    json.dump(score(request["case"], request["harness_output"]), sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
