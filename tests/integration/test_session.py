# SPDX-License-Identifier: MIT
"""Sessions: commands that find the files and processes of those before, what bounds them, and how they
end."""

import os
import signal
import time

import pytest
from conftest import BARE, DEADLINE, NO_USER_NAMESPACES, PYTHON, wait_until
from processes import is_alive
from sessions import Session

MIB = 1 << 20


@pytest.fixture
def session(client):
    return Session(client)


def command_lines():
    """Returns the command lines of all processes of this host, by pid."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    found[int(name)] = file.read()
            except OSError:
                continue
    return found


def processes_of(marker):
    """Returns the processes that have MARKER for an argument, without those that die."""
    return {
        pid
        for pid, line in command_lines().items()
        if marker.encode() in line.split(b"\0") and is_alive(pid)
    }


def sleeper(marker):
    """A command line that sleeps, and that processes_of() finds by MARKER."""
    return f"exec sh -c 'sleep 1000 & wait' {marker}"


# --- state ---------------------------------------------------------------------------------------


def test_fifty_commands_share_files_and_processes(session):
    session.shell("mkfifo requests answers; (while read -r n; do echo $((n * n)) >answers; done) "
                  "<>requests >/dev/null 2>&1 &")
    for n in range(1, 51):
        said = session.shell(f"echo {n} >>log; echo {n} >requests; head -n1 answers; wc -l <log")
        assert said.split() == [str(n * n), str(n)]
    assert session.close()["commands"] == 51


def test_a_command_has_its_own_environment_directory_and_input(client):
    session = Session(client, env={"COLOUR": "red", "SIZE": "1"})
    assert session.shell('echo "$COLOUR $SIZE $PATH"', env={"SIZE": "2"}).startswith("red 2 /")
    assert session.shell('echo "$SIZE"') == "1\n"
    session.shell("mkdir -p a/b")
    assert session.shell("basename $PWD", cwd="a/b") == "b\n"
    assert session.run("cat", stdin="text\0")["out"] == b"text\0"
    answer = session.run("pwd", cwd="missing")
    assert (answer["code"], answer["message"]) == ("bad_request", "job.cwd: No such file or directory")


def test_programs_are_looked_for_in_path(session):
    assert session.run("echo", "found")["out"] == b"found\n"
    missing = session.run("no-such-program")
    assert missing["outcome"]["exit_code"] == 127 and missing["errno"] == "ENOENT"
    assert missing["outcome"]["summary"] == "No such file or directory"
    session.write("plain", b"text", mode=0o644)
    closed = session.run("./plain")
    assert closed["outcome"]["exit_code"] == 126 and closed["errno"] == "EACCES"
    assert missing["score"] is None and missing["reason"] == "command"


def test_a_failed_command_leaves_the_session_as_it_is(session):
    session.shell("echo kept >file")
    answer = session.run("/bin/sh", "-c", "echo lost >&2; exit 3")
    assert answer["outcome"]["exit_code"] == 3 and not answer["outcome"]["success"]
    assert answer["err"] == b"lost\n" and answer["outcome"]["stderr"] == "lost\n"
    assert session.shell("cat file") == "kept\n"


# --- output --------------------------------------------------------------------------------------


def test_output_comes_while_the_command_runs(session):
    session.submit(argv=["/bin/sh", "-c", "echo first; echo second >&2; sleep 1000"])
    assert session.next_output() == ("stdout", b"first\n")
    assert session.next_output() == ("stderr", b"second\n")
    session.client.send({"type": "cancel", "id": "command"})
    assert session.answer()["code"] == "cancelled"
    assert session.shell("echo on") == "on\n"


def test_output_of_ten_mebibytes_is_told_in_full(session):
    answer = session.run("/usr/bin/python3", "-c", f"import sys; sys.stdout.write('abcdefgh' * {10 * MIB // 8})")
    assert answer["outcome"]["success"], answer["outcome"]
    assert answer["out"] == b"abcdefgh" * (10 * MIB // 8)


def test_output_beyond_its_limit_ends_the_command_alone(session):
    answer = session.run("/bin/sh", "-c", "yes & wait", limits={"output_bytes": 5000})
    assert answer["outcome"]["limit_exceeded"] == "output"
    assert answer["out"] == (b"y\n" * 2500)
    assert session.shell("pidof yes || echo none") == "none\n"


def test_a_client_that_does_not_read_makes_the_command_wait(start_daemon):
    daemon = start_daemon("protocol.reply_high_water=64K")
    with daemon.connect() as client, daemon.connect() as other:
        session = Session(client)
        script = f"import sys, os; sys.stdout.write('x' * {8 * MIB}); sys.stdout.flush(); open('done', 'w')"
        session.submit(argv=["/usr/bin/python3", "-c", script])

        def unsent():
            clients = {entry["client"]: entry for entry in other.status()["clients"]}
            return max(entry["unsent_bytes"] for entry in clients.values() if entry["paused"] or True)

        wait_until(lambda: unsent() > 64 << 10, "replies are left unread")
        most = 0
        end = time.monotonic() + 1
        while time.monotonic() < end:
            most = max(most, unsent())
        assert most < 1 * MIB  # the kernel's buffers take some more
        answer = session.answer()
        assert answer["outcome"]["success"] and answer["out"] == b"x" * (8 * MIB)


def lives(name):
    """Returns a command that says whether the process whose number is in the file NAME lives. Without a namespace, the
    processes of an earlier command may not be seen and not be sent signals to; but whether there are any, kill() tells."""
    return f"if kill -0 $(cat {name}) 2>&1 | grep -q 'No such process'; then echo gone; else echo lives; fi"


def test_a_process_that_lives_on_does_not_hold_its_command(session, daemon):
    answer = session.run("/bin/sh", "-c", "(sleep 1000 & echo $! >pid); echo over")
    assert answer["out"] == b"over\n" and answer["outcome"]["success"]
    assert "has left its output open" not in daemon.log()  # the daemon has not waited for its pipes
    assert session.shell(lives("pid")) == "lives\n"


# --- files ---------------------------------------------------------------------------------------


def test_files_are_written_and_read_byte_by_byte(session):
    content = bytes(range(256)) * 1000
    assert session.write("deep/down/file", content, mode=0o750)["outcome"]["success"]
    assert session.read("deep/down/file")["out"] == content
    assert session.shell("stat -c %a deep/down/file") == "750\n"
    assert session.write("deep/down/file", b"end", append=True)["outcome"]["success"]
    assert session.read("deep/down/file")["out"] == content + b"end"
    assert session.write("deep/down/file", b"")["outcome"]["success"]
    assert session.read("deep/down/file")["out"] == b""


def test_a_file_has_a_hundred_mebibytes_at_most(session):
    part = os.urandom(10 * MIB)
    for i in range(10):
        assert session.write("large", part, append=i > 0)["outcome"]["success"]
    answer = session.read("large")
    assert answer["outcome"]["success"], answer["outcome"]
    assert answer["out"] == part * 10
    assert session.write("large", b"1", append=True)["errno"] == "EFBIG"
    session.shell("echo >>large")
    assert session.read("large")["errno"] == "EFBIG"


@pytest.mark.parametrize(
    "path, name",
    [("missing", "ENOENT"), ("directory", "EISDIR"), ("pipe", "EINVAL"), ("file/below", "ENOTDIR"), ("loop", "ELOOP")],
)
def test_what_cannot_be_read_is_named(session, path, name):
    session.shell("mkdir directory; mkfifo pipe; echo >file; ln -s loop loop")
    answer = session.read(path)
    assert answer["errno"] == name and answer["outcome"]["exit_code"] > 0
    assert answer["out"] == b""


def test_files_of_the_host_and_of_the_jail_stay_closed(session, daemon):
    if not daemon.has_view():
        pytest.skip("without a view, paths are those of the host")
    for path in ("/proc/self/maps", "/proc/self/environ", "/proc/1/status"):
        assert session.read(path)["errno"] in ("EACCES", "ENOENT", "EPERM"), path
    assert session.write("/usr/bin/new", b"")["errno"] in ("EROFS", "EACCES")
    assert session.read("/etc/shadow")["errno"] == "ENOENT"


# --- limits --------------------------------------------------------------------------------------


def test_a_command_that_is_too_slow_is_killed_with_its_group(session):
    start = time.monotonic()
    script = "sleep 1000 & echo $! >same; setsid sh -c 'echo $$ >apart; exec sleep 2000' & until test -s apart; do :; done; wait"
    answer = session.run("/bin/sh", "-c", script, limits={"wall_clock": 2})
    assert answer["outcome"]["limit_exceeded"] == "wall_clock" and time.monotonic() - start < DEADLINE / 2
    wait_until(lambda: session.shell(lives("same")) == "gone\n", "the jail has waited for what was killed")
    assert session.shell(lives("apart")) == "lives\n"


def test_the_limits_of_the_session_are_not_a_commands(session):
    for key, value in (("memory_bytes", 1 << 26), ("disk_bytes", 1 << 20), ("max_processes", 2)):
        session.submit(check=False, argv=["true"], limits={key: value})
        answer = session.answer()
        assert answer["code"] == "bad_request"
        assert answer["message"] == f"job.limits.{key}: holds for the whole session: session_open sets it"


def test_the_disk_is_bounded_over_all_commands(client, daemon):
    if not daemon.has_view():
        pytest.skip("without a view the disk is the host's")
    session = Session(client, limits={"disk_bytes": 8 * MIB})
    for i in range(7):
        assert session.write(f"part-{i}", b"x" * MIB)["outcome"]["success"]
    answer = session.write("last", b"x" * (2 * MIB))
    assert answer["outcome"]["limit_exceeded"] == "disk" and answer["errno"] == "ENOSPC"
    session.shell("rm part-* last")
    assert session.write("again", b"x" * (6 * MIB))["outcome"]["success"]


def test_processes_are_bounded_over_all_commands(client, daemon):
    if not daemon.layers() & {"user_namespace", "cgroup"}:
        pytest.skip("nothing counts its processes apart from the account's others")
    session = Session(client, limits={"max_processes": 8})
    session.shell("for i in 1 2 3 4; do sleep 1000 >/dev/null 2>&1 & done")
    answer = session.run("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.1 & done; wait")
    assert not answer["outcome"]["success"]


HOG = "import time; time.sleep(1); b = bytearray({0}); b[::4096] = b'x' * len(b[::4096]); time.sleep(1000)"


def test_memory_is_bounded_while_no_command_runs(client, daemon):
    if "pid_namespace" not in daemon.layers():
        pytest.skip("nothing looks at the memory of all processes together")
    marker = f"hog-{os.getpid()}"
    session = Session(client, limits={"memory_bytes": 256 * MIB})
    # Each has less than it may have; all together have too much, once the command is over.
    session.write("hog.py", HOG.format(100 * MIB).encode())
    session.shell(f"for i in 1 2 3 4; do python3 hog.py {marker} >/dev/null 2>&1 & done")
    wait_until(lambda: len(processes_of(marker)) == 4, "they live")
    wait_until(lambda: not any(processes_of(marker) for _ in range(20)), "they are dead")
    assert session.shell("cat hog.py").startswith("import")  # its files stay


SPINS = "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done"


@pytest.mark.parametrize(
    "script",
    [
        f"while :; do sh -c '{SPINS}'; done",  # each dies before it has used a second
        f"{SPINS}; sh heir heir & exit",  # the same, and its parent does not wait for it
    ],
)
def test_processes_that_live_may_use_the_time_of_one_command(client, daemon, script):
    if "pid_namespace" not in daemon.layers():
        pytest.skip("nothing looks at the processes together")
    marker = f"busy-{os.getpid()}"
    session = Session(client, limits={"cpu": 1})
    session.write("heir", script.replace("heir heir", f"heir {marker}").encode())
    session.shell(f"sh heir {marker} >/dev/null 2>&1 &")
    wait_until(lambda: processes_of(marker), "they run")
    # One look may miss a process that executes another program just then.
    wait_until(lambda: not any(processes_of(marker) for _ in range(20)), "they are killed")
    assert session.shell("echo on") == "on\n"


def test_a_session_that_is_idle_ends(client):
    session = Session(client, idle=1.5)
    assert session.opened["idle"] == 1.5
    session.shell("sleep 2")  # a command is not idle
    ended = session.closed()
    assert ended["reason"] == "idle" and ended["commands"] == 1 and ended["age_ms"] >= 3000
    session.submit(argv=["true"])
    answer = session.answer()
    assert answer["code"] == "session_ended" and not answer["retriable"]
    assert answer["message"] == f"job.session: this connection has no session {session.number}, or it has ended"


def test_the_lease_ends_a_session_with_its_command(client):
    session = Session(client, lease=1)
    session.submit(argv=["sleep", "1000"])
    answer = session.answer()
    assert (answer["code"], answer["message"]) == ("session_ended", "the session's lease is over")
    assert session.closed()["reason"] == "lease"


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"lease": 86401}, "lease: above the ceiling of 86400 s"),
        ({"idle": 0}, "idle: expected a number of seconds above 0"),
        ({"limits": {"memory_bytes": 1 << 60}}, "limits.memory_bytes: above the ceiling of 4 GiB"),
        ({"limits": {"allow_network": True}}, "limits.allow_network: unknown field"),
        ({"env": {"A=B": "c"}}, "env.A=B: the name of a variable is not empty and has no = in it"),
    ],
)
def test_wishes_that_cannot_be_granted(client, fields, message):
    client.send({"type": "session_open", "id": "open", **fields}, check=False)
    answer = client.recv()
    assert (answer["id"], answer["code"], answer["message"]) == ("open", "bad_request", message)


@pytest.mark.parametrize(
    "command, message",
    [
        ({}, "job: expected exactly one of argv, write and read"),
        ({"argv": ["a"], "read": "b"}, "job: expected exactly one of argv, write and read"),
        ({"argv": []}, "job.argv: expected 1 to 60 strings, got 0"),
        ({"argv": [""]}, "job.argv[0]: empty"),
        ({"argv": ["a"], "content": ""}, "job.content: goes with write"),
        ({"write": "a"}, "job.content: missing"),
        ({"write": "a", "content": "", "mode": 512}, "job.mode: expected an integer from 0 to 511"),
        ({"read": ""}, "job.read: expected 1 to 4095 bytes, got 0"),
        ({"read": "a", "stdin": ""}, "job.stdin: goes with argv"),
    ],
)
def test_commands_that_are_wrong(session, command, message):
    session.submit(check=False, **command)
    answer = session.answer()
    assert (answer["code"], answer["message"]) == ("bad_request", message)


# --- commands against each other -----------------------------------------------------------------

# Lives on, and stops each process that comes after it as soon as that is there.
STOPS_OTHERS = r"""
import os, signal
if os.fork():
    os._exit(0)
os.setsid()
for fd in range(3):
    os.close(fd)
last = os.getpid()
while True:
    for pid in range(last + 1, last + 20):
        try:
            os.kill(pid, signal.SIGSTOP)
            last = pid
        except OSError:
            pass
"""
STOPPED = "the program could not be started: another process stopped it before it began: Operation canceled"


@pytest.mark.parametrize(
    "command",
    [{"argv": ["true"]}, {"write": "file", "content": {"base64": ""}}, {"read": "file"}],
    ids=["runs", "writes", "reads"],
)
def test_a_command_that_is_stopped_before_it_begins(client, daemon, command):
    """It ends at once, in an error that may be retried, and the session goes on. A command that is stopped later ends
    at its limit, and one may be too quick to be stopped."""
    if not daemon.layers() >= {"pid_namespace", "mount_namespace"}:
        pytest.skip("the processes of an earlier command are out of each other's reach")
    answers = []
    while len(answers) < 40 and (not answers or answers[-1]["type"] == "result"):
        session = Session(client)
        session.write("file", b"x")
        session.run(PYTHON, "-c", STOPS_OTHERS)
        begin = time.monotonic()
        answers.append(session.command(**command, limits={"wall_clock": 0.2}))
        took = time.monotonic() - begin
        assert session.close()["commands"] == 3
    last = answers[-1]
    assert (last["type"], last.get("code"), last.get("message")) == ("error", "sandbox_failed", STOPPED), answers
    assert last["retriable"] and took < 5


# --- fewer layers --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [NO_USER_NAMESPACES, BARE], indirect=True)
def test_a_session_on_a_host_that_grants_less(daemon, client):
    """Its commands share files and processes, and its end leaves nothing, whatever keeps it apart."""
    wait_until(daemon.is_idle, "each slot has its jail")
    idle = daemon.descendants()
    marker = f"kept-{os.getpid()}-bare"
    session = Session(client)
    # One writes files all the time, so that they are gone only if it is dead before they are removed.
    session.write("writer", b"i=0; while :; do i=$((i + 1)); echo >w$i; rm -f w$((i - 9)); done")
    session.shell(f"echo kept >file; sh writer {marker} >/dev/null 2>&1 & "
                  f"setsid sh -c 'sleep 1000 & wait' {marker} >/dev/null 2>&1 & sleep 0.1")
    assert session.write("a/b", b"x" * MIB)["outcome"]["success"]
    assert session.read("a/b")["out"] == b"x" * MIB
    assert session.shell("cat file") == "kept\n"
    assert len(processes_of(marker)) >= 2  # a child of one has its command line until it has executed rm
    answer = session.run("/bin/sh", "-c", f"sh -c 'sleep 1000 & wait' {marker}-group", limits={"wall_clock": 0.5})
    assert answer["outcome"]["limit_exceeded"] == "wall_clock"
    wait_until(lambda: not processes_of(f"{marker}-group"), "its group is dead")
    assert session.close()["reason"] == "closed"
    assert not processes_of(marker)
    wait_until(lambda: daemon.descendants() <= idle, "its jail is gone")
    assert daemon.leftovers() == []


# --- turns ---------------------------------------------------------------------------------------


def test_one_command_at_a_time(session):
    session.submit("slow", argv=["/bin/sh", "-c", "echo runs; sleep 1000"])
    assert session.next_output("slow")[1] == b"runs\n"
    session.submit("second", argv=["true"])
    answer = session.client.recv()
    assert (answer["id"], answer["code"], answer["retriable"]) == ("second", "session_busy", True)
    session.client.send({"type": "cancel", "id": "slow"})
    assert session.answer("slow")["code"] == "cancelled"


def test_a_command_takes_the_turn_of_a_slot(start_daemon):
    daemon = start_daemon(slots=1)
    with daemon.connect() as client, daemon.connect() as other, daemon.connect() as third:
        session = Session(client)
        session.shell("true")
        session.submit(argv=["/bin/sh", "-c", "echo runs; sleep 1000"])
        assert session.next_output()[1] == b"runs\n"
        (slot,) = third.status()["slots"]
        assert slot["state"] == "busy" and slot["job"]["kind"] == "session" and slot["job"]["label"] == "/bin/sh"
        other.submit("job", {"kind": "sandbox", "argv": ["/bin/true"]})
        wait_until(lambda: third.status()["queue"]["jobs"] == 1, "the job waits for its turn")
        client.send({"type": "cancel", "id": "command"})
        assert session.answer()["code"] == "cancelled"
        assert other.recv_answer("job")["score"]["passed"]
        other.submit("job", {"kind": "sandbox", "argv": ["/bin/sleep", "1000"]})
        assert other.recv()["type"] == "started"
        session.submit(argv=["true"])
        wait_until(lambda: third.status()["queue"]["jobs"] == 1, "the command waits for its turn")
        other.send({"type": "cancel", "id": "job"})
        assert session.answer()["outcome"]["success"]


def test_sessions_have_a_bound_of_their_own(start_daemon):
    daemon = start_daemon("session.max=2", slots=1)
    with daemon.connect() as client:
        sessions = [Session(client), Session(client)]
        client.send({"type": "session_open", "id": "third"})
        answer = client.recv()
        assert (answer["id"], answer["code"], answer["retriable"]) == ("third", "too_many_sessions", True)
        assert answer["message"] == "2 of 2 sessions are open; close one, or try again later"
        assert client.status()["sessions"] == {"open": 2, "max": 2, "opened": 2}
        sessions[0].close()
        Session(client).close()
        sessions[1].close()
        assert client.status()["sessions"] == {"open": 0, "max": 2, "opened": 3}
        client.send({"type": "metrics"})
        metrics = client.recv()["text"]
        assert 'rubricd_sessions_ended_total{reason="closed"} 3' in metrics
        assert "rubricd_max_sessions 2" in metrics


def test_a_session_belongs_to_its_connection(daemon, session):
    with daemon.connect() as other:
        other.submit("command", {"kind": "session", "session": session.number, "argv": ["true"]})
        assert other.recv()["code"] == "session_ended"
        other.send({"type": "session_close", "id": "close", "session": session.number})
        assert other.recv()["code"] == "session_ended"
    assert session.shell("echo on") == "on\n"


# --- the end -------------------------------------------------------------------------------------


def background(session, marker):
    """Leaves processes that try to live: one in the background, one in a session of its own, one whose
    parent is gone, one that stands still."""
    session.shell(f"sh -c 'sleep 1000 & wait' {marker} >/dev/null 2>&1 & "
                  f"setsid sh -c 'sleep 1000 & wait' {marker} >/dev/null 2>&1 & "
                  f"(setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & wait' {marker} >/dev/null 2>&1 &) ; "
                  f"sh -c 'kill -STOP $$; wait' {marker} >/dev/null 2>&1 & sleep 0.1")
    wait_until(lambda: len(processes_of(marker)) == 4, "they live, and their children have executed sleep")


def test_the_end_of_a_session_ends_its_processes_and_files(daemon, client):
    wait_until(daemon.is_idle, "each slot has its jail")
    idle = daemon.descendants()
    marker = f"kept-{os.getpid()}-close"
    session = Session(client)
    background(session, marker)
    session.shell("echo secret >file; mkdir -m 0 closed; exec 3>held; rm held; sleep 1000 3>&3 >/dev/null 2>&1 &")
    assert session.close()["reason"] == "closed"
    assert not processes_of(marker)
    assert daemon.descendants() <= idle
    assert daemon.leftovers() == []


def test_a_running_command_ends_with_its_session(session):
    session.submit(argv=["/bin/sh", "-c", "echo runs; sleep 1000"])
    session.next_output()
    session.client.send({"type": "session_close", "id": "close", "session": session.number})
    answer = session.answer()
    assert (answer["code"], answer["message"]) == ("session_ended", "the session was closed while the command ran")
    assert session.closed()["id"] == "close"


@pytest.mark.parametrize("runs", [True, False])
def test_the_end_of_the_client_ends_its_session(daemon, runs):
    wait_until(daemon.is_idle, "each slot has its jail")
    idle = daemon.descendants()
    marker = f"kept-{os.getpid()}-gone-{runs}"
    with daemon.connect() as other:
        with daemon.connect() as client:
            session = Session(client)
            background(session, marker)
            if runs:
                session.submit(argv=["/bin/sh", "-c", "echo runs; sleep 1000"])
                session.next_output()
        wait_until(lambda: not processes_of(marker), "its processes are dead")
        wait_until(lambda: other.status()["sessions"]["open"] == 0, "the session is over")
    wait_until(lambda: daemon.descendants() <= idle, "its jail is gone")
    assert daemon.leftovers() == []


def test_a_lost_jail_ends_the_session(daemon, client):
    session = Session(client)
    session.submit(argv=["/bin/sh", "-c", "echo runs; sleep 1000"])
    session.next_output()
    with daemon.connect() as other:
        busy = [slot for slot in other.status()["slots"] if slot["state"] == "busy"]
    os.kill(busy[0]["jail_pid"], signal.SIGKILL)
    answer = session.answer()
    assert answer["code"] == "session_ended" and answer["message"] == "the session's jail is lost"
    assert session.closed()["reason"] == "lost"
    assert Session(client).shell("ls") == ""
    wait_until(lambda: not processes_of("sleep 1000"), "its processes are dead")


def test_a_reload_keeps_sessions(start_daemon, tmp_path):
    config = tmp_path / "reloaded.conf"
    config.write_text("[session]\nmax = 1\n")
    config.chmod(0o644)
    daemon = start_daemon(config=config)
    with daemon.connect() as client:
        session = Session(client)
        session.shell("echo kept >file; (sleep 1000 >/dev/null 2>&1 & echo $! >pid)")
        config.write_text("[session]\nmax = 3\noutput_bytes = 1K\n[isolation]\nenv_allow = NEW=1\n[daemon]\n")
        client.send({"type": "reload"})
        reloaded = client.recv()
        assert reloaded["type"] == "reloaded" and "session.max" in reloaded["changed"], reloaded
        assert session.shell(f'cat file; {lives("pid")}; echo "$NEW"') == "kept\nlives\n\n"
        assert client.status()["sessions"]["max"] == 3
        fresh = Session(client, id="fresh")
        assert fresh.opened["limits"]["output_bytes"] == 1024
        assert fresh.shell('echo "$NEW"') == "1\n"


# --- a drain -------------------------------------------------------------------------------------


def drain(client):
    client.send({"type": "drain"})


def test_a_drain_gives_sessions_the_grace_period(start_daemon):
    daemon = start_daemon("daemon.grace_period=60s")
    with daemon.connect() as client:
        session = Session(client)
        drain(client)
        client.submit("job", {"kind": "sandbox", "argv": ["/bin/true"]})
        assert client.recv()["code"] == "draining"
        client.send({"type": "session_open", "id": "new"})
        assert client.recv()["code"] == "draining"
        assert session.shell("echo on") == "on\n"
        assert session.close()["reason"] == "closed"
        assert client.recv()["type"] == "bye"
    assert daemon.process.wait(DEADLINE) == 0


@pytest.mark.parametrize("runs", [True, False])
def test_the_grace_period_ends_sessions(start_daemon, runs):
    daemon = start_daemon("daemon.grace_period=1s")
    marker = f"kept-{os.getpid()}-drain-{runs}"
    with daemon.connect() as client:
        session = Session(client)
        background(session, marker)
        if runs:
            session.submit(argv=["/bin/sh", "-c", "echo runs; sleep 1000"])
            session.next_output()
        start = time.monotonic()
        drain(client)
        if runs:
            assert session.answer()["code"] == "draining"
        assert session.closed()["reason"] == "draining"
        assert time.monotonic() - start >= 0.9
        assert client.recv()["reason"] == "draining"
    assert daemon.process.wait(DEADLINE) == 0
    assert not processes_of(marker)
