# SPDX-License-Identifier: MIT
"""The clients of a round, each a thread with a uid of its own: well-behaved ones, which submit again what
has no verdict, and others, which leave, cancel, or do not read. And batches, which are processes."""

import collections
import ctypes
import json
import os
import platform
import random
import signal
import socket
import struct
import subprocess
import threading
import time

import catalog
import conftest
import manifest
import oracle
import target  # of tests/hostile
import world

PATIENCE = 60.0  # seconds without a message after which an answer is given up for lost
ATTEMPTS_MAX = 12
STARTS_MAX = 100
NO_DAEMON = 3  # the exit status of a batch that has none
SETRESUID = {"x86_64": 117, "aarch64": 147}
ATTACKS = manifest.load()
LIBC = ctypes.CDLL(None, use_errno=True)


def become(uid):
    """Gives the calling thread alone the effective UID: the daemon looks at it when the thread connects."""
    number = SETRESUID.get(platform.machine())
    if uid is not None and number and LIBC.syscall(number, -1, uid, -1) != 0:
        raise OSError(ctypes.get_errno(), "setresuid")


class Connection:
    """A connection whose end has a reason. recv() returns a message, or None at the end."""

    def __init__(self, place):
        self.place, self.bye, self.buffer = place, None, b""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(str(place.daemon.socket))
        peer = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        self.pid = struct.unpack("3i", peer)[0]

    def send(self, payload):
        """Returns whether the daemon was there to take it."""
        try:
            self.sock.sendall(struct.pack(">I", len(payload)) + payload)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def recv(self):
        try:
            header = self._take(4)
            payload = header and self._take(struct.unpack(">I", header)[0])
        except (BrokenPipeError, ConnectionResetError):
            return None
        if not payload:
            return None
        message = json.loads(payload)
        if message["type"] == "bye":
            self.bye = message["reason"]
        return message

    def _take(self, size):
        while len(self.buffer) < size:
            data = self.sock.recv(1 << 16)
            if not data:
                return None
            self.buffer += data
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def close(self):
        self.sock.close()

    def settle(self, attempts, otherwise=None):
        """Ends ATTEMPTS with the reason of the connection's end; OTHERWISE if nobody has given one. Returns the
        jobs without an answer."""
        # A daemon that is being killed is noted as such before its sockets close.
        why = self.place.why_closed(self.pid, self.bye) or otherwise
        return attempts.close(why, self.pid in self.place.short)


class Client(threading.Thread):
    """Submits JOBS, WINDOW at a time, until each has its verdict."""

    def __init__(self, place, ledger, script):
        super().__init__(daemon=True, name=script["name"])
        self.place, self.ledger, self.script = place, ledger, script
        self.random = random.Random(script["seed"])
        self.todo = collections.deque(script["jobs"])
        self.tries = collections.Counter()
        self.serial, self.error = 0, None
        self.heard = 0

    # --- the thread ----------------------------------------------------------------------------

    def run(self):
        try:
            become(self.script["uid"])
            for job in self.todo:
                self.ledger.add_job(job.row)
            while self.todo and self.session():
                pass
        except Exception as error:  # noqa: BLE001  whatever it is, the run has to fail
            self.ledger.complain("lost", f"the client failed: {error!r}", client=self.name)
            raise

    def session(self):
        """Serves one connection. Returns whether the client wants another."""
        connection = self.connect()
        attempts = oracle.Attempts(self.ledger, self.name)
        try:
            stays = self.serve(connection, attempts)
        except TimeoutError:
            attempts.give_up(PATIENCE)
            stays = False
        finally:
            connection.sock.close()
        return stays

    def connect(self):
        """Connects as soon as a daemon says hello; before that, nothing of ours can be lost."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                connection = Connection(self.place)
                message = connection.recv()
                if message and message["type"] == "hello":
                    return connection
                connection.sock.close()
            except OSError:
                pass
            if time.monotonic() > end:
                raise TimeoutError(f"no daemon has said hello for {PATIENCE} s")
            time.sleep(0.02)

    def serve(self, connection, attempts):
        while self.todo or attempts.waiting:
            self.submit_some(connection, attempts)
            message = connection.recv()
            if message is None:
                self.todo.extend(connection.settle(attempts))
                return True
            self.hear(attempts, message)
            if self.misbehave(connection, attempts):
                return False
        return self.finish(connection, attempts)

    def submit_some(self, connection, attempts):
        while self.todo and len(attempts.waiting) < self.script["window"]:
            job = self.todo.popleft()
            id = self.next_id()
            self.tries[job] += 1
            attempts.submit(id, job)
            if not connection.send(self.payload(job, id)):
                return

    def next_id(self):
        self.serial += 1
        return f"{self.name}/{self.serial}"

    def payload(self, job, id):
        if job.expected != catalog.HELD:
            return job.payload(id)
        attack = ATTACKS[job.request["attack"]]
        arguments = world.fill_in(job.request["arguments"], self.place.facts())
        request = target.job_of(attack, arguments)
        return json.dumps({"type": "submit", "id": id, "job": request}).encode()

    def hear(self, attempts, message):
        ended = attempts.hear(message)
        if ended is None:
            return
        self.heard += 1
        _, job, outcome = ended
        if outcome in oracle.RETRIABLE:
            self.again(job, outcome)

    def again(self, job, outcome):
        """Submits JOB again; a job that never gets through is lost, too."""
        if self.tries[job] >= ATTEMPTS_MAX:
            self.ledger.complain("lost", f"no verdict in {ATTEMPTS_MAX} attempts: {outcome}", job=job.name)
            return
        time.sleep(min(0.02 * 2 ** self.tries[job], 2))
        self.todo.append(job)

    def finish(self, connection, attempts):
        """Everything is answered. What is sent twice, or not at all, shows before the pong."""
        if not connection.send(b'{"type": "ping"}'):
            return False
        while message := connection.recv():
            if message["type"] == "pong":
                attempts.check_cancels()
                return False
            attempts.hear(message)
        return False

    def misbehave(self, connection, attempts):
        """Returns whether the client leaves, with its jobs."""
        return False


class Canceller(Client):
    """Cancels some of its jobs, also those that have just ended."""

    def misbehave(self, connection, attempts):
        known = [*attempts.waiting, *attempts.answered]
        if known and self.random.random() < 0.3:
            id = self.random.choice(known[-8:])
            job = attempts.waiting.get(id)
            # Refused requests never become a job, so a cancel of one has a second meaning.
            if job is None or job.raw is None:
                attempts.cancel(id)
                connection.send(json.dumps({"type": "cancel", "id": id}).encode())
        return False


class Leaver(Client):
    """Leaves after some answers, often in the middle of a frame."""

    def misbehave(self, connection, attempts):
        if self.heard < self.script["leaves_after"]:
            return False
        if self.random.random() < 0.5:
            connection.sock.send(b"\0\0\1\0{")
        attempts.close("client left")
        return True


class SendsAll(Client):
    """Sends all of its jobs before it listens."""

    def send_all(self, connection, attempts):
        while self.todo:
            job = self.todo.popleft()
            id = self.next_id()
            attempts.submit(id, job)
            if not connection.send(self.payload(job, id)):
                break


class HalfCloser(SendsAll):
    """Sends everything, shuts down its sending side, and hears everything before the end."""

    def serve(self, connection, attempts):
        self.send_all(connection, attempts)
        try:
            connection.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the daemon has gone first
        while message := connection.recv():
            self.hear(attempts, message)
        if attempts.waiting:
            self.todo.extend(connection.settle(attempts))
        return bool(self.todo)


class Deaf(SendsAll):
    """Submits everything and reads nothing until it is told to. By then the daemon may have closed the
    connection, with replies and a bye that had no room in the socket."""

    def __init__(self, place, ledger, script):
        super().__init__(place, ledger, script)
        self.listen = threading.Event()

    def was_dismissed(self, connection):
        """Returns whether the daemon has ended since, or has said that it dismissed us."""
        uid = os.geteuid() if self.script["uid"] is None else self.script["uid"]
        said = f"(uid {uid}, pid {os.getpid()}) is dismissed: it has left"
        return connection.pid in self.place.endings or said in self.place.daemon.log()

    def serve(self, connection, attempts):
        self.send_all(connection, attempts)
        self.listen.wait(10 * PATIENCE)
        cancelled = False
        while attempts.waiting and (message := connection.recv()):
            if message["type"] == "error" and message["code"] == "cancelled":
                attempts.cancel(message["id"])  # the daemon's own doing, for which it says bye
                cancelled = True
            self.hear(attempts, message)
        self.todo.clear()
        if attempts.waiting:
            connection.settle(attempts, "unread" if self.was_dismissed(connection) else None)
        elif cancelled:
            connection.recv()
        if cancelled and connection.bye != "replies_unread" and not self.was_dismissed(connection):
            self.ledger.complain("wrong", f"cancelled without a word: bye {connection.bye}", client=self.name)
        return False


KINDS = {
    "good": Client,
    "cancels": Canceller,
    "leaves": Leaver,
    "half-closes": HalfCloser,
    "deaf": Deaf,
}


class Batch:
    """A `rubricctl batch` of a user. With `killed_after`, it is killed after so many lines and resumed."""

    def __init__(self, place, ledger, script):
        self.place, self.ledger, self.script, self.name = place, ledger, script, script["name"]
        self.jobs = {f"{self.name}/{n}": job for n, job in enumerate(script["jobs"])}
        for job in self.jobs.values():
            ledger.add_job(job.row)
        directory = place.directory / self.name
        directory.mkdir()
        uid = script["uid"]
        if uid is not None:
            os.chown(directory, uid, -1)
        self.input, self.output = directory / "jobs.jsonl", directory / "results.jsonl"
        lines = [json.dumps({"id": id, **job.request}) + "\n" for id, job in self.jobs.items()]
        self.input.write_text("".join(lines))
        switch = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
        self.prefix = switch if uid is not None else []
        self.said = open(directory / "said", "w+")
        self.resumed, self.starts = False, 0
        self.process = self._start()

    def _start(self, *options):
        self.starts += 1
        self.started_at = time.monotonic()
        command = [*self.prefix, conftest.RUBRICCTL, "--socket", self.place.daemon.socket, "batch"]
        command += ["--quiet", "--retries=8", f"--output={self.output}", *options, self.input]
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said,
            env=self.place.clock.environment() if self.place.clock else None,
        )  # fmt: skip

    def lines(self):
        text = self.output.read_text() if self.output.exists() else ""
        return text[: text.rfind("\n") + 1].splitlines()

    def poll(self):
        """Returns whether the batch has ended. Kills and resumes it when its time has come."""
        if self.process.poll() is not None:
            return not self._starts_again()
        after = self.script.get("killed_after")
        if after is not None and not self.resumed and len(self.lines()) >= after:
            self.process.kill()
            self.process.wait()
            self.resumed = True
            self.process = self._start("--resume")
        return False

    def _starts_again(self):
        """A batch that is started while there is no daemon ends at once: a user would start it again."""
        if self.process.returncode != NO_DAEMON or self.starts >= STARTS_MAX:
            return False
        if time.monotonic() > self.started_at + 0.2:
            self.process = self._start("--resume")
        return True

    def judge(self):
        """Judges what it wrote."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.complain("the batch did not end")
        elif self.process.returncode not in (0, 1, 4):
            self.complain(f"the batch ended with {self.process.returncode}")
        oracle.judge_file(self.ledger, self.name, self.jobs, self.lines(), complete=True)
        self.said.close()

    def complain(self, what):
        self.said.seek(0)
        self.ledger.complain("lost", what, client=self.name, answer=self.said.read()[-2000:])
