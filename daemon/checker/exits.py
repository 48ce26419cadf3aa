# SPDX-License-Identifier: MIT
"""Exits of the code where nobody hears of them. A thread that a SystemExit ends says nothing, a pool keeps it in a
future, and a process that one ends may say that all went well: what the tests had still to check there is not
checked."""

import os
import sys
import time
import types

import callbacks

SETTLE_SECONDS = 1  # for a thread to end that an exit of the code has hit
QUIET = frozenset((*callbacks.OWN_MODULES, "threading", "multiprocessing.process", "concurrent.futures.thread"))


def is_of_tests(frame):
    return frame.f_globals.get("__name__") not in QUIET and not frame.f_code.co_filename.startswith("<frozen")


def interrupts(trace):
    """Returns whether an exception with this traceback has ended functions of the tests."""
    while trace is not None:
        if is_of_tests(trace.tb_frame):
            return True
        trace = trace.tb_next
    return False


def is_within_tests():
    """Returns whether a function of the tests runs in this process, which is a fork of the judge's."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if module == "multiprocessing.process" and frame.f_code.co_name == "_bootstrap":
            return False
        if is_of_tests(frame):
            return True
        frame = frame.f_back
    return False


class Exits:
    """GATE is the texts.Gate of the job."""

    def __init__(self, gate):
        self.gate, self.link = gate, gate.link
        self.process = os.getpid()
        self.raised = []  # by the code in threads of the tests: what is no Exception
        self.hit = []  # numbers of these threads
        self.kept = []  # (future, what has ended a function of the tests in a pool) until they ask the future

    def install(self):
        text = self.gate.job.tests().lower()
        if not any(word in text for word in ("thread", "concurrent", "executor", "process", "fork")):
            return
        import threading

        raised, main = self.link.raised, threading.get_ident()

        def noted(operation, error, arguments=()):
            made = raised(operation, error, arguments)
            if not isinstance(made, Exception) and not self.link.is_left:
                if os.getpid() != self.process:
                    self.fail(made)
                elif threading.get_ident() != main:
                    self.raised.append(made)
                    self.hit.append(threading.get_ident())
            return made

        self.link.raised = noted
        if "thread" in text or "concurrent" in text or "executor" in text:
            self.watch_threads(threading)
            self.watch_futures()

    @staticmethod
    def fail(error):
        """Has an exit of the code that ends a fork of the tests not look like success."""
        if isinstance(error, SystemExit) and error.code in (None, 0) and is_within_tests():
            error.code = 1

    def ended(self, error):
        """A thread of the tests has ended by ERROR."""
        if any(error is one for one in self.raised) and interrupts(error.__traceback__):
            self.gate.why = self.gate.why or f"the code ends a thread of the tests by {type(error).__name__}"

    def settle(self):
        """Waits for the threads that are ending. One whose exit the tests have caught may go on."""
        end = time.monotonic() + SETTLE_SECONDS
        for thread in self.hit:
            while thread in sys._current_frames() and time.monotonic() < end:
                time.sleep(0.001)
        self.hit.clear()

    def watch_futures(self):
        from concurrent.futures._base import Future

        set_exception = Future.set_exception

        def keep(future, exception):
            if any(exception is one for one in self.raised):
                self.kept.append((future, exception))
            return set_exception(future, exception)

        def asked(method):
            def ask(future, *arguments, **keywords):
                try:
                    return method(future, *arguments, **keywords)
                finally:
                    self.kept = [one for one in self.kept if one[0] is not future or not future.done()]

            return ask

        Future.set_exception = keep
        Future.result, Future.exception = asked(Future.result), asked(Future.exception)

    def watch_threads(self, threading):
        import _thread

        judged = self.gate.judged

        def judged_later(passed, detail):
            if passed and self.hit:
                self.settle()
            for _, error in self.kept:
                self.ended(error)
            return judged(passed, detail)

        self.gate.judged = judged_later
        make, start = threading._make_invoke_excepthook, _thread.start_new_thread

        def make_watched():
            invoke = make()

            def invoked(thread):
                self.ended(sys.exc_info()[1])
                invoke(thread)

            return invoked

        def run(function, arguments, keywords):
            try:
                function(*arguments, **keywords)
            except BaseException as error:
                self.ended(error)
                raise

        def start_new_thread(function, args, kwargs=types.MappingProxyType({}), /):
            if not callable(function) or type(args) is not tuple:
                return start(function, args, kwargs)  # which raises an exception
            return start(run, (function, args, kwargs))

        threading._make_invoke_excepthook = make_watched
        self.link.observed[id(start_new_thread)] = start
        _thread.start_new_thread = _thread.start_new = start_new_thread
