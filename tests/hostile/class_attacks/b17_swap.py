# SPDX-License-Identifier: MIT
"""Two directories are exchanged all the time: does a job that names the digest of one get graded by the other?"""
from base import *
import ctypes, threading, hashlib
libc = ctypes.CDLL(None)
c = begin()
try:
    n = plain(c, "sw", "report(v=1)\n"); plain(c, "sw2", "report(v=2)\n")
    time.sleep(0.2)
    dig = c.answer(n)["rubric_digest"]; dig2 = c.answer("sw2")["rubric_digest"]
    a, b = (str(c.root / x).encode() for x in ("sw", "sw2"))
    stop = False
    def swap():
        while not stop:
            libc.renameat2(-100, a, -100, b, 2); time.sleep(0.0015)
    t = threading.Thread(target=swap); t.start()
    seen = {}
    end = time.time() + 12
    while time.time() < end:
        x = c.answer(n, rubric_digest=dig)
        k = x.get("code") if x["type"] == "error" else "v" + x["score"]["failure_modes"][0]["detail"] if x["score"]["failure_modes"] else "none"
        seen[k] = seen.get(k, 0) + 1
    stop = True; t.join()
    print("asked for the digest of v=1:", seen)
finally: c.close()
