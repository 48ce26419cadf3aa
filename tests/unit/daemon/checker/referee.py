# SPDX-License-Identifier: MIT
"""The interpreter that duel.Referee starts. It imports nothing but the checker and what the interpreter has
anyway, so that a job finds the modules loaded that it finds in a jail.

    referee.py CHECKER      (reads jobs from stdin and writes what became of them, both with marshal)

Start it in an empty directory, in which the jobs run."""

import _signal
import contextlib
import marshal
import os
import select
import sys
import time

SECONDS = 30  # for a job that takes some ms, on a machine that has other work
STDERR_MAX = 4000
REPORT = 40  # a descriptor above those of a pair
AGAIN = 77  # LINK_PAIR_AGAIN of daemon/jail/link.h


def plain(job):
    """Runs code and tests in one process; returns why it failed, "" if it did not."""
    module = sys.modules["__main__"] = sys.modules["candidate"] = type(sys)("__main__")
    try:
        for text in (job.get("prelude", ""), job["code"], job.get("test_setup", ""), *job["targets"]):
            exec(compile(text, "<job>", "exec", dont_inherit=True), vars(module))
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""


def request(job):
    """Returns the job as the judge reads it from its input."""
    import judge

    parts = [("mode", "isolated"), ("code", job["code"])]
    names = {"prelude": "prelude", "entry_point": "entry_point", "test_setup": "setup", "test": "test", "replay": "replay"}
    parts += [(part, job[field]) for field, part in names.items() if job.get(field) is not None]
    parts += [("transcript", "")] if job.get("how") == "record" else []
    parts += [("name", name) for name in job.get("names", ())]
    parts += [("target", target) for target in job["targets"]]
    out = b""
    for name, value in parts:
        data = value if isinstance(value, bytes) else value.encode()
        out += b"%s %d\n%s" % (name.encode(), len(data), data)
    return judge.Job(out)


def start_candidate():
    """Starts a candidate that shares the descriptors of a pair with this process, as a jail would. Returns the
    pid of what stands for the jail."""
    import judge

    ends = [os.dup2(end, 20 + n, inheritable=False) for n, end in enumerate((*os.pipe(), *os.pipe(), *os.pipe()))]
    questions, questions_write, answers, answers_write, status, status_write = ends
    pid = os.fork()
    if pid == 0:
        for end in (*range(3, questions), questions_write, answers, status):
            with contextlib.suppress(OSError):
                os.close(end)
        for program in ("main", "confirm"):
            child = os.fork()
            if child == 0:
                run_candidate(program, questions, answers_write)
            wait_status = os.waitpid(child, 0)[1]
            is_last = program == "confirm" or os.waitstatus_to_exitcode(wait_status) != AGAIN
            if not is_last:
                empty(os.getcwd())
                drop(questions)
            else:
                os.close(questions)
                os.close(answers_write)
            with contextlib.suppress(BrokenPipeError):  # the judge has ended
                os.write(status_write, wait_status.to_bytes(4, sys.byteorder))
            if is_last:
                os._exit(0)
    for end, number in ((answers, judge.WIRE_READ), (questions_write, judge.WIRE_WRITE), (status, judge.STATUS)):
        os.dup2(end, number, inheritable=False)
    os.closerange(6, status_write + 1)
    return pid


def run_candidate(program, read_fd, write_fd):
    """Runs the code of a job ("main"), or confirms a pass ("confirm")."""
    import candidate

    os.dup2(read_fd, candidate.WIRE_READ)
    os.dup2(write_fd, candidate.WIRE_WRITE)
    os.closerange(5, 64)
    os.dup2(2, 1)
    for name in [name for name in sys.modules if os.path.exists(f"{sys.path[0]}/{name}.py")]:
        sys.modules.pop(name)
    del sys.path[0]  # of the checker
    if program == "confirm":
        candidate.confirm(make_tmp)
    candidate.main()


def isolated(job):
    """Judges a job, records it, or replays the transcript in it."""
    import judge

    start_candidate()  # of a replay, too
    asked = request(job)
    link, report = judge.begin(asked, judge.Report(REPORT))
    if not judge.judge(asked, link, report):
        report.verdict("error", "" if asked.replay is not None else judge.how_it_ended(link))


def say(verdict, detail):
    import judge

    judge.Report(REPORT).verdict(verdict, detail)


def child(job, report_fd):
    os.setsid()
    os.dup2(report_fd, REPORT)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.argv = ["judge"]
    sys.stdin = open(0, closefd=False)
    sys.stdout = open(1, "w", closefd=False)
    try:
        if job["how"] == "plain":
            detail = plain(job)
            say("fail" if detail else "pass", detail)
        else:
            isolated(job)
        sys.stdout.flush()
    except BaseException as error:
        __import__("traceback").print_exc()
        say("crashed", f"{error!r}")
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
    clear()
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


def clear():
    """Makes the working directory what it is for a job in a jail."""
    empty(os.getcwd())
    make_tmp()


def empty(path):
    """Removes what a program has left in the directory PATH."""
    os.chmod(path, 0o700)
    for entry in list(os.scandir(path)):
        if entry.is_dir(follow_symlinks=False):
            empty(entry.path)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)


def drop(fd):
    """Drops what is in a pipe."""
    os.set_blocking(fd, False)
    with contextlib.suppress(BlockingIOError):
        while os.read(fd, 1 << 16):
            pass
    os.set_blocking(fd, True)


def make_tmp():
    os.makedirs("tmp", exist_ok=True)
    os.environ["TMPDIR"] = os.path.join(os.getcwd(), "tmp")


def main():
    if os.listdir():
        sys.exit("the working directory has to be empty: the judge empties it")
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
