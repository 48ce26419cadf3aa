# SPDX-License-Identifier: MIT
"""rubricctl fleet over real servers, workers and daemons: whatever is killed, each id gets one result."""

import json
import random
import signal
import subprocess
import time

import pytest
from conftest import BENCH, DEADLINE, RUBRICCTL, let_pass, open_up, wait_until
from fleet_hosts import (
    echo,
    make_fleet,  # noqa: F401
    need_fleet,
    outputs,
    read_results,
    shell,
    wait_for_starts,
    write_jobs,
)

pytestmark = pytest.mark.cold

need_fleet()


def counts_of(fleet, worker):
    """Returns what the worker announced last."""
    with fleet.server.connect() as nats:
        return json.loads(nats.last("hosts", f"rubricd.hosts.{worker}"))


def results_of(daemon):
    with daemon.connect() as client:
        return client.status()["counters"]["results"]


def wait_for_mark(fleet, run, id):
    with fleet.server.connect() as nats:
        wait_until(lambda: nats.last("marks", f"rubricd.marks.{run}.{id}"), f"{id} is started")


# --- init ----------------------------------------------------------------------------------------


def test_init_again_changes_nothing(fleet):
    done = fleet.run("init")
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, 6)
    assert all(line.endswith(": as it should be") for line in lines)


def test_init_changes_what_the_options_say(fleet):
    dry = fleet.run("init", "--keep", "3", "--max-gib", "1", "--dry-run")
    assert "rubricd-results: would be changed: max_age (s) 604800 -> 259200, max_bytes -1 -> 1073741824" in dry.stdout
    assert all(line.endswith("as it should be") for line in fleet.run("init").stdout.splitlines())
    changed = fleet.run("init", "--keep", "3", "--max-gib", "1")
    assert changed.stdout == dry.stdout.replace("would be changed", "changed")
    with fleet.server.connect() as nats:
        config = nats.ask("STREAM.INFO.rubricd-results")["config"]
    assert (config["discard"], config["discard_new_per_subject"], config["max_msgs_per_subject"]) == ("new", True, 1)
    assert (config["max_age"], config["max_bytes"]) == (3 * 86400 * 10**9, 1 << 30)


def test_init_replaces_what_a_server_does_not_change(fleet):
    """An earlier version kept the announcements in memory, where a server that starts again has lost them."""
    with fleet.server.connect() as nats:
        config = nats.ask("STREAM.INFO.rubricd-hosts")["config"]
        nats.ask("STREAM.DELETE.rubricd-hosts")
        nats.ask("STREAM.CREATE.rubricd-hosts", **{**config, "storage": "memory"})
        assert "rubricd-hosts: changed: storage " in fleet.run("init", check=True).stdout
        assert nats.ask("STREAM.INFO.rubricd-hosts")["config"]["storage"] == "file"


def test_of_equal_inputs_the_last_one_is_kept(fleet):
    """A copy of the stream that refuses the second one cannot be made equal to one that has it. An earlier version made
    the streams so. A full stream still keeps what it has."""

    def set_config(**changes):
        config = nats.ask("STREAM.INFO.rubricd-inputs")["config"]
        answer = nats.ask("STREAM.UPDATE.rubricd-inputs", **{**config, **changes})
        assert "error" not in answer, answer

    def put(subject, n):
        return json.loads(nats.request(f"rubricd.inputs.{subject}.0", b"x" * n))

    with fleet.server.connect() as nats:
        set_config(discard_new_per_subject=True)
        assert "rubricd-inputs: changed: discard_new_per_subject 1 -> 0" in fleet.run("init", check=True).stdout
        assert [put("a", 1000)["seq"], put("a", 1000)["seq"]] == [1, 2]
        assert nats.counts("inputs") == {"rubricd.inputs.a.0": 1}
        set_config(max_bytes=2000)
        assert put("b", 1000)["error"]["description"] == "maximum bytes exceeded"
        assert put("a", 1000)["seq"] == 3, "what it has may come again"
        assert nats.counts("inputs") == {"rubricd.inputs.a.0": 1}


def test_the_streams_outlive_the_server(fleet):
    fleet.server.stop()
    fleet.server.start()
    assert all(line.endswith(": as it should be") for line in fleet.run("init", "--dry-run").stdout.splitlines())


# --- batches -------------------------------------------------------------------------------------


@pytest.mark.warm
def test_a_batch_has_the_results_of_a_local_one(fleet, tmp_path):
    """The example bench, over two hosts and on one daemon."""
    open_up(BENCH)
    fleet.add_host("a")
    fleet.add_host("b")
    cases = BENCH / "cases.jsonl"
    done = fleet.run("batch", "--bench-root", BENCH, "--output", tmp_path / "fleet.jsonl", "--no-fail", cases)
    assert done.returncode == 0, done.stderr
    command = [RUBRICCTL, "--socket", fleet.daemons[0].socket, "batch", "--bench-root", BENCH, "--no-fail"]
    subprocess.run([*command, "--output", tmp_path / "local.jsonl", cases], check=True, capture_output=True)
    there, here = read_results(tmp_path / "fleet.jsonl"), read_results(tmp_path / "local.jsonl")
    assert there.keys() == here.keys() and len(there) > 100

    def verdict(line):
        score = {key: value for key, value in line["score"].items() if key != "wall_clock_ms"}
        return score, line["isolation"], line["run"]["case_digest"]

    assert {id: verdict(line) for id, line in there.items()} == {id: verdict(line) for id, line in here.items()}
    wait_until(lambda: all(counts_of(fleet, name)["done"] > 0 for name in "ab"), "both workers had a share")
    wait_until(lambda: sum(counts_of(fleet, name)["done"] for name in "ab") == len(there), "and nothing was run twice")


def test_ids_of_every_kind(fleet, tmp_path):
    fleet.add_host("a")
    ids = ["plain", "a.b.*.>", "with space", "é/ü", "x" * 128, "%41", "new\nline", "\u0000"]
    jobs = write_jobs(tmp_path / "jobs", [{**echo("x"), "id": id} for id in ids])
    done = fleet.run("batch", "--output", tmp_path / "out", jobs)
    assert done.returncode == 0, done.stderr
    assert outputs(tmp_path / "out") == {id: "x\n" for id in ids}


def test_a_run_is_taken_up_from_elsewhere(fleet, tmp_path):
    """A batch that is killed leaves its jobs in the fleet. The same run under another directory has every
    result, and no job has run twice."""
    fleet.add_host("a")
    jobs = write_jobs(tmp_path / "jobs", [shell(f"j{i}", f"sleep 0.02; echo {i}") for i in range(80)])
    first = fleet.start("batch", "--run", "r", "--output", tmp_path / "first", jobs)
    with fleet.server.connect() as nats:
        wait_until(lambda: len(nats.counts("results", "rubricd.results.r.>")) > 10, "some results")
        first.kill()
        wait_until(lambda: len(nats.counts("results", "rubricd.results.r.>")) == 80, "the others, too")
    done = fleet.run("batch", "--run", "r", "--output", tmp_path / "second", jobs)
    assert done.returncode == 0, done.stderr
    assert outputs(tmp_path / "second") == {f"j{i}": f"{i}\n" for i in range(80)}
    wait_until(lambda: counts_of(fleet, "a")["done"] == 80, "each job has run once")
    assert counts_of(fleet, "a")["known"] == 0
    # What is left of the first file is continued.
    resumed = fleet.run("batch", "--run", "r", "--resume", "--output", tmp_path / "first", jobs)
    assert resumed.returncode == 0, resumed.stderr
    assert outputs(tmp_path / "first") == outputs(tmp_path / "second")


def test_a_changed_job_and_an_error_run_again(fleet, tmp_path, bench):
    """A stored verdict of another job with the same id is no answer, and a stored error is none either."""
    fleet.add_host("a")
    error = {"id": "error", **bench.job("", name="gone")}
    (bench.root / "gone" / "rubric.py").unlink()
    jobs = write_jobs(tmp_path / "jobs", [echo("same"), echo("changed"), error])
    assert fleet.run("batch", "--run", "r", "--output", tmp_path / "1", jobs).returncode == 4
    bench.rubric(
        'print(\'{"passed": true, "score": 1, "breakdown": {}, "failure_modes": [], "cost_usd": 0, "wall_clock_ms": 1}\')',
        name="gone",
    )
    jobs = write_jobs(tmp_path / "jobs", [echo("same"), {**echo("changed"), "argv": ["/bin/echo", "other"]}, error])
    done = fleet.run("batch", "--run", "r", "--output", tmp_path / "2", jobs)
    assert done.returncode == 0, done.stderr
    lines = read_results(tmp_path / "2")
    assert (lines["same"]["stdout"], lines["changed"]["stdout"]) == ("same\n", "other\n")
    assert lines["error"]["score"]["passed"]
    wait_until(lambda: counts_of(fleet, "a")["done"] == 4, "`same` has run once, `changed` twice")


def test_the_first_result_wins(fleet, tmp_path):
    """The stream refuses a second result of an id, whoever sends it."""
    fleet.add_host("a")
    jobs = write_jobs(tmp_path / "jobs", [echo("x")])
    fleet.run("batch", "--run", "r", "--output", tmp_path / "out", jobs, check=True)
    with fleet.server.connect() as nats:
        answer = json.loads(nats.request("rubricd.results.r.x", b"another"))
        assert answer["error"]["description"] == "maximum messages per subject exceeded"
        assert nats.counts("results") == {"rubricd.results.r.x": 1}
        wait_until(lambda: nats.counts("jobs") == {}, "an answered job is acknowledged")


def test_a_second_result_is_noticed(fleet, tmp_path):
    """Were the stream to take one all the same, the batch would name the id and ignore it."""
    fleet.add_host("a")
    jobs = write_jobs(tmp_path / "jobs", [echo("x"), shell("y", "sleep 3")])
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    with fleet.server.connect() as nats:
        first = wait_until(lambda: nats.last("results", "rubricd.results.r.x"), "x has a result")
        config = nats.ask("STREAM.INFO.rubricd-results")["config"]
        config.update(max_msgs_per_subject=2, discard="old", discard_new_per_subject=False)
        assert "error" not in nats.ask("STREAM.UPDATE.rubricd-results", **config)
        nats.request("rubricd.results.r.x", first.replace(b"x\\n", b"second\\n"))
    assert batch.wait(DEADLINE) == 0
    assert "run r: x has a second result, number 2 beside 1; it is ignored" in batch.stderr.read()
    assert outputs(tmp_path / "out") == {"x": "x\n", "y": ""}


def test_cost_cap(fleet, tmp_path, bench):
    """Withdrawn jobs leave the queue."""
    fleet.add_host("a", slots=1)
    bench.rubric(
        'import json, time; time.sleep(0.1); print(json.dumps({"passed": True, "score": 1, "breakdown": {},'
        ' "failure_modes": [], "cost_usd": 1.0, "wall_clock_ms": 1}))',
        name="dear",
    )
    job = {"kind": "rubric", "task_class": "dear", "case": {}, "harness_output": {}}
    jobs = write_jobs(tmp_path / "jobs", [{"id": f"j{i}", **job} for i in range(40)])
    done = fleet.run("batch", "-b", bench.root, "--cost-cap", "2.5", "--output", tmp_path / "out", jobs)
    assert done.returncode == 5, done.stderr
    assert "the cost cap of $2.5000 is passed: $3.0000 so far" in done.stderr
    assert 3 <= len(read_results(tmp_path / "out")) <= 5
    with fleet.server.connect() as nats:
        wait_until(lambda: nats.counts("jobs") == {}, "no job is left in the queue")
        assert len(nats.counts("results")) <= 5, "and none of those taken back has run"


def test_large_jobs_and_large_results(fleet, tmp_path):
    """What does not fit into one message goes through the stream of inputs."""
    fleet.add_host("a")
    text = "".join(random.Random(1).choices("abcdefgh\n", k=3_000_000))
    job = {"kind": "sandbox", "argv": ["/bin/cat", "big"], "files": {"big": text}, "limits": {"output_bytes": 4 << 20}}
    jobs = write_jobs(tmp_path / "jobs", [{"id": "big", **job}, {"id": "again", **job}])
    done = fleet.run("batch", "--output", tmp_path / "out", jobs)
    assert done.returncode == 0, done.stderr
    assert set(outputs(tmp_path / "out").values()) == {text}
    with fleet.server.connect() as nats:
        assert len(nats.counts("inputs")) > 6


@pytest.mark.warm
def test_tests_are_put_once(fleet, tmp_path):
    """Tests that a client sends by digest are stored once, and found again by the worker."""
    fleet.add_host("a")
    tests = [{"input": f"{i} {'x' * 100}\n", "output": f"{i} {'x' * 100}\n"} for i in range(200)]
    job = {"kind": "program", "language": "python", "code": "print(input())", "tests": tests}
    jobs = write_jobs(tmp_path / "jobs", [{"id": f"j{i}", **job} for i in range(5)])
    done = fleet.run("batch", "--output", tmp_path / "out", jobs)
    assert done.returncode == 0, done.stderr
    assert all(line["score"]["passed"] for line in read_results(tmp_path / "out").values())
    with fleet.server.connect() as nats:
        assert len(nats.counts("inputs")) == 1


def test_priorities_and_turns(fleet, tmp_path):
    """Of a run, the higher priority goes first. Two runs take turns, although one began long before."""
    fleet.add_host("a", slots=1)
    long = [shell(f"j{i}", "sleep 0.05", priority=0) for i in range(60)]
    long += [shell(f"urgent{i}", "sleep 0.05", priority=10) for i in range(5)]
    first = fleet.start("batch", "--run", "long", "--output", tmp_path / "long", write_jobs(tmp_path / "j1", long))
    wait_for_mark(fleet, "long", "j0")
    short = write_jobs(tmp_path / "j2", [shell(f"s{i}", "sleep 0.05") for i in range(6)])
    done = fleet.run("batch", "--run", "short", "--output", tmp_path / "short", short)
    assert done.returncode == 0, done.stderr
    assert first.poll() is None, "the short run did not wait for the long one"
    assert first.wait(DEADLINE) == 0, first.stderr.read()
    order = list(read_results(tmp_path / "long"))
    assert max(order.index(f"urgent{i}") for i in range(5)) < 25


def test_grade(fleet, tmp_path):
    """A data set over two hosts has the pass@k of one daemon; taken up, the run does not run again."""
    task = {"prompt": "def add(a, b):\n", "entry_point": "add", "canonical_solution": "    return a + b\n"}
    tests = "def check(candidate):\n    assert candidate(1, 2) == 3\n"
    data = write_jobs(tmp_path / "data", [{"task_id": f"Own/{i}", **task, "test": tests} for i in range(4)])
    answers = ["    return a + b\n", "    return a - b\n", "    return sum((a, b))\n"]
    samples = [{"task_id": f"Own/{i}", "completion": answer} for i in range(4) for answer in answers]
    grading = ["grade", "--dataset", data, "--samples", write_jobs(tmp_path / "samples", samples), "--json", "--no-fail"]
    fleet.add_host("a")
    fleet.add_host("b")
    done = fleet.run(*grading, "--run", "r", "--output", tmp_path / "1")
    assert done.returncode == 0, done.stderr
    command = [RUBRICCTL, "--socket", fleet.daemons[0].socket, *grading]
    local = subprocess.run([*command, "--output", tmp_path / "2"], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["pass_at_k"] == json.loads(local.stdout)["pass_at_k"]
    wait_until(lambda: sum(counts_of(fleet, name)["done"] for name in "ab") == 16, "12 samples and 4 references")
    again = fleet.run(*grading, "--run", "r", "--output", tmp_path / "3")
    assert again.stdout == done.stdout
    let_pass(6)  # the workers announce themselves every 5 s
    assert sum(counts_of(fleet, name)["done"] for name in "ab") == 16


# --- what is killed ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_workers(fleet, tmp_path, seed):
    """Three workers, of which one after the other is killed and started again at random moments."""
    chance = random.Random(seed)
    for name in "abc":
        fleet.add_host(name)
    jobs = [shell(f"j{i}", f"sleep {chance.choice([0, 0.01, 0.05])}; echo {i}") for i in range(150)]
    batch = fleet.start("batch", "--run", "r", "--ack-wait", "2", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", jobs))
    with fleet.server.connect() as nats:
        for kill in range(4):
            some = 10 + 25 * kill + chance.randrange(10)
            wait_until(lambda: len(nats.counts("results")) >= some or batch.poll() is not None, f"{some} results")
            worker = chance.choice(fleet.workers)
            worker.kill()
            let_pass(chance.random() * 0.2)
            worker.start()
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert outputs(tmp_path / "out") == {f"j{i}": f"{i}\n" for i in range(150)}


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_server(fleet, tmp_path, seed):
    """The server is killed twice while a batch runs. The batch and the workers wait for it."""
    chance = random.Random(seed)
    for name in "ab":
        fleet.add_host(name)
    jobs = [shell(f"j{i}", f"sleep {chance.choice([0, 0.02])}; echo {i}") for i in range(150)]
    batch = fleet.start("batch", "--run", "r", "--ack-wait", "2", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", jobs))
    for kill in range(2):
        some = 15 + 50 * kill + chance.randrange(10)
        with fleet.server.connect() as nats:
            wait_until(lambda: len(nats.counts("results")) >= some, f"{some} results")
        fleet.server.kill()
        let_pass(chance.random())
        fleet.server.start()
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert "the connection to the NATS server is lost" in batch.stderr.read()
    assert outputs(tmp_path / "out") == {f"j{i}": f"{i}\n" for i in range(150)}


def test_a_queue_that_is_lost(fleet, tmp_path):
    """The server comes back without the jobs that it had acknowledged: they are queued again."""
    worker = fleet.add_host("a")
    worker.kill()
    jobs = write_jobs(tmp_path / "jobs", [echo(f"j{i}") for i in range(20)])
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    with fleet.server.connect() as nats:
        wait_until(lambda: len(nats.counts("jobs")) == 20, "the jobs are queued")
        assert nats.ask("STREAM.PURGE.rubricd-jobs")["purged"] == 20
    fleet.server.stop()
    fleet.server.start()
    with fleet.server.connect() as nats:
        assert nats.counts("jobs") == {}, "they are gone"
    worker.start()
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert outputs(tmp_path / "out") == {f"j{i}": f"j{i}\n" for i in range(20)}


def test_a_restarted_daemon(fleet, tmp_path):
    """A daemon that drains and one that is killed: their jobs run elsewhere, or here again."""
    fleet.add_host("a")
    fleet.add_host("b")
    jobs = write_jobs(tmp_path / "jobs", [shell(f"j{i}", f"sleep 0.05; echo {i}") for i in range(80)])
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    with fleet.server.connect() as nats:
        wait_until(lambda: len(nats.counts("results")) >= 10, "10 results")
        fleet.daemons[0].process.kill()
        fleet.daemons[0].process.wait()
        wait_until(lambda: "connecting again" in fleet.workers[0].log(), "the worker notices")
        wait_until(lambda: len(nats.counts("results")) >= 30, "30 results")
        assert fleet.daemons[1].stop() == 0
        directory = tmp_path / "d0"
        again = type(fleet.daemons[0])(directory, *fleet.settings)
        fleet.daemons.append(again)
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert outputs(tmp_path / "out") == {f"j{i}": f"{i}\n" for i in range(80)}


def test_a_job_that_takes_its_worker_down(fleet, tmp_path):
    """Three workers die while they run the job. The fourth does not start it: error and dead letter."""
    worker = fleet.add_host("a", slots=1)
    jobs = write_jobs(tmp_path / "jobs", [shell("poison", "sleep 60"), echo("good")])
    batch = fleet.start("batch", "--run", "r", "--ack-wait", "2", "--output", tmp_path / "out", jobs)
    for start in range(1, 4):
        wait_for_starts(fleet, "r", "poison", start)
        worker.kill()
        worker.start()
    assert batch.wait(DEADLINE) == 4, batch.stderr.read()
    lines = read_results(tmp_path / "out")
    assert lines["good"]["stdout"] == "good\n"
    error = lines["poison"]
    assert (error["code"], error["retriable"]) == ("workers_lost", False)
    assert "the job was started 3 times (by a, a and a), and no worker lived to say how it ended" in error["message"]
    with fleet.server.connect() as nats:
        letter = json.loads(nats.last("dead", "rubricd.dead.r.poison"))
        assert (letter["id"], letter["run"], len(letter["starts"])) == ("poison", "r", 3)
        wait_until(lambda: nats.counts("jobs") == {}, "the message is terminated")


def test_a_healthy_job_beside_one_that_takes_its_worker_down(fleet, tmp_path):
    """Both are started on the same worker twice. The third time each runs alone, so only one is given up."""
    worker = fleet.add_host("a", slots=2)
    jobs = [shell("poison", "sleep 600"), shell("healthy", "sleep 2; echo fine")]
    batch = fleet.start("batch", "--run", "r", "--ack-wait", "2", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", jobs))
    for n in range(1, 4):
        wait_for_starts(fleet, "r", "poison", n)
        if n < 3:
            wait_for_starts(fleet, "r", "healthy", n)
        worker.kill()
        worker.start()
    assert batch.wait(DEADLINE) == 4, batch.stderr.read()
    results = read_results(tmp_path / "out")
    assert results["poison"]["code"] == "workers_lost" and results["healthy"].get("stdout") == "fine\n", results


def test_a_job_that_a_worker_still_has_is_not_buried(fleet, tmp_path):
    """A job has been started three times, and one of the workers still announces its start: it has lost its server for
    a while, and may have the result. The job is given up only when nobody does."""
    worker = fleet.add_host("a")
    worker.kill()
    batch = fleet.start("batch", "--run", "r", "--ack-wait", "2", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [echo("j")]))
    with fleet.server.connect() as nats:
        wait_until(lambda: nats.counts("jobs"), "the job is queued")
        seq = nats.ask("STREAM.INFO.rubricd-jobs")["state"]["last_seq"]
        starts = [{"worker": name, "nonce": f"nonce-{name}"} for name in ("x", "y", "not a name")]
        nats.request("rubricd.marks.r.j", json.dumps({"messages": {"p10": seq}, "starts": starts}).encode())

        def announce(held):
            nats.request("rubricd.hosts.y", json.dumps({"worker": "y", "holds": held}).encode())

        def handed_back():
            announce(["another", "nonce-y"])
            return json.loads(nats.last("hosts", "rubricd.hosts.a"))["passed_by"]

        worker.start()
        wait_until(lambda: handed_back() > 14, "it is handed back for longer than ten seconds")
        assert not nats.counts("dead") and not nats.counts("results")
        announce(["another"])
        assert batch.wait(DEADLINE) == 4, batch.stderr.read()
        assert read_results(tmp_path / "out")["j"]["code"] == "workers_lost"


def test_a_worker_announces_its_starts(fleet, tmp_path):
    """While it runs a job, a worker announces the start that is on the job's mark, and no longer after that."""
    fleet.add_host("a")
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [shell("j", "sleep 8")]))
    with fleet.server.connect() as nats:

        def held():
            return json.loads(nats.last("hosts", "rubricd.hosts.a"))["holds"]

        (nonce,) = wait_until(held, "the start is announced")
        (start,) = json.loads(nats.last("marks", "rubricd.marks.r.j"))["starts"]
        assert start == {"worker": "a", "nonce": nonce}
        assert batch.wait(DEADLINE) == 0, batch.stderr.read()
        wait_until(lambda: not held(), "the start is announced no longer")


def test_handing_back_does_not_count(fleet, tmp_path):
    """A worker that is stopped five times while it runs a job hands it back each time, at once."""
    worker = fleet.add_host("a", slots=1)
    jobs = write_jobs(tmp_path / "jobs", [shell("long", "test -e /tmp/done && exit; sleep 3; echo over")])
    batch = fleet.start("batch", "--run", "r", "--ack-wait", "600", "--output", tmp_path / "out", jobs)
    for _ in range(5):
        wait_for_starts(fleet, "r", "long", 1)
        worker.stop()
        wait_for_starts(fleet, "r", "long", 0)
        worker.start()
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert outputs(tmp_path / "out") == {"long": "over\n"}


def test_a_long_job_stays_where_it_is(fleet, tmp_path):
    """A worker says that a job is in progress, so the server gives it to no other one."""
    for name in "ab":
        fleet.add_host(name)
    jobs = write_jobs(tmp_path / "jobs", [shell("long", "sleep 13; echo over")])
    done = fleet.run("batch", "--run", "r", "--ack-wait", "6", "--output", tmp_path / "out", jobs)
    assert done.returncode == 0, done.stderr
    with fleet.server.connect() as nats:
        assert len(json.loads(nats.last("marks", "rubricd.marks.r.long"))["starts"]) == 1


def test_a_worker_that_is_late(fleet, tmp_path):
    """A worker is cut off while its job runs; another has answered. Neither's answer is a second result: the
    next worker that gets the job finds the result, and the late one is refused."""
    late = fleet.add_host("late", slots=1)
    jobs = write_jobs(tmp_path / "jobs", [shell("x", "sleep 1; echo late")])
    batch = fleet.start("batch", "--run", "r", "--ack-wait", "2", "--output", tmp_path / "out", jobs)
    wait_for_starts(fleet, "r", "x", 1)
    late.process.send_signal(signal.SIGSTOP)
    fleet.add_host("next", slots=1)
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    late.process.send_signal(signal.SIGCONT)
    wait_until(lambda: counts_of(fleet, "late")["known"] == 1, "the late worker's result is refused")
    wait_until(lambda: counts_of(fleet, "next")["done"] == 1, "the next worker's is announced as stored")
    # A job that comes again after its result is stored is not run.
    for worker in fleet.workers[:2]:
        worker.kill()
    with fleet.server.connect() as nats:
        nats.ask("CONSUMER.DURABLE.CREATE.rubricd-jobs.r-p10", stream_name="rubricd-jobs",
                 config={"durable_name": "r-p10", "ack_policy": "explicit", "ack_wait": 2 * 10**9, "max_deliver": -1,
                         "max_ack_pending": -1, "filter_subject": "rubricd.jobs.r.p10.>", "description": "any"})  # fmt: skip
        nats.request("rubricd.jobs.r.p10.x", b'{"kind": "sandbox", "argv": ["/bin/echo", "again"]}')
        # The request does not expire: a killed worker's may be served first while the server takes it to be connected,
        # and then the job comes here when the time for its answer is over.
        nats.publish("$JS.API.CONSUMER.MSG.NEXT.rubricd-jobs.r-p10", b'{"batch": 1}', f"{nats.inbox}.pull")
        assert nats.receive()[0] == "rubricd.jobs.r.p10.x", "delivered once, and never acknowledged"
        before = results_of(fleet.daemons[0])
        fleet.add_worker("third", fleet.daemons[0])
        wait_until(lambda: nats.counts("jobs") == {}, "the job is acknowledged")
        wait_until(lambda: counts_of(fleet, "third")["known"] == 1, "because its result is known")
        assert results_of(fleet.daemons[0]) == before, "and it was not run"
        assert json.loads(nats.last("results", "rubricd.results.r.x"))["stdout"] == "late\n"


# --- hosts that differ ---------------------------------------------------------------------------


def test_hosts_that_confine_differently(fleet, tmp_path):
    fleet.add_host("a")
    fleet.add_worker("b", fleet.add_daemon("rubric.cpu=7"))
    jobs = write_jobs(tmp_path / "jobs", [echo("x")])
    done = fleet.run("batch", "--output", tmp_path / "out", jobs)
    assert done.returncode == 3
    assert "the hosts of the fleet confine jobs differently, so that their scores are not comparable: a has" in done.stderr
    assert fleet.run("batch", "--mix", "--output", tmp_path / "mixed", jobs).returncode == 0


def test_a_host_that_comes_later_and_differs_gets_no_job(fleet, tmp_path):
    fleet.add_host("a", slots=1)
    jobs = write_jobs(tmp_path / "jobs", [shell(f"j{i}", "sleep 0.1") for i in range(20)])
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    wait_for_mark(fleet, "r", "j0")
    fleet.add_worker("b", fleet.add_daemon("rubric.cpu=7"))
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert len({line["isolation"]["digest"] for line in read_results(tmp_path / "out").values()}) == 1
    assert counts_of(fleet, "b")["done"] == 0


def test_one_worker_for_two_daemons(fleet, tmp_path):
    daemons = [fleet.add_daemon(slots=1) for _ in range(2)]
    fleet.add_worker("a", *daemons)
    wait_until(lambda: counts_of(fleet, "a")["slots"] == 2, "both daemons count")
    jobs = write_jobs(tmp_path / "jobs", [shell(f"j{i}", "sleep 0.02") for i in range(30)])
    assert fleet.run("batch", "--output", tmp_path / "out", jobs).returncode == 0
    for daemon in daemons:
        with daemon.connect() as client:
            assert client.status()["counters"]["results"] > 5


def test_no_more_than_the_free_slots(fleet, tmp_path):
    """While another client keeps the daemon's only slot busy, the worker takes nothing."""
    daemon = fleet.add_daemon(slots=1)
    with daemon.connect() as other:
        other.submit("mine", {"kind": "sandbox", "argv": ["/bin/sh", "-c", "sleep 60"]})
        assert other.recv()["type"] == "started"
        fleet.add_worker("a", daemon)
        jobs = write_jobs(tmp_path / "jobs", [echo("x")])
        batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
        with fleet.server.connect() as nats:
            wait_until(lambda: nats.counts("jobs"), "the job is queued")
            let_pass(1.5)
            assert nats.counts("marks") == {} and batch.poll() is None
        other.send({"type": "cancel", "id": "mine"})
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()


def test_a_run_begins_at_once(fleet, tmp_path):
    """A worker whose only slot waits for jobs of a run that is over does not keep the next run waiting."""
    fleet.add_host("a", slots=1)
    jobs = write_jobs(tmp_path / "jobs", [echo("x")])
    took = []
    for _ in range(7):
        began = time.monotonic()
        fleet.run("batch", "--output", tmp_path / "out", "--force", jobs, check=True)
        took.append(time.monotonic() - began)
    assert sorted(took)[3] < 1.5, f"half of them: {took}"
