# SPDX-License-Identifier: MIT
"""Shared by the integration tests: a daemon for each test, a client that speaks the protocol byte by
byte, and a way to wait for events with a deadline.

Client.send() and Client.recv() check every message against its JSON Schema. RUBRICD_TEST_SCHEMAS=no
turns that off: packaging/run-tests checks the messages of one build, not those of each.
RUBRICD_BUILD names the build directory (meson sets it).

Tests run in several processes at once (pytest -n 4 --dist loadfile), so a test must not depend on
anything that another test changes. It listens on ports that the kernel chooses, writes below tmp_path,
and counts only processes that it started. Markers:

    alone   the test needs the machine for itself; a comment gives the reason
    once    the test checks no C code, so one build is enough: packaging/run-tests skips it with the
            sanitizer build
    long    the test takes many seconds: packaging/check skips it
    cold    its daemons have no Python interpreter waiting, without which they start with a seventh of the CPU
            time. For tests of clients, queues and services: neither what a job in Python sees nor how a jail starts
    warm    ... in a file that is cold: the test runs so many jobs in Python that an interpreter pays"""

import contextlib
import functools
import json
import os
import pwd
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Modules that every code_exec job is to have loaded ahead: verdicts must not depend on it.
WARM_MODULES = list(filter(None, os.environ.get("RUBRICD_WARM_MODULES", "").split(",")))
BUILD = Path(os.environ.get("RUBRICD_BUILD", ROOT / "build"))
RUBRICD = BUILD / "daemon" / "rubricd"
RUBRICCTL = BUILD / "client" / "rubricctl"
BENCH = ROOT / "tests" / "data" / "bench"
TAKE_AWAY = ROOT / "tests" / "integration" / "take_away.py"
PYTHON = "/usr/bin/python3"
DEADLINE = 120.0

# A shell starts background jobs with SIGINT ignored, and their children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path.insert(0, str(ROOT / "tests"))
import schema_check  # noqa: E402
import take_away  # noqa: E402
from idmap_helper import Helper  # noqa: E402
from limit_table import CEILING_WORDS, CEILINGS, DEFAULTS, LIMITS  # noqa: E402, F401  for the tests

CHECKS_SCHEMAS = os.environ.get("RUBRICD_TEST_SCHEMAS") != "no"


def check_message(message, direction):
    """Fails unless DIRECTION ("client" or "daemon") may send MESSAGE."""
    if CHECKS_SCHEMAS:
        schema_check.validate(message, direction)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Gives each run of root a base directory of its own. By default runs share one, and each new run
    closes it to other accounts: daemons of earlier runs that gave up root would lose their files."""
    if os.geteuid() == 0 and not config.option.basetemp:
        config.option.basetemp = f"{tempfile.gettempdir()}/rubricd-tests-{os.getpid()}"
        config.rubricd_place = config.option.basetemp
    config.addinivalue_line("markers", "long: takes many seconds")
    config.addinivalue_line("markers", "once: checks no C code, so one build is enough")
    config.addinivalue_line("markers", "cold: its daemons have no Python interpreter waiting")
    config.addinivalue_line("markers", "warm: they have one, although the file is cold")


# The files that take longest, in order. They start first: a long file that starts last keeps one
# process busy while the others have nothing left to do.
LONG_FILES = [
    f"test_{name}.py"
    for name in (
        "fleet_serve",
        "fleet_trouble",
        "jail",
        "clients",
        "session",
        "fleet",
        "fleet_protocol",
        "isolation",
        "code_exec",
        "warm_equal",
        "program",
        "starvation",
        "fleet_bench",
        "reload",
        "layers",
        "grade_formats",
        "terminal",
        "fleet_errors",
        "shortage",
        "scale",
        "program_hostile",
        "fleet_starved",
        "interactor",
        "service",
        "zygote",
        "scrape",
        "chaos",
        "apart",
        "limits",
    )
]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Sorts the files but keeps the order of tests within a file: pytest groups them by fixture scope."""
    order = {name: place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_sessionfinish(session, exitstatus):
    """Keeps the files of a failed run for inspection."""
    if exitstatus == 0 and hasattr(session.config, "rubricd_place"):
        shutil.rmtree(session.config.rubricd_place, ignore_errors=True)


def wait_until(condition, what, deadline=DEADLINE):
    """Polls until CONDITION() is true and returns its value. Fails after DEADLINE seconds, naming WHAT. Polls
    less often the longer it waits: a look at all processes of the host costs milliseconds of CPU time."""
    since = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited = time.monotonic() - since
        if waited > deadline:
            pytest.fail(f"after {deadline} s still not: {what}")
        select.select([], [], [], min(max(0.005, waited / 20), 0.05))


def let_pass(seconds):
    """Waits to give an event that must not happen the time to happen. Returns the seconds that passed."""
    since = time.monotonic()
    wait_until(lambda: time.monotonic() - since > seconds, f"{seconds} s")
    return time.monotonic() - since


# Daemons started by root switch to this account. The host need not have an account rubricd.
ACCOUNT = "nobody"
AS_ACCOUNT = ["/usr/bin/setpriv", f"--reuid={ACCOUNT}", "--regid=65534", "--clear-groups"]


def open_up(directory):
    """Lets ACCOUNT read DIRECTORY and enter its parents, which pytest creates private."""
    if os.geteuid() == 0:
        for path in [directory, *directory.parents]:
            if path.stat().st_mode & 0o5 != 0o5:
                path.chmod(path.stat().st_mode | 0o55)


def give_to_account(directory):
    """Lets ACCOUNT write to DIRECTORY as well."""
    if os.geteuid() == 0:
        os.chown(directory, pwd.getpwnam(ACCOUNT).pw_uid, -1)
    open_up(directory)


@contextlib.contextmanager
def small_disk(place, size, *options):
    """Makes the directory PLACE a file system of SIZE (such as "1m") for a while. Skips the test where none can be
    mounted. The census of the hostile tests, which may run beside it, knows the mount by its source."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", ",".join((f"size={size}", *options)), "rubricd-test", place]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def need_warm_jail():
    """Skips the module if the build has no warm jail."""
    if not (BUILD / "daemon" / "rubricd-jail-warm").exists():
        reason = "this build has no rubricd-jail-warm (-Dwarm=disabled, or there was no libpython)"
        pytest.skip(reason, allow_module_level=True)


# The shapes of jails


def in_a_child(function):
    """Calls FUNCTION in a child process that runs as the daemons' account; returns its integer."""
    child = os.fork()
    if child == 0:
        status = 255
        try:
            if os.geteuid() == 0:
                os.setresuid(*[pwd.getpwnam(ACCOUNT).pw_uid] * 3)
            status = function()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@functools.cache
def user_namespaces_are_refused():
    """Returns why this host refuses user namespaces to daemons, or None. Does not ask rubricd."""
    number = in_a_child(take_away.try_user_namespace)
    return os.strerror(number) if number else None


@functools.cache
def cannot_be_taken_away(what):
    """Returns why this host cannot take WHAT away from a daemon, or None."""
    done = subprocess.run(
        [PYTHON, TAKE_AWAY, what, "--", "/bin/true"], capture_output=True, text=True, check=False
    )
    return done.stderr.strip() or f"status {done.returncode}" if done.returncode else None


def landlock_version():
    """Returns the Landlock version that jobs can use here, or 0."""
    return in_a_child(take_away.landlock_version)


class Shape:
    """How to start a daemon whose jails lack layers that the host offers. The process loses TAKEN for
    good; SETTINGS are added to its configuration. BY_ACCOUNT: start it as the account, not as root."""

    def __init__(self, *taken, settings=(), by_account=False):
        self.prefix = AS_ACCOUNT if by_account and os.geteuid() == 0 else []
        if taken:
            self.prefix = [*self.prefix, PYTHON, "-I", TAKE_AWAY, *taken, "--"]
        self.settings = settings


def started_by_account():
    """Returns a shape for daemons that start unprivileged, so have no root rights to drop."""
    if os.geteuid() == 0:
        command = [*AS_ACCOUNT, RUBRICD, "--version"]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip(f"{ACCOUNT} may not execute the daemon that was built")
    return Shape(by_account=True)


def without_user_namespaces():
    """Returns a shape in which the kernel refuses user namespaces, or else the configuration does."""
    if user_namespaces_are_refused():
        return Shape()
    if cannot_be_taken_away("user_namespace"):
        return Shape(settings=["isolation.without=user_namespace"])
    return Shape("user_namespace")


# Tests of properties that hold in every shape run in the first two. In the last one no layer separates
# jobs from each other or from their jail: a job reaches whatever a process of its account can reach.
ALL_LAYERS = "all layers"
NO_USER_NAMESPACES = "no user namespaces"
BARE = "neither namespaces nor filters"


def make_shape(name):
    if name == ALL_LAYERS:
        if user_namespaces_are_refused():
            pytest.skip(f"user namespaces are refused here: {user_namespaces_are_refused()}")
        return Shape()
    if name == NO_USER_NAMESPACES:
        if landlock_version() == 0:
            pytest.skip("this kernel has no Landlock: without it and namespaces no daemon starts")
        return without_user_namespaces()
    return Shape(
        settings=[
            "isolation.without=user_namespace landlock seccomp",
            "isolation.require=env tempdir rlimits no_new_privs tree_kill",
        ]
    )


@pytest.fixture
def shape(request):
    """All layers that the host grants. A test parametrizes this fixture to run in other shapes."""
    name = getattr(request, "param", None)
    return make_shape(name) if name else Shape()


class Closed(Exception):
    """The daemon has closed the connection."""


def says_hello(path):
    """Returns whether a daemon serves at PATH. A daemon started by root listens before it can serve."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(DEADLINE)
        try:
            return probe.connect_ex(str(path)) == 0 and probe.recv(1) != b""
        except ConnectionResetError:
            return False


class Client:
    """One connection to a daemon. recv() returns messages in order and fails the test at the deadline."""

    def __init__(self, path=None, sock=None, hello=True):
        self.sock = sock or socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE)
        if path:
            self.sock.connect(str(path))
        self.buffer = bytearray()  # grows in place: frames have up to 16 MiB
        self.hello = self.recv() if hello else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def send_bytes(self, data):
        self.sock.sendall(data)

    def send_frame(self, payload):
        self.send_bytes(struct.pack(">I", len(payload)) + payload)

    def send(self, message, check=True):
        if check:
            check_message(message, "client")
        self.send_frame(json.dumps(message).encode())

    def submit(self, id, job, check=True):
        if WARM_MODULES and job.get("kind") == "code_exec":
            job = {"warm_modules": WARM_MODULES, **job}
        self.send({"type": "submit", "id": id, "job": job}, check)

    def _fill(self, n):
        while len(self.buffer) < n:
            data = self.sock.recv(1 << 16)
            if not data:
                if self.buffer:
                    raise AssertionError(f"closed inside a frame: {bytes(self.buffer[:80])!r}")
                raise Closed
            self.buffer += data

    def recv_payload(self):
        self._fill(4)
        (length,) = struct.unpack(">I", self.buffer[:4])
        self._fill(4 + length)
        payload = bytes(self.buffer[4 : 4 + length])
        del self.buffer[: 4 + length]
        return payload

    def recv(self):
        message = json.loads(self.recv_payload())
        check_message(message, "daemon")
        return message

    def recv_answer(self, id=None):
        """Returns the next result or error; skips `started`."""
        while True:
            message = self.recv()
            if message["type"] != "started":
                if id is not None:
                    assert message.get("id") == id, message
                return message

    def run(self, job, id="job", check=True):
        self.submit(id, job, check)
        return self.recv_answer(id)

    def status(self):
        self.send({"type": "status"})
        message = self.recv()
        assert message["type"] == "status", message
        return message

    def ping(self):
        self.send({"type": "ping"})
        assert self.recv() == {"type": "pong"}

    def expect_closed(self):
        """Fails unless the daemon closes the connection without another message."""
        with pytest.raises(Closed):
            message = self.recv()
            pytest.fail(f"expected the end, got {message}")


def contents(directory):
    """Returns the entries of DIRECTORY; none if it disappeared with its jail."""
    try:
        return list(directory.iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []


# Settings of daemons of tests marked `cold`, and of daemons that such tests start by themselves.
COLD = ("warm.use=no",)


def settings_of(request):
    """Returns the settings that the markers of a test, or of its module, ask for."""
    marked = request.node.get_closest_marker
    return COLD if marked("cold") and not marked("warm") else ()


class Daemon:
    """A rubricd whose socket, work directory and log are in DIRECTORY. PREFIX is a command that starts
    it as another account; that account owns DIRECTORY."""

    def __init__(
        self, directory, *settings, env=None, config=None, prefix=(), shape=Shape(), slots=2
    ):
        self.directory = Path(directory)
        if not prefix:
            give_to_account(self.directory)
        self.socket = self.directory / "s"
        self.work = self.directory / "work"
        self.log_path = self.directory / "log"
        self.known_layers = None
        arguments = [*prefix, *shape.prefix, RUBRICD, f"--config={config or '/dev/null'}"]
        for setting in (
            f"daemon.socket={self.socket}",
            f"daemon.work_dir={self.work}",
            "daemon.socket_group=",
            "languages.ask_versions=no",  # tests look at the daemon's children
            f"daemon.user={ACCOUNT}",
            *([f"daemon.slots={slots}"] if slots else []),  # else CONFIG's
            *shape.settings,
            *settings,
        ):
            arguments.append(f"--set={setting}")
        self.log_file = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=self.log_file, stderr=self.log_file, env=env
        )
        wait_until(lambda: self.is_up(), f"the daemon listens; log: {self.log()}")

    def is_up(self):
        assert self.process.poll() is None, f"rubricd ended: {self.log()}"
        return says_hello(self.socket)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def connect(self, **kwargs):
        return Client(self.socket, **kwargs)

    def descendants(self):
        """Returns the pids of all the daemon's descendants, jails included, but not its zygotes."""
        parents, daemon = {}, self.process.pid
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    text = (entry / "stat").read_text(errors="replace")
                except OSError:
                    continue
                fields = text[text.rindex(")") + 2 :].split()
                is_zygote = "(rubricd-zygote)" in text and int(fields[1]) == daemon
                if fields[0] != "Z" and not is_zygote:
                    parents[int(entry.name)] = int(fields[1])
        found, frontier = set(), {self.process.pid}
        while frontier:
            frontier = {pid for pid, parent in parents.items() if parent in frontier} - found
            found |= frontier
        return found

    def jails(self):
        with self.connect() as client:
            return {slot["jail_pid"] for slot in client.status()["slots"]}

    def is_idle(self):
        """Returns whether no job runs or is queued, and each slot has a jail."""
        with self.connect() as client:
            status = client.status()
        return not status["queue"]["jobs"] and all(slot["state"] == "idle" for slot in status["slots"])

    def layers(self):
        """Returns the isolation layers that the daemon reports as in force."""
        if self.known_layers is None:
            with self.connect() as client:
                self.known_layers = set(client.hello["isolation"]["layers"])
        return self.known_layers

    def has_view(self):
        """Returns whether each jail has a root of its own that holds its jobs' directories."""
        return "mount_namespace" in self.layers()

    def views(self):
        """Returns the paths by which the host reaches the roots that jails show to their jobs."""
        with self.connect() as client:
            slots = client.status()["slots"]
        ready = [slot["jail_pid"] for slot in slots if slot["state"] in ("idle", "busy")]
        return [Path(f"/proc/{jail}/root") for jail in ready]

    def work_directories(self):
        """Returns the working directories of jobs, wherever this shape creates them."""
        if self.has_view():
            return [view / "work" for view in self.views()]
        return list(self.work.glob("slot-*/job-*"))

    def files(self):
        """Returns the names of the files in the working directories of running jobs."""
        return [path.name for place in self.work_directories() for path in contents(place)]

    def leftovers(self):
        """Returns all files where jobs can write; there must be none while no job runs."""
        places = list(self.work.iterdir())
        if self.process.poll() is None and self.has_view():
            for view in self.views():
                places += [view / "work", view / "tmp", view / "dev" / "shm"]
        return [path for place in places for path in contents(place)]

    def stop(self):
        """Drains by SIGTERM; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            pytest.fail(f"rubricd did not stop; log: {self.log()}")
        finally:
            self.log_file.close()
        assert "Sanitizer" not in self.log() and "runtime error" not in self.log(), self.log()
        return status


@pytest.fixture
def start_daemon(request, tmp_path, shape):
    """Returns a function that starts daemons. The fixture stops them, and they must stop cleanly."""
    running, marked = [], settings_of(request)

    def start(*settings, **kwargs):
        directory = tmp_path / f"daemon-{len(running)}"
        directory.mkdir()
        running.append(Daemon(directory, *marked, *settings, **{"shape": shape, **kwargs}))
        return running[-1]

    yield start
    for daemon in running:
        if daemon.process.returncode is None:
            assert daemon.stop() == 0, daemon.log()
            assert not any(daemon.work.iterdir()), "the work directory is empty at the end"


@pytest.fixture
def daemon(start_daemon):
    return start_daemon()


@pytest.fixture
def client(daemon):
    with daemon.connect() as connected:
        yield connected


@pytest.fixture(scope="module")
def new_directory(tmp_path_factory):
    """Returns a function that makes directories for the daemons of daemon_of()."""
    return lambda: tmp_path_factory.mktemp("d")


@pytest.fixture(scope="module")
def daemon_of(request, new_directory):
    """Returns a function that returns the file's own daemon with these settings in that shape. The first
    test that asks for it starts it; the test after one that ended it gets another."""
    running, marked = {}, settings_of(request)

    def find(*settings, shape=Shape(), **kwargs):
        key = repr((settings, shape.prefix, shape.settings, sorted(kwargs.items())))
        if key not in running or running[key].process.poll() is not None:
            running[key] = Daemon(new_directory(), *marked, *settings, shape=shape, **kwargs)
        return running[key]

    yield find
    for daemon in running.values():
        if daemon.process.returncode is None:
            assert daemon.stop() == 0, daemon.log()
            assert not any(daemon.work.iterdir()), "the work directory is empty at the end"


@pytest.fixture
def lend(daemon_of, shape):
    """Returns daemon_of() for one test, after which its daemons must be alive and have nothing left to do.
    For tests that look neither at a daemon's log and counters nor at which job or jail is the first: a
    daemon with its zygote and jails costs ten times what most of their jobs do."""
    lent = []

    def find(*settings, **kwargs):
        lent.append(daemon_of(*settings, **{"shape": shape, **kwargs}))
        return lent[-1]

    yield find
    for daemon in lent:
        assert daemon.process.poll() is None, f"rubricd ended: {daemon.log()}"
        wait_until(daemon.is_idle, "the jobs of the test are gone")


@pytest.fixture
def make_helper(tmp_path):
    """Starts a rubricd-idmap for the account of the tests, with the options of Helper. Only root can."""
    helpers = []

    def make(**kwargs):
        open_up(tmp_path)
        program, uid = BUILD / "daemon" / "rubricd-idmap", pwd.getpwnam(ACCOUNT).pw_uid
        helpers.append(Helper(program, tmp_path, uid, AS_ACCOUNT, **kwargs))
        return helpers[-1]

    yield make
    for helper in helpers:
        helper.close()


class Bench:
    """A bench root to which tests write rubrics."""

    def __init__(self, root):
        self.root = root
        self.count = 0
        self.root.mkdir(parents=True, exist_ok=True)
        open_up(self.root)

    def rubric(self, code, name=None, task_class=None):
        """Writes <root>/<name>/rubric.py, and TASK_CLASS as its task_class.json. Returns the name."""
        self.count += 1
        name = name or f"class-{self.count}"
        directory = self.root / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "rubric.py").write_text(code)
        if task_class is not None:
            (directory / "task_class.json").write_text(json.dumps(task_class))
        return name

    def job(self, code=None, *, name=None, task_class=None, case=None, output=None, **fields):
        """Returns a job that runs CODE as its rubric."""
        if code is not None:
            name = self.rubric(code, name, task_class)
        return {
            "kind": "rubric",
            "task_class": name,
            "case": case if case is not None else {},
            "harness_output": output if output is not None else {},
            "bench_root": str(self.root),
            **fields,
        }


# report() puts what a rubric sees into its BenchScore; seen() reads it from the result.
REPORT = """
import json, os, sys
def report(**seen):
    mode = {"code": "seen", "severity": "info", "detail": json.dumps(seen)}
    print(json.dumps({"passed": True, "score": 1, "failure_modes": [mode]}))
"""


def seen(result):
    assert result["type"] == "result" and result["score"]["passed"] is True, result
    return json.loads(result["score"]["failure_modes"][0]["detail"])


PASSING = 'print(\'{"passed": true, "score": 1}\')\n'


@pytest.fixture
def bench(tmp_path):
    root = tmp_path / "bench"
    root.mkdir()
    return Bench(root)


class Gate:
    """A FIFO at which jobs wait until the test lets them through, one for each byte in it. It is in the
    bench root, which jobs can read wherever they see it."""

    def __init__(self, bench, name="gate"):
        path = bench.root / name
        os.mkfifo(path)
        os.chmod(path, 0o644)
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.python = (
            "import os\n"
            f"os.read(os.open(os.path.dirname(__file__) + '/../{name}', os.O_RDONLY), 1)\n"
        )
        self.shell = f'read line < "${{3%/*}}/../{name}"\n'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def open(self, jobs=1):
        os.write(self.fd, b"\n" * jobs)


@pytest.fixture(name="gate")
def make_gate(bench):
    with Gate(bench) as gate:
        yield gate


@pytest.fixture
def let_daemons_in(tmp_path):
    """Daemons that root starts from a test give up root and must still reach their directories."""
    give_to_account(tmp_path)


@pytest.fixture(name="daemon_here")
def make_stand_in(tmp_path):
    """A stand-in for the daemon that the test scripts."""
    from batches import StandIn  # which needs this module

    stand_in = StandIn(tmp_path / "s")
    yield stand_in
    stand_in.close()
