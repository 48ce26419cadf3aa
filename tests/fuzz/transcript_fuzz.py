#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Fuzzes what a replay is given: transcripts of passes with altered bytes, altered, moved, missing or added events,
and jobs with altered code.

    transcript_fuzz.py [SECONDS [SEED]]

Violations: a judge that raises or ends without a verdict; and a replay that passes although something differs that
it must not ignore. It rightly ignores (proto/protocol.md):

- how the events are packed: whatever unpacks to the same events is the same transcript;
- what an answer says, where the assertions accept either: no replay can know what the code would have answered;
- what a clock or the like said, where the assertions accept either, as long as it is a value of that kind.

An answer in the short form whose value differs from the recorded one is a violation all the same in a job whose
assertions compare each such value (EXACT)."""

import ast
import base64
import random
import sys
import zlib

import fuzzing

import duel
import wire
from transcript import READ, RECEIVED, SENT

BATCH = 20  # runs of one job
SECONDS = 10
FINE = ("pass", "diverged", "error", "hung")  # the last ends in a timeout, as any job whose tests do not end
EXACT = {
    "id": "exact",
    "code": "def f(x): return x\ndef g(h): return [h(i) for i in range(3)]\ndef add(l): l.append(4)\ndef fails(): raise ValueError(3)",
    "targets": [
        "assert f(1) == 1 and f(-300) == -300 and f(2 ** 80) == 2 ** 80 and f(1.5) == 1.5 and f('text') == 'text'",
        "assert f(True) is True and f(None) is None and f(b'bytes') == b'bytes' and f('\\ud800') == '\\ud800'",
        "assert g(lambda x: x * 2) == [0, 2, 4] and f(()) == () and f([]) == []",
        "l = [1]\nadd(l)\nassert l == [1, 4] and f(7) == 7",
        "import time, os\nassert f(len(os.urandom(4))) == 4 and f(0 < time.time_ns()) is True and os.getpid() and time.time()",
        "try:\n    fails()\nexcept ValueError as error:\n    assert error.args == (3,)\nelse:\n    assert False",
    ],
}


def jobs():
    found = [EXACT]
    for name in ("features", "recorded"):
        found += duel.Jobs(fuzzing.UNIT / f"{name}.txt").jobs.values()
    return [{**job, "seconds": SECONDS} for job in found if "refused" not in job]


def opened(data):
    """Returns the events in what a transcript is packed from."""
    events = []
    while data:
        size = int.from_bytes(data[1:5], "big")
        events.append((data[0], data[5 : 5 + size]))
        data = data[5 + size :]
    return events


def joined(events):
    return b"".join(bytes((kind,)) + len(data).to_bytes(4, "big") + data for kind, data in events)


def unpacked(data, mark):
    """Returns what DATA is packed from; None if a replay must not take it for a transcript."""
    try:
        unpack = zlib.decompressobj()
        events = unpack.decompress(data[len(mark) :])
        return events if data.startswith(mark) and unpack.eof and not unpack.unused_data else None
    except zlib.error:
        return None


# --- altering ---------------------------------------------------------------------------------------


def another_reading(rng, data):
    try:
        value = ast.literal_eval(data.decode())
    except (ValueError, SyntaxError):
        return data
    kinds = (rng.randrange(100), rng.random(), bytes(rng.randrange(9)), -1, True, None, "x", 1 << 80)
    if rng.random() < 0.5:
        return repr(rng.choice(kinds)).encode()
    if type(value) is bytes:
        return repr(rng.randbytes(len(value) + rng.choice((0, 0, 1)))).encode()
    if type(value) not in (int, float, bool):  # of an earlier change
        return data
    return repr(type(value)(value * rng.choice((0, 1, -1, 2)) + rng.choice((0, 1)))).encode()


def another_answer(rng):
    value = rng.choice((None, True, False, 0, 1, 2, -300, 1.5, -0.0, "", "text", b"bytes", 2**80))
    return wire.brief_answer(value)


def with_altered_event(rng, events, at, others):
    kind, data = events[at]
    if rng.random() < 0.1:
        kind = rng.choice((SENT, RECEIVED, READ, 3, 255))
    elif kind == READ and rng.random() < 0.7:
        data = another_reading(rng, data)
    elif kind == RECEIVED and rng.random() < 0.3:
        data = another_answer(rng)
    elif rng.random() < 0.3:
        data = rng.choice([data for one, data in rng.choice(others) if one == kind] or [b""])
    else:
        data = fuzzing.altered(rng, data, [data for _, data in events])
    return [*events[:at], (kind, data), *events[at + 1 :]]


def altered_events(rng, events, others):
    """Returns the events, altered, as what a transcript is packed from."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        what, at = rng.randrange(12), rng.randrange(len(events))
        if what == 0:
            del events[at]
        elif what == 1:
            events.insert(at, rng.choice(rng.choice(others)))
        elif what == 2:
            other = rng.randrange(len(events))
            events[at], events[other] = events[other], events[at]
        elif what == 3:
            events = events[:at] if rng.random() < 0.5 else events + events[at:]
        else:
            events = with_altered_event(rng, events, at, others)
        if not events:
            break
    return joined(events)


def altered(rng, mark, data, others):
    """Returns a transcript with some changes."""
    what = rng.randrange(20)
    packed = data[len(mark) :]
    if what == 0:
        return mark + fuzzing.altered(rng, packed, [])
    if what == 1:
        return fuzzing.altered(rng, data, [])
    if what == 2:  # the same, otherwise packed
        return mark + zlib.compress(zlib.decompress(packed), rng.randrange(10))
    if what == 3:  # the sizes, too
        return mark + zlib.compress(fuzzing.altered(rng, zlib.decompress(packed), []))
    return mark + zlib.compress(altered_events(rng, opened(zlib.decompress(packed)), others))


# --- what a replay may ignore -----------------------------------------------------------------------


def is_value(data):
    return data[:1] == b"\xfe"


def ignored(job, before, now):
    """Returns what a replay has ignored that differs between two lists of events; raises ValueError if it must
    not."""
    if [kind for kind, _ in before] != [kind for kind, _ in now]:
        raise ValueError("other events")
    found = "the packing"
    for (kind, old), (_, new) in zip(before, now):
        if old == new:
            continue
        if kind == SENT:
            raise ValueError(f"another question: {new[:80]!r} for {old[:80]!r}")
        if kind == READ:
            found = "a reading"
            values = [ast.literal_eval(text.decode()) for text in (old, new)]
            if type(values[0]) is not type(values[1]) or repr(values[1]).encode() != new:
                raise ValueError(f"a reading {new[:80]!r} for {old[:80]!r}")
            continue
        found = "an answer"
        if job["id"] == "exact" and is_value(old) and is_value(new):
            values = wire.read_brief_answer(old), wire.read_brief_answer(new)
            if values[0] != values[1]:
                raise ValueError(f"an answer {values[1]!r} for {values[0]!r}")
    return found


class Fuzzer:
    def __init__(self):
        self.referee = duel.Referee()
        self.transcripts = []
        for job in jobs():
            told = self.referee.judge(job, "record")
            if "transcript" in told:
                data = base64.b64decode(told["transcript"])
                mark = data[: data.index(b"\n") + 1]
                self.transcripts.append((job, mark, data, opened(zlib.decompress(data[len(mark) :]))))
        self.events = [events for *_, events in self.transcripts]

    def run(self, seed, job, mark, data, events):
        """Returns what has come out of a replay, and what is wrong about it, "" if nothing."""
        rng = random.Random(seed)
        if rng.random() < 0.02:
            code = fuzzing.altered(rng, job["code"].encode(), []).decode("utf-8", "replace")
            asked, made = {**job, "code": code}, data
        else:
            asked, made = job, altered(rng, mark, data, self.events)
        found = self.referee.judge({**asked, "replay": made})
        verdict = found["verdict"]
        if verdict not in FINE:
            return verdict, f"the judge ends with {verdict}: {found.get('detail', '')[:200]} {found['stderr'][-300:]}"
        if verdict == "hung":
            print(f"{job['id']} seed {seed}: hung", file=sys.stderr, flush=True)
        if verdict != "pass":
            return verdict, ""
        if asked["code"] != job["code"]:
            return verdict, f"another code: {asked['code'][:200]!r}"
        unpacked_now = unpacked(made, mark)
        if unpacked_now is None:
            return verdict, "no transcript"
        try:
            return f"pass: {ignored(job, events, opened(unpacked_now))}", ""
        except (ValueError, SyntaxError) as error:
            return verdict, f"{error}"

    def round(self, seed):
        rng = random.Random(seed)
        job, *recorded = self.transcripts[0] if rng.random() < 0.3 else rng.choice(self.transcripts)
        return fuzzing.batch(job, seed, BATCH, lambda run: self.run(run, job, *recorded))


def main():
    fuzzer = Fuzzer()
    try:
        fuzzing.run(f"{len(fuzzer.transcripts)} transcripts", fuzzer.round)
    finally:
        fuzzer.referee.close()


if __name__ == "__main__":
    main()
