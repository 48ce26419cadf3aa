# SPDX-License-Identifier: MIT
"""Checks that every attack works without confinement on this host, as an ordinary account, or as root if
it needs a right that no job starts with. Otherwise its failure in a jail would prove nothing.

The shell that starts an attack plays the jail, one sleeping process plays the daemon, and another plays
the job that runs at the same time."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import manifest
import pytest
from harness import ATTACKS, user_namespaces_are_refused, wait_until
from world import ACCOUNT, FewWatches, Usage, World, as_account, fill_in, processes_with

TIMEOUT = 60
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def world():
    with World() as world:
        yield world


@pytest.fixture
def scratch():
    """Makes a directory for the account, on a tmpfs that accepts files of any length."""
    path = Path(tempfile.mkdtemp(prefix="rubricd-hostile-bare-", dir="/dev/shm"))
    (path / "cwd").mkdir()
    for directory in path, path / "cwd":
        os.chown(directory, ACCOUNT, -1)
    path.chmod(0o755)
    yield path
    subprocess.run(["chmod", "-R", "u+rwx", path], check=True)
    subprocess.run(["rm", "-rf", path], check=True)  # any depth


@pytest.fixture
def stand_ins(world, scratch):
    """Starts the stand-ins for the daemon and the neighbour, and yields their facts."""
    slot = scratch / "work" / "slot-1" / "job-1"
    slot.mkdir(parents=True)
    (slot / f"{world.token}-secret").write_text("the neighbour's secret\n")
    for path in scratch / "work", slot.parent, slot:
        path.chmod(0o755)
    locked = ["flock", "--no-fork", "/usr/bin/env", "flock", "--no-fork", "/dev/zero"]
    processes = [
        subprocess.Popen([*as_account(), *command, "sleep", "600"], cwd=slot)
        for command in ([], locked)
    ]
    for process in processes:  # until it runs as the account
        comm = Path(f"/proc/{process.pid}/comm")
        wait_until(lambda: comm.read_text() == "sleep\n", "the stand-in sleeps")  # noqa: B023
    yield {
        "daemon": processes[0].pid,
        "neighbour": processes[1].pid,
        "work": scratch / "work",
        "socket": world.unix,
        "metrics": world.unix,
        "socket_directory": world.directory,
    }
    for process in processes:
        process.kill()
        process.wait()


def without_limits():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def run(attack, program, arguments, cwd, inherited):
    """Runs the attack in a session of its own, so that it cannot affect the tests. Returns its exit status
    and its output."""
    if not os.access(cwd, os.X_OK):
        return 0, "SUCCEEDED: the next job cannot enter its directory"
    prefix = [] if attack.bare == "root" else as_account()
    command = [*prefix, "/bin/sh", "-c", '"$0" "$@"; exit $?', str(program), *arguments]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={"PATH": "/usr/bin:/bin", "RUBRICD_SECRET": "token"},
            pass_fds=[inherited],
            start_new_session=True,
            preexec_fn=without_limits,
        )
        try:
            process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            pytest.fail("the attack does not end")
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace")


@contextlib.contextmanager
def company(attack, program, facts, scratch):
    """Runs what the attack needs beside it."""
    with contextlib.ExitStack() as stack:
        if "few_watches" in attack.needs:
            stack.enter_context(FewWatches())
        if attack.neighbour:
            command = [*as_account(), program, *fill_in(attack.neighbour, facts)]
            neighbour = stack.enter_context(subprocess.Popen(command, cwd=scratch / "cwd"))
            stack.callback(neighbour.kill)
            secret = scratch / "cwd" / facts["neighbour_secret"]
            wait_until(secret.with_name(f"{secret.name}-waits").exists, "the neighbour waits")
            neighbour.send_signal(signal.SIGUSR1)
            wait_until(secret.exists, "the neighbour is ready")
        yield


def lacks(attack, output):
    """Returns whether this host lacks the attacked feature, as every refusal of the kernel says."""
    if attack.name == "netlink":
        return len(os.listdir("/sys/class/net")) < 2
    if attack.name == "perf_event":  # 3 is Debian's value: root only
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2
    if attack.name == "i386" and "signal 11 (SEGV)" in output:
        return True  # a kernel without 32-bit system calls: the instruction is a protection fault
    if user_namespaces_are_refused():
        return True  # not a bare host, but perhaps a chroot or container
    said = {line.rsplit(": ", 1)[-1] for line in output.splitlines() if line.startswith("refused")}
    return said and said <= {"ENOSYS", "EAFNOSUPPORT", "ESOCKTNOSUPPORT", "EPROTONOSUPPORT", "ENODEV"}


ATTACKS_HERE = [attack for attack in manifest.load().values() if attack.is_here]


@pytest.mark.parametrize("attack", ATTACKS_HERE, ids=lambda attack: attack.name)
def test_it_works_where_nothing_confines_it(attack, world, scratch, stand_ins):
    if attack.bare == "root" and not IS_ROOT:
        pytest.skip("the attack needs a right that only root has")
    if "few_watches" in attack.needs and not IS_ROOT:
        pytest.skip("only root can change what the kernel grants")
    if {"own_user", "own_uid"} & set(attack.needs) and not IS_ROOT:
        pytest.skip("the attack would hit every process of this test's own account")
    program = shutil.copy(ATTACKS / attack.program, world.directory / "attack")
    facts = world.facts(**stand_ins)
    reader, inherited = os.pipe()
    with Usage(), company(attack, program, facts, scratch):
        for turn in attack.turns:
            status, output = run(attack, program, fill_in(turn, facts), scratch / "cwd", inherited)
    os.close(reader)
    os.close(inherited)
    left = processes_with(world.token)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):  # it may end by itself
            os.kill(pid, signal.SIGKILL)
    if attack.verdict == "outlives":
        assert left, output
    elif attack.bare == "never":
        assert status == 1 and "refused: " in output, output
    elif attack.ends == "jail":
        assert status == -signal.SIGKILL or "SUCCEEDED: " in output, (status, output)
    elif "SUCCEEDED: " not in output and lacks(attack, output):
        pytest.skip(f"this host lacks the attacked feature: {output.splitlines()[-1]}")
    else:
        assert "SUCCEEDED: " in output, (status, output)
