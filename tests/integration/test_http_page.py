# SPDX-License-Identifier: MIT
"""What is written about rubricd-http is true: the examples of its page run, and its configuration file has
each setting with its default."""

import json
import re
import shutil
import subprocess

import pytest
from conftest import BENCH, ROOT
from http_gateway import RUBRICD_HTTP, make_gateway, make_start, need_gateway  # noqa: F401

need_gateway()
pytestmark = pytest.mark.once

PAGE = (ROOT / "client/http/README.md").read_text()
CONF = ROOT / "conf/http.conf"


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_examples_run(gateway):
    script = re.search(r"```sh\n(.*?)```", PAGE, re.S)[1]
    assert script.count("localhost:8650") == script.count("curl") == 6
    assert "/usr/share/rubricd/bench" in script, "where the packages put it"
    script = script.replace("/usr/share/rubricd/bench", str(BENCH))
    script = script.replace("localhost:8650", f"127.0.0.1:{gateway.port}").replace("curl -s", "curl -sS --fail-with-body -w '\\n'")
    done = subprocess.run(["/bin/sh", "-e"], input=script, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    answers = [json.loads(line) for line in done.stdout.splitlines() if line]
    health, job, *lines, rubric, fusion, piston = answers
    assert health == {"status": "ok"}
    assert (job["id"], job["stdout"]) == ("a1", "hi\n")
    assert sorted(line.get("line", line.get("id")) for line in lines if "error" in line) == [2]
    assert [line["stdout"] for line in lines if "error" not in line] == ["hi\n"]
    assert rubric["score"]["passed"] is True
    assert fusion["run_result"]["stdout"] == "Hello, world!\n"
    assert piston["run"]["stdout"] == "42\n"


def check_config(path, *settings):
    command = [RUBRICD_HTTP, "--check-config", f"--config={path}", "--set=languages=", *(f"--set={s}" for s in settings)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_configuration_file(tmp_path):
    """Every setting in it is known, and every one that is known is in it."""
    settings = re.findall(r"^#(\w+) ?= ?(.*)$", CONF.read_text(), re.M)
    path = tmp_path / "http.conf"
    path.write_text("[http]\n" + "".join(f"{name} = {value}\n" for name, value in settings))
    done = check_config(path)
    assert (done.returncode, done.stderr) == (0, "")
    table = re.findall(r'^    \{"(\w+)", .*?\{[^}]*\}, *"([^"]*)"\},', (ROOT / "client/http/settings.c").read_text(), re.M | re.S)
    assert sorted(settings) == sorted(table) and len(table) == 17
    assert check_config(CONF).returncode == 0


def test_help_tells_each_option():
    text = subprocess.run([RUBRICD_HTTP, "--help"], capture_output=True, text=True, check=True).stdout
    for option in ("--config=FILE", "--set=NAME=VALUE", "--check-config", "--help", "--version"):
        assert option in text


def test_what_is_a_token_is_said_wherever_tokens_are(tmp_path):
    tokens = tmp_path / "tokens"
    for length, refusal in ((16, ""), (15, "expected a token of at least 16 characters, without blanks")):
        tokens.write_text(f"alice {'x' * length}\n")
        tokens.chmod(0o600)
        done = check_config("/dev/null", f"tokens={tokens}")
        assert (done.returncode == 0) == (refusal == "") and refusal in done.stderr, done.stderr
    for page in (PAGE, CONF.read_text(), (ROOT / "packaging/man/rubricd-http.8.in").read_text()):
        assert re.search(r"at\s+(# )?least 16 characters and no blanks", page)
