# SPDX-License-Identifier: MIT
"""The report of the judge: one JSON object a line. judge.py says which lines there are."""

import os
from os import fstat  # whatever the tests make of it

import suite

DETAILS_MAX = 64  # maximum number of failed assertions that the report explains
NOTHING = "the tests ask nothing of the code"


def identity(fd):
    found = fstat(fd)
    return found.st_dev, found.st_ino


class Report:
    def __init__(self, fd):
        self.fd = fd
        self.identity = identity(fd) if fd >= 0 else None  # a rehearsal has no report
        self.results = []
        self.details = 0

    def write(self, line):
        """Tests that open what the code returns may open this descriptor by its number, write what the code says and
        close it. What is written after that must not go to a file of theirs, which may have the number now."""
        if identity(self.fd) != self.identity:
            raise OSError("the descriptor of the report is another's")
        data = line.encode("ascii") + b"\n"
        while data:
            data = data[os.write(self.fd, data) :]

    def assertion(self, passed, detail):
        self.results.append(passed)
        if passed or self.details >= DETAILS_MAX:
            self.write('{"passed":%s}' % ("true" if passed else "false"))
        else:
            self.details += 1
            self.write('{"passed":false,"detail":%s}' % suite.quote(detail))

    def revise(self, number, detail):
        """Says that an assertion that has passed counts as failed."""
        self.results[number] = False
        self.write('{"revised":%d,"detail":%s}' % (number, suite.quote(detail)))

    def of_nothing(self):
        """Says that the tests have passed and have asked nothing of the code: that is their own fault."""
        for number in range(len(self.results)):
            self.revise(number, NOTHING)
        self.verdict("error", NOTHING)

    def transcript(self, data, why):
        self.write('{"transcript":"%s"}' % data if data else '{"unreplayable":%s}' % suite.quote(suite.shorten(why, 200)))

    def lacking(self, missing):
        self.write('{"lacking":%s,"by":%s}' % (suite.quote(suite.shorten(missing.module, 100)), suite.quote(missing.by)))

    def refused(self, place, why):
        self.write('{"refused":%s,"detail":%s}' % (suite.quote(place), suite.quote(suite.shorten(why, 200))))

    def verdict(self, verdict, detail=""):
        self.write('{"verdict":%s,"detail":%s}' % (suite.quote(verdict), suite.quote(suite.shorten(detail, 200))))


class Replay(Report):
    """The report of a replay. Whatever is no pass diverges: only passes have transcripts."""

    def __init__(self, fd, player):
        super().__init__(fd)
        self.player = player

    def verdict(self, verdict, detail=""):
        why = self.player.why
        if not why and verdict != "pass":
            why = f"the tests do not pass: {detail}" if detail else "the tests do not pass"
        why = why or self.player.how_it_ended()
        super().verdict("diverged" if why else "pass", why)
