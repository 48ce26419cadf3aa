#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares jobs of kind `program` to plain loops without a sandbox, which run in turn with them: one program with
many tests to a loop that forks, feeds and compares; compiling many programs to `xargs g++`; and many short
Python programs with some tests each, as data sets of contests have them, to a Python started for each test.

Compares the first also to the best that plain code and Debian give a judge. Plain code: the same loop in C, with a
fresh directory, a copy of the program, resource limits, a deadline and a process group for each test; it keeps a
program from nothing else. Debian: bubblewrap, which starts fastest of its packages that give a program namespaces
(firejail starts slower, systemd-run asks the service manager for each), with a fresh tmpfs for each test.

    program_rate.py [--sources FILE]     (JSON Lines with `code`, C++ programs, instead of those made here)"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import FEED_LOOP, PROCESSORS, PYTHON, SCRUBBED_ENV, Daemon, NotMeasured, run_loop
from table import Row, at_least, main, ratios

COMPILE = ["g++", "-O2", "-std=gnu++17", "-o"]  # as conf/languages.d/cpp.conf has it
# A program sees the system's own files read-only, its own directory, and nothing else.
BUBBLEWRAP = ["--unshare-all", "--new-session", "--die-with-parent", "--ro-bind", "/usr", "/usr",
              "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
              "--tmpfs", "/work", "--chdir", "/work"]  # fmt: skip
TESTS = 1000
# bubblewrap gets this fraction of the tests, since each costs it several times as much.
BUBBLEWRAP_SHARE = 5
SOURCES = 40
PROGRAMS, TESTS_EACH = 200, 20

SUM = """#include <iostream>

int main()
{
    long long sum = 0, number;
    while (std::cin >> number)
        sum += number;
    std::cout << sum << "\\n";
}
"""
# What answers of models to small tasks look like: the header that has everything, a function, a few checks.
ANSWER = """#include <assert.h>
#include <bits/stdc++.h>

std::vector<long> multiples(std::vector<long> numbers, long of)
{{
    std::vector<long> found;
    std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(found), [of](long n) {{ return n % of == 0; }});
    std::sort(found.begin(), found.end());
    return found;
}}

int main()
{{
    assert(multiples({{{n}, 3, 9, 4}}, 3).size() >= 2);
    std::map<std::string, long> count;
    for (const std::string &word : {{"a", "b", "a"}})
        count[word] += {n};
    assert(count["a"] == 2 * {n}L);
}}
"""
SHORT = """import sys


def solve(numbers):
    best = total = 0
    for number in numbers:
        total = max(0, total + number - {n})
        best = max(best, total)
    return best


print(solve(list(map(int, sys.stdin.read().split()))))
"""


def best_sum(numbers, n):
    best = total = 0
    for number in numbers:
        total = max(0, total + number - n)
        best = max(best, total)
    return best


class Set:
    """Files of tests for feed-loop, and the same tests for jobs."""

    def __init__(self, directory):
        self.directory, self.lines = directory, []
        directory.mkdir()

    def add(self, text, expected, *command):
        stem = self.directory / str(len(self.lines))
        stem.with_suffix(".in").write_text(text)
        stem.with_suffix(".out").write_text(expected)
        self.lines.append("\t".join(map(str, (stem.with_suffix(".in"), stem.with_suffix(".out"), *command))))
        return {"input": text, "output": expected}

    def rate(self, in_flight, options=(), prefix=(), count=None):
        """Returns tests per second of the loop with OPTIONS; of the first COUNT. PREFIX stands before the program."""
        lines = self.lines[:count]
        if prefix:
            lines = ["\t".join([*line.split("\t")[:2], *prefix, *line.split("\t")[2:]]) for line in lines]
        done = run_loop([FEED_LOOP, *options, in_flight], input="\n".join(lines).encode(), env=SCRUBBED_ENV)
        if done["passed"] != len(lines):
            raise NotMeasured(f"{done['passed']} of {len(lines)} tests pass {' '.join(prefix) or 'without a sandbox'}")
        return len(lines) / done["seconds"]


def is_pass(result):
    return result["type"] == "result" and result["verdict"] == "pass"


def turns(rounds, ours, theirs):
    """Measures both in turn."""
    rates = [(theirs(), ours()) for _ in range(rounds)]
    return [ours for _, ours in rates], [theirs for theirs, _ in rates]


def rows(what, baseline, rates, unit, goal):
    ours, theirs = rates
    yield Row("m", f"{what}, {baseline}", theirs, unit)
    yield Row("m", f"{what}, as jobs", ours, unit)
    yield Row("m", f"{what}, jobs to {baseline}", ratios(ours, theirs), goal=at_least(goal))


def many_tests(daemon, scale):
    """One program: its tests run one after another, here and there."""
    count, plain = scale.jobs(TESTS), Set(daemon.directory / "tests")
    source, program = plain.directory / "sum.cpp", plain.directory / "sum"
    source.write_text(SUM)
    subprocess.run([*COMPILE, program, source], check=True)
    tests = [plain.add(f"{n} {n * n} 7\n", f"{n + n * n + 7}\n", program) for n in range(count)]
    job = {"kind": "program", "language": "cpp", "code": SUM, "stop": "all"}
    jobs = daemon.write_jobs("tests-jobs", [{**job, "tests": tests}])
    # What is not the tests' in both: the client, and the way there and back.
    one_test = daemon.write_jobs("one-test-job", [{**job, "tests": tests[:1]}])

    def without_compiling(path):
        """Returns the seconds of a job, less what its compiler took, which is as noisy as all else together."""
        took, (result,) = daemon.batch(path)
        if not is_pass(result):
            raise NotMeasured(f"not as expected: {result}")
        return took - result["compile"]["usage"]["wall_clock_ms"] / 1000

    def ours():
        return (count - 1) / (without_compiling(jobs) - without_compiling(one_test))

    # On two processors a round's ratio lies between 0.73 and 1.1: where the kernel places each program makes so much.
    what = f"a C++ program, {count:,} tests"
    yield from rows(what, "a loop that forks and compares", turns(scale.rounds(21), ours, lambda: plain.rate(1)), "/s", 0.9)
    yield from best_of_others(what, plain, program, ours, scale)


def best_of_others(what, plain, program, ours, scale):
    """The best that plain code and Debian can do for one test after another. Most of the time is the start of a
    program in C++, which all have."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as guarded:  # in memory, as the work directories of jobs are
        guard = ["-g", guarded]
        yield from rows(what, "a loop that limits and cleans up", turns(scale.rounds(5), ours, lambda: plain.rate(1, guard)), "/s", 0.9)
    bubblewrap = shutil.which("bwrap")
    if not bubblewrap:
        yield Row("m", f"{what}, jobs to bubblewrap for each", missing="bubblewrap is not installed")
        return
    prefix, few = [bubblewrap, *BUBBLEWRAP, "--ro-bind", str(program), str(program)], max(len(plain.lines) // BUBBLEWRAP_SHARE, 1)
    yield from rows(what, "bubblewrap for each", turns(scale.rounds(5), ours, lambda: plain.rate(1, prefix=prefix, count=few)), "/s", 2)


def sources(path, count):
    if path:
        return [json.loads(line)["code"] for line in path.read_text().splitlines()]
    return [ANSWER.format(n=n + 3) for n in range(count)]


def compiling(daemon, scale, path):
    codes = sources(path, scale.jobs(SOURCES))
    directory = daemon.directory / "sources"
    directory.mkdir()
    for n, code in enumerate(codes):
        (directory / f"{n}.cpp").write_text(code)
    job = {"kind": "program", "language": "cpp", "tests": [{"input": "", "output": ""}]}
    jobs = daemon.write_jobs("compile-jobs", [{**job, "code": code} for code in codes])
    command = f"{' '.join(COMPILE)} {directory}/NAME {directory}/NAME.cpp && {directory}/NAME"

    def theirs():
        began = time.monotonic()
        names = "\n".join(map(str, range(len(codes))))
        subprocess.run(["xargs", f"-P{PROCESSORS}", "-I", "NAME", "sh", "-c", command], input=names.encode(), check=not path, capture_output=True)
        return len(codes) / (time.monotonic() - began)

    def ours():
        return daemon.rate(jobs, len(codes), is_pass if not path else lambda result: result["type"] == "result")

    yield from rows(f"{len(codes)} C++ programs compiled and run", f"xargs -P{PROCESSORS} g++", turns(1 if scale.quick else 3, ours, theirs), "/s", 0.95)


def short_programs(daemon, scale):
    programs, plain, jobs = scale.jobs(PROGRAMS), Set(daemon.directory / "short"), []
    for n in range(programs):
        source = plain.directory / f"{n}.py"
        source.write_text(SHORT.format(n=n % 7))
        numbers = [[(k * k + n + i) % 23 - 8 for k in range(50)] for i in range(TESTS_EACH)]
        tests = [plain.add(" ".join(map(str, row)) + "\n", f"{best_sum(row, n % 7)}\n", PYTHON, source) for row in numbers]
        jobs.append({"kind": "program", "language": "python", "code": source.read_text(), "tests": tests, "compare": "livecodebench"})
    jobs = daemon.write_jobs("short-jobs", jobs)

    def ours():
        return TESTS_EACH * daemon.rate(jobs, programs, is_pass)

    yield from rows(f"{programs} Python programs, {TESTS_EACH} tests each", f"a Python for each test, {PROCESSORS} in flight",
                    turns(scale.rounds(5), ours, lambda: plain.rate(PROCESSORS)), "tests/s", 4)  # fmt: skip


def measure_of(path):
    def measure(scale):
        """the rate of programs and their tests"""
        with Daemon(f"daemon.slots={PROCESSORS}") as daemon:
            daemon.require_warm()
            yield from many_tests(daemon, scale)
            yield from short_programs(daemon, scale)
            yield from compiling(daemon, scale, path)

    return measure


def measure(scale):
    """the rate of programs and their tests"""
    yield from measure_of(None)(scale)


def take_sources(arguments):
    if "--sources" not in arguments[:-1]:
        return None
    at = arguments.index("--sources")
    path = Path(arguments[at + 1])
    del arguments[at : at + 2]
    return path


if __name__ == "__main__":
    main(__doc__, measure_of(take_sources(sys.argv)))
