# SPDX-License-Identifier: MIT
"""The public interface without async: a Grader in an event loop of its own, in a thread."""

import asyncio
import queue
import threading
import time
from concurrent.futures import Future
from typing import (
    Any,
    Coroutine,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    overload,
)

from . import _feed, _session, jobs as make
from ._client import Errors, Grader, connect
from ._engine import Answer, OnOutput
from .errors import JobError, NoDaemon
from .results import Result

T = TypeVar("T")

# Jobs go to the thread in chunks, since each wakes it. A slow source is not kept waiting for one.
CHUNK_MAX = 64
CHUNK_S = 0.005


class SyncGrader:
    """Submits jobs to one daemon. Threads may share it."""

    def __init__(self, connection: connect) -> None:
        self._loop = asyncio.new_event_loop()
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="rubricd", daemon=True)
        self._thread.start()
        try:
            self._grader: Grader = self._wait(self.begin(connection.open()))
        except BaseException:
            self._end_thread()
            raise

    def begin(self, work: "Coroutine[Any, Any, T]") -> "Future[T]":
        """Starts WORK in the thread. To cancel the future cancels the work."""
        if self._closed:
            work.close()
            raise NoDaemon("the grader is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def wait(self, work: "Coroutine[Any, Any, T]") -> T:
        """Does WORK in the thread; returns or raises what it does."""
        return self._wait(self.begin(work))

    def _wait(self, future: "Future[T]") -> T:
        try:
            return future.result()
        except BaseException:  # Ctrl-C, beside what the work raised
            future.cancel()
            raise

    @property
    def hello(self) -> Mapping[str, Any]:
        """What the daemon said first: its version, limits, isolation and interpreter."""
        return self._grader.hello

    def submit_later(
        self, job: Mapping[str, Any], *, on_output: Optional[OnOutput] = None
    ) -> "Future[Result]":
        """Submits JOB; the future has what submit() returns or raises."""
        return self.begin(self._grader.submit(job, on_output=on_output))

    def submit(self, job: Mapping[str, Any], *, on_output: Optional[OnOutput] = None) -> Result:
        """As Grader.submit(). ON_OUTPUT is called in another thread."""
        return self._wait(self.submit_later(job, on_output=on_output))

    def rubric(
        self,
        task_class: str,
        case: Mapping[str, Any],
        harness_output: Mapping[str, Any],
        **options: Any,
    ) -> Result:
        """As Grader.rubric()."""
        return self.submit(make.rubric(task_class, case, harness_output, **options))

    def code(
        self,
        code: Optional[str] = None,
        *,
        tests: Union[str, Sequence[str]],
        entry_point: Optional[str] = None,
        **options: Any,
    ) -> Result:
        """As Grader.code()."""
        return self.submit(make.code(code, tests=tests, entry_point=entry_point, **options))

    def program(
        self,
        code: Optional[str] = None,
        *,
        language: str,
        tests: Sequence[make.ProgramTest],
        **options: Any,
    ) -> Result:
        """As Grader.program()."""
        return self.submit(make.program(code, language=language, tests=tests, **options))

    def run(
        self,
        argv: List[str],
        *,
        files: Optional[Mapping[str, make.Content]] = None,
        collect: Optional[Sequence[str]] = None,
        on_output: Optional[OnOutput] = None,
        **options: Any,
    ) -> Result:
        """As Grader.run(). ON_OUTPUT is called in another thread."""
        job = make.run(argv, files=files, collect=collect, **options)
        return self.submit(job, on_output=on_output)

    def session(self, **options: Any) -> _session.SyncSession:
        """Opens a session; OPTIONS are those of Grader.session(). `with` closes it."""
        return _session.SyncSession(self, self.wait(self.open_session(**options)))

    async def open_session(self, **options: Any) -> _session.Session:
        """For the thread: opens a session whose methods run there."""
        return await self._grader.session(**options)

    @overload
    def stream(self, jobs: Iterable[Mapping[str, Any]]) -> Iterator[Result]: ...

    @overload
    def stream(
        self, jobs: Iterable[Mapping[str, Any]], *, errors: Errors
    ) -> Iterator[Union[Result, JobError]]: ...

    def stream(
        self, jobs: Iterable[Mapping[str, Any]], *, errors: Errors = "raise"
    ) -> Iterator[Any]:
        """As Grader.stream(). JOBS is read in the caller's thread."""
        _feed.check_errors(errors)
        for answer in self._answers(iter(jobs)):
            if not _feed.wanted(answer, errors):
                assert isinstance(answer, Exception)
                raise answer
            yield answer

    def _answers(self, source: Iterator[Mapping[str, Any]]) -> Iterator[Answer]:
        answers: "queue.SimpleQueue[Answer]" = queue.SimpleQueue()
        feed = _feed.Feed(self._grader._engine, answers.put)
        feeding: List["Future[None]"] = []
        window = self._grader._engine.window
        place = outstanding = 0
        more = True
        try:
            while more or outstanding:
                while outstanding and (
                    not more or outstanding > window - (window + 3) // 4 or not answers.empty()
                ):
                    answer = answers.get()
                    outstanding -= 1
                    yield answer
                if more:
                    chunk, more = _take_chunk(source, min(window - outstanding, CHUNK_MAX))
                    feeding = [each for each in feeding if not each.done()]
                    feeding.append(self.begin(_put_all(feed, chunk, place, answers)))
                    place += len(chunk)
                    outstanding += len(chunk)
        finally:
            if outstanding and not self._closed:
                self._wait(self.begin(_cancel(feed, feeding)))

    def _end_thread(self) -> None:
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def close(self) -> None:
        """As Grader.close()."""
        if not self._closed:
            try:
                self._wait(self.begin(self._grader.close()))
            finally:
                self._end_thread()


def _take_chunk(
    source: Iterator[Mapping[str, Any]], most: int
) -> Tuple[List[Mapping[str, Any]], bool]:
    """Returns up to MOST jobs, and whether there may be more."""
    chunk: List[Mapping[str, Any]] = []
    end = time.monotonic() + CHUNK_S
    for job in source:
        chunk.append(job)
        if len(chunk) >= most or time.monotonic() > end:
            return chunk, True
    return chunk, False


async def _put_all(
    feed: _feed.Feed,
    chunk: List[Mapping[str, Any]],
    place: int,
    answers: "queue.SimpleQueue[Answer]",
) -> None:
    for offset, job in enumerate(chunk):
        try:
            await feed.put(job, place + offset)
        except NoDaemon as error:
            answers.put(error)  # the reader raises it


async def _cancel(feed: _feed.Feed, feeding: "List[Future[None]]") -> None:
    for each in feeding:
        each.cancel()
    await asyncio.sleep(0)  # the tasks of those futures are cancelled before we are here again
    feed.cancel()
