# SPDX-License-Identifier: MIT
"""Tests that ask nothing of the code pass nothing, and say that this is their own fault."""

import pytest
from duel import Referee
from jobs import Job, program

NOTHING = "the tests ask nothing of the code"
SEVEN = "def f(): return 7"
# Name: the test program, for which `return 7` is wrong.
UNASKED = {
    "a coroutine": "async def check(c):\n    assert c() == 9",
    "an asynchronous generator": "async def check(c):\n    assert c() == 9\n    yield",
    "a generator": "def check(c):\n    assert c() == 9\n    yield",
    "a function within": "def check(c):\n    def inner():\n        assert c() == 9",
    "a lambda within": "def check(c):\n    inner = lambda: c() == 9 and callable(c)",
    "a coroutine within": "def check(c):\n    async def inner(c):\n        assert c() == 9\n    inner(c)",
    "no question": "def check(c):\n    assert True",
    "an early return": "def check(c):\n    return\n    assert c() == 9 and c.__name__ == 'g'",
    "no cases": "def check(c):\n    for x, y in []:\n        assert c(x) == y",
    "an exit": "import sys\ndef check(c):\n    sys.exit(0)\n    assert c() == 9",
    "a coroutine that would look": "async def check(c):\n    assert callable(c) and c() == 9",
    "a coroutine that would start processes": "import subprocess\nasync def check(c):\n    assert c() == 9",
    "a lambda that is the check": "check = lambda c: True",
}
FORKED = """
import os
def check(c):
    pid = os.fork()
    if pid == 0:
        os._exit(c() != 7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
# Name: the code, and a test program that it passes.
ASKED = {
    "a call": (SEVEN, "def check(c):\n    assert c() == 7"),
    "a coroutine that runs": (SEVEN, "import asyncio\ndef check(c):\n    async def inner():\n        assert c() == 7\n"
                              "    asyncio.run(inner())"),
    "a thread": (SEVEN, "import threading\ndef check(c):\n    got = []\n    t = threading.Thread(target=lambda: got.append(c()))\n"
                 "    t.start()\n    t.join()\n    assert got == [7]"),
    "the global name": (SEVEN, "def check(c):\n    assert f() == 7"),
    "another name": ("N = 3\n" + SEVEN, "def check(c):\n    assert N == 3"),
    "a value": ("f = 7", "def check(c):\n    assert c == 7"),
    "its name": (SEVEN, "def check(c):\n    assert c.__name__ == 'f'"),
    "its parameters": (SEVEN, "import inspect\ndef check(c):\n    assert not inspect.signature(c).parameters"),
    "that it can be called": (SEVEN, "def check(c):\n    assert callable(c)"),
    "an attribute": ("class f:\n    x = 7", "def check(c):\n    assert c.x == 7"),
    "a member": ("import enum\nclass f(enum.Enum):\n    A = 7", "def check(c):\n    assert c.A.value == 7"),
    "an import": (SEVEN, "def check(c):\n    from __main__ import f as same\n    assert same() == 7"),
    "a process": (SEVEN, FORKED),
    "a process of Python's": (SEVEN, "import inspect, subprocess, sys\ndef check(c):\n"
                              "    assert subprocess.run([sys.executable, '-c', 'pass']).returncode == 0"),
}  # fmt: skip


@pytest.fixture(scope="module", name="referee")
def make_referee():
    made = Referee()
    yield made
    made.close()


def judged(referee, code, test):
    found = referee.judge({"code": code, "targets": (), "test": test, "entry_point": "f"})
    return found["verdict"], found["detail"]


@pytest.mark.parametrize("name", UNASKED)
def test_a_program_that_asks_nothing(referee, name):
    verdict, detail = judged(referee, SEVEN, UNASKED[name])
    assert verdict == "error" and NOTHING in detail, detail


@pytest.mark.parametrize("name", ASKED)
def test_a_program_that_asks(referee, name):
    assert judged(referee, *ASKED[name]) == ("pass", "")


@pytest.mark.parametrize("targets", [["for x in []:\n    assert f() == x"], ["x = 1", "assert x and (lambda: f() == 9)"]])
def test_targets_that_ask_nothing(referee, targets):
    found = referee.judge({"code": SEVEN, "targets": targets})
    assert found["verdict"] == "error" and found["detail"].count(NOTHING) == len(targets) + 1, found


def refused(*targets, setup="", test=""):
    job = Job("", *targets, setup=setup, test=test)
    texts = [(setup, "job.test_setup"), (test, "job.test")]
    return program.refused([*texts, *((text, f"job.targets[{n}]") for n, text in enumerate(job.targets))])


IDLE = "nothing that could fail runs in it"


@pytest.mark.parametrize(
    "target",
    ["# assert f() == 1", "'''assert f() == 1'''", "pass", "assert True", "assert 1, 'f'", "assert lambda: f() == 9",
     "def test_f():\n    assert f() == 1", "lambda: f()", "import unittest\nclass T(unittest.TestCase):\n"
     "    def test_f(self):\n        self.assertEqual(f(), 1)", "async def test_f():\n    assert f() == 1"],
)  # fmt: skip
def test_targets_in_which_nothing_runs(target):
    assert refused(target) == ("job.targets[0]", IDLE)
    assert refused(target, "pass") == ("job.targets", IDLE)
    assert refused(target, "assert f() == 1") is None


@pytest.mark.parametrize(
    "target",
    ["assert False", "f()", "assert f()", "@f\ndef test_f():\n    pass", "class T:\n    assert f() == 1", "x = f()",
     "if __name__ == '__main__':\n    assert f()", "assert []", "del f"],
)  # fmt: skip
def test_targets_in_which_something_runs(target):
    assert refused(target) is None


TUPLE = "it asserts a tuple, which is always true; leave off its parentheses (line {})"


def test_a_tuple_is_always_true():
    target = "x = 1\nassert (f(x) == 2, 'wrong')"
    assert refused("assert f()", target) == ("job.targets[1]", TUPLE.format(2))
    assert refused(test="def check(f):\n    assert (f(1) == 2,)") == ("job.test", TUPLE.format(2))
    assert refused("assert g()", setup="def g():\n    assert (f(1), 'x')\n    return 1") == ("job.test_setup", TUPLE.format(2))
    for good in "assert (f(1) == 2), 'wrong'", "assert ()", "assert (*f(1),)", "assert (1, 2) == f(1)", "x = (f(1), 2)":
        assert refused(good) is None, good
