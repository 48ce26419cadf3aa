# SPDX-License-Identifier: MIT
"""Tests of programs are put once for many jobs, and again when the daemon has dropped them."""

import asyncio
import hashlib
import json

import pytest
from conftest import in_thread, run

import rubricd
from rubricd import jobs

DOUBLE = "print(2 * int(input()))"


def make_tests(size, *values):
    """Returns a test for each of VALUES, of SIZE bytes each."""
    return [{"input": f"{n}\n", "output": f"{2 * n}" + " " * size} for n in values]


LARGE, OTHER, SMALL = make_tests(9000, 1), make_tests(9000, 2), make_tests(10, 1)


def program(tests, id=None):
    return jobs.program(DOUBLE, language="python", tests=tests, id=id)


def digest_of(tests):
    return "sha256:" + hashlib.sha256(json.dumps(tests, separators=(",", ":")).encode()).hexdigest()


def expect_put(peer, tests):
    message, digest = peer.recv(), digest_of(tests)
    id = message["id"]
    assert id.startswith(f"{digest}/"), "it names the tests, and which sending of them this is"
    assert message == {"type": "put", "id": id, "digest": digest, "tests": tests}
    return {"type": "stored", "id": id, "digest": digest, "tests": len(tests), "bytes": 1}


def expect_job(peer, tests):
    message = peer.recv()
    assert message["type"] == "submit", message
    assert message["job"]["tests"] == ({"put": digest_of(tests)} if tests is not SMALL else SMALL)
    return message["id"]


def error(id, code, retriable=False):
    return {"type": "error", "id": id, "code": code, "retriable": retriable, "message": f"it is {code}"}


def passed(id):
    outcome = {"success": True, "exit_code": 0, "signal": None, "limit_exceeded": None, "stderr": "", "summary": "ok"}
    usage = {"wall_clock_ms": 1, "cpu_ms": 1, "cpu_wait_ms": 0, "max_rss_bytes": 1, "queue_ms": 0}
    score = {"passed": True, "score": 1, "breakdown": {"tests_passed": 1}, "failure_modes": [], "cost_usd": 0,
             "wall_clock_ms": 1}  # fmt: skip
    isolation = {"class": "subprocess", "layers": [], "digest": "0" * 64}
    return {"type": "result", "id": id, "job_no": 1, "kind": "program", "score": score, "outcome": outcome,
            "usage": usage, "verdict": "pass", "language": {"name": "python"}, "tests": [],
            "isolation": isolation}  # fmt: skip


def serve(daemon_here, submitted, conversation, **options):
    """Submits the jobs SUBMITTED; CONVERSATION(peer), in a thread, is the daemon. Returns the results."""

    async def work():
        accepting = asyncio.ensure_future(in_thread(daemon_here.accept))
        async with rubricd.connect(str(daemon_here.socket), **options) as grader:
            peer = await accepting
            serving = asyncio.ensure_future(in_thread(conversation, peer))
            tasks = [asyncio.ensure_future(grader.submit(job)) for job in submitted]
            found = await asyncio.gather(*tasks, return_exceptions=True)
            await serving
            return found

    return run(work())


def test_many_jobs_put_their_tests_once(daemon_here):
    def conversation(peer):
        stored = expect_put(peer, LARGE)
        first, second = expect_job(peer, LARGE), expect_job(peer, LARGE)
        other = expect_put(peer, OTHER)
        ids = [first, second, expect_job(peer, OTHER), expect_job(peer, LARGE), expect_job(peer, SMALL)]
        peer.send(stored, other, *map(passed, ids))

    found = serve(daemon_here, map(program, (LARGE, LARGE, OTHER, LARGE, SMALL)), conversation)
    assert [result.passed for result in found] == [True] * 5


def test_tests_that_the_daemon_has_dropped_are_put_again(daemon_here):
    def conversation(peer):
        stored = expect_put(peer, LARGE)
        peer.send(stored, error(expect_job(peer, LARGE), "tests_not_found"))
        expect_put(peer, LARGE)
        peer.send(stored, passed(expect_job(peer, LARGE)))

    (result,) = serve(daemon_here, [program(LARGE)], conversation, retries=0)
    assert result.passed and result.attempts == 1, "it is no attempt: nothing has run"


def test_a_daemon_that_never_has_them_does_not_keep_the_job(daemon_here):
    def conversation(peer):
        for _ in range(4):
            expect_put(peer, LARGE)
            peer.send(error(expect_job(peer, LARGE), "tests_not_found"))

    (failure,) = serve(daemon_here, [program(LARGE)], conversation, retries=0)
    assert failure.code == "tests_not_found"


def test_jobs_are_answered_with_why_their_tests_were_refused(daemon_here):
    def conversation(peer):
        stored = expect_put(peer, LARGE)
        ids = [expect_job(peer, LARGE), expect_job(peer, LARGE)]
        refusal = error(stored["id"], "bad_request")
        peer.send(refusal, *(error(id, "tests_not_found") for id in ids))

    found = serve(daemon_here, [program(LARGE), program(LARGE)], conversation)
    assert [(failure.code, failure.message) for failure in found] == [("bad_request", "it is bad_request")] * 2


def test_a_daemon_without_room_gets_them_again_later(daemon_here):
    def conversation(peer):
        stored = expect_put(peer, LARGE)
        peer.send(error(stored["id"], "internal", True), error(expect_job(peer, LARGE), "tests_not_found"))
        again = expect_put(peer, LARGE)
        # What follows from the refusal may come when the tests have been sent again.
        late = error(stored["id"], "bad_request")
        peer.send(late, error(expect_job(peer, LARGE), "tests_not_found"))
        peer.send(expect_put(peer, LARGE), passed(expect_job(peer, LARGE)))
        assert again["id"] != stored["id"]

    (result,) = serve(daemon_here, [program(LARGE)], conversation)
    assert result.passed and result.attempts == 2


def test_another_daemon_gets_them_anew(daemon_here):
    def conversation(peer):
        expect_put(peer, LARGE)
        expect_job(peer, LARGE)
        peer.close()
        peer = daemon_here.accept()
        peer.send(expect_put(peer, LARGE), passed(expect_job(peer, LARGE)))

    (result,) = serve(daemon_here, [program(LARGE)], conversation)
    assert result.passed


def test_sets_larger_than_a_frame_and_a_daemon_with_little_room(start_daemon):
    settings = ["protocol.max_frame=64K", "program.put_bytes_per_client=200K", "program.put_bytes=300K"]
    daemon = start_daemon(*settings)
    sets = [make_tests(30000, *range(n, n + 5)) for n in range(3)]  # one fits, two do not
    wrong = jobs.program("n = int(input()); print(2 * n + (n == 6))", language="python", tests=sets[2], id="wrong")
    with rubricd.connect(str(daemon.socket), retries=9) as grader:
        found = list(grader.stream([*(program(tests) for _ in range(4) for tests in sets), wrong], errors="yield"))
        assert [result.id for result in found if not (isinstance(result, rubricd.Result) and result.passed)] == ["wrong"]
        with pytest.raises(rubricd.InvalidJob, match=r"job.tests\[1\]: 70\d+ bytes; the daemon takes at most 65536"):
            grader.submit(program([*make_tests(9000, 1), *make_tests(70000, 2)]))
