# SPDX-License-Identifier: MIT
"""A link in a rubric's directory to a file that neither the client nor the job may read: the digest tells its contents by guessing."""
from base import *
from own import Own
import hashlib, shutil
from world import ACCOUNT
c = Own()
try:
    n = plain(c, "leak", "try: t = open('/bench/leak/pin').read()\nexcept OSError as e: t = repr(e)\nreport(read=t, uid=os.getuid())\n")
    os.mkdir(c.root / "private"); p = c.root / "private" / "pin.txt"; p.write_text("PIN 4711\n"); p.chmod(0o600); shutil.chown(p, ACCOUNT + 7); (c.root / "private").chmod(0o700); shutil.chown(c.root / "private", ACCOUNT + 7)
    os.symlink("../private/pin.txt", c.root / "leak" / "pin")
    time.sleep(.1); a = c.answer(n); d = a.get("rubric_digest"); print(d, a.get("no_rubric_digest"), a["score"]["failure_modes"], c.client.hello["isolation"]["layers"])
    r = (c.root / "leak" / "rubric.py").read_bytes()
    sha = lambda b: hashlib.sha256(b).hexdigest()
    for i in range(10000 if d else 0):
        t = b"PIN %04d\n" % i
        man = "rubric-directory 1\n%s %d - pin\n%s %d - rubric.py\n" % (sha(t), len(t), sha(r), len(r))
        if sha(man.encode()) == d: print("found by digest:", t); break
finally: c.close()
