# SPDX-License-Identifier: MIT
"""Judges model-written code: reads the job from stdin, writes a code_exec report to stdout, one JSON
object a line.

The room daemon/checker. Duty: run model-written code against assertions so that the code cannot decide its
own verdict. It runs inside a jail and includes nothing of the daemon; candidate.py and the modules that
both processes share import each other only in the order of daemon/meson.build. Invariants:

- The checker never believes the candidate: whatever arrives is checked (wire_reader.py) and never executed.
- The candidate never sees the tests, only the calls that they make (in mode `shared` it does, and its
  verdict can be forged). It never gets an object of the checker that could read files, run text or look
  into others.
- A verdict exists only if the last line of the report says so.

names.py decides whose a name is that the tests use. What passes is confirmed in a third process, in which
tests and code share everything (plain.py), unless simple.py shows that it cannot differ there.

There are two programs. This one, the checker, knows the tests and writes the report. The candidate runs in
a jail of its own inside this one's (daemon/jail/twin.h): it receives nothing of the job but the code, and
shares a pair of pipes and the working directory with the checker, and nothing else. Where the host grants
no namespaces both have the same identity, but the checker is not dumpable, so the kernel refuses the
candidate ptrace and everything in /proc/PID.

Standard input is a list of parts, each "NAME LENGTH\\n" and that many bytes: mode (isolated, shared),
code, prelude, entry_point, setup, test, one name for each further name under test, and one target for
each assertion. If the code was found in free text,
there are also that text, answer, and one block for each fence in it (extract.py). An empty transcript asks
for a transcript; with replay, one, there is no candidate and the job is judged again (transcript.py).

The report has {"passed": true} or {"passed": false, "detail": "..."} for each assertion as soon as it is
known, {"revised": NUMBER, "detail": "..."} if a passed one counts as failed after all, and
{"verdict": "...", "detail": "..."} at the end; without that line there is no verdict. Before the verdict `pass`
stands {"transcript": "..."} in base64, or {"unreplayable": "..."}, if the job asks for one. A checker
that cannot protect itself writes {"broken": "..."} and nothing else. If the tests or the prelude import a module
that the host lacks, the last line is {"lacking": MODULE, "by": "tests" or "prelude"} instead of a verdict; if a text
of the tests cannot be used, it is {"refused": ITS PLACE IN THE REQUEST, "detail": "..."}."""

import _ast
import _ctypes
import _signal
import builtins
import os
import sys
import time

import addresses
import ambient
import blame
import candidate
import class_names
import classes
import exits
import extract
import formats
import garbage
import gates
from link import TESTS, Link
import membrane
import names
import namespace
import plain
import program
from reports import Replay, Report
import rests
import signatures
import simple
import sinks
import suite
import tasks
import texts
import transcript
import unasked
import unittests
import unreached
import watch

PR_SET_DUMPABLE = 4
END_WAIT_SECONDS = 0.2
READ_MAX = 1 << 20
WIRE_READ, WIRE_WRITE, STATUS = 3, 4, 5  # descriptors


class _Int(_ctypes._SimpleCData):
    _type_ = "i"


class _Function(_ctypes.CFuncPtr):
    _flags_ = 1  # FUNCFLAG_CDECL
    _restype_ = _Int


# As ctypes would have it, without the cost of importing ctypes.
_prctl = _Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl"))


def set_dumpable(value):
    if _prctl(PR_SET_DUMPABLE, value, 0, 0, 0) != 0:
        raise OSError("prctl(PR_SET_DUMPABLE) is refused")


class Job:
    def __init__(self, data):
        self.targets = []
        names_given = []
        self.blocks = []
        self.replay = None
        parts = {}
        at = 0
        while at < len(data):
            end = data.index(b"\n", at)
            name, length = data[at:end].split(b" ")
            at = end + 1 + int(length)
            if name == b"replay":
                self.replay = data[end + 1 : at]
                continue
            text = str(data[end + 1 : at], "utf-8")
            if name == b"target":
                self.targets.append(text)
            elif name == b"name":
                names_given.append(text)
            elif name == b"block":
                self.blocks.append(text)
            else:
                parts[str(name, "ascii")] = text
        self.code = parts["code"]
        self.answer = parts.get("answer", "")
        self.shared = parts["mode"] == "shared"
        self.transcript = "transcript" in parts
        self.prelude = parts.get("prelude", "")
        self.entry_point = parts.get("entry_point", "")
        self.names = names_given
        self.setup = parts.get("setup", "")
        self.test = parts.get("test", "")

    def tests(self):
        return "\n".join((self.prelude, self.setup, self.test, *self.targets))

    def count(self):
        return 1 if self.test else len(self.targets)

    def places(self):
        """Returns pairs of each text of the tests and its place in the request."""
        targets = ((target, f"job.targets[{number}]") for number, target in enumerate(self.targets))
        return ((self.setup, "job.test_setup"), (self.test, "job.test"), *targets)

    def find_code(self):
        """Replaces the daemon's pick by what the tests ask for, if the answer has it somewhere else."""
        used = () if self.entry_point or not self.answer else extract.used_names(self.setup, self.targets)
        self.code = extract.find(self.code, self.blocks, self.answer, self.prelude, self.entry_point, used)


class Checker:
    collector = garbage.Nobodys()
    looks = None  # of a test program

    def __init__(self, job, link, report):
        self.job, self.link, self.report = job, link, report
        self.seed = int.from_bytes(os.urandom(8), "little")
        suite.seed_random(job.tests(), self.seed)
        self.prelude, self.prelude_names, self.under_test, self.not_simple = None, set(), set(), ""
        self.parsed = None
        self.recorder = suite.Recorder()
        self.modules = blame.watch(job.tests())
        self.space = namespace.Space(
            link,
            __name__=TESTS,
            __builtins__=builtins,
            __compare__=self.recorder.compare,
            __truth__=self.recorder.truth,
        )
        self.texts = texts.Gate(job, link, self.space)
        self.formats = formats.Formats(self.texts, self.trees)
        self.addresses = None  # of tests that are recorded or replayed
        if link.transcript is not None:
            self.addresses = addresses.Addresses(link.transcript.refuse, link.is_numbered)
            self.addresses.install()

    def load_prelude(self):
        """Executes the prelude. What it defines completely is the checker's own, whatever the candidate makes
        of its copy. Returns whether it ran."""
        self.prelude = program.Prelude(self.job.prelude) if self.job.prelude else None
        self.collector.begin()
        if self.prelude is None:
            return True
        before = set(self.space)
        self.link.sources["<prelude>"] = self.prelude.text
        try:
            tree = self.formats.rewritten(None, self.prelude.text, "<prelude>")  # the other is not to be changed
            if self.addresses:
                tree = tree or suite.parse(self.prelude.text, "<prelude>")
                addresses.rewrite(tree)
            compiled = suite.compile_plain(tree or self.prelude.tree, "<prelude>")
            self.modules.guarded(lambda: exec(compiled, self.space), "prelude")
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
        # Libraries look for names of their own in the tests' module (load_tests): the code's are no answer.
        job_text = self.job.tests()
        text = f"{job_text} {self.job.entry_point} {self.job.names}"
        there = decided.fetched & set(names_there)
        self.space.belong(there, {name for name in there if name in text})
        # What only the code imports the tests may patch there.
        known = self.names_used().union(*(bound for _, _, bound in self.trees())) | self.prelude_names
        self.space.theirs |= namespace.of_main(job_text) & set(names_there) - known
        self.space.written = decided.written | names.for_the_code(self.trees(), set(names_there), self.code_tree)
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
            if kind and value.__module__ == TESTS and value.__name__ == name:
                kinds[name] = kind
        if kinds:
            shared = self.link.ask("share", None, (tuple(kinds.items()),))
            if type(shared) is not tuple:
                raise membrane.Lost
            for name in shared:
                if type(name) is not str or name not in kinds:
                    raise membrane.Lost
                self.link.shared_classes.add(name, self.space[name])

    def name_classes(self):
        """Special methods answer only for classes that the tests name. Exception classes that the code
        merely renames are known before the first call."""
        kinds, told = {}, {}
        for name in sorted((self.names_used() | self.names_of_prelude()) & self.space.theirs):
            told["global", name] = self.link.ask("global", None, (name,))
            value = self.link.without_aliases(name, told["global", name])
            if isinstance(value, type):
                kinds[name] = value
        if kinds:
            trees = [tree for tree, *_ in self.trees()]
            prelude = self.prelude.tree if self.prelude else None
            functions = class_names.are_functions(set(kinds), trees, prelude, self.job.entry_point)
            for name, kind in kinds.items():
                self.link.name(kind, name in functions)
        self.link.answers.update(told)  # nothing of the code has run since

    def looks_at_signatures(self):
        return any(word in self.job.tests() for word in signatures.WORDS)

    def trees(self):
        """Returns the trees of the tests and their names, as Outline.names() has them."""
        if self.parsed is None:
            texts = filter(None, (self.job.setup, self.job.test, *self.job.targets))
            trees = filter(None, map(program.parse, texts))  # what is too deep to parse is reported when its turn comes
            self.parsed = [(tree, *program.outline(tree).names()) for tree in trees]
        return self.parsed

    def names_of_prelude(self):
        return set().union(*program.outline(self.prelude.tree).names()) if self.prelude else set()

    def names_used(self):
        """Returns the global names that the tests look up and do not bind themselves."""
        used = {self.job.entry_point}
        return used.union(*(looked_up - bound for _, looked_up, bound in self.trees()))

    def follow_classes(self):
        """Finds the classes that the tests define and the code uses without defining them. Nothing else that
        the tests bind is for the code to see, but names under test (Space.written); nor is a class that judges."""
        statements = [node for tree, *_ in self.trees() for node in tree.body]
        defined = {node.name for node in statements if isinstance(node, _ast.ClassDef) and not unreached.judges(node)}
        if defined:
            looked_up, bound = program.outline(self.code_tree).names() if self.code_tree else (set(), set())
            self.followed = dict.fromkeys(sorted((defined & looked_up) - bound), self)
            if self.followed:
                self.link.before = self.tell_classes

    def tell_classes(self):
        for name, told in self.followed.items():
            value = self.space.get(name, self)
            if value is not told:
                self.followed[name] = value
                self.link.ask("set_global", None, (name, value))

    def execute(self, text, name):
        self.link.sources[name] = text
        tree = self.formats.rewritten(program.take(text), text, name)
        if self.addresses:
            tree = tree or suite.parse(text, name)
            addresses.rewrite(tree)
        code = suite.compile_tests(text, name, tree)
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
        given = self.space.given(name)
        self.looks = unasked.Looks(self.job, given, self.link.is_theirs(given))
        self.looks.returned(self.space["check"](given))

    def steps(self):
        if self.job.test:
            yield self.check
        for number, target in enumerate(self.job.targets):
            yield lambda: self.execute(target, f"<target {number}>")

    def load(self):
        job = self.job
        refused = program.refused(job.places())  # nothing of the code has run: it cannot bring this about
        if refused:
            self.report.refused(*refused)
            return False
        job.find_code()
        if not self.load_prelude():
            return False
        asked = tuple(names.asked_of(job))
        if self.looks_at_signatures():
            gates.guard_annotations(self.space)
        if any(word in f"{job.prelude} {job.code}" for word in signatures.WORDS_OF_CODE):
            self.link.teller = signatures.Teller(self.link.is_theirs)
        self.link.asks_abstract = gates.registers(f"{job.prelude} {job.code} {job.tests()}")
        if tasks.are_looked_at(f"{job.prelude} {job.code}"):
            self.link.tasks = tasks.Told(self.link.tell_task)
        shows = gates.uses_attributes(f"{job.prelude}\n{job.code}", job.tests())
        told = (job.prelude, job.code, asked, self.looks_at_signatures(), shows, self.seed)
        answer = self.link.ask("load", None, told)
        if type(answer) is not tuple or len(answer) != 2:
            raise membrane.Lost
        outcome, there = answer
        if outcome != "loaded":
            self.report.verdict("syntax_error", f"{there}")
            return False
        if type(there) is not tuple or not all(type(name) is str for name in there):
            raise membrane.Lost
        if job.shared:
            return True
        self.collector.pause(self.prelude and self.prelude.tree)
        is_settled = self.settle(there, asked)
        self.collector.go_on()
        if is_settled and job.setup:
            self.modules.guarded(lambda: self.execute(job.setup, "<test_setup>"), "tests")
        return is_settled

    def settle(self, there, asked):
        """Decides all that is to be known before the tests run. Returns whether the code may be judged at all."""
        job = self.job
        self.code_text = program.compose(job.prelude, job.code, asked)[0]
        tree = self.code_tree = program.parse(self.code_text)
        self.link.packages = lambda: program.packages(job.prelude, *names.texts_of(job))
        if not self.settle_names(there):
            return False
        self.name_classes()
        self.follow_classes()
        unittests.guard(self.link, job.tests())
        self.not_simple = simple.why_not(tree, self.code_text, job, self.under_test) if tree else "no program"
        return True

    def asks_nothing(self):
        return not (self.space.is_asked or self.link.has_asked or self.looks and self.looks.may_have_looked())

    def confirm(self):
        """A pass must hold in one process, too, unless it cannot be otherwise."""
        if not self.not_simple and not self.link.crossings.why:
            return
        self.link.end()
        if self.link.transcript is not None:
            self.link.transcript.is_paused = True
        passed, detail, number = plain.confirm(self.job, self.link, self.seed)
        if not passed:
            self.report.revise(number, detail)

    def run_shared(self):
        job = self.job
        answer = self.link.ask("shared", None, (job.test, job.entry_point, job.setup, tuple(job.targets)))
        if type(answer) is str:
            raise blame.Missing(answer, "tests")
        if type(answer) is not tuple or len(answer) != job.count():
            raise membrane.Lost
        for result in answer:
            if type(result) is not tuple or tuple(map(type, result)) != (bool, str):
                raise membrane.Lost
            self.report.assertion(*result)

    def run(self):
        try:
            if not self.load():
                return True
            if self.job.shared:
                self.run_shared()
            else:
                for step in self.steps():
                    if self.link.transcript is not None:
                        self.link.transcript.collect()
                    passed, detail = suite.run(lambda: self.modules.guarded(step, "tests"), self.recorder)
                    if self.link.lost is not None:
                        raise membrane.Lost
                    self.report.assertion(*self.texts.judged(passed, detail))
                if all(self.report.results) and self.asks_nothing():
                    self.report.of_nothing()
                    return True
                if all(self.report.results):
                    self.confirm()
        except membrane.Lost:
            return False
        except blame.Missing as missing:
            self.report.lacking(missing)
            return True
        except BaseException as error:  # an exit, too: the code can answer any question with one
            self.report.verdict("error", f"test_setup: {suite.describe(error)}")
            return True
        if not all(self.report.results):
            self.report.verdict("assertion_fail")
            return True
        if self.job.transcript:
            self.report.transcript(*self.transcribed())
        self.report.verdict("pass")
        return True

    def transcribed(self):
        """Returns the transcript of a pass, or None and why there is none."""
        if self.job.shared:
            return None, "the tests ran in the process of the code"
        trees = [tree for tree, *_ in self.trees()]
        if self.prelude:
            trees.append(self.prelude.tree)
        why = watch.reason_against(trees, self.job.tests())
        if why:
            self.link.transcript.refuse(why)
        return transcript.line_of(self.link.transcript)


class NoCandidate(Exception):
    """The candidate's jail is lost."""


def how_it_ended(link):
    """Describes how a candidate ended that no longer answers."""
    if link.lost:
        return f"it does not keep to the protocol: {link.lost}"
    os.set_blocking(STATUS, False)
    end = time.monotonic() + END_WAIT_SECONDS
    while time.monotonic() < end:
        try:
            status = os.read(STATUS, 4)
        except BlockingIOError:
            time.sleep(0.002)
            continue
        if not status:
            raise NoCandidate
        code = os.waitstatus_to_exitcode(int.from_bytes(status, sys.byteorder))
        return f"it exited with status {code} from inside" if code >= 0 else f"signal {-code}"
    return "it has closed its pipe"


def read_all(fd):
    parts = []
    while part := os.read(fd, READ_MAX):
        parts.append(part)
    return b"".join(parts)


def keep_apart():
    """Leaves nothing of the job to what the tests start, and nothing of what they print to the report."""
    for fd in (WIRE_READ, WIRE_WRITE, STATUS):
        os.set_inheritable(fd, False)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)


def make_link():
    """Makes the link of the one job of this process, or of a fork of it."""
    sinks.keep_real()
    return Link(WIRE_READ, WIRE_WRITE, STATUS)


def begin(job, report, link=None):
    """Returns the link of a job, LINK if one was made before, and its report. A replay leaves the candidate
    without a word."""
    if job.replay is None:
        link = link or make_link()
        if job.transcript and not job.shared:
            link.transcript = transcript.Recorder()
            watch.Watch(link).begin()
    else:
        for fd in (WIRE_READ, WIRE_WRITE, STATUS):
            os.close(fd)
        player = transcript.Player(job.replay)
        if player.is_foreign:
            report.verdict("error", "the transcript was made by another version of the judge or of Python")
            os._exit(0)
        link, report = transcript.ReplayedLink(player), Replay(report.fd, player)
    return link, report


def judge(job, link, report):
    """Judges a job. Returns False if the candidate is lost, or if a replay diverges."""
    sys.modules[program.TESTS] = tests = namespace.TestsModule(program.TESTS)
    # The module that the code's classes say they are of: functions that dataclasses makes for such a class run in it.
    sys.modules[candidate.NAME] = type(sys)(f"{candidate.NAME} classes")
    try:
        if link.transcript is not None:
            watch.observe(link, job.tests())
        rests.Rests(link).install(job.prelude + job.code)  # before ambient looks what the tests replace
        link.ambient = ambient.Ambient(job.tests())
        checker = Checker(job, link, report)
        checker.collector = garbage.Collector() if link.transcript is None else garbage.Nobodys()
        namespace.give(tests, checker.space)
        checker.formats.install()
        exits.Exits(checker.texts).install()
        sinks.Sinks(checker.texts).install()
        return checker.run()
    except membrane.Lost:
        return False


def main(link=None):
    report = Report(os.dup(1))
    try:
        set_dumpable(0)
    except Exception as error:
        report.write('{"broken":%s}' % suite.quote(suite.describe(error)))
        os._exit(70)
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    job = Job(read_all(0))
    keep_apart()
    link, report = begin(job, report, link)
    try:
        if not judge(job, link, report):
            report.verdict("error", "" if job.replay is not None else how_it_ended(link))
    except NoCandidate:
        report.write('{"broken":"the process that runs the code is lost"}')
    sys.stdout.flush()
    os._exit(0)
