# SPDX-License-Identifier: MIT
"""Metrics of DeepEval: a rubric, or assertions about Python, grades an LLMTestCase. A job without verdict
raises JobError, and a rubric that crashed RubricCrashed, which is one."""

from typing import Any, Mapping, Optional, Sequence, Union

from . import _shared, jobs
from .results import Result

try:
    from deepeval.metrics import BaseMetric
except ImportError as error:
    raise ImportError(f"rubricd.deepeval needs DeepEval: pip install deepeval ({error})") from error


class _Metric(BaseMetric):  # type: ignore[misc]
    name = "rubricd"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.score: Optional[float] = None
        self.reason: Optional[str] = None
        self.success: Optional[bool] = None
        self.error: Optional[str] = None
        self.evaluation_model: Optional[str] = None
        self.strict_mode = False
        self.async_mode = True
        self.include_reason = True

    def _job(self, test_case: Any) -> jobs.Job:
        raise NotImplementedError

    def _take(self, result: Result, job: jobs.Job) -> float:
        result = _shared.verdict(result, job)
        self.score = 0.0 if result.score is None else float(result.score)
        self.score_breakdown = dict(result.breakdown)
        self.reason = result.why or "passed"
        self.evaluation_cost = result.cost_usd
        self.success = self.score >= self.threshold
        return self.score

    def measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
        job = self._job(test_case)
        return self._take(_shared.grader().submit(job), job)

    async def a_measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
        job = self._job(test_case)
        return self._take(await _shared.ask(job), job)

    def is_successful(self) -> bool:
        return self.error is None and bool(self.success)

    @property
    def __name__(self) -> str:
        return self.name


class RubricMetric(_Metric):
    """A rubric. Its case has `input`, `expected_output` and `answer` (the same) of the test case and its
    metadata; its harness output has the actual output as `answer`."""

    def __init__(
        self, task_class: str, bench_root: Optional[str] = None, threshold: float = 0.5
    ) -> None:
        super().__init__(threshold)
        self.name = task_class
        self._bench_root = bench_root

    def _job(self, test_case: Any) -> jobs.Job:
        metadata: Mapping[str, Any] = (
            getattr(test_case, "metadata", None)
            or getattr(test_case, "additional_metadata", None)
            or {}
        )
        case = {"input": test_case.input}
        if test_case.expected_output is not None:
            case["expected_output"] = case["answer"] = test_case.expected_output
        answer = {"answer": test_case.actual_output}
        return jobs.rubric(self.name, {**case, **metadata}, answer, bench_root=self._bench_root)


class CodeMetric(_Metric):
    """Assertions about the Python in the actual output."""

    name = "code"

    def __init__(
        self,
        tests: Union[str, Sequence[str]],
        entry_point: Optional[str] = None,
        timeout: Optional[float] = None,
        threshold: float = 1.0,
    ) -> None:
        super().__init__(threshold)
        self._options = {"tests": tests, "entry_point": entry_point, "timeout": timeout}

    def _job(self, test_case: Any) -> jobs.Job:
        options: Mapping[str, Any] = self._options
        return jobs.code(generation=test_case.actual_output, **options)
