# SPDX-License-Identifier: MIT
"""A run has results of one isolation, and a job has one result and three starts: also when the configuration of a
daemon changes meanwhile, when the run is taken up under another one, when the queue has a job twice, and when the
server has lost a part of a result."""

import json
import signal
import time

import pytest
from conftest import DEADLINE, Bench, Daemon, wait_until
from fleet_hosts import (
    echo,
    make_fleet,  # noqa: F401
    need_fleet,
    read_results,
    read_until,
    shell,
    wait_for_starts,
    write_jobs,
)

pytestmark = pytest.mark.cold

need_fleet()


def digests(path):
    return {line["isolation"]["digest"] for line in read_results(path).values()}


def reload(daemon, config, text):
    config.write_text(text)
    with daemon.connect() as client:
        client.send({"type": "reload"})
        assert client.recv()["type"] == "reloaded"
        return client.status()["isolation"]["digest"]


def test_the_daemon_is_reloaded_during_a_run(fleet, tmp_path):
    """Jobs that were asked for before and run with another isolation are handed back: none of their results is one of
    the run. When the daemon is as it was, the run goes on."""
    config, directory = tmp_path / "conf", tmp_path / "reloaded"
    config.write_text("[sandbox]\n")
    directory.mkdir()
    daemon = Daemon(directory, *fleet.settings, slots=2, config=config)
    fleet.daemons.append(daemon)
    worker = fleet.add_worker("a", daemon)
    count = 120
    jobs = write_jobs(tmp_path / "jobs", [shell(f"j{i}", "sleep 0.05") for i in range(count)])
    with fleet.server.connect() as nats:
        batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
        wait_until(lambda: len(nats.counts("results")) >= 10, "the run has begun")
        other = reload(daemon, config, "[sandbox]\nmemory_bytes = 64M\n")
        wait_until(lambda: "are left to other workers" in worker.log(), "the worker has noticed")
        assert len(nats.counts("results")) < count
        first = reload(daemon, config, "[sandbox]\n")
    assert first != other
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert len(read_results(tmp_path / "out")) == count
    assert digests(tmp_path / "out") == {first}


def test_a_run_is_taken_up_under_another_isolation(fleet, tmp_path):
    """Its results would be of two: it is refused with what can be done, and nothing is lost."""
    first = fleet.add_host("a")
    jobs = write_jobs(tmp_path / "jobs", [echo("x"), echo("y")])
    assert fleet.run("batch", "--run", "r", "--output", tmp_path / "out", jobs).returncode == 0
    first.stop()
    fleet.add_worker("b", fleet.add_daemon("sandbox.memory_bytes=64M"))
    write_jobs(jobs, [echo("x"), echo("y"), echo("z")])
    done = fleet.run("batch", "--run", "r", "--output", tmp_path / "refused", jobs)
    assert done.returncode == 3, done.stderr
    assert "run r has results of jobs that ran with the isolation " in done.stderr
    assert "give --mix to have scores that are not comparable" in done.stderr
    assert len(done.stderr.splitlines()) <= 3, done.stderr
    with fleet.server.connect() as nats:
        assert len(nats.counts("results")) == 2 and nats.counts("jobs") == {}
    done = fleet.run("batch", "--run", "other", "--output", tmp_path / "other", jobs)
    assert done.returncode == 0, done.stderr
    assert len(digests(tmp_path / "other")) == 1
    done = fleet.run("batch", "--run", "r", "--mix", "--output", tmp_path / "mixed", jobs)
    assert done.returncode == 0, done.stderr
    assert len(read_results(tmp_path / "mixed")) == 3 and len(digests(tmp_path / "mixed")) == 2


def test_a_worker_that_has_stopped_is_not_counted(fleet, tmp_path):
    """`status` does not list it, and a batch does not compare its isolation with that of the others."""
    fleet.add_host("a").stop()
    fleet.add_worker("b", fleet.add_daemon("sandbox.memory_bytes=64M"))
    status = json.loads(fleet.run("status", "--json", check=True).stdout)
    assert [host["worker"] for host in status["hosts"]] == ["b"]
    done = fleet.run("batch", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [echo("x")]))
    assert done.returncode == 0, done.stderr


def test_a_poison_job_that_is_queued_twice(fleet, tmp_path):
    """The run is taken up with another priority, so that the queue has two messages of the job. Their starts count
    together."""
    worker = fleet.add_host("a", slots=1)
    jobs = tmp_path / "jobs"
    poison = shell("poison", "sleep 60")
    worker.kill()
    with fleet.server.connect() as nats:
        first = fleet.start("batch", "--run", "r", "--ack-wait", "2", "--output", tmp_path / "first", write_jobs(jobs, [poison]))
        wait_until(lambda: len(nats.counts("jobs")) == 1, "the job is queued")
        first.kill()
        write_jobs(jobs, [{**poison, "priority": 5}])
        batch = fleet.start("batch", "--run", "r", "--ack-wait", "2", "--output", tmp_path / "out", jobs)
        wait_until(lambda: len(nats.counts("jobs")) == 2, "it is queued twice")
        seen = 0
        end = time.monotonic() + DEADLINE
        while batch.poll() is None and time.monotonic() < end:
            worker.start()
            before = nats.last("marks", "rubricd.marks.r.poison")
            wait_until(lambda: batch.poll() is not None or nats.last("marks", "rubricd.marks.r.poison") != before, "it starts, or is given up")
            seen += batch.poll() is None
            worker.kill()
    assert batch.wait(DEADLINE) == 4, batch.stderr.read()
    assert read_results(tmp_path / "out")["poison"]["code"] == "workers_lost"
    assert seen == 3


def test_a_verdict_does_not_depend_on_the_priority(fleet, tmp_path):
    """A run that is taken up with another priority has its results already."""
    fleet.add_host("a")
    jobs = tmp_path / "jobs"
    for number, priority in enumerate((0, 5)):
        write_jobs(jobs, [shell("x", "date +%s.%N", priority=priority)])
        assert fleet.run("batch", "--run", "r", "--output", tmp_path / f"{number}", jobs).returncode == 0
    first, second = (read_results(tmp_path / f"{number}")["x"]["stdout"] for number in range(2))
    assert first == second


def test_the_server_has_lost_a_part_of_a_result(fleet, tmp_path):
    """The result is there and its chunks are not: the job runs again, and has its result."""
    fleet.add_host("a")
    large = shell("large", "head -c 900000 /dev/zero | tr '\\0' x", limits={"output_bytes": 2_000_000})
    jobs = write_jobs(tmp_path / "jobs", [large])
    assert fleet.run("batch", "--run", "r", "--output", tmp_path / "out", jobs).returncode == 0
    with fleet.server.connect() as nats:
        assert nats.ask("STREAM.PURGE.rubricd-inputs")["purged"] > 0
    done = fleet.run("batch", "--run", "r", "--output", tmp_path / "again", jobs)
    assert done.returncode == 0, done.stderr
    assert "run r: large is queued again: the NATS server has lost a part of its result" in done.stderr
    assert read_results(tmp_path / "again")["large"]["stdout"] == "x" * 900_000


def test_two_commands_with_one_run_and_other_jobs(fleet, tmp_path):
    """Each gets its own results, and one of them says what is going on."""
    worker = fleet.add_host("a", slots=1)
    worker.kill()
    batches = []
    with fleet.server.connect() as nats:
        nats.sock.sendall(b"SUB rubricd.jobs.r.> 2\r\n")
        for name in ("one", "two"):
            jobs = write_jobs(tmp_path / name, [shell("x", f"echo {name}")])
            batches.append(fleet.start("batch", "--run", "r", "--output", tmp_path / f"{name}.out", jobs))
            assert name in nats.receive()[1].decode(), "the job is on its way into the queue"
    worker.start()
    said = [batch.communicate(timeout=DEADLINE)[1] for batch in batches]
    assert [batch.returncode for batch in batches] == [0, 0], said
    for name in ("one", "two"):
        assert read_results(tmp_path / f"{name}.out")["x"]["stdout"] == f"{name}\n"
    assert any("a result of x came that is of another job of that id" in text for text in said), said


def test_jobs_that_get_the_network(fleet, tmp_path):
    """Their results have an isolation of their own, which is not another one than the run wants."""
    fleet.add_worker("a", fleet.add_daemon("sandbox.allow_network=yes"))
    jobs = write_jobs(tmp_path / "jobs", [{**echo("net"), "limits": {"allow_network": True}}, echo("plain")])
    for n in range(2):  # and when the run is taken up
        done = fleet.run("batch", "--run", "r", "--output", tmp_path / f"out{n}", jobs)
        assert done.returncode == 0, done.stderr
        assert len(digests(tmp_path / f"out{n}")) == 2
    with fleet.server.connect() as nats:
        assert len(json.loads(nats.last("marks", "rubricd.marks.r.net"))["starts"]) == 1


def digests_of_hosts(fleet):
    status = json.loads(fleet.run("status", "--json", check=True).stdout)
    return {host["isolation"]["digest"] for host in status["hosts"]}


def test_a_job_that_still_runs_under_another_isolation(fleet, tmp_path):
    """The run is taken up under the new one: the old result is none of it, and the job runs again."""
    config, directory = tmp_path / "conf", tmp_path / "reloaded"
    config.write_text("[sandbox]\n")
    directory.mkdir()
    daemon = Daemon(directory, *fleet.settings, slots=2, config=config)
    fleet.daemons.append(daemon)
    fleet.add_worker("a", daemon)
    jobs, gate = tmp_path / "jobs", tmp_path / "out"
    write_jobs(jobs, [shell("long", "sleep 6")])
    with fleet.server.connect() as nats:
        batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "first", jobs)
        wait_until(lambda: nats.counts("marks"), "the job is marked")
        with daemon.connect() as client:
            wait_until(lambda: any(slot["job"] for slot in client.status()["slots"]), "the daemon has it")
        batch.kill()
        new = reload(daemon, config, "[sandbox]\nmemory_bytes = 64M\n")
        wait_until(lambda: digests_of_hosts(fleet) == {new}, "the worker has noticed")
    write_jobs(jobs, [shell("long", "sleep 6"), echo("short")])
    done = fleet.run("batch", "--run", "r", "--output", gate, jobs)
    assert done.returncode == 0, done.stderr
    assert digests(gate) == {new}
    assert "a result of long came that ran with the isolation " in done.stderr


def starts_until_given_up(fleet, worker, batch, subject, take_up):
    """Kills WORKER whenever it has started the job, and calls TAKE_UP with the number of starts; returns how many there were."""
    seen, end = 0, time.monotonic() + DEADLINE
    with fleet.server.connect() as nats:
        while time.monotonic() < end and (batch := take_up(seen) or batch).poll() is None:
            before = nats.last("marks", subject)
            worker.start()
            wait_until(lambda: batch.poll() is not None or nats.last("marks", subject) != before, "it starts, or is given up")
            seen += batch.poll() is None
            worker.kill()
    assert batch.wait(DEADLINE) == 4, batch.stderr.read()
    return seen


def test_a_poison_job_that_is_taken_up_with_other_priorities(fleet, tmp_path):
    """The starts before it was taken up count, too."""
    worker = fleet.add_host("a", slots=1)
    worker.kill()
    running = []

    def begin(priority):
        jobs = write_jobs(tmp_path / "jobs", [{**shell("poison", "sleep 60"), "priority": priority}])
        running.append(fleet.start("batch", "--run", "r", "--ack-wait", "2", "--output", tmp_path / f"out{priority}", jobs))
        with fleet.server.connect() as nats:
            wait_until(lambda: len(nats.counts("jobs")) == len(running), "it is queued")
        return running[-1]

    def take_up(seen):
        if seen == 2 and len(running) == 1:
            running[0].kill()
            return begin(5)
        return None

    assert starts_until_given_up(fleet, worker, begin(0), "rubricd.marks.r.poison", take_up) == 3
    assert read_results(tmp_path / "out5")["poison"]["code"] == "workers_lost"


def test_a_job_that_is_cancelled_while_it_runs_has_not_started(fleet, tmp_path):
    """However often it is cancelled and taken up with another priority, it is no job that takes workers down."""
    fleet.add_host("a", slots=1)
    for priority in range(3):
        jobs = write_jobs(tmp_path / "jobs", [{**shell("j", "sleep 60"), "priority": priority}])
        batch = fleet.start("batch", "--run", "r", "--output", tmp_path / f"out{priority}", jobs)
        with fleet.server.connect() as nats:
            wait_for_starts(fleet, "r", "j", 1)
            batch.send_signal(signal.SIGINT)
            read_until(batch.stderr, "interrupt again")
            batch.send_signal(signal.SIGINT)
            assert batch.wait(DEADLINE) == 130, batch.stderr.read()
            wait_until(lambda: json.loads(nats.last("marks", "rubricd.marks.r.j"))["starts"] == [], "its start is taken back")
            wait_until(lambda: nats.counts("jobs") == {}, "it has left the queue")
    jobs = write_jobs(tmp_path / "jobs", [{**echo("j"), "priority": 3}])
    done = fleet.run("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    assert done.returncode == 0, done.stderr
    assert read_results(tmp_path / "out")["j"]["stdout"] == "j\n"


def test_a_cancel_is_of_one_of_two_jobs_with_the_same_id(fleet, tmp_path):
    """Of two commands with one run, one has the job in work, and the other has it queued with another priority."""
    fleet.add_host("a", slots=1)
    batches = []
    for priority in (5, 0):
        jobs = write_jobs(tmp_path / "jobs", [{**shell("j", "sleep 15; echo done"), "priority": priority}])
        batches.append(fleet.start("batch", "--run", "r", "--output", tmp_path / f"out{priority}", jobs))
        with fleet.server.connect() as nats:
            wait_until(lambda: len(nats.counts("jobs")) == len(batches), "it is queued")
            wait_for_starts(fleet, "r", "j", 1)
    kept, left = batches
    left.send_signal(signal.SIGINT)
    read_until(left.stderr, "interrupt again")
    left.send_signal(signal.SIGINT)
    assert left.wait(DEADLINE) == 130
    assert kept.wait(DEADLINE) == 0, kept.stderr.read()
    with fleet.server.connect() as nats:
        assert json.loads(nats.last("hosts", "rubricd.hosts.a"))["cancelled"] == 0


def test_a_verdict_that_goes_before_its_job_has_its_turn(fleet, tmp_path):
    """A run is taken up; a verdict that is there is deleted before the job that it answers has its turn. The job runs
    again, and its new verdict is taken as it comes."""
    fleet.add_host("a", slots=1)
    jobs = tmp_path / "jobs"
    assert fleet.run("batch", "--run", "r", "--output", tmp_path / "first", write_jobs(jobs, [echo("j")])).returncode == 0
    write_jobs(jobs, [shell("before", "sleep 6; echo before"), echo("j")])
    batch = fleet.start("batch", "--run", "r", "-j", "1", "--output", tmp_path / "out", jobs)
    wait_for_starts(fleet, "r", "before", 1)
    with fleet.server.connect() as nats:
        assert nats.ask("STREAM.MSG.DELETE.rubricd-results", seq=1, no_erase=True)["success"]
    said = batch.communicate(timeout=DEADLINE)[1]
    assert batch.returncode == 0 and "second result" not in said, said
    assert read_results(tmp_path / "out")["j"]["stdout"] == "j\n"


def test_a_queue_that_counts_anew(fleet, tmp_path):
    """The marks of jobs that have ended are not taken for starts of their successors, which have lower numbers."""
    fleet.add_host("a")
    jobs = tmp_path / "jobs"
    assert fleet.run("batch", "--run", "other", "--output", tmp_path / "other", write_jobs(jobs, [echo(f"o{i}") for i in range(20)])).returncode == 0
    for version in range(6):
        write_jobs(jobs, [shell("x", f"echo {version}")])
        done = fleet.run("batch", "--run", "r", "--output", tmp_path / f"out{version}", jobs)
        assert done.returncode == 0, done.stderr
        assert read_results(tmp_path / f"out{version}")["x"]["outcome"]["success"] is True
        if version == 0:
            with fleet.server.connect() as nats:
                nats.ask("STREAM.DELETE.rubricd-jobs")
            fleet.run("init", check=True)
    with fleet.server.connect() as nats:
        assert nats.counts("dead") == {}


def test_results_that_count_anew(fleet, tmp_path):
    """The server loses the end of the results, so that later ones have numbers that were read: each is found all the
    same, and soon."""
    fleet.add_host("a", slots=2)
    jobs = tmp_path / "jobs"
    assert fleet.run("batch", "--run", "other", "--output", tmp_path / "other", write_jobs(jobs, [echo(f"o{i}") for i in range(30)])).returncode == 0
    write_jobs(jobs, [shell(f"j{i}", "sleep 0.2") for i in range(20)])
    batch = fleet.start("batch", "--run", "r", "--jobs", "2", "--output", tmp_path / "out", jobs)
    with fleet.server.connect() as nats:
        wait_until(lambda: len(nats.counts("results", "rubricd.results.r.*")) >= 3, "the run has begun")
        nats.ask("STREAM.DELETE.rubricd-results")
        fleet.run("init", check=True)
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert "has lost results that were there" in batch.stderr.read()
    assert len(read_results(tmp_path / "out")) == 20


READS_BESIDE = """
import json, pathlib
answer = pathlib.Path(__file__).resolve().parents[1].joinpath("answers").read_text()
print(json.dumps({"passed": answer == "yes", "score": int(answer == "yes")}))
"""


def test_what_decides_an_answer_is_of_the_job(fleet, tmp_path):
    """A job that comes with another place of its rubric, or with a priority that is none, is another job."""
    fleet.add_host("a")
    jobs = tmp_path / "jobs"
    assert fleet.run("batch", "--run", "r", "--output", tmp_path / "ok", write_jobs(jobs, [{**echo("x"), "priority": 3}])).returncode == 0
    for n, priority in enumerate((99, "abc")):
        out = tmp_path / f"out{n}"
        done = fleet.run("batch", "--run", "r", "--output", out, write_jobs(jobs, [{**echo("x"), "priority": priority}]))
        answer = read_results(out)["x"]
        assert (done.returncode, answer.get("code")) == (4, "bad_request"), (answer, done.stderr)
    for root, answer in (("b1", "no"), ("b2", "yes")):
        place = Bench(tmp_path / root)
        (place.root / "answers").write_text(answer)
        job = place.job(READS_BESIDE, name="h")
        done = fleet.run("batch", "--run", "r", "--output", tmp_path / root / "out", write_jobs(jobs, [{"id": "y", **job}]))
        assert done.returncode == (0 if answer == "yes" else 1), done.stderr
        assert read_results(tmp_path / root / "out")["y"]["score"]["passed"] is (answer == "yes")
