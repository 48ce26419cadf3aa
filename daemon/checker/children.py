# SPDX-License-Identifier: MIT
"""Processes that the tests start. An interpreter among them looks for modules first where it is started or where its
program lies, and the code writes there, too: a `json.py` of the code's would run instead of Python's, and could end the
process as if it had checked everything. PYTHONSAFEPATH would keep tests from importing what they have written
themselves. So such a process is refused where the code has put what Python could run unasked (planted.py). A program of
the code's that the tests name runs: they ask for it."""

import os
import sys

from planted import ARCHIVES, ENDINGS, OF_PYTEST, is_run
from restricted import is_data
from suite import shorten
from texts import SHOWN_MAX
from trusted import LIBRARY

WORDS_MAX = 256  # of a command
ENTRIES_MAX = 10000  # of a directory
READ_MAX = 1 << 20
LINE_MAX = 256  # of the first line of a script
BUILDERS = frozenset("make gmake ninja cmake meson tox nox scons".split())  # run what files here say
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


def variable(environment, name):
    """Returns the value of a variable of the process's, "" if it has none."""
    names = os.environ if environment is None else environment
    return next((os.fsdecode(names[one]) for one in names if os.fsdecode(one) == name), "")


def places_of(command, directory, environment):
    """Returns the directories in which an interpreter may look for modules."""
    directory = os.fsdecode(directory or os.getcwd())
    found = {directory}
    for word in (*words_of(command), *variable(environment, "PYTHONPATH").split(":")):
        path = os.path.join(directory, word)
        try:
            if os.path.isdir(path):
                found.add(path)
            elif os.path.isfile(path):
                found.update((os.path.dirname(path), os.path.dirname(os.path.realpath(path))))
        except ValueError:
            pass
    bases = (variable(environment, "PYTHONUSERBASE"), os.path.join(variable(environment, "HOME"), ".local"))
    found.update(os.path.join(directory, base) for base in bases if base)
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
    if gate.planted.is_on and not has_of_code(gate, os.path.realpath(entry.path)):
        return True
    if not entry.name.endswith(".py") and entry.name not in OF_PYTEST or not entry.is_file():
        return False
    return holds_nothing(gate, entry.path)


def has_of_code(gate, path):
    """Returns whether a file, or one in a directory, may be the code's."""
    root = gate.planted.root
    if not gate.planted.is_complete or not (path + "/").startswith(root + "/"):
        return True
    return any(one == path or one.startswith(path + "/") for one in gate.planted.files_of_code())


def holds_nothing(gate, path):
    """Returns whether a file is a text of the tests', or a module that holds nothing but values."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(READ_MAX)
    except (OSError, ValueError):
        return False
    return len(text) < READ_MAX and (gate.is_own(text) or path.endswith(".py") and is_data(text))


def check(gate, command, directory=None, environment=None):
    """Refuses a process that the tests start, if the code could run in it unasked."""
    words = [word for word in words_of(command) if "\0" not in word]
    directory = os.fsdecode(directory or os.getcwd())
    places = places_of(command, directory, environment)
    is_pytest = any("pytest" in word or "py.test" in word for word in words)
    if may_be_python(gate, words, directory) and not is_program_of_code(gate, words, directory):
        archives = [os.path.join(directory, one) for one in variable(environment, "PYTHONPATH").split(":") if one]
        check_planted(gate, places, {os.path.realpath(one) for one in archives}, is_pytest)
        gate.planted.has_started = True
    for place in places:
        for entry in shadows(place):
            if not is_harmless(gate, entry):
                name = shorten(entry.name, SHOWN_MAX)
                gate.refuse(f"the tests start a process where `{name}` takes the place of a library's module")
        if is_pytest:
            check_pytest(gate, place)


def may_be_python(gate, words, directory):
    """Returns whether a command names Python, or what starts it: a link to it, a script that it runs or that names it."""
    if any("py" in word.lower() or os.path.basename(word) in BUILDERS for word in words):
        return True
    for number, word in enumerate(words):
        path = os.path.realpath(os.path.join(directory, word))
        if number < 2 and not os.path.isfile(path):
            path = os.path.realpath(next(filter(os.path.isfile, (f"{place}/{word}" for place in os.get_exec_path())), path))
        is_near = path.startswith(gate.planted.root + "/")
        if "python" in os.path.basename(path) or (is_near or number < 2) and names_python(path, is_near):
            return True
    return False


def names_python(path, is_near):
    """Returns whether a file is a script of Python's, or, near the tests' own, any text in which it occurs."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            head = file.read(READ_MAX if is_near else LINE_MAX)
    except OSError:
        return False
    return b"py" in head if is_near and b"\0" not in head else head.startswith(b"#!") and b"python" in head.partition(b"\n")[0]


def is_python(word):
    return os.path.basename(word).startswith(("python", "pypy"))


def script_of(words):
    """Returns the script that the one interpreter of a command runs, or None."""
    starts = [at for at, word in enumerate(words) if is_python(word) and not (at and is_python(words[at - 1]))]
    if len(starts) != 1:
        return None
    for word in words[starts[0] :]:
        if word.startswith("-"):
            if word == "-" or not word.startswith("--") and {"c", "m"} & set(word):
                return None
        elif not is_python(word):
            return word
    return None


def is_program_of_code(gate, words, directory):
    """Returns whether a command runs a program that the code has written and the tests have not."""
    script = script_of(words)
    if script is None or not gate.planted.is_on:
        return False
    path = os.path.join(os.path.realpath(directory), script)
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if path in gate.planted.replaced:
        gate.refuse(f"the code has replaced `{shorten(script, SHOWN_MAX)}`, which the tests run")
    return path in gate.planted.files_of_code() and not os.path.islink(path)


def check_planted(gate, places, archives, is_pytest):
    """Refuses a Python process that finds files of the code's in PLACES, or that has one of ARCHIVES in its path."""
    planted = gate.planted
    if planted.is_accompanied():
        gate.refuse("the tests start Python while a process or thread of the code goes on")
    temporary = os.path.join(planted.root, "tmp") + "/"
    places = [os.path.realpath(place) + "/" for place in places]
    found = planted.files_of_code()
    if not planted.is_complete:
        gate.refuse("the tests start a process where it cannot be told which files are the code's")
    for path in sorted(found):
        near = [place for place in places if path.startswith(place)]
        if path.startswith(temporary):
            near = [place for place in near if place.startswith(temporary)]
        if (near or path in archives) and not is_idle(gate, path, near, archives, is_pytest):
            name = shorten(os.path.relpath(path, planted.root), SHOWN_MAX)
            gate.refuse(f"the tests start Python where the code has written `{name}`")


def is_idle(gate, path, places, archives, is_pytest):
    """Returns whether Python does not run a file of the code's, or it holds nothing but values."""
    name = os.path.basename(path)
    if path in gate.planted.replaced:
        return False
    if os.path.islink(path):
        return not is_run(path) and not os.path.isdir(path)
    if name.endswith(ARCHIVES) and path not in archives:
        return True
    if name in OF_PYTEST and not name.endswith(".py") and not is_pytest:
        return True
    is_at_top = any(path == place + name for place in places)
    if is_at_top and name.endswith(ENDINGS) and name.partition(".")[0] in sys.builtin_module_names:
        return True  # nothing takes the place of what the interpreter has in itself
    return name.endswith(".py") and holds_nothing(gate, path)


def check_pytest(gate, place):
    """Refuses that pytest runs in a directory if the code could tell it what to run."""
    for entry in configures(place):
        if not is_harmless(gate, entry):
            gate.refuse(f"the tests run pytest where the code has written `{shorten(entry.name, SHOWN_MAX)}`")
