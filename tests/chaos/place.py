# SPDX-License-Identifier: MIT
"""The daemon under fire: where it lives, how it is started again, and what is left when no job runs."""

import contextlib
import ctypes
import functools
import mmap
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import catalog
import conftest
import harness  # of tests/hostile, as the next
import layers
import manifest
import world
from conftest import wait_until
from group import Group
from idmap_helper import COUNT, FIRST, Helper

CLOCK = Path(__file__).resolve().parent / "clock.c"
IS_ROOT = os.geteuid() == 0
# Seconds in which everything is as before once a fault is over. A jail that hangs has 10 s to answer, and
# slots whose jails could not be started try again every 5 s.
RECOVERY = 90
# Seconds after which what a jail does behind an answer is done.
SETTLING = 10
# Of these there is nothing without a job, not even in the first census.
NOTHING = {"processes": {}, "files": [], "groups": []}
CONFIG = "[daemon]\nslots = {slots}\n[rubric]\nmax_open_files = {files}\n"
SLOTS, FILES = 2, 256
SETTINGS = (
    "daemon.socket_mode=0666",
    "daemon.grace_period=3s",
    "protocol.reply_high_water=256K",
    "protocol.reply_timeout=2s",
    "protocol.frame_timeout=5s",
)
# The shapes of daemons, each with the settings that make it.
SHAPES = {
    "all layers": [],
    "own uid": [],
    "no namespaces": ["isolation.without=user_namespace"],
    "cold": ["warm.use=no"],
}


@functools.cache
def is_sanitized():
    """Returns whether the build has AddressSanitizer."""
    return b"__asan_init" in conftest.RUBRICD.read_bytes()


def possible(shapes):
    """Returns those of SHAPES, by weight, that this host can have."""
    refused = conftest.user_namespaces_are_refused()
    left = dict(shapes)
    if refused or not IS_ROOT:
        left.pop("own uid", None)
    if refused:
        left.pop("all layers", None)
    if conftest.landlock_version() == 0:
        left.pop("no namespaces", None)
    return left


def own_account():
    """Returns a uid that nothing else has; our own where we cannot choose."""
    return world.ACCOUNT + 200 + os.getpid() % 600 if IS_ROOT else os.geteuid()


def processes_of(uids, directory):
    """Returns {pid: command} of all live processes of one of UIDS, or, where we are not root, of those
    whose command line names DIRECTORY."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            status = (entry / "status").read_text(errors="replace")
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            fields = dict(l.split(":\t", 1) for l in status.splitlines() if ":\t" in l)
            if fields["State"][0] == "Z":
                continue
            owners = set(map(int, fields["Uid"].split()))
            if owners & set(uids) if IS_ROOT else str(directory) in line and "rubricd" in fields["Name"]:
                found[int(entry.name)] = f"{fields['Name']} {fields['PPid']} {line[:120]}"
    return found


class Clock:
    """The calendar clock of a daemon, which can be set without the host's."""

    def __init__(self, directory):
        self.library, self.path = directory / "clock.so", directory / "clock"
        command = ["cc", "-O1", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", self.library, CLOCK]
        subprocess.run(command, check=True)
        self.path.write_bytes(bytes(8))
        self.path.chmod(0o644)
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        self.offset = ctypes.c_int64.from_buffer(self.map)

    def environment(self):
        return {**os.environ, "LD_PRELOAD": str(self.library), "CHAOS_CLOCK": str(self.path)}


class Place:
    """A directory with a daemon of a SHAPE in it. `endings` says of each daemon that has ended, by its pid,
    who has ended it and how."""

    def __init__(self, shape="all layers", slots=SLOTS, settings=()):
        self.shape, self.slots, self.settings = shape, slots, settings
        self.account = own_account()
        self.directory = Path(tempfile.mkdtemp(prefix="rubricd-chaos-", dir="/tmp"))
        os.chown(self.directory, self.account, -1)
        self.directory.chmod(0o755)
        self.short = set()  # the pids of daemons that have been short of memory
        self.endings, self.daemon, self.control, self.baseline = {}, None, None, None
        self.bench = self.directory / "bench"
        catalog.write_bench(self.bench)
        self.config = self.directory / "rubricd.conf"
        self.group = Group(self.directory.name, self.account)
        self.clock = Clock(self.directory) if self._may_preload() else None
        self.disk = self._small_disk()
        self.world = world.World()
        self.uids = [self.account]
        self.helper = None
        if shape == "own uid":
            self.uids = [self.account, *range(FIRST, FIRST + COUNT)]
            self.start_helper()
        self.start()

    @staticmethod
    def _may_preload():
        return shutil.which("cc") and not is_sanitized()  # which wants to be the first library

    def _small_disk(self):
        """Mounts a small tmpfs for the work directory; None where that is not allowed."""
        disk = self.directory / "disk"
        disk.mkdir()
        options = f"size=32m,nr_inodes=20000,mode=755,uid={self.account}"
        command = ["mount", "-t", "tmpfs", "-o", options, "rubricd-test", disk]
        done = subprocess.run(command, capture_output=True, check=False) if IS_ROOT else None
        os.chown(disk, self.account, -1)
        return disk if done and done.returncode == 0 else None

    # --- starting and ending -------------------------------------------------------------------

    def start_helper(self):
        with contextlib.suppress(FileNotFoundError):
            (self.directory / "idmap").unlink()
        program = conftest.BUILD / "daemon" / "rubricd-idmap"
        switch = world.as_account(self.account)[:-1]
        self.helper = Helper(program, self.directory, self.account, switch)

    def configure(self, slots=None, files=FILES):
        self.config.write_text(CONFIG.format(slots=slots or self.slots, files=files))
        self.config.chmod(0o644)

    def start(self):
        self.configure()
        work = self.directory / "disk" / "work"
        settings = [*SETTINGS, f"daemon.work_dir={work}", *SHAPES[self.shape], *self.settings]
        settings += [f"metrics.listen=unix:{self.directory / 'metrics'}"]
        settings += [f"isolation.idmap_socket={self.directory / 'idmap' if self.helper else ''}"]
        self.daemon = conftest.Daemon(
            self.directory,
            *settings,
            config=self.config,
            slots=None,
            prefix=[*self.group.prefix(), *world.as_account(self.account)],
            env=self.clock.environment() if self.clock else None,
        )
        self.daemon.work = work
        self.control = self.daemon.connect()
        self.hello = self.control.hello

    @property
    def pid(self):
        return self.daemon.process.pid

    def end(self, how, number):
        """Ends the daemon by a signal and notes HOW. Returns its exit status."""
        self.endings[self.pid] = how
        self.daemon.process.send_signal(number)
        return self.await_end()

    def await_end(self):
        status = self.daemon.process.wait(RECOVERY)
        self.control.close()
        self.daemon.log_file.close()
        return status

    def has_crashed(self):
        return self.daemon.process.poll() is not None and self.pid not in self.endings

    def why_closed(self, pid, bye):
        """Returns why the daemon PID may have closed a connection, or None. BYE: the reason that it gave."""
        if bye is not None:
            return bye if bye != "draining" or pid in self.endings else None
        return "killed" if self.endings.get(pid) == "killed" else None

    def close(self):
        """Ends the daemon; returns what was wrong with its end, as text, or ''."""
        trouble = []
        if self.daemon.process.poll() is None:
            status = self.end("stopped", signal.SIGTERM)
            if status != 0:
                trouble.append(f"the daemon ended with {status}")
            if left := conftest.contents(self.daemon.work):
                trouble.append(f"the work directory has {left}")
        if self.helper:
            self.helper.close()
        self.world.close()
        if left := self._await_none():
            trouble.append(f"processes are left: {left}")
        if self.disk:
            subprocess.run(["umount", "-l", self.disk], check=False)
        wait_until(self.group.closes, "the control group is empty", RECOVERY)
        self.log_text = self.daemon.log()
        if not trouble:
            shutil.rmtree(self.directory, ignore_errors=True)
        return "; ".join(trouble)

    def _await_none(self):
        """Returns the processes that are left although they had time to end."""
        end = time.monotonic() + 10
        while (left := processes_of(self.uids, self.directory)) and time.monotonic() < end:
            time.sleep(0.05)
        return left

    # --- attacks -------------------------------------------------------------------------------

    def facts(self):
        return self.world.facts(
            daemon=self.pid,
            neighbour=0,
            work=self.daemon.work,
            socket=self.daemon.socket,
            metrics=self.directory / "metrics",
            socket_directory=self.directory,
        )

    def can_hold(self, job):
        """Returns whether an attack was built and the daemon has the layers that hold it; true for other jobs."""
        if job.expected != catalog.HELD:
            return True
        name = job.request["attack"]
        if not (harness.ATTACKS / manifest.load()[name].program).exists():
            return False
        record = layers.records().get(name)
        return layers.is_held(record, set(self.hello["isolation"]["layers"]))

    # --- looking -------------------------------------------------------------------------------

    def status(self):
        return self.control.status()

    def jails(self):
        return [s["jail_pid"] for s in self.status()["slots"] if s["jail_pid"]]

    def children(self):
        """Returns {pid: name} of the daemon's children: jails and zygotes."""
        found = {}
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            for pid in (task / "children").read_text().split():
                with contextlib.suppress(OSError):
                    found[int(pid)] = Path(f"/proc/{pid}/comm").read_text().strip()
        return found

    def zygotes(self):
        return [pid for pid, name in self.children().items() if name == "rubricd-zygote"]

    def is_calm(self):
        """Returns the status if no job is left and every slot is idle as configured; else None."""
        status = self.status()
        idle = [s for s in status["slots"] if s["state"] == "idle" and not s["retiring"]]
        if len(idle) != self.slots or len(status["slots"]) != self.slots:
            return None
        return status if status["queue"]["jobs"] == 0 and status["clients_total"] == 1 else None

    # --- counting ------------------------------------------------------------------------------

    def census(self):
        """Returns what there is while no job runs, as {what: count or names}."""
        slots = self.status()["slots"]
        jails = sorted(s["jail_pid"] for s in slots if s["jail_pid"])
        named = [f"slot-{s['slot']}" for s in slots]
        mine = processes_of(self.uids, self.directory)
        known = set(jails) | set(self.zygotes()) | {self.pid}
        if self.helper:
            known.add(self.helper.process.pid)
        strangers = {p: c for p, c in mine.items() if p not in known and not self._is_twin(p, jails)}
        work = self.daemon.work
        return {
            "descriptors": seen(lambda: os.listdir(f"/proc/{self.pid}/fd")),
            "jail descriptors": [seen(lambda p=p: os.listdir(f"/proc/{p}/fd")) for p in jails],
            "mounts": Path("/proc/self/mounts").read_text().count(str(self.directory)),
            "jail mounts": [seen(lambda p=p: mounts_of(p)) for p in jails],
            "zygotes": len(self.zygotes()),
            "processes": strangers,
            "files": sorted(map(str, self.leftovers())),
            "slots' directories": sorted(p.name for p in work.iterdir()) == sorted(named)
            or f"{sorted(p.name for p in work.iterdir())} of {named}",
            "groups": self.group.of_jobs(),
        }  # fmt: skip

    def set_baseline(self):
        """Takes what there is now for what there has to be whenever no job runs."""
        self.baseline = {**self.quiet_census(), **NOTHING}

    def quiet_census(self):
        """Returns a census once the jails have cleaned up behind the last answers, or had the time to."""
        end = time.monotonic() + SETTLING
        while not NOTHING.items() <= (found := self.census()).items() and time.monotonic() < end:
            time.sleep(0.05)
        return found

    def unlike_baseline(self):
        """Returns {what: (before, now)} of that of which there is more than in the baseline."""
        now = self.census()
        return {what: (was, now[what]) for what, was in self.baseline.items() if is_more(now[what], was)}

    def leftovers(self):
        if not IS_ROOT:
            return [p for slot in conftest.contents(self.daemon.work) for p in conftest.contents(slot)]
        return self.daemon.leftovers()

    @staticmethod
    def _is_twin(pid, jails):
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text()
            parent = int(status.split("PPid:")[1].split()[0])
            return parent in jails and status.splitlines()[0].endswith("rubricd-twin")
        return False

    def inodes(self):
        """Returns how many inodes the work directory takes: of its file system, where that is its own."""
        if not self.disk:
            return sum(1 for _ in self.daemon.work.rglob("*"))
        found = os.statvfs(self.disk)
        return found.f_files - found.f_ffree

    def settled_inodes(self):
        """Returns inodes() once it has been the same for a second, or had the time to: jails that have just started
        still remove what they tried."""
        end = time.monotonic() + SETTLING
        found, since = self.inodes(), time.monotonic()
        while time.monotonic() < min(since + 1, end):
            time.sleep(0.05)
            if (now := self.inodes()) != found:
                found, since = now, time.monotonic()
        return found


def is_more(now, was):
    """Returns whether NOW counts more than WAS. Where there are no counts, any difference is more."""
    if isinstance(was, int) and not isinstance(was, bool):
        return now > was
    if isinstance(was, list) and was and len(now) == len(was):
        return any(n is not None and n > w for n, w in zip(now, was))
    return now != was


def mounts_of(pid):
    """Returns the mounts of a process that has a namespace of its own for them. A jail keeps the bench of its last
    job until one of another kind comes: which of the slots had that one last says nothing."""
    spaces = [os.readlink(f"/proc/{p}/ns/mnt") for p in (pid, "self")]
    if spaces[0] == spaces[1]:
        return []
    lines = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
    return [line for line in lines if line.split()[4] != "/bench"]


def seen(look):
    """Returns the number of items that LOOK() finds; None if only root may look."""
    try:
        return len(look())
    except PermissionError:
        return None
