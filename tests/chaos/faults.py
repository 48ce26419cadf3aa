# SPDX-License-Identifier: MIT
"""What is done to the daemon while jobs run. Each fault begins, lasts, and ends; after its end nothing of it
may be left."""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import world
from place import FILES, IS_ROOT, RECOVERY, SHAPES, is_sanitized

HOUR = 3600
RESOURCES = {"nofile": "Max open files", "as": "Max address space", "nproc": "Max processes"}


class Wrong(Exception):
    """The daemon has answered a fault as it should not."""


def pick_of(found, pick):
    return found[int(pick * len(found))] if found else None


def send_signal(pid, number):
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def start_time(pid):
    """Returns what tells a process from a later one of the same number; None if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return None


# --- processes ------------------------------------------------------------------------------------------


def twins(place):
    found = []
    for jail in place.jails():
        with contextlib.suppress(OSError):
            for pid in Path(f"/proc/{jail}/task/{jail}/children").read_text().split():
                if Path(f"/proc/{pid}/comm").read_text().strip() == "rubricd-twin":
                    found.append(int(pid))
    return found


def killer(find):
    def begin(place, pick):
        pid = pick_of(find(place), pick)
        send_signal(pid, signal.SIGKILL)
        return pid

    return begin


def await_gone(place, killed):
    """Waits until the daemon has seen the end of what was KILLED: a job that it gives to a jail which is no more
    is lost with it, and that belongs to the fault."""
    pids = killed if isinstance(killed, list) else [killed]
    end = time.monotonic() + RECOVERY
    while set(pids) & set(place.jails()):
        if time.monotonic() > end:
            raise Wrong(f"{pids} were killed {RECOVERY} s ago, and the daemon has not seen it")
        time.sleep(0.01)


def stopper(find):
    def begin(place, pick):
        pid = pick_of(find(place), pick)
        send_signal(pid, signal.SIGSTOP)
        return pid and (pid, start_time(pid))

    return begin


def go_on(_, stopped):
    if stopped and start_time(stopped[0]) == stopped[1]:
        send_signal(stopped[0], signal.SIGCONT)


def kill_all_jails(place, _):
    killed = [*place.jails(), *place.zygotes()]
    for pid in killed:
        send_signal(pid, signal.SIGKILL)
    return killed


# --- the daemon -----------------------------------------------------------------------------------------


def kill_daemon(place, _):
    return place.end("killed", signal.SIGKILL) or True


def terminate(place, _):
    status = place.end("draining", signal.SIGTERM)
    if status != 0:
        raise Wrong(f"the daemon ended with {status} after SIGTERM")
    return True


def drain(place, _):
    place.endings[place.pid] = "draining"
    place.control.send({"type": "drain"})
    status = place.await_end()
    if status != 0:
        raise Wrong(f"the daemon ended with {status} after a drain")
    return True


def start_again(place, _):
    place.start()


def answer_to_reload(place):
    place.control.send({"type": "reload"})
    return place.control.recv()


def reload_with(place, **what):
    place.configure(**what)
    answer = answer_to_reload(place)
    if answer["type"] != "reloaded" and answer.get("code") not in ("internal", "sandbox_failed"):
        raise Wrong(f"reload: {answer}")
    return answer["type"] == "reloaded"


def reload(place, pick):
    reload_with(place, slots=1 + int(pick * 4), files=FILES - int(pick * 100))
    return True


def reload_back(place, _):
    end = time.monotonic() + RECOVERY
    while not reload_with(place):
        if time.monotonic() > end:
            raise Wrong(f"no reload succeeds for {RECOVERY} s")
        time.sleep(0.1)


def reload_storm(place, pick):
    for n in range(12):
        reload_with(place, slots=1 + (n + int(pick * 4)) % 4)
    return True


def reload_nonsense(place, _):
    place.config.write_text("[daemon]\nslots = many\n")
    answer = answer_to_reload(place)
    if (answer["type"], answer.get("code")) != ("error", "bad_request"):
        raise Wrong(f"a reload of nonsense: {answer}")
    return True


# --- the host -------------------------------------------------------------------------------------------


def fill_disk(place, _):
    if not place.disk:
        return None
    with contextlib.suppress(OSError), open(place.disk / "ballast", "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))
    with contextlib.suppress(OSError), open(place.disk / "ballast", "ab", buffering=0) as file:
        while True:
            file.write(b"x")
    return True


def free_disk(place, _):
    with contextlib.suppress(FileNotFoundError):
        (place.disk / "ballast").unlink()


def take_work_away(place, _):
    place.daemon.work.rename(place.daemon.work.with_name("away"))
    killed = place.jails()
    for pid in killed:
        send_signal(pid, signal.SIGKILL)
    return killed or True


def bring_work_back(place, killed):
    place.daemon.work.with_name("away").rename(place.daemon.work)
    await_gone(place, killed)


def step_clock(place, pick):
    if not place.clock:
        return None
    place.clock.offset.value = int((pick - 0.5) * 2 * 24 * 365 * HOUR)
    return True


def clock_back(place, _):
    place.clock.offset.value = 0


def soft_limit(pid, name):
    """Returns a soft limit of a process as `prlimit` takes it."""
    for line in Path(f"/proc/{pid}/limits").read_text().splitlines():
        if line.startswith(RESOURCES[name]):
            return line[len(RESOURCES[name]) :].split()[0]
    raise OSError(f"no limit {name} of {pid}")


def set_limit(place, pid, name, soft):
    """Sets a soft limit of a process. Its own account may do so; root without all of its rights may not."""
    command = [*world.as_account(place.account), "prlimit", f"--pid={pid}", f"--{name}={soft}:"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def limit(place, pids, name, soft):
    """Lowers a soft limit of PIDS; returns how to undo it."""
    before = []
    for pid in pids:
        with contextlib.suppress(OSError):
            was = soft_limit(pid, name)
            if set_limit(place, pid, name, soft(pid)):
                before.append((pid, start_time(pid), name, was))
    return before


def unlimit(place, before):
    for pid, started, name, was in before:
        if start_time(pid) == started and not set_limit(place, pid, name, was):
            raise Wrong(f"the limit {name} of {pid} cannot be set back to {was}")


def few_descriptors(place, pick):
    used = len(os.listdir(f"/proc/{place.pid}/fd")) if IS_ROOT else 40
    return limit(place, [place.pid], "nofile", lambda _: used + int(pick * 6))


def size_of(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmSize:")[1].split()[0]) << 10


def little_memory(place, pick):
    if is_sanitized():  # it ends a process that gets no memory
        return None
    place.short.add(place.pid)
    return limit(place, [place.pid], "as", lambda p: size_of(p) + int(pick * (4 << 20)))


def few_processes(place, _):
    return limit(place, [place.pid, *place.zygotes()], "nproc", lambda _: 1)


def kill_helper(place, _):
    place.helper.close()
    return True


def start_helper(place, _):
    place.start_helper()


# --- other clients --------------------------------------------------------------------------------------


def connect_many(place, pick):
    """Sixty connections, of which some begin a large frame."""
    socks = []
    for n in range(60):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            sock.connect(str(place.daemon.socket))
            if n / 60 < pick:
                sock.send(struct.pack(">I", 1 << 20) + json.dumps({"type": "submit"}).encode())
        socks.append(sock)
    return socks


def disconnect(_, socks):
    for sock in socks:
        sock.close()


def nothing(_, __):
    """The fault is over by itself."""


@dataclass(frozen=True)
class Fault:
    """begin(place, pick) returns what end() needs, or None if there was nothing to do it to."""

    begin: Callable
    end: Callable = nothing
    holds: tuple = (0,)
    shapes: tuple = tuple(SHAPES)


WARM = tuple(shape for shape in SHAPES if shape in ("all layers", "own uid"))
FAULTS = {
    "jail killed": Fault(killer(lambda place: place.jails()), await_gone),
    "jail stopped": Fault(stopper(lambda place: place.jails()), go_on, (0.3, 2, 12)),
    "all jails killed": Fault(kill_all_jails, await_gone),
    "twin killed": Fault(killer(twins)),
    "twin stopped": Fault(stopper(twins), go_on, (0.3, 2)),
    # The daemon sees that when it wants a jail.
    "zygote killed": Fault(killer(lambda place: place.zygotes()), shapes=WARM),
    "zygote stopped": Fault(stopper(lambda place: place.zygotes()), go_on, (0.3, 3), shapes=WARM),
    "daemon stopped": Fault(stopper(lambda place: [place.pid]), go_on, (0.3, 3)),
    "daemon killed": Fault(kill_daemon, start_again, (0, 0.5)),
    "daemon terminated": Fault(terminate, start_again, (0, 0.5)),
    "drain": Fault(drain, start_again, (0, 0.5)),
    "reload": Fault(reload, reload_back, (0.3, 1)),
    "reload storm": Fault(reload_storm, reload_back),
    "reload of nonsense": Fault(reload_nonsense, reload_back),
    "disk full": Fault(fill_disk, free_disk, (0.5, 2)),
    "work directory away": Fault(take_work_away, bring_work_back, (0.5, 2)),
    "clock stepped": Fault(step_clock, clock_back, (0.3, 1)),
    "descriptors out": Fault(few_descriptors, unlimit, (0.3, 1, 3)),
    "memory out": Fault(little_memory, unlimit, (0.3, 1)),
    "processes out": Fault(few_processes, unlimit, (0.5, 2)),
    "helper gone": Fault(kill_helper, start_helper, (0.5, 3), shapes=("own uid",)),
    "many connections": Fault(connect_many, disconnect, (0.3, 1)),
}


