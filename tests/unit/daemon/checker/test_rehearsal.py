# SPDX-License-Identifier: MIT
"""Tests of what the interpreter that waits does before its first job (daemon/checker/rehearsal.py)."""

import builtins
import subprocess
import sys

import jobs  # noqa: F401  finds the modules
import copies  # noqa: E402
import program
import rehearsal


def test_judges_as_ever():
    passed, failed = rehearsal.rehearse()
    assert passed == '{"verdict":"pass","detail":""}'
    assert failed == '{"verdict":"assertion_fail","detail":""}'


def test_leaves_nothing():
    def state():
        modules = {name: id(module) for name, module in sys.modules.items()}
        return modules, dict(vars(builtins)), [*sys.meta_path], sys.getrecursionlimit(), sys.stdout, len(copies.spaces)

    rehearsal.rehearse()  # may load modules
    before = state()
    rehearsal.rehearse()
    assert state() == before
    assert not program._trees and not program._symbols


def test_loads_no_module():
    """Not even one that its code would like to import: jobs would find it among those that are loaded."""
    shown = (
        "import sys; sys.path[:0] = {!r}; import rehearsal\n"
        "sys.modules.pop('typing', None); before = set(sys.modules)\n"
        "print(len(rehearsal.rehearse()), *sorted(set(sys.modules) - before))"
    ).format(sys.path)
    done = subprocess.run([sys.executable, "-c", shown], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["2"]


def test_has_python_adapt_what_runs_often():
    """In a process of its own: others of these tests run the same functions."""
    shown = (
        "import dis, sys; sys.path[:0] = {!r}; import rehearsal, suite\n"
        "def adapted():\n"
        "    of_code = dis.get_instructions(suite.children, adaptive=True)\n"
        "    return any(one.opname not in dis.opmap for one in of_code)\n"
        "print(adapted(), rehearsal.rehearse() and adapted())"
    ).format(sys.path)
    done = subprocess.run([sys.executable, "-c", shown], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "True"]
