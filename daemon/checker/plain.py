# SPDX-License-Identifier: MIT
"""The plain confirmation: runs prelude, code and tests of a job once more in one process, as a script would
have them. What fails there does not pass. The process is started when all assertions have passed in
isolation and nothing of the code runs any more, so nothing that the code did before can tell it anything.
Its word turns a pass into a failure, and never the reverse. Code that attacks this process can forge it; it gains
the pass that isolation alone would give."""

import _ast
import marshal
import os
import sys
import time

import names
import own_builtins
import program
import suite

NAME = "candidate"  # __name__ of the code's module where there are two processes
ANSWER_MAX = 1024
JOB_MAX = 1 << 30
FRAMES = 6  # of Python between run() and a statement of the tests
PIPE_MAX = 1 << 20  # bytes that a pipe holds
STATUS_SIZE = 4
END_STATUS = 77  # LINK_PAIR_AGAIN: of a candidate that the judge has ended, and that another program follows
END_WAIT_SECONDS = 0.2
HELLO = b"\xff" * 4  # no message, and no length: a judge that has not asked for this process is lost
FAILS = "passes only in isolation"

__all__ = ("confirm", "run", "run_tests")


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
        do(exec, compiled(setup, "<test_setup>"), namespace)

    def check():
        do(exec, compiled(test, "<test>"), namespace)
        do(namespace["check"], namespace[entry_point])

    if test:
        yield suite.run(check, recorder)
    for number, target in enumerate(targets):
        yield suite.run(lambda: do(exec, compiled(target, f"<target {number}>"), namespace), recorder)


def _as_script(text):
    """Compiles the code as it is in a script, where `__name__` is `__main__`: code that looks at it elsewhere than
    in a main guard must not learn which of the two runs this is. Main guards run in neither."""
    tree = compile(text, f"<{NAME}>", "exec", _ast.PyCF_ONLY_AST, True)
    stack = [tree]
    while stack:
        node = stack.pop()
        if program.is_main_guard(node):
            node.test = _ast.Constant(False, lineno=node.lineno, col_offset=0, end_lineno=node.lineno, end_col_offset=0)
        if not isinstance(node, program.FUNCTIONS):
            stack += suite.children(node)
    return compile(tree, f"<{NAME}>", "exec", 0, True)


def _first_failure(program_text, job):
    """Returns the number of the first assertion that fails and why, or None."""
    module = sys.modules[NAME] = sys.modules[program.TESTS] = type(sys)(program.TESTS)
    namespace = vars(module)
    setup, test, targets, _ = job
    own = own_builtins.Builtins((setup or "", test or "", *targets))
    try:
        exec(_as_script(program_text), namespace)
    except Exception as error:
        return 0, suite.describe(error)
    try:
        for number, (passed, detail) in enumerate(run_tests(namespace, job, own.compiler(namespace))):
            if not passed:
                return number, detail
            name = own.changed()
            if name:
                return number, f"the code replaces the built-in {name}"
    except Exception as error:
        return 0, f"test_setup: {suite.describe(error)}"
    return None


def run(read_fd, write_fd, begin=lambda: None):
    """Waits for one job, calls BEGIN() and answers b"pass", or b"NUMBER DETAIL" of the first assertion that
    fails. Ends the process; also without a word, if the judge goes away or wants no confirmation."""
    try:
        os.write(write_fd, HELLO)
        job = _receive(read_fd, JOB_MAX)
        if job:
            os.close(read_fd)
            begin()
            program_text, seed, *rest = marshal.loads(job)
            own_builtins.quieten_compiler()
            suite.seed_random(program_text, seed)
            if "recursionlimit" not in f"{program_text}{rest}":  # as many levels as in a script
                sys.setrecursionlimit(sys.getrecursionlimit() + suite.frames() + FRAMES)
            failed = _first_failure(program_text, rest)
            answer = "pass" if failed is None else f"{failed[0]} {failed[1]}"
            _send(write_fd, answer.encode("utf-8", "replace")[:ANSWER_MAX])
    finally:
        os._exit(0)


def _send(fd, data):
    view = memoryview(len(data).to_bytes(4, "big") + data)
    while view:
        view = view[os.write(fd, view) :]


def _receive(fd, most, hello=None):
    """Reads one message of at most MOST bytes, behind HELLO if that comes first; b"" if there is none."""
    size = _read(fd, 4)
    size = int.from_bytes(_read(fd, 4) if size == hello else size, "big")
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


def _drop(fd):
    """Drops what is in the pipe."""
    os.set_blocking(fd, False)
    try:
        while os.read(fd, PIPE_MAX):
            pass
    except BlockingIOError:
        pass
    os.set_blocking(fd, True)


def exchange(fds, status_fd, data):
    """Has the process behind FDS (read end, write end; they stay the caller's) run the job DATA, after the
    candidate whose wait status comes over STATUS_FD. Nothing of that one lives then, and the process after it
    only says hello before it has a job: what is in the pipe is no answer. Returns the answer, b"" if there is none,
    and None if the twin is lost, which runs both: then nobody knows what the code would have done. A candidate that
    does not end as the judge has it end is followed by nothing: that is the code's doing.
    Waits as long as it takes: the job's deadline ends the judge, too."""
    read_fd, write_fd = fds
    try:
        status = _read(status_fd, STATUS_SIZE)
        if len(status) != STATUS_SIZE:
            return None
        if os.waitstatus_to_exitcode(int.from_bytes(status, sys.byteorder)) != END_STATUS:
            return b""
        _drop(read_fd)
        _send(write_fd, data)
        answer = _receive(read_fd, ANSWER_MAX, HELLO)
    except OSError:
        answer = b""
    return answer or _silence(status_fd)


def _silence(status_fd):
    """Finds out why there was no answer: b"" if that is the code's doing, None if the twin is lost, which then tells
    no status. Code that has closed the pipe may go on: it is not waited for."""
    os.set_blocking(status_fd, False)
    end = time.monotonic() + END_WAIT_SECONDS
    while time.monotonic() < end:
        try:
            return b"" if os.read(status_fd, STATUS_SIZE) else None
        except BlockingIOError:
            time.sleep(0.002)
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
