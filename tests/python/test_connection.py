# SPDX-License-Identifier: MIT
"""A daemon that goes away, answers with errors or reads slowly: every job gets exactly one answer, and what
is in flight is bounded. The stand-in is a daemon that the test scripts message by message."""

import asyncio
import base64
import itertools
from collections import Counter

import pytest
import rubricd
from batches import error, result, timed_out
from conftest import Daemon, event, in_thread, run, shell


def answer(id, **fields):
    return result(id, **fields)


async def connected(daemon_here, **options):
    """Returns a grader and the stand-in's end of its connection."""
    accepting = asyncio.ensure_future(in_thread(daemon_here.accept))
    grader = await rubricd.connect(str(daemon_here.socket), **options).open()
    return grader, await accepting


@pytest.fixture(name="directory")
def make_directory(tmp_path):
    directory = tmp_path / "d"
    directory.mkdir()
    return directory


def test_killed_in_the_middle_of_a_stream(directory):
    """Each job has one result, whichever daemon ran it, and none is handed out twice."""
    jobs, kills = 1500, (100, 500, 900)
    daemons = [Daemon(directory)]

    def restart():
        daemons[-1].process.kill()
        daemons[-1].process.wait()
        daemons[-1].log_file.close()
        daemons.append(Daemon(directory))

    async def work():
        seen = Counter()
        async with rubricd.connect(str(daemons[0].socket)) as grader:
            async for found in grader.stream(shell(f"echo {n}", id=f"j{n}") for n in range(jobs)):
                assert found.stdout == f"{found.id[1:]}\n"
                seen[found.id] += 1
                if sum(seen.values()) in kills:
                    await in_thread(restart)
        return seen

    try:
        assert run(work()) == {f"j{n}": 1 for n in range(jobs)}
        assert len(daemons) == 1 + len(kills)
    finally:
        assert daemons[-1].stop() == 0


def test_a_daemon_that_drains(daemon_here):
    """What it answers with `draining`, or not at all, goes to the next one; what it answered does not."""

    async def work():
        grader, first = await connected(daemon_here)
        tasks = [asyncio.ensure_future(grader.submit(shell("true", id=name))) for name in "abc"]
        a, b, c = await in_thread(first.jobs, 3)
        first.send(error(a, "draining"), answer(b), {"type": "bye", "reason": "draining", "message": "m"})
        accepting = asyncio.ensure_future(in_thread(daemon_here.accept))
        first.close()
        second = await accepting
        again = await in_thread(second.jobs, 2)
        assert sorted(again) == sorted([a, c])
        second.send(*map(answer, again))
        assert [each.id for each in await asyncio.gather(*tasks)] == ["a", "b", "c"]
        await grader.close()

    run(work())


def test_nobody_comes_back(daemon_here):
    async def work():
        grader, peer = await connected(daemon_here, reconnect=0.2)
        waiting = asyncio.ensure_future(grader.submit(shell("true")))
        await in_thread(peer.jobs, 1)
        daemon_here.listener.close()
        peer.close()
        with pytest.raises(rubricd.NoDaemon, match="no rubricd listens on"):
            await waiting
        await grader.close()

    run(work())


def test_retriable_errors_are_retried(daemon_here):
    """Twice by default; then the caller gets the error. Others are not."""

    async def work():
        grader, peer = await connected(daemon_here)
        tasks = [asyncio.ensure_future(grader.submit(shell("true", id=name))) for name in "abc"]
        a, b, c = await in_thread(peer.jobs, 3)
        peer.send(error(a), error(b), error(c, "not_permitted", retriable=False))
        for again in range(2):
            assert sorted(await in_thread(peer.jobs, 2 - again)) == [a, b][: 2 - again]
            peer.send(error(a), *([] if again else [answer(b)]))
        with pytest.raises(rubricd.JobError) as failed:
            await tasks[0]
        assert (failed.value.code, failed.value.retriable, failed.value.id) == ("sandbox_failed", True, "a")
        assert (await tasks[1]).attempts == 2
        with pytest.raises(rubricd.JobError, match="not_permitted"):
            await tasks[2]
        await grader.close()

    run(work())


def test_a_starved_job_runs_once_more_and_alone(daemon_here):
    async def work():
        grader, peer = await connected(daemon_here)
        tasks = [asyncio.ensure_future(grader.submit(shell("true", id=name))) for name in "abc"]
        a, b, c = await in_thread(peer.jobs, 3)
        peer.send(error(a, "starved"), timed_out(b, wait_ms=600))
        reading = asyncio.ensure_future(in_thread(peer.jobs, 1))
        await event(lambda: len(grader._engine._starved) == 2, "both answers were read")
        assert not reading.done(), "nothing is sent while another job is in flight"
        peer.send(answer(c))
        assert await reading == [a]
        later = asyncio.ensure_future(grader.submit(shell("true", id="later")))
        peer.send(answer(a))
        assert await in_thread(peer.jobs, 1) == [b]
        peer.send(timed_out(b, wait_ms=600))  # counts, the second time
        (d,) = await in_thread(peer.jobs, 1)
        peer.send(answer(d))
        found = await asyncio.gather(*tasks, later)
        assert [(each.id, each.passed, each.attempts) for each in found] == [
            ("a", True, 2), ("b", False, 2), ("c", True, 1), ("later", True, 1),
        ]  # fmt: skip
        await grader.close()

    run(work())


def test_the_window_bounds_what_is_in_flight_and_what_is_read_ahead(daemon_here):
    """A slow reader of results stops the source of jobs, not only the daemon."""
    taken = []

    def source():
        for n in itertools.count():
            taken.append(n)
            yield shell("true")

    async def work():
        grader, peer = await connected(daemon_here, window=4)
        results = grader.stream(source())
        first = asyncio.ensure_future(results.__anext__())
        ids = await in_thread(peer.jobs, 4)
        assert len(taken) <= 5, "the fifth waits for room"
        peer.send(*map(answer, ids))
        assert (await first).id == "0"
        ids = await in_thread(peer.jobs, 1)
        peer.send(*map(answer, ids))
        await event(lambda: not grader._engine.pending, "all were answered")
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(taken) <= 6, "three results are not taken, and one was read"
        assert (await results.__anext__()).id == "1"
        await in_thread(peer.jobs, 1)
        await results.aclose()
        await grader.close()

    run(work())


def test_the_window_is_at_most_what_the_daemon_queues(daemon_here):
    async def work():
        accepting = asyncio.ensure_future(in_thread(daemon_here.accept, jobs_per_client=3))
        async with rubricd.connect(str(daemon_here.socket)) as grader:
            peer = await accepting
            tasks = [asyncio.ensure_future(grader.submit(shell("true"))) for _ in range(5)]
            ids = await in_thread(peer.jobs, 3)
            await event(lambda: len(grader._engine._waiters) == 2, "two wait for room")
            tasks[3].cancel()
            peer.send(answer(ids[0]))
            (last,) = await in_thread(peer.jobs, 1)
            peer.send(*map(answer, [*ids[1:], last]))
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert [isinstance(each, rubricd.Result) for each in ended] == [True, True, True, False, True]

    run(work())


def test_a_late_answer_to_a_cancelled_job_finds_nobody(daemon_here):
    """The same id again is another job."""

    async def work():
        grader, peer = await connected(daemon_here)
        first = asyncio.ensure_future(grader.submit(shell("true", id="x")))
        (old,) = await in_thread(peer.jobs, 1)
        first.cancel()
        assert await in_thread(peer.cancelled, 1) == [old]
        second = asyncio.ensure_future(grader.submit(shell("true", id="x")))
        (new,) = await in_thread(peer.jobs, 1)
        assert new != old
        peer.send(answer(old, passed=False), answer(new), error(old, "bad_request", retriable=False))
        assert (await second).passed
        await grader.close()

    run(work())


def test_what_it_does_not_know_is_ignored(daemon_here):
    async def work():
        grader, peer = await connected(daemon_here)
        waiting = asyncio.ensure_future(grader.submit(shell("true")))
        (id,) = await in_thread(peer.jobs, 1)
        strange = {**answer(id), "colour": "blue", "usage": {**answer(id)["usage"], "taste": 1}}
        peer.send({"type": "weather"}, {"type": "started", "id": id, "job_no": 1, "slot": 0}, strange)
        found = await waiting
        assert found.passed and found.raw["colour"] == "blue"
        await grader.close()

    run(work())


@pytest.mark.parametrize(
    "sent, why",
    [
        ({"type": "hello", "protocol": 2, "version": "9"}, "rubricd 9 speaks protocol 2"),
        ({"type": "welcome"}, "what listens there is not rubricd"),
        ({"type": "bye", "reason": "too_many_clients", "message": "m"}, "too_many_clients"),
    ],
)
def test_a_hello_that_is_none(daemon_here, sent, why):
    async def work():
        def accept():
            from batches import Peer

            peer = Peer(daemon_here.listener.accept()[0])
            peer.send(sent)
            peer.close()

        accepting = asyncio.ensure_future(in_thread(accept))
        with pytest.raises(rubricd.NoDaemon, match=why):
            await rubricd.connect(str(daemon_here.socket)).open()
        await accepting

    run(work())


def test_a_broken_message_ends_the_connection_and_no_job(daemon_here):
    """A frame that is not JSON loses the connection; the job goes to the next one."""

    async def work():
        grader, peer = await connected(daemon_here)
        waiting = asyncio.ensure_future(grader.submit(shell("true")))
        await in_thread(peer.jobs, 1)
        accepting = asyncio.ensure_future(in_thread(daemon_here.accept))
        peer.sock.sendall(b"\0\0\0\2{]")
        second = await accepting
        (id,) = await in_thread(second.jobs, 1)
        broken = {name: value for name, value in answer(id).items() if name != "outcome"}
        second.send(broken)
        with pytest.raises(rubricd.ProtocolError, match="malformed: KeyError\\('outcome'\\)"):
            await waiting
        await grader.close()

    run(work())


def output(id, text):
    return {"type": "output", "id": id, "job_no": 1, "stream": "stdout", "base64": base64.b64encode(text).decode()}


def test_a_job_that_has_told_output_does_not_run_again(daemon_here):
    """Neither after an error nor on another connection: its output would come twice."""

    async def work():
        grader, peer = await connected(daemon_here)
        said = []
        tasks = [
            asyncio.ensure_future(grader.submit(shell("echo", id=name), on_output=lambda *piece: said.append(piece)))
            for name in "abcd"
        ]
        a, b, c, d = await in_thread(peer.jobs, 4)
        peer.send(output(a, b"a"), error(a), output(b, b"b"), error(b, "starved"), error(c, "sandbox_failed"))
        for task, code in zip(tasks, ("sandbox_failed", "starved")):
            with pytest.raises(rubricd.JobError) as failed:
                await task
            assert failed.value.code == code
        assert await in_thread(peer.jobs, 1) == [c], "nothing of it was told"
        peer.send(output(c, b"c"), output(d, b""))
        await event(lambda: len(said) == 4, "all output is told")
        accepting = asyncio.ensure_future(in_thread(daemon_here.accept))
        peer.close()
        for task in tasks[2:]:
            with pytest.raises(rubricd.NoDaemon, match="so it does not run again"):
                await task
        assert said == [("stdout", b"a"), ("stdout", b"b"), ("stdout", b"c"), ("stdout", b"")]
        later = asyncio.ensure_future(grader.submit(shell("true", id="e")))
        second = await accepting
        (e,) = await in_thread(second.jobs, 1)
        second.send(answer(e))
        assert (await later).id == "e"
        await grader.close()

    run(work())
