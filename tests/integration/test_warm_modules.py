# SPDX-License-Identifier: MIT
"""Modules that a code_exec job has loaded ahead (`warm_modules`): the code runs in a fork of a process that has them.
Verdicts are those of a job that loads everything itself; code finds a module only when it has imported it; no job sees
what another one did."""

import os
import pathlib
import signal
import time

import pytest
from code_exec_jobs import assert_passed, details, job, judge
from conftest import need_warm_jail, user_namespaces_are_refused

need_warm_jail()
numpy = pytest.importorskip("numpy")

USES = "import numpy as np\ndef f(n):\n    return int(np.arange(n).sum())\n"


@pytest.fixture(autouse=True)
def need_layers():
    if reason := user_namespaces_are_refused():
        pytest.skip(f"templates take layers that this host lacks: user namespaces are refused: {reason}")


@pytest.fixture(params=["usual", "uid of its own"])
def one_slot(request, lend, make_helper, start_daemon):
    """A daemon with one slot, so that one jail runs all jobs; also where jobs, and so a template, have another uid than the
    jail, and Landlock is not there to keep them from it, as before Linux 6.12."""
    if request.param == "usual":
        return lend("warm.use=yes", slots=1)
    if os.geteuid() != 0:
        pytest.skip("only root can give the helper its capability")
    without = ("isolation.require=own_uid", "isolation.without=landlock")
    return start_daemon("warm.use=yes", f"isolation.idmap_socket={make_helper().path}", *without, slots=1)


def warm(client, code, *targets, modules=("numpy",), **fields):
    """Judges a job that is of a class, and says so if it was of none."""
    answer = judge(client, code, *targets, warm_modules=list(modules), **fields)
    assert answer["warm_class"], answer.get("no_warm_class")
    return answer


def told(client, code, modules=("numpy",), **fields):
    """Returns what f() of CODE returns in a job of a class, as the code's process has it."""
    answer = warm(client, code, "assert f() is None, f()", modules=modules, **fields)
    (why,) = details(answer)
    return why


def templates(daemon):
    found = []
    for pid in daemon.descendants():
        try:
            name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        found += [pid] if name == "rubricd-class" else []
    return found


def test_modules_are_loaded_once(one_slot):
    with one_slot.connect() as client:
        assert client.hello["warm_modules"] is True
        answers = [warm(client, USES, "assert f(4) == 6") for _ in range(3)]
        (first,) = templates(one_slot)
    for answer in answers:
        assert_passed(answer)
        assert answer["interpreter"] == "warm" and len(answer["warm_class"]) == 64
        assert "no_warm_class" not in answer
    assert len({answer["warm_class"] for answer in answers}) == 1
    assert first


def test_the_second_program_is_a_fork_as_well(one_slot):
    """A pass that takes a confirmation."""
    code = "import numpy as np\nclass A:\n    def __eq__(self, other):\n        return bool(np.array([True]).all())\ndef f():\n    return A()\n"
    with one_slot.connect() as client:
        answer = warm(client, code, "assert f() == 3")
        again = warm(client, code, "assert f() == 3")
    cold = {"verdict": answer["verdict"], "details": details(answer)}
    assert {"verdict": again["verdict"], "details": details(again)} == cold


@pytest.mark.parametrize("size", [1, 3])
def test_the_order_of_names_does_not_matter(one_slot, size):
    names = ["numpy", "decimal", "fractions"][:size]
    with one_slot.connect() as client:
        first = warm(client, USES, "assert f(4) == 6", modules=names)
        (template,) = templates(one_slot)
        assert warm(client, USES, "assert f(4) == 6", modules=names[::-1])["warm_class"] == first["warm_class"]
        assert templates(one_slot) == [template]


def test_no_process_of_a_class_lives_beside_a_job_of_another(one_slot, bench):
    others = [
        job(USES, "assert f(4) == 6", warm_modules=["numpy", "decimal"]),
        job(USES, "assert f(4) == 6"),
        {"kind": "sandbox", "argv": ["/bin/true"]},
        bench.job("import json, sys\njson.dump({'passed': True, 'score': 1, 'failure_modes': []}, sys.stdout)\n"),
        job(USES, "assert f(4) == 6", warm_modules=["numpy"], limits={"memory_bytes": 800 << 20}),
    ]
    with one_slot.connect() as client:
        for number, other in enumerate(others):
            warm(client, USES, "assert f(4) == 6")
            (first,) = templates(one_slot)
            warm(client, USES, "assert f(4) == 6")
            assert templates(one_slot) == [first]
            answer = client.run(other)
            assert answer["score"]["passed"] is True, answer
            now = templates(one_slot)
            assert first not in now and len(now) == (1 if number in (0, 4) else 0)


def test_a_module_is_hidden_until_it_is_imported(one_slot):
    cases = {
        "concurrent.futures": "import concurrent, csv\ndef f():\n    try:\n        return concurrent.futures\n    except AttributeError as error:\n        return str(error)\n",
        "sorted": "import sys\ndef f():\n    return sorted(name for name in vars(sys)['mod' + 'ules'] if name.startswith(('numpy', 'pandas', 'ctypes')))\n",
        "imports one": "import ctypes, sys\ndef f():\n    return sorted(name for name in vars(sys)['mod' + 'ules'] if name.startswith(('numpy', 'pandas', 'ctypes')))\n",
        "filters": "import warnings\ndef f():\n    return [str(one[1] and one[1].pattern) for one in warnings.filters]\n",
        "filters of one": "import warnings, numpy\ndef f():\n    return [str(one[1] and one[1].pattern) for one in warnings.filters]\n",
        "no submodule": "import numpy\ndef f():\n    import numpy.there_is_none\n",
        "numpy alone": "import numpy\ndef f():\n    return [hasattr(numpy, name) for name in ('testing', 'linalg', 'f2py', 'typing')]\n",
    }
    with one_slot.connect() as client:
        for name, code in cases.items():
            hidden = told(client, code, modules=["numpy", "pandas", "concurrent.futures"])
            cold = judge(client, code, "assert f() is None, f()")
            assert [hidden] == details(cold), name


def test_nothing_is_kept_from_one_job_to_the_next(one_slot):
    code = (
        "import numpy, os, json\nseen = [getattr(numpy, 'left', None), getattr(json, 'left', None), os.listdir('.'), numpy.get_printoptions()['precision']]\n"
        "numpy.left = json.left = 1\nopen('left', 'w').close()\nnumpy.set_printoptions(precision=3)\ndef f():\n    return seen\n"
    )
    with one_slot.connect() as client:
        first = told(client, code)
        assert "None, None" in first
        assert [told(client, code) for _ in range(3)] == [first] * 3


def test_random_numbers_are_not_those_of_siblings(one_slot):
    code = "import numpy as np\ndrawn = np.__dict__['ran' + 'dom'].rand()\ndef f():\n    return drawn\n"
    with one_slot.connect() as client:
        assert len({told(client, code) for _ in range(4)}) == 4


def test_a_job_does_not_end_its_template(one_slot):
    """Whatever it does to the process above it; and if the template goes, the next job has another."""
    attack = (
        "import os, signal, numpy\ntold = []\n"
        "for pid in [1, os.getppid(), *range(2, 60)]:\n    for number in (signal.SIGKILL, signal.SIGSTOP):\n        try:\n            os.kill(pid, number)\n            told.append(pid)\n        except OSError:\n            pass\n"
        "import resource\n"
        "for pid in range(2, 60):\n    try:\n        resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1))\n        told.append(pid)\n    except OSError:\n        pass\n"
        "def f():\n    return [pid for pid in told if pid != os.getpid()]\n"
    )
    with one_slot.connect() as client:
        warm(client, USES, "assert f(4) == 6")
        (template,) = templates(one_slot)
        assert "got []," in told(client, attack)
        assert_passed(warm(client, USES, "assert f(4) == 6"))
        assert templates(one_slot) == [template]
        os.kill(template, signal.SIGKILL)
        answer = judge(client, USES, "assert f(4) == 6", warm_modules=["numpy"])
        assert_passed(answer)
        assert_passed(warm(client, USES, "assert f(4) == 6"))  # at once: it was no fault of the class


def test_a_template_that_dies_when_it_is_to_fork_costs_no_verdict(one_slot):
    """The job runs without it, and the class is not turned off."""
    with one_slot.connect() as client:
        warm(client, USES, "assert f(4) == 6")
        (template,) = templates(one_slot)
        os.kill(template, signal.SIGSTOP)
        client.submit("stopped", job(USES, "assert f(4) == 6", warm_modules=["numpy"]))
        time.sleep(0.5)
        os.kill(template, signal.SIGKILL)
        answer = client.recv_answer("stopped")
        assert_passed(answer)
        assert answer["no_warm_class"] == "its template has ended"
        assert_passed(warm(client, USES, "assert f(4) == 6"))


def test_what_a_job_leaves_running_ends(one_slot):
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(60)\n    os._exit(0)\n" + USES
    with one_slot.connect() as client:
        for _ in range(3):
            answer = judge(client, code, "assert f(4) == 6", warm_modules=["numpy"])
            assert_passed(answer)
            assert answer["warm_class"] or answer["no_warm_class"] == "its template has ended"
        warm(client, USES, "assert f(4) == 6")


def test_the_judge_tells_the_template_from_processes_of_the_code(one_slot):
    """Tests that start Python are refused while a process or thread of the code goes on."""
    run = "import subprocess, sys\nout = subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True)\nassert f(4) == 6 and out.stdout == '1\\n'"
    stays = "import os, time\nif os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\n"
    with one_slot.connect() as client:
        assert_passed(warm(client, USES, run))
        for modules in (["numpy"], []):
            answer = judge(client, stays + USES, run, warm_modules=modules)
            assert details(answer) == ["the tests start Python while a process or thread of the code goes on"]


REFUSED = {
    "there is none": (["there_is_none"], "cannot be loaded: ModuleNotFoundError: No module named 'there_is_none'"),
    "prints": (["this"], "print something"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_loaded_ahead(one_slot, name):
    modules, reason = REFUSED[name]
    with one_slot.connect() as client:
        for _ in range(2):
            answer = judge(client, USES, "assert f(4) == 6", warm_modules=modules)
            assert_passed(answer)
            assert answer["warm_class"] is None and reason in answer["no_warm_class"]


WORDS = {
    "importlib": "import importlib\n",
    "meta_path": "import sys\nsys.meta_path\n",
    "modules": "import sys\nsys.modules\n",
    "environ": "import os\nos.environ['A'] = 'b'\n",
}


@pytest.mark.parametrize("word", WORDS)
def test_a_job_that_may_look_at_what_is_loaded_is_of_no_class(one_slot, word):
    with one_slot.connect() as client:
        answer = judge(client, WORDS[word] + USES, "assert f(4) == 6", warm_modules=["numpy"])
        assert_passed(answer)
        assert answer["no_warm_class"] == f"its texts have the word {word}, and may look at what is loaded"
        answer = judge(client, USES, "assert f(4) == 6", warm_modules=["numpy"], warm=False)
        assert answer["no_warm_class"] == "the job wants a fresh interpreter"


def test_loading_counts_for_nobody(one_slot):
    """The time of the job begins when its modules are there."""
    code = USES + "import time\ntime.sleep(0.3)\n"
    with one_slot.connect() as client:
        answers = [warm(client, code, "assert f(4) == 6", modules=["numpy", "pandas"], metadata={"timeout_s": 3}) for _ in range(2)]
    for answer in answers:
        assert_passed(answer)
        assert answer["usage"]["cpu_ms"] < 400, answer["usage"]  # pandas takes longer


def test_where_code_could_stop_its_jail_nothing_is_loaded_ahead(lend):
    daemon = lend("warm.use=yes", "isolation.require=", "isolation.without=landlock", slots=1)
    with daemon.connect() as client:
        for _ in range(2):
            answer = judge(client, USES, "assert f(4) == 6", warm_modules=["numpy"])
            assert_passed(answer)
            assert answer["no_warm_class"] == "the jail of the code does not outlast a job on this host"


def test_imports_in_several_threads(one_slot):
    code = (
        "import threading\ndone = []\n"
        "def go(name):\n    exec('import ' + name)\n    done.append(name)\n"
        "names = ['numpy', 'numpy.linalg', 'ctypes', 'decimal', 'numpy', 'numpy.random']\n"
        "threads = [threading.Thread(target=go, args=(name,)) for name in names]\n"
        "[one.start() for one in threads]\n[one.join() for one in threads]\n" + USES + "def g():\n    return len(done)\n"
    )
    with one_slot.connect() as client:
        for _ in range(20):
            assert_passed(warm(client, code, "assert f(4) == 6 and g() == 6"))
