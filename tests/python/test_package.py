# SPDX-License-Identifier: MIT
"""The package as such: its types, the oldest Python that reads it, and its wheel."""

import ast
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
import rubricd
from conftest import PACKAGE, PYTHON

SOURCES = sorted((PACKAGE / "rubricd").glob("*.py"))
OLDEST = (3, 9)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_it_reads_in_the_oldest_python(source):
    ast.parse(source.read_text(), feature_version=OLDEST)
    assert len(source.read_text().splitlines()) < 600


def imported(source):
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_it_needs_the_standard_library_alone(source):
    own = {"inspect.py": {"inspect_ai"}, "deepeval.py": {"deepeval"}}.get(source.name, set())
    assert set(imported(source)) - own <= set(sys.stdlib_module_names)


def test_its_types_hold(tmp_path):
    """Those of a user, too: py.typed says that there are some."""
    if not shutil.which("mypy"):
        pytest.skip("mypy is not installed")
    user = tmp_path / "user.py"
    user.write_text(
        "import rubricd\n"
        "async def f() -> float:\n"
        "    async with rubricd.connect(embedded=True) as grader:\n"
        "        async for result in grader.stream([]):\n"
        "            reveal_type(result)\n"
        "    with rubricd.connect() as other:\n"
        '        wrong: int = other.run(["/bin/true"]).stdout\n'
        '        return other.code("", tests=[]).cost_usd\n'
    )
    command = ["mypy", "--strict", f"--cache-dir={tmp_path}/cache", "--python-version=3.9", "--no-error-summary"]
    done = subprocess.run([*command, "rubricd"], cwd=PACKAGE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    env = {**os.environ, "MYPYPATH": str(PACKAGE)}
    done = subprocess.run([*command, str(user)], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert 'user.py:5: note: Revealed type is "rubricd.results.Result"' in done.stdout, done.stdout
    assert "user.py:7: error: Incompatible types" in done.stdout and done.stdout.count(" error: ") == 1, done.stdout


def test_the_wheel(tmp_path):
    """With Debian's setuptools, and a network that nobody can use."""
    source = tmp_path / "python"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    environment = tmp_path / "venv"
    subprocess.run([PYTHON, "-m", "venv", "--system-site-packages", environment], check=True, timeout=120)
    nowhere = {**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_NO_INPUT": "1"}
    nowhere.pop("PYTHONPATH", None)
    pip = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    options = ["--no-build-isolation", "--no-deps", "--quiet"]
    subprocess.run([*pip, "wheel", *options, "-w", tmp_path, source], check=True, env=nowhere, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"rubricd-{rubricd.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"rubricd/{path.name}" for path in SOURCES} | {"rubricd/py.typed"} <= names
    subprocess.run([*pip, "install", *options, source], check=True, env=nowhere, timeout=300)
    code = (
        "import rubricd, importlib.metadata as m\n"
        "points = [e.value for e in m.distribution('rubricd').entry_points if e.group == 'inspect_ai']\n"
        "print(rubricd.__file__, rubricd.__version__, points)\n"
    )
    done = subprocess.run(
        [environment / "bin" / "python", "-c", code], cwd=tmp_path, env=nowhere, capture_output=True, text=True, check=True
    )
    where, version, points = done.stdout.split(maxsplit=2)
    assert where.startswith(str(environment)) and version == rubricd.__version__
    assert points.strip() == "['rubricd.inspect']"
