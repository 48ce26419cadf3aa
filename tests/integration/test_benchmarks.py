# SPDX-License-Identifier: MIT
"""Checks that tests/bench is truthful: what its loops count, what its table says, and what it does if
something cannot be measured. No test here judges a duration."""

import json
import math
import os
import random
import subprocess
import sys

import pytest
from conftest import BUILD, PYTHON, ROOT

# Tests Python, and loops that no build instruments.
pytestmark = pytest.mark.once

BENCH = ROOT / "tests" / "bench"
sys.path.insert(0, str(BENCH))
import bench  # noqa: E402
import code_rate  # noqa: E402
import compare  # noqa: E402
import program_rate  # noqa: E402
import protocol_rate  # noqa: E402
import rubric_rate  # noqa: E402
import rubrics  # noqa: E402
import table  # noqa: E402
import tasks  # noqa: E402


@pytest.fixture(scope="module")
def daemon():
    with bench.Daemon("daemon.slots=2") as running:
        yield running


@pytest.mark.parametrize("goal, values, verdict", [
    (table.at_least(6), [5.9, 6.1, 7], "held"),
    (table.at_least(6), [5.9, 5.8, 7], "missed"),
    (table.at_most(5), [5, 4, 90], "held"),
    (table.at_most(5), [5.1, 4, 90], "missed"),
    (table.at_most(5), [], "missed"),
    (None, [1], ""),
])  # fmt: skip
def test_the_verdict_compares_the_median_to_the_goal(goal, values, verdict):
    assert table.Row("a", "x", values, goal=goal, missing="" if values else "gone").verdict() == verdict


def test_ratios_are_of_the_same_round():
    assert table.ratios([2, 9, 8], [1, 3, 4]) == [2, 3, 2]
    with pytest.raises(ValueError):
        table.ratios([2, 9], [1])


def test_a_failed_measure_gives_its_reason_and_the_rest_runs():
    def broken(scale):
        yield table.Row("a", "before", [1])
        raise bench.NotMeasured("bubblewrap is not installed")

    def sound(scale):
        yield table.Row("b", "after", [2])

    rows = list(table.collect([broken, sound], table.Scale()))
    assert [row.measured() for row in rows] == ["1.00", "not measured: bubblewrap is not installed", "2.00"]


def test_table_in_a_page_is_replaced_and_nothing_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- results -->\nold\n<!-- end of results -->\nafter\n")
    table.replace_in_page(page, ["new", "lines"])
    assert page.read_text() == "before\n<!-- results -->\n\nnew\nlines\n\n<!-- end of results -->\nafter\n"
    page.write_text("no marks\n")
    with pytest.raises(SystemExit, match="has no lines <!-- results -->"):
        table.replace_in_page(page, ["new"])


def test_page_has_the_marks():
    text = (BENCH / "README.md").read_text()
    assert text.index("<!-- results -->\n") < text.index("<!-- end of results -->\n")


@pytest.mark.parametrize("options, latencies", [([], 20), (["-w5"], 0), (["-c4", "-w3"], 0)])
def test_every_request_is_answered_once(daemon, options, latencies):
    before = daemon.status()["counters"]["results"]
    done = bench.message_loop(daemon.socket, 20, bench.submit(bench.EXIT0_JOB), options=options)
    assert daemon.status()["counters"]["results"] == before + 20
    assert len(done["latencies_ns"]) == latencies


def test_another_answer_ends_the_loop(daemon, capfd):
    job = {"kind": "sandbox", "argv": ["/bin/false"]}
    with pytest.raises(bench.NotMeasured, match="message-loop ended with 1"):
        bench.message_loop(daemon.socket, 5, bench.submit(job))
    assert "not the answer" in capfd.readouterr().err


def test_the_queue_has_the_stated_length(daemon, monkeypatch):
    queued, status = [], daemon.status

    def watched():
        told = status()
        queued.append(told["queue"]["jobs"])
        return told

    monkeypatch.setattr(daemon, "status", watched)
    request = bench.submit({"kind": "sandbox", "snippet": "sleep 0.05"})
    done = bench.message_loop_at_depth(daemon, 100, 4, 10, request)
    assert queued[-1] >= 0.9 * 100 - 2 * bench.PROCESSORS
    assert len(done["cpu_ns"]) == 1 and done["cpu_ns"][0] > 0
    daemon.await_idle()


def test_echo_answers_with_as_many_bytes(daemon):
    size = bench.message_loop(daemon.socket, 10, *protocol_rate.KINDS["job without a child"])["answer_bytes"]
    request, answer = protocol_rate.KINDS["job without a child"]
    with protocol_rate.echo(daemon, answer, size) as socket:
        assert bench.message_loop(socket, 500, request, answer, ["-w64"])["answer_bytes"] == size


def test_plain_loop_gives_each_its_input_and_fails_with_them(tmp_path):
    asked = tmp_path / "asked"
    asked.write_text("right\n")
    check = ["/bin/sh", "-c", 'read -r line && test "$line" = right && test "$(readlink /proc/$$/fd/1)" = /dev/null']
    assert bench.fork_loop(6, 2, *check, options=["-i", asked])["latencies_ns"] == []
    assert len(bench.fork_loop(6, 1, *check, options=["-i", asked])["latencies_ns"]) == 6
    asked.write_text("wrong\n")
    with pytest.raises(bench.NotMeasured, match="fork-loop ended with 1"):
        bench.fork_loop(6, 2, *check, options=["-i", asked])


def test_the_loop_of_a_careful_judge_gives_each_test_a_directory_and_limits(tmp_path):
    """What it is compared for: each sees nothing of the one before, has limits, and leaves nothing."""
    program, guarded = tmp_path / "program", tmp_path / "guarded"
    program.write_text('#!/bin/sh\nread -r word\necho "$word $1 $(ls) $(ulimit -n)"\n: >left\n')
    program.chmod(0o755)
    guarded.mkdir()
    plain = program_rate.Set(tmp_path / "tests")
    for word in ("one", "two", "three"):
        plain.add(f"{word}\n", f"{word} argument main 256\n", program, "argument")
    assert plain.rate(2, ["-g", guarded]) > 0 and not list(guarded.iterdir())
    plain.add("four\n", "something else\n", program, "argument")
    with pytest.raises(bench.NotMeasured, match="3 of 4 tests pass"):
        plain.rate(1, ["-g", guarded])


@pytest.mark.parametrize("rubric", [rubrics.SMALL, rubrics.SHIPPED], ids=lambda rubric: rubric.task_class)
def test_rubrics_have_the_scores_that_are_expected_of_them(daemon, rubric):
    root = daemon.directory / "bench"
    if not root.exists():
        rubrics.install(daemon)
    jobs = daemon.write_jobs("jobs", (rubrics.job_for(root, rubric, n, warm=False) for n in range(8)))
    assert daemon.rate(jobs, 8, lambda result: rubrics.is_right(result, rubric, "cold")) > 0
    with pytest.raises(bench.NotMeasured, match="8 not as expected"):
        daemon.rate(jobs, 8, lambda result: rubrics.is_right(result, rubric, "warm"))
    assert rubric_rate.runner_rate(jobs, rubric, 8, 4) > 0


def test_asyncio_runner_fails_as_it_is_told_to(tmp_path):
    scripts = {
        "good": 'print(\'{"passed": true, "score": 1}\')',
        "crash": "raise SystemExit(3)",
        "nonsense": "print('no JSON')",
        "slow": "import time; time.sleep(60)",
        "env": "import json, os; print(json.dumps({'passed': True, 'score': int(os.environ.keys() == "
               "{'PATH', 'LANG', 'PYTHONHASHSEED', 'PYTHONIOENCODING'})}))",
    }  # fmt: skip
    lines = []
    for name, script in scripts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "rubric.py").write_text(script)
        case = {"rubric_wall_clock_seconds": 0.5} if name == "slow" else {}
        lines.append({"bench_root": str(tmp_path), "task_class": name, "case": case, "harness_output": {}})
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    output = subprocess.check_output([PYTHON, BENCH / "asyncio_runner.py", jobs, "2"])
    assert json.loads(output)["scores"] == [1, 0, 0, 0, 1]


OWN = tasks.own_tasks()


@pytest.mark.parametrize("how", ["plain", "fork"])
def test_runners_without_a_judge_tell_right_answers_from_wrong_ones(how):
    right = code_rate.pairs_of(OWN, tasks.canonical_answers(OWN, len(OWN)))
    wrong = code_rate.pairs_of(OWN, tasks.own_answers(2 * len(OWN))[len(OWN) :])
    assert code_rate.run_without(how, [tasks.program(*pair) for pair in right])["passed"] == len(OWN)
    assert code_rate.run_without(how, [tasks.program(*pair) for pair in wrong])["passed"] == 0


def test_a_program_that_does_not_end_is_ended():
    for how in ("plain", "fork"):
        assert code_rate.run_without(how, ["while True: pass", "x = 1"])["passed"] == 1


def test_judged_code_has_the_verdicts_of_a_plain_process(daemon):
    pairs = code_rate.pairs_of(OWN, tasks.own_answers(3 * len(OWN)))
    jobs = daemon.write_jobs("judged", (tasks.job(*pair) for pair in pairs))
    assert code_rate.judge(daemon, jobs)[1] == len(OWN)
    rows = {row.what: row.values for row in code_rate.part_rows("x", daemon, pairs, 1)}
    assert min(map(min, rows.values())) > 0, rows
    parts = sum(values[0] for what, values in rows.items() if not what.endswith("all"))
    assert rows["x, CPU per job, all"][0] == pytest.approx(parts)


def test_our_own_work_does_not_count_as_other_work(monkeypatch):
    """Of 200 s of processor time 100 s are busy, 90 s of them with our own work; the host takes 4 s."""
    processors = table.Processors()
    processors.before = (0.0, 0.0, 0.0, 0.0)
    monkeypatch.setattr(processors, "_now", lambda: (200.0, 100.0, 4.0, 90.0))
    assert processors.besides() == "5% of the processors' time; 2% taken by the host of this machine"


def test_time_of_children_is_ours():
    before = table.Processors().before
    subprocess.run(["/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"], check=True)
    assert table.Processors().before[3] > before[3]


def test_a_missing_build_is_reported(monkeypatch):
    monkeypatch.setattr(bench, "RUBRICD", BUILD / "no-such-daemon")
    with pytest.raises(bench.NotMeasured, match="no-such-daemon: name a build with RUBRICD_BUILD"):
        bench.Daemon()


# --- two builds in turn ----------------------------------------------------------------------


def test_who_goes_first_alternates():
    assert list(compare.order(3)) == [True, False, False, True, True, False]


@pytest.mark.parametrize("count, rank", [(5, None), (6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (30, 10)])
def test_the_interval_is_that_of_the_sign_test(count, rank):
    """The ranks of the usual tables for 95 %."""
    values = [number * 7 % count for number in range(count)] if count % 7 else list(range(count))
    assert compare.interval(values) == (None if rank is None else (rank - 1, count - rank))


def test_the_interval_has_the_median_as_often_as_it_says():
    chance, runs = random.Random(1), 2000
    found = sum(low <= 0 <= high for low, high in
                (compare.interval([chance.expovariate(1) - math.log(2) for _ in range(12)]) for _ in range(runs)))  # fmt: skip
    assert 0.95 * runs <= found < 0.99 * runs


def test_each_ratio_is_of_neighbours():
    """The host halves its speed in each round, which the medians show and the ratios do not."""
    name = ("a", "rate", "/s")
    turns = [({name: 102 / 2**turn}, {name: 100 / 2**turn}) for turn in range(9)]
    (row,) = compare.comparisons(turns)
    assert (row.ratio, *row.bounds) == pytest.approx((1.02, 1.02, 1.02)) and row.differs()
    assert table.comparison_cells(row)[1:] == ("rate, /s", "6.38", "6.25", "1.020 (1.020 to 1.020)", "differs")


@pytest.mark.parametrize("ours, theirs, ratio", [
    ([1.0, 3.0], [1.0, 0.0], "no ratio to 0"),
    ([1.0, 3.0], [1.0, 1.5], "1.500 (too few rounds)"),
    ([1.0, 3.0], [1.0, "perf is missing"], "not measured with the other: perf is missing"),
    (["no root", 3.0], [1.0, 1.5], "not measured with this build: no root"),
])  # fmt: skip
def test_what_has_no_interval_says_why(ours, theirs, ratio):
    name = ("a", "x", "")
    (row,) = compare.comparisons([({name: a}, {name: b}) for a, b in zip(ours, theirs)])
    assert table.comparison_cells(row)[4:] == (ratio, "")


def test_a_row_that_one_build_lacks():
    old, new = ("a", "old", ""), ("a", "new", "")
    rows = list(compare.comparisons([({old: 1.0, new: 1.0}, {old: 1.0})] * 2))
    assert [row.missing for row in rows] == ["", "not measured with the other: it has no such row"]


PART = """
import os, sys
sys.path.insert(0, {bench!r})
import table
table.surroundings = dict
def measure(scale):
    with open({log!r}, "a") as log:
        log.write(os.environ["RUBRICD_BUILD"] + "\\n")
    assert os.environ["RUBRICD_BENCH_PROGRAMS"] == os.path.join({ours!r}, "tests")
    yield table.Row("a", "rate", [2.0 if os.environ["RUBRICD_BUILD"] == {ours!r} else 1.0], "/s")
table.main("", measure)
"""


def test_a_part_runs_with_both_builds(tmp_path):
    script, log, other = tmp_path / "part.py", tmp_path / "log", tmp_path / "other"
    (other / "daemon").mkdir(parents=True)
    (other / "daemon" / "rubricd").touch()
    script.write_text(PART.format(bench=str(BENCH), log=str(log), ours=str(BUILD.resolve())))
    done = subprocess.run([PYTHON, script, "--compare", other, "--rounds", "6"], text=True, capture_output=True,
                          env={**os.environ, "RUBRICD_BUILD": str(BUILD.resolve())}, check=True)  # fmt: skip
    assert "a  rate, /s  2.00        1.00       2.000 (2.000 to 2.000)  differs" in done.stdout.splitlines()
    ours, theirs = str(BUILD.resolve()), str(other)
    assert log.read_text().split() == [ours, theirs, theirs, ours] * 3


def test_a_build_to_compare_with_that_is_none(tmp_path):
    done = subprocess.run([PYTHON, BENCH / "start.py", "--compare", tmp_path], text=True, capture_output=True, check=False,
                          env={**os.environ, "RUBRICD_BUILD": str(BUILD)})  # fmt: skip
    assert (done.returncode, done.stderr) == (1, f"not measured: --compare: there is no {tmp_path}/daemon/rubricd\n")
