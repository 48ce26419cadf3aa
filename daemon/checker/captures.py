# SPDX-License-Identifier: MIT
"""Output of a function of the tests that the code has redirected: `with redirect_stdout(buffer): function()` in the
code. The judge keeps what the function prints, and the code's side writes it into the code's own stream."""

import io
import sys

from states import STREAMS, check


class Captures:
    """The judge's end."""

    def __init__(self):
        self.texts = []  # of calls that have ended, and have not been asked for; the last call is asked for first

    def run(self, names, function):
        """Calls FUNCTION, and keeps what it prints to the streams of those NAMES."""
        check(type(names) is tuple and 0 < len(names) <= len(STREAMS) and all(type(name) is str for name in names), "streams")
        check(all(name in STREAMS for name in names), "streams")
        before = {name: getattr(sys, name) for name in names}
        streams = {name: io.StringIO() for name in names}
        vars(sys).update(streams)
        try:
            return function()
        finally:
            for name, stream in streams.items():
                if getattr(sys, name, None) is stream:
                    setattr(sys, name, before[name])
            self.texts.append({name: stream.getvalue() for name, stream in streams.items()})

    def take(self):
        """Returns what the last call has printed, by name of the stream."""
        check(self.texts, "request")
        return self.texts.pop()


class Redirections:
    """The candidate's end: which streams are the code's own. PLACED has those that stand for the tests', by name."""

    def __init__(self, placed):
        self.placed = placed
        self.first = {name: getattr(sys, name, None) for name in STREAMS}

    def names(self):
        return tuple(name for name in STREAMS if self.is_codes(name, getattr(sys, name, None)))

    def is_codes(self, name, stream):
        return stream is not None and stream is not self.first[name] and stream is not self.placed.get(name, (None,))[0]

    @staticmethod
    def write(texts):
        for name, text in texts.items():
            if text:
                getattr(sys, name).write(text)
