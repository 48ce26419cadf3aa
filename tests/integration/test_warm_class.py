# SPDX-License-Identifier: MIT
"""Task classes that have something loaded once for all their jobs: `warm` in task_class.json. A job of such a
class is a fork of a template, a process of that class alone. Verdicts are those of a job that loads everything
itself; no job sees what another one did; what cannot be loaded ahead is not, and the result says why."""

import importlib.util
import json
import os
import pathlib
import signal

import pytest
from code_exec_jobs import job as code_job
from conftest import PASSING, need_warm_jail, open_up, user_namespaces_are_refused
from freezer import make_freezer  # noqa: F401  a fixture
from processes import parent_of

need_warm_jail()

TELL = """
import json as _json, sys as _sys
def tell(*facts):
    _json.dump({"passed": True, "score": 1, "failure_modes": [
        {"code": "facts", "severity": "info", "detail": _json.dumps(facts, default=repr)}]}, _sys.stdout)
"""


@pytest.fixture(autouse=True)
def need_layers():
    if reason := user_namespaces_are_refused():
        pytest.skip(f"templates take layers that this host lacks: user namespaces are refused: {reason}")


@pytest.fixture(params=["usual", "without Landlock", "uid of its own"])
def one_slot(request, lend, make_helper, start_daemon):
    """A daemon with one slot, so that one jail runs all jobs; also where Landlock does not bound signals, as on Linux
    before 6.12, and where jobs, and so a template, have another uid than the jail."""
    if request.param == "usual":
        return lend("warm.use=yes", slots=1)
    if request.param == "without Landlock":
        return lend("warm.use=yes", "isolation.require=", "isolation.without=landlock", slots=1)
    if os.geteuid() != 0:
        pytest.skip("only root can give the helper its capability")
    socket = make_helper().path
    return start_daemon("warm.use=yes", f"isolation.idmap_socket={socket}", "isolation.require=own_uid", slots=1)


def facts_of(answer):
    assert answer["type"] == "result" and answer["score"]["passed"] is True, answer
    return json.loads(answer["score"]["failure_modes"][0]["detail"])


def make_class(bench, code, helpers=(), modules=(), **files):
    """Makes a task class whose rubric is CODE, with FILES (helper: its text) beside it, and returns a job of it."""
    job = bench.job(code)
    place = bench.root / job["task_class"]
    for name, text in files.items():
        (place / f"{name}.py").write_text(text)
    declared = {"helpers": list(helpers) or list(files), "modules": list(modules)}
    (place / "task_class.json").write_text(json.dumps({"warm": declared}))
    open_up(place)
    return job


WHO = "import os\nLOADED_BY = os.getpid()\nTOKEN = os.urandom(8).hex()\nKEPT = []\n"


def test_helpers_are_loaded_once(one_slot, bench):
    job = make_class(bench, f"import helper, os\n{TELL}\ntell(helper.LOADED_BY, os.getpid())\n", helper=WHO)
    with one_slot.connect() as client:
        answers = [client.run(job) for _ in range(3)]
    for answer in answers:
        assert answer["interpreter"] == "warm" and answer["warm_class"], str(answer)
        assert len(answer["warm_class"]) == 64
        assert "no_warm_class" not in answer
    loaded_by, ran_as = zip(*map(facts_of, answers))
    assert len(set(loaded_by)) == 1 and loaded_by[0] not in ran_as
    assert len({answer["warm_class"] for answer in answers}) == 1


def test_nothing_is_kept_from_one_job_to_the_next(one_slot, bench):
    job = make_class(
        bench,
        f"import helper, os, sys\n{TELL}\nseen = [list(helper.KEPT), getattr(os, 'left', None), os.listdir('.'), os.listdir('/tmp')]\n"
        "helper.KEPT.append(1); os.left = 1; open('left', 'w').close(); open('/tmp/left', 'w').close()\ntell(seen)\n",
        helper=WHO + "open('while-loading', 'w').close()\nos.unlink('while-loading')\n",
    )
    with one_slot.connect() as client:
        for _ in range(3):
            answer = client.run(job)
            assert facts_of(answer) == [[[], None, [], []]]
            assert answer["warm_class"], str(answer)


def test_a_changed_file_is_loaded_anew(one_slot, bench):
    job = make_class(bench, f"import helper\n{TELL}\ntell(helper.WORD)\n", helper="WORD = 'first'\n")
    place = bench.root / job["task_class"] / "helper.py"
    with one_slot.connect() as client:
        first = client.run(job)
        place.write_text("WORD = 'second'\n")
        second = client.run(job)
        place.write_text("WORD = 'first'\n")
        third = client.run(job)
    assert [facts_of(a) for a in (first, second, third)] == [["first"], ["second"], ["first"]]
    assert first["warm_class"] == third["warm_class"] != second["warm_class"]
    assert first["rubric_digest"] == third["rubric_digest"] != second["rubric_digest"]


def templates(daemon):
    """The processes of DAEMON that are templates."""
    found = []
    for pid in daemon.descendants():
        try:
            name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        found += [pid] if name == "rubricd-class" else []
    return found


def test_no_process_of_a_class_lives_beside_a_job_of_another(one_slot, bench):
    """Of whatever kind that is. The template ends before the job begins, so it is gone when the job has ended."""
    of_class = make_class(bench, f"import helper\n{PASSING}", helper=WHO)
    other = make_class(bench, f"import helper\n# another\n{PASSING}", helper=WHO)
    code = code_job("def f():\n    return 1\n", "assert f() == 1")
    with one_slot.connect() as client:
        for job in (other, bench.job(PASSING), {"kind": "sandbox", "argv": ["/bin/true"]}, code):
            assert client.run(of_class)["warm_class"]
            (first,) = templates(one_slot)
            assert client.run(of_class)["warm_class"] and templates(one_slot) == [first]
            answer = client.run(job)
            assert answer["score"]["passed"] is True, answer
            now = templates(one_slot)
            assert first not in now and len(now) == (1 if job is other else 0)


def test_a_job_that_wants_a_fresh_interpreter_gets_one(one_slot, bench):
    job = make_class(bench, f"import helper, os\n{TELL}\ntell(helper.LOADED_BY == os.getpid())\n", helper=WHO)
    with one_slot.connect() as client:
        answer = client.run({**job, "warm": False})
    assert facts_of(answer) == [True] and answer["interpreter"] == "cold"
    assert (answer["warm_class"], answer["no_warm_class"]) == (None, "the job wants a fresh interpreter")


# What cannot be loaded ahead: by name, the helper and what the reason says.
REFUSED = {
    "prints": ("print('loading')", "print something"),
    "prints to stderr": ("import sys\nsys.stderr.write('loading')\nsys.stderr.flush()", "print something"),
    "a thread": ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()", "threads are left"),
    "a process": ("import os, time\nif os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)", "processes are left"),
    "an open file": ("FILE = open('/etc/passwd')", "files or sockets are open"),
    "a socket": ("import socket\nPAIR = socket.socketpair()", "files or sockets are open"),
    "shared memory": (
        "import mmap\nfile = open('x', 'w+b')\nfile.truncate(4096)\nSHARED = mmap.mmap(file.fileno(), 4096)\nfile.close()\n"
        "import os, gc\nfor fd in os.listdir('/proc/self/fd'):\n    try:\n        (int(fd) > 3) and os.close(int(fd))\n    except OSError:\n        pass",
        "memory that processes share",
    ),
    "an error": ("1 / 0", "cannot load helper: ZeroDivisionError: division by zero"),
    "no such module": ("import no_such_module", "cannot load helper: ModuleNotFoundError"),
    "exits": ("import os\nos._exit(0)", "the process that loads its modules has ended"),
    "a limit": ("import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (0, 0))", "change a resource limit"),
    "few descriptors": ("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))", "change a resource limit"),
    "another directory": ("import os\nos.mkdir('d')\nos.chdir('d')", "leave the working directory"),
    "a umask": ("import os\nos.umask(0o77)", "change the umask"),
    "a timer": (
        "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nsignal.setitimer(signal.ITIMER_REAL, 60)",
        "leave a timer",
    ),
    "files": ("open('x', 'w').close()", "leave files"),
    "files in /tmp": ("import tempfile\ntempfile.mkdtemp()", "leave files"),
    "the input": ("import sys\nDATA = sys.stdin.read()", "read the standard input"),
    "another stdout": ("import sys\nREAL = sys.stdout\nsys.stdout = sys.stderr", "replace the standard streams"),
    "no stderr": ("import sys\nsys.stderr = None", "replace the standard streams"),
    "__main__": ("import __main__", "keep __main__"),
    "a function before forks": ("import os, time\nos.register_at_fork(before=lambda: time.sleep(4))", "helper asks to be called"),
    "a function after forks": ("import os\nos.register_at_fork(after_in_child=lambda: os._exit(0))", "helper asks to be called"),
    "much memory": ("import os\nLARGE = b'x' * (700 << 20)", "[warm] classes has room for"),
    "no import of what it takes": (
        "import builtins\nold = builtins.__import__\ndef new(name, *rest, **named):\n"
        "    if name.startswith('_sha'):\n        raise ImportError('blocked')\n    return old(name, *rest, **named)\n"
        "builtins.__import__ = new",
        "cannot be loaded: ImportError: blocked",
    ),
    "another compile()": ("import builtins\nbuiltins.compile = lambda *_, **__: 7", None),
    "multiprocessing": ("import multiprocessing, concurrent.futures", None),
    "stays dumpable": (
        "import ctypes\nlibc = ctypes.CDLL(None)\n", None  # the template closes itself whatever a module did before
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_loaded_ahead(one_slot, bench, name):
    """The job loads it itself then, and its verdict is that of a cold one."""
    helper, reason = REFUSED[name]
    job = make_class(bench, f"import helper\n{PASSING}", helper=helper)
    with one_slot.connect() as client:
        answer = client.run(job)
        again = client.run(job)
        cold = client.run({**job, "warm": False})
        after = client.run(bench.job(PASSING))
    if reason is None:
        assert answer["warm_class"], str(answer)
    else:
        assert answer["warm_class"] is None and reason in answer["no_warm_class"], answer
        assert again["no_warm_class"] == answer["no_warm_class"]
    assert answer["score"]["passed"] == again["score"]["passed"] == cold["score"]["passed"]
    assert after["score"]["passed"] is True


def test_a_module_of_python_that_a_class_replaces(lend, bench):
    """To load a class takes modules that the interpreter has not loaded yet."""
    daemon = lend("warm.use=yes", "warm.modules=json", slots=1)
    job = make_class(bench, f"import random\n{TELL}tell(random.WORD)\n", helper="")
    (bench.root / job["task_class"] / "random.py").write_text("WORD = 'own'\n")
    with daemon.connect() as client:
        answer = client.run(job)
    assert facts_of(answer) == ["own"]
    assert answer["no_warm_class"] == "random beside the rubric has the name of a module of Python"


def test_a_module_from_elsewhere(one_slot, bench):
    """Nobody would notice that it has changed."""
    place = bench.root / "shared"
    place.mkdir()
    (place / "elsewhere.py").write_text("WORD = 'first'\n")
    open_up(place)
    helper = "import sys\nsys.path.append('/bench/shared')\nimport elsewhere\n"
    job = make_class(bench, f"import helper\n{TELL}tell(helper.elsewhere.WORD)\n", helper=helper)
    with one_slot.connect() as client:
        answer = client.run(job)
        (place / "elsewhere.py").write_text("WORD = 'second'\n")
        again = client.run(job)
    assert (facts_of(answer), facts_of(again)) == (["first"], ["second"])
    assert "elsewhere is neither beside the rubric nor where Python has modules" in answer["no_warm_class"]


LAST_WORDS = {
    "a file that is open": ("OUT = open(1, 'w', closefd=False)", "import helper\nhelper.OUT.write(SCORE)\n"),
    "an object that is destroyed": (
        "import os\nclass Last:\n    def __del__(self):\n        os.write(1, self.words)\nLAST = Last()\n",
        "import helper\nhelper.LAST.words = SCORE.encode()\n",
    ),
    "a finalizer": (
        "import os, weakref\nclass Last:\n    pass\nLAST = Last()\nweakref.finalize(LAST, lambda: os.write(1, LAST.words))\n",
        "import helper\nhelper.LAST.words = SCORE.encode()\n",
    ),
}


@pytest.mark.parametrize("name", LAST_WORDS)
def test_last_words_of_what_was_loaded(one_slot, bench, name):
    helper, rubric = LAST_WORDS[name]
    score = "import json\nSCORE = json.dumps({'passed': True, 'score': 1, 'failure_modes': []})\n"
    job = make_class(bench, score + rubric, helper=helper)
    with one_slot.connect() as client:
        for warm in (True, True, False):
            answer = client.run({**job, "warm": warm})
            assert answer["type"] == "result" and answer["score"]["passed"] is True, str(answer)
            assert bool(answer["warm_class"]) == warm, str(answer)


def test_memory_while_a_class_is_loaded(one_slot, bench):
    """All that is started while it is loaded counts together, as processes of a job do."""
    helper = (
        "import os, time\nready, done = os.pipe()\nfor _ in range(4):\n    if os.fork() == 0:\n"
        "        large = b'x' * (120 << 20)\n        os.write(done, b'.')\n        time.sleep(60)\n        os._exit(0)\n"
        "for _ in range(4):\n    os.read(ready, 1)\ntime.sleep(50)\n"
    )
    job = {**make_class(bench, f"import helper\n{PASSING}", helper=helper), "limits": {"memory_bytes": 256 << 20}}
    with one_slot.connect() as client:
        answer, after = client.run(job), client.run(bench.job(PASSING))
    assert answer["no_warm_class"] == "its modules take more memory than a job may have"
    assert answer["outcome"]["limit_exceeded"] == "memory", str(answer)
    assert after["score"]["passed"] is True


def test_few_descriptors(one_slot, bench):
    """Too few for what a template is sent for a job; enough for a job that is no fork of one."""
    job = {**make_class(bench, f"import helper\n{PASSING}", helper=""), "limits": {"max_open_files": 8}}
    with one_slot.connect() as client:
        answers = [client.run(job) for _ in range(2)]
    assert all(answer["type"] == "result" and answer["score"]["passed"] for answer in answers), str(answers)
    assert {answer["no_warm_class"] for answer in answers} == {"a fork of it cannot be had"}


def test_a_file_that_was_changed_back(one_slot, bench):
    """A template may have loaded what was there in between."""
    job = make_class(bench, f"import helper\n{TELL}tell(helper.LOADED_BY, helper.TOKEN)\n", helper=WHO)
    place = bench.root / job["task_class"] / "helper.py"
    with one_slot.connect() as client:
        first = client.run(job)
        place.write_text("")
        place.write_text(WHO)
        second = client.run(job)
    assert first["warm_class"] == second["warm_class"] and facts_of(first)[1] != facts_of(second)[1]


def test_many_jobs_of_a_class_that_takes_long_to_fork(one_slot, bench):
    """What their forks cost counts for none of them, nor for the template."""
    job = make_class(bench, f"import helper\n{PASSING}", helper="LARGE = [bytearray(4096) for _ in range(20000)]\n")
    job = {**job, "limits": {"cpu": 1}}
    with one_slot.connect() as client:
        for number in range(400):
            client.submit(f"{number}", job)
        answers = [client.recv_answer() for _ in range(400)]
    assert all(answer["type"] == "result" and answer["score"]["passed"] for answer in answers)
    assert all(answer["warm_class"] for answer in answers)


def test_a_rubric_that_does_not_compile(one_slot, bench):
    job = make_class(bench, "x = (\n", helper="")
    with one_slot.connect() as client:
        answer, cold = client.run(job), client.run({**job, "warm": False})
    assert "cannot compile the rubric: SyntaxError" in answer["no_warm_class"], answer
    assert answer["score"]["failure_modes"] == cold["score"]["failure_modes"]


def test_where_modules_come_from(one_slot, bench):
    """A helper lies beside the rubric, and a module does not."""
    wrong_helper = make_class(bench, PASSING, helpers=["colorsys"])
    wrong_module = make_class(bench, PASSING, modules=["helper"], helper="")
    (bench.root / wrong_module["task_class"] / "task_class.json").write_text('{"warm": {"modules": ["helper"]}}')
    with one_slot.connect() as client:
        assert "colorsys is not beside the rubric" in client.run(wrong_helper)["no_warm_class"]
        assert "helper is beside the rubric" in client.run(wrong_module)["no_warm_class"]


def test_memory_is_bounded(lend, bench):
    daemon = lend("warm.use=yes", "warm.classes=40M", slots=1)
    job = make_class(bench, f"import helper\n{PASSING}", helper="LARGE = b'x' * (40 << 20)\n")
    small = make_class(bench, f"import helper\n{PASSING}", helper="")
    with daemon.connect() as client:
        answer = client.run(job)
        assert "MiB, and [warm] classes has room for" in answer["no_warm_class"], answer
        assert answer["score"]["passed"] is True
        answer = client.run(small)
        assert answer["warm_class"], str(answer)


def test_none_if_the_configuration_says_so(lend, bench):
    daemon = lend("warm.use=yes", "warm.classes=0", slots=1)
    job = make_class(bench, f"import helper\n{PASSING}", helper="")
    with daemon.connect() as client:
        assert client.run(job)["no_warm_class"] == "[warm] classes is 0"


def test_random_numbers(one_slot, bench):
    """They are not those of the job before, unless the class has seeded them itself."""
    draw = f"import helper, random, uuid\n{TELL}\ntell(random.random(), str(uuid.uuid4()))\n"
    fresh = make_class(bench, draw, helper="import random\n")
    seeded = make_class(bench, draw, helper="import random\nrandom.seed(7)\n")
    with one_slot.connect() as client:
        answers = [client.run(fresh) for _ in range(5)]
        assert all(answer["warm_class"] for answer in answers), answers
        for column in zip(*map(facts_of, answers)):
            assert len(set(column)) == len(answers)
        answers = [client.run({**seeded, "warm": warm}) for warm in (True, True, False)]
        assert len({facts_of(answer)[0] for answer in answers}) == 1, answers


def test_random_numbers_of_numpy(one_slot, bench):
    if not importlib.util.find_spec("numpy"):
        pytest.skip("NumPy is not installed")
    draw = f"import helper, numpy\n{TELL}\ntell(float(numpy.random.random()))\n"
    fresh = make_class(bench, draw, modules=["numpy"], helper="")
    seeded = make_class(bench, draw, modules=["numpy"], helper="import numpy\nnumpy.random.seed(7)\n")
    with one_slot.connect() as client:
        answers = [client.run(fresh) for _ in range(5)]
        assert all(answer["warm_class"] for answer in answers), str(answers)
        assert len({facts_of(answer)[0] for answer in answers}) == 5
        answers = [client.run({**seeded, "warm": warm}) for warm in (True, True, False)]
        assert answers[0]["warm_class"] and len({facts_of(answer)[0] for answer in answers}) == 1, str(answers)


# What a job may try on the template, which is its only sibling: by name, statements that leave `done` true if that
# had an effect.
ATTACKS = {
    "a signal": "os.kill(template, signal.SIGKILL); done = True",
    "a stop": "os.kill(template, signal.SIGSTOP); done = True",
    "a signal to all": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.kill(-1, signal.SIGTERM); done = False",
    "a signal to its group": "os.kill(-template, signal.SIGKILL); done = True",
    "a signal to a group that it joins": "os.setpgid(0, template)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.kill(0, signal.SIGTERM)",
    "a signal to its thread": "done = libc.tgkill(template, template, 9) == 0",
    "a signal to its thread, the old way": "done = libc.syscall(200, template, 9) == 0",
    "a signal with a value": "done = libc.sigqueue(template, 9, None) == 0",
    "a signal by a pidfd": "signal.pidfd_send_signal(os.pidfd_open(template), signal.SIGKILL); done = True",
    "a signal by the kernel": "import fcntl\nr, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, template)\n"
    "fcntl.fcntl(r, 10, signal.SIGKILL)\nfcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)\nos.write(w, b'x')",
    "a limit": "done = libc.prlimit(template, 7, (ctypes.c_ulong * 2)(1, 1), None) == 0",
    "its memory": "open(f'/proc/{template}/mem', 'r+b'); done = True",
    "its memory by a call": "piece = ctypes.create_string_buffer(8)\ndone = libc.process_vm_readv(template, None, 0, None, 0, 0) == 0",
    "its map": "open(f'/proc/{template}/maps').read(); done = True",
    "its descriptors": "os.listdir(f'/proc/{template}/fd'); done = True",
    "its directory": "os.listdir(f'/proc/{template}/cwd'); done = True",
    "its environment": "open(f'/proc/{template}/environ').read(); done = True",
    "tracing": "done = libc.ptrace(16, template, None, None) == 0",
    "its priority": "os.setpriority(os.PRIO_PROCESS, template, 19); done = os.getpriority(os.PRIO_PROCESS, template) == 19",
    "its scheduling": "os.sched_setscheduler(template, os.SCHED_IDLE, os.sched_param(0)); done = os.sched_getscheduler(template) == os.SCHED_IDLE",
    "its oom score": "open(f'/proc/{template}/oom_score_adj', 'w').write('1000'); done = True",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_job_cannot_reach_its_template(one_slot, bench, name):
    attack = "\n    ".join(ATTACKS[name].splitlines())
    job = make_class(
        bench,
        "import ctypes, helper, os, signal\n" + TELL + "libc = ctypes.CDLL(None, use_errno=True)\ndone = False\n"
        "template = helper.LOADED_BY\nassert template != os.getpid()\n"
        f"try:\n    {attack}\nexcept OSError:\n    pass\ntell(done, helper.TOKEN)\n",
        helper=WHO,
    )
    with one_slot.connect() as client:
        answers = [client.run(job) for _ in range(2)]
    assert [facts_of(answer)[0] for answer in answers] == [False, False]
    assert facts_of(answers[0])[1] == facts_of(answers[1])[1], "the template is the same"
    assert all(answer["warm_class"] for answer in answers)


LEFT = {
    "a child": "if os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\n    os._exit(0)\n",
    "an orphan": "if os.fork() == 0:\n    if os.fork() == 0:\n        time.sleep(60)\n    os._exit(0)\n",
    # CLONE_PARENT: a sibling, which has no exit signal, as its parent has none.
    "a sibling": "if libc.syscall(56, 0x8000, None, None, None, None) == 0:\n    time.sleep(60)\n    os._exit(0)\n",
}


@pytest.mark.parametrize("name", LEFT)
def test_nothing_of_a_job_lives_beside_the_next(one_slot, bench, name):
    job = make_class(
        bench,
        f"import ctypes, helper, os, time\n{TELL}libc = ctypes.CDLL(None)\n"
        + LEFT[name] + "tell(1)\n",
        helper=WHO,
    )
    with one_slot.connect() as client:
        for _ in range(3):
            assert facts_of(client.run(job)) == [1]
            assert set(one_slot.descendants()) <= {*one_slot.jails(), *templates(one_slot)}


LEAVES_THE_UNDYING = """
import helper, ctypes, os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
if os.fork() == 0:
    os.setsid()
    ctypes.CDLL(None).prctl(15, b"undying")  # PR_SET_NAME
    while True: signal.pause()
signal.sigwait([signal.SIGUSR1])
"""


@pytest.mark.long
def test_a_process_that_does_not_die_is_no_way_out_of_a_verdict(lend, bench, freezer):
    """The jail waits for it once: neither its end nor that of the template beside it is waited for again."""
    daemon = lend("warm.use=yes", slots=1)
    job = make_class(bench, LEAVES_THE_UNDYING + PASSING, helper=WHO)
    with daemon.connect() as client:
        client.submit("undying", job)
        os.kill(parent_of(freezer.hold("undying")), signal.SIGUSR1)
        answer = client.recv_answer("undying")
        assert answer["type"] == "result" and answer["score"]["passed"] and answer["warm_class"], answer
        freezer.let_go()
        assert client.run(make_class(bench, PASSING, helper=WHO))["score"]["passed"]


def test_what_a_class_declares_is_checked(one_slot, bench):
    cases = {
        '{"warm": 1}': "warm: expected an object",
        '{"warm": {"modules": "json"}}': "warm.modules: expected an array",
        '{"warm": {"helpers": ["a", 1]}}': "warm.helpers[1]: expected a string",
        '{"warm": {"helpers": ["../x"]}}': "warm.helpers[0]: not the name of a module",
        '{"warm": {"helper": []}}': "warm.helper: unknown field",
    }
    job = bench.job(PASSING)
    with one_slot.connect() as client:
        for text, message in cases.items():
            (bench.root / job["task_class"] / "task_class.json").write_text(text)
            answer = client.run(job)
            assert answer["type"] == "error" and message in answer["message"], (text, answer)


def test_two_slots_share_a_class(lend, bench):
    """Each slot has a template of its own; jobs of one class go where one is, and others elsewhere."""
    daemon = lend("warm.use=yes", slots=2)
    job = make_class(bench, f"import helper\n{PASSING}", helper=WHO)
    with daemon.connect() as client:
        assert client.run(job)["warm_class"]
        (first,) = templates(daemon)
        for other in (job, {**job, "warm": False}, bench.job(PASSING), {"kind": "sandbox", "argv": ["/bin/true"]}):
            assert client.run(other)["score"]["passed"] is True
            assert templates(daemon) == [first]
        for number in range(40):
            client.submit(f"{number}", job)
        answers = [client.recv_answer() for _ in range(40)]
    assert all(answer["type"] == "result" and answer["score"]["passed"] for answer in answers)
    assert all(answer["warm_class"] for answer in answers)


@pytest.mark.parametrize("layer", ["seccomp", "no_new_privs", "pid_namespace"])
def test_where_a_layer_is_missing(lend, bench, layer):
    daemon = lend("warm.use=yes", "isolation.require=", f"isolation.without={layer}", slots=1)
    job = make_class(bench, f"import helper\n{PASSING}", helper="")
    with daemon.connect() as client:
        answer = client.run(job)
    assert answer["score"]["passed"] is True and answer["warm_class"] is None
    assert answer["no_warm_class"] == f"the layer {layer} is not in force", answer
