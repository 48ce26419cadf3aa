# SPDX-License-Identifier: MIT
"""Judges a few jobs of its own in the interpreter that waits, before any real one.

Theory of operation. Python adapts a program while it runs: it replaces instructions by faster ones, and
remembers where it has found attributes. A fork of an interpreter in which nothing has run does this from the
start, and writes to the memory that holds the program; each page that it writes to, the kernel copies. After
a rehearsal, forks find it done.

Both ends of the wire run in this process and hand their messages to each other. Nothing is installed that a
process could not be rid of (sinks.py), and all that is left of the jobs goes. They are the same for every
interpreter, so no job learns anything from them, and none of them is anybody's."""

import sys

import ambient
import candidate
import copies
import judge
import program

# Python begins to adapt a function with its eighth call, and within one job most are called oftener. More
# rehearsals spare each job one page fault in a hundred, and cost every start and reload 6 ms of CPU time each.
TIMES = 3

PRELUDE = '''from typing import List


def chosen(numbers: List[float], limit: float) -> bool:
    """ Say whether two numbers are closer to each other than a limit.
    >>> chosen([1.0, 2.0, 3.0], 0.5)
    False
    """
'''
CODE = """    for index, one in enumerate(numbers):
        for other in numbers[index + 1 :]:
            distance = abs(one - other)
            if distance < limit and not numbers == []:
                return True

    return False
"""
TEST = """

METADATA = {"author": "nobody", "dataset": "test"}


def check(candidate):
    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3) == True
    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.05) == False
    assert not candidate([], 0.05), "nothing is close to nothing"
    assert True, "This prints if this assert fails 2 (also good for debugging!)"

"""
WORDS = """import math


def counted(text, least=1):
    found = {}
    for word in text.lower().split(" "):
        if len(word) >= least:
            found[word] = found.get(word, 0) + 1
    most = max(found.values(), default=0)
    return sorted([word for word, count in found.items() if count == most], key=len), math.floor(most), f"{most:d}"
"""
WORDS_TESTS = (
    'assert counted("a b b c a") == (["a", "b"], 2, "2")',
    'assert counted("", 3) == ([], 0, "0"), "nothing"',
    'assert counted("one two", least=3)[1] == 1 and len(counted("x")) == 3',
    'assert counted("a a") == ([], 0, "0")',
)


def part(name, text):
    data = text.encode()
    return b"%s %d\n%s" % (name.encode(), len(data), data)


def jobs():
    isolated, prelude = part("mode", "isolated"), PRELUDE
    if "typing" not in sys.modules:  # real jobs shall not find it there either
        prelude = PRELUDE.replace("from typing import List", "List = list")
    yield isolated + part("code", CODE) + part("prelude", prelude) + part("entry_point", "chosen") + part("test", TEST)
    yield isolated + part("code", WORDS) + b"".join(part("target", text) for text in WORDS_TESTS)


class Silent(judge.Report):
    def __init__(self):
        super().__init__(-1)
        self.last = ""

    def write(self, line):
        self.last = line


class Answered(BaseException):
    """The candidate has answered, and would wait for the next question."""


class Wire:
    """Connects both ends: what one sends, the other receives."""

    def __init__(self, link, server):
        self.link, self.server = link, server
        self.to_server, self.to_link = [], []
        link.send, link.receive = self.to_server.append, self.answer
        server.send, server.receive = self.to_link.append, self.question

    def answer(self):
        try:
            self.server.converse()
        except Answered:
            pass
        return self.to_link.pop()

    def question(self):
        if not self.to_server:
            raise Answered
        return self.to_server.pop()


def perform(data):
    """Judges the job DATA. Returns what the report ends with."""
    job, report = judge.Job(data), Silent()
    link, server = judge.make_link(), candidate.make_server()
    Wire(link, server)
    link.ambient = ambient.Ambient(job.tests())
    checker = judge.Checker(job, link, report)
    checker.confirm = lambda: None  # by another process
    checker.run()
    return report.last


def rehearse():
    """Returns what the reports of the last jobs end with."""
    modules, finders, limit = dict(sys.modules), list(sys.meta_path), sys.getrecursionlimit()
    spaces, last = len(copies.spaces), []
    try:
        for _ in range(TIMES):
            last = [perform(data) for data in jobs()]
            del copies.spaces[spaces:]
            program.forget()
            sys.meta_path[:] = finders
            sys.modules.update(modules)
    finally:
        sys.setrecursionlimit(limit)
    return last
