# SPDX-License-Identifier: MIT
"""rubricctl batch and a daemon that goes away: the client submits unanswered jobs to the next daemon, and
every job gets exactly one answer."""

import json
import os
import select
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from batches import Batches, result, sandbox
from conftest import DEADLINE, RUBRICCTL, Daemon, let_pass, wait_until
from processes import cpu_seconds, name_of

DAEMON_LOST = "rubricctl: rubricd closed the connection; "


@pytest.fixture(name="directory")
def make_directory(tmp_path):
    """The directory that successive daemons share."""
    directory = tmp_path / "d"
    directory.mkdir()
    return directory


@pytest.fixture(name="next_daemon")
def make_daemons(directory):
    running = []

    def start(*settings):
        running.append(Daemon(directory, *settings))
        return running[-1]

    yield start
    for daemon in running:
        if daemon.process.poll() is None:
            assert daemon.stop() == 0, daemon.log()


def kill(daemon):
    daemon.process.kill()
    daemon.process.wait(DEADLINE)
    daemon.log_file.close()


class Batch:
    """A batch of COUNT jobs that take SECONDS each, with the results in a file."""

    def __init__(self, directory, daemon, count, *options, seconds=0):
        self.count = count
        self.jobs = directory.parent / "jobs.jsonl"
        self.output = directory.parent / "results.jsonl"
        job = {"kind": "sandbox", "argv": ["/bin/sleep", str(seconds)]}
        self.jobs.write_text("".join(json.dumps({"id": f"j{n}", **job}) + "\n" for n in range(count)))
        self.process = subprocess.Popen(
            [RUBRICCTL, "--socket", daemon.socket, "batch", "--quiet", "--output", self.output, *options, self.jobs],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def results(self):
        text = self.output.read_text() if self.output.exists() else ""
        # The last line may be incomplete while the client writes it.
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def wait_for(self, count):
        wait_until(lambda: len(self.results()) >= count, f"{count} results")

    def complaints(self):
        try:
            _, said = self.process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(f"the batch did not end; {len(self.results())} results")
        return said.splitlines()

    def assert_each_once(self):
        assert self.process.returncode == 0, self.results()
        results = self.results()
        assert sorted(r["id"] for r in results) == sorted(f"j{n}" for n in range(self.count))
        assert all(r["type"] == "result" and r["score"]["passed"] for r in results)


def test_killed_again_and_again(directory, next_daemon):
    daemon = next_daemon()
    batch = Batch(directory, daemon, 2000)
    for part in (100, 600, 1200):
        batch.wait_for(part)
        kill(daemon)
        daemon = next_daemon()
    said = batch.complaints()
    batch.assert_each_once()
    assert len(said) == 6, said
    for lost, back in zip(said[::2], said[1::2]):
        assert "rubricd" in lost and "; waiting at most 60 s for it to come back (" in lost
        assert back.startswith("rubricctl: rubricd 0.") and " is back: submitting " in back


def test_nobody_there_for_a_while(directory, next_daemon):
    """The client keeps trying while the socket does not exist or nobody listens on it."""
    daemon = next_daemon()
    batch = Batch(directory, daemon, 40, seconds=0.05)
    batch.wait_for(3)
    kill(daemon)
    first = batch.process.stderr.readline()
    assert first.startswith(DAEMON_LOST)
    assert daemon.socket.exists(), "the killed daemon left its socket, and nobody listens"
    daemon.socket.unlink()
    next_daemon()
    batch.complaints()
    batch.assert_each_once()


def test_a_restart_that_drains(directory, next_daemon):
    """A job that the first daemon answers with `draining` goes to the next daemon."""
    daemon = next_daemon("daemon.grace_period=200ms")
    batch = Batch(directory, daemon, 60, seconds=0.5)
    batch.wait_for(1)
    assert daemon.stop() == 0
    next_daemon("daemon.slots=32")
    said = batch.complaints()
    batch.assert_each_once()
    assert said[0].startswith("rubricctl: rubricd ended the connection: draining: the daemon stops; waiting")


def test_input_that_waits_is_read_again(directory, next_daemon):
    """The daemon goes away while no job is in flight, and is back before the next line arrives."""
    daemon = next_daemon()
    process = subprocess.Popen(
        [RUBRICCTL, "--socket", daemon.socket, "batch", "--quiet", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    line = '{"id": "%s", "kind": "sandbox", "argv": ["/bin/true"]}\n'
    process.stdin.write(line % "a")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == "a"
    kill(daemon)
    assert "(0 jobs in flight)" in process.stderr.readline()
    next_daemon()
    assert "submitting 0 jobs again" in process.stderr.readline()
    out, _ = process.communicate(line % "b", timeout=DEADLINE)
    assert (process.returncode, json.loads(out)["id"]) == (0, "b")


def test_patience_has_an_end(directory, next_daemon):
    daemon = next_daemon()
    batch = Batch(directory, daemon, 3, "--reconnect", "1", seconds=1000)
    with daemon.connect() as client:
        wait_until(lambda: sum(s["job"] is not None for s in client.status()["slots"]) == 2, "two run")
    kill(daemon)
    said = batch.complaints()
    assert batch.process.returncode == 3
    assert said == [
        f"{DAEMON_LOST}waiting at most 1 s for it to come back (3 jobs in flight)",
        f"rubricctl: {daemon.socket}: Connection refused; 3 jobs are unanswered: j0, j1, j2",
    ]


def test_no_patience_at_all(directory, next_daemon):
    daemon = next_daemon()
    batch = Batch(directory, daemon, 3, "--no-reconnect", seconds=1000)
    with daemon.connect() as client:
        wait_until(lambda: sum(s["job"] is not None for s in client.status()["slots"]) == 2, "two run")
    kill(daemon)
    assert batch.complaints() == [f"{DAEMON_LOST}3 jobs are unanswered: j0, j1, j2"]
    assert batch.process.returncode == 3


def test_interrupted_while_it_is_gone(directory, next_daemon):
    daemon = next_daemon()
    batch = Batch(directory, daemon, 3, seconds=1000)
    with daemon.connect() as client:
        wait_until(lambda: sum(s["job"] is not None for s in client.status()["slots"]) == 2, "two run")
    kill(daemon)
    assert "waiting at most 60 s" in batch.process.stderr.readline()
    batch.process.send_signal(signal.SIGINT)
    assert batch.complaints() == [
        "rubricctl: interrupted while rubricd was gone; 3 jobs are unanswered: j0, j1, j2"
    ]
    assert batch.process.returncode == 130


def test_interrupted_while_it_is_gone_and_the_reader_is_slow(tmp_path, daemon_here):
    """The client sleeps until its reader goes on. Attempts to reach the daemon are due no longer."""
    batches = Batches(tmp_path, daemon_here.socket)
    batches.write(sandbox("a"), sandbox("b"))
    process = batches.start(output=False)
    try:
        peer = daemon_here.accept()
        assert peer.jobs(2) == ["a", "b"]
        peer.send({**result("a"), "stdout": "x" * 300_000})  # more than a pipe holds
        wait_until(lambda: select.select([process.stdout], [], [], 0)[0], "the client writes")
        daemon_here.close()
        assert "waiting at most 60 s" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert "interrupted while rubricd was gone" in process.stderr.readline()
        used = cpu_seconds(process.pid)
        waited = let_pass(1)
        used = cpu_seconds(process.pid) - used
        out, _ = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["a"]
    assert used < 0.05 * waited


def test_a_private_daemon_does_not_come_back(directory):
    process = subprocess.Popen(
        [RUBRICCTL, "--embedded", "--slots", "1", "batch", "--quiet", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdin.write('{"id": "a", "kind": "sandbox", "argv": ["/bin/sleep", "1000"]}\n')
    process.stdin.flush()

    def children(pid):
        try:
            return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except OSError:
            return []

    def runs():
        below = [job for private in children(process.pid) for jail in children(private) for job in children(jail)]
        return any(name_of(pid) == "sleep" for pid in below)

    wait_until(runs, "the job runs")
    (pid,) = children(process.pid)
    os.kill(pid, signal.SIGKILL)
    _, said = process.communicate(timeout=DEADLINE)
    assert process.returncode == 3
    assert "waiting" not in said and "the private rubricd is gone" in said


def test_another_program_in_its_place(directory, next_daemon):
    """A server that does not begin with a hello is not rubricd. The client gives up on it at once."""
    daemon = next_daemon()
    batch = Batch(directory, daemon, 3, seconds=1000)
    with daemon.connect() as client:
        wait_until(lambda: sum(s["job"] is not None for s in client.status()["slots"]) == 2, "two run")
    kill(daemon)
    daemon.socket.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(daemon.socket))
        listener.listen()
        listener.settimeout(DEADLINE)
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"\0\0\0\x10" + b'{"type":"pong"} ')
            began = time.monotonic()
            said = batch.complaints()
    assert time.monotonic() - began < 30, "the client gives up before the minute is over"
    assert "the program that listens there is not rubricd" in said[-1]
    assert batch.process.returncode == 3


def test_a_socket_that_is_named_is_no_other(tmp_path):
    """A private daemon in the place of a named service would have other limits than it, and nobody would notice."""
    for arguments, named in ((["--socket", "none"], {}), ([], {"RUBRICD_SOCKET": "none"})):
        done = subprocess.run(
            [RUBRICCTL, *arguments, "sandbox", "--", "true"], cwd=tmp_path, env={**os.environ, **named},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (3, (
            "rubricctl: no rubricd at none: start the service (systemctl start rubricd), or name its "
            "socket with --socket or in $RUBRICD_SOCKET\n"
        ))  # fmt: skip


def test_a_socket_that_nobody_listens_on(tmp_path):
    """What a killed daemon leaves. The commands that could do without a service say how; none does so by itself."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "s"))
    start = "no rubricd listens on s, though the socket is there: start the service (systemctl start rubricd)"
    for command, more in (
        (["sandbox", "--", "true"], ", or do without it: --embedded starts a private one"),
        (["drain"], ""),
    ):
        done = subprocess.run([RUBRICCTL, "--socket", "s", *command], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (3, f"rubricctl: {start}{more}\n")
