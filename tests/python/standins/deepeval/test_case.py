# SPDX-License-Identifier: MIT
from dataclasses import dataclass
from typing import Optional


@dataclass
class LLMTestCase:
    input: str
    actual_output: Optional[str] = None
    expected_output: Optional[str] = None
    metadata: Optional[dict] = None
