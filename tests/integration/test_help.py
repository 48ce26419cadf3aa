# SPDX-License-Identifier: MIT
"""rubricctl --help on terminals of several widths."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from conftest import DEADLINE, LIMITS, RUBRICCTL


def commands():
    text = subprocess.run([RUBRICCTL, "--help"], capture_output=True, text=True).stdout
    table = text.split("\ncommands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in table.splitlines() if line.startswith("  ") and line[2] != " "]


def on_terminal(*arguments, columns):
    """Returns the output on a terminal of COLUMNS columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([RUBRICCTL, *arguments], stdout=slave, stderr=slave) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:  # EIO: everything is read and the program has exited
                break
            shown += more
        os.close(master)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")


def test_every_command_is_shown():
    names = commands()
    assert {"run", "batch", "sandbox", "grade", "passk", "status", "cancel", "drain"} <= set(names)
    done = subprocess.run([RUBRICCTL], capture_output=True, text=True)
    told = ", ".join(names[:-1]) + " or " + names[-1]
    assert (done.returncode, done.stderr) == (
        2,
        f"rubricctl: a command is missing: {told}; see rubricctl --help\n",
    )


@pytest.mark.parametrize("command", [[], *([name] for name in commands())], ids=str)
def test_help_teaches_and_fits(command):
    text = on_terminal(*command, "--help", columns=80)
    assert max(map(len, text.splitlines())) <= 80
    for part in ("\nusage: rubricctl ", "\nexit status:\n", "\nexamples:\n  "):
        assert part in text
    assert "--socket" in text
    assert "\n\n\n" not in text and not any(line != line.rstrip() for line in text.splitlines())
    # Without a terminal the output is the same as on one of 80 columns.
    piped = subprocess.run([RUBRICCTL, *command, "--help"], capture_output=True, text=True).stdout
    assert piped == text == on_terminal(*command, "--help", columns=200)


@pytest.mark.parametrize("command", commands())
def test_every_letter_is_one_option(command):
    """The second of two options with one letter would never be heard of."""
    letters = []
    for words in ([], [command]):
        text = subprocess.run([RUBRICCTL, *words, "--help"], capture_output=True, text=True, check=True).stdout
        letters += re.findall(r"^  -(\w), --", text, re.M)
    assert letters and len(letters) == len(set(letters)), letters


def test_the_help_names_every_limit():
    text = subprocess.run([RUBRICCTL, "sandbox", "--help"], capture_output=True, text=True).stdout
    told = re.search(r"--limit NAME=VALUE(.*?)\n +-", text, re.S)[1]
    assert re.findall(r"(\w+)=", told) == [row["key"] for row in LIMITS]


@pytest.mark.parametrize("command", [[], *([name] for name in commands())], ids=str)
def test_help_on_a_narrow_terminal(command):
    """Only examples to copy and the usage line may be wider than the terminal."""
    text = on_terminal(*command, "--help", columns=40)
    shown = text.split("\nexamples:\n")[0].split("\nusage: ")
    body = shown[0] + shown[1].split("\n", 1)[1]
    wide = [line for line in body.splitlines() if len(line) > 40 and '"' not in line]
    assert not [line for line in wide if not line.startswith("rubricctl ")]
    # Narrow output has the same words as wide output.
    full = on_terminal(*command, "--help", columns=80)
    assert text.split() == full.split()


@pytest.mark.parametrize("command", commands())
def test_help_command(command):
    """`rubricctl help COMMAND` is what people type."""
    asked = subprocess.run([RUBRICCTL, "help", command], capture_output=True, text=True)
    told = subprocess.run([RUBRICCTL, command, "--help"], capture_output=True, text=True)
    assert (asked.returncode, asked.stderr, asked.stdout) == (0, "", told.stdout)


def test_help_without_a_command_and_of_none():
    everything = subprocess.run([RUBRICCTL, "help"], capture_output=True, text=True)
    assert everything.returncode == 0
    assert everything.stdout == subprocess.run([RUBRICCTL, "--help"], capture_output=True, text=True).stdout
    unknown = subprocess.run([RUBRICCTL, "help", "nonsense"], capture_output=True, text=True)
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert unknown.stderr == 'rubricctl: unknown command "nonsense"; see rubricctl --help\n'


def test_what_an_output_that_cannot_be_opened_ends_with(tmp_path):
    """2, before any job: 6 is for results that are lost on the way."""
    (tmp_path / "jobs.jsonl").write_text("{}\n")
    command = [RUBRICCTL, "batch", "--embedded", "--output", "none/scores.jsonl", "jobs.jsonl"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE)
    assert (done.returncode, done.stderr) == (2, "rubricctl: cannot write none/scores.jsonl: No such file or directory\n")
    for words in ([], ["batch"], ["grade"], ["replay"]):
        text = subprocess.run([RUBRICCTL, *words, "--help"], capture_output=True, text=True, check=True).stdout
        assert re.search(r"output\s+that\s+cannot\s+be\s+opened", text), words


@pytest.mark.parametrize("command", [["ping"], ["sandbox", "--", "true"], ["batch", "jobs.jsonl"]], ids=lambda c: c[0])
def test_a_mistake_in_the_configuration_is_wrong_usage(command, tmp_path):
    (tmp_path / "jobs.jsonl").write_text("{}\n")
    (tmp_path / "x.conf").write_text("[daemon]\nslotz = 1\n")
    words = [RUBRICCTL, "--embedded", "--config", "x.conf", *command]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE)
    assert (done.returncode, "x.conf:2: " in done.stderr) == (2, True), done.stderr


READS = {
    "batch": ["batch", "--embedded", "{place}"],
    "report": ["report", "{place}"],
    "passk": ["passk", "{place}"],
    "run": ["run", "--embedded", "--bench-root=/", "--task-class=x", "--case={place}", "--harness-output={{}}"],
    "grade, data set": ["grade", "--embedded", "--dataset={place}", "--samples={place}"],
    "replay": ["replay", "--embedded", "{place}"],
    "configuration": ["ping", "--embedded", "--config={place}"],
}


@pytest.mark.parametrize("name", READS)
def test_a_directory_is_no_file(name, tmp_path):
    """Whatever reads a file says so of a directory, and does not take it for an empty one."""
    command = [word.format(place=tmp_path) for word in READS[name]]
    done = subprocess.run([RUBRICCTL, *command], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode not in (0, 1), done
    assert f"{tmp_path}: is a directory" in done.stderr.replace("Is a", "is a"), done
