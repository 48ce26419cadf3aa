# SPDX-License-Identifier: MIT
"""Jobs of kind `program`: every verdict, what a compiler may do and what stops it, tests that were put,
calls, checkers, and programs that look for what they must not know or leave things for later tests."""

import hashlib
import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest
from conftest import open_up, wait_until

LANGUAGES = Path(__file__).parents[2] / "conf" / "languages.d"

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
needs_gxx = pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")

ADD = "a, b = map(int, input().split())\nprint(a + b)\n"
ADD_C = '#include <stdio.h>\nint main(void)\n{\n int a, b;\n scanf("%d %d", &a, &b);\n printf("%d\\n", a + b);\n}\n'
ONE = [{"input": "1 2\n", "output": "3\n"}]
TWO = [*ONE, {"input": "4 5", "output": "9"}]


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


@pytest.fixture(name="client")
def connect(daemon):
    with daemon.connect() as client:
        yield client


def program(code, tests=ONE, language="python", **fields):
    return {"kind": "program", "language": language, "code": code, "tests": tests, **fields}


def verdicts(result):
    assert result["type"] == "result", result
    return [test["verdict"] for test in result["tests"]]


def detail(result):
    (mode,) = result["score"]["failure_modes"]
    assert mode["code"] == "program." + result["verdict"]
    return mode["detail"]


def refused(client, job, code="bad_request", check=True):
    error = client.run(job, check=check)
    assert (error["type"], error["code"]) == ("error", code), error
    return error["message"]


# Verdicts


@needs_gcc
def test_a_program_is_compiled_once_and_passes(client):
    result = client.run(program(ADD_C, TWO, "c"))
    assert result["verdict"] == "pass" and verdicts(result) == ["pass", "pass"]
    assert result["score"]["breakdown"] == {"tests_passed": 1}
    assert result["compile"]["exit_code"] == 0 and result["compile"]["output"] == ""
    assert result["language"]["name"] == "c" and "gcc" in result["language"]["version"]
    parts = [result["compile"], *result["tests"]]
    assert result["usage"]["wall_clock_ms"] >= max(part["usage"]["wall_clock_ms"] for part in parts)
    assert result["outcome"]["stderr"] == "" and result["outcome"]["summary"] == "ok"


def test_a_program_that_needs_no_compiler_passes(client):
    result = client.run(program(ADD, TWO))
    assert result["verdict"] == "pass" and "compile" not in result
    assert result["language"]["name"] == "python"


def test_the_first_difference_is_told(client):
    tests = [
        {"input": "", "output": "a\nb\n", "name": "right"},
        {"input": "", "output": "a\nc\nd\n", "name": "wrong"},
        {"input": "", "output": "a\nb\n"},
    ]
    result = client.run(program("print('a')\nprint('b')", tests))
    assert result["verdict"] == "wrong_answer" and verdicts(result) == ["pass", "wrong_answer"]
    wrong = result["tests"][1]
    assert wrong["name"] == "wrong" and wrong["exit_code"] == 0
    assert (wrong["difference"]["line"], wrong["difference"]["got"]) == (2, "b")
    assert wrong["difference"]["expected"] == "c"
    assert detail(result).startswith("test 2 of 3 (wrong), line 2: ")
    assert result["score"]["breakdown"]["tests_passed"] == pytest.approx(1 / 3)


def test_all_tests_run_if_that_is_asked_for(client):
    tests = [{"input": "", "output": output} for output in ("x", "a", "x", "a")]
    result = client.run(program("print('a')", tests, stop="all"))
    assert verdicts(result) == ["wrong_answer", "pass", "wrong_answer", "pass"]
    assert result["score"]["score"] == 0 and result["score"]["breakdown"]["tests_passed"] == 0.5
    assert verdicts(client.run(program("print('a')", tests))) == ["wrong_answer"]
    assert detail(result).startswith("test 1 of 4, line 1: ")


def test_a_crash_is_a_runtime_error(client):
    result = client.run(program("1 / 0"))
    assert result["verdict"] == "runtime_error" and result["tests"][0]["exit_code"] == 1
    assert "ZeroDivisionError" in result["tests"][0]["stderr"]
    assert "ZeroDivisionError" in result["outcome"]["stderr"]
    assert detail(result) == "test 1 of 1: exit status 1: ZeroDivisionError: division by zero"
    result = client.run(program("import sys\nsys.exit('\\nfirst line\\nsecond line')"))
    assert detail(result) == "test 1 of 1: exit status 1: first line"
    result = client.run(program("import os; os.kill(os.getpid(), 11)"))
    assert result["verdict"] == "runtime_error" and result["tests"][0]["signal"] == 11
    assert detail(result) == "test 1 of 1: signal 11 (SIGSEGV)"


def test_the_reason_is_found_behind_much_output(client):
    """One runtime names what happened first, another last: both ends of stderr are kept."""
    code = "import sys\nprint('first', file=sys.stderr)\nprint('\\u00e9' * 20000, file=sys.stderr)\n{}[1]"
    result = client.run(program(code))
    assert detail(result) == "test 1 of 1: exit status 1: KeyError: 1"
    kept = result["tests"][0]["stderr"]
    assert kept.startswith("first\n") and "\n[...]\n" in kept and kept.endswith("KeyError: 1\n")
    assert 2040 < len(kept.encode()) <= 2048 and "\ufffd" not in kept


def test_the_reason_of_a_program_in_javascript(client):
    if not os.access("/usr/bin/node", os.X_OK):
        pytest.skip("no node on this host")
    for code, reason in (
        ("require('node:assert').strictEqual(1, 2)", r"AssertionError .*: 1 !== 2"),
        ("foo(1)", "ReferenceError: foo is not defined"),
        ("let x = = 1", r"SyntaxError: Unexpected token '='"),
    ):
        assert re.fullmatch("test 1 of 1: exit status 1: " + reason, detail(client.run(program(code, language="javascript"))))


# What is tested is the language's file.
@pytest.mark.once
@pytest.mark.long
@pytest.mark.skipif(not os.access("/usr/bin/tsc", os.X_OK), reason="there is no tsc (node-typescript)")
def test_typescript_knows_the_names_of_node(client):
    """The usual ways to read stdin compile, and so does what declares the names itself; a mistake does not."""
    limits = {"wall_clock": 300, "cpu": 300}
    for code, verdict in (
        ("import * as fs from 'fs';\nconst n: number = Number(fs.readFileSync(0, 'utf8'));\nconsole.log(n * 2);", "pass"),
        ("const fs = require('fs');\nprocess.stdout.write(String(2 * Number(fs.readFileSync(0, 'utf8'))));", "pass"),
        ("declare var require: any;\nconsole.log(2 * Number(require('fs').readFileSync(0, 'utf8')));", "pass"),
        ("setImmediate(() => console.log([42, 1].at(-2)!.toString().replaceAll('0', '')));", "pass"),
        ("const n: number = require('fs').readFileSync(0, 'utf8');\nconst text: string = 5;", "compile_error"),
        ("import * as none from 'nonesuch';\nconsole.log(none);", "compile_error"),
    ):
        test = [{"input": "21\n", "output": "42\n"}]
        result = client.run(program(code, test, "typescript", limits={"wall_clock": 60}, compile_limits=limits))
        assert result["verdict"] == verdict, (code, result)
    assert "Cannot find module 'nonesuch'" in detail(result)


def test_a_right_output_does_not_make_up_for_a_bad_end(client):
    assert client.run(program(ADD + "raise SystemExit(3)"))["verdict"] == "runtime_error"


def test_time_is_limited_for_each_test(client):
    wait = "import time\nn = float(input())\ntime.sleep(n)\nprint('done')\n"
    tests = [
        {"input": "0.2", "output": "done", "wall_clock": 60},
        {"input": "600", "output": "done"},
        {"input": "0", "output": "done"},
    ]
    result = client.run(program(wait, tests, stop="all", limits={"wall_clock": 1}))
    assert verdicts(result) == ["pass", "timeout", "pass"]
    assert result["tests"][1]["limit_exceeded"] == "wall_clock"
    assert result["outcome"]["limit_exceeded"] == "wall_clock"
    assert detail(result) == "test 2 of 3: limit exceeded: wall_clock"


def test_a_runtime_says_that_memory_ran_out(client):
    result = client.run(program("x = bytearray(1 << 40)", limits={"memory_bytes": 1 << 28}))
    assert result["verdict"] == "memory" and "MemoryError" in result["tests"][0]["stderr"]


@pytest.mark.parametrize(
    "code",
    [
        "raise ValueError('no MemoryError here')",
        "import sys\nprint('MemoryError is not why', file=sys.stderr)\nsys.exit(1)",
        "class MemoryErrors(Exception): pass\nraise MemoryErrors",
    ],
)
def test_who_only_speaks_of_memory_lacks_none(client, code):
    assert client.run(program(code))["verdict"] == "runtime_error"


@needs_gcc
def test_without_evidence_it_is_a_runtime_error(client):
    code = "#include <stdlib.h>\nint main(void) { return malloc(1ul << 40) ? 0 : 1; }"
    assert client.run(program(code, language="c"))["verdict"] == "runtime_error"


def test_output_is_limited(client):
    result = client.run(program("while True: print('x' * 1000)"))
    assert result["verdict"] == "output_limit"
    assert result["tests"][0]["limit_exceeded"] == "output"


@needs_gcc
def test_a_compile_error_comes_with_the_words_of_the_compiler(client):
    result = client.run(program("int main(void) { return x; }", TWO, "c"))
    assert result["verdict"] == "compile_error" and result["tests"] == []
    assert "undeclared" in result["compile"]["output"] and result["compile"]["exit_code"] == 1
    assert re.fullmatch(r"compiler: exit status 1: main\.c:1:25: error: .x. undeclared .*", detail(result))


def own_language(start_daemon, tmp_path, name, text, shipped=()):
    """Starts a daemon that knows one language, NAME.conf with TEXT, and those SHIPPED."""
    directory = tmp_path / "languages"
    directory.mkdir()
    (directory / f"{name}.conf").write_text(text + "[hello]\n|x\n")
    for other in shipped:
        shutil.copy(LANGUAGES / f"{other}.conf", directory)
    open_up(directory)
    return start_daemon(f"languages.directory={directory}")


def test_a_program_that_cannot_be_executed_is_a_runtime_error(start_daemon, tmp_path):
    daemon = own_language(
        start_daemon,
        tmp_path,
        "copy",
        "[language]\nsource = main.c\npackage = coreutils\nversion = install --version\n"
        "[compile]\ncommand = install -m 755 {source} main\nartefact = main\n[run]\ncommand = ./main\n",
    )
    with daemon.connect() as client:
        result = client.run(program("junk", TWO, "copy", stop="all"))
        assert verdicts(result) == ["runtime_error", "runtime_error"]
        assert result["tests"][0]["stderr"] == "the program cannot be executed: Exec format error"
        script = "#!/bin/sh\nread a b\necho $((a + b))\n"
        assert client.run(program(script, TWO, "copy"))["verdict"] == "pass"


def test_the_rule_of_comparison_is_the_clients(client):
    tests = [{"input": "", "output": "1.0  2\n"}]
    for rule, verdict in (
        ("exact", "wrong_answer"),
        ("lines", "wrong_answer"),
        ("tokens", "wrong_answer"),
        ("float:1e-6,1e-6", "pass"),
    ):
        assert client.run(program("print('1.0000001 2')", tests, compare=rule))["verdict"] == verdict, rule
    assert client.run(program("print('1.0 2')", tests, compare="tokens"))["verdict"] == "pass"


# What a job is made of


def test_code_is_found_in_a_generation(client):
    text = f"First the shell:\n```sh\nls\n```\nThen\n```python3\n{ADD}```\nThat is all.\n"
    job = program(None, TWO, generation=text)
    del job["code"]
    assert client.run(job)["verdict"] == "pass"
    assert client.run({**job, "generation": ADD})["verdict"] == "pass"


def test_a_prelude_stands_before_the_code(client):
    assert client.run(program(ADD, prelude="from builtins import *"))["verdict"] == "pass"
    result = client.run(program("print(x)", [{"input": "", "output": "7"}], prelude="x = 7"))
    assert result["verdict"] == "pass"


def test_files_and_arguments_reach_a_test(client):
    code = "import sys\nprint(open('data/f').read(), sys.argv[1:])"
    tests = [{"input": "", "output": "here ['a', '']", "argv": ["a", ""]}]
    assert client.run(program(code, tests, files={"data/f": "here"}))["verdict"] == "pass"


@needs_gcc
def test_a_compiled_program_has_nothing_but_itself(client):
    code = '#include "own.h"\n#include <stdlib.h>\nint main(void) { return system("ls -A"); }\n'
    result = client.run(program(code, [{"input": "", "output": "main"}], "c", files={"own.h": "\n"}))
    assert result["verdict"] == "pass", result


@pytest.mark.skipif(not shutil.which("go"), reason="there is no go (golang-go)")
def test_go_needs_no_tmp_of_its_own(start_daemon, tmp_path):
    """If a path beneath /tmp is shown to jobs, they cannot write to /tmp."""
    open_up(tmp_path)
    daemon = start_daemon(f"isolation.readable={tmp_path}", slots=1)
    code = 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }\n'
    with daemon.connect() as client:
        if "mount_namespace" not in client.hello["isolation"]["layers"]:
            pytest.skip("Go needs a view")
        result = client.run(program(code, [{"input": "", "output": "hello\n"}], "go"))
        assert result["verdict"] == "pass", result


def test_bytes_that_are_no_text(client):
    code = "import sys\ndata = sys.stdin.buffer.read()\nsys.stdout.buffer.write(data[::-1])"
    tests = [{"input": {"base64": "AP+A"}, "output": {"base64": "gP8A"}}]
    assert client.run(program(code, tests, compare="exact"))["verdict"] == "pass"
    result = client.run(program(code, [{"input": {"base64": "AP+A"}, "output": "x"}]))
    assert "\ufffd" in result["tests"][0]["difference"]["got"]


@needs_gcc
def test_many_tests(client):
    tests = [{"input": f"{i} {i}", "output": f"{2 * i}"} for i in range(1000)]
    result = client.run(program(ADD_C, tests, "c"))
    assert result["verdict"] == "pass" and len(result["tests"]) == 1000
    tests[700]["output"] = "none"
    result = client.run(program(ADD_C, tests, "c"))
    assert result["verdict"] == "wrong_answer" and len(result["tests"]) == 701


def test_texts_of_many_failures_are_bounded(client):
    code = "import sys\nsys.stderr.write('e' * 5000)\nprint('g' * 5000)"
    tests = [{"input": "", "output": "x" * 5000}] * 600
    result = client.run(program(code, tests, stop="all", limits={"wall_clock": 300}))
    assert verdicts(result) == ["wrong_answer"] * 600
    first, last = result["tests"][0], result["tests"][-1]
    assert len(first["stderr"]) == 2048 and 200 < len(first["difference"]["got"]) <= 240
    assert "stderr" not in last and "got" not in last["difference"] and last["difference"]["line"] == 1


# Requests that are refused


def test_languages_that_there_are_not(client, start_daemon):
    message = refused(client, program("", language="klingon"), "language_not_found")
    assert message == 'job.language: this daemon knows no language "klingon"; its status lists those that it knows'
    message = refused(client, program("", language="pyhton"), "language_not_found")
    assert message == 'job.language: this daemon knows no language "pyhton"; did you mean python?'
    for typed, meant in [("C++20", "c++"), ("c++11", "c++17"), ("PYHTON", "python"), ("Java 17", "java")]:
        message = refused(client, program("", language=typed), "language_not_found")
        assert message == f'job.language: this daemon knows no language "{typed}"; did you mean {meant}?'
    with start_daemon("rubric.interpreter=/usr/bin/python3").connect() as other:
        checker = {"language": "x", "code": ""}
        message = refused(other, program("", checker=checker), "language_not_found")
    assert message == 'job.checker.language: this daemon knows no language "x"; its status lists those that it knows'


@pytest.mark.parametrize("name", ["Python", "PYTHON3", "Python 3", " py", "Py3"])
def test_names_in_other_letters_and_with_blanks(client, name):
    result = client.run(program("print(3)", [{"input": "", "output": "3"}], language=name))
    assert result["verdict"] == "pass" and result["language"]["name"] == "python"


def test_a_missing_language_names_its_package(start_daemon, tmp_path):
    daemon = own_language(
        start_daemon,
        tmp_path,
        "odd",
        "[language]\nsource = main.odd\npackage = odd-lang\nversion = odd-none --version\n"
        "[run]\ncommand = odd-none {source}\n",
    )
    with daemon.connect() as client:
        message = refused(client, program("", language="odd"), "language_not_found")
    assert message.startswith("job.language: this host cannot run odd: ") and "odd-lang" in message


def test_bad_requests_are_named(client):
    error = client.run(program(ADD, compare="alike"), check=False)
    assert error["message"].startswith("job.compare: ") and "alike" in error["message"]
    assert error["code"] == "bad_request" and "job_no" not in error, "it was admitted first"
    assert refused(client, program(ADD, []), check=False) == "job.tests: expected 1 to 10000 tests, got 0"
    message = refused(client, program(ADD, files={"main.py": ""}))
    assert message == "job.files.main.py: the program itself stands there"
    job = program("def f(): return 1", [{"args": [], "expected": 1}], call="f", files={".call.py": ""})
    assert refused(client, job) == "job.files..call.py: a file of each test stands there"
    job = program("int f;", [{"args": [], "expected": 1}], "c", call="f")
    assert refused(client, job) == (
        "job.call: a function of a program in c cannot be called; in python it can"
    )


# Compilers that are attacked

LIMITS = {"wall_clock": 20, "cpu": 10, "memory_bytes": 1 << 28, "output_bytes": 1 << 16, "disk_bytes": 1 << 22}


def compile_error(client, code, language="c", **fields):
    result = client.run(program(code, language=language, compile_limits=LIMITS, **fields))
    assert result["type"] == "result" and result["verdict"] == "compile_error", result
    assert len(result["compile"]["output"].encode()) <= 16384
    return result["compile"]


@needs_gcc
@pytest.mark.parametrize(
    "code",
    [
        '#include "/dev/zero"\nint main(void) {}',
        '#include "/etc/passwd"\nint main(void) {}',
        '#include "main.c"\n',
        "#define A x x x x x x x x x x\n"
        + "".join(f"#define {b} {f'{a} ' * 10}\n" for a, b in zip("ABCDEFGH", "BCDEFGHI"))
        + "int y = I;",
        "int main(void) { " + "(" * 100000 + "1" + ")" * 100000 + "; }",
        "char large[1 << 30] = {1};\nint main(void) { return large[0]; }",
        'asm(".rept 1000000000\\n.quad 1\\n.endr");\nint main(void) {}',
    ],
    ids=["zero", "passwd", "itself", "macros", "parentheses", "large", "assembler"],
)
def test_a_compiler_that_is_attacked_ends_in_a_verdict(client, code):
    compile_error(client, code)
    assert client.run(program(ADD))["verdict"] == "pass"


@needs_gcc
def test_a_compiler_that_talks_too_much(client):
    told = compile_error(client, "".join(f"int f{i} = x{i};\n" for i in range(5000)))
    assert told["limit_exceeded"] == "output" and "undeclared" in told["output"]


@needs_gxx
def test_deep_templates(client):
    code = """
template <int N, int M> struct T { static const long v = T<N - 1, M>::v + T<N, M - 1>::v; };
template <int M> struct T<0, M> { static const long v = 1; };
template <int N> struct T<N, 0> { static const long v = 1; };
template <int N, class... A> struct D : D<N - 1, A..., A..., int> {};
template <class... A> struct D<0, A...> {};
D<40> d;
int main() { return T<400, 400>::v; }
"""
    compile_error(client, code, "cpp")


def test_the_time_of_a_compiler_is_limited(start_daemon, tmp_path):
    daemon = own_language(
        start_daemon,
        tmp_path,
        "slow",
        "[language]\nsource = main\npackage = coreutils\nversion = sleep --version\n"
        "[compile]\ncommand = sleep 600\nartefact = main\n[run]\ncommand = ./main\n",
    )
    with daemon.connect() as client:
        result = client.run(program("", language="slow", compile_limits={"wall_clock": 1}))
    assert result["verdict"] == "compile_error" and result["compile"]["limit_exceeded"] == "wall_clock"
    assert detail(result) == "compiler: limit exceeded: wall_clock"


# Tests that were put


def digest_of(tests):
    text = json.dumps(tests, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def put(client, tests, id="put"):
    text, digest = json.dumps(tests, separators=(",", ":")), digest_of(tests)
    client.send_frame(f'{{"type":"put","id":"{id}","digest":"{digest}","tests":{text}}}'.encode())
    return digest, client.recv()


def test_tests_are_put_once_for_many_jobs(client, daemon):
    digest, stored = put(client, TWO)
    assert (stored["type"], stored["id"], stored["digest"]) == ("stored", "put", digest)
    assert stored["tests"] == 2 and stored["bytes"] > 0
    job = program(ADD, {"put": digest})
    assert client.run(job)["verdict"] == "pass"
    assert client.run({**job, "code": "print(3)"})["verdict"] == "wrong_answer"
    assert put(client, TWO)[1] == stored
    with daemon.connect() as other:
        message = refused(other, job, "tests_not_found")
        assert message.startswith(f"job.tests.put: this connection has put no tests {digest}")
        put(other, TWO)
        assert other.run(job)["verdict"] == "pass"


def test_a_wrong_digest_is_refused(client):
    digest = "sha256:" + "0" * 64
    client.send({"type": "put", "id": "a", "digest": digest, "tests": ONE})
    error = client.recv()
    assert (error["id"], error["code"]) == ("a", "bad_request")
    assert error["message"].startswith("digest: that of the tests, as JSON without white space, is sha256:")


def test_tests_must_fit_the_job_that_names_them(client):
    digest, _ = put(client, ONE)
    message = refused(client, program("f = 1", {"put": digest}, call="f"))
    assert message.startswith("job.tests: a job with call has args and expected")


def test_tests_that_are_not_in_use_make_room(start_daemon):
    settings = ["program.put_bytes=3K", "program.put_bytes_per_client=2K"]
    sets = [[{"input": str(i), "output": "x" * 700}] for i in range(3)]
    with start_daemon(*settings).connect() as client:
        digests = [put(client, tests)[0] for tests in sets[:2]]
        assert client.run(program("print()", {"put": digests[0]}))["verdict"] == "wrong_answer"
        assert put(client, sets[2])[1]["type"] == "stored"  # in the place of the second
        refused(client, program("print()", {"put": digests[1]}), "tests_not_found")
        assert client.run(program("print()", {"put": digests[0]}))["verdict"] == "wrong_answer"
        _, error = put(client, [{"input": "", "output": "x" * 3000}])
        assert error["code"] == "bad_request" and "put_bytes_per_client" in error["message"]


def test_tests_in_use_stay_and_a_shortage_is_said(start_daemon):
    daemon = start_daemon("program.put_bytes=3K", "program.put_bytes_per_client=2K")
    wait = "import time\nopen('waits', 'w')\ntime.sleep(600)"
    large = [{"input": "1", "output": "x" * 1500}]
    with daemon.connect() as client, daemon.connect() as other:
        digest, _ = put(client, large)
        client.submit("waits", program(wait, {"put": digest}, limits={"wall_clock": 300}))
        wait_until(lambda: "waits" in daemon.files(), "the job runs")
        assert client.recv()["type"] == "started"
        _, error = put(client, [{"input": "2", "output": "x" * 1500}])
        assert error["code"] == "internal" and error["retriable"], error
        assert "unfinished jobs use" in error["message"]
        _, error = put(other, [{"input": "3", "output": "x" * 1500}])
        assert error["code"] == "internal" and "clients together" in error["message"]
        client.close()
        wait_until(lambda: put(other, large)[1]["type"] == "stored", "there is room again")


def in_parts(client, *parts, digest=None, said=None):
    """Puts tests in parts and returns their digest and the answers."""
    text = ",".join(json.dumps(part, separators=(",", ":"))[1:-1] for part in parts)
    digest = digest or "sha256:" + hashlib.sha256(f"[{text}]".encode()).hexdigest()
    answers = []
    for i, part in enumerate(parts, 1):
        client.send({"type": "put", "digest": digest, "part": i, "parts": said or len(parts), "tests": part})
        answers.append(client.recv())
    return digest, answers


def sums(first, count):
    return [{"input": f"{i} 1", "output": str(i + 1)} for i in range(first, first + count)]


def test_tests_in_use_count_however_often_they_are_put(start_daemon):
    """One connection puts the same tests in parts again and again, while a job of each sending uses them."""
    daemon = start_daemon("program.put_bytes=8K", "program.put_bytes_per_client=4K", slots=1)
    parts = [[{"input": str(n), "output": "x" * 600}] for n in range(2)]
    with daemon.connect() as client, daemon.connect() as other:
        for n in range(8):
            digest, answers = in_parts(client, *parts)
            assert [answer["type"] for answer in answers] == ["stored"] * 2
            sleeps = program("import time; time.sleep(600)", {"put": digest}, limits={"wall_clock": 300})
            client.submit(f"waits-{n}", sleeps)
            assert n > 0 or client.recv()["type"] == "started"
        _, (stored,) = in_parts(other, [{"input": "", "output": "x" * 1500}])
        assert stored["type"] == "stored", stored


def test_tests_that_are_larger_than_a_frame_are_put_in_parts(start_daemon):
    with start_daemon("protocol.max_frame=64K").connect() as client:
        padded = [[{**test, "output": test["output"] + "\n" * 10000} for test in sums(i, 2)] for i in (0, 2, 4)]
        digest, answers = in_parts(client, *padded)
        told = [(a["type"], a["tests"], a["part"], a["parts"], a["digest"]) for a in answers]
        assert told == [("stored", 2 * i, i, 3, digest) for i in (1, 2, 3)]
        assert answers[0]["bytes"] < answers[1]["bytes"] < answers[2]["bytes"] > 60000
        result = client.run(program(ADD, {"put": digest}))
        assert result["verdict"] == "pass" and len(result["tests"]) == 6
        wrong = client.run(program("a, b = map(int, input().split()); print(a + b - (a == 5))", {"put": digest}))
        assert detail(wrong).startswith("test 6 of 6, line 1: ")


def test_nobody_can_use_tests_that_are_not_whole(client):
    digest, (stored,) = in_parts(client, sums(0, 2), said=2)
    assert stored["type"] == "stored" and stored["tests"] == 2
    refused(client, program(ADD, {"put": digest}), "tests_not_found")


def test_the_digest_is_that_of_the_whole(client):
    wrong = "sha256:" + "0" * 64
    right, _ = put(client, [*sums(0, 2), *sums(2, 2)])
    _, answers = in_parts(client, sums(0, 2), sums(2, 2), digest=wrong)
    assert answers[0]["type"] == "stored" and answers[1]["code"] == "bad_request"
    assert answers[1]["message"] == f"digest: that of the tests, as JSON without white space, is {right}"
    refused(client, program(ADD, {"put": wrong}), "tests_not_found")
    assert in_parts(client, sums(0, 3), sums(3, 1))[0] == right  # put once more, as other parts
    assert client.run(program(ADD, {"put": right}))["verdict"] == "pass"


def test_parts_come_in_order(client):
    digest = "sha256:" + "0" * 64

    def part(number, of, tests=ONE, digest=digest):
        client.send({"type": "put", "digest": digest, "part": number, "parts": of, "tests": tests})
        answer = client.recv()
        return answer["message"] if answer["type"] == "error" else answer["tests"]

    none = "part: 2 of 3, but no part 1 of these tests came before it"
    assert part(2, 3) == none
    assert part(1, 3) == 1 and part(1, 3, TWO) == 2  # it begins anew
    assert part(3, 3) == "part: expected 2 of 3, got 3 of 3"
    assert part(2, 3) == none  # an error ends them
    assert part(1, 3) == 1 and part(2, 4) == "part: expected 2 of 3, got 2 of 4"
    other = digest[:-1] + "1"
    assert part(1, 3) == 1
    assert part(2, 3, digest=other) == f"digest: expected part 2 of the tests {digest}, whose parts come first"
    calls = [{"args": [1], "expected": 1}]
    assert part(1, 3) == 1 and part(2, 3, calls) == "tests: those of the parts before have input and output"
    assert part(1, 3, sums(0, 9999)) == 9999
    assert part(2, 3, TWO) == "tests: 10001 in the parts so far, more than 10000"
    assert part(2, 1) == "part: expected 1 to 1, the number of parts"
    client.send({"type": "put", "digest": digest, "part": 1, "parts": 0, "tests": ONE}, check=False)
    assert client.recv()["message"] == "parts: expected 1 to 10000"
    client.send({"type": "put", "digest": digest, "part": 1, "tests": ONE}, check=False)
    assert client.recv()["message"] == "parts: missing; part and parts go together"
    client.send({"type": "put", "digest": digest, "parts": 1, "tests": ONE}, check=False)
    assert client.recv()["message"] == "part: missing; part and parts go together"


def test_parts_are_bounded_and_those_that_never_end_give_way(start_daemon):
    large = [{"input": "", "output": "x" * 1000}]
    with start_daemon("program.put_bytes=3600", "program.put_bytes_per_client=2700").connect() as client:
        kept, _ = put(client, large)
        digest, answers = in_parts(client, large, large, large)  # the second makes the other set go
        assert [answer["type"] for answer in answers] == ["stored", "stored", "error"]
        assert answers[2]["code"] == "bad_request" and "put_bytes_per_client" in answers[2]["message"]
        refused(client, program("print()", {"put": kept}), "tests_not_found")
        assert put(client, [*large, *large])[1]["type"] == "stored"  # nothing is left of the parts
        in_parts(client, large, said=2)
        assert in_parts(client, large, large)[1][-1]["type"] == "stored"


# Calls


def call(code, *tests, **fields):
    tests = [{"args": args, "expected": expected} for args, expected in tests]
    return program(code, tests, call="f", **fields)


@pytest.mark.parametrize(
    "code, args, expected",
    [
        ("def f(a, b): return a + b", [1, 2], 3),
        ("class Solution:\n def f(self, a): return a[::-1]", [[1, "x", None]], [None, "x", 1]),
        ("class Solution:\n def g(self): pass\ndef f(): return 1.0", [], 1),
        ("def f(a): print('noise'); return (a, [a])", ["\u00e9"], ["\u00e9", ["\u00e9"]]),
        ("def f(): return {'k': {1: True}}", [], {"k": {"1": 1}}),
        ("def f(): return None", [], None),
        ("import os\ndef f(): os.write(1, b'noise'); os.system('echo noise'); return 7", [], 7),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n x: int\ndef f(): return P(3).x", [], 3),
        ("if __name__ == '__main__': raise SystemExit(1)\ndef f(): return 1 << 53", [], 1 << 53),
        ("import sys\ndef f(): return sys.stdin.read()", [], ""),
        ("def f(): return 1 << 63, {'k': [-10 ** 20]}", [], [9223372036854775808.0, {"k": [-1e20]}]),
    ],
)
def test_calls_that_are_right(client, code, args, expected):
    result = client.run(call(code, (args, expected)))
    assert result["verdict"] == "pass", result["tests"]


@pytest.mark.parametrize(
    "code, expected, verdict, words",
    [
        ("def f(): return 2", 3, "wrong_answer", "the values differ"),
        ("def f(): return [1, 2]", [1], "wrong_answer", "the values differ"),
        ("def f(): return '1'", 1, "wrong_answer", "the values differ"),
        ("def f(): return {'a': 1, 'b': 2}", {"a": 1}, "wrong_answer", "the values differ"),
        ("def f(): return (1 << 53) + 1", 9007199254740992.0, "wrong_answer", "the values differ"),
        ("def f(): return float('nan')", 1, "wrong_answer", "the value is none that JSON has"),
        ("def f(): return chr(0xd800)", "x", "wrong_answer", "the value"),
        ("def f(): return (1 << 63) + 1", 9223372036854775808.0, "wrong_answer", "the value is none that JSON has"),
        ("def f(): return 10 ** 400", 1.0, "wrong_answer", "the value is none that JSON has"),
        ("import os\ndef f(): os._exit(0)", 1, "wrong_answer", "the function gave back nothing"),
        ("def f(): return {1}", [1], "runtime_error", "JSON has no value of type set"),
        ("def g(): return 1", 1, "runtime_error", "the program has no function f"),
        ("def f(x): return 1", 1, "runtime_error", "TypeError"),
        ("def f(:", 1, "runtime_error", "SyntaxError"),
        ("while True: pass", 1, "timeout", "limit exceeded"),
    ],
)
def test_calls_that_are_wrong(client, code, expected, verdict, words):
    result = client.run(call(code, ([], expected), limits={"wall_clock": 2}))
    assert result["verdict"] == verdict, result
    test = result["tests"][0]
    told = test.get("difference", {}).get("why", "") + test.get("stderr", "") + detail(result)
    assert words in told


def test_a_value_of_a_call_takes_no_more_bytes_than_it_has(client):
    """Nearly as many as `output_bytes` has room for by default."""
    for code, expected in (("'\u00e9' * 130000", "\u00e9" * 130000), ("[1] * 131000", [1] * 131000)):
        assert client.run(call(f"def f(): return {code}", ([], expected)))["verdict"] == "pass", code


def test_a_call_has_two_values_that_are_right(client):
    def verdict(code, expected, alternative):
        tests = [{"args": [], "expected": expected, "alternative": alternative}]
        return client.run(program(code, tests, call="f"))

    for value in ("3", "[3]"):
        assert verdict(f"def f(): return {value}", 3, [3])["verdict"] == "pass"
    result = verdict("def f(): return 4", 3, None)
    assert result["verdict"] == "wrong_answer" and result["tests"][0]["difference"]["expected"] == "3"
    assert verdict("def f(): pass", 3, None)["verdict"] == "pass"
    message = refused(client, program("", [{"input": "", "alternative": "x"}]), check=False)
    assert message == "job.tests[0].alternative: unknown field"
    message = refused(client, program("", [{"input": "1", "expected": "2"}]), check=False)
    assert message == "job.tests[0].expected: unknown field"


def test_values_that_differ_are_told(client):
    result = client.run(call("def f(a): return [a]", (["x" * 1000], ["y"])))
    difference = result["tests"][0]["difference"]
    assert difference["got"].startswith('["xxx') and len(difference["got"]) == 240
    assert difference["expected"] == '["y"]' and "line" not in difference


# Checkers

CHECKER = """
import sys
given, got, answer = (open(name).read().split() for name in sys.argv[1:])
sys.stderr.write(f"{given} {got} {answer}")
sys.exit(int(got[-1]))
"""


def test_a_checker_judges(client):
    codes = {0: "pass", 1: "wrong_answer", 2: "wrong_answer", 3: "error", 4: "wrong_answer", 8: "wrong_answer", 77: "error"}
    tests = [{"input": str(code), "output": "answer"} for code in codes]
    job = program("print(input())", tests, stop="all", checker={"language": "python", "code": CHECKER})
    result = client.run(job)
    assert verdicts(result) == list(codes.values())
    assert result["tests"][1]["checker"] == "['1'] ['1'] ['answer']"
    assert result["verdict"] == "wrong_answer"
    assert detail(result) == "test 2 of 7: checker: ['1'] ['1'] ['answer']"


def test_a_checker_gives_points(client):
    code = "import sys\nsys.stderr.write('points 0.25 nearly')\nsys.exit(7)"
    checker = {"language": "python", "code": code}
    result = client.run(program(ADD, checker=checker))
    assert result["verdict"] == "wrong_answer" and result["tests"][0]["points"] == 0.25


def test_a_checker_that_fails_is_no_fault_of_the_program(client):
    for code, words in (
        ("while True: pass", "limit exceeded: "),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("print(open('none').read())", "Traceback"),
    ):
        checker = {"language": "python", "code": code}
        result = client.run(program(ADD, checker=checker, limits={"wall_clock": 3}))
        expected = "wrong_answer" if "none" in code else "error"  # Python's own status is 1
        assert result["verdict"] == expected and words in result["tests"][0]["checker"], code
    assert detail(result).startswith("test 1 of 1: checker: FileNotFoundError: [Errno 2] ")


def test_a_checker_that_is_not_compiled_is_not_checked(client):
    """Python's own status is 1 if it cannot parse the checker, which means wrong, after each test."""
    checker = {"language": "python", "code": "def check(:\n"}
    result = client.run(program(ADD, TWO, checker=checker, stop="all"))
    assert verdicts(result) == ["wrong_answer"] * 2
    assert all("SyntaxError" in test["checker"] for test in result["tests"])


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_checker_may_quote_the_program_at_length(client, stream):
    """Else a program would choose an error by an answer that the checker quotes, as Python's exceptions do, each of
    its characters in four."""
    code = f"import sys\nfor name in sys.argv[1:]: print(repr(open(name).read()), file=sys.{stream})\nsys.exit(1)"
    job = program("print(chr(1) * 200000)", checker={"language": "python", "code": code})
    result = client.run({**job, "limits": {"output_bytes": 1 << 18}})
    assert verdicts(result) == ["wrong_answer"], result
    assert r"\x01\x01" in result["tests"][0]["checker"]


def test_no_checker_runs_for_a_program_that_failed(client):
    result = client.run(program("1 / 0", checker={"language": "python", "code": CHECKER}))
    assert result["verdict"] == "runtime_error" and "checker" not in result["tests"][0]


@needs_gcc
def test_a_compiled_checker_with_files(client):
    code = '#include "check.h"\nint main(int n, char **name) { return n == 4 ? check(name[2], name[3]) : 3; }\n'
    header = """
#include <stdio.h>
static int check(const char *output, const char *answer)
{
    int got = -1, wanted = -2;
    FILE *a = fopen(output, "r"), *b = fopen(answer, "r");
    return !a || !b || fscanf(a, "%d", &got) != 1 || fscanf(b, "%d", &wanted) != 1 ? 3 : got != wanted;
}
"""
    checker = {"language": "c", "code": code, "files": {"check.h": header}}
    assert client.run(program(ADD, TWO, checker=checker))["verdict"] == "pass"
    assert client.run(program("print(1)", TWO, checker=checker))["verdict"] == "wrong_answer"
    message = refused(client, program(ADD, checker={"language": "c", "code": "int main("}))
    assert message.startswith("job.checker: does not compile: exit status 1: main.c:")
    code = "int main() {\n" + "".join(f"return the_variable_{i};\n" for i in range(40)) + "}\n"
    message = refused(client, program(ADD, checker={"language": "c", "code": code}))
    assert "\nmain.c:41:" in message and "the_variable_39" in message, "all of the compiler's words"


@pytest.mark.parametrize("role", ["checker", "interactor"])
@pytest.mark.parametrize("name", ["input", "output/x", "answer"])
def test_files_that_a_test_would_put_there_are_refused(client, role, name):
    helper = {"language": "python", "code": "", "files": {name: ""}}
    message = refused(client, program(ADD, **{role: helper}))
    assert message == f"job.{role}.files.{name}: a file of each test stands there"


@needs_gcc
def test_a_compiled_checker_may_have_files_of_any_name(client):
    """They are there when it is compiled, and gone when it runs."""
    checker = {"language": "c", "code": '#include "input"\n', "files": {"input": "int main(void) { return 1; }"}}
    assert client.run(program(ADD, checker=checker))["verdict"] == "wrong_answer"


# Programs that look for what they must not know

SEARCH = r"""
import os, re, sys
pattern = re.compile(b"SECRET" + b"-[0-9a-f]{32}")
found, searched = set(), 0

def search(data):
    global searched
    searched += len(data)
    found.update(pattern.findall(data))

for line in open("/proc/self/maps"):
    span, mode = line.split()[:2]
    start, end = (int(word, 16) for word in span.split("-"))
    if mode[0] == "r" and "vvar" not in line and "vsyscall" not in line:
        try:
            with open("/proc/self/mem", "rb", 0) as memory:
                memory.seek(start)
                while start < end:
                    data = memory.read(min(end - start, 1 << 20))
                    if not data:
                        break
                    search(data)
                    start += len(data)
        except (OSError, OverflowError):
            pass
for top in ("/work", "/tmp", "/dev/shm", "/bench", "/run", "/var"):
    for directory, _, names in os.walk(top):
        for name in names:
            try:
                with open(os.path.join(directory, name), "rb") as file:
                    search(file.read(1 << 20))
            except OSError:
                pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try:
            search(open(f"/proc/{pid}/{name}", "rb").read())
        except OSError:
            pass
for fd in os.listdir("/proc/self/fd"):
    try:
        search(os.pread(int(fd), 1 << 20, 0))
    except OSError:
        pass
print(b" ".join(sorted(found)).decode() or f"nothing in {searched} bytes")
"""


@pytest.mark.parametrize("checks", [False, True], ids=["compared", "checked"])
def test_expected_outputs_are_nowhere(client, daemon, checks):
    if not daemon.has_view():
        pytest.skip("without a view, jobs see the host's files")
    secrets = ["SECRET-" + os.urandom(16).hex() for _ in range(3)]
    fields = {}
    if checks:
        code = "import sys\nsys.exit(open(sys.argv[2]).read().strip() != open(sys.argv[3]).read())"
        fields["checker"] = {"language": "python", "code": code}
    tests = [{"input": "", "output": secret} for secret in secrets]
    job = program(SEARCH, tests, stop="all", limits={"wall_clock": 120, "cpu": 120}, **fields)
    result = client.run(job)
    assert verdicts(result) == ["wrong_answer"] * 3, result["tests"]
    if not checks:
        for test in result["tests"]:
            assert test["difference"]["got"].startswith("nothing in "), test
            assert int(test["difference"]["got"].split()[2]) > 1 << 20


def test_the_search_finds_what_is_there(client, daemon):
    if not daemon.has_view():
        pytest.skip("without a view, jobs see the host's files")
    secret = "SECRET-" + "0123456789abcdef" * 2
    result = client.run(program(SEARCH + f"\nkept = '{secret}'", [{"input": "", "output": secret}]))
    assert result["verdict"] == "pass", result["tests"]


LEAVE = r"""
import os, signal, socket, sys, time
left = [name for name in os.listdir(".") if name != "main.py"]
left += os.listdir("/tmp") + os.listdir("/dev/shm")
left += [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid())]
probe = socket.socket(socket.AF_UNIX)
try:
    probe.connect("\0left behind")
    left.append("socket")
except OSError:
    pass
for place in (".", "/tmp", "/dev/shm"):
    for name in ("left", "main", "input", ".hidden"):
        open(f"{place}/{name}", "w").write("left behind")
os.mkdir("/tmp/directory")
open("main.py", "a").write("\nprint('changed')")
print("clean" if not left else left)
sys.stdout.flush()
server = socket.socket(socket.AF_UNIX)
server.bind("\0left behind")
server.listen()
for each in range(3):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.closerange(0, 3)
        time.sleep(600)
        os._exit(0)
os.chmod(".", 0)
"""


def test_nothing_is_left_for_later_tests(client, daemon):
    if not daemon.has_view():
        pytest.skip("without a view, jobs see the host's files and processes")
    tests = [{"input": "", "output": "clean"}] * 6
    result = client.run(program(LEAVE, tests, stop="all"))
    assert verdicts(result) == ["pass"] * 6, result["tests"]
    assert daemon.leftovers() == []


# Jobs that end before their last test

SECOND_WAITS = "import time\nif input() == 'wait':\n open('waits', 'w')\n time.sleep(600)\nprint('done')"
WAITING = [{"input": word, "output": "done"} for word in ("go", "wait", "go")]


def submit_waiting(client, daemon):
    client.submit("waits", program(SECOND_WAITS, WAITING, limits={"wall_clock": 300}))
    wait_until(lambda: "waits" in daemon.files(), "the second test runs")
    assert client.recv()["type"] == "started"


def test_a_job_is_cancelled_in_the_middle(client, daemon):
    submit_waiting(client, daemon)
    client.send({"type": "cancel", "id": "waits"})
    assert client.recv()["code"] == "cancelled"
    assert client.run(program(ADD, TWO))["verdict"] == "pass"
    assert daemon.leftovers() == []


def test_a_client_goes_away_in_the_middle(daemon):
    client = daemon.connect()
    submit_waiting(client, daemon)
    client.close()
    wait_until(lambda: "waits" not in daemon.files(), "its job is gone")
    with daemon.connect() as other:
        assert other.run(program(ADD, TWO))["verdict"] == "pass"


def test_a_drain_ends_a_job_in_the_middle(start_daemon):
    daemon = start_daemon("daemon.grace_period=0s")
    with daemon.connect() as client:
        submit_waiting(client, daemon)
        assert daemon.stop() == 0
        error = client.recv()
        assert (error["code"], error["retriable"]) == ("draining", True)


def test_a_drain_lets_the_other_tests_run(start_daemon):
    daemon = start_daemon("daemon.grace_period=3600s")
    code = "import time\nend = float(input())\nwhile time.time() < end: time.sleep(0.01)\nprint('done')"
    with daemon.connect() as client:
        end = str(time.time() + 1)
        client.submit("waits", program(code, [{"input": end, "output": "done"}] * 3))
        assert client.recv()["type"] == "started"
        assert daemon.stop() == 0
        assert client.recv_answer("waits")["verdict"] == "pass"


def test_jobs_of_several_clients_run_at_once(daemon):
    with daemon.connect() as one, daemon.connect() as other:
        for client in (one, other):
            for i in range(10):
                client.submit(str(i), program(ADD if i % 2 else "print(3)", TWO))
        for client in (one, other):
            found = {}
            while len(found) < 10:
                answer = client.recv_answer()
                found[answer["id"]] = answer["verdict"]
            assert found == {str(i): "pass" if i % 2 else "wrong_answer" for i in range(10)}


def test_counts_and_log(start_daemon):
    daemon = start_daemon()
    with daemon.connect() as client:
        client.run(program(ADD))
        client.run(program("1 / 0"))
        counts = client.status()["kinds"]["program"]
    assert counts["passed"] == 1 and counts["failed"] == 1
    assert "python: program.runtime_error, score 0" in daemon.log()
