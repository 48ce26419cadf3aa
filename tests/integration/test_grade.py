# SPDX-License-Identifier: MIT
"""rubricctl grade and passk turn data sets and samples into jobs, and their answers into results and pass@k.

These tests examine the client, so a stand-in replaces the daemon and answers as each test wants. Every way
in which input, output or daemon can be bad has a test."""

import gzip
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
from fractions import Fraction
from math import comb

import pytest
import schema_check
from conftest import DEADLINE, RUBRICCTL, wait_until

HELLO = {
    "type": "hello",
    "version": "0.1.0",
    "protocol": 1,
    "limits": {"max_frame": 1 << 20, "jobs_per_client": 256},
}

ADD = {
    "task_id": "Own/0",
    "prompt": "def add(a, b):\n",
    "entry_point": "add",
    "canonical_solution": "    return a + b\n",
    "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
}
TWICE = {
    "task_id": "Own/1",
    "prompt": "def twice(a):\n",
    "entry_point": "twice",
    "canonical_solution": "    return 2 * a\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
}
HALF = {
    "task_id": 7,
    "text": "Write a function that halves.",
    "code": "def half(a):\n    return a / 2\n",
    "test_list": ["assert half(4) == 2", "assert half(1) == 0.5"],
    "challenge_test_list": ["assert half(0) == 0"],
}


# "HumanEval, Python: 2 tasks, ..."
ANNOUNCED = re.compile(r"(?:[\w+/-]+, [^:\n]+: \d+ tasks?, .*\n)*")


def announced(text):
    """Returns the lines that say what is graded, and what follows them."""
    end = ANNOUNCED.match(text).end()
    return text[:end].splitlines(), text[end:]


def passing(**fields):
    score = {"passed": True, "score": 1.0, "failure_modes": []}
    return {"type": "result", "score": score, "verdict": "pass", **fields}


def failing(verdict="assertion_fail", score=0.0, detail=None, **fields):
    mode = {"code": f"code_exec.{verdict}", "severity": "block"}
    if detail is not None:
        mode["detail"] = detail
    return {
        "type": "result",
        "score": {"passed": False, "score": score, "failure_modes": [mode]},
        "verdict": verdict,
        **fields,
    }


def error(code="internal", message="the disk is full"):
    return {"type": "error", "code": code, "message": message, "retriable": True}


def by_text(job):
    """Passes code that contains "good" and the solutions of the data set itself."""
    text = job.get("code", job.get("generation"))
    own = [ADD["canonical_solution"], TWICE["canonical_solution"], HALF["code"]]
    return passing() if "good" in text or text in own else failing()


class FakeDaemon:
    """Serves one client after another. ANSWER(job) returns the message for a job without its id, or None
    for no answer. With HOLD, answers wait until HOLD jobs have come."""

    def __init__(self, path, answer=by_text, hold=1, last_first=False, hang_up_after=None, **limits):
        self.path = path
        self.answer = answer
        self.hold = hold
        self.last_first = last_first
        self.hang_up_after = hang_up_after
        self.hello = {**HELLO, "limits": {**HELLO["limits"], **limits}}
        self.languages = None
        self.jobs = {}
        self.cancelled = []
        self.wrong = None
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with sock:
                try:
                    self.talk(sock, sock.makefile("rb"))
                except (BrokenPipeError, ConnectionResetError):
                    pass
                except Exception as wrong:  # noqa: BLE001  the test shows it
                    self.wrong = wrong

    def status(self):
        """Of a status, what rubricctl grade looks at."""
        return {"type": "status", "version": "0.1.0", "languages": self.languages}

    @staticmethod
    def send(sock, message):
        payload = json.dumps(message).encode()
        sock.sendall(struct.pack(">I", len(payload)) + payload)

    def talk(self, sock, stream):
        self.send(sock, self.hello)
        held, answered = [], 0
        while len(header := stream.read(4)) == 4:
            (length,) = struct.unpack(">I", header)
            assert length <= self.hello["limits"]["max_frame"], length
            message = json.loads(stream.read(length))
            if message["type"] == "cancel":
                self.cancelled.append(message["id"])
                self.send(sock, {**error("cancelled", "cancelled"), "id": message["id"]})
                continue
            if message["type"] == "status":
                self.send(sock, error("bad_request", "does not tell") if self.languages is None else self.status())
                continue
            assert message["type"] == "submit", message
            assert message["id"] not in self.jobs, message
            self.jobs[message["id"]] = message["job"]
            held.append(message["id"])
            if len(held) < self.hold:
                continue
            for id in reversed(held) if self.last_first else held:
                answer = self.answer(self.jobs[id])
                if answer is not None:
                    self.send(sock, {"id": id, **answer})
                answered += 1
                if answered == self.hang_up_after:
                    return
            held = []

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(DEADLINE)
        if self.wrong:
            raise self.wrong


@pytest.fixture(name="fake")
def make_fakes(tmp_path):
    """Returns a function that starts a stand-in for the daemon, one at a time."""
    made = []

    def make(*args, **kwargs):
        made.append(FakeDaemon(tmp_path / f"s{len(made)}", *args, **kwargs))
        return made[-1]

    yield make
    for daemon in made:
        daemon.close()


class Place:
    """A directory in which a test keeps its files and runs commands."""

    def __init__(self, directory):
        self.directory = directory

    def path(self, name):
        return self.directory / name

    def write(self, name, *records):
        """Writes RECORDS as JSON Lines; a string becomes a line unchanged."""
        lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
        data = "".join(line + "\n" for line in lines).encode()
        self.path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return name

    def command(self, *arguments, daemon=None):
        if arguments[0] == "grade":  # test_preflight.py has tests of what comes before the samples
            arguments = ("grade", "--no-preflight", *arguments[1:])
        socket_option = ["--socket", daemon.path] if daemon else []
        return [RUBRICCTL, *socket_option, *arguments]

    def run(self, *arguments, daemon=None, stdin=""):
        """Runs the command. What `grade` first says of the data set is in `announced`, not in stdout."""
        done = subprocess.run(
            self.command(*arguments, daemon=daemon),
            input=stdin,
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        done.announced, done.stdout = announced(done.stdout)
        return done

    def start(self, *arguments, daemon=None):
        return subprocess.Popen(
            self.command(*arguments, daemon=daemon),
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def grade(self, daemon, *arguments, dataset="tasks.jsonl", samples="samples.jsonl"):
        return self.run(
            "grade", "--quiet", "--retries", "0", "--dataset", dataset, "--samples", samples, *arguments, daemon=daemon
        )

    def results(self, name="samples.jsonl_results.jsonl"):
        """Returns the results without their `run`, which has tests of its own."""
        lines = [json.loads(line) for line in self.path(name).read_text().splitlines()]
        for line in lines:
            schema_check.validate_by("run", line.pop("run"))
        return lines


@pytest.fixture(name="place")
def make_place(tmp_path):
    return Place(tmp_path)


def split_at_errors(lines):
    """Splits stderr of a quiet command into what it said during the run, and its summary of errors, which may be
    empty."""
    heads = [i for i, line in enumerate(lines) if line == "errors (these jobs have no verdict):"]
    return (lines[: heads[0]], lines[heads[0] + 1 :]) if heads else (lines, [])


def complaints(done):
    """Returns the lines of stderr without the program's name, up to the summary of the jobs without a verdict."""
    lines, _ = split_at_errors(done.stderr.splitlines())
    assert all(line.startswith("rubricctl: ") for line in lines), done.stderr
    return [line.removeprefix("rubricctl: ") for line in lines]


def mean_pass_at_k(counts, k):
    """Computes mean pass@k with exact fractions from COUNTS, (n, c) of each task."""
    values = [1 - Fraction(comb(n - c, k), comb(n, k)) for n, c in counts]
    return float(sum(values) / len(values))


# From the files to jobs


def test_the_stand_in_is_like_the_daemon():
    """Its errors have what the schemas demand, and its hello what clients read."""
    schema_check.validate({"id": "a", **error()}, "daemon")
    schema = json.loads((schema_check.SCHEMAS / "hello.schema.json").read_text())
    assert HELLO["protocol"] == schema["properties"]["protocol"].get("const", 1)
    assert set(HELLO["limits"]) <= set(schema["properties"]["limits"]["properties"])


@pytest.mark.parametrize("knows", [True, False])
def test_modules_that_all_tasks_import_are_loaded_ahead(place, fake, knows):
    """Where the daemon knows how to: others refuse the field. Of what only some tasks import, jobs say nothing."""
    daemon = fake()
    if knows:
        daemon.hello = {**daemon.hello, "warm_modules": True}
    both = {**ADD, "prompt": "import numpy as np, pandas\n" + ADD["prompt"]}
    one = {**TWICE, "test": "import json\nfrom numpy import arange\n" + TWICE["test"]}
    place.write("tasks.jsonl", both, one)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "    good\n"}, {"task_id": "Own/1", "completion": "    good\n"})
    done = place.grade(daemon)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(daemon.jobs) >= 2
    for job in daemon.jobs.values():
        assert job.get("warm_modules") == (["numpy"] if knows else None)


def test_jobs_of_human_eval(place, fake):
    daemon = fake()
    place.write("tasks.jsonl", ADD, TWICE)
    place.write(
        "samples.jsonl",
        {"task_id": "Own/0", "completion": "    good\n"},
        {"task_id": "Own/1", "solution": "def twice(a): good\n", "temperature": 0.8},
        "",
        {"task_id": "Own/0", "generation": "Sure!\n```python\ngood\n```"},
    )
    done = place.grade(daemon)
    assert (done.returncode, done.stderr) == (0, "")
    tests = {
        task["task_id"]: {name: task[name] for name in ("test", "entry_point")} | {
            "prelude": task["prompt"],
            "kind": "code_exec",
        }
        for task in (ADD, TWICE)
    }
    assert daemon.jobs == {
        "Own/0:0": {"code": "    good\n", **tests["Own/0"]},
        "Own/1:0": {"code": "def twice(a): good\n", **tests["Own/1"]},
        "Own/0:1": {"generation": "Sure!\n```python\ngood\n```", **tests["Own/0"]},
    }


@pytest.mark.parametrize("indent", [None, 2], ids=["one line", "indented"])
def test_jobs_of_mbpp(place, fake, indent):
    """The data set is one array. Its assertions become the targets; its prompt is not code."""
    daemon = fake()
    imports = {"test_imports": ["import math", "import re"]}
    setup = {"test_imports": [], "test_setup_code": "root = Node(1)"}
    tasks = [HALF, {**HALF, **imports, "task_id": 8}, {**HALF, **setup, "task_id": "9"}]
    tasks.append({**HALF, **imports, "test_setup_code": "x = 1", "task_id": 10})
    place.path("tasks.json").write_text(json.dumps(tasks, indent=indent))
    place.write(
        "samples.jsonl",
        {"task_id": 7, "completion": "good"},
        {"task_id": "8", "solution": "good"},
        {"task_id": 9, "generation": "good"},
        {"task_id": 10, "completion": "good"},
    )
    done = place.grade(daemon, dataset="tasks.json")
    assert (done.returncode, done.stderr) == (0, "")
    job = {"kind": "code_exec", "targets": HALF["test_list"], "names": ["half"]}
    assert daemon.jobs == {
        "7:0": {"code": "good", **job},
        "8:0": {"code": "good", "test_setup": "import math\nimport re\n", **job},
        "9:0": {"generation": "good", "test_setup": "root = Node(1)\n", **job},
        "10:0": {"code": "good", "test_setup": "import math\nimport re\nx = 1\n", **job},
    }
    assert [r["task_id"] for r in place.results()] == [7, "8", 9, 10], "ids keep the samples' type"


def test_canonical_solutions(place, fake):
    daemon = fake()
    place.write("tasks.jsonl", ADD, HALF)
    done = place.run("grade", "-q", "--dataset", "tasks.jsonl", "--canonical", daemon=daemon)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "2 tasks, 2 samples, 2 correct"
    assert {id: job["code"] for id, job in daemon.jobs.items()} == {
        "Own/0:0": ADD["canonical_solution"],
        "7:0": HALF["code"],
    }
    assert daemon.jobs["Own/0:0"]["prelude"] == ADD["prompt"]
    verdict = {"sample": 0, "passed": True, "result": "passed", "verdict": "pass", "score": 1.0}
    assert place.results("tasks.jsonl_canonical_results.jsonl") == [
        {"task_id": "Own/0", **verdict},
        {"task_id": 7, **verdict},
    ]


def test_a_task_without_a_canonical_solution(place, fake):
    lacking = {name: value for name, value in ADD.items() if name != "canonical_solution"}
    place.write("tasks.jsonl", lacking, {**HALF, "code": None}, TWICE)
    done = place.run("grade", "-q", "--dataset", "tasks.jsonl", "--canonical", daemon=fake())
    assert complaints(done) == [
        'tasks.jsonl:1: task "Own/0" has no solution of its own (canonical_solution)',
        'tasks.jsonl:2: task "7" has no solution of its own (code)',
    ]
    assert done.returncode == 2
    assert [r["task_id"] for r in place.results("tasks.jsonl_canonical_results.jsonl")] == ["Own/1"]


def test_options_that_jobs_carry(place, fake):
    daemon = fake()
    place.write("tasks.jsonl", HALF)
    place.write("samples.jsonl", {"task_id": 7, "completion": "good"})
    assert place.grade(daemon, "--shared", "--timeout", "2.5", "--memory", "4G").returncode == 0
    assert daemon.jobs["7:0"]["verdict"] == "shared"
    assert daemon.jobs["7:0"]["limits"] == {"memory_bytes": 4 << 30}
    assert daemon.jobs["7:0"]["metadata"] == {"timeout_s": 2.5}


def test_memory_that_is_no_size(place, fake):
    place.write("tasks.jsonl", HALF)
    place.write("samples.jsonl", {"task_id": 7, "completion": "good"})
    done = place.grade(fake(), "--memory", "much")
    assert done.returncode == 2
    assert complaints(done) == [
        '--memory: expected a size in bytes, or a number with K, M, G or T behind it, got "much"'
    ]


def test_compressed_files(place, fake):
    """Each file has two gzip members, as if somebody had appended to a compressed file."""
    daemon = fake()
    for name, records in (
        ("tasks.jsonl.gz", [ADD, TWICE]),
        ("s.gz", [{"task_id": t["task_id"], "completion": "good"} for t in (ADD, TWICE)]),
    ):
        parts = [gzip.compress(json.dumps(record).encode() + b"\n") for record in records]
        place.path(name).write_bytes(b"".join(parts))
    done = place.grade(daemon, dataset="tasks.jsonl.gz", samples="s.gz")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(place.results("s.gz_results.jsonl")) == 2


def test_files_from_standard_input(place, fake):
    daemon = fake()
    place.write("tasks.jsonl", ADD)
    sample = json.dumps({"task_id": "Own/0", "completion": "good"})
    arguments = ["grade", "-q", "--dataset", "tasks.jsonl", "--samples", "-", "-o", "out"]
    assert place.run(*arguments, daemon=daemon, stdin=sample).returncode == 0
    assert len(place.results("out")) == 1
    place.write("samples.jsonl", sample)
    arguments = ["grade", "-q", "--dataset", "-", "--samples", "samples.jsonl"]
    assert place.run(*arguments, daemon=fake(), stdin=json.dumps(ADD)).returncode == 0


def test_no_more_in_flight_than_the_daemon_queues(place, fake):
    """The daemon answers once it has four jobs. The client must not send a fifth one before."""
    daemon = fake(hold=4, jobs_per_client=4)
    place.write("tasks.jsonl", ADD)
    samples = [{"task_id": "Own/0", "completion": f"good {n}"} for n in range(400)]
    place.write("samples.jsonl", *samples)
    done = place.grade(daemon, "--k", "1,400")
    assert done.stdout.splitlines()[0] == "1 task, 400 samples, 400 correct"
    assert sorted(r["sample"] for r in place.results()) == list(range(400))


# From answers to results


def test_results(place, fake):
    """Results come in order of completion. A sample's fields stay, except those of an earlier grading."""
    answers = {
        "a": passing(),
        "b": failing("assertion_fail", 0.5, detail="assert add(1, 2) == 3"),
        "c": failing("timeout"),
        "d": failing("error", assertions=[{"passed": True, "detail": "1"}, {"passed": False, "detail": "exit 3"}]),
        "e": failing("syntax_error", detail="x" + "ä" * 150),
    }
    daemon = fake(lambda job: answers[job["code"]], hold=5, last_first=True)
    place.write("tasks.jsonl", ADD)
    place.write(
        "samples.jsonl",
        *[{"task_id": "Own/0", "completion": text, "passed": "x", "seed": 3} for text in answers],
    )
    done = place.grade(daemon)
    assert done.returncode == 1
    common = {"task_id": "Own/0", "seed": 3}
    failed = {**common, "passed": False, "score": 0.0}
    assert place.results() == [
        {
            **failed,
            "completion": "e",
            "sample": 4,
            "verdict": "syntax_error",
            "result": "syntax_error: x" + "ä" * 99,
        },
        {**failed, "completion": "d", "sample": 3, "verdict": "error", "result": "error: exit 3"},
        {**failed, "completion": "c", "sample": 2, "verdict": "timeout", "result": "timeout"},
        {
            **failed,
            "completion": "b",
            "sample": 1,
            "verdict": "assertion_fail",
            "result": "assertion_fail: assert add(1, 2) == 3",
            "score": 0.5,
        },
        {
            **common,
            "completion": "a",
            "sample": 0,
            "passed": True,
            "result": "passed",
            "verdict": "pass",
            "score": 1.0,
        },
    ]


def test_a_result_without_a_score(place, fake):
    """No kind of job that grade submits has such a result, so the client does not count it as passed."""
    daemon = fake(lambda job: {"type": "result", "score": None, "reason": "no_code"})
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", {"task_id": "Own/0", "generation": "x"})
    assert place.grade(daemon).returncode == 1
    (result,) = place.results()
    assert result["result"] == "failed: no_code"
    assert (result["passed"], result["verdict"], result["score"]) == (False, None, None)


def test_samples_that_carry_a_run(place, fake):
    """Samples may be the results of an earlier run, of this program or another. Nothing of its `run` is kept."""
    daemon = fake(lambda job: passing())
    place.write("tasks.jsonl", ADD)
    runs = [{"id": "theirs", "job_digest": "0" * 64, "mode": "shared", "preflight": {"reference": "broken"}}, "x", None]
    place.write("samples.jsonl", *[{"task_id": "Own/0", "completion": "a", "run": run} for run in runs])
    done = place.grade(daemon)
    assert done.returncode == 0, done
    lines = [json.loads(line) for line in place.path("samples.jsonl_results.jsonl").read_text().splitlines()]
    assert len(lines) == len(runs)
    for line in lines:
        schema_check.validate_by("run", line["run"])
        assert line["run"]["id"] != "theirs" and line["run"]["job_digest"] != "0" * 64, line
        assert line["passed"] is True and "preflight" not in line["run"], line


def test_results_are_written_as_they_come(place, fake):
    """Kills the client while one job is unanswered; the results so far are readable."""
    daemon = fake(lambda job: passing() if "good" in job["code"] else None)
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *[{"task_id": "Own/0", "completion": c} for c in ("good", "bad")])
    output = place.path("samples.jsonl_results.jsonl")
    process = place.start(
        "grade", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl", daemon=daemon
    )
    try:
        wait_until(lambda: output.exists() and output.read_text().endswith("\n"), "a line is there")
    finally:
        process.kill()
        process.communicate()
    assert [(r["completion"], r["passed"]) for r in place.results()] == [("good", True)]
    done = place.run("passk", "--k", "1", "samples.jsonl_results.jsonl")
    assert done.stdout == "1 task, 1 sample, 1 correct\npass@1:    1.0000\n"


def test_results_that_already_exist(place, fake):
    daemon = fake()
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    place.path("samples.jsonl_results.jsonl").write_text("precious, and longer than a line\n" * 99)
    done = place.grade(daemon)
    assert complaints(done) == [
        "samples.jsonl_results.jsonl is there already; --resume continues it, --force overwrites it"
    ]
    assert (done.returncode, done.stdout, daemon.jobs) == (2, "", {})
    assert place.path("samples.jsonl_results.jsonl").read_text().startswith("precious")
    assert place.grade(daemon, "--force").returncode == 0
    assert len(place.results()) == 1


def test_results_are_continued(place, fake):
    """pass@k counts all samples, including those that an earlier run graded."""
    place.write("tasks.jsonl", ADD, TWICE)
    samples = [{"task_id": "Own/0", "completion": text} for text in ("good", "bad", "late")]
    place.write("samples.jsonl", *samples[:2])
    assert place.grade(fake(), "--k", "1").returncode == 2, "a task has no sample"
    samples[1]["completion"] = "good again"
    place.write("samples.jsonl", *samples, {"task_id": "Own/1", "completion": "good"})
    daemon = fake()
    done = place.grade(daemon, "--resume", "--k", "1")
    assert (done.returncode, done.stderr) == (1, "")
    assert sorted(daemon.jobs) == ["Own/0:1", "Own/0:2", "Own/1:0"]
    assert done.stdout.splitlines()[0] == "2 tasks, 4 samples, 3 correct"
    results = place.results()
    assert [(r["task_id"], r["sample"], r["passed"]) for r in results] == [
        ("Own/0", 0, True), ("Own/0", 1, True), ("Own/0", 2, False), ("Own/1", 0, True),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["samples.jsonl", "tasks.jsonl"])
def test_input_is_never_overwritten(place, fake, name):
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    before = place.path(name).read_text()
    done = place.grade(fake(), "--force", "--output", f"./{name}")
    assert complaints(done) == [f"./{name} is both input and output"]
    assert done.returncode == 2
    assert place.path(name).read_text() == before


def test_results_to_standard_output(place, fake):
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    done = place.grade(fake(), "--output", "-", "--k", "1")
    assert json.loads(done.stdout)["passed"] is True
    assert done.stderr == "1 task, 1 sample, 1 correct\npass@1:    1.0000\n"
    assert not place.path("samples.jsonl_results.jsonl").exists()


# pass@k


def graded(place, fake, counts, *arguments):
    """Grades n samples of each task, c of which pass. COUNTS is (n, c) of each task."""
    place.write("tasks.jsonl", *[{**ADD, "task_id": f"t{i}"} for i in range(len(counts))])
    place.write(
        "samples.jsonl",
        *[
            {"task_id": f"t{i}", "completion": "good" if j < c else "bad"}
            for i, (n, c) in enumerate(counts)
            for j in range(n)
        ],
    )
    return place.grade(fake(), *arguments)


def test_pass_at_k(place, fake):
    counts = [(5, 0), (7, 1), (5, 5), (6, 3)]
    done = graded(place, fake, counts, "--k", "1,2,5,6,8")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "4 tasks, 23 samples, 9 correct",
        *[f"pass@{k}:    {mean_pass_at_k(counts, k):.4f}" for k in (1, 2, 5)],
        "pass@6:    not computed: 2 of 4 tasks have fewer than 6 samples",
        "pass@8:    not computed: 4 of 4 tasks have fewer than 8 samples",
    ]
    again = place.run("passk", "--k", "1,2,5,6,8", "samples.jsonl_results.jsonl")
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_pass_at_k_for_machines(place, fake):
    counts = [(5, 0), (7, 1), (6, 3)]
    done = graded(place, fake, counts, "--json", "--k", "1,5,6", "--no-fail")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    values = report.pop("pass_at_k")
    assert list(report.pop("languages")) == ["python"]
    assert values.pop("6") is None
    assert values == {
        str(k): pytest.approx(mean_pass_at_k(counts, k), rel=0, abs=1e-12) for k in (1, 5)
    }
    assert report == {
        "tasks": 3,
        "unusable_tasks": 0,
        "unusable_task_samples": 0,
        "sampleless_tasks": 0,
        "unselected_tasks": 0,
        "samples": 18,
        "correct": 4,
        "not_graded": 0,
        "unanswered": 0,
        "refused": 0,
        "unusable": 0,
        "not_in_input": 0,
        "shared_tasks": 0,
        "shared_samples": 0,
        "broken_tasks": 0,
        "complete": True,
        "too_few_samples": {"6": 1},
    }


def test_the_summary_is_for_people(place, fake):
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *[{"task_id": "Own/0", "completion": c} for c in ("good", "bad")])
    done = place.run(
        "grade", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl", daemon=fake()
    )
    assert done.announced == [
        "HumanEval, Python: 1 task, 1 test, judged in isolation where the reference passes so, 3 s"
    ]
    assert done.stdout.splitlines() == ["1 task, 2 samples, 1 correct", "pass@1:    0.5000"]
    assert done.stderr.splitlines()[0] == "2 jobs: 1 passed, 1 failed, 0 errors"
    assert "       1  code_exec.assertion_fail" in done.stderr.splitlines()
    assert done.stderr.splitlines()[-1] == (
        "results: samples.jsonl_results.jsonl; why samples failed: rubricctl report samples.jsonl_results.jsonl"
    )
    again = place.grade(fake(), "--force", "--k", "1,10")
    assert again.stdout.splitlines()[2] == "pass@10:   not computed: 1 of 1 task has fewer than 10 samples"


def test_nothing_new_has_no_rate(place, fake):
    """Nor is there anything to say of references that no task has."""
    task = {name: value for name, value in ADD.items() if name != "canonical_solution"}
    place.write("tasks.jsonl", task, HALF)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    arguments = ["grade", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl"]
    first = place.run(*arguments, daemon=fake())
    assert " jobs/s\n" in first.stderr
    assert first.announced[1].startswith("MBPP, Python: 1 task, 2 tests, judged in isolation")
    command = [part for part in place.command(*arguments, "--resume", daemon=fake()) if part != "--no-preflight"]
    done = subprocess.run(command, cwd=place.directory, capture_output=True, text=True, timeout=DEADLINE, check=False)
    (took,) = [line for line in done.stderr.splitlines() if line.startswith("took ")]
    assert took.endswith("; 1 job was answered before") and "jobs/s" not in took
    assert "\npreflight: " not in done.stderr


# Jobs without a verdict


def test_errors_are_no_verdicts(place, fake):
    """They do not count towards n of their task."""
    by_code = {"good": passing(), "bad": failing(), "none": error()}
    daemon = fake(lambda job: by_code[job["code"]])
    place.write("tasks.jsonl", ADD)
    place.write(
        "samples.jsonl",
        *[{"task_id": "Own/0", "completion": c} for c in ("good", "none", "bad", "none")],
    )
    done = place.grade(daemon, "--k", "1,2,3")
    assert done.returncode == 4
    assert split_at_errors(done.stderr.splitlines()) == (
        [],
        ["       2  internal", "          samples.jsonl:2: Own/0:1: the disk is full"],
    )
    text = [
        "1 task, 2 samples, 1 correct",
        "incomplete: 2 not graded (an error, no verdict)",
        "pass@1:    0.5000 (incomplete)",
        "pass@2:    1.0000 (incomplete)",
        "pass@3:    not computed: 1 of 1 task has fewer than 3 graded samples",
    ]
    assert done.stdout.splitlines() == text
    assert place.results()[1] == {
        "task_id": "Own/0",
        "completion": "none",
        "sample": 1,
        "passed": None,
        "result": "not graded: internal: the disk is full",
        "verdict": None,
        "score": None,
    }
    again = place.run("passk", "--k", "1,2,3", "samples.jsonl_results.jsonl")
    assert (again.returncode, again.stdout.splitlines()) == (4, text)
    again = place.grade(fake(lambda job: by_code[job["code"]]), "--force", "--json")
    report = json.loads(again.stdout)
    assert (report["complete"], report["not_graded"]) == (False, 2)


def test_a_lost_daemon(place, fake):
    """The daemon takes a second job and disconnects without answering it. The client then cannot tell
    whether a task has no sample."""
    daemon = fake(lambda job: passing() if job["code"] == "1" else None, hang_up_after=2)
    place.write("tasks.jsonl", ADD, TWICE)
    samples = [{"task_id": "Own/0", "completion": c} for c in "1234"]
    place.write("samples.jsonl", *samples, {"task_id": "Own/1", "completion": "5"})
    done = place.grade(daemon, "--k", "1", "--jobs", "1", "--no-reconnect")
    assert done.returncode == 3
    assert complaints(done) == [
        "rubricd closed the connection; 1 job is unanswered: Own/0:1; not all input was submitted"
    ]
    assert done.stdout.splitlines() == [
        "2 tasks, 1 sample, 1 correct",
        "incomplete: 1 unanswered; not all samples were read",
        "pass@1:    not computed: 1 of 2 tasks have fewer than 1 sample",
    ]
    assert len(place.results()) == 1


def test_interrupted(place, fake):
    """After one signal the client waits for jobs in flight; after a second one it cancels them."""
    daemon = fake(lambda job: passing() if "good" in job["code"] else None, jobs_per_client=2)
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *[{"task_id": "Own/0", "completion": c} for c in ("good", *"xyz")])
    process = place.start(
        "grade", "-q", "--k", "1", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl",
        daemon=daemon,
    )
    wait_until(lambda: len(daemon.jobs) == 3, "two wait for their answers")
    process.send_signal(signal.SIGINT)
    first = process.stderr.readline()
    assert first == (
        "rubricctl: interrupted: submitting nothing more; waiting for 2 jobs in flight (interrupt again "
        "to cancel)\n"
    )
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert daemon.cancelled == ["Own/0:1", "Own/0:2"]
    assert announced(out)[1].splitlines() == [
        "1 task, 1 sample, 1 correct",
        "incomplete: 2 not graded (an error, no verdict); not all samples were read",
        "pass@1:    1.0000 (incomplete)",
    ]
    assert [r["passed"] for r in place.results()] == [True, None, None]


def test_a_draining_daemon(place, fake):
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *[{"task_id": "Own/0", "completion": c} for c in "abc"])
    daemon = fake(lambda job: error("draining", "going"))
    done = place.grade(daemon, "--jobs", "1", "--no-reconnect")
    assert done.returncode == 3
    assert complaints(done) == [
        "rubricd is draining: samples.jsonl:2 and what follows was not submitted"
    ]
    assert list(daemon.jobs) == ["Own/0:0"]


def test_no_daemon(place):
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    arguments = ["--socket", "none", "grade", "--dataset", "tasks.jsonl", "--samples"]
    done = place.run(*arguments, "samples.jsonl")
    assert done.returncode == 3
    assert "no rubricd at none" in done.stderr
    assert not place.path("samples.jsonl_results.jsonl").exists()


# Bad input: the client names it and grades the rest

NO_TESTS = {name: value for name, value in ADD.items() if name != "test"}


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ('{"task_id": ', "not JSON: column 12: "),
        ("[1]", "expected an object, got an array"),
        ('{"task_id": 1, "task_id": 2}', "not JSON: column 24: duplicate object key"),
        ({**ADD, "task_id": None}, "task_id: expected a string or a number, got null"),
        ({**ADD, "task_id": ""}, "task_id: expected 1 to 100 bytes, got 0"),
        ({**ADD, "task_id": "a" * 101}, "task_id: expected 1 to 100 bytes, got 101"),
        ({**ADD, "task_id": "a\0b"}, "task_id: a NUL is not allowed"),
        ({"task_id": 3}, "a record of no known format (rubricctl grade --list-formats); HumanEval has test and entry_point, MBPP test_list, CodeContests public_tests"),
        (
            {**NO_TESTS, "task_id": 3},
            "test: it is missing; a task of HumanEval has test and entry_point (--list-formats)",
        ),
        ({**ADD, "task_id": 3, "prompt": 1}, "prompt: expected a string, got a number"),
        ({**ADD, "task_id": 3, "test": []}, "test: expected a string, got an array"),
        ({**ADD, "task_id": 3, "entry_point": {}}, "entry_point: expected a string, got an object"),
        (
            {**ADD, "task_id": 3, "canonical_solution": 1},
            "canonical_solution: expected a string, got a number",
        ),
        ({**HALF, "test_list": []}, "test_list: it has no assertion"),
        ({**HALF, "test_list": "assert 1"}, "test_list: expected an array, got a string"),
        ({**HALF, "test_list": ["", 1]}, "test_list[1]: expected a string, got a number"),
        ({**HALF, "test_imports": "re"}, "test_imports: expected an array, got a string"),
        ({**HALF, "test_imports": [None]}, "test_imports[0]: expected a string, got null"),
        ({**HALF, "test_setup_code": 1}, "test_setup_code: expected a string, got a number"),
        ({**HALF, "code": False}, "code: expected a string, got a boolean"),
        ({**TWICE, "task_id": "Own/0"}, 'task_id "Own/0" is already that of line 1'),
        ({**TWICE, "task_id": 3, "plus_input": {}, "base_input": []}, "plus_input: expected an array, got an object"),
        ({**TWICE, "task_id": 3, "plus_input": [1], "base_input": []}, "plus_input[0]: expected an array, got a number"),
        ({**TWICE, "task_id": 3, "plus_input": []}, "base_input: expected an array, got nothing"),
        ({**TWICE, "task_id": 3, "plus_input": [], "base_input": []}, "plus_input: there is no input"),
        (
            {**TWICE, "task_id": 3, "plus_input": [[]], "base_input": [], "atol": "a"},
            "atol: expected a number, got a string",
        ),
        ({**HALF, "test": 1}, "test: expected a string, got a number"),
        ('{"task_id": 3, "prompt": NaN}', "prompt: NaN is not a number in JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_records_of_a_data_set(place, fake, record, complaint):
    daemon = fake()
    place.write("tasks.jsonl", ADD, record, TWICE)
    samples = [{"task_id": t["task_id"], "completion": "good"} for t in (ADD, TWICE)]
    place.write("samples.jsonl", *samples)
    done = place.grade(daemon, "--k", "1")
    assert done.returncode == 2
    (said,) = complaints(done)
    assert said.startswith(f"tasks.jsonl:2: {complaint}"), said
    again = "already" in complaint  # the task is there
    assert done.stdout.splitlines() == [
        f"{2 if again else 3} tasks, 2 samples, 2 correct",
        f"incomplete: 1 {'unusable' if again else 'task that cannot be used'} (named above)",
        f"pass@1:    1.0000 (incomplete{'' if again else '; of 2 of 3 tasks'})",
    ]
    assert daemon.jobs["Own/0:0"]["test"] == ADD["test"], "the first task with an id counts"


# The formats of EvalPlus

POWER = {
    "task_id": "HumanEval/900",
    "prompt": 'def power(x, n):\n    """É"""\n',
    "entry_point": "power",
    "canonical_solution": "    return x ** n\n",
    "test": "def check(candidate):\n    pass\n",
    "contract": "",
    "base_input": [[2, 3]],
    "plus_input": [[2, 100], [1.5, 2]],
    "atol": 0,
}


def passes(job, code):
    """Runs the test of a job in this process."""
    space, tests = {}, {}
    exec(code, space)
    exec(job["test"], tests)
    try:
        tests["check"](space[job["entry_point"]])
    except AssertionError:
        return False
    return True


def graded_on(place, fake, record):
    daemon = fake()
    place.write("tasks.jsonl", record)
    done = place.run("grade", "--dataset", "tasks.jsonl", "--canonical", "--k", "1", "--force", daemon=daemon)
    (job,) = daemon.jobs.values()
    return job, done


def test_the_raw_format_of_evalplus(place, fake):
    """The tests are its inputs, not those of HumanEval that a record may have, too."""
    job, done = graded_on(place, fake, POWER)
    assert job["entry_point"] == "power"
    assert (job["prelude"], job["code"]) == (POWER["prompt"], POWER["canonical_solution"])
    assert "rubricctl: tasks.jsonl: 1 task with the tests of EvalPlus (base and plus)" in done.stderr.splitlines()
    assert passes(job, "def power(x, n): return x ** n")
    assert passes(job, "def power(x, n): return x ** n + (1e-9 if n == 2 else 0)"), "a float is compared with room"
    assert not passes(job, "def power(x, n): return x ** n + (1e-3 if n == 2 else 0)")
    assert not passes(job, "def power(x, n): return float(x ** n)") or 2.0**100 == 2**100
    assert not passes(job, "def power(x, n): return pow(x, n, 2**64) if n == 100 else x ** n"), "the plus inputs count"
    assert not passes(job, "def power(x, n): return 0 if n == 3 else x ** n"), "the base inputs count"


def test_inputs_of_evalplus_that_are_not_quite_json(place, fake):
    """Integers of any size, NaN and infinity go to the tests as they are."""
    text = json.dumps({**POWER, "plus_input": [[2**70 + 1, 1], [float("inf"), 1], [float("-inf"), 1]]})
    assert "Infinity" in text and str(2**70 + 1) in text
    job, _ = graded_on(place, fake, text)
    assert passes(job, "def power(x, n): return x ** n")
    assert not passes(job, "def power(x, n): return x ** n - (x == 2**70 + 1)")
    assert not passes(job, "import math\ndef power(x, n): return 0.0 if x == math.inf else x ** n")


def test_how_evalplus_compares(place, fake):
    def job_of(solution, inputs, atol=0, entry_point="power"):
        record = {**POWER, "prompt": "", "entry_point": entry_point, "canonical_solution": solution}
        return graded_on(place, fake, {**record, "base_input": [], "plus_input": inputs, "atol": atol})[0]

    floats = job_of("def power(x): return [x / 3, 1.0]\n", [[1], [2]])
    assert passes(floats, "def power(x): return [x / 3 + 1e-8, 1.0]")
    for wrong in ("(x / 3 + 1e-8, 1.0)", "[x / 3 + 1e-8]", "[x / 3, 1.1]", "[x / 3, 'a']", "None", "float('nan')"):
        assert not passes(floats, f"def power(x): return {wrong}"), wrong
    atol = job_of("def power(x): return {'a': x}['a']\n", [[10]], atol=0.5)
    assert passes(atol, "def power(x): return 10") and passes(atol, "def power(x): return 11 - 1")
    assert not passes(atol, "def power(x): return 10.1"), "the type counts where the value differs"
    assert not passes(atol, "def power(x): return 11")
    # Neither sees that the other has changed its arguments.
    assert passes(job_of("def power(x):\n    x.append(1)\n    return x\n", [[[]]]), "def power(x): return x + [1]")
    # Any zero of the polynomial will do.
    zero = job_of("def find_zero(xs): return 1.0\n", [[[-1, 0, 1]]], 1e-4, "find_zero")
    assert passes(zero, "def find_zero(xs): return -1.0")
    assert not passes(zero, "def find_zero(xs): return -1.1")


def mbpp_row(number, solution, entry_point, inputs, atol=0):
    """A task as MBPP+ has it in the raw format: the solution is a whole program."""
    return {
        "task_id": f"Mbpp/{number}", "prompt": '"""\nDo it.\nassert f(1)\n"""\n', "entry_point": entry_point,
        "canonical_solution": f"\n{solution}\n", "base_input": [], "plus_input": inputs, "atol": atol,
        "contract": "", "assertion": "\nassert f(1)",
    }  # fmt: skip


# What EvalPlus makes of arguments: the task, the arguments in JSON, and as the function gets them.
MBPP_ARGUMENTS = {
    116: ([[1, 2]], [(1, 2)]),
    63: ([[[1, 2], [3, 4]]], [[(1, 2), (3, 4)]]),
    75: ([[[1, 2]], 3], [[(1, 2)], 3]),
    106: ([[1], [2, 3]], [[1], (2, 3)]),
    115: ([[[1, 2], [], {}]], [[{1, 2}, {}, {}]]),
    124: (["1.5", "2j"], [1.5, 2j]),
    250: ([[1, 2], 1], [(1, 2), 1]),
    307: ([[1, [2]], 1, 2], [(1, [2]), 1, 2]),
    252: (["1+2j"], [1 + 2j]),
    259: ([[[1, 2]], [[3]]], [((1, 2),), ((3,),)]),
    278: ([[1, [2, 3]]], [(1, (2, 3))]),
    580: ([[1, [2, [3]]]], [(1, (2, (3,)))]),
    722: ([{"a": [1, 2]}, 3], [{"a": (1, 2)}, 3]),
    3: ([[1, [2]]], [[1, [2]]]),
}


@pytest.mark.parametrize("number", MBPP_ARGUMENTS)
def test_mbpp_plus_in_the_raw_format_gets_the_types_of_evalplus(place, fake, number):
    inputs, arguments = MBPP_ARGUMENTS[number]
    solution = f"def f(*got):\n    return repr(got) == {str(tuple(arguments))!r}\n"
    job, done = graded_on(place, fake, mbpp_row(number, solution, "f", [inputs]))
    assert "1 task with the tests of EvalPlus (base and plus)" in done.stderr
    assert passes(job, "def f(*got): return True"), "so the reference got them, too"
    assert passes(job, solution)
    assert not passes(job, "def f(*got): return False")


# A task, what its solution returns, other answers that EvalPlus takes for right, and some that it does not.
MBPP_ORACLES = {
    "are_equivalent": (164, [[1, 2]], "False", ["True", "None"], []),
    "sum_div": (295, [[8]], "7", ["0"], ["1", "None"]),
    "surface_Area": (581, [[3, 4]], "33", ["35"], ["34", "None"]),
    "digit_distance_nums": (558, [[123, 9]], "1", ["9"], ["2"]),
    "similar_elements": (2, [[[3, 4], [4, 3]]], "(3, 4)", ["[4, 3, 3]"], ["(3,)"]),
    "check_str": (454, [["aeiou"]], "__import__('re').match('a', 'a')", ["object()", "True"], ["None", "False"]),
    "odd": (4, [[1]], "[1]", [], ["(1,)", "[2]"]),
}


@pytest.mark.parametrize("name", MBPP_ORACLES)
def test_tasks_of_mbpp_plus_with_more_than_one_answer(place, fake, name):
    number, inputs, expected, right, wrong = MBPP_ORACLES[name]
    job, _ = graded_on(place, fake, mbpp_row(number, f"def {name}(*a): return {expected}\n", name, inputs))
    for out in [expected, *right]:
        assert passes(job, f"def {name}(*a): return {out}"), out
    for out in wrong:
        assert not passes(job, f"def {name}(*a): return {out}"), out


def test_a_function_of_evalplus_named_as_its_test(place, fake):
    """Mbpp/56 is about check()."""
    job, _ = graded_on(place, fake, mbpp_row(56, "def check(n):\n    return n == 1\n", "check", [[1], [2]]))
    assert job["entry_point"] == "check" and "test" not in job
    (target,) = job["targets"]

    def holds(code):
        try:
            exec(f"{code}\n{target}", {})
        except AssertionError:
            return False
        return True

    assert holds("def check(n): return n == 1")
    assert not holds("def check(n): return True")


def test_mbpp_plus_in_the_original_format(place, fake):
    """`test` is a whole program with more assertions than test_list, which runs beside it."""
    test = "def assertion(a, b): assert a == b\nfor x in range(9): assertion(half(2 * x), x)\n"
    job, done = graded_on(place, fake, {**HALF, "test_imports": ["import math"], "test": test})
    assert job["targets"] == [*HALF["test_list"], test] and job["test_setup"] == "import math\n"
    assert "rubricctl: tasks.jsonl: 1 task with the tests of EvalPlus (base and plus)" in done.stderr.splitlines()
    _, done = graded_on(place, fake, HALF)
    assert "EvalPlus" not in done.stderr


# Numbers that have no room


def test_odd_numbers_in_fields_that_nobody_uses(place, fake):
    daemon = fake()
    place.write("tasks.jsonl", json.dumps({**ADD, "loss": float("nan"), "seed": 2**70}))
    sample = {"task_id": "Own/0", "completion": "good", "logprob": float("-inf"), "more": {"seed": [2**64, 1]}}
    place.write("samples.jsonl", json.dumps(sample))
    done = place.grade(daemon, "--k", "1")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = place.results()
    assert line["logprob"] == "-Infinity" and line["more"] == {"seed": [str(2**64), 1]}
    place.write("jobs.jsonl", json.dumps({"id": "a", "code": "x", "metadata": {"seed": 2**64, "timeout_s": 2}}))
    assert place.run("batch", "jobs.jsonl", daemon=daemon).returncode == 1
    assert daemon.jobs["a"]["metadata"] == {"seed": str(2**64), "timeout_s": 2}
    place.write("odd.jsonl", '{"task_id": 1, "passed": true, "x": NaN}')
    assert place.run("passk", "odd.jsonl", "--k", "1").returncode == 0
    place.write("lines.jsonl", '{"task_id": 1, "passed": true, "x": NaN, "y": 99999999999999999999}')
    assert "verdicts   1 passed, 0 failed" in place.run("report", "lines.jsonl").stdout


def test_odd_numbers_in_fields_that_are_used(place, fake):
    daemon = fake()
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", '{"task_id": "Own/0", "completion": NaN}', '{"task_id": 99999999999999999999}')
    assert complaints(place.grade(daemon, "--k", "1"))[:2] == [
        "samples.jsonl:1: completion: NaN is not a number in JSON",
        "samples.jsonl:2: task_id: 99999999999999999999 is an integer beyond 64 bits",
    ]
    place.write("jobs.jsonl", '{"kind": "rubric", "case": {"a": [1e999]}}')
    done = place.run("batch", "--quiet", "jobs.jsonl", daemon=daemon)
    assert complaints(done)[0] == "jobs.jsonl:1: case: 1e999 is a number that overflows"


def test_a_missing_module_is_said_once(place, fake):
    why = "the job's tests import the module numpy, which the Python of this host does not have"
    answer = {**error("module_not_found", why), "retriable": False}
    daemon = fake(lambda job: answer if "good" in job["code"] else passing())
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", *[{"task_id": "Own/0", "completion": text} for text in ("good", "x", "good", "good")])
    done = place.grade(daemon, "--k", "1")
    assert complaints(done) == [f"3 samples were not graded: {why}"]
    assert done.returncode == 4
    assert done.stdout.splitlines()[1] == "incomplete: 3 not graded (an error, no verdict)"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[%s,\n%s", "tasks.jsonl:2: the array does not end"),
        ("[%s,\n\n,%s]", "tasks.jsonl:3: an element of the array is missing"),
        ("[%s,\n]", "tasks.jsonl:2: an element of the array is missing"),
        ("[%s]\n%s", "tasks.jsonl:2: text follows the array"),
        ("[%s,\n1\n]", "tasks.jsonl:2: expected an object, got a number"),
    ],
    ids=["no end", "two commas", "last comma", "more", "a number"],
)
def test_bad_arrays(place, fake, text, complaint):
    records = (json.dumps(ADD), json.dumps(TWICE))[: text.count("%s")]
    place.path("tasks.jsonl").write_text(text % records)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    done = place.grade(fake())
    assert done.returncode == 2
    assert complaints(done) == [complaint]
    tasks = "2 tasks" if "1\n" in text else "1 task"
    assert done.stdout.splitlines()[0] == f"{tasks}, 1 sample, 1 correct"


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ("nonsense", "not JSON: column 8: invalid token near 'nonsense'"),
        ('"text"', "expected an object, got a string"),
        ({"completion": "x"}, "task_id: expected a string or a number, got nothing"),
        ({"taskid": "Own/0", "completion": "x"}, 'task_id: it is missing; found "taskid": did you mean task_id?'),
        ({"questionid": 1, "completion": "x"}, 'task_id: it is missing; found "questionid": did you mean question_id?'),
        ({"task_id": "Own/0"}, "neither completion nor solution nor generation"),
        (
            {"task_id": "Own/0", "completion": "x", "generation": "y"},
            "both completion and generation: expected only one",
        ),
        ({"task_id": "Own/0", "solution": 3}, "solution: expected a string, got a number"),
        ({"task_id": "Own/2", "completion": "x"}, 'task_id "Own/2" is not in the data set'),
        ({"task_id": "Own/0", "completion": "x" * ((1 << 20) - 60)}, "too large: "),
        ("x" * (1 << 20) + "y", "longer than 1048576 bytes"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_bad_samples(place, fake, record, complaint):
    daemon = fake()
    place.write("tasks.jsonl", ADD)
    good = {"task_id": "Own/0", "completion": "good"}
    place.write("samples.jsonl", good, record, good)
    done = place.grade(daemon, "--k", "1")
    assert done.returncode == 2
    (said,) = complaints(done)
    assert said.startswith(f"samples.jsonl:2: {complaint}"), said
    assert done.stdout.splitlines() == [
        "1 task, 2 samples, 2 correct",
        "incomplete: 1 unusable (named above)",
        "pass@1:    1.0000 (incomplete)",
    ]


@pytest.mark.parametrize(
    "record, complaint",
    [
        ({**NO_TESTS, "tests": "x"}, 'test: it is missing, but there is "tests"; a task of HumanEval has test and entry_point (--list-formats)'),
        ({**NO_TESTS, "test": "x", "entry_point": None, "entrypoint": "f"}, 'entry_point: it is null, but there is "entrypoint"; a task of HumanEval has test and entry_point (--list-formats)'),
        ({"task_id": 3, "text": "x", "test-list": []}, 'test_list: it is missing, but there is "test-list"; a task of MBPP has test_list (--list-formats)'),
        ({"name": "x", "public_tests": []}, "public_tests: expected an object with input and output, got an array"),
        ({"task_id": 3, "completion": "x"}, "this looks like a sample, not like a task: are --dataset and --samples swapped?"),
        ({"id": 3, "input_output": {"inputs": ["1"], "outputs": [3]}}, "input_output.outputs[0]: expected a string or an array of lines, got a number"),
        ({"id": 3, "input_output": {"inputs": [], "outputs": [], "fnname": "f"}}, "input_output.fnname: the member that names the function is fn_name"),
        ({"name": "x", "public_tests": {"input": ["1", 2], "output": ["1", "2"]}}, "public_tests.input[1]: expected a string or an array of lines, got a number"),
        ({"name": "x", "public_tests": {"input": ["1"], "outputs": ["1"]}}, 'public_tests.output: it is missing; found "outputs": did you mean output?'),
        ({"name": "x", "public_tests": {"input": "1", "output": ["1"]}}, "public_tests.input: expected an array, got a string"),
        ({"name": "x", "public_tests": {"input": ["1"], "output": ["1"]}, "generated_test": {"input": ["1"]}}, "generated_test: a task of CodeContests has none; did you mean generated_tests?"),
        ({"question_id": "x", "private_test_cases": "[]", "public_test_case": "[1]"}, "public_test_case: a task of LiveCodeBench has none; did you mean public_test_cases?"),
        ({"question_id": "x", "public_test_cases": "[]", "private_tests_cases": "[1]"}, "private_tests_cases: a task of LiveCodeBench has none; did you mean private_test_cases?"),
        ({"task_id": 3, "text": "x", "test_lists": ["assert 1"]}, 'test_list: it is missing, but there is "test_lists"; a task of MBPP has test_list (--list-formats)'),
        ({**ADD, "task_id": 3, "test": "def chek(candidate):\n    assert 'check'\n"}, 'test: it defines no check(candidate), which is to be called; found "chek": did you mean check?'),
        ({**ADD, "task_id": 3, "test": "assert add(1, 2) == 3  # check"}, "test: it defines no check(candidate), which is to be called"),
    ],
    ids=["tests", "entrypoint", "test-list", "array", "sample", "output", "fnname", "input", "outputs", "string", "generated",
         "public", "private", "test_lists", "chek", "check"],
)  # fmt: skip
def test_what_a_record_was_meant_to_be(place, fake, record, complaint):
    place.write("tasks.jsonl", ADD, record)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    done = place.grade(fake())
    assert (done.returncode, complaints(done)) == (2, [f"tasks.jsonl:2: {complaint}"])


def test_tasks_whose_tests_assert_nothing(place, fake):
    """Whatever their samples do passes, so three of them are named. One assertion of several is enough."""
    place.write(
        "tasks.jsonl",
        ADD,
        {**HALF, "test_list": ["half(4) == 2", "assert half(1) == 0.5"]},
        {**HALF, "task_id": 8, "test_list": ["half(4) == 2", "half(1) == 0.5"]},
        *({**TWICE, "task_id": i, "test": "def check(candidate):\n    candidate(2) == 4\n"} for i in range(20, 24)),
        {**TWICE, "task_id": 30, "test": "def check(candidate):\n    if candidate(2) != 4:\n        raise ValueError\n"},
    )
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    done = place.grade(fake(), "--k", "1", "--filter", "id=Own/0*")
    why = "no test of it has an assertion: whatever raises nothing passes"
    assert complaints(done) == [
        f'tasks.jsonl:3: task "8": {why}',
        f'tasks.jsonl:4: task "20": {why}',
        f'tasks.jsonl:5: task "21": {why}',
        "tasks.jsonl: 2 more tasks whose tests have no assertion",
    ]
    assert done.returncode == 0, "it is a warning"


def test_many_records_with_the_same_fault(place):
    """Three of them are named."""
    place.write("tasks.jsonl", *({"task_id": i, "completion": "x"} for i in range(9)), {"task_id": 1})
    place.write("samples.jsonl", ADD)
    why = "this looks like a sample, not like a task: are --dataset and --samples swapped?"
    said = complaints(place.grade(None))
    assert said[:3] == [f"tasks.jsonl:{i}: {why}" for i in (1, 2, 3)]
    assert said[3].startswith("tasks.jsonl:10: a record of no known format")
    assert said[4:] == [f"6 more records: {why}", "tasks.jsonl: no task in it can be used"]


def test_many_lines_that_are_no_json(place):
    """Three are named, whatever the parser says of each, and whatever lies between them."""
    lines = [line for i in range(9) for line in ("x" * (i + 1), f'"{i}"')]
    place.write("tasks.jsonl", *lines)
    place.write("samples.jsonl", ADD)
    said = complaints(place.grade(None))
    assert [line.split(": ")[:2] for line in said[:6]] == [
        [f"tasks.jsonl:{i + 1}", "not JSON" if i % 2 == 0 else "expected an object, got a string"] for i in range(6)
    ]
    assert said[6:] == [
        "6 more records: not JSON",
        "6 more records: expected an object, got a string",
        "tasks.jsonl: no task in it can be used",
    ]


@pytest.mark.parametrize("indent, keyed", [(2, False), (2, True), (None, True)])
def test_an_object_where_lines_are_wanted(place, indent, keyed):
    """Pretty-printed objects, and one that has the tasks under their ids."""
    tasks = [{**TWICE, "task_id": f"Own/{i}"} for i in range(9)]
    objects = [{task["task_id"]: task for task in tasks}] if keyed else tasks
    place.path("tasks.jsonl").write_text("".join(json.dumps(task, indent=indent) + "\n" for task in objects))
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    done = place.grade(None)
    said = [
        "tasks.jsonl: expected JSON Lines, an object on each line, or one array of objects; the object of line 1 goes on "
        "in line 2 (jq -c . makes a line of each)",
    ]
    if keyed:
        place_of = "tasks.jsonl: " if indent else "tasks.jsonl:1: "
        said = [
            place_of + "expected JSON Lines, an object on each line, or one array of objects; this is an object of "
            "objects, as by their ids (jq -c 'to_entries[] | {task_id: .key} + .value' makes lines of it)",
        ]
    assert (done.returncode, complaints(done)) == (2, said + ["tasks.jsonl: no task in it can be used"] * (indent is None))


def test_pretty_printed_samples(place):
    place.write("tasks.jsonl", TWICE)
    place.path("samples.jsonl").write_text(json.dumps({"task_id": "Own/0", "completion": "good"}, indent=1))
    done = place.grade(None)
    assert (done.returncode, complaints(done)) == (2, [
        "samples.jsonl: expected JSON Lines, an object on each line; the object of line 1 goes on in line 2 (jq -c . "
        "makes a line of each)",
    ])  # fmt: skip


@pytest.mark.parametrize(
    "sample, complaint",
    [
        ({"completions_": "x"}, "neither completion nor solution nor generation (nor completions nor code_list); found \"completions_\": did you mean completions?"),
        ({"code": "x"}, "neither completion nor solution nor generation (nor completions nor code_list), but task_id, code"),
        ({"completion": None}, "completion: it is null"),
    ],
)  # fmt: skip
def test_what_a_sample_has_instead_of_a_text(place, fake, sample, complaint):
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", {"task_id": "Own/0", **sample})
    assert complaints(place.grade(fake()))[0] == f"samples.jsonl:1: {complaint}"


FILES = {
    "gzip": (gzip.compress(b"{}"), "compressed by gzip: its name has to end in .gz"),
    "UTF-16": ("{}".encode("utf-16"), "in UTF-16; expected UTF-8"),
    "UTF-16 without a mark": ("{}".encode("utf-16-le"), "in UTF-16; expected UTF-8"),
    "Parquet": (b"PAR1\x15\x04", "Parquet; expected JSON"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("which", ["tasks", "samples"])
def test_files_that_are_no_json(place, name, which):
    data, complaint = FILES[name]
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    place.path(f"{which}.jsonl").write_bytes(data)
    done = place.grade(None)
    assert (done.returncode, complaints(done)) == (2, [f"{which}.jsonl: the file is {complaint}"])


def test_samples_that_are_an_array(place):
    place.write("tasks.jsonl", ADD)
    place.path("samples.jsonl").write_text(json.dumps([{"task_id": "Own/0", "completion": "good"}] * 2, indent=1))
    (said,) = complaints(place.grade(None))
    assert said.startswith("samples.jsonl: expected JSON Lines, an object on each line; the file is one array")


def test_a_directory_of_samples(place):
    """It is refused before a daemon is asked for anything: the references would run for nothing."""
    place.write("tasks.jsonl", ADD)
    place.path("samples.jsonl").mkdir()
    done = place.grade(None)
    assert (done.returncode, complaints(done)) == (2, ["samples.jsonl: Is a directory"])


def test_an_empty_data_set(place):
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    for text in ("", "\n \n"):
        place.path("tasks.jsonl").write_text(text)
        assert complaints(place.grade(None)) == ["tasks.jsonl: the file is empty"]


@pytest.mark.parametrize("as_array", [False, True])
def test_byte_order_marks(place, fake, as_array):
    """Editors on Windows write them; nobody sees them."""
    mark = b"\xef\xbb\xbf"
    place.path("tasks.jsonl").write_bytes(mark + json.dumps([ADD] if as_array else ADD).encode())
    place.path("samples.jsonl").write_bytes(mark + json.dumps({"task_id": "Own/0", "completion": "good"}).encode())
    done = place.grade(fake(), "-k", "1")
    assert (done.returncode, done.stderr, done.stdout.splitlines()[-1]) == (0, "", "pass@1:    1.0000")


def test_languages_apart(place, fake):
    """pass@k over several languages is labelled, and each has its own; so has a resumed run, and passk."""
    place.write("tasks.jsonl", SUM, {**SUM, "name": "b"})
    texts = [("sum", "go", "good"), ("sum", "c++", "bad"), ("sum", "cpp", "good"), ("b", "c++", "good"), ("b", "go", "x")]
    place.write("samples.jsonl", *({"name": n, "language": way, "solution": text} for n, way, text in texts))
    text = [
        "2 tasks, 5 samples, 3 correct",
        "in C++: 2 tasks, 3 samples, 2 correct; pass@1 0.7500",
        "in Go: 2 tasks, 2 samples, 1 correct; pass@1 0.5000",
        "pass@1:    0.5833 (2 languages)",
        "pass@2:    1.0000 (2 languages)",
    ]
    assert place.grade(fake(), "--k", "1,2").stdout.splitlines() == text
    assert place.grade(fake(), "--k", "1,2", "--resume").stdout.splitlines() == text
    assert place.run("passk", "--k", "1,2", "samples.jsonl_results.jsonl").stdout.splitlines() == text
    report = json.loads(place.grade(fake(), "--k", "1,2", "--resume", "--json").stdout)
    assert report["languages"] == {
        "cpp": {"tasks": 2, "samples": 3, "correct": 2, "pass_at_k": {"1": 0.75, "2": None}},
        "go": {"tasks": 2, "samples": 2, "correct": 1, "pass_at_k": {"1": 0.5, "2": None}},
    }


def test_results_of_other_samples_are_labelled(place, fake):
    """A resumed run counts all that the file has, as passk does."""
    place.write("tasks.jsonl", ADD, TWICE)
    place.write("samples.jsonl", *({"task_id": "Own/0", "completion": "good"} for _ in range(3)))
    place.grade(fake())
    samples = [{"task_id": "Own/0", "completion": "good"}, {"task_id": "Own/1", "completion": "bad"}]
    place.write("samples.jsonl", *samples)
    done = place.grade(fake(), "--resume", "--k", "1")
    assert done.stdout.splitlines() == [
        "2 tasks, 4 samples, 3 correct",
        "pass@1:    0.5000 (2 samples not in the input)",
    ]
    report = json.loads(place.grade(fake(), "--resume", "--json").stdout)
    assert (report["not_in_input"], report["samples"], report["complete"]) == (2, 4, True)
    done = place.grade(fake(), "--resume", "--k", "1", "--filter", "Own/1")
    assert "(2 samples not in the input)" in done.stdout, "what a filter leaves out is in the input"


SUM = {"name": "sum", "public_tests": {"input": ["1 2"], "output": ["3"]}}
SWIFT = {"name": "HumanEval_0_f", "language": "swift", "prompt": "func f() {\n", "tests": "f()\n", "stop_tokens": []}


def test_a_language_that_no_task_is_in(place):
    """It is refused before anything is graded, or a daemon asked."""
    place.write("tasks.jsonl", ADD, HALF)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    for name in ("klingon", "cpp"):
        done = place.grade(None, "--language", name)
        assert (done.returncode, complaints(done)) == (2, [f"--language {name}: the tasks are in Python (MBPP)"])
    place.write("tasks.jsonl", SWIFT, SUM)
    assert "the tasks are in" not in place.grade(None, "--language", "go").stderr, "one of them takes it"


LANGUAGE_NAMES = ["klingon", "C++", "haskell", "pypy", "PyPy 3", "Faster"]


@pytest.mark.parametrize("name, known", [(name, name != "klingon") for name in LANGUAGE_NAMES])
def test_a_language_that_the_daemon_does_not_know(place, fake, name, known):
    daemon = fake()
    daemon.languages = [{"name": name, "available": True} for name in ("cpp", "python")]
    daemon.languages.insert(1, {"name": "pypy3", "aliases": ["faster", "pypy"], "available": True})
    daemon.languages.append({"name": "haskell", "available": False, "why_not": "install ghc"})
    place.write("tasks.jsonl", SUM)
    place.write("samples.jsonl", {"name": "sum", "solution": "good"})
    done = place.grade(daemon, "--language", name)
    assert (done.returncode, len(daemon.jobs), len(done.announced)) == ((0, 1, 1) if known else (2, 0, 0))
    assert complaints(done) == (
        {
            "klingon": ["--language klingon: the daemon does not know it; it knows cpp, pypy3, python, haskell"],
            "haskell": ["--language haskell: install ghc"],
        }.get(name, [])
    )
    assert place.path("samples.jsonl_results.jsonl").exists() == known


def test_languages_of_tasks_that_the_daemon_lacks(place, fake):
    """They are named before the samples, and pass@k says that these have no verdict."""
    daemon = fake(lambda job: error("language_not_found") if job["language"] == "swift" else passing())
    daemon.languages = [{"name": "python", "available": True}, {"name": "go", "available": False, "why_not": "no go"}]
    tasks = [SWIFT, {**SWIFT, "name": "b"}, {**SWIFT, "name": "c", "language": "go_test.go"}]
    place.write("tasks.jsonl", SUM, *tasks)
    place.write("samples.jsonl", *({"name": task["name"], "solution": "good"} for task in (SUM, *tasks)))
    done = place.grade(daemon, "--k", "1")
    assert complaints(done) == [
        "2 tasks in Swift cannot be graded: the daemon does not know it",
        "1 task in Go cannot be graded: no go",
    ]
    assert done.stdout.splitlines()[-1] == "pass@1:    not computed: 2 of 4 tasks have fewer than 1 graded sample"


def test_the_count_of_lines_agrees_with_those_that_are_named(place, fake):
    """A sample of a task that cannot be used is no mistake of its own, but it is named."""
    place.write("tasks.jsonl", ADD, {**TWICE, "test": 1})
    place.write("samples.jsonl", {"task_id": "Own/1", "completion": "x"})
    done = place.run("grade", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl", daemon=fake())
    assert done.returncode == 2
    lines = [line.replace("rubricctl: ", "") for line in done.stderr.splitlines()]
    assert lines[0] == "tasks.jsonl:2: test: expected a string, got a number"
    assert lines[1] == 'samples.jsonl:1: its task "Own/1" (tasks.jsonl:2) cannot be used'
    assert lines[-1] == "1 input line could not be used, so neither could 1 that depends on it (named above)"


def test_samples_of_unusable_tasks(place, fake):
    """A task that cannot be used stays one of the benchmark, and is one defect however many samples it has."""
    place.write("tasks.jsonl", ADD, {**TWICE, "canonical_solution": 3}, {**HALF, "test_list": None})
    good = {"task_id": "Own/0", "completion": "good"}
    place.write(
        "samples.jsonl",
        {"task_id": "Own/1", "completions": ["good", "bad"]},
        good,
        {"task_id": "Own/1", "completion": "good"},
        {"task_id": "Own/9", "completion": "good"},
        {"task_id": 7, "completion": "good"},
    )
    done = place.grade(fake(), "--k", "1")
    assert done.returncode == 2
    said = complaints(done)
    assert said[0] == "tasks.jsonl:2: canonical_solution: expected a string, got a number"
    assert said[1].startswith("tasks.jsonl:3: ")
    assert said[2:] == [
        'samples.jsonl:1: its task "Own/1" (tasks.jsonl:2) cannot be used',
        'samples.jsonl:4: task_id "Own/9" is not in the data set',
        'samples.jsonl:5: its task "7" (tasks.jsonl:3) cannot be used',
    ]
    assert done.stdout.splitlines() == [
        "3 tasks, 1 sample, 1 correct",
        "incomplete: 2 tasks that cannot be used (named above); 4 samples of such tasks; 1 unusable (named above)",
        "pass@1:    1.0000 (incomplete; of 1 of 3 tasks)",
    ]
    report = json.loads(place.grade(fake(), "--force", "--json").stdout)
    assert (report["tasks"], report["unusable_tasks"], report["unusable_task_samples"]) == (3, 2, 4)
    assert (report["unusable"], report["samples"], report["complete"]) == (3, 1, False)


def test_tasks_without_samples(place, fake):
    place.write("tasks.jsonl", ADD, "", HALF, TWICE)
    place.write("samples.jsonl", {"task_id": "Own/1", "completion": "good"})
    done = place.grade(fake(), "--k", "1")
    assert done.returncode == 2
    assert complaints(done) == [
        'tasks.jsonl:1: task "Own/0" has no sample',
        'tasks.jsonl:3: task "7" has no sample',
    ]
    assert done.stdout.splitlines() == [
        "3 tasks, 1 sample, 1 correct",
        "incomplete: 2 tasks without a sample, left out of pass@k",
        "pass@1:    1.0000 (incomplete; of 1 of 3 tasks)",
    ]


def test_many_tasks_without_samples(place, fake):
    """Three of them are named. pass@k is that of `passk`, and says of how many tasks it is."""
    place.write("tasks.jsonl", *({**ADD, "task_id": f"Own/{i}"} for i in range(10)))
    place.write("samples.jsonl", *({"task_id": "Own/4", "completion": text} for text in ("good", "bad")))
    done = place.grade(fake(), "--k", "1,2,3", "--json")
    assert done.returncode == 2
    assert complaints(done) == [
        *(f'tasks.jsonl:{i + 1}: task "Own/{i}" has no sample' for i in range(3)),
        "tasks.jsonl: 6 more tasks have no sample",
    ]
    report = json.loads(done.stdout)
    assert (report["tasks"], report["sampleless_tasks"], report["unselected_tasks"]) == (10, 9, 0)
    assert (report["complete"], report["pass_at_k"]) == (False, {"1": 0.5, "2": 1.0, "3": None})
    assert passk_of(place, "--k", "1,2,3")["pass_at_k"] == report["pass_at_k"]


def passk_of(place, *options):
    """Returns what `passk` says of the results."""
    command = [RUBRICCTL, "passk", "--json", *options, place.path("samples.jsonl_results.jsonl")]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


@pytest.mark.parametrize(
    "filters, tasks",
    [
        (["--filter", "Own/1"], {1: 2}),
        (["--filter", "Own/1:1"], {1: 1}),
        (["--filter", "Own/1#1"], {1: 1}),
        (["--filter", "id=Own/[02]#1"], {0: 1, 2: 1}),
        (["--filter", "id=Own/[12]"], {1: 2, 2: 2}),
        (["--filter", "Own/*:0"], {0: 1, 1: 1, 2: 1}),
        (["--filter", "kind=code_exec", "--filter", "*/2"], {2: 2}),
    ],
)
def test_filters_choose_tasks(place, fake, filters, tasks):
    """pass@k is of the tasks that filters let pass, and no other is named as lacking samples."""
    place.write("tasks.jsonl", *({**ADD, "task_id": f"Own/{i}"} for i in range(4)))
    place.write("samples.jsonl", *({"task_id": f"Own/{i}", "completion": "good"} for i in range(3) for _ in range(2)))
    done = place.grade(fake(), "--k", "1", *filters)
    lacks = filters == ["--filter", "Own/*:0"]
    assert complaints(done) == (['tasks.jsonl:4: task "Own/3" has no sample'] if lacks else [])
    assert done.returncode == (2 if lacks else 0)
    count = sum(tasks.values())
    out = 4 - len(tasks)
    assert done.stdout.splitlines() == [
        f"4 tasks, {count} sample{'s' * (count > 1)}, {count} correct",
        "incomplete: 1 task without a sample, left out of pass@k"
        if lacks
        else f"selected: {out} task{'s' * (out > 1)} left out by --filter or --limit",
        f"pass@1:    1.0000 ({'incomplete; ' * lacks}of {len(tasks)} of 4 tasks)",
    ]


def test_a_data_set_without_tasks(place, fake):
    daemon = fake()
    place.write("tasks.jsonl", "", "x")
    place.write("samples.jsonl", {"task_id": "Own/1", "completion": "good"})
    done = place.grade(daemon)
    assert done.returncode == 2
    assert complaints(done)[1] == "tasks.jsonl: no task in it can be used"
    assert not place.path("samples.jsonl_results.jsonl").exists()


@pytest.mark.parametrize(
    ("cut", "complaint"),
    [
        (lambda data: data[:-9], "the compressed file ends too early"),
        (lambda data: b"", "the compressed file ends too early"),
        (lambda data: b"no gzip at all", "not gzip, or damaged"),
        (lambda data: data + b"more", "not gzip, or damaged"),
        (lambda data: data[:-8] + b"\0" * 8, "not gzip, or damaged"),
    ],
    ids=["cut", "empty", "text", "more behind", "checksum"],
)
@pytest.mark.parametrize("name", ["tasks.gz", "samples.gz"])
def test_damaged_compressed_files(place, fake, name, cut, complaint):
    place.write("tasks.gz", ADD)
    place.write("samples.gz", {"task_id": "Own/0", "completion": "good"})
    place.path(name).write_bytes(cut(place.path(name).read_bytes()))
    done = place.grade(fake(), dataset="tasks.gz", samples="samples.gz")
    assert done.returncode == 2
    assert f"{name}: {complaint}" in complaints(done)
    assert "pass@1:    1.0000\n" not in done.stdout


def test_files_that_are_not_there(place, fake):
    place.write("tasks.jsonl", ADD)
    daemon = fake()
    assert complaints(place.grade(daemon)) == ["samples.jsonl: No such file or directory"]
    place.write("samples.jsonl")
    done = place.grade(daemon, dataset="none")
    assert (done.returncode, complaints(done)) == (2, ["none: No such file or directory"])
    done = place.grade(daemon, "--output", "none/out")
    assert (done.returncode, complaints(done)) == (
        2,
        ["cannot write none/out: No such file or directory"],
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "grade: --dataset FILE is missing; see rubricctl grade --help"),
        (
            ["--dataset", "d"],
            "grade: --samples FILE is missing (or --canonical); see rubricctl grade --help",
        ),
        (
            ["--dataset", "d", "--samples", "s", "--canonical"],
            "--canonical grades the data set's own solutions and takes no --samples",
        ),
        (
            ["--dataset", "d", "--samples", "s", "--shared", "--isolated-only"],
            "--shared and --isolated-only contradict each other",
        ),
        (
            ["--dataset", "-", "--samples", "-"],
            "--dataset and --samples cannot both be standard input",
        ),
        (
            ["--dataset", "d", "--samples", "-"],
            "--output FILE is missing: standard input has no name to derive one from",
        ),
        (
            ["--dataset", "-", "--canonical"],
            "--output FILE is missing: standard input has no name to derive one from",
        ),
        (
            ["--dataset", "d", "--samples", "s", "-o", "-", "--json"],
            "--json and --output - both want standard output",
        ),
        (["more"], 'grade: unexpected argument "more"; see rubricctl grade --help'),
        *[
            (
                ["--dataset", "d", "--canonical", "--timeout", text],
                f'--timeout: expected seconds, more than 0 and at most 30, got "{text}"',
            )
            for text in ("0", "-1", "30.1", "nan", "inf", "0x1", "1s", "", " 1", "1e1")
        ],
        *[
            (
                ["--dataset", "d", "--canonical", "--k", text],
                "--k: expected whole numbers from 1 to 1000000 with commas between them, got "
                f'"{wrong}"',
            )
            for text, wrong in [
                ("", ""),
                ("0", "0"),
                ("1,", ""),
                ("1,-2", "-2"),
                ("1,1000001,2", "1000001"),
                ("1;2", "1;2"),
                ("99999999999999999999999", "99999999999999999999999"),
            ]
        ],
        (
            ["--dataset", "d", "--canonical", "--k", ",".join(map(str, range(1, 34)))],
            "--k: more than 32 numbers",
        ),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_wrong_usage(place, fake, arguments, complaint):
    done = place.run("grade", *arguments, daemon=fake())
    assert (done.returncode, complaints(done), done.stdout) == (2, [complaint], "")


# rubricctl batch uses the same machinery


def test_batch(place, fake):
    """batch writes answers unchanged except for newlines; it names bad lines and ids in use."""
    def answer(job):
        return passing(kept=job["n"]) if "n" in job else error()

    daemon = fake(answer, hold=4)
    place.write("jobs.jsonl", {"id": "a", "n": 1}, "", "x", {"id": "a"}, {"n": 2}, {"id": "d"}, {"n": 3})
    done = place.run("batch", "-q", "--retries", "0", "jobs.jsonl", daemon=daemon)
    assert done.returncode == 2
    assert complaints(done) == [
        "jobs.jsonl:3: not JSON: column 1: invalid token near 'x'",
        'jobs.jsonl:4: id "a" is that of a job still in flight, jobs.jsonl:1',
    ]
    assert split_at_errors(done.stderr.splitlines())[1] == [
        "       1  internal",
        "          jobs.jsonl:6: d: the disk is full",
    ]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        schema_check.validate_by("run", line.pop("run"))
    assert lines == [
        {"id": "a", **passing(kept=1)},
        {"id": "jobs.jsonl:5", **passing(kept=2)},
        {"id": "d", **error()},
        {"id": "jobs.jsonl:7", **passing(kept=3)},
    ]


def test_batch_of_compressed_files(place, fake):
    place.write("jobs.gz", *[{"n": n} for n in range(1000)])
    done = place.run("batch", "-q", "jobs.gz", daemon=fake(lambda job: passing(kept=job["n"])))
    assert (done.returncode, done.stderr) == (0, "")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["kept"] for answer in answers] == list(range(1000))
    assert answers[-1]["id"] == "jobs.gz:1000"


# languages of samples


@pytest.mark.parametrize("task", [ADD, SUM], ids=["in Python", "in any language"])
@pytest.mark.parametrize("name", ["lang", "langauge", "Language", "languages", "programming_language", "lang_cluster"])
def test_a_language_under_another_name(place, fake, name, task):
    """Code in C++ that is graded as Python fails, and looks as if it were wrong."""
    place.write("tasks.jsonl", task)
    own = {"task_id": task.get("task_id", task.get("name")), "solution": "good"}
    place.write("samples.jsonl", own, {**own, name: "GNU C++17"}, {**own, name: "Python 3"})
    done = place.grade(fake(), "--k", "1")
    assert complaints(done) == [
        f'samples.jsonl:2: {name}: it is not read, and "GNU C++17" would be graded as Python; did you mean language?'
    ]
    assert (done.returncode, done.stdout.splitlines()[0]) == (2, "1 task, 2 samples, 2 correct")


@pytest.mark.parametrize(
    "members",
    [
        {"lang": "cpp", "language": "python"},
        {"lang": "English"},
        {"lang": ["cpp"]},
        {"lang": None},
        {"prompt_language": "cpp"},
        {"long": "cpp"},
        {"target": "cpp"},
    ],
    ids=str,
)
def test_members_that_say_nothing_of_the_language(place, fake, members):
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good", **members})
    done = place.grade(fake(), "--k", "1")
    assert (done.returncode, done.stderr, done.stdout.splitlines()[0]) == (0, "", "1 task, 1 sample, 1 correct")


def test_a_language_under_another_name_that_is_right(place, fake):
    """--language says the same."""
    place.write("tasks.jsonl", SUM)
    place.write("samples.jsonl", {"name": SUM["name"], "solution": "good", "lang": "C++"})
    done = place.grade(fake(), "--k", "1", "--language", "cpp")
    assert (done.returncode, done.stderr, done.stdout.splitlines()[0]) == (0, "", "1 task, 1 sample, 1 correct")


# passk


def test_passk_of_files_from_other_programs(place):
    """passk reads the format of HumanEval's harness, and `result` and `error` messages with a task_id."""
    place.write(
        "a.jsonl",
        {"task_id": "x", "completion": "...", "result": "passed", "passed": True},
        {"task_id": "x", "completion": "...", "result": "timed out", "passed": False},
    )
    place.write("b.gz", {"task_id": 1, "id": "1", **passing()}, {"task_id": "1", **failing()})
    done = place.run("passk", "--k", "2,1", "a.jsonl", "b.gz", "-", stdin='{"task_id":1,"passed":false}')
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "2 tasks, 5 samples, 2 correct",
        f"pass@2:    {mean_pass_at_k([(2, 1), (3, 1)], 2):.4f}",
        f"pass@1:    {mean_pass_at_k([(2, 1), (3, 1)], 1):.4f}",
    ]
    place.write("c.jsonl", {"task_id": 1, **passing()}, {"task_id": 1, **error()})
    done = place.run("passk", "--json", "c.jsonl")
    report = json.loads(done.stdout)
    assert (done.returncode, report["not_graded"], report["samples"]) == (4, 1, 1)


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ("{", "not JSON: "),
        ({"passed": True}, "task_id: expected a string or a number, got nothing"),
        ({"task_id": "x"}, "passed: expected a boolean, got nothing"),
        ({"task_id": "x", "passed": 1}, "passed: expected a boolean, got a number"),
        ({"task_id": "x", "score": 1}, "passed: expected a boolean, got nothing"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_passk_of_bad_lines(place, record, complaint):
    place.write("r.jsonl", "", record, {"task_id": "x", "passed": True})
    done = place.run("passk", "--k", "1", "r.jsonl")
    (said,) = complaints(done)
    assert said.startswith(f"r.jsonl:2: {complaint}"), said
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        "1 task, 1 sample, 1 correct",
        "incomplete: 1 unusable (named above)",
        "pass@1:    1.0000 (incomplete)",
    ]


def sample(task, number, passed):
    return {"task_id": task, "sample": number, "passed": passed}


def test_passk_of_repeated_lines(place):
    """The last line of a sample counts, as in a report; a run that was appended to the file of another repeats all."""
    first = [sample("a", 0, False), sample("a", 1, False), sample("b", 0, None), sample("b", 1, True)]
    place.write("r.jsonl", *first, sample("a", 0, True), sample("b", 0, True))
    done = place.run("passk", "--k", "1", "r.jsonl")
    assert complaints(done) == [
        f'r.jsonl:{line}: "{task}" occurs earlier in this file; the last line counts' for line, task in ((5, "a"), (6, "b"))
    ]
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["2 tasks, 4 samples, 3 correct", "pass@1:    0.7500"]
    report = json.loads(place.run("report", "--json", "r.jsonl").stdout)["totals"]
    assert (report["results"], report["passed"], report["replaced"]) == (4, 3, 2)


def test_passk_names_ten_repeated_lines(place):
    place.write("r.jsonl", *[sample("a", 0, True)] * 20)
    said = complaints(place.run("passk", "r.jsonl"))
    assert len(said) == 11
    assert said[-1] == "r.jsonl: more lines like these follow"


def test_passk_of_repeated_messages(place):
    """The daemon's answers have an id of each sample. One without it, or another task's, is another sample."""
    lines = [{"id": "x#1", **error()}, {"id": "x#1", **passing()}, {"id": "x#2", **failing()}]
    place.write("r.jsonl", *({"task_id": "x", **line} for line in lines), {"task_id": "y", **lines[1]})
    done = place.run("passk", "--k", "1", "r.jsonl")
    assert complaints(done) == ['r.jsonl:2: "x" occurs earlier in this file; the last line counts']
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "2 tasks, 3 samples, 2 correct")


def test_passk_of_the_lines_of_several_files(place):
    """A sample has the number that it has in its own run."""
    for name in ("r.jsonl", "s.jsonl"):
        place.write(name, sample("a", 0, True), sample("a", 1, False))
    done = place.run("passk", "--k", "1", "r.jsonl", "s.jsonl")
    assert (done.stderr, done.stdout.splitlines()[0]) == ("", "1 task, 4 samples, 2 correct")


@pytest.mark.parametrize("command", ["passk", "report"])
@pytest.mark.parametrize("numbers", [{"sample": 0}, {}], ids=["numbered", "without a number"])
def test_a_file_of_results_that_is_given_twice(place, command, numbers):
    """Its samples would count twice, and so would the k that pass@k can be computed for."""
    place.write("r.jsonl", {"task_id": "a", "passed": True, **numbers})
    os.link(place.path("r.jsonl"), place.path("s.jsonl"))
    done = place.run(command, "--json", "r.jsonl", "./r.jsonl", "s.jsonl")
    assert complaints(done) == [f"{name} is the same file as r.jsonl: its lines count once" for name in ("./r.jsonl", "s.jsonl")]
    counts = json.loads(done.stdout)
    assert (counts["samples"] if command == "passk" else counts["totals"]["results"]) == 1


def test_passk_without_results(place):
    place.write("r.jsonl", "")
    done = place.run("passk", "r.jsonl")
    assert (done.returncode, complaints(done)) == (2, ["no results found"])
    done = place.run("passk", "none")
    assert complaints(done) == ["none: No such file or directory", "no results found"]
    done = place.run("passk")
    assert complaints(done) == ["passk: RESULTS... is missing; see rubricctl passk --help"]
    done = place.run("passk", "--k", "x", "r.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert complaints(done)[0].startswith("--k: expected whole numbers")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_output_that_cannot_be_written(place, fake):
    place.write("tasks.jsonl", ADD)
    place.write("samples.jsonl", {"task_id": "Own/0", "completion": "good"})
    done = place.grade(fake(), "--force", "--output", "/dev/full")
    assert done.returncode == 6
    assert complaints(done) == ["cannot write the output: No space left on device"]
