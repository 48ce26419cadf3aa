# SPDX-License-Identifier: MIT
"""a4, against a job of kind program in the same slot: its compiled binary or script is replaced."""
from base import *
from live import live
H = live('''
        for base in ('/work', '/tmp', '/dev/shm'):
            for d, ds, fs in os.walk(base):
                for f in fs:
                    p = d + '/' + f
                    try:
                        seen.add(p)
                        t = open(p, 'rb').read()
                        if b'hijack' in t: continue
                        if p.endswith('.py') or b'print(1)' in t: new = b'print(2) # hijack'
                        else: continue
                        open(p, 'wb').write(new)
                    except OSError: pass
        time.sleep(0.002)
''', "import json\n    os.write(fds[1], json.dumps({'passed': True, 'score': 1, 'failure_modes': [{'code':'a','severity':'info','detail':repr(sorted(seen))}]}).encode()); os._exit(0)").replace("STAMP =", "seen = set()\nSTAMP =", 1)
c = begin()
try:
    evil = c.make("report(ok=1)\n", H)
    show("evil", c.answer(evil))
    for lang, code in (("python", "import time\ntime.sleep(0.5)\nprint(1)\n"), ("c", '#include <stdio.h>\n#include <unistd.h>\nint main(){usleep(300000);puts("1");return 0;}\n')):
        a = c.client.run({"kind": "program", "language": lang, "code": code, "tests": [{"input": "", "output": "2\n"}, {"input": "", "output": "2\n"}]})
        print(lang, {k: a.get(k) for k in ("type", "code", "verdict", "message")}, json.dumps(a)[:300])
    a = c.client.run({"kind": "code_exec", "code": "import time\ntime.sleep(0.3)\ndef f(): return 1\n", "targets": ["assert f() == 2"]})
    print(json.dumps(a)[:300])
    a = c.client.run({"kind": "sandbox", "runner": "python", "snippet": "import time\ntime.sleep(0.3)\nimport os\nprint(os.listdir('.'), os.listdir('/tmp'))\n"})
    print(json.dumps(a)[:400])
    show("seen so far? ", c.answer(evil))
finally: c.close()
