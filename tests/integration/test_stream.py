# SPDX-License-Identifier: MIT
"""Sandbox jobs that stream: their output comes while they run, byte for byte and once, and waits for a
client that does not read; and `rubricctl sandbox`, which shows it."""

import base64
import contextlib
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import pytest
from conftest import DEADLINE, RUBRICCTL, wait_until

MIB = 1 << 20
PYTHON = "/usr/bin/python3"


def shell(text, **fields):
    return {"kind": "sandbox", "argv": ["/bin/sh", "-c", text], "stream": True, **fields}


def python(code, **fields):
    return {"kind": "sandbox", "argv": [PYTHON, "-c", code], "stream": True, **fields}


class Told:
    """The answer to a job, and what was told before it: pieces of (stream, step, bytes)."""

    def __init__(self, client, id="job"):
        self.pieces = []
        while True:
            message = client.recv()
            if message["type"] == "output":
                assert message["id"] == id
                piece = base64.b64decode(message["base64"])
                self.pieces.append((message["stream"], message.get("step"), piece))
            elif message["type"] != "started":
                assert message["id"] == id, message
                self.answer = message
                break

    def of(self, stream, step=None):
        return b"".join(data for name, place, data in self.pieces if (name, place) == (stream, step))


def run(client, job):
    client.submit("job", job)
    return Told(client)


# --- the protocol --------------------------------------------------------------------------------


def test_output_comes_while_the_program_runs(client):
    client.submit("job", shell("echo first; echo second >&2; sleep 1000"))
    assert client.recv()["type"] == "started"
    first, second = client.recv(), client.recv()
    assert (first["stream"], base64.b64decode(first["base64"])) == ("stdout", b"first\n")
    assert (second["stream"], base64.b64decode(second["base64"])) == ("stderr", b"second\n")
    assert "step" not in first
    client.send({"type": "cancel", "id": "job"})
    assert Told(client).answer["code"] == "cancelled"


def test_bytes_are_told_as_they_are_written_and_the_result_has_them_too(client):
    told = run(client, python("import os; os.write(1, bytes(range(256))); os.write(2, b'\\xff\\x00')"))
    assert told.of("stdout") == bytes(range(256)) and told.of("stderr") == b"\xff\x00"
    assert told.answer["stdout"] == bytes(range(256)).decode(errors="replace")
    assert told.answer["outcome"]["stderr"] == "\ufffd\0"
    assert told.answer["score"]["passed"]


@pytest.mark.parametrize("stream", [None, False])
def test_nothing_is_told_unless_it_is_asked_for(client, stream):
    told = run(client, {**shell("echo x"), "stream": stream})
    assert told.pieces == [] and told.answer["stdout"] == "x\n"


def test_a_quick_program_is_told_in_full(client):
    """Its end is known before any of its output was read."""
    for n in range(50):
        told = run(client, shell(f"echo {n}; echo e{n} >&2"))
        assert told.of("stdout") == b"%d\n" % n and told.of("stderr") == b"e%d\n" % n


def test_much_output_is_told_once(client):
    code = f"import sys; sys.stdout.write('abcdefgh' * {2 * MIB // 8})"
    told = run(client, python(code, limits={"output_bytes": 2 * MIB}))
    assert told.answer["score"]["passed"], told.answer["outcome"]
    assert told.of("stdout") == b"abcdefgh" * (2 * MIB // 8)
    assert told.answer["stdout"].encode() == told.of("stdout")


def test_output_beyond_the_limit_is_told_up_to_it(client):
    told = run(client, shell("yes", limits={"output_bytes": 5000}))
    assert told.answer["outcome"]["limit_exceeded"] == "output"
    assert told.of("stdout") == b"y\n" * 2500


def test_the_output_of_steps_says_which_has_written_it(client):
    steps = [
        {"argv": ["/bin/sh", "-c", "echo one; echo text >file"]},
        {"argv": ["/bin/sh", "-c", "echo bad >&2; exit 1"], "may_fail": True},
        {"argv": ["/bin/cat", "file"]},
    ]
    told = run(client, {"kind": "sandbox", "steps": steps, "stream": True, "collect": ["file"]})
    # What a step leaves is what the next finds: the file goes through the second.
    assert told.pieces == [
        ("stdout", 0, b"one\n"), ("stderr", 1, b"bad\n"), ("stdout", 2, b"text\n"),
    ]  # fmt: skip
    assert [step["stdout"] for step in told.answer["steps"]] == ["one\n", "", "text\n"]
    assert told.answer["files"][0]["content"] == "text\n"


def test_jobs_side_by_side_do_not_get_each_others_output(client):
    for n in range(8):
        client.submit(f"job {n}", shell(f"echo {n}; sleep 0.1; echo {n}"))
    said, answers = {}, 0
    while answers < 8:
        message = client.recv()
        if message["type"] == "output":
            said[message["id"]] = said.get(message["id"], b"") + base64.b64decode(message["base64"])
        answers += message["type"] == "result"
    assert said == {f"job {n}": b"%d\n%d\n" % (n, n) for n in range(8)}


def unsent(other):
    return max(entry["unsent_bytes"] for entry in other.status()["clients"])


def most_unsent(other, seconds):
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        most = max(most, unsent(other))
    return most


@pytest.mark.parametrize("quick_first", [False, True])
def test_a_client_that_does_not_read_makes_the_program_wait(start_daemon, quick_first):
    """QUICK_FIRST: the slot has it ahead, behind another job, when the client is found not to read."""
    daemon = start_daemon("protocol.reply_high_water=64K", slots=1)
    code = f"import sys; sys.stdout.write('x' * {4 * MIB})"
    with daemon.connect() as client, daemon.connect() as other:
        if quick_first:
            other.run({"kind": "sandbox", "argv": ["/bin/true"]})
            client.submit("quick", shell("true"))
        client.submit("job", python(code, limits={"output_bytes": 4 * MIB}))
        wait_until(lambda: unsent(other) > 64 << 10, "replies are left unread")
        assert most_unsent(other, 1) < 1 * MIB
        if quick_first:
            assert Told(client, "quick").answer["score"]["passed"]
        told = Told(client)
        assert told.answer["score"]["passed"], told.answer["outcome"]
        assert told.of("stdout") == b"x" * (4 * MIB)


def test_a_step_that_begins_while_the_client_does_not_read_waits(start_daemon):
    """Another job of the client has filled what may be unread when the second step begins."""
    daemon = start_daemon("protocol.reply_high_water=64K", slots=2)
    limits = {"output_bytes": 4 * MIB}
    flood = f"import sys; sys.stdout.write('x' * {3 * MIB})"
    steps = [{"argv": ["/bin/sh", "-c", "echo begun; sleep 0.5"]}, {"argv": [PYTHON, "-c", flood], "limits": limits}]
    with daemon.connect() as client, daemon.connect() as other:
        client.submit("steps", {"kind": "sandbox", "steps": steps, "stream": True})
        assert (client.recv()["type"], client.recv()["type"]) == ("started", "output")
        client.submit("flood", python(flood, limits=limits))
        wait_until(lambda: unsent(other) > 64 << 10, "replies are left unread")
        assert most_unsent(other, 2) < 1 * MIB
        said, answers = {"steps": 0, "flood": 0}, 0
        while answers < 2:
            message = client.recv()
            if message["type"] == "output":
                said[message["id"]] += len(base64.b64decode(message["base64"]))
            answers += message["type"] == "result"
        assert said == {"steps": 3 * MIB, "flood": 3 * MIB}


def test_a_client_that_leaves_ends_the_program(daemon):
    with daemon.connect() as other:
        with daemon.connect() as client:
            client.submit("job", shell("while :; do echo x; done", limits={"output_bytes": 4 * MIB}))
            assert client.recv()["type"] == "started"
            assert client.recv()["type"] == "output"
        wait_until(lambda: not [s for s in other.status()["slots"] if s["job"]], "the job is gone")


# --- rubricctl -----------------------------------------------------------------------------------


def start(daemon, *words, **options):
    where = ["--embedded"] if daemon is None else ["--socket", daemon.socket]
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([RUBRICCTL, "sandbox", *where, *words], **options)


@pytest.mark.parametrize("embedded", [False, True])
def test_rubricctl_prints_output_as_it_comes(daemon, embedded):
    process = start(None if embedded else daemon, "sh", "-c", "echo out; echo err >&2; sleep 1000")
    assert os.read(process.stdout.fileno(), 100) == b"out\n"
    assert os.read(process.stderr.fileno(), 100) == b"err\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_rubricctl_prints_bytes_and_none_twice(daemon):
    code = r"printf '\000\377'; printf '\376' >&2; exit 3"
    process = start(daemon, "-q", "sh", "-c", code)
    assert process.communicate(timeout=DEADLINE) == (b"\x00\xff", b"\xfe")
    assert process.returncode == 3


def test_rubricctl_json_has_all_in_the_answer(daemon):
    process = start(daemon, "--json", "sh", "-c", "echo out")
    out, _ = process.communicate(timeout=DEADLINE)
    assert json.loads(out)["stdout"] == "out\n"


def test_rubricctl_keeps_files_and_limits(daemon, tmp_path):
    process = start(daemon, "--collect", "f", "--collect-to", tmp_path, "sh", "-c", "echo x | tee f")
    assert process.communicate(timeout=DEADLINE)[0] == b"x\n"
    assert (tmp_path / "f").read_text() == "x\n"
    process = start(daemon, "-l", "output_bytes=5000", "yes")
    out, err = process.communicate(timeout=DEADLINE)
    assert out == b"y\n" * 2500 and err.startswith(b"rubricctl: sandbox limit exceeded: output: ")
    assert process.returncode == 137


def test_rubricctl_can_be_interrupted_while_nobody_reads_its_output(daemon):
    process = start(daemon, "-l", "output_bytes=4M", "sh", "-c", "yes | head -c 3000000; sleep 1000")

    pipe = process.stdout.fileno()
    room = fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)

    def is_stuck():
        (held,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
        return held == room

    wait_until(is_stuck, "it waits for its reader")
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE) == 130
    process.communicate()


def test_rubricctl_ends_the_command_when_its_reader_is_gone(daemon):
    process = start(daemon, "-l", "output_bytes=4M", "sh", "-c", "while :; do echo x; done")
    assert process.stdout.read(2) == b"x\n"
    process.stdout.close()
    assert process.wait(DEADLINE) == 128 + signal.SIGPIPE
    assert process.stderr.read() == b""
    with daemon.connect() as other:
        wait_until(lambda: not [s for s in other.status()["slots"] if s["job"]], "the job is gone")


def test_rubricctl_says_that_its_output_cannot_be_written(daemon):
    with open("/dev/full", "wb") as full:
        process = start(daemon, "echo", "x", stdout=full)
        _, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, err) == (2, b"rubricctl: cannot write the output: No space left on device\n")


def relay(server, path, seen):
    """An old daemon: hands frames on to the daemon at PATH, but refuses the field `stream`."""
    ours, _ = server.accept()
    theirs = socket.socket(socket.AF_UNIX)
    theirs.connect(str(path))

    def copy():
        with contextlib.suppress(BrokenPipeError):  # it needs nothing more
            while data := theirs.recv(1 << 16):
                ours.sendall(data)

    threading.Thread(target=copy, daemon=True).start()
    stream = ours.makefile("rb")
    while header := stream.read(4):
        payload = stream.read(struct.unpack(">I", header)[0])
        message = json.loads(payload)
        seen.append(message["job"].get("stream"))
        if message["job"].pop("stream", None) is None:
            theirs.sendall(header + payload)
            continue
        refusal = {"type": "error", "id": message["id"], "code": "bad_request", "retriable": False,
                   "message": "job.stream: unknown field"}  # fmt: skip
        text = json.dumps(refusal).encode()
        ours.sendall(struct.pack(">I", len(text)) + text)
    theirs.close()


def test_rubricctl_does_without_if_the_daemon_is_older(daemon, tmp_path):
    seen = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "old"))
        server.listen()
        threading.Thread(target=relay, args=(server, daemon.socket, seen), daemon=True).start()
        done = subprocess.run(
            [RUBRICCTL, "sandbox", "--socket", tmp_path / "old", "-q", "sh", "-c", "echo out; echo err >&2"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"out\n", b"err\n")
    assert seen == [True, None]


def test_batch_takes_the_result_of_a_job_that_streams(daemon, tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text(json.dumps({"id": "s", **shell("echo x")}) + "\n")
    done = subprocess.run(
        [RUBRICCTL, "--socket", daemon.socket, "batch", jobs],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stdout"] == "x\n" and "unexpected" not in done.stderr
