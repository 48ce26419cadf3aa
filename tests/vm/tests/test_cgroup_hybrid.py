# SPDX-License-Identifier: MIT
"""Tests daemon/cgroup/cgroup.h with the controllers in version 1 of control groups and version 2 mounted as
well (the machine boots with systemd.unified_cgroup_hierarchy=0)."""

import signal
from pathlib import Path

import pytest
from conftest import PROBE, is_clean, run_probe

V2 = Path("/sys/fs/cgroup/unified")

pytestmark = pytest.mark.skipif(
    not (V2 / "cgroup.procs").exists(), reason="the machine was not booted with version 1"
)


def test_a_delegated_unit_still_kills_and_counts():
    result = run_probe("--user-namespace", "--memory=8", "--kill-on-output", "--", PROBE, "strays", "3", "1")
    assert result["open"] == 0
    assert result["own_group"].splitlines()[-1].endswith(".service/daemon")
    assert len(result["own_group"].splitlines()) > 1, "version 1 is mounted as well"
    assert (result["memory"], result["pids"], result["cpu"]) == (0, 0, 0)
    assert result["fault"].startswith(f"no controller memory, pids, cpu for jobs: the control group {V2}/")
    assert result["fault"].endswith(
        '.service is given ""; version 1 of control groups holds the others, boot with '
        "systemd.unified_cgroup_hierarchy=1"
    )
    assert result["signal"] == signal.SIGKILL and result["cpu_us"] > 0
    assert is_clean(result)


def test_a_unit_without_delegation():
    result = run_probe("--", "/bin/true", delegate=False)
    assert result["open"] == -13
    assert f"the control group {V2}/system.slice/vm-test-" in result["fault"]


def test_no_group_is_left():
    assert list(V2.rglob("vm-test-*")) + list(V2.rglob("job-*")) == []
