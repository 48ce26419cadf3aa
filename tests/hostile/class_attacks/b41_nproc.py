# SPDX-License-Identifier: MIT
"""A template that goes on takes the account's processes: jobs of other kinds cannot fork."""
from base import *
from live import live
H = live('''
        time.sleep(0.15)
        for _ in range(3000):
            r = libc.syscall(56, 17, 0, 0, 0, 0)
            if r < 0: break
            if r == 0:
                os.close(3)
                time.sleep(20); os._exit(0)
        time.sleep(20)
''')
c = begin()
try:
    job = {"kind": "program", "language": "python", "code": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(2)'], capture_output=True, text=True).stdout.strip())\n", "tests": [{"input": "", "output": "2\n"}]}
    s = lambda a: (a.get("type"), a.get("code"), a.get("verdict"), json.dumps(a.get("outcome"))[:300], (a.get("score") or {}).get("failure_modes"))
    print("before", s(c.client.run(job)))
    show("evil", c.answer(c.make("report(ok=1)\n", H)))
    time.sleep(0.6); os.system("ps -eLo pid,lwp,stat,comm | grep rubricd-class | awk '{print $1,$3}' | sort | uniq -c | tail -4")
    for _ in range(2): print("after", s(c.client.run(job)))
    print(c.daemon.log()[-700:])
finally: c.close()
