# SPDX-License-Identifier: MIT
"""Jobs of many steps give their slot back while others wait, and go on later: what they answer then, and
what becomes of one whose client, daemon or configuration does not wait for its next turn."""

import fcntl
import signal
import termios

import pytest
from conftest import PASSING, wait_until
from test_drain import BYE, GRACE_OVER, draining
from test_program import program, verdicts
from test_queue import running
from test_reload import make_configuration, reloaded, start_configured  # noqa: F401 (two are fixtures)
from test_steps import outputs, steps

# Each test takes a part of a turn. Every third input is answered wrongly.
SLOW = "import time\nn = int(input())\ntime.sleep(0.3)\nprint('no' if n % 3 == 1 else n)\n"
TESTS = [{"input": f"{n}\n", "output": f"{n}\n"} for n in range(16)]
JUDGE = "import sys\nsys.exit(open('output').read() != open('answer').read())\n"
TALK = "import sys\nprint(open('input').read(), flush=True)\nsys.exit(input() != open('answer').read().strip())\n"
# Tests that one turn is too short for.
ONE_TURN_AND_MORE = 8
STEPS = [f"sleep 0.3; cat f; echo {n} >>f" for n in range(16)]


def slow(count=len(TESTS), **fields):
    return program(SLOW, TESTS[:count], **{"stop": "all", **fields})


def expected(count=len(TESTS)):
    return ["wrong_answer" if n % 3 == 1 else "pass" for n in range(count)]


def helper(code):
    return {"language": "python", "code": code}


# Its tests are so quick that each is sent ahead of the end of the one before.
QUICK = program("read n; echo $n", [{"input": "1\n", "output": "1\n"}] * 3000, "bash")
LONG = {
    "tests": slow(),
    "quick": QUICK,
    "checker": slow(checker=helper(JUDGE)),
    "interactor": slow(interactor=helper(TALK)),
    "steps": steps(*STEPS, files={"f": ""}),
}


@pytest.fixture(name="daemon")
def start_daemon_of_one_slot(start_daemon):
    return start_daemon(slots=1)


def begin(client, job, id="long"):
    client.submit(id, job)
    message = client.recv()
    assert (message["type"], message["id"]) == ("started", id)


def counted(client):
    """Returns how many jobs of a program have ended, and how."""
    counts = client.status()["kinds"]["program"]
    return {name: counts[name] for name in ("passed", "failed", "errors", "dropped") if counts[name]}


@pytest.fixture(name="held")
def make_room(bench, gate):
    """Returns a function that runs a job of OTHER, which waits at the gate, while a long job waits for its
    next turn."""

    def hold(other):
        begin(other, bench.job(gate.python + PASSING), "held")
        status = other.status()
        assert running(other) == ["held"] and status["queue"]["jobs"] == 1
        assert sorted((c["queued"], c["running"]) for c in status["clients"] if c["queued"] + c["running"]) == [
            (0, 1),
            (1, 0),
        ]

    return hold


@pytest.mark.parametrize("kind", LONG)
def test_another_client_does_not_wait_for_all_steps(daemon, bench, kind):
    with daemon.connect() as long, daemon.connect() as other:
        begin(long, LONG[kind])
        assert other.run(bench.job(PASSING))["score"]["passed"]
        assert other.status()["counters"]["results"] == 1  # the long job has none yet
        result = long.recv()  # there is no other `started`
        if kind == "steps":
            assert outputs(result) == ["".join(f"{i}\n" for i in range(n)) for n in range(len(STEPS))]
        elif kind == "quick":
            assert verdicts(result) == ["pass"] * 3000
        else:
            assert verdicts(result) == expected() and result["verdict"] == "wrong_answer"
        least_ms = 0 if kind == "quick" else 300 * len(TESTS)
        assert result["usage"]["wall_clock_ms"] >= least_ms
    assert daemon.leftovers() == []


def test_two_long_jobs_take_turns(daemon):
    with daemon.connect() as one, daemon.connect() as two:
        begin(one, slow(9, stop="all"))
        begin(two, slow(9))
        assert counted(two) == {}  # the first one still has tests to run
        assert verdicts(one.recv()) == verdicts(two.recv()) == expected(9)


def test_the_first_failure_ends_a_job_in_a_later_turn(daemon, bench):
    right = [{"input": "3\n", "output": "3\n"}] * 8
    with daemon.connect() as long, daemon.connect() as other:
        begin(long, program(SLOW, right + TESTS, stop="first_failure"))
        assert other.run(bench.job(PASSING))["score"]["passed"]
        assert verdicts(long.recv()) == ["pass"] * 9 + ["wrong_answer"]


def test_later_jobs_of_its_client_wait(daemon, bench):
    with daemon.connect() as client:
        begin(client, slow(6))
        client.submit("later", {**bench.job(PASSING), "priority": 10})
        assert [client.recv_answer()["id"] for _ in range(2)] == ["long", "later"]


def test_it_goes_on_before_later_jobs_of_its_client(daemon, bench, gate, held):
    with daemon.connect() as client, daemon.connect() as other:
        begin(client, slow(6))
        client.submit("later", {**bench.job(PASSING), "priority": 10})
        begin(other, bench.job(gate.python + PASSING), "held")
        gate.open()
        assert [client.recv_answer()["id"] for _ in range(2)] == ["long", "later"]


def test_cancel_between_two_turns(daemon, gate, held):
    with daemon.connect() as long, daemon.connect() as other:
        begin(long, slow())
        held(other)
        long.send({"type": "cancel", "id": "long"})
        answer = long.recv()
        assert (answer["code"], answer["message"]) == (
            "cancelled",
            "cancelled while it waited for its next turn",
        )
        assert running(long) == ["held"] and long.status()["queue"]["jobs"] == 0
        gate.open()
        assert other.recv()["score"]["passed"]
        assert counted(other) == {"errors": {"cancelled": 1}}
        assert long.run(slow(2))["verdict"] == "wrong_answer"
    assert daemon.leftovers() == []


def test_a_client_that_leaves_between_two_turns(daemon, gate, held):
    with daemon.connect() as other:
        with daemon.connect() as long:
            begin(long, slow())
            held(other)
        wait_until(lambda: other.status()["queue"]["jobs"] == 0, "the job of the client is gone")
        assert counted(other) == {"errors": {"cancelled": 1}}  # as if it had run just then
        gate.open()
        assert other.recv()["score"]["passed"]
        assert other.run(slow(2))["verdict"] == "wrong_answer"
    assert daemon.leftovers() == []


def test_a_drain_lets_it_go_on(daemon, bench, gate, held):
    with daemon.connect() as long, daemon.connect() as other:
        begin(long, slow())
        held(other)
        other.submit("queued", bench.job(PASSING))
        daemon.process.send_signal(signal.SIGTERM)
        assert other.recv()["code"] == "draining"
        assert long.status()["queue"]["jobs"] == 1
        gate.open()
        assert other.recv()["score"]["passed"]
        assert verdicts(long.recv()) == expected()
        for client in (long, other):
            assert client.recv() == BYE
            client.expect_closed()
    assert daemon.process.wait(30) == 0


def is_stuck(long, other):
    """Whether LONG is paused for good. In between, its socket takes more: then more can be read the second time."""
    looks = []
    for _ in range(2):
        paused = any(client["paused"] and client["queued"] for client in other.status()["clients"])
        looks.append((paused, fcntl.ioctl(long.sock, termios.FIONREAD, b"\0" * 4)))
    return looks[0][0] and looks[0] == looks[1]


def test_a_drain_waits_for_a_client_that_does_not_read(start_daemon, gate, held):
    """Nothing runs then: the job's turn comes when its client reads on."""
    daemon = start_daemon("protocol.reply_high_water=1K", slots=1)
    with daemon.connect() as long, daemon.connect() as other:
        begin(long, slow(ONE_TURN_AND_MORE))
        held(other)
        long.send_bytes(b'\x00\x00\x00\x11{"type":"status"}' * 400)
        wait_until(lambda: is_stuck(long, other), "it is paused")
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not daemon.socket.exists(), "it drains")
        gate.open()
        assert other.recv()["score"]["passed"]
        status = other.status()
        assert (running(other), status["queue"]["jobs"], status["state"]) == ([], 1, "draining")
        while (answer := long.recv())["type"] == "status":
            pass
        assert verdicts(answer) == expected(ONE_TURN_AND_MORE)
    assert daemon.process.wait(30) == 0


def test_the_end_of_the_grace_period_does_not_wait_for_its_turn(daemon, held):
    with daemon.connect() as long, daemon.connect() as other:
        begin(long, slow())
        held(other)
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not daemon.socket.exists(), "it drains")
        daemon.process.send_signal(signal.SIGTERM)
        assert long.recv() == draining("long", GRACE_OVER, job_no=1)
        assert other.recv() == draining("held", GRACE_OVER, job_no=2)
        for client in (long, other):
            assert client.recv() == BYE
            client.expect_closed()
    assert daemon.process.wait(30) == 0


def test_it_goes_on_after_a_reload_under_the_settings_it_came_with(start, configuration, gate, held):
    daemon = start({"daemon.slots": 1})
    with daemon.connect() as long, daemon.connect() as other:
        begin(long, slow(ONE_TURN_AND_MORE))
        held(other)
        # Under these, jails are of another shape and no test would end in time.
        configuration.write({"daemon.slots": 1, "program.wall_clock": "100ms", "isolation.env_allow": "A=1"})
        assert reloaded(other)["type"] == "reloaded"
        gate.open()
        assert other.recv()["score"]["passed"]
        assert verdicts(long.recv()) == expected(ONE_TURN_AND_MORE)
        assert verdicts(long.run(slow(2))) == ["timeout", "timeout"]
    assert daemon.leftovers() == []
