# SPDX-License-Identifier: MIT
"""A class job gains time: its template spins beside it, its CPU time is not counted, and what the job waits for it moves the deadline."""
from base import *
from live import live
os.sched_setaffinity(0, {0})
H = live("        pass\n", "t = time.process_time()\n    while time.process_time() < t + float(sys.modules['os'].environ.get('X', '1.5')): pass")
c = begin()
try:
    d = c.root / "plain"; d.mkdir()
    (d / "rubric.py").write_text(REPORT + "import time\nwhile time.process_time() < 1.5: pass\nreport(ok=1)\n")
    L = {"case": {"rubric_wall_clock_seconds": 1}}
    show("plain", c.answer("plain", **L))
    show("evil", c.answer(c.make("report(ok=1)\n", H), **L))
    print(c.daemon.log()[-600:])
finally: c.close()
