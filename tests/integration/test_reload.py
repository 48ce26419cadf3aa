# SPDX-License-Identifier: MIT
"""Reloading the configuration. The daemon checks all of it before it applies any of it. It loses no job
and runs none twice. Each job ends under the settings in force when it was submitted."""

import contextlib
import json
import os
import pwd
import signal
import subprocess
import threading

import pytest
from conftest import (
    ACCOUNT,
    DEADLINE,
    PASSING,
    RUBRICCTL,
    Shape,
    open_up,
    user_namespaces_are_refused,
    wait_until,
)
from test_cancel import STRANGER, connect_as, error
from test_daemon import private
from test_queue import answers, client_of, hold_slots, newest, running, submit_all

TRUE = {"kind": "sandbox", "argv": ["/bin/true"]}
SHOW_ENVIRONMENT = {"kind": "sandbox", "argv": ["/usr/bin/env"]}


class Configuration:
    """A configuration file and its drop-ins, which tests change while a daemon runs."""

    def __init__(self, directory):
        self.path = directory / "rubricd.conf"
        self.drop_ins = directory / "rubricd.conf.d"
        self.drop_ins.mkdir()
        self.write()
        open_up(self.drop_ins)

    @staticmethod
    def text(settings):
        lines = []
        for name, value in settings.items():
            section, key = name.split(".")
            lines.append(f"[{section}]\n{key} = {value}\n")
        return "".join(lines)

    def write(self, settings=None):
        """Writes a dict from SECTION.KEY to value. Replaces the file atomically."""
        new = self.path.with_suffix(".new")
        new.write_text(self.text(settings or {}))
        new.rename(self.path)

    def drop_in(self, name, text):
        (self.drop_ins / name).write_text(text)


@pytest.fixture(name="configuration")
def make_configuration(tmp_path):
    directory = tmp_path / "etc"
    directory.mkdir()
    return Configuration(directory)


@pytest.fixture(name="start")
def start_configured(start_daemon, configuration):
    """Returns a function that starts a daemon with SETTINGS in its file, not on its command line."""

    def start(settings=None, *fixed, **kwargs):
        configuration.write({"daemon.slots": 2, **(settings or {})})
        return start_daemon(*fixed, config=configuration.path, slots=None, **kwargs)

    return start


def reload(client):
    client.send({"type": "reload"})
    while (message := client.recv())["type"] not in ("reloaded", "error"):
        pass
    return message


def reloaded(client):
    """Reloads, and returns the answer; asserts that the daemon accepts the configuration."""
    answer = reload(client)
    assert answer["type"] == "reloaded", answer
    return answer


def refused(client, code="bad_request"):
    """Reloads, and returns the lines of the error; asserts that the daemon refuses."""
    answer = reload(client)
    assert (answer["type"], answer["code"]) == ("error", code), answer
    assert "id" not in answer
    return answer["message"].split("\n")


def slot_numbers(client):
    return [slot["slot"] for slot in client.status()["slots"]]


def hello(daemon):
    with daemon.connect() as client:
        return client.hello


# The answer


def test_it_names_what_has_changed(start, configuration):
    """The changes apply to new connections and to existing ones."""
    daemon = start({"rubric.wall_clock": "50s", "queue.jobs": 100, "queue.jobs_per_client": 50})
    with daemon.connect() as client:
        before = client.hello
        assert client.status()["configuration"]["generation"] == 1
        configuration.write(
            {
                "daemon.slots": 3,
                "rubric.wall_clock": "40s",
                "rubric.cpu": "299s",
                "queue.jobs": "100",
                "queue.jobs_per_client": 60,
            }
        )
        answer = reloaded(client)
        assert answer["generation"] == 2
        assert answer["restart"] == []
        assert answer["changed"] == [
            "daemon.slots",
            "queue.jobs_per_client",
            "rubric.wall_clock",
            "rubric.cpu",
        ]
        limits = hello(daemon)["limits"]
        assert limits["slots"] == 3
        assert limits["jobs_per_client"] == 60
        assert limits["defaults"]["rubric"] == {
            **before["limits"]["defaults"]["rubric"],
            "wall_clock": 40,
            "cpu": 299,
        }
        # Limits are part of the digest.
        assert hello(daemon)["isolation"]["digest"] == answer["digest"]
        assert answer["digest"] != before["isolation"]["digest"]
        status = client.status()
        assert status["isolation"]["digest"] == answer["digest"]
        assert status["configuration"]["generation"] == 2
        assert status["configuration"]["slots"] == len(status["slots"]) == 3
        assert status["configuration"]["age_ms"] <= status["uptime_ms"]
        assert "reloaded: generation 2, 3 slots" in daemon.log()


def test_nothing_has_changed(start):
    daemon = start()
    with daemon.connect() as client:
        jails = daemon.jails()
        answer = reloaded(client)
        assert (answer["changed"], answer["restart"]) == ([], [])
        assert answer["digest"] == client.hello["isolation"]["digest"]
        assert daemon.jails() == jails
        assert reloaded(client)["generation"] == 3


def test_what_takes_a_restart(start, configuration):
    """Each reload names these settings and leaves them unchanged."""
    daemon = start({"daemon.socket_mode": "0660"})
    with daemon.connect() as client:
        configuration.write({"daemon.slots": 1, "daemon.socket_mode": "0600"})
        answer = reloaded(client)
        assert (answer["changed"], answer["restart"]) == (["daemon.slots"], ["daemon.socket_mode"])
        assert "warning: these need a restart: daemon.socket_mode\n" in daemon.log()
        answer = reloaded(client)
        assert (answer["changed"], answer["restart"]) == ([], ["daemon.socket_mode"])
        assert daemon.socket.stat().st_mode & 0o777 == 0o660
        configuration.write({"daemon.slots": 1, "daemon.socket_mode": "0660"})
        assert reloaded(client)["restart"] == []


def test_the_command_line_stays_in_force(start, configuration):
    """The daemon applies it after the file, as at the start."""
    daemon = start({}, "daemon.slots=2", "rubric.wall_clock=9s")
    with daemon.connect() as client:
        configuration.write({"daemon.slots": 3, "rubric.wall_clock": "8s", "rubric.cpu": "7s"})
        assert reloaded(client)["changed"] == ["rubric.cpu"]
        assert hello(daemon)["limits"]["defaults"]["rubric"]["wall_clock"] == 9


def test_drop_ins(start, configuration):
    daemon = start({"rubric.cpu": "9s"})
    with daemon.connect() as client:
        configuration.drop_in("10-cpu.conf", "[rubric]\ncpu = 8s\n")
        assert reloaded(client)["changed"] == ["rubric.cpu"]
        assert hello(daemon)["limits"]["defaults"]["rubric"]["cpu"] == 8


def test_sighup(start, configuration):
    daemon = start()
    with daemon.connect() as client:
        configuration.write({"daemon.slots": 3})
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reloaded: generation 2" in daemon.log(), "it is reloaded")
        assert "changed: daemon.slots\n" in daemon.log()
        assert client.status()["configuration"]["slots"] == 3
        configuration.write({"daemon.slots": "many"})
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "not reloaded" in daemon.log(), "it is refused")
        assert client.status()["configuration"]["slots"] == 3
        assert client.run(TRUE)["score"]["passed"] is True


# Refused configurations


def replace_file(configuration, text):
    configuration.path.write_text(text)


# The content of the file, and the lines of the error; {file} stands for the file's path.
WRONG = {
    "syntax": ("[rubric]\ncpu\n", ["{file}:2: expected NAME = VALUE"]),
    "unknown key": (
        "[rubric]\ncpus = 3\n",
        ["{file}:2: [rubric] cpus: unknown key, did you mean cpu?"],
    ),
    "two values": (
        "[daemon]\nslots = 3\n[queue]\njobs = lots\nbytes = 0\n",
        [
            "{file}:4: [queue] jobs: expected a whole number from 1 to 1000000, got 'lots'",
            "{file}:5: [queue] bytes: expected a size from 1K to 1T (bytes, or with K, M, G or "
            "T behind the number), got '0'",
        ],
    ),
    "two keys": (
        "[daemon]\nslots = 3\n[rubric]\nwall_clock = 10min\n",
        [
            "{file}:4: [rubric] wall_clock: 10min is more than [rubric] wall_clock_ceiling, which "
            "is 5min by default"
        ],
    ),
    "an interpreter that is not there": (
        "[daemon]\nslots = 3\n[rubric]\ninterpreter = /usr/bin/no-such\n",
        ["[rubric] interpreter: cannot run /usr/bin/no-such: No such file or directory"],
    ),
    "an interpreter that fails": (
        "[daemon]\nslots = 3\n[rubric]\ninterpreter = /bin/false\n",
        ["[rubric] interpreter: /bin/false -V failed: "],
    ),
    "an interpreter that jobs do not see": (
        "[daemon]\nslots = 3\n[rubric]\ninterpreter = {shell}\n",
        [
            "[rubric] interpreter: jobs do not see {shell}; name it, or the directory of its "
            "installation, in [isolation] readable"
        ],
    ),
    "a layer that is required and left out": (
        "[daemon]\nslots = 3\n[isolation]\nwithout = seccomp\nrequire = env seccomp\n",
        [
            "[isolation] require: the layer seccomp cannot be had: switched off by [isolation] "
            "without; take it out of the list to do without"
        ],
    ),
    "a layer that cannot be left out": (
        "[daemon]\nslots = 3\n[isolation]\nwithout = env\n",
        ["[isolation] without: env: it is always there"],
    ),
}


@pytest.mark.parametrize("text, problems", WRONG.values(), ids=WRONG)
def test_a_mistake_changes_nothing(start, configuration, tmp_path, text, problems):
    """The error and the log name the file and line of the mistake, and nothing changes."""
    shell = tmp_path / "shell"
    open_up(tmp_path)
    names = {"file": configuration.path, "shell": shell}
    shell.write_text("#!/bin/sh\necho shell 1\n")
    shell.chmod(0o755)
    daemon = start()
    with daemon.connect() as client:
        before, jails = hello(daemon), daemon.jails()
        replace_file(configuration, text.format(**names))
        problems = [problem.format(**names) for problem in problems]
        assert refused(client) == problems
        for problem in problems:
            line = f"rubricd: warning: not reloaded, nothing has changed: {problem}"
            assert line in daemon.log().split("\n")
        assert hello(daemon) == before
        assert daemon.jails() == jails
        assert client.status()["configuration"]["generation"] == 1
        assert client.run(TRUE)["score"]["passed"] is True
        assert not any(daemon.work.glob("probe*"))
        # The daemon accepts the corrected file.
        configuration.write({"daemon.slots": 3})
        assert reloaded(client)["generation"] == 2


def test_a_mistake_in_a_drop_in(start, configuration):
    daemon = start()
    with daemon.connect() as client:
        configuration.drop_in("10-good.conf", "[rubric]\ncpu = 8s\n")
        configuration.drop_in("20-bad.conf", "[rubric]\ncpu = eight\n")
        (problem,) = refused(client)
        assert problem.startswith(f"{configuration.drop_ins}/20-bad.conf:2: [rubric] cpu: expected")
        assert hello(daemon)["limits"]["defaults"]["rubric"]["cpu"] == 300


def test_a_file_that_is_gone(start, configuration):
    daemon = start()
    configuration.path.unlink()
    with daemon.connect() as client:
        assert refused(client) == [
            f"{configuration.path}: cannot be opened: No such file or directory"
        ]


def test_a_hundred_mistakes(start, configuration):
    """The error lists the first ones only, so its length is bounded."""
    daemon = start()
    replace_file(configuration, "[rubric]\n" + "wrong\n" * 100)
    with daemon.connect() as client:
        lines = refused(client)
        assert len(lines) == 21
        assert lines[0].startswith(f"{configuration.path}:2: ")
        assert lines[-1] == "and 80 more"


def test_slots_that_cannot_be_had(start, configuration, tmp_path):
    """The daemon may not open enough files for the slots. It keeps the old ones and their confinement, and
    they work."""
    place = tmp_path / "place"
    place.mkdir()
    open_up(place)
    few = Shape()
    few.prefix = ["/usr/bin/prlimit", "--nofile=100"]
    daemon = start({"daemon.slots": 2}, shape=few)
    with daemon.connect() as client:
        configuration.write(
            {"daemon.slots": 500, "rubric.cpu": "3s", "isolation.readable": place}
        )
        (problem,) = refused(client)
        assert problem.startswith("[daemon] slots: 500 slots take 4532 open files, and the limit of the process is 100")
        assert hello(daemon)["limits"]["defaults"]["rubric"]["cpu"] == 300
        wait_until(lambda: slot_numbers(client) == [0, 1], "two slots are left")
        wait_until(lambda: len(daemon.descendants()) == 2, "no other jail is left")
        wait_until(
            lambda: all(s["state"] == "idle" for s in client.status()["slots"]), "both are ready"
        )
        jails = daemon.jails()
        result = client.run(TRUE)
        assert result["score"]["passed"] is True
        assert result["isolation"] == client.hello["isolation"]
        assert daemon.jails() == jails


def test_it_takes_an_administrator(start, configuration):
    if os.geteuid() != 0:
        pytest.skip("only root can connect as another user")
    daemon = start({"daemon.socket_mode": "0666"})
    open_up(daemon.directory)
    configuration.write({"daemon.slots": 3, "daemon.socket_mode": "0666"})
    with connect_as(daemon) as stranger:
        stranger.send({"type": "reload"})
        assert stranger.recv() == error("denied", "reloading the daemon takes an administrator")
        assert stranger.status()["configuration"] | {"age_ms": 0} == {
            "generation": 1,
            "age_ms": 0,
            "slots": 2,
        }
    with connect_as(daemon, uid=pwd.getpwnam(ACCOUNT).pw_uid) as own:
        assert reloaded(own)["changed"] == ["daemon.slots"]


def test_administrators_may_change(start, configuration):
    if os.geteuid() != 0:
        pytest.skip("only root can connect as another user")
    group = "nogroup"
    daemon = start({"daemon.socket_mode": "0666"})
    open_up(daemon.directory)
    with daemon.connect() as root, connect_as(daemon, gid=65534) as member:
        assert reload(member)["code"] == "denied"
        configuration.write(
            {"daemon.slots": 2, "daemon.socket_mode": "0666", "daemon.admin_groups": group}
        )
        assert reloaded(root)["changed"] == ["daemon.admin_groups"]
        assert reloaded(member)["changed"] == []
        with connect_as(daemon, uid=STRANGER) as stranger:
            assert reload(stranger)["code"] == "denied"


def test_a_daemon_that_drains(start, bench, gate):
    daemon = start()
    with daemon.connect() as client, daemon.connect() as admin:
        hold_slots(client, bench.job(gate.python + PASSING), count=1)
        admin.send({"type": "drain"})
        assert reload(admin) == error("draining", "the daemon stops", retriable=True)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "not reloaded" in daemon.log(), "it is refused")
        gate.open()
        assert client.recv_answer("held-0")["score"]["passed"] is True
        assert client.recv()["type"] == "bye"
    assert daemon.process.wait(DEADLINE) == 0


def test_a_private_daemon(tmp_path):
    """It keeps the configuration of the command that started it."""
    open_up(tmp_path)
    with private(tmp_path) as (process, client, _):
        process.send_signal(signal.SIGHUP)
        assert refused(client) == [
            "a private daemon keeps the configuration that it was started with"
        ]
        assert client.run(TRUE)["score"]["passed"] is True


# What the new settings apply to


def test_jobs_end_under_what_was_in_force_when_they_were_submitted(
    start, configuration, bench, gate
):
    """One job runs, one is queued and one waits for room in the queue during the reload. A fourth one is
    submitted after it."""
    daemon = start(
        {
            "daemon.slots": 1,
            "queue.jobs": 1,
            "queue.jobs_per_client": 1,
            "isolation.env_allow": "A=1",
        }
    )
    with daemon.connect() as client, daemon.connect() as other:
        before = client.hello["isolation"]["digest"]
        hold_slots(client, bench.job(gate.python + PASSING), count=1)
        client.submit("queued", SHOW_ENVIRONMENT)
        client.submit("waits", SHOW_ENVIRONMENT)
        wait_until(lambda: client_of(newest(other) - 1, other)["paused"], "one waits for room")
        configuration.write({"daemon.slots": 1, "isolation.env_allow": "A=2"})
        after = reloaded(other)["digest"]
        assert after != before
        client.submit("new", SHOW_ENVIRONMENT)
        gate.open()
        held, *shown = [client.recv_answer() for _ in range(4)]
        assert held["isolation"]["digest"] == before
        assert [(s["id"], s["isolation"]["digest"]) for s in shown] == [
            ("queued", before),
            ("waits", before),
            ("new", after),
        ]
        values = [line for s in shown for line in s["stdout"].split() if line.startswith("A=")]
        assert values == ["A=1", "A=1", "A=2"]


def test_jobs_are_confined_as_when_they_were_submitted(start, configuration, bench, gate, tmp_path):
    """A job runs in a jail of the old configuration although the slot's next jail has the new one."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "file").write_text("seen\n")
    open_up(place)
    look = {"kind": "sandbox", "argv": ["/bin/cat", f"{place}/file"]}
    daemon = start({"daemon.slots": 1})
    with daemon.connect() as client, daemon.connect() as other:
        before = client.hello["isolation"]["digest"]
        hold_slots(client, bench.job(gate.python + PASSING), count=1)
        (jail,) = daemon.jails()
        client.submit("old", look)
        client.ping()
        configuration.write({"daemon.slots": 1, "isolation.readable": place})
        after = reloaded(other)["digest"]
        client.submit("new", look)
        client.submit("newer", look)
        gate.open()
        held, old, new, newer = [client.recv_answer() for _ in range(4)]
        assert held["isolation"]["digest"] == old["isolation"]["digest"] == before
        assert old["score"]["passed"] is False
        for result in (new, newer):
            assert result["stdout"] == "seen\n"
            assert result["isolation"]["digest"] == after
        assert daemon.jails() != {jail}


def test_idle_jails_are_replaced_where_the_confinement_changes(start, configuration, tmp_path):
    """No job has to wait for a new jail, and a jail that cannot be confined fails at once."""
    place = tmp_path / "place"
    place.mkdir()
    open_up(place)
    daemon = start()
    with daemon.connect() as client:
        wait_until(
            lambda: all(s["state"] == "idle" for s in client.status()["slots"]), "all are ready"
        )
        before = daemon.jails()
        configuration.write({"daemon.slots": 2, "isolation.env_allow": "A=1"})
        reloaded(client)
        # A warm interpreter already has its environment, so its jail is replaced.
        assert client.status()["isolation"]["warm"] or daemon.jails() == before
        configuration.write({"daemon.slots": 2, "isolation.readable": place})
        reloaded(client)
        wait_until(
            lambda: (jails := daemon.jails()) and None not in jails and not jails & before,
            "both have another jail",
        )
        assert client.run(TRUE)["score"]["passed"] is True


def test_a_layer_that_is_left_out(start, configuration):
    """The answer, status and replies agree that it is missing, and it really is."""
    if user_namespaces_are_refused():
        pytest.skip(f"user namespaces are refused here: {user_namespaces_are_refused()}")
    daemon = start()
    with daemon.connect() as client:
        assert "pid_namespace" in client.hello["isolation"]["layers"]
        configuration.write({"daemon.slots": 2, "isolation.without": "pid_namespace"})
        answer = reloaded(client)
        result = client.run({"kind": "sandbox", "argv": ["/usr/bin/readlink", "/proc/self"]})
        assert "pid_namespace" not in result["isolation"]["layers"]
        assert result["isolation"]["digest"] == answer["digest"]
        missing = {m["layer"]: m["reason"] for m in client.status()["isolation"]["missing"]}
        assert missing["pid_namespace"] == "switched off by [isolation] without"
        configuration.write({"daemon.slots": 2})
        reloaded(client)
        layers = client.run(TRUE)["isolation"]["layers"]
        assert layers == client.hello["isolation"]["layers"]


def test_the_deadline_of_a_job_that_runs(start, configuration, bench):
    """It stays the same, however long later jobs may take."""
    daemon = start({"rubric.wall_clock": "1s", "rubric.cpu": "1s"})
    with daemon.connect() as client:
        client.submit("a", bench.job("import time; time.sleep(1000)"))
        assert client.recv()["type"] == "started"
        configuration.write({"daemon.slots": 2, "rubric.wall_clock": "300s"})
        reloaded(client)
        (remaining,) = [s["job"]["remaining_ms"] for s in client.status()["slots"] if s["job"]]
        assert remaining <= 1000
        assert client.recv_answer("a")["outcome"]["limit_exceeded"] == "wall_clock"


def test_what_a_request_may_ask_for(start, configuration):
    """The new ceilings apply to the next request on any connection."""
    daemon = start()
    many = {**TRUE, "limits": {"max_processes": 200}}
    with daemon.connect() as client:
        assert client.run(many)["score"]["passed"] is True
        configuration.write({"daemon.slots": 2, "ceilings.max_processes": 100})
        reloaded(client)
        answer = client.run(many)
        assert (answer["code"], answer["message"]) == (
            "bad_request",
            "job.limits.max_processes: above the ceiling of 100",
        )


def test_the_largest_frame(start, configuration):
    """A connection keeps the bound in its hello."""
    daemon = start({"protocol.max_frame": "1M"})
    message = b'{"type": "ping"}' + b" " * 5000
    with daemon.connect() as early:
        configuration.write({"daemon.slots": 2, "protocol.max_frame": "4K"})
        assert reloaded(early)["changed"] == ["protocol.max_frame"]
        with daemon.connect() as late:
            assert late.hello["limits"]["max_frame"] == 4096
            late.send_frame(message)
            assert late.recv()["code"] == "frame_too_large"
        early.send_frame(message)
        assert early.recv() == {"type": "pong"}


def test_a_larger_queue(start, configuration, bench, gate):
    """Connections that wait for room resume at once."""
    daemon = start({"queue.jobs": 1, "queue.jobs_per_client": 1})
    with daemon.connect() as client, daemon.connect() as other:
        hold_slots(client, bench.job(gate.python + PASSING))
        submit_all(client, {f"{n}": TRUE for n in range(5)})
        me = newest(other) - 1
        wait_until(lambda: client_of(me, other)["paused"], "it waits for room")
        configuration.write({"daemon.slots": 2, "queue.jobs": 3, "queue.jobs_per_client": 3})
        reloaded(other)
        wait_until(lambda: client_of(me, other)["queued"] == 3, "three are queued")
        assert other.status()["queue"]["jobs_max"] == 3
        gate.open(2)
        assert len({m["id"] for m in answers(client, 7)}) == 7


def test_fewer_clients(start, configuration):
    """Existing connections stay."""
    daemon = start()
    with daemon.connect() as first, daemon.connect() as second:
        configuration.write({"daemon.slots": 2, "daemon.max_clients": 1})
        reloaded(first)
        with daemon.connect(hello=False) as third:
            assert third.recv()["reason"] == "too_many_clients"
        second.ping()


def test_the_grace_period(start, configuration, bench):
    daemon = start({"daemon.grace_period": "1h"})
    with daemon.connect() as client:
        client.submit("a", bench.job("import time; time.sleep(1000)"))
        assert client.recv()["type"] == "started"
        configuration.write({"daemon.slots": 2, "daemon.grace_period": "0"})
        reloaded(client)
        client.send({"type": "drain"})
        assert client.recv_answer("a")["code"] == "draining"
    assert daemon.process.wait(DEADLINE) == 0


def test_the_log_level(start, configuration):
    daemon = start({"daemon.log_level": "error"})
    with daemon.connect() as client:
        client.run(TRUE)
        assert "job 1" not in daemon.log()
        configuration.write({"daemon.slots": 2, "daemon.log_level": "info"})
        reloaded(client)
        client.run(TRUE)
        wait_until(lambda: "job 2" in daemon.log(), "the job is logged")


# Slots come and go


def test_growing_under_load(start, configuration, bench, gate):
    """Queued jobs run on the new slots."""
    daemon = start({"daemon.slots": 1})
    with daemon.connect() as client, daemon.connect() as other:
        submit_all(client, {f"{n}": bench.job(gate.python + PASSING) for n in range(5)})
        assert client.recv()["type"] == "started"
        configuration.write({"daemon.slots": 4})
        reloaded(other)
        for _ in range(3):
            assert client.recv()["type"] == "started"
        assert len(running(other)) == 4
        assert slot_numbers(other) == [0, 1, 2, 3]
        gate.open(5)
        assert sorted(m["id"] for m in answers(client, 5)) == list("01234")


def test_shrinking_under_load(start, configuration, bench, gate):
    """Retiring slots finish their job, start no other, and go with their jails and directories."""
    daemon = start({"daemon.slots": 4})
    with daemon.connect() as client, daemon.connect() as other:
        hold_slots(client, bench.job(gate.python + PASSING), count=4)
        submit_all(client, {f"{n}": bench.job(gate.python + PASSING) for n in range(2)})
        client.ping()
        configuration.write({"daemon.slots": 1})
        assert reloaded(other)["changed"] == ["daemon.slots"]
        assert len(running(other)) == 4
        slots = other.status()["slots"]
        assert sorted(s["retiring"] for s in slots) == [False, True, True, True]
        done = []
        while len(done) < 6:
            gate.open()
            done.append(client.recv_answer())
            if len(done) <= 3:
                # Only the remaining slot takes another job.
                left = [s for s in other.status()["slots"] if s["job"]]
                assert sum(not s["retiring"] for s in left) <= 1
        assert all(m["score"]["passed"] for m in done)
        assert len({m["id"] for m in done}) == 6
        wait_until(lambda: len(daemon.descendants()) == 1, "one jail is left")
        assert len(slot_numbers(other)) == 1
        wait_until(lambda: len(list(daemon.work.iterdir())) <= 1, "their directories are removed")


def test_idle_slots_go_first(start, configuration, bench, gate):
    """Otherwise more jobs would run at once than the configuration allows."""
    daemon = start({"daemon.slots": 4})
    with daemon.connect() as client, daemon.connect() as other:
        hold_slots(client, bench.job(gate.python + PASSING), count=4)
        jobs = {s["slot"]: s["job"]["id"] for s in other.status()["slots"]}
        for slot in (0, 3):
            client.send({"type": "cancel", "id": jobs[slot]})
            assert client.recv_answer(jobs[slot])["code"] == "cancelled"
        configuration.write({"daemon.slots": 2})
        reloaded(other)
        assert slot_numbers(other) == [1, 2]
        assert not any(s["retiring"] for s in other.status()["slots"])
        # New slots reuse the free numbers.
        configuration.write({"daemon.slots": 4})
        reloaded(other)
        wait_until(
            lambda: all(s["state"] in ("idle", "busy") for s in other.status()["slots"]),
            "all four are ready",
        )
        assert len(set(slot_numbers(other))) == 4
        gate.open(2)
        assert all(m["score"]["passed"] for m in answers(client, 2))


def test_shrinking_with_a_long_job_and_growing_again(start, configuration, bench, gate):
    """A retiring slot that is needed again stays, with its jail."""
    daemon = start({"daemon.slots": 2})
    with daemon.connect() as client, daemon.connect() as other:
        hold_slots(client, bench.job(gate.python + PASSING), count=2)
        jails = daemon.jails()
        configuration.write({"daemon.slots": 1})
        reloaded(other)
        assert [s["retiring"] for s in other.status()["slots"]] == [False, True]
        configuration.write({"daemon.slots": 2})
        reloaded(other)
        assert not any(s["retiring"] for s in other.status()["slots"])
        gate.open(2)
        assert all(m["score"]["passed"] for m in answers(client, 2))
        assert client.run(TRUE)["score"]["passed"] is True
        assert daemon.jails() == jails


def test_a_surplus_slots_job_is_cancelled_or_its_jail_dies(start, configuration, bench, gate):
    """A retiring slot goes however its job ends."""
    daemon = start({"daemon.slots": 3})
    with daemon.connect() as client, daemon.connect() as other:
        hold_slots(client, bench.job(gate.python + PASSING), count=3)
        configuration.write({"daemon.slots": 1})
        reloaded(other)
        leaving = [s for s in other.status()["slots"] if s["retiring"]]
        client.send({"type": "cancel", "id": leaving[0]["job"]["id"]})
        assert client.recv_answer(leaving[0]["job"]["id"])["code"] == "cancelled"
        os.kill(leaving[1]["jail_pid"], signal.SIGKILL)
        assert client.recv_answer(leaving[1]["job"]["id"])["code"] == "sandbox_failed"
        wait_until(lambda: len(slot_numbers(other)) == 1, "one slot is left")
        gate.open()
        assert client.recv_answer()["score"]["passed"] is True
        wait_until(lambda: len(daemon.descendants()) == 1, "one jail is left")


def test_stopping_while_slots_leave(start, configuration, bench, gate):
    daemon = start({"daemon.slots": 4})
    with daemon.connect() as client, daemon.connect() as other:
        hold_slots(client, bench.job(gate.python + PASSING), count=2)
        family = daemon.descendants()
        configuration.write({"daemon.slots": 1})
        reloaded(other)
        other.send({"type": "drain"})
        gate.open(2)
        assert all(m["score"]["passed"] for m in answers(client, 2))
        assert client.recv()["type"] == "bye"
    assert daemon.process.wait(DEADLINE) == 0
    assert not any(os.path.exists(f"/proc/{pid}") for pid in family)
    assert list(daemon.work.iterdir()) == []


class Load(threading.Thread):
    """Submits jobs without a pause until stopped; then notes that no more will come."""

    def __init__(self, client, job):
        super().__init__()
        self.client, self.job = client, job
        self.submitted = 0
        self.enough = threading.Event()

    def run(self):
        while not self.enough.is_set():
            self.client.submit(f"{self.submitted}", self.job, check=False)
            self.submitted += 1
        self.client.sock.shutdown(1)


@pytest.mark.long  # a hundred of them
def test_a_hundred_reloads_under_load(start, configuration, tmp_path):
    """The number of slots and the confinement change, and some configurations have a mistake. Each job
    gets exactly one answer, with a digest that was in force."""
    place = tmp_path / "place"
    place.mkdir()
    open_up(place)
    daemon = start({"daemon.slots": 2})
    with daemon.connect() as client, daemon.connect() as admin:
        digests = {client.hello["isolation"]["digest"]}
        load = Load(client, TRUE)
        load.start()
        seen = []

        def collect():
            with contextlib.suppress(Exception):
                while True:
                    seen.append(client.recv_answer())

        reader = threading.Thread(target=collect)
        reader.start()
        good = 0
        for n in range(100):
            settings = {"daemon.slots": (3, 1, 4, 2)[n % 4], "rubric.cpu": f"{1 + n % 7}s"}
            if n % 5 == 0:
                settings["isolation.readable"] = place
            if n % 10 == 9:
                settings["queue.jobs"] = "wrong"
                configuration.write(settings)
                assert len(refused(admin)) == 1
            else:
                configuration.write(settings)
                digests.add(reloaded(admin)["digest"])
                good += 1
            answered = len(seen)
            wait_until(lambda: len(seen) > answered, "jobs are answered meanwhile")
        assert admin.status()["configuration"]["generation"] == 1 + good
        load.enough.set()
        load.join()
        reader.join(DEADLINE)
        assert not reader.is_alive()
        assert sorted(int(m["id"]) for m in seen) == list(range(load.submitted))
        assert {m["type"] for m in seen} == {"result"}, [m for m in seen if m["type"] == "error"]
        assert all(m["score"]["passed"] for m in seen)
        assert {m["isolation"]["digest"] for m in seen} <= digests
        assert len({m["isolation"]["digest"] for m in seen}) > 2
        size = admin.status()["configuration"]["slots"]
        wait_until(lambda: len(daemon.descendants()) == size, "as many jails as slots are left")


# The client


def rubricctl(daemon, *arguments):
    return subprocess.run(
        [RUBRICCTL, "--socket", daemon.socket, "reload", *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def test_rubricctl_reload(start, configuration):
    daemon = start({"daemon.socket_mode": "0660"})
    configuration.write({"daemon.slots": 3, "rubric.cpu": "3s", "daemon.socket_mode": "0600"})
    done = rubricctl(daemon)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "reloaded: generation 2 of the configuration is in force\n"
        "changed: daemon.slots rubric.cpu\n"
        "only with a restart: daemon.socket_mode\n"
    )
    done = rubricctl(daemon, "--json")
    assert json.loads(done.stdout)["restart"] == ["daemon.socket_mode"]
    configuration.write({"daemon.slots": 3, "rubric.cpu": "3s"})
    assert "changed: nothing\n" in rubricctl(daemon).stdout


def test_rubricctl_reload_is_refused(start, configuration):
    daemon = start()
    configuration.path.write_text("[daemon]\nslots = 0\nslot = 1\n")
    done = rubricctl(daemon)
    assert (done.returncode, done.stdout) == (4, "")
    first, second, third = done.stderr.splitlines()
    assert first == "rubricctl: not reloaded, nothing has changed: bad_request"
    assert second.startswith(f"rubricctl: {configuration.path}:2: [daemon] slots: expected")
    where = f"rubricctl: {configuration.path}:3"
    assert third == f"{where}: [daemon] slot: unknown key, did you mean slots?"


def test_rubricctl_reload_without_a_daemon(tmp_path):
    done = subprocess.run(
        [RUBRICCTL, "--socket", tmp_path / "none", "reload"], capture_output=True, check=False
    )
    assert done.returncode == 3
    done = subprocess.run([RUBRICCTL, "reload", "--embedded"], capture_output=True, check=False)
    assert done.returncode == 2
