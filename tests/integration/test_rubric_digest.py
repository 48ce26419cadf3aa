# SPDX-License-Identifier: MIT
"""The digest of a rubric's directory: in results, in requests, in files of results, and what it costs the
daemon to find out."""

import hashlib
import json
import os
import subprocess

import pytest
from conftest import PASSING, RUBRICCTL, Daemon, wait_until

MIB = 1 << 20


@pytest.fixture(scope="module", name="daemon")
def start_shared(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"))
    yield daemon
    assert daemon.stop() == 0, daemon.log()


@pytest.fixture(name="client")
def connect(daemon):
    with daemon.connect() as client:
        yield client


def digest_of(directory):
    """Digests as the page of the protocol says."""
    text = b"rubric-directory 1\n"
    names = {os.fsencode(path.relative_to(directory)): path for path in directory.rglob("*") if path.is_file()}
    for name, path in sorted(names.items()):
        data, mode = path.read_bytes(), path.stat().st_mode
        text += b"%s %d %s " % (hashlib.sha256(data).hexdigest().encode(), len(data), b"x" if mode & 0o111 else b"-")
        text += name + b"\n"
    return hashlib.sha256(text).hexdigest()


def test_a_result_names_the_rubric_with_all_of_its_files(client, bench):
    job = bench.job(PASSING, name="c", task_class={})
    directory = bench.root / "c"
    (directory / "sub").mkdir()
    (directory / "sub" / "helper.py").write_text("x = 1\n")
    (directory / "run").write_text("")
    (directory / "run").chmod(0o755)
    first = client.run(job)
    assert first["rubric_digest"] == digest_of(directory)
    assert "no_rubric_digest" not in first
    (directory / "sub" / "helper.py").write_text("x = 2\n")
    second = client.run(job)
    assert second["rubric_digest"] == digest_of(directory) != first["rubric_digest"]
    (bench.root / "beside").write_text("")
    assert client.run(job)["rubric_digest"] == second["rubric_digest"]


def test_a_job_names_the_rubric_that_it_wants(client, bench):
    job = bench.job(PASSING, name="c")
    digest = digest_of(bench.root / "c")
    assert client.run({**job, "rubric_digest": digest})["rubric_digest"] == digest
    assert client.run({**job, "rubric_digest": None})["rubric_digest"] == digest
    (bench.root / "c" / "helper.py").write_text("")
    error = client.run({**job, "rubric_digest": digest})
    assert (error["code"], error["retriable"]) == ("another_rubric", False)
    assert error["message"] == (
        f"job.rubric_digest: another rubric: the directory of c has the digest {digest_of(bench.root / 'c')}, not {digest}"
    )
    for bad in "x", digest.upper().replace("0", "A"), digest[1:], digest + "0":
        error = client.run({**job, "rubric_digest": bad}, check=False)
        assert error["code"] == "bad_request"
        assert error["message"].endswith("is not a digest (64 hexadecimal digits in lower case)")


def test_a_directory_without_a_digest(client, bench):
    """The job runs all the same, unless it names one."""
    job = bench.job(PASSING, name="c")
    os.symlink("/etc/hostname", bench.root / "c" / "link")
    result = client.run(job)
    assert result["score"]["passed"]
    assert result["rubric_digest"] is None
    assert result["no_rubric_digest"] == "link: a link that leads to no file beneath the bench root"
    error = client.run({**job, "rubric_digest": "0" * 64})
    assert (error["code"], error["retriable"]) == ("another_rubric", False)
    assert error["message"] == (
        "job.rubric_digest: the directory of c has no digest: link: a link that leads to no file beneath the bench root"
    )


def test_a_rubric_that_did_not_run_has_none(client, bench):
    job = bench.job(PASSING, name="c", sut={"status": "timeout"})
    assert "rubric_digest" not in client.run(job)


def test_large_directories_are_read_while_others_go_on(daemon, bench):
    """A job waits for the digest of a large directory, and jobs of other connections do not."""
    large, small = bench.job(PASSING, name="large"), bench.job(PASSING, name="small")
    for i in range(4):
        (bench.root / "large" / f"data-{i}").write_bytes(os.urandom(12 * MIB))
    with daemon.connect() as one, daemon.connect() as other:
        one.submit("large", {**large, "rubric_digest": digest_of(bench.root / "large")})
        assert other.run(small)["rubric_digest"] == digest_of(bench.root / "small")
        assert one.recv_answer("large")["score"]["passed"]
        # What has changed since is read again, and what has not is not.
        (bench.root / "large" / "data-0").write_bytes(os.urandom(12 * MIB))
        wait_until(
            lambda: one.run(large)["rubric_digest"] == digest_of(bench.root / "large"), "the new digest is found out"
        )


def test_many_large_directories_at_once(daemon, bench):
    """More connections wait than directories are read at a time; each gets its own digest."""
    jobs = [bench.job(PASSING, name=f"c{i}") for i in range(40)]
    for i in range(40):
        (bench.root / f"c{i}" / "data").write_bytes(bytes([i]) * (2 * MIB))
    clients = [daemon.connect() for _ in jobs]
    for client, job in zip(clients, jobs):
        client.submit("x", job)
    for i, client in enumerate(clients):
        assert client.recv_answer("x")["rubric_digest"] == digest_of(bench.root / f"c{i}")
        client.close()


def batch(daemon, output, jobs, *options):
    command = [RUBRICCTL, "--socket", daemon.socket, "batch", "--output", output, *options, jobs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {line["id"]: line for line in map(json.loads, output.read_text().splitlines())}


def test_a_changed_helper_runs_jobs_again(daemon, bench, tmp_path):
    """--resume, and a comparison with an earlier run, notice a change beside rubric.py."""
    jobs = tmp_path / "jobs"
    jobs.write_text("".join(json.dumps({"id": name, **bench.job(PASSING, name=name)}) + "\n" for name in "ab"))
    before = batch(daemon, tmp_path / "out", jobs)
    first = batch(daemon, tmp_path / "first", jobs)
    assert all(line["run"]["rubric_digest"] == line["rubric_digest"] for line in before.values())
    (bench.root / "a" / "helper.py").write_text("")
    after = batch(daemon, tmp_path / "out", jobs, "--resume")
    assert after["b"] == before["b"], "it was kept"
    assert after["a"]["run"]["rubric_digest"] == after["a"]["rubric_digest"] == digest_of(bench.root / "a")
    assert after["a"]["rubric_digest"] != first["a"]["rubric_digest"]
    command = [RUBRICCTL, "report", "--against", tmp_path / "first", tmp_path / "out"]
    report = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "rubric of a" in report.stdout, report.stdout + report.stderr
    assert "rubric of b" not in report.stdout
