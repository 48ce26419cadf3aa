# SPDX-License-Identifier: MIT
"""Assertions for promptfooconfig.yaml, by a private daemon. With a service, the last line is enough."""

import rubricd

rubricd.configure(embedded=True)
from rubricd.promptfoo import get_assert  # noqa: E402, F401
