# SPDX-License-Identifier: MIT
"""Jobs of kind code_exec: each verdict is right, and no attack on the system forges one. What the checker makes
of the values that cross is in test_code_exec_judge.py.

Where possible, a test also shows that an attack passes in mode `shared`, which evaluates the assertions in
the candidate's own process. So it is a real attack, and the second process is what stops it."""

import json

import pytest
from code_exec_jobs import assert_only_isolated, assert_passed, assert_verdict, details, job, judge
from conftest import ALL_LAYERS, NO_USER_NAMESPACES, Daemon, make_shape

MIB = 1 << 20


# Other files have sanitizers look at the C code of such jails.
WITHOUT_NAMESPACES = pytest.param(NO_USER_NAMESPACES, marks=pytest.mark.once)


@pytest.fixture(scope="module", name="daemon", params=[ALL_LAYERS, WITHOUT_NAMESPACES])
def start_in_shape(request, tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"), shape=make_shape(request.param))
    yield daemon
    assert daemon.stop() == 0, daemon.log()
    assert not any(daemon.work.iterdir()), "the work directory is empty at the end"


# --- verdicts -------------------------------------------------------------------------------------


def test_pass(client):
    result = judge(client, "def add(a, b): return a + b", "assert add(2, 3) == 5", "assert add(0, 0) == 0")
    assert_passed(result)
    assert result["assertions"] == [{"passed": True}, {"passed": True}]


def test_where_long_values_differ(client):
    """Both are shown from where they begin to differ, not from their equal beginnings."""
    code = "def f(n, at): return [0 if i == at else i for i in range(n)]"
    result = judge(client, code, "assert f(300, 250) == list(range(300))", "assert f(99, 98) == 7", "assert 'x' * 90 in f(0, 0)")
    located, beginnings, _ = details(result)
    got, expected = located.removeprefix("got ").split(", expected ")
    assert got.startswith("...") and ", 249, 0, 251, " in got and got.endswith("...")
    assert expected.startswith("...") and ", 249, 250, 251, " in expected and expected.endswith("...")
    assert got.index("249, 0") == expected.index("249, 250") and len(located) <= 200
    assert beginnings.startswith("got [0, 1, 2, ") and beginnings.endswith("..., expected 7")


def test_failed_assertions_tell_why_and_end_nothing(client):
    code = "def f(x):\n    if x == 9: raise KeyError('nine')\n    return x"
    result = judge(
        client,
        code,
        "assert f(41) == 42",
        "assert f(1) == 1",
        "assert f(0), 'a message'",
        "assert not f(5)",
        "assert 42 == f(41)",
        "assert f(3) > 4",
        "assert f(9) == 9",
        "assert f(2) == 2",
        "assert g(2) == 2",
    )
    assert_verdict(result, "assertion_fail", 2 / 9, "2 of 9 assertions passed")
    assert details(result) == [
        "got 41, expected 42",
        None,
        "got 0, expected a true value; a message",
        "got 5, expected a false value",
        "got 41, expected 42",
        "got 3, expected > 4",
        "KeyError: 'nine'",
        None,
        "NameError: name 'g' is not defined",
    ]


@pytest.mark.parametrize(
    "code, begins",
    [
        ("def f(:", "SyntaxError"),
        ("f = 1 / 0", "ZeroDivisionError"),
        ("x = '\0'", ""),
        ("import there_is_no_such_module", "ModuleNotFoundError"),
        ("  x = 1\ny = 2", "IndentationError"),
        ("input()", "EOFError"),
        ("(" * 5000, ""),
    ],
)
def test_syntax_error(client, code, begins):
    result = judge(client, code, "assert y")
    assert_verdict(result, "syntax_error")
    assert result["assertions"] == []
    assert result["score"]["failure_modes"][0]["detail"].startswith(begins)


def test_timeout_keeps_what_was_known(client):
    code = "def f(x):\n    while x == 3: pass\n    return x"
    targets = [f"assert f({n}) == {1 if n == 2 else n}" for n in (1, 2, 3, 4)]
    result = judge(client, code, *targets, metadata={"timeout_s": 1})
    assert_verdict(result, "timeout")
    assert details(result) == [None, "got 2, expected 1"]
    assert result["outcome"]["limit_exceeded"] == "wall_clock"


def test_what_the_code_printed_is_there_when_the_judge_has_ended(client):
    """The judge ends first, and the code's process with it. One of five jobs lost its output."""
    for n in range(60):
        client.submit(f"{n}", job("print('told')\ndef f(): print('more'); return 1", "assert f() == 2"))
    for _ in range(60):
        assert client.recv_answer()["outcome"]["stderr"] == "told\nmore\n"


def test_timeout_of_the_module_body(client):
    result = judge(client, "while True: pass", "assert f", metadata={"timeout_s": 0.5})
    assert_verdict(result, "timeout")
    assert result["assertions"] == []


ENDS = [("os._exit(0)", "it exited with status 0 from inside"), ("os.kill(os.getpid(), 9)", "signal 9"), ("os.abort()", "signal 6")]
LEAVES = [
    ("sys.exit(0)", "it exited with status 0 from inside", "SystemExit: 0"),
    ("sys.exit(3)", "it exited with status 3 from inside", "SystemExit: 3"),
    ("sys.exit('words')", "it exited with status 1 from inside", "SystemExit: words"),
    ("raise SystemExit", "it exited with status 0 from inside", "SystemExit: None"),
    ("raise KeyboardInterrupt", "it exited with status 1 from inside", "KeyboardInterrupt"),
    ("raise GeneratorExit", "it exited with status 1 from inside", "GeneratorExit"),
]


def leaving_in_a_call(client, statement):
    code = f"import os, sys\ndef f(x):\n    if x == 2:\n        {statement}\n    return x"
    return judge(client, code, "assert f(1) == 1", "assert f(2) == 2", "assert f(3) == 3")


@pytest.mark.parametrize("statement, detail", ENDS + [(statement, detail) for statement, detail, _ in LEAVES])
def test_leaving_at_top_level(client, statement, detail):
    top = judge(client, f"import os, sys\nf = 1\n{statement}", "assert f", "assert f")
    assert_verdict(top, "error", 0, detail)


@pytest.mark.parametrize("statement, detail", ENDS)
def test_the_end_of_its_process_in_a_call(client, statement, detail):
    inside = leaving_in_a_call(client, statement)
    assert_verdict(inside, "error", 1 / 3, detail)
    assert inside["assertions"] == [{"passed": True}]


@pytest.mark.parametrize("statement, detail", [(statement, raised) for statement, _, raised in LEAVES])
def test_leaving_a_call_is_an_exception(client, statement, detail):
    """The tests may expect it, as in one process; nothing ends with it."""
    result = leaving_in_a_call(client, statement)
    assert_verdict(result, "assertion_fail", 2 / 3)
    assert details(result) == [None, detail, None]
    code = f"import sys\ndef f():\n    {statement}"
    kind = detail.partition(":")[0]
    assert_passed(judge(client, code, f"try: f()\nexcept {kind} as e: pass\nelse: assert False"))


def test_what_the_imported_modules_do(client):
    """The sandbox holds: a program runs in the jail, and there is no network."""
    code = "import os, shutil, subprocess\ndef f(): return os.system('exit 3') >> 8"
    assert_passed(judge(client, code, "assert f() == 3"))
    code = "import socket\ndef f():\n    socket.create_connection(('127.0.0.1', 1), 1)"
    result = judge(client, code, "assert f() is None")
    assert_verdict(result, "assertion_fail", 0)
    assert details(result)[0].startswith(("PermissionError", "OSError", "ConnectionRefusedError")), result


@pytest.mark.parametrize("module", ["six", "decorator", "pandas", "scipy.stats", "matplotlib.pyplot"])
def test_modules_that_run_texts_of_their_own_when_they_are_imported(client, module):
    """Data sets import them, and they run texts with exec(), which are no more the code's than the modules are."""
    try:
        __import__(module)
    except ImportError:
        pytest.skip(f"there is no {module}")
    limits = {"wall_clock": 30}
    assert_passed(judge(client, "def f(): return 1", "assert f() == 1", prelude=f"import {module}", limits=limits))


def test_what_the_library_imports_for_itself(client):
    code = "import asyncio, tempfile, http, pathlib\ndef f(): return asyncio.run(asyncio.sleep(0, 7))"
    assert_passed(judge(client, code, "assert f() == 7"))


def test_output_overflow(client):
    code = "def f():\n    while True: print('x' * 65536)"
    result = judge(client, code, "assert True", "assert f() is None", limits={"output_bytes": 65536})
    assert_verdict(result, "error", 0.5, "limit exceeded: output")
    assert result["outcome"]["limit_exceeded"] == "output"


def test_memory(client):
    code = "def f(): return len([bytes(1 << 20) for _ in range(1 << 16)])"
    result = judge(client, code, "assert f() == 65536", limits={"memory_bytes": 128 * MIB})
    assert result["verdict"] in ("error", "assertion_fail"), result
    assert result["score"]["score"] == 0


@pytest.mark.parametrize(
    "generation",
    [
        "Sure!\n```python\ndef f():\n    return 1\n```\nDone.",
        "<think>\n```python\ndef f(): return 2\n```\n</think>\n```py\ndef f(): return 1\n```",
        "~~~~python3\r\ndef f():\r\n    return 1\r\n~~~~",
        "```\nfoo bar\n```\n```python\ndef f(): return 1```",
        "```python\n    def f():\n        return 1\n",
        "def f(): return 1\n```\n",
        "def f(): return 1",
        "\ufeffdef f(): return 1",
        "\ufeff```python\ndef f(): return 1\n```</s>",
        "```python\ndef f(): return 1\n``` <|im_end|>\nI hope it helps.",
        "```python\nimport math\n```\nThen\n```python\ndef f(): return math.floor(1.5)\n```\n```python\nprint(f())\n```",
        "It's like this:\n\ndef f():\n    return 1\n\nIsn't it?\n",
    ],
)
def test_generation(client, generation):
    assert_passed(judge(client, None, "assert f() == 1", generation=generation))


def test_code_with_a_fence(client):
    fenced = "Sure!\n```python\ndef f():\n    return 1\n```\nDone."
    assert_passed(judge(client, fenced, "assert f() == 1"))
    assert_passed(judge(client, fenced, "assert f() == 1", entry_point="f"))
    as_it_is = "def f():\n    '''\n```python\ndef f(): return 2\n```\n'''\n    return 1\n"
    assert_passed(judge(client, as_it_is, "assert f() == 1", entry_point="f"))


@pytest.mark.parametrize("mode", ["isolated", "shared"])
def test_a_module_that_the_host_lacks(client, mode):
    """It is an error of the job where the tests or the prelude import it, and a failure of the code if the
    code does."""

    def lacks(code, *targets, **fields):
        answer = client.run(job(code, *targets, verdict=mode, **fields))
        if answer["type"] == "result":
            return answer["verdict"]
        assert (answer["code"], answer["retriable"]) == ("module_not_found", False), answer
        who, _, what = answer["message"].partition(" import")
        assert what.lstrip("s") == " the module not_there, which the Python of this host does not have"
        return who

    code = "def f(): return 1"
    program = "def check(f): assert f() == 1"
    assert lacks(code, "assert f() == 1", "import not_there") == "the job's tests"
    assert lacks(code, "from not_there import x", "assert f() == 1") == "the job's tests"
    assert lacks(code, "assert f() == 1", test_setup="import not_there.at_all") == "the job's tests"
    assert lacks(code, test=f"import not_there\n{program}", entry_point="f") == "the job's tests"
    assert lacks(code, test="def check(f):\n    import not_there\n", entry_point="f") == "the job's tests"
    assert lacks(code, "assert f() == 1", prelude="import not_there\n") == "the job's prelude"
    assert lacks(code, "import sys\nsys.path.insert(0, '.')\nimport not_there\nf()") == "the job's tests"
    assert lacks(code, "import importlib\nimportlib.import_module('not_there').g(f())") == "the job's tests"
    tried = "try:\n    import not_there\nexcept ImportError:\n    pass\n"
    assert lacks(code, f"{tried}assert f() == 1", test_setup=tried, prelude=tried) == "pass"
    assert lacks("def f():\n    import not_there", "f()", test_setup=tried) == "assertion_fail"
    assert lacks(f"import not_there\n{code}", "assert f() == 1") == "syntax_error"


@pytest.mark.parametrize("mode", ["isolated", "shared"])
@pytest.mark.parametrize(
    "tests, message",
    [
        (["assert f( =="], "job.targets[0]: it does not compile: invalid syntax (line 1)"),
        (["assert f() == 1", "x = 1\nassert f( == 1"], "job.targets[1]: it does not compile: invalid syntax (line 2)"),
        (["  assert f() == 1"], "job.targets[0]: it does not compile: unexpected indent (line 1)"),
        (["return f() == 1"], "job.targets[0]: it does not compile: 'return' outside function (line 1)"),
        ("def check(f):\nassert f() == 1\n", "job.test: it does not compile: expected an indented block after "
         "function definition on line 1 (line 2)"),
    ],
)
def test_tests_that_do_not_compile(client, mode, tests, message):
    """They say nothing of the code, so there is no verdict on it."""
    code = "def f(): return 1"
    fields = {"test": tests, "entry_point": "f"} if isinstance(tests, str) else {"targets": tests}
    answer = client.run({"kind": "code_exec", "code": code, "verdict": mode, **fields})
    assert answer["type"] == "error", answer
    assert (answer["code"], answer["retriable"], answer["message"]) == ("bad_request", False, message)
    answer = client.run(job(code, "assert f() == 1", verdict=mode, test_setup="import"))
    assert (answer["type"], answer["message"].partition(":")[0]) == ("error", "job.test_setup")


NOTHING = "it compares and asserts nothing; begin it with assert"


@pytest.mark.parametrize("mode", ["isolated", "shared"])
def test_a_comparison_asserts_nothing(client, mode):
    """Whatever comes of it, it would pass."""

    def run(*targets, **fields):
        answer = client.run(job("def f(): return 1", *targets, verdict=mode, **fields))
        return answer["message"] if answer["type"] == "error" else answer["verdict"]

    assert run("f() == 2") == f"job.targets[0]: {NOTHING}"
    assert run("assert f() == 1", "x = f()\nx == 2") == f"job.targets[1]: {NOTHING}"
    assert run("not f() in (2, 3) and f() < 1") == f"job.targets[0]: {NOTHING}"
    assert run("def g(): return f()\ng() == 2") == f"job.targets[0]: {NOTHING}"
    for target in ("f()", "def judge(x): assert x == 1\njudge(f()) == 1", "f() == 2\nassert f()", "'f() == 2'; f()"):
        assert run(target, test_setup="1 == 2") == "pass", target


@pytest.mark.parametrize("body", ["return 2", "raise SyntaxError('x')", "return compile('f(', 'x', 'exec')"])
def test_code_cannot_have_the_tests_refused(client, body):
    """Whatever it makes of warnings, and whatever it raises, comes after its tests were compiled."""
    code = f"import warnings\nwarnings.simplefilter('error')\ndef f():\n    {body}\n"
    for target in ("assert f() is 1", "assert '\\d' and f() == 1", "def g():\n    return f()\nassert g() is 1"):
        assert_verdict(judge(client, code, target), "assertion_fail", detail="0 of 1 assertions passed")


def test_a_module_that_the_code_has_the_tests_import(client):
    """The name is the code's: a failure, and no error of a job that the code would rather not have counted."""
    code = "def f(x): return 'no_such_module'"
    for target in ("import importlib\nassert importlib.import_module(f(1)).x == 1", "assert __import__(f(1)).x == 1"):
        result = judge(client, code, target)
        assert_verdict(result, "assertion_fail", detail="0 of 1 assertions passed")
        assert details(result) == ["ModuleNotFoundError: No module named 'no_such_module'"]


@pytest.mark.parametrize("target", ["assert f(1) == int(4)", "try: import nt\nexcept ImportError: pass\nassert f(1) == 4"])
def test_code_that_says_that_the_host_lacks_a_module(client, target):
    """Only an import of the tests' own says so, whatever else the judge has looked for in vain."""
    code = "from pathlib import PurePosixPath\nclass E(ModuleNotFoundError): pass\nE.__name__ = 'ModuleNotFoundError'\n"
    code += "e = E(\"No module named 'nt'\", name='nt')\ndef f(x): raise e\nf.path = PurePosixPath('a')\n"
    code += "for i in range(80): setattr(f, f'a{i}', ModuleNotFoundError(f'{i}'))\nf.error = e"
    result = judge(client, code, target)
    assert_verdict(result, "assertion_fail", detail="0 of 1 assertions passed")
    assert details(result) == ["ModuleNotFoundError: No module named 'nt'"]


def test_generation_without_code_defines_nothing(client):
    result = judge(client, None, "assert f() == 1", generation="```python\n```\n")
    assert_verdict(result, "assertion_fail", 0)
    assert details(result) == ["NameError: name 'f' is not defined"]


PRELUDE = 'from typing import List\n\ndef f(xs: List[int]) -> int:\n    """Adds them"""\n'
CHECK = "def check(candidate):\n    assert candidate([1, 2]) == 3\n    assert candidate([]) == 0\n"


@pytest.mark.parametrize(
    "code",
    [
        "    return sum(xs)\n",
        "return sum(xs)\n",
        "total = 0\n    for x in xs:\n        total += x\n    return total\n",
        "\n    return sum(xs)",
        "def f(xs):\n    return sum(xs)\n",
        "import math\nf = math.fsum",
        "def f(xs: List[int]):\n    return sum(xs)\n",
    ],
)
def test_prelude(client, code):
    assert_passed(judge(client, code, test=CHECK, entry_point="f", prelude=PRELUDE))
    wrong = code.replace("sum(xs)", "sum(xs) + 1").replace("total = 0", "total = 1")
    wrong = wrong.replace("math.fsum", "math.prod")
    result = judge(client, wrong, test=CHECK, entry_point="f", prelude=PRELUDE)
    assert_verdict(result, "assertion_fail", 0, "0 of 1 assertions passed (a test program counts as one)")


def test_helpers_of_the_prelude_are_not_the_candidates(client):
    prelude = "def near(a, b):\n    return abs(a - b) < 1e-6\n\ndef f(x):\n    '''Doubles x'''\n"
    test = "def check(candidate):\n    assert near(candidate(2), 4)\n"
    fields = {"test": test, "entry_point": "f", "prelude": prelude}
    assert_passed(judge(client, "    return x * 2", **fields))
    forged = "def near(a, b): return True\ndef f(x): return 0"
    assert_verdict(judge(client, forged, **fields), "assertion_fail")
    assert_passed(judge(client, forged, **fields, verdict="shared"))


def test_helpers_of_a_prelude_that_ends_in_a_function_head(client):
    """Such a prelude is no program without the code. Its definitions belong to the checker all the same."""
    for end in ("", "    # Doubles x\n"):
        prelude = f"def near(a, b):\n    return abs(a - b) < 1e-6\n\ndef f(x):\n{end}"
        fields = {"test": "def check(c):\n    assert near(c(2), 4)\n", "entry_point": "f", "prelude": prelude}
        assert_passed(judge(client, "    return x * 2", **fields))
        assert_verdict(judge(client, "    return 0\ndef near(a, b): return True", **fields), "assertion_fail")


@pytest.mark.parametrize("prelude", ["def f(x):\n", "import math\n\ndef f(x):\n    # Doubles x\n", "class f:\n"])
@pytest.mark.parametrize("verdict", ["isolated", "shared"])
def test_whole_code_under_a_prelude_that_ends_in_a_head(client, prelude, verdict):
    """The head gets an empty body: the code defines all of what it begins."""
    fields = {"test": "def check(c):\n    assert c(2) == 4\n", "entry_point": "f", "prelude": prelude, "verdict": verdict}
    assert_passed(judge(client, "def f(x): return x * 2", **fields))
    assert_passed(judge(client, None, generation="So:\n```python\ndef f(x):\n    return x * 2\n```\n", **fields))
    assert_verdict(judge(client, "def f(x): return 0", **fields), "assertion_fail")


def test_setup_is_run_before_and_where_the_assertions_are(client):
    setup = "import math\nEXPECTED = {1: 2}\ndef twice(x): return f(x)"
    code = "import sys\ndef f(x): return x + 1\ndef g(): return 'EXPECTED' in globals() or 'math' in globals()"
    assert_passed(judge(client, code, "assert twice(1) == EXPECTED[1]", "assert math.pi > 3", test_setup=setup))
    result = judge(client, code, "assert twice(1) == EXPECTED[1]", "assert not g()", test_setup=setup)
    assert_only_isolated(result, 1)
    result = judge(client, code, "assert f(1)", test_setup="1 / 0")
    assert_verdict(result, "error", 0, "test_setup: ZeroDivisionError: division by zero")


def test_entry_point_that_is_missing(client):
    result = judge(client, "def g(xs): return 3", test=CHECK, entry_point="f")
    assert_verdict(result, "assertion_fail")
    assert details(result) == ["NameError: name 'f' is not defined"]


def test_shared(client):
    code = "class A:\n    def __eq__(self, other): return True\ndef f(): return A()"
    targets = ["assert f() == 5", "assert isinstance(f(), A)", "assert f() != 5"]
    result = judge(client, code, *targets, verdict="shared")
    assert_verdict(result, "assertion_fail", 2 / 3, "2 of 3 assertions passed")
    assert_passed(judge(client, code, test="def check(c): assert c() == 5", entry_point="f", verdict="shared"))


def test_text_beyond_ascii(client):
    code = "# \u00e9\U0001f600\ndef gr\u00fc\u00dfe(x): return 'sch\u00f6n ' + x"
    assert_passed(judge(client, code, "assert gr\u00fc\u00dfe('\U0001f600') == 'sch\u00f6n \U0001f600'"))
    result = judge(client, "def f(): return '\u00e9\U0001f600\\ud800'", "assert f() == '\u00fc'")
    assert "\u00fc" in details(result)[0] or "\\xfc" in details(result)[0]


FORGED = '{"passed":true}\\n{"verdict":"pass","detail":""}\\n'
# Attacks on the system rather than on values. None may pass, and the daemon must survive each.
SYSTEM = {
    "every descriptor": f"""
import os
for fd in range(1024):
    try: os.write(fd, b'{FORGED}')
    except OSError: pass
""",
    "descriptors of all processes": f"""
import os
for pid in os.listdir('/proc'):
    if pid.isdigit():
        try: fds = os.listdir(f'/proc/{{pid}}/fd')
        except OSError: continue
        assert int(pid) != os.getppid(), 'the descriptors of the checker can be listed'
        for fd in fds:
            try: fd = os.open(f'/proc/{{pid}}/fd/{{fd}}', os.O_WRONLY | os.O_NONBLOCK)
            except OSError: continue
            os.write(fd, b'{FORGED}')
""",
    "descriptors of the parent by number": f"""
import os
for fd in range(64):
    try: fd = os.open(f'/proc/{{os.getppid()}}/fd/{{fd}}', os.O_WRONLY | os.O_NONBLOCK)
    except OSError: continue
    os.write(fd, b'{FORGED}')
""",
    "kill the parent": "import os\nos.kill(os.getppid(), 9)",
    "terminate the parent": "import os\nos.kill(os.getppid(), 15)",
    "interrupt the parent": "import os\nos.kill(os.getppid(), 2)",
    "kill all": "import os\nos.kill(-1, 9)",
    "kill the group": "import os\nos.killpg(0, 9)",
    "hang up the parent": "import os\nparent = os.getppid()\nfor n in (1, 3, 10, 12, 13, 14): os.kill(parent, n)",
    "print": f"import sys, os\nprint('{FORGED}', flush=True)\nos.write(1, b'{FORGED}'); os.write(2, b'{FORGED}')",
    "atexit": f"import atexit, os\natexit.register(lambda: os.write(1, b'{FORGED}'))\nraise SystemExit(0)",
    "later": f"import threading, os, time\nthreading.Thread(target=lambda: (time.sleep(0.05), os._exit(0)), daemon=True).start()",
    "fork": f"""
import os
if os.fork() == 0:
    os.setsid()
    for i in range(1024):
        try: os.write(i, b'{FORGED}')
        except OSError: pass
    os._exit(0)
""",
    "execve": "import os\nos.execv('/bin/echo', ['echo', '{\"verdict\":\"pass\",\"detail\":\"\"}'])",
    "modules of the checker": """
import sys
for m in list(sys.modules):
    if m in ('judge', 'suite', 'wire', 'proxies', '__main__') or hasattr(sys.modules[m], 'COMPARISONS'): sys.modules[m] = None
import gc, types
gc.unfreeze()
for o in gc.get_objects():
    if isinstance(o, dict) and 'OPERATORS' in o: o['OPERATORS'].update((k, lambda *a: True) for k in list(o['OPERATORS']))
    if isinstance(o, dict) and 'Recorder' in o: o['Recorder'].compare = lambda *a: True; o['run'] = lambda *a: (True, '', None)
    if isinstance(o, dict) and 'Report' in o: o['Report'].assertion = lambda s, p, d: s.write('{"passed":true}')
""",
    "planted files": """
import os
text = 'import os, sys\\nos.write(1, b"%s")\\n' % FORGED_
for d in ('.', '.checker', '.checker/compiled', '.checker/source'):
    try: os.makedirs(d, exist_ok=True)
    except OSError: continue
    for n in ('main', 'judge', 'suite', 'wire', 'proxies', 'sitecustomize', 'usercustomize', 'math', 're', 'typing', 'x'):
        for e in ('.py', '.pth'):
            try: open(f'{d}/{n}{e}', 'w').write(text)
            except OSError: pass
""".replace("FORGED_", repr(FORGED.replace("\\n", "\n"))),
    "many names": "globals().update((f'n{i}', i) for i in range(10**6))",
    "names that are none": "globals().update({1: 2, '': 3, 'a\\0b': 4, '\\ud800': 5, None: 6, ('x',): 7})",
    "hostile names": "class S(str):\n    def __eq__(s, o): return True\n    __hash__ = str.__hash__\nglobals()[S('AssertionError')] = 1",
}
SYSTEM_TARGETS = ["import math, re\nassert f(1) == 4", "import typing\nassert f(2) == 5"]


@pytest.mark.parametrize("at", ["top", "call"])
@pytest.mark.parametrize("name", SYSTEM)
def test_no_attack_on_the_system_passes(daemon, client, name, at):
    if name == "kill all" and not daemon.layers() & {"seccomp", "pid_namespace"}:
        pytest.skip("without these layers it reaches all processes of the account")
    body = SYSTEM[name]
    if at == "call":
        body = "def attack():\n    exec(BODY, globals())\nBODY = " + repr(body)
        code = body + "\ndef f(x):\n    attack()\n    return 3"
    else:
        code = "def f(x): return 3\n" + body
    result = judge(client, code, *SYSTEM_TARGETS, metadata={"timeout_s": 30})
    assert result["verdict"] in ("assertion_fail", "error", "syntax_error"), result
    assert result["score"]["score"] == 0, result
    assert "can be listed" not in json.dumps(result), result
    assert_passed(judge(client, "def f(x): return x", "assert f(1) == 1"))


def test_a_stopped_checker_is_a_timeout(client):
    test = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nassert f(1) == 4"
    result = judge(client, "def f(x): return 4", test, metadata={"timeout_s": 1})
    assert_verdict(result, "timeout")


PROBE = """
import os
P = os.getppid()
def read(path):
    try:
        with open(path, 'rb') as file: return len(file.read(100000))
    except OSError: return None
def mem():
    try:
        fd = os.open(f'/proc/{P}/mem', os.O_RDWR)
    except OSError: return None
    return fd
def ptrace():
    # Without ctypes' own name; the guard of imports is none of what is tested here.
    import importlib
    c = importlib.import_module('ctypes')
    libc = c.CDLL(None, use_errno=True)
    return [libc.ptrace(16, P, 0, 0), libc.ptrace(0x4206, P, 0, 0), libc.process_vm_readv(P, None, 0, None, 0, 0) == 0 and
            steal(c, libc)]
def steal(c, libc):
    class iovec(c.Structure): _fields_ = [('base', c.c_void_p), ('len', c.c_size_t)]
    buffer = c.create_string_buffer(8)
    mine = iovec(c.addressof(buffer), 8)
    theirs = iovec(id(None), 8)  # at the same address there: this one was forked off
    return libc.process_vm_readv(P, c.byref(mine), 1, c.byref(theirs), 1, 0) > 0
def fds():
    try: return os.listdir(f'/proc/{P}/fd')
    except OSError: return None
def env(): return read(f'/proc/{P}/environ')
def maps(): return read(f'/proc/{P}/maps')
def pidfd():
    import importlib
    c = importlib.import_module('ctypes')
    libc = c.CDLL(None, use_errno=True)
    fd = libc.syscall(434, P, 0)
    return fd >= 0 and any(libc.syscall(438, fd, n, 0) >= 0 for n in range(32))
def own_maps(): return read('/proc/self/maps')
def cmdline():
    try: return open(f'/proc/{P}/cmdline').read()
    except OSError: return ''
"""


def test_nothing_of_the_checker_can_be_read(daemon, client):
    targets = [
        "assert mem() is None",
        "assert fds() is None",
        "assert env() is None",
        "assert maps() is None",
        "assert ptrace() == [-1, -1, False]",
        "assert pidfd() is False",
        "assert 'f(1)' not in cmdline()",
    ]
    if daemon.has_view():
        targets.append("assert own_maps() > 0")  # without a view no /proc/PID is visible, not even its own
    result = judge(client, PROBE, *targets, metadata={"timeout_s": 10})
    assert details(result) == [None] * len(targets), result


def test_targets_are_nowhere_in_the_candidate(client):
    code = """
import gc, sys, os
def hunt():
    found = []
    needle = '_'.join(['SECRET', 'MARK'])
    gc.unfreeze()
    for o in gc.get_objects():
        if isinstance(o, (dict, list, tuple)) and o is not found:
            for x in (o.values() if isinstance(o, dict) else o):
                if type(x) in (str, bytes) and (needle in x if type(x) is str else needle.encode() in x):
                    if 'def hunt' not in str(x): found.append(str(x)[:80])
    frame = sys._getframe()
    while frame:
        found += [k for k, v in frame.f_locals.items() if type(v) is str and needle in v and k != 'needle' and 'def hunt' not in v]
        frame = frame.f_back
    for root, _, names in os.walk('.'):
        found += names
    return found
"""
    fields = {"test_setup": "MARK = 'SECRET_MARK_1'", "metadata": {"timeout_s": 20}}
    # In one process they are somewhere, of course.
    assert_only_isolated(judge(client, code, "assert hunt() == []; 'SECRET_MARK_2'", **fields), 0)
