# SPDX-License-Identifier: MIT
"""The targets of attacks outside of the jail: files to read, places to write to, listening sockets. After
an attack the world reports the changes."""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

SECRET = "the host's secret\n"
PUBLIC_DIRECTORIES = [Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]

# The account of jobs when root runs the tests. Nothing else uses it, so attacks on all processes of an
# account hit only the processes meant for them.
ACCOUNT = 64017 if os.geteuid() == 0 else os.geteuid()
# This account, and those of the daemons under attack.
ACCOUNTS = range(ACCOUNT, ACCOUNT + 1000) if os.geteuid() == 0 else [ACCOUNT]


def as_account(account=ACCOUNT):
    """Returns the prefix of a command that makes it run as ACCOUNT."""
    if os.geteuid() != 0:
        return []
    switch = [f"--reuid={account}", f"--regid={account}", "--clear-groups", "--pdeathsig=KILL"]
    return ["setpriv", *switch, "--"]


def works_here(program, arguments):
    """Returns whether an attack that needs no facts works on this host without confinement."""
    with tempfile.TemporaryDirectory(prefix="rubricd-hostile-", dir="/tmp") as directory:
        os.chown(directory, ACCOUNT, -1)
        command = [*as_account(), program, *arguments]
        done = subprocess.run(command, cwd=directory, capture_output=True, check=False, timeout=60)
        return b"SUCCEEDED: " in done.stdout


def processes_with(token):
    """Returns the pids of live processes whose command line contains TOKEN."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if token.encode() in (entry / "cmdline").read_bytes():
                    found.add(int(entry.name))
            except OSError:
                pass
    return found


def system_v_objects():
    """Returns the System V objects as (kind, number). Counts only the accounts of these tests, because
    others run at the same time."""
    found = set()
    for kind in ("shm", "sem", "msg"):
        names, *lines = map(str.split, Path(f"/proc/sysvipc/{kind}").read_text().splitlines())
        for line in lines:
            its = dict(zip(names, map(int, line)))
            if {its["uid"], its["cuid"]} & set(ACCOUNTS):
                found.add((kind, its[kind + "id" if kind != "msg" else "msqid"]))
    return found


class World:
    """The surroundings of one attack. close() removes everything that it made."""

    count = 0

    def __init__(self):
        World.count += 1
        self.token = f"rubricd-hostile-{os.getpid()}-{World.count}"
        self.key = os.getpid() * 1000 + World.count
        self.directory = Path(tempfile.mkdtemp(prefix=self.token + "-", dir="/tmp"))
        self.directory.chmod(0o755)
        self._make_files()
        self._make_sockets()
        self.system_v = system_v_objects()

    # --- making --------------------------------------------------------------------------------

    def _file(self, name, text, mode):
        path = self.directory / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def _make_files(self):
        self.secret = self._file("secret", SECRET, 0o644)
        self.writable = self._file("writable", "as it was\n", 0o666)
        self.outside = self.directory / "outside"
        (self.outside / "inner").mkdir(parents=True)
        (self.outside / "witness").write_text("as it was\n")
        (self.outside / "inner" / "file").write_text("as it was\n")
        for path in self.outside, self.outside / "inner":
            path.chmod(0o777)
        for path in self.outside / "witness", self.outside / "inner" / "file":
            path.chmod(0o666)
        for directory in PUBLIC_DIRECTORIES:
            (directory / self.token).touch()
        self.before = self._contents()

    def _listen(self, family, address, kind=socket.SOCK_STREAM):
        listener = socket.socket(family, kind)
        listener.bind(address)
        if kind == socket.SOCK_STREAM:
            listener.listen(8)
        listener.setblocking(False)
        return listener

    def _make_sockets(self):
        unix = socket.AF_UNIX
        self.unix, self.notify = self.directory / "unix", self.directory / "notify"
        self.abstract, self.notify_abstract = self.token + "-a", self.token + "-n"
        self.listeners = {
            "tcp4": self._listen(socket.AF_INET, ("127.0.0.1", 0)),
            "unix": self._listen(unix, str(self.unix)),
            "abstract": self._listen(unix, "\0" + self.abstract),
        }
        if socket.has_dualstack_ipv6():
            self.listeners["tcp6"] = self._listen(socket.AF_INET6, ("::1", 0))
        self.receivers = {
            "notify": self._listen(unix, str(self.notify), socket.SOCK_DGRAM),
            "notify_abstract": self._listen(unix, "\0" + self.notify_abstract, socket.SOCK_DGRAM),
        }
        self.unix.chmod(0o777)
        self.notify.chmod(0o777)

    # --- facts ---------------------------------------------------------------------------------

    def facts(self, **more):
        """Returns the values that replace the {names} in the arguments of attacks."""
        ports = {
            name: self.listeners[name].getsockname()[1] if name in self.listeners else 1
            for name in ("tcp4", "tcp6")
        }
        return {
            "token": self.token,
            "key": self.key,
            "secret": self.secret,
            "writable": self.writable,
            "outside": self.outside,
            "unix": self.unix,
            "abstract": self.abstract,
            "notify": self.notify,
            "notify_abstract": self.notify_abstract,
            "neighbour_secret": self.token + "-secret",
            **ports,
            **more,
        }

    # --- judging -------------------------------------------------------------------------------

    def _contents(self):
        paths = [self.secret, self.writable, *self.outside.rglob("*")]
        return {path: path.read_text() if path.is_file() else None for path in paths}

    def _sockets_touched(self):
        for name, listener in self.listeners.items():
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                continue
            yield f"somebody connected to {name}"
        for name, receiver in self.receivers.items():
            try:
                yield f"somebody sent to {name}: {receiver.recv(4096)!r}"
            except BlockingIOError:
                pass

    def touched(self):
        """Returns a list of the changes on the host, in words."""
        found = list(self._sockets_touched())
        if self._contents() != self.before:
            found.append(f"the host's files are now {self._contents()}")
        for directory in PUBLIC_DIRECTORIES:
            if (directory / f"{self.token}-written").exists():
                found.append(f"a file was written to {directory}")
        if system_v_objects() - self.system_v:
            found.append(f"System V objects are left: {system_v_objects() - self.system_v}")
        return found

    # --- the end -------------------------------------------------------------------------------

    def close(self):
        for endpoint in (*self.listeners.values(), *self.receivers.values()):
            endpoint.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        for directory in PUBLIC_DIRECTORIES:
            for path in directory.glob(self.token + "*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class FewWatches:
    """Lets the kernel grant each uid few epoll watches, as a host with little memory does."""

    path = Path("/proc/sys/fs/epoll/max_user_watches")

    def __enter__(self):
        self.before = self.path.read_text()
        self.path.write_text("10000")

    def __exit__(self, *_):
        self.path.write_text(self.before)


class Usage:
    """Reads a program of the host again and again, as other jobs would."""

    def __enter__(self):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._use)
        self.thread.start()

    def _use(self):
        while not self.stop.wait(0.02):
            with Path("/usr/bin/env").open("rb") as file:
                file.read(1)

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def fill_in(arguments, facts):
    return [argument.format_map(facts) for argument in arguments]
