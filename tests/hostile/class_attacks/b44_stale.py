# SPDX-License-Identifier: MIT
"""Seventy slow links make what was found stand for long: rubric.py is changed, and a job that names the old digest is graded by the new one."""
from base import *
c = begin()
try:
    n = plain(c, "slow", "report(v=1)\n")
    x = c.root / "x"; x.mkdir(); (x / "d").mkdir(); (x / "f").write_text("")
    os.symlink("d/../" * 815 + "d", x / "s0")
    for k in range(1, 37): os.symlink("s%d/../" % (k - 1) + "d/../" * 810 + "d", x / ("s%d" % k))
    for k in range(70): os.symlink("../x/s36/../f", c.root / "slow" / ("l%03d" % k))
    time.sleep(0.2)
    one = c.answer(n); time.sleep(1); two = c.answer(n); three = c.answer(n)
    d = three["rubric_digest"]; print(d, three.get("no_rubric_digest"))
    (c.root / "slow" / "rubric.py").write_text(REPORT + "report(v=2)\n")
    t0 = time.time()
    while time.time() < t0 + 60:
        a = c.answer(n, rubric_digest=d)
        if a["type"] == "error": print("noticed after %.1f s" % (time.time() - t0), a["code"]); break
        last = (time.time() - t0, a["rubric_digest"] == d, a["score"]["failure_modes"][0]["detail"])
        time.sleep(0.3)
    print("last wrong one:", last)
finally: c.close()
