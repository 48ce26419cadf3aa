# SPDX-License-Identifier: MIT
"""A daemon as that of base.py, whose slots have uids of their own (layer own_uid)."""
from base import *
import tempfile, shutil
from pathlib import Path
from target import Helper, IDMAP, Group
from world import ACCOUNT, as_account
from harness import Daemon, wait_until
class Own(Classes):
    def __init__(self):
        self.account = account = ACCOUNT + 7
        self.directory = Path(tempfile.mkdtemp(prefix="rubricd-own-", dir="/dev/shm")); os.chown(self.directory, account, -1); self.directory.chmod(0o755)
        self.root = self.directory / "bench"; self.root.mkdir(); self.count = 0
        self.group = Group(self.directory.name, account)
        self.helper = Helper(IDMAP, self.directory, account, as_account(account)[:-1])
        self.daemon = Daemon(self.directory, "daemon.slots=1", "warm.use=yes", f"isolation.idmap_socket={self.helper.path}", prefix=[*self.group.prefix(), *as_account(account)])
        self.client = self.daemon.connect()
        print(self.client.hello["isolation"]["layers"][-3:])
    def close(self):
        self.client.close(); self.daemon.stop(); self.helper.close(); shutil.rmtree(self.directory); wait_until(self.group.closes, "x")
