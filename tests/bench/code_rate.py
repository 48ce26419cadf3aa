#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares judging code in isolated mode to runners that have no judge (code_runner.py), which run in turn
with it; and measures single jobs of many calls and of much data, and where the CPU time of a job goes.

    code_rate.py [--tasks FILE [--answers FILE]]      (in the form of HumanEval: task_id, prompt, test,
                                                       entry_point, canonical_solution; task_id, completion)

Without files it takes tasks of its own (tasks.py)."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import tasks
from bench import PROCESSORS, PYTHON, ROOT, Daemon, NotMeasured
from start import default_modules
from table import Row, at_least, at_most, main, ratios

RUNNER = ROOT / "tests" / "bench" / "code_runner.py"
OWN_COUNT = 1640
# A canonical solution that a plain process passes must pass here; one in a hundred may miss its time limit
# on a busy host.
LATE_MAX = 0.01
CALLS = """
def check(candidate):
    for n in range(10000):
        assert candidate(n) == n + 1
"""
MILLION = """
def check(candidate):
    numbers = list(range(1000000))
    assert candidate(numbers) == numbers[::-1]
"""
SINGLE = {
    "10,000 calls in one test": (CALLS, "def add(n):\n    return n + 1\n", "add", 0.15),
    "a million ints there and back": (MILLION, "def turn(n):\n    return n[::-1]\n", "turn", 0.6),
}


def run_without(how, programs, modules=()):
    command = [PYTHON, RUNNER, how, f"{PROCESSORS}", *modules]
    done = subprocess.run(command, input=json.dumps(programs), stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise NotMeasured(f"{RUNNER.name} ended with {done.returncode}")
    return json.loads(done.stdout)


def judge(daemon, jobs):
    """Returns the seconds, and how many passed."""
    took, results = daemon.batch(jobs)
    if any(result["type"] != "result" or result["interpreter"] != "warm" for result in results):
        raise NotMeasured("not each job was judged in an interpreter that waited")
    return took, sum(result["verdict"] == "pass" for result in results)


def rate_rows(what, daemon, pairs, rounds, goals, forks):
    """PAIRS of task and answer."""
    jobs = daemon.write_jobs("jobs", (tasks.job(*pair) for pair in pairs))
    programs, modules = [tasks.program(*pair) for pair in pairs], default_modules()
    rates = {"plain": [], "fork": [], "judged": []}
    for _ in range(rounds):
        done = run_without("plain", programs)
        rates["plain"].append(len(pairs) / done["seconds"])
        if forks:
            rates["fork"].append(len(pairs) / run_without("fork", programs, modules)["seconds"])
        took, passed = judge(daemon, jobs)
        rates["judged"].append(len(pairs) / took)
        if passed > done["passed"] or passed < done["passed"] - LATE_MAX * len(pairs):
            raise NotMeasured(f"{what}: {passed} passed, {done['passed']} in a plain process")
    yield Row("k", f"{what}, a Python for each, {PROCESSORS} in flight", rates["plain"], "/s")
    yield Row("k", f"{what}, judged", rates["judged"], "/s")
    yield Row("k", f"{what}, judged to a Python for each", ratios(rates["judged"], rates["plain"]), goal=at_least(goals[0]))
    if forks:
        yield Row("k", f"{what}, a fork for each, {PROCESSORS} in flight", rates["fork"], "/s")
        yield Row("k", f"{what}, judged to a fork for each", ratios(rates["judged"], rates["fork"]), goal=at_least(goals[1]))


# --- single jobs ----------------------------------------------------------------------------------


def single_rows(scale):
    with Daemon("daemon.slots=1", "warm.use=yes") as daemon:
        for what, (test, code, name, bound) in SINGLE.items():
            job = {"kind": "code_exec", "code": code, "test": test, "entry_point": name}
            jobs = daemon.write_jobs("single", [job] * scale.rounds(9))
            took, results = daemon.batch(jobs, "--jobs=1")
            if not all(result["type"] == "result" and result["verdict"] == "pass" for result in results):
                raise NotMeasured(f"{what}: {results[0]}")
            yield Row("k", what, [one["usage"]["wall_clock_ms"] / 1000 for one in results], "s", at_most(bound))


# --- where the time goes --------------------------------------------------------------------------


def own_ns(pid):
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def of_children_ns(pid):
    """Of the children that PID has waited for, and of theirs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) * 10**7


def twin_of(jail):
    children = Path(f"/proc/{jail}/task/{jail}/children").read_text().split()
    twins = [pid for pid in children if Path(f"/proc/{pid}/comm").read_text() == "rubricd-twin\n"]
    if len(twins) != 1:
        raise NotMeasured(f"jail {jail} has {len(twins)} twins")
    return twins[0]


def of_client_ns():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((usage.ru_utime + usage.ru_stime) * 10**9)


def used(daemon, jails, twins):
    return {
        "the judges": sum(map(of_children_ns, jails)),
        "the code's processes": sum(map(of_children_ns, twins)),
        "the jails": sum(map(own_ns, jails)),
        "their twins": sum(map(own_ns, twins)),
        "the daemon": own_ns(daemon.process.pid),
        "the client": of_client_ns(),
    }


def part_rows(what, daemon, pairs, rounds):
    jobs = daemon.write_jobs("parts", (tasks.job(*pair) for pair in pairs))
    judge(daemon, jobs)
    jails = daemon.jails()
    twins = [twin_of(jail) for jail in jails]
    found = {}
    for _ in range(rounds):
        before = used(daemon, jails, twins)
        judge(daemon, jobs)
        daemon.await_idle()
        after = used(daemon, jails, twins)
        parts = {name: (after[name] - before[name]) / len(pairs) / 1e6 for name in before}
        for name, cost in {"all": sum(parts.values()), **parts}.items():
            found.setdefault(name, []).append(cost)
    if daemon.jails() != jails:
        raise NotMeasured("a jail was replaced")
    for name, values in found.items():
        yield Row("k", f"{what}, CPU per job, {name}", values, "ms")


# --- all of it ------------------------------------------------------------------------------------


def pairs_of(known, answers):
    by_id = {task["task_id"]: task for task in known}
    return [(by_id[answer["task_id"]], answer) for answer in answers]


def measures_of(known, answers):
    def measure(scale):
        """the rate of judged code"""
        right = pairs_of(known, tasks.canonical_answers(known, scale.jobs(max(tasks.RUNS * len(known), OWN_COUNT))))
        given = pairs_of(known, answers)[: scale.jobs(len(answers))]
        with Daemon(f"daemon.slots={PROCESSORS}", "warm.use=yes") as daemon:
            daemon.require_warm()
            yield from rate_rows("canonical solutions", daemon, right, scale.rounds(5), (2.5, 0.6), True)
            yield from rate_rows("answers of a model", daemon, given, scale.rounds(3), (1.8,), False)
            yield from part_rows("canonical solutions", daemon, right, scale.rounds(3))
        yield from single_rows(scale)

    return measure


def measure(scale):
    """the rate of judged code"""
    yield from measures_of(tasks.own_tasks(), tasks.own_answers(OWN_COUNT))(scale)


def file_option(name):
    """Takes NAME and its value from the command line."""
    if name not in sys.argv[:-1]:
        return None
    at = sys.argv.index(name)
    _, path = sys.argv[at : at + 2]
    del sys.argv[at : at + 2]
    return path


if __name__ == "__main__":
    tasks_file, answers_file = file_option("--tasks"), file_option("--answers")
    known_tasks = tasks.read(tasks_file) if tasks_file else tasks.own_tasks()
    known_answers = tasks.read(answers_file) if answers_file else tasks.own_answers(OWN_COUNT)
    if tasks_file and not answers_file:
        known_answers = tasks.canonical_answers(known_tasks)
    main(__doc__, measures_of(known_tasks, known_answers))
