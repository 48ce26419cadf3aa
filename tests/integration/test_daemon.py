# SPDX-License-Identifier: MIT
"""The daemon as a program: its options, why it refuses to start, its socket, systemd, private daemons, what
it reports about itself, and that it leaks nothing."""

import ctypes
import fcntl
import grp
import os
import platform
import pwd
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import (
    ACCOUNT,
    DEADLINE,
    DEFAULTS,
    PASSING,
    ROOT,
    RUBRICD,
    Client,
    give_to_account,
    says_hello,
    started_by_account,
    wait_until,
)
from processes import is_alive
from test_queue import hold_slots, submit_all
from test_queue import make_shell  # noqa: F401  fixture

NOBODY = 65534
SLEEPING = "import time; time.sleep(1000)"

USAGE, UNAVAILABLE, CONFIG = 64, 69, 78

pytestmark = pytest.mark.usefixtures("let_daemons_in")


def run(*arguments, program=RUBRICD, **kwargs):
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=10, check=False, **kwargs
    )


# Options


def test_help():
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: rubricd [OPTION]...\n")
    for option in ("--config", "--set", "--check-config", "--serve-fd", "--help", "--version"):
        assert option in done.stdout
    for status in (USAGE, UNAVAILABLE, CONFIG):
        assert str(status) in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert run("-h").stdout == done.stdout


def test_version(client):
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"rubricd \d+\.\d+\.\d+\S*\n", done.stdout)
    assert run("-V").stdout == done.stdout
    assert done.stdout.split()[1] == client.hello["version"] == client.status()["version"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--nonsense"], "unknown option --nonsense; see rubricd --help"),
        (["-x"], "unknown option -x; see rubricd --help"),
        (["--config"], "--config: FILE is missing"),
        (["--set"], "--set: SECTION.KEY=VALUE is missing"),
        (["extra"], 'unexpected argument "extra"; see rubricd --help'),
        (["--check-config", "file"], 'unexpected argument "file"; see rubricd --help'),
        (["--serve-fd=x"], '--serve-fd: expected a whole number from 3 to 2147483647, got "x"'),
        (["--serve-fd=1"], '--serve-fd: expected a whole number from 3 to 2147483647, got "1"'),
        (["--serve-fd=99"], "--serve-fd: 99 is not an open socket"),
        (["--serve-fd=3x"], '--serve-fd: expected a whole number from 3 to 2147483647, got "3x"'),
        (["--serve-fd="], '--serve-fd: expected a whole number from 3 to 2147483647, got ""'),
        (["--serve-fd=99999999999999999999"], "--serve-fd: expected a whole number from 3 to 2147483647"),
    ],
    ids=lambda value: value[0][:20] if isinstance(value, list) else "",
)
def test_wrong_usage(arguments, message):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert message in done.stderr


def test_more_settings_than_it_takes():
    """The daemon either accepts 200 settings or says why not."""
    done = run("--config=/dev/null", "--check-config", *["--set=daemon.log_level=info"] * 200)
    assert done.returncode == 0 or done.stderr


# --check-config


def test_a_good_configuration(tmp_path):
    good = tmp_path / "good.conf"
    good.write_text("[daemon]\nslots = 3\n\n[queue]\njobs = 10\njobs_per_client = 10\n")
    for arguments in (
        ["--config=/dev/null"],
        [f"--config={good}"],
        ["-c", good],
        [f"--config={ROOT / 'conf' / 'rubricd.conf'}"],
        ["--config=/dev/null", "--set=daemon.slots=auto", "--set=isolation.require=env rlimits"],
    ):
        done = run("--check-config", *arguments)
        assert (done.returncode, done.stdout) == (0, "The configuration is good.\n"), done.stderr
        assert done.stderr == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["daemon.user=nosuchuser"], "[daemon] user: there is no account nosuchuser"),
        (
            ["rubric.interpreter=/usr/bin/python0.9"],
            "[rubric] interpreter: cannot run /usr/bin/python0.9: No such file or directory",
        ),
        (["rubric.interpreter=/usr/bin/false"], "[rubric] interpreter: /usr/bin/false -V failed: "),
        (
            ["warm.use=yes", "warm.modules=json nosuchmodule email.nosuch"],
            "[warm] modules: /usr/bin/python3 has no nosuchmodule email.nosuch",
        ),
    ],
)
def test_what_the_host_lacks_is_a_mistake(settings, message):
    done = run("--check-config", "--config=/dev/null", *[f"--set={setting}" for setting in settings])
    assert (done.returncode, done.stdout, done.stderr) == (CONFIG, "", f"rubricd: {message}\n")


def test_a_missing_module_is_a_warning_where_the_daemon_starts_without():
    done = run("--check-config", "--config=/dev/null", "--set=warm.modules=nosuchmodule")
    assert (done.returncode, done.stdout) == (0, "The configuration is good.\n")
    assert done.stderr == (
        "rubricd: warning: [warm] modules: /usr/bin/python3 has no nosuchmodule: "
        "no interpreter will wait in the jails\n"
    )
    done = run("--check-config", "--config=/dev/null", "--set=warm.modules=nosuchmodule", "--set=warm.use=no")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bench_that_is_not_there_is_a_warning():
    """It may come later; until then each rubric is answered with `rubric_not_found`."""
    done = run("--check-config", "--config=/dev/null", "--set=rubric.bench_root=/nowhere")
    assert (done.returncode, done.stdout) == (0, "The configuration is good.\n")
    assert done.stderr == "rubricd: warning: [rubric] bench_root: /nowhere: No such file or directory\n"
    done = run("--check-config", "--config=/dev/null", "--set=rubric.bench_root=/etc/passwd")
    assert done.stderr == "rubricd: warning: [rubric] bench_root: /etc/passwd: Not a directory\n"
    done = run("--check-config", "--config=/dev/null", "--set=rubric.bench_root=/usr")
    assert (done.returncode, done.stderr) == (0, "")


def test_every_mistake_is_named(tmp_path):
    """The daemon names file, line and key, for the file, its drop-ins and the command line."""
    file = tmp_path / "bad.conf"
    file.write_text("[daemon]\nslots = 0\nslot = 1\n[deamon]\n[queue]\njobs = many\nbytes = 8M\n")
    drop_ins = tmp_path / "bad.conf.d"
    drop_ins.mkdir()
    (drop_ins / "1-first.conf").write_text("[protocol]\nmax_frame = 16M\n")
    (drop_ins / "2-second.conf").write_text("[rubric]\ninterpreter = python3\nnonsense\n")
    done = run(
        "--check-config", f"--config={file}", "--set=daemon.log_level=loud", "--set=nonsense"
    )
    assert (done.returncode, done.stdout) == (CONFIG, "")
    found = done.stderr.splitlines()
    for where in (
        f"{file}:2: [daemon] slots: ",
        f"{file}:3: [daemon] slot: unknown key, did you mean slots?",
        f"{file}:4: [deamon]: unknown section, did you mean [daemon]?",
        f"{file}:6: [queue] jobs: ",
        f"{drop_ins}/1-first.conf:2: [protocol] max_frame: 16M is more than [queue] bytes",
        f"{drop_ins}/2-second.conf:2: [rubric] interpreter: ",
        f"{drop_ins}/2-second.conf:3: expected NAME = VALUE",
        "--set:1: [daemon] log_level: ",
        "--set:2: expected SECTION.KEY=VALUE, got 'nonsense'",
    ):
        assert [line for line in found if line.startswith(where)], where
    assert len(found) == 9


def test_a_configuration_that_does_not_exist(tmp_path):
    absent = tmp_path / "absent.conf"
    for arguments in (["--check-config"], []):
        done = run(f"--config={absent}", *arguments)
        assert (done.returncode, done.stdout) == (CONFIG, "")
        assert done.stderr == f"{absent}: cannot be opened: No such file or directory\n"


def test_a_bad_configuration_starts_nothing(tmp_path):
    done = run(
        "--config=/dev/null",
        f"--set=daemon.socket={tmp_path}/s",
        f"--set=daemon.work_dir={tmp_path}/work",
        "--set=queue.jobs=0",
    )
    assert done.returncode == CONFIG
    assert done.stderr.startswith("--set:3: [queue] jobs: ")
    assert list(tmp_path.iterdir()) == []


# Reasons not to start


def places(directory, socket_path=None, work=None):
    return [
        f"--set=daemon.socket={socket_path or directory / 's'}",
        f"--set=daemon.work_dir={work or directory / 'work'}",
        f"--set=daemon.user={ACCOUNT}",
        "--set=daemon.socket_group=",
    ]


def assert_refused(directory, message, *arguments, **kwargs):
    """Fails unless the daemon says MESSAGE, exits, and leaves no socket and an empty work directory."""
    done = run("--config=/dev/null", *arguments, **kwargs)
    assert (done.returncode, done.stdout) == (UNAVAILABLE, ""), done.stderr
    assert f"rubricd: cannot start: {message}" in done.stderr.splitlines()
    assert not (directory / "s").exists()
    assert not (directory / "work").exists() or not list((directory / "work").iterdir())


def test_no_interpreter(tmp_path):
    for interpreter, why in (
        ("/proc/self/no-such-python3", "cannot run /proc/self/no-such-python3: No such file or directory"),
        ("/etc/passwd", "cannot run /etc/passwd: Permission denied"),
        ("/tmp", "cannot run /tmp: Permission denied"),
        ("/bin/false", "/bin/false -V failed: "),
    ):
        assert_refused(
            tmp_path,
            f"[rubric] interpreter: {why}",
            *places(tmp_path),
            f"--set=rubric.interpreter={interpreter}",
        )


def test_an_interpreter_that_jobs_cannot_see(tmp_path):
    """The daemon says so at the start, with the remedy, instead of failing every job."""
    interpreter = tmp_path / "python"
    interpreter.write_text('#!/bin/sh\necho "Python 9.9.9"\n')
    interpreter.chmod(0o755)
    give_to_account(tmp_path)
    assert_refused(
        tmp_path,
        f"[rubric] interpreter: jobs do not see {interpreter}; name it, or the directory of its "
        "installation, in [isolation] readable",
        *places(tmp_path),
        f"--set=rubric.interpreter={interpreter}",
    )


def test_no_jail(tmp_path):
    """The daemon looks for the jail in its own directory, then where it is installed."""
    alone = tmp_path / "bin"
    alone.mkdir()
    shutil.copy(RUBRICD, alone)
    done = run("--config=/dev/null", *places(tmp_path), program=alone / "rubricd")
    if done.returncode == 0:
        pytest.skip("a jail is installed")
    assert done.returncode == UNAVAILABLE
    assert re.fullmatch(
        r"rubricd: cannot start: /\S+/rubricd-jail: No such file or directory\n", done.stderr
    )


def test_a_work_directory_in_use(daemon, tmp_path):
    """Two daemons would delete each other's files, so the second refuses; the first notices nothing."""
    done = run("--config=/dev/null", *places(tmp_path, work=daemon.work))
    assert done.returncode == UNAVAILABLE
    assert done.stderr.splitlines() == [
        f"rubricd: {daemon.work} is in use; waiting at most 2000 ms for it",
        f"rubricd: cannot start: [daemon] work_dir: {daemon.work} is in use by another rubricd",
    ]
    assert not (tmp_path / "s").exists()
    with daemon.connect() as client:
        client.ping()


def test_a_work_directory_that_a_killed_daemon_still_holds(tmp_path):
    """Children of a killed daemon that are not jails yet hold its lock until they are or die."""
    work = tmp_path / "work"
    work.mkdir(mode=0o700)
    held = os.open(work, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    give_to_account(work)
    give_to_account(tmp_path)
    process = subprocess.Popen(
        [RUBRICD, "--config=/dev/null", *places(tmp_path, work=work), "--set=daemon.slots=1"],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr.readline() == f"rubricd: {work} is in use; waiting at most 2000 ms for it\n"
        os.close(held)
        wait_until(lambda: says_hello(tmp_path / "s"), "the daemon listens")
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE)


def test_a_socket_in_use(daemon, tmp_path, bench):
    for _ in range(5):
        assert_refused(
            tmp_path,
            f"{daemon.socket}: a daemon is listening there already",
            *places(tmp_path, socket_path=daemon.socket),
        )
    with daemon.connect() as client:
        assert client.run(bench.job(PASSING))["score"]["passed"] is True


def test_a_file_that_is_not_a_socket_is_left_alone(tmp_path):
    file = tmp_path / "s"
    file.write_text("precious")
    done = run("--config=/dev/null", *places(tmp_path))
    assert done.returncode == UNAVAILABLE
    assert done.stderr.endswith(f"cannot start: {file}: bind: Address already in use\n")
    assert file.read_text() == "precious"


def test_places_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    file, deep = tmp_path / "file", tmp_path / "a" / "b" / "s"
    taken = f"cannot be given to {ACCOUNT}: " if os.geteuid() == 0 else ""
    for socket_path, work, message in (
        (tmp_path / "s", file / "work", f"[daemon] work_dir: {file}/work: Not a directory"),
        (tmp_path / "s", "/proc/work", "[daemon] work_dir: /proc/work: No such file or directory"),
        (tmp_path / "s", file, f"[daemon] work_dir: {file}: {taken}Not a directory"),
        (file / "s", tmp_path / "work", f"{file}/s: bind: Not a directory"),
        ("/proc/s", tmp_path / "work", "/proc/s: bind: No such file or directory"),
        (deep, tmp_path / "work", f"{deep}: bind: No such file or directory"),
    ):
        assert_refused(tmp_path, message, *places(tmp_path, socket_path, work))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could make it")
def test_no_directory_is_made_in_the_root_of_the_file_system(tmp_path):
    absent = Path("/rubricd-test-absent")
    try:
        message = f"{absent}/s: bind: No such file or directory"
        assert_refused(tmp_path, message, *places(tmp_path, absent / "s", tmp_path / "work"))
        assert not absent.exists()
    finally:
        shutil.rmtree(absent, ignore_errors=True)


def test_unwritable_directories():
    directory = Path(tempfile.mkdtemp(prefix="rubricd-test-"))
    inside = directory / "inside"
    inside.mkdir()
    (directory / "writable").mkdir()
    (directory / "writable").chmod(0o777)
    for path in (inside, directory):
        path.chmod(0o555)
    command, *options = [*started_by_account().prefix, RUBRICD]
    for socket_path, work, message in (
        (
            directory / "writable" / "s",
            inside / "work",
            f"[daemon] work_dir: {inside}/work: Permission denied",
        ),
        (inside / "s", directory / "writable" / "work", f"{inside}/s: bind: Permission denied"),
    ):
        done = run(
            *options,
            "--config=/dev/null",
            *places(directory, socket_path, work),
            program=command,
        )
        assert done.returncode == UNAVAILABLE, done.stderr
        assert done.stderr == f"rubricd: cannot start: {message}\n"
    assert not list(inside.iterdir())
    for path in (directory, inside):
        path.chmod(0o755)
    shutil.rmtree(directory)


def test_a_required_layer_that_cannot_be_had(client, tmp_path):
    """The refusal names the layer, the cause (the one that status shows) and the remedy."""
    missing = client.status()["isolation"]["missing"]
    if not missing:
        pytest.skip("every layer can be had here")
    for entry in missing:
        assert_refused(
            tmp_path,
            f"[isolation] require: the layer {entry['layer']} cannot be had: {entry['reason']}; "
            "take it out of the list to do without",
            *places(tmp_path),
            f"--set=isolation.require=env {entry['layer']}",
        )


def test_landlock_required(client, tmp_path):
    if "landlock" in client.hello["isolation"]["layers"]:
        pytest.skip("it is there")
    done = run("--config=/dev/null", *places(tmp_path), "--set=isolation.require=landlock")
    assert done.returncode == UNAVAILABLE
    assert re.fullmatch(
        r"rubricd: cannot start: \[isolation\] require: the layer landlock cannot be had: \S.*; "
        r"take it out of the list to do without\n",
        done.stderr,
    )


# The socket


@contextmanager
def started(directory, *arguments, **kwargs):
    """Starts a daemon without the settings of the shared harness; yields (process, log)."""
    log = directory / "log"
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [RUBRICD, "--config=/dev/null", "--set=daemon.slots=1", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            **kwargs,
        )
    try:
        yield process, log
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(DEADLINE) == 0, log.read_text()
        finally:
            process.kill()


def wait_for_socket(process, path, log):
    def is_up():
        assert process.poll() is None, log.read_text()
        return says_hello(path)

    wait_until(is_up, "the daemon listens")


def test_a_stale_socket_is_replaced(tmp_path):
    """A killed daemon leaves such a socket behind."""
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()
    before = path.stat().st_ino, path.stat().st_ctime_ns
    with started(tmp_path, *places(tmp_path)) as (process, log):
        wait_for_socket(process, path, log)
        assert (path.stat().st_ino, path.stat().st_ctime_ns) != before
        with Client(path) as client:
            client.ping()
    assert not path.exists()


def test_after_kill_9_it_starts_again(start_daemon, bench):
    """It uses the same socket and work directory, even if the directory still has files."""
    daemon = start_daemon()
    with daemon.connect() as client:
        submit_all(client, {id: bench.job("open('left', 'w')\n" + SLEEPING) for id in "ab"})
        for _ in range(2):
            assert client.recv()["type"] == "started"
        family = daemon.descendants()
        daemon.process.kill()
        daemon.process.wait()
        client.expect_closed()
    wait_until(lambda: not any(map(is_alive, family)), "all are gone")
    with started(daemon.directory, *places(daemon.directory)) as (process, log):
        wait_for_socket(process, daemon.socket, log)
        with Client(daemon.socket) as client:
            assert client.run(bench.job(PASSING))["score"]["passed"] is True
    assert not daemon.socket.exists()


@pytest.mark.parametrize("mode", [0o600, 0o660, 0o666, 0o620])
def test_the_mode_of_the_socket(start_daemon, mode):
    daemon = start_daemon(f"daemon.socket_mode={mode:04o}")
    assert stat.S_IMODE(daemon.socket.stat().st_mode) == mode


def test_the_group_of_the_socket(tmp_path):
    """The socket gets the configured group and its default mode."""
    if os.geteuid() != 0:
        pytest.skip("giving a socket to a group takes root")
    group = grp.getgrgid(NOBODY).gr_name
    arguments = [*places(tmp_path), f"--set=daemon.socket_group={group}"]
    with started(tmp_path, *arguments) as (process, log):
        wait_for_socket(process, tmp_path / "s", log)
        status = (tmp_path / "s").stat()
        assert (stat.S_IMODE(status.st_mode), status.st_gid) == (0o660, NOBODY)


def test_a_group_that_does_not_exist(tmp_path):
    """Nobody else can connect then, which is safe; the daemon warns of it."""
    arguments = [*places(tmp_path), "--set=daemon.socket_group=no-such-group"]
    with started(tmp_path, *arguments) as (process, log):
        wait_for_socket(process, tmp_path / "s", log)
        own = pwd.getpwnam(ACCOUNT).pw_gid if os.geteuid() == 0 else os.getegid()
        assert (tmp_path / "s").stat().st_gid == own
        assert (
            "rubricd: warning: [daemon] socket_group: there is no group no-such-group\n"
            in log.read_text()
        )


# A private daemon


def make_tmpdir(tmp_path):
    """Creates a directory like /tmp."""
    place = tmp_path / "tmpdir"
    place.mkdir()
    place.chmod(0o1777)
    return place


@contextmanager
def private(tmp_path, *arguments):
    """Yields (process, client, TMPDIR) of a daemon that serves one connection only."""
    place = make_tmpdir(tmp_path)
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [RUBRICD, f"--serve-fd={theirs.fileno()}", *arguments],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    theirs.close()
    try:
        with Client(sock=ours) as client:
            yield process, client, place
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def assert_ended_silently(process, place):
    assert process.wait(DEADLINE) == 0
    assert process.stderr.read() == ""
    assert list(place.iterdir()) == []


def test_serve_fd(tmp_path, bench):
    """The daemon exits when its connection closes and leaves nothing in TMPDIR."""
    with private(tmp_path) as (process, client, place):
        client.ping()
        assert client.run(bench.job(PASSING))["score"]["passed"] is True
        status = client.status()
        assert status["clients_total"] == 1
        assert status["clients"][0]["uid"] == os.geteuid()
        (work,) = place.iterdir()
        assert stat.S_IMODE(work.stat().st_mode) == 0o700
        client.close()
        assert_ended_silently(process, place)


def test_serve_fd_with_jobs_running_and_queued(tmp_path, bench):
    with private(tmp_path) as (process, client, place):
        slots = client.hello["limits"]["slots"]
        leaving = bench.job("open('left', 'w')\n" + SLEEPING)
        submit_all(client, {f"{n}": leaving for n in range(slots + 5)})
        for _ in range(slots):
            assert client.recv()["type"] == "started"
        jails = [slot["jail_pid"] for slot in client.status()["slots"]]
        client.close()
        assert_ended_silently(process, place)
        assert not any(Path(f"/proc/{pid}").exists() for pid in jails)


def test_serve_fd_and_half_close(tmp_path, bench):
    """The daemon answers everything that was submitted before it exits."""
    with private(tmp_path) as (process, client, place):
        submit_all(client, {f"{n}": bench.job(PASSING) for n in range(6)})
        client.sock.shutdown(socket.SHUT_WR)
        assert sorted(client.recv_answer()["id"] for _ in range(6)) == list("012345")
        client.expect_closed()
        client.close()
        assert_ended_silently(process, place)


def test_serve_fd_and_sigterm(tmp_path, bench):
    with private(tmp_path) as (process, client, place):
        assert client.run(bench.job(PASSING))["score"]["passed"] is True
        process.send_signal(signal.SIGTERM)
        assert client.recv()["type"] == "bye"
        client.expect_closed()
        client.close()
        assert_ended_silently(process, place)


def test_serve_fd_when_there_is_no_client_from_the_start(tmp_path):
    """The other end is closed before the daemon starts to serve."""
    place = make_tmpdir(tmp_path)
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        done = run(
            f"--serve-fd={theirs.fileno()}",
            pass_fds=[theirs.fileno()],
            env={**os.environ, "TMPDIR": str(place)},
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(place.iterdir()) == []


def test_serve_fd_that_is_no_socket(tmp_path):
    """The daemon says so and exits instead of waiting for a client that can never come."""
    with open("/dev/null", "rb") as null:
        done = run(
            f"--serve-fd={null.fileno()}",
            pass_fds=[null.fileno()],
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        message = f"rubricd: --serve-fd: {null.fileno()} is not an open socket\n"
    assert (done.returncode, done.stderr) == (USAGE, message)
    assert list(tmp_path.iterdir()) == []


def test_serve_fd_without_a_place_to_work(tmp_path):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        done = run(
            f"--serve-fd={theirs.fileno()}",
            pass_fds=[theirs.fileno()],
            env={**os.environ, "TMPDIR": str(tmp_path / "absent")},
        )
    assert done.returncode == UNAVAILABLE
    assert re.fullmatch(
        rf"rubricd: cannot make a work directory {tmp_path}/absent/rubricd-\w{{6}}: "
        "No such file or directory\n",
        done.stderr,
    )


# What it reports about itself


def test_status_while_a_job_runs(daemon, bench, gate):
    with daemon.connect() as client:
        idle = wait_until(
            lambda: (s := client.status()) and all(x["state"] == "idle" for x in s["slots"]) and s,
            "both slots are ready",
        )
        assert idle["pid"] == daemon.process.pid
        assert (idle["state"], idle["protocol"]) == ("running", 1)
        assert [slot["slot"] for slot in idle["slots"]] == [0, 1]
        assert all(slot["job"] is None for slot in idle["slots"])
        assert {slot["jail_pid"] for slot in idle["slots"]} == daemon.descendants()
        assert idle["queue"] == {"jobs": 0, "jobs_max": 1024, "bytes": 0, "bytes_max": 64 << 20}
        assert idle["last_failures"] == []
        assert 1 << 20 < idle["memory"]["rss_bytes"] < 64 << 20
        assert client.hello["isolation"].items() <= idle["isolation"].items()

        name = bench.rubric(gate.python + PASSING)
        job = bench.job(name=name, case={"rubric_wall_clock_seconds": 30})
        client.submit("status-job", job)
        assert client.recv()["type"] == "started"
        client.submit("failing", bench.job("import sys; sys.exit(3)"))
        failed = client.recv_answer("failing")

        busy = client.status()
        assert busy["uptime_ms"] >= idle["uptime_ms"]
        idle_slot, slot = sorted(busy["slots"], key=lambda slot: slot["state"] == "busy")
        assert (idle_slot["state"], slot["state"]) == ("idle", "busy")
        shown = slot["job"]
        running_ms, remaining_ms = shown.pop("running_ms"), shown.pop("remaining_ms")
        assert 0 <= running_ms <= busy["uptime_ms"]
        assert 29_000 <= running_ms + remaining_ms <= 30_000
        (me,) = busy["clients"]
        assert shown == {
            "job_no": 1,
            "id": "status-job",
            "kind": "rubric",
            "label": name,
            "client": me["client"],
            "uid": os.geteuid(),
        }
        assert me == {
            "client": me["client"],
            "uid": os.geteuid(),
            "gid": os.getegid(),
            "pid": os.getpid(),
            "queued": 0,
            "running": 1,
            "unsent_bytes": 0,
            "paused": False,
        }
        assert busy["clients_total"] == 1
        assert busy["counters"] == {
            "submitted": 2,
            "results": 1,
            "passed": 0,
            "failed": 1,
            "errors": {},
        }
        (failure,) = busy["last_failures"]
        assert 0 <= failure.pop("ago_ms") <= busy["uptime_ms"]
        assert failure == {
            "job_no": failed["job_no"],
            "id": "failing",
            "kind": "rubric",
            "label": "class-2",
            "what": "rubric.malformed_output",
        }
        gate.open()
        assert client.recv_answer("status-job")["score"]["passed"] is True
        after = client.status()
        assert all(slot["job"] is None for slot in after["slots"])
        assert after["counters"]["passed"] == 1


def test_status_by_kind(client, bench):
    """Each job counts under the right outcome, and every submitted job counts exactly once."""
    client.run(bench.job(PASSING), "passes")
    client.run(bench.job("raise SystemExit(3)"), "fails")
    client.run(bench.job(PASSING, sut={"status": "timeout"}), "is not run")
    client.run(bench.job(name="nowhere"), "is not there")
    slow = {"kind": "sandbox", "argv": ["/bin/sleep", "1000"], "limits": {"wall_clock": 0.1}}
    client.run(slow, "is too slow")
    kinds = client.status()["kinds"]
    recent = {kind: kinds[kind].pop("recent") for kind in kinds}
    counts = {"submitted": 0, "passed": 0, "failed": 0, "dropped": 0}
    nothing = {**counts, "errors": {}, "limits_exceeded": {}}
    assert kinds == {
        **dict.fromkeys(DEFAULTS, nothing),
        "rubric": {
            **nothing,
            "submitted": 4,
            "passed": 1,
            "failed": 2,
            "errors": {"rubric_not_found": 1},
        },
        "sandbox": {
            **nothing,
            "submitted": 1,
            "passed": 0,
            "failed": 1,
            "limits_exceeded": {"wall_clock": 1},
        },
    }
    assert [entry["seconds"] for entry in recent["rubric"]] == [60, 300, 900]
    last = recent["sandbox"][0]
    assert (last["passed"], last["failed"], last["errors"]) == (0, 1, 0)
    assert last["per_second"] == pytest.approx(1 / max(last["span_ms"] / 1000, 1), rel=0.01)
    assert last["wall_clock_ms"]["p50"] >= 100 * (1 - 1 / 16)
    assert recent["code_exec"][2]["wall_clock_ms"] is None


def test_jobs_of_a_client_that_left_are_counted_as_dropped(daemon, gate, bench):
    with daemon.connect() as client:
        hold_slots(client, bench.job(gate.python + PASSING))
        with daemon.connect() as leaving:
            for i in range(3):
                leaving.submit(str(i), bench.job(PASSING))
            wait_until(lambda: client.status()["queue"]["jobs"] == 3, "they are queued")
        status = wait_until(
            lambda: (s := client.status())["kinds"]["rubric"]["dropped"] and s, "they are dropped"
        )
        assert status["kinds"]["rubric"]["dropped"] == 3
        assert status["kinds"]["rubric"]["submitted"] == 2 + 3
        assert status["counters"]["errors"] == {}
        gate.open(2)


def test_the_memory_it_reports_is_its_own(start_daemon):
    """It reports none of the memory of the process that started it."""
    ballast = b"x" * (200 << 20)
    daemon = start_daemon()
    del ballast
    with daemon.connect() as client:
        memory = client.status()["memory"]
    assert memory["rss_bytes"] <= memory["max_rss_bytes"] < 100 << 20


def test_the_log_line_of_a_job(daemon, bench):
    """The line says who submitted it, by credentials from the kernel, and how it came out."""
    with daemon.connect() as client:
        number = client.status()["clients"][0]["client"]
        client.run(bench.job(PASSING), "good")
        client.run(bench.job("import sys; sys.stderr.write('no\\n'); sys.exit(3)"), "bad")
        client.run(bench.job(name="absent"), "lost")
        client.run(bench.job(PASSING), "a\nrubricd: job 9: forged\x1b[0m")
    who = f"client {number}, uid {os.geteuid()}, pid {os.getpid()}"
    lines = [line for line in daemon.log().splitlines() if line.startswith("rubricd: job ")]
    usage = r"cpu_ms=\d+ (cpu_wait_ms=\d+ )?max_rss_bytes=\d+ queue_ms=\d+"
    ran = rf"\[kind=rubric slot=[01] {usage}\]"
    expected = [
        ("good", rf"class-1: passed, score 1, \d+ ms {ran}"),
        ("bad", rf"class-2: rubric.malformed_output after \d+ ms; stderr: no  {ran}"),
        ("lost", r"absent: rubric_not_found: .* \[kind=rubric\]"),
        (r"a\nrubricd: job 9: forged\x1b[0m", rf"class-3: passed, score 1, \d+ ms {ran}"),
    ]
    assert len(lines) == len(expected)
    for number, (line, (id, what)) in enumerate(zip(lines, expected), 1):
        start = f"rubricd: job {number} ({who}, id {id}): "
        assert line.startswith(start), line
        assert re.fullmatch(what, line[len(start) :]), line


# Leaks


def descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        pytest.skip("the daemon's descriptors are not readable for this user")


def test_nothing_leaks_in_two_hundred_jobs(start_daemon, bench, shell):
    """However jobs end, no descriptor of the daemon or its jails leaks, and no process stays."""
    daemon = start_daemon(*shell)
    endings = {
        "passing": bench.job("echo '{\"passed\": true, \"score\": 1}'"),
        "failing": bench.job("exit 3"),
        "killed": bench.job("kill -9 $$"),
        "flooding": bench.job("yes", limits={"output_bytes": 2000}),
        "late": bench.job("sleep 1000", case={"rubric_wall_clock_seconds": 0.1}),
        "forking": bench.job("sleep 1000 & sleep 1000 & echo '{\"passed\": true, \"score\": 1}'"),
        "absent": bench.job(name="absent"),
        "cancelled": bench.job("sleep 1000"),
    }

    def round_of_jobs(client):
        submit_all(client, endings)
        client.send({"type": "cancel", "id": "cancelled"})
        got = {}
        for _ in endings:
            answer = client.recv_answer()
            got[answer["id"]] = answer["type"]
        expected = {id: "result" for id in endings}
        assert got == {**expected, "absent": "error", "cancelled": "error"}

    def count(client):
        status = client.status()
        assert [slot["state"] for slot in status["slots"]] == ["idle", "idle"]
        jails = {slot["jail_pid"] for slot in status["slots"]}
        assert daemon.descendants() == jails
        return jails, descriptors(daemon.process.pid), [descriptors(pid) for pid in sorted(jails)]

    with daemon.connect() as client:
        round_of_jobs(client)
        wait_until(lambda: client.status()["clients_total"] == 1, "no other client is there")
        before = count(client)
        for _ in range(25):
            round_of_jobs(client)
        assert count(client) == before


LIST = """
import json, os
def is_open(fd):
    try: os.fstat(fd); return True
    except OSError: return False
fds = [fd for fd in range(256) if is_open(fd)]
mode = {"code": "seen", "severity": "info", "detail": json.dumps(fds)}
print(json.dumps({"passed": True, "score": 1, "failure_modes": [mode]}))
"""


def test_the_descriptors_of_a_job(start_daemon, bench):
    """A job has stdin, stdout and stderr only, whatever the daemon inherited."""
    listing = bench.job(LIST)
    with open("/dev/null", "rb") as null:
        os.set_inheritable(null.fileno(), True)
        daemon = start_daemon()
        with daemon.connect() as client, daemon.connect() as other:
            other.submit("other", bench.job(SLEEPING))
            assert other.recv()["type"] == "started"
            for _ in range(3):
                result = client.run(listing)
                assert result["score"]["failure_modes"][0]["detail"] == "[0, 1, 2]"


def turn_of(pid):
    """Returns the time slice in ns that PID asks the scheduler for; 0 if the kernel does not say."""
    attr = ctypes.create_string_buffer(48)
    if ctypes.CDLL(None).syscall(315, pid, attr, 48, 0) != 0:  # sched_getattr
        return 0
    return struct.unpack("IIQiIQQQ", attr.raw)[5]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of sched_getattr")
def test_it_asks_for_short_turns(daemon):
    """The daemon asks for short slices; its children do not inherit that."""
    before = turn_of(os.getpid())
    if before == 0:
        pytest.skip("this kernel has no slices of tasks (6.12)")
    assert turn_of(daemon.process.pid) == 100_000
    assert {turn_of(jail) for jail in daemon.jails()} == {before}
