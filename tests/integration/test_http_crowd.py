# SPDX-License-Identifier: MIT
"""Connections that clients hold: whoever has a token gets through, whoever has none keeps nobody out."""

import contextlib
import json
import select
import signal
import subprocess

import pytest
from conftest import DEADLINE, wait_until
from http_gateway import (
    ALICE,
    BOB,
    ECHO,
    JSON,
    RUBRICD_HTTP,
    head_of,
    jobs_of,
    make_start,  # noqa: F401
    make_tokens,  # noqa: F401
    need_gateway,
    post_bytes,
    read_answer,
    read_to_end,
)

pytestmark = pytest.mark.cold

need_gateway()

AS_ALICE, AS_BOB = ({"Authorization": f"Bearer {token}"} for token in (ALICE, BOB))
# No test passes because a time is over.
LONG = ("header_time=60min", "body_time=60min", "reply_time=60min")


# What a client without a token sends and then waits.
IDLE = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"GET /healthz HTTP/1.1\r\nHost:", id="header"),
    pytest.param(head_of("POST", "/v1/jobs", 100, "application/json") + b"{", id="refused body"),
    pytest.param(head_of("GET", "/healthz"), id="refused"),
    pytest.param(head_of("GET", "/healthz", Authorization="Bearer wrong-token-0123456789"), id="wrong token"),
]


@pytest.mark.parametrize("bound", ["connections=20", "connections_per_address=20"])
@pytest.mark.parametrize("idle", IDLE)
def test_connections_without_a_token_keep_nobody_out(start, tokens, idle, bound):
    gateway = start(*LONG, f"tokens={tokens}", bound)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(gateway.connect()) for _ in range(60)]
        for sock in sockets:
            with contextlib.suppress(ConnectionError):
                sock.sendall(idle)
        for _ in range(30):
            assert gateway.post("/v1/jobs", ECHO, AS_ALICE)[0] == 200
        wait_until(lambda: gateway.connections() <= 20, "there are no more than there may be")
        read_to_end(sockets[0])  # the oldest has been ended


def test_connections_with_a_token_stay(daemon, start, tokens):
    """Neither a request that runs nor a pause between two makes way for strangers."""
    gateway = start(*LONG, f"tokens={tokens}", "connections=20")
    job = {"kind": "sandbox", "argv": ["/bin/sleep", "1"]}
    with contextlib.ExitStack() as stack:
        busy, idle = (stack.enter_context(gateway.connect()) for _ in range(2))
        idle.sendall(head_of("GET", "/healthz", **AS_BOB))
        assert " 200 " in read_answer(idle)[0]
        busy.sendall(post_bytes(json.dumps(job).encode(), **AS_BOB))
        wait_until(lambda: jobs_of(daemon) == 1, "the job runs")
        for _ in range(100):
            stack.enter_context(gateway.connect())
        assert gateway.request("GET", "/healthz", headers=AS_ALICE)[0] == 200
        assert " 200 " in read_answer(busy)[0]
        idle.sendall(head_of("GET", "/healthz", **AS_BOB))
        assert " 200 " in read_answer(idle)[0]


def test_connections_of_one_token_leave_some_to_others(start, tokens):
    gateway = start(*LONG, f"tokens={tokens}", "connections=20")
    with contextlib.ExitStack() as stack:

        def ask():
            sock = stack.enter_context(gateway.connect())
            sock.sendall(head_of("GET", "/healthz", **AS_ALICE))
            return read_answer(sock), sock

        answers = [ask() for _ in range(30)]
        good = [sock for (head, _), sock in answers if " 200 " in head]
        assert len(good) == 11, "of the 15 that are not for strangers: at most three times what is free"
        (head, body), last = answers[-1]
        assert " 503 " in head and "Retry-After" in head and "Connection: close" in head
        assert json.loads(body)["error"]["code"] == "too_many_connections"
        assert read_to_end(last) == b""
        assert gateway.post("/v1/jobs", ECHO, AS_BOB)[0] == 200
        good[0].close()
        wait_until(lambda: " 200 " in ask()[0][0], "there is room again")


def test_a_connection_of_several_tokens_counts_for_the_last(start, tokens):
    """A proxy may send requests of several clients on one connection."""
    gateway = start(*LONG, f"tokens={tokens}", "connections=4")
    with gateway.connect() as one, gateway.connect() as two:
        for _ in range(3):
            for token in (AS_ALICE, AS_BOB):
                for sock in (one, two):
                    sock.sendall(head_of("GET", "/healthz", **token))
                    assert " 200 " in read_answer(sock)[0]


def test_strangers_of_a_unix_socket(start, tokens, tmp_path):
    gateway = start(*LONG, f"tokens={tokens}", "connections=20", "connections_per_address=1", listen=f"unix:{tmp_path}/http")
    with contextlib.ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(gateway.connect())
        assert gateway.request("POST", "/v1/jobs", json.dumps(ECHO), {**JSON, **AS_ALICE})[0] == 200


@pytest.mark.parametrize("files", [128, 300])
def test_descriptors_that_are_scarce(start, tokens, files):
    """There are fewer connections then, so that strangers make way as always: where accept() fails nobody does."""
    gateway = start(*LONG, f"tokens={tokens}", files=files)
    most = files - 91
    assert f"connections is 4096, but {files} open files (RLIMIT_NOFILE) suffice for {most}, which" in gateway.log()
    with contextlib.ExitStack() as stack:
        for _ in range(2 * files):
            stack.enter_context(gateway.connect())
        for headers in (AS_ALICE, AS_BOB):
            assert gateway.post("/v1/jobs", ECHO, headers)[0] == 200
        wait_until(lambda: gateway.connections() <= most, "there are no more than there may be")
        known = [stack.enter_context(gateway.connect()) for _ in range(most // 4)]
        for sock in known:
            sock.sendall(head_of("GET", "/healthz", **AS_BOB))
            assert " 200 " in read_answer(sock)[0]
        assert gateway.post("/v1/jobs", ECHO, AS_ALICE)[0] == 200


def test_hardly_any_descriptors(tokens):
    command = ["prlimit", "--nofile=64:64", RUBRICD_HTTP, "--config=/dev/null", "--set=listen=127.0.0.1:0", f"--set=tokens={tokens}"]
    done = subprocess.run([*command, "--set=languages="], capture_output=True, text=True, timeout=DEADLINE, check=False)
    said = "connections is 4096, but 64 open files (RLIMIT_NOFILE) suffice for 0: at least 107 files are needed"
    assert done.returncode == 78 and said in done.stderr


def test_connections_that_come_and_go_do_not_stop_the_loop(start, tokens):
    """Each connection that ends calls for a run of libmicrohttpd. The daemon's answers, timers and signals have their
    turn between these runs, so the client whose answer needs the daemon is served before most of the others."""
    gateway = start(f"tokens={tokens}", "connections=1000", "connections_per_address=1000", *LONG)
    comers = 600
    with contextlib.ExitStack() as stack, gateway.connect() as bob:
        healthz = head_of("GET", "/healthz", **AS_BOB)
        bob.sendall(healthz)
        assert read_answer(bob)[0].startswith("HTTP/1.1 200")
        gateway.process.send_signal(signal.SIGSTOP)
        sockets = [stack.enter_context(gateway.connect()) for _ in range(comers)]
        for sock in sockets:
            sock.sendall(b"GET /nowhere HTTP/1.0\r\nHost: localhost\r\n\r\n")
        bob.sendall(healthz)
        gateway.process.send_signal(signal.SIGCONT)
        assert read_answer(bob)[0].startswith("HTTP/1.1 200")
        answered = len(select.select(sockets, [], [], 0)[0])
        for sock in sockets:
            assert read_to_end(sock).startswith(b"HTTP/1.")
    assert answered < comers / 2
