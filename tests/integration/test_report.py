# SPDX-License-Identifier: MIT
"""rubricctl report: statistics of results that a reader can trust."""

import gzip
import json
import os
import pty
import re
import resource
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest
import schema_check
from conftest import BENCH, DEADLINE, RUBRICCTL

ISOLATION = {"class": "subprocess", "layers": ["env", "tempdir"], "digest": "1" * 64}


def result(id, score, *, passed=None, modes=None, task_class="t", run=None, **fields):
    """Returns a line of results. A score of 1 means passed unless PASSED says otherwise."""
    passed = score == 1 if passed is None else passed
    if modes is None:
        modes = [] if passed else [{"code": "wrong", "severity": "block", "detail": f"of {id}"}]
    return {
        "type": "result",
        "id": id,
        "job_no": 1,
        "kind": "rubric",
        "score": {
            "passed": passed,
            "score": score,
            "breakdown": {},
            "failure_modes": modes,
            "cost_usd": 0.25,
            "wall_clock_ms": 5,
        },
        "usage": {"wall_clock_ms": 5, "cpu_ms": 1, "cpu_wait_ms": 0, "max_rss_bytes": 0, "queue_ms": 2},
        "isolation": ISOLATION,
        "run": {"case_id": id, "sample": 1, "task_class": task_class, **(run or {})},
        **fields,
    }


def error(id, code="internal", message="the disk is full"):
    return {"type": "error", "id": id, "code": code, "message": message, "retriable": True}


SOME = [result("a", 1), result("b", 0), result("c", 1), result("d", 0.5), result("e", 1)]


class Place:
    def __init__(self, directory):
        self.directory = directory

    def write(self, name, *lines, end="\n"):
        """Writes JSON Lines. A string is written unchanged, as one line."""
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        data = ("\n".join(texts) + end).encode()
        (self.directory / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return name

    def run(self, *arguments, stdin=""):
        return subprocess.run(
            [RUBRICCTL, "report", *arguments],
            input=stdin,
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )

    def json(self, *arguments, status=0, stderr=""):
        done = self.run("--json", *arguments)
        assert (done.returncode, done.stderr) == (status, stderr)
        report = json.loads(done.stdout)
        schema_check.validate_by("bench-run-report", report)
        return report


@pytest.fixture(name="place")
def make_place(tmp_path):
    return Place(tmp_path)


# Contents


def test_text(place):
    place.write("r.jsonl", *SOME)
    done = place.run("r.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    for line in (
        "cases      5, graded 5 times",
        "verdicts   3 passed, 2 failed",
        "score      0.7000, BCa 95% 0.2000 to 1.0000",
        "1 class: passed, score, interval",
        "       2  wrong",
        "          b: of b",
        "cost       $1.2500",
        "wall clock p50 5 ms, p90 5 ms, p99 5 ms, max 5 ms",
        "isolation  subprocess 1111111111111111, 5 results: env tempdir",
    ):
        assert line in done.stdout.splitlines(), done.stdout


def test_bench_report(place):
    """The report of a batch that a real daemon graded."""
    jobs = (BENCH / "cases.jsonl").read_text().splitlines()[:12]
    place.write("jobs.jsonl", *jobs)
    done = subprocess.run(
        [RUBRICCTL, "batch", "--embedded", "--bench-root", BENCH, "-o", "r.jsonl", "jobs.jsonl"],
        cwd=place.directory, capture_output=True, timeout=DEADLINE, check=False,
    )
    assert done.returncode == 1, done.stderr
    report = place.json("r.jsonl")
    assert report["totals"]["cases"] == 12
    assert [p["class"] for p in report["populations"]] == ["subprocess"]
    assert report["latency_ms"]["wall_clock"]["n"] == 12
    made = report["reproducibility"]
    assert made["missing"] == {} and made["started_at"] <= made["finished_at"]
    assert [rubric["task_class"] for rubric in made["rubrics"]] == ["exact-match"]
    assert made["cases"]["cases"] == 12
    (host,) = made["hosts"]
    assert host["interpreter"]["path"] == "/usr/bin/python3" and host["interpreter"]["version"].startswith("Python 3")
    assert host["limits"]["defaults"]["rubric"]["wall_clock"] == 60 and host["rubricd"] == made["rubricd"][0]
    for line in (place.directory / "r.jsonl").read_text().splitlines():
        schema_check.validate_by("run", json.loads(line)["run"])
    assert re.search(r"^host       Python 3[.\d]+, Linux \S+ \S+, \d+ CPUs?,", place.run("r.jsonl").stdout, re.M)


def test_grade_report(place):
    """The results of `grade` also say how the jobs were run."""
    task = {"task_id": "T/1", "prompt": "", "entry_point": "f", "canonical_solution": "",
            "test": "def check(f):\n    assert f() == 1\n"}  # fmt: skip
    place.write("tasks.jsonl", task)
    codes = ["def f(): return 1", "def f(): return 2", "def f("]
    place.write("samples.jsonl", *[{"task_id": "T/1", "solution": code, "usage": 7} for code in codes])
    for options, mode in [([], "isolated"), (["--shared"], "shared")]:
        done = subprocess.run(
            [RUBRICCTL, "grade", "--embedded", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl",
             "-o", f"{mode}.jsonl", *options],
            cwd=place.directory, capture_output=True, timeout=DEADLINE, check=False,
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        for line in (place.directory / f"{mode}.jsonl").read_text().splitlines():
            schema_check.validate_by("run", json.loads(line)["run"])
        report = place.json(f"{mode}.jsonl")
        assert (report["totals"]["cases"], report["totals"]["results"]) == (1, 3)
        assert [(p["k"], p["estimate"]["mean"]) for p in report["pass_at_k"]] == [
            (1, pytest.approx(1 / 3)), (3, 1.0),
        ]  # fmt: skip
        assert [(p["class"], p["mode"]) for p in report["populations"]] == [("subprocess", mode)]
        assert report["latency_ms"]["wall_clock"]["n"] == 3
    assert place.run("isolated.jsonl", "shared.jsonl").returncode == 2


def test_an_error_is_no_zero(place):
    place.write("r.jsonl", *SOME, error("f"), error("g", "sandbox_failed"))
    report = place.json("r.jsonl", status=4)
    assert report["score"]["mean"] == pytest.approx(0.7)
    assert report["totals"] == {
        "cases": 7, "results": 7, "passed": 3, "failed": 2, "errors": 2, "without_score": 0,
        "cases_without_verdict": 2, "earlier_attempts": 0, "replaced": 0,
    }  # fmt: skip
    assert [(e["code"], e["count"]) for e in report["errors"]] == [("internal", 1), ("sandbox_failed", 1)]
    assert report["errors"][0]["examples"] == [{"id": "f", "detail": "the disk is full", "output": None}]


def test_undefined_intervals_say_why(place):
    place.write("ones.jsonl", result("a", 1), result("b", 1), result("c", 1))
    score = place.json("ones.jsonl")["score"]
    assert score["bca"] == {"low": None, "high": None, "why_not": "all values are equal"}
    assert score["interval"]["method"] == "wilson"
    assert score["interval"]["why_not"] == "all values are equal"
    assert score["interval"]["low"] == pytest.approx(0.4385, abs=1e-4)
    text = place.run("ones.jsonl").stdout
    assert "Wilson 95% 0.4385 to 1.0000; BCa is undefined: all values are equal" in " ".join(text.split())

    place.write("halves.jsonl", result("a", 0.5), result("b", 0.5))
    score = place.json("halves.jsonl")["score"]
    assert (score["interval"]["method"], score["wilson"]) == ("percentile", None)

    place.write("one.jsonl", result("a", 0.5))
    score = place.json("one.jsonl")["score"]
    assert (score["interval"]["method"], score["interval"]["why_not"]) == (None, "fewer than two values")


def test_samples_are_clustered(place):
    """Ten samples of each of four cases count as four independent values, not forty."""
    lines = [
        result(f"{c}#{s}", 1 if c < 2 else 0, run={"case_id": str(c), "sample": s})
        for c in range(4)
        for s in range(1, 11)
    ]
    place.write("r.jsonl", *lines)
    report = place.json("r.jsonl")
    assert (report["totals"]["cases"], report["totals"]["results"]) == (4, 40)
    assert report["score"]["n"] == 4
    assert report["score"]["interval"]["low"] == 0 and report["score"]["interval"]["high"] == 1
    assert [(p["k"], p["estimate"]["mean"]) for p in report["pass_at_k"]] == [(1, 0.5), (10, 0.5)]
    assert report["stability"] == {"cases_with_samples": 4, "flaky_cases": 0, "ids": []}
    assert "cases are resampled, not samples" in " ".join(place.run("r.jsonl").stdout.split())


def test_samples_are_named_as_batch_names_them(place):
    lines = [result("a" if n == 1 else f"a#{n}", 0, run={"case_id": "a", "sample": n}) for n in (1, 2, 3)]
    place.write("r.jsonl", *lines)
    report = place.json("r.jsonl")
    assert [failure["id"] for failure in report["failures"]["shown"]] == ["a", "a#2", "a#3"]


def test_pass_at_k_and_flaky_cases(place):
    lines = [{"task_id": "H/1", "passed": n < 1, "result": "x"} for n in range(4)]
    lines += [{"task_id": "H/2", "passed": True, "result": "passed"} for _ in range(3)]
    place.write("r.jsonl", *lines)
    report = place.json("--k", "1,2,4", "r.jsonl")
    values = [(p["k"], p["estimate"] and p["estimate"]["mean"], p["too_few_samples"]) for p in report["pass_at_k"]]
    assert values == [(1, pytest.approx(0.625), 0), (2, pytest.approx(0.75), 0), (4, None, 1)]
    assert report["stability"] == {"cases_with_samples": 2, "flaky_cases": 1, "ids": ["H/1"]}


def test_k_is_what_all_cases_have_samples_for(place):
    lines = [{"task_id": "H/1", "passed": n < 1, "result": "x"} for n in range(12)]
    lines += [{"task_id": "H/2", "passed": True, "result": "passed"} for _ in range(2)]
    place.write("r.jsonl", *lines)
    assert [p["k"] for p in place.json("r.jsonl")["pass_at_k"]] == [1, 2]


def test_the_last_attempt_counts(place):
    earlier = [{"why": "starved", "finished_at": "2026-11-21T17:00:00.000Z", "answer": result("a", 0)}]
    run = {"attempts": 2, "earlier": earlier, "finished_at": "2026-11-21T17:00:01.000Z", "rubricd": "0.1.0"}
    place.write("r.jsonl", result("a", 1, run=run))
    report = place.json("r.jsonl")
    assert (report["totals"]["passed"], report["totals"]["failed"]) == (1, 0)
    assert report["totals"]["earlier_attempts"] == 1
    assert report["cost_usd"]["total"] == 0.25
    assert report["cost_usd"]["of_attempts_that_do_not_count"] == 0.25
    made = report["reproducibility"]
    assert (made["rubricd"], made["finished_at"]) == (["0.1.0"], "2026-11-21T17:00:01Z")


def test_an_id_that_comes_again_is_named(place):
    place.write("r.jsonl", result("a", 0), result("b", 1), result("a", 1))
    done = place.run("--json", "r.jsonl")
    assert done.returncode == 0
    assert done.stderr == 'rubricctl: r.jsonl:3: "a" occurs earlier in this file; the last line counts\n'
    report = json.loads(done.stdout)
    assert report["files"][0]["duplicates"] == 1 and report["totals"]["results"] == 2
    assert report["score"]["mean"] == 1 and report["failure_modes"] == []


def test_digests(place):
    runs = [{"case_digest": c * 64, "rubric_digest": r * 64} for c, r in ("ad", "bd", "ce")]
    lines = [result(id, 1, run=run) for id, run in zip("zyx", runs)]
    place.write("r.jsonl", *lines)
    made = place.json("r.jsonl")["reproducibility"]
    assert made["rubrics"] == [{"task_class": "t", "digest": d * 64} for d in "de"]
    import hashlib

    text = "".join(f"{d * 64}  {id}\n" for id, d in sorted(zip("zyx", "abc")))
    assert made["cases"] == {
        "digest": hashlib.sha256(text.encode()).hexdigest(), "cases": 3, "without_digest": 0,
    }  # fmt: skip
    assert "rubrics" not in made["missing"] and made["missing"]["hosts"] == "no line has run.host"
    report = place.json("--cases", "r.jsonl")
    assert [(case["id"], case["digest"]) for case in report["cases"]] == [(id, d * 64) for id, d in zip("zyx", "abc")]
    assert report["cases"][0] == {
        "id": "z", "task_class": "t", "digest": "a" * 64, "verdicts": 1, "passed": 1, "errors": 0, "score": 1.0,
    }  # fmt: skip
    assert place.json("r.jsonl")["cases"] is None
    # The same id with another case.
    place.write("s.jsonl", result("z", 1, run={"case_digest": "f" * 64}))
    assert place.json("r.jsonl", "s.jsonl")["changed_cases"] == 1


# Refused inputs


def test_populations_are_not_mixed(place):
    other = result("f", 0, isolation={**ISOLATION, "digest": "2" * 64})
    place.write("r.jsonl", *SOME)
    place.write("s.jsonl", other)
    done = place.run("r.jsonl", "s.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert "different populations" in done.stderr and "--mix" in done.stderr
    ids = ", ".join(line["id"] for line in SOME)
    assert f"\n  5 subprocess 1111111111111111\n      {ids}\n  1 subprocess 2222222222222222\n      f\n" in done.stderr
    report = place.json("--mix", "r.jsonl", "s.jsonl")
    assert report["mixed"] is True and len(report["populations"]) == 2
    assert "of different populations" in place.run("--mix", "r.jsonl", "s.jsonl").stdout
    assert place.json("--mix", "r.jsonl")["mixed"] is False


def test_shared_verdicts_are_another_population(place):
    place.write("r.jsonl", *SOME, result("f", 1, mode="shared"))
    done = place.run("r.jsonl")
    assert done.returncode == 2 and "1 subprocess 1111111111111111, verdicts shared with the code" in done.stderr


def test_lines_that_cannot_be_used_are_named(place):
    cut = json.dumps(result("z", 1))[:90]
    place.write("r.jsonl", SOME[0], "{broken", "", SOME[1], '{"type":"result","id":"q","score":3}', cut, end="")
    done = place.run("--json", "r.jsonl")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 3, lines
    assert lines[0].startswith("rubricctl: r.jsonl:2: not JSON:")
    assert lines[1] == "rubricctl: r.jsonl:5: score: expected an object, got a number"
    assert lines[2].startswith("rubricctl: r.jsonl:6: cut off at the end of the file: ")
    report = json.loads(done.stdout)
    assert report["files"] == [{"name": "r.jsonl", "lines": 2, "unusable": 3, "duplicates": 0}]


def test_many_bad_lines_are_counted(place):
    place.write("r.jsonl", SOME[0], *["{"] * 50)
    done = place.run("--json", "r.jsonl")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 11
    assert json.loads(done.stdout)["files"][0]["unusable"] == 50


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["nosuch.jsonl"], "nosuch.jsonl: No such file or directory"),
        (["empty.jsonl"], "empty.jsonl: no result was found"),
        (["--confidence", "95", "r.jsonl"], '--confidence: expected a number above 0 and below 1, got "95"'),
        (["--confidence", "nan", "r.jsonl"], '--confidence: expected a number above 0 and below 1, got "nan"'),
        (["--min-score", "1.1", "r.jsonl"], '--min-score: expected a number from 0 to 1, got "1.1"'),
        (["--seed", "-1", "r.jsonl"], '--seed: expected a whole number from 0 to 9223372036854775807, got "-1"'),
        (["--resamples", "0", "r.jsonl"], '--resamples: expected a whole number from 1 to 10000000, got "0"'),
        (["--json", "--junit", "r.jsonl"], "only one of them can go to standard output"),
        (["-", "--against", "-"], "standard input can be read only once"),
        (["-", "r.jsonl", "-"], "standard input can be read only once"),
        (["-o", "report.pdf", "r.jsonl"], "--output report.pdf: expected a name that ends in .txt,"),
        (["-o", "report", "r.jsonl"], "--output report: expected a name that ends in .txt,"),
        (["-o", "r.json", "r.jsonl"], "r.json already exists; --force overwrites it"),
        (["-f", "-o", "nosuch/r.json", "r.jsonl"], "cannot write nosuch/r.json: No such file or directory"),
    ],
)  # fmt: skip
def test_wrong_usage(place, arguments, expected):
    place.write("r.jsonl", *SOME)
    place.write("empty.jsonl", "", end="")
    (place.directory / "r.json").write_text("kept")
    done = place.run(*arguments)
    assert done.returncode == 2 and expected in done.stderr, done.stderr
    assert (place.directory / "r.json").read_text() == "kept"
    assert not list(place.directory.glob("*.??????")), "no partial file remains"


# Input and output


def test_a_file_that_is_missing_is_named_once(place):
    done = place.run("nosuch.jsonl")
    assert (done.returncode, done.stderr) == (2, "rubricctl: nosuch.jsonl: No such file or directory\n")


def test_a_run_against_itself_is_told(place):
    place.write("r.jsonl", *SOME)
    (place.directory / "link.jsonl").symlink_to("r.jsonl")
    done = place.run("r.jsonl", "--against", "link.jsonl")
    assert done.stderr == "rubricctl: r.jsonl is on both sides of --against: the same file\n"
    assert done.returncode != 2


def test_inputs(place):
    """The command reads several files, compressed ones, and standard input."""
    place.write("r.jsonl.gz", *SOME[:2])
    lines = "".join(json.dumps(line) + "\n" for line in SOME[2:])
    done = place.run("--json", "r.jsonl.gz", "-", stdin=lines)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert [(f["name"], f["lines"]) for f in report["files"]] == [("r.jsonl.gz", 2), ("stdin", 3)]


def test_files(place):
    place.write("r.jsonl", *SOME)
    done = place.run("r.jsonl", "-o", "a.json", "-o", "b.xml", "-o", "c.txt")
    assert done.returncode == 0 and "score      0.7000" in done.stdout
    report = json.loads((place.directory / "a.json").read_text())
    schema_check.validate_by("bench-run-report", report)
    ElementTree.parse(place.directory / "b.xml")
    assert (place.directory / "c.txt").read_text() == done.stdout
    plain = place.directory / place.write("plain")
    assert (place.directory / "a.json").stat().st_mode == plain.stat().st_mode, "an ordinary mode"
    # A format given by option is written to the file alone, whatever the file's suffix.
    done = place.run("r.jsonl", "--json", "-o", "a.dat")
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((place.directory / "a.dat").read_text()) == report
    assert place.run("r.jsonl", "-q").stdout == ""
    assert place.run("r.jsonl", "-q", "-f", "-o", "a.json").returncode == 0


def no_more_than_a_block():
    """Limits files of this process to 512 bytes, which has the effect of a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


def test_no_half_report_is_left(place):
    place.write("r.jsonl", *SOME)
    (place.directory / "kept.json").write_text("kept")
    done = subprocess.run(
        [RUBRICCTL, "report", "-q", "-f", "-o", "kept.json", "r.jsonl"],
        cwd=place.directory, capture_output=True, text=True, timeout=DEADLINE, check=False,
        preexec_fn=no_more_than_a_block,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "rubricctl: cannot write kept.json: File too large\n")
    assert (place.directory / "kept.json").read_text() == "kept"
    assert sorted(path.name for path in place.directory.iterdir()) == ["kept.json", "r.jsonl"]


def test_the_same_again(place):
    """The same results in any order give the same numbers. Another seed gives other numbers."""
    lines = [result(str(n), (n * 7 % 10) / 10) for n in range(60)]
    place.write("r.jsonl", *lines)
    place.write("s.jsonl", *reversed(lines))
    first, second = place.json("r.jsonl"), place.json("s.jsonl")
    assert (first["score"], first["classes"]) == (second["score"], second["classes"])
    assert place.run("--json", "r.jsonl").stdout == place.run("--json", "r.jsonl").stdout
    assert place.json("--seed", "2", "r.jsonl")["score"]["bca"] != first["score"]["bca"]
    wide = place.json("--confidence", "0.99", "r.jsonl")["score"]["bca"]
    assert wide["low"] < first["score"]["bca"]["low"] and wide["high"] > first["score"]["bca"]["high"]


HOSTILE = "</script><script>alert(1)</script>\"'&\x1b[31m\u202e\ud7ff\ufffe\n"


def test_junit(place):
    place.write(
        "r.jsonl",
        result("good", 1, task_class="b"),
        result(f"x\0{HOSTILE}", 0, task_class=f"a{HOSTILE}", modes=[
            {"code": f"c{HOSTILE}", "severity": "block", "detail": f"d{HOSTILE}"},
            {"code": "w", "severity": "warn"},
        ]),
        error("broken", message=f"m{HOSTILE}"),
    )  # fmt: skip
    done = place.run("--junit", "r.jsonl")
    assert done.returncode == 4
    root = ElementTree.fromstring(done.stdout)
    assert root.tag == "testsuites"
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    assert [suite.get("tests") for suite in root] == ["1", "1", "1"]
    for suite in root:
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
    shown = "</script><script>alert(1)</script>\"'&\\x1b[31m\\u202e\ud7ff\ufffd\\n"
    failure = root.find(".//failure")
    assert failure.get("message") == f"d{shown}"
    assert failure.get("type") == f"c{shown}, w"
    assert root.find(".//error").get("type") == "internal"
    names = [case.get("name") for case in root.iter("testcase")]
    assert names == ["good", f"x\\x00{shown}", "broken"]


def test_hostile_text_on_a_terminal(place):
    place.write("r.jsonl", result("\x1b[2Jx", 0, modes=[{"code": "\x1b]0;t\x07", "severity": "block"}]))
    done = place.run("r.jsonl")
    assert "\x1b" not in done.stdout and "\\x1b[2Jx" in done.stdout


def on_terminal(place, *arguments, columns=80, **env):
    """Runs `report` on a terminal of COLUMNS columns and returns its output."""
    import fcntl
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    with subprocess.Popen(
        [RUBRICCTL, "report", *arguments], cwd=place.directory, stdout=follower,
        stderr=subprocess.STDOUT, env={**environment, **env},
    ) as process:  # fmt: skip
        os.close(follower)
        data = b""
        try:
            while chunk := os.read(leader, 4096):
                data += chunk
        except OSError:  # EIO: the terminal has no writers any more
            pass
        assert process.wait(DEADLINE) == 0
    os.close(leader)
    return data.decode()


@pytest.mark.parametrize("columns", [40, 80])
def test_narrow_terminal(place, columns):
    long = "n" * 100
    modes = [{"code": f"c{long}", "severity": severity, "detail": long} for severity in ("block", "info")]
    modes[1]["code"] += "i"
    place.write("r.jsonl", *[result(f"{n}/{long}", n / 9, task_class=f"{n}{long}", modes=modes) for n in range(10)])
    shown = on_terminal(place, "r.jsonl", columns=columns)
    assert "\x1b[1m" in shown
    plain = re.sub(r"\x1b\[\d+m", "", shown)
    assert max(len(line) for line in plain.splitlines()) < columns, plain


def test_no_colour(place):
    place.write("r.jsonl", *SOME)
    assert "\x1b" in on_terminal(place, "r.jsonl")
    assert "\x1b" not in on_terminal(place, "r.jsonl", NO_COLOR="1")


# Gates


def test_min_score(place):
    place.write("r.jsonl", *[result(str(n), int(n % 10 != 0)) for n in range(200)])
    low = place.json("r.jsonl")["score"]["interval"]["low"]
    assert place.run("-q", "--min-score", str(round(low - 0.001, 4)), "r.jsonl").returncode == 0
    done = place.run("-q", "--min-score", str(round(low + 0.001, 4)), "r.jsonl")
    assert done.returncode == 1 and "the score is 0.9000, but its interval begins at" in done.stderr
    assert place.run("-q", "--no-fail", "--min-score", "0.99", "r.jsonl").returncode == 0
    place.write("one.jsonl", result("a", 1))
    done = place.run("-q", "--min-score", "0.9", "one.jsonl")
    assert done.returncode == 1  # Wilson's interval for one passed case begins far below 0.9
    place.write("half.jsonl", result("a", 0.95))
    done = place.run("-q", "--min-score", "0.9", "half.jsonl")
    assert done.returncode == 1 and "the score has no interval" in done.stderr


# Comparison with another run


def changed(lines, **scores):
    return [result(line["id"], scores.get(line["id"], line["score"]["score"])) for line in lines]


def test_against(place):
    before = [result(f"c{n:02}", int(n % 3 != 0)) for n in range(30)]
    after = changed(before, c01=0, c00=1, c03=1, c06=1)
    place.write("before.jsonl", *before, result("gone", 1), error("lost"))
    place.write("after.jsonl", *after, result("new", 0), result("lost", 1))
    against = place.json("after.jsonl", "--against", "before.jsonl")["against"]
    assert (against["paired_cases"], against["only_here"], against["only_there"]) == (30, 1, 1)
    assert (against["only_here_ids"], against["only_there_ids"]) == (["new"], ["gone"])
    assert against["without_verdict"] == 1 and against["comparable"] is True
    difference = against["score_difference"]
    assert difference["mean"] == pytest.approx(2 / 30)
    # The interval of the paired differences. The intervals of the two means are each 0.3 wide.
    assert difference["interval"]["method"] == "bca"
    assert -0.1 < difference["interval"]["low"] < 0 < 0.1 < difference["interval"]["high"] < 0.25
    assert against["verdict"] == "no_difference"
    assert against["regressions"] == {"total": 1, "shown": [{"id": "c01", "before": 1.0, "after": 0.0}]}
    assert [c["id"] for c in against["improvements"]["shown"]] == ["c06", "c03", "c00"]
    text = place.run("after.jsonl", "--against", "before.jsonl").stdout
    assert "score      +0.0667, BCa 95% " in text
    assert "1 regression\n  1.00 to 0.00  c01\n3 improvements\n" in text


def test_pairs_are_surer_than_means(place):
    """If every case improves a little, the paired difference shows it although the two means do not."""
    before = [result(f"c{n}", n % 10 / 20) for n in range(40)]
    after = [result(f"c{n}", n % 10 / 20 + (0.02 if n % 2 else 0.03)) for n in range(40)]
    place.write("before.jsonl", *before)
    place.write("after.jsonl", *after)
    report = place.json("after.jsonl", "--against", "before.jsonl")
    low, high = (report["score"]["interval"][end] for end in ("low", "high"))
    assert low < place.json("before.jsonl")["score"]["mean"] < high, "the means alone show no difference"
    assert report["against"]["verdict"] == "better"
    assert place.json("before.jsonl", "--against", "after.jsonl")["against"]["verdict"] == "worse"


def test_the_same_run_has_no_difference(place):
    """Differences are not proportions, so they have no Wilson interval."""
    place.write("r.jsonl", *SOME)
    place.write("again.jsonl", *SOME)
    difference = place.json("r.jsonl", "--against", "again.jsonl")["against"]["score_difference"]
    assert difference["mean"] == 0 and difference["wilson"] is None
    assert difference["interval"] == {
        "method": "percentile", "low": 0.0, "high": 0.0, "why_not": "all values are equal",
    }  # fmt: skip


def test_changed_cases_are_not_paired(place):
    def line(id, score, case, rubric="c"):
        return result(id, score, run={"case_digest": case * 64, "rubric_digest": rubric * 64})

    place.write("before.jsonl", line("a", 1, "a"), line("b", 1, "a"), result("c", 1))
    place.write("after.jsonl", line("a", 1, "a"), line("b", 0, "b", "d"), result("c", 0))
    against = place.json("after.jsonl", "--against", "before.jsonl")["against"]
    assert (against["changed_cases"], against["changed_ids"], against["paired_cases"]) == (1, ["b"], 2)
    assert against["changed_rubrics"] == ["t"]
    assert "rubric of t has changed" in place.run("after.jsonl", "--against", "before.jsonl").stdout
    markdown = place.run("--markdown", "after.jsonl", "--against", "before.jsonl").stdout
    assert "**The rubric of t has changed.**" in markdown


def test_all_failures_are_listed_on_request(place):
    """The examples of a failure mode are few and short; the list has all, and each reason as a whole."""
    reason = "got " + "[1, 2] " * 30 + "expected \x1b[31mred"
    modes = [{"code": "wrong", "severity": "block", "detail": reason}]
    lines = [result(f"case{n}", 0, modes=modes) for n in range(5)]
    place.write("r.jsonl", *lines, result("good", 1), error("lost"))
    assert "case4" not in place.run("r.jsonl").stdout
    done = place.run("--failures", "r.jsonl")
    text = done.stdout.split("\n6 results that did not pass\n")[1].split("\n\n")[0]
    ids = re.findall(r"^  (\S+)  (\S+)$", text, re.MULTILINE)
    assert ids == [*((f"case{n}", "wrong") for n in range(5)), ("lost", "internal")]
    assert " ".join(text.split()).count(reason.replace("\x1b", "\\x1b")) == 5 and "the disk is full" in text
    assert "good" not in text and max(map(len, text.splitlines())) < 80
    place.run("r.jsonl", "--failures", "--json", "-o", "r.txt")
    assert "6 results that did not pass" in (place.directory / "r.txt").read_text()
    done = place.run("--failures", "--json", "r.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("rubricctl: --failures lists them in text, and none is written")


def test_a_long_reason_is_shown_as_a_whole(place):
    reason = "got " + "[1, 2] " * 20 + "expected nothing"
    place.write("r.jsonl", result("a", 0, modes=[{"code": "wrong", "severity": "block", "detail": reason}]))
    assert reason in " ".join(place.run("r.jsonl").stdout.split())


def test_crashed_rubrics_are_told_from_wrong_answers(place):
    """The score of 0 is the bench's fault, not the answer's."""
    crash = {"code": "rubric.malformed_output", "severity": "block", "detail": "exit status 1"}
    place.write("r.jsonl", result("a", 0, modes=[crash]), result("b", 0), result("c", 0, modes=[crash]))
    told = "rubric crashed or wrote no score, so the score of 0 says nothing of the answer"
    text = " ".join(place.run("r.jsonl").stdout.split())
    assert f"2 of the failed: the {told}" in text
    assert f"**Crashed:** of 2 of the failed the {told}." in place.run("--markdown", "r.jsonl").stdout
    place.write("none.jsonl", result("b", 0))
    assert "crashed" not in place.run("none.jsonl").stdout.lower()
    assert "crashed" not in place.run("--markdown", "none.jsonl").stdout.lower()


def test_samples_are_averaged_before_they_are_paired(place):
    def samples(*scores):
        return [result(f"a#{n}", s, run={"case_id": "a", "sample": n}) for n, s in enumerate(scores)]

    place.write("before.jsonl", *samples(1, 1, 1, 0), result("b", 1))
    place.write("after.jsonl", *samples(1, 0), result("b", 1))
    against = place.json("after.jsonl", "--against", "before.jsonl")["against"]
    assert against["paired_cases"] == 2
    assert against["regressions"]["shown"] == [{"id": "a", "before": 0.75, "after": 0.5}]


def test_runs_of_other_isolation_are_not_compared(place):
    place.write("after.jsonl", *SOME)
    other = {**ISOLATION, "digest": "2" * 64, "layers": [*ISOLATION["layers"][1:], "cgroup", "own_uid"]}
    place.write("before.jsonl", *[{**line, "isolation": other} for line in SOME], result("f", 1, isolation=other))
    done = place.run("after.jsonl", "--against", "before.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    ids = ", ".join(line["id"] for line in SOME)
    assert done.stderr.splitlines()[1:] == [
        "  5 subprocess 1111111111111111, only in this run",
        f"      {ids}",
        "against",
        "  6 subprocess 2222222222222222, only in the other run",
        f"      {ids}, ...",
        f"      without the layers of the first: {ISOLATION['layers'][0]}",
        "      with layers that the first lacks: cgroup, own_uid",
    ]
    report = place.json("--mix", "after.jsonl", "--against", "before.jsonl")
    assert report["against"]["comparable"] is False
    assert "not comparable" in place.run("--mix", "after.jsonl", "--against", "before.jsonl").stdout


def test_regression_gates(place):
    before = [result(f"c{n}", 1 if n % 4 else 0.5) for n in range(40)]
    after = [result(f"c{n}", 1 if n % 4 > 1 else 0.5) for n in range(40)]
    place.write("good.jsonl", *before)
    place.write("bad.jsonl", *after)
    place.write("one.jsonl", before[0])

    def run(*arguments):
        done = place.run("-q", *arguments)
        return done.returncode, done.stderr

    assert run("--fail-on-regression", "bad.jsonl", "--against", "bad.jsonl") == (0, "")
    assert run("--fail-on-regression", "good.jsonl", "--against", "bad.jsonl") == (0, "")
    worse = "rubricctl: --fail-on-regression: the interval of the difference lies below 0\n"
    assert run("--fail-on-regression", "bad.jsonl", "--against", "good.jsonl") == (1, worse)
    assert run("--no-fail", "--fail-on-regression", "bad.jsonl", "--against", "good.jsonl") == (0, worse)
    assert run("--max-regressions", "10", "bad.jsonl", "--against", "good.jsonl") == (0, "")
    many = "rubricctl: --max-regressions: 10 cases pass less often than before, more than 9\n"
    assert run("--max-regressions", "9", "bad.jsonl", "--against", "good.jsonl") == (1, many)
    status, said = run("--fail-on-regression", "one.jsonl", "--against", "good.jsonl")
    assert status == 1 and "the difference has no interval to judge by" in said
    status, said = run("--fail-on-regression", "good.jsonl")
    assert status == 2 and "--fail-on-regression needs a run to compare with: --against FILE" in said
    status, said = run("--max-regressions", "-1", "good.jsonl", "--against", "good.jsonl")
    assert status == 2 and "--max-regressions: expected a whole number from 0" in said
