# SPDX-License-Identifier: MIT
"""What the integration tests share: a daemon of their own, a client that speaks the protocol byte
by byte, and a way to wait for events with a deadline.

Every message that goes through Client.send() or Client.recv() is checked against its JSON Schema.
RUBRICD_BUILD names the build directory (meson sets it)."""

import json
import os
import pwd
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("RUBRICD_BUILD", ROOT / "build"))
RUBRICD = BUILD / "daemon" / "rubricd"
RUBRICCTL = BUILD / "client" / "rubricctl"
BENCH = ROOT / "tests" / "data" / "bench"
DEADLINE = 30.0

sys.path.insert(0, str(ROOT / "tests"))
import schema_check  # noqa: E402


def wait_until(condition, what, deadline=DEADLINE):
    """Polls until CONDITION() is true and returns its value; fails, naming WHAT, if it is not."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            pytest.fail(f"after {deadline} s still not: {what}")
        select.select([], [], [], 0.005)


# Whom a daemon that root starts becomes here: the host is not asked to have an account rubricd.
ACCOUNT = "nobody"


def open_up(directory):
    """Lets the account of root's daemons get at DIRECTORY, through what pytest has made private."""
    if os.geteuid() == 0:
        for path in [directory, *directory.parents]:
            if path.stat().st_mode & 0o5 != 0o5:
                path.chmod(path.stat().st_mode | 0o55)


def give_to_account(directory):
    """The same, and it may make and remove there what it likes."""
    if os.geteuid() == 0:
        os.chown(directory, pwd.getpwnam(ACCOUNT).pw_uid, -1)
    open_up(directory)


class Closed(Exception):
    """The daemon has closed the connection."""


class Client:
    """One connection. recv() returns messages in order; anything late fails the test."""

    def __init__(self, path=None, sock=None, hello=True):
        self.sock = sock or socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE)
        if path:
            self.sock.connect(str(path))
        self.buffer = b""
        self.hello = self.recv() if hello else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def send_bytes(self, data):
        self.sock.sendall(data)

    def send_frame(self, payload):
        self.send_bytes(struct.pack(">I", len(payload)) + payload)

    def send(self, message, check=True):
        if check:
            schema_check.validate(message, "client")
        self.send_frame(json.dumps(message).encode())

    def submit(self, id, job, check=True):
        self.send({"type": "submit", "id": id, "job": job}, check)

    def _fill(self, n):
        while len(self.buffer) < n:
            data = self.sock.recv(1 << 16)
            if not data:
                if self.buffer:
                    raise AssertionError(f"closed inside a frame: {self.buffer[:80]!r}")
                raise Closed
            self.buffer += data

    def recv_payload(self):
        self._fill(4)
        (length,) = struct.unpack(">I", self.buffer[:4])
        self._fill(4 + length)
        payload, self.buffer = self.buffer[4 : 4 + length], self.buffer[4 + length :]
        return payload

    def recv(self):
        message = json.loads(self.recv_payload())
        schema_check.validate(message, "daemon")
        return message

    def recv_answer(self, id=None):
        """The next result or error; `started` is passed over."""
        while True:
            message = self.recv()
            if message["type"] != "started":
                if id is not None:
                    assert message.get("id") == id, message
                return message

    def run(self, job, id="job", check=True):
        self.submit(id, job, check)
        return self.recv_answer(id)

    def status(self):
        self.send({"type": "status"})
        message = self.recv()
        assert message["type"] == "status", message
        return message

    def ping(self):
        self.send({"type": "ping"})
        assert self.recv() == {"type": "pong"}

    def expect_closed(self):
        """Fails unless the daemon closes without saying anything more."""
        with pytest.raises(Closed):
            message = self.recv()
            pytest.fail(f"expected the end, got {message}")


class Daemon:
    """A rubricd of the test's own, with a socket, a work directory and a log in DIRECTORY. PREFIX is
    a command that starts it as another user, say."""

    def __init__(self, directory, *settings, env=None, config=None, prefix=()):
        self.directory = Path(directory)
        give_to_account(self.directory)
        self.socket = self.directory / "s"
        self.work = self.directory / "work"
        self.log_path = self.directory / "log"
        arguments = [*prefix, RUBRICD, f"--config={config or '/dev/null'}"]
        for setting in (
            f"daemon.socket={self.socket}",
            f"daemon.work_dir={self.work}",
            "daemon.socket_group=",
            f"daemon.user={ACCOUNT}",
            "daemon.slots=2",
            *settings,
        ):
            arguments.append(f"--set={setting}")
        self.log_file = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=self.log_file, stderr=self.log_file, env=env
        )
        wait_until(lambda: self.is_up(), f"the daemon listens; log: {self.log()}")

    def is_up(self):
        assert self.process.poll() is None, f"rubricd ended: {self.log()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            return probe.connect_ex(str(self.socket)) == 0

    def log(self):
        return self.log_path.read_text(errors="replace")

    def connect(self, **kwargs):
        return Client(self.socket, **kwargs)

    def descendants(self):
        """Pids of every process below the daemon, jails included."""
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    text = (entry / "stat").read_text(errors="replace")
                except OSError:
                    continue
                fields = text[text.rindex(")") + 2 :].split()
                if fields[0] != "Z":
                    parents[int(entry.name)] = int(fields[1])
        found, frontier = set(), {self.process.pid}
        while frontier:
            frontier = {pid for pid, parent in parents.items() if parent in frontier} - found
            found |= frontier
        return found

    def jails(self):
        with self.connect() as client:
            return {slot["jail_pid"] for slot in client.status()["slots"]}

    def stop(self):
        """Drains by SIGTERM; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            pytest.fail(f"rubricd did not stop; log: {self.log()}")
        finally:
            self.log_file.close()
        assert "Sanitizer" not in self.log() and "runtime error" not in self.log(), self.log()
        return status


@pytest.fixture
def start_daemon(tmp_path):
    """Starts daemons that are stopped, and must stop cleanly, at the end of the test."""
    running = []

    def start(*settings, **kwargs):
        directory = tmp_path / f"daemon-{len(running)}"
        directory.mkdir()
        running.append(Daemon(directory, *settings, **kwargs))
        return running[-1]

    yield start
    for daemon in running:
        if daemon.process.returncode is None:
            assert daemon.stop() == 0, daemon.log()
            assert not any(daemon.work.iterdir()), "the work directory is empty at the end"


@pytest.fixture
def daemon(start_daemon):
    return start_daemon()


@pytest.fixture
def client(daemon):
    with daemon.connect() as connected:
        yield connected


class Bench:
    """A bench root in which tests write rubrics."""

    def __init__(self, root):
        self.root = root
        self.count = 0
        self.root.mkdir(parents=True, exist_ok=True)
        open_up(self.root)

    def rubric(self, code, name=None, task_class=None):
        """Writes <root>/<name>/rubric.py and returns the name. TASK_CLASS: its task_class.json."""
        self.count += 1
        name = name or f"class-{self.count}"
        directory = self.root / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "rubric.py").write_text(code)
        if task_class is not None:
            (directory / "task_class.json").write_text(json.dumps(task_class))
        return name

    def job(self, code=None, *, name=None, task_class=None, case=None, output=None, **fields):
        """A job that runs CODE as its rubric."""
        if code is not None:
            name = self.rubric(code, name, task_class)
        return {
            "kind": "rubric",
            "task_class": name,
            "case": case if case is not None else {},
            "harness_output": output if output is not None else {},
            "bench_root": str(self.root),
            **fields,
        }


PASSING = 'print(\'{"passed": true, "score": 1}\')\n'


@pytest.fixture
def bench(tmp_path):
    root = tmp_path / "bench"
    root.mkdir()
    return Bench(root)
