# SPDX-License-Identifier: MIT
"""A class that never finishes to load: what of a client that leaves, a cancel, the wall clock, other clients?"""
from base import *
c = begin()
try:
    n = c.make("report(ok=1)\n", "while True: pass\n")
    look = plain(c, "look", "report(ok=2)\n")
    job = {"kind": "rubric", "task_class": n, "bench_root": str(c.root), "case": {}, "harness_output": {}}
    other = c.daemon.connect(); other.submit("x", job); time.sleep(0.3); other.close()
    t = time.time(); show("a client left; another waits %s", c.answer(look)); print("waited %.1f s" % (time.time() - t))
    t = time.time(); a = c.answer(n, case={"rubric_wall_clock_seconds": 1}); show("limit 1", a); print("took %.1f s" % (time.time() - t))
    print(c.daemon.log()[-900:])
finally: c.close()
