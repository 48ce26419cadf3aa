# SPDX-License-Identifier: MIT
"""Results that nobody reads: rubricd-http holds a bounded number of bytes, loses none, and serves others."""

import contextlib
import json
import re
import socket
from pathlib import Path

import pytest
from conftest import wait_until
from http_gateway import (
    ALICE,
    BOB,
    ECHO,
    SANITIZED,
    head_of,
    jobs_of,
    make_start,  # noqa: F401
    make_tokens,  # noqa: F401
    need_gateway,
    post_bytes,
)

pytestmark = pytest.mark.cold

need_gateway()

MIB = 1 << 20
LARGE = {"kind": "sandbox", "argv": ["/bin/sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x"],
         "limits": {"output_bytes": MIB}}  # fmt: skip
# No test passes because a time is over.
LONG = ("reply_time=60min",)


def peak(gateway):
    """Returns the largest number of resident bytes that the process has had."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{gateway.process.pid}/status").read_text())[1]) << 10


def do_not_read(gateway, stack, requests, **headers):
    """Sends each of REQUESTS, bodies of lines, on a connection of its own that takes as little as can be."""
    for body in requests:
        sock = stack.enter_context(gateway.connect())
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(post_bytes(body, lines=True, **headers))


def counters(daemon):
    with daemon.connect() as client:
        return client.status()["counters"]


def wait_until_still(daemon):
    """Waits until no job has run for a while, so that what has been made lies in the gateway."""
    seen = []

    def is_still():
        seen.append((jobs_of(daemon), counters(daemon)["results"]))
        return len(seen) > 10 and set(seen[-10:]) == {(0, seen[-1][1])}

    wait_until(is_still, "the jobs stop")
    return seen[-1][1]


def bearer(token):
    return {"Authorization": f"Bearer {token}"} if token else {}


@pytest.mark.parametrize("reader, others", [(None, None), (ALICE, BOB)], ids=["no tokens", "tokens"])
def test_results_that_nobody_reads(daemon, start, tokens, reader, others):
    """They stop the jobs of those who do not read, not those of others, and take bounded memory."""
    gateway = start(*LONG, "results_bytes=32M", *[f"tokens={tokens}"] * bool(reader))
    assert gateway.post("/v1/jobs", ECHO, bearer(others))[0] == 200
    before = peak(gateway)
    with contextlib.ExitStack() as stack:
        do_not_read(gateway, stack, [(json.dumps(LARGE) + "\n").encode() * 50] * 30, **bearer(reader))
        wait_until(lambda: counters(daemon)["results"] > 10, "results are made")
        assert wait_until_still(daemon) < 200, "most jobs have not been sent"
        for _ in range(20):
            assert gateway.post("/v1/jobs", ECHO, bearer(others))[0] == 200
        assert peak(gateway) - before < 64 * MIB or SANITIZED
    wait_until(lambda: gateway.connections() == 0, "the clients have left")
    status, answer = gateway.post("/v1/jobs", LARGE, bearer(reader))
    assert status == 200 and len(answer["stdout"]) == 1_000_000


def test_errors_that_nobody_reads(start):
    """A line that is no job has an answer, too."""
    gateway = start(*LONG, "results_bytes=16M", "unread_bytes=64M")
    assert gateway.post("/v1/jobs", ECHO)[0] == 200
    before = peak(gateway)
    with contextlib.ExitStack() as stack:
        do_not_read(gateway, stack, [b"nonsense\n" * 200_000] * 4)
        for _ in range(20):
            assert gateway.post("/v1/jobs", ECHO)[0] == 200
        assert peak(gateway) - before < 40 * MIB or SANITIZED


def test_results_that_are_read_later_are_all_there(start):
    """A stream that has no room goes on once its client has read."""
    gateway = start(*LONG, "results_bytes=8M")
    answers = gateway.lines([{**LARGE, "id": f"n{i}"} for i in range(30)])
    assert {a["id"]: len(a["stdout"]) for a in answers} == {f"n{i}": 1_000_000 for i in range(30)}


def test_a_result_larger_than_all_the_room(start):
    """It has to be possible all the same: one at a time."""
    gateway = start(*LONG, "results_bytes=1K")
    answers = gateway.lines([{**LARGE, "id": "a"}, "nonsense\n", {**LARGE, "id": "b"}])
    assert sorted(str(a.get("id")) for a in answers) == ["None", "a", "b"]
    assert gateway.post("/run_code", {"code": "print(1)", "language": "python"})[1]["run_result"]["stdout"] == "1\n"
    request = {"language": "python", "version": "*", "files": [{"content": "print(1)"}]}
    assert gateway.post("/api/v2/execute", request)[1]["run"]["stdout"] == "1\n"


def test_requests_of_one_job_wait_for_room(daemon, start):
    """They are answered when the results before them have been read."""
    gateway = start(*LONG, "results_bytes=1K")
    slow = {"kind": "sandbox", "argv": ["/bin/sleep", "1"]}
    code = {"code": "print(1)", "language": "python"}
    with contextlib.ExitStack() as stack:
        first, second, third = (stack.enter_context(gateway.connect()) for _ in range(3))
        first.sendall(post_bytes(json.dumps(slow).encode()))
        wait_until(lambda: jobs_of(daemon) == 1, "the job runs")
        second.sendall(post_bytes(json.dumps(ECHO).encode()))
        body = json.dumps(code).encode()
        third.sendall(head_of("POST", "/run_code", len(body), "application/json") + body)
        for sock in (first, second, third):
            assert b" 200 " in sock.recv(1 << 16)
    assert counters(daemon)["results"] == 3


def nothing_is_unread(gateway):
    """Whether rubricd-http has read whatever its clients have sent."""
    place = f":{gateway.port:04X}"
    lines = [line.split() for line in open("/proc/net/tcp", encoding="utf-8")][1:]
    return all(int(line[4].partition(":")[2], 16) == 0 for line in lines if line[1].endswith(place) and line[3] == "01")


SLEEPS = "import time; time.sleep(3000)"
FUSION = ("/run_code", {"code": SLEEPS, "language": "python", "run_timeout": 300})
PISTON = ("/api/v2/execute", {"language": "python", "version": "*", "run_timeout": 300000, "files": [{"content": SLEEPS}]})
SMALL, LARGER = 64 << 10, 256 << 10


@pytest.mark.parametrize("path, request_value", [FUSION, PISTON])
@pytest.mark.parametrize("extra, size", [("x", SMALL), ("x", LARGER), ("files", SMALL), ("files", LARGER)])
def test_requests_that_wait_take_no_more_than_their_text(daemon, start, path, request_value, extra, size):
    """JSON takes up to fifty times as much memory as its text."""
    gateway = start(*LONG, "results_bytes=1K")
    text = json.dumps(request_value)
    if extra == "x":
        text = text[:-1] + ', "x": [' + "[]," * ((size - len(text) - 20) // 3) + "[]]}"
    elif path == "/run_code":
        text = text[:-1] + ', "files": {' + ",".join(f'"{i}":""' for i in range((size - len(text) - 20) // 12)) + "}}"
    else:
        text = text[:-2] + ',{"content":""}' * ((size - len(text)) // 15) + "]}"
    body = text.encode()
    assert size * 3 // 4 < len(body) <= size
    job = {"kind": "sandbox", "argv": ["/bin/sleep", "3000"], "limits": {"wall_clock": 300}}
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(gateway.connect())
        first.sendall(post_bytes(json.dumps(job).encode()))
        wait_until(lambda: jobs_of(daemon) == 1, "the job runs, and there is room for no other result")

        def send(count):
            for _ in range(count):
                sock = stack.enter_context(gateway.connect())
                sock.sendall(head_of("POST", path, len(body), "application/json") + body)
            wait_until(lambda: nothing_is_unread(gateway), "the requests are there")
            assert gateway.get("/healthz")[0] == 200 and gateway.get("/v1/status")[0] == 200

        send(1)  # what it takes to read one
        before = peak(gateway)
        send(60)
        # With its text it takes what libmicrohttpd has for a connection.
        assert peak(gateway) - before < 60 * (3 * len(body) + (64 << 10)) or SANITIZED
        assert jobs_of(daemon) == 1


def test_a_job_that_has_no_room(start):
    """It may be larger than its request, which was small enough not to count."""
    gateway = start("bodies_bytes=64K")
    files = {str(i): "" for i in range(5000)}
    body = json.dumps({"code": "", "language": "python", "files": files}, separators=(",", ":"))
    assert len(body) < SMALL
    status, headers, answer = gateway.request("POST", "/run_code", body, {"Content-Type": "application/json"})
    assert (status, "Retry-After" in headers) == (503, True) and b"there is no room for the job now" in answer
    assert gateway.post("/run_code", {"code": "print(1)", "language": "python"})[1]["run_result"]["stdout"] == "1\n"
