#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a fleet costs, on one machine: how the rate grows with the workers, what a job costs beside the local
socket, and whether the length of the queue matters.

    RUBRICD_BUILD=$PWD/build tests/bench/fleet.py [--sleep SECONDS] [--jobs N] [--queued N]

The jobs sleep, so that neither the processors nor the jails limit the first table. Each row of the second one
runs jobs that do nothing on one worker with one slot; the queue holds jobs of another run that nobody may take
(they ask for another isolation digest). Compare rows of one run alone: machines differ."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from conftest import RUBRICCTL, wait_until  # noqa: E402
from fleet_hosts import Fleet, write_jobs  # noqa: E402

SLOTS = 4


def seconds_of(command):
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return time.monotonic() - began


def batch_of(fleet, jobs, *more):
    return [RUBRICCTL, "fleet", "batch", "--server", fleet.server.url, "--quiet", "--force", "--output", fleet.directory / "out", *more, jobs]


def sleepers(fleet, n, seconds):
    job = {"kind": "sandbox", "argv": ["/bin/sleep", str(seconds)]}
    return write_jobs(fleet.directory / "jobs", [{"id": f"j{i}", **job} for i in range(n)])


def measure_workers(fleet, options):
    """The rate over 1, 2 and 3 workers, and its ratio to as many times that of one."""
    print(f"workers  jobs/s  of n times one   (jobs sleep {options.sleep} s, {SLOTS} slots a worker)")
    first = None
    for n in range(1, 4):
        fleet.add_host(f"w{n}", slots=SLOTS)
        count = n * options.jobs
        rate = count / seconds_of(batch_of(fleet, sleepers(fleet, count, options.sleep)))
        first = first or rate
        print(f"{n:7}  {rate:6.1f}  {rate / (n * first):6.3f}", flush=True)


def fill(fleet, n):
    """Queues N jobs of another run, for daemons that there are none of."""
    with fleet.server.connect() as nats:
        config = {"durable_name": "other-p10", "ack_policy": "explicit", "max_deliver": -1, "description": "none",
                  "filter_subject": "rubricd.jobs.other.p10.>"}  # fmt: skip
        nats.ask("CONSUMER.DURABLE.CREATE.rubricd-jobs.other-p10", stream_name="rubricd-jobs", config=config)
        have = nats.ask("STREAM.INFO.rubricd-jobs")["state"]["messages"]
        for i in range(have, n):
            nats.publish(f"rubricd.jobs.other.p10.j{i}", b'{"kind":"sandbox","argv":["/bin/true"]}')
        wait_until(lambda: nats.ask("STREAM.INFO.rubricd-jobs")["state"]["messages"] >= n, f"{n} jobs are queued", 600)


def peak_mib(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure_cost(fleet, options):
    """Milliseconds for a job on one slot, on the local socket and through the fleet."""
    worker = fleet.add_host("single", slots=1)
    jobs = write_jobs(fleet.directory / "jobs", [{"id": f"j{i}", "kind": "sandbox", "argv": ["/bin/true"]} for i in range(options.jobs * 4)])
    count = options.jobs * 4
    local = [RUBRICCTL, "--socket", fleet.daemons[-1].socket, "batch", "--quiet", "--force", "--output", fleet.directory / "out", jobs]
    print(f"\n{'':24} ms/job   worker's peak memory   (one slot, {count} jobs that do nothing)")
    print(f"{'local socket':24} {1000 * seconds_of(local) / count:6.2f}")
    for queued in options.queued:
        fill(fleet, queued)
        cost = 1000 * seconds_of(batch_of(fleet, jobs)) / count
        print(f"{f'fleet, {queued} queued':24} {cost:6.2f}   {peak_mib(worker.process.pid):6.1f} MiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--sleep", type=float, default=0.2, help="seconds of a job of the first table")
    parser.add_argument("--jobs", type=int, default=100, help="jobs of the first table for each worker")
    parser.add_argument("--queued", type=int, nargs="+", default=[0, 1000, 100000], help="jobs of another run in the queue")
    options = parser.parse_args()
    for measure in (measure_workers, measure_cost):
        with tempfile.TemporaryDirectory(prefix="rubricd-fleet-bench-") as directory:
            Path(directory).chmod(0o755)
            fleet = Fleet(directory)
            try:
                measure(fleet, options)
            finally:
                fleet.close()


if __name__ == "__main__":
    main()
