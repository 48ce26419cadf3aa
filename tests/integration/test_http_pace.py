# SPDX-License-Identifier: MIT
"""Many large requests of one client of rubricd-http hold up nobody else: others are served between two of them."""

import contextlib
import json
import select
import signal
from pathlib import Path

import pytest
from conftest import DEADLINE, wait_until
from http_gateway import (
    ALICE,
    BOB,
    JSON,
    SANITIZED,
    head_of,
    make_gateway,  # noqa: F401
    make_start,  # noqa: F401
    make_tokens,  # noqa: F401
    need_gateway,
    read_answer,
    read_to_end,
)

pytestmark = pytest.mark.cold

need_gateway()

COUNT = 40
# So many that not all have had their turn when a second thing happens.
MANY = 160
ENTRIES = ", ".join(["[]"] * (128 << 10))  # half a MiB, which takes longer to read than anything else does
LINE_STEP = 64 << 10

# Requests that are refused, but only once all of the body has been read.
REFUSED = {
    "job": ("/v1/jobs", "application/json", '{"x": [' + ENTRIES + '], "id": 1}', 400),
    "fusion": ("/run_code", "application/json", '{"x": [' + ENTRIES + '], "language": 1, "code": ""}', 422),
    "piston": ("/api/v2/execute", "application/json", '{"x": [' + ENTRIES + "]}", 400),
    # Their lines are found in parts, of which only the last is short: so all are found in one turn.
    "stream": ("/v1/jobs", "application/x-ndjson", '{"id": 1, "x": [' + ENTRIES + "]}", 200),
}


def with_length(text, kind):
    """Returns TEXT as bytes; a line ends just behind one of the parts in which lines are found."""
    if kind == "application/x-ndjson":
        text = text[:1] + " " * (-len(text) % LINE_STEP) + text[1:]
    return text.encode() + b"\n"


class Crowd:
    """Clients that have sent all but the last byte of one large request each."""

    def __init__(self, gateway, stack, case, count=COUNT, **headers):
        path, kind, text, self.status = REFUSED[case]
        body = with_length(text, kind)
        self.gateway, self.seen = gateway, {}
        for _ in range(count):
            sock = stack.enter_context(gateway.connect())
            sock.sendall(head_of("POST", path, len(body), kind, **headers) + body[:-1])
            self.seen[sock] = b""
        self.ends = b"0\r\n\r\n" if kind == "application/x-ndjson" else b"}"

    def unread(self):
        """Returns how many bytes wait at the gateway's and at the clients' ends of all its connections."""
        place = f":{self.gateway.port:04X}"
        lines = [line.split() for line in open("/proc/net/tcp", encoding="utf-8")][1:]
        queues = [line[4].split(":") for line in lines if any(end.endswith(place) for end in line[1:3])]
        return sum(int(queue, 16) for pair in queues for queue in pair)

    def send_the_rest(self):
        """Sends the last bytes so that the gateway sees them all at once."""
        wait_until(lambda: self.unread() == 0, "all that was sent is read")
        self.gateway.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: "T (stopped)" in Path(f"/proc/{self.gateway.process.pid}/status").read_text(), "it stops")
        for sock in self.seen:
            sock.sendall(b"\n")
        self.gateway.process.send_signal(signal.SIGCONT)

    def answered(self):
        """Returns how many have their whole answer now."""
        for sock in select.select(list(self.seen), [], [], 0)[0]:
            self.seen[sock] += sock.recv(1 << 16)
        return sum(seen.endswith(self.ends) for seen in self.seen.values())

    def check(self):
        wait_until(lambda: self.answered() == len(self.seen), "all are answered")
        assert {int(seen.split()[1]) for seen in self.seen.values()} == {self.status}


@pytest.mark.parametrize("case", REFUSED)
def test_others_are_served_between_two_bodies(start, case):
    gateway = start("bodies_bytes=1G")
    with contextlib.ExitStack() as stack:
        crowd = Crowd(gateway, stack, case)
        other = stack.enter_context(gateway.connect())
        other.sendall(head_of("GET", "/healthz"))
        assert " 200 " in read_answer(other)[0]
        assert crowd.answered() == 0
        crowd.send_the_rest()
        counts, answered = set(), 0
        while answered < COUNT:
            other.sendall(head_of("GET", "/healthz"))
            assert " 200 " in read_answer(other)[0]
            answered = crowd.answered()
            counts.add(answered)
        crowd.check()
    assert len(counts) > COUNT / 4, "they are answered in a few heaps"


def test_a_body_of_another_token_does_not_stand_behind_all(start, tokens):
    gateway = start(f"tokens={tokens}", "bodies_bytes=1G")
    with contextlib.ExitStack() as stack:
        crowd = Crowd(gateway, stack, "fusion", Authorization=f"Bearer {ALICE}")
        crowd.send_the_rest()
        wait_until(lambda: crowd.answered() > 0, "the first is answered")
        status, _, _ = gateway.request("POST", "/run_code", "{}", {**JSON, "Authorization": f"Bearer {BOB}"})
        assert status == 422
        assert crowd.answered() < COUNT
        crowd.check()


@pytest.mark.parametrize("case", REFUSED)
def test_clients_that_leave_while_their_bodies_wait_give_their_memory_back(start, case):
    """At once, and not when the turn of their bodies would have come."""
    gateway = start("bodies_bytes=40M")
    size = len(with_length(REFUSED[case][2], REFUSED[case][1]))
    large = json.dumps({"id": 1, "x": "x" * (15 << 20)})
    with contextlib.ExitStack() as stack:
        crowd = Crowd(gateway, stack, case, count=(32 << 20) // (2 * size))
        wait_until(lambda: crowd.unread() == 0, "the bodies are there")
        assert gateway.request("POST", "/v1/jobs", large, JSON)[0] == 503
        crowd.send_the_rest()
        wait_until(lambda: crowd.answered() > 0, "the first is answered")
    wait_until(lambda: gateway.connections() == 0, "the connections have ended")
    assert gateway.request("POST", "/v1/jobs", large, JSON)[0] == 400


@pytest.mark.parametrize("case", REFUSED)
def test_stop_answers_bodies_that_wait(start, case):
    gateway = start("bodies_bytes=1G")
    with contextlib.ExitStack() as stack:
        # All of them within the 30 s that rubricd-http takes to stop, also with sanitizers on a busy host.
        crowd = Crowd(gateway, stack, case, count=COUNT // 4 if SANITIZED else COUNT)
        crowd.send_the_rest()
        wait_until(lambda: crowd.answered() > 0, "the first is answered")
        gateway.process.send_signal(signal.SIGTERM)
        crowd.check()
    assert gateway.process.wait(DEADLINE) == 0


def is_closed(gateway):
    try:
        gateway.connect().close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("case", REFUSED)
def test_a_second_signal_ends_bodies_that_wait(start, case):
    gateway = start("bodies_bytes=1G")
    with contextlib.ExitStack() as stack:
        crowd = Crowd(gateway, stack, case, count=MANY)
        crowd.send_the_rest()
        wait_until(lambda: crowd.answered() > 0, "the first is answered")
        gateway.process.send_signal(signal.SIGTERM)
        wait_until(lambda: is_closed(gateway), "the first signal has come")
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(DEADLINE) == 0
        ends = [crowd.seen[sock] + read_to_end(sock) for sock in crowd.seen]
        assert sum(end.endswith(crowd.ends) for end in ends) < MANY
