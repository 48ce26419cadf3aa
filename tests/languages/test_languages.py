# SPDX-License-Identifier: MIT
"""Each language that ships, and what programs in it may do: a table of languages by cases. A language whose
compiler the host lacks is skipped with the daemon's reason. Run it where the packages are:

    RUBRICD_BUILD=$PWD/build /usr/bin/python3 -m pytest -q tests/languages [-k 'java and hog']

The last lines are the table. RUBRICD_WITHOUT names layers to leave out, as [isolation] without does."""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]

from conftest import Daemon, give_to_account  # noqa: E402
from programs import BROKEN, LARGE, PRETENDERS, PROGRAMS  # noqa: E402

FILES = HERE.parents[1] / "conf" / "languages.d"
LANGUAGES = sorted(path.stem for path in FILES.glob("*.conf"))

# A slow host must not turn a compile or a start into a timeout: only `loop` is to run into its time.
PATIENT = {"wall_clock": 60, "cpu": 120, "max_processes": 128}
MEMORY = 320 << 20
STARVED_RUNS = 4

# Nothing tells that C was refused memory but a control group: it goes on with a null pointer. The runtime of D
# may have too little left to say why it ends.
HOG_VERDICTS = {"c": {"memory", "runtime_error"}, "d": {"memory", "runtime_error"}}

# Their compilers would warn of how the file calls them.
SILENT = {"kotlin", "typescript"}

CASES = ["hello", "sum", "broken", "crash", "loop", "hog", "pretender", "large", "spy", "bomb"]


def table(layers, verdicts):
    """Returns lines of the VERDICTS, which are by (case, language)."""
    rows = [["language", *CASES]]
    for language in LANGUAGES:
        if any((case, language) in verdicts for case in CASES):
            rows.append([language, *(verdicts.get((case, language), "-") for case in CASES)])
    return [f"layers: {' '.join(layers)}", *("".join(f"{word:14}" for word in row).rstrip() for row in rows)]


@pytest.fixture(name="client", scope="module")
def _client(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("languages")
    directory.chmod(0o755)
    give_to_account(directory)
    without = os.environ.get("RUBRICD_WITHOUT", "")
    settings = ["languages.directory=", f"isolation.without={without}", "ceilings.wall_clock=600s", "ceilings.cpu=600s"]
    if without:
        settings.append("isolation.require=")
    daemon = Daemon(directory, *settings)
    with daemon.connect() as client:
        client.verdicts = {}
        yield client
        lines = table(client.hello["isolation"]["layers"], client.verdicts)
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("\n" + "\n".join(lines))
    assert daemon.stop() == 0


@pytest.fixture(name="noted", autouse=True)
def _noted(request):
    """Has run() note the verdict of the test's own language for the table."""
    if "client" in request.fixturenames:
        request.getfixturevalue("client").case = request.node.name.removeprefix("test_").rstrip("]").split("[")


def section(language, name):
    """Returns the program in a section of the language's file."""
    lines = (FILES / f"{language}.conf").read_text().split(f"\n[{name}]\n")[1].split("\n[")[0].splitlines()
    return "".join(line[1:] + "\n" for line in lines if line.startswith("|"))


def run(client, language, code, tests, **fields):
    found = {entry["name"]: entry for entry in client.status()["languages"]}[language]
    if not found["available"]:
        pytest.skip(found["why_not"])
    limits = {**PATIENT, **fields.pop("limits", {})}
    job = {"kind": "program", "language": language, "code": code, "tests": tests, "stop": "all", **fields}
    job = {**job, "limits": limits, "compile_limits": {"wall_clock": 300, "cpu": 300}}
    answer = client.run(job)
    for _ in range(STARVED_RUNS):
        if answer.get("code") != "starved":  # others had the CPUs: no verdict, and the client's to run again
            break
        answer = client.run(job)
    assert answer["type"] == "result", answer
    client.verdicts.setdefault(tuple(client.case), answer["verdict"])
    return answer


def is_compiled(language):
    return "\n[compile]\n" in (FILES / f"{language}.conf").read_text()


def test_each_language_has_its_programs():
    assert sorted(PROGRAMS) == LANGUAGES
    assert set(PRETENDERS) == set(LANGUAGES) - {"c"}, "each that has a message for it"
    for language, programs in PROGRAMS.items():
        assert set(programs) == {"crash", "loop", "hog", "spy", "bomb"}, language


@pytest.mark.parametrize("language", LANGUAGES)
def test_hello(client, language):
    answer = run(client, language, section(language, "hello"), [{"input": "", "output": "hello\n"}])
    assert answer["verdict"] == "pass", answer
    if language in SILENT:
        assert answer["compile"]["output"] == "", "what is no fault of the program is not told"


@pytest.mark.parametrize("language", LANGUAGES)
def test_sum(client, language):
    tests = [{"input": f"{n} 1\n-7 {n}\n", "output": f"{2 * n - 6}\n"} for n in (0, 1, 40, 10**9)]
    tests.append({"input": "1\n", "output": "2\n"})
    answer = run(client, language, section(language, "sum"), tests)
    assert [test["verdict"] for test in answer["tests"]] == ["pass"] * 4 + ["wrong_answer"], answer
    assert answer["tests"][4]["difference"]["got"] == "1"


@pytest.mark.parametrize("language", LANGUAGES)
def test_broken(client, language):
    answer = run(client, language, BROKEN, [{"input": "", "output": ""}])
    # PHP prints what is no PHP.
    expected = "compile_error" if is_compiled(language) else "wrong_answer" if language == "php" else "runtime_error"
    assert answer["verdict"] == expected, answer
    if is_compiled(language):
        assert answer["compile"]["output"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_crash(client, language):
    answer = run(client, language, PROGRAMS[language]["crash"], [{"input": "", "output": ""}])
    assert answer["verdict"] == "runtime_error", answer


@pytest.mark.parametrize("language", LANGUAGES)
def test_loop(client, language):
    answer = run(client, language, PROGRAMS[language]["loop"], [{"input": "", "output": ""}], limits={"wall_clock": 2})
    assert answer["verdict"] == "timeout", answer


@pytest.mark.parametrize("language", LANGUAGES)
def test_hog(client, language):
    if "rlimits" not in client.hello["isolation"]["layers"]:
        pytest.skip("without this layer nothing bounds a job's memory")
    answer = run(client, language, PROGRAMS[language]["hog"], [{"input": "", "output": ""}], limits={"memory_bytes": MEMORY})
    assert answer["verdict"] in HOG_VERDICTS.get(language, {"memory"}), answer


@pytest.mark.parametrize("language", sorted(PRETENDERS))
def test_pretender(client, language):
    answer = run(client, language, PRETENDERS[language], [{"input": "", "output": ""}])
    assert answer["verdict"] == "runtime_error", answer


@pytest.mark.parametrize("language", sorted(LARGE))
def test_large(client, language):
    tests = [{"input": "", "output": "30000000\n"}]
    answer = run(client, language, LARGE[language], tests, limits={"memory_bytes": 256 << 20})
    assert answer["verdict"] == "pass", answer


@pytest.mark.parametrize("mib, verdict", [(64, "memory"), (96, "pass"), (128, "pass")])
def test_pypy_in_little_memory(client, mib, verdict):
    """However large the caches of the host are, after which PyPy sizes its nursery."""
    tests = [{"input": "", "output": "hello\n"}]
    answer = run(client, "pypy3", section("pypy3", "hello"), tests, limits={"memory_bytes": mib << 20})
    assert answer["verdict"] == verdict, answer


@pytest.mark.parametrize("language", LANGUAGES)
def test_spy(client, language):
    tests = [
        {"input": "look\n", "output": "clean\n"},
        {"input": "write\n", "output": "done\n"},
        {"input": "look\n", "output": "clean\n"},
    ]
    answer = run(client, language, PROGRAMS[language]["spy"], tests)
    assert [test["verdict"] for test in answer["tests"]] == ["pass"] * 3, answer


@pytest.mark.parametrize("language", LANGUAGES)
def test_bomb(client, language):
    # Otherwise only the host's own bounds would end a bomb, and nothing outruns one.
    if not {"user_namespace", "pid_namespace", "rlimits"} <= set(client.hello["isolation"]["layers"]):
        pytest.skip("without these layers nothing bounds a job's processes")
    limits = {"wall_clock": 3, "max_processes": 32}
    answer = run(client, language, PROGRAMS[language]["bomb"], [{"input": "", "output": "never"}], limits=limits)
    # Bash goes on when it cannot fork, and Go ends.
    assert answer["verdict"] in {"timeout", "runtime_error", "wrong_answer", "memory"}, answer
    # What it has started is gone, and the next one has its processes.
    hello = run(client, "bash", section("bash", "hello"), [{"input": "", "output": "hello\n"}])
    assert hello["verdict"] == "pass", hello
