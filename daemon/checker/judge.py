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

There are two processes. This one, the checker, knows the tests and writes the report. It forks its child,
the candidate, before it reads any of the job: the candidate receives nothing of the job but the code, and
shares a pair of pipes with the checker and nothing else. Both have the same identity, but the checker is
not dumpable, so the kernel refuses the candidate ptrace and everything in /proc/PID.

Standard input is a list of parts, each "NAME LENGTH\\n" and that many bytes: mode (isolated, shared),
code, prelude, entry_point, setup, test, and one target for each assertion. If the code was found in free text,
there are also that text, answer, and one block for each fence in it (extract.py).

The report has {"passed": true} or {"passed": false, "detail": "..."} for each assertion as soon as it is
known, and {"verdict": "...", "detail": "..."} at the end; without that line there is no verdict. A checker
that cannot protect itself writes {"broken": "..."} and nothing else. If the tests or the prelude import a module
that the host lacks, the last line is {"lacking": MODULE, "by": "tests" or "prelude"} instead of a verdict."""

import _ast
import _ctypes
import _signal
import builtins
import os
import sys
import time

import blame
import candidate
import classes
import extract
import proxies
import suite
import wire

DETAILS_MAX = 64  # maximum number of failed assertions that the report explains
PR_SET_DUMPABLE = 4
# Modules with functions that assertions apply to a result.
JUDGING_MODULES = ("math", "cmath", "collections", "itertools", "functools", "operator", "statistics", "decimal",
                   "fractions", "heapq", "copy", "json")  # fmt: skip
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
        self.blocks = []
        parts = {}
        at = 0
        while at < len(data):
            end = data.index(b"\n", at)
            name, length = data[at:end].split(b" ")
            at = end + 1 + int(length)
            text = str(data[end + 1 : at], "utf-8")
            if name == b"target":
                self.targets.append(text)
            elif name == b"block":
                self.blocks.append(text)
            else:
                parts[str(name, "ascii")] = text
        self.code = parts["code"]
        self.answer = parts.get("answer", "")
        self.shared = parts["mode"] == "shared"
        self.prelude = parts.get("prelude", "")
        self.entry_point = parts.get("entry_point", "")
        self.setup = parts.get("setup", "")
        self.test = parts.get("test", "")

    def count(self):
        return 1 if self.test else len(self.targets)

    def find_code(self):
        """Replaces the daemon's pick by what the tests ask for, if the answer has it somewhere else."""
        used = () if self.entry_point or not self.answer else extract.used_names(self.setup, self.targets)
        self.code = extract.find(self.code, self.blocks, self.answer, self.prelude, self.entry_point, used)


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

    def lacking(self, missing):
        self.write('{"lacking":%s,"by":%s}' % (quote(suite.shorten(missing.module, 100)), quote(missing.by)))

    def verdict(self, verdict, detail=""):
        self.write('{"verdict":%s,"detail":%s}' % (quote(verdict), quote(suite.shorten(detail, 200))))


def is_complete(node):
    """Returns whether a definition has a body beyond a docstring. A derived class needs none."""
    if not isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)):
        return True
    if isinstance(node, _ast.ClassDef) and node.bases:
        return True
    return not all(
        isinstance(part, _ast.Pass) or isinstance(part, _ast.Expr) and isinstance(part.value, _ast.Constant)
        for part in node.body
    )


def parse_prelude(text):
    """Parses a prelude, even one that ends in the head of a function whose body is missing."""
    indentation = suite.last_indentation(text)
    for end in ("", f"\n{indentation}pass", f"\n{indentation}    pass"):
        try:
            return suite.parse(text.rstrip() + end if end else text, "<prelude>")
        except (SyntaxError, ValueError):
            pass
    return None


def complete_part(job):
    """Returns what the prelude defines completely: everything but the entry point and what the code
    continues."""
    tree = parse_prelude(job.prelude)
    if tree is None:
        return None
    definitions = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)
    if not job.entry_point and tree.body and isinstance(tree.body[-1], definitions):
        if candidate.compose(job.prelude, job.code, "")[1]:
            tree.body.pop()
    tree.body = [n for n in tree.body if is_complete(n) and getattr(n, "name", None) != job.entry_point]
    return tree


class Space(dict):
    """The names of the tests. Each lookup of a name in THEIRS fetches it from the candidate as it is at
    that time. Objects that stay in the candidate are fetched once for each assertion."""

    def __init__(self, link, **names):
        super().__init__(names)
        self.link = link
        self.theirs = set()
        self.fetched = {}

    def __missing__(self, name):
        if name not in self.theirs:
            raise KeyError(name)
        value = self.link.ask("global", (name,))
        if type(value) in proxies.PROXIES:
            self.keep(name, value)
        return value

    def keep(self, name, value):
        self[name] = self.fetched[name] = value

    def forget(self):
        for name, value in self.fetched.items():
            if self.get(name) is value:  # otherwise the tests have replaced it
                del self[name]
        self.fetched.clear()


class Checker:
    def __init__(self, job, link, report):
        self.job, self.link, self.report = job, link, report
        self.recorder = suite.Recorder()
        self.modules = blame.watch()
        self.space = Space(
            link,
            __name__=proxies.TESTS,
            __builtins__=builtins,
            __compare__=self.recorder.compare,
            __truth__=self.recorder.truth,
        )

    def load_prelude(self):
        """Executes what the prelude defines completely. Those definitions are the checker's own, whatever
        the candidate makes of its copy."""
        tree = complete_part(self.job)
        if tree is None:
            return
        before = set(self.space)
        try:
            compiled = compile(tree, "<prelude>", "exec", dont_inherit=True)
            self.modules.guarded(lambda: exec(compiled, self.space), "prelude")
        except Exception:
            pass  # the candidate, which runs the prelude too, reports it
        own = set(self.space) - before
        self.space.theirs -= own
        self.share_classes(own)

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

    def leave_built_in(self):
        """Keeps the names of built-in functions, unless one of them is what the task asks for: the entry
        point, or, if none is given, the only name of the candidate that the assertions and their setup
        use."""
        used = set()
        for target in (self.job.setup, *self.job.targets):
            try:
                used |= suite.names_in(suite.compile_tests(target, "<target>")) & self.space.theirs
            except (SyntaxError, ValueError):
                pass  # reported when its turn comes
        asked = {self.job.entry_point} if self.job.entry_point else used
        if len(asked) != 1:
            asked = set()
        self.space.theirs -= set(dir(builtins)) - asked

    def find_real_ones(self):
        """Tests may use a module, or a function around a result, that only the candidate has imported.
        Gives them the real one: the candidate's math.isclose would be as good as its own word."""
        uses, functions = {}, set()
        for text in (self.job.test, self.job.setup, *self.job.targets):
            try:
                tree = suite.parse(text, "<tests>")
            except (SyntaxError, ValueError):
                continue  # reported when its turn comes
            functions |= suite.judging_functions(tree, self.space.theirs)
            for name, attributes in suite.attributes_used(tree).items():
                uses.setdefault(name, set()).update(attributes)
        for name in set(uses) & self.space.theirs & sys.stdlib_module_names:
            module = __import__(name)
            if all(hasattr(module, attribute) for attribute in uses[name]):
                self.take(name, module)
        for name in functions:
            for module in map(__import__, JUDGING_MODULES):
                if hasattr(module, name):
                    self.take(name, getattr(module, name))

    def take(self, name, value):
        self.space.setdefault(name, value)
        self.space.theirs.discard(name)

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
        job.find_code()
        answer = self.link.ask("load", (job.prelude, job.code, job.entry_point))
        if type(answer) is not tuple or len(answer) != 2:
            raise proxies.Lost
        outcome, names = answer
        if outcome != "loaded":
            self.load_prelude()  # which may be to blame
            self.report.verdict("syntax_error", f"{names}")
            return False
        if type(names) is not list or not all(type(name) is str for name in names):
            raise proxies.Lost
        self.space.theirs = set(names)
        self.load_prelude()
        self.leave_built_in()
        if not job.shared:
            self.find_real_ones()
        if job.setup and not job.shared:
            self.modules.guarded(lambda: self.execute(job.setup, "<test_setup>"), "tests")
        return True

    def run_shared(self):
        job = self.job
        answer = self.link.ask("shared", (job.test, job.entry_point, job.setup, job.targets))
        if type(answer) is str:
            raise blame.Missing(answer, "tests")
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
                    passed, detail = suite.run(lambda: self.modules.guarded(step, "tests"), self.recorder)
                    if self.link.lost is not None:
                        raise proxies.Lost
                    self.report.assertion(passed, detail)
        except proxies.Lost:
            return False
        except blame.Missing as missing:
            self.report.lacking(missing)
            return True
        except Exception as error:
            self.report.verdict("error", f"test_setup: {suite.describe(error)}")
            return True
        if all(self.report.results):
            self.report.verdict("pass")
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
        for module in ("classes", "wire", "suite", "blame", "proxies", "extract", "judge", "candidate", "__main__"):
            sys.modules.pop(module, None)
        candidate.run(question_read, answer_write)
    os.close(question_read)
    os.close(answer_write)
    return pid, proxies.Link(answer_read, question_write)


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
    with os.fdopen(0, "rb", closefd=False) as stdin:
        job = Job(stdin.read())
    if not Checker(job, link, report).run():
        report.verdict("error", how_it_ended(pid, link))
    sys.stdout.flush()
    os._exit(0)
