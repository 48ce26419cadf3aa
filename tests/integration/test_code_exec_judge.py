# SPDX-License-Identifier: MIT
"""What the checker makes of code and its answers: code behaves as if it ran in the process of the assertions, and
none that only pretends to be right passes. None of it depends on the jail or on C code, so one daemon is enough."""

import pytest
from code_exec_jobs import assert_passed, assert_verdict, details, judge

pytestmark = pytest.mark.once


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


@pytest.mark.parametrize(
    "statement",
    [
        "import subprocess",
        "import socket",
        "import urllib",
        "import urllib.request",
        "import urllib.error",
        "import urllib.parse",
        "from urllib import request",
        "import ctypes",
        "import shutil",
        "import http.client",
        "from http import client",
        "import asyncio.subprocess",
        "from asyncio import subprocess",
        "__import__('socket')",
    ],
)
def test_no_import_is_refused(client, statement):
    """Code is graded on what it does, whatever it imports."""
    assert_passed(judge(client, f"{statement}\ndef f(): return 1", "assert f() == 1"))
    inside = f"def f():\n    {statement}\n    return 1"
    assert_passed(judge(client, inside, "assert f() == 1"))
    wrong = judge(client, inside, "assert f() == 2", "assert True")
    assert_verdict(wrong, "assertion_fail", 0.5)


# --- as in one process ----------------------------------------------------------------------------

# Name: the code, and assertions that hold for it. The test shows that they hold in mode shared, too.
SEMANTICS = {
    "generators": (
        "def f(n):\n    for i in range(n): yield i * i\ndef g():\n    x = 0\n    while True:\n        x += (yield x) or 1",
        "assert list(f(4)) == [0, 1, 4, 9]",
        "it = f(2)\nassert next(it) == 0 and next(it) == 1 and next(it, None) is None",
        "it = f(3)\nassert iter(it) is it\nassert [a for a in it] == [0, 1, 4]",
        "it = g()\nassert next(it) == 0 and it.send(5) == 5 and next(it) == 6",
        "try:\n    next(f(0))\n    assert False\nexcept StopIteration: pass",
        "assert dict(zip('ab', f(9))) == {'a': 0, 'b': 1}",
    ),
    "iterators": (
        "def f(xs): return map(str, xs)\nclass It:\n    def __init__(self): self.n = 0\n"
        "    def __iter__(self): return self\n    def __next__(self):\n        self.n += 1\n"
        "        if self.n > 3: raise StopIteration\n        return self.n\n"
        "class Bag:\n    def __init__(self, *xs): self.xs = xs\n    def __iter__(self): return iter(self.xs)\n"
        "    def __len__(self): return len(self.xs)\n    def __getitem__(self, i): return self.xs[i]",
        "assert list(f([1, 2])) == ['1', '2']",
        "assert list(It()) == [1, 2, 3] and sum(It()) == 6 and 2 in It()",
        "b = Bag(1, 2)\nassert list(b) == [1, 2] and len(b) == 2 and b[1] == 2 and tuple(b) == (1, 2)",
        "assert list(reversed(Bag(1, 2))) == [2, 1]",
        "assert list(f(x for x in (1, 2))) == ['1', '2']",
    ),
    "mutated": (
        "def f(xs): xs.append(1); xs.sort()\ndef g(d): d['k'] = d.pop('j'); d['n'][0][0] = 7\n"
        "def h(s): s.discard(1); s.add(9)\ndef same(xs): xs.append(0); return xs\n"
        "def swap(a, b): a[:], b[:] = b[:], a[:]\ndef kw(*, xs): xs.clear()\ndef b(x): x.extend(b'yz')",
        "xs = [3, 2]\nassert f(xs) is None\nassert xs == [1, 2, 3]",
        "n = [[1]]\nd = {'j': 2, 'n': n}\ng(d)\nassert d == {'n': [[7]], 'k': 2}\nassert n == [[7]] and d['n'] is n",
        "s = {1, 2}\nh(s)\nassert s == {2, 9}",
        "xs = []\nassert same(xs) is xs and xs == [0]",
        "a, b_ = [1], [2, 3]\nswap(a, b_)\nassert (a, b_) == ([2, 3], [1])",
        "xs = [1]\nkw(xs=xs)\nassert xs == []",
        "x = bytearray(b'x')\nb(x)\nassert x == b'xyz'",
    ),
    "arguments": (
        "def f(a, /, b=2, *args, c=3, **kw): return [a, b, args, c, kw]\n"
        "def g(function, self=1, name=2, question=3, arguments=4, keywords=5):\n"
        "    return [function, self, name, question, arguments, keywords]",
        "assert f(1) == [1, 2, (), 3, {}]",
        "assert f(1, 5, 6, c=7, d=8, a=9) == [1, 5, (6,), 7, {'d': 8, 'a': 9}]",
        "assert g(function=1) == [1, 1, 2, 3, 4, 5]",
        "assert g(1, self=6, name=7, question=8, arguments=9, keywords=0) == [1, 6, 7, 8, 9, 0]",
        "try:\n    f()\n    assert False\nexcept TypeError as e: assert 'missing 1' in str(e)",
    ),
    "classes": (
        "class A:\n    count = 0\n    def __init__(self, x): self.x = x; A.count += 1\n"
        "    def double(self): return self.x * 2\n    @property\n    def p(self): return -self.x\n"
        "    @classmethod\n    def make(cls): return cls(8)\n    @staticmethod\n    def s(): return 's'\n"
        "    def __str__(self): return f'A({self.x})'\n    def __repr__(self): return 'repr'\n"
        "    def __call__(self, y): return self.x + y\n    def __format__(self, s): return 'F' + s\n"
        "    def me(self): return self\n    def __setitem__(self, k, v): self.k = (k, v)\n"
        "    def __delitem__(self, k): self.k = None\n    def __int__(self): return 3\n    def __float__(self): return .5\n"
        "class B(A):\n    def double(self): return super().double() + 1\ndef is_b(x): return type(x) is B",
        "a = A(4)\nassert a.x == 4 and a.double() == 8 and a.p == -4 and a(1) == 5",
        "a = A(4)\na.x = 5\nassert a.double() == 10\ndel a.x\nassert not hasattr(a, 'x')",
        "assert isinstance(B(1), A) and isinstance(B(1), B) and not isinstance(A(1), B) and issubclass(B, A)",
        "assert not isinstance(5, A) and not isinstance(A(1), int)",
        "assert B(2).double() == 5 and B.make().x == 8 and is_b(B(1)) and not is_b(A(1)) and A.s() == 's'",
        "a = A(3)\nassert str(a) == 'A(3)' and repr(a) == 'repr' and f'{a:x}' == 'Fx' and int(a) == 3 and float(a) == .5",
        "a = A(1)\nassert a.me() is a and a == a and a != A(1) and a in [a] and {a: 1}[a] == 1",
        "a = A(1)\na[1] = 2\nassert a.k == (1, 2)\ndel a[1]\nassert a.k is None",
        "before = A.count\nA(1)\nassert A.count == before + 1",
        "try:\n    A(1).nothing\n    assert False\nexcept AttributeError: pass",
        "assert A.__name__ == 'A'",
    ),
    "operators": (
        "class V:\n    def __init__(self, x): self.x = x\n    def __add__(self, o): return V(self.x + o.x)\n"
        "    def __mul__(self, n): return V(self.x * n)\n    __rmul__ = __mul__\n    def __neg__(self): return V(-self.x)\n"
        "    def __abs__(self): return V(abs(self.x))\n    def __enter__(self): return self\n"
        "    def __exit__(self, *a): self.x = 'closed'",
        "assert (V(1) + V(2)).x == 3 and (V(2) * 3).x == 6 and (3 * V(2)).x == 6 and (-V(2)).x == -2",
        "v = V(1)\nv += V(5)\nassert v.x == 6 and abs(V(-3)).x == 3",
        "with V(1) as v:\n    assert v.x == 1\nassert v.x == 'closed'",
    ),
    "exceptions": (
        "class Base(Exception): pass\nclass Own(Base): pass\nclass Val(ValueError): pass\n"
        "def own(): raise Own('text', 3)\ndef val(): raise Val('v')\ndef f(x):\n    if x < 0: raise ValueError('negative')\n    return x\n"
        "def stop(): raise StopIteration\ndef key(): return {}['k']\ndef chain():\n    try: key()\n    except KeyError as e: raise RuntimeError('r') from e\n"
        "def os_error(): open('/there/is/none')\ndef fail(): assert False, 'mine'",
        "try:\n    own()\n    assert False\nexcept Own as e: assert e.args == ('text', 3)",
        "try:\n    own()\n    assert False\nexcept Base: pass",
        "try:\n    val()\n    assert False\nexcept ValueError as e: assert str(e) == 'v' and isinstance(e, Val)",
        "try:\n    f(-1)\n    assert False\nexcept ValueError as e: assert str(e) == 'negative'",
        "try:\n    key()\n    assert False\nexcept KeyError as e: assert e.args == ('k',)",
        "try:\n    chain()\n    assert False\nexcept RuntimeError: pass",
        "try:\n    os_error()\n    assert False\nexcept FileNotFoundError as e: assert e.errno == 2",
        "try:\n    fail()\nexcept AssertionError as e: assert str(e) == 'mine'\nelse: assert False",
        "assert issubclass(Own, Base) and issubclass(Val, ValueError)",
    ),
    "floats": (
        "def f(x): return x\ndef root(x): return x ** 0.5\nINF = float('inf')",
        "assert abs(root(2) - 1.41421356) < 1e-6",
        "import math\nassert math.isclose(root(9), 3.0) and math.isnan(f(math.nan)) and f(math.inf) == math.inf",
        "assert f(-0.0) == 0 and str(f(-0.0)) == '-0.0' and f(5e-324) == 5e-324 and f(0.1) == 0.1 and -INF < 0",
        "assert type(f(1.0)) is float and type(f(1)) is int and type(f(True)) is bool and f(1j + 2) == 2 + 1j",
        "assert round(root(2), 3) == 1.414",
    ),
    "integers": (
        "def f(n):\n    r = 1\n    for i in range(2, n + 1): r *= i\n    return r\ndef neg(x): return -x",
        "import math\nassert f(2000) == math.factorial(2000)",
        "for n in (0, 1, -1, 127, 128, -128, -129, 255, 256, 2**63, -2**63, 2**64, 10**5000): assert neg(n) == -n",
    ),
    "bytes": (
        "def f(x): return x\ndef g(b): return b[::-1]",
        "assert g(b'\\x00\\xff') == b'\\xff\\x00' and type(g(b'')) is bytes",
        "assert f(bytearray(b'x')) == bytearray(b'x') and type(f(bytearray())) is bytearray",
        "assert f(range(3, 9, 2)) == range(3, 9, 2) and f(slice(1, None)) == slice(1, None) and f(...) is ...",
        "assert f(frozenset({1, 2})) == frozenset({1, 2}) and f(int) is int and f(NotImplemented) is NotImplemented",
        "assert f(ValueError) is ValueError and f(()) == () and f((1, (2, [3]))) == (1, (2, [3]))",
    ),
    "structures": (
        "def deep(n):\n    x = []\n    for _ in range(n): x = [x]\n    return x\n"
        "def tuples(n):\n    x = ()\n    for _ in range(n): x = (x,)\n    return x\n"
        "def depth(x):\n    n = 0\n    while x: x = x[0]; n += 1\n    return n\n"
        "def shared():\n    a = [0]\n    return [a, a, (a,)]\ndef cyclic():\n    a = [1]; a.append(a); return a\n"
        "def loop():\n    d = {}; d['d'] = (d,); return d\ndef is_shared(x): return x[0] is x[1]",
        "x, n = deep(10000), 0\nwhile x: x, n = x[0], n + 1\nassert n == 10000",
        "x, n = tuples(10000), 0\nwhile x: x, n = x[0], n + 1\nassert n == 10000",
        "x = []\nfor _ in range(10000): x = [x]\nassert depth(x) == 10000",
        "s = shared()\ns[0].append(1)\nassert s == [[0, 1], [0, 1], ([0, 1],)] and s[0] is s[2][0]",
        "c = cyclic()\nassert c[1] is c and c[0] == 1",
        "d = loop()\nassert d['d'][0] is d",
        "a = []\nassert is_shared([a, a]) and not is_shared([[], []])",
    ),
    "recursion": (
        "import sys\nsys.setrecursionlimit(5000)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\ndef forever(): return forever()",
        "assert f(3000) == 3000",
        "try:\n    forever()\n    assert False\nexcept RecursionError: pass",
        "assert f(1) == 1",
    ),
    "callbacks": (
        "def apply(f, *a, **k): return f(*a, **k)\ndef my_map(f, xs): return [f(x) for x in xs]\n"
        "def lazy(f, xs): return (f(x) for x in xs)\ndef by(xs, key): return sorted(xs, key=key)\n"
        "def compose(f, g): return lambda x: f(g(x))\ndef area(p): return p[0] * p[1]\n"
        "def deco(f):\n    def inner(*a): return f(*a) + 1\n    return inner\ndef take(it, n): return [next(it) for _ in range(n)]\n"
        "def caught(f):\n    try: return f()\n    except ValueError as e: return str(e)\ndef fold(f, xs, a):\n    for x in xs: a = f(a, x)\n    return a",
        "assert apply(lambda a, b=1: a + b, 2, b=3) == 5",
        "assert my_map(lambda x: x * 2, [1, 2]) == [2, 4] and my_map(str, [1]) == ['1'] and my_map(len, ['ab']) == [2]",
        "assert by([(1, 9), (2, 3)], key=lambda p: area(p)) == [(2, 3), (1, 9)]",
        "assert by([3, -1, 2], key=abs) == [-1, 2, 3] and by([3, 1], key=lambda x: -x) == [3, 1]",
        "assert sorted([(1, 9), (2, 3)], key=area) == [(2, 3), (1, 9)]",
        "assert compose(lambda x: x + 1, lambda x: x * 2)(5) == 11",
        "assert list(lazy(lambda x: x + 1, [1, 2])) == [2, 3]",
        "@deco\ndef g(x): return x * 10\nassert g(2) == 21",
        "import itertools\nassert take(itertools.count(5), 3) == [5, 6, 7]",
        "def bad(): raise ValueError('no')\nassert caught(bad) == 'no'",
        "seen = []\nmy_map(seen.append, [1, 2])\nassert seen == [1, 2]",
        "import operator\nassert fold(operator.add, [1, 2, 3], 0) == 6 and fold(max, [1, 5, 2], 0) == 5",
        "assert apply(lambda: my_map(lambda x: area((x, x)), [2, 3])) == [4, 9]",
        "def outer(n): return 0 if n == 0 else 1 + apply(outer, n - 1)\nassert apply(outer, 20) == 20",
        "h = lambda x: x\nassert apply(lambda: h) is h",
        "try:\n    apply(lambda: {}['k'])\n    assert False\nexcept KeyError: pass",
    ),
    "collections": (
        "from collections import *\ndef count(s): return Counter(s)\ndef od(): return OrderedDict(b=1, a=2)\n"
        "def dd():\n    d = defaultdict(list); d['k'].append(1); return d\ndef dq(n=None): return deque([1, 2, 3], maxlen=n)\n"
        "def views(d): return d.keys(), d.values(), d.items()\ndef push(q): q.appendleft(0)\n"
        "def moved(d): d.move_to_end('b'); return d",
        "from collections import OrderedDict\nd = OrderedDict(b=1, a=2)\nassert list(moved(d)) == ['a', 'b'] == list(d)",
        "assert count('aab') == {'a': 2, 'b': 1} and count('aab').most_common(1) == [('a', 2)]",
        "from collections import Counter, OrderedDict, defaultdict, deque\nassert count('a') == Counter('a')\n"
        "assert isinstance(od(), OrderedDict) and isinstance(dd(), defaultdict) and dq() == deque([1, 2, 3])",
        "assert list(od()) == ['b', 'a'] and dd() == {'k': [1]} and dd()['new'] == []",
        "assert list(dq(2)) == [2, 3] and dq(2).maxlen == 2 and dq().maxlen is None",
        "k, v, i = views({'a': 1})\nassert list(k) == ['a'] and list(v) == [1] and list(i) == [('a', 1)] and k == {'a'}",
        "from collections import deque\nq = deque([1])\npush(q)\nassert q == deque([0, 1])",
    ),
    "large": (
        "def f(n): return list(range(n))\ndef g(xs): xs.reverse(); return sum(xs)\ndef h(n): return 'x' * n\ndef d(n): return {str(i): i for i in range(n)}",
        "assert f(100000) == list(range(100000))",
        "xs = list(range(100000))\nassert g(xs) == 4999950000 and xs[0] == 99999",
        "assert h(5000000) == 'x' * 5000000",
        "assert d(50000) == {str(i): i for i in range(50000)}",
    ),
    "state": (
        "n = 0\nlog = []\ndef inc():\n    global n, new\n    n += 1; new = n\n    log.append(n)\n    return n\ndef acc(x, xs=[]): xs.append(x); return list(xs)",
        "assert n == 0 and inc() == 1",
        "assert n == 1 and inc() == 2",
        "assert n == 2 and log == [1, 2]",
        "assert acc(1) == [1] and acc(2) == [1, 2]",
    ),
    "surrogates": (
        "def f(x): return x\ndef g(): return '\\ud800x\\udfff'",
        "assert f('\\ud800') == '\\ud800' and g() == '\\ud800x\\udfff' and f('\\0\\U0010ffff') == '\\0\\U0010ffff'",
        "assert f({'\\udc80': ['\\ud83d']}) == {'\\udc80': ['\\ud83d']}",
    ),
    "standard library": (
        "import re, math, heapq, itertools, functools, string, json, random, datetime, dataclasses, enum, typing, bisect\n"
        "@functools.lru_cache(None)\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
        "@dataclasses.dataclass(order=True)\nclass P:\n    x: int\n    y: int = 2\nclass C(enum.Enum):\n    RED = 1\n"
        "def p(): return P(1)\ndef c(): return C.RED\ndef s(x): return sorted(map(int, re.findall(r'\\d+', x)))",
        "assert fib(60) == 1548008755920 and s('a10b9') == [9, 10] and p().y == 2 and str(p()) == str(P(1)) == 'P(x=1, y=2)'",
        "assert c() is C.RED and c() == C.RED and C.RED.value == 1 and c().name == 'RED'",
    ),
    "async": ("import asyncio\nasync def f(x): return x + 1\ndef run(x): return asyncio.run(f(x))", "assert run(1) == 2"),
}
BUILT_IN_TASKS = {
    "sum": ("def sum(xs):\n    t = 0\n    for x in xs: t += x\n    return t", "assert sum([1, 2]) == 3"),
    "max": ("def max(xs): return sorted(xs)[-1]", "assert max([1, 3, 2]) == 3"),
    "abs": ("def abs(x): return x if x > 0 else -x", "assert abs(-2) == 2"),
}


@pytest.mark.parametrize("name", SEMANTICS)
def test_as_in_one_process(client, name):
    code, *targets = SEMANTICS[name]
    for mode in ("shared", "isolated"):
        result = judge(client, code, *targets, verdict=mode, metadata={"timeout_s": 20})
        failed = [(target, why) for target, why in zip(targets, details(result)) if why is not None]
        assert not failed, (mode, failed, result)
        assert_passed(result)


@pytest.mark.parametrize("name", BUILT_IN_TASKS)
def test_task_that_is_named_as_a_built_in_function(client, name):
    code, target = BUILT_IN_TASKS[name]
    assert_passed(judge(client, code, target))
    test = f"def check(candidate):\n    {target.replace(name, 'candidate')}"
    assert_passed(judge(client, code, test=test, entry_point=name))
    wrong = f"def {name}(x): return None"
    assert_verdict(judge(client, wrong, target), "assertion_fail")


def test_values_that_must_not_compare_equal(client):
    code = "def f(x): return x"
    targets = [
        "assert f(1) == 2",
        "assert f([1]) == (1,)",
        "assert f('1') == 1",
        "assert f(None) == 0",
        "assert f(float('nan')) == float('nan')",
        "assert f({}) == []",
        "assert f(b'a') == 'a'",
        "assert f(lambda: 1) == 1",
    ]
    assert_verdict(judge(client, code, *targets), "assertion_fail", 0, "0 of 8 assertions passed")


# --- attacks --------------------------------------------------------------------------------------

ALWAYS = """
class Always:
    def __init__(self, *a): pass
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __hash__(self): return 0
    def __bool__(self): return True
    def __len__(self): return 3
    def __sub__(self, other): return 0
    __rsub__ = __add__ = __radd__ = __mul__ = __mod__ = __round__ = __sub__
    def __abs__(self): return 0
    def __iter__(self): return iter([self, self])
    def __getitem__(self, key): return self
    def __getattr__(self, name): return self
    def __call__(self, *a): return self
    def __instancecheck__(self, other): return True
    def __enter__(self): return self
    def __exit__(self, *a): return True
"""


def subclass(base, value):
    return (
        f"class Liar({base}):\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n"
        "    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__\n    __hash__ = lambda self: 0\n"
        "    def __sub__(self, o): return 0\n    __rsub__ = __abs__ = __sub__\n    def __bool__(self): return True\n"
        f"def f(*a): return Liar({value})"
    )


# Name: the code, and assertions that it pretends to satisfy. In one process it succeeds.
LIARS = {
    "always equal": (
        ALWAYS + "def f(*a): return Always()",
        "assert f(2) == 4",
        "assert 4 == f(2)",
        "assert not f(2)",
        "assert f(2) in (4,)",
        "assert 4 in f(2)",
        "assert f(2) < 4",
        "assert 4 > f(2)",
        "assert abs(f(2) - 4) < 1e-6",
        "assert abs(4 - f(2)) < 1e-6",
        "assert f(2)[0] == 4",
        "assert f(2).x == 4",
        "assert f(2)() == 4",
        "assert not (f(2) - 4)",
        "assert f(2) - 4 == 0",
        "assert list(f(2)) == [4, 4]",
        "assert all(x == 4 for x in f(2))",
        "assert [f(2)] == [4]",
        "assert {'a': f(2)} == {'a': 4}",
        "assert (f(2), 1) == (4, 1)",
        "with f(2):\n    assert False",
        "a, b = f(2)\nassert a == 4",
        "assert max(f(2), 4) == 4 and min(4, f(2)) == 4",
        "assert round(f(2) - 4, 6) == 0",
        "assert sorted([f(2), 4]) == [4, 4]",
        "assert [4, 4].count(f(2)) == 2",
        "assert {f(2)} == {0}",
        "assert f(2) <= 4 <= f(2)",
        "match f(2):\n    case 4: pass\n    case _: assert False",
    ),
    "int": (subclass("int", "0"), "assert f() == 4", "assert f() in [4]", "assert abs(f() - 4) < 1", "assert f() > 4"),
    "str": (subclass("str", "''"), "assert f() == 'x'", "assert 'x' in f()", "assert f()"),
    "list": (subclass("list", "[]"), "assert f() == [1]", "assert [1] == f()", "assert 3 in f()"),
    "float": (subclass("float", "0"), "assert f() == 2.5", "assert abs(f() - 2.5) < 1e-9", "assert abs(2.5 - f()) < 1e-9"),
    "dict": (subclass("dict", "{}"), "assert f() == {1: 2}", "assert 1 in f()"),
    "tuple": (subclass("tuple", "()"), "assert f() == (1,)"),
    "set": (subclass("set", "()"), "assert f() == {1}", "assert {1} == f()"),
    "nested": (ALWAYS + "def f(): return [Always(), {'k': (Always(),)}]", "assert f() == [1, {'k': (2,)}]", "assert f()[0] == 1"),
    "keys": (ALWAYS + "def f(): return {Always(): 1}", "assert list(f()) == [5]", "assert f()[5 * 0] == 1"),
    "metaclass": (
        "class M(type):\n    def __eq__(c, o): return True\n    def __instancecheck__(c, o): return True\n"
        "    def __hash__(c): return 1\n    def __bool__(c): return True\nclass C(metaclass=M): pass\ndef f(*a): return C",
        "assert f(1) == 4",
        "assert 4 == f(1)",
        "assert [4] == [f(1)]",
    ),
    "stop iteration": (
        "def f(*a): raise StopIteration",
        "assert all(map(lambda x: f(x) == x, [1, 2]))",
        "assert list(map(f, [1, 2])) == []",
        "assert not any(map(f, [1]))",
    ),
    "patched built-ins": (
        "import builtins\nfor n in 'all any len abs sorted sum isinstance max min round'.split():\n"
        "    setattr(builtins, n, lambda *a, **k: 0 if n in ('abs', 'len') else True)\ndef f(*a): return 5",
        "assert all([f() == 4])",
        "assert isinstance(f(), str)",
    ),
    "shadowed names": (
        "def f(*a): return 5.5\ndef all(*a): return True\nabs = lambda x: 0.0\nlen = lambda x: 1\nisinstance = all\nround = lambda x, n=0: 2",
        "assert all([f() == 4])",
        "assert abs(f() - 4) < 1e-6",
        "assert isinstance(f(), str)",
        "assert len([f()]) + len([]) == 2",
    ),
    "exports": (
        "globals().update(__compare__=lambda *a: True, __truth__=lambda *a: True, AssertionError=KeyError)\ndef f(*a): return 5",
        "assert f() == 4",
        "assert not f()",
        "try:\n    raise AssertionError\nexcept KeyError: pass",
    ),
}
# These fail in one process, too, because of how mode shared evaluates assertions.
NOT_IN_ONE_PROCESS = {"exports", "keys", "patched built-ins"}


@pytest.mark.parametrize("name", LIARS)
def test_no_liar_passes(client, name):
    code, *targets = LIARS[name]
    result = judge(client, code, *targets)
    assert result["verdict"] in ("assertion_fail", "error"), result
    believed = [target for target, why in zip(targets, details(result)) if why is None]
    assert not believed, result
    if name not in NOT_IN_ONE_PROCESS:
        in_one = judge(client, code, *targets, verdict="shared")
        assert in_one["score"]["score"] > 0.5, in_one


def test_built_ins_are_not_taken_where_the_setup_wraps_the_candidate(client):
    """Of the candidate's names the assertions use only `abs`, which might be the task."""
    code = "def f(x): return 0\ndef abs(x): return 0.0"
    fields = {"test_setup": "def run(x): return f(x)"}
    target = "assert abs(run(2) - 4) < 1e-6"
    assert_verdict(judge(client, code, target, **fields), "assertion_fail")
    assert_passed(judge(client, code, target, **fields, verdict="shared"))


def test_modules_that_only_the_candidate_imports_are_the_librarys_own(client):
    code = "def f(x): return 0\nclass math:\n    isclose = staticmethod(lambda *a: True)\n"
    target = "assert math.isclose(f(1), 0.5)"
    assert_verdict(judge(client, code, target), "assertion_fail")
    assert_passed(judge(client, code, target, verdict="shared"))
    assert_passed(judge(client, "import math\ndef f(x): return x / 2", target))
    # A definition that has a module's name but another use is the candidate's.
    own = "class queue:\n    def __init__(s): s.x = 1\nclass calendar:\n    mine = 3\ndef f(): return 1"
    target = "assert queue().x == 1 and calendar.mine == 3 and f() == 1"
    assert_passed(judge(client, own, target, names=["queue", "calendar", "f"]))
    reason = "the code defines `calendar`, of Python's library, beside `f`, `queue`: give `names`"
    assert details(judge(client, own, target)) == [reason]


# The candidate talks on the pipe itself and sends ANSWER in place of f's.
SPEAK = """
import os, sys
frame = sys._getframe()
while type(frame.f_locals.get('self')).__name__ != 'Server': frame = frame.f_back
server = frame.f_locals['self']
OUT = server.fds[1]
def send(data): os.write(OUT, len(data).to_bytes(4, 'big') + data)
def num(n):
    out = bytearray()
    while n > 127: out.append(n & 127 | 128); n >>= 7
    out.append(n)
    return bytes(out)
def text(t): return num(len(t)) + t
def ok(*nodes): return num(2) + num(0) + num(1) + b's' + text(b'ok') + b''.join(nodes)
def raised(*nodes): return num(4) + bytes([0, 1, 2, 3]) + b's' + text(b'raise') + b''.join(nodes)
def call(*nodes): return num(4) + bytes([0, 1, 2, 3]) + b's' + text(b'call') + b''.join(nodes)
def f(x):
    ATTACK
    return 3
"""
PIPE = {
    "nothing": "os.close(OUT)",
    "garbage": "os.write(OUT, os.urandom(4096))",
    "zeros": "os.write(OUT, bytes(65536))",
    "a huge length": "os.write(OUT, b'\\xff\\xff\\xff\\xff' + bytes(100))",
    "a length just too large": "os.write(OUT, ((16 << 20) + 1).to_bytes(4, 'big'))",
    "an empty frame": "send(b'')",
    "a truncated frame": "os.write(OUT, (100).to_bytes(4, 'big') + b'x'); os._exit(0)",
    "no root": "send(num(0))",
    "a root that is not there": "send(num(1) + num(7))",
    "many roots": "send(num(1 << 40))",
    "an endless number": "send(b'\\xff' * 20)",
    "an unknown tag": "send(ok(b'!'))",
    "an unknown question": "send(num(2) + b'\\0\\1' + b's' + text(b'done') + b'N')",
    "an unknown object": "send(ok(b'g' + num(0)))",
    "another unknown object": "send(ok(b'g' + num(1 << 30)))",
    "an exception that is none": "send(raised(b'y' + text(b'int'), b't' + num(0), b's' + text(b'')))",
    "an exception out of the ordinary": "send(raised(b'y' + text(b'GeneratorExit'), b't' + num(0), b's' + text(b'')))",
    "an exit": "send(raised(b'y' + text(b'SystemExit'), b't' + num(0), b's' + text(b'')))",
    "a stop": "send(raised(b'y' + text(b'StopIteration'), b't' + num(0), b's' + text(b'')))",
    "a class of a bad base": "send(raised(b'h' + num(5) + num(8) + num(1) + num(5) + text(b'X') + text(b'SystemExit'), b't' + num(0), b's' + text(b'')))",
    "a class of a base that is no class": "send(raised(b'h' + num(5) + num(8) + num(1) + num(5) + text(b'X') + text(b'eval'), b't' + num(0), b's' + text(b'')))",
    "a class without a chain": "send(raised(b'h' + num(5) + num(8) + num(0) + text(b'ValueError'), b't' + num(0), b's' + text(b'')))",
    "arguments that are none": "send(raised(b'y' + text(b'ValueError'), b'i' + num(1) + b'\\1', b's' + text(b'')))",
    "a function": "send(ok(b'y' + text(b'eval')))",
    "a cyclic tuple": "send(ok(b't' + num(1) + num(1)))",
    "a longer cycle": "send(ok(b't' + num(1) + num(2) + b'Z' + num(1) + num(1)))",
    "a key that cannot be one": "send(ok(b'S' + num(0) + num(1) + num(2) + b'l' + num(0) + num(0)))",
    "a dictionary with half an item": "send(ok(b'D' + num(0) + num(1) + num(0)))",
    "a child that is not there": "send(ok(b'l' + num(0) + num(1) + num(99)))",
    "a range of strings": "send(ok(b'r' + num(3) + num(0) * 3))",
    "a string that is none": "send(ok(b's' + text(b'\\xff\\xfe')))",
    "a float that is none": "send(ok(b'd' + text(b'four')))",
    "too large an integer": "send(ok(b'i' + num(1 << 21) + bytes(1 << 21)))",
    "a deep tuple as a key": "n = 200000; send(ok(b'S' + num(0) + num(1) + num(2), *[b't' + num(1) + num(i + 3) for i in range(n)], b't' + num(0)))",
    "a call of nothing": "send(call(b'N', b't' + num(0), b'D' + num(0) + num(0)))",
    "a call of a type": "send(call(b'y' + text(b'type'), b't' + num(0), b'D' + num(0) + num(0)))",
    "a call of a constant": "send(call(b's' + text(b'print'), b't' + num(0), b'D' + num(0) + num(0)))",
    "answers in advance": "[send(ok(b'T')) for _ in range(200)]",
    "answers in advance for ever": "send(ok(b'T'))\n    while True: send(ok(b'N'))",
    "an originals' number": "send(num(4) + bytes([0, 1, 2, 3]) + b's' + text(b'ok') + b'N' + b'l' + num(1 << 40) + num(0) + b'D' + num(3) + num(0))",
    "names of the checker's own": "send(ok(b't' + num(2) + num(2) + num(3) + b's' + text(b'loaded') + b'l' + num(0) + num(0)))",
}


@pytest.mark.parametrize("name", PIPE)
def test_nothing_on_the_pipe_passes(client, name):
    code = SPEAK.replace("ATTACK", PIPE[name])
    targets = ["assert f(1) == 4", "assert [f(2)] == [[5]]", "assert f([3]) == {6: 7}"]
    result = judge(client, code, *targets, metadata={"timeout_s": 4})
    assert result["verdict"] in ("assertion_fail", "error", "timeout"), result
    assert result["score"]["score"] == 0, result
    assert not any(assertion["passed"] for assertion in result["assertions"])


def test_names_that_the_candidate_claims_shadow_nothing(client):
    """The candidate answers the first question with a list of names of its own making."""
    code = SPEAK.replace("ATTACK", "pass") + (
        "names = [b'f', b'__compare__', b'__truth__', b'__builtins__', b'AssertionError', b'all', b'check', b'isinstance']\n"
        "send(ok(b't' + num(2) + num(2) + num(3) + b's' + text(b'loaded') + b'l' + num(0) + num(len(names)) +"
        " b''.join(num(4 + i) for i in range(len(names))) + b''.join(b's' + text(n) for n in names)))\n"
        "for _ in range(100): send(ok(b'T'))"
    )
    targets = ["assert f(1) == 4", "assert all([f(1) == 4])", "assert isinstance(f(1), int) and f(1) == 3"]
    result = judge(client, code, *targets, metadata={"timeout_s": 4})
    assert result["score"]["score"] == 0, result


def test_a_replayed_answer_is_only_an_answer(client):
    """The checker asks the candidate anew each time, so an answer that was right once may be wrong."""
    code = SPEAK.replace("ATTACK", "[send(ok(b'i' + num(1) + bytes([4]))) for _ in range(9)]")
    result = judge(client, code, "assert f(1) == 4", "assert f(2) == 5", metadata={"timeout_s": 4})
    assert result["verdict"] != "pass" and result["score"]["score"] <= 0.5, result


HOSTILE_VALUES = {
    "an exception's text": "class E(ValueError):\n    def __str__(s): raise SystemExit(0)\n    args = property(lambda s: 1 / 0)\ndef f(x): raise E",
    "an exception's arguments": "def f(x): raise ValueError([f], {1: f}, *range(10**5))",
    "an exception of a hostile class": "class M(type):\n    def __subclasscheck__(c, o): return True\n    def mro(c): return type.mro(c)\nclass E(Exception, metaclass=M): pass\ndef f(x): raise E",
    "a name": "E = type('x' * 10**6, (Exception,), {})\ndef f(x): raise E",
    "a chain": "E = Exception\nfor i in range(200): E = type('E', (E,), {})\ndef f(x): raise E",
    "a group": "def f(x): raise ExceptionGroup('g', [ValueError(1)])",
    "an endless text": "class A:\n    def __repr__(s): return 'x' * 10**7\n    __str__ = __repr__\ndef f(x): return A()",
    "a text that raises": "class A:\n    def __repr__(s): raise StopIteration\n    __str__ = __repr__\ndef f(x): return A()",
    "an endless answer": "def f(x): return list(range(22 * 10**5))",
    "a class that lies": "class A:\n    @property\n    def __class__(s): return int\ndef f(x): return A()",
    "colliding keys": "def f(x): return {i * (2**61 - 1): 0 for i in range(2000)}",
    "an assertion": "def f(x): raise AssertionError('got 4, expected 4')",
    "a stop": "def f(x): raise StopAsyncIteration",
    "a stop of its own": "class S(StopIteration): pass\ndef f(x): raise S(4)",
    "a warning": "def f(x): raise UserWarning",
    "not implemented": "def f(x): return NotImplemented",
    "a type": "def f(x): return type",
    "nan": "def f(x): return float('nan')",
}


@pytest.mark.parametrize("name", HOSTILE_VALUES)
def test_hostile_values(client, name):
    targets = ["assert f(1) == 4", "assert all(map(lambda x: f(x) == 4, [1]))", "assert [f(1), 1] == [4, 1]"]
    result = judge(client, HOSTILE_VALUES[name], *targets, metadata={"timeout_s": 20})
    assert result["verdict"] in ("assertion_fail", "error"), result
    assert result["score"]["score"] == 0, result


def test_what_cannot_be_shown_ends_with_the_clock(client):
    """The tests name the class, so its special methods answer."""
    code = "class A:\n    def __repr__(s):\n        while True: pass\ndef f(x): return A()"
    result = judge(client, code, "assert isinstance(f(1), A)", "assert f(1) == 4", metadata={"timeout_s": 1})
    assert_verdict(result, "timeout")
    assert_verdict(judge(client, code, "assert f(1) == 4"), "assertion_fail", 0)


def test_functions_that_a_test_hands_over_run_nothing_in_the_checker(client):
    """Passed as callbacks, `getattr` and `eval` become the candidate's own built-ins."""
    code = (
        "def apply(f, *a):\n"
        "    if f('1') == 1:\n"
        "        f(\"[setattr(__import__('sys').modules['suite'], 'run', lambda *a: (True, '', None))]\")\n"
        "        f(\"[__import__('judge').suite.OPERATORS.update({'==': lambda *a: True})]\")\n"
        "    return 3"
    )
    result = judge(client, code, "assert apply(eval, '1+1') == 2", "assert apply(eval, '2') == 2")
    assert_verdict(result, "assertion_fail", 0)
