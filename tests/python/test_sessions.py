# SPDX-License-Identifier: MIT
"""Sessions of the Python package, and the sandbox for Inspect that is made of them."""

import array
import asyncio
import importlib
import inspect
import json
import os

import pytest
import rubricd
from conftest import event, run

MIB = 1 << 20


def connect(daemon, **options):
    return rubricd.connect(str(daemon.socket), **options)


def test_a_session_with_async(daemon):
    async def work():
        async with connect(daemon) as grader:
            async with grader.session(env={"NAME": "x"}, limits={"memory_bytes": 1 << 28}) as session:
                assert session.limits["memory_bytes"] == 1 << 28
                await session.write("a/b", "text\n", mode=0o600)
                command = await session.exec(["sh", "-c", 'cat a/b; echo "$NAME$MORE" >&2; cat'], env={"MORE": "y"}, input="in")
                assert command.success and command.exit_code == 0
                assert (command.stdout, command.stderr) == (b"text\nin", b"xy\n")
                assert await session.read("a/b") == b"text\n"
                failed = await session.exec(["sh", "-c", "exit 3"], cwd="a")
                assert (failed.success, failed.exit_code) == (False, 3)
                slow = await session.exec(["sleep", "1000"], timeout=0.3)
                assert slow.limit_exceeded == "wall_clock" and not slow.success
            with pytest.raises(rubricd.SessionClosed, match="closed"):
                await session.exec(["true"])

    run(work())


def test_a_session_without_async(daemon):
    with connect(daemon) as grader, grader.session() as session:
        session.write("file", b"\0\1")
        assert session.read("file") == b"\0\1"
        assert session.exec(["wc", "-c", "file"]).stdout == b"2 file\n"
        with pytest.raises(FileNotFoundError, match="No such file or directory: 'missing'") as missing:
            session.read("missing")
        assert missing.value.filename == "missing"
        with pytest.raises(IsADirectoryError):
            session.read(".")
        with pytest.raises(rubricd.InvalidJob, match="exec.argv"):
            session.exec([1 << 70])
        with pytest.raises(rubricd.InvalidJob, match="exec.argv: expected a list of words"):
            session.exec("wc -c file")


@pytest.mark.parametrize("value", [5, None, 1.5, [1, 2]])
def test_what_has_no_bytes_is_not_written(daemon, value):
    """bytes(5) are five NULs, and bytes([1, 2]) are two bytes."""
    why = f"expected str or bytes, got {type(value).__name__}$"
    with connect(daemon) as grader, grader.session() as session:
        with pytest.raises(TypeError, match=f"^data: {why}"):
            session.write("x", value)
        with pytest.raises(FileNotFoundError):
            session.read("x")
        if value is not None:
            with pytest.raises(TypeError, match=f"^input: {why}"):
                session.exec(["cat"], input=value)
        for data in (bytearray(b"ab"), memoryview(b"ab"), array.array("B", b"ab"), "ab"):
            session.write("x", data)
            assert session.read("x") == b"ab" == session.exec(["cat"], input=data).stdout


def test_output_comes_while_a_command_runs(daemon):
    async def work():
        async with connect(daemon) as grader, grader.session() as session:
            seen = []
            running = asyncio.ensure_future(
                session.exec(["sh", "-c", "echo one; sleep 1000"], on_output=lambda *what: seen.append(what))
            )
            await event(lambda: seen, "output")
            assert seen == [("stdout", b"one\n")] and not running.done()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            # What is killed may take a moment to die on a busy host. run() has a deadline.
            while (await session.exec(["pgrep", "-fx", "sleep 1000"])).exit_code != 1:
                pass

    run(work())


def test_what_on_output_raises_ends_the_command_alone(daemon):
    async def work():
        def fail(stream, data):
            raise ValueError("not this")

        async with connect(daemon) as grader, grader.session() as session:
            job = asyncio.ensure_future(grader.run(["/bin/sh", "-c", "sleep 0.5; echo over"]))
            with pytest.raises(ValueError, match="not this"):
                await session.exec(["sh", "-c", "while :; do echo x; sleep 0.1; done"], on_output=fail)
            assert (await session.exec(["echo", "there"])).stdout == b"there\n"
            assert (await job).passed

    run(work())


def test_a_session_that_nobody_waits_for_is_closed(start_daemon):
    daemon = start_daemon("session.max=1")

    async def work():
        async with connect(daemon) as grader:
            for turns in range(4):
                opening = asyncio.ensure_future(grader.session().__aenter__())
                for _ in range(turns):
                    await asyncio.sleep(0)
                opening.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await opening
                # There is room for this one only if no other is open.
                async with grader.session(wait=20) as session:
                    assert (await session.exec(["true"])).success

    run(work())


def test_commands_of_one_session_take_turns(daemon):
    async def work():
        async with connect(daemon) as grader, grader.session() as session:
            script = "mkdir lock && sleep 0.02 && rmdir lock"
            commands = [session.exec(["sh", "-c", script]) for _ in range(20)]
            assert all(command.success for command in await asyncio.gather(*commands))

    run(work())


def test_a_large_file_goes_in_parts(start_daemon):
    daemon = start_daemon("protocol.max_frame=2M")
    content = os.urandom(7 * MIB + 1)
    with connect(daemon) as grader, grader.session() as session:
        session.write("large", content)
        assert session.read("large") == content
        with pytest.raises(OSError) as caught:
            session.write("larger", bytes(101 * MIB))
        assert "File too large" in str(caught.value)


def test_room_for_a_session_is_waited_for(start_daemon):
    daemon = start_daemon("session.max=1")

    async def work():
        async with connect(daemon) as grader:
            first = await grader.session()
            with pytest.raises(rubricd.JobError) as caught:
                await grader.session()
            assert caught.value.code == "too_many_sessions" and caught.value.retriable
            second = asyncio.ensure_future(grader.session(wait=None).__aenter__())
            await first.close()
            session = await second
            assert (await session.exec(["true"])).success
            await session.close()

    run(work())


def test_the_end_of_a_session_is_told(daemon):
    async def work():
        async with connect(daemon) as grader:
            session = await grader.session(idle=0.5)
            await event(lambda: session.end_reason, "its end")
            with pytest.raises(rubricd.SessionClosed) as caught:
                await session.exec(["true"])
            assert caught.value.reason == "idle"
            session = await grader.session(lease=0.5)
            with pytest.raises(rubricd.SessionClosed):
                await session.exec(["sleep", "1000"])

    run(work())


def test_a_lost_daemon_ends_sessions(start_daemon):
    daemon = start_daemon()

    async def work():
        async with connect(daemon, reconnect=0) as grader:
            session = await grader.session()
            running = asyncio.ensure_future(session.exec(["sleep", "1000"]))
            await asyncio.sleep(0)
            daemon.process.kill()
            with pytest.raises(rubricd.NoDaemon):
                await running
            with pytest.raises(rubricd.SessionClosed, match="lost"):
                await session.read("x")

    run(work())
    daemon.process.wait()


# --- Inspect -------------------------------------------------------------------------------------


@pytest.fixture
def sandbox(standins, daemon):
    """The class that Inspect finds as "rubricd", connected to a daemon."""
    importlib.import_module("rubricd.inspect")  # registers it
    from inspect_ai.util import SANDBOXES

    rubricd.configure(socket=str(daemon.socket))
    yield SANDBOXES["rubricd"]
    rubricd.configure()


def test_the_sandbox_has_inspects_signatures(sandbox):
    from inspect_ai.util import SandboxEnvironment

    for name in ("exec", "write_file", "read_file", "sample_init", "sample_cleanup"):
        ours, theirs = (inspect.signature(getattr(cls, name)) for cls in (sandbox, SandboxEnvironment))
        assert list(ours.parameters) == list(theirs.parameters), name
        assert [p.default for p in ours.parameters.values()] == [p.default for p in theirs.parameters.values()]


def test_a_sample_as_inspect_runs_it(sandbox, daemon, tmp_path):
    config = tmp_path / "limits.json"
    config.write_text(json.dumps({"limits": {"disk_bytes": 4 * MIB}, "env": {"NAME": "x"}}))

    async def work():
        environments = await sandbox.sample_init("task", str(config), {})
        assert list(environments) == ["default"]
        environment = environments["default"]
        await environment.write_file("src/main.py", "import sys; print(sys.stdin.read() * 2)")
        done = await environment.exec(["python3", "src/main.py"], input="ab", timeout=20)
        assert (done.success, done.returncode, done.stdout, done.stderr) == (True, 0, "abab\n", "")
        failed = await environment.exec(["sh", "-c", 'echo "$NAME" >&2; pwd; exit 4'], cwd="src")
        assert (failed.success, failed.returncode, failed.stderr) == (False, 4, "x\n")
        assert failed.stdout.rstrip().endswith("src")
        assert (await environment.exec(["no-such-program"])).returncode == 127
        assert (await environment.exec(["sh", "-c", "kill -9 $$"])).returncode == 137
        assert await environment.read_file("src/main.py", text=False) == b"import sys; print(sys.stdin.read() * 2)"
        await environment.write_file("text", "a\r\nb")
        assert await environment.read_file("text") == "a\r\nb"
        with pytest.raises(FileNotFoundError):
            await environment.read_file("missing")
        with pytest.raises(IsADirectoryError):
            await environment.read_file("src")
        with pytest.raises(IsADirectoryError):
            await environment.write_file("src", "")
        with pytest.raises(PermissionError):
            await environment.exec(["./text"])
        with pytest.raises(TimeoutError):
            await environment.exec(["sleep", "1000"], timeout=1)
        await environment.write_file("binary", b"\xff")
        with pytest.raises(UnicodeDecodeError):
            await environment.read_file("binary")
        # A directory of the host's has no size, but its files have one.
        with pytest.raises(OSError, match="No space left" if daemon.has_view() else "File too large"):
            await environment.write_file("large", bytes(5 * MIB))
        with pytest.warns(UserWarning, match="one user"):
            await environment.exec(["true"], user="root")
        await sandbox.sample_cleanup("task", str(config), environments, False)
        with daemon.connect() as client:
            assert client.status()["sessions"]["open"] == 0

    run(work())


def test_what_the_sandbox_refuses(sandbox, tmp_path):
    from inspect_ai.util import OutputLimitExceededError

    async def work():
        environments = await sandbox.sample_init("task", None, {})
        environment = environments["default"]
        with pytest.raises(OutputLimitExceededError) as caught:
            await environment.exec(["yes"])
        assert caught.value.truncated_output.startswith("y\ny\n")
        await environment.exec(["truncate", "-s", "101M", "large"])
        with pytest.raises(OutputLimitExceededError):
            await environment.read_file("large")
        await sandbox.sample_cleanup("task", None, environments, True)
        (tmp_path / "wrong.json").write_text('{"memory": 1}')
        with pytest.raises(ValueError, match="unknown option memory"):
            await sandbox.sample_init("task", str(tmp_path / "wrong.json"), {})

    run(work())


def test_a_missing_file_is_missing_on_a_full_disk_too(daemon):
    if not daemon.has_view():
        pytest.skip("without the layer mount_namespace no directory of a session is ever full")
    with rubricd.connect(str(daemon.socket)) as grader, grader.session(limits={"disk_bytes": 1 << 20}) as session:
        session.exec(["sh", "-c", "cat /dev/zero >big; true"])
        with pytest.raises(FileNotFoundError, match="'nope'"):
            session.read("nope")
        with pytest.raises(OSError, match="No space left on device: 'more'"):
            session.write("more", b"x" * 100000)
