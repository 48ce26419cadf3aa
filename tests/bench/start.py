#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures how long jails take to start: those of 64 slots, one that was lost, and the one of a private
daemon for a program. The baseline is the interpreter that waits in a jail: python3 with the modules that
it loads, started by itself, one for each jail, as many at once as there are processors."""

import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import bench
from bench import PROCESSORS, PYTHON, RUBRICCTL, SCRUBBED_ENV, Daemon, NotMeasured
from table import Row, at_most, main, ratios

SLOTS = 64
LOST = 20
BACK_SECONDS = 20


def timed(function, *arguments):
    """Returns the milliseconds that a call takes."""
    began = time.monotonic()
    function(*arguments)
    return 1000 * (time.monotonic() - began)


def default_modules():
    """Returns the modules that the daemon loads, as its annotated configuration lists them."""
    text = (Path(bench.__file__).resolve().parents[2] / "conf" / "rubricd.conf").read_text()
    line = next(line for line in text.splitlines() if line.lstrip("#; ").startswith("modules ="))
    return line.partition("=")[2].split()


def run_interpreters(count, modules):
    """Runs COUNT interpreters that load MODULES and end, PROCESSORS at a time."""
    command = [PYTHON, "-s", "-B", "-c", f"import {','.join(modules)}\nimport os; os._exit(0)"]
    running = []
    for _ in range(count):
        if len(running) == PROCESSORS:
            running.pop(0).wait()
        running.append(subprocess.Popen(command, env=SCRUBBED_ENV))
    for process in running:
        process.wait()


def run_private(place):
    command = [RUBRICCTL, "sandbox", "--embedded", "--", "true"]
    subprocess.run(command, cwd=place, capture_output=True, check=True)


class Watcher:
    """One connection that asks for the status again and again, more often than rubricctl could."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.receive()

    def receive(self):
        (length,) = struct.unpack(">I", self.socket.recv(4, socket.MSG_WAITALL))
        return json.loads(self.socket.recv(length, socket.MSG_WAITALL))

    def jail(self):
        """Returns the pid of the first slot's jail; None while it has none that is up."""
        request = json.dumps({"type": "status"}).encode()
        self.socket.sendall(struct.pack(">I", len(request)) + request)
        slot = self.receive()["slots"][0]
        return slot["jail_pid"] if slot["state"] == "idle" else None


def lose_a_jail(watcher):
    """Kills the first slot's jail, and waits until another one is up."""
    before = watcher.jail()
    os.kill(before, signal.SIGKILL)
    end = time.monotonic() + BACK_SECONDS
    while watcher.jail() in (before, None):
        if time.monotonic() > end:
            raise NotMeasured("a lost jail does not come back")


def measure_slots(modules, scale):
    plain, ups = [], []
    for _ in range(scale.rounds(7)):
        plain.append(timed(run_interpreters, SLOTS, modules))
        began = time.monotonic()
        with Daemon(f"daemon.slots={SLOTS}", "warm.use=yes") as daemon:
            daemon.await_idle()
            ups.append(1000 * (time.monotonic() - began))
    yield Row("j", f"{SLOTS} plain interpreters, {PROCESSORS} at once", plain, "ms")
    yield Row("j", f"a daemon with {SLOTS} jails is up", ups, "ms", at_most(300))
    yield Row("j", "the jails to the interpreters", ratios(ups, plain), goal=at_most(0.3))


def measure_lost(modules, scale):
    plain, backs = [], []
    with Daemon("daemon.slots=1", "warm.use=yes") as daemon:
        daemon.await_idle()
        watcher = Watcher(daemon.socket)
        for _ in range(scale.jobs(LOST)):
            plain.append(timed(run_interpreters, 1, modules))
            backs.append(timed(lose_a_jail, watcher))
    yield Row("j", "a plain interpreter", plain, "ms")
    yield Row("j", "a lost jail is back", backs, "ms", at_most(5))
    yield Row("j", "a lost jail to an interpreter", ratios(backs, plain), goal=at_most(0.3))


def measure_private(modules, scale):
    plain, private = [], []
    with tempfile.TemporaryDirectory() as place:
        for _ in range(scale.jobs(LOST)):
            plain.append(timed(run_interpreters, 1, modules))
            private.append(timed(run_private, place))
    yield Row("j", "`rubricctl sandbox --embedded -- true`", private, "ms", at_most(40))
    yield Row("j", "that to a plain interpreter", ratios(private, plain))


def measure(scale):
    """how jails start"""
    modules = default_modules()
    yield from measure_slots(modules, scale)
    yield from measure_lost(modules, scale)
    yield from measure_private(modules, scale)


if __name__ == "__main__":
    main(__doc__, measure)
