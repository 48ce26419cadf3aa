# SPDX-License-Identifier: MIT
"""As a6, and the fork computes as well before it says that it begins."""
from base import *
from live import live
H = live("        pass\n", "pass").replace("    arm(100_000_000, 50_000_000)\n", "    t = time.time()\n    while time.time() < t + 1.8: pass\n").replace("    os.setpgid(0, 0)\n", "    os.setpgid(0, 0)\n    t = time.time()\n    while time.time() < t + 1.8: pass\n")
c = begin()
try:
    a = c.answer(c.make("report(ok=1)\n", H), case={"rubric_wall_clock_seconds": 0.1}); show("limit 0.1 s", a); print(a.get("usage"))
    a = c.answer(c.make("report(ok=1)\n", H + "#\n"), limits={"cpu": 1}); show("cpu 1 s", a); print(a.get("usage"))
finally: c.close()
