# SPDX-License-Identifier: MIT
"""Read a unified diff and apply it to a set of files held in memory.

Unlike patch(1) it does not guess: a hunk's header must have the right number of lines, and context
lines must match byte for byte. As with patch(1), a hunk may have moved by a few lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_OFFSET = 20
MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255

HUNK_HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@.*")
UNSUPPORTED = re.compile(
    r"(?:rename|copy) (?:from|to) |GIT binary patch|Binary files |(?:new file|new) mode 1[26]0000"
)


class DiffError(Exception):
    """The diff is unusable. `code` is the failure mode."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass
class Hunk:
    """One change: the old lines, and the new lines that replace them."""

    old_start: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    anchored: bool = False
    """Whether a line of the file is part of the hunk, so that it can be found by its content."""


@dataclass
class FilePatch:
    """The hunks of one file. A path of None is /dev/null: the file is created or deleted."""

    old_path: str | None
    new_path: str | None
    hunks: list[Hunk] = field(default_factory=list)


@dataclass
class Applied:
    """The outcome of a diff: the files after it, and how many hunks were applied."""

    files: dict[str, str]
    hunks: int = 0
    total: int = 0
    offsets: int = 0
    problem: str = ""


def split_lines(text: str) -> list[str]:
    """Split at newlines only. Lines keep their newline."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def parse(text: str) -> list[FilePatch]:
    """Parse a whole diff. Skip text before, between and after the parts of files."""
    lines = [line[:-1] if line.endswith("\n") else line for line in split_lines(text)]
    patches: list[FilePatch] = []
    current: FilePatch | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        if UNSUPPORTED.match(line):
            raise DiffError("diff.unsupported", line.strip())
        if line.startswith("--- "):
            current = FilePatch(*header_paths(lines, at))
            patches.append(current)
            at += 2
        elif line.startswith("@@"):
            if current is None:
                raise DiffError("diff.malformed", f"no file header (--- and +++) before {line}")
            hunk, at = parse_hunk(lines, at)
            current.hunks.append(hunk)
        else:
            current = None if line.startswith("diff ") else current
            at += 1
    if not patches:
        raise DiffError("diff.malformed", "there is no file header (--- and +++)")
    for patch in patches:
        if not patch.hunks:
            raise DiffError("diff.malformed", f"no hunk for {patch.new_path or patch.old_path}")
    return patches


def header_paths(lines: list[str], at: int) -> tuple[str | None, str | None]:
    """Return the two paths of the file header at `at`. Refuse unsafe paths."""
    if at + 1 == len(lines) or not lines[at + 1].startswith("+++ "):
        raise DiffError("diff.malformed", f"no +++ line after {lines[at]}")
    old, new = (line[4:].split("\t")[0].strip() for line in lines[at : at + 2])
    nowhere = "/dev/null"
    if old == nowhere and new == nowhere:
        raise DiffError("diff.malformed", "a file header without a path")
    # git adds a/ and b/ as a pair. A single a/ is a directory of that name.
    if (old == nowhere or old.startswith("a/")) and (new == nowhere or new.startswith("b/")):
        old, new = (path if path == nowhere else path[2:] for path in (old, new))
    for path in (old, new):
        if path != nowhere:
            refuse_unsafe(path)
    return (None if old == nowhere else old), (None if new == nowhere else new)


def refuse_unsafe(path: str) -> None:
    """Raise unless this is a plain relative path that stays below its directory."""
    parts = path.split("/")
    drive = re.match("[A-Za-z]:", path)
    if path.startswith(("/", "~")) or {"..", ".git"} & set(parts) or "\\" in path or drive:
        raise DiffError("diff.outside_tree", path)
    too_long = len(path.encode()) > MAX_PATH_BYTES or any(
        len(part.encode()) > MAX_NAME_BYTES for part in parts
    )
    if {"", "."} & set(parts) or path.startswith('"') or not path.isprintable() or too_long:
        raise DiffError("diff.malformed", f"not a usable path: {path}")


def parse_hunk(lines: list[str], at: int) -> tuple[Hunk, int]:
    """Parse the hunk at `at`. Return it and the index of the first line after it."""
    header = HUNK_HEADER.fullmatch(lines[at].rstrip("\r"))
    if not header:
        raise DiffError("diff.malformed", f"bad hunk header: {lines[at]}")
    old_left, new_left = (int(count or 1) for count in header.group(2, 4))
    hunk = Hunk(old_start=int(header[1]))
    where = header[0]
    at += 1
    while old_left or new_left:
        if at == len(lines):
            raise DiffError("diff.malformed", f"the diff ends inside of a hunk: {where}")
        # A mailer or an editor may have stripped the space of an empty context line.
        sign, body = (lines[at][0], lines[at][1:]) if lines[at] else (" ", "")
        if sign not in " +-\\":
            raise DiffError("diff.malformed", f"the hunk is shorter than its header says: {where}")
        if sign == "\\":
            no_newline(hunk, lines[at - 1][:1])
        if sign in " -":
            hunk.old.append(body + "\n")
            old_left -= 1
        if sign in " +":
            hunk.new.append(body + "\n")
            new_left -= 1
        if old_left < 0 or new_left < 0:
            raise DiffError("diff.malformed", f"the hunk's lines do not add up: {where}")
        at += 1
    if at < len(lines) and lines[at].startswith("\\"):
        no_newline(hunk, lines[at - 1][:1])
        at += 1
    if at < len(lines) and goes_on(lines, at):
        raise DiffError("diff.malformed", f"the hunk is longer than its header says: {where}")
    hunk.anchored = bool(hunk.old)
    return hunk, at


def no_newline(hunk: Hunk, sign: str) -> None:
    """Remove the newline from the last line, on each side that has this line."""
    for side, signs in ((hunk.old, " -"), (hunk.new, " +")):
        if sign in signs and side:
            side[-1] = side[-1].rstrip("\n")


def goes_on(lines: list[str], at: int) -> bool:
    """Return whether the line after a complete hunk looks like a part of it."""
    line = lines[at]
    if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
        return False
    # "-- " begins the signature of a mailed patch.
    return line.startswith(("+", "-", " ")) and line.strip() not in ("", "--")


def locate(lines: list[str], hunk: Hunk, expected: int, floor: int) -> int | None:
    """Return the match of the hunk's old lines nearest to `expected`, at or after `floor`."""
    reach = MAX_OFFSET if hunk.anchored else 0
    for distance in range(reach + 1):
        for at in dict.fromkeys((expected + distance, expected - distance)):
            if at >= floor and lines[at : at + len(hunk.old)] == hunk.old and at <= len(lines):
                return at
    return None


def patch_lines(lines: list[str], patch: FilePatch, applied: Applied) -> list[str]:
    """Return the lines of one file after its hunks. Count the hunks in `applied`."""
    result: list[str] = []
    done = 0
    drift = 0
    for hunk in patch.hunks:
        # Without old lines the header names the line before the new ones.
        stated = hunk.old_start - 1 if hunk.anchored else hunk.old_start
        at = locate(lines, hunk, stated + drift, done)
        if at is None:
            where = f"{patch.old_path}: no match for the hunk at line {hunk.old_start}"
            applied.problem = applied.problem or where
            continue
        drift = at - stated
        applied.hunks += 1
        applied.offsets += bool(drift)
        result += lines[done:at] + hunk.new
        done = at + len(hunk.old)
    return result + lines[done:]


def apply(files: dict[str, str], patches: list[FilePatch]) -> Applied:
    """Apply the patches in order. `problem` is empty if every part applied."""
    applied = Applied(dict(files), total=sum(len(patch.hunks) for patch in patches))
    for patch in patches:
        problem = obstacle(applied.files, patch)
        if problem:
            applied.problem = applied.problem or problem
            continue
        before = applied.files.get(patch.old_path, "") if patch.old_path else ""
        after = "".join(patch_lines(split_lines(before), patch, applied))
        if patch.old_path is not None and patch.old_path != patch.new_path:
            del applied.files[patch.old_path]
        if patch.new_path is not None:
            applied.files[patch.new_path] = after
        elif after:
            applied.problem = applied.problem or f"{patch.old_path}: deleted, but lines are left"
    return applied


def obstacle(files: dict[str, str], patch: FilePatch) -> str:
    """Return why the patch cannot apply to these files, or an empty string."""
    old, new = patch.old_path, patch.new_path
    if old is not None and old not in files:
        return f"{old}: there is no such file"
    if new is None or new == old:
        return ""
    if new in files:
        return f"{new}: the file exists already"
    parents = {new[:at] for at, char in enumerate(new) if char == "/"}
    if parents & files.keys() or any(path.startswith(new + "/") for path in files):
        return f"{new}: a file and a directory would have the same name"
    return ""
