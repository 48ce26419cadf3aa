# SPDX-License-Identifier: MIT
"""Who owns a name in the tests of a code_exec job: the candidate, the prelude, or Python. The functions
that an assertion applies to a result are never the candidate's, or the candidate would decide the verdict."""

import pytest

# Python code decides what the checker believes; the daemon sees ordinary reports.
pytestmark = pytest.mark.once

WRONG = "def f(x):\n    return None\n"


def grade(client, code, *targets, **job):
    return client.run({"kind": "code_exec", "code": code, "targets": list(targets), **job})


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
        ("def copy(x):\n    return list(x)\ndef g():\n    return 1\n", "assert copy([1]) == [1] and g() == 1"),
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
        assert result["verdict"] == "pass", (given, result)
    kept = grade(client, "def f(g):\n    return g(1)\n", "assert f(functools.partial(add, 2)) == 3",
                 test_setup="import functools\ndef add(a, b):\n    return a + b\n")  # fmt: skip
    assert kept["verdict"] == "pass", kept
