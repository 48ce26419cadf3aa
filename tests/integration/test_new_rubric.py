# SPDX-License-Identifier: MIT
"""rubricctl new-rubric writes a task class that works; check-rubric says what is wrong with one."""

import json
import os
import re
import subprocess

import pytest
from conftest import BENCH, DEADLINE, ROOT, RUBRICCTL, open_up

FILES = ["rubric.py", "task_class.json", "cases.jsonl", "expected.jsonl", "test_rubric.py"]


def ctl(directory, *arguments, **kwargs):
    return subprocess.run(
        [RUBRICCTL, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
        **kwargs,
    )


def said(done):
    return [line.removeprefix("rubricctl: ") for line in done.stderr.splitlines()]


@pytest.fixture(name="fresh")
def make_fresh(tmp_path):
    """Returns the folder of a new task class."""
    done = ctl(tmp_path, "new-rubric", "bench/length")
    assert (done.returncode, done.stdout.split()) == (0, [f"bench/length/{name}" for name in FILES])
    open_up(tmp_path)
    return tmp_path / "bench" / "length"


def check(folder, *options):
    return ctl(folder, "check-rubric", *options, ".")


# new-rubric


def test_what_is_written_works_as_it_is(fresh):
    done = subprocess.run(
        ["/usr/bin/python3", "-B", fresh / "test_rubric.py"], cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Ran 2 tests" in done.stderr
    done = check(fresh)
    assert (done.returncode, done.stdout) == (0, "3 cases graded: 3 as expected, 0 not\n"), done.stderr
    done = ctl(fresh.parents[1], "batch", "--embedded", "-b", "bench", "bench/length/cases.jsonl")
    assert done.returncode == 1, "two of the three answers are wrong on purpose"
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    "reported, passed_on",
    [({"cost_usd": 0.25}, 0.25), ({}, 0), ({"cost_usd": "1"}, 0), ({"cost_usd": True}, 0), ({"cost_usd": -1}, 0)],
    ids=str,
)
def test_the_cost_of_the_harness_is_passed_on(fresh, reported, passed_on):
    """--cost-cap adds up what rubrics report, and knows of no other cost."""
    request = {"case": {"expected": 1}, "harness_output": {"answer": "1", **reported}}
    done = subprocess.run(
        ["/usr/bin/python3", fresh / "rubric.py"], input=json.dumps(request), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["cost_usd"] == passed_on


def test_its_own_test_leaves_the_digest_as_it_is(fresh):
    before = sorted(path.name for path in fresh.iterdir())
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for directory in (fresh, "/"):
        subprocess.run(
            ["/usr/bin/python3", fresh / "test_rubric.py"],
            cwd=directory,
            env=environment,
            capture_output=True,
            check=True,
        )
    assert sorted(path.name for path in fresh.iterdir()) == before, "every file there counts for the rubric's digest"


def test_its_own_test_finds_a_fault(fresh):
    rubric = fresh / "rubric.py"
    rubric.write_text(rubric.read_text().replace("answer.wrong", "answer.bad"))
    done = subprocess.run(
        ["/usr/bin/python3", "-B", "test_rubric.py"], cwd=fresh, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "answer.bad" in done.stderr


def test_its_own_test_compares_what_is_said_alone(fresh):
    """As check-rubric does: score and failure_modes may be missing."""
    expected = fresh / "expected.jsonl"
    lines = [json.loads(line) for line in expected.read_text().splitlines()]
    command = ["/usr/bin/python3", "-B", fresh / "test_rubric.py"]
    for passed, status in ((lambda line: line["passed"], 0), (lambda line: not line["passed"], 1)):
        expected.write_text("".join(json.dumps({"id": line["id"], "passed": passed(line)}) + "\n" for line in lines))
        assert subprocess.run(command, cwd="/", capture_output=True, check=False).returncode == status


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_overwritten(name, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("mine")
    done = ctl(tmp_path, "new-rubric", "mine")
    assert (done.returncode, done.stdout) == (2, "")
    assert said(done) == [f"{tmp_path}/mine/{name} exists; nothing was written"]
    assert [file.name for file in (tmp_path / "mine").iterdir()] == [name]
    assert (tmp_path / "mine" / name).read_text() == "mine"


def test_the_example_of_the_page_works_for_everybody(tmp_path):
    """Root's home, where people are who log in as root, is closed to the daemon."""
    block = re.search(r"## A rubric of your own\n\n```sh\n(.*?)```", (ROOT / "client/README.md").read_text(), re.S)[1]
    places = set(re.findall(r"(\S*/my-class)", block))
    assert places == {"/tmp/bench/my-class"}
    open_up(tmp_path)
    for line in block.splitlines():
        command = line.partition("#")[0].replace("/tmp", str(tmp_path)).split()
        done = subprocess.run([RUBRICCTL, *command[1:]], capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode == 0 and "closed to other accounts" not in done.stderr, done.stderr


def test_names_and_places(tmp_path):
    done = ctl(tmp_path, "new-rubric", "a b")
    assert done.returncode == 2
    assert said(done)[0].startswith('a b: "a b" cannot be the name of a task class: letters, digits,')
    (tmp_path / "here").mkdir()
    assert ctl(tmp_path / "here", "new-rubric", ".").returncode == 0
    assert '"task_class": "here"' in (tmp_path / "here" / "cases.jsonl").read_text()
    (tmp_path / "file").write_text("")
    done = ctl(tmp_path, "new-rubric", "file/x")
    assert (done.returncode, said(done)) == (2, ["file/x: Not a directory"])
    assert ctl(tmp_path, "new-rubric", "with/slash//").returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o555)
    done = ctl(tmp_path, "new-rubric", "closed/x")
    assert (done.returncode, said(done)) == (2, ["closed/x: Permission denied"])


# check-rubric


def test_the_shipped_bench_is_sound():
    done = ctl("/", "check-rubric", BENCH)
    cases = len((BENCH / "cases.jsonl").read_text().splitlines())
    assert (done.returncode, done.stdout) == (0, f"{cases} cases graded: {cases} as expected, 0 not\n"), done.stderr
    done = ctl("/", "check-rubric", BENCH / "exact-match")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" as expected, 0 not\n")


def test_a_crash_shows_its_traceback(fresh):
    cases = fresh / "cases.jsonl"
    cases.write_text(cases.read_text().replace('"expected": 42', '"wanted": 42', 1))
    done = check(fresh)
    assert (done.returncode, done.stdout) == (1, "3 cases graded: 2 as expected, 1 not\n")
    assert said(done)[0] == f"{cases}:1: length/right: the rubric crashed:"
    assert said(done)[-1] == "    KeyError: 'expected'", "nothing else matters then"
    assert len(said(done)) == 8
    done = check(fresh, "-v")
    assert said(done)[0] == f"{cases}:1: length/right: the rubric crashed:"
    assert said(done)[1] == "    Traceback (most recent call last):"
    assert "    KeyError: 'expected'" in said(done)
    assert ctl(fresh, "check-rubric", "--no-fail", ".").returncode == 0


def test_the_same_traceback_is_shown_once(fresh):
    cases = fresh / "cases.jsonl"
    cases.write_text(cases.read_text().replace('"expected"', '"wanted"'))
    lines = said(check(fresh))
    assert lines.count("    KeyError: 'expected'") == 1
    assert [line for line in lines if "crashed" in line] == [f"{cases}:1: length/right: the rubric crashed:"]
    assert lines[-1] == "the rubric failed for 2 further cases as it did for one above (--verbose names them)"
    lines = said(check(fresh, "--verbose"))
    assert lines.count("    KeyError: 'expected'") == 1
    assert lines.count("    as for length/right") == 2
    assert [line.split(": ", 1)[1] for line in lines if "crashed" in line] == [
        f"length/{name}: the rubric crashed:" for name in ("right", "wrong", "missing")
    ]


def test_a_syntax_error_is_shown_once_and_as_lines(fresh):
    rubric = fresh / "rubric.py"
    rubric.write_text(rubric.read_text().replace("import json\n", "import json\ndef f(\n", 1))
    lines = said(check(fresh))
    assert lines[0] == f"{fresh}/cases.jsonl:1: length/right: the rubric failed:"
    assert lines[1].startswith('      File "') and "SyntaxError: '(' was never closed" in lines[-2]
    assert not any("\\n" in line for line in lines)


def test_a_fault_that_every_case_shows_is_named_once(fresh):
    rubric = fresh / "rubric.py"
    rubric.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n" + rubric.read_text())
    lines = said(check(fresh))
    assert [line for line in lines if "signal 11" in line] == [
        f"{fresh}/cases.jsonl:1: length/right: the rubric failed: signal 11 (SIGSEGV)"
    ]
    assert lines[-1] == "the rubric failed for 2 further cases as it did for one above (--verbose names them)"
    lines = said(check(fresh, "--verbose"))
    assert len([line for line in lines if "signal 11" in line]) == 3
    assert not any("as for" in line for line in lines), "nothing was left out"


@pytest.mark.skipif(os.geteuid() != 0, reason="only a daemon that root starts takes another account")
@pytest.mark.parametrize("mode", [0o700, 0o711])
def test_root_is_told_that_the_daemon_cannot_come_there(tmp_path, mode):
    open_up(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    done = ctl(home, "new-rubric", "bench/length")
    assert done.returncode == 0
    warnings = [line for line in said(done) if "closed to other accounts" in line]
    assert len(warnings) == (mode == 0o700)
    both = subprocess.run(
        [RUBRICCTL, "new-rubric", "bench/other"],
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE,
        check=True,
    ).stdout.splitlines()[len(warnings) :]
    assert both[: len(FILES)] == [f"bench/other/{name}" for name in FILES], "the warning is first, then the files"
    assert all(line.startswith("rubricctl: ") for line in both[len(FILES) :])
    move = "next: move the bench or open the folder above, change rubric.py"
    assert any(line.startswith(move) for line in said(done)) == bool(warnings), "what follows would not work"
    if warnings:
        assert warnings[0].startswith(f"{home} is closed to other accounts (mode 0700)")
        assert ctl(home, "check-rubric", "bench/length").returncode == 4, "it was right"
    else:
        assert ctl(home, "check-rubric", "bench/length").returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '{"is_number": 1.0}',
            '{"is_int": 1.0}',
            'length/right: task_class.json does not list the breakdown key "is_int"',
        ),
        (
            '"answer.wrong"',
            '"answer.bad"',
            'length/wrong: task_class.json does not list the failure mode "answer.bad"',
        ),
        (
            "return 1.0,",
            "return 1.5,",
            "length/right: what the rubric printed is no score: score: expected a number from 0 to 1",
        ),
        ("import json\n", "import json\nprint('hello')\n", "length/right: what the rubric printed is no score: JSON: "),
        ("    request = ", "    sys.exit(3)\n    request = ", "length/right: the rubric failed: exit status 3"),
    ],
)
def test_what_a_rubric_does_wrong(old, new, message, fresh):
    rubric = fresh / "rubric.py"
    assert old in rubric.read_text()
    rubric.write_text(rubric.read_text().replace(old, new))
    done = check(fresh)
    assert done.returncode == 1
    assert any(message in line and line.startswith(f"{fresh}/cases.jsonl:") for line in said(done)), done.stderr


def test_a_rubric_that_runs_out_of_time(fresh):
    rubric = fresh / "rubric.py"
    rubric.write_text(rubric.read_text().replace("    request = ", "    import time; time.sleep(1000)\n    request = "))
    case = json.loads((fresh / "cases.jsonl").read_text().splitlines()[0])
    case["case"]["rubric_wall_clock_seconds"] = 0.5
    (fresh / "cases.jsonl").write_text(json.dumps(case) + "\n")
    (fresh / "expected.jsonl").write_text((fresh / "expected.jsonl").read_text().splitlines()[0])
    done = check(fresh)
    assert done.returncode == 1
    ran_out = f"{fresh}/cases.jsonl:1: length/right: the rubric ran out of time, after "
    assert re.fullmatch(re.escape(ran_out) + r"\d+\.\d s", said(done)[0])


def test_a_verdict_that_is_not_the_expected_one(fresh):
    expected = fresh / "expected.jsonl"
    expected.write_text(expected.read_text().replace('"score": 0.5', '"score": 0.25'))
    done = check(fresh)
    assert (done.returncode, done.stdout) == (1, "3 cases graded: 2 as expected, 1 not\n")
    assert said(done)[:3] == [
        f"{fresh}/cases.jsonl:2: length/wrong: not as {expected}:2 expects",
        "    expected  failed, score 0.25, failure modes: answer.wrong",
        "    got       failed, score 0.5, failure modes: answer.wrong",
    ]


def test_a_verdict_that_nothing_is_compared_with(fresh):
    expected = fresh / "expected.jsonl"
    expected.write_text(expected.read_text().splitlines()[0])
    done = check(fresh)
    assert (done.returncode, done.stdout) == (
        0,
        "3 cases graded: 1 as expected, 0 not, 2 without an expected verdict\n",
    )
    expected.unlink()
    done = check(fresh)
    assert (done.returncode, done.stdout) == (
        2,
        "3 cases graded: 0 as expected, 0 not, 3 without an expected verdict; 1 mistake in files\n",
    )
    assert (
        said(done)[0]
        == "length: no expected.jsonl has the verdict of any of its cases, so none is compared with anything"
    )


def test_a_bench_of_new_rubrics(fresh):
    bench = fresh.parent
    assert ctl(bench, "new-rubric", "width").returncode == 0
    open_up(bench / "width")
    done = ctl(bench.parent, "check-rubric", "bench")
    assert (done.returncode, done.stdout) == (0, "6 cases graded: 6 as expected, 0 not\n"), done.stderr
    (bench / "cases.jsonl").write_text((fresh / "cases.jsonl").read_text().splitlines()[0].replace("/right", "/more"))
    done = ctl(bench, "check-rubric", ".")
    assert (done.returncode, done.stdout) == (
        0,
        "7 cases graded: 6 as expected, 0 not, 1 without an expected verdict\n",
    )
    (bench / "cases.jsonl").unlink()
    (bench / "width" / "cases.jsonl").unlink()
    done = ctl(bench, "check-rubric", ".")
    assert (done.returncode, said(done)[0]) == (2, "width: it has no case, so nothing of it is checked")
    assert done.stdout == "3 cases graded: 3 as expected, 0 not; 1 mistake in files\n"


def test_failure_modes_that_no_case_shows(fresh):
    assert said(check(fresh)) == ["length: no case shows 2 of its failure modes (--verbose names them)"]
    assert said(check(fresh, "-v")) == [
        "length: no case shows the failure mode answer.too_long",
        "length: no case shows the failure mode answer.not_a_number",
    ]


def test_a_bench_without_any_cases(fresh):
    (fresh / "cases.jsonl").unlink()
    done = ctl(fresh.parent, "check-rubric", ".")
    assert (done.returncode, said(done)) == (
        2,
        [f"{fresh.parent}/cases.jsonl: there is none, nor in a folder with a rubric, so there is nothing to run"],
    )


def test_mistakes_in_files_are_named_with_their_lines(fresh):
    cases, expected = fresh / "cases.jsonl", fresh / "expected.jsonl"
    first = cases.read_text().splitlines()[0]
    others = ["[]", first, first.replace("/right", "/x").replace('"length"', '"width"'), '{"task_class": "length"}']
    cases.write_text("\n".join([first, *others]) + "\n")
    expected.write_text(expected.read_text().splitlines()[0] + '\n{"id": "none", "passed": true}\n{"id": "b"}\n')
    (fresh / "task_class.json").write_text('{"breakdown_keys": ["is_number", "is_number"]}')
    done = check(fresh)
    assert done.returncode == 2
    for line in (
        f'{fresh}/task_class.json: breakdown_keys[1]: "is_number" is there twice',
        f"{cases}:3: this id is that of an earlier line",
        f'{cases}:4: task_class: expected "length", got "width"',
        f'{cases}:5: kind: expected "rubric"',
        f'{expected}:2: no case has the id "none"',
        f"{expected}:3: passed: expected true or false",
    ):
        assert line in said(done), done.stderr
    assert [line for line in said(done) if line.startswith(f"{cases}:2: ")]
    assert done.stdout == "1 case graded: 1 as expected, 0 not; 7 mistakes in files\n"


def test_fields_that_are_misspelt(fresh):
    (fresh / "expected.jsonl").write_text('{"id": "length/right", "pased": true}\n')
    (fresh / "task_class.json").write_text('{"breakdown_key": ["is_number"]}')
    lines = said(check(fresh))
    assert f'{fresh}/expected.jsonl:1: passed: expected true or false; found "pased": did you mean passed?' in lines
    assert f"{fresh}/task_class.json: breakdown_key: unknown field; did you mean breakdown_keys?" in lines
    (fresh / "task_class.json").write_text('{"nothing_like_it": []}')
    assert f"{fresh}/task_class.json: nothing_like_it: unknown field" in said(check(fresh))
    (fresh / "task_class.json").write_text('{"warm": {"helper": []}}')
    assert f"{fresh}/task_class.json: warm.helper: unknown field" in said(check(fresh))
    (fresh / "task_class.json").write_text('{"warm": {"modules": ["json", 1]}}')
    assert f"{fresh}/task_class.json: warm.modules[1]: expected a string, got a number" in said(check(fresh))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"scor": 0.9}, "scor: unknown field; did you mean score?"),
        ({"failure_mode": ["zz"]}, "failure_mode: unknown field; did you mean failure_modes?"),
        ({"breakdown": {"is_number": 1}}, "breakdown: unknown field"),
        ({"place": "x"}, "place: unknown field"),
        ({"score": "1"}, "score: expected a number, got a string"),
        ({"score": None}, "score: expected a number, got null"),
        ({"score": True}, "score: expected a number, got a boolean"),
        ({"failure_modes": "sort.zz"}, "failure_modes: expected an array, got a string"),
        ({"failure_modes": None}, "failure_modes: expected an array, got null"),
        ({"failure_modes": [{"code": "a.b"}]}, "failure_modes: expected an array of strings"),
    ],
    ids=str,
)
def test_an_expected_verdict_that_would_not_be_compared(members, message, fresh):
    """What nobody compares looks as if it held."""
    expected = fresh / "expected.jsonl"
    lines = expected.read_text().splitlines()
    verdict = json.loads(lines[1])
    lines[1] = json.dumps({"id": verdict["id"], "passed": verdict["passed"], **members})
    expected.write_text("\n".join(lines) + "\n")
    done = check(fresh)
    assert said(done)[0] == f"{expected}:2: {message}"
    assert (done.returncode, done.stdout) == (
        2,
        "3 cases graded: 2 as expected, 0 not, 1 without an expected verdict; 1 mistake in files\n",
    )


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({}, "failed"),
        ({"score": 1 / 6}, "failed, score 0.166667"),
        ({"failure_modes": []}, "failed, failure modes: none"),
        ({"score": 1, "failure_modes": ["a.b", "c.d"]}, "failed, score 1, failure modes: a.b, c.d"),
    ],
    ids=str,
)
def test_only_what_is_expected_is_told(members, told, fresh):
    expected = fresh / "expected.jsonl"
    lines = expected.read_text().splitlines()
    lines[0] = json.dumps({"id": "length/right", "passed": False, **members})
    expected.write_text("\n".join(lines) + "\n")
    done = check(fresh)
    assert said(done)[:3] == [
        f"{fresh}/cases.jsonl:1: length/right: not as {expected}:1 expects",
        f"    expected  {told}",
        "    got       passed, score 1, failure modes: none",
    ]


def test_places_without_anything_to_check(fresh, tmp_path):
    (tmp_path / "empty").mkdir()
    for argument, message in (
        ("none", "none: No such file or directory"),
        ("empty", "empty: there is no rubric.py in it, nor in a folder of it"),
    ):
        done = ctl(tmp_path, "check-rubric", argument)
        assert (done.returncode, said(done)) == (2, [message])
    (fresh / "cases.jsonl").unlink()
    done = check(fresh)
    assert (done.returncode, said(done)[-1]) == (
        2,
        f"{fresh}/cases.jsonl: there is none, so there is nothing to run",
    )


def test_a_rubric_that_the_jobs_cannot_read(fresh):
    (fresh / "rubric.py").chmod(0)
    done = check(fresh)
    assert done.returncode == 4
    assert f"{fresh}/cases.jsonl:1: length/right: no verdict: not_permitted: job.task_class: " in said(done)[0]
    assert said(done)[1:] == ["2 further cases have no verdict for the reason named before"]


def test_another_daemon(fresh, daemon):
    done = ctl(fresh, "check-rubric", ".", "--socket", str(daemon.socket))
    assert (done.returncode, done.stdout) == (0, "3 cases graded: 3 as expected, 0 not\n"), done.stderr
    done = ctl(fresh, "check-rubric", ".", "--socket", "/proc/self/none")
    assert done.returncode == 3
