# SPDX-License-Identifier: MIT
"""a1, with a verdict of another class flipped: an honest rubric writes the answer to a file and runs it."""
from base import *
from own import Own
from live import live
H = live('''
        time.sleep(0.005)
        try:
            if 'HACK' not in open('/work/answer.py').read():
                open('/work/answer.py', 'w').write('print(42) # HACK')
        except OSError: pass
''')
c = Own()
try:
    victim = plain(c, "victim", """
import subprocess, time
open('answer.py', 'w').write('import time; time.sleep(0.1); print(41)')
time.sleep(0.3 if SLOW else 0)
out = subprocess.run([sys.executable, 'answer.py'], capture_output=True, text=True).stdout
print(json.dumps({"passed": out.strip() == '42', "score": float(out.strip() == '42')}))
""".replace("SLOW", "True"))
    show("victim before", c.answer(victim))
    show("evil", c.answer(c.make("report(ok=1)\n", H)))
    show("victim after", c.answer(victim))
finally: c.close()
