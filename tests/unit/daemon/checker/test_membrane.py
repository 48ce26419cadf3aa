# SPDX-License-Identifier: MIT
"""The membrane between judge and candidate (daemon/checker/membrane.py and what it uses), as a table of small
jobs: features.txt has honest ones, which pass in one plain process and must pass in two; attacks.txt has
wrong code that must not pass. What stays out of the isolated mode by decision is marked `@refused` with the
reason, and fails the test as soon as it passes after all."""

from pathlib import Path

import pytest

import duel

HERE = Path(__file__).resolve().parent
FEATURES = duel.Jobs(HERE / "features.txt").jobs
ATTACKS = duel.Jobs(HERE / "attacks.txt").jobs
TOOLS = (HERE / "attack_tools.txt").read_text()


@pytest.fixture(scope="module")
def referee():
    referee = duel.Referee()
    yield referee
    referee.close()


@pytest.mark.parametrize("name", FEATURES)
def test_feature(referee, name):
    job = FEATURES[name]
    plain = referee.judge(job, "plain")
    assert plain["verdict"] == "pass", plain
    found = referee.judge(job)
    if "refused" in job:
        assert found["verdict"] not in ("pass", "hung", "crashed", "none"), found
    else:
        assert found["verdict"] == "pass", found


def parts_of(job):
    """Each target of an attack has to fail by itself, unless they are `@together`."""
    return [job] if "together" in job else [{**job, "targets": [target]} for target in job["targets"]]


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(referee, name):
    job = ATTACKS[name]
    if "wire" in job:
        job = {**job, "code": TOOLS + job["code"]}
    for part in parts_of(job):
        found = referee.judge(part)
        not_stopped = ("pass", "hung", "crashed", "none", *(["syntax_error"] if "wire" in job else []))  # the tools have to load
        assert found["verdict"] not in not_stopped, (found, part["targets"])


@pytest.mark.parametrize("end", ["asyncio.get_running_loop().call_later(0.01, os._exit, 3)", "waiting = asyncio.get_running_loop().create_future()\n"
                                 "    waiting.add_done_callback(lambda _: os._exit(3))\n    waiting.set_result(1)"], ids=["a timer", "a future"])  # fmt: skip
def test_a_loop_ends_when_the_code_is_gone(referee, end):
    """The loop of the tests calls what ends the process of the code, and then waits for it."""
    code = f"import asyncio, os\nasync def f():\n    {end}\n    await asyncio.sleep(600)"
    found = referee.judge({"code": code, "targets": ["import asyncio\nasyncio.run(f())"], "seconds": 20})
    assert found["verdict"] == "error", found


def test_code_that_is_gone_when_the_judge_would_end_it(referee):
    """Nothing has been asked since: the tests wait until nobody reads the wire."""
    code = "import os, threading\ndef f():\n    threading.Timer(0.05, os._exit, (3,)).start()\n    return 1"
    target = "import select\nassert f() == 1\nwire = select.poll()\nwire.register(4, 0)\nassert wire.poll(20000)"
    found = referee.judge({"code": code, "targets": [target]})
    assert (found["verdict"], found["detail"]) == ("error", "it exited with status 3 from inside"), found


def test_code_that_is_gone_a_moment_before_its_status_is_known(referee):
    """Nor is it asked anything while the judge waits for that. The moment is short: one try in fifteen meets it."""
    target = "import select\nassert f() == 1\nwire = select.poll()\nwire.register(4, 0)\nassert wire.poll(20000)"
    for n in range(60):
        code = f"import os, threading\ndef f():\n    threading.Timer({n % 12 * 0.002}, os._exit, (3,)).start()\n    return 1"
        found = referee.judge({"code": code, "targets": [target]})
        assert (found["verdict"], found["detail"]) == ("error", "it exited with status 3 from inside"), found


@pytest.mark.parametrize("before", ["", "import threading\n"], ids=["simple", "confirmed"])
def test_recursion_is_as_deep_as_in_a_script(referee, before):
    """Nearly: a script has levels for f(998). One process of the referee has fewer, so this is no feature."""
    code = f"{before}def f(n): return 0 if n == 0 else 1 + f(n - 1)\ndef g(xs): return xs if xs[0] == 0 else g([xs[0] - 1])"
    targets = ["assert f(995) == 995", "assert g([995]) == [0]", "def check(n):\n    assert f(n) == n\ncheck(995)"]
    assert referee.judge({"code": code, "targets": targets})["verdict"] == "pass"
    for levels in (999, 1000, 1040):
        assert referee.judge({"code": code, "targets": [f"assert f({levels}) == {levels}"]})["verdict"] == "assertion_fail"
