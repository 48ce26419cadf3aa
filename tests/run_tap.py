#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs a cmocka program and writes its TAP as others read it: cmocka calls a skipped test `not ok N #
SKIP`, which is `ok N # SKIP`, and lets other output stand between the lines.

    run_tap.py PROGRAM"""

import re
import subprocess
import sys

TAP = re.compile(r"(not )?ok \d|1\.\.\d|#")
SKIP = re.compile(r"^not (ok \d+) # SKIP (.*)$")


def main():
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for data in process.stdout:
        line = data.decode(errors="replace").rstrip("\n")
        line = SKIP.sub(r"\1 \2 # SKIP see the line above", line)
        print(line if TAP.match(line) else f"# {line}", flush=True)
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
