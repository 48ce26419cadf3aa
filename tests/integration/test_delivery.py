# SPDX-License-Identifier: MIT
"""What carries rubricd to where it is used: the GitHub action, the GitLab template, the spec file, the flake, and
the checks of a release. Each is read by what reads it elsewhere, as far as the host has that, and its shell runs."""

import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import BENCH, DEADLINE, ROOT, RUBRICCTL

PACKAGING = ROOT / "packaging"
ACTION = PACKAGING / "github-action"
SCRIPTS = [ACTION / "install", ACTION / "grade", ACTION / "verdict"]
PASSES = {"id": "good", "kind": "sandbox", "argv": ["/bin/true"]}
FAILS = {"id": "bad", "kind": "sandbox", "argv": ["/bin/sh", "-c", "echo no such luck >&2; exit 3"]}
REPORTS = ["junit.xml", "report.html", "results.jsonl", "summary.md"]


def read_yaml(path):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load(path.read_text())


def need(tool):
    path = shutil.which(tool)
    if not path:
        pytest.skip(f"{tool} is not installed")
    return path


def run(command, directory, **variables):
    """Runs COMMAND in DIRECTORY as a step of CI would, with the rubricctl of the build."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("RUBRICD_", "GITHUB_"))}
    env = {**env, "PATH": f"{RUBRICCTL.parent}:/usr/bin:/bin", "GITHUB_OUTPUT": str(directory / "output"),
           "GITHUB_STEP_SUMMARY": str(directory / "page.md"), **variables}  # fmt: skip
    return subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, timeout=DEADLINE, check=False)


def write_jobs(directory, *jobs):
    (directory / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))
    return "jobs.jsonl"


def outputs(directory):
    return dict(line.split("=", 1) for line in (directory / "output").read_text().splitlines())


# --- the action ----------------------------------------------------------------------------------


def test_the_action_is_whole():
    """Each step has what a composite action needs, and no input becomes text of a script."""
    action = read_yaml(ACTION / "action.yml")
    assert action["runs"]["using"] == "composite" and action["name"] and action["description"]
    inputs, steps = action["inputs"], action["runs"]["steps"]
    assert all(set(value) == {"description", "default"} for value in inputs.values())
    for step in steps:
        assert ("uses" in step) != ("run" in step), step
        if "run" in step:
            assert step["shell"] == "bash" and "${{" not in step["run"]
            script = ACTION / re.fullmatch(r'"\$GITHUB_ACTION_PATH/(\w+)"', step["run"])[1]
            assert os.access(script, os.X_OK)
            used = set(re.findall(r"\bRUBRICD_\w+", script.read_text()))
            assert used == set(step["env"]), "each variable is given and used"
    named = set(re.findall(r"inputs\.([\w-]+)", (ACTION / "action.yml").read_text()))
    assert named == set(inputs)
    ids = {step.get("id") for step in steps}
    assert {re.search(r"steps\.(\w+)\.", value["value"])[1] for value in action["outputs"].values()} <= ids


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck(script):
    done = subprocess.run([need("shellcheck"), script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_action_grades_a_batch(tmp_path):
    done = run([ACTION / "grade"], tmp_path, RUBRICD_JOBS=write_jobs(tmp_path, PASSES, FAILS))
    assert done.returncode == 0, done.stderr
    assert outputs(tmp_path) == {"status": "1", "results": "rubricd-results/results.jsonl"}
    assert sorted(path.name for path in (tmp_path / "rubricd-results").iterdir()) == REPORTS
    page = (tmp_path / "page.md").read_text()
    assert page == (tmp_path / "rubricd-results" / "summary.md").read_text()
    assert "no such luck" in page
    again = run([ACTION / "grade"], tmp_path, RUBRICD_JOBS=write_jobs(tmp_path, PASSES), RUBRICD_RESULTS="new",
                RUBRICD_AGAINST="rubricd-results/results.jsonl")  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert outputs(tmp_path) == {"status": "0", "results": "new/results.jsonl"}


def test_the_action_grades_a_bench(tmp_path):
    lines = (BENCH / "cases.jsonl").read_text().splitlines(True)
    (tmp_path / "jobs.jsonl").write_text("".join(lines[:3]))
    done = run([ACTION / "grade"], tmp_path, RUBRICD_JOBS="jobs.jsonl", RUBRICD_BENCH_ROOT=str(BENCH),
               RUBRICD_ARGUMENTS="--limit 2 --quiet")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "rubricd-results" / "results.jsonl").read_text().splitlines()) == 2


def test_the_action_grades_samples(tmp_path):
    task = {"task_id": "a", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x\n",
            "test": "def check(f):\n    assert f(1) == 1\n"}  # fmt: skip
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    (tmp_path / "samples.jsonl").write_text(json.dumps({"task_id": "a", "completion": "    return x\n"}) + "\n")
    done = run([ACTION / "grade"], tmp_path, RUBRICD_DATASET="tasks.jsonl", RUBRICD_SAMPLES="samples.jsonl")
    assert (done.returncode, outputs(tmp_path)["status"]) == (0, "0"), done.stderr
    assert "1 passed, 0 failed" in (tmp_path / "page.md").read_text()


@pytest.mark.parametrize("given", [{}, {"RUBRICD_DATASET": "d"}, {"RUBRICD_JOBS": "j", "RUBRICD_DATASET": "d", "RUBRICD_SAMPLES": "s"}])
def test_the_action_says_what_is_missing(tmp_path, given):
    done = run([ACTION / "grade"], tmp_path, **given)
    assert (done.returncode, done.stderr) == (64, "::error::grade: give either jobs, or dataset and samples\n")


def test_an_input_is_no_code(tmp_path):
    done = run([ACTION / "grade"], tmp_path, RUBRICD_JOBS="$(touch was-run)", RUBRICD_ARGUMENTS="`touch was-run` ;touch was-run")
    assert done.returncode != 0 and "no job has a result" in done.stderr
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize(
    "fail, statuses",
    [("failed", {0: 0, 1: 1, 4: 4}), ("errors", {0: 0, 1: 0, 4: 4}), ("never", {0: 0, 1: 0, 4: 0}), ("often", {0: 64})],
)
def test_the_verdict_of_the_action(tmp_path, fail, statuses):
    for status, expected in statuses.items():
        assert run([ACTION / "verdict"], tmp_path, RUBRICD_STATUS=str(status), RUBRICD_FAIL=fail).returncode == expected


def test_the_action_installs_nothing_else(tmp_path):
    done = run([ACTION / "install"], tmp_path, RUBRICD_PACKAGES="nowhere")
    assert (done.returncode, done.stderr) == (66, "::error::install: nowhere has not just one rubricd_*.deb\n")


# --- GitLab --------------------------------------------------------------------------------------


def test_the_gitlab_template(tmp_path):
    """Its last command grades, reports and ends with the status of the verdicts."""
    job = read_yaml(PACKAGING / "gitlab" / "rubricd.gitlab-ci.yml")[".rubricd"]
    assert job["artifacts"]["paths"] == [job["variables"]["RUBRICD_RESULTS"] + "/"]
    make, grade = job["script"][-2:]
    script = f"set -e\n{make}\n{grade}"
    variables = {**job["variables"], "RUBRICD_JOBS": write_jobs(tmp_path, PASSES, FAILS)}
    done = run(["bash", "-c", script], tmp_path, **variables)
    assert done.returncode == 1, done.stderr
    assert sorted(path.name for path in (tmp_path / "rubricd-results").iterdir()) == REPORTS
    lint = subprocess.run(
        [need("shellcheck"), "-s", "bash", "-e", "SC2086", "-"], input="\n".join(["#!/bin/bash", *job["script"]]),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert lint.returncode == 0, lint.stdout


# --- RPM and Nix ---------------------------------------------------------------------------------


def test_the_spec_is_parsed():
    spec = PACKAGING / "rpm" / "rubricd.spec"
    command = [need("rpmspec"), "-q", "--qf", "%{name} %{version}\n", spec]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {line.split()[0] for line in done.stdout.splitlines()} >= {
        "rubricd", "rubricd-warm", "rubricd-http", "rubricctl", "python3-rubricd"
    }  # fmt: skip
    assert {line.split()[1] for line in done.stdout.splitlines()} == {version()}


STANDINS = """
let lib = { cleanSource = x: x; licenses.mit = "MIT"; platforms.linux = [ "x86_64-linux" ]; };
    names = builtins.attrNames (builtins.functionArgs (import PATH));
    arguments = builtins.listToAttrs (map (name: { inherit name; value = name; }) names);
in (import PATH (arguments // { inherit lib; } // HOW)).version
"""


FLAKE = """
let call = path: _: builtins.isFunction (import path);
    system = { callPackage = call; python3Packages.callPackage = call; };
    named = f: name: { inherit name; value = f name; };
    nixpkgs = { lib.genAttrs = names: f: builtins.listToAttrs (map (named f) names);
                legacyPackages = { x86_64-linux = system; aarch64-linux = system; }; };
in ((import FLAKE).outputs { self = null; inherit nixpkgs; }).packages.x86_64-linux
"""


def evaluate(directory, text):
    """Returns the value of TEXT in Nix, which keeps its files in DIRECTORY."""
    env = {**os.environ, **{f"NIX_{n}_DIR": str(directory / n) for n in ("STORE", "STATE", "LOG", "CONF")},
           "NIX_REMOTE": "", "HOME": str(directory)}  # fmt: skip
    command = [need("nix-instantiate"), "--eval", "--strict", "--json", "-E", text]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "name, how", [("package", "{ stdenv.mkDerivation = x: x; }"), ("python", "{ buildPythonPackage = x: x; }")]
)
def test_the_packages_of_nix_are_evaluated(tmp_path, name, how):
    text = STANDINS.replace("PATH", str(PACKAGING / "nix" / f"{name}.nix")).replace("HOW", how)
    assert evaluate(tmp_path, text) == version()


def test_the_flake_is_evaluated(tmp_path):
    packages = evaluate(tmp_path, FLAKE.replace("FLAKE", str(ROOT / "flake.nix")))
    assert packages == {"default": True, "python3-rubricd": True, "rubricd": True}


# --- a release -----------------------------------------------------------------------------------


def version():
    return re.search(r"^  version: '(.*)',$", (ROOT / "meson.build").read_text(), re.M)[1]


NAMED = ["meson.build", "CHANGELOG.md", "client/python/rubricd/_version.py", "packaging/rpm/rubricd.spec",
         "packaging/nix/package.nix", "packaging/nix/python.nix", "packaging/container/README.md", "packaging/release", "packaging/common.sh"]  # fmt: skip


class Checkout:
    """A repository with what a release looks at."""

    def __init__(self, path):
        self.path = path
        for name in NAMED:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, path / name)
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        identity = ["-c", "user.name=A", "-c", "user.email=a@b.invalid"]
        subprocess.run([need("git"), *identity, *words], cwd=self.path, check=True, capture_output=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "x")

    def replace(self, name, old, new):
        text = (self.path / name).read_text()
        assert old in text
        (self.path / name).write_text(text.replace(old, new, 1))
        self.commit()

    def check(self):
        done = subprocess.run([self.path / "packaging" / "release", "--check"], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(name="checkout")
def make_checkout(tmp_path):
    return Checkout(tmp_path)


def test_nothing_lags_behind(checkout):
    assert checkout.check() == (0, f"version {version()}: nothing lags behind\n")


@pytest.mark.parametrize("name", NAMED[2:7])
def test_a_version_that_lags_behind(checkout, name):
    checkout.replace(name, version(), "0.0.9")
    status, said = checkout.check()
    assert (status, said) == (65, f"release: {name} names version 0.0.9, and meson.build {version()}\n")


def test_a_changelog_that_lags_behind(checkout):
    checkout.replace("CHANGELOG.md", f"## {version()}\n", "## 0.0.9\n")
    status, said = checkout.check()
    assert status == 65
    assert f"CHANGELOG.md: its newest section is 0.0.9, and the version is {version()}" in said
    checkout.replace("CHANGELOG.md", "## 0.0.9\n", f"## {version()}\n\n## 0.0.9\n")
    assert checkout.check() == (65, f"release: CHANGELOG.md: the section {version()} says nothing\n")


def test_a_version_that_is_released(checkout):
    checkout.git("tag", f"v{version()}")
    assert checkout.check()[0] == 0, "that release can be built again"
    checkout.commit()
    said = f"release: version {version()} is released (tag v{version()}), and there are commits since: raise it in meson.build\n"
    assert checkout.check() == (65, said)


def test_changes_that_are_not_committed(checkout):
    (checkout.path / "CHANGELOG.md").write_text((checkout.path / "CHANGELOG.md").read_text() + "\n")
    assert checkout.check() == (65, "release: there are changes that are not committed\n")
