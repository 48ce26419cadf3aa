# SPDX-License-Identifier: MIT
"""What callbacks.py lists of the checker itself."""

import re
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "daemon" / "checker"))

import alarms  # noqa: E402
import callbacks  # noqa: E402
import stand_ins  # noqa: E402


def test_no_function_of_the_checker_is_for_the_code():
    """A module that is missing in the list would lend the code its functions."""
    build = (ROOT / "daemon" / "meson.build").read_text()
    modules = re.findall(r"'(\w+)'", re.search(r"checker_modules = \[(.*?)\]", build, re.DOTALL)[1])
    assert set(modules) <= set(callbacks.OWN_MODULES)


def test_the_code_adds_no_method_to_a_class_of_the_library():
    with pytest.raises(AttributeError):
        callbacks.set_attribute(type("L", (), {"__module__": "queue"}), "__repr__", lambda self: "", lambda value: False)
    with pytest.raises(AttributeError):
        callbacks.set_attribute(threading.Event, "__str__", lambda self: "", lambda value: False)


@pytest.mark.parametrize("names, is_theirs", [(["__main__"], True), (["__main__", "threading"], True),
                                              (["__main__", "wire"], False), (["__main__", "link", "queue"], False)])  # fmt: skip
def test_an_alarm_rings_amid_functions_of_the_tests_alone(names, is_theirs):
    """What each of NAMES is the module of calls the next; the last is interrupted."""
    inner = sys._getframe
    for name in reversed(names):
        space = {"__name__": name, "inner": inner}
        exec("def function(): return inner()", space)
        inner = space["function"]
    assert alarms.Alarm.is_amid_tests(callbacks.call(inner)) is is_theirs
    assert not alarms.Alarm.is_amid_tests(inner())


@pytest.mark.parametrize("module", ["__main__", "candidate", "link", "_pytest.outcomes", "unittests", "", "a..b", "a b"])
def test_no_object_of_the_code_is_of_a_class_where_names_mean_something(module):
    with pytest.raises(stand_ins.WireError):
        stand_ins.Makers.specials_of_library(None, module, "X", ())


def test_objects_of_packages_compare_nothing():
    told = ("__len__", "__eq__", "__hash__", "__bool__", "__contains__", "__add__", "__instancecheck__", 5)
    assert stand_ins.Makers.specials_of_library(None, "lxml.etree", "_Element", told) == ("__len__",)
    assert stand_ins.Makers.specials_of_library(None, "lxml.etree", "_Element", None) == ()
