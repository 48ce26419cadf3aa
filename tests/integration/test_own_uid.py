# SPDX-License-Identifier: MIT
"""A uid per slot: jobs get one out of those that a helper may give, the jail keeps the daemon's, and
everything that a jail does for its jobs works across the two. Without the helper, jobs run as ever."""

import base64
import json
import os
import pwd
import socket
import subprocess
from pathlib import Path

import pytest
from conftest import ACCOUNT, AS_ACCOUNT, BUILD, PYTHON, Bench, user_namespaces_are_refused, wait_until
from idmap_helper import COUNT, FIRST

HELPER = BUILD / "daemon" / "rubricd-idmap"
UID = pwd.getpwnam(ACCOUNT).pw_uid

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the helper its capability")
needs_namespaces = pytest.mark.skipif(
    user_namespaces_are_refused() is not None, reason="user namespaces are refused here"
)


@pytest.fixture
def own(make_helper, start_daemon):
    """A daemon whose slots have uids of their own."""
    daemon = start_daemon(f"isolation.idmap_socket={make_helper().path}", "isolation.require=own_uid")
    assert "own_uid" in daemon.layers()
    return daemon


def missing(daemon):
    """Returns why the layer is missing, or None."""
    with daemon.connect() as client:
        reasons = {entry["layer"]: entry["reason"] for entry in client.status()["isolation"]["missing"]}
    return reasons.get("own_uid")


def script(text, **more):
    return {"kind": "sandbox", "argv": [PYTHON, "-c", text], **more}


def output(client, text, **more):
    result = client.run(script(text, **more))
    assert result["type"] == "result" and result["outcome"]["success"], result
    return result["stdout"]


# --- jobs ------------------------------------------------------------------------------------------


@needs_root
@needs_namespaces
def test_a_job_does_not_own_its_terminal(own):
    """So it cannot let others of the host open that. It reads and writes it all the same."""
    code = """
import os
for attempt in (lambda: os.fchmod(0, 0o666), lambda: os.fchown(0, os.getuid(), -1)):
    try:
        attempt()
        print("done")
    except OSError as error:
        print(error.strerror)
print("<" + input() + ">", os.isatty(2))
"""
    with own.connect() as client:
        client.submit("job", script(code, terminal={"rows": 24, "columns": 80}))
        shown = b""
        while (message := client.recv())["type"] != "result":
            if message["type"] == "started":
                client.send({"type": "input", "job_no": message["job_no"], "base64": "eAo="})
            elif message["type"] == "output":
                shown += base64.b64decode(message["base64"])
    assert b"done" not in shown and shown.count(b"not permitted") == 2 and b"<x> True" in shown


MAP = "print(open('/proc/self/uid_map').read())"
IDENTITY = "import os; print(os.getresuid(), os.getresgid(), os.stat('.').st_uid)"


@needs_root
@needs_namespaces
def test_each_slot_has_a_uid(own):
    with own.connect() as client:
        hold = "import time; open('up', 'w').close(); time.sleep(600)"
        for id in "ab":
            client.submit(id, script(hold, limits={"wall_clock": 100}))
        wait_until(lambda: own.files().count("up") == 2, "both jobs run")
        owners = set()
        for view in own.views():
            owners.add((view / "work" / "up").stat().st_uid)
        assert owners == {FIRST, FIRST + 1}
        for jail in own.jails():
            assert Path(f"/proc/{jail}").stat().st_uid in (UID, 0)  # undumpable: root's
            assert f"Uid:\t{UID}\t{UID}\t" in Path(f"/proc/{jail}/status").read_text()
        for id in "ab":
            client.send({"type": "cancel", "id": id})
        assert {client.recv_answer()["code"] for _ in "ab"} == {"cancelled"}
    assert own.leftovers() == []


@needs_root
@needs_namespaces
@pytest.mark.parametrize("use", ["no", "auto"])
def test_a_job_sees_one_user(make_helper, start_daemon, use):
    """Both in a jail that asks the helper and in one that the zygote makes."""
    own = start_daemon(f"isolation.idmap_socket={make_helper().path}", f"warm.use={use}", slots=1)
    assert missing(own) is None
    with own.connect() as client:
        assert output(client, IDENTITY) == "(1000, 1000, 1000) (1000, 1000, 1000) 1000\n"
        assert output(client, MAP).split() == ["1000", str(FIRST), "1", "1001", str(UID), "1"]


@needs_root
@needs_namespaces
def test_a_job_keeps_its_streams_and_files(own):
    text = """
import os
print(open('given').read(), os.stat('given').st_uid, os.stat('inner/given').st_uid, os.access('inner', os.W_OK), flush=True)
open('/dev/stderr', 'w').write(open('/dev/stdin').read())
open('/dev/stdout', 'w').write('again')
os.mkdir('closed'); open('closed/file', 'w').close(); os.chmod('closed', 0); os.chmod('.', 0)
os.chmod('/tmp', 0o500)
"""
    given = {"given": {"text": "text"}, "inner/given": {"text": "more"}}
    with own.connect() as client:
        result = client.run({**script(text), "files": given, "stdin": "from stdin"})
        assert result["outcome"]["success"], result
        assert result["stdout"] == "text 1000 1000 True\nagain", result
        assert result["outcome"]["stderr"] == "from stdin", result
        assert own.leftovers() == []
        assert output(client, IDENTITY).endswith(" 1000\n")


@needs_root
@needs_namespaces
def test_the_limit_of_processes_is_the_jobs(own):
    """The jail and its twin do not count."""
    text = """
import os, time
n = 0
try:
    while n < 50:
        if os.fork() == 0:
            time.sleep(600)
        n += 1
except OSError:
    pass
print(n)
"""
    with own.connect() as client:
        code = {"kind": "code_exec", "code": "x = 1", "targets": ["assert x == 1"]}
        assert client.run(code)["verdict"] == "pass"
        assert output(client, text, limits={"max_processes": 8}) == "7\n"


# --- neighbours ------------------------------------------------------------------------------------

# What the kernel counts per uid: how one job takes all of it, and how another looks for some.
PIPES = (
    """
import fcntl, os
def room():
    end = os.pipe()[1]
    found = fcntl.fcntl(end, 1032)
    try:
        fcntl.fcntl(end, 1031, 1 << 20)
    except OSError:
        pass
    return found == 65536
def take():
    while room():
        pass
""",
    "room()",
)
IN_FLIGHT = (
    """
import os, socket
kept = []
def send(n):
    ends = socket.socketpair()
    kept.append(ends)
    socket.send_fds(ends[0], [b'x'], [0] * n)
    return True
def take():
    while True:
        send(100)
""",
    "send(1)",
)
SIGNALS = (
    """
import ctypes
libc = ctypes.CDLL(None)
def timer():
    return libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p())) == 0
def take():
    while timer():
        pass
""",
    "timer()",
)
QUOTAS = {"pipes": PIPES, "in_flight": IN_FLIGHT}


def look_beside(daemon, quota):
    """Returns what a job finds of a quota of which another job has taken all that it gets."""
    common, look = quota
    taker = common + "\ntry:\n    take()\nexcept OSError:\n    pass\nopen('taken', 'w').close()\n"
    with daemon.connect() as client, daemon.connect() as other:
        client.submit("taker", script(taker + "import time; time.sleep(600)", limits={"wall_clock": 100}))
        wait_until(lambda: "taken" in daemon.files(), "the neighbour has taken all")
        result = other.run(script(f"{common}\nprint({look})"))
        client.send({"type": "cancel", "id": "taker"})
        assert client.recv_answer("taker")["code"] == "cancelled"
    return result


@needs_root
@needs_namespaces
@pytest.mark.parametrize("quota", QUOTAS.values(), ids=QUOTAS)
def test_what_a_neighbour_takes_is_not_missing(own, quota):
    assert look_beside(own, quota).get("stdout") == "True\n"


@needs_root
@needs_namespaces
@pytest.mark.parametrize("quota", QUOTAS.values(), ids=QUOTAS)
def test_it_is_missing_where_jobs_have_one_uid(start_daemon, quota):
    """The test above can fail. Other daemons of the account may give something back in between."""
    daemon = start_daemon("isolation.without=own_uid")
    wait_until(lambda: look_beside(daemon, quota).get("stdout") != "True\n", "the neighbour lacks it")


@needs_namespaces
def test_a_neighbour_cannot_queue_all_signals(start_daemon):
    """These count for the account whatever the uid of jobs is, so each job has a limit."""
    assert look_beside(start_daemon("isolation.without=own_uid"), SIGNALS).get("stdout") == "True\n"


# --- files that are closed to jobs -----------------------------------------------------------------


@needs_root
@needs_namespaces
@pytest.mark.parametrize("closed", ["", "rubric.py"])
def test_a_bench_for_its_owner_only(own, start_daemon, tmp_path, closed):
    bench = Bench(tmp_path / "bench")
    job = bench.job("print('{\"passed\": true, \"score\": 1}')", name="secret")
    path = bench.root / "secret" / closed
    os.chown(path, UID, -1)
    path.chmod(0o700)
    with own.connect() as client:
        answer = client.run(job)
        assert (answer["type"], answer.get("code"), answer.get("retriable")) == ("error", "not_permitted", False), answer
        assert answer["message"].startswith("job.task_class: secret/rubric.py: closed to jobs"), answer
        path.chmod(0o755)
        assert client.run(job)["score"]["passed"] is True
        path.chmod(0o700)
    with start_daemon("isolation.without=own_uid").connect() as client:
        assert client.run(job)["score"]["passed"] is True


@needs_root
@needs_namespaces
def test_a_readable_path_for_its_owner_only(make_helper, start_daemon, tmp_path):
    roots = f"sandbox.readable_roots={tmp_path}"
    own = start_daemon(f"isolation.idmap_socket={make_helper().path}", roots)
    path = tmp_path / "readable"
    path.mkdir()
    os.chown(path, UID, -1)
    path.chmod(0o700)
    job = {**script(f"import os; print(os.listdir({str(path)!r}))"), "readable": [str(path)]}
    with own.connect() as client:
        answer = client.run(job)
        assert answer.get("code") == "not_permitted" and "job.readable: closed to jobs" in answer["message"], answer
        path.chmod(0o755)
        assert client.run(job)["stdout"] == "[]\n"


# --- without the layer -----------------------------------------------------------------------------


def runs_as_ever(daemon):
    assert "own_uid" not in daemon.layers()
    with daemon.connect() as client:
        assert output(client, IDENTITY) == "(1000, 1000, 1000) (1000, 1000, 1000) 1000\n"
        code = {"kind": "code_exec", "code": "x = 1", "targets": ["assert x == 1"]}
        assert client.run(code)["verdict"] == "pass"


@needs_namespaces
def test_nobody_listens(start_daemon, tmp_path):
    daemon = start_daemon(f"isolation.idmap_socket={tmp_path}/nobody")
    assert missing(daemon) == f"rubricd-idmap does not listen at {tmp_path}/nobody: No such file or directory"
    runs_as_ever(daemon)


@needs_namespaces
def test_no_helper_is_named(start_daemon):
    daemon = start_daemon("isolation.idmap_socket=")
    assert missing(daemon) == "[isolation] idmap_socket names no helper"
    runs_as_ever(daemon)


@needs_root
@needs_namespaces
@pytest.mark.parametrize(
    "subuid, reason",
    [
        ("", "/etc/subuid grants the account no ids"),
        ("somebody:100000:65536\n", "/etc/subuid grants the account no ids"),
        (f"{ACCOUNT}:0:65536\n{ACCOUNT}:x:1\n{ACCOUNT}:1\n", "/etc/subuid grants the account no ids"),
        (f"{ACCOUNT}:{FIRST}:1023\n", "/etc/subuid grants the account fewer than 1024 ids"),
    ],
)
def test_too_few_ids(make_helper, start_daemon, subuid, reason):
    daemon = start_daemon(f"isolation.idmap_socket={make_helper(subuid=subuid).path}")
    assert missing(daemon) == reason
    runs_as_ever(daemon)


@needs_root
@needs_namespaces
def test_a_helper_without_its_capability(make_helper, start_daemon):
    path = make_helper(capability="").path
    daemon = start_daemon(f"isolation.idmap_socket={path}")
    assert missing(daemon) == f"rubricd-idmap at {path}: Operation not permitted"
    runs_as_ever(daemon)


@needs_root
@needs_namespaces
def test_ids_may_be_granted_by_number(make_helper, start_daemon):
    helper = make_helper(subuid=f"other:5:5\n{UID}:{FIRST}:{COUNT}\n")
    assert missing(start_daemon(f"isolation.idmap_socket={helper.path}")) is None


@needs_root
@needs_namespaces
def test_a_jail_waits_for_a_helper_that_is_gone(make_helper, start_daemon):
    """No job runs without a layer that its daemon names. The daemon makes jails again once the helper is
    back."""
    helper = make_helper()
    daemon = start_daemon(f"isolation.idmap_socket={helper.path}", "warm.use=no", slots=1)
    # One that still waits for its identity would end with the helper.
    with daemon.connect() as client:
        wait_until(lambda: client.status()["slots"][0]["state"] == "idle", "the jail is up")
    (jail,) = daemon.jails()
    helper.close()
    helper.path.unlink()
    os.kill(jail, 9)
    # A job that was given to the killed jail would be lost with it.
    wait_until(lambda: jail not in daemon.jails(), "the daemon has seen that the jail is gone")
    with daemon.connect() as client:
        client.submit("job", script(IDENTITY))
        wait_until(lambda: "lacks a layer" in daemon.log(), "a jail was refused")
        make_helper()
        assert client.recv_answer("job")["stdout"].endswith(" 1000\n")
    assert "own_uid" in daemon.layers()


@needs_root
@needs_namespaces
def test_a_helper_may_come_and_go_by_reload(make_helper, start_daemon, tmp_path):
    path = make_helper().path
    config = tmp_path / "conf"
    config.write_text("[isolation]\nidmap_socket =\n")
    config.chmod(0o644)
    daemon = start_daemon(config=config)
    with daemon.connect() as client:
        for socket_path in path, "":
            config.write_text(f"[isolation]\nidmap_socket = {socket_path}\n")
            client.send({"type": "reload"})
            assert client.recv()["changed"] == ["isolation.idmap_socket"]
            layers = client.run(script(IDENTITY))["isolation"]["layers"]
            assert ("own_uid" in layers) == bool(socket_path)


@needs_root
@needs_namespaces
def test_a_private_daemon_leaves_jobs_its_uid(make_helper, tmp_path):
    path = make_helper().path
    config = tmp_path / "conf"
    config.write_text(f"[isolation]\nidmap_socket = {path}\n")
    config.chmod(0o644)
    command = [*AS_ACCOUNT, BUILD / "client" / "rubricctl", "sandbox", "--embedded", f"--config={config}"]
    done = subprocess.run([*command, "--json", "--", "/bin/true"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    layers = json.loads(done.stdout)["isolation"]["layers"]
    assert "user_namespace" in layers and "own_uid" not in layers


# --- the helper ------------------------------------------------------------------------------------


@needs_root
def test_the_helper_answers_its_own_account_only(make_helper):
    helper = make_helper()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(60)
        sock.connect(str(helper.path))
        sock.send(bytes(8))
        assert sock.recv(64)[:4] == (1).to_bytes(4, "little")  # EPERM
    done = subprocess.run([*AS_ACCOUNT, PYTHON, "-c", ASK, helper.path], capture_output=True, text=True, check=False)
    assert done.stdout == "1 1 71 0\n", done.stderr


# A process that is in no namespace of its own; one with a map; a message of another size; a late one.
ASK = """
import socket, sys
def ask(data):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(60)
        sock.connect(sys.argv[1])
        if data:
            sock.send(data)
        answer = sock.recv(64)
        return int.from_bytes(answer[:4], 'little')
print(ask(bytes(8)), ask(b'\\1' + bytes(7)), ask(bytes(9)), ask(b''))
"""


def test_the_helper_is_not_started_by_hand():
    done = subprocess.run([HELPER], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (64, "rubricd-idmap is started by its socket unit, not by hand\n")


@needs_root
@needs_namespaces
def test_files_of_another_uid_come_back_and_go_on(own):
    """The jail reads what is the job's, whatever its mode, and gives it to the next step as its own."""
    code = "import os; os.mkdir('d'); open('d/f', 'w').write('x'); os.chmod('d/f', 0); os.chmod('d', 0)"
    again = "import os; s = os.stat('d/f'); assert s.st_uid == os.getuid() and not s.st_mode & 0o777"
    with own.connect() as client:
        result = client.run(script(code, collect=["*"]))
        assert result["files"] == [{"name": "d/f", "mode": "0000", "content": "x"}], result
        steps = [{"argv": script(text)["argv"]} for text in (code, again)]
        result = client.run({"kind": "sandbox", "steps": steps})
        assert result["score"]["passed"], result
