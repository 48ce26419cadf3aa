# SPDX-License-Identifier: MIT
"""Objects and exceptions in the tests of a code_exec job, of classes that the prelude, the tests or the
candidate define. The reference is a single process: each honest program here passes in this process, too."""

import sys
import types

import pytest
from conftest import Daemon

# Python code decides what the checker believes; the daemon sees ordinary reports.
pytestmark = pytest.mark.once

LINKED = '''
class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next

    def is_same(self, other):
        return self.value == other.value

def to_list(node):
    out = []
    while node:
        out.append(node.value)
        node = node.next
    return out

def reverse(head):
    """Reverses a linked list."""
'''
REVERSE = """    last = None
    while head:
        head.next, last, head = last, head, head.next
    return last
"""
SHAPES = '''
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum
from typing import List, NamedTuple

class Color(Enum):
    RED = 1
    BLUE = 2

@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0

class Pair(NamedTuple):
    a: int
    b: int

Old = namedtuple("Old", "a b")

class Slots:
    __slots__ = ("a", "b")
    def __init__(self, a):
        self.a = a

class Weak(Slots):
    def total(self):
        return self.a + self.extra

@dataclass
class Tree:
    label: str
    children: List["Tree"] = field(default_factory=list)

def work(x):
    """Does what it is told."""
'''
ERRORS = '''
class AppError(Exception):
    """Everything that goes wrong."""

class Coded(AppError):
    def __init__(self, code, *, hint):
        super().__init__(f"code {code}")
        self.code, self.hint = code, hint

    def is_bad(self):
        return self.code > 9

class Both(AppError, ValueError):
    pass

def work(x):
    """Fails."""
'''

HONEST = {
    "a linked list of the prelude": (
        LINKED,
        REVERSE,
        "reverse",
        "assert to_list(reverse(Node(1, Node(2, Node(3))))) == [3, 2, 1]",
        "n = Node(1, Node(2))\nr = reverse(n)\nassert r.next is n and n.next is None and isinstance(r, Node)",
        "assert reverse(None) is None",
        "a = None\nfor i in range(5000): a = Node(i, a)\nassert to_list(reverse(a)) == list(range(5000))",
        "assert reverse(Node(1)).is_same(Node(1)) and not reverse(Node(1)).is_same(Node(2))",
    ),
    "values of the prelude's classes": (
        SHAPES,
        "    return x",
        "work",
        "assert work(Color.RED) is Color.RED and work([Color.BLUE, Color.RED]) == [Color.BLUE, Color.RED]",
        "assert work(Point(1, 2)) == Point(1, 2) and work({Point(1): 2}) == {Point(1): 2}",
        "p = work(Pair(1, 2))\nassert p == Pair(1, 2) and type(p) is Pair and p.b == 2 and work(Old(1, 2)).a == 1",
        "s = Slots(4)\nassert work(s) is s and work([s])[0].a == 4 and not hasattr(work(s), 'b')",
        "w = Weak(1)\nw.extra = 2\nassert work((w, w))[1].total() == 3 and work(w) is w",
        "t = Tree('a')\nt.children.append(t)\nassert work(t).children[0] is t",
        "assert work(Tree) is Tree and work(Tree('a', [Tree('b')])) == Tree('a', [Tree('b')])",
    ),
    "the candidate makes the prelude's objects": (
        SHAPES,
        "    if x == 0: return Tree('a', [Tree('b'), Tree('c', [])])\n    if x == 1: return {Point(1, 2), Point(3)}\n"
        "    if x == 2: return [Color.RED, Color.BLUE]\n    if x == 3: return frozenset([Pair(1, 2)])\n"
        "    if x == 4: return Color\n    x.children.append(Tree('new'))\n    x.label = 'changed'",
        "work",
        "assert work(0) == Tree('a', [Tree('b'), Tree('c')]) and work(0).children[0].label == 'b'",
        "assert work(1) == {Point(3, 0), Point(1, 2)}",
        "assert work(2) == list(Color) and work(3) == {(1, 2)} and work(4) is Color",
        "t = Tree('t')\nassert work(t) is None and t == Tree('changed', [Tree('new')])",
    ),
    "the prelude's exceptions": (
        ERRORS,
        "    if x == 1: raise AppError('one')\n    if x == 2: raise Coded(12, hint=['h'])\n    if x == 3: raise Both('b')\n"
        "    if x == 4:\n        class Inner(AppError): pass\n        raise Inner('i')\n    return x",
        "work",
        "try: work(1)\nexcept AppError as e: assert str(e) == 'one' and type(e) is AppError\nelse: assert False",
        "try: work(2)\nexcept Coded as e: assert e.code == 12 and e.hint == ['h'] and e.is_bad() and str(e) == 'code 12'\n"
        "else: assert False",
        "try: work(3)\nexcept ValueError as e: assert isinstance(e, AppError)\nelse: assert False",
        "try: work(4)\nexcept AppError as e: assert e.args == ('i',)\nelse: assert False",
        "assert work(AppError) is AppError",
    ),
    "the candidate's own exceptions": (
        "",
        "import json, decimal\nclass AppError(Exception):\n    pass\nclass Coded(AppError, ValueError):\n"
        "    def __init__(self, code):\n        self.code = code\n    def __str__(self):\n        return f'code {self.code}'\n"
        "    @property\n    def twice(self):\n        return 2 * self.code\n    def named(self, name):\n        return name + '!'\n"
        "def f(x):\n    if x == 5: raise AppError({'a': 1}, [2])\n    if x == 6: json.loads('{')\n"
        "    if x == 7: decimal.Decimal('x')\n    if x == 8: open('/no/such/file')\n    if x == 9: b'\\xff'.decode()\n"
        "    raise Coded(x)",
        "",
        "try: f(3)\nexcept AppError as e: assert (e.code, e.twice, e.named('n'), str(e)) == (3, 6, 'n!', 'code 3')\n"
        "else: assert False",
        "try: f(3)\nexcept ValueError as e: assert isinstance(e, Coded) and not hasattr(e, 'other')\nelse: assert False",
        "try: f(5)\nexcept AppError as e: assert e.args == ({'a': 1}, [2]) and not isinstance(e, ValueError)\n"
        "else: assert False",
        "import json\ntry: f(6)\nexcept json.JSONDecodeError as e: assert e.pos == 1 and e.doc == '{'\nelse: assert False",
        "import decimal\ntry: f(7)\nexcept decimal.InvalidOperation: pass\nelse: assert False",
        "try: f(7)\nexcept ArithmeticError: pass\nelse: assert False",
        "try: f(8)\nexcept OSError as e: assert e.errno == 2 and e.filename == '/no/such/file' and 'such' in str(e)\n"
        "else: assert False",
        "try: f(9)\nexcept UnicodeDecodeError as e: assert e.start == 0 and e.object == b'\\xff'\nelse: assert False",
        "try:\n    raise AppError('own')\nexcept AppError as e: assert str(e) == 'own'",
        "assert issubclass(Coded, ValueError) and issubclass(Coded, AppError)",
    ),
    "the tests' exceptions come back through the candidate": (
        "",
        "def call(f, *a):\n    return f(*a)\ndef safe(f):\n    try: return f()\n    except ValueError as e: return e.args\n"
        "def cleanup(f, log):\n    try: return f()\n    finally: log.append('done')",
        "",
        "class Stop(Exception):\n    def __init__(self, n):\n        self.n = n\ndef bad(n): raise Stop(n)\n"
        "try: call(bad, 7)\nexcept Stop as e: assert e.n == 7\nelse: assert False",
        "class Mine(ValueError): pass\ndef bad(): raise Mine('a', 1)\nassert safe(bad) == ('a', 1)",
        "class Mine(ValueError): pass\ndef bad(): raise Mine('a')\nlog = []\n"
        "try: cleanup(bad, log)\nexcept Mine: assert log == ['done']\nelse: assert False",
        "import json\ntry: call(json.loads, '{')\nexcept json.JSONDecodeError: pass\nelse: assert False",
    ),
    "the tests' own objects": (
        "",
        "def total(items):\n    return sum(i.price * i.count() for i in items)\ndef rename(x):\n    x.name = x.name.upper()\n"
        "    del x.old\ndef size(x):\n    return len(x), x[0], list(x), 2 in x, bool(x)\ndef add(a, b):\n    return a + b\n"
        "def make(cls, *a):\n    return cls(*a)\ndef best(xs):\n    return max(xs)\ndef same(a, b):\n    return a == b, a != b\n"
        "def index(xs):\n    return {x: n for n, x in enumerate(xs)}\ndef is_a(x, cls):\n    return isinstance(x, cls)\n"
        "def use(x):\n    with x as y: return y\ndef show(x):\n    return f'{x}', repr(x)\ndef first(x):\n    return next(x)",
        "",
        "class Item:\n    def __init__(self, p): self.price = p\n    def count(self): return 2\n"
        "assert total([Item(1), Item(2.5)]) == 7",
        "class N:\n    def __init__(self): self.name, self.old = 'a', 1\nn = N()\nrename(n)\n"
        "assert n.name == 'A' and not hasattr(n, 'old')",
        "class L:\n    def __len__(self): return 3\n    def __getitem__(self, i): return [1, 2, 3][i]\n"
        "assert size(L()) == (3, 1, [1, 2, 3], True, True)",
        "class V:\n    def __init__(self, v): self.v = v\n    def __add__(self, o): return V(self.v + o.v)\n"
        "    def __lt__(self, o): return self.v < o.v\n    def __eq__(self, o): return self.v == o.v\n"
        "assert add(V(1), V(2)).v == 3 and best([V(1), V(5), V(2)]).v == 5 and same(V(1), V(1)) == (True, False)",
        "class K:\n    def __init__(self, *a): self.a = a\nk = make(K, 1, [2])\nassert k.a == (1, [2]) and type(k) is K",
        "class H:\n    pass\na, b = H(), H()\nassert index([a, b]) == {a: 0, b: 1} and same(a, a) == (True, False)",
        "class T:\n    pass\nassert is_a(T(), T) and not is_a(3, T)",
        "class W:\n    def __enter__(self): return 5\n    def __exit__(self, *a): self.left = True\n"
        "w = W()\nassert use(w) == 5 and w.left",
        "class S:\n    def __str__(self): return 's'\n    def __repr__(self): return 'r'\nassert show(S()) == ('s', 'r')",
        "class I:\n    def __iter__(self): return self\n    def __next__(self): return 4\nassert first(I()) == 4",
    ),
    "what a callback does to the candidate's own": (
        "",
        "def f(cb):\n    a = [1]\n    cb(a)\n    return a\ndef g(cb):\n    d = {'x': [0]}\n    return cb(d) is d, d\n"
        "def rows(cb):\n    m = [[0] * 2 for _ in range(2)]\n    for r in m: cb(r)\n    return m",
        "",
        "assert f(lambda a: a.append(2)) == [1, 2]",
        "def cb(d):\n    d['x'].append(1)\n    d['y'] = 2\n    return d\nassert g(cb) == (True, {'x': [0, 1], 'y': 2})",
        "def cb(r): r[0] = 9\nassert rows(cb) == [[9, 0], [9, 0]]",
    ),
    "NaN": (
        "",
        "import math\ndef f(x): return x\ndef g(): return [math.nan]\ndef h(xs): return xs.index(xs[0]), xs.count(xs[0])\n"
        "def two(): return [float('nan')], [float('nan')]",
        "",
        "nan = float('nan')\nassert f([nan]) == [nan] and f(nan) is nan and nan in f([1, nan]) and f(nan) != nan",
        "import math\nassert g() == [math.nan] and f(math.nan) is math.nan",
        "assert h([float('nan')] * 2) == (0, 2)",
        "a, b = two()\nassert a != b and f([float('nan')]) != [float('nan')]",
    ),
    "iterators": (
        "",
        "made = []\ndef gen(n):\n    for i in range(n):\n        made.append(i)\n        yield i\ndef broken(n):\n    yield from range(n)\n"
        "    raise ValueError('broken')\ndef same():\n    a = []\n    for i in range(3):\n        a.append(i)\n        yield a\n"
        "class It:\n    def __init__(self): self.n = 0\n    def __iter__(self): return self\n    def __next__(self):\n"
        "        self.n += 1\n        if self.n > 5: raise StopIteration\n        return self.n",
        "",
        "assert list(gen(100000)) == list(range(100000)) and made == list(range(100000))",
        "made_before = len(made)\ng = gen(9)\nassert next(g) == 0 and next(g) == 1",
        "assert sorted(gen(5), reverse=True) == [4, 3, 2, 1, 0] and [*gen(2)] == [0, 1] and tuple(gen(0)) == ()",
        "g = gen(3)\nassert next(g) == 0 and list(g) == [1, 2] and list(g) == [] and next(g, 'end') == 'end'",
        "try: list(broken(5000))\nexcept ValueError as e: assert str(e) == 'broken'\nelse: assert False",
        "g = broken(3)\nout = []\ntry:\n    for x in g: out.append(x)\nexcept ValueError: assert out == [0, 1, 2]\nelse: assert False",
        "a = list(same())\nassert a == [[0, 1, 2]] * 3 and a[0] is a[2]",
        "i = It()\nassert list(i) == [1, 2, 3, 4, 5] and list(i) == [] and i.n == 7",
    ),
    "an iterator of the tests in an object of the candidate": (
        "",
        "class Wrap:\n    def __init__(self, it): self.it = it\n    def __iter__(self): return self.it",
        "",
        "def gen():\n    yield 1\n    yield 2\nassert list(Wrap(gen())) == [1, 2] and sum(Wrap(iter([3, 4]))) == 7",
    ),
    "laziness": (
        "",
        "made = []\ndef gen():\n    n = 0\n    while True:\n        made.append(n)\n        yield n\n        n += 1\ndef count(): return len(made)",
        "",
        "g = gen()\nfor want in range(40):\n    assert next(g) == want and count() == want + 1",
        "import itertools\nassert list(itertools.islice(gen(), 3)) == [0, 1, 2] and count() == 43",
        "for x in gen():\n    if x == 20: break\nassert count() == 64",
    ),
    "names as they are when they are looked up": (
        "",
        "log, n = [], 0\ndef f(x):\n    global n\n    n += 1\n    log.append(x)\n    return x\nclass Base:\n    pass",
        "",
        "assert log == [] and f(1) == 1 and log == [1] and n == 1",
        "def inner(): return list(log), n\nassert f(2) == 2 and inner() == ([1, 2], 2) and eval('f(3)') == 3 and n == 3",
        "class C:\n    size = f(4)\n    of = Base\nassert C.size == 4 == log[-1] and C.of is Base",
        "n = 'mine'\ndef f(x): return 'mine too'\nassert n == 'mine' and f(1) == 'mine too'",
        "assert n == 'mine' and f(1) == 'mine too' and len(log) == 4",
    ),
    "words of class statements that are called as Python calls things": (
        "",
        "class Plugin:\n    known = {}\n    def __init_subclass__(cls, name=None, bases=(), names=0, **more):\n"
        "        Plugin.known[name] = (cls.__name__, bases, names)\n",
        None,
        "class C(Plugin, name='c', bases=(1,), names=2): pass\nassert Plugin.known == {'c': ('C', (1,), 2)}",
    ),
    "attributes of containers and values that are deleted": (
        "",
        "class D(dict):\n    def __getattr__(s, k):\n        try: return s[k]\n        except KeyError: raise AttributeError(k)\n"
        "    def __setattr__(s, k, v): s[k] = v\n    def __delattr__(s, k): del s[k]\n"
        "class L(list): pass\nclass I(int): pass\ndef with_x(made):\n    made.x = 3\n    return made\n",
        None,
        "d = D(a=1, b=2)\nd.c = 3\ndel d.a\nassert d == {'b': 2, 'c': 3} and not hasattr(d, 'a')",
        "v = with_x(L([1]))\nassert v.x == 3\ndel v.x\nassert not hasattr(v, 'x') and v == [1]",
        "v = with_x(I(4))\ndel v.x\nassert not hasattr(v, 'x') and v == 4",
    ),
    "metaclasses": (
        "",
        "class Once(type):\n    made = {}\n    def __call__(cls, *given):\n        if cls not in cls.made:\n"
        "            cls.made[cls] = super().__call__(*given)\n        return cls.made[cls]\n"
        "class One(metaclass=Once):\n    def __init__(self, value=0): self.value = value\n"
        "class Named(type):\n    known = {}\n    def __new__(of, name, bases, names, **more):\n"
        "        made = super().__new__(of, name, bases, names)\n        of.known[name], made.tag = made, more.get('tag', name.lower())\n"
        "        return made\n    def __init__(cls, name, bases, names, **more): super().__init__(name, bases, names)\n"
        "    def __len__(cls): return len(cls.known)\n    def __getitem__(cls, name): return cls.known[name]\n"
        "    def __lt__(cls, other): return cls.tag < other.tag\n    def __repr__(cls): return f'<{cls.tag}>'\n"
        "    @property\n    def low(cls): return cls.__name__.lower()\n    def hello(cls): return 'hello ' + cls.low\n"
        "class Base(metaclass=Named):\n    x = 1\n    def get(self): return self.x\nclass Sub(Base, tag='a'): x = 2\n"
        "class Failure(Exception, metaclass=Named): pass\nclass More(Named): pass\nclass Most(Base, metaclass=More): pass\n",
        None,
        "assert One(1) is One(2) and One().value == 1 and type(One) is Once and isinstance(One, Once) and issubclass(Once, type)",
        "assert One.__class__ is Once and type(One).__name__ == 'Once' and not isinstance(One(), Once) and Once.__bases__ == (type,)",
        "assert len(Base) == 4 and Base['Sub'] is Sub and sorted([Base, Sub]) == [Sub, Base] and repr(Sub) == '<a>'",
        "assert Sub.low == 'sub' and Sub.hello() == 'hello sub' and Sub.tag == 'a' and Named.known['Base'] is Base and Sub().get() == 2",
        "assert type(Most) is More and isinstance(Most, Named) and not isinstance(Base, More) and issubclass(More, Named)",
        "class Mine(Base, tag='m'):\n    x = 3\n    def twice(self): return 2 * self.x\n"
        "assert type(Mine) is Named and Mine.tag == 'm' and Mine().get() == 3 and Mine().twice() == 6 and Base['Mine'] is Mine",
        "class Own(metaclass=Named):\n    x = 5\n    def get(self): return self.x\n"
        "assert type(Own) is Named and Own.low == 'own' and Own().get() == 5 and Base['Own'] is Own",
        "Made = Named('Made', (Base,), {'x': 9})\nassert Made().get() == 9 and issubclass(Made, Base) and type(Named('N', (), {})) is Named",
        "class Mixed(Base, dict): pass\nassert type(Mixed) is Named and Mixed(a=1)['a'] == 1",
        "try:\n    raise Failure('f')\nexcept Failure as e:\n    assert e.args == ('f',) and type(type(e)) is Named",
    ),
    "time zones": (
        "",
        "from datetime import datetime, time, timedelta, timezone, tzinfo\nclass Fixed(tzinfo):\n    def __init__(self, hours): self.hours = hours\n"
        "    def utcoffset(self, dt): return timedelta(hours=self.hours)\n    def dst(self, dt): return timedelta(0)\n"
        "    def tzname(self, dt): return f'F{self.hours}'\n    def __repr__(self): return f'Fixed({self.hours})'\n"
        "class Summer(tzinfo):\n    def utcoffset(self, dt): return timedelta(hours=2 if 3 < dt.month < 11 else 1)\n"
        "    def dst(self, dt): return timedelta(hours=1 if 3 < dt.month < 11 else 0)\n"
        "def now(): return datetime(2024, 1, 1, 12, tzinfo=Fixed(2))\ndef to_utc(dt): return dt.astimezone(timezone.utc)\n",
        None,
        "from datetime import datetime, time, timedelta, timezone, tzinfo\nnoon = datetime(2024, 1, 1, 12, tzinfo=Fixed(2))\n"
        "assert noon.utcoffset() == timedelta(hours=2) and noon.tzname() == 'F2' and noon.isoformat() == '2024-01-01T12:00:00+02:00'\n"
        "assert noon == datetime(2024, 1, 1, 10, tzinfo=timezone.utc) and noon.tzinfo.hours == 2 and noon.dst() == timedelta(0)\n"
        "assert datetime(2024, 1, 1, tzinfo=timezone.utc).astimezone(Fixed(3)).hour == 3 and noon.astimezone(timezone.utc).hour == 10",
        "from datetime import datetime, timedelta\nassert datetime(2024, 7, 1, tzinfo=Summer()).utcoffset() == timedelta(hours=2)\n"
        "assert datetime(2024, 1, 1, tzinfo=Summer()).utcoffset() == timedelta(hours=1)",
        "from datetime import datetime, timezone\nassert to_utc(datetime(2024, 1, 1, 12, tzinfo=Fixed(2))) == datetime(2024, 1, 1, 10, tzinfo=timezone.utc)",
        "from datetime import datetime, tzinfo\nassert now().hour == 12 and now().tzinfo.hours == 2 and isinstance(Fixed(1), tzinfo)\n"
        "assert repr(datetime(2024, 1, 1, tzinfo=Fixed(2))) == 'datetime.datetime(2024, 1, 1, 0, 0, tzinfo=Fixed(2))'",
        "from datetime import datetime, timedelta\nclass Mine(Fixed):\n    def tzname(self, dt): return 'mine'\n"
        "assert datetime(2024, 1, 1, tzinfo=Mine(1)).tzname() == 'mine' and datetime(2024, 1, 1, tzinfo=Mine(1)).utcoffset() == timedelta(hours=1)",
    ),
    "exceptions of the tests' that derive from the code's": (
        "",
        "class Field(Exception):\n    def __init__(self, field, said=None):\n        self.field, self.said = field, said\n"
        "        super().__init__(f'{field}: {said}')\nclass Plain(Exception): pass\nclass Gone(OSError): pass\n"
        "class App(Exception):\n    code = 500\n    def __str__(self): return f'[{self.code}] {self.args[0]}'\n"
        "def throw(error): raise error\ndef make(kind, *given): raise kind(*given)\ndef text(error): return str(error)\n"
        "one = Plain('first')\ndef again(said):\n    one.args, one.n = (said,), getattr(one, 'n', 0) + 1\n    raise one\n",
        None,
        "class Age(Field):\n    def __init__(self, said): super().__init__('age', said)\ne = Age(3)\n"
        "assert str(e) == 'age: 3' == text(e) and e.args == ('age: 3',) and (e.field, e.said) == ('age', 3)\n"
        "try:\n    throw(Age(4))\nexcept Field as caught:\n    assert str(caught) == 'age: 4' and type(caught) is Age",
        "class Age(Field):\n    def __init__(self, said): super().__init__('age', said)\n    def __str__(self): return 'own'\n"
        "    def __repr__(self): return 'shown'\nassert f'{Age(3)}' == 'own' == text(Age(4)) and repr(Age(5)) == 'shown'",
        "class Lost(Plain):\n    def __init__(self, what):\n        super().__init__(f'{what} is lost')\n        self.what = what\n"
        "assert str(Lost('x')) == 'x is lost' == text(Lost('x'))\ntry:\n    make(Lost, 'q')\nexcept Plain as e:\n"
        "    assert str(e) == 'q is lost' and e.args == ('q is lost',) and e.what == 'q'",
        "class Missing(App):\n    code = 404\n    def __init__(self, what): super().__init__(f'{what} not found')\n"
        "    def __str__(self): return super().__str__() + '!'\nassert str(Missing('x')) == '[404] x not found!'",
        "class Away(Gone):\n    def __init__(self, path): super().__init__(2, 'away', path)\n"
        "assert Away('/x').errno == 2 and Away('/x').filename == '/x' and Gone(2, 'no', '/y').filename == '/y'",
        "for n, said in enumerate(('a', 'b'), 1):\n    try:\n        again(said)\n        assert False\n"
        "    except Plain as e:\n        assert (str(e), e.args, e.n) == (said, (said,), n)",
    ),
    "warnings of the code's own classes": (
        "",
        "import warnings\nclass Mine(UserWarning): pass\nclass Other(DeprecationWarning):\n"
        "    def __init__(self, text, code=3):\n        super().__init__(text)\n        self.code = code\n"
        "def mine(): warnings.warn(Mine('m'))\ndef by_class(): warnings.warn('m2', Mine)\ndef other(): warnings.warn(Other('o', 7))\n"
        "def plain(): warnings.warn('p', DeprecationWarning)\ndef quiet():\n    with warnings.catch_warnings():\n"
        "        warnings.simplefilter('ignore')\n        warnings.warn('q', Mine)\n",
        None,
        "import warnings\nwith warnings.catch_warnings(record=True) as seen:\n    warnings.simplefilter('always')\n"
        "    mine(), by_class(), other(), plain(), quiet()\n"
        "assert [one.category for one in seen] == [Mine, Mine, Other, DeprecationWarning]\n"
        "assert str(seen[0].message) == 'm' and isinstance(seen[1].message, Mine) and seen[2].message.code == 7",
        "import unittest\ncase = unittest.TestCase()\nwith case.assertWarns(Mine): mine()\n"
        "with case.assertWarnsRegex(Mine, 'm2') as caught: by_class()\nassert 'm2' in str(caught.warning)",
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('error')\n    try:\n        mine()\n"
        "        assert False\n    except Mine as e:\n        assert str(e) == 'm'",
    ),
    "records of loggers": (
        "",
        "import logging\nlog = logging.getLogger('app.x')\nclass Bad(ValueError): pass\ndef work(n):\n"
        "    log.info('start %d', n, extra={'job': n, 'tags': ['a', n]})\n    try:\n        if n < 0: raise Bad('neg')\n"
        "        return 1 / n\n    except ZeroDivisionError: log.exception('boom')\n    except Bad: log.error('bad', exc_info=True)\n",
        None,
        "import logging\nseen = []\nclass Keeping(logging.Handler):\n    def emit(self, record): seen.append(record)\n"
        "logger = logging.getLogger('app')\nlogger.setLevel(logging.DEBUG)\nlogger.addHandler(Keeping())\nwork(0)\n"
        "assert len(seen) == 2 and not seen[0].exc_info and seen[1].exc_info[0] is ZeroDivisionError\n"
        "assert str(seen[1].exc_info[1]) == 'division by zero' and seen[0].job == 0 and seen[0].tags == ['a', 0]\n"
        "work(-1)\nassert seen[3].exc_info[0] is Bad and isinstance(seen[3].exc_info[1], Bad) and seen[3].getMessage() == 'bad'",
        "import unittest\nwith unittest.TestCase().assertLogs('app', 'ERROR') as caught: work(0)\n"
        "assert caught.records[0].exc_info[0] is ZeroDivisionError and caught.output[0].startswith('ERROR:app.x:boom')",
    ),
    "copies of exceptions and members": (
        "",
        "from enum import Enum, Flag, IntEnum\nclass V(Enum):\n    A = 1\n    B = 'b'\nclass I(IntEnum): X = 3\n"
        "class F(Flag):\n    R = 1\n    W = 2\nclass E(Exception):\n    def __init__(self, code, more=None):\n"
        "        super().__init__(code)\n        self.code, self.more = code, more\nclass Plain(ValueError): pass\n",
        None,
        "import copy, pickle\nassert pickle.loads(pickle.dumps({'k': [V.A, I.X]})) == {'k': [V.A, I.X]} and copy.deepcopy(V.B) is V.B\n"
        "assert pickle.loads(pickle.dumps(V.A)) is V.A and pickle.loads(pickle.dumps(F.R | F.W)) == F.R | F.W",
        "import copy, pickle\ne = pickle.loads(pickle.dumps(E(5)))\nassert (type(e), e.code, e.args) == (E, 5, (5,))\n"
        "e = E([5])\nd = copy.deepcopy(e)\nassert d.code == [5] and d.code is not e.code and copy.copy(e).code is e.code\n"
        "assert pickle.loads(pickle.dumps(Plain('x'))).args == ('x',)",
    ),
    "classes registered as subclasses": (
        "",
        "from abc import ABC, ABCMeta\nclass Shape(ABC): pass\n@Shape.register\nclass Square: pass\nclass Other: pass\n"
        "class Numeric(metaclass=ABCMeta): pass\nNumeric.register(int)\n"
        "class Duck(ABC):\n    @classmethod\n    def __subclasshook__(cls, kind):\n        return any('quack' in vars(one) for one in kind.__mro__)\n"
        "class Mallard:\n    def quack(self): return 'quack'\n",
        None,
        "assert issubclass(Square, Shape) and isinstance(Square(), Shape)",
        "assert not isinstance(Other(), Shape) and not issubclass(Other, Shape) and not isinstance(3, Shape)",
        "Shape.register(Other)\nassert isinstance(Other(), Shape)",
        "class Own: pass\nassert not isinstance(Own(), Shape)\nShape.register(Own)\nassert isinstance(Own(), Shape) and issubclass(Own, Shape)",
        "assert isinstance(3, Numeric) and not isinstance('3', Numeric)",
        "assert isinstance(Mallard(), Duck) and issubclass(Mallard, Duck) and not isinstance(Square(), Duck)",
    ),
    "containers of collections that were derived from": (
        "",
        "from collections import Counter, OrderedDict, UserDict, UserList, UserString\nclass O(OrderedDict): pass\nclass C(Counter): pass\n"
        "class U(UserDict):\n    def __setitem__(self, key, value): super().__setitem__(key.upper(), value)\n"
        "class L(UserList):\n    def doubled(self): return L(2 * one for one in self)\nclass S(UserString): pass\n"
        "def made(): return [O(a=1), C('aab'), U(a=1), L([1, 2]), S('ab')]\n",
        None,
        "assert made() == [{'a': 1}, {'a': 2, 'b': 1}, {'A': 1}, [1, 2], 'ab']",
        "assert U({'a': 1}) == {'A': 1} and {'A': 1} == U(a=1) and U(a=1) != {'a': 1}",
        "assert L([1, 6]) == [1, 6] and [1, 6] == L([1, 6]) and L([1, 6]) != [6, 1] and L([1]).doubled() == [2]",
        "assert S('x') == 'x' and S('x') != 'y' and 'x' == S('x')",
    ),
    "type hints that are texts": (
        "",
        "from dataclasses import dataclass\nfrom typing import List, Optional\nclass Leaf: pass\n"
        "class Tree:\n    def grow(self, by: 'Leaf') -> 'Tree': return self\n"
        "@dataclass\nclass Node:\n    value: int\n    next: 'Optional[Node]' = None\n    all: 'List[Node]' = None\n"
        "def leaf_of(tree: 'Tree', number: 'int') -> 'Leaf': return Leaf()\n",
        None,
        "import typing\nhints = typing.get_type_hints(Tree.grow)\nassert hints['return'] is Tree and hints['by'].__name__ == 'Leaf'",
        "from typing import get_type_hints, List, Optional\nassert get_type_hints(Node) == {'value': int, 'next': Optional[Node], 'all': List[Node]}",
        "import typing\nhints = typing.get_type_hints(leaf_of)\nassert hints['tree'] is Tree and hints['number'] is int",
    ),
    "arithmetic with members of enumerations": (
        "",
        "from enum import Enum, IntEnum, IntFlag, StrEnum, auto\nclass I(IntEnum):\n    A = 1\n    B = 2\n"
        "class P(IntFlag):\n    R = 4\n    W = 2\n    X = 1\nclass S(StrEnum):\n    RED = auto()\n"
        "class F(float, Enum):\n    HALF = 0.5\ndef red(): return S.RED\n",
        None,
        "assert I.A + 1 == 2 == 3 - I.A and I.B * 2 == 4 and sum(I) == 3 and max(I) == 2 and I.A < 2 and [5, 6][I.A] == 6",
        "assert P.R | P.W == 6 and 7 & ~P.X == 6 and P.R + 1 == 5",
        "assert S.RED + '!' == 'red!' and 'a ' + red() == 'a red' and len(red()) == 3 and red().upper() == 'RED'",
        "assert F.HALF * 2 == 1.0 == F.HALF + F.HALF",
    ),
    "methods that keep what they have returned": (
        "",
        "from functools import cache, lru_cache\nclass A:\n    def __init__(self): self.step = 1\n"
        "    @lru_cache(None)\n    def next(self, n): return n + self.step\n"
        "    @classmethod\n    @cache\n    def twice(cls, n): return 2 * n\n"
        "    @lru_cache\n    def fib(self, n): return n if n < 2 else self.fib(n - 1) + self.fib(n - 2)\n",
        None,
        "assert A().next(5) == 6 and A.twice(2) == 4 and A().fib(20) == 6765",
        "bound = A().next\nassert bound(1) == 2 and list(map(bound, [1, 2])) == [2, 3]",
    ),
    "enumerations with methods of their own": (
        "",
        "from enum import Enum\nclass Names:\n    def low(self): return self.name.lower()\n    @property\n    def long(self): return f'colour {self.name}'\n"
        "class Colour(Names, Enum):\n    RED = 1\n    BLUE = 2\n    def __str__(self): return self.name.title()\n    def __bool__(self): return self.value == 2\n"
        "    def __len__(self): return self.value\nclass Key(Enum):\n    A = 1\n    B = 2\n"
        "    def __eq__(self, other): return isinstance(other, Key) and self.value == other.value\n"
        "    def __hash__(self): return hash(self.value)\n    def __repr__(self): return 'key'\n"
        "class Word(str, Enum):\n    YES = 'yes'\n    def __str__(self): return self.value\n",
        None,
        "assert str(Colour.RED) == 'Red' and f'{Colour.BLUE}' == 'Blue' and not Colour.RED and Colour.BLUE and len(Colour.BLUE) == 2",
        "assert [one.low() for one in Colour] == ['red', 'blue'] and Colour.RED.long == 'colour RED' and Colour.RED is Colour(1)",
        "known = {Key.A: 5}\nassert known[Key(1)] == 5 and Key.A != Key.B and repr(Key.A) == 'key' and str(Key.A) == 'Key.A'",
        "assert str(Word.YES) == 'yes' == Word.YES and Word.YES + '!' == 'yes!'",
    ),
    "properties that the tests go on with or patch": (
        "",
        "class B:\n    @property\n    def p(self): return 1\n    @property\n    def ten(self): return self.p * 10\n",
        None,
        "class S(B):\n    @property\n    def p(self): return super().p + 1\nassert (S().p, S().ten, B().p) == (2, 20, 1)",
        "from unittest.mock import PropertyMock, patch\nwith patch.object(B, 'p', 5): assert B().p == 5\nassert B().p == 1\n"
        "with patch.object(B, 'p', new_callable=PropertyMock, return_value=7): assert B().ten == 70\nassert B().ten == 10",
    ),
    "answers that change with what they are about": (
        "",
        "class W:\n    def __init__(self, s): self.s = s\n    def __len__(self): return len(self.s)\n    @property\n    def total(self): return sum(self.s)\n"
        "class K:\n    def run(self, f):\n        self.n = 5\n        made = f()\n        self.n = 6\n        return made\n",
        None,
        "own = [1]\nw = W(own)\nassert len(w) == 1 and w.total == 1\nown.append(3)\nassert len(w) == 2 and w.total == 4",
        "k = K()\nassert k.run(lambda: k.n) == 5\nassert k.n == 6",
    ),
    "classes of the tests' beside the code's": (
        "",
        "class A:\n    legs = 4\n    def walk(self): return self.legs * 2\n",
        None,
        "class Mix:\n    def hi(self): return 'hi'\nclass C(Mix, A): pass\n"
        "assert C.legs == 4 == C().legs and C().walk() == 8 and C().hi() == 'hi' and not hasattr(C(), 'nothing')",
    ),
    "attributes of functions": (
        "",
        "def counts(x):\n    counts.calls = getattr(counts, 'calls', 0) + 1\n    return x\ndef adds(x): return x + adds.more\n",
        None,
        "counts(1)\ncounts(2)\nassert counts.calls == 2\ncounts.calls = 7\ncounts(1)\nassert counts.calls == 8",
        "adds.more = 5\nassert adds(1) == 6 and adds.more == 5\ndel adds.more\ntry: adds(1)\nexcept AttributeError: pass\nelse: assert False",
    ),
    "readers and keys of the library": (
        "",
        "import csv, functools, io\ndef rows(text): return csv.reader(io.StringIO(text))\ndef compare(a, b): return (b > a) - (b < a)\n"
        "key = functools.cmp_to_key(compare)\n",
        None,
        "assert list(rows('a,b\\nc,d\\n')) == [['a', 'b'], ['c', 'd']] and next(rows('x')) == ['x']",
        "assert sorted([1, 3, 2], key=key) == [3, 2, 1] and max([1, 3, 2], key=key) == 1",
    ),
    "memory that the other side fills": (
        "",
        "import io\nclass Raw(io.RawIOBase):\n    def __init__(self, data): self.data = data\n    def readable(self): return True\n"
        "    def readinto(self, b):\n        n = min(len(b), len(self.data))\n        b[:n] = self.data[:n]\n        self.data = self.data[n:]\n        return n\n"
        "def read(raw): return io.BufferedReader(raw).read(3)\n",
        None,
        "import io\nassert io.BufferedReader(Raw(b'hello')).read(3) == b'hel'",
        "class Own(Raw): pass\nassert read(Own(b'hello')) == b'hel'",
    ),
    "a prelude that the code goes on with": (
        "def helper(x):\n    return x + 1\n\ndef twice(x):\n    y = helper(x)\n",
        "    return 2 * y\n",
        "twice",
        "assert twice(3) == 8 and helper(1) == 2",
    ),
}  # fmt: skip


@pytest.fixture(scope="module", name="daemon")
def start_daemon(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"))
    yield daemon
    assert daemon.stop() == 0, daemon.log()


def grade(client, prelude, code, entry_point, *targets, **job):
    wanted = {"kind": "code_exec", "code": code, "targets": list(targets), **job}
    if prelude:
        wanted["prelude"] = prelude
    if entry_point:
        wanted["entry_point"] = entry_point
    return client.run(wanted)


@pytest.mark.parametrize("name", HONEST)
def test_as_in_one_process(client, name):
    prelude, code, entry_point, *targets = HONEST[name]
    result = grade(client, prelude, code, entry_point, *targets, metadata={"timeout_s": 20})
    assert result["verdict"] == "pass", result["assertions"]


@pytest.mark.parametrize("name", HONEST)
def test_that_it_is_so_in_one_process(name, monkeypatch):
    prelude, code, entry_point, *targets = HONEST[name]
    joined = prelude + code if code.startswith(" ") else f"{prelude}\n{code}"
    module = types.ModuleType("one_process")
    monkeypatch.setitem(sys.modules, "one_process", module)  # where classes look for their module
    exec(joined, vars(module))
    for target in targets:
        exec(target, vars(module))


# What the code's side tells of a class beside its bases and attributes, and what the judge says to that.
LIES = {
    "a metaclass that is a built-in type": ("('metaclass', int)", "a bad metaclass"),
    "a metaclass that is a class": ("('metaclass', type(value)) if value is not Plain else None", "a bad metaclass"),
    "a metaclass that is a number": ("('metaclass', 5)", "a bad metaclass"),
    "a metaclass that decides what an instance is": ("describe.METACLASS", "a metaclass that is no mirror"),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_about_metaclasses(client, name):
    more, said = LIES[name]
    code = (
        "import sys\nclass Plain: pass\nclass Told:\n    def __instancecheck__(self, value): return True\n"
        "frame = sys._getframe()\nwhile 'describe' not in frame.f_globals: frame = frame.f_back\n"
        f"describe = frame.f_globals['describe']\ndescribe._more = lambda value, solid: {more}\n"
    ).replace("type(value)", "Plain")
    result = grade(client, "", code, None, "assert isinstance(3, Told)")
    assert (result["verdict"], result["score"]["failure_modes"][0]["detail"]) == ("error", f"it does not keep to the protocol: {said}")


def test_memory_that_is_to_be_filled_tells_nothing(client):
    """The code does not see what the tests' process had in that memory before."""
    code = (
        "import io\nseen = []\nclass Raw(io.RawIOBase):\n    def readable(self): return True\n"
        "    def readinto(self, b):\n        seen.append(sum(map(bool, bytes(b))))\n        return 0\ndef told(): return seen\n"
    )
    target = "import io\nkept = [('secret%d' % i) * 50 for i in range(500)]\ndel kept\nio.BufferedReader(Raw()).read(5)\nassert told() == ''"
    result = grade(client, "", code, None, target)
    assert result["assertions"][0]["detail"] == "got [0], expected ''", result


BOX = '''
class Box:
    size = 3
    def __init__(self, v):
        self.v = v
    def is_same(self, other):
        return self.v == other.v
    @property
    def double(self):
        return self.v * 2
    def __eq__(self, other):
        return self.v == other.v

def f(x):
    """A box of x + 1."""
'''

# Name: prelude, candidate, and an assertion that the candidate must not pass. The right answer is Box(2).
FORGED = {
    "a method put into the instance": (
        BOX, "    b = Box(0)\n    b.is_same = lambda other: True\n    return b", "assert f(1).is_same(Box(2))",
    ),
    "the class changed": (
        BOX, "    Box.__eq__ = lambda s, o: True\n    return Box(0)", "assert f(1) == Box(2)",
    ),
    "a class of the same name": (
        BOX,
        "    class Box:\n        def __eq__(self, other): return True\n        def is_same(self, other): return True\n"
        "    return Box()",
        "assert f(1) == Box(2)",
    ),
    "the prelude's class written anew": (
        BOX,
        "class Box:\n    def __init__(self, v): self.v = 0\n    def __eq__(self, other): return True\n"
        "    def is_same(self, other): return True\ndef f(x):\n    return Box(0)",
        "assert f(1) == Box(2) or f(1).is_same(Box(2))",
    ),
    "a property put into the instance": (
        BOX, "    b = Box(0)\n    b.__dict__['double'] = 4\n    return b", "assert f(1).double == 4",
    ),
    "an attribute that equals everything": (
        BOX,
        "    class Any:\n        def __eq__(self, other): return True\n        __hash__ = None\n    return Box(Any())",
        "assert f(1) == Box(2)",
    ),
    "an attribute with an operator": (
        BOX,
        "    class Any:\n        def __mul__(self, other): return 4\n    return Box(Any())",
        "assert f(1).double == 4",
    ),
    "a subclass of the prelude's class": (
        BOX,
        "    class Sub(Box):\n        def __eq__(self, other): return True\n    return Sub(0)",
        "assert f(1) == Box(2)",
    ),
    "another class in its place": (
        BOX,
        "    b = Box(0)\n    class Any:\n        def __eq__(self, other): return True\n    b.__class__ = Any\n    return b",
        "assert f(1) == Box(2)",
    ),
    "the tests' object changed": (
        "",
        "def f(x):\n    x.is_right = lambda answer: True",
        "class Judge:\n    def is_right(self, answer): return answer == 2\nj = Judge()\nr = f(j)\nassert j.is_right(r)",
    ),
    "the tests' class changed": (
        "",
        "def f(x):\n    x.is_right = lambda self, answer: True",
        "class Judge:\n    def is_right(self, answer): return answer == 2\nr = f(Judge)\nassert Judge().is_right(r)",
    ),
    "what is behind the tests' object": (
        "",
        "def f(x):\n    return x.is_right.__globals__['SECRET']",
        "SECRET = 7\nclass Judge:\n    def is_right(self): pass\nassert f(Judge()) == 7",
    ),
    "the class of the tests' object": (
        "",
        "def f(x):\n    try:\n        x.__class__.__eq__ = lambda s, o: True\n    except Exception: pass\n    return x",
        "class Judge:\n    def __init__(self, v): self.v = v\n    def __eq__(self, o): return self.v == o.v\n"
        "assert f(Judge(1)) == Judge(2)",
    ),
    "an exception with a method": (
        "class Own(Exception):\n    def __init__(self, v):\n        self.v = v\n    def is_right(self):\n        return self.v == 2\n"
        "def f(x):\n    '''Fails.'''\n",
        "    e = Own(1)\n    e.is_right = lambda: True\n    raise e",
        "try: f(1)\nexcept Own as e: assert e.is_right()",
    ),
    "a container whose comparison says yes": (
        "",
        "from collections import UserDict, UserList\nclass L(UserList):\n    def __eq__(self, other): return True\ndef f(x):\n    return L([3])",
        "assert f(1) == [2]",
    ),
    "a dictionary of collections whose comparison says yes": (
        "",
        "from collections import OrderedDict\nclass O(OrderedDict):\n    def __eq__(self, other): return True\ndef f(x):\n    return O(a=3)",
        "assert f(1) == {'a': 2}",
    ),
    "a member of an enumeration that adds as it likes": (
        "",
        "from enum import IntEnum\nclass I(IntEnum):\n    A = 1\n    def __add__(self, other): return 7\ndef f(x):\n    return I.A",
        "assert f(1) + 5 == 7",
    ),
    "a hint that names something of the tests": (
        "",
        "def f(x: 'SECRET'): return x",
        "import typing\nSECRET = 42\nassert typing.get_type_hints(f)['x'] == 42",
    ),
    "all items and none": (
        "",
        "class It:\n    def __iter__(self): return self\n    def __next__(self): return 5\n    def __length_hint__(self): return 3\n"
        "    def __eq__(self, other): return True\ndef f(x):\n    return It()",
        "assert f(1) == [1, 2, 3]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_objects_pass_nothing(client, name):
    prelude, code, target = FORGED[name]
    result = grade(client, prelude, code, "f", target)
    assert result["verdict"] == "assertion_fail", result


@pytest.mark.parametrize("name", FORGED)
def test_forged_objects_pass_in_one_process(client, name):
    """Otherwise they would be no attacks. `nowhere` lists those that fail in one process, too."""
    prelude, code, target = FORGED[name]
    result = grade(client, prelude, code, "f", target, verdict="shared")
    nowhere = ("a property put into the instance",)
    assert result["verdict"] == ("assertion_fail" if name in nowhere else "pass"), result
