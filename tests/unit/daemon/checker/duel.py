# SPDX-License-Identifier: MIT
"""Judges small jobs with the checker's two processes and no jail: a waiting interpreter that has loaded the
checker, and nothing that the tests around it need, forks a judge for each job, as the daemon does."""

import importlib.util
import json
import marshal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CHECKER = HERE.parents[3] / "daemon" / "checker"
SECONDS = 60  # for an interpreter to end


class Jobs:
    """Text in which a line `=== NAME` begins a job and a line `---` each of its parts: the code, then the
    targets. Lines `@FIELD VALUE` after the name are other fields of the job."""

    def __init__(self, path):
        self.jobs = {}
        for piece in ("\n" + path.read_text()).split("\n=== ")[1:]:
            name, _, rest = piece.partition("\n")
            fields = {"id": name}
            while rest.startswith("@"):
                line, _, rest = rest.partition("\n")
                field, _, value = line[1:].partition(" ")
                fields[field] = value.encode().decode("unicode_escape")
            fields["code"], *fields["targets"] = ("\n" + rest).split("\n---\n")
            assert name not in self.jobs and fields["targets"], name
            self.jobs[name] = fields


class Referee:
    """The interpreter that judges. SCRIPT is referee.py, or one that does more around it; the report has LINES of
    those names."""

    def __init__(self, script=HERE / "referee.py", lines=("transcript", "unreplayable")):
        self.lines = lines
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-s", "-B", script, CHECKER]
        self.directory = tempfile.TemporaryDirectory()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, **pipes, env=environment, cwd=self.directory.name)

    def judge(self, job, how="isolated"):
        """Returns what became of a job: {"verdict", "detail", "stderr"}. HOW is "isolated", "plain" for code and
        tests in one process, or "record" for a pass with its "transcript", or "unreplayable" and why. With
        "replay" in it, a transcript, the job is replayed. The verdict "hung" means that it had to be ended."""
        for module in ("numpy", "yaml", "jinja2", "six"):
            if f"import {module}" in f"{job}" and not importlib.util.find_spec(module):
                pytest.skip(f"{module} is not installed")
        marshal.dump({**job, "how": how}, self.process.stdin)
        self.process.stdin.flush()
        found = marshal.load(self.process.stdout)
        if found["report"] is None:
            return {"verdict": "hung", **found}
        lines = [json.loads(line) for line in found.pop("report").splitlines()] or [{}]
        details = [line["detail"] for line in lines if line.get("detail")]
        found.update((name, line[name]) for line in lines for name in self.lines if name in line)
        return {"verdict": lines[-1].get("verdict", "none"), "detail": "; ".join(details), **found}

    def close(self):
        self.process.stdin.close()
        self.process.wait(SECONDS)
        self.process.stdout.close()
        self.directory.cleanup()
