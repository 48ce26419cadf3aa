# SPDX-License-Identifier: MIT
"""Transcripts (daemon/checker/transcript.py, watch.py): what passes replays to a pass without the candidate,
what is altered diverges, and what no transcript can hold is told with its reason."""

import ast
import base64
import zlib
from pathlib import Path

import pytest

import duel

HERE = Path(__file__).resolve().parent
FEATURES = duel.Jobs(HERE / "features.txt").jobs
RECORDED = duel.Jobs(HERE / "recorded.txt").jobs  # which must replay
UNREPLAYABLE = duel.Jobs(HERE / "unreplayable.txt").jobs  # @why is what the reason says
SENT, RECEIVED, READ = 0, 1, 2
FORMAT = b"rubricd transcript "


@pytest.fixture(scope="module")
def referee():
    referee = duel.Referee()
    yield referee
    referee.close()


def record(referee, job):
    found = referee.judge(job, "record")
    assert found["verdict"] == "pass", found
    return found


def transcript(referee, job):
    found = record(referee, job)
    assert "unreplayable" not in found, found
    return base64.b64decode(found["transcript"])


def replay(referee, job, data):
    found = referee.judge({**job, "replay": data})
    assert found["verdict"] in ("pass", "diverged"), found
    return found


def diverges(referee, job, data, why=""):
    found = replay(referee, job, data)
    assert found["verdict"] == "diverged" and why in found["detail"], found


def opened(data):
    """Returns what is before the events, and the events."""
    mark, _, packed = data.partition(b"\n")
    data, events = zlib.decompress(packed), []
    while data:
        size = int.from_bytes(data[1:5], "big")
        events.append((data[0], data[5 : 5 + size]))
        data = data[5 + size :]
    return mark + b"\n", events


def closed(mark, events):
    data = b"".join(bytes((kind,)) + len(data).to_bytes(4, "big") + data for kind, data in events)
    return mark + zlib.compress(data)


# --- what passes replays ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, job in FEATURES.items() if "refused" not in job])
def test_feature(referee, name):
    job = FEATURES[name]
    found = record(referee, job)
    if "unreplayable" in found:
        assert found["unreplayable"] in job.get("unreplayable", ""), found
        return
    assert "unreplayable" not in job
    found = replay(referee, job, base64.b64decode(found["transcript"]))
    assert found["verdict"] == "pass", found


@pytest.mark.parametrize("name", RECORDED)
def test_recorded(referee, name):
    job = RECORDED[name]
    found = replay(referee, job, transcript(referee, job))
    assert found["verdict"] == "pass", found


@pytest.mark.parametrize("name", UNREPLAYABLE)
def test_unreplayable(referee, name):
    job = UNREPLAYABLE[name]
    found = record(referee, job)
    assert "transcript" not in found and job["why"] in found.get("unreplayable", ""), found


def test_asking_for_a_transcript_changes_no_verdict(referee):
    job = {"id": "wrong", "code": "def f(x): return x", "targets": ["assert f(1) == 1", "assert f(1) == 2"]}
    found = referee.judge(job, "record")
    assert found["verdict"] == "assertion_fail" and "transcript" not in found and "unreplayable" not in found


# --- no line of the code runs ---------------------------------------------------------------------------


def test_the_code_does_not_run(referee, tmp_path):
    """The code leaves a file behind when it is loaded. A replay does not."""
    left = tmp_path / "left"
    code = f"open({str(left)!r}, 'a').write('x')\ndef f(x): return x"
    job = {"id": "runs", "code": code, "targets": ["assert f(1) == 1"]}
    data = transcript(referee, job)
    assert left.exists()
    left.unlink()
    assert replay(referee, job, data)["verdict"] == "pass"
    assert not left.exists()


# --- what is altered diverges ---------------------------------------------------------------------------

JOB = {
    "id": "job",
    "code": "def f(x): return x + 1\ndef g(h): return [h(i) for i in range(3)]\ndef add(l): l.append(4)",
    "targets": [
        "assert f(1) == 2\nassert f(41) == 42",
        "assert g(lambda x: x * 2) == [0, 2, 4]",
        "import time, os\nassert f(len(os.urandom(4))) == 5 and f(time.time_ns())",
        "l = [1]\nadd(l)\nassert l == [1, 4]\nassert f(7) == 8",
    ],
}


@pytest.fixture(scope="module")
def recorded(referee):
    mark, events = opened(transcript(referee, JOB))
    assert replay(referee, JOB, closed(mark, events))["verdict"] == "pass"
    assert {kind for kind, _ in events} == {SENT, RECEIVED, READ}
    return mark, events


def test_code_of_another_job(referee, recorded):
    diverges(referee, {**JOB, "code": JOB["code"] + "\n"}, closed(*recorded), "ask another question")


@pytest.mark.parametrize("other", ["assert f(1) == 3", "assert f(2) == 3", "assert f(1) == 2 and f(1)", "pass"])
def test_other_tests(referee, recorded, other):
    diverges(referee, {**JOB, "targets": [other, *JOB["targets"][1:]]}, closed(*recorded))


def test_fewer_tests(referee, recorded):
    diverges(referee, {**JOB, "targets": JOB["targets"][:1]}, closed(*recorded))


def test_truncated(referee, recorded):
    mark, events = recorded
    for n in range(len(events)):
        diverges(referee, JOB, closed(mark, events[:n]))


def test_an_event_more(referee, recorded):
    mark, events = recorded
    diverges(referee, JOB, closed(mark, [*events, events[-1]]), "goes on")


def test_an_event_less(referee, recorded):
    mark, events = recorded
    for n in range(len(events)):
        diverges(referee, JOB, closed(mark, events[:n] + events[n + 1 :]))


def test_changed_questions(referee, recorded):
    """Each byte of each question counts."""
    mark, events = recorded
    for n, (kind, data) in enumerate(events):
        for at in sorted({0, len(data) // 2, len(data) - 1}) if kind == SENT else ():
            changed = data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]
            diverges(referee, JOB, closed(mark, events[:n] + [(SENT, changed)] + events[n + 1 :]), "ask another question")


def test_a_wrong_answer(referee, recorded):
    mark, events = recorded
    answers = [n for n, (kind, data) in enumerate(events) if kind == RECEIVED and data == b"\xfei\2"]
    assert answers
    for n in answers:
        diverges(referee, JOB, closed(mark, events[:n] + [(RECEIVED, b"\xfei\3")] + events[n + 1 :]))


def test_another_right_answer_passes(referee):
    """This is beyond what a replay can notice (proto/protocol.md)."""
    job = {"id": "even", "code": "def f(x): return x", "targets": ["assert f(2) % 2 == 0"]}
    mark, events = opened(transcript(referee, job))
    n = next(n for n, (kind, data) in enumerate(events) if kind == RECEIVED and data == b"\xfei\2")
    assert replay(referee, job, closed(mark, events[:n] + [(RECEIVED, b"\xfei\4")] + events[n + 1 :]))["verdict"] == "pass"


def test_another_reading(referee, recorded):
    mark, events = recorded
    for n, (kind, data) in enumerate(events):
        if kind == READ and n > 3:
            diverges(referee, JOB, closed(mark, events[:n] + [(READ, b"b'1234567'")] + events[n + 1 :]))


@pytest.mark.parametrize("reading", [b"", b"x", b"()", b"print()", b"'text'", b"1 + 1", b"-b'x'", b"None", b"\xff"])
def test_a_reading_that_is_none(referee, recorded, reading):
    mark, events = recorded
    assert events[0][0] == READ
    diverges(referee, JOB, closed(mark, [(READ, reading), *events[1:]]), "no number")


@pytest.mark.parametrize("reading", [b"-" * 100000 + b"1", b"-" * 3000 + b"1", b"(" * 150 + b"1" + b")" * 150],
                         ids=["very deep", "deep", "parentheses"])  # fmt: skip
def test_a_reading_that_is_nested(referee, recorded, reading):
    """Whatever the compiler says of it; the tests could catch it."""
    mark, events = recorded
    diverges(referee, JOB, closed(mark, [(READ, reading), *events[1:]]), "a reading that is")


def test_a_reading_of_another_kind(referee, recorded):
    """The first one is of random bytes."""
    mark, events = recorded
    size, why = len(ast.literal_eval(events[0][1].decode())), "a reading that is none of what is read there"
    other = repr(b"a" * size).encode()
    assert why not in replay(referee, JOB, closed(mark, [(READ, other), *events[1:]]))["detail"]
    for reading in (b"7", b"1.5", repr(b"a" * (size - 1)).encode(), repr(b"a" * (size + 1)).encode(), b"(" + other + b")",
                    other.replace(b"'", b'"'), other.replace(b"a", b"\\x61", 1)):  # fmt: skip
        diverges(referee, JOB, closed(mark, [(READ, reading), *events[1:]]), why)


@pytest.mark.parametrize("call, readings", [("time.time()", [b"1", b"b'1'", b"1.50", b"1e0"]), ("time.time_ns()", [b"1.0", b"0x10", b"1_0"]),
                                            ("os.getpid()", [b"1.0", b"01.0"])])  # fmt: skip
def test_a_clock_that_tells_something_else(referee, call, readings):
    """The tests do not look at what they read."""
    job = {"id": "clock", "code": "def f(x): return x", "targets": [f"import os, time\n{call}\nassert f(1) == 1"]}
    mark, events = opened(transcript(referee, job))
    at = max(n for n, (kind, _) in enumerate(events) if kind == READ)
    for reading in readings:
        changed = closed(mark, [*events[:at], (READ, reading), *events[at + 1 :]])
        diverges(referee, job, changed, "a reading that is none of what is read there")


@pytest.mark.parametrize("name", ["nothing", "text", "no stream", "no end", "more", "too large"])
def test_no_transcript(referee, recorded, name):
    mark, events = recorded
    data = closed(mark, events)
    large = zlib.compressobj(9)
    made = {
        "nothing": b"",
        "text": b"transcript",
        "no stream": mark + b"xyz",
        "no end": data[:-5],
        "more": data + b"x",
        "too large": mark + b"".join(large.compress(bytes(1 << 20)) for _ in range(17)) + large.flush(),
    }[name]
    diverges(referee, JOB, made, "this is no transcript")


@pytest.mark.parametrize("versions", [b"1 cpython-311\n", b"2 cpython-27\n"])
def test_another_version(referee, recorded, versions):
    found = referee.judge({**JOB, "replay": closed(FORMAT + versions, recorded[1])})
    assert found["verdict"] == "error" and "another version" in found["detail"]


def test_what_diverges_cannot_be_caught(referee):
    job = {"id": "caught", "code": "def f(x): return x"}
    tests = "for i in range(9):\n    try:\n        f(i + {})\n    except BaseException:\n        pass\nassert True"
    data = transcript(referee, {**job, "targets": [tests.format(0)]})
    diverges(referee, {**job, "targets": [tests.format(1)]}, data, "ask another question")


def test_tests_that_fail(referee):
    """A pass that becomes a failure without another question."""
    job = {"id": "fails", "code": "def f(x): return x"}
    data = transcript(referee, {**job, "targets": ["assert f(1) == 1"]})
    diverges(referee, {**job, "targets": ["assert f(1) == 2"]}, data, "the tests do not pass")


def test_a_confirmation_that_says_no(referee):
    job = {"id": "state", "code": "l = []\ndef f(x):\n    l.append(x)\n    return len(l)", "targets": ["assert f(1) == 1"]}
    mark, events = opened(transcript(referee, job))
    assert events[-1] == (RECEIVED, b"pass")
    diverges(referee, job, closed(mark, [*events[:-1], (RECEIVED, b"0 it fails")]), "passes only in isolation")
