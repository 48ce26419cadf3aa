#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures rubricd-http: jobs per second over 1,000 connections that stay open, each with one job at a time,
and over one connection as a stream; the baseline, in turn, is `rubricctl batch` with the same jobs. The
clients run on the same processors. Also how long /healthz takes meanwhile, and the gateway's memory."""

import json
import re
import selectors
import socket
import subprocess
import time
from pathlib import Path

from bench import BUILD, EXIT0_JOB, PASSED, Daemon, NotMeasured
from table import Row, main, percentile, ratios

RUBRICD_HTTP = BUILD / "client" / "http" / "rubricd-http"
CONNECTIONS = 1000
JOBS = 10_000
ROUNDS = 5


class Gateway:
    """A rubricd-http in front of DAEMON."""

    def __init__(self, daemon):
        if not RUBRICD_HTTP.exists():
            raise NotMeasured(f"there is no {RUBRICD_HTTP}")
        command = [RUBRICD_HTTP, "--config=/dev/null", "--set=listen=127.0.0.1:0", "--set=languages=", f"--set=socket={daemon.socket}"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)$", self.process.stderr.readline())[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()

    def memory(self):
        return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())[1]) / 1024

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port))


def post(body, kind):
    return f"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


class Client:
    """A connection with one request at a time, whose answers say EXPECTED. Every answer has a Content-Length."""

    def __init__(self, gateway, request, expected):
        self.sock, self.request, self.data = gateway.connect(), request, b""
        self.expected = expected.encode()
        self.sock.setblocking(False)

    def send(self):
        self.sock.sendall(self.request)

    def take(self):
        """Reads what is there; returns whether an answer is complete."""
        self.data += self.sock.recv(1 << 16)
        head, end, body = self.data.partition(b"\r\n\r\n")
        if not end or len(body) < int(re.search(rb"Content-Length: (\d+)", head)[1]):
            return False
        if self.expected not in body:
            raise NotMeasured(f"not as expected: {self.data[:300]}")
        self.data = b""
        return True


def many_connections(gateway, count):
    """Returns jobs per second, and the milliseconds that /healthz took meanwhile."""
    request = post(json.dumps(EXIT0_JOB), "application/json")
    clients = [Client(gateway, request, PASSED) for _ in range(CONNECTIONS)]
    probe = Client(gateway, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", '"ok"')
    health, asked = [], None
    began, left, to_send = time.monotonic(), count, count - CONNECTIONS
    with selectors.DefaultSelector() as selector:
        for client in (probe, *clients):
            selector.register(client.sock, selectors.EVENT_READ, client)
        for client in clients:
            client.send()
        while left > 0:
            if asked is None:
                asked = time.monotonic()
                probe.send()
            for key, _ in selector.select():
                if not key.data.take():
                    continue
                if key.data is probe:
                    health.append((time.monotonic() - asked) * 1e3)
                    asked = None
                    continue
                left -= 1
                if to_send > 0:
                    to_send -= 1
                    key.data.send()
    took = time.monotonic() - began
    for client in (probe, *clients):
        client.sock.close()
    return count / took, health


def stream(gateway, count):
    """Returns jobs per second of one request."""
    body = "".join(json.dumps({"id": str(i), **EXIT0_JOB}) + "\n" for i in range(count))
    began, data, found = time.monotonic(), b"", 0
    with gateway.connect() as sock:
        sock.sendall(post(body, "application/x-ndjson"))
        while not data.endswith(b"\r\n0\r\n\r\n"):
            part = sock.recv(1 << 20)
            found += (data[-20:] + part).count(PASSED.encode()) - data[-20:].count(PASSED.encode())
            data = data[-20:] + part
    if found != count:
        raise NotMeasured(f"{found} results of {count}")
    return count / (time.monotonic() - began)


def measure(scale):
    """rubricd-http"""
    count = max(scale.jobs(JOBS), 2 * CONNECTIONS)
    bare, single, streamed, health = [], [], [], []
    with Daemon() as daemon, Gateway(daemon) as gateway:
        jobs = daemon.write_jobs("jobs", [EXIT0_JOB] * count)
        for _ in range(scale.rounds(ROUNDS)):
            bare.append(daemon.rate(jobs, count, lambda result: result["score"]["passed"]))
            rate, latencies = many_connections(gateway, count)
            single.append(rate)
            health.append(percentile(latencies, 0.99))
            streamed.append(stream(gateway, count))
        memory = gateway.memory()
    yield Row("n", "rubricctl batch", bare, "/s")
    yield Row("n", f"HTTP, {CONNECTIONS} connections", single, "/s")
    yield Row("n", f"HTTP, {CONNECTIONS} connections, to batch", ratios(single, bare))
    yield Row("n", "HTTP, one stream of lines", streamed, "/s")
    yield Row("n", "HTTP, one stream of lines, to batch", ratios(streamed, bare))
    yield Row("n", f"/healthz p99 under {CONNECTIONS} connections", health, "ms")
    yield Row("n", "peak memory of rubricd-http", [memory], "MiB")


if __name__ == "__main__":
    main(__doc__, measure)
