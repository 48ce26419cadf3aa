# SPDX-License-Identifier: MIT
"""Starts `rubricctl fleet serve` for tests: a socket that is used like a daemon's."""

import signal
import socket
import subprocess

import pytest
from conftest import DEADLINE, Client, Daemon, says_hello, wait_until
from fleet_hosts import FLEET, Fleet, make_fleet  # noqa: F401  fixture


class Serve:
    """A `fleet serve` in front of FLEET."""

    def __init__(self, fleet, *options, name="serve", wait=True):
        self.fleet = fleet
        self.socket = fleet.directory / f"{name}.sock"
        self.log_path = fleet.directory / f"{name}.log"
        self.command = [FLEET, "serve", "--server", fleet.server.url, "--socket", self.socket, "--group", "", *options]
        self.start(wait)

    def start(self, wait=True):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.fleet.runs.append(self.process)
        if wait:
            wait_until(self.is_up, f"fleet serve says hello; log: {self.log()}")

    def is_up(self):
        assert self.process.poll() is None, f"fleet serve ended: {self.log()}"
        return self.socket.exists() and says_hello(self.socket)

    def listens(self):
        """Whether somebody can connect: the socket is there a moment before."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            return sock.connect_ex(str(self.socket)) == 0

    def log(self):
        return self.log_path.read_text(errors="replace")

    def connect(self, **kwargs):
        return Client(self.socket, **kwargs)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(DEADLINE) == 0, self.log()
        assert "Sanitizer" not in self.log() and "runtime error" not in self.log(), self.log()
        return 0


class FleetDaemon(Daemon):
    """A daemon that is reached through a fleet which has nothing else: tests of what the daemon's protocol
    promises run against it."""

    def __init__(self, directory, *settings, slots=2, serve=(), **kwargs):
        super().__init__(directory, *settings, slots=slots, **kwargs)
        self.daemon_socket = self.socket
        place = self.directory / "fleet"
        place.mkdir()
        self.fleet = Fleet(place)
        self.worker = self.fleet.add_worker("a", self)
        self.serve = Serve(self.fleet, *serve)
        self.socket = self.serve.socket

    def stop(self):
        try:
            self.serve.stop()
            self.fleet.close()
        finally:
            self.socket = self.daemon_socket
            status = super().stop()
        return status


@pytest.fixture(name="serve")
def make_serve(fleet):  # noqa: F811
    """A serve over one host with two slots."""
    fleet.add_host("a")
    serve = Serve(fleet)
    yield serve
    if serve.process.poll() is None:
        serve.stop()


def queue_depth(fleet):  # noqa: F811
    """Returns how many jobs the queue has."""
    with fleet.server.connect() as nats:
        return nats.ask("STREAM.INFO.rubricd-jobs")["state"]["messages"]


def consumers(fleet):  # noqa: F811
    with fleet.server.connect() as nats:
        return nats.ask("CONSUMER.NAMES.rubricd-jobs")["consumers"] or []
