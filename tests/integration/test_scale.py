# SPDX-License-Identifier: MIT
"""Many jobs: none is lost, other clients are served in between, and memory stays bounded."""

import json
import shutil
import subprocess
import threading

import pytest
from conftest import BUILD, PASSING, RUBRICCTL

INSTANT = BUILD / "tests" / "instant-rubric"
JOBS = 20_000


def start_batch(daemon, lines, output):
    """Starts rubricctl batch. A thread feeds it through a pipe, so that neither blocks the other."""
    process = subprocess.Popen(
        [RUBRICCTL, "--socket", daemon.socket, "batch", "--quiet", "--output", output, "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )

    def feed():
        with process.stdin:
            for line in lines:
                process.stdin.write(line)

    feeder = threading.Thread(target=feed)
    feeder.start()
    return process, feeder


# This test bounds memory, and sanitizers add to it.
@pytest.mark.once
def test_twenty_thousand_jobs_and_one_more(start_daemon, bench, tmp_path, record_property):
    """During a batch of 20,000 jobs the daemon answers the single jobs of a second client. The bound of
    the queue bounds the daemon's memory."""
    instant = shutil.copy(INSTANT, tmp_path)
    daemon = start_daemon(
        f"rubric.interpreter={instant}",
        f"isolation.readable={instant}",
        "daemon.log_level=warning",
    )
    job = bench.job(PASSING, output={"text": "x" * 1000})
    with daemon.connect() as other:
        before = other.status()["memory"]["rss_bytes"]
        lines = (
            json.dumps({"id": f"job-{i}", **job}).encode() + b"\n" for i in range(JOBS)
        )
        output = tmp_path / "results.jsonl"
        process, feeder = start_batch(daemon, lines, output)

        answered = []
        while other.status()["counters"]["results"] < JOBS * 9 // 10:
            started_at = other.status()["counters"]["results"]
            result = other.run(job, id=f"single-{len(answered)}")
            assert result["type"] == "result" and result["score"]["passed"] is True, result
            answered.append(other.status()["counters"]["results"] - started_at)
        feeder.join()
        errors = process.stderr.read()
        process.wait(300)
        after = other.status()["memory"]

    assert process.returncode == 0, errors
    ids = [json.loads(line)["id"] for line in output.read_text().splitlines()]
    assert sorted(ids) == sorted(f"job-{i}" for i in range(JOBS)), "each id exactly once"

    assert answered, "the batch ended before a single job was submitted"
    answered.sort()
    median = answered[len(answered) // 2]
    record_property("single jobs answered in between", len(answered))
    record_property("batch jobs answered before each, median and most", f"{median}, {answered[-1]}")
    record_property("resident MiB before, and at most", f"{before >> 20}, {after['max_rss_bytes'] >> 20}")
    # With round-robin a single job waits for the running jobs and for its turn, not for the 256 jobs
    # that one client may have queued.
    assert median < 100
    # The queue holds at most 64 MiB, and frames in receipt take at most as much again.
    assert after["max_rss_bytes"] < before + (192 << 20)
