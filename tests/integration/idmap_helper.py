# SPDX-License-Identifier: MIT
"""A rubricd-idmap as its unit starts it, with a file of its own in the place of /etc/subuid."""

import os
import socket
import subprocess

FIRST = 1_000_000
COUNT = 65536

# Executes a program that gets a descriptor as number 3.
PASS_ON = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.execv(sys.argv[2], sys.argv[2:])"


class Helper:
    """Serves the account UID, which the command SWITCH becomes, below DIRECTORY, which it may enter. Only
    root can start one."""

    def __init__(self, program, directory, uid, switch, subuid=None, capability="setuid"):
        self.path = directory / "idmap"
        subuids = directory / "subuid"
        subuids.write_text(f"{uid}:{FIRST}:{COUNT}\n" if subuid is None else subuid)
        subuids.chmod(0o644)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(self.path))
        self.path.chmod(0o600)
        os.chown(self.path, uid, -1)
        self.listener.listen(64)
        sets = [f"--{name}=-all,+{capability}" for name in ("inh-caps", "ambient-caps", "bounding-set")]
        if not capability:
            sets = ["--bounding-set=-all"]
        number = self.listener.fileno()
        command = [*switch, *sets, "--no-new-privs", "/usr/bin/python3", "-c", PASS_ON]
        self.process = subprocess.Popen([*command, str(number), program, subuids], pass_fds=[number])

    def close(self):
        self.listener.close()
        self.process.kill()
        self.process.wait()
