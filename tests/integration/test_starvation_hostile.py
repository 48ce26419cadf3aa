# SPDX-License-Identifier: MIT
"""Jobs that would like to be starved, so that their deadline moves: each needs more CPU time than its limit
allows on an idle host, and would pass if its deadline moved as far as it may.

Without the layer seccomp a process of a job can make itself less urgent; with it, asking for that does nothing."""

import pytest
from busy_cpu import bound_to_cpus, loops
from conftest import ALL_LAYERS, PASSING, Daemon, Shape, make_shape

pytestmark = pytest.mark.long

WALL_S = 1
LIMITS = {"wall_clock": WALL_S}

# The work is done by children for which nobody waits: the kernel gives their CPU time to nobody. Beside them
# processes wait for the CPU that live on: less urgent ones, or one among many.
UNWAITED = """
import os, signal, time
def spend(cpu_s):
    while time.process_time() < cpu_s: pass
def work(nice, at_once, cpu_s):
    end = None
    {ignore}
    if os.fork() == 0:
        os.nice(nice)
        while True: pass
    for _ in range(15):
        read, write = os.pipe()
        for _ in range(at_once):
            if os.fork() == 0:
                os.close(read)
                spend(time.process_time() + cpu_s)
                os._exit(0)
        os.close(write)
        os.read(read, 1)
        os.close(read)
    if end is not None:
        os.write(end, b".")
"""
# The flag leaves no trace in /proc.
NOCLDWAIT = """import ctypes
    action = (ctypes.c_char * 256)()
    libc = ctypes.CDLL(None)
    libc.sigaction(17, None, action)
    flags = ctypes.c_int.from_buffer(action, 136)
    flags.value |= 2
    assert libc.sigaction(17, action, None) == 0"""
IGNORE = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
# In a process that process 1 has adopted.
ORPHAN = """begin, end = os.pipe()
    if os.fork() > 0:
        os.wait()
        os.read(begin, 1)
        return
    if os.fork() > 0:
        os._exit(0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)"""

UNWAITED_C = r"""
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    signal(SIGCHLD, SIG_IGN);
    if (fork() == 0) {
        if (nice(NICE) < 0)
            return 1;
        for (;;)
            ;
    }
    for (int i = 0; i < 15; i++) {
        int ends[2];
        char byte;
        if (pipe(ends) < 0)
            return 1;
        for (int j = 0; j < AT_ONCE; j++)
            if (fork() == 0) {
                clock_t from = clock();
                while (clock() - from < CLOCKS_PER_SEC / 10 / AT_ONCE)
                    ;
                _exit(0);
            }
        close(ends[1]);
        if (read(ends[0], &byte, 1) != 0)
            return 1;
        close(ends[0]);
    }
    puts("done");
    return 0;
}
"""


def unwaited(kind, bench, nice, at_once, ignore=IGNORE):
    text = UNWAITED.format(ignore=ignore)
    call = f"work({nice}, {at_once}, {0.1 / at_once})\n"
    if kind == "program":
        code = UNWAITED_C.replace("NICE", str(nice)).replace("AT_ONCE", str(at_once))
        tests = [{"input": "", "output": "done\n"}]
        return {"kind": "program", "language": "c", "code": code, "tests": tests, "limits": LIMITS}
    if kind == "rubric":
        return bench.job(text + call + PASSING, case={"rubric_wall_clock_seconds": WALL_S})
    if kind == "sandbox":
        return {"kind": "sandbox", "runner": "python", "snippet": text + call, "limits": LIMITS}
    function = f"\ndef f():\n    {call}    return 1\n"
    return {"kind": "code_exec", "code": text + function, "targets": ["assert f() == 1"], "limits": LIMITS}


def limit_of(result):
    """Returns the limit that ended the job; None if none did."""
    if result["kind"] == "program":
        return {"timeout": "wall_clock"}.get(result["verdict"])
    return None if result["score"]["passed"] else result["outcome"]["limit_exceeded"]


def assert_times_out(client, job):
    """The trick does not move the deadline, nor makes it an error that may be retried: it could turn each of its
    failures into that. Other processes of this host may really let the job starve, but not each time."""
    results = []
    while not results or (results[-1] != "wall_clock" and len(results) < 3):
        result = client.run(job)
        results.append(limit_of(result) if result["type"] == "result" else result["code"])
    assert results[-1] == "wall_clock", results


WITHOUT_SECCOMP = ["isolation.without=seccomp", "isolation.require=env"]


def start_on_one_cpu(directory, shape):
    with bound_to_cpus(1):
        daemon = Daemon(directory, shape=shape, slots=1)
    yield daemon
    assert daemon.stop() == 0, daemon.log()


@pytest.fixture(scope="module", name="daemon")
def start_with_all_layers(tmp_path_factory):
    yield from start_on_one_cpu(tmp_path_factory.mktemp("d"), make_shape(ALL_LAYERS))


@pytest.fixture(scope="module", name="lenient")
def start_without_seccomp(tmp_path_factory):
    yield from start_on_one_cpu(tmp_path_factory.mktemp("d"), Shape(settings=WITHOUT_SECCOMP))


TRICKS = {"less_urgent": (19, 1), "one_of_many": (0, 10)}


# A code_exec job runs its code twice, which takes longer than its deadline moves by the first trick.
CASES = [(kind, trick) for kind in ("sandbox", "program", "rubric") for trick in TRICKS] + [("code_exec", "one_of_many")]


@pytest.mark.parametrize(("kind", "trick"), CASES)
def test_children_that_nobody_waits_for(client, bench, kind, trick):
    assert_times_out(client, unwaited(kind, bench, *TRICKS[trick]))


@pytest.mark.parametrize("kind", [kind for kind, trick in CASES if trick == "less_urgent"])
def test_children_that_nobody_waits_for_beside_one_that_is_less_urgent(lenient, bench, kind):
    with lenient.connect() as client:
        assert_times_out(client, unwaited(kind, bench, *TRICKS["less_urgent"]))


@pytest.mark.parametrize("ignore", [NOCLDWAIT, ORPHAN], ids=["flag", "orphan"])
def test_children_that_nobody_waits_for_in_another_way(client, bench, ignore):
    assert_times_out(client, unwaited("sandbox", bench, 0, 10, ignore))


# One thread has a CPU of its own all the time; the other process has asked for little of the CPU that others
# use.
LESS_URGENT = """
import os, time
if os.fork() == 0:
    {yields}
    while True: pass
while time.process_time() < 1.6: pass
"""


@pytest.mark.parametrize("yields", ["os.nice(19)", "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))"], ids=["nice", "idle"])
def test_a_process_that_lets_others_go_first(start_daemon, yields):
    with bound_to_cpus(2) as cpus:
        if len(cpus) < 2:
            pytest.skip("it takes two CPUs")
        daemon = start_daemon(*WITHOUT_SECCOMP, slots=1)
    with daemon.connect() as client, loops(cpus[0], 1):
        job = {"kind": "sandbox", "runner": "python", "snippet": LESS_URGENT.format(yields=yields), "limits": LIMITS}
        assert_times_out(client, job)
