# SPDX-License-Identifier: MIT
"""The usage that a result reports: time, memory, and how long the job waited."""

import pytest
from conftest import PASSING, Daemon

MIB = 1 << 20


@pytest.fixture(scope="module", name="daemon")
def start_shared(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"))
    yield daemon
    assert daemon.stop() == 0, daemon.log()


USAGE = {"wall_clock_ms", "cpu_ms", "cpu_wait_ms", "max_rss_bytes", "queue_ms"}


def test_usage_of_a_job_that_does_nothing(client, bench):
    answer = client.run(bench.job(PASSING))
    usage = answer["usage"]
    assert usage.keys() == USAGE
    for key, value in usage.items():
        assert type(value) is int or (key == "cpu_wait_ms" and value is None)
    assert 0 < usage["wall_clock_ms"] < 5000
    assert 0 <= usage["cpu_ms"] < 2000
    # In a cgroup a warm job is charged only for memory that it does not share with its interpreter.
    shares = answer["interpreter"] == "warm" and "cgroup" in answer["isolation"]["layers"]
    assert (MIB // 4 if shares else MIB) < usage["max_rss_bytes"] < 100 * MIB
    assert 0 <= usage["queue_ms"] < 5000
    assert usage["cpu_wait_ms"] is None or 0 <= usage["cpu_wait_ms"] <= usage["wall_clock_ms"] + 10


def test_usage_of_a_busy_loop(client, bench):
    code = "import time\nwhile time.process_time() < 0.5: pass\n" + PASSING
    usage = client.run(bench.job(code))["usage"]
    assert 500 <= usage["cpu_ms"] < 1500
    assert usage["wall_clock_ms"] >= 400


def test_usage_counts_children(client, bench):
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    while time.process_time() < 0.4: pass\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    assert 400 <= client.run(bench.job(code + PASSING))["usage"]["cpu_ms"] < 1500


def test_usage_of_memory(client, bench):
    code = "block = b'x' * (200 << 20)\n" + PASSING
    assert 200 * MIB <= client.run(bench.job(code))["usage"]["max_rss_bytes"] < 300 * MIB
    assert client.run(bench.job(PASSING))["usage"]["max_rss_bytes"] < 100 * MIB, "only the job's own memory"


def test_usage_of_a_timeout(client, bench):
    code = "block = b'x' * (50 << 20)\nwhile True: pass"
    result = client.run(bench.job(code, case={"rubric_wall_clock_seconds": 3}))
    usage, limit = result["usage"], result.get("deadline", {"wall_clock_ms": 3000})["wall_clock_ms"]
    assert limit <= usage["wall_clock_ms"] < limit + 2500
    assert 50 <= usage["cpu_ms"] < limit + 2500
    assert 50 * MIB <= usage["max_rss_bytes"] < 150 * MIB


def test_usage_of_a_job_that_waited(client, bench):
    """Three jobs for two slots: the third waits until one of the others ends."""
    name = bench.rubric("import time; time.sleep(0.5)\n" + PASSING)
    for n in range(3):
        client.submit(f"job-{n}", bench.job(name=name))
    usage = {answer["id"]: answer["usage"] for answer in (client.recv_answer() for _ in range(3))}
    assert usage["job-0"]["queue_ms"] < usage["job-2"]["queue_ms"]
    assert 400 <= usage["job-2"]["queue_ms"] < 5000
    assert 400 <= usage["job-2"]["wall_clock_ms"] < 5000, "wall_clock_ms does not include the wait"


def test_usage_of_a_process_that_wants_a_cpu(client, bench):
    """Many processes compete for the CPU. Where the kernel reports their wait, it is not 0."""
    code = (
        "import os, time\n"
        "for _ in range(16):\n"
        "    if os.fork() == 0:\n"
        "        while True: pass\n"
        "end = time.monotonic() + 0.5\n"
        "while time.monotonic() < end: pass\n"
    )
    wait = client.run(bench.job(code + PASSING))["usage"]["cpu_wait_ms"]
    assert wait is None or (type(wait) is int and 50 <= wait <= 5000)


def test_a_program_that_hides_tells_its_wait(client, bench):
    """The account of a job cannot inspect a process that is not dumpable, running or dead. The daemon
    reports its wait nevertheless."""
    hide = "import ctypes, time; time.sleep(1); assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0\n"
    waits = [client.run(bench.job(code + PASSING))["usage"]["cpu_wait_ms"] for code in ("", hide)]
    assert (waits[0] is None) == (waits[1] is None)


def test_a_failed_system_under_test_used_nothing(client, bench):
    result = client.run(bench.job(name="absent", sut={"status": "exception"}))
    assert result["usage"] == {
        "wall_clock_ms": 1,
        "cpu_ms": 0,
        "cpu_wait_ms": 0,
        "max_rss_bytes": 0,
        "queue_ms": 0,
    }
