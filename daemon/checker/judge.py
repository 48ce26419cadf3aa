# SPDX-License-Identifier: MIT
"""Judges model-written code: reads the job from stdin, writes a code_exec report to stdout, one JSON
object a line.

The room daemon/checker. Duty: run model-written code against assertions so that the code cannot decide its
own verdict. It runs inside a jail and includes nothing of the daemon; candidate.py and the modules that
both processes share import each other only in the order of daemon/meson.build. Invariants:

- The checker never believes the candidate: whatever arrives is checked (wire.py) and never executed.
- The candidate never sees the tests, only the calls that they make (in mode `shared` it does, and its
  verdict can be forged). It never gets an object of the checker that could read files, run text or look
  into others.
- A verdict exists only if the last line of the report says so.

names.py decides whose a name is that the tests use. What passes is confirmed in a third process, in which
tests and code share everything (plain.py), unless simple.py shows that it cannot differ there.

There are two processes. This one, the checker, knows the tests and writes the report. It forks its child,
the candidate, before it reads any of the job: the candidate receives nothing of the job but the code, and
shares a pair of pipes with the checker and nothing else. Both have the same identity, but the checker is
not dumpable, so the kernel refuses the candidate ptrace and everything in /proc/PID.

Standard input is a list of parts, each "NAME LENGTH\\n" and that many bytes: mode (isolated, shared),
code, prelude, entry_point, setup, test, one name for each further name under test, and one target for
each assertion.

The report has {"passed": true} or {"passed": false, "detail": "..."} for each assertion as soon as it is
known, {"revised": NUMBER, "detail": "..."} if a passed one counts as failed after all, and
{"verdict": "...", "detail": "..."} at the end; without that line there is no verdict. A checker
that cannot protect itself writes {"broken": "..."} and nothing else."""

import _ctypes
import _signal
import builtins
import os
import sys
import time

import candidate
import classes
import names
import plain
import program
import proxies
import simple
import suite
import wire

MODULES = ("wire", "classes", "suite", "program", "names", "simple", "plain", "aliases", "proxies", "candidate",
           "judge", "__main__")  # fmt: skip
DETAILS_MAX = 64  # maximum number of failed assertions that the report explains
PR_SET_DUMPABLE = 4
END_WAIT_SECONDS = 0.2


class _Int(_ctypes._SimpleCData):
    _type_ = "i"


class _Function(_ctypes.CFuncPtr):
    _flags_ = 1  # FUNCFLAG_CDECL
    _restype_ = _Int


def set_dumpable(value):
    """Calls prctl() as ctypes would, without the cost of importing ctypes."""
    prctl = _Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl"))
    if prctl(PR_SET_DUMPABLE, value, 0, 0, 0) != 0:
        raise OSError("prctl(PR_SET_DUMPABLE) is refused")


def quote(text):
    out = []
    for c in text:
        n = ord(c)
        if c in '"\\':
            out.append("\\" + c)
        elif 32 <= n < 127:
            out.append(c)
        elif n > 0xFFFF:
            n -= 0x10000
            out.append(f"\\u{0xD800 + (n >> 10):04x}\\u{0xDC00 + (n & 0x3FF):04x}")
        else:
            out.append(f"\\u{0xFFFD if 0xD800 <= n < 0xE000 else n:04x}")
    return '"' + "".join(out) + '"'


class Job:
    def __init__(self, data):
        self.targets = []
        names_given = []
        parts = {}
        at = 0
        while at < len(data):
            end = data.index(b"\n", at)
            name, length = data[at:end].split(b" ")
            at = end + 1 + int(length)
            text = str(data[end + 1 : at], "utf-8")
            if name == b"target":
                self.targets.append(text)
            elif name == b"name":
                names_given.append(text)
            else:
                parts[str(name, "ascii")] = text
        self.code = parts["code"]
        self.shared = parts["mode"] == "shared"
        self.prelude = parts.get("prelude", "")
        self.entry_point = parts.get("entry_point", "")
        self.names = names_given
        self.setup = parts.get("setup", "")
        self.test = parts.get("test", "")

    def count(self):
        return 1 if self.test else len(self.targets)


class Report:
    def __init__(self, fd):
        self.fd = fd
        self.results = []
        self.details = 0

    def write(self, line):
        data = line.encode("ascii") + b"\n"
        while data:
            data = data[os.write(self.fd, data) :]

    def assertion(self, passed, detail):
        self.results.append(passed)
        if passed or self.details >= DETAILS_MAX:
            self.write('{"passed":%s}' % ("true" if passed else "false"))
        else:
            self.details += 1
            self.write('{"passed":false,"detail":%s}' % quote(detail))

    def revise(self, number, detail):
        """Says that an assertion that has passed counts as failed."""
        self.results[number] = False
        self.write('{"revised":%d,"detail":%s}' % (number, quote(detail)))

    def verdict(self, verdict, detail=""):
        self.write('{"verdict":%s,"detail":%s}' % (quote(verdict), quote(suite.shorten(detail, 200))))


class Space(dict):
    """The names of the tests. Each lookup of a name in THEIRS fetches it from the candidate as it is at
    that time. Objects that stay in the candidate are fetched once for each assertion."""

    def __init__(self, link, **names):
        super().__init__(names)
        self.link = link
        self.theirs = set()
        self.written = set()
        self.fetched = {}

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        if name in self.written:
            self.link.ask("assign", (name, value))

    def __missing__(self, name):
        if name not in self.theirs:
            raise KeyError(name)
        value = self.link.aliases.of(name, self.link.ask("global", (name,)))
        if type(value) in proxies.PROXIES:
            self.keep(name, value)
        return value

    def keep(self, name, value):
        self.fetched[name] = value
        super().__setitem__(name, value)

    def forget(self):
        for name, value in self.fetched.items():
            if self.get(name) is value:  # otherwise the tests have replaced it
                del self[name]
        self.fetched.clear()


class TestsModule(type(sys)):
    """What `import __main__` gives to the tests: their own names."""

    def __getattr__(self, name):
        try:
            return self.__dict__["__space__"][name]
        except KeyError:
            raise AttributeError(f"module {program.TESTS!r} has no attribute {name!r}") from None

    def __dir__(self):
        return list(self.__dict__["__space__"])


class Checker:
    def __init__(self, job, link, report, start_plain, before_confirmation):
        self.job, self.link, self.report = job, link, report
        self.start_plain, self.before_confirmation = start_plain, before_confirmation
        self.plain_fds, self.not_simple = None, ""
        self.prelude, self.prelude_names, self.under_test = None, set(), set()
        self.recorder = suite.Recorder()
        self.space = Space(
            link,
            __name__=proxies.TESTS,
            __builtins__=builtins,
            __compare__=self.recorder.compare,
            __truth__=self.recorder.truth,
        )

    def load_prelude(self):
        """Executes the prelude. What it defines completely is the checker's own, whatever the candidate makes
        of its copy. Returns whether it ran."""
        if not self.job.prelude:
            return True
        self.prelude = program.Prelude(self.job.prelude)
        before = set(self.space)
        try:
            exec(suite.compile_plain(self.prelude.tree, "<prelude>"), self.space)
        except (Exception, SystemExit) as error:
            self.report.verdict("error", f"prelude: {suite.describe(error)}")
            return False
        self.prelude_names = set(self.space) - before
        return True

    def settle_names(self, names_there):
        """Gives each name to its owner. Returns whether the code may be judged at all."""
        decided = names.decide(self.job, names_there, self.prelude, self.prelude_names)
        if decided.refuse:
            for _ in range(self.job.count()):
                self.report.assertion(False, decided.refuse)
            self.report.verdict("assertion_fail", decided.refuse)
            return False
        for name in self.prelude_names - decided.kept:
            del self.space[name]
        self.space.theirs = decided.fetched & set(names_there)
        self.space.written = decided.written
        for name, sources in decided.replaced.items():
            found = next(filter(lambda value: value is not None, (names.load_from(*one) for one in sources)), None)
            if found is not None:
                dict.__setitem__(self.space, name, found)
        self.share_classes(self.prelude_names & decided.kept)
        self.under_test = decided.under_test
        for name in decided.aliases & self.space.theirs:
            self.space[name]  # its stand-in must exist before the candidate raises what it stands for
        return True

    def share_classes(self, names):
        kinds = {}
        for name in names:
            value = self.space[name]
            kind = classes.kind_of(value)
            if kind and value.__module__ == proxies.TESTS and value.__name__ == name:
                kinds[name] = kind
        if kinds:
            for name in self.link.ask("share", (kinds,)):
                if type(name) is not str or name not in kinds:
                    raise proxies.Lost
                self.link.shared.add(name, self.space[name])

    def execute(self, text, name):
        code = suite.compile_tests(text, name)
        self.space.forget()
        # A class body does not call __missing__, so fetch these names before.
        for name in suite.names_in_classes(code):
            if name in self.space.theirs and name not in self.space:
                self.space.keep(name, self.space[name])
        exec(code, self.space)

    def check(self):
        self.execute(self.job.test, "<test>")
        name = self.job.entry_point
        if name not in self.space.theirs:
            raise NameError(f"name {name!r} is not defined")
        self.space["check"](self.space[name])

    def steps(self):
        if self.job.test:
            yield self.check
        for number, target in enumerate(self.job.targets):
            yield lambda: self.execute(target, f"<target {number}>")

    def load(self):
        job = self.job
        if not self.load_prelude():
            return False
        answer = self.link.ask("load", (job.prelude, job.code, tuple(names.asked_of(job))))
        if type(answer) is not tuple or len(answer) != 2:
            raise proxies.Lost
        outcome, there = answer
        if outcome != "loaded":
            verdict = "error" if outcome == "denied" else "syntax_error"
            self.report.verdict(verdict, f"{there}")
            return False
        if type(there) is not list or not all(type(name) is str for name in there):
            raise proxies.Lost
        if job.shared:
            return True
        if not self.settle_names(there):
            return False
        self.prepare_confirmation()
        if job.setup:
            self.execute(job.setup, "<test_setup>")
        return True

    def prepare_confirmation(self):
        """Starts the plain process before the tests run, unless what the job consists of is simple."""
        job = self.job
        text = program.compose(job.prelude, job.code, names.asked_of(job))[0]
        tree = program.parse(text)
        self.not_simple = simple.why_not(tree, text, job, self.under_test) if tree else "no program"
        if self.not_simple:
            self.plain_fds = self.start_plain()

    def confirm(self):
        """A pass must hold in one process, too, unless it cannot be otherwise."""
        if not self.not_simple and not self.link.crossings.why:
            return
        if self.plain_fds is None:  # simple code and simple tests leave nothing behind in this process
            self.plain_fds = self.start_plain()
        self.before_confirmation()
        passed, detail, number = plain.confirm(self.job, self.plain_fds)
        if not passed:
            self.report.revise(number, detail)

    def run_shared(self):
        job = self.job
        answer = self.link.ask("shared", (job.test, job.entry_point, job.setup, job.targets))
        if type(answer) is not list or len(answer) != job.count():
            raise proxies.Lost
        for result in answer:
            if type(result) is not tuple or tuple(map(type, result)) != (bool, str):
                raise proxies.Lost
            self.report.assertion(*result)

    def run(self):
        try:
            if not self.load():
                return True
            if self.job.shared:
                self.run_shared()
            else:
                for step in self.steps():
                    passed, detail = suite.run(step, self.recorder)
                    if self.link.lost is not None:
                        raise proxies.Lost
                    self.report.assertion(passed, detail)
                if all(self.report.results):
                    self.confirm()
        except proxies.Lost:
            return False
        except Exception as error:
            self.report.verdict("error", f"test_setup: {suite.describe(error)}")
            return True
        if all(self.report.results):
            self.report.verdict("pass")
        elif self.link.denied:
            self.report.verdict("error", "denied import")
        else:
            self.report.verdict("assertion_fail")
        return True


def how_it_ended(pid, link):
    """Describes how a candidate ended that no longer answers."""
    if link.lost:
        return f"it does not keep to the protocol: {link.lost}"
    end = time.monotonic() + END_WAIT_SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return f"it exited with status {code} from inside" if code >= 0 else f"signal {-code}"
        time.sleep(0.002)
    return "it has closed its pipe"


def start_candidate(report_fd):
    question_read, question_write = os.pipe()
    answer_read, answer_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(2, 1)
        for fd in (null, report_fd, question_write, answer_read):
            os.close(fd)
        set_dumpable(1)
        sys.argv = [candidate.NAME]
        forget_modules()
        candidate.run(question_read, answer_write)
    os.close(question_read)
    os.close(answer_write)
    return pid, proxies.Link(answer_read, question_write)


def forget_modules():
    for module in MODULES:
        sys.modules.pop(module, None)


def start_plain(close):
    """Starts the process that confirms a pass. Nobody can look into it before it runs the job: like this
    one it is not dumpable. Closes the descriptors CLOSE in it. Returns the ends of the pipes to it: to read
    from, to write to."""
    job_read, job_write = os.pipe()
    answer_read, answer_write = os.pipe()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        for fd in (null, job_write, answer_read, *close):
            os.close(fd)
        sys.argv = [candidate.NAME]
        forget_modules()
        candidate.deny()
        plain.run(job_read, answer_write, lambda: set_dumpable(1))
    os.close(job_read)
    os.close(answer_write)
    return answer_read, job_write


def remove(here):
    """Removes the checker's own files, so that the candidate can neither read nor import them."""
    for name in os.listdir(here):
        os.unlink(f"{here}/{name}")
    os.rmdir(here)


def main(here):
    remove(here)
    report = Report(os.dup(1))
    try:
        set_dumpable(0)
    except Exception as error:
        report.write('{"broken":%s}' % quote(suite.describe(error)))
        os._exit(70)
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    pid, link = start_candidate(report.fd)
    os.dup2(2, 1)  # what the tests print must not get into the report
    work = os.getcwd()
    sys.modules[program.TESTS] = tests = TestsModule(program.TESTS)

    def clear():
        os.kill(pid, _signal.SIGKILL)
        plain.empty(work)

    with os.fdopen(0, "rb", closefd=False) as stdin:
        job = Job(stdin.read())
    checker = Checker(job, link, report, lambda: start_plain((report.fd, *link.fds)), clear)
    tests.__dict__["__space__"] = checker.space
    if not checker.run():
        report.verdict("error", how_it_ended(pid, link))
    sys.stdout.flush()
    os._exit(0)
