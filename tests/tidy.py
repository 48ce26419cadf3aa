#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over the sources, several at a time, and remembers which ones it found clean.

    tidy.py BUILD [--jobs=N]

BUILD is a build directory: its compile commands say how to read each file, and ninja's records say which
headers a file includes. The script checks a file again if its text, the text of an included header
(system headers too), its compile command, .clang-tidy or the version of clang-tidy has changed. Like a
compiler cache it remembers the clean files of every checkout of an account, in $XDG_CACHE_HOME/rubricd-tidy
(~/.cache/rubricd-tidy), and forgets those that no run has met for a month. It skips tests. Prints clang-tidy's
warnings and the number of files; exits with 1 if there is a warning."""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRA = ("--extra-arg=-UNDEBUG", "--extra-arg=-Wno-unknown-warning-option")
FOLDERS = ("proto", "rubricdir", "conf", "daemon", "client", "packaging")
FORGET_S = 30 * 24 * 3600


def output_of(*command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **kwargs).stdout


@functools.lru_cache(maxsize=None)
def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def compiled(build):
    """Returns {source: its entry in the compile commands} of each source in FOLDERS. Some are compiled for
    several programs, with the same macros: clang-tidy reads them as they are compiled in their folder."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        if source.is_relative_to(ROOT) and source.relative_to(ROOT).parts[0] in FOLDERS:
            folder = source.relative_to(ROOT).parts[0]
            if source not in found or entry["output"].startswith(f"{folder}/"):
                found[source] = entry
    return found


def dependencies(build):
    """Returns {object: the files it was built from} of objects that ninja knows to be up to date."""
    found, current = {}, None
    for line in output_of("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line.startswith("    ") and current is not None:
            current.append((build / line.strip()).resolve())
        elif line.endswith("(VALID)"):
            current = found.setdefault(line.split(": #deps")[0], [])
        else:
            current = None
    return found


def key_of(source, entry, made_of, common, root=ROOT):
    """Returns a key over everything that the verdict on SOURCE depends on, or None if that is unknown. It is
    the same in every checkout: paths below ROOT count without it."""
    files = made_of.get(entry["output"])
    if not files or source not in files:
        return None
    key = hashlib.sha256(common.encode())
    key.update(entry["command"].replace(str(root), "").encode())
    for file in sorted(files):
        place = file.relative_to(root) if file.is_relative_to(root) else file
        key.update(f"\0{place}\0{digest_of(file)}".encode())
    return key.hexdigest()


def memory():
    """Returns the directory that has a file for each key of a clean source, without those of long ago."""
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rubricd-tidy"
    place.mkdir(parents=True, exist_ok=True)
    for file in place.iterdir():
        if file.stat().st_mtime < time.time() - FORGET_S:
            file.unlink(missing_ok=True)
    return place


def judge(commands, source):
    """Runs clang-tidy on SOURCE. It reads a file once for each of its entries in the folder COMMANDS."""
    # Assertions tell the analyzer what cannot be: keep them, whatever the build does. Some of gcc's warnings
    # clang does not know.
    done = subprocess.run(
        ["clang-tidy", "--quiet", *EXTRA, "-p", str(commands), str(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    # Standard error only counts suppressed warnings of system headers. Use it if there is no other text.
    return done.returncode, done.stdout or (done.stderr if done.returncode else "")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    build = options.build.resolve()
    commands, clean = build / "tidy", memory()
    commands.mkdir(exist_ok=True)
    common = output_of("clang-tidy", "--version") + digest_of(ROOT / ".clang-tidy")
    made_of, sources = dependencies(build), compiled(build)
    (commands / "compile_commands.json").write_text(json.dumps(list(sources.values())))
    keys = {source: key_of(source, entry, made_of, common) for source, entry in sources.items()}
    known = {source for source, key in keys.items() if key and (clean / key).exists()}
    for source in known:
        (clean / keys[source]).touch()
    # Start with the largest, so that no large file runs alone at the end.
    due = sorted(set(sources) - known, key=lambda source: -source.stat().st_size)
    status = 0 if sources else 1
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for source, (failed, text) in zip(due, pool.map(functools.partial(judge, commands), due)):
            print(text, end="", flush=True)
            if failed:
                status = 1
                print(f"{source.relative_to(ROOT)}: clang-tidy ended with {failed}")
            elif keys[source]:
                (clean / keys[source]).touch()
    print(f"{len(sources)} files, {len(known)} of them judged before")
    return status


if __name__ == "__main__":
    sys.exit(main())
