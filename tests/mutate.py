#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Changes the C code in one place at a time and looks which tests notice.

    mutate.py [--seed N] [--count N] [--rooms ROOM...] [--state DIRECTORY] [--unit-only] [--list]

Chooses COUNT places in the rooms by SEED: an operator is exchanged, a constant changed, a condition
negated, a statement removed, or a returned value replaced. Each mutant is built in a copy of the tree.
The unit tests of its room run first, for all mutants. For those that pass, the integration tests run that
tests/rooms.toml names for the room. A mutant is

    killed       a test failed, or did not end
    survived     every test passed; printed with its diff. It may still be equivalent, which takes a person
                 to tell
    same code    the compiler makes the same code of it: equivalent for certain
    no program   it does not compile; another place is chosen instead
    unit passed  no unit test failed, and the integration tests have not run: there is --unit-only

Results go to DIRECTORY/results.jsonl, one line each. A run with the same DIRECTORY skips what is there,
so an interrupted run goes on where it stopped. DIRECTORY also keeps the copy and its build; delete it after
a change of the tree.

A mutant may kill or delete what it should not. So the tests run in a pid namespace of their own, in which
everything but DIRECTORY and new temporary directories is read-only. That takes root; --list, which only
prints the places, does not."""

import argparse
import ctypes
import difflib
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "/usr/bin/python3"
LEAST_SECONDS = 45  # a test that takes this long may be slow; after several times its usual time it hangs
PATIENCE = 6

# --- places -----------------------------------------------------------------------------------

EXCHANGES = {
    "==": ["!="],
    "!=": ["=="],
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "&&": ["||"],
    "||": ["&&"],
    "+": ["-"],
    "-": ["+"],
    "/": ["*"],
    "+=": ["-="],
    "-=": ["+="],
    "|=": ["&="],
    "++": ["--"],
    "--": ["++"],
    "true": ["false"],
    "false": ["true"],
}
TOKEN = re.compile(
    r"[A-Za-z_]\w*|0[xX][0-9a-fA-F]+\w*|\d+\w*|->|<<=?|>>=?|[-+&|]=|\+\+|--|&&|\|\||[=!<>]=|[^\s\w]"
)
HIDDEN = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*""", re.S | re.M
)
STATEMENT = re.compile(r"^[ \t]+(?!return\b|goto\b|break\b|continue\b|assert\b|case\b|else\b|do\b)"
                       r"(?:\(void\))?[a-z_][\w.\[\]]*(?:->[\w.\[\]]+)*(?: [-+|&]?= |\(|\+\+;|--;)[^{}]*?;$", re.S)  # fmt: skip
UNIT_FAILED = re.compile(r"^ *\d+/\d+ \S+ +/ (\S+) +(?:FAIL|TIMEOUT|ERROR)", re.M)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)
OPERAND_ENDS = re.compile(r"[\w)\]]$")


def hide(text):
    """Returns TEXT with blanks instead of comments, strings and directives; offsets stay."""
    return HIDDEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def closing(text, at):
    """Returns the offset of the parenthesis that closes the one at AT."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def places_of_tokens(text):
    """Yields (start, end, replacement) for operators, constants, conditions and returned values."""
    depth, before, skip_until = 0, "", 0
    for match in TOKEN.finditer(text):
        token, start, end = match[0], match.start(), match.end()
        depth += {"{": 1, "}": -1}.get(token, 0)
        previous, before = before, token
        if depth == 0 or start < skip_until:
            continue
        if token in ("assert", "_Static_assert", "_cleanup_"):
            skip_until = closing(text, text.find("(", end)) + 1
        elif token in ("if", "while"):
            first = text.find("(", end)
            last = closing(text, first)
            yield first, last + 1, f"(!{text[first:last + 1]})"
        elif token == "return":
            last = text.find(";", end)
            value = text[end:last].strip()
            if value and value not in ("true", "false"):
                yield start, last, "return 0" if value != "0" else "return -1"
        elif token[0].isdigit() and not previous.endswith("."):
            yield start, end, f"({token} + 1)"
            if token not in ("0", "1"):
                yield start, end, f"({token} - 1)"
        elif token in EXCHANGES and (token not in "+-" or OPERAND_ENDS.search(previous)):
            for other in EXCHANGES[token]:
                yield start, end, other


def places_of_statements(text):
    depth, start = 0, 0
    for i, char in enumerate(text):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char not in ";{}":
            continue
        statement = text[start : i + 1]
        if char == ";" and depth > 0:
            first = start + len(statement) - len(statement.lstrip("\n"))
            if STATEMENT.match(text[first : i + 1]) and "for (" not in statement:
                inside = first + len(text[first : i + 1]) - len(text[first : i + 1].lstrip())
                yield inside, i + 1, ";"
        start = i + 1


def all_places(root, rooms):
    """Returns the places in the files of ROOMS, always in the same order."""
    places = []
    for file in [file for room in rooms for file in sorted((root / room).glob("*.c"))]:
        text = hide(file.read_text())
        for start, end, new in sorted({*places_of_tokens(text), *places_of_statements(text)}):
            places.append({"file": str(file.relative_to(root)), "start": start, "end": end, "new": new})
    return places


def name_of(root, place):
    """Identifies a mutant by its text, so that it keeps its name when lines before it come or go."""
    original = (root / place["file"]).read_text()
    around = original[max(place["start"] - 60, 0) : place["end"] + 40]
    digest = hashlib.sha256(repr((around, place["new"])).encode()).hexdigest()[:10]
    return f"{place['file']}:{digest}"


def mutate(text, place):
    return text[: place["start"]] + place["new"] + text[place["end"] :]


def diff_of(text, place):
    lines = [text.splitlines(keepends=True), mutate(text, place).splitlines(keepends=True)]
    return "".join(difflib.unified_diff(*lines, place["file"], place["file"], n=2))


# --- a place apart for the tests --------------------------------------------------------------

AT_RECURSIVE, MOUNT_ATTR_RDONLY, SYS_MOUNT_SETATTR, AT_FDCWD = 0x8000, 1, 442, -100


def set_read_only(path, flag):
    attributes = (ctypes.c_uint64 * 4)(*((MOUNT_ATTR_RDONLY, 0) if flag else (0, MOUNT_ATTR_RDONLY)), 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), AT_RECURSIVE, attributes, 32) < 0:
        sys.exit(f"mutate.py: mount_setattr {path}: {os.strerror(ctypes.get_errno())}")


def run_apart(state, command):
    """Executes COMMAND in this process, which has namespaces of its own (apart())."""
    subprocess.run(["mount", "--bind", state, state], check=True)
    set_read_only("/", True)
    set_read_only(state, False)
    kept = os.open(state, os.O_PATH)
    os.set_inheritable(kept, True)
    for target in ("/tmp", "/var/tmp", "/run", "/dev/shm"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", target], check=True)
        if Path(target) in Path(state).parents:
            os.makedirs(state)
            subprocess.run(["mount", "-c", "--bind", f"/proc/self/fd/{kept}", state], check=True, close_fds=False)
    os.chdir(f"{state}/src")  # the old one is behind the new mounts
    os.close(kept)
    subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
    os.execvp(command[0], command)


def apart(state, command, seconds, **environment):
    """Runs COMMAND for at most SECONDS. Returns whether it succeeded, and the last of its output."""
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", PYTHON, __file__, "--apart", str(state)]
    with open(state / "output", "w+b") as output:
        process = subprocess.Popen(
            [*unshare, "--", *command], cwd=state / "src", env={**os.environ, **environment},
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
        try:
            good = process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with its namespace
            process.wait()
            return False, "did not end"
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
    return good, "\n".join(lines[-40:])


# --- the copy ---------------------------------------------------------------------------------


class Copy:
    """A copy of the tree with a build of its own, in which one file at a time is changed."""

    def __init__(self, state):
        self.state, self.source, self.build = state, state / "src", state / "build"
        self.unchanged = {}
        self.kept = state / "checked.json"
        self.checked = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        if not (self.build / "build.ninja").exists():
            self.make()
        self.restore()
        self.table = tomllib.loads((self.source / "tests/rooms.toml").read_text())

    def make(self):
        shutil.rmtree(self.source, ignore_errors=True)
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        for name in filter(None, names.decode().split("\0")):
            target = self.source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        options = ["--buildtype=plain", "-Doptimization=1", "-Dwerror=false", "-Dwarm=auto"]
        subprocess.run(["meson", "setup", self.build, self.source, *options], check=True, stdout=subprocess.DEVNULL)

    def restore(self):
        for file in self.source.glob("**/*.orig"):
            file.rename(file.with_suffix(""))
            os.utime(file.with_suffix(""))

    def compile_commands(self, file):
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            if (self.build / entry["file"]).resolve() == (self.source / file).resolve():
                yield entry["command"]

    def objects_of(self, file):
        """Returns the code that FILE compiles to, once for each program; None if it does not compile."""
        found = []
        for command in self.compile_commands(file):
            words, target = shlex.split(command), self.state / "object.o"
            words[words.index("-o") + 1] = str(target)
            done = subprocess.run(words, cwd=self.build, stderr=subprocess.DEVNULL, check=False)
            if done.returncode:
                return None
            found.append(target.read_bytes())
        return found

    def ninja(self, *targets):
        command = ["ninja", "-C", self.build, "--quiet", *targets]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return done.returncode == 0

    def timed(self, key, command, **environment):
        """Runs a test, which has several times as long as it took when nothing was changed."""
        usual = self.checked.get(key, {"seconds": 100})["seconds"]
        return apart(self.state, command, max(LEAST_SECONDS, PATIENCE * usual), **environment)

    def unit_tests(self, room):
        tests = json.loads((self.build / "meson-info/intro-tests.json").read_text())
        return [test for test in tests if room in {suite.partition(":")[2] or suite for suite in test["suite"]}]

    def unit_targets(self, room):
        """Returns the programs of the unit tests of ROOM, and what they start."""
        files = {}
        for target in json.loads((self.build / "meson-info/intro-targets.json").read_text()):
            files[target["id"]] = [os.path.relpath(name, self.build) for name in target["filename"]]
        return sorted({name for test in self.unit_tests(room) for id in test["depends"] for name in files[id]})

    def programs(self):
        found = [f"daemon/{name}" for name in ("rubricd", "rubricd-jail", "rubricd-jail-warm")]
        return [name for name in [*found, "client/rubricctl"] if (self.build / name).exists()]

    def run_unit(self, room, *options):
        left_out = self.checked.get(f"unit {room}", {}).get("left out", [])
        names = [test["name"] for test in self.unit_tests(room) if test["name"] not in left_out]
        command = ["meson", "test", "-C", str(self.build), "--no-rebuild", "--print-errorlogs", *options, *names]
        if not names:
            return True, ""
        return self.timed(f"unit {room}", command)

    def run_integration(self, room, *options):
        row = self.table.get(room, {})
        left_out = [f"--deselect={name}" for name in self.checked.get(f"integration {room}", {}).get("left out", [])]
        files = [f"tests/integration/{name}" for name in [*row.get("tests", []), *row.get("more", [])]]
        command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile",
                   "-m", "not alone and not long", *options, *left_out, *files]  # fmt: skip
        return self.timed(f"integration {room}", command, RUBRICD_BUILD=str(self.build))

    def check(self, stage, room):
        """Looks what the tests say without a change, once. A test that fails then (on a busy host, or one that
        lacks something) cannot notice anything and is left out."""
        key = f"{stage} {room}"
        if key in self.checked:
            return
        if not self.ninja():
            sys.exit("mutate.py: the copy does not build")
        began = time.monotonic()
        good, output = self.run_unit(room) if stage == "unit" else self.run_integration(room)
        failed = (UNIT_FAILED if stage == "unit" else FAILED).findall(output)
        if not good and not failed:
            sys.exit(f"{output}\nmutate.py: the {stage} tests of {room} fail without a change")
        for name in failed:
            print(f"left out: {name}", flush=True)
        self.checked[key] = {"seconds": time.monotonic() - began, "left out": failed}
        self.kept.write_text(json.dumps(self.checked))

    def judge(self, stage, place):
        """Builds the mutant at PLACE and runs its tests of STAGE. Returns its fate, and which test noticed."""
        room = str(Path(place["file"]).parent)
        self.check(stage, room)
        file = self.source / place["file"]
        kept = file.with_suffix(file.suffix + ".orig")
        if file not in self.unchanged:
            self.unchanged[file] = self.objects_of(place["file"])
        shutil.copy2(file, kept)
        try:
            file.write_text(mutate(file.read_text(), place))
            return self.test_unit(place["file"], room) if stage == "unit" else self.test_integration(room)
        finally:
            self.restore()

    def test_unit(self, name, room):
        after = self.objects_of(name)
        if after is None:
            return "no program", ""
        if after == self.unchanged[self.source / name]:
            return "same code", ""
        if not self.ninja(*self.unit_targets(room)):
            return "no program", ""
        good, output = self.run_unit(room, "--maxfail", "1")
        if good:
            return "unit passed", ""
        failed = UNIT_FAILED.findall(output)
        return "killed", "unit: " + (failed[0] if failed else " ".join(output[-60:].split()))

    def test_integration(self, room):
        if not self.ninja(*self.programs()):
            return "no program", ""
        good, output = self.run_integration(room, "-x")
        if good:
            return "survived", ""
        return "killed", next(iter(FAILED.findall(output)), " ".join(output[-60:].split()))


# --- the run ----------------------------------------------------------------------------------


def report(results, count):
    fates = {}
    for result in results:
        fates.setdefault(result["fate"], []).append(result)
    left = [*fates.get("survived", []), *fates.get("unit passed", [])]
    for result in left:
        print(f"\n{result['fate']}: {result['name']}\n{result['diff']}", end="")
    told = {fate: len(list_) for fate, list_ in sorted(fates.items())}
    killed, survived = told.get("killed", 0), len(left)
    by_unit = sum(result["by"].startswith("unit") for result in fates.get("killed", []))
    same = told.get("same code", 0)
    print(f"\n{killed + survived + same} of {count} mutants: {killed} killed ({by_unit} by unit tests), "
          f"{survived} survived, {same} same code")  # fmt: skip
    if killed + survived:
        print(f"{100 * killed / (killed + survived):.0f} % killed of those that are different code")


class Results:
    """What is known of each mutant; the last line of a name in the file holds."""

    def __init__(self, file):
        self.file, self.known = file, {}
        if file.exists():
            self.known = {entry["name"]: entry for entry in map(json.loads, file.read_text().splitlines())}

    def judge(self, copy, stage, place):
        name = name_of(copy.source, place)
        began = time.monotonic()
        fate, by = copy.judge(stage, place)
        diff = diff_of((copy.source / place["file"]).read_text(), place)
        seconds = round(time.monotonic() - began, 1)
        self.known[name] = {"name": name, "fate": fate, "by": by, "seconds": seconds, "diff": diff}
        with open(self.file, "a") as lines:
            lines.write(json.dumps(self.known[name]) + "\n")
        print(f"{fate:11s} {seconds:6.1f} s  {name}  {by}", flush=True)


def run(arguments, rooms):
    state = arguments.state.resolve()
    state.mkdir(parents=True, exist_ok=True)
    copy, results = Copy(state), Results(state / "results.jsonl")
    places = all_places(copy.source, rooms)
    random.Random(arguments.seed).shuffle(places)
    chosen = {}
    for place in places:
        if len(chosen) == arguments.count:
            break
        name = name_of(copy.source, place)
        if name not in results.known:
            results.judge(copy, "unit", place)
        if results.known[name]["fate"] != "no program":
            chosen[name] = place
    left = [] if arguments.unit_only else [name for name in chosen if results.known[name]["fate"] == "unit passed"]
    for name in sorted(left):  # each room's together
        results.judge(copy, "integration", chosen[name])
    report([results.known[name] for name in chosen], arguments.count)


def main():
    if sys.argv[1:2] == ["--apart"]:
        run_apart(sys.argv[2], sys.argv[4:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--rooms", nargs="+", default=["daemon/jail", "daemon/pool", "daemon/net", "proto"])
    parser.add_argument("--state", type=Path, default=ROOT / "build-mutants")
    parser.add_argument("--unit-only", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    rooms = [room.rstrip("/") for room in arguments.rooms]
    for room in rooms:
        if not any((ROOT / room).glob("*.c")):
            sys.exit(f"mutate.py: {room}: no such room")
    if arguments.list:
        for place in all_places(ROOT, rooms):
            old = (ROOT / place["file"]).read_text()[place["start"] : place["end"]]
            print(name_of(ROOT, place), repr(old), repr(place["new"]))
        return
    if os.geteuid() != 0:
        sys.exit("mutate.py: takes root, to keep mutants apart from the rest of this machine")
    run(arguments, rooms)


if __name__ == "__main__":
    main()
