# SPDX-License-Identifier: MIT
"""Programming languages as data: what the daemon makes of their files, and of what the host has."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import ACCOUNT, DEADLINE, RUBRICCTL, RUBRICD, open_up, wait_until
from test_reload import refused, reloaded

pytestmark = pytest.mark.cold

FILE = """\
[language]
aliases = {name}-alias
source = main.{name}
package = {name}-lang
version = {program} --version
{more}
[run]
command = {program} {{source}}
[hello]
|hello
"""


class Languages:
    """A directory of files of languages, and one of programs that stand for compilers."""

    def __init__(self, directory):
        self.root = directory
        self.files = directory / "languages"
        self.programs = directory / "programs"
        for path in (self.files, self.programs):
            path.mkdir()
            open_up(path)
        self.setting = f"languages.directory={self.files}"

    def add(self, name, script=None, more="", program=None):
        """Adds a language. SCRIPT stands for its compiler; None: it is not installed."""
        text = FILE.format(name=name, program=program or self.programs / name, more=more)
        (self.files / f"{name}.conf").write_text(text)
        if script is not None:
            self.write(program or name, script)

    def write(self, name, script):
        """Installs a program."""
        program = self.programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)


@pytest.fixture(name="languages")
def _languages(tmp_path):
    return Languages(tmp_path)


def told(client):
    """Returns the languages of the status, by name."""
    return {language.pop("name"): language for language in client.status()["languages"]}


def check(*arguments):
    return subprocess.run(
        [RUBRICD, "--check-config", *arguments], capture_output=True, text=True, timeout=DEADLINE, check=False
    )


# --- status -------------------------------------------------------------------------------------------


def test_status_tells_what_the_host_has(start_daemon, languages):
    languages.add("xx", "echo XX 3.1")
    languages.add("yy")
    daemon = start_daemon(languages.setting)
    with daemon.connect() as client:
        assert told(client) == {
            "xx": {"aliases": ["xx-alias"], "available": True},
            "yy": {
                "aliases": ["yy-alias"],
                "available": False,
                "why_not": f"there is no {languages.programs}/yy; install the Debian package yy-lang",
            },
        }
    page = subprocess.run(
        [RUBRICCTL, "--socket", daemon.socket, "status"], capture_output=True, text=True, timeout=DEADLINE, check=True
    ).stdout
    assert "xx            not asked for its version yet\n" in page
    assert "not here      yy\n" in page


def test_versions_are_asked_for_after_the_start(start_daemon, languages):
    languages.add("xx", "echo XX 3.1")
    languages.add("yy", "echo no libraries; exit 7")
    with start_daemon(languages.setting, "languages.ask_versions=yes").connect() as client:
        wait_until(
            lambda: "version" in told(client)["xx"] and "why_not" in told(client)["yy"], "both were asked"
        )
        found = told(client)
    assert found["xx"]["version"] == "XX 3.1" and len(found["xx"]["digest"]) == 64
    assert found["yy"] == {
        "aliases": ["yy-alias"],
        "available": False,
        "why_not": f"{languages.programs}/yy was to tell its version and exited with 7: no libraries",
    }


def test_a_version_command_sees_nothing_of_the_daemons_environment(start_daemon, languages):
    languages.add("xx", "env | sort | tr '\\n' ' '", more="env = XX_HOME=/opt/xx")
    environment = {**os.environ, "SECRET": "1"}
    settings = (languages.setting, "languages.ask_versions=yes", "isolation.env_allow=OWN=1")
    with start_daemon(*settings, env=environment).connect() as client:
        wait_until(lambda: "version" in told(client)["xx"], "it was asked")
        variables = told(client)["xx"]["version"].split()
    assert {entry.split("=")[0] for entry in variables} - {"PWD", "_", "SHLVL", "OLDPWD"} == {
        "LANG", "OWN", "PATH", "PYTHONHASHSEED", "PYTHONIOENCODING", "XX_HOME",
    }  # fmt: skip


def test_a_version_command_that_hangs_keeps_nobody_waiting(start_daemon, languages):
    languages.add("xx", f"echo $$ >{languages.root}/pid; exec sleep 1000")
    (languages.root / "pid").touch()
    (languages.root / "pid").chmod(0o666)
    daemon = start_daemon(languages.setting, "languages.ask_versions=yes")
    wait_until(lambda: (languages.root / "pid").read_text(), "it runs")
    pid = int((languages.root / "pid").read_text())
    with daemon.connect() as client:
        assert client.run({"kind": "sandbox", "argv": ["/bin/true"]})["score"]["passed"]
    assert daemon.stop() == 0
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "it ended with the daemon")


def test_the_files_that_ship_are_there_without_a_directory(start_daemon):
    with start_daemon("languages.directory=").connect() as client:
        found = told(client)
    assert {"c", "cpp", "python", "java", "rust", "haskell"} <= set(found)
    assert found["python"]["available"] and found["python"]["version"].startswith("Python 3")


def test_enabled_chooses(start_daemon, languages):
    languages.add("xx", "echo XX")
    languages.add("yy", "echo YY")
    with start_daemon(languages.setting, "languages.enabled=yy-alias").connect() as client:
        assert list(told(client)) == ["yy"]


# --- what jobs see ------------------------------------------------------------------------------------


def cat(client, path):
    answer = client.run({"kind": "sandbox", "argv": ["/bin/cat", str(path)]})
    return answer["stdout"] if answer["score"]["passed"] else None


def test_jobs_of_all_kinds_see_what_a_language_needs(start_daemon, languages):
    needed = languages.root / "needed"
    needed.mkdir()
    (needed / "file").write_text("here")
    open_up(needed)
    languages.add("xx", more=f"readable = {needed} {languages.root}/absent")
    with start_daemon(languages.setting).connect() as client:
        assert cat(client, needed / "file") == "here"
        write = {"kind": "sandbox", "argv": ["/bin/sh", "-c", f"echo x >{needed}/file"]}
        assert not client.run(write)["score"]["passed"]
        with_path = client.hello["isolation"]["digest"]
    assert (needed / "file").read_text() == "here"

    # The file names the path, so it is part of the policy. Whether the host has it is not.
    (languages.root / "absent").mkdir()
    with start_daemon(languages.setting).connect() as client:
        assert client.hello["isolation"]["digest"] == with_path
    languages.add("xx")
    with start_daemon(languages.setting).connect() as client:
        assert client.hello["isolation"]["digest"] != with_path


def test_a_compiler_that_is_installed_changes_no_digest_of_others(start_daemon, languages):
    languages.add("xx")
    with start_daemon(languages.setting).connect() as client:
        digest = client.hello["isolation"]["digest"]
        assert not told(client)["xx"]["available"]
    languages.add("xx", "echo XX")
    with start_daemon(languages.setting).connect() as client:
        assert told(client)["xx"]["available"]
        assert client.hello["isolation"]["digest"] == digest


def test_a_path_that_jobs_cannot_see_is_refused(start_daemon, tmp_path, languages):
    daemon = start_daemon()
    if not daemon.has_view():
        pytest.skip("this host grants no mount namespace, so nothing hides the path")
    daemon.stop()
    languages.add("xx", more="readable = /work/lib")
    done = subprocess.run(
        [RUBRICD, "--config=/dev/null", f"--set={languages.setting}", f"--set=daemon.socket={tmp_path}/s",
         f"--set=daemon.work_dir={tmp_path}/w", "--set=daemon.socket_group=", "--set=isolation.require="],
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert done.returncode == 69
    assert (
        f"{languages.files}/xx.conf: [language] readable: /work/lib: jobs have a /work of their own, which "
        "hides it; move it, or bind-mount it elsewhere"
    ) in done.stderr


# --- mistakes -----------------------------------------------------------------------------------------


def test_every_mistake_is_named_with_its_place(languages):
    languages.add("xx", more="readable = etc\nwizardry = 1")
    languages.add("yy", more="aliases = xx")
    done = check(f"--set={languages.setting}")
    assert done.returncode == 78
    xx, yy = languages.files / "xx.conf", languages.files / "yy.conf"
    assert done.stderr.splitlines() == [
        f"{xx}:6: [language] readable: expected absolute paths without . and .. in them, with blanks "
        "between, got 'etc'",
        f"{xx}:7: [language] wizardry: unknown key",
        f"{yy}:6: [language] aliases: already set on line 2",
    ]
    languages.add("xx")
    languages.add("yy")
    yy.write_text(yy.read_text().replace("yy-alias", "xx"))
    assert check(f"--set={languages.setting}").stderr == (
        f"{yy}: [language] aliases: xx is a name of {xx}, too\n"
    )


def test_a_directory_or_language_that_is_not_there(tmp_path, languages):
    done = check(f"--set=languages.directory={tmp_path}/none")
    assert done.returncode == 78
    assert done.stderr == (
        f"--set:1: [languages] directory: {tmp_path}/none: No such file or directory\n"
    )
    languages.add("xx")
    done = check(f"--set={languages.setting}", "--set=languages.enabled=xx zz")
    assert done.returncode == 78
    assert done.stderr == "--set:2: [languages] enabled: there is no file for the language zz\n"


def test_languages_goes_with_check_config():
    done = subprocess.run([RUBRICD, "--languages"], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert (done.returncode, done.stderr) == (64, "rubricd: --languages goes with --check-config\n")


# --- programs -----------------------------------------------------------------------------------------

README = Path(__file__).parents[2] / "packaging" / "README.md"


def table(done):
    """Returns {language: (version, what became of its programs)} of --check-config --languages."""
    lines = done.stdout.splitlines()
    assert lines[0] == "The configuration is good.", done
    assert lines[1].split() == ["LANGUAGE", "VERSION", "HELLO"]
    rows = [(line[:12].strip(), line[14:74].strip(), line[76:]) for line in lines[2:]]
    return {name: (version, outcome) for name, version, outcome in rows}


def check_programs(languages, *settings):
    # As the service does, the checker starts as root and gives that up.
    return check("--languages", "--config=/dev/null", f"--set={languages.setting}", f"--set=daemon.user={ACCOUNT}",
                 *(f"--set={setting}" for setting in settings))  # fmt: skip


def test_an_operator_adds_a_language_by_a_file(start_daemon, languages):
    """The example of the README, as it stands there."""
    if not os.path.exists("/usr/bin/mawk"):
        pytest.skip("this host has no mawk")
    example = README.read_text().split("This is all of `awk.conf`:")[1].split("```ini\n")[1].split("```")[0]
    (languages.files / "awk.conf").write_text(example)
    done = check_programs(languages)
    assert done.returncode == 0, done
    version, outcome = table(done)["awk"]
    assert version.startswith("mawk ") and outcome == "ok"
    job = {"kind": "program", "language": "awk", "code": "{ print $2 }", "tests": [{"input": "a b\n", "output": "b\n"}]}
    with start_daemon(languages.setting).connect() as client:
        answer = client.run(job)
        assert answer["verdict"] == "pass", answer
        # It was found out when the job wanted it.
        assert answer["language"] == {**answer["language"], "name": "awk", "version": version}
        assert told(client)["awk"] == {
            "available": True, "version": answer["language"]["version"], "digest": answer["language"]["digest"]
        }  # fmt: skip


def test_what_fails_is_told(languages):
    shell = {"program": Path("/bin/sh")}
    languages.add("good", **shell)
    languages.add("missing")
    for name, hello in (("good", "echo hello"), ("crash", "echo no >&2; exit 3"), ("wrong", "echo Hello")):
        languages.add(name, **shell)
        path = languages.files / f"{name}.conf"
        text = path.read_text().replace("/bin/sh --version", "/bin/echo 1.0").replace("|hello", f"|{hello}")
        path.write_text(text)
    done = check_programs(languages)
    assert done.returncode == 78
    assert table(done) == {
        "crash": ("1.0", "hello: runtime_error: no "),
        "good": ("1.0", "ok"),
        "missing": (
            "-",
            f"job.language: this host cannot run missing: there is no {languages.programs}/missing; install the "
            "Debian package missing-lang",
        ),
        "wrong": ("1.0", 'hello: wrong_answer: got "Hello", expected "hello"'),
    }
    (languages.files / "crash.conf").unlink()
    (languages.files / "wrong.conf").unlink()
    assert check_programs(languages).returncode == 0  # a language that the host lacks is no failure


def test_a_daemon_that_does_not_start_is_told(languages):
    languages.add("xx")
    done = check_programs(languages, "isolation.require=cgroup", "isolation.without=cgroup")
    assert done.returncode == 71
    assert "rubricd: the languages could not be checked: the private daemon has ended" in done.stderr


@pytest.mark.parametrize("bounded", [True, False])
def test_address_space_is_bounded_unless_the_language_says_no(start_daemon, languages, bounded):
    # Reserves what it does not use.
    code = "import mmap\nmmap.mmap(-1, 4 << 30, mmap.MAP_PRIVATE, mmap.PROT_READ)\nprint('reserved')\n"
    languages.add("xx", program=Path("/usr/bin/python3"))
    path = languages.files / "xx.conf"
    if not bounded:
        path.write_text(path.read_text().replace("[run]\n", "[run]\naddress_space = no\n"))
    job = {
        "kind": "program", "language": "xx", "code": code, "tests": [{"input": "", "output": "reserved\n"}],
        "limits": {"memory_bytes": 512 << 20},
    }  # fmt: skip
    daemon = start_daemon(languages.setting)
    if not bounded and not {"pid_namespace", "mount_namespace", "cgroup"} & daemon.layers():
        pytest.skip("nothing else bounds the memory of jobs here")
    with daemon.connect() as client:
        answer = client.run(job)
    assert answer["verdict"] == ("runtime_error" if bounded else "pass"), answer


def test_page_tables_are_memory(start_daemon, languages):
    # Zeros take no memory, but each stands in a table of its own.
    code = (
        "import mmap\n"
        "m = mmap.mmap(-1, 1 << 40, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, mmap.PROT_READ)  # MAP_NORESERVE\n"
        "try: m.madvise(mmap.MADV_NOHUGEPAGE)\n"
        "except OSError: pass  # this kernel has none\n"
        "for i in range(0, int(input()) << 20, 2 << 20): m[i]\n"
        "print('read')\n"
    )
    languages.add("xx", program=Path("/usr/bin/python3"))
    path = languages.files / "xx.conf"
    path.write_text(path.read_text().replace("[run]\n", "[run]\naddress_space = no\n"))
    daemon = start_daemon(languages.setting)
    if not {"pid_namespace", "mount_namespace", "cgroup"} & daemon.layers():
        pytest.skip("nothing counts the memory of jobs here")
    # 1 TiB takes 2 GiB of tables, 1 GiB takes 2 MiB.
    tests = [{"input": f"{mib}\n", "output": "read\n"} for mib in (1 << 10, 1 << 20)]
    job = {"kind": "program", "language": "xx", "code": code, "tests": tests, "limits": {"memory_bytes": 128 << 20}}
    with daemon.connect() as client:
        answer = client.run(job)
    assert [test["verdict"] for test in answer["tests"]] == ["pass", "memory"], answer


def test_jobs_wait_until_the_version_is_known(start_daemon, languages):
    languages.add("xx", program=Path("/bin/sh"))
    path = languages.files / "xx.conf"
    fifo = languages.root / "fifo"
    os.mkfifo(fifo)
    fifo.chmod(0o666)
    asked = languages.programs / "asked"
    asked.write_text(f"#!/bin/sh\nread -r version <{fifo}\necho $version\n")
    asked.chmod(0o755)
    path.write_text(path.read_text().replace("/bin/sh --version", str(asked)))
    job = {"kind": "program", "language": "xx", "code": "cat", "tests": [{"input": "1\n", "output": "1\n"}]}
    daemon = start_daemon(languages.setting)
    with daemon.connect() as one, daemon.connect() as two, daemon.connect() as other:
        one.submit("a", job)
        two.submit("b", job)
        # Others go on meanwhile.
        assert other.run({"kind": "sandbox", "argv": ["/bin/true"]})["score"]["passed"]
        wait_until(lambda: sum(c["paused"] for c in other.status()["clients"]) == 2, "both jobs wait")
        with open(fifo, "w") as pipe:
            pipe.write("XX 1\n")
        for client, id in ((one, "a"), (two, "b")):
            answer = client.recv_answer(id)
            assert (answer["verdict"], answer["language"]["version"]) == ("pass", "XX 1"), answer


def test_jobs_that_wait_for_a_version_are_refused_by_a_drain(start_daemon, languages):
    languages.add("xx", "sleep 1000")
    daemon = start_daemon(languages.setting)
    with daemon.connect() as client, daemon.connect() as other:
        client.submit("a", {"kind": "program", "language": "xx", "code": "", "tests": [{"input": "", "output": ""}]})
        wait_until(lambda: sum(c["paused"] for c in other.status()["clients"]) == 1, "the job waits")
        daemon.process.send_signal(signal.SIGTERM)
        assert client.recv_answer("a")["code"] == "draining"
        assert daemon.process.wait(DEADLINE) == 0


# --- reload -------------------------------------------------------------------------------------------


def test_reload_reads_the_files_again(start_daemon, languages, tmp_path):
    needed = tmp_path / "needed"
    needed.write_text("here")
    languages.add("xx", "echo XX")
    with start_daemon(languages.setting).connect() as client:
        assert reloaded(client)["changed"] == []
        languages.add("yy", "echo YY", more=f"readable = {needed}")
        assert reloaded(client)["changed"] == ["languages.directory"]
        assert list(told(client)) == ["xx", "yy"]
        assert cat(client, needed) == "here"

        languages.add("yy", more="wizardry = 1")
        assert refused(client) == [f"{languages.files}/yy.conf:6: [language] wizardry: unknown key"]
        assert list(told(client)) == ["xx", "yy"]
        (languages.files / "yy.conf").unlink()
        assert reloaded(client)["changed"] == ["languages.directory"]
        assert list(told(client)) == ["xx"]


def test_reload_finds_what_was_installed_meanwhile(start_daemon, languages):
    languages.add("xx")
    with start_daemon(languages.setting).connect() as client:
        assert not told(client)["xx"]["available"]
        languages.add("xx", "echo XX")
        reloaded(client)
        assert told(client)["xx"]["available"]
