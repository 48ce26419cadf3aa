# SPDX-License-Identifier: MIT
"""Rubrics in a fleet: a job runs with the rubric that it names on every host, or says that none has it."""

import hashlib
import json
import os
import shutil

import pytest
from conftest import PASSING, open_up
from fleet_hosts import (
    make_fleet,  # noqa: F401
    need_fleet,
    read_results,
    write_jobs,
)
from fleet_serve import Serve
from test_rubric_digest import digest_of

need_fleet()

# Fails unless its helper says that it is the right one.
HELPED = """
import json, os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
import helper
print(json.dumps({"passed": helper.GOOD, "score": 1, "breakdown": {}, "failure_modes": []}))
"""


@pytest.fixture(name="helped")
def make_helped(bench):
    """A bench with the rubric `h`, and its job."""
    job = bench.job(HELPED, name="h")
    (bench.root / "h" / "lib").mkdir()
    (bench.root / "h" / "lib" / "helper.py").write_text("GOOD = True\n")
    (bench.root / "h" / "empty").write_text("")
    return job


def add_host(fleet, name, *settings, **kwargs):
    """A host whose daemon can read its worker's cache."""
    return fleet.add_worker(name, fleet.add_daemon(*settings, **kwargs))


def cache_of(fleet, name):
    return fleet.directory / f"cache-{name}"


def cached(fleet, name):
    return sorted(path.name for path in cache_of(fleet, name).iterdir())


def test_push_bench(fleet, helped, bench):
    bench.rubric(PASSING, name="other")
    (bench.root / "no-rubric").mkdir()
    done = fleet.run("push-bench", bench.root)
    assert done.returncode == 0, done.stderr
    assert [line.split(" (")[0] for line in done.stdout.splitlines()] == [
        f"{digest_of(bench.root / name)} {name}" for name in ("h", "other")
    ]
    one = fleet.run("push-bench", bench.root / "h")
    assert one.stdout == f"{digest_of(bench.root / 'h')} h (3 files, {len(HELPED) + 12} bytes)\n"
    with fleet.server.connect() as nats:
        manifest = nats.last("inputs", f"rubricd.inputs.{digest_of(bench.root / 'h')}.0")
        assert hashlib.sha256(manifest).hexdigest() == digest_of(bench.root / "h")
        assert max(nats.counts("inputs").values()) == 1, "what is there is not stored again"


def test_what_cannot_be_pushed(fleet, bench, tmp_path):
    for path, status, why in (
        (tmp_path / "nowhere", 2, "No such file or directory"),
        (bench.root, 2, "neither the directory of a rubric nor one that holds such"),
    ):
        done = fleet.run("push-bench", path)
        assert (done.returncode, why in done.stderr) == (status, True), done.stderr
    bench.rubric(PASSING, name="good")
    bench.rubric(PASSING, name="bad")
    os.symlink("/etc/hostname", bench.root / "bad" / "link")
    done = fleet.run("push-bench", bench.root)
    assert done.returncode == 3
    assert done.stderr == "rubricctl: bad: link: a link that leads to no file beneath the bench root\n"
    assert done.stdout.startswith(digest_of(bench.root / "good"))


def test_hosts_without_the_bench_fetch_it(fleet, helped, bench, tmp_path):
    """The batch stores it; each host whose own is missing or another one gets it into its cache."""
    for name in "ab":  # whose daemons may not read the bench itself
        add_host(fleet, name, f"rubric.allowed_roots={fleet.directory}/cache-{name}")
    jobs = write_jobs(tmp_path / "jobs", [{"id": f"j{i}", **helped} for i in range(20)])
    done = fleet.run("batch", "--output", tmp_path / "out", jobs)
    assert done.returncode == 0, done.stderr
    digest = digest_of(bench.root / "h")
    lines = read_results(tmp_path / "out")
    assert len(lines) == 20
    assert all(line["score"]["passed"] and line["rubric_digest"] == digest for line in lines.values())
    used = [name for name in "ab" if cached(fleet, name)]
    assert used, "at least one host had work"
    for worker in fleet.workers:
        worker.stop()
    for name in used:
        assert cached(fleet, name) == [digest]
        assert digest_of(cache_of(fleet, name) / digest / "h") == digest


def test_a_client_of_serve_names_the_rubric(fleet, helped, bench):
    """Hosts that have another one, or none, get the one that the client names."""
    add_host(fleet, "a", f"rubric.allowed_roots={fleet.directory}/cache-a")
    digest = digest_of(bench.root / "h")
    assert fleet.run("push-bench", bench.root).returncode == 0
    (bench.root / "h" / "lib" / "helper.py").write_text("GOOD = False\n")
    serve = Serve(fleet)
    with serve.connect() as client:
        result = client.run({**helped, "rubric_digest": digest})
        assert (result["type"], result.get("rubric_digest")) == ("result", digest), result
        assert result["score"]["passed"]
    serve.stop()


def test_another_rubric_at_the_same_place(fleet, helped, bench, tmp_path):
    """A host that has another version where the job says runs the one that the job names."""
    add_host(fleet, "a")
    digest = digest_of(bench.root / "h")
    assert fleet.run("push-bench", bench.root).returncode == 0
    (bench.root / "h" / "lib" / "helper.py").write_text("GOOD = False\n")
    jobs = write_jobs(tmp_path / "jobs", [{"id": "old", **helped, "rubric_digest": digest}, {"id": "new", **helped}])
    done = fleet.run("batch", "--no-fail", "--output", tmp_path / "out", jobs)
    assert done.returncode == 0, done.stderr
    lines = read_results(tmp_path / "out")
    assert (lines["old"]["score"]["passed"], lines["old"]["rubric_digest"]) == (True, digest)
    assert (lines["new"]["score"]["passed"], lines["new"]["rubric_digest"]) == (False, digest_of(bench.root / "h"))


def test_no_host_can_have_it(fleet, helped, bench, tmp_path):
    """The error names the rubric, its digest, and the remedy."""
    add_host(fleet, "a")
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **helped, "rubric_digest": "0" * 64}])
    done = fleet.run("batch", "--retries", "0", "--output", tmp_path / "out", jobs)
    assert done.returncode == 4, done.stderr
    error = read_results(tmp_path / "out")["x"]
    assert (error["code"], error["retriable"]) == ("rubric_not_found", False)
    assert error["message"] == (
        f"none of the hosts that were tried (20 times) has the rubric of h with the digest {'0' * 64}, "
        "and the fleet has not got it "
        "(an input of the job is no longer in the fleet): `rubricctl fleet push-bench` stores it there"
    )
    with fleet.server.connect() as nats:
        mark = json.loads(nats.last("marks", "rubricd.marks." + done.stderr.split("run ")[1].split(":")[0] + ".x"))
    assert len(mark["starts"]) <= 1, "handing it back did not count as a start"


def test_one_host_has_it(fleet, helped, bench, tmp_path):
    """Without the fleet's copy, a job goes to the host that has the bench."""
    other = shutil.copytree(bench.root, tmp_path / "other")
    (other / "h" / "lib" / "helper.py").write_text("GOOD = False\n")
    open_up(other)
    del helped["bench_root"]
    helped["rubric_digest"] = digest_of(bench.root / "h")
    add_host(fleet, "a", f"rubric.bench_root={other}")
    add_host(fleet, "b", f"rubric.bench_root={bench.root}")
    jobs = write_jobs(tmp_path / "jobs", [{"id": f"j{i}", **helped} for i in range(8)])
    done = fleet.run("batch", "--output", tmp_path / "out", jobs)
    assert done.returncode == 0, done.stderr
    assert all(line["score"]["passed"] for line in read_results(tmp_path / "out").values())


def test_a_changed_cache_is_found_out(fleet, helped, bench, tmp_path):
    """The daemon digests what it runs: a copy that somebody has changed is fetched anew."""
    add_host(fleet, "a", f"rubric.allowed_roots={fleet.directory}/cache-a")
    digest = digest_of(bench.root / "h")
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **helped}])
    assert fleet.run("batch", "--output", tmp_path / "1", jobs).returncode == 0
    (cache_of(fleet, "a") / digest / "h" / "lib" / "helper.py").write_text("GOOD = False\n")
    done = fleet.run("batch", "--output", tmp_path / "2", jobs)
    assert done.returncode == 0, done.stderr
    assert read_results(tmp_path / "2")["x"]["score"]["passed"]
    assert digest_of(cache_of(fleet, "a") / digest / "h") == digest


def test_a_name_that_leads_out_of_the_cache(fleet, helped, bench, tmp_path):
    """Whoever may publish jobs does not choose where the worker writes."""
    add_host(fleet, "a")
    digest = digest_of(bench.root / "h")
    # What a front would never send: the list of a directory with a name that leads out of it.
    evil = f"rubric-directory 1\n{hashlib.sha256(b'x').hexdigest()} 1 - ../../../evil\n".encode()
    name = hashlib.sha256(evil).hexdigest()
    with fleet.server.connect() as nats:
        nats.request(f"rubricd.inputs.{name}.0", evil)
        nats.request(f"rubricd.inputs.{hashlib.sha256(b'x').hexdigest()}.0", b"x")
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **helped, "rubric_digest": name}])
    done = fleet.run("batch", "--retries", "0", "--output", tmp_path / "out", jobs)
    assert done.returncode == 4
    assert "(line 2: not a file of a rubric)" in read_results(tmp_path / "out")["x"]["message"]
    assert not list(tmp_path.rglob("evil"))
    assert cached(fleet, "a") == [] and digest


def test_a_rubric_without_a_digest_runs_where_it_is(fleet, helped, bench, tmp_path):
    add_host(fleet, "a")
    os.symlink("/etc/hostname", bench.root / "h" / "link")
    jobs = write_jobs(tmp_path / "jobs", [{"id": f"j{i}", **helped} for i in range(3)])
    done = fleet.run("batch", "--output", tmp_path / "out", jobs)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("h has no digest (link: a link that leads to no file beneath the bench root)") == 1
    assert all(line["rubric_digest"] is None for line in read_results(tmp_path / "out").values())


def test_the_cache_keeps_its_bound(fleet, bench, tmp_path):
    """What was used longest ago goes."""
    add_host(fleet, "a", f"rubric.allowed_roots={fleet.directory}/cache-a")
    fleet.workers.pop().kill()
    fleet.add_worker("a", fleet.daemons[0], options=("--cache-mib", "1"))
    jobs = []
    for i in range(4):
        jobs.append({"id": f"j{i}", **bench.job(PASSING, name=f"c{i}")})
        (bench.root / f"c{i}" / "data").write_bytes(os.urandom(400_000))
    digests = [digest_of(bench.root / f"c{i}") for i in range(4)]
    for i, job in enumerate(jobs):
        done = fleet.run("batch", "--output", tmp_path / f"out{i}", write_jobs(tmp_path / "jobs", [job]))
        assert done.returncode == 0, done.stderr
    assert cached(fleet, "a") == sorted(digests[-2:])


def test_a_worker_is_killed_while_it_fetches(fleet, helped, bench, tmp_path):
    """What it leaves over goes when the next one begins, and the job runs."""
    left = cache_of(fleet, "a") / ".new-0123456789abcdef"
    left.mkdir(parents=True)
    (left / "rubric.py").write_text("half")
    open_up(cache_of(fleet, "a"))
    add_host(fleet, "a", f"rubric.allowed_roots={fleet.directory}/cache-a")
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **helped}])
    assert fleet.run("batch", "--output", tmp_path / "out", jobs).returncode == 0
    assert cached(fleet, "a") == [digest_of(bench.root / "h")]
