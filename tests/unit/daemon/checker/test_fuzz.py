# SPDX-License-Identifier: MIT
"""The fuzz drivers of the checker (tests/fuzz) still fuzz: each runs one small round, in which something is altered
and something else comes out. tests/integration/test_code_exec_fuzz.py has the one that needs a daemon."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[4] / "tests" / "fuzz"
ROUNDS = {
    "wire_fuzz": """
import wire_fuzz as driver
fuzzer = driver.Fuzzer()
fuzzer.jobs = fuzzer.jobs[:1]
driver.BATCH = 20
result = fuzzer.round("1")
fuzzer.pair.close()
""",
    "transcript_fuzz": """
import transcript_fuzz as driver
driver.jobs = lambda: [driver.EXACT]
fuzzer = driver.Fuzzer()
result = fuzzer.round("1")
fuzzer.referee.close()
""",
    "membrane_fuzz": """
import membrane_fuzz as driver
driver.BATCH = 20
job = driver.jobs()[0]
messages = driver.record(job)
result = driver.run_batch(job, messages, [messages], "1")
""",
}


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round(name, tmp_path):
    text = ROUNDS[name] + "\nprint('RESULT', repr((dict(result[0]), result[1])))"
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(FUZZ)}, timeout=120,
                          capture_output=True, text=True)  # fmt: skip
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert found, done
    counts, violations = ast.literal_eval(found[0].partition(" ")[2])
    assert not violations and sum(counts.values()) == 20 and len(counts) > 1, counts
