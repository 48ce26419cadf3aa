#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures the BCa interval of a mean: seconds for 10,000 resamples, next to scipy.stats.bootstrap in the
same minute, for scores with any value and for scores of 0 and 1 only. scipy's jackknife takes time
proportional to the square of the number of values, so a smaller number is measured, too.

    bootstrap_rate.py [VALUES [RESAMPLES]]"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

BUILD = Path(os.environ.get("RUBRICD_BUILD", Path(__file__).resolve().parents[2] / "build"))
LOOP = BUILD / "tests" / "bootstrap-loop"
# Size of a batch of scipy's resamples: this many values fit into a hundred megabytes.
SCIPY_BATCH_VALUES = 10_000_000


def ours(values, resamples):
    text = "\n".join(map(repr, values))
    output = subprocess.run([LOOP, str(resamples), "0.95"], input=text, stdout=subprocess.PIPE, text=True, check=True)
    low, high, took = map(float, output.stdout.split())
    return low, high, took


def scipys(values, resamples):
    try:
        import numpy
        from scipy import stats
    except ImportError:
        return None
    data = numpy.array(values)
    began = time.monotonic()
    interval = stats.bootstrap(
        (data,),
        numpy.mean,
        n_resamples=resamples,
        batch=max(1, SCIPY_BATCH_VALUES // len(values)),
        random_state=1,
    ).confidence_interval
    return float(interval.low), float(interval.high), time.monotonic() - began


def compare(name, values, resamples):
    print(f"{len(values):,} {name}, {resamples:,} resamples")
    low, high, took = ours(values, resamples)
    print(f"  rubricctl  {took:9.3f} s   [{low:.6f}, {high:.6f}]", flush=True)
    theirs = scipys(values, resamples)
    if theirs is None:
        print("  scipy is not installed (python3-scipy): not measured")
        return
    print(f"  scipy      {theirs[2]:9.3f} s   [{theirs[0]:.6f}, {theirs[1]:.6f}]")
    print(f"  ratio      {theirs[2] / took:9.1f}", flush=True)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    resamples = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    rng = random.Random(1)
    for n in (count // 100, count // 10, count):
        compare("scores of any value", [rng.random() ** 2 for _ in range(n)], resamples)
    compare("scores of 0 and 1", [float(rng.random() < 0.6) for _ in range(count)], resamples)


if __name__ == "__main__":
    main()
