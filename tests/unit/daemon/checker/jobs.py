# SPDX-License-Identifier: MIT
"""Jobs as the checker's pure modules take them, and those modules."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "daemon" / "checker"))

import names  # noqa: E402
import plain  # noqa: E402, F401  for the tests
import program  # noqa: E402
import simple  # noqa: E402


class Job:
    def __init__(self, code="", *targets, prelude="", entry_point="", under_test=(), setup="", test=""):
        self.code, self.targets, self.prelude = code, list(targets), prelude
        self.entry_point, self.names, self.setup, self.test = entry_point, list(under_test), setup, test

    def count(self):
        return 1 if self.test else len(self.targets)


def prelude_of(job):
    return program.Prelude(job.prelude) if job.prelude else None


def decide(job, *also_there):
    """Decides with what the code statically binds, and the names ALSO_THERE."""
    return names.decide(job, also_there, prelude_of(job))


def why_to_confirm(job, crossings=None):
    """Returns why a pass of JOB must be confirmed, "" if it need not be; CROSSINGS is what the wire has noted."""
    if crossings and crossings.why:
        return crossings.why
    text = program.compose(job.prelude, job.code, names.asked_of(job))[0]
    return simple.why_not(program.parse(text), text, job, decide(job).under_test)
