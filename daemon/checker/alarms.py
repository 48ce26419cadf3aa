# SPDX-License-Identifier: MIT
"""A timer that the code has set while it calls a function of the tests: its signal handler interrupts that function,
as in one process. The handler is the code's and runs there: when the time is up, the judge asks for it amid the
function, and raises there what it raises. Nothing of the judge's own is interrupted."""

import _signal

import callbacks

AGAIN_SECONDS = 0.005  # until the next try, if the judge itself is at work
GRACE_SECONDS = 0.01  # for the code's own timer
SECONDS_MAX = 1e6


class Alarm:
    """In a `with` statement around what may be interrupted."""

    def __init__(self, ask, seconds):
        self.ask, self.seconds = ask, seconds

    def __enter__(self):
        before = _signal.getsignal(_signal.SIGALRM)
        self.is_set = before == _signal.SIG_DFL and _signal.getitimer(_signal.ITIMER_REAL)[0] == 0
        if self.is_set:
            try:
                _signal.signal(_signal.SIGALRM, self.ring)
            except ValueError:  # in a thread of the tests
                self.is_set = False
            else:
                _signal.setitimer(_signal.ITIMER_REAL, self.seconds + GRACE_SECONDS)
        return self

    def __exit__(self, *_):
        if self.is_set:
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)

    def ring(self, _, frame):
        if self.is_amid_tests(frame):
            self.ask("rest", None, (GRACE_SECONDS,))
        else:
            _signal.setitimer(_signal.ITIMER_REAL, AGAIN_SECONDS)

    @staticmethod
    def is_amid_tests(frame):
        """Returns whether FRAME and those around it are the tests' and the library's, up to where the code has called."""
        while frame is not None and frame.f_globals.get("__name__") not in callbacks.OWN_MODULES:
            frame = frame.f_back
        return frame is not None and frame.f_code in CALLS


CALLS = (callbacks.call.__code__, callbacks.special.__code__)


def within(ask, seconds, function, arguments, keywords):
    """Calls FUNCTION, which the code's timer interrupts after SECONDS."""
    if type(seconds) is not float or not 0 < seconds < SECONDS_MAX:
        raise TypeError("a bad timer")
    with Alarm(ask, seconds):
        return function(*arguments, **keywords)
