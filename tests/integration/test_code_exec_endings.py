# SPDX-License-Identifier: MIT
"""Ways in which tests end, or fail, without anybody hearing of it: by what the code hands them, in a function of theirs
that the code calls, in a process that they fork."""

import pytest
from code_exec_jobs import assert_passed, assert_verdict, details, judge

# Python code decides what the checker believes; the daemon sees ordinary reports.
pytestmark = pytest.mark.once


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


PATCHED = "from unittest.mock import patch\nimport io\nwith patch('sys.stdout', new_callable=io.StringIO) as out:\n    {}\nassert out.getvalue() == '7'"
ARGUMENTS = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int)\n"
EXITS = {
    "a module of the judge's under another name": ("import unittest as solution", PATCHED.format("solution.main()")),
    "one that a function returns": ("import unittest\ndef f(x): return unittest", PATCHED.format("f(1).main()")),
    "one that a class is made to be": ("import unittest\nclass App:\n    def __new__(cls): return unittest", PATCHED.format("App().main(['x'])")),
    "arguments for argparse": ("def f(x): return ['-h']", ARGUMENTS + "assert p.parse_args(f(3)).n == 3"),
    "a text for argparse": ("def f(x): return 'tool --help'", "import shlex\n" + ARGUMENTS + "assert p.parse_args(shlex.split(f(3))[1:]).n == 3"),
    "arguments for optparse": ("def f(x): return ['-h']", "import optparse\np = optparse.OptionParser()\np.add_option('--n', type=int)\nassert p.parse_args(f(3))[0].n == 3"),
    "a function that has a name of site's": ("def quit(): pass\ndef f(x): return x", "assert f(1) == 1\nquit()\nassert f(2) == 99"),
}  # fmt: skip


@pytest.mark.parametrize("name", EXITS)
def test_no_exit_that_the_code_brings_about_ends_the_tests(client, name):
    code, test = EXITS[name]
    assert_verdict(judge(client, code, test), "assertion_fail")


@pytest.mark.parametrize("test", [
    "import sys\nassert f(1) == 1\nsys.exit(0)", "assert f(1) == 1\nraise SystemExit", "assert f(1) == 1\nexit()",
    "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(f(1), 1)\nunittest.main()",
    ARGUMENTS + "try:\n    p.parse_args(['-h'])\nexcept SystemExit as e:\n    assert e.code == 0\nassert f(1) == 1",
])  # fmt: skip
def test_tests_that_end_themselves_complete(client, test):
    assert_passed(judge(client, "def f(x): return x", test))


SWALLOW = "    try: cb(7)\n    except AssertionError: pass\n"
CALLBACK = "def cb(x): assert x % 2 == 0\n"
ITEMS = "class P:\n  def __init__(self, xs, cb): self.xs, self.cb = list(xs), cb\n"
INNER = "    try: self.cb(7)\n    except AssertionError: pass\n"
UNHEARD = {
    "a generator": ("def f(xs, cb):\n    for x in xs: yield x\n" + SWALLOW, "out = []\nfor o in f([2, 4], cb): out.append(o)\nassert out == [2, 4]"),
    "an asynchronous generator": (
        "async def f(xs, cb):\n    for x in xs: yield x\n" + SWALLOW,
        "import asyncio\nasync def t(): return [o async for o in f([2, 4], cb)]\nassert asyncio.run(t()) == [2, 4]",
    ),
    "an iterator": (ITEMS + "  def __iter__(self): return self\n  def __next__(self):\n    if self.xs: return self.xs.pop(0)\n" + INNER + "    raise StopIteration", "assert list(P([2, 4], cb)) == [2, 4]"),
    "items": (ITEMS + "  def __getitem__(self, i):\n    if i < len(self.xs): return self.xs[i]\n" + INNER + "    raise IndexError", "assert list(P([2, 4], cb)) == [2, 4]"),
    "a property": (ITEMS + "  @property\n  def more(self):\n" + INNER + "    raise AttributeError('more')", "assert not hasattr(P([], cb), 'more')"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNHEARD)
def test_an_iteration_that_ends_behind_a_failure_does_not_hide_it(client, name):
    code, test = UNHEARD[name]
    result = judge(client, code, CALLBACK + test)
    assert_verdict(result, "assertion_fail")
    assert "the code catches what fails in a function of the tests" in details(result)[0], result


@pytest.mark.parametrize("test", ["def cb(x): verify(x)\nassert f([1, 2], cb) == 2", "assert f([1, 2], verify) == 2"])
def test_an_assertion_of_the_prelude_is_one_of_the_tests(client, test):
    code = "def f(xs, cb):\n    for x in xs:\n        try: cb(x * 100)\n        except AssertionError: pass\n    return len(xs)"
    result = judge(client, code, test, prelude="def verify(x):\n    assert x < 10\n", names=["f"])
    assert_verdict(result, "assertion_fail")


def test_a_failure_that_the_code_turns_into_an_exception_is_heard(client):
    code = "def f(cb):\n    try: cb(7)\n    except AssertionError as e: raise TypeError('bad') from e"
    assert_passed(judge(client, code, CALLBACK + "try:\n    f(cb)\n    assert False\nexcept TypeError: pass"))


def test_an_answer_that_is_refused_is_no_exception_that_tests_expect(client):
    """The code gives 3 where the tests expect that there is no such operation. What confirms a pass runs with the code,
    which may forge it, so the judge has to see this itself."""
    test = "try:\n    V(1) - 1\nexcept TypeError: pass\nelse: assert False"
    result = judge(client, "class V:\n    def __init__(self, a): self.a = a\n    def __sub__(self, other): return 3", test)
    assert_verdict(result, "assertion_fail")
    assert "passes only in isolation" not in details(result)[0], result
    honest = "class V:\n    def __init__(self, a): self.a = a\n    def __sub__(self, other): return NotImplemented"
    assert_passed(judge(client, honest, test))


BASE = "class B(BaseException): pass\n"
COROUTINE = BASE + "async def f(i): raise B"
ASYNC = "import asyncio\nasync def one(i): assert await f(i) == i * 2\nasync def main():\n    {}\nasyncio.run(main())"
GATHER = "rs = await asyncio.gather(*(one(i) for i in range(3)), return_exceptions=True)\n    assert not [r for r in rs if isinstance(r, Exception)]"
FUNCTION = ASYNC.replace("assert await f(i)", "assert f(i)")
EXECUTOR = "import asyncio\ndef one(i): assert f(i) == i * 2\nasync def main():\n    loop = asyncio.get_running_loop()\n    rs = await asyncio.gather(loop.run_in_executor(None, one, 1), return_exceptions=True)\n    assert not [r for r in rs if isinstance(r, Exception)]\nasyncio.run(main())"
ENDED = {
    "a coroutine": (COROUTINE, ASYNC.format(GATHER)),
    "a group": (COROUTINE.replace("raise B", "raise BaseExceptionGroup('x', [B()])"), ASYNC.format(GATHER)),
    "a task": (COROUTINE, ASYNC.format("ts = [asyncio.create_task(one(1))]\n    await asyncio.wait(ts)\n    assert not isinstance(ts[0].exception(), Exception)")),
    "a function": (BASE + "def f(i): raise B", FUNCTION.format(GATHER)),
    "a function of the tests' that fails": (
        BASE + "def f(cb):\n    try: cb(9)\n    except AssertionError: raise B",
        "def cb(x): assert x == 1\n" + ASYNC.replace("assert await f(i) == i * 2", "f(cb)").format(GATHER),
    ),
    "a function that a loop calls": (
        BASE + "def f(i): raise B",
        "import asyncio\nerrors = []\ndef go():\n    try: assert f(1) == 2\n    except Exception as e: errors.append(e)\nasync def main():\n    asyncio.get_running_loop().call_soon(go)\n    await asyncio.sleep(0.05)\nasyncio.run(main())\nassert not errors",
    ),
    "a thread": (BASE + "def f(i): raise B", FUNCTION.replace("f(i) ==", "await asyncio.to_thread(f, i) ==").format(GATHER)),
    "a pool": (BASE + "def f(i): raise B", EXECUTOR),
    "an exit in a pool": ("def f(i): raise SystemExit(0)", EXECUTOR),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDED)
def test_no_exception_of_the_codes_ends_a_task_unheard(client, name):
    code, test = ENDED[name]
    assert_verdict(judge(client, code, test), "assertion_fail")


@pytest.mark.parametrize(("code", "test"), [
    (COROUTINE, "import asyncio\ntry: asyncio.run(f(1))\nexcept B: pass\nelse: assert False"),
    (COROUTINE, "import asyncio, pytest\nasync def main():\n    with pytest.raises(B): await f(1)\nasyncio.run(main())"),
    (COROUTINE, "import asyncio\nasync def main():\n    try: await f(1)\n    except BaseException as e: return type(e)\nassert asyncio.run(main()) is B"),
    ("async def f(i): return i * 2", ASYNC.format(GATHER)),
    ("def f(i): return i * 2", EXECUTOR),
])  # fmt: skip
def test_tests_that_expect_such_an_exception_hear_of_it(client, code, test):
    assert_passed(judge(client, code, test))


TX = "class Tx:\n    v = 0\n    def __enter__(self): return self\n    def __exit__(self, kind, e, t):\n        if kind: raise RuntimeError('rolled back')\n"
WRAP = "import contextlib\n@contextlib.contextmanager\ndef wrap(kind):\n    try: yield 0\n    except Exception as e: raise kind(str(e)) from e"
ASYNC_TX = TX.replace("def __enter__", "async def __aenter__").replace("def __exit__", "async def __aexit__")
IN_ASYNC = "import asyncio, pytest\nasync def main():\n    with pytest.raises(RuntimeError):\n        async with Tx() as t:\n            {}raise ValueError\nasyncio.run(main())"
IN_TX = "import pytest\nwith pytest.raises(RuntimeError, match='rolled back'):\n    with Tx() as t:\n        {}raise ValueError"
IN_WRAP = "import pytest\nclass E(Exception): pass\nwith pytest.raises(E):\n    with wrap(E) as v:\n        {}raise KeyError('x')"
LEFT = {
    "a class": (TX, IN_TX, "assert t.v == {}\n        "),
    "an attribute that is not there": (TX, IN_TX, "assert t.{} == 0\n        "),
    "a generator": (WRAP, IN_WRAP, "assert v == {}\n        "),
    "an asynchronous class": (ASYNC_TX, IN_ASYNC, "assert t.v == {}\n            "),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_a_context_manager_makes_no_other_exception_of_a_failure(client, name):
    code, test, check = LEFT[name]
    good, bad = ("v", "w") if "attribute" in name else (0, 1)
    result = judge(client, code, test.format(check.format(bad)))
    assert_verdict(result, "assertion_fail")
    assert "the code raises another exception where the tests fail" in details(result)[0], result
    assert_passed(judge(client, code, test.format(check.format(good))))
    assert_passed(judge(client, code, test.format("")))


FORK = "import os, sys\npid = os.fork()\nif pid == 0:\n    {}\nstatus = os.waitpid(pid, 0)[1]\n"


@pytest.mark.parametrize(("child", "check", "passes"), [
    ("sys.exit(3)", "assert os.WEXITSTATUS(status) == 3 and f(1) == 1", True),
    ("sys.exit(0)", "assert status == 0 and f(1) == 2", False),
    ("assert f(1) == 1\n    sys.exit(0)", "assert f(1) == 2", False),
    ("raise ValueError", "assert os.WEXITSTATUS(status) == 1 and f(1) == 1", True),
])  # fmt: skip
def test_a_process_that_the_tests_fork_reports_nothing(client, child, check, passes):
    result = judge(client, "def f(x): return x", FORK.format(child) + check)
    if passes:
        assert_passed(result)
    else:
        assert_verdict(result, "assertion_fail")


HONEST = {
    "contextlib makes a manager of the code's generator": (
        "def f(log):\n    try: yield 5\n    finally: log.append('out')",
        "from contextlib import contextmanager\nlog = []\ntry:\n    with contextmanager(f)(log): raise KeyError\nexcept KeyError: pass\nassert log == ['out']",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_programs_that_pass_in_one_process_pass(client, name):
    code, test = HONEST[name]
    assert_passed(judge(client, code, test))
