# SPDX-License-Identifier: MIT
"""Checks that the manual pages of the build are well formed, readable at 80 columns, and complete."""

import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, RUBRICCTL

# These tests check the pages, which are the same in every build.
pytestmark = pytest.mark.once

PAGES = ["rubricctl.1", "rubricd.8", "rubricd.conf.5", "rubricd-protocol.7", "rubricd-rubric.7"]
PLACE = BUILD / "packaging" / "describe"
PAGES += ["rubricd-http.8"] if (PLACE / "rubricd-http.8").exists() else []
PAGES += ["rubricctl-fleet.1"] if (PLACE / "rubricctl-fleet.1").exists() else []
TABLES = json.loads((PLACE / "tables.json").read_text())


def tool(name, package):
    if not shutil.which(name):
        pytest.skip(f"{name} is missing: the package {package} is not installed")
    return name


def rendered(page):
    """Returns PAGE as a terminal of 80 columns shows it."""
    done = subprocess.run(
        [tool("groff", "groff-base"), "-mandoc", "-t", "-Tutf8", "-P-cbou", "-rLL=78n", PLACE / page],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    return done.stdout


def words(page):
    """Returns the text with white space collapsed and hyphenated words joined."""
    return " ".join(re.sub("\u2010\n +", "", rendered(page)).split())


@pytest.mark.parametrize("page", PAGES)
def test_groff_has_nothing_to_say(page):
    done = subprocess.run(
        [tool("groff", "groff-base"), "-mandoc", "-t", "-Tutf8", "-ww", PLACE / page],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES)
def test_mandoc_has_nothing_to_say(page):
    done = subprocess.run(
        [tool("mandoc", "mandoc"), "-Tlint", PLACE / page], capture_output=True, text=True
    )
    # Hosts differ in the pages of other packages that they have.
    others = ("outdated mandoc.db", "referenced manual not found")
    said = done.stdout.splitlines()
    assert [line for line in said if not any(other in line for other in others)] == []


@pytest.mark.parametrize("page", PAGES)
def test_no_line_is_too_long(page):
    wide = [line for line in rendered(page).splitlines() if len(line) > 80]
    # A long string in an example of the protocol cannot be broken.
    string = r' +("\w[\w.]*": )?"(\\.|[^"\\])*",?'
    assert [line for line in wide if not re.fullmatch(string, line)] == []


SECTIONS = {
    "rubricctl.1": "NAME SYNOPSIS DESCRIPTION COMMANDS ENVIRONMENT FILES EXIT_STATUS SIGNALS EXAMPLES SEE_ALSO",
    "rubricd.8": "NAME SYNOPSIS DESCRIPTION SECURITY ENVIRONMENT FILES EXIT_STATUS SIGNALS EXAMPLES SEE_ALSO",
    "rubricctl-fleet.1": "NAME SYNOPSIS DESCRIPTION COMMANDS ENVIRONMENT FILES EXIT_STATUS SEE_ALSO",
    "rubricd-http.8": "NAME SYNOPSIS DESCRIPTION FILES EXIT_STATUS SEE_ALSO",
    "rubricd.conf.5": "NAME SYNOPSIS DESCRIPTION KEYS FILES EXAMPLES SEE_ALSO",
    "rubricd-rubric.7": "NAME SYNOPSIS DESCRIPTION FILES EXAMPLES SEE_ALSO",
    "rubricd-protocol.7": "NAME DESCRIPTION TRANSPORT FRAMES ERROR_CODES VERSIONS SEE_ALSO",
}


@pytest.mark.parametrize("page", PAGES)
def test_sections(page):
    found = re.findall(r"^([A-Z]\S.*)$", rendered(page), re.M)
    found = [line for line in found if "(" not in line and line.upper() == line]
    expected = [name.replace("_", " ") for name in SECTIONS[page].split()]
    assert [name for name in found if name in expected] == expected
    assert "@" not in rendered(page).replace("pass@k", "").replace("rubricd@", "")


def options_of(text):
    return set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", text))


def test_every_command_and_option_of_the_client():
    text = rendered("rubricctl.1")
    assert [c["name"] for c in TABLES["rubricctl"]["commands"]]
    for command in TABLES["rubricctl"]["commands"]:
        title = rf"^   rubricctl {command['name']}\n"
        part = re.search(title + r"(.*?)(?=^   rubricctl |^\S)", text, re.M | re.S)
        help_text = subprocess.run(
            [RUBRICCTL, command["name"], "--help"], capture_output=True, text=True
        ).stdout
        own = set(re.findall(r"^  (?:-\w, |    )--([\w-]+)", help_text, re.M))
        listed = set(re.findall(r"^     (?:-\w, )?--([\w-]+)", part[1], re.M))
        assert listed == own, command["name"]
        for line in command["examples"].splitlines():
            assert line.strip() in part[1], line
    for option in TABLES["rubricctl"]["options"]:
        assert f"--{option['name']}" in text


def test_every_option_of_the_daemon():
    text = rendered("rubricd.8")
    listed = set(re.findall(r"^     (?:-\w, )?--([\w-]+)", text, re.M))
    assert listed == {option["name"] for option in TABLES["rubricd"]["options"]}


def test_every_field_and_sort_of_the_log():
    text = rendered("rubricd.8")
    told = set(re.findall(r"\bRUBRIC_([A-Z_]*[A-Z])\b", text))
    assert told == {name.upper() for name in TABLES["fields"]}
    for message in TABLES["messages"]:
        assert re.search(rf"^     {message['name']} +{message['id']}$", text, re.M), message


def test_every_key_with_its_default():
    text = rendered("rubricd.conf.5")
    section, shown = None, {}
    for line in text[text.index("\nKEYS") : text.index("\nFILES")].splitlines():
        if match := re.fullmatch(r"   \[(\w+)\]", line):
            section = match[1]
        elif match := re.fullmatch(r"     (\w+) =(.*)", line):
            shown[f"{section}.{match[1]}"] = match[2].strip()
    section, known = None, {}
    for line in (ROOT / "conf" / "rubricd.conf").read_text().splitlines():
        if match := re.fullmatch(r"\[(\w+)\]", line):
            section = match[1]
        elif match := re.fullmatch(r"#(\w+) =(.*)", line):
            known[f"{section}.{match[1]}"] = match[2].strip()
    assert shown == known
    assert sorted(shown) == sorted(TABLES["settings"])


def test_every_message_and_code_of_the_protocol():
    text = rendered("rubricd-protocol.7")
    source = (ROOT / "proto" / "protocol.md").read_text()
    for title in re.findall(r"^### (.*)$", source, re.M):
        assert re.search(rf"^   {re.escape(title.replace('`', ''))}$", text, re.M), title
    for title in re.findall(r"^## (.*)$", source, re.M):
        title = title.replace("`", "").upper()
        title = {"ERRORS": "ERROR CODES", "REPORTS": "THE REPORT"}.get(title, title)
        assert re.search(rf"^{re.escape(title)}$", text, re.M), title
    everything = words("rubricd-protocol.7")
    for name in re.findall(r"^\| `([\w.]+)`", source, re.M):
        assert name in everything, name
    assert "](" not in text and "`" not in re.sub(r'"(?:\\.|[^"\\])*"', "", text).replace("```", "")


@pytest.mark.parametrize("page", PAGES)
def test_our_pages_name_each_other(page):
    for name in re.findall(r"^\.Xr (rubric\S+ \d)", (PLACE / page).read_text(), re.M):
        assert (PLACE / name.replace(" ", ".")).exists(), name


def test_the_examples_of_json_are_json():
    """The manual page reformats the examples; they must still equal those in the protocol page."""
    text = rendered("rubricd-protocol.7")
    source = (ROOT / "proto" / "protocol.md").read_text()
    shown = re.sub(r"\s+", "", text)
    for block in re.findall(r"^```json\n(.*?)^```", source, re.M | re.S):
        assert re.sub(r"\s+", "", block) in shown, block
