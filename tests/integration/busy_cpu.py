# SPDX-License-Identifier: MIT
"""CPUs that are bound and kept busy, for tests of what becomes of jobs that wait for one."""

import os
import subprocess
import sys
from contextlib import contextmanager

# Ends with the tests, even if these are killed.
LOOP = """
import ctypes, os, signal
ctypes.CDLL(None).prctl({death_signal}, signal.SIGKILL)
os.sched_setaffinity(0, {{{cpu}}})
while os.getppid() == {parent}: pass
"""
PR_SET_PDEATHSIG = 1


@contextmanager
def loops(cpu, count):
    """Runs COUNT busy loops on CPU, each in a session of its own: that is a scheduling group."""
    text = LOOP.format(death_signal=PR_SET_PDEATHSIG, cpu=cpu, parent=os.getpid())
    running = []
    try:
        for _ in range(count):
            running.append(subprocess.Popen([sys.executable, "-S", "-c", text], start_new_session=True))
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@contextmanager
def bound_to_cpus(count):
    """Binds this process, and what it starts, to COUNT of its CPUs, and yields them."""
    allowed = os.sched_getaffinity(0)
    cpus = sorted(allowed)[-count:]
    os.sched_setaffinity(0, cpus)
    try:
        yield cpus
    finally:
        os.sched_setaffinity(0, allowed)


@contextmanager
def bound_to_one_cpu():
    with bound_to_cpus(1) as (cpu,):
        yield cpu
