# SPDX-License-Identifier: MIT
"""What rubricctl batch shows while it runs: on a terminal of 80 or 40 columns, one that is resized, a dumb
one, and on a pipe."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

import pytest
from batches import Batches, error, result, sandbox
from conftest import DEADLINE

ROWS = 24

# An id with control sequences that a terminal would obey.
SLOW_ID = "\x1b]0;owned\x07\x9b2J\n" + "long" * 20


class Terminal:
    """The master side of a pty, and the screen that results from the output. It knows only the control
    sequences that progress may use; any other fails the test."""

    def __init__(self, columns):
        self.master, self.slave = pty.openpty()
        self.raw = b""
        self.screen = [""]
        self.row = self.column = 0
        self.resize(columns)

    def resize(self, columns):
        """Changes the width and rewraps the lines, as some terminals do."""
        self.columns = columns
        fcntl.ioctl(self.slave if self.slave is not None else self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", ROWS, columns, 0, 0))  # fmt: skip
        broken = [[line[i : i + columns] for i in range(0, max(len(line), 1), columns)] for line in self.screen]
        above = sum(len(parts) for parts in broken[: self.row])
        self.row, self.column = above + self.column // columns, self.column % columns
        self.screen = [part for parts in broken for part in parts]

    def feed(self, text):
        for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r|\n|[^\x00-\x1f\x7f-\x9f]|.", text, re.S):
            if part == "\r":
                self.column = 0
            elif part == "\n":
                self.row += 1
                if self.row == len(self.screen):
                    self.screen.append("")
            elif part == "\x1b[K":
                self.screen[self.row] = self.screen[self.row][: self.column]
            elif part == "\x1b[J":
                self.screen[self.row] = self.screen[self.row][: self.column]
                del self.screen[self.row + 1 :]
            elif re.fullmatch(r"\x1b\[\d+A", part):
                self.row -= int(part[2:-1])
                assert self.row >= 0, "the cursor moved above the screen"
            else:
                assert part.isprintable(), f"a terminal would obey {part!r}"
                if self.column == self.columns:
                    self.feed("\r\n")
                line = self.screen[self.row].ljust(self.column)
                self.screen[self.row] = line[: self.column] + part + line[self.column + 1 :]
                self.column += 1

    def read(self):
        """Reads and shows the next output; returns False at the end."""
        assert select.select([self.master], [], [], DEADLINE)[0], self.screen
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.raw += data
        self.feed(data.decode())
        return data != b""

    def wait_for(self, *lines):
        """Waits until the screen ends with LINES, each a string or a pattern."""
        end = time.monotonic() + DEADLINE
        while True:
            shown = self.screen[-len(lines) :]
            if len(shown) == len(lines) and all(re.fullmatch(p, s) for p, s in zip(lines, shown)):
                return
            assert time.monotonic() < end, self.screen
            assert self.read(), self.screen

    def close(self):
        os.close(self.master)


@pytest.fixture(name="batches")
def make_batches(tmp_path, daemon_here):
    made = Batches(tmp_path, daemon_here.socket)
    made.write(*[sandbox(f"j{n}") for n in range(8)], sandbox(SLOW_ID))
    return made


def start_on(terminal, batches, *options, term="xterm-256color"):
    process = batches.start(
        *options,
        stdout=terminal.slave,
        stderr=terminal.slave,
        env={**os.environ, "TERM": term},
        text=False,
    )
    os.close(terminal.slave)
    terminal.slave = None
    return process


def started(id):
    return {"type": "started", "id": id, "job_no": 1, "slot": 0}


@pytest.mark.parametrize("columns", [80, 40])
def test_in_place(batches, daemon_here, columns):
    wide = columns == 80
    terminal = Terminal(columns)
    process = start_on(terminal, batches, "--jobs", "5")
    peer = daemon_here.accept()
    peer.jobs(5)
    counts = "0 passed, 0 failed, 0 errors"
    terminal.wait_for(r"\[>  +\] 0/9 0%  0\.0/s", counts + ("  5 in flight" if wide else ""))
    peer.send(result("j0"), result("j1", passed=False), started("j2"), error("j3"))
    peer.jobs(2)
    assert peer.jobs(1) == ["j3"]
    counts = "1 passed, 1 failed, 0 errors" + ("  5 in flight" if wide else "")
    # A job that runs for more than a second is shown as slow.
    terminal.wait_for(r"(\[=+> +\] )?2/9 22%  [\d.]+/s  ETA [\d.]+ s", counts, r"slow: j2 [\d.]+ s")
    peer.send(*[result(f"j{n}") for n in range(2, 7)])
    peer.jobs(2)
    peer.send(result("j7"), started(SLOW_ID))
    slow = r"slow: \\x1b\]0;owned\\x0.*\.\.\. [\d.]+ s"
    terminal.wait_for(r"(\[=+> *\] )?8/9 88%.*", "7 passed, 1 failed, 0 errors.*", slow)
    peer.send(result(SLOW_ID))
    while terminal.read():
        pass
    assert process.wait(DEADLINE) == 1
    # The summary replaces the live lines.
    assert terminal.screen[0] == "9 jobs: 8 passed, 1 failed, 0 errors", terminal.screen
    assert terminal.screen[-2:] == ["       1  sandbox.failed", ""]
    terminal.close()


def test_resized(batches, daemon_here):
    terminal = Terminal(80)
    process = start_on(terminal, batches)
    peer = daemon_here.accept()
    peer.jobs(9)
    peer.send(started("j2"), started(SLOW_ID))
    terminal.wait_for(r"\[> +\] 0/9.*", "0 passed, 0 failed, 0 errors  9 in flight", "slow: j2 .*")
    for done, columns in enumerate((40, 23, 80, 20), start=1):
        terminal.resize(columns)
        peer.send(result(f"j{done + 2}"))
        terminal.wait_for(rf".*{done}/9 .*", ".*", "slow: .*")
        assert len(terminal.screen) == 3, terminal.screen
    terminal.resize(80)
    peer.send(*[result(f"j{n}") for n in (0, 1, 2, 7)], result(SLOW_ID))
    while terminal.read():
        pass
    assert process.wait(DEADLINE) == 0
    assert terminal.screen[0] == "9 jobs: 9 passed, 0 failed, 0 errors", terminal.screen
    terminal.close()


def test_messages_stand_above(batches, daemon_here):
    """A message overwrites the live lines, which then continue below it."""
    text = batches.jobs.read_text().splitlines()
    batches.jobs.write_text("\n".join([*text[:4], "no job", *text[4:]]) + "\n")
    terminal = Terminal(80)
    process = start_on(terminal, batches, "--jobs", "2")
    peer = daemon_here.accept()
    assert peer.jobs(2) == ["j0", "j1"]
    terminal.wait_for(r"\[>  +\] 0/10 0%.*", "0 passed, .*")
    peer.send(result("j0"), result("j1"))
    peer.jobs(2)
    peer.send(result("j2"), result("j3"))
    peer.jobs(2)
    complaint = f"rubricctl: {batches.jobs}:5: not JSON: column 2: invalid token near 'no'"
    rows = [re.escape(complaint[i : i + 80]) for i in range(0, len(complaint), 80)]
    terminal.wait_for(*rows, r".*4/10 40%.*", "4 passed, 0 failed, 0 errors.*")
    peer.send(result("j4"), result("j5"))
    peer.jobs(2)
    terminal.wait_for(r".*6/10 60%.*", "6 passed, 0 failed, 0 errors.*")
    peer.send(result("j6"), result("j7"))
    peer.jobs(1)
    peer.send(result(SLOW_ID))
    while terminal.read():
        pass
    assert process.wait(DEADLINE) == 2
    assert "".join(terminal.screen).count(complaint) == 1
    terminal.close()


def run_all(batches, daemon_here, process):
    peer = daemon_here.accept()
    ids = peer.jobs(9)
    peer.send(started(ids[0]))
    return peer, ids


def test_a_dumb_terminal(batches, daemon_here):
    terminal = Terminal(80)
    process = start_on(terminal, batches, term="dumb")
    peer, ids = run_all(batches, daemon_here, process)
    peer.send(*[result(id) for id in ids])
    while terminal.read():
        pass
    assert process.wait(DEADLINE) == 0
    assert b"\x1b" not in terminal.raw and b"\r" not in terminal.raw.replace(b"\r\n", b"")
    assert terminal.raw.decode().splitlines()[0] == "9 jobs: 9 passed, 0 failed, 0 errors"
    terminal.close()


def test_a_pipe(batches, daemon_here):
    process = batches.start(env={**os.environ, "TERM": "xterm"})
    peer, ids = run_all(batches, daemon_here, process)
    peer.send(*[result(id) for id in ids])
    said = batches.end(process)
    assert said[0] == "9 jobs: 9 passed, 0 failed, 0 errors"
    assert not any(c in line for line in said for c in "\x1b\r")


def test_quiet(batches, daemon_here):
    terminal = Terminal(80)
    process = start_on(terminal, batches, "--quiet")
    peer, ids = run_all(batches, daemon_here, process)
    peer.send(*[result(id) for id in ids])
    while terminal.read():
        pass
    assert (process.wait(DEADLINE), terminal.raw) == (0, b"")
    terminal.close()
