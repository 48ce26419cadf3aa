# SPDX-License-Identifier: MIT
"""Where core dumps go to a pipe, the kernel starts a program of the host's for each, as root. No job that dies has
it started: neither one that ends by itself, nor one that sets the limit of core dumps."""

import subprocess
import time
from pathlib import Path

import pytest
from conftest import BUILD

PATTERN = Path("/proc/sys/kernel/core_pattern")
MARKS = Path("/run/cores")
HANDLER = Path("/usr/local/bin/on-core")
PATIENCE = 30
AS_TESTER = ["/usr/sbin/runuser", "-u", "tester", "--"]

DIE = "kill -SEGV $$"
NO_CORE = "ulimit -c 0; kill -SEGV $$"
BY_CALL = "import os, resource, signal\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nos.kill(os.getpid(), signal.SIGSEGV)"


@pytest.fixture(autouse=True)
def handler():
    MARKS.mkdir(exist_ok=True)
    HANDLER.write_text(f'#!/bin/sh\n: >"{MARKS}/$1"\n')
    HANDLER.chmod(0o755)
    before = PATTERN.read_text()
    PATTERN.write_text(f"|{HANDLER} %P")
    yield
    PATTERN.write_text(before)
    HANDLER.unlink()


def marks():
    return {path.name for path in MARKS.iterdir()}


def die_outside():
    """Has a process die outside of any job, and waits for its mark. Returns its pid."""
    command = [*AS_TESTER, "/bin/sh", "-c", f"echo $$; {NO_CORE}"]
    pid = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    until = time.monotonic() + PATIENCE
    while pid not in marks() and time.monotonic() < until:
        time.sleep(0.05)
    return pid


@pytest.mark.parametrize("command", [["/bin/sh", "-c", DIE], ["/bin/sh", "-c", NO_CORE], ["/usr/bin/python3", "-c", BY_CALL]])
def test_a_job_that_dies_starts_no_handler(command):
    before = marks()
    # It looks for the daemon in its own build.
    sandbox = [*AS_TESTER, BUILD / "client/rubricctl", "sandbox", "--embedded", "--", *command]
    job = subprocess.run(sandbox, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert "signal" in job.stderr, (job.returncode, job.stdout, job.stderr)
    # A limit of 0 does not keep the handler from starting, and this one starts later than the job's would have.
    outside = die_outside()
    assert marks() - before == {outside}
