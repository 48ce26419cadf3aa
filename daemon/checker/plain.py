# SPDX-License-Identifier: MIT
"""The plain confirmation: runs prelude, code and tests of a job once more in one process, as a script would
have them. What fails there does not pass. The process is started when all assertions have passed in
isolation and nothing of the code runs any more, so nothing that the code did before can tell it anything.
Its word turns a pass into a failure, and never the reverse: the code can forge it and gains nothing."""

import marshal
import os
import sys

import names
import program
import simple
import suite
from simple import Crossings  # for the wire

NAME = "candidate"  # __name__ of the code's module; see __main__ of the tests
ANSWER_MAX = 1024
JOB_MAX = 1 << 30
PIPE_MAX = 1 << 20  # bytes that a pipe holds
STATUS_SIZE = 4
READY = b"plain"
FAILS = "passes only in isolation"

__all__ = ("Crossings", "confirm", "needs_confirmation", "run", "run_tests")


# --- in the process of the code --------------------------------------------------------------------


def _now(function, *arguments):
    return function(*arguments)


def run_tests(namespace, job, compiled=suite.compile_plain, recorder=None, do=_now):
    """Runs the tests of a job in the NAMESPACE of the code; COMPILED(text, name) makes code of them. Yields
    (passed, detail) for each assertion. JOB is (setup, test, targets, entry_point). DO(function, arguments...)
    calls what is of the tests."""
    setup, test, targets, entry_point = job
    recorder = recorder or suite.Recorder()
    if setup:
        do(exec, compile(setup, "<test_setup>", "exec", dont_inherit=True), namespace)

    def check():
        do(exec, compiled(test, "<test>"), namespace)
        do(namespace["check"], namespace[entry_point])

    if test:
        yield suite.run(check, recorder)
    for number, target in enumerate(targets):
        yield suite.run(lambda: do(exec, compiled(target, f"<target {number}>"), namespace), recorder)


def _first_failure(program_text, job):
    """Returns the number of the first assertion that fails and why, or None."""
    module = sys.modules[NAME] = sys.modules[program.TESTS] = type(sys)(NAME)
    namespace = vars(module)
    try:
        exec(compile(program_text, f"<{NAME}>", "exec", dont_inherit=True), namespace)
    except Exception as error:
        return 0, suite.describe(error)
    namespace["__name__"] = program.TESTS
    try:
        for number, (passed, detail) in enumerate(run_tests(namespace, job)):
            if not passed:
                return number, detail
    except Exception as error:
        return 0, f"test_setup: {suite.describe(error)}"
    return None


def run(read_fd, write_fd, begin=lambda: None):
    """Waits for one job, calls BEGIN() and answers b"pass", or b"NUMBER DETAIL" of the first assertion that
    fails. Ends the process; also without a word, if the judge goes away or wants no confirmation."""
    try:
        os.write(write_fd, READY)  # the candidate reads no more
        job = _receive(read_fd, JOB_MAX)
        if job:
            os.close(read_fd)
            begin()
            program_text, seed, *rest = marshal.loads(job)
            suite.seed_random(program_text, seed)
            failed = _first_failure(program_text, rest)
            answer = "pass" if failed is None else f"{failed[0]} {failed[1]}"
            _send(write_fd, answer.encode("utf-8", "replace")[:ANSWER_MAX])
    finally:
        os._exit(0)


def _send(fd, data):
    view = memoryview(len(data).to_bytes(4, "big") + data)
    while view:
        view = view[os.write(fd, view) :]


def _receive(fd, most):
    size = int.from_bytes(_read(fd, 4), "big")
    return _read(fd, size) if 0 < size <= most else b""


def _read(fd, size):
    parts, left = [], size
    while left > 0:
        part = os.read(fd, min(left, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


# --- in the judge ----------------------------------------------------------------------------------


def needs_confirmation(code_tree, job, crossings, under_test=(), code_text=None):
    """Returns why a pass of JOB must be confirmed, or "". CODE_TREE is the tree of prelude and code
    together, whose text is CODE_TEXT, CROSSINGS what the wire has noted."""
    if crossings.why:
        return crossings.why
    if code_text is None:
        code_text = program.compose(job.prelude, job.code, names.asked_of(job))[0]
    return simple.why_not(code_tree, code_text, job, under_test)


def _is_ready(read_fd, status_fd):
    """Waits until the process is there. Once the status of the candidate before it has come, nothing of that
    one lives; whatever it has left in the pipe is dropped."""
    if len(_read(status_fd, STATUS_SIZE)) != STATUS_SIZE:
        return False
    data = b""
    while not data.endswith(READY):
        data = os.read(read_fd, PIPE_MAX)
        if not data:
            return False
    return True


def exchange(fds, status_fd, data):
    """Has the process behind FDS (read end, write end; they stay the caller's) run the job DATA, after the
    candidate whose wait status comes over STATUS_FD. Returns its answer, b"" if there is none. Waits as long as
    it takes: the job's deadline ends the judge, too."""
    try:
        if _is_ready(fds[0], status_fd):
            _send(fds[1], data)
            return _receive(fds[0], ANSWER_MAX)
        return b""
    except OSError:
        return b""


def confirm(job, link, seed):
    """Has LINK run JOB in one process. Returns (True, "", 0), or (False, reason, number of the first assertion
    that fails)."""
    text = program.compose(job.prelude, job.code, names.asked_of(job))[0]
    # Version 2 of the format, since later ones depend on reference counts.
    data = marshal.dumps((text, seed, job.setup, job.test, job.targets, job.entry_point), 2)
    answer = link.confirm(data)
    if answer == b"pass":
        return True, "", 0
    number, _, detail = str(answer, "utf-8", "replace").partition(" ")
    is_number = number.isascii() and number.isdigit() and len(number) < 6 and int(number) < job.count()
    if not is_number:
        return False, f"{FAILS}: the process ended", 0
    return False, f"{FAILS}: {'the test' if job.test else f'target {number}'}: {detail}", int(number)



def empty(path):
    """Removes what the isolated run has left in the directory PATH: a script would find none of it."""
    try:
        os.chmod(path, 0o700)
        entries = list(os.scandir(path))
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                empty(entry.path)
                os.rmdir(entry.path)
            else:
                os.unlink(entry.path)
        except OSError:
            pass
