# SPDX-License-Identifier: MIT
"""Links in a rubric's directory that take the kernel long to follow: the event loop stands still."""
from base import *
c = begin()
try:
    look = plain(c, "look", "report(ok=2)\n")
    n = plain(c, "slow", "report(ok=1)\n")
    x = c.root / "x"; x.mkdir(); (x / "d").mkdir()
    os.symlink("d/../" * 815 + "d", x / "s0")
    for k in range(1, 37): os.symlink("s%d/../" % (k - 1) + "d/../" * 810 + "d", x / ("s%d" % k))
    N = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 900
    for k in range(N): os.symlink("../x/s36/../../slow/rubric.py", c.root / "slow" / ("l%03d" % k))
    t = time.time(); os.stat(c.root / "slow" / "l000"); print("one stat %.2f ms" % ((time.time() - t) * 1e3))
    other = c.daemon.connect()
    for r in range(4):
        other.submit("s%d" % r, {"kind": "rubric", "task_class": n, "bench_root": str(c.root), "case": {}, "harness_output": {}})
        time.sleep(0.02)
        worst = 0
        end = time.time() + 3
        while time.time() < end:
            t = time.time(); c.answer(look); worst = max(worst, time.time() - t)
        print("worst latency of another client's job: %.2f s" % worst, flush=True)
    for r in range(4): a = other.recv_answer("s%d" % r); print(a.get("rubric_digest"), a.get("no_rubric_digest"), a.get("message"))
finally: c.close()
