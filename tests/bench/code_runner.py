#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs programs without a daemon, as runners of model-written code commonly do: code and tests in one
process, whose exit status is the verdict. Prints the seconds that they took and how many passed.

    code_runner.py plain|fork IN_FLIGHT [MODULE...] < PROGRAMS    (a JSON array of texts)

`plain` starts a Python for each program and takes its output. `fork` has imported the modules and forks for
each, which is the least that a process per program can cost: nobody reads its output, nothing confines it,
and the code can do what it likes to the runner."""

import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import time

PYTHON = "/usr/bin/python3"
TIMEOUT_SECONDS = 3


def run_plain(text):
    try:
        done = subprocess.run([PYTHON, "-c", text], capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=TIMEOUT_SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def plain(programs, in_flight):
    with concurrent.futures.ThreadPoolExecutor(in_flight) as pool:
        return sum(pool.map(run_plain, programs))


def be_child(text):
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_SECONDS)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    status = 1
    try:
        exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})
        status = 0
    finally:
        os._exit(status)


def fork(programs, in_flight):
    left, running, passed = iter(programs), 0, 0
    while True:
        text = next(left, None)
        while running == in_flight or text is None and running:
            passed += os.wait()[1] == 0
            running -= 1
        if text is None:
            return passed
        if os.fork() == 0:
            be_child(text)
        running += 1


def main():
    how, in_flight, *modules = sys.argv[1:]
    for module in modules:
        __import__(module)
    programs = json.load(sys.stdin)
    began = time.monotonic()
    passed = {"plain": plain, "fork": fork}[how](programs, int(in_flight))
    print(json.dumps({"seconds": time.monotonic() - began, "passed": passed}))


if __name__ == "__main__":
    main()
