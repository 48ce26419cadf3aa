# SPDX-License-Identifier: MIT
"""The checker's code as the daemon hands it out: compiled, with the source for a Python that cannot read the
compiled form."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# Tests a Python script and what it packs.
pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "daemon" / "checker"
sys.path.insert(0, str(CHECKER))
from embed import code_of  # noqa: E402

# As the build has them.
BUILD = (ROOT / "daemon" / "meson.build").read_text()
MODULES = re.findall(r"'(\w+)'", re.search(r"checker_modules = \[(.*?)\]", BUILD, re.DOTALL)[1])
BOOT = "import os\nexec(os.pread(6, 65536, 0).partition(b'\\0')[0])"  # LINK_PAIR_BOOT


def start(role, directory, code, fds, **streams):
    """Starts a program of a pair with FDS as its descriptors 3 and up."""

    def arrange():
        moved = [os.dup2(fd, 40 + i) for i, fd in enumerate((*fds, code))]
        for fd, to in zip(moved, (3, 4, 5, 6)):
            os.dup2(fd, to)

    return subprocess.Popen(["/usr/bin/python3", "-s", "-B", "-c", BOOT, role], cwd=directory, preexec_fn=arrange,
                            close_fds=False, **streams)  # fmt: skip


def run(directory, blob, code, target):
    text = b"".join(b"%s %d\n%s" % (n, len(v), v) for n, v in ((b"mode", b"isolated"), (b"code", code), (b"target", target)))
    memory = os.memfd_create("code")
    os.write(memory, blob)
    pipes = [os.pipe() for _ in range(3)]
    (question, ask), (hear, answer), (status, tell) = pipes
    pipe = subprocess.PIPE
    candidate = start("candidate", directory, memory, (question, answer, os.open("/dev/null", os.O_RDONLY)), stderr=pipe)
    judge = start("judge", directory, memory, (hear, ask, status), stdin=pipe, stdout=pipe, stderr=pipe)
    for fd in (*sum(pipes, ()), memory):
        os.close(fd)
    out, err = judge.communicate(text, timeout=60)
    assert judge.returncode == 0, err
    assert candidate.wait(60) == 0, candidate.stderr.read()
    return out.decode().splitlines()


@pytest.mark.parametrize("take_away", ["source", "compiled", None])
def test_either_will_do(tmp_path, take_away):
    blob = code_of(CHECKER / "start.py", [CHECKER / f"{module}.py" for module in MODULES])
    text, _, parts = blob.partition(b"\0")
    end = 8 + int.from_bytes(parts[4:8], "little")
    assert parts[:4] == importlib.util.MAGIC_NUMBER
    if take_away == "compiled":
        parts = b"\0\0\r\n" + parts[4:8] + bytes(end - 8) + parts[end:]
    elif take_away == "source":
        parts = parts[:end]
    report = run(tmp_path, text + b"\0" + parts, b"def f(x): return x + 1", b"assert f(1) == 2")
    assert report == ['{"passed":true}', '{"verdict":"pass","detail":""}']
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"], "the checker leaves nothing for the candidate"


def test_one_of_them_is_needed(tmp_path):
    with pytest.raises(AssertionError, match="EOFError"):
        run(tmp_path, (CHECKER / "start.py").read_bytes() + b"\0" + bytes(8), b"", b"assert True")


def test_the_first_part_is_read_at_once():
    assert (CHECKER / "start.py").stat().st_size < 65536 and b"\0" not in (CHECKER / "start.py").read_bytes()
    assert "pread(6, 65536, 0)" in (ROOT / "daemon" / "jail" / "link.h").read_text()
