#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The price of confinement: sandbox jobs of a static program that does nothing, through the socket,
with every layer in force that the host grants, to a plain fork+execve loop of the same program with as
many children in flight, and to bubblewrap. They run in turn; each ratio is of one round.

    sandbox_rate.py [ROUNDS [JOBS]]"""

import shutil
import subprocess
import sys

from bench import BUILD, EXIT0, FORK_LOOP, Daemon, describe

SLOTS = 2


def loop(count, *command):
    """Runs COMMAND COUNT times by fork+execve, SLOTS at once; per second."""
    output = subprocess.check_output([FORK_LOOP, str(count), str(SLOTS), *command])
    return count / float(output)


def bubblewrap(count):
    command = ["bwrap", "--unshare-all", "--new-session", "--die-with-parent", "--ro-bind", "/", "/"]
    return loop(count, shutil.which("bwrap"), *command[1:], EXIT0)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    with_bwrap = shutil.which("bwrap") is not None
    rates = {"plain": [], "sandbox": [], "bubblewrap": []}
    with Daemon(f"daemon.slots={SLOTS}", f"isolation.readable={BUILD / 'tests'}") as daemon:
        job = {"kind": "sandbox", "argv": [str(EXIT0)]}
        jobs = daemon.write_jobs("jobs", [job] * count)
        isolation = daemon.status()["isolation"]
        daemon.batch(daemon.write_jobs("warm-up", [job] * 100))
        for _ in range(rounds):
            rates["plain"].append(loop(count, EXIT0))
            took, results = daemon.batch(jobs)
            passed = sum(result["type"] == "result" and result["score"]["passed"] for result in results)
            if passed != count:
                raise SystemExit(f"{count - passed} of {count} jobs did not pass: {results[-1]}")
            rates["sandbox"].append(count / took)
            if with_bwrap:
                rates["bubblewrap"].append(bubblewrap(count // 8))
    print("layers in force:", " ".join(isolation["layers"]))
    for missing in isolation["missing"]:
        print(f"missing: {missing['layer']}: {missing['reason']}")
    print(f"{rounds} rounds, {count} jobs each, {SLOTS} in flight; median (least to most)")
    for name, values in rates.items():
        if values:
            print(f"  {name + ' per second':24} {describe(values, '{:.0f}')}")
    pairs = [("sandbox", "plain"), ("sandbox", "bubblewrap"), ("bubblewrap", "plain")]
    for ours, theirs in pairs:
        if rates[ours] and rates[theirs]:
            ratios = [a / b for a, b in zip(rates[ours], rates[theirs])]
            print(f"  {ours + ' to ' + theirs:24} {describe(ratios)}")
    if not with_bwrap:
        print("  bubblewrap is not installed: not measured")


if __name__ == "__main__":
    main()
