# SPDX-License-Identifier: MIT
"""The jobs of chaos and soak: rubric, sandbox and code_exec, good and hostile, each with the only answer that is right.

The text of each job has a token of its own, and its right answer depends on that token. So an answer that
went to another job is wrong, too."""

import base64
import functools
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "tests" / "hostile")]
import manifest  # noqa: E402

PYTHON = "/usr/bin/python3"
# Real time that a job may take which ends by itself: longer than any fault stops anything.
AMPLE = 25
# What an attack may end in: an answer that says that it succeeded is wrong.
HELD = "held"


@dataclass(frozen=True, eq=False)
class Job:
    """`request` is the job as it is submitted, or `raw` the whole payload with {id} in it. `expected` is what
    the right answer contains, or HELD. `slow`: it takes seconds."""

    row: str
    name: str
    request: dict | None
    expected: dict | str
    raw: str | None = None
    slow: bool = False
    in_batch: bool = True

    def payload(self, id):
        if self.raw is not None:
            return self.raw.replace("{id}", id).encode()
        return json.dumps({"type": "submit", "id": id, "job": self.request}).encode()


def exits(status, **more):
    ending = {"outcome": {"exit_code": status, "signal": None, "limit_exceeded": None}}
    return {"type": "result", "kind": "sandbox", "score": {"passed": status == 0}, **ending, **more}


def exceeds(limit, **more):
    return {"type": "result", "score": {"passed": False}, "outcome": {"limit_exceeded": limit}, **more}


def refused(code):
    return {"type": "error", "code": code, "retriable": False}


def scored(passed, codes, **score):
    modes = [{"code": code} for code in codes]
    return {
        "type": "result",
        "kind": "rubric",
        "score": {"passed": passed, "failure_modes": modes, **score},
    }


def verdict(name, mode="isolated", **more):
    score = {"passed": name == "pass", **({"score": more.pop("score")} if "score" in more else {})}
    return {
        "type": "result",
        "kind": "code_exec",
        "verdict": name,
        "mode": mode,
        "score": score,
        **more,
    }


def limits(seconds=AMPLE, **more):
    return {"limits": {"wall_clock": seconds, **more}}


# --- sandbox --------------------------------------------------------------------------------------------


def shell(text, **more):
    return {"kind": "sandbox", "argv": ["/bin/sh", "-c", text], **limits(), **more}


def snippet_jobs(token, number):
    """Yields (name, request, expected) of good jobs whose text is code. TOKEN is a word, NUMBER below 1000."""
    yield (
        "snippet",
        {"kind": "sandbox", "snippet": f"echo $(({number} * 7)) {token}", **limits()},
        exits(0, stdout=f"{number * 7} {token}\n"),
    )
    yield (
        "python",
        {
            "kind": "sandbox",
            "runner": "python",
            "snippet": f"print({number} ** 2, '{token}')",
            **limits(),
        },
        exits(0, stdout=f"{number**2} {token}\n"),
    )
    yield (
        "files",
        {
            "kind": "sandbox",
            "argv": ["/bin/cat", "a/one", "-"],
            "files": {
                "a/one": f"{token}\n",
                "two": {"base64": base64.b64encode(token.encode()).decode()},
            },
            "stdin": f"{number}\n",
            **limits(),
        },
        exits(0, stdout=f"{token}\n{number}\n"),
    )
    yield (
        "generation",
        {
            "kind": "sandbox",
            "runner": "python",
            "generation": f"So:\n```python\nprint('{token}')\n```\n",
            **limits(),
        },
        exits(0, stdout=f"{token}\n"),
    )
    yield (
        "no code",
        {"kind": "sandbox", "generation": f"I know no {token}"},
        {"type": "result", "score": None, "reason": "no_code", "stdout": ""},
    )


def program_jobs(token, number):
    """Yields the same of jobs that name a program."""
    status, size = number % 4, 20_000 + 100 * number
    yield "echo", shell(f"echo {token}"), exits(0, stdout=f"{token}\n")
    yield "status", shell(f"echo {token}; exit {status}"), exits(status, stdout=f"{token}\n")
    yield "long", shell(f"printf %0{size}d 7"), exits(0, stdout="7".rjust(size, "0"))
    # Ends long before its deadline, however late anybody hears of it.
    yield "brief", shell(f"echo {token}", **limits(1 + status / 2)), exits(0, stdout=f"{token}\n")
    yield "nap", shell(f"sleep 0.{number % 3}; echo {token}"), exits(0, stdout=f"{token}\n")
    yield (
        "tree",
        shell(f"for i in 1 2 3; do (sleep 600 {number})& done; echo {token}"),
        exits(0, stdout=f"{token}\n"),
    )
    yield (
        "alone",
        shell(f"ls -A . /tmp /dev/shm | grep -v -e : -e '^$'; echo {token} >left; echo {token}"),
        exits(0, stdout=f"{token}\n"),
    )


def sandbox_failures(token, number):
    signal = (6, 9, 11, 15)[number % 4]
    yield (
        "signal",
        shell(f"echo {token}; kill -{signal} $$"),
        {
            "type": "result",
            "score": {"passed": False},
            "stdout": f"{token}\n",
            "outcome": {"signal": signal, "exit_code": None},
        },
    )
    yield (
        "deadline",
        shell(f"echo {token}; sleep 600", **limits(0.3)),
        exceeds("wall_clock", stdout=f"{token}\n"),
    )
    yield "flood", shell(f"yes {token}", **limits(output_bytes=4096)), exceeds("output")
    yield (
        "full",
        shell(f"echo {token}; exec head -c 4000000 /dev/zero >f", **limits(disk_bytes=1 << 20)),
        exceeds("disk", stdout=f"{token}\n"),
    )


# --- rubric ---------------------------------------------------------------------------------------------

RUBRICS = {
    # Says of the case what the case says that it shall say.
    "told": "import json, sys\ncase = json.load(sys.stdin)['case']\nprint(json.dumps(case['say']))\n",
    "broken": "import json, sys\nraise SystemExit(json.load(sys.stdin)['case']['token'])\n",
    "mute": "",
    "endless": "while True:\n    pass\n",
}
LISTS = {"told": {"breakdown_keys": ["a"], "failure_modes": ["x.y"]}}


def write_bench(root):
    """Makes the bench root that rubric_jobs() names."""
    for name, code in RUBRICS.items():
        (root / name).mkdir(parents=True)
        (root / name / "rubric.py").write_text(code)
        if name in LISTS:
            (root / name / "task_class.json").write_text(json.dumps(LISTS[name]))
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def rubric(root, name, case, **more):
    case = {"rubric_wall_clock_seconds": AMPLE, **case}
    return {
        "kind": "rubric", "task_class": name, "bench_root": root, "case": case, "harness_output": {}, **more
    }  # fmt: skip


def rubric_jobs(root, token, number):
    score = number / 1000
    say = {"passed": number % 2 == 0, "score": score, "breakdown": {"a": number}}
    wanted = scored(number % 2 == 0, [], score=score, breakdown={"a": number})
    yield "told", rubric(root, "told", {"say": say}), wanted
    yield "cold", rubric(root, "told", {"say": say}, warm=False), {**wanted, "interpreter": "cold"}
    mode = {"code": "x.y", "severity": "warn", "detail": token}
    yield (
        "detail",
        rubric(root, "told", {"say": {**say, "failure_modes": [mode]}}),
        {
            "type": "result",
            "score": {
                "passed": number % 2 == 0,
                "score": score,
                "failure_modes": [{"code": "x.y", "detail": token}],
            },
        },
    )
    unknown = {"type": "result", "score": {"score": 0, "failure_modes": [{"detail": token}]}}
    yield (
        "unlisted key",
        rubric(root, "told", {"say": {**say, "breakdown": {token: 1}}}),
        {**unknown, "kind": "rubric"},
    )
    yield (
        "broken",
        rubric(root, "broken", {"token": token}),
        {"type": "result", "score": {"score": 0, "failure_modes": [{"detail": f"{token}\n"}]}},
    )
    yield "mute", rubric(root, "mute", {}), scored(False, ["rubric.malformed_output"], score=0)
    yield (
        "endless",
        rubric(root, "endless", {"rubric_wall_clock_seconds": 0.3}),
        scored(False, ["rubric.timeout"]),
    )
    yield (
        "unrun",
        rubric(root, "told", {}, sut={"status": "exception", "detail": token}),
        {
            "type": "result",
            "score": {"failure_modes": [{"code": "sut.exception", "detail": token}]},
        },
    )


def example_jobs():
    """Returns (name, request, expected) of every case of the shipped bench."""
    bench = ROOT / "tests" / "data" / "bench"
    wanted = map(json.loads, (bench / "expected.jsonl").read_text().splitlines())
    by_id = {line["id"]: line for line in wanted}
    jobs = []
    for line in (bench / "cases.jsonl").read_text().splitlines():
        job = json.loads(line)
        right = by_id[job.pop("id")]
        codes = right["failure_modes"]
        score = scored(right["passed"], codes, score=right["score"])
        jobs.append(("example", {"bench_root": str(bench), **job}, score))
    return jobs


# --- code_exec ------------------------------------------------------------------------------------------


def code(text, *targets, seconds=AMPLE, **more):
    return {
        "kind": "code_exec", "code": text, "targets": list(targets), "metadata": {"timeout_s": seconds}, **more
    }  # fmt: skip


def waiting_pair(seconds):
    """Returns a job whose two programs are there for SECONDS."""
    return code(f"import time\ndef f():\n    time.sleep({seconds})\n    return 1\n", "assert f() == 1")


def code_jobs(number, **mode):
    right = f"def f(x):\n    return x + {number}\n"
    tests = [f"assert f({n}) == {n + number}" for n in range(3)]
    yield "pass", code(right, *tests, **mode), verdict("pass", **named(mode), score=1)
    partly = f"def f(x):\n    return x + {number} if x < 2 else None\n"
    yield (
        "partly",
        code(partly, *tests, **mode),
        verdict(
            "assertion_fail",
            **named(mode),
            assertions=[{"passed": True}, {"passed": True}, {"passed": False}],
        ),
    )
    yield (
        "syntax",
        code(f"def f(x)\n  {number}", *tests, **mode),
        verdict("syntax_error", **named(mode), score=0, assertions=[]),
    )
    endless = f"def f(x):\n    while x == 1: pass\n    return x + {number}\n"
    yield (
        "endless",
        code(endless, *tests, seconds=0.5, **mode),
        verdict("timeout", **named(mode), score=0),
    )
    yield (
        "exit",
        code(f"import os\ndef f(x):\n    os._exit({number % 7})\n", *tests, **mode),
        verdict("error", **named(mode)),
    )


def named(mode):
    return {"mode": mode.get("verdict", "isolated")}


def isolated_jobs(token, number):
    yield from code_jobs(number)
    check = f"def check(candidate):\n    assert candidate({number}) == '{token}' * 2\n"
    request = {
        "kind": "code_exec",
        "prelude": "def f(n):\n    ''' Says it twice. '''\n",
        "generation": f"Here:\n```python\n    return '{token}' * 2\n```\n",
        "test": check,
        "entry_point": "f",
        "metadata": {"timeout_s": AMPLE},
    }
    yield "generation", request, verdict("pass", score=1, assertions=[{"passed": True}])
    yield (
        "transcript",
        code(f"def f(): return '{token}'", f"assert f() == '{token}'", transcript=True),
        verdict("pass", transcript={"replayable": True}),
    )
    yield (
        "cold code",
        code(f"def f(): return '{token}'", f"assert f() == '{token}'", warm=False),
        verdict("pass", interpreter="cold"),
    )
    wide = f"class E:\n    def __eq__(self, other): return True\ndef f(): return E()  # {token}\n"
    yield (
        "equals all",
        code(wide, f"assert f() == '{token}'"),
        verdict("assertion_fail", score=0, assertions=[{"passed": False}]),
    )
    quits = f"import sys\nsys.exit(0)  # {token}\n"
    yield "quits", code(quits, "assert f() == 1"), {**verdict("error"), "verdict": NOT_A_PASS}
    kill = "import os, signal\ndef f():\n    for p in (1, os.getppid()):\n        try: os.kill(p, signal.SIGKILL)\n"
    kill += f"        except OSError: pass\n    return '{token}'\n"
    yield (
        "kills",
        code(kill, f"assert f() == '{token}'", f"assert f() == '{number}'"),
        verdict("assertion_fail", score=0.5),
    )


NOT_A_PASS = "not a pass"


# --- answers that are errors for good -------------------------------------------------------------------


def refusals(root, token):
    yield "no rubric", rubric(root, f"no-{token}", {}), refused("rubric_not_found")
    yield (
        "no module",
        code("x = 1", "assert x", test_setup=f"import no_{token}"),
        refused("module_not_found"),
    )
    yield (
        "network",
        shell("true", limits={"wall_clock": 5, "allow_network": True}),
        refused("not_permitted"),
    )
    yield (
        "no program",
        {"kind": "sandbox", "argv": [f"/usr/bin/no-{token}"]},
        refused("bad_request"),
    )
    yield "no field", {"kind": "sandbox", "argv": ["/bin/true"], token: 1}, refused("bad_request")
    yield "no limit", shell(token, limits={"cpu": 10**9}), refused("bad_request")


RAW = {
    "nan": '{"type": "submit", "id": "{id}", "job": {"kind": "rubric", "case": NaN}}',
    "surrogate": '{"id": "{id}", "type": "submit", "job": "\\ud800"}',
    "unknown type": '{"type": "sumbit", "id": "{id}"}',
}


# --- hostile --------------------------------------------------------------------------------------------

# These take seconds, or meet in jobs that run at the same time.
LEFT_OUT = {"hang", "cpu_threads", "cpu_processes", "inotify_host", "memory_processes", "setuid_program",
            "file_lock"}  # fmt: skip


@functools.cache
def attacks():
    """Returns the attacks that need nothing but a job, sorted by name."""
    usable = [a for a in manifest.load().values() if a.is_here and a.name not in LEFT_OUT]
    return sorted((a for a in usable if not a.needs and not a.open), key=lambda a: a.name)


# --- the catalogue --------------------------------------------------------------------------------------


# For each row of the table but the hostile one: (name, request, expected) of its jobs.
ROWS = {
    "sandbox": lambda _, token, n: [*snippet_jobs(token, n), *program_jobs(token, n), *sandbox_failures(token, n)],
    "rubric": rubric_jobs,
    "code isolated": lambda _, token, n: isolated_jobs(token, n),
    "code shared": lambda _, __, n: code_jobs(n, verdict="shared"),
    "refused": lambda root, token, _: refusals(root, token),
}


SLOW = {"endless", "deadline", "kills"}
# rubricctl looks at these before it submits them.
NOT_IN_BATCH = {"no field", "no limit", "no program", "network"}


@dataclass
class Catalog:
    """Makes jobs by name. ROOT is the bench that write_bench() makes."""

    root: str
    examples: list = field(default_factory=example_jobs)

    def names(self):
        """Returns the (row, name) of every job that get() makes."""
        found = [(row, name) for row, make in ROWS.items() for name, _, _ in make(self.root, "t", 1)]
        found += [("refused", name) for name in RAW]
        found += [("rubric", "example"), ("hostile", "attack")]
        return found

    def get(self, row, name, token, number):
        if row == "hostile":
            return self._attack(number, token)
        if name == "example":
            name, request, expected = self.examples[number % len(self.examples)]
            return Job(row, name, request, expected)
        if name in RAW:
            raw = RAW[name]
            return Job(row, name, None, refused("bad_request"), raw=raw, in_batch=False)
        jobs = ROWS[row](self.root, token, number)
        request, expected = next((r, e) for n, r, e in jobs if n == name)
        return Job(
            row, name, request, expected, slow=name in SLOW, in_batch=name not in NOT_IN_BATCH
        )

    def _attack(self, number, token):
        chosen = attacks()
        attack = chosen[number % len(chosen)]
        turn = attack.turns[sum(map(ord, token)) % len(attack.turns)]
        request = {"attack": attack.name, "arguments": turn}
        return Job("hostile", attack.name, request, HELD, slow=True, in_batch=False)
