# SPDX-License-Identifier: MIT
"""A client of rubricd, which runs untrusted grading code in jails.

    async with rubricd.connect() as grader:
        result = await grader.code("def add(a, b): return a + b", tests=["assert add(2, 3) == 5"])

and the same without async. The adapters for other projects are modules of their own."""

from . import jobs
from ._client import Grader, connect
from ._session import Command, Session, SyncSession
from ._shared import configure
from ._sync import SyncGrader
from ._version import __version__
from .errors import (
    InvalidJob,
    JobError,
    NoDaemon,
    ProtocolError,
    RubricCrashed,
    RubricdError,
    SessionClosed,
)
from .results import Result

__all__ = [
    "Command",
    "Grader",
    "InvalidJob",
    "JobError",
    "NoDaemon",
    "ProtocolError",
    "Result",
    "RubricCrashed",
    "RubricdError",
    "Session",
    "SessionClosed",
    "SyncGrader",
    "SyncSession",
    "__version__",
    "configure",
    "connect",
    "jobs",
]
