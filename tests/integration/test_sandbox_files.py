# SPDX-License-Identifier: MIT
"""Jobs of kind `sandbox` and what they can reach: files in their directory (a snippet is one), paths of
the host that they may read, the network."""

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from conftest import DEADLINE, RUBRICCTL, Daemon, wait_until
from test_sandbox import assert_error, assert_failed, assert_passed, python, shell


@pytest.fixture(scope="module", name="outside")
def make_outside():
    """Makes a directory that everybody may read, but that a job sees only if its request lists it."""
    path = Path(tempfile.mkdtemp(prefix="rubricd-readable-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module", name="daemon")
def start_shared(tmp_path_factory, outside):
    (outside / "root").mkdir(mode=0o755)
    daemon = Daemon(
        tmp_path_factory.mktemp("d"),
        f"sandbox.readable_roots={outside}/root",
        "sandbox.allow_network=yes",
    )
    yield daemon
    assert daemon.stop() == 0, daemon.log()
    assert not any(daemon.work.iterdir()), "the daemon empties its work directory before it exits"


def snippet(text, runner="shell", **fields):
    return {"kind": "sandbox", "snippet": text, "runner": runner, **fields}


def is_empty(work):
    return not [p for slot in work.iterdir() for p in slot.iterdir()]


# --- files ---------------------------------------------------------------------------------------

# Prints the files of the working directory: a dict from name to mode and content.
LIST = """
import json, os
found = {}
for top, _, names in os.walk("."):
    for name in names:
        path = os.path.join(top, name)
        mode = os.stat(path).st_mode & 0o7777
        found[path[2:]] = [oct(mode), open(path, "rb").read().decode("latin-1")]
print(json.dumps(found))
"""


def test_files(client, daemon):
    result = client.run(
        python(
            LIST,
            files={
                "a.txt": "caf\u00e9\0\n",
                "empty": "",
                "d/e/raw": {"base64": base64.b64encode(bytes(range(256))).decode()},
                "d/run": {"text": "x", "mode": "0755"},
                "d/only": {"text": "y", "mode": "0444"},
                "odd \u00e9\n'": {"text": "z", "mode": "600"},
                ".hidden": "h",
            },
        )
    )
    assert_passed(result)
    assert json.loads(result["stdout"]) == {
        "a.txt": ["0o644", "caf\u00e9\0\n".encode().decode("latin-1")],
        "empty": ["0o644", ""],
        "d/e/raw": ["0o644", bytes(range(256)).decode("latin-1")],
        "d/run": ["0o755", "x"],
        "d/only": ["0o444", "y"],
        "odd \u00e9\n'": ["0o600", "z"],
        ".hidden": ["0o644", "h"],
    }
    wait_until(lambda: is_empty(daemon.work), "nothing of the files is left")
    assert client.run(python("import os; print(os.listdir())"))["stdout"] == "[]\n"


def test_files_are_the_jobs_own(client):
    """A job may change and remove its files, and make others."""
    text = "echo more >> d/a; rm d/b; mkdir d/c; echo new > d/c/x; cat d/a d/c/x; ls d"
    result = client.run(shell(text, files={"d/a": "a\n", "d/b": "b\n"}))
    assert_passed(result)
    assert result["stdout"] == "a\nmore\nnew\na\nc\n"


def test_most_files(client):
    files = {f"d{i % 512}/f{i}": str(i) for i in range(1024)}
    result = client.run(python(LIST, files=files, limits={"output_bytes": 1 << 20}))
    assert_passed(result)
    found = json.loads(result["stdout"])
    assert {name: content for name, (_, content) in found.items()} == files


def test_long_names(client):
    name = "/".join(["n" * 255, "m" * 255, "o" * 255, "p" * 255])
    result = client.run(python(LIST, files={name: "x"}))
    assert_passed(result)
    assert json.loads(result["stdout"]) == {name: ["0o644", "x"]}


def test_large_file(client):
    """The file is too large for a single message to a jail."""
    data = os.urandom(1 << 20) * 8
    result = client.run(
        shell("sha256sum < big", files={"big": {"base64": base64.b64encode(data).decode()}})
    )
    assert_passed(result)
    expected = subprocess.run(["sha256sum"], input=data, capture_output=True).stdout.decode()
    assert result["stdout"] == expected


def test_program_beside_the_files(client):
    files = {"bin/hello": {"text": "#!/bin/sh\necho hello $1\n", "mode": "0755"}}
    result = client.run({"kind": "sandbox", "argv": ["/usr/bin/env", "bin/hello", "x"], "files": files})
    assert_passed(result)
    assert result["stdout"] == "hello x\n"


# --- snippets ------------------------------------------------------------------------------------


def test_shell_snippet(client):
    result = client.run(snippet("echo $0 $#\ncat\nno-such-command\nexit 3\n", stdin="its own stdin\n"))
    assert result["stdout"] == ".snippet.sh 0\nits own stdin\n"
    assert_failed(result, "sandbox.failed", exit_code=3)
    assert ".snippet.sh: 3: no-such-command: not found" in result["outcome"]["stderr"]


def test_python_snippet(client):
    code = "import sys, helper\nprint(sys.argv, sys.stdin.read(), helper.x)\n\nraise KeyError(7)\n"
    result = client.run(
        snippet(code, "python", stdin="its own stdin", files={"helper.py": "x = 42\n"})
    )
    assert result["stdout"] == "['.snippet.py'] its own stdin 42\n"
    assert_failed(result, "sandbox.failed", exit_code=1)
    stderr = result["outcome"]["stderr"]
    assert '.snippet.py", line 4, in <module>' in stderr and stderr.endswith("KeyError: 7\n")


def test_python_snippet_leaves_no_cache(client):
    code = "import helper, os; print(sorted(os.listdir()))"
    result = client.run(snippet(code, "python", files={"helper.py": ""}))
    assert result["stdout"] == "['.snippet.py', 'helper.py']\n"


def test_default_runner_is_the_shell(client):
    result = client.run({"kind": "sandbox", "snippet": "echo $0"})
    assert result["stdout"] == ".snippet.sh\n"


def test_large_snippet(client):
    """A snippet may be larger than the arguments of a program."""
    result = client.run(snippet("x='" + "y" * (1 << 20) + "'\necho ${#x}\n"))
    assert_passed(result)
    assert result["stdout"] == f"{1 << 20}\n"


def test_snippet_beyond_ascii(client):
    result = client.run(snippet("print('\u00e9\U0001f600')", "python"))
    assert result["stdout"] == "\u00e9\U0001f600\n"


def test_name_of_the_snippet_is_taken(client):
    assert_error(
        client.run(snippet("echo x", files={".snippet.sh": "echo y"})),
        "bad_request",
        "job.files..snippet.sh: the snippet itself stands there",
    )


def test_generation(client):
    text = "Here you are:\n\n```python\nprint('from the block')\n```\nDone.\n"
    result = client.run({"kind": "sandbox", "generation": text, "runner": "python"})
    assert_passed(result)
    assert result["stdout"] == "from the block\n"
    result = client.run({"kind": "sandbox", "generation": "```sh\necho $0\n```"})
    assert_passed(result)
    assert result["stdout"] == ".snippet.sh\n"


# --- readable ------------------------------------------------------------------------------------


def test_readable(client, outside):
    (outside / "root" / "file").write_text("shown\n")
    (outside / "root" / "d").mkdir(exist_ok=True)
    (outside / "root" / "d" / "x").write_text("deep\n")
    (outside / "root" / "other").write_text("not shown\n")
    root = f"{outside}/root"
    job = shell(f"cat {root}/file {root}/d/x", readable=[f"{root}/file", f"{root}/d"])
    result = client.run(job)
    assert_passed(result)
    assert result["stdout"] == "shown\ndeep\n"

    # A job cannot read other files beside it, and the next job cannot read it.
    result = client.run(shell(f"cat {root}/other", readable=[f"{root}/file"]))
    assert_failed(result, "sandbox.failed", exit_code=1)
    result = client.run(shell(f"cat {root}/file"))
    assert_failed(result, "sandbox.failed", exit_code=1)


def test_readable_again_and_again(client, daemon, outside):
    """Hiding one job's paths again does not harm the next job."""
    root = outside / "root"
    (root / "again").mkdir(exist_ok=True)
    (root / "again" / "x").write_text("x\n")
    (root / "file").write_text("shown\n")
    jails = daemon.jails()
    shown = shell(f"cat {root}/file {root}/again/x", readable=[f"{root}/file", f"{root}/again"])
    hidden = shell(f"cat {root}/file")
    for _ in range(20):
        assert client.run(shown)["stdout"] == "shown\nx\n"
        assert_failed(client.run(hidden), "sandbox.failed", exit_code=1)
    assert daemon.jails() == jails, "no jail was replaced"


def test_readable_is_not_writable(client, outside):
    (outside / "root" / "w").mkdir(exist_ok=True)
    (outside / "root" / "w").chmod(0o777)
    target = outside / "root" / "w" / "f"
    target.write_text("before")
    target.chmod(0o666)
    text = f"echo after > {target}; echo x > {target.parent}/new; rm -f {target}; exit 0"
    client.run(shell(text, readable=[str(target.parent)]))
    assert target.read_text() == "before"
    assert os.listdir(target.parent) == ["f"]


def test_readable_through_a_link(client, outside):
    (outside / "root" / "real").write_text("real\n")
    link = outside / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(outside / "root" / "real")
    result = client.run(shell(f"cat {outside}/root/real", readable=[str(link)]))
    assert_passed(result)
    assert result["stdout"] == "real\n"


def test_link_out_of_the_root(client, outside):
    (outside / "secret").write_text("secret\n")
    (outside / "root" / "out").unlink(missing_ok=True)
    (outside / "root" / "out").symlink_to(outside / "secret")
    path = f"{outside}/root/out"
    assert_error(
        client.run(shell(f"cat {path}", readable=[path])),
        "not_permitted",
        f"job.readable[0]: {path} is under no root that the configuration allows",
    )
    missing = f"{outside}/root/missing"
    assert_error(
        client.run(shell("true", readable=[missing])),
        "bad_request",
        f"job.readable[0]: {missing}: No such file or directory",
    )


# --- network -------------------------------------------------------------------------------------


@pytest.fixture
def server():
    """Listens on the host's loopback and greets every client."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            while True:
                try:
                    accepted, _ = listener.accept()
                except OSError:
                    return
                with accepted:
                    accepted.sendall(b"greetings")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(DEADLINE)


CONNECT = "import socket, sys\nprint(socket.create_connection(('127.0.0.1', %d), 5).recv(99))"


def test_network(client, server):
    result = client.run(python(CONNECT % server, limits={"allow_network": True}))
    assert_passed(result)
    assert result["stdout"] == "b'greetings'\n"
    isolation = client.hello["isolation"]
    assert "network" in isolation["layers"]
    assert "network" not in result["isolation"]["layers"]
    assert set(result["isolation"]["layers"]) < set(isolation["layers"])
    assert result["isolation"]["digest"] != isolation["digest"]


@pytest.mark.parametrize("fields", [{}, {"limits": {"allow_network": False}}])
def test_no_network(client, server, fields):
    result = client.run(python(CONNECT % server, **fields))
    assert_failed(result, "sandbox.failed", exit_code=1)
    assert result["stdout"] == ""
    assert result["isolation"] == client.hello["isolation"]


# --- rubricctl -----------------------------------------------------------------------------------


def rubricctl(daemon, *words, **kwargs):
    return subprocess.run(
        [RUBRICCTL, "--socket", daemon.socket, "sandbox", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE,
        **kwargs,
    )


def test_client_snippet(daemon):
    assert rubricctl(daemon, "--snippet", "echo $0").stdout == b".snippet.sh\n"
    done = rubricctl(daemon, "--runner", "python", "--snippet", "import sys; sys.exit(3)")
    assert done.returncode == 3
    assert done.stderr.startswith(b"rubricctl: exit status 3: ")


def test_client_files(daemon, tmp_path):
    (tmp_path / "run.sh").write_text("#!/bin/sh\ncat data/raw\n")
    (tmp_path / "run.sh").chmod(0o700)
    (tmp_path / "raw").write_bytes(b"\xff\0raw\n")
    done = rubricctl(
        daemon, "--file", "run.sh", "--file", "data/raw=raw", "--", "./run.sh", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"\xff\0raw\n"
    done = rubricctl(daemon, "-f", "x=raw", "--", "sh", "-c", "stat -c %a x", cwd=tmp_path)
    assert done.stdout == b"644\n"
    done = rubricctl(daemon, "-f", "../x=raw", "true", cwd=tmp_path)
    assert done.returncode == 4 and b"job.files.../x: expected a relative name" in done.stderr


def test_client_readable(daemon, outside):
    (outside / "root" / "client").write_text("shown\n")
    path = f"{outside}/root/client"
    done = rubricctl(daemon, "--readable", "client", "cat", path, cwd=outside / "root")
    assert (done.returncode, done.stdout) == (0, b"shown\n")
    assert rubricctl(daemon, "cat", path).returncode == 1


def test_client_network(daemon, server):
    words = ["python3", "-c", CONNECT % server]
    done = rubricctl(daemon, "--network", *words)
    assert (done.returncode, done.stdout) == (0, b"b'greetings'\n")
    assert rubricctl(daemon, *words).returncode == 1
