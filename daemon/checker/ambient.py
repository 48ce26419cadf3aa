# SPDX-License-Identifier: MIT
"""State of the process that plain Python code and its tests would share: the judge's end. mirror.py is the
candidate's.

It crosses only when it has changed, as a dictionary that a message carries. What the tests change is in force
in the candidate before the next question; what the code changes, prints, warns of or logs arrives here with
the next answer, or before a callback. Nothing is read from a clock, so a replay sends the same.

The judge believes nothing: all that arrives has an exact type and a bound, or WireError says that it has
not. The candidate can change only what the code could change in one process; it cannot replace a function,
change what the judge's children load, or write where the tests have not put a stream of their own."""

import builtins
import io
import sys

from captures import Captures
from states import (
    BOTH_WAYS, GENERATORS, STREAMS, DecimalContext, Depth, category_name, check, is_count, is_text, mentions,
)  # fmt: skip
from wire import WireError

EVENTS_MAX = 100000  # in one message
TEXT_MAX = 4 << 20  # characters of one text
STDIN_MAX = 2 << 20  # characters of an input that is handed over in one piece


def _is_own_method(value, kind):
    """Returns whether VALUE's write() is exactly what KIND, a class of the module io, defines."""
    of_class = type(value)
    return issubclass(of_class, kind) and of_class.write is kind.write and "write" not in vars(value)


class Streams:
    """sys.stdout and sys.stderr. Modes: own (the candidate's own), none, text (what is written may arrive
    in larger parts), text+buffer, each (each write() is a callback)."""

    def __init__(self):
        self.own = [getattr(sys, name) for name in STREAMS]
        self.own += [getattr(sys, f"__{name}__") for name in STREAMS]
        self.told = dict.fromkeys(STREAMS, "own")

    def mode(self, name):
        stream = getattr(sys, name, None)
        if any(stream is own for own in self.own):
            return "own"
        if stream is None:
            return "none"
        if _is_own_method(stream, io.StringIO):
            return "text"
        if _is_own_method(stream, io.TextIOWrapper):
            return "text+buffer"
        return "each"

    def changes(self):
        modes = {name: self.mode(name) for name in STREAMS}
        changed = {name: modes[name] for name in STREAMS if modes[name] != self.told[name]}
        self.told = modes
        return changed

    def write(self, name, data):
        """Writes what the candidate printed: text, bytes, or None to flush."""
        stream = getattr(sys, name, None)
        if self.mode(name) in ("own", "none"):
            return None  # nothing of the candidate's gets into the judge's own streams
        if data is None:
            return stream.flush()
        if type(data) is bytes:
            return stream.buffer.write(data)
        return stream.write(data)


class Input:
    """sys.stdin. An io.StringIO is handed over as the text that is left, and the candidate tells how much
    of it it has read. Of any other stream of the tests' the candidate asks for lines."""

    METHODS = ("read", "readline", "readlines")

    def __init__(self):
        self.iterator = None
        self.own = sys.stdin, sys.__stdin__
        self.stream = None  # what the candidate has been told about
        self.text, self.base, self.at = "", 0, 0  # told from BASE on; read up to AT

    def is_own(self):
        return sys.stdin is None or any(sys.stdin is own for own in self.own)

    def changes(self):
        if self.is_own():
            changed = None if self.stream is None else ["own"]
            self.stream = None
            return changed
        stream = sys.stdin
        if type(stream) is io.StringIO and not stream.closed:
            return self.text_changes(stream)
        if stream is self.stream:
            return None
        self.stream, self.text = stream, None
        return ["buffer" if self.has_buffer(stream) else "lines"]

    @staticmethod
    def has_buffer(stream):
        """Does not ask the object's own __getattr__(): of a stand-in that would be another question."""
        if type(stream).__module__ == "unittest.mock":
            return True
        try:
            object.__getattribute__(stream, "buffer")
        except AttributeError:
            return False
        return True

    def text_changes(self, stream):
        text, at = stream.getvalue(), stream.tell()
        if stream is self.stream and at == self.at and text == self.text:
            return None
        self.stream, self.text, self.base, self.at = stream, text, at, at
        return ["text", text[at:]] if len(text) - at <= STDIN_MAX else ["lines"]

    def take(self, position):
        """Applies that the candidate has read the text that it was told of up to POSITION."""
        check(is_count(position, STDIN_MAX), "input")
        if sys.stdin is self.stream and type(self.stream) is io.StringIO and not self.stream.closed:
            self.at = min(len(self.text), self.base + position)
            self.stream.seek(self.at)

    def read(self, method, sizes, is_binary):
        """Returns what a method of the tests' input returns; for "next" a list of a line, empty at the
        end."""
        check(type(sizes) is tuple and len(sizes) <= 1, "input")
        check(all(size is None or type(size) is int for size in sizes), "input")
        check(type(is_binary) is bool and is_text(method), "input")
        stream = None if self.is_own() else sys.stdin
        if stream is not None and is_binary:
            stream = stream.buffer
        if method == "iter":
            self.iterator = iter(stream or ())
            return None
        if method == "next":
            return [line for _, line in zip(range(1), self.iterator or ())]
        check(method in self.METHODS, "input")
        if stream is None:
            return b"" if is_binary else ""
        return getattr(stream, method)(*sizes)


class Path:
    """sys.argv and sys.path, as the tests have them."""

    def __init__(self):
        self.argv, self.path = list(sys.argv), list(sys.path)

    def changes(self):
        changed = {}
        for name in ("argv", "path"):
            now = getattr(sys, name)
            if now != getattr(self, name):
                setattr(self, name, list(now))
                changed[name] = [part for part in now if type(part) is str]
        return changed


class Filters:
    """The filters of the module warnings, and whether the tests record what is shown."""

    def __init__(self):
        warnings = __import__("warnings")
        self.shows = warnings._showwarnmsg_impl, warnings.showwarning
        self.note(False)

    def note(self, told):
        # Each catch_warnings() makes a new list, and what has been shown once may be shown again.
        self.told, self.filters = told, sys.modules["warnings"].filters
        self.seen = list(self.filters)

    def is_recorded(self):
        warnings = sys.modules["warnings"]
        now = warnings._showwarnmsg_impl, warnings.showwarning
        return now[0] is not self.shows[0] or now[1] is not self.shows[1]

    def changes(self):
        is_recorded = self.is_recorded()
        filters = sys.modules["warnings"].filters
        if is_recorded == self.told and filters is self.filters and filters == self.seen:
            return None
        self.note(is_recorded)
        return [is_recorded, [self.plain(entry) for entry in self.seen]]

    @staticmethod
    def plain(entry):
        action, message, category, module, line = entry
        patterns = [getattr(part, "pattern", part) for part in (message, module)]
        return [action, patterns[0], category_name(category), patterns[1], line]

    def issue(self, told, text, filename, line):
        """Hands a warning that has passed the candidate's filters to what the tests record with. TOLD is the warning,
        if its class is the code's, or the name of its class."""
        category = getattr(builtins, told, None) if is_text(told) else type(told)
        check(isinstance(category, type) and issubclass(category, Warning), "warning")
        check(is_text(text, TEXT_MAX) and is_text(filename) and is_count(line, 1 << 30), "warning")
        if not self.is_recorded():
            return
        warnings = sys.modules["warnings"]
        try:
            warning = category(text) if is_text(told) else told
            warnings._showwarnmsg(warnings.WarningMessage(warning, category, filename, line))
        except Exception:
            pass  # of the tests' function


class Loggers:
    """The loggers that the tests have changed: {name: [level, propagate, disabled, has handlers]}, and
    below "" the root logger and the level that logging.disable() has set."""

    def __init__(self):
        self.told = {}

    @staticmethod
    def state(logger):
        return [logger.level, bool(logger.propagate), bool(logger.disabled), bool(logger.handlers)]

    def now(self):
        logging = sys.modules.get("logging")
        if logging is None:
            return {}
        manager = logging.root.manager
        root = [*self.state(logging.root), manager.disable]
        found = {} if root == [logging.WARNING, True, False, False, 0] else {"": root}
        for name in sorted(manager.loggerDict):
            logger = manager.loggerDict[name]
            if isinstance(logger, logging.Logger) and self.state(logger) != [0, True, False, False]:
                found[name] = self.state(logger)
        return found

    def changes(self):
        now = self.now()
        if now == self.told:
            return None
        self.told = now
        return now

    @staticmethod
    def issue(name, level, filename, line, message, function, trace, error, extra):
        """Hands a record of the candidate's to the handlers of the tests. ERROR is the exception of which it tells; EXTRA
        is what the code has added to it."""
        check(is_text(name) and is_text(filename) and is_text(function), "log record")
        check(is_text(message, TEXT_MAX) and (trace is None or is_text(trace, TEXT_MAX)), "log record")
        check(is_count(level, 1 << 30) and is_count(line, 1 << 30), "log record")
        check((error is None or isinstance(error, BaseException)) and type(extra) is dict, "log record")
        logging = sys.modules.get("logging")
        if logging is None:
            return
        logger = logging.getLogger(name) if name else logging.root
        if not logger.hasHandlers():
            return  # the candidate has printed it
        about = error and (type(error), error, None)
        record = logging.LogRecord(logger.name, level, filename, line, message, None, about, function)
        record.exc_text = trace
        vars(record).update((name, value) for name, value in extra.items() if name not in vars(record))
        try:
            logger.handle(record)
        except Exception:
            pass  # of a handler of the tests; logging reports its own


def _is_dotted(text):
    return "." in text and all(part.isidentifier() for part in text.split("."))


def assigned_names(text):
    """Returns the dotted names in the program TEXT that it may replace: {"time.sleep"} for
    `patch("time.sleep")`, `patch.object(time, "sleep")` and `time.sleep = fake`."""
    found = {line.partition("=")[0].strip() for line in text.replace(";", "\n").splitlines()}
    lowered = text.lower()
    if mentions(lowered, "patched"):
        found.update(text.replace('"', "'").split("'"))
        for call in text.split("(")[1:]:
            parts = [part.strip(" )'\"\n") for part in call.split(",")[:2]]
            found.add(".".join(parts))
    found.update([name.removeprefix("__main__.") for name in found])
    return {name for name in found if _is_dotted(name)}


class Patches:
    """Functions of Python's modules that the tests have replaced. In the candidate each becomes a function
    that calls the tests' object here."""

    ALWAYS = ("input", "open", "print")  # of builtins
    # The candidate's end needs these for itself, or they are state that crosses in another way; the last
    # two do things when they are imported.
    NOT = ("sys", "builtins", "os.read", "os.write", "warnings.showwarning", "this", "antigravity")
    FILES = (io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper)
    METHODS = """__enter__ __exit__ __iter__ close flush read readline readlines seek tell truncate write
    writelines""".split()  # of what a replaced open() returns
    FILES_MAX = 10000

    def __init__(self, text):
        # By name: (dictionary of the module, attribute, original)
        self.originals = {f"builtins.{name}": (vars(builtins), name, vars(builtins)[name]) for name in self.ALWAYS}
        self.told = []
        self.files = []
        for name in sorted(assigned_names(text)):
            module, _, attribute = name.rpartition(".")
            if not self.is_left_out(name, module):
                self.watch(name, module, attribute)

    def is_left_out(self, name, module):
        if module in self.NOT or name in self.NOT:
            return True
        return module.partition(".")[0] not in sys.stdlib_module_names

    def watch(self, name, module, attribute):
        try:
            __import__(module)
            members = vars(sys.modules[module])
        except Exception:
            return
        if callable(members.get(attribute)):
            self.originals[name] = members, attribute, members[attribute]

    def replacement(self, name):
        """Returns the object that the tests have put there, or None. Python's own classes and functions of
        C modules are none: some run text or look into objects."""
        members, attribute, original = self.originals[name]
        now = members.get(attribute)
        if now is original or not callable(now):
            return None
        if isinstance(now, type) and now.__module__.partition(".")[0] in sys.stdlib_module_names:
            return None
        is_of_module = type(now) is type(len) and (now.__self__ is None or type(now.__self__) is type(sys))
        return None if is_of_module else now

    def is_changed(self):
        return any(members.get(name) is not original for members, name, original in self.originals.values())

    def changes(self):
        if not self.told and not self.is_changed():
            return None
        now = [name for name in self.originals if self.replacement(name) is not None]
        if now == self.told:
            return None
        self.told = now
        return now

    def call(self, name, path, arguments, keywords, streams):
        """Calls what the tests have put in the place of the function NAME; PATH leads to an attribute of a
        mock. STREAMS are the keywords whose value is sys.stdout or sys.stderr."""
        check(is_text(name) and name in self.originals, "call")
        check(type(path) is list and all(is_text(part) for part in path), "call")
        check(type(arguments) is tuple and type(keywords) is dict and type(streams) is dict, "call")
        check(all(type(key) is str for key in (*keywords, *streams)), "call")
        check(all(is_text(stream) and stream in STREAMS for stream in streams.values()), "call")
        target = self.replacement(name)
        if target is None:
            raise TypeError(f"{name} is not the tests' own")
        for part in path:
            target = self.attribute(target, part)
        keywords = {**keywords, **{key: getattr(sys, stream) for key, stream in streams.items()}}
        result = target(*arguments, **keywords)
        return self.file(result) if name == "builtins.open" else result

    @staticmethod
    def attribute(target, name):
        if isinstance(target, type) and not name.startswith("_"):
            # A class of the tests: what it defines itself, and not what it has from the class that it replaces.
            if any(name in vars(one) for one in target.__mro__ if one.__module__ == "__main__"):
                return getattr(target, name)
        is_mock = type(target).__module__ == "unittest.mock"
        if not is_mock or name.startswith(("_", "assert")) or hasattr(type(target), name):
            raise AttributeError(name)
        return getattr(target, name)

    def file(self, value):
        """Returns how the candidate uses the file VALUE that a replaced open() has returned. A real file it
        opens itself, since through the judge it could read what is the judge's."""
        if isinstance(value, self.FILES):
            name, mode = value.name, getattr(value, "mode", "r")
            value.close()
            return ["real", name if type(name) is str else "", mode if type(mode) is str else "r"]
        for number, known in enumerate(self.files):
            if known is value:
                return ["file", number]
        if len(self.files) >= self.FILES_MAX:
            raise OSError("too many open files")
        self.files.append(value)
        return ["file", len(self.files) - 1]

    def use_file(self, number, method, arguments, keywords):
        check(is_count(number, len(self.files) - 1), "file")
        check(is_text(method) and method in self.METHODS, "file")
        check(type(arguments) is tuple and type(keywords) is dict, "file")
        check(all(type(key) is str for key in keywords), "file")
        value = self.files[number]
        if method == "__iter__":
            return list(value)
        result = getattr(value, method)(*arguments, **keywords)
        if method == "__enter__":
            return self.file(result)
        return None if method in ("__exit__", "close", "flush") else result


class Constants:
    """Plain data of Python's modules that the tests have replaced: `patch("sys.platform", "win32")`."""

    # Of `sys`, of which the rest is state that crosses in another way, or the interpreter's.
    OF_SYS = frozenset("platform version version_info hexversion maxsize byteorder executable prefix".split())
    PLAIN = (bool, int, float, str, bytes, tuple, type(None), type(sys.version_info))
    TEXT_MAX = 1000

    def __init__(self, text):
        self.originals, self.told = {}, {}  # by name: (dictionary of the module, attribute, original)
        for name in sorted(assigned_names(text)):
            module, _, attribute = name.rpartition(".")
            if module.partition(".")[0] in sys.stdlib_module_names and self.may_be(module, attribute):
                self.watch(name, module, attribute)

    def may_be(self, module, attribute):
        is_left_out = module in Patches.NOT or attribute.startswith("__")
        return attribute in self.OF_SYS if module == "sys" else not is_left_out

    def watch(self, name, module, attribute):
        try:
            __import__(module)
            members = vars(sys.modules[module])
        except Exception:
            return
        if attribute in members and type(members[attribute]) in self.PLAIN:
            self.originals[name] = members, attribute, members[attribute]

    def is_plain(self, value):
        if type(value) is tuple:
            return len(value) <= self.TEXT_MAX and all(type(one) is not tuple and self.is_plain(one) for one in value)
        is_short = type(value) in (bool, float, type(None)) or type(value) is int and abs(value) < 1 << 64
        return is_short or type(value) in (str, bytes) and len(value) <= self.TEXT_MAX

    def changes(self):
        now = {}
        for name, (members, attribute, original) in self.originals.items():
            value = members.get(attribute)
            if value is not original and self.is_plain(value):
                now[name] = value
        if repr(now) == repr(self.told):
            return None
        self.told = now
        return now


class Ambient:
    """The judge's end. TEXT is the program of the tests: prelude, setup, targets."""

    def __init__(self, text):
        lowered = text.lower()
        self.depth = Depth()
        self.limit = self.depth.own
        self.streams, self.input, self.path = Streams(), Input(), Path()
        self.captures = Captures()
        self.patches = Patches(text)
        self.states = {"environ": BOTH_WAYS["environ"](trusts=False)}
        self.trusts = {"decimal"} if DecimalContext.looked_at(text) else ()
        self.wants = [name for name in BOTH_WAYS if mentions(lowered, name)]
        self.greeting = {"wants": self.wants} if self.wants else None
        self.filters = Filters() if mentions(lowered, "warnings") else None
        self.loggers = Loggers() if mentions(lowered, "loggers") else None
        # What is looked at before each question.
        self.watched = {name: self.state(name) for name in self.wants if name not in GENERATORS}
        if self.filters:
            self.watched["warnings"] = self.filters
        if self.loggers:
            self.watched["loggers"] = self.loggers
        if len(self.patches.originals) > len(Patches.ALWAYS):
            self.watched["patched"] = self.patches
        constants = Constants(text)
        if constants.originals:
            self.watched["constants"] = constants
        self.note()

    def state(self, name):
        if name not in self.states:
            self.states[name] = BOTH_WAYS[name](trusts=name in self.trusts)
        return self.states[name]

    def note(self):
        """Remembers what outgoing() compares with."""
        self.out, self.error, self.stdin = sys.stdout, sys.stderr, sys.stdin
        self.print, self.ask, self.open = builtins.print, builtins.input, builtins.open
        if self.input.is_own():
            self.watched.pop("stdin", None)
        else:
            self.watched["stdin"] = self.input  # its position changes, too

    def outgoing(self):
        """Returns what has changed here since the candidate was last told, or None."""
        changed = None
        if (
            sys.stdout is not self.out
            or sys.stdin is not self.stdin
            or sys.stderr is not self.error
            or builtins.print is not self.print
            or builtins.input is not self.ask
            or builtins.open is not self.open
            or self.depth.own != self.limit
            or sys.getrecursionlimit() != self.depth.actual
            or sys.argv != self.path.argv
            or sys.path != self.path.path
            or self.greeting
        ):
            changed = self.usual_changes()
        if self.watched:
            changed = self.changes_of(self.watched, changed or {})
        return changed or None

    @staticmethod
    def changes_of(parts, changed):
        for name, part in parts.items():
            value = part.changes()
            if value is not None:
                changed[name] = value
        return changed

    def usual_changes(self):
        changed, self.greeting = self.greeting or {}, None
        changed.update(self.streams.changes())
        changed.update(self.path.changes())
        self.changes_of({"stdin": self.input, "patched": self.patches}, changed)
        if self.depth.limit() != self.limit:
            self.limit = changed["limit"] = self.depth.own
        self.note()
        return changed

    def incoming(self, changed):
        """Applies what the candidate tells. Raises WireError if it is not what a Mirror tells."""
        check(type(changed) is dict and all(map(is_text, changed)), "state")
        for name, value in changed.items():
            if name == "events":
                self.happened(value)
            elif name == "stdin":
                self.input.take(value)
            elif name == "uses":
                self.use(value)
            elif name == "draws":
                self.draw(value)
            elif name in BOTH_WAYS and name not in GENERATORS:  # the tests draw their own numbers
                self.state(name).take(value)
            else:
                raise WireError("unknown state")

    def use(self, names):
        """The code may use these generators, so that it needs to be told of them."""
        check(type(names) is list and all(map(is_text, names)), "state")
        for name in names:
            if name in GENERATORS and name in self.wants:
                self.watched[name] = self.state(name)

    def draw(self, names):
        """The code has drawn numbers from these generators."""
        check(type(names) is list and all(map(is_text, names)), "state")
        for name in names:
            if name in GENERATORS and name in self.watched:
                self.watched[name].leave()

    def happened(self, events):
        """What the code printed, warned of and logged, in order."""
        check(type(events) is list and len(events) <= EVENTS_MAX, "events")
        for event in events:
            check(type(event) is tuple and event and is_text(event[0]), "event")
            kind, *parts = event
            if kind in STREAMS and len(parts) == 1:
                self.printed(kind, parts[0])
            elif kind == "warning" and len(parts) == 4 and self.filters:
                self.filters.issue(*parts)
            elif kind == "log" and len(parts) == 9 and self.loggers:
                self.loggers.issue(*parts)
            else:
                raise WireError("bad event")

    def printed(self, name, data):
        check(data is None or type(data) in (str, bytes) and len(data) <= TEXT_MAX, "output")
        try:
            self.streams.write(name, data)
        except Exception:
            pass  # closed, or a text that the stream's encoding does not have

    def called(self, kind, arguments):
        """Answers a request that the candidate's end makes in the midst of a question. Raises what the
        tests' object raises."""
        check(type(kind) is str and type(arguments) is tuple, "request")
        answer, count = {
            "events": (self.happened, 1),
            "captured": (self.captures.take, 0),
            "write": (self.write, 2),
            "read": (self.input.read, 3),
            "patched": (self.patches.call, 5),
            "file": (self.patches.use_file, 4),
        }.get(kind, (None, 0))
        check(answer is not None and len(arguments) == count, "request")
        return answer(*arguments)

    def write(self, name, data):
        check(is_text(name) and name in STREAMS and (data is None or is_text(data, TEXT_MAX)), "output")
        return self.streams.write(name, data)
