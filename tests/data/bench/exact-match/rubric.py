# SPDX-License-Identifier: MIT
"""Grade a short answer to a question by normalised exact match.

The case has `answer`, the reference, and optionally `aliases`, other correct wordings. The harness
output has `answer`, free text. If it contains lines such as "Answer: ..." or "Final answer: ...",
the rubric grades the last of them, otherwise the whole text.

Two texts match if their lists of tokens are equal. A token is a number in canonical form, a word, or
a symbol that carries meaning (`C` is not `C++`, `50` is not `50%`). Punctuation, case, spacing and
articles do not count. The score of a wrong answer is half of its token F1.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from decimal import Context, Decimal
from typing import Any

MAX_ANSWER_CHARS = 20_000
MAX_DETAIL_CHARS = 160

# NFKC would turn 10² into 102 and 3½ into 31⁄2, so unify() rewrites both first.
SUPERSCRIPT = re.compile("[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
VULGAR_FRACTION = re.compile("(?=[¼-¾⅐-⅞])")
ONE_SPELLING = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2044": "/"})
ACRONYM = re.compile(r"(?<![\w.])(?:[^\W\d_]\.)+[^\W\d_](?!\w)\.?")
APOSTROPHES = re.compile("['\u2019\u02bc`]")

# A sign counts only if no operand precedes it: 1990-1995 has no negative number.
# Digits with leading zeros are text: the code 007, the postcode 02134.
NUMBER = re.compile(
    r"(?:(?<![^\s(\[$€£¥~≈=^])[-+])?"
    r"(?:(?:[1-9]\d{0,2}(?:,\d{3})+|0|[1-9]\d{0,39})(?:\.\d{1,40})?|\.\d{1,40})"
    r"(?:e[-+]?\d{1,3})?(?!\d|[.,]\d)"
)
ALL_DIGITS = Context(prec=200)
MEANINGFUL_PUNCTUATION = "%#&@"

MARKER = re.compile(r"[\s*_#>]*(?:the\s+)?(?:final\s+)?answer[\s*_]*[:：](.*)", re.IGNORECASE)
REFUSAL = re.compile(
    r"\s*(?:i(?:['’]?m| am) (?:very )?(?:sorry|unable)|sorry,|i can(?:not|['’]?t)\b|as an ai\b)",
    re.IGNORECASE,
)


def final_answer(text: str) -> str:
    """Return the text after the last "Answer:" marker, or the whole text if it has no marker."""
    lines = text.splitlines()
    for index in range(len(lines) - 1, -1, -1):
        marked = MARKER.fullmatch(lines[index])
        if marked:
            following = [marked[1], *lines[index + 1 :]]
            return next((line.strip(" \t*_") for line in following if line.strip(" \t*_")), "")
    return text.strip()


def canonical_number(text: str) -> str:
    """Return a number in a form that is equal for equal values: 1E+3 for 1,000 and 1000.0."""
    value = Decimal(text.replace(",", ""))
    return str(value.normalize(ALL_DIGITS)) if value else "0"


def unify(text: str) -> str:
    """Normalise the spelling: NFKC, folded case, no invisible characters, no apostrophes."""
    text = SUPERSCRIPT.sub(lambda power: "^" + power[0], text)
    text = VULGAR_FRACTION.sub(" ", text)
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    text = APOSTROPHES.sub("", text.translate(ONE_SPELLING))
    return ACRONYM.sub(lambda acronym: acronym[0].replace(".", ""), text)


def tokens(text: str) -> list[str]:
    """Split a text into tokens."""
    text = unify(text)
    found: list[str] = []
    word = ""
    at = 0
    while at < len(text):
        number = None if word else NUMBER.match(text, at)
        kind = unicodedata.category(text[at])[0]
        if not number and kind in "LMN":
            word += text[at]
        else:
            found += [word] if word else []
            word = ""
            if number:
                found.append(canonical_number(number[0]))
            elif kind == "S" or text[at] in MEANINGFUL_PUNCTUATION:
                found.append(text[at])
        at = number.end() if number else at + 1
    return drop_articles(found + ([word] if word else []))


def drop_articles(found: list[str]) -> list[str]:
    """Drop every "the", and "a" or "an" at the start. Keep the last token, as in "Vitamin A"."""
    kept = [token for token in found[:-1] if token != "the"] + found[-1:]
    return kept[1:] if len(kept) > 1 and kept[0] in ("a", "an") else kept


def token_f1(answer: list[str], gold: list[str]) -> float:
    """Return the harmonic mean of precision and recall of the answer's tokens."""
    common = sum((Counter(answer) & Counter(gold)).values())
    return 2 * common / (len(answer) + len(gold)) if common else 0.0


def contains(answer: list[str], gold: list[str]) -> bool:
    """Return whether the answer contains the gold tokens in sequence."""
    return any(answer[at : at + len(gold)] == gold for at in range(len(answer) - len(gold) + 1))


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
    if not isinstance(text, str) or not text.strip():
        return 0.0, {}, [failure("answer.missing", detail="no answer text")]
    if len(text) > MAX_ANSWER_CHARS:
        return 0.0, {}, [failure("answer.too_long", detail=f"{len(text)} characters")]

    accepted = [case["answer"], *case.get("aliases", [])]
    answer = final_answer(text)
    answer_tokens = tokens(answer)
    golds = [tokens(gold) for gold in accepted]
    if not all(golds):
        raise ValueError(f"case {case['case_id']}: an accepted answer has no tokens")
    matched = answer_tokens in golds
    f1 = max(token_f1(answer_tokens, gold) for gold in golds)
    breakdown = {
        "exact": float(answer in accepted),
        "normalised": float(matched),
        "token_f1": round(f1, 6),
    }
    if matched:
        return 1.0, breakdown, []
    code = "answer.refusal" if REFUSAL.match(answer) else "answer.wrong"
    modes = [failure(code, detail=answer)]
    if any(contains(answer_tokens, gold) for gold in golds):
        modes.append(failure("answer.contains_gold", "info", "a right answer in a longer text"))
    return round(f1 / 2, 6), breakdown, modes


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
