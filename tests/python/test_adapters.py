# SPDX-License-Identifier: MIT
"""Each adapter is called as its project calls it. Projects that Debian does not have are stood in for by
modules with their signatures, in standins/."""

import asyncio
import inspect
import json
import os
import subprocess
import sys

import pytest
import rubricd
from conftest import BENCH, DEADLINE, PACKAGE, PYTHON, run
from rubricd import code_eval, promptfoo, rewards

ADD = "def add(a, b):\n    return a + b\n"
TIMES = "def add(a, b):\n    return a * b\n"
TEST = "assert add(2, 3) == 5"
IN_PROSE = f"Sure!\n\n```python\n{ADD}```\nThat adds."
NEEDS_MORE = f"import no_such_module\n{TEST}"
NO_PYTHON = "assert add( =="


def parameters(function):
    return list(inspect.signature(function).parameters)


# --- Hugging Face evaluate, and lm-evaluation-harness ------------------------------------------


def test_code_eval_as_evaluate(examples):
    assert parameters(code_eval.compute) == ["predictions", "references", "k", "num_workers", "timeout"]
    candidates = [[TIMES, ADD], [ADD, "def add(a, b):\n    while True: pass\n"]]
    found, results = code_eval.compute(
        references=[TEST, TEST], predictions=candidates, k=[1, 2, 3], num_workers=4, timeout=2.0
    )
    assert found == {"pass@1": 0.5, "pass@2": 1.0}, "no task has three candidates"
    assert results[0][1] == (1, {"task_id": 0, "passed": True, "result": "passed", "completion_id": 1})
    assert results[0][0][1]["result"].startswith("failed: ") and "6" in results[0][0][1]["result"]
    assert results[1][1] == (1, {"task_id": 1, "passed": False, "result": "timed out", "completion_id": 1})


@pytest.mark.parametrize("total, correct, k, chance", [(5, 0, 1, 0), (5, 1, 1, 0.2), (5, 2, 3, 0.9), (4, 3, 2, 1)])
def test_the_estimate_is_unbiased(total, correct, k, chance):
    """1 - C(n - c, k) / C(n, k)"""
    assert code_eval._estimate(total, correct, k) == pytest.approx(chance)


def test_code_eval_as_lm_eval(examples):
    """The tasks humaneval and mbpp: a program with check() and its call, and assertions."""
    program = "def check(candidate):\n    assert candidate(2, 3) == 5\n\ncheck(add)"
    assert parameters(code_eval.pass_at_k) == ["references", "predictions", "k"]
    assert code_eval.pass_at_k([program], [[ADD, TIMES]], k=1) == {"pass@1": 0.5}
    assert code_eval.pass_at_k([program], [[ADD, TIMES]], k=[1, 2]) == {"pass@1": 0.5, "pass@2": 1.0}
    assert code_eval.pass_at_1(f"{TEST}\nassert add(1, 1) == 2", [ADD]) == 1.0
    assert code_eval.pass_at_1([TEST, TEST], [[ADD], [TIMES]]) == 0.5
    with pytest.raises(ValueError, match="k"):
        code_eval.pass_at_k([program], [[ADD]])


def test_code_eval_counts_no_error_as_a_failure(examples):
    with pytest.raises(rubricd.JobError, match="module_not_found"):
        code_eval.compute([[ADD]], [NEEDS_MORE], k=[1])
    with pytest.raises(rubricd.JobError, match=r"bad_request: job.targets\[0\]: it does not compile: invalid syntax"):
        code_eval.compute([[ADD]], [NO_PYTHON], k=[1])
    with pytest.raises(rubricd.JobError, match=r"bad_request: job.targets\[0\]: nothing that could fail runs in it"):
        code_eval.compute([[ADD]], ["def test_add():\n    assert add(2, 3) == 5"], k=[1])
    with pytest.raises(ValueError, match="1 predictions, but 2 references"):
        code_eval.compute([[ADD]], [TEST, TEST])


@pytest.mark.parametrize(
    "predictions, references, why",
    [
        ([ADD], [TEST], r"predictions\[0\]: expected a list of candidates \(.*\), got a string"),
        ([[ADD], []], [TEST, TEST], r"predictions\[1\]: expected at least one candidate, got none"),
        ([[ADD, None]], [TEST], r"predictions\[0\]\[1\]: expected a string, got a NoneType"),
        ([[ADD]], [[TEST]], r"references\[0\]: expected a string, got a list"),
        ([[ADD]], "x", r"references: expected a list, got a string"),
    ],
)
def test_code_eval_refuses_what_has_another_form(examples, predictions, references, why):
    """Each character of a string would be a candidate that fails."""
    with pytest.raises(ValueError, match=f"^{why}$"):
        code_eval.compute(predictions=predictions, references=references, k=[1])


def test_code_eval_says_which_k_is_left_out(examples, caplog):
    assert code_eval.compute([[ADD, TIMES]], [TEST], k=[1, 5])[0] == {"pass@1": 0.5}
    assert caplog.messages == ["no pass@5: a task has 2 candidates"]
    caplog.clear()
    assert code_eval.compute([[ADD, TIMES]], [TEST])[0] == {"pass@1": 0.5}
    assert caplog.messages == [], "the default is meant for any number of candidates"


# --- TRL ------------------------------------------------------------------------------------


def trl_calls(function, completions, **columns):
    """As GRPOTrainer: lists, by name, with what it adds itself; None becomes NaN there."""
    extra = {"completion_ids": [[1]] * len(completions), "trainer_state": object(), "log_metric": print}
    prompts = ["Add."] * len(completions)
    called = function(prompts=prompts, completions=completions, **extra, **columns)
    return run(called) if inspect.iscoroutinefunction(function) else called


@pytest.mark.parametrize("function", [rewards.code, rewards.code_async])
def test_rewards_for_trl(examples, function):
    conversation = [{"role": "assistant", "content": IN_PROSE}]
    parts = [{"role": "assistant", "content": [{"type": "text", "text": ADD}]}]
    tests = [[TEST, "assert add(2, 2) == 4"]] * 5
    completions = [ADD, TIMES, conversation, parts, "I cannot."]
    assert trl_calls(function, completions, tests=tests) == [1.0, 0.5, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("function", [rewards.code, rewards.code_async])
def test_no_verdict_is_no_reward(examples, function):
    tests = [[TEST], [NEEDS_MORE], [TEST, NO_PYTHON]]
    assert trl_calls(function, [ADD, ADD, ADD], tests=tests) == [1.0, None, None]
    with pytest.raises(ValueError, match='no column "tests"'):
        trl_calls(function, [ADD])
    with pytest.raises(ValueError, match="tests: expected a column of 2 values"):
        trl_calls(function, [ADD, ADD], tests=[[TEST]])


@pytest.mark.parametrize("function", [rewards.code, rewards.code_async])
def test_tests_as_data_sets_store_them(examples, function, caplog):
    tests = [json.dumps([TEST, "assert add(1, 1) == 1"]), TEST, "[]"]
    assert trl_calls(function, [ADD] * 3, tests=tests) == [0.5, 1.0, None]
    assert caplog.messages == ["no reward: bad_request: job.targets: expected 1 to 4096 assertions, got 0"]
    with pytest.raises(rubricd.InvalidJob, match=r"^bad_request: tests\[1\]: expected a text or a list of texts, got None"):
        trl_calls(function, [ADD] * 2, tests=[[TEST], None])
    with pytest.raises(rubricd.InvalidJob, match=r"^bad_request: tests\[0\]\[1\]: expected a text, got 5"):
        trl_calls(function, [ADD], tests=[[TEST, 5]])


OWN_ADD = f"{ADD}assert add(2, 3) == 5"  # the solution, in the tests of it
NOTHING_ASKED = "bad_request: the tests ask nothing of the code"
ASK_NO_CODE = {
    "numbers": (["assert 1 + 1 == 2", "x = 5\nassert x == 5"], None),
    "their own function": ([OWN_ADD], None),
    "in two texts, recursive": (["def f(n):\n    return n and f(n - 1)\n", "assert f(3) == 0"], None),
    "a class": (["class A:\n    n = 1\n\n    def f(self):\n        return A.n\n\n\nassert A().f() == 1"], None),
    "a list of JSON in JSON": (json.dumps([[TEST]]), None),
    "check()": ("def check(candidate):\n    assert 1 + 1 == 2\n", "add"),
}


@pytest.mark.parametrize("function", [rewards.code, rewards.code_async])
def test_tests_that_ask_nothing_of_any_code_give_no_reward(examples, function, caplog):
    tests, entry_points = map(list, zip(*ASK_NO_CODE.values()))
    assert trl_calls(function, [ADD] * len(tests), tests=tests, entry_point=entry_points) == [None] * len(tests)
    assert caplog.messages == [f"no reward: {NOTHING_ASKED}"] * len(tests)


ASK_SOME_CODE = {
    "a built-in name": (["assert sorted([2, 1]) == [1, 2]"], None),
    "a name in a function": (["def f():\n    return len([1])\n\n\nassert f() == 1"], None),
    "in an annotation": (["def f(a: int):\n    return a\n\n\nassert f(1) == 1"], None),
    "in a class": (["class A:\n    n = len([1])\n\n\nassert A.n == 1"], None),
    "as a default": (["def f(n=len([1])):\n    return n\n\n\nassert f() == 1"], None),
    "in a lambda": (["f = lambda: len([1])\nassert f() == 1"], None),
    "in a comprehension": (["assert [len([each]) for each in [1]] == [1]"], None),
    "on one line": (["assert 1 == 1; assert len([1]) == 1"], None),
    "after del": (["len = 1", "del len", "assert len([1]) == 1"], None),
    "bound later": (["def f():\n    return len([1])\n\n\nassert f() == 1\nlen = f"], None),
    "bound in one case": (["if 0:\n    len = 1\nassert len([1]) == 1"], None),
    "by its string": (["def f():\n    pass\n\n\nassert not f.__globals__.get('add3')"], None),
    "an import": (["n = 1\nfrom math import *\nassert n == 1"], None),
    "in a class of its name": (["class len:\n    n = len([1])\n\n\nassert len.n == 1"], None),
    "in a class that binds it": (["class A:\n    len = len([1])\n\n\nassert A.len == 1"], None),
    "called before it is bound": (
        ["def d(f):\n    f()\n    return f\n\n\n@d\ndef len(n=0):\n    return n or len([1])\n\n\nassert len(2) == 2"],
        None,
    ),
    "the name under test": ([OWN_ADD], "add"),
    "if it is there": (["try:\n    add3\nexcept NameError:\n    pass\nelse:\n    assert add3(1) == 4"], None),
    "a decorator": (["@staticmethod\ndef f():\n    return 1\n\n\nassert f() == 1"], None),
    "check() and a name": ("def check(candidate):\n    assert len([1]) == 1\n", "add"),
    "check() and its argument": ("def check(f):\n    def test_f():\n        assert f(1, 2) == 3\n", "add"),
}


@pytest.mark.parametrize("function", [rewards.code, rewards.code_async])
def test_no_code_chooses_to_have_no_reward(examples, function, caplog):
    """Another code might have been asked, and have failed: leaving out what was to be defined gains nothing."""
    tests, entry_points = map(list, zip(*ASK_SOME_CODE.values()))
    rewarded = trl_calls(function, [ADD] * len(tests), tests=tests, entry_point=entry_points)
    assert dict(zip(ASK_SOME_CODE, rewarded)) == dict.fromkeys(ASK_SOME_CODE, 0.0)
    assert caplog.messages == []


@pytest.mark.parametrize(
    "code",
    [
        f"raise SystemExit('{NOTHING_ASKED}')",
        f"raise RuntimeError('{NOTHING_ASKED}')",
        f"import sys\nsys.stderr.write('{NOTHING_ASKED}')\nsys.exit(1)",
        "import os\nos._exit(0)",
        "def add(",
        "while True: pass",
    ],
)
def test_a_code_that_fails_has_its_reward_whatever_the_tests(examples, code):
    answer = f"```python\n{code}\n```"
    assert trl_calls(rewards.code, [answer], tests=["assert 1 + 1 == 2"], timeout=[1]) == [0.0]


def test_no_adapter_counts_tests_that_ask_nothing(examples, standins):
    from deepeval.test_case import LLMTestCase
    from rubricd.deepeval import CodeMetric
    from rubricd.inspect import code

    for call in (
        lambda: code_eval.compute([[ADD]], [OWN_ADD], k=[1]),
        lambda: rewards.verl("taco", IN_PROSE, {"assert_case": [OWN_ADD]}),
        lambda: run(rewards.verl_async("taco", IN_PROSE, {"assert_case": [OWN_ADD]})),
        lambda: scored(code([OWN_ADD]), IN_PROSE, ""),
        lambda: CodeMetric([OWN_ADD]).measure(LLMTestCase("Add.", actual_output=IN_PROSE)),
        lambda: run(CodeMetric([OWN_ADD]).a_measure(LLMTestCase("Add.", actual_output=IN_PROSE))),
        lambda: promptfoo.get_assert(IN_PROSE, {"config": {"tests": [OWN_ADD]}}),
    ):
        with pytest.raises(rubricd.JobError, match=f"^{NOTHING_ASKED}$"):
            call()


@pytest.mark.parametrize("factory", [rewards.rubric, rewards.rubric_async])
def test_a_rubric_as_reward(examples, factory):
    reward = factory("exact-match")
    assert reward.__name__ == "exact-match", "TRL names it so in its logs"
    columns = {"question": ["Capital?"] * 2, "answer": ["Canberra", "Paris"]}
    assert trl_calls(reward, ["Canberra", "London"], **columns) == [1.0, 0.0]


CRASH = "import sys, json\nif json.load(sys.stdin)['case'].get('crash'):\n    raise KeyError('gold')\n"
JUDGES = CRASH + "print(json.dumps({'passed': True, 'score': 1}))\n"
MALFORMED = "the rubric judged nothing: its output is malformed: score: expected a number from 0 to 1"


def rubric_jobs(bench, code):
    """What names the rubric CODE to the adapters. Its scores have no breakdown."""
    return {"task_class": bench.rubric(code, task_class={"breakdown_keys": []}), "bench_root": str(bench.root)}


@pytest.mark.parametrize("factory", [rewards.rubric, rewards.rubric_async])
def test_a_rubric_that_crashes_gives_no_reward(examples, bench, factory, caplog):
    """Its score of 0 would teach the model that a right answer is wrong."""
    reward = factory(**rubric_jobs(bench, JUDGES))
    assert trl_calls(reward, ["x", "x"], crash=[False, True]) == [1.0, None]
    assert caplog.messages == ["no reward: the rubric crashed: KeyError: 'gold'"]


@pytest.mark.parametrize(
    "code, why",
    [
        ("print('{\"passed\": true, \"score\": 7}')", MALFORMED),
        ("import os; os._exit(3)", "the rubric crashed: exit status 3"),
        ("print('{\"passed\": true, \"score\": 1, \"breakdown\": {\"x\": 1}}')",
         "the rubric judged nothing: unknown breakdown key: x"),
    ],
)  # fmt: skip
def test_a_rubric_that_judges_nothing_gives_no_reward(examples, bench, caplog, code, why):
    assert trl_calls(rewards.rubric(**rubric_jobs(bench, code)), ["x"]) == [None]
    assert caplog.messages == [f"no reward: {why}"]


def test_a_rubric_that_takes_too_long_has_judged(examples, bench):
    """An answer may be what takes long, and then it would gain by it."""
    job = {**rubric_jobs(bench, "while True: pass"), "case": {"rubric_wall_clock_seconds": 1}}
    job = rubricd.jobs.rubric(harness_output={}, **job)
    with rubricd.connect(str(examples.socket)) as grader:
        result = grader.submit(job)
    assert (result.failure_modes[0].code, result.rubric_fault) == ("rubric.timeout", None)
    assert rewards._reward(result, job) == 0.0


def test_no_adapter_counts_a_rubric_that_crashed(examples, standins, bench):
    from deepeval.test_case import LLMTestCase
    from rubricd.deepeval import RubricMetric
    from rubricd.inspect import rubric

    job = rubric_jobs(bench, "raise KeyError('gold')")
    crashed = pytest.raises(rubricd.RubricCrashed, match="^the rubric crashed: KeyError: 'gold'$")
    with crashed:
        scored(rubric(**job), "Canberra", "Canberra")
    metric = RubricMetric(**job)
    with crashed:
        metric.measure(LLMTestCase("Capital?", actual_output="Canberra"))
    assert metric.score is None and not metric.is_successful()
    with crashed:
        promptfoo.get_assert("Canberra", {"config": job})


# --- the connection --------------------------------------------------------------------------


def test_an_adapter_without_a_daemon_names_its_own_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("RUBRICD_SOCKET", str(tmp_path / "none"))
    rubricd.configure()
    with pytest.raises(rubricd.NoDaemon) as caught:
        rewards.code(prompts=[""], completions=[ADD], tests=[TEST])
    remedy = "or let rubricd.configure(embedded=True, bench_root=...) start a private daemon"
    assert str(caught.value).endswith(remedy) and "connect(" not in str(caught.value)


@pytest.mark.parametrize("embedded", [True, False])
def test_the_bench_of_the_adapters(daemon, embedded, monkeypatch):
    """A private daemon and the service have it alike; the daemon itself knows no bench."""
    monkeypatch.setenv("RUBRICD_SOCKET", str(daemon.socket))
    monkeypatch.chdir(BENCH.parent)
    rubricd.configure(embedded=embedded, bench_root=BENCH.name)
    try:
        assert trl_calls(rewards.rubric("exact-match"), ["4"], answer=["4"]) == [1.0]
        assert trl_calls(rewards.code, [ADD], tests=[TEST]) == [1.0], "no bench comes with other kinds"
    finally:
        rubricd.configure()


def test_many_completions_keep_their_order(examples):
    completions = [ADD if n % 3 else TIMES for n in range(300)]
    assert trl_calls(rewards.code, completions, tests=[TEST] * 300) == [float(n % 3 > 0) for n in range(300)]


def test_a_child_of_fork_has_a_connection_of_its_own(examples):
    """As data loaders and workers do it."""
    assert trl_calls(rewards.code, [ADD], tests=[TEST]) == [1.0]
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = trl_calls(rewards.code, [ADD], tests=[TEST]) != [1.0]
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert trl_calls(rewards.code, [ADD], tests=[TEST]) == [1.0]


# --- verl, open-r1 --------------------------------------------------------------------------

ECHO = "```python\nprint(int(input()) + 1)\n```"
VERL = [
    (ECHO, {"inputs": ["1\n", "2\n"], "outputs": ["2\n", "4\n"]}, 0.5),
    (f"```python\n{ADD}```", {"fn_name": "add", "inputs": ["1\n2", "3\n4"], "outputs": ["3", "7"]}, 1.0),
    (f"```python\n{ADD}```", {"fn_name": "add", "inputs": [[1, 2]], "outputs": [4]}, 0.0),
    (IN_PROSE, {"assert_case": [TEST, "assert add(1, 1) == 3"]}, 0.5),
    (IN_PROSE, {"assert_case": [TEST], "inputs": [""], "outputs": [None], "private_tests": [], "difficulty": 3}, 1.0),
    (IN_PROSE, {"assert_case": [TEST], "inputs": None, "fn_name": None}, 1.0),
    ("```python\ndef same(a, b):\n    return a\n```",
     {"fn_name": "same", "inputs": ['"a\u2028\x85b"\n1\n'], "outputs": ['"a\u2028\x85b"']}, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("function", [rewards.verl, rewards.verl_async])
def test_rewards_for_verl(examples, function):
    assert parameters(function)[:4] == ["data_source", "solution_str", "ground_truth", "extra_info"]
    for solution, truth, share in VERL:
        for given in (truth, json.dumps(truth)):
            called = function(data_source="taco", solution_str=solution, ground_truth=given, extra_info={"index": 1})
            assert (run(called) if asyncio.iscoroutine(called) else called) == share, truth


class Array:
    """As NumPy's: it has a length, and no truth if it is longer than one."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.items)

    def __bool__(self):
        raise ValueError("the truth value of an array is ambiguous")


def test_a_ground_truth_of_arrays(examples):
    assert rewards.verl("taco", ECHO, {"inputs": Array("1\n", "2\n"), "outputs": Array("2\n", "4\n")}) == 0.5
    asserted = {"assert_case": Array(TEST, TEST), "inputs": Array("", ""), "outputs": Array("", "")}
    assert rewards.verl("taco", IN_PROSE, {**asserted, "private_tests": Array()}) == 1.0
    with pytest.raises(ValueError, match="^ground_truth.inputs: not run beside assert_case"):
        rewards.verl("taco", IN_PROSE, {**asserted, "inputs": Array("", "1")})


@pytest.mark.parametrize(
    "truth, why",
    [
        ({}, "inputs"),
        ([1], "expected an object"),
        ({"inputs": [1], "outputs": []}, "many"),
        ({"inputs": "12", "outputs": ["1", "2"]}, "ground_truth.inputs: expected a list, got '12'"),
        ({"inputs": ["1"], "outputs": {"1": "2"}}, "ground_truth.outputs: expected a list, got {'1': '2'}"),
        ({"inputs": [{"a": 1}], "outputs": ["1"], "fn_name": "f"}, r"ground_truth.inputs\[0\]: expected a list of arguments"),
        ({"inputs": ['"ab"'], "outputs": [5], "fn_name": 5, "assert_case": {"a": 1}}, "ground_truth.assert_case: expected a text or"),
        ("nonsense", "^ground_truth: not JSON: Expecting value: line 1 column 1"),
        ({"inputs": ["1", "a b"], "outputs": ["1", "2"], "fn_name": "f"}, r"^ground_truth.inputs\[1\]: not JSON: "),
        ({"inputs": ["1"], "outputs": ["["], "fn_name": "f"}, r"^ground_truth.outputs\[0\]: not JSON: "),
        ({"inputs": ["5", "6"], "outputs": ["5", None]}, r"^ground_truth.outputs\[1\]: expected a text, got None: any"),
        ({"assert_case": [TEST], "inputs": ["5"], "outputs": ["9"]}, "^ground_truth.inputs: not run beside assert_case"),
        ({"assert_case": [TEST], "inputs": [""], "outputs": ["9"]}, "^ground_truth.outputs: not run beside assert_case"),
        ({"assert_case": [TEST], "hidden_inputs": ["5"]}, "^ground_truth.hidden_inputs: it has tests that would not be run"),
        ({"inputs": ["5"], "outputs": ["5"], "private_tests": [1]}, "^ground_truth.private_tests: it has tests that would"),
    ],
)
def test_a_ground_truth_that_is_none(truth, why):
    with pytest.raises(ValueError, match=why):
        rewards.verl("taco", ECHO, truth)


def test_the_provider_of_open_r1(examples):
    provider = rewards.Provider(num_parallel=2)
    assert parameters(provider.execute_scripts) == ["scripts", "languages"]
    scripts = ["print('x')\nprint(0.75)", "print(1)\nraise SystemExit(1)", "print('no number')", "", "echo 0.5"]
    languages = ["python"] * 4 + ["bash"]
    assert provider.execute_scripts(scripts, languages) == [0.75, 0.0, 0.0, 0.0, 0.5]
    no_numbers = [f"print('{word}')" for word in ("nan", "-inf", "1e999", "Infinity")]
    assert provider.execute_scripts(no_numbers, ["python"] * 4) == [0.0] * 4, "any other would spoil the whole batch"
    with pytest.raises(ValueError, match=r"languages\[0\]: expected python or bash, got 'cobol'"):
        provider.execute_scripts(["x"], ["cobol"])


# --- Inspect --------------------------------------------------------------------------------


def scored(scorer, completion, target, **metadata):
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    return run(scorer(TaskState("Capital?", completion, metadata), Target(target)))


def test_scorers_for_inspect(examples, standins):
    from inspect_ai.scorer import REGISTERED
    from rubricd.inspect import code, rubric

    assert REGISTERED == {"rubric": ["mean", "stderr"], "code": ["mean", "stderr"]}
    right = scored(rubric("exact-match"), "Canberra", "Canberra")
    assert (right.value, right.answer, right.explanation) == (1.0, "Canberra", "passed")
    wrong = scored(rubric("exact-match"), "Paris", "Canberra")
    assert (wrong.value, wrong.explanation) == (0.0, "answer.wrong: Paris")
    assert wrong.metadata["failure_modes"] == ["answer.wrong"] and not wrong.metadata["passed"]
    assert scored(code([TEST]), IN_PROSE, "").value == 1.0
    assert scored(code(), IN_PROSE, "", tests=[TEST, "assert add(1, 1) == 3"]).value == 0.5
    assert scored(code(entry_point="add"), ADD, "def check(f):\n    assert f(1, 2) == 3\n").value == 1.0
    with pytest.raises(rubricd.JobError, match="rubric_not_found"):
        scored(rubric("no-such-class"), "x", "x")


# --- DeepEval -------------------------------------------------------------------------------


def test_metrics_of_deepeval(examples, standins):
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase
    from rubricd.deepeval import CodeMetric, RubricMetric

    metric = RubricMetric("exact-match", threshold=0.5)
    assert isinstance(metric, BaseMetric) and metric.__name__ == "exact-match"
    case = LLMTestCase("Capital?", actual_output="Canberra", expected_output="Canberra")
    assert metric.measure(case) == 1.0 and metric.is_successful() and metric.reason == "passed"
    wrong = LLMTestCase("Capital?", actual_output="Paris", expected_output="Canberra")
    assert run(metric.a_measure(wrong, _show_indicator=False)) == 0.0
    assert not metric.is_successful() and metric.reason == "answer.wrong: Paris"
    code = CodeMetric([TEST, "assert add(1, 1) == 3"])
    assert code.measure(LLMTestCase("Add.", actual_output=IN_PROSE)) == 0.5 and not code.is_successful()


@pytest.mark.parametrize("module, library", [("inspect", "inspect-ai"), ("deepeval", "deepeval")])
def test_a_missing_library_is_named(module, library, monkeypatch):
    monkeypatch.setitem(sys.modules, {"inspect": "inspect_ai"}.get(module, module), None)
    with pytest.raises(ImportError, match=f"rubricd.{module} needs .*: pip install {library}"):
        __import__(f"rubricd.{module}")


# --- promptfoo ------------------------------------------------------------------------------


def test_a_script_ends_with_its_private_daemon():
    """An adapter that started one ends it with the interpreter, when no thread can be started any more."""
    script = (
        "import rubricd\nfrom rubricd.promptfoo import get_assert\nrubricd.configure(embedded=True, slots=1)\n"
        "print(get_assert('def f(): return 1', {'config': {'tests': ['assert f() == 1']}})['pass'])"
    )
    env = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    done = subprocess.run(
        [PYTHON, "-c", script], env=env, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_assertions_of_promptfoo(examples):
    assert parameters(promptfoo.get_assert) == ["output", "context"]
    context = {"vars": {"question": "Capital?", "answer": "Canberra"}, "config": {"task_class": "exact-match"}}
    right = promptfoo.get_assert("Canberra", context)
    assert (right["pass"], right["score"], right["reason"]) == (True, 1, "passed")
    assert right["namedScores"]["exact"] == 1
    assert promptfoo.get_assert({"answer": "Canberra"}, context)["pass"]
    wrong = promptfoo.get_assert("Paris", context)
    assert (wrong["pass"], wrong["score"], wrong["reason"]) == (False, 0, "answer.wrong: Paris")
    code = {"config": {"tests": [TEST, "assert add(1, 1) == 3"], "entry_point": "add"}}
    assert promptfoo.get_assert(IN_PROSE, code)["score"] == 0.5
    json.dumps([right, wrong])


@pytest.mark.parametrize(
    "config, why", [(None, "task_class"), ({"task_class": "x", "test": 1}, "config.test"), ({"tests": [], "x": 1}, "config.x")]
)
def test_a_config_that_says_too_little_or_too_much(config, why):
    with pytest.raises(ValueError, match=why):
        promptfoo.get_assert("x", {"config": config})


def test_configure_refuses_what_connect_refuses():
    with pytest.raises(ValueError, match="window"):
        rubricd.configure(window=0)
