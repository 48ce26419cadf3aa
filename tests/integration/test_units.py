# SPDX-License-Identifier: MIT
"""Checks the units with systemd's own tools, without running them: systemd accepts them, and they are no
more exposed than their page says."""

import os
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, ROOT

IDMAP = ("rubricd-idmap.service", "rubricd-idmap.socket")
HTTP = ("rubricd-http.service",) if (BUILD / "packaging/rubricd-http.service").exists() else ()
FLEET = ("rubricd-fleet.service", "rubricd-fleet-serve.service") if (BUILD / "packaging/rubricd-fleet.service").exists() else ()
FLEET_SOCKET = ("rubricd-fleet-serve.socket",) if FLEET else ()
UNITS = (*HTTP, *FLEET, *FLEET_SOCKET, "rubricd.service", "rubricd.socket", "rubricd@.service", "rubricd@.socket", *IDMAP)
EXPOSURE_MAX = {"rubricd-idmap.service": 7}  # tenths
PAGE = ROOT / "packaging/systemd/README.md"

# These tests check the units, which are the same in every build.
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed"),
]


def analyze(*arguments, cwd):
    # Include stderr: it has the warnings, which do not change the exit status.
    return subprocess.run(["systemd-analyze", "--no-pager", *arguments], cwd=cwd, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip


@pytest.fixture(name="units")
def make_units(tmp_path):
    """Makes a folder of the units, in which every program is one that exists."""
    for name in UNITS:
        text = (BUILD / "packaging" / name).read_text()
        (tmp_path / name).write_text(re.sub(r"^(Exec\w+)=\S+", r"\1=/bin/true", text, flags=re.MULTILINE))
    return tmp_path


@pytest.mark.parametrize("unit", ["rubricd.service", "rubricd.socket", "rubricd@a.service", "rubricd@a.socket", *IDMAP, *HTTP, *FLEET, *FLEET_SOCKET])
def test_verify_is_silent(units, unit):
    if "@" in unit:
        shutil.copy(units / re.sub("@a", "@", unit), units / unit)
    done = analyze("verify", "--man=no", f"./{unit}", cwd=units)
    assert (done.returncode, done.stdout) == (0, "")


def test_verify_would_complain(units):
    """The test above can fail: systemd reports a key that it does not know."""
    with (units / "rubricd.service").open("a") as file:
        file.write("\n[Service]\nNoSuchKey=yes\n")
    assert "NoSuchKey" in analyze("verify", "--man=no", "./rubricd.service", cwd=units).stdout


@pytest.mark.parametrize("unit", ["rubricd.service", "rubricd@.service", "rubricd-idmap.service", *HTTP, *FLEET])
def test_exposure(units, unit, record_property):
    done = analyze("security", "--offline=yes", f"--threshold={EXPOSURE_MAX.get(unit, 25)}", f"./{unit}", cwd=units)
    record_property("exposure", done.stdout.splitlines()[-1].split(":")[-1].strip())
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "unit, title", [("rubricd.service", "What stays exposed"), ("rubricd-idmap.service", "A uid for each slot")]
)
def test_the_page_has_a_reason_for_each_point(units, unit, title):
    done = analyze("security", "--offline=yes", f"./{unit}", cwd=units)
    left = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("✗")}
    section = PAGE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    assert left == set(re.findall(r"^\| `([^`]+)` \| \S.+ \|$", section, re.MULTILINE))


def test_the_helper_and_its_client_agree(units):
    """They agree on the socket, which only the account may use; the helper has one capability."""
    socket = (units / "rubricd-idmap.socket").read_text()
    service = (BUILD / "packaging/rubricd-idmap.service").read_text()
    path = re.search(r"^ListenSequentialPacket=(.+)$", socket, re.MULTILINE)[1]
    assert f"\n#idmap_socket = {path}\n" in (ROOT / "conf/rubricd.conf").read_text()
    assert {"SocketUser=rubricd", "SocketMode=0600"} <= set(socket.splitlines())
    lines = set(service.splitlines())
    assert {"User=rubricd", "CapabilityBoundingSet=CAP_SETUID", "AmbientCapabilities=CAP_SETUID"} <= lines
    assert re.search(r"^ExecStart=\S+/rubricd/rubricd-idmap$", service, re.MULTILINE)
    for name in "rubricd", "rubricd@":
        assert "\nWants=rubricd-idmap.socket\n" in (BUILD / "packaging" / f"{name}.service").read_text()


def test_programs_and_places(units):
    """The daemon, its client and the manager agree on the names and paths."""
    for name, runtime in (("rubricd", "rubricd"), ("rubricd@", "rubricd-%i")):
        service = (BUILD / "packaging" / f"{name}.service").read_text()
        socket = (BUILD / "packaging" / f"{name}.socket").read_text()
        path = f"/run/{runtime}/rubricd.sock"
        assert f"\nListenStream={path}\n" in socket
        assert f"/rubricctl --socket={path} reload\n" in service
        assert f"\nRuntimeDirectory={runtime}\n" in service
        assert "@" not in re.sub(r"rubricd@|@(mount|system-service|process|resources|privileged|sandbox)\b", "", service)
