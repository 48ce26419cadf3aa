#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Jobs of all kinds, good and hostile, from several clients and users, while jails, zygotes, helper and daemon
are killed, stopped, reloaded and drained, and the host runs short of things. An oracle knows the right verdict
of every job, and counts what is left over.

    tests/chaos/chaos.py --seed 1 --minutes 5 --build build       rounds of about 120 jobs for five minutes
    tests/chaos/chaos.py --seed 1 --round 17 --build build        one round again
    tests/chaos/chaos.py --seed 1 --round 17 --plan               what happens in it

Clients, jobs and faults follow from the seed and the number of the round. Which jobs a fault meets depends on
the host, so a round that has found something may need some repetitions. The exit status is 0 if nothing was
wrong, lost, doubled or left over. As root, the daemon has an account of its own and its clients several, and
its work directory is a small file system; others leave out what takes root."""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--round", type=int, help="run this round only")
    parser.add_argument("--repeat", type=int, default=1, help="with --round: how often")
    parser.add_argument("--jobs", type=int, default=120, help="jobs per round")
    parser.add_argument("--faults", type=int, default=5, help="faults per round")
    parser.add_argument("--shape", action="append", help="only daemons of this shape")
    parser.add_argument("--patience", type=float, help="seconds after which an answer is given up for lost")
    parser.add_argument("--plan", action="store_true", help="print the plan, run nothing")
    parser.add_argument("--build", default=os.environ.get("RUBRICD_BUILD", HERE.parents[1] / "build"))
    return parser.parse_args(arguments)


def make_planner(options):
    import place  # after RUBRICD_BUILD is set
    import plan

    shapes = dict.fromkeys(options.shape, 1) if options.shape else place.possible(plan.SHAPES)
    users = plan.USERS if place.IS_ROOT else (None,)
    return plan.Planner(options.seed, options.jobs, options.faults, shapes, users)


def run(options):
    import clients
    import oracle
    import rounds

    clients.PATIENCE = options.patience or clients.PATIENCE
    runner = rounds.Runner(make_planner(options), say=lambda text: print(text, flush=True))
    if options.round is None:
        count = runner.run(0, None, time.monotonic() + 60 * options.minutes)
    else:
        count = 0
        for _ in range(options.repeat):
            count += runner.run(options.round, 1, float("inf"))
    print(f"seed {options.seed}: {count} rounds")
    for line in oracle.table(runner.ledger):
        print(line)
    return 1 if runner.ledger.complaints else 0


def main():
    options = options_of(sys.argv[1:])
    os.environ["RUBRICD_BUILD"] = str(Path(options.build).resolve())
    # What was mounted and started is taken away however the run ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.path.insert(0, str(HERE))
    import catalog  # noqa: F401  makes the other folders of tests known

    if options.plan:
        planner = make_planner(options)
        numbers = [options.round] if options.round is not None else range(4)
        print("\n".join(line for n in numbers for line in planner.round(n, "BENCH").lines()))
        return 0
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
