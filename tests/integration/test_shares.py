# SPDX-License-Identifier: MIT
"""Gateways, which submit for users of their own: each of those has its part of the daemon as a user of this host
has."""

import contextlib
import os
import time

import pytest
from conftest import PASSING, wait_until
from http_gateway import ALICE, BOB, ECHO, make_start, make_tokens  # noqa: F401  fixtures
from test_clients import assert_answered, fill_room, large_frame
from test_fleet_serve import digest_of
from test_queue import SUT, TIMED, answers, client_of, hold_slots, newest, numbered, serving_order

GATEWAY = f"daemon.gateway_users=no-such-account {os.geteuid()}"


def submit_for(client, share, id, job=SUT):
    client.send({"type": "submit", "id": id, "share": share, "job": job})


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
def test_the_first_job_decides_for_whom_a_connection_is(start_daemon, first, then):
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
            f"share: the first job of this connection was for {was}; use another connection for each share",
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
        one.sock.settimeout(10)
        asked = time.monotonic()
        frame = large_frame("large", 500_000).replace(b'"type": "submit"', b'"type":"submit","share":"one"')
        one.send_bytes((len(frame) - 4).to_bytes(4, "big") + frame[4:])
        assert_answered(one, "large")
        assert time.monotonic() < asked + 1


def test_tests_that_are_put_count_for_the_share(start_daemon):
    """They were put before the first job told for whom, so they go over to the share with it."""
    tests = [{"input": "x" * 1000, "output": "y"}]
    with start_daemon(GATEWAY).connect() as client:
        client.send({"type": "put", "id": "p", "digest": digest_of(tests), "tests": tests})
        assert client.recv()["type"] == "stored"
        submit_for(client, "one", "a")
        assert client.recv_answer("a")["type"] == "result"
        client.send({"type": "put", "id": "q", "digest": digest_of(tests * 2), "tests": tests * 2})
        assert client.recv()["tests"] == 2


def test_a_frame_counts_for_the_share_that_it_names(start_daemon):
    """The first frame of a connection is large, so the memory that it takes goes over to the share with it."""
    daemon = start_daemon(GATEWAY)
    with daemon.connect() as client, daemon.connect() as other:
        for n, who in enumerate((client, other)):
            frame = large_frame(f"large-{n}", 900_000).replace(b'"type": "submit"', b'"type":"submit","share":"one"')
            who.send_bytes((len(frame) - 4).to_bytes(4, "big") + frame[4:])
            assert_answered(who, f"large-{n}")
        assert daemon.process.poll() is None, daemon.log()


@pytest.mark.parametrize("gateway_users", [True, False], ids=["gateway", "any client"])
def test_each_token_of_rubricd_http_is_a_share(start_daemon, tmp_path, tokens, gateway_users):
    """If the daemon lets it; otherwise it submits without."""
    from http_gateway import Gateway, need_gateway

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
