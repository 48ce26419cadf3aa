# SPDX-License-Identifier: MIT
"""The checker's files as the daemon hands them out: compiled, with the source for a Python that cannot read
the compiled form."""

import subprocess
import sys
from pathlib import Path

import pytest

# Tests a Python script and what it packs.
pytestmark = pytest.mark.once

CHECKER = Path(__file__).resolve().parents[2] / "daemon" / "checker"
sys.path.insert(0, str(CHECKER))
from embed import files_of  # noqa: E402

MODULES = ("wire", "classes", "suite", "program", "names", "simple", "plain", "aliases", "proxies", "candidate", "judge")


def run(directory, code, target):
    text = b"".join(b"%s %d\n%s" % (n, len(v), v) for n, v in ((b"mode", b"isolated"), (b"code", code), (b"target", target)))
    done = subprocess.run(["/usr/bin/python3", "-s", "-B", ".checker/main.py"], cwd=directory, input=text,
                          capture_output=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().splitlines()


def write(directory, take_away):
    here = directory / ".checker"
    here.mkdir()
    for name, data in files_of(CHECKER / "main.py", [CHECKER / f"{module}.py" for module in MODULES]).items():
        if name == take_away:
            data = b"\0\0\r\n" + b"not for this Python"
        (here / name).write_bytes(data)


@pytest.mark.parametrize("take_away", ["source", "compiled"])
def test_either_will_do(tmp_path, take_away):
    write(tmp_path, take_away)
    report = run(tmp_path, b"def f(x): return x + 1", b"assert f(1) == 2")
    assert report == ['{"passed":true}', '{"verdict":"pass","detail":""}']
    assert not any(tmp_path.iterdir()), "the checker leaves no file for the candidate"


def test_one_of_them_is_needed(tmp_path):
    write(tmp_path, "compiled")
    (tmp_path / ".checker" / "source").unlink()
    with pytest.raises(AssertionError, match="No such file"):
        run(tmp_path, b"def f(x): return x + 1", b"assert f(1) == 2")
