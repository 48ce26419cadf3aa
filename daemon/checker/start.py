# SPDX-License-Identifier: MIT
"""Starts the programs of a code_exec job: the judge, which knows the tests, and the candidate, which runs
the code. In the candidate's place a second program may follow it, which confirms a pass (plain.py).
daemon/jail/link.h says which descriptors they have.

This file is the first part of their code, up to a NUL (embed.py). An interpreter that waits in a jail runs
prepare() once; a program that is executed runs the end of this file. Either loads the modules, which were
compiled when the daemon was built; a Python of another version cannot read that and takes the source."""

import marshal
import os
import sys

CODE = 6  # the descriptor
# Modules of the checker; graded code finds neither these nor this file.
OURS = {"__main__"}


def load(code):
    parts = code.partition(b"\0")[2]
    magic = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER
    end = 8 + int.from_bytes(parts[4:8], "little")
    modules = marshal.loads(parts[8:end] if parts[:4] == magic else parts[end:])
    for name, text in modules.items():  # no module imports a later one
        module = sys.modules[name] = type(sys)(name)
        exec(text, vars(module))
    OURS.update(modules)


def prepare(code):
    """Loads the modules and hides them, with all that they have imported. Returns begin() for a fork of this
    process, which finds them again, and what either program begins with."""
    before = set(sys.modules)
    load(code)
    sys.modules["rehearsal"].rehearse()
    programs = sys.modules["judge"], sys.modules["candidate"]
    made = {"judge": programs[0].make_link(), "candidate": programs[1].make_server()}
    loaded = {name: sys.modules.pop(name) for name in set(sys.modules) - before}
    of_library = {name: module for name, module in loaded.items() if name not in OURS}

    def begin_again(role, names=()):
        sys.modules.update(loaded if role == "judge" else of_library)
        if role == "ahead":  # of the candidate and of what confirms, which begin with what was loaded
            return load_ahead(loaded["hidden"], names)
        begin(role, *programs, made.get(role))

    return begin_again


def load_ahead(hidden, names):
    """Loads modules of the library where the programs in the candidate's place find them. Returns what was loaded."""
    main = sys.modules.pop("__main__")
    try:
        return hidden.load(names)
    finally:
        sys.modules["__main__"] = main


def share_directory():
    """Puts temporary files where the other program sees them at the same path."""
    directory = os.getcwd() + "/tmp"
    try:
        os.mkdir(directory)
    except OSError:
        pass  # the other was first, or the disk is full
    os.environ["TMPDIR"] = directory


def begin(role, judge, candidate, made=None):
    if role == "judge":
        share_directory()
        sys.argv = [role]
        judge.main(made)
    for name in OURS & sys.modules.keys():
        del sys.modules[name]
    if role == "plain":
        candidate.confirm(share_directory)  # the judge empties the working directory before that
    share_directory()
    candidate.main(made)


if __name__ == "__main__":
    del sys.path[0]  # the working directory
    load(os.pread(CODE, os.fstat(CODE).st_size, 0))
    os.close(CODE)
    begin(sys.argv[1], sys.modules["judge"], sys.modules["candidate"])
