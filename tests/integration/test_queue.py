# SPDX-License-Identifier: MIT
"""The queue: bounds per connection and in total, backpressure instead of refusal, round-robin between
connections, and priority within a connection."""

import json
import random
import re
import threading

import pytest
from conftest import Gate, wait_until

SUT = {
    "kind": "rubric",
    "task_class": "none",
    "case": {},
    "harness_output": {},
    "sut": {"status": "exception"},
}

# Prints when it ran. With one slot, these times give the order in which the jobs were served.
TIMED = """
import json, time
print(json.dumps({"passed": True, "score": 1, "breakdown": {"at": time.monotonic_ns()}}))
"""

# An interpreter for rubrics in shell, which start much faster than those in Python.
SHELL = """#!/bin/sh
if [ "$1" = -V ]; then echo "shell 1.0"; else . "$3"; fi
"""
SHELL_PASSING = "echo '{\"passed\": true, \"score\": 1}'\n"


@pytest.fixture(name="second_gate")
def make_second_gate(bench):
    with Gate(bench, "second-gate") as gate:
        yield gate


@pytest.fixture(name="shell")
def make_shell(tmp_path):
    """Returns the settings of a daemon whose rubrics are shell scripts."""
    path = tmp_path / "shell"
    path.write_text(SHELL)
    path.chmod(0o755)
    return f"rubric.interpreter={path}", f"isolation.readable={path}"


def submit_all(client, jobs):
    """Submits all jobs of a dict from id to job."""
    for id, job in jobs.items():
        client.submit(id, job)


def frame_of(id, job):
    payload = json.dumps({"type": "submit", "id": id, "job": job}).encode()
    return len(payload).to_bytes(4, "big") + payload


def hold_slots(client, job, count=2):
    """Occupies COUNT slots with JOB, which waits at a gate. Returns when all of them run."""
    submit_all(client, {f"held-{n}": job for n in range(count)})
    for _ in range(count):
        assert client.recv()["type"] == "started"


def running(other):
    """Returns the ids of the running jobs, sorted, because any slot may be ready first."""
    return sorted(slot["job"]["id"] for slot in other.status()["slots"] if slot["job"])


def client_of(client, other):
    """Returns what `status`, asked by OTHER, shows of the client with the number CLIENT."""
    return next(c for c in other.status()["clients"] if c["client"] == client)


def newest(other):
    """Returns the number of the newest connection."""
    return max(c["client"] for c in other.status()["clients"])


def answers(client, count):
    """Returns the next COUNT answers in order; skips `started`."""
    return [client.recv_answer() for _ in range(count)]


def assert_all_passed(messages, ids):
    assert sorted(m["id"] for m in messages) == sorted(ids)
    assert all(m["type"] == "result" and m["score"]["passed"] for m in messages), messages


def numbered(prefix, count):
    return [f"{prefix}-{n}" for n in range(count)]


def is_silent(client, other):
    """Returns whether CLIENT has received nothing although the daemon serves OTHER."""
    other.ping()
    client.sock.setblocking(False)
    try:
        return not client.buffer and not client.sock.recv(1)
    except BlockingIOError:
        return True
    finally:
        client.sock.settimeout(30)


# Bounds


def test_bounded_per_client(start_daemon, bench, gate, shell):
    """The daemon stops reading from a client that has used up its share. Other clients may still queue
    jobs, and none is refused."""
    daemon = start_daemon(*shell, "queue.jobs=100", "queue.jobs_per_client=5")
    quick = bench.job(SHELL_PASSING)
    with daemon.connect() as holder, daemon.connect() as other, daemon.connect() as a:
        hold_slots(holder, bench.job(gate.shell + SHELL_PASSING))
        number = newest(other)
        submit_all(a, {id: quick for id in numbered("a", 9)})
        a.send({"type": "ping"})
        shown = wait_until(
            lambda: (c := client_of(number, other))["paused"] and c, "the client is paused"
        )
        assert (shown["queued"], shown["running"]) == (5, 0)
        assert is_silent(a, other), "the client's ping waits behind its jobs"

        with daemon.connect() as b:
            submit_all(b, {id: quick for id in numbered("b", 5)})
            b.ping()
            queue = other.status()["queue"]
            assert (queue["jobs"], queue["jobs_max"]) == (10, 100)
            shown = client_of(newest(other), other)
            assert (shown["queued"], shown["paused"]) == (5, False)

            gate.open(2)
            messages = [a.recv() for _ in range(9 * 2 + 1)]
            assert {"type": "pong"} in messages
            assert_all_passed([m for m in messages if m["type"] == "result"], numbered("a", 9))
            assert_all_passed(answers(b, 5), numbered("b", 5))
        assert_all_passed(answers(holder, 2), numbered("held", 2))
        assert not client_of(number, other)["paused"]
        assert other.status()["queue"]["jobs"] == 0
        a.ping()


def test_bounded_over_all(start_daemon, bench, gate, shell):
    """The queue never exceeds its bound. A client that finds it full waits and gets its answers later."""
    daemon = start_daemon(*shell, "queue.jobs=6", "queue.jobs_per_client=4")
    quick = bench.job(SHELL_PASSING)
    with daemon.connect() as holder, daemon.connect() as other:
        hold_slots(holder, bench.job(gate.shell + SHELL_PASSING))
        clients = {}
        for name, count, queued, paused in (
            ("a", 5, 4, True),
            ("b", 4, 2, True),
            ("c", 1, 0, True),
            ("d", 0, 0, False),
        ):
            client = clients[name] = daemon.connect()
            number = newest(other)
            submit_all(client, {id: quick for id in numbered(name, count)})
            wait_until(
                lambda: (c := client_of(number, other))["queued"] == queued
                and c["paused"] == paused,
                f"client {name} has {queued} jobs queued and paused is {paused}",
            )
        queue = other.status()["queue"]
        assert (queue["jobs"], queue["jobs_max"]) == (6, 6)
        for client in clients.values():
            if client is not clients["d"]:
                assert is_silent(client, other)
        clients["d"].ping()

        gate.open(2)
        for name, count in (("a", 5), ("b", 4), ("c", 1)):
            assert_all_passed(answers(clients[name], count), numbered(name, count))
            clients[name].ping()
            clients[name].close()
        clients["d"].close()
        assert all(holder.recv_answer()["score"]["passed"] is True for _ in range(2))
        counters = other.status()["counters"]
        assert (counters["submitted"], counters["passed"], counters["errors"]) == (12, 12, {})


def test_bounded_in_bytes(start_daemon, bench, gate, shell):
    """The queue counts the bytes of the requests' payloads."""
    daemon = start_daemon(*shell, "queue.bytes=64K", "protocol.max_frame=64K")
    large = bench.job(SHELL_PASSING, output={"text": "x" * 20_000})
    size = len(json.dumps({"type": "submit", "id": "a-0", "job": large}))
    with daemon.connect() as holder, daemon.connect() as other, daemon.connect() as a:
        hold_slots(holder, bench.job(gate.shell + SHELL_PASSING))
        number = newest(other)
        submit_all(a, {id: large for id in numbered("a", 5)})
        shown = wait_until(
            lambda: (c := client_of(number, other))["paused"] and c, "the client is paused"
        )
        assert (shown["queued"], shown["running"]) == (3, 0)
        queue = other.status()["queue"]
        assert queue == {"jobs": 3, "jobs_max": 1024, "bytes": 3 * size, "bytes_max": 65536}
        gate.open(2)
        assert_all_passed(answers(a, 5), numbered("a", 5))
        queue = other.status()["queue"]
        assert (queue["jobs"], queue["bytes"]) == (0, 0)


def test_the_default_bounds(start_daemon, bench, gate, shell):
    """The queue holds 1,024 jobs in total and 256 of one connection. Every job is answered."""
    daemon = start_daemon(*shell)
    quick = bench.job(SHELL_PASSING)
    with daemon.connect() as holder, daemon.connect() as other:
        hold_slots(holder, bench.job(gate.shell + SHELL_PASSING))
        clients = [daemon.connect() for _ in range(5)]
        for n, client in enumerate(clients):
            ids = numbered(str(n), 257)
            client.send_bytes(b"".join(frame_of(id, quick) for id in ids))
            wait_until(
                lambda: sum(c["paused"] for c in other.status()["clients"]) == n + 1,
                f"client {n} is paused",
            )
        shown = {c["client"]: c for c in other.status()["clients"] if c["paused"]}
        assert [c["queued"] for _, c in sorted(shown.items())] == [256, 256, 256, 256, 0]
        queue = other.status()["queue"]
        assert (queue["jobs"], queue["jobs_max"]) == (1024, 1024)
        gate.open(2)
        for n, client in enumerate(clients):
            got = [json.loads(client.recv_payload()) for _ in range(257 * 2)]
            results = [m for m in got if m["type"] == "result"]
            assert_all_passed(results, numbered(str(n), 257))
            client.ping()
            client.close()
        assert other.status()["counters"]["errors"] == {}


def test_a_paused_client_that_goes_away_makes_room(start_daemon, bench, gate, shell):
    """The daemon drops its waiting job and its queued ones, and resumes the next waiting client."""
    daemon = start_daemon(*shell, "queue.jobs=3", "queue.jobs_per_client=3")
    quick = bench.job(SHELL_PASSING)
    with daemon.connect() as holder, daemon.connect() as other:
        hold_slots(holder, bench.job(gate.shell + SHELL_PASSING))
        clients = {}
        for name, count in (("a", 4), ("b", 1), ("c", 2)):
            clients[name] = daemon.connect()
            submit_all(clients[name], {id: quick for id in numbered(name, count)})
            wait_until(
                lambda: sum(c["paused"] for c in other.status()["clients"]) == len(clients),
                f"client {name} waits",
            )
        clients["b"].close()
        wait_until(lambda: other.status()["clients_total"] == 4, "client b is forgotten")
        assert other.status()["queue"]["jobs"] == 3
        clients["a"].close()
        wait_until(lambda: other.status()["queue"]["jobs"] == 2, "client c has its jobs queued")
        assert other.status()["clients_total"] == 3
        clients["c"].ping()
        gate.open(2)
        assert_all_passed(answers(clients["c"], 2), numbered("c", 2))
        clients["c"].close()
        assert other.status()["counters"]["submitted"] == 2 + 3 + 2


# Order


def serving_order(results):
    return [m["id"] for m in sorted(results, key=lambda m: m["score"]["breakdown"]["at"])]


def test_round_robin_between_three_clients(daemon, bench, gate):
    """Clients take turns, one job each, whatever the priorities. Clients without jobs are skipped."""
    timed = bench.job(TIMED)
    with daemon.connect() as holder, daemon.connect() as other:
        hold_slots(holder, bench.job(gate.python + TIMED))
        clients = {name: daemon.connect() for name in "abc"}
        for name, count, priority in (("a", 5, -10), ("b", 2, 10), ("c", 4, 0)):
            for id in numbered(name, count):
                clients[name].submit(id, {**timed, "priority": priority})
            clients[name].ping()
        assert other.status()["queue"]["jobs"] == 11
        gate.open(1)
        results = answers(clients["a"], 5) + answers(clients["b"], 2) + answers(clients["c"], 4)
        gate.open(1)
        for client in clients.values():
            client.close()
    assert serving_order(results) == [
        *("a-0", "b-0", "c-0"),
        *("a-1", "b-1", "c-1"),
        *("a-2", "c-2", "a-3", "c-3", "a-4"),
    ]


def test_a_client_that_comes_later_gets_its_turn_at_once(daemon, bench, gate, second_gate):
    """It comes while the third job of another client runs. That client's fourth job may already have been
    sent ahead to the slot, so the newcomer's turn is before the fourth or the fifth job."""
    timed = bench.job(TIMED)
    with daemon.connect() as holder, daemon.connect() as a, daemon.connect() as b:
        hold_slots(holder, bench.job(second_gate.python + TIMED), count=1)
        submit_all(a, {"a-0": timed, "a-1": timed, "a-2": bench.job(gate.python + TIMED)})
        submit_all(a, {id: timed for id in ("a-3", "a-4", "a-5")})
        results = answers(a, 2)
        wait_until(lambda: "a-2" in running(b), "a-2 runs")
        b.submit("b-0", timed)
        b.ping()
        gate.open()
        results += answers(a, 4) + answers(b, 1)
        second_gate.open()
    order = serving_order(results)
    assert [id for id in order if id != "b-0"] == numbered("a", 6)
    assert order.index("b-0") in (4, 5)


def test_priority_within_a_connection(daemon, bench, gate):
    """Jobs run from the highest priority to the lowest, and equals in order of age. A priority that is
    null or absent counts as 0."""
    timed = bench.job(TIMED)
    wanted = {"low": -10, "zero-0": 0, "high": 10, "nine": 9, "zero-1": None, "minus": -1, "one": 1}
    with daemon.connect() as holder, daemon.connect() as client:
        hold_slots(holder, bench.job(gate.python + TIMED))
        for id, priority in wanted.items():
            client.submit(id, {**timed, "priority": priority})
        client.submit("zero-2", timed)
        client.submit("high-too", {**timed, "priority": 10})
        client.ping()
        gate.open(1)
        started = []
        results = []
        while len(results) < 9:
            message = client.recv()
            (started if message["type"] == "started" else results).append(message)
        gate.open(1)
    expected = ["high", "high-too", "nine", "one", "zero-0", "zero-1", "zero-2", "minus", "low"]
    assert [m["id"] for m in started] == expected
    assert [m["id"] for m in results] == expected
    assert serving_order(results) == expected


def test_priority_of_many_jobs(start_daemon, bench, gate, shell):
    """210 jobs with shuffled priorities run in the right order."""
    daemon = start_daemon(*shell)
    quick = bench.job(SHELL_PASSING)
    priorities = [priority for priority in range(-10, 11) for _ in range(10)]
    random.Random(7).shuffle(priorities)
    with daemon.connect() as holder, daemon.connect() as client:
        hold_slots(holder, bench.job(gate.shell + SHELL_PASSING))
        for n, priority in enumerate(priorities):
            client.submit(f"{n}", {**quick, "priority": priority})
        client.ping()
        gate.open(1)
        order = [int(m["id"]) for m in answers(client, 210)]
        gate.open(1)
    assert order == sorted(range(210), key=lambda n: (-priorities[n], n))


# The log has such a line for each answer, with the numbers of the job and of the client.
ANSWERED = re.compile(r"job (\d+) \(client (\d+), ")


def test_a_single_job_does_not_wait_for_a_batch(start_daemon, bench, gate, shell):
    """The daemon answers it before almost all of the 256 jobs that the batch has queued. In every 200 jobs
    two hold both slots until the queue is full again, so a slow sender does not matter. One of the slots
    stays held until the single job has its answer, so a slow slot does not matter either."""
    batch_size, singles = 2000, 8
    daemon = start_daemon(*shell)
    quick, held = bench.job(SHELL_PASSING), bench.job(gate.shell + SHELL_PASSING)
    holding = [[str(200 * n), str(200 * n + 1)] for n in range(singles)]
    stream = b"".join(
        frame_of(id, held if any(id in pair for pair in holding) else quick)
        for id in map(str, range(batch_size))
    )
    with daemon.connect() as batch, daemon.connect() as other, daemon.connect() as single:
        number = min(c["client"] for c in other.status()["clients"])
        sender = threading.Thread(target=batch.send_bytes, args=(stream,))
        sender.start()
        numbers = []
        for n, pair in enumerate(holding):
            wait_until(
                lambda: running(other) == sorted(pair)
                and (c := client_of(number, other))["paused"]
                and c["queued"] == 256,
                "both slots are held and the batch has as much queued as it may",
            )
            single.submit(f"single-{n}", quick)
            single.ping()
            gate.open(1)
            answer = single.recv_answer(f"single-{n}")
            gate.open(1)
            assert answer["score"]["passed"] is True
            numbers.append(answer["job_no"])
        got = [json.loads(batch.recv_payload()) for _ in range(batch_size * 2)]
        sender.join()
        assert_all_passed(
            [m for m in got if m["type"] == "result"], map(str, range(batch_size))
        )
    order = [int(job) for job, _ in ANSWERED.findall(daemon.log())]
    assert len(order) == batch_size + singles
    for number in numbers:
        overtaken = [n for n in order[order.index(number) :] if n < number]
        assert len(overtaken) >= 250
