# SPDX-License-Identifier: MIT
"""rubricctl batch: what it submits, what it submits again, and what ends it early. Where the order of
messages matters, a stand-in that the test controls replaces the daemon."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
import schema_check
from batches import Batches, complaints, error, result, sandbox, timed_out
from conftest import DEADLINE, PASSING, let_pass, wait_until


@pytest.fixture(name="batches")
def make_batches(tmp_path, daemon_here):
    return Batches(tmp_path, daemon_here.socket)


@pytest.fixture(name="real")
def make_real_batches(tmp_path, daemon):
    return Batches(tmp_path, daemon.socket)


def numbered(count):
    return [sandbox(f"j{n}") for n in range(count)]


def started(id):
    return {"type": "started", "id": id, "job_no": 1, "slot": 0}


def test_the_stand_in_is_like_the_daemon():
    messages = (result("a"), result("a", False), timed_out("a", 1), error("a"), started("a"))
    for message in messages:
        schema_check.validate(message, "daemon")


def test_it_does_not_take_the_processor_from_jobs(batches, daemon_here):
    """It runs under SCHED_BATCH, so that jobs come before its results. A policy that the user chose stays."""
    batches.write(sandbox("a"))
    for policy, expected in ((os.SCHED_OTHER, os.SCHED_BATCH), (os.SCHED_IDLE, os.SCHED_IDLE)):
        process = batches.start("--force", preexec_fn=lambda: os.sched_setscheduler(0, policy, os.sched_param(0)))
        peer = daemon_here.accept()
        assert peer.jobs(1) == ["a"]
        assert os.sched_getscheduler(process.pid) == expected
        peer.send(result("a"))
        batches.end(process)


def waits_of(process):
    """Returns how many times PROCESS has slept so far."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", status, re.MULTILINE).group(1))


def test_it_is_not_woken_while_nothing_is_answered(batches, daemon_here):
    """It polls the daemon only while answers keep coming, then sleeps until one comes."""
    batches.write(*numbered(256))
    process = batches.start("--quiet", "--jobs=256")
    peer = daemon_here.accept()
    ids = peer.jobs(256)
    for n, id in enumerate(ids[:8]):
        peer.send(result(id))
        wait_until(lambda: len(batches.lines()) > n, f"result {n} is written")
    before = waits_of(process)
    let_pass(0.5)
    assert waits_of(process) - before < 20
    peer.send(*map(result, ids[8:]))
    batches.end(process)
    assert len(batches.lines()) == 256


# Errors are retried


def test_errors_are_retried(batches, daemon_here):
    batches.write(*numbered(3))
    process = batches.start()
    peer = daemon_here.accept()
    assert peer.jobs(3) == ["j0", "j1", "j2"]
    peer.send(error("j1"), result("j0"))
    assert peer.jobs(1) == ["j1"], "after a delay, while the others are in flight"
    peer.send(error("j1", "internal"), result("j2"))
    assert peer.jobs(1) == ["j1"]
    peer.send(result("j1"))
    said = batches.end(process)
    assert said[0] == "3 jobs: 3 passed, 0 failed, 0 errors"
    lines = batches.lines()
    assert (lines["j0"]["run"]["attempts"], "earlier" in lines["j0"]["run"]) == (1, False)
    run = lines["j1"]["run"]
    assert run["attempts"] == 3 and lines["j1"]["type"] == "result"
    assert [(e["why"], e["answer"]["code"]) for e in run["earlier"]] == [
        ("error", "sandbox_failed"),
        ("error", "internal"),
    ]
    assert run["earlier"][0]["finished_at"] < run["earlier"][1]["finished_at"] < run["finished_at"]


def test_a_second_answer_does_not_count(batches, daemon_here):
    """While a job waits for another attempt the daemon does not have it, so its answers are ignored."""
    batches.write(*numbered(1))
    process = batches.start()
    peer = daemon_here.accept()
    assert peer.jobs(1) == ["j0"]
    peer.send(error("j0"), error("j0"), result("j0", False), started("j0"))
    assert peer.jobs(1) == ["j0"]
    peer.send(result("j0"))
    said = batches.end(process)
    assert "rubricctl: rubricd: sandbox_failed: the jail is gone" in said[0]
    run = batches.lines()["j0"]["run"]
    assert (run["attempts"], len(run["earlier"])) == (2, 1)


def test_retries_have_an_end(batches, daemon_here):
    batches.write(*numbered(1))
    process = batches.start("--retries", "1")
    peer = daemon_here.accept()
    for _ in range(2):
        assert peer.jobs(1) == ["j0"]
        peer.send(error("j0"))
    said = batches.end(process, 4)
    assert said[0] == "1 job: 0 passed, 0 failed, 1 error", "two attempts count as one job"
    line = batches.lines()["j0"]
    assert (line["type"], line["run"]["attempts"]) == ("error", 2)


@pytest.mark.parametrize(
    "options, again, answer",
    [
        ([], False, error("j0", "rubric_not_found", retriable=False)),
        (["--retry-all-errors"], True, error("j0", "rubric_not_found", retriable=False)),
        (["--retry-all-errors"], False, error("j0", "cancelled", retriable=False)),
        (["--retries", "0"], False, error("j0")),
    ],
)
def test_which_errors_are_retried(batches, daemon_here, options, again, answer):
    batches.write(*numbered(1))
    process = batches.start(*options)
    peer = daemon_here.accept()
    peer.jobs(1)
    peer.send(answer)
    if again:
        assert peer.jobs(1) == ["j0"]
        peer.send(result("j0"))
    batches.end(process, 0 if again else 4)
    assert batches.lines()["j0"]["run"]["attempts"] == 1 + again


def test_jobs_that_wait_for_a_retry_survive_the_daemon(batches, daemon_here):
    batches.write(*numbered(2))
    process = batches.start()
    peer = daemon_here.accept()
    assert peer.jobs(2) == ["j0", "j1"]
    peer.send(error("j0"))
    peer.send(result("j1"))
    wait_until(lambda: "j1" in batches.lines(), "the answers are taken")
    peer.close()
    peer = daemon_here.accept()
    assert peer.jobs(1) == ["j0"], "once"
    peer.send(result("j0"))
    batches.end(process)
    assert peer.recv() is None


@pytest.mark.parametrize("text", ["", "-1", "x", "101", "1.5"])
def test_retries_are_a_number(batches, daemon_here, text):
    batches.write(*numbered(1))
    process = batches.start("--retries", text)
    daemon_here.accept()
    assert complaints(batches.end(process, 2)) == [
        f'--retries: expected a whole number from 0 to 100, got "{text}"'
    ]


# Timeouts that are the host's fault


def test_starved_timeouts_are_run_again_alone(batches, daemon_here):
    """Each runs with nothing else in flight: no earlier job, no later job, no other starved one."""
    batches.write(*numbered(6))
    process = batches.start("--jobs", "4")
    peer = daemon_here.accept()
    assert peer.jobs(4) == ["j0", "j1", "j2", "j3"]
    peer.send(timed_out("j0", wait_ms=500), timed_out("j1", wait_ms=499), timed_out("j2", wait_ms=4000))
    # Two of the four wait for a rerun: the client submits nothing until the last one in flight is answered.
    peer.send(result("j3"))
    assert peer.jobs(1) == ["j0"]
    peer.sock.settimeout(0.3)
    with pytest.raises(TimeoutError):
        peer.sock.recv(1)
    peer.sock.settimeout(DEADLINE)
    peer.send(result("j0"))
    assert peer.jobs(1) == ["j2"]
    peer.send(timed_out("j2", wait_ms=900))
    assert peer.jobs(2) == ["j4", "j5"]
    peer.send(result("j4"), result("j5"))
    said = batches.end(process, 1)
    assert said[0] == "6 jobs: 4 passed, 2 failed, 0 errors"
    lines = batches.lines()
    assert {id: line["run"]["attempts"] for id, line in lines.items()} == {
        "j0": 2, "j1": 1, "j2": 2, "j3": 1, "j4": 1, "j5": 1,
    }  # fmt: skip
    (earlier,) = lines["j0"]["run"]["earlier"]
    assert (earlier["why"], earlier["answer"]) == ("starved", timed_out("j0", wait_ms=500))
    assert lines["j0"]["score"]["passed"] and not lines["j2"]["score"]["passed"]


def test_starved_timeouts_wait_for_the_end(batches, daemon_here):
    batches.write(*numbered(3))
    process = batches.start()
    peer = daemon_here.accept()
    peer.jobs(3)
    peer.send(timed_out("j0", wait_ms=999), error("j1"), result("j2"))
    assert peer.jobs(1) == ["j1"], "retries come before reruns"
    peer.send(result("j1"))
    assert peer.jobs(1) == ["j0"]
    peer.send(result("j0"))
    batches.end(process)


def test_a_timeout_at_a_moved_deadline_counts(batches, daemon_here):
    """The daemon has given the job its time back."""
    batches.write(*numbered(1))
    process = batches.start()
    peer = daemon_here.accept()
    peer.jobs(1)
    peer.send({**timed_out("j0", wait_ms=999), "deadline": {"moves": 1, "wall_clock_ms": 1000}})
    batches.end(process, 1)
    run = batches.lines()["j0"]["run"]
    assert (run["attempts"], run["deadline"]) == (1, {"moves": 1, "wall_clock_ms": 1000})


def test_starved_jobs_run_alone_once_and_are_retried_then(batches, daemon_here):
    batches.write(*numbered(2))
    process = batches.start("--retries", "1", "--jobs", "2")
    peer = daemon_here.accept()
    assert peer.jobs(2) == ["j0", "j1"]
    peer.send(error("j0", "starved"), result("j1"))
    for _ in range(2):
        assert peer.jobs(1) == ["j0"]
        peer.send(error("j0", "starved"))
    said = batches.end(process, 4)
    assert "2 jobs: 1 passed, 0 failed, 1 errors" in said[0] or "1 error" in said[0]
    line = batches.lines()["j0"]
    assert (line["type"], line["code"], line["run"]["attempts"]) == ("error", "starved", 3)
    assert [earlier["why"] for earlier in line["run"]["earlier"]] == ["starved", "error"]


def test_no_rerun_starved(batches, daemon_here):
    batches.write(*numbered(1))
    process = batches.start("--no-rerun-starved")
    peer = daemon_here.accept()
    peer.jobs(1)
    peer.send(timed_out("j0", wait_ms=999))
    batches.end(process, 1)
    assert batches.lines()["j0"]["run"]["attempts"] == 1


SPIN = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_a_busy_host_costs_no_verdict(start_daemon, tmp_path):
    """Eight jobs share one CPU and each needs 0.3 s of it within 1 s. Together they starve, so their
    deadlines move, and all pass at once."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        daemon = start_daemon("daemon.slots=8")
    finally:
        os.sched_setaffinity(0, allowed)
    real = Batches(tmp_path, daemon.socket)
    job = {"kind": "sandbox", "runner": "python", "snippet": SPIN, "limits": {"wall_clock": 1}}
    real.write(*[{"id": f"j{n}", **job} for n in range(8)])
    real.run("--quiet")
    lines = real.lines().values()
    assert all(line["run"]["attempts"] == 1 for line in lines)
    moved = [line for line in lines if "deadline" in line]
    assert moved and all(line["run"]["deadline"] == line["deadline"] for line in moved)


# What the daemon cannot read


def test_an_error_without_an_id_costs_the_job_that_was_not_read(batches, daemon_here):
    """The client finds out which one it is: all others are answered. It has a line like any other, and the
    run ends."""
    batches.write(*numbered(6))
    process = batches.start("--jobs", "3")
    peer = daemon_here.accept()
    assert peer.jobs(3) == ["j0", "j1", "j2"]
    unread = error("", "bad_request", "JSON: ...", retriable=False)
    del unread["id"]
    peer.send(unread)
    assert peer.recv() == {"type": "ping"}
    peer.send({"type": "pong"}, started("j0"), result("j0"))
    assert peer.jobs(1) == ["j3"]
    peer.send(started("j2"), result("j2"), started("j3"), result("j3"))
    assert peer.jobs(2) == ["j4", "j5"]
    peer.send(started("j4"), started("j5"), result("j5"), result("j4"))
    said = batches.end(process, 4)
    assert any("rubricd: bad_request: JSON: ..." in line for line in complaints(said))
    lines = batches.lines()
    assert sorted(lines) == [f"j{n}" for n in range(6)]
    assert (lines["j1"]["type"], lines["j1"]["code"]) == ("error", "bad_request")
    assert all(lines[f"j{n}"]["score"]["passed"] for n in (0, 2, 3, 4, 5))


def test_an_error_about_the_connection_costs_no_job(batches, daemon_here):
    """The daemon says why it closes the connection, without an id. The jobs are submitted again."""
    batches.write(*numbered(1))
    process = batches.start()
    peer = daemon_here.accept()
    assert peer.jobs(1) == ["j0"]
    closing = error("", "bad_request", "frame: incomplete after 30 s, with 9 bytes received", retriable=False)
    del closing["id"]
    peer.send(closing)
    peer.close()
    peer = daemon_here.accept()
    assert peer.jobs(1) == ["j0"]
    peer.send(started("j0"), result("j0"))
    batches.end(process, 0)
    assert batches.lines()["j0"]["score"]["passed"]


# What ends it early


def test_the_cost_cap(batches, daemon_here):
    """The client cancels queued jobs, awaits running ones and says what those cost."""
    batches.write(*numbered(20))
    process = batches.start("--jobs", "6", "--cost-cap", "1.00")
    peer = daemon_here.accept()
    assert len(peer.jobs(6)) == 6
    peer.send(*[started(f"j{n}") for n in range(3)])
    peer.send(result("j0", cost=0.75))
    assert peer.jobs(1) == ["j6"]
    peer.send(started("j3"), result("j1", cost=0.5))
    assert peer.cancelled(3) == ["j4", "j5", "j6"]
    # j4 had started before the cancel arrived, and completes; j5 started, too, and is killed; j6 was queued.
    peer.send(started("j4"), result("j4", cost=0.25), started("j5"))
    peer.send(*[error(id, "cancelled", retriable=False) for id in ("j5", "j6")])
    peer.send(error("j4", "bad_request", retriable=False))
    peer.send(result("j2", cost=0.25), result("j3", passed=False))
    said = batches.end(process, 5)
    assert complaints(said) == [
        "the cost cap of $1.0000 is passed: $1.2500 so far; submitting nothing more, taking back 3 queued jobs, "
        "waiting for 2 running",
        "the run cost $1.7500 with a cap of $1.0000: jobs that were running when the cap was passed cost $0.7500 more",
        "1 job began before rubricd read that it was taken back, and was ended: what that cost is not known",
    ]
    assert sorted(batches.lines()) == ["j0", "j1", "j2", "j3", "j4"], "cancelled jobs have no line"
    assert "2 jobs are unanswered" in said
    # The cost of the earlier run counts towards the cap of a resumed one.
    process = batches.start("--quiet", "--resume", "--cost-cap", "1.5")
    peer = daemon_here.accept()
    said = complaints(batches.end(process, 5))
    assert said[0].startswith("the cost cap of $1.5000 is passed: $1.7500 so far; submitting nothing more")
    assert peer.recv() is None, "a run over its cap submits nothing"
    process = batches.start("--quiet", "--resume", "--cost-cap", "1.75", "--limit", "6")
    peer = daemon_here.accept()
    assert peer.jobs(1) == ["j5"], "a cost equal to the cap does not exceed it"
    peer.send(result("j5"))
    batches.end(process, 1)


def test_the_cost_cap_with_a_real_daemon(real, bench):
    """The excess is at most the job that passed the cap and the one in the other slot."""
    job = bench.job("import time; time.sleep(0.2)\nprint('{\"passed\": true, \"score\": 1, \"cost_usd\": 0.5}')\n")
    real.write(*[{"id": f"j{n}", **job} for n in range(30)])
    said = real.run("--cost-cap", "2", status=5)
    cost = 0.5 * len(real.lines())
    assert 2 < cost <= 2 + 0.5 + 0.5
    assert complaints(said)[1] == (
        f"the run cost ${cost:.4f} with a cap of $2.0000: jobs that were running when the cap was passed cost "
        f"${cost - 2:.4f} more"
    )


def test_the_cost_includes_attempts_that_do_not_count(batches, daemon_here):
    batches.write(*numbered(2))
    process = batches.start("--quiet", "--cost-cap", "0.5")
    peer = daemon_here.accept()
    peer.jobs(2)
    peer.send(timed_out("j0", wait_ms=900, cost=0.375), result("j1"))
    assert peer.jobs(1) == ["j0"]
    peer.send(result("j0", cost=0.25))
    assert "cost $0.6250 with a cap of $0.5000" in batches.end(process, 5)[-1]
    process = batches.start("--quiet", "--resume", "--cost-cap", "0.5")
    daemon_here.accept()
    assert "$0.6250 so far" in batches.end(process, 5)[0]


@pytest.mark.parametrize("text", ["", "-1", "x", "inf", "0x1", "1e2", "$1"])
def test_a_cost_cap_is_in_dollars(batches, daemon_here, text):
    batches.write(*numbered(1))
    process = batches.start("--cost-cap", text)
    daemon_here.accept()
    assert complaints(batches.end(process, 2)) == [
        f'--cost-cap: expected dollars, as in 2.50, got "{text}"'
    ]


@pytest.mark.parametrize(
    "answer, status, how",
    [
        (result("j1", passed=False), 1, "did not pass"),
        (error("j1", "rubric_not_found", retriable=False), 4, "ended in an error"),
    ],
)
def test_fail_fast(batches, daemon_here, answer, status, how):
    batches.write(*numbered(9))
    process = batches.start("--jobs", "4", "--fail-fast")
    peer = daemon_here.accept()
    peer.jobs(4)
    peer.send(started("j0"), started("j1"), answer)
    assert peer.cancelled(2) == ["j2", "j3"]
    peer.send(*[error(id, "cancelled", retriable=False) for id in ("j2", "j3")], result("j0"))
    said = complaints(batches.end(process, status))
    assert said == [
        f"--fail-fast: j1 {how}; submitting nothing more, taking back 2 queued jobs, waiting for 1 running"
    ]
    assert sorted(batches.lines()) == ["j0", "j1"]
    # The next run continues where this one stopped, and does not count this one's failures.
    process = batches.start("--quiet", "--resume", "--fail-fast", "--limit", "4")
    peer = daemon_here.accept()
    ids = ["j2", "j3"] if status == 1 else ["j1", "j2", "j3"]
    assert peer.jobs(len(ids)) == ids
    peer.send(*[result(id) for id in ids])
    batches.end(process, 1 if status == 1 else 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_one_signal_drains_and_two_cancel(batches, daemon_here, number):
    batches.write(*numbered(9))
    process = batches.start("--jobs", "3")
    peer = daemon_here.accept()
    peer.jobs(3)
    peer.send(error("j2"))
    process.send_signal(number)
    first = process.stderr.readline()
    assert "interrupted: submitting nothing more; waiting for" in first
    peer.send(result("j0"))
    wait_until(lambda: "j0" in batches.lines(), "what was in flight is awaited")
    process.send_signal(number)
    assert "cancelling 1 job" in process.stderr.readline()
    assert peer.cancelled(1) == ["j1"]
    peer.send(error("j1", "cancelled", retriable=False))
    batches.end(process, 130)
    # Whether the error became a line or the job waited for another attempt, --resume runs the job.
    process = batches.start("--resume", "--quiet")
    peer = daemon_here.accept()
    assert peer.jobs(8) == [f"j{n}" for n in range(1, 9)]
    peer.send(*[result(f"j{n}") for n in range(1, 9)])
    batches.end(process)
    assert len(batches.lines()) == 9


# What it takes


def ids_run(batches, daemon_here, *options, status=0):
    process = batches.start("--quiet", "--force", *options)
    peer = daemon_here.accept()
    ids = []
    while (message := peer.recv()) is not None:
        ids.append(message["id"])
        peer.send(result(message["id"]))
    batches.end(process, status)
    return ids


RUBRIC = {"kind": "rubric", "case": {}, "harness_output": {}}


@pytest.mark.parametrize(
    "options, expected",
    [
        (["--limit", "2"], ["a1", "a2"]),
        (["--limit", "9"], ["a1", "a2", "b1", "b=2"]),
        (["--filter", "a*"], ["a1", "a2"]),
        (["--filter", "?1"], ["a1", "b1"]),
        (["--filter", "id=b=2"], ["b=2"]),
        (["--filter", "?=2"], ["b=2"]),
        (["--filter", "id=[ab]1"], ["a1", "b1"]),
        (["--filter", "kind=rubric"], ["a2", "b1"]),
        (["--filter", "task_class=qa-*"], ["a2"]),
        (["--filter", "task_class=*", "--filter", "b*"], ["b1"]),
        (["--filter", "kind=rubric", "--limit", "1"], ["a2"]),
    ],
)
def test_limit_and_filter(batches, daemon_here, options, expected):
    batches.write(
        sandbox("a1"),
        {"id": "a2", **RUBRIC, "task_class": "qa-long"},
        {"id": "b1", **RUBRIC, "task_class": "math"},
        sandbox("b=2"),
    )
    assert ids_run(batches, daemon_here, *options) == expected


def test_a_filter_without_a_pattern(batches, daemon_here):
    batches.write(*numbered(1))
    process = batches.start("--filter", "kind=")
    daemon_here.accept()
    assert complaints(batches.end(process, 2)) == [
        "--filter: expected a pattern, or id=PATTERN, task_class=PATTERN or kind=PATTERN, got \"kind=\""
    ]


@pytest.mark.parametrize(
    "filter, meant",
    [("task=qa-*", "; did you mean task_class?"), ("Kind=x", "; did you mean kind?"), ("b=2", "")],
)
def test_a_filter_with_an_unknown_key(batches, daemon_here, filter, meant):
    """Such a filter would match no id, and a gate with a typo would find nothing to object to."""
    batches.write(sandbox("b=2"))
    process = batches.start("--filter", filter, "--no-reconnect")
    daemon_here.accept()
    key = filter.split("=")[0]
    assert complaints(batches.end(process, 2)) == [
        f'--filter: unknown key "{key}"{meant} (keys: id, task_class, kind; for an id with a "=" write id={filter})'
    ]
    assert not batches.output.exists()


@pytest.mark.parametrize(
    "jobs, options, why",
    [
        ([sandbox("j0")], ["--filter", "nothing"], "no job of the input passes --filter"),
        ([], [], "the input has no jobs"),
    ],
    ids=["filtered", "empty"],
)
def test_a_run_without_a_job(batches, daemon_here, jobs, options, why):
    """It has graded nothing, which is not success, and leaves the results of an earlier run."""
    batches.write(*jobs)
    batches.output.write_text("earlier\n")
    process = batches.start("--force", *options)
    daemon_here.accept()
    said = batches.end(process, 2)
    assert complaints(said) == [f"{why}; the results of an earlier run stay in {batches.output}"]
    assert "no job was graded" in "".join(said)
    assert batches.output.read_text() == "earlier\n"
    batches.output.unlink()
    process = batches.start("--force", *options)
    daemon_here.accept()
    assert complaints(batches.end(process, 2)) == [why], "nothing was there"
    batches.output.unlink()
    process = batches.start("--quiet", "--no-fail", *options)
    daemon_here.accept()
    assert complaints(batches.end(process, 2)) == [why]


@pytest.mark.parametrize("option", [[], ["--force"], ["--resume"]], ids=str)
def test_results_cannot_go_to_a_directory(batches, daemon_here, option):
    batches.write(*numbered(1))
    batches.output.mkdir()
    process = batches.start(*option)
    daemon_here.accept()
    assert complaints(batches.end(process, 2)) == [f"cannot write {batches.output}: Is a directory"]


def test_an_id_twice_names_the_line_of_the_first(batches, daemon_here):
    batches.write(sandbox("a"), sandbox("b"), sandbox("a"))
    process = batches.start("--quiet")
    peer = daemon_here.accept()
    peer.jobs(2)
    peer.send(result("a"), result("b"))
    assert complaints(batches.end(process, 2)) == [
        f'{batches.jobs}:3: id "a" is that of a job still in flight, {batches.jobs}:1'
    ]


@pytest.mark.parametrize(
    "message, remedy",
    [
        ("job.sut: expected an object, got a string",
         '; for example "sut": {"status": "exception", "detail": "what happened"}'),
        ("job.limits.memory_bytes: above the ceiling of 4 GiB",
         "; [ceilings] of the daemon's configuration says how much a job may ask for"),
    ],
)  # fmt: skip
def test_a_refused_job_is_told_with_its_remedy(batches, daemon_here, message, remedy):
    batches.write(sandbox("a"))
    process = batches.start()
    peer = daemon_here.accept()
    peer.jobs(1)
    peer.send(error("a", "bad_request", message, retriable=False))
    assert f"{message}{remedy}" in "".join(batches.end(process, 4))


def test_bounds_of_a_job_are_not_the_limit_of_a_batch(batches):
    """--limit of `run` and `sandbox` bounds a job; here it counts jobs."""
    said = batches.run("--limit", "memory_bytes=64M", status=2)
    assert said[0] == (
        'rubricctl: --limit: expected a whole number from 1 to 1000000000, got "memory_bytes=64M"; '
        'a job is bounded by "limits" in its line'
    )


def test_a_run_that_continues_a_finished_one_has_jobs(batches, daemon_here):
    batches.write(*numbered(2))
    ids_run(batches, daemon_here)
    process = batches.start("--resume")
    daemon_here.accept()
    assert complaints(batches.end(process)) == [f"{batches.output} has 2 jobs: 2 passed, 0 failed, 0 errors"]


def test_what_a_filter_leaves_out_is_not_gone(batches, daemon_here):
    batches.write(*numbered(3))
    ids_run(batches, daemon_here)
    process = batches.start("--resume", "--filter", "j1")
    daemon_here.accept()
    said = batches.end(process)
    assert not any("not in the input" in line for line in said), said


# Samples


def test_samples(batches, daemon_here):
    batches.write(*numbered(3), {"id": "x" * 127, **sandbox("")} | {"id": "x" * 127})
    process = batches.start("--samples", "3", "--limit", "4")
    peer = daemon_here.accept()
    ids = ["j0", "j0#2", "j0#3", "j1", "j1#2", "j1#3", "j2", "j2#2", "j2#3", "x" * 127]
    assert peer.jobs(10) == ids
    failing = {"j1#2", "j2", "j2#2", "j2#3"}
    peer.send(*[result(id, id not in failing) for id in ids])
    said = batches.end(process, 2)
    assert complaints(said) == [f"{batches.jobs}:4: id: longer than 128 bytes with #2 appended"]
    assert said[-2:] == ["flakiness: 1 of 3 cases had different verdicts:", "    j1 (2 of 3 passed)"]
    lines = batches.lines()
    assert [(lines[id]["run"]["case_id"], lines[id]["run"]["sample"]) for id in ids[:4]] == [
        ("j0", 1), ("j0", 2), ("j0", 3), ("j1", 1),
    ]  # fmt: skip
    digests = {line["run"]["job_digest"] for id, line in lines.items() if id.startswith("j")}
    assert len(digests) == 1, "all samples have one job digest"


def test_more_samples_later(batches, daemon_here):
    """A run with --samples continues a run without; flakiness counts the samples of both."""
    batches.write(*numbered(2))
    assert ids_run(batches, daemon_here) == ["j0", "j1"]
    process = batches.start("--resume", "--samples", "2")
    peer = daemon_here.accept()
    assert peer.jobs(2) == ["j0#2", "j1#2"]
    peer.send(result("j0#2", False), result("j1#2"))
    said = batches.end(process, 1)
    assert said[-2:] == ["flakiness: 1 of 2 cases had different verdicts:", "    j0 (1 of 2 passed)"]
    process = batches.start("--resume", "--samples", "2")
    daemon_here.accept()
    assert batches.end(process, 1)[-2:] == said[-2:], "the summary depends on the results file alone"


def test_samples_of_a_real_rubric(real, bench):
    """One rubric passes at random, one always passes: only the first counts as flaky."""
    wavering = "import random, json\nok = random.random() < 0.5\nprint(json.dumps({'passed': ok, 'score': int(ok)}))\n"
    job = bench.job(wavering, name="wavering")
    firm = bench.job("print('{\"passed\": true, \"score\": 1}')\n", name="firm")
    real.write({"id": "w", **job}, {"id": "f", **firm})
    said = real.run("--samples", "24", status=1)
    assert "flakiness: 1 of 2 cases had different verdicts:" in said
    assert said[-1].startswith("    w (") and said[-1].endswith(" of 24 passed)")
    assert len(real.lines()) == 48
    assert json.loads(real.output.read_text().splitlines()[0])["run"]["task_class"] in ("wavering", "firm")


def test_each_mistake_is_named_with_a_job_that_has_it(real, bench):
    """Several jobs with one error code may each need something else."""
    job = bench.job(PASSING)
    wrong = [
        {"case": 1},
        {"harness_output": []},
        {"task_class": "../x"},
        {"limits": {"cpu": 1e9}},
        {"nonsense": 1},
        {"sut": {"status": "x"}},
        {"priority": 99},
    ]
    real.write(*[{"id": f"j{n}", **job, **change} for n, change in enumerate(wrong)], {"id": "j7", **job, "case": 1})
    said = real.run(status=4)
    text = "\n".join(said)
    assert "       8  bad_request" in text
    for n in range(7):
        assert f"\n          {real.jobs}:{n + 1}: j{n}: job." in text, text
    assert "j7: " not in text, "it is wrong as j0 is"


def test_a_field_that_is_misspelt_is_named_with_the_right_one(real, bench):
    job = bench.job(PASSING)
    real.write(
        {"id": "a", **job, "task_clas": "x"},
        {"id": "b", **job, "limits": {"cpus": 1}},
        {"kind": "sandbox", "argv": ["/bin/true"], "colect": ["x"]},
        {"id": "d", **job, "nonsense": 1},
        {"id": "e", **job, "kind": "rubrik"},
    )
    text = "\n".join(real.run(status=4))
    for line in (
        f"{real.jobs}:1: a: job.task_clas: unknown field; did you mean task_class?",
        f"{real.jobs}:2: b: job.limits.cpus: unknown field; did you mean cpu?",
        ":3: job.colect: unknown field; did you mean collect?",
        f"{real.jobs}:4: d: job.nonsense: unknown field\n",
        f'{real.jobs}:5: e: job.kind: unknown kind "rubrik"; did you mean rubric?',
    ):
        assert line in text + "\n", text


def test_a_missing_bench_root_is_answered_with_the_option(real, bench):
    job = {key: value for key, value in bench.job(PASSING).items() if key != "bench_root"}
    real.write({"id": "a", **job})
    remedy = "configuration has no [rubric] bench_root; name the bench with --bench-root DIR (-b)"
    assert any(line.endswith(remedy) for line in real.run(status=4))


def test_a_rubric_that_crashes_is_named_with_its_exception(real, bench):
    bench.rubric("import json, sys\nprint(json.load(sys.stdin)['case']['expected'])\n", "crash")
    bench.rubric("print('no score')\n", "noise")
    jobs = [{**bench.job(PASSING), "task_class": name} for name in ("crash", "crash", "noise")]
    real.write(*[{"id": f"j{n}", **job} for n, job in enumerate(jobs)])
    crashed = "2 of the failed: the rubric crashed, so the score of 0 says nothing of the answers\n"
    text = "\n".join(real.run("--jobs=1", status=1))
    assert f"\n{crashed}          {real.jobs}:1: j0: KeyError: 'expected' (the first)\n" in text, text
    assert "       3  rubric.malformed_output\n" in text, text
    assert f"          {real.jobs}:1: j0: KeyError: 'expected'\n" in text, text
    assert f"          {real.jobs}:3: j2: " in text and ": j1:" not in text, text
    assert "rubricctl check-rubric, or outcome.stderr in the results" in text
    text = "\n".join(real.run("--resume", status=1))
    assert f"\n{crashed}          j0: KeyError: 'expected' (the first)\n" in text, "a resumed run says it, too"
