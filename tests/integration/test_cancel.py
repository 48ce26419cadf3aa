# SPDX-License-Identifier: MIT
"""Cancelling one's own jobs and those of others, and who may do so."""

import grp
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import COLD, DEADLINE, PASSING, RUBRICCTL, Bench, Client, Daemon, Shape, started_by_account, wait_until
from test_queue import answers, assert_all_passed, hold_slots, running, submit_all

pytestmark = pytest.mark.cold

NOBODY = 65534  # the account of root's daemons here
STRANGER = 65532

SLEEPING = "import time; time.sleep(1000)"
# Starts two child processes, one of them in a session of its own.
FAMILY = """
import subprocess, time
subprocess.Popen(["/bin/sleep", "1000"])
subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
time.sleep(1000)
"""


def error(code, message, **fields):
    return {
        "type": "error",
        **fields,
        "code": code,
        "message": message,
        "retriable": code == "draining",
    }


NO_SUCH_ID = "id: this connection has no such unfinished job"


def cancel(client, **fields):
    client.send({"type": "cancel", **fields})


def test_a_queued_job(client, bench, gate):
    """Cancelling removes it from the queue at once; jobs before and behind it stay."""
    hold_slots(client, bench.job(gate.python + PASSING))
    quick = bench.job(PASSING)
    submit_all(client, {id: quick for id in ("first", "second", "third")})
    assert client.status()["queue"]["jobs"] == 3
    cancel(client, id="second")
    assert client.recv() == error("cancelled", "cancelled while queued", id="second", job_no=4)
    assert client.status()["queue"]["jobs"] == 2
    gate.open(2)
    assert_all_passed(answers(client, 4), ["held-0", "held-1", "first", "third"])
    assert client.status()["counters"]["errors"] == {"cancelled": 1}


def test_every_job_of_a_full_queue(start_daemon, bench, gate):
    """Each cancelled job makes room in the queue for a submit that waits outside."""
    daemon = start_daemon("queue.jobs=4", "queue.jobs_per_client=4")
    with daemon.connect() as holder, daemon.connect() as a, daemon.connect() as b:
        hold_slots(holder, bench.job(gate.python + PASSING))
        quick = bench.job(PASSING)
        submit_all(a, {f"a-{n}": quick for n in range(4)})
        a.ping()
        b.submit("b-0", quick)
        wait_until(lambda: holder.status()["clients"][-1]["paused"], "client b waits")
        cancel(a, id="a-2")
        assert a.recv() == error("cancelled", "cancelled while queued", id="a-2", job_no=5)
        b.ping()
        for n, number in ((0, 3), (1, 4), (3, 6)):
            cancel(a, id=f"a-{n}")
            message = a.recv()
            assert message == error(
                "cancelled", "cancelled while queued", id=f"a-{n}", job_no=number
            )
        assert holder.status()["queue"]["jobs"] == 1
        gate.open(2)
        assert_all_passed(answers(b, 1), ["b-0"])


def test_a_running_job(daemon, client, bench):
    """The daemon kills it and all its descendants within a second, and its slot is free again."""
    jails = daemon.jails()
    client.submit("a", bench.job(FAMILY))
    assert client.recv()["type"] == "started"
    wait_until(lambda: len(daemon.descendants() - jails) == 3, "the whole family runs")
    cancel(client, id="a")
    assert client.recv() == error("cancelled", "cancelled while running", id="a", job_no=1)
    wait_until(lambda: daemon.descendants() == jails, "its processes are gone", deadline=3)

    def is_idle(slot):
        return slot["state"] == "idle" and slot["job"] is None

    wait_until(lambda: all(map(is_idle, client.status()["slots"])), "both slots are free")
    assert client.run(bench.job(PASSING), "a")["score"]["passed"] is True


def test_asking_twice_gets_one_answer(client, bench):
    """The second request arrives while the daemon is still killing the job: its jail says later that it is dead."""
    client.submit("a", bench.job(SLEEPING))
    assert client.recv()["type"] == "started"
    (jail,) = (slot["jail_pid"] for slot in client.status()["slots"] if slot["state"] == "busy")
    os.kill(jail, signal.SIGSTOP)
    message = b'{"type": "cancel", "id": "a"}'
    client.send_bytes((len(message).to_bytes(4, "big") + message) * 3)
    client.ping()  # it has read them
    os.kill(jail, signal.SIGCONT)
    assert client.recv() == error("cancelled", "cancelled while running", id="a", job_no=1)
    client.ping()


def test_at_every_moment_of_a_jobs_life(daemon, client, bench):
    """Whenever the cancel comes, the job gets exactly one answer, and the daemon serves the next job."""
    sleeping = bench.job(SLEEPING)
    with daemon.connect() as other:
        for moment in range(60):
            client.submit(f"{moment}", sleeping)
            for _ in range(moment % 20):
                other.ping()
            cancel(client, id=f"{moment}")
            answer = client.recv_answer(f"{moment}")
            assert answer["code"] == "cancelled"
            assert answer["message"] in ("cancelled while queued", "cancelled while running")
            client.ping()
    assert client.run(bench.job(PASSING))["score"]["passed"] is True


def test_what_does_not_run_cannot_be_cancelled(daemon, client, bench):
    """The id was never used, is already answered, or belongs to another connection; likewise numbers."""
    cancel(client, id="never")
    assert client.recv() == error("bad_request", NO_SUCH_ID, id="never")
    done = client.run(bench.job(PASSING), "done")
    cancel(client, id="done")
    assert client.recv() == error("bad_request", NO_SUCH_ID, id="done")
    for number in (done["job_no"], 99, 2**63 - 1):
        cancel(client, job_no=number)
        assert client.recv() == error(
            "bad_request", f"job_no: there is no unfinished job {number}", job_no=number
        )
    with daemon.connect() as other:
        other.submit("others", bench.job(SLEEPING))
        assert other.recv()["type"] == "started"
        cancel(client, id="others")
        assert client.recv() == error("bad_request", NO_SUCH_ID, id="others")
        other.ping()


def test_ones_own_by_number(client, bench, gate):
    """The requester gets the job's own answer and no separate one."""
    hold_slots(client, bench.job(gate.python + PASSING))
    client.submit("queued", bench.job(PASSING))
    cancel(client, job_no=3)
    assert client.recv() == error("cancelled", "cancelled while queued", id="queued", job_no=3)
    cancel(client, job_no=1)
    message = client.recv()
    assert message == error("cancelled", "cancelled while running", id=message["id"], job_no=1)
    client.ping()


def assert_cancels(requester, owner, id, number):
    """Fails unless REQUESTER can cancel OWNER's running job NUMBER and both get an answer."""
    cancel(requester, job_no=number)
    assert requester.recv() == error("cancelled", f"job {number} is cancelled", job_no=number)
    assert owner.recv() == error("cancelled", "cancelled while running", id=id, job_no=number)


# Other accounts


# Connects as another user and hands the socket over: the daemon goes by the account that connected.
CONNECT = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
socket.send_fds(socket.socket(fileno=int(sys.argv[2])), [b"x"], [client.fileno()])
"""


def connect_as(daemon, uid=STRANGER, gid=STRANGER, groups=""):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        subprocess.run(
            [
                "setpriv",
                f"--reuid={uid}",
                f"--regid={gid}",
                f"--groups={groups}" if groups else "--clear-groups",
                *("/usr/bin/python3", "-c", CONNECT, str(daemon.socket), str(theirs.fileno())),
            ],
            pass_fds=[theirs.fileno()],
            check=True,
        )
        fds = socket.recv_fds(ours, 1, 1)[1]
    return Client(sock=socket.socket(fileno=fds[0]))


@pytest.fixture(name="start_public")
def start_public_daemon():
    """Starts daemons that any user may connect to, each with a bench that everybody can read."""
    if os.geteuid() != 0:
        pytest.skip("connecting as another user takes root")
    if not shutil.which("setpriv"):
        pytest.skip("there is no setpriv")
    running = []

    def start(*settings, **kwargs):
        directory = Path(tempfile.mkdtemp(prefix="rubricd-test-"))
        directory.chmod(0o755)
        (directory / "bench").mkdir()
        running.append(Daemon(directory, *COLD, "daemon.socket_mode=0666", *settings, **kwargs))
        return running[-1], Bench(directory / "bench")

    yield start
    for daemon in running:
        assert daemon.stop() == 0, daemon.log()
        shutil.rmtree(daemon.directory)


def submit_sleeping(client, bench, id):
    client.submit(id, bench.job(SLEEPING))
    started = client.recv()
    assert started["type"] == "started", started
    return started["job_no"]


def test_another_users_job(start_public):
    """The daemon refuses, whether by number or by id, and the job continues."""
    daemon, bench = start_public()
    with daemon.connect() as root, connect_as(daemon) as nobody:
        first = submit_sleeping(root, bench, "running")
        assert submit_sleeping(root, bench, "second") == first + 1
        root.submit("queued", bench.job(SLEEPING))
        root.ping()
        for number in (first, first + 2):
            cancel(nobody, job_no=number)
            assert nobody.recv() == error(
                "denied",
                f"job {number} is another user's; cancelling it takes an administrator",
                job_no=number,
            )
        cancel(nobody, id="running")
        assert nobody.recv() == error("bad_request", NO_SUCH_ID, id="running")
        assert root.status()["queue"]["jobs"] == 1
        assert running(root) == ["running", "second"]


def test_another_connection_of_the_same_user(start_public):
    daemon, bench = start_public()
    with connect_as(daemon) as owner, connect_as(daemon) as requester:
        number = submit_sleeping(owner, bench, "mine")
        assert_cancels(requester, owner, "mine", number)


def test_an_administrator(start_public):
    """Root may cancel any user's job."""
    daemon, bench = start_public()
    with daemon.connect() as root, connect_as(daemon) as nobody:
        assert_cancels(root, nobody, "a", submit_sleeping(nobody, bench, "a"))


@pytest.mark.parametrize(
    "identity",
    [{"gid": NOBODY}, {"groups": str(NOBODY)}],
    ids=["its group", "a supplementary group"],
)
def test_a_member_of_an_admin_group(start_public, identity):
    """The member may cancel root's job and drain the daemon; others with the same user id may not."""
    try:
        group = grp.getgrgid(NOBODY).gr_name
    except KeyError:
        pytest.skip(f"group {NOBODY} has no name")
    daemon, bench = start_public(f"daemon.admin_groups=no-such-group {group}")
    with daemon.connect() as root, connect_as(daemon, **identity) as admin:
        with connect_as(daemon) as nobody:
            number = submit_sleeping(root, bench, "a")
            cancel(nobody, job_no=number)
            assert nobody.recv()["code"] == "denied"
            nobody.send({"type": "drain"})
            assert nobody.recv()["code"] == "denied"
        assert_cancels(admin, root, "a", number)
        admin.send({"type": "drain"})
        for client in (root, admin):
            assert client.recv()["type"] == "bye"
    assert daemon.process.wait(30) == 0


def test_draining_takes_an_administrator(start_public):
    daemon, bench = start_public()
    with connect_as(daemon) as nobody:
        nobody.send({"type": "drain"})
        assert nobody.recv() == error("denied", "draining the daemon takes an administrator")
        assert nobody.status()["state"] == "running"
        assert nobody.run(bench.job(PASSING))["score"]["passed"] is True


@pytest.mark.parametrize("by_account", [False, True], ids=["by root", "by itself"])
def test_the_daemons_own_user(by_account, start_public):
    """That user may drain though no setting lists it, and another user may not, whoever started the
    daemon."""
    daemon, _ = start_public(shape=started_by_account() if by_account else Shape())
    with connect_as(daemon) as stranger:
        stranger.send({"type": "drain"})
        assert stranger.recv()["code"] == "denied"
    with connect_as(daemon, uid=NOBODY) as own:
        own.send({"type": "drain"})
        assert own.recv()["type"] == "bye"
    assert daemon.process.wait(30) == 0


# rubricctl cancel


def run_cancel(daemon, *numbers, options=()):
    return subprocess.run(
        [RUBRICCTL, "--socket", daemon.socket, *options, "cancel", *map(str, numbers)],
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip


def no_such_job(number):
    return f"rubricctl: job {number}: denied: job_no: no such unfinished job\n"


def test_rubricctl_cancels_by_number(daemon, client, bench):
    """It says so of each job, and its status is that of the worst."""
    numbers = [submit_sleeping(client, bench, id) for id in "ab"]
    done = run_cancel(daemon, *numbers)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(f"job {number} cancelled\n" for number in numbers)
    told = sorted((client.recv() for _ in numbers), key=lambda answer: answer["id"])
    assert told == [
        error("cancelled", "cancelled while running", id=id, job_no=number) for id, number in zip("ab", numbers)
    ]

    number = submit_sleeping(client, bench, "c")
    done = run_cancel(daemon, 999, number, options=["--no-fail"])
    assert (done.returncode, done.stdout) == (4, f"job {number} cancelled\n")
    assert done.stderr.startswith("rubricctl: job 999: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("number", ["0", "-1", "", "1x", "a", "99999999999999999999"])
def test_rubricctl_cancels_nothing_if_a_number_is_none(number, daemon, client, bench):
    running = submit_sleeping(client, bench, "a")
    done = run_cancel(daemon, running, "--", number)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f'rubricctl: cancel: "{number}" is not a job number; rubricctl status shows them\n'
    status = client.status()
    assert status["queue"]["jobs"] == 0
    assert [slot["job"]["id"] for slot in status["slots"] if slot["job"]] == ["a"]


def test_rubricctl_cancels_without_a_daemon(tmp_path):
    command = [RUBRICCTL, "--socket", tmp_path / "none", "cancel", "1"]
    assert subprocess.run(command, capture_output=True, timeout=DEADLINE, check=False).returncode == 3
