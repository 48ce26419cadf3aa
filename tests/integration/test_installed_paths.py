# SPDX-License-Identifier: MIT
"""What help, man page and configuration of the client name is there once the project is installed."""

import json
import os
import re
import subprocess

import pytest
from conftest import BENCH, BUILD, DEADLINE, ROOT, RUBRICCTL, open_up


@pytest.fixture(name="root", scope="module")
def install(tmp_path_factory):
    """Returns a folder with an installation of the build."""
    meson = subprocess.run(["which", "meson"], capture_output=True, text=True, check=False).stdout.strip()
    if not meson:
        pytest.skip("meson is not installed")
    if not os.access(BUILD, os.W_OK):
        pytest.skip("the build belongs to another user")
    root = tmp_path_factory.mktemp("root")
    done = subprocess.run(
        [meson, "install", "-C", BUILD, "--no-rebuild", "--destdir", root, "--quiet"],
        capture_output=True,
        text=True,
        timeout=10 * DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    open_up(root)
    return root


def told(root):
    """Returns everything that help and man page say."""
    names = re.findall(r"^  ([a-z-]+)  +\S", ctl("--help"), re.M)
    texts = [ctl("--help"), *(ctl(name, "--help") for name in names if name in ctl("--help"))]
    (page,) = root.rglob("rubricctl.1")
    return "\n".join([*texts, page.read_text().replace("\\-", "-")])


def ctl(*arguments):
    return subprocess.run([RUBRICCTL, *arguments], capture_output=True, text=True, check=False).stdout


def test_paths_that_are_named_exist(root):
    text = told(root)
    named = set(re.findall(r"(/usr[\w/.-]*/share/rubricd[\w/.-]*\w)", text))
    assert {path.rpartition("/rubricd/")[2] for path in named} >= {"bench", "schema", "bench/README.md"}
    for path in named:
        assert (root / path[1:]).exists(), path
    assert "tests/data" not in text, "the repository is not installed"


def test_the_installed_bench_is_whole(root):
    (bench,) = root.rglob("share/rubricd/bench")
    here = {path.relative_to(BENCH) for path in BENCH.rglob("*") if "__pycache__" not in path.parts}
    assert {path.relative_to(bench) for path in bench.rglob("*")} == here
    done = subprocess.run(
        [RUBRICCTL, "check-rubric", bench], capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 0, done.stderr
    (schemas,) = root.rglob("share/rubricd/schema")
    assert {path.name for path in schemas.iterdir()} == {path.name for path in (ROOT / "proto" / "schema").iterdir()}
    for path in schemas.iterdir():
        json.loads(path.read_text())
