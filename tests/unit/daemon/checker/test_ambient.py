# SPDX-License-Identifier: MIT
"""Ambient state follows a call: whatever tests see in one plain process they see in two, and what the
candidate tells the judge is checked."""

import builtins
import io
import json
import os
import random
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[3] / "daemon" / "checker"))

import ambient  # noqa: E402
import mirror  # noqa: E402
from wire import WireError  # noqa: E402

WRITES = "import sys\ndef f(*a):\n  for x in a: sys.stdout.write(x)\n"
INPUTS = "def f(n):\n  return [input() for _ in range(n)]\n"

# name: (code, tests)
PASSES = {
    "redirected print": (
        "def f(): print('hello')",
        "import io,contextlib\nb=io.StringIO()\nwith contextlib.redirect_stdout(b): f()\nassert b.getvalue()=='hello\\n'",
    ),
    "print outside of the redirection": (
        "def f(): print('hello')",
        "import io,contextlib\nb=io.StringIO()\nf()\nwith contextlib.redirect_stdout(b): f()\nf()\n"
        "assert b.getvalue()=='hello\\n'",
    ),
    "redirected stderr": (
        "import sys\ndef f(): print('a'); print('b', file=sys.stderr)",
        "import io,contextlib\nb=io.StringIO()\nwith contextlib.redirect_stderr(b): f()\nassert b.getvalue()=='b\\n'",
    ),
    "both streams in one": (
        "import sys\ndef f(): print(1); print(2, file=sys.stderr); print(3)",
        "import io,contextlib\nb=io.StringIO()\nwith contextlib.redirect_stdout(b), contextlib.redirect_stderr(b): f()\n"
        "assert b.getvalue()=='1\\n2\\n3\\n'",
    ),
    "output and callbacks in order": (
        "def f(g):\n  for i in range(3): print('f',i); g(i)",
        "import io,sys\nold=sys.stdout\nsys.stdout=b=io.StringIO()\nf(lambda i: print('g',i))\nsys.stdout=old\n"
        "assert b.getvalue()=='f 0\\ng 0\\nf 1\\ng 1\\nf 2\\ng 2\\n'",
    ),
    "a redirection inside a callback": (
        "def f(g): print('a'); g(); print('b')",
        "import io,sys\nb=io.StringIO()\ndef g(): sys.stdout=b\nold=sys.stdout\nf(g)\nsys.stdout=old\n"
        "assert b.getvalue()=='b\\n'",
    ),
    "much output": (
        "def f(n):\n  for i in range(n): print(i)",
        "import io,contextlib\nb=io.StringIO()\nwith contextlib.redirect_stdout(b): f(100000)\n"
        "assert b.getvalue().split()==[str(i) for i in range(100000)]",
    ),
    "one long text": (
        "def f(n): print('x'*n, end='')",
        "import io,contextlib\nb=io.StringIO()\nwith contextlib.redirect_stdout(b): f(6<<20)\n"
        "assert b.getvalue()=='x'*(6<<20)",
    ),
    "each write to a mock": (
        WRITES,
        "from unittest.mock import patch,call\nwith patch('sys.stdout') as m: f('a','b')\n"
        "assert m.write.call_args_list==[call('a'),call('b')]",
    ),
    "a stream that refuses": (
        WRITES,
        "import sys\nclass S:\n  def write(self,x): raise ValueError(x)\nold=sys.stdout\nsys.stdout=S()\n"
        "try: f('boo')\nexcept ValueError as e: got=str(e)\nfinally: sys.stdout=old\nassert got=='boo'",
    ),
    "bytes to a buffer": (
        "import sys\ndef f(): print('a', flush=True); sys.stdout.buffer.write(b'\\xff'); sys.stdout.flush()",
        "import io,sys\nold=sys.stdout\nsys.stdout=io.TextIOWrapper(io.BytesIO())\nf()\nb=sys.stdout.buffer.getvalue()\n"
        "sys.stdout=old\nassert b==b'a\\n\\xff'",
    ),
    "no stream": (
        "import sys\ndef f(): print('a'); return sys.stdout is None",
        "import contextlib\nwith contextlib.redirect_stdout(None): assert f()\nassert not f()",
    ),
    "a wrong type written": (
        "import sys\ndef f(): sys.stdout.write(3)",
        "import io,contextlib\nwith contextlib.redirect_stdout(io.StringIO()):\n  try: f()\n"
        "  except TypeError: pass\n  else: assert False",
    ),
    "output of a subclass": (
        "def f(): print('x')",
        "import io,contextlib\nclass B(io.StringIO): pass\nb=B()\nwith contextlib.redirect_stdout(b): f()\n"
        "assert b.getvalue()=='x\\n'",
    ),
    "doctest": (
        "def f(): print('x')",
        "import doctest\nd=doctest.DocTestParser().get_doctest('>>> f()\\nx\\n',{'f':f},'d',None,0)\n"
        "assert doctest.DocTestRunner().run(d).failed==0",
    ),
    "input from a StringIO": (INPUTS, "import io,sys\nsys.stdin=io.StringIO('a\\nb\\nc\\n')\nassert f(2)==['a','b']"),
    "the input that is left": (
        INPUTS,
        "import io,sys\nsys.stdin=io.StringIO('a\\nb\\nc\\nd\\n')\nassert f(1)==['a'] and input()=='b' and f(1)==['c']\n"
        "assert sys.stdin.read()=='d\\n'",
    ),
    "input to its end": (
        INPUTS,
        "import io,sys\nsys.stdin=io.StringIO('a\\n')\ntry: f(2)\nexcept EOFError: pass\nelse: assert False",
    ),
    "input that goes back": (
        "import sys\ndef f(): a=sys.stdin.readline(); sys.stdin.seek(0); return a",
        "import io,sys\nsys.stdin=io.StringIO('a\\nb\\n')\nassert f()==f()==sys.stdin.readline()",
    ),
    "input read as a whole": (
        "import sys\ndef f(): return [int(x) for x in sys.stdin.read().split()], list(sys.stdin)",
        "import io,sys\nsys.stdin=io.StringIO('1 2\\n3')\nassert f()==([1,2,3],[])",
    ),
    "input line by line": (
        "import sys\ndef f(): return [line.strip() for line in sys.stdin]",
        "import io,sys\nsys.stdin=io.StringIO('1\\n2\\n3')\nassert f()==['1','2','3']",
    ),
    "new input for each case": (
        INPUTS,
        "import io\nfrom unittest.mock import patch\nfor i in range(5):\n"
        "  with patch('sys.stdin', io.StringIO(f'{i}\\n')): assert f(1)==[str(i)]",
    ),
    "input of another kind": (
        "import sys\ndef f(): return input(), sys.stdin.readline(), list(sys.stdin)",
        "import sys\nclass I:\n  n=0\n  def readline(self, *_): self.n+=1; return f'{self.n}\\n'\n"
        "  def __iter__(self): return iter(['a','b'])\nsys.stdin=I()\nassert f()==('1','2\\n',['a','b'])",
    ),
    "a list as input": (
        "import sys\ndef f():\n  for line in sys.stdin: return line",
        "from unittest.mock import patch\nwith patch('sys.stdin', ['a','b']): assert f()==f()=='a'\n"
        "with patch('sys.stdin', iter(['a','b'])) as i: assert f()=='a' and list(i)==['b']",
    ),
    "bytes of the input": (
        "import sys\ndef f(): return sys.stdin.buffer.readline()+sys.stdin.buffer.read()",
        "import io,sys\nsys.stdin=io.TextIOWrapper(io.BytesIO(b'a\\nb'))\nassert f()==b'a\\nb'",
    ),
    "a prompt goes to the output": (
        "def f(): return input('name? ')",
        "import io,sys,contextlib\nsys.stdin=io.StringIO('a\\n')\nb=io.StringIO()\n"
        "with contextlib.redirect_stdout(b): assert f()=='a'\nassert b.getvalue()=='name? '",
    ),
    "the input is given back": (
        "import sys\ndef f(): return sys.stdin is sys.__stdin__",
        "import io,sys\nfrom unittest.mock import patch\nassert f()\n"
        "with patch('sys.stdin', io.StringIO()): assert not f()\nassert f()",
    ),
    "patched input": (
        INPUTS,
        "from unittest.mock import patch\nwith patch('builtins.input', side_effect=['1','2']) as m: assert f(2)==['1','2']\n"
        "assert m.call_count==2",
    ),
    "assigned input": (
        INPUTS,
        "import builtins\nold=builtins.input\nbuiltins.input=iter(['1','2']).__next__\nassert f(2)==['1','2']\n"
        "builtins.input=old",
    ),
    "patched print": (
        "import sys\ndef f(): print('a', 1, sep='-'); print('b', file=sys.stderr)",
        "import sys\nfrom unittest.mock import patch,call\nwith patch('builtins.print') as m: f()\n"
        "assert m.call_args_list==[call('a',1,sep='-'),call('b',file=sys.stderr)]",
    ),
    "patched print that prints": (
        "def f(): print('a')",
        "import io,contextlib,builtins\nold=print\nbuiltins.print=lambda *a: old('<',*a)\nb=io.StringIO()\n"
        "with contextlib.redirect_stdout(b): f()\nbuiltins.print=old\nassert b.getvalue()=='< a\\n'",
    ),
    "a mocked file to read": (
        "def f(p):\n  with open(p) as h: return h.read()",
        "from unittest.mock import patch,mock_open\nwith patch('builtins.open', mock_open(read_data='hey')) as m:\n"
        "  assert f('x')=='hey'\nm.assert_called_once_with('x')",
    ),
    "a mocked file line by line": (
        "def f(p):\n  with open(p) as h: return [l.strip() for l in h]",
        "from unittest.mock import patch,mock_open\nwith patch('builtins.open', mock_open(read_data='a\\nb\\n')):\n"
        "  assert f('x')==['a','b']",
    ),
    "a mocked file to write": (
        "def f(p):\n  with open(p,'w') as h: h.write('hey')",
        "from unittest.mock import patch,mock_open\nwith patch('builtins.open', mock_open()) as m: f('x')\n"
        "m.assert_called_once_with('x','w')\nm().write.assert_called_once_with('hey')",
    ),
    "open() in other words": (
        "def f(p):\n  with open(p,'w') as h: h.write('hey')\n  with open(p,'rb') as h: return h.read()",
        "import builtins,os\nold=open\nseen=[]\n"
        "def mine(p,*a,**k): seen.append(p); return old(p,*a,**k)\n"
        "builtins.open=mine\ntry: assert f('there')==b'hey'\nfinally: builtins.open=old; os.unlink('there')\n"
        "assert seen==['there']*2",
    ),
    "a missing file": (
        "def f(p): return open(p)",
        "from unittest.mock import patch\nwith patch('builtins.open', side_effect=FileNotFoundError):\n"
        "  try: f('x')\n  except FileNotFoundError: pass\n  else: assert False",
    ),
    "a patched function of the library": (
        "import time\ndef f(): time.sleep(100); return time.time()",
        "from unittest.mock import patch\nwith patch('time.sleep') as s, patch('time.time', return_value=3): assert f()==3\n"
        "s.assert_called_once_with(100)",
    ),
    "patched constants": (
        "import math, os, string, sys\ndef f(): return sys.platform, os.sep, string.digits, math.pi, sys.version_info[:2]",
        "from unittest.mock import patch\nimport math\nbefore = f()\n"
        "with patch('sys.platform', 'win32'), patch('os.sep', '|'), patch('string.digits', '01'), patch.object(math, 'pi', 3):\n"
        "  assert f()[:4] == ('win32', '|', '01', 3)\n  math.pi = 4.5\n  assert f()[3] == 4.5\n"
        "with patch('sys.version_info', (2, 7, 1)): assert f()[4] == (2, 7)\nassert f() == before and before[3] > 3.14",
    ),
    "patch.object": (
        "import os\ndef f(): return os.listdir('/')",
        "import os\nfrom unittest.mock import patch\nwith patch.object(os, 'listdir', return_value=['a']): assert f()==['a']\n"
        "assert f()!=['a']",
    ),
    "an assigned function": (
        "import os.path\ndef f(): return os.path.exists('/nothing')",
        "import os\nold=os.path.exists\nos.path.exists = lambda p: 7\nassert f()==7\nos.path.exists = old\nassert not f()",
    ),
    "a method of a patched class": (
        "import datetime\ndef f(): return datetime.datetime.now()",
        "from unittest.mock import patch\nwith patch('datetime.datetime') as m:\n  m.now.return_value=5\n  assert f()==5",
    ),
    "the environment of the tests": (
        "import os\ndef f(): return os.environ.get('FOO'), os.getenv('BAR')",
        "import os\nos.environ['FOO']='1'\nassert f()==('1',None)\nos.environ['BAR']='2'\ndel os.environ['FOO']\n"
        "assert f()==(None,'2')",
    ),
    "the environment of the code": (
        "import os\ndef f(): os.environ['FOO']='\\xe9'; os.environ.pop('GONE')",
        "import os\nos.environ['GONE']='1'\nf()\nassert os.environ['FOO']=='\\xe9' and 'GONE' not in os.environ",
    ),
    "a patched environment": (
        "import os\ndef f(): return os.environ.get('A')",
        "import os\nfrom unittest.mock import patch\nwith patch.dict('os.environ', {'A':'1'}): assert f()=='1'\n"
        "assert f() is None\nwith patch('os.environ', {'A':'2'}): assert f()=='2'\nassert f() is None",
    ),
    "the environment in a callback": (
        "import os\ndef f(g): os.environ['A']='1'; g(); return os.environ['A']",
        "import os\ndef g():\n  assert os.environ['A']=='1'\n  os.environ['A']='2'\nassert f(g)=='2'",
    ),
    "the directory of the tests": (
        "import os\ndef f(): return os.getcwd()",
        "import os\nold=os.getcwd()\nos.mkdir('sub')\nos.chdir('sub')\ngot=f()\nos.chdir('..')\nos.rmdir('sub')\n"
        "assert got==old+'/sub' and f()==old",
    ),
    "the directory of the code": (
        "import os\ndef f(): os.mkdir('sub'); os.chdir('sub')\ndef g(): os.chdir('..'); os.rmdir('sub')",
        "import os\nold=os.getcwd()\nf()\ngot=os.getcwd()\ng()\nassert got==old+'/sub' and os.getcwd()==old",
    ),
    "arguments": (
        "import sys\ndef f(): return sys.argv",
        "import sys\nfrom unittest.mock import patch\nwith patch.object(sys,'argv',['a','b']): assert f()==['a','b']\n"
        "assert f()!=['a','b']",
    ),
    "a path to import from": (
        "def f():\n  import their_helper\n  return their_helper.X",
        "import sys,os\nos.mkdir('lib')\nopen('lib/their_helper.py','w').write('X=3')\nsys.path.insert(0, os.path.abspath('lib'))\n"
        "assert f()==3",
    ),
    "a seed": (
        "import random\ndef f(): return random.random()",
        "import random\nrandom.seed(1)\na=f()\nb=f()\nrandom.seed(1)\nassert [a,b]==[random.random(),random.random()]",
    ),
    "a seed before the code imports random": (
        "def f():\n  import random\n  return random.random()",
        "import random\nrandom.seed(1)\na=f()\nrandom.seed(1)\nassert a==random.random()",
    ),
    "a precision": (
        "def f():\n  from decimal import Decimal\n  return str(Decimal(1)/3)",
        "import decimal\nwith decimal.localcontext() as c:\n  c.prec=5\n  assert f()=='0.33333'\n  c.prec=3\n"
        "  assert f()=='0.333'\nassert len(f())==30",
    ),
    "a precision of the code's": (
        "import decimal\ndef f(n): decimal.getcontext().prec=n; decimal.getcontext().traps[decimal.DivisionByZero]=False",
        "import decimal\nf(4)\nassert decimal.getcontext().prec==4 and str(decimal.Decimal(1)/3)=='0.3333' and decimal.Decimal(1)/0==decimal.Decimal('inf')",
    ),
    "a precision of the code's that is higher, and the tests' literals": (
        "import decimal\ndecimal.getcontext().prec=60\ndef f(): return str(decimal.Decimal(2).sqrt())",
        "from decimal import Decimal\nf()\nr=Decimal(f())\nd=Decimal('1.41421356237309504880168872420969807856967187537694807317668')\n"
        "assert r==d and abs(r-d)<Decimal('1e-55') and round(r,40)==round(d,40) and r==Decimal(2).sqrt()",
    ),
    "a recorded warning": (
        "import warnings\ndef f(): warnings.warn('old', DeprecationWarning); return 1",
        "import warnings\nwith warnings.catch_warnings(record=True) as w:\n  warnings.simplefilter('always')\n  f(); f()\n"
        "assert [(x.category,str(x.message)) for x in w]==[(DeprecationWarning,'old')]*2",
    ),
    "a warning that is shown once a place": (
        "import warnings\ndef f(): warnings.warn('old')",
        "import warnings\nfor _ in range(3):\n  with warnings.catch_warnings(record=True) as w:\n"
        "    warnings.simplefilter('default')\n    f(); f()\n    assert len(w)==1",
    ),
    "assertWarns": (
        "import warnings\ndef f(): warnings.warn('old')",
        "import unittest\nt=unittest.TestCase()\nfor _ in range(2):\n  with t.assertWarnsRegex(UserWarning, 'o.d'): f()",
    ),
    "a warning as an error": (
        "import warnings\ndef f(): warnings.warn('old')",
        "import warnings\nwith warnings.catch_warnings():\n  warnings.simplefilter('error')\n"
        "  try: f()\n  except UserWarning as e: assert str(e)=='old'\n  else: assert False\nf()",
    ),
    "a warning of a kind that is ignored": (
        "import warnings\ndef f(): warnings.warn('a', FutureWarning); warnings.warn('b'); warnings.warn('c')",
        "import warnings\nwith warnings.catch_warnings(record=True) as w:\n  warnings.simplefilter('always')\n"
        "  warnings.filterwarnings('ignore', message='B', category=UserWarning)\n"
        "  warnings.simplefilter('ignore', FutureWarning)\n  f()\nassert [str(x.message) for x in w]==['c']",
    ),
    "a warning of the code's own class": (
        "import warnings\nclass W(UserWarning): pass\ndef f(): warnings.warn(W('x'))",
        "import warnings\nwith warnings.catch_warnings(record=True) as w:\n  warnings.simplefilter('always')\n  f()\n"
        "assert issubclass(w[0].category, UserWarning) and str(w[0].message)=='x'",
    ),
    "warnings, output and records in order": (
        "import warnings,logging\ndef f(): print(1); warnings.warn('x'); print(2); logging.error('y'); print(3)",
        "import warnings,io,contextlib,logging\nb=io.StringIO()\nlogging.root.addHandler(logging.StreamHandler(b))\n"
        "with warnings.catch_warnings(), contextlib.redirect_stdout(b):\n  warnings.simplefilter('always')\n"
        "  warnings.showwarning=lambda m,*_: print('warned',m)\n  f()\n"
        "assert b.getvalue()=='1\\nwarned x\\n2\\ny\\n3\\n', b.getvalue()",
    ),
    "assertLogs": (
        "import logging\ndef f(): logging.getLogger('a').warning('hey %d', 3)",
        "import unittest\nt=unittest.TestCase()\nwith t.assertLogs('a') as c: f()\nassert c.output==['WARNING:a:hey 3']",
    ),
    "assertLogs below the usual level": (
        "import logging\ndef f(): logging.getLogger('a.b').debug('low'); logging.info('root')",
        "import unittest\nt=unittest.TestCase()\nwith t.assertLogs(level='DEBUG') as c: f()\n"
        "assert c.output==['DEBUG:a.b:low','INFO:root:root']",
    ),
    "assertNoLogs": (
        "import logging\ndef f(): logging.getLogger('a').debug('low')",
        "import unittest\nt=unittest.TestCase()\nwith t.assertNoLogs('a', level='INFO'): f()",
    ),
    "a traceback in a record": (
        "import logging\ndef f():\n  try: 1/0\n  except ZeroDivisionError: logging.exception('bad')",
        "import logging,io\nb=io.StringIO()\nlogging.root.addHandler(logging.StreamHandler(b))\nf()\n"
        "assert b.getvalue().startswith('bad\\nTraceback') and 'ZeroDivisionError' in b.getvalue()",
    ),
    "logging.disable": (
        "import logging\ndef f(): logging.error('x')",
        "import logging,io\nb=io.StringIO()\nlogging.root.addHandler(logging.StreamHandler(b))\n"
        "logging.disable(logging.ERROR)\nf()\nlogging.disable(logging.NOTSET)\nassert b.getvalue()==''\nf()\n"
        "assert b.getvalue()=='x\\n'",
    ),
    "a record on the redirected stderr": (
        "import logging\ndef f(): logging.error('x')",
        "import contextlib,io\nb=io.StringIO()\nwith contextlib.redirect_stderr(b): f()\nassert b.getvalue()",
    ),
    "a recursion limit of the tests": (
        "def f(n): return 0 if n==0 else 1+f(n-1)",
        "import sys\nsys.setrecursionlimit(6000)\nassert f(5000)==5000\nsys.setrecursionlimit(200)\n"
        "try: f(500)\nexcept RecursionError: pass\nelse: assert False",
    ),
    "a recursion limit of the code": (
        "import sys\nsys.setrecursionlimit(10000)\ndef f(n): return 0 if n==0 else 1+f(n-1)",
        "assert f(5000)==5000",
    ),
    "deep tests": (
        "def f(n): return n",
        "def g(n): return f(0) if n==0 else g(n-1)\nn=10\n"
        "try:\n  while True: g(n); n+=1\nexcept RecursionError: pass\n"
        "assert n>500 and f(3)==3 and f([1])==[1]",
    ),
    "deep in turns": (
        "def f(n,g): return 0 if n==0 else 1+g(n-1)",
        "def g(n): return f(n,g)\nassert f(300,g)==300",
    ),
    "without an end in turns": (
        "def f(g): return g()",
        "def g(): return f(g)\ntry: g()\nexcept RecursionError: pass\nelse: assert False\nassert f(lambda: 3)==3",
    ),
}

# What must not pass either way.
FAILS = {
    "print outside of the redirection": (
        "def f(): print('hello')",
        "import io,contextlib\nb=io.StringIO()\nwith contextlib.redirect_stdout(b): pass\nf()\nassert b.getvalue()",
    ),
    "nothing printed": (
        "def f(): pass",
        "import io,contextlib\nb=io.StringIO()\nwith contextlib.redirect_stdout(b): f()\nassert b.getvalue()=='hello\\n'",
    ),
    "nobody warned": (
        "def f(): pass",
        "import unittest\nwith unittest.TestCase().assertWarns(UserWarning): f()",
    ),
    "nothing logged": ("def f(): pass", "import unittest\nwith unittest.TestCase().assertLogs('a'): f()"),
    "another seed": (
        "import random\ndef f(): return random.Random(5).random()",
        "import random\nrandom.seed(1)\na=f()\nrandom.seed(1)\nassert a==random.random()",
    ),
}


def run_cold(how, code, tests, directory):
    program = [sys.executable, "-B", str(HERE / "ambient_pair.py"), how]
    job = json.dumps({"code": code, "tests": tests})
    ended = subprocess.run(program, input=job, text=True, capture_output=True, cwd=directory, timeout=60)
    return ended.returncode, ended.stderr


@pytest.fixture(scope="session")
def run():
    """Returns a function that runs a job in a process that has loaded the library's larger modules."""
    program = [sys.executable, "-B", str(HERE / "ambient_pair.py"), "serve"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:

        def run_job(how, code, tests, directory):
            job = {"how": how, "code": code, "tests": tests, "directory": str(directory)}
            print(json.dumps(job), file=server.stdin, flush=True)
            return json.loads(server.stdout.readline())

        yield run_job
        server.stdin.close()


@pytest.mark.parametrize("how", ["plain", "pair"])
@pytest.mark.parametrize("name", PASSES)
def test_passes(name, how, run, tmp_path):
    status, errors = run(how, *PASSES[name], tmp_path)
    assert status == 0, errors


@pytest.mark.parametrize("name", ["a seed before the code imports random", "a precision", "assertLogs", "assertWarns"])
def test_passes_in_a_process_that_has_loaded_nothing(name, tmp_path):
    status, errors = run_cold("pair", *PASSES[name], tmp_path)
    assert status == 0, errors


@pytest.mark.parametrize("how", ["plain", "pair"])
@pytest.mark.parametrize("name", FAILS)
def test_fails(name, how, run, tmp_path):
    status, errors = run(how, *FAILS[name], tmp_path)
    assert status == 1 and "AssertionError" in errors, errors


def test_numpy_shares_its_state(run, tmp_path):
    pytest.importorskip("numpy")
    code = "import numpy as np\ndef f(): return float(np.random.rand())"
    tests = """import numpy as np
np.random.seed(1)
a = f(), f()
np.random.seed(1)
assert a == (np.random.rand(), np.random.rand())"""
    for how in ("plain", "pair"):
        status, errors = run(how, code, tests, tmp_path)
        assert status == 0, errors


@pytest.mark.parametrize("module, seed, draw", [("random", "seed", "random"), ("numpy.random", "seed", "rand")])
def test_the_tests_draw_their_own_numbers(module, seed, draw, run, tmp_path):
    """The code could choose them, and with them what it is tested with."""
    pytest.importorskip(module)
    code = f"""import {module} as m
m.{seed}(2)
seeds = [3, 4]
def g(): m.{seed}(seeds.pop()); return m.{draw}()"""
    tests = f"""import {module} as m
m.{seed}(1)
first = m.{draw}()
m.{seed}(1)
a, b = g(), m.{draw}()
m.{seed}(1)
c, d = g(), m.{draw}()
assert a != c and b == d
assert len({{a, b, c, first}}) == 4"""
    assert run("pair", code, tests, tmp_path)[0] == 0
    assert run("plain", code, tests, tmp_path)[0] == 1, "there the code chooses them"


# --- what the candidate tells is checked ---

WORDS = 624 * b"\1\0\0\0" + b"\0\0\0\0"
DECIMAL = [28, "ROUND_HALF_EVEN", -999999, 999999, 1, 0, []]
REFUSED = {
    "no dictionary": [1],
    "a key that is no text": {1: 2},
    "state that there is none of": {"stdout": "own"},
    "what only the judge says": {"limit": 10},
    "events that are none": {"events": "x"},
    "too many events": {"events": [("stdout", "")] * 100001},
    "an event of its own": {"events": [("exec", "x")]},
    "an event with more": {"events": [("stdout", "x", "y")]},
    "an event that is a list": {"events": [["stdout", "x"]]},
    "output that is no text": {"events": [("stdout", 3)]},
    "too long a text": {"events": [("stdout", "x" * ((4 << 20) + 1))]},
    "a warning that is none": {"events": [("warning", "ValueError", "x", "f", 1)]},
    "a warning that is a function": {"events": [("warning", "print", "x", "f", 1)]},
    "a warning without a line": {"events": [("warning", "UserWarning", "x", "f", "1")]},
    "a warning that is an object of another class": {"events": [("warning", ValueError("x"), "x", "f", 1)]},
    "a record with a level of text": {"events": [("log", "a", "x", "f", 1, "m", "f", None, None, {})]},
    "a record with an exception that is none": {"events": [("log", "a", 1, "f", 1, "m", "f", None, 3, {})]},
    "a record with more that has no names": {"events": [("log", "a", 1, "f", 1, "m", "f", None, None, ["x"])]},
    "a record of seven parts": {"events": [("log", "a", 1, "f", 1, "m", "f", None)]},
    "input before its beginning": {"stdin": -1},
    "input at a text": {"stdin": "1"},
    "environment that is a list": {"environ": ["A"]},
    "a number as a variable": {"environ": {"A": 1}},
    "a variable with =": {"environ": {"A=B": "1"}},
    "a variable with NUL": {"environ": {"A": "\0"}},
    "a variable without a name": {"environ": {"": "1"}},
    "too long a variable": {"environ": {"A": "x" * ((1 << 17) + 1)}},
    "too many variables": {"environ": {f"A{i}": "" for i in range(4097)}},
    "a relative directory": {"cwd": "x"},
    "a directory that is a number": {"cwd": 3},
    "too few words": {"random": [WORDS[4:], None]},
    "an index that is too large": {"random": [WORDS[:-4] + b"\xff\xff\0\0", None]},
    "words that are numbers": {"random": [[1] * 625, None]},
    "a deviate that is a text": {"random": [WORDS, "1"]},
    "a precision that is a text": {"decimal": ["28", *DECIMAL[1:]]},
    "a precision of 0": {"decimal": [0, *DECIMAL[1:]]},
    "a rounding of its own": {"decimal": [28, "eval", *DECIMAL[2:]]},
    "a truth for a number": {"decimal": [True, *DECIMAL[1:]]},
    "traps that are a text": {"decimal": [*DECIMAL[:6], "Overflow"]},
    "uses that are a text": {"uses": "random"},
    "draws that are a text": {"draws": "random"},
    "a draw that is a number": {"draws": [1]},
}
TEXT = "random warn logging decimal chdir env patch('time.sleep')"


@pytest.fixture
def ends(monkeypatch, tmp_path):
    """Returns an Ambient; what it may change is put back."""
    before = random.getstate(), os.getcwd(), dict(os.environ)
    monkeypatch.chdir(tmp_path)
    yield ambient.Ambient(TEXT)
    random.setstate(before[0])
    os.environ.clear()
    os.environ.update(before[2])


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name, ends):
    before = random.getstate(), os.getcwd(), dict(os.environ)
    with pytest.raises(WireError):
        ends.incoming(REFUSED[name])
    assert (random.getstate(), os.getcwd(), dict(os.environ)) == before


CALLS_REFUSED = {
    "an unknown request": ("eval", ("1",)),
    "a request with more": ("write", ("stdout", "x", "y")),
    "a stream of its own": ("write", ("path", "x")),
    "a method of its own": ("read", ("seek", (0,), False)),
    "a function that nobody has replaced": ("patched", ("os.system", [], ("true",), {}, {})),
    "keywords that are none": ("patched", ("builtins.print", [], (), {1: 2}, {})),
    "a stream that is none": ("patched", ("builtins.print", [], (), {}, {"file": "stdin"})),
    "a file that is none": ("file", (0, "read", (), {})),
}


@pytest.mark.parametrize("name", CALLS_REFUSED)
def test_refuses_requests(name, ends):
    with pytest.raises(WireError):
        ends.called(*CALLS_REFUSED[name])


def test_originals_are_never_called(ends, monkeypatch):
    """Not even through a function of a C module that the tests have put somewhere."""
    for name in ("builtins.print", "builtins.open", "builtins.input", "time.sleep"):
        with pytest.raises(TypeError):
            ends.called("patched", (name, [], (), {}, {}))
    monkeypatch.setattr(time, "sleep", eval)
    assert "patched" not in (ends.outgoing() or {})
    with pytest.raises(TypeError):
        ends.called("patched", ("time.sleep", [], ("1",), {}, {}))


def test_attributes_only_of_mocks(ends, monkeypatch):
    class Tests:
        secret = staticmethod(lambda: 1)

        def __call__(self):
            return 2

    monkeypatch.setattr(time, "sleep", Tests())
    assert ends.called("patched", ("time.sleep", [], (), {}, {})) == 2
    with pytest.raises(AttributeError):
        ends.called("patched", ("time.sleep", ["secret"], (), {}, {}))
    mock = pytest.importorskip("unittest.mock").Mock()
    monkeypatch.setattr(time, "sleep", mock)
    mock.now.return_value = 5
    assert ends.called("patched", ("time.sleep", ["now"], (), {}, {})) == 5
    for name in ("configure_mock", "reset_mock", "__class__", "_mock_children", "assert_called"):
        with pytest.raises(AttributeError):
            ends.called("patched", ("time.sleep", [name], (), {}, {}))


def test_real_files_are_not_read_for_the_candidate(ends, monkeypatch, tmp_path):
    (tmp_path / "x").write_text("hidden")
    real = open
    monkeypatch.setattr(builtins, "open", lambda *arguments: real(*arguments))
    assert ends.called("patched", ("builtins.open", [], ("x",), {}, {})) == ["real", "x", "r"]
    assert ends.patches.files == []


def test_own_streams_stay_clean(ends, capfd, monkeypatch):
    own = io.StringIO()
    monkeypatch.setattr(sys, "stdout", own)
    monkeypatch.setattr(sys, "stdin", io.StringIO("the job"))
    fresh = ambient.Ambient(TEXT)
    fresh.incoming({"events": [("stdout", "forged"), ("stderr", "forged"), ("stdout", b"forged")]})
    assert fresh.called("write", ("stdout", "forged")) is None
    assert own.getvalue() == ""
    assert fresh.called("read", ("read", (), False)) == ""
    fresh.incoming({"stdin": 3})
    assert sys.stdin.tell() == 0
    assert "forged" not in "".join(capfd.readouterr())


def test_warnings_that_nobody_records_are_dropped():
    with warnings.catch_warnings(record=True) as recorded:  # what is there before the tests is the judge's
        judge = ambient.Ambient(TEXT)
        judge.incoming({"events": [("warning", "UserWarning", "forged", "f", 1)]})
        assert recorded == []
        with warnings.catch_warnings(record=True) as theirs:
            judge.incoming({"events": [("warning", "UserWarning", "heard", "f", 1)]})
        assert len(theirs) == 1


def test_the_judges_children_load_nothing_of_the_candidates(ends):
    ends.incoming({"environ": {"LD_PRELOAD": "/x.so", "PYTHONPATH": "/x", "PATH": "/x", "HARMLESS": "1"}})
    assert os.environ["HARMLESS"] == "1"
    assert "LD_PRELOAD" not in os.environ and os.environ.get("PATH") != "/x"
    shown = subprocess.run(["/usr/bin/env"], text=True, capture_output=True, check=True).stdout
    assert "HARMLESS" not in shown


def test_the_directory_stays_below_the_jobs(ends, tmp_path):
    (tmp_path / "sub").mkdir()
    Path(f"{tmp_path}-not").mkdir()
    (tmp_path / "link").symlink_to("/usr")
    for path in ("/", "/usr", f"{tmp_path}/..", f"{tmp_path}/link", f"{tmp_path}-not", f"{tmp_path}/missing"):
        ends.incoming({"cwd": path})
        assert os.getcwd() == str(tmp_path)
    ends.incoming({"cwd": f"{tmp_path}/sub"})
    assert os.getcwd() == f"{tmp_path}/sub"


def test_generators_that_no_test_uses_are_left_alone():
    quiet = ambient.Ambient("assert f() == 1")
    assert quiet.outgoing() is None
    before = random.getstate()
    with pytest.raises(WireError):
        quiet.incoming({"random": [WORDS, None]})
    quiet.incoming({"uses": ["random"]})
    random.random()
    assert quiet.outgoing() is None
    random.setstate(before)


def test_a_warning_that_the_tests_function_refuses_stays_there(ends):
    def refuse(*_):
        raise ValueError

    with warnings.catch_warnings():
        warnings.showwarning = refuse
        ends.incoming({"events": [("warning", "UserWarning", "x", "f", 1), ("warning", Warning("x"), "x", "f", 1)]})


# --- cost ---

CALLS = 20000
EMPTY_NS_MAX = 4000  # of CPU; measured 40 to 500, by how busy the machine is


def cost_of(function):
    def once():
        begun = time.process_time_ns()
        for _ in range(CALLS):
            function()
        return (time.process_time_ns() - begun) // CALLS

    return min(once() for _ in range(5))


def test_unchanged_state_costs_next_to_nothing(capsys):
    judge, candidate = ambient.Ambient("assert f(1) == 2"), mirror.Mirror(None)
    candidate.loading("def f(x): return x + 1")
    assert judge.outgoing() is None and candidate.outgoing() is None
    costs = cost_of(judge.outgoing), cost_of(candidate.outgoing)
    depth = cost_of(lambda: (judge.depth.open(), judge.depth.close()))
    with capsys.disabled():
        print(f"\nper call: judge {costs[0]} ns, candidate {costs[1]} ns, depth {depth} ns")
    assert max(costs) < EMPTY_NS_MAX
