# SPDX-License-Identifier: MIT
"""Shared by the tests of the installed packages: the service's commands, files and journal, and jobs that an
ordinary user of its group submits."""

import json
import subprocess
import time
from pathlib import Path

import pytest

PACKAGES = Path("/srv/packages")
SOURCE = Path("/srv/source")
SOCKET = Path("/run/rubricd/rubricd.sock")
GROUP = Path("/sys/fs/cgroup/system.slice/rubricd.service")
DROP_IN = Path("/etc/rubricd/rubricd.conf.d/50-test.conf")
MEMBER, OUTSIDER = "tester", "nobody"
# Against hanging: an emulated machine on a busy host needs minutes for an upgrade.
TIMEOUT = 900
MIB = 1 << 20


def run(*command, status=0, timeout=TIMEOUT, **kwargs):
    """Returns what the command prints to stdout and stderr. Fails unless it exits with STATUS (None: any)."""
    done = subprocess.run([str(word) for word in command], text=True, check=False, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kwargs)  # fmt: skip
    assert status is None or done.returncode == status, (command, done.returncode, done.stdout)
    return done.stdout


def ctl(*arguments, user=MEMBER, **kwargs):
    return run("runuser", "-u", user, "--", "rubricctl", *arguments, **kwargs)


def wait_until(condition, what, deadline=TIMEOUT):
    end = time.monotonic() + deadline
    while not (value := condition()):
        if time.monotonic() > end:
            pytest.fail(f"after {deadline} s still not: {what}")
        time.sleep(0.05)  # poll interval
    return value


def show(name, unit="rubricd.service"):
    return run("systemctl", "show", "--property", name, "--value", unit).strip()


def is_active(unit="rubricd.service"):
    return run("systemctl", "is-active", unit, status=None).strip()


def main_pid():
    return int(show("MainPID"))


def status():
    return json.loads(ctl("status", "--json"))


def journal(*matches, since):
    """Returns the service's journal entries written after the time SINCE, each a dictionary of fields."""
    run("journalctl", "--sync")
    text = run("journalctl", "--unit=rubricd.service", "--output=json", "--quiet", *matches)
    entries = [json.loads(line) for line in text.splitlines()]
    return [entry for entry in entries if int(entry["__REALTIME_TIMESTAMP"]) > since * 1e6]


def packages(revision):
    return sorted(path for path in PACKAGES.glob(f"*upstream{revision}_*.deb") if "dbgsym" not in path.name)


def setting(text=None):
    """Installs a drop-in of the configuration, or removes it."""
    if text is None:
        DROP_IN.unlink(missing_ok=True)
    else:
        DROP_IN.write_text(text)
        DROP_IN.chmod(0o644)


def sandbox(code, **limits):
    return {"kind": "sandbox", "snippet": code, "runner": "python", "limits": limits}


def submit(directory, job, status=None):
    """Runs one job and returns its answer."""
    path = directory / "job.jsonl"
    path.write_text(json.dumps({"id": "job", **job}) + "\n")
    text = ctl("batch", "--quiet", path, status=status)
    return json.loads(text.splitlines()[0])


class Batch:
    """Jobs that an ordinary user of the group submits, and the answers so far."""

    def __init__(self, directory, count, argv, *options):
        self.count = count
        self.jobs, self.output = directory / "jobs.jsonl", directory / "results.jsonl"
        self.jobs.write_text(
            "".join(json.dumps({"id": f"j{n}", "kind": "sandbox", "argv": argv}) + "\n" for n in range(count))
        )
        self.process = subprocess.Popen(
            ["runuser", "-u", MEMBER, "--", "rubricctl", "batch", "--quiet", "--output", self.output, *options,
             self.jobs], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def lines(self):
        return self.output.read_text().splitlines() if self.output.exists() else []

    def wait_for(self, count):
        def arrived():
            assert self.process.poll() in (None, 0), self.process.stderr.read()
            return len(self.lines()) >= count

        wait_until(arrived, f"{count} results; {len(self.lines())} are there")

    def assert_each_once(self):
        """Waits for the end. Fails unless every job has exactly one result and no error, as if nothing had
        happened to the service."""
        _, said = self.process.communicate(timeout=2 * TIMEOUT)
        results = [json.loads(line) for line in self.lines()]
        assert self.process.returncode == 0, (self.process.returncode, said)
        assert len(results) == self.count
        assert {result["id"] for result in results} == {f"j{n}" for n in range(self.count)}
        assert all(result["type"] == "result" and result["score"]["passed"] for result in results)
        return said
