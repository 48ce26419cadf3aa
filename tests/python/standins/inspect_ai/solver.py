# SPDX-License-Identifier: MIT
from types import SimpleNamespace


class TaskState:
    def __init__(self, input, completion, metadata=None):
        self.input_text = input
        self.output = SimpleNamespace(completion=completion)
        self.metadata = metadata or {}
