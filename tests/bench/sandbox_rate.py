#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The price of confinement: sandbox jobs of a static program that does nothing, through the socket,
with every layer in force that the host grants, to a plain fork+execve loop of the same program with as
many children in flight, and to bubblewrap. They run in turn; each ratio is of one round. Once for each
number of slots: as many as there are processors, and twice that.

    sandbox_rate.py [ROUNDS [JOBS]]"""

import os
import shutil
import subprocess
import sys

from bench import BUILD, EXIT0, FORK_LOOP, Daemon, describe

BWRAP = shutil.which("bwrap")


def loop(count, in_flight, *command):
    """Runs COMMAND COUNT times by fork+execve, IN_FLIGHT at once; per second."""
    output = subprocess.check_output([FORK_LOOP, str(count), str(in_flight), *command])
    return count / float(output)


def bubblewrap(count, in_flight):
    options = ["--unshare-all", "--new-session", "--die-with-parent", "--ro-bind", "/", "/"]
    return loop(count, in_flight, BWRAP, *options, EXIT0)


def measure(rounds, count, slots):
    rates = {"plain": [], "sandbox": [], "bubblewrap": []}
    with Daemon(f"daemon.slots={slots}", f"isolation.readable={BUILD / 'tests'}") as daemon:
        job = {"kind": "sandbox", "argv": [str(EXIT0)]}
        jobs = daemon.write_jobs("jobs", [job] * count)
        isolation = daemon.status()["isolation"]
        daemon.batch(daemon.write_jobs("warm-up", [job] * 100))
        for _ in range(rounds):
            rates["plain"].append(loop(count, slots, EXIT0))
            took, results = daemon.batch(jobs)
            passed = sum(result["type"] == "result" and result["score"]["passed"] for result in results)
            if passed != count:
                raise SystemExit(f"{count - passed} of {count} jobs did not pass: {results[-1]}")
            rates["sandbox"].append(count / took)
            if BWRAP:
                rates["bubblewrap"].append(bubblewrap(count // 8, slots))
    return isolation, rates


def show(rates):
    for name, values in rates.items():
        if values:
            print(f"  {name + ' per second':24} {describe(values, '{:.0f}')}")
    pairs = [("sandbox", "plain"), ("sandbox", "bubblewrap"), ("bubblewrap", "plain")]
    for ours, theirs in pairs:
        if rates[ours] and rates[theirs]:
            ratios = [a / b for a, b in zip(rates[ours], rates[theirs])]
            print(f"  {ours + ' to ' + theirs:24} {describe(ratios)}")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    processors = os.cpu_count()
    for slots in (processors, 2 * processors):
        isolation, rates = measure(rounds, count, slots)
        if slots == processors:
            print("layers in force:", " ".join(isolation["layers"]))
            for missing in isolation["missing"]:
                print(f"missing: {missing['layer']}: {missing['reason']}")
            if not BWRAP:
                print("bubblewrap is not installed: not measured")
        print(f"{rounds} rounds, {count} jobs each, {slots} in flight; median (least to most)")
        show(rates)


if __name__ == "__main__":
    main()
