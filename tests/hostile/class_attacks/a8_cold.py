# SPDX-License-Identifier: MIT
"""Rubrics whose verdict differs: loaded once against plain; also under an unchanged warm_class.digest and a rubric_digest that says otherwise."""
from base import *
import sqlite3
def both(c, tag, helper, rubric, setup, change):
    w = c.make(rubric, helper); d = c.root / w
    setup(d)
    time.sleep(0.1)
    one = c.answer(w); change(d); time.sleep(0.1); two = c.answer(w)
    (d / "task_class.json").write_text("{}"); time.sleep(0.1)
    cold = c.answer(w)
    g = lambda a: (a.get("score", {}).get("passed"), a.get("warm_class"), str(a.get("rubric_digest"))[:8], [m["detail"] for m in a.get("score",{}).get("failure_modes",[])])
    print(tag, "\n   warm 1", g(one), "\n   warm 2", g(two), "\n   cold  ", g(cold), flush=True)
R = "import helper\nprint(json.dumps({'passed': bool(helper.OK), 'score': float(bool(helper.OK)), 'failure_modes': [{'code':'a','severity':'info','detail':repr(helper.OK)}]}))\n"
c = begin()
try:
    def db(v):
        def f(d):
            p = d / "x.db"
            if p.exists(): p.unlink()
            k = sqlite3.connect(p); k.execute("create table t(a)"); k.execute("insert into t values(?)", (v,)); k.commit(); k.close(); os.chmod(p, 0o644)
        return f
    both(c, "sqlite", "import sqlite3, os\nk = sqlite3.connect('file:' + os.path.join(os.path.dirname(__file__), 'x.db') + '?mode=ro&immutable=1', uri=True)\nOK = k.execute('select a from t').fetchone()[0]\nk.close()\ndel k\n", R, db(1), db(0))
    both(c, "listdir", "import os\nOK = 'bad' not in os.listdir(os.path.dirname(__file__))\n", R, lambda d: None, lambda d: (d / "bad").write_text(""))
    both(c, "stat", "import os\nOK = os.stat(os.path.join(os.path.dirname(__file__), 'data')).st_size == 1\n", R, lambda d: (d / "data").write_text("1"), lambda d: (d / "data").write_text("22"))
    both(c, "subprocess", "import subprocess, os\nOK = subprocess.check_output(['cat', os.path.join(os.path.dirname(__file__), 'data')]) == b'1'\n", R, lambda d: (d / "data").write_text("1"), lambda d: (d / "data").write_text("22"))
    both(c, "main", "import __main__\nOK = hasattr(__main__, 'report')\n", R, lambda d: None, lambda d: None)
    both(c, "Random()", "import random\nr = random.Random()\nOK = 1\ndef f(): return r.random()\n", "import helper\nprint(json.dumps({'passed': True, 'score': 1, 'failure_modes': [{'code':'a','severity':'info','detail':repr(helper.f())}]}))\n", lambda d: None, lambda d: None)
    both(c, "default_rng", "import numpy\nr = numpy.random.default_rng()\nOK = 1\ndef f(): return r.random()\n", "import helper\nprint(json.dumps({'passed': True, 'score': 1, 'failure_modes': [{'code':'a','severity':'info','detail':repr(helper.f())}]}))\n", lambda d: None, lambda d: None)
    both(c, "pycache", "OK = __cached__\n", R, lambda d: None, lambda d: None)
    both(c, "inspect", "import inspect\ndef g(): pass\nOK = inspect.getsource(g) and repr((__file__, __loader__.__class__, __spec__.cached, __spec__.has_location, __builtins__.__class__, __package__, sorted(globals())))\n", R, lambda d: None, lambda d: None)
    both(c, "frame", "import sys\nf = sys._getframe(); n = 0; names = []\nwhile f: names.append(f.f_code.co_name + f.f_code.co_filename[-12:]); f = f.f_back\nOK = names\n", R, lambda d: None, lambda d: None)
    both(c, "flags", "import sys, gc, os, threading\nOK = [sys.flags.no_user_site, gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()>0, os.getcwd(), sys.getrecursionlimit(), sys.argv, os.getpid() == os.getpid(), sys.dont_write_bytecode, sys.meta_path.__len__(), sys.path]\n", R, lambda d: None, lambda d: None)
finally: c.close()
