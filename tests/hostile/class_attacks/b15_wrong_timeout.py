# SPDX-License-Identifier: MIT
"""An honest class with a short limit on a busy CPU: the time that its template waits for a CPU before it forks is not given back."""
from base import *
from busy_cpu import loops
os.sched_setaffinity(0, {1})
c = begin()
try:
    text = "import time\nt=time.process_time()\nwhile time.process_time() < t + 0.012: pass\nreport(ok=1)\n"
    L = {"case": {"rubric_wall_clock_seconds": 0.06}}
    v = plain(c, "v", text); n = c.make("import helper\n" + text)
    c.answer(n, **L); c.answer(n, **L); c.answer(v, **L)
    with loops(1, 4):
        for name, tag in ((v, "plain"), (n, "class"), (v, "plain"), (n, "class")):
            seen = []
            for _ in range(12):
                a = c.answer(name, **L)
                o = a.get("outcome") or {}
                seen.append(a.get("code") or o.get("limit_exceeded") or ("pass" if a["score"]["passed"] else "fail") + ("" if a.get("warm_class", {}).get("loaded", True) else "/cold"))
            print(tag, {s: seen.count(s) for s in set(seen)}, json.dumps(a.get("deadline")), flush=True)
    print(c.daemon.log()[-700:])
finally: c.close()
