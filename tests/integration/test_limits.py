# SPDX-License-Identifier: MIT
"""The limits of a job: what a request may set, how the daemon enforces each limit, and what it reports
when a job exceeds one."""

import resource
import signal
import time

import pytest
from conftest import CEILING_WORDS, CEILINGS, DEFAULTS, PASSING, REPORT, Daemon, seen, wait_until

# Seconds in which the daemon must answer a job that a limit stops or that ends by itself. A generous
# bound is enough: without the limit, the jobs would sleep or write for ever.
PROMPT = 60.0
MIB = 1 << 20


def assert_failed(result, code, detail=None):
    """Asserts that the score is a failure with exactly one failure mode."""
    assert result["type"] == "result", result
    mode = {"code": code, "severity": "block"}
    assert result["score"] == {
        "passed": False,
        "score": 0,
        "breakdown": {},
        "failure_modes": [mode if detail is None else {**mode, "detail": detail}],
        "cost_usd": 0,
        "wall_clock_ms": result["usage"]["wall_clock_ms"],
    }


def stopped_by(limit, number, stderr=""):
    """Returns the expected outcome of a job that exceeded LIMIT and died by the signal NUMBER."""
    return {
        "success": False,
        "exit_code": None,
        "signal": int(number),
        "limit_exceeded": limit,
        "stderr": stderr,
        "summary": f"sandbox limit exceeded: {limit}",
    }


@pytest.fixture(scope="module", name="daemon")
def start_shared(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"))
    yield daemon
    assert daemon.stop() == 0, daemon.log()
    assert not any(daemon.work.iterdir()), "the daemon empties its work directory before it exits"


@pytest.fixture(autouse=True)
def promptly():
    """Asserts that each test here ends soon."""
    start = time.monotonic()
    yield
    assert time.monotonic() - start < PROMPT


# Limits in a request

# What a rubric's job may set in `limits`.
HIGHEST = {key: ceiling for key, ceiling in CEILINGS.items() if key != "wall_clock"}

RLIMITS = REPORT + """
import resource
names = "AS", "CPU", "NOFILE", "FSIZE", "CORE", "MEMLOCK", "MSGQUEUE"
report(**{name: resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in names})
"""


def test_hello_tells_the_limits(client):
    assert client.hello["limits"]["defaults"]["rubric"] == DEFAULTS["rubric"]
    assert client.hello["limits"]["ceilings"]["rubric"] == CEILINGS


def test_the_default_limits(client, bench):
    """Soft and hard limits are equal, except that the hard limit of CPU time is a second higher."""
    for job in bench.job(RLIMITS), bench.job(RLIMITS, limits={}), bench.job(RLIMITS, limits=None):
        assert seen(client.run(job)) == {
            "AS": [1024 * MIB] * 2,
            "CPU": [300, 301],
            "NOFILE": [256, 256],
            "FSIZE": [64 * MIB] * 2,
            "CORE": [1, 1],
            "MEMLOCK": [0, 0],
            "MSGQUEUE": [0, 0],
        }


def test_a_request_may_go_up_to_the_ceilings(client, bench):
    got = seen(client.run(bench.job(RLIMITS, limits=HIGHEST)))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert got["AS"] == [4096 * MIB] * 2
    assert got["CPU"] == [300, 301]
    assert got["NOFILE"] == [min(1024, hard)] * 2
    assert got["FSIZE"] == [1024 * MIB] * 2


def test_a_request_may_lower_its_limits(client, bench):
    """They apply to this job alone."""
    limits = {"cpu": 1.5, "memory_bytes": 256 * MIB, "max_open_files": 32, "disk_bytes": 4096}
    got = seen(client.run(bench.job(RLIMITS, limits=limits)))
    assert got["AS"] == [256 * MIB] * 2
    assert got["CPU"] == [2, 3], "the limit is rounded up to whole seconds"
    assert got["NOFILE"] == [32, 32]
    assert got["FSIZE"] == [4096, 4096]
    assert seen(client.run(bench.job(RLIMITS)))["NOFILE"] == [256, 256]


@pytest.mark.parametrize("key", HIGHEST)
def test_a_limit_above_its_ceiling(key, client, bench):
    error = client.run(bench.job(PASSING, limits={key: CEILINGS[key] + 1}))
    assert (error["type"], error["code"], error["retriable"]) == ("error", "bad_request", False)
    assert error["message"] == f"job.limits.{key}: above the ceiling of {CEILING_WORDS[key]}"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ([], "job.limits: expected an object, got an array"),
        ({"cpu": 0}, "job.limits.cpu: expected a number of seconds above 0"),
        ({"cpu": -1}, "job.limits.cpu: expected a number of seconds above 0"),
        ({"cpu": "1"}, "job.limits.cpu: expected a number of seconds above 0"),
        ({"cpu": None}, "job.limits.cpu: expected a number of seconds above 0"),
        ({"cpu": True}, "job.limits.cpu: expected a number of seconds above 0"),
        ({"cpu": 300.001}, "job.limits.cpu: above the ceiling of 300 s"),
        ({"cpu": 1e300}, "job.limits.cpu: above the ceiling of 300 s"),
        ({"memory_bytes": 0}, "job.limits.memory_bytes: expected an integer above 0"),
        ({"memory_bytes": -1}, "job.limits.memory_bytes: expected an integer above 0"),
        ({"memory_bytes": 1e6}, "job.limits.memory_bytes: expected an integer above 0"),
        ({"memory_bytes": "1G"}, "job.limits.memory_bytes: expected an integer above 0"),
        ({"memory_bytes": None}, "job.limits.memory_bytes: expected an integer above 0"),
        ({"disk_bytes": 2**63 - 1}, "job.limits.disk_bytes: above the ceiling of 1 GiB"),
        ({"open_files": 3}, "job.limits.open_files: unknown field"),
        ({"cpu": 1, "nice": 3}, "job.limits.nice: unknown field"),
        (
            {"wall_clock": 3},
            "job.limits.wall_clock: a rubric's is set by job.case.rubric_wall_clock_seconds",
        ),
    ],
)
def test_a_limit_that_is_refused(limits, message, client, bench):
    error = client.run(bench.job(PASSING, limits=limits), check=False)
    assert (error["type"], error["code"]) == ("error", "bad_request")
    assert error["message"] == message


def test_configured_limits_and_ceilings(start_daemon, bench):
    # No kind's default may be above a ceiling.
    others = [kind for kind in DEFAULTS if kind != "rubric"]
    daemon = start_daemon(
        "rubric.max_open_files=20",
        "rubric.disk_bytes=128K",
        "ceilings.output_bytes=1536K",
        "ceilings.memory_bytes=1073741825",
        "ceilings.max_open_files=30",
        "ceilings.cpu=10s",
        "rubric.cpu=5s",
        *[f"{kind}.max_open_files=30" for kind in others],
        *[f"{kind}.cpu=10s" for kind in others],
    )
    with daemon.connect() as client:
        got = seen(client.run(bench.job(RLIMITS)))
        assert (got["NOFILE"], got["FSIZE"], got["CPU"]) == ([20, 20], [128 << 10] * 2, [5, 6])
        got = seen(client.run(bench.job(RLIMITS, limits={"max_open_files": 30, "cpu": 10})))
        assert (got["NOFILE"], got["CPU"]) == ([30, 30], [10, 11])
        for limits, ceiling in (
            ({"max_open_files": 31}, "30"),
            ({"cpu": 11}, "10 s"),
            ({"output_bytes": 1 << 21}, "1536 KiB"),
            ({"memory_bytes": 1 << 31}, "1073741825 bytes"),
        ):
            error = client.run(bench.job(RLIMITS, limits=limits))
            (key,) = limits
            assert error["message"] == f"job.limits.{key}: above the ceiling of {ceiling}"


# Output


@pytest.mark.parametrize("stream", [1, 2])
def test_a_flood(stream, client, bench):
    """A job that writes to either stream at full speed is killed."""
    code = f"import os\nwhile True: os.write({stream}, b'x' * 65536)"
    result = client.run(bench.job(code))
    detail = "limit exceeded: output" if stream == 1 else "x" * 200
    assert_failed(result, "rubric.malformed_output", detail)
    stderr = result["outcome"]["stderr"]
    assert result["outcome"] == stopped_by("output", signal.SIGKILL, stderr)
    assert set(stderr) <= {"x"}
    assert (stream == 2) == (200 < len(stderr)) and len(stderr) <= 64 << 10


def test_a_flood_of_both_streams_by_many(client, bench, daemon):
    code = (
        "import os\n"
        "for _ in range(4): os.fork() or os.setsid()\n"
        "while True: os.write(1, b'o' * 4096); os.write(2, b'e' * 4096)\n"
    )
    result = client.run(bench.job(code))
    assert result["score"]["failure_modes"][0]["code"] == "rubric.malformed_output"
    assert result["outcome"]["limit_exceeded"] == "output"
    assert daemon.descendants() == daemon.jails()


def test_a_flood_of_a_child_that_outlives_nothing(client, bench, daemon):
    """The program sleeps while its child floods; the daemon kills both."""
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    while True: os.write(1, b'x' * 4096)\n"
        "time.sleep(60)\n"
    )
    result = client.run(bench.job(code))
    assert_failed(result, "rubric.malformed_output", "limit exceeded: output")
    assert result["outcome"] == stopped_by("output", signal.SIGKILL)
    assert daemon.descendants() == daemon.jails()


def test_others_do_not_notice_a_flood(client, bench):
    flood = bench.job("import os\nwhile True: os.write(1, b'x' * 65536)")
    client.submit("flood", {**flood, "limits": {"output_bytes": 4 * MIB}})
    client.submit("other", bench.job(PASSING))
    answers = {answer["id"]: answer for answer in (client.recv_answer(), client.recv_answer())}
    assert answers["flood"]["outcome"]["limit_exceeded"] == "output"
    assert answers["other"]["score"]["passed"] is True


# Writes in pieces as many bytes to stdout and stderr as its case says, including a score.
WRITER = """
import json, os, sys, time
case = json.load(sys.stdin)["case"]
score = b'{"passed": true, "score": 1}'
out = score + b" " * (case["out"] - len(score))
err = b"e" * case["err"]
while out or err:
    out, err = out[os.write(1, out[:700]):], err[os.write(2, err[:300]):]
time.sleep(case.get("sleep", 0))
"""


@pytest.mark.parametrize("split", [(1000, 0), (600, 400), (28, 972)])
def test_output_at_its_bound(split, client, bench):
    """A job may write exactly the limit and not one byte more. Both streams count together."""
    name = bench.rubric(WRITER)
    out, err = split
    limits = {"output_bytes": 1000}
    result = client.run(bench.job(name=name, case={"out": out, "err": err}, limits=limits))
    assert result["score"]["passed"] is True, result
    assert result["outcome"]["limit_exceeded"] is None
    for more_out, more_err in ((1, 0), (0, 1)):
        case = {"out": out + more_out, "err": err + more_err, "sleep": 60}
        result = client.run(bench.job(name=name, case=case, limits=limits))
        stderr = result["outcome"]["stderr"]
        assert result["outcome"] == stopped_by("output", signal.SIGKILL, stderr)
        assert set(stderr) <= {"e"}
        assert_failed(result, "rubric.malformed_output", stderr[:200] or "limit exceeded: output")


def test_output_above_its_bound_counts_even_when_the_job_has_ended(client, bench):
    """The daemon may read the last byte only after the exit."""
    name = bench.rubric(WRITER)
    for n in range(20):
        case = {"out": 1001, "err": 0}
        job = bench.job(name=name, case=case, limits={"output_bytes": 1000})
        result = client.run(job, id=f"job-{n}")
        assert_failed(result, "rubric.malformed_output", "limit exceeded: output")
        assert result["outcome"]["limit_exceeded"] == "output"
        assert result["outcome"]["success"] is False


def test_the_default_bound_of_output(client, bench):
    name = bench.rubric(WRITER)
    size = DEFAULTS["rubric"]["output_bytes"]
    assert client.run(bench.job(name=name, case={"out": size, "err": 0}))["score"]["passed"] is True
    case = {"out": size + 1, "err": 0, "sleep": 60}
    assert client.run(bench.job(name=name, case=case))["outcome"] == stopped_by("output", 9)


def test_much_stderr_of_a_failed_rubric(client, bench):
    """All of stderr counts towards the limit; the daemon keeps its beginning."""
    code = "import os; os.write(2, b'x' * 200000); os._exit(1)"
    result = client.run(bench.job(code))
    assert_failed(result, "rubric.malformed_output", "x" * 200)
    assert result["outcome"]["stderr"] == "x" * (64 << 10)
    assert (result["outcome"]["exit_code"], result["outcome"]["limit_exceeded"]) == (1, None)


# Wall clock


IDLERS = {
    "writes nothing": "",
    "closes stdout": "os.close(1)",
    "closes stderr": "os.close(2)",
    "closes everything": "os.closerange(0, 256)",
    "ignores every signal": "for n in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n"
    "    signal.signal(n, signal.SIG_IGN)",
    "blocks every signal": "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
    "stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "stops its group": "os.kill(0, signal.SIGTSTP); os.kill(0, signal.SIGSTOP)",
    "waits for a child": "os.fork() and os.wait()",
    "waits in vain for input": "sys.stdin.read(); os.read(os.pipe()[0], 1)",
    "left a score": "print('{\"passed\": true, \"score\": 1}', flush=True)",
}


@pytest.mark.parametrize("how", IDLERS)
def test_a_rubric_that_does_not_end(how, client, bench, daemon):
    code = f"import os, signal, sys, time\n{IDLERS[how]}\ntime.sleep(60)"
    result = client.run(bench.job(code, case={"rubric_wall_clock_seconds": 0.3}))
    assert_failed(result, "rubric.timeout")
    assert result["outcome"] == stopped_by("wall_clock", signal.SIGKILL)
    assert 300 <= result["usage"]["wall_clock_ms"] < 5000
    assert daemon.descendants() == daemon.jails()


def test_closed_outputs_do_not_end_a_rubric(client, bench):
    """A job ends when it has exited and its output is at end of file, in either order."""
    code = f"import os, sys, time\n{PASSING}sys.stdout.flush(); os.close(1); os.close(2)\n"
    result = client.run(bench.job(code + "time.sleep(0.3)"))
    assert result["score"]["passed"] is True
    assert result["score"]["wall_clock_ms"] >= 300
    result = client.run(bench.job(code + "time.sleep(0.3); os._exit(7)"))
    assert_failed(result, "rubric.malformed_output", "exit status 7")


def test_a_rubric_that_closes_its_stdout_first(client, bench):
    result = client.run(bench.job("import os; os.close(1); os.close(2); os._exit(0)"))
    assert_failed(result, "rubric.malformed_output", "nothing on stdout")


def test_the_clock_starts_with_the_program(client, bench):
    """Twelve jobs of 0.3 s run on two slots. The last ones wait longer than each may run."""
    name = bench.rubric("import time; time.sleep(0.3)\n" + PASSING)
    for n in range(12):
        case = {"rubric_wall_clock_seconds": 1.2}
        client.submit(f"job-{n}", bench.job(name=name, case=case))
    results = [client.recv_answer() for _ in range(12)]
    assert [result["score"]["passed"] for result in results] == [True] * 12
    assert all(300 <= result["usage"]["wall_clock_ms"] < 1200 for result in results)
    assert max(result["usage"]["queue_ms"] for result in results) > 1200


# CPU time


def test_cpu_time(client, bench):
    """SIGXCPU ends one job. The other ignores it, so SIGKILL ends that one."""
    burn = "while True: pass"
    heedless = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
    client.submit("heeds", bench.job(burn, limits={"cpu": 1}))
    client.submit("heedless", bench.job(heedless + burn, limits={"cpu": 1}))
    results = {answer["id"]: answer for answer in (client.recv_answer(), client.recv_answer())}
    for id, number in (("heeds", signal.SIGXCPU), ("heedless", signal.SIGKILL)):
        assert_failed(results[id], "rubric.malformed_output", "limit exceeded: cpu")
        assert results[id]["outcome"] == stopped_by("cpu", number)
        # The kernel enforces sampled time, which differs from the precise time that it reports.
        assert 500 <= results[id]["usage"]["cpu_ms"] < 4000


def test_a_signal_is_no_evidence_of_cpu_time(client, bench):
    for number, name in ((signal.SIGXCPU, "SIGXCPU"), (signal.SIGKILL, "SIGKILL")):
        code = f"import os; os.kill(os.getpid(), {int(number)})"
        result = client.run(bench.job(code, limits={"cpu": 1}))
        assert_failed(result, "rubric.malformed_output", f"signal {int(number)} ({name})")
        assert result["outcome"]["limit_exceeded"] is None
        assert result["outcome"]["summary"] == f"signal {int(number)}"


def test_sleeping_takes_no_cpu_time(client, bench):
    code = "import time; time.sleep(1.2)\n" + PASSING
    assert client.run(bench.job(code, limits={"cpu": 1}))["score"]["passed"] is True


# Memory, files, disk


def test_memory(client, bench):
    """The kernel leaves no evidence: an allocation in the rubric fails, and stderr shows the error."""
    allocate = "block = bytearray(200 << 20)\n"
    assert client.run(bench.job(allocate + PASSING))["score"]["passed"] is True

    limits = {"memory_bytes": 128 * MIB}
    caught = f"try: {allocate}except MemoryError: {PASSING}"
    assert client.run(bench.job(caught, limits=limits))["score"]["passed"] is True

    result = client.run(bench.job(allocate + PASSING, limits=limits))
    assert result["score"]["failure_modes"][0]["code"] == "rubric.malformed_output"
    outcome = result["outcome"]
    assert (outcome["exit_code"], outcome["signal"], outcome["limit_exceeded"]) == (1, None, None)
    assert outcome["summary"].endswith("MemoryError")


def test_open_files(client, bench):
    """A job cannot open more files, or raise the limit itself."""
    code = REPORT + """
import errno, resource
try: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); raised = True
except ValueError: raised = False
last = 0
try:
    while True: last = os.open("/dev/null", os.O_RDONLY)
except OSError as error: number = error.errno
os.closerange(3, last + 1)
report(last=last, error=errno.errorcode[number], raised=raised)
"""
    got = seen(client.run(bench.job(code, limits={"max_open_files": 20})))
    assert got["last"] == 19
    assert got["error"] == "EMFILE"
    assert got["raised"] is False


FILE = """
import os, signal
fd = os.open("file", os.O_CREAT | os.O_WRONLY)
def fill(size):
    while size > 0: size -= os.write(fd, bytes(min(size, 1 << 16)))
"""


def test_disk(client, bench):
    """One file may be as large as the whole directory may be. SIGXFSZ proves that the limit was exceeded."""
    limits = {"disk_bytes": 100000}
    result = client.run(bench.job(FILE + "fill(100000)\n" + PASSING, limits=limits))
    assert result["score"]["passed"] is True

    # Unlike most programs Python ignores SIGXFSZ, so its write fails instead.
    caught = f"try: fill(100001)\nexcept OSError as error: assert error.errno == 27\n{PASSING}"
    assert client.run(bench.job(FILE + caught, limits=limits))["score"]["passed"] is True

    killed = "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nfill(100001)\n" + PASSING
    result = client.run(bench.job(FILE + killed, limits=limits))
    assert_failed(result, "rubric.malformed_output", "limit exceeded: disk")
    assert result["outcome"] == stopped_by("disk", signal.SIGXFSZ)


def test_limits_that_are_too_low_to_start_with(client, bench):
    """The client is at fault, so the answer is a verdict or an error that is not retriable."""
    for key, value in (
        ("memory_bytes", 1),
        ("memory_bytes", MIB),
        ("max_open_files", 1),
        ("max_open_files", 3),
    ):
        answer = client.run(bench.job(PASSING, limits={key: value}))
        if answer["type"] == "result":
            assert answer["score"]["failure_modes"][0]["code"] == "rubric.malformed_output", answer
        else:
            assert answer["retriable"] is False, answer


def test_every_slot_is_idle_in_the_end(client):
    """Runs after all other tests on the shared daemon."""

    def idle():
        return all(slot["state"] == "idle" for slot in client.status()["slots"])

    wait_until(idle, "every slot is idle")
