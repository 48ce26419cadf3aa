# SPDX-License-Identifier: MIT
"""Which jobs may leave their judge to others (daemon/checker/stay.py). One that is wrongly called harmless could
decide a job of somebody else's, so most of these are not."""

import builtins
import gc
import sys

import jobs  # noqa: F401  finds the modules

import ambient  # isort: skip
import candidate
import judge
import mirrors
import program
import pytest
import rehearsal
import stay

HARMLESS = """assert f(1) == 2
import os\\nassert f(1) == 2
import math, random\\nfrom collections import Counter\\nassert f(math.pi) == Counter('a') and random.random() < 2
def check(x):\\n    return [y for y in x if y]\\nassert check(f([1])) == [1]
assert 'a b'.split() == f('{} {}'.format('a', 'b'))
for x in range(3): assert abs(f(x) - x) < 1e-6, 'far'
assert f(hash((1, 2))) == hash((1, 2)), print('no')
assert type(f(1)) == int
try:\\n    f(1)\\n    assert False\\nexcept ValueError: pass""".split("\n")
HARMFUL = """import os\\nassert f(os.getpid())
import sys\\nassert f(sys.modules) == 2
from random import _os\\nassert f(1) == 2
import random\\nassert f(random._os) == 2
import random\\nrandom.random = f\\nassert f(1)
import random\\ndel random.random\\nassert f(1)
import random\\nassert f(random)
assert f(open('/dev/null'))
open = open\\nassert f(1)
assert f(eval('1'))
assert f(__import__('os'))
assert f(globals())
assert f(getattr(f, 'x'))
assert f(setattr)
assert f(id(1))
assert f(().__class__)
assert f((x for x in ()).gi_frame)
assert f(f.__globals__)
assert f('{0.__class__}'.format(1))
assert f(input())
assert f(vars())
x = __builtins__\\nassert f(1)
__name__ = 'a'\\nassert f(1)
class A: pass\\nassert f(A())
async def g(): pass\\nassert f(g())
with f(1): pass
def g():\\n    global x\\n    x = 1\\nassert f(1)
assert f(type('A', (), {}))
assert f(type(type(1))('A', (), {}))
T = type\\nassert f(T(T(1))('A', (), {}))
T = type\\nassert f(1)
assert f(type(int)('A', (), {}))
assert f(type[int]('A', (), {}))
assert f([*map(type, [int])])
k = type(int)\\nassert f(1)
import typing\\ntry:\\n    typing.Type.x\\nexcept AttributeError as e: t = e.obj\\nassert f(1)
import typing\\nassert f(typing.get_type_hints(f))
import logging\\nassert f(1)
import threading\\nassert f(1)
from math import *\\nassert f(1)
from operator import attrgetter\\nassert f(1)
import decimal\\nassert f(decimal.getcontext())
import decimal\\nassert f(decimal.Decimal(1))
assert f(os.getpid())
assert f(getcontext())
assert f(seed(1))
assert f(Path('a'))
assert f(copy.dispatch_table)
x = [1](0)\\nassert f(1)
def g(): return 'a'[0.5]\\nassert f(1)
assert f(1) ==""".split("\n")


def part(name, text):
    return rehearsal.part(name, text)


def make_job(target, code="def f(x): return x", **more):
    parts = {"mode": "isolated", "code": code, **more, "target": target.replace("\\n", "\n")}
    data = b"".join(part(name, text) for name, text in parts.items())
    return judge.Job(data), len(data)


@pytest.mark.parametrize("target", HARMLESS)
def test_harmless(target):
    assert stay.is_harmless(*make_job(target))


@pytest.mark.parametrize("target", HARMFUL)
def test_harmful(target):
    assert not stay.is_harmless(*make_job(target))


@pytest.mark.parametrize("target", HARMFUL)
def test_a_harmful_prelude_or_setup(target):
    text = target.replace("\\n", "\n")
    assert not stay.is_harmless(*make_job("assert f(1) == 1", setup=text))
    if not text.endswith("=="):  # a prelude is cut where it can be read no more
        assert not stay.is_harmless(*make_job("assert f(1) == 1", prelude=text))


@pytest.mark.parametrize("target", ["assert f(o.getpid())", "o.x()", "assert f(o)"])
def test_a_module_that_another_text_imports(target):
    for module in ("os", "re", "sys"):
        for more in ({"setup": f"import {module} as o"}, {"prelude": f"import {module} as o\n"}):
            assert not stay.is_harmless(*make_job(target, **more))
    assert stay.is_harmless(*make_job("assert f(o.pi)", setup="import math as o"))


@pytest.mark.parametrize(
    ("more", "size"),
    [({"mode": "shared"}, 0), ({"transcript": ""}, 0), ({"replay": "x"}, 0), ({}, stay.JOB_MAX), ({"code": "import threading"}, 0)],
)
def test_other_jobs(more, size):
    job, length = make_job("assert f(1) == 1", **more)
    assert not stay.is_harmless(job, length + size)


class Left(BaseException):
    pass


class Ended(BaseException):
    pass


def end(status):
    raise Ended(status)


def make_stay():
    def leave():
        raise Left

    return stay.Stay((leave, lambda: True, lambda: True, lambda: True, lambda excused: None, lambda: []))


def perform(staying, target, code="def f(x): return x", **more):
    """Judges a job as a judge with a seat does. Returns its verdict, and whether the judge may go on."""
    job, size = make_job(target, code, **more)
    report = rehearsal.Silent()
    staying.admit(job, size)
    link, server = judge.make_link(), candidate.make_server()
    rehearsal.Wire(link, server)
    checker = judge.judge(job, link, report)
    return report.last, staying.may_go_on(checker) and staying.put_back()


GOES_ON = ("assert f(1) == 1", "assert f([1, {2: 'x'}]) == [1, {2: 'x'}]", "assert f(1) == 2", "import bisect, string\nassert f(1) == 1")


@pytest.fixture(name="staying")
def make_staying(monkeypatch):
    monkeypatch.setattr(judge.Checker, "confirm", lambda self: None)  # by another process
    monkeypatch.setattr(stay.sinks, "_in_force", [])
    monkeypatch.setattr(stay.os, "_exit", end)
    saved = dict(sys.modules), dict(vars(builtins)), sys.stdout
    threshold = gc.get_threshold()
    yield make_stay()
    gc.set_threshold(*threshold)
    vars(builtins).update(saved[1])
    sys.stdout = saved[2]
    for name in ("__main__", candidate.NAME):
        if name in saved[0]:
            sys.modules[name] = saved[0][name]


def test_it_goes_on_and_all_is_as_it_was(staying):
    def state():
        return set(vars(builtins)), [*sys.meta_path], sys.getrecursionlimit(), len(mirrors.spaces), sys.modules.get("__main__")

    before = state()
    for target in GOES_ON:
        _, goes_on = perform(staying, target)
        assert goes_on and state() == before, target
    assert not program._trees and not program._symbols


CROSSING = {
    "an object": ("def f(x): return object()", "assert f(1) is not None"),
    "an exception": ("def f(x): raise ValueError", "try:\n    f(1)\nexcept ValueError: pass"),
    "the environment": ("import os\ndef f(x):\n    os.environ['x'] = 'y'\n    return x", "assert f('environ') == 'environ'"),
}


@pytest.mark.parametrize("name", CROSSING)
def test_what_crosses_ends_it(staying, name):
    code, target = CROSSING[name]
    last, goes_on = perform(staying, target, code)
    assert '"pass"' in last and not goes_on


def test_the_first_leaves_its_seat_and_another_refuses(staying):
    harmful = make_job("import os\nassert f(os.getpid())")
    with pytest.raises(Left):
        staying.admit(*harmful)
    perform(staying, "assert f(1) == 1")
    with pytest.raises(Ended):
        staying.admit(*harmful)


def test_verdicts_do_not_depend_on_those_before(staying):
    jobs_of = [("def f(x): return x + 1", "assert f(1) == 2"), ("def f(x): return x", "assert f(1) == 2"), ("def g(x): return x", "assert f(1) == 2")]
    alone = [perform(make_stay(), target, code)[0] for code, target in jobs_of]
    assert [perform(staying, target, code)[0] for code, target in jobs_of * 3] == alone * 3


def test_ambient_state_is_noted(staying):
    heard = ambient.Ambient("")
    assert not heard.has_heard
    heard.incoming({"events": []})
    assert heard.has_heard


def test_functions_of_python_are_its_own_again(staying):
    before = {name: getattr(builtins, name) for name in ("eval", "exec", "compile")}
    seen = []
    staying.changed = lambda: seen.append({name: getattr(builtins, name) for name in before}) or []
    assert perform(staying, "assert '{}'.format(f(1)) == '1'")[1]
    assert seen == [before] and not any(name.startswith("__format") for name in vars(builtins))


def test_what_has_changed_ends_it(staying):
    staying.changed = lambda: [{}]
    assert perform(staying, "assert f(1) == 1") == ('{"verdict":"pass","detail":""}', False)


@pytest.mark.parametrize("module", ["colorsys", "json"])
def test_only_modules_that_compute_may_be_new(staying, module):
    staying.modules.pop(module, None)
    __import__(module)
    assert perform(staying, "assert f(1) == 1")[1] == (module == "json")


def test_nobody_can_change_what_is_kept():
    made = program.kept(lambda text: ({text}, [text, {text: [text]}]))
    found = made("a")
    assert made("a") is found and found == ({"a"}, ("a", {"a": ("a",)}))
    assert type(found[0]) is frozenset and type(found[1][1]) is type(vars(type))
    with pytest.raises(TypeError, match="bytearray can be changed"):
        program.kept(lambda text: bytearray())("a")
