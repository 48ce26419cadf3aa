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

    settled = []

    def begin_again(role, seat=None):
        if role == "judge":
            sys.modules.update(loaded)
        elif settled:
            settled[0]()
            return candidate_begins(role, programs[1], made.get(role), True)
        else:
            sys.modules.update(of_library)
        begin(role, *programs, made.get(role), seat)

    def settle(working):
        """Does once, in a process whose forks all become candidates in the directory WORKING, what is the same for
        each."""
        sys.modules.update(of_library)
        name_directory(working)
        sys.argv = [programs[1].NAME]
        settled.append(spare_threading())

    begin_again.settle = settle
    return begin_again


def spare_threading():
    """Has the module threading do no more in a fork than it needs to if its process had one thread. Returns what a
    fork calls so that forks of its own are as ever."""
    threading = sys.modules.get("threading")
    if threading is None:
        return lambda: None
    function, usual = threading._after_fork, threading._after_fork.__code__

    def spare():
        _main_thread._native_id = get_native_id()  # noqa: F821  names of threading

    def restore():
        function.__code__ = usual

    function.__code__ = spare.__code__
    return restore


def name_directory(working):
    """Has temporary files go where the other program sees them at the same path. Returns that directory."""
    directory = os.environ["TMPDIR"] = working + "/tmp"
    return directory


def share_directory():
    try:
        os.mkdir(name_directory(os.getcwd()))
    except OSError:
        pass  # the other was first, or the disk is full


def begin(role, judge, candidate, made=None, seat=None):
    if role == "judge":
        share_directory()
        sys.argv = [role]
        judge.main(made, seat)
    for name in OURS & sys.modules.keys():
        del sys.modules[name]
    candidate_begins(role, candidate, made, False)


def candidate_begins(role, candidate, made, is_settled):
    if role == "plain":
        candidate.confirm(share_directory)  # the judge empties the working directory before that
    if is_settled:  # daemon/jail/warm.c has made the directory
        candidate.run(made)
    share_directory()
    candidate.main(made)


if __name__ == "__main__":
    del sys.path[0]  # the working directory
    load(os.pread(CODE, os.fstat(CODE).st_size, 0))
    os.close(CODE)
    begin(sys.argv[1], sys.modules["judge"], sys.modules["candidate"])
