# SPDX-License-Identifier: MIT
"""Assertions of promptfoo. A file for `type: python` and `value: file://FILE` needs one line:

    from rubricd.promptfoo import get_assert

and the assertion's `config` says what grades the output: `task_class` (with `bench_root`) names a rubric,
whose case has the test's variables; `tests` (with `entry_point`) are assertions about the Python in it."""

from typing import Any, Dict, Mapping, Union

from . import _shared, jobs
from .results import Result

_RUBRIC = ("task_class", "bench_root", "limits")
_CODE = ("tests", "entry_point", "timeout", "limits")


def make_job(output: Any, context: Mapping[str, Any]) -> jobs.Job:
    """Returns the job for an assertion."""
    config = context.get("config") or {}
    known = _RUBRIC if "task_class" in config else _CODE
    if not {"task_class", "tests"} & set(config):
        raise ValueError('config: expected "task_class", the name of a rubric, or "tests"')
    for name in config:
        if name not in known:
            raise ValueError(f"config.{name}: expected one of {', '.join(known)}")
    if "task_class" in config:
        answer = output if isinstance(output, Mapping) else {"answer": output}
        return jobs.rubric(case=context.get("vars") or {}, harness_output=answer, **config)
    return jobs.code(generation=output, **config)


def grading_result(result: Result, job: jobs.Job) -> Dict[str, Any]:
    """Returns the RESULT of JOB in promptfoo's form, each part of the score as a named score."""
    result = _shared.verdict(result, job)
    return {
        "pass": result.passed,
        "score": result.score or 0.0,
        "reason": result.why or "passed",
        "namedScores": dict(result.breakdown),
    }


def get_assert(output: Any, context: Mapping[str, Any]) -> Union[bool, float, Dict[str, Any]]:
    """What promptfoo calls. An exception, for want of a verdict or because the rubric crashed, fails the assertion with its text."""
    job = make_job(output, context)
    return grading_result(_shared.grader().submit(job), job)
