# SPDX-License-Identifier: MIT
"""Compares two builds: each part of the benchmarks runs with one and with the other in turn, short and often,
and each ratio is of two neighbours in time. What a change costs is seen through the noise of a host that way,
where two tables of a quarter of an hour each show the noise alone.

The interval is that of the median by the sign test. It takes nothing for granted about how the noise is
distributed, but that one turn's does not depend on another's."""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import BUILD, NotMeasured

CONFIDENCE = 0.95
ROUNDS = 9


def order(rounds):
    """Yields who runs in which turn, True for this build. Who goes first alternates, so that a host that
    becomes slower favours nobody."""
    for turn in range(rounds):
        yield from (True, False) if turn % 2 == 0 else (False, True)


def interval(values, confidence=CONFIDENCE):
    """Returns the bounds of an interval that has the median of what VALUES come from with at least CONFIDENCE,
    or None if they are too few for any."""
    count, ordered = len(values), sorted(values)
    outside, rank = 0.0, 0  # so many values are left out at each end
    while rank < count // 2:
        outside += 2 * math.comb(count, rank) / 2**count
        if outside > 1 - confidence:
            break
        rank += 1
    return (ordered[rank - 1], ordered[count - rank]) if rank else None


@dataclass
class Comparison:
    """One row of two builds: the median of each, and this build's to the other's, or why there is none."""

    item: str
    what: str
    unit: str
    ours: float = 0.0
    theirs: float = 0.0
    ratio: float = None  # None: the other's is 0
    bounds: tuple = None  # of the interval; None: too few rounds
    missing: str = ""

    def differs(self):
        return bool(self.bounds) and not self.bounds[0] <= 1 <= self.bounds[1]

    def record(self):
        return {**asdict(self), "differs": self.differs()}


def comparison(name, ours, theirs):
    """Compares the medians of neighbouring turns. One that was not measured is the reason, a text."""
    for build, values in (("this build", ours), ("the other", theirs)):
        for value in values:
            if isinstance(value, str):
                return Comparison(*name, missing=f"not measured with {build}: {value}")
    middle = [statistics.median(side) for side in (ours, theirs)]
    if not all(theirs):
        return Comparison(*name, *middle)
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return Comparison(*name, *middle, statistics.median(ratios), interval(ratios))


def comparisons(turns):
    """Yields a comparison for each row that TURNS have, pairs of {(item, what, unit): median or a reason}."""
    for name in dict.fromkeys(name for pair in turns for rows in pair for name in rows):
        yield comparison(name, *([rows.get(name, "it has no such row") for rows in side] for side in zip(*turns)))


def run_part(script, build, options):
    """Runs SCRIPT with that BUILD. Returns the median of each of its rows, or the reason why there is none."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        # One file of each program that jobs run and that drives the daemon, for both: where a file lies and
        # who has written it is worth some percent.
        env = {**os.environ, "RUBRICD_BUILD": str(build), "RUBRICD_BENCH_PROGRAMS": str(BUILD / "tests")}
        done = subprocess.run([sys.executable, script, *options, "--json", out.name], env=env, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
        text = Path(out.name).read_text()
    if not text:
        raise NotMeasured(f"{script} with {build} ended with {done.returncode}: {done.stdout.strip()[-400:]}")
    return {(row["item"], row["what"], row["unit"]): row["missing"] or row["median"]
            for row in json.loads(text)["rows"]}  # fmt: skip


def run(scripts, other, rounds, options):
    """Yields a comparison for each row of SCRIPTS, of this build with the one in the directory OTHER."""
    other = Path(other).resolve()
    if not (other / "daemon" / "rubricd").exists():
        raise NotMeasured(f"--compare: there is no {other / 'daemon' / 'rubricd'}")
    for script in scripts:
        print(f"{Path(script).stem}: {rounds} rounds with each build", file=sys.stderr, flush=True)
        sides = {True: [], False: []}
        for is_ours in order(rounds):
            sides[is_ours].append(run_part(script, BUILD.resolve() if is_ours else other, options))
        yield from comparisons(list(zip(sides[True], sides[False], strict=True)))
