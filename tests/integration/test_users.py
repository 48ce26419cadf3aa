# SPDX-License-Identifier: MIT
"""Clients of different users: what one of them does on however many connections costs the others no more
than their share of the slots, of the memory for large messages, and of the connections."""

import os
import re
import socket
import subprocess
import time

import pytest
from conftest import DEADLINE, PASSING, Client, Gate, wait_until
from test_cancel import start_public_daemon  # noqa: F401  fixture
from test_clients import assert_answered, fill_room, large_frame
from test_queue import SUT, TIMED, answers, hold_slots, numbered, serving_order, submit_all
from test_shortage import with_open_files

MANY, OTHER = 4711, 4712

# Connects COUNT times as another user and hands the sockets over, as many at a time as a message carries.
CONNECT = """
import socket, sys
path, channel, count = sys.argv[1], socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3])
for _ in range(count):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    socket.send_fds(channel, [b"x"], [client.fileno()])
"""


def connect_as(daemon, uid, count=1, hello=True):
    """Returns COUNT clients of the user UID."""
    ours, theirs = socket.socketpair()
    clients = []
    with ours, theirs:
        command = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "/usr/bin/python3"]
        command += ["-c", CONNECT, str(daemon.socket), str(theirs.fileno()), str(count)]
        with subprocess.Popen(command, pass_fds=[theirs.fileno()]) as process:
            ours.settimeout(DEADLINE)
            for _ in range(count):
                fds = socket.recv_fds(ours, 1, 1)[1]
                clients.append(Client(sock=socket.socket(fileno=fds[0]), hello=hello))
            assert process.wait() == 0
    return clients


def close_all(*clients):
    for client in clients:
        client.close()


@pytest.mark.parametrize("jobs", [4, 1024], ids=["full queue", "queue with room"])
def test_jobs_of_two_users_take_turns(start_public, jobs):
    """One has twenty connections with three jobs each, the other one connection: his next job is served
    after at most one of theirs, and one that the slot had ahead."""
    daemon, bench = start_public(f"queue.jobs={jobs}", "queue.jobs_per_client=4", slots=1)
    timed = bench.job(TIMED)
    with Gate(bench) as gate, daemon.connect() as holder, daemon.connect() as watcher:
        hold_slots(holder, bench.job(gate.python + PASSING), count=1)
        many = connect_as(daemon, MANY, 20)
        for n, client in enumerate(many):
            submit_all(client, {id: timed for id in numbered(f"many-{n}", 3)})
        wait_until(
            lambda: watcher.status()["queue"]["jobs"] == min(jobs, 60)
            or sum(c["paused"] for c in watcher.status()["clients"]) > 10,
            "their jobs are queued",
        )
        (other,) = connect_as(daemon, OTHER)
        submit_all(other, {id: timed for id in numbered("other", 4)})
        wait_until(
            lambda: any(c["uid"] == OTHER and c["queued"] for c in watcher.status()["clients"]),
            "a job of the other is queued",
        )
        gate.open()
        results = answers(other, 4)
        for client in many:
            results += answers(client, 3)
        close_all(other, *many)
    order = serving_order(results)
    assert len(order) == 64
    for n, id in enumerate(numbered("other", 4)):
        assert order.index(id) <= 2 * n + 2, order[:12]


def test_a_user_leaves_connections_to_others(start_public):
    """He may have three times as many as are free, and is told when he has them."""
    daemon, _ = start_public("daemon.max_clients=16")
    wait_until(lambda: connections(daemon) == 1, "the probe at the start is gone")
    many = connect_as(daemon, MANY, 14)
    turned_away = [c for c in many if c.hello["type"] == "bye"]
    assert {c.hello["reason"] for c in turned_away} == {"too_many_clients"}
    assert len(turned_away) == 2
    others = connect_as(daemon, OTHER, 3)
    assert [c.hello["type"] for c in others] == ["hello"] * 3
    others += connect_as(daemon, OTHER, 1)
    assert others[-1].hello["type"] == "bye"
    with daemon.connect() as third:
        third.ping()
    assert f"client refused (uid {MANY}): 12 are connected, and the rest is kept for other users" in daemon.log()
    close_all(*many, *others)


def test_a_user_leaves_connections_to_others_where_descriptors_are_few(start_public):
    """As many connections count as there are descriptors for, and not as the configuration allows."""
    daemon, _ = start_public(shape=with_open_files(100), slots=1)
    wait_until(lambda: connections(daemon) == 1, "the probe at the start is gone")
    said = re.search(r"max_clients is 2048, but 100 open files \(RLIMIT_NOFILE\) suffice for (\d+)", daemon.log())
    most = int(said[1])
    assert 20 < most < 40
    many = connect_as(daemon, MANY, 60, hello=False)
    wait_until(lambda: daemon.log().count(f"client refused (uid {MANY})") > 60 - most, "some are turned away")
    (other,) = connect_as(daemon, OTHER)
    other.sock.settimeout(10)
    assert other.hello["type"] == "hello"
    assert other.run(SUT)["type"] == "result"
    assert "cannot accept" not in daemon.log()
    close_all(other, *many)


def test_large_frames_of_one_user_leave_memory_to_others(start_public):
    """Forty of his connections have sent as much as is taken of them, and no more."""
    daemon, _ = start_public(
        "protocol.receive_bytes=4M", "protocol.max_frame=1M", "protocol.frame_timeout=1h"
    )
    many = fill_room(daemon, clients=connect_as(daemon, MANY, 40))
    (other,) = connect_as(daemon, OTHER)
    other.sock.settimeout(10)
    asked = time.monotonic()
    other.send_bytes(large_frame("other", 500_000))
    assert_answered(other, "other")
    assert time.monotonic() < asked + 1
    close_all(other, *many)


def test_directories_of_one_user_delay_no_others_rubric(start_public):
    """One asks for more large directories than are read at a time. Another one's rubrics, a small one and
    one that is read in portions, have their answers long before those are read: no more of them than were
    being read from the beginning."""
    daemon, bench = start_public(slots=1)
    count, most_places = 60, 24
    bench.rubric(PASSING, "large")
    (bench.root / "large" / "data").touch()
    os.truncate(bench.root / "large" / "data", 63 << 20)
    for n in range(count):  # another directory each
        (bench.root / f"large-{n}").symlink_to("large")
    known, small, some = (bench.job(PASSING) for _ in range(3))
    (bench.root / some["task_class"] / "data").write_bytes(bytes(4 << 20))
    (other,) = connect_as(daemon, OTHER)
    assert_passed(other, "first", known)
    many = connect_as(daemon, MANY, count)
    for n, client in enumerate(many):
        client.submit("large", bench.job(name=f"large-{n}"))
    with daemon.connect() as watcher:
        wait_until(lambda: paused(watcher, MANY) == count, "they wait")
        for id, job in {"known": known, "small": small, "some": some}.items():
            assert_passed(other, id, job)
        assert paused(watcher, MANY) >= count - most_places
    close_all(other, *many)


def paused(watcher, uid):
    return sum(c["paused"] for c in watcher.status()["clients"] if c["uid"] == uid)


def assert_passed(client, id, job):
    client.submit(id, job)
    (result,) = answers(client, 1)
    assert result["type"] == "result" and result["score"]["passed"] is True, result
    assert result["rubric_digest"], result


def connections(daemon):
    with daemon.connect() as client:
        return client.status()["clients_total"]
