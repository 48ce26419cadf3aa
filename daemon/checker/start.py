# SPDX-License-Identifier: MIT
"""Starts the programs of a code_exec job: the judge, which knows the tests, and the candidate, which runs
the code. In the candidate's place a second program may follow it, which confirms a pass (plain.py).
daemon/jail/link.h says which descriptors they have.

This file is the first part of their code, up to a NUL (embed.py). An interpreter that waits in a jail runs
prepare() and what that returns once; a program that is executed runs the end of this file. Either loads the modules, which were
compiled when the daemon was built; a Python of another version cannot read that and takes the source."""

import gc
import marshal
import os
import sys

CODE = 6  # the descriptor
# Modules of the checker; graded code finds neither these nor this file.
OURS = {"__main__"}


# Modules of which most jobs run next to nothing. An interpreter that waits keeps their code where forks do not get
# large pages of their own for it (daemon/jail/large.h): a fork pays for each of those.
SELDOM = frozenset("""addresses alarms aliases asynchronous blame bulk callbacks children class_names endings exits extract floor
formats garbage gates instance_dict library numpy_values operators pickles plain plain_methods rehearsal restricted rests
signatures sinks stand_ins tasks texts transcript trusted turns unheard unittests unreached values walks
watch""".split())  # fmt: skip


def read(code):
    """Returns the modules in CODE by name, and what makes something to be executed of one."""
    parts = code.partition(b"\0")[2]
    magic = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER
    end = 8 + int.from_bytes(parts[4:8], "little")
    if parts[:4] == magic:
        return marshal.loads(parts[8:end]), marshal.loads
    return marshal.loads(parts[end:]), bytes


def load(modules, text_of, made=()):
    """Executes the modules. MADE has what some of them have been made to."""
    for name, data in modules.items():  # no module imports a later one
        module = sys.modules[name] = type(sys)(name)
        exec(made[name] if name in made else text_of(data), vars(module))
    OURS.update(modules)


def prepare(code):
    """Reads the modules, of some of which it makes code here. Returns finish(), which makes the others and goes on."""
    modules, text_of = read(code)
    made = {name: text_of(data) for name, data in modules.items() if name in SELDOM}
    return lambda: finish(modules, text_of, made)


def finish(modules, text_of, made):
    """Loads the modules and hides them, with all that they have imported. Returns begin() for a fork of this
    process, which finds them again, and what either program begins with."""
    before = set(sys.modules)
    load(modules, text_of, made)
    gc.freeze()  # what the rehearsals leave is then found without a look at all of this
    sys.modules["rehearsal"].rehearse()
    programs = sys.modules["judge"], sys.modules["candidate"]
    made = {"judge": programs[0].make_link(), "candidate": programs[1].make_server()}
    loaded = {name: sys.modules.pop(name) for name in set(sys.modules) - before}
    of_library = {name: module for name, module in loaded.items() if name not in OURS}

    def begin_again(role):
        sys.modules.update(loaded if role == "judge" else of_library)
        begin(role, *programs, made.get(role))

    return begin_again


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
    load(*read(os.pread(CODE, os.fstat(CODE).st_size, 0)))
    os.close(CODE)
    begin(sys.argv[1], sys.modules["judge"], sys.modules["candidate"])
