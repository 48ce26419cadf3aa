# SPDX-License-Identifier: MIT
"""A class that cannot be loaded has the jail kill the templates of all classes, as often as it gets three new tries (its files change)."""
from base import *
c = begin()
try:
    honest = c.make("import helper\nreport(stamp=helper.STAMP)\n")
    h = [c.run(honest)[0]["stamp"] for _ in range(3)]
    n = c.make("report(ok=1)\n", "import os\nos.dup(0)\n")
    for k in range(6):
        a = c.answer(n); h.append(c.run(honest)[0]["stamp"])
        if k > 2: (c.root / n / "helper.py").write_text("import os\nos.dup(0)\n# %d\n" % k)
    print([x - h[0] for x in h], "distinct templates of the honest class:", len(set(h)))
finally: c.close()
