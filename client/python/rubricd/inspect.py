# SPDX-License-Identifier: MIT
"""Scorers for Inspect (inspect_ai): a rubric, or assertions about Python, grades each sample. Inspect finds
them by the package's entry point, as rubricd/rubric and rubricd/code. A sample whose job has no verdict
raises JobError, which Inspect counts as an error of the sample and not as a score."""

from typing import Any, Dict, Optional, Sequence, Union

from . import _shared, jobs
from .results import Result

try:
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState
except ImportError as error:
    raise ImportError(f"rubricd.inspect needs Inspect: pip install inspect-ai ({error})") from error


def _score(result: Result, answer: str) -> Any:
    metadata: Dict[str, Any] = {
        "passed": result.passed,
        "breakdown": dict(result.breakdown),
        "failure_modes": [mode.code for mode in result.failure_modes],
        "isolation": result.isolation.digest,
    }
    return Score(
        value=0.0 if result.score is None else float(result.score),
        answer=answer,
        explanation=result.why or "passed",
        metadata=metadata,
    )


@scorer(metrics=[mean(), stderr()])  # type: ignore[misc]
def rubric(task_class: str, bench_root: Optional[str] = None) -> "Scorer":
    """A rubric. Its case has `input`, `target` and `answer` (the target again) and the sample's
    metadata; its harness output has the completion as `answer`."""

    async def score(state: "TaskState", target: "Target") -> "Score":
        answer = state.output.completion
        case = {"input": state.input_text, "target": target.text, "answer": target.text}
        case.update(state.metadata or {})
        job = jobs.rubric(task_class, case, {"answer": answer}, bench_root=bench_root)
        return _score(await _shared.ask(job), answer)

    return score


@scorer(metrics=[mean(), stderr()])  # type: ignore[misc]
def code(
    tests: Union[None, str, Sequence[str]] = None,
    entry_point: Optional[str] = None,
    timeout: Optional[float] = None,
) -> "Scorer":
    """Assertions about the Python in the completion: TESTS, or else the sample's metadata `tests`, or
    else its target. ENTRY_POINT may be in the metadata, too."""

    async def score(state: "TaskState", target: "Target") -> "Score":
        answer, metadata = state.output.completion, state.metadata or {}
        job = jobs.code(
            generation=answer,
            tests=tests or metadata.get("tests") or target.text,
            entry_point=entry_point or metadata.get("entry_point"),
            timeout=timeout,
        )
        return _score(await _shared.ask(job), answer)

    return score
