# SPDX-License-Identifier: MIT
"""Common parts: a daemon with one slot and classes. Run with RUBRICD_BUILD=.../build /usr/bin/python3 X.py [groups]"""
import sys, json, os, time
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import test_classes as T
from test_classes import Classes, REPORT, STAMP, LIBC
def begin(): return Classes("groups" in sys.argv)
def show(tag, answer):
    keep = {k: answer.get(k) for k in ("type","code","message","retriable","warm_class","outcome","score","deadline") if k in answer}
    print(tag, json.dumps(keep)[:1500], flush=True)
def plain(c, name, text):
    d = c.root / name; d.mkdir(exist_ok=True); (d / "rubric.py").write_text(REPORT + text); return name
