# SPDX-License-Identifier: MIT
"""SandboxFusion's and Piston's requests, as their documentation and their clients give them, answered by
rubricd-http in their form."""

import base64
import json

import pytest
from conftest import wait_until
from http_gateway import Gateway, make_gateway, make_start, need_gateway  # noqa: F401
from test_languages import Languages
from test_reload import reloaded

pytestmark = pytest.mark.cold

need_gateway()

# --- SandboxFusion -------------------------------------------------------------------------------

# The members of its models RunCodeResponse and CommandRunResult, in their order.
ANSWER = ["status", "message", "compile_result", "run_result", "executor_pod_name", "files"]
COMMAND = ["status", "execution_time", "return_code", "stdout", "stderr"]


def run_code(gateway, **request):
    """Posts REQUEST and checks the form of the answer."""
    status, answer = gateway.post("/run_code", request)
    assert (status, list(answer)) == (200, ANSWER), answer
    assert answer["executor_pod_name"] is None
    for part in ("compile_result", "run_result"):
        if answer[part] is not None:
            assert list(answer[part]) == COMMAND
            assert isinstance(answer[part]["execution_time"], float)
    return answer


def verl(code, stdin="", timeout=10, language="python"):
    """The request that verl/utils/reward_score/sandbox_fusion sends."""
    return {"compile_timeout": timeout, "run_timeout": timeout, "code": code, "stdin": stdin,
            "language": language, "files": {}, "fetch_files": []}  # fmt: skip


def test_the_example_of_its_page(gateway):
    answer = run_code(gateway, code='print("Hello, world!")', language="python")
    assert (answer["status"], answer["message"], answer["compile_result"]) == ("Success", "", None)
    del answer["run_result"]["execution_time"]
    assert answer["run_result"] == {"status": "Finished", "return_code": 0, "stdout": "Hello, world!\n", "stderr": ""}
    assert answer["files"] == {}


def test_what_verl_tells_apart(gateway):
    """Its client looks at these members to tell right, wrong, crashed, late and not compiled apart."""
    right = run_code(gateway, **verl("print(int(input()) * 2)", "21"))
    assert (right["status"], right["run_result"]["stdout"]) == ("Success", "42\n")
    crashed = run_code(gateway, **verl("raise SystemExit(3)"))
    assert (crashed["status"], crashed["run_result"]["status"]) == ("Failed", "Finished")
    assert crashed["run_result"]["return_code"] == 3
    late = run_code(gateway, **verl("while True: pass", timeout=1))
    assert (late["status"], late["run_result"]["status"]) == ("Failed", "TimeLimitExceeded")
    assert late["run_result"]["return_code"] is None
    broken = run_code(gateway, **verl("int main() {", language="cpp"))
    assert (broken["status"], broken["run_result"]) == ("Failed", None)
    assert broken["compile_result"]["return_code"] == 1 and "error:" in broken["compile_result"]["stderr"]


def test_a_compiled_language(gateway):
    code = '#include <cstdio>\nint main() { int a; if (scanf("%d", &a) == 1) printf("%d", a * 2); }'
    answer = run_code(gateway, **verl(code, "21", language="cpp"))
    assert answer["status"] == "Success"
    assert answer["compile_result"]["return_code"] == 0 and answer["run_result"]["stdout"] == "42"


def test_a_signal(gateway):
    answer = run_code(gateway, code="import os; os.kill(os.getpid(), 11)", language="python")
    assert (answer["status"], answer["run_result"]["return_code"]) == ("Failed", -11)


def test_a_limit_that_has_no_status_of_its_own(gateway):
    answer = run_code(gateway, code="print('x' * (64 << 20))", language="python")
    assert (answer["status"], answer["message"]) == ("Failed", "limit exceeded: output")


def test_files_in_and_out(gateway):
    data = bytes(range(256))
    code = "open('out/copy', 'wb').write(open('in.bin', 'rb').read())\nopen('[x].txt', 'w').write('text')\n"
    files = {"in.bin": base64.b64encode(data).decode(), "out/x": "", "left out": None}
    answer = run_code(gateway, code=code, language="python", files=files, fetch_files=["./out/copy", "[x].txt", "none"])
    assert answer["status"] == "Success", answer
    assert {name: base64.b64decode(text) for name, text in answer["files"].items()} == {"out/copy": data, "[x].txt": b"text"}


def test_memory(gateway):
    answer = run_code(gateway, code="x = bytearray(1 << 28)", language="python", memory_limit_MB=128)
    assert answer["status"] == "Failed" and "MemoryError" in answer["run_result"]["stderr"]


def test_php_without_its_tag(gateway):
    answer = run_code(gateway, code="echo 6 * 7;", language="php")
    if answer["status"] == "SandboxError":
        pytest.skip(f"this host has no PHP: {answer['message']}")
    assert answer["run_result"]["stdout"] == "42"


def test_an_unknown_language(gateway):
    answer = run_code(gateway, code="", language="klingon")
    assert (answer["status"], answer["message"]) == ("SandboxError", "there is no language 'klingon' here")
    answer = run_code(gateway, code="", language="javscript")
    assert answer["message"] == "there is no language 'javscript' here; did you mean javascript?"


def test_what_the_daemon_refuses(gateway):
    answer = run_code(gateway, code="", language="python", files={"../x": ""})
    assert answer["status"] == "SandboxError" and "job.files" in answer["message"]
    answer = run_code(gateway, code="", language="python", run_timeout=100000)
    assert answer["status"] == "SandboxError" and "above the ceiling" in answer["message"]


@pytest.mark.parametrize(
    "request_value, field, kind",
    [
        ({"language": "python"}, "code", "missing"),
        ({"code": "1"}, "language", "missing"),
        ({"code": 1, "language": "python"}, "code", "string_type"),
        ({"code": "1", "language": "python", "run_timeout": "soon"}, "run_timeout", "float_type"),
        ({"code": "1", "language": "python", "run_timeout": 0}, "run_timeout", "greater_than"),
        ({"code": "1", "language": "python", "memory_limit_MB": 1.5}, "memory_limit_MB", "int_type"),
        ({"code": "1", "language": "python", "stdin": 1}, "stdin", "string_type"),
        ({"code": "1", "language": "python", "files": []}, "files", "dict_type"),
        ({"code": "1", "language": "python", "fetch_files": "x"}, "fetch_files", "list_type"),
        ({"code": "1", "language": "python\0zz"}, "language", "value_error"),
        ({"code": "1", "language": "python", "fetch_files": ["x", "a\0b"]}, "fetch_files", "value_error"),
        ({"code": "1", "language": "python", "files": {"main.py": "eA=="}}, "files", "value_error"),
    ],
)
def test_what_fastapi_refuses(gateway, request_value, field, kind):
    status, answer = gateway.post("/run_code", request_value)
    assert (status, answer["detail"][0]["type"], answer["detail"][0]["loc"]) == (422, kind, ["body", field])


@pytest.mark.parametrize(
    "field, value, kind, message",
    [
        ("run_timeout", 1e10, "less_than_equal", "Input should be less than or equal to 1000000000"),
        ("compile_timeout", 10**10, "less_than_equal", "Input should be less than or equal to 1000000000"),
        ("run_timeout", -1, "greater_than", "Input should be greater than 0"),
        ("memory_limit_MB", 2**30 + 1, "less_than_equal", "Input should be less than or equal to 1073741824"),
    ],
)
def test_bounds_of_fastapi(gateway, field, value, kind, message):
    """The message names the bound that the value exceeds."""
    status, answer = gateway.post("/run_code", {"code": "1", "language": "python", field: value})
    assert (status, answer) == (422, {"detail": [{"type": kind, "loc": ["body", field], "msg": message}]})


def test_a_nul_in_what_is_no_name(gateway):
    code = "import sys; print(len(sys.stdin.read()), len(open('f').read()))"
    files = {"f": base64.b64encode(b"\0\0").decode()}
    answer = run_code(gateway, code=code, language="python", stdin="a\0b", files=files)
    assert answer["run_result"]["stdout"] == "3 2\n", answer
    answer = execute(gateway, "python", code, {"name": "f", "content": "\0\0"}, stdin="a\0b")
    assert answer["run"]["stdout"] == "3 2\n", answer


def test_a_nul_in_the_name_of_a_file_for_fastapi(gateway):
    status, answer = gateway.post("/run_code", {"code": "1", "language": "python", "files": {"a\0b": ""}})
    assert (status, answer["detail"][0]["type"]) == (422, "json_invalid") and r"a\u0000b" in answer["detail"][0]["msg"]


def test_no_json_for_fastapi(gateway):
    status, _, body = gateway.request("POST", "/run_code", "nonsense", {"Content-Type": "application/json"})
    assert (status, json.loads(body)["detail"][0]["type"]) == (422, "json_invalid")


# --- Piston --------------------------------------------------------------------------------------

STAGE = {"stdout", "stderr", "output", "code", "signal", "message", "status", "cpu_time", "wall_time", "memory"}


def execute(gateway, language, *files, version="*", **request):
    """Posts a request and checks the form of the answer."""
    files = [{"content": file} if isinstance(file, str) else file for file in files]
    status, answer = gateway.post("/api/v2/execute", {"language": language, "version": version, "files": files, **request})
    assert status == 200, answer
    assert set(answer) - {"compile"} == {"run", "language", "version"}
    for stage in ("run", "compile"):
        assert stage not in answer or set(answer[stage]) == STAGE
    return answer


def test_runtimes(gateway):
    status, runtimes = gateway.get("/api/v2/runtimes")
    assert status == 200
    for runtime in runtimes:
        assert set(runtime) == {"language", "version", "aliases"} and runtime["version"].count(".") == 2
    python = next(runtime for runtime in runtimes if runtime["language"] == "python")
    assert "py" in python["aliases"]


def test_the_example_of_pistons_page(gateway):
    """As its page has it, but for the version, which is this host's."""
    runtimes = gateway.get("/api/v2/runtimes")[1]
    if not any(runtime["language"] == "javascript" for runtime in runtimes):
        pytest.skip("this host has no Node.js")
    answer = execute(
        gateway, "js", {"name": "my_cool_code.js", "content": "console.log(process.argv)"}, stdin="", args=["1", "2", "3"],
        compile_timeout=10000, run_timeout=3000, compile_memory_limit=-1, run_memory_limit=-1,
    )  # fmt: skip
    run = answer["run"]
    assert (run["code"], run["signal"], run["stderr"], run["status"]) == (0, None, "", None), run
    assert run["output"] == run["stdout"]
    assert "my_cool_code.js', '1', '2', '3' ]" in " ".join(run["stdout"].split())
    assert answer["language"] == "javascript" and "compile" not in answer


def test_stages(gateway):
    answer = execute(gateway, "c++", '#include "b.hpp"\nint main() { return f(); }',
                     {"name": "b.hpp", "content": "int f();"}, {"name": "b.cpp", "content": "int f() { return 7; }"})  # fmt: skip
    assert (answer["compile"]["code"], answer["run"]["code"], answer["run"]["status"]) == (0, 7, "RE"), answer
    assert answer["run"]["message"] == "Exited with error status 7"
    broken = execute(gateway, "c++", "int main() {")
    assert broken["compile"]["code"] == 1 and broken["run"] == broken["compile"]


def test_how_a_run_ends(gateway):
    late = execute(gateway, "python", "while True: pass", run_timeout=500)["run"]
    assert (late["code"], late["signal"], late["status"]) == (None, "SIGKILL", "TO")
    killed = execute(gateway, "python", "import os; os.kill(os.getpid(), 11)")["run"]
    assert (killed["code"], killed["signal"], killed["status"]) == (None, "SIGSEGV", "SG")
    loud = execute(gateway, "python", "while True: print('x' * 1000)", run_timeout=60000)["run"]
    assert (loud["signal"], loud["status"], loud["message"]) == ("SIGKILL", "OL", "stdout length exceeded")


def test_encodings(gateway):
    show = "import sys; sys.stdout.write(repr([open(f, 'rb').read() for f in ('b', 'h')]))"
    binary = [{"name": "b", "content": "AAH/", "encoding": "base64"}, {"name": "h", "content": "00fF", "encoding": "hex"}]
    assert execute(gateway, "python", *binary, show)["run"]["stdout"] == repr([b"\x00\x01\xff", b"\x00\xff"])


def test_stdin_and_names(gateway):
    answer = execute(gateway, "py", {"name": "program", "content": "print(input(), __file__)"}, stdin="in", version=">=3")
    assert answer["run"]["stdout"].startswith("in ") and answer["run"]["stdout"].endswith("program.py\n")


LONG_NAME = "files[0].name: expected at most 1023 bytes, got %d"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"language": None}, "language is required as a string"),
        ({"version": None}, "version is required as a string"),
        ({"files": None}, "files is required as an array"),
        ({"files": [{"name": "x"}]}, "files[0].content is required as a string"),
        ({"files": []}, "files must include at least one utf8 encoded file"),
        ({"files": [{"content": "!", "encoding": "base64"}]}, "files[0].content is not base64"),
        ({"files": [{"content": "xy", "encoding": "hex"}]}, "files[0].content is not hex"),
        ({"version": "99.x"}, "python-99.x runtime is unknown"),
        ({"language": "klingon"}, "klingon-* runtime is unknown"),
        ({"run_timeout": "soon"}, "if specified, run_timeout must be a number"),
        ({"run_timeout": 10**9}, "run_timeout cannot exceed the configured limit of 300000"),
        ({"language": "python\0zz"}, "language must not contain a NUL"),
        ({"version": "*\0zz"}, "version must not contain a NUL"),
        ({"files": [{"content": "1"}, {"name": "a\0b", "content": "1"}]}, "files[1].name must not contain a NUL"),
        ({"files": [{"content": "1"}, {"content": "aa", "encoding": "hex\0zz"}]}, "files[1].encoding must not contain a NUL"),
        ({"files": [{"name": "n" * 1100, "content": "1"}]}, LONG_NAME % 1103),
        ({"files": [{"name": "n" * 1021, "content": "1"}]}, LONG_NAME % 1024),
        ({"files": [{"name": "a" + "\u00e9" * 600, "content": "1"}]}, LONG_NAME % 1204),
        ({"files": [{"content": "1"}, {"name": "\u00e9" * 512, "content": "1"}]},
         LONG_NAME.replace("0", "1", 1) % 1024),
        ({"files": [{"name": "x.py", "content": "1"}, {"content": "2"}, {"name": "x.py", "content": "3"}]},
         "files[2].name: another file has the name x.py"),
        ({"files": [{"name": "x", "content": "1"}, {"name": "x.py", "content": "AA==", "encoding": "base64"}]},
         "files[1].name: another file has the name x.py"),
        ({"files": [{"content": "1"}, {"name": "file2.code", "content": "1"}, {"content": "2"}]},
         "files[2].name: another file has the name file2.code"),
        ({"args": [1]}, "args[0] must be a string"),
        ({"stdin": 1}, "if specified, stdin must be a string"),
    ],
)
def test_what_piston_refuses(gateway, change, message):
    request = {"language": "python", "version": "*", "files": [{"content": "1"}], **change}
    request = {name: value for name, value in request.items() if value is not None}
    assert gateway.post("/api/v2/execute", request) == (400, {"message": message})


def test_what_the_daemon_refuses_of_piston(gateway):
    request = {"language": "python", "version": "*", "files": [{"name": "../x.py", "content": "1"}]}
    status, answer = gateway.post("/api/v2/execute", request)
    assert (status, list(answer)) == (400, ["message"]) and "job.files" in answer["message"]


# --- languages that the host lacks ---------------------------------------------------------------


class Lacking:
    """A daemon and a gateway with languages of the test: xx has an interpreter and a compiler that are not
    installed, yy an interpreter. Programs that are installed come with write()."""

    def __init__(self, directory, start_daemon):
        languages = Languages(directory)
        self.programs, self.write = languages.programs, languages.write
        languages.add("xx", more=f"[compile]\ncommand = {self.programs}/xxc {{source}}\nartefact = main")
        languages.add("yy")
        settings = [languages.setting, f"isolation.readable={self.programs}"]
        self.daemon = start_daemon(*settings, "languages.ask_versions=yes")
        self.gateway = Gateway(directory, self.daemon.socket, f"languages={languages.files}")

    def reload(self):
        with self.daemon.connect() as client:
            reloaded(client)

    def why(self, name, program=None):
        return f"there is no {self.programs}/{program or name}; install the Debian package {name}-lang"


@pytest.fixture(name="lacking")
def make_lacking(tmp_path, start_daemon):
    world = Lacking(tmp_path, start_daemon)
    yield world
    assert world.gateway.stop() == 0


@pytest.mark.parametrize("name, program", [("xx", "xxc"), ("xx-alias", "xxc"), ("yy", "yy")])
def test_a_program_without_its_compiler_is_no_wrong_one(lacking, name, program):
    """A client would count it as code that does not compile."""
    answer = run_code(lacking.gateway, code="x", language=name)
    language = name.partition("-")[0]
    message = f"language_not_found: {language}: {lacking.why(language, program)}"
    assert (answer["status"], answer["message"]) == ("SandboxError", message)
    assert answer["compile_result"] is None and answer["run_result"] is None


def test_a_program_that_ends_as_if_there_were_no_compiler(lacking):
    lacking.write("yy", '[ "$1" = --version ] && exec echo YY 3.1; exit 127')
    lacking.reload()
    answer = run_code(lacking.gateway, code="x", language="yy")
    assert (answer["status"], answer["run_result"]["return_code"]) == ("Failed", 127)


def test_a_runtime_that_is_not_installed(lacking):
    request = {"language": "xx-alias", "version": "*", "files": [{"content": "1"}]}
    message = f"xx-alias-* runtime is not available: xx is known, but {lacking.why('xx', 'xxc')}"
    assert lacking.gateway.post("/api/v2/execute", request) == (400, {"message": message})


def test_a_runtime_that_was_installed(lacking):
    """It needs a reload, after which its version is found, too."""
    lacking.write("yy", "echo 'yy (Debian 12.2.0-14) 12.2.0'")
    assert lacking.gateway.get("/api/v2/runtimes") == (200, [])
    lacking.reload()
    runtime = {"language": "yy", "version": "12.2.0", "aliases": ["yy-alias"]}
    wait_until(lambda: lacking.gateway.get("/api/v2/runtimes") == (200, [runtime]), "its version is known")
    assert execute(lacking.gateway, "yy", "x", version="12.x")["version"] == "12.2.0"
