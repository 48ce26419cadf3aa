# SPDX-License-Identifier: MIT
"""Jobs of one stream: they are submitted as there is room, and what is left of them is taken back if
the stream ends early."""

import asyncio
from collections import deque
from typing import Any, AsyncIterator, AsyncIterable, Callable, Deque, Iterable, Mapping, Set, Union

from ._engine import Answer, Engine, Entry
from .errors import InvalidJob, JobError

Jobs = Union[Iterable[Mapping[str, Any]], AsyncIterable[Mapping[str, Any]]]


class Feed:
    """Calls deliver(answer) in the event loop, once for each job."""

    def __init__(self, engine: Engine, deliver: Callable[[Answer], None]) -> None:
        self._engine = engine
        self._deliver = deliver
        self.entries: Set[Entry] = set()

    async def put(self, job: Mapping[str, Any], place: int) -> None:
        """Submits the job at PLACE of the stream, which is its id unless it has one."""
        await self._engine.room()
        try:
            self.entries.add(self._engine.submit(job, self._done, str(place)))
        except InvalidJob as error:
            if error.id is None:
                error.id = str(place)
            self._deliver(error)

    def _done(self, entry: Entry, answer: Answer) -> None:
        self.entries.discard(entry)
        self._deliver(answer)

    def cancel(self) -> None:
        while self.entries:
            self._engine.withdraw(self.entries.pop())


async def _each(jobs: Jobs) -> AsyncIterator[Mapping[str, Any]]:
    if isinstance(jobs, AsyncIterable):
        async for job in jobs:
            yield job
    else:
        for job in jobs:
            yield job


async def stream(engine: Engine, jobs: Jobs, window: int) -> AsyncIterator[Answer]:
    """Yields answers as they come. At most WINDOW jobs are submitted whose answer was not yet taken,
    so that neither a quick source nor a slow reader fills the memory."""
    answers: Deque[Answer] = deque()
    answered, taken = asyncio.Event(), asyncio.Event()
    outstanding = 0

    def deliver(answer: Answer) -> None:
        answers.append(answer)
        answered.set()

    async def submit_all() -> None:
        nonlocal outstanding
        place = 0
        async for job in _each(jobs):
            while outstanding >= window:
                taken.clear()
                await taken.wait()
            outstanding += 1
            await feed.put(job, place)
            place += 1

    feed = Feed(engine, deliver)
    source = asyncio.ensure_future(submit_all())
    source.add_done_callback(lambda _: answered.set())
    try:
        while True:
            while answers:
                answer = answers.popleft()
                outstanding -= 1
                taken.set()
                yield answer
            if source.done():
                source.result()  # raises what the source of jobs has raised
                if not outstanding:
                    return
            answered.clear()
            if not answers and not (source.done() and not outstanding):
                await answered.wait()
    finally:
        source.cancel()
        feed.cancel()


def wanted(answer: Answer, errors: str) -> bool:
    """Whether to hand out ANSWER, which is an exception to raise otherwise. Errors that end the
    connection are always raised."""
    return not isinstance(answer, Exception) or (isinstance(answer, JobError) and errors == "yield")


def check_errors(errors: str) -> None:
    if errors not in ("raise", "yield"):
        raise ValueError(f'errors: expected "raise" or "yield", got {errors!r}')
