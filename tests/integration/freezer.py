# SPDX-License-Identifier: MIT
"""Holds processes of jobs so that not even SIGKILL ends them."""

import os
from pathlib import Path

import pytest
from conftest import wait_until
from processes import name_of


def named(comm):
    """Returns the processes of that name, of all namespaces."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and name_of(entry) == comm]


class Freezer:
    """A control group whose processes can be held."""

    def __init__(self, group):
        self.group = group

    def hold(self, comm):
        """Holds a process of that name as soon as there is one; returns its pid."""
        pid = wait_until(lambda: named(comm), what="a process of the job")[0]
        (self.group / "cgroup.procs").write_text(str(pid))
        state = self.group / "freezer.state"
        state.write_text("FROZEN")
        wait_until(lambda: state.read_text() == "FROZEN\n", what="its standstill")
        return pid

    def let_go(self):
        (self.group / "freezer.state").write_text("THAWED")


@pytest.fixture(name="freezer")
def make_freezer():
    place = Path("/sys/fs/cgroup/freezer")
    if not os.access(place / "cgroup.procs", os.W_OK):
        pytest.skip("no freezer among the control groups (v1), or no right to use it")
    group = place / f"rubricd-test-{os.getpid()}"
    group.mkdir()
    freezer = Freezer(group)
    yield freezer
    freezer.let_go()
    wait_until(lambda: not (group / "cgroup.procs").read_text(), what="the end of the frozen process")
    group.rmdir()
