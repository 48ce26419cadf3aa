# SPDX-License-Identifier: MIT
from dataclasses import dataclass


@dataclass
class Sample:
    input: str
    target: str = ""
