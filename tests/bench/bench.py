# SPDX-License-Identifier: MIT
"""Shared by the benchmarks: a daemon of their own, a batch through its socket, and the loops that drive the
daemon or serve as its baseline."""

import functools
import json
import os
import pwd
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("RUBRICD_BUILD", ROOT / "build"))
RUBRICD = BUILD / "daemon" / "rubricd"
RUBRICCTL = BUILD / "client" / "rubricctl"
# The programs that are no part of rubricd: what jobs run, and what drives the daemon.
PROGRAMS = Path(os.environ.get("RUBRICD_BENCH_PROGRAMS", BUILD / "tests"))
FORK_LOOP = PROGRAMS / "fork-loop"
MESSAGE_LOOP = PROGRAMS / "message-loop"
ECHO_LOOP = PROGRAMS / "echo-loop"
FEED_LOOP = PROGRAMS / "feed-loop"
EXIT0 = PROGRAMS / "exit0"
# Linked without a C library.
EXIT0_BARE = PROGRAMS / "exit0-bare"
# Sleeps for as many milliseconds as its argument says.
NAP = PROGRAMS / "nap"
PYTHON = "/usr/bin/python3"
# The environment that the daemon gives to rubrics. The baselines' rubrics get the same.
SCRUBBED_ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"}
PROCESSORS = os.cpu_count()
START_SECONDS = 20
FILL_SECONDS = 120
PASSED = '"passed":true'


def job_of(program):
    return {"kind": "sandbox", "argv": [str(program)]}


EXIT0_JOB = job_of(EXIT0)


class NotMeasured(Exception):
    """A benchmark's precondition is not met; the text says which one."""


@functools.cache
def knows(setting):
    """Returns whether the build, which may be an older one, has SETTING."""
    command = [RUBRICD, "--check-config", "--config=/dev/null", f"--set={setting}"]
    return subprocess.run(command, capture_output=True).returncode == 0


class Daemon:
    """A rubricd with its socket in a directory of its own. Its jobs can run the programs that the build made
    for the benchmarks."""

    def __init__(self, *settings):
        if not RUBRICD.exists():
            raise NotMeasured(f"there is no {RUBRICD}: name a build with RUBRICD_BUILD")
        self.directory = Path(tempfile.mkdtemp(prefix="rubricd-bench-", dir="/var/tmp"))
        if os.geteuid() == 0:  # the daemon switches to this account
            os.chown(self.directory, pwd.getpwnam("nobody").pw_uid, -1)
        self.directory.chmod(0o755)
        self.socket = self.directory / "s"
        self.log = open(self.directory / "log", "w+")
        arguments = [
            *(f"daemon.socket={self.socket}", f"daemon.work_dir={self.directory / 'work'}"),
            *("daemon.socket_group=", "daemon.user=nobody", "daemon.log_level=warning"),
            *(f"isolation.readable={EXIT0.parent}", *settings),
        ]
        # Seconds after its start it would run the compilers of the host, which takes CPU time from the jobs.
        if knows("languages.ask_versions=no"):
            arguments.append("languages.ask_versions=no")
        allow_many_files()
        self.process = subprocess.Popen(
            [RUBRICD, "--config=/dev/null", *(f"--set={setting}" for setting in arguments)],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        self._await()

    def _await(self):
        end = time.monotonic() + START_SECONDS
        while subprocess.run([*self.client(), "ping"], capture_output=True).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                raise NotMeasured(f"rubricd does not start: {Path(self.log.name).read_text()}")
            time.sleep(0.02)

    def client(self):
        return [RUBRICCTL, f"--socket={self.socket}"]

    def status(self):
        return json.loads(subprocess.check_output([*self.client(), "status", "--json"]))

    def await_idle(self):
        """Waits until nothing is queued and no slot has a job. Returns the status."""
        end = time.monotonic() + FILL_SECONDS
        while True:
            status = self.status()
            states = {slot["state"] for slot in status["slots"]}
            if status["queue"]["jobs"] == 0 and states == {"idle"}:
                return status
            if time.monotonic() > end:
                raise NotMeasured(f"the daemon does not come to rest: {status['slots']} {status['queue']}")
            time.sleep(0.02)

    def jails(self):
        return [slot["jail_pid"] for slot in self.await_idle()["slots"]]

    def require_warm(self):
        isolation = self.status()["isolation"]
        if not isolation["warm"]:
            raise NotMeasured(f"no interpreter waits in the jails: {isolation['cold_because']}")

    def batch(self, jobs, *options):
        """Runs JOBS (a JSONL file); returns the seconds that the whole command took, and the results."""
        output = self.directory / "output.jsonl"
        command = [*self.client(), "batch", "--no-fail", "--force", *options, "--output", output, jobs]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True)
        took = time.monotonic() - began
        if done.returncode != 0:
            raise NotMeasured(f"rubricctl: {done.stderr.decode()}")
        with output.open() as lines:
            return took, [json.loads(line) for line in lines]

    def rate(self, jobs, count, check):
        """Returns results per second of JOBS. Each result must satisfy CHECK."""
        took, results = self.batch(jobs)
        wrong = [result for result in results if not check(result)]
        if wrong or len(results) != count:
            raise NotMeasured(f"{len(results)} results of {count}, {len(wrong)} not as expected: {wrong[:1]}")
        return count / took

    def write_jobs(self, name, jobs):
        path = self.directory / f"{name}.jsonl"
        lines = (json.dumps({"id": str(i), **job}) for i, job in enumerate(jobs))
        path.write_text("".join(line + "\n" for line in lines))
        return path

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.directory)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def allow_many_files():
    """Raises the descriptor limit: a thousand clients take two descriptors each."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def passed(result):
    return result["type"] == "result" and result["score"]["passed"]


def submit(job):
    """Returns the text of a submit request; message-loop fills in the number."""
    return json.dumps({"type": "submit", "id": "########", "job": job}, separators=(",", ":"))


def run_loop(command, **options):
    """Runs one of the loops and returns what it prints."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, **options)
    if done.returncode != 0:
        raise NotMeasured(f"{Path(command[0]).name} ended with {done.returncode}: {command}")
    return json.loads(done.stdout)


def fork_loop(count, in_flight, *command, options=(), env=None):
    """Runs COMMAND COUNT times by fork+execve, IN_FLIGHT at once."""
    return run_loop([FORK_LOOP, *options, count, in_flight, *command], env=env)


def message_loop(socket, count, request, answer=PASSED, options=()):
    """Sends COUNT requests whose answers must contain ANSWER."""
    return run_loop([MESSAGE_LOOP, *options, socket, count, request, answer])


def watch(*pids):
    """Returns options that make message-loop report the CPU time of PIDS."""
    return [f"-C{pid}" for pid in pids]


def await_depth(daemon, loop, depth):
    """Waits until the windows of LOOP are full and their requests are queued."""
    end = time.monotonic() + FILL_SECONDS
    full = select.select([loop.stdout], [], [], FILL_SECONDS)[0] and loop.stdout.readline() == b"full\n"
    # A few requests are always in transit: sent, running or being answered. Without this wait, the
    # measurement would include the daemon's work for requests that arrived before it.
    while not full or daemon.status()["queue"]["jobs"] < 0.999 * depth - 2 * PROCESSORS:
        if not full or time.monotonic() > end:
            queued = daemon.status()["queue"]["jobs"]
            loop.kill()
            raise NotMeasured(f"after {FILL_SECONDS} s there are {queued:,} of {depth:,} jobs in the queue")
        time.sleep(0.02)


def message_loop_at_depth(daemon, depth, clients, count, request, running=0, skip=0):
    """Measures COUNT answers, and the daemon's CPU time, while DEPTH requests of CLIENTS wait or run, after SKIP
    answers that are not measured. Up to RUNNING of the requests are with the slots: 0 stands for few."""
    command = [MESSAGE_LOOP, "-g", f"-s{skip}", f"-c{clients}", f"-w{depth // clients}",
               *watch(daemon.process.pid), daemon.socket, str(count), request, PASSED]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as loop:
        await_depth(daemon, loop, depth - running)
        output, _ = loop.communicate(b"\n")
    if loop.returncode != 0:
        raise NotMeasured(f"message-loop ended with {loop.returncode}")
    return json.loads(output)
