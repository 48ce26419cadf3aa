# SPDX-License-Identifier: MIT
"""Who speaks on the side that runs the code, and when its signal handlers run.

The sides take turns (conversation.py), but threads of the code call functions of the tests when they like, and a
signal may interrupt the program anywhere. So a thread asks only while the judge waits for a message of this side,
and answers a question only when all that has been asked amid it is done. A signal that comes while this program
itself is at work is handled once the code runs again."""

import sys
import threading
from _thread import _count as other_threads
from _thread import get_ident


class Floor:
    def __init__(self):
        self.is_ours = False  # the judge waits
        self.owner = get_ident()  # the thread that speaks or listens, if it is not
        self.level = 0  # questions of the judge that have no answer yet
        self.askers = set()  # one for each question of a thread that wants to ask or waits for an answer
        self.waiting = 0
        self.changed = threading.Condition(threading.Lock())

    def hand_over(self):
        self.owner = None
        self.is_ours = True
        if self.waiting:
            with self.changed:
                self.changed.notify_all()

    def wait(self, is_time):
        with self.changed:
            self.waiting += 1
            while not is_time():
                self.changed.wait()
            self.waiting -= 1
            self.is_ours, self.owner = False, get_ident()

    def asked(self):
        """The judge has asked something. Returns the level at which it waits. Threads that have wanted to ask
        while the tests went on by themselves go first, as they would have in one process."""
        level = self.level = self.level + 1
        first = frozenset(self.askers) if level == 1 and self.askers else None
        self.hand_over()
        if first:
            self.wait(lambda: self.is_ours and self.level == level and not first & self.askers)
            self.hand_over()
        return level

    def answers(self, level):
        """The question at LEVEL is about to be answered."""
        if other_threads():
            self.wait(lambda: self.is_ours and self.level == level)
        else:
            self.is_ours, self.owner = False, get_ident()
        self.level -= 1

    def ask(self):
        """A thread is about to ask something. Returns what done() wants."""
        if not self.is_ours and self.owner == get_ident():  # as __del__ does amid a message
            raise RuntimeError("not now")
        asker = object()
        self.askers.add(asker)
        self.wait(lambda: self.is_ours)
        return asker

    def done(self, asker):
        self.askers.discard(asker)
        self.hand_over()


class Signals:
    """The signal handlers of the code."""

    def __init__(self):
        self.is_held, self.pending = False, []
        self.main = get_ident()
        self.install(__import__("signal"))

    def install(self, signal):
        set_handler, get_handler = signal.signal, signal.getsignal
        self.get_handler, self.get_timer = get_handler, signal.getitimer
        self.alarm, self.timer = signal.SIGALRM, signal.ITIMER_REAL

        def put(signalnum, handler):
            before = set_handler(signalnum, self.wrapped(handler) if callable(handler) else handler)
            return getattr(before, "handler", before)

        def get(signalnum):
            found = get_handler(signalnum)
            return getattr(found, "handler", found)

        signal.signal, signal.getsignal = put, get

    def seconds_left(self):
        """Returns when the code's timer interrupts the main thread; 0.0 if it does not."""
        is_set = get_ident() == self.main and hasattr(self.get_handler(self.alarm), "handler")
        return self.get_timer(self.timer)[0] if is_set else 0.0

    def wrapped(self, handler):
        def handle(number, frame):
            if self.is_held:
                self.pending.append((handler, number))
            else:
                handler(number, frame)

        handle.handler = handler
        return handle

    def hold(self, is_held=True):
        """Says whether this program is at work; runs the handlers that have waited if the code goes on. Returns what held
        before."""
        if get_ident() != self.main:
            return None
        before, self.is_held = self.is_held, is_held
        while not is_held and self.pending:
            handler, number = self.pending.pop(0)
            handler(number, sys._getframe())
        return before
