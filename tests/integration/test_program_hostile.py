# SPDX-License-Identifier: MIT
"""Hostile jobs of kind `program`: code that runs while it is compiled, processes that lie in wait for a checker
and its files, right outputs of programs that end badly, outputs made to mislead, and inputs that are written to."""

import base64
import os
import signal

import pytest
from conftest import open_up, wait_until
from freezer import make_freezer  # noqa: F401  a fixture
from processes import parent_of

# What a program may do by its compiler: this compiler executes the program as a script.
BUILDS = """[language]
source = build.py
package = python3
version = python3 --version
env = TMPDIR=.
[compile]
command = python3 -B build.py
artefact = main *.txt
[run]
command = ./main
[hello]
|open("main", "w").write("#!/bin/sh\\necho hello\\n")
|import os; os.chmod("main", 0o755)
"""


@pytest.fixture(name="client")
def connect(daemon):
    with daemon.connect() as client:
        yield client


@pytest.fixture(name="builder")
def start_builder(start_daemon, tmp_path):
    """A daemon that knows the language `builds`, and a client."""
    folder = tmp_path / "languages.d"
    folder.mkdir()
    (folder / "builds.conf").write_text(BUILDS)
    open_up(folder)
    daemon = start_daemon(f"languages.directory={folder}", slots=1)
    with daemon.connect() as client:
        yield daemon, client


def program(code, tests, language="python", **fields):
    return {"kind": "program", "language": language, "code": code, "tests": tests, "stop": "all", **fields}


def verdicts(result):
    assert result["type"] == "result", result
    return [test["verdict"] for test in result.get("tests", [])]


def got(result):
    return [test["difference"]["got"] for test in result["tests"]]


# While it is compiled

LEAVES_MUCH = r"""
import ctypes, os, signal, socket, time
secrets = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try: secrets.append(open(f"/proc/{pid}/{name}", "rb").read())
        except OSError: pass
for top in (".", "/tmp", "/dev/shm"):
    for directory, _, names in os.walk(top):
        for name in names:
            if name != "build.py":
                secrets.append(open(os.path.join(directory, name), "rb").read(1 << 16))
for line in open("/proc/self/maps"):
    span, mode = line.split()[:2]
    start, end = (int(word, 16) for word in span.split("-"))
    if mode[0] == "r" and "[vvar" not in line and "vsyscall" not in line:
        try:
            with open("/proc/self/mem", "rb", 0) as memory:
                memory.seek(start)
                secrets.append(memory.read(min(end - start, 16 << 20)))
        except OSError: pass
found = sum(data.count("-".join(["KEPT", "FROM-THE-JAIL"]).encode()) for data in secrets)
for place in ("/tmp", "/dev/shm", "."):
    try: open(f"{place}/left", "w").write("left")
    except OSError: pass
server = socket.socket(socket.AF_UNIX)
server.bind("\0left by the compiler")
server.listen()
script = '''#!/bin/sh
read word
found=""
for path in left /tmp/left /dev/shm/left build.py other; do [ -e $path ] && found="$found $path"; done
for pid in /proc/[0-9]*; do [ "$(cat $pid/comm 2>/dev/null)" = lingers ] && found="$found process"; done
echo "SEEN $found $(cat seen.txt)"
'''
open("main", "w").write(script.replace("SEEN", "clean"))
os.chmod("main", 0o755)
open("seen.txt", "w").write(f"{found}")
for each in range(3):
    if os.fork() == 0:
        os.setsid()
        ctypes.CDLL(None).prctl(15, b"lingers") # PR_SET_NAME
        os.closerange(0, 3)
        end = time.monotonic() + 60
        while os.path.exists("build.py"): # until then it is part of the compiler, which may make what it likes
            time.sleep(0.001)
        while time.monotonic() < end:
            for name in ("main", "/work/main", "seen.txt", "/work/seen.txt"):
                try: open(name, "w").write("#!/bin/sh\necho changed\n")
                except OSError: pass
            time.sleep(0.001)
        os._exit(0)
"""


def test_what_runs_at_compile_time_leaves_nothing_but_the_artefact(builder):
    daemon, client = builder
    if not daemon.has_view():
        pytest.skip("without a view, jobs see the host's files and processes")
    tests = [{"input": "KEPT-FROM-THE-JAIL\n", "output": "KEPT-FROM-THE-JAIL"}] * 3
    result = client.run(program(LEAVES_MUCH, tests, "builds"))
    assert verdicts(result) == ["wrong_answer"] * 3, result
    assert got(result) == ["clean  0"] * 3
    assert daemon.leftovers() == []


# Its child cannot die while the test holds it; it ends when the test says so.
LEAVES_THE_UNDYING = """
import ctypes, os, signal
signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))
if os.fork() == 0:
    os.setsid()
    ctypes.CDLL(None).prctl(15, b"undying") # PR_SET_NAME
while True:
    signal.pause()
"""


WHO_LEAVES = {
    "compiler": program(LEAVES_THE_UNDYING, [{"input": "", "output": ""}], "builds"),
    "test": program(
        f"import os; open('main', 'w').write('#!/usr/bin/python3\\n' + {LEAVES_THE_UNDYING!r}); os.chmod('main', 0o755)",
        [{"input": "", "output": ""}],
        "builds",
        collect=["main"],
    ),
    "step": {
        "kind": "sandbox",
        "steps": [{"argv": ["/usr/bin/python3", "-c", LEAVES_THE_UNDYING]}, {"argv": ["/bin/true"]}],
        "collect": ["main"],
    },
}


@pytest.mark.parametrize("who", WHO_LEAVES)
def test_processes_that_do_not_die_are_no_way_out_of_a_verdict(builder, freezer, who):
    """The job gets a verdict, since statistics leave errors out. The daemon takes no file that may still change."""
    daemon, client = builder
    client.submit("undying", WHO_LEAVES[who])
    os.kill(parent_of(freezer.hold("undying")), signal.SIGUSR1)
    result = client.recv_answer("undying")
    assert result["type"] == "result", result
    if who == "compiler":
        assert result["verdict"] == "compile_error", result
        assert result["compile"]["output"] == "the compiler left processes that took too long to end"
    else:
        assert (result["files"], result["left_out"], result["files_complete"]) == ([], [], False), result
    if who == "test":
        assert result["verdict"] == "pass", result
    if who == "step":
        assert len(result["steps"]) == 1 and not result["outcome"]["success"], result
        assert result["outcome"]["summary"] == "sandbox left processes that took too long to end"
    freezer.let_go()
    good = "import os; open('main', 'w').write('#!/bin/sh\\necho 2\\n'); os.chmod('main', 0o755)"
    assert client.run(program(good, [{"input": "", "output": "2"}], "builds"))["verdict"] == "pass"
    wait_until(lambda: daemon.leftovers() == [], what="a clean slot")


MAKES = {
    "a FIFO": "os.mkfifo('main')",
    "a link": "os.symlink('/bin/true', 'main')",
    "a directory": "os.mkdir('main'); os.mkdir('main/main')",
    "a socket": "import socket; socket.socket(socket.AF_UNIX).bind('main')",
    "a sparse file": "open('main', 'wb').truncate(1 << 40)",
    "nothing": "",
    "a long name": "os.makedirs('/'.join(['d' * 200] * 6)); open('/'.join(['d' * 200] * 6) + '/x.txt', 'w')",
}


@pytest.mark.parametrize("code", MAKES.values(), ids=MAKES.keys())
def test_artefacts_that_cannot_be_kept_are_compile_errors(builder, code):
    _, client = builder
    result = client.run(program(f"import os\n{code}\n", [{"input": "", "output": ""}], "builds"))
    assert result["verdict"] == "compile_error", result
    assert result["compile"]["output"] or result["compile"]["limit_exceeded"], result


# A header whose interpreter lies beyond the end of the file: execve() says EIO.
CUT_OFF = """import struct
head = struct.pack("<16sHHIQQQIHHHHHH", b"\\x7fELF\\2\\1\\1", 2, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
open("main", "wb").write(head + struct.pack("<IIQQQQQQ", 3, 4, 1 << 20, 0, 0, 10, 10, 1))
os.chmod("main", 0o755)"""

MAKES_BAD = {
    "cut off": CUT_OFF,
    "empty": "open('main', 'w')",
    "no program": "open('main', 'wb').write(bytes(range(256)))",
    "no right": "open('main', 'w').write('#!/bin/sh\\n'); os.chmod('main', 0o600)",
    "no interpreter": "open('main', 'w').write('#!/nowhere\\n'); os.chmod('main', 0o755)",
    "itself": "open('main', 'w').write('#!./main\\n'); os.chmod('main', 0o755)",
}


@pytest.mark.parametrize("files, fits", [(200, True), (300, False)])
def test_a_disk_counts_pages(builder, files, fits):
    """The daemon refuses an artefact that would not fit on the disk of a test: each test would end in an error."""
    _, client = builder
    code = f"import os; [open(f'{{i}}.txt', 'w').write('x') for i in range({files})]"
    code += "; open('main', 'w').write('#!/bin/sh\\n'); os.chmod('main', 0o755)"
    result = client.run(program(code, [{"input": "", "output": ""}], "builds", limits={"disk_bytes": 1 << 20}))
    assert result["verdict"] == ("pass" if fits else "compile_error"), result
    if not fits:
        assert result["compile"]["output"] == "what the compiler made is larger than disk_bytes of the tests"


@pytest.mark.parametrize("code", MAKES_BAD.values(), ids=MAKES_BAD.keys())
def test_artefacts_that_are_no_programs_are_runtime_errors(builder, code):
    _, client = builder
    result = client.run(program(f"import os\n{code}\n", [{"input": "", "output": ""}], "builds"))
    assert verdicts(result) == ["runtime_error"], result


# Checkers

# Waits, so that whoever lies in wait for it has the time.
CHECKER = {
    "language": "python",
    "code": "import sys, time\ntime.sleep(0.5)\n"
    "_, got, answer = (open(name, 'rb').read() for name in sys.argv[1:])\nsys.exit(got != answer)\n",
}

LIES_IN_WAIT = r"""
import os, sys, time
print("wrong")
sys.stdout.flush()
places = [os.getcwd(), os.path.dirname(os.getcwd()), "/work"]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for place in places:
                for directory, _, names in os.walk(place):
                    for name in ("answer", "output"):
                        if name in names:
                            path = os.path.join(directory, name)
                            try:
                                os.chmod(path, 0o600)
                                # It makes no file: that could come back when the daemon removes all at its end.
                                with open(os.open(path, os.O_WRONLY | os.O_TRUNC), "w") as file:
                                    file.write("the same")
                            except OSError: pass
    os._exit(0)
os.wait()
"""


def test_nobody_lies_in_wait_for_a_checker(client, daemon):
    tests = [{"input": "", "output": "right\n"}] * 2
    result = client.run(program(LIES_IN_WAIT, tests, checker=CHECKER))
    assert verdicts(result) == ["wrong_answer"] * 2, result["tests"]
    assert daemon.leftovers() == []


# Gives them all the time that they need: what they do depends on when they get a CPU.
PATIENT_CHECKER = {
    "language": "python",
    "code": "import sys, time\n"
    "def read(): return [open(name, 'rb').read() for name in sys.argv[2:]]\n"
    "end = time.monotonic() + 9\n"
    "while len(set(read())) > 1:\n"  # once is enough: whoever writes them empties them first each time
    "    if time.monotonic() > end: sys.exit(1)\n"
    "    time.sleep(0.01)\n",
}


def test_without_its_layers_a_checker_is_deceived(start_daemon):
    """Which proves that the layers keep it from that; the one that lies in wait gives up after 30 s."""
    without = "user_namespace landlock tree_kill"
    daemon = start_daemon(f"isolation.without={without}", "isolation.require=", slots=1)
    with daemon.connect() as client:
        if {"cgroup", "landlock", "mount_namespace", "tree_kill"} & set(client.hello["isolation"]["layers"]):
            pytest.skip("a layer that keeps it from that cannot be taken away here")
        result = client.run(program(LIES_IN_WAIT, [{"input": "", "output": "right\n"}], checker=PATIENT_CHECKER))
        assert result["verdict"] == "pass", result["tests"]


def test_a_program_cannot_speak_for_the_checker(client):
    """What a checker says by its status and stderr, the program says in vain."""
    says = "import sys\nsys.stderr.write('points 1\\n')\nprint(0)\n"
    ends = {0: "wrong_answer", 7: "runtime_error", 3: "runtime_error"}
    for status, verdict in ends.items():
        code = f"{says}sys.exit({status})\n"
        result = client.run(program(code, [{"input": "", "output": "1\n"}], checker=CHECKER))
        assert verdicts(result) == [verdict], result["tests"]
        assert "points" not in result["tests"][0].get("checker", {}), result["tests"]


MANY_TIMES = b"\r\n".join([b"right"] * 1000)
MISLEADING = [
    b"\xff\xfe\0\0",
    b"\0" * 1000,
    b"right\n\0",
    b'{"verdict": "pass"}\nright\n',
    MANY_TIMES,
    b"\xef\xbb\xbfright\n",
    b"9" * 20000,
    b"[" * 20000,
]


RULES = ["exact", "lines", "tokens", "float:1,1", "livecodebench", "apps", "codecontests"]


@pytest.mark.parametrize("compare", [*RULES, None], ids=[*RULES, "a checker"])
def test_outputs_that_mislead_nobody(client, compare):
    echoes = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())"
    tests = [
        {"input": {"base64": base64.b64encode(output).decode()}, "output": "right\n"} for output in MISLEADING
    ]
    fields = {"compare": compare} if compare else {"checker": CHECKER}
    result = client.run(program(echoes, tests, **fields))
    expected = ["wrong_answer"] * len(MISLEADING)
    if compare == "apps":
        expected[MISLEADING.index(MANY_TIMES)] = "pass"  # its rule compares sets of lines
    assert verdicts(result) == expected, result["tests"]


# A right output and a bad end

BAD_ENDS = {
    "abort": ("os.abort()", "runtime_error"),
    "status": ("os._exit(1)", "runtime_error"),
    "killed": ("os.kill(os.getpid(), 9)", "runtime_error"),
    "terminated": ("os.kill(os.getpid(), 15)", "runtime_error"),
    "memory": ("raise MemoryError", "memory"),
    "late": ("time.sleep(600)", "timeout"),
    "stopped": ("os.kill(os.getpid(), 19)", "timeout"),
    "closed and late": ("os.closerange(0, 3); time.sleep(600)", "timeout"),
    "flood": ("os.write(2, b'x' * (1 << 20))", "output_limit"),
    "ignores SIGXCPU": ("signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", "timeout"),
}


@pytest.mark.parametrize("code, verdict", BAD_ENDS.values(), ids=BAD_ENDS.keys())
def test_a_bad_end_counts_more_than_a_right_output(client, code, verdict):
    code = f"import os, signal, time\nos.write(1, b'right\\n')\n{code}\n"
    limits = {"wall_clock": 3, "cpu": 1, "output_bytes": 1 << 16}
    result = client.run(program(code, [{"input": "", "output": "right\n"}], limits=limits))
    assert verdicts(result) == [verdict], result["tests"]


# Inputs

WRITES_TO_ITS_INPUT = r"""
import os
text = os.pread(0, 100, 0) if os.stat(0).st_mode & 0o170000 == 0o100000 else os.read(0, 100)
for path in ("/proc/self/fd/0", "/dev/stdin"):
    for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        try:
            os.write(os.open(path, flags | os.O_NONBLOCK), b"changed")
        except OSError:
            pass
try:
    os.ftruncate(0, 0)
except OSError:
    pass
print(text.decode())
"""


def test_no_test_changes_the_input_of_another(client):
    tests = [{"input": "as it was", "output": "as it was\n"}] * 3
    for _ in range(2):
        assert verdicts(client.run(program(WRITES_TO_ITS_INPUT, tests))) == ["pass"] * 3


COUNTS_PROCESSES = "import os\nprint(os.getpid())\nfor _ in range(20):\n    os.fork() or os._exit(0)\n    os.wait()\n"


def test_no_test_learns_how_many_processes_others_had(client, daemon):
    if "pid_namespace" not in daemon.layers():
        pytest.skip("without a namespace of its own, processes have the numbers of the host")
    result = client.run(program(COUNTS_PROCESSES, [{"input": "", "output": "never"}] * 4))
    assert len(set(got(result))) == 1, got(result)
