# SPDX-License-Identifier: MIT
"""A job finds a slot in its first state: nothing that an earlier job held there is left, although no process
of that job lives. A jail that cannot be brought back to that state is replaced."""

import json
import os
import re

import pytest
from conftest import ALL_LAYERS, PYTHON, Daemon, make_shape

MIB = 1 << 20


@pytest.fixture(scope="module", name="daemon")
def start_shared(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"), shape=make_shape(ALL_LAYERS), slots=1)
    yield daemon
    assert daemon.stop() == 0, daemon.log()
    assert not any(daemon.work.iterdir()), "the work directory is empty at the end"


def python(client, code):
    job = {"kind": "sandbox", "argv": [PYTHON, "-c", code], "limits": {"disk_bytes": 64 * MIB}}
    result = client.run(job)
    assert result["type"] == "result" and result["score"]["passed"] is True, result
    return json.loads(result["stdout"] or "null")


def code_exec(code):
    return {"kind": "code_exec", "code": code, "targets": ["assert found == []"], "metadata": {"timeout_s": 30}}


def jails_lost(client):
    client.send({"type": "metrics"})
    return int(re.search(r"^rubricd_jails_lost_total (\d+)$", client.recv()["text"], re.M)[1])


# Nobody holds the pair but the message in its own queue: the kernel frees it, and what came with it, only
# when it next looks for such circles.
CIRCLE = """
import array, os, socket
a, b = socket.socketpair()
name = socket.socket(socket.AF_UNIX)
name.bind("\\0left")
file = os.open("left", os.O_RDWR | os.O_CREAT)
os.unlink("left")
if WITH_FILE: os.posix_fallocate(file, 0, 60 << 20)
held = [a.fileno(), b.fileno(), name.fileno()]
if WITH_FILE: held.append(file)
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", held))])
os._exit(0)
"""
LOOK = """
import json, os, socket
found = []
try: socket.socket(socket.AF_UNIX).bind("\\0left")
except OSError as error: found.append(str(error))
st = os.statvfs(".")
if st.f_blocks - st.f_bfree: found.append(f"{(st.f_blocks - st.f_bfree) * st.f_frsize} bytes")
print(json.dumps(found))
"""


@pytest.mark.parametrize("with_file", [True, False], ids=["file", "name"])
def test_a_circle_of_descriptors_does_not_reach_the_next_job(client, with_file):
    """The next job found the name in use and 60 of its 64 MiB."""
    before = jails_lost(client)
    for _ in range(5):
        python(client, f"WITH_FILE = {with_file}" + CIRCLE)
        assert python(client, LOOK) == []
    # Where another process of the host closes a socket in time, the kernel frees the circle before.
    assert jails_lost(client) > before, "a jail that is not in its first state is replaced"


def test_a_circle_of_a_candidate_does_not_reach_the_next_one(client):
    """The process that runs code under test has a network namespace of its own."""
    before = jails_lost(client)
    for _ in range(5):
        result = client.run(code_exec("WITH_FILE = False" + CIRCLE))
        assert result["type"] == "result", result
        result = client.run(code_exec(LOOK))
        assert result["verdict"] == "pass", result
    assert jails_lost(client) > before, "a jail that is not in its first state is replaced"


def test_a_circle_with_its_own_output_keeps_its_result(client):
    """The job's output does not end before the kernel frees the circle."""
    for _ in range(5):
        code = CIRCLE.replace("WITH_FILE", "False").replace("b.fileno(), ", "b.fileno(), 1, ")
        result = client.run({"kind": "sandbox", "argv": [PYTHON, "-c", "print('told', flush=True)" + code]})
        assert result["type"] == "result", result
        assert (result["score"]["passed"], result["stdout"]) == (True, "told\n")
        assert python(client, LOOK) == []


def test_sockets_that_are_closed_cost_no_jail(client):
    """An honest job uses sockets, sends descriptors and leaves what it has not read."""
    before = jails_lost(client)
    for _ in range(5):
        python(client, CIRCLE.replace("a.fileno(), b.fileno(), ", "").replace("WITH_FILE", "True"))
        assert python(client, LOOK) == []
    assert jails_lost(client) == before


PIDS = """
import json, os
seen = [os.getpid(), os.fork()]
if not seen[1]: os._exit(0)
os.wait()
"""
USE_PIDS = """
for _ in range(200):
    if not os.fork(): os._exit(0)
    os.wait()
"""


def pids_of_pair(client):
    """Returns what a candidate sees of its own pid and a child's."""
    result = client.run(code_exec(PIDS + "print('told', json.dumps(seen))" + USE_PIDS + "found = 1\n"))
    return next(line[5:] for line in result["outcome"]["stderr"].splitlines() if line.startswith("told "))


def test_no_job_sees_how_many_processes_others_had(client):
    """A job that starts processes told the next one a number of its choice."""
    tell = PIDS + "print(json.dumps(seen))"
    python(client, USE_PIDS.replace("\n", "\nimport os\n", 1))
    first = python(client, tell)
    assert python(client, tell + USE_PIDS) == first
    assert python(client, tell) == first
    pair = pids_of_pair(client)
    assert pids_of_pair(client) == pair
    assert python(client, tell) == first, "the process that starts candidates lives, and takes no number"


INPUT = """
import os, stat
before = os.fstat(0)
found = [stat.S_ISCHR(before.st_mode), before.st_rdev, os.isatty(0), os.read(0, 1).decode()]
for change in (lambda: os.utime(0), lambda: os.utime(0, (1, 1)), lambda: os.chmod(0, 0o600), lambda: os.chown(0, 0, 0)):
    try: change()
    except OSError: continue
    found.append("changed")
"""


def test_no_job_changes_the_device_that_is_its_empty_input(client):
    """Its times told every later job on the host something: the daemon's own /dev/null could be written to."""
    before, tell = os.stat("/dev/null"), "import json\nprint(json.dumps(found))"
    expected = [True, before.st_rdev, False, ""]
    assert python(client, INPUT + tell) == expected
    job = {"kind": "program", "language": "python", "code": INPUT + f"print(found == {expected})\n"}
    result = client.run({**job, "tests": [{"input": "", "output": "True\n"}]})
    assert result["verdict"] == "pass", result
    result = client.run({**code_exec(INPUT), "targets": [f"assert found == {expected}"]})
    assert result["verdict"] == "pass", result
    after = os.stat("/dev/null")
    assert (after.st_mode, after.st_uid, after.st_mtime_ns) == (before.st_mode, before.st_uid, before.st_mtime_ns)


# Writes a number by looking up some of the 32 first entries, and reads one that an earlier program has written. Those
# that are covered have the times of the device that covers them.
ENTRIES = """
import os, time
start = time.time()
def is_entry(name): return not name.isdigit() and "self" not in name and name not in ("cmdline", "locks")
def names():
    yield from ["/proc/" + name for name in sorted(os.listdir("/proc")) if is_entry(name)]
bits = list(names())[:32]
def read(): return sum(1 << i for i, path in enumerate(bits) if os.lstat(path).st_mtime < start - 0.02)
def write(number): [os.lstat(path) for i, path in enumerate(bits) if number >> i & 1]
"""


def test_no_job_sees_what_others_looked_up_in_proc(client):
    """The kernel dates an entry when it is looked up first: a job wrote 32 bits, which the next one read."""
    for number in (0x5AFE_C0DE, 0x0BAD_CAFE):
        python(client, ENTRIES + f"write({number})")
        # The one that reads looks everything up, and so does the next.
        assert python(client, "import time\ntime.sleep(0.05)" + ENTRIES + "print(read())") == 0
        assert python(client, "import time\ntime.sleep(0.05)" + ENTRIES + "print(read())") == 0


def test_no_test_sees_what_others_looked_up_in_proc(client):
    code = "import time\ntime.sleep(0.05)" + ENTRIES + "n = int(input())\nprint(read())\nwrite(n)\n"
    job = {"kind": "program", "language": "python", "code": code, "stop": "all"}
    tests = [{"input": f"{number}\n", "output": "0\n"} for number in (0x5AFE_C0DE, 0x0BAD_CAFE, 1)]
    assert client.run({**job, "tests": tests})["verdict"] == "pass"


def test_no_candidate_sees_what_others_looked_up_in_proc(client):
    """The process that runs code under test has a /proc of its own, which lives as long as the jail."""
    look = "import time\ntime.sleep(0.05)" + ENTRIES
    for _ in range(2):
        result = client.run({**code_exec(look + "write(0x5AFEC0DE)\nfound = []"), "targets": ["assert found == []"]})
        assert result["type"] == "result", result
        result = client.run(code_exec(look + "found = [read()] if read() else []"))
        assert result["verdict"] == "pass", result


# The kernel sets the time of last access of these links when somebody reads them first, and keeps it as long as
# the /proc is mounted.
READ_PROC = """
import os, time
time.sleep(2)
os.listdir("/proc"), os.readlink("/proc/self"), os.readlink("/proc/thread-self")
found = []
"""
LATE = """
import json, os
made = os.lstat("/proc").st_ctime
found = [path for path in ("/proc", "/proc/self", "/proc/thread-self") if os.lstat(path).st_atime - made > 1.5]
"""


def test_nobody_sees_when_others_have_read_proc(tmp_path):
    daemon = Daemon(tmp_path, shape=make_shape(ALL_LAYERS), slots=1)
    with daemon.connect() as client:
        python(client, READ_PROC)
        assert python(client, LATE + "print(json.dumps(found))") == []
        for code in (READ_PROC, LATE):
            result = client.run(code_exec(code))
            assert result["verdict"] == "pass", result
    assert daemon.stop() == 0, daemon.log()


def test_no_job_sees_the_names_of_what_others_may_read(tmp_path):
    """The directories at which another job's paths were shown stayed, with their names."""
    look = "import json, os\nprint(json.dumps([sorted(os.listdir('/')), [p for p in %r if os.path.lexists(p)]]))"
    # Not /var/lib itself: what some languages need below it, all jobs see.
    names = ["/var/lib/dpkg/info", "/var/lib/dpkg/status", "/var/lib/dpkg", "/var/lib/apt"]
    job = {"kind": "sandbox", "argv": [PYTHON, "-c", look % names]}
    daemon = Daemon(tmp_path, "sandbox.readable_roots=/var/lib", shape=make_shape(ALL_LAYERS), slots=1)
    with daemon.connect() as client:
        first = json.loads(client.run(job)["stdout"])
        assert {"usr", "run", "home", "var", "tmp", "work", "bench"} <= set(first[0]) and first[1] == []
        for shown in (
            ["/var/lib/dpkg/info"],
            ["/var/lib/dpkg/status"],
            ["/var/lib/dpkg", "/var/lib/dpkg/info", "/var/lib/apt"],
            ["/var/lib/dpkg/info", "/var/lib/dpkg/status"],
        ):
            seen = json.loads(client.run({**job, "readable": shown})["stdout"])
            assert seen[0] == first[0] and set(shown) <= set(seen[1])
            assert json.loads(client.run(job)["stdout"]) == first
        assert jails_lost(client) == 0
    assert daemon.stop() == 0, daemon.log()
