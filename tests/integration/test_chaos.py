# SPDX-License-Identifier: MIT
"""Chaos in short: some seconds of what tests/chaos does for half an hour, with a fixed seed. And the oracle
itself: it sees what is wrong, lost, doubled or left over, and takes nothing else for it."""

import contextlib
import json
import random
import subprocess
import sys
import time

import pytest
from conftest import PYTHON, ROOT

CHAOS = ROOT / "tests" / "chaos"
sys.path.insert(0, str(CHAOS))
import catalog  # noqa: E402
import clients  # noqa: E402
import faults  # noqa: E402
import oracle  # noqa: E402
import place  # noqa: E402
import plan  # noqa: E402
import rounds  # noqa: E402
import soak  # noqa: E402

SEED = 7
# In the short run each of these happens once, in this order; those that last long are left out.
SHORT = [
    "jail killed", "daemon stopped", "twin killed", "reload storm", "descriptors out", "zygote killed",
    "memory out", "disk full", "many connections", "daemon killed", "clock stepped", "all jails killed",
    "reload of nonsense", "drain",
]  # fmt: skip
# What a host or a build may lack what it takes for: a second file system, a compiler, a zygote, twins.
MAY_BE_LEFT_OUT = {"disk full", "clock stepped", "zygote killed", "twin killed", "memory out"}


class Short(plan.Planner):
    """A plan whose faults are given."""

    def __init__(self, names, **more):
        super().__init__(SEED, **more)
        self.names_of_faults = names

    def _faults(self, rng, shape, total):
        step = total // (len(self.names_of_faults) + 1)
        return [
            {"after": step * n, "name": name, "hold": min(faults.FAULTS[name].holds), "pick": rng.random()}
            for n, name in enumerate(self.names_of_faults)
            if shape in faults.FAULTS[name].shapes
        ]


# --- the run --------------------------------------------------------------------------------------------


def shapes():
    return sorted(place.possible({"all layers": 1, "no namespaces": 1}))


@pytest.mark.long
def test_no_fault_makes_a_verdict_wrong():
    """A round on a daemon with all layers and one on a daemon without namespaces, each with half of the faults."""
    ledger, said = oracle.Ledger(), []
    users = plan.USERS if place.IS_ROOT else (None,)
    for part, shape in enumerate(shapes()):
        names = SHORT[part :: len(shapes())]
        planner = Short(names, jobs=60, shapes={shape: 1}, users=users)
        rounds.Runner(planner, say=said.append, ledger=ledger).run(part, 1, float("inf"))
    assert ledger.complaints == [], "\n".join([ledger.summary(), *said, *oracle.table(ledger)])
    assert sum(ledger.jobs.values()) >= 50 * len(shapes())
    assert set(SHORT) - MAY_BE_LEFT_OUT <= set(ledger.events), "a fault has never happened"
    right = sum(n for (_, outcome), n in ledger.outcomes.items() if outcome == "right")
    assert right >= 30 * len(shapes()), oracle.table(ledger)


@pytest.mark.long
def test_soak_shows_what_it_began_and_ended_with(tmp_path):
    from conftest import BUILD

    command = [PYTHON, CHAOS / "soak.py", "--jobs=600", f"--build={BUILD}", f"--shape={shapes()[0]}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for row in "jobs/s", "latency p99, ms", "daemon, KiB", "descriptors", "inodes in the work directory":
        assert row in done.stdout


# --- the plan -------------------------------------------------------------------------------------------


def lines_of(seed, number):
    return list(plan.Planner(seed).round(number, "/bench").lines())


def test_a_plan_follows_from_its_seed():
    assert lines_of(1, 5) == lines_of(1, 5)
    assert lines_of(1, 5) != lines_of(2, 5)
    assert lines_of(1, 5) != lines_of(1, 6)


def test_a_plan_is_printed_without_a_daemon():
    done = subprocess.run(
        [PYTHON, CHAOS / "chaos.py", "--plan", "--round=3", "--seed=9"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("round 3: ")
    assert "answers: " in done.stdout


def test_every_kind_of_job_and_fault_is_planned():
    planner, rows, names = plan.Planner(1), set(), set()
    for number in range(80):
        round_ = planner.round(number, "/bench")
        rows |= {job.row for client in round_.clients for job in client["jobs"]}
        names |= {fault["name"] for fault in round_.faults}
    assert rows == set(plan.ROWS)
    assert names == set(faults.FAULTS)


# --- the oracle -----------------------------------------------------------------------------------------

JOB = catalog.Job("sandbox", "echo", {}, catalog.exits(0, stdout="a\n"))
RIGHT = {
    "type": "result", "kind": "sandbox", "score": {"passed": True, "score": 1}, "stdout": "a\n",
    "outcome": {"exit_code": 0, "signal": None, "limit_exceeded": None},
}  # fmt: skip


def changed(**fields):
    return {**json.loads(json.dumps(RIGHT)), **fields}


def error(code, retriable, **more):
    return {"type": "error", "code": code, "retriable": retriable, "message": "m", **more}


@pytest.mark.parametrize(
    "answer",
    [
        changed(stdout=""),
        changed(stdout="b\n"),
        changed(kind="rubric"),
        changed(score=None),
        changed(score={"passed": 1}),
        changed(outcome={"exit_code": 0, "signal": None}),
        changed(outcome={"exit_code": 0, "signal": None, "limit_exceeded": "disk"}),
        error("internal", False),
        error("cancelled", False),
        error("bad_request", True),
    ],
    ids=str,
)
def test_a_wrong_answer(answer):
    assert oracle.judge(JOB, answer)[1] is not None


def test_right_answers():
    assert oracle.judge(JOB, RIGHT) == ("right", None)
    assert oracle.judge(JOB, changed(more=1)) == ("right", None)
    assert oracle.judge(JOB, error("internal", True)) == ("internal", None)
    assert oracle.judge(JOB, error("cancelled", False), cancelled=True) == ("cancelled", None)
    refused = catalog.Job("refused", "no rubric", {}, catalog.refused("rubric_not_found"))
    assert oracle.judge(refused, error("rubric_not_found", False)) == ("right", None)
    assert oracle.judge(refused, RIGHT)[1] is not None


def test_an_attack_that_got_through():
    attack = catalog.Job("hostile", "x", {}, catalog.HELD)
    assert oracle.judge(attack, changed(stdout="refused: x")) == ("right", None)
    assert oracle.judge(attack, changed(stdout="SUCCEEDED: x"))[1] == "the attack has succeeded"
    assert oracle.judge(attack, error("bad_request", False))[1] is not None


class Heard:
    """Attempts of one connection with two jobs, `a` and `b`, and what was found wrong."""

    def __init__(self):
        self.ledger = oracle.Ledger()
        self.attempts = oracle.Attempts(self.ledger, "c")
        for id in "ab":
            self.attempts.submit(id, JOB)

    def hear(self, *messages):
        for message in messages:
            self.attempts.hear(message)
        return dict(self.ledger.faults)


def of(id, message=None):
    return {**(message or RIGHT), "id": id}


def test_answers_are_counted_once():
    heard = Heard()
    assert heard.hear({"type": "started", "id": "a"}, of("a"), of("b")) == {}
    assert heard.attempts.close("killed") == []
    assert heard.hear(of("a")) == {"doubled": 1}
    assert heard.hear(of("c")) == {"doubled": 2}
    assert heard.hear({"type": "started", "id": "a"}) == {"doubled": 3}


def test_a_cancel_has_one_answer():
    late = error("bad_request", False, id="a")
    cancelled = error("cancelled", False, id="a")
    for messages, faults_found in (
        ([cancelled], {}),
        ([of("a"), late], {}),
        ([of("a"), late, late], {"doubled": 1}),
        ([of("a"), cancelled], {"doubled": 1, "lost": 1}),
        ([cancelled, late], {"doubled": 1}),
        ([cancelled, cancelled], {"doubled": 1}),
        ([of("a")], {"lost": 1}),
    ):
        heard = Heard()
        heard.attempts.cancel("a")
        heard.hear(*messages)
        heard.attempts.check_cancels()
        assert dict(heard.ledger.faults) == faults_found, messages


def test_a_job_is_lost_without_a_reason():
    heard = Heard()
    heard.hear({"type": "started", "id": "a"})
    assert heard.attempts.close(None) == [JOB, JOB]
    assert heard.ledger.faults == {"lost": 2}
    heard = Heard()
    heard.hear({"type": "started", "id": "a"})
    heard.attempts.close("draining")
    assert heard.ledger.faults == {"lost": 1}, "a running job is answered before bye"
    heard = Heard()
    heard.attempts.give_up(1)
    assert heard.ledger.faults == {"lost": 2}


def test_an_error_without_an_id():
    nameless = error("internal", True)
    heard = Heard()
    assert heard.hear(nameless, of("a")) == {"no id": 1}
    for is_short, found in ((True, {}), (False, {"no id": 1, "lost": 2})):
        heard = Heard()
        heard.hear(nameless)
        heard.attempts.close(None, is_short)
        assert dict(heard.ledger.faults) == found


def test_results_of_a_batch():
    def found(*lines):
        ledger = oracle.Ledger()
        oracle.judge_file(ledger, "b", {"a": JOB, "b": JOB}, [json.dumps(line) for line in lines], True)
        return dict(ledger.faults)

    assert found(of("a"), of("b")) == {}
    assert found(of("a"), of("b", error("internal", True))) == {}
    assert found(of("a")) == {"lost": 1}
    assert found(of("a"), of("b"), of("a")) == {"doubled": 1}
    assert found(of("a"), of("b", changed(stdout=""))) == {"wrong": 1}


# --- what is left over ------------------------------------------------------------------------------------


@pytest.fixture(name="here", scope="module")
def make_place():
    made = place.Place(shapes()[0])
    ledger = oracle.Ledger()
    rounds.calm(made, ledger, "before")
    made.set_baseline()
    assert ledger.complaints == []
    yield made
    assert made.close() == ""


def test_nothing_is_left_over(here):
    assert here.unlike_baseline() == {}


def test_a_file_is_left_over(here):
    file = here.daemon.work / "slot-0" / "left"
    file.touch()
    try:
        assert list(here.unlike_baseline()) == ["files"]
    finally:
        file.unlink()


def test_a_process_is_left_over(here):
    prefix = place.world.as_account(here.account)
    name = str(here.directory / "rubricd-left")
    with subprocess.Popen([*prefix, "/bin/sh", "-c", "exec sleep 600", name]) as process:
        try:
            if not place.IS_ROOT:
                pytest.skip("only root can give the daemon an account of its own")
            end = time.monotonic() + 30
            while "processes" not in here.unlike_baseline():
                assert time.monotonic() < end
        finally:
            process.kill()
    assert here.unlike_baseline() == {}


def test_a_connection_is_left_over(here):
    with contextlib.closing(clients.Connection(here)) as connection:
        assert connection.recv()["type"] == "hello"
        assert place.IS_ROOT is False or "descriptors" in here.unlike_baseline()
        assert here.is_calm() is None
    end = time.monotonic() + 30
    while here.is_calm() is None or here.unlike_baseline():
        assert time.monotonic() < end


def test_what_is_more():
    assert place.is_more(3, 2) and not place.is_more(1, 2) and not place.is_more(2, 2)
    assert place.is_more([2, 3], [2, 2]) and not place.is_more([2, 1], [2, 2])
    assert place.is_more([2, 2, 2], [2, 2]) and place.is_more(["file"], []) and not place.is_more([], [])
    assert place.is_more({1: "a process"}, {}) and place.is_more("a text", True) and not place.is_more(True, True)
    assert not place.is_more([None], [None])


def test_growth_is_a_fault_of_a_soak():
    before = {"daemon, KiB": 5000, "descriptors": 20}
    assert list(soak.faults_of(before, {"daemon, KiB": 9000, "descriptors": 20})) == []
    assert list(soak.faults_of(before, {"daemon, KiB": 50000, "descriptors": 20}, is_sanitized=True)) == []
    assert len(list(soak.faults_of(before, {"daemon, KiB": 50000, "descriptors": 20}))) == 1
    assert len(list(soak.faults_of(before, {"daemon, KiB": 5000, "descriptors": 21}))) == 1


def test_a_soak_compares_its_first_and_last_jobs():
    figures = soak.Figures(10)
    for n in range(10):
        assert figures.take()
        figures.note(0.001 if n < 5 else 0.003)
    assert not figures.take()
    assert figures.columns()["latency p50, ms"] == ["1.0", "3.0"]


def test_a_mix_is_repeatable():
    makes = catalog.Catalog("/bench")
    for row, name in random.Random(1).sample(makes.names(), 10):
        if name not in ("attack", "example") and name not in catalog.RAW:
            assert makes.get(row, name, "t", 3).request == makes.get(row, name, "t", 3).request
