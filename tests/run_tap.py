#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs a cmocka program and corrects its TAP. For a skipped test cmocka writes `not ok N # SKIP` instead of
`ok N # SKIP` and gives no reason, and it leaves other output between the lines. The reason here is what the
test prints before it skips.

    run_tap.py PROGRAM"""

import re
import subprocess
import sys

TAP = re.compile(r"(not )?ok \d|1\.\.\d|#")
SKIP = re.compile(r"^not (ok \d+) # SKIP (.*)$")


def main():
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    reason = ""
    for data in process.stdout:
        line = data.decode(errors="replace").rstrip("\n")
        skipped = SKIP.match(line)
        if skipped:
            line = f"{skipped[1]} {skipped[2]} # SKIP {reason}"
        reason = "" if re.match(r"(not )?ok \d", line) else line.lstrip("# ")
        print(line if TAP.match(line) else f"# {line}", flush=True)
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
