# SPDX-License-Identifier: MIT
"""What the code does with objects of the tests' beside calling them: changes their exceptions, refers to them weakly,
redirects what they print, uses a class that they have put in the place of one of Python's. The reference is a single
process: each honest program here passes in this process, too."""

import pytest
from code_exec_jobs import assert_passed, details, judge

# Python code decides what the checker believes; the daemon sees ordinary reports.
pytestmark = pytest.mark.once


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


AGAIN = "def f(g):\n    try:\n        g()\n    except Exception as e:\n        {}\n        raise\n"
OWN = "class X(Exception): pass\ndef b(): raise X('a')\ntry:\n    f(b)\n    assert False\nexcept X as e:\n    {}\n"
BUILT_IN = OWN.replace("class X(Exception): pass\n", "X = ValueError\n")
CAPTURE = "import io, contextlib\ndef f(g):\n    b = io.StringIO()\n    with contextlib.redirect_stdout(b):\n        g()\n    return b.getvalue()\n"
BUS = "import weakref\nclass Bus:\n    def __init__(self): self.all = weakref.WeakSet()\n    def add(self, o): self.all.add(o)\n"
BUS += "    def fire(self):\n        for o in self.all: o.hit()\n"
HIT = "class A:\n    n = 0\n    def hit(self): self.n += 1\n"
TODAY = "import datetime\ndef f(): return datetime.date.today().year\n"
STILL = "import datetime\nfrom unittest.mock import patch\nclass D(datetime.date):\n    @classmethod\n    def today(cls): return cls(1999, 1, 1)\n"
HONEST = {
    "an attribute": (AGAIN.format("e.seen = 5"), OWN.format("assert e.seen == 5")),
    "an attribute of a built-in exception": (AGAIN.format("e.seen = [5]"), BUILT_IN.format("assert e.seen == [5]")),
    "arguments": (AGAIN.format("e.args = ('b', 2)"), OWN.format("assert e.args == ('b', 2) and str(e) == \"('b', 2)\"")),
    "a note": (AGAIN.format("e.add_note('n')"), OWN.format("assert e.__notes__ == ['n']")),
    "a second note": (AGAIN.format("e.add_note('n')"), OWN.replace("raise X('a')", "\n    x = X('a')\n    x.add_note('m')\n    raise x").format("assert e.__notes__ == ['m', 'n']")),
    "twice": (AGAIN.format("e.n = getattr(e, 'n', 0) + 1"), OWN.replace("f(b)", "f(lambda: f(b))").format("assert e.n == 2")),
    "the tests change one of the code's": (
        "class Y(Exception): pass\ndef f(): raise Y('a')\ndef g(e): return e.args, e.seen, e.__notes__",
        "try:\n    f()\nexcept Y as e:\n    e.args, e.seen = ('b',), 5\n    e.add_note('n')\n    assert g(e) == (('b',), 5, ['n'])",
    ),
    "printed": (CAPTURE, "assert f(lambda: print('hi')) == 'hi\\n' and f(lambda: None) == ''"),
    "printed by both in turn": (CAPTURE + "def p(x): print('code', x)\n", "def g():\n    print('a')\n    p(1)\n    print('b')\nassert f(g) == 'a\\ncode 1\\nb\\n'"),
    "printed before an exception": (
        CAPTURE.replace("        g()", "        try:\n            g()\n        except ValueError: print('caught')"),
        "def g():\n    print('a')\n    raise ValueError\nassert f(g) == 'a\\ncaught\\n'",
    ),
    "printed within another capture": (CAPTURE, "import io, contextlib\nb = io.StringIO()\nwith contextlib.redirect_stdout(b):\n    print('x')\n    assert f(lambda: print('y')) == 'y\\n'\n    print('z')\nassert b.getvalue() == 'x\\nz\\n'"),
    "printed within a capture of the tests' within": (CAPTURE, "import io, contextlib\nb = io.StringIO()\ndef g():\n    with contextlib.redirect_stdout(b): print('in')\n    print('out')\nassert f(g) == 'out\\n' and b.getvalue() == 'in\\n'"),
    "stderr": (CAPTURE.replace("stdout", "stderr"), "import sys\nassert f(lambda: print('e', file=sys.stderr)) == 'e\\n'"),
    "a weak set": (BUS, HIT + "b, a = Bus(), A()\nb.add(a)\nb.fire()\nb.fire()\nassert a.n == 2"),
    "a weak reference": ("import weakref\ndef f(o): return weakref.ref(o)", "class A: pass\na = A()\nr = f(a)\nassert r() is a"),
    "a weak method": ("import weakref\ndef f(m): return weakref.WeakMethod(m)\ndef g(r): r()()", HIT + "a = A()\nr = f(a.hit)\ng(r)\nassert a.n == 1"),
    "a weak dictionary": ("import weakref\nc = weakref.WeakKeyDictionary()\ndef f(o):\n    c[o] = c.get(o, 0) + 1\n    return c[o]", "class A: pass\na = A()\nf(a)\nassert f(a) == 2 and f(A()) == 1"),
    "a class of Python's replaced": (TODAY, STILL + "with patch('datetime.date', D): assert f() == 1999\nassert f() > 2000"),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_the_effect_is_that_of_one_process(client, name):
    code, test = HONEST[name]
    exec(compile(code + "\n" + test, name, "exec"), {"__name__": "__main__"})
    assert_passed(judge(client, code, test))


# What plain Python fails, or what would change an exception that decides a test.
WRONG = {
    "an assertion of the tests' that fails within": (AGAIN.format("e.args = ()\n        e.seen = 1"), "def g(x): assert x == 2\nf(lambda: g(1))"),
    "swallowed, and changed before": (AGAIN.format("e.args = ()\n        return"), "def g(x): assert x == 2\nf(lambda: g(1))"),
    "a method is hidden": (AGAIN.format("e.__dict__['ok'] = lambda: True"), "class X(Exception):\n    def ok(self): return False\ndef b(): raise X\ntry:\n    f(b)\nexcept X as e:\n    assert e.ok()"),
    "a special method": (AGAIN.format("e.__dict__['__eq__'] = 1"), OWN.format("assert '__eq__' in vars(e)")),
    "output that the code invents": (CAPTURE.replace("b.getvalue()", "'x'"), "assert f(lambda: print('hi')) == 'hi\\n'"),
    "an exit that is changed": ("def f(g):\n    try:\n        g()\n    except BaseException as e:\n        e.code = 0\n        raise", "import sys\ndef g(): sys.exit(3)\nf(g)"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_no_effect_makes_wrong_code_pass(client, name):
    code, test = WRONG[name]
    result = judge(client, code, test)
    assert result["verdict"] != "pass" and result["verdict"] != "error", (details(result), result)
