# SPDX-License-Identifier: MIT
"""Limits and usage of a job's whole process tree and of its work directory: the limit that
limit_exceeded names, and the evidence for it. Tests that need a control group are skipped on hosts
without one; packaging/run-vm-tests provides one."""

import contextlib
import os
import signal
from pathlib import Path

import pytest
from conftest import make_shape, wait_until

MIB = 1 << 20


@pytest.fixture
def needs_cgroup(daemon):
    if "cgroup" not in daemon.layers():
        pytest.skip("the layer cgroup is not in force here")


@pytest.fixture
def needs_view(daemon):
    if not daemon.has_view():
        pytest.skip("the work directory has a bound only in a mount namespace")


def python(code, **limits):
    return {"kind": "sandbox", "snippet": code, "runner": "python", "limits": limits}


def commands(pids):
    """Returns what each of PIDS runs, by the names of their programs."""
    names = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            names.add(Path(f"/proc/{pid}/comm").read_bytes().strip())
    return names


def assert_exceeded(result, limit):
    assert result["type"] == "result", result
    assert result["outcome"]["limit_exceeded"] == limit, result
    assert result["outcome"]["summary"] == f"sandbox limit exceeded: {limit}"
    assert result["score"]["passed"] is False
    assert result["score"]["failure_modes"] == [
        {
            "code": "sandbox.limit_exceeded",
            "severity": "block",
            "detail": f"sandbox limit exceeded: {limit}",
        }
    ]


def assert_next_job_is_well(client):
    result = client.run(python("print('well')"), id="next")
    assert result["score"]["passed"] is True and result["stdout"] == "well\n", result


def cgroups_of(daemon, program):
    """Returns the cgroups of the daemon's descendants that run PROGRAM."""
    found = set()
    for pid in daemon.descendants():
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(program):
                lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
                found |= {Path("/sys/fs/cgroup" + line[3:]) for line in lines if line.startswith("0::")}
        except OSError:
            pass  # the process has ended
    return found


# family() forks N children that each call WORK, and returns their wait statuses.
FAMILY = """
import os, sys, time
def family(n, work):
    pids = []
    for _ in range(n):
        pid = os.fork()
        if pid == 0:
            try:
                work()
            finally:
                os._exit(3)
        pids.append(pid)
    return [os.waitpid(pid, 0)[1] for pid in pids]
"""


# --- control groups -------------------------------------------------------------------------------


def test_memory_of_many_processes(client, needs_cgroup):
    """Each process is well below the limit, but together they exceed it."""
    code = FAMILY + (
        "def work():\n"
        f"    data = bytearray(60 * {MIB})\n"
        "    data[::4096] = b'x' * len(data[::4096])\n"
        "    time.sleep(60)\n"
        "family(8, work)\n"
    )
    result = client.run(python(code, memory_bytes=256 * MIB, wall_clock=30))
    assert_exceeded(result, "memory")
    assert result["usage"]["max_rss_bytes"] > 200 * MIB
    assert_next_job_is_well(client)


def test_memory_in_files(client, needs_cgroup):
    """A tmpfs is memory too."""
    code = f"f = open('data', 'wb')\nfor _ in range(400): f.write(b'x' * {MIB}); f.flush()\n"
    result = client.run(python(code, memory_bytes=128 * MIB, disk_bytes=1024 * MIB, wall_clock=30))
    assert_exceeded(result, "memory")
    assert_next_job_is_well(client)


def test_a_fork_bomb(client, needs_cgroup):
    code = FAMILY + "family(50, lambda: time.sleep(60))\n"
    result = client.run(python(code, max_processes=10, wall_clock=30))
    assert_exceeded(result, "processes")
    assert_next_job_is_well(client)


def test_threads_count_as_processes(client, needs_cgroup):
    code = (
        "import threading, time\n"
        "for _ in range(50): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    result = client.run(python(code, max_processes=10, wall_clock=30))
    assert_exceeded(result, "processes")


def test_cpu_time_of_many_processes(client, needs_cgroup):
    """No process uses as much as the limit. The daemon kills all once they exceed it together."""
    code = FAMILY + "def work():\n    while True: pass\nfamily(6, work)\n"
    result = client.run(python(code, cpu=3, wall_clock=60))
    assert_exceeded(result, "cpu")
    assert 3000 <= result["usage"]["cpu_ms"] < 10000
    assert_next_job_is_well(client)


def test_a_success_exceeds_nothing(client, needs_cgroup):
    """A job passes if it handles the refusal of a fork."""
    code = FAMILY + (
        "try:\n    family(50, lambda: time.sleep(0.5))\nexcept BlockingIOError:\n    pass\n"
    )
    result = client.run(python(code, max_processes=10, wall_clock=30))
    assert result["outcome"]["limit_exceeded"] is None, result
    assert result["score"]["passed"] is True


def test_a_cgroup_that_cannot_be_removed(daemon, client, needs_cgroup):
    """A cgroup inside the job's cgroup keeps it from being removed. The daemon still answers this job and
    the next one."""
    client.submit("held", {"kind": "sandbox", "argv": ["/bin/sleep", "2"]})
    assert client.recv()["type"] == "started"
    wait_until(lambda: cgroups_of(daemon, b"/bin/sleep"), "it runs in its cgroup")
    (place,) = cgroups_of(daemon, b"/bin/sleep")
    inner = place / "held"
    inner.mkdir()
    try:
        assert client.recv_answer("held")["score"]["passed"]
        assert "stays" in daemon.log()
        assert_next_job_is_well(client)
    finally:
        inner.rmdir()
        place.rmdir()


def test_peak_memory_of_the_tree(client, needs_cgroup):
    code = FAMILY + (
        "def work():\n"
        f"    data = bytearray(30 * {MIB})\n"
        "    data[::4096] = b'x' * len(data[::4096])\n"
        "    open(f'ready-{os.getpid()}', 'w').close()\n"
        "    while len([n for n in os.listdir('.') if n.startswith('ready')]) < 4: time.sleep(0.01)\n"
        "family(4, work)\n"
    )
    result = client.run(python(code, wall_clock=60))
    assert result["score"]["passed"] is True, result
    assert result["usage"]["max_rss_bytes"] >= 120 * MIB


# --- everywhere -----------------------------------------------------------------------------------


def test_processes_are_limited(client, daemon):
    if not daemon.layers() & {"user_namespace", "cgroup"}:
        pytest.skip("neither a user namespace nor a control group counts processes here")
    code = FAMILY + (
        "started = []\n"
        "try:\n"
        "    while len(started) < 200:\n"
        "        pid = os.fork()\n"
        "        if pid == 0: time.sleep(60)\n"
        "        started.append(pid)\n"
        "except BlockingIOError:\n"
        "    pass\n"
        "print(len(started))\n"
    )
    result = client.run(python(code, max_processes=10, wall_clock=30))
    assert result["stdout"] == "9\n", result  # the program itself is the tenth


def test_cpu_time_of_orphans_is_told(client):
    """The usage of a job includes orphans, although no process of the job has waited for them."""
    code = (
        "import os, time\n"
        "r, w = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        while time.process_time() < 0.7: pass\n"
        "        os.write(w, b'x')\n"
        "        time.sleep(60)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "os.read(r, 1)\n"
    )
    result = client.run(python(code, wall_clock=60))
    assert result["score"]["passed"] is True, result
    assert result["usage"]["cpu_ms"] >= 700


FILLERS = {
    "one file": "f = open('data', 'wb')\nwhile True: f.write(b'x' * 65536); f.flush()\n",
    "many files": "for i in range(1000000): open(f'{i}', 'w').close()\n",
    "many directories": "import os\nfor i in range(1000000): os.mkdir(f'{i}')\n",
    "/tmp": "f = open('/tmp/data', 'wb')\nwhile True: f.write(b'x' * 65536); f.flush()\n",
    "/dev/shm": "f = open('/dev/shm/data', 'wb')\nwhile True: f.write(b'x' * 65536); f.flush()\n",
}


@pytest.mark.parametrize("how", FILLERS)
def test_a_full_work_directory(how, client, needs_view):
    """The directory has a bound on bytes and on inodes. RLIMIT_FSIZE would bound a single file as well,
    so several files fill it."""
    code = "open('rest', 'wb').write(bytes(1 << 19))\n" + FILLERS[how]
    result = client.run(python(code, disk_bytes=MIB, wall_clock=60))
    assert_exceeded(result, "disk")
    assert "No space left on device" in result["outcome"]["stderr"]
    assert_next_job_is_well(client)


def test_one_file_of_the_whole_size(client, daemon):
    """The kernel sends SIGXFSZ. Python ignores it and reports an error instead."""
    code = "import os\nos.truncate(os.open('data', os.O_CREAT | os.O_RDWR), 1 << 50)\n"
    result = client.run(python(code, disk_bytes=MIB))
    assert result["score"]["passed"] is False
    assert "File too large" in result["outcome"]["stderr"]
    shell = {"kind": "sandbox", "snippet": "exec /usr/bin/truncate -s 1P data\n"}
    assert_exceeded(client.run(shell, id="shell"), "disk")


def test_the_next_job_may_write_more(client, needs_view):
    """Each job has a bound of its own, larger or smaller than the one before."""
    for size in (2 * MIB, 8 * MIB, 2 * MIB):
        code = (
            "n = 0\n"
            "try:\n"
            "    for name in ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'):\n"
            f"        n += open(name, 'wb', 0).write(bytes({MIB})) == {MIB}\n"
            "except OSError as e: pass\n"
            "print(n)\n"
        )
        result = client.run(python(code, disk_bytes=size), id=f"of {size}")
        # The snippet takes one page, so the last MiB does not fit.
        assert result["stdout"] == f"{size // MIB - 1}\n", result


def test_a_kill_of_the_largest_process_alone_is_no_evidence(client):
    """A job that kills itself has not exceeded a limit."""
    result = client.run(python("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"))
    assert result["outcome"]["limit_exceeded"] is None, result
    assert result["outcome"]["signal"] == 9


def test_what_is_lost_without_namespaces_is_told(start_daemon, tmp_path):
    daemon = start_daemon("isolation.without=user_namespace", shape=make_shape("all layers"))
    with daemon.connect() as client:
        missing = {item["layer"] for item in client.status()["isolation"]["missing"]}
    assert {"user_namespace", "mount_namespace", "pid_namespace"} <= missing


def test_a_job_that_waits_for_another_jail_has_its_cgroup(start_daemon, needs_cgroup):
    """A job that may use the network needs another jail. The end of the old jail removes all cgroups of
    the slot, so the daemon makes the job's cgroup once the new jail is up."""
    daemon = start_daemon("sandbox.allow_network=yes", "daemon.slots=1")
    with daemon.connect() as client:
        for network in (True, False, True):
            job = python("print(open('/proc/self/cgroup').read())", allow_network=network)
            result = client.run(job)
            assert result["type"] == "result" and result["score"]["passed"] is True, result
            assert "cgroup" in result["isolation"]["layers"]


def test_cpu_time_that_the_processes_took_together(client):
    """Where no control group ends the job at its limit, its end does. Each process alone keeps the limit."""
    burn = "import os, time\nwhile sum(os.times()[:2]) < 0.7: pass\n"
    code = f"import subprocess, sys\nfor _ in range(3): subprocess.run([sys.executable, '-c', {burn!r}], check=True)\n"
    result = client.run(python(code, cpu=1))
    assert_exceeded(result, "cpu")
    assert result["usage"]["cpu_ms"] > 1000
    result = client.run(python(code, cpu=10))
    assert result["score"]["passed"] is True and result["usage"]["cpu_ms"] > 1000


def test_a_deadline_that_a_busy_daemon_has_not_looked_at(start_daemon):
    """The job exits by itself long after its deadline, and the daemon hears of both at once."""
    daemon = start_daemon()
    idle = set(daemon.descendants())
    with daemon.connect() as client:
        client.submit("late", {"kind": "sandbox", "argv": ["/bin/sleep", "3"], "limits": {"wall_clock": 1}})
        wait_until(lambda: b"sleep" in commands(set(daemon.descendants()) - idle), "the job runs")
        os.kill(daemon.process.pid, signal.SIGSTOP)
        try:
            wait_until(lambda: b"sleep" not in commands(daemon.descendants()), "the job has ended")
        finally:
            os.kill(daemon.process.pid, signal.SIGCONT)
        assert_exceeded(client.recv_answer(), "wall_clock")
