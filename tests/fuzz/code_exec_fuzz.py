#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Fuzzes the pipe between candidate and checker from the candidate's side: code_exec jobs whose code
takes over the candidate's end and answers the checker's questions with mutated messages.

    code_exec_fuzz.py [SECONDS [SEED]]      (RUBRICD_BUILD names the build directory)

No job may pass, every checker must end with a verdict of its own, and no checker may still be busy when the
time of its job is over. Exits with 1 after a violation and names the seeds."""

import inspect
import sys
from collections import Counter

import fuzzing

sys.path.insert(0, str(fuzzing.ROOT / "tests" / "bench"))
from bench import Daemon  # noqa: E402

BATCH = 400
TIMEOUT_SECONDS = 2

CANDIDATE = r"""
import os, random, sys
rng = random.Random(SEED)
frame = sys._getframe()
while not hasattr(frame.f_locals.get("self"), "fds"):
    frame = frame.f_back
server = frame.f_locals["self"]
real_receive, real_send, history = server.receive, server.send, []
RATE = rng.choice((0, 0.02, 0.1, 0.5))

ALTERED

def receive():
    data = real_receive()
    history.append(data)
    return data

def send(data):
    history.append(data)
    if RATE and rng.randrange(200) == 0:  # not even a frame
        os.write(server.fds[1], bytes(rng.randrange(256) for _ in range(rng.randrange(1, 40))))
        os._exit(0)
    if rng.random() < RATE:
        data = rng.choice(history) if rng.randrange(20) == 0 else altered(rng, data, history, (1, 1, 2, 8))
    real_send(data)

server.receive, server.send = receive, send

class E(ValueError): pass
class Thing:
    def __init__(self, x=0): self.x = x
    def get(self): return [self.x, {self.x: (1.5, None)}, {1, 2}, frozenset("ab"), self]

class Sub(Own, ValueError):
    def __str__(self): return "s"

def items(n):
    for i in range(n): yield [i]
    raise Own(7)

NAN = float("nan")
VALUES = [41, "x", 1.5, [1, [2]], (1, (2, 3)), {"a": {1: 2}}, {1, 2}, frozenset({3}), range(3), b"x", 2 + 3j,
          Thing(4), Thing, E, iter([1, 2]), lambda x: x, 1 << 200, None, True, ..., int,
          Point(1, [2]), Pair(1, (2, NAN)), Color.RED, Color, Point, {Point(3, ()): Pair(4, NAN)}, items(9), Own, Sub]

def f(*arguments):
    value = rng.choice(VALUES)
    for argument in arguments:
        if type(argument) is list:
            argument.append(value)
        elif callable(argument):
            argument(value)
        elif hasattr(argument, "size"):
            argument.size = value
            value = rng.choice((value, argument, argument.grow, argument + value, [argument]))
        elif type(argument) is Point:
            argument.x = value
    if rng.randrange(8) == 0:
        raise rng.choice((E("no", 1), ValueError(2), StopIteration(3), KeyError("k"), Own(3), Sub("x")))
    return value
"""
PRELUDE = """
from collections import namedtuple
from enum import Enum
class Own(Exception):
    def __init__(self, code): self.code = code
class Color(Enum):
    RED = 1
class Point:
    def __init__(self, x, y): self.x, self.y = x, y
    def __hash__(self): return 5
    def __eq__(self, other): return self.x == other.x
    def is_right(self): return self.x == "8b1f2c64"
Pair = namedtuple("Pair", "a b")
"""

SECRET = "'8b1f2c64-9d07-4a55-a1d4-5a0c-not-to-be-guessed'"
TARGETS = [
    f"assert f(1) == {SECRET}",
    f"assert list(f(2)) == [{SECRET}]",
    f"assert f([1, [2]], {{3: 4}}) == {SECRET}",
    f"assert Thing(3).get()[0] == {SECRET}",
    f"assert f(lambda x: [x]).x == {SECRET}",
    f"assert sorted(f(3), key=str) == [{SECRET}]",
    f"assert str(f(4)) == {SECRET}",
    f"try:\n    f(5)\nexcept E as error:\n    assert str(error) == {SECRET}\nelse:\n    assert False",
    f"assert list(f(6))[-1] == [{SECRET}]",
    f"try:\n    f(7)\nexcept Own as error:\n    assert error.code == {SECRET}\nelse:\n    assert False",
    "assert f(Point(1, 2)).is_right() is True",
    f"p = Point(1, 2); f(p, Pair(1, 2), Color.RED); assert p.x == {SECRET}",
    f"assert f(8) == Pair(1, {SECRET}) or f(9) == {{Color.RED: {SECRET}}}",
    f"class Mine:\n    size = 1\n    def grow(self): self.size += 1\n    def __add__(self, x): return x\n"
    f"m = Mine(); f(m); assert m.size == {SECRET}",
    f"l = [1, 2]; f(l); assert l == [{SECRET}]",
]


def job(seed):
    code = CANDIDATE.replace("SEED", repr(seed)).replace("ALTERED", inspect.getsource(fuzzing.altered))
    return {
        "kind": "code_exec",
        "code": code,
        "prelude": PRELUDE,
        "targets": TARGETS,
        "metadata": {"timeout_s": TIMEOUT_SECONDS},
    }


def is_wrong(result):
    if result["type"] != "result":
        return result["message"]
    outcome = result["outcome"]
    if result["verdict"] == "pass" or any(a["passed"] for a in result["assertions"]):
        return "something passed"
    if result["verdict"] != "timeout" and outcome["exit_code"] != 0:
        return f"the checker ended with {outcome['summary']}"
    if "Traceback" in outcome["stderr"] and "judge" in outcome["stderr"]:
        return f"the checker raised {outcome['stderr'][-300:]}"
    return None


def main():
    with Daemon() as daemon:

        def round_(seed):
            verdicts, wrong = Counter(), []
            seeds = [f"{seed}/{n}" for n in range(BATCH)]
            for result in daemon.batch(daemon.write_jobs("fuzz", map(job, seeds)))[1]:
                problem = is_wrong(result)
                if problem:
                    wrong.append(f"job seed {seeds[int(result['id'])]}: {problem}")
                verdicts[result.get("verdict", result["type"])] += 1
            if not verdicts["assertion_fail"]:  # as what nobody alters ends
                wrong.append(f"job seed {seed}: nothing was fuzzed")
            return verdicts, wrong

        fuzzing.run(f"{len(TARGETS)} assertions a job", round_)


if __name__ == "__main__":
    main()
