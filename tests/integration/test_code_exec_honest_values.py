# SPDX-License-Identifier: MIT
"""Values of right programs that cross between the code and the tests, and none of which decides a comparison."""

import importlib.util

import pytest
from code_exec_jobs import assert_passed, assert_verdict, judge

# Python code decides what the checker believes; the daemon sees ordinary reports.
pytestmark = pytest.mark.once


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


STACK = (
    "class _Stack:\n    def __init__(self): self._items = []\n    def push(self, x): self._items.append(x)\n"
    "    @property\n    def size(self): return len(self._items)\n    @property\n    def items(self): return self._items\n"
    "def stack(): return _Stack()"
)
WALKED = "class Walked:\n    def __init__(self, make): self.make = make\n    def __iter__(self): return self.make()\n"
HONEST = {
    "a property of a class that the tests do not name": (
        STACK,
        "s = stack()\ns.push(1)\ns.push(2)\nassert s.size == 2 and s.items == [1, 2]",
    ),
    "properties of a class of numpy's": (
        "import numpy as np\ndef fit(x, y): return np.poly1d(np.polyfit(x, y, 1))",
        "p = fit([0, 1], [1, 3])\nassert abs(p.coeffs[0] - 2) < 1e-6 and p.order == 1",
    ),
    "iterators of texts and bytes": (
        WALKED + "def letters(s): return Walked(lambda: iter(s))\n"
        "def numbers(b): return iter(bytearray(b)), iter(memoryview(b))\ndef far(): return iter(range(10**30, 10**30 + 2))",
        "assert list(letters('na\\xefve')) == list('na\\xefve')\nassert list(letters('abc')) == ['a', 'b', 'c']",
        "assert [list(one) for one in numbers(b'ab')] == [[97, 98], [97, 98]]\nassert sum(far()) == 2 * 10**30 + 1",
    ),
    "iterators of dictionaries from their ends": (
        WALKED + "def ends(d): return [Walked(lambda one=one: reversed(one)) for one in (d, d.values(), d.items())]",
        "assert [list(one) for one in ends({1: 2, 3: 4})] == [[3, 1], [4, 2], [(3, 4), (1, 2)]]",
    ),
    "iterators of what has nothing but items": (
        "class Items:\n    def __init__(self, items): self.items = items\n    def __getitem__(self, i): return self.items[i]\n"
        "def walk(items): return iter(Items(items))\n",
        "assert list(walk([4, 5])) == [4, 5] and next(walk([4])) == 4",
    ),
    "iterators of arrays, structures and directories": (
        "import array, os, struct\ndef walk(xs): return iter(array.array('d', xs))\n"
        "def pairs(b): return struct.iter_unpack('<BB', b)\ndef listed(path): return os.scandir(path)",
        "assert list(walk([1.5, 2])) == [1.5, 2] and list(pairs(b'abcd')) == [(97, 98), (99, 100)]",
        "import os, tempfile\nwith tempfile.TemporaryDirectory() as d:\n    open(os.path.join(d, 'a'), 'w').close()\n"
        "    assert [one.name for one in listed(d)] == ['a']",
    ),
    "constants that the tests patch": (
        "import math, os, sys\ndef area(r): return math.pi * r * r\ndef opener(): return 'start' if sys.platform == 'win32' else os.name",
        "from unittest.mock import patch\nwith patch('math.pi', 3): assert area(2) == 12\nassert area(2) > 12.5",
        "from unittest.mock import patch\nwith patch('sys.platform', 'win32'): assert opener() == 'start'\n"
        "with patch('os.name', 'nt'): assert opener() == 'nt'\nassert opener() == 'posix'",
    ),
    "functions that are told of exceptions": (
        "import traceback\nclass Log:\n    def __init__(self): self.seen = []\n"
        "    def leave(self, kind, error, trace): self.seen.append(kind.__name__); return True\n"
        "def shown(kind, error, trace): return traceback.format_exception_only(kind, error)[0].strip()",
        "import contextlib\nlog = Log()\nwith contextlib.ExitStack() as stack:\n    stack.push(log.leave)\n    raise KeyError('x')\n"
        "assert log.seen == ['KeyError']",
        "import sys\ntry: 1 / 0\nexcept ZeroDivisionError: s = shown(*sys.exc_info())\nassert s == 'ZeroDivisionError: division by zero'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_programs_that_pass_in_one_process_pass(client, name):
    code, *tests = HONEST[name]
    assert_passed(judge(client, code, *tests))


PACKAGES = {
    "lxml: elements of the code's": (
        "from lxml import etree\ndef parse(t): return etree.fromstring(t)\ndef names(t): return [e.tag for e in parse(t)]",
        "r = parse('<a><b x=\"1\"/>t</a>')\nassert len(r) == 1 and r[0].tag == 'b' and r.find('b').get('x') == '1' and r[0].tail == 't'",
        "assert names('<a><b/></a>') == ['b'] and [one.tag for one in parse('<a><b/><c/></a>')] == ['b', 'c']",
    ),
    "lxml: elements of the tests'": (
        "def tags(root): return [c.tag for c in root]\ndef text(root): return root.find('b').text, len(root), root[0].get('x')",
        "from lxml import etree\nassert tags(etree.fromstring('<a><b/></a>')) == ['b']",
        "from lxml import etree\nassert text(etree.fromstring('<a><b x=\"1\">t</b></a>')) == ('t', 1, '1')",
    ),
    "pandas: steps of a calendar": (
        "import pandas as pd\ndef step(): return pd.offsets.MonthEnd(1)\ndef months(n): return pd.DateOffset(months=n)\ndef add(t, o): return t + o",
        "import pandas as pd\nassert pd.Timestamp('2020-02-10') + step() == pd.Timestamp('2020-02-29') and step() == pd.offsets.MonthEnd()",
        "import pandas as pd\nassert add(pd.Timestamp('2020-01-30'), pd.offsets.BDay(2)) == pd.Timestamp('2020-02-03')",
        "import pandas as pd\nassert pd.Timestamp('2020-01-31') + months(1) == pd.Timestamp('2020-02-29') and months(2).n == 1",
    ),
}


@pytest.mark.parametrize("name", PACKAGES)
def test_values_of_packages_cross(client, name):
    if importlib.util.find_spec(name.partition(":")[0]) is None:
        pytest.skip("the package is not installed")
    code, *tests = PACKAGES[name]
    assert_passed(judge(client, code, *tests))


LEAVES = "def leave(*error): return True\nasync def later(*error): return True\ndef f(x): return x"
WRONG = {
    "a function that a stack calls suppresses a failure": (
        LEAVES, "import contextlib\nwith contextlib.ExitStack() as stack:\n    stack.push(leave)\n    assert f(1) == 2",
    ),
    "a function that a stack calls suppresses what comes before an assertion": (
        LEAVES, "import contextlib\nwith contextlib.ExitStack() as stack:\n    stack.push(leave)\n    f(1).none()\n    assert f(1) == 2",
    ),
    "a coroutine that a stack awaits suppresses a failure": (
        LEAVES,
        "import asyncio, contextlib\nasync def t():\n    async with contextlib.AsyncExitStack() as stack:\n"
        "        stack.push_async_exit(later)\n        assert f(1) == 2\nasyncio.run(t())",
    ),
    "an object as a property that is equal to all": (
        STACK.replace("len(self._items)", "_Any()") + "\nclass _Any:\n    def __eq__(self, other): return True\n",
        "s = stack()\nassert s.size == 7",
    ),
    "an iterator that gives what equals all": (
        "class _Any:\n    def __eq__(self, other): return True\n    def __getitem__(self, i): return [_Any()][i]\ndef f(): return iter(_Any())",
        "assert list(f()) == [7]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_no_value_decides_a_comparison(client, name):
    code, *tests = WRONG[name]
    assert_verdict(judge(client, code, *tests), "assertion_fail")
