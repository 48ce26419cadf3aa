# SPDX-License-Identifier: MIT
"""Shared by the tests of the fleet: a nats-server, daemons with workers, and a client of NATS that shows
what is in the streams."""

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from conftest import BUILD, DEADLINE, RUBRICCTL, Daemon, settings_of, wait_until
from processes import is_alive

FLEET = BUILD / "client" / "fleet" / "rubricctl-fleet"
NATS_SERVER = shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin")


def need_fleet():
    """Skips the module if it cannot be tested here."""
    if not FLEET.exists():
        pytest.skip("this build has no rubricctl-fleet (-Dfleet=disabled, or there was no libnats)", allow_module_level=True)
    if not NATS_SERVER:
        pytest.skip("nats-server is not installed", allow_module_level=True)


class Nats:
    """A connection to a nats-server that speaks its protocol byte by byte."""

    def __init__(self, port, host="127.0.0.1"):
        self.sock = socket.create_connection((host, port), timeout=DEADLINE)
        self.buffer = b""
        self.number = 0
        self.inbox = f"_TEST-{os.urandom(8).hex()}"
        self._line()
        options = {"verbose": False, "headers": True, "no_responders": True}
        self.sock.sendall(b"CONNECT " + json.dumps(options).encode() + f"\r\nSUB {self.inbox}.* 1\r\n".encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def _fill(self):
        data = self.sock.recv(1 << 16)
        assert data, "nats-server closed the connection"
        self.buffer += data

    def _line(self):
        while b"\r\n" not in self.buffer:
            self._fill()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line.decode()

    def _bytes(self, n):
        while len(self.buffer) < n + 2:
            self._fill()
        data, self.buffer = self.buffer[:n], self.buffer[n + 2 :]
        return data

    def publish(self, subject, data=b"", reply=""):
        self.sock.sendall(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")

    def receive(self):
        """Returns (subject, data) of the next message."""
        while True:
            words = self._line().split()
            if words[0] == "PING":
                self.sock.sendall(b"PONG\r\n")
            elif words[0] == "MSG":
                return words[1], self._bytes(int(words[-1]))
            elif words[0] == "HMSG":
                head, size = int(words[-2]), int(words[-1])
                return words[1], self._bytes(size)[head:]

    def request(self, subject, data=b""):
        self.number += 1
        inbox = f"{self.inbox}.{self.number}"
        self.publish(subject, data, inbox)
        while True:
            subject, answer = self.receive()
            if subject == inbox:
                return answer

    def ask(self, subject, **fields):
        """Returns the answer of JetStream to a request."""
        return json.loads(self.request(f"$JS.API.{subject}", json.dumps(fields).encode()))

    def hand_back(self, consumer):
        """Pulls a job as a worker does, and hands it back."""
        self.pull(consumer, b"-NAK")

    def pull(self, consumer, answer):
        """Pulls a job as a worker does, and answers it."""
        self.number += 1
        inbox = f"{self.inbox}.{self.number}"
        self.publish(f"$JS.API.CONSUMER.MSG.NEXT.rubricd-jobs.{consumer}", json.dumps({"batch": 1}).encode(), inbox)
        while True:
            words = self._line().split()
            if words[0] == "PING":
                self.sock.sendall(b"PONG\r\n")
            elif words[0] in ("MSG", "HMSG"):
                self._bytes(int(words[-1]))
                if words[1].startswith("rubricd.jobs."):
                    self.publish(words[3], answer)
                    return

    def follow(self, consumer):
        """Pulls as a worker does whose requests are always a moment younger than those of the others at CONSUMER,
        until a job comes."""
        asking = f"$JS.API.CONSUMER.MSG.NEXT.rubricd-jobs.{consumer}"
        self.sock.sendall(f"SUB {asking} 2\r\n".encode())
        self.number += 1
        inbox, until, deadline = f"{self.inbox}.{self.number}", 0.0, time.monotonic() + 20
        self.sock.settimeout(10)  # nobody asks any more when the run is over
        while True:
            assert time.monotonic() < deadline, "no job has come"
            subject, data = self.receive()
            if subject.startswith("rubricd.jobs."):
                return
            if subject == asking and b"expires" in data and time.monotonic() >= until:
                until = time.monotonic() + 1
                self.publish(asking, json.dumps({"batch": 2, "expires": 10**9}).encode(), inbox)

    def counts(self, stream, filter=">"):
        """Returns how many messages each subject of STREAM has."""
        info = self.ask(f"STREAM.INFO.rubricd-{stream}", subjects_filter=filter)
        return info["state"].get("subjects") or {}

    def last(self, stream, subject):
        """Returns the body of the last message of SUBJECT, or None."""
        answer = self.ask(f"STREAM.MSG.GET.rubricd-{stream}", last_by_subj=subject)
        return base64.b64decode(answer["message"]["data"]) if "message" in answer else None


class Server:
    """A nats-server with JetStream on a port that the kernel chooses once."""

    def __init__(self, directory, *lines):
        self.directory = Path(directory)
        self.config = self.directory / "nats.conf"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self.lines = lines
        self.start()

    def write_config(self):
        self.config.write_text(
            "\n".join([f"listen: 127.0.0.1:{self.port}", f'jetstream {{ store_dir: "{self.directory}/js" }}', *self.lines])
        )

    def start(self):
        self.write_config()
        self.log = open(self.directory / "nats.log", "ab")
        self.process = subprocess.Popen([NATS_SERVER, "-c", self.config], stdout=self.log, stderr=self.log)
        wait_until(self.is_up, f"nats-server listens: {(self.directory / 'nats.log').read_text()}")

    def is_up(self):
        assert self.process.poll() is None, (self.directory / "nats.log").read_text()
        with socket.socket() as probe:
            probe.settimeout(1)
            with contextlib.suppress(OSError):
                probe.connect(("127.0.0.1", self.port))
                return probe.recv(4) == b"INFO"
        return False

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def stop(self):
        """Lets it write to its files what it has to."""
        self.process.terminate()
        self.process.wait(DEADLINE)
        self.log.close()

    def connect(self):
        return Nats(self.port)


class Worker:
    """A worker in front of DAEMONS."""

    def __init__(self, directory, server, name, *daemons, options=()):
        self.name = name
        self.log_path = Path(directory) / f"worker-{name}.log"
        cache = Path(directory) / f"cache-{name}"
        self.command = [FLEET, "worker", "--server", server.url, "--name", name, "--cache", cache, *options]
        for daemon in daemons:
            self.command += ["--socket", daemon.socket]
        self.start()

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def log(self):
        return self.log_path.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(DEADLINE) == 0, self.log()


class Fleet:
    """A server with the streams of a fleet, and hosts that are added to it, whose daemons have SETTINGS."""

    def __init__(self, directory, *settings):
        self.directory = Path(directory)
        self.settings = settings
        self.server = Server(self.directory)
        self.daemons, self.workers, self.runs = [], [], []
        self.run("init", check=True)

    def run(self, *arguments, check=False, **kwargs):
        """Runs a command of the fleet to its end."""
        command = [RUBRICCTL, "fleet", arguments[0], "--server", self.server.url, *arguments[1:]]
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=check, **kwargs)

    def start(self, *arguments):
        """Starts a command of the fleet; its outputs are text."""
        command = [RUBRICCTL, "fleet", arguments[0], "--server", self.server.url, *arguments[1:]]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.runs.append(process)
        return process

    def add_daemon(self, *settings, slots=2):
        directory = self.directory / f"d{len(self.daemons)}"
        directory.mkdir()
        daemon = Daemon(directory, *self.settings, *settings, slots=slots)
        self.daemons.append(daemon)
        return daemon

    def add_worker(self, name, *daemons, options=()):
        worker = Worker(self.directory, self.server, name, *daemons, options=options)
        self.workers.append(worker)
        self.wait_for(name)
        return worker

    def add_host(self, name, **kwargs):
        """Adds a daemon and its worker; returns the worker."""
        return self.add_worker(name, self.add_daemon(**kwargs))

    def wait_for(self, name):
        with self.server.connect() as nats:
            wait_until(lambda: nats.last("hosts", f"rubricd.hosts.{name}"), f"worker {name} announces itself")

    def close(self):
        for process in self.runs:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for worker in self.workers:
            if is_alive(worker.process.pid):
                worker.kill()
        for daemon in self.daemons:
            daemon.stop()
        if self.server.process.poll() is None:
            self.server.kill()


@pytest.fixture(name="fleet")
def make_fleet(request, tmp_path):
    fleet = Fleet(tmp_path, *settings_of(request))
    yield fleet
    fleet.close()


def write_jobs(path, jobs):
    path.write_text("".join(json.dumps(job) + "\n" for job in jobs))
    return path


def echo(id, **fields):
    return {"id": id, "kind": "sandbox", "argv": ["/bin/echo", id], **fields}


def shell(id, command, **fields):
    return {"id": id, "kind": "sandbox", "argv": ["/bin/sh", "-c", command], **fields}


def wait_for_starts(fleet, run, id, n):
    def starts():
        mark = nats.last("marks", f"rubricd.marks.{run}.{id}")
        return mark and len(json.loads(mark)["starts"]) == n

    with fleet.server.connect() as nats:
        wait_until(starts, f"{id} has {n} starts")


def read_results(path):
    """Returns the lines of a file of results by id. Fails if an id has two."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    by_id = {line["id"]: line for line in lines}
    assert len(by_id) == len(lines), "an id has several lines"
    return by_id


def outputs(path):
    return {id: line.get("stdout", line.get("code")) for id, line in read_results(path).items()}


def read_until(stream, text):
    """Reads lines of a pipe until one has TEXT; returns them all. A batch that waits says so again and again."""
    seen, end = "", time.monotonic() + DEADLINE
    while text not in seen:
        ready = select.select([stream], [], [], max(end - time.monotonic(), 0))[0]
        line = stream.readline() if ready else ""
        assert line, f"no {text!r} in {seen!r}"
        seen += line
    return seen
