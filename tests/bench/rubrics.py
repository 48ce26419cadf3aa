# SPDX-License-Identifier: MIT
"""The rubrics for the benchmarks, with cases whose scores are known."""

import dataclasses
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from bench import ROOT

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


# The same as task classes that have everything loaded ahead: what was rubric.py is a helper then.
AS_CLASS = dataclasses.replace(SHIPPED, task_class="exact-match-as-class")
# One whose imports take longer than everything else.
HEAVY = Rubric(
    "column-mean",
    ROOT / "tests" / "bench" / "bench_root",
    {"table": "x,y\n1,4\n2,5\n3,6\n", "column": "y"},
    right="5",
    wrong="4",
)


def install(daemon):
    """Copies the rubrics to a place that jobs may read; returns the bench root."""
    root = daemon.directory / "bench"
    for rubric in (SMALL, SHIPPED, HEAVY):
        shutil.copytree(rubric.source / rubric.task_class, root / rubric.task_class, copy_function=shutil.copyfile)
    place = root / AS_CLASS.task_class
    shutil.copytree(SHIPPED.source / SHIPPED.task_class, place, copy_function=shutil.copyfile)
    (place / "rubric.py").rename(place / "exact_match.py")
    (place / "rubric.py").write_text("from exact_match import main\n\nmain()\n")
    declared = json.loads((place / "task_class.json").read_text())
    declared["warm"] = {"helpers": ["exact_match"]}
    (place / "task_class.json").write_text(json.dumps(declared))
    return root


def job_for(root, rubric, n, **options):
    """Returns the Nth job of RUBRIC."""
    return {"kind": "rubric", "task_class": rubric.task_class, "bench_root": str(root), "case": rubric.case,
            "harness_output": {"answer": rubric.answer(n)}, **options}  # fmt: skip


def is_right(result, rubric, interpreter, of_class=False):
    """Returns whether RESULT has the expected score, from the requested interpreter; and OF_CLASS, whether the job
    was a fork of its class's template."""
    right = result["type"] == "result" and result["score"]["score"] == rubric.score(int(result["id"]))
    return right and result["interpreter"] == interpreter and bool(result.get("warm_class")) == of_class
