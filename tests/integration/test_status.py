# SPDX-License-Identifier: MIT
"""rubricctl status: the page, its colours, and --watch on a terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pytest
from conftest import DEADLINE, RUBRICCTL, Daemon, schema_check, wait_until

OPEN, CLOSE = "\x1b[?1049h", "\x1b[?1049l"
SLEEPING = {"kind": "sandbox", "argv": ["/bin/sleep", "60"]}


def environment(**changes):
    base = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    return {**base, "TERM": "xterm", "TZ": "UTC", **changes}


class Terminal:
    """rubricctl on a terminal of ROWS by COLUMNS that knows only the sequences rubricctl may use."""

    def __init__(self, *arguments, rows=24, columns=80, env=None):
        self.rows, self.raw, self.pending = rows, "", ""
        self.screen, self.row, self.column = {}, 0, 0
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [RUBRICCTL, *map(str, arguments)],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=env or environment(),
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
        )

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _take(self, text):
        self.raw += text
        self.pending += text
        while self.pending:
            match = re.match(r"\x1b\[([?0-9;]*)([A-Za-z])", self.pending)
            if match:
                self._obey(*match.groups())
                self.pending = self.pending[match.end() :]
            elif self.pending[0] == "\x1b":
                assert len(self.pending) < 12, f"unknown sequence: {self.pending[:20]!r}"
                return
            else:
                self._put(self.pending[0])
                self.pending = self.pending[1:]

    def _obey(self, parameters, letter):
        if letter == "H":
            assert parameters == ""
            self.row = self.column = 0
        elif letter == "K":
            assert parameters == "2"
            self.screen[self.row] = ""
        elif letter == "J":
            for row in range(self.row, 200):
                self.screen[row] = self.screen.get(row, "")[: self.column if row == self.row else 0]
        elif letter == "h" and parameters == "?1049":
            self.screen = {}
        else:
            assert letter in "mhl", (parameters, letter)

    def _put(self, c):
        if c == "\n":
            self.row += 1
            assert self.row < self.rows or CLOSE in self.raw or OPEN not in self.raw, "the terminal scrolls"
        elif c == "\r":
            self.column = 0
        else:
            line = self.screen.get(self.row, "").ljust(self.column)
            self.screen[self.row] = line[: self.column] + c + line[self.column + 1 :]
            self.column += 1

    def read(self, seconds=0.0):
        while select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self._take(data.decode())
            seconds = 0.0

    def shown(self):
        self.read()
        return "\n".join(self.screen.get(row, "").rstrip() for row in range(self.rows))

    def wait_for(self, text):
        wait_until(lambda: re.search(text, self.shown()), f"{text!r} is shown: {self.shown()}")

    def send(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        """Returns the exit status; asserts that the terminal is restored."""
        status = self.process.wait(DEADLINE)
        self.read()
        assert termios.tcgetattr(self.slave) == self.before
        assert self.raw.count(OPEN) == self.raw.count(CLOSE)
        assert self.raw.count("\x1b[?25l") == self.raw.count("\x1b[?25h")
        assert self.raw.count("\x1b[?7l") == self.raw.count("\x1b[?7h")
        return status

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(request):
    opened = []

    def start(*arguments, **kwargs):
        opened.append(Terminal(*arguments, **kwargs))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def watch(terminal, daemon, *arguments, **kwargs):
    started = terminal("--socket", daemon.socket, "status", *(arguments or ["--watch=1"]), **kwargs)
    started.wait_for("rubricd .*: running")
    return started


# Once


def run_status(daemon, *arguments, env=None):
    done = subprocess.run(
        [RUBRICCTL, "--socket", daemon.socket, "status", *arguments],
        capture_output=True,
        text=True,
        env=env or environment(),
        check=False,
    )
    assert done.stderr == ""
    return done


def test_what_runs_and_until_when(daemon):
    with daemon.connect() as client:
        client.submit("an\x1b[31m id\n", SLEEPING)
        assert client.recv()["type"] == "started"
        text = run_status(daemon).stdout
        row = next(line for line in text.splitlines() if "/bin/sleep" in line)
        slot = r"^   [01] +[\d.]+m?s  \d\d:\d\d:\d\d  1        sandbox    /bin/sleep +"
        assert re.match(slot + re.escape(r"an\x1b[31m id\n") + "$", row), row
        assert "slots    1 of 2 busy" in text and "\x1b" not in text
        assert max(map(len, text.splitlines())) <= 80


def test_rates_and_failures(daemon):
    with daemon.connect() as client:
        for i in range(3):
            client.run({"kind": "sandbox", "argv": ["/bin/false"]}, f"job-{i}")
    text = run_status(daemon).stdout
    assert re.search(r"\nsandbox      1m +[\d.]+       0       3       0 +[\d.]+ms", text), text
    assert re.search(r"\n +[\d.]+m?s  3       /bin/false      job-2 +sandbox.failed\n", text), text
    assert "\nrubric " not in text, "no job of this kind ran"


def test_json_is_what_the_daemon_said(daemon):
    done = run_status(daemon, "--json")
    schema_check.validate(json.loads(done.stdout), "daemon")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    "changes, coloured",
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals(daemon, terminal, changes, coloured):
    shown = terminal("--socket", daemon.socket, "status", env=environment(**changes))
    assert shown.process.wait(DEADLINE) == 0
    shown.read()
    assert ("\x1b[" in shown.raw) == coloured
    assert "\x1b" not in run_status(daemon, env=environment(**changes)).stdout


@pytest.mark.parametrize("seconds", ["0", "3601", "x", ""])
def test_watch_of_no_time(daemon, seconds):
    done = subprocess.run(
        [RUBRICCTL, "--socket", daemon.socket, "status", f"--watch={seconds}"],
        capture_output=True,
        text=True,
        check=False,
    )
    said = f'rubricctl: --watch: expected a whole number from 1 to 3600, got "{seconds}"\n'
    assert (done.returncode, done.stderr) == (2, said)


# --watch


def test_watch_redraws_in_place(daemon, terminal):
    page = watch(terminal, daemon)
    assert page.shown().splitlines()[0].startswith("every 1 s; q ends")
    page.wait_for("slots    0 of 2 busy")
    with daemon.connect() as client:
        client.submit("watched", SLEEPING)
        page.wait_for("slots    1 of 2 busy")
        page.wait_for(r"/bin/sleep +watched")
    page.wait_for("slots    0 of 2 busy")
    assert "watched" not in page.shown(), "the page before is erased"
    page.send("q")
    assert page.end() == 0
    assert page.raw.count(OPEN) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_restored_when_interrupted(daemon, terminal, number):
    page = watch(terminal, daemon)
    if number == signal.SIGINT:
        page.send("\x03")
    else:
        page.process.send_signal(number)
    assert page.end() == 130


def test_the_terminal_is_restored_when_stopped(daemon, terminal):
    """Ctrl-Z restores the terminal, and fg opens the page again."""
    page = watch(terminal, daemon)
    page.process.send_signal(signal.SIGTSTP)
    wait_until(
        lambda: os.waitpid(page.process.pid, os.WUNTRACED | os.WNOHANG)[0], "it has stopped"
    )
    page.read()
    assert page.raw.endswith(CLOSE)
    assert termios.tcgetattr(page.slave) == page.before
    page.process.send_signal(signal.SIGCONT)
    wait_until(lambda: page.read() or page.raw.count(OPEN) == 2, "it goes on")
    page.wait_for("rubricd .*: running")
    page.send("q")
    assert page.end() == 0


def test_resize(daemon, terminal):
    # On hosts without some layers the page lists them, and needs more rows than most terminals have.
    page = watch(terminal, daemon, "--watch=3600", rows=60)
    assert "(" not in page.shown().splitlines()[-1]
    page.resize(8, 40)
    page.process.send_signal(signal.SIGWINCH)
    page.wait_for(r"\(\d+ more lines\)")
    assert max(map(len, page.shown().splitlines())) <= 40
    before = len(page.raw)
    page.resize(40, 120)
    page.process.send_signal(signal.SIGWINCH)
    # Read up to the end of the page, which erases the rest of the one before.
    wait_until(lambda: page.read() or page.raw[before:].endswith("\x1b[J"), "it is drawn anew")
    page.wait_for("\ndigest   [0-9a-f]{64}\n+$")
    lines = len(page.shown().rstrip().splitlines())
    drawn = page.raw.count("\x1b[H")
    page.resize(lines, 120)  # the page fits exactly
    page.process.send_signal(signal.SIGWINCH)
    wait_until(lambda: page.read() or page.raw.count("\x1b[H") > drawn, "it is drawn anew")
    page.wait_for("^every 3600 s(.*\n)+digest   [0-9a-f]{64}$")
    page.send("q")
    assert page.end() == 0


def test_a_daemon_that_is_started_again(daemon, shape, terminal):
    page = watch(terminal, daemon)
    first = daemon.process.pid
    page.wait_for(f"pid {first},")
    daemon.process.kill()
    daemon.process.wait()
    page.wait_for(r"! the daemon is away:[\s\S]*; what\s+follows\s+is")
    page.wait_for(f"pid {first},")
    daemon.log_file.close()
    again = Daemon(daemon.directory, shape=shape)
    try:
        page.wait_for("! the daemon is back")
        page.wait_for(f"pid {again.process.pid},")
    finally:
        assert again.stop() == 0
    page.send("q")
    assert page.end() == 0


def test_pages_where_it_is_no_terminal(daemon):
    with subprocess.Popen(
        [RUBRICCTL, "--socket", daemon.socket, "status", "--watch=1"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        for _ in range(2):
            page = []
            while not (page and page[-1].startswith("digest ")):
                page.append(process.stdout.readline())
            assert page[0].startswith("rubricd ") and "\x1b" not in "".join(page)
            assert process.stdout.readline() == "\n"
        process.stdout.close()
        assert process.wait(DEADLINE) == 0, "it ends once nobody reads its output"


def test_pages_stop_while_the_daemon_is_away(daemon):
    """Where it is no terminal, one line of complaint and no page that is out of date."""
    with subprocess.Popen(
        [RUBRICCTL, "--socket", daemon.socket, "status", "--watch=3600"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        while not process.stdout.readline().startswith("digest "):
            pass
        assert process.stdout.readline() == "\n"
        daemon.process.kill()
        daemon.process.wait()
        assert process.stderr.readline().endswith("; waiting for it to come back\n")
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "" and process.wait(DEADLINE) == 130


def test_lines_of_json(daemon):
    with subprocess.Popen(
        [RUBRICCTL, "--socket", daemon.socket, "status", "--watch=1", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        up = [json.loads(process.stdout.readline())["uptime_ms"] for _ in range(2)]
        assert up[1] > up[0]
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 130


def test_watch_on_a_dumb_terminal(daemon, terminal):
    page = watch(terminal, daemon, env=environment(TERM="dumb"), rows=200)
    page.process.send_signal(signal.SIGINT)
    assert page.end() == 130
    assert "\x1b" not in page.raw


def test_watch_without_a_daemon(tmp_path, terminal):
    page = terminal("--socket", tmp_path / "none", "status", "--watch")
    assert page.end() == 3
    assert "no rubricd at" in page.raw and "\x1b" not in page.raw


def test_json_on_a_terminal_is_escaped(daemon, client, terminal):
    """A job's id is its client's text, and no terminal may obey it."""
    client.submit("x\u009b31m\u202e", SLEEPING)
    assert client.recv()["type"] == "started"
    page = terminal("--socket", daemon.socket, "status", "--json", rows=2000, columns=400)
    page.wait_for(r"(?m)^}$")
    assert page.end() == 0
    assert "x\\u009b31m\\u202e" in page.raw.lower()
    assert not {"\u009b", "\u202e"} & set(page.raw)


def test_metrics_on_a_terminal_are_escaped(daemon_here, terminal):
    page = terminal("--socket", daemon_here.socket, "metrics")
    peer = daemon_here.accept()
    assert peer.recv()["type"] == "metrics"
    peer.send({"type": "metrics", "text": "a 1\nb\u009b2J\x1b[31m 2\n"})
    page.wait_for("2J")
    assert page.end() == 0
    assert page.raw == "a 1\r\nb\\u009b2J\\x1b[31m 2\r\n"
