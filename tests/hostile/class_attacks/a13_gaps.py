# SPDX-License-Identifier: MIT
"""A template that runs starts and ends threads beside an honest job of another class, which then has gaps: on a busy host it times out."""
from base import *
from live import live
os.sched_setaffinity(0, {0})
H = live('''
        import threading
        for _ in range(3):
            t = threading.Thread(target=lambda: time.sleep(0.0)); t.start(); t.join()
        end2 = time.time() + 0.01
        while time.time() < end2: pass
''' )
c = begin()
try:
    v = plain(c, "v", "import time\nt=time.time()\nwhile time.process_time() < 0.7: pass\nreport(wall=time.time()-t)\n")
    L = {"case": {"rubric_wall_clock_seconds": 1}}
    from busy_cpu import loops
    with loops(0, 1):
        show("before", c.answer(v, **L)); show("before", c.answer(v, **L))
    show("evil", c.answer(c.make("report(ok=1)\n", H)))
    with loops(0, 1):
        show("after", c.answer(v, **L))
        show("after", c.answer(v, **L))
    print(c.daemon.log()[-900:])
finally: c.close()
