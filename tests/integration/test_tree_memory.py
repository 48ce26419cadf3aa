# SPDX-License-Identifier: MIT
"""All processes of a job together keep its limit of memory, whether a control group sees to that or, where
there is none, the jail."""

import shlex

import pytest
from conftest import ALL_LAYERS, PYTHON, Daemon, make_shape

MIB = 1 << 20


@pytest.fixture(scope="module", name="daemon")
def start_shared(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"), shape=make_shape(ALL_LAYERS), slots=1)
    yield daemon
    assert daemon.stop() == 0, daemon.log()


# The parent waits until every child has its memory, and then for the end.
FAMILY = """
import os, time
shared = bytearray(b"x") * (int(%r) << 20)
ready, done = os.pipe()
for _ in range(4):
    if not os.fork():
        own = bytearray(b"x") * (int(%r) << 20)
        os.write(done, b"x")
        time.sleep(float(%r))
        os._exit(0)
for _ in range(4): os.read(ready, 1)
for _ in range(4): os.wait()
"""


def run(client, shared, own, seconds):
    argv = [PYTHON, "-c", FAMILY % (shared, own, seconds)]
    result = client.run({"kind": "sandbox", "argv": argv, "limits": {"memory_bytes": 128 * MIB, "wall_clock": 60}})
    assert result["type"] == "result", result
    return result["outcome"]


def test_processes_together_exceed_the_limit(client):
    outcome = run(client, 0, 50, 60)
    assert (outcome["success"], outcome["limit_exceeded"]) == (False, "memory"), outcome
    assert run(client, 0, 1, 0)["success"] is True


# Sleeps and takes memory in turn, so that it is at rest before it takes more.
BY_AND_BY = """
import time
taken = []
for _ in range(int(%r)):
    time.sleep(0.4)
    taken.append(bytearray(b"x") * (20 << 20))
time.sleep(float(%r))
"""


@pytest.mark.parametrize("steps, limit", [(8, "memory"), (2, None)])
def test_memory_is_counted_again_after_a_rest(client, steps, limit):
    # The limit is the kernel's, too, for the size of each process: two share the amount.
    halves = [(PYTHON, "-c", BY_AND_BY % (steps, 60 if limit else 1))] * 2
    both = " & ".join(shlex.join(half) for half in halves) + "; r=$?; wait $! && exit $r"
    job = {"kind": "sandbox", "argv": ["/bin/sh", "-c", both], "limits": {"memory_bytes": 256 * MIB, "wall_clock": 60}}
    outcome = client.run(job)["outcome"]
    assert (outcome["success"], outcome["limit_exceeded"]) == (limit is None, limit), outcome


def test_memory_that_processes_share_counts_once(client):
    outcome = run(client, 50, 0, 1)
    assert (outcome["success"], outcome["limit_exceeded"]) == (True, None), outcome

# Has 350 MiB, and for two seconds children that run in its memory: such as wait for the program that they are to
# become, as those of subprocess do, or such as stay.
SPAWNS = """
import os, subprocess, time
own = bytearray(b"x") * (350 << 20)
end = time.monotonic() + 2
while time.monotonic() < end:
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    subprocess.run(["/bin/true"], check=True)
"""
STAYS = """
import ctypes, os, signal, time
CLONE_VM = 0x100
own = bytearray(b"x") * (350 << 20)
libc = ctypes.CDLL(None, use_errno=True)
stacks = [ctypes.create_string_buffer(1 << 16) for _ in range(4)]
pause = ctypes.cast(libc.pause, ctypes.c_void_p)
for stack in stacks:
    top = ctypes.c_void_p((ctypes.addressof(stack) + len(stack)) & ~15)
    assert libc.clone(pause, top, CLONE_VM | signal.SIGCHLD, None) > 0
time.sleep(2)
"""


@pytest.mark.parametrize("family", [SPAWNS, STAYS], ids=["spawns", "stays"])
def test_memory_that_several_processes_run_in_counts_once(client, family):
    job = {"kind": "sandbox", "argv": [PYTHON, "-c", family], "limits": {"memory_bytes": 512 * MIB, "wall_clock": 60}}
    outcome = client.run(job)["outcome"]
    assert (outcome["success"], outcome["limit_exceeded"]) == (True, None), outcome



# Each process is a child of the one before, and has memory of its own; the first thread of each has ended, which has
# no memory any more, like that of any other.
COPIES = """
import ctypes, os, threading, time
own = None
def live(depth):
    global own
    own = None
    own = bytearray(b"x") * (50 << 20)
    if depth and not os.fork():
        live(depth - 1)
    threading.Thread(target=time.sleep, args=(60,)).start()
    ctypes.CDLL(None).pthread_exit(None)
live(7)
"""


def test_processes_that_look_alike_count_each(client):
    job = {"kind": "sandbox", "argv": [PYTHON, "-c", COPIES], "limits": {"memory_bytes": 256 * MIB, "wall_clock": 30}}
    outcome = client.run(job)["outcome"]
    assert (outcome["success"], outcome["limit_exceeded"]) == (False, "memory"), outcome


def test_a_candidate_counts(client):
    code = FAMILY % (0, 50, 60)
    job = {"kind": "code_exec", "code": code, "targets": ["assert x == 1"], "limits": {"memory_bytes": 256 * MIB}}
    result = client.run({**job, "code": code.replace("range(4)", "range(8)")})
    assert result["type"] == "result" and result["outcome"]["limit_exceeded"] == "memory", result
    assert client.run({**job, "code": "x = 1"})["verdict"] == "pass"


# Prints the name of the error of each way to share memory with no file behind it, or "ok".
SHARING = """
import errno, mmap
def tried(name, *how):
    try:
        mmap.mmap(*how).write(b"x")
        print(name, "ok")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
with open("/dev/zero", "r+b", buffering=0) as zero, open("file", "w+b") as file:
    assert zero.read(100000) == bytes(100000)
    file.truncate(4096)
    tried("default", -1, 4096)
    tried("shared", -1, 4096, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE
    tried("zero", zero.fileno(), 4096, mmap.MAP_SHARED)
    tried("private", -1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    tried("file", file.fileno(), 4096, mmap.MAP_SHARED)
"""


def test_memory_that_nothing_would_count_cannot_be_had(client):
    result = client.run({"kind": "sandbox", "argv": [PYTHON, "-c", SHARING]})
    found = dict(line.split() for line in result["stdout"].splitlines())
    assert (found["private"], found["file"]) == ("ok", "ok"), result
    refused = (found["default"], found["shared"], found["zero"])
    layers = set(result["isolation"]["layers"])
    if "cgroup" not in layers:
        expected = "ENOTSUP" if "seccomp" in layers else "ok"
        assert refused == (expected, expected, "ENODEV" if "mount_namespace" in layers else "ok"), result
    else:  # a group may lack the controller
        assert refused in {("ok", "ok", "ok"), ("ENOTSUP", "ENOTSUP", "ENODEV")}, result


# What Python's own library shares between processes lies in files of /dev/shm.
LIBRARY = """
import multiprocessing as mp
from multiprocessing import shared_memory
def add(value, array, lock):
    with lock:
        value.value += 1
        array[value.value] = 7
def square(n): return n * n
value, array, lock = mp.Value("i", 0), mp.Array("i", 4), mp.Lock()
children = [mp.Process(target=add, args=(value, array, lock)) for _ in range(3)]
for child in children: child.start()
for child in children: child.join()
print(value.value, list(array))
with mp.Pool(2) as pool: print(pool.map(square, range(4)))
block = shared_memory.SharedMemory(create=True, size=100)
block.buf[0] = 5
other = shared_memory.SharedMemory(block.name)
print(other.buf[0])
block.unlink()
"""


def test_processes_of_python_share_what_they_need(client):
    limits = {"memory_bytes": 512 * MIB, "max_processes": 64}
    result = client.run({"kind": "sandbox", "argv": [PYTHON, "-c", LIBRARY], "limits": limits})
    assert result["stdout"] == "3 [0, 7, 7, 7]\n[0, 1, 4, 9]\n5\n", result
