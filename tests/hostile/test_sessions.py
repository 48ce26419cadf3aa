# SPDX-License-Identifier: MIT
"""The same attacks from within a session, whose jail lives on: on the host and the daemon, on a job that runs
at the same time, and on another session. Afterwards the session still works, and its end leaves nothing."""

import base64
import contextlib
import os

import manifest
import pytest
from harness import wait_until
from target import GOOD_JOB, Targets, company, encoded, ending_of, outlives
from test_hostile import check_account
from world import World, fill_in, processes_with

ATTACKS = [attack for attack in manifest.load().values() if attack.is_here]
OF_A_COMMAND = ("wall_clock", "cpu", "output_bytes")


@pytest.fixture(scope="module")
def targets():
    running = Targets()
    yield running
    running.close()


@pytest.fixture
def world():
    with World() as world:
        yield world


class Session:
    """A session under attack, on a connection of its own."""

    def __init__(self, target, limits=None):
        self.client = target.daemon.connect()
        self.client.send({"type": "session_open", "id": "open", "limits": limits or {}})
        opened = self.client.recv()
        assert opened["type"] == "session_opened", opened
        self.number = opened["session"]

    def command(self, **fields):
        """Runs a command; returns its answer, with what it wrote to stdout."""
        self.client.submit("command", {"kind": "session", "session": self.number, **fields})
        written = b""
        while (message := self.client.recv())["type"] in ("started", "output"):
            if message.get("stream") == "stdout":
                written += base64.b64decode(message["base64"])
        return {**message, "stdout": written.decode(errors="replace")}

    def put(self, program):
        answer = self.command(write="attack", content={"base64": encoded(program)}, mode=0o755)
        assert answer["outcome"]["success"], answer

    def works(self):
        """Whether a command can clear up. What an attack has started ends a moment after it, and takes
        its share of the session's processes until then."""
        clear = "rm -rf -- * /tmp/* /dev/shm/* 2>/dev/null; echo works"
        return self.command(argv=["/bin/sh", "-c", clear])["stdout"] == "works\n"

    def close(self):
        self.client.send({"type": "session_close", "id": "close", "session": self.number})
        closed = self.client.recv()
        assert closed["type"] == "session_closed", closed
        self.client.close()


@contextlib.contextmanager
def attacked(attack, target, world, neighbour):
    """Runs ATTACK: what it does in several jobs, in several sessions, one after another. Yields the last
    session, which is closed afterwards, and how the attack ended."""
    limits = {"wall_clock": 20, **attack.limits}
    mine = {key: value for key, value in limits.items() if key in OF_A_COMMAND}
    facts = target.facts(world, neighbour)
    session = None
    for arguments in attack.turns:
        if session:
            session.close()
        session = Session(target, {key: value for key, value in attack.limits.items() if key != "wall_clock"})
        session.put(attack.program)
        argv = ["/usr/bin/env", "./attack", *fill_in(arguments, facts)]
        ending = ending_of(session.command(argv=argv, limits=mine))
    try:
        yield session, ending
    finally:
        session.close()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_is_refused_in_a_session(attack, targets, world):
    """The attack is refused. The session goes on, and its end leaves no process, mount, file, cgroup,
    descriptor or System V object; nothing has changed on the host, and the slot grades a good job."""
    check_account(attack)
    target = targets.of(attack)
    if target.lacks(attack):
        pytest.skip(target.lacks(attack))
    assert target.grades_well() == ""  # a jail keeps a little from its first job on
    before = target.census()
    with company(attack, target, world) as neighbour:
        with attacked(attack, target, world, neighbour) as (session, ending):
            if neighbour:
                assert neighbour.is_well()
            wait_until(session.works, "the session still works")
        assert outlives(world.token) - ({neighbour.pid} if neighbour else set()) == set()
        if neighbour:
            assert neighbour.close(), "the neighbour ended before it was cancelled"
    if attack.open:
        assert ending.how in ("succeeded", "refused"), ending  # a new jail holds some of these
    elif attack.verdict == "outlives":
        assert ending.how != "lost", ending  # it may live on, but not beyond the session
    else:
        assert ending.how == "refused" or (ending.how == "stopped" and ending.limit), ending
        told = {attack.limit, attack.group} if target.groups_hold(attack) else {attack.limit}
        if ending.how == "refused" and "mount_namespace" not in target.in_force:
            told.add(None)
        assert ending.limit in told, ending
    assert world.touched() == []
    assert not processes_with(world.token), "a process is left"
    assert target.grades_well() == ""
    assert target.census_after(before) == before


class NeighbourSession:
    """Another session, which no command keeps busy: a process of it holds a secret."""

    def __init__(self, target, world):
        self.secret = f"{world.token}-secret"
        self.sees_processes = "pid_namespace" in target.in_force
        self.session = Session(target)
        script = 'echo secret >"$1"; mkfifo f; sh -c "exec 8<>f; read x <&8" "$1" "$1" >/dev/null 2>&1 &'
        assert self.session.command(argv=["/bin/sh", "-c", script, "sh", self.secret])["outcome"]["success"]
        self.pid = wait_until(lambda: processes_with(self.secret), "its process lives").pop()

    def is_well(self):
        told = self.session.command(argv=["/bin/sh", "-c", 'cat "$1"; ls /proc/[0-9]*/cwd/"$1"', "sh", self.secret])
        expected = "secret\n/proc/" if self.sees_processes else "secret\n"
        return self.pid in processes_with(self.secret) and told["stdout"].startswith(expected)

    def close(self):
        self.session.close()


ON_A_NEIGHBOUR = [attack for attack in ATTACKS if "neighbour" in attack.needs and not attack.neighbour]


@pytest.mark.parametrize("attack", ON_A_NEIGHBOUR, ids=lambda attack: attack.name)
def test_another_session_is_out_of_reach(attack, targets, world):
    check_account(attack)
    target = targets.of(attack)
    if target.lacks(attack):
        pytest.skip(target.lacks(attack))
    before = target.census()
    neighbour = NeighbourSession(target, world)
    with attacked(attack, target, world, neighbour) as (_, ending):
        assert neighbour.is_well()
    neighbour.close()
    if not attack.open:
        assert ending.how == "refused", ending
    assert not processes_with(world.token), "a process is left"
    assert target.census_after(before) == before


@pytest.mark.parametrize("shape", [(), ("landlock",)], ids=["all layers", "without landlock"])
def test_a_job_reaches_no_session(shape, targets, world):
    """What a job finds beside a session that has files and processes: nothing."""
    target = targets.get(2, shape)
    neighbour = NeighbourSession(target, world)
    look = f'ls /proc; ls -A /work /tmp /dev/shm; find / -name "{neighbour.secret}" 2>/dev/null; cat /proc/*/cmdline'
    answer = target.client.run({**GOOD_JOB, "argv": ["/bin/sh", "-c", look]}, id="look")
    if "mount_namespace" in target.in_force and "pid_namespace" in target.in_force:
        assert world.token not in answer["stdout"].replace(look, ""), answer["stdout"]
        assert str(neighbour.pid) not in answer["stdout"].split()
    assert neighbour.is_well()
    neighbour.close()


def test_the_copies_of_the_jail_that_handle_files_cannot_be_looked_into(targets):
    """`read` and `write` run in a copy of the jail. A process of the session that waits for one learns
    nothing from it: neither its memory nor its descriptors, and what it does with signals hurts only its
    own file."""
    target = targets.get(1)
    session = Session(target)
    spy = (
        "import os, time\n"
        "mine, seen = os.getpid(), set()\n"
        "end = time.time() + 100\n"
        "while time.time() < end and not os.path.exists('stop'):\n"
        "    try: names = os.listdir('/proc')\n"
        "    except OSError: names = map(str, range(mine, mine + 1000))\n"
        "    for name in names:\n"
        "        if not name.isdigit() or int(name) in (mine, os.getppid()): continue\n"
        "        for file in ('environ', 'maps', 'mem', 'fd/0', 'exe'):\n"
        "            try:\n"
        "                fd = os.open(f'/proc/{name}/{file}', os.O_RDONLY)\n"
        "                exe = os.readlink(f'/proc/{name}/exe')\n"
        "                if 'jail' in exe: seen.add(f'{file} of {exe}')\n"
        "            except OSError: pass\n"
        "open('seen', 'w').write(repr(sorted(seen)))\n"
    )
    assert session.command(write="spy.py", content=spy)["outcome"]["success"]
    session.command(argv=["/bin/sh", "-c", "python3 spy.py >/dev/null 2>&1 &"])
    part = "x" * (1 << 20)
    for _ in range(40):
        assert session.command(write="file", content=part)["outcome"]["success"]
        assert session.command(read="file")["outcome"]["success"]
    session.command(write="stop", content="")
    found = session.command(argv=["/bin/sh", "-c", "while [ ! -s seen ]; do sleep 0.01; done; cat seen"])
    assert found["stdout"] == "[]", found
    session.close()


def test_a_link_leads_a_written_file_no_further_than_a_program(targets, world):
    target = targets.get(1)
    session = Session(target)
    for place in ("/etc/passwd", "/proc/self/mem", "/proc/1/mem", f"{os.getcwd()}/planted", "/dev/mem"):
        session.command(argv=["ln", "-sfn", place, "link"])
        answer = session.command(write="link", content="planted")
        assert not answer["outcome"]["success"] and answer["errno"] in (
            "EACCES",
            "EROFS",
            "ENOENT",
            "EPERM",
            "EINVAL",
        ), answer
    assert world.touched() == []
    session.close()
