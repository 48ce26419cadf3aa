# SPDX-License-Identifier: MIT
"""Sessions: a jail that lives over several commands, which find each other's files and processes.

Theory of operation: the engine hands every message that no job has to `Sessions`, which knows by its
id who waits for it. Commands of one session go one after another (a lock), because the daemon runs no
two at once. When the connection is lost, so are its sessions: there is nothing to submit again."""

import asyncio
import base64
import errno
import os
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, List, Mapping, Optional, Type, Union

from . import _json
from .errors import InvalidJob, JobError, NoDaemon, RubricdError, SessionClosed

if TYPE_CHECKING:
    from ._engine import Engine
    from ._sync import SyncGrader

Message = Mapping[str, Any]
OnOutput = Callable[[str, bytes], None]

CHUNK_MAX = 8 << 20  # bytes of a file that go in one message
FRAME_REST = 64 << 10  # what a message has beside the bytes
FULL_FIRST_S, FULL_MAX_S = 0.05, 2.0  # between two attempts to open a session


@dataclass(frozen=True)
class Command:
    """How a command ended. `exit_code` and `signal` are None if it did not end so; `limit_exceeded` names
    the limit that ended it ("wall_clock", "output", ...)."""

    exit_code: Optional[int]
    signal: Optional[int]
    limit_exceeded: Optional[str]
    stdout: bytes
    stderr: bytes
    wall_clock_ms: int
    cpu_ms: int
    errno: Optional[str] = None

    @property
    def success(self) -> bool:
        """Whether the program exited with 0 and exceeded no limit."""
        return self.exit_code == 0 and self.limit_exceeded is None


class _Waiter:
    """Somebody who waits for an answer, and what a command has written meanwhile."""

    def __init__(self, on_output: Optional[OnOutput]) -> None:
        self.answer: "asyncio.Future[Message]" = asyncio.get_running_loop().create_future()
        self.written: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        self.on_output = on_output
        self.failure: Optional[Exception] = None  # what on_output raised

    def take_output(self, message: Message) -> bool:
        """Returns whether on_output has just failed; it gets nothing more then."""
        stream, data = message["stream"], base64.b64decode(message["base64"])
        if self.failure:
            return False
        if self.on_output:
            try:
                self.on_output(stream, data)
            except Exception as error:  # it is the caller's, and must not reach the connection
                self.failure = error
        elif stream in self.written:
            self.written[stream].append(data)
        return self.failure is not None


class Sessions:
    """The sessions of one connection."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._waiters: Dict[str, _Waiter] = {}
        self._open: Dict[int, "Session"] = {}
        self._serial = 0
        engine.on_other = self._take
        engine.on_disconnect = self._lose

    def _take(self, message: Message) -> bool:
        waiter = self._waiters.get(message.get("id", ""))
        if message["type"] == "session_closed":
            session = self._open.pop(message["session"], None)
            if session:
                session.end_reason = message["reason"]
        if waiter is None:
            return self._give_back(message)
        if message["type"] == "output":
            if waiter.take_output(message):
                self._cancel(message["id"])
        elif not waiter.answer.done():
            waiter.answer.set_result(message)
        return True

    def _give_back(self, message: Message) -> bool:
        """Closes a session that nobody waits for any more. Returns whether MESSAGE is of one."""
        if message["type"] == "session_opened":
            self._serial += 1
            request = {"type": "session_close", "id": f"session:{self._serial}", "session": message["session"]}
            self._engine.send(_json.frame(request))
            return True
        return False

    def _cancel(self, id: str) -> None:
        self._engine.send(_json.frame({"type": "cancel", "id": id}))

    def _lose(self, why: str) -> None:
        for session in self._open.values():
            session.end_reason = "lost"
        self._open.clear()
        for waiter in self._waiters.values():
            if not waiter.answer.done():
                waiter.answer.set_exception(NoDaemon(why))

    async def ask(self, request: Message, on_output: Optional[OnOutput] = None) -> "_Answer":
        """Sends REQUEST with an id of its own, and returns the answer. Cancels a command whose task is
        cancelled, and waits for its end: the session takes no other before."""
        self._serial += 1
        id = f"session:{self._serial}"
        frame = _json.frame({**request, "id": id})
        waiter = self._waiters[id] = _Waiter(on_output)
        try:
            if not self._engine.send(frame):
                raise NoDaemon("there is no connection, and sessions end with theirs")
            try:
                message = await asyncio.shield(waiter.answer)
            except asyncio.CancelledError:
                if request["type"] == "submit" and not waiter.answer.done():
                    self._cancel(id)
                    await asyncio.wait([waiter.answer])
                elif waiter.answer.done() and not waiter.answer.exception():
                    self._give_back(waiter.answer.result())
                raise
        finally:
            del self._waiters[id]
            if waiter.answer.done() and not waiter.answer.cancelled():
                waiter.answer.exception()  # it may be nobody's by now
        if waiter.failure:
            raise waiter.failure
        return _Answer(message, b"".join(waiter.written["stdout"]), b"".join(waiter.written["stderr"]))

    async def open(self, fields: Message, wait: Optional[float]) -> "Session":
        """Opens a session; waits for room for WAIT seconds, or as long as it takes (None)."""
        _json.check(fields, "session")
        loop, delay = asyncio.get_running_loop(), FULL_FIRST_S
        end = None if wait is None else loop.time() + wait
        while True:
            answer = (await self.ask({**fields, "type": "session_open"})).message
            if answer["type"] == "session_opened":
                session = self._open[answer["session"]] = Session(self, self._engine, answer)
                return session
            full = answer.get("code") == "too_many_sessions"
            if not full or (end is not None and loop.time() + delay > end):
                raise _error_of(answer)
            await asyncio.sleep(delay)
            delay = min(delay * 2, FULL_MAX_S)


@dataclass
class _Answer:
    message: Message
    stdout: bytes
    stderr: bytes


def _error_of(message: Message) -> JobError:
    return JobError(message["code"], message["message"], bool(message["retriable"]), message.get("id"))


def _bytes(data: Union[str, bytes], name: str) -> bytes:
    """The bytes of an argument NAME. Those of a number would be that many NULs."""
    if isinstance(data, str):
        return data.encode()
    try:
        return memoryview(data).tobytes()
    except TypeError:
        raise TypeError(f"{name}: expected str or bytes, got {type(data).__name__}") from None


def _content(raw: bytes) -> Dict[str, str]:
    return {"base64": base64.b64encode(raw).decode()}


class Session:
    """A session that is open. Its commands run one after another, whoever calls them."""

    def __init__(self, sessions: Sessions, engine: "Engine", opened: Message) -> None:
        self._sessions = sessions
        self._engine = engine
        self._lock = asyncio.Lock()
        self.number: int = opened["session"]
        self.limits: Mapping[str, Any] = opened["limits"]
        self.lease: float = opened["lease"]
        self.idle: float = opened["idle"]
        self.end_reason: Optional[str] = None  # "lease", "idle", ...; None: it is open

    def _check_open(self) -> None:
        if self.end_reason is not None:
            raise SessionClosed(str(self.number), self.end_reason)

    async def _command(
        self, fields: Mapping[str, Any], on_output: Optional[OnOutput] = None
    ) -> Command:
        job = {"kind": "session", "session": self.number, **fields}
        async with self._lock:
            self._check_open()
            answer = await self._sessions.ask({"type": "submit", "job": job}, on_output)
        message = answer.message
        if message["type"] == "error" and message.get("code") == "session_ended":
            raise SessionClosed(str(self.number), self.end_reason or message["message"])
        if message["type"] == "error":
            raise _error_of(message)
        outcome, usage = message["outcome"], message["usage"]
        return Command(
            exit_code=outcome["exit_code"],
            signal=outcome["signal"],
            limit_exceeded=outcome["limit_exceeded"],
            stdout=answer.stdout,
            stderr=answer.stderr,
            wall_clock_ms=usage["wall_clock_ms"],
            cpu_ms=usage["cpu_ms"],
            errno=message.get("errno"),
        )

    async def exec(
        self,
        argv: List[str],
        *,
        input: Union[None, str, bytes] = None,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        output_bytes: Optional[int] = None,
        on_output: Optional[OnOutput] = None,
    ) -> Command:
        """Runs the program ARGV to its end. With ON_OUTPUT, what it writes goes to on_output(stream,
        data) as it comes, and not into the result; what that raises cancels the command, and comes out
        of here. Raises SessionClosed if the session has ended. If the task is cancelled, so is the
        command."""
        if isinstance(argv, (str, bytes)):
            raise InvalidJob("exec.argv", "expected a list of words; for a shell: ['sh', '-c', text]")
        limits = {"wall_clock": timeout, "output_bytes": output_bytes}
        fields: Dict[str, Any] = {"argv": list(argv)}
        fields["limits"] = {name: value for name, value in limits.items() if value is not None}
        if input is not None:
            fields["stdin"] = _content(_bytes(input, "input"))
        if cwd is not None:
            fields["cwd"] = cwd
        if env:
            fields["env"] = dict(env)
        _json.check(fields, "exec")
        return await self._command(fields, on_output)

    async def write(self, path: str, data: Union[str, bytes], *, mode: Optional[int] = None) -> None:
        """Writes a file of at most 100 MiB, and makes directories that are missing. Raises OSError."""
        raw = _bytes(data, "data")
        room = (int(self._engine.hello["limits"]["max_frame"]) - FRAME_REST) // 4 * 3
        size = max(1, min(CHUNK_MAX, room))
        for start in range(0, max(len(raw), 1), size):
            fields: Dict[str, Any] = {"write": path, "append": start > 0}
            fields["content"] = _content(raw[start : start + size])
            if mode is not None:
                fields["mode"] = mode
            _raise_for(await self._command(fields), path)

    async def read(self, path: str) -> bytes:
        """Returns what a file of at most 100 MiB holds. Raises OSError."""
        command = await self._command({"read": path})
        _raise_for(command, path)
        return command.stdout

    async def close(self) -> None:
        """Ends the session: kills all that runs in it and removes its files. May be called again."""
        if self.end_reason is None:
            request = {"type": "session_close", "session": self.number}
            message = (await self._sessions.ask(request)).message
            self.end_reason = message.get("reason", "closed")

    async def __aenter__(self) -> "Session":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            await self.close()
        except NoDaemon:
            if error is None:
                raise


def _raise_for(command: Command, path: str) -> None:
    if command.success:
        return
    number = getattr(errno, command.errno or "", None)
    # A full disk is evidence for that limit also where the failure is another.
    if number is None and command.limit_exceeded == "disk":
        number = errno.ENOSPC
    if number is None:
        raise RubricdError(f"{path}: not handled: {command.limit_exceeded or command.signal}")
    raise OSError(number, os.strerror(number), path)


class Opening:
    """What Grader.session() returns: `async with` opens the session and closes it, `await` opens it."""

    def __init__(self, sessions: Sessions, fields: Message, wait: Optional[float]) -> None:
        self._sessions = sessions
        self._fields = fields
        self._wait = wait
        self._session: Optional[Session] = None

    def __await__(self) -> Generator[Any, None, Session]:
        return self._sessions.open(self._fields, self._wait).__await__()

    async def __aenter__(self) -> Session:
        self._session = await self._sessions.open(self._fields, self._wait)
        return self._session

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        assert self._session
        await self._session.__aexit__(kind, error, trace)


class SyncSession:
    """The same without async."""

    def __init__(self, grader: "SyncGrader", session: Session) -> None:
        self._grader = grader
        self._session = session

    @property
    def number(self) -> int:
        """The daemon's number for it."""
        return self._session.number

    @property
    def limits(self) -> Mapping[str, Any]:
        """The limits that hold."""
        return self._session.limits

    def exec(self, argv: List[str], **options: Any) -> Command:
        """As Session.exec(). ON_OUTPUT is called in another thread."""
        return self._grader.wait(self._session.exec(argv, **options))

    def write(self, path: str, data: Union[str, bytes], *, mode: Optional[int] = None) -> None:
        """As Session.write()."""
        self._grader.wait(self._session.write(path, data, mode=mode))

    def read(self, path: str) -> bytes:
        """As Session.read()."""
        return self._grader.wait(self._session.read(path))

    def close(self) -> None:
        """As Session.close()."""
        self._grader.wait(self._session.close())

    def __enter__(self) -> "SyncSession":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            self.close()
        except NoDaemon:
            if error is None:
                raise
