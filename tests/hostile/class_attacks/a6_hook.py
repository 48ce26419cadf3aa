# SPDX-License-Identifier: MIT
"""Work of a job done in the hook of its template before the fork: neither its CPU limit nor its deadline holds."""
from base import *
H = '''
import os, time
SPENT = 0
def work():
    global SPENT
    t = time.time()
    while time.time() < t + 1.8: SPENT += 1
os.register_at_fork(before=work)
'''
c = begin()
try:
    n = c.make("import helper\nprint(json.dumps({'passed': helper.SPENT > 0, 'score': 1}))\n", H)
    for limit in (1, 0.5):
        a = c.answer(n, case={"rubric_wall_clock_seconds": limit}); show("wall %s" % limit, a)
    print(c.daemon.log()[-900:])
finally: c.close()
