# SPDX-License-Identifier: MIT
import functools
from dataclasses import dataclass, field
from typing import Any, Optional, Protocol

REGISTERED = {}


class Target:
    def __init__(self, target):
        self.target = target if isinstance(target, list) else [target]

    @property
    def text(self):
        return "".join(self.target)


@dataclass
class Score:
    value: Any
    answer: Optional[str] = None
    explanation: Optional[str] = None
    metadata: dict = field(default_factory=dict)


class Scorer(Protocol):
    async def __call__(self, state, target): ...


def mean():
    return "mean"


def stderr(to_float=None, cluster=None):
    return "stderr"


def scorer(metrics, name=None, **metadata):
    def register(factory):
        REGISTERED[name or factory.__name__] = metrics

        @functools.wraps(factory)
        def make(*args, **named):
            return factory(*args, **named)

        return make

    return register
