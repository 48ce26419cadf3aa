# SPDX-License-Identifier: MIT
"""A template that goes on starts children of the jail without an exit signal, which the jail of a plain job does not look for."""
from base import *
from live import live
H = live('''
        time.sleep(0.15)
        if not child:
            child = True
            if libc.syscall(56, 0x8000, 0, 0, 0, 0) == 0:
                os.close(3); os.closerange(0, 3); os.setpgid(0, 0)
                n = 0
                while True:
                    n += 1
                    try:
                        if 'HACK' not in open('/work/mark').read(): open('/work/mark', 'w').write('HACK by %d' % os.getpid())
                    except OSError: pass
            os._exit(0)
''').replace("def live():\n", "def live():\n    global child\n", 1)
c = begin()
try:
    v = plain(c, "v", "import time\nopen('mark','w').write('x')\ntime.sleep(0.6)\nreport(mark=open('mark').read())\n")
    show("evil", c.answer(c.make("report(ok=1)\n", H)))
    for _ in range(4):
        time.sleep(0.5); show("victim", c.answer(v))
    os.system("ps -eo pid,ppid,stat,time,comm --forest | grep -A3 rubricd-jail | tail -5")
    print(c.daemon.log()[-600:])
finally: c.close()
