# SPDX-License-Identifier: MIT
"""The fork sends the write end of its job's output over the link to the jail, which does not read there: who waits for its end?"""
from base import *
from live import live
H = live("        pass\n", "socket.send_fds(link, [b'x'], [fds[1], fds[2], fds[1]])").replace("arm(100_000_000, 50_000_000)", "pass").replace("    os.close(3)\n", "")
c = begin()
try:
    v = plain(c, "v", "report(ok=2)\n")
    n = c.make("report(ok=1)\n", H)
    for _ in range(3):
        t = time.time(); show("evil", c.answer(n)); print("%.2f s" % (time.time() - t))
        t = time.time(); show("victim", c.answer(v)); print("%.2f s" % (time.time() - t))
    print(c.daemon.log()[-900:])
finally: c.close()
