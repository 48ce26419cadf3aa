# SPDX-License-Identifier: MIT
"""Clients that do not read, connect by the thousand, disconnect, half-close, or send large frames: none
of them delays another client, and no message is lost."""

import contextlib
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest
from conftest import DEADLINE, PASSING, PYTHON, ROOT, RUBRICD, Closed, wait_until
from descriptors import needs_refusal, send_descriptor
from processes import cpu_seconds
from test_queue import (
    SHELL_PASSING,
    answers,
    assert_all_passed,
    frame_of,
    hold_slots,
    make_shell,  # noqa: F401  fixture
    numbered,
    running,
    submit_all,
)

pytestmark = pytest.mark.cold

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


def test_small_requests_by_the_thousand_hold_nobody_up(daemon):
    """Each is small, and its answer large: the daemon turns to the others before it has answered all of them. The
    daemon's CPU time tells how long it has not done so, however busy the host is."""
    status = struct.pack(">I", 17) + b'{"type":"status"}'
    with daemon.connect() as victim, contextlib.ExitStack() as stack:
        flood = []
        for _ in range(40):
            flood.append(stack.enter_context(daemon.connect()).sock)
            flood[-1].setblocking(False)
        os.kill(daemon.process.pid, signal.SIGSTOP)
        for sock in flood:
            with contextlib.suppress(BlockingIOError):
                sock.send(status * 4000)
        victim.send({"type": "ping"})
        before = cpu_seconds(daemon.process.pid)
        os.kill(daemon.process.pid, signal.SIGCONT)
        assert victim.recv() == {"type": "pong"}
        took = cpu_seconds(daemon.process.pid) - before
        assert took < 0.4 * (4 if SANITIZED else 1), took


def resident(daemon):
    """Returns the resident bytes of the daemon."""
    status = Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) << 10


def test_what_many_leave_unread_is_bounded(daemon):
    """Each may leave 4 MiB, but not all of them: the more of them there are, the sooner they are paused."""
    status = struct.pack(">I", 17) + b'{"type":"status"}'
    with daemon.connect() as other, contextlib.ExitStack() as stack:
        flood = [stack.enter_context(daemon.connect()) for _ in range(60)]
        before = resident(daemon)
        for client in flood:
            client.sock.setblocking(False)

        def all_are_paused():
            for client in flood:
                with contextlib.suppress(BlockingIOError):
                    client.sock.send(status * 2000)
            return paused(other) == len(flood)

        wait_until(all_are_paused, "all of them are paused")
        unsent = sum(c["unsent_bytes"] for c in other.status()["clients"])
        assert 32 * MIB < unsent < 68 * MIB, unsent
        assert SANITIZED or resident(daemon) - before < 200 * MIB
        assert other.run(SUT)["type"] == "result"


def test_large_results_that_newcomers_leave_unread_are_bounded(start_daemon):
    """Each of many clients gets one result of 24 MiB (4 MiB of NULs) and reads nothing. Those that leave most are
    dropped; one that sleeps with less stays, and one that reads is served."""
    daemon = start_daemon("protocol.reply_timeout=3600s")
    code = "import os\nfor i in range(60): os.write(1, bytes(65536))"
    job = {"kind": "sandbox", "argv": [PYTHON, "-c", code], "limits": {"output_bytes": 4 * MIB}}
    with daemon.connect() as other, daemon.connect() as asleep, contextlib.ExitStack() as stack:
        asleep.submit("asleep", {**job, "argv": [PYTHON, "-c", code.replace("60", "20")]})
        wait_until(lambda: paused(other) == 1, "the one that sleeps is paused")
        number = next(c["client"] for c in other.status()["clients"] if c["unsent_bytes"] > MIB)

        def unsent():
            clients = other.status()["clients"]
            assert any(c["client"] == number for c in clients), "the one that sleeps is still there"
            return sum(c["unsent_bytes"] for c in clients)

        for i in range(14):
            deaf = stack.enter_context(daemon.connect())
            deaf.submit("x", job)
            wait_until(lambda i=i: other.status()["counters"]["results"] == i + 2, "its result is there")
        wait_until(lambda: other.run(SUT)["type"] == "result" and unsent() < 2 * 64 * MIB, "the deaf ones are dropped")


def test_one_that_reads_slowly_keeps_nobody_from_being_dropped(start_daemon):
    """It leaves more than any other, and is not one that reads nothing."""
    daemon = start_daemon("protocol.reply_timeout=3600s")
    code = "import os\nfor i in range({}): os.write(1, bytes(65536))"
    large, less = (
        {"kind": "sandbox", "argv": [PYTHON, "-c", code.format(n)], "limits": {"output_bytes": 4 * MIB}} for n in (60, 50)
    )
    over = threading.Event()

    def read_slowly(client):
        while not over.wait(0.2):
            client.sock.recv(100_000)

    with daemon.connect() as other, daemon.connect() as slow, contextlib.ExitStack() as stack:
        slow.submit("slow", large)
        wait_until(lambda: paused(other) == 1, "the slow one is paused")
        reader = in_background(read_slowly, slow)
        try:
            for i in range(14):
                deaf = stack.enter_context(daemon.connect())
                deaf.submit("x", less)
                wait_until(lambda i=i: other.status()["counters"]["results"] == i + 2, "its result is there")
            wait_until(
                lambda: other.run(SUT) and sum(c["unsent_bytes"] for c in other.status()["clients"]) < 2 * 64 * MIB,
                "some of the deaf ones are dropped",
                60,
            )
            assert other.status()["clients_total"] < 16
        finally:
            over.set()
            reader.join()


@pytest.mark.skipif(SANITIZED, reason="the allocator of the sanitizers gives small blocks more memory")
@pytest.mark.parametrize("at_once", [1, 100])
def test_small_replies_that_wait_take_little_more_memory_than_bytes(start_daemon, at_once):
    """Each reply takes 19 bytes, and may take twice of that, but not pieces of memory of its own. Sent one by one
    or many at once: the daemon hands over what one turn of its loop has made."""
    daemon = start_daemon()
    pings = (struct.pack(">I", 15) + b'{"type":"ping"}') * at_once
    with daemon.connect() as deaf, daemon.connect() as other:
        before = resident(daemon)
        deaf.sock.setblocking(False)

        def is_paused():
            with contextlib.suppress(BlockingIOError):
                while True:
                    deaf.sock.send(pings)
            return paused(other) == 1

        wait_until(is_paused, "it is paused")
        unsent = sum(c["unsent_bytes"] for c in other.status()["clients"])
        grown = resident(daemon) - before
        assert unsent > 3 * MIB and grown < 2 * unsent + 8 * MIB, (unsent, grown)


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


def test_queued_jobs_of_a_client_that_does_not_read_delay_nobody(start_daemon, bench, gate):
    """They fill the queue and do not run while their client is paused; others are served all the same."""
    daemon = start_daemon(
        "queue.jobs=4", "queue.jobs_per_client=4", "protocol.reply_high_water=1K"
    )
    verbose = bench.job(VERBOSE)
    with daemon.connect() as deaf, daemon.connect() as other:
        hold_slots(other, bench.job(gate.python + PASSING))
        submit_all(deaf, {id: verbose for id in numbered("deaf", 16)})
        wait_until(lambda: other.status()["queue"]["jobs"] == 4, "the queue is full")
        gate.open(2)
        answers(other, 2)
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
        assert shown["queued"] > 0  # how many depends on when it was paused
        other.sock.settimeout(5)
        assert other.run(bench.job(PASSING), "other")["score"]["passed"] is True
        other.sock.settimeout(DEADLINE)
        assert sorted(m["id"] for m in answers(deaf, 16)) == sorted(numbered("deaf", 16))


def leave_unread(daemon, bench, count):
    """Returns COUNT clients, each with queued jobs that do not run because it leaves replies unread."""
    verbose = bench.job(VERBOSE)
    clients = [daemon.connect() for _ in range(count)]
    for client in clients:
        client.send_bytes(b"".join(frame_of(id, verbose) for id in numbered("deaf", 16)))
    with daemon.connect() as other:
        wait_until(
            lambda: paused(other) == count
            and all(slot["job"] is None for slot in other.status()["slots"]),
            "all are paused and nothing runs",
        )
    return clients


def test_replies_that_many_leave_unread_keep_nobody_from_an_idle_slot(start_daemon, bench):
    """Their jobs take more room than the queue has. A client that reads is served, one job or several."""
    daemon = start_daemon(
        "queue.jobs=4", "queue.jobs_per_client=4", "protocol.reply_high_water=1K", slots=3
    )
    deaf = leave_unread(daemon, bench, 4)
    passing = bench.job(PASSING)
    with daemon.connect() as other:
        assert other.status()["queue"]["jobs"] >= 4, "as many as the queue has room for"
        other.sock.settimeout(10)
        for n in range(5):
            asked = time.monotonic()
            assert other.run(passing, f"other-{n}")["score"]["passed"] is True
            assert time.monotonic() < asked + 1
        submit_all(other, {id: passing for id in numbered("more", 20)})
        assert_all_passed(answers(other, 20), numbered("more", 20))
    for client in deaf:
        assert sorted(m["id"] for m in answers(client, 16)) == sorted(numbered("deaf", 16))
        client.close()


def metric(other, name):
    other.send({"type": "metrics"})
    text = other.recv()["text"]
    return float(re.search(rf"^{name} (.*)$", text, re.MULTILINE)[1])


def test_replies_that_stay_unread_end_the_connection(start_daemon, bench):
    """The daemon cancels the jobs, logs and counts both, and says why to a client that reads on."""
    daemon = start_daemon(
        "queue.jobs=4",
        "queue.jobs_per_client=4",
        "protocol.reply_high_water=1K",
        "protocol.reply_timeout=500ms",
    )
    with daemon.connect() as other, daemon.connect() as deaf:
        deaf.send_bytes(b"".join(frame_of(id, bench.job(VERBOSE)) for id in numbered("deaf", 16)))
        wait_until(lambda: metric(other, "rubricd_connections_unread_total") == 1, "it is dismissed")
        cancelled = metric(other, "rubricd_unread_jobs_total")
        assert cancelled >= 4
        assert other.status()["queue"]["jobs"] == 0
        assert other.run(bench.job(PASSING))["score"]["passed"] is True
        logged = re.search(
            r"client \d+ \(uid \d+, pid \d+\) is dismissed: it has left (\d+) bytes of replies unread for "
            r"too long; its (\d+) unanswered jobs are cancelled",
            daemon.log(),
        )
        assert int(logged[1]) > 1024 and int(logged[2]) == cancelled
        messages = [deaf.recv()]
        while messages[-1]["type"] != "bye":
            messages.append(deaf.recv())
        assert messages[-1]["reason"] == "replies_unread"
        deaf.expect_closed()
        assert metric(other, "rubricd_connections_unread_total") == 1


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
        wait_until(lambda: other.status()["queue"]["jobs"] == 2, "two jobs run")
        wait_until(lambda: len(daemon.descendants() - jails) == 6, "they are families")
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
        # One of them may fill the whole of its frame beyond the budget.
        assert after < before + 16 * MIB + 8 * MIB + 200 * 100_000 or SANITIZED
        for client in clients:
            client.close()
        wait_until(lambda: other.status()["clients_total"] == 1, "all are forgotten")
        other.ping()


def test_large_frames_of_many_clients(start_daemon):
    """Twelve frames of 8 MiB share 16 MiB: all begin at once, and each is answered in its turn."""
    # A busy host must not pass for a client that stalls.
    daemon = start_daemon("protocol.receive_bytes=16M", "protocol.frame_timeout=600s")
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


# Above 64 KiB a frame takes shares of receive_bytes as it arrives. Those who fill it leave their frames
# incomplete, so none of them gives anything back by itself.


def begin(daemon, id, size, sent=None):
    """Returns a client that has sent the first SENT bytes of a frame of SIZE, or all of it."""
    client = daemon.connect()
    client.sock.settimeout(5)
    client.send_bytes(large_frame(id, size)[:sent])
    with daemon.connect() as other:
        other.ping()
    return client


def fill_room(daemon, count=30, clients=None):
    """Returns COUNT clients, or CLIENTS, that have sent as much of a frame of a million bytes as is taken of them,
    without its last bytes."""
    clients = clients or [daemon.connect() for _ in range(count)]
    part, sent = b"x" * 100_000, dict.fromkeys(clients, 0)
    for client in clients:
        client.send_bytes(struct.pack(">I", 1_000_000))
        client.sock.setblocking(False)
    with daemon.connect() as other:
        for _ in range(1000):
            before = sum(sent.values())
            for client, n in sent.items():
                try:
                    sent[client] += client.sock.send(part[: 999_990 - n])
                except BlockingIOError:
                    pass
            other.ping()
            if sum(sent.values()) == before and max(sent.values()) == 999_990:
                break
    assert max(sent.values()) == 999_990, "one of them is the guest"
    for client in clients:
        client.sock.settimeout(DEADLINE)
    return clients


@needs_refusal
def test_no_descriptor_can_be_sent_to_the_daemon(daemon):
    """To close a socket that lingers over unsent data takes as long as its owner likes. Here the daemon would do so
    when it closes the connection, with a message in it that it has not read."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    lingering = socket.create_connection(listener.getsockname())
    far, _ = listener.accept()
    lingering.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            lingering.send(bytes(65536))
    lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    with daemon.connect() as client, far:
        with pytest.raises(PermissionError):
            send_descriptor(client.sock, lingering.fileno())
        client.ping()
        lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
    lingering.close()
    listener.close()


def test_a_prompt_client_is_served_among_those_that_dribble(start_daemon):
    """Fifty clients announce more than 64 MiB together and send a byte now and then: that takes no memory."""
    daemon = start_daemon("protocol.frame_timeout=5s")
    dribbling = [begin(daemon, "slow", 1_600_000, sent=1000) for _ in range(50)]
    ended = threading.Event()

    def dribble():
        while not ended.wait(0.02):
            for client in dribbling:
                client.sock.send(b"x")

    dribbler = in_background(dribble)
    try:
        for _ in range(3):
            asked = time.monotonic()
            with begin(daemon, "prompt", 100 << 10) as prompt:
                assert_answered(prompt, "prompt")
            assert time.monotonic() < asked + 1
    finally:
        ended.set()
        dribbler.join()
    for client in dribbling:
        client.close()


def test_those_who_stall_lose_their_memory_to_those_who_wait(start_daemon):
    """The frame timeout is 30 s. While others wait a client has a thirtieth of it for each part."""
    daemon = start_daemon("protocol.receive_bytes=1M", "protocol.max_frame=1M")
    stalled = fill_room(daemon, 8)
    asked = time.monotonic()
    with daemon.connect() as prompt:
        prompt.send_bytes(large_frame("prompt", 900_000))
        assert_answered(prompt, "prompt")
    assert time.monotonic() < asked + 25
    error = next(c for c in stalled if c.sock in select.select([c.sock], [], [], 0)[0]).recv()
    assert error["code"] == "bad_request"
    assert re.fullmatch(
        r"frame: incomplete, with \d+ bytes received and no more in time, while others wait for the memory",
        error["message"],
    )
    for client in stalled:
        client.close()


def test_clients_that_disconnect_while_they_wait_for_room_delay_nobody(start_daemon):
    """Each that goes away makes room, or its place in line goes to the next."""
    daemon = start_daemon(
        "protocol.receive_bytes=1M", "protocol.max_frame=1M", "protocol.frame_timeout=1h"
    )
    for order in (1, -1):
        clients = fill_room(daemon)
        waiting = daemon.connect()
        sender = in_background(waiting.send_bytes, large_frame("waiting", 1_000_000))
        for client in clients[::order]:
            client.close()
        sender.join()
        assert_answered(waiting, "waiting")
        waiting.close()


def test_small_frames_need_no_room(start_daemon):
    """They overtake every frame that waits for room."""
    daemon = start_daemon(
        "protocol.receive_bytes=1M", "protocol.max_frame=1M", "protocol.frame_timeout=1h"
    )
    clients = fill_room(daemon)
    with daemon.connect() as other:
        other.sock.settimeout(5)
        other.ping()
        other.send_bytes(large_frame("small", 65_536))
        assert_answered(other, "small")
    for client in clients:
        client.close()


def test_a_silent_client_is_timed_out_and_another_is_not(start_daemon):
    """A client that sends nothing must finish in time, and keeps no memory from another until then."""
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


def peak_of(daemon):
    """Returns the most memory that the daemon has taken, in bytes."""
    text = Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", text)[1]) * 1024


@pytest.mark.parametrize("value", ["{}", "[]", "1", '""', '{"a":1}', "[[[]]]"])
def test_a_frame_of_very_many_values_is_refused_with_its_id(start_daemon, value):
    """The largest frame takes at most 200 MiB, whatever is in it, and costs its own job alone."""
    daemon = start_daemon()
    job = {**SUT, "harness_output": {"x": "HERE"}}
    frame = json.dumps({"type": "submit", "id": "large", "job": job}).encode()
    values = b",".join([value.encode()] * ((16 * MIB - 500) // (len(value) + 1)))
    with daemon.connect() as client:
        client.send_frame(frame.replace(b'"HERE"', b"[" + values + b"]"))
        error = client.recv()
        assert (error["code"], error["id"]) == ("bad_request", "large")
        place = r"\(byte \d+, in job\.harness_output\.x[^ ]*\)"
        assert re.fullmatch(
            r"JSON: too large: its values would take more than 64 MiB " + place, error["message"]
        )
        client.ping()
        client.send_frame(frame.replace(b'"HERE"', b'"' + b"x" * (16 * MIB - 500) + b'"'))
        assert_answered(client, "large")
        assert peak_of(daemon) < 200 * MIB or SANITIZED


# Connections that the kernel does not watch


@pytest.fixture(name="epoll")
def make_full_epoll(tmp_path):
    """Returns (the environment of a daemon, a file): while the file exists the daemon's epoll is full."""
    if SANITIZED:
        pytest.skip("a sanitizer wants to be the first library")
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    library, full = tmp_path / "epoll_full.so", Path(tempfile.mkdtemp()) / "full"
    full.parent.chmod(0o755)
    source = ROOT / "tests" / "integration" / "epoll_full.c"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source], check=True)
    yield {**os.environ, "LD_PRELOAD": str(library), "EPOLL_FULL": str(full)}, full
    shutil.rmtree(full.parent)


def test_a_connection_that_cannot_be_watched_is_closed(start_daemon, epoll):
    """It would be deaf otherwise. It gets its hello, an error and the end; others are served on."""
    env, full = epoll
    daemon = start_daemon(env=env)
    with daemon.connect() as before:
        full.touch()
        with daemon.connect() as client:
            client.sock.settimeout(10)
            assert client.recv() == {
                "type": "error",
                "code": "internal",
                "message": "the daemon cannot watch one more connection",
                "retriable": True,
            }
            client.expect_closed()
        before.ping()
        assert "cannot be watched: No space left on device" in daemon.log()
        full.unlink()
        wait_until(lambda: before.status()["clients_total"] == 1, "it is forgotten")
    with daemon.connect() as after:
        after.ping()


def test_a_paused_connection_that_cannot_be_watched_again_is_closed(start_daemon, bench, gate, epoll):
    """While it is paused its socket is not watched."""
    env, full = epoll
    daemon = start_daemon("queue.jobs_per_client=1", env=env)
    with daemon.connect() as other, daemon.connect() as client:
        client.sock.settimeout(20)
        submit_all(client, {id: bench.job(gate.python + PASSING) for id in numbered("a", 4)})
        wait_until(lambda: paused(other) == 1, "it is paused")
        started = [client.recv() for _ in range(2)]
        full.touch()
        other.send({"type": "cancel", "job_no": max(m["job_no"] for m in started) + 1})
        assert [client.recv()["code"] for _ in range(2)] == ["cancelled", "internal"]
        client.expect_closed()
        full.unlink()
        wait_until(lambda: daemon.descendants() == daemon.jails(), "its jobs are gone")


# Time


def wait_for_room(daemon, bench):
    return fill_room(daemon)


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
