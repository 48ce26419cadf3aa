# SPDX-License-Identifier: MIT
"""As the test of processes that let others go first, with other ways to do so."""
from base import *
from busy_cpu import loops, bound_to_cpus
WAYS = {
 "none": "while True: pass",
 "nice (known)": "os.nice(19)\n    while True: pass",
 "yield": "y = os.sched_yield\n    while True: y()",
 "yield C": "import ctypes\n    l = ctypes.CDLL(None)\n    y = l.sched_yield\n    while True: y()",
 "batch": "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n    while True: pass",
 "short sleeps": "n = time.sleep\n    while True: n(1e-6)",
 "slice": "import ctypes, struct\n    l = ctypes.CDLL(None)\n    a = ctypes.create_string_buffer(struct.pack('IIQiIQQQII', 56, 0, 0, 0, 0, 100_000_000, 0, 0, 0, 0))\n    l.syscall(314, 0, a, 0)\n    while True: pass",
 "many yields": "y = os.sched_yield\n    [os.fork() for _ in range(3)]\n    while True: y()",
}
with bound_to_cpus(2) as cpus:
    c = begin()
try:
    with loops(cpus[0], 1):
        for k, w in WAYS.items():
            out = []
            for _ in range(2):
                a = c.client.run({"kind": "sandbox", "runner": "python", "limits": {"wall_clock": 1}, "snippet": "import os, time\nif os.fork() == 0:\n    %s\nwhile time.process_time() < 1.6: pass\n" % w})
                out.append(((a.get("outcome") or {}).get("limit_exceeded") or a.get("code") or (a.get("score") or {}).get("passed"), a.get("deadline"), a["usage"]["cpu_ms"] if "usage" in a else None))
            print(k, out, flush=True)
finally: c.close()
