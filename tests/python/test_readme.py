# SPDX-License-Identifier: MIT
"""The examples of client/python/README.md run as they stand there, with a daemon that has no bench in its
configuration, print what their comments say, and have at most five lines beside imports of modules."""

import contextlib
import io
import re

import pytest
import rubricd
from conftest import BENCH, PACKAGE, ROOT, run

EXAMPLES = re.findall(r"^```python\n(.*?)^```$", (PACKAGE / "README.md").read_text(), re.MULTILINE | re.DOTALL)

INSTALLED_BENCH = "/usr/share/rubricd/bench"  # which the tests may not have


def heading(example):
    return next(line for line in example.splitlines() if "rubricd" in line)[:40]


@pytest.fixture(name="adapters")
def adapters_of(daemon, monkeypatch):
    """A service as it is installed; the adapters find its socket. It has no bench."""
    monkeypatch.setenv("RUBRICD_SOCKET", str(daemon.socket))
    rubricd.configure()
    yield
    rubricd.configure()


@pytest.mark.parametrize("example", EXAMPLES, ids=map(heading, EXAMPLES))
def test_example(example, adapters, standins):
    assert len([line for line in example.splitlines() if not line.startswith("import ")]) <= 5
    space = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(example.replace(INSTALLED_BENCH, str(BENCH)), space)
    assert printed.getvalue().splitlines() == re.findall(r"print\(.*\)  # (.*)$", example, re.MULTILINE)
    if "task" in space:
        assert [score.value for score in score_all(space["task"])] == [1.0]
    elif "get_assert" in space:
        context = {"vars": {"answer": "Canberra"}, "config": {"task_class": "exact-match", "bench_root": str(BENCH)}}
        assert space["get_assert"]("Canberra", context)["pass"]


def test_the_bench_of_the_examples_is_installed():
    """Where the examples say, with the task class that they name."""
    listed = (ROOT / "packaging/debian/rubricctl.install").read_text()
    assert INSTALLED_BENCH[1:] in listed.split() and (BENCH / "exact-match/rubric.py").exists()
    named = set(re.findall(r'bench_root[=:] ?"?([^")},]*)', "\n".join(EXAMPLES)))
    assert named == {INSTALLED_BENCH}


def score_all(task):
    """As Inspect does with a task, once the model has answered."""
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    return [run(task.scorer(TaskState(each.input, each.target), Target(each.target))) for each in task.dataset]


def test_each_adapter_has_an_example():
    together = "\n".join(EXAMPLES)
    for word in ("code_eval", "rewards.code", "rewards.rubric", "verl", "Provider", "rubricd.inspect", "rubricd.deepeval", "get_assert"):
        assert word in together
