# SPDX-License-Identifier: MIT
"""Gateways, which submit for users of their own: each of those has its part of the daemon as a user of this host
has."""

import contextlib
import json
import os
import struct

import pytest
from conftest import DEADLINE, PASSING, PYTHON, wait_until
from http_gateway import ALICE, BOB, ECHO, Gateway, make_start, make_tokens, need_gateway  # noqa: F401  fixtures
from test_clients import assert_answered, fill_room, large_frame, metric
from test_program import digest_of
from test_queue import SUT, TIMED, answers, client_of, hold_slots, newest, numbered, serving_order

GATEWAY = f"daemon.gateway_users=no-such-account {os.geteuid()}"


def submit_for(client, share, id, job=SUT):
    client.send({"type": "submit", "id": id, "share": share, "job": job})


def large_frame_for(share, id, size):
    """Returns a frame of about SIZE bytes, as large_frame() does, that names SHARE."""
    payload = large_frame(id, size)[4:].replace(b'"type": "submit"', b'"type": "submit", "share": "%b"' % share.encode())
    return len(payload).to_bytes(4, "big") + payload


def test_hello_tells_a_gateway_that_it_is_one(start_daemon):
    with start_daemon(GATEWAY).connect() as client:
        assert client.hello["shares"] is True


@pytest.mark.parametrize("users", ["", "no-such-account 4294967294"], ids=["nobody", "others"])
def test_who_is_no_gateway_names_no_share(start_daemon, users):
    with start_daemon(f"daemon.gateway_users={users}").connect() as client:
        assert "shares" not in client.hello
        submit_for(client, "alice", "a")
        error = client.recv_answer("a")
        assert (error["code"], error["retriable"]) == ("not_permitted", False)
        assert error["message"] == f"share: uid {os.geteuid()} is not among [daemon] gateway_users"
        assert client.run(SUT, "b")["type"] == "result"


def test_a_reload_makes_a_gateway(start_daemon, tmp_path):
    """Connections that are open stay what they are."""
    config = tmp_path / "rubricd.conf"
    config.write_text("[daemon]\n")
    daemon = start_daemon(config=config)
    with daemon.connect() as before:
        config.write_text(f"[daemon]\ngateway_users = {os.geteuid()}\n")
        before.send({"type": "reload"})
        assert before.recv()["changed"] == ["daemon.gateway_users"]
        submit_for(before, "alice", "a")
        assert before.recv_answer("a")["code"] == "not_permitted"
        with daemon.connect() as after:
            submit_for(after, "alice", "a")
            assert after.recv_answer("a")["type"] == "result"


NAMES = [(first, then) for first in ("alice", None) for then in ("bob", "alice", None) if then != first]


@pytest.mark.parametrize(("first", "then"), NAMES)
def test_what_comes_first_decides_for_whom_a_connection_is(start_daemon, first, then):
    """Another share, or none, is refused with the job that names it, and costs nothing else."""
    with start_daemon(GATEWAY).connect() as client:
        for share, id in ((first, "a"), (first, "b"), (then, "c"), (first, "d")):
            client.send({"type": "submit", "id": id, **({"share": share} if share else {}), "job": SUT})
        for id in "ab":
            assert client.recv_answer(id)["type"] == "result"
        error = client.recv_answer("c")
        was = f'"{first}"' if first else "no share"
        assert (error["code"], error["message"]) == (
            "bad_request",
            f"share: this connection is for {was}; use another one for each share",
        )
        assert client.recv_answer("d")["type"] == "result"


def test_status_names_the_share(start_daemon):
    daemon = start_daemon(GATEWAY)
    with daemon.connect() as other, daemon.connect() as client:
        number = newest(other)
        assert "share" not in client_of(number, other)
        submit_for(client, "ålice", "a")
        assert client.recv_answer("a")["type"] == "result"
        assert client_of(number, other)["share"] == "ålice"


@pytest.mark.parametrize("shares", [True, False], ids=["shares", "one user"])
def test_shares_take_turns(start_daemon, bench, gate, shares):
    """One has twelve connections, and the other one: its next job is served after at most one of the former's, and
    one that the slot had ahead. Without shares all connections of a user take turns."""
    daemon = start_daemon(GATEWAY, slots=1)
    timed = bench.job(TIMED)
    with contextlib.ExitStack() as stack:
        holder, watcher = (stack.enter_context(daemon.connect()) for _ in range(2))
        hold_slots(holder, bench.job(gate.python + PASSING), count=1)
        many = [stack.enter_context(daemon.connect()) for _ in range(12)]
        one = stack.enter_context(daemon.connect())
        for n, client in enumerate(many):
            for id in numbered(f"many-{n}", 2):
                submit_for(client, "many", id, timed)
        wait_until(lambda: watcher.status()["queue"]["jobs"] == 24, "their jobs are queued")
        for id in numbered("one", 3):
            submit_for(one, "one" if shares else "many", id, timed)
        wait_until(lambda: watcher.status()["queue"]["jobs"] == 27, "all are queued")
        gate.open()
        results = answers(one, 3)
        for client in many:
            results += answers(client, 2)
    order = serving_order(results)
    places = [order.index(id) for id in numbered("one", 3)]
    assert len(order) == 27
    if shares:
        assert all(place <= 2 * n + 2 for n, place in enumerate(places)), order
    else:
        assert places[1] > 12, order


def test_large_frames_of_one_share_leave_memory_to_another(start_daemon):
    """Forty of its connections, each of which has submitted before, have sent as much as is taken of them."""
    daemon = start_daemon(
        GATEWAY, "protocol.receive_bytes=4M", "protocol.max_frame=1M", "protocol.frame_timeout=1h"
    )
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(daemon.connect()) for _ in range(40)]
        one = stack.enter_context(daemon.connect())
        for client, share in [*((client, "many") for client in many), (one, "one")]:
            submit_for(client, share, "first")
            assert client.recv_answer("first")["type"] == "result"
        fill_room(daemon, clients=many)
        one.sock.settimeout(60)  # the others' frames have an hour
        one.send_bytes(large_frame_for("one", "large", 500_000))
        assert_answered(one, "large")


PUT = [{"input": "x", "output": "y"}]
FIRST = {
    "put": {"type": "put", "digest": digest_of(PUT), "tests": PUT},
    "session": {"type": "session_open"},
}


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize(("share", "then"), [("alice", None), (None, "alice")])
def test_what_decides_may_put_tests_or_open_a_session(start_daemon, first, share, then):
    with start_daemon(GATEWAY).connect() as client:
        for id, name in (("a", share), ("b", then)):
            client.send({**FIRST[first], "id": id, **({"share": name} if name else {})})
        assert client.recv()["type"] in ("stored", "session_opened")
        error = client.recv()
        assert (error["id"], error["code"]) == ("b", "bad_request")
        assert error["message"].startswith("share: this connection is for ")


@pytest.mark.parametrize("message", FIRST)
def test_who_is_no_gateway_names_no_share_with_others(start_daemon, message):
    with start_daemon().connect() as client:
        client.send({**FIRST[message], "id": "a", "share": "alice"})
        error = client.recv()
        assert (error["id"], error["code"]) == ("a", "not_permitted")


def test_tests_of_one_share_leave_memory_to_another(start_daemon):
    """Its connections put as much as they can, each before its first job."""
    daemon = start_daemon(GATEWAY, "program.put_bytes=1M", "program.put_bytes_per_client=1M")

    def put(client, share, size):
        tests = [{"input": "x" * size, "output": share}]
        client.send({"type": "put", "share": share, "digest": digest_of(tests), "tests": tests})
        return client.recv()["type"] == "stored"

    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(daemon.connect()) for _ in range(12)]
        one = stack.enter_context(daemon.connect())
        sizes = (700_000, 400_000, 200_000, 100_000, 50_000, 20_000, 5000)
        held = sum(next((size for size in sizes if put(client, "many", size)), 0) for client in many)
        assert 500_000 < held < 800_000
        assert put(one, "one", 100_000)


def test_sessions_of_one_share_leave_some_to_another(start_daemon):
    daemon = start_daemon(GATEWAY, "session.max=4", slots=4)
    with daemon.connect() as many, daemon.connect() as one:
        for n in range(4):
            many.send({"type": "session_open", "id": f"{n}", "share": "many"})
        answers = [many.recv() for _ in range(4)]
        assert [answer["type"] for answer in answers] == ["session_opened"] * 3 + ["error"]
        assert answers[3]["code"] == "too_many_sessions"
        one.send({"type": "session_open", "id": "one", "share": "one"})
        assert one.recv()["type"] == "session_opened"


LARGE = {"kind": "sandbox", "argv": [PYTHON, "-c", "print('x' * 500_000)"], "limits": {"output_bytes": 1 << 20}}


def test_clients_that_read_nothing_cost_no_other_user_a_connection(start_daemon):
    """One client is paused first. Those of another user together hold more than twice the jobs that the queue may:
    one of them is dismissed, and the first client gets all its answers."""
    daemon = start_daemon(GATEWAY, "queue.jobs=4", "queue.jobs_per_client=4", "protocol.reply_high_water=1K", slots=1)
    with daemon.connect() as watcher, contextlib.ExitStack() as stack:

        def submit_two(share):
            client = stack.enter_context(daemon.connect())
            for id in ("a", "b"):
                submit_for(client, share, id, LARGE)
            return client

        def are_held(count):
            status = watcher.status()
            return status["queue"]["jobs"] == count == sum(c["unsent_bytes"] > 0 for c in status["clients"])

        one = submit_two("one")
        for count in range(1, 10):
            wait_until(lambda count=count: are_held(count), "a job waits for each client, which does not read")
            assert metric(watcher, "rubricd_connections_unread_total") == 0
            submit_two("many")
        wait_until(lambda: metric(watcher, "rubricd_connections_unread_total") == 1, "one is dismissed", 30)
        assert sorted(m["id"] for m in answers(one, 2)) == ["a", "b"]


def test_connections_of_one_share_leave_some_to_others(start_daemon):
    """All shares together may have 30 connections of these 40, and one of them three times as many as are left of
    the 30."""
    daemon = start_daemon(GATEWAY, "daemon.max_clients=40")
    with contextlib.ExitStack() as stack:
        count = 0
        while True:
            client = stack.enter_context(daemon.connect())
            assert client.hello["type"] == "hello"
            submit_for(client, "alice", "a")
            answer = client.recv()
            if answer["type"] == "bye":
                break
            assert answer["type"] == "result"
            count += 1
        assert answer["reason"] == "too_many_clients" and "of this share" in answer["message"]
        assert 20 <= count <= 24
        client = stack.enter_context(daemon.connect())
        submit_for(client, "bob", "b")
        assert client.recv_answer("b")["type"] == "result"
        assert "refused (uid" in daemon.log() and "its share has as many" in daemon.log()


def test_many_shares_leave_connections_to_others(start_daemon):
    daemon = start_daemon(GATEWAY, "daemon.max_clients=40")
    with contextlib.ExitStack() as stack:
        hellos = []
        for n in range(40):
            client = stack.enter_context(daemon.connect())
            hellos.append(client.hello["type"])
            if hellos[-1] == "hello":
                submit_for(client, f"share-{n}", "a")
                assert client.recv_answer("a")["type"] == "result"
        assert hellos.count("bye") >= 9


def send_a_part(other, clients, size):
    """Sends SIZE bytes of a frame of a million from each of CLIENTS, or as many as are taken."""
    data = struct.pack(">I", 1_000_000) + b"x" * size
    sent = dict.fromkeys(clients, 0)
    progress = True
    while progress:
        progress = False
        for client, n in sent.items():
            client.sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                taken = client.sock.send(data[n : n + 50_000]) if n < len(data) else 0
                sent[client] += taken
                progress |= taken > 0
        for _ in range(3):
            other.ping()


SLEEP = {"kind": "sandbox", "argv": [PYTHON, "-c", "import time; time.sleep(600)"], "limits": {"wall_clock": 300}}


def test_a_large_frame_that_waits_for_its_users_jobs_delays_no_other_user(start_daemon):
    """The largest frame that is received beyond the budget waits for room in the queue, for as long as its user's jobs
    take, and further frames of that user for memory."""
    daemon = start_daemon(GATEWAY, "protocol.receive_bytes=4M", "protocol.max_frame=1M",
                          "protocol.frame_timeout=1h", "queue.jobs_per_client=2", slots=1)  # fmt: skip
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(daemon.connect()) for _ in range(30)]
        one, other = (stack.enter_context(daemon.connect()) for _ in range(2))
        for client, share in [*((client, "many") for client in many), (one, "one")]:
            submit_for(client, share, "first")
            assert client.recv_answer("first")["type"] == "result"
        for n in range(3):
            submit_for(many[0], "many", f"sleeps-{n}", SLEEP)
        wait_until(lambda: other.status()["queue"]["jobs"] == 2, "its connection has as many jobs as it may")
        job = {**SLEEP, "stdin": "x" * 900_000}
        parked = json.dumps({"type": "submit", "id": "parked", "share": "many", "job": job}).encode()
        parked = len(parked).to_bytes(4, "big") + parked
        send_a_part(other, many[1:6], 500_000)
        many[0].send_bytes(parked)
        send_a_part(other, many[6:], 900_000)
        one.sock.settimeout(60)  # the jobs of the others take five times as long
        one.send_bytes(large_frame_for("one", "large", 990_000))
        assert_answered(one, "large")


def test_a_frame_counts_for_the_share_that_it_names(start_daemon):
    """The first frame of a connection is large, so the memory that it takes goes over to the share with it."""
    daemon = start_daemon(GATEWAY)
    with daemon.connect() as client, daemon.connect() as other:
        for n, who in enumerate((client, other)):
            who.send_bytes(large_frame_for("one", f"large-{n}", 900_000))
            assert_answered(who, f"large-{n}")
        assert daemon.process.poll() is None, daemon.log()


@pytest.mark.parametrize("gateway_users", [True, False], ids=["gateway", "any client"])
def test_each_token_of_rubricd_http_is_a_share(start_daemon, tmp_path, tokens, gateway_users):
    """If the daemon lets it; otherwise it submits without."""
    need_gateway()
    daemon = start_daemon(*([GATEWAY] if gateway_users else []))
    gateway = Gateway(tmp_path, daemon.socket, f"tokens={tokens}")
    try:
        for token in (ALICE, BOB):
            assert gateway.post("/v1/jobs", ECHO, {"Authorization": f"Bearer {token}"})[0] == 200
        with daemon.connect() as client:
            clients = [c for c in client.status()["clients"] if c["pid"] == gateway.process.pid]
    finally:
        gateway.stop()
    shares = sorted(c["share"] for c in clients if "share" in c)
    assert shares == (["alice", "bob"] if gateway_users else [])
    assert len(clients) == 3, "one for each token, and one for questions"
