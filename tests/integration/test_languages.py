# SPDX-License-Identifier: MIT
"""Programming languages as data: what the daemon makes of their files, and of what the host has."""

import json
import os
import subprocess

import pytest
from conftest import DEADLINE, RUBRICCTL, RUBRICD, open_up, wait_until
from test_reload import refused, reloaded

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
        program = program or self.programs / name
        (self.files / f"{name}.conf").write_text(FILE.format(name=name, program=program, more=more))
        if script is not None:
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
            "xx": {"available": True},
            "yy": {
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


def test_a_path_that_jobs_cannot_see_is_refused(tmp_path, languages):
    languages.add("xx", more="readable = /work/lib")
    done = subprocess.run(
        [RUBRICD, "--config=/dev/null", f"--set={languages.setting}", f"--set=daemon.socket={tmp_path}/s",
         f"--set=daemon.work_dir={tmp_path}/w", "--set=daemon.socket_group=", "--set=isolation.require="],
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    if "mount_namespace" in done.stderr:
        pytest.skip("this host grants no mount namespace")
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
