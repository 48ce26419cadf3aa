# SPDX-License-Identifier: MIT
"""The rubrics for the benchmarks, with cases whose scores are known."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from bench import ROOT

# Rubrics of warm classes: all that is done once is in a module of the class's own.
CALLS = "import {module}\n\nif __name__ == '__main__':\n    {module}.main()\n"
FRAMES = """import json
import sys

import numpy as np
import pandas as pd


def main():
    request = json.load(sys.stdin)
    frame = pd.DataFrame({"answer": [request["harness_output"]["answer"]], "gold": [request["case"]["answer"]]})
    right = bool(np.all(frame["answer"].str.strip() == frame["gold"]))
    json.dump({"passed": right, "score": float(right)}, sys.stdout)
"""

# One answer in this many is wrong.
WRONG_EVERY = 4


@dataclass
class Rubric:
    task_class: str
    source: Path
    case: dict
    right: str
    wrong: str

    def answer(self, n):
        return self.wrong if n % WRONG_EVERY == 0 else self.right

    def score(self, n):
        return 0 if n % WRONG_EVERY == 0 else 1


SMALL = Rubric(
    "last-number",
    ROOT / "tests" / "bench" / "bench_root",
    {"question": "How many days has a leap year?", "answer": 366},
    right="365 days and one more make 366.",
    wrong="It has 365 days.",
)
SHIPPED = Rubric(
    "exact-match",
    ROOT / "tests" / "data" / "bench",
    {"case_id": "capital", "question": "What is the capital of Australia?", "answer": "Canberra"},
    right="Canberra",
    wrong="Sydney",
)


CLASS = Rubric("exact-match-class", SHIPPED.source, SHIPPED.case, SHIPPED.right, SHIPPED.wrong)
LARGE = Rubric("frames-class", SHIPPED.source, SHIPPED.case, SHIPPED.right, SHIPPED.wrong)


def install_class(root, rubric, module, text, modules):
    """Writes the warm class RUBRIC, whose work is done by MODULE with TEXT, and which loads MODULES."""
    directory = root / rubric.task_class
    directory.mkdir()
    (directory / "rubric.py").write_text(CALLS.format(module=module))
    (directory / f"{module}.py").write_text(text)
    warm = {"modules": modules, "helpers": [module]}
    (directory / "task_class.json").write_text(json.dumps({"warm": warm}))


def install(daemon):
    """Copies the rubrics to a place that jobs may read; returns the bench root."""
    root = daemon.directory / "bench"
    for rubric in (SMALL, SHIPPED):
        shutil.copytree(rubric.source / rubric.task_class, root / rubric.task_class, copy_function=shutil.copyfile)
    text = (SHIPPED.source / SHIPPED.task_class / "rubric.py").read_text()
    install_class(root, CLASS, "exact_match", text, ["unicodedata", "decimal"])
    install_class(root, LARGE, "frames", FRAMES, ["numpy", "pandas"])
    return root


def job_for(root, rubric, n, **options):
    """Returns the Nth job of RUBRIC."""
    return {"kind": "rubric", "task_class": rubric.task_class, "bench_root": str(root), "case": rubric.case,
            "harness_output": {"answer": rubric.answer(n)}, **options}  # fmt: skip


def is_right(result, rubric, interpreter):
    """Returns whether RESULT has the expected score, from the requested interpreter: "class" is one that has
    loaded the task class once for all jobs, but for the first ones, for which it loads."""
    if interpreter == "class":
        interpreter = "warm"
        if not result["warm_class"]["loaded"]:
            return False
    right = result["type"] == "result" and result["score"]["score"] == rubric.score(int(result["id"]))
    return right and result["interpreter"] == interpreter
