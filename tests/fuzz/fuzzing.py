# SPDX-License-Identifier: MIT
"""What the fuzz drivers of the checker have in common: where they find it, how they alter a message, and the loop.

Each driver takes [SECONDS [SEED]], prints the first violation of each kind with its seed, and exits with 1 if there
was one."""

import re
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "tests" / "unit" / "daemon" / "checker"
sys.path[:0] = [str(ROOT / "daemon" / "checker"), str(UNIT)]


def altered(rng, data, others, times=(1, 1, 1, 2, 5), names=()):
    """Returns the bytes DATA with some changes: bits, tags of nodes, pieces left out or put in, also of OTHERS, and
    special methods under another one of NAMES. (code_exec_fuzz.py hands the text of this function to the code.)"""
    data = bytearray(data)
    for _ in range(rng.choice(times)):
        at = rng.randrange(len(data) + 1)
        what = rng.randrange(9)
        if what == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1 and at < len(data):
            data[at] = rng.choice(b"NTFEXiqsdcbtZrpkvwylDSaOfQCAMRVPghHUKeuomn")
        elif what == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
        elif what == 3:
            del data[at : at + rng.randrange(1, 9)]
        elif what == 4 and others:
            other = rng.choice(others)
            start = rng.randrange(len(other) + 1)
            data[at:at] = other[start : start + rng.randrange(64)]
        elif what == 5 and at < len(data):
            data[at] = rng.choice((0, 1, 2, 3, 127, 128, 255))
        elif what == 6 and at < len(data):
            data[at] = (data[at] + rng.choice((-1, 1))) & 255
        elif what == 7 and names:
            name = rng.choice(names).encode()
            found = data.find(b"__", at)
            if found >= 0:
                end = data.find(b"__", found + 2)
                if 0 <= end - found < 20 and found and data[found - 1] == end + 2 - found:
                    data[found - 1 : end + 2] = bytes((len(name),)) + name
        elif what == 8:
            data[at:at] = b"\xff" * rng.randrange(1, 11)
    return bytes(data)


def kind_of(violation):
    """Returns what is the same for violations of one kind: without the seed, and without numbers."""
    return re.sub(r"\d+", "0", violation.partition(": ")[2])[:80]


def batch(job, seed, size, once):
    """Calls ONCE(seed of a run) SIZE times for JOB. It returns what has come out, and what is wrong about it, "" if
    nothing. Returns what run() takes."""
    counts, violations = Counter(), []
    for n in range(size):
        came_out, wrong = once(f"{seed}/{n}")
        counts[came_out] += 1
        if wrong:
            violations.append(f"{job['id']} seed {seed}/{n}: {wrong}".replace("\n", " "))
    return counts, violations


def run(about, round_):
    """Calls ROUND(seed) again and again. It returns how often what has come out, and violations, each "JOB seed SEED:
    what is wrong". Ends the process."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = sys.argv[2] if len(sys.argv) > 2 else f"{time.time_ns()}"
    print(f"{about}, seed {seed}", flush=True)
    total, seen, rounds = Counter(), set(), 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        counts, violations = round_(f"{seed}/{rounds}")
        rounds += 1
        total.update(counts)
        for violation in violations:
            if kind_of(violation) not in seen:
                seen.add(kind_of(violation))
                print(violation, flush=True)
    print(f"{total.total()} runs: {dict(total)}; {len(seen)} kinds of violations")
    sys.exit(1 if seen else 0)
