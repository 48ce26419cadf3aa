# SPDX-License-Identifier: MIT
"""What help, man page and configuration of the client name is there once the project is installed."""

import json
import os
import re
import subprocess

import pytest
from conftest import BENCH, BUILD, DEADLINE, ROOT, RUBRICCTL, open_up


@pytest.fixture(name="root", scope="module")
def install(tmp_path_factory):
    """Returns a folder with an installation of the build."""
    meson = subprocess.run(["which", "meson"], capture_output=True, text=True, check=False).stdout.strip()
    if not meson:
        pytest.skip("meson is not installed")
    if not os.access(BUILD, os.W_OK):
        pytest.skip("the build belongs to another user")
    root = tmp_path_factory.mktemp("root")
    done = subprocess.run(
        [meson, "install", "-C", BUILD, "--no-rebuild", "--destdir", root, "--quiet"],
        capture_output=True,
        text=True,
        timeout=10 * DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    open_up(root)
    return root


def told(root):
    """Returns everything that help and man page say."""
    names = re.findall(r"^  ([a-z-]+)  +\S", ctl("--help"), re.M)
    texts = [ctl("--help"), *(ctl(name, "--help") for name in names if name in ctl("--help"))]
    (page,) = root.rglob("rubricctl.1")
    return "\n".join([*texts, page.read_text().replace("\\-", "-")])


def ctl(*arguments):
    return subprocess.run([RUBRICCTL, *arguments], capture_output=True, text=True, check=False).stdout


def test_paths_that_are_named_exist(root):
    text = told(root)
    named = set(re.findall(r"(/usr[\w/.-]*/share/rubricd[\w/.-]*\w)", text))
    assert {path.rpartition("/rubricd/")[2] for path in named} >= {"bench", "schema", "bench/README.md"}
    for path in named:
        assert (root / path[1:]).exists(), path
    assert "tests/data" not in text, "the repository is not installed"


def test_the_installed_bench_is_whole(root):
    (bench,) = root.rglob("share/rubricd/bench")
    here = {path.relative_to(BENCH) for path in BENCH.rglob("*") if "__pycache__" not in path.parts}
    assert {path.relative_to(bench) for path in bench.rglob("*")} == here
    done = subprocess.run(
        [RUBRICCTL, "check-rubric", bench], capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 0, done.stderr
    (schemas,) = root.rglob("share/rubricd/schema")
    assert {path.name for path in schemas.iterdir()} == {path.name for path in (ROOT / "proto" / "schema").iterdir()}
    for path in schemas.iterdir():
        json.loads(path.read_text())


def links(root):
    checker = ROOT / "tests" / "installed_links.py"
    done = subprocess.run(["/usr/bin/python3", "-B", checker, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_links_of_installed_pages_lead_somewhere(root):
    assert links(root) == (0, "")
    (page,) = root.rglob("share/doc/rubricd/operating.md")
    page.rename(page.with_name("moved.md"))
    status, said = links(root)
    page.with_name("moved.md").rename(page)
    assert status == 1 and "/doc/rubricd/README.md: operating.md: there is no such file" in said


def test_installed_pages_are_not_for_a_clone(root):
    for page in root.rglob("share/doc/*/*.md"):
        text = page.read_text()
        assert "build/client" not in text and "tests/data/bench" not in text and "<!--" not in text, page
    (page,) = root.rglob("share/doc/rubricd/README.md")
    assert "packaging/quickstart" not in page.read_text()


def test_pages_link_only_to_packages_that_are_there_with_theirs(root):
    """Package rubricctl needs no other, and rubricd needs it."""
    for package, others in (("rubricctl", []), ("rubricd", ["rubricctl"])):
        for page in root.rglob(f"share/doc/{package}/*.md"):
            elsewhere = re.findall(r"\]\(\.\./(rubric[\w-]*)/", page.read_text())
            assert set(elsewhere) <= set(others), page


def page(root, name):
    (path,) = root.rglob(f"share/doc/{name}")
    return path.read_text("utf-8")


def test_pages_name_what_is_installed_elsewhere(root):
    """Files that are no pages have a place, too, which a reader without the sources can open."""
    readme = page(root, "rubricd/README.md")
    for place in (
        "/etc/rubricd/rubricd.conf",
        "/usr/share/doc/rubricd/changelog.gz",
        "/usr/share/doc/python3-rubricd/README.md",
    ):
        assert f"`{place}`" in readme, place
    for absent in ("client/python/README.md", "conf/rubricd.conf (", "CHANGELOG.md", "`proto/schema"):
        assert absent not in readme, absent
    assert "[security.md](security.md)" in readme
    assert "# Security" in page(root, "rubricd/security.md")


def test_pages_are_whole_without_the_sources(root):
    """No page has a step of building, or a sentence without its end, where there is nothing to build."""
    operating = page(root, "rubricd/operating.md")
    for absent in ("packaging/build-deb", "packaging/release", "meson setup", "What is in this folder", "<!--"):
        assert absent not in operating, absent
    assert "## Starting without systemd" in operating and "bound the memory of jobs" in operating
    assert page(root, "rubricctl/client.md").rstrip().endswith("no network and no other file.")
    assert "Then try one case" not in page(root, "rubricd/README.md")
    (configuration,) = root.rglob("etc/rubricd/rubricd.conf")
    assert "operating.md" in configuration.read_text("utf-8")


def test_pages_for_users_have_no_map_of_the_sources(root):
    client, http = page(root, "rubricctl/client.md"), page(root, "rubricd-http/http.md")
    readme = page(root, "rubricd/README.md")
    assert "## Rooms" not in client and client.index("## Batches") < 1000
    assert "## The code" not in http and http.rstrip().endswith("on this machine may submit jobs.")
    for text in (client, http, readme):
        for place in re.findall(r"\b(?:tests|daemon|client)/\w[\w/.-]*", text):
            if (ROOT / place).exists():
                assert re.search(rf"{place}`? \(in the sources\)", text), place
