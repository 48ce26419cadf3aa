# SPDX-License-Identifier: MIT
"""Clients of rubricd-http that leave before their request is complete, and a stop that does not wait for them."""

import contextlib
import json
import signal
import socket
import struct

import pytest
from conftest import DEADLINE, wait_until
from http_gateway import (
    ECHO,
    SLEEP,
    Gateway,
    head_of,
    jobs_of,
    make_start,  # noqa: F401
    need_gateway,
    post_bytes,
    read_answer,
    read_to_end,
)

pytestmark = pytest.mark.cold

need_gateway()

# No test passes because a time is over.
LONG = ("header_time=60min", "body_time=60min")

LINES = "application/x-ndjson"
HALF = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"POST /v1/jobs HTTP/1.1\r\nHost: loc", id="header"),
    pytest.param(head_of("POST", "/v1/jobs", 1 << 20, LINES), id="before body"),
    pytest.param(head_of("POST", "/v1/jobs", 1 << 20, LINES) + b" " * 500_000, id="body"),
    pytest.param(head_of("POST", "/nowhere", 1 << 20, LINES) + b" " * 500_000, id="body of a refused request"),
    pytest.param(head_of("POST", "/v1/jobs", kind=LINES, Transfer_Encoding="chunked") + b"5\r\n  ", id="chunk"),
    pytest.param(head_of("POST", "/v1/jobs", kind=LINES, Transfer_Encoding="chunked") + b"5;" + b"a" * 100_000, id="endless chunk"),
    pytest.param(post_bytes(json.dumps(ECHO).encode())[:-1], id="all but a byte"),
]


def end(sock):
    sock.close()


def shut_down(sock):
    sock.shutdown(socket.SHUT_WR)


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


@pytest.mark.parametrize("leave", [end, shut_down, reset])
@pytest.mark.parametrize("half", HALF)
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "later"])
def test_a_client_that_leaves_inside_a_request(start, half, leave, at_once):
    """Its connection ends, whether the end comes together with the last bytes or behind them."""
    gateway = start(*LONG)
    with gateway.connect() as sock:
        sock.sendall(half)
        if not at_once:
            # Whoever comes later is served later: by then the first bytes have been read.
            assert gateway.get("/healthz")[0] == 200
        leave(sock)
        wait_until(lambda: gateway.connections() == 0, "the connection has ended")
    assert gateway.get("/healthz")[0] == 200 and "[warn]" not in gateway.log()


def test_a_client_that_leaves_inside_a_body_gives_its_memory_back(start):
    gateway = start(*LONG, "bodies_bytes=1M", "body_bytes=1M")
    large = {**ECHO, "files": {"f": "x" * 700_000}}
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            sock = stack.enter_context(gateway.connect())
            sock.sendall(head_of("POST", "/v1/jobs", 1 << 20, LINES) + b" " * 600_000)
        # A large job that comes before them would leave room for none.
        wait_until(lambda: gateway.unread() == 0, "what was sent has been read")
        wait_until(lambda: gateway.post("/v1/jobs", large)[0] == 503, "the bodies are there")
    wait_until(lambda: gateway.post("/v1/jobs", large)[0] == 200, "the memory is given back")


@pytest.mark.parametrize("memory,size", [("32K", 33_000), ("32K", 100_000), ("32K", 2_000_000), ("1M", 2_000_000)])
def test_a_chunk_whose_head_never_ends(start, memory, size):
    """Its extensions fill the memory of a connection, which waits for room for ever; with the window of the socket
    full, the client could not even say that it leaves. Others are served meanwhile, and do not delay its end."""
    gateway = start(*LONG, f"header_bytes={memory}")
    with gateway.connect() as sock, contextlib.suppress(ConnectionError):
        sock.sendall(head_of("POST", "/v1/jobs", kind=LINES, Transfer_Encoding="chunked") + b"5;" + b"a" * size)
        while gateway.connections():
            assert gateway.post("/v1/jobs", ECHO)[0] == 200
            assert read_to_end(sock) == b""
    assert gateway.get("/healthz")[0] == 200


def test_a_slow_chunk_beside_one_that_never_ends(start):
    """Heads of chunks may come byte by byte. Another connection's endless one ends that alone."""
    gateway = start(*LONG)
    body = json.dumps(ECHO).encode()
    chunks = b"".join(b"1;slow=" + b"x" * 50 + b"\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    with gateway.connect() as endless, gateway.connect() as slow:
        slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        endless.sendall(head_of("POST", "/v1/jobs", kind=LINES, Transfer_Encoding="chunked") + b"5;" + b"a" * 33_000)
        slow.sendall(head_of("POST", "/v1/jobs", kind="application/json", Transfer_Encoding="chunked"))
        for byte in chunks:
            slow.sendall(bytes([byte]))
        head, answer = read_answer(slow)
        assert " 200 " in head and json.loads(answer)["stdout"] == "hi\n"
        assert read_to_end(endless) == b""


def test_a_chunk_in_parts_beside_one_that_fills_the_memory(start):
    """As long as a connection is full to the last byte, the memory of others is filled step by step."""
    gateway = start(*LONG, "header_bytes=4K")
    body = json.dumps(ECHO).encode()
    head = head_of("POST", "/v1/jobs", kind="application/json", Transfer_Encoding="chunked")
    with gateway.connect() as full:
        full.sendall(head + b"5;" + b"a" * 3799)
        wait_until(lambda: gateway.unread() == 0, "the memory is full")
        for _ in range(5):
            with gateway.connect() as sock:
                sock.sendall(head + b"%x;" % len(body))
                wait_until(lambda: gateway.unread() == 0, "the beginning of the request is read")
                sock.sendall(b"e" * 2600 + b"\r\n" + body + b"\r\n0\r\n\r\n")
                answer, result = read_answer(sock)
                assert " 200 " in answer and json.loads(result)["stdout"] == "hi\n"


def test_an_end_behind_a_whole_request_cuts_no_answer_that_is_there(start):
    """A refusal needs no job, so a client gets it that shuts down its side right away."""
    gateway = start(*LONG)
    for _ in range(50):
        with gateway.connect() as sock:
            sock.sendall(head_of("GET", "/nowhere"))
            sock.shutdown(socket.SHUT_WR)
            assert b" 404 " in read_to_end(sock)


@pytest.mark.parametrize("half", HALF)
def test_stop_does_not_wait_for_half_a_request(start, half):
    gateway = start(*LONG)
    with gateway.connect() as sock:
        sock.sendall(half)
        assert gateway.get("/healthz")[0] == 200
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(STOPPED_BY_ITSELF) == 0
        assert read_to_end(sock) == b""


# Below the half minute after which a stop ends also what is under way.
STOPPED_BY_ITSELF = 25


def test_stop_takes_a_body_that_comes_at_once(daemon, start):
    """A request that is on its way is answered, and its connection ends with the answer."""
    gateway = start(*LONG)
    # The first job is to last until the signal, also on a host that is busy.
    request = post_bytes(json.dumps({"kind": "sandbox", "argv": ["/bin/sleep", "5"]}).encode())
    with gateway.connect() as first, gateway.connect() as sock:
        first.sendall(request)
        wait_until(lambda: jobs_of(daemon) == 1, "the job runs")
        sock.sendall(request[:-1])
        # An answer to somebody else would not show that: bytes may overtake those of another connection.
        wait_until(lambda: gateway.unread() == 0, "the beginning of the request is read")
        gateway.process.send_signal(signal.SIGTERM)
        sock.sendall(request[-1:])
        for each in (first, sock):
            head, _ = read_answer(each)
            assert " 200 " in head and "Connection: close" in head
            assert read_to_end(each) == b""
    assert gateway.process.wait(DEADLINE) == 0


@pytest.mark.parametrize("runs", ["already", "later"])
def test_a_client_that_leaves_while_the_daemon_reads_nothing(start_daemon, tmp_path, runs):
    """The daemon's queue is full, so that it reads no word of the gateway's connection. The job of a client that left
    ends all the same, be it one that runs or one that begins later."""
    daemon = start_daemon("queue.jobs=4", "queue.jobs_per_client=4", slots=1)
    gateway = Gateway(tmp_path, daemon.socket)
    request = post_bytes(json.dumps(SLEEP).encode())
    with daemon.connect() as first, daemon.connect() as filler, daemon.connect() as looker, contextlib.ExitStack() as stack:
        if runs == "later":
            first.submit("first", SLEEP)
            wait_until(lambda: jobs_of(daemon) == 1, "another client's job runs")
        leaver, *others = (stack.enter_context(gateway.connect()) for _ in range(4))
        count = jobs_of(daemon) + 1
        leaver.sendall(request)
        wait_until(lambda: jobs_of(daemon) == count, "the daemon has the job")
        for i in range(5 - count):
            filler.submit(f"f{i}", ECHO)
        wait_until(lambda: jobs_of(daemon) == 5, "the queue is full")
        for other in others:
            other.sendall(request)
        wait_until(lambda: any(client["paused"] for client in looker.status()["clients"]), "the daemon reads no more")
        for sock in (leaver, *others):
            sock.close()
        wait_until(lambda: gateway.connections() == 0, "the gateway knows that they have left")
        if runs == "later":
            first.send({"type": "cancel", "id": "first"})
        wait_until(lambda: jobs_of(daemon) == 0, "no job is left")
    assert gateway.stop() == 0
