# SPDX-License-Identifier: MIT
"""As a5: the work of the job is done by threads of the template; the job spins until they are done."""
from base import *
os.sched_setaffinity(0, {0})
from live import live
H = '''
import mmap
flag = None
''' + live('''
        import threading, hashlib
        buf = b"x" * (1 << 20)
        def part():
            t0 = time.thread_time()
            while time.thread_time() < t0 + 0.5: hashlib.sha256(buf).digest()
        ts = [threading.Thread(target=part) for _ in range(4)]
        [t.start() for t in ts]; [t.join() for t in ts]
        flag[0] = 1
        time.sleep(60)
''', '''
    while not flag[0]: pass''').replace("def live():\n", "def live():\n    global flag\n    flag = mmap.mmap(-1, 4096)\n", 1)
c = begin()
try:
    d = c.root / "plain"; d.mkdir()
    (d / "rubric.py").write_text(REPORT + "import time\nwhile time.process_time() < 2.0: pass\nreport(ok=1)\n")
    L = {"case": {"rubric_wall_clock_seconds": 1}}
    show("plain needs 2 s of CPU", c.answer("plain", **L))
    show("evil does it in threads of its template", c.answer(c.make("report(ok=1)\n", H), **L))
    print(c.daemon.log()[-600:])
finally: c.close()
