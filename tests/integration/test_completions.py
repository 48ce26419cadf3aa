# SPDX-License-Identifier: MIT
"""What bash and zsh complete with the files that the build generates from the programs' tables."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from conftest import BENCH, BUILD, DEADLINE, LIMITS, RUBRICCTL, RUBRICD, wait_until

# Tests scripts of two shells.
pytestmark = pytest.mark.once

COMPLETIONS = BUILD / "packaging" / "describe"
BASH_COMPLETION = Path("/usr/share/bash-completion/bash_completion")
COMMANDS = {"run", "run-program", "batch", "sandbox", "grade", "report", "passk", "status", "ping", "cancel", "drain"}
LIMIT_KEYS = {row["key"] for row in LIMITS}


def options_in_help(*command):
    text = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
    own = re.findall(r"^  (?:-\w, |    )--([\w-]+)", text, re.M)
    common = re.search(r"options of every command.*explains:\n((?:  .*\n)+)", text)
    return {"--" + name for name in own} | set(common[1].split() if common else ())


# --- two shells ------------------------------------------------------------------------------------


def split(line):
    """Splits a command line as bash does for completion: = is a word, too."""
    words = [part for word in line.split(" ") for part in re.split(r"(=)", word) if part]
    return words + ([""] if line.endswith((" ", "=")) else [])


BASH = """
source {base}
source {file}
compopt() {{ :; }}  # there is no line that is being edited
COMP_WORDS=({words}); COMP_CWORD={cword}; COMP_LINE={line}; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; COMP_KEY=9
{function}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


class Bash:
    def __init__(self):
        if not BASH_COMPLETION.exists():
            pytest.skip("the package bash-completion is not installed")

    def complete(self, line, cwd="/"):
        program = line.split()[0]
        words = split(line)
        script = BASH.format(
            base=BASH_COMPLETION,
            file=COMPLETIONS / program,
            words=" ".join("'" + word.replace("'", "'\\''") + "'" for word in words),
            cword=len(words) - 1,
            line="'" + line.replace("'", "'\\''") + "'",
            function="_" + program,
        )
        done = subprocess.run(
            ["bash", "--norc", "-c", script],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            cwd=cwd,
            env={**os.environ, "PATH": f"{RUBRICCTL.parent}:{os.environ['PATH']}"},
        )
        assert done.stderr == ""
        return {word.strip() for word in done.stdout.splitlines() if word}


# Writes every match to a file as zsh would insert it into the line, then a line "done".
ZSH = r"""
fpath=({completions} $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {{
  if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a hits suffix
  zparseopts -E -a suffix S: qS:
  builtin compadd -A hits "$@"
  print -rl -- $hits >>{out}
  builtin compadd "$@"
}}
capture() {{ _main_complete; print -r -- done >>{out}; compstate[insert]=; compstate[list]= }}
zle -C capture complete-word capture
bindkey '^I' capture
print ready >>{out}
"""


class Zsh:
    """An interactive zsh on a terminal of its own."""

    def __init__(self, tmp_path):
        if not shutil.which("zsh"):
            pytest.skip("the package zsh is not installed")
        self.out = tmp_path / "out"
        self.out.touch()
        setup = tmp_path / "setup"
        setup.write_text(ZSH.format(completions=COMPLETIONS, out=self.out))
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["PATH"] = f"{RUBRICCTL.parent}:{os.environ['PATH']}"
            os.environ["TERM"] = "dumb"
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.type(f"source {setup}\r")
        self.await_line("ready")

    def type(self, text):
        os.write(self.fd, text.encode())

    def await_line(self, line):
        end = time.monotonic() + DEADLINE
        shown = b""
        while line not in self.out.read_text().splitlines():
            assert time.monotonic() < end, f"zsh does not print {line}: {shown.decode(errors='replace')}"
            if select.select([self.fd], [], [], 0.01)[0]:
                shown += os.read(self.fd, 65536)
        return self.out.read_text().splitlines()

    def complete(self, line, cwd=None):
        if cwd:
            self.out.write_text("")
            self.type(f"\x15cd {cwd} && print there >>{self.out}\r")
            self.await_line("there")
        self.out.write_text("")
        self.type(f"\x15{line}\t")
        return set(self.await_line("done")) - {"done", ""}

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.fixture(params=["bash", "zsh"])
def shell(request, tmp_path):
    if request.param == "bash":
        yield Bash()
        return
    zsh = Zsh(tmp_path)
    yield zsh
    zsh.close()


# --- the tests -------------------------------------------------------------------------------------


def test_every_command(shell):
    assert COMMANDS | {"help"} <= shell.complete("rubricctl ")
    listed = subprocess.run([RUBRICCTL, "--help"], capture_output=True, text=True).stdout
    listed = listed.split("\ncommands:\n")[1].split("\n\n")[0]
    commands = set(re.findall(r"^  ([\w-]+)  ", listed, re.M)) - {"rubricctl"}
    assert shell.complete("rubricctl ") == commands | {"help"}
    assert shell.complete("rubricctl help ") >= commands
    assert shell.complete("rubricctl sa") == {"sandbox"}
    assert shell.complete("rubricctl --socket /nowhere --no-fail b") == {"batch"}


def plain(words):
    """Returns the long options alone: zsh adds short ones and the =."""
    return {word.rstrip("=") for word in words if word.startswith("--")}


def test_every_option(shell):
    assert plain(shell.complete("rubricctl --")) == options_in_help(RUBRICCTL)
    assert plain(shell.complete("rubricd --")) == options_in_help(RUBRICD)
    if (COMPLETIONS / "rubricd-http").exists():
        assert plain(shell.complete("rubricd-http --")) == options_in_help(BUILD / "client/http/rubricd-http")
    for command in sorted(COMMANDS):
        shown = plain(shell.complete(f"rubricctl {command} --"))
        assert shown == options_in_help(RUBRICCTL, command), command
    assert "--reconnect" in plain(shell.complete("rubricctl batch --rec"))
    assert plain(shell.complete("rubricctl --embedded grade --can")) == {"--canonical"}


def formats():
    """Returns the formats that `grade` has: each begins a line."""
    text = subprocess.run([RUBRICCTL, "grade", "--list-formats"], capture_output=True, text=True, check=True).stdout
    return {line.split(":")[0] for line in text.splitlines() if line and not line.startswith(" ")}


def test_the_commands_of_the_fleet(shell):
    """They are another program's, whose completions rubricctl finds."""
    if not (COMPLETIONS / "rubricctl-fleet").exists():
        pytest.skip("this build has no rubricctl-fleet")
    assert {"init", "worker", "batch", "grade", "serve", "status", "help"} <= shell.complete("rubricctl fleet ")
    assert shell.complete("rubricctl fleet wo") == {"worker"}
    for command in ("init", "worker", "batch", "serve", "status"):
        shown = plain(shell.complete(f"rubricctl fleet {command} --"))
        assert shown == options_in_help(RUBRICCTL, "fleet", command), command
    assert plain(shell.complete("rubricctl fleet --server nats://x batch --output=x --ru")) == {"--run"}


def test_choices(shell):
    assert shell.complete("rubricctl grade --format ") == formats()
    assert shell.complete("rubricctl grade --format cr") == {"cruxeval-o", "cruxeval-i"}
    assert shell.complete("rubricctl run --sut ") == {"ok", "exception", "timeout"}
    assert shell.complete("rubricctl run --sut=e") == {"exception"}
    assert shell.complete("rubricctl sandbox -r ") == {"shell", "python"}
    rules = {"exact", "lines", "tokens", "float:1e-6,1e-6", "livecodebench", "apps", "codecontests"}
    assert shell.complete("rubricctl run-program --compare ") == rules
    assert shell.complete("rubricctl run-program --compare=li") == {"lines", "livecodebench"}
    assert not shell.complete("rubricctl batch --jobs ")


def test_limits_and_settings(shell):
    names = lambda line: {word.rstrip("=") for word in shell.complete(line)}  # noqa: E731
    for line in ("run --limit ", "sandbox -l ", "sandbox -l cpu=1s -l "):
        assert names("rubricctl " + line) == LIMIT_KEYS, line
    assert names("rubricctl run --limit mem") == {"memory_bytes"}
    settings = names("rubricd --set ")
    text = (Path(__file__).parents[2] / "conf" / "rubricd.conf").read_text()
    section, known = None, set()
    for line in text.splitlines():
        if match := re.fullmatch(r"\[(\w+)\]", line):
            section = match[1]
        elif match := re.match(r"#(\w+) =", line):
            known.add(f"{section}.{match[1]}")
    assert settings == known


def test_files(shell, tmp_path):
    place = tmp_path / "place"
    (place / "folder").mkdir(parents=True)
    (place / "jobs.jsonl").touch()
    bare = lambda line: {w.rstrip("/") for w in shell.complete(line, cwd=place)}  # noqa: E731
    for line in (
        "rubricctl batch ",
        "rubricctl batch --output ",
        "rubricctl batch --output=",
        "rubricctl run ",
        "rubricctl grade --dataset ",
        "rubricctl sandbox --file a.txt=",
        "rubricctl --config ",
        "rubricd --config ",
    ):
        assert bare(line) == {"folder", "jobs.jsonl"}, line
    assert bare("rubricctl batch jobs.jsonl j") == {"jobs.jsonl"}
    assert bare("rubricctl batch --bench-root ") == {"folder"}
    # The command takes one file, so only options are left, which bash shows for a dash.
    assert "jobs.jsonl" not in bare("rubricctl run jobs.jsonl ")


def test_task_classes(shell):
    classes = {"exact-match", "json-extraction", "sql-answer", "unified-diff"}
    assert shell.complete(f"rubricctl run --bench-root {BENCH} --task-class ") == classes
    assert shell.complete(f"rubricctl run -b {BENCH} -t sql") == {"sql-answer"}


def test_the_command_in_the_sandbox(shell, tmp_path):
    (tmp_path / "check.py").touch()
    assert "python3" in shell.complete("rubricctl sandbox pytho")
    assert "python3" in shell.complete("rubricctl sandbox --json -- pytho")
    assert shell.complete("rubricctl sandbox -l cpu=1s -- cat check", cwd=tmp_path) == {"check.py"}
    assert "--network" not in shell.complete("rubricctl sandbox -- cat --")


def test_sockets_and_jobs(shell, daemon, bench):
    assert Path(daemon.socket).name in {
        Path(word).name for word in shell.complete(f"rubricctl --socket {daemon.socket.parent}/")
    }
    with daemon.connect() as client, daemon.connect() as observer:
        client.submit("a", bench.job("import time; time.sleep(1000)"))
        slots = lambda: observer.status()["slots"]  # noqa: E731
        number = wait_until(lambda: [s["job"]["job_no"] for s in slots() if s["job"]], "it runs")[0]
        assert shell.complete(f"rubricctl --socket {daemon.socket} cancel ") == {str(number)}
