# SPDX-License-Identifier: MIT
"""What no client of rubricd-http may do to others: sizes, slowness, numbers; and who is let in."""

import contextlib
import json
import os
import re
import resource
import socket
import subprocess
import threading
import time

import pytest
from conftest import DEADLINE, wait_until
from http_gateway import (
    ALICE,
    BOB,
    ECHO,
    JSON,
    LINES,
    RUBRICD_HTTP,
    SANITIZED,
    SLEEP,
    Gateway,
    head_of,
    jobs_of,
    make_gateway,  # noqa: F401
    make_start,  # noqa: F401
    make_tokens,  # noqa: F401
    need_gateway,
    post_bytes,
    read_answer,
    read_to_end,
)
from test_reload import reloaded

pytestmark = pytest.mark.cold

need_gateway()

MIB = 1 << 20

# --- bounds --------------------------------------------------------------------------------------


def test_a_body_that_is_too_large(start):
    gateway = start("body_bytes=64K")
    status, _, body = gateway.request("POST", "/v1/jobs", b"x" * 65537, LINES)
    assert (status, json.loads(body)["error"]["code"]) == (413, "too_large")
    with gateway.connect() as sock:
        sock.sendall(head_of("POST", "/v1/jobs", 1 << 40, "application/json", Expect="100-continue"))
        assert " 413 " in read_answer(sock)[0]
    status, _, _ = gateway.request("POST", "/v1/jobs", iter([b"x" * 65536, b"y"]), LINES)  # chunked
    assert status == 413


def grown(size):
    """Returns a rubric job of SIZE bytes whose text is longer once it is printed again: 1e9 becomes 1000000000.0."""
    text = '{"kind": "rubric", "task_class": "x", "harness_output": {}, "case": {"n": [%s], "pad": "%s"}}'
    numbers = ",".join(["1e9"] * 1000)
    return text % (numbers, "x" * (size - len(text % (numbers, ""))))


# Of each line, and of each job as it is sent on, so many bytes less than the daemon's max_frame.
FRAME, JOB_MAX = 64 << 10, (64 << 10) - 256
TOO_LARGE = re.compile(r"the job has (\d+) bytes, and the daemon takes at most 65280")


@contextlib.contextmanager
def narrow(start_daemon, directory, *settings):
    """Starts a gateway in front of a daemon whose max_frame is FRAME."""
    gateway = Gateway(directory, start_daemon(f"protocol.max_frame={FRAME}").socket, *settings)
    try:
        yield gateway
    finally:
        assert gateway.stop() == 0, gateway.log()


def test_a_job_that_outgrows_the_daemon(start_daemon, tmp_path):
    """The body is small enough, and the job that is made of it is not: no later attempt is better."""
    with narrow(start_daemon, tmp_path) as gateway:
        assert gateway.post("/v1/jobs", {**ECHO, "stdin": "x" * (FRAME - 1000)})[0] == 200
        status, headers, body = gateway.request("POST", "/v1/jobs", grown(JOB_MAX), JSON)
        answers = gateway.lines([ECHO, grown(JOB_MAX) + "\n", ECHO])
    error = json.loads(body)["error"]
    assert (status, error["code"], error["retriable"], headers["Retry-After"]) == (413, "frame_too_large", False, None)
    assert int(TOO_LARGE.fullmatch(error["message"])[1]) > JOB_MAX
    answer = next(answer for answer in answers if "error" in answer)
    assert (answer["line"], answer["id"], answer["error"]) == (2, "line 2", error)
    assert sorted(answer["id"] for answer in answers) == ["line 1", "line 2", "line 3"]


def test_a_line_that_is_too_long_for_the_daemon(start_daemon, tmp_path):
    with narrow(start_daemon, tmp_path) as gateway:
        answers = gateway.lines(["x" * (JOB_MAX + 1) + "\n", ECHO])
    message = TOO_LARGE.pattern.replace(r"(\d+)", str(JOB_MAX + 1))
    error = {"code": "frame_too_large", "message": message, "retriable": False}
    assert [answer["error"] for answer in answers if "error" in answer] == [error]
    assert [answer["id"] for answer in answers if "error" not in answer] == ["line 2"]


@pytest.mark.parametrize("room", ["1G", "64K"])
@pytest.mark.parametrize(
    "path, field, request_value",
    [
        ("/run_code", "detail", {"language": "python", "code": "#" * 60000, "fetch_files": ["*" * 2500]}),
        ("/api/v2/execute", "message", {"language": "py", "version": "*", "files": [{"content": ""}] * 4300}),
    ],
)
def test_a_program_that_outgrows_the_daemon(start_daemon, tmp_path, path, field, request_value, room):
    """Also where there would be no room to keep the job: a client would come back for nothing."""
    text = json.dumps(request_value, separators=(",", ":"))
    assert len(text) <= JOB_MAX
    with narrow(start_daemon, tmp_path, f"bodies_bytes={room}") as gateway:
        status, headers, body = gateway.request("POST", path, text, JSON)
    assert (status, headers["Retry-After"]) == (413, None), body
    assert int(TOO_LARGE.fullmatch(json.loads(body)[field])[1]) > FRAME


def test_bodies_of_100_mib(start):
    """They are taken as streams of lines, and their memory is given back; what has no room is told so."""
    gateway = start("bodies_bytes=256M")
    before = gateway.memory()
    line = json.dumps({**ECHO, "id": "x", "files": {"f": "y" * MIB}}) + "\n"
    assert [answer.get("stdout") for answer in gateway.lines([line] * 100)] == ["hi\n"] * 100
    results = []

    def post():
        with contextlib.suppress(OSError):
            results.append(gateway.request("POST", "/v1/jobs", b" " * (100 * MIB), LINES)[0])

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) <= {200, 503} and 200 in results
    wait_until(lambda: gateway.memory() - before < 64 * MIB or SANITIZED, "the memory is given back")


def hold_bodies(gateway, stack, count, size, headers=""):
    """Makes COUNT connections that have sent SIZE bytes of a body, and not the last one."""
    head = head_of("POST", "/v1/jobs", size + 1, "application/x-ndjson").replace(b"\r\n\r\n", b"\r\n")
    for _ in range(count):
        sock = stack.enter_context(gateway.connect())
        sock.sendall(head + headers.encode() + b"\r\n" + b" " * size)


def test_bodies_that_are_held_leave_room_for_small_ones(start):
    gateway = start("bodies_bytes=256K", "body_bytes=256K")
    with contextlib.ExitStack() as stack:
        hold_bodies(gateway, stack, 3, 200 << 10)
        large = {**ECHO, "files": {"f": "x" * (200 << 10)}}
        wait_until(lambda: gateway.post("/v1/jobs", large)[0] == 503, "the bodies are there")
        assert gateway.post("/v1/jobs", {**ECHO, "files": {"f": "x" * (60 << 10)}})[0] == 200
    wait_until(lambda: gateway.post("/v1/jobs", large)[0] == 200, "the memory is given back")


def take(sock, seen):
    """Takes what SOCK has to SEEN; returns whether that is the end of a chunked answer."""
    with contextlib.suppress(BlockingIOError):
        while part := sock.recv(1 << 16):
            seen += part
    return seen.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("line", [b"\n", b" \n"])
def test_others_are_served_while_blank_lines_are_read(gateway, line):
    body = line * (128 * MIB // len(line))
    with gateway.connect() as stream, gateway.connect() as other:
        stream.sendall(post_bytes(body, lines=True)[:-1])
        other.sendall(head_of("GET", "/healthz"))
        read_answer(other)
        stream.sendall(b"\n")
        stream.setblocking(False)
        seen, served = bytearray(), 0
        while not take(stream, seen):
            other.sendall(head_of("GET", "/healthz"))
            assert " 200 " in read_answer(other)[0]
            served += 1
    assert served > 3


def test_others_are_served_while_wrong_lines_are_answered(start):
    """Also if all these answers might be held."""
    gateway = start("unread_bytes=1G", "results_bytes=16G", "reply_time=60min")
    body = b"x\n" * (MIB // 4)
    with gateway.connect() as stream, gateway.connect() as other:
        stream.sendall(post_bytes(body, lines=True)[:-1])
        other.sendall(head_of("GET", "/nothing"))
        read_answer(other)
        before = gateway.memory()
        stream.sendall(b"\n")
        for _ in range(4):
            other.sendall(head_of("GET", "/nothing"))
            assert " 404 " in read_answer(other)[0]
        assert gateway.memory() - before < 12 * MIB, "few lines have been answered"
        seen = bytearray()
        stream.setblocking(False)
        wait_until(lambda: take(stream, seen), "the stream ends")
    whole = re.sub(rb"\r\n[0-9a-fA-F]+\r\n", b"", seen)  # without the borders of chunks
    assert whole.count(b'"bad_request"') == MIB // 4


def test_slow_headers(start):
    gateway = start("header_time=300ms")
    with gateway.connect() as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert read_to_end(sock) == b""
    with gateway.connect() as sock:  # a connection that lies idle between two requests
        sock.sendall(head_of("GET", "/healthz"))
        assert " 200 " in read_answer(sock)[0]
        assert read_to_end(sock) == b""


def test_slow_bodies(start):
    """A byte now and then does not keep a connection."""
    gateway = start("body_time=500ms")
    with gateway.connect() as sock:
        sock.sendall(head_of("POST", "/v1/jobs", 1 << 20, "application/json"))
        since = time.monotonic()
        sock.settimeout(0.05)
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - since < DEADLINE:
                sock.send(b" ")
                with contextlib.suppress(TimeoutError):
                    if sock.recv(1) == b"":
                        break
        assert time.monotonic() - since < DEADLINE / 2


def test_slow_readers(daemon, start):
    """One that takes nothing is bounded in memory and cut off, and its jobs end; others are served."""
    gateway = start("reply_time=1s", "unread_bytes=1M")
    job = {"kind": "sandbox", "argv": ["/bin/sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x"]}
    before = gateway.memory()
    with gateway.connect() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(post_bytes((json.dumps(job) + "\n").encode() * 2000, lines=True))
        since = time.monotonic()
        wait_until(lambda: jobs_of(daemon) > 0, "the jobs run")
        assert gateway.get("/healthz")[0] == 200
        wait_until(lambda: jobs_of(daemon) == 0, "the jobs are gone")
        with daemon.connect() as client:
            assert client.status()["counters"]["submitted"] < 500, "most jobs have not even been sent"
        assert gateway.memory() - before < 64 * MIB
        wait_until(lambda: len(sockets_of(gateway)) == 0, "the connection is closed")
        data = read_to_end(sock)
    assert time.monotonic() - since < DEADLINE / 4, "what it has not read is dropped"
    assert not data.endswith(b"0\r\n\r\n"), "the answer is not whole"
    assert gateway.post("/v1/jobs", ECHO)[0] == 200


def sockets_of(gateway):
    """Returns the lines of /proc/net/tcp that are connections to the gateway, seen from its side."""
    place = f":{gateway.port:04X}"
    lines = [line.split() for line in open("/proc/net/tcp", encoding="utf-8")][1:]
    return [line for line in lines if line[1].endswith(place) and line[3] == "01"]


def test_a_thousand_connections(start):
    """Each gets its answer; idle ones do not hold up the others."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip(f"this account may open {hard} files at a time")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    gateway = start()
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(gateway.connect()) for _ in range(1000)]
        assert gateway.get("/healthz")[0] == 200
        for sock in sockets:
            sock.sendall(post_bytes(json.dumps(ECHO).encode()))
        for sock in sockets:
            head, answer = read_answer(sock)
            assert " 200 " in head and json.loads(answer)["stdout"] == "hi\n"


def test_connections_of_one_address(start):
    gateway = start("connections_per_address=3")
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            sock = stack.enter_context(gateway.connect())
            sock.sendall(head_of("GET", "/healthz"))
            assert " 200 " in read_answer(sock)[0]
        fourth = stack.enter_context(gateway.connect())
        with contextlib.suppress(ConnectionError):
            fourth.sendall(head_of("GET", "/healthz"))
        assert read_to_end(fourth) == b""


def test_connections_in_all(start):
    """One more waits until another ends."""
    gateway = start("connections=2", "header_time=300s")
    with gateway.connect() as one, gateway.connect() as two, gateway.connect() as three:
        for sock in (one, two):
            sock.sendall(head_of("GET", "/healthz"))
            assert " 200 " in read_answer(sock)[0]
        three.sendall(head_of("GET", "/healthz"))
        three.settimeout(0.3)
        with pytest.raises(TimeoutError):
            three.recv(1)
        one.close()
        three.settimeout(DEADLINE)
        assert " 200 " in read_answer(three)[0]


# --- tokens --------------------------------------------------------------------------------------

WRONG = [None, "", "Bearer", "Bearer ", f"Bearer {ALICE}x", f"Bearer {ALICE[:-1]}", f"Basic {ALICE}", ALICE, "Bearer alice"]


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_tokens(start, tokens, wrong):
    gateway = start(f"tokens={tokens}")
    headers = {**JSON, **({"Authorization": wrong} if wrong is not None else {})}
    for path in ("/healthz", "/metrics", "/v1/status", "/api/v2/runtimes"):
        status, answer, _ = gateway.request("GET", path, None, headers)
        assert (path, status, answer["WWW-Authenticate"]) == (path, 401, 'Bearer realm="rubricd"')
    for path in ("/v1/jobs", "/run_code", "/api/v2/execute"):
        assert gateway.request("POST", path, "{}", headers)[0] == 401
    assert ALICE not in gateway.log() and BOB not in gateway.log()


def test_each_token_has_its_turns(daemon, start, tokens):
    """The daemon gives turns to connections, and each token has one."""
    gateway = start(f"tokens={tokens}")
    for right in (f"Bearer {ALICE}", f"bearer  {BOB}", f"Bearer {ALICE}"):
        assert gateway.post("/v1/jobs", ECHO, {"Authorization": right})[0] == 200
    with daemon.connect() as client:
        pids = [entry["pid"] for entry in client.status()["clients"]]
    assert pids.count(gateway.process.pid) == 3, "one for each token, and one for questions"
    assert ALICE not in gateway.log() and BOB not in gateway.log()


def test_bodies_of_one_token_leave_room_for_those_of_another(start, tokens):
    gateway = start(f"tokens={tokens}", "bodies_bytes=1M", "body_bytes=512K")
    alice, bob = ({"Authorization": f"Bearer {token}"} for token in (ALICE, BOB))
    with contextlib.ExitStack() as stack:
        hold_bodies(gateway, stack, 8, 300 << 10, f"Authorization: Bearer {ALICE}\r\n")
        large = {**ECHO, "files": {"f": "x" * (300 << 10)}}
        wait_until(lambda: gateway.post("/v1/jobs", large, alice)[0] == 503, "the bodies are there")
        assert gateway.post("/v1/jobs", {**ECHO, "files": {"f": "x" * (100 << 10)}}, bob)[0] == 200


def get_as(gateway, token, path):
    status, _, body = gateway.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    assert status == 200
    return body


@pytest.mark.parametrize("before, after, status", [("32M", "32M", 200), ("128K", "64K", 413)])
def test_the_size_that_counts_is_that_of_the_daemon(start_daemon, tmp_path, tokens, before, after, status):
    """The jobs of a token go through a connection that is made for its first one. Until then, what the daemon accepts
    is known from another; it may be less once that connection is there."""
    config = tmp_path / "rubricd.conf"
    config.write_text(f"[protocol]\nmax_frame = {before}\n")
    daemon = start_daemon(config=config)
    gateway = Gateway(tmp_path, daemon.socket, f"tokens={tokens}")
    alice = {"Authorization": f"Bearer {ALICE}"}
    request = {"language": "python", "code": "#" * (20 * MIB if status == 200 else 100 << 10)}
    try:
        assert gateway.request("GET", "/healthz", headers=alice)[0] == 200
        config.write_text(f"[protocol]\nmax_frame = {after}\n")
        with daemon.connect() as client:
            reloaded(client)
        answer = gateway.post("/run_code", request, alice)
    finally:
        assert gateway.stop() == 0, gateway.log()
    assert answer[0] == status, answer
    assert answer[1].get("status") == "Success" if status == 200 else TOO_LARGE.fullmatch(answer[1]["detail"])


def test_jobs_of_one_token_have_no_names_for_another(daemon, start, tokens):
    """Whoever runs a job sees its label in the status; others see that a slot is busy."""
    gateway = start(f"tokens={tokens}")
    wrong = {"kind": "sandbox", "argv": ["/bin/false"]}
    assert gateway.post("/v1/jobs", wrong, {"Authorization": f"Bearer {ALICE}"})[0] == 200
    with gateway.connect() as sock:
        sock.sendall(post_bytes(json.dumps(SLEEP).encode(), Authorization=f"Bearer {ALICE}"))
        wait_until(lambda: jobs_of(daemon) == 1, "the job runs")
        with daemon.connect() as client:
            assert "/bin/sleep" in str(client.status()["slots"])
        mine, others = (json.loads(get_as(gateway, token, "/v1/status")) for token in (ALICE, BOB))
        metrics = get_as(gateway, BOB, "/metrics")
    busy = [slot["job"] for slot in mine["slots"] if slot["job"]]
    assert [(job["kind"], job["label"]) for job in busy] == [("sandbox", "/bin/sleep")]
    assert [(failure["label"], failure["what"]) for failure in mine["last_failures"]] == [("/bin/false", "sandbox.failed")]
    busy = [slot for slot in others["slots"] if slot["state"] == "busy"]
    assert [set(slot["job"]) for slot in busy] == [{"running_ms", "remaining_ms"}] and others["last_failures"] == []
    assert others["counters"]["submitted"] == 2 and others["kinds"]["sandbox"]["recent"][0]["seconds"] == 60
    assert "/bin" not in json.dumps(others) and b"/bin" not in metrics
    assert not {"pid", "clients", "log"} & set(others) and str(gateway.process.pid) not in json.dumps(others)


@pytest.mark.usefixtures("tokens")
def test_tokens_of_a_credential(start, tmp_path):
    gateway = start(env={**os.environ, "CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert gateway.request("GET", "/healthz")[0] == 401


def run_once(*settings):
    """Runs rubricd-http until it ends by itself; returns its status and what it said."""
    command = [RUBRICD_HTTP, "--config=/dev/null", "--set=languages=", *(f"--set={s}" for s in settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0"])
def test_other_hosts_need_tokens(listen):
    status, said = run_once(f"listen={listen}")
    assert status == 78 and f"other hosts can reach {listen}: it is served only with `tokens`" in said


@pytest.mark.parametrize(
    "text, mode, message",
    [
        ("alice short\n", 0o600, "tokens:1: expected a token of at least 16 characters"),
        (f"al/ice {ALICE}\n", 0o600, "tokens:1: expected a name"),
        (f"alice {ALICE}\nalice {BOB}\n", 0o600, "tokens:2: the name alice is there twice"),
        (f"alice {ALICE}\nbob {ALICE}\n", 0o600, "tokens:2: the token of bob is that of alice"),
        ("# nobody\n", 0o600, "tokens: there is no token in it"),
        (f"alice {ALICE}\n", 0o644, "tokens: everybody may read or write it"),
    ],
)
def test_bad_files_of_tokens(tmp_path, text, mode, message):
    path = tmp_path / "tokens"
    path.write_text(text)
    path.chmod(mode)
    status, said = run_once(f"tokens={path}")
    assert status == 78 and message in said and ALICE not in said and BOB not in said


# --- browsers ------------------------------------------------------------------------------------

FOREIGN_HOSTS = ["evil.example", "evil.example:8650", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1",
                 "[::2]", "localhost:x", "127.0.0.1:80:80"]  # fmt: skip
FOREIGN_ORIGINS = ["http://evil.example", "https://evil.example", "null", "http://localhost.evil.example", "file://"]


def test_foreign_hosts(gateway):
    """A site whose name resolves to the loopback address reaches nothing."""
    for host in FOREIGN_HOSTS:
        status, _, body = gateway.request("GET", "/healthz", headers={"Host": host})
        assert (host, status, json.loads(body)["error"]["code"]) == (host, 403, "foreign_host")


def test_foreign_origins(gateway):
    for origin in FOREIGN_ORIGINS:
        status, _, body = gateway.request("POST", "/v1/jobs", json.dumps(ECHO), {**JSON, "Origin": origin})
        assert (origin, status, json.loads(body)["error"]["code"]) == (origin, 403, "foreign_origin")


def test_own_hosts_and_origins(gateway):
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:8650", "127.1.2.3", "[::1]:8650"):
        headers = {"Host": host, "Origin": f"http://{host}"}
        assert (host, gateway.request("GET", "/healthz", headers=headers)[0]) == (host, 200)
