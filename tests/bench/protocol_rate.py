#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures the protocol alone: messages per second that start no child, one at a time and pipelined. The
messages are `ping`, and a rubric job whose system under test has failed: the daemon admits, judges and
answers it like any other but runs nothing. The baseline, in turn, is a server that only answers the same
client with frames of the same sizes."""

import contextlib
import subprocess

from bench import ECHO_LOOP, Daemon, message_loop, submit
from table import Row, main, ratios

MESSAGES = 50_000
WINDOW = 64
PING = '{"type":"ping"}'
NO_CHILD = {"kind": "rubric", "task_class": "none", "bench_root": "/usr", "case": {}, "harness_output": {},
            "sut": {"status": "exception"}}  # fmt: skip
# The request, and a text that its answer contains.
KINDS = {"ping": (PING, '"type":"pong"'), "job without a child": (submit(NO_CHILD), '"code":"sut.exception"')}


@contextlib.contextmanager
def echo(daemon, answer, size):
    """Runs a server whose answers have SIZE bytes with their header; yields its socket."""
    socket = daemon.directory / "echo"
    text = "{" + answer.ljust(size - len('{}') - 4) + "}"
    server = subprocess.Popen([ECHO_LOOP, socket, text], stdout=subprocess.PIPE)
    try:
        server.stdout.readline()  # wait for `ready`
        yield socket
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        socket.unlink()


def rows_with(daemon, kind, window, scale):
    request, answer = KINDS[kind]
    count = scale.jobs(MESSAGES if window > 1 else MESSAGES // 2)
    options = [f"-w{window}"]
    size = message_loop(daemon.socket, 100, request, answer)["answer_bytes"]
    ours, theirs = [], []
    with echo(daemon, answer, size) as socket:
        for _ in range(scale.rounds(7)):
            theirs.append(count / message_loop(socket, count, request, answer, options)["seconds"])
            ours.append(count / message_loop(daemon.socket, count, request, answer, options)["seconds"])
    name = f"{kind}, {f'{window} in flight' if window > 1 else 'one at a time'}"
    yield Row("i", f"echo of as many bytes as {name}", theirs, "/s")
    yield Row("i", name, ours, "/s")
    yield Row("i", f"{name}, to echo", ratios(ours, theirs))


def measure(scale):
    """messages per second"""
    with Daemon() as daemon:
        for kind in KINDS:
            for window in (1, WINDOW):
                yield from rows_with(daemon, kind, window, scale)


if __name__ == "__main__":
    main(__doc__, measure)
