# SPDX-License-Identifier: MIT
"""Which jobs need no confirmation in one process. A job that is wrongly called simple could pass although
it fails in one process, so most of these are not."""

import pytest
from jobs import Job, plain, why_to_confirm

SIMPLE = {
    "a function": Job("def f(x):\n    return x + 1", "assert f(1) == 2"),
    "a prelude and check()": Job(
        "    return [a for a in x if a]\n", prelude='from typing import List\n\ndef f(x: List[int]) -> List[int]:\n    """Filters."""\n',
        test="METADATA = {'author': 'me'}\n\ndef check(candidate):\n    assert candidate([0, 1]) == [1]\n", entry_point="f"),
    "modules": Job("import math, re\nfrom collections import Counter\ndef f(x):\n    return math.floor(Counter(x)['a']) + len(re.findall('a', x))",
                   "assert f('aa') == 4"),
    "helpers": Job("def g(x): return x\ndef f(x): return g(x)\nh = g", "assert f(1) == 1 and g(2) == 2"),
    "constants": Job("MOD = 10**9 + 7\nNAMES = ('a', 'b')\ndef f(x): return NAMES[x % MOD]", "assert f(1) == 'b'"),
    "an inner cache": Job("import functools\ndef f(n):\n    @functools.lru_cache(None)\n    def g(n):\n        return n\n    return g(n)",
                          "assert f(3) == 3"),
    "inner generators": Job("def f(n):\n    def g():\n        yield from range(n)\n    return list(g())", "assert f(1) == [0]"),
    "what a main guard holds": Job("def f(x): return x\nif __name__ == '__main__':\n    import subprocess\n    open('x')", "assert f(1) == 1"),
    "a call at the top": Job("def f(x): return x\nprint(f(3))\nassert f(1) == 1\nxs = [1]\nfor y in xs: print(f(y))", "assert f(1) == 1"),
    "tests with random": Job("def f(x): return sorted(x)", "import random\nx = [random.random() for _ in range(9)]\nassert f(x) == sorted(x)"),
    "the same import": Job("import math\ndef f(x): return math.sqrt(x)", "assert math.isclose(f(4), 2)", setup="import math"),
    "the helper of a prelude": Job("def f(x): return x", "assert h(f(1)) == 1", prelude="def h(x):\n    return x\n"),
    "singletons": Job("def f(x): return x is None", "assert f(None) is True and f(1) is not True"),
}  # fmt: skip


@pytest.mark.parametrize("name", SIMPLE)
def test_simple(name):
    assert why_to_confirm(SIMPLE[name]) == ""


F = "def f(x): return x\n"
CODE = {
    "a default": "def f(x, seen=[]):\n    seen.append(x)\n    return seen",
    "a default of a lambda": "def f(x):\n    return x\ng = lambda x, seen={}: seen",
    "a keyword default": "def f(x, *, seen=[]): return seen",
    "a default by name": "A = []\ndef f(x, seen=A): return seen",
    "a list of the module": "seen = []\ndef f(x):\n    seen.append(x)\n    return seen",
    "one that is returned": "seen = [1]\ndef f(x): return seen",
    "one in a tuple": "seen = ([],)\ndef f(x): return seen[0]",
    "one that a call made": "import itertools\ncount = itertools.count()\ndef f(x): return next(count)",
    "one that a loop bound": "for seen in [[]]: pass\ndef f(x): return seen",
    "a closure": "def make():\n    n = []\n    def g(x):\n        n.append(x)\n        return n\n    return g\nf = make()",
    "a partial": "import functools\nf = functools.partial(max, [])",
    "an alias of a closure": "def make(n=1): return lambda x: n\ng = make()\nf = g",
    "global": "n = 0\ndef f(x):\n    global n\n    n += 1\n    return n",
    "a cache": "import functools\n@functools.lru_cache\ndef f(x): return [x]",
    "a cache by call": "import functools\ndef g(x): return [x]\nh = functools.lru_cache(g)\ndef f(x): return h(x)",
    "an imported cache by call": "from functools import cache\ndef f(x):\n    return cache(max)(x)",
    "a decorator": "def d(g): return g\n@d\ndef f(x): return x",
    "a class": "class A: pass\n" + F,
    "an attribute of a function": F + "f.x = 1",
    "an attribute in a function": "def f(x):\n    f.seen = 1\n    return f.seen",
    "a special attribute": "def f(x): return f.__defaults__",
    "a frame": "def f(x):\n    g = (y for y in [1])\n    return g.gi_frame",
    "eval": "def f(x): return eval('x')",
    "exec": "exec('y = 1')\n" + F,
    "globals": "def f(x): return globals()",
    "setattr": "def f(x): setattr(f, 'y', 1)",
    "getattr": "def f(x): return getattr(f, 'y')",
    "vars": "def f(x): return vars()",
    "import by function": "def f(x): return __import__('os')",
    "a module with a state": "import random\ndef f(x): return random.random()",
    "from one": "from random import random\ndef f(x): return random()",
    "the recursion limit": "import sys\nsys.setrecursionlimit(10**6)\n" + F,
    "the environment": "import os\ndef f(x): return os.environ",
    "the clock": "import time\ndef f(x): return time.time()",
    "a table of a module": "import copy\ndef f(x): copy.dispatch_table[1] = x",
    "a table by import": "from copy import dispatch_table\ndef f(x): dispatch_table[1] = x",
    "a context": "import decimal\ndef f(x): decimal.getcontext().prec = x",
    "a module as a value": "import math\ndef f(x): return math",
    "a star": "from math import *\n" + F,
    "a module that is not listed": "import numpy\n" + F,
    "a module of modules": "import collections.abc\n" + F,
    "relative": "from . import x\n" + F,
    "printing": "def f(x): print(x)",
    "input": "def f(x): return input()",
    "a file": "def f(x): return open(x)",
    "with": "def f(x):\n    with x: pass",
    "async": "async def f(x): return x",
    "identity": "def f(x): return x is f",
    "of two arguments": "def f(x, y=0): return x is y",
    "id": "def f(x): return id(x)",
    "a made class": "def f(x): return type('A', (), {})",
    "a name bound twice": "def f(x): return g(x)\ndef g(x): return 1\ndef g(x): return 2",
    "an unknown name": "def f(x): return there_is_none",
    "attrgetter": "import operator\ndef f(x): return operator.attrgetter('__globals__')(f)",
    "a built-in name": "def sorted(x): return 1\ndef f(x): return x",
    "no function": "f = 3",
}  # fmt: skip


@pytest.mark.parametrize("name", CODE)
def test_code_that_is_not_simple(name):
    assert why_to_confirm(Job(CODE[name], "assert f(sorted([1])) == 1", entry_point="f"))


TESTS = {
    "assign what they test": "f = max\nassert f(1)",
    "define it": "def f(x): return 1\nassert f(1)",
    "look at it": "assert f.__name__ == 'f'",
    "ask for its type": "assert type(f) is not int",
    "pass it on": "assert list(map(f, [1])) == [1]",
    "keep it": "g = f\nassert g(1)",
    "compare identities": "t = (1, 2)\nassert f(t) is not t",
    "ask for identities": "t = (1, 2)\nassert id(f(t)) != id(t)",
    "name what the code uses": "helper = max\nassert f(1) == 1",
    "in the setup": "assert f(1) == 1",
    "rebind what is built in": "len = 3\nassert f(1) == 1",
    "define a class": "class A: pass\nassert f(1)",
    "use a module that is not listed": "import sys\nassert f(1) and sys.stdout",
    "patch": "import math\nmath.pi = 3\nassert f(1)",
    "look at names": "assert 'x' not in globals() and f(1)",
    "use with": "with open('x') as y:\n    assert f(1)",
    "use the code's list": "assert f(1) and state == []",
    "use what is built in for Python, and the code's in one process": "assert max(f(1), 2)",
    "do not compile": "assert f(",
}  # fmt: skip


@pytest.mark.parametrize("name", TESTS)
def test_tests_that_are_not_simple(name):
    code = "import math\nstate = []\ndef helper(x): return len([x])\ndef max(*a): return 1\ndef f(x): return helper(x)"
    setup = "def helper(x): return 1" if name == "in the setup" else ""
    assert why_to_confirm(Job(code, TESTS[name], setup=setup, entry_point="f"))
    sound = Job("import math\ndef helper(x): return len([x])\ndef f(x): return helper(x)", "assert f(1) == 1", entry_point="f")
    assert why_to_confirm(sound) == ""


def test_a_test_that_does_more_with_the_candidate_than_call_it():
    for body in ("assert candidate.x", "c = candidate", "assert callable(candidate)", "candidate = 1"):
        job = Job(F, test=f"def check(candidate):\n    assert candidate(1) == 1\n    {body}\n", entry_point="f")
        assert why_to_confirm(job), body


CROSSED = {
    "numbers and texts": ([1, "a", 2.0, None, True, b"", 1j, (), [], {}, range(3)], False),
    "a set": ([[1], {1, 2}], True),  # made anew, its order may be another
    "a frozenset": ([frozenset()], True),
    "an object": ([object()], True),
    "a function": ([len], True),
    "a class": ([int], True),
    "a subclass": ([type("L", (list,), {})()], True),
}


@pytest.mark.parametrize("name", CROSSED)
def test_what_crosses(name):
    values, expected = CROSSED[name]
    crossings = plain.Crossings()
    crossings.values(values)
    assert bool(why_to_confirm(SIMPLE["a function"], crossings)) is expected


def test_what_is_noted_first_is_said():
    crossings = plain.Crossings()
    crossings.note("a callback")
    crossings.note("an exception")
    assert why_to_confirm(SIMPLE["a function"], crossings) == "a callback"
