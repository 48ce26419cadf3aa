# SPDX-License-Identifier: MIT
"""What the benchmarks share: a daemon of their own, a batch through its socket, and ratios of rates
that were measured in turn, since the machine is never quiet."""

import json
import os
import pwd
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("RUBRICD_BUILD", ROOT / "build"))
RUBRICD = BUILD / "daemon" / "rubricd"
RUBRICCTL = BUILD / "client" / "rubricctl"
FORK_LOOP = BUILD / "tests" / "fork-loop"
EXIT0 = BUILD / "tests" / "exit0"
START_SECONDS = 20


class Daemon:
    """A rubricd with its socket in a directory of its own."""

    def __init__(self, *settings):
        self.directory = Path(tempfile.mkdtemp(prefix="rubricd-bench-", dir="/var/tmp"))
        if os.geteuid() == 0:  # it becomes this account
            os.chown(self.directory, pwd.getpwnam("nobody").pw_uid, -1)
        self.directory.chmod(0o755)
        self.socket = self.directory / "s"
        self.log = open(self.directory / "log", "w+")
        arguments = [
            *(f"daemon.socket={self.socket}", f"daemon.work_dir={self.directory / 'work'}"),
            *("daemon.socket_group=", "daemon.user=nobody", "daemon.log_level=warning"),
            *settings,
        ]
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
                raise SystemExit(f"rubricd does not start: {Path(self.log.name).read_text()}")
            time.sleep(0.02)

    def client(self):
        return [RUBRICCTL, f"--socket={self.socket}"]

    def status(self):
        return json.loads(subprocess.check_output([*self.client(), "status", "--json"]))

    def batch(self, jobs):
        """Runs JOBS (a JSONL file); returns the seconds of the whole command and the results."""
        output = self.directory / "output.jsonl"
        command = [*self.client(), "batch", "--no-fail", "--force", "--output", output, jobs]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True)
        took = time.monotonic() - began
        if done.returncode != 0:
            raise SystemExit(f"rubricctl: {done.stderr.decode()}")
        with output.open() as lines:
            return took, [json.loads(line) for line in lines]

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


def describe(values, form="{:.2f}"):
    """Median and spread of a list."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{form.format(middle)} ({form.format(low)} to {form.format(high)})"
