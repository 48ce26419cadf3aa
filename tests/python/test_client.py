# SPDX-License-Identifier: MIT
"""Jobs of every kind, with async and without, against a real daemon."""

import asyncio
import json
import re
import os
import signal
import threading

import pytest
import rubricd
from conftest import BENCH, ROOT, event, in_thread, run, shell, wait_until
from processes import is_alive
from rubricd import jobs

ADD = "def add(a, b):\n    return a + b\n"
TESTS = ["assert add(2, 3) == 5", "assert add(0, 0) == 0"]
SCORE = 'import json\nprint(json.dumps({"passed": False, "score": 0.25, "breakdown": {"exact": 0}}))\n'


def connect(daemon, **options):
    return rubricd.connect(str(daemon.socket), **options)


def test_each_kind_with_async(daemon, bench):
    async def work():
        async with connect(daemon) as grader:
            assert grader.hello["software"] == "rubricd"
            return await asyncio.gather(
                grader.code(ADD, tests=TESTS),
                grader.code(ADD, tests="def check(f):\n    assert f(1, 1) == 3\n", entry_point="add"),
                grader.rubric(bench.rubric(SCORE), {"x": [1]}, {"answer": "ä"}, bench_root=str(bench.root)),
                grader.program("print(int(input()) + 1)", language="python", tests=[("1\n", "2\n"), (b"2\n", "2\n")]),
                grader.run(["/bin/sh", "-c", "cat in; echo 1 > out; exit 3"], files={"in": b"\xff"}, collect=["out"]),
            )

    passed, failed, rubric, program, ran = run(work())
    assert (passed.kind, passed.passed, passed.score, passed.why) == ("code_exec", True, 1, "")
    assert [each.passed for each in passed.assertions] == [True, True]
    assert (failed.passed, failed.score, failed.verdict) == (False, 0, "assertion_fail")
    assert "got 2, expected 3" in failed.why
    assert (rubric.passed, rubric.score, rubric.breakdown) == (False, 0.25, {"exact": 0})
    assert [test.verdict for test in program.tests] == ["pass", "wrong_answer"]
    assert program.tests[1].difference.expected == "2" and program.tests[1].difference.got == "3"
    assert (ran.passed, ran.outcome.exit_code, ran.stdout) == (False, 3, "\ufffd")
    assert ran.files["out"].content == b"1\n"
    assert ran.isolation.digest == passed.isolation.digest and ran.usage.wall_clock_ms > 0
    with pytest.raises(AttributeError):
        ran.passed = True


def test_the_same_without_async(daemon):
    with connect(daemon) as grader:
        assert grader.code(ADD, tests=TESTS).passed
        assert grader.run(["/bin/echo", "hi"]).stdout == "hi\n"
        assert grader.program("print(1)", language="python", tests=[("", "1")]).verdict == "pass"
        found = list(grader.stream(shell(f"echo {n}", id=f"j{n}") for n in range(600)))
        assert sorted(r.id for r in found) == sorted(f"j{n}" for n in range(600))
        assert all(r.stdout == f"{r.id[1:]}\n" for r in found)
    with pytest.raises(rubricd.NoDaemon, match="closed"):
        grader.run(["/bin/true"])


def test_threads_share_a_grader(daemon):
    found = []
    with connect(daemon) as grader:
        threads = [threading.Thread(target=lambda: found.append(grader.code(ADD, tests=TESTS))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 8 and all(result.passed for result in found)


def test_a_private_daemon():
    with rubricd.connect(embedded=True, slots=1) as grader:
        assert grader.hello["limits"]["slots"] == 1
        assert grader.run(["/bin/echo", "hi"]).stdout == "hi\n"
        pid = grader._grader._engine._private.process.pid
    wait_until(lambda: not is_alive(pid), "the daemon ended")


def test_a_private_daemon_that_dies():
    async def work():
        async with rubricd.connect(embedded=True, slots=1) as grader:
            await grader.run(["/bin/true"])
            waiting = asyncio.ensure_future(grader.submit(shell("sleep 600")))
            await event(lambda: grader._engine._in_flight == 1, "it was sent")
            os.kill(grader._engine._private.process.pid, signal.SIGKILL)
            await waiting

    with pytest.raises(rubricd.NoDaemon, match="killed by SIGKILL"):
        run(work())


def test_an_error_says_which_and_whether_to_try_again(daemon):
    with connect(daemon) as grader:
        with pytest.raises(rubricd.JobError) as caught:
            grader.submit({"kind": "sandbox", "argv": ["/no/such"], "id": "mine"})
        error = caught.value
        assert (error.code, error.retriable, error.id) == ("bad_request", False, "mine")
        assert "/no/such" in error.message and str(error).startswith("bad_request: ")
        with pytest.raises(rubricd.JobError, match="job.colour"):
            grader.submit({"kind": "sandbox", "argv": ["/bin/true"], "colour": 1})


def test_a_stream_raises_or_hands_out_errors(daemon):
    mixed = [shell("true", id="good"), {"kind": "sandbox", "argv": ["/no/such"]}, shell("true", stdin={1})]
    with connect(daemon) as grader:
        found = {answer.id: answer for answer in grader.stream(mixed, errors="yield")}
        assert found["good"].passed
        assert isinstance(found["1"], rubricd.JobError) and "/no/such" in str(found["1"])
        assert isinstance(found["2"], rubricd.InvalidJob) and found["2"].path == "job.stdin"
        with pytest.raises(rubricd.JobError, match="/no/such"):
            list(grader.stream(mixed[:2]))
        with pytest.raises(ValueError, match="errors"):
            list(grader.stream([], errors="ignore"))
        assert grader.run(["/bin/true"]).passed, "the grader goes on"


def test_a_source_with_async_and_one_that_fails(daemon):
    async def source(n, fails=False):
        for place in range(n):
            await asyncio.sleep(0)
            yield shell(f"echo {place}")
        if fails:
            raise OSError("the disk is gone")

    async def work():
        async with connect(daemon) as grader:
            found = [result async for result in grader.stream(source(20))]
            assert sorted(int(r.id) for r in found) == list(range(20))
            assert all(r.stdout == f"{r.id}\n" for r in found)
            async for _ in grader.stream(source(5, fails=True)):
                pass

    with pytest.raises(OSError, match="the disk is gone"):
        run(work())


def states(daemon):
    with daemon.connect() as client:
        status = client.status()
    return [slot["state"] for slot in status["slots"]], status["queue"]["jobs"]


def test_a_cancelled_task_cancels_its_job(daemon):
    """One that runs, and those that wait in the queue behind it."""

    async def work():
        async with connect(daemon) as grader:
            tasks = [asyncio.ensure_future(grader.submit(shell("sleep 600"))) for _ in range(5)]
            while "busy" not in (await in_thread(states, daemon))[0]:
                await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(each, asyncio.CancelledError) for each in ended)
            while await in_thread(states, daemon) != (["idle"] * 2, 0):
                await asyncio.sleep(0.01)
            assert (await grader.run(["/bin/true"])).passed

    run(work())


def test_a_stream_that_is_left_cancels_its_jobs(daemon):
    def endless():
        yield shell("true")
        while True:
            yield shell("sleep 600")

    async def work():
        async with connect(daemon, window=8) as grader:
            async for result in grader.stream(endless()):
                assert result.passed
                break
            await event(lambda: not grader._engine.pending, "nothing is in flight")

    run(work())
    with connect(daemon, window=8) as grader:
        for result in grader.stream(endless()):
            assert result.passed
            break
        wait_until(lambda: not grader._grader._engine.pending, "nothing is in flight")


REFUSED = [
    (float("nan"), "job.case.x[3]", "nan is no number"),
    (float("inf"), "job.case.x[3]", "inf is no number"),
    ("a\ud800", "job.case.x[3]", "lone surrogate (U+D800) at 1"),
    ({1, 2}, "job.case.x[3]", "a set is no value"),
    (b"bytes", "job.case.x[3]", "a bytes is no value"),
    ({1: 2}, "job.case.x[3]", "the key 1 is a int, not a string"),
    ({"a b": {"c": object()}}, 'job.case.x[3]["a b"].c', "a object is no value"),
    ({"a\0": 1}, "job.case.x[3]", "has a NUL"),
    ({"\udfff": 1}, "job.case.x[3]", "lone surrogate"),
    (2**63, "job.case.x[3]", "does not fit into 64 bits"),
    (-(2**63) - 1, "job.case.x[3]", "does not fit into 64 bits"),
]


@pytest.mark.parametrize("value, path, why", REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_what_json_cannot_hold_is_not_sent(daemon_here, value, path, why):
    job = jobs.rubric("x", {"x": [0, 1, 2, value]}, {})

    async def work():
        accepting = asyncio.ensure_future(in_thread(daemon_here.accept))
        async with rubricd.connect(str(daemon_here.socket)) as grader:
            peer = await accepting
            with pytest.raises(rubricd.InvalidJob) as caught:
                await grader.submit(job)
            assert caught.value.path == path and why in str(caught.value)
            waiting = asyncio.ensure_future(grader.submit(shell("true", id="fine")))
            message = await in_thread(peer.recv)
            assert message["id"].endswith(":fine"), "the first that was sent"
            waiting.cancel()

    run(work())


def test_depth_and_size_are_bounded(daemon):
    deep = []
    for _ in range(300):
        deep = [deep]
    with connect(daemon) as grader:
        with pytest.raises(rubricd.InvalidJob, match="more than 200 levels"):
            grader.rubric("x", {"x": deep}, {})
        with pytest.raises(rubricd.InvalidJob, match="the daemon takes at most 16777216"):
            grader.run(["/bin/true"], stdin="x" * (17 << 20))


def test_what_json_can_hold_arrives(daemon, bench):
    case = {"x": [2**63 - 1, -(2**63), 0.1, True, None, "\0 ä 𝄞", {"": []}], "t": (1, 2)}
    echo = (
        "import json, sys\n"
        'seen = json.dumps(json.load(sys.stdin)["case"])\n'
        'mode = {"code": "seen", "severity": "info", "detail": seen}\n'
        'print(json.dumps({"passed": True, "score": 1, "failure_modes": [mode]}))\n'
    )
    with connect(daemon) as grader:
        result = grader.rubric(bench.rubric(echo), case, {}, bench_root=str(bench.root))
    assert json.loads(result.failure_modes[0].detail) == {**case, "t": [1, 2]}


@pytest.mark.parametrize(
    "options, why",
    [
        ({"socket": "/x", "embedded": True}, "an embedded daemon has none"),
        ({"slots": 2}, "embedded=True"),
        ({"bench_root": "/no/such"}, "bench_root: /no/such is no directory"),
        ({"bench_root": "/no/such", "embedded": True}, "bench_root: /no/such is no directory"),
        ({"window": 0}, "window"),
        ({"embedded": True, "slots": 0}, "^slots: expected a number from 1 to 1024, got 0$"),
        ({"embedded": True, "slots": 1025}, "^slots: expected a number from 1 to 1024, got 1025$"),
        ({"retries": -1}, "retries"),
    ],
)
def test_options_that_contradict(options, why):
    with pytest.raises(ValueError, match=why):
        rubricd.connect(**options)


def test_no_daemon_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("RUBRICD_SOCKET", str(tmp_path / "none"))
    with pytest.raises(rubricd.NoDaemon, match=f"no rubricd at {tmp_path}/none: start the service"):
        rubricd.connect().__enter__()
    with pytest.raises(rubricd.NoDaemon, match=r"or let connect\(embedded=True\) start a private daemon$"):
        rubricd.connect().__enter__()
    monkeypatch.setenv("RUBRICD", "/no/such/rubricd")
    with pytest.raises(rubricd.NoDaemon, match="RUBRICD=/no/such/rubricd cannot be executed"):
        rubricd.connect(embedded=True).__enter__()


def test_a_private_daemon_that_cannot_start_says_where_it_tells_why(capfd):
    with pytest.raises(rubricd.NoDaemon, match="^the private rubricd is gone: exit status 78; why, it has written to standard error$"):
        rubricd.connect(embedded=True, config="/no/such.conf").__enter__()
    assert "/no/such.conf: cannot be opened" in capfd.readouterr().err


def test_a_bench_of_the_connection(daemon, bench):
    """As `rubricctl -b`: for rubrics that name none."""
    own = {"task_class": bench.rubric(SCORE), "case": {}, "harness_output": {}}
    with connect(daemon, bench_root=str(BENCH)) as grader:
        assert grader.rubric("exact-match", {"answer": "4"}, {"answer": "4"}).passed
        assert grader.rubric(**own, bench_root=str(bench.root)).score == 0.25
        line = {"kind": "rubric", "bench_root": None, **own, "task_class": "exact-match"}
        assert [each.kind for each in grader.stream([line])] == ["rubric"]


def test_a_rubric_without_a_bench(daemon):
    with connect(daemon) as grader:
        with pytest.raises(rubricd.JobError) as caught:
            grader.rubric("exact-match", {}, {})
    assert caught.value.message == (
        "job.bench_root: missing, and the configuration has no [rubric] bench_root; "
        "name the bench with connect(bench_root=...), or with bench_root in the job"
    )


@pytest.mark.parametrize(
    "job, message",
    [
        ({"kind": "sandbx", "argv": ["x"]}, 'job.kind: unknown kind "sandbx"; did you mean sandbox?'),
        ({"kind": "sandbox", "argvs": ["x"]}, "job.argvs: unknown field; did you mean argv?"),
        ({"kind": "code_exec", "code": "", "target": ["x"]}, "job.target: unknown field; did you mean targets?"),
        ({"kind": "sandbox", "argv": ["/x"], "limits": {"cpus": 1}}, "job.limits.cpus: unknown field; did you mean cpu?"),
        ({"kind": "sandbox", "argv": ["/x"], "qqq": 1}, "job.qqq: unknown field"),
        ({"kind": "sandbox", "argv": ["/x"], "files": {"a": {"texts": ""}}}, "job.files.a"),
    ],
)
def test_the_field_that_was_meant(daemon, job, message):
    with connect(daemon) as grader:
        with pytest.raises(rubricd.JobError) as caught:
            grader.submit(job)
    said = caught.value.message
    assert said == message or ("files" in message and said.startswith(message) and "mean" not in said)


@pytest.mark.parametrize(
    "make, path",
    [
        (lambda: jobs.run("echo hi"), "job.argv"),
        (lambda: jobs.sandbox(argv=b"echo hi"), "job.argv"),
        (lambda: jobs.sandbox("x", collect="out"), "job.collect"),
        (lambda: jobs.program("x", language="c", tests=[], collect="out"), "job.collect"),
    ],
)
def test_a_string_is_no_list_of_strings(make, path):
    """It was sent letter by letter."""
    with pytest.raises(rubricd.InvalidJob, match=f"{path}: expected a list of strings, got b?'") as caught:
        make()
    assert caught.value.path == path


PAIR = r"expected a pair \(input, output\) or a dictionary, got "


@pytest.mark.parametrize(
    "tests, path, why",
    [
        (["33"], "job.tests[0]", PAIR + "'33'"),
        ([("1", "2"), "1 2\n"], "job.tests[1]", PAIR),
        ([b"33"], "job.tests[0]", PAIR + "b'33'"),
        ([("1 2\n",)], "job.tests[0]", PAIR),
        ([("1", "2", "3")], "job.tests[0]", PAIR),
        ([{"1", "2"}], "job.tests[0]", PAIR),
        ([None], "job.tests[0]", PAIR + "None"),
        ("33", "job.tests", "expected a list of tests, got '33'"),
        ({"33": "99"}, "job.tests", "expected a list of tests, got {'33': '99'}"),
        (None, "job.tests", "expected a list of tests, got None"),
    ],
)
@pytest.mark.parametrize("call", [None, "f"])
def test_what_is_no_test_of_a_program(tests, path, why, call):
    """Two characters were an input and an output, and so were the characters of a key."""
    with pytest.raises(rubricd.InvalidJob, match=f": {why}") as caught:
        jobs.program("x", language="python", tests=tests, call=call)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "tests, path, why",
    [
        (b"assert x", "job.tests", "expected a text or a list of texts, got b'assert x'"),
        ({"assert x": 1}, "job.tests", "expected a text or a list of texts, got {"),
        (None, "job.tests", "expected a text or a list of texts, got None"),
        (["assert x", ["assert y"]], "job.tests[1]", "expected a text, got ["),
    ],
)
def test_what_is_no_test_of_code(tests, path, why):
    with pytest.raises(rubricd.InvalidJob, match=re.escape(f": {why}")) as caught:
        jobs.code("x", tests=tests)
    assert caught.value.path == path


def test_a_grader_sends_nothing_that_is_no_test(daemon):
    async def work():
        async with connect(daemon) as grader:
            with pytest.raises(rubricd.InvalidJob, match=r"^bad_request: job.tests\[0\]: expected a pair"):
                await grader.program("print(3)", language="python", tests=["33"])
            assert (await grader.program("print(3)", language="python", tests=iter([["", "3"]]))).passed

    run(work())
    with connect(daemon) as grader, pytest.raises(rubricd.InvalidJob, match=r"job.tests\[0\]: expected a pair"):
        grader.program("print(3)", language="python", tests=["33"])


def test_a_list_of_tests_may_be_json():
    """As data sets store it. In Python such a list tests nothing; any other text is one test."""
    for tests in (["assert f()", "assert g()"], ["assert f('[1]')"], []):
        assert jobs.code("x", tests=f" {json.dumps(tests)}\n")["targets"] == tests
    check = "def check(f):\n    assert f()\n"
    assert jobs.code("x", tests=json.dumps([check]), entry_point="f")["targets"] == [check]
    for text in ("assert f()", '["assert f()", 1]', "[f(), g()]", "[", '{"a": "b"}', '"assert f()"', "[" * 100_000):
        assert jobs.code("x", tests=text)["targets"] == [text]


def test_a_command_line_names_its_remedy(daemon):
    with connect(daemon) as grader:
        with pytest.raises(rubricd.InvalidJob, match=r"'echo hi'; for a shell: \[\"/bin/sh\", \"-c\", text\]"):
            grader.run("echo hi")


def test_the_version_is_the_projects():
    text = (ROOT / "meson.build").read_text()
    assert f"version: '{rubricd.__version__}'" in text


# --- output as it comes ----------------------------------------------------------------------------


def test_output_comes_as_it_is_written(daemon):
    async def work():
        said = []
        async with rubricd.connect(str(daemon.socket)) as grader:
            running = asyncio.ensure_future(
                grader.run(["/bin/sh", "-c", "echo one; sleep 1000"], on_output=lambda *piece: said.append(piece))
            )
            await event(lambda: said, "the first line has come")
            assert said == [("stdout", b"one\n")] and not running.done()
            running.cancel()
            await asyncio.wait([running])
            result = await grader.run(["/bin/echo", "x"], on_output=lambda *piece: said.append(piece))
        assert result.stdout == "x\n" and said[1:] == [("stdout", b"x\n")]

    run(work())


def test_output_without_async(daemon):
    said = []
    with rubricd.connect(str(daemon.socket)) as grader:
        result = grader.run(["/bin/sh", "-c", "echo x >&2"], on_output=lambda *piece: said.append(piece))
    assert said == [("stderr", b"x\n")] and result.passed


def test_what_on_output_raises_cancels_the_job(daemon):
    def refuse(stream, data):
        raise ValueError(f"not {data!r}")

    with rubricd.connect(str(daemon.socket)) as grader:
        with pytest.raises(ValueError, match="not b'x"):
            grader.run(["/bin/sh", "-c", "echo x; sleep 1000"], on_output=refuse)
        assert grader.run(["/bin/echo", "on"]).passed
    with daemon.connect() as other:
        wait_until(lambda: not [s for s in other.status()["slots"] if s["job"]], "the first is gone")


def test_an_embedded_daemon_with_a_bench(monkeypatch):
    """Of a relative path, too."""
    monkeypatch.chdir(BENCH.parent)
    with rubricd.connect(embedded=True, slots=1, bench_root=BENCH.name) as grader:
        result = grader.rubric("exact-match", {"question": "2 + 2?", "answer": "4"}, {"answer": "4"})
    assert result.passed
