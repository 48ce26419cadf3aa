# SPDX-License-Identifier: MIT
"""rubricctl run-program: finds tests, has a program run on them, prints a table; --watch."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import zipfile

import pytest
from conftest import DEADLINE, RUBRICCTL, Daemon, wait_until

DOUBLE = "print(2 * int(input()))\n"

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc to compile C with")


@pytest.fixture(scope="module", name="daemon")
def start_shared(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"))
    yield daemon
    assert daemon.stop() == 0, daemon.log()


@pytest.fixture(name="task")
def make_task(tmp_path):
    """A folder with three tests, in which a program has to double a number."""
    tests = tmp_path / "tests"
    tests.mkdir()
    for n in (1, 2, 10):
        (tests / f"{n}.in").write_text(f"{n}\n")
        (tests / f"{n}.out").write_text(f"{2 * n}\n")
    return tmp_path


def source(task, code, name="main.py"):
    path = task / name
    path.write_text(code)
    return path


def run_program(daemon, *arguments, **kwargs):
    return subprocess.run(
        [RUBRICCTL, "--socket", daemon.socket, "run-program", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        **kwargs,
    )


def table(output):
    """Returns the rows of a table as (test, verdict), and the lines that are none."""
    rows, others = [], []
    for line in output.splitlines():
        match = re.fullmatch(r"(\S+) +\d+(?:\.\d+)?m?s +\d+(?:\.\d)? (?:[KMG]iB|B) +(.*)", line)
        if match:
            rows.append(match.groups())
        elif not line.startswith("test "):
            others.append(line)
    return rows, others


# --- verdicts -------------------------------------------------------------------------------------


def test_all_pass(daemon, task):
    done = run_program(daemon, source(task, DOUBLE), "--tests", task / "tests")
    assert (done.returncode, done.stderr) == (0, "")
    assert table(done.stdout) == ([("1", "pass"), ("2", "pass"), ("10", "pass")], ["3 of 3 passed"])
    assert max(map(len, done.stdout.splitlines())) <= 80 and "\x1b" not in done.stdout


def test_first_difference(daemon, task):
    code = "n = int(input())\nprint(n + 1)\n"
    done = run_program(daemon, source(task, code), "-t", task / "tests")
    assert done.returncode == 1, done.stderr
    assert table(done.stdout) == (
        [("1", "pass"), ("2", "wrong answer")],
        [
            "    line 1: the line is not as expected",
            "    got       3",
            "    expected  4",
            "1 test behind the first failure not run; --all runs all",
            "1 of 3 passed",
        ],
    )


def test_all_of_them(daemon, task):
    code = "n = int(input())\nif n == 2:\n    raise ValueError('two')\nprint(2 * n)\n"
    done = run_program(daemon, source(task, code), "-t", task / "tests", "--all")
    rows, others = table(done.stdout)
    assert done.returncode == 1, done.stderr
    assert rows == [("1", "pass"), ("2", "runtime error"), ("10", "pass")]
    assert others[0] == "    exit status 1"
    assert others[-2:] == ["    ValueError: two", "2 of 3 passed"]
    assert run_program(daemon, task / "main.py", "-t", task / "tests", "--no-fail").returncode == 0


def test_limits_of_a_test(daemon, task):
    code = "while True:\n    pass\n"
    done = run_program(daemon, source(task, code), "-t", task / "tests", "--time", "300ms", "--memory", "256M")
    assert done.returncode == 1, done.stderr
    assert table(done.stdout)[0] == [("1", "timeout")]


def test_rules_of_comparing(daemon, task):
    code = "print(2 * int(input()) + 1e-9)\n"
    path = source(task, code)
    assert run_program(daemon, path, "-t", task / "tests").returncode == 1
    assert run_program(daemon, path, "-t", task / "tests", "--compare", "float:1e-6,0").returncode == 0


def test_a_newline_at_the_end_is_named(daemon, task):
    (task / "tests" / "1.out").write_text("2")
    done = run_program(daemon, source(task, DOUBLE), "-t", task / "tests", "--compare", "exact")
    assert table(done.stdout) == (
        [("1", "wrong answer")],
        [
            "    line 2: the output ends in a newline that is not expected",
            "2 tests behind the first failure not run; --all runs all",
            "0 of 3 passed",
        ],
    )


CHECK = """import sys
_, got, answer = (open(name).read().split() for name in sys.argv[1:])
if sorted(got) != sorted(answer):
    sys.exit("not the same numbers: " + got[0])
"""


def test_a_checker_judges(daemon, task):
    path, checker = source(task, "n = int(input())\nprint(2 * n if n < 10 else 'x')\n"), source(task, CHECK, "check.py")
    done = run_program(daemon, path, "-t", task / "tests", "--checker", checker)
    assert done.returncode == 1, done.stderr
    assert table(done.stdout) == (
        [("1", "pass"), ("2", "pass"), ("10", "wrong answer")],
        ["    checker:", "    not the same numbers: x", "2 of 3 passed"],
    )


@needs_gcc
def test_a_checker_finds_the_library_beside_it(daemon, task):
    folder = task / "judge"
    folder.mkdir()
    (folder / "testlib.h").write_text("enum { _fail = 3 };\n")
    checker = source(folder, '#include "testlib.h"\nint main(void) { return _fail; }\n', "check.c")
    done = run_program(daemon, source(task, DOUBLE), "-t", task / "tests", "--checker", checker)
    assert (done.returncode, done.stderr) == (4, "")
    assert table(done.stdout)[0] == [("1", "error")] and "    exit status 3" in done.stdout.splitlines()


def test_an_interactor_judges(daemon, task):
    code = "import sys\nn = open(sys.argv[1]).read()\nprint(n, flush=True)\nsys.exit(input() != str(2 * int(n)))\n"
    interactor = source(task, code, "talk.py")
    done = run_program(daemon, source(task, DOUBLE), "-t", task / "tests", "--interactor", interactor)
    assert (done.returncode, done.stderr) == (0, "") and "3 of 3 passed" in done.stdout
    done = run_program(daemon, source(task, "print(input())"), "-t", task / "tests", "--interactor", interactor)
    assert done.returncode == 1 and table(done.stdout)[0] == [("1", "wrong answer")]


def test_who_judges_is_said_once(daemon, task):
    path, checker = source(task, DOUBLE), source(task, CHECK, "check")
    done = run_program(daemon, path, "-t", task / "tests", "--checker", checker, "--compare", "tokens")
    assert done.returncode == 2 and "give one of --compare, --checker and --interactor" in done.stderr
    done = run_program(daemon, path, "-t", task / "tests", "--checker", checker)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("/check: its name does not tell its language; give it an ending that does, as in check.cpp\n")


@needs_gcc
def test_compile_error(daemon, task):
    """The compiler's words name the user's file, as its user did."""
    path = source(task, "int main() { return x; }\n", "answer.c")
    done = run_program(daemon, path, "-t", task / "tests")
    lines = done.stdout.splitlines()
    assert done.returncode == 1, done.stderr
    assert any(re.match(re.escape(str(path)) + r":1:\d+: error: .*x.* undeclared", line) for line in lines), lines
    assert "main.c" not in done.stdout
    assert lines[-2:] == ["compile error", "0 of 3 passed"]


@needs_gcc
@pytest.mark.parametrize("option", ["--checker", "--interactor"])
def test_a_judge_that_does_not_compile(daemon, task, option):
    """Its compiler's words are laid out as those about the source are, and none of them is cut."""
    code = "int main() {\n" + "".join(f"    return the_variable_{i};\n" for i in range(40)) + "}\n"
    path = source(task, code, "check.c")
    done = run_program(daemon, source(task, DOUBLE), "-t", task / "tests", option, path)
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    for i in range(40):
        assert any(re.match(re.escape(str(path)) + rf":{i + 2}:\d+: error: .*the_variable_{i}\b", line) for line in lines), i
    assert "    2 |     return the_variable_0;" in lines
    assert "main.c" not in done.stderr
    assert lines[-1] == f"rubricctl: {option}: does not compile: exit status 1"


def test_json(daemon, task):
    done = run_program(daemon, source(task, DOUBLE), "-t", task / "tests", "--json")
    result = json.loads(done.stdout)
    assert done.returncode == 0 and result["kind"] == "program" and result["verdict"] == "pass"
    assert [test["name"] for test in result["tests"]] == ["1", "2", "10"]


def test_no_escape_reaches_the_terminal(daemon, task):
    """Neither of what a program writes to standard output, nor to standard error."""
    code = "import sys\nprint('\\033[2J\\0\\x9b')\nsys.stderr.write('\\033]0;title\\007')\nsys.exit(3)\n"
    done = run_program(daemon, source(task, code), "-t", task / "tests")
    assert done.returncode == 1 and "\\x1b]0;title\\x07" in done.stdout
    code = "print('\\033[2J')\n"
    done = run_program(daemon, source(task, code), "-t", task / "tests")
    assert "    got       \\x1b[2J" in done.stdout


@needs_gcc
def test_no_escape_of_a_compiler_reaches_the_terminal(daemon, task):
    done = run_program(daemon, source(task, "\033[31m\n", "main.c"), "-t", task / "tests")
    assert "compile error" in done.stdout and "\x1b" not in done.stdout


def test_a_private_daemon(task):
    command = [RUBRICCTL, "run-program", "--embedded", source(task, DOUBLE), "-t", task / "tests"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0 and done.stdout.endswith("3 of 3 passed\n"), done.stderr


LEAVES = """
n = input()
open("seen.txt", "w").write(n)
open("of-" + n, "wb").write(bytes([0, 255]))
print(2 * int(n) + (n == "2"))
"""


@pytest.mark.parametrize("code, n", [(LEAVES, "2"), (LEAVES.replace('(n == "2")', "0"), "10")], ids=["failed", "last"])
def test_collect(daemon, task, code, n):
    """The files are those of the test that decided; what did not come is named."""
    options = ["--all", "--collect", "seen.txt", "--collect", "of-*", "--collect", "nowhere", "--collect-to", task / "back"]
    done = run_program(daemon, source(task, code), "-t", task / "tests", *options)
    assert done.stderr == "rubricctl: --collect: nowhere is left out: missing\n"
    assert done.returncode == (1 if n == "2" else 0) and "of 3 passed" in done.stdout
    kept = {path.name: path.read_bytes() for path in (task / "back").iterdir()}
    assert kept == {"seen.txt": n.encode(), f"of-{n}": b"\0\xff"}


def test_collect_needs_a_place_or_json(daemon, task):
    path = source(task, LEAVES)
    done = run_program(daemon, path, "-t", task / "tests", "--collect", "seen.txt")
    assert (done.returncode, done.stdout) == (2, "") and "--collect: say with --collect-to" in done.stderr
    done = run_program(daemon, path, "-t", task / "tests", "--collect-to", "x")
    assert (done.returncode, done.stdout) == (2, "") and "--collect-to: goes only with --collect" in done.stderr
    done = run_program(daemon, path, "-t", task / "tests", "--collect", "seen.txt", "--json")
    assert [file["content"] for file in json.loads(done.stdout)["files"]] == ["2"]
    (task / "file").write_text("")
    done = run_program(daemon, path, "-t", task / "tests", "--collect", "seen.txt", "--collect-to", task / "file")
    assert done.returncode == 2 and done.stderr.endswith("--collect-to: " + str(task / "file") + ": Not a directory\n")


# --- tests as judges export them ------------------------------------------------------------------


def test_a_zip_archive(daemon, task):
    with zipfile.ZipFile(task / "tests.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for n in (1, 2):
            archive.writestr(f"problem/tests/{n:02}", f"{n}\n")
            archive.writestr(f"problem/tests/{n:02}.a", f"{2 * n}\n")
        archive.writestr("problem/statement.pdf", b"%PDF")
    done = run_program(daemon, source(task, DOUBLE), "-t", task / "tests.zip")
    assert table(done.stdout) == ([("01", "pass"), ("02", "pass")], ["2 of 2 passed"]), done.stderr


NO_OUTPUT, NO_INPUT = "is an input without an expected output beside it", "is an expected output without an input beside it"


@pytest.mark.parametrize(
    "names, said",
    [
        (["01", "01.a", "02"], f"02 {NO_OUTPUT}"),
        (["1.in", "1.out", "2.a"], f"2.a {NO_INPUT}"),
        (["1.in", "1.out", "2.in"], f"2.in {NO_OUTPUT}"),
    ],
)
def test_half_a_test_is_an_error(daemon, task, names, said):
    tests = task / "half"
    tests.mkdir()
    for name in names:
        (tests / name).write_text("0\n")
    done = run_program(daemon, source(task, DOUBLE), "-t", tests)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"rubricctl: {tests}: {said}\n")


@pytest.mark.parametrize(
    "names, said",
    [
        (["3"], "3"),
        (["2.dat", "2.sol"], "2.dat and 2.sol"),
        (["2.txt", "2.gold", "4"], "2.gold, 2.txt and 4"),
        (["5", "6", "7", "8", "9"], "5, 6, 7 and 2 more"),
        (["a\nb"], r"a\nb"),
        (["README", "statement.pdf", "gen.py", ".6.in", "problem.yaml"], None),
    ],
)
def test_what_may_have_been_a_test_is_named(daemon, task, names, said):
    tests = task / "tests"
    for name in names:
        (tests / name).write_text("0\n")
    done = run_program(daemon, source(task, DOUBLE), "-t", tests)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "3 of 3 passed")
    assert done.stderr == (f"rubricctl: {tests}: left out, as part of no test: {said}\n" if said else "")


def test_an_archive_whose_names_lead_elsewhere(daemon, task):
    with zipfile.ZipFile(task / "tests.zip", "w") as archive:
        for name in ("../1.in", "../1.out", "/2.in", "/2.out", "3.in", "3.out"):
            archive.writestr(name, "0\n")
    done = run_program(daemon, source(task, DOUBLE), "-t", task / "tests.zip")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"rubricctl: {task}/tests.zip: ../1.in, ../1.out, /2.in and 1 more lead out of the archive; tests have names "
        "within it\n"
    )


def test_bytes_that_are_no_text(daemon, task):
    code = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])\n"
    (task / "tests" / "1.in").write_bytes(b"\xff\x00a")
    (task / "tests" / "1.out").write_bytes(b"a\x00\xff")
    done = run_program(daemon, source(task, code), "-t", task / "tests", "--compare", "exact")
    assert table(done.stdout)[0][0] == ("1", "pass"), done.stdout


def test_options_that_set_one_limit_alike(daemon, task):
    """They need not be written alike."""
    limits = ["--time", "5", "-l", "wall_clock=5000ms", "-l", "wall_clock=5s", "--memory", "1G", "-l", "memory_bytes=1024M"]
    done = run_program(daemon, source(task, DOUBLE), "-t", task / "tests", *limits)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_archive_that_grows(daemon, task):
    with zipfile.ZipFile(task / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.in", b"\0" * (65 << 20))
        archive.writestr("1.out", "")
    done = run_program(daemon, source(task, DOUBLE), "-t", task / "bomb.zip")
    assert done.returncode == 2
    assert done.stderr == f"rubricctl: {task}/bomb.zip: the tests have more than 64 MiB\n"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["main.py"], "run-program: --tests is missing; see rubricctl run-program --help"),
        (["main.py", "-t", "nothing"], "nothing: No such file or directory"),
        (["main.py", "-t", "main.py"], "main.py: it is no folder, and no zip archive that can be read"),
        (["main.py", "-t", "empty"], "empty: there are no tests among its 0 files; tests are pairs such as 1.in"),
        (["main.py", "-t", "half"], "half: 1.in is an input without an expected output beside it"),
        (["main.txt", "-t", "tests"], "main.txt: its name does not tell its language; give --language"),
        (["none.py", "-t", "tests"], "none.py: No such file or directory"),
        (["bytes.py", "-t", "tests"], "bytes.py: it is not UTF-8"),
        (["main.py", "-t", "tests", "--time", "soon"], "--time: expected a duration such as 500ms"),
        (["main.py", "-t", "tests", "--time", "0ms"], '--time: expected a value above 0, got "0ms"'),
        (["main.py", "-t", "tests", "--memory", "much"], "--memory: expected a size in bytes"),
        (["main.py", "-t", "tests", "--memory", "1"], "--memory: expected at least 1M, as hardly a program starts"),
        (["main.py", "-t", "tests", "-l", "memory_bytes=1023K"], "--limit memory_bytes: expected at least 1M, as hardly"),
        (["main.py", "main.py"], "run-program: "),
        (["main.py", "-t", "tests", "--compare", "token"], '--compare: unknown rule "token"; did you mean tokens?'),
        (["main.py", "-t", "tests", "--compare", "floats"], '--compare: unknown rule "floats"; there are exact, lines'),
        (["main.py", "-t", "tests", "--compare", "float:1e-6"], '--compare: "float:1e-6" has no two tolerances: '),
        (["main.py", "-t", "tests", "--time", "5h"], "--time: above the ceiling of "),
        (["main.py", "-t", "tests", "--memory", "900G"], "--memory: above the ceiling of 4 GiB; [ceilings]"),
        (
            ["main.py", "-t", "tests", "--time", "5", "-l", "wall_clock=1"],
            "--time 5 and --limit wall_clock=1 set one limit to different values: give only one\n",
        ),
        (
            ["main.py", "-t", "tests", "-l", "memory_bytes=1G", "--memory", "64M"],
            "--memory 64M and --limit memory_bytes=1G set one limit to different values: give only one\n",
        ),
        (
            ["main.py", "-t", "tests", "-l", "cpu=1", "-l", "cpu=1s", "-l", "cpu=2"],
            "--limit cpu=2 and --limit cpu=1 set one limit to different values: give only one\n",
        ),
        (["main.py", "-t", "tests", "-l", "wall_clock=5h"], "--limit wall_clock: above the ceiling of "),
        (["main.py", "-t", "tests", "--language", "fortran"], '--language: this daemon knows no language "fortran"'),
    ],
)
def test_what_is_wrong(daemon, task, arguments, said):
    source(task, DOUBLE)
    source(task, DOUBLE, "main.txt")
    (task / "bytes.py").write_bytes(b"\xff")
    (task / "empty").mkdir()
    (task / "half").mkdir()
    (task / "half" / "1.in").touch()
    done = run_program(daemon, *arguments, cwd=task)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"rubricctl: {said}"), done.stderr


def test_what_can_be_seen_needs_no_daemon(task):
    command = [RUBRICCTL, "--socket", "none", "run-program", source(task, DOUBLE), "-t", "tests", "--compare", "token"]
    done = subprocess.run(command, cwd=task, capture_output=True, text=True, timeout=DEADLINE)
    assert (done.returncode, done.stderr) == (2, 'rubricctl: --compare: unknown rule "token"; did you mean tokens?\n')


# --- watching -------------------------------------------------------------------------------------


class Watched:
    """rubricctl run-program --watch, and what it has written."""

    def __init__(self, daemon, *arguments):
        command = [RUBRICCTL, "--socket", daemon.socket, "run-program", "--watch", *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def read(self):
        while select.select([self.process.stdout], [], [], 0)[0]:
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                break
            self.text += data.decode()
        return self.text

    def wait_for(self, pattern):
        """Waits for the text and forgets it and what came before it."""
        wait_until(lambda: re.search(pattern, self.read()), f"{pattern!r} is written: {self.text!r}")
        self.text = self.text[re.search(pattern, self.text).end() :]


def test_watch_runs_again(daemon, task):
    path = source(task, "print(1)\n")
    with Watched(daemon, path, "-t", task / "tests") as watched:
        watched.wait_for("0 of 3 passed\n")
        watched.wait_for(f"rubricctl: watching {path}; Ctrl-C ends\n")
        source(task, "", "other.py")
        (task / "new.py").write_text(DOUBLE)
        (task / "new.py").rename(path)
        watched.wait_for(rf"^rubricctl: \d\d:\d\d:\d\d {path} has changed: running again\n")
        watched.wait_for("3 of 3 passed\n")
        watched.wait_for("Ctrl-C ends\n")
        path.unlink()
        source(task, "print(3)\n")
        watched.wait_for("0 of 3 passed\n")
        watched.wait_for("Ctrl-C ends\n")
        watched.process.send_signal(signal.SIGINT)
        assert watched.process.wait(DEADLINE) == 130
        assert watched.read() == ""


def test_watch_sees_the_tests_and_the_checker(daemon, task):
    checker = source(task, "import sys\nsys.exit(1)\n", "check.py")
    with Watched(daemon, source(task, DOUBLE), "-t", task / "tests", "--checker", checker) as watched:
        watched.wait_for("0 of 3 passed\n")
        watched.wait_for("Ctrl-C ends\n")
        source(task, "", "check.py")
        watched.wait_for(f"^rubricctl: .* {checker} has changed: running again\n")
        watched.wait_for("3 of 3 passed\n")
        watched.wait_for("Ctrl-C ends\n")
        (task / "tests" / "10.in").rename(task / "10.in")
        (task / "tests" / "10.out").unlink()
        watched.wait_for(f"^rubricctl: .* {task / 'tests'} has changed: running again\n")
        watched.wait_for("2 of 2 passed\n")


def test_watch_leaves_a_run_that_has_become_old(daemon, task):
    """The job that runs is ended; nobody waits for its time to be up."""
    path = source(task, "import time\ntime.sleep(200)\n")
    with Watched(daemon, path, "-t", task / "tests", "--time", "250") as watched:
        wait_until(lambda: is_running(daemon), "the first run has begun")
        source(task, DOUBLE)
        watched.wait_for("^rubricctl: .* has changed: running again\n")
        watched.wait_for("3 of 3 passed\n")
        watched.process.send_signal(signal.SIGTERM)
        assert watched.process.wait(DEADLINE) == 130
    wait_until(lambda: not is_running(daemon), "no job is left")


def is_running(daemon):
    with daemon.connect() as client:
        return any(slot["job"] for slot in client.status()["slots"])


def test_watch_goes_on_behind_a_mistake(daemon, task):
    path = source(task, DOUBLE)
    with Watched(daemon, path, "-t", task / "tests") as watched:
        watched.wait_for("3 of 3 passed\n")
        path.write_bytes(b"\xff")
        watched.wait_for("main.py: it is not UTF-8\n")
        source(task, DOUBLE)
        watched.wait_for("3 of 3 passed\n")


def test_watch_of_nothing(daemon, task):
    with Watched(daemon, task / "none.py", "-t", task / "tests") as watched:
        assert watched.process.wait(DEADLINE) == 2
        assert watched.read() == f"rubricctl: {task}/none.py: No such file or directory\n"


def test_interrupted(daemon, task):
    path = source(task, "import time\ntime.sleep(200)\n")
    command = [RUBRICCTL, "--socket", daemon.socket, "run-program", path, "-t", task / "tests"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: is_running(daemon), "the run has begun")
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 130
        assert process.stdout.read() == b""


def test_colours_on_a_terminal_alone(daemon, task):
    path, (master, slave) = source(task, DOUBLE), pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
    command = [RUBRICCTL, "--socket", daemon.socket, "run-program", path, "-t", task / "tests"]
    with subprocess.Popen(command, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        text = b""
        while not text.endswith(b"passed\r\n"):
            text += os.read(master, 65536)
        assert process.wait(DEADLINE) == 0
    os.close(master)
    assert text.count(b"\x1b[32mpass\x1b[0m") == 3
