# SPDX-License-Identifier: MIT
"""rubricctl batch --resume: whatever ends a run, its results file stays readable and the next run does the
remaining jobs. RUBRICD_BATCH_JOBS sets the number of jobs of the tests with many; 5000 is the full number."""

import copy
import json
import os
import random
import shutil
import subprocess

import pytest
import schema_check
from batches import Batches, complaints, sandbox
from conftest import BUILD, COLD, DEADLINE, PASSING, Daemon, wait_until

pytestmark = pytest.mark.cold

MANY = int(os.environ.get("RUBRICD_BATCH_JOBS", 400))
INSTANT = BUILD / "tests" / "instant-rubric"
NOTHING_YET = "{} has no results yet: nothing to continue"


@pytest.fixture(name="batches")
def make_batches(tmp_path, daemon):
    return Batches(tmp_path, daemon.socket)


def test_a_line_holds_the_answer_and_its_origin(batches, bench):
    job = bench.job(PASSING, case={"n": 1}, output={"o": 1})
    batches.write({"id": "a", **job}, {**sandbox("b", "exit 3"), "priority": 2})
    said = batches.run(status=1)
    assert said[0] == "2 jobs: 1 passed, 1 failed, 0 errors"
    lines = batches.lines()
    for line in lines.values():
        run = line.pop("run")
        schema_check.validate(line, "daemon")
        assert run["case_id"] == line["id"] and (run["sample"], run["attempts"]) == (1, 1)
    text = batches.output.read_text().splitlines()
    run = json.loads(next(line for line in text if '"a"' in line))["run"]
    assert run["task_class"] == job["task_class"] and len(run["rubric_digest"]) == 64
    # Another answer to the same case, from a bench in another place.
    other = {**job, "harness_output": {"o": 2}, "bench_root": str(shutil.copytree(bench.root, f"{bench.root}-2"))}
    batches.write({"id": "x", **other})
    batches.run("--force")
    again = json.loads(batches.output.read_text())["run"]
    assert again["case_digest"] == run["case_digest"] and again["job_digest"] != run["job_digest"]
    assert again["rubric_digest"] == run["rubric_digest"]


def test_a_long_file_is_announced(batches):
    """Reading a long file takes a while, so the client says so at the start and before the summary."""
    batches.write(sandbox("a", "exit 0"), sandbox("b", "exit 0"))
    batches.run("--limit", "1")
    (line,) = batches.output.read_text().splitlines()
    for size, announced in (((16 << 20) - 1, []), (16 << 20, ["reading 16.0 MiB of results"] * 2)):
        batches.output.write_text(line + " " * (size - len(line) - 1) + "\n")
        said = complaints(batches.run("--resume", "--limit", "1"))
        assert [text.removeprefix(f"{batches.output}: ") for text in said if "reading" in text] == announced
    batches.run("--resume", "--quiet")
    assert len(batches.lines()) == 2


def test_only_what_is_missing_is_run(batches, daemon):
    jobs = [sandbox(f"j{n}", f"exit {n % 2}") for n in range(20)]
    batches.write(*jobs[:12])
    assert complaints(batches.run("--resume", status=1)) == [NOTHING_YET.format(batches.output)]
    before = batches.lines()
    with daemon.connect() as client:
        answered = client.status()["counters"]["results"]
        batches.write(*jobs)
        said = batches.run("--resume", status=1)
        assert client.status()["counters"]["results"] == answered + 8
    assert said[0] == f"rubricctl: {batches.output} has 12 jobs: 6 passed, 6 failed, 0 errors"
    assert said[1] == "20 jobs: 10 passed, 10 failed, 0 errors"
    assert said[3].endswith("; 12 jobs were answered before")
    after = batches.lines()
    assert len(after) == 20 and {id: after[id] for id in before} == before
    # A further run has nothing left to do.
    text = batches.output.read_bytes()
    batches.run("--resume", "--quiet", status=1)
    assert batches.output.read_bytes() == text


def test_what_changed_is_run_again(batches, bench):
    """A change of the job or of its rubric counts."""
    job = bench.job(PASSING, name="stays")
    edited = bench.job(PASSING, name="edited")
    batches.write({"id": "a", **job}, {"id": "b", **job}, {"id": "c", **edited}, {"id": "d", **job})
    batches.run()
    before = batches.lines()
    bench.rubric(PASSING.replace("true", "false"), "edited")
    batches.write({"id": "a", **job}, {"id": "b", **job, "case": {"n": 2}}, {"id": "c", **edited}, {"id": "d", **job, "priority": 3})
    said = batches.run("--resume", status=1)
    after = batches.lines()
    for n, (id, what) in enumerate([("b", "job"), ("c", "rubric")], 1):
        assert said[n] == (
            f"rubricctl: {id}: the {what} has changed since {batches.output} was written; "
            "this job and any others like it run again"
        )
    assert said[3] == "4 jobs: 3 passed, 1 failed, 0 errors", "no job is counted twice"
    assert said[6:8] == ["1 job ran again: the rubric has changed", "1 job ran again: the job has changed"]
    assert (after["a"], after["d"]) == (before["a"], before["d"])
    assert after["b"]["run"]["job_digest"] != before["b"]["run"]["job_digest"]
    assert after["c"]["run"]["rubric_digest"] != before["c"]["run"]["rubric_digest"]
    assert after["c"]["score"]["passed"] is False
    assert not batches.output.with_name("results.jsonl.new").exists()


def test_errors_are_run_again(batches, bench):
    job = bench.job(PASSING, name="good")
    batches.write({"id": "a", **job}, {"id": "b", **job, "task_class": "late"})
    batches.run(status=4)
    assert batches.lines()["b"]["code"] == "rubric_not_found"
    bench.rubric(PASSING, "late")
    said = batches.run("--resume")
    assert said[1] == "2 jobs: 2 passed, 0 failed, 0 errors"
    assert batches.lines()["b"]["type"] == "result"


def test_ids_that_are_gone_are_said(batches):
    batches.write(*[sandbox(f"j{n}\x1b[31m") for n in range(9)])
    batches.run()
    batches.write(sandbox("j3\x1b[31m"))
    said = complaints(batches.run("--resume"))
    head, names = said[1].split("; the file keeps the results: ")
    assert head == f"{batches.output}: 8 ids are no longer in the input"
    shown = names.removesuffix(", ...").split(", ")
    assert len(set(shown)) == 5 and set(shown) < {f"j{n}\\x1b[31m" for n in range(9) if n != 3}
    assert len(batches.lines()) == 9


def test_duplicates_never(batches):
    batches.write(sandbox("a"), *[sandbox(f"j{n}") for n in range(300)], sandbox("a", "exit 1"))
    said = complaints(batches.run(status=2))
    assert said == [f'{batches.jobs}:302: id "a" is that of an earlier job']
    assert len(batches.lines()) == 301 and batches.lines()["a"]["score"]["passed"]
    said = complaints(batches.run("--resume", "--quiet", status=2))
    assert said == [f'{batches.jobs}:302: id "a" is that of an earlier job']
    assert len(batches.lines()) == 301


def test_nothing_is_overwritten_silently(batches):
    batches.write(sandbox("a"))
    batches.run()
    text = batches.output.read_bytes()
    for options, complaint in [
        ([], f"{batches.output} is there already; --resume continues it, --force overwrites it"),
        (["--resume", "--force"], "--resume continues a file, --force overwrites it: not both"),
    ]:
        assert complaints(batches.run(*options, status=2)) == [complaint]
    complaint = "--resume: the file to continue is missing (--output FILE)"
    assert complaints(batches.run("--resume", status=2, output=False)) == [complaint]
    assert batches.output.read_bytes() == text


@pytest.mark.parametrize("text", ['{"id": "a"}\n{"id": "b"}\n', "no results\n", '{"type": "result"}\n'])
def test_a_file_of_something_else_is_left_alone(batches, text):
    batches.write(sandbox("a"))
    batches.output.write_text(text)
    complaint = f"{batches.output}:1: not a line of results as rubricctl writes them"
    assert complaints(batches.run("--resume", status=2)) == [complaint]
    assert batches.output.read_text() == text


def test_one_writer_at_a_time(batches, bench, tmp_path):
    batches.write(sandbox("a", "sleep 1000"))
    first = batches.start()
    wait_until(batches.output.exists, "the first one writes")
    said = complaints(batches.run("--resume", status=2))
    assert said == [f"{batches.output}: another rubricctl is writing to it"]
    first.kill()
    first.communicate()


# Interrupted at random moments


def many_jobs():
    """Yields MANY jobs, most of the cheapest kind, some that start a program; some of them fail."""
    for n in range(MANY):
        sut = {"kind": "rubric", "task_class": "none", "case": {"n": n}, "harness_output": {}, "bench_root": "/usr",
               "sut": {"status": "exception" if n % 3 else "timeout"}}  # fmt: skip
        yield {"id": f"job-{n}", **sut} if n % 4 else sandbox(f"job-{n}", f"echo {n}; exit {n % 8 // 4}")


def without_timings(line):
    line = copy.deepcopy(line)
    for name in ("job_no", "usage"):
        del line[name]
    # Only the first line that a daemon answered has `host`, and timing decides which line that is.
    line["run"].pop("host", None)
    del line["score"]["wall_clock_ms"], line["run"]["finished_at"]
    return line


@pytest.fixture(name="uninterrupted")
def run_uninterrupted(tmp_path, batches):
    """Returns {id: line without timings} of an uninterrupted run of many_jobs() and removes its file."""
    batches.write(*many_jobs())
    batches.run("--quiet", status=1)
    lines = {id: without_timings(line) for id, line in batches.lines().items()}
    assert len(lines) == MANY
    batches.output.unlink()
    return lines


def assert_all_there(batches, uninterrupted):
    lines = batches.lines()
    assert len(lines) == MANY
    assert {id: without_timings(line) for id, line in lines.items()} == uninterrupted


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def test_killed_at_twenty_moments(batches, uninterrupted):
    """Kills each run after it has written a random part of the remaining results, whatever it is doing
    then. The file stays readable, except that its last line may be incomplete."""
    total = sum(len(json.dumps(line, separators=(",", ":"))) + 120 for line in uninterrupted.values())
    torn = 0
    for moment in range(20):
        process = batches.start("--resume", "--quiet")
        begun = size_of(batches.output)
        enough = begun + random.randrange(max(1, 2 * max(total - begun, 0) // (20 - moment)))
        wait_until(lambda: size_of(batches.output) >= enough or process.poll() is not None, "it has got on")
        process.kill()
        process.communicate()
        *whole, last = batches.output.read_bytes().split(b"\n")
        torn += last != b""
        for line in whole:
            json.loads(line)
    print(f"torn lines: {torn}")
    batches.run("--resume", "--quiet", status=1)
    assert_all_there(batches, uninterrupted)


def test_cut_anywhere(batches, uninterrupted):
    """The file ends as after a power cut: its end is missing or filled with zeros."""
    batches.run("--quiet", status=1)
    whole = batches.output.read_bytes()
    for part in range(8):
        cut = random.randrange(len(whole))
        batches.output.write_bytes(whole[:cut] + b"\0" * (part % 3 * 100))
        batches.run("--resume", "--quiet", status=1)
        assert_all_there(batches, uninterrupted)


def test_daemon_killed_at_random_moments(tmp_path, batches, uninterrupted):
    directory = tmp_path / "mortal"
    directory.mkdir()
    running = Daemon(directory, *COLD)
    mortal = Batches(directory, running.socket)
    mortal.jobs = batches.jobs
    process = mortal.start("--quiet")
    for moment in range(20 if MANY >= 5000 else 5):
        seen = size_of(mortal.output)
        more = seen + random.randrange(1, 60 * MANY)
        wait_until(lambda: size_of(mortal.output) >= more or process.poll() is not None, "it has got on")
        running.process.kill()
        running.process.wait()
        running.log_file.close()
        running = Daemon(directory, *COLD)
    mortal.end(process, 1)
    assert_all_there(mortal, uninterrupted)
    assert running.stop() == 0


@pytest.fixture(name="small_disk")
def can_mount():
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")


def test_a_full_disk(batches, uninterrupted, small_disk):
    """The client reports a full disk, submits nothing more and leaves whole lines. Once there is room,
    --resume continues."""
    disk = batches.directory / "disk"
    disk.mkdir()
    kept, full = batches.output, batches.directory / "full.jsonl"
    batches.output = disk / "o.jsonl"
    script = f"""
        mount -t tmpfs -o size=64k none {disk} || exit 99
        "$@"; echo status $? >&2
        cp {disk}/o.jsonl {full}
        mount -o remount,size=64m {disk} && "$@"; echo status $? >&2
        cp {disk}/o.jsonl {kept}
    """
    command = ["unshare", "--mount", "sh", "-c", script, "sh", *batches.command("--resume", "--quiet")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10 * DEADLINE, check=False)
    assert done.stderr.splitlines() == [
        f"rubricctl: cannot write {batches.output}: No space left on device; submitting nothing more. All "
        "lines in the file are whole; --resume continues it",
        "status 6",
        "status 1",
    ]
    first = [json.loads(line) for line in full.read_text().splitlines()]
    assert 0 < len(first) < MANY and full.read_bytes().endswith(b"\n")
    batches.output = kept
    assert_all_there(batches, uninterrupted)
