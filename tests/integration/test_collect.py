# SPDX-License-Identifier: MIT
"""Files that come back from a sandbox job or a program: which, of which content, and what a job can do about it. A
job may make anything in its directory; nothing of the host may come back, and nothing may stay."""

import base64
import json
import os
import shutil
import subprocess

import pytest
from conftest import ALL_LAYERS, BARE, DEADLINE, NO_USER_NAMESPACES, RUBRICCTL
from test_sandbox import assert_failed, assert_passed, python, shell

SHAPES = [ALL_LAYERS, NO_USER_NAMESPACES, BARE]
EVERYTHING = ["*"]


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


@pytest.fixture(name="client")
def connect(daemon):
    with daemon.connect() as client:
        yield client
        assert daemon.leftovers() == []


def content(entry):
    if "content_base64" in entry:
        return base64.b64decode(entry["content_base64"])
    return entry["content"].encode()


def files(result):
    return {entry["name"]: content(entry) for entry in result["files"]}


def left_out(result):
    return {entry["name"]: entry["why"] for entry in result["left_out"]}


@pytest.mark.parametrize("shape", SHAPES, indirect=True)
def test_files_come_back_with_content_and_mode(client):
    code = r"printf 'one\n' >a; mkdir -p d/e; printf '\000\377' >d/e/b; : >d/c; chmod 750 d/c; echo no >z"
    result = client.run(shell(code, collect=["a", "d/*", "none"]))
    assert_passed(result)
    assert result["files"] == [
        {"name": "a", "mode": "0644", "content": "one\n"},
        {"name": "d/c", "mode": "0750", "content": ""},
        {"name": "d/e/b", "mode": "0644", "content_base64": "AP8="},
    ]
    assert result["left_out"] == [{"name": "none", "why": "missing"}]
    assert result["files_complete"] is True


def test_no_file_comes_back_unless_it_is_asked_for(client):
    assert not {"files", "left_out", "files_complete"} & set(client.run(shell("echo >a")))
    result = client.run(shell("echo >a", collect=[]))
    assert (result["files"], result["left_out"], result["files_complete"]) == ([], [], True)


def test_files_of_a_job_that_fails_come_back(client):
    result = client.run(shell("echo left >a; exit 3", collect=["a"]))
    assert_failed(result, "sandbox.failed")
    assert files(result) == {"a": b"left\n"}


def test_files_of_a_job_that_is_killed_at_its_deadline_come_back(client):
    job = shell("echo left >a; (while :; do :; done) & sleep 600", collect=["a"])
    result = client.run({**job, "limits": {"wall_clock": 0.5}})
    assert_failed(result, "sandbox.limit_exceeded")
    assert files(result) == {"a": b"left\n"}


def test_what_the_job_was_given_comes_back_as_it_left_it(client):
    job = shell("echo more >>given", collect=["given"], files={"given": {"text": "x\n", "mode": "0666"}})
    result = client.run(job)
    assert result["files"] == [{"name": "given", "mode": "0666", "content": "x\nmore\n"}]


def test_patterns(client):
    code = "mkdir -p d/e; for f in a.o b.o ab.o d/c.o d/e/f.o 'x*y' xzy '[1]' 1; do echo >\"$f\"; done"

    def names(*patterns):
        return [entry["name"] for entry in client.run(shell(code, collect=list(patterns)))["files"]]

    assert names("*.o") == ["a.o", "ab.o", "b.o", "d/c.o", "d/e/f.o"]
    assert names("?.o", "d/e/*") == ["a.o", "b.o", "d/e/f.o"]
    assert names("[a-c]?.o") == ["ab.o"]
    assert names("[!a].o") == ["b.o"]
    assert names(r"x\*y") == ["x*y"]
    assert names(r"\[1]", "1") == ["1", "[1]"]
    assert names("*", "a.o") == names("*")  # each once
    assert names("d") == []


@pytest.mark.parametrize("shape", SHAPES, indirect=True)
def test_nothing_that_is_not_a_regular_file_comes_back(client):
    code = """
import os, socket
os.symlink("/etc/passwd", "link"); os.symlink("real", "inner"); os.symlink("/etc", "dir")
os.symlink("d", "dlink"); os.mkfifo("fifo"); os.mkdir("d"); open("d/f", "w").write("f")
try: socket.socket(socket.AF_UNIX).bind("sock")
except PermissionError: os.mkfifo("sock")  # without a view, jobs may not make sockets
for name in ("null", "zero"):
    open(name, "w").close(); os.unlink(name)
    os.symlink("/dev/" + name, name)
open("real", "w").write("real")
"""
    job = python(code, collect=["link", "inner", "dir/passwd", "dlink/f", "fifo", "sock", "null", "d"])
    result = client.run(job)
    assert result["files"] == []
    kinds = dict.fromkeys(("link", "inner", "fifo", "sock", "null", "d"), "irregular")
    assert left_out(result) == {**kinds, "dir/passwd": "missing", "dlink/f": "missing"}
    result = client.run(python(code, collect=EVERYTHING))
    assert files(result) == {"d/f": b"f", "real": b"real"}
    assert set(left_out(result)) == {"link", "inner", "dir", "dlink", "fifo", "sock", "null", "zero"}


@pytest.mark.parametrize("shape", SHAPES, indirect=True)
def test_modes_that_forbid_reading_hide_nothing(client):
    code = "mkdir -p d/e; echo x >d/e/f; echo y >g; chmod 0 g d/e/f d/e d"
    for collect in (EVERYTHING, ["d/e/f", "g"]):
        result = client.run(shell(code, collect=collect))
        assert [(e["name"], e["mode"]) for e in result["files"]] == [("d/e/f", "0000"), ("g", "0000")]
        assert files(result) == {"d/e/f": b"x\n", "g": b"y\n"}


def test_strange_names(client):
    code = r"""
import os
for name in (b"new\nline", b"\xff", b"-x", b" ", b"\xc3\xa9", b"..a", b"\x01"):
    open(name, "w").write("x")
"""
    result = client.run(python(code, collect=EVERYTHING))
    assert set(files(result)) == {"new\nline", "-x", " ", "é", "..a", "\x01"}
    assert left_out(result) == {"\ufffd": "name"}


def test_text_and_what_is_not(client):
    code = r"""
for name, data in {"text": b"a\tb\r\n\xc3\xa9", "nul": b"a\0", "control": b"\x1b[0m", "latin": b"\xe9"}.items():
    open(name, "wb").write(data)
"""
    result = client.run(python(code, collect=EVERYTHING))
    kinds = {entry["name"]: "content" in entry for entry in result["files"]}
    assert kinds == {"text": True, "nul": False, "control": False, "latin": False}
    assert files(result)["control"] == b"\x1b[0m"


@pytest.mark.parametrize("shape", SHAPES, indirect=True)
def test_large_files_are_left_out(client):
    code = """
open("small", "w").write("x")
for name, size in (("fits", 3 << 20), ("sparse", 1 << 25)):
    open(name, "wb").truncate(size)
"""
    result = client.run(python(code, collect=["small", "fits", "sparse"]))
    assert {name: len(data) for name, data in files(result).items()} == {"small": 1, "fits": 3 << 20}
    assert result["left_out"] == [{"name": "sparse", "why": "too_large", "size": 1 << 25}]
    assert result["files_complete"] is False


def test_thousands_of_files(client):
    code = "for i in range(3000): open(f'f{i}', 'w').write(str(i))"
    result = client.run(python(code, collect=EVERYTHING))
    assert_passed(result)
    assert len(result["files"]) == 1024 and result["files_complete"] is False
    assert set(left_out(result).values()) == {"too_many"}
    assert all(entry["content"] == entry["name"][1:] for entry in result["files"])


def test_thousands_of_links_do_not_keep_files_from_coming_back(client):
    code = "import os\nfor i in range(3000): os.symlink('/', f'l{i}')\nopen('f', 'w').write('x')"
    result = client.run(python(code, collect=EVERYTHING))
    assert files(result) == {"f": b"x"} and len(result["left_out"]) == 64


@pytest.mark.parametrize("shape", SHAPES, indirect=True)
def test_deep_directories(client):
    code = """
import os
open("top", "w").write("x")
for i in range(600):
    os.mkdir("d"); os.chdir("d")
    if i == 100: open("f", "w").write("deep")
"""
    result = client.run(python(code, collect=EVERYTHING))
    assert_passed(result)
    assert files(result) == {"top": b"x", "d/" * 101 + "f": b"deep"}
    assert result["files_complete"] is False  # names too long to be looked at


def test_many_directories(client, daemon):
    if not daemon.has_view():
        pytest.skip("without a file system of its own, a disk decides how long it takes to remove them")
    code = "import os\nopen('f', 'w').close()\nfor i in range(20000): os.mkdir(f'directory-{i}')"
    result = client.run({**python(code, collect=["f", "*.o"]), "limits": {"disk_bytes": 1 << 28}})
    assert_passed(result)
    assert files(result) == {"f": b""} and result["files_complete"] is False


@pytest.mark.parametrize("shape", SHAPES, indirect=True)
def test_a_hard_link_brings_nothing_from_elsewhere(client, daemon):
    """Jobs with a file system of their own may have links in it."""
    code = """
import os
open("a", "w").write("x"); os.link("a", "b")
for name in ("/etc/passwd", "/usr/bin/env"):
    try: os.link(name, os.path.basename(name))
    except OSError: pass
"""
    result = client.run(python(code, collect=["*"]))
    if daemon.has_view():
        assert files(result) == {"a": b"x", "b": b"x"}
    else:
        assert not files(result) and left_out(result)["a"] == "shared"


def test_the_end_of_all_processes_comes_first(client):
    """A process that goes on writing is dead before the file is read."""
    code = r"""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    with open("f", "w", buffering=1) as f:
        while True: f.write("x")
while not os.path.exists("f") or os.path.getsize("f") < 100: time.sleep(0.001)
"""
    result = client.run({**python(code, collect=["f"]), "limits": {"disk_bytes": 1 << 22}})
    assert_passed(result)
    assert set(files(result).get("f", b"x")) == {ord("x")}


def test_the_next_job_finds_nothing(client):
    for n in range(3):
        result = client.run(shell("ls -A; echo x >a; mkdir d", collect=EVERYTHING))
        assert (result["stdout"], files(result)) == ("", {"a": b"x\n"}), n


@pytest.mark.parametrize(
    "collect, expected",
    [
        ("a", "job.collect: expected an array, got a string"),
        ([1], "job.collect[0]: expected a string, got a number"),
        (["a", "/etc/passwd"], "job.collect[1]: expected a relative name or pattern without empty, . and .. "),
        (["../x"], "job.collect[0]: expected a relative name"),
        (["a//b"], "job.collect[0]: expected a relative name"),
        ([""], "job.collect[0]: expected a relative name"),
        (["x" * 1024], "job.collect[0]: expected a relative name"),
        (["a"] * 65, "job.collect: 65 names, more than 64"),
        (["x" * 255 + "/" + "y" * 255 + "/" + "z" * 255] * 64, "job: argv, env and collect take "),
    ],
)
def test_bad_requests(client, collect, expected):
    answer = client.run(shell("true", collect=collect), check=False)
    assert (answer["type"], answer["code"], answer["retriable"]) == ("error", "bad_request", False)
    assert answer["message"].startswith(expected), answer["message"]


# --- programs --------------------------------------------------------------------------------------


def program(code, tests, **fields):
    return {"kind": "program", "language": "python", "code": code, "tests": tests, **fields}


WRITES = """
word, how = input().split()
open("out.txt", "w").write(word)
print("right" if how == "good" else "wrong")
if how == "bad":
    raise SystemExit(3)
"""


def inputs(*words):
    return [{"input": word, "output": "right"} for word in words]


@pytest.mark.parametrize("shape", SHAPES, indirect=True)
def test_files_of_the_last_test_come_back_if_all_passed(client):
    result = client.run(program(WRITES, inputs("a good", "b good"), collect=["out.txt", "none"]))
    assert result["verdict"] == "pass"
    assert result["files"] == [{"name": "out.txt", "mode": "0644", "content": "b"}]
    assert result["left_out"] == [{"name": "none", "why": "missing"}]
    assert result["files_complete"] is True


@pytest.mark.parametrize("stop", ["first_failure", "all"])
@pytest.mark.parametrize("failing", ["b wrong", "b bad"])
def test_files_of_the_first_test_that_failed_come_back(client, stop, failing):
    tests = inputs("a good", failing, "c good", "d bad")
    result = client.run(program(WRITES, tests, collect=["*.txt"], stop=stop))
    assert [test["verdict"] for test in result["tests"]][1] != "pass"
    assert files(result) == {"out.txt": b"b"}


def test_files_of_a_program_come_back_from_before_the_checker(client):
    checker = "import sys\nopen('out.txt', 'w').write('checked')\nsys.exit(open('input').read() == 'b good')"
    checker = {"language": "python", "code": checker}
    result = client.run(program(WRITES, inputs("a good", "b good", "c good"), checker=checker, collect=["out.txt"]))
    assert result["verdict"] == "wrong_answer" and files(result) == {"out.txt": b"b"}


def test_files_of_a_program_that_ran_out_of_time_come_back(client):
    code = "open('out.txt', 'w').write('x')\nwhile True: pass\n"
    result = client.run(program(code, inputs("a good"), collect=["out.txt"], limits={"wall_clock": 0.5}))
    assert result["verdict"] == "timeout" and files(result) == {"out.txt": b"x"}


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_no_file_comes_back_from_a_program_that_does_not_compile(client):
    job = program("int main(", inputs("a good"), collect=["out.txt", "*.c"])
    result = client.run({**job, "language": "c"})
    assert result["verdict"] == "compile_error" and files(result) == {}
    assert left_out(result) == {"out.txt": "missing"}


def test_files_of_a_program_are_bounded(client):
    code = "for name in 'abc': open(name, 'w').write('x' * (3 << 20))"
    result = client.run(program(code, [{"input": ""}], collect=["?"]))
    assert len(result["files"]) == 1 and result["files_complete"] is False
    assert set(left_out(result).values()) == {"too_large"}


def test_no_file_of_a_program_comes_back_unless_it_is_asked_for(client):
    result = client.run(program(WRITES, inputs("a good")))
    assert not {"files", "left_out", "files_complete"} & set(result)


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({"collect": ["../x"]}, "job.collect[0]: expected a relative name"),
        ({"collect": ["a"] * 65}, "job.collect: 65 names, more than 64"),
        (
            {"collect": ["x" * 255 + "/" + "y" * 255] * 64},
            "job.collect: 32768 bytes, more than 24576",
        ),
        (
            {"collect": ["a"], "interactor": {"language": "python", "code": ""}},
            "job.collect: a job with an interactor has no files that come back",
        ),
    ],
)
def test_bad_requests_of_programs(client, fields, expected):
    answer = client.run(program("", [{"input": ""}], **fields), check=False)
    assert (answer["type"], answer["code"], answer["retriable"]) == ("error", "bad_request", False)
    assert answer["message"].startswith(expected), answer["message"]


# --- rubricctl -------------------------------------------------------------------------------------


def rubricctl(daemon, *arguments, cwd=None):
    command = [RUBRICCTL, "--socket", daemon.socket, "sandbox", *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=False, cwd=cwd
    )


def test_rubricctl_writes_the_files(daemon, tmp_path):
    to = tmp_path / "to"
    code = r"mkdir d; echo one >a; printf '\377' >d/b; chmod 755 d/b; ln -s a l; echo more >c"
    options = ["--collect", "a", "--collect", "d/*", "--collect", "l", "--collect-to", to]
    run = rubricctl(daemon, *options, "--", "sh", "-c", code)
    assert run.returncode == 0, run.stderr
    assert "--collect: l is left out: irregular\n" in run.stderr
    assert sorted(str(p.relative_to(to)) for p in to.rglob("*")) == ["a", "d", "d/b"]
    assert (to / "a").read_text() == "one\n" and (to / "d" / "b").read_bytes() == b"\xff"
    assert (to / "d" / "b").stat().st_mode & 0o111 == 0o111 & ~current_umask()
    run = rubricctl(daemon, *options[-2:], "--collect", "a", "--", "sh", "-c", "echo two >a; exit 3")
    assert (run.returncode, (to / "a").read_text()) == (3, "two\n")


RESULT = {
    "type": "result",
    "job_no": 1,
    "kind": "sandbox",
    "score": {
        "passed": True,
        "score": 1,
        "breakdown": {},
        "failure_modes": [],
        "cost_usd": 0,
        "wall_clock_ms": 1,
    },
    "outcome": {
        "success": True,
        "exit_code": 0,
        "signal": None,
        "limit_exceeded": None,
        "stderr": "",
        "summary": "ok",
    },
    "usage": {"wall_clock_ms": 1, "cpu_ms": 1, "cpu_wait_ms": 0, "max_rss_bytes": 1, "queue_ms": 0},
    "isolation": {"class": "subprocess", "layers": ["env"], "digest": "0" * 64},
    "stdout": "",
}


def current_umask():
    umask = os.umask(0o77)
    os.umask(umask)
    return umask


def test_rubricctl_writes_nothing_through_a_link(daemon, tmp_path):
    """What is below the directory may be of an earlier job."""
    to, outside = tmp_path / "to", tmp_path / "outside"
    to.mkdir()
    outside.mkdir()
    (outside / "f").write_text("mine")
    (to / "f").symlink_to(outside / "f")
    (to / "d").symlink_to(outside)
    (to / "h").hardlink_to(outside / "f")
    run = rubricctl(daemon, "--collect=f", "--collect=h", "--collect-to", to, "--", "sh", "-c", "echo x | tee h >f")
    assert run.returncode == 0, run.stderr
    assert (to / "f").read_text() == (to / "h").read_text() == "x\n"
    run = rubricctl(daemon, "--collect=d/f", "--collect-to", to, "--", "sh", "-c", "mkdir d; echo x >d/f")
    assert run.returncode == 2 and f"--collect-to: {to}/d/f: " in run.stderr
    assert (outside / "f").read_text() == "mine" and len(list(outside.iterdir())) == 1


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "a//x", ".", "", "d/", "x" * 300])
def test_rubricctl_does_not_believe_the_daemon(daemon_here, tmp_path, name):
    """A name that leads out of the directory is refused, whoever sends it."""
    to = tmp_path / "in" / "to"
    to.parent.mkdir()
    answer = {
        **RESULT,
        "files": [{"name": name, "mode": "0644", "content": "x"}],
        "left_out": [],
        "files_complete": True,
    }
    command = [RUBRICCTL, "--socket", daemon_here.socket, "sandbox", "--collect=a", "--collect-to", to, "--", "true"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        peer = daemon_here.accept()
        id = peer.recv()["id"]
        peer.send({**answer, "id": id})
        assert process.wait(DEADLINE) == 2
        assert f"--collect-to: {to}/{name}: " in process.stderr.read()
    assert list(to.parent.iterdir()) == [to] and not list(to.iterdir())


def test_rubricctl_says_how_its_options_go_together(daemon, tmp_path):
    run = rubricctl(daemon, "--collect", "a", "--", "true")
    assert run.returncode == 2 and "--collect: say with --collect-to where the files go" in run.stderr
    run = rubricctl(daemon, "--collect-to", tmp_path, "--", "true")
    assert run.returncode == 2 and "--collect-to: goes only with --collect" in run.stderr
    run = rubricctl(daemon, "--json", "--collect", "a", "--", "sh", "-c", "echo x >a")
    assert json.loads(run.stdout)["files"] == [{"name": "a", "mode": "0644", "content": "x\n"}]
    (tmp_path / "file").write_text("")
    run = rubricctl(daemon, "--collect=a", "--collect-to", tmp_path / "file", "--", "true")
    assert run.returncode == 2 and f"--collect-to: {tmp_path}/file: Not a directory" in run.stderr
