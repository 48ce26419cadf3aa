# SPDX-License-Identifier: MIT
"""The interpreter that duel.Referee starts. It imports nothing but the checker and what the interpreter has
anyway, so that a job finds the modules loaded that it finds in a jail.

    referee.py CHECKER      (reads jobs from stdin and writes what became of them, both with marshal)"""

import _signal
import marshal
import os
import select
import sys
import time

SECONDS = 30  # for a job that takes some ms, on a machine that has other work
STDERR_MAX = 4000


def plain(job):
    """Runs code and tests in one process; returns why it failed, "" if it did not."""
    module = sys.modules["__main__"] = sys.modules["candidate"] = type(sys)("__main__")
    try:
        for text in (job.get("prelude", ""), job["code"], job.get("test_setup", ""), *job["targets"]):
            exec(compile(text, "<job>", "exec", dont_inherit=True), vars(module))
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""


class Request:
    """What judge.Job reads from its input."""

    def __init__(self, job):
        self.shared, self.test = False, ""
        self.prelude, self.code, self.setup = job.get("prelude", ""), job["code"], job.get("test_setup", "")
        self.entry_point, self.targets = job.get("entry_point", ""), job["targets"]
        self.names = ()

    def count(self):
        return len(self.targets)


def isolated(job, report_fd):
    import judge

    report = judge.Report(report_fd)
    pid, link = judge.start_candidate(report_fd)
    if not judge.Checker(Request(job), link, report).run():
        report.verdict("error", judge.how_it_ended(pid, link))


def say(report_fd, verdict, detail):
    import judge

    judge.Report(report_fd).verdict(verdict, detail)


def child(job, report_fd):
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.argv = ["judge"]
    sys.stdin = open(0, closefd=False)
    sys.stdout = open(1, "w", closefd=False)
    try:
        if job["how"] == "plain":
            detail = plain(job)
            say(report_fd, "fail" if detail else "pass", detail)
        else:
            isolated(job, report_fd)
        sys.stdout.flush()
    except BaseException as error:
        __import__("traceback").print_exc()
        say(report_fd, "crashed", f"{error!r}")
    os._exit(0)


def gather(fds, end):
    """Reads pipes until the first of them ends, or until END; returns what they had, and whether it did."""
    found = {fd: b"" for fd in fds}
    while time.monotonic() < end:
        for fd in select.select(found, (), (), max(0, end - time.monotonic()))[0]:
            data = os.read(fd, 1 << 16)
            found[fd] += data
            if not data and fd == fds[0]:
                return list(found.values()), True
    return list(found.values()), False


def referee(job):
    report, report_write = os.pipe()
    errors, errors_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(errors_write, 2)
        for fd in (report, errors, errors_write):
            os.close(fd)
        child(job, report_write)
    os.close(report_write)
    os.close(errors_write)
    # The report ends with the judge and what it has started; the verdict is its last line.
    (told, stderr), has_ended = gather([report, errors], time.monotonic() + job.get("seconds", SECONDS))
    os.killpg(pid, _signal.SIGKILL)
    stderr += gather([errors], time.monotonic() + 1)[0][0]
    os.waitpid(pid, 0)
    os.close(report)
    os.close(errors)
    return {"report": told if has_ended else None, "stderr": stderr[-STDERR_MAX:].decode("utf-8", "replace")}


def main():
    sys.path[0] = sys.argv[1]
    import judge

    assert judge
    while True:
        try:
            job = marshal.load(sys.stdin.buffer)
        except EOFError:
            return
        marshal.dump(referee(job), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
