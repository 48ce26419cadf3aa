# SPDX-License-Identifier: MIT
"""Sandbox jobs on a terminal: what the program finds, what is typed and shown, how it ends; and
`rubricctl sandbox --tty`, for which the user's terminal stands."""

import base64
import contextlib
import fcntl
import hashlib
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest
from conftest import DEADLINE, RUBRICCTL, wait_until
from processes import state_of

PYTHON = "/usr/bin/python3"
SIZE = {"rows": 24, "columns": 80}


def on_terminal(*argv, **fields):
    return {"kind": "sandbox", "argv": list(argv), "terminal": SIZE, **fields}


def python(code, **fields):
    return on_terminal(PYTHON, "-c", code, **fields)


def shell(text, **fields):
    return on_terminal("/bin/sh", "-c", text, **fields)


class Job:
    """A job of CLIENT on a terminal that has started."""

    def __init__(self, client, job, id="job"):
        self.client, self.id, self.shown, self.taken, self.answer = client, id, b"", 0, None
        client.submit(id, job)
        started = client.recv()
        assert started["type"] == "started", started
        self.number = started["job_no"]

    def take(self):
        """Takes one message."""
        message = self.client.recv()
        if message["type"] == "output":
            assert (message["id"], message["stream"]) == (self.id, "stdout")
            self.shown += base64.b64decode(message["base64"])
        elif message["type"] == "input_taken":
            assert message["job_no"] == self.number
            self.taken += message["bytes"]
        else:
            self.answer = message

    def type(self, data):
        self.client.send({"type": "input", "job_no": self.number, "base64": base64.b64encode(data).decode()})

    def resize(self, rows, columns):
        self.client.send({"type": "resize", "job_no": self.number, "rows": rows, "columns": columns})

    def until(self, text):
        """Reads until TEXT is shown."""
        while text not in self.shown:
            assert self.answer is None, (self.answer, self.shown)
            self.take()
        return self.shown

    def end(self):
        """Reads to the answer; returns it."""
        while self.answer is None or self.answer.get("id") != self.id:
            self.take()
        return self.answer


def jobs_that_run(daemon):
    with daemon.connect() as other:
        return [slot for slot in other.status()["slots"] if slot["job"]]


# --- what the program finds ------------------------------------------------------------------------


def test_the_program_has_a_controlling_terminal(client):
    code = """
import os, termios
print([os.isatty(fd) for fd in range(3)], os.getsid(0) == os.getpid(), os.tcgetpgrp(0) == os.getpgrp())
print(tuple(os.get_terminal_size()), os.environ.get("TERM"))
print(bool(termios.tcgetattr(0)[3] & termios.ECHO), bool(termios.tcgetattr(0)[3] & termios.ICANON))
"""
    job = Job(client, python(code, terminal={"rows": 30, "columns": 100, "term": "vt100"}))
    answer = job.end()
    assert job.shown.decode().splitlines() == [
        "[True, True, True] True True", "(100, 30) vt100", "True True",
    ]  # fmt: skip
    assert answer["score"]["passed"]
    assert answer["stdout"] == "" and answer["outcome"]["stderr"] == ""


def test_the_erase_key_takes_back_a_whole_character(client):
    job = Job(client, python("print(ascii(input('ready')))"))
    job.until(b"ready")
    job.type("x\u00e9\x7fy\n".encode())
    job.end()
    assert job.shown.endswith(b"'xy'\r\n"), job.shown


def test_no_term_unless_it_is_given(client):
    job = Job(client, shell('echo "<$TERM>"'))
    job.end()
    assert job.shown == b"<>\r\n"


def test_other_jobs_have_no_terminal(client, daemon):
    """Of a job before it, on the same slot, neither."""
    Job(client, shell("true")).end()
    code = """
import os
print([os.isatty(fd) for fd in range(3)])
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError as error:
    print(error.strerror)
"""
    said = client.run({"kind": "sandbox", "argv": [PYTHON, "-c", code]})["stdout"]
    refusal = "No such file or directory" if daemon.has_view() else "Permission denied"
    assert said == f"[False, False, False]\n{refusal}\n"


# --- both ways -------------------------------------------------------------------------------------


def test_what_is_typed_is_read_and_echoed(client):
    job = Job(client, shell("read -r line; echo \"<$line>\""))
    job.type("caf\u00e9\n".encode())
    assert job.end()["score"]["passed"]
    assert job.shown == "caf\u00e9\r\n<caf\u00e9>\r\n".encode()
    assert job.taken == 6


def test_control_c_is_a_signal_to_the_program(client):
    job = Job(client, shell("trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.1; done"))
    job.until(b"ready")
    job.type(b"\x03")
    assert job.end()["outcome"]["exit_code"] == 7
    assert b"^C" in job.shown and b"caught" in job.shown


def test_a_raw_terminal_passes_every_byte(client):
    code = """
import os, tty
tty.setraw(0)
os.write(1, b"ready")
got = b""
while len(got) < 256:
    got += os.read(0, 256)
os.write(1, got)
"""
    job = Job(client, python(code))
    job.until(b"ready")
    job.type(bytes(range(256)))
    job.end()
    assert job.shown == b"ready" + bytes(range(256))


def test_another_size_is_told(client):
    code = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
os.write(1, b"ready\\n")
signal.sigwait([signal.SIGWINCH])
os.write(1, b"%d %d\\n" % os.get_terminal_size())
"""
    job = Job(client, python(code))
    job.until(b"ready")
    job.resize(50, 132)
    job.end()
    assert b"132 50\r\n" in job.shown


def test_job_control_works(client):
    job = Job(client, on_terminal("/bin/bash", "--norc", "-i", terminal={**SIZE, "term": "dumb"}))
    job.until(b"$ ")
    seconds = b"%d" % (1000000 + os.getpid())  # other tests have sleeps, too
    sleeps = lambda: [state for words, state in processes() if words == [b"sleep", seconds, b""]]  # noqa: E731
    job.type(b"sleep %b\n" % seconds)
    wait_until(lambda: sleeps() == ["S"], "sleep runs")
    job.type(b"\x1a")
    job.until(b"Stopped")
    job.type(b"fg\n")
    wait_until(lambda: sleeps() == ["S"], "sleep goes on")
    job.type(b"\x03")
    wait_until(lambda: sleeps() == [], "sleep has ended")
    job.type(b"exit 5\n")
    assert job.end()["outcome"]["exit_code"] == 5


def processes():
    """Yields the command line and the state of each process."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            yield words, state_of(name)


def test_output_is_not_limited_but_by_who_reads_it(client):
    job = Job(client, python(f"import os; os.write(1, b'x' * {1 << 20})"))
    assert job.end()["score"]["passed"]
    assert job.shown == b"x" * (1 << 20)  # four times what a job may write otherwise


def test_a_client_that_does_not_read_makes_the_program_wait(start_daemon):
    daemon = start_daemon("protocol.reply_high_water=64K", slots=1)
    with daemon.connect() as client, daemon.connect() as other:
        job = Job(client, python("import os\nwhile True: os.write(1, b'x' * 4096)"))
        unsent = lambda: max(entry["unsent_bytes"] for entry in other.status()["clients"])  # noqa: E731
        wait_until(lambda: unsent() > 64 << 10, "replies are left unread")
        end, most = time.monotonic() + 1, 0
        while time.monotonic() < end:
            most = max(most, unsent())
        assert most < 1 << 20
        client.send({"type": "cancel", "id": "job"})
        assert job.end()["code"] == "cancelled"


def test_input_that_nobody_reads_is_bounded(client):
    job = Job(client, python("import tty, time; tty.setraw(0); print('ready', flush=True); time.sleep(1000)"))
    job.until(b"ready")
    sent = 0
    while job.answer is None:
        job.type(b"x" * 8192)
        sent += 8192
        client.send({"type": "ping"})
        while job.answer is None:
            job.take()
        if job.answer["type"] == "pong":
            job.answer = None
    assert job.answer["code"] == "bad_request" and "id" not in job.answer
    assert job.answer["job_no"] == job.number
    assert job.answer["message"].startswith("base64: more than 65536 bytes would wait for the terminal")
    assert sent < 1 << 20, "what the kernel takes is bounded, too"
    client.send({"type": "cancel", "id": "job"})
    assert job.end()["code"] == "cancelled"


def test_all_that_is_typed_arrives(client):
    """Much more than the kernel holds, sent as input_taken makes room for it."""
    size, window = 1 << 20, 65536
    code = f"""
import hashlib, os, tty
tty.setraw(0)
os.write(1, b"ready")
left, digest = {size}, hashlib.sha256()
while left:
    data = os.read(0, 65536)
    digest.update(data)
    left -= len(data)
print(digest.hexdigest())
"""
    job = Job(client, python(code))
    job.until(b"ready")
    sent = bytearray()
    while len(sent) < size:
        room = min(window - (len(sent) - job.taken), size - len(sent), 30000)
        if room > 0:
            data = os.urandom(room)
            job.type(data)
            sent += data
        else:
            job.take()
    assert job.end()["score"]["passed"]
    assert hashlib.sha256(sent).hexdigest().encode() in job.shown and job.taken == size


# --- the end ---------------------------------------------------------------------------------------


def test_the_client_is_gone_and_so_is_the_job(daemon):
    """Also a program that ignores SIGHUP, and one that has left the session."""
    marker = f"1000.{os.getpid()}".encode()  # seconds
    with daemon.connect() as client:
        script = f"trap '' HUP INT TERM; setsid sleep {marker.decode()} & echo ready; while :; do sleep 1; done"
        Job(client, shell(script)).until(b"ready")
        wait_until(lambda: any(marker in words for words, _ in processes()), "the other session has begun")
    wait_until(lambda: not jobs_that_run(daemon), "the job is gone")
    assert not any(marker in words for words, _ in processes())


def test_limits_hold(client):
    job = Job(client, shell("sleep 1000", limits={"wall_clock": 0.3}))
    assert job.end()["outcome"]["limit_exceeded"] == "wall_clock"


def test_files_come_back(client):
    job = Job(client, shell("cat >file", collect=["file"]))
    job.type(b"text\n\x04")
    assert job.end()["files"][0]["content"] == "text\n"


def test_what_is_typed_too_late_is_dropped(client):
    job = Job(client, shell("true"))
    job.end()
    job.type(b"x")
    job.resize(1, 1)
    client.ping()


def test_a_job_that_reads_nothing_ends_with_its_input_waiting(client):
    job = Job(client, shell("echo ready; read -r line; exit 3"))
    job.until(b"ready")
    job.type(b"x" * 60000 + b"\n")
    job.type(b"\n")
    assert job.end()["type"] == "result"
    assert client.run({"kind": "sandbox", "argv": ["/bin/echo", "on"]})["stdout"] == "on\n"


@pytest.mark.parametrize(
    "job, message",
    [
        (shell("true", stdin="x"), "job.stdin: a terminal takes its place"),
        (shell("true", stream=False), "job.stream: what a terminal shows comes as output in any case"),
        (shell("true", limits={"output_bytes": 5000}),
         "job.limits.output_bytes: what a terminal shows does not count as output"),
        ({"kind": "sandbox", "steps": [{"argv": ["/bin/true"]}], "terminal": SIZE}, "job.terminal: steps have none"),
        (shell("true", terminal={"rows": -1, "columns": 1}), "job.terminal.rows: expected an integer from 0 to 65535"),
        (shell("true", terminal={"rows": 1}), "job.terminal.columns: missing"),
        (shell("true", terminal={**SIZE, "term": "../x"}), "job.terminal.term: expected 1 to 64 letters, digits "
         "and +-._, the first of them no dot"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(client, job, message):
    answer = client.run(job, check=False)
    assert (answer["code"], answer["message"]) == ("bad_request", message)


def test_input_for_a_job_without_a_terminal(client):
    client.submit("job", {"kind": "sandbox", "argv": ["/bin/sleep", "1000"]})
    number = client.recv()["job_no"]
    client.send({"type": "input", "job_no": number, "base64": "eA=="})
    error = client.recv()
    assert (error["job_no"], error["message"]) == (number, "job_no: this job has no terminal")
    client.send({"type": "input", "job_no": number, "base64": ""}, check=False)
    assert client.recv()["message"] == "base64: expected 1 to 65536 bytes, got 0"
    client.send({"type": "cancel", "id": "job"})
    client.recv_answer("job")


def test_nobody_types_on_the_terminal_of_another_client(daemon):
    with daemon.connect() as owner, daemon.connect() as other:
        job = Job(owner, shell("read -r line; echo \"<$line>\""))
        other.send({"type": "input", "job_no": job.number, "base64": base64.b64encode(b"evil\n").decode()})
        other.send({"type": "resize", "job_no": job.number, "rows": 1, "columns": 1})
        other.ping()
        job.type(b"good\n")
        job.end()
        assert job.shown == b"good\r\n<good>\r\n"


# --- rubricctl -------------------------------------------------------------------------------------


class User:
    """A user at a terminal of her own, in which `rubricctl sandbox --tty` runs."""

    def __init__(self, *words, rows=24, columns=80):
        self.ours, self.theirs = pty.openpty()
        self.set_size(rows, columns)
        self.before = termios.tcgetattr(self.theirs)
        self.process = subprocess.Popen(
            [RUBRICCTL, "sandbox", "--tty", *words],
            stdin=self.theirs, stdout=self.theirs, stderr=self.theirs, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        self.shown = b""

    def set_size(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def is_raw(self):
        return not termios.tcgetattr(self.theirs)[3] & (termios.ICANON | termios.ISIG | termios.ECHO)

    def type(self, data):
        os.write(self.ours, data)

    def read(self):
        if select.select([self.ours], [], [], 0.02)[0]:
            self.shown += os.read(self.ours, 65536)

    def until(self, text):
        def is_shown():
            self.read()
            return text in self.shown

        wait_until(is_shown, f"{text!r} is shown: {self.shown!r}")

    def end(self):
        """Waits for the end; returns the status. The terminal must be as it was."""

        def is_over():
            self.read()
            return self.process.poll() is not None

        wait_until(is_over, "rubricctl ends")
        self.read()
        assert termios.tcgetattr(self.theirs) == self.before
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def user(daemon):
    users = []

    def start(*words, embedded=False, **size):
        where = ["--embedded"] if embedded else ["--socket", daemon.socket]
        users.append(User(*where, *words, **size))
        return users[-1]

    yield start
    for each in users:
        each.close()


READY = "import os; print(tuple(os.get_terminal_size()), os.environ['TERM'], 'ready', flush=True); "


@pytest.mark.parametrize("embedded", [False, True])
def test_rubricctl_gives_the_users_terminal_to_the_program(user, embedded, monkeypatch):
    monkeypatch.setenv("TERM", "vt220")
    there = user(PYTHON, "-c", READY + "print('<' + input() + '>'); exit(7)", embedded=embedded, rows=40, columns=90)
    there.until(b"(90, 40) vt220 ready")
    assert there.is_raw()
    there.type(b"typed\r")
    assert there.end() == 7
    assert b"typed\r\n<typed>\r\n" in there.shown
    assert b"\r\nrubricctl: exit status 7: " in there.shown


def test_rubricctl_control_c_goes_to_the_program(user):
    there = user("sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done")
    there.until(b"ready")
    there.type(b"\x03")
    assert there.end() == 5
    assert b"caught" in there.shown


def test_rubricctl_size_follows(user):
    code = "import os, signal; signal.signal(signal.SIGWINCH, lambda *_: os.write(1, b'<%d %d>' % os.get_terminal_size())); "
    wait = "import time\nwhile os.get_terminal_size().lines != 51: time.sleep(0.01)"
    there = user(PYTHON, "-c", code + "os.write(1, b'ready')\n" + wait)
    there.until(b"ready")
    there.set_size(50, 132)
    there.until(b"<132 50>")
    there.set_size(51, 133)
    there.until(b"<133 51>")
    assert there.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_rubricctl_gives_the_terminal_back_when_it_is_told_to_end(daemon, user, number):
    there = user("sh", "-c", "trap '' HUP INT TERM QUIT; echo ready; while :; do sleep 0.1; done")
    there.until(b"ready")
    assert there.is_raw()
    there.process.send_signal(number)
    assert there.end() == 130
    wait_until(lambda: not jobs_that_run(daemon), "the job is gone")


def has_written_all_it_can(pid):
    def written():
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            return int(file.read().split("wchar: ")[1].split()[0])

    before = written()
    time.sleep(0.2)
    return before > 4096 and written() == before


def test_rubricctl_gives_the_terminal_back_when_nobody_reads_it(daemon, user):
    """A write that waits for room must not keep the signal waiting."""
    there = user("yes", "x" * 100)
    wait_until(there.is_raw, "the program runs")
    wait_until(lambda: has_written_all_it_can(there.process.pid), "its terminal is full")
    there.process.send_signal(signal.SIGTERM)
    assert there.process.wait(DEADLINE) == 130
    assert there.end() == 130


def test_rubricctl_says_why_it_cannot_show_the_output(daemon):
    """The daemon is not gone."""
    reader, writer = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY)
    ours, theirs = pty.openpty()
    ends = []
    for output in (writer, full):
        command = [RUBRICCTL, "--socket", daemon.socket, "sandbox", "--tty", "--", "echo", "x"]
        done = subprocess.run(
            command, stdin=theirs, stdout=output, stderr=subprocess.PIPE, timeout=DEADLINE, check=False
        )
        ends.append((done.returncode, done.stderr.strip()))
    for fd in (writer, full, ours, theirs):
        os.close(fd)
    assert ends == [(141, b""), (2, b"rubricctl: cannot write the output: No space left on device")]


def test_rubricctl_gives_the_terminal_back_when_the_daemon_dies(user):
    there = user("sh", "-c", "echo ready; sleep 1000", embedded=True)
    there.until(b"ready")
    (child,) = [
        int(pid) for pid in
        open(f"/proc/{there.process.pid}/task/{there.process.pid}/children", encoding="ascii").read().split()
    ]  # fmt: skip
    os.kill(child, signal.SIGKILL)
    assert there.end() == 3
    assert b"the job was not answered" in there.shown


def test_rubricctl_holds_a_stop_back_and_is_raw_again_when_it_goes_on(user):
    there = user("sh", "-c", "echo ready; read -r line; echo \"<$line>\"")
    there.until(b"ready")
    # A process group without a parent in its session is not stopped by SIGTSTP in any case.
    assert blocked_signals(there.process.pid) >> (signal.SIGTSTP - 1) & 1
    os.kill(there.process.pid, signal.SIGSTOP)
    wait_until(lambda: state_of(there.process.pid) == "T", "it stands")
    termios.tcsetattr(there.theirs, termios.TCSANOW, there.before)  # as a shell does
    os.kill(there.process.pid, signal.SIGCONT)
    wait_until(there.is_raw, "it is raw again")
    there.type(b"x\r")
    assert there.end() == 0
    assert b"<x>" in there.shown


def blocked_signals(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(next(line.split()[1] for line in file if line.startswith("SigBlk:")), 16)


def test_rubricctl_ends_when_its_terminal_is_gone(daemon):
    there = User("--socket", daemon.socket, "sh", "-c", "trap '' HUP; echo ready; while :; do sleep 0.1; done")
    there.until(b"ready")
    os.close(there.theirs)
    os.close(there.ours)
    assert there.process.wait(DEADLINE) == 130
    wait_until(lambda: not jobs_that_run(daemon), "the job is gone")


def test_rubricctl_can_be_interrupted_while_the_job_waits(start_daemon):
    daemon = start_daemon(slots=1)
    with daemon.connect() as other:
        other.submit("busy", {"kind": "sandbox", "argv": ["/bin/sleep", "1000"]})
        assert other.recv()["type"] == "started"
        there = User("--socket", daemon.socket, "true")
        wait_until(lambda: other.status()["queue"]["jobs"] == 1, "the job waits")
        assert not there.is_raw()
        there.type(b"\x03")
        assert there.end() == 130
        there.close()


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "--tty: standard input is not a terminal"),
        (["--json"], "--tty: does not go with --json: what a terminal shows is in no answer"),
    ],
)
def test_rubricctl_says_what_does_not_go_with_it(daemon, words, message):
    done = subprocess.run(
        [RUBRICCTL, "sandbox", "--socket", daemon.socket, "--tty", *words, "true"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"rubricctl: {message}\n")


def test_rubricctl_drops_what_was_typed_for_the_program(user):
    """An answer of the terminal to what the program has printed is no command to the user's shell. Here
    rubricctl has more than it may send, and does not read it."""
    there = user("sh", "-c", "stty raw -echo; echo ready; sleep 1.5")
    there.until(b"ready")
    fcntl.fcntl(there.ours, fcntl.F_SETFL, os.O_NONBLOCK)
    fcntl.fcntl(there.theirs, fcntl.F_SETFL, os.O_NONBLOCK)
    refused = 0
    while refused < 10:  # in a row: nobody takes more
        try:
            there.type(b"rm -rf /\r" * 400)
            refused = 0
        except BlockingIOError:
            refused += 1
            time.sleep(0.02)
    assert there.end() == 0
    with pytest.raises(BlockingIOError):
        os.read(there.theirs, 100)
