# SPDX-License-Identifier: MIT
"""The metric code_eval of Hugging Face evaluate, with the candidates in a sandbox, and the function that
lm-evaluation-harness calls in its tasks humaneval and mbpp. There is no HF_ALLOW_CODE_EVAL to set: no
candidate runs in this process, nor in that of its tests."""

import logging
from collections import defaultdict
from typing import Any, Dict, List, Sequence, Tuple, Union

from . import _shared, jobs
from .errors import JobError
from .results import Result

log = logging.getLogger("rubricd")

TIMEOUT_S = 3.0
K = (1, 10, 100)

Results = Dict[int, List[Tuple[int, Dict[str, Any]]]]


def compute(
    predictions: Sequence[Sequence[str]],
    references: Sequence[str],
    k: Union[int, Sequence[int]] = K,
    num_workers: int = 4,
    timeout: float = TIMEOUT_S,
) -> Tuple[Dict[str, float], Results]:
    """Returns ({"pass@1": ...}, results), as CodeEval.compute() does. `predictions` has the candidates
    of each task, `references` its test program. As there, a `k` is left out if a task has fewer
    candidates; unless `k` is the default, a line is logged that says so. The daemon's slots run them,
    whatever `num_workers` says. Raises JobError if the daemon has no verdict on one: it would be no
    failure; and ValueError if the arguments have another form."""
    _check(predictions, references)
    places = [(task, n) for task, each in enumerate(predictions) for n in range(len(each))]

    def make(task: int, n: int) -> jobs.Job:
        return jobs.code(predictions[task][n], tests=[references[task]], timeout=timeout)

    results: Results = defaultdict(list)
    for (task, n), answer in zip(places, _shared.ask_all(make(*place) for place in places)):
        if isinstance(answer, JobError):
            raise answer
        answer = _shared.verdict(answer, make(task, n))
        line = {"task_id": task, "passed": answer.passed, "result": _say(answer)}
        results[task].append((n, {**line, "completion_id": n}))
    ks = [k] if isinstance(k, int) else k
    if k is not K:
        _tell_left_out(results, ks)
    return {f"pass@{each}": _mean(results, each) for each in ks if _enough(results, each)}, results


def _check(predictions: Sequence[Sequence[str]], references: Sequence[str]) -> None:
    """Raises ValueError if the arguments are not those of CodeEval.compute(): each character of a string
    would be a candidate."""
    for name, value in (("predictions", predictions), ("references", references)):
        if isinstance(value, (str, bytes)):
            raise ValueError(f"{name}: expected a list, got a string")
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions, but {len(references)} references")
    for task, (candidates, reference) in enumerate(zip(predictions, references)):
        place = f"predictions[{task}]"
        if isinstance(candidates, (str, bytes)):
            raise ValueError(f"{place}: expected a list of candidates ([[code, ...], ...]), got a string")
        if len(candidates) == 0:
            raise ValueError(f"{place}: expected at least one candidate, got none")
        for n, each in enumerate(candidates):
            if not isinstance(each, str):
                raise ValueError(f"{place}[{n}]: expected a string, got a {type(each).__name__}")
        if not isinstance(reference, str):
            raise ValueError(f"references[{task}]: expected a string, got a {type(reference).__name__}")


def _tell_left_out(results: Results, ks: Sequence[int]) -> None:
    fewest = min((len(each) for each in results.values()), default=0)
    for each in ks:
        if each > fewest:
            log.warning("no pass@%d: a task has %d candidate%s", each, fewest, "" if fewest == 1 else "s")


def pass_at_k(
    references: List[str], predictions: List[List[str]], k: Union[None, int, List[int]] = None
) -> Dict[str, float]:
    """As lm_eval.tasks.humaneval.utils.pass_at_k."""
    if k is None:
        raise ValueError("k: expected a number or a list of numbers")
    return compute(predictions=predictions, references=references, k=k)[0]


def _say(result: Result) -> str:
    if result.passed:
        return "passed"
    return "timed out" if result.verdict == "timeout" else f"failed: {result.why}"


def _enough(results: Results, k: int) -> bool:
    return bool(results) and all(len(each) >= k for each in results.values())


def _mean(results: Results, k: int) -> float:
    estimates = []
    for each in results.values():
        correct = sum(bool(line["passed"]) for _, line in each)
        estimates.append(_estimate(len(each), correct, k))
    return sum(estimates) / len(estimates)


def _estimate(total: int, correct: int, k: int) -> float:
    """The unbiased estimate of pass@k: 1 - C(total - correct, k) / C(total, k)."""
    miss = 1.0
    for n in range(total - correct + 1, total + 1):
        miss *= max(0.0, 1.0 - k / n)
    return 1.0 - miss if total - correct >= k else 1.0


def pass_at_1(
    references: Union[str, List[str]], predictions: Union[Sequence[str], Sequence[Sequence[str]]]
) -> float:
    """As lm_eval.tasks.mbpp.utils.pass_at_1."""
    tests = [references] if isinstance(references, str) else references
    candidates = [[each] if isinstance(each, str) else each for each in predictions]
    return compute(predictions=candidates, references=tests, k=[1])[0]["pass@1"]
