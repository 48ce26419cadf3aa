# SPDX-License-Identifier: MIT
"""Tests the packages as on a host: installed on a clean system, used through systemd, upgraded, purged.
The tests run in this order, since the first one installs and the last one purges. Each of the others leaves
the service installed and idle."""

import json
import os
import pwd
import re
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from installed import (
    DROP_IN,
    GROUP,
    MEMBER,
    MIB,
    OUTSIDER,
    SOCKET,
    SOURCE,
    TIMEOUT,
    Batch,
    ctl,
    is_active,
    journal,
    main_pid,
    packages,
    run,
    sandbox,
    setting,
    show,
    status,
    submit,
    wait_until,
)

EXPOSURE_MAX = 25  # in tenths


def everything():
    """Returns every file and directory that a package could leave."""
    found = set()
    for top in ("/etc", "/usr", "/var", "/run", "/opt", "/home"):
        for directory, directories, files in os.walk(top):
            found |= {f"{directory}/{name}" for name in (*directories, *files)}
    return found


class Stream(Batch):
    """Like Batch, but the test writes more jobs while the client runs."""

    def __init__(self, directory, argv):
        self.count, self.argv, self.output = 0, argv, directory / "results.jsonl"
        self.process = subprocess.Popen(
            ["runuser", "-u", MEMBER, "--", "rubricctl", "batch", "--quiet", "--output", self.output, "-"],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def top_up(self, unanswered):
        """Writes jobs until UNANSWERED of them have no answer. Returns how many had none before."""
        left = self.count - len(self.lines())
        for _ in range(unanswered - left):
            job = {"id": f"j{self.count}", "kind": "sandbox", "argv": self.argv}
            self.process.stdin.write(json.dumps(job) + "\n")
            self.count += 1
        self.process.stdin.flush()
        return left


# --- fixtures -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", name="host")
def make_host():
    """Installs the packages; returns the state of the system before."""
    before = everything()
    run("apt-get", "-qq", "install", *packages(1))
    # The member's home keeps its usual mode, so programs for jobs go to the system's directories.
    run("usermod", "--append", "--groups", "rubricd", MEMBER)
    run("install", "-m", "755", "/srv/build/tests/exit0", "/usr/local/bin/exit0")
    return before


@pytest.fixture(name="service")
def make_service(host):
    """The service runs with the configuration of the package."""
    yield
    if DROP_IN.exists():
        setting(None)
        run("systemctl", "restart", "rubricd.service")
    run("systemctl", "reset-failed", "rubricd.service", "rubricd.socket")
    assert is_active("rubricd.socket") == "active"


# --- installed ------------------------------------------------------------------------------------


def test_installed_it_listens_and_does_not_run(service):
    assert is_active("rubricd.socket") == "active"
    assert is_active() == "inactive"
    assert run("stat", "-c", "%a %U %G", SOCKET).strip() == "660 root rubricd"
    assert run("getent", "passwd", "rubricd").strip().endswith(":/nonexistent:/usr/sbin/nologin")
    run("rubricd", "--check-config")


def test_enabling_it(service):
    run("systemctl", "disable", "--now", "rubricd.socket")
    assert not SOCKET.exists()
    said = ctl("ping", status=3)
    assert "start the service" in said
    run("systemctl", "enable", "--now", "rubricd.socket")
    assert run("systemctl", "is-enabled", "rubricd.socket").strip() == "enabled"
    assert SOCKET.is_socket()


def test_units_are_sound(service, record_property):
    assert run("systemd-analyze", "verify", "--man=no", "rubricd.service", "rubricd.socket", "rubricd@a.service",
               "rubricd@a.socket") == ""  # fmt: skip
    text = run("systemd-analyze", "security", "--no-pager", f"--threshold={EXPOSURE_MAX}", "rubricd.service")
    record_property("exposure", re.search(r"level for rubricd.service: (\S+)", text).group(1))


def test_somebody_outside_of_the_group(service):
    for command in ("status", "ping", "batch"):
        arguments = ["/dev/null"] if command == "batch" else []
        said = ctl(command, *arguments, user=OUTSIDER, status=3)
        assert f'{SOCKET}: permission denied: members of the group "rubricd" may connect' in said
        assert "usermod -aG rubricd" in said
    assert is_active() == "inactive", "outsiders cannot start the daemon"


def test_the_first_connection_starts_it(service):
    assert is_active() == "inactive"
    assert re.match(r"rubricd \S+ at /run/rubricd/rubricd.sock answered", ctl("ping"))
    assert is_active() == "active"
    assert run("stat", "-c", "%U", f"/proc/{main_pid()}").strip() == "rubricd"


def test_all_layers_are_in_force(service):
    isolation = status()["isolation"]
    assert isolation["missing"] == []
    assert {"cgroup", "mount_namespace", "net_namespace", "landlock", "seccomp"} <= set(isolation["layers"])


def length_bench(place):
    """A bench in a directory of the member's own."""
    (place / "length").mkdir()
    (place / "length" / "rubric.py").write_text(
        "import json, sys\n"
        "message = json.load(sys.stdin)\n"
        "good = len(message['harness_output']['answer']) <= message['case']['at_most']\n"
        "print(json.dumps({'passed': good, 'score': float(good)}))\n"
    )


def test_a_member_grades_a_batch(service, place):
    """The batch runs rubrics with every kind of result."""
    length_bench(place)
    jobs = place / "jobs.jsonl"
    jobs.write_text("".join(
        json.dumps({"id": f"a{n}", "kind": "rubric", "task_class": "length", "case": {"at_most": 3},
                    "harness_output": {"answer": "x" * n}}) + "\n"
        for n in (1, 3, 5)
    ))  # fmt: skip
    text = ctl("batch", "--bench-root", place, "--output", place / "out", jobs, status=1)
    assert "3 jobs: 2 passed, 1 failed, 0 errors" in text
    results = [json.loads(line) for line in (place / "out").read_text().splitlines()]
    assert {result["id"]: result["score"]["passed"] for result in results} == {"a1": True, "a3": True, "a5": False}


def test_warm_where_its_package_is_installed(service, place):
    """The package can come and go. A running daemon is notified, and grades the same without it."""
    length_bench(place)
    case = {"case": {"at_most": 3}, "harness_output": {"answer": "xyz"}, "bench_root": str(place)}
    job = {"kind": "rubric", "task_class": "length", **case}
    warm = submit(place, job)
    assert (warm["interpreter"], status()["isolation"]["warm"]) == ("warm", True)
    pid = main_pid()
    run("apt-get", "-qq", "remove", "rubricd-warm")
    cold = submit(place, job)
    assert (cold["interpreter"], status()["isolation"]["warm"]) == ("cold", False)
    assert "does not stand beside" in status()["isolation"]["cold_because"]
    assert cold["score"]["passed"] is warm["score"]["passed"] is True
    run("apt-get", "-qq", "install", *(path for path in packages(1) if path.name.startswith("rubricd-warm")))
    assert submit(place, job)["interpreter"] == "warm"
    assert main_pid() not in (0, pid)


def test_the_packages_own_test(service):
    """Runs the autopkgtest."""
    assert "graded: " in run(SOURCE / "packaging/debian/tests/grade")


def test_a_terminal_under_the_unit(service):
    """PrivateDevices= and DevicePolicy=closed leave the daemon its terminals."""
    inside = "test -t 0 && test -t 1 && stty size && read line && echo got $line"
    told = run("script", "--quiet", "--return", "--command",
               f"stty rows 31 cols 97; runuser -u {MEMBER} -- rubricctl sandbox --tty -- sh -c '{inside}'",
               "/dev/null", input="typed\n")  # fmt: skip
    assert "31 97" in told
    assert "got typed" in told


def test_systemctl_tells_what_it_is_doing(service, place):
    batch = Batch(place, 6, ["/bin/sleep", "4"])
    wait_until(lambda: re.match(r"[12] of \d+ slots busy", show("StatusText")), "the text tells of the jobs")
    text = run("systemctl", "status", "--no-pager", "--lines=0", "rubricd.service")
    assert re.search(r"Status: \"[12] of \d+ slots busy, \d+ queued, \d+ graded", text), text
    assert re.search(r"TriggeredBy: \S rubricd.socket", text), text
    assert re.search(r"─daemon\n.*/usr/bin/rubricd\n", text, re.DOTALL) and re.search(r"─job-\d+\n", text), text
    batch.assert_each_once()


def test_the_journal_has_a_jobs_fields(service, place):
    since = time.time()
    failed = submit(place, sandbox("import sys; print('the reason', file=sys.stderr); sys.exit(3)"))
    assert not failed["score"]["passed"]
    (entry,) = journal("RUBRIC_JOB_ID=job", since=since)
    member = pwd.getpwnam(MEMBER)
    assert entry["MESSAGE_ID"] == "22e6dcfae5a64f34926a7399b6d5983b"
    assert (entry["RUBRIC_KIND"], entry["RUBRIC_VERDICT"]) == ("sandbox", "failed")
    assert entry["RUBRIC_PEER_UID"] == str(member.pw_uid) and int(entry["RUBRIC_PEER_PID"]) > 1
    assert "the reason" in entry["RUBRIC_STDERR"]
    for usage in ("WALL_CLOCK_MS", "CPU_MS", "MAX_RSS_BYTES", "QUEUE_MS"):
        assert int(entry[f"RUBRIC_{usage}"]) >= 0
    assert entry["_SYSTEMD_UNIT"] == "rubricd.service" and entry["SYSLOG_IDENTIFIER"] == "rubricd"
    exceeded = submit(place, sandbox("while True: pass", cpu=1))
    assert exceeded["outcome"]["limit_exceeded"] == "cpu"
    assert journal("RUBRIC_LIMIT=cpu", since=since)[0]["RUBRIC_JOB_ID"] == "job"


def test_the_catalogue_explains_an_entry(service):
    run("journalctl", "--sync")
    text = run("journalctl", "--catalog", "--no-pager", "--unit=rubricd.service", "--lines=1",
               "MESSAGE_ID=bf9e875865da4e0db4edd63331792811")  # fmt: skip
    assert "The grading daemon has started" in text and "If it differs" in text


def scrape(address):
    """Returns the metrics as a monitoring system gets them."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT)
        connection.connect(address)
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()


def test_metrics_by_a_socket(service):
    """The socket lies in the service's own directory, so the unit need not change."""
    setting("[metrics]\nlisten = unix:/run/rubricd/metrics.sock\n")
    run("systemctl", "restart", "rubricd.service")
    assert run("stat", "-c", "%a %U %G", "/run/rubricd/metrics.sock").strip() == "660 rubricd rubricd"
    assert "\nrubricd_grace_period_seconds 30" in scrape("/run/rubricd/metrics.sock")


def test_metrics_by_an_address(service):
    """Listening needs the network: without the drop-in the daemon refuses and says why; with it, it works."""
    setting("[metrics]\nlisten = 127.0.0.1:9643\n")
    since = time.time()
    run("systemctl", "restart", "rubricd.service", status=1)
    wait_until(lambda: is_active() in ("failed", "inactive"), "it has given up")
    assert any("127.0.0.1:9643" in entry["MESSAGE"] for entry in journal(since=since))
    drop_in = Path("/etc/systemd/system/rubricd.service.d/network.conf")
    drop_in.parent.mkdir()
    try:
        drop_in.write_text((SOURCE / "packaging/systemd/network.conf").read_text())
        run("systemctl", "daemon-reload")
        run("systemctl", "reset-failed", "rubricd.service")
        run("systemctl", "restart", "rubricd.socket", "rubricd.service")
        assert "\nrubricd_grace_period_seconds 30" in scrape(("127.0.0.1", 9643))
        assert status()["isolation"]["missing"] == []
    finally:
        drop_in.unlink()
        drop_in.parent.rmdir()
        run("systemctl", "daemon-reload")


ALICE, BOB = "a-token-of-alice-s-own", "a-token-of-bob-s-own--"
HTTP_DROP_IN = Path("/etc/systemd/system/rubricd-http.service.d/tokens.conf")


@pytest.fixture(name="gateway")
def make_gateway(service, place):
    """rubricd-http as its package starts it, with two tokens. Its account exists only while it runs."""
    tokens = place / "tokens"
    tokens.write_text(f"alice {ALICE}\nbob {BOB}\n")
    tokens.chmod(0o600)
    HTTP_DROP_IN.parent.mkdir()
    HTTP_DROP_IN.write_text(f"[Service]\nLoadCredential=tokens:{tokens}\n")
    try:
        run("systemctl", "daemon-reload")
        run("systemctl", "start", "rubricd-http.service")
        yield
    finally:
        run("systemctl", "stop", "rubricd-http.service")
        HTTP_DROP_IN.unlink()
        HTTP_DROP_IN.parent.rmdir()
        run("systemctl", "daemon-reload")


def post_jobs(token):
    """Has rubricd-http run one job for the holder of TOKEN."""
    job = json.dumps({"id": "j", "kind": "sandbox", "argv": ["/bin/true"]})
    request = urllib.request.Request("http://127.0.0.1:8650/v1/jobs", job.encode(), {
        "Authorization": f"Bearer {token}", "Content-Type": "application/json"})  # fmt: skip
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        assert json.load(answer)["type"] == "result"


def shares():
    return sorted(client["share"] for client in status()["clients"] if "share" in client)


def test_http_clients_are_users_as_the_handbook_says(gateway):
    """The daemon finds the name of an account that systemd has made, from within its own confinement."""
    post_jobs(ALICE)
    assert shares() == [], "not without the setting"
    setting("[daemon]\ngateway_users = rubricd-http\n")
    run("systemctl", "reload-or-restart", "rubricd.service")
    run("systemctl", "restart", "rubricd-http.service")
    post_jobs(ALICE)
    post_jobs(BOB)
    assert shares() == ["alice", "bob"]


# --- control groups -------------------------------------------------------------------------------

# Starts N children that each do what CODE says, and waits for all.
FAMILY = """
import os, sys, time
def family(n, work):
    pids = []
    for _ in range(n):
        pid = os.fork()
        if pid == 0:
            try:
                work()
            finally:
                os._exit(3)
        pids.append(pid)
    return [os.waitpid(pid, 0)[1] for pid in pids]
"""


def assert_exceeded(answer, limit):
    assert answer["type"] == "result", answer
    assert answer["outcome"]["limit_exceeded"] == limit, answer
    assert answer["score"]["failure_modes"][0]["code"] == "sandbox.limit_exceeded"


def leaves():
    return [path.name for path in (GROUP / "jobs").iterdir() if path.is_dir()]


def test_memory_of_a_whole_tree(service, place):
    """40 processes, each within the limit, use 4 GiB together. The daemon is not affected."""
    pid, restarts = main_pid(), show("NRestarts")
    code = FAMILY + (
        "def work():\n"
        f"    data = bytearray(102 * {MIB})\n"
        "    data[::4096] = b'x' * len(data[::4096])\n"
        "    time.sleep(600)\n"
        "family(40, work)\n"
    )
    answer = submit(place, sandbox(code, memory_bytes=384 * MIB, wall_clock=200))
    assert_exceeded(answer, "memory")
    assert answer["usage"]["max_rss_bytes"] > 300 * MIB, "no single process uses so much"
    assert (main_pid(), show("NRestarts"), is_active()) == (pid, restarts, "active")
    assert "oom_kill 0" in (GROUP / "daemon" / "memory.events").read_text().splitlines()
    run("journalctl", "--sync")
    assert "Memory cgroup out of memory" in run("journalctl", "--dmesg", "--no-pager", "--quiet")
    assert leaves() == []


def test_a_fork_bomb(service, place):
    pid = main_pid()
    code = FAMILY + (
        "def work():\n    while True:\n        try: os.fork()\n        except OSError: pass\n"
        "family(1000, work)\n"
    )
    assert_exceeded(submit(place, sandbox(code, max_processes=20, wall_clock=100)), "processes")
    assert main_pid() == pid and leaves() == []


ESCAPE = (
    "import os, signal, time\n"
    "for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT): signal.signal(number, signal.SIG_IGN)\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        os.setsid()\n"
    "        os.execv('/bin/sleep', ['escaped-rubric-job', '3600'])\n"
    "    os._exit(0)\n"
    "os.wait()\n"
)


def escaped():
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"escaped-rubric-job\0"):
                found.append(path.parent / "cgroup")
        except OSError:
            pass
    return found


@pytest.mark.parametrize("without", ["", "user_namespace"])
def test_an_escape_by_setsid(service, place, without):
    """A process that leaves its session and its parent stays in the job's group and dies with it, even if
    no pid namespace ends it."""
    if without:
        setting(f"[isolation]\nwithout = {without}\n")
        run("systemctl", "restart", "rubricd.service")
        assert "pid_namespace" not in status()["isolation"]["layers"]
    # The process waits until the test has seen it.
    code = ESCAPE + "time.sleep(3600)\n"
    path = place / "job.jsonl"
    path.write_text(json.dumps({"id": "job", **sandbox(code, wall_clock=15)}) + "\n")
    process = subprocess.Popen(["runuser", "-u", MEMBER, "--", "rubricctl", "batch", "--quiet", path],
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
    (group,) = wait_until(escaped, "it has escaped")
    assert re.search(r"/rubricd.service/jobs/job-\d+$", group.read_text().strip())
    out, _ = process.communicate(timeout=TIMEOUT)
    assert_exceeded(json.loads(out), "wall_clock")
    assert escaped() == [] and leaves() == []


def test_usage_is_that_of_the_tree(service, place):
    code = FAMILY + (
        "def work():\n"
        f"    data = bytearray(30 * {MIB})\n"
        "    data[::4096] = b'x' * len(data[::4096])\n"
        "    open(f'ready-{os.getpid()}', 'w').close()\n"
        "    while len([n for n in os.listdir('.') if n.startswith('ready')]) < 4: time.sleep(0.01)\n"
        "    while time.process_time() < 0.5: pass\n"
        "    os._exit(0)\n"
        "family(4, work)\n"
    )
    answer = submit(place, sandbox(code, wall_clock=100))
    assert answer["score"]["passed"] is True, answer
    assert answer["usage"]["max_rss_bytes"] >= 120 * MIB
    assert answer["usage"]["cpu_ms"] >= 2000


# --- trouble --------------------------------------------------------------------------------------


def test_a_daemon_that_hangs_is_restarted(service):
    """The watchdog restarts it; the event loop notifies the watchdog."""
    since, pid, restarts = time.time(), main_pid(), int(show("NRestarts"))
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: int(show("NRestarts")) > restarts and is_active() == "active", "it was restarted")
    assert main_pid() != pid
    assert any("Watchdog timeout" in entry["MESSAGE"] for entry in journal(since=since))
    ctl("ping")


def test_killed_in_the_middle_of_2000_jobs(service, place, record_property):
    """Exactly 2,000 results, none twice; afterwards no control group of a job is left."""
    restarts = int(show("NRestarts"))
    started = time.monotonic()
    batch = Batch(place, 2000, ["/usr/local/bin/exit0"])
    for part in (500, 1200):
        batch.wait_for(part)
        assert len(batch.lines()) < 2000
        os.kill(main_pid(), signal.SIGKILL)
    said = batch.assert_each_once()
    record_property("seconds", round(time.monotonic() - started))
    assert "is back: submitting" in said
    assert int(show("NRestarts")) == restarts + 2
    assert leaves() == []


def test_reloaded_100_times_under_load(service, place, record_property):
    """A reload changes the number of slots; a wrong configuration changes nothing and says why."""
    pid, since = main_pid(), time.time()
    batch = Stream(place, ["/bin/sleep", "1"])
    batch.top_up(24)
    for n in range(100):
        if n % 10 == 9:
            setting("[daemon]\nslots = none\n")
            said = run("systemctl", "reload", "rubricd.service", status=1)
            assert "Job for rubricd.service failed" in said
        else:
            if n % 10 in (0, 5):
                setting(f"[daemon]\nslots = {1 + n // 5 % 4}\n")
            run("systemctl", "reload", "rubricd.service")
        assert batch.top_up(24) > 0, "there was load throughout"
    assert len(status()["slots"]) == 4
    why = [entry["MESSAGE"] for entry in journal(since=since) if "50-test.conf" in entry["MESSAGE"]]
    assert len(why) >= 10 and all("slots" in line for line in why)
    batch.assert_each_once()
    record_property("jobs", batch.count)
    assert main_pid() == pid, "the daemon never restarted"


def test_stopped_under_load(service, place):
    """Running jobs finish. Queued jobs go to the next daemon, which the waiting client starts."""
    since, pid = time.time(), main_pid()
    batch = Batch(place, 12, ["/bin/sleep", "2"])
    batch.wait_for(1)
    run("systemctl", "stop", "rubricd.service")
    batch.assert_each_once()
    assert main_pid() not in (0, pid)
    entries = [entry["MESSAGE"] for entry in journal(since=since)]
    assert any("Deactivated successfully" in text for text in entries), "the daemon exited with 0"
    assert not any("SIGKILL" in text or "timed out" in text for text in entries), entries


def test_drained_by_its_client(service, place):
    batch = Batch(place, 8, ["/bin/sleep", "2"])
    batch.wait_for(1)
    pid = main_pid()
    ctl("drain", user="root")
    batch.assert_each_once()
    assert main_pid() != pid


def test_a_second_instance(service):
    Path("/etc/rubricd/nightly.conf").write_text("[daemon]\nslots = 1\n")
    run("systemctl", "start", "rubricd@nightly.socket")
    answer = json.loads(ctl("--socket", "/run/rubricd-nightly/rubricd.sock", "status", "--json"))
    assert len(answer["slots"]) == 1 and answer["isolation"]["missing"] == []
    assert is_active("rubricd@nightly.service") == "active"
    ctl("ping")
    run("systemctl", "reload", "rubricd@nightly.service")


# --- packages come and go -------------------------------------------------------------------------


def test_upgraded_while_it_grades(service, place):
    """The socket listens throughout, running jobs finish, and each job gets one answer."""
    pid, inode = main_pid(), SOCKET.stat().st_ino
    second = int(show("MainPID", "rubricd@nightly.service"))
    batch = Batch(place, 40, ["/bin/sleep", "1"])
    batch.wait_for(2)
    run("apt-get", "-qq", "install", *packages(2))
    assert run("dpkg-query", "--show", "--showformat=${Version}", "rubricd").endswith("upstream2")
    batch.assert_each_once()
    assert main_pid() not in (0, pid)
    assert SOCKET.stat().st_ino == inode, "it is the same socket"
    assert int(show("MainPID", "rubricd@nightly.service")) != second


def test_the_client_alone(service):
    """After the daemon's removal the client says that it is missing; the configuration stays."""
    run("apt-get", "-qq", "remove", "rubricd")
    assert not SOCKET.exists() and Path("/etc/rubricd/rubricd.conf").exists()
    said = run("dpkg", "--install", *(path for path in packages(2) if path.name.startswith("rubricctl")))
    said = ctl("sandbox", "--embedded", "--", "/bin/true", status=3)
    assert "no rubricd to start" in said and "install the package rubricd" in said
    run("apt-get", "-qq", "install", *packages(2))
    ctl("ping")


def test_purged_it_leaves_nothing(host):
    Path("/usr/local/bin/exit0").unlink()
    assert is_active() == "active", "the purge begins while the daemon runs"
    run("apt-get", "-qq", "purge", *(path.name.split("_")[0] for path in packages(2)))
    # Files that dpkg, systemd and these tests own.
    others = re.compile(r"^/(var/(lib/dpkg|lib/apt|log|cache|tmp|lib/systemd/(catalog|timers))|run/(systemd|results|log|udev|user|dbus|credentials))(/|$)"
                        r"|^/etc/(passwd|group|shadow|gshadow|subuid|subgid)-$|__pycache__|/etc/.pwd.lock$|/etc/.updated$")  # fmt: skip
    left = sorted(path for path in everything() - host if not others.search(path))
    assert left == []
    named = run("find", "/", "-xdev", "(", "-path", "/srv", "-o", "-path", "/tmp", "-o", "-path", "/proc", "-o",
                "-path", "/var/log", "-o", "-path", "/root", ")", "-prune", "-o", "-iname", "*rubric*", "-print")  # fmt: skip
    assert [line for line in named.splitlines() if not line.startswith(("/payload", "/results"))] == []
    for database in ("passwd", "group"):
        for account in ("rubricd", "rubricd-fleet"):
            run("getent", database, account, status=2)
    assert run("systemctl", "list-units", "--all", "--no-legend", "rubricd*").strip() == ""
    assert not GROUP.exists() and not Path("/run/rubricd").exists()
    assert "rubricd" not in run("ps", "-e", "-o", "args")
