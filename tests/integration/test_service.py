# SPDX-License-Identifier: MIT
"""The daemon under a service manager: socket activation, notifications, the watchdog, extending the stop
timeout, and that jobs inherit nothing of the service."""

import contextlib
import fcntl
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import (
    DEADLINE,
    PASSING,
    RUBRICCTL,
    RUBRICD,
    Client,
    wait_until,
)
from descriptors import needs_refusal, send_descriptor
from processes import state_of
from test_daemon import UNAVAILABLE, places, started
from test_queue import SUT, hold_slots, submit_all
from test_reload import Configuration, refused, reloaded

TRUE = {"kind": "sandbox", "argv": ["/bin/true"]}

pytestmark = [pytest.mark.cold, pytest.mark.usefixtures("let_daemons_in")]


# Socket activation


# Passes listening sockets as systemd does: as descriptors from 3 on, with the daemon's pid.
ACTIVATE = """
import os, sys
fds, names, program = sys.argv[1].split(","), sys.argv[2], sys.argv[3:]
for number, fd in enumerate(fds, 3):
    os.dup2(int(fd), number)
os.environ.update(LISTEN_FDS=str(len(fds)), LISTEN_PID=str(os.getpid()))
if names:
    os.environ.update(LISTEN_FDNAMES=names)
os.execv(program[0], program)
"""


def activated(directory, *sockets, names=(), stderr=subprocess.PIPE):
    # Duplicates from 30 on, so that dup2() overwrites none before it is passed.
    fds = [fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, 30) for s in sockets]
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", ACTIVATE, ",".join(map(str, fds)), ":".join(names)),
            *(RUBRICD, "--config=/dev/null", "--set=daemon.slots=1"),
            *places(directory),
        ],
        pass_fds=fds,
        stdin=subprocess.DEVNULL,
        stderr=stderr,
        text=True,
    )
    for fd in fds:
        os.close(fd)
    return process


def listening(path, kind=socket.SOCK_STREAM):
    bound = socket.socket(socket.AF_UNIX, kind)
    bound.bind(str(path))
    if kind != socket.SOCK_DGRAM:
        bound.listen()
    return bound


def test_socket_activation(tmp_path, bench):
    """A client that connected before the start is served. The socket stays for the next daemon."""
    path = tmp_path / "activated"
    with listening(path) as handed, open(tmp_path / "log", "w") as log:
        for _ in range(2):
            early = Client(path, hello=False)
            process = activated(tmp_path, handed, stderr=log)
            assert early.recv()["type"] == "hello"
            assert early.run(bench.job(PASSING))["score"]["passed"] is True
            with Client(path) as late:
                late.ping()
            assert not (tmp_path / "s").exists(), "the daemon does not make the configured socket"
            early.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE) == 0
            assert path.exists()


@needs_refusal
def test_no_descriptor_can_be_sent_over_a_socket_of_systemd(tmp_path):
    """Nor by a client that is older than the daemon."""
    path = tmp_path / "activated"
    with listening(path) as handed, open(tmp_path / "log", "w") as log, Client(path, hello=False) as early:
        process = activated(tmp_path, handed, stderr=log)
        assert early.recv()["type"] == "hello"
        with Client(path) as late:
            for client in (early, late):
                with pytest.raises(PermissionError):
                    send_descriptor(client.sock, log.fileno())
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0


@pytest.mark.parametrize("names", [(), ("rubricd.socket", "for-containers")], ids=["", "names"])
def test_several_sockets(tmp_path, names):
    """The daemon serves clients on each socket and removes none."""
    paths = [tmp_path / "one", tmp_path / "two"]
    with listening(paths[0]) as one, listening(paths[1]) as two, open(tmp_path / "log", "w") as log:
        process = activated(tmp_path, one, two, names=names, stderr=log)
        clients = [Client(path) for path in paths]
        for client in clients:
            client.ping()
        assert clients[0].status()["clients_total"] == 2
        process.send_signal(signal.SIGTERM)
        for client in clients:
            assert client.recv()["type"] == "bye"
            client.close()
        assert process.wait(DEADLINE) == 0
        assert all(path.exists() for path in paths)
        # A new connection waits for the next daemon.
        early = Client(paths[1], hello=False)
        process = activated(tmp_path, one, two, names=names, stderr=log)
        assert early.recv()["type"] == "hello"
        early.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0


def connect_to(path):
    """Returns a connected socket, or None while nobody listens at PATH."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(str(path))
    except OSError:
        sock.close()
        return None
    return sock


def test_through_systemd_socket_activate(tmp_path):
    program = shutil.which("systemd-socket-activate")
    if not program:
        pytest.skip("systemd-socket-activate is not installed")
    paths = [tmp_path / "activated", tmp_path / "too"]
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(
            [
                *(program, *[f"--listen={path}" for path in paths], "--fdname=one:two"),
                *(RUBRICD, "--config=/dev/null", "--set=daemon.slots=1"),
                *places(tmp_path),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        for path in paths:
            # Between bind and listen the socket exists but refuses connections.
            with wait_until(lambda: connect_to(path), "it listens") as sock:
                Client(sock=sock).ping()
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0
    finally:
        process.kill()
        process.wait()
    assert all(path.exists() for path in paths)


def refusal(tmp_path, *sockets, names=()):
    process = activated(tmp_path, *sockets, names=names)
    _, error = process.communicate(timeout=DEADLINE)
    assert process.returncode == UNAVAILABLE
    assert not (tmp_path / "work").exists()
    return error


def test_descriptors_that_are_no_listening_socket(tmp_path):
    """The message names the descriptor, by the name from its socket unit."""
    with (
        listening(tmp_path / "listening") as good,
        socket.socket(socket.AF_UNIX) as idle,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram,
        listening(tmp_path / "packets", socket.SOCK_SEQPACKET) as packets,
        socket.create_server(("127.0.0.1", 0)) as internet,
        open("/dev/null", "rb") as null,
    ):
        for wrong in (idle, datagram, packets, internet, null):
            assert 'descriptor 3, "wrong": expected a listening Unix stream socket' in refusal(
                tmp_path, wrong, names=["wrong"]
            )
            assert 'descriptor 4, "wrong": expected a listening Unix stream socket' in refusal(
                tmp_path, good, wrong, names=["good", "wrong"]
            )
        assert 'descriptor 3, "unknown": expected' in refusal(tmp_path, idle)
        assert (tmp_path / "listening").exists()


def test_too_many_sockets(tmp_path):
    with listening(tmp_path / "listening") as good:
        assert "passed 17 sockets; the maximum is 16" in refusal(tmp_path, *[good] * 17)


# Notifications


@pytest.fixture(name="notified")
def bind_notify_socket(tmp_path):
    """Binds a notify socket. Yields it and the environment of a daemon that uses it."""
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(path))
        path.chmod(0o777)  # as systemd does
        bound.settimeout(DEADLINE)
        yield bound, {**os.environ, "NOTIFY_SOCKET": str(path)}


def notification(bound, prefix):
    """Returns the next notification that begins with PREFIX."""
    while True:
        message = bound.recv(4096).decode()
        if message.startswith(prefix):
            return message


def status_that_has(bound, part):
    """Returns the next STATUS= notification that contains PART."""
    while True:
        message = notification(bound, "STATUS=")
        if part in message:
            return message


def pending(bound):
    """Returns all notifications that have arrived and were not read."""
    messages = []
    bound.setblocking(False)
    try:
        while True:
            messages.append(bound.recv(4096).decode())
    except BlockingIOError:
        return messages
    finally:
        bound.settimeout(DEADLINE)


def layers_missing(client):
    missing = len(client.status()["isolation"]["missing"])
    return f"; {missing} layer{'s' * (missing > 1)} missing" if missing else ""


def test_what_it_tells_its_service_manager(start_daemon, bench, gate, notified):
    """The daemon sends READY=1 when clients can connect, STATUS= at once and on changes, and STOPPING=1
    before it ends."""
    bound, environment = notified
    daemon = start_daemon(env=environment)
    assert bound.recv(4096) == b"READY=1"
    with daemon.connect() as client:
        end = layers_missing(client)
        assert bound.recv(4096).decode() == f"STATUS=0 of 2 slots busy, 0 queued, 0 graded{end}"
        assert client.run(TRUE)["score"]["passed"] is True
        hold_slots(client, bench.job(gate.python + PASSING))
        client.submit("queued", bench.job(PASSING))
        assert status_that_has(bound, "1 queued") == (
            f"STATUS=2 of 2 slots busy, 1 queued, 1 graded{end}"
        )
        daemon.process.send_signal(signal.SIGTERM)
        assert notification(bound, "STOPPING=") == "STOPPING=1"
        text = notification(bound, "STATUS=")
        assert re.fullmatch(
            "STATUS=stopping: 2 jobs run, (29|30) s left of the grace period, 1 graded" + end, text
        )
        gate.open(2)
    assert daemon.process.wait(DEADLINE) == 0


def test_a_manager_that_does_not_read_delays_nobody(start_daemon, notified):
    """Its socket is full: jobs are answered, and reloads are told as soon as there is room."""
    bound, environment = notified
    daemon = start_daemon(env=environment)
    assert bound.recv(4096) == b"READY=1"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stuffing, daemon.connect() as client:
        stuffing.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                stuffing.sendto(b"stuffing", bound.getsockname())
        daemon.process.send_signal(signal.SIGHUP)
        assert client.run(TRUE)["score"]["passed"] is True
        wait_until(lambda: "reloaded" in daemon.log(), "the reload is done")
        assert client.run(TRUE, "again")["score"]["passed"] is True
        assert notification(bound, "RELOADING=1").startswith("RELOADING=1\nMONOTONIC_USEC=")
        assert notification(bound, "READY=") == "READY=1"
        assert status_that_has(bound, "2 graded")


def test_ready_means_ready(tmp_path, notified):
    bound, environment = notified
    with started(tmp_path, *places(tmp_path), env=environment):
        assert bound.recv(4096) == b"READY=1"
        with Client(tmp_path / "s") as client:
            client.ping()


def test_a_job_costs_no_message(start_daemon, notified):
    """The daemon handles hundreds of jobs between two notifications, and never repeats the last one."""
    bound, environment = notified
    daemon = start_daemon("queue.jobs_per_client=1024", env=environment)
    begun = time.monotonic()
    with daemon.connect() as client:
        submit_all(client, {f"{n}": SUT for n in range(1234)})
        for _ in range(1234):
            assert client.recv_answer()["type"] == "result"
        passed = time.monotonic() - begun
        seen = pending(bound)
        assert len(seen) <= 2 + passed / 2 + 1, seen
        if not any("1,234 graded" in message for message in seen):
            seen.append(status_that_has(bound, "1,234 graded"))
    told = [message for message in seen if message.startswith("STATUS=")]
    assert all(a != b for a, b in zip(told, told[1:]))


def test_reload_is_told(start_daemon, tmp_path, notified):
    """One message says that the reload begins, and when, as Type=notify-reload requires. Another one says
    that it has ended, successful or not."""
    bound, environment = notified
    directory = tmp_path / "etc"
    directory.mkdir()
    configuration = Configuration(directory)
    configuration.write({"daemon.slots": 2})
    daemon = start_daemon(config=configuration.path, slots=None, env=environment)
    with daemon.connect() as client:
        status_that_has(bound, "0 of 2 slots busy")
        for settings, ask, part in (
            ({"daemon.slots": 3}, reloaded, "0 of 3 slots busy"),
            ({"daemon.slots": "many"}, refused, "; the last reload was refused"),
            ({"daemon.slots": 2}, reloaded, "0 of 2 slots busy"),
        ):
            configuration.write(settings)
            before = time.monotonic_ns() // 1000
            ask(client)
            after = time.monotonic_ns() // 1000
            begin = notification(bound, "RELOADING=").split("\n")
            assert begin[0] == "RELOADING=1"
            assert len(begin) == 2
            name, _, value = begin[1].partition("=")
            assert name == "MONOTONIC_USEC"
            assert before <= int(value) <= after
            assert bound.recv(4096) == b"READY=1"
            text = bound.recv(4096).decode()
            assert text.startswith("STATUS=") and part in text
        assert "refused" not in text
        daemon.process.send_signal(signal.SIGHUP)
        assert notification(bound, "RELOADING=").startswith("RELOADING=1\nMONOTONIC_USEC=")
        assert bound.recv(4096) == b"READY=1"


# The watchdog


def test_watchdog(start_daemon, notified):
    """The daemon itself feeds the watchdog twice in each period, whether jobs run or not."""
    bound, environment = notified
    start_daemon(env={**environment, "WATCHDOG_USEC": "200000"})
    for _ in range(4):
        assert notification(bound, "WATCHDOG=") == "WATCHDOG=1"


def test_watchdog_of_another_process(start_daemon, notified):
    """The daemon ignores a watchdog whose WATCHDOG_PID is not its own pid."""
    bound, environment = notified
    daemon = start_daemon(env={**environment, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"})
    with daemon.connect() as client:
        client.run(TRUE)
    assert not [message for message in pending(bound) if "WATCHDOG" in message]


def is_silent(bound, seconds):
    bound.settimeout(seconds)
    try:
        bound.recv(4096)
        return False
    except TimeoutError:
        return True
    finally:
        bound.settimeout(DEADLINE)


def test_a_daemon_that_hangs_feeds_no_watchdog(start_daemon, notified):
    bound, environment = notified
    daemon = start_daemon(env={**environment, "WATCHDOG_USEC": "100000"})
    assert notification(bound, "WATCHDOG=") == "WATCHDOG=1"
    daemon.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: state_of(daemon.process.pid) == "T", "it stands still")
    pending(bound)
    # The daemon is silent for ten periods.
    assert is_silent(bound, 1)
    daemon.process.send_signal(signal.SIGCONT)
    for _ in range(4):
        assert notification(bound, "WATCHDOG=") == "WATCHDOG=1"


@contextlib.contextmanager
def somebody_reads(bound):
    """Reads notifications all the time, as a manager does: a socket holds only ten, and the daemon waits for
    room in it."""
    enough = threading.Event()

    def read():
        while not enough.is_set():
            if select.select([bound], [], [], 0.02)[0]:
                bound.recv(4096)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        enough.set()
        reader.join()


def test_a_busy_daemon_is_healthy(start_daemon, bench, gate, notified):
    """All slots run long jobs, and other jobs wait."""
    bound, environment = notified
    daemon = start_daemon(env={**environment, "WATCHDOG_USEC": "100000"})
    with daemon.connect() as client, daemon.connect() as other:
        with somebody_reads(bound):
            hold_slots(client, bench.job(gate.python + PASSING))
            submit_all(client, {f"{n}": TRUE for n in range(5)})
            wait_until(lambda: other.status()["queue"]["jobs"] >= 5, "five are queued")
        pending(bound)
        for _ in range(20):
            assert notification(bound, "WATCHDOG=") == "WATCHDOG=1"
        assert "not healthy" not in daemon.log()
        with somebody_reads(bound):
            gate.open(2)
            for _ in range(7):
                assert client.recv_answer()["type"] == "result"


def test_a_daemon_without_jails_is_not_healthy(start_daemon, notified):
    """The daemon stops feeding the watchdog when a job came and no jail can start. It feeds it while no job
    comes, and again once jails start."""
    bound, environment = notified
    daemon = start_daemon(env={**environment, "WATCHDOG_USEC": "300000"})
    with daemon.connect() as client, daemon.connect() as other:
        wait_until(
            lambda: all(s["state"] == "idle" for s in other.status()["slots"]), "all are ready"
        )
        # Without the work directory no jail can start.
        away = daemon.directory / "away"
        jails = daemon.jails()
        daemon.work.rename(away)
        for pid in jails:
            os.kill(pid, signal.SIGKILL)
        wait_until(
            lambda: all(s["state"] != "idle" for s in other.status()["slots"]), "none is ready"
        )
        pending(bound)
        for _ in range(8):
            assert notification(bound, "WATCHDOG=") == "WATCHDOG=1"
        client.submit("a", TRUE)
        answer = client.recv_answer("a")
        assert (answer["code"], answer["retriable"]) == ("sandbox_failed", True)
        status = status_that_has(bound, "; no jail can be started")
        assert "; no jail can be started: opening the slot's directory: No such file or directory" in status
        assert "not healthy: jobs wait, and no slot can start a jail" in status
        assert "error: not healthy, the watchdog is not fed: jobs wait" in daemon.log()
        wait_until(lambda: is_silent(bound, 0.5), "it is fed no more")
        away.rename(daemon.work)
        for _ in range(4):
            assert notification(bound, "WATCHDOG=") == "WATCHDOG=1"
        assert client.run(TRUE)["score"]["passed"] is True
        assert "healthy again" in daemon.log()


# Stopping


@pytest.mark.parametrize("how", ["SIGTERM", "rubricctl drain"])
def test_the_manager_is_made_to_wait(start_daemon, bench, gate, notified, how):
    """A draining daemon extends the stop timeout in short steps for as long as jobs may run, so that the
    manager does not wait for a daemon that hangs."""
    bound, environment = notified
    daemon = start_daemon("daemon.grace_period=1h", env=environment)
    with daemon.connect() as client:
        hold_slots(client, bench.job(gate.python + PASSING), count=1)
        assert not [m for m in pending(bound) if "EXTEND" in m]
        if how == "SIGTERM":
            daemon.process.send_signal(signal.SIGTERM)
        else:
            client.send({"type": "drain"})
        assert notification(bound, "STOPPING=") == "STOPPING=1"
        for _ in range(2):
            assert notification(bound, "EXTEND") == "EXTEND_TIMEOUT_USEC=10000000"
        gate.open()
        assert client.recv_answer("held-0")["score"]["passed"] is True
        assert client.recv()["type"] == "bye"
    assert daemon.process.wait(DEADLINE) == 0


def test_rubricctl_drain_waits(start_daemon, bench, gate):
    """The command waits until the running jobs end. The daemon returns queued jobs as retriable."""
    daemon = start_daemon("daemon.grace_period=1h")
    with daemon.connect() as client:
        hold_slots(client, bench.job(gate.python + PASSING))
        client.submit("queued", TRUE)
        client.ping()
        drain = subprocess.Popen(
            [RUBRICCTL, "--socket", daemon.socket, "drain"], stdout=subprocess.PIPE, text=True
        )
        queued = client.recv_answer("queued")
        assert (queued["code"], queued["retriable"]) == ("draining", True)
        assert drain.poll() is None
        gate.open()
        assert client.recv_answer()["score"]["passed"] is True
        client.ping()
        assert drain.poll() is None
        gate.open()
        assert client.recv_answer()["score"]["passed"] is True
        assert client.recv()["type"] == "bye"
        assert drain.communicate(timeout=DEADLINE)[0].startswith("drained: ")
        assert drain.returncode == 0
    assert daemon.process.wait(DEADLINE) == 0


# What jobs inherit


OF_THE_MANAGER = {
    "WATCHDOG_USEC": "10000000",
    "INVOCATION_ID": "0123456789abcdef0123456789abcdef",
    "JOURNAL_STREAM": "8:12345",
    "SYSTEMD_EXEC_PID": "1",
    "MAINPID": "1",
    "MEMORY_PRESSURE_WATCH": "/sys/fs/cgroup/memory.pressure",
    "CREDENTIALS_DIRECTORY": "/run/credentials/rubricd.service",
    "RUNTIME_DIRECTORY": "/run/rubricd",
    "LISTEN_FDNAMES": "rubricd.socket",
    "FDSTORE": "1",
    "AN_OPERATORS_TOKEN": "secret",
}
SHOW = {
    "kind": "sandbox",
    "argv": ["/bin/sh", "-c", "cat /proc/self/environ /proc/*/environ; env; ls /proc/self/fd"],
}


def test_jobs_inherit_nothing_of_it(start_daemon, bench, notified):
    """Jobs and jails inherit none of the service's variables and descriptors."""
    _, environment = notified
    daemon = start_daemon(env={**environment, **OF_THE_MANAGER})
    with daemon.connect() as client:
        for job in (SHOW, {**SHOW, "argv": ["/usr/bin/env"]}):
            shown = client.run(job)["stdout"]
            assert "PATH=/usr/bin:/bin" in shown
            for name, value in {**environment, **OF_THE_MANAGER}.items():
                if name not in ("PATH", "LANG", "PWD", "SHLVL", "_", "HOME"):
                    assert f"{name}=" not in shown
            assert "secret" not in shown
        rubric = bench.job(
            "import json, os\n"
            "keys = sorted(os.environ)\n"
            "print(json.dumps({'passed': keys == ['LANG', 'PATH', 'PYTHONHASHSEED',"
            " 'PYTHONIOENCODING'], 'score': 1}))\n"
        )
        assert client.run(rubric)["score"]["passed"] is True
        for jail in daemon.jails() if os.geteuid() == 0 else ():  # only root can look
            with open(f"/proc/{jail}/environ", "rb") as file:
                assert file.read() == b""


def test_handed_over_sockets_do_not_come_to_jobs(tmp_path):
    """A job has its three standard descriptors, and the one with which it lists them."""
    with (
        listening(tmp_path / "one") as one,
        listening(tmp_path / "two") as two,
        open(tmp_path / "log", "w") as log,
    ):
        process = activated(tmp_path, one, two, names=["a", "b"], stderr=log)
        with Client(tmp_path / "one") as client:
            job = {"kind": "sandbox", "argv": ["/bin/ls", "/proc/self/fd"]}
            if "mount_namespace" in client.hello["isolation"]["layers"]:  # otherwise it has no /proc
                assert client.run(job)["stdout"].split() == ["0", "1", "2", "3"]
            job = {"kind": "sandbox", "argv": ["/usr/bin/env"]}
            assert "LISTEN" not in client.run(job)["stdout"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0
