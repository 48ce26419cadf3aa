# SPDX-License-Identifier: MIT
"""Shared by the tests of rubricctl batch: jobs, the files of a batch, and a stand-in for the daemon
that the test controls message by message."""

import json
import socket
import struct
import subprocess

import schema_check
from conftest import DEADLINE, RUBRICCTL

HELLO = {
    "type": "hello",
    "version": "0.1.0",
    "protocol": 1,
    "limits": {"max_frame": 1 << 20, "jobs_per_client": 256},
}


def sandbox(id, command="true", **fields):
    return {"id": id, "kind": "sandbox", "argv": ["/bin/sh", "-c", command], **fields}


def result(id, passed=True, cost=0, limit=None, wall_ms=10, wait_ms=0):
    """Returns a complete result of a sandbox job."""
    mode = {"code": "sandbox.limit_exceeded" if limit else "sandbox.failed", "severity": "block", "detail": "d"}
    return {
        "type": "result",
        "id": id,
        "job_no": 1,
        "kind": "sandbox",
        "score": {
            "passed": passed,
            "score": int(passed),
            "breakdown": {},
            "failure_modes": [] if passed else [mode],
            "cost_usd": cost,
            "wall_clock_ms": wall_ms,
        },
        "outcome": {
            "success": passed,
            "exit_code": None if limit else int(not passed),
            "signal": 9 if limit else None,
            "limit_exceeded": limit,
            "stderr": "",
            "summary": f"sandbox limit exceeded: {limit}" if limit else "ok" if passed else "exit status 1",
        },
        "usage": {
            "wall_clock_ms": wall_ms,
            "cpu_ms": 1,
            "cpu_wait_ms": wait_ms,
            "max_rss_bytes": 1,
            "queue_ms": 0,
        },
        "stdout": "",
        "isolation": {"class": "subprocess", "layers": ["env"], "digest": "0" * 64},
    }


def timed_out(id, wait_ms, wall_ms=1000, cost=0):
    return result(id, False, cost, "wall_clock", wall_ms, wait_ms)


def error(id, code="sandbox_failed", message="the jail is gone", retriable=True):
    return {"type": "error", "id": id, "code": code, "message": message, "retriable": retriable}


class Peer:
    """A client's connection, seen from the stand-in."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(DEADLINE)
        self.stream = sock.makefile("rb")

    def send(self, *messages):
        """Sends all MESSAGES in one write."""
        payloads = [json.dumps(message).encode() for message in messages]
        self.sock.sendall(b"".join(struct.pack(">I", len(p)) + p for p in payloads))

    def recv(self):
        """Returns the next message, or None at end of file."""
        header = self.stream.read(4)
        return json.loads(self.stream.read(struct.unpack(">I", header)[0])) if header else None

    def jobs(self, count):
        """Reads COUNT messages, which must all submit jobs, and returns their ids."""
        messages = [self.recv() for _ in range(count)]
        assert all(m["type"] == "submit" for m in messages), messages
        return [m["id"] for m in messages]

    def cancelled(self, count):
        messages = [self.recv() for _ in range(count)]
        assert all(m["type"] == "cancel" for m in messages), messages
        return [m["id"] for m in messages]

    def close(self):
        self.stream.close()
        self.sock.close()


class StandIn:
    def __init__(self, path):
        self.socket = path
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen()
        self.listener.settimeout(DEADLINE)
        self.peers = []

    def accept(self, **limits):
        sock, _ = self.listener.accept()
        self.peers.append(Peer(sock))
        self.peers[-1].send({**HELLO, "limits": {**HELLO["limits"], **limits}})
        return self.peers[-1]

    def close(self):
        for peer in self.peers:
            peer.close()
        self.listener.close()


class Batches:
    """Runs rubricctl batch on a file of jobs and reads its results."""

    def __init__(self, directory, socket_path):
        self.directory = directory
        self.socket = socket_path
        self.jobs = directory / "jobs.jsonl"
        self.output = directory / "results.jsonl"

    def write(self, *jobs):
        self.jobs.write_text("".join(json.dumps(job) + "\n" for job in jobs))

    def command(self, *options, output=True):
        named = ["--output", self.output] if output else []
        return [RUBRICCTL, "--socket", self.socket, "batch", *named, *options, self.jobs]

    def start(self, *options, output=True, **kwargs):
        return subprocess.Popen(
            self.command(*options, output=output),
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **kwargs},
        )  # fmt: skip

    def run(self, *options, status=0, output=True):
        """Runs a batch to its end and returns the lines that it wrote to stderr."""
        process = self.start(*options, output=output)
        return self.end(process, status)

    @staticmethod
    def end(process, status=0):
        try:
            _, said = process.communicate(timeout=10 * DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.returncode == status, said
        return said.splitlines()

    def lines(self):
        """Returns {id: result line} of the results so far. Fails on a repeated id or an invalid line."""
        by_id = {}
        for text in self.output.read_text().splitlines():
            line = json.loads(text)
            assert line["id"] not in by_id, line
            by_id[line["id"]] = line
            schema_check.validate_by("run", line["run"])
        return by_id


def complaints(said):
    return [line.removeprefix("rubricctl: ") for line in said if line.startswith("rubricctl: ")]
