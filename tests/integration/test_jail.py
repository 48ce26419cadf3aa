# SPDX-License-Identifier: MIT
"""Jails and process trees: no process of a job outlives its answer, and a jail that dies or hangs costs one
job at most. Most of this holds whether or not jails have namespaces of their own."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import time

import conftest
import pytest
from conftest import ALL_LAYERS, BARE, NO_USER_NAMESPACES, PASSING, let_pass, open_up, wait_until
from processes import is_alive

# "Promptly" means within this many seconds. The processes that an answer must not wait for last a minute.
PROMPT = 10.0

LOST = {
    "type": "error",
    "code": "sandbox_failed",
    "message": "the jail was lost while the job ran; it has been replaced",
    "retriable": True,
}
DIED_AT_ITS_START = ("could not be started: it is gone", "could not be started: it has died")

SLEEP = "import time; time.sleep(60)\n"

# family(n) starts N descendants, children and grandchildren, some of them daemonized. It returns once all
# of them live.
FAMILY = """
import os, signal, sys, time
def family(count):
    ready, told = os.pipe()
    def child(n):
        if os.fork():
            return
        if n % 3 == 0:
            os.setsid()
        if n % 2 == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if n + 1 < count and n % 5:
            child(n + 1)
        elif n + 1 < count and os.fork() == 0:  # the parent of this one dies at once
            child(n + 1)
        os.write(told, b"x")
        time.sleep(60)
        os._exit(0)
    child(0)
    got = 0
    while got < count:
        got += len(os.read(ready, count))
"""


# Starts a family of 30, creates a file in its directory to say so, and sleeps.
TREE = f"{FAMILY}\nfamily(30)\nopen('ready', 'w').close()\n{SLEEP}"


@pytest.fixture(name="shape", params=[ALL_LAYERS, NO_USER_NAMESPACES])
def choose_shape(request):
    return conftest.make_shape(request.param)


# A shape in which a process of the job can signal its jail and move directories of the account.
unconfined = pytest.mark.parametrize("shape", [BARE], indirect=True)


def wait_for_trees(daemon, count=1):
    wait_until(lambda: daemon.files() == ["ready"] * count, f"{count} trees of processes are there")


def descendants_but_jails(daemon):
    return daemon.descendants() - daemon.jails()


def assert_nothing_left(daemon):
    assert descendants_but_jails(daemon) == set()
    assert daemon.leftovers() == []


def busy_slot(client, id):
    """Returns the slot in which the job ID runs."""
    (slot,) = (slot for slot in client.status()["slots"] if slot["job"] and slot["job"]["id"] == id)
    return slot


def start(client, id, job):
    """Submits a job and waits until its program runs; returns its slot."""
    client.submit(id, job)
    started = client.recv()
    assert (started["type"], started["id"]) == ("started", id), started
    return busy_slot(client, id)


def await_idle(client, deadline, gone=()):
    """Waits until every slot is ready for a job and has a jail that is not in GONE. Returns the jails."""

    def jails():
        slots = client.status()["slots"]
        pids = [slot["jail_pid"] for slot in slots]
        return all(slot["state"] == "idle" for slot in slots) and not set(pids) & set(gone) and pids

    return wait_until(jails, "every slot is idle", deadline)


@pytest.fixture(name="lease")
def hold_program(request, tmp_path):
    """A program that nobody can execute until the test releases its lease (fcntl(2), "Leases")."""
    program = tmp_path / "program"
    shutil.copy("/bin/true", program)
    open_up(tmp_path)
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # the kernel announces a lease breaker
    with open(program, "r+b" if getattr(request, "param", None) == "written" else "rb") as file:
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as error:
            pytest.skip(f"no lease of a file can be had: {error}")
        yield Lease(program, file)
    signal.signal(signal.SIGIO, before)


class Lease:
    def __init__(self, program, file):
        self.program, self.file = program, file
        self.job = {"kind": "sandbox", "argv": [str(program)]}

    def is_wanted(self):
        return fcntl.fcntl(self.file, fcntl.F_GETLEASE) != fcntl.F_WRLCK

    def end(self):
        fcntl.fcntl(self.file, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def without(message, *keys):
    return {key: value for key, value in message.items() if key not in keys}


# Process trees


ENDINGS = {
    "success": (PASSING, None),
    "failure": ("sys.exit(3)", "rubric.malformed_output"),
    "crash": ("os.abort()", "rubric.malformed_output"),
    "timeout": (SLEEP, "rubric.timeout"),
    "output": ("while True: os.write(1, bytes(65536))", "rubric.malformed_output"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_tree_of_30_processes_is_gone(ending, client, bench, daemon):
    """Processes in other sessions, orphans, those that ignore SIGTERM: all are gone when the reply comes."""
    code, failure = ENDINGS[ending]
    case = {"rubric_wall_clock_seconds": 2 if ending == "timeout" else 60}
    result = client.run(bench.job(f"{FAMILY}\nfamily(30)\n{code}", case=case))
    assert_nothing_left(daemon)
    codes = [mode["code"] for mode in result["score"]["failure_modes"]]
    assert codes == ([failure] if failure else [])
    assert client.run(bench.job(PASSING))["score"]["passed"] is True, "the slot runs the next job"


def test_a_tree_is_gone_when_the_job_is_cancelled(client, bench, daemon):
    start(client, "job", bench.job(TREE))
    wait_for_trees(daemon)
    assert len(descendants_but_jails(daemon)) >= 30
    client.send({"type": "cancel", "id": "job"})
    error = client.recv_answer("job")
    assert_nothing_left(daemon)
    assert without(error, "job_no", "id") == {
        "type": "error",
        "code": "cancelled",
        "message": "cancelled while running",
        "retriable": False,
    }


def test_a_tree_is_gone_when_the_client_has_gone(daemon, bench):
    """The daemon kills the tree promptly."""
    with daemon.connect() as client:
        start(client, "job", bench.job(TREE))
        wait_for_trees(daemon)
    wait_until(lambda: not descendants_but_jails(daemon), "the tree is gone", deadline=PROMPT)
    wait_until(lambda: not daemon.leftovers(), "the directory is gone", deadline=PROMPT)


@pytest.mark.parametrize("ending", [PASSING, "os._exit(3)"])
def test_a_grandchild_that_keeps_stdout_open(ending, client, bench, daemon):
    """The grandchild is in a session of its own. The answer does not wait for it, and it is dead by then."""
    code = (
        "import os, signal, sys, time\n"
        "ready, told = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "        os.write(told, b'x')\n"
        "        time.sleep(60)\n"
        "    os._exit(0)\n"
        "os.wait(); os.read(ready, 1)\n"
    )
    began = time.monotonic()
    result = client.run(bench.job(code + ending))
    assert time.monotonic() - began < PROMPT
    assert_nothing_left(daemon)
    if ending == PASSING:
        assert result["score"]["passed"] is True
    else:
        assert result["outcome"]["summary"] == "exit status 3"


def test_a_grandchild_cannot_add_to_the_output(client, bench, daemon):
    """The daemon kills the tree when the rubric ends and drops later output; the score stands."""
    code = (
        "import os, time\n"
        "ready, told = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.write(told, b'x')\n"
        "    time.sleep(1)\n"
        "    os.write(1, b'{\"passed\": false, \"score\": 0}')\n"
        "    os._exit(0)\n"
        "os.read(ready, 1)\n"
    )
    result = client.run(bench.job(code + PASSING))
    assert result["score"]["passed"] is True
    assert_nothing_left(daemon)


def test_zombies_and_stopped_processes(client, bench, daemon):
    code = (
        "import os, signal, time\n"
        "for n in range(20):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        if n % 2: os._exit(n)\n"
        "        os.kill(os.getpid(), signal.SIGSTOP)\n"
        "        os._exit(0)\n"
        "    os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)\n"
    )
    assert client.run(bench.job(code + PASSING))["score"]["passed"] is True
    assert_nothing_left(daemon)


RUNNERS = {
    "in one group": "",
    "in sessions of their own": "os.setsid()",
}


@pytest.mark.parametrize("how", RUNNERS)
def test_processes_that_run_away(how, client, bench, daemon):
    """In a chain each process forks the next one and exits at once. The jail catches every process."""
    code = (
        "import os, time\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0:\n"
        "        while True:\n"
        f"            {RUNNERS[how] or 'pass'}\n"
        "            if os.fork(): os._exit(0)\n"
        "time.sleep(0.2)\n"
    )
    began = time.monotonic()
    result = client.run(bench.job(code + PASSING))
    assert time.monotonic() - began < PROMPT
    assert result["type"] == "result", result
    assert result["score"]["passed"] is True
    assert_nothing_left(daemon)
    assert client.run(bench.job(PASSING))["score"]["passed"] is True


@pytest.mark.parametrize("shape", [ALL_LAYERS, BARE], indirect=True)
def test_a_pipe_that_a_process_outside_the_job_holds(client, bench, daemon):
    """The write end of stdout stays open in a process outside the job. That process listens in the bench
    root, since jobs with a view find no other socket of the host; without a view seccomp refuses sockets."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(bench.root / "stranger"))
        (bench.root / "stranger").chmod(0o777)
        listener.listen()
        listener.settimeout(conftest.DEADLINE)
        code = (
            "import os, socket\n"
            "stranger = socket.socket(socket.AF_UNIX)\n"
            "stranger.connect(os.path.dirname(__file__) + '/../stranger')\n"
            "socket.send_fds(stranger, [b'x'], [1, 2])\n"
        )
        began = time.monotonic()
        client.submit("job", bench.job(code + PASSING))
        connection, _ = listener.accept()
        with connection:
            _, fds, _, _ = socket.recv_fds(connection, 1, 2)
            try:
                assert client.recv_answer("job")["score"]["passed"] is True
                assert time.monotonic() - began < PROMPT
                assert client.run(bench.job(PASSING))["score"]["passed"] is True
            finally:
                for fd in fds:
                    os.close(fd)
    assert_nothing_left(daemon)


# A jail is killed


def test_a_jail_is_killed_in_the_middle_of_a_job(client, bench, daemon, gate):
    """Only its job is lost, with all its processes and files; the slot is back promptly."""
    code = "open('of-other', 'w').close()\n" + gate.python + PASSING
    other = start(client, "other", bench.job(code))
    slot = start(client, "lost", bench.job(TREE))
    wait_until(lambda: sorted(daemon.files()) == ["of-other", "ready"], "both are there")
    assert len(descendants_but_jails(daemon)) >= 31

    os.kill(slot["jail_pid"], signal.SIGKILL)

    def is_back():
        now = next(s for s in daemon_status()["slots"] if s["slot"] == slot["slot"])
        return now if now["state"] == "idle" else None

    with daemon.connect() as watcher:
        daemon_status = watcher.status
        back = wait_until(is_back, "the slot is idle again", deadline=PROMPT)
        assert back["jail_pid"] not in (None, slot["jail_pid"])

    error = client.recv_answer("lost")
    assert without(error, "id", "job_no") == LOST
    assert daemon.files() == ["of-other"]
    assert len(daemon.leftovers()) == 1, "only the other job's file is left"
    assert len(descendants_but_jails(daemon)) == 1, "only the other job runs"
    assert other["jail_pid"] in daemon.jails()

    assert client.run(bench.job(PASSING), id="next")["score"]["passed"] is True
    gate.open()
    assert client.recv_answer("other")["score"]["passed"] is True
    assert_nothing_left(daemon)
    assert f"slot {slot['slot']}: jail {slot['jail_pid']} is given up" in daemon.log()


def test_every_jail_is_killed_at_once(client, bench, daemon):
    """Queued jobs wait for new jails."""
    start(client, "first", bench.job(SLEEP))
    start(client, "second", bench.job(SLEEP))
    for n in range(4):
        client.submit(f"queued-{n}", bench.job(PASSING))
    wait_until(lambda: client.status()["queue"]["jobs"] == 4, "four jobs are queued")
    for slot in client.status()["slots"]:
        os.kill(slot["jail_pid"], signal.SIGKILL)
    answers = {answer["id"]: answer for answer in (client.recv_answer() for _ in range(6))}
    for id in "first", "second":
        assert without(answers[id], "id", "job_no") == LOST
    for n in range(4):
        assert answers[f"queued-{n}"]["score"]["passed"] is True
    assert_nothing_left(daemon)


@pytest.mark.long  # two hundred jobs
def test_a_job_that_arrives_as_its_jail_dies(start_daemon):
    """A job that has not started goes to the next jail; its client gets no error. The test kills jails during
    a stream of quick jobs, so that some die between two jobs."""
    daemon = start_daemon("daemon.slots=1")
    job = {"kind": "sandbox", "argv": ["/bin/true"]}
    with daemon.connect() as client, daemon.connect() as watcher:
        for n in range(200):
            client.submit(f"job-{n}", job)
        answers, killed = [], 0
        while len(answers) < 200:
            answers.append(client.recv_answer())
            if len(answers) % 4 == 0:
                jail = watcher.status()["slots"][0]["jail_pid"]
                if jail:
                    with contextlib.suppress(ProcessLookupError):  # it has died meanwhile
                        os.kill(jail, signal.SIGKILL)
                        killed += 1
    lost = [without(answer, "id", "job_no") for answer in answers if answer["type"] == "error"]
    # A kill may meet the next jail before that is ready.
    lost = [error for error in lost if not error["message"].endswith(DIED_AT_ITS_START)]
    assert killed > 0 and all(error == LOST for error in lost), lost
    assert len({answer["id"] for answer in answers}) == 200


@pytest.mark.long  # twenty times two jails
def test_jails_are_killed_again_and_again(client, bench, daemon):
    """Kills come at every stage of a job, timed by the number of status replies. Each job gets one answer:
    its own score or an error that says it is lost."""
    job = bench.job("import time; time.sleep(0.01)\n" + PASSING)
    with daemon.connect() as watcher:
        for n in range(0, 40, 2):
            client.submit(f"job-{n}", job)
            for _ in range(n + 1):
                slots = watcher.status()["slots"]
            killed = {slot["jail_pid"] for slot in slots} - {None}
            for jail in killed:
                os.kill(jail, signal.SIGKILL)
            answer = client.recv_answer(f"job-{n}")
            if answer["type"] == "result":
                assert answer["score"]["passed"] is True, answer
            else:
                assert without(answer, "id", "job_no") == LOST
            await_idle(watcher, deadline=5.0, gone=killed)
            assert_nothing_left(daemon)


def test_an_idle_jail_is_killed(client, bench):
    """The daemon replaces it promptly."""
    before = await_idle(client, deadline=5.0)
    for jail in before:
        os.kill(jail, signal.SIGKILL)
    await_idle(client, deadline=PROMPT, gone=before)
    assert client.run(bench.job(PASSING))["score"]["passed"] is True


@pytest.fixture(name="late_answer")
def run_late(start_daemon, lease, tmp_path):
    """Yields the answer to a job whose execve() blocked for a while. The job does not count as started
    meanwhile, and the job after it runs as usual."""
    daemon = start_daemon("daemon.slots=1", f"isolation.readable={tmp_path}")
    with daemon.connect() as client:
        client.submit("late", lease.job)
        wait_until(lease.is_wanted, "it is being executed")
        let_pass(0.1)
        client.send({"type": "ping"})
        assert client.recv()["type"] == "pong", "no `started` came"
        lease.end()
        yield client.recv_answer("late")
        assert client.run({"kind": "sandbox", "snippet": "true"})["score"]["passed"] is True


def test_a_program_that_starts_late(late_answer):
    """It gets its result like any other job, and its wall clock includes the delay."""
    assert late_answer["score"]["passed"] is True
    assert late_answer["usage"]["wall_clock_ms"] >= 100


@pytest.mark.parametrize("lease", ["written"], indirect=True)
def test_a_program_that_fails_to_start_after_a_delay(late_answer):
    assert (late_answer["type"], late_answer["code"]) == ("error", "sandbox_failed")
    assert late_answer["message"].endswith("Text file busy"), "the program is open for writing"


def test_a_jail_does_not_heed_other_signals(client, bench):
    """A signal to a whole process group or session must not cost a job."""
    slot = start(client, "job", bench.job("import time; time.sleep(0.3)\n" + PASSING))
    for name in "INT", "TERM", "HUP", "QUIT", "PIPE", "USR1", "USR2":
        os.kill(slot["jail_pid"], getattr(signal, "SIG" + name))
    assert client.recv_answer("job")["score"]["passed"] is True


# Sends signals to its jail and to every process; reports what the kernel allowed.
SIGNALS = """
import errno, json, os, signal
jail, told = os.getppid(), {}
for name in "SIGSTOP", "SIGKILL":
    try: os.kill(jail, getattr(signal, name)); told[name] = "sent"
    except OSError as error: told[name] = errno.errorcode[error.errno]
mode = {"code": "told", "severity": "info", "detail": json.dumps(told)}
print(json.dumps({"passed": True, "score": 1, "failure_modes": [mode]}))
"""


def assert_signals_do_nothing(daemon, bench, told):
    with daemon.connect() as client:
        jails = await_idle(client, deadline=5.0)
        for n in range(4):
            result = client.run(bench.job(SIGNALS), id=f"job-{n}")
            assert json.loads(result["score"]["failure_modes"][0]["detail"]) == told
        assert await_idle(client, deadline=5.0) == jails
    assert_nothing_left(daemon)


def test_a_rubric_cannot_signal_its_jail(bench, daemon):
    """Landlock keeps signals within the job."""
    if conftest.landlock_version() < 6:
        pytest.skip("the kernel's Landlock does not know of signals (it would be version 6)")
    assert_signals_do_nothing(daemon, bench, {"SIGSTOP": "EPERM", "SIGKILL": "EPERM"})


@pytest.mark.parametrize("shape", [ALL_LAYERS], indirect=True)
def test_signals_do_not_reach_the_first_process_of_a_namespace(start_daemon, bench):
    """Without Landlock to refuse them the signals have no effect: the jail is process 1 of the namespace."""
    daemon = start_daemon("isolation.without=landlock own_uid")
    assert_signals_do_nothing(daemon, bench, {"SIGSTOP": "sent", "SIGKILL": "sent"})


@unconfined
def test_a_rubric_that_kills_its_jail(client, bench, daemon):
    """The rubric gets no verdict; the next job does."""
    for n in range(5):
        job = bench.job("import os; os.kill(os.getppid(), 9)\n" + SLEEP)
        error = client.run(job, id=f"job-{n}")
        assert without(error, "id", "job_no") == LOST
        assert client.run(bench.job(PASSING))["score"]["passed"] is True
    assert_nothing_left(daemon)


@unconfined
def test_a_job_that_was_killed_before_its_jail_keeps_its_verdict(client, bench, daemon):
    """A timeout stays a timeout, even if an orphan of the job kills the jail next."""
    code = (  # the orphan waits without a CPU: on a busy host the job would be starved otherwise
        "import os, signal, time\n"
        "jail = os.getppid()\n"
        "held, holds = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.close(holds)\n"
        "    os.read(held, 1)\n"
        "    os.kill(jail, signal.SIGKILL)\n"
    )
    case = {"rubric_wall_clock_seconds": 0.3}
    result = client.run(bench.job(code + SLEEP, case=case))
    assert result["type"] == "result", result
    assert [mode["code"] for mode in result["score"]["failure_modes"]] == ["rubric.timeout"]
    assert_nothing_left(daemon)


def stop_jails(daemon, client, bench, gate):
    """Stops three jails: one with a job that ends by itself, one with a job that exceeds its deadline, and an
    idle one that gets a job afterwards. Returns the jails."""
    jails = await_idle(client, deadline=5.0)
    start(client, "ends", bench.job(gate.python + PASSING))
    start(client, "overruns", bench.job(SLEEP, case={"rubric_wall_clock_seconds": 1}))
    for jail in jails:
        os.kill(jail, signal.SIGSTOP)
    client.submit("starts", bench.job(PASSING))
    gate.open()
    return jails


@pytest.mark.long  # a jail has ten seconds to answer
@pytest.mark.parametrize("shape", [BARE], indirect=True)
def test_jails_that_hang(start_daemon, bench, gate):
    """The daemon answers their jobs once the time that a jail has to answer is over. That takes a while, so
    the jails of two shapes hang at the same time."""
    shapes = [] if conftest.user_namespaces_are_refused() else [conftest.make_shape(ALL_LAYERS)]
    daemons = [start_daemon("daemon.slots=3")]
    daemons += [start_daemon("daemon.slots=3", shape=shape) for shape in shapes]
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(daemon.connect()) for daemon in daemons]
        gates = [gate] + [stack.enter_context(conftest.Gate(bench, "gate-2")) for _ in shapes]
        stopped = [stop_jails(*each, bench, own) for *each, own in zip(daemons, clients, gates)]
        for daemon, client, jails in zip(daemons, clients, stopped):
            answers = {answer["id"]: answer for answer in (client.recv_answer() for _ in range(3))}
            assert time.monotonic() - began < 20  # that of two waits, one after the other

            assert without(answers["starts"], "id", "job_no") == LOST
            assert without(answers["ends"], "id", "job_no") == LOST
            modes = answers["overruns"]["score"]["failure_modes"]
            assert modes == [{"code": "rubric.timeout", "severity": "block"}]
            await_idle(client, deadline=PROMPT, gone=jails)
            assert_nothing_left(daemon)
            assert client.run(bench.job(PASSING))["score"]["passed"] is True


# The daemon is killed


def test_nothing_outlives_the_daemon(client, bench, daemon):
    """After kill -9 its jails and jobs are gone promptly, and the directories are empty."""
    for id in "one", "two":
        start(client, id, bench.job(TREE))
    wait_for_trees(daemon, 2)
    pids = daemon.descendants()
    assert len(pids) >= 2 * (1 + 1 + 30)

    daemon.process.kill()
    daemon.process.wait()
    wait_until(lambda: not any(map(is_alive, pids)), "its processes are gone", deadline=PROMPT)
    wait_until(lambda: not daemon.leftovers(), "its directories are empty", deadline=PROMPT)
    daemon.log_file.close()


@pytest.mark.parametrize("shape", [ALL_LAYERS, NO_USER_NAMESPACES], indirect=True)
def test_a_daemon_that_was_killed_had_more_slots(start_daemon, shape):
    """The next one has no use for the others' directories, and leaves none of them. One is as its jobs may
    leave it if it is killed together with its jail."""
    first = start_daemon(slots=4)
    empties_directories = not first.has_view()
    wait_until(lambda: len(list(first.work.iterdir())) == 4, "its jails have their directories")
    first.process.kill()
    assert first.process.wait() == -signal.SIGKILL
    if empties_directories:
        wait_until(lambda: not first.leftovers(), "its directories are empty", deadline=PROMPT)
        left = first.work / "slot-3" / "job-7" / "closed"
        left.mkdir(parents=True)
        for path in left, *left.parents[:2]:
            conftest.give_to_account(path)
            path.chmod(0)
    first.log_file.close()
    kept = first.work / "slot-04"
    kept.mkdir()
    next_one = conftest.Daemon(first.directory, shape=shape, slots=1)
    with next_one.connect() as client:
        wait_until(lambda: client.status()["slots"][0]["state"] == "idle", "its jail is up")
        assert sorted(path.name for path in next_one.work.iterdir()) == ["slot-0", "slot-04"]
        assert next_one.leftovers() == []
    kept.rmdir()
    assert next_one.stop() == 0
    assert list(next_one.work.iterdir()) == []


PLANTED = ["os.symlink('/etc', slot)", "open(slot, 'w').close()", "os.mkdir(slot, 0)"]


@unconfined
@pytest.mark.parametrize("planted", PLANTED)
def test_a_job_replaces_the_directory_of_its_slot(planted, start_daemon, bench):
    """The job then kills its jail. The next jail starts in that place."""
    daemon = start_daemon("daemon.slots=1")
    attack = (
        "import os\nslot = os.path.dirname(os.getcwd())\nos.rename(slot, slot + '-moved')\n"
        f"{planted}\nos.kill(os.getppid(), 9)\n"
    )
    with daemon.connect() as client:
        assert without(client.run(bench.job(attack)), "id", "job_no") == LOST
        assert client.run(bench.job(PASSING))["score"]["passed"] is True
    # The moved directory stays, out of the slot's reach: no layer of this shape keeps a job in its directory.
    shutil.rmtree(daemon.work / "slot-0-moved")


MOVES = """
import errno, json, os
moves = {
    "rename": lambda: os.rename(here, here + "-moved"),
    "rename above": lambda: os.rename(above, above + "-moved"),
    "make beside": lambda: os.mkdir(above + "/beside"),
    "link beside": lambda: os.symlink("/etc", above + "/link"),
    "write beside": lambda: open(above + "/file", "w"),
    "move out": lambda: os.rename("file", above + "/file"),
}
here = os.getcwd()
above = os.path.dirname(here)
open("file", "w").close()
worked = []
for name, move in moves.items():
    try: move(); worked.append(name)
    except OSError: pass
mode = {"code": "told", "severity": "info", "detail": json.dumps(worked)}
print(json.dumps({"passed": True, "score": 1, "failure_modes": [mode]}))
"""


def test_a_job_is_held_in_its_directory(client, bench, daemon):
    """The job's view or Landlock keeps it there."""
    result = client.run(bench.job(MOVES))
    assert json.loads(result["score"]["failure_modes"][0]["detail"]) == []
    assert_nothing_left(daemon)
