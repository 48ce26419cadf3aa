#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the queue of a fleet costs its NATS server, without any daemon: simulated workers and one simulated client
exchange the messages of real ones with a real nats-server, and their jobs take no time.

    RUBRICD_BUILD=$PWD/build tests/bench/fleet_scale.py [--seconds S] [--workers N ...] [--kept N ...]

First table: jobs per second, and processor time that the servers take for a job, with one server and with three
that keep three replicas, all on this machine. The rate is a lower bound: servers and simulation share the
processors. The processor time for a job is what to extrapolate from.

Second table: memory and disk of one server that keeps N jobs, for each of the streams, in steps: first the jobs
are queued, then each gets its mark, then each its result. Then how long the server takes to start with all that,
and to make the consumer of another run.

Third table: what a fleet of --hosts with --slots each asks of the server, by the length of its jobs."""

import argparse
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from conftest import RUBRICCTL, wait_until  # noqa: E402
from fleet_hosts import NATS_SERVER, Nats  # noqa: E402

RUN = "bench"
CONSUMER = f"{RUN}-p10"
DIGEST = "0123456789abcdef" * 4
JOB = json.dumps({"kind": "program", "language": "python", "code": "x" * 200}).encode()
# Of the size of a real one.
RESULT = json.dumps({"type": "result", "id": "j0", "rest": "x" * 900}).encode()
TICKS = os.sysconf("SC_CLK_TCK")
MIB = 1 << 20


# --- the wire ------------------------------------------------------------------------------------


class Wire:
    """A connection that never blocks. `take(subject, reply, head, data)` gets what arrives."""

    def __init__(self, port, name):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.inbox = f"_SIM.{name}"
        self.incoming, self.outgoing = bytearray(), bytearray()
        self.sock.recv(1 << 16)  # INFO
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True}
        self.sock.sendall(b"CONNECT " + json.dumps(options).encode() + b"\r\n")
        self.subscribe(f"{self.inbox}.*", 1)
        self.flush()
        self.sock.setblocking(False)
        self.sent = self.received = 0

    def subscribe(self, subject, number):
        self.outgoing += f"SUB {subject} {number}\r\n".encode()

    def publish(self, subject, reply, data, headers=None):
        if headers is None:
            self.outgoing += b"PUB %b %b %d\r\n%b\r\n" % (subject, reply, len(data), data)
        else:
            n = len(headers)
            self.outgoing += b"HPUB %b %b %d %d\r\n%b%b\r\n" % (subject, reply, n, n + len(data), headers, data)
        self.sent += 1

    def flush(self):
        try:
            while self.outgoing:
                n = self.sock.send(self.outgoing[: 1 << 18])
                del self.outgoing[:n]
        except BlockingIOError:
            pass

    def read(self):
        try:
            while True:
                data = self.sock.recv(1 << 18)
                if not data:
                    sys.exit("nats-server closed a connection")
                self.incoming += data
        except BlockingIOError:
            pass
        self.parse()

    def parse(self):
        data, at, buffer = self.incoming, 0, bytes(self.incoming)
        while (end := buffer.find(b"\r\n", at)) >= 0:
            words = buffer[at:end].split()
            if words[0] in (b"MSG", b"HMSG"):
                size = int(words[-1])
                if len(buffer) < end + 4 + size:
                    break
                body = buffer[end + 2 : end + 2 + size]
                at = end + 4 + size
                has_head = words[0] == b"HMSG"
                head = body[: int(words[-2])] if has_head else b""
                reply = words[3] if len(words) == (6 if has_head else 5) else b""
                self.received += 1
                self.take(words[1], reply, head, body[len(head) :])
            else:
                if words[0] == b"PING":
                    self.outgoing += b"PONG\r\n"
                elif words[0] == b"-ERR":
                    sys.exit(buffer[at:end].decode())
                at = end + 2
        del data[:at]


# --- who sends -----------------------------------------------------------------------------------


class Worker(Wire):
    """Pulls as many jobs as it has free slots, marks each, publishes its result, acknowledges."""

    def __init__(self, port, number, slots):
        super().__init__(port, f"w{number}")
        self.name = b"worker%d" % number
        self.free, self.asked, self.until = slots, 0, 0
        self.waiting = {}  # by the last token of the inbox: what to do with the answer
        self.number = 0
        self.done = 0
        self.wait = False
        self.prefix = self.inbox.encode()

    def request(self, subject, data, then, headers=None):
        self.number += 1
        token = b"%x" % self.number
        self.waiting[token] = then
        self.publish(subject, self.prefix + b"." + token, data, headers)

    def pull(self):
        """Asks for what is free. With nothing in the queue it waits there for a second, as a real one does."""
        now = time.monotonic()
        if self.free <= 0 or (self.asked > 0 and now < self.until):
            return
        self.until = now + 2 + self.wait
        body = b'{"batch":%d,"expires":1000000000}' % self.free if self.wait else b'{"batch":%d,"no_wait":true}' % self.free
        self.asked = self.free
        self.publish(b"$JS.API.CONSUMER.MSG.NEXT.rubricd-jobs." + CONSUMER.encode(), self.prefix + b".pull", body)

    def take(self, subject, reply, head, data):
        if subject.startswith(b"rubricd.jobs."):
            self.asked -= 1
            self.free -= 1
            self.wait = False
            self.mark(subject.rpartition(b".")[2], reply)
        elif subject.endswith(b".pull"):
            self.asked = 0
            self.wait = b" 404" in head[:16]
        else:
            self.waiting.pop(subject.rpartition(b".")[2])(data)

    def mark(self, token, ack):
        seq = ack.split(b".")[5]
        body = b'{"seq":%b,"starts":[{"worker":"%b","nonce":"0123456789abcdef"}]}' % (seq, self.name)
        headers = b"NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: 0\r\n\r\n"
        self.request(b"rubricd.marks.%b.%b" % (RUN.encode(), token), body, lambda data: self.finish(token, ack, data), headers)

    def finish(self, token, ack, data):
        if b'"error"' in data:
            sys.exit(data.decode())
        self.free += 1
        headers = b"NATS/1.0\r\nRubricd-Type: result\r\nRubricd-Host: %b\r\nRubricd-Digest: %b\r\n\r\n" % (self.name, DIGEST.encode())
        self.request(b"rubricd.results.%b.%b" % (RUN.encode(), token), RESULT, lambda data: self.acknowledge(ack, data), headers)

    def acknowledge(self, ack, data):
        if b'"error"' in data:
            sys.exit(data.decode())
        self.request(ack, b"+ACK", lambda _: self.count())

    def count(self):
        self.done += 1


class Client(Wire):
    """Keeps a window of jobs in the queue, and reads marks and results as the front of a run does."""

    def __init__(self, port, window):
        super().__init__(port, "front")
        self.window, self.queued, self.got, self.asked = window, 0, 0, 0
        self.subscribe(f"rubricd.marks.{RUN}.*", 2)
        self.consumer = None

    def fill(self):
        while self.queued - self.got < self.window and len(self.outgoing) < MIB:
            n = self.queued
            headers = b"NATS/1.0\r\nNats-Msg-Id: %b.j%d.0123456789abcdef\r\nRubricd-Digest: %b\r\n\r\n" % (RUN.encode(), n, DIGEST.encode())
            self.publish(b"rubricd.jobs.%b.p10.j%d" % (RUN.encode(), n), self.inbox.encode() + b".q", JOB, headers)
            self.queued += 1
        if self.asked == 0:
            self.asked = 256
            subject = b"$JS.API.CONSUMER.MSG.NEXT.rubricd-results." + self.consumer
            self.publish(subject, self.inbox.encode() + b".r", b'{"batch":256,"expires":20000000000}')

    def take(self, subject, reply, head, data):
        if subject.startswith(b"rubricd.results."):
            self.got += 1
            self.asked -= 1
        elif subject.endswith(b".r"):
            self.asked = 0
        elif subject.endswith(b".q") and b'"error"' in data:
            sys.exit(data.decode())


# --- the servers ---------------------------------------------------------------------------------


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Servers:
    """One nats-server, or a cluster of three on this machine."""

    def __init__(self, directory, n):
        self.directory, self.n = Path(directory), n
        self.ports, self.routes = [free_port() for _ in range(n)], [free_port() for _ in range(n)]
        self.processes = [None] * n
        for i in range(n):
            self.start(i)
        init = [RUBRICCTL, "fleet", "init", "--server", self.url(), "--replicas", str(n)]
        wait_until(lambda: subprocess.run(init, capture_output=True, check=False).returncode == 0, "the streams are there", 60)

    def url(self):
        return f"nats://127.0.0.1:{self.ports[0]}"

    def start(self, i):
        config = self.directory / f"n{i}.conf"
        lines = [f"listen: 127.0.0.1:{self.ports[i]}", f"server_name: n{i}", f'jetstream {{ store_dir: "{self.directory}/js{i}" }}']
        if self.n > 1:
            routes = ", ".join(f"nats-route://127.0.0.1:{port}" for port in self.routes)
            lines.append(f"cluster {{ name: bench, listen: 127.0.0.1:{self.routes[i]}, routes: [{routes}] }}")
        config.write_text("\n".join(lines))
        with open(self.directory / f"n{i}.log", "ab") as log:
            self.processes[i] = subprocess.Popen([NATS_SERVER, "-c", config], stdout=log, stderr=log)

    def ask(self, subject, **fields):
        with Nats(self.ports[0]) as nats:
            return nats.ask(subject, **fields)

    def cpu(self):
        """Returns the seconds that each server has used."""
        fields = [Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split() for process in self.processes]
        return [(int(of[11]) + int(of[12])) / TICKS for of in fields]

    def memory(self):
        """Returns what the first server takes, in bytes, once that stays the same."""
        last, since = 0, time.monotonic()
        while True:
            status = Path(f"/proc/{self.processes[0].pid}/status").read_text()
            now = int(status.split("RssAnon:")[1].split()[0]) * 1024
            if abs(now - last) > MIB:
                last, since = now, time.monotonic()
            if time.monotonic() - since > 6:
                return now
            time.sleep(0.5)

    def disk(self):
        return sum(file.stat().st_blocks * 512 for file in self.directory.glob("js0/**/*") if file.is_file())

    def close(self):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


def make_consumers(servers):
    config = {"durable_name": CONSUMER, "description": "any", "ack_policy": "explicit", "ack_wait": 30 * 10**9, "max_deliver": -1,
              "max_ack_pending": -1, "filter_subject": f"rubricd.jobs.{RUN}.p10.>"}  # fmt: skip
    answer = servers.ask(f"CONSUMER.DURABLE.CREATE.rubricd-jobs.{CONSUMER}", stream_name="rubricd-jobs", config=config)
    assert "error" not in answer, answer
    reader = {"ack_policy": "none", "deliver_policy": "all", "filter_subject": f"rubricd.results.{RUN}.>", "num_replicas": 1,
              "mem_storage": True, "inactive_threshold": 60 * 10**9}  # fmt: skip
    answer = servers.ask("CONSUMER.CREATE.rubricd-results", stream_name="rubricd-results", config=reader)
    return answer["name"].encode()


# --- the first table -----------------------------------------------------------------------------


def exchange(client, workers, seconds):
    """Lets them work until SECONDS are over and the queue is empty again. Returns the seconds that it took."""
    poll = selectors.DefaultSelector()
    for wire in (client, *workers):
        poll.register(wire.sock, selectors.EVENT_READ, wire)
    began = time.monotonic()
    while time.monotonic() < began + seconds or min(client.got, sum(worker.done for worker in workers)) < client.queued:
        if time.monotonic() < began + seconds or client.asked == 0:
            client.window = client.window if time.monotonic() < began + seconds else 0
            client.fill()
        for worker in workers:
            worker.pull()
        for wire in (client, *workers):
            if wire.outgoing:
                wire.flush()
        for key, _ in poll.select(0.01):
            key.data.read()
        if time.monotonic() > began + 4 * seconds + 60:
            sys.exit(f"of {client.queued} jobs only {client.got} came back")
    return time.monotonic() - began


def measure_rate(replicas, n_workers, options):
    with tempfile.TemporaryDirectory(prefix="rubricd-fleet-scale-") as directory:
        servers = Servers(directory, replicas)
        try:
            reader = make_consumers(servers)
            client = Client(servers.ports[0], max(4 * options.slots * n_workers, 64))
            client.consumer = reader
            workers = [Worker(servers.ports[i % replicas], i, options.slots) for i in range(n_workers)]
            before, own = servers.cpu(), time.process_time()
            took = exchange(client, workers, options.seconds)
            used = sorted((after - b for after, b in zip(servers.cpu(), before)), reverse=True)
            own = time.process_time() - own
            kept = servers.ask("STREAM.INFO.rubricd-results")["state"]["messages"]
            assert kept == client.got == sum(worker.done for worker in workers), "each job has one result, and was acknowledged"
            messages = sum(wire.sent + wire.received for wire in (client, *workers)) / client.got
        finally:
            servers.close()
    jobs = client.got
    print(f"{replicas:8}  {n_workers:7}  {jobs / took:7.0f}  {messages:8.1f}  {1e6 * sum(used) / jobs:9.0f}  {1e6 * used[0] / jobs:8.0f}  "
          f"{100 * sum(used) / took:6.0f} %  {100 * own / took:9.0f} %", flush=True)  # fmt: skip
    return jobs / took, used[0] / jobs


# --- the second table ----------------------------------------------------------------------------


def publish_all(servers, stream, n):
    """Stores N messages in STREAM, as many at once as the server takes."""
    wire = Wire(servers.ports[0], "fill")
    got = [0]

    def take(subject, reply, head, data):
        if b'"error"' in data:
            sys.exit(data.decode())
        got[0] += 1

    wire.take = take
    kind = {"jobs": JOB, "marks": b'{"seq":1234567,"starts":[{"worker":"worker17","nonce":"0123456789abcdef"}]}', "results": RESULT}[stream]
    sent = 0
    headers = b"NATS/1.0\r\nRubricd-Digest: %b\r\n\r\n" % DIGEST.encode()
    poll = selectors.DefaultSelector()
    poll.register(wire.sock, selectors.EVENT_READ)
    prefix = {"jobs": b"rubricd.jobs.%b.p10" % RUN.encode()}.get(stream, b"rubricd.%b.%b" % (stream.encode(), RUN.encode()))
    while got[0] < n:
        while sent < n and sent - got[0] < 4000:
            wire.publish(b"%b.task-%07d-%d" % (prefix, sent // 8, sent % 8), wire.inbox.encode() + b".q", kind, headers)
            sent += 1
        wire.flush()
        if poll.select(1):
            wire.read()
    wire.sock.close()


def measure_kept(n):
    with tempfile.TemporaryDirectory(prefix="rubricd-fleet-scale-") as directory:
        servers = Servers(directory, 1)
        try:
            make_consumers(servers)
            base, disk = servers.memory(), servers.disk()
            cells = []
            for stream in ("jobs", "marks", "results"):
                publish_all(servers, stream, n)
                now, on_disk = servers.memory(), servers.disk()
                cells.append((stream, (now - base) / n, (on_disk - disk) / n))
                base, disk = now, on_disk
            all_memory, all_disk = base, disk
            began = time.monotonic()
            config = {"durable_name": "next-p10", "ack_policy": "explicit", "filter_subject": "rubricd.jobs.next.p10.>"}
            servers.ask("CONSUMER.DURABLE.CREATE.rubricd-jobs.next-p10", stream_name="rubricd-jobs", config=config)
            consumer = time.monotonic() - began
            servers.close()
            began = time.monotonic()
            servers.start(0)

            def is_ready():
                try:
                    return servers.ask("STREAM.INFO.rubricd-results")["state"]["messages"] == n
                except (OSError, AssertionError, KeyError, ValueError):
                    return False

            wait_until(is_ready, "the server has read its files", 300)
            start = time.monotonic() - began
        finally:
            servers.close()
    for stream, memory, on_disk in cells:
        print(f"{n:8}  {stream:8}  {memory:10.0f}  {on_disk:9.0f}", flush=True)
    print(f"{n:8}  {'all':8}  {all_memory / n:10.0f}  {all_disk / n:9.0f}   {all_memory / MIB:.0f} MiB in all; "
          f"start {start:.1f} s; consumer of another run {1000 * consumer:.0f} ms", flush=True)  # fmt: skip


# --- the third table -----------------------------------------------------------------------------


def extrapolate(options, found):
    slots = options.hosts * options.slots
    print(f"\n{options.hosts} hosts with {options.slots} slots each\n\njob takes  jobs/s  busiest server, one replica  three replicas")
    for seconds in (1, 2, 5, 10, 30, 60):
        rate = slots / seconds
        cells = [f"{rate * found[replicas][1]:6.2f} processors" if replicas in found else "" for replicas in (1, 3)]
        print(f"{seconds:7} s  {rate:6.0f}  {cells[0]:>27}  {cells[1]:>14}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=15, help="how long a row of the first table takes")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 10, 100], help="rows of the first table")
    parser.add_argument("--replicas", type=int, nargs="*", default=[1, 3])
    parser.add_argument("--kept", type=int, nargs="*", default=[100_000, 1_000_000], help="rows of the second table")
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--slots", type=int, default=64)
    options = parser.parse_args()
    found = {}
    if options.workers:
        print("replicas  workers   jobs/s  messages  CPU us/job   busiest  servers  simulation", flush=True)
    for replicas in options.replicas:
        for n in options.workers:
            found[replicas] = measure_rate(replicas, n, options)
    if options.kept:
        print("\n    kept  stream    memory/job   disk/job   (bytes; one server)", flush=True)
    for n in options.kept:
        measure_kept(n)
    if found:
        extrapolate(options, found)


if __name__ == "__main__":
    main()
