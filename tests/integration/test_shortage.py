# SPDX-License-Identifier: MIT
"""Where no job can run, the daemon says so: at its start, or in an error that may be retried and that names
what is wrong. It leaves no job waiting."""

import contextlib
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import ALL_LAYERS, AS_ACCOUNT, DEADLINE, NO_USER_NAMESPACES, RUBRICD, Shape, give_to_account, small_disk, wait_until

TRUE = {"kind": "sandbox", "argv": ["/bin/true"]}
SLEEP = {"kind": "sandbox", "argv": ["/bin/sleep", "60"]}


def kill_jails(daemon, client):
    for slot in client.status()["slots"]:
        if slot["jail_pid"]:
            with contextlib.suppress(ProcessLookupError):  # one that could not start may be gone by now
                os.kill(slot["jail_pid"], signal.SIGKILL)


def with_open_files(number):
    shape = Shape()
    shape.prefix = ["/usr/bin/prlimit", f"--nofile={number}"]
    return shape


def troubles(client):
    return [slot.get("trouble") for slot in client.status()["slots"]]


def start_and_fail(tmp_path, *settings, **kwargs):
    """Returns what a daemon says that does not start."""
    give_to_account(tmp_path)
    arguments = [f"--set=daemon.socket={tmp_path}/s", f"--set=daemon.work_dir={tmp_path}/w", *settings]
    done = subprocess.run(
        [RUBRICD, "--config=/dev/null", *arguments],
        capture_output=True, text=True, timeout=DEADLINE, check=False, **kwargs,
    )  # fmt: skip
    assert done.returncode == 69, done
    return done.stderr


@pytest.mark.parametrize("shape", [ALL_LAYERS, NO_USER_NAMESPACES], indirect=True)
def test_no_work_directory(daemon, client):
    """The jobs of a daemon that has lost its work directory are answered; when the directory is back, jobs run."""
    client.submit("running", SLEEP)
    assert client.recv()["type"] == "started"
    away = daemon.work.with_name("away")
    daemon.work.rename(away)
    try:
        kill_jails(daemon, client)
        lost = client.recv_answer("running")
        assert (lost["type"], lost["code"], lost["retriable"]) == ("error", "sandbox_failed", True)
        why = "opening the slot's directory: No such file or directory"
        assert lost["message"] == f"the jail was lost while the job ran, and the next one could not be started: {why}"

        for n in range(3):  # the first one waits until every slot has tried several times
            answer = client.run(TRUE, id=f"queued {n}")
            assert (answer["id"], answer["code"], answer["retriable"]) == (f"queued {n}", "sandbox_failed", True)
            # The second: a slot got the job before it knew that its jail was killed.
            assert answer["message"] in (
                f"no jail can be started in {daemon.work}: {why}",
                f"the job's jail could not be started: {why}",
            )
        assert troubles(client) == [why, why]
        assert f"is given up: {why}" in daemon.log()
    finally:
        away.rename(daemon.work)
    wait_until(lambda: not any(troubles(client)), "each slot has a jail again")
    assert client.run(TRUE)["score"]["passed"] is True


def test_many_wait_while_no_jail_can_be_started(daemon, client):
    away = daemon.work.with_name("away")
    daemon.work.rename(away)
    try:
        kill_jails(daemon, client)
        names = [f"job {n}" for n in range(300)]  # more than a client may have queued
        for name in names:
            client.submit(name, TRUE)
        answers = [client.recv_answer() for _ in names]
        assert sorted(answer["id"] for answer in answers) == sorted(names)
        assert {answer.get("retriable") for answer in answers} == {True}
    finally:
        away.rename(daemon.work)
    wait_until(lambda: not any(troubles(client)), "each slot has a jail again")


def test_too_few_open_files(tmp_path):
    def bound():
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))

    said = start_and_fail(tmp_path, "--set=daemon.slots=2", preexec_fn=bound)
    assert "[daemon] slots: 2 slots take 50 open files, and the limit of the process is 24: raise it" in said


def test_auto_asks_for_no_more_slots_than_can_work(start_daemon, tmp_path):
    """One for each CPU, unless there are too few open files for so many."""
    daemon = start_daemon("daemon.slots=auto", shape=with_open_files(41), slots=None)
    with daemon.connect() as client:
        assert len(client.status()["slots"]) == 1
        assert client.run(TRUE)["score"]["passed"] is True


def test_just_enough_open_files(start_daemon):
    """Each slot can have a job and its client."""
    daemon = start_daemon(shape=with_open_files(68), slots=4)
    clients = [daemon.connect() for _ in range(4)]
    for client in clients:
        client.submit("job", {**SLEEP, "argv": ["/bin/sleep", "1"]})
    for client in clients:
        assert client.recv_answer("job")["score"]["passed"] is True
        client.close()


@pytest.mark.parametrize("path, cover", [("/work/benches", "/work"), ("/dev/shm", "/dev/shm"), ("/bench/x", "/bench")])
def test_readable_that_every_view_hides(daemon, tmp_path, path, cover):
    if not daemon.has_view():
        pytest.skip("jobs have no view of their own here")
    said = start_and_fail(tmp_path, f"--set=isolation.readable=/opt {path}")
    assert f"[isolation] readable: {path}: jobs have a {cover} of their own, which hides it; move it" in said


def test_a_job_that_wants_to_read_what_its_view_hides(start_daemon):
    daemon = start_daemon("sandbox.readable_roots=/dev/shm")
    if not daemon.has_view():
        pytest.skip("jobs have no view of their own here")
    place = f"/dev/shm/rubricd-test-{os.getpid()}"
    os.mkdir(place, 0o755)
    try:
        with daemon.connect() as client:
            answer = client.run({**TRUE, "readable": [place]})
    finally:
        os.rmdir(place)
    assert (answer["type"], answer["code"]) == ("error", "not_permitted"), answer
    assert answer["message"].startswith(f"job.readable[0]: {place}: jobs have a /dev/shm of their own, which hides it")


@pytest.fixture(name="disk")
def disk_below_work(tmp_path):
    """A file system of 1 MiB, below which a daemon may have its work directory."""
    with small_disk(tmp_path / "disk", "1m", "mode=755") as disk:
        yield disk


# Fills the disk.
FILL = "head -c 2000000 /dev/zero >f 2>/dev/null; echo full; "
NO_ROOM = "the host had no room for files while the job ran, whose directory is on a full file system"


@pytest.mark.parametrize("shape", [NO_USER_NAMESPACES], indirect=True)
def test_no_room_on_the_disk_of_the_host(disk, start_daemon):
    """Where jobs have no file system of their own, what a full disk made of them is no verdict: neither of one
    that finds it full, nor of one that was there while it was, nor of one that fills it."""
    give_to_account(disk)
    daemon = start_daemon(f"daemon.work_dir={disk}/work", slots=1)
    daemon.work = disk / "work"
    with daemon.connect() as client:
        assert client.run(TRUE)["score"]["passed"] is True
        for rest in "exit 1", "sleep 2; rm f":
            answer = client.run({"kind": "sandbox", "argv": ["/bin/sh", "-c", FILL + rest]})
            assert answer.get("message") == NO_ROOM, answer
            assert (answer["code"], answer["retriable"]) == ("internal", True)
            assert client.run(TRUE)["score"]["passed"] is True
        with open(disk / "ballast", "wb") as ballast:
            with contextlib.suppress(OSError):
                ballast.write(bytes(1 << 21))
        answer = client.run({"kind": "sandbox", "snippet": "echo >f"})
        assert answer["retriable"] is True and answer["code"] in ("internal", "sandbox_failed"), answer
        (disk / "ballast").unlink()
        assert client.run(TRUE)["score"]["passed"] is True


def soft_memory_limit(pid):
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line.split()[3] for line in lines if line.startswith("Max address space"))


def test_a_jail_keeps_no_limit_of_a_daemon_that_was_short(start_daemon):
    """Somebody lowers the daemon's soft limit and raises it again. A jail that it starts in between has none of
    that: its jobs would lack memory for as long as it lives."""
    daemon = start_daemon("warm.use=no", slots=1)  # the daemon itself is what this jail is forked from
    pid = daemon.process.pid
    account = AS_ACCOUNT if os.geteuid() == 0 else []
    subprocess.run([*account, "/usr/bin/prlimit", f"--pid={pid}", f"--as={1 << 46}:"], check=True)
    assert soft_memory_limit(pid) == str(1 << 46)
    with daemon.connect() as client:
        (before,) = daemon.jails()
        kill_jails(daemon, client)

        def another():
            slot = client.status()["slots"][0]
            return slot["jail_pid"] not in (None, before) and slot["state"] == "idle"

        wait_until(another, "another jail is up")
        assert soft_memory_limit(client.status()["slots"][0]["jail_pid"]) == "unlimited"


def limit_processes(jail, soft):
    """Sets a limit of the process JAIL. The account may do so, root without its rights may not."""
    account = AS_ACCOUNT if os.geteuid() == 0 else []
    subprocess.run([*account, "/usr/bin/prlimit", f"--pid={jail}", f"--nproc={soft}:"], check=True)


def test_no_process_for_the_jail_in_the_jail(start_daemon):
    """A pair of programs takes a second jail. Where none can be started, the job is no verdict, and the slot
    works on."""
    daemon = start_daemon(slots=1)
    if "pid_namespace" not in daemon.layers():
        pytest.skip("without user namespaces the limit counts all processes of the account")
    pair = {"kind": "code_exec", "code": "x = 1", "targets": ["assert x == 1"]}
    with daemon.connect() as client:
        wait_until(lambda: client.status()["slots"][0]["state"] == "idle", "the jail is up")
        jail = client.status()["slots"][0]["jail_pid"]
        limit_processes(jail, "0")
        answer = client.run(pair)
        assert (answer["type"], answer["code"], answer["retriable"]) == ("error", "sandbox_failed", True), answer
        assert answer["message"].endswith("starting the candidate's jail: Resource temporarily unavailable"), answer
        limit_processes(jail, "10000")
        assert client.run(pair)["verdict"] == "pass"
