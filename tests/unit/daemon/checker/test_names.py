# SPDX-License-Identifier: MIT
"""Whose name it is: tables of jobs, and what the rules decide."""

import pytest
from jobs import Job, decide, names, prelude_of, program

F = "def f(x): return x\n"


# Name: the job, the names under test.
UNDER_TEST = {
    "the only one": (Job(F, "assert f(1) == 1"), {"f"}),
    "only what is used": (Job(F + "def g(): pass", "assert f(1) == 1"), {"f"}),
    "the only one, of the library": (Job("def gcd(a, b): return 1", "assert gcd(2, 3) == 1"), {"gcd"}),
    "the only one, built in": (Job("def sum(a, b): return 1", "assert sum(2, 3) == 1"), {"sum"}),
    "all of the library": (Job("def gcd(): pass\ndef lcm(): pass", "assert gcd() and lcm()"), {"gcd", "lcm"}),
    "none of the library": (Job("def a(): pass\nclass B: pass", "assert a() and B()"), {"a", "B"}),
    "used by the setup": (Job(F, "assert h(1)", setup="def h(x): return f(x)"), {"f"}),
    "used in a function": (Job(F, "def h(): return f(1)\nassert h()"), {"f"}),
    "used in a class": (Job("f = 1", "class A:\n    x = f\nassert A.x == 1"), {"f"}),
    "the tests' own": (Job(F + "def g(): pass", "g = 1\nassert f(1) == g"), {"f"}),
    "the setup's own": (Job(F + "def g(): pass", "assert f(1) == g()", setup="def g(): return 1"), {"f"}),
    "imported with a star": (Job(F + "def sqrt(x): pass", "from math import *\nassert f(1) == sqrt(1)"), {"f"}),
    "as asked": (Job(F + "def abs(x): pass", "assert abs(f(1))", entry_point="f"), {"f"}),
    "as listed": (Job(F + "def abs(x): pass", "assert abs(f(1))", under_test=["f", "abs"]), {"f", "abs"}),
    "both": (Job(F + "def g(): pass", "assert g()", entry_point="f", under_test=["g"]), {"f", "g"}),
    "imported is not defined": (Job("import math\n" + F, "assert math.isclose(f(1), 1)"), {"f"}),
    "imported and asked for": (Job("from math import gcd", "assert gcd(4, 6) == 2"), {"gcd"}),
    "a list that is named like a function": (Job("log = []\n" + F, "assert f(1) == 1 and log == []"), {"f", "log"}),
    "a function of its own that is called partial": (Job("def partial(g): pass\n" + F, "assert partial(f)"), {"f", "partial"}),
    "a digest": (Job("def sha256(t): return t", "assert sha256(b'')"), {"sha256"}),
    "a class that is named like a module": (Job("class queue: pass\n" + F, "assert queue() and f(1)"), {"queue", "f"}),
    "used by the prelude": (
        Job("def solve(x): return 0", "assert run(1) == 1", prelude="def run(x): return solve(x)\ndef solve(x):\n    ...\n"),
        {"solve"},
    ),
    "assigned in a branch": (Job("if True:\n    def f(): pass\nelse:\n    f = 1", "assert f()"), {"f"}),
    "a target of a loop": (Job("for f in [1]: pass", "assert f == 1"), {"f"}),
    "made global in a function": (Job("def g():\n    global f\n    f = 1\ng()", "assert f == 1"), {"f"}),
    "assigned in an expression": (Job("(f := 1)", "assert f == 1"), {"f"}),
    "an argument of check()": (
        Job(F, test="def check(candidate): assert candidate(1) == 1", entry_point="f"), {"f"}),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDER_TEST)
def test_under_test(name):
    job, expected = UNDER_TEST[name]
    decision = decide(job)
    assert (decision.under_test, decision.refuse) == (expected, "")
    there = set(program.bindings(program.parse(job.code).body)[0])
    assert decision.fetched >= expected & there


MATH = "import math\ndef near(a, b):\n    return math.isclose(a, b)\n\n"
# Name: the job, a part of the sentence by which it is refused.
REFUSED = {
    "a function of the library beside": (Job("def isclose(*a): return True\n" + F, "assert isclose(f(1), 2)"),
                                         "`isclose`, of Python's library, beside `f`: give `names`"),
    "an empty list for a constant": (Job("pi = []\ndef area(r): return []", "assert area(2) == 4 * pi", under_test=["area"]),
                                     "`pi`"),
    "an empty list for a constant, nothing asked": (Job("e = []\n" + F, "assert f(1) == 4 * e"), "`e`"),
    "evaluates beside": (Job("def literal_eval(t): return 1\n" + F, "assert literal_eval(f(1)) == 1"), "`literal_eval`"),
    "a digest beside": (Job("def sha256(t): return t\n" + F, "assert sha256(f(1)) == 1", entry_point="f"), "`sha256`"),
    "a thread beside": (Job("class Thread: pass\n" + F, "Thread(target=f)"), "`Thread`"),
    "a lock beside what is asked": (Job("class Lock: pass\n" + F, "Lock()\nf(1)", entry_point="f"), "`Lock`"),
    "a partial call beside what is asked": (Job("def partial(*a): return int\n" + F, "assert partial(f, 1)() == 0",
                                                under_test=["f"]), "`partial`"),
    "a built-in function beside": (Job("def abs(x): return None\n" + F, "assert abs(1) == 1 and f(1)"), "`abs`"),
    "an alias of a module": (Job("class np: pass\n" + F, "assert np.allclose(f(1), 2)"), "`np`"),
    "a module": (Job("class math: pass\n" + F, "assert math.isclose(f(1), 2)"), "`math`"),
    "imported, then defined": (Job("from math import isclose\nisclose = lambda *a: True\n" + F,
                                   "assert isclose(f(1), 2)"), "`isclose`"),
    "imported from elsewhere": (Job("from mine import isclose\n" + F, "assert isclose(f(1), 2)"), "`isclose`"),
    "imported relatively": (Job("from .math import isclose\n" + F, "assert isclose(f(1), 2)"), "`isclose`"),
    "defined at run time": (Job("globals()['isclose'] = max\n" + F, "assert isclose(f(1), 2)"), "`isclose`"),
    "behind the entry point": (Job("def isclose(*a): return True\n" + F, "assert isclose(f(1), 2)", entry_point="f"),
                               "give `names`"),
    "a number of the library": (Job("pi = 0\n" + F, "assert abs(f(1) - pi) < 1"), "`pi`"),
    "a list that is called": (Job("mean = []\n" + F, "assert f(1) == mean(1)"), "`mean`"),
    "many": (Job("isclose = gcd = comb = perm = max\n" + F, "assert isclose(gcd(1), comb(perm(f(1))))"),
             "`comb`, `gcd`, `isclose` and 1 more"),
    "beside what is imported": (Job("from itertools import product\ndef sorted(x): return 0",
                                    "assert sorted(product([1], [2])) == [(1, 2)]"), "`sorted`"),
    "beside what is imported, by another name": (Job("from math import gcd\nfrom operator import truth as isclose",
                                                     "assert isclose(gcd(4, 6), 2)"), "`isclose`"),
    "beside an import under a chosen name": (Job("from operator import truth as f\ndef sorted(x): return 0",
                                                 "assert sorted(f(3)) == sorted([1])"), "`sorted`"),
    "a module under a name of another": (Job("import cmath as math\n" + F, "assert math.isclose(f(1), 2)"), "`math`"),
    "a mock as a module": (Job("from unittest.mock import call as math\n" + F, "assert math.isclose(f(1), 2)",
                               under_test=["f"]), "`math`"),
    "a function as one of the library": (Job("from operator import or_ as isclose\n" + F, "assert isclose(f(1), 2)"),
                                         "`isclose`"),
    "through the prelude": (Job("all = lambda x: True\ndef solve(x): return 0", "assert all([run(1)])",
                                prelude="def run(x): return solve(x)\ndef solve(x):\n    '''Cubes.'''\n"), "`all`"),
    "a helper of the prelude": (Job("def near(a, b): return True\n" + F, "assert near(f(1), 2)", prelude=MATH),
                                "rebinds `near`, which the prelude defines"),
    "an unused helper": (Job("def near(a, b): return True\n" + F, "assert f(1)", prelude=MATH), "rebinds `near`"),
    "a helper, made global": (Job("def f():\n    global near\n    near = max", "assert near(f(), 2)", prelude=MATH),
                              "rebinds `near`"),
    "a helper in a branch": (Job("try:\n    near = max\nexcept Exception: pass\n" + F, "assert f(1)", prelude=MATH),
                             "rebinds `near`"),
    "a helper, deleted": (Job(F + "del near", "assert f(1)", prelude=MATH), "rebinds `near`"),
    "a helper, added to": (Job("LIST += [1]\n" + F, "assert f(1)", prelude="LIST = [2]\n"), "rebinds `LIST`"),
    "an import of the prelude": (Job("class math: pass\n" + F, "assert near(f(1), 2)", prelude=MATH), "rebinds `math`"),
    "a constant": (Job("WANTED = {1: 0}\n" + F, "assert f(1) == WANTED[1]", prelude="WANTED = {1: 10}\n"),
                   "rebinds `WANTED`"),
    "a class with another method": (Job("class A:\n    def m(self): return 2\n" + F, "assert f(A())",
                                        prelude="class A:\n    def m(self): return 1\n"), "rebinds `A`"),
    "a complete helper gone on with": (Job("    pass\ndef solve(x): return 0", "assert solve(3) == helper(3)",
                                           prelude="def helper(x):\n    return x * 7 + 1\n"), "continues `helper`"),
    "and written anew": (Job("    pass\ndef helper(x): return 0\ndef solve(x): return 0", "assert solve(3) == helper(3)",
                             prelude="def helper(x):\n    return x * 7 + 1\n"), "rebinds `helper`"),
    "a module, patched": (Job("import math\nmath.isclose = max\n" + F, "assert f(1)"), "patches `math`"),
    "under another name": (Job("import math as m\nm.isclose = max\n" + F, "assert f(1)"), "patches `math`"),
    "in a function": (Job("def f():\n    import math\n    math.isclose = max", "assert f()"), "patches `math`"),
    "by setattr": (Job("import builtins\nsetattr(builtins, 'abs', max)\n" + F, "assert f(1)"), "patches `builtins`"),
    "by a computed name": (Job("import builtins\nfor n in 'ab': setattr(builtins, n, max)\n" + F, "assert f(1)"),
                           "patches `builtins`"),
    "by __builtins__": (Job("__builtins__.abs = max\n" + F, "assert f(1)"), "patches `builtins`"),
    "by its dictionary": (Job("import math\nmath.__dict__['isclose'] = max\n" + F, "assert f(1)"), "patches `math`"),
    "by sys.modules": (Job("import sys\nsys.modules['math'].isclose = max\n" + F, "assert f(1)"), "patches `math`"),
    "a class of a module": (Job("import collections\ncollections.Counter.x = 1\n" + F, "assert f(1)"),
                            "patches `collections`"),
    "an imported class": (Job("from collections import Counter\nCounter.__eq__ = max\n" + F, "assert f(1)"),
                          "patches `collections`"),
    "deleted from it": (Job("import math\ndel math.pi\n" + F, "assert f(1)"), "patches `math`"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    job, expected = REFUSED[name]
    there = ("isclose",) if name == "defined at run time" else ()
    assert expected in decide(job, *there).refuse


POINT = "class Point:\n    '''A point.'''\n    def __init__(self, x: int):\n        self.x = x\n"
ALLOWED = {
    "the prelude's import once more": Job("from typing import List, Dict\n" + F, "assert f(List)", prelude="from typing import List\n"),
    "an import that only the code uses": Job("from datetime import datetime\n" + F, "assert f(1)", prelude="import datetime\n"),
    "the prelude's helper once more": Job(MATH + F, "assert near(f(1), 1)", prelude=MATH),
    "with another docstring and other annotations": Job(
        "class Point:\n    def __init__(self, x) -> None:\n        'Makes it'\n        self.x = x\n" + F, "assert f(1)",
        prelude=POINT),
    "the prelude's constant once more": Job("MOD: int = 10**9 + 7\n" + F, "assert f(1)", prelude="MOD = 10**9 + 7\n"),
    "a helper that is listed": Job("def near(a, b): return True\n" + F, "assert near(f(1), 2)", prelude=MATH,
                                   under_test=["f", "near"]),
    "a stub with a docstring": Job(F, "assert f(1)", prelude="def f(x):\n    '''Doubles.'''\n"),
    "a stub that raises": Job(F, "assert f(1)", prelude="def f(x):\n    raise NotImplementedError('todo')\n"),
    "a stub with dots": Job(F, "assert f(1)", prelude="def f(x): ...\ndef g(x):\n    return 1\n"),
    "a stub without a body": Job("    return x", "assert f(1)", prelude="def g(x):\n    return 1\ndef f(x):\n"),
    "a class of stubs": Job("class A:\n    def m(self): return 1", "assert A().m()",
                            prelude="class A:\n    def m(self):\n        '''One.'''\n    def n(self): ...\n"),
    "a main guard": Job(F + "if __name__ == '__main__':\n    near = 1\n", "assert f(1)", prelude=MATH),
    "a local name": Job("def f(x):\n    near = 1\n    return [math for math in [near]]", "assert f(1)", prelude=MATH),
    "its own streams": Job("import sys\ndef f(x):\n    sys.stdout = sys.stderr\n    sys.stdout.x = 1", "assert f(1)"),
    "what an older Python had": Job("import collections\ncollections.Callable = 1\n" + F, "assert f(1)"),
    "an object that is named like a module": Job("import string\ndef f(string): string.x = 1", "assert f(1)"),
    "a context of its own": Job("import decimal\ndecimal.getcontext().prec = 50\n" + F, "assert f(1)"),
    "a helper of the tests that runs": Job(F, "def test_f():\n    assert f(1)\ntest_f()"),
    "a decorated test": Job(F, "@lambda t: t()\ndef test_f():\n    assert f(1)"),
    "an unused name of the library": Job("def gcd(a, b): return 1\n" + F, "assert f(1)"),
    "a built-in function behind the entry point": Job("def sum(x): return 1\n" + F, "assert sum([f(1)])", entry_point="f"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_allowed(name):
    decision = decide(ALLOWED[name])
    assert decision.refuse == ""
    assert {"f", "A"} & decision.fetched


# Name: the job, a name, whether the candidate is asked for it.
FETCHED = {
    "a helper": (Job(F + "class A: pass", "assert isinstance(f(1), A)", entry_point="f"), "A", True),
    "a built-in function": (Job(F + "def sum(x): pass", "assert sum([f(1)])", entry_point="f"), "sum", False),
    "under test": (Job("def sum(x): pass", "assert sum([1])", entry_point="sum"), "sum", True),
    "of the library, in a text": (Job(F + "def isclose(*a): pass", "assert eval('isclose(f(1), 2)')"), "isclose", False),
    "imported, in a text": (Job("import math\n" + F, "assert eval('math.isclose(f(1), 2)')"), "math", False),
    "what the judge compares with": (Job(F, "assert f(1)"), "__compare__", False),
    "of the prelude": (Job(F, "assert f(1)", prelude=MATH), "near", False),
    "a stub that the code leaves": (Job(F, "assert f(1)", prelude="def g():\n    ...\n"), "g", False),
    "a stub that it completes": (Job(F + "g = f", "assert g(1)", prelude="def g():\n    ...\n"), "g", True),
    "the entry point of the prelude": (Job(F, "assert f(1)", prelude=F, entry_point="f"), "f", True),
}  # fmt: skip


@pytest.mark.parametrize("name", FETCHED)
def test_fetched(name):
    job, asked, expected = FETCHED[name]
    assert (asked in decide(job, asked).fetched) is expected


def test_what_the_code_only_imports_is_the_judges_own():
    code = "import math\nfrom collections import Counter\nfrom fractions import *\nimport numpy as np\n" + F
    job = Job(code, "assert math.pi and Counter() and Fraction(1) and f(1) and np.pi")
    decision = decide(job, "Fraction", "math", "Counter", "f", "np")
    assert decision.refuse == ""
    assert decision.replaced == {
        "math": [("math", "")], "Counter": [("collections", "Counter")], "Fraction": [("fractions", "Fraction")],
        "np": [("numpy", "")]
    }  # fmt: skip
    assert not decision.fetched & decision.replaced.keys()
    from collections import Counter

    assert names.load_from("collections", "Counter") is Counter and names.load_from("os.path", "").join
    assert names.load_from("math", "none") is None and names.load_from("there_is_none", "") is None


# What the code imports as a name of its choice, and whether that is the judge's own.
TAKEN = {
    "from math import gcd": ("gcd", True),
    "from math import *": ("gcd", True),
    "from os import *\nfrom math import *": ("gcd", True),
    "from math import *\nfrom operator import *": ("gcd", True),
    "try:\n    from math import prod\nexcept ImportError:\n    from numpy import prod": ("prod", False),
    "import json": ("json", True),
    "import datetime as dt": ("dt", True),
    "from datetime import datetime as dt": ("dt", True),
    "from timeit import timeit as dt": ("dt", False),
    "import math as m": ("m", False),
    "from math import gcd as g": ("g", False),
    "from pickle import loads": ("loads", False),
    "from json import loads": ("loads", True),
    "from json import *": ("loads", True),
    "from pickle import *": ("loads", False),
    "from pickle import *\nfrom json import *": ("loads", True),
    "from json import *\nfrom pickle import *": ("loads", False),
    "from typing import get_type_hints": ("get_type_hints", False),
    "from operator import attrgetter": ("attrgetter", False),
    "from operator import *": ("call", False),
    "from statistics import sys": ("sys", False),
    "from sys import exit": ("exit", False),
    "from sys import exit as g": ("g", False),
    "from unittest.mock import ANY as LIMIT": ("LIMIT", False),
    "from unittest.mock import call": ("call", False),
    "from gc import get_referents": ("get_referents", False),
    "import profile": ("profile", False),
    "import code": ("code", False),
}


@pytest.mark.parametrize("code", TAKEN)
def test_what_the_judge_takes_from_its_own_library(code):
    name, is_taken = TAKEN[code]
    decision = decide(Job(f"{code}\n{F}", f"assert f(1) and {name}"), name)
    assert (name in decision.replaced) is is_taken
    assert decision.refuse or (name in decision.fetched) is not (is_taken or name in names.BUILTINS)


@pytest.mark.parametrize("name", ["len", "sorted", "abs", "set", "range", "open"])
def test_a_built_in_name_is_never_what_the_code_imports(name):
    for code in (f"from timeit import timeit as {name}\n{F}", f"import os as {name}\n{F}", f"from math import gcd as {name}\n{F}"):
        for under_test in ([], ["f"]):
            decision = decide(Job(code, f"assert {name}(f(1))", under_test=under_test), name)
            assert not decision.refuse and not decision.replaced and name not in decision.fetched


def test_everything_that_the_judge_takes_is_there():
    for module, taken in names.TAKEN_FROM.items():
        if names.load_from(module, "") is not None:
            assert all(names.load_from(module, name) is not None for name in taken or ()), module
            assert not (taken or set()) & names.BUILTINS


def test_a_name_under_test_that_the_tests_assign_is_written_through():
    code = "LIMIT = 1\ndef f(): return LIMIT"
    target = "LIMIT = 7\nassert f() == 7"
    assert decide(Job(code, target, under_test=["f", "LIMIT"])).written == {"LIMIT"}
    assert decide(Job(code, target)).written == set(), "or the code could learn what the tests assign"


# What the code binds to `n`, and whether that may be an exception class of the judge's.
ALIASES = {
    "n = AssertionError": True,
    "n = m = AssertionError": True,
    "n = (ValueError, AssertionError)": True,
    "import json\nn = json.JSONDecodeError": True,
    "if 1:\n    n = ValueError\nelse:\n    n = 1": True,
    "class n(ValueError): pass": False,
    "def g(): pass\nn = g": False,
    "n = 1": False,
    "n = [ValueError]": False,
}


@pytest.mark.parametrize("code", ALIASES)
def test_aliases(code):
    assert decide(Job(code, "try: n\nexcept n: pass")).aliases == ({"n"} if ALIASES[code] else set())
    assert decide(Job(code, "assert True")).aliases == set()


PRELUDES = {
    "": (set(), True),
    "import re": (set(), False),
    "def f():\n    return 1\n": (set(), False),
    "def f():\n    '''doc'''\n": ({"f"}, False),
    "def f():\n": ({"f"}, True),
    "def f():\n    # one\n": ({"f"}, True),
    "def f():\n    x = 1\n    if x:\n": ({"f"}, True),
    "def f():\n    return (\n": ({"f"}, True),
    "def f(): return 1\n'''open": (set(), True),
    "class A:\n    pass\n": ({"A"}, False),
    "class A(B):\n    pass\n": (set(), False),
    "class A:\n    x = 1\n": (set(), False),
    "class A:\n    @abstractmethod\n    def m(self): ...\n": (set(), False),
    "class A:\n    def m(self): ...\n    def n(self): return 1\n": (set(), False),
    "class A:\n    def m(self):\n        raise NotImplementedError\n": ({"A"}, False),
    "async def f(): ...\n": ({"f"}, False),
}


@pytest.mark.parametrize("text", PRELUDES)
def test_stubs_of_a_prelude(text):
    prelude = program.Prelude(text)
    stubs, is_open = PRELUDES[text]
    assert prelude.stubs == stubs
    assert text == "" or prelude.is_open is is_open


def test_the_candidate_cannot_decide_what_the_prelude_keeps():
    prelude = "def helper(x):\n    return 7\n\ndef solve(x):\n    '''Cubes.'''\n"
    for code in ("    return 1\n", "    pass\nhelper2 = 1\n", "def solve(x): return 1\n", "x = 1\n", "(", "    return 1\n    def helper(x): pass\n"):
        job = Job(code, "assert solve(3) == helper(3)", prelude=prelude)
        assert "helper" in names.decide(job, ["helper", "solve"], prelude_of(job)).kept, code
