# SPDX-License-Identifier: MIT
"""What ambient.py and mirror.py have in common: state that goes with each call and comes back with the answer,
and the depth of recursion.

Some state is costly to watch: that of a random generator is 625 numbers. A side watches such state only if a
word in its own program says that the program may change it (WORDS)."""

import builtins
import os
import sys
from _struct import pack, unpack
from _thread import get_ident

import suite
from wire import WireError

WORDS = {
    "environ": ("env",),
    "cwd": ("chdir",),
    "decimal": ("decimal",),
    "random": ("random",),
    "numpy": ("np.random", "numpy.random", "numpy import random"),
    "warnings": ("warn",),
    "loggers": ("logging", "assertlogs", "assertnologs", "caplog"),
    "patched": ("patch", "setattr"),
}
NAME_MAX = 1000
ENVIRONMENT_MAX = 4096  # variables in one message
VARIABLE_MAX = 1 << 17
STREAMS = ("stdout", "stderr")


def mentions(text, name):
    """Returns whether the program TEXT may change the state NAME. TEXT is in lower case."""
    return any(word in text for word in WORDS[name])


def check(good, what):
    if not good:
        raise WireError(f"bad {what}")


def is_text(value, most=NAME_MAX):
    return type(value) is str and len(value) <= most


def is_count(value, most):
    return type(value) is int and 0 <= value <= most


def category_name(category):
    """Returns the name of the closest class of warnings that is built in."""
    return next(one.__name__ for one in category.__mro__ if getattr(builtins, one.__name__, None) is one)


# --- state that follows the call in both directions -------------------------------------------------
#
# changes() returns what the other side does not know yet, or None. take(value) applies what the other side
# sends; `told` is then what both know.


class Environment:
    # What decides which programs and libraries a child process loads. Tests may start programs in the
    # judge's jail, and none of the candidate's may run there.
    # Frameworks read there which tests to run.
    LOADS = ("LD_", "PYTHON", "GCONV_PATH", "BASH_", "PATH", "ENV", "SHELLOPTS", "IFS", "PYTEST_", "HYPOTHESIS_")

    def __init__(self, trusts):
        self.trusts = trusts
        self.note()

    def note(self):
        """Remembers what changes() compares with: what os.environ keeps, or its items if it is another mapping.
        Reading the items takes much longer."""
        self.environ = os.environ
        is_usual = type(self.environ) is os._Environ
        self.raw = dict(self.environ._data) if is_usual else None
        self.told = None if is_usual else dict(self.environ)

    def items_told(self):
        if self.raw is None:
            return self.told
        key, value = self.environ.decodekey, self.environ.decodevalue
        return {key(name): value(text) for name, text in self.raw.items()}

    def changes(self):
        if self.raw is not None and getattr(os.environ, "_data", None) == self.raw:
            return None
        told = self.items_told()
        self.note()
        now = dict(os.environ)
        changed = {name: None for name in sorted(told.keys() - now.keys())}
        for name in sorted(now):
            if told.get(name) != now[name] and type(now[name]) is str:
                changed[name] = now[name]
        return changed or None

    def take(self, changed):
        check(type(changed) is dict and len(changed) <= ENVIRONMENT_MAX, "environment")
        for name, value in changed.items():
            check(is_text(name, VARIABLE_MAX) and name and not {"=", "\0"} & set(name), "environment")
            check(value is None or is_text(value, VARIABLE_MAX) and "\0" not in value, "environment")
        for name, value in changed.items():
            self.put(name, value)
        self.note()

    def put(self, name, value):
        if not self.trusts and name.startswith(self.LOADS):
            return
        environ = os.environ
        # The judge's own children do not see it: os.environ does, the C library's environment does not.
        if not self.trusts and type(environ) is os._Environ:
            try:
                key = environ.encodekey(name)
                value = value if value is None else environ.encodevalue(value)
            except UnicodeError:
                raise WireError("bad environment") from None
            environ = environ._data
            name = key
        if value is None:
            environ.pop(name, None)
        else:
            environ[name] = value


class Directory:
    def __init__(self, trusts):
        self.trusts = trusts
        self.root = self.told = os.getcwd()

    @staticmethod
    def now():
        try:
            return os.getcwd()
        except OSError:  # removed
            return None

    def changes(self):
        now = self.now()
        if now is None or now == self.told:
            return None
        self.told = now
        return now

    def is_below(self, path):
        return path is not None and (path == self.root or path.startswith(self.root.rstrip("/") + "/"))

    def take(self, path):
        """Changes the directory; the judge only to one below the jobs' own, links resolved."""
        check(is_text(path, 4096) and path.startswith("/") and "\0" not in path, "directory")
        try:
            os.fsencode(path)
        except UnicodeError:
            raise WireError("bad directory") from None
        before = self.now()
        try:
            os.chdir(path)
            if not self.trusts and not self.is_below(self.now()):
                os.chdir(before or self.root)
        except OSError:
            pass  # a directory that this side does not have
        self.told = self.now()


def _numbers_of(data, count, what):
    check(type(data) is bytes and len(data) == 4 * count, what)
    return unpack(f"<{count}I", data)


class Generator:
    """The state of the functions of the module random. The judge sends its own and gets none back: the code would
    choose the numbers of the tests. Once the code has drawn numbers, the judge leaves each state that it sends for
    one that follows from it, so that it repeats none of the code's numbers and tells a second seed() with the same
    number from none."""

    def __init__(self, trusts):
        self.told = None
        self.leaves = False

    @staticmethod
    def now():
        random = sys.modules.get("random")
        return random and random.getstate()

    def has_drawn(self):
        """Returns whether the state is another one than the other side has sent."""
        return self.told is not None and self.now() != self.told

    def leave(self):
        """From now on leaves what it has sent."""
        if not self.leaves:
            self.leaves = True
            if self.told is not None and self.now() == self.told:
                self.follow()

    def follow(self):
        self.restart(self.told)
        self.told = self.now()

    @staticmethod
    def restart(state):
        __import__("random").seed(pack("<625I", *state[1]))

    def changes(self):
        now = self.now()
        if now == self.told:
            return None
        self.told = now
        if now and self.leaves:
            self.follow()
        return now and self.packed(now)

    @staticmethod
    def packed(state):
        return [pack("<625I", *state[1]), state[2]]

    def take(self, value):
        check(type(value) is list and len(value) == 2, "random state")
        data, gauss = value
        numbers = _numbers_of(data, 625, "random state")
        check(numbers[-1] <= 624 and (gauss is None or type(gauss) is float), "random state")
        random = __import__("random")
        random.setstate((3, numbers, gauss))
        self.told = random.getstate()


class NumpyGenerator(Generator):
    """The state of the functions of numpy.random. A side without numpy has none."""

    @staticmethod
    def now():
        random = sys.modules.get("numpy.random")
        if random is None:
            return None
        kind, words, *rest = random.get_state()
        return [words.astype("<u4").tobytes(), *rest] if kind == "MT19937" else None

    @staticmethod
    def restart(state):
        # The position, too: one set of words lasts for many numbers.
        sys.modules["numpy.random"].seed([state[1], *unpack("<624I", state[0])])

    @staticmethod
    def packed(state):
        return state

    def take(self, value):
        check(type(value) is list and len(value) == 4, "numpy state")
        data, position, has_gauss, gauss = value
        check(is_count(position, 624) and is_count(has_gauss, 1) and type(gauss) is float, "numpy state")
        numbers = _numbers_of(data, 624, "numpy state")
        random = sys.modules.get("numpy.random")
        if random is not None:
            random.set_state(("MT19937", numbers, position, has_gauss, gauss))
        self.told = self.now()


class DecimalContext:
    """The context of decimal arithmetic. In the judge the code's may make the arithmetic of the tests more precise
    and no less: a short or narrow one rounds the difference between a wrong result and the right one away. Tests
    that look at the context get it as it is."""

    PRECISION_MAX = 1 << 16
    FIELDS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")  # as numbers() has them
    TRAPS = ["DivisionByZero", "InvalidOperation", "Overflow"]
    DEFAULT = [28, "ROUND_HALF_EVEN", -999999, 999999, 1, 0, TRAPS]

    def __init__(self, trusts):
        self.trusts = trusts
        self.by_thread = {}  # a context belongs to a thread: what was told of it, and a copy

    @classmethod
    def now(cls, context):
        traps = sorted(signal.__name__ for signal, is_set in context.traps.items() if is_set)
        return [*cls.numbers(context), traps]

    @staticmethod
    def numbers(context):
        return [context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp]

    def note(self, context):
        self.by_thread[get_ident()] = self.numbers(context), context.copy()

    def changes(self):
        decimal = sys.modules.get("decimal")
        if decimal is None:
            return None
        context = decimal.getcontext()
        numbers, copy = self.by_thread.get(get_ident(), (None, None))
        if self.numbers(context) == numbers and context.traps == copy.traps:
            return None
        self.note(context)
        now = self.now(context)
        return None if numbers is None and now == self.DEFAULT else now

    def take(self, value):
        check(type(value) is list and len(value) == 7 and type(value[6]) is list, "decimal context")
        kinds = tuple(map(type, value[:6]))
        check(kinds == (int, str, int, int, int, int), "decimal context")
        check(all(is_text(name) for name in value[6]), "decimal context")
        decimal = __import__("decimal")
        context = decimal.getcontext()
        told = context.copy()
        try:
            for field, part in zip(self.FIELDS, value):
                setattr(told, field, part)
        except (TypeError, ValueError, OverflowError):
            raise WireError("bad decimal context") from None
        for signal in list(told.traps):
            told.traps[signal] = signal.__name__ in value[6]
        if self.trusts:
            for field in self.FIELDS:
                setattr(context, field, getattr(told, field))
            context.traps = told.traps
        elif context.prec < told.prec <= self.PRECISION_MAX:
            context.prec = told.prec
        self.note(context)

    @staticmethod
    def looked_at(text):
        """Returns whether the tests TEXT look at the context, rather than only set it."""
        for part in text.replace(" ", "").split("getcontext()")[1:]:
            place, _, rest = part.partition("=")
            is_set = part.startswith(".") and not rest.startswith("=") and place[1:].isidentifier()
            if not is_set:
                return True
        return False


# WORDS says when a side watches them; the candidate's generators are watched if both sides have the word.
BOTH_WAYS = {
    "environ": Environment,
    "cwd": Directory,
    "random": Generator,
    "numpy": NumpyGenerator,
    "decimal": DecimalContext,
}
GENERATORS = ("random", "numpy")


# --- depth ------------------------------------------------------------------------------------------


class Depth:
    """The recursion limit. Calls that alternate between the two sides also run this program's own frames,
    which must not count: the limit grows with each level. In one process a level would take a frame of each
    side at least, so that there are no more levels than half the limit. IS_BOTTOM says that below the first
    level there is nothing but this program: what the tests call then has as many levels as in a script, less
    those of a few functions of the tests that would be around the call. A plain run, which simple.py may leave
    out, must not fail for want of levels that this one has."""

    FEWER = 2  # and simple.TESTS_FRAMES less, as measured
    PER_LEVEL = 60  # frames of this program between two levels, generously
    HEADROOM = 100  # frames that sending and receiving a message may take
    LEVELS_MAX = 1000  # what the C stack holds, generously

    def __init__(self, is_bottom=False):
        self.level = 0
        self.first = None if is_bottom else self.PER_LEVEL  # of the first level; if None, it is still to be counted
        self.actual = sys.getrecursionlimit()
        self._plan(self.actual)

    def _plan(self, own):
        self.own = own
        self.usual = own + ((self.first or 0) + (self.level - 1) * self.PER_LEVEL if self.level else 0)
        self.raised = self.usual + self.HEADROOM

    def _apply(self):
        try:
            sys.setrecursionlimit(self.usual)
            self.actual = self.usual
        except RecursionError:
            pass  # deeper than that already; the next exchange tries again

    def limit(self):
        """Returns the limit that the program has set."""
        now = sys.getrecursionlimit()
        if now != self.actual:
            self.actual = now
            self._plan(now)
        return self.own

    def set(self, limit):
        self._plan(limit)
        self._apply()

    def enter(self):
        """Begins to run a callback, or a question amid one. Raises RecursionError where one process would."""
        if self.level >= min(self.limit() // 2, self.LEVELS_MAX):
            raise RecursionError("maximum recursion depth exceeded")
        if self.first is None:
            self.first = suite.frames() - self.FEWER
        self.level += 1
        self._plan(self.own)
        self._apply()

    def leave(self):
        self.limit()
        self.level -= 1
        self._plan(self.own)
        self._apply()

    def open(self):
        """Begins an exchange: a message is not to be cut off in its middle by the program's own depth."""
        if sys.getrecursionlimit() != self.actual:
            self.limit()
        sys.setrecursionlimit(self.raised)
        self.actual = self.raised

    def close(self):
        self._apply()
