# SPDX-License-Identifier: MIT
"""Theory of operation: every job that was taken is an `Entry` of `pending` until it has its one
answer, and its frame is kept as long. When the connection is lost, entries that were sent become
HELD; when there is a connection again, they are sent again. An error that is retriable makes an
entry WAIT; one that ended for want of CPU runs again with nothing of ours beside it (STARVED), as
`rubricctl batch` does it. Everything here runs in one event loop and nothing of it blocks: who
wants to submit waits for room() first, which bounds what is pending."""

import asyncio
import base64
import logging
from collections import deque
from typing import Any, Callable, Deque, Dict, Mapping, Optional, Union
from weakref import WeakValueDictionary

from . import _embedded, _json, _puts, _suggest, _wire
from .errors import InvalidJob, JobError, NoDaemon, ProtocolError, RubricdError
from .results import Result, result_of

log = logging.getLogger("rubricd")

Answer = Union[Result, RubricdError]

WINDOW_DEFAULT = 256
RETRY_FIRST_S, RETRY_MAX_S = 0.5, 30.0
RECONNECT_FIRST_S, RECONNECT_MAX_S = 0.05, 2.0
ID_MAX = 128  # bytes
TIMES_LOST_MAX = 3  # a daemon that never has the tests of a job does not keep it for ever

TOLD = "the job has told some of its output, so it does not run again"

HELD, SENT, WAITING, STARVED, WITHDRAWN, OVER = range(6)


class Entry:
    """A job without an answer."""

    __slots__ = (
        "wire_id", "id", "frame", "tests", "done", "state", "failed", "reran", "lost", "timer", "on_output", "is_told"
    )

    def __init__(
        self,
        wire_id: str,
        id: str,
        frame: bytes,
        tests: Optional[_puts.Tests],
        done: "Done",
        on_output: "Optional[OnOutput]",
    ) -> None:
        self.wire_id = wire_id
        self.id = id
        self.frame = frame
        self.tests = tests  # that the frame names by their digest
        self.done = done
        self.state = HELD
        self.failed = 0  # attempts that ended in a retriable error
        self.reran = False  # once, for want of CPU
        self.lost = 0  # times that the daemon did not have its tests
        self.timer: Optional[asyncio.TimerHandle] = None
        self.on_output = on_output
        self.is_told = False  # some of its output: to run it again would tell that twice


OnOutput = Callable[[str, bytes], None]
Done = Callable[[Entry, Answer], None]


def is_starved(message: Mapping[str, Any]) -> bool:
    """Whether others had the CPUs that the job needed: the error says so, or a timeout of a job that
    waited for a CPU for half of its time, unless the daemon gave it that time back."""
    if message["type"] == "error":
        return bool(message.get("code") == "starved")
    if "deadline" in message or message["outcome"]["limit_exceeded"] != "wall_clock":
        return False
    wall, wait = message["usage"]["wall_clock_ms"], message["usage"].get("cpu_wait_ms") or 0
    return bool(wait > 0 and wait >= wall - wait)


class Engine:
    """Jobs in flight at one daemon."""

    def __init__(
        self,
        path: Optional[str],
        private: Optional[_embedded.PrivateDaemon],
        window: Optional[int],
        retries: int,
        reconnect: float,
        bench_root: Optional[str] = None,
    ) -> None:
        self._path = path
        self._bench_root = bench_root  # of the rubrics that name none; an absolute path
        self._private = private
        self._retries = retries
        self._patience = reconnect
        self._wire: Optional[_wire.Wire] = None
        self._puts = _puts.Puts()
        self._draining = False
        self._closed = False
        self._reconnecting: Optional["asyncio.Task[None]"] = None
        self._serial = 0
        self._in_flight = 0
        self._held: Deque[Entry] = deque()
        self._starved: Deque[Entry] = deque()
        self._solo: Optional[Entry] = None
        self._waiters: Deque["asyncio.Future[None]"] = deque()
        self.window = window or 0
        self.hello: Mapping[str, Any] = {}
        self.pending: Dict[str, Entry] = {}
        self._tests: "WeakValueDictionary[str, _puts.Tests]" = WeakValueDictionary()
        # Sessions take the messages that no job has, and hear of a lost connection.
        self.on_other: Callable[[Mapping[str, Any]], bool] = lambda message: False
        self.on_disconnect: Callable[[str], None] = lambda why: None

    # --- the connection -------------------------------------------------------------------

    async def open(self) -> None:
        """Connects and takes the hello."""
        try:
            await self._connect()
        except BaseException:
            await self.close()
            raise
        if not self.window:
            per_client = self.hello["limits"]["jobs_per_client"]
            self.window = max(1, min(per_client, WINDOW_DEFAULT))

    async def _connect(self) -> None:
        def make() -> _wire.Wire:
            return _wire.Wire(self._take, self._lost)

        if self._private:
            wire = await self._greet_private(self._private, make)
        else:
            assert self._path is not None
            wire = await _wire.connect(self._path, make)
        if self._closed:
            wire.close()
            raise NoDaemon("the grader is closed")
        self.hello = wire.hello.result()
        wire.on_room = self._wake
        self._wire = wire
        self._puts = _puts.Puts()
        self._draining = False

    @staticmethod
    async def _greet_private(
        private: _embedded.PrivateDaemon, make: Callable[[], _wire.Wire]
    ) -> _wire.Wire:
        try:
            return await _wire.connect_private(private, make)
        except ProtocolError:
            raise
        except NoDaemon as error:
            words = await asyncio.get_running_loop().run_in_executor(None, private.last_words)
            raise NoDaemon(f"{words}; why, it has written to standard error") from error

    def _lost(self, wire: _wire.Wire, why: str) -> None:
        if wire is not self._wire:
            return
        self._wire = None
        self.on_disconnect(why)
        if self._closed:
            return
        for entry in list(self.pending.values()):
            if entry.state == WITHDRAWN:
                self._drop(entry)
            elif entry.state == SENT and entry.is_told:
                self._finish(entry, NoDaemon(f"{why}; {TOLD}"))
            elif entry.state == SENT:
                entry.state = HELD
                (self._starved if entry is self._solo else self._held).append(entry)
        self._solo = None
        self._in_flight = 0
        if self._private:
            last_words = self._private.last_words
            asyncio.get_running_loop().run_in_executor(None, last_words).add_done_callback(
                lambda words: self._fail_all(words.result())
            )
            self._closed = True
        elif self.pending:
            log.warning(
                "%s; waiting at most %g s for it to come back (%d jobs in flight)",
                why,
                self._patience,
                len(self.pending),
            )
            self._need_connection()

    def _need_connection(self) -> None:
        if self._wire is None and self._reconnecting is None and not self._closed:
            self._reconnecting = asyncio.ensure_future(self._reconnect())

    async def _reconnect(self) -> None:
        """Tries until there is a connection or the patience is at its end."""
        loop = asyncio.get_running_loop()
        give_up, delay = loop.time() + self._patience, RECONNECT_FIRST_S
        try:
            while True:
                try:
                    await self._connect()
                    log.info("connected: submitting %d jobs", len(self.pending))
                    break
                except ProtocolError:
                    raise
                except NoDaemon:
                    if loop.time() + delay > give_up:
                        raise
                await asyncio.sleep(delay)
                delay = min(delay * 2, RECONNECT_MAX_S)
        except NoDaemon as error:
            self._fail_all(str(error))
        finally:
            self._reconnecting = None
        self._pump()

    def _fail_all(self, why: str) -> None:
        for entry in list(self.pending.values()):
            self._finish(entry, NoDaemon(why))
        self._wake()

    async def close(self) -> None:
        """Closes the connection, ends a private daemon, and fails what is unanswered."""
        self._closed = True
        if self._reconnecting:
            self._reconnecting.cancel()
        if self._wire:
            self._wire.close()
        elif self._private:
            self._private.sock.close()
        self._fail_all("the grader is closed")
        if self._private:
            private, self._private = self._private, None
            # Let the transport close the socket: that is what ends the daemon.
            await asyncio.sleep(0)
            # No thread does the waiting: an interpreter that ends, as at the end of a script that
            # used an adapter, starts none any more.
            await asyncio.shield(asyncio.ensure_future(private.stopped()))

    # --- room -----------------------------------------------------------------------------

    def _has_room(self) -> bool:
        alone = self._starved or self._solo
        paused = self._wire is not None and self._wire.paused
        return self._closed or (len(self.pending) < self.window and not alone and not paused)

    async def room(self) -> None:
        """Waits until one more job may be submitted."""
        while not self._has_room():
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake()  # it was our turn: let another have it
                raise

    def _wake(self) -> None:
        if not self._waiters or not self._has_room():
            return
        free = len(self._waiters) if self._closed else self.window - len(self.pending)
        while self._waiters and free > 0:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1

    # --- jobs -----------------------------------------------------------------------------

    def submit(
        self,
        job: Mapping[str, Any],
        done: Done,
        default_id: Optional[str] = None,
        on_output: Optional[OnOutput] = None,
    ) -> Entry:
        """Takes JOB, after room(). DONE gets its one answer, in the event loop, unless the entry is
        withdrawn before. Raises InvalidJob if the job cannot be sent. DEFAULT_ID is for a job without
        an id. ON_OUTPUT gets what the job streams, as it comes; once it got something, no error makes the
        job run again."""
        if not isinstance(job, Mapping):
            raise InvalidJob("job", f"expected a dictionary, got a {type(job).__name__}")
        fields = dict(job)
        given = fields.pop("id", None)
        if self._bench_root and fields.get("kind") == "rubric" and fields.get("bench_root") is None:
            fields["bench_root"] = self._bench_root
        self._serial += 1
        id = (default_id or str(self._serial)) if given is None else given
        if not isinstance(id, str):
            raise InvalidJob("job.id", f"expected a string, got a {type(id).__name__}")
        try:
            _json.check(id, "job.id")
            _json.check(fields, "job")
            tests = _puts.take(fields, self.hello["limits"]["max_frame"])
        except InvalidJob as error:
            error.id = id
            raise
        # Ours differ, even if ids repeat: a late answer to a cancelled job finds nobody else.
        wire_id = f"{self._serial}:{id}"
        wire_id = wire_id.encode()[:ID_MAX].decode(errors="ignore")
        frame = _json.frame({"type": "submit", "id": wire_id, "job": fields})
        self._check_size(frame, id)
        if self._closed:
            raise NoDaemon("the grader is closed, or its private daemon is gone")
        entry = Entry(wire_id, id, frame, tests and self._same(tests), done, on_output)
        self.pending[wire_id] = entry
        self._held.append(entry)
        self._need_connection()
        self._pump()
        return entry

    def _check_size(self, frame: bytes, id: str) -> None:
        size, most = len(frame) - 4, self.hello["limits"]["max_frame"]
        if size > most:
            raise InvalidJob("job", f"{size} bytes; the daemon takes at most {most}", id)

    def _same(self, tests: _puts.Tests) -> _puts.Tests:
        """Returns the tests of a pending job that are the same, if there are some: kept once for all."""
        return self._tests.setdefault(tests.digest, tests)

    def send(self, frame: bytes) -> bool:
        """Sends something that is no job. Returns whether there is a connection."""
        if self._wire:
            self._wire.send(frame)
        return self._wire is not None

    def withdraw(self, entry: Entry) -> None:
        """Cancels the job of ENTRY, if it has no answer yet; `done` is not called."""
        if entry.state == SENT:
            entry.state = WITHDRAWN  # until the daemon answers
            self.send(_json.frame({"type": "cancel", "id": entry.wire_id}))
        elif entry.state not in (WITHDRAWN, OVER):
            self._drop(entry)
            self._pump()

    def _drop(self, entry: Entry) -> None:
        if entry.timer:
            entry.timer.cancel()
        if entry.state == STARVED or entry in self._starved:
            self._starved.remove(entry)
        if entry is self._solo:
            self._solo = None
        entry.state = OVER
        self.pending.pop(entry.wire_id, None)
        self._wake()

    def _finish(self, entry: Entry, answer: Answer) -> None:
        wanted = entry.state != WITHDRAWN
        self._drop(entry)
        if wanted:
            entry.done(entry, answer)

    def _send_entry(self, entry: Entry) -> None:
        assert self._wire
        entry.state = SENT
        self._in_flight += 1
        sending = self._puts.missing(entry.tests) if entry.tests else 0
        if entry.tests and sending:
            for frame in _puts.frames(entry.tests, sending, self.hello["limits"]["max_frame"]):
                self._wire.send(frame)
        self._wire.send(entry.frame)

    def _pump(self) -> None:
        """Sends what may be sent now."""
        if self._wire is None or self._draining:
            return
        if self._starved or self._solo:
            if self._starved and not self._solo and not self._in_flight:
                self._solo = self._starved.popleft()
                self._send_entry(self._solo)
            return
        while self._held:
            entry = self._held.popleft()
            if entry.state == HELD:
                self._send_entry(entry)
        self._wake()

    # --- answers --------------------------------------------------------------------------

    def _take(self, message: Mapping[str, Any]) -> None:
        kind = message["type"]
        if self._puts.take(message):
            return
        if kind in ("result", "error"):
            entry = self.pending.get(message.get("id", ""))
            if entry and entry.state in (SENT, WITHDRAWN):
                self._answer(entry, message)
            elif not self.on_other(message) and kind == "error" and "id" not in message:
                self._unattributed(message)
        elif kind == "output" and message.get("id") in self.pending:
            self._tell(self.pending[message["id"]], message)
        elif kind != "started":
            self.on_other(message)

    def _tell(self, entry: Entry, message: Mapping[str, Any]) -> None:
        if entry.on_output and entry.state == SENT:
            entry.is_told = True
            entry.on_output(message["stream"], base64.b64decode(message["base64"]))

    def _unattributed(self, message: Mapping[str, Any]) -> None:
        """The daemon could not tell which message it refused: one of ours will have no answer."""
        if "job_no" not in message:
            self._fail_all(f"{message.get('code')}: {message.get('message')}")

    def _answer(self, entry: Entry, message: Mapping[str, Any]) -> None:
        self._in_flight -= 1
        alone, lost = entry is self._solo, False  # its tests
        if alone:
            self._solo = None
        if entry.tests:
            lost, message = self._puts.lost(entry.tests, message)
            entry.lost += lost
        if entry.state == WITHDRAWN:
            self._drop(entry)
        elif lost and entry.lost <= TIMES_LOST_MAX:
            entry.state = STARVED if alone else HELD
            (self._starved if alone else self._held).appendleft(entry)
        else:
            try:
                answer = self._read(entry, message)
                again = self._again(entry, message)
            except (KeyError, TypeError, ValueError) as error:
                text = f"the daemon's answer to job {entry.id} is malformed: {error!r}"
                answer, again = ProtocolError(text), False
            if not again:
                self._finish(entry, answer)
        self._pump()

    def _read(self, entry: Entry, message: Mapping[str, Any]) -> Answer:
        if message["type"] == "result":
            return result_of(message, entry.id, 1 + entry.failed + entry.reran)
        code, text = message["code"], message["message"]
        text += _suggest.remedy(text, entry.frame, self.hello)
        return JobError(code, text, bool(message["retriable"]), entry.id)

    def _again(self, entry: Entry, message: Mapping[str, Any]) -> bool:
        """Whether the answer does not count, and the job runs once more."""
        code = message.get("code") if message["type"] == "error" else None
        if code == "draining":
            self._draining = True  # this daemon takes nothing more: the next one gets it
        if entry.is_told:
            return False
        if code == "draining":
            entry.state = HELD
            self._held.append(entry)
            return True
        if is_starved(message) and not entry.reran:
            entry.reran = True
            entry.state = STARVED
            self._starved.append(entry)
            return True
        if code in (None, "cancelled") or not message.get("retriable"):
            return False
        if entry.failed >= self._retries:
            return False
        delay = min(RETRY_FIRST_S * 2 ** min(entry.failed, 10), RETRY_MAX_S)
        entry.failed += 1
        entry.state = WAITING
        entry.timer = asyncio.get_running_loop().call_later(delay, self._due, entry)
        return True

    def _due(self, entry: Entry) -> None:
        entry.timer = None
        entry.state = HELD
        self._held.append(entry)
        self._pump()
