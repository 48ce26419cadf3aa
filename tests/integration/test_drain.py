# SPDX-License-Identifier: MIT
"""Stopping the daemon: running jobs may finish within the grace period, queued jobs are answered
`draining`, and nothing is left behind."""

import signal
import socket
import threading

import pytest
from conftest import DEADLINE, PASSING, wait_until
from processes import is_alive
from test_queue import client_of, frame_of, hold_slots, newest, running, submit_all

pytestmark = pytest.mark.cold

SLEEPING = "import time; time.sleep(1000)"
# Ignores every signal that can be ignored, and so do its two children.
STUBBORN = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
os.fork()
if os.fork() == 0:
    os.setsid()
time.sleep(1000)
"""

BYE = {"type": "bye", "reason": "draining", "message": "the daemon stops"}
TAKES_NONE = "the daemon takes no new jobs"
NOT_STARTED = "the daemon stops before the job was started"
GRACE_OVER = "the daemon stops and the grace period is over"


def draining(id, message, **job_no):
    return {
        "type": "error",
        "id": id,
        **job_no,
        "code": "draining",
        "message": message,
        "retriable": True,
    }


def ask_to_drain(daemon, how):
    if how == "message":
        with daemon.connect() as admin:
            admin.send({"type": "drain"})
            wait_until(lambda: not daemon.socket.exists(), "the socket is removed")
    else:
        daemon.process.send_signal(how)
        wait_until(lambda: not daemon.socket.exists(), "the socket is removed")


def assert_ended(daemon, family=frozenset()):
    """Fails unless the daemon exited with 0, all its processes are gone and its directories are empty."""
    assert daemon.process.wait(DEADLINE) == 0, daemon.log()
    assert daemon.stop() == 0
    assert not daemon.socket.exists()
    assert not any(daemon.work.iterdir())
    for pid in family:
        assert not is_alive(pid)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, "message"], ids=str)
def test_drain(start_daemon, bench, gate, how):
    """Running jobs finish; the daemon refuses jobs that are queued or come later, and then exits."""
    daemon = start_daemon("queue.jobs=3", "queue.jobs_per_client=3")
    quick = bench.job(PASSING)
    with daemon.connect() as client, daemon.connect() as waiting, daemon.connect() as idle:
        hold_slots(client, bench.job(gate.python + PASSING))
        submit_all(client, {id: quick for id in ("one", "two", "three")})
        client.ping()
        waiting.submit("waiting", quick)
        waiting.send({"type": "ping"})
        wait_until(lambda: client_of(newest(idle) - 1, idle)["paused"], "the queue is full")
        family = daemon.descendants()
        assert len(family) == 4

        ask_to_drain(daemon, how)
        for number, id in enumerate(("one", "two", "three"), 3):
            assert client.recv() == draining(id, NOT_STARTED, job_no=number)
        assert waiting.recv() == draining("waiting", TAKES_NONE)
        assert waiting.recv() == {"type": "pong"}
        client.submit("late", quick)
        assert client.recv() == draining("late", TAKES_NONE)
        idle.submit("late", quick)
        assert idle.recv() == draining("late", TAKES_NONE)
        status = idle.status()
        assert (status["state"], status["queue"]["jobs"]) == ("draining", 0)
        assert running(idle) == ["held-0", "held-1"]
        with pytest.raises(OSError):
            daemon.connect()

        gate.open(1)
        first = client.recv()
        assert first["score"]["passed"] is True
        idle.ping()
        gate.open(1)
        second = client.recv()
        assert second["score"]["passed"] is True
        assert {first["id"], second["id"]} == {"held-0", "held-1"}
        for connection in (client, waiting, idle):
            assert connection.recv() == BYE
            connection.expect_closed()
    assert_ended(daemon, family)


@pytest.mark.parametrize("how", [signal.SIGTERM, "message"], ids=str)
def test_with_nothing_to_do_it_ends_at_once(start_daemon, how):
    daemon = start_daemon("daemon.grace_period=1h")
    with daemon.connect() as idle:
        ask_to_drain(daemon, how)
        assert idle.recv() == BYE
        idle.expect_closed()
    assert_ended(daemon)


@pytest.mark.parametrize("grace", ["0", "200ms"])
def test_the_grace_period_ends(start_daemon, bench, grace):
    """The daemon kills jobs that do not end, with their children, and answers them `draining`."""
    daemon = start_daemon(f"daemon.grace_period={grace}")
    with daemon.connect() as client:
        submit_all(client, {"a": bench.job(STUBBORN), "b": bench.job(STUBBORN)})
        submit_all(client, {"queued": bench.job(PASSING)})
        wait_until(lambda: len(daemon.descendants()) == 2 + 2 * 4, "both families run")
        family = daemon.descendants()
        daemon.process.send_signal(signal.SIGTERM)
        assert client.recv_answer() == draining("queued", NOT_STARTED, job_no=3)
        errors = [client.recv_answer(), client.recv_answer()]
        assert sorted(errors, key=lambda error: error["id"]) == [
            draining("a", GRACE_OVER, job_no=1),
            draining("b", GRACE_OVER, job_no=2),
        ]
        assert client.recv() == BYE
        client.expect_closed()
    assert_ended(daemon, family)


def test_a_second_signal_ends_the_grace_period(start_daemon, bench):
    daemon = start_daemon("daemon.grace_period=1h")
    with daemon.connect() as client:
        client.submit("a", bench.job(STUBBORN))
        wait_until(lambda: len(daemon.descendants()) == 2 + 4, "the family runs")
        family = daemon.descendants()
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not daemon.socket.exists(), "it drains")
        assert client.recv()["type"] == "started"
        assert running(client) == ["a"]
        daemon.process.send_signal(signal.SIGTERM)
        assert client.recv() == draining("a", GRACE_OVER, job_no=1)
        assert client.recv() == BYE
        client.expect_closed()
    assert_ended(daemon, family)


def test_signals_while_the_daemon_stops_change_nothing(start_daemon):
    """The test sends SIGTERM until the daemon is gone, so the last ones come while it cleans up."""
    for _ in range(5):
        daemon = start_daemon()
        while daemon.process.poll() is None:
            daemon.process.send_signal(signal.SIGTERM)
        assert_ended(daemon)


def test_asking_to_drain_twice_does_not_hurry_it(daemon, bench, gate):
    """Only a signal hurries it."""
    with daemon.connect() as client, daemon.connect() as admin:
        hold_slots(client, bench.job(gate.python + PASSING), count=1)
        for _ in range(3):
            admin.send({"type": "drain"})
        admin.ping()
        assert running(client) == ["held-0"]
        gate.open()
        assert client.recv_answer("held-0")["score"]["passed"] is True
        assert client.recv() == BYE
        assert admin.recv() == BYE
    assert_ended(daemon)


def test_drain_in_a_stream_of_submits(daemon, bench, gate):
    """A submit before the drain is queued by then; one behind it comes too late."""
    quick = bench.job(PASSING)
    drain = b'{"type": "drain"}'
    with daemon.connect() as client:
        hold_slots(client, bench.job(gate.python + PASSING))
        client.send_bytes(
            frame_of("before", quick)
            + len(drain).to_bytes(4, "big")
            + drain
            + frame_of("behind", quick)
        )
        # The protocol does not promise the order of answers.
        answers = sorted((client.recv(), client.recv()), key=lambda answer: answer["id"])
        assert answers[0] == draining("before", NOT_STARTED, job_no=3)
        assert answers[1] == draining("behind", TAKES_NONE)
        gate.open(2)
        assert {client.recv_answer()["id"] for _ in range(2)} == {"held-0", "held-1"}
        assert client.recv() == BYE
    assert_ended(daemon)


def test_drain_behind_a_job_that_waits_for_room(start_daemon, bench, gate):
    """The daemon reads the drain once that job has room. Other waiting jobs get one answer each."""
    daemon = start_daemon("queue.jobs=1", "queue.jobs_per_client=1")
    quick = bench.job(PASSING)
    drain = b'{"type": "drain"}'
    with daemon.connect() as holder, daemon.connect() as other:
        hold_slots(holder, bench.job(gate.python + PASSING))
        holder.submit("queued", quick)
        holder.ping()
        waiting = [daemon.connect() for _ in range(3)]
        for n, client in enumerate(waiting):
            behind = len(drain).to_bytes(4, "big") + drain if n == 0 else b""
            client.send_bytes(frame_of(f"waiting-{n}", quick) + behind)
            wait_until(
                lambda: sum(c["paused"] for c in other.status()["clients"]) == n + 1,
                f"client {n} waits",
            )
        holder.send({"type": "cancel", "id": "queued"})
        assert holder.recv()["code"] == "cancelled"
        assert waiting[0].recv() == draining("waiting-0", NOT_STARTED, job_no=4)
        for n in (1, 2):
            assert waiting[n].recv() == draining(f"waiting-{n}", TAKES_NONE)
        gate.open(2)
        assert {holder.recv_answer()["id"] for _ in range(2)} == {"held-0", "held-1"}
        for client in (*waiting, holder, other):
            assert client.recv() == BYE
            client.expect_closed()
            client.close()
    assert_ended(daemon)


@pytest.mark.long  # the daemon waits ten seconds for some clients
def test_clients_in_every_state_do_not_delay_the_end(start_daemon, bench, tmp_path):
    """Clients sent half a frame, half-closed or do not read: the daemon ends all the same."""
    daemon = start_daemon("protocol.reply_high_water=64K")
    sut = {**bench.job(name="none"), "sut": {"status": "timeout"}}
    half = daemon.connect()
    half.send_bytes(b"\0\0\1\0{")
    half_closed = daemon.connect()
    half_closed.submit("a", bench.job(SLEEPING))
    half_closed.sock.shutdown(socket.SHUT_WR)
    assert half_closed.recv()["type"] == "started"
    deaf = daemon.connect()
    stream = b"".join(frame_of(f"{n}", sut) for n in range(2000))
    sender = threading.Thread(target=send_what_is_taken, args=(deaf, stream))
    sender.start()
    with daemon.connect() as other:
        wait_until(
            lambda: any(c["unsent_bytes"] > 65536 for c in other.status()["clients"]),
            "one does not read",
        )
        other.ping()
    daemon.process.send_signal(signal.SIGTERM)
    # Two pending signals of one kind merge, so wait until the daemon has seen the first.
    wait_until(lambda: "draining: " in daemon.log(), "the first signal is heard")
    daemon.process.send_signal(signal.SIGTERM)
    assert half_closed.recv() == draining("a", GRACE_OVER, job_no=1)
    assert daemon.process.wait(DEADLINE) == 0
    sender.join()
    for client in (half, half_closed, deaf):
        client.close()
    assert_ended(daemon)


def send_what_is_taken(client, stream):
    try:
        client.send_bytes(stream)
    except OSError:
        pass
