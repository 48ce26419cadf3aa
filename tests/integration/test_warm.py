# SPDX-License-Identifier: MIT
"""Warm or cold, a job sees the same and gets the same verdict. The tests run scripts in an interpreter
that waited in the jail and in one started for the job, and compare the facts that a script can find out
about itself, its end, and the files that it leaves. A job for which the two would differ runs cold, and
its result says so."""

import ctypes
import importlib.util
import json
import mmap
import os
import py_compile
import re
import shutil
import subprocess
import zipfile

import pytest
from conftest import BUILD, PASSING, give_to_account, need_warm_jail, open_up, user_namespaces_are_refused

need_warm_jail()

TELL = """
import json as _json, sys as _sys
def tell(facts):
    _json.dump({"passed": True, "score": 1, "failure_modes": [
        {"code": "facts", "severity": "info", "detail": _json.dumps(facts, default=repr)}]}, _sys.stdout)
"""

# Facts that a script can find out about itself: by name, some statements and an expression.
FACTS = {
    "main": ("import __main__", "sorted(vars(__main__)), __name__, repr(__main__), __file__, __spec__, __doc__, __package__"),
    "loader": ("", "type(__loader__).__name__, __loader__.path, __loader__.name, __cached__"),
    "argv": ("import sys", "sys.argv, sys.orig_argv"),
    "path": ("import sys", "sys.path, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.executable, sys._base_executable"),
    "flags": ("import sys", "repr(sys.flags), sys.dont_write_bytecode, sys.warnoptions, sys._xoptions, sys.pycache_prefix"),
    "hash seed": ("", "hash('rubric'), hash(b'x'), list({'a', 'b', 'c', 'd', 'e'})"),
    "hash of other things": ("import datetime", "hash(datetime.date(2020, 1, 1)), hash(1.5), hash(('a', 1))"),
    "streams": (
        "import sys, io",
        "[(s.name, s.mode, s.encoding, s.errors, s.newlines, s.line_buffering, s.write_through, s.fileno(),"
        " s.isatty(), s.seekable(), s.readable(), s.writable(), type(s.buffer).__name__, s.buffer.name,"
        " s.buffer.raw.closefd, s.buffer.raw.mode, s is o)"
        " for s, o in ((sys.stdin, sys.__stdin__), (sys.stdout, sys.__stdout__), (sys.stderr, sys.__stderr__))]",
    ),
    "encodings": (
        "import sys, locale",
        "sys.getdefaultencoding(), sys.getfilesystemencoding(), sys.getfilesystemencodeerrors(),"
        " locale.getpreferredencoding(), locale.setlocale(locale.LC_ALL), locale.getlocale()",
    ),
    "environment": ("import os", "dict(os.environ), os.getcwd(), os.getuid(), os.umask(0o22)"),
    "session": ("import os", "os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid(), os.getppid()"),
    "descriptors": ("import os", "sorted(os.listdir('/proc/self/fd'))"),
    "input": ("import sys", "sys.stdin.read(), sys.stdin.buffer.tell()"),
    "input from the descriptor": ("import os", "os.read(0, 10000).decode(), os.fstat(0).st_size"),
    "input by its name": ("", "open('/dev/stdin').read(), open('/proc/self/fd/0').read()"),
    "signals": (
        "import signal",
        "[(str(n), str(signal.getsignal(n))) for n in sorted(signal.valid_signals())], signal.pthread_sigmask(0, [])",
    ),
    "limits": (
        "import resource",
        "[(n, resource.getrlimit(getattr(resource, n))) for n in dir(resource) if n.startswith('RLIMIT')]",
    ),
    "recursion": (
        "import sys\ndef deep(n):\n    try:\n        return deep(n + 1)\n    except RecursionError:\n        return n",
        "sys.getrecursionlimit(), deep(0)",
    ),
    "threads": (
        "import threading\nseen = []\nt = threading.Thread(target=lambda: seen.append(threading.current_thread().name))\nt.start(); t.join()",
        "seen, threading.main_thread() is threading.current_thread(), threading.active_count(),"
        " threading.get_native_id() == __import__('os').getpid()",
    ),
    "multiprocessing": (
        "import multiprocessing\ndef f(x):\n    return x * x\n",
        "(lambda p: (p.map(f, range(5)), p.close(), p.join())[0])(multiprocessing.get_context('fork').Pool(2))",
    ),
    # Of what the waiting interpreter rehearses (rehearse() in warm.c).
    "patterns": ("import json, re", "[key for key in re._cache if 'yes|no' in repr(key)], re._compile_repl.cache_info().misses"),
    "fork": (
        "import os\nr, w = os.pipe()\npid = os.fork()\nif pid == 0:\n    os.write(w, b'child'); os._exit(7)\n",
        "os.read(r, 9).decode(), os.waitpid(pid, 0)[1]",
    ),
    "subprocess": (
        "import subprocess, sys",
        "subprocess.run([sys.executable, '-c', 'import sys; print(sys.argv, sys.flags.ignore_environment)'],"
        " capture_output=True, text=True).stdout",
    ),
    "dumpable": ("import ctypes", "ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), ctypes.CDLL(None).prctl(39, 0, 0, 0, 0)"),
    "capabilities": ("", "[l for l in open('/proc/self/status') if l.startswith(('Cap', 'NoNewPrivs', 'Seccomp:', 'Groups', 'Uid'))]"),
    "modules of the start": (
        "import sys",
        "sorted(n for n in ('site', 'os', 'io', 'abc', 'codecs', 'encodings.utf_8', '__main__', 'sitecustomize') if n in sys.modules)",
    ),
    "hooks": ("import sys", "sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.getprofile(), len(sys.meta_path), len(sys.path_hooks)"),
    "builtins": ("import builtins", "sorted(dir(builtins))"),
    "warnings": ("import warnings", "[str(f[:3]) for f in warnings.filters]"),
    "garbage collector": ("import gc", "gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.garbage"),
    "float and int": ("import sys", "repr(sys.float_info), sys.int_info, sys.get_int_max_str_digits(), sys.maxsize"),
    "modules that are loaded": (
        "import json, re, random, decimal, dataclasses, collections",
        "json.__file__, re.__file__, decimal.getcontext(), json.__spec__.origin, collections.__name__",
    ),
    "nothing written": ("import os", "os.listdir('.'), os.listdir('/tmp')"),
    "switch interval": ("import sys", "sys.getswitchinterval(), sys.getallocatedblocks() > 0"),
    "async": ("import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5", "asyncio.run(f())"),
    "uncollected": ("import weakref\nclass C: pass\nc = C(); w = weakref.ref(c); del c", "w()"),
}

# Ways for a script to end: by name, the whole script.
ENDS = {
    "well": PASSING,
    "an exception": "def f():\n    raise ValueError('naïve')\nf()",
    "a chain of exceptions": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e",
    "an exception group": "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])",
    "an exception in a helper's callback": "import json\njson.loads('{', object_hook=None)",
    "a syntax error": "x = (\n",
    "an indentation error": "def f():\nreturn 1\n",
    "null bytes": "x = 1\0\n",
    "another encoding": "# -*- coding: latin-1 -*-\nprint('\xe9')\n",
    "an unknown encoding": "# -*- coding: no-such-thing -*-\n",
    "an empty file": "",
    "exit 0": "import sys; sys.exit(0)",
    "exit 3": "import sys; sys.exit(3)",
    "exit -1": "import sys; sys.exit(-1)",
    "exit 256": "import sys; sys.exit(256)",
    "exit True": "import sys; sys.exit(True)",
    "exit None": "import sys; sys.exit(None)",
    "exit text": "import sys; sys.exit('this is why')",
    "exit an object": "import sys; sys.exit(object)",
    "exit a tuple": "import sys; sys.exit((1, 2))",
    "exit by raising": "raise SystemExit",
    "quit": "quit(4)",
    "_exit": "import os; print('lost'); os._exit(5)",
    "_exit with flush": "import os; print('kept', flush=True); os._exit(5)",
    "atexit": "import atexit, sys\natexit.register(lambda: print('at exit', file=sys.stderr))\nsys.exit(3)",
    "atexit that raises": "import atexit\natexit.register(lambda: 1 / 0)",
    "a thread that raises": "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='t')\nt.start(); t.join()\nraise SystemExit(2)",
    "a daemon thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nraise SystemExit(2)",
    "unraisable": "class C:\n    def __del__(self):\n        1 / 0\nc = C()\ndel c\nraise SystemExit(2)",
    "a destructor at the end": "import sys\nclass C:\n    def __del__(self):\n        sys.stderr.write('gone\\n')\nc = C()\nsys.exit(2)",
    "SIGTERM": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "SIGKILL": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "SIGINT": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "SIGUSR1": "import os, signal; os.kill(os.getpid(), signal.SIGUSR1)",
    "SIGHUP": "import os, signal; os.kill(os.getpid(), signal.SIGHUP)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "abort": "import os; os.abort()",
    "a fault": "import ctypes; ctypes.string_at(0)",
    "a broken pipe": "import os, sys\nr, w = os.pipe(); os.close(r)\nos.write(w, b'x')",
    "a closed stdout": "import sys\nprint('x'); sys.stdout.close()",
    "stdout closed beneath it": "import os\nprint('x'); os.close(1)",
    "a warning": "import warnings\nwarnings.warn('look out')\nraise SystemExit(2)",
    "a syntax warning": "x = 1\nif x is 1: pass\nraise SystemExit(2)",
    "a deprecation": "import warnings\nwarnings.warn('old', DeprecationWarning)\nraise SystemExit(2)",
    "stderr without a newline": "import sys\nsys.stderr.write('half a line')\nsys.exit(1)",
    "stderr in bytes": "import sys\nsys.stderr.buffer.write(b'\\xff\\xfe')\nsys.exit(1)",
    "surrogates": "import sys\nprint('\\ud800', file=sys.stderr)\nsys.exit(1)",
    "surrogates on stdout": "print('\\ud800')",
    "too deep": "def f():\n    f()\nf()",
    "no memory": "x = bytearray(4 << 30)",
    "a full disk": "open('x', 'wb').write(b'x' * (256 << 20))",
    "too much output": "while True: print('x' * 1000)",
    "a child that stays": "import os, time\nif os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\n" + PASSING,
    "no such module": "import no_such_module",
    "a relative import": "from . import x",
    "an assertion": "assert 1 == 2, 'no'",
    "exec of another program": "import os; os.execv('/bin/sh', ['sh', '-c', 'echo from the shell >&2; exit 9'])",
}


@pytest.fixture
def warm_daemon(lend):
    """A daemon with one slot, so that one jail runs both jobs."""
    return lend("warm.use=yes", slots=1)


def without_addresses(answer):
    """Replaces addresses, and the job's directory, which differs if jobs have no mount namespace."""
    text = re.sub(r" at 0x[0-9a-f]+", " at ADDRESS", json.dumps(answer))
    return json.loads(re.sub(r"/slot-[0-9]+/job-[0-9]+", "/SLOT/JOB", text))


def run_both(daemon, job):
    """Runs JOB warm and cold, and returns the two results without measured values."""
    with daemon.connect() as client:
        warm, cold = client.run({**job, "warm": True}), client.run({**job, "warm": False})
    assert warm["type"] == cold["type"] == "result", (warm, cold)
    assert (warm.pop("interpreter"), cold.pop("interpreter")) == ("warm", "cold")
    return without_measures(warm, cold)


def run_of_class(daemon, bench, job):
    """Runs JOB as one of a class that has its rubric compiled ahead, and cold. Returns the two results without
    measured values, or None if the rubric cannot be compiled ahead."""
    (bench.root / job["task_class"] / "task_class.json").write_text('{"warm": {}}')
    with daemon.connect() as client:
        client.run(job)  # the second is certainly no fork of the jail
        warm, cold = client.run(job), client.run({**job, "warm": False})
    assert warm["type"] == cold["type"] == "result", (warm, cold)
    assert cold.pop("no_warm_class") and cold.pop("warm_class") is None
    assert (warm.pop("interpreter"), cold.pop("interpreter")) == ("warm", "cold")
    reason = warm.pop("no_warm_class", None)
    if warm.pop("warm_class") is None:
        assert reason.startswith(("cannot compile the rubric: ", "its modules print", "the rubric is not a file")), reason
        return None
    return without_measures(warm, cold)


def without_measures(*answers):
    for answer in answers:
        answer.pop("usage"), answer.pop("job_no"), answer["score"].pop("wall_clock_ms")
    return [without_addresses(answer) for answer in answers]


def need_proc():
    """Skips the test if jobs have no mount namespace: they may not read the host's /proc."""
    if reason := user_namespaces_are_refused():
        pytest.skip(f"jobs cannot read /proc here: user namespaces are refused: {reason}")


# Facts that come from /proc, directly or through the library.
OF_PROC = {"descriptors", "multiprocessing", "capabilities", "nothing written"}


@pytest.mark.parametrize("name", FACTS)
def test_a_script_finds_the_same(warm_daemon, bench, name):
    if name in OF_PROC:
        need_proc()
    before, expression = FACTS[name]
    job = bench.job(f"{before}\n_facts = [{expression}]\n{TELL}\ntell(_facts)\n", case={"a": "é", "b": 2})
    warm, cold = run_both(warm_daemon, job)
    facts = [json.loads(answer["score"]["failure_modes"][0]["detail"]) for answer in (warm, cold)]
    assert facts[0] == facts[1] and facts[0]
    assert warm == cold


@pytest.mark.parametrize("name", FACTS)
def test_a_script_of_a_class_finds_the_same(warm_daemon, bench, name):
    need_proc()
    before, expression = FACTS[name]
    job = bench.job(f"{before}\n_facts = [{expression}]\n{TELL}\ntell(_facts)\n", case={"a": "é", "b": 2})
    warm, cold = run_of_class(warm_daemon, bench, job)
    facts = [json.loads(answer["score"]["failure_modes"][0]["detail"]) for answer in (warm, cold)]
    if name == "limits":  # the template counts, too
        of_warm, of_cold = (next(limit for limit in found[0] if limit[0] == "RLIMIT_NPROC")[1] for found in facts)
        assert of_warm == [limit + 1 for limit in of_cold]
        return
    assert facts[0] == facts[1] and facts[0]
    assert warm == cold


def job_that_ends(bench, name):
    code = ENDS[name]
    job = bench.job("")
    path = bench.root / job["task_class"] / "rubric.py"
    path.write_bytes(code.encode("latin-1" if "latin-1" in code else "utf-8"))
    return job


@pytest.mark.parametrize("name", ENDS)
def test_a_script_ends_the_same(warm_daemon, bench, name):
    warm, cold = run_both(warm_daemon, job_that_ends(bench, name))
    assert warm == cold


# Those that a template cannot compile without a word.
NOT_AHEAD = {"a syntax error", "an indentation error", "null bytes", "an unknown encoding", "a syntax warning"}


@pytest.mark.parametrize("name", ENDS)
def test_a_script_of_a_class_ends_the_same(warm_daemon, bench, name):
    need_proc()
    both = run_of_class(warm_daemon, bench, job_that_ends(bench, name))
    assert (both is None) == (name in NOT_AHEAD)
    if both:
        warm, cold = both
        assert warm == cold


@pytest.mark.parametrize("what", ["archive", "archive behind text", "sign of an archive", "long text"])
def test_a_script_that_may_be_an_archive(warm_daemon, bench, tmp_path, what):
    job = bench.job("raise SystemExit(3)\n")
    path = bench.root / job["task_class"] / "rubric.py"
    if what in ("archive", "archive behind text"):
        source = tmp_path / "source.py"
        source.write_text(PASSING)
        if what == "archive":
            path.unlink()
        with zipfile.ZipFile(path, "a") as archive:
            archive.write(source, "__main__.py")
    elif what == "sign of an archive":
        path.write_bytes(PASSING.encode() + b"# PK\5\6" + 18 * b" ")
    else:
        path.write_text(PASSING + "# " + 100_000 * "x")
    path.chmod(0o644)
    warm, cold = run_both(warm_daemon, job)
    assert warm == cold
    assert warm["score"]["passed"] is True


@pytest.mark.parametrize("what", ["compiled", "compiled at first sight", "zeros"])
def test_a_script_that_is_no_text(warm_daemon, bench, tmp_path, what):
    """python3 detects the type of a file by its content, not by its name."""
    job = bench.job("")
    path = bench.root / job["task_class"] / "rubric.py"
    source = tmp_path / "source.py"
    source.write_text(PASSING)
    if what == "compiled":
        py_compile.compile(str(source), cfile=str(path))
    elif what == "compiled at first sight":
        path.write_bytes(importlib.util.MAGIC_NUMBER[:2] + b"\n" + PASSING.encode())
    else:
        path.write_bytes(b"\0" + PASSING.encode())
    path.chmod(0o644)
    warm, cold = run_both(warm_daemon, job)
    assert warm == cold
    assert warm["score"]["passed"] is (what == "compiled")


def test_jobs_have_nothing_of_each_other(warm_daemon, bench):
    """A job does not see changes that the job before made to the interpreter."""
    spoil = bench.job(
        "import json, builtins, os, sys\n"
        "json.loads = None; builtins.len = None; os.environ['LEFT'] = '1'; sys.path.insert(0, '/left')\n"
        "sys.modules['left'] = json; os.umask(0); sys.setrecursionlimit(50)\n" + PASSING
    )
    look = bench.job(
        "import json, builtins, os, sys\n"
        "assert json.loads and builtins.len and 'LEFT' not in os.environ and '/left' not in sys.path\n"
        "assert 'left' not in sys.modules and os.umask(18) == 18 and sys.getrecursionlimit() == 1000\n" + PASSING
    )
    with warm_daemon.connect() as client:
        for _ in range(4):
            client.run(spoil)
            answer = client.run(look)
            assert answer["interpreter"] == "warm" and answer["score"]["passed"] is True, answer


def test_random_numbers_are_not_those_of_the_job_before(warm_daemon, bench):
    job = bench.job(f"import random, uuid, os\n{TELL}\ntell([random.random(), str(uuid.uuid4()), os.urandom(8).hex()])\n")
    with warm_daemon.connect() as client:
        seen = [client.run(job)["score"]["failure_modes"][0]["detail"] for _ in range(6)]
    facts = [json.loads(text) for text in seen]
    for column in zip(*facts):
        assert len(set(column)) == len(facts), facts


# Reports the mapping of the interpreter's code in a job, which is a copy of the jail's: [access, KiB in
# large pages]; and all mappings that are both writable and executable.
LOOK_AT_MEMORY = f"""
import ctypes, re
{TELL}
address = ctypes.cast(ctypes.pythonapi.Py_RunMain, ctypes.c_void_p).value
code, both = None, []
for mapping in re.split(r"\\n(?=[0-9a-f]+-)", open("/proc/self/smaps").read()):
    begin, end, access = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\\S+)", mapping).groups()
    if "w" in access and "x" in access:
        both.append(mapping)
    if int(begin, 16) <= address < int(end, 16):
        code = [access, int(re.search(r"AnonHugePages:\\s*(\\d+) kB", mapping)[1])]
tell([code, both])
"""


def makes_large_pages():
    """Returns whether this kernel can collapse small pages into large ones (Linux 6.1 and later)."""
    large, collapse = 2 << 20, 25
    with mmap.mmap(-1, 2 * large, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as reserved:
        begin = ctypes.addressof(ctypes.c_char.from_buffer(reserved))
        first = (begin + large - 1) // large * large
        ctypes.memset(first, 1, 1)
        return ctypes.CDLL(None).madvise(ctypes.c_void_p(first), ctypes.c_size_t(large), collapse) == 0


def test_the_interpreter_is_in_large_pages(warm_daemon, bench):
    need_proc()
    with warm_daemon.connect() as client:
        answer = client.run(bench.job(LOOK_AT_MEMORY))
    assert answer["interpreter"] == "warm" and answer["score"]["passed"] is True, answer
    (access, kib), both = json.loads(answer["score"]["failure_modes"][0]["detail"])
    assert access == "r-xp" and both == []
    if not makes_large_pages():
        pytest.skip("this kernel cannot make large pages")
    assert kib >= 2048


# Jobs that run cold


def cold_because(daemon, job):
    with daemon.connect() as client:
        answer = client.run(job)
    assert answer["type"] == "result", answer
    return answer


@pytest.mark.parametrize("file", ["json.py", "datetime.cpython-311-x86_64-linux-gnu.so", "re", "enum.pyc", "typing.py"])
def test_a_helper_called_like_what_is_loaded(warm_daemon, bench, file):
    job = bench.job("import json\n" + PASSING)
    beside = bench.root / job["task_class"] / file
    beside.mkdir() if "." not in file else beside.write_text("marker = 1\n")
    answer = cold_because(warm_daemon, job)
    assert answer["interpreter"] == "cold"


def test_a_helper_called_like_what_the_jail_looks_at(start_daemon, bench):
    """The jail loads no module for its own use that a script may have beside it."""
    loaded = subprocess.run(
        ["/usr/bin/python3", "-s", "-c", "import sys; print('warnings' in sys.modules)"], capture_output=True, text=True
    )
    if loaded.stdout == "True\n":
        pytest.skip("a package of this host has Python load warnings when it starts (a .pth file)")
    source = """
import json, sys
before = "warnings" in sys.modules
import warnings
print(json.dumps({"passed": not before and warnings.marker == 1, "score": 1}))
"""
    daemon = start_daemon("warm.use=yes", "warm.modules=json")
    job = bench.job(source)
    (bench.root / job["task_class"] / "warnings.py").write_text("marker = 1\n")
    warm, cold = run_both(daemon, job)
    assert warm == cold and warm["score"]["passed"] is True


def test_a_helper_of_its_own_is_imported(warm_daemon, bench):
    job = bench.job("from _lib import answer\nimport helper\nassert answer == 42 and helper.x == 1\n" + PASSING)
    directory = bench.root / job["task_class"]
    (directory / "_lib").mkdir()
    (directory / "_lib" / "__init__.py").write_text("answer = 42\n")
    (directory / "helper.py").write_text("x = 1\n")
    warm, cold = run_both(warm_daemon, job)
    assert warm == cold and warm["score"]["passed"] is True
    assert sorted(os.listdir(directory)) == ["_lib", "helper.py", "rubric.py"]


def test_little_memory_takes_a_fresh_interpreter(warm_daemon, bench):
    job = bench.job(PASSING, limits={"memory_bytes": 128 << 20})
    assert cold_because(warm_daemon, job)["interpreter"] == "cold"
    assert cold_because(warm_daemon, bench.job(PASSING))["interpreter"] == "warm"


def test_sandbox_jobs_are_executed(warm_daemon):
    need_proc()
    with warm_daemon.connect() as client:
        answer = client.run({"kind": "sandbox", "argv": ["/bin/sh", "-c", "trap"], "stdin": ""})
        ignored = client.run({"kind": "sandbox", "argv": ["/bin/cat", "/proc/self/status"]})
    assert "interpreter" not in answer and answer["score"]["passed"] is True
    masks = dict(line.split(":\t") for line in ignored["stdout"].splitlines() if line.startswith("Sig"))
    assert int(masks["SigIgn"], 16) == 0 and int(masks["SigCgt"], 16) == 0


# Messages


def test_code_exec_is_warm_too(warm_daemon):
    job = {"kind": "code_exec", "code": "def f(x):\n    return x + 1", "targets": ["assert f(1) == 2", "assert f(1) == 3"]}
    warm, cold = run_both(warm_daemon, job)
    assert warm == cold and warm["verdict"] == "assertion_fail" and warm["score"]["score"] == 0.5


def test_status_and_digest_tell(start_daemon):
    def isolation(*settings):
        daemon = start_daemon(*settings)
        with daemon.connect() as client:
            return client.status()["isolation"]

    warm, other, off = isolation("warm.use=yes"), isolation("warm.modules=json"), isolation("warm.use=no")
    assert warm["warm"] is other["warm"] is True and off["warm"] is False
    assert off["cold_because"] == "switched off by [warm] use"
    assert len({warm["digest"], other["digest"], off["digest"]}) == 3


SMALL = {"kind": "code_exec", "code": "x = 1", "targets": ["assert x == 1"]}


@pytest.fixture
def run_copy(tmp_path):
    """Returns a function that grades a job with copies of the programs, and with THIS as
    rubricd-jail-warm. The copies belong to the daemon's account."""
    programs = tmp_path / "programs"
    programs.mkdir()
    open_up(programs)
    for name in ("rubricd", "rubricd-jail"):
        shutil.copy(BUILD / "daemon" / name, programs / name)

    def run(this, *settings, job=SMALL):
        if this:
            shutil.copy(this, programs / "rubricd-jail-warm")
        for path in programs.iterdir():
            give_to_account(path)
        config = tmp_path / "rubricd.conf"
        config.write_text("\n".join(settings) + "\n")
        open_up(config)
        return subprocess.run(
            [BUILD / "client" / "rubricctl", "batch", "--embedded", f"--config={config}", "-"],
            input=json.dumps({"id": "x", **job}), capture_output=True, text=True, env={**os.environ, "RUBRICD": str(programs / "rubricd")},
        )

    return run


# The program is not installed, or its libpython is not. The daemon goes on without it.
@pytest.mark.parametrize("this, why", [
    (None, "rubricd-jail-warm does not stand beside rubricd-jail"),
    ("/bin/false", "rubricd-jail-warm does not start: is its libpython installed?"),
], ids=["not installed", "does not start"])
def test_without_the_program(run_copy, this, why):
    done = run_copy(this, "[warm]", "use = auto")
    answer = json.loads(done.stdout)
    assert (answer["interpreter"], answer["verdict"]) == ("cold", "pass"), done.stderr
    refused = run_copy(this, "[warm]", "use = yes")
    assert refused.returncode == 3
    assert f"[warm] use: no interpreter can wait in a jail: {why}; install rubricd-warm" in refused.stderr


CHANGE_THE_PROGRAM = f"""
import os
{TELL}
program, done = "/proc/self/exe", []
for change in (lambda: os.chmod(program, 0o4777), lambda: os.utime(program, (1, 1)), lambda: os.truncate(program, 0),
               lambda: os.setxattr(program, "user.left", b"1"), lambda: open(program, "r+b").write(b"#!")):
    try:
        change()
        done.append("changed")
    except OSError:
        pass
tell(done)
"""


def test_the_program_that_a_job_is_a_copy_of(run_copy, bench, tmp_path):
    """A job cannot change this file of the host, even if the file belongs to the job's account."""
    done = run_copy(BUILD / "daemon" / "rubricd-jail-warm", "[warm]", "use = yes", job=bench.job(CHANGE_THE_PROGRAM))
    answer = json.loads(done.stdout)
    if "mount_namespace" not in answer["isolation"]["layers"]:
        pytest.skip("without a mount namespace a job can change files of its account")
    assert answer["interpreter"] == "warm" and answer["score"]["passed"] is True, answer
    assert answer["score"]["failure_modes"][0]["detail"] == "[]"
    after = (tmp_path / "programs" / "rubricd-jail-warm").stat()
    assert after.st_mode & 0o7777 == 0o755 and after.st_mtime > 1


def test_a_module_that_is_not_there(start_daemon):
    daemon = start_daemon("warm.modules=json no_such_module")
    with daemon.connect() as client:
        isolation = client.status()["isolation"]
        assert isolation["warm"] is False
        assert isolation["cold_because"].startswith("cannot load no_such_module: ModuleNotFoundError")
        answer = client.run({"kind": "code_exec", "code": "x = 1", "targets": ["assert x == 1"]})
        assert (answer["interpreter"], answer["verdict"]) == ("cold", "pass")
