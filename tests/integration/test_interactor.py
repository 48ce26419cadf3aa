# SPDX-License-Identifier: MIT
"""Interactors of jobs of kind `program`: which verdict follows from how the two programs end, whose fault a
limit is, and that the program cannot reach what the interactor knows."""

import os
import shutil
import signal

import pytest
from test_program import detail, own_language, program, refused, verdicts

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
needs_gxx = pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")

SECRET = "7301949"

# Answers "low" or "high" until the number of its input is guessed.
GUESS = """
import sys
secret = int(open(sys.argv[1]).read())
most = int(open(sys.argv[3]).read())
for tries in range(most):
    line = sys.stdin.readline()
    if not line.strip():
        print("no guess", file=sys.stderr)
        sys.exit(2)
    guess = int(line)
    if guess == secret:
        print("right", flush=True)
        print(f"{tries + 1} guesses", file=sys.stderr)
        open(sys.argv[2], "w").write(str(tries))
        sys.exit(0)
    print("low" if guess < secret else "high", flush=True)
print("too many guesses", file=sys.stderr)
sys.exit(1)
"""
BISECT = """
low, high = 0, 1 << 24
while True:
    guess = (low + high) // 2
    print(guess, flush=True)
    said = input()
    if said == "right":
        break
    low, high = (guess + 1, high) if said == "low" else (low, guess)
"""
BISECT_CPP = """
#include <iostream>
#include <string>
int main()
{
    int low = 0, high = 1 << 24;
    for (std::string said; said != "right";) {
        int guess = (low + high) / 2;
        std::cout << guess << std::endl;
        if (!(std::cin >> said))
            return 1;
        (said == "low" ? low : high) = said == "low" ? guess + 1 : guess;
    }
}
"""
# The same in C, with the name and the order of arguments that testlib has.
GUESS_C = """
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    int secret, most, guess;
    FILE *input = fopen(argv[1], "r"), *answer = fopen(argv[3], "r"), *log = fopen(argv[2], "w");
    if (argc != 4 || !log || fscanf(input, "%d", &secret) != 1 || fscanf(answer, "%d", &most) != 1)
        return 3;
    for (int i = 0; i < most && scanf("%d", &guess) == 1; i++) {
        puts(guess == secret ? "right" : guess < secret ? "low" : "high");
        fflush(stdout);
        if (guess == secret)
            return 0;
    }
    return 1;
}
"""
TESTS = [{"input": secret, "output": "25"} for secret in (SECRET, "1", "16000000")]
ONE = TESTS[:1]


@pytest.fixture(name="client")
def connect(daemon):
    with daemon.connect() as client:
        yield client


def interact(code, interactor=GUESS, tests=ONE, language="python", by="python", **fields):
    return program(code, tests, language, interactor={"language": by, "code": interactor}, **fields)


def only(result):
    (test,) = result.get("tests", [result])
    assert result["type"] == "result" and test["verdict"] == result["verdict"], result
    return test


# Verdicts


def test_a_program_that_answers_rightly_passes(client):
    result = client.run(interact(BISECT, tests=TESTS))
    assert result["verdict"] == "pass" and verdicts(result) == ["pass"] * 3, result
    assert all(test["exit_code"] == 0 and "guesses" in test["interactor"] for test in result["tests"])
    assert result["outcome"]["success"] and "compile" not in result


@needs_gxx
def test_compiled_programs_interact(client):
    result = client.run(interact(BISECT_CPP, GUESS_C, TESTS, "cpp", "c"))
    assert result["verdict"] == "pass" and len(result["tests"]) == 3, result
    assert "compile" in result


def test_the_interactor_says_that_it_is_wrong(client):
    result = client.run(interact("import sys\nfor i in range(100): print(i, flush=True)\nsys.stdin.read()"))
    test = only(result)
    assert test["verdict"] == "wrong_answer" and test["interactor"] == "too many guesses\n"
    assert detail(result) == "test 1 of 1: interactor: too many guesses"


@pytest.mark.parametrize("status", [1, 2, 4, 7, 8])
def test_each_status_of_testlib_that_is_wrong(client, status):
    says = f"import sys\nprint('points 0.25', file=sys.stderr)\nsys.exit({status})"
    test = only(client.run(interact("", says)))
    assert test["verdict"] == "wrong_answer"
    assert test.get("points") == (0.25 if status == 7 else None)


@pytest.mark.parametrize("how", ["sys.exit(3)", "sys.exit(99)", "import os; os.abort()"])
def test_an_interactor_that_fails_is_no_fault_of_the_program(client, how):
    result = client.run(interact("input()", f"import sys\n{how}"))
    assert only(result)["verdict"] == "error", result


def test_a_program_that_crashes_first_has_a_runtime_error(client):
    """Whatever the interactor makes of the end of its input."""
    for status in (0, 1, 2, 3):
        interactor = f"import sys\nsys.stdin.read()\nsys.exit({status})"
        test = only(client.run(interact("import sys\nsys.exit('oh no')", interactor)))
        assert (test["verdict"], test["exit_code"], test["stderr"]) == ("runtime_error", 1, "oh no\n")


def test_a_program_that_crashes_after_a_right_answer_has_a_runtime_error(client):
    result = client.run(interact(BISECT + "raise SystemExit(5)"))
    assert only(result)["verdict"] == "runtime_error" and result["tests"][0]["exit_code"] == 5


def test_what_a_program_still_says_after_a_right_answer_does_it_no_harm(client):
    """It would meet SIGPIPE or not as the two happened to be scheduled."""
    late = "import sys\nsys.stdin.read()\nprint('good bye')\nsys.stdout.flush()"
    assert client.run(interact(late, "pass"))["verdict"] == "pass"


def test_what_a_program_still_says_is_dropped_however_much_it_is(client):
    """It would wait for somebody to read it, and meet its wall clock."""
    late = "import sys\nsys.stdin.read()\nprint('good bye' * (1 << 17))\nsys.stdout.flush()"
    test = only(client.run(interact(late, "pass", limits={"wall_clock": 5})))
    assert test["verdict"] == "pass", test


@pytest.mark.parametrize("size", [6, 500_000])
def test_a_program_need_not_read_what_it_does_not_need(client, size):
    """Whether the interactor meets SIGPIPE would depend on who is quicker. Here the program always is: its end is
    the end of the interactor's input."""
    says = f"import sys\nsaid = sys.stdin.read()\nprint('!' * {size}, flush=True)\nsys.exit(said != '42\\n')"
    test = only(client.run(interact("print(42)", says, limits={"wall_clock": 5})))
    assert test["verdict"] == "pass" and test["exit_code"] == 0, test
    assert only(client.run(interact("print(41)", says)))["verdict"] == "wrong_answer"


def test_a_program_that_has_failed_reads_nothing_more(client):
    says = "import sys\nsys.stdin.read()\nwhile True: print('!' * 4096, flush=True)"
    test = only(client.run(interact("raise SystemExit(5)", says, limits={"wall_clock": 60})))
    assert (test["verdict"], test["exit_code"]) == ("runtime_error", 5)
    assert test["usage"]["wall_clock_ms"] < 30_000


def test_a_program_is_stopped_once_the_interactor_has_found_it_wrong(client):
    test = only(client.run(interact("while True: pass", "raise SystemExit(1)", limits={"wall_clock": 60})))
    assert test["verdict"] == "wrong_answer" and "exit_code" not in test and "signal" not in test
    assert test["usage"]["wall_clock_ms"] < 30_000


def test_a_program_that_hangs_up_is_wrong(client):
    """The interactor dies of SIGPIPE, which is no failure of its own."""
    writes = "import os, signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nwhile True: os.write(1, b'x' * 4096)"
    test = only(client.run(interact("pass", writes)))
    assert test["verdict"] == "wrong_answer" and "ended while the interactor was still writing" in test["interactor"]


def test_the_first_failure_stops_the_tests_and_all_runs_all(client):
    knows = f"print({SECRET}, flush=True)\ninput()"
    tests = [TESTS[1], TESTS[0], TESTS[1]]
    assert verdicts(client.run(interact(knows, tests=tests))) == ["wrong_answer"]
    assert verdicts(client.run(interact(knows, tests=tests, stop="all"))) == ["wrong_answer", "pass", "wrong_answer"]


def test_a_program_that_cannot_be_executed(start_daemon, tmp_path):
    daemon = own_language(
        start_daemon,
        tmp_path,
        "copy",
        "[language]\nsource = main.c\npackage = coreutils\nversion = install --version\n"
        "[compile]\ncommand = install -m 755 {source} main\nartefact = main\n[run]\ncommand = ./main\n",
        shipped=["python"],
    )
    with daemon.connect() as client:
        test = only(client.run(interact("junk", "import sys\nsys.stdin.read()", language="copy")))
        assert (test["verdict"], test["stderr"]) == (
            "runtime_error",
            "the program cannot be executed: Exec format error",
        )
        test = only(client.run(interact("input()", "junk", by="copy")))
        assert (test["verdict"], test["interactor"]) == (
            "error",
            "the program cannot be executed: Exec format error",
        )


# Limits


def test_two_that_wait_for_each_other_are_a_timeout(client):
    test = only(client.run(interact("input()", "input()", limits={"wall_clock": 1})))
    assert test["verdict"] == "timeout" and test["limit_exceeded"] == "wall_clock"


def test_a_program_that_goes_on_after_the_interactor_is_a_timeout(client):
    test = only(client.run(interact("while True: pass", "pass", limits={"wall_clock": 1})))
    assert test["verdict"] == "timeout" and test["limit_exceeded"] == "wall_clock"


def test_an_interactor_that_goes_on_after_the_program_is_an_error(client):
    result = client.run(interact("pass", "while True: pass", limits={"wall_clock": 1}))
    test = only(result)
    assert test["verdict"] == "error" and test["exit_code"] == 0 and "limit_exceeded" not in test
    assert test["interactor"] == "limit exceeded: wall_clock"


def test_a_program_that_ends_late_leaves_the_interactor_its_time(client):
    """Otherwise a program that is wrong could end so late that its interactor fails instead."""
    takes_its_time = "import sys, time; sys.stdin.read(); time.sleep(0.7); sys.exit(1)"
    late = "import time; time.sleep(0.7)"
    result = client.run(interact(late, takes_its_time, limits={"wall_clock": 1.2}))
    assert only(result)["verdict"] == "wrong_answer", result


def test_a_wall_clock_of_one_test(client):
    wait = "import time\ntime.sleep(float(input()))"
    say = "import sys\nprint(open(sys.argv[1]).read(), flush=True)\nsys.stdin.read()"
    tests = [{"input": "0.1", "wall_clock": 60}, {"input": "600", "wall_clock": 1}]
    assert verdicts(client.run(interact(wait, say, tests))) == ["pass", "timeout"]


def test_the_program_has_its_own_limit_of_cpu_time(client):
    test = only(client.run(interact("while True: pass", "import sys\nsys.stdin.read()", limits={"cpu": 1})))
    assert test["verdict"] == "timeout" and test["limit_exceeded"] == "cpu"


def test_the_program_has_its_own_limit_of_memory(client):
    hog = "print(len(bytearray(200 << 20)))"
    limits = {"memory_bytes": 128 << 20}
    test = only(client.run(interact(hog, "import sys\nsys.stdin.read()", limits=limits)))
    assert test["verdict"] == "memory", test
    test = only(client.run(interact("input()", hog, limits=limits)))
    assert test["verdict"] in ("error", "wrong_answer") and test["verdict"] != "pass"


@pytest.mark.parametrize(
    "fill", ["open('f', 'wb').write(bytes(1 << 22))", "[open(f'/tmp/{i}', 'w') for i in range(1000)]"]
)
def test_a_program_leaves_the_interactor_its_disk(client, fill):
    """Nor can it be blamed for what the interactor writes."""
    if "mount_namespace" not in client.status()["isolation"]["layers"]:
        pytest.skip("without a view the disk is not bounded")
    fills = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
try:
    {fill}
except OSError as error:
    print(error.strerror, flush=True)
input()
"""
    writes = """
import sys
said = input()
for name in (sys.argv[2], "/tmp/f", "/dev/shm/f"):
    with open(name, "w") as file:
        file.write("x" * 100_000)
print("go on", flush=True)
print(said, file=sys.stderr)
"""
    limits = {"disk_bytes": 1 << 20, "max_open_files": 1024}
    test = only(client.run(interact(fills, writes, limits=limits)))
    assert (test["verdict"], test["interactor"]) == ("pass", "No space left on device\n"), test
    test = only(client.run(interact(fills + "raise SystemExit(1)", writes, limits=limits)))
    assert (test["verdict"], test["limit_exceeded"]) == ("runtime_error", "disk"), test
    full = "print(1, flush=True)\ninput()"
    test = only(client.run(interact(full, writes.replace("100_000", "1_100_000"), limits=limits)))
    assert test["verdict"] == "error" and test["interactor"] == "limit exceeded: disk", test


def test_a_program_leaves_the_interactor_its_processes(client):
    """The kernel counts those of both together."""
    if "user_namespace" not in client.status()["isolation"]["layers"]:
        pytest.skip("the account's processes are counted, which may have 1024 more")
    bomb = """
import os, time
try:
    while os.fork(): pass
    time.sleep(1000)
except OSError:
    print("all", flush=True)
input()
"""
    starts = """
import os, sys, time
input()
for _ in range(30):
    if os.fork() == 0:
        os.close(1)  # or the program would not read the end
        time.sleep(1000)
print("30 started", file=sys.stderr)
"""
    limits = {"wall_clock": 60, "max_processes": 40}
    test = only(client.run(interact(bomb, starts, limits=limits)))
    assert test["interactor"] == "30 started\n", test


def test_what_a_program_writes_to_stderr_is_bounded(client):
    floods = "import sys\nwhile True: sys.stderr.write('x' * 4096)"
    test = only(client.run(interact(floods, "input()")))
    assert test["verdict"] == "output_limit"
    test = only(client.run(interact("input()", floods)))
    assert test["verdict"] == "error" and test["interactor"] == "limit exceeded: output"


@pytest.mark.parametrize("size", [115_000, 150_000, 200_000])
def test_what_it_writes_last_counts(client, size):
    """The pipes hold more than the program's limit when it ends. Nothing of it is lost on the way, and the
    interactor's limit does not add to it."""
    writes = f"""
import os, fcntl
fcntl.fcntl(2, fcntl.F_SETPIPE_SZ, 1 << 20)
os.write(1, b'42\\n')
left = {size}
while left > 0:
    left -= os.write(2, b'e' * min(65536, left))
os._exit(0)
"""
    equal = "import sys\nsys.exit(0 if sys.stdin.readline() == open(sys.argv[1]).readline() else 1)"
    for _ in range(3):
        test = only(client.run(interact(writes, equal, [{"input": "42\n"}], limits={"output_bytes": 100_000})))
        assert test["verdict"] == "output_limit", test


def test_an_interactor_may_quote_the_program_at_length(client):
    """Else a program would choose an error by what it says: here the words of Python's exception are four times as
    long, and more than may be written."""
    by_number = "import sys\nfloat(sys.stdin.readline())"
    result = client.run(interact("print(chr(1) * 200000, flush=True)", by_number, limits={"output_bytes": 1 << 18}))
    assert only(result)["verdict"] == "wrong_answer", result


def test_jobs_of_both_sorts_follow_each_other(client):
    """A jail makes its other jail anew where it served pairs of another sort."""
    code_exec = {"kind": "code_exec", "code": "def f():\n    return 1", "targets": ["f() == 1"]}
    for _ in range(3):
        assert client.run(interact(BISECT))["verdict"] == "pass"
        assert client.run({**code_exec, "entry_point": "f"}, check=False)["type"] in ("result", "error")
        assert client.run(program("print(3)", [{"input": "", "output": "3"}]))["verdict"] == "pass"


def test_a_job_that_is_cancelled_ends(daemon, client):
    client.submit("c", interact("while True: pass", "pass", limits={"wall_clock": 300}))
    assert client.recv()["type"] == "started"
    client.send({"type": "cancel", "id": "c"})
    answer = client.recv()
    assert (answer["type"], answer["code"]) == ("error", "cancelled")
    assert client.run(interact(BISECT))["verdict"] == "pass"


def test_a_jail_that_hangs_is_no_timeout(daemon, client):
    """It alone knows whether both have ended."""
    ends = "import time\ntime.sleep(1)"
    client.submit("j", interact(ends, "import sys\nsys.stdin.read()", limits={"wall_clock": 2}))
    assert client.recv()["type"] == "started"
    with daemon.connect() as other:
        (pid,) = (slot["jail_pid"] for slot in other.status()["slots"] if slot["job"])
        os.kill(pid, signal.SIGSTOP)
        answer = client.recv_answer("j")
        assert (answer["type"], answer.get("code")) == ("error", "sandbox_failed"), answer
        assert other.run(interact(BISECT))["verdict"] == "pass"


# Requests


def test_what_does_not_go_with_an_interactor(client):
    helper = {"language": "python", "code": ""}
    message = refused(client, program("", interactor=helper, checker=helper), check=False)
    assert message == "job.checker: the interactor judges; only one of them may"
    message = refused(client, program("", interactor=helper, compare="exact"), check=False)
    assert message == "job.compare: the interactor judges; only one of them may"
    message = refused(client, program("", interactor=helper, call="f"), check=False)
    assert message == "job.interactor: a job with call compares values, and has none"
    message = refused(client, program("", interactor={"language": "python"}), check=False)
    assert message == "job.interactor.code: missing"
    message = refused(client, program("", interactor={**helper, "language": "x"}), "language_not_found")
    assert message == 'job.interactor.language: this daemon knows no language "x"; its status lists those that it knows'


@needs_gcc
def test_an_interactor_that_does_not_compile_is_a_bad_request(client):
    message = refused(client, interact("", "int main(", by="c"))
    assert message.startswith("job.interactor: does not compile: exit status 1: main.c:")


# Attacks

# Looks wherever a process may look, while the interactor lives, for a text that it alone knows.
SEARCH = r"""
import os, sys
secret = b"%s"[::-1]
found = []


def look(path):
    try:
        with open(path, "rb") as file:
            if secret in file.read(1 << 20):
                found.append(path)
    except OSError:
        pass


print("ready", flush=True)
input()
slot = () if os.getcwd() == "/work" else ("..",)  # without a view, the interactor works beside it
tops = (*slot, "/work", "/tmp", "/dev/shm", "/bench", ".", "/.work", "/proc/1/root", "/proc/1/cwd")
for top in tops:
    for directory, _, names in os.walk(top):
        for name in names:
            look(os.path.join(directory, name))
try:
    seen = os.listdir("/proc")
except OSError:
    seen = [str(pid) for pid in range(1, 400)]
for pid in seen:
    if not pid.isdecimal() or int(pid) == os.getpid():
        continue
    for name in ("mem", "environ", "cmdline", "maps", "stack"):
        look(f"/proc/{pid}/{name}")
    for link in ("cwd", "root", "exe", "fd"):
        try:
            found += [f"{link} of {pid}: {os.listdir(f'/proc/{pid}/{link}')}"]
        except OSError:
            pass
for fd in range(3, 64):
    try:
        os.fstat(fd)
        found.append(f"descriptor {fd}")
    except OSError:
        pass
for pid in range(2, 400):
    try:
        if pid != os.getpid():
            os.kill(pid, 0)
            found.append(f"process {pid}")
    except OSError:
        pass
try:
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in range(1, 400):
        if pid != os.getpid() and libc.ptrace(0x4206, pid, 0, 0) == 0:  # PTRACE_SEIZE
            found.append(f"traced {pid}")
except OSError:
    pass
print(found, flush=True)
input()
"""
KEEPS = r"""
import os, sys
known = open(sys.argv[1]).read() + open(sys.argv[3]).read()
os.environ["KNOWN"] = known
for name in ("kept", "/tmp/kept", "/dev/shm/kept", sys.argv[2]):
    try:
        open(name, "w").write(known)
    except OSError:
        assert name.startswith("/")  # without a view there is no other place
held = open("kept")
assert input() == "ready"
print("go", flush=True)
said = input()
print("thanks", flush=True)
if said != "[]":
    print("found", said, file=sys.stderr)
    sys.exit(1)
"""


@pytest.mark.parametrize("settings", [[], ["isolation.without=user_namespace"]], ids=["namespaces", "landlock"])
def test_the_program_finds_nothing_that_the_interactor_knows(start_daemon, settings):
    daemon = start_daemon(*settings)
    if settings and not {"landlock", "filesystem"} <= daemon.layers():
        pytest.skip("this host has no Landlock")
    code = SEARCH % SECRET[::-1]
    if "pid_namespace" not in daemon.layers():
        code = code.replace('found.append(f"process {pid}")', "pass")  # they can be told to exist, no more
    with daemon.connect() as client:
        tests = [{"input": SECRET, "output": SECRET}]
        result = client.run(interact(code, KEEPS, tests, limits={"wall_clock": 60}))
    assert only(result)["verdict"] == "pass", result["tests"]


def test_an_interactor_is_refused_where_nothing_would_hide_it(start_daemon):
    daemon = start_daemon(
        "isolation.without=user_namespace landlock", "isolation.require=env tempdir rlimits no_new_privs tree_kill"
    )
    with daemon.connect() as client:
        message = refused(client, interact(BISECT), "not_permitted")
    assert message == (
        "job.interactor: nothing on this host would keep the program from it: that takes the layers "
        "mount_namespace and pid_namespace, or landlock and filesystem"
    )


def test_the_search_finds_what_can_be_found(client):
    """Otherwise the test above would hold for a search that does not work."""
    code = f"open('kept', 'w').write('{SECRET}')\nimport os\nos.dup2(0, 7)\n" + SEARCH % SECRET[::-1]
    tests = [{"input": SECRET, "output": SECRET}]
    test = only(client.run(interact(code, KEEPS, tests)))
    assert test["verdict"] == "wrong_answer"
    assert "kept" in test["interactor"] and "descriptor 7" in test["interactor"]


def test_nothing_is_left_for_the_next_test(client, daemon):
    """Neither by the interactor for the program nor by the program for itself."""
    places = (".", "/tmp", "/dev/shm") if daemon.has_view() else (".",)
    code = """
import os
seen = sorted(name for place in PLACES for name in os.listdir(place))
print([name for name in seen if not name.startswith("main")], flush=True)
for directory in PLACES:
    open(os.path.join(directory, "mine"), "w").write("x")
input()
"""
    interactor = """
import os, sys
said = input()
for directory in PLACES:
    open(os.path.join(directory, "theirs"), "w").write("x")
print("thanks", flush=True)
sys.stdin.read()
if said != "[]":
    sys.exit("saw " + said)
"""
    code, interactor = (text.replace("PLACES", str(places)) for text in (code, interactor))
    result = client.run(interact(code, interactor, [{"input": "a"}, {"input": "b"}, {"input": "c"}]))
    assert verdicts(result) == ["pass"] * 3, result


def test_a_program_cannot_end_its_interactor(client, daemon):
    if "pid_namespace" not in daemon.layers():
        pytest.skip("jobs see the host's processes")
    code = """
import os, signal
for pid in [-1, *range(2, 300)]:
    if pid != os.getpid():
        try:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.kill(pid, signal.SIGKILL if pid > 0 else signal.SIGTERM)
        except OSError:
            pass
print("still there?", flush=True)
input()
"""
    interactor = "import sys\ninput()\nprint('yes', flush=True)\nsys.stdin.read()\nsys.exit(1)"
    test = only(client.run(interact(code, interactor)))
    assert (test["verdict"], test["exit_code"]) == ("wrong_answer", 0)


def test_what_a_program_leaves_running_does_not_hold_the_pipe(client):
    """The interactor reads the end of what its program wrote when that ends, not its children."""
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)"
    test = only(client.run(interact(code, "import sys\nsys.stdin.read()", limits={"wall_clock": 30})))
    assert test["verdict"] == "pass" and test["usage"]["wall_clock_ms"] < 20_000
