# SPDX-License-Identifier: MIT
"""Jobs of kind code_exec for the tests of them, and what their results must be."""

import pytest


def job(code, *targets, **fields):
    wanted = {"kind": "code_exec", "code": code, **fields}
    if targets:
        wanted["targets"] = list(targets)
    if wanted["code"] is None:
        del wanted["code"]
    return wanted


def judge(client, code, *targets, **fields):
    result = client.run(job(code, *targets, **fields))
    assert result["type"] == "result", result
    assert result["kind"] == "code_exec"
    assert result["mode"] == fields.get("verdict", "isolated")
    return result


def assert_passed(result):
    assert result["verdict"] == "pass", result
    score = result["score"]
    assert (score["passed"], score["score"], score["failure_modes"]) == (True, 1, []), result
    assert all(assertion["passed"] for assertion in result["assertions"])


def assert_verdict(result, verdict, score=0, detail=None):
    assert result["verdict"] == verdict, result
    assert result["score"]["passed"] is False
    assert result["score"]["score"] == pytest.approx(score), result
    (mode,) = result["score"]["failure_modes"]
    assert (mode["code"], mode["severity"]) == (f"code_exec.{verdict}", "block")
    if detail is not None:
        why = next((text for text in details(result) if text), "")
        if verdict == "assertion_fail" and why:  # the detail begins with that of the first failed assertion
            detail = why if " of 1 " in detail else f"{why} ({detail})"
        assert mode["detail"] == detail, result


def details(result):
    return [None if a["passed"] else a.get("detail", "") for a in result["assertions"]]


def assert_only_isolated(result, number):
    """In isolation every assertion passed, but in one process number NUMBER did not."""
    assert result["verdict"] == "assertion_fail", result
    failed = [i for i, why in enumerate(details(result)) if why is not None]
    assert failed == [number], result
    assert details(result)[number].startswith(f"passes only in isolation: target {number}: "), result
