# SPDX-License-Identifier: MIT
"""Trouble at the server while a fleet works: whoever meets it says what is wrong and what to do, goes on when it is
over, and each job has its one result."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE, RUBRICCTL, small_disk, wait_until
from fleet_hosts import (
    Server,
    Worker,
    echo,
    make_fleet,  # noqa: F401
    need_fleet,
    outputs,
    read_results,
    read_until,
    write_jobs,
)
from fleet_serve import Serve, consumers
from overtaking_server import OvertakingServer
from slow_server import SlowServer
from test_fleet_errors import make_certificate

pytestmark = pytest.mark.cold

need_fleet()


def ctl(*arguments, **kwargs):
    command = [RUBRICCTL, "fleet", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False, **kwargs)


def expect_all(path, n):
    assert outputs(path) == {f"j{i}": f"j{i}\n" for i in range(n)}


def echoes(tmp_path, n, size=0):
    return write_jobs(tmp_path / "jobs", [{**echo(f"j{i}"), "stdin": "x" * size} for i in range(n)])


class Restarted:
    """A fleet whose server has options of its own, with its worker and a batch."""

    def __init__(self, tmp_path, *lines, server=None, options=()):
        self.directory = tmp_path
        self.server = server or Server(tmp_path, *lines)
        self.options = options
        self.url = self.server.url
        self.processes = []

    def ctl(self, *arguments):
        return ctl(arguments[0], "--server", self.url, *self.options, *arguments[1:])

    def start(self, *arguments):
        command = [RUBRICCTL, "fleet", arguments[0], "--server", self.url, *self.options, *arguments[1:]]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def restart_server(self, *lines):
        self.server.kill()
        self.server.lines = lines
        self.server.start()

    def close(self):
        for process in self.processes:
            process.kill()
            process.communicate()
        self.server.kill()


def test_a_batch_begins_although_the_hosts_cannot_be_read_at_once(fleet, tmp_path):
    """The server does not answer what it does not permit, as it does not while the stream has no leader."""
    fleet.add_host("a")

    def permit(rule):
        fleet.server.lines = [f'authorization {{ users: [ {{ user: "ci", password: "x"{rule} }} ] }}', 'no_auth_user: "ci"']
        fleet.server.write_config()

    permit(', permissions { publish { allow: ">", deny: "$JS.API.STREAM.MSG.GET.rubricd-hosts" } }')
    fleet.server.stop()
    fleet.server.start()
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [echo("j")]))
    assert batch.stderr.readline() == "rubricctl: cannot read the stream rubricd-hosts: Timeout; trying again\n"
    permit("")
    fleet.server.process.send_signal(signal.SIGHUP)
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert read_results(tmp_path / "out")["j"]["stdout"] == "j\n"


# --- the disk, and limits ------------------------------------------------------------------------


@pytest.fixture(name="resize")
def disk_of_server(tmp_path):
    """Gives the server's files a file system of 3 MiB. Returns a function that changes its size."""
    with small_disk(tmp_path / "js", "3m") as place:
        yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}", place], check=True)


@pytest.mark.parametrize("fills", ["jobs", "results"])
def test_a_full_disk(resize, fleet, tmp_path, fills):
    """The disk of the server fills up under the jobs, or under their results. nats-server switches JetStream off
    then, or no longer answers. After it got room and was started again, every job is done."""
    fleet.server.kill()
    # By itself the server leaves a part of the disk free that others may fill.
    fleet.server.lines = [f'jetstream {{ store_dir: "{tmp_path}/js", max_file_store: 1GB }}']
    fleet.server.start()
    worker = fleet.add_host("a")
    if fills == "jobs":
        worker.kill()
    size = 40_000
    jobs = [echo(f"j{i}", **({"stdin": "x" * size} if fills == "jobs" else {})) for i in range(150)]
    if fills == "results":
        for job in jobs:
            job["argv"] = ["/bin/sh", "-c", f"head -c {size} /dev/zero | tr '\\0' x; echo {job['id']}"]
    command = [RUBRICCTL, "fleet", "batch", "--server", fleet.server.url, "--run", "r", "--ack-wait", "5", "--output", tmp_path / "out"]
    with open(tmp_path / "batch.log", "wb") as log:
        batch = subprocess.Popen([*command, write_jobs(tmp_path / "jobs", jobs)], stdout=log, stderr=log)
    try:
        told = tmp_path / "batch.log" if fills == "jobs" else worker.log_path
        wait_until(lambda: any(text in told.read_text() for text in ("disk is full", "make room on the disk")), "somebody says so")
        assert batch.poll() is None, "it waits"
        resize("64m")
        fleet.server.kill()
        fleet.server.start()
        if fills == "jobs":
            worker.start()
        assert batch.wait(DEADLINE) == 0, (tmp_path / "batch.log").read_text()
    finally:
        batch.kill()
        batch.wait()
    lines = read_results(tmp_path / "out")
    assert {id: line["stdout"].lstrip("x") for id, line in lines.items()} == {f"j{i}": f"j{i}\n" for i in range(150)}


def test_the_limit_of_the_server(tmp_path, start_daemon):
    """The server has reached the limit of its configuration, which no stream has."""
    fleet = Restarted(tmp_path, f'jetstream {{ store_dir: "{tmp_path}/js", max_file_store: 100KB }}')
    worker = None
    try:
        assert fleet.ctl("init").returncode == 0
        worker = Worker(tmp_path, fleet.server, "a", start_daemon(slots=2))
        wait_until(lambda: "1 worker, 2 slots" in fleet.ctl("status").stdout, "the worker is there")
        worker.kill()
        batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", echoes(tmp_path, 60, 4000))
        said = read_until(batch.stderr, "a job is not queued: ")
        assert "that of the server in its configuration" in said
        assert batch.poll() is None
        worker.start()  # it cannot store marks either
        wait_until(lambda: "the mark of a job is not stored: insufficient resources" in worker.log(), "the worker says so, too")
        fleet.restart_server(f'jetstream {{ store_dir: "{tmp_path}/js", max_file_store: 100MB }}')
        assert batch.wait(DEADLINE) == 0, batch.stderr.read()
        expect_all(tmp_path / "out", 60)
    finally:
        if worker:
            worker.kill()
        fleet.close()


# --- credentials and TLS -------------------------------------------------------------------------


def test_a_password_that_changes(tmp_path, start_daemon):
    """The server comes back and refuses the worker's password. The worker says so, and reads the file anew."""
    allow = 'authorization {{ user: "rubricd", password: "{}" }}'
    secret = tmp_path / "password"
    secret.write_text("old\n")
    fleet = Restarted(tmp_path, allow.format("old"), options=("--password-file", secret))
    worker = None
    try:
        assert fleet.ctl("init").returncode == 0
        worker = Worker(tmp_path, fleet.server, "a", start_daemon(slots=2), options=("--password-file", secret))
        wait_until(lambda: "1 worker, 2 slots" in fleet.ctl("status").stdout, "the worker is there")
        fleet.restart_server(allow.format("new"))
        refused = "the NATS server refuses the credentials"
        wait_until(lambda: refused in worker.log(), "the worker says so")
        assert "--creds, --token-file, or --user and --password-file" in worker.log()
        secret.write_text("new\n")
        wait_until(lambda: "connected to the NATS server again" in worker.log(), "it reads the file again")
        batch = fleet.start("batch", "--output", tmp_path / "out", echoes(tmp_path, 3))
        assert batch.wait(DEADLINE) == 0, batch.stderr.read()
        expect_all(tmp_path / "out", 3)
    finally:
        if worker:
            worker.kill()
        fleet.close()


def test_what_the_account_may_not(tmp_path):
    """Of what it does not permit a user, a server only says so; it does not answer."""
    fleet = Restarted(
        tmp_path,
        'authorization { users: [ { user: "all", password: "x" }, { user: "rubricd", password: "x", '
        'permissions: { publish: ["nothing"] } } ] }',
    )
    secret = tmp_path / "password"
    secret.write_text("x\n")
    try:
        done = fleet.ctl("init", "--user", "all", "--password-file", secret)
        assert done.returncode == 0, done.stderr
        done = fleet.ctl("status", "--password-file", secret)
        assert done.returncode == 3
        assert "the NATS server does not permit it to this user: " in done.stderr
        assert "$JS.API.STREAM.INFO.rubricd-jobs" in done.stderr, "it names what"
        worker = Worker(tmp_path, fleet.server, "a", options=("--password-file", secret))
        try:
            wait_until(lambda: "the NATS server refuses: " in worker.log(), "the worker says so")
            assert "ermissions" in worker.log()
        finally:
            worker.kill()
    finally:
        fleet.close()


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_a_certificate_that_expires(tmp_path, start_daemon):
    """The server comes back with a certificate that has expired: worker and command say so. With a new one the worker
    goes on."""
    for name, days in {"good": 5, "old": -1}.items():
        make_certificate(tmp_path, name, days)
    tls = f'tls {{ cert_file: "{tmp_path}/NAME.pem", key_file: "{tmp_path}/NAME.key" }}'
    fleet = Restarted(tmp_path, tls.replace("NAME", "good"), options=("--ca", tmp_path / "ca.pem"))
    fleet.url = fleet.server.url = f"tls://127.0.0.1:{fleet.server.port}"
    worker = None
    try:
        assert fleet.ctl("init").returncode == 0
        worker = Worker(tmp_path, fleet.server, "a", start_daemon(slots=2), options=("--ca", tmp_path / "ca.pem"))
        wait_until(lambda: "1 worker, 2 slots" in fleet.ctl("status").stdout, "the worker is there")
        fleet.restart_server(tls.replace("NAME", "old"))
        done = fleet.ctl("status")
        assert done.returncode == 3
        assert "certificate has expired" in done.stderr and "renew the certificate of the server" in done.stderr
        wait_until(lambda: "certificate has expired" in worker.log(), "the worker says so")
        fleet.restart_server(tls.replace("NAME", "good"))
        batch = fleet.start("batch", "--output", tmp_path / "out", echoes(tmp_path, 3))
        assert batch.wait(DEADLINE) == 0, batch.stderr.read()
        expect_all(tmp_path / "out", 3)
    finally:
        if worker:
            worker.kill()
        fleet.close()


# --- workers that are gone, or that differ ---------------------------------------------------------


def test_all_workers_go(fleet, tmp_path):
    """A run whose last worker goes says that it waits, and for what. It goes on with the next one."""
    worker = fleet.add_host("a")
    worker.kill()
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", echoes(tmp_path, 3))
    read_until(batch.stderr, "run r waits: the fleet has no worker now; start one on each host (rubricctl fleet worker)")
    worker.start()
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    expect_all(tmp_path / "out", 3)


def test_the_isolation_changes_during_a_run(fleet, tmp_path):
    """The only daemon comes back with another configuration. Worker and batch say why nothing goes on, and no job
    runs there until the run is taken up with --mix."""
    worker = fleet.add_host("a")
    worker.kill()
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", echoes(tmp_path, 3))
    with fleet.server.connect() as nats:
        wait_until(lambda: len(nats.counts("jobs")) == 3, "the jobs are queued")
    fleet.add_worker("b", fleet.add_daemon("rubric.cpu=7"))
    said = read_until(batch.stderr, "run r waits: it began on daemons with the isolation ")
    assert "none has it (worker b: " in said and "give --mix to run the rest all the same" in said
    assert "the jobs of run r are left to other workers: they are for the isolation " in fleet.workers[1].log()
    with fleet.server.connect() as nats:
        assert nats.counts("results") == {} and len(nats.counts("jobs")) == 3
    batch.kill()
    done = fleet.run("batch", "--run", "r", "--mix", "--output", tmp_path / "mixed", tmp_path / "jobs")
    assert done.returncode == 0, done.stderr
    expect_all(tmp_path / "mixed", 3)


def test_the_consumer_of_a_run_is_deleted(fleet, tmp_path):
    """No worker would pull the jobs of the run any more. The batch notices, says so once, and makes the consumer again;
    soon after the connection was lost, so that this test need not wait for the next regular look."""
    worker = fleet.add_host("a")
    worker.kill()
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", echoes(tmp_path, 3))
    with fleet.server.connect() as nats:
        wait_until(lambda: len(nats.counts("jobs")) == 3, "the jobs are queued")
        wait_until(lambda: nats.ask("CONSUMER.DELETE.rubricd-jobs.r-p10").get("success"), "the consumer is deleted")
    fleet.server.stop()
    fleet.server.start()
    worker.start()
    said = read_until(batch.stderr, "run r: its consumer of priority 0 is gone from the NATS server; making it again")
    assert batch.wait(DEADLINE) == 0
    assert "is gone" not in batch.stderr.read(), said
    expect_all(tmp_path / "out", 3)


def test_a_job_that_the_queue_keeps_for_nobody(fleet, tmp_path):
    """A nats-server 2.9 that has lost its disk may keep a job that was acknowledged, and have lost its result: the
    consumer has passed the job, and the queue takes no other one of its subject. Here the server gets the files
    of its queue back as they were before the job was acknowledged."""
    worker = fleet.add_host("a")
    worker.kill()
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", echoes(tmp_path, 1))
    with fleet.server.connect() as nats:
        wait_until(lambda: len(nats.counts("jobs")) == 1, "the job is queued")
        wait_until(lambda: nats.ask("CONSUMER.INFO.rubricd-jobs.r-p10").get("num_pending") == 1, "the run has a consumer")
    # The front would notice five seconds after it lost the connection, and these steps may take longer.
    (front,) = map(int, Path(f"/proc/{batch.pid}/task/{batch.pid}/children").read_text().split())
    os.kill(front, signal.SIGSTOP)
    try:
        fleet.server.stop()
        (messages,) = fleet.server.directory.glob("js/jetstream/*/streams/rubricd-jobs/msgs")
        shutil.copytree(messages, tmp_path / "before")
        fleet.server.start()
        with fleet.server.connect() as nats:
            nats.pull("r-p10", b"+ACK")
            wait_until(lambda: not nats.counts("jobs"), "the job is acknowledged")
        fleet.server.stop()
        shutil.rmtree(messages)
        shutil.copytree(tmp_path / "before", messages)
        fleet.server.start()
        with fleet.server.connect() as nats:
            assert len(nats.counts("jobs")) == 1, "the job is there again"
            info = nats.ask("CONSUMER.INFO.rubricd-jobs.r-p10")
            assert (info["num_pending"], info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (0, 0, 1), info
    finally:
        os.kill(front, signal.SIGCONT)
    worker.start()
    read_until(batch.stderr, "run r: j0 is queued again: the NATS server has kept it, though it was acknowledged, and")
    assert batch.wait(DEADLINE) == 0
    expect_all(tmp_path / "out", 1)


# --- the order of messages -----------------------------------------------------------------------


def is_job(subject):
    return subject.startswith("rubricd.jobs.")


def is_answer(subject):
    return not subject.startswith("rubricd.")


@pytest.mark.parametrize("held, is_on_its_way", [(is_job, False), (is_answer, True)], ids=["the job", "the answer to its mark"])
def test_a_cancel_that_overtakes(fleet, held, is_on_its_way):
    """The worker hears that the run no longer wants the job before it has the job, or while it stores that the job starts.
    It does not run it. A job of the same id that is submitted later, it runs."""
    direct = fleet.server.url
    proxy = OvertakingServer(fleet.server.port)
    try:
        fleet.server.url = proxy.url
        fleet.add_host("a")
        fleet.server.url = direct
        [daemon] = fleet.daemons
        job = {"kind": "sandbox", "argv": ["/bin/echo", "hi"]}
        serve = Serve(fleet)
        with serve.connect() as client, daemon.connect() as look, fleet.server.connect() as nats:

            def counts():
                return json.loads(nats.last("hosts", "rubricd.hosts.a"))

            def running():
                return sum(shown["running"] for shown in look.status()["clients"])

            client.submit("long", {"kind": "sandbox", "argv": ["/bin/sleep", "600"], "limits": {"wall_clock": 300}})
            wait_until(lambda: running() == 1, "a job runs")
            proxy.hold(held)
            client.submit("j", job)
            wait_until(lambda: len(nats.counts("marks")) == 2 if is_on_its_way else proxy.held, "the other is on its way")
            for id in ("j", "long"):
                client.send({"type": "cancel", "id": id})
                assert client.recv_answer(id)["code"] == "cancelled"
            # Cancels arrive in turn: the worker has both.
            wait_until(lambda: running() == 0, "the job that ran is cancelled")
            proxy.release()
            wait_until(lambda: counts()["cancelled"] == 2, "the other is over")
            assert (counts()["done"], nats.counts("results")) == (0, {})
            assert client.run(job, "j")["stdout"] == "hi\n"
    finally:
        proxy.close()


def test_a_result_whose_answer_is_lost(fleet, tmp_path):
    """The worker sends it again. The server knows it, and does not refuse it: in a cluster, copies of a stream that have
    refused different messages do not go together."""
    direct = fleet.server.url
    proxy = OvertakingServer(fleet.server.port)
    try:
        fleet.server.url = proxy.url
        fleet.add_host("a")
        fleet.server.url = direct
        [daemon] = fleet.daemons
        batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [{**echo("j"), "argv": ["/bin/sleep", "2"]}]))
        with fleet.server.connect() as nats, daemon.connect() as look:
            wait_until(lambda: look.status()["clients"][0]["running"], "the job runs")
            proxy.hold(is_answer)
            wait_until(lambda: [b'"stream":"rubricd-results"' in data for _, data in [*proxy.held]].count(True) == 2, "its result is sent twice")
            proxy.lose()
            assert batch.wait(DEADLINE) == 0, batch.stderr.read()

            def counts():
                told = json.loads(nats.last("hosts", "rubricd.hosts.a"))
                return told["done"], told["known"]

            wait_until(lambda: sum(counts()), "the worker says so")
            assert counts() == (1, 0)
    finally:
        proxy.close()


def test_the_consumer_of_a_user_of_serve_is_deleted(fleet):
    """Without a lost connection serve notices within a minute, says so once, and makes the consumer again."""
    worker = fleet.add_host("a")
    serve = Serve(fleet)
    worker.kill()
    with serve.connect() as client, fleet.server.connect() as nats:
        client.submit("j", {"kind": "sandbox", "argv": ["/bin/echo", "hi"]})
        wait_until(lambda: len(nats.counts("jobs")) == 1, "the job is queued")
        wait_until(lambda: consumers(fleet), "its consumer is there")
        name = consumers(fleet)[0]
        assert nats.ask(f"CONSUMER.DELETE.rubricd-jobs.{name}").get("success")
        worker.start()
        assert client.recv_answer("j")["stdout"] == "hi\n"
    said = "its consumer of priority 0 is gone from the NATS server; making it again"
    assert serve.log().count(said) == 1 and "connected" not in serve.log()


# --- large inputs --------------------------------------------------------------------------------

NARROW = "the NATS server takes messages of at most 100000 bytes, and a fleet needs 528384: raise max_payload in its configuration"


def test_a_server_that_takes_only_small_messages(tmp_path):
    """Chunks of large inputs have one size everywhere, so that whoever takes up a run finds those that are there. A server
    that does not take them is refused, by a worker until that is mended."""
    server = Server(tmp_path, "max_payload: 100000")
    worker = Worker(tmp_path, server, "a")
    try:
        done = ctl("init", "--server", server.url)
        assert done.returncode == 3 and NARROW in done.stderr, done.stderr
        wait_until(lambda: NARROW in worker.log(), "the worker says so")
        server.stop()
        server.lines = ()
        server.start()
        wait_until(lambda: "connected to the NATS server again" in worker.log(), "it goes on")
        assert ctl("init", "--server", server.url).returncode == 0
    finally:
        worker.kill()
        server.kill()


def test_a_run_with_large_jobs_over_servers_of_other_sizes(fleet, tmp_path):
    """The server takes smaller messages after a restart, then larger ones. What is wrong is said; then the chunks that are
    there serve the rest of the run, and another run of the same jobs."""
    worker = fleet.add_host("a")
    worker.kill()
    jobs = echoes(tmp_path, 1, size=1200000)
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    with fleet.server.connect() as nats:
        wait_until(lambda: nats.counts("jobs"), "the job is queued")
        chunks = nats.counts("inputs")
    assert sorted(chunks.values()) == [1, 1, 1]
    for lines in (("max_payload: 100000",), ("max_payload: 8388608",)):
        fleet.server.stop()
        fleet.server.lines = lines
        fleet.server.start()
        if "100000" in lines[0]:
            assert NARROW in read_until(batch.stderr, "raise max_payload")
    worker.start()
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    expect_all(tmp_path / "out", 1)
    done = fleet.run("batch", "--run", "other", "--output", tmp_path / "again", jobs)
    assert done.returncode == 0, done.stderr
    expect_all(tmp_path / "again", 1)
    with fleet.server.connect() as nats:
        assert nats.counts("inputs") == chunks, "nothing is stored twice, or in other pieces"


# --- slow ----------------------------------------------------------------------------------------


@pytest.fixture(name="slow")
def make_slow(fleet):
    """The fleet's server through a proxy; worker and commands go through it."""
    slow = SlowServer(fleet.server.port)
    fleet.server.url = slow.url
    yield slow
    slow.close()


def test_a_server_that_answers_slowly(fleet, slow, tmp_path):
    """With half a second for each way everything takes longer, and nothing else."""
    worker = fleet.add_host("a", slots=4)
    slow.delay = 0.5
    done = fleet.run("batch", "--run", "r", "--output", tmp_path / "out", echoes(tmp_path, 12))
    assert done.returncode == 0, done.stderr
    assert "slow" not in done.stderr + worker.log()
    expect_all(tmp_path / "out", 12)


def test_a_server_that_becomes_too_slow(fleet, slow, tmp_path):
    """Answers come later than requests are repeated. Worker and batch say so; what comes twice counts once."""
    worker = fleet.add_host("a", slots=4)
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", write_jobs(
        tmp_path / "jobs", [{**echo(f"j{i}"), "argv": ["/bin/sh", "-c", f"sleep 0.1; echo j{i}"]} for i in range(80)]))  # fmt: skip
    with fleet.server.connect() as nats:
        wait_until(lambda: len(nats.counts("results")) > 5, "some results")
    slow.delay = 7.0
    said = "the NATS server is slow: it has not answered"
    wait_until(lambda: said in worker.log() or "connection to the NATS server is lost" in worker.log(), "the worker says so")
    done = fleet.run("status")
    assert done.returncode == 3 and "did not answer" in done.stderr, done.stderr
    slow.delay = 0.0
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    expect_all(tmp_path / "out", 80)
    with fleet.server.connect() as nats:
        assert len(nats.counts("results")) == 80
