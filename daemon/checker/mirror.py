# SPDX-License-Identifier: MIT
"""The candidate's end of ambient.py: puts what the tests have changed in place for the code, and collects
what the code changes, prints, warns of and logs. Nobody trusts anything here."""

import builtins
import io
import sys

from states import BOTH_WAYS, GENERATORS, STREAMS, Depth, category_name, mentions

PENDING_MAX = 1 << 18  # characters that wait for the next message
PIECE = 1 << 20  # characters of one text
NAME_MAX = 1000


class Stream:
    """Stands for the stream that the tests have put in the place of sys.stdout or sys.stderr."""

    encoding, errors, newlines, closed, line_buffering = "utf-8", "strict", None, False, False

    def __init__(self, mirror, name, mode):
        self._mirror, self.mode, self.name = mirror, "w", f"<{name}>"
        self._stream, self._is_each = name, mode == "each"
        if mode == "text+buffer":
            self.buffer = Buffer(mirror, name)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"string argument expected, got {type(text).__name__!r}")
        text = str(text)
        if self._is_each:
            self._mirror.call("write", self._stream, text)
        else:
            self._mirror.print(self._stream, text)
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        if self._is_each:
            self._mirror.call("write", self._stream, None)
        elif hasattr(self, "buffer"):
            self._mirror.print(self._stream, None)

    def isatty(self):
        return False

    readable = seekable = isatty

    def writable(self):
        return True

    def close(self):
        pass

    def fileno(self):
        raise io.UnsupportedOperation("fileno")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class Buffer:
    def __init__(self, mirror, name):
        self._mirror, self._stream = mirror, name

    def write(self, data):
        data = bytes(data)
        self._mirror.print(self._stream, data)
        return len(data)

    def flush(self):
        self._mirror.print(self._stream, None)


class Lines:
    """Stands for an input of the tests' that is not a plain io.StringIO."""

    encoding, errors, closed = "utf-8", "strict", False

    def __init__(self, mirror, has_buffer, is_binary=False):
        self._mirror, self._is_binary = mirror, is_binary
        if has_buffer:
            self.buffer = Lines(mirror, False, True)

    def read(self, *size):
        return self._mirror.call("read", "read", size, self._is_binary)

    def readline(self, *size):
        return self._mirror.call("read", "readline", size, self._is_binary)

    def readlines(self, *size):
        return self._mirror.call("read", "readlines", size, self._is_binary)

    def __iter__(self):
        self._mirror.call("read", "iter", (), self._is_binary)
        return self

    def __next__(self):
        for line in self._mirror.call("read", "next", (), self._is_binary):
            return line
        raise StopIteration

    def isatty(self):
        return False

    writable = seekable = isatty

    def readable(self):
        return True

    def fileno(self):
        raise io.UnsupportedOperation("fileno")


class Replaced:
    """Stands for what the tests have put in the place of a function, or, with a PATH, for an attribute of
    it."""

    def __init__(self, mirror, name, path=()):
        self._mirror, self._name, self._path = mirror, name, path
        self.__name__ = name.rpartition(".")[2]

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Replaced(self._mirror, self._name, (*self._path, name))

    def __call__(self, /, *arguments, **keywords):
        streams = {}
        if self._name == "builtins.print":
            for name in STREAMS:
                if keywords.get("file", self) is getattr(sys, name):
                    streams["file"] = name
            if streams:
                del keywords["file"]
        result = self._mirror.call("patched", self._name, [*self._path], arguments, keywords, streams)
        if self._name == "builtins.open":
            return self.file(result, keywords)
        return result

    def file(self, result, keywords):
        if result[0] == "file":
            return File(self._mirror, result[1])
        _, name, mode = result
        given = {key: keywords[key] for key in ("encoding", "errors", "newline") if key in keywords}
        return io.open(name, mode.replace("x", "w"), **given)


class File:
    """Stands for what the tests' own open() has returned."""

    def __init__(self, mirror, number):
        vars(self).update(_mirror=mirror, _number=number)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments, **keywords: self._do(name, arguments, keywords)

    def _do(self, method, arguments=(), keywords=None):
        return self._mirror.call("file", self._number, method, arguments, keywords or {})

    def __enter__(self):
        _, number = self._do("__enter__")
        return self if number == self._number else File(self._mirror, number)

    def __exit__(self, *_):
        self._do("__exit__", (None, None, None))

    def __iter__(self):
        return iter(self._do("__iter__"))


class Logging:
    """Keeps the loggers as the tests have set them, and passes on the records that their handlers would get."""

    def __init__(self, mirror):
        self.mirror, self.told, self.before = mirror, {}, {}
        self.logging = __import__("logging")
        self.original = self.logging.Logger.callHandlers
        self.logging.Logger.callHandlers = lambda logger, record: self.handle(logger, record)

    def put(self, told):
        logging = self.logging
        for name in self.before.keys() - told.keys():
            self.set(name, self.before.pop(name))
        for name, state in told.items():
            logger = logging.getLogger(name) if name else logging.root
            self.before.setdefault(name, [logger.level, logger.propagate, logger.disabled])
            self.set(name, state)
        logging.disable(told[""][4] if "" in told else 0)
        self.told = told

    def set(self, name, state):
        logger = self.logging.getLogger(name) if name else self.logging.root
        logger.setLevel(state[0])
        logger.propagate, logger.disabled = state[1:3]

    def is_wanted(self, logger):
        while logger:
            name = "" if logger is self.logging.root else logger.name
            if name in self.told and self.told[name][3]:
                return True
            logger = logger.parent if logger.propagate else None
        return False

    def handle(self, logger, record):
        if self.is_wanted(logger):
            trace = record.exc_text
            if record.exc_info and not trace:
                trace = self.logging.Formatter().formatException(record.exc_info)
            name = "" if logger is self.logging.root else logger.name[:NAME_MAX]
            where = f"{record.pathname}"[:NAME_MAX], record.lineno
            function = f"{record.funcName or ''}"[:NAME_MAX]
            objects = self.objects_of(record) if self.mirror.sends_objects else (None, {})
            self.mirror.tell("log", name, record.levelno, *where, record.getMessage()[:PIECE], function, trace, *objects)
            if not logger.hasHandlers():
                return  # else it would be printed, as nobody's
        self.original(logger, record)

    def objects_of(self, record):
        """Returns the exception of which RECORD tells, or None, and what the code has added to it (`extra`)."""
        error = record.exc_info[1] if type(record.exc_info) is tuple and len(record.exc_info) == 3 else None
        plain = vars(self.logging.LogRecord("", 0, "", 0, "", None, None)).keys() | {"message", "asctime"}
        extra = {name: value for name, value in vars(record).items() if type(name) is str and name not in plain}
        return error if isinstance(error, BaseException) else None, extra


class Mirror:
    """The candidate's end. CALL(kind, *arguments) asks the judge in the midst of a question, and returns
    what Ambient.called() returns there or raises what it raises; the message carries outgoing(), as each
    message does. If SENDS_OBJECTS, a message can carry warnings and exceptions of the code."""

    def __init__(self, call, sends_objects=False):
        self.call = call
        self.sends_objects = sends_objects
        self.depth = Depth(is_bottom=True)
        self.events, self.size = [], 0
        self.placed = {}  # name in sys: (what stands there for the tests' object, what was there before)
        self.input, self.input_at = None, 0
        self.patched = {}  # name: (dictionary of the module, attribute, stand-in, what was there before)
        self.constants = {}  # the same of plain data
        self.logging = None
        self.shows = None
        self.text, self.wants, self.greeting = "", (), None
        self.states = {}
        self.watched = {}
        self.undrawn = []  # generators from which the code has drawn nothing yet

    # --- what the tests have changed ---

    def loading(self, text):
        """Says what program is about to run: prelude and code."""
        self.text = text.lower()
        self.watch()
        uses = [name for name in GENERATORS if name in self.wants and mentions(self.text, name)]
        self.greeting = {"uses": uses} if uses else None
        self.undrawn = uses

    def watch(self):
        """Decides what is looked at before each answer."""
        for name in BOTH_WAYS:
            if mentions(self.text, name) and name not in GENERATORS:
                self.watched[name] = self.state(name)

    def state(self, name):
        if name not in self.states:
            self.states[name] = BOTH_WAYS[name](trusts=True)
        return self.states[name]

    def incoming(self, changed):
        for name, value in changed.items():
            if name in BOTH_WAYS:
                self.state(name).take(value)
            else:
                getattr(self, f"put_{name}")(value)

    def put_wants(self, names):
        self.wants = names
        for name in names:
            if name not in GENERATORS:
                self.state(name)  # as it is before the code runs

    def put_stdout(self, mode):
        self.put_stream("stdout", mode)

    def put_stderr(self, mode):
        self.put_stream("stderr", mode)

    def put_stream(self, name, mode):
        stands = {"own": None, "none": None}.get(mode, mode) and Stream(self, name, mode)
        self.place(name, mode == "own", stands)

    def put_stdin(self, told):
        mode, *text = told
        self.input, self.input_at = None, 0
        if mode == "own":
            return self.place("stdin", True, None)
        if mode == "text":
            self.input = io.StringIO(*text)
        return self.place("stdin", False, self.input or Lines(self, mode == "buffer"))

    def place(self, name, is_own, stands):
        now = getattr(sys, name, None)
        known = self.placed.pop(name, None)
        before = known[1] if known else now
        if not is_own:
            self.placed[name] = stands, before
            setattr(sys, name, stands)
        elif known and now is known[0]:  # else the code has put something there itself
            setattr(sys, name, before)

    def put_argv(self, parts):
        sys.argv[:] = parts

    def put_path(self, parts):
        sys.path[:] = parts

    def put_limit(self, limit):
        self.depth.set(limit)

    def put_patched(self, names):
        for name in [name for name in self.patched if name not in names]:
            members, attribute, stands, before = self.patched.pop(name)
            if members.get(attribute) is stands:
                members[attribute] = before
        for name in names:
            if name not in self.patched:
                module, _, attribute = name.rpartition(".")
                __import__(module)
                members = vars(sys.modules[module])
                stands = Replaced(self, name)
                self.patched[name] = members, attribute, stands, members.get(attribute)
                members[attribute] = stands

    def put_constants(self, told):
        for name in [name for name in self.constants if name not in told]:
            members, attribute, stands, before = self.constants.pop(name)
            if members.get(attribute) is stands:
                members[attribute] = before
        for name, value in told.items():
            module, _, attribute = name.rpartition(".")
            __import__(module)
            members = vars(sys.modules[module])
            before = self.constants[name][3] if name in self.constants else members.get(attribute)
            self.constants[name] = members, attribute, value, before
            members[attribute] = value

    def original(self, value):
        """Returns what was there before, if VALUE stands for what the tests have put in its place."""
        return next((before for _, _, stands, before in self.patched.values() if stands is value), value)

    def put_warnings(self, told):
        is_recorded, filters = told
        warnings, re = __import__("warnings"), __import__("re")
        if self.shows is None:
            self.shows = warnings._showwarnmsg_impl
        if warnings._showwarnmsg_impl in (self.shows, self.warned):  # not in the code's own catch_warnings()
            warnings._showwarnmsg_impl = self.warned if is_recorded else self.shows
        entries = []
        for action, message, category, module, line in filters:
            message = message and re.compile(message, re.I)
            module = module and re.compile(module)
            entries.append((action, message, getattr(builtins, category), module, line))
        warnings.resetwarnings()  # also forgets what has been shown once
        warnings.filters[:] = entries

    def warned(self, message):
        category, warning = message.category, message.message
        is_built_in = getattr(builtins, category.__name__, None) is category
        told = category_name(category) if is_built_in or not self.sends_objects else warning
        where = f"{message.filename}"[:NAME_MAX], message.lineno
        self.tell("warning", told, f"{warning}"[:PIECE], *where)

    def put_loggers(self, told):
        if self.logging is None and "logging" in self.text:
            self.logging = Logging(self)
        if self.logging:
            self.logging.put(told)

    # --- what the code has changed ---

    def print(self, stream, data):
        while data is not None and len(data) > PIECE:
            self.print(stream, data[:PIECE])
            data = data[PIECE:]
        self.tell(stream, data)

    def tell(self, *event):
        self.events.append(event)
        self.size += 64 + sum(len(part) for part in event if isinstance(part, (str, bytes)))
        if self.size > PENDING_MAX:
            self.call("events", self.taken())

    def taken(self):
        """Returns the events in order, and text for the same stream as one."""
        events, self.events, self.size = self.events, [], 0
        found, run = [], []
        for event in [*events, (None, None)]:
            if run and (event[0] != run[0][0] or type(event[1]) is not type(run[0][1])):
                found += self.joined(run)
                run = []
            run.append(event)
        return found

    @staticmethod
    def joined(run):
        kind, first = run[0][:2]
        if kind not in STREAMS or first is None:
            return run
        return [(kind, type(first)().join([data for _, data in run]))]

    def look_for_draws(self):
        drawn = [name for name in self.undrawn if self.state(name).has_drawn()]
        if drawn:
            self.undrawn = [name for name in self.undrawn if name not in drawn]
            self.greeting = {**(self.greeting or {}), "draws": drawn}

    def outgoing(self):
        """Returns what has happened and changed here since the judge was last told, or None."""
        if self.undrawn:
            self.look_for_draws()
        if not self.events and not self.watched and self.input is None and self.greeting is None:
            return None
        changed, self.greeting = self.greeting or {}, None
        if self.events:
            changed["events"] = self.taken()
        for name, state in self.watched.items():
            value = state.changes()
            if value is not None:
                changed[name] = value
        if self.input is not None and not self.input.closed and self.input.tell() != self.input_at:
            changed["stdin"] = self.input_at = self.input.tell()
        return changed or None
