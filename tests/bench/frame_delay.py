#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures how long the largest frames of some clients delay another one. That one sends a `ping` every few
milliseconds; the others send frames of 16 MiB back to back, each after the answer to the one before. The
baseline, in turn, is the same ping while nobody sends anything."""

import contextlib
import json
import socket
import struct
import threading
from pathlib import Path

from bench import Daemon, message_loop
from table import Row, at_most, main, percentile

MAX_FRAME = 16 << 20
# The most values that a frame may hold, a little below the bound of what they take.
OVERHEAD = (64 << 20) - 65536
PINGS = 150
PAUSE_US = 5000
PING, PONG = '{"type":"ping"}', '"type":"pong"'
HERE = b'"HERE"'


def around(value, last=b"}"):
    """Returns the text of a submit with VALUE in its input. Its system under test has failed: it runs nothing."""
    job = {"kind": "rubric", "task_class": "none", "bench_root": "/usr", "case": {},
           "harness_output": {"x": "HERE"}, "sut": {"status": "exception"}}  # fmt: skip
    text = json.dumps({"type": "submit", "id": "large", "job": job}).encode()
    return text[:-1].replace(HERE, value) + last


def room():
    return MAX_FRAME - len(around(b"")) - 64


def listed(value, overhead, last=b"}"):
    """As many of VALUE as a frame may hold, then spaces."""
    overhead += 64 * value.count(b".") + 128 * value.count(b"e")
    count = min(room() // (len(value) + 1), OVERHEAD // overhead)
    text = b"[" + b",".join([value] * count) + b"]"
    return around(text + b" " * (room() - len(text)), last)


def keyed(same):
    """As many keys as a frame may hold; the last two are the same if SAME."""
    count = min(OVERHEAD // (448 + 128), 100_000)
    names = [b'"%0100d":0' % (count - 1 if same and n == count else n) for n in range(1, count + 1)]
    return around(b"{" + b",".join(names) + b"}")


def text_of(piece, last=b""):
    return around(b'"' + piece * (room() // len(piece)) + last + b'"')


def program(text):
    return json.dumps({"type": "submit", "id": "large", "job": {
        "kind": "sandbox", "argv": ["/usr/bin/true"], "stdin": text}}).encode()  # fmt: skip


def judged(comment):
    code = "def f(x):\n    return x\n" + comment
    return json.dumps({"type": "submit", "id": "large", "job": {
        "kind": "code_exec", "code": code, "targets": ["assert f(1) == 1"]}}).encode()  # fmt: skip


FRAMES = {
    "objects": lambda: around(b"[" + b",".join([b"{}"] * (room() // 3)) + b"]"),
    "zeros": lambda: around(b"[" + b",".join([b"0"] * (room() // 2)) + b"]"),
    "lists in lists": lambda: around(b"[" + b",".join([b"[" * 190 + b"]" * 190] * (room() // 381)) + b"]"),
    "as many objects as fit": lambda: listed(b"{}", 384 + 128),
    "as many zeros as fit": lambda: listed(b"0", 128),
    "as many reals as fit": lambda: listed(b"1.7976931348623157e-300", 128),
    "as many short reals as fit": lambda: listed(b"0.30000000000000004", 128),
    "as many long reals as fit": lambda: listed(b"4." + b"9" * 800 + b"e-310", 128),
    "as many strings as fit": lambda: listed(rb'"\u00e9"', 128),
    "as many zeros as fit, wrong at the end": lambda: listed(b"0", 128, last=b"]"),
    "as many keys as fit": lambda: keyed(False),
    "a key twice": lambda: keyed(True),
    "escapes": lambda: text_of(rb"\u0001"),
    "short escapes": lambda: text_of(rb"\n"),
    "escapes of pairs": lambda: text_of(rb"\ud83d\ude00"),
    "one text": lambda: text_of(b"x" * 1024),
    "one text, not UTF-8 at the end": lambda: text_of(b"x" * 1024, b"\xff"),
    "one text of three bytes a letter": lambda: text_of("\u20ac".encode() * 1024),
    "one number": lambda: around(b"1" * room()),
    "one real": lambda: around(b"0." + b"1" * (room() - 2)),
    "one key": lambda: around(b'{"' + b"k" * (room() - 8) + b'":0}'),
    "spaces": lambda: around(b"0" + b" " * (room() - 1)),
    "a sandbox job of 15 MiB": lambda: program("x" * (15 << 20)),
    "a sandbox job of 7 MiB of lines": lambda: program("x\n" * (5 << 20)),
    "code_exec, 15 MiB of code": lambda: judged("# a comment\n" * ((15 << 20) // 13)),
    "code_exec, 15 MiB in one line": lambda: judged("#" + "x" * (15 << 20)),
}


class Sender(threading.Thread):
    """Sends FRAME again and again, each time after the answer."""

    def __init__(self, path, frame):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.frame = frame
        self.answers, self.code, self.is_over = 0, "", False
        self.first = threading.Event()

    def answer(self):
        size = struct.unpack(">I", self.receive(4))[0]
        return json.loads(self.receive(size))

    def receive(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise ConnectionError
            data += piece
        return data

    def run(self):
        with contextlib.suppress(OSError):
            while not self.is_over:
                self.socket.sendall(struct.pack(">I", len(self.frame)))
                self.socket.sendall(self.frame)
                while (answer := self.answer())["type"] not in ("result", "error"):
                    pass
                self.answers, self.code = self.answers + 1, answer.get("code", answer["type"])
                self.first.set()

    def stop(self):
        self.is_over = True
        self.socket.shutdown(socket.SHUT_RDWR)
        self.join()
        self.socket.close()


def pings(daemon, count):
    """Returns the latencies of COUNT pings in ms."""
    options = ["-p", PAUSE_US]
    return [ns / 1e6 for ns in message_loop(daemon.socket, count, PING, PONG, options)["latencies_ns"][1:]]


def processor_ms(daemon):
    """Returns the CPU time of the daemon so far."""
    return int(Path(f"/proc/{daemon.process.pid}/schedstat").read_text().split()[0]) / 1e6


def cost(daemon, frame):
    """Returns the CPU time in ms from the last byte of a frame to its answer. Other work on the host hardly
    changes it, as it does the latency of a ping."""
    sender = Sender(daemon.socket, frame)
    sender.socket.sendall(struct.pack(">I", len(frame)) + frame[:-1])
    daemon.await_idle()
    before = processor_ms(daemon)
    sender.socket.sendall(frame[-1:])
    while sender.answer()["type"] not in ("result", "error"):
        pass
    sender.socket.close()
    return processor_ms(daemon) - before


def beside(daemon, frame, senders, count):
    crowd = [Sender(daemon.socket, frame) for _ in range(senders)]
    for sender in crowd:
        sender.start()
    for sender in crowd:
        sender.first.wait(60)
    try:
        return pings(daemon, count), crowd[0].code
    finally:
        for sender in crowd:
            sender.stop()


def rows_with(daemon, name, frame, senders, scale):
    who = f"{name} ({senders} client{'s' if senders > 1 else ''})"
    count = scale.jobs(PINGS)
    idle, busy = [], []
    for _ in range(scale.rounds(3)):
        idle.append(pings(daemon, count))
        latencies, code = beside(daemon, frame, senders, count)
        busy.append(latencies)
    for what, share, goal in (("p50", 0.5, None), ("p99", 0.99, None), ("most", 1, at_most(100))):
        yield Row("l", f"ping {what}, idle, before {who}", [percentile(of, share) for of in idle], "ms")
        yield Row("l", f"ping {what} beside {who}: {code}", [percentile(of, share) for of in busy], "ms", goal)


def measure(scale):
    """how long large frames delay a ping"""
    with Daemon("daemon.slots=2") as daemon:
        for name, make in FRAMES.items():
            frame = make()
            assert len(frame) <= MAX_FRAME, name
            costs = [cost(daemon, frame) for _ in range(scale.rounds(5))]
            yield Row("l", f"daemon CPU for {name}", costs, "ms", at_most(100))
            for senders in (1, 8):
                yield from rows_with(daemon, name, frame, senders, scale)


if __name__ == "__main__":
    main(__doc__, measure)
