# SPDX-License-Identifier: MIT
"""The limits as tests/data/limits.json spells them out. That file is the one place where tests say what
limits there are: the unit tests compare the programs with it, and other tests take the limits from it."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# In the order of the programs' table. `least` and `most` bound what may be configured. `default` is
# one value, or one for each kind of job; a kind that is not there has what the shipped configuration says.
LIMITS = json.loads((Path(__file__).parent / "data" / "limits.json").read_text())

KINDS = json.loads((ROOT / "proto" / "schema" / "kinds.schema.json").read_text())["$defs"]["name"]["enum"]


def shipped_default(key, kind):
    """Returns what the shipped configuration gives as the default of KEY for jobs of KIND, in seconds, bytes or
    units; None if it gives none, which schema_check.py and the configuration's tests report."""
    section = (ROOT / "conf" / "rubricd.conf").read_text().partition(f"\n[{kind}]\n")[2].partition("\n[")[0]
    found = re.search(rf"^#{key} = (\d+)(s|[KMG]?)$", section, re.MULTILINE)
    return found and int(found[1]) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(found[2], 1)


def default_of(row, kind):
    if not isinstance(row["default"], dict):
        return row["default"]
    return row["default"].get(kind) or shipped_default(row["key"], kind)


# What `hello` tells of an unconfigured daemon. Some kinds have a ceiling of their own for the wall clock.
DEFAULTS = {kind: {row["key"]: default_of(row, kind) for row in LIMITS} for kind in KINDS}
CEILINGS = {row["key"]: row["ceiling"] for row in LIMITS}
# As messages tell them.
CEILING_WORDS = {row["key"]: row.get("ceiling_words", str(row["ceiling"])) for row in LIMITS}
