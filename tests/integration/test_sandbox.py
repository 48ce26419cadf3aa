# SPDX-License-Identifier: MIT
"""Jobs of kind `sandbox` that need no files: the programs that run, their input, their results, their
limits, and what the configuration denies; and `rubricctl sandbox`."""

import base64
import json
import os
import pty
import signal
import subprocess

import pytest
from conftest import CEILINGS, DEADLINE, DEFAULTS, PASSING, ROOT, RUBRICCTL, Daemon, wait_until

PYTHON = "/usr/bin/python3"
MIB = 1 << 20


@pytest.fixture(scope="module", name="daemon")
def start_shared(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"), "sandbox.env_names=TZ HOME")
    yield daemon
    assert daemon.stop() == 0, daemon.log()
    assert not any(daemon.work.iterdir()), "the daemon empties its work directory before it exits"


def argv(*words, **fields):
    return {"kind": "sandbox", "argv": [*words], **fields}


def shell(text, *words, **fields):
    return argv("/bin/sh", "-c", text, *words, **fields)


def python(code, **fields):
    return argv(PYTHON, "-c", code, **fields)


def assert_passed(result):
    assert result["type"] == "result", result
    assert result["kind"] == "sandbox"
    assert result["score"] == {
        "passed": True,
        "score": 1,
        "breakdown": {},
        "failure_modes": [],
        "cost_usd": 0,
        "wall_clock_ms": result["usage"]["wall_clock_ms"],
    }, result
    assert result["outcome"]["success"] is True


def assert_failed(result, code, **outcome):
    assert result["type"] == "result", result
    assert {key: result["outcome"][key] for key in outcome} == outcome
    assert result["outcome"]["success"] is False
    detail = result["outcome"]["summary"]
    assert result["score"] == {
        "passed": False,
        "score": 0,
        "breakdown": {},
        "failure_modes": [{"code": code, "severity": "block", "detail": detail}],
        "cost_usd": 0,
        "wall_clock_ms": result["usage"]["wall_clock_ms"],
    }


def assert_error(answer, code, message, retriable=False):
    assert (answer["type"], answer["code"], answer["message"], answer["retriable"]) == (
        "error",
        code,
        message,
        retriable,
    ), answer


# --- programs and results ------------------------------------------------------------------------


def test_success(client):
    result = client.run(shell("echo out; echo err >&2"))
    assert_passed(result)
    assert result["stdout"] == "out\n"
    assert result["outcome"] == {
        "success": True,
        "exit_code": 0,
        "signal": None,
        "limit_exceeded": None,
        "stderr": "err\n",
        "summary": "ok",
    }


def test_started_comes_first(client):
    client.submit("s", argv("/bin/true"))
    started = client.recv()
    assert (started["type"], started["id"]) == ("started", "s")
    assert client.recv_answer("s")["job_no"] == started["job_no"]


def test_arguments_are_passed_as_they_are(client):
    words = ["", " ", "a b", "$HOME", "`id`", "*", "'", '"', "\\", "\n", "-c", "\u00e9\U0001f600"]
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    result = client.run(argv(PYTHON, "-c", code, *words))
    assert_passed(result)
    assert json.loads(result["stdout"]) == words


def test_most_arguments(client):
    code = "import sys; print(len(sys.argv), len(sys.argv[-1]))"
    words = ["x"] * 56 + ["y" * 40000]
    result = client.run(argv(PYTHON, "-c", code, *words))
    assert_passed(result)
    assert result["stdout"] == "58 40000\n"


@pytest.mark.parametrize("status", [1, 2, 42, 255])
def test_exit_status(client, status):
    result = client.run(shell(f"echo out; exit {status}"))
    assert_failed(
        result,
        "sandbox.failed",
        exit_code=status,
        signal=None,
        limit_exceeded=None,
        stderr="",
        summary=f"exit status {status}",
    )
    assert result["stdout"] == "out\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_signal(client, number):
    result = client.run(shell(f"kill -{int(number)} $$"))
    assert_failed(
        result,
        "sandbox.failed",
        exit_code=None,
        signal=int(number),
        limit_exceeded=None,
        summary=f"signal {int(number)}",
    )


def test_summary_is_the_first_lines_of_stderr(client):
    result = client.run(shell("echo; for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done >&2; exit 3"))
    summary = "\n".join(f"line {i}" for i in range(1, 9))
    assert_failed(result, "sandbox.failed", exit_code=3, summary=summary)
    assert result["outcome"]["stderr"].endswith("line 9\n")


def test_output_that_is_not_utf8(client):
    result = client.run(shell(r"printf 'a\377\000\303\251\n'; printf '\303' >&2; exit 1"))
    assert result["stdout"] == "a\ufffd\0\u00e9\n"
    assert_failed(result, "sandbox.failed", exit_code=1, stderr="\ufffd", summary="\ufffd")


def test_usage(client):
    result = client.run(python("x = bytearray(100 << 20)\nfor i in range(10**6): pass"))
    assert_passed(result)
    usage = result["usage"]
    assert usage["max_rss_bytes"] > 100 * MIB
    assert 0 < usage["cpu_ms"] <= usage["wall_clock_ms"] * os.cpu_count() + 20
    assert set(result["isolation"]) == {"class", "layers", "digest"}
    assert result["isolation"] == client.hello["isolation"]


def test_private_directory(client, daemon):
    code = "import os; print(os.listdir(), os.getcwd()); open('left', 'w').write('x'); os.mkdir('d')"
    for _ in range(4):
        result = client.run(python(code))
        assert_passed(result)
        assert result["stdout"].startswith("[] /")
    wait_until(
        lambda: not [p for slot in daemon.work.iterdir() for p in slot.iterdir()],
        "nothing of the jobs is left",
    )


def test_nothing_outlives_the_job(client, daemon):
    before = daemon.descendants()
    result = client.run(shell("sleep 4711 </dev/null >/dev/null 2>&1 & echo started"))
    assert_passed(result)
    wait_until(lambda: daemon.descendants() <= before, "the sleep is gone")


def test_rubrics_and_sandbox_jobs_share_a_connection(client, bench):
    client.submit("r", bench.job(PASSING))
    client.submit("s", shell("echo x"))
    answers = {m["id"]: m for m in (client.recv_answer(), client.recv_answer())}
    assert answers["r"]["kind"] == "rubric" and "stdout" not in answers["r"]
    assert_passed(answers["s"])


@pytest.mark.parametrize("text", ["", " \n\t\n", "I would print(1), but I cannot.\n"])
def test_no_code(client, text):
    client.submit("g", {"kind": "sandbox", "generation": text, "runner": "python"})
    result = client.recv()
    assert result["type"] == "result", "the daemon sends no `started`"
    assert (result["score"], result["reason"], result["stdout"]) == (None, "no_code", "")
    assert result["outcome"] == {
        "success": False,
        "exit_code": None,
        "signal": None,
        "limit_exceeded": None,
        "stderr": "",
        "summary": "not run: no code was found",
    }


def test_program_that_is_not_there(client):
    message = "job.argv[0]: /no/such/program: No such file or directory"
    assert_error(client.run(argv("/no/such/program")), "bad_request", message)
    assert_error(
        client.run(argv("/etc/passwd")), "bad_request", "job.argv[0]: /etc/passwd: Permission denied"
    )
    assert_error(client.run(argv("/usr")), "bad_request", "job.argv[0]: /usr: Permission denied")
    assert_passed(client.run(argv("/bin/true")))


# --- stdin and environment -----------------------------------------------------------------------

CAT = "import sys; data = sys.stdin.buffer.read(); print(len(data), data)"


@pytest.mark.parametrize(
    "fields, data",
    [
        ({}, b""),
        ({"stdin": None}, b""),
        ({"stdin": ""}, b""),
        ({"stdin": "caf\u00e9\0\n"}, "caf\u00e9\0\n".encode()),
        ({"stdin": {"base64": base64.b64encode(bytes(range(256))).decode()}}, bytes(range(256))),
    ],
)
def test_stdin(client, fields, data):
    result = client.run(python(CAT, **fields))
    assert_passed(result)
    assert result["stdout"] == f"{len(data)} {data!r}\n"


def test_large_stdin_that_nobody_reads(client):
    assert_passed(client.run(argv("/bin/true", stdin="x" * (4 * MIB))))
    result = client.run(python("import sys; print(len(sys.stdin.read()))", stdin="x" * (4 * MIB)))
    assert result["stdout"] == f"{4 * MIB}\n"


SCRUBBED = ["LANG=C.UTF-8", "PATH=/usr/bin:/bin", "PYTHONHASHSEED=0", "PYTHONIOENCODING=utf-8"]


def environment(result):
    assert_passed(result)
    return sorted(result["stdout"].split("\0")[:-1])


def test_environment(client):
    env = argv("/usr/bin/env", "-0")
    assert environment(client.run(env)) == SCRUBBED
    assert environment(client.run({**env, "env": {}})) == SCRUBBED
    got = environment(client.run({**env, "env": {"TZ": "", "HOME": "/a b=c\n"}}))
    assert got == sorted([*SCRUBBED, "TZ=", "HOME=/a b=c\n"])
    assert environment(client.run(env)) == SCRUBBED, "the next job does not inherit them"


def test_own_variable_goes_before_the_configured_one(start_daemon, tmp_path):
    config = tmp_path / "conf"
    config.write_text(
        "[sandbox]\nenv_names = TZ\n[isolation]\nenv_allow = TZ=UTC\nenv_allow = TZX=1\n"
    )
    env = argv("/usr/bin/env", "-0")
    with start_daemon(config=config).connect() as client:
        assert environment(client.run(env)) == sorted([*SCRUBBED, "TZ=UTC", "TZX=1"])
        got = environment(client.run({**env, "env": {"TZ": "CET"}}))
        assert got == sorted([*SCRUBBED, "TZ=CET", "TZX=1"])


# --- denied requests -----------------------------------------------------------------------------

NOT_A_VARIABLE = "the configuration does not allow this variable (env_names of [sandbox])"
DENIED = [
    (argv("/bin/true", env={"LD_PRELOAD": "/x"}), f"job.env.LD_PRELOAD: {NOT_A_VARIABLE}"),
    (argv("/bin/true", env={"PATH": "/x"}), f"job.env.PATH: {NOT_A_VARIABLE}"),
    (argv("/bin/true", env={"USER": "x"}), f"job.env.USER: {NOT_A_VARIABLE}"),
    (
        argv("/bin/true", limits={"allow_network": True}),
        "job.limits.allow_network: the configuration does not allow it "
        "(allow_network of [sandbox])",
    ),
    (
        argv("/bin/true", readable=["/etc"]),
        "job.readable[0]: /etc is under no root that the configuration allows",
    ),
    (
        argv("/bin/true", readable=["/no/such"]),
        "job.readable[0]: /no/such is under no root that the configuration allows",
    ),
]

BAD = [
    (argv("true"), 'job.argv[0]: "true" is not an absolute path'),
    (argv(), "job.argv: expected 1 to 60 strings, got 0"),
    ({"kind": "sandbox"}, "job: expected exactly one of argv, snippet, generation and steps"),
    (argv("/bin/true", snippet="x"), "job: expected exactly one of argv, snippet, generation and steps"),
    ({"kind": "sandbox", "snippet": "x", "runner": "perl"},
     'job.runner: unknown runner "perl"; there are shell and python'),
    (argv("/bin/true", cwd="/"), "job.cwd: unknown field"),
    (argv("/bin/true", files={"../x": ""}),
     "job.files.../x: expected a relative name without empty, . and .. parts, at most 1023 bytes, "
     "255 in a part"),
    (argv("/bin/true", files={"a": {"base64": "!"}}),
     "job.files.a.base64: not base64 (RFC 4648, with padding)"),
    (argv("/bin/true", limits={"wall_clock": 301}),
     "job.limits.wall_clock: above the ceiling of 300 s"),
    (argv("/bin/true", limits={"memory": 1}), "job.limits.memory: unknown field"),
]  # fmt: skip


@pytest.mark.parametrize("job, message", DENIED)
def test_denied(client, job, message):
    check = "LD_" not in message and "PATH" not in message  # the schema of requests excludes these
    assert_error(client.run(job, check=check), "not_permitted", message)
    assert_passed(client.run(argv("/bin/true"), id="next"))


@pytest.mark.parametrize("job, message", BAD)
def test_bad_request(client, job, message):
    assert_error(client.run(job, check=False), "bad_request", message)
    assert_passed(client.run(argv("/bin/true"), id="next"))


# --- limits --------------------------------------------------------------------------------------


def test_limits_in_hello(client):
    limits = client.hello["limits"]
    assert limits["defaults"]["sandbox"] == {**DEFAULTS["sandbox"], "allow_network": False}
    assert limits["ceilings"]["sandbox"] == {**CEILINGS, "allow_network": False}


def test_limits_of_the_configuration(start_daemon):
    daemon = start_daemon(
        "sandbox.wall_clock=1s", "sandbox.max_open_files=33", "sandbox.allow_network=yes"
    )
    with daemon.connect() as client:
        assert client.hello["limits"]["defaults"]["sandbox"]["max_open_files"] == 33
        assert client.hello["limits"]["defaults"]["sandbox"]["allow_network"] is False
        assert client.hello["limits"]["ceilings"]["sandbox"]["allow_network"] is True
        assert client.run(shell("ulimit -n"))["stdout"] == "33\n"
        assert_failed(
            client.run(argv("/bin/sleep", "600")),
            "sandbox.limit_exceeded",
            limit_exceeded="wall_clock",
        )


def test_wall_clock(client):
    result = client.run(shell("echo out; echo err >&2; sleep 600", limits={"wall_clock": 0.3}))
    assert_failed(
        result,
        "sandbox.limit_exceeded",
        exit_code=None,
        signal=int(signal.SIGKILL),
        limit_exceeded="wall_clock",
        stderr="err\n",
        summary="sandbox limit exceeded: wall_clock",
    )
    assert result["stdout"] == "out\n"
    assert result["usage"]["wall_clock_ms"] >= 300


def test_cpu(client):
    result = client.run(shell("while :; do :; done", limits={"cpu": 1}))
    assert_failed(result, "sandbox.limit_exceeded", limit_exceeded="cpu")
    # The kernel counts the limit in ticks but reports precise time.
    assert 500 <= result["usage"]["cpu_ms"] < 5000


def test_output(client):
    result = client.run(shell("yes", limits={"output_bytes": 1000}))
    assert_failed(result, "sandbox.limit_exceeded", limit_exceeded="output")
    assert result["stdout"] == "y\n" * 500


def test_output_as_long_as_allowed(client):
    result = client.run(python("print('x' * 999)", limits={"output_bytes": 1000}))
    assert_passed(result)
    assert result["stdout"] == "x" * 999 + "\n"


def test_disk(client):
    code = "dd if=/dev/zero of=x bs=65536 count=100"
    result = client.run(shell(f"exec {code}", limits={"disk_bytes": 128 << 10}))
    assert_failed(result, "sandbox.limit_exceeded", limit_exceeded="disk")


def test_open_files_and_memory_are_set(client):
    result = client.run(shell("ulimit -n", limits={"max_open_files": 20}))
    assert result["stdout"] == "20\n"
    code = "try: bytearray(300 << 20)\nexcept MemoryError: print('refused')"
    result = client.run(python(code, limits={"memory_bytes": 200 * MIB}))
    assert result["stdout"] == "refused\n"
    assert_passed(result)  # it handled the error


# --- the daemon's view ---------------------------------------------------------------------------


def test_cancel(client):
    client.submit("c", argv("/bin/sleep", "600"))
    assert client.recv()["type"] == "started"
    client.send({"type": "cancel", "id": "c"})
    assert client.recv_answer("c")["code"] == "cancelled"


def test_status_and_log(start_daemon):
    daemon = start_daemon()
    with daemon.connect() as client:
        assert_failed(client.run(shell("echo why >&2; exit 3"), id="bad\n"), "sandbox.failed")
        client.submit("s", argv("/bin/sleep", "600"))
        assert client.recv()["type"] == "started"
        status = client.status()
        (job,) = [slot["job"] for slot in status["slots"] if slot["job"]]
        assert (job["kind"], job["label"]) == ("sandbox", "/bin/sleep")
        assert 110_000 < job["remaining_ms"] <= 120_000
        (failure,) = status["last_failures"]
        assert (failure["kind"], failure["label"], failure["what"], failure["id"]) == (
            "sandbox",
            "/bin/sh",
            "sandbox.failed",
            "bad\n",
        )
        assert status["counters"]["failed"] == 1
        client.send({"type": "cancel", "id": "s"})
        assert client.recv_answer("s")["code"] == "cancelled"
        result = client.run({"kind": "sandbox", "generation": ""})
        assert result["reason"] == "no_code"
        counters = client.status()["counters"]
        assert (counters["results"], counters["passed"], counters["failed"]) == (2, 0, 2)
    assert "/bin/sh: sandbox.failed after" in daemon.log()
    assert "stderr: why" in daemon.log()
    assert "shell snippet: no score: no_code" in daemon.log()


# --- rubricctl -----------------------------------------------------------------------------------


@pytest.fixture
def sandbox(daemon):
    """Runs `rubricctl sandbox`; the test fails if it does not end."""

    def run(*words, stdin=b"", socket=None, **kwargs):
        return subprocess.run(
            [RUBRICCTL, "--socket", socket or daemon.socket, "sandbox", *words],
            input=stdin,
            capture_output=True,
            timeout=DEADLINE,
            **kwargs,
        )

    return run


def test_client_shows_what_the_command_wrote(sandbox):
    done = sandbox("--", "sh", "-c", r"printf 'out\000\033[1m\303\251'; echo err >&2")
    assert done.returncode == 0
    assert done.stdout == b"out\0\x1b[1m\xc3\xa9"
    first, last = done.stderr.splitlines()
    assert first == b"err"
    assert last.startswith(b"rubricctl: ok: ") and b" ms CPU, " in last and last.endswith(b"iB")


@pytest.mark.parametrize(
    "command, status, end",
    [
        ("exit 3", 3, "exit status 3"),
        ("exit 2", 2, "exit status 2"),
        ("exit 255", 255, "exit status 255"),
        ("kill -TERM $$", 143, "signal 15 (SIGTERM)"),
        ("kill -KILL $$", 137, "signal 9 (SIGKILL)"),
    ],
)
def test_client_exits_as_the_command(sandbox, command, status, end):
    done = sandbox("sh", "-c", command)
    assert (done.returncode, done.stdout) == (status, b"")
    assert done.stderr.decode().startswith(f"rubricctl: {end}: ")
    quiet = sandbox("--quiet", "sh", "-c", command)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (status, b"", b"")


def test_client_limits(sandbox):
    done = sandbox("-l", "wall_clock=200ms", "--limit", "output_bytes=1K", "sleep", "600")
    assert done.returncode == 137
    assert done.stderr.startswith(b"rubricctl: sandbox limit exceeded: wall_clock: ")
    assert sandbox("--limit", "max_open_files=40", "sh", "-c", "ulimit -n").stdout == b"40\n"


def test_client_hands_stdin_on(sandbox):
    data = bytes(range(256)) * 100
    done = sandbox("--", "python3", "-c", "import sys; print(sys.stdin.buffer.read().hex())", stdin=data)
    assert bytes.fromhex(done.stdout.decode()) == data
    assert sandbox("cat", stdin="caf\u00e9\n".encode()).stdout == "caf\u00e9\n".encode()


def test_client_does_not_wait_for_a_terminal(daemon):
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminal is available: {error}")
    try:
        done = subprocess.run(
            [RUBRICCTL, "--socket", daemon.socket, "sandbox", "cat"],
            stdin=theirs, capture_output=True, timeout=DEADLINE,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, done.stdout) == (0, b"")


def test_client_env(sandbox):
    code = "echo $TZ $HOME"
    done = sandbox("--env", "TZ=CET", "--env", "HOME", "sh", "-c", code,
                   env={**os.environ, "HOME": "/from/here"})  # fmt: skip
    assert done.stdout == b"CET /from/here\n"


def private(*words):
    """Runs `rubricctl sandbox` with a daemon of its own."""
    command = [RUBRICCTL, "sandbox", "--embedded", "--slots", "1", *words]
    return subprocess.run(command, input=b"", capture_output=True, timeout=DEADLINE, check=False)


def test_client_directory(sandbox, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_text("below\n")
    (tmp_path / "run").write_text("#!/bin/sh\ncat sub/b\n")
    (tmp_path / "run").chmod(0o755)
    done = sandbox("--file", f".={tmp_path}/", "--", "./run")
    assert (done.returncode, done.stdout) == (0, b"below\n"), done.stderr
    done = sandbox("--file", f"d={tmp_path}", "--", "cat", "d/sub/b")
    assert (done.returncode, done.stdout) == (0, b"below\n"), done.stderr


def test_a_private_daemon_reads_what_its_user_says(sandbox):
    """Only what --readable names, and only where the daemon serves nobody else."""
    path = ROOT / "tests" / "data" / "limits.json"
    done = private("--readable", path, "--", "head", "-c", "1", path)
    assert (done.returncode, done.stdout) == (0, b"["), done.stderr
    assert private("--", "cat", path).returncode == 1
    assert sandbox("--readable", path, "--", "cat", path).returncode == 4


def test_client_json(sandbox):
    done = sandbox("--json", "sh", "-c", "echo x; exit 42")
    result = json.loads(done.stdout)
    assert done.returncode == 1, "the exit status is the verdict's, not the command's"
    assert (result["type"], result["stdout"], result["outcome"]["exit_code"]) == ("result", "x\n", 42)
    assert done.stderr == b""
    assert sandbox("--json", "true").returncode == 0
    error = sandbox("--json", "--network", "true")
    assert (error.returncode, json.loads(error.stdout)["code"]) == (4, "not_permitted")


def test_client_no_fail(sandbox):
    assert sandbox("--no-fail", "false").returncode == 0
    assert sandbox("--no-fail", "--json", "false").returncode == 0


@pytest.mark.parametrize(
    "words, status, message",
    [
        ([], 2, "sandbox: COMMAND is missing; see rubricctl sandbox --help"),
        (["--snippet", "x", "true"], 2, "sandbox: give either a COMMAND or --snippet, not both"),
        (["--runner", "python", "true"], 2, "--runner: goes only with --snippet"),
        (["--limt", "x", "true"], 2, "unknown option --limt; did you mean --limit?"),
        (["--limit", "cpu=x", "true"], 2,
         'expected a duration such as 500ms, 1.5s, 30s or 5min (seconds without a unit), got "x"'),
        (["--limit", "cpu=0", "true"], 2, '--limit cpu: expected a value above 0, got "0"'),
        (["--file", "x=/no/such", "true"], 2, "--file: /no/such: No such file or directory"),
        (["no-such-command"], 2, 'there is no "no-such-command" in /usr/bin or /bin'),
        (["/no/such"], 4, "no result: bad_request: job.argv[0]: /no/such: No such file"),
        (["--network", "true"], 4, "no result: not_permitted: job.limits.allow_network: "),
        (["--env", "USER=x", "true"], 4, "no result: not_permitted: job.env.USER: "),
        (["--readable", "/etc", "true"], 4, "no result: not_permitted: job.readable[0]: /etc "),
        (["--limit", "cpu=1h", "true"], 4, "job.limits.cpu: above the ceiling of 300 s"),
    ],
)  # fmt: skip
def test_client_says_what_is_wrong(sandbox, words, status, message):
    done = sandbox(*words)
    assert (done.returncode, done.stdout) == (status, b"")
    assert done.stderr.decode().startswith("rubricctl: ") and message in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_client_without_a_daemon(sandbox, tmp_path):
    done = sandbox("true", socket=tmp_path / "none")
    assert done.returncode == 3
    assert b"none" in done.stderr


def test_client_embedded():
    done = subprocess.run(
        [RUBRICCTL, "sandbox", "--embedded", "--", "printf", "%s", "--help"],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"--help")


def test_client_interrupted(daemon):
    process = subprocess.Popen(
        [RUBRICCTL, "--socket", daemon.socket, "sandbox", "sleep", "600"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with daemon.connect() as client:
        busy = lambda: [s for s in client.status()["slots"] if s["job"]]  # noqa: E731
        wait_until(busy, "the job runs")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE)
        assert process.returncode == 130
        wait_until(lambda: not busy(), "the job is gone")


def test_help_teaches():
    done = subprocess.run([RUBRICCTL, "sandbox", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for word in ("--file", "--limit", "--network", "128 + N", "/usr/bin and /bin", "--json"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "sandbox " in subprocess.run([RUBRICCTL, "--help"], capture_output=True, text=True).stdout


def test_batch_and_run_take_both_kinds(daemon, bench, tmp_path):
    lines = [
        {"id": "r", **bench.job(PASSING)},
        {"id": "s", **shell("echo x")},
        {"id": "f", **shell("exit 1")},
        {"id": "n", "kind": "sandbox", "generation": ""},
    ]
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = subprocess.run(
        [RUBRICCTL, "--socket", daemon.socket, "batch", "--bench-root", bench.root, jobs],
        capture_output=True, text=True, timeout=DEADLINE,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    answers = {message["id"]: message for message in map(json.loads, done.stdout.splitlines())}
    assert answers["r"]["score"]["passed"] and answers["s"]["score"]["passed"]
    assert answers["f"]["score"]["failure_modes"][0]["code"] == "sandbox.failed"
    assert answers["n"]["score"] is None
    assert "4 jobs: 2 passed, 2 failed, 0 errors" in done.stderr
    assert "1  no_code" in done.stderr

    for line, status, stdout, stderr in (
        (lines[1], 0, '"passed":true', ""),
        (lines[2], 1, '"passed":false', "sandbox.failed (block): exit status 1"),
        (lines[3], 1, "null\n", "the job has no score: no_code"),
    ):
        one = tmp_path / "one.json"
        one.write_text(json.dumps(line))
        done = subprocess.run(
            [RUBRICCTL, "--socket", daemon.socket, "run", one],
            capture_output=True, text=True, timeout=DEADLINE,
        )  # fmt: skip
        assert done.returncode == status
        assert stdout in done.stdout and stderr in done.stderr
