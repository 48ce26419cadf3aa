# SPDX-License-Identifier: MIT
"""rubricctl grade runs the data set's own solutions, the references, before the samples: they decide how each
task is graded, and samples do not. A stand-in replaces the daemon in most tests, as in test_grade.py."""

import json
import signal
import subprocess

import pytest
import schema_check
from conftest import DEADLINE, RUBRICCTL, wait_until
from test_grade import ADD, HALF, HELLO, TWICE, FakeDaemon, Place, announced, complaints, error, failing, passing

OWN = {ADD["canonical_solution"], TWICE["canonical_solution"], HALF["code"]}
LIMITS = {kind: {"code_exec": {"wall_clock": s}} for kind, s in (("defaults", 3), ("ceilings", 30))}
LACKS = "the job's {} import{} the module numpy, which the Python of this host does not have"


class Graded(Place):
    """A directory in which tests grade with a preflight."""

    def command(self, *arguments, daemon=None):
        socket_option = ["--socket", daemon.path] if daemon else []
        return [RUBRICCTL, *socket_option, *arguments]

    def lines(self, name="samples.jsonl_results.jsonl"):
        lines = [json.loads(line) for line in self.path(name).read_text().splitlines()]
        for line in lines:
            schema_check.validate_by("run", line["run"])
        return lines


@pytest.fixture(name="place")
def make_place(tmp_path):
    return Graded(tmp_path)


@pytest.fixture(name="fake")
def make_fakes(tmp_path):
    """Returns a function that starts a stand-in whose answers say in which mode the job was."""
    made = []

    def make(answer=None, **kwargs):
        def with_mode(job):
            message = (answer or (lambda job: passing()))(job)
            mode = job.get("verdict", "isolated")
            return {"mode": mode, **message} if message and message["type"] == "result" else message

        made.append(FakeDaemon(tmp_path / f"s{len(made)}", with_mode, defaults=LIMITS["defaults"],
                               ceilings=LIMITS["ceilings"], **kwargs))  # fmt: skip
        return made[-1]

    yield make
    for daemon in made:
        daemon.close()


def is_reference(job):
    return job.get("code") in OWN


def of_reference(isolated, shared=None):
    """Answers a reference with ISOLATED or SHARED, by the mode of its job, and passes samples with "good"."""

    def answer(job):
        if is_reference(job):
            return shared if job.get("verdict") == "shared" else isolated
        return passing() if "good" in job.get("code", "") else failing()

    return answer


def samples_of(*tasks, text="good"):
    return [{"task_id": task["task_id"], "completion": text} for task in tasks]


def references(daemon):
    return [id for id in daemon.jobs if ":reference" in id]


def test_the_stand_in_has_limits_like_the_daemon():
    schema = json.loads((schema_check.SCHEMAS / "hello.schema.json").read_text())
    assert set(LIMITS) <= set(schema["properties"]["limits"]["properties"])
    assert HELLO["protocol"] == 1


def test_references_run_first(place, fake):
    """Isolated, with all the time that a job may have, and only those of tasks that have samples."""
    daemon = fake()
    place.write("tasks.jsonl", ADD, TWICE, HALF)
    place.write("samples.jsonl", *samples_of(ADD, HALF, ADD))
    done = place.grade(daemon, "--k", "1")
    assert complaints(done) == ['tasks.jsonl:2: task "Own/1" has no sample']
    assert list(daemon.jobs) == ["Own/0:reference", "7:reference", "Own/0:0", "7:0", "Own/0:1"]
    assert daemon.jobs["7:reference"] == {
        "kind": "code_exec",
        "code": HALF["code"],
        "targets": HALF["test_list"],
        "names": ["half"],
        "metadata": {"timeout_s": 30.0},
    }
    assert daemon.jobs["7:0"].keys() == {"kind", "code", "targets", "names"}
    assert daemon.jobs["Own/0:reference"]["code"] == ADD["canonical_solution"]
    for line in place.lines():
        assert line["run"]["mode"] == "isolated"
        assert line["run"]["preflight"]["reference"] == "passed"
        assert line["run"]["preflight"]["mode"] == "isolated"


def test_references_have_the_memory_of_the_option(place, fake):
    daemon = fake()
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *samples_of(ADD))
    assert place.grade(daemon, "--k", "1", "--memory", "4G").returncode == 0
    assert [job["limits"] for job in daemon.jobs.values()] == [{"memory_bytes": 4 << 30}] * 2


def test_the_summary_says_what_the_preflight_cost(place, fake):
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *samples_of(ADD))
    done = place.run("grade", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl", daemon=fake())
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("preflight: ")]
    assert said.startswith("preflight: 1 run of reference solutions in ")
    assert said.endswith("; of the tasks 1 isolated, 0 shared, 0 broken, 0 without a verdict; 0 time limits raised")
    assert "1 job: 1 passed, 0 failed, 0 errors" in done.stderr, "references are no samples"


def test_references_run_at_the_same_time(place, fake):
    """The daemon answers pairs of jobs only."""
    daemon = fake(hold=2, jobs_per_client=2)
    place.write("tasks.jsonl", *[{**ADD, "task_id": str(n)} for n in range(6)])
    place.write("samples.jsonl", *[{"task_id": str(n), "completion": "good"} for n in range(6)])
    assert place.grade(daemon, "--k", "1").returncode == 0
    assert len(references(daemon)) == 6


def test_a_task_that_only_passes_in_one_process(place, fake):
    """All of its samples are graded so; it is named, counted and labelled."""
    daemon = fake(of_reference(failing(), passing()))
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *samples_of(ADD, ADD), *samples_of(ADD, text="bad"))
    done = place.grade(daemon, "--k", "1")
    assert complaints(done) == [
        'tasks.jsonl:1: task "Own/0" is graded shared: its reference solution passes only in one process with the tests'
    ]
    assert references(daemon) == ["Own/0:reference", "Own/0:reference:shared"]
    assert [daemon.jobs[f"Own/0:{n}"].get("verdict") for n in range(3)] == ["shared"] * 3
    text = [
        "1 task, 3 samples, 2 correct",
        "shared: 3 samples of 1 task ran in one process with the tests, where code can forge its verdict",
        "pass@1:    0.6667 (1 task shared)",
    ]
    assert (done.returncode, done.stdout.splitlines()) == (1, text)
    assert [line["run"]["mode"] for line in place.lines()] == ["shared"] * 3
    again = place.run("passk", "--k", "1", "samples.jsonl_results.jsonl")
    assert again.stdout.splitlines() == text
    done = place.grade(fake(of_reference(failing(), passing())), "--json", "--force")
    report = json.loads(done.stdout)
    assert (report["shared_tasks"], report["shared_samples"], report["complete"]) == (1, 3, True)


def test_a_reference_without_the_entry_point(place, fake):
    detail = "KeyError: 'addd'"
    daemon = fake(of_reference(failing(detail=detail), failing(detail=detail)))
    place.write("tasks.jsonl", {**ADD, "entry_point": "addd"})
    place.write("samples.jsonl", *samples_of(ADD))
    assert complaints(place.grade(daemon)) == [
        'tasks.jsonl:1: task "Own/0" is broken: its reference solution does not define entry_point addd'
    ]


def test_a_broken_task(place, fake):
    """Its samples are graded, in isolation; what that is worth stands beside pass@k."""
    daemon = fake(of_reference(failing(), failing(detail="0 of 1 assertions passed")))
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *samples_of(ADD))
    done = place.grade(daemon, "--k", "1")
    assert complaints(done) == [
        'tasks.jsonl:1: task "Own/0" is broken: its reference solution fails its tests (assertion_fail: 0 of 1 '
        "assertions passed)"
    ]
    text = [
        "1 task, 1 sample, 1 correct",
        "broken: 1 task that the data set's own solution fails",
        "pass@1:    1.0000 (1 task broken)",
    ]
    assert (done.returncode, done.stdout.splitlines()) == (0, text)
    assert "verdict" not in daemon.jobs["Own/0:0"]
    (line,) = place.lines()
    assert line["run"]["preflight"]["reference"] == "broken"
    assert place.run("passk", "--k", "1", "samples.jsonl_results.jsonl").stdout.splitlines() == text


def test_a_module_that_is_missing_is_said_once(place, fake):
    """Also if some tests and some preludes need it. It is an error of each sample, not a verdict."""
    def answer(job):
        message = LACKS.format("prelude", "s") if "targets" in job else LACKS.format("tests", "")
        return {**error("module_not_found", message), "retriable": False}

    daemon = fake(answer)
    place.write("tasks.jsonl", ADD, TWICE, HALF)
    place.write("samples.jsonl", *samples_of(ADD, ADD, TWICE, HALF))
    done = place.grade(daemon, "--k", "1")
    assert complaints(done) == [f"3 tasks cannot be graded: {LACKS.format('tests', '')}"]
    assert done.returncode == 4
    assert done.stdout.splitlines()[1] == "incomplete: 4 not graded (an error, no verdict)"
    assert len(references(daemon)) == 3, "another mode does not help"
    assert {line["run"]["preflight"]["reference"] for line in place.lines()} == {"error"}


def test_a_reference_without_a_verdict(place, fake):
    daemon = fake(of_reference(error()))
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *samples_of(ADD))
    done = place.grade(daemon, "--k", "1")
    assert complaints(done) == [
        'tasks.jsonl:1: task "Own/0": its reference solution has no verdict (not graded: internal: the disk is full)'
    ]
    assert done.returncode == 0
    # That decided nothing, so the next run asks again.
    daemon = fake(of_reference(failing(), passing()))
    place.write("samples.jsonl", *samples_of(ADD, ADD))
    assert place.grade(daemon, "--resume", "--k", "1").returncode == 0
    assert [line["run"]["mode"] for line in place.lines()] == ["shared", "shared"]


def test_a_time_limit_that_is_too_tight(place, fake):
    """It becomes four times what the reference takes, at most what the daemon allows."""
    def took(wall, wait=0):
        return passing(usage={"wall_clock_ms": wall, "cpu_wait_ms": wait, "cpu_ms": wall - wait,
                              "max_rss_bytes": 1, "queue_ms": 0})  # fmt: skip

    times = {ADD["canonical_solution"]: took(2200), TWICE["canonical_solution"]: took(9000), HALF["code"]: took(2000, 1500)}
    daemon = fake(lambda job: times.get(job["code"], passing()))
    place.write("tasks.jsonl", ADD, TWICE, HALF)
    place.write("samples.jsonl", *samples_of(ADD, TWICE, HALF))
    done = place.run("grade", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl", daemon=daemon)
    said = [line.removeprefix("rubricctl: ") for line in done.stderr.splitlines() if "time limit raised" in line]
    assert said == [
        'tasks.jsonl:1: task "Own/0": time limit raised from 3 s to 9 s, about 4 times what the reference takes (2.2 s)',
        'tasks.jsonl:2: task "Own/1": time limit raised from 3 s to 30 s, the most that is allowed; the reference takes '
        "9.0 s",
    ]
    assert daemon.jobs["Own/0:0"]["metadata"] == {"timeout_s": 9.0}
    assert daemon.jobs["Own/1:0"]["metadata"] == {"timeout_s": 30.0}
    assert "metadata" not in daemon.jobs["7:0"], "waiting for a CPU does not count"
    notes = [line["run"]["preflight"] for line in place.lines()]
    assert [note.get("timeout_s") for note in notes] == [9.0, 30.0, None]
    assert [note["wall_clock_ms"] for note in notes] == [2200, 9000, 500]
    # The same holds for a limit of the user's own.
    daemon = fake(lambda job: times.get(job["code"], passing()))
    assert place.grade(daemon, "--force", "--timeout", "1").returncode == 0
    assert [daemon.jobs[id]["metadata"]["timeout_s"] for id in ("Own/0:0", "Own/1:0", "7:0")] == [9.0, 30.0, 2.0]


def test_isolated_only(place, fake):
    """Shared verdicts are refused: the tasks are named, left out of pass@k, and counted."""
    def answer(job):
        if job["code"] == ADD["canonical_solution"]:
            return passing() if job.get("verdict") == "shared" else failing()
        return passing()

    daemon = fake(answer)
    place.write("tasks.jsonl", ADD, TWICE)
    place.write("samples.jsonl", *samples_of(ADD, ADD, TWICE))
    done = place.grade(daemon, "--isolated-only", "--k", "1")
    assert complaints(done) == [
        'tasks.jsonl:1: task "Own/0" is not graded (--isolated-only): its reference solution passes only in one process '
        "with the tests"
    ]
    assert [id for id in daemon.jobs if "reference" not in id] == ["Own/1:0"]
    text = [
        "2 tasks, 1 sample, 1 correct",
        "incomplete: 2 refused (a shared verdict; --isolated-only)",
        "pass@1:    1.0000 (incomplete; 1 task refused)",
    ]
    assert (done.returncode, done.stdout.splitlines()) == (4, text)
    # Shared verdicts of an earlier run stay in the file, but do not count.
    assert place.grade(fake(answer), "--force").returncode == 0
    done = place.grade(fake(answer), "--resume", "--isolated-only", "--k", "1")
    assert (done.returncode, done.stdout.splitlines()) == (4, text)
    assert len(place.lines()) == 3 and "no longer in the input" not in done.stderr


def test_no_preflight(place, fake):
    daemon = fake(of_reference(failing(), passing()))
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *samples_of(ADD))
    done = place.grade(daemon, "--no-preflight", "--k", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(daemon.jobs) == ["Own/0:0"] and "verdict" not in daemon.jobs["Own/0:0"]
    assert "preflight" not in place.lines()[0]["run"]


def test_shared_by_option(place, fake):
    """Then references run in that mode only, and none is named for it."""
    daemon = fake(of_reference(failing(), passing()))
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *samples_of(ADD))
    done = place.grade(daemon, "--shared", "--k", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert references(daemon) == ["Own/0:reference:shared"]
    assert done.stdout.splitlines()[2] == "pass@1:    1.0000 (1 task shared)"


def test_data_sets_without_references(place, fake):
    lacking = {name: value for name, value in ADD.items() if name != "canonical_solution"}
    daemon = fake()
    place.write("tasks.jsonl", lacking)
    place.write("samples.jsonl", *samples_of(ADD))
    arguments = ["grade", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl", "--force", "--k", "1"]
    done = place.run(*arguments, daemon=daemon)
    assert "rubricctl: tasks.jsonl: no preflight: the data set has no reference solutions" in done.stderr.splitlines()
    assert (done.returncode, list(daemon.jobs)) == (0, ["Own/0:0"])
    place.write("tasks.jsonl", lacking, TWICE)
    place.write("samples.jsonl", *samples_of(ADD, TWICE))
    daemon = fake()
    done = place.run(*arguments, daemon=daemon)
    assert "rubricctl: tasks.jsonl: no preflight of 1 task without a reference solution" in done.stderr.splitlines()
    assert references(daemon) == ["Own/1:reference"]


def test_only_samples_that_are_wanted_need_references(place, fake):
    place.write("tasks.jsonl", ADD, TWICE, HALF)
    place.write("samples.jsonl", *samples_of(ADD, TWICE, TWICE, HALF))
    daemon = fake()
    place.grade(daemon, "--filter", "Own/*:0", "--limit", "1")
    assert list(daemon.jobs) == ["Own/0:reference", "Own/0:0"]
    daemon = fake()
    place.grade(daemon, "--filter", "Own/1:1", "--force")
    assert list(daemon.jobs) == ["Own/1:reference", "Own/1:1"]
    daemon = fake()
    place.run("grade", "-q", "--dataset", "tasks.jsonl", "--canonical", "--limit", "2", daemon=daemon)
    assert list(daemon.jobs) == ["Own/0:reference", "Own/1:reference", "Own/0:0", "Own/1:0"]


def test_samples_of_a_stream(place, fake):
    """They can be read only once, so the references of all tasks run."""
    daemon = fake()
    place.write("tasks.jsonl", ADD, TWICE)
    arguments = ["grade", "-q", "--dataset", "tasks.jsonl", "--samples", "-", "-o", "out", "--k", "1"]
    place.run(*arguments, daemon=daemon, stdin=json.dumps(samples_of(ADD)[0]))
    assert list(daemon.jobs) == ["Own/0:reference", "Own/1:reference", "Own/0:0"]


# Runs that go on


def test_a_resumed_run_decides_the_same(place, fake):
    """The references would now say something else, and are not asked."""
    place.write("tasks.jsonl", ADD, TWICE)
    place.write("samples.jsonl", *samples_of(ADD))
    assert place.grade(fake(of_reference(failing(), passing()))).returncode == 2
    place.write("samples.jsonl", *samples_of(ADD, ADD, TWICE))
    daemon = fake()
    done = place.grade(daemon, "--resume", "--k", "1")
    assert list(daemon.jobs) == ["Own/1:reference", "Own/0:1", "Own/1:0"]
    assert [line["run"]["mode"] for line in place.lines()] == ["shared", "shared", "isolated"]
    assert done.stdout.splitlines()[-1] == "pass@1:    1.0000 (1 task shared)"
    # The task is another one now, so it is decided anew, and its samples have changed.
    place.write("tasks.jsonl", {**ADD, "test": ADD["test"] + "\n"}, TWICE)
    daemon = fake()
    done = place.grade(daemon, "--resume", "--k", "1")
    assert list(daemon.jobs) == ["Own/0:reference", "Own/0:0", "Own/0:1"]
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "pass@1:    1.0000")


def test_names_and_modes_are_part_of_a_job(place, fake):
    """A sample that was graded without them is graded again."""
    place.write("tasks.jsonl", HALF)
    place.write("samples.jsonl", *samples_of(HALF))
    assert place.grade(fake(), "--no-preflight", "--k", "1").returncode == 0
    (before,) = place.lines()
    daemon = fake()
    assert place.grade(daemon, "--resume", "--k", "1").returncode == 0
    assert references(daemon) == list(daemon.jobs), "isolated, with the usual limit: the same job"
    place.path("samples.jsonl_results.jsonl").unlink()
    assert place.grade(fake(of_reference(failing(), passing())), "--k", "1").returncode == 0
    assert place.lines()[0]["run"]["job_digest"] != before["run"]["job_digest"]
    place.write("tasks.jsonl", {**HALF, "code": "half = lambda a: a / 2\ndef more(): pass\n"})
    daemon = fake()
    place.grade(daemon, "--force", "--k", "1")
    assert daemon.jobs["7:0"]["names"] == ["half"]
    place.write("tasks.jsonl", {**HALF, "code": "from x import half\n"})
    daemon = fake()
    place.grade(daemon, "--resume", "--k", "1")
    assert "names" not in daemon.jobs["7:0"]


def interrupted(place, daemon, signals=1):
    process = place.start("grade", "-q", "--k", "1", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl",
                          daemon=daemon)  # fmt: skip
    wait_until(lambda: len(daemon.jobs) == 2, "the references are in flight")
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
    out, text = process.communicate(timeout=DEADLINE)
    return process.returncode, announced(out)[1], text


def test_interrupted_while_references_run(place, fake):
    """One signal cancels them, since nobody needs their answers. No sample is graded, and the run can go on."""
    daemon = fake(lambda job: None)
    place.write("tasks.jsonl", ADD, TWICE)
    place.write("samples.jsonl", *samples_of(ADD, TWICE))
    status, out, text = interrupted(place, daemon)
    assert (status, out) == (130, "")
    assert text.splitlines() == [
        "rubricctl: cancelling 2 jobs",
        "rubricctl: no sample was graded: the reference solutions come first (--no-preflight leaves them out)",
    ]
    assert daemon.cancelled == ["Own/0:reference", "Own/1:reference"]
    assert sorted(daemon.jobs) == sorted(daemon.cancelled)
    assert place.lines() == []
    assert place.grade(fake(), "--resume", "--k", "1").returncode == 0
    assert len(place.lines()) == 2


def test_a_daemon_that_is_lost_while_references_run(place, fake):
    daemon = fake(lambda job: None, hang_up_after=1)
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *samples_of(ADD))
    done = place.grade(daemon, "--no-reconnect")
    assert (done.returncode, done.stdout) == (3, "")
    assert complaints(done)[-1].startswith("no sample was graded")
    assert list(daemon.jobs) == ["Own/0:reference"]


def test_a_reference_that_is_too_large(place, fake):
    """It is not the sample's fault, which is graded."""
    daemon = fake()
    big = {**ADD, "canonical_solution": "    return a + b\n" + "#" * (1 << 20)}
    place.write("tasks.jsonl", big)
    place.write("samples.jsonl", *samples_of(ADD))
    done = place.grade(daemon, "--k", "1")
    (said,) = complaints(done)
    assert said.startswith('tasks.jsonl:1: task "Own/0": its reference solution has no verdict (too large: ')
    assert (done.returncode, list(daemon.jobs)) == (0, ["Own/0:0"])


# Samples have no part in it


CLAIMS = {
    "mode": "shared",
    "verdict": "shared",
    "names": ["evil"],
    "timeout_s": 30,
    "metadata": {"timeout_s": 30},
    "canonical_solution": "    return a + b # evil\n",
    "code": "evil",
}


def test_a_sample_does_not_decide_its_mode(place, fake):
    """Whatever its line says, also if it is that of an earlier run, forged."""
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *samples_of(ADD))
    assert place.grade(fake(of_reference(failing(), passing()))).returncode == 0
    run = place.lines()[0]["run"]
    assert run["preflight"]["mode"] == "shared"
    sample = samples_of(ADD, text="good # evil")[0]
    forged = {**run, "id": "Own/0:0"}
    place.write("samples.jsonl", {**CLAIMS, **sample, "run": forged, "preflight": run["preflight"]})
    for arguments in (["--force"], ["--resume"]):
        daemon = fake()
        done = place.grade(daemon, *arguments, "--k", "1")
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "pass@1:    1.0000")
        jobs = [job for id, job in daemon.jobs.items() if id == "Own/0:0"]
        assert all(job.keys() == {"kind", "code", "prelude", "test", "entry_point"} for job in jobs)
        (line,) = place.lines()
        assert line["run"]["mode"] == "isolated" and line["run"]["preflight"]["mode"] == "isolated"


# With a real daemon


TASKS = [
    ("isolated", "def f(x):\n    return x + 1\n", ["assert f(1) == 2"]),
    ("shared", "def f(x):\n    return x + 1\n", ["assert f.__globals__ is globals()", "assert f(1) == 2"]),
    ("broken", "def f(x):\n    return x + 1\n", ["assert f(1) == 3"]),
    ("lacking", "def f(x):\n    return x + 1\n", ["import no_such_module\nassert f(1) == 2"]),
    (
        "library",
        "def mean(xs):\n    return sum(xs) / len(xs)\ndef total(xs):\n    return sum(xs)\n",
        ["assert mean([1, 3]) == 2", "assert total([1, 3]) == 4"],
    ),
]
SQUARE = "def sq(x):\n    return x * x\n"


def graded(place, samples, *arguments):
    place.write("tasks.jsonl", *[{"task_id": id, "code": code, "test_list": tests} for id, code, tests in TASKS])
    place.write("samples.jsonl", *[{"task_id": id, "solution": code} for id, code in samples])
    return grade_for_real(place, *arguments)


def grade_for_real(place, *arguments):
    return subprocess.run(
        [RUBRICCTL, "grade", "--embedded", "--slots", "2", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl",
         "--k", "1", "--force", *arguments],
        cwd=place.directory, capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip


def test_a_real_daemon(place):
    samples = [(id, code) for id, code, _ in TASKS]
    # It would be shared if it could: the code reaches its tests there.
    forger = "import sys\ndef f(x):\n    sys.exit(0)\n"
    done = graded(place, [*samples, ("isolated", forger)])
    said = "\n".join(done.stderr.splitlines())
    assert 'task "shared" is graded shared' in said and 'task "broken" is broken' in said, said
    assert "1 task cannot be graded: the job's tests import the module no_such_module" in said, said
    assert "of the tasks 2 isolated, 1 shared, 1 broken, 1 without a verdict" in said, said
    assert done.returncode == 4
    lines = {(line["task_id"], line["sample"]): line for line in place.lines()}
    assert {key: (line["verdict"], line["run"].get("mode")) for key, line in lines.items()} == {
        ("isolated", 0): ("pass", "isolated"),
        ("isolated", 1): ("assertion_fail", "isolated"),
        ("shared", 0): ("pass", "shared"),
        ("broken", 0): ("assertion_fail", "isolated"),
        ("lacking", 0): (None, None),
        ("library", 0): ("pass", "isolated"),
    }
    done = graded(place, samples[:2], "--isolated-only")
    assert "pass@1:    1.0000 (incomplete; of 1 of 5 tasks; 1 task refused)" in done.stdout
    assert [line["task_id"] for line in place.lines()] == ["isolated"]


# Tests that any code would pass in one process with them.
USELESS = {
    "pytest": {"test_list": ["def test_sq():\n    assert sq(3) == 9"]},
    "a comment": {"test_list": ["# assert sq(3) == 9"]},
    "a text": {"test_list": ["'''assert sq(3) == 9'''"]},
    "a lambda": {"test_list": ["assert lambda: sq(3) == 9"]},
    "a tuple": {"test_list": ["assert sq(3) == 9", "assert (sq(3) == 9, 'wrong')"]},
    "no cases": {"test_list": ["for x in []:\n    assert sq(x) == 9"]},
    "a coroutine": {"test": "async def check(sq):\n    assert sq(3) == 9"},
    "a generator": {"test": "def check(sq):\n    yield sq(3) == 9"},
    "a return": {"test": "def check(sq):\n    return\n    assert sq(3) == 9"},
}


def test_tests_that_ask_nothing(place):
    """Such a task is broken, and nothing passes it."""
    tasks = []
    for id, tests in USELESS.items():
        more = {"code": SQUARE} if "test_list" in tests else {"prompt": "", "canonical_solution": SQUARE, "entry_point": "sq"}
        tasks.append({"task_id": id, **more, **tests})
    place.write("tasks.jsonl", *tasks)
    place.write("samples.jsonl", *[{"task_id": id, "solution": "def sq(x):\n    return None\n"} for id in USELESS])
    done = grade_for_real(place)
    said = [line for line in done.stderr.splitlines() if " is broken: " in line]
    assert [line.split('"')[1] for line in said] == list(USELESS), done.stderr
    assert "of the tasks 0 isolated, 0 shared, 9 broken, 0 without a verdict" in done.stderr, done.stderr
    assert said[0].endswith(
        "its tests cannot be used (not graded: bad_request: job.targets[0]: nothing that could fail runs in it)"
    )
    assert said[-1].endswith("its reference solution fails its tests (error: the tests ask nothing of the code)")
    lines = place.lines()
    assert len(lines) == len(USELESS)
    assert not any(line["passed"] or line["run"].get("mode") == "shared" for line in lines), lines


def test_names_from_the_reference(place):
    """Without them, code that defines `mean` beside `total` would have to be refused."""
    wrong = "def mean(xs):\n    return 0\ndef total(xs):\n    return sum(xs)\n"
    done = graded(place, [("library", TASKS[4][1]), ("library", wrong)])
    assert done.returncode == 2, done.stderr  # the other tasks have no samples
    lines = sorted(place.lines(), key=lambda line: line["sample"])  # two slots: they end in any order
    assert [(line["verdict"], line["score"]) for line in lines] == [("pass", 1.0), ("assertion_fail", 0.5)]
