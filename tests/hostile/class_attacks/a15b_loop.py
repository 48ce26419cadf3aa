# SPDX-License-Identifier: MIT
"""As a15, seen from new connections (hello), which need no slot: the event loop itself stands still."""
from base import *
import threading
c = begin()
try:
    n = plain(c, "slow", "report(ok=1)\n")
    x = c.root / "x"; x.mkdir(); (x / "d").mkdir()
    os.symlink("d/../" * 815 + "d", x / "s0")
    for k in range(1, 37): os.symlink("s%d/../" % (k - 1) + "d/../" * 810 + "d", x / ("s%d" % k))
    N = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 60
    for k in range(N): os.symlink("../x/s36/../../slow/rubric.py", c.root / "slow" / ("l%03d" % k))
    t = time.time(); os.stat(c.root / "slow" / "l000"); print("one stat %.2f ms" % ((time.time() - t) * 1e3))
    other = c.daemon.connect()
    for r in range(3):
        other.submit("s%d" % r, {"kind": "rubric", "task_class": n, "bench_root": str(c.root), "case": {}, "harness_output": {}})
        worst = 0; end = time.time() + 2
        while time.time() < end:
            t = time.time(); k = c.daemon.connect(); k.close(); worst = max(worst, time.time() - t)
        print("links %d: worst time for a hello: %.2f s" % (N, worst), flush=True)
    for r in range(3): other.recv_answer("s%d" % r)
finally: c.close()
