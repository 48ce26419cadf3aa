# SPDX-License-Identifier: MIT
"""Task classes that are loaded once for all their jobs: what a job finds is what it would find without, none
finds anything of another, and where the class cannot be loaded so, its jobs run as any other and say why."""

import json
import re
import shutil

import pytest
from conftest import PASSING, REPORT, need_warm_jail, seen

need_warm_jail()

STAMP = "import time\nSTAMP = time.time_ns()\ncount = 0\n"
USES_STAMP = REPORT + "import helper\nhelper.count += 1\nreport(stamp=helper.STAMP, count=helper.count)\n"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Classes:
    """Writes task classes with helpers, and runs jobs of them."""

    def __init__(self, bench, daemon):
        self.bench = bench
        self.daemon = daemon

    def make(self, rubric, helpers=None, modules=(), declared=None):
        """Returns the name of a class whose rubric is RUBRIC, with HELPERS: {name: text}."""
        helpers = helpers or {}
        warm = {"modules": list(modules), "helpers": list(helpers) if declared is None else declared}
        name = self.bench.rubric(rubric, task_class={"warm": warm})
        for helper, text in helpers.items():
            (self.bench.root / name / f"{helper}.py").write_text(text)
        return name

    def run(self, name, **fields):
        with self.daemon.connect() as client:
            return client.run(self.bench.job(name=name, **fields))

    def loaded(self, name, **fields):
        """Runs a job that must be a fork of what was loaded; returns its result."""
        result = self.run(name, **fields)
        assert result["warm_class"].get("loaded") is True, result
        assert DIGEST.fullmatch(result["warm_class"]["digest"]) and result["interpreter"] == "warm"
        return result

    def refused(self, name, **fields):
        """Runs a job of a class that cannot be loaded once; returns why, and the result."""
        result = self.run(name, **fields)
        assert result["warm_class"]["loaded"] is False, result
        return result["warm_class"]["because"], result


@pytest.fixture
def classes(bench, lend):
    return Classes(bench, lend("daemon.slots=1", "warm.use=yes"))


@pytest.fixture
def make_classes(bench, start_daemon):
    return lambda *settings: Classes(bench, start_daemon("daemon.slots=1", *settings))


# --- what is loaded


def test_it_is_loaded_once(classes):
    name = classes.make(USES_STAMP, {"helper": STAMP})
    found = [seen(classes.loaded(name)) for _ in range(3)]
    assert len({one["stamp"] for one in found}) == 1


def test_nothing_is_kept_from_job_to_job(classes):
    name = classes.make(USES_STAMP, {"helper": STAMP})
    assert [seen(classes.loaded(name))["count"] for _ in range(3)] == [1, 1, 1]


def test_files_are_not_kept(classes):
    code = REPORT + "import os\nfound = os.listdir('.') + os.listdir('/tmp')\nopen('left', 'w')\nopen('/tmp/left', 'w')\nreport(found=found)"
    name = classes.make(code)
    assert [seen(classes.loaded(name))["found"] for _ in range(2)] == [[], []]


def test_a_job_has_its_own_input_and_output(classes):
    name = classes.make(REPORT + "report(got=json.load(sys.stdin)['harness_output'])\n")
    for n in range(4):
        assert seen(classes.loaded(name, output={"n": n}))["got"] == {"n": n}


@pytest.mark.parametrize("changed", ["helper.py", "rubric.py", "task_class.json"])
def test_it_is_replaced_when_a_file_changes(classes, changed):
    name = classes.make(USES_STAMP, {"helper": STAMP, "other": "x = 1\n"})
    before = classes.loaded(name)
    path = classes.bench.root / name / changed
    if changed == "task_class.json":
        path.write_text(json.dumps({"warm": {"helpers": ["helper"]}}))
    else:
        path.write_text(path.read_text() + "# changed\n")
    after = classes.loaded(name)
    assert before["warm_class"]["digest"] != after["warm_class"]["digest"]
    assert seen(before)["stamp"] != seen(after)["stamp"]


def test_the_text_that_was_loaded_runs(classes):
    name = classes.make(REPORT + "import helper\nreport(n=helper.N)\n", {"helper": "N = 1\n"})
    assert seen(classes.loaded(name))["n"] == 1
    (classes.bench.root / name / "helper.py").write_text("N = 2\n")
    assert seen(classes.loaded(name))["n"] == 2
    (classes.bench.root / name / "rubric.py").write_text(REPORT + "import helper\nreport(n=helper.N + 10)\n")
    assert seen(classes.loaded(name))["n"] == 12


def test_equal_classes_have_processes_of_their_own(classes):
    one, other = (classes.make(USES_STAMP, {"helper": STAMP}) for _ in range(2))
    assert seen(classes.loaded(one))["stamp"] != seen(classes.loaded(other))["stamp"]


def test_equal_classes_of_two_benches_do_too(classes, tmp_path):
    name = classes.make(USES_STAMP, {"helper": STAMP})
    shutil.copytree(classes.bench.root, tmp_path / "other")
    other = {"bench_root": str(tmp_path / "other")}
    one, another, again = classes.loaded(name), classes.loaded(name, **other), classes.loaded(name)
    assert one["warm_class"] == another["warm_class"]
    assert seen(one)["stamp"] == seen(again)["stamp"] != seen(another)["stamp"]


def test_other_limits_are_kept(classes):
    code = "import resource\nimport helper\nreport(stamp=helper.STAMP, limits=[resource.getrlimit(n)[1] for n in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)])"
    name = classes.make(REPORT + code, {"helper": STAMP})
    limits = {"memory_bytes": 1 << 30, "cpu": 7, "max_open_files": 33, "disk_bytes": 1 << 20}
    usual, of_its_own, again = (seen(classes.loaded(name, **more)) for more in ({}, {"limits": limits}, {}))
    assert of_its_own["limits"] == [1 << 30, 8, 33, 1 << 20]
    assert usual == again and usual["limits"] != of_its_own["limits"]


@pytest.mark.parametrize("classes_kept", [1, 2])
def test_the_last_ones_are_kept(make_classes, classes_kept):
    classes = make_classes(f"warm.classes={classes_kept}")
    one, other = (classes.make(USES_STAMP, {"helper": STAMP}) for _ in range(2))
    first, _, again = (seen(classes.loaded(name))["stamp"] for name in (one, other, one))
    assert (first == again) is (classes_kept == 2)


def test_they_are_bound_in_memory_together(make_classes):
    classes = make_classes("warm.classes=4", "warm.classes_memory=100M")
    large = STAMP + "DATA = bytes(range(256)) * (60 << 12)\n"
    one, other = (classes.make(USES_STAMP, {"helper": large}) for _ in range(2))
    first, _, again = (seen(classes.loaded(name))["stamp"] for name in (one, other, one))
    assert first != again


def test_one_that_takes_too_much_is_not_kept(make_classes):
    classes = make_classes("warm.classes_memory=20M")
    name = classes.make(PASSING, {"helper": "DATA = bytes(range(256)) * (60 << 12)\n"})
    because, _ = classes.refused(name)
    assert because == "it takes more than [warm] classes_memory"


# --- what a job finds

FACTS = {
    "a helper": "import helper\nfound = [helper.__name__, helper.__file__, helper.__cached__, helper.__package__, type(helper.__loader__).__name__, helper.__loader__.path, repr(helper.__spec__.loader)[:40], helper.__spec__.origin, helper.__spec__.cached, helper.__spec__.has_location, sorted(vars(helper)), helper.WHERE]",
    "what loaded it": "import sys\nfound = [type(f).__name__ if not isinstance(f, type) else f.__name__ for f in sys.meta_path]",
    "the path": "import sys\nfound = [sys.path, sys.argv, sys.orig_argv]",
    "reloading": "import helper, importlib\nfound = [importlib.reload(helper) is helper, helper.WHERE]",
    "source": "import helper, inspect\nfound = [inspect.getsource(helper.f), inspect.getsourcefile(helper)]",
    "a traceback": "import helper, traceback\ntry:\n    helper.fails()\nexcept ValueError:\n    found = traceback.format_exc()",
    "descriptors": "import os\nfound = sorted(os.listdir('/proc/self/fd'))",
    "processes": "import os\nfound = [os.getpid(), os.getppid(), os.getpgrp() == os.getpid(), sorted(n for n in os.listdir('/proc') if n.isdigit()), os.getcwd(), open('/proc/self/comm').read()]",
    "privileges": "found = [line for line in open('/proc/self/status') if line.startswith(('Cap', 'Sig', 'Shd', 'NoNew', 'Seccomp', 'Uid', 'Gid', 'Groups'))]",
    "limits": "found = open('/proc/self/limits').read()",
    "warnings": "import warnings\nfound = [str(f) for f in warnings.filters]",
    "what the collector does": "import gc\nfound = [gc.isenabled(), gc.get_threshold(), gc.callbacks]",
}
HELPER = "import re, sys\nWHERE = [__name__, __file__, sys.argv, sys.path[0]]\ndef f():\n    return 1\ndef fails():\n    raise ValueError('of the helper')\n"


@pytest.mark.parametrize("what", FACTS)
def test_a_job_finds_what_it_would_find(classes, what):
    name = classes.make(REPORT + FACTS[what] + "\nreport(found=found)\n", {"helper": HELPER})
    with_class = seen(classes.loaded(name))
    without = classes.run(name, warm=False)
    assert "warm_class" not in without and seen(without) == with_class


def test_random_numbers_are_of_the_job(classes):
    name = classes.make(REPORT + "import helper\nreport(n=helper.draw())\n", {"helper": "import random\ndef draw():\n    return random.random()\n"})
    assert len({seen(classes.loaded(name))["n"] for _ in range(3)}) == 3


def test_numpy_is_seeded_for_each_job_and_not_for_its_forks(classes):
    pytest.importorskip("numpy")
    code = """
import numpy as np
first = np.random.random()
np.random.seed(5)
r, w = os.pipe()
if os.fork() == 0:
    os.write(w, str(np.random.random()).encode())
    os._exit(0)
os.wait()
report(first=first, seeded=np.random.random(), of_fork=float(os.read(r, 99)))
"""
    name = classes.make(REPORT + code, modules=["numpy"])
    found = [seen(classes.loaded(name)) for _ in range(2)] + [seen(classes.run(name, warm=False))]
    assert len({one["first"] for one in found}) == 3
    assert len({(one["seeded"], one["of_fork"]) for one in found}) == 1


def test_pandas_gives_the_same(classes):
    pytest.importorskip("pandas")
    code = "import warnings\nimport numpy as np, pandas as pd\nf = pd.DataFrame({'a': [1, 2, 2], 'b': list('xyz')})\nreport(found=[f.groupby('a').count().to_json(), str(f.dtypes), np.__version__, [str(w) for w in warnings.filters], pd.options.display.max_rows, str(f)])"
    name = classes.make(REPORT + code, modules=["numpy", "pandas"])
    assert seen(classes.loaded(name)) == seen(classes.run(name, warm=False))


ENDS = {
    "an object of a helper": "class C:\n    def __del__(self, write=__import__('sys').stderr.write):\n        write('gone\\n')\nkept = C()\n",
    "a function at the end": "import atexit, sys\natexit.register(sys.stderr.write, 'at exit\\n')\n",
    "a weak reference": "import sys, weakref\nclass C: pass\nkept = C()\nsys.r = weakref.ref(kept, lambda r, write=sys.stderr.write: write('called\\n'))\n",
    "a generator": "import sys\ndef g(write=sys.stderr.write):\n    try:\n        yield\n    finally:\n        write('closed\\n')\nkept = g()\nnext(kept)\n",
    "nothing": "",
    "a list": "kept = []\n",
    "a stream": "import sys\nout = sys.stderr\n",
    "a file of its own stream": "import io\nkept = io.StringIO()\n",
}


@pytest.mark.parametrize("what", ENDS)
@pytest.mark.parametrize("end", ["", "helper.kept.append(C())\n", "1 / 0\n", "sys.exit(3)\n"], ids=["well", "leaves one", "raises", "exits"])
def test_a_job_ends_as_it_would_end(classes, what, end):
    if "append" in end and what != "a list":
        pytest.skip("it keeps nothing")
    code = "import sys\nimport helper\nclass C:\n    def __del__(self, write=sys.stderr.write): write('of the script\\n')\nsys.stderr.write('runs\\n')\n"
    name = classes.make(code + end + "sys.exit(2)\n", {"helper": ENDS[what]})
    with_class, without = classes.loaded(name), classes.run(name, warm=False)
    assert with_class["outcome"] == without["outcome"]
    assert with_class["outcome"]["stderr"].startswith("runs\n")


def test_warnings_of_the_compiler_are_given_in_each_job(classes):
    name = classes.make("import sys\nif 1 is 1:\n    sys.exit(2)\n")
    for _ in range(2):
        result = classes.loaded(name)
        assert "SyntaxWarning" in result["outcome"]["stderr"]
        assert result["outcome"] == classes.run(name, warm=False)["outcome"]


def test_a_rubric_with_a_mistake(classes):
    name = classes.make("def f(:\n")
    with_class, without = classes.loaded(name), classes.run(name, warm=False)
    assert with_class["outcome"] == without["outcome"] and "SyntaxError" in with_class["outcome"]["stderr"]


def test_processes_are_bound_as_without(classes):
    code = "import os, time\nn = 0\ntry:\n    while n < 100:\n        if os.fork() == 0:\n            time.sleep(600)\n        n += 1\nexcept OSError:\n    pass\nreport(n=n)\n"
    name = classes.make(REPORT + code)
    limits = {"max_processes": 12}
    with_class = seen(classes.loaded(name, limits=limits))
    assert with_class == seen(classes.run(name, limits=limits, warm=False)) == {"n": 11}
    assert seen(classes.loaded(classes.make(REPORT + "report(n=1)")))["n"] == 1


@pytest.mark.parametrize("limit, code, name", [
    ("wall_clock", "import time\ntime.sleep(600)", "wall_clock"),
    ("cpu", "while True: pass", "cpu"),
    ("output_bytes", "import sys\nwhile True: sys.stdout.write('x' * 4096)", "output"),
    ("memory_bytes", "x = []\nwhile True: x.append(bytearray(1 << 20))", None),
], ids=["wall_clock", "cpu", "output", "memory"])  # fmt: skip
def test_limits_end_it(classes, limit, code, name):
    value = {"wall_clock": 0.3, "cpu": 1, "output_bytes": 10000, "memory_bytes": 300 << 20}[limit]
    task_class = classes.make(code, {"helper": STAMP})
    fields = {"case": {"rubric_wall_clock_seconds": value}} if limit == "wall_clock" else {"limits": {limit: value}}
    result = classes.loaded(task_class, **fields)
    assert result["outcome"]["limit_exceeded"] == name and not result["score"]["passed"]
    if name is None:
        assert "MemoryError" in result["outcome"]["stderr"]
    assert classes.loaded(classes.make(PASSING))["score"]["passed"]


def test_what_a_job_leaves_is_killed(classes):
    code = "import os, time\nfor n in range(3):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0: time.sleep(600)\n        os._exit(0)\nos.wait()\n"
    name = classes.make(code + PASSING)
    for _ in range(2):
        assert classes.loaded(name)["score"]["passed"]
    see = REPORT + "report(pids=[n for n in os.listdir('/proc') if n.isdigit() and n not in ('1', str(os.getpid()))])"
    assert seen(classes.run(classes.bench.rubric(see)))["pids"] == []


def test_a_twin_keeps_no_template_that_is_gone(make_classes):
    """What judges code has a jail of its own, which is a copy of the slot's, with its links to what it keeps
    loaded. Those that are dropped later must be gone."""
    classes = make_classes("warm.classes=1")
    one, other = (classes.make(USES_STAMP, {"helper": STAMP}) for _ in range(2))
    test = "def check(candidate):\n    assert candidate() == 1\n"
    code = {"kind": "code_exec", "code": "def f():\n    return 1\n", "test": test, "entry_point": "f"}
    classes.loaded(one)
    jails = classes.daemon.jails()
    for name in (other, one, other):
        with classes.daemon.connect() as client:
            assert client.run(code)["verdict"] == "pass"
        classes.loaded(name)
    assert classes.daemon.jails() == jails


# --- why not

C = "import ctypes\nlibc = ctypes.CDLL(None)\n"
REFUSED = {
    "a thread": ("import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()", "it has several threads"),
    "a child": ("import os, time\nif os.fork() == 0: time.sleep(600)", "it has a child process"),
    "a child that has died": ("import os, signal\nif os.fork() == 0: os._exit(0)", "it has a child process"),
    "an orphan": ("import os, time\nif os.fork() == 0:\n    if os.fork() == 0: time.sleep(600)\n    os._exit(0)\nos.wait()", "it leaves a process"),
    "a sibling": (C + "import time\nif libc.syscall(56, 0x8000, 0, 0, 0, 0) == 0: time.sleep(600)", "it leaves a process"),
    "a file": ("kept = open('/etc/passwd')", "it keeps a file open"),
    "a pipe": ("import os\nkept = os.pipe()", "it keeps a file open"),
    "a socket": ("import socket\nkept = socket.socketpair()", "it keeps a file open"),
    "a descriptor that it closes": ("import os\nos.close(0)", "it has closed a descriptor"),
    "a descriptor that it replaces": ("import os\nfd = os.open('/etc/passwd', os.O_RDONLY)\nos.dup2(fd, 0); os.close(fd)", "it has replaced a descriptor"),
    "shared memory": ("import mmap\nkept = mmap.mmap(-1, 4096)", "it shares memory"),
    "shared memory that it cannot write to": ("import mmap\nkept = mmap.mmap(-1, 4096, prot=mmap.PROT_READ)", "it shares memory"),
    "a file in shared memory": ("import mmap, os\nfd = os.open('/dev/shm/x', os.O_RDWR | os.O_CREAT)\nos.write(fd, b'x' * 4096)\nkept = mmap.mmap(fd, 4096, access=mmap.ACCESS_READ)\nos.close(fd); os.close(kept.fileno()) if hasattr(kept, 'fileno') else None", None),
    "output": ("print('loaded')", "it writes output"),
    "output to stderr": ("import sys\nprint('loaded', file=sys.stderr)", "it writes output"),
    "a file that it leaves": ("open('/tmp/x', 'w').close()", None),
    "a link to nothing in its directory": ("import os\nos.symlink('nowhere', 'x')", None),
    "data of the bench": ("import os\nopen(os.path.join(os.path.dirname(__file__), 'rubric.py')).read()", "a helper opens /bench/{name}/rubric.py"),
    "a module that is not declared": ("import undeclared", "a helper opens /bench/{name}/__pycache__/undeclared.cpython"),
    "sys.path": ("import sys\nsys.path.append('/work')", "a helper changes sys.path"),
    "a stream": ("import io, sys\nsys.stdout = io.StringIO()", "a helper replaces a standard stream"),
    "numpy of its own accord": ("import numpy", "a helper loads numpy: name it among the modules"),
    "random numbers": ("import random\nrandom.seed(1)", "a helper changes the state of random numbers"),
    "an exception": ("1 / 0", "helper helper: ZeroDivisionError: division by zero"),
    "an exit": ("raise SystemExit(0)", "helper helper: SystemExit: 0"),
    "a mistake": ("def f(:", None),
    "an end": ("import os\nos._exit(0)", "it ended while it loaded"),
    "a signal": ("import os\nos.kill(os.getpid(), 9)", "it ended while it loaded"),
    "no end": ("import time\nwhile True: time.sleep(1)", "it did not load in time"),
}  # fmt: skip
# What a template may do: it is undone.
UNDONE = ("a file that it leaves", "a link to nothing in its directory")


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_loaded_once(classes, what):
    text, why = REFUSED[what]
    name = classes.make(PASSING, {"helper": text})
    (classes.bench.root / name / "undeclared.py").write_text("")
    fields = {"case": {"rubric_wall_clock_seconds": 1}} if what == "no end" else {}
    if what in UNDONE:
        classes.loaded(name)
        see = REPORT + "report(found=os.listdir('.') + os.listdir('/tmp'))"
        assert seen(classes.run(classes.bench.rubric(see)))["found"] == []
        return
    for _ in range(2):
        because, result = classes.refused(name, **fields)
        assert result["score"]["passed"], result
        assert why is None or because.startswith(why.format(name=name))
    see = REPORT + "report(pids=[n for n in os.listdir('/proc') if n.isdigit() and n not in ('1', str(os.getpid()))])"
    assert seen(classes.run(classes.bench.rubric(see)))["pids"] == []


def test_a_module_that_is_not_there(classes):
    name = classes.make(PASSING, modules=["no_such_module"])
    because, result = classes.refused(name)
    assert because == "module no_such_module: ModuleNotFoundError: No module named 'no_such_module'"
    assert result["score"]["passed"] and result["interpreter"] == "warm"


def test_a_helper_that_is_not_there(classes):
    name = classes.make(PASSING, declared=["helper"])
    because, result = classes.refused(name)
    assert because == f"job.task_class: {name}/helper.py: No such file or directory"
    assert "digest" not in result["warm_class"] and result["score"]["passed"]


@pytest.mark.parametrize("helper", ["json", "decimal", "sys"])
def test_a_helper_with_the_name_of_a_module_that_is_loaded(classes, helper):
    name = classes.make(PASSING, {helper: "x = 1\n"}, modules=["decimal"])
    because, result = classes.refused(name)
    assert because == f"helper {helper}: a module of that name is loaded" and result["score"]["passed"]


def test_a_file_that_hides_what_is_loaded(classes):
    name = classes.make(REPORT + "import fractions\nreport(mine=fractions.MINE)\n", modules=["fractions"])
    (classes.bench.root / name / "fractions.py").write_text("MINE = 1\n")
    because, result = classes.refused(name)
    assert because == "a file beside the rubric hides a module" and seen(result)["mine"] == 1


def test_it_is_tried_three_times(classes):
    name = classes.make(PASSING, {"helper": "open('/work/tried', 'a')\nprint('x')\n"})
    assert {classes.refused(name)[0] for _ in range(5)} == {"it writes output"}
    (classes.bench.root / name / "helper.py").write_text("x = 1\n")
    classes.loaded(name)


@pytest.mark.parametrize("setting, why", [
    ("warm.classes=0", "[warm] classes is 0"),
    ("isolation.without=landlock", "a layer is missing that keeps jobs from what is loaded"),
    ("isolation.without=seccomp", "a layer is missing that keeps jobs from what is loaded"),
    ("isolation.without=pid_namespace", "a layer is missing that keeps jobs from what is loaded"),
    ("warm.use=no", "no interpreter waits in the jail"),
])  # fmt: skip
def test_where_it_cannot_be(make_classes, setting, why):
    classes = make_classes(setting)
    name = classes.make(USES_STAMP, {"helper": STAMP})
    for _ in range(2):
        because, result = classes.refused(name)
        assert because == why and seen(result)["count"] == 1
    said = [line for line in classes.daemon.log().splitlines() if "is not loaded once" in line]
    assert len(said) == 1 and f"{name}: what its task_class.json says is not loaded once for its jobs: {why}" in said[0]


def test_a_job_that_wants_a_fresh_interpreter(classes):
    name = classes.make(USES_STAMP, {"helper": STAMP})
    result = classes.run(name, warm=False)
    assert result["interpreter"] == "cold" and "warm_class" not in result


@pytest.mark.parametrize("warm, why", [
    ([], "warm: expected an object, got an array"),
    ({"module": []}, "warm.module: unknown field"),
    ({"modules": "json"}, "warm.modules: expected an array, got a string"),
    ({"modules": ["a b"]}, 'warm.modules[0]: "a b" is not the name of a module'),
    ({"modules": ["a..b"]}, 'warm.modules[0]: "a..b" is not the name of a module'),
    ({"modules": [""]}, 'warm.modules[0]: "" is not the name of a module'),
    ({"modules": [1]}, "warm.modules[0]: expected a string, got a number"),
    ({"helpers": ["a.b"]}, 'warm.helpers[0]: "a.b" is not the name of a module beside rubric.py'),
    ({"helpers": ["../x"]}, 'warm.helpers[0]: "../x" is not the name of a module beside rubric.py'),
    ({"helpers": ["x"] * 65}, "warm.helpers: more than 64"),
])  # fmt: skip
def test_a_declaration_that_is_wrong(classes, warm, why):
    name = classes.bench.rubric(PASSING, task_class={"warm": warm})
    error = classes.run(name)
    assert (error["type"], error["code"]) == ("error", "bad_request")
    assert error["message"] == f"job.task_class: {name}/task_class.json: {why}"
