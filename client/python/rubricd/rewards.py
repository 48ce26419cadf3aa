# SPDX-License-Identifier: MIT
"""Reward functions for TRL, verl and open-r1.

TRL calls f(prompts, completions, **columns), with the data set's columns as lists, and awaits it if it
is async; a reward of None leaves a sample out of this function, which is what a job without verdict
gets, and one whose rubric crashed or whose tests ask nothing of any code. verl calls f(data_source, solution_str, ground_truth, extra_info).
open-r1 calls execute_scripts(scripts, languages) of a provider."""

import json
import logging
import math
import re
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _shared, jobs
from .errors import JobError
from .results import Result

log = logging.getLogger("rubricd")

Rewards = List[Optional[float]]
RewardFunction = Callable[..., Rewards]
AsyncRewardFunction = Callable[..., Awaitable[Rewards]]


def text_of(completion: Any) -> str:
    """Returns the text of a COMPLETION, which may be conversational: what the assistant said last."""
    if isinstance(completion, str):
        return completion
    for message in reversed(completion):
        if message.get("role", "assistant") == "assistant":
            content = message.get("content")
            if isinstance(content, list):  # of parts, as models with images have them
                return "".join(part.get("text") or "" for part in content)
            return content or ""
    return ""


def _reward(answer: Union[Result, JobError], job: jobs.Job) -> Optional[float]:
    if isinstance(answer, Result):
        answer = _shared.judged(answer, job)
    if isinstance(answer, JobError):
        log.warning("no reward: %s", answer)
        return None
    return 0.0 if answer.score is None else float(answer.score)


def _column(columns: Mapping[str, Any], name: str, size: int) -> Sequence[Any]:
    values = columns.get(name)
    if values is None:
        return [None] * size
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != size:
        raise ValueError(f"{name}: expected a column of {size} values")
    return values


# --- TRL ------------------------------------------------------------------------------------


def _code_jobs(completions: Sequence[Any], columns: Mapping[str, Any]) -> List[jobs.Job]:
    size = len(completions)
    if "tests" not in columns:
        raise ValueError('the data set has no column "tests"')
    rows = zip(
        completions,
        _column(columns, "tests", size),
        _column(columns, "entry_point", size),
        _column(columns, "timeout", size),
    )
    return [
        jobs.code(
            generation=text_of(each),
            tests=jobs.code_tests(tests, f"tests[{row}]"),
            entry_point=entry,
            timeout=timeout,
        )
        for row, (each, tests, entry, timeout) in enumerate(rows)
    ]


def code(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Rewards:
    """For TRL: the share of the assertions that hold for the Python in each completion. The data set has
    a column `tests`, as for jobs.code(), also as JSON in a string, and may have `entry_point` and `timeout`.
    The reward is None where there are no tests, or where they ask nothing of any code."""
    made = _code_jobs(completions, columns)
    return list(map(_reward, _shared.ask_all(made), made))


async def code_async(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Rewards:
    """code() with async: TRL runs it beside its other async functions."""
    made = _code_jobs(completions, columns)
    return list(map(_reward, await _shared.ask_all_async(made), made))


# What TRL hands over beside columns of the data set.
_NO_COLUMNS = ("completion_ids", "trainer_state", "log_extra", "log_metric", "environments")


def _rubric_jobs(
    task_class: str, bench_root: Optional[str], completions: Sequence[Any], columns: Dict[str, Any]
) -> List[jobs.Job]:
    named = {
        name: _column(columns, name, len(completions))
        for name in columns
        if name not in _NO_COLUMNS
    }
    return [
        jobs.rubric(
            task_class,
            {name: values[place] for name, values in named.items()},
            {"answer": text_of(completion)},
            bench_root=bench_root,
        )
        for place, completion in enumerate(completions)
    ]


def rubric(task_class: str, bench_root: Optional[str] = None) -> RewardFunction:
    """For TRL: makes a reward function of a rubric. Its case has the columns of the data set, its
    harness output the completion as `answer`."""

    def reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Rewards:
        made = _rubric_jobs(task_class, bench_root, completions, columns)
        return list(map(_reward, _shared.ask_all(made), made))

    reward.__name__ = task_class  # TRL's name for it in its logs
    return reward


def rubric_async(task_class: str, bench_root: Optional[str] = None) -> AsyncRewardFunction:
    """rubric() with async."""

    async def reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Rewards:
        made = _rubric_jobs(task_class, bench_root, completions, columns)
        return list(map(_reward, await _shared.ask_all_async(made), made))

    reward.__name__ = task_class
    return reward


# --- verl -----------------------------------------------------------------------------------


def _read_json(text: Any, place: str) -> Any:
    """Decodes TEXT, a string of JSON; returns any other value as it is. Raises ValueError, which names PLACE."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError as error:
        raise ValueError(f"{place}: not JSON: {error}") from None


def _lines(text: str) -> List[str]:
    """Splits TEXT at line feeds alone: JSON may have other separators of lines in its strings."""
    return text.removesuffix("\n").split("\n") if text else []


def _call_test(number: int, given: Any, expected: Any) -> Dict[str, Any]:
    """A call of a function: arguments are JSON, one on each line, and so is what it gives back."""
    place = f"ground_truth.inputs[{number}]"
    args = [_read_json(line, place) for line in _lines(given)] if isinstance(given, str) else given
    return {
        "args": jobs.items_of(args, place, "a list of arguments"),
        "expected": _read_json(expected, f"ground_truth.outputs[{number}]"),
    }


_TRUTH = ("inputs", "outputs", "fn_name", "assert_case")
_OF_TESTS = re.compile("test|case|input|output|assert|hidden|private|check|judge", re.IGNORECASE)


def _has_some(value: Any) -> bool:
    """Whether VALUE is more than nothing. An array of NumPy's, as parquet files give, has a length and no truth."""
    return len(value) > 0 if hasattr(value, "__len__") else bool(value)


def _check_members(truth: Mapping[str, Any]) -> None:
    """Refuses tests that would not be run: the code would seem to have passed them."""
    for name, value in truth.items():
        if name not in _TRUTH and _OF_TESTS.search(str(name)) and _has_some(value):
            raise ValueError(f"ground_truth.{name}: it has tests that would not be run: expected only {', '.join(_TRUTH)}")


def _check_placeholders(truth: Mapping[str, Any]) -> None:
    """Refuses inputs and outputs beside assert_case, which judges alone."""
    for name in ("inputs", "outputs"):
        # verl wants as many of these as there are assertions, and does not look at them.
        values = truth.get(name)
        given = [] if values is None else jobs.items_of(values, f"ground_truth.{name}", "a list")
        if any(value not in ("", None) for value in given):
            raise ValueError(f"ground_truth.{name}: not run beside assert_case: leave out one of the two")


def _verl_job(solution: str, ground_truth: Any, extra_info: Optional[Mapping[str, Any]]) -> jobs.Job:
    truth = _read_json(ground_truth, "ground_truth")
    if not isinstance(truth, Mapping):
        raise ValueError(f"ground_truth: expected an object, got a {type(truth).__name__}")
    _check_members(truth)
    if _has_some(truth.get("assert_case")):
        tests = jobs.code_tests(truth["assert_case"], "ground_truth.assert_case")
        _check_placeholders(truth)
        return jobs.code(generation=solution, tests=tests, entry_point=truth.get("fn_name"))
    if "inputs" not in truth or "outputs" not in truth:
        raise ValueError('ground_truth: expected "inputs" and "outputs", or "assert_case"')
    inputs = jobs.items_of(truth["inputs"], "ground_truth.inputs", "a list")
    outputs = jobs.items_of(truth["outputs"], "ground_truth.outputs", "a list")
    if len(inputs) != len(outputs):
        raise ValueError("ground_truth: as many outputs as inputs are needed")
    pairs: List[Any] = list(zip(inputs, outputs))
    name = truth.get("fn_name")
    if not name and None in outputs:
        raise ValueError(f"ground_truth.outputs[{outputs.index(None)}]: expected a text, got None: any program would pass")
    if name:
        pairs = [_call_test(number, *pair) for number, pair in enumerate(pairs)]
    return jobs.program(
        generation=solution,
        language=(extra_info or {}).get("language") or "python",
        tests=pairs,
        call=name,
        stop="all",
    )


def _verl_reward(result: Result, job: jobs.Job) -> float:
    result = _shared.verdict(result, job)
    return float(result.breakdown.get("tests_passed", result.score or 0.0))


def verl(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> float:
    """For verl: the share of the tests that pass. `ground_truth` is what verl's data sets of code have:
    {"inputs", "outputs"} with `fn_name` if a function is called, or {"assert_case": [...]}, as an object
    or its JSON. `extra_info` may name the program's `language`. Raises ValueError if it has further tests: verl
    passes over inputs and outputs beside assert_case, which must be "" or None here."""
    job = _verl_job(solution_str, ground_truth, extra_info)
    return _verl_reward(_shared.grader().submit(job), job)


async def verl_async(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> float:
    """verl() with async."""
    job = _verl_job(solution_str, ground_truth, extra_info)
    return _verl_reward(await _shared.ask(job), job)


# --- open-r1 --------------------------------------------------------------------------------

_RUNNERS = {"python": "python", "py": "python", "python3": "python", "bash": "shell", "sh": "shell"}
SCRIPT_TIMEOUT_S = 30.0


class Provider:
    """For open-r1: a CodeExecutionProvider. A script writes its reward on the last line of its output;
    one that fails or writes no finite number has the reward 0, and one without verdict None."""

    def __init__(self, num_parallel: int = 2, timeout: float = SCRIPT_TIMEOUT_S) -> None:
        self.num_parallel = num_parallel  # the daemon's slots decide
        self.timeout = timeout

    def execute_scripts(self, scripts: List[str], languages: List[str]) -> Rewards:
        if len(scripts) != len(languages):
            raise ValueError(f"{len(scripts)} scripts, but {len(languages)} languages")
        made = []
        for place, (script, language) in enumerate(zip(scripts, languages)):
            runner = _RUNNERS.get(language.lower())
            if runner is None:
                raise ValueError(f"languages[{place}]: expected python or bash, got {language!r}")
            made.append(jobs.sandbox(script, runner=runner, timeout=self.timeout))
        return list(map(_last_line, _shared.ask_all(made), made))


def _last_line(answer: Union[Result, JobError], job: jobs.Job) -> Optional[float]:
    if isinstance(answer, JobError):
        return _reward(answer, job)
    lines = answer.stdout.split()
    try:
        reward = float(lines[-1]) if answer.passed and lines else 0.0
    except ValueError:
        return 0.0
    return reward if math.isfinite(reward) else 0.0  # one nan would spoil the gradients of the whole batch
