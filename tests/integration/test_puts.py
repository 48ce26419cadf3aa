# SPDX-License-Identifier: MIT
"""Tests of programs that rubricctl puts once for many jobs, and in parts where they are larger than a
frame: what it sends, and what it makes of a daemon that drops or refuses them."""

import hashlib
import json
import re
import subprocess

import pytest
from batches import Batches, error, result
from conftest import DEADLINE, RUBRICCTL, wait_until

DOUBLE = "print(2 * int(input()))"


@pytest.fixture(name="batches")
def make_batches(tmp_path, daemon_here):
    return Batches(tmp_path, daemon_here.socket)


def make_tests(size, *values):
    """Returns a test for each of VALUES, of SIZE bytes each."""
    return [{"input": f"{n}\n", "output": f"{2 * n}" + " " * size} for n in values]


def program(id, tests, code=DOUBLE, **fields):
    return {"id": id, "kind": "program", "language": "python", "code": code, "tests": tests, **fields}


def digest_of(tests):
    return "sha256:" + hashlib.sha256(json.dumps(tests, separators=(",", ":")).encode()).hexdigest()


def expect_put(peer, tests):
    """Reads a put of TESTS, and returns the answer to it."""
    message = peer.recv()
    digest = digest_of(tests)
    id = message["id"]
    assert re.fullmatch(f"{digest}/[0-9]+", id), "it names the tests, and which sending of them this is"
    assert message == {"type": "put", "id": id, "digest": digest, "tests": tests}
    return {"type": "stored", "id": id, "digest": digest, "tests": len(tests), "bytes": 1}


def expect_job(peer, id, tests):
    message = peer.recv()
    assert (message["type"], message["id"]) == ("submit", id), message
    assert message["job"]["tests"] == {"put": digest_of(tests)}


def lost(id):
    return error(id, "tests_not_found", "job.tests.put: this connection has put no such tests")


def passed(id):
    return {**result(id), "kind": "program"}


LARGE, OTHER, SMALL = make_tests(9000, 1), make_tests(9000, 2), make_tests(10, 1)


def test_many_jobs_put_their_tests_once(batches, daemon_here):
    batches.write(program("a", LARGE), program("b", LARGE), program("c", OTHER), program("d", LARGE), program("e", SMALL))
    process = batches.start()
    peer = daemon_here.accept()
    stored = expect_put(peer, LARGE)
    expect_job(peer, "a", LARGE)
    expect_job(peer, "b", LARGE)
    other = expect_put(peer, OTHER)
    expect_job(peer, "c", OTHER)
    expect_job(peer, "d", LARGE)
    assert peer.recv()["job"]["tests"] == SMALL
    peer.send(stored, other, *map(passed, "abcde"))
    said = batches.end(process)
    assert said == ["5 jobs: 5 passed, 0 failed, 0 errors"] or said[0].startswith("5 jobs: 5 passed"), said


def test_the_digests_of_a_result_are_those_of_the_whole_job(batches, daemon_here):
    batches.write(program("a", LARGE), program("b", OTHER))
    process = batches.start()
    peer = daemon_here.accept()
    for _ in range(4):
        peer.recv()
    peer.send(passed("a"), passed("b"))
    batches.end(process)
    digests = {line["run"]["job_digest"] for line in batches.lines().values()}
    assert len(digests) == 2


def test_samples_of_one_job_have_the_same_tests(batches, daemon_here):
    batches.write(program("a", LARGE))
    process = batches.start("--samples", "3")
    peer = daemon_here.accept()
    expect_put(peer, LARGE)
    for id in ("a", "a#2", "a#3"):
        expect_job(peer, id, LARGE)
    peer.send(passed("a"), passed("a#2"), lost("a#3"))
    expect_put(peer, LARGE)
    expect_job(peer, "a#3", LARGE)
    peer.send(passed("a#3"))
    batches.end(process)
    assert len({line["run"]["job_digest"] for line in batches.lines().values()}) == 1


def test_tests_that_the_daemon_has_dropped_are_put_again(batches, daemon_here):
    batches.write(program("a", LARGE), program("b", LARGE))
    process = batches.start("--retries", "0")
    peer = daemon_here.accept()
    expect_put(peer, LARGE)
    expect_job(peer, "a", LARGE)
    expect_job(peer, "b", LARGE)
    peer.send(passed("a"), lost("b"))
    expect_put(peer, LARGE)
    expect_job(peer, "b", LARGE)
    peer.send(passed("b"))
    batches.end(process)
    assert batches.lines()["b"]["run"]["attempts"] == 1, "it is no attempt: nothing has run"


def test_a_daemon_that_never_has_them_does_not_keep_the_batch(batches, daemon_here):
    batches.write(program("a", LARGE))
    process = batches.start("--retries", "0")
    peer = daemon_here.accept()
    for _ in range(4):
        expect_put(peer, LARGE)
        expect_job(peer, "a", LARGE)
        peer.send(lost("a"))
    batches.end(process, 4)
    assert batches.lines()["a"]["code"] == "tests_not_found"


def test_jobs_are_answered_with_why_their_tests_were_refused(batches, daemon_here):
    batches.write(program("a", LARGE), program("b", LARGE))
    process = batches.start()
    peer = daemon_here.accept()
    stored = expect_put(peer, LARGE)
    expect_job(peer, "a", LARGE)
    expect_job(peer, "b", LARGE)
    why = error(stored["id"], "bad_request", "tests: they take 9 bytes, more than 8", retriable=False)
    peer.send(why, lost("a"), lost("b"))
    batches.end(process, 4)
    lines = batches.lines()
    for id in "ab":
        assert (lines[id]["code"], lines[id]["message"]) == ("bad_request", why["message"])
        assert lines[id]["retriable"] is False and lines[id]["run"]["attempts"] == 1


def test_a_daemon_without_room_gets_them_again_later(batches, daemon_here):
    batches.write(program("a", LARGE))
    process = batches.start()
    peer = daemon_here.accept()
    stored = expect_put(peer, LARGE)
    expect_job(peer, "a", LARGE)
    peer.send(error(stored["id"], "internal", "tests: no room"), lost("a"))
    again = expect_put(peer, LARGE)
    assert again["id"] != stored["id"]
    expect_job(peer, "a", LARGE)
    peer.send(again, passed("a"))
    batches.end(process)
    run = batches.lines()["a"]["run"]
    assert [e["answer"]["message"] for e in run["earlier"]] == ["tests: no room"]


def test_what_follows_from_a_refusal_does_not_count_for_the_next_sending(batches, daemon_here):
    """Of tests in parts, the others are refused since the first one was, and some of these errors come when the
    tests have been sent again."""
    batches.write(program("a", LARGE))
    process = batches.start("--retries", "3")
    peer = daemon_here.accept()
    stored = expect_put(peer, LARGE)
    expect_job(peer, "a", LARGE)
    peer.send(error(stored["id"], "internal", "tests: no room"), lost("a"))
    expect_put(peer, LARGE)
    expect_job(peer, "a", LARGE)
    peer.send(error(stored["id"], "bad_request", "part: 2 of 3", retriable=False), lost("a"))
    again = expect_put(peer, LARGE)
    expect_job(peer, "a", LARGE)
    peer.send(again, passed("a"))
    batches.end(process)
    assert batches.lines()["a"]["type"] == "result"


def test_another_daemon_gets_them_anew(batches, daemon_here):
    batches.write(program("a", LARGE), program("b", LARGE))
    process = batches.start()
    peer = daemon_here.accept()
    expect_put(peer, LARGE)
    expect_job(peer, "a", LARGE)
    expect_job(peer, "b", LARGE)
    peer.send(passed("a"))
    wait_until(lambda: "a" in batches.lines(), "the answer is taken")
    peer.close()
    peer = daemon_here.accept()
    expect_put(peer, LARGE)
    expect_job(peer, "b", LARGE)
    peer.send(passed("b"))
    batches.end(process)


def test_tests_larger_than_a_frame_are_put_in_parts(batches, daemon_here):
    tests = [*make_tests(9000, 1, 2), {"input": '],{"\\\\"', "output": {"base64": ""}}, *make_tests(20000, 3)]
    batches.write(program("a", tests))
    process = batches.start()
    peer = daemon_here.accept(max_frame=20480)
    parts = [peer.recv() for _ in range(2)]
    expect_job(peer, "a", tests)
    assert [(p["digest"], p["part"], p["parts"]) for p in parts] == [(digest_of(tests), i, 2) for i in (1, 2)]
    assert [test for p in parts for test in p["tests"]] == tests
    assert [len(p["tests"]) for p in parts] == [3, 1]
    assert all(len(json.dumps(p, separators=(",", ":"))) <= 20480 for p in parts)
    peer.send(passed("a"))
    batches.end(process)


def test_a_test_larger_than_a_frame_is_refused(batches, daemon_here):
    batches.write(program("a", [*LARGE, *make_tests(30000, 2)]), program("b", SMALL))
    process = batches.start()
    peer = daemon_here.accept(max_frame=20480)
    assert peer.jobs(1) == ["b"]
    peer.send(passed("b"))
    said = batches.end(process, 2)
    assert any("tests[1]: too large: the daemon takes at most 20480 bytes in one message" in line for line in said), said


# --- a real daemon ----------------------------------------------------------------------------------


def test_large_sets_and_a_daemon_with_little_room(start_daemon, tmp_path):
    settings = ["protocol.max_frame=64K", "program.put_bytes_per_client=200K", "program.put_bytes=300K"]
    batches = Batches(tmp_path, start_daemon(*settings).socket)
    sets = [make_tests(30000, *range(n, n + 5)) for n in range(3)]  # one fits, two do not
    jobs = [program(f"{n}.{sample}", tests) for sample in range(4) for n, tests in enumerate(sets)]
    wrong = program("wrong", sets[2], "n = int(input()); print(2 * n + (n == 6))")
    batches.write(*jobs, wrong)
    batches.run("--retries", "9", status=1)
    lines = batches.lines()
    assert [id for id, line in lines.items() if line.get("verdict") != "pass"] == ["wrong"]
    (mode,) = lines["wrong"]["score"]["failure_modes"]
    assert mode["detail"].startswith("test 5 of 5, line 1")


def test_one_job_with_many_tests(start_daemon, tmp_path):
    daemon = start_daemon("protocol.max_frame=64K")
    tests = tmp_path / "tests"
    tests.mkdir()
    for n in range(8):
        (tests / f"{n}.in").write_text(f"{n}\n")
        (tests / f"{n}.out").write_text(f"{2 * n}\n" + "\n" * 15000)
    source = tmp_path / "main.py"
    source.write_text(DOUBLE)

    def run():
        command = [RUBRICCTL, "--socket", daemon.socket, "run-program", source, "--tests", tests]
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)

    done = run()
    assert done.returncode == 0 and done.stdout.endswith("8 of 8 passed\n"), done
    (tests / "3.out").write_text("6\n" + "\n" * 70000)
    done = run()
    assert done.returncode == 2 and "tests[3]: too large" in done.stderr, done


def test_a_job_may_have_an_id_like_that_of_a_put(batches, daemon_here):
    id = f"{digest_of(LARGE)}/1"
    batches.write(program(id, LARGE))
    process = batches.start("--retries", "0")
    peer = daemon_here.accept()
    stored = expect_put(peer, LARGE)
    expect_job(peer, id, LARGE)
    peer.send(stored, error(id, "sandbox_failed", "no jail", retriable=False))
    batches.end(process, 4)
    assert batches.lines()[id]["code"] == "sandbox_failed"
