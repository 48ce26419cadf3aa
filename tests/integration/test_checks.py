# SPDX-License-Identifier: MIT
"""The checks that guard the tree can fail: each is shown something wrong."""

import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests"))
import check_includes  # noqa: E402
import schema_check  # noqa: E402


def judge(tmp_path, file, line):
    """What check_includes says of a tree in which FILE has LINE."""
    for folder in check_includes.FOLDERS:
        (tmp_path / folder).mkdir()
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(f"#pragma once\n{line}\n")
    broken, judged = check_includes.check(tmp_path)
    assert judged == 1
    return [(source, number) for source, number, _ in broken]


@pytest.mark.parametrize(
    "file, line",
    [
        ("proto/frame.c", '#include "daemon/slot.h"'),
        ("proto/frame.c", '#include "conf/config.h"'),
        ("proto/frame.c", "#include <event2/event.h>"),
        ("conf/config.c", '#include "client/run.h"'),
        ("client/run.c", '#include "daemon/queue.h"'),
        ("daemon/slot.c", '#include "daemon/conn.h"'),
        ("daemon/queue.h", '#include "daemon/job.h"'),
        ("daemon/outcome.c", '#include "daemon/supervisor.h"'),
        ("daemon/nowhere.c", '#include "daemon/log.h"'),
        ("daemon/log.h", '#include "daemon/nowhere.h"'),
        ("daemon/jail/jail.c", '#include "daemon/slot.h"'),
        ("daemon/jail/jail.c", '#include "proto/json.h"'),
        ("daemon/jail/wipe.c", "#include <jansson.h>"),
    ],
)
def test_an_include_that_goes_up_is_found(tmp_path, file, line):
    assert judge(tmp_path, file, line) == [(file, 2)]


@pytest.mark.parametrize(
    "file, line",
    [
        ("proto/reply.c", "#include <jansson.h>"),
        ("daemon/conn.c", '#include "daemon/queue.h"'),
        ("daemon/slot.c", '#include "daemon/jail/link.h"'),
        ("daemon/jail/jail.c", '#include "proto/util.h"'),
        ("client/run.c", '#include "proto/json.h"'),
    ],
)
def test_an_include_that_goes_down_is_not(tmp_path, file, line):
    assert judge(tmp_path, file, line) == []


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
