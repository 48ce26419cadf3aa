# SPDX-License-Identifier: MIT
"""An honest class job on a busy CPU: is its time given back as that of a plain job is?"""
from base import *
from busy_cpu import loops
os.sched_setaffinity(0, {0})
c = begin()
try:
    text = "import time\nt=time.time()\nwhile time.process_time() < 0.8: pass\nreport(wall=time.time()-t)\n"
    L = {"case": {"rubric_wall_clock_seconds": 1}}
    v = plain(c, "v", text); n = c.make("import helper\n" + text); o = c.make("import helper\n" + text, STAMP + "# other\n")
    show("load", c.answer(n)); c.answer(o)
    with loops(0, 2):
        for _ in range(3): show("plain", c.answer(v, **L)); show("class", c.answer(n, **L)); 
    print(c.daemon.log()[-1200:])
finally: c.close()
