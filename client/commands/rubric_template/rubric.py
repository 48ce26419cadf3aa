"""Grade whether an answer names the right number.

The case has `expected`, a whole number. The harness output has `answer`, the text that the model wrote.
Replace grade() by your own, and list in task_class.json every breakdown key and every failure mode that
it may report.
"""

import json
import sys

MAX_ANSWER = 1000  # characters; what a model wrote may be huge, or no text at all
MAX_DETAIL = 160


def failure(code, detail=""):
    """Return a failure mode that fails the case."""
    return {"code": code, "severity": "block", "detail": detail[:MAX_DETAIL]}


def grade(case, answer):
    """Return the score, the breakdown and the failure modes of one answer."""
    expected = case["expected"]  # a case without it is the bench's fault: the exception says so
    if not isinstance(answer, str) or not answer.strip():
        return 0.0, {"is_number": 0.0}, [failure("answer.missing")]
    if len(answer) > MAX_ANSWER:
        return 0.0, {"is_number": 0.0}, [failure("answer.too_long", f"{len(answer)} characters")]
    try:
        number = int(answer)
    except ValueError:
        return 0.0, {"is_number": 0.0}, [failure("answer.not_a_number", answer)]
    if number != expected:
        return 0.5, {"is_number": 1.0}, [failure("answer.wrong", f"got {number}, expected {expected}")]
    return 1.0, {"is_number": 1.0}, []


def cost_usd(harness_output):
    """Return what the answer cost, as the harness reports it, or 0: --cost-cap adds these up."""
    cost = harness_output.get("cost_usd")
    is_number = isinstance(cost, (int, float)) and not isinstance(cost, bool)
    return cost if is_number and 0 <= cost <= sys.float_info.max else 0


def score(case, harness_output):
    """Return the BenchScore of one case."""
    points, breakdown, modes = grade(case, harness_output.get("answer"))
    return {
        "passed": not modes,
        "score": points,
        "breakdown": breakdown,
        "failure_modes": modes,
        "cost_usd": cost_usd(harness_output),
    }


if __name__ == "__main__":
    request = json.load(sys.stdin)
    json.dump(score(request["case"], request["harness_output"]), sys.stdout)
