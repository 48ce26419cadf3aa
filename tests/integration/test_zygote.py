# SPDX-License-Identifier: MIT
"""Jails with an interpreter are copies of one process, the zygote. They must be like jails that started
an interpreter themselves; jobs must not reach the zygote; and nothing may be lost with it but time."""

import contextlib
import json
import os
import pwd
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from conftest import (
    ACCOUNT,
    PYTHON,
    REPORT,
    RUBRICD,
    Client,
    Shape,
    cannot_be_taken_away,
    need_warm_jail,
    seen,
    user_namespaces_are_refused,
    wait_until,
)
from processes import is_alive, name_of, parent_of

need_warm_jail()
if user_namespaces_are_refused():
    pytest.skip(
        f"jails are copies only in namespaces: {user_namespaces_are_refused()}", allow_module_level=True
    )

COPIES_LOST = "the zygote, of which jails with an interpreter are copies, is lost"

# Where the interpreter of a job lies in memory: the same in all copies of a process.
WHERE = (
    REPORT
    + """
lines = open("/proc/self/maps").read().splitlines()
report(where=next(line.split("-")[0] for line in lines if "libpython" in line))
"""
)


def children(process):
    """Returns the pids of the children of PROCESS, zombies included."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and parent_of(entry.name) == process.pid:
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def zygotes(process):
    return {pid for pid in children(process) if name_of(pid) == "rubricd-zygote"}


def the_zygote(daemon):
    (pid,) = zygotes(daemon.process)
    return pid


def wait_for_jails(daemon, but=()):
    """Returns the jails when all are up and none of BUT is among them."""

    def are_up():
        with daemon.connect() as client:
            slots = client.status()["slots"]
        return all(slot["state"] == "idle" and slot["jail_pid"] not in but for slot in slots)

    wait_until(are_up, f"all jails are up; log: {daemon.log()}")
    return daemon.jails()


def places(daemon, bench, slots):
    """Returns where the interpreters of the SLOTS jails lie, one job in each."""
    found = []
    with daemon.connect() as client:
        for _ in range(slots):
            result = client.run(bench.job(WHERE))
            assert result["interpreter"] == "warm", result
            found.append(seen(result)["where"])
            # The next job goes to the first idle slot: have this one replaced meanwhile.
            before = daemon.jails()
            os.kill(client.status()["slots"][0]["jail_pid"], signal.SIGKILL)
            wait_until(lambda was=before: daemon.jails() != was, "the jail is replaced")
            wait_for_jails(daemon)
    return found


# Jails as copies


def test_jails_are_copies(daemon, bench):
    wait_for_jails(daemon)
    zygote = the_zygote(daemon)
    assert children(daemon.process) == daemon.jails() | {zygote}
    assert len(set(places(daemon, bench, 3))) == 1
    assert the_zygote(daemon) == zygote
    assert COPIES_LOST not in daemon.log()


def test_a_jail_looks_like_any_other(start_daemon):
    """A copy shows name, arguments, session and descriptors of a jail that was executed, and no more."""
    facts = []
    for settings in ((), ("warm.use=no",)):
        daemon = start_daemon(*settings, slots=1)
        (jail,) = wait_for_jails(daemon)
        arguments = Path(f"/proc/{jail}/cmdline").read_bytes().split(b"\0")
        facts.append(
            {
                "name": name_of(jail),
                "program": arguments[0],
                "directory": arguments[1] == str(daemon.work / "slot-0").encode(),
                "others": [text for text in arguments[2:] if text],
                "environment": read_as_root(f"/proc/{jail}/environ"),
                "session": os.getsid(jail) == jail,
                "descriptors": descriptors(jail, daemon),
                "status": {
                    line
                    for line in Path(f"/proc/{jail}/status").read_text().splitlines()
                    if line.startswith(("Cap", "NoNewPrivs", "Seccomp:", "SigBlk", "Threads", "Groups"))
                },
            }
        )
    assert facts[0] == facts[1]
    assert facts[0]["directory"] and not facts[0]["others"]


def read_as_root(path):
    return Path(path).read_bytes() if os.geteuid() == 0 else None


def descriptors(pid, daemon):
    """Returns what PID has open, as far as it is the same in all jails; None unless we are root."""
    if os.geteuid() != 0:
        return None
    links = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    return sorted(link.replace(str(daemon.directory), "").split(":")[0] for link in links)


def test_the_zygote_has_only_its_link(daemon):
    if os.geteuid() != 0:
        pytest.skip("only root sees the descriptors of an undumpable process")
    wait_for_jails(daemon)
    zygote = the_zygote(daemon)
    links = {int(e.name): os.readlink(e) for e in Path(f"/proc/{zygote}/fd").iterdir()}
    assert set(links) == {0, 1, 2, 3} and links[3].startswith("socket:"), links
    assert Path(f"/proc/{zygote}/environ").read_bytes() == b""
    status = Path(f"/proc/{zygote}/status").read_text()
    of_maps = 1 << 7 if "own_uid" in daemon.layers() else 0  # CAP_SETUID
    for kind, kept in (("Inh", 0), ("Prm", of_maps), ("Eff", of_maps), ("Amb", 0)):
        assert f"Cap{kind}:\t{kept:016x}" in status, status


# Looks for a text of the checker in its own memory.
LEARNT = (
    REPORT
    + """
import re
found = False
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps"):
        place, rights, *rest = line.split()
        if rights.startswith("rw") and (len(rest) < 4 or rest[3] == "[heap]"):
            begin, end = (int(one, 16) for one in place.split("-"))
            memory.seek(begin)
            found = found or bool(re.search(rb"Judges model-writte[n] code: reads", memory.read(end - begin)))
report(found=found)
"""
)
PAIR = {"kind": "code_exec", "code": "def f(x):\n    return x + 1", "targets": ["assert f(1) == 2"]}


def has_learnt(client, bench):
    """Returns whether the checker is in the memory of a jail's interpreter."""
    result = client.run(bench.job(LEARNT))
    assert result["interpreter"] == "warm", result
    return seen(result)["found"]


def test_the_zygote_loads_the_checker_for_all_jails(daemon, bench):
    wait_for_jails(daemon)
    with daemon.connect() as client:
        assert has_learnt(client, bench), "before any jail has judged"
        result = client.run(PAIR)
        assert (result["verdict"], result["interpreter"]) == ("pass", "warm"), result


@contextlib.contextmanager
def private(tmp_path, *settings):
    """Runs a private daemon; it must end well."""
    ours, theirs = socket.socketpair()
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            [RUBRICD, f"--serve-fd={theirs.fileno()}", *(f"--set={text}" for text in settings)],
            pass_fds=[theirs.fileno()],
            stderr=log,
        )
    theirs.close()
    with Client(sock=ours) as client:
        yield process, client
    assert process.wait(30) == 0, (tmp_path / "log").read_text()


def test_private_daemon_starts_it_for_the_first_script(tmp_path, bench):
    with private(tmp_path, "daemon.slots=1") as (process, client):
        result = client.run({"kind": "sandbox", "argv": ["/bin/true"]})
        assert result["score"]["passed"] is True, result
        assert not zygotes(process)
        for _ in range(2):
            assert client.run(bench.job(WHERE))["interpreter"] == "warm"
        assert len(zygotes(process)) == 1
        result = client.run({"kind": "sandbox", "argv": ["/bin/true"]})
        assert result["score"]["passed"] is True, result


# Attacks on the zygote

# Looks for processes, and does to each pid up to PID what would harm it. Prints what worked.
ATTACK = (
    REPORT
    + """
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
done = []
for pid in [int(n) for n in os.listdir("/proc") if n.isdigit()] + [PID]:
    try:
        if open(f"/proc/{pid}/comm").read().strip() == "rubricd-zygote":
            done.append("seen")
    except OSError:
        pass
    if pid != PID:
        continue
    for path in ("mem", "fd", "maps", "environ", "root"):
        try:
            os.stat(f"/proc/{pid}/{path}/." if path in ("fd", "root") else f"/proc/{pid}/{path}")
            (os.listdir if path in ("fd", "root") else lambda p: open(p, "rb").read(1))(f"/proc/{pid}/{path}")
            done.append(path)
        except OSError:
            pass
    if libc.ptrace(16, pid, 0, 0) == 0:
        done.append("ptrace")
    if libc.syscall(438, libc.syscall(434, pid, 0), 3, 0) >= 0:
        done.append("descriptor")
    try:
        os.kill(pid, signal.SIGKILL)
        done.append("kill")
    except OSError:
        pass
report(done=sorted(set(done)))
"""
)


def test_a_job_does_not_reach_it(daemon, bench):
    wait_for_jails(daemon)
    zygote = the_zygote(daemon)
    with daemon.connect() as client:
        for fields in ({}, {"warm": False}):
            result = client.run(bench.job(ATTACK.replace("PID", str(zygote)), **fields))
            assert seen(result)["done"] == []
    assert the_zygote(daemon) == zygote


def test_the_attack_works_where_it_can(daemon):
    """Outside of a jail the daemon's account can do to the zygote what it can do to any jail."""
    wait_for_jails(daemon)
    zygote = the_zygote(daemon)
    account = {"user": pwd.getpwnam(ACCOUNT).pw_uid} if os.geteuid() == 0 else {}
    done = subprocess.run(
        [PYTHON, "-c", ATTACK.replace("PID", str(zygote))], capture_output=True, text=True, check=True, **account
    )
    (mode,) = json.loads(done.stdout)["failure_modes"]
    assert {"seen", "maps", "root", "ptrace", "descriptor", "kill"} <= set(json.loads(mode["detail"])["done"])
    wait_until(lambda: not is_alive(zygote), "the zygote is dead")


# Without it


def test_fallback(start_daemon, bench):
    if cannot_be_taken_away("siblings"):
        pytest.skip(cannot_be_taken_away("siblings"))
    daemon = start_daemon(shape=Shape("siblings"))
    wait_for_jails(daemon)
    assert not zygotes(daemon.process)
    with daemon.connect() as client:
        assert not has_learnt(client, bench), "each jail loads it when it needs it (test_apart.py)"
    assert len(set(places(daemon, bench, 3))) == 3
    assert daemon.log().count(COPIES_LOST) == 1
    assert "it cannot make jails: Operation not permitted; jails are made without it" in daemon.log()


def test_private_daemon_whose_interpreter_does_not_start(tmp_path, bench):
    """Its jobs run all the same, each in an interpreter of its own."""
    settings = ("daemon.slots=1", "warm.modules=no_such_module")
    with private(tmp_path, *settings) as (process, client):
        for _ in range(2):
            assert client.run(bench.job(WHERE))["interpreter"] == "cold"
        assert not zygotes(process)
    assert (tmp_path / "log").read_text().count(COPIES_LOST) == 1


def test_it_dies_and_another_is_started(daemon, bench):
    wait_for_jails(daemon)
    first = the_zygote(daemon)
    os.kill(first, signal.SIGKILL)
    before = daemon.jails()
    for jail in before:
        os.kill(jail, signal.SIGKILL)
    jails = wait_for_jails(daemon, but=before)
    second = the_zygote(daemon)
    assert second != first and children(daemon.process) == jails | {second}
    assert f"{COPIES_LOST}: it has died; another one is started" in daemon.log()
    with daemon.connect() as client:
        assert client.run(bench.job(WHERE))["interpreter"] == "warm"


def test_it_dies_while_jails_start(start_daemon):
    """Whenever it dies, each slot gets a jail, and no jail is left that nobody knows."""
    slots = 8
    daemon = start_daemon(slots=slots)
    before = wait_for_jails(daemon)
    for round in range(8):
        zygote = the_zygote(daemon)
        victims = sorted(before)
        for number, jail in enumerate(victims):
            os.kill(jail, signal.SIGKILL)
            if number == round:
                os.kill(zygote, signal.SIGKILL)
        before = wait_for_jails(daemon, but=before)
        assert len(before) == slots
        wait_until(
            lambda known=before: children(daemon.process) == known | zygotes(daemon.process),
            "there are no other children",
        )


def test_it_hangs(daemon):
    wait_for_jails(daemon)
    zygote = the_zygote(daemon)
    before = daemon.jails()
    os.kill(zygote, signal.SIGSTOP)
    for jail in before:
        os.kill(jail, signal.SIGKILL)
    wait_for_jails(daemon, but=before)
    assert the_zygote(daemon) != zygote
    assert "it does not answer; another one is started" in daemon.log()


def test_it_ends_with_the_daemon(tmp_path, start_daemon):
    daemon = start_daemon()
    jails = wait_for_jails(daemon)
    zygote = the_zygote(daemon)
    daemon.process.kill()
    daemon.process.wait()
    wait_until(lambda: not any(map(is_alive, jails | {zygote})), "nothing is left")


def test_reload(start_daemon, bench, tmp_path):
    """A configuration of another interpreter gets another zygote, any other keeps the one it has."""
    config = tmp_path / "rubricd.conf"
    config.write_text("[daemon]\nslots = 2\n")
    daemon = start_daemon(config=config, slots=None)
    loaded = REPORT + "import sys\nreport(loaded='colorsys' in sys.modules)\n"
    before = wait_for_jails(daemon)
    first = the_zygote(daemon)

    def reload(text):
        config.write_text(text)
        with daemon.connect() as client:
            client.send({"type": "reload"})
            assert client.recv()["type"] == "reloaded"

    with daemon.connect() as client:
        assert seen(client.run(bench.job(loaded)))["loaded"] is False
        reload("[daemon]\nslots = 3\n")
        assert len(wait_for_jails(daemon)) == 3 and the_zygote(daemon) == first
        reload("[daemon]\nslots = 3\n[warm]\nmodules = colorsys\n")
        wait_for_jails(daemon, but=before)
        wait_until(lambda: zygotes(daemon.process) and first not in zygotes(daemon.process), "there is another")
        assert seen(client.run(bench.job(loaded)))["loaded"] is True
        reload("[daemon]\nslots = 3\n[warm]\nuse = no\n")
        wait_until(lambda: not zygotes(daemon.process), "there is none")
        assert client.run(bench.job(loaded))["interpreter"] == "cold"
