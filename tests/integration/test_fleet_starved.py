# SPDX-License-Identifier: MIT
"""A job that starves on one host of a fleet runs again on another one, alone; and each id keeps one result."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import wait_until
from fleet_hosts import (
    echo,
    make_fleet,  # noqa: F401
    need_fleet,
    read_results,
    read_until,
    shell,
    write_jobs,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from schema_check import validate  # noqa: E402

pytestmark = pytest.mark.cold

need_fleet()

STARVING = Path(__file__).resolve().parent / "starving.py"


class Behind:
    """A daemon behind one that lets jobs starve: a socket for a worker, and what happened there."""

    def __init__(self, daemon, *options):
        self.socket = daemon.socket.parent / "starving"
        self.log_path = daemon.socket.parent / "starving.log"
        command = [sys.executable, STARVING, self.socket, daemon.socket, "--log", self.log_path, *options]
        self.process = subprocess.Popen(command)
        wait_until(self.socket.exists, "it listens")

    def events(self, kind=None):
        """Returns the events of a KIND, or all."""
        text = self.log_path.read_text() if self.log_path.exists() else ""
        events = [json.loads(line) for line in text.splitlines()]
        return [event for event in events if kind in (None, event["event"])]

    def jobs(self, kind):
        return [event["job"] for event in self.events(kind)]

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(name="add_starving")
def make_add_starving(fleet):
    """Returns a function that adds a host on which jobs starve."""
    running = []

    def add(name, *starving, slots=2, options=()):
        behind = Behind(fleet.add_daemon(slots=slots), *starving)
        running.append(behind)
        fleet.add_worker(name, behind, options=options)
        return behind

    yield add
    for behind in running:
        behind.close()


def starved_on(fleet, run, id):
    """Returns the workers that the mark of a job names."""
    with fleet.server.connect() as nats:
        mark = json.loads(nats.last("marks", f"rubricd.marks.{run}.{id}") or "{}")
    return [entry["worker"] for entry in mark.get("starved", [])]


def counts_of(fleet, worker):
    with fleet.server.connect() as nats:
        return json.loads(nats.last("hosts", f"rubricd.hosts.{worker}"))


def check_answer(line):
    """Checks a line of results against the schemas; returns its answer without `run`."""
    answer = {name: value for name, value in line.items() if name != "run"}
    validate(answer, "daemon")
    return answer


def test_it_runs_on_another_host(fleet, add_starving, tmp_path):
    """Its result says where it ran and where it had starved; the other job's says nothing of that kind."""
    a = add_starving("a", "--word", "hungry")
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [echo("hungry"), echo("fed")]))
    wait_until(lambda: starved_on(fleet, "r", "hungry") == ["a"], "the mark says that it starved")
    b = add_starving("b")
    assert batch.wait(60) == 0, batch.stderr.read()
    lines = read_results(tmp_path / "out")
    assert check_answer(lines["hungry"])["stdout"] == "hungry\n"
    assert lines["hungry"]["fleet"] == {"worker": "b", "starved_on": ["a"], "same_host": False}
    assert lines["hungry"]["run"]["fleet"] == lines["hungry"]["fleet"]
    assert lines["hungry"]["run"]["attempts"] == 1, "the client has not run it again itself"
    assert "fleet" not in check_answer(lines["fed"]) and "fleet" not in lines["fed"]["run"]
    assert a.jobs("starved") == ["hungry"] and b.jobs("answered") == ["hungry"]
    with fleet.server.connect() as nats:
        assert nats.counts("results") == {"rubricd.results.r.hungry": 1, "rubricd.results.r.fed": 1}
        wait_until(lambda: nats.counts("jobs") == {}, "the queue is empty")


def test_an_excluded_host_leaves_it_to_the_other(fleet, add_starving, tmp_path):
    """Every job starves once at `a`, which is free most of the time. None of them runs there again, unless the other
    host lets it wait for the ten seconds for which it is left alone."""
    a = add_starving("a", "--word", "job")
    b = add_starving("b", slots=1)
    jobs = write_jobs(tmp_path / "jobs", [echo(f"job{i}") for i in range(6)])
    began = time.monotonic()
    done = fleet.run("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    took = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    lines = read_results(tmp_path / "out")
    assert len(lines) == 6 and a.jobs("answered") == []
    assert took >= 10 or len(a.jobs("starved")) == len(set(a.jobs("starved"))), "none has starved twice"
    for id, line in lines.items():
        assert ("fleet" in line) == (id in a.jobs("starved"))
        assert line.get("fleet", {"worker": "b"})["worker"] == "b"
    assert sorted(b.jobs("answered")) == sorted(lines)


def test_a_fleet_of_one_host(fleet, add_starving, tmp_path):
    """Nobody else comes, so that the same host runs it after a while, and says so. It has handed the job back a few
    times meanwhile, and no more often than that: that is counted."""
    a = add_starving("a", "--word", "hungry", "--times", "1")
    done = fleet.run("batch", "--run", "r", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [echo("hungry")]))
    assert done.returncode == 0, done.stderr
    line = read_results(tmp_path / "out")["hungry"]
    assert check_answer(line)["stdout"] == "hungry\n"
    assert line["fleet"] == {"worker": "a", "starved_on": ["a"], "same_host": True}
    assert a.jobs("submit") == ["hungry", "hungry"]
    wait_until(lambda: counts_of(fleet, "a")["starved"] == 1, "it is counted")
    assert 2 <= counts_of(fleet, "a")["passed_by"] <= 12


def test_it_lets_others_go_first(fleet, add_starving, tmp_path):
    """The server gives a job to the oldest request. A host that leaves one to others does not ask in such a way that
    its own request is the oldest each time."""
    a = add_starving("a", "--word", "hungry", "--times", "1")
    jobs = write_jobs(tmp_path / "jobs", [echo("hungry")])
    fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    wait_until(lambda: starved_on(fleet, "r", "hungry") == ["a"], "it starved")
    with fleet.server.connect() as nats:
        nats.follow("r-p10")
    assert a.jobs("submit") == ["hungry"], "the host has not run it again itself"


def test_it_runs_alone(fleet, add_starving, tmp_path):
    """The host that runs it ends its other jobs first, and takes nothing beside it; then it goes on."""
    add_starving("a", "--word", "hungry", "--times", "2")
    jobs = [shell(f"hungry{i}", f"sleep 0.3; echo hungry{i}") for i in range(2)]
    jobs += [shell(f"j{i}", f"sleep 0.1; echo j{i}") for i in range(100)]
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", jobs))
    wait_until(lambda: all(starved_on(fleet, "r", f"hungry{i}") for i in range(2)), "both starved")
    b = add_starving("b", slots=4)
    assert batch.wait(60) == 0, batch.stderr.read()
    lines = read_results(tmp_path / "out")
    assert len(lines) == 102
    alone = {f"hungry{i}" for i in range(2) if lines[f"hungry{i}"]["fleet"]["worker"] == "b"}
    assert alone, "b has run at least one of them"
    for event in b.events("submit"):
        name = event["job"].split()[-1]
        if name in alone:
            assert event["beside"] == [], "nothing ran when it began"
        assert not any(other.split()[-1] in alone for other in event["beside"]), f"{name} began beside it"
    assert any(len(event["beside"]) == 3 for event in b.events("submit")), "else all four slots are used"


def test_a_host_that_does_not_become_empty(fleet, add_starving, tmp_path):
    """A job that is to run alone waits for a long one no longer than its worker is told. Its result says what it ran
    beside."""
    a = add_starving("a", "--word", "hungry")
    fleet.workers[0].stop()
    b = add_starving("b", options=("--alone-wait", "1"))
    long = shell("long", "sleep 20; echo long", limits={"wall_clock": 120})
    first = fleet.start("batch", "--run", "first", "--output", tmp_path / "1", write_jobs(tmp_path / "long", [long]))
    wait_until(lambda: b.jobs("submit"), "b has the long job")
    fleet.workers[1].process.send_signal(signal.SIGSTOP)
    fleet.workers[0].start()
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "2", write_jobs(tmp_path / "jobs", [echo("hungry")]))
    wait_until(lambda: starved_on(fleet, "r", "hungry") == ["a"], "it starved")
    fleet.workers[0].stop()
    fleet.workers[1].process.send_signal(signal.SIGCONT)
    assert batch.wait(60) == 0, batch.stderr.read()
    line = read_results(tmp_path / "2")["hungry"]
    assert check_answer(line)["fleet"] == {"worker": "b", "starved_on": ["a"], "same_host": False, "beside": 1}
    assert b.jobs("answered") == ["hungry"], "the long job still runs"
    said = fleet.workers[1].log()
    assert "job hungry of run r was to run alone; it has waited for 1 s, and now begins beside 1 other job\n" in said
    assert first.wait(60) == 0 and a.jobs("answered") == []


def test_it_starves_everywhere(fleet, add_starving, tmp_path):
    """The third time, the error is the answer, and no verdict; it says where the job had starved before. No host had it
    twice, unless the others let it wait for ten seconds."""
    for name in "abc":
        add_starving(name, "--word", "hungry")
    jobs = write_jobs(tmp_path / "jobs", [echo("hungry"), echo("fed")])
    began = time.monotonic()
    done = fleet.run("batch", "--run", "r", "--retries", "0", "--output", tmp_path / "out", jobs)
    took = time.monotonic() - began
    assert done.returncode == 4, done.stderr
    error = check_answer(read_results(tmp_path / "out")["hungry"])
    assert (error["code"], error["retriable"]) == ("starved", True)
    ran_on = {error["fleet"]["worker"], *error["fleet"]["starved_on"]}
    assert took >= 10 or len(ran_on) == 3


def test_a_timeout_without_a_cpu(fleet, add_starving, tmp_path):
    """A timeout of a job that had no CPU for most of the time is no verdict either, the first time."""
    a = add_starving("a", "--word", "hungry", "--timeout")
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [echo("hungry")]))
    wait_until(lambda: starved_on(fleet, "r", "hungry") == ["a"], "the mark says that it starved")
    add_starving("b")
    assert batch.wait(60) == 0, batch.stderr.read()
    line = read_results(tmp_path / "out")["hungry"]
    assert line["score"]["passed"] and line["fleet"]["starved_on"] == ["a"]
    assert a.jobs("starved") == ["hungry"]


@pytest.mark.parametrize("form", ["error", "timeout"])
def test_no_rerun_starved(fleet, add_starving, tmp_path, form):
    """With the option the first answer counts, in a fleet as with one daemon."""
    a = add_starving("a", "--word", "hungry", *(["--timeout"] if form == "timeout" else []))
    add_starving("b", "--word", "hungry", *(["--timeout"] if form == "timeout" else []))
    options = ["--no-rerun-starved", "--retries", "0", "--no-fail"]
    done = fleet.run("batch", "--run", "r", *options, "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [echo("hungry")]))
    assert done.returncode == (4 if form == "error" else 0), done.stderr
    line = read_results(tmp_path / "out")["hungry"]
    assert line.get("code") == ("starved" if form == "error" else None) and "fleet" not in line
    assert starved_on(fleet, "r", "hungry") == []
    assert len(a.jobs("submit")) <= 1


def test_a_worker_that_dies_over_it(fleet, add_starving, tmp_path):
    """The worker that waits to run it alone is killed, and so is the one that it starved on. It has one result."""
    add_starving("a", "--word", "hungry")
    jobs = [echo("hungry"), shell("long", "sleep 2; echo long")]
    batch = fleet.start("batch", "--run", "r", "--ack-wait", "2", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", jobs))
    wait_until(lambda: starved_on(fleet, "r", "hungry") == ["a"], "it starved")
    b = add_starving("b")
    fleet.workers[0].kill()
    wait_until(lambda: b.jobs("submit"), "b has a job")
    fleet.workers[1].kill()
    fleet.workers[1].start()
    fleet.workers[0].start()
    assert batch.wait(60) == 0, batch.stderr.read()
    lines = read_results(tmp_path / "out")
    assert lines["hungry"]["stdout"] == "hungry\n" and lines["long"]["stdout"] == "long\n"
    with fleet.server.connect() as nats:
        assert nats.counts("results") == {"rubricd.results.r.hungry": 1, "rubricd.results.r.long": 1}


def test_handed_back_while_it_waits(fleet, add_starving, tmp_path):
    """A worker that is stopped hands back a job that waits to be alone; the exclusion stays on the job."""
    add_starving("a", "--word", "hungry")
    jobs = [shell("long", "sleep 5; echo long"), echo("hungry")]
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", jobs))
    wait_until(lambda: starved_on(fleet, "r", "hungry") == ["a"], "it starved")
    fleet.workers[0].stop()
    b = add_starving("b")
    wait_until(lambda: b.jobs("submit") == ["sleep 5; echo long"] or b.jobs("answered"), "b has the long job")
    fleet.workers[1].stop()
    assert starved_on(fleet, "r", "hungry") == ["a"]
    fleet.workers[1].start()
    assert batch.wait(60) == 0, batch.stderr.read()
    assert read_results(tmp_path / "out")["hungry"]["fleet"] == {"worker": "b", "starved_on": ["a"], "same_host": False}


def test_ctrl_c_while_it_is_left_to_others(fleet, add_starving, tmp_path):
    """A run that is cancelled takes back a job that is handed from one worker to the next."""
    add_starving("a", "--word", "hungry")
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [echo("hungry")]))
    wait_until(lambda: starved_on(fleet, "r", "hungry") == ["a"], "it starved")
    for _ in range(2):
        batch.send_signal(2)
        read_until(batch.stderr, "rubricctl: ")
    assert batch.wait(60) == 130, batch.stderr.read()
    with fleet.server.connect() as nats:
        wait_until(lambda: nats.counts("jobs") == {}, "nothing is left in the queue")
