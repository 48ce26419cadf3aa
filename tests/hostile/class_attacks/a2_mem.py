# SPDX-License-Identifier: MIT
"""A template grows after it has been looked at: memory that [warm] classes_memory does not count."""
from base import *
H = '''
import os
kept = []
def grow():
    if len(kept) < 8:
        kept.append(b"x" * (90 << 20))
os.register_at_fork(before=grow)
'''
c = begin()
try:
    n = c.make("report(ok=1)\n", H)
    for i in range(6): 
        a = c.answer(n, limits={"memory_bytes": 2 << 30} if "big" in sys.argv else {})
    show("last", a)
    os.system("ps -eo pid,stat,rss,vsz,time,comm | grep rubricd-class")
    print(c.daemon.log()[-500:])
finally: c.close()
