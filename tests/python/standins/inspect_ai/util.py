# SPDX-License-Identifier: MIT
"""Sandboxes of inspect_ai.util."""

import abc
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T", str, bytes)

SANDBOXES = {}


@dataclass
class ExecResult(Generic[T]):
    success: bool
    returncode: int
    stdout: T
    stderr: T


class OutputLimitExceededError(Exception):
    def __init__(self, limit_str, truncated_output):
        self.limit_str, self.truncated_output = limit_str, truncated_output
        super().__init__(f"The sandbox output stream limit of {limit_str} was exceeded.")


class SandboxEnvironment(abc.ABC):
    @abc.abstractmethod
    async def exec(
        self,
        cmd,
        input=None,
        cwd=None,
        env=None,
        user=None,
        timeout=None,
        timeout_retry=True,
        concurrency=True,
    ): ...

    @abc.abstractmethod
    async def write_file(self, file, contents): ...

    @abc.abstractmethod
    async def read_file(self, file, text=True): ...

    @classmethod
    async def task_init(cls, task_name, config): ...

    @classmethod
    async def sample_init(cls, task_name, config, metadata):
        return {}

    @classmethod
    @abc.abstractmethod
    async def sample_cleanup(cls, task_name, config, environments, interrupted): ...

    @classmethod
    async def task_cleanup(cls, task_name, config, cleanup): ...


def sandboxenv(name):
    def register(cls):
        SANDBOXES[name] = cls
        return cls

    return register
