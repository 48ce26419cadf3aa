# SPDX-License-Identifier: MIT
"""A judge that has judged a harmless job stays for the next one (daemon/jail/stay.h), and for no other."""

import json
import os
import signal
from pathlib import Path

import pytest
from conftest import ALL_LAYERS, PYTHON, Daemon, make_shape, need_warm_jail, wait_until

CODE = "def f(x): return x + 1"
PLAIN = "assert f(1) == 2"
# What a judge must not have left when it runs more than that.
LOOKS = """
import os, resource
soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
assert hard == soft + 1 and f(1) == 2
try: os.fstat(6)
except OSError: pass
else: assert False, "it has a seat"
"""


@pytest.fixture(scope="module", name="daemon")
def start(tmp_path_factory):
    need_warm_jail()
    daemon = Daemon(tmp_path_factory.mktemp("d"), "warm.use=yes", shape=make_shape(ALL_LAYERS), slots=1)
    yield daemon
    assert daemon.stop() == 0, daemon.log()
    assert not any(daemon.work.iterdir()), "the work directory is empty at the end"


def judge(client, *targets, code=CODE, seconds=30, **fields):
    job = {"kind": "code_exec", "code": code, "targets": list(targets), "metadata": {"timeout_s": seconds}, **fields}
    return client.run(job)


def passes(client, *targets, **fields):
    result = judge(client, *targets, **fields)
    assert result["type"] == "result" and result["verdict"] == "pass", result
    return result


def children(pid):
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def staying(client):
    """Returns the pid of the judge that has stayed, None if there is none."""
    (slot,) = client.status()["slots"]
    found = [pid for pid in children(slot["jail_pid"]) if "(python3) Z" not in Path(f"/proc/{pid}/stat").read_text()]
    found = [pid for pid in found if Path(f"/proc/{pid}/comm").read_text() == "python3\n"]
    assert len(found) <= 1
    return found[0] if found else None


def candidates(client):
    """Returns the pids of the code's processes."""
    (slot,) = client.status()["slots"]
    twins = [pid for pid in children(slot["jail_pid"]) if Path(f"/proc/{pid}/comm").read_text() == "rubricd-twin\n"]
    return [pid for twin in twins for pid in children(twin)]


@pytest.fixture(name="first")
def have_one_stay(client):
    passes(client, PLAIN)
    first = staying(client)
    assert first
    return first


def test_it_judges_the_next_job(client, first):
    for target, verdict in ((PLAIN, "pass"), ("assert f(1) == 3", "assertion_fail"), (PLAIN, "pass")):
        result = judge(client, target)
        assert result["verdict"] == verdict and result["interpreter"] == "warm", result
        assert staying(client) == first


def test_no_job_of_another_connection(daemon, client, first):
    """Not even of the same user: what serves many users may have a connection for each."""
    with daemon.connect() as other:
        passes(other, PLAIN)
        second = staying(other)
        assert second not in (None, first) and not Path(f"/proc/{first}").exists()
        passes(other, PLAIN)
        assert staying(other) == second


def test_it_ends_before_a_job_of_another_connection_begins(daemon, client, first):
    """The job's own code sees to it that it runs for a while."""
    with daemon.connect() as other:
        wait = {"kind": "code_exec", "code": "import time\ndef f(x): time.sleep(30)", "targets": [PLAIN], "metadata": {"timeout_s": 30}}
        other.submit("w", wait)
        wait_until(lambda: len(candidates(client)) == 1, "the code runs")
        assert not Path(f"/proc/{first}").exists()
        other.send({"type": "cancel", "id": "w"})
        assert other.recv()["id"] == "w"


def test_it_does_not_wait_for_ever(client, first):
    wait_until(lambda: staying(client) is None, "the judge has ended", 60)
    passes(client, PLAIN)


@pytest.mark.parametrize(
    ("code", "target"),
    [
        (CODE, "import re\nassert f(1) == 2 and re.match('[a-c]+d?', 'abc')"),  # a cache of the module's
        ("from colorsys import *\n" + CODE, "assert f(1) == 2\nrgb_to_hsv"),  # another module is loaded
    ],
)
def test_what_a_job_leaves_ends_it(client, first, code, target):
    passes(client, target, code=code)
    assert staying(client) is None


def test_one_that_does_not_take_a_job_is_replaced(client, first):
    os.kill(first, signal.SIGSTOP)
    passes(client, PLAIN)
    assert staying(client) not in (None, first)


def test_what_tests_print_is_their_own_jobs(client, first):
    for text in ("one", "two"):
        result = judge(client, f"print('{text}' * 3)\nassert f(1) == 3")
        assert result["outcome"]["stderr"] == text * 3 + "\n", result
    assert staying(client) == first


def test_each_job_has_its_own_warnings(client, first):
    """Python warns of a text when it compiles it."""
    for fields in ({"prelude": "def g():\n    assert (1, 'always true')\n"}, {"test_setup": "def g(): return [1](0)"}):
        told = [judge(client, "assert f(1) == 3", **fields)["outcome"]["stderr"] for _ in range(3)]
        assert "SyntaxWarning" in told[0] and told == told[:1] * 3, told


def test_each_job_has_random_numbers_of_its_own(client, first):
    """The numbers of the job before do not go on, whatever its tests have set."""
    failed = [judge(client, "import random\nif f(1): random.seed(1)\nassert f(1) == random.random()")]
    failed += [judge(client, "import random\nassert f(1) == random.random()") for _ in range(3)]
    details = {one["assertions"][0]["detail"] for one in failed}
    assert len(details) == 4 and staying(client) == first, details


def test_caches_of_typing_are_empty_again(client, first):
    """List[1] and List[True] are one entry of a cache that stays."""
    for text, shown in (("1", "1"), ("True", "True"), ("1.0", "1.0")):
        target = f"from typing import List\nassert f(1) == 2 and str(List[{text}]) == 'typing.List[{shown}]'"
        assert judge(client, target)["verdict"] == "pass", text
    assert staying(client) == first


def test_it_holds_no_descriptor_of_a_job(client, first):
    def held():
        """Descriptors, and what they are; the null device has the places of a job's."""
        return sorted((entry.name, os.readlink(entry)) for entry in Path(f"/proc/{first}/fd").iterdir())

    judge(client, "assert f(1) == 2")
    before = held()
    for target in (PLAIN, "print('a')\nassert f(1) == 3", "assert f([1] * 10000) == 2", "assert f('a') == 'a'"):
        judge(client, target, code="def f(x): return x")
    assert held() == before and {name for name, place in before if place != "/dev/null"} == {"6"}


def test_each_job_has_its_own_usage(client, first):
    code = "def f(x):\n    for n in range(3000000): pass\n    return x + 1"
    busy = passes(client, PLAIN, code=code)
    quick = passes(client, PLAIN)
    assert staying(client) == first
    assert quick["usage"]["cpu_ms"] < busy["usage"]["cpu_ms"], (quick, busy)


@pytest.mark.parametrize(
    ("code", "verdict"),
    [("def f(x): return object()", "pass"), ("def f(x): raise ValueError", "assertion_fail"), ("import os\ndef f(x): os._exit(3)", "error")],
)
def test_the_job_that_ends_it_has_its_own_usage(client, first, code, verdict):
    """The kernel tells of a process that has ended what it has used for all its jobs."""
    busy = passes(client, "assert f(1) == 2 and not any(n < 0 for n in range(8000000))")
    assert staying(client) == first
    last = judge(client, "assert f(1)", code=code)
    assert last["verdict"] == verdict and staying(client) is None, last
    assert last["usage"]["cpu_ms"] < busy["usage"]["cpu_ms"] / 2, (last, busy)
    # Nobody waits for two CPUs at once for longer than the job takes.
    assert last["usage"]["cpu_wait_ms"] <= 2 * last["usage"]["wall_clock_ms"] + 2, (last, busy)


@pytest.mark.parametrize("target", [LOOKS, "import os\nassert f(os.getpid() * 0) == 1", "class A: pass\nassert f(1) == 2 and A"])
def test_no_other_job(client, first, target):
    passes(client, target)
    assert staying(client) is None


MAKES_A_CLASS = """
T = type
A = T("A", (), {"__del__": lambda self: print("of another job")})
def hold():
    kept = A()
    me = yield
    yield me
g = hold()
next(g)
g.send(g)
g = 0
assert f(1) == 2
"""
CHANGES_A_DEFAULT = """
import json
from copy import copy
T = type
E = T("E", (), {"__init__": lambda self, **more: None, "encode": lambda self, value: "same"})
now = {**dict.fromkeys("skipkeys ensure_ascii check_circular allow_nan indent separators default sort_keys".split()), "cls": E}
copy(T("A", (), {"__reduce_ex__": lambda self, _: (lambda: json.dumps, (), (None, {"__kwdef" "aults__": now}))})())
assert f(1) == 2
"""


@pytest.mark.parametrize("target", [MAKES_A_CLASS, CHANGES_A_DEFAULT])
def test_no_class_made_by_tests_outlives_them(client, first, target):
    """A finalizer would run in a later job; by methods of a class copy() sets attributes of Python's functions."""
    passes(client, target)
    result = judge(client, "import json\nx = [[n] for n in range(60000)]\nassert json.dumps(f(1)) == json.dumps([3])")
    assert result["verdict"] == "assertion_fail" and not result["outcome"]["stderr"], result


@pytest.mark.parametrize("fields", [{"verdict": "shared"}, {"transcript": True}])
def test_no_other_mode(client, first, fields):
    passes(client, PLAIN, **fields)
    assert staying(client) is None


def test_not_while_another_kind_runs(client, first):
    result = client.run({"kind": "sandbox", "argv": [PYTHON, "-c", "import os; print([p for p in os.listdir('/proc') if p.isdigit()])"]})
    assert result["score"]["passed"], result
    assert staying(client) is None


def test_not_under_other_limits(client, first):
    result = passes(client, PLAIN, limits={"memory_bytes": 300 << 20})
    assert staying(client) != first, result


@pytest.mark.parametrize(
    ("code", "target"),
    [
        ("class A:\n    pass\ndef f(x): return A()", "assert f(1)"),
        ("def f(x): raise ValueError", "try:\n    f(1)\n    assert False\nexcept ValueError: pass"),
        ("import os\ndef f(x):\n    os.environ['a'] = 'b'\n    return 'environ'", "assert f(1) == 'environ'"),
    ],
)
def test_what_has_crossed_ends_it(client, first, code, target):
    passes(client, target, code=code)
    assert staying(client) is None


def test_a_job_that_is_killed_takes_it_along(client, first):
    result = judge(client, PLAIN, code="def f(x):\n    while True: pass", seconds=1)
    assert result["verdict"] == "timeout", result
    assert staying(client) is None
    passes(client, PLAIN)


def test_one_that_has_grown_ends(client, first):
    """What a job is said to have used at most would be that of the jobs before."""
    passes(client, "assert len(f(1)) == 40000000", code="def f(x): return 'x' * 40000000")
    assert staying(client) is None
    assert passes(client, PLAIN)["usage"]["max_rss_bytes"] < 40000000


def test_it_keeps_within_its_time_though_others_had_some(client, first):
    """Each job has the CPU time that its limit says."""
    busy = "any(n < 0 for n in range(8000000))"
    for _ in range(2):
        passes(client, f"assert f(1) == 2 and not {busy}", limits={"cpu": 2})
    assert staying(client) == first
    result = judge(client, f"assert f(1) == 2\nwhile True: {busy}", limits={"cpu": 1})
    assert result["outcome"]["limit_exceeded"] == "cpu", result


def test_one_that_is_gone_is_replaced(client, first):
    os.kill(first, signal.SIGKILL)
    passes(client, PLAIN)
    assert staying(client) not in (None, first)


def test_a_cancelled_job_takes_none_of_another(daemon, client, first):
    """The end of one job and the order to end it may cross: that must not end the next job's judge."""
    jobs = [{"kind": "code_exec", "code": CODE, "targets": [PLAIN], "metadata": {"timeout_s": 30}} for _ in range(300)]
    for n, job in enumerate(jobs):
        client.submit(f"{n}", job)
    answers = {}
    while len(answers) < len(jobs):
        message = client.recv()
        if message["type"] not in ("result", "error") or message.get("code") == "bad_request":  # cancelled too late
            continue
        answers[message["id"]] = message
        following = int(message["id"]) + 1
        if following % 2 and following < len(jobs):
            client.send({"type": "cancel", "id": f"{following}"})
    for one in answers.values():
        cancelled = one["type"] == "error" and one["code"] == "cancelled"
        assert cancelled or one.get("verdict") == "pass", one


def test_a_jail_that_starts_for_others_leaves_nothing(daemon, client, first):
    jail = client.status()["slots"][0]["jail_pid"]
    os.kill(jail, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{first}").exists(), "the judge is gone")
    passes(client, PLAIN)


def test_the_results_are_those_of_cold_judges(client):
    for code in (CODE, "def f(x): return 2", "def f(x): return None", "def f(x): return x +", "def g(x): return x"):
        told = [judge(client, PLAIN, "assert f(2) == 3", code=code, **more) for more in ({}, {}, {"warm": False})]
        kept = [{key: one[key] for key in ("verdict", "score", "assertions")} for one in told]
        for one in kept:
            one["score"].pop("wall_clock_ms")
        assert kept[0] == kept[1] == kept[2], json.dumps(told)
