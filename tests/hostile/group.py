# SPDX-License-Identifier: MIT
"""Control groups for the daemons under attack, as a unit with Delegate=yes provides them."""

import contextlib
import os
from pathlib import Path

CONTROLLERS = ("memory", "pids", "cpu")


def root():
    """Returns where control groups of version 2 can be made, or None."""
    for place in Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"):
        if os.geteuid() == 0 and (place / "cgroup.subtree_control").exists():
            return place
    return None


class Group:
    """A control group of ACCOUNT with the available controllers; empty if none can be made."""

    def __init__(self, name, account):
        place = root()
        self.path = place / name if place else None
        if not place:
            return
        for controller in CONTROLLERS:
            with contextlib.suppress(OSError):
                (place / "cgroup.subtree_control").write_text(f"+{controller}")
        self.path.mkdir()
        for file in ".", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads":
            os.chown(self.path / file, account, -1)

    def controllers(self):
        return (self.path / "cgroup.controllers").read_text().split() if self.path else []

    def prefix(self):
        """Returns the prefix of a command that makes it run in the group."""
        if not self.path:
            return []
        return ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self.path / "cgroup.procs")]

    def of_jobs(self):
        """Returns the names of the existing groups of jobs."""
        found = self.path.glob("jobs/*/") if self.path else []
        return sorted(path.name for path in found if path.is_dir())

    def closes(self):
        """Closes it. Returns False as long as processes are in it."""
        try:
            self.close()
        except OSError:
            return False
        return True

    def close(self):
        if self.path:
            for path in sorted(self.path.rglob("*/"), reverse=True):
                with contextlib.suppress(OSError):
                    path.rmdir()
            self.path.rmdir()
