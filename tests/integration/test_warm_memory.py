# SPDX-License-Identifier: MIT
"""A warm job is a copy of its jail's memory. That memory must hold nothing of earlier jobs."""

import json
import secrets

import pytest
from conftest import PASSING, Bench, need_warm_jail, open_up
from test_warm import need_proc

need_warm_jail()

# Reports in which mappings it finds a mark. Its pattern does not match itself.
SCAN = """
import json, re
mark = re.compile(rb"mark-[0-9a-f]{16}")
found, size = {}, 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    spans = [line.split(maxsplit=5) for line in maps]
    for span, access, *rest in spans:
        name = rest[3].strip() if len(rest) > 3 else "anonymous"
        if access[0] != "r" or name.startswith("[v"):
            continue
        begin, end = (int(x, 16) for x in span.split("-"))
        memory.seek(begin)
        data = memory.read(end - begin)
        size += len(data)
        for match in mark.finditer(data):
            found.setdefault(match[0].decode(), []).append(f"{name}+{match.start():x}")
print(json.dumps({"passed": not found, "score": 0, "failure_modes": [
    {"code": "seen", "severity": "info", "detail": json.dumps([size, found])}]}))
"""


class Marks(dict):
    """Makes a mark for each place on first use."""

    def __missing__(self, place):
        self[place] = f"mark-{secrets.token_hex(8)}"
        return self[place]

    def names(self, found):
        places = {mark: place for place, mark in self.items()}
        return {places.get(mark, mark): where for mark, where in found.items()}


def sandbox_job(marks, tmp_path):
    readable = tmp_path / f"{marks['readable path'] * 11}/{marks['readable path'] * 11}"
    readable.mkdir(parents=True)
    open_up(readable)
    code = (
        "import os, sys\n"
        f"print('{marks['stdout']}'); print('{marks['stderr']}', file=sys.stderr)\n"
        f"os.makedirs('{marks['directory']}/{marks['directory in it']}/x')\n"
        f"open('{marks['file']}', 'w').write('{marks['content']}')\n"
        "for n in range(500):\n"
        f"    open(f'{marks['directory']}/{marks['file in it'] * 11}{{n}}', 'w')\n"
        f"    os.makedirs(f'{marks['directory of many'] * 11}{{n}}/x')\n"
        f"open('/tmp/{marks['file in tmp']}', 'w')\n"
        f"os.symlink('{marks['link']}', 'link')\n"
    )
    return {
        "kind": "sandbox", "argv": ["/usr/bin/python3", "-c", code, marks["argument"], *["x" * 50] * 50, marks["last argument"]],
        "files": {f"{marks['given directory'] * 11}/" * 3 + marks["given file"] * 11: marks["given content"]},
        "env": {"GIVEN": marks["variable"]}, "stdin": marks["input"], "readable": [str(readable)],
    }  # fmt: skip


def rubric_job(marks, tmp_path):
    bench = Bench(tmp_path / (marks["bench"] * 11))
    code = f"import os\nsecret = '{marks['rubric']}'\nos.mkdir('{marks['directory of a rubric']}')\n" + PASSING
    return bench.job(code, name=marks["task class"], case={"a": marks["case"]}, output={"b": marks["harness output"]})


def code_exec_job(marks, _):
    return {
        "kind": "code_exec", "code": f"def f():\n    return '{marks['candidate']}'",
        "targets": [f"assert f() != '{marks['target']}'"], "test_setup": f"x = '{marks['setup']}'",
    }  # fmt: skip


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("make", [sandbox_job, rubric_job, code_exec_job])
def test_nothing_of_a_job_is_in_the_memory_of_the_next(start_daemon, bench, tmp_path, make, warm):
    need_proc()
    marks = Marks()
    job = make(marks, tmp_path)
    if job["kind"] != "sandbox":
        job["warm"] = warm
    daemon = start_daemon("warm.use=yes", "sandbox.env_names=GIVEN", f"sandbox.readable_roots={tmp_path}", slots=1)
    with daemon.connect() as client:
        answer = client.run(job)
        assert answer["type"] == "result" and answer["score"]["passed"] is True, answer
        look = client.run(bench.job(SCAN))
    assert look["type"] == "result" and look["interpreter"] == "warm", look
    assert look["score"]["failure_modes"], look
    size, found = json.loads(look["score"]["failure_modes"][0]["detail"])
    assert size > 4 << 20
    assert marks.names(found) == {}


# The memory has the number that the jail's filter accepts (daemon/jail/pass.h)

# Collects the words in the program and on its stack. write(2) fails for addresses that are not mapped, so
# the script needs no /proc.
COLLECT = """
import array, ctypes, json, os
PAGE, AT_PHDR, AT_RANDOM = 4096, 3, 25
libc = ctypes.CDLL(None, use_errno=True)
libc.getauxval.restype, libc.getauxval.argtypes = ctypes.c_uint64, [ctypes.c_uint64]
libc.write.argtypes = [ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t]
program, stack = (libc.getauxval(which) & -PAGE for which in (AT_PHDR, AT_RANDOM))
reader, writer = os.pipe()
seen = set()
for page in (*range(program, program + (4 << 20), PAGE), *range(stack - (256 << 10), stack + PAGE, PAGE)):
    if libc.write(writer, page, PAGE) == PAGE:
        words = array.array("Q", os.read(reader, PAGE))
        seen.update(word for word in words if word >> 48 not in (0, 0xFFFF) and word & 0xFFFFFFFF)
"""
TRY = """
import ctypes, errno
UNSHARE, CLONE_NEWUSER = 272, 0x10000000
SECCOMP, SET_MODE_FILTER = 317, 1
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] + [ctypes.c_uint64] * 6
def filters(word): return libc.syscall(SECCOMP, SET_MODE_FILTER, 0, 0, 0, 0, word) == 0 or ctypes.get_errno() != errno.ENOSYS
found = [word for word in seen if libc.syscall(UNSHARE, CLONE_NEWUSER, 0, 0, 0, 0, word) == 0 or filters(word)]
assert len(seen) > 100
"""
TELL = """
print(json.dumps({"passed": True, "score": 0, "failure_modes": [
    {"code": "seen", "severity": "info", "detail": json.dumps([f"{word:x}" for word in seen])}]}))
"""


# A limit of the user namespace makes the pass worthless. Without that namespace jobs give up the calls.
SETTINGS = {"user namespace": [], "no user namespace": ["isolation.without=user_namespace"]}


@pytest.fixture(params=SETTINGS)
def passing_daemon(request, start_daemon):
    daemon = start_daemon("warm.use=yes", "rubric.output_bytes=4M", *SETTINGS[request.param], slots=1)
    if "seccomp" not in daemon.layers():
        pytest.skip("without seccomp the jail has no pass")
    return daemon


def test_the_jails_pass_is_of_no_use_to_a_fork(passing_daemon, bench):
    with passing_daemon.connect() as client:
        answer = client.run(bench.job(COLLECT + TRY + "print(json.dumps({'passed': not found, 'score': 0}))\n"))
    assert answer["type"] == "result" and answer["interpreter"] == "warm", answer
    assert answer["score"]["passed"] is True, answer["outcome"]


def test_nor_to_whom_it_tells(passing_daemon, bench):
    """Another program in the same jail tries the words that the first job has found."""
    with passing_daemon.connect() as client:
        told = client.run(bench.job(COLLECT + TELL))
        assert told["type"] == "result" and told["interpreter"] == "warm", told
        words = told["score"]["failure_modes"][0]["detail"]
        code = f"import json, sys\nseen = [int(word, 16) for word in json.load(sys.stdin)]\n{TRY}\nprint(len(found))\n"
        tried = client.run({"kind": "sandbox", "argv": ["/usr/bin/python3", "-c", code], "stdin": words})
    assert tried["type"] == "result" and tried["score"]["passed"] is True, tried["outcome"]
    assert tried["stdout"] == "0\n"


def test_no_job_raises_the_limit_again(client):
    limit = "/proc/sys/user/max_user_namespaces"
    script = f"cat {limit}; if echo 9 >{limit}; then echo written; fi; cat {limit}"
    answer = client.run({"kind": "sandbox", "argv": ["/bin/sh", "-c", script]})
    if not {"seccomp", "user_namespace"} <= set(answer["isolation"]["layers"]):
        pytest.skip("jobs share the host's user namespace here")
    assert answer["stdout"] == "0\n0\n", answer
