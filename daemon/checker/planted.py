# SPDX-License-Identifier: MIT
"""Tells which files that a Python process could run unasked are the code's. Files do not say who has written them, but
the sides take turns: what is new or another after a turn of the code's, the code has put there."""

import os
import stat
from importlib.machinery import all_suffixes
from time import sleep  # whatever the tests make of it

# Tests without one of these start no process, unless a library does; then nothing is known of the files.
WORDS = ("subprocess", "Popen", "popen", "system(", "import system", "spawn", "execv", "execl", "multiprocessing", "ProcessPool", "pytest",
         "script_helper", "venv")  # fmt: skip
ENTRIES_MAX = 20000  # below the working directory
READ_MAX = 1 << 20  # bytes of a file
# Processes of a jail with a process table of its own: the two jails, the judge, and the program that runs the code.
USUAL = 4
# Where the jail chooses numbers, those of jobs begin with FIRST, and TEMPLATE is that of a process that has modules loaded
# for the code (daemon/jail/twin.h). No job gives a process of its own so low a number.
TEMPLATE, FIRST = 3, 100
PAUSES = (0, 0.005, 0.02, 0.1, 0.3)  # seconds before each look whether something goes on
# Of modules of any Python, and what adds to its path.
ENDINGS = tuple({*all_suffixes(), ".py", ".pyc", ".pyo", ".pyw", ".so", ".pyd", ".egg-link"})
ARCHIVES = (".zip", ".egg", ".whl")
METADATA = (".dist-info", ".egg-info")
SITES = ("/site-packages/", "/dist-packages/")
NAMES = frozenset((".pdbrc", "pyvenv.cfg"))
# By these pytest decides which tests it runs and what their end means.
OF_PYTEST = frozenset("conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini setup.cfg pyproject.toml .coveragerc".split())


def is_run(path):
    """Returns whether Python may run a file of that path, or load what the file names."""
    place, _, name = path.rpartition("/")
    if name.endswith((*ENDINGS, *ARCHIVES, *METADATA)) or name in NAMES or name in OF_PYTEST:
        return True
    if name.endswith(".pth") and any(site in path for site in SITES):
        return True
    return place.endswith(METADATA)


def state_of(path, is_link):
    """Returns what changes when a file does: times tell less than its contents, since they are coarse."""
    try:
        if is_link:
            return "link", os.readlink(path)
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                return "other", found.st_ino
            if found.st_size > READ_MAX:
                return "large", found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
            return "file", os.read(fd, READ_MAX)
        finally:
            os.close(fd)
    except OSError as error:
        return "closed", error.errno


class Planted:
    """GATE is the texts.Gate of the job."""

    def __init__(self, gate):
        self.gate, self.link = gate, gate.link
        self.root = ""
        self.unheard(self.find_root)
        self.is_on = self.has_started = False
        self.of_code = {}  # by path: files as the code has left them
        self.replaced = set()  # by the code: paths of files that the tests had written
        self.before, self.places = {}, {}  # as the last turn of the code's began: files by path, directories by path
        self.is_complete = True
        self.others = set()  # processes that this one had before any test ran

    def find_root(self):
        self.root = os.path.realpath(os.getcwd())

    def install(self):
        text = self.gate.job.tests()
        if getattr(self.gate.job, "replay", None) is not None or not any(word in text for word in WORDS):
            return
        self.is_on = True
        self.unheard(lambda: self.others.update(children()))
        send, receive = self.link.send, self.link.receive

        def sent(data):
            self.unheard(self.begin)
            send(data)

        def received():
            data = receive()
            self.unheard(self.end)
            return data

        self.link.send, self.link.receive = sent, received

    def unheard(self, step):
        """Takes a step of which the recorder of a transcript is to hear nothing."""
        recorder = self.link.transcript
        before = getattr(recorder, "is_paused", False)  # a replay hears nothing
        if recorder is not None:
            recorder.is_paused = True
        try:
            step()
        finally:
            if recorder is not None:
                recorder.is_paused = before

    def scan(self):
        """Returns the files that matter and the directories below the jobs' own, with their states."""
        files, places, stack, count = {}, {}, [self.root], 0
        while stack:
            place = stack.pop()
            try:
                found = os.stat(place)
                places[place] = found.st_ino, found.st_mtime_ns, found.st_ctime_ns
                with os.scandir(place) as entries:
                    for entry in entries:
                        count += 1
                        if count > ENTRIES_MAX:
                            self.is_complete = False
                            return files, places
                        is_link = entry.is_symlink()
                        if entry.is_dir(follow_symlinks=False):
                            stack.append(entry.path)
                        elif is_link or is_run(entry.path):
                            files[entry.path] = state_of(entry.path, is_link)
            except FileNotFoundError:
                pass  # something of the tests' has removed it meanwhile
            except OSError:
                self.is_complete = False
        return files, places

    def begin(self):
        """A turn of the code's begins: what is not as the code has left it is the tests'."""
        self.before, self.places = self.scan()
        for path, state in list(self.of_code.items()):
            if self.before.get(path) != state:
                del self.of_code[path]

    def end(self):
        files, places = self.scan()
        for path, state in files.items():
            if self.before.get(path) != state:
                if path in self.before and path not in self.of_code:
                    self.replaced.add(path)
                self.of_code[path] = state
        if not self.has_started or not self.has_children():
            return
        if places != self.places or self.has_company():
            self.gate.why = self.gate.why or "the code writes files while a process runs that the tests have started"

    def has_children(self):
        return any(is_alive(pid) for pid in children() if pid not in self.others)

    def is_accompanied(self):
        """Returns whether a process or thread of the code's goes on while the tests do: it could write at any time."""
        found = []
        for pause in PAUSES:  # a thread that has been joined has its number for a moment more
            sleep(pause)
            self.unheard(lambda: found.append(self.has_company()))
            if not found[-1]:
                return False
        return True

    @staticmethod
    def has_company():
        """Counts the processes of the jail, which are hidden in /proc, but have numbers. Where the jail has no process
        table of its own, nothing is known."""
        if os.getppid() != 1:
            return False
        try:
            with open("/proc/loadavg") as file:
                last = int(file.read().split()[-1])
        except (OSError, ValueError):
            return False
        own = family_of(os.getpid())
        others = [number for number in range(1, last + 1) if number not in own and is_there(number)]
        has_template = os.getpid() >= FIRST and TEMPLATE in others
        return len(others) > USUAL - 1 + has_template

    def files_of_code(self):
        """Returns the paths of the code's files that matter, and the tests' that the code has replaced."""
        found = {}
        self.unheard(lambda: found.update(self.scan()[0]))
        return {path for path, state in self.of_code.items() if found.get(path) == state}


def children():
    """Returns the processes that the main thread of this one has started and not waited for."""
    try:
        with open(f"/proc/self/task/{os.readlink('/proc/self')}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except (OSError, ValueError):
        return []


def is_alive(pid):
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except OSError:
        return False


def is_there(number):
    """Returns whether a process or thread has that number."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def family_of(pid, without=()):
    """Returns the numbers of a process, of its threads, and of what these have started, as far as /proc shows them;
    WITHOUT some of the latter."""
    found, stack = set(), [pid]
    while stack:
        process = stack.pop()
        found.add(process)
        try:
            threads = os.listdir(f"/proc/{process}/task")
        except OSError:
            continue
        for thread in threads:
            found.add(int(thread))
            try:
                with open(f"/proc/{process}/task/{thread}/children") as file:
                    stack += [int(child) for child in file.read().split() if int(child) not in without]
            except OSError:
                pass
    return found
