# SPDX-License-Identifier: MIT
"""The report of a job, a JSON object a line; judge.py says which."""

import os

import suite

DETAILS_MAX = 64  # maximum number of failed assertions that the report explains


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

    def transcript(self, data, why):
        self.write('{"transcript":"%s"}' % data if data else '{"unreplayable":%s}' % quote(suite.shorten(why, 200)))

    def lacking(self, missing):
        self.write('{"lacking":%s,"by":%s}' % (quote(suite.shorten(missing.module, 100)), quote(missing.by)))

    def verdict(self, verdict, detail=""):
        self.write('{"verdict":%s,"detail":%s}' % (quote(verdict), quote(suite.shorten(detail, 200))))


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
