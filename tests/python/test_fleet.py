# SPDX-License-Identifier: MIT
"""The package's own tests of a daemon, against `fleet serve` in front of a fleet; and streams and reconnecting
over it."""


import pytest
from conftest import in_thread, run, shell
from fleet_hosts import need_fleet

need_fleet()

from fleet_serve import FleetDaemon  # noqa: E402
from test_client import (  # noqa: E402, F401
    test_a_cancelled_task_cancels_its_job,
    test_a_source_with_async_and_one_that_fails,
    test_a_stream_raises_or_hands_out_errors,
    test_a_stream_that_is_left_cancels_its_jobs,
    test_an_error_says_which_and_whether_to_try_again,
    test_depth_and_size_are_bounded,
    test_each_kind_with_async,
    test_the_same_without_async,
    test_threads_share_a_grader,
    test_what_json_can_hold_arrives,
)

import rubricd  # noqa: E402


@pytest.fixture
def daemon(tmp_path):
    directory = tmp_path / "fleet-daemon"
    directory.mkdir()
    daemon = FleetDaemon(directory)
    yield daemon
    assert daemon.stop() == 0, daemon.log()


def test_a_stream_over_a_restart_of_serve(daemon):
    """Each job has its result, though the one at the other end is killed and comes back."""

    async def work():
        async with rubricd.connect(str(daemon.socket)) as grader:
            seen = {}
            jobs = [shell(f"sleep 0.02; echo {i}") for i in range(150)]
            killed = False
            async for result in grader.stream(jobs):
                seen[result.id] = result.stdout
                if len(seen) == 20 and not killed:
                    killed = True
                    await in_thread(daemon.serve.kill)
                    await in_thread(daemon.serve.start)
            return seen

    seen = run(work())
    assert sorted(seen.values()) == sorted(f"{i}\n" for i in range(150))


def test_a_stream_over_a_restart_of_the_queue(daemon):
    async def work():
        async with rubricd.connect(str(daemon.socket)) as grader:
            seen = []
            async for result in grader.stream([shell(f"sleep 0.02; echo {i}") for i in range(150)]):
                seen.append(result.stdout)
                if len(seen) == 20:
                    await in_thread(daemon.fleet.server.stop)
                    await in_thread(daemon.fleet.server.start)
            return seen

    assert sorted(run(work())) == sorted(f"{i}\n" for i in range(150))
