# SPDX-License-Identifier: MIT
"""Jobs of kind `rubric`: the input of a rubric, the result that follows from its exit and its output,
and the requests that the daemon refuses. One daemon serves most of these tests."""

import hashlib
import json
import os
import signal
from pathlib import Path

import pytest
from conftest import PASSING, REPORT, Daemon, seen, wait_until
from test_rubric_digest import digest_of

# A rubric whose case sets its output, stderr and exit status.
OBEDIENT = """
import json, os, sys
case = json.loads(sys.stdin.read())["case"]
os.write(2, case.get("stderr", "").encode("latin-1"))
sys.stdout.buffer.write(case.get("stdout", "").encode("latin-1"))
sys.stdout.flush()
os._exit(case.get("status", 0))
"""

GOOD = {"passed": True, "score": 1}


def failure(code, detail=None):
    mode = {"code": code, "severity": "block"}
    return mode if detail is None else {**mode, "detail": detail}


def assert_failed(result, mode):
    """Asserts that the score is a failure with exactly one failure mode."""
    assert result["type"] == "result", result
    assert result["score"] == {
        "passed": False,
        "score": 0,
        "breakdown": {},
        "failure_modes": [mode],
        "cost_usd": 0,
        "wall_clock_ms": result["usage"]["wall_clock_ms"],
    }
    assert result["score"]["passed"] is False
    assert result["score"]["wall_clock_ms"] >= 1


def assert_refused(error, code, message):
    assert error["type"] == "error", error
    assert (error["code"], error["message"], error["retriable"]) == (code, message, False)


@pytest.fixture(scope="module", name="daemon")
def start_shared(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"))
    yield daemon
    assert daemon.stop() == 0, daemon.log()
    assert not any(daemon.work.iterdir()), "the daemon empties its work directory before it exits"


@pytest.fixture(name="obey")
def make_obey(client, bench):
    """Returns a function that runs OBEDIENT. The case has bytes as Latin-1."""
    name = bench.rubric(OBEDIENT)

    def obey(stdout=b"", stderr=b"", status=0):
        case = {"stdout": stdout.decode("latin-1"), "stderr": stderr.decode("latin-1")}
        return client.run(bench.job(name=name, case={**case, "status": status}))

    return obey


# The happy path


def test_happy_path(client, bench):
    """Checks every field of `started` and of the result."""
    job = bench.job(
        "import json, sys; _ = json.loads(sys.stdin.read());"
        "out = {'passed': True, 'score': 0.75, 'breakdown': {}, 'failure_modes': [],"
        " 'cost_usd': 0.0, 'wall_clock_ms': 0};"
        "sys.stdout.write(json.dumps(out))",
        output={"any": "thing"},
    )
    client.submit("a job", job)
    started, result = client.recv(), client.recv()
    assert started.keys() == {"type", "id", "job_no", "slot"}
    assert (started["type"], started["id"]) == ("started", "a job")
    assert started["slot"] in (0, 1)  # whichever jail was ready first
    usage = result.pop("usage")
    assert usage["wall_clock_ms"] > 0
    assert result == {
        "type": "result",
        "id": "a job",
        "job_no": started["job_no"],
        "kind": "rubric",
        "score": {
            "passed": True,
            "score": 0.75,
            "breakdown": {},
            "failure_modes": [],
            "cost_usd": 0,
            "wall_clock_ms": usage["wall_clock_ms"],
        },
        "outcome": {
            "success": True,
            "exit_code": 0,
            "signal": None,
            "limit_exceeded": None,
            "stderr": "",
            "summary": "ok",
        },
        "rubric_digest": digest_of(bench.root / job["task_class"]),
        "interpreter": "warm" if client.status()["isolation"]["warm"] else "cold",
        "isolation": client.hello["isolation"],
    }


def test_what_a_score_says_is_kept(obey):
    score = {
        "passed": False,
        "score": 0.30000000000000004,
        "breakdown": {"exact": 0, "negative": -1.5, "large": 1e300, "über": 1e-300, "": 7},
        "failure_modes": [
            {"code": "a", "severity": "block", "detail": "über \u0000 \n \U0001f600"},
            {"code": "b", "severity": "warn"},
            {"code": "", "severity": "info", "detail": ""},
        ],
        "cost_usd": 0.0123,
    }
    result = obey(json.dumps(score).encode())
    wall_clock_ms = result["score"].pop("wall_clock_ms")
    assert result["score"] == score
    assert wall_clock_ms == result["usage"]["wall_clock_ms"]
    assert result["outcome"]["success"] is True, "it ran well, whatever its verdict"


@pytest.mark.parametrize("claimed", [0, 10**9, -5, 2**62])
def test_the_wall_clock_is_the_daemon_s_own(claimed, obey):
    result = obey(json.dumps({**GOOD, "wall_clock_ms": claimed}).encode())
    assert result["score"]["passed"] is True
    assert 0 < result["score"]["wall_clock_ms"] == result["usage"]["wall_clock_ms"] < 10000


@pytest.mark.parametrize("score", [0, 1, 0.0, 1.0, 0.5, 5e-324])
def test_the_ends_of_the_scale(score, obey):
    assert obey(json.dumps({**GOOD, "score": score}).encode())["score"]["score"] == score


@pytest.mark.parametrize("around", [b" %b", b"%b\n", b"\r\n\t %b \n\n"])
def test_white_space_around_a_score(around, obey):
    assert obey(around % json.dumps(GOOD).encode())["score"]["passed"] is True


# The rubric's input

DIGEST_OF_INPUT = REPORT + """
import hashlib
def canonical(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
got = json.loads(sys.stdin.read())
report(keys=sorted(got), case=canonical(got["case"]), output=canonical(got["harness_output"]))
"""


def canonical(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def nested(depth):
    value = "the bottom"
    for n in range(depth):
        value = [value] if n % 2 else {"deeper": value}
    return value


INPUTS = {
    "nothing": {},
    "unicode": {"ключ": "héllo wörld 你好 \U0001f600 \u2028 \ufeff \uffff"},
    "controls": {"text": "".join(map(chr, range(32))) + '\\"/\x7f'},
    "NUL": {"\u0001": "a\u0000b\u0000", "list": ["\u0000", "\u0000\u0000"]},
    "floats": {"x": [1e308, -1e308, 5e-324, 0.1, 1 / 3, 1e15, 12345678.12345678, -0.0, 1.0, 2e22]},
    "integers": {"x": [0, -1, 2**53 + 1, 2**63 - 1, -(2**63)]},
    "literals": {"x": [True, False, None, [], {}, "", [[]], {"": {}}]},
    "190 deep": {"x": nested(190)},
    "other names": {"case": 1, "harness_output": 2, "type": "submit", "id": 3},
    "many keys": {f"key-{n}": n for n in range(10000)},
    "5 MiB": {"text": "0123456789abcdéf" * (5 << 16)},
}


@pytest.mark.parametrize("name", INPUTS)
def test_the_input_arrives_unharmed(name, client, bench):
    """The rubric gets case and harness output as sent. Compared as JSON text, in which 1 and 1.0, and 0.0
    and -0.0, differ."""
    value = INPUTS[name]
    other = {"other": value} if name != "5 MiB" else {}
    got = seen(client.run(bench.job(DIGEST_OF_INPUT, case=value, output=other)))
    assert got == {
        "keys": ["case", "harness_output"],
        "case": canonical(value),
        "output": canonical(other),
    }


def test_the_input_has_an_end_and_cannot_be_changed(client, bench):
    got = seen(
        client.run(
            bench.job(
                REPORT + "text = sys.stdin.read()\n"
                "rest = sys.stdin.read()\n"
                "try: os.write(0, b'x'); wrote = True\n"
                "except OSError: wrote = False\n"
                "report(object=text[0] + text[-1], rest=rest, wrote=wrote)\n"
            )
        )
    )
    assert got == {"object": "{}", "rest": "", "wrote": False}


def test_input_that_is_not_read_does_no_harm(client, bench):
    job = bench.job("import sys; sys.stdin.close()\n" + PASSING, case=INPUTS["5 MiB"])
    result = client.run(job)
    assert result["score"]["passed"] is True


def test_helpers_beside_the_rubric(daemon, client, bench):
    """Both common ways to import them work, and neither leaves bytecode in the bench."""
    name = bench.rubric(
        REPORT + "from _lib import helper\n"
        "sys.path.insert(0, os.path.join(os.path.dirname(__file__), '_lib'))\n"
        "import other\n"
        "report(helper=helper.NAME, other=other.NAME, file=__file__)\n"
    )
    directory = bench.root / name
    (directory / "_lib").mkdir()
    (directory / "_lib" / "helper.py").write_text("NAME = 'helper'\n")
    (directory / "_lib" / "other.py").write_text("NAME = 'other'\n")
    before = sorted(bench.root.rglob("*"))
    assert seen(client.run(bench.job(name=name))) == {
        "helper": "helper",
        "other": "other",
        "file": str((Path("/bench") if daemon.has_view() else bench.root) / name / "rubric.py"),
    }
    assert sorted(bench.root.rglob("*")) == before


# Output that is no BenchScore


def with_field(**fields):
    return json.dumps({**GOOD, **fields}).encode()


def with_mode(**mode):
    return with_field(failure_modes=[{"code": "a", "severity": "info"}, mode])


MALFORMED = [
    (b"", "nothing on stdout"),
    (b" \r\n\t ", "nothing on stdout"),
    (b"[]", "expected an object, got an array"),
    (b"null", "expected an object, got null"),
    (b"true", "expected an object, got a boolean"),
    (b"1", "expected an object, got a number"),
    (b'"{}"', "expected an object, got a string"),
    (b"{}", "passed: missing"),
    (b'{"score": 1}', "passed: missing"),
    (b'{"passed": true}', "score: missing"),
    (with_field(passed=1), "passed: expected a boolean, got a number"),
    (with_field(passed=0), "passed: expected a boolean, got a number"),
    (with_field(passed="yes"), "passed: expected a boolean, got a string"),
    (with_field(passed=None), "passed: expected a boolean, got null"),
    (with_field(score="1"), "score: expected a number, got a string"),
    (with_field(score=True), "score: expected a number, got a boolean"),
    (with_field(score=None), "score: expected a number, got null"),
    (with_field(score=[1]), "score: expected a number, got an array"),
    (with_field(score=1.0000000000000002), "score: expected a number from 0 to 1"),
    (with_field(score=2), "score: expected a number from 0 to 1"),
    (with_field(score=-5e-324), "score: expected a number from 0 to 1"),
    (with_field(score=100), "score: expected a number from 0 to 1"),
    (with_field(breakdown=None), "breakdown: expected an object, got null"),
    (with_field(breakdown=[]), "breakdown: expected an object, got an array"),
    (with_field(breakdown={"a": 1, "b": "x"}), "breakdown.b: expected a number, got a string"),
    (with_field(breakdown={"a": True}), "breakdown.a: expected a number, got a boolean"),
    (with_field(breakdown={"a": None}), "breakdown.a: expected a number, got null"),
    (with_field(breakdown={"a": {"b": 1}}), "breakdown.a: expected a number, got an object"),
    (
        with_field(breakdown={"x" * 99: []}),
        f"breakdown.{'x' * 64}...: expected a number, got an array",
    ),
    (with_field(failure_modes=None), "failure_modes: expected an array, got null"),
    (with_field(failure_modes={}), "failure_modes: expected an array, got an object"),
    (with_field(failure_modes=["a"]), "failure_modes[0]: expected an object, got a string"),
    (with_field(cost_usd=-0.01), "cost_usd: expected a number >= 0"),
    (with_field(cost_usd="free"), "cost_usd: expected a number, got a string"),
    (with_field(wall_clock_ms=1.5), "wall_clock_ms: expected an integer, got a number"),
    (with_field(wall_clock_ms="1"), "wall_clock_ms: expected an integer, got a string"),
    (with_field(Passed=True), "Passed: unknown field"),
    (b"\0", "JSON: NUL at byte 0"),
    (json.dumps(GOOD).encode() + b"\0", "JSON: NUL at byte 28"),
    (json.dumps(GOOD).encode("utf-16"), "JSON: NUL at byte 3"),
    (b'{"a":' * 201 + b"1" + b"}" * 201, "JSON: nested deeper than 200 levels at byte 1000"),
]


MALFORMED_MODES = [
    (with_mode(), "code: missing"),
    (with_mode(code="b"), "severity: missing"),
    (with_mode(code=7, severity="info"), "code: expected a string, got a number"),
    (with_mode(code="b", severity="fatal"), "severity: expected block, warn or info"),
    (with_mode(code="b", severity="Block"), "severity: expected block, warn or info"),
    (with_mode(code="b", severity=""), "severity: expected block, warn or info"),
    (with_mode(code="b", severity="info\0"), "severity: contains a NUL character"),
    (with_mode(code="b", severity=1), "severity: expected a string, got a number"),
    (with_mode(code="b", severity="info", detail=[]), "detail: expected a string, got an array"),
    (with_mode(code="b", severity="info", line=3), "line: unknown field"),
]
MALFORMED += [(stdout, f"failure_modes[1].{detail}") for stdout, detail in MALFORMED_MODES]


@pytest.mark.parametrize(("stdout", "detail"), MALFORMED)
def test_output_that_is_not_a_score(stdout, detail, obey):
    result = obey(stdout, stderr=b"a warning")
    assert_failed(result, failure("rubric.malformed_output", detail))
    assert result["outcome"] == {
        "success": True,
        "exit_code": 0,
        "signal": None,
        "limit_exceeded": None,
        "stderr": "a warning",
        "summary": "ok",
    }


SCORE = json.dumps(GOOD).encode()
NOT_JSON = [
    b"not json",
    b"Score: " + SCORE,
    SCORE + b"\ndone",
    SCORE + SCORE,
    b"\xef\xbb\xbf" + SCORE,
    SCORE[:-1],
    SCORE[:-1] + b",}",
    b"{'passed': True, 'score': 1}",
    b'{"passed": True, "score": 1}',
    b'{"passed": true, "score": 1, "score": 0}',
    b'{"passed": true, "score": NaN}',
    b'{"passed": true, "score": Infinity}',
    b'{"passed": true, "score": 1e999}',
    b'{"passed": true, "score": 1, "wall_clock_ms": 99999999999999999999}',
    b'{"passed": true, "score": 01}',
    b'{"passed": true, "score": .5}',
    b'{"passed": true, "score": 1, "breakdown": {"\xff": 1}}',
    b'{"passed": true, "score": 1, "breakdown": {"\\ud800": 1}}',
]


@pytest.mark.parametrize("stdout", NOT_JSON)
def test_output_that_is_not_json(stdout, obey):
    result = obey(stdout)
    detail = result["score"]["failure_modes"][0]["detail"]
    assert_failed(result, failure("rubric.malformed_output", detail))
    assert detail.startswith("JSON: line 1 column ") or detail.startswith("JSON: line 2 column ")
    assert len(detail) < 200


# A rubric that fails


CUT = {
    "short": b"Traceback: boom\n",
    "200 bytes": b"x" * 200,
    "201 bytes": b"x" * 201,
    "a character that fits": "é".encode() * 150,
    "two bytes cut after one": b"x" + "é".encode() * 150,
    "three bytes cut after one": b"x" + "€".encode() * 100,
    "three bytes cut after two": "€".encode() * 100,
    "four bytes cut after one": b"xxx" + "\U0001f600".encode() * 100,
    "four bytes cut after three": b"x" + "\U0001f600".encode() * 100,
    "not UTF-8": b"\xff\xfe\x80 \xc3( \xe2\x82( \xf0\x9f\x98(",
    "surrogates and overlong": b"\xed\xa0\x80 \xc0\x80 \xe0\x80\x80 \xf4\x90\x80\x80",
    "Latin-1": "naïve café".encode("latin-1"),
    "NUL": b"before\0after\n",
    "blank": b"\n",
}


@pytest.mark.parametrize("name", CUT)
def test_a_non_zero_exit_shows_the_first_200_bytes_of_stderr(name, obey):
    """The daemon ignores a score on stdout in that case."""
    stderr = CUT[name]
    result = obey(SCORE, stderr=stderr, status=3)
    detail = stderr[:200].decode("utf-8", "replace")
    assert_failed(result, failure("rubric.malformed_output", detail))
    outcome = result["outcome"]
    assert (outcome["success"], outcome["exit_code"], outcome["signal"]) == (False, 3, None)
    assert outcome["stderr"] == stderr.decode("utf-8", "replace")
    assert outcome["limit_exceeded"] is None


@pytest.mark.parametrize("status", [1, 2, 3, 127, 128, 137, 255])
def test_a_non_zero_exit_without_stderr(status, obey):
    result = obey(SCORE, status=status)
    assert_failed(result, failure("rubric.malformed_output", f"exit status {status}"))
    assert result["outcome"] == {
        "success": False,
        "exit_code": status,
        "signal": None,
        "limit_exceeded": None,
        "stderr": "",
        "summary": f"exit status {status}",
    }


def test_the_summary_is_the_first_lines_of_stderr(obey):
    """It has at most eight lines, without blank ones."""
    lines = [f"line {n}" for n in range(12)]
    result = obey(stderr="\n\n".join(["  ", *lines]).encode(), status=1)
    assert result["outcome"]["summary"] == "\n".join(lines[:8])


def test_an_exception_in_a_rubric(client, bench):
    result = client.run(bench.job("raise ValueError('no such column')"))
    detail = result["score"]["failure_modes"][0]["detail"]
    assert detail.startswith("Traceback (most recent call last):\n")
    assert_failed(result, failure("rubric.malformed_output", detail))
    assert result["outcome"]["exit_code"] == 1
    assert result["outcome"]["stderr"].endswith("\nValueError: no such column\n")
    assert result["outcome"]["summary"].endswith("\nValueError: no such column")


# Signals that a rubric can send to itself and that end it.
DEADLY = sorted(
    set(range(1, 65))
    - {32, 33}  # reserved by glibc
    - {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
    - {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
    - {signal.SIGXFSZ}  # evidence of a limit
)
SIGNAL_NAMES = {int(s): s.name for s in signal.Signals if s < signal.SIGRTMIN}
SIGNAL_NAMES[signal.SIGPOLL] = "SIGPOLL"  # Python's name for it is SIGIO
KILL_ITSELF = """
import json, os, signal, sys
number = json.load(sys.stdin)["case"]["number"]
if number != signal.SIGKILL:
    signal.signal(number, signal.SIG_DFL)
os.kill(os.getpid(), number)
"""


def test_the_end_by_each_signal(client, bench):
    """Including SIGXCPU and SIGKILL, which alone do not prove that a limit was exceeded."""
    name = bench.rubric(KILL_ITSELF)
    for number in DEADLY:
        result = client.run(bench.job(name=name, case={"number": number}))
        known = SIGNAL_NAMES.get(number)
        detail = f"signal {number} ({known})" if known else f"signal {number}"
        assert_failed(result, failure("rubric.malformed_output", detail))
        assert result["outcome"] == {
            "success": False,
            "exit_code": None,
            "signal": number,
            "limit_exceeded": None,
            "stderr": "",
            "summary": f"signal {number}",
        }


def test_a_segmentation_fault(client, bench):
    result = client.run(bench.job("import ctypes; ctypes.string_at(0)"))
    assert_failed(result, failure("rubric.malformed_output", "signal 11 (SIGSEGV)"))


def test_stderr_before_a_signal_is_kept(client, bench):
    result = client.run(bench.job("import os; os.write(2, b'last words'); os.abort()"))
    assert_failed(result, failure("rubric.malformed_output", "last words"))
    assert result["outcome"]["signal"] == signal.SIGABRT
    assert result["outcome"]["summary"] == "last words"


def test_a_crashing_case_beside_a_passing_one(client, bench):
    """The daemon answers both, in any order."""
    client.submit("crash", bench.job("import os; os.abort()"))
    client.submit("pass", bench.job(PASSING))
    answers = {answer["id"]: answer for answer in (client.recv_answer(), client.recv_answer())}
    assert_failed(answers["crash"], failure("rubric.malformed_output", "signal 6 (SIGABRT)"))
    assert answers["pass"]["score"]["passed"] is True


# stderr and the log


def test_stderr_is_discarded_on_success(client, bench, daemon):
    for passed in "true", "false":
        result = client.run(
            bench.job(
                "import sys; sys.stderr.write('discarded-words')\n"
                f"print('{{\"passed\": {passed}, \"score\": 0}}')"
            )
        )
        assert result["outcome"]["stderr"] == ""
        assert result["outcome"]["summary"] == "ok"
    assert "discarded-words" not in daemon.log()


@pytest.mark.parametrize(
    "ending", ["sys.exit(1)", "os.abort()", "print('nonsense')", "time.sleep(60)"]
)
def test_stderr_is_kept_and_logged_on_failure(ending, client, bench, daemon):
    words = f"kept words of {ending}"
    code = f"import os, sys, time\nos.write(2, {words!r}.encode() + b'\\nline two')\n"
    result = client.run(bench.job(code + ending, case={"rubric_wall_clock_seconds": 0.5}))
    assert result["score"]["passed"] is False
    assert result["outcome"]["stderr"] == words + "\nline two"
    lines = [line for line in daemon.log().splitlines() if words in line]
    assert len(lines) == 1
    assert "line two" in lines[0], "the log has a job's stderr in one line"
    assert f"job {result['job_no']} " in lines[0]


def test_nothing_of_the_input_is_in_the_log(client, bench, daemon):
    for code in PASSING, "import sys; sys.exit(1)":
        client.run(bench.job(code, case={"answer": "private-words"}, output={"x": "private-words"}))
    assert "private-words" not in daemon.log()


# Timeouts


def test_a_timeout(client, bench):
    result = client.run(
        bench.job(
            "import sys, time\nprint('{\"passed\": true, \"score\": 1}', flush=True)\n"
            "sys.stderr.write('so far'); sys.stderr.flush()\ntime.sleep(60)",
            case={"rubric_wall_clock_seconds": 3},  # enough for it to write, also on a busy host
        )
    )
    assert_failed(result, failure("rubric.timeout"))
    assert 3000 <= result["score"]["wall_clock_ms"] < 7700
    assert result["outcome"] == {
        "success": False,
        "exit_code": None,
        "signal": signal.SIGKILL,
        "limit_exceeded": "wall_clock",
        "stderr": "so far",
        "summary": "sandbox limit exceeded: wall_clock",
    }


@pytest.mark.parametrize("seconds", [300, 299.9995, 300.0, 0.001, 1e-9, 5])
def test_a_wall_clock_that_is_accepted(seconds, client, bench):
    code = PASSING if seconds >= 1 else "import time; time.sleep(60)"
    result = client.run(bench.job(code, case={"rubric_wall_clock_seconds": seconds}))
    assert result["type"] == "result", result
    if seconds >= 1:
        assert result["score"]["passed"] is True
    else:
        assert_failed(result, failure("rubric.timeout"))


@pytest.mark.parametrize("seconds", [301, 300.001, 1e9, 1e300, 2**62])
def test_a_wall_clock_above_the_ceiling(seconds, client, bench):
    error = client.run(bench.job(PASSING, case={"rubric_wall_clock_seconds": seconds}))
    path = "job.case.rubric_wall_clock_seconds"
    assert_refused(error, "bad_request", f"{path}: above the ceiling of 300 s")


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        (-1, "negative"),
        (-0.001, "negative"),
        (-300, "negative"),
        ("60", "expected a number of seconds, got a string"),
        (True, "expected a number of seconds, got a boolean"),
        ([60], "expected a number of seconds, got an array"),
        ({}, "expected a number of seconds, got an object"),
    ],
)
def test_a_wall_clock_that_is_refused(seconds, reason, client, bench):
    error = client.run(bench.job(PASSING, case={"rubric_wall_clock_seconds": seconds}), check=False)
    assert_refused(error, "bad_request", f"job.case.rubric_wall_clock_seconds: {reason}")


@pytest.mark.parametrize("seconds", ["absent", None, 0, 0.0, -0.0])
def test_the_default_wall_clock(seconds, client, bench):
    """It is 60 s. `status` shows the time that a running job has left."""
    case = {} if seconds == "absent" else {"rubric_wall_clock_seconds": seconds}
    client.submit("job", bench.job("import time; time.sleep(60)", case=case))
    assert client.recv()["type"] == "started"
    running = [slot["job"] for slot in client.status()["slots"] if slot["job"]]
    assert [job["id"] for job in running] == ["job"]
    assert 50000 < running[0]["remaining_ms"] <= 60000
    client.send({"type": "cancel", "id": "job"})
    assert client.recv_answer("job")["code"] == "cancelled"


def test_the_configured_wall_clock(start_daemon, bench):
    daemon = start_daemon("rubric.wall_clock=300ms", "rubric.wall_clock_ceiling=1500ms")
    with daemon.connect() as client:
        assert client.hello["limits"]["defaults"]["rubric"]["wall_clock"] == 0.3
        assert client.hello["limits"]["ceilings"]["rubric"]["wall_clock"] == 1.5
        name = bench.rubric("import time; time.sleep(60)")
        for n, case in enumerate(({}, {"rubric_wall_clock_seconds": 0.7})):
            result = client.run(bench.job(name=name, case=case))
            assert_failed(result, failure("rubric.timeout"))
            assert (300, 700)[n] <= result["score"]["wall_clock_ms"] < 5000
        error = client.run(bench.job(name=name, case={"rubric_wall_clock_seconds": 1.6}))
        path = "job.case.rubric_wall_clock_seconds"
        assert_refused(error, "bad_request", f"{path}: above the ceiling of 1.5 s")


# The task class's lists


def score_with(breakdown=(), codes=()):
    return {
        **GOOD,
        "breakdown": dict.fromkeys(breakdown, 1),
        "failure_modes": [{"code": code, "severity": "warn", "detail": "x"} for code in codes],
    }


LISTS = [
    # task_class.json, the score, the failure mode if any
    (None, score_with("ab", "cd"), None),
    ({}, score_with("ab", "cd"), None),
    ({"breakdown_keys": None, "failure_modes": None}, score_with("ab", "cd"), None),
    ({"breakdown_keys": ["a", "b"], "failure_modes": ["c", "d"]}, score_with("ab", "cd"), None),
    ({"breakdown_keys": ["a", "b"], "failure_modes": ["c", "d"]}, score_with(), None),
    ({"breakdown_keys": ["b", "a", "b"]}, score_with("ab", "cd"), None),
    ({"failure_modes": ["c", "d"]}, score_with("ab", "cdc"), None),
    ({"description": "of the task class", "breakdown_keys": ["a"]}, score_with("a"), None),
    ({"breakdown_keys": ["a"]}, score_with("ab"), failure("rubric.unknown_breakdown_key", "b")),
    ({"breakdown_keys": ["A"]}, score_with("a"), failure("rubric.unknown_breakdown_key", "a")),
    ({"breakdown_keys": []}, score_with("a"), failure("rubric.unknown_breakdown_key", "a")),
    ({"breakdown_keys": []}, score_with((), "c"), None),
    ({"failure_modes": ["c"]}, score_with("a", "cd"), failure("rubric.unknown_failure_mode", "d")),
    ({"failure_modes": []}, score_with("a", "c"), failure("rubric.unknown_failure_mode", "c")),
    ({"failure_modes": []}, score_with("a"), None),
    (
        {"breakdown_keys": [], "failure_modes": []},
        score_with("a", "c"),
        failure("rubric.unknown_breakdown_key", "a"),
    ),
    (
        {"failure_modes": ["c"]},
        score_with((), ["c\0d"]),
        failure("rubric.unknown_failure_mode", "c\0d"),
    ),
    ({"failure_modes": ["c"]}, score_with((), [""]), failure("rubric.unknown_failure_mode", "")),
    (
        {"breakdown_keys": ["x"]},
        score_with(["schlüssel " * 40]),
        failure("rubric.unknown_breakdown_key", "schlüssel " * 40),
    ),
]


@pytest.mark.parametrize(("lists", "score", "mode"), LISTS)
def test_the_lists_of_a_task_class(lists, score, mode, client, bench):
    code = f"print({json.dumps(score)!r})"
    result = client.run(bench.job(code, task_class=lists))
    if mode is None:
        assert {key: result["score"][key] for key in score} == score
    else:
        assert_failed(result, mode)
        assert result["outcome"]["success"] is True


def test_the_lists_may_change_between_jobs(client, bench):
    name = bench.rubric(f"print({json.dumps(score_with('a'))!r})")
    lists = bench.root / name / "task_class.json"
    outcomes = []
    for text in None, '{"breakdown_keys": []}', '{"breakdown_keys": ["a"]}':
        if text:
            lists.write_text(text)
        outcomes.append(client.run(bench.job(name=name))["score"]["passed"])
    assert outcomes == [True, False, True]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "expected an object, got an array"),
        ('{"breakdown_keys": "a"}', "breakdown_keys: expected an array, got a string"),
        ('{"breakdown_keys": {"a": 1}}', "breakdown_keys: expected an array, got an object"),
        ('{"breakdown_keys": ["a", 1]}', "breakdown_keys[1]: expected a string, got a number"),
        ('{"failure_modes": ["a", "b", null]}', "failure_modes[2]: expected a string, got null"),
        ('{"failure_modes": [["a"]]}', "failure_modes[0]: expected a string, got an array"),
        ('{"description": 1}', "description: expected a string, got a number"),
        ('{"breakdown_key": []}', "breakdown_key: unknown field"),
        ('{"x": ' + "[" * 201 + "]" * 201 + "}", "JSON: nested deeper than 200 levels at byte 205"),
    ],
)
def test_a_malformed_task_class_file(text, reason, client, bench):
    name = bench.rubric(PASSING)
    (bench.root / name / "task_class.json").write_text(text)
    error = client.run(bench.job(name=name))
    assert_refused(error, "bad_request", f"job.task_class: {name}/task_class.json: {reason}")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"{} {}", b'{"failure_modes": [], "failure_modes": []}', b"\xff"]
)
def test_a_task_class_file_that_is_not_json(text, client, bench):
    name = bench.rubric(PASSING)
    (bench.root / name / "task_class.json").write_bytes(text)
    error = client.run(bench.job(name=name))
    assert (error["type"], error["code"]) == ("error", "bad_request")
    where = f"job.task_class: {name}/task_class.json: JSON: line 1 column "
    assert error["message"].startswith(where)


def test_a_task_class_file_that_is_too_large(client, bench):
    name = bench.rubric(PASSING)
    (bench.root / name / "task_class.json").write_text("{}" + " " * (1 << 20))
    error = client.run(bench.job(name=name))
    assert_refused(error, "bad_request", f"job.task_class: {name}/task_class.json: File too large")


def test_a_task_class_file_that_is_no_file(client, bench, tmp_path):
    directory = bench.root / bench.rubric(PASSING, name="t")
    (tmp_path / "outside.json").write_text("{}")
    for make, reason in (
        (lambda path: os.mkfifo(path), "is not a regular file"),
        (lambda path: path.mkdir(), "is not a regular file"),
        (lambda path: path.symlink_to(tmp_path / "outside.json"), "leads out of the bench root"),
        (lambda path: path.symlink_to("../../outside.json"), "leads out of the bench root"),
    ):
        path = directory / "task_class.json"
        make(path)
        error = client.run(bench.job(name="t"))
        assert_refused(error, "not_permitted", f"job.task_class: t/task_class.json {reason}")
        path.rename(tmp_path / "used") if path.is_dir() else path.unlink()


# The system under test


@pytest.mark.parametrize("status", ["exception", "timeout"])
@pytest.mark.parametrize("detail", [None, "", "über\0 \n", "x" * 10000])
def test_a_failed_system_under_test(status, detail, client, bench, tmp_path):
    """The daemon does not run the rubric and sends no `started`."""
    witness = tmp_path / "witness"
    job = bench.job(f"open({str(witness)!r}, 'w')\n{PASSING}", sut={"status": status})
    if detail is not None:
        job["sut"]["detail"] = detail
    client.submit("job", job)
    result = client.recv()
    assert_failed(result, failure(f"sut.{status}", detail))
    assert result["score"]["wall_clock_ms"] == 1
    assert result["outcome"] == {
        "success": False,
        "exit_code": None,
        "signal": None,
        "limit_exceeded": None,
        "stderr": "",
        "summary": "not run: the system under test failed",
    }
    assert result["usage"]["cpu_ms"] == 0
    assert result["isolation"] == client.hello["isolation"]
    assert not witness.exists()


def test_a_failed_system_under_test_needs_no_rubric(client, bench):
    result = client.run(bench.job(name="absent", sut={"status": "timeout"}))
    assert_failed(result, failure("sut.timeout"))


@pytest.mark.parametrize(
    "sut", [None, {}, {"status": "ok"}, {"status": None}, {"status": "ok", "detail": "x"}]
)
def test_a_system_under_test_that_did_not_fail(sut, client, bench):
    assert client.run(bench.job(PASSING, sut=sut))["score"]["passed"] is True


@pytest.mark.parametrize(
    ("sut", "message"),
    [
        ("exception", "job.sut: expected an object, got a string"),
        ({"status": "crashed"}, "job.sut.status: expected ok, exception or timeout"),
        ({"status": "Timeout"}, "job.sut.status: expected ok, exception or timeout"),
        ({"status": 1}, "job.sut.status: expected a string, got a number"),
        ({"status": "timeout\0"}, "job.sut.status: contains a NUL character"),
        ({"status": "timeout", "detail": 1}, "job.sut.detail: expected a string, got a number"),
        ({"status": "timeout", "trace": "x"}, "job.sut.trace: unknown field"),
    ],
)
def test_a_malformed_system_under_test(sut, message, client, bench):
    error = client.run(bench.job(PASSING, sut=sut), check=False)
    assert_refused(error, "bad_request", message)


# Task classes

NOT_A_NAME = "is not a task class name ([A-Za-z0-9][A-Za-z0-9._-]*, at most 255 bytes)"


NO_NAMES = ["../x", "/etc", "", "a/b", ".hidden", ".", "..", "a/../b", "a/", "-x", "_x", "a b"]


@pytest.mark.parametrize("name", [*NO_NAMES, "a\n", "ä", "x" * 256])
def test_a_task_class_that_is_no_name(name, client, bench):
    """The daemon refuses the name although the path that it forms has a rubric."""
    for place in ("x", "b"):
        bench.rubric(PASSING, name=place)
    error = client.run(bench.job(name=name), check=False)
    assert_refused(error, "bad_request", f'job.task_class: "{name[:80]}" {NOT_A_NAME}')


@pytest.mark.parametrize("name", ["a", "0", "A.b-c_d", "a..b", "x" * 255])
def test_a_task_class_with_a_good_name(name, client, bench):
    assert client.run(bench.job(PASSING, name=name))["score"]["passed"] is True


def test_a_task_class_whose_link_leads_out(client, bench, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "rubric.py").write_text(PASSING)
    for n, target in enumerate((outside, "../outside", "x/../../outside", "/", "..")):
        (bench.root / "x").mkdir(exist_ok=True)
        (bench.root / f"link-{n}").symlink_to(target)
        error = client.run(bench.job(name=f"link-{n}"))
        message = f"job.task_class: link-{n}/rubric.py leads out of the bench root"
        assert_refused(error, "not_permitted", message)


def test_a_task_class_whose_link_stays_inside(client, bench):
    bench.rubric(PASSING, name="real")
    (bench.root / "sub").mkdir()
    for n, target in enumerate(("real", "./real", "sub/../real")):
        (bench.root / f"link-{n}").symlink_to(target)
        assert client.run(bench.job(name=f"link-{n}"))["score"]["passed"] is True


def test_a_rubric_that_is_a_link(client, bench, tmp_path):
    bench.rubric(PASSING, name="real")
    (tmp_path / "outside.py").write_text(PASSING)
    targets = "../real/rubric.py", tmp_path / "outside.py", "../../outside.py", "absent.py"
    for n, target in enumerate(targets):
        (bench.root / f"link-{n}").mkdir()
        (bench.root / f"link-{n}" / "rubric.py").symlink_to(target)
    assert client.run(bench.job(name="link-0"))["score"]["passed"] is True
    for n in 1, 2:
        error = client.run(bench.job(name=f"link-{n}"))
        message = f"job.task_class: link-{n}/rubric.py leads out of the bench root"
        assert_refused(error, "not_permitted", message)
    error = client.run(bench.job(name="link-3"))
    message = f"job.task_class: {os.path.realpath(bench.root)} has no link-3/rubric.py"
    assert_refused(error, "rubric_not_found", message)


def test_a_rubric_that_is_no_file(client, bench):
    for name, make in (("directory", os.mkdir), ("fifo", os.mkfifo)):
        (bench.root / name).mkdir()
        make(bench.root / name / "rubric.py")
        error = client.run(bench.job(name=name))
        message = f"job.task_class: {name}/rubric.py is not a regular file"
        assert_refused(error, "not_permitted", message)


def test_a_rubric_that_is_missing(client, bench):
    (bench.root / "empty").mkdir()
    (bench.root / "file").write_text("")
    root = os.path.realpath(bench.root)
    for name, why in (
        ("absent", f"{root} has no absent/rubric.py"),
        ("empty", f"{root} has no empty/rubric.py"),
        ("file", "file/rubric.py: Not a directory"),
    ):
        error = client.run(bench.job(name=name))
        assert_refused(error, "rubric_not_found", f"job.task_class: {why}")


# Bench roots


def test_a_bench_root_that_is_missing(client, bench):
    job = bench.job(PASSING)
    absent = {key: value for key, value in job.items() if key != "bench_root"}
    for job in absent, {**job, "bench_root": None}:
        message = "job.bench_root: missing, and the configuration has no [rubric] bench_root"
        assert_refused(client.run(job), "bad_request", message)


def test_the_configured_bench_root(start_daemon, bench):
    job = bench.job(PASSING)
    with start_daemon(f"rubric.bench_root={bench.root}").connect() as client:
        del job["bench_root"]
        assert client.run(job)["score"]["passed"] is True
        job["bench_root"] = None
        assert client.run(job)["score"]["passed"] is True
        job["bench_root"] = str(bench.root / "absent")
        assert client.run(job)["code"] == "rubric_not_found", "the request's bench root overrides the default"


@pytest.mark.parametrize("root", ["bench", "./bench", "../bench", "", "~/bench"])
def test_a_relative_bench_root(root, client, bench):
    error = client.run({**bench.job(PASSING), "bench_root": root}, check=False)
    assert_refused(error, "bad_request", f'job.bench_root: "{root}" is not an absolute path')


def test_a_bench_root_of_the_wrong_kind(client, bench):
    for root, message in (
        (1, "job.bench_root: expected a string, got a number"),
        ("/tmp\0/x", "job.bench_root: contains a NUL character"),
        ("/" + "x" * 4095, "job.bench_root: longer than 4095 bytes"),
    ):
        error = client.run({**bench.job(PASSING), "bench_root": root}, check=False)
        assert_refused(error, "bad_request", message)


def test_a_bench_root_that_is_not_there(client, bench, tmp_path):
    (tmp_path / "file").write_text("")
    job = bench.job(PASSING)
    for name, reason in (("absent", "No such file or directory"), ("file", "Not a directory")):
        job["bench_root"] = str(tmp_path / name)
        message = f"job.bench_root: {tmp_path / name}: {reason}"
        assert_refused(client.run(job), "rubric_not_found", message)


def test_a_bench_root_must_lie_under_an_allowed_one(start_daemon, bench, tmp_path):
    """The daemon compares real paths, part by part: a common prefix of the text is not enough."""
    job = bench.job(PASSING)
    (bench.root / "nested" / "deeper").mkdir(parents=True)
    (bench.root / "nested" / "deeper" / job["task_class"]).symlink_to(f"../../{job['task_class']}")
    sibling = tmp_path / "bench-of-others"
    sibling.mkdir()
    (sibling / job["task_class"]).mkdir()
    (sibling / job["task_class"] / "rubric.py").write_text(PASSING)
    (bench.root / "way-out").symlink_to(sibling)
    (tmp_path / "way-in").symlink_to(bench.root)
    with start_daemon(f"rubric.allowed_roots=/nonexistent {bench.root}").connect() as client:
        for root in bench.root, f"{bench.root}/", f"{bench.root}//nested/..", tmp_path / "way-in":
            assert client.run({**job, "bench_root": str(root)})["score"]["passed"] is True
        for root in (
            sibling,
            tmp_path,
            "/",
            bench.root / "way-out",
            f"{bench.root}/..",
            f"{bench.root}/../bench-of-others",
        ):
            error = client.run({**job, "bench_root": str(root)})
            message = f"job.bench_root: {root} is not under an allowed root"
            assert_refused(error, "not_permitted", message)


def test_no_allowed_root_allows_none(start_daemon, bench):
    with start_daemon("rubric.allowed_roots=").connect() as client:
        error = client.run(bench.job(PASSING))
        message = f"job.bench_root: {bench.root} is not under an allowed root"
        assert_refused(error, "not_permitted", message)


# Requests


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": None}, "job.kind: expected a string, got null"),
        ({"kind": "rubrik"}, 'job.kind: unknown kind "rubrik"'),
        ({"task_class": None}, "job.task_class: expected a string, got null"),
        ({"task_class": 1}, "job.task_class: expected a string, got a number"),
        ({"task_class": "a\0b"}, "job.task_class: contains a NUL character"),
        ({"case": None}, "job.case: expected an object, got null"),
        ({"case": []}, "job.case: expected an object, got an array"),
        ({"harness_output": "x"}, "job.harness_output: expected an object, got a string"),
        ({"cases": {}}, "job.cases: unknown field"),
        ({"timeout": 3}, "job.timeout: unknown field"),
    ],
)
def test_a_field_of_the_wrong_kind(change, message, client, bench):
    error = client.run({**bench.job(PASSING), **change}, check=False)
    assert_refused(error, "bad_request", message)
    assert client.run(bench.job(PASSING))["score"]["passed"] is True, "the connection stays usable"


@pytest.mark.parametrize("field", ["kind", "task_class", "case", "harness_output"])
def test_a_field_that_is_missing(field, client, bench):
    job = bench.job(PASSING)
    del job[field]
    assert_refused(client.run(job, check=False), "bad_request", f"job.{field}: missing")


def test_refused_jobs_are_not_started(client, bench):
    """The daemon sends no `started` for a job that it refuses."""
    for job in bench.job(name="absent"), {**bench.job(PASSING), "bench_root": "/absent"}:
        client.submit("job", job)
        assert client.recv()["type"] == "error"


def test_every_slot_is_idle_in_the_end(client):
    """Runs after all other tests on the shared daemon."""

    def idle():
        return all(slot["state"] == "idle" for slot in client.status()["slots"])

    wait_until(idle, "every slot is idle")
