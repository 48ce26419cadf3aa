# SPDX-License-Identifier: MIT
"""The examples of client/python/README.md run, print what their comments say, and have at most five lines."""

import asyncio
import contextlib
import io
import re

import pytest
import rubricd
from conftest import PACKAGE, run

EXAMPLES = re.findall(r"^```python\n(.*?)^```$", (PACKAGE / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def heading(example):
    return next(line for line in example.splitlines() if "rubricd" in line)[:40]


@pytest.mark.parametrize("example", EXAMPLES, ids=map(heading, EXAMPLES))
def test_example(example, examples, standins, monkeypatch):
    monkeypatch.setenv("RUBRICD_SOCKET", str(examples.socket))
    assert len(example.splitlines()) <= 5
    space = {"rubricd": rubricd, "asyncio": asyncio, "samples": [("Capital?", "Canberra", "Canberra")]}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(example, space)
    assert printed.getvalue().splitlines() == re.findall(r"print\(.*\)  # (.*)$", example, re.MULTILINE)
    if "task" in space:
        assert [score.value for score in score_all(space["task"])] == [1.0]
    if "get_assert" in space:
        context = {"vars": {"answer": "Canberra"}, "config": {"task_class": "exact-match"}}
        assert space["get_assert"]("Canberra", context)["pass"]


def score_all(task):
    """As Inspect does with a task, once the model has answered."""
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    return [run(task.scorer(TaskState(text, answer), Target(target))) for text, answer, target in task.dataset]


def test_each_adapter_has_an_example():
    together = "\n".join(EXAMPLES)
    for word in ("code_eval", "rewards.code", "rewards.rubric", "verl", "Provider", "rubricd.inspect", "rubricd.deepeval", "get_assert"):
        assert word in together
