# SPDX-License-Identifier: MIT
"""rubricd-http in front of a real daemon: its own API, HTTP's corners, and its process."""

import contextlib
import json
import signal
import socket
import struct
import subprocess

import pytest
from conftest import COLD, DEADLINE, Daemon, wait_until
from descriptors import needs_refusal, send_descriptor
from http_gateway import (
    ECHO,
    JSON,
    RUBRICD_HTTP,
    SLEEP,
    Gateway,
    head_of,
    jobs_of,
    make_gateway,  # noqa: F401
    make_start,  # noqa: F401
    need_gateway,
    post_bytes,
    read_answer,
    read_to_end,
)

pytestmark = pytest.mark.cold

need_gateway()

# --- the daemon's own jobs -----------------------------------------------------------------------


def test_one_job(gateway):
    status, answer = gateway.post("/v1/jobs", {**ECHO, "id": "a1"})
    assert (status, answer["type"], answer["id"], answer["stdout"]) == (200, "result", "a1", "hi\n")
    assert gateway.post("/v1/jobs", ECHO)[1]["id"] == "job"


def test_a_failed_job_is_a_result(gateway):
    status, answer = gateway.post("/v1/jobs", {"kind": "sandbox", "argv": ["/bin/false"]})
    assert (status, answer["score"]["passed"]) == (200, False)


KLINGON = {"kind": "program", "language": "klingon", "code": "", "tests": [{"input": ""}]}


@pytest.mark.parametrize(
    "job, status, code, message",
    [
        ({"kind": "nonsense"}, 400, "bad_request", "job.kind"),
        ({"kind": "sandbox", "argv": ["/bin/none"]}, 400, "bad_request", "job.argv[0]: /bin/none"),
        (KLINGON, 422, "language_not_found", "klingon"),
        ({**ECHO, "id": 3}, 400, "bad_request", "id: expected a string, got a number"),
        ({**ECHO, "id": ""}, 400, "bad_request", "id: expected 1 to 128 bytes, got 0"),
        ({**ECHO, "id": "\u00e9" * 65}, 400, "bad_request", "id: expected 1 to 128 bytes, got 130"),
    ],
)
def test_errors_of_a_job(gateway, job, status, code, message):
    got, answer = gateway.post("/v1/jobs", job)
    assert (got, answer["error"]["code"], answer["error"]["retriable"]) == (status, code, False)
    assert message in answer["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'{"a": 1, "a": 2}', b'{"a": NaN}', b'"\xff"', b"[" * 100000])
def test_a_body_that_is_no_object(gateway, body):
    status, _, answer = gateway.request("POST", "/v1/jobs", body, JSON)
    assert (status, json.loads(answer)["error"]["code"]) == (400, "bad_request")


def test_lines(gateway):
    """Good lines get results under their ids, bad ones errors under their numbers."""
    answers = gateway.lines(
        [{**ECHO, "id": "a"}, "\n", "nonsense\n", '{"kind": "sandbox"}\n', " \t\r\n", ECHO, json.dumps(ECHO)]
    )
    by_line = {a.get("line", a.get("id")): a for a in answers}
    assert len(answers) == 5
    assert by_line["a"]["stdout"] == "hi\n"
    message = "column 8: invalid token near 'nonsense'"
    assert by_line[3]["error"] == {"code": "bad_request", "message": message, "retriable": False}
    assert (by_line[4]["error"]["code"], by_line[4]["id"]) == ("bad_request", "line 4")
    assert by_line["line 6"]["stdout"] == by_line["line 7"]["stdout"] == "hi\n"


def test_ids_of_lines(gateway):
    answers = gateway.lines([{**ECHO, "id": "i" * 128}, {**ECHO, "id": "i" * 129}])
    by_line = {a.get("line"): a for a in answers}
    assert by_line[None]["id"] == "i" * 128
    assert by_line[2]["error"]["message"] == "id: expected 1 to 128 bytes, got 129" and "id" not in by_line[2]


def test_a_nul_is_no_white_space(gateway):
    """What is behind a job is not cut off, whatever it is."""
    answers = gateway.lines([json.dumps(ECHO) + "\0\n", "\0\n", json.dumps(ECHO) + " \t\r\n"])
    assert [(a.get("line"), a["type"] if "type" in a else a["error"]["code"]) for a in answers] == [
        (1, "bad_request"), (2, "bad_request"), (None, "result")]  # fmt: skip


def test_what_was_meant(gateway):
    """An unknown field or path names the one that is near."""
    status, answer = gateway.post("/v1/jobs", {**ECHO, "limits": {"cpus": 3}})
    assert (status, answer["error"]["message"]) == (400, "job.limits.cpus: unknown field; did you mean cpu?")
    answers = gateway.lines([ECHO, "\n", {**ECHO, "argvv": []}, {**ECHO, "nothing_like_it": 1}])
    messages = [a["error"]["message"] for a in answers if "error" in a]
    assert sorted(messages) == ["job.argvv: unknown field; did you mean argv?", "job.nothing_like_it: unknown field"]
    status, answer = gateway.post("/v1/jobs", {"id": "a", "kind": "sandbx", "argv": ["/bin/true"]})
    assert (status, answer["error"]["message"]) == (400, 'job.kind: unknown kind "sandbx"; did you mean sandbox?')
    assert gateway.get("/v1/job")[1]["error"]["message"] == "there is no such path; did you mean /v1/jobs?"
    assert gateway.get("/nope")[1]["error"]["message"] == "there is no such path"


def test_results_come_as_they_are_there(gateway):
    """The first result arrives while the second job runs."""
    body = f'{json.dumps({**ECHO, "id": "quick"})}\n{json.dumps({**SLEEP, "id": "slow"})}\n'.encode()
    with gateway.connect() as sock:
        sock.sendall(post_bytes(body, lines=True))
        data = b""
        while b'"id":"quick"' not in data:
            data += sock.recv(1 << 16)
        assert b"slow" not in data


def test_many_lines(gateway):
    answers = gateway.lines({**ECHO, "id": f"n{i}"} for i in range(600))
    assert sorted(a["id"] for a in answers) == sorted(f"n{i}" for i in range(600))


def test_more_answers_than_may_be_unread(start):
    """Lines wait while the client has not read what there is; none is lost."""
    gateway = start("unread_bytes=1K", "jobs_per_connection=1")
    answers = gateway.lines(["bad\n"] * 200 + [{**ECHO, "id": "last"}])
    assert len(answers) == 201


@pytest.mark.parametrize("lines", [False, True])
def test_a_client_that_leaves_cancels_its_jobs(daemon, gateway, lines):
    count = 5 if lines else 1
    with gateway.connect() as sock:
        sock.sendall(post_bytes((json.dumps(SLEEP) + "\n").encode() * count, lines))
        wait_until(lambda: jobs_of(daemon) == count, "the jobs are there")
    wait_until(lambda: jobs_of(daemon) == 0, "the jobs are gone")
    assert gateway.post("/v1/jobs", ECHO)[0] == 200


def test_a_client_of_a_unix_socket_that_leaves(daemon, start, tmp_path):
    gateway = start("socket_mode=0600", listen=f"unix:{tmp_path}/http")
    with gateway.connect() as sock:
        sock.sendall(post_bytes((json.dumps(SLEEP) + "\n").encode() * 5, lines=True))
        wait_until(lambda: jobs_of(daemon) == 5, "the jobs are there")
    wait_until(lambda: jobs_of(daemon) == 0, "the jobs are gone")
    assert gateway.stop() == 0


def test_the_next_request_may_come_early(daemon, gateway):
    """A second request while the first one's job runs is no sign that the client leaves."""
    first = {"kind": "sandbox", "argv": ["/bin/sleep", "1"], "id": "first"}
    with gateway.connect() as sock:
        sock.sendall(post_bytes(json.dumps(first).encode()))
        wait_until(lambda: jobs_of(daemon) == 1, "the job runs")
        sock.sendall(post_bytes(json.dumps({**ECHO, "id": "second"}).encode()))
        assert [json.loads(read_answer(sock)[1])["id"] for _ in range(2)] == ["first", "second"]


# It does not end before the test has waited for that.
FOREVER = {"kind": "sandbox", "argv": ["/bin/sleep", "1000"], "limits": {"wall_clock": 300}}


def reset(sock):
    """Closes SOCK as a client does that has not read everything: by a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


@pytest.mark.parametrize("ahead", [b"", b"GET /healthz HTTP/1.1\r\n"])
def test_a_client_that_resets_its_connection_cancels_its_jobs(daemon, gateway, ahead):
    """The loop tells a reset otherwise than an end, and would also tell it again and again."""
    sock = gateway.connect()
    sock.sendall(post_bytes(json.dumps(FOREVER).encode()) + ahead)
    wait_until(lambda: jobs_of(daemon) == 1, "the job is there")
    reset(sock)
    wait_until(lambda: jobs_of(daemon) == 0, "the job is gone")


def test_a_client_that_sends_too_much_ahead_is_disconnected(daemon, gateway):
    """Its end would wait behind what nobody reads."""
    request = post_bytes(json.dumps(FOREVER).encode())
    with gateway.connect() as sock:
        sock.sendall(request)
        wait_until(lambda: jobs_of(daemon) == 1, "the job is there")
        with contextlib.suppress(ConnectionError):
            for _ in range(100_000):
                sock.sendall(request)
        wait_until(lambda: jobs_of(daemon) == 0, "the job is gone")
    assert gateway.post("/v1/jobs", ECHO)[0] == 200


def test_nobody_stands_behind_a_stream(daemon, gateway):
    """One job of another client runs while a stream of many waits."""
    job = {"kind": "sandbox", "argv": ["/bin/sleep", "0.05"]}
    with gateway.connect() as sock:
        sock.sendall(post_bytes((json.dumps(job) + "\n").encode() * 2000, lines=True))
        wait_until(lambda: jobs_of(daemon) > 2, "the stream runs")
        assert gateway.post("/v1/jobs", ECHO)[0] == 200
        assert jobs_of(daemon) > 2, "the stream still runs"


def test_a_priority_holds_up_no_other_client(daemon, gateway):
    """The daemon would run the jobs of higher priority first, of which a stream has always some more."""
    job = {"kind": "sandbox", "argv": ["/bin/sleep", "0.05"], "priority": 10}
    with gateway.connect() as sock:
        sock.sendall(post_bytes((json.dumps(job) + "\n").encode() * 3000, lines=True))
        wait_until(lambda: jobs_of(daemon) > 2, "the stream runs")
        assert gateway.post("/v1/jobs", {**ECHO, "priority": -10})[0] == 200
        assert jobs_of(daemon) > 2, "the stream still runs"
    status, answer = gateway.post("/v1/jobs", {**ECHO, "priority": 11})
    assert status == 400 and "job.priority: expected an integer from -10 to 10" in answer["error"]["message"]


# --- the daemon ----------------------------------------------------------------------------------


def test_what_the_daemon_says(gateway):
    assert gateway.get("/healthz") == (200, {"status": "ok"})
    status, answer = gateway.get("/v1/status")
    assert (status, answer["type"], answer["state"]) == (200, "status", "running")
    status, headers, body = gateway.request("GET", "/metrics")
    assert (status, headers["Content-Type"].partition(";")[0]) == (200, "application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_a_daemon_that_goes_and_comes(start_daemon, tmp_path):
    """503 with Retry-After while it is gone; nobody restarts the gateway."""
    daemon = start_daemon()
    gateway = Gateway(tmp_path, daemon.socket, "daemon_time=1s")
    requests = {
        "/v1/jobs": ECHO,
        "/run_code": {"code": "1", "language": "python"},
        "/api/v2/execute": {"language": "python", "version": "*", "files": [{"content": "1"}]},
    }
    try:
        with gateway.connect() as sock:
            sock.sendall(post_bytes(json.dumps(SLEEP).encode()))
            wait_until(lambda: jobs_of(daemon) == 1, "the job runs")
            daemon.process.kill()
            daemon.process.wait()
            head, answer = read_answer(sock)
        assert " 503 " in head and "Retry-After: 1" in head
        assert json.loads(answer)["error"]["code"] == "daemon_gone"
        for path in ("/healthz", "/v1/status", "/metrics", "/api/v2/runtimes"):
            status, headers, _ = gateway.request("GET", path)
            assert (path, status, headers["Retry-After"]) == (path, 503, "1")
        for path, request in requests.items():
            status, headers, _ = gateway.request("POST", path, json.dumps(request), JSON)
            assert (path, status, headers["Retry-After"]) == (path, 503, "1")
        again = Daemon(daemon.directory, *COLD)
        wait_until(lambda: gateway.get("/healthz")[0] == 200, "the gateway is connected again")
        assert gateway.post("/v1/jobs", ECHO)[0] == 200
        again.stop()
    finally:
        assert gateway.stop() == 0


def test_the_log_says_why_each_daemon_was_lost(start_daemon, tmp_path):
    """One is drained, the next is killed: no words of the first explain that."""
    daemon = start_daemon()
    gateway = Gateway(tmp_path, daemon.socket)

    def lost():
        return [line for line in gateway.log().splitlines() if "lost the daemon" in line]

    try:
        wait_until(lambda: gateway.get("/healthz")[0] == 200, "the gateway is connected")
        assert daemon.stop() == 0
        wait_until(lambda: len(lost()) == 1, "the gateway has lost the daemon")
        again = Daemon(daemon.directory, *COLD)
        wait_until(lambda: gateway.get("/healthz")[0] == 200, "the gateway is connected again")
        again.process.kill()
        again.process.wait()
        wait_until(lambda: len(lost()) == 2, "the gateway has lost the daemon once more")
        assert lost() == [
            "rubricd-http: lost the daemon: rubricd ended the connection: draining: the daemon stops",
            "rubricd-http: lost the daemon: rubricd closed the connection",
        ]
    finally:
        assert gateway.stop() == 0


def test_a_stream_outlives_the_daemon(start_daemon, tmp_path):
    """Each line gets one answer, whatever becomes of the daemon."""
    daemon = start_daemon()
    gateway = Gateway(tmp_path, daemon.socket, "daemon_time=1s", "jobs_per_connection=4")
    try:
        with gateway.connect() as sock:
            sock.sendall(post_bytes((json.dumps(SLEEP) + "\n").encode() * 50, lines=True))
            wait_until(lambda: jobs_of(daemon) == 4, "the jobs are there")
            daemon.process.kill()
            daemon.process.wait()
            data = b""
            while not data.endswith(b"0\r\n\r\n"):
                part = sock.recv(1 << 16)
                assert part, data[-200:]
                data += part
        assert data.count(b'"code":"daemon_gone"') == 50
    finally:
        assert gateway.stop() == 0


# --- HTTP ----------------------------------------------------------------------------------------


def test_unknown_paths(gateway):
    for path in ("/", "/nope", "/v1", "/v1/jobs/", "/V1/jobs", "/%2e%2e/v1/jobs", "//v1/jobs"):
        status, answer = gateway.get(path)
        assert (path, status, answer["error"]["code"]) == (path, 404, "not_found")


def test_a_nul_ends_no_path(gateway):
    """What is behind it would not be seen."""
    for path in ("/healthz%00", "/healthz%00evil", "/healthz%00?x", "/%68ealthz%00", "/v1/status%00"):
        status, answer = gateway.get(path)
        assert (path, status, answer["error"]["code"]) == (path, 404, "not_found")
    for path in ("/%68ealthz", "/healthz?x=%00", "/healthz?%00"):
        assert (path, gateway.get(path)[0]) == (path, 200)


POSTS = ("/v1/jobs", "/run_code", "/api/v2/execute")
GETS = ("/metrics", "/healthz", "/v1/status", "/api/v2/runtimes")


def test_wrong_methods(gateway):
    for path in POSTS + GETS:
        allow = "POST" if path in POSTS else "GET, HEAD"
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "NONSENSE"):
            if method not in allow:
                status, headers, body = gateway.request(method, path)
                assert (path, method, status, headers["Allow"]) == (path, method, 405, allow)
                told = f"the path does not take this method; it takes {allow}"
                assert method == "HEAD" or told in body.decode()


def test_head(gateway):
    status, headers, body = gateway.request("HEAD", "/healthz")
    assert (status, body) == (200, b"") and int(headers["Content-Length"]) > 0


def test_other_content_types(gateway):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", None):
        status, _, body = gateway.request("POST", "/v1/jobs", "{}", {"Content-Type": kind} if kind else {})
        assert (kind, status, json.loads(body)["error"]["code"]) == (kind, 415, "unsupported_media_type")
    kind = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert gateway.request("POST", "/v1/jobs", json.dumps(ECHO), kind)[0] == 200


def test_pipelining(gateway):
    """Requests that arrive together are answered in their order."""
    with gateway.connect() as sock:
        sock.sendall(b"".join(post_bytes(json.dumps({**ECHO, "id": f"p{i}"}).encode()) for i in range(20)))
        data = b""
        while data.count(b'"type":"result"') < 20 or not data.endswith(b"}"):
            part = sock.recv(1 << 16)
            assert part, data
            data += part
    places = [data.index(f'"id":"p{i}"'.encode()) for i in range(20)]
    assert places == sorted(places)


def test_http_1_0(gateway):
    with gateway.connect() as sock:
        sock.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b" 200 " in read_to_end(sock).partition(b"\r\n")[0]
    body = json.dumps({**ECHO, "id": "old"}).encode() + b"\n"
    head = b"POST /v1/jobs HTTP/1.0\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n"
    with gateway.connect() as sock:
        sock.sendall(head % len(body) + body)
        data = read_to_end(sock)
    assert b"chunked" not in data and json.loads(data.partition(b"\r\n\r\n")[2])["id"] == "old"


def test_chunked_bodies(gateway):
    body = json.dumps({**ECHO, "id": "chunks"}).encode()
    chunks = b"".join(b"1\r\n" + bytes([byte]) + b"\r\n" for byte in body) + b"0\r\n\r\n"
    with gateway.connect() as sock:
        sock.sendall(head_of("POST", "/v1/jobs", kind="application/json", Transfer_Encoding="chunked") + chunks)
        assert json.loads(read_answer(sock)[1])["id"] == "chunks"


@pytest.mark.parametrize("end", [b"0\r\n\r\n", b"0;\n\r\n", b"0\n\n", b"0;x\r\r"], ids=["exact", "extension", "lf", "cr"])
def test_nothing_behind_a_chunked_body_is_a_request(gateway, end):
    """libmicrohttpd ends the line of a chunk also where a proxy reads on: what follows might be a request that the
    proxy has not seen. The next request of an honest client takes another connection."""
    body = json.dumps({**ECHO, "id": "chunks"}).encode()
    head = head_of("POST", "/v1/jobs", kind="application/json", Transfer_Encoding="chunked")
    with gateway.connect() as sock:
        sock.sendall(head + b"%x\r\n%b\r\n" % (len(body), body) + end + head_of("GET", "/healthz"))
        answer = read_to_end(sock)
    assert answer.count(b"HTTP/1.1 ") == 1, answer
    assert b"Connection: close" in answer or b" 400 " in answer.partition(b"\r\n")[0], answer


BROKEN_CHUNKS = [b"x\r\n", b"-1\r\n", b"5\r\nabc\r\n0\r\n\r\n", b"ffffffffffffffffff\r\n", b"2;" + b"a" * 100000]


@pytest.mark.parametrize("chunks", BROKEN_CHUNKS, ids=range(len(BROKEN_CHUNKS)))
def test_broken_chunks(daemon, start, chunks):
    """They are refused, at the latest when the client sends no more, and no job comes of them."""
    gateway = start("header_time=60min", "body_time=60min")
    with gateway.connect() as sock:
        with contextlib.suppress(ConnectionError):
            sock.sendall(head_of("POST", "/v1/jobs", kind="application/x-ndjson", Transfer_Encoding="chunked") + chunks)
            sock.shutdown(socket.SHUT_WR)
        data = read_to_end(sock)
    assert b" 200 " not in data.partition(b"\r\n")[0]
    with daemon.connect() as client:
        assert client.status()["counters"]["submitted"] == 0
    assert gateway.get("/healthz")[0] == 200


BROKEN_REQUESTS = [
    b"\r\n\r\n\r\n",
    b"nonsense\r\n\r\n",
    b"GET\r\n\r\n",
    b"\x16\x03\x01" * 100,
    b"GET /healthz HTTP/1.1\r\n\r\n",  # without Host
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
]


@pytest.mark.parametrize("text", BROKEN_REQUESTS, ids=range(len(BROKEN_REQUESTS)))
def test_broken_requests(start, text):
    gateway = start("header_time=60min", "body_time=60min")
    with gateway.connect() as sock:
        with contextlib.suppress(OSError):  # it may have been closed, and so be no longer connected
            sock.sendall(text)
            sock.shutdown(socket.SHUT_WR)
        assert b" 200 " not in read_to_end(sock).partition(b"\r\n")[0]
    assert gateway.get("/healthz")[0] == 200


# --- the process ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 44\r\nContent-Length: 5\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: xchunked\r\nContent-Length: 44\r\n",
        b"Host: evil.example\r\nContent-Length: 44\r\n",
        b"Content-Length:\r\n 44\r\n",
        b"Content-Length : 44\r\n",
        b"Content-Length: 44\r\n \t x\r\n",
        b"Transfer-Encoding:\r\n chunked\r\n",
        b"Transfer-Encoding : chunked\r\nContent-Length: 44\r\n",
        b"X: a\rContent-Length: 3\r\nContent-Length: 44\r\n",
        b"Origin: http://localhost\r\norigin: http://evil.example\r\nContent-Length: 44\r\n",
        b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: 44\r\n",
    ],
)
def test_a_body_that_a_proxy_may_see_otherwise(daemon, gateway, headers):
    """What follows could be another client's request, or a request in another client's name. So could one be that
    names two senders."""
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers
    with gateway.connect() as sock:
        sock.sendall(head + b"\r\n" + json.dumps(ECHO).encode() + head_of("GET", "/healthz"))
        answer = read_to_end(sock)
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1") == 1, answer
    assert b"expected one Host, at most one Origin" in answer and b"Connection: close" in answer, answer
    with daemon.connect() as client:
        assert client.status()["counters"]["submitted"] == 0


def test_chunks_of_http_1_0(daemon, gateway):
    """A proxy that speaks HTTP/1.0 takes them for the next request."""
    head = b"POST /v1/jobs HTTP/1.0\r\nContent-Type: application/json\r\nConnection: keep-alive\r\n"
    body = json.dumps(ECHO).encode()
    with gateway.connect() as sock:
        sock.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        answer = read_to_end(sock)
    assert b" 400 " in answer.splitlines()[0] and answer.count(b"HTTP/1.") == 1, answer
    with daemon.connect() as client:
        assert client.status()["counters"]["submitted"] == 0


def test_stop_finishes_requests(daemon, gateway):
    with gateway.connect() as sock:
        sock.sendall(post_bytes(json.dumps({"kind": "sandbox", "argv": ["/bin/sleep", "1"]}).encode()))
        wait_until(lambda: jobs_of(daemon) == 1, "the job runs")
        gateway.process.send_signal(signal.SIGTERM)
        assert " 200 " in read_answer(sock)[0]
    assert gateway.process.wait(DEADLINE) == 0


def test_stop_with_a_client_that_waits(daemon, gateway):
    """A second signal does not wait."""
    with gateway.connect() as sock:
        sock.sendall(post_bytes(json.dumps(SLEEP).encode()))
        wait_until(lambda: jobs_of(daemon) == 1, "the job runs")
        gateway.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionError):  # it has seen the signal
            wait_until(lambda: gateway.connect().close(), "it listens no more", deadline=DEADLINE)
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(DEADLINE) == 0
    wait_until(lambda: jobs_of(daemon) == 0, "the job is gone")


@needs_refusal
def test_no_descriptor_can_be_sent_to_a_unix_socket(start, tmp_path):
    """The gateway would close it when it takes the request, and wait for as long as that takes."""
    gateway = start("socket_mode=0600", listen=f"unix:{tmp_path}/http")
    with gateway.connect() as sock, pytest.raises(PermissionError):
        send_descriptor(sock, sock.fileno())
    assert gateway.stop() == 0


def test_a_unix_socket(start, tmp_path):
    gateway = start("socket_mode=0600", listen=f"unix:{tmp_path}/http")
    assert gateway.get("/healthz") == (200, {"status": "ok"})
    assert (tmp_path / "http").stat().st_mode & 0o777 == 0o600
    gateway.process.kill()
    gateway.process.wait()
    again = start(listen=f"unix:{tmp_path}/http")  # replaces the stale socket
    assert again.get("/healthz")[0] == 200
    assert again.stop() == 0 and not (tmp_path / "http").exists()


@pytest.mark.parametrize(
    "text, message",
    [
        ("listen = 127.0.0.1:8650\n", ":1: expected [http] before the first setting"),
        ("[http]\nlistne = x\n", ":2: there is no setting 'listne'; did you mean listen?"),
        ("[http]\nlisten = example.org:80\n", ":2: listen: expected an address and a port"),
        ("[http]\nbody_bytes = lots\n", ":2: body_bytes: expected"),
        ("[http]\n\n[other]\n", ":3: there is no section [other], only [http]"),
        ("[http]\nconnections\n", ":2: expected NAME = VALUE, got 'connections'"),
    ],
)
def test_mistakes_in_the_configuration(tmp_path, text, message):
    path = tmp_path / "http.conf"
    path.write_text(text)
    command = [RUBRICD_HTTP, "--check-config", f"--config={path}", "--set=languages="]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 78 and f"{path}{message}" in done.stderr


def test_a_daemon_that_accepts_nobody(tmp_path):
    """The gateway does not wait for room in its backlog, since it would serve nobody meanwhile."""
    path = tmp_path / "full"
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(path))
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
                waiting.setblocking(False)
                waiting.connect(str(path))
        gateway = Gateway(tmp_path, path)
        sockets = [stack.enter_context(gateway.connect()) for _ in range(20)]
        for sock in sockets:
            sock.sendall(post_bytes(json.dumps(ECHO).encode()))
        for sock in reversed(sockets):
            head, body = read_answer(sock)
            assert head.startswith("HTTP/1.1 503") and json.loads(body)["error"]["code"] == "daemon_gone"
        assert gateway.stop() == 0
