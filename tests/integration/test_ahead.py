# SPDX-License-Identifier: MIT
"""The daemon sends a slot whose jobs are quick its next job ahead of time, so that the jail does not wait
for the daemon between two jobs. Clients notice only the rate. If the job in front turns out slow, the job
behind it moves to another slot, can be cancelled and survives the death of the jail, like a queued job."""

import os
import signal
import time

import pytest
from conftest import BUILD, DEADLINE, PASSING, let_pass, wait_until
from test_cancel import cancel
from test_queue import client_of

pytestmark = pytest.mark.cold

QUICK = {"kind": "sandbox", "argv": [str(BUILD / "tests" / "exit0")]}
# Takes longer to run than to submit, so the stream never runs dry.
STREAM = {"kind": "sandbox", "snippet": "sleep 0.002"}
READABLE = f"isolation.readable={BUILD / 'tests'}"
# A quick job may happen to take long at the wrong moment. That is no failure, so the test tries again.
TRIES = 100


def taken(client):
    """Returns how many of this client's jobs are on slots."""
    number = max(c["client"] for c in client.status()["clients"] if c["running"])
    return client_of(number, client)["running"]


def hold_ahead(client, slow, ahead, others=0):
    """Submits quick jobs, SLOW and AHEAD until SLOW runs in the only free slot and the daemon has sent
    AHEAD to that slot too. OTHERS of this client's jobs hold slots meanwhile. Returns the two ids."""
    for attempt in range(TRIES):
        ids = f"slow-{attempt}", f"ahead-{attempt}"
        for n in range(4):
            client.submit(f"quick-{attempt}-{n}", QUICK)
        client.submit(ids[0], slow)
        client.submit(ids[1], ahead)
        answered = 0
        while (message := client.recv())["id"] != ids[0]:
            answered += message["type"] == "result"
        assert (message["type"], answered) == ("started", 4)
        if taken(client) == others + 2:
            return ids
        for id in ids:
            cancel(client, id=id)
            assert client.recv_answer(id)["code"] == "cancelled"
    return pytest.fail("no job was sent ahead")


@pytest.fixture(name="held")
def hold(start_daemon, bench, gate):
    """A client with two jobs on the only slot: one waits at the gate, the other was sent ahead."""
    daemon = start_daemon("daemon.slots=1", READABLE)
    with daemon.connect() as client:
        yield client, *hold_ahead(client, bench.job(gate.python + PASSING), bench.job(PASSING))


def test_a_job_behind_a_slow_one_goes_to_the_slot_that_is_free(start_daemon, bench, gate):
    """Wherever the jobs land, quick ones are answered as long as one slot is free."""
    daemon = start_daemon("daemon.slots=2", READABLE)
    with daemon.connect() as client:
        for round in range(20):
            for n in range(10):
                client.submit(f"before-{round}-{n}", QUICK)
            client.submit(f"slow-{round}", bench.job(gate.python + PASSING))
            for n in range(10):
                client.submit(f"after-{round}-{n}", QUICK)
            answered = {client.recv_answer()["id"] for _ in range(20)}
            assert f"slow-{round}" not in answered and len(answered) == 20
            gate.open()
            assert client.recv_answer(f"slow-{round}")["score"]["passed"] is True


@pytest.mark.long
def test_endless_quick_jobs_do_not_delay_a_waiting_job(start_daemon, bench, gate):
    """The other slot takes the waiting job next, though a stream of quick jobs never lets it go idle."""
    daemon = start_daemon("daemon.slots=2", READABLE)
    with daemon.connect() as client:
        for round in range(20):
            slow = f"slow-{round}"
            for n in range(10):
                client.submit(f"before-{round}-{n}", QUICK)
            client.submit(slow, bench.job(gate.python + PASSING))
            for n in range(20):
                client.submit(f"after-{round}-{n}", STREAM)
            missing = {f"{when}-{round}-{n}" for when in ("before", "after") for n in range(10)}
            deadline = time.monotonic() + DEADLINE
            more = 20
            while missing:
                assert time.monotonic() < deadline, f"unanswered after {more} more jobs: {missing}"
                missing.discard(client.recv_answer()["id"])
                client.submit(f"after-{round}-{more}", STREAM)
                more += 1
            gate.open()
            assert slow in {client.recv_answer()["id"] for _ in range(31)}


def test_a_job_sent_ahead_runs_after_the_slow_one(held, gate):
    client, slow, ahead = held
    (slot,) = client.status()["slots"]
    assert slot["job"]["id"] == slow
    gate.open()
    assert client.recv_answer(slow)["score"]["passed"] is True
    assert client.recv_answer(ahead)["score"]["passed"] is True


def test_queue_ms_includes_the_wait_in_the_slot(held, gate):
    """queue_ms includes the time after the job left the queue while it waits in the slot."""
    client, slow, ahead = held
    waited = let_pass(0.1)
    gate.open()
    assert client.recv_answer(slow)["score"]["passed"] is True
    usage = client.recv_answer(ahead)["usage"]
    assert waited * 1000 - 1 <= usage["queue_ms"] < 30_000
    recent = client.status()["kinds"]["rubric"]["recent"][0]["queue_ms"]
    assert recent["p99"] >= waited * 1000 * 0.9, "quantiles are accurate to a bucket"


def test_a_job_sent_ahead_is_cancelled(held, gate):
    client, slow, ahead = held
    cancel(client, id=ahead)
    answer = client.recv_answer(ahead)
    assert (answer["code"], answer["message"]) == ("cancelled", "cancelled while queued")
    assert taken(client) == 1
    gate.open()
    assert client.recv_answer(slow)["score"]["passed"] is True
    assert client.run(QUICK)["score"]["passed"] is True


def test_the_client_of_a_job_sent_ahead_disconnects(start_daemon, bench, gate):
    """Neither of the client's two jobs delays other clients. The gate stays closed."""
    daemon = start_daemon("daemon.slots=1", READABLE)
    with daemon.connect() as other:
        with daemon.connect() as client:
            hold_ahead(client, bench.job(gate.python + PASSING), bench.job(gate.python + PASSING))
            other.submit("other", QUICK)
        assert other.recv_answer("other")["score"]["passed"] is True


def test_the_jail_dies_before_a_job_sent_ahead_starts(held):
    """The job in front is lost; the job behind it runs."""
    client, slow, ahead = held
    os.kill(client.status()["slots"][0]["jail_pid"], signal.SIGKILL)
    assert client.recv_answer(slow)["code"] == "sandbox_failed"
    assert client.recv_answer(ahead)["score"]["passed"] is True


def test_the_daemon_stops(start_daemon, bench, gate):
    """The job has left the queue, so it may run during the grace period; then it is answered `draining`."""
    daemon = start_daemon("daemon.slots=1", "daemon.grace_period=500ms", READABLE)
    with daemon.connect() as client:
        slow, ahead = hold_ahead(client, bench.job(gate.python + PASSING), bench.job(PASSING))
        daemon.process.send_signal(signal.SIGTERM)
        answers = {answer["id"]: answer for answer in (client.recv_answer(), client.recv_answer())}
        for id in slow, ahead:
            assert answers[id]["code"] == "draining"
            assert answers[id]["message"] == "the daemon stops and the grace period is over"
    assert daemon.stop() == 0


def test_the_slot_becomes_surplus(start_daemon, tmp_path, bench, gate):
    """A surplus slot finishes its jobs before it retires."""
    configuration = tmp_path / "rubricd.conf"
    configuration.write_text(f"[daemon]\nslots = 2\n[isolation]\nreadable = {BUILD / 'tests'}\n")
    configuration.chmod(0o644)
    daemon = start_daemon(config=configuration, slots=None)
    with daemon.connect() as client, daemon.connect() as admin:
        client.submit("other-slot", bench.job(gate.python + PASSING))
        assert client.recv()["type"] == "started"
        hold = bench.job(gate.python + PASSING)
        slow, ahead = hold_ahead(client, hold, hold, others=1)
        configuration.write_text(configuration.read_text().replace("slots = 2", "slots = 1"))
        admin.send({"type": "reload"})
        assert admin.recv()["type"] == "reloaded"
        gate.open(3)
        answered = {client.recv_answer()["id"] for _ in range(3)}
        assert answered == {"other-slot", slow, ahead}
        wait_until(lambda: len(admin.status()["slots"]) == 1, "the surplus slot is gone")
        assert client.run(QUICK)["score"]["passed"] is True


def test_a_job_sent_ahead_needs_another_jail(start_daemon, bench, gate):
    """A job with the network follows quick ones without it, and the other way round."""
    daemon = start_daemon("daemon.slots=1", "sandbox.allow_network=yes", READABLE)
    networked = {**QUICK, "limits": {"allow_network": True}}
    with daemon.connect() as client:
        for n in range(40):
            client.submit(f"{n}", networked if n % 8 == 7 else QUICK)
        for n in range(40):
            assert client.recv_answer(f"{n}")["score"]["passed"] is True
        slow, ahead = hold_ahead(client, bench.job(gate.python + PASSING), networked)
        gate.open()
        assert client.recv_answer(slow)["score"]["passed"] is True
        assert client.recv_answer(ahead)["score"]["passed"] is True


def test_output_is_each_jobs_own(start_daemon):
    """This holds for a job that fills its pipe before the daemon reads it, too."""
    daemon = start_daemon("daemon.slots=1")
    with daemon.connect() as client:
        for n in range(60):
            client.submit(f"{n}", {"kind": "sandbox", "snippet": f"printf '%0*d' $(({n} * 3000)) {n}"})
        for n in range(60):
            answer = client.recv_answer(f"{n}")
            assert answer["score"]["passed"] is True
            assert answer["stdout"] == f"{n:0{max(n * 3000, 1)}d}"
