# SPDX-License-Identifier: MIT
"""What /proc tells of a process. Each function raises OSError if there is no such process, unless it says
otherwise."""

import os
from pathlib import Path


def _fields(pid):
    """Returns the fields of /proc/PID/stat from the third on, the state: the second, the name, may hold spaces."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def state_of(pid):
    return _fields(pid)[0]


def parent_of(pid):
    return int(_fields(pid)[1])


def cpu_seconds(pid):
    """Returns the CPU time that PID has used."""
    fields = _fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def name_of(pid):
    """Returns None if there is no such process."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None


def is_alive(pid):
    """Returns whether PID exists and is not a zombie."""
    try:
        return state_of(pid) != "Z"
    except OSError:
        return False
