# SPDX-License-Identifier: MIT
"""Clients that do not read, connect by the thousand, disconnect, half-close, or send large frames: none
of them delays another client, and no message is lost."""

import json
import resource
import socket
import struct
import threading
import time

import pytest
from conftest import DEADLINE, PASSING, RUBRICD, Closed, cpu_seconds, wait_until
from test_queue import (
    SHELL_PASSING,
    answers,
    assert_all_passed,
    client_of,
    frame_of,
    hold_slots,
    make_shell,  # noqa: F401  fixture
    newest,
    numbered,
    running,
    submit_all,
)

SUT = {
    "kind": "rubric",
    "task_class": "none",
    "case": {},
    "harness_output": {},
    "sut": {"status": "exception"},
}
PING = struct.pack(">I", 15) + b'{"type":"ping"}'
MIB = 1 << 20

# A sanitizer keeps freed memory for a while.
SANITIZED = b"__asan_init" in RUBRICD.read_bytes()

# Starts two long-lived children, one in a session of its own.
FAMILY = """
import subprocess, time
subprocess.Popen(["/bin/sleep", "1000"])
subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
time.sleep(1000)
"""

# The result carries 60,000 bytes: four results overflow a socket's buffer.
VERBOSE = "import sys\nsys.stderr.write('x' * 60000)\nsys.exit(1)\n"


# If a client closes its socket with data unread, the daemon sees a reset instead of an end of file.
UNREAD_OR_NOT = pytest.mark.parametrize("unread", [True, False], ids=["unread", "all-read"])


def in_background(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    return thread


def paused(other):
    """Returns how many clients are paused."""
    return sum(client["paused"] for client in other.status()["clients"])


def raw_messages(client, count):
    """Returns the next COUNT messages without the slow check against their schemas."""
    return [json.loads(client.recv_payload()) for _ in range(count)]


# Clients that do not read


def test_ten_thousand_replies_that_nobody_reads(daemon):
    """The daemon pauses the client and serves another as usual; in the end no reply is missing."""
    ids = [f"{n:0128}" for n in range(10_000)]
    stream = b"".join(frame_of(id, SUT) for id in ids)
    with daemon.connect() as deaf, daemon.connect() as other:
        sender = in_background(deaf.send_bytes, stream)
        wait_until(lambda: paused(other) == 1, "the client that does not read is paused")
        unsent = max(c["unsent_bytes"] for c in other.status()["clients"])
        assert 4 * MIB < unsent < 4 * MIB + 65536
        answered = other.status()["counters"]["results"]
        assert answered < 10_000
        for _ in range(100):
            asked = time.monotonic()
            other.ping()
            assert other.run(SUT)["type"] == "result"
            assert time.monotonic() < asked + 1
        assert other.status()["counters"]["results"] == answered + 100, "it stays paused"
        assert sender.is_alive()

        messages = raw_messages(deaf, 10_000)
        sender.join()
        assert [m["id"] for m in messages] == ids
        assert {m["type"] for m in messages} == {"result"}
        deaf.ping()


def test_a_client_that_submits_without_reading(start_daemon, bench, shell):
    """It submits more real jobs than the queue holds. Others are served meanwhile; all are answered."""
    daemon = start_daemon(*shell, "protocol.reply_high_water=64K")
    quick = bench.job(SHELL_PASSING)
    with daemon.connect() as deaf, daemon.connect() as other:
        sender = in_background(
            deaf.send_bytes, b"".join(frame_of(id, quick) for id in numbered("deaf", 1000))
        )
        wait_until(
            lambda: any(c["unsent_bytes"] > 65536 for c in other.status()["clients"]),
            "its answers pile up",
        )
        for n in range(10):
            asked = time.monotonic()
            assert other.run(quick, f"other-{n}")["score"]["passed"] is True
            assert time.monotonic() < asked + 2
        wait_until(lambda: all(s["job"] is None for s in other.status()["slots"]), "nothing runs")
        assert paused(other) == 1
        results = [m for m in raw_messages(deaf, 2000) if m["type"] == "result"]
        sender.join()
        assert_all_passed(results, numbered("deaf", 1000))
        deaf.ping()


def test_queued_jobs_of_a_client_that_does_not_read_delay_nobody(start_daemon, bench):
    """They fill the queue and do not run while their client is paused; others are served all the same."""
    daemon = start_daemon(
        "queue.jobs=4", "queue.jobs_per_client=4", "protocol.reply_high_water=1K"
    )
    verbose = bench.job(VERBOSE)
    with daemon.connect() as deaf, daemon.connect() as other:
        submit_all(deaf, {id: verbose for id in numbered("deaf", 16)})
        shown = wait_until(
            lambda: next(
                (
                    c
                    for c in other.status()["clients"]
                    if c["paused"] and c["running"] == 0 and c["unsent_bytes"] > 1024
                ),
                None,
            ),
            "it is paused with nothing running",
        )
        assert shown["queued"] == 4
        other.sock.settimeout(5)
        assert other.run(bench.job(PASSING), "other")["score"]["passed"] is True
        other.sock.settimeout(DEADLINE)
        assert sorted(m["id"] for m in answers(deaf, 16)) == sorted(numbered("deaf", 16))


# Many clients


@pytest.fixture(name="many_descriptors")
def raise_descriptor_limit():
    """Allows a thousand sockets here, and two thousand descriptors in daemons, which inherit the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip(f"{hard} descriptors are too few")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_thousand_clients(many_descriptors, start_daemon, bench):
    """All connect at once. Each gets a hello, a pong and a result, some of them of a real job."""
    daemon = start_daemon()
    real = bench.job(PASSING)
    clients = [daemon.connect(hello=False) for _ in range(1000)]
    for n, client in enumerate(clients):
        client.send_bytes(PING + frame_of(f"sut-{n}", SUT))
        if n % 40 == 0:
            client.submit("real", real)
    with daemon.connect() as other:
        status = other.status()
        assert status["clients_total"] == 1001
        assert status["clients"], "status lists as many as fit into one message"
        for n, client in enumerate(clients):
            hello, pong, result = raw_messages(client, 3)
            assert (hello["type"], pong) == ("hello", {"type": "pong"})
            assert (result["type"], result["id"]) == ("result", f"sut-{n}")
        for client in clients[::40]:
            assert client.recv_answer("real")["score"]["passed"] is True
        counters = other.status()["counters"]
        assert (counters["submitted"], counters["passed"], counters["errors"]) == (1025, 25, {})
        for client in clients:
            client.close()
        wait_until(lambda: other.status()["clients_total"] == 1, "all are forgotten")


def connect_when_there_is_room(daemon):
    """Retries until the daemon accepts a connection: those that are being closed still count at first."""

    def connect():
        client = daemon.connect()
        if client.hello["type"] == "hello":
            return client
        client.close()
        return None

    return wait_until(connect, "there is room for a client")


def test_too_many_clients(start_daemon):
    """The daemon turns one more client away with `bye` and the others notice nothing. Once a client
    disconnects there is room."""
    daemon = start_daemon("daemon.max_clients=3")
    clients = [connect_when_there_is_room(daemon) for _ in range(3)]
    for _ in range(3):
        with daemon.connect() as turned_away:
            assert turned_away.hello == {
                "type": "bye",
                "reason": "too_many_clients",
                "message": "too many clients are connected; try again later",
            }
            turned_away.expect_closed()
    for client in clients:
        client.ping()
    assert clients[0].status()["clients_total"] == 3
    clients.pop().close()
    clients.append(connect_when_there_is_room(daemon))
    for client in clients:
        client.ping()
        client.close()


# Clients that disconnect


def test_a_client_that_goes_away_leaves_nothing(daemon, bench, gate):
    """The daemon drops its queued jobs and kills running ones within a second; others' jobs continue."""
    jails = daemon.jails()
    with daemon.connect() as other:
        hold_slots(other, bench.job(gate.python + PASSING), count=1)
        kept = daemon.descendants() - jails
        client = daemon.connect()
        submit_all(client, {id: bench.job(FAMILY) for id in numbered("a", 20)})
        other.submit("queued", bench.job(PASSING))
        assert client.recv()["type"] == "started"
        wait_until(lambda: len(daemon.descendants() - jails - kept) == 3, "the family runs")
        client.close()
        wait_until(
            lambda: daemon.descendants() - jails - kept == set(), "its processes are gone", 1
        )
        assert other.recv_answer("queued")["score"]["passed"] is True
        wait_until(lambda: other.status()["clients_total"] == 1, "it is forgotten", 1)
        assert other.status()["queue"]["jobs"] == 0
        assert running(other) == ["held-0"]
        gate.open()
        assert other.recv_answer("held-0")["score"]["passed"] is True
        assert other.status()["counters"]["passed"] == 2


def test_many_clients_that_go_away_at_every_moment(daemon, bench):
    """They disconnect in the middle of a frame, with jobs queued, starting, running or being killed."""
    jails = daemon.jails()
    family = bench.job(FAMILY)
    with daemon.connect() as other:
        for moment in range(40):
            client = daemon.connect(hello=moment % 2 == 0)
            submit_all(client, {id: family for id in numbered("a", 3)})
            for _ in range(moment % 8 * 3):
                other.ping()
            if moment % 3 == 0:
                client.send({"type": "cancel", "id": "a-0"})
            if moment % 5 == 0:
                client.send_bytes(b"\0\0\0\x10{")
            client.close()
        wait_until(lambda: other.status()["clients_total"] == 1, "all are forgotten")
        wait_until(lambda: daemon.descendants() == jails, "all their processes are gone")
        assert other.run(bench.job(PASSING))["score"]["passed"] is True
        assert other.status()["queue"]["jobs"] == 0


@UNREAD_OR_NOT
def test_a_paused_client_that_goes_away(daemon, bench, unread):
    """The daemon does not read from it, yet notices at once that it disconnects."""
    jails = daemon.jails()
    with daemon.connect() as other:
        client = daemon.connect()
        family = bench.job(FAMILY)
        submit_all(client, {id: family for id in numbered("a", 256 + 2 + 3)})
        wait_until(lambda: paused(other) == 1, "the client is paused")
        wait_until(lambda: len(daemon.descendants() - jails) == 6, "two families run")
        if not unread:
            assert [m["type"] for m in raw_messages(client, 2)] == ["started"] * 2
        client.close()
        wait_until(lambda: daemon.descendants() == jails, "its processes are gone", 1)
        wait_until(lambda: other.status()["clients_total"] == 1, "it is forgotten", 1)
        queue = other.status()["queue"]
        assert (queue["jobs"], queue["bytes"]) == (0, 0)


# Half-closed clients


def test_half_close_with_nothing_to_wait_for(client):
    client.ping()
    client.sock.shutdown(socket.SHUT_WR)
    client.expect_closed()


def test_half_close_still_gets_every_reply(start_daemon, bench, shell):
    """The daemon reads everything sent before the half-close, even what the queue has no room for yet."""
    daemon = start_daemon(*shell, "queue.jobs_per_client=5", "queue.jobs=5")
    quick = bench.job(SHELL_PASSING)
    with daemon.connect() as client:
        client.send_bytes(b"".join(frame_of(id, quick) for id in numbered("a", 200)) + PING)
        client.sock.shutdown(socket.SHUT_WR)
        messages = raw_messages(client, 401)
        assert_all_passed([m for m in messages if m["type"] == "result"], numbered("a", 200))
        assert {"type": "pong"} in messages
        client.expect_closed()


def test_half_close_of_a_client_that_was_paused_for_not_reading(start_daemon):
    daemon = start_daemon("protocol.reply_high_water=64K")
    ids = numbered("a", 3000)
    with daemon.connect() as client, daemon.connect() as other:

        def send():
            client.send_bytes(b"".join(frame_of(id, SUT) for id in ids))
            client.sock.shutdown(socket.SHUT_WR)

        sender = in_background(send)
        wait_until(lambda: paused(other) == 1, "the client is paused")
        messages = raw_messages(client, 3000)
        sender.join()
        assert [m["id"] for m in messages] == ids
        client.expect_closed()


def test_half_close_and_a_pause_before_reading(start_daemon, bench):
    """A client that reads late gets every answer, however long ago the answers became ready."""
    daemon = start_daemon()
    verbose = bench.job(VERBOSE)
    with daemon.connect() as client, daemon.connect() as other:
        submit_all(client, {id: verbose for id in numbered("a", 8)})
        client.sock.shutdown(socket.SHUT_WR)
        ready = wait_until(
            lambda: (s := other.status())["counters"]["results"] == 8 and s, "all are answered"
        )
        later = ready["uptime_ms"] + 2500
        wait_until(lambda: other.status()["uptime_ms"] > later, "time has passed")
        assert sorted(m["id"] for m in answers(client, 8)) == numbered("a", 8)
        client.expect_closed()


@UNREAD_OR_NOT
def test_full_close_of_a_half_closed_client(daemon, bench, unread):
    """Nobody can receive the answers any more, so the daemon drops its jobs."""
    jails = daemon.jails()
    with daemon.connect() as other:
        client = daemon.connect()
        submit_all(client, {id: bench.job(FAMILY) for id in numbered("a", 4)})
        client.sock.shutdown(socket.SHUT_WR)
        wait_until(lambda: len(daemon.descendants() - jails) == 6, "two families run")
        assert other.status()["queue"]["jobs"] == 2
        if not unread:
            assert [m["type"] for m in raw_messages(client, 2)] == ["started"] * 2
        client.close()
        wait_until(lambda: daemon.descendants() == jails, "its processes are gone", 1)
        wait_until(lambda: other.status()["clients_total"] == 1, "it is forgotten", 1)
        assert other.status()["queue"]["jobs"] == 0


# Large frames


def large_frame(id, size):
    """Returns a submit frame of SIZE bytes with its header, which the daemon answers without a child."""
    job = {**SUT, "harness_output": {"text": ""}}
    job["harness_output"]["text"] = "x" * (size - len(frame_of(id, job)))
    return frame_of(id, job)


def assert_answered(client, id):
    answer = client.recv_answer(id)
    assert answer["score"]["failure_modes"][0]["code"] == "sut.exception"


def test_two_hundred_half_frames_cost_little(daemon):
    """The daemon allocates memory for the bytes that have arrived, not for the length announced."""
    with daemon.connect() as other:
        before = other.status()["memory"]["rss_bytes"]
        clients = [daemon.connect() for _ in range(200)]
        for client in clients:
            client.send_bytes(struct.pack(">I", 8 * MIB) + b"{" * 1000)
        wait_until(lambda: other.status()["clients_total"] == 201, "all are there")
        other.ping()
        assert other.status()["memory"]["rss_bytes"] < before + 200 * 50_000 or SANITIZED
        for client in clients:
            client.close()
        wait_until(lambda: other.status()["clients_total"] == 1, "all are forgotten")


def send_all_that_is_taken(clients, data):
    """Sends DATA again and again until no socket takes more and the daemon reads no more."""
    for client in clients:
        client.sock.setblocking(False)
    progress = True
    while progress:
        progress = False
        for client in clients:
            try:
                progress |= client.sock.send(data) > 0
            except BlockingIOError:
                pass


def test_two_hundred_clients_that_send_all_they_may(start_daemon):
    """Beyond receive_bytes each client costs no more memory than a small frame."""
    daemon = start_daemon("protocol.receive_bytes=16M")
    with daemon.connect() as other:
        before = other.status()["memory"]["rss_bytes"]
        clients = [daemon.connect() for _ in range(200)]
        for client in clients:
            client.send_bytes(struct.pack(">I", 8 * MIB))
        for _ in range(3):
            send_all_that_is_taken(clients, b"{" * 65536)
            other.ping()
        after = other.status()["memory"]["rss_bytes"]
        assert after < before + 16 * MIB + 200 * 100_000 or SANITIZED
        for client in clients:
            client.close()
        wait_until(lambda: other.status()["clients_total"] == 1, "all are forgotten")
        other.ping()


def test_large_frames_of_many_clients(start_daemon):
    """Twelve frames of 8 MiB share 16 MiB: all begin at once, and each is answered in its turn."""
    daemon = start_daemon("protocol.receive_bytes=16M")
    frames = {id: large_frame(id, 8 * MIB) for id in numbered("large", 12)}
    with daemon.connect() as other:
        before = other.status()["memory"]["rss_bytes"]
        clients = {id: daemon.connect() for id in frames}
        for id, client in clients.items():
            client.send_bytes(frames[id][:1000])
        senders = [in_background(clients[id].send_bytes, frames[id][1000:]) for id in frames]
        most = 0
        while any(sender.is_alive() for sender in senders):
            most = max(most, other.status()["memory"]["rss_bytes"])
        for id, client in clients.items():
            assert_answered(client, id)
            client.close()
        # Room for the frames, and for one of them while it is decoded.
        assert most < before + 16 * MIB + 5 * 8 * MIB or SANITIZED


# A frame above 64 KiB reserves a share of receive_bytes, here 2 MiB. Two frames of a million bytes are
# begun, which leaves room for one of 80,000 bytes, but not for two of those or for one of 100,000.


@pytest.fixture(name="two_begun")
def begin_two_large_frames(start_daemon):
    """Yields (daemon, first, second): two clients, each in the middle of a frame of a million bytes."""
    daemon = start_daemon(
        "protocol.receive_bytes=2M",
        "protocol.max_frame=1M",
        "protocol.frame_timeout=1h",
        "protocol.reply_high_water=1K",
    )
    begun = [daemon.connect() for _ in range(2)]
    for client in begun:
        client.send_bytes(large_frame("begun", 1_000_000)[:1000])
        client.sock.settimeout(5)
    with daemon.connect() as other:
        other.ping()
    yield daemon, *begun
    for client in begun:
        client.close()


def finish(client):
    client.send_bytes(large_frame("begun", 1_000_000)[1000:])
    assert_answered(client, "begun")


def begin(daemon, id, size, sent=None):
    """Returns a client that has sent the first SENT bytes of a frame of SIZE, or all of it."""
    client = daemon.connect()
    client.sock.settimeout(5)
    client.send_bytes(large_frame(id, size)[:sent])
    with daemon.connect() as other:
        other.ping()
    return client


def test_freed_room_goes_to_every_frame_that_fits(two_begun):
    """The first in line gets its share and stops sending; those behind it still get theirs."""
    daemon, first, _ = two_begun
    silent = begin(daemon, "silent", 100_000, sent=1000)
    behind = [begin(daemon, f"behind-{n}", 100_000) for n in range(3)]
    finish(first)
    for n, client in enumerate(behind):
        assert_answered(client, f"behind-{n}")
        client.close()
    silent.close()


def test_a_client_that_disconnects_while_it_waits_for_room_delays_nobody(two_begun):
    """The first in line needs more room than there is. Once it has gone, the one behind it fits."""
    daemon, _, _ = two_begun
    gone = begin(daemon, "gone", 500_000, sent=1000)
    behind = begin(daemon, "behind", 80_000)
    gone.close()
    assert_answered(behind, "behind")
    behind.close()


def test_a_client_that_waits_for_room_and_does_not_read_delays_nobody(two_begun, bench, gate):
    """The first in line is paused until it reads its answers; those behind it continue."""
    daemon, first, _ = two_begun
    deaf = daemon.connect()
    submit_all(deaf, {id: bench.job(gate.python + VERBOSE) for id in numbered("job", 8)})
    large = large_frame("deaf", 500_000)
    sender = in_background(deaf.send_bytes, large)
    with daemon.connect() as other:
        number = newest(other) - 1
        wait_until(lambda: client_of(number, other)["running"] == 2, "its jobs run")
        wait_until(lambda: client_of(number, other)["queued"] == 6, "the others are queued")
        behind = begin(daemon, "behind", 100_000)
        gate.open(8)
        wait_until(lambda: client_of(number, other)["paused"], "it is paused for not reading")
        finish(first)
        assert_answered(behind, "behind")
        behind.close()
        ids = {deaf.recv_answer()["id"] for _ in range(9)}
        sender.join()
        assert ids == {*numbered("job", 8), "deaf"}
        deaf.close()


def test_small_frames_need_no_room(two_begun):
    """They overtake every frame that waits for room."""
    daemon, _, _ = two_begun
    waiting = begin(daemon, "waiting", 500_000, sent=1000)
    with daemon.connect() as other:
        other.ping()
        other.send_bytes(large_frame("small", 65_536))
        assert_answered(other, "small")
    waiting.close()


def test_a_client_in_line_is_not_timed_out(start_daemon):
    """The daemon keeps a waiting frame incomplete itself. A client that has room must finish in time."""
    daemon = start_daemon(
        "protocol.receive_bytes=1M", "protocol.max_frame=1M", "protocol.frame_timeout=0.3"
    )
    silent = begin(daemon, "silent", 1_000_000, sent=1000)
    waiting = begin(daemon, "waiting", 200_000)
    error = silent.recv()
    assert error["message"] == "frame: incomplete after 0.3 s, with 1000 bytes received"
    with pytest.raises(Closed):
        silent.recv()
    assert_answered(waiting, "waiting")
    for client in (silent, waiting):
        client.close()


# Time


def wait_for_room(daemon, bench):
    return [
        *(begin(daemon, "begun", 1_000_000, sent=1000) for _ in range(2)),
        *(begin(daemon, "waiting", size) for size in (100_000, 200_000)),
        begin(daemon, "begins to wait", 100_000, sent=1000),
    ]


def read_nothing(daemon, bench):
    client = daemon.connect()
    client.send_bytes(b"".join(frame_of(id, SUT) for id in numbered("unread", 600)))
    with daemon.connect() as other:
        wait_until(lambda: paused(other) == 1, "the client is paused")
    return [client]


def read_nothing_half_closed(daemon, bench):
    clients = read_nothing(daemon, bench)
    clients[0].sock.shutdown(socket.SHUT_WR)
    return clients


def wait_for_the_queue(daemon, bench):
    client = daemon.connect()
    sleeping = bench.job("import time; time.sleep(1000)")
    submit_all(client, {id: sleeping for id in numbered("a", 2 + 4 + 1)})
    client.send_bytes(PING[:9])
    with daemon.connect() as other:
        wait_until(lambda: paused(other) == 1, "the client is paused")
    return [client]


def wait_half_closed(daemon, bench):
    client = daemon.connect()
    client.submit("a", bench.job("import time; time.sleep(1000)"))
    client.sock.shutdown(socket.SHUT_WR)
    assert client.recv()["type"] == "started"
    return [client]


def send_half_a_frame(daemon, bench):
    return [begin(daemon, "half", size, sent=size - 1) for size in (1000, 65_536, 300_000)]


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(wait_for_room, id="room"),
        pytest.param(read_nothing, id="unread"),
        pytest.param(read_nothing_half_closed, id="unread-half-closed"),
        pytest.param(wait_for_the_queue, id="queue"),
        pytest.param(wait_half_closed, id="half-closed"),
        pytest.param(send_half_a_frame, id="half-a-frame"),
    ],
)
def test_waiting_costs_no_cpu(start_daemon, bench, state):
    """The daemon sleeps while it waits for a client or a client waits for it."""
    daemon = start_daemon(
        "protocol.receive_bytes=2M",
        "protocol.max_frame=1M",
        "protocol.reply_high_water=1K",
        "queue.jobs_per_client=4",
    )
    clients = state(daemon, bench)
    with daemon.connect() as other:
        begun = other.status()["uptime_ms"]
        used = cpu_seconds(daemon.process.pid)
        wait_until(lambda: other.status()["uptime_ms"] > begun + 400, "time has passed")
        used = cpu_seconds(daemon.process.pid) - used
        seconds = (other.status()["uptime_ms"] - begun) / 1000
    for client in clients:
        client.close()
    assert used < seconds / 3
