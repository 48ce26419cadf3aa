# SPDX-License-Identifier: MIT
"""The log in its three forms: plain lines, JSON lines, and the journal. The tests use a socket or a
systemd-journald of their own, in a mount namespace with another /run."""

import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE, PASSING, RUBRICD, Shape, open_up, wait_until

pytestmark = pytest.mark.cold

VERDICT = "22e6dcfae5a64f34926a7399b6d5983b"
ERROR = "8fa39225900b471b937ba5b3652bda90"
DROPPED = "e4ad60b08ab8410facb73dc573c440f9"
STARTED = "bf9e875865da4e0db4edd63331792811"
STOPPED = "71ff126957e840f68c584b8bf051b31a"
JAIL_LOST = "f096f34c558d4da791bb33b6906a0954"
HERE = "/run/systemd/journal/socket"
JOURNALD = "/lib/systemd/systemd-journald"

FAILING = "import sys; sys.stderr.write('one\\n  two\\x1b[31m\\n'); sys.exit(3)"


# JSON lines and plain lines


def json_lines(daemon):
    return [json.loads(line) for line in daemon.log().splitlines()]


def test_json_lines(start_daemon, bench):
    daemon = start_daemon("daemon.log_format=json")
    with daemon.connect() as client:
        result = client.run(bench.job(FAILING), 'a"\n\x1b')
        client.run(bench.job(name="absent"), "lost")
        digest = client.hello["isolation"]["digest"]
    assert daemon.stop() == 0
    lines = json_lines(daemon)
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line["time"])
    by_event = {line.get("event"): line for line in lines}
    assert by_event["started"]["isolation_digest"] == digest
    assert by_event["started"]["version"]
    assert list(by_event)[-1] == "stopped"
    verdict = by_event["job_verdict"]
    usage = {name: verdict[name] for name in result["usage"] if name in verdict}
    assert usage == {k: v for k, v in result["usage"].items() if v is not None}
    assert {
        "level": "info",
        "message_id": VERDICT,
        "job_id": 'a"\\n\\x1b',
        "job_no": result["job_no"],
        "kind": "rubric",
        "task_class": "class-1",
        "verdict": "failed",
        "score": 0,
        "failure_mode": "rubric.malformed_output",
        "peer_uid": os.geteuid(),
        "peer_gid": os.getegid(),
        "peer_pid": os.getpid(),
        "isolation_digest": digest,
        "stderr": "one\n  two\\x1b[31m\n",
    }.items() <= verdict.items()
    assert by_event["job_error"]["error"] == "rubric_not_found"
    assert by_event["job_error"]["level"] == "info"


def test_limit_and_digest_of_a_networked_job(start_daemon):
    daemon = start_daemon("daemon.log_format=json", "sandbox.allow_network=yes")
    job = {"kind": "sandbox", "argv": ["/bin/sleep", "60"], "limits": {"wall_clock": 0.2}}
    with daemon.connect() as client:
        results = [client.run(job, "a"), client.run({**job, "network": True}, "b", check=False)]
        if results[1]["type"] == "error":
            job["limits"]["allow_network"] = True
            results[1] = client.run(job, "c")
    verdicts = [line for line in json_lines(daemon) if line.get("event") == "job_verdict"]
    assert [v["limit"] for v in verdicts] == ["wall_clock"] * 2
    assert [v["isolation_digest"] for v in verdicts] == [
        r["isolation"]["digest"] for r in results
    ]
    assert len({v["isolation_digest"] for v in verdicts}) == 2
    assert "stderr" not in verdicts[0]


def test_what_a_passing_rubric_wrote_to_stderr_is_not_told(start_daemon, bench):
    daemon = start_daemon("daemon.log_format=json")
    with daemon.connect() as client:
        client.run(bench.job("import sys; sys.stderr.write('unheard')\n" + PASSING))
    (verdict,) = [line for line in json_lines(daemon) if line.get("event") == "job_verdict"]
    assert verdict["verdict"] == "passed"
    assert "stderr" not in verdict and "unheard" not in daemon.log()


def test_stderr_of_a_flood_is_bounded(start_daemon, bench):
    daemon = start_daemon("daemon.log_format=json")
    with daemon.connect() as client:
        client.run(bench.job("import sys; sys.stderr.write('x' * 100000); sys.exit(1)"))
    (verdict,) = [line for line in json_lines(daemon) if line.get("event") == "job_verdict"]
    assert verdict["stderr"] == "x" * 4095


def test_levels(start_daemon, bench):
    """At level warning the log has faults of the host and no verdicts."""
    daemon = start_daemon("daemon.log_level=warning", "daemon.log_format=json")
    with daemon.connect() as client:
        client.run(bench.job("raise SystemExit(1)"))
        client.submit("held", bench.job("import time; time.sleep(60)"))
        client.recv()
        (slot,) = [s for s in client.status()["slots"] if s["job"]]
        os.kill(slot["jail_pid"], signal.SIGKILL)
        assert client.recv_answer("held")["code"] == "sandbox_failed"
    lines = [line for line in json_lines(daemon) if line.get("event") != "cgroups_unusable"]
    assert [(line["event"], line["level"]) for line in lines] == [
        ("jail_lost", "warning"),
        ("job_error", "warning"),
    ]
    assert lines[0]["slot"] == slot["slot"] and lines[0]["job_no"] == slot["job"]["job_no"]


# Number of jobs whose log entries exceed the buffer that rubricd keeps for a log that nobody reads. The
# daemon answers these jobs without running anything.
MANY = 8_000


def run_many(client, bench, jobs=MANY):
    """Returns how many entries of the log the daemon has dropped."""
    job = bench.job(PASSING, sut={"status": "exception"})
    for first in range(0, jobs, 100):
        for i in range(first, first + 100):
            client.submit(f"{i:0100}", job, check=i < 100)
        for _ in range(100):
            client.recv_payload()  # not checked: checking each would take longer than everything else
    return client.status()["log"]["dropped"]


def test_nobody_reads_stderr(tmp_path, start_daemon, bench):
    """A full pipe does not block the daemon. Once somebody reads it again, the log says how many entries
    were dropped."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    shape = Shape()
    shape.prefix = ["/bin/sh", "-c", f'exec "$@" 2>{fifo}', "sh"]
    daemon = start_daemon("daemon.log_format=json", shape=shape)
    text = b""

    def read_until(words):
        def go_on():
            nonlocal text
            while select.select([reader], [], [], 0)[0] and (more := os.read(reader, 1 << 16)):
                text += more
            return words in text

        wait_until(go_on, f"{words} is read")

    with daemon.connect() as client:
        assert run_many(client, bench) > 0
        read_until(b'"event":"dropped"')
        client.run(bench.job(PASSING, sut={"status": "exception"}), "after")
        read_until(b'"job_id":"after"')
        dropped = client.status()["log"]["dropped"]
    assert daemon.stop() == 0
    lines = [json.loads(line) for line in text.decode().splitlines()]
    numbers = [line["job_no"] for line in lines if line.get("event") == "job_verdict"]
    assert sum(line["dropped"] for line in lines if line.get("event") == "dropped") == dropped
    assert len(numbers) + dropped == MANY + 1
    assert numbers == sorted(numbers)
    os.close(reader)


def test_journal_that_is_not_there(start_daemon):
    if Path(HERE).exists():
        pytest.skip("this host runs a journal")
    daemon = start_daemon("daemon.log_format=journal")
    assert daemon.log().startswith(
        f"rubricd: warning: {HERE}: No such file or directory: the log goes to stderr\n"
    )


@pytest.mark.parametrize("connected", [True, False])
def test_mistakes_in_the_configuration_are_errors_of_the_journal(connected, tmp_path):
    """Before the log is open, a message to stderr begins with its level if the journal reads stderr."""
    with open(tmp_path / "stderr", "w+") as stream:
        place = os.fstat(stream.fileno())
        inode = place.st_ino if connected else place.st_ino + 1
        done = subprocess.run(
            [RUBRICD, "--config=/dev/null", "--set=daemon.slots=x", "--check-config"],
            stderr=stream,
            env={"JOURNAL_STREAM": f"{place.st_dev}:{inode}"},
            check=False,
        )
        stream.seek(0)
        text = stream.read()
    assert done.returncode == 78
    assert text.startswith(f"{'<3>' if connected else ''}--set:1: [daemon] slots: "), text


def test_not_started_is_critical(tmp_path):
    done = subprocess.run(
        [RUBRICD, "--config=/dev/null", "--set=daemon.log_format=json"]
        + [f"--set=daemon.work_dir={tmp_path}/a/b/c", f"--set=daemon.socket={tmp_path}/a/b/s"],
        capture_output=True,
        text=True,
        check=False,
    )
    line = json.loads(done.stderr.splitlines()[-1])
    assert (line["event"], line["level"]) == ("not_started", "critical"), line
    assert done.returncode == 69


# A fake journal


def needs_mounts():
    if os.geteuid() != 0:
        pytest.skip("only root can mount another /run over the host's")
    private = ["unshare", "--mount", "--propagation=private", "true"]
    if subprocess.run(private, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounts cannot be made private here: the root directory is not a mount point")


def parse_datagram(data):
    """Parses one entry of the journal's native protocol."""
    fields = {}
    while data:
        name, separator, rest = data.partition(b"\n")
        if b"=" in name:
            name, _, value = name.partition(b"=")
            data = rest
        else:
            (length,) = struct.unpack("<Q", rest[:8])
            value, data = rest[8 : 8 + length], rest[9 + length :]
        fields.setdefault(name.decode(), []).append(value.decode())
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


class FakeJournal:
    """A socket that stands for the journal, for processes that are started with PREFIX."""

    def __init__(self, directory):
        run = directory / "run"
        (run / "systemd" / "journal").mkdir(parents=True)
        open_up(run / "systemd" / "journal")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = run / "systemd" / "journal" / "socket"
        self.sock.bind(str(path))
        path.chmod(0o666)
        self.sock.settimeout(DEADLINE)
        script = f'mount --bind "{run}" /run && exec "$@"'
        self.prefix = [
            *("unshare", "--mount", "--propagation=private", "--"),
            *("/bin/sh", "-c", script, "sh"),
        ]

    def next(self):
        return parse_datagram(self.sock.recv(1 << 16))

    def next_of(self, message_id):
        while True:
            entry = self.next()
            if entry.get("MESSAGE_ID") == message_id:
                return entry


@pytest.fixture
def journal(tmp_path):
    needs_mounts()
    made = FakeJournal(tmp_path / "journal")
    yield made
    made.sock.close()


# Makes $JOURNAL_STREAM match stderr, as systemd does.
AS_STREAM = [
    *("/bin/sh", "-c", 'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$@"', "sh"),
]


@pytest.mark.parametrize("wanted", ["journal", "auto"])
def test_entries_of_the_journal(wanted, journal, start_daemon, bench):
    shape = Shape()
    shape.prefix = [*journal.prefix, *(AS_STREAM if wanted == "auto" else [])]
    daemon = start_daemon(f"daemon.log_format={wanted}", shape=shape)
    started = journal.next_of(STARTED)
    assert (started["PRIORITY"], started["SYSLOG_IDENTIFIER"]) == ("6", "rubricd")
    with daemon.connect() as client:
        result = client.run(bench.job(FAILING), "a\nMESSAGE_ID=forged")
        client.run(bench.job(name="absent"), "lost")
    entry = journal.next_of(VERDICT)
    assert entry["RUBRIC_JOB_ID"] == "a\\nMESSAGE_ID=forged"
    assert entry["RUBRIC_STDERR"] == "one\n  two\\x1b[31m\n"
    assert entry["RUBRIC_MAX_RSS_BYTES"] == str(result["usage"]["max_rss_bytes"])
    assert entry["RUBRIC_PEER_PID"] == str(os.getpid())
    assert entry["PRIORITY"] == "6"
    assert journal.next_of(ERROR)["RUBRIC_ERROR"] == "rubric_not_found"
    assert daemon.stop() == 0
    journal.next_of(STOPPED)
    assert daemon.log() == ""


def test_auto_is_plain_where_stderr_is_another(journal, start_daemon):
    """A program may redirect stderr and still inherit $JOURNAL_STREAM, so `auto` compares the files."""
    shape = Shape()
    shape.prefix = journal.prefix
    daemon = start_daemon(shape=shape, env={"PATH": os.environ["PATH"], "JOURNAL_STREAM": "1:2"})
    assert daemon.log().startswith("rubricd: ")


def test_a_journal_that_does_not_read_holds_nothing_up(journal, start_daemon, bench):
    """The daemon drops and counts entries that do not fit, and logs their number later, even if nothing
    else happens."""
    shape = Shape()
    shape.prefix = journal.prefix
    daemon = start_daemon("daemon.log_format=journal", shape=shape)
    with daemon.connect() as client:
        dropped = run_many(client, bench)
        assert dropped > 0
        heard, told = 0, None
        while heard < MANY - dropped or not told:
            entry = journal.next()
            heard += entry.get("MESSAGE_ID") == VERDICT
            if entry.get("MESSAGE_ID") == DROPPED:
                told = entry
        assert (told["PRIORITY"], int(told["RUBRIC_DROPPED"])) == ("4", dropped)


def test_a_journal_that_is_slow_misses_nothing(journal, start_daemon, bench):
    shape = Shape()
    shape.prefix = journal.prefix
    daemon = start_daemon("daemon.log_format=journal", shape=shape)
    with daemon.connect() as client:
        assert run_many(client, bench, jobs=2000) == 0
        ids = []
        while len(ids) < 2000:
            entry = journal.next()
            if entry.get("MESSAGE_ID") == VERDICT:
                ids.append(int(entry["RUBRIC_JOB_ID"]))
    assert ids == list(range(2000))


# The journal of systemd


class RealJournal:
    def __init__(self, directory):
        script = """
            set -e
            mount -t tmpfs tmpfs /run
            mkdir -p /run/systemd/journal /run/log/journal /run/systemd/journald.conf.d
            printf '[Journal]\\nReadKMsg=no\\nForwardToSyslog=no\\nAudit=no\\n' \
                > /run/systemd/journald.conf.d/test.conf
            if ! [ -s /etc/machine-id ]; then
                tr -d - < /proc/sys/kernel/random/uuid > /run/machine-id
                mount --bind /run/machine-id /etc/machine-id
            fi
            exec """ + JOURNALD
        self.log = open(directory / "journald", "wb")
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--propagation=private", "--", "/bin/sh", "-c", script],
            stdout=self.log,
            stderr=self.log,
            env={"PATH": os.environ["PATH"], "SYSTEMD_LOG_TARGET": "null"},
        )
        place = Path(f"/proc/{self.process.pid}/root{HERE}")
        wait_until(lambda: self.process.poll() is not None or place.exists(), "journald listens")
        # A namespace has the host's root, where that of the tests may be below it.
        seen = f"/proc/{self.process.pid}"
        self.prefix = ["nsenter", f"--mount={seen}/ns/mnt", f"--root={seen}/root", "--"]

    def entries(self, *matches):
        done = subprocess.run(
            [*self.prefix, "journalctl", "-o", "json", "--all", "--no-pager", *matches],
            capture_output=True,
            text=True,
            check=False,
        )
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


@pytest.fixture
def journald(tmp_path):
    needs_mounts()
    if not os.access(JOURNALD, os.X_OK):
        pytest.skip(f"{JOURNALD} is not installed")
    made = RealJournal(tmp_path)
    if made.process.poll() is not None:
        pytest.skip(f"journald does not start here: {(tmp_path / 'journald').read_text()}")
    yield made
    made.close()


def test_systemd_takes_the_entries(journald, start_daemon, bench):
    shape = Shape()
    shape.prefix = journald.prefix
    daemon = start_daemon("daemon.log_format=journal", shape=shape)
    with daemon.connect() as client:
        result = client.run(bench.job(FAILING), "a\x1b\n\udfff".replace("\udfff", "é"))
    by_job = [f"RUBRIC_JOB_NO={result['job_no']}", f"MESSAGE_ID={VERDICT}"]
    (entry,) = wait_until(lambda: journald.entries(*by_job), "the journal has the entry")
    assert entry["RUBRIC_JOB_ID"] == "a\\x1b\\né"
    assert entry["RUBRIC_STDERR"] == "one\n  two\\x1b[31m\n"
    assert entry["SYSLOG_IDENTIFIER"] == "rubricd"
    assert {name for name in entry if name.startswith("RUBRIC_")} >= {
        *("RUBRIC_KIND", "RUBRIC_TASK_CLASS", "RUBRIC_VERDICT", "RUBRIC_SCORE"),
        *("RUBRIC_FAILURE_MODE", "RUBRIC_WALL_CLOCK_MS", "RUBRIC_CPU_MS", "RUBRIC_QUEUE_MS"),
        *("RUBRIC_PEER_UID", "RUBRIC_PEER_GID", "RUBRIC_PEER_PID", "RUBRIC_ISOLATION_DIGEST"),
    }
    ours = "SYSLOG_IDENTIFIER=rubricd"
    assert not [e for e in journald.entries(ours, "-p", "warning") if "RUBRIC_JOB_NO" in e]
    assert daemon.log() == ""
