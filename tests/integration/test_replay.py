# SPDX-License-Identifier: MIT
"""Transcripts of code_exec jobs, and replays: through the protocol, and with rubricctl grade and replay.
tests/unit/daemon/checker/test_transcript.py has what a transcript holds and what makes it diverge."""

import base64
import json
import subprocess
import zlib

import pytest
from conftest import ALL_LAYERS, DEADLINE, NO_USER_NAMESPACES, RUBRICCTL, Daemon, make_shape

CODE = """
import sys
print("the code was loaded", file=sys.stderr)
class Stack:
    def __init__(self): self.items = []
    def push(self, x): self.items.append(x); return self
    def pop(self): return self.items.pop()
def squares(n, f=None): return [f(i) if f else i * i for i in range(n)]
def fails(x): raise ValueError(x)
def many(n): return list(range(n))
def loud(n): sys.stderr.write("x" * n)
"""
TARGETS = [
    "assert squares(4) == [0, 1, 4, 9] and squares(3, lambda i: -i) == [0, -1, -2]",
    "s = Stack().push(1).push([2])\nassert s.pop() == [2] and s.items == [1]",
    "import os, random, time, uuid\nassert squares(len(os.urandom(3)))[2] == 4 and len(f'{uuid.uuid4()}') == 36\n"
    "assert many(random.randint(1, 9))[0] == 0 and time.time() > 1e9",
    "try:\n    fails('no')\nexcept ValueError as error:\n    assert error.args == ('no',)\nelse:\n    assert False",
    "open('own.txt', 'w').write('x')\nassert os.path.exists('own.txt')\nos.remove('own.txt')",
]


@pytest.fixture(scope="module", name="daemon", params=[ALL_LAYERS, NO_USER_NAMESPACES])
def start_in_shape(request, tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"), shape=make_shape(request.param), slots=1)
    yield daemon
    assert daemon.stop() == 0, daemon.log()


def job(*targets, **fields):
    timeout = {"timeout_s": 20}
    return {"kind": "code_exec", "code": CODE, "targets": [*targets] or TARGETS, "names": ["Stack", "squares", "many"],
            "metadata": timeout, **fields}  # fmt: skip


def transcript(client, asked):
    answer = client.run({**asked, "transcript": True})
    assert answer["verdict"] == "pass" and answer["mode"] == "isolated", answer
    told = answer["transcript"]
    assert told["replayable"] is True, told
    return told["data"]


def replay(client, asked, data):
    answer = client.run({**asked, "replay": data})
    assert answer["mode"] == "replay", answer
    return answer


def altered(data, old, new):
    mark, _, packed = base64.b64decode(data).partition(b"\n")
    events = zlib.decompress(packed)
    assert len(old) == len(new) and old in events
    return base64.b64encode(mark + b"\n" + zlib.compress(events.replace(old, new))).decode()


# --- through the protocol --------------------------------------------------------------------------


@pytest.mark.parametrize("warm", [(True, True), (True, False), (False, True)])
def test_a_pass_replays(client, warm):
    """A transcript that a waiting interpreter has made can be replayed by one that is started, and vice versa."""
    data = transcript(client, job(warm=warm[0]))
    answer = replay(client, job(warm=warm[1]), data)
    assert answer["verdict"] == "pass" and answer["score"]["score"] == 1, answer
    assert [one["passed"] for one in answer["assertions"]] == [True] * len(TARGETS)
    assert "transcript" not in answer


def test_it_is_only_told_when_asked_for(client):
    assert "transcript" not in client.run(job(transcript=False))
    assert "transcript" not in client.run(job())
    answer = client.run(job("assert squares(1) == [1]", transcript=True))
    assert answer["verdict"] == "assertion_fail" and "transcript" not in answer


def test_the_code_does_not_run(client):
    """What the code prints when it is loaded is in the stderr of a job that does not pass."""
    asked = job("assert squares(2) == [0, 1]")
    data = transcript(client, asked)
    wrong = job("assert squares(2) == [0, 2]")
    assert "the code was loaded" in client.run(wrong)["outcome"]["stderr"]
    answer = replay(client, wrong, data)
    assert answer["verdict"] == "diverged" and "the code was loaded" not in answer["outcome"]["stderr"], answer


def test_what_diverges(client):
    asked = job("assert squares(3) == [0, 1, 4]")
    data = transcript(client, asked)
    for other in ({**asked, "code": CODE + "\nx = 1"}, job("assert squares(4) == [0, 1, 4, 9]"), job("x = 1")):
        answer = replay(client, other, data)
        assert answer["verdict"] == "diverged" and answer["score"]["score"] == 0, answer
        assert answer["score"]["failure_modes"][0]["code"] == "code_exec.diverged"
    cut = base64.b64encode(base64.b64decode(data)[:-9]).decode()
    assert replay(client, asked, cut)["verdict"] == "diverged"
    assert replay(client, asked, altered(data, b"squares", b"SQUARES"))["verdict"] == "diverged"


def test_what_cannot_be_replayed(client):
    reasons = {
        "import threading\nt = threading.Thread(target=squares, args=(1,))\nt.start()\nt.join()": "threads",
        "import datetime\nassert many(datetime.datetime.now().month)": "`now`",
        "assert many(id(many) % 9) is not None": "`id`",
    }
    for target, reason in reasons.items():
        told = client.run(job(target, transcript=True))["transcript"]
        assert told["replayable"] is False and reason in told["reason"], told


def test_files_of_the_code(client):
    code = "def write(name):\n    with open(name, 'w') as f: f.write('x')\n"
    asked = job("write('a.txt')\nassert open('a.txt').read() == 'x'", code=code, names=[], transcript=True)
    told = client.run(asked)["transcript"]
    assert told["replayable"] is False and "`a.txt`" in told["reason"], told


def test_shared(client):
    told = client.run(job("assert squares(1) == [0]", verdict="shared", transcript=True))["transcript"]
    assert told["replayable"] is False and "in the process of the code" in told["reason"]


def test_a_transcript_is_no_output(client):
    """It may be larger than all output may be; what the code prints counts as ever."""
    limits = {"output_bytes": 5000}
    asked = job("import random\nx = [random.random() for _ in range(3000)]\nassert squares(3000, x.__getitem__) == x",
                limits=limits)  # fmt: skip
    data = transcript(client, asked)
    assert len(data) > 20000
    assert replay(client, asked, data)["verdict"] == "pass"
    for transcript_too in (True, False):
        answer = client.run(job("loud(9000)", limits=limits, transcript=transcript_too))
        assert answer["verdict"] == "error" and answer["outcome"]["limit_exceeded"] == "output", answer


def test_tests_in_a_replay_are_jailed(client):
    """Their author may be a stranger. A replay ends at its deadline, and sees what any job sees."""
    asked = job("assert squares(1) == [0]")
    data = transcript(client, asked)
    stuck = job("assert squares(1) == [0]", "while True: pass", metadata={"timeout_s": 1})
    assert replay(client, stuck, data)["verdict"] == "timeout"
    places = client.run(job("import os\nassert False, sorted(os.listdir('/'))"))["assertions"][0]["detail"]
    answer = replay(client, job("import os\nassert False, sorted(os.listdir('/'))"), data)
    assert answer["verdict"] == "diverged" and answer["assertions"][0]["detail"] == places


def test_bad_requests(client):
    for fields, text in (
        ({"replay": "???"}, "job.replay: not base64"),
        ({"replay": "eA==", "transcript": True}, "job.transcript"),
        ({"replay": "eA==", "verdict": "shared"}, "job.verdict"),
    ):
        answer = client.run(job(**fields), check=False)
        assert answer["type"] == "error" and answer["code"] == "bad_request" and text in answer["message"]
    answer = replay(client, job(), base64.b64encode(b"no transcript").decode())
    assert answer["verdict"] == "diverged" and "this is no transcript" in answer["score"]["failure_modes"][0]["detail"]


# --- rubricctl -------------------------------------------------------------------------------------

TASKS = [
    {"task_id": f"Own/{n}", "prompt": f"def f{n}(x):\n", "entry_point": f"f{n}", "canonical_solution": "    return x + 1\n",
     "test": "def check(candidate):\n    assert candidate(1) == 2\n"}
    for n in range(4)
]  # fmt: skip
THREADS = "import threading\ndef check(candidate):\n    t = threading.Thread(target=candidate, args=(1,))\n    t.start()\n    t.join()\n"
TASKS[3]["test"] = THREADS


class Place:
    def __init__(self, daemon, directory):
        self.daemon, self.directory = daemon, directory
        (directory / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in TASKS))
        samples = [{"task_id": "Own/0", "completion": "    return x + 1\n"}, {"task_id": "Own/0", "completion": "    return x\n"}]
        samples += [{"task_id": f"Own/{n}", "completion": "    return 1 + x\n"} for n in (1, 2, 3)]
        (directory / "samples.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))

    def run(self, *arguments):
        command = [RUBRICCTL, "--socket", str(self.daemon.socket), *arguments]
        return subprocess.run(command, cwd=self.directory, capture_output=True, text=True, timeout=DEADLINE)

    def grade(self, *more):
        return self.run("grade", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl", "--k", "1", "--transcripts",
                        "t.jsonl", *more)  # fmt: skip

    def lines(self, name="t.jsonl"):
        return [json.loads(line) for line in (self.directory / name).read_text().splitlines()]

    def write(self, lines, name="t.jsonl"):
        (self.directory / name).write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def place(daemon, tmp_path):
    return Place(daemon, tmp_path)


def test_grade_and_replay(place):
    done = place.grade()
    assert done.returncode == 1, done.stderr
    assert "3 transcripts written, and 1 pass named that cannot be replayed" in done.stderr
    lines = {line["id"]: line for line in place.lines()}
    assert set(lines) == {"Own/0:0", "Own/1:0", "Own/2:0", "Own/3:0"}
    assert lines["Own/1:0"]["job"]["code"] == "    return 1 + x\n" and lines["Own/1:0"]["job"]["test"] == TASKS[1]["test"]
    assert "transcript" not in lines["Own/1:0"]["job"]
    assert (lines["Own/1:0"]["task_id"], lines["Own/1:0"]["sample"]) == ("Own/1", 0)
    assert all("transcript" not in line for line in place.lines("samples.jsonl_results.jsonl"))
    done = place.run("replay", "-o", "r.jsonl", "t.jsonl")
    assert done.returncode == 0, done.stderr
    assert "Own/3:0: not replayable: the tests start threads" in done.stderr
    assert done.stderr.endswith("4 transcripts: 3 pass, 0 diverged, 1 not replayable, 0 not judged\n")
    assert {line["id"]: (line["verdict"], line["mode"]) for line in place.lines("r.jsonl")} == dict.fromkeys(
        ("Own/0:0", "Own/1:0", "Own/2:0"), ("pass", "replay")
    )
    again = place.run("replay", "-o", "r.jsonl", "--resume", "t.jsonl")
    assert again.returncode == 0 and "4 transcripts: 3 pass, 0 diverged" in again.stderr, again.stderr


def test_replay_of_altered_files(place):
    assert place.grade().returncode == 1
    lines = place.lines()
    lines[0]["job"]["code"] += "\n"
    place.write([*lines, {"id": "x"}])
    done = place.run("replay", "t.jsonl")
    assert done.returncode == 2, done.stderr
    assert f"{lines[0]['id']}: diverged: the tests ask another question" in done.stderr
    assert "t.jsonl:5: not a line of transcripts" in done.stderr
    assert "4 transcripts: 2 pass, 1 diverged, 1 not replayable, 0 not judged" in done.stderr
    place.write(lines)
    assert place.run("replay", "t.jsonl").returncode == 1
    assert place.run("replay", "--no-fail", "t.jsonl").returncode == 0
    lines[0]["transcript"]["data"] = "?"
    place.write(lines)
    done = place.run("replay", "t.jsonl")
    assert done.returncode == 4 and f"{lines[0]['id']}: not judged: bad_request: job.replay" in done.stderr, done.stderr
    assert "2 pass, 0 diverged, 1 not replayable, 1 not judged" in done.stderr


def test_files_of_transcripts(place):
    assert place.grade("--shared").returncode == 2
    assert place.grade().returncode == 1
    before = place.lines()
    done = place.grade("-o", "other.jsonl")
    assert done.returncode == 2 and "--transcripts: t.jsonl is there already" in done.stderr
    assert place.grade("-o", "another.jsonl", "--force").returncode == 1
    assert len(place.lines()) == len(before)
    # A resumed run adds what it grades.
    results = place.lines("samples.jsonl_results.jsonl")
    place.write([line for line in results if line["task_id"] != "Own/1"], "samples.jsonl_results.jsonl")
    place.write([line for line in before if line["task_id"] != "Own/1"])
    assert place.grade("--resume").returncode == 1
    assert sorted(line["id"] for line in place.lines()) == sorted(line["id"] for line in before)
    assert place.run("replay", "t.jsonl").returncode == 0
    for path in ("-", "/dev/null"):
        done = place.run("grade", "--dataset", "tasks.jsonl", "--canonical", "-o", "c.jsonl", "--force", "--transcripts", path)
        assert done.returncode == 2 and "not a regular file" in done.stderr, done.stderr
