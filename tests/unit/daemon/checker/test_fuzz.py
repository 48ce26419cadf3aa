# SPDX-License-Identifier: MIT
"""The fuzz drivers of the checker (tests/fuzz) still fuzz: each runs one small round, in which something is altered
and something else comes out. tests/integration/test_code_exec_fuzz.py has the one that needs a daemon."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[4] / "tests" / "fuzz"
ROUNDS = {
    "wire_fuzz": """
import wire_fuzz as driver
fuzzer = driver.Fuzzer()
fuzzer.jobs = fuzzer.jobs[:1]
driver.BATCH = 20
result = fuzzer.round("1")
fuzzer.pair.close()
""",
    "transcript_fuzz": """
import transcript_fuzz as driver
driver.jobs = lambda: [driver.EXACT]
fuzzer = driver.Fuzzer()
result = fuzzer.round("1")
fuzzer.referee.close()
""",
    "membrane_fuzz": """
import membrane_fuzz as driver
driver.BATCH = 20
job = driver.jobs()[0]
recording = driver.record(job)
result = driver.run_batch(job, recording, [recording[0]], "1")
""",
}


def run(text, tmp_path):
    """Runs a program with the drivers; returns what it calls its `result`."""
    text += "\nprint('RESULT', repr(result))"
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(FUZZ)}, timeout=120,
                          capture_output=True, text=True)  # fmt: skip
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert found, done
    return ast.literal_eval(found[0].partition(" ")[2])


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round(name, tmp_path):
    counts, violations = run(ROUNDS[name] + "\nresult = dict(result[0]), result[1]", tmp_path)
    assert not violations and sum(counts.values()) == 20 and len(counts) > 1, counts


# Their tests look for names in `__main__`, drop what the code has made at a certain time, and have a timer.
PLAYED = ("functions of the code that a test replaces by their names", "text that the tests run: programs",
          "a signal handler of the code amid a function of the tests, and after the call")  # fmt: skip


@pytest.mark.parametrize("name", PLAYED)
def test_what_a_judge_has_heard_plays_to_the_same_verdict(name, tmp_path):
    """What is altered then is what has altered the verdict."""
    text = f"""
import membrane_fuzz as driver
(job,) = [job for job in driver.jobs() if job["id"] == {name!r}]
recording = driver.record(job)
result = len(recording[0]), driver.forked(job, *recording)
"""
    count, said = run(text, tmp_path)
    assert count > 1 and said == "pass"


def test_a_judge_that_waits_is_hung(tmp_path):
    """And one that does not stop reading is wrong, whatever a recording says of the time."""
    text = """
import os, time
import membrane_fuzz as driver
driver.HANG_SECONDS, driver.WAIT_SECONDS = 0.5, 1
job, said = {"id": "x", "code": "", "targets": ["assert f"]}, []
driver.judge.judge = lambda *_: time.sleep(600)
said.append(driver.forked(job, [], []))
def read(*_):
    while True: pass
driver.judge.Link.read = read
def judge(asked, link, report):
    driver.judge.watch.observe(link, "")
    link.read(b"")
driver.judge.judge, driver.WAIT_SECONDS = judge, 30
said.append(driver.forked(job, [], [0.0] * 9999))
result = said
"""
    assert run(text, tmp_path) == ["hung", "VIOLATION reading or writing does not end"]


@pytest.mark.parametrize(("where", "verdict"), [("conversation.Conversation.understand", "endless"), ("judge.judge", "hung")])
def test_a_judge_that_does_not_end_to_read_is_wrong(where, verdict, tmp_path):
    """Its tests may have no end, and are not told from it by the clock."""
    text = f"""
import json, os
import fuzzing, conversation, judge, altering_referee as driver
judge.judge = lambda asked, link, report: link.read(b"")
def endless(*_):
    while True: pass
{where} = endless
read_fd, write_fd = os.pipe()
pid = os.fork()
if pid == 0:
    os.close(read_fd)
    driver.child({{"how": "isolated", "code": "", "targets": ["assert f"]}}, write_fd)
os.close(write_fd)
(told,), has_ended = driver.referee.gather([read_fd], driver.referee.time.monotonic() + (30 if {verdict != "hung"} else 3))
os.killpg(pid, driver._signal.SIGKILL)
result = json.loads(told)["verdict"] if has_ended else "hung"
"""
    assert run(text, tmp_path) == verdict


def test_a_reading_that_was_altered_before_is_altered_again(tmp_path):
    text = """
import random, transcript_fuzz as driver
datas = [b"1", b"-1.5", b"b'x'", b"True", b"'x'", b"None", b"(1,)", b"x", b"\\xff"]
result = [len({driver.another_reading(random.Random(seed), data) for seed in range(50)}) > 1 for data in datas]
"""
    assert run(text, tmp_path) == [True] * 7 + [False] * 2
