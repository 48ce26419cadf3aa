# SPDX-License-Identifier: MIT
"""Runs the checker, compiled when the daemon was built. A Python of another version refuses that and
takes the source."""

import sys

HERE = sys.path[0]
sys.path[0] = HERE + "/compiled"
try:
    import judge
except ImportError:
    sys.path[0] = HERE + "/source"
    import judge
judge.main(HERE)
