# SPDX-License-Identifier: MIT
"""What the code may make of the tests' own classes, and what a class of its own may answer."""

import pytest
from code_exec_jobs import assert_passed, assert_verdict, judge

# Python code decides what the checker believes; the daemon sees ordinary reports.
pytestmark = pytest.mark.once


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


DATACLASS = "from dataclasses import dataclass\n@dataclass{}\nclass P:\n    x: int\n    y: int\n"
PLAIN = "class P:\n    def __init__(self, x, y): self.x, self.y = x, y\n    def __eq__(self, o): return self.x == o.x and self.y == o.y\n"
MOVED = "assert move(P(1, 2)) == P(2, 3)"
PROPERTY = "def move(p):\n    for name in 'xy': setattr(type(p), name, property(lambda s: 0{}))\n    return p"
SETTABLE = PROPERTY.format(", lambda s, v: None")
DESCRIPTOR = "class D:\n    def __get__(s, i, o=None): return 0\n    def __set__(s, i, v): pass\n"
REPLACED = {
    "a dataclass": (SETTABLE, DATACLASS.format("") + MOVED),
    "a frozen dataclass": (SETTABLE, DATACLASS.format("(frozen=True)") + MOVED),
    "a class": (SETTABLE, PLAIN + MOVED),
    "a class, by a descriptor": (DESCRIPTOR + PROPERTY.replace("property(lambda s: 0{})", "D()"), PLAIN + MOVED),
    "objects that are there": (PROPERTY.format(""), PLAIN + "a, b = P(1, 2), P(2, 3)\nassert move(a) == b"),
    "a class that compares nothing": (SETTABLE, PLAIN.partition("    def __eq__")[0] + "p = move(P(1, 2))\nassert p.x == P(2, 3).x"),
    "a dataclass in the making": (
        "def move(p): return p\ndef fields(c):\n    for name in 'xy': setattr(c, name, property(lambda s: 0, lambda s, v: None))\n    return c",
        DATACLASS.format("").replace("class P", "@fields\nclass P") + MOVED,
    ),
    "an exception": (
        "def run(cb):\n    try: cb()\n    except Exception as e:\n        type(e).code = property(lambda s: 0, lambda s, v: None)\n        raise",
        "class E(Exception):\n    def __init__(self, code): self.code = code\ndef cb(): raise E(5)\ntry: run(cb)\nexcept E as e: assert e.code == E(7).code",
    ),
    "what a class computes": (
        "def move(p):\n    type(p).x = 0\n    return p",
        "class P:\n    def __init__(self, x): self.__dict__['_x'] = x\n    def __getattr__(self, name): return self._x\nassert move(P(1)).x == P(2).x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLACED)
def test_the_code_does_not_say_what_objects_of_the_tests_have(client, name):
    code, test = REPLACED[name]
    assert_verdict(judge(client, code, test), "assertion_fail")


RECT = "class R:\n    def __init__(self, w, h): self.w, self.h = w, h\n    def __eq__(self, o): return vars(self) == vars(o)\n"
ADDED = {
    "a property": ("def f(c):\n    c.area = property(lambda s: s.w * s.h)\n    return c", f"@f\n{RECT}assert R(2, 3).area == 6 and R(1, 2) == R(1, 2)"),
    "a property of a class that has objects": ("def f(r): type(r).area = property(lambda s: s.w * s.h)", RECT + "r = R(2, 3)\nf(r)\nassert r.area == 6 and R(1, 1).area == 1"),
    "a property that is set": (
        "def f(c):\n    for n in c.__annotations__:\n        def put(s, v, n='_' + n):\n            if type(v) is not int: raise TypeError(n)\n            setattr(s, n, v)\n        setattr(c, n, property(lambda s, n='_' + n: getattr(s, n), put))\n    return c",
        "@f\nclass P:\n    x: int\n    def __init__(self, x): self.x = x\np = P(3)\np.x += 1\nassert p.x == 4\ntry: P('a')\nexcept TypeError: pass\nelse: assert False",
    ),
    "a method and plain data": (
        "def f(r):\n    type(r).double = lambda s: type(s)(s.w * 2, s.h * 2)\n    type(r).kind = 'rect'\n    r.w = 5\n    return r",
        RECT + "r = f(R(2, 3))\nassert r.kind == 'rect' and r == R(5, 3) and r.double() == R(10, 6)",
    ),
    "plain data where a class computes attributes": (
        "def f(c):\n    c.kind = 'lazy'\n    return c",
        "@f\nclass L:\n    def __getattr__(self, name): return name\nassert L().kind == 'lazy' and L().other == 'other'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ADDED)
def test_the_code_adds_to_classes_of_the_tests(client, name):
    code, test = ADDED[name]
    assert_passed(judge(client, code, test))


SHOWN = "class N:\n    def __init__(self, v): self.v = v\n    def {}(self): return f'N({{self.v}})'\n"


@pytest.mark.parametrize(("own", "added", "function"), [("__repr__", "__str__", "str"), ("__str__", "__repr__", "repr")])
def test_the_code_adds_no_text_beside_one_of_the_tests(client, own, added, function):
    code = f"def f(n):\n    type(n).{added} = lambda s: 'x'\n    return n"
    assert_verdict(judge(client, code, SHOWN.format(own) + f"assert {function}(f(N(1))) == {function}(N(2))"), "assertion_fail")
    code = f"def f(c):\n    c.{added} = lambda s: f'<{{s.v}}>'\n    return c"
    assert_passed(judge(client, code, "@f\n" + SHOWN.format(own) + f"assert {function}(N(1)) == '<1>'"))


AUTOSPEC = "from unittest.mock import create_autospec\ndef on_done(x): ...\ncb = create_autospec(on_done, return_value=3)\n"
MOCKED = {
    "a function that is reset": ("def f(cb):\n    cb(9)\n    cb.reset_mock()", AUTOSPEC + "f(cb)\ncb.assert_not_called()"),
    "a function that is reset by its dictionary": ("def f(cb):\n    cb(9)\n    vars(cb)['reset_mock']()", AUTOSPEC + "f(cb)\ncb.assert_not_called()"),
    "keywords of a call": (
        "def f(m):\n    m.send(1)\n    m.send.call_args.kwargs['to'] = 'bob'\n    m.send.call_args[1]['to'] = 'bob'\n    for part in m.send.call_args: part['to'] = 'bob'",
        "from unittest.mock import Mock\nm = Mock()\ntry: f(m)\nexcept TypeError: pass\nm.send.assert_called_once_with(1, to='bob')",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MOCKED)
def test_a_mock_remembers_how_it_was_called(client, name):
    code, test = MOCKED[name]
    assert_verdict(judge(client, code, test), "assertion_fail")


@pytest.mark.parametrize(("code", "test"), [
    ("def f(cb): return cb(9)", AUTOSPEC + "assert f(cb) == 3\ncb.assert_called_once_with(9)"),
    (
        "def f(m):\n    m.send(1, to='bob')\n    args, keywords = m.send.call_args\n    return args[0], keywords['to'], m.send.call_args.kwargs, m.send.call_args_list[0][1]",
        "from unittest.mock import Mock\nm = Mock()\nassert f(m) == (1, 'bob', {'to': 'bob'}, {'to': 'bob'})\nm.send.assert_called_once_with(1, to='bob')",
    ),
])  # fmt: skip
def test_the_code_calls_and_reads_a_mock(client, code, test):
    assert_passed(judge(client, code, test))


COMPARED = {
    "a method": ("class R:\n    def startswith(s, *a): return True\ndef f(x): return R()", "assert f('Bob').startswith('Hello')"),
    "a function of a class": ("class R:\n    @staticmethod\n    def startswith(*a): return True\ndef f(x): return R", "assert f('Bob').startswith('Hello')"),
    "an attribute": ("class R:\n    def __init__(s): s.equals = lambda o: 1\ndef f(x): return R()", "assert f(1).equals([2])"),
    "a function": ("def f(x):\n    def g(): pass\n    g.startswith = lambda s: True\n    return g", "assert f(1).startswith('x')"),
    "a set": ("class S:\n    def issubset(s, o): return True\ndef f(x): return S()", "assert f([1]).issubset({7})"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARED)
def test_a_class_that_the_tests_do_not_name_compares_nothing_with_their_values(client, name):
    code, test = COMPARED[name]
    assert_verdict(judge(client, code, test), "assertion_fail")


TRIE = "class Trie:\n    def __init__(self, *words): self.words = words\n    def startswith(self, s): return any(w.startswith(s) for w in self.words)\n    def equals(self, o): return self.words == o.words\n"
COMPARES = {
    "a class that is named": (TRIE, "t = Trie('ab', 'cd')\nassert t.startswith('a') and not t.startswith('x')"),
    "a class that is derived": (TRIE, "class T(Trie): pass\nassert T('ab').startswith('a')"),
    "two objects": (TRIE + "def make(*words): return Trie(*words)", "assert make('a').equals(make('a')) and not make('a').equals(make('b'))"),
    "values": ("def f(x): return x", "assert f('Bob').startswith('B') and f({1}).issubset({1, 2})"),
    "a name that is looked for": (TRIE + "def make(*words): return Trie(*words)", "assert hasattr(make('a'), 'startswith') and callable(make('a').equals)"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARES)
def test_comparisons_that_are_the_codes_to_answer(client, name):
    code, test = COMPARES[name]
    assert_passed(judge(client, code, test))
