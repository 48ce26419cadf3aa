# SPDX-License-Identifier: MIT
"""Who owns a name in the tests of a code_exec job: the candidate, the prelude, or Python. The functions
that an assertion applies to a result are never the candidate's, or the candidate would decide the verdict."""

import pytest
from code_exec_jobs import job

# Python code decides what the checker believes; the daemon sees ordinary reports.
pytestmark = pytest.mark.once

@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


WRONG = "def f(x):\n    return None\n"


def grade(client, code, *targets, **fields):
    return client.run({"kind": "code_exec", "code": code, "targets": list(targets), **fields})


@pytest.mark.parametrize(
    "code, target",
    [
        ("import math\nmath.isclose = lambda *a, **k: True\n", "assert math.isclose(f(1), 1.5)"),
        ("class math:\n    isclose = staticmethod(lambda *a, **k: True)\n", "assert math.isclose(f(1), 1.5)"),
        ("isclose = lambda *a, **k: True\n", "assert isclose(f(1), 1.5)"),
        ("isclose = lambda *a, **k: False\n", "assert not isclose(f(1), 1.5) and f(1) == 1"),
        ("Counter = lambda x: 0\n", "assert Counter(f(1)) == Counter([1, 2])"),
        ("set = lambda x: 0\n", "assert set(f(1)) == set([1, 2])"),
        ("sorted = lambda x: 0\n", "assert sorted(f(1)) == sorted([1, 2])"),
        ("import collections\ncollections.Counter = lambda x: 0\n",
         "assert collections.Counter(f(1)) == collections.Counter([1, 2])"),
        ("import builtins\nbuiltins.abs = lambda x: 0\n", "assert abs(f(1) - 1) < 1e-4"),
    ],
)  # fmt: skip
def test_functions_that_judge_are_not_the_candidates(client, code, target):
    result = grade(client, code + WRONG, target)
    assert result["verdict"] == "assertion_fail", result


@pytest.mark.parametrize(
    "code, target",
    [
        ("import math\ndef f(x):\n    return 1.5\n", "assert math.isclose(f(1), 1.5)"),
        ("from math import isclose\ndef f(x):\n    return 1.5\n", "assert isclose(f(1), 1.5)"),
        ("from collections import Counter\ndef f(x):\n    return [2, 1]\n", "assert Counter(f(1)) == Counter([1, 2])"),
        ("def f(x):\n    return (2, 1)\n", "assert set(f(1)) == set([1, 2])"),
        ("def sum(a, b):\n    return a + b\n", "assert sum(1, 2) == 3"),  # the task itself
        ("def enc(x):\n    return x[::-1]\ndec = enc\n", "assert dec(enc('ab')) == 'ab'"),
    ],
)  # fmt: skip
def test_honest_code_is_not_hindered(client, code, target):
    result = grade(client, code, target)
    assert result["verdict"] == "pass", result


def test_a_function_of_the_candidates_keeps_its_name(client):
    """`gcd` is a name of the standard library, too, but here it is the task."""
    code = "def gcd(a, b):\n    return 7\ndef lcm(a, b):\n    return 12\n"
    result = grade(client, code, "assert gcd(4, 6) == 2", "assert lcm(4, 6) == 12")
    assert [a["passed"] for a in result["assertions"]] == [False, True]


def test_what_the_prelude_defines_is_not_the_candidates(client):
    prelude = "def helper(x):\n    return x + 1\n\ndef f(x):\n    '''Adds one.'''\n"
    code = "    return 41\n\ndef helper(x):\n    return 41\n"
    result = grade(client, code, "assert f(1) == helper(1)", prelude=prelude, entry_point="f")
    assert result["verdict"] == "assertion_fail"
    assert result["assertions"] == [{"passed": False, "detail": "the code rebinds `helper`, which the prelude defines"}]
    helper = "    return 41\n\nglobals()['helper'] = lambda x: 41\n"
    result = grade(client, helper, "assert f(1) == helper(1)", prelude=prelude, entry_point="f")
    assert result["assertions"] == [{"passed": False, "detail": "got 41, expected 2"}]


def test_built_in_functions_are_not_handed_over_in_disguise(client):
    """With functools.partial(getattr) the candidate could look into objects that the checker hands over."""
    code = (
        "def f(get, function):\n"
        "    try:\n"
        "        return sorted(get(function, '__globals__'))[:1]\n"
        "    except TypeError:\n"
        "        return 'refused'\n"
    )
    setup = "import functools\ndef mine():\n    return 1\n"
    for given in "functools.partial(getattr)", "getattr.__call__", "functools.partial(functools.partial(getattr))":
        result = grade(client, code, f"assert f({given}, mine) == 'refused'", test_setup=setup)
        # Had it been handed over, the assertion would have failed before: in one process the code gets it.
        (assertion,) = result["assertions"]
        assert assertion["detail"].startswith("passes only in isolation"), (given, result)
    kept = grade(client, "def f(g):\n    return g(1)\n", "assert f(functools.partial(add, 2)) == 3",
                 test_setup="import functools\ndef add(a, b):\n    return a + b\n")  # fmt: skip
    assert kept["verdict"] == "pass", kept


def test_names_of_the_library_are_the_codes_if_the_job_says_so(client):
    code = "def copy(x):\n    return list(x)\ndef g():\n    return 1\n"
    target = "assert copy([1]) == [1] and g() == 1"
    result = grade(client, code, target)
    reason = "the code defines `copy`, of Python's library, beside `g`: give `names`"
    assert result["verdict"] == "assertion_fail" and result["assertions"] == [{"passed": False, "detail": reason}]
    assert result["score"]["failure_modes"][0]["detail"] == reason
    for fields in {"names": ["copy", "g"]}, {"names": ["g"], "entry_point": "copy"}:
        assert grade(client, code, target, **fields)["verdict"] == "pass", fields


# Name: fields of a job whose code is wrong, and what the assertion's detail says.
FORGED = {
    "a commutative test": ({"code": "def add(a, b): return None", "targets": ["assert add(1, 2) == add(2, 1) != None"],
                            "entry_point": "add"}, "expected"),
    "a module under test": ({"code": "class calendar:\n    isleap = lambda y: None", "entry_point": "calendar",
                             "targets": ["assert calendar.isleap(2000) is True"]}, "expected"),
    "a guard": ({"code": WRONG, "targets": ["if __name__ == '__main__':\n    assert f(1) == 2"]}, "expected 2"),
    "unittest.main()": ({"code": WRONG, "targets": ["import unittest\nclass T(unittest.TestCase):\n"
                         "    def test_f(self): self.assertEqual(f(1), 2)\nif __name__ == '__main__': unittest.main(argv=['x'])"]},
                        "SystemExit"),
    "an alias of an exception": ({"code": "Bad = AssertionError\n" + WRONG,
                                  "targets": ["try:\n    f(1)\n    assert False, 'no exception'\nexcept Bad: pass"]},
                                 "no exception"),
    "in a tuple": ({"code": "Bad = (ValueError, AssertionError)\n" + WRONG,
                    "targets": ["try:\n    f(1)\n    assert False, 'no exception'\nexcept Bad: pass"]}, "no exception"),
    "in a class": ({"code": "class A:\n    Bad = AssertionError\n" + WRONG,
                    "targets": ["try:\n    f(1)\n    assert False, 'no exception'\nexcept A.Bad: pass"]}, "no exception"),
    "a test left out": ({"code": "import unittest\ndef f(x): raise unittest.SkipTest('no')",
                         "targets": ["import unittest\nclass T(unittest.TestCase):\n    def test_f(self): f(1)\n"
                                     "r = unittest.TestResult()\nT('test_f').run(r)\nassert r.wasSuccessful(), r.errors[0][1][-60:]"]},
                        "candidate raised SkipTest"),
    "a constant of the prelude": ({"code": "WANTED = None\n" + WRONG, "prelude": "WANTED = 10\n",
                                   "targets": ["assert f(1) == WANTED"]}, "rebinds `WANTED`"),
    "a shared default": ({"code": "def f(x, l=[]):\n    l.append(x)\n    return l",
                          "targets": ["a = f(1)\nf(2)\nassert a == [1]"]}, "got [1, 2], expected [1]"),
    "a patched module": ({"code": "import math\nmath.isclose = lambda *a: True\n" + WRONG,
                          "targets": ["assert f(1) is None"]}, "patches `math`"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_names_pass_nothing(client, name):
    fields, detail = FORGED[name]
    result = client.run({"kind": "code_exec", **fields})
    assert result["verdict"] == "assertion_fail", result
    (assertion,) = result["assertions"]
    assert detail in assertion["detail"], result


FORGED_IN_ONE = [name for name in FORGED if name not in
                 ("a commutative test", "a module under test", "a guard", "unittest.main()", "a shared default")]  # fmt: skip


@pytest.mark.parametrize("name", FORGED_IN_ONE)
def test_forged_names_pass_in_one_process(client, name):
    """Otherwise they would be no attacks, or tests that fail for another reason."""
    result = client.run({"kind": "code_exec", **FORGED[name][0], "verdict": "shared"})
    assert result["verdict"] == "pass", result


def test_what_an_alias_of_an_exception_still_does(client):
    code = "Bad = ValueError\ndef f(x):\n    raise Bad(x)\ndef same(kind):\n    return kind is Bad\n"
    caught = "try:\n    f(3)\n    assert False\nexcept {} as e: assert e.args == (3,) and isinstance(e, Bad)"
    result = grade(client, code, *(caught.format(kind) for kind in ("Bad", "ValueError", "Exception")), "assert same(Bad)")
    assert result["verdict"] == "pass", result


def test_a_prelude_that_fails_is_an_error_of_the_job(client):
    for prelude, detail in (("1 / 0\n", "prelude: ZeroDivisionError: division by zero"),
                            ("raise SystemExit(0)\n", "prelude: SystemExit: 0")):  # fmt: skip
        result = grade(client, "def f(x): return x", "assert f(1) == 1", prelude=prelude)
        assert result["verdict"] == "error" and result["assertions"] == [], result
        assert result["score"]["failure_modes"][0]["detail"] == detail


def test_a_name_that_the_tests_assign_reaches_the_code(client):
    """If `names` lists it, or the tests have no use for it themselves."""
    code, target = "LIMIT = 1\ndef f(): return LIMIT", "LIMIT = 7\nassert f() == 7"
    assert grade(client, code, target, names=["f", "LIMIT"])["verdict"] == "pass"
    assert grade(client, code, target)["verdict"] == "pass"
    looks = "LIMIT = 7\nassert f() == LIMIT"
    assert grade(client, code, looks, names=["f", "LIMIT"])["verdict"] == "pass"
    assert grade(client, code, looks)["verdict"] == "assertion_fail"


def test_unittest_main_runs_the_tests(client):
    target = ("import unittest\nclass T(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(1), 1)\n"
              "if __name__ == '__main__': unittest.main(argv=['x'])")  # fmt: skip
    assert grade(client, "def f(x): return x", target)["verdict"] == "pass"


def test_the_plain_run_finds_an_empty_directory(client):
    """What the isolated run leaves would make it fail."""
    code = "import os\ndef f():\n    os.makedirs('a/b')\n    open('a/b/c', 'x').close()\n    os.chmod('a', 0)\n    return 1"
    assert grade(client, code, "assert f() == 1")["verdict"] == "pass"


@pytest.mark.parametrize("mode", ["isolated", "shared"])
def test_tests_that_can_never_fail_are_refused(client, mode):
    """They say nothing of the code: that is no verdict on it."""

    def run(*targets, **fields):
        answer = client.run(job(WRONG, *targets, verdict=mode, **fields))
        return (answer["code"], answer["message"]) if answer["type"] == "error" else answer["verdict"]

    idle = ("bad_request", "job.targets[0]: nothing that could fail runs in it")
    for target in ("# assert f(1) == 2", "pass", "assert True", "def test_f():\n    assert f(1) == 2", "assert lambda: f(1) == 2"):
        assert run(target) == idle, target
    assert run("pass", "import math") == ("bad_request", idle[1].replace("[0]", ""))
    pair = "it asserts a tuple, which is always true; leave off its parentheses (line 1)"
    assert run("assert f", "assert (f(1) == 2, 'wrong')") == ("bad_request", f"job.targets[1]: {pair}")
    assert run("pass", "assert f(1) == 2") == "assertion_fail"


def test_a_check_that_asks_nothing(client):
    """The fault is the tests', though they have passed."""
    for test in ("async def check(c):\n    assert c(1) == 2", "def check(c):\n    return\n    assert c(1) == 2"):
        result = client.run(job(WRONG, test=test, entry_point="f"))
        (mode,) = result["score"]["failure_modes"]
        assert (result["verdict"], mode["code"], result["score"]["score"]) == ("error", "code_exec.error", 0), result
        assert mode["detail"] == "the tests ask nothing of the code"
        assert result["assertions"] == [{"passed": False, "detail": mode["detail"]}]


@pytest.mark.parametrize("bound", ["f = 5", "f = [1, 2]", "f = 'abc'", "f = None"])
def test_a_check_that_never_looks_at_plain_data(client, bound):
    """Who binds a number where a function was to be gains nothing by it."""
    idle = "def check(c):\n    x = 3\n    assert x == 3"
    assert client.run(job(bound, test=idle, entry_point="f"))["verdict"] == "error"
    value = bound.partition(" = ")[2]
    for test in (f"assert c == {value}", f"assert all(each == {value} for each in [c])", f"(lambda: [][c != {value}:])()"):
        result = client.run(job(bound, test=f"def check(c):\n    {test}", entry_point="f"))
        assert result["verdict"] == "pass", (test, result)
