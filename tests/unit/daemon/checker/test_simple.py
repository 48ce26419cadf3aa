# SPDX-License-Identifier: MIT
"""Which jobs need no confirmation in one process. A job that is wrongly called simple could pass although
it fails in one process, so most of these are not."""

import pytest
from jobs import Job, simple, why_to_confirm

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
    "a format": Job("def f(x): return '{:>{w}} {!r}'.format(x, x, w=3)", "assert f(1) == '  1 1'"),
    "an exception that is caught": Job("def f(x):\n    try:\n        return int(x)\n    except (ValueError, TypeError):\n        return 0", "assert f('a') == 0"),
    "a guard of the tests": Job("def f(x): return x", "if __name__ == '__main__':\n    assert f(1) == 1"),
    "singletons": Job("def f(x): return x is None", "assert f(None) is True and f(1) is not True"),
}  # fmt: skip


@pytest.mark.parametrize("name", SIMPLE)
def test_simple(name):
    assert why_to_confirm(SIMPLE[name]) == ""


# Programs whose functions, iterators and matches are only used for what they are there for.
USES = """def f(x): return sorted(x, key=lambda y: -y)
def f(x): return sum(y for y in x) + len(list(map(int, x)))
def f(x): return [k for k, g in itertools.groupby(x)] + [len(list(g)) for k, g in itertools.groupby(x)]
def f(x): return 'yes' if re.search('a', x) else str(len(x))
def f(x): return [str(m.start()) for m in re.finditer('a', x)]
def f(x): return type(x) == list or isinstance(x, (int, str))
def f(x): return max(x, key=x.count)
def f(x): return reduce(lambda a, b: a + b, map(len, x), 0)
def f(x): a, b = map(int, x); return str(a + b)
def f(x): f = str(x); return f
def f(sum): return str(sum)
def f(x): return ''.join(str(y) for y in x)
def f(x): return {str(y) for y in x}
def f(x): it = iter(x); return str(next(it))
def f(x): g = lambda y: y + 1; return str(g(x))
def f(x): d = defaultdict(list); d[1].append(x); return str(d)
def f(x): d = defaultdict(lambda: 0); d[x] += 1; return str(dict(d))""".split("\n")
SEEN = """def f(x): return str(f)
def f(x): return repr(lambda: x)
def f(x): return f'{f}'
def f(x): return '%s' % f
def f(x): return '{}'.format(f)
def f(x): return list({f, len, max})
def f(x): return {f: 1}
def f(x): g = f; return str(g)
def f(x): return [str(g) for g in [f]]
def f(x): return str(iter(x))
def f(x): it = iter(x); return str(it)
def f(x): return str(y for y in x)
def f(x): return str(x.append)
def f(x): return str(max([1], key=len) and max)
def f(x): return list(map(str, [f]))
def f(x): return list(map(str, map(iter, x)))
def f(x): return [str(g) for k, g in itertools.groupby(x)]
def f(x): return [str(m) for m in itertools.tee(x)]
def f(x): return [str(m) for m in itertools.repeat(f, 1)]
def f(x): return list({m for m in re.finditer('a', x)})
def f(x): return list({re.match('a', x), re.match('b', x)})
def f(x): return str(g(f))\\ndef g(x): return x
def f(x): return g(f)\\ndef g(x): return str(x)
def f(x): return g(f)\\ndef g(*x): return str(x)
def f(x): return str(g())\\ndef g(): return f
def f(x): return str(g())\\ndef g(): yield 1
def f(x): return str(g(x)(x))\\ndef g(x): return iter
def f(x): return str(next(iter(()), f))
def f(x): return str(max((), default=f))
def f(x): return str(reduce(max, (), f))
def f(x): return str(x or f)
def f(x): return str(f if x else x)
def f(x): return str((y := f))
def f(x): return str(ValueError(f))
def f(x): d = defaultdict(f); return str(d)
def f(x): return str({}.get(1, f))
def f(x): return list({ValueError(), KeyError()})
def f(x): y = [g for g in x]; return str(f)
def f(x): y = type(x); return y(x)\\ndef g(): return type
def f(x): list = str; return list(f)
def f(x, list=0): return list(iter(x))
def f(x): return (lambda g: str(g))(f)
def f(x): return str(partial(f, 1))
def f(x): return (f,)[0]
def f(x): return x + [f]
def f(x): x = re.compile('a').scanner(x); return str(x)
from itertools import chain as c\\ndef f(x): return str(c(x))
from functools import partial as sorted\\ndef f(x): return str(sorted(f, 1))
def f(x):\\n    def g(a: (y := f)): pass\\n    return str(y)
def f(x):\\n    def g():\\n        y = yield from h()\\n        yield str(y)\\n    return list(g())\\ndef h():\\n    yield 1\\n    return f
def f(x):\\n    def cache(g): return str(g)\\n    @cache\\n    def g(): pass\\n    return g
def f(x): x.append(f); return str(x)""".split("\n")
BEFORE = "import itertools, re\nfrom functools import reduce, partial\nfrom collections import defaultdict\n"


@pytest.mark.parametrize("code", USES)
def test_objects_that_are_used(code):
    assert why_to_confirm(Job(BEFORE + code, "assert f(1)")) == ""


@pytest.mark.parametrize("code", SEEN)
def test_objects_that_are_looked_at(code):
    assert why_to_confirm(Job(BEFORE + code.replace("\\n", "\n"), "assert f(1)", entry_point="f"))


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
    "a guard in a function": "def f(x):\n    if __name__ == '__main__':\n        return 0\n    return x",
    "a guard in a function of a guard": "def f(x):\n    for y in x:\n        if '__main__' == __name__:\n            global z\n    return x",
    "the name of the module": "def f(x): return x if __name__ != '__main__' else 0",
    "a name of the module that it binds": "__name__ = '__main__'\nif __name__ == '__main__':\n    import os\n" + F,
    "one that a loop binds": "for __name__ in 'a': pass\n" + F,
    "one in a function": "def f(__name__): return __name__",
    "its built-in names": "__builtins__ = ()\n" + F,
    "a format that looks inside": "def f(x): return '{0.__globals__[A]}'.format(f)",
    "one in a specification": "def f(x): return '{0:{1.__globals__}}'.format(x, f)",
    "an item": "def f(x): return '{0[a]}'.format(x)",
    "a format that is computed": "def f(x): return ('{0.__glo' + 'bals__}').format(f)",
    "a format of a variable": "def f(x):\n    y = '{0.__globals__}'\n    return y.format(f)",
    "str.format": "def f(x): return str.format('{0.__globals__}', f)",
    "a format by name": "def f(x):\n    y = '{0.__globals__}'.format\n    return map(y, [f])",
    "format_map": "def f(x): return '{a.__globals__}'.format_map({'a': f})",
    "string.Formatter": "import string\ndef f(x): return string.Formatter().format('{0.__globals__}', f)",
    "a list of a module": "import __future__\ndef f(x): return __future__.all_feature_names",
    "a list by import": "from __future__ import all_feature_names\ndef f(x): return all_feature_names",
    "a module of a package": "from collections import abc\ndef f(x): return abc.sys.modules",
    "a module in a module": "import collections\ndef f(x): return collections.abc.sys",
    "a special name of a module": "import math\ndef f(x): return math.__loader__",
    "one by import": "from math import __loader__\ndef f(x): return __loader__",
    "a table of abstract classes": "from collections.abc import Sized\ndef f(x): return Sized.register(int)",
    "an identity with a number": "def f(x): return x is 0.0",
    "an identity with one": "def f(x): return x is 1",
    "what is caught": "def f(x):\n    try:\n        return f(x)\n    except RecursionError:\n        return 0",
    "what is caught among others": "def f(x):\n    try:\n        return f(x)\n    except (ValueError, RuntimeError):\n        return 0",
    "everything that is caught": "def f(x):\n    try:\n        return f(x)\n    except:\n        return 0",
    "all exceptions": "def f(x):\n    try:\n        return bytes(x)\n    except Exception:\n        return 0",
    "a finally that returns": "def f(x):\n    try:\n        return f(x)\n    finally:\n        return 0",
    "a hash": "def f(x): return hash(f)",
    "an object": "def f(x): return repr(object())",
    "the classes of a class": "def f(x): return bool.mro()[-1]()",
    "the date": "from datetime import date\ndef f(x): return date.today()",
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
    "guard what is not simple": "if __name__ == '__main__':\n    t = (1, 2)\n    assert f(t) is not t",
    "recur": "def g(n): return f(1) if n == 0 else g(n - 1)\nassert g(9)",
    "recur in turn": "def g(n): return f(1) if n == 0 else h(n - 1)\ndef h(n): return g(n)\nassert g(9)",
    "call from deep inside": "def g(): return [[f(1) for x in [1]] for y in [2]]\nassert g()",
    "have functions that call functions": "def g(): return f(1)\ndef h(): return g()\ndef i(): return h()\nassert i()",
    "bind their name": "__name__ = 'x'\nassert f(1)",
}  # fmt: skip


def test_a_main_guard_of_the_prelude():
    assert why_to_confirm(Job(F, "assert f(1) == 1", prelude="if __name__ == '__main__':\n    def h(): pass\n"))


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
    "a NaN": ([1.0, float("nan")], True),  # it equals itself, and not its copy
    "a complex NaN": ([complex(0, float("nan"))], True),
    "a subclass": ([type("L", (list,), {})()], True),
}


@pytest.mark.parametrize("name", CROSSED)
def test_what_crosses(name):
    values, expected = CROSSED[name]
    crossings = simple.Crossings()
    crossings.values(values)
    assert bool(why_to_confirm(SIMPLE["a function"], crossings)) is expected


def test_a_function_that_crosses():
    for count, expected in ((0, ""), (1, ""), (2, "a function crossed")):
        crossings = simple.Crossings()
        crossings.values([1, *[lambda: 1] * count], 1)
        assert crossings.why == expected, count


def test_what_is_noted_first_is_said():
    crossings = simple.Crossings()
    crossings.note("a callback")
    crossings.note("an exception")
    assert why_to_confirm(SIMPLE["a function"], crossings) == "a callback"
