# SPDX-License-Identifier: MIT
"""Shows each check that guards the tree something wrong, to see that it can fail."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests"))
import check_includes  # noqa: E402
import limit_table  # noqa: E402
import replaced_check  # noqa: E402
import schema_check  # noqa: E402
import security_check  # noqa: E402
import tidy  # noqa: E402

# Tests the scripts that check the tree.
pytestmark = pytest.mark.once


def judge(tmp_path, files):
    """Returns what check_includes says of a tree of FILES, {name: its lines after the first}."""
    for file, lines in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("#pragma once\n" + "".join(f"{line}\n" for line in lines))
    broken, includes = check_includes.check(tmp_path)
    assert len(includes) == sum(map(len, files.values()))
    return broken


@pytest.mark.parametrize(
    "file, line",
    [
        ("proto/frame.c", '#include "daemon/pool/slot.h"'),
        ("proto/frame.c", '#include "conf/config.h"'),
        ("proto/frame.c", "#include <event2/event.h>"),
        ("conf/config.c", '#include "client/commands/commands.h"'),
        ("client/commands/run.c", '#include "daemon/pool/queue.h"'),
        ("client/terminal/text.c", '#include "client/cli/options.h"'),
        ("client/cli/help.c", '#include "client/commands/commands.h"'),
        ("daemon/pool/slot.c", '#include "daemon/net/conn.h"'),
        ("daemon/pool/queue.h", '#include "daemon/jobs/job.h"'),
        ("daemon/kinds/outcome.c", '#include "daemon/supervisor/supervisor.h"'),
        ("daemon/nowhere/nowhere.c", '#include "daemon/log/log.h"'),
        ("daemon/log/log.h", '#include "daemon/nowhere/nowhere.h"'),
        ("daemon/jail/jail.c", '#include "daemon/pool/slot.h"'),
        ("daemon/jail/jail.c", '#include "daemon/base/events.h"'),
        ("daemon/jail/jail.c", '#include "proto/json.h"'),
        ("daemon/jail/wipe.c", "#include <jansson.h>"),
    ],
)
def test_an_include_that_goes_up_is_found(tmp_path, file, line):
    (wrong,) = judge(tmp_path, {file: [line]})
    assert wrong.startswith(f"{file}:2: ")


@pytest.mark.parametrize(
    "file, line",
    [
        ("proto/reply.c", "#include <jansson.h>"),
        ("daemon/net/conn.c", '#include "daemon/pool/queue.h"'),
        ("daemon/pool/slot.c", '#include "daemon/jail/link.h"'),
        ("daemon/jail/jail.c", '#include "proto/util.h"'),
        ("daemon/jail/jail.c", '#include "daemon/base/clock.h"'),
        ("client/commands/run.c", '#include "proto/json.h"'),
    ],
)
def test_an_include_that_goes_down_is_not(tmp_path, file, line):
    assert judge(tmp_path, {file: [line]}) == []


def test_a_circle_of_files_is_found(tmp_path):
    files = {
        "proto/json.h": [],
        "proto/json.c": ['#include "printer.h"'],
        "proto/printer.h": ['#include "json.h"'],
    }
    assert judge(tmp_path, files) == ["a circle of files: proto/json proto/printer"]


def test_a_private_header_belongs_to_its_module(tmp_path):
    files = {
        "client/batch/engine.h": [],
        "client/batch/engine.c": ['#include "engine_private.h"'],
        "client/batch/engine_private.h": ['#include "engine.h"'],
    }
    assert judge(tmp_path, files) == []


def test_a_circle_of_rooms_is_found(tmp_path):
    files = {
        "daemon/log/log.c": ['#include "daemon/base/clock.h"'],
        "daemon/base/clock.h": [],
        "daemon/base/timer.c": ['#include "daemon/log/record.h"'],
        "daemon/log/record.h": [],
    }
    upward, circle = judge(tmp_path, files)
    assert upward.startswith("daemon/base/timer.c:2: ")
    assert circle == "a circle of rooms: daemon/base daemon/log"


COUNT = ROOT / "tests" / "count_results.py"
CASES = {
    "passed": '<testcase name="a"/>',
    "failed": '<testcase name="b"><failure message="no"/></testcase>',
    "error": '<testcase name="c"><error message="no"/></testcase>',
    "skipped": '<testcase name="d"><skipped message="not here"/></testcase>',
}


@pytest.mark.parametrize(
    "kinds, last, status",
    [
        (["passed", "passed"], "2 passed, 0 failed, 0 skipped", 0),
        (["passed", "skipped"], "1 passed, 0 failed, 1 skipped", 0),
        (["passed", "failed"], "1 passed, 1 failed, 0 skipped", 1),
        (["passed", "error"], "1 passed, 1 failed, 0 skipped", 1),
        (["skipped"], "0 passed, 0 failed, 1 skipped", 1),
        ([], "0 passed, 0 failed, 0 skipped", 1),
    ],
)
def test_counting_results(tmp_path, kinds, last, status):
    file = tmp_path / "r.xml"
    file.write_text(f"<testsuite>{''.join(CASES[kind] for kind in kinds)}</testsuite>")
    process = subprocess.run(
        [sys.executable, COUNT, file], capture_output=True, text=True, check=False
    )
    assert process.stdout.splitlines()[-1] == last
    assert process.returncode == status


MESON = {
    "ok": {"name": "p:unit / a", "result": "OK", "returncode": 0},
    "time": {"name": "p:unit / b", "result": "TIMEOUT", "returncode": -15},
    "failed": {"name": "p:unit / c", "result": "FAIL", "returncode": 1},
    "end": {"name": "p:unit / cc", "result": "ERROR", "returncode": 23},
    "skipped": {"name": "p:unit / d", "result": "SKIP", "returncode": 77},
}


def test_programs_that_end_badly_behind_their_last_case_count(tmp_path):
    """meson's XML shows no failed case of such a program. A program with a failed case counts by that case alone."""
    cases = "".join(f'<testcase classname="p.p:unit / {name}" name="1 - x"/>' for name in ("a", "b", "cc"))
    failed = '<testcase classname="p.p:unit / c" name="1 - x"><failure message="no"/></testcase>'
    (tmp_path / "u.xml").write_text(f"<testsuite>{cases}{failed}</testsuite>")
    (tmp_path / "u.json").write_text("".join(json.dumps(test) + "\n" for test in MESON.values()))
    process = subprocess.run([sys.executable, COUNT, tmp_path / "u.xml", tmp_path / "u.json"], capture_output=True, text=True, check=False)
    assert process.stdout.splitlines() == [
        "failed: p.p:unit / c 1 - x: no",
        "failed: p:unit / b: TIMEOUT, status -15",
        "failed: p:unit / cc: ERROR, status 23",
        "3 passed, 3 failed, 0 skipped",
    ]
    assert process.returncode == 1


def test_failed_tests_are_listed_last(tmp_path):
    for name, kinds in (("1.xml", ["failed", "skipped"]), ("2.xml", ["skipped", "error", "passed"])):
        (tmp_path / name).write_text(f"<testsuite>{''.join(CASES[kind] for kind in kinds)}</testsuite>")
    process = subprocess.run(
        [sys.executable, COUNT, tmp_path / "1.xml", tmp_path / "2.xml"], capture_output=True, text=True, check=False
    )
    *tests, last = process.stdout.splitlines()
    assert tests == ["skipped: d: not here", "skipped: d: not here", "failed: b: no", "failed: c: no"]
    assert last == "1 passed, 2 failed, 2 skipped"


def test_a_message_that_breaks_its_schema_is_refused():
    schema_check.validate({"type": "pong"}, "daemon")
    for message, direction in (
        ({"type": "pong", "x": 1}, "daemon"),
        ({"type": "pong"}, "client"),
        ({"type": "submit", "id": "", "job": {}}, "client"),
        ([], "daemon"),
    ):
        with pytest.raises(schema_check.SchemaError):
            schema_check.validate(message, direction)


# What belongs to a kind of job


KIND_FILES = [
    "proto/jobspec.h",
    "proto/schema/kinds.schema.json",
    "proto/protocol.md",
    "conf/rubricd.conf",
    "README.md",
    "tests/integration/test_sandbox.py",
]


@pytest.mark.parametrize(
    ("file", "old", "new", "faults"),
    [
        ("proto/schema/kinds.schema.json", '"sandbox"', '"box"', [
            "kinds.schema.json has the kinds of JOB_KINDS under name",
            "kinds.schema.json has the kinds of JOB_KINDS under job",
            "kinds.schema.json has the kinds of JOB_KINDS under limits",
            "kinds.schema.json has the kinds of JOB_KINDS under counts",
        ]),
        ("conf/rubricd.conf", "\n[sandbox]\n", "\n[box]\n", ["conf/rubricd.conf has the section [sandbox]"]),
        ("proto/protocol.md", "## Jobs of kind `sandbox`", "## Sandbox", [
            "proto/protocol.md has a section on kind sandbox"
        ]),
        ("README.md", "- `sandbox`:", "- sandbox:", ["README.md lists the kind sandbox"]),
        ("tests/integration/test_sandbox.py", "def test_", "def ", ["tests/integration/test_sandbox.py is there"]),
    ],
)  # fmt: skip
def test_what_a_kind_of_job_lacks_is_named(tmp_path, file, old, new, faults):
    def copy(name):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())

    for kind in limit_table.KINDS:
        copy(f"tests/integration/test_{kind}.py")
    for name in KIND_FILES:
        copy(name)
    assert all(good for _, good in schema_check.check_kinds(tmp_path))
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    assert [what for what, good in schema_check.check_kinds(tmp_path) if not good] == faults


def test_no_room_is_listed_twice():
    for program in check_includes.PROGRAMS:
        assert len(program) == len({*program})


# The table of packaging/check


def test_every_room_has_tests():
    rooms = tomllib.loads((ROOT / "tests" / "rooms.toml").read_text())
    assert set(rooms) == {*check_includes.ROOMS, "daemon/checker"}
    for room in rooms.values():
        assert room["tests"] and set(room) <= {"tests", "more"}
        names = [*room["tests"], *room.get("more", [])]
        assert all((ROOT / "tests" / "integration" / name).exists() for name in names)
        assert len(names) == len(set(names))


def test_an_unknown_room_is_reported_with_the_known_ones():
    done = subprocess.run(
        [ROOT / "packaging" / "check", "daemon/pool", "daemon/pol"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    told = "check: no room is called daemon/pol; rooms: client client/commands "
    assert done.stderr.startswith(told) and " daemon/pool " in done.stderr


def test_tidy_judges_again_what_changed(tmp_path):
    """tidy keys a remembered verdict by everything that the verdict depends on."""
    source, header = tmp_path / "a.c", tmp_path / "a.h"
    source.write_text("int a;\n")
    header.write_text("int b;\n")
    entry = {"output": "a.o", "command": "cc a.c"}

    def key(command="cc a.c", common="14"):
        tidy.digest_of.cache_clear()
        return tidy.key_of(source, {**entry, "command": command}, {"a.o": [source, header]}, common)

    first = key()
    assert first == key()
    others = [key(command="cc -O2 a.c"), key(common="15")]
    header.write_text("int c;\n")
    others.append(key())
    source.write_text("int d;\n")
    others.append(key())
    assert len({first, *others}) == 5
    assert tidy.key_of(source, entry, {}, "14") is None, "no key without ninja's record of the includes"


def test_tidy_remembers_for_every_checkout(tmp_path):
    """The same sources have the same key in another checkout; a file outside of both counts by its path."""

    def key(root, outside="/usr/include/stdio.h"):
        root.mkdir(exist_ok=True)
        source = root / "a.c"
        source.write_text("int a;\n")
        entry = {"output": "a.o", "command": f"cc -DHERE={root}/x a.c"}
        return tidy.key_of(source, entry, {"a.o": [source, Path(outside)]}, "14", root)

    here = key(tmp_path / "here")
    assert here == key(tmp_path / "there") != key(tmp_path / "here", "/usr/include/stdlib.h")


def test_tidy_forgets_what_no_run_has_met_for_long(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = tidy.memory()
    (place / "new").touch()
    (place / "old").touch()
    os.utime(place / "old", (1, 1))
    assert [file.name for file in tidy.memory().iterdir()] == ["new"] and place.is_relative_to(tmp_path)


SECURITY_PAGE = """
| claim | layers | held by |
|---|---|---|
| good | none | `fork` `tests/a.py::test_a` `tests/b.c::test_b` |

| what | why | shown by |
|---|---|---|
| open | so | `lock` |
| open too | so | |
"""


@pytest.mark.parametrize(
    "old, new, fault",
    [
        ("", "", None),
        ("`fork`", "`spoon`", "there is no attack spoon"),
        ("a.py::test_a", "c.py::test_a", "there is no file tests/c.py"),
        ("a.py::test_a", "a.py::test_", "tests/a.py has no test_"),
        ("b.c::test_b", "b.c::test_c", "tests/b.c has no test_c"),  # it is never run
        ("`fork` `tests/a.py::test_a` `tests/b.c::test_b`", "", "no test is named"),
        ("`fork`", "`lock`", "lock is open"),
        ("`lock`", "`fork`", "fork is not open"),
        ("`lock`", "", "not named: lock"),
        ("held by", "held", "no table ends with the column `held by`"),
    ],
)
def test_a_claim_without_its_test_is_found(tmp_path, old, new, fault):
    (tmp_path / "tests" / "hostile").mkdir(parents=True)
    (tmp_path / "tests" / "hostile" / "manifest.toml").write_text('[fork]\n[lock]\nopen = "x"\n')
    (tmp_path / "tests" / "a.py").write_text("def test_a():\n    pass\n")
    (tmp_path / "tests" / "b.c").write_text(
        "static void test_b(void **state)\n{\n}\nstatic void test_c(void)\n{\n}\ncmocka_unit_test(test_b);\n"
    )
    (tmp_path / "SECURITY.md").write_text(SECURITY_PAGE.replace(old, new))
    faults = [found for _, found in security_check.check(tmp_path) if found]
    assert faults[:1] == ([fault] if fault else []), faults


@pytest.mark.parametrize(
    "text,found",
    [
        ("def test_a(): pass\ndef test_b(): pass\n", []),
        ("def test_a(): pass\ndef test_a(): pass\n", ["tests/x/t.py:2: test_a replaces one of the same name"]),
        ("from m import test_a\ndef test_a(): pass\n", ["tests/x/t.py:2: test_a replaces one of the same name"]),
        ("class A:\n def f(self): pass\n def f(self): pass\n", ["tests/x/t.py:3: f replaces one of the same name"]),
        ("class A:\n @property\n def f(self): pass\n @f.setter\n def f(self, x): pass\n", []),
        ("if x:\n def f(): pass\nelse:\n def f(): pass\n", []),
    ],
)
def test_a_definition_that_replaces_another_is_found(tmp_path, text, found):
    (tmp_path / "tests" / "x").mkdir(parents=True)
    (tmp_path / "tests" / "x" / "t.py").write_text(text)
    assert replaced_check.check(tmp_path) == found
