# SPDX-License-Identifier: MIT
"""Modules that are loaded ahead: what a process finds that imports one of them is what it finds where nothing was loaded
before. Each case runs in a process of its own, which loads the modules, hides them, and then runs a text."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parents[4] / "daemon" / "checker"
BOTH = """
import sys, os
sys.path.insert(0, {checker!r})
import trusted, hearing, hidden
del sys.path[0]
{begin}
names = {names!r}
if {is_warm!r}:
    hidden.load(names)
before = set(sys.modules)
def new():
    return sorted(set(sys.modules) - before)
told = None
{text}
print(repr(told))
"""
USUAL = "import json, re, collections, random, typing, datetime\n"


def run(text, names, is_warm, begin=USUAL):
    program = BOTH.format(checker=str(CHECKER), names=names, is_warm=is_warm, text=text, begin=begin)
    ended = subprocess.run([sys.executable, "-s", "-B", "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, ended.stderr


LIBRARY = ["concurrent.futures", "csv", "ctypes", "decimal", "fractions", "multiprocessing", "pickle", "shelve", "sqlite3", "xml.etree.ElementTree"]
CASES = {
    "one": "import csv; told = new()",
    "one that others use": "import ctypes; told = new()",
    "a package alone": "import concurrent; told = new(), hasattr(concurrent, 'futures')",
    "a package that another module has filled": "import concurrent, csv\ntry: concurrent.futures\nexcept AttributeError as error: told = str(error)",
    "a module in a package": "import concurrent.futures; told = new(), hasattr(concurrent.futures, 'thread')",
    "the same by from": "from xml import etree; told = new(), hasattr(etree, 'ElementTree')",
    "what is in it": "from xml.etree import ElementTree; told = new(), ElementTree.fromstring('<a/>').tag",
    "one that does not exist": "try: import csv.there_is_none\nexcept ModuleNotFoundError as error: told = str(error), new()",
    "find_spec": "from importlib.util import find_spec; told = find_spec('csv').origin, 'csv' in sys.modules, find_spec('no_such')",
    "a spec that is loaded by hand": "import importlib.util as u; s = u.find_spec('csv'); m = u.module_from_spec(s); s.loader.exec_module(m); told = m.excel.delimiter, 'csv' in sys.modules",
    "a spec that is loaded twice": "import importlib.util as u, _frozen_importlib as b; one = b._load(u.find_spec('csv')); told = one is b._load(u.find_spec('csv'))",
    "reload": "import importlib, csv; one = csv.excel; told = importlib.reload(csv) is csv, csv.excel is one",
    "removed and imported again": "import csv; one = csv; del sys.modules['csv']; import csv; told = csv is one, csv.excel is one.excel",
    "another of that name": "sys.modules['csv'] = sys; import csv; told = csv is sys",
    "None of that name": "sys.modules['decimal'] = None\ntry: import decimal\nexcept ImportError as error: told = str(error)",
    "a finder of its own": "class F:\n    seen = []\n    def find_spec(self, name, path=None, target=None): self.seen.append(name)\nsys.meta_path.insert(0, F())\nimport shelve; told = sorted(F.seen)",
    "an import of its own": "import builtins\nreal, seen = builtins.__import__, []\ndef own(name, *rest, **more):\n    seen.append(name)\n    return real(name, *rest, **more)\nbuiltins.__import__ = own\nimport shelve\ntold = sorted(set(seen))",
    "a path of its own": "import tempfile; d = tempfile.mkdtemp(); open(d + '/csv.py', 'w').write('mine = 1'); sys.path.insert(0, d); import csv; told = hasattr(csv, 'mine'), hasattr(csv, 'excel')",
    "what one of them needs on a path of its own": "import tempfile; d = tempfile.mkdtemp(); open(d + '/decimal.py', 'w').write('mine = 1\\nclass Decimal: pass')\nsys.path.insert(0, d)\nimport fractions\nimport decimal\ntold = hasattr(decimal, 'mine')",
    "an optional module of its own": "import tempfile; d = tempfile.mkdtemp(); os.mkdir(d + '/org'); open(d + '/org/__init__.py', 'w').write('asked = 1')\nsys.path.insert(0, d)\nimport shelve; told = 'org' in sys.modules",
    "a module in its own directory": "import tempfile; d = tempfile.mkdtemp(); os.chdir(d); open('decimal.py', 'w').write('mine = 1\\nclass Decimal: pass')\nimport fractions, decimal; told = hasattr(decimal, 'mine')",
    "an optional one in its own directory": "import tempfile; os.chdir(tempfile.mkdtemp()); os.mkdir('org'); open('org/__init__.py', 'w').write('asked = 1')\nimport shelve; told = 'org' in sys.modules",
    "a path that changes nothing": "sys.path.append('/nowhere'); import csv; told = new()",
    "pickles of its classes": "import pickle, decimal; told = pickle.loads(pickle.dumps(decimal.Decimal('1.5'))), decimal.Decimal.__module__",
    "a shelf": "import shelve, tempfile; d = tempfile.mkdtemp()\nwith shelve.open(d + '/s') as s: s['a'] = [1]\nwith shelve.open(d + '/s') as s: told = dict(s), new()",
    "attributes of others": "told = [hasattr(sys.modules['collections'], n) for n in ('abc',)], sorted(n for n in vars(sys) if 'import' in n)",
    "the path of its finders": "told = [type(one).__name__ if not isinstance(one, type) else one.__name__ for one in sys.meta_path]",
    "the functions that import": "import builtins; told = builtins.__import__.__name__, sys.modules['importlib._bootstrap' if 'importlib._bootstrap' in sys.modules else '_frozen_importlib']._find_and_load.__code__.co_filename",
    "a trace": "import traceback\ntry: import no_such_module\nexcept ImportError as error: told = len(traceback.extract_tb(error.__traceback__))",
    "keys": "import multiprocessing.process as p; told = len(p.current_process().authkey)",
}


@pytest.mark.parametrize("name", CASES)
def test_as_if_nothing_had_been_loaded(name):
    assert run(CASES[name], LIBRARY, True) == run(CASES[name], LIBRARY, False)


# Finders that code brings with it, also by modules that were not loaded ahead (six, setuptools).
FINDERS = {
    "one that finds nothing": "class F:\n    def find_spec(self, name, path=None, target=None): pass\nsys.meta_path.append(F())\nimport numpy; told = len(new())",
    "the first of them": "class F:\n    seen = []\n    def find_spec(self, name, path=None, target=None): self.seen.append(name)\nsys.meta_path.insert(0, F())\nimport numpy; told = sorted(F.seen)",
    "two": "class F:\n    def find_spec(self, name, path=None, target=None): pass\nsys.meta_path[1:1] = F(), F()\nimport numpy.linalg; told = len(new())",
    "one that comes later": "import numpy\nclass F:\n    def find_spec(self, name, path=None, target=None): pass\nsys.meta_path.insert(0, F())\nimport csv; told = csv.excel.delimiter",
    "six": "import six, numpy; told = new()",
    "setuptools": "import setuptools, numpy; told = 'numpy' in new()",
    "one that is gone": "gone = sys.meta_path.pop()\ntry:\n    import csv; told = csv.excel.delimiter\nexcept ImportError as error: told = str(error)",
    "another order": "sys.meta_path.reverse()\nimport csv; told = csv.excel.delimiter",
    "one that finds another": "import tempfile; d = tempfile.mkdtemp(); open(d + '/csv.py', 'w').write('mine = 1')\nfrom importlib.machinery import PathFinder\nclass F:\n    def find_spec(self, name, path=None, target=None): return PathFinder.find_spec(name, [d]) if name == 'csv' else None\nsys.meta_path.insert(0, F())\nimport csv; told = hasattr(csv, 'mine'), hasattr(csv, 'excel')",
    "one that finds another that is needed": "import tempfile; d = tempfile.mkdtemp(); open(d + '/decimal.py', 'w').write('mine = 1\\nclass Decimal: pass')\nfrom importlib.machinery import PathFinder\nclass F:\n    def find_spec(self, name, path=None, target=None): return PathFinder.find_spec(name, [d]) if name == 'decimal' else None\nsys.meta_path.insert(0, F())\nimport fractions, decimal; told = hasattr(decimal, 'mine')",
}


def test_nobody_is_asked_again_without_need():
    """Finders and path are as they were, so one module is looked for, and shown with all that it imports."""
    text = "import _frozen_importlib as b\nreal, seen = b._find_spec, []\ndef asked(name, *rest):\n    seen.append(name)\n    return real(name, *rest)\nb._find_spec = asked\nimport shelve\nb._find_spec = real\ntold = seen"
    assert run(text, LIBRARY, True)[0] == "['shelve']\n"
    assert "'pickle'" in run(text, LIBRARY, False)[0]


def test_modules_whose_finder_comes_with_another():
    """six.moves, in pandas. Whoever is asked because the path is another does not find it before six is shown."""
    if missing := lacks("pandas"):
        pytest.skip(f"there is no {missing[0]}")
    for begin in ("", "sys.path.append('/nowhere')\n"):
        text = begin + "import pandas; told = len(new()), 'six.moves' in sys.modules"
        assert run(text, ["numpy", "pandas"], True) == run(text, ["numpy", "pandas"], False)


def lacks(*names):
    return [name for name in names if subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode]


@pytest.mark.parametrize("name", FINDERS)
def test_finders_of_its_own(name):
    """numpy warns if it is loaded twice, on stderr."""
    if missing := lacks("numpy", *{"six", "setuptools"} & {name}):
        pytest.skip(f"there is no {missing[0]}")
    names = ["numpy", "csv", "fractions"]
    assert run(FINDERS[name], names, True) == run(FINDERS[name], names, False)


def test_each_module_comes_with_what_it_imports_itself():
    """Of all modules that were loaded, each in a process of its own."""
    names = [*LIBRARY, "numpy"] if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode == 0 else LIBRARY
    text = """
all_ = sorted(%s)
told = {}
for one in all_:
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            __import__(one)
        except ImportError:
            pass
        os.write(write, ' '.join(new()).encode())
        os._exit(0)
    os.close(write)
    data = b''
    while part := os.read(read, 65536):
        data += part
    os.close(read)
    os.wait()
    told[one] = data.decode().split()
import json
told = json.dumps(told)
"""
    listing, _ = run("told = [one for one in hidden.MACHINERY._load_unlocked.__closure__[0].cell_contents.modules]", names, True)
    found = [one for one in eval(listing) if not one.startswith("numpy.")]
    assert "numpy" not in names or len(found) > 60
    warm, _ = run(text % found, names, True)
    cold, _ = run(text % found, names, False)
    warm, cold = json.loads(eval(warm)), json.loads(eval(cold))
    assert {one: [there for there in names if there not in cold[one]] for one, names in warm.items()} == dict.fromkeys(warm, [])
    assert warm == cold


def test_threads_that_import_at_once():
    text = """
import _thread, time
sys.setswitchinterval(1e-6)
told = 0
for number in range(100):
    pid = os.fork()
    if pid == 0:
        done, names = [], ['decimal', 'ctypes', 'concurrent.futures', 'shelve', 'decimal', 'fractions', 'pickle']
        def go(name):
            try:
                done.append(__import__(name) and None)
            except BaseException as error:
                done.append(error)
        for name in names:
            _thread.start_new_thread(go, (name,))
        while len(done) < len(names):
            time.sleep(0.0005)
        import concurrent.futures, decimal
        os._exit(any(done) or concurrent.futures.Future is None)
    told += os.waitpid(pid, 0)[1] != 0
"""
    assert run(text, LIBRARY, True)[0] == "0\n"


REFUSED = {
    "a codec": ("import codecs\ncodecs.register(lambda name: None)", "register something by register()"),
    "an audit hook": ("import sys\nsys.addaudithook(lambda *a: None)", "register something by addaudithook()"),
    "a signal": ("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)", "change how signals are handled"),
    "the environment": ("import os\nos.environ['A'] = 'b'", "change the environment"),
    "the path": ("import sys\nsys.path.append('/x')", "change the path"),
    "a hook": ("import sys\nsys.path_hooks.append(print)", "change the hooks of imports"),
    "a limit": ("import sys\nsys.setrecursionlimit(5000)", "change a limit of Python"),
    "the collector": ("import gc\ngc.disable()", "change how garbage is collected"),
    "a trace": ("import sys\nsys.setprofile(lambda *a: None)", "trace what runs"),
    "the function that imports": ("import builtins\nKEPT = builtins.__import__", "keep the function that imports"),
    "another place": ("", "is not where Python has modules"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_jobs_would_share(name, tmp_path):
    code, why = REFUSED[name]
    (tmp_path / "module_of_a_test.py").write_text(code)
    begin = f"sys.path.insert(0, {str(tmp_path)!r})\n"
    if name != "another place":
        begin += f"trusted.LIBRARY = ({str(tmp_path)!r},)\n"
    text = "try:\n    hidden.load(['module_of_a_test'])\nexcept hidden.Refused as error:\n    sys.setprofile(None)\n    told = str(error)"
    assert why in run(text, [], False, begin)[0]


CHANGES = {
    "an attribute of another": ("import json\njson.dumps_of_a_test = 1", "import json; told = hasattr(json, 'dumps_of_a_test')"),
    "one in place of another": ("import json\njson.dumps = len", "import json; told = json.dumps.__name__"),
    "a filter of warnings": ("import warnings\nwarnings.simplefilter('ignore', BytesWarning)", "import _warnings; told = [one[2].__name__ for one in _warnings.filters]"),
    "a filter at the end": ("import warnings\nwarnings.simplefilter('ignore', BytesWarning, append=True)", "import _warnings; told = [one[2].__name__ for one in _warnings.filters]"),
    "a filter for a while": ("import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    import decimal", "import _warnings; told = [one[2].__name__ for one in _warnings.filters]"),
    "a way to pickle": ("import copyreg\nclass A: pass\ncopyreg.pickle(A, str)", "import copyreg; told = sorted(one.__name__ for one in copyreg.dispatch_table)"),
    "a finder": ("import sys\nclass F:\n    def find_spec(self, *a): pass\nsys.meta_path.append(F())", "told = len(sys.meta_path)"),
    "a module of its own": ("import sys, types\nsys.modules['made_by_a_test'] = types.ModuleType('made_by_a_test')", "told = 'made_by_a_test' in sys.modules"),
    "a hook of Python": ("import sys\nsys.excepthook = lambda *a: None", "told = sys.excepthook is sys.__excepthook__"),
    "a built-in name": ("import builtins\nbuiltins.of_a_test = 1", "import builtins; told = hasattr(builtins, 'of_a_test')"),
    "an attempt that failed": ("try:\n    import module_that_fails\nexcept ImportError:\n    pass", "told = 'fractions' in sys.modules, 'module_that_fails' in sys.modules"),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("imports", [False, True])
def test_what_a_module_changes_elsewhere_comes_with_it(name, imports, tmp_path):
    code, look = CHANGES[name]
    (tmp_path / "module_of_a_test.py").write_text(code)
    (tmp_path / "module_that_fails.py").write_text("import fractions\nraise ImportError('never')")
    begin = f"{USUAL}sys.path.insert(0, {str(tmp_path)!r})\ntrusted.LIBRARY += ({str(tmp_path)!r},)\n"
    text = ("import module_of_a_test\n" if imports else "") + look
    warm = run(text, ["module_of_a_test", "csv"], True, begin)
    assert warm == run(text, ["module_of_a_test", "csv"], False, begin)
