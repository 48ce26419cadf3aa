# SPDX-License-Identifier: MIT
"""A daemon under attack: runs attacks as jobs of kind `sandbox`, classifies how each ended, and counts
processes, descriptors, mounts, files and control groups before and after."""

import base64
import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import layers
from group import Group
from harness import ATTACKS, IDMAP, Closed, Daemon, wait_until
from idmap_helper import Helper
from world import ACCOUNT, FewWatches, Usage, World, as_account, fill_in, processes_with

# A variable of the daemon's environment that jobs must not see.
CREDENTIAL = "RUBRICD_SECRET"

LOOK = "echo good; ls -A; find /tmp /dev/shm -name 'plant-*' 2>/dev/null; exit 0"
GOOD_JOB = {"kind": "sandbox", "argv": ["/bin/sh", "-c", LOOK]}
# Waits for ever, without a child that could outlive it.
NEIGHBOUR = 'exec 9</usr/bin/env; flock 9; exec 7</dev/zero; flock 7; mkfifo f; exec 8<>f; echo secret > "$1"; read x <&8'
# The controller that enforces a limit in a control group. CPU time needs none: every group counts it.
CONTROLLERS = {"memory": "memory", "processes": "pids"}

# Seconds that an answer may take: a busy host removes 100,000 files slowly.
PATIENCE = 150
# Seconds that a process may take to die after its job was answered.
DYING = 2


@cache
def encoded(program):
    return base64.b64encode((ATTACKS / program).read_bytes()).decode()


def job_of(attack, arguments):
    """Makes the job of an attack. `env` runs the program from the working directory, wherever that is, and
    leaves the environment unchanged."""
    return {
        "kind": "sandbox",
        "argv": ["/usr/bin/env", "./attack", *arguments],
        "files": {"attack": {"base64": encoded(attack.program), "mode": "0755"}},
        "limits": {"wall_clock": 20, **attack.limits},
    }


@dataclass
class Ending:
    """How an attack ended: "succeeded", "refused", "stopped" (by a limit, named in `limit`, or by a signal)
    or "lost" (an error instead of a result)."""

    how: str
    limit: str | None
    answer: dict

    @property
    def printed(self):
        return self.answer.get("stdout", "")

    def __str__(self):
        outcome = self.answer.get("outcome") or self.answer
        return f"{self.how} (limit {self.limit})\n{self.printed[-2000:]}\n{outcome}"


def ending_of(answer):
    if answer["type"] == "error":
        return Ending("lost", None, answer)
    outcome, printed = answer["outcome"], answer["stdout"]
    limit = outcome["limit_exceeded"]
    assert "unclear: " not in printed, f"the attack could not judge its result: {printed}"
    if "SUCCEEDED: " in printed and outcome["exit_code"] == 0:
        return Ending("succeeded", limit, answer)
    if outcome["exit_code"] == 1 and "refused: " in printed:
        return Ending("refused", limit, answer)
    return Ending("stopped", limit, answer)


def outlives(token):
    """Returns the processes with TOKEN that are still alive after the time that dying may take."""
    end = time.monotonic() + DYING
    while found := processes_with(token):
        if time.monotonic() > end:
            return found
        time.sleep(0.01)
    return found


class Neighbour:
    """A job that runs in the other slot, with a file that other jobs must not see; or the one that
    ATTACK names."""

    def __init__(self, target, world, attack):
        self.secret = f"{world.token}-secret"
        self.client = target.daemon.connect()
        job = {"kind": "sandbox", "argv": ["/bin/sh", "-c", NEIGHBOUR, "sh", self.secret]}
        if attack.neighbour:
            job = job_of(attack, fill_in(attack.neighbour, world.facts()))
            job["limits"]["wall_clock"] = PATIENCE
        self.client.submit("neighbour", job)
        # Before its child calls execve, both have the same command line.
        only = wait_until(lambda: len(found := processes_with(self.secret)) == 1 and found, "it runs")
        self.pid = only.pop()
        if attack.neighbour:
            self._let_go()
        wait_until(self._has_secret, "the neighbour has its secret")

    def _let_go(self):
        """Lets the attack begin once the daemon needs nothing more for its job."""
        wait_until(lambda: Path(f"/proc/{self.pid}/cwd/{self.secret}-waits").exists(), "the neighbour waits")
        assert self.client.recv()["type"] == "started"
        os.kill(self.pid, signal.SIGUSR1)

    def _has_secret(self):
        return Path(f"/proc/{self.pid}/cwd/{self.secret}").exists()

    def is_well(self):
        return self.pid in processes_with(self.secret) and self._has_secret()

    def close(self):
        """Cancels the job. Returns whether it ended by that, and not before."""
        self.client.send({"type": "cancel", "id": "neighbour"})
        answer = self.client.recv_answer("neighbour")
        self.client.close()
        return answer["type"] == "error" and answer["code"] == "cancelled"


class Target:
    """A daemon with a number of slots and WITHOUT some layers, under an account of its own. OWN_UID: with
    the helper that gives each slot a uid."""

    count = 0

    def __init__(self, slots=1, without=(), own_uid=False):
        Target.count += 1
        account = ACCOUNT + Target.count if os.geteuid() == 0 else ACCOUNT
        self.slots, self.without = slots, frozenset(without)
        self.directory = Path(tempfile.mkdtemp(prefix="rubricd-target-", dir="/dev/shm"))
        os.chown(self.directory, account, -1)
        self.group = Group(self.directory.name, account)
        self.directory.chmod(0o755)
        self.metrics = self.directory / "metrics"
        self.helper = Helper(IDMAP, self.directory, account, as_account(account)[:-1]) if own_uid else None
        settings = [
            f"isolation.idmap_socket={self.helper.path if self.helper else ''}",
            f"daemon.slots={slots}",
            "ceilings.wall_clock=300s",
            f"metrics.listen=unix:{self.metrics}",
        ]
        if without:
            settings += [f"isolation.without={' '.join(sorted(without))}", "isolation.require="]
        self.daemon = Daemon(
            self.directory,
            *settings,
            prefix=[*self.group.prefix(), *as_account(account)],
            env={"PATH": "/usr/bin:/bin", CREDENTIAL: "of the daemon"},
        )
        self.client = self.daemon.connect()
        self.in_force = set(self.client.hello["isolation"]["layers"])

    def close(self):
        self.client.close()
        if self.is_alive():
            assert self.daemon.stop() == 0, self.daemon.log()
        if self.helper:
            self.helper.close()
        subprocess.run(["rm", "-rf", self.directory], check=True)  # any depth
        wait_until(self.group.closes, "the control group is empty")

    def is_alive(self):
        return self.daemon.process.poll() is None

    # --- jobs ----------------------------------------------------------------------------------

    def groups_hold(self, attack):
        """Returns whether the daemon has control groups that hold the attack."""
        needed = CONTROLLERS.get(attack.group)
        has = needed is None or needed in self.group.controllers()
        return attack.group is not None and has and "cgroup" in self.in_force

    def lacks(self, attack):
        """Returns why nothing holds the attack here, as text; '' if something does."""
        if "group" in attack.needs and not self.groups_hold(attack):
            return "only a control group can hold the attack, and this host has none that can"
        record = layers.records().get(attack.name)
        if not self.without and not layers.is_held(record, self.in_force):
            holders = " ".join(record["alone"] + record["together"])
            return f"{holders} would hold the attack, but this host lacks a layer of these"
        return ""

    def facts(self, world, neighbour):
        return world.facts(
            daemon=self.daemon.process.pid,
            neighbour=neighbour.pid if neighbour else 0,
            work=self.daemon.work,
            socket=self.daemon.socket,
            metrics=self.metrics,
            socket_directory=self.directory,
        )

    def run(self, attack, world, neighbour=None):
        """Runs all jobs of the attack in order. Returns how the last one ended."""
        facts = self.facts(world, neighbour)
        for arguments in attack.turns:
            ending = ending_of(self._answer(job_of(attack, fill_in(arguments, facts))))
        if attack.verdict == "outlives" and outlives(world.token):
            ending.how = "succeeded"
        return ending

    def _answer(self, job):
        try:
            with self.daemon.connect() as client:
                client.sock.settimeout(PATIENCE)
                return client.run(job)
        except (Closed, OSError) as error:
            return {"type": "error", "code": "gone", "message": repr(error)}

    def grades_well(self):
        """Runs a good job. Returns '' if it passes and finds nothing of another job."""
        answer = self.client.run(GOOD_JOB, id="good")
        if answer["type"] != "result" or answer["score"]["passed"] is not True:
            return f"a good job failed: {answer}"
        if answer["stdout"] != "good\n":
            return f"a good job found what is not its own: {answer['stdout']!r}"
        if set(answer["isolation"]["layers"]) != self.in_force:
            return f"a good job ran with other layers: {answer['isolation']}"
        return ""

    # --- counting ------------------------------------------------------------------------------

    def idle_jails(self):
        """Returns the jails' pids if every slot is idle, otherwise a false value."""
        slots = self.client.status()["slots"]
        pids = {slot["jail_pid"] for slot in slots}
        if any(slot["state"] != "idle" for slot in slots):
            return None
        # After the notice of a job's end the jail still cleans up. Then it sleeps.
        quiet = all(sleeps(pid) for pid in pids)
        return pids if quiet and self.daemon.descendants() == pids else None

    def census(self):
        """Counts processes, descriptors, mounts, files and cgroups while no job runs."""
        jails = wait_until(self.idle_jails, "every slot is idle and has nothing but its jail")
        pids = [self.daemon.process.pid, *sorted(jails)]
        return {
            "processes": len(pids),
            "descriptors": [seen(lambda: os.listdir(f"/proc/{pid}/fd")) for pid in pids],
            "mounts": [seen(lambda: mounts_of(pid)) for pid in pids],
            "files": sorted(
                str(path.relative_to(self.daemon.work))
                for path in self.daemon.work.rglob("*")
                if path.name.startswith("job-") or path.parent != self.daemon.work
            ),
            "groups": self.group.of_jobs(),
        }

    def census_after(self, before):
        """Counts until the result is BEFORE or PATIENCE is over: the daemon closes a connection some
        time after its client did. Returns the last count."""
        end = time.monotonic() + PATIENCE
        while (now := self.census()) != before and time.monotonic() < end:
            select.select([], [], [], 0.005)
        return now


def mounts_of(pid):
    """Lists the mounts that PID sees, but for those that other tests make on the host meanwhile: small_disk() in
    tests/integration/conftest.py."""
    lines = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
    return [line for line in lines if " - tmpfs rubricd-test " not in line]


def sleeps(pid):
    text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    return text[text.rindex(")") + 2] == "S"


def seen(look):
    """Returns the number of items that LOOK() finds; None if only root may look, because the daemon and
    its jails are not dumpable."""
    try:
        return len(look())
    except PermissionError:
        return None


class Targets:
    """Daemons by their properties, each started on first use."""

    def __init__(self):
        self.running = {}

    def get(self, slots=1, without=(), own_uid=False):
        key = (slots, frozenset(without), own_uid)
        target = self.running.get(key)
        if target and not target.is_alive():  # an attack has ended it
            self.running.pop(key).close()
        if key not in self.running:
            self.running[key] = Target(slots, without, own_uid)
        return self.running[key]

    def of(self, attack, without=()):
        """Returns the daemon for ATTACK."""
        return self.get(2 if "neighbour" in attack.needs else 1, without, "own_uid" in attack.needs)

    def close(self):
        for target in self.running.values():
            target.close()


def end_processes(pids):
    """Kills the processes that a successful attack has left."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def company(attack, target, world):
    """Provides what the attack needs: a neighbour (yielded; None if not needed) and use of files."""
    with contextlib.ExitStack() as stack:
        if "usage" in attack.needs:
            stack.enter_context(Usage())
        if "few_watches" in attack.needs:
            stack.enter_context(FewWatches())
        yield Neighbour(target, world, attack) if "neighbour" in attack.needs else None


def let_through(attack, targets, without):
    """Returns whether the attack succeeds on a daemon WITHOUT those layers, and how it ended. Fails the
    test if the result is inconclusive."""
    target = targets.of(attack, without)
    with World() as world, company(attack, target, world) as neighbour:
        ending = target.run(attack, world, neighbour)
        if neighbour:
            with contextlib.suppress(Closed, OSError):
                neighbour.close()
        end_processes(processes_with(world.token))
    assert ending.how != "lost" or attack.ends == "jail", ending
    assert ending.limit != "wall_clock" or attack.limit or attack.verdict == "outlives", ending
    return ending.how in ("lost", "succeeded"), ending
