# SPDX-License-Identifier: MIT
"""Shared by the tests in the virtual machine: systemd units that run a program and disappear when it has
ended. The tests run as root, and only there."""

import itertools
import json
import os
import pwd
import subprocess
from pathlib import Path

import pytest

BUILD = Path("/srv/build")
PROBE = BUILD / "tests/cgroup-probe"
CGROUPS = Path("/sys/fs/cgroup")
UNIT_TIMEOUT = 120  # the machine is emulated

# Sets $G to the path of the unit's own group, in shell scripts that run in a unit.
OWN_GROUP = "G=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)"

numbers = itertools.count(1)


def pytest_configure(config):
    if not (Path("/run/systemd/system").is_dir() and Path("/payload.tar").exists()):
        pytest.exit("these tests run in the machine that tests/vm/run boots", 64)


class Unit:
    """A transient service that runs one command line to its end."""

    def __init__(self, command, *properties, user="tester", delegate=True):
        self.name = f"vm-test-{next(numbers)}.service"
        arguments = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", f"--unit={self.name}"]
        if user:
            arguments.append(f"--property=User={user}")
        if delegate:
            arguments.append("--property=Delegate=yes")
        arguments += [f"--property={line}" for line in properties]
        self.process = subprocess.Popen(
            # $$ keeps systemd from expanding variables
            [*arguments, "--", *(str(word).replace("$", "$$") for word in command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def lines(self):
        """Waits for the unit's end; returns the lines of output, parsed as JSON. Fails unless it succeeds."""
        try:
            out, err = self.process.communicate(timeout=UNIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            subprocess.run(["systemctl", "kill", "--signal=KILL", self.name], check=True)
            pytest.fail(f"after {UNIT_TIMEOUT} s it still runs: {self.process.communicate()}")
        assert self.process.returncode == 0, (self.process.returncode, out, err)
        return [json.loads(line) for line in out.splitlines()]


def run_probe(*arguments, properties=(), **kwargs):
    """Returns the one line that the probe prints in a unit of its own."""
    (line,) = Unit([PROBE, "run", *arguments], *properties, **kwargs).lines()
    return line


def run_script(script, *properties, **kwargs):
    """Returns the lines that a shell script prints in a unit of its own; $P is the probe."""
    text = f"set -eu; P={PROBE}; {OWN_GROUP}; {script}"
    return Unit(["/bin/sh", "-c", text], *properties, **kwargs).lines()


def is_clean(result):
    """Returns whether the probe has left the group as it found it."""
    return (
        result["removed"] == 0
        and result["groups_after"] == []
        and result["subtree_control_after"].strip() == ""
        and result["own_group_after"] == result["own_group"].replace("/daemon\n", "\n")
    )


@pytest.fixture(name="place")
def make_place(tmp_path):
    """A folder that an ordinary user can write to and the daemon's account can read."""
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_mode & 0o5 != 0o5:
            path.chmod(path.stat().st_mode | 0o55)
    os.chown(tmp_path, pwd.getpwnam("tester").pw_uid, -1)
    return tmp_path
