# SPDX-License-Identifier: MIT
"""The public interface with async, and connect(), which has both."""

import asyncio
import os
from types import TracebackType
from typing import (
    Any,
    AsyncIterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Type,
    Union,
    overload,
)

from typing import TYPE_CHECKING, Literal

from . import _embedded, _feed, _session, _wire, jobs as make
from ._engine import Answer, Engine, Entry, OnOutput
from .errors import JobError, NoDaemon
from .results import Result

if TYPE_CHECKING:
    from ._sync import SyncGrader

Errors = Literal["raise", "yield"]

RETRIES_DEFAULT = 2
RECONNECT_DEFAULT_S = 60.0


class Grader:
    """Submits jobs to one daemon, from one event loop. connect() makes it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sessions = _session.Sessions(engine)

    @property
    def hello(self) -> Mapping[str, Any]:
        """What the daemon said first: its version, limits, isolation and interpreter."""
        return self._engine.hello

    async def submit(
        self, job: Mapping[str, Any], *, on_output: Optional[OnOutput] = None
    ) -> Result:
        """Returns the verdict on JOB, as the functions of `rubricd.jobs` make them. Raises JobError if
        the daemon has none, InvalidJob if the job cannot be sent, NoDaemon if the daemon is gone. If
        the task is cancelled, so is the job.

        ON_OUTPUT(stream, data) gets what a sandbox job writes, as it comes; the result has it, too. Once
        it was called, the job does not run again after an error that is retriable, or a lost
        connection: that error is raised. What ON_OUTPUT raises cancels the job."""
        await self._engine.room()
        answered: "asyncio.Future[Answer]" = asyncio.get_running_loop().create_future()

        def done(entry: Entry, answer: Answer) -> None:
            if not answered.done():
                answered.set_result(answer)

        def output(stream: str, data: bytes) -> None:
            assert on_output
            try:
                on_output(stream, data)
            except Exception as error:
                self._engine.withdraw(entry)
                if not answered.done():
                    answered.set_exception(error)

        if on_output and isinstance(job, Mapping):
            job = {**job, "stream": True}
        entry = self._engine.submit(job, done, on_output=output if on_output else None)
        try:
            answer = await answered
        except asyncio.CancelledError:
            self._engine.withdraw(entry)
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def rubric(
        self,
        task_class: str,
        case: Mapping[str, Any],
        harness_output: Mapping[str, Any],
        **options: Any,
    ) -> Result:
        """Grades HARNESS_OUTPUT by a rubric; OPTIONS are those of jobs.rubric()."""
        return await self.submit(make.rubric(task_class, case, harness_output, **options))

    async def code(
        self,
        code: Optional[str] = None,
        *,
        tests: Union[str, Sequence[str]],
        entry_point: Optional[str] = None,
        **options: Any,
    ) -> Result:
        """Tests Python that a model wrote; OPTIONS are those of jobs.code()."""
        return await self.submit(make.code(code, tests=tests, entry_point=entry_point, **options))

    async def program(
        self,
        code: Optional[str] = None,
        *,
        language: str,
        tests: Sequence[make.ProgramTest],
        **options: Any,
    ) -> Result:
        """Compiles a program and runs its tests; OPTIONS are those of jobs.program()."""
        return await self.submit(make.program(code, language=language, tests=tests, **options))

    async def run(
        self,
        argv: List[str],
        *,
        files: Optional[Mapping[str, make.Content]] = None,
        collect: Optional[Sequence[str]] = None,
        on_output: Optional[OnOutput] = None,
        **options: Any,
    ) -> Result:
        """Runs the program ARGV in the sandbox; OPTIONS are those of jobs.sandbox(), and ON_OUTPUT is
        that of submit()."""
        job = make.run(argv, files=files, collect=collect, **options)
        return await self.submit(job, on_output=on_output)

    @overload
    def stream(self, jobs: _feed.Jobs) -> AsyncIterator[Result]: ...

    @overload
    def stream(
        self, jobs: _feed.Jobs, *, errors: Errors
    ) -> AsyncIterator[Union[Result, JobError]]: ...

    async def stream(
        self, jobs: _feed.Jobs, *, errors: Errors = "raise"
    ) -> AsyncIterator[Any]:
        """Yields the results of JOBS, an iterable with or without async, as they come: not in the
        order of the jobs. `id` is a job's own, or else its place, from "0". JOBS is read as far as
        there is room, so it may be endless. A JobError is raised, and cancels the other jobs; with
        errors="yield" it takes its result's place."""
        _feed.check_errors(errors)
        answers = _feed.stream(self._engine, jobs, self._engine.window)
        try:
            async for answer in answers:
                if not _feed.wanted(answer, errors):
                    assert isinstance(answer, Exception)
                    raise answer
                yield answer
        finally:
            await answers.aclose()  # type: ignore[attr-defined]

    def session(
        self,
        *,
        limits: Optional[Mapping[str, Any]] = None,
        env: Optional[Mapping[str, str]] = None,
        lease: Optional[float] = None,
        idle: Optional[float] = None,
        wait: Optional[float] = 0,
    ) -> _session.Opening:
        """Opens a session: `async with grader.session() as session`, or `await grader.session()`. If as
        many are open as may be, waits for WAIT seconds, or as long as it takes (None), and raises
        JobError then."""
        given = {"limits": limits, "env": env, "lease": lease, "idle": idle}
        fields = {name: value for name, value in given.items() if value is not None}
        return _session.Opening(self._sessions, fields, wait)

    async def close(self) -> None:
        """Ends the connection. The daemon kills the jobs that are not answered."""
        await self._engine.close()


class connect:
    """A connection to rubricd, for `async with`, which gives a Grader, or `with`, which gives a
    SyncGrader.

    socket: the daemon's socket; RUBRICD_SOCKET names it otherwise, or it is the service's
    embedded: start a private daemon, which ends with the connection; config and slots are its
    bench_root: where the rubrics of jobs are that name no bench, as with `rubricctl -b`; the daemon reads it
    window: jobs in flight; 256 unless the daemon takes fewer
    retries: how often a job runs again whose error is retriable
    reconnect: seconds to wait for a daemon that went away; what is unanswered is submitted again"""

    def __init__(
        self,
        socket: Optional[str] = None,
        *,
        embedded: bool = False,
        config: Optional[str] = None,
        slots: Optional[int] = None,
        bench_root: Optional[str] = None,
        window: Optional[int] = None,
        retries: int = RETRIES_DEFAULT,
        reconnect: float = RECONNECT_DEFAULT_S,
    ) -> None:
        if embedded and socket is not None:
            raise ValueError("socket: an embedded daemon has none")
        if not embedded and (config is not None or slots is not None):
            raise ValueError("config and slots are for embedded=True: a service has its own")
        if isinstance(slots, int) and not 1 <= slots <= _embedded.SLOTS_MAX:
            raise ValueError(f"slots: expected a number from 1 to {_embedded.SLOTS_MAX}, got {slots}")
        if bench_root is not None and not os.path.isdir(bench_root):
            raise ValueError(f"bench_root: {bench_root} is no directory")
        if window is not None and window < 1:
            raise ValueError(f"window: expected 1 or more, got {window}")
        if retries < 0 or reconnect < 0:
            raise ValueError("retries and reconnect cannot be negative")
        self._socket = socket
        self._embedded = embedded
        self._config = config
        self._slots = slots
        self._bench_root = None if bench_root is None else os.path.realpath(bench_root)
        self._window = window
        self._retries = retries
        self._reconnect = reconnect
        self.private_by = "connect(embedded=True)"  # for who reads that there is no daemon
        self._grader: Optional[Grader] = None
        self._sync: "Optional[SyncGrader]" = None

    async def open(self) -> Grader:
        """Connects. The caller closes the grader."""
        private = None
        path = _embedded.socket_path(self._socket)
        if self._embedded:
            private = _embedded.PrivateDaemon(self._config, self._slots, self._bench_root)
        bench_root = None if self._embedded else self._bench_root
        engine = Engine(path, private, self._window, self._retries, self._reconnect, bench_root)
        try:
            await engine.open()
        except _wire.NothingListens as error:
            raise NoDaemon(f"{error}, or let {self.private_by} start a private daemon") from error
        return Grader(engine)

    def open_sync(self) -> "SyncGrader":
        """The same without async."""
        from ._sync import SyncGrader

        return SyncGrader(self)

    def _begin(self) -> None:
        if self._grader or self._sync:
            raise NoDaemon("this connect() is in use: call connect() again for another connection")

    async def __aenter__(self) -> Grader:
        self._begin()
        self._grader = await self.open()
        return self._grader

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        grader, self._grader = self._grader, None
        if grader:
            await grader.close()

    def __enter__(self) -> "SyncGrader":
        self._begin()
        self._sync = self.open_sync()
        return self._sync

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        grader, self._sync = self._sync, None
        if grader:
            grader.close()
