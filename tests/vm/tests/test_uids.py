# SPDX-License-Identifier: MIT
"""A uid for each slot, as the packages set it up: the helper and its units, the ids in /etc/subuid, and hosts
on which it is missing. The tests run in this order: the first one upgrades from a package without the helper,
and the last ones purge. The others leave the service installed."""

import contextlib
import pwd
import re
import subprocess
from pathlib import Path

import pytest
from installed import (
    DROP_IN,
    MEMBER,
    SOCKET,
    TIMEOUT,
    Batch,
    ctl,
    is_active,
    main_pid,
    packages,
    run,
    setting,
    show,
    status,
    submit,
    wait_until,
)

HELPER_SOCKET = Path("/run/rubricd-idmap.sock")
SUBUID = Path("/etc/subuid")
# The second grant lies beyond what 31 bits can say; the third would end the search too soon.
OTHERS = "tester:100000:65536\nsomebody:2147483648:65536\n#nobody:x:y\n"
FIRST, COUNT = 165536, 65536
GRANTED = f"{OTHERS}rubricd:{FIRST}:{COUNT}\n"
EXPOSURE_MAX = {"rubricd-idmap.service": 7, "rubricd.service": 25, "rubricd@a.service": 25}  # in tenths
CAP_SETUID = 1 << 7


def account():
    return pwd.getpwnam("rubricd").pw_uid


def capabilities(pid):
    """Returns the sets of capabilities of a process, by the name that /proc/PID/status gives them."""
    text = Path(f"/proc/{pid}/status").read_text()
    return {name: int(value, 16) for name, value in re.findall(r"^Cap(\w+):\s+(\w+)$", text, re.MULTILINE)}


def why_missing():
    """Returns why the layer is missing, or None where it is in force."""
    isolation = status()["isolation"]
    reasons = {entry["layer"]: entry["reason"] for entry in isolation["missing"]}
    assert ("own_uid" in isolation["layers"]) is ("own_uid" not in reasons)
    assert reasons.keys() <= {"own_uid"}, "all else is in force"
    return reasons.get("own_uid")


def uids_of_jobs():
    """Returns the uids, on the host, of the jobs that execute sleep, a set for each."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            text = (path / "status").read_text()
            if text.startswith("Name:\tsleep\n") and "/rubricd.service/" in (path / "cgroup").read_text():
                found.append(set(map(int, re.search(r"^Uid:(.*)$", text, re.MULTILINE)[1].split())))
    return found


@contextlib.contextmanager
def running(place, count):
    """Jobs that run at the same time until the end of the block; yields a sorted list of their uids."""
    batch = Batch(place, count, ["/bin/sleep", "600"], "--force")

    def seen():
        assert batch.process.poll() is None, batch.process.stderr.read()
        uids = uids_of_jobs()
        return uids if len(uids) == count else None

    try:
        yield sorted(uid for uids in wait_until(seen, f"{count} jobs run") for uid in uids)
    finally:
        batch.process.terminate()
        batch.process.communicate(timeout=TIMEOUT)
    wait_until(lambda: uids_of_jobs() == [], "the jobs are gone")


def without_helper(package, directory):
    """Makes of a package one as it was before there was a helper; returns its path."""
    root, target = directory / "root", directory / f"old_{package.name}"
    run("dpkg-deb", "--raw-extract", package, root)
    for path in root.rglob("rubricd-idmap*"):
        path.unlink()
    for path in (root / "lib/systemd/system").iterdir():
        path.write_text(re.sub(r"^.*idmap.*\n", "", path.read_text(), flags=re.MULTILINE))
    for name in ("postinst", "prerm", "postrm"):
        path = root / "DEBIAN" / name
        text = re.sub(r"^\tgrant_uids\n", "", path.read_text(), flags=re.MULTILINE)
        sections = re.split(r"(?<=# End automatically added section\n)", text)
        path.write_text("".join(part for part in sections if "idmap" not in part))
    assert run("grep", "-rlF", "idmap", root / "DEBIAN", root / "lib", status=None).split() == [
        str(root / "DEBIAN/md5sums")
    ]
    run("dpkg-deb", "--build", "--root-owner-group", "-Znone", root, target)
    return target


@pytest.fixture(scope="module", name="before")
def make_before():
    """What /etc/subuid was, which has entries of others while the tests run."""
    text = SUBUID.read_text() if SUBUID.exists() else ""
    SUBUID.write_text(OTHERS)
    yield text
    SUBUID.write_text(text)


@pytest.fixture(name="service")
def make_service(before):
    yield
    if DROP_IN.exists():
        setting(None)
        run("systemctl", "restart", "rubricd.service")
    run("systemctl", "reset-failed", "rubricd*")


# --- an upgrade that brings the helper --------------------------------------------------------------


def test_an_upgrade_brings_the_helper(service, place):
    (daemon,) = (path for path in packages(1) if path.name.startswith("rubricd_"))
    rest = [path for path in packages(1) if path != daemon]
    run("apt-get", "-qq", "install", without_helper(daemon, place), *rest)
    run("usermod", "--append", "--groups", "rubricd", MEMBER)
    assert why_missing() == f"rubricd-idmap does not listen at {HELPER_SOCKET}: No such file or directory"
    with running(place, 2) as uids:
        assert uids == [account(), account()]
    assert SUBUID.read_text() == OTHERS

    batch = Batch(place, 30, ["/bin/sleep", "1"], "--force")
    batch.wait_for(2)
    pid = main_pid()
    run("apt-get", "-qq", "install", *packages(2))
    batch.assert_each_once()
    assert main_pid() not in (0, pid)
    assert why_missing() is None
    assert SUBUID.read_text() == GRANTED


# --- in force ---------------------------------------------------------------------------------------


def test_the_status_names_the_layers(service):
    assert {"own_uid", "cgroup"} <= set(status()["isolation"]["layers"])
    text = ctl("status")
    assert re.search(r"\bown_uid\b", text) and re.search(r"\bcgroup\b", text), text


def test_each_slot_has_a_uid(service, place):
    with running(place, 2) as uids:
        assert uids == [FIRST, FIRST + 1]
        assert pwd.getpwuid(Path(f"/proc/{main_pid()}").stat().st_uid).pw_name == "rubricd"


def test_a_reload_gives_new_slots_a_uid(service, place):
    pid = main_pid()
    setting("[daemon]\nslots = 4\n")
    run("systemctl", "reload", "rubricd.service")
    with running(place, 4) as uids:
        assert uids == [FIRST, FIRST + 1, FIRST + 2, FIRST + 3]
    setting("[daemon]\nslots = 2\n[isolation]\nidmap_socket =\n")
    run("systemctl", "reload", "rubricd.service")
    assert why_missing() == "[isolation] idmap_socket names no helper"
    with running(place, 2) as uids:
        assert uids == [account(), account()]
    setting("[daemon]\nslots = 2\n")
    run("systemctl", "reload", "rubricd.service")
    assert why_missing() is None
    with running(place, 2) as uids:
        assert uids == [FIRST, FIRST + 1]
    assert main_pid() == pid


CONNECT = """
import socket, sys
sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    sock.connect(sys.argv[1])
except OSError as error:
    print(error.strerror)
"""


def test_the_helpers_socket_is_the_accounts(service):
    assert run("stat", "-c", "%a %U", HELPER_SOCKET).strip() == "600 rubricd"
    said = run("runuser", "-u", MEMBER, "--", "python3", "-c", CONNECT, HELPER_SOCKET)
    assert said == "Permission denied\n", "members of the group cannot ask it"


def test_only_the_helper_has_a_capability(service):
    assert why_missing() is None, "the daemon runs, and has started the helper"
    helper = int(show("MainPID", "rubricd-idmap.service"))
    assert run("stat", "-c", "%U", f"/proc/{helper}").strip() == "rubricd"
    assert set(capabilities(helper).values()) == {CAP_SETUID}
    assert set(capabilities(main_pid()).values()) == {0}


@pytest.mark.parametrize("unit", EXPOSURE_MAX)
def test_exposure(service, unit, record_property):
    text = run("systemd-analyze", "security", "--no-pager", f"--threshold={EXPOSURE_MAX[unit]}", unit)
    record_property(f"exposure of {unit}", re.search(rf"level for {re.escape(unit)}: (\S+)", text).group(1))


def test_units_are_sound(service):
    assert run("systemd-analyze", "verify", "--man=no", "rubricd-idmap.service", "rubricd-idmap.socket") == ""


# --- without it -------------------------------------------------------------------------------------


def test_a_helper_that_is_killed_comes_back(service, place):
    assert why_missing() is None
    run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "rubricd-idmap.service")
    run("systemctl", "restart", "rubricd.service")
    assert why_missing() is None
    with running(place, 2) as uids:
        assert uids == [FIRST, FIRST + 1]


@pytest.mark.parametrize(
    "units, reason",
    [
        (["rubricd-idmap.socket", "rubricd-idmap.service"], "rubricd-idmap does not listen at"),
        (["rubricd-idmap.socket"], "rubricd-idmap does not listen at"),
        (["rubricd-idmap.service"], "rubricd-idmap "),
    ],
)
def test_masked(service, place, units, reason):
    """The layer is named as missing, and jobs have the uid of the daemon."""
    run("systemctl", "mask", "--now", *units)
    try:
        run("systemctl", "restart", "rubricd.service")
        assert why_missing().startswith(reason), why_missing()
        with running(place, 2) as uids:
            assert uids == [account(), account()]
        assert submit(place, {"kind": "code_exec", "code": "x = 1", "targets": ["assert x == 1"]})["verdict"] == "pass"
    finally:
        run("systemctl", "unmask", *units)
        run("systemctl", "reset-failed", "rubricd*")
        run("systemctl", "restart", "rubricd-idmap.socket", "rubricd.service")
    assert why_missing() is None


# --- /etc/subuid ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rubricd", "number"])
def test_ids_that_it_has_are_kept(service, place, name):
    name = account() if name == "number" else name
    text = f"{name}:300000:2000\n{OTHERS}"
    SUBUID.write_text(text)
    try:
        run("apt-get", "-qq", "install", "--reinstall", *packages(2))
        assert SUBUID.read_text() == text
        assert why_missing() is None
        with running(place, 2) as uids:
            assert uids == [300000, 300001]
    finally:
        SUBUID.write_text(GRANTED)
        run("systemctl", "restart", "rubricd.service")


def test_removed_it_keeps_its_ids(service):
    """As it keeps its account and its configuration."""
    run("apt-get", "-qq", "remove", "rubricd")
    assert SUBUID.read_text() == GRANTED
    assert not HELPER_SOCKET.exists() and not SOCKET.exists()
    assert "rubricd-idmap" not in run("ps", "-e", "-o", "args")
    run("apt-get", "-qq", "install", *packages(2))
    assert SUBUID.read_text() == GRANTED
    assert why_missing() is None


def purge(*names):
    run("apt-get", "-qq", "purge", *names)
    assert not HELPER_SOCKET.exists()
    assert is_active("rubricd-idmap.socket") == is_active("rubricd-idmap.service") == "inactive"
    assert subprocess.run(["getent", "passwd", "rubricd"], check=False, stdout=subprocess.DEVNULL).returncode == 2


def test_a_purge_takes_its_ids_and_no_others(service):
    assert why_missing() is None, "the purge begins while both run"
    purge("rubricd", "rubricd-warm", "rubricctl")
    assert SUBUID.read_text() == OTHERS


def test_a_host_that_has_no_ids_left(before, place):
    """The packages can be installed nevertheless. The first connection, which no restart follows, finds the
    layer missing."""
    SUBUID.write_text("root:0:4294967295\n")
    said = run("apt-get", "-qq", "install", *packages(2))
    assert "/etc/subuid grants rubricd no uids" in said
    run("usermod", "--append", "--groups", "rubricd", MEMBER)
    assert why_missing() == "/etc/subuid grants the account no ids"
    with running(place, 2) as uids:
        assert uids == [account(), account()]
    purge("rubricd", "rubricd-warm", "rubricctl")
    assert SUBUID.read_text() == "root:0:4294967295\n"


def test_the_first_daemon_after_an_installation_finds_its_ids(before):
    """Even one that a client starts as soon as the socket is there. (rubricd-warm would restart it.)"""
    SUBUID.unlink()
    client = subprocess.Popen(["sh", "-c", "until rubricctl ping; do sleep 0.01; done"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    run("apt-get", "-qq", "install", *(path for path in packages(2) if "-warm" not in path.name))
    assert client.wait(timeout=TIMEOUT) == 0
    run("usermod", "--append", "--groups", "rubricd", MEMBER)
    assert why_missing() is None
    assert SUBUID.read_text() == f"rubricd:100000:{COUNT}\n"
    purge("rubricd", "rubricctl")
    assert SUBUID.read_text() == ""
