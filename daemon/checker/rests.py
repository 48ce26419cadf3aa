# SPDX-License-Identifier: MIT
"""Waits of the tests in which threads of the code may go on. While the tests sleep, or wait for an event or a queue
of theirs, nobody would hear a thread of the code that calls one of their functions. So the code's process is
asked to rest meanwhile, and asks back what its threads want. How long it takes decides nothing: it is slept out
here."""

from _thread import _count as other_threads
from _thread import allocate_lock, get_ident

SLICE_SECONDS = 0.02  # at most, before the tests look again whether what they wait for has come


class Rests:
    def __init__(self, link):
        self.link, self.main = link, get_ident()
        self.is_fork = False

    def install(self, code):
        """CODE is the text of the code's program."""
        lowered = code.lower()
        if "thread" not in lowered and "concurrent" not in lowered:
            return
        import os
        import threading
        import time

        os.register_at_fork(after_in_child=self.forked)
        self.now, self.sleep = time.monotonic, time.sleep

        def sleep(seconds, /):
            if self.may_rest() and type(seconds) in (int, float) and seconds > 0:
                self.rest(seconds)
            else:
                self.sleep(seconds)

        self.link.observed[id(sleep)] = self.sleep
        sleep.__module__ = "time"
        time.sleep = sleep
        threading._allocate_lock = lambda: Waiter(self)  # of Condition.wait()

    def forked(self):
        self.is_fork = True

    def may_rest(self):
        """Returns whether the program of the tests is the only one that waits here."""
        return not self.is_fork and get_ident() == self.main and not other_threads() and self.link.lost is None

    def rest(self, seconds):
        end = self.now() + seconds
        self.link.ask("rest", None, (seconds,))
        left = end - self.now()
        if left > 0:
            self.sleep(left)


class Waiter:
    """The lock for which Condition.wait() waits."""

    def __init__(self, rests):
        self.rests, self.lock = rests, allocate_lock()
        self.release, self.locked = self.lock.release, self.lock.locked

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()

    def acquire(self, blocking=True, timeout=-1):
        rests = self.rests
        if not blocking or timeout == 0 or not rests.may_rest():
            return self.lock.acquire(blocking, timeout)
        end = None if timeout < 0 else rests.now() + timeout
        while not self.lock.acquire(False):
            left = SLICE_SECONDS if end is None else min(SLICE_SECONDS, end - rests.now())
            if left <= 0:
                return False
            rests.rest(left)
        return True
