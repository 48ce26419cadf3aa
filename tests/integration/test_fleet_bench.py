# SPDX-License-Identifier: MIT
"""Rubrics in a fleet: a job runs with the rubric that it names on every host, or says that none has it."""

import errno
import hashlib
import json
import os
import shutil

import pytest
from conftest import DEADLINE, PASSING, open_up, wait_until
from fleet_hosts import (
    make_fleet,  # noqa: F401
    need_fleet,
    read_results,
    write_jobs,
)
from fleet_serve import Serve
from test_rubric_digest import digest_of

pytestmark = pytest.mark.cold

need_fleet()

# Fails unless its helper says that it is the right one.
HELPED = """
import json, os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
import helper
print(json.dumps({"passed": helper.GOOD, "score": 1, "breakdown": {}, "failure_modes": []}))
"""

# Waits until the test closes the gate, if there is one.
WAITS_AT_GATE = """
gate = os.path.dirname(__file__) + "/../gate"
if os.path.exists(gate):
    open(gate, "rb").read()
"""


def open_gate(path):
    """Returns a descriptor once a job waits at PATH, and None before."""
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        assert error.errno == errno.ENXIO
        return None


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


def test_the_bench_is_elsewhere_when_the_run_is_taken_up(fleet, bench, tmp_path):
    """The rubric is the same, byte for byte, but what lies beside it may differ: its jobs run again."""
    job = bench.job("import time\nprint('{\"passed\": true, \"score\": 1, \"breakdown\": {\"at\": %r}, \"failure_modes\": []}' % time.time())", name="h")
    add_host(fleet, "a", f"rubric.bench_root={bench.root}")
    first = fleet.run("batch", "--run", "r", "--output", tmp_path / "1", write_jobs(tmp_path / "jobs", [{"id": "x", **job}]))
    shutil.copytree(bench.root, tmp_path / "moved")
    job["bench_root"] = str(tmp_path / "moved")
    again = fleet.run("batch", "--run", "r", "--output", tmp_path / "2", write_jobs(tmp_path / "jobs", [{"id": "x", **job}]))
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert read_results(tmp_path / "1")["x"]["score"]["breakdown"]["at"] < read_results(tmp_path / "2")["x"]["score"]["breakdown"]["at"]
    third = fleet.run("batch", "--run", "r", "--output", tmp_path / "3", tmp_path / "jobs")
    assert third.returncode == 0 and read_results(tmp_path / "3")["x"]["score"] == read_results(tmp_path / "2")["x"]["score"]


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


def test_hand_backs_for_other_reasons_do_not_count(fleet, helped, bench, tmp_path):
    """A job that was delivered often before it met a host without its rubric is not given up there: the rubric may come,
    and it does."""
    worker = add_host(fleet, "a")
    worker.kill()
    digest = digest_of(bench.root / "h")
    later = shutil.copytree(bench.root, tmp_path / "later")
    (bench.root / "h" / "lib" / "helper.py").write_text("GOOD = False\n")
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **helped, "rubric_digest": digest}])
    batch = fleet.start("batch", "--run", "r", "--retries", "0", "--output", tmp_path / "out", jobs)
    with fleet.server.connect() as nats:
        wait_until(lambda: nats.counts("jobs"), "the job is queued")
        wait_until(lambda: nats.ask("CONSUMER.INFO.rubricd-jobs.r-p10").get("name"), "its consumer is there")
        for _ in range(25):
            nats.hand_back("r-p10")

        def tries():
            return json.loads(nats.last("marks", "rubricd.marks.r.x") or "{}").get("without_rubric", 0)

        worker.start()
        wait_until(lambda: tries() or batch.poll() is not None, "the worker has handed it back")
    assert fleet.run("push-bench", later).returncode == 0
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert read_results(tmp_path / "out")["x"]["score"]["passed"]


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


def test_a_file_of_the_cache_was_deleted(fleet, helped, bench, tmp_path):
    """A cleaner of temporary files may take any file out of a copy."""
    add_host(fleet, "a", f"rubric.allowed_roots={fleet.directory}/cache-a")
    digest = digest_of(bench.root / "h")
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **helped}])
    assert fleet.run("batch", "--output", tmp_path / "0", jobs).returncode == 0
    for name in ("rubric.py", "lib/helper.py"):
        (cache_of(fleet, "a") / digest / "h" / name).unlink()
        out = tmp_path / name.replace("/", "-")
        done = fleet.run("batch", "--retries", "0", "--output", out, jobs)
        assert done.returncode == 0, (name, done.stderr, read_results(out))
        assert read_results(out)["x"]["score"]["passed"]
        assert digest_of(cache_of(fleet, "a") / digest / "h") == digest
        assert cached(fleet, "a") == [digest], "the damaged copy is gone"


def test_a_copy_that_is_in_use_was_changed(fleet, bench, tmp_path):
    """While a job runs with a copy, another one finds it changed, and gets a fresh one all the same."""
    add_host(fleet, "a", f"rubric.allowed_roots={fleet.directory}/cache-a")
    bench.rubric(HELPED + WAITS_AT_GATE, name="h")
    (bench.root / "h" / "lib").mkdir()
    (bench.root / "h" / "lib" / "helper.py").write_text("GOOD = True\n")
    digest = digest_of(bench.root / "h")
    copy = cache_of(fleet, "a") / digest
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **bench.job(name="h")}])
    assert fleet.run("batch", "--output", tmp_path / "0", jobs).returncode == 0
    os.mkfifo(copy / "gate", 0o644)
    (copy / "gate").chmod(0o644)
    first = fleet.start("batch", "--output", tmp_path / "1", jobs)
    gate = wait_until(lambda: open_gate(copy / "gate"), "the first job is at the gate")
    (copy / "h" / "lib" / "helper.py").write_text("GOOD = False\n")
    done = fleet.run("batch", "--retries", "0", "--output", tmp_path / "2", jobs)
    os.close(gate)
    assert done.returncode == 0, (done.stderr, read_results(tmp_path / "2"))
    assert read_results(tmp_path / "2")["x"]["score"]["passed"]
    assert first.wait(DEADLINE) == 0
    assert read_results(tmp_path / "1")["x"]["score"]["passed"]
    assert digest_of(copy / "h") == digest


def test_the_cache_is_removed(fleet, helped, bench, tmp_path):
    """The worker makes it again, and what has the name of a copy and is none makes way."""
    add_host(fleet, "a", f"rubric.allowed_roots={fleet.directory}/cache-a")
    digest = digest_of(bench.root / "h")
    place = cache_of(fleet, "a") / digest
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **helped}])
    (tmp_path / "elsewhere").mkdir()
    for i, spoil in enumerate(
        (
            lambda: shutil.rmtree(cache_of(fleet, "a")),
            lambda: (shutil.rmtree(place), place.write_text("")),
            lambda: (shutil.rmtree(place), place.symlink_to(tmp_path / "elsewhere")),
        )
    ):
        spoil()
        done = fleet.run("batch", "--output", tmp_path / f"out{i}", jobs)
        assert done.returncode == 0, (i, done.stderr)
        assert read_results(tmp_path / f"out{i}")["x"]["score"]["passed"]
        assert digest_of(place / "h") == digest
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_cache_cannot_hold_it(fleet, helped, tmp_path):
    """That is the host's trouble: the worker complains, and nobody is told to push what is there."""
    add_host(fleet, "a", f"rubric.allowed_roots={fleet.directory}/cache-a")
    shutil.rmtree(cache_of(fleet, "a"))
    cache_of(fleet, "a").write_text("")
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **helped}])
    done = fleet.run("batch", "--retries", "0", "--output", tmp_path / "out", jobs)
    assert done.returncode == 4, done.stderr
    error = read_results(tmp_path / "out")["x"]
    assert (error["code"], error["retriable"]) == ("internal", True)
    assert "the last one is a (" in error["message"] and "Not a directory" in error["message"]
    assert "push-bench" not in error["message"]
    assert "the rubric of h cannot run here: " in fleet.workers[0].log()


def store_directory(fleet, file):
    """Stores a rubric's directory that has FILE alone, whatever its name, and returns its digest."""
    content = hashlib.sha256(b"x").hexdigest()
    manifest = f"rubric-directory 1\n{content} 1 - {file}\n".encode()
    digest = hashlib.sha256(manifest).hexdigest()
    with fleet.server.connect() as nats:
        nats.request(f"rubricd.inputs.{digest}.0", manifest)
        nats.request(f"rubricd.inputs.{content}.0", b"x")
    return digest


def test_a_copy_that_the_daemon_cannot_use(fleet, helped, tmp_path):
    """A directory without a rubric is fetched in vain: the job goes back, and the error says why."""
    add_host(fleet, "a", f"rubric.allowed_roots={fleet.directory}/cache-a")
    name = store_directory(fleet, "other.py")
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **helped, "rubric_digest": name}])
    done = fleet.run("batch", "--retries", "0", "--output", tmp_path / "out", jobs)
    assert done.returncode == 4, done.stderr
    error = read_results(tmp_path / "out")["x"]
    assert (error["code"], error["retriable"]) == ("internal", True)
    assert "the daemon cannot use the copy that was fetched: not_permitted: " in error["message"]


def test_a_cache_that_others_may_change_or_not_read(fleet, tmp_path):
    """Whoever may write to the cache chooses what jobs run; who may not enter it cannot run them."""
    cache = cache_of(fleet, "a")
    cache.mkdir()
    cache.chmod(0o777)
    done = fleet.run("worker", "--name", "a", "--socket", tmp_path / "none", "--cache", cache)
    assert done.returncode != 0
    assert f"{cache}: others may write to it (mode 0777)" in done.stderr
    cache.chmod(0o700)
    worker = add_host(fleet, "a")
    assert f"{cache} may not be entered by other accounts" in worker.log()


def test_a_name_that_leads_out_of_the_cache(fleet, helped, bench, tmp_path):
    """Whoever may publish jobs does not choose where the worker writes."""
    add_host(fleet, "a")
    digest = digest_of(bench.root / "h")
    # What a front would never send: the list of a directory with a name that leads out of it.
    name = store_directory(fleet, "../../../evil")
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
    cache_of(fleet, "a").chmod(0o755)
    (left / "rubric.py").write_text("half")
    open_up(cache_of(fleet, "a"))
    add_host(fleet, "a", f"rubric.allowed_roots={fleet.directory}/cache-a")
    jobs = write_jobs(tmp_path / "jobs", [{"id": "x", **helped}])
    assert fleet.run("batch", "--output", tmp_path / "out", jobs).returncode == 0
    assert cached(fleet, "a") == [digest_of(bench.root / "h")]
