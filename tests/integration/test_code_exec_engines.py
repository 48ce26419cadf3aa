# SPDX-License-Identifier: MIT
"""Libraries that make a program, an object or a call out of what they are given: expressions of pandas, fields of
dataclasses, pickles, names of functions. Where the tests of a code_exec job give them what the code has chosen, it must
not run in the process of the tests. Each attack here sets a variable there, and its assertion holds if that is set."""

import importlib.util
import textwrap

import pytest
from code_exec_jobs import assert_passed, assert_verdict, details, judge

# Python code decides what the checker believes; the daemon sees ordinary reports.
pytestmark = pytest.mark.once

PACKAGES = ("pandas", "numpy", "attr", "yaml", "lxml")
# What a text of the code's would do in the process of the tests.
DEED = 'setattr(__import__("sys"), "forged", 1)'


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


def need_packages(text):
    for name in PACKAGES:
        if f"import {name}" in text or f"from {name}" in text:
            if importlib.util.find_spec(name) is None:
                pytest.skip(f"{name} is not installed")


def attack(client, code, step):
    """Judges code that is wrong with tests that take STEP, which is statements."""
    need_packages(step)
    steps = textwrap.indent(step, "    ")
    target = f"import sys\ntry:\n{steps}\nexcept Exception:\n    pass\nassert hasattr(sys, 'forged')"
    return judge(client, code.replace("DEED", DEED), target)


def assert_refused(result, reason):
    assert_verdict(result, "assertion_fail")
    assert reason in details(result)[0], result


def assert_honest(client, code, *targets):
    need_packages("\n".join((code, *targets)))
    assert_passed(judge(client, code, *targets))


# --- expressions of pandas -------------------------------------------------------------------------

# Where `pd` stands for pandas among the names of the tests.
REACH = "{at}pd.io.common.os.sys.modules.get('builtins').setattr({at}pd.io.common.os.sys, 'forged', 1)"
FRAME = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3]})\n"
EXPRESSIONS = {
    "query": (f"a == {REACH}", FRAME + "df.query(f())"),
    "a method held before": (f"a == {REACH}", FRAME + "query = df.query\nquery(f())"),
    "eval": (f"b = {REACH}", FRAME + "df.eval(f())"),
    "eval in place": (f"b = {REACH}", FRAME + "df.eval(f(), inplace=True)"),
    "one of several lines": (f"b = a\nc = {REACH}", FRAME + "df.eval(f())"),
    "engine python": (f"a == {REACH}", FRAME + "df.query(f(), engine='python')"),
    "pandas.eval": (REACH, "import pandas as pd\npd.eval(f())"),
    "another name for it": (REACH, "import pandas as pd\nfrom pandas import eval as evaluate\nevaluate(f())"),
    "its own module": (REACH, "import pandas as pd\nimport pandas.core.computation.eval as e\ne.eval(f())"),
    "parser python": (REACH, "import pandas as pd\npd.eval(f(), parser='python', engine='python')"),
    "names handed over": (REACH, "import pandas\npandas.eval(f(), local_dict={'pd': pandas}, global_dict={})"),
    "resolvers": (REACH, "import pandas\npandas.eval(f(), resolvers=[{'pd': pandas}])"),
    "a level above": (REACH, "import pandas as pd\ndef g(): return pd.eval(f(), level=1)\ng()"),
    "backticks": (f"`a b` == {REACH}", "import pandas as pd\npd.DataFrame({'a b': [1]}).query(f())"),
    "a part of the text": (REACH, FRAME + "df.query(f'a > 1 and a == {f()}')"),
    "from a column": (
        "a > a.to_frame.__func__.__globals__['com'].os",
        FRAME + "try:\n    df.query(f())\nexcept AttributeError as error:\n    sys.forged = error",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_of_the_codes_for_pandas_reaches_nothing(client, name):
    expression, step = EXPRESSIONS[name]
    has_at = "pandas.eval" not in step and ".eval(f()" not in step or "df." in step or "DataFrame" in step
    at = "@" if has_at and "evaluate" not in step else ""
    result = attack(client, f"def f():\n    return {expression.format(at=at)!r}", step)
    assert_refused(result, "the tests give pandas an expression that is not theirs, and it asks for the attribute")


@pytest.mark.parametrize("target", [
    FRAME + "expected = [2]\nassert list(df.query(f('a in @{}')).a) == expected",
    "import pandas as pd\nexpected = 2\nassert pd.eval(f('{}')) == expected",
    "import pandas as pd\nexpected = 2\ndef g(): return pd.eval(f('{}'), level=1)\nassert g() == expected",
])  # fmt: skip
def test_an_expression_of_the_codes_does_not_use_what_the_tests_expect(client, target):
    need_packages(target)
    result = judge(client, "def f(text):\n    return text.format('expected')", target)
    assert_refused(result, "it uses `expected`, which is theirs")


def test_expressions_of_pandas_that_compute_work(client):
    of_tests = (
        "df = g()\nassert list(df.query('a > 1 and b < 6').a) == [2] and df.eval('a + b').tolist() == [5, 7, 9]",
        "import pandas as pd\ndf = pd.DataFrame({'a': h(), 'b c': [4, 5, 6]})\nlimit = 1\n"
        "assert list(df.query('a > @limit and `b c` < 6').a) == [2]\n"
        "assert list(df.query(f'a > {limit} and `b c` < @limit * 6').a) == [2]\n"
        "assert df.eval('''\n    d = a + 1\n    e = d * @limit\n''').e.tolist() == [2, 3, 4]\n"
        "assert pd.eval('df.a + limit').tolist() == [2, 3, 4]\n"
        "assert df.query('index > 0 and a.isin([2])').a.tolist() == [2]\n"
        "assert df.query('a[0] == 1 and a == 2').a.tolist() == [2]",
    )
    code = "import pandas as pd\ndef g():\n    return pd.DataFrame({'a': [1, 2, 3], 'b': [4, 5, 6]})\ndef h():\n    return [1, 2, 3]"
    assert_honest(client, code, *of_tests)


def test_expressions_of_the_codes_that_compute_work(client):
    code = (
        "def f(n):\n    return f\"a > {n} and `b c` in [4, 5] or name.str.startswith('x') and not a == 2\"\n"
        "def g():\n    return 'd = a + `b c` ** 2'\ndef h(name):\n    return f'a > @{name}'\ndef k():\n    return '(1 + 2) * 3'"
    )
    frame = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3], 'b c': [4, 5, 6], 'name': ['q', 'r', 'x']})\n"
    targets = (
        "assert df.query(f(1)).a.tolist() == [2, 3] and df.eval(g()).d.tolist() == [17, 27, 39]",
        "limit = 2\nassert df.query(h('limit')).a.tolist() == [3]\n"
        "assert df.query(h('limit'), local_dict={'limit': 1}).a.tolist() == [2, 3]\n"
        "assert df.query(' and '.join([h('limit'), 'a < 4'])).a.tolist() == [3]",
        "assert pd.eval(k()) == 9 and df.query('sin(a) < 1 and sqrt(a) > 1.5').a.tolist() == [3]",
    )
    assert_honest(client, code, *(frame + target for target in targets))


def test_a_matrix_of_the_codes_does_not_use_what_the_tests_expect(client):
    """numpy.bmat() finds names in the frames of the tests."""
    target = "import numpy as np\nexpected = np.array([[5]])\nassert (np.bmat(f('{}')) == expected).all()"
    need_packages(target)
    result = judge(client, "def f(text):\n    return text.format('expected')", target)
    assert_refused(result, "the tests give numpy.bmat() a text that uses `expected`, which is theirs")
    honest = "import numpy as np\na = np.array([[5]])\nassert np.bmat('a, a; a, a').shape == (2, 2) and np.bmat(f('a, {}')).shape == (1, 2)"
    assert_honest(client, "def f(text):\n    return text.format('a')", honest)


def test_an_expression_of_the_tests_may_not_be_one(client):
    """An exception of pandas' is what it is without the guard."""
    target = "import pandas as pd\ntry:\n    pd.DataFrame({'a': [1]}).query('a >')\n    assert False\nexcept SyntaxError:\n    assert f()"
    assert_honest(client, "def f():\n    return 1", target)


# --- names in programs that the library makes ------------------------------------------------------

BASE = """
import dataclasses
@dataclasses.dataclass
class Base:
    x: int = 1
one = Base.__dataclass_fields__["x"]
one.name, one.init = 'x, *, q=[DEED]', False
"""
NAMES = {
    "a field of a dataclass of the code's": (BASE, "from dataclasses import dataclass\n@dataclass\nclass T(Base):\n    y: int = 0"),
    "annotations": (
        "def f():\n    return 'x, *, q=[DEED]'",
        "from dataclasses import dataclass, field\nT = dataclass(type('T', (), {'__annotations__': {f(): int}, f(): field(init=False)}))",
    ),
    "make_class": ("def f():\n    return 'T(tuple):\\n    x = DEED\\nclass U'", "import attr\nattr.make_class(f(), ['x'])"),
    "make_class, fields": ("def f():\n    return ['x=[DEED];z']", "import attr\nattr.make_class('T', f())"),
    "these": ("def f():\n    return ['x=[DEED];z']", "import attr\nattr.s(these={name: attr.ib() for name in f()})(type('T', (), {}))"),
    "define": ("def f():\n    return {'x=[DEED];z': int}", "import attr\nattr.define(type('T', (), {'__annotations__': f()}))"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_codes_is_no_piece_of_a_program(client, name):
    assert_refused(attack(client, *NAMES[name]), "makes a program with a name that is none")


ANNOTATIONS = {
    "singledispatch": "from functools import singledispatch\n@singledispatch\ndef h(x): return 1\ndef g(x: f()): return 2\nh.register(g)",
    "ForwardRef": "import typing\ntyping.ForwardRef(f())._evaluate({}, {}, frozenset())",
}


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_an_annotation_of_the_codes_calls_nothing(client, name):
    assert_refused(attack(client, "def f():\n    return '[DEED]'", ANNOTATIONS[name]), "evaluates an annotation that calls or binds something")


def test_an_annotation_of_the_codes_binds_nothing(client):
    """It would replace what the tests judge by."""
    code = "def f():\n    return '[int, check := print][0]'\ndef g():\n    return 1"
    target = (
        "from functools import singledispatch\ndef check(a, b):\n    assert a == b\n@singledispatch\ndef h(x): return 1\n"
        "def k(x: f()): return 2\nh.register(k)\ncheck(g(), 2)"
    )
    assert_refused(judge(client, code, target), "evaluates an annotation that calls or binds something")


HONEST_NAMES = {
    "derived": (
        "from dataclasses import dataclass, field\n@dataclass\nclass Base:\n    x: int\n    y: list = field(default_factory=list)",
        "from dataclasses import dataclass, field, fields\n@dataclass\nclass T(Base):\n    w: int = 5\n    v: list = field(default_factory=list)\n"
        "assert T(1) == T(1, [], 5, []) and T(1).x == 1 and [one.name for one in fields(T)] == ['x', 'y', 'w', 'v']",
    ),
    "made": (
        "def f():\n    return ['a', 'b']",
        "from dataclasses import make_dataclass\nT = make_dataclass('T', f())\nassert T(1, 2).b == 2",
        "from typing import NamedTuple\nT = NamedTuple('T', [(name, int) for name in f()])\nassert T(1, 2).b == 2",
        "from collections import namedtuple\nassert namedtuple('T', f())(1, 2).b == 2",
    ),
    "attrs": (
        "def f():\n    return ['a', 'b']",
        "import attr\nT = attr.make_class('T', f())\nassert T(1, 2).b == 2 and T(1, 2) == T(1, 2)",
        "import attr\n@attr.s(these={name: attr.ib() for name in f()})\nclass U: pass\nassert repr(U(1, 2)) == 'U(a=1, b=2)'",
        "import attr\n@attr.define(frozen=True, order=True)\nclass V:\n    x: int\n    _y: list = attr.field(factory=list, converter=list)\n"
        "assert V(1, f())._y == ['a', 'b']",
    ),
    "singledispatch": (
        "def g(x):\n    return x",
        "from __future__ import annotations\nfrom functools import singledispatch\n@singledispatch\ndef h(x): return 1\n"
        "@h.register\ndef _(x: str): return g(2)\n@h.register\ndef _(x: type([])): return g(3)\nassert (h('a'), h([]), h(1)) == (2, 3, 1)",
    ),
    "plural forms": (
        "def f():\n    return 'n != 1'",
        "import gettext\nassert [gettext.c2py(f())(n) for n in (0, 1, 2)] == [1, 0, 1]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST_NAMES)
def test_names_of_the_codes_that_are_names_work(client, name):
    assert_honest(client, *HONEST_NAMES[name])
