# SPDX-License-Identifier: MIT
"""Jobs that wait for a CPU: they get their time back, no job gets more than that, and one that gets none
ends in an error.

The daemon is bound to one CPU, with loops beside it that never sleep. So its jobs starve whatever else
the machine does, and what they used of that CPU tells how much time they had."""

import os
from pathlib import Path

import pytest
from busy_cpu import bound_to_one_cpu, loops
from conftest import PASSING, Daemon, wait_until

pytestmark = pytest.mark.long  # a job that waits for a CPU takes a few seconds
# The C code that they run is that of other tests here, and the loops keep a CPU from other tests.
once = pytest.mark.once

WALL_S = 1
# A deadline moves until the job has had all of its time but a twentieth.
MOST_MS = 10 * WALL_S * 1000
SPIN = "import time\nwhile time.process_time() < 0.7: pass\n"
FOR_EVER = "while True: pass\n"
LIMITS = {"wall_clock": WALL_S}


@pytest.fixture(scope="module", name="daemon")
def start_on_a_busy_cpu(tmp_path_factory):
    with bound_to_one_cpu() as cpu:
        daemon = Daemon(tmp_path_factory.mktemp("d"))
    with loops(cpu, 2):
        yield daemon
    assert daemon.stop() == 0, daemon.log()


# It keeps state, so one process confirms its pass.
SLOW_TWICE = "import time\nlog = []\ndef f():\n    log.append(1)\n    time.sleep(0.7)\n    return 1\n"


def sandbox(snippet, **fields):
    return {"kind": "sandbox", "runner": "python", "snippet": snippet, "limits": LIMITS, **fields}


def code(body, **fields):
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"import time\n\ndef f():\n{indented}    return 1\n"
    return {"kind": "code_exec", "code": text, "targets": ["assert f() == 1"], "limits": LIMITS, **fields}


def rubric(bench, text):
    return bench.job(text + PASSING, case={"rubric_wall_clock_seconds": WALL_S})


def of_kind(kind, bench, text):
    if kind == "rubric":
        return rubric(bench, text)
    return sandbox(text) if kind == "sandbox" else code(text)


def run(client, job):
    """Runs a job. If the host is so busy that nothing can be said of it, it is submitted again, as the error
    says."""
    for _ in range(10):
        answer = client.run(job)
        if answer.get("code") != "starved":
            break
    return answer


def assert_moved(result, programs=1):
    """The reply says so, and that it is within the bounds, which are those of each of its PROGRAMS."""
    assert 1 <= result["deadline"]["moves"] <= 180 * programs
    assert WALL_S * 1000 < result["deadline"]["wall_clock_ms"] <= MOST_MS * programs


@once
@pytest.mark.parametrize("kind", ["rubric", "sandbox", "code_exec"])
def test_what_passes_on_a_quiet_host_passes(client, bench, kind):
    """It needs 0.7 s of CPU time in 1 s, of which it has a third at most."""
    result = run(client, of_kind(kind, bench, SPIN))
    assert result["type"] == "result", result
    assert result["score"]["passed"], result
    assert result["usage"]["wall_clock_ms"] > WALL_S * 1000
    assert_moved(result, 2 if kind == "code_exec" else 1)


# A few programs that it waits for, and threads that end: each leaves a gap in what is known of its time.
CHILDREN = """
import subprocess, threading
for _ in range(3):
    subprocess.run(["/bin/true"], check=True)
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
"""


def test_a_few_children_that_end_cost_little(client):
    result = run(client, sandbox(CHILDREN + SPIN))
    assert result["score"]["passed"], result
    assert_moved(result)


@pytest.mark.parametrize("kind", [pytest.param("rubric", marks=once), "sandbox", pytest.param("code_exec", marks=once)])
def test_an_endless_loop_times_out(client, bench, kind):
    result = run(client, of_kind(kind, bench, FOR_EVER))
    assert result["outcome"]["limit_exceeded"] == "wall_clock", result
    assert_moved(result)
    assert result["usage"]["cpu_ms"] >= 800 * WALL_S, "it had its time"
    assert result["usage"]["cpu_wait_ms"] >= 500 * WALL_S


def test_processes_that_cannot_be_inspected_get_their_time_too(client):
    """The job's own account may not inspect them, and its /proc does not show them."""
    hide = "import ctypes\nassert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0\n"
    result = run(client, sandbox(hide + "import os\nif os.fork() == 0:\n    " + SPIN.replace("\n", "\n    ") + "\nos.wait()\n"))
    assert result["score"]["passed"], result
    assert_moved(result)


@once
def test_a_sleeper_gets_no_time(client):
    limits = {"wall_clock": 3}
    result = run(client, {"kind": "sandbox", "argv": ["/bin/sleep", "60"], "limits": limits})
    assert result["outcome"]["limit_exceeded"] == "wall_clock"
    assert "deadline" not in result, result
    assert 3000 <= result["usage"]["wall_clock_ms"] < 4000


# It wants the CPU until its limit, so that it has lost nearly as much, but not all of that, and then sleeps longer.
STARVED_THEN_ASLEEP = """
import time
end = time.monotonic() + 0.9 * {wall_s}
while time.monotonic() < end: pass
time.sleep(1.3 * {wall_s})
"""


def test_a_job_that_was_starved_gets_no_time_to_sleep(client):
    result = run(client, sandbox(STARVED_THEN_ASLEEP.format(wall_s=WALL_S)))
    assert result["outcome"]["limit_exceeded"] == "wall_clock", result
    assert_moved(result)
    assert result["usage"]["wall_clock_ms"] < 2200 * WALL_S, "it had as much again as it has lost"


# Jobs that would like to be starved. Without their tricks they had 1 s of the CPU; each process counted on
# its own, they would wait for most of ten times that.
SPINNERS = "import os\nfor _ in range(30):\n    if os.fork() == 0:\n        break\n"
THREADS = (
    "import ctypes, threading\n"
    "hold = ctypes.PyDLL(None)\n"
    "spin = ctypes.CDLL(None).getppid\n"
    "def work():\n"
    "    while True: spin()\n"
    "for _ in range(20): threading.Thread(target=work).start()\n"
)
SLEEPERS = (
    "import threading, time\n"
    "for _ in range(40): threading.Thread(target=time.sleep, args=(60,)).start()\n"
)


@pytest.mark.parametrize(
    "trick",
    [SPINNERS, THREADS, pytest.param(SLEEPERS, marks=once)],
    ids=["spinners", "threads", "sleepers"],
)
def test_a_job_cannot_starve_itself(client, trick):
    result = run(client, sandbox(trick + FOR_EVER))
    assert result["outcome"]["limit_exceeded"] == "wall_clock", result
    # It runs on until the jail, which has to wait for a CPU too, has answered.
    late_ms = max(result["usage"]["wall_clock_ms"] - 1000 * WALL_S, 0) if "deadline" not in result else 0
    assert result["usage"]["cpu_ms"] <= 2 * (1000 * WALL_S + late_ms), "it had more time than it may have"
    assert result["usage"]["wall_clock_ms"] <= MOST_MS + 5000


@once
def test_threads_that_sleep_gain_nothing(client):
    result = run(client, sandbox(SLEEPERS + "time.sleep(60)\n", limits={"wall_clock": 3}))
    assert result["outcome"]["limit_exceeded"] == "wall_clock"
    assert result["usage"]["wall_clock_ms"] < 6000


def idle_jail(client):
    """Returns the pid of the only jail once it is ready: it is in a session of its own then."""

    def is_idle():
        (slot,) = client.status()["slots"]
        return slot["state"] == "idle"

    wait_until(is_idle, "the slot is idle")
    return client.status()["slots"][0]["jail_pid"]


def starve(jail):
    """Gives the jail next to no share of its CPU. Its jobs inherit that."""
    os.setpriority(os.PRIO_PROCESS, jail, 19)
    group, ours = Path(f"/proc/{jail}/autogroup"), Path("/proc/self/autogroup")
    if group.exists() and group.read_text():
        if os.geteuid() != 0:
            pytest.skip("only root may take the share of a jail's scheduling group, which hides from its own account")
        assert group.read_text().split()[0] not in ours.read_text().split()
        group.write_text("19")


def test_the_time_of_a_second_program_is_not_that_of_the_next_job(start_daemon):
    """A pass that one process confirms may take its limit twice. The slot's next job has no such pass."""
    daemon = start_daemon(slots=1)
    with daemon.connect() as client:
        result = client.run({**code(""), "code": SLOW_TWICE})
        assert result["score"]["passed"] and result["usage"]["wall_clock_ms"] > WALL_S * 1000, result
        result = client.run(sandbox("import time\ntime.sleep(1.6)"))
        assert result["outcome"]["limit_exceeded"] == "wall_clock", result


def deadline_moves(client):
    """Returns how often the deadline of a sandbox job has moved."""
    client.send({"type": "metrics"})
    head = 'rubricd_deadline_moves_total{kind="sandbox"} '
    (moves,) = [line for line in client.recv()["text"].splitlines() if line.startswith(head)]
    return int(moves.removeprefix(head))


def test_one_that_gets_no_cpu_is_starved(start_daemon):
    """It is an error that may be retried, and no verdict."""
    with bound_to_one_cpu() as cpu:
        daemon = start_daemon(slots=1)
    with daemon.connect() as client, loops(cpu, 1):
        starve(idle_jail(client))
        moves, n = 0, 0
        # On a host that is busy besides, the first look may come so late that the deadline moves no more.
        while moves == 0 and n < 5:
            n += 1
            answer = client.run(sandbox("while :; do :; done", runner="shell", limits={"wall_clock": 0.5}))
            assert (answer["type"], answer.get("code"), answer.get("retriable")) == ("error", "starved", True), answer
            assert "the host was too busy" in answer["message"]
            moves = deadline_moves(client)
        assert 1 <= moves <= 180 * n
        assert client.status()["counters"]["errors"] == {"starved": n}
        client.send({"type": "metrics"})
        assert f'rubricd_job_errors_total{{kind="sandbox",code="starved"}} {n}' in client.recv()["text"]
