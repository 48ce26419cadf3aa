"""Checks that rubric.py gives each case of cases.jsonl the verdict in expected.jsonl.

    python3 test_rubric.py

needs no daemon; `rubricctl check-rubric .` runs the same cases in the sandbox. With pytest, let it write nothing
either: `python3 -B -m pytest -p no:cacheprovider`.
"""

import json
import sys
import unittest
from pathlib import Path

# Every file of this folder counts for the rubric's digest: a __pycache__ in it would make each job run again that
# `rubricctl batch --resume` continues with.
sys.dont_write_bytecode = True

import rubric  # noqa: E402

HERE = Path(__file__).resolve().parent


def read_lines(name):
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines() if line.strip()]


class Cases(unittest.TestCase):
    """Every case, as the daemon would give it to the rubric."""

    def test_verdicts(self):
        expected = {verdict["id"]: verdict for verdict in read_lines("expected.jsonl")}
        for job in read_lines("cases.jsonl"):
            with self.subTest(job["id"]):
                found = rubric.score(job["case"], job["harness_output"])
                wanted = expected[job["id"]]
                self.assertEqual(found["passed"], wanted["passed"])
                codes = [mode["code"] for mode in found["failure_modes"]]
                # Compare only what the expected line says.
                self.assertAlmostEqual(found["score"], wanted.get("score", found["score"]))
                self.assertEqual(codes, wanted.get("failure_modes", codes))

    def test_names(self):
        lists = json.loads((HERE / "task_class.json").read_text("utf-8"))
        for job in read_lines("cases.jsonl"):
            with self.subTest(job["id"]):
                found = rubric.score(job["case"], job["harness_output"])
                self.assertLessEqual(set(found["breakdown"]), set(lists["breakdown_keys"]))
                self.assertLessEqual({mode["code"] for mode in found["failure_modes"]}, set(lists["failure_modes"]))


if __name__ == "__main__":
    unittest.main()
