#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compiles the sources as a release does, optimised and without assertions, and keeps nothing of it: what only
assertions use must not be a warning there, nor what the compiler sees only when it optimises, such as a text that may
be cut off.

    without_assertions.py BUILD [--jobs=N]

BUILD is a build directory: its compile commands say how to compile each file. Tests are left out. Prints the
compiler's warnings and the number of files; exits with 1 if there is a warning."""

import argparse
import concurrent.futures
import os
import shlex
import subprocess
import sys
from pathlib import Path

from tidy import compiled


def judge(entry):
    """Returns whether the file of ENTRY compiles without a warning, and what the compiler says."""
    words = shlex.split(entry["command"])
    for option in "-o", "-MF", "-MQ":
        at = words.index(option)
        del words[at : at + 2]
    # The last -O counts. Without debugging information, which takes time and warns of nothing.
    command = [*(word for word in words if word not in ("-MD", "-UNDEBUG")), "-DNDEBUG", "-Werror", "-O3", "-g0", "-o", os.devnull]
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    entries = list(compiled(options.build.resolve()).values())
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        judged = list(pool.map(judge, entries))
    print("".join(text for _, text in judged), end="")
    print(f"{len(entries)} files")
    return 0 if entries and all(fine for fine, _ in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
