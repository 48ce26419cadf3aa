# SPDX-License-Identifier: MIT
"""A rubric's directory in a tmpfs is changed through a shared mapping: the kernel tells of no change, so the digest stays."""
from base import *
import mmap, hashlib
c = begin()
try:
    n = plain(c, "m", "report(v=1)\n# pad\n")
    p = c.root / n / "rubric.py"
    f = open(p, "r+b"); m = mmap.mmap(f.fileno(), 0)
    time.sleep(0.2)
    one = c.answer(n)
    dig = one["rubric_digest"]
    i = m.find(b"v=1"); m[i:i+3] = b"v=2"
    two = c.answer(n, rubric_digest=dig)
    print("tmpfs:", one["rubric_digest"][:12], one["score"]["failure_modes"][0]["detail"], "->", (two.get("rubric_digest") or str(two))[:12], two.get("score",{}).get("failure_modes"))
    print("sha of file now", hashlib.sha256(p.read_bytes()).hexdigest()[:12])
    # a disk file system
    import tempfile, shutil, pathlib
    d = pathlib.Path(tempfile.mkdtemp(prefix="red-bench-", dir="/var/tmp")); d.chmod(0o755)
    (d / "m").mkdir(); p = d / "m" / "rubric.py"; p.write_text(REPORT + "report(v=1)\n# pad\n"); os.chmod(p, 0o644)
    f = open(p, "r+b"); m = mmap.mmap(f.fileno(), 0); i = m.find(b"v=1"); m[i:i+3] = b"v=1"
    time.sleep(0.3)
    one = c.answer("m", bench_root=str(d)); m[i:i+3] = b"v=3"
    two = c.answer("m", bench_root=str(d), rubric_digest=one["rubric_digest"])
    print(os.popen("stat -f -c %T " + str(d)).read().strip(), one["rubric_digest"][:12], "->", two.get("rubric_digest", str(two))[:12], two.get("score",{}).get("failure_modes"))
    shutil.rmtree(d)
finally: c.close()
