# SPDX-License-Identifier: MIT
"""Other ways than a timer by which a template goes on: its fork, made by the class, sends SIGCONT; its link does (F_SETSIG)."""
from base import *
from live import live
c = begin()
try:
    for way in ("fork", "fcntl"):
        H = live('''
        try:
            if 'HACK' not in open('/work/mark').read(): open('/work/mark', 'w').write('HACK')
        except OSError: pass
        time.sleep(0.01)
''', "tell()").replace("arm(100_000_000, 50_000_000)", "prepare()")
        if way == "fork": H += "me = os.getpid()\ndef prepare(): pass\ndef tell():\n    time.sleep(0.05)\n    os.kill(me, 18)\n"
        else: H += "import fcntl\ndef prepare():\n    fcntl.fcntl(3, 8, os.getpid()); fcntl.fcntl(3, 10, 18); fcntl.fcntl(3, 4, fcntl.fcntl(3, 3) | os.O_ASYNC)\ndef tell(): pass\n"
        if way == "fcntl":  # the link becomes readable for it when the jail hands over; the other end is shared with the fork
            H = H.replace("    os.close(3)\n    tell()", "    tell()\n    os.close(3)")
        n = c.make("report(ok=1)\n", H)
        v = plain(c, "v", "import time\nopen('mark','w').write('x')\ntime.sleep(0.6)\nreport(mark=open('mark').read())\n")
        a = c.answer(n); show(way + " evil", a)
        show(way + " victim", c.answer(v))
finally: c.close()
