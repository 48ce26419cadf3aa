# SPDX-License-Identifier: MIT
"""The connection of the adapters: their callers have no place for one. Each process has its own, made
on first use."""

import asyncio
import atexit
import os
import threading
from typing import Any, Coroutine, Dict, Iterable, List, Mapping, Optional, TypeVar, Union

from . import _unasked
from ._client import connect
from ._sync import SyncGrader
from .errors import JobError, RubricCrashed
from .results import Result

T = TypeVar("T")

_lock = threading.Lock()
_options: Dict[str, Any] = {}
_grader: Optional[SyncGrader] = None
_owner = 0


def configure(**options: Any) -> None:
    """Sets what the adapters connect to; OPTIONS are those of connect()."""
    global _options
    connect(**options)  # raises what is wrong with them
    with _lock:
        _options = options
        _close()


def _close() -> None:
    global _grader
    grader, _grader = _grader, None
    if grader and _owner == os.getpid():  # in a child of fork() the thread is not there
        grader.close()


def grader() -> SyncGrader:
    """Returns the connection, which the caller does not close."""
    global _grader, _owner
    with _lock:
        if _grader is None or _owner != os.getpid():
            _owner = os.getpid()
            _grader = None
            connecting = connect(**_options)
            connecting.private_by = "rubricd.configure(embedded=True, bench_root=...)"
            _grader = connecting.open_sync()
        return _grader


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_close)


def judged(result: Result, job: Mapping[str, Any]) -> Union[Result, JobError]:
    """Returns the RESULT of JOB, or the error that stands for it if its rubric crashed, or its tests ask nothing of
    any code: no adapter may count that."""
    if result.rubric_fault is not None:
        return RubricCrashed(result.failure_modes[0].code, result.rubric_fault, result.id)
    if _unasked.is_broken(result, job):
        return JobError("bad_request", _unasked.DETAIL, id=result.id)
    return result


def verdict(result: Result, job: Mapping[str, Any]) -> Result:
    """Returns RESULT, or raises that error."""
    answer = judged(result, job)
    if isinstance(answer, JobError):
        raise answer
    return answer


async def ask(job: Mapping[str, Any]) -> Result:
    """As Grader.submit(), from any event loop of asyncio."""
    loop = asyncio.get_running_loop()
    shared = await loop.run_in_executor(None, grader)
    return await asyncio.wrap_future(shared.submit_later(job))


async def begin(work: "Coroutine[Any, Any, T]") -> T:
    """Does WORK in the connection's event loop, from any other one."""
    loop = asyncio.get_running_loop()
    shared = await loop.run_in_executor(None, grader)
    return await asyncio.wrap_future(shared.begin(work))


def ask_all(jobs: Iterable[Mapping[str, Any]]) -> List[Union[Result, JobError]]:
    """Returns the answers to JOBS in their order, which is why their ids are not used."""
    taken = ({name: value for name, value in job.items() if name != "id"} for job in jobs)
    answers: Dict[int, Union[Result, JobError]] = {}
    for answer in grader().stream(taken, errors="yield"):
        assert answer.id is not None
        answers[int(answer.id)] = answer
    return [answers[place] for place in range(len(answers))]


async def ask_all_async(jobs: Iterable[Mapping[str, Any]]) -> List[Union[Result, JobError]]:
    """The same with async."""

    async def ask_one(job: Mapping[str, Any]) -> Union[Result, JobError]:
        try:
            return await ask(job)
        except JobError as error:
            return error

    return list(await asyncio.gather(*(ask_one(job) for job in jobs)))
