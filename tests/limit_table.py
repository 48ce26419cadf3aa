# SPDX-License-Identifier: MIT
"""The limits as tests/data/limits.json spells them out. That file is the one place where tests say what
limits there are: the unit tests compare the programs with it, and other tests take the limits from it."""

import json
from pathlib import Path

# In the order of the programs' table. `least` and `most` bound what may be configured. `default` is
# one value, or one for each kind of job.
LIMITS = json.loads((Path(__file__).parent / "data" / "limits.json").read_text())


def default_of(row, kind):
    return row["default"][kind] if isinstance(row["default"], dict) else row["default"]


# What `hello` tells of an unconfigured daemon. Some kinds have a ceiling of their own for the wall clock.
DEFAULTS = {
    kind: {row["key"]: default_of(row, kind) for row in LIMITS} for kind in LIMITS[0]["default"]
}
CEILINGS = {row["key"]: row["ceiling"] for row in LIMITS}
