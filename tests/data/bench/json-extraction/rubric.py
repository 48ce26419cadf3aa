# SPDX-License-Identifier: MIT
"""Grade a JSON extraction field by field.

The case has `fields`, a list of objects with `name`, `kind`, `value` and optionally `weight`
(default 1). The kinds are:

- `exact`: equal values. Strings are compared in NFKC with white space collapsed, and without regard
  to case if `ignore_case` is true.
- `number`: equal within `tolerance` (default 0). "$1,234.50" is a number.
- `date`: the same day, in any usual notation. `day_first` says how to read 03/04/2024.
- `set`: a list of strings in any order. Partial credit is the F1.

A `value` of null means that the document does not contain the value: the field must be null or
absent. The harness output has `answer`: one JSON object, bare, in a Markdown fence, or in prose. If
it has several objects, the last one counts.

The score is the weighted mean over the fields. The case passes at `pass_score` (default 1) or more.
"""

from __future__ import annotations

import json
import math
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_lib"))

import normalise  # noqa: E402  (from _lib)

MAX_ANSWER_CHARS = 50_000
MAX_DETAIL_CHARS = 160
MAX_SCAN_ATTEMPTS = 200

FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```[ \t\r]*$|\Z)", re.MULTILINE | re.DOTALL)
OBJECT_START = re.compile(r'''\{\s*(?:["']|\w+\s*:|\Z)''')


class ExtractionFailed(Exception):
    """The answer has no object to grade. `code` is the failure mode."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object. Refuse duplicate keys, which would let an answer hedge."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def finite(text: str) -> float:
    """Read a real number. Refuse NaN, Infinity and numbers too large for a float."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {text[:20]}")
    return value


DECODER = json.JSONDecoder(
    object_pairs_hook=unique_keys, parse_float=finite, parse_constant=finite, strict=False
)


def decode(text: str) -> Any:
    """Read JSON. Raise ValueError for every mistake."""
    try:
        return DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def scan(text: str) -> list[dict[str, Any]]:
    """Return the outermost JSON objects of a text in order. Raise if one is malformed."""
    found: list[dict[str, Any]] = []
    at = text.find("{")
    for _ in range(MAX_SCAN_ATTEMPTS):
        if at < 0:
            break
        try:
            value, end = DECODER.raw_decode(text, at)
            found.append(value)
        except (ValueError, RecursionError) as error:
            # An object inside a malformed one is not the answer. A brace in prose is no object.
            if OBJECT_START.match(text, at):
                raise ExtractionFailed("extraction.malformed_json", str(error)) from error
            end = at + 1
        at = text.find("{", end)
    return found


def extract(text: str) -> tuple[dict[str, Any], list[str]]:
    """Return the object to grade, and failure modes for an unusual form of the answer."""
    try:
        values = [decode(text.strip())]
        oddities = []
    except ValueError as error:
        values = fenced_values(text) or scan(text)
        oddities = ["extraction.wrapped_in_text"]
        if not values:
            raise ExtractionFailed("extraction.no_json", "no object in the answer") from error
    if not isinstance(values[-1], dict):
        raise ExtractionFailed("extraction.not_an_object", f"a {type(values[-1]).__name__} instead")
    if any(value != values[-1] for value in values):
        oddities.insert(0, "extraction.several_objects")
    return values[-1], oddities


def fenced_values(text: str) -> list[Any]:
    """Return the values of all fenced blocks that contain JSON and nothing else."""
    values = []
    for fence in FENCE.finditer(text):
        try:
            values.append(decode(fence[1].strip()))
        except ValueError:
            continue
    return values


def field_score(field: dict[str, Any], value: Any) -> float:
    """Return the score of one value, from 0 to 1."""
    kind, gold = field["kind"], field["value"]
    if gold is None or value is None:
        return float(value is None and gold is None)
    if kind == "exact":
        return float(same(value, gold, field.get("ignore_case", False)))
    if kind == "number":
        wanted, amount = reference(field, normalise.number(gold)), normalise.number(value)
        tolerance = Decimal(str(field.get("tolerance", 0)))
        return float(amount is not None and abs(amount - wanted) <= tolerance)
    if kind == "date":
        day = normalise.date(value, field.get("day_first"))
        return float(day == reference(field, normalise.date(gold)))
    if kind == "set":
        return set_f1(normalise.string_set(value), reference(field, normalise.string_set(gold)))
    raise ValueError(f"field {field['name']}: no such kind: {kind}")


def reference(field: dict[str, Any], value: Any) -> Any:
    """Return the reference value. Raise if it is None: nobody could pass such a case."""
    if value is None:
        raise ValueError(f"field {field['name']}: the reference is not a {field['kind']}")
    return value


def same(value: Any, gold: Any, ignore_case: bool) -> bool:
    """Compare values and their JSON types: neither 1 nor "true" equals true."""
    if isinstance(value, str) and isinstance(gold, str):
        value, gold = normalise.text(value), normalise.text(gold)
        return value.casefold() == gold.casefold() if ignore_case else value == gold
    return isinstance(value, bool) == isinstance(gold, bool) and value == gold


def set_f1(answer: set[str] | None, gold: set[str]) -> float:
    """Return the F1 of two sets. An answer of None, not a list of strings, gets 0."""
    if answer is None:
        return 0.0
    if not answer and not gold:
        return 1.0
    return 2 * len(answer & gold) / (len(answer) + len(gold))


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


def mean_by_kind(fields: list[dict[str, Any]], scores: dict[str, float]) -> dict[str, float]:
    """Return the unweighted mean score of each kind of field in the case."""
    means = {}
    for kind in ("exact", "number", "date", "set"):
        of_kind = [scores[field["name"]] for field in fields if field["kind"] == kind]
        if of_kind:
            means[kind] = round(sum(of_kind) / len(of_kind), 6)
    return means


def grade(
    case: dict[str, Any], text: Any
) -> tuple[bool, float, dict[str, float], list[dict[str, str]]]:
    """Return the verdict, the score, the breakdown and the failure modes of one answer."""
    if not isinstance(text, str) or not text.strip():
        return False, 0.0, {}, [failure("extraction.missing_answer", detail="no answer text")]
    if len(text) > MAX_ANSWER_CHARS:
        return False, 0.0, {}, [failure("extraction.too_long", detail=f"{len(text)} characters")]
    try:
        answer, oddities = extract(text)
    except ExtractionFailed as failed:
        return False, 0.0, {}, [failure(failed.code, detail=str(failed))]

    fields = case["fields"]
    scores = {field["name"]: field_score(field, answer.get(field["name"])) for field in fields}
    weights = {field["name"]: field.get("weight", 1) for field in fields}
    points = round(
        sum(scores[name] * weights[name] for name in scores) / sum(weights.values()), 6
    )
    passed = points >= case.get("pass_score", 1)

    stated = [field["name"] for field in fields if field["value"] is not None]
    missing = [name for name in stated if answer.get(name) is None]
    wrong = [name for name in scores if scores[name] < 1 and name not in missing]
    extra = [name for name in answer if name not in scores]
    grave = "warn" if passed else "block"
    found = (
        ("extraction.missing_field", grave, missing),
        ("extraction.wrong_value", grave, wrong),
        ("extraction.extra_field", "warn", extra),
    )
    modes = [failure(code, severity, ", ".join(names)) for code, severity, names in found if names]
    modes += [failure(code, "info") for code in oddities]
    breakdown = mean_by_kind(fields, scores)
    breakdown["coverage"] = round(1 - len(missing) / len(stated), 6) if stated else 1.0
    return passed, points, breakdown, modes


def score(case: dict[str, Any], harness_output: Any) -> dict[str, Any]:
    """Return the BenchScore of one case."""
    output = harness_output if isinstance(harness_output, dict) else {}
    passed, points, breakdown, modes = grade(case, output.get("answer"))
    return {
        "passed": passed,
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
