# SPDX-License-Identifier: MIT
"""Starts rubricd-http for tests, and speaks HTTP to it byte by byte."""

import http.client
import json
import re
import socket
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, DEADLINE, ROOT, wait_until

RUBRICD_HTTP = BUILD / "client" / "http" / "rubricd-http"

# A sanitizer keeps freed memory for a while.
SANITIZED = RUBRICD_HTTP.exists() and b"__asan_init" in RUBRICD_HTTP.read_bytes()

ECHO = {"kind": "sandbox", "argv": ["/bin/echo", "hi"]}
# It may run for longer than any test waits, so that none passes because the job ends by itself.
SLEEP = {"kind": "sandbox", "argv": ["/bin/sleep", "3000"], "limits": {"wall_clock": 300}}
JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}
ALICE, BOB = "alice-token-0123456789", "bob-token-9876543210"


def need_gateway():
    """Skips the module if the build has no gateway."""
    if not RUBRICD_HTTP.exists():
        pytest.skip("this build has no rubricd-http (-Dhttp=disabled)", allow_module_level=True)


def tcp_lines(field, port):
    """Returns the lines of /proc/net/tcp, in fields, whose address in FIELD (1: the own, 2: the other) has PORT."""
    lines = [line.split() for line in open("/proc/net/tcp", encoding="utf-8")][1:]
    return [line for line in lines if line[field].endswith(f":{port:04X}")]


class Gateway:
    """A rubricd-http in front of the daemon at SOCKET, on a port that the kernel chooses."""

    def __init__(self, directory, socket_path, *settings, listen="127.0.0.1:0", env=None, files=None):
        self.log_path = Path(directory) / "http.log"
        self.log_path.unlink(missing_ok=True)
        self.log_file = open(self.log_path, "ab")
        command = [RUBRICD_HTTP, "--config=/dev/null", f"--set=listen={listen}", f"--set=socket={socket_path}"]
        command += [f"--set=languages={ROOT / 'conf/languages.d'}", *(f"--set={s}" for s in settings)]
        if files:  # the limit of open files
            command = ["prlimit", f"--nofile={files}:{files}", *command]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log_file,
                                        stderr=self.log_file, env=env)  # fmt: skip
        wait_until(lambda: "listening on" in self.log() or self.process.poll() is not None, "rubricd-http listens")
        assert self.process.poll() is None, self.log()
        self.address = re.search(r"listening on (\S+)", self.log())[1]
        self.port = None if self.address.startswith("unix:") else int(self.address.rpartition(":")[2])

    def log(self):
        return self.log_path.read_text(errors="replace")

    def connect(self):
        if self.port is None:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(DEADLINE)
            sock.connect(self.address.removeprefix("unix:"))
            return sock
        return socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)

    def request(self, method, path, body=None, headers=None):
        """Returns (status, headers, body) of one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", timeout=DEADLINE)
        connection.sock = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def post(self, path, value, headers=None):
        """Posts VALUE as JSON; returns the status and the value of the answer."""
        status, _, body = self.request("POST", path, json.dumps(value), {**JSON, **(headers or {})})
        return status, json.loads(body)

    def get(self, path):
        status, _, body = self.request("GET", path)
        return status, json.loads(body)

    def lines(self, jobs):
        """Posts JOBS as lines of JSON; returns the lines of the answer."""
        text = "".join(job if isinstance(job, str) else json.dumps(job) + "\n" for job in jobs)
        status, headers, body = self.request("POST", "/v1/jobs", text, LINES)
        assert (status, headers["Content-Type"]) == (200, "application/x-ndjson"), body
        return [json.loads(line) for line in body.splitlines()]

    def memory(self):
        """Returns the resident bytes of the process."""
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())[1]) << 10

    def sockets(self):
        """Returns the lines of /proc/net/tcp of its connections that it has not closed, whether or not its client
        has."""
        return [line for line in tcp_lines(1, self.port) if line[3] in ("01", "08")]

    def connections(self):
        return len(self.sockets())

    def unread(self):
        """Returns the bytes that clients have sent and that it has not read; those that are on their way count."""
        # In this order: what has left the clients' queues by the first look is in its own by the second.
        to_send = sum(int(line[4].partition(":")[0], 16) for line in tcp_lines(2, self.port))
        return to_send + sum(int(line[4].partition(":")[2], 16) for line in self.sockets())

    def stop(self):
        self.process.terminate()
        try:
            status = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(f"rubricd-http did not stop; log: {self.log()}")
        finally:
            self.log_file.close()
        assert "Sanitizer" not in self.log() and "runtime error" not in self.log(), self.log()
        return status


@pytest.fixture(name="start")
def make_start(daemon, tmp_path):
    """Returns a function that starts gateways in front of the daemon; they must stop cleanly."""
    running = []

    def start_gateway(*settings, **kwargs):
        running.append(Gateway(tmp_path, daemon.socket, *settings, **kwargs))
        return running[-1]

    yield start_gateway
    for gateway in running:
        if gateway.process.poll() is None:
            assert gateway.stop() == 0, gateway.log()


@pytest.fixture(name="tokens")
def make_tokens(tmp_path):
    """Returns a file with the tokens of alice and bob."""
    path = tmp_path / "tokens"
    path.write_text(f"# who may\nalice {ALICE}\n\nbob\t{BOB}\n")
    path.chmod(0o600)
    return path


@pytest.fixture(name="gateway")
def make_gateway(start):
    return start()


def jobs_of(daemon):
    """Returns how many jobs run and wait."""
    with daemon.connect() as client:
        status = client.status()
    return sum(slot["job"] is not None for slot in status["slots"]) + status["queue"]["jobs"]


def head_of(method, path, length=None, kind=None, **headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"Content-Type: {kind}"] * (kind is not None)
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {length}"] * (length is not None)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def post_bytes(body, lines=False, **headers):
    """Returns the bytes of a request that posts BODY to /v1/jobs."""
    kind = "application/x-ndjson" if lines else "application/json"
    return head_of("POST", "/v1/jobs", len(body), kind, **headers) + body


def read_answer(sock):
    """Reads one answer with a Content-Length and nothing of the next one; returns its head and its body."""
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        part = sock.recv(1)
        assert part, f"closed inside a head: {data!r}"
        data += part
    head, body = data.removesuffix(b"\r\n\r\n"), b""
    length = int(re.search(rb"Content-Length: (\d+)", head)[1])
    while len(body) < length:
        part = sock.recv(length - len(body))
        assert part, f"closed inside a body: {body!r}"
        body += part
    return head.decode(), body


def read_to_end(sock):
    """Reads until the server closes, which it may do with a reset."""
    data = b""
    try:
        while part := sock.recv(1 << 16):
            data += part
    except ConnectionError:
        pass
    return data
