# SPDX-License-Identifier: MIT
"""What can go wrong. None of it is a score: leave such a job out of the mean, do not count it as 0."""

from typing import Optional


class RubricdError(Exception):
    """The base of all exceptions of this package."""


class JobError(RubricdError):
    """The daemon gave no verdict on a job.

    `code` is one of the codes of the protocol ("bad_request", "starved", ...), `message` says what
    went wrong, `retriable` whether the same job may succeed later, and `id` is that of the job."""

    def __init__(
        self, code: str, message: str, retriable: bool = False, id: Optional[str] = None
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retriable = retriable
        self.id = id


class InvalidJob(JobError, ValueError):
    """A job holds a value that the protocol has no form for. It was not sent. `path` is the place."""

    def __init__(self, path: str, why: str, id: Optional[str] = None) -> None:
        super().__init__("bad_request", f"{path}: {why}", False, id)
        self.path = path


class RubricCrashed(JobError):
    """The rubric crashed, or wrote no score that counts: its 0 says nothing of the answer. The adapters
    raise it, or give no reward. A grader returns the Result, whose `rubric_fault` has the text."""

    def __init__(self, code: str, fault: str, id: Optional[str] = None) -> None:
        super().__init__(code, fault, False, id)

    def __str__(self) -> str:
        return self.message


class NoDaemon(RubricdError, ConnectionError):
    """No daemon could be reached or started, or the connection was lost for good."""


class ProtocolError(NoDaemon):
    """Whatever answers at the socket does not speak this version of the protocol."""


class SessionClosed(RubricdError):
    """The session has ended. `reason` is "lease", "idle", "draining", "lost" or "closed"."""

    def __init__(self, id: str, reason: str) -> None:
        super().__init__(f"session {id} is closed: {reason}")
        self.id = id
        self.reason = reason
