# SPDX-License-Identifier: MIT
"""A shortage is never a verdict: a selection of what tests/inject.py does with every function."""

import shutil
import sys

import pytest
from conftest import ROOT, RUBRICD, open_up

sys.path.insert(0, str(ROOT / "tests"))
import inject  # noqa: E402

SANITIZED = b"__asan_init" in RUBRICD.read_bytes()


def test_a_shortage_is_never_a_verdict(tmp_path):
    if SANITIZED:
        pytest.skip("a sanitizer wants to be the first library")
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    open_up(tmp_path)
    total = inject.run(tmp_path, inject.SHORT)
    assert total.complaints == []
    assert total.idle == [], "these have never failed"
