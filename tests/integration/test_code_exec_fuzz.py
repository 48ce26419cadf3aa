# SPDX-License-Identifier: MIT
"""The fuzzer of the checker's pipe that needs a daemon (tests/fuzz/code_exec_fuzz.py) still fuzzes: what it alters
ends in errors, and what it leaves as it is does not. tests/unit/daemon/checker/test_fuzz.py has the others."""

import re
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"


def test_a_round(tmp_path):
    text = f"import sys; sys.path.insert(0, {str(FUZZ)!r}); import code_exec_fuzz as driver; driver.BATCH = 24; driver.main()"
    done = subprocess.run([sys.executable, "-c", text, "1", "2"], cwd=tmp_path, timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done
    verdicts = dict(re.findall(r"'(\w+)': (\d+)", done.stdout))
    assert int(verdicts["assertion_fail"]) > 0 and int(verdicts["error"]) > 0, done.stdout
