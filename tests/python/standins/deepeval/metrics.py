# SPDX-License-Identifier: MIT
from abc import abstractmethod


class BaseMetric:
    threshold = None
    score = None
    reason = None
    success = None
    error = None

    @abstractmethod
    def measure(self, test_case, *args, **kwargs):
        raise NotImplementedError

    @abstractmethod
    async def a_measure(self, test_case, *args, **kwargs):
        raise NotImplementedError
