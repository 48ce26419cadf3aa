# SPDX-License-Identifier: MIT
"""Layers of isolation. Every message names the same layers as in force. Each missing layer, whether the
host lacks it or the configuration switches it off, is listed with its reason. The remaining layers
hold. Nothing runs as root."""

import array
import fcntl
import json
import os
import pwd
import re
import socket
import stat
import subprocess
from pathlib import Path

import conftest
import pytest
from conftest import (
    ACCOUNT,
    ALL_LAYERS,
    NO_USER_NAMESPACES,
    PASSING,
    RUBRICD,
    Shape,
    give_to_account,
    make_shape,
    open_up,
    started_by_account,
    user_namespaces_are_refused,
    wait_until,
)

UNAVAILABLE, CONFIG = 69, 78
ALWAYS = {"env", "tempdir", "rlimits", "no_new_privs", "tree_kill"}
OF_USER_NAMESPACE = {"pid_namespace", "mount_namespace", "net_namespace"}
LAYERS = {
    *ALWAYS,
    *OF_USER_NAMESPACE,
    *("user_namespace", "network", "filesystem", "landlock", "seccomp", "cgroup", "own_uid"),
}

SWITCHED_OFF = "switched off by [isolation] without"
WITH_IT = "it takes a user namespace"
# For each layer that the host lacks: the layers that are missing then, and the reason for each.
TAKEN = {
    "user_namespace": {
        "user_namespace": r"refused: .+; (see user.max_user_namespaces and .+|user.max_user_namespaces is 0 here|.*seccomp profile.*)",
        **dict.fromkeys(OF_USER_NAMESPACE, WITH_IT),
        "own_uid": ".+",
    },
    "landlock": {"landlock": r"the kernel does not offer it: 5\.13 or newer, with landlock in .*"},
    "seccomp": {
        "seccomp": r"the kernel does not offer filters \(CONFIG_SECCOMP_FILTER\): "
        "Function not implemented"
    },
    "mount_namespace": {
        "mount_namespace": "mounting a tmpfs: Operation not permitted",
        "own_uid": ".+",
    },
    "net_namespace": {"net_namespace": "Operation not permitted"},
}
# The same for layers that the configuration switches off; any but `env` and `tempdir` can be.
SWITCHED = {
    "user_namespace": {
        "user_namespace": re.escape(SWITCHED_OFF),
        **dict.fromkeys(OF_USER_NAMESPACE, WITH_IT),
        "own_uid": ".+",
    },
    "network": {"net_namespace": "it goes with a layer that is missing"},
    "filesystem": {"mount_namespace": "it goes with a layer that is missing", "own_uid": ".+"},
    "mount_namespace": {"own_uid": ".+"},
    **dict.fromkeys("rlimits no_new_privs tree_kill pid_namespace net_namespace".split(), {}),
    **dict.fromkeys("landlock seccomp cgroup own_uid".split(), {}),
}


def shape_without(layer):
    """Returns the shape of a daemon whose host lacks LAYER."""
    if layer == "user_namespace":
        return make_shape(NO_USER_NAMESPACES)
    if user_namespaces_are_refused():
        pytest.skip(f"taking {layer} away needs a user namespace, and those are refused here")
    why = conftest.cannot_be_taken_away(layer)
    if why:
        pytest.skip(f"{layer} cannot be taken away here: {why}")
    return Shape(layer)


def isolation_of(daemon):
    """Returns the isolation in `status`; asserts that `hello` and a job's reply agree with it."""
    with daemon.connect() as client:
        shown = client.status()["isolation"]
        reply = client.run({**SANDBOX, "argv": ["/bin/true"]})["isolation"]
    for key in "class", "layers", "digest":
        assert client.hello["isolation"][key] == reply[key] == shown[key]
    missing = [entry["layer"] for entry in shown["missing"]]
    assert len(shown["layers"]) + len(missing) == len(LAYERS), "each layer once"
    assert {*shown["layers"], *missing} == LAYERS
    assert all(entry["reason"] for entry in shown["missing"])
    return shown


def reasons(isolation):
    return {entry["layer"]: entry["reason"] for entry in isolation["missing"]}


SANDBOX = {"kind": "sandbox"}


def assert_right_verdicts(daemon, bench):
    """Runs rubric and sandbox jobs that pass and fail, and asserts their verdicts."""
    with daemon.connect() as client:
        good = client.run(bench.job(PASSING))
        assert (good["type"], good["score"]["passed"]) == ("result", True), good
        bad = client.run(bench.job("import sys; sys.exit('no')"))
        assert bad["score"]["failure_modes"][0]["detail"] == "no\n", bad
        late = client.run(
            bench.job("import time; time.sleep(60)", case={"rubric_wall_clock_seconds": 0.3})
        )
        assert late["score"]["failure_modes"][0]["code"] == "rubric.timeout"
        good = client.run({**SANDBOX, "argv": ["/bin/cat", "file"], "files": {"file": "text"}})
        assert (good["type"], good["score"]["passed"], good["stdout"]) == ("result", True, "text")
        bad = client.run({**SANDBOX, "argv": ["/bin/sh", "-c", "exit 3"]})
        assert (bad["score"]["passed"], bad["outcome"]["exit_code"]) == (False, 3)


# Tries to read a file of the host and to connect to one of its ports.
REACH = """
import json, socket, sys
case = json.load(sys.stdin)["case"]
reached = []
try: reached += open(case["file"]).read().split()
except OSError: pass
try: socket.create_connection(("127.0.0.1", case["port"]), 10).close(); reached.append("network")
except OSError: pass
mode = {"code": "reached", "severity": "info", "detail": json.dumps(reached)}
print(json.dumps({"passed": True, "score": 1, "failure_modes": [mode]}))
"""


@pytest.fixture(name="reached")
def make_host(tmp_path, bench):
    """Returns a function that runs a rubric and returns what it could reach: `filesystem`, a file
    that its account can read, and `network`, a listening port."""
    (tmp_path / "host").mkdir()
    open_up(tmp_path / "host")
    (tmp_path / "host" / "file").write_text("filesystem")
    with socket.create_server(("127.0.0.1", 0)) as server:
        case = {"file": str(tmp_path / "host" / "file"), "port": server.getsockname()[1]}

        def reached(daemon):
            with daemon.connect() as client:
                result = client.run(bench.job(REACH, case=case))
            assert result["type"] == "result" and result["score"]["passed"], result
            return set(json.loads(result["score"]["failure_modes"][0]["detail"]))

        yield reached


# On a host as it is


def test_what_the_host_offers_is_used(daemon):
    """The test finds out what the host offers without asking the daemon."""
    layers = daemon.layers()
    assert ALWAYS <= layers
    assert ("user_namespace" in layers) == (user_namespaces_are_refused() is None)
    assert ("pid_namespace" in layers) == (user_namespaces_are_refused() is None)
    assert ("landlock" in layers) == (conftest.landlock_version() > 0)
    assert ("seccomp" in layers) == ("Seccomp_filters:" in Path("/proc/self/status").read_text())
    isolation_of(daemon)


def test_it_holds(daemon, reached, bench):
    assert {"network", "filesystem"} <= daemon.layers()
    assert reached(daemon) == set()
    assert_right_verdicts(daemon, bench)


def test_what_a_test_of_reach_can_find(start_daemon, reached):
    """Without any layer the rubric reaches both. Otherwise the test above would prove nothing."""
    daemon = start_daemon(
        "isolation.without=network filesystem landlock seccomp", "isolation.require=env"
    )
    assert reached(daemon) == {"network", "filesystem"}


# With layers missing


@pytest.mark.parametrize("layer", TAKEN)
def test_a_layer_that_cannot_be_had(layer, lend, bench, reached):
    """The daemon names the layer and the reason, the remaining layers hold, and the digest differs."""
    shape = shape_without(layer)
    whole, lacking = isolation_of(lend()), lend(shape=shape)
    isolation = isolation_of(lacking)
    for name, reason in TAKEN[layer].items():
        assert re.fullmatch(reason, reasons(isolation)[name]) or shape.settings
    lost = set(whole["layers"]) - set(isolation["layers"])
    assert lost == TAKEN[layer].keys() & set(whole["layers"])
    assert {"network", "filesystem"} <= lacking.layers(), "other layers provide these two"
    assert (isolation["digest"] != whole["digest"]) == bool(lost)
    assert_right_verdicts(lacking, bench)
    assert reached(lacking) == set()


@pytest.mark.parametrize("layer", sorted(SWITCHED))
def test_a_layer_that_is_switched_off(layer, lend, bench, reached):
    """The layers that depend on it are missing too; all others are in force."""
    whole = isolation_of(lend())
    daemon = lend(f"isolation.without={layer}", "isolation.require=env tempdir")
    isolation = isolation_of(daemon)
    told = reasons(isolation)
    assert told[layer] == SWITCHED_OFF
    for name, reason in SWITCHED[layer].items():
        assert re.fullmatch(reason, told[name]) or name in reasons(whole)
    lost = set(whole["layers"]) - set(isolation["layers"])
    if not user_namespaces_are_refused():
        assert lost == {layer, *SWITCHED[layer]} & set(whole["layers"])
    assert (isolation["digest"] != whole["digest"]) == bool(lost)
    assert_right_verdicts(daemon, bench)
    assert reached(daemon) <= {"network", "filesystem"} - daemon.layers()


@pytest.mark.parametrize("layer", TAKEN)
def test_it_makes_no_difference_why_a_layer_is_missing(layer, lend):
    """The digest depends only on the layers in force."""
    taken = isolation_of(lend(shape=shape_without(layer)))
    switched = isolation_of(lend(f"isolation.without={layer}"))
    assert taken["layers"] == switched["layers"]
    assert taken["digest"] == switched["digest"]


def test_every_set_of_layers_has_its_own_digest(lend):
    if user_namespaces_are_refused():
        pytest.skip("most layers are missing here: user namespaces are refused")
    settings = [[]] + [[f"isolation.without={layer}"] for layer in sorted(SWITCHED)]
    told = {}
    for setting in settings:
        daemon = lend(*setting, "isolation.require=env tempdir")
        with daemon.connect() as client:
            isolation = client.hello["isolation"]
        told.setdefault(isolation["digest"], set()).add(tuple(isolation["layers"]))
    assert all(len(layers) == 1 for layers in told.values())
    assert len(told) == len({layers for sets in told.values() for layers in sets})
    assert len(told) >= len(SWITCHED) - 1, "only cgroup and own_uid may be missing in any case"


@pytest.mark.parametrize(
    ("layer", "means", "reason"),
    [
        ("filesystem", "landlock", "neither a mount namespace nor Landlock can be had"),
        ("network", "seccomp", "neither a network namespace nor seccomp can be had"),
    ],
)
def test_neither_of_two_means(layer, means, reason, tmp_path):
    """Two means provide a layer that is required by default. With both missing, the daemon refuses."""
    done = start(tmp_path, f"--set=isolation.without=user_namespace {means}")
    assert_refused(tmp_path, done, layer, reason)
    if not conftest.cannot_be_taken_away(means):
        shape = Shape(means, settings=["isolation.without=user_namespace"])
        assert_refused(tmp_path, start(tmp_path, shape=shape), layer, reason)


def test_where_clone3_is_missing(start_daemon, lend, bench):
    """Some container engines refuse clone3 to whole services. The daemon then uses the older clone."""
    why = conftest.cannot_be_taken_away("clone3")
    if why:
        pytest.skip(f"clone3 cannot be taken away here: {why}")
    whole = isolation_of(lend())
    daemon = start_daemon(shape=Shape("clone3"))
    isolation = isolation_of(daemon)
    assert set(whole["layers"]) - set(isolation["layers"]) <= {"cgroup"}
    assert_right_verdicts(daemon, bench)


# Starts as many processes as it gets, up to a number that does a host no harm, and prints how many.
STARTER = """
import os, signal
started = []
while len(started) < 4000:
    try: pid = os.fork()
    except BlockingIOError: break
    if pid == 0:
        signal.pause()
        os._exit(0)
    started.append(pid)
print(len(started))
for pid in started: os.kill(pid, signal.SIGKILL)
"""


@pytest.mark.parametrize("why", ["taken", "switched off"])
def test_processes_are_bounded_where_the_account_counts_them(why, start_daemon):
    """Without user namespaces and control groups, a job that forks for ever must not take the host."""
    shape = shape_without("user_namespace") if why == "taken" else Shape()
    settings = ["isolation.without=user_namespace cgroup"] if why == "switched off" else []
    daemon = start_daemon(*settings, shape=shape)
    if "cgroup" in daemon.layers():
        pytest.skip("a control group counts the processes of jobs here")
    job = {**SANDBOX, "argv": ["/usr/bin/python3", "-c", STARTER], "limits": {"max_processes": 50}}
    with daemon.connect() as client:
        first, second = (client.run(job) for _ in range(2))
    for result in first, second:
        assert result["type"] == "result" and result["score"]["passed"], result
        assert 49 <= int(result["stdout"]) <= 50 + 2 * 1024, "the margin is 1024"


# Required layers


def start(directory, *arguments, shape=Shape(), user=ACCOUNT):
    """Runs a daemon that refuses to start, and returns the completed process."""
    give_to_account(directory)
    return subprocess.run(
        [
            *(*shape.prefix, RUBRICD, "--config=/dev/null", f"--set=daemon.socket={directory}/s"),
            *(f"--set=daemon.work_dir={directory}/work", "--set=daemon.socket_group="),
            *(f"--set=daemon.user={user}", *arguments),
            *(f"--set={setting}" for setting in shape.settings),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def assert_says(directory, done, message):
    """Asserts that the daemon printed one line, refused to start, and left no socket and no job directory."""
    assert (done.returncode, done.stdout) == (UNAVAILABLE, ""), done.stderr
    assert re.fullmatch(rf"rubricd: cannot start: {message}\n", done.stderr), done.stderr
    assert {path.name for path in directory.iterdir()} <= {"work"}
    work = directory / "work"
    assert not work.exists() or not list(work.iterdir())


def assert_refused(directory, done, layer, reason):
    assert_says(
        directory,
        done,
        rf"\[isolation\] require: the layer {layer} cannot be had: {reason}; "
        "take it out of the list to do without",
    )


@pytest.mark.parametrize("layer", TAKEN)
def test_a_required_layer_that_cannot_be_had(layer, tmp_path):
    """The message names the layer, the cause and the remedy, and the daemon leaves nothing behind."""
    shape = shape_without(layer)
    if shape.settings:
        pytest.skip("user namespaces cannot be taken away here")
    for name, reason in TAKEN[layer].items():
        done = start(tmp_path, f"--set=isolation.require=env {name}", shape=shape)
        assert_refused(tmp_path, done, name, reason)


def test_a_required_layer_that_is_switched_off(tmp_path):
    for layer in sorted(SWITCHED):
        done = start(
            tmp_path, f"--set=isolation.without={layer}", f"--set=isolation.require={layer}"
        )
        assert_refused(tmp_path, done, layer, re.escape(SWITCHED_OFF))


@pytest.mark.parametrize("layer", ["env", "tempdir", "seccomp env"])
def test_a_layer_that_cannot_be_switched_off(layer, tmp_path):
    done = start(tmp_path, f"--set=isolation.without={layer}")
    name = layer.split()[-1]
    assert_says(tmp_path, done, rf"\[isolation\] without: {name}: it is always there")


@pytest.mark.parametrize("key", ["require", "without"])
@pytest.mark.parametrize("names", ["moat", "seccomp moat", "Seccomp", "landlock,seccomp"])
def test_a_layer_that_there_is_not(key, names, tmp_path):
    """The message lists the names of all known layers."""
    done = start(tmp_path, f"--set=isolation.{key}={names}")
    assert (done.returncode, done.stdout) == (CONFIG, "")
    wrong = re.escape(names.split()[-1])
    found = re.fullmatch(
        rf"--set:\d: \[isolation\] {key}: expected names of layers .*\((.*)\), got '{wrong}'\n",
        done.stderr,
    )
    assert set(found[1].split()) == LAYERS
    assert not list(tmp_path.iterdir())


# Accounts

NS_GET_OWNER_UID = 0xB704


CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapAmb")
NONE = ["0" * 16]


def identity(pid):
    """Returns the fields of /proc/PID/status; asserts that all threads have the same credentials."""
    threads = []
    for path in Path(f"/proc/{pid}/task").iterdir():
        lines = [line.split(":", 1) for line in (path / "status").read_text().splitlines()]
        threads.append({name: value.split() for name, value in lines})
    for name in "Uid", "Gid", "Groups", "CapBnd", *CAPABILITIES:
        assert all(thread[name] == threads[0][name] for thread in threads)
    return threads[0]


def owner_of_user_namespace(pid):
    """Returns the uid that owns the user namespace of PID; None if PID is in ours."""
    with open(f"/proc/{pid}/ns/user", "rb") as its, open("/proc/self/ns/user", "rb") as ours:
        if os.path.sameopenfile(its.fileno(), ours.fileno()):
            return None
        owner = array.array("I", [0])
        fcntl.ioctl(its, NS_GET_OWNER_UID, owner)
        return owner[0]


FORKING = "import os, time\nos.fork()\ntime.sleep(60)\n"


@pytest.fixture(name="family")
def make_family(start_daemon, bench):
    """Returns a function that starts a daemon and two jobs, and returns the daemon, the pids of its
    jails and the pids of its jobs."""
    clients = []

    def start_family(shape, *settings):
        daemon = start_daemon("daemon.slots=2", *settings, shape=shape)
        clients.append(daemon.connect())
        for id in "ab":
            clients[-1].submit(id, bench.job(FORKING))
            assert clients[-1].recv()["type"] == "started"
        jails = daemon.jails()
        wait_until(lambda: len(daemon.descendants() - jails) == 4, "two jobs run")
        return daemon, jails, daemon.descendants() - jails

    yield start_family
    for client in clients:
        client.close()


def needs_root():
    if os.geteuid() != 0:
        pytest.skip("only root can start a daemon as root")


def assert_powerless(pid, account, groups, own_uid=False):
    """Asserts that PID has only the uid, gid and groups of ACCOUNT, or a uid of its own; returns the
    fields of its status."""
    who = identity(pid)
    assert len(set(who["Uid"])) == 1 and who["Uid"][0] != "0"
    assert (who["Uid"][0] == str(account.pw_uid)) is not own_uid
    assert who["Gid"] == [str(account.pw_gid)] * 4
    assert set(who["Groups"]) <= {str(group) for group in groups}
    return who


@pytest.mark.parametrize("name", [ALL_LAYERS, NO_USER_NAMESPACES])
def test_root_is_given_up(name, family):
    """The daemon, its jails and their jobs keep no uid, group or capability of root."""
    needs_root()
    account = pwd.getpwnam(ACCOUNT)
    groups = os.getgrouplist(ACCOUNT, account.pw_gid)
    daemon, jails, jobs = family(make_shape(name))
    who = assert_powerless(daemon.process.pid, account, groups)
    assert [who[name] for name in CAPABILITIES] == [NONE] * 4
    assert who["Groups"] == [str(group) for group in sorted(groups)]
    for jail in jails:
        who = assert_powerless(jail, account, groups)
        if owner_of_user_namespace(jail) == owner_of_user_namespace(daemon.process.pid):
            assert name == NO_USER_NAMESPACES
            assert [who[name] for name in CAPABILITIES] == [NONE] * 4
        else:
            # Its capabilities cover only a user namespace that the account made; execve drops them.
            assert owner_of_user_namespace(jail) == account.pw_uid
            assert [who[name] for name in ("CapInh", "CapAmb", "CapBnd")] == [NONE] * 3
    for job in jobs:
        who = assert_powerless(job, account, groups, "own_uid" in daemon.layers())
        assert [who[name] for name in CAPABILITIES] == [NONE] * 4
        assert who["NoNewPrivs"] == ["1"]


def test_the_socket_and_directories_of_a_daemon_that_gave_up_root(family):
    """They belong to the account, have the configured mode and group, and are removed at exit."""
    needs_root()
    account = pwd.getpwnam(ACCOUNT)
    daemon, _, _ = family(Shape(), "daemon.socket_mode=0640", "daemon.socket_group=daemon")
    found = daemon.socket.stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (account.pw_uid, 0o640)
    assert found.st_gid == 1, "the socket belongs to the group daemon"
    for directory in daemon.work, *daemon.work.iterdir():
        found = directory.stat()
        assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (account.pw_uid, 0o700), directory
    daemon.process.terminate()
    wait_until(lambda: not daemon.socket.exists(), "it drains")
    assert daemon.stop() == 0, "the second signal ends the jobs"
    assert not daemon.socket.exists()
    assert not list(daemon.work.iterdir())


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ("root", "root is uid 0; jobs are never run as root"),
        ("no-such-account", "there is no account no-such-account"),
    ],
)
def test_an_account_that_will_not_do(user, message, tmp_path):
    needs_root()
    done = start(tmp_path, user=user)
    assert_says(tmp_path, done, rf"\[daemon\] user: {message}")
    assert not (tmp_path / "work").exists()


def test_a_part_of_root_is_root(tmp_path):
    """With another account's effective uid the daemon cannot give up the rest of root, so it refuses."""
    needs_root()
    shape = Shape()
    shape.prefix = ["/usr/bin/setpriv", f"--euid={ACCOUNT}"]
    done = start(tmp_path, shape=shape)
    # LeakSanitizer cannot run without full root, and then exits with a status of its own.
    assert done.returncode == UNAVAILABLE or "LeakSanitizer does not work" in done.stderr
    assert done.stderr.startswith("rubricd: cannot start: ")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("user", [ACCOUNT, "root", "no-such-account"])
def test_a_daemon_that_is_not_roots_stays_who_it_is(user, start_daemon, bench):
    """A daemon that an ordinary account starts ignores the configured user."""
    daemon = start_daemon(f"daemon.user={user}", shape=started_by_account())
    uid = pwd.getpwnam(ACCOUNT).pw_uid if os.geteuid() == 0 else os.geteuid()
    for pid in {daemon.process.pid, *daemon.jails()}:
        assert identity(pid)["Uid"] == [str(uid)] * 4
    assert daemon.socket.stat().st_uid == uid
    assert_right_verdicts(daemon, bench)
