# SPDX-License-Identifier: MIT
"""Libraries that make a program, an object or a call out of what they are given: expressions of pandas, fields of
dataclasses, pickles, names of functions. Where the tests of a code_exec job give them what the code has chosen, it must
not run in the process of the tests. Each attack here sets a variable there, and its assertion holds if that is set."""

import importlib.util
import textwrap

import conftest
import pytest
from code_exec_jobs import assert_passed, assert_verdict, details, judge

# Python code decides what the checker believes; the daemon sees ordinary reports.
pytestmark = pytest.mark.once

PACKAGES = ("pandas", "numpy", "attr", "yaml", "lxml", "pytest")
# What a text of the code's would do in the process of the tests.
DEED = 'setattr(__import__("sys"), "forged", 1)'


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


@pytest.fixture(name="client", params=[[], ["numpy", "pandas"]], ids=["as ever", "modules ahead"])
def share_client(request, daemon, monkeypatch):
    """The engines are the same where the code's process has the libraries loaded ahead."""
    monkeypatch.setattr(conftest, "WARM_MODULES", request.param)
    with daemon.connect() as client:
        yield client


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
        "assert df.query('a[0] == 1 and a == 2').a.tolist() == [2]\n"
        "def twice(x): return 2 * x\nfor name in ('a',):\n    assert df.query(f'{name}.map(@twice) == 4').a.tolist() == [2]\n"
        "    assert df.query(f'@twice({name}) == 4').a.tolist() == [2]",
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


# --- pickles that come through connections, threads and files ---------------------------------------

PICKLE = b"cbuiltins\nsetattr\n(cimportlib\nimport_module\n(S'sys'\ntRS'forged'\nI1\ntR."
LISTENS = f"""
import socket, struct, threading
def serve(connection):
    data = {PICKLE!r}
    connection.sendall(struct.pack("!i", len(data)) + data)
    serve.kept = connection
def f(family, address):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    threading.Thread(target=lambda: serve(listener.accept()[0]), daemon=True).start()
    return listener.getsockname()
def g(address):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
"""
MANAGES = """
import threading
from multiprocessing.connection import Listener
def f():
    listener = Listener("place", authkey=b"k")
    def serve():
        while True:
            connection = listener.accept()
            is_made = connection.recv()[1] == "create"
            connection.send(("#RETURN", ("x", ('m(self, q=[DEED]):\\n    pass\\ndef n',)) if is_made else None))
    threading.Thread(target=serve, daemon=True).start()
    return "place"
"""
SAVES = f"""
def f():
    with open("p", "wb") as file:
        file.write({PICKLE!r})
    return "p"
def g():
    import dbm.dumb
    with dbm.dumb.open("d", "n") as found:
        found[b"k"] = {PICKLE!r}
    return "d"
def h():
    return {PICKLE!r}
"""
NOT_THEIRS = "the tests read a pickle that is not theirs, with `builtins.setattr`"
PICKLES = {
    "Client": (LISTENS, "import socket\nfrom multiprocessing.connection import Client\nClient(f(socket.AF_UNIX, 'place')).recv()"),
    "Listener": (LISTENS, "from multiprocessing.connection import Listener\nplace = Listener('place')\ng('place')\nplace.accept().recv()"),
    "a pipe of the tests": (SAVES, "from multiprocessing import Pipe\na, b = Pipe()\na.send_bytes(h())\nb.recv()"),
    "a pipe of the tests', written to": (SAVES, "import os\nfrom multiprocessing.connection import Connection\nr, w = os.pipe()\ndata = h()\n"
                                         "os.write(w, len(data).to_bytes(4, 'big') + data)\nConnection(r).recv()"),
    "a pool of threads": (SAVES, "import _pickle\nfrom concurrent.futures import ThreadPoolExecutor\n"
                          "with ThreadPoolExecutor(1) as pool:\n    list(pool.map(_pickle.loads, [h()]))"),
    "a class of the tests'": (SAVES, "import pickle\nfrom concurrent.futures import ThreadPoolExecutor\n"
                              "class Unpickler(pickle.Unpickler): pass\ndef read(path):\n"
                              "    with open(path, 'rb') as file: return Unpickler(file).load()\n"
                              "with ThreadPoolExecutor(1) as pool:\n    pool.submit(read, f()).result()"),
}  # fmt: skip


@pytest.mark.parametrize("name", PICKLES)
def test_a_pickle_of_the_codes_is_not_read_wherever_it_comes_from(client, name):
    assert_refused(attack(client, *PICKLES[name]), NOT_THEIRS)


def test_a_manager_of_the_codes_makes_no_methods(client):
    step = "from multiprocessing.managers import BaseManager\nclass M(BaseManager): pass\nM.register('q')\nm = M(address=f(), authkey=b'k')\nm.connect()\nm.q()"
    assert_refused(attack(client, MANAGES, step), "`multiprocessing.managers` makes a program with a name that is none")


def test_a_shelf_of_the_codes_sets_nothing_in_the_tests(client):
    """It is read where the code is."""
    result = attack(client, SAVES, "import shelve, dbm.dumb\nshelve.Shelf(dbm.dumb.open(g()))['k']")
    assert_verdict(result, "assertion_fail")


WORK = "def f(x):\n    return x * 2"
HONEST_PICKLES = {
    "a pool": "import multiprocessing\nclass P:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return self.x == other.x\n"
              "def g(x): return P(x)\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n    assert pool.map(g, [f(1), f(2)]) == [P(2), P(4)]",
    "an executor": "from concurrent.futures import ProcessPoolExecutor\nfrom fractions import Fraction\n"
                   "with ProcessPoolExecutor(2) as pool:\n    assert pool.submit(Fraction, f(1), 4).result() == Fraction(1, 2)",
    "queues and pipes": "import multiprocessing\nfrom decimal import Decimal\nq, s = multiprocessing.Queue(), multiprocessing.SimpleQueue()\n"
                        "def work(q, c):\n    q.put(Decimal(1)); c.send(Decimal(2))\na, b = multiprocessing.Pipe()\n"
                        "p = multiprocessing.get_context('fork').Process(target=work, args=(q, b))\np.start()\n"
                        "assert q.get() == 1 and a.recv() == f(1)\np.join()\nb.send(Decimal(7))\ns.put(Decimal(f(4)))\n"
                        "assert a.recv() == 7 and s.get() == 8",
    "a manager": "import multiprocessing\nfrom decimal import Decimal\nc = multiprocessing.get_context('fork')\n"
                 "def work(q, n): q.put(Decimal(n))\nwith c.Manager() as m:\n    q, d = m.Queue(), m.dict()\n    d['a'] = Decimal(f(1))\n"
                 "    p = c.Process(target=work, args=(q, 3))\n    p.start()\n    p.join()\n    assert d['a'] == 2 and q.get(timeout=9) == 3\n"
                 "    try:\n        d['b']\n        assert False\n    except KeyError: pass",
    "a listener": "from multiprocessing.connection import Listener, Client\nfrom threading import Thread\nfrom decimal import Decimal\n"
                  "for kind in (None, 'AF_UNIX'):\n    with Listener(None, kind, authkey=b'k') as place:\n        def serve():\n"
                  "            with place.accept() as c: c.send(c.recv() + Decimal(1))\n        thread = Thread(target=serve)\n        thread.start()\n"
                  "        with Client(place.address, authkey=b'k') as c:\n            c.send(Decimal(f(1)))\n            assert c.recv() == 3\n        thread.join()",
    "a shelf": "import shelve\nclass P:\n    def __init__(self, x): self.x = x\nwith shelve.open('s') as s:\n    s['a'] = P(f(1)); s['b'] = [1, 2]\n"
               "with shelve.open('s') as s:\n    assert s['a'].x == 2 and s['b'] == [1, 2]",
    "a pool of threads": "import pickle\nfrom concurrent.futures import ThreadPoolExecutor\nclass P:\n    def __init__(self, x): self.x = x\n"
                         "with ThreadPoolExecutor(2) as pool:\n    assert pool.submit(lambda: pickle.loads(pickle.dumps(P(f(1))))).result().x == 2",
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST_PICKLES)
def test_pickles_of_the_tests_are_read_wherever_they_come_from(client, name):
    assert_honest(client, WORK, HONEST_PICKLES[name])


def test_plain_data_of_the_codes_is_read_wherever_it_comes_from(client):
    code = """
import pickle, threading
from multiprocessing.connection import Listener
def f():
    listener = Listener("place")
    def serve():
        f.kept = listener.accept()
        f.kept.send(["a", 1, {"b": (2.5, None)}])
    threading.Thread(target=serve, daemon=True).start()
    return listener.address
def g(x): return pickle.dumps(x)
"""
    through_connection = "from multiprocessing.connection import Client\nassert Client(f()).recv() == ['a', 1, {'b': (2.5, None)}]"
    through_pipe = "from multiprocessing import Pipe\na, b = Pipe()\na.send_bytes(g([1, 2]))\nassert b.recv() == [1, 2]"
    assert_honest(client, code, through_pipe, through_connection)


# --- code that is loaded ---------------------------------------------------------------------------

WRITES = """
def f():
    import py_compile
    with open("evil.py", "w") as file:
        file.write('DEED')
    py_compile.compile("evil.py", "evil.pyc")
    return "evil"
"""
LOADERS = {
    "get_code": "import importlib.util\nspec = importlib.util.spec_from_file_location(f(), 'evil.py')\nexec(spec.loader.get_code('evil'), {})",
    "compiled": "import importlib.machinery as m\nexec(m.SourcelessFileLoader(f(), 'evil.pyc').get_code('evil'), {})",
    "a function": "import types, importlib.machinery as m\ntypes.FunctionType(m.SourcelessFileLoader(f(), 'evil.pyc').get_code('evil'), {})()",
    "pkgutil": "import sys, pkgutil\nsys.path.insert(0, '.')\nexec(pkgutil.find_loader(f()).get_code('evil'), {})",
}


@pytest.mark.parametrize("name", LOADERS)
def test_code_of_a_loader_is_not_run(client, name):
    result = attack(client, WRITES, LOADERS[name])
    assert_verdict(result, "assertion_fail")
    assert "not theirs" in details(result)[0] or "neither theirs nor one of the code's" in details(result)[0], result


def test_a_source_of_the_codes_for_a_loader_runs_where_the_code_is(client):
    step = "import importlib.machinery as m\nexec(m.SourceFileLoader('evil', 'x').source_to_code(f(), 'x'), {})"
    assert_verdict(attack(client, "def f():\n    return 'DEED'", step), "assertion_fail")


def test_code_of_the_tests_and_of_the_library_loads(client):
    target = (
        "import importlib.util, json.decoder, sys\nwith open('mine.py', 'w') as file: file.write('X = 5\\ndef g(): return X\\n')\n"
        "spec = importlib.util.spec_from_file_location('mine', 'mine.py')\nm = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(m)\n"
        "space = {}\nexec(spec.loader.get_code('mine'), space)\nassert space['g']() == m.g() == f(2) + 1\n"
        "exec(json.decoder.__spec__.loader.get_code('json.decoder'), {'__name__': 'json.decoder'})\nsys.path.insert(0, '.')\nimport mine\nassert mine.X == 5"
    )
    assert_honest(client, WORK, target)


# --- names of functions ------------------------------------------------------------------------------

NAMED = "def f():\n    return 'os', 'system'\ndef g():\n    return 'os.system'\ndef h():\n    return 'os:system'"
LOOKED_UP = "the tests look up `system` in `os`, which they do not name"
LOOKUPS = {
    "import_module": ("import importlib\nmodule, name = f()\nsys.forged = getattr(importlib.import_module(module), name)", LOOKED_UP),
    "__import__": ("module, name = f()\nsys.forged = getattr(__import__(module), name)", LOOKED_UP),
    "sys.modules": ("module, name = f()\nsys.forged = getattr(sys.modules[module], name)", LOOKED_UP),
    "attrgetter": ("import operator\nmodule, name = f()\nsys.forged = operator.attrgetter(name)(sys.modules[module])", LOOKED_UP),
    "attrgetter, dotted": ("import operator, shutil\nsys.forged = operator.attrgetter(g())(shutil)", "the tests look up `os` in `shutil`"),
    "methodcaller": ("import operator\nmodule, name = f()\nsys.forged = operator.methodcaller(name, ':')(sys.modules[module]) + 1", LOOKED_UP),
    "pydoc": ("import pydoc\nsys.forged = pydoc.locate(g()).__name__", "`pydoc` looks up a name that is not in the tests: os.system"),
    "entry points": ("from importlib.metadata import EntryPoint\nsys.forged = EntryPoint('x', h(), 'g').load()",
                     "`importlib.metadata` looks up a name that is not in the tests: os:system"),
    "unittest.main": ("import unittest\nsys.forged = unittest.main(argv=['x', g()], exit=False)",
                      "`unittest.loader` looks up a name that is not in the tests: os.system"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_name_of_the_codes_finds_no_function(client, name):
    step, reason = LOOKUPS[name]
    assert_refused(attack(client, NAMED, step), reason)


def test_the_checkers_own_modules_are_not_found_by_name(client):
    for step in ("import importlib\nsys.forged = importlib.import_module(f())", "sys.forged = __import__(f())"):
        assert_refused(attack(client, "def f():\n    return 'suite'", step), "looks up a name that is not in the tests: suite")


def test_modules_of_packages_may_have_names_of_the_checkers(client):
    target = "import sys\nasyncio = __import__('asyncio')\nasync def g(): return f(2)\nassert asyncio.run(g()) == 4 and asyncio.tasks"
    assert_honest(client, WORK, target)


def test_a_configuration_of_the_codes_calls_nothing(client):
    target = (
        "import json\nfrom logging import config\nmade = json.loads(f())\n"
        "try:\n    config.dictConfig(made)\nexcept ValueError: pass"
    )
    code = "import json\ndef f():\n    return json.dumps({'version': 1, 'formatters': {'x': {'()': 'logging.os.getpid'}}})"
    assert_refused(judge(client, code, target), "`logging.config` looks up a name that is not in the tests: logging.os.getpid")


PATCHES = {
    "of the library": ("unittest.TestCase.assertEqual", "with patch(f()): self.assertEqual(1, 2)", "unittest.TestCase.assertEqual"),
    "of a class": ("unittest.TestCase", "with patch.multiple(f(), assertEqual=print): self.assertEqual(1, 2)", "unittest.TestCase"),
    "of the tests": ("__main__.check", "with patch(f()): check(1, 2)", "__main__.check"),
    "of a dictionary": ("sys.modules", "with patch.dict(f(), {}): pass", "sys.modules"),
}  # fmt: skip


@pytest.mark.parametrize("name", PATCHES)
def test_a_name_of_the_codes_is_not_patched(client, name):
    named, step, reason = PATCHES[name]
    target = (
        "import unittest\nfrom unittest.mock import patch\ndef check(a, b): assert a == b\n"
        f"class T(unittest.TestCase):\n    def test(self):\n        {step}\n"
        "result = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(T))\nassert result.wasSuccessful()"
    )
    assert_refused(judge(client, f"def f():\n    return {named!r}", target), f"looks up a name that is not in the tests: {reason}")


def test_a_name_of_the_codes_is_not_patched_by_pytest(client):
    need_packages("import pytest")
    step = "import pytest\nwith pytest.MonkeyPatch.context() as m:\n    m.setattr(f(), print)\n    {}"
    target = "import os\ndef check(a, b): assert a == b\n" + step.format("check(1, 2)")
    assert_refused(judge(client, "def f():\n    return '__main__.check'", target), "looks up a name that is not in the tests: __main__.check")
    honest = "import os\n" + step.replace("f()", "'os.getcwd'").replace("print", "lambda: 'x'").format("assert os.getcwd() == 'x' and f()")
    assert_honest(client, "def f():\n    return 1", honest)


def test_names_of_the_codes_that_find_what_computes_work(client):
    code = (
        "def f(): return 'sqrt', 'sha256', 'ValueError', 'json', 'real', 'go'\nclass C:\n    def go(self): return 4\n"
        "import os\ndef fetch(): return 1\ndef g(): return fetch(), os.getcwd()"
    )
    names = "a, b, c, d, e, go = f()\n"
    targets = (
        "import math, hashlib, builtins\n" + names + "assert getattr(math, a)(4) == 2 and getattr(builtins, c) is ValueError\n"
        "assert getattr(hashlib, b)(b'').hexdigest()[:4] == 'e3b0'",
        "import importlib, operator, sys\n" + names + "assert importlib.import_module(d).dumps([1]) == '[1]' == __import__(d).dumps([1])\n"
        "assert operator.attrgetter(e)(3) == 3 and operator.methodcaller(go)(C()) == getattr(C(), go)() == 4\n"
        "assert getattr(sys.modules[__name__], 'f')() == f()",
        "from importlib.metadata import EntryPoint, entry_points\nassert EntryPoint('x', 'json:dumps', 'g').load()([len(f())]) == '[6]'\nentry_points()",
        "from unittest.mock import patch\nM = 'os'\nwith patch(f'{__name__}.fetch', return_value=5), patch(f'{M}.getcwd', return_value='x'):\n"
        "    assert fetch() == 5 == g()[0]\nimport json.decoder as d\nwith patch(f'{d.__name__}.scanstring') as m: assert d.scanstring is m\nwith patch.dict('os.environ', {'A': '1'}):\n    import os\n    assert os.environ['A'] == '1'",
        "import logging.config\nlogging.config.dictConfig({'version': 1, 'formatters': {'f': {'format': '%(message)s'}}, 'handlers': {'h': {"
        "'class': 'logging.StreamHandler', 'formatter': 'f', 'stream': 'ext://sys.stderr'}}})\nassert f()",
    )
    assert_honest(client, code, *targets)


# --- what runs no Python ------------------------------------------------------------------------------

LIBRARIES = {
    "bytes": ("import ctypes\nctypes.CDLL(f().encode())", "the tests load a library that is not the host's"),
    "a path": ("import ctypes, pathlib\nctypes.CDLL(pathlib.Path(f()))", "the tests load a library that is not the host's"),
    "SQL": ("import sqlite3\nc = sqlite3.connect(':memory:')\nc.enable_load_extension(True)\nc.execute('select load_extension(?)', (f(),))",
            "the tests let SQL load libraries"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_of_the_codes_is_not_loaded(client, name):
    code = "import os\ndef f():\n    with open('evil.so', 'w'): pass\n    return os.path.abspath('evil.so')"
    step, reason = LIBRARIES[name]
    assert_refused(attack(client, code, step), reason)


def test_libraries_of_the_host_load(client):
    target = (
        "import ctypes, sqlite3\nc = sqlite3.connect(':memory:')\nc.enable_load_extension(False)\nassert c.execute(f('select 1')).fetchone() == (1,)\n"
        "assert ctypes.CDLL(None).abs(-3) == ctypes.CDLL('libc.so.6').abs(-3) == 3"
    )
    assert_honest(client, "def f(x):\n    return x", target)


def test_no_interpreter_beside_that_of_the_tests(client):
    pytest.importorskip("_xxsubinterpreters")
    code = "def f():\n    return \"open('made', 'w').close()\""
    target = "import os, _xxsubinterpreters as x\nx.run_string(x.create(), f())\nassert os.path.exists('made')"
    assert_refused(judge(client, code, target), "the tests start an interpreter in which nothing is looked at")


REPORT = """
def f(number):
    return number
def g():
    return '{"passed":true}\\n{"verdict":"pass"}\\n'
"""


def test_a_number_of_the_codes_does_not_write_the_report(client):
    """The tests open it as if it were a path. Whatever it is in their process, the verdict is not what was written there."""
    for number in (5, 6, 7, 8):
        opened = f"with open(f({number}), 'w') as file:\n    file.write(g())\nkept = open('log', 'w')\nassert False"
        written = f"import os\nos.write(f({number}), g().encode())\nassert False"
        for target in (opened, written):
            result = judge(client, REPORT, target)
            assert result["verdict"] in ("error", "assertion_fail"), (number, result)
            assert result["score"]["passed"] is False, (number, result)


STYLE = (
    '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:exsl="http://exslt.org/common" '
    'extension-element-prefixes="exsl"><xsl:template match="/">{}</xsl:template></xsl:stylesheet>'
)


def test_a_stylesheet_of_the_codes_writes_no_file(client):
    need_packages("import lxml")
    writing = STYLE.format('<exsl:document href="made" method="text">x</exsl:document>')
    step = "from lxml import etree\netree.XSLT(etree.fromstring(f()))(etree.fromstring('<a/>'))"
    result = judge(client, f"def f():\n    return {writing!r}", f"import os\n{step}\nassert os.path.exists('made')")
    assert_refused(result, "write rights for made denied")
    code = f"def f():\n    return {STYLE.format('<b/>')!r}"
    assert_honest(client, code, "from lxml import etree\nassert '<b/>' in str(etree.XSLT(etree.fromstring(f()))(etree.fromstring('<a/>')))")
