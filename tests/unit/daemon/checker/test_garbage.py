# SPDX-License-Identifier: MIT
"""What tests and prelude see of the garbage collector (daemon/checker/garbage.py)."""

import duel
import pytest

CYCLE = """
import gc, weakref
class Node:
    pass
def dead():
    node = Node()
    node.me = node
    return weakref.ref(node)
"""
JOBS = {
    "it runs in tests": ("", "import gc\nassert gc.isenabled() and f() == 1"),
    "it runs in the prelude": ("import gc\nWAS_ON = gc.isenabled()\n", "assert WAS_ON and f() == 1"),
    "what the prelude switches off stays off": ("import gc\ngc.disable()\n", "import gc\nassert not gc.isenabled() and f() == 1"),
    "it collects what tests make": ("", f"{CYCLE}\nfound = dead()\ngc.collect()\nassert found() is None and f() == 1"),
    "it collects what the prelude makes": (f"{CYCLE}\nFOUND = dead()\n", "import gc\ngc.collect()\nassert FOUND() is None and f() == 1"),
}  # fmt: skip


@pytest.fixture(scope="module")
def referee():
    found = duel.Referee()
    yield found
    found.close()


@pytest.mark.parametrize("name", JOBS)
def test_collector(referee, name):
    prelude, test = JOBS[name]
    job = {"code": "def f(): return 1\n", "prelude": prelude, "targets": [test], "entry_point": "f"}
    assert referee.judge(job)["verdict"] == "pass", referee.judge(job)
    assert referee.judge(job, "plain")["verdict"] == "pass"


def test_does_not_visit_what_the_judge_has_made(referee):
    """Else each collection would write to all trees of the job's texts."""
    job = {"code": "def f(): return 1\n", "prelude": "import math\n", "entry_point": "f"}
    counted = "sum(type(one).__module__ == 'ast' for one in gc.get_objects())"  # but what is made of this text just now
    job["targets"] = [f"import gc\nassert f() == 1\nassert {counted} < 100", "x = [1]\n" * 300]
    found = referee.judge(job)
    assert found["verdict"] == "pass", found
