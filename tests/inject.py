#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Fails one use of one function in the daemon, in a jail or in a client, and looks at what becomes of a
batch of rubric, sandbox and code_exec jobs. A shortage is never a verdict: each job gets its right answer or a retriable
error with its id; nothing hangs, nothing dies, and the next batch is clean.

    RUBRICD_BUILD=build tests/inject.py                       all of it: every function at its 1st, 2nd, 4th, 8th use
    RUBRICD_BUILD=build tests/inject.py --short               a selection, in seconds
    RUBRICD_BUILD=build tests/inject.py --role jail --phase start --function mmap64 --use 4 --where

A row of the table is a function in a phase; its columns count jobs by outcome:

    right      the answer is that of a batch without a failure
    retriable  an error with the job's id that says that it can be retried
    ended      the daemon ended before it said hello, with a message; or a client did
    closed     the connection was closed: its client knows that it has no answer
    wrong      another answer, or an error that is for good
    no id      an error that names no job
    hung       no answer in time
    crashed    the daemon died, or a later batch was not clean

The last four are faults, and so is `closed` unless the failing call was the connection's own: then the
exit status is 1. Uses are counted from the start of the process (start), from hello (running), or from a
new connection (connect)."""

import argparse
import collections
import ctypes
import errno
import itertools
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "integration"))
import conftest  # noqa: E402

SOURCE = HERE / "inject" / "inject.c"
PATIENCE = 10.0  # seconds without a message in which nobody is given up for hung
FRAMES_MAX = 24
ROLES = {"daemon": 1, "jail": 2, "client": 3}
USES = (1, 2, 4, 8)

# What the kernel says when such a call cannot be served.
ERRORS = {
    errno.ENOMEM: "malloc calloc realloc open_memstream mmap64 recvmsg recv poll mount realpath readlink execveat",
    errno.EMFILE: "open open64 openat openat64 fopen fopen64 opendir fdopendir pipe2 socketpair socket "
    "memfd_create fcntl fcntl64 dup2 dup3 epoll_create1 timerfd_create eventfd openat2 pidfd_open",
    errno.ENFILE: "accept4",
    errno.EIO: "read pread64 readdir64 unlinkat",
    errno.ENOSPC: "write pwrite64 sendfile64 splice epoll_ctl mkdir mkdirat",
    errno.ENOBUFS: "writev send sendto sendmsg",
    errno.EAGAIN: "clone clone3",
    errno.EINTR: "readv epoll_wait wait4 waitid",
}
ERROR_OF = {name: number for number, names in ERRORS.items() for name in names.split()}
# The functions through which a connection is read and written: it cannot outlive an error of its own.
OF_CONNECTIONS = {"readv", "writev", "accept4", "epoll_ctl"}
# One case for each class of faults that were once found.
SHORT = [
    ("daemon", "running", "malloc", 1),  # libevent: a buffer for what a client sends
    ("daemon", "running", "malloc", 2),  # the JSON parser
    ("daemon", "running", "realloc", 1),
    ("daemon", "running", "openat2", 1),
    ("daemon", "running", "realpath", 1),
    ("daemon", "running", "read", 1),
    ("daemon", "running", "memfd_create", 1),
    ("daemon", "running", "sendmsg", 1),
    ("client", "start", "writev", 1),
    ("daemon", "start", "open64", 1),
    # Where the warm jail is: without it the digest is another one. What is looked at before depends on the host.
    ("daemon", "start", "readlink", 1),
    ("daemon", "start", "readlink", 2),
    ("jail", "start", "open64", 1),
    ("jail", "running", "recvmsg", 8),  # while a job runs
]
NO_RESTART = (os.EX_USAGE, os.EX_CONFIG)
FAULTS = ("wrong", "no id", "hung", "crashed")
OUTCOMES = ("right", "retriable", "ended", "closed", *FAULTS)


class Control(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int32)
        for name in ("role", "function", "left", "error", "calls", "fired", "frame_count", "unused")
    ] + [("frame", ctypes.c_uint64 * FRAMES_MAX)]


class Injector:
    """The library, and the file by which it is told what fails."""

    def __init__(self, directory):
        self.library = directory / "inject.so"
        self.path = directory / "control"
        text = re.sub(r"\\\n", " ", SOURCE.read_text())
        self.names = re.findall(r"X\((\w+)\)", re.search(r"#define NAMES\(X\)(.*)", text)[1])
        subprocess.run(
            ["cc", "-O1", "-D_GNU_SOURCE", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-o", self.library, SOURCE],
            check=True,
        )
        self.path.write_bytes(bytes(ctypes.sizeof(Control)))
        self.path.chmod(0o666)
        self.library.chmod(0o755)
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        self.control = Control.from_buffer(self.map)

    def environment(self, role):
        return {
            **os.environ,
            "LD_PRELOAD": str(self.library),
            "INJECT_CONTROL": str(self.path),
            "INJECT_ROLE": str(ROLES[role]),
        }

    def arm(self, role, function, use):
        control = self.control
        control.left = 0
        control.role, control.function = ROLES[role], self.names.index(function)
        control.error = ERROR_OF[function]
        control.calls = control.fired = control.frame_count = 0
        control.left = use

    def disarm(self):
        """Returns whether a use has failed."""
        self.control.left = 0
        return self.control.fired != 0

    def where(self):
        return list(self.control.frame[: self.control.frame_count])


def make_bench(root):
    bench = conftest.Bench(root)
    score = {"passed": True, "score": 0.5, "breakdown": {"a": 0.5}, "failure_modes": []}
    bench.rubric(f"print({json.dumps(json.dumps(score))})\n", "listed", {"breakdown_keys": ["a"]})
    bench.rubric(f"print({json.dumps(json.dumps(score))})\n", "unlisted", {"breakdown_keys": []})
    bench.rubric("raise SystemExit('broken on purpose')\n", "broken")
    return bench


def jobs_of(bench):
    """Returns jobs of these kinds by id, each with a result of its own."""
    sandbox = {"kind": "sandbox"}
    code = {"kind": "code_exec", "targets": ["assert f(2) == 4", "assert f(3) == 6"]}
    return {
        "rubric": bench.job(name="listed"),
        "rubric-cold": bench.job(name="listed", warm=False),
        "rubric-unlisted": bench.job(name="unlisted"),
        "rubric-broken": bench.job(name="broken"),
        "rubric-unrun": bench.job(name="listed", sut={"status": "timeout"}),
        "argv": {**sandbox, "argv": ["/bin/echo", "hello"]},
        "fails": {**sandbox, "argv": ["/bin/sh", "-c", "echo out; echo why >&2; exit 3"]},
        "long": {**sandbox, "argv": ["/bin/sh", "-c", "printf %0100000d 7"]},
        "snippet": {**sandbox, "snippet": "echo $((6 * 7))"},
        "files": {
            **sandbox,
            "argv": ["/bin/cat", "one", "-"],
            "files": {"one": "first\n"},
            "stdin": "second\n",
        },
        "pass": {**code, "code": "def f(x): return 2 * x"},
        "fail": {**code, "code": "def f(x): return 4"},
        "answer": {"kind": "code_exec", "targets": code["targets"], "generation": "So:\n```python\ndef f(x):\n    return x + x\n```\n"},
    }


VOLATILE = ("usage", "job_no", "isolation", "interpreter", "deadline")


def essence(message):
    """Returns MESSAGE without what differs from run to run."""
    kept = {key: value for key, value in message.items() if key not in VOLATILE}
    if kept.get("score"):
        kept["score"] = {key: value for key, value in kept["score"].items() if key != "wall_clock_ms"}
    return kept


class Batch:
    """One batch on one connection. `answers` has the last message for each id."""

    def __init__(self, jobs):
        self.jobs, self.answers, self.end, self.nameless = jobs, {}, None, 0

    def run(self, client):
        client.sock.settimeout(PATIENCE)
        try:
            for id, job in self.jobs.items():
                client.submit(id, job)
            while len(self.answers) + self.nameless < len(self.jobs):
                message = client.recv()
                if message["type"] == "started":
                    continue
                if "id" not in message:
                    self.nameless += 1
                    continue
                self.answers[message["id"]] = message
        except TimeoutError:
            self.end = "hung"
        except (conftest.Closed, ConnectionError, BrokenPipeError):
            self.end = "closed"
        return self

    def outcomes(self, reference):
        # An error that ends the connection is about the connection.
        counted = collections.Counter({"no id": 0 if self.end == "closed" else self.nameless})
        for id in self.jobs:
            answer = self.answers.get(id)
            if answer is None:
                counted[self.end or "hung"] += 1
            elif answer["type"] == "error":
                counted["retriable" if answer["retriable"] else "wrong"] += 1
            else:
                counted["right" if essence(answer) == reference[id] else "wrong"] += 1
        # What names no job is missing as an answer, too.
        counted["hung"] -= min(counted["hung"], self.nameless)
        return +counted

    def faults(self, reference):
        return {
            id: answer
            for id, answer in self.answers.items()
            if (not answer["retriable"] if answer["type"] == "error" else essence(answer) != reference[id])
        }


class Target:
    """A daemon that can be made to fail, started again whenever it is gone."""

    def __init__(self, directory, settings=()):
        self.directory, self.settings = directory, settings
        self.injector = Injector(directory)
        bench_root = directory / "bench"
        self.bench = make_bench(bench_root)
        self.jobs = jobs_of(self.bench)
        self.count, self.daemon, self.reference, self.isolation = 0, None, None, None

    def place(self):
        self.count += 1
        place = self.directory / f"d{self.count}"
        place.mkdir()
        return place

    def up(self):
        if self.daemon and self.daemon.process.poll() is None:
            return self.daemon
        self.daemon = conftest.Daemon(
            self.place(), *self.settings, env=self.injector.environment("daemon")
        )
        return self.daemon

    def calibrate(self):
        with self.up().connect() as client:
            self.isolation = client.hello["isolation"]
            batch = Batch(self.jobs).run(client)
        assert len(batch.answers) == len(self.jobs), (batch.end, batch.answers)
        self.reference = {id: essence(answer) for id, answer in batch.answers.items()}
        for id, answer in batch.answers.items():
            assert answer["type"] == "result", (id, answer)

    def clean(self):
        """Returns what is wrong with a batch in which nothing fails; None if nothing is."""
        if self.daemon.process.poll() is not None:
            return f"the daemon ended with {self.daemon.process.returncode}: {self.daemon.log()[-500:]}"
        try:
            with self.daemon.connect() as client:
                batch = Batch(self.jobs).run(client)
        except (OSError, conftest.Closed) as error:
            return f"the next batch: {error!r}"
        if set(batch.outcomes(self.reference)) != {"right"}:
            return f"the next batch: {batch.end} {dict(batch.outcomes(self.reference))} {batch.faults(self.reference)}"
        return None

    def stop(self):
        self.injector.disarm()
        if self.daemon:
            self.daemon.process.kill()
            self.daemon.process.wait()
            self.daemon.log_file.close()

    def lines(self):
        """Returns the places of the use that failed, as function and line."""
        found = []
        try:
            maps = Path(f"/proc/{self.injector.control.fired}/maps").read_text().splitlines()
        except OSError:
            maps = Path(f"/proc/{self.daemon.process.pid}/maps").read_text().splitlines()
        for address in self.injector.where()[1:]:
            for line in maps:
                fields = line.split()
                low, high = (int(x, 16) for x in fields[0].split("-"))
                if low <= address < high and len(fields) > 5:
                    at = address - low + int(fields[2], 16)
                    done = subprocess.run(
                        ["addr2line", "-fse", fields[5], hex(at - 1)], capture_output=True, text=True, check=False
                    )
                    name, _, place = done.stdout.strip().partition("\n")
                    found.append(f"{name} {place}" if "?" not in name else f"{Path(fields[5]).name}+{at:#x}")
        return found


class Result:
    def __init__(self):
        self.outcomes, self.injected, self.unreached, self.complaints = collections.Counter(), 0, 0, []
        self.idle = []


def inject_running(target, role, phase, function, use, result):
    daemon = target.up()
    injector = target.injector
    batch = Batch(target.jobs)
    if phase == "running":
        with daemon.connect() as client:
            injector.arm(role, function, use)
            batch.run(client)
    else:
        injector.arm(role, function, use)
        try:
            with daemon.connect(hello=False) as client:
                client.sock.settimeout(PATIENCE)
                first = client.recv()
                if first["type"] == "hello":
                    batch.run(client)
                else:
                    batch.end = "closed"
        except TimeoutError:
            batch.end = "hung"
        except (OSError, conftest.Closed):
            batch.end = "closed"
    fired = injector.disarm()
    result.injected += fired
    result.unreached += not fired
    outcomes = batch.outcomes(target.reference)
    trouble = target.clean()
    if trouble:
        outcomes["crashed"] += 1
    result.outcomes.update(outcomes)
    accepted = {"right", "retriable"}
    if function in OF_CONNECTIONS or phase == "connect":
        accepted.add("closed")
    if set(outcomes) - accepted:
        result.complaints.append(
            {
                "case": f"{role} {phase} {function} {use}",
                "outcomes": dict(outcomes),
                "where": target.lines() if daemon.process.poll() is None else "?",
                "faults": batch.faults(target.reference),
                "trouble": trouble,
            }
        )
    if trouble:
        target.stop()


def outcomes_of_command(done, target):
    """Counts the jobs of a `rubricctl batch` that has ended, and tells what is wrong with it."""
    counted, complete = collections.Counter(), done.returncode in (0, 1)
    if done.returncode < 0:
        return collections.Counter(crashed=1), f"signal {-done.returncode}"
    answers = {}
    for line in done.stdout.splitlines():
        try:
            answers.update([(json.loads(line)["id"], json.loads(line))])
        except (ValueError, KeyError):
            if complete:  # a batch that was broken off may end inside a line
                counted["wrong"] += 1
    for id in target.jobs:
        answer = answers.get(id)
        if answer is None:
            counted["wrong" if complete else "ended"] += 1
        elif answer["type"] == "error":
            counted["retriable" if answer["retriable"] else "wrong"] += 1
        else:
            told = {key: value for key, value in essence(answer).items() if key in target.reference[id]}
            counted["right" if told == target.reference[id] else "wrong"] += 1
    if counted["ended"] and not done.stderr.strip():
        return counted + collections.Counter(wrong=1), f"status {done.returncode} without a word"
    return counted, f"status {done.returncode}: {done.stderr[-300:]!r}"


def inject_client(target, function, use, result):
    """Runs the batch with rubricctl."""
    daemon, injector = target.up(), target.injector
    lines = target.directory / "jobs.jsonl"
    lines.write_text("".join(json.dumps({"id": id, **job}) + "\n" for id, job in target.jobs.items()))
    injector.arm("client", function, use)
    try:
        done = subprocess.run(
            [conftest.RUBRICCTL, "--socket", daemon.socket, "batch", lines],
            env=injector.environment("client"), capture_output=True, text=True, timeout=3 * PATIENCE, check=False,
        )
        outcomes, trouble = outcomes_of_command(done, target)
    except subprocess.TimeoutExpired:
        outcomes, trouble = collections.Counter(hung=1), None
    fired = injector.disarm()
    result.injected += fired
    result.unreached += not fired
    result.outcomes.update(outcomes)
    if set(outcomes) & set(FAULTS):
        result.complaints.append(
            {"case": f"client {function} {use}", "outcomes": dict(outcomes), "trouble": trouble}
        )


def inject_start(target, role, function, use, result):
    """Starts a daemon that fails before it is up."""
    target.stop()
    target.injector.arm(role, function, use)
    place = target.place()
    daemon = conftest.Daemon.__new__(conftest.Daemon)
    outcome, trouble = None, None
    saved = conftest.wait_until

    def wait(condition, what, deadline=PATIENCE):
        end = time.monotonic() + deadline
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(what)
            time.sleep(0.005)

    conftest.wait_until = wait
    try:
        daemon.__init__(place, *target.settings, env=target.injector.environment("daemon"))
        target.daemon = daemon
    except TimeoutError:
        outcome = "hung"
    except AssertionError:
        status, log = daemon.process.returncode, daemon.log()
        ended = status is not None and status > 0 and log.strip() != ""
        outcome, trouble = ("ended", None) if ended else ("crashed", f"status {status}: {log[-500:]}")
        if ended and status in NO_RESTART:
            outcome, trouble = "wrong", f"status {status} says that no restart helps: {log[-500:]}"
    finally:
        conftest.wait_until = saved
    fired = target.injector.disarm()
    result.injected += fired
    result.unreached += not fired
    if outcome is None:
        target.daemon = daemon
        trouble = target.clean()
        outcome = "crashed" if trouble else "right"
        with daemon.connect() as client:
            if client.hello["isolation"] != target.isolation:
                outcome, trouble = "wrong", f"other layers: {client.hello['isolation']}"
    result.outcomes[outcome] += 1
    if outcome in FAULTS:
        result.complaints.append(
            {"case": f"{role} start {function} {use}", "outcome": outcome, "trouble": trouble}
        )
    target.daemon = daemon
    target.stop()
    target.daemon = None


def report(rows):
    print(f"{'role':7} {'phase':8} {'function':15} {'fired':>5} " + " ".join(f"{o:>9}" for o in OUTCOMES))
    total = Result()
    for (role, phase, function), result in rows.items():
        total.unreached += result.unreached
        total.idle += [] if result.injected else [f"{role} {phase} {function}"]
        if result.injected == 0 and not result.complaints:
            continue
        numbers = " ".join(f"{result.outcomes[o] or '':>9}" for o in OUTCOMES)
        print(f"{role:7} {phase:8} {function:15} {result.injected:5} {numbers}")
        total.outcomes.update(result.outcomes)
        total.injected += result.injected
        total.complaints += result.complaints
    numbers = " ".join(f"{total.outcomes[o]:>9}" for o in OUTCOMES)
    print(f"{'total':7} {'':8} {'':15} {total.injected:5} {numbers}")
    print(f"{total.unreached} uses were not reached; {len(total.complaints)} cases are faults")
    return total


def inject(target, case, result):
    role, phase, function, use = case
    if role == "client":
        inject_client(target, function, use, result)
    elif phase == "start":
        inject_start(target, role, function, use, result)
    else:
        inject_running(target, role, phase, function, use, result)


def run(directory, cases, verbose=False):
    """Prints the table and returns its totals. CASES are sorted by role."""
    rows = collections.OrderedDict()
    for role, of_role in itertools.groupby(cases, lambda case: case[0]):
        # Jobs in a waiting interpreter run in a copy of the jail: its uses would be the interpreter's.
        settings = ["warm.use=no"] if role == "jail" else []
        place = Path(tempfile.mkdtemp(prefix=role, dir=directory))
        conftest.give_to_account(place)
        target = Target(place, settings)
        try:
            target.calibrate()
            for case in of_role:
                result = rows.setdefault(case[:3], Result())
                inject(target, case, result)
                if verbose:
                    print(*case, dict(result.outcomes), file=sys.stderr)
                    for complaint in result.complaints:
                        print(json.dumps(complaint, indent=1), file=sys.stderr)
        finally:
            target.stop()
    return report(rows)


def all_cases(options):
    functions = options.function or [name for name in ERROR_OF]
    for role in options.role or ROLES:
        phases = options.phase or ["running", "connect", "start"]
        if role == "client":
            phases = ["start"]
        elif role == "jail":
            phases = [phase for phase in phases if phase != "connect"]
        yield from itertools.product([role], phases, functions, options.use or USES)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--role", action="append", choices=list(ROLES))
    parser.add_argument("--phase", action="append", choices=["start", "running", "connect"])
    parser.add_argument("--function", action="append")
    parser.add_argument("--use", action="append", type=int)
    parser.add_argument("--where", action="store_true", help="say of each fault where it was injected")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="rubricd-inject-"))
    directory.chmod(0o755)
    try:
        cases = SHORT if options.short else all_cases(options)
        complaints = run(directory, cases, verbose=options.where).complaints
        if not options.where:
            for complaint in complaints:
                print(json.dumps(complaint, indent=1))
        return 1 if complaints else 0
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
