# SPDX-License-Identifier: MIT
"""Makes a judge that records or replays read through its transcript whatever differs from run to run (clocks,
random numbers, process ids). Finds out what a transcript cannot hold: threads, other processes, files that the
code has written, addresses in memory, and clocks that are read in other ways.

What the tests do with files of their own they do again in a replay. A file that they read must be one that
they have written themselves and that the code has not changed since."""

import os
import sys

from unrepeatable import OF_SQLITE_FUNCTIONS, reason_against

CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
          "process_time_ns", "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns")  # fmt: skip
# Functions of `time` that read the clock if they are given no time: the number of arguments before it.
OF_NOW = {"localtime": 0, "gmtime": 0, "ctime": 0, "strftime": 1, "asctime": 0}
NUMBERS = ("getpid", "getppid", "cpu_count", "getpgrp")
DEVICES = ("/dev/random", "/dev/urandom")
# Audit events.
PROCESSES = ("subprocess.Popen", "os.fork", "os.forkpty", "os.system", "os.exec", "os.posix_spawn", "os.spawn",
             "pty.spawn")  # fmt: skip
REMOVING = ("os.remove", "os.rmdir", "os.rename", "os.truncate", "os.link")
SYSTEM = ("/proc", "/sys", "/dev", "/run", "/var/run")
STEADY = ("/dev/null", "/dev/zero", "/dev/shm")
LISTING = ("os.listdir", "os.scandir")
MAKING = ("os.mkdir", "os.symlink")
HERE = ("/tmp", "/dev/shm")
SQLITE_FUNCTION = 31
# What starts a thread, in several versions of Python.
STARTING = [(module, name) for module in ("_thread", "threading")
            for name in ("start_new_thread", "start_new", "_start_new_thread", "start_joinable_thread",
                         "_start_joinable_thread")]  # fmt: skip


# --- what is read through the transcript ------------------------------------------------------------


def observe(link, text):
    """Makes the clocks and random numbers come through LINK.transcript. TEXT is the text of the tests."""
    events = link.transcript
    time = sys.modules["time"]

    def replace(module, name, make):
        original = getattr(module, name)
        replacement = make(original)
        replacement.__name__ = replacement.__qualname__ = name
        replacement.__module__ = module.__name__
        if original.__module__ != module.__name__:  # where it is found, the other side looks it up
            link.observed[id(replacement)] = original
        setattr(module, name, replacement)

    def read_through(original):
        kind = float if original.__name__ in CLOCKS and not original.__name__.endswith("_ns") else int
        return lambda *arguments: events.read(lambda: original(*arguments), kind)

    for name in CLOCKS:
        replace(time, name, read_through)
    now = time.time
    for name, before in OF_NOW.items():
        local = time.localtime
        replace(time, name, lambda original, name=name, before=before: of_now(original, name, before, now, local))
    for name in NUMBERS:
        replace(os, name, read_through)
    replace(os, "urandom", lambda original: lambda size, /: events.read(lambda: original(size), bytes, size))
    seed_through(events)
    if "uuid" in text:
        uuid = __import__("uuid")
        uuid._generate_time_safe = uuid._UuidCreate = None
        replace(uuid, "getnode", read_through)
    if "sqlite3" in text:
        replace(__import__("sqlite3"), "connect", lambda original: listening(original, events.refuse))


def listening(connect, refuse):
    """Returns sqlite3.connect() with connections that tell which functions of SQLite's the tests use."""

    def authorize(action, _what, function, *_where):
        if action == SQLITE_FUNCTION and f"{function}".lower() in OF_SQLITE_FUNCTIONS:
            refuse("the tests have SQLite look at the clock or draw random numbers")
        return 0  # SQLITE_OK

    def connected(*arguments, **keywords):
        connection = connect(*arguments, **keywords)
        connection.set_authorizer(authorize)
        return connection

    return connected


def of_now(original, name, before, now, local):
    """Returns ORIGINAL with the time that NOW() says, if it is called without one."""

    def at_a_time(*arguments):
        if len(arguments) == before or len(arguments) == before + 1 and arguments[before] is None:
            told = local(now()) if name in ("strftime", "asctime") else now()
            arguments = (*arguments[:before], told)
        return original(*arguments)

    return at_a_time


def seed_through(events):
    """Gives each generator of `random` that nobody seeds a seed that a replay can give it, too."""
    random = __import__("random")
    random._urandom = os.urandom
    original = random.Random.seed

    def seed(self, a=None, version=2):
        if a is None:
            a = int.from_bytes(os.urandom(32), "big")
        return original(self, a, version)

    seed.__qualname__ = original.__qualname__
    seed.__doc__ = original.__doc__
    random.Random.seed = seed
    random.seed = random._inst.seed
    random.seed()


# --- what no transcript has -------------------------------------------------------------------------


def state_of(path):
    """Returns what changes when a file does; None if there is no file. What is in a directory counts when it is
    listed."""
    try:
        found = RAW_STAT(path, follow_symlinks=False)
    except OSError:
        return None
    if found.st_mode & 0o170000 == 0o040000:
        return found.st_ino, found.st_mode
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns


RAW_STAT, RAW_LIST, RAW_CWD = os.stat, os.listdir, os.getcwd
# Where modules come from, as it is before any test runs: nothing of the code lies there.
LIBRARY = tuple(place + "/" for place in sys.path if place.startswith("/"))


def asks_for_processor(frame, arguments):
    """Returns whether Python's library runs `uname -p`, as it does when pandas is imported: nobody sees more of that
    process than what the processor is called."""
    if ["uname", "-p"] not in arguments:
        return False
    while frame is not None and frame.f_globals.get("__name__") == "subprocess":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == sys.modules["platform"].__file__


class Watch:
    """Watches what the tests do, for the recorder of LINK."""

    def __init__(self, link):
        self.observed = link.observed
        self.recorder = recorder = link.transcript
        self.root = RAW_CWD()
        self.areas = (self.root, *HERE)
        self.made = {self.root + "/tmp", *self.areas}  # by the tests: files and directories
        self.theirs = set()  # of these, what the code has changed
        self.states = {}
        self.is_busy = False
        recorder.before_sent, recorder.after_received = self.before_sent, self.after_received

    def begin(self):
        sys.addaudithook(self.hook)
        for name in ("stat", "lstat", "access", "readlink"):  # they raise no audit events
            setattr(os, name, self.looking(getattr(os, name), name))
        for module, name in STARTING:
            original = getattr(sys.modules[module], name, None)
            if original is not None:
                setattr(sys.modules[module], name, self.starting(original))

    def starting(self, original):
        def start(*arguments, **keywords):
            self.guarded(self.recorder.refuse, "the tests start threads")
            return original(*arguments, **keywords)

        return start

    def looking(self, original, name):
        def look(path, *arguments, **keywords):
            if keywords.get("dir_fd") is None:
                self.guarded(self.look, path)
            return original(path, *arguments, **keywords)

        look.__name__ = look.__qualname__ = name
        self.observed[id(look)] = original
        # shutil looks here for what removes a tree by descriptors.
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if original in able:
                able.add(look)
        return look

    def before_sent(self):
        files = self.made - {self.root + "/tmp", *self.areas} if len(self.made) > 4 else ()
        self.states = {path: state_of(path) for path in files}

    def after_received(self):
        for path, state in self.states.items():
            if state_of(path) != state:
                self.theirs.add(path)

    def guarded(self, function, *arguments):
        if self.is_busy or self.recorder.is_silent():
            return
        self.is_busy = True
        try:
            function(*arguments)
        except Exception as error:  # nothing that the tests would see
            self.recorder.refuse(f"it cannot be told what the tests do ({type(error).__name__})")
        finally:
            self.is_busy = False

    def hook(self, event, arguments):
        if event == "open":
            self.guarded(self.open, *arguments)
        elif event in PROCESSES and not asks_for_processor(sys._getframe(1), arguments):
            self.guarded(self.recorder.refuse, "the tests start processes")
        elif event in MAKING:
            self.guarded(self.make, arguments[0 if event == "os.mkdir" else 1])
        elif event in REMOVING:
            self.guarded(self.remove, event, arguments)
        elif event in LISTING:
            self.guarded(self.list, arguments[0])
        elif event == "os.chdir":  # also where the tests follow the code
            self.guarded(self.look, arguments[0])
        elif event == "sqlite3.connect":
            self.guarded(self.connect, arguments[0])
        elif event in ("socket.connect", "socket.bind"):
            self.guarded(self.recorder.refuse, "the tests use sockets")

    def path(self, value):
        """Returns a path that is absolute, if it is one where the code may write; else None."""
        if value is None:
            value = "."
        if isinstance(value, int):
            return None
        path = os.path.abspath(os.fsdecode(value))
        if any(path == one or path.startswith(one + "/") for one in SYSTEM) and not path.startswith(STEADY):
            self.recorder.refuse(f"the tests look into {path[:60]}")
        if path.startswith(LIBRARY):
            return None
        return path if any(path == area or path.startswith(area + "/") for area in self.areas) else None

    def is_own(self, path):
        return path in self.made and path not in self.theirs

    def foreign(self, path):
        name = path[len(self.root) + 1 :] if path.startswith(self.root + "/") else path
        self.recorder.refuse(f"the tests look at a file that the code may have written (`{name[:60]}`)")

    def look(self, value):
        path = self.path(value)
        if path and not self.is_own(path) and (path in self.theirs or state_of(path)):
            self.foreign(path)

    def open(self, value, _mode, flags):
        if value in DEVICES:
            self.recorder.refuse("the tests read random numbers of the kernel from a file")
        path = self.path(value)
        if path is None:
            return
        is_there = state_of(path) is not None
        reads = flags & os.O_ACCMODE != os.O_WRONLY and not flags & os.O_TRUNC or flags & os.O_EXCL
        if path in self.theirs and reads or is_there and not self.is_own(path) and reads:
            self.foreign(path)
        if flags & (os.O_CREAT | os.O_TRUNC) and (flags & os.O_TRUNC or not is_there):
            self.make(path)

    def make(self, value):
        path = self.path(value)
        if path:
            self.made.add(path)
            self.theirs.discard(path)

    def remove(self, event, arguments):
        places = [value for value in arguments if not isinstance(value, int)]
        if event != "os.truncate" and any(isinstance(one, int) and one != -1 for one in arguments):
            return  # relative to a descriptor: shutil.rmtree()
        paths = [self.path(value) for value in places]
        self.look(places[0])
        if event == "os.rmdir":
            self.list(places[0])
        if event in ("os.rename", "os.link") and paths[1]:
            self.make(paths[1])

    def list(self, value):
        path = self.path(value)
        if path is None:
            return
        for name in RAW_LIST(path) if os.path.isdir(path) else ():
            if not self.is_own(os.path.join(path, name)) and os.path.join(path, name) != self.root + "/tmp":
                return self.foreign(os.path.join(path, name))

    def connect(self, value):
        if value != ":memory:":
            self.recorder.refuse("the tests open a data base")
