# SPDX-License-Identifier: MIT
"""Processes that the tests start. An interpreter among them looks for modules first where it is started or where its
program lies, and the code writes there, too: a `json.py` of the code's would run instead of Python's, and could end the
process as if it had checked everything. PYTHONSAFEPATH would keep tests from importing what they have written
themselves. So such a process is only refused where a file takes the place of a library's."""

import os
import sys

from restricted import is_data
from suite import shorten
from texts import SHOWN_MAX
from trusted import LIBRARY

WORDS_MAX = 256  # of a command
ENTRIES_MAX = 10000  # of a directory
READ_MAX = 1 << 20
# By these pytest decides which tests it runs and what their end means.
OF_PYTEST = frozenset("conftest.py pytest.ini .pytest.ini tox.ini setup.cfg pyproject.toml".split())
ENDINGS = (".py", ".pyc", ".so")
# Where the code writes nothing: interpreters lie there, too.
HOSTS = (*LIBRARY, "/usr/", *(os.path.realpath(place) + "/" for place in (sys.prefix, sys.base_prefix)))


def words_of(command):
    """Yields the words of a command, which is a text or a list, in which a word may be a command."""
    parts = command if isinstance(command, (list, tuple)) else (command,)
    for part in parts[:WORDS_MAX]:
        if isinstance(part, (str, bytes, os.PathLike)):
            text = os.fsdecode(part)
            yield text
            yield from (word.strip("\"';&|()") for word in text.split()[:WORDS_MAX])


def places_of(command, directory, environment):
    """Returns the directories in which an interpreter may look for modules."""
    directory = os.fsdecode(directory or os.getcwd())
    names = os.environ if environment is None else environment
    paths = [os.fsdecode(names[name]) for name in names if os.fsdecode(name) == "PYTHONPATH"]
    found = {directory}
    for word in (*words_of(command), *(path for several in paths for path in several.split(":"))):
        path = os.path.join(directory, word)
        try:
            if os.path.isdir(path):
                found.add(path)
            elif os.path.isfile(path):
                found.add(os.path.dirname(os.path.realpath(path)))
        except ValueError:
            pass
    return [place for place in found if not (os.path.realpath(place) + "/").startswith(HOSTS)]


def is_library_module(name):
    if not name or name in sys.builtin_module_names:
        return False  # nothing takes the place of what the interpreter has in itself
    if name in sys.stdlib_module_names or name in ("sitecustomize", "usercustomize"):
        return True
    return any(os.path.exists(place + name + end) for place in LIBRARY for end in ("", ".py"))


def module_at(entry):
    """Returns the name of the module that a directory's entry is, "" if it is none."""
    if entry.is_dir():
        is_package = any(os.path.exists(f"{entry.path}/__init__{end}") for end in ENDINGS)
        return entry.name if is_package else ""
    return entry.name.partition(".")[0] if entry.name.endswith(ENDINGS) else ""


def shadows(place):
    """Yields the entries of a directory that take the place of a module of a library."""
    try:
        with os.scandir(place) as entries:
            for _, entry in zip(range(ENTRIES_MAX), entries):
                if is_library_module(module_at(entry)):
                    yield entry
    except OSError:
        pass


def configures(place):
    """Yields the files by which pytest is told what to do if it runs in a directory, there or above."""
    while place and not (os.path.realpath(place) + "/").startswith(HOSTS) and place != os.path.dirname(place):
        try:
            with os.scandir(place) as entries:
                yield from (entry for entry in entries if entry.name in OF_PYTEST)
        except OSError:
            pass
        place = os.path.dirname(place)


def is_harmless(gate, entry):
    """Returns whether a file is one that the tests have written, or a module that holds nothing but values."""
    if not entry.name.endswith(".py") and entry.name not in OF_PYTEST or not entry.is_file():
        return False
    try:
        with open(entry.path, encoding="utf-8") as file:
            text = file.read(READ_MAX)
    except (OSError, ValueError):
        return False
    return len(text) < READ_MAX and (gate.is_own(text) or entry.name.endswith(".py") and is_data(text))


def check(gate, command, directory=None, environment=None):
    """Refuses a process that the tests start, if the code could run in it unasked."""
    for place in places_of(command, directory, environment):
        for entry in shadows(place):
            if not is_harmless(gate, entry):
                name = shorten(entry.name, SHOWN_MAX)
                gate.refuse(f"the tests start a process where `{name}` takes the place of a library's module")
        if any("pytest" in word or "py.test" in word for word in words_of(command)):
            check_pytest(gate, place)


def check_pytest(gate, place):
    """Refuses that pytest runs in a directory if the code could tell it what to run."""
    for entry in configures(place):
        if not is_harmless(gate, entry):
            gate.refuse(f"the tests run pytest where the code has written `{shorten(entry.name, SHOWN_MAX)}`")
