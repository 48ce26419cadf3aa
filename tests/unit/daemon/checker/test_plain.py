# SPDX-License-Identifier: MIT
"""The plain confirmation: what one process says about a job, and what the judge makes of its words."""

import fcntl
import os
import sys

import pytest
from jobs import Job, plain


class Ends:
    """What stands for a link: its descriptors."""

    def __init__(self, status_fd, *fds):
        self.status_fd, self.fds = status_fd, fds

    def confirm(self, data):
        answer = plain.exchange(self.fds, self.status_fd, data)
        if answer is None:
            raise Lost
        return answer


class Lost(Exception):
    """The twin is."""


def told(exit_code):
    """Returns a wait status as the twin tells it."""
    return (exit_code << 8).to_bytes(4, sys.byteorder)


ENDED = told(77)  # LINK_PAIR_AGAIN: the candidate has ended because the judge had it end


def be_twin(run, status_write, *fds):
    """Runs the process, and tells how it has ended."""
    pid = os.fork()
    if pid == 0:
        os.close(status_write)
        sys.stdout = sys.stderr = open(os.devnull, "w")
        run(*fds)
    for fd in fds:
        os.close(fd)
    os.write(status_write, os.waitpid(pid, 0)[1].to_bytes(4, sys.byteorder))
    os._exit(0)


def confirmed(job, run=plain.run, left=b"", in_packets=False, twin=be_twin, status=ENDED):
    """Runs JOB in a process of its own, as the judge does; another, whose wait STATUS the twin has told, has LEFT
    some bytes on the wire, IN_PACKETS of which each read takes one."""
    status_read, status_write = os.pipe()
    job_read, job_write = os.pipe()
    answer_read, answer_write = os.pipe()
    flags = fcntl.fcntl(answer_write, fcntl.F_GETFL)
    fcntl.fcntl(answer_write, fcntl.F_SETFL, flags | (os.O_DIRECT if in_packets else 0))
    os.write(answer_write, left)
    fcntl.fcntl(answer_write, fcntl.F_SETFL, flags)  # as the twin does
    os.write(status_write, status)
    pid = os.fork()
    if pid == 0:
        os.close(job_write)
        os.close(answer_read)
        twin(run, status_write, job_read, answer_write)
    os.close(job_read)
    os.close(answer_write)
    os.close(status_write)
    try:
        return plain.confirm(job, Ends(status_read, answer_read, job_write), 1)
    finally:
        os.close(status_read)
        os.close(job_write)
        os.close(answer_read)
        os.waitpid(pid, 0)


PASSING = {
    "targets": Job("def f(x): return x", "y = 1", "assert f(y) == 1"),
    "check()": Job("    return x", prelude="def f(x):\n", test="def check(c): assert c(1) == 1", entry_point="f"),
    "a setup": Job("def f(x): return x", "assert f(Y) == 1", setup="Y = 1"),
    "code that hears warnings": Job(
        "import warnings\nHEARD = []\nwarnings.showwarning = lambda *a, **k: HEARD.append(a)", "assert len(HEARD) == 0"),
    "names of the modules": Job("if __name__ == '__main__': raise ValueError", "assert __name__ == '__main__'"),
    "main guards that go on": Job("if True:\n    if '__main__' == __name__ and f(): raise ValueError\n"
                                  "    if __name__ == '__main__' and f(): raise ValueError\n    else: x = 1", "assert x == 1"),
    "errors made of warnings": Job("def f(x): return x", "import warnings\nwarnings.simplefilter('error')", "assert type(f(1)) is int"),
    "import __main__": Job("x = 1", "import __main__\nassert __main__.x == 1"),
    "shared": Job("LIMIT = 1\ndef f(): return LIMIT", "LIMIT = 7\nassert f() == 7"),
    "an exit with 0": Job("def f(x): return x", "import unittest\nclass T(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(1), 1)\n"
                          "if __name__ == '__main__': unittest.main(argv=['x'])"),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSING)
def test_confirmed(name):
    assert confirmed(PASSING[name]) == (True, "", 0)


FAILING = {
    "a built-in name that the code replaces": (
        Job("def f(x): __builtins__.update(isinstance=print) if type(__builtins__) is dict else vars(__builtins__).update(isinstance=print)",
            "f(1)"), 0, "passes only in isolation: target 0: the code replaces the built-in isinstance"),
    "a shared default": (
        Job("def f(x, l=[]):\n    l.append(x)\n    return l", "a = f(1)", "f(2)\nassert a == [1]"),
        1, "passes only in isolation: target 1: assertion failed"),
    "check()": (Job("def f(x): return x", test="def check(c): assert c(1) == 2, 'no'", entry_point="f"),
                0, "passes only in isolation: the test: no"),
    "the code": (Job("1 / 0", "assert True"), 0, "ZeroDivisionError"),
    "a look at its name": (Job("ALONE = __name__ != '__main__'\ndef f(x): return ALONE", "assert f(1)"),
                           0, "assertion failed"),
    "a later look at its name": (Job("def f(x): return __name__ != '__main__'", "assert f(1)"), 0, "assertion failed"),
    "the setup": (Job("x = 1", "assert True", setup="1 / 0"), 0, "test_setup: ZeroDivisionError"),
    "an exit": (Job("def f(): raise SystemExit(3)", "f()"), 0, "SystemExit: 3"),
    "an exit of its own": (Job("import os\nos._exit(0)", "assert True"), 0, "the process ended"),
    "an interrupt": (Job("raise KeyboardInterrupt", "assert True"), 0, "the process ended"),
    "a long text": (Job("def f(): raise ValueError('x' * 10**6)", "f()"), 0, "ValueError: xxx"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILING)
def test_not_confirmed(name):
    job, number, detail = FAILING[name]
    passed, said, failed = confirmed(job)
    assert (passed, failed) == (False, number)
    assert detail in said and len(said) < 2 * plain.ANSWER_MAX


def lose_twin(run, status_write, job_read, answer_write):
    """The twin dies while the process runs, and that with it."""
    plain._receive(job_read, plain.JOB_MAX)
    os._exit(0)


def close_pipe(job_read, answer_write):
    """Code that has closed the pipe runs on, as long as it may."""
    plain._receive(job_read, plain.JOB_MAX)
    os.close(answer_write)
    os.read(job_read, 1)  # until the judge hangs up
    os._exit(0)


def test_a_lost_twin_is_no_failure_of_the_code():
    job = Job("x = 1", "assert x")
    with pytest.raises(Lost):
        confirmed(job, twin=lose_twin)
    with pytest.raises(Lost):
        confirmed(job, twin=lambda *_: os._exit(0), status=b"")
    assert confirmed(job, close_pipe) == (False, f"{plain.FAILS}: the process ended", 0)


@pytest.mark.parametrize("status", [told(0), told(3), b"\t\0\0\0" if sys.byteorder == "little" else b"\0\0\0\t"], ids=["0", "3", "killed"])
def test_a_candidate_that_ends_otherwise_is_no_lost_twin(status):
    """No program follows it, and no status: the twin has hung up."""

    def hang_up(_run, status_write, *fds):
        for fd in (status_write, *fds):
            os.close(fd)
        os._exit(0)

    assert confirmed(Job("x = 1", "assert x"), twin=hang_up, status=status) == (False, f"{plain.FAILS}: the process ended", 0)


@pytest.mark.parametrize(
    "answer",
    [b"", b"pass", b"\0\0\0\0", b"\0\0\0\5passs", b"\0\0\0\4PASS", b"\xff\xff\xff\xff", b"\0\0\0\7-1 nope", b"\0\0\0\3999",
     b"\0\0\0\4\xff\xfe\xfd\xfc", b"\0\0\0\4\xd9\xa1 x", b"\0\0\0\2pa"],
)  # fmt: skip
def test_what_the_process_says_is_only_an_answer(answer):
    def forge(job_read, answer_write):
        plain._receive(job_read, plain.JOB_MAX)
        os.write(answer_write, answer)
        os._exit(0)

    assert confirmed(Job("x = 1", "assert x"), forge)[::2] == (False, 0)


FORGED = b"\0\0\0\4pass"
FAILS, PASSES = Job("x = 1", "assert x == 2"), Job("x = 1", "assert x == 1")


@pytest.mark.parametrize("left", [FORGED, FORGED * 2, plain.HELLO, plain.HELLO + FORGED, b"x" * 60000])
def test_what_the_candidate_left_is_no_answer(left):
    assert confirmed(FAILS, left=left)[0] is False
    assert confirmed(FAILS, left=left, in_packets=True)[0] is False
    assert confirmed(PASSES, left=left)[0] is True


def test_it_waits_until_the_candidate_is_gone():
    status_read, status_write = os.pipe()
    answer_read, answer_write = os.pipe()
    os.write(answer_write, FORGED)
    os.close(status_write)  # it was lost
    try:
        with pytest.raises(Lost):
            plain.confirm(FAILS, Ends(status_read, answer_read, answer_write), 1)
    finally:
        for fd in (status_read, answer_read, answer_write):
            os.close(fd)


def test_without_a_job_it_ends_in_silence():
    def gone(job_read, answer_write):
        os.close(job_read)
        os._exit(0)

    assert confirmed(Job("x = 1", "assert x"), gone) == (False, "passes only in isolation: the process ended", 0)


def test_a_job_has_one_form_for_transcripts():
    """Whether two texts are one object does not show in what the process is sent."""
    sent = []
    link = type("", (), {"confirm": staticmethod(lambda data: sent.append(data) or b"pass")})
    text = "assert f(1) == 1"
    for other in (text, "".join(list(text))):
        assert plain.confirm(Job("def f(x): return x", text, other), link, 1) == (True, "", 0)
    assert sent[0] == sent[1]
