# SPDX-License-Identifier: MIT
"""The metrics: their values after known events, and that the parser of the Prometheus project accepts
them."""

import os
import signal
import subprocess
import time

import pytest
from conftest import DEADLINE, PASSING, RUBRICCTL, Client, wait_until
from prometheus_client.openmetrics import parser
from test_queue import hold_slots, submit_all

pytestmark = pytest.mark.cold

KINDS = ("rubric", "sandbox", "code_exec")
TRUE = {"kind": "sandbox", "argv": ["/bin/true"]}


class Metrics:
    """The samples of one text, read by a strict parser."""

    def __init__(self, text):
        self.text = text
        self.families = {}
        self.samples = {}
        for family in parser.text_string_to_metric_families(text):
            assert family.name not in self.families, "a family appears only once"
            self.families[family.name] = family
            for sample in family.samples:
                key = (sample.name, tuple(sorted(sample.labels.items())))
                assert key not in self.samples, "a sample appears only once"
                self.samples[key] = sample.value

    def __call__(self, name, **labels):
        return self.samples[name, tuple(sorted(labels.items()))]

    def total(self, name, **labels):
        """Returns the sum over all labels that are not given."""
        found = [
            value
            for (sample, pairs), value in self.samples.items()
            if sample == name and labels.items() <= dict(pairs).items()
        ]
        assert found, name
        return sum(found)


def metrics(client):
    client.send({"type": "metrics"})
    answer = client.recv()
    assert answer["type"] == "metrics", answer
    return Metrics(answer["text"])


def jobs_of_all_kinds(client, bench):
    """Runs one job for each way to end that a single job can provoke. Returns their number."""
    jobs = {
        "passes": bench.job(PASSING),
        "fails": bench.job("raise SystemExit(3)"),
        "is not run": bench.job(PASSING, sut={"status": "timeout"}),
        "is not there": bench.job(name="nowhere"),
        "true": TRUE,
        "too slow": {**TRUE, "argv": ["/bin/sleep", "1000"], "limits": {"wall_clock": 0.2}},
        "nothing to run": {"kind": "sandbox", "generation": " "},
        "not there either": {**TRUE, "argv": ["/nowhere"]},
        "code": {"kind": "code_exec", "code": "x = 1", "targets": ["assert x == 1"]},
        "wrong": {"kind": "code_exec", "code": "x = 1", "targets": ["assert x == 2"]},
    }
    for id, job in jobs.items():
        client.run(job, id)
    return len(jobs)


def test_types_units_and_help(client):
    """Dashboards rely on these as well as on the names."""
    seen = metrics(client)
    assert seen.text.endswith("\n# EOF\n")
    for name, family in seen.families.items():
        assert family.documentation.endswith("."), name
        assert family.type in ("counter", "gauge", "histogram", "info", "stateset"), name
        for unit in ("seconds", "bytes"):
            assert (family.unit == unit) == name.endswith("_" + unit), name
    assert seen.families["rubricd_job_wall_clock_seconds"].type == "histogram"
    assert seen.families["rubricd_isolation_layer"].type == "stateset"
    assert seen.families["rubricd_build"].type == "info"


def test_what_becomes_of_jobs(client, bench):
    jobs_of_all_kinds(client, bench)
    seen = metrics(client)
    results = {
        kind: [
            seen("rubricd_job_results_total", kind=kind, result=result)
            for result in ("passed", "failed")
        ]
        for kind in KINDS
    }
    assert results == {"rubric": [1, 2], "sandbox": [1, 2], "code_exec": [1, 1]}
    assert seen("rubricd_job_errors_total", kind="rubric", code="rubric_not_found") == 1
    assert seen("rubricd_job_errors_total", kind="sandbox", code="bad_request") == 1
    assert seen.total("rubricd_job_errors_total") == 2
    assert seen("rubricd_job_limits_exceeded_total", kind="sandbox", limit="wall_clock") == 1
    assert seen.total("rubricd_job_limits_exceeded_total") == 1
    for kind, submitted in zip(KINDS, (4, 4, 2)):
        assert seen("rubricd_jobs_submitted_total", kind=kind) == submitted
        assert seen.total("rubricd_jobs_in_flight", kind=kind) == 0


def test_latencies(client, bench):
    """Only a job whose program ran and that has a result counts."""
    jobs_of_all_kinds(client, bench)
    seen = metrics(client)
    name = "rubricd_job_wall_clock_seconds"
    counts = [seen(f"{name}_count", kind=kind) for kind in KINDS]
    assert counts == [2, 2, 2]
    assert 0.2 <= seen(f"{name}_sum", kind="sandbox") < 30
    assert seen(f"{name}_bucket", kind="sandbox", le="0.1") <= 1
    assert seen(f"{name}_bucket", kind="sandbox", le="3600.0") == 2
    waited = [seen("rubricd_job_queue_wait_seconds_count", kind=kind) for kind in KINDS]
    assert waited == [3, 4, 2], "a job that is not run does not wait"


def test_what_is_going_on(daemon, bench, gate):
    with daemon.connect() as client, daemon.connect() as other:
        hold_slots(client, bench.job(gate.python + PASSING))
        queued_at = time.monotonic()
        submit_all(client, {"waits": TRUE, "waits, too": {**TRUE, "priority": -5}})
        seen = wait_until(lambda: (m := metrics(other))("rubricd_queue_jobs") == 2 and m, "they wait")
        later = wait_until(
            lambda: (m := metrics(other))("rubricd_queue_oldest_seconds") >= 0.05 and m, "0.05 s"
        )
        assert later("rubricd_queue_oldest_seconds") <= time.monotonic() - queued_at
        assert seen("rubricd_queue_bytes") > 0
        assert seen("rubricd_jobs_in_flight", kind="rubric", state="running") == 2
        assert seen("rubricd_jobs_in_flight", kind="rubric", state="queued") == 0
        assert seen("rubricd_jobs_in_flight", kind="sandbox", state="queued") == 2
        assert (seen("rubricd_slots", state="busy"), seen.total("rubricd_slots")) == (2, 2)
        assert seen("rubricd_connections") == 2
        assert seen("rubricd_state", rubricd_state="running") == 1
        assert seen("rubricd_state", rubricd_state="draining") == 0
        gate.open(2)
        for _ in range(4):
            client.recv_answer()
        after = metrics(other)
        assert after("rubricd_queue_oldest_seconds") == after.total("rubricd_jobs_in_flight") == 0


def test_the_process(daemon):
    with daemon.connect() as client:
        seen = metrics(client)
        memory = client.status()["memory"]["rss_bytes"]
        fds = seen("process_open_fds")
        if os.geteuid() == 0:  # the daemon is not dumpable, so only root can look
            assert fds == len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    assert 3 < fds < seen("process_max_fds")
    assert seen("process_resident_memory_bytes") == pytest.approx(memory, rel=0.5)
    assert 0 < seen("rubricd_uptime_seconds") < 30
    start = seen("process_start_time_seconds")
    assert start + seen("rubricd_uptime_seconds") == pytest.approx(time.time(), abs=30)
    assert 0 < seen("process_cpu_seconds_total") < 30


def test_isolation_and_configuration(start_daemon):
    daemon = start_daemon(
        "queue.jobs=77",
        "queue.jobs_per_client=7",
        "isolation.require=env network",
        "sandbox.wall_clock=1.5s",
    )
    with daemon.connect() as client:
        seen = metrics(client)
        hello = client.hello
    name = "rubricd_isolation_layer"
    layers = {value["rubricd_isolation_layer"]: on for value, on in samples_of(seen, name)}
    assert {layer for layer, on in layers.items() if on} == set(hello["isolation"]["layers"])
    required = samples_of(seen, "rubricd_isolation_required_layer")
    assert sorted(labels.popitem()[1] for labels, on in required if on) == ["env", "network"]
    digest = hello["isolation"]["digest"]
    assert seen("rubricd_isolation_info", **{"class": "subprocess", "digest": digest}) == 1
    version = {"version": hello["version"], "protocol": "1"}
    assert seen("rubricd_build_info", **version) == 1
    assert seen("rubricd_queue_max_jobs") == 77
    assert seen("rubricd_default_wall_clock_seconds", kind="sandbox") == 1.5


def samples_of(seen, family):
    return [(sample.labels, sample.value) for sample in seen.families[family].samples]


def test_reloads(start_daemon, tmp_path):
    config = tmp_path / "rubricd.conf"
    config.write_text("[daemon]\ngrace_period = 10s\n")
    with start_daemon(config=config).connect() as client:

        def seen():
            now = metrics(client)
            done, refused = (now("rubricd_reloads_total", result=r) for r in ("done", "refused"))
            generation = now("rubricd_configuration_generation")
            return now("rubricd_grace_period_seconds"), done, refused, generation

        assert seen() == (10, 0, 0, 1)
        config.write_text("[daemon]\ngrace_period = 20s\n")
        client.send({"type": "reload"})
        assert client.recv()["type"] == "reloaded"
        assert seen() == (20, 1, 0, 2)
        config.write_text("[daemon]\ngrace_period = soon\n")
        client.send({"type": "reload"})
        assert client.recv()["type"] == "error"
        assert seen() == (20, 1, 1, 2)


def test_a_jail_that_is_lost_is_counted(daemon):
    with daemon.connect() as client:
        slots = wait_until(
            lambda: (s := client.status()["slots"]) and all(x["state"] == "idle" for x in s) and s,
            "both are ready",
        )
        before = metrics(client)
        assert (before("rubricd_jails_started_total"), before("rubricd_jails_lost_total")) == (2, 0)
        os.kill(slots[0]["jail_pid"], signal.SIGKILL)
        after = wait_until(
            lambda: (m := metrics(client))("rubricd_jails_started_total") == 3 and m, "a new one"
        )
        assert after("rubricd_jails_lost_total") == 1


def test_clients_too_many_are_counted(start_daemon):
    daemon = start_daemon("daemon.max_clients=2")
    with daemon.connect() as client, daemon.connect():
        accepted = metrics(client)("rubricd_connections_accepted_total")
        for _ in range(3):
            with Client(daemon.socket, hello=False) as refused:
                assert refused.recv()["reason"] == "too_many_clients"
        seen = metrics(client)
        assert seen("rubricd_connections_refused_total") == 3
        assert seen("rubricd_connections_accepted_total") == accepted
        assert (seen("rubricd_connections"), seen("rubricd_max_connections")) == (2, 2)


def test_a_client_that_waits_for_room_is_counted(start_daemon, bench, gate):
    daemon = start_daemon("queue.jobs=1", "queue.jobs_per_client=1")
    with daemon.connect() as client, daemon.connect() as other:
        hold_slots(client, bench.job(gate.python + PASSING))
        submit_all(client, {"queued": TRUE, "parked": TRUE})
        name = "rubricd_paused_connections"
        wait_until(lambda: metrics(other)(name, reason="queue_full") == 1, "it is parked")
        assert metrics(other)(name, reason="replies_unread") == 0
        gate.open(2)
        for _ in range(4):
            client.recv_answer()
        assert metrics(other)(name, reason="queue_full") == 0


def test_no_job_and_no_client_makes_a_new_series(daemon, bench):
    """The daemon knows all labels when it starts."""
    with daemon.connect() as client:
        before = metrics(client)
        jobs_of_all_kinds(client, bench)
        with daemon.connect() as other:
            other.run({**TRUE, "argv": ["/bin/false"]}, 'an "odd"\nid\\')
        after = metrics(client)
    assert before.samples.keys() == after.samples.keys()
    assert len(after.text) < 64 << 10


# rubricctl metrics


def test_the_command_prints_them(daemon):
    done = subprocess.run(
        [RUBRICCTL, "--socket", daemon.socket, "metrics"],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert Metrics(done.stdout)("rubricd_connections") >= 1


def test_the_command_without_a_daemon(tmp_path):
    done = subprocess.run(
        [RUBRICCTL, "--socket", tmp_path / "none", "metrics"],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "none" in done.stderr
