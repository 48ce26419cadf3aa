#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Fuzzes the wire in both directions: the two processes of a job, with messages that are altered on the way to the
candidate, to the judge, or both.

    wire_fuzz.py [SECONDS [SEED]]

Jobs are the honest ones of features.txt, which pass in one process, and those of attacks.txt, which must not pass.
Violations: a judge that raises, ends without a verdict or does not come to the end of reading or writing; a pass whose
transcript does not replay to a pass; and a pass of a job that fails in one plain process, unless the code is so simple
that it could not have altered anything (simple.py): nobody but this program lies for it then, and no second run would
find it out."""

import base64
import random
from pathlib import Path

import fuzzing

import duel

BATCH = 10  # runs of one job
SECONDS = 3  # for a run; one that takes longer has lost its answer
HERE = Path(__file__).resolve().parent
# What would do harm if somebody else wrote it.
LEFT_OUT = ("pickle", "os.system", "subprocess", "kill")
FINE = ("pass", "assertion_fail", "error", "syntax_error", "hung")


def jobs():
    tools = (fuzzing.UNIT / "attack_tools.txt").read_text()
    found = []
    for name in ("features", "attacks"):
        for job in duel.Jobs(fuzzing.UNIT / f"{name}.txt").jobs.values():
            if any(word in f"{job}" for word in LEFT_OUT) or "refused" in job:
                continue
            code = tools + job["code"] if "wire" in job else job["code"]
            found.append({**job, "code": code, "seconds": SECONDS})
    return found


class Fuzzer:
    def __init__(self):
        self.pair = duel.Referee(HERE / "altering_referee.py", ("transcript", "unreplayable", "confirmed"))
        self.jobs, self.are_right = jobs(), {}

    def is_right(self, job):
        """Returns whether a job passes in one process."""
        if job["id"] not in self.are_right:
            self.are_right[job["id"]] = self.pair.judge(job, "plain")["verdict"] == "pass"
        return self.are_right[job["id"]]

    def run(self, job, seed):
        """Returns what has come out of a run, and what is wrong about it, "" if nothing."""
        rng = random.Random(seed)
        changes = {"seed": seed, "rate": rng.choice((3, 10, 30, 100)), "way": rng.choice(("sent", "received", "both"))}
        found = self.pair.judge({**job, "altered": changes}, "record")
        verdict = found["verdict"]
        if verdict not in FINE:
            return verdict, f"the judge ends with {verdict}: {found.get('detail', '')[:200]} {found['stderr'][-300:]}"
        if verdict != "pass":
            return verdict, ""
        if not self.is_right(job):
            return ("lie", "") if "confirmed" not in found else (verdict, f"a wrong job passes ({changes})")
        if "transcript" not in found:
            return "pass, no transcript", ""
        again = self.pair.judge({**job, "replay": base64.b64decode(found["transcript"])})
        if again["verdict"] != "pass":
            return verdict, f"a pass does not replay: {again['detail'][:200]}"
        return "pass, replayed", ""

    def round(self, seed):
        job = random.Random(seed).choice(self.jobs)
        return fuzzing.batch(job, seed, BATCH, lambda run: self.run(job, run))


def main():
    fuzzer = Fuzzer()
    try:
        fuzzing.run(f"{len(fuzzer.jobs)} jobs", fuzzer.round)
    finally:
        fuzzer.pair.close()


if __name__ == "__main__":
    main()
