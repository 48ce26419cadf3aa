# SPDX-License-Identifier: MIT
"""What the accounts say of a class's work: in the template's hook (before the fork) against in the job."""
from base import *
H = "import os, time\ndef work():\n    t = time.process_time()\n    while time.process_time() < t + 0.8: pass\nos.register_at_fork(before=work)\n"
c = begin()
try:
    a = c.answer(c.make("report(ok=1)\n", H)); print("in the hook", a["usage"])
    a = c.answer(c.make("import time\nwhile time.process_time() < 0.8: pass\nreport(ok=1)\n")); print("in the job", a["usage"])
finally: c.close()
