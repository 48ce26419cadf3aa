# SPDX-License-Identifier: MIT
"""The process that judges code and the one that runs it share nothing but the wire, the working directory
and the host. Each attack here gave code that knows no answer a pass while both ran in one jail."""

import json
import os
import subprocess

import pytest
from conftest import (
    ALL_LAYERS,
    NO_USER_NAMESPACES,
    PYTHON,
    Daemon,
    Shape,
    cannot_be_taken_away,
    make_shape,
    need_warm_jail,
    user_namespaces_are_refused,
)

NAMESPACES = {"pid": "pid_namespace", "mnt": "mount_namespace", "ipc": "user_namespace", "uts": "user_namespace",
              "net": "net_namespace"}  # fmt: skip


# Other files have sanitizers look at the C code of such jails.
WITHOUT_NAMESPACES = pytest.param(NO_USER_NAMESPACES, marks=pytest.mark.once)


@pytest.fixture(scope="module", name="daemon", params=[ALL_LAYERS, WITHOUT_NAMESPACES])
def start_in_shape(request, tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"), shape=make_shape(request.param), slots=1)
    yield daemon
    assert daemon.stop() == 0, daemon.log()
    assert not any(daemon.work.iterdir()), "the work directory is empty at the end"


def judge(client, code, *targets, **fields):
    wanted = {"kind": "code_exec", "code": code, "metadata": {"timeout_s": 30}, **fields}
    result = client.run({**wanted, "targets": list(targets)} if targets else wanted)
    assert result["type"] == "result", result
    return result


def passes(client, code, *targets, **fields):
    result = judge(client, code, *targets, **fields)
    assert result["verdict"] == "pass", result


def told(client, code, question):
    """Returns what the code answers to QUESTION, an expression of JSON values."""
    result = judge(client, code, f"import json, os\nprint('told', json.dumps({question}))\nassert False")
    lines = [line for line in result["outcome"]["stderr"].splitlines() if line.startswith("told ")]
    assert len(lines) == 1, result
    return json.loads(lines[0][5:])


# --- attacks --------------------------------------------------------------------------------------

PRELUDE = "import statistics\n\ndef encode(s):\n    return ''.join(chr(ord(c) + 5) for c in s)\n\ndef decode(s):\n    '''inverse'''\n"
LIMIT = """
import os, resource
try: seen = os.listdir('/proc')
except OSError: seen = ['2', '3', '4', '5']
for p in [os.getppid(), *(int(p) for p in seen if p.isdigit())]:
    try:
        if p not in (1, os.getpid()): resource.prlimit(p, resource.RLIMIT_NOFILE, (0, 256))
    except OSError: pass
def encode(s): return s
def decode(s): return s
"""


def test_no_limit_of_the_judge_can_be_set(client):
    """Without descriptors the judge could not import what the prelude needs, and took encode() from the code."""
    test = "def check(candidate):\n    assert candidate(encode('abc')) == 'abc'\n"
    result = judge(client, LIMIT, prelude=PRELUDE, test=test, entry_point="decode")
    assert result["verdict"] == "assertion_fail", result


READ_INPUTS = r"""
import os, re, threading, time
got = []
def watch():
    while not got:
        for p in os.listdir('/proc'):
            for fd in '012345' if p.isdigit() else '':
                try:
                    with open(f'/proc/{p}/fd/{fd}', 'rb') as file:
                        data = os.pread(file.fileno(), 1 << 20, 0)
                    if b'target ' in data: got.append(data.decode())
                except OSError: pass
        time.sleep(0.0005)
threading.Thread(target=watch, daemon=True).start()
def f(x):
    end = time.monotonic() + 1
    while not got and time.monotonic() < end: time.sleep(0.01)
    return int(re.search(r'f\(%d\) == (\d+)' % x, got[0]).group(1)) if got else None
"""


@pytest.mark.parametrize("setup", ["import subprocess\nsubprocess.run(['sleep', '0.3'])", "import os\nos.popen('sleep 0.3').read()"])
def test_what_tests_start_does_not_hold_the_job(client, setup):
    result = judge(client, READ_INPUTS, "assert f(1) == 8231", test_setup=setup)
    assert result["verdict"] == "assertion_fail", result


READ_STDERR = r"""
import os, re, threading, time
got = []
def read():
    fd = os.open('/proc/self/fd/2', os.O_RDONLY)
    while True: got.append(os.read(fd, 65536).decode())
for _ in range(3): threading.Thread(target=read, daemon=True).start()
def f(x):
    time.sleep(0.3)
    numbers = re.findall(r'-?\d+', ''.join(got))
    return int(numbers[-1]) if numbers else None
"""


REACH = """
import ctypes, os
parent, libc, found = os.getppid(), ctypes.CDLL(None), []
for name in ("mem", "environ", "fd/1", "fd/5"):
    for how in ("rb", "wb"):
        try: open(f"/proc/{parent}/{name}", how).read(1); found.append(name)
        except Exception: pass
word = (ctypes.c_void_p * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
if libc.ptrace(16, parent, 0, 0) == 0: found.append("ptrace")
if libc.process_vm_writev(parent, word, 1, word, 1, 0) > 0: found.append("memory")
pidfd = os.pidfd_open(parent)
found += [number for number in range(16) if libc.syscall(438, pidfd, number, 0) >= 0]
print("told", found)
"""


def test_a_text_in_a_program_that_tests_start_does_not_reach_the_judge(client):
    run = "import subprocess, sys\nout = subprocess.run([sys.executable, '-c', f()], capture_output=True, text=True)\n"
    code = f"def f(): return {REACH!r}"
    result = judge(client, code, f"{run}assert out.stdout == ''")
    assert result["assertions"][0]["detail"] == "got 'told []\\n', expected ''", result


def test_texts_of_the_code_do_not_run_in_the_judge(client):
    code = "def f(): return 'raise SystemExit'\ndef g(): return 'def h(x):\\n    return x + 1'\ndef k(): return '2 * x'"
    result = judge(client, code, "exec(f())\nassert False")
    assert result["verdict"] == "assertion_fail", result
    assert result["assertions"][0]["detail"] == "the tests run a text that judges by itself: raise SystemExit"
    passes(client, code, "ns = {}\nexec(g(), ns)\nassert ns['h'](1) == 2", "assert eval(k(), {'x': 3}) == 6")


def test_what_the_judge_prints_cannot_be_read(client):
    result = judge(client, READ_STDERR, "import sys\nprint('f(1) must be 8277', file=sys.stderr, flush=True)\nassert f(1) == 8277")
    assert result["verdict"] == "assertion_fail", result
    assert "f(1) must be 8277" in result["outcome"]["stderr"], "nobody has taken it away either"


def test_the_judge_leaves_no_file(client):
    code = "import os\ndef seen(top):\n    return [p + '/' + n for p, d, f in os.walk(top) for n in d + f]\nfirst = seen('.')\ndef f(): return [first, seen('.'), seen('/tmp') if os.getcwd() == '/work' else []]"
    assert told(client, code, "f()") == [["./tmp"], ["./tmp"], []]


def test_the_judge_cannot_be_stopped_or_killed(daemon, client):
    code = """
import os, signal
def f(x):
    try: seen = os.listdir('/proc')
    except OSError: seen = []
    for p in {os.getppid(), *(int(p) for p in seen if p.isdigit())} - {os.getpid()}:
        for s in (signal.SIGSTOP, signal.SIGKILL):
            try: os.kill(p, s)
            except OSError: pass
    return x
"""
    if not daemon.layers() & {"pid_namespace", "landlock"}:
        pytest.skip("without these layers it reaches all processes of the account")
    passes(client, code, "assert f(1) == 1", "assert f(2) == 2")


SEEN = "return __import__('os').path.exists('/tmp/x')"
FORGE = f"""
import os
def f(): {SEEN}
parent = os.getpid()
if os.fork() == 0:
    os.setsid()
    while os.getppid() == parent: pass
    while True: os.write(4, b"\\0\\0\\0\\4pass")
"""


def test_what_the_code_leaves_confirms_no_pass(daemon, client):
    """The test fails in one process. What the code has started outlives the program that the judge ends, and
    answers in the place of the one that runs all of it in one process."""
    if not daemon.has_view():
        pytest.skip("takes a /tmp of its own")
    for _ in range(5):
        result = judge(client, FORGE, "open('/tmp/x', 'w').close()\nassert not f()")
        assert result["verdict"] == "assertion_fail", result
        assert result["assertions"][0]["detail"].startswith("passes only in isolation: target 0"), result


PACKETS = """
import fcntl, os, sys
assert '__main__' not in sys.modules or sys.modules['__main__'] is not sys.modules.get('candidate')  # as in one process
leave = os._exit
def forge(status):
    if status == 77:
        try: mine = os.open('/proc/self/fd/3', os.O_WRONLY | os.O_NONBLOCK)  # the questions
        except OSError: mine = 4
        os.write(mine, b'\\0\\0\\0\\1x')
        for fd in (3, 4): fcntl.fcntl(fd, fcntl.F_SETFL, os.O_DIRECT | os.O_NONBLOCK)
        for packet in (b'\\xff\\xff\\xff\\xff', b'\\0\\0\\0\\4', b'pass'): os.write(4, packet)
    leave(status)
os.__dict__.update(_exit=forge)
l = []
def f(x): l.append(x); return x
"""


def deepest(passes):
    """Returns the largest number that PASSES."""
    least, most = 900, 1100
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if passes(middle) else (least, middle)
    return least


def test_the_second_program_has_the_depth_of_a_script(client):
    code = "l = []\ndef g(n): return 0 if n == 0 else 1 + g(n - 1)\ndef f(n):\n    l.append(n)\n    return g(n)\n"

    def in_a_script(n):
        return subprocess.run([PYTHON, "-c", f"{code}assert f({n}) == {n}"], stderr=subprocess.DEVNULL).returncode == 0

    most = deepest(in_a_script)
    # The isolated run, which comes first, leaves out a few levels rather than have one more.
    assert most - 4 <= deepest(lambda n: judge(client, code, f"assert f({n}) == {n}")["verdict"] == "pass") <= most


def test_neither_flags_nor_packets_on_the_wire_confirm_a_pass(client):
    result = judge(client, PACKETS, "assert f(1) == 1")
    assert result["verdict"] == "assertion_fail", result
    assert result["assertions"][0]["detail"].startswith("passes only in isolation"), result
    passes(client, PACKETS.replace("assert '__main__'", "'__main__'"), "assert f(1) == 1")  # nor keep one from it


KEEPS_FILES = """
import os
for path in ("/tmp/made", "/dev/shm/made", "made", "tmp/made"):
    assert not os.path.exists(path), path
    try: os.mkdir(path)
    except OSError: assert not path.startswith("made"), path
l = []
def f(path):
    l.append(1)
    os.makedirs(path)
    os.chdir(path)
    for n in range(2000):
        os.mkdir("d")
        os.chdir("d")
    return 1
"""


def test_the_second_program_finds_no_file_of_the_first(client):
    """Wherever the code and the tests stand at the end, and however deep their directories are."""
    passes(client, KEEPS_FILES, "assert f('some/where') == 1\nopen('own', 'w').close()")


@pytest.mark.parametrize("text", ['{"broken":"x"}\n', '{"lacking":"tensorflow","by":"tests"}\n', '{"passed":true}\n', "x"])
@pytest.mark.parametrize("way", ["symlink('/proc/self/fd/%d', 'out.txt')", "symlink('/dev/fd/%d', 'out.txt')"])
def test_the_report_is_not_written_through_a_link(client, text, way):
    """The tests write a file, in whose place the code has put a link to a descriptor of the judge's."""
    for number in (*range(5, 12), 1):
        code = f"import os\nos.{way % number}\ndef encode(s): return {text!r}"
        test = "data = encode('hello')\nwith open('out.txt', 'w') as file: file.write(data)\nassert data == 'aGVsbG8='"
        result = judge(client, code, test)
        assert (result["verdict"], len(result["assertions"])) == ("assertion_fail", 1), (number, result)
        assert "report" not in str(result["score"]["failure_modes"]), result


def test_the_code_cannot_ask_for_a_second_program(client):
    result = judge(client, "import os\ndef f(): os._exit(77)", "f()")
    assert result["verdict"] == "error", result


def test_time_of_both_programs_counts(client):
    code = "import time\nl = []\ndef f():\n    l.append(1)\n    while time.process_time() < 0.3: pass\n    return 1"
    result = judge(client, code, "assert f() == 1")
    assert (result["verdict"], result["usage"]["cpu_ms"] >= 600) == ("pass", True), result


# --- what is shared and what is not -----------------------------------------------------------------


def test_namespaces_differ(daemon, client):
    code = f"import os\ndef f(): return {{n: os.readlink('/proc/self/ns/' + n) for n in {list(NAMESPACES)}}}"
    theirs, ours = told(client, code, "[f(), {n: os.readlink('/proc/self/ns/' + n) for n in f()}]")
    for name, layer in NAMESPACES.items():
        assert (theirs[name] != ours[name]) == (layer in daemon.layers()), name


def test_namespaces_are_not_the_hosts(daemon, client):
    code = f"import os\ndef f(): return {{n: os.readlink('/proc/self/ns/' + n) for n in {list(NAMESPACES)}}}"
    theirs, ours = told(client, code, "[f(), {n: os.readlink('/proc/self/ns/' + n) for n in f()}]")
    for name, layer in NAMESPACES.items():
        host = os.readlink(f"/proc/self/ns/{name}")
        is_apart = layer in daemon.layers()
        assert (theirs[name] != host, ours[name] != host) == (is_apart, is_apart), name


def test_the_code_sees_its_own_processes_alone(daemon, client):
    if not {"pid_namespace", "mount_namespace"} <= daemon.layers():
        pytest.skip("takes a /proc of its own")
    code = "import os\ndef f(): return [os.getppid(), sorted(p for p in os.listdir('/proc') if p.isdigit()), str(os.getpid())]"
    parent, seen, own = told(client, code, "f()")
    assert parent == 1 and seen == [own], "not even the twin, which it may not inspect"


def test_descriptors(daemon, client):
    if not daemon.has_view():
        pytest.skip("/proc/self/fd cannot be listed")
    code = "import os\ndef f(): return {n: os.readlink('/proc/self/fd/' + n) for n in sorted(os.listdir('/proc/self/fd')) if int(n) < 50 and os.path.exists('/proc/self/fd/' + n)}"
    ours = "{n: os.readlink('/proc/self/fd/' + n) for n in '012345'}"
    theirs, ours = told(client, code, f"[f(), {ours}]")
    assert set(theirs) <= set("01234") | {"5"}, theirs  # 5: the directory that is listed
    assert theirs["0"] == ours["0"] == "/dev/null"
    assert theirs["1"] == theirs["2"] and theirs["2"].startswith("pipe:")
    shared = set(theirs.values()) & set(ours.values())
    assert shared == {"/dev/null", theirs["3"], theirs["4"]}, "the wire"
    assert (theirs["3"], theirs["4"]) == (ours["4"], ours["3"])


def test_files_go_through_one_directory(daemon, client):
    code = "import tempfile\ndef read(path):\n    with open(path) as file: return file.read()\ndef write():\n    with tempfile.NamedTemporaryFile('w', delete=False) as file: file.write('answer')\n    return file.name\ndef where(): return tempfile.gettempdir()"
    test = """
import os, tempfile
with tempfile.NamedTemporaryFile('w') as file:
    file.write('question')
    file.flush()
    assert read(file.name) == 'question'
with open('here', 'w') as file: file.write('too')
assert read('here') == 'too'
with open(write()) as file: assert file.read() == 'answer'
assert where() == tempfile.gettempdir() == os.getcwd() + '/tmp'
"""
    passes(client, code, test)
    if daemon.has_view():
        assert told(client, f"def f(): {SEEN}", "[open('/tmp/x', 'w').close(), f()]") == [None, False]


def test_modules_of_the_checker_are_hidden(client):
    code = "import sys\ndef f(): return [m for m in ('judge', 'wire', 'start', 'suite', 'proxies', 'classes') if m in sys.modules]"
    assert told(client, code, "f()") == []
    passes(client, "def f(): return 1", "assert f() == 1")
    text = "import sys; sys.exit(any(m in sys.modules for m in ('judge', 'wire', 'proxies', 'start')))"
    assert client.run({"kind": "sandbox", "snippet": text, "runner": "python"})["outcome"]["success"]


# --- ends -----------------------------------------------------------------------------------------


def test_outputs_are_merged(client):
    code = "import sys\nprint('code to stdout', flush=True)\nprint('code to stderr', file=sys.stderr)\ndef f(): return 2"
    stderr = judge(client, code, "print('tests')\nassert f() == 1")["outcome"]["stderr"]
    assert {"code to stdout", "code to stderr", "tests"} <= set(stderr.splitlines()), stderr


def test_much_output(client):
    """More than a pipe holds, at once and over time."""
    code = "import os\ndef f(n):\n    os.write(2, b'x' * n)\n    return 2"
    result = judge(client, code, "assert f(200000) == 1")
    assert len(result["outcome"]["stderr"]) == 65536, result["verdict"]
    result = judge(client, code, "for _ in range(100): f(10000)")
    assert result["outcome"]["limit_exceeded"] == "output", result


def test_nothing_of_the_code_is_left(daemon, client):
    """What it starts ends with the job, and its jail goes on."""
    code = """
import os, time
def f():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                try: open('/proc/self/cwd/alive', 'w').close()
                except OSError: pass
                time.sleep(0.001)
        os._exit(0)
    while not os.path.exists('alive'): time.sleep(0.001)
    return 1
"""
    for _ in range(3):
        passes(client, code, "assert f() == 1")
        passes(client, "import os\ndef f(): return os.listdir('.')", "assert f() == ['tmp']")
    assert "is given up" not in daemon.log()


def test_a_test_that_leaves_processes_costs_the_twin_alone(daemon, client):
    for _ in range(3):
        passes(client, "def f(): return 1", "import subprocess\nsubprocess.Popen(['sleep', '1000'])\nassert f() == 1")
        passes(client, "def f(): return 1", "assert f() == 1")
    assert "is given up" not in daemon.log()


STEER_TWIN = r"""
import os, resource, signal, sys
pids = [int(p) for p in os.listdir('/proc') if p.isdigit()] + list(range(2, 10))
for pid in set(pids) - {os.getpid()}:
    try:
        if sys.argv[1] == 'limit':
            for name in ('RLIMIT_NOFILE', 'RLIMIT_NPROC', 'RLIMIT_FSIZE'):
                resource.prlimit(pid, getattr(resource, name), (0, 0))
        else:
            os.kill(pid, getattr(signal, sys.argv[1]))
    except OSError: pass
"""


@pytest.mark.once
@pytest.mark.parametrize("how", ["limit", "SIGSTOP", "SIGKILL"])
@pytest.mark.parametrize("missing", [None, "landlock"])
def test_no_job_steers_the_twin_that_the_next_one_needs(start_daemon, missing, how):
    """It stays for the code of later jobs, and may have the uid of the jobs between. Without Landlock, they can stop it,
    and kill it."""
    if user_namespaces_are_refused():
        pytest.skip("takes a /proc of its own: without one a job finds no process that it could steer")
    if missing and cannot_be_taken_away(missing):
        pytest.skip(cannot_be_taken_away(missing))
    daemon = start_daemon("daemon.slots=1", shape=Shape(missing) if missing else Shape())
    with daemon.connect() as client:
        for _ in range(2):
            passes(client, "def f(): return 1", "assert f() == 1")
            done = client.run({"kind": "sandbox", "argv": [PYTHON, "-c", STEER_TWIN, how]})
            assert done["type"] == "result" and done["score"]["passed"], done
        passes(client, "def f(): return 1", "assert f() == 1")
    assert "is given up" not in daemon.log()


def test_processes_of_both_count(client):
    """The job's limit holds for judge and code together; neither jail counts."""
    code = "import os, time\ndef f(n):\n    for _ in range(n):\n        if os.fork() == 0: time.sleep(1000)\n    return n"
    limits = {"max_processes": 10}
    passes(client, code, "assert f(3) == 3", limits=limits)
    if "user_namespace" in client.hello["isolation"]["layers"] or "cgroup" in client.hello["isolation"]["layers"]:
        passes(client, code, "assert f(8) == 8", limits=limits)
        result = judge(client, code, "assert f(9) == 9", limits=limits)
        assert result["verdict"] != "pass", result


def test_cpu_time_of_both_counts(client):
    spin = "import time\ndef spin():\n    while time.process_time() < 0.3: pass\n"
    result = judge(client, spin + "def f():\n    spin()\n    return 1", spin + "spin()\nassert f() == 1")
    assert result["verdict"] == "pass", result
    assert result["usage"]["cpu_ms"] >= 600, result


def test_warm(client):
    """Whether the jail is a copy of a zygote or has started an interpreter itself."""
    need_warm_jail()
    for _ in range(2):
        result = judge(client, "def f(): return 1", "assert f() == 1")
        assert (result["verdict"], result["interpreter"]) == ("pass", "warm"), result


def test_cold(client):
    result = judge(client, "import os\ndef f(): return os.listdir('.')", "assert f() == ['tmp']", warm=False)
    assert (result["verdict"], result["interpreter"]) == ("pass", "cold"), result


def test_little_memory(client):
    """A program with less memory than a waiting interpreter needs is executed, and finds its code."""
    result = judge(client, "def f(): return 1", "assert f() == 1", limits={"memory_bytes": 200 << 20})
    assert (result["verdict"], result["interpreter"]) == ("pass", "cold"), result



# --- processes of the tests -----------------------------------------------------------------------

WRITING = """
import os, threading, time
def write():
    while True:
        for name in os.listdir("."):
            try:
                if name.endswith(".py") and "_exit" not in open(name).read():
                    open(".x", "w").write("import os; os._exit(0)")
                    os.replace(".x", name)
            except OSError: pass
def f(path):
    with open(path, "w") as file: file.write("[]")
"""
LATER = """
import os, time
def f(path):
    with open(path, "w") as file: file.write("[]")
    if os.fork() == 0:
        time.sleep(0.05)
        open("json.py", "w").write("import os; os._exit(0)")
        os._exit(0)
"""
STARTS = """
import subprocess, sys
f("out.json")
with open("check.py", "w") as file: file.write("import json\\nassert json.load(open('out.json')) == [1]\\n")
assert subprocess.run([sys.executable, "check.py"]).returncode == 0
"""
ASKS_MEANWHILE = """
import os, subprocess, sys, time
with open("check.py", "w") as file: file.write("input()\\nimport json\\nassert json.load(open('out.json')) == [1]\\n")
process = subprocess.Popen([sys.executable, "check.py"], stdin=subprocess.PIPE)
f("out.json")
while not os.path.exists("json.py"): time.sleep(0.01)
time.sleep(0.1)
process.communicate(b"x\\n")
assert process.returncode == 0
"""
AMID = {
    "process": (WRITING + "if os.fork() == 0: write()\n", STARTS, "while a process or thread of the code goes on"),
    "thread": (WRITING + "threading.Thread(target=write, daemon=True).start()\n", STARTS, "while a process or thread of the code goes on"),
    "later": (LATER, ASKS_MEANWHILE, "while a process runs that the tests have started"),
}


@pytest.mark.parametrize("name", AMID)
def test_nothing_of_the_code_goes_on_beside_a_process_of_the_tests(daemon, client, name):
    """It could write what that process runs, at any time."""
    if "pid_namespace" not in daemon.layers():
        pytest.skip("without this layer the judge cannot tell the processes of the code")
    code, target, why = AMID[name]
    result = judge(client, code, target)
    assert result["verdict"] == "assertion_fail" and why in result["assertions"][0]["detail"], result


def test_processes_of_the_tests_run_beside_code_that_rests(client):
    code = """
import subprocess, threading
def f(path):
    subprocess.run(["true"], check=True)
    thread = threading.Thread(target=len, args=("x",))
    thread.start()
    thread.join()
    with open(path, "w") as file: file.write("[1]")
"""
    passes(client, code, STARTS + STARTS + ASKS_MEANWHILE.split("process =")[0])
