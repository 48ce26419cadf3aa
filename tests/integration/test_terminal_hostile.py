# SPDX-License-Identifier: MIT
"""Attacks through a job's terminal: on the daemon, on the next job of the slot, on other jobs, and on the
host. Each runs in the shapes of jails that a host may leave."""

import base64
import os

import pytest
from conftest import ALL_LAYERS, NO_USER_NAMESPACES, wait_until

PYTHON = "/usr/bin/python3"
BOTH = pytest.mark.parametrize("shape", [ALL_LAYERS, NO_USER_NAMESPACES], indirect=True)

# Numbers of requests are those of all architectures but a few (asm-generic/ioctls.h).
REFUSED = {
    "TIOCSTI": 0x5412,  # writes into its own input, which a later reader takes for typed
    "TIOCLINUX": 0x541C,  # selects and pastes on a console
    "TIOCSETD": 0x5423,  # another line discipline, for which a module would be loaded
    "TIOCCONS": 0x541D,  # takes the kernel's messages
    "TIOCVHANGUP": 0x5437,
}
# What belongs to the daemon's side of a terminal.
OF_THE_OTHER_SIDE = {
    "TIOCPKT": 0x5420,  # output with a byte before it that says what the job did
    "TIOCGPTN": 0x80045430,
    "TIOCSPTLCK": 0x40045431,
    "TIOCGPTPEER": 0x5441,
    "TIOCSIG": 0x40045436,
}

ATTEMPT = """
import errno, fcntl, os, struct, sys
def attempt(name, *arguments):
    try:
        fcntl.ioctl(0, *arguments)
        print(name, "succeeded")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
"""


def on_terminal(*argv, **fields):
    return {"kind": "sandbox", "argv": list(argv), "terminal": {"rows": 24, "columns": 80}, **fields}


def run(client, code, typed=b"", **fields):
    """Runs CODE on a terminal; returns what it showed, in lines, and the answer."""
    client.submit("attack", on_terminal(PYTHON, "-c", code, **fields))
    shown = b""
    while True:
        message = client.recv()
        if message["type"] == "started" and typed:
            text = base64.b64encode(typed).decode()
            client.send({"type": "input", "job_no": message["job_no"], "base64": text})
        elif message["type"] == "output":
            shown += base64.b64decode(message["base64"])
        elif message["type"] in ("result", "error"):
            return shown.decode(errors="replace").splitlines(), message


@BOTH
def test_requests_that_reach_beyond_the_terminal_are_refused(client):
    """Also with bits above those that the kernel looks at."""
    code = ATTEMPT + f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, request in {REFUSED!r}.items():
    for high in (0, 1 << 32):
        value = ctypes.c_int(2)
        ctypes.set_errno(0)
        done = libc.syscall({16 if os.uname().machine == "x86_64" else 29}, 0, ctypes.c_ulong(request | high), ctypes.byref(value))
        print(name, done, errno.errorcode.get(ctypes.get_errno()))
print("vhangup", libc.vhangup(), errno.errorcode.get(ctypes.get_errno()))
"""
    shown, _ = run(client, code)
    assert shown == [f"{name} -1 EPERM" for name in REFUSED for _ in range(2)] + ["vhangup -1 EPERM"]


@BOTH
def test_the_other_side_cannot_be_had(client):
    code = ATTEMPT + f"for name, request in {OF_THE_OTHER_SIDE!r}.items(): attempt(name, request, struct.pack('i', 1))"
    shown, _ = run(client, code)
    assert [line.split()[0] for line in shown] == list(OF_THE_OTHER_SIDE)
    assert {line.split()[1] for line in shown} <= {"ENOTTY", "EIO"}, shown


@BOTH
def test_no_other_terminal_can_be_opened(client):
    """Neither a new one, nor that of a neighbour, nor its own once more."""
    client.submit("neighbour", on_terminal("/bin/sleep", "1000"))
    assert client.recv()["type"] == "started"
    code = """
import errno, os
names = ["/dev/ptmx", "/dev/pts/ptmx", "/dev/tty", "/dev/console", "/proc/self/fd/0", os.readlink("/proc/self/fd/0")]
for name in names + [f"/dev/pts/{n}" for n in range(64)]:
    try:
        os.close(os.open(name, os.O_RDWR | os.O_NOCTTY))
        print("opened", name)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EACCES):
            print(name, error)
print("done")
"""
    shown, _ = run(client, code)
    assert shown == ["done"]


@BOTH
def test_the_next_job_finds_a_new_terminal(start_daemon, shape):
    """Not its modes, its size, its input, its foreground group or its stopped output."""
    daemon = start_daemon(shape=shape, slots=1)
    look = "import os, termios; print(termios.tcgetattr(0), os.get_terminal_size(), os.tcgetpgrp(0) == os.getpgrp())"
    spoil = """
import fcntl, os, struct, termios, tty
fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 1, 1, 0, 0))
tty.setraw(0)
fcntl.ioctl(0, termios.TIOCEXCL)
termios.tcflow(0, termios.TCOOFF)
"""
    with daemon.connect() as client:
        before, _ = run(client, look)
        _, answer = run(client, spoil, typed=b"rm -rf /\n" * 100)
        assert answer["type"] == "result"
        assert run(client, look)[0] == before
        code = "import select; print(select.select([0], [], [], 0.2)[0])"
        assert run(client, code)[0] == ["[]"], "nothing waits to be read"


@BOTH
def test_a_job_that_stops_its_output_ends_at_its_limit(client):
    code = "import os, termios, time; termios.tcflow(0, termios.TCOOFF); print('x' * 100000, flush=True)"
    _, answer = run(client, code, limits={"wall_clock": 0.5})
    assert answer["outcome"]["limit_exceeded"] == "wall_clock"
    assert run(client, "print('on')")[0] == ["on"]


@BOTH
def test_no_process_outlives_a_terminal_that_is_gone(daemon):
    """It ignores SIGHUP, has left the session and given the terminal up, and holds it in flight."""
    marker = f"1000.{os.getpid()}"
    code = f"""
import array, fcntl, os, signal, socket, subprocess, termios
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
ends = socket.socketpair()
ends[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
child = subprocess.Popen(["sleep", "{marker}"], start_new_session=True)
fcntl.ioctl(0, termios.TIOCNOTTY)
print("ready", flush=True)
while True:
    signal.pause()
"""

    def lives():
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if marker.encode() in file.read():
                        found.append(name)
            except OSError:
                continue
        return found

    with daemon.connect() as other:
        with daemon.connect() as client:
            client.submit("attack", on_terminal(PYTHON, "-c", code))
            shown = b""
            while b"ready" not in shown:
                message = client.recv()
                if message["type"] == "output":
                    shown += base64.b64decode(message["base64"])
            assert lives()
        wait_until(lambda: not [s for s in other.status()["slots"] if s["job"]], "the job is gone")
        wait_until(lambda: not lives(), "its processes are gone")
        assert run(other, "print('on')")[0] == ["on"]


@BOTH
def test_the_daemon_serves_others_whatever_is_typed_and_shown(daemon):
    """A flood in both directions, read by nobody, delays nobody."""
    code = """
import os, tty
tty.setraw(0)
print("ready", flush=True)
while True:
    os.write(1, b"x" * 65536)
"""
    with daemon.connect() as other, daemon.connect() as client:
        client.submit("flood", on_terminal(PYTHON, "-c", code))
        number = client.recv()["job_no"]
        typed = {"type": "input", "job_no": number, "base64": base64.b64encode(b"x" * 65536).decode()}
        client.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):  # the daemon stops to read from a client that does not
            for _ in range(10000):
                client.send(typed)
        for n in range(20):
            assert other.run({"kind": "sandbox", "argv": ["/bin/echo", f"{n}"]})["stdout"] == f"{n}\n"
        unsent = max(entry["unsent_bytes"] for entry in other.status()["clients"])
        assert unsent < 16 << 20


def test_the_owner_of_a_terminal_may_open_it_to_others(client):
    """A known hole of jobs that share the daemon's account. Those with a uid of their own do not own it:
    tests/integration/test_own_uid.py."""
    shown, _ = run(client, "import os; os.fchmod(0, 0o666); print(oct(os.fstat(0).st_mode & 0o777))")
    assert shown == ["0o666"], "the hole is closed: SECURITY.md names it"
