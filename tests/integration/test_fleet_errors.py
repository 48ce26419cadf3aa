# SPDX-License-Identifier: MIT
"""What people read when something of a fleet is missing, refused, full or slow; and that nothing is lost by it."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from itertools import count
from urllib.parse import quote

import pytest
from conftest import DEADLINE, RUBRICCTL, wait_until
from fleet_hosts import (
    Server,
    Worker,
    echo,
    make_fleet,  # noqa: F401
    need_fleet,
    outputs,
    read_until,
    write_jobs,
)

pytestmark = pytest.mark.cold

need_fleet()

NOWHERE = "nats://127.0.0.1:1"
OF_SERVE = 'names that begin with "serve-" belong to fleet serve, which deletes such runs; take another'


def run(*arguments, **kwargs):
    return subprocess.run(
        [RUBRICCTL, "fleet", *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE, check=False, **kwargs
    )


@pytest.fixture(name="start_server")
def make_start_server(tmp_path):
    running = []

    def start(*lines):
        running.append(Server(tmp_path, *lines))
        return running[-1]

    yield start
    for server in running:
        server.process.send_signal(signal.SIGCONT)
        server.kill()


# --- the program ---------------------------------------------------------------------------------


def test_the_package_is_not_installed(tmp_path):
    alone = shutil.copy(RUBRICCTL, tmp_path)
    done = subprocess.run([alone, "fleet", "status"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "rubricctl: fleet: no rubricctl-fleet beside this program: install the package rubricd-fleet\n",
    )


def test_options_before_the_word_fleet():
    done = subprocess.run([RUBRICCTL, "--socket", "/x", "fleet", "status"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "rubricctl: fleet: options go behind the command of the fleet; see rubricctl fleet COMMAND --help\n",
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["batch", "--run", "a.b", "x"], '--run "a.b": only letters, digits, _ and - are allowed'),
        (["batch", "--run", "serve-x", "x"], f'--run "serve-x": {OF_SERVE}'),
        (["grade", "--run", "serve-", "--samples", "x"], f'--run "serve-": {OF_SERVE}'),
        (["worker", "--server", "wss://h:1"], "--server: server 1 (wss://h:1): its scheme is neither nats:// nor tls://"),
        (["serve", "--group", "", "--socket", "s", "--server", "ws://h:1"], "--server: server 1 (ws://h:1): its scheme is neither nats:// nor tls://"),
        (["worker", "--name", ""], '--name "": expected 1 to 64 characters'),
        (["status", "--fleet", "a b"], '--fleet "a b": only letters, digits, _ and - are allowed'),
        (["status", "x"], 'status: unexpected argument "x"; see rubricctl fleet status --help'),
        (["init", "--replicas", "6"], '--replicas: expected a whole number from 1 to 5, got "6"'),
        (["batsh"], 'unknown command "batsh"; did you mean batch?'),
    ],
)
def test_wrong_usage(tmp_path, arguments, message):
    (tmp_path / "x").write_text("")
    done = run(*arguments, cwd=tmp_path)
    assert done.stderr == f"rubricctl: {message}\n"
    assert done.returncode in (2, 3)


# --- the server ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["init"], ["status"], ["batch", "/dev/null"], ["push-bench", "/tmp"], ["worker"]], ids=lambda c: c[0])
def test_each_command_checks_the_common_options(command):
    """Each command checks them before it begins."""
    done = run(command[0], "--fleet", "a.b", *command[1:])
    assert (done.returncode, done.stderr) == (2, 'rubricctl: --fleet "a.b": only letters, digits, _ and - are allowed\n')
    done = run(command[0], "--server", "nats://h:x", *command[1:])
    assert done.returncode == 2 and done.stderr.startswith("rubricctl: --server: the port of server 1"), done.stderr


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_a_socket_without_a_name(command):
    done = run(command, "--server", NOWHERE, "--socket", "")
    assert done.returncode == 2 and done.stderr.endswith("rubricctl: --socket: it is empty\n"), done.stderr


@pytest.mark.parametrize("command", [["init"], ["status"], ["batch", "/dev/null"]], ids=lambda c: c[0])
def test_no_server(command):
    done = run(command[0], "--server", NOWHERE, *command[1:])
    assert (done.returncode, done.stderr) == (
        3,
        f"rubricctl: no NATS server at {NOWHERE}: start one (systemctl start nats-server), or name it with --server\n",
    )


def test_no_streams(start_server):
    done = run("status", "--server", start_server().url)
    assert done.returncode == 3
    assert done.stderr == "rubricctl: the NATS server has no stream rubricd-jobs: run `rubricctl fleet init`\n"


def test_no_jetstream(start_server, tmp_path):
    server = start_server()
    server.kill()
    (tmp_path / "nats.conf").write_text(f"listen: 127.0.0.1:{server.port}\n")
    server.start = None
    with subprocess.Popen(["nats-server", "-c", tmp_path / "nats.conf"], stderr=subprocess.DEVNULL) as plain:
        server.process = plain
        wait_until(server.is_up, "nats-server listens")
        done = run("init", "--server", server.url)
        assert (done.returncode, done.stderr) == (
            3,
            "rubricctl: the NATS server has no JetStream: start it with -js, or set `jetstream` in its configuration; "
            "if it is set, nats-server has disabled it, as when its disk is full: see its log\n",
        )
        plain.kill()
    server.log = open("/dev/null")


def test_wrong_credentials(start_server, tmp_path):
    """A wrong password, none, an empty file, and the right one, also as a credential of systemd."""
    server = start_server('authorization { user: "ci", password: "right" }')
    for name, text in {"wrong": "wrong\n", "empty": "", "nats.password": "right\n"}.items():
        (tmp_path / name).write_text(text)
    refused = f"rubricctl: {server.url}: the NATS server refuses the credentials"
    assert run("init", "--server", server.url).stderr.startswith(refused)
    done = run("init", "--server", server.url, "--user", "ci", "--password-file", tmp_path / "wrong")
    assert done.returncode == 3 and done.stderr.startswith(refused)
    done = run("init", "--server", server.url, "--user", "ci", "--password-file", tmp_path / "empty")
    assert done.stderr == f"rubricctl: {tmp_path}/empty: the file is empty\n"
    done = run("init", "--server", server.url, "--user", "ci", "--password-file", tmp_path / "nats.password")
    assert done.returncode == 0, done.stderr
    done = run("status", "--server", server.url, "--user", "ci", env={"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert done.returncode == 0, done.stderr


def test_a_token_and_missing_files(start_server, tmp_path):
    server = start_server('authorization { token: "secret" }')
    (tmp_path / "token").write_text("secret")
    assert run("init", "--server", server.url, "--token-file", tmp_path / "token").returncode == 0
    for option in ("--token-file", "--password-file", "--creds", "--ca"):
        done = run("init", "--server", server.url, option, tmp_path / "none")
        assert done.stderr == f"rubricctl: {tmp_path}/none: No such file or directory\n", option


def stream_configs(server):
    with server.connect() as nats:
        kinds = ("jobs", "results", "marks", "inputs", "dead", "hosts")
        return {kind: nats.ask(f"STREAM.INFO.rubricd-{kind}").get("config") for kind in kinds}


@pytest.mark.parametrize(
    "stream, change, said",
    [
        ("jobs", {"max_msgs": 2}, "max_msgs 2 -> -1"),
        ("jobs", {"max_msg_size": 100}, "max_msg_size 100 -> -1"),
        ("marks", {"subjects": ["rubricd.other.>"]}, "subjects rubricd.other.> -> rubricd.marks.>"),
        ("results", {"discard": "old", "discard_new_per_subject": False}, "discard new 0 -> 1, discard_new_per_subject 0 -> 1"),
        ("results", {"allow_direct": False}, "allow_direct 0 -> 1"),
    ],
)
def test_a_stream_that_somebody_has_changed(fleet, tmp_path, stream, change, said):
    """A batch names it before it begins, and init makes it what it was."""
    with fleet.server.connect() as nats:
        config = nats.ask(f"STREAM.INFO.rubricd-{stream}")["config"]
        changed = nats.ask(f"STREAM.UPDATE.rubricd-{stream}", **{**config, **change})
        assert "error" not in changed, changed
    for command in ["batch", "--output", tmp_path / "out", os.devnull], ["status"]:
        done = fleet.run(*command)
        assert done.returncode == 3
        assert done.stderr == f"rubricctl: the stream rubricd-{stream} is not as the fleet needs it ({said}): run `rubricctl fleet init`\n"
    assert said in fleet.run("init", check=True).stdout
    assert fleet.run("init", check=True).stdout.count("as it should be") == 6


def test_two_workers_of_one_name(fleet):
    """The second one does not start: it would hide what the first one says of itself."""
    worker = fleet.add_host("a")
    fleet.wait_for("a")
    done = fleet.run("worker", "--name", "a", "--socket", fleet.daemons[0].socket)
    assert (done.returncode, done.stderr) == (
        3,
        "rubricctl: another fleet worker of the fleet rubricd is called a and runs: give one of them another --name\n",
    )
    worker.kill()
    worker.start()
    with fleet.server.connect() as nats:
        pid = worker.process.pid
        wait_until(lambda: json.loads(nats.last("hosts", "rubricd.hosts.a"))["pid"] == pid, "the next one takes its place")


def test_a_sealed_stream(fleet):
    """A server does not unseal a stream."""
    with fleet.server.connect() as nats:
        config = nats.ask("STREAM.INFO.rubricd-inputs")["config"]
        assert "error" not in nats.ask("STREAM.UPDATE.rubricd-inputs", **{**config, "sealed": True})
    assert "(sealed 1 -> 0" in fleet.run("status").stderr
    done = fleet.run("init")
    assert done.returncode == 3 and "rubricd-inputs" in done.stderr, done.stderr


def test_replicas_that_a_server_without_a_cluster_cannot_keep(fleet, tmp_path):
    """Nothing is changed, and the fleet works on."""
    fleet.add_host("a")
    before = stream_configs(fleet.server)
    done = fleet.run("init", "--replicas", "3")
    assert (done.returncode, done.stdout, done.stderr) == (
        3,
        "",
        "rubricctl: cannot change the stream rubricd-hosts: the NATS server is not in a cluster, so it can keep each "
        "stream only once: use --replicas 1\n",
    )
    assert stream_configs(fleet.server) == before
    done = fleet.run("batch", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [echo("x")]))
    assert done.returncode == 0, done.stderr
    assert outputs(tmp_path / "out") == {"x": "x\n"}


def test_a_stream_that_cannot_be_made_anew_is_put_back(start_server):
    """The storage of rubricd-hosts is to change; the account refuses the new one."""
    limits = "max_file: 1GB, max_mem: 1GB, max_bytes_required: true"
    server = start_server(
        f'accounts {{ A {{ jetstream {{ {limits} }}, users: [ {{ user: "ci", password: "x" }} ] }} }}', 'no_auth_user: "ci"'
    )
    with server.connect() as nats:
        config = {"name": "rubricd-hosts", "subjects": ["rubricd.hosts.>"], "storage": "memory", "max_bytes": 1_000_000}
        made = nats.ask("STREAM.CREATE.rubricd-hosts", **config)
        assert "error" not in made, made
    before = stream_configs(server)
    done = run("init", "--server", server.url)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("rubricctl: cannot change the stream rubricd-hosts: "), done.stderr
    assert done.stderr.endswith("; it is as it was, but empty\n"), done.stderr
    assert stream_configs(server) == before


def openssl(directory, *arguments):
    subprocess.run(["openssl", *map(str, arguments)], cwd=directory, check=True, capture_output=True)


def make_authority(directory, name):
    openssl(directory, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem",
            "-subj", f"/CN={name}", "-days", 10)  # fmt: skip


def make_certificate(directory, name, days, hosts="IP:127.0.0.1,DNS:localhost"):
    """Makes NAME.pem and NAME.key of an authority ca.pem. It is valid for DAYS from now; none if negative."""
    if not (directory / "ca.pem").exists():
        make_authority(directory, "ca")
    openssl(directory, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
            "-subj", "/CN=localhost")  # fmt: skip
    (directory / "ext").write_text(f"subjectAltName={hosts}\n")
    openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", f"{name}.pem", "-days", days, "-extfile", "ext")  # fmt: skip


BY_CA = "; name the authority that vouches for the server with --ca"
BY_NAME = "; the certificate is for another host: give the server one for this address, or name it with --server as its certificate does"


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_tls(start_server, tmp_path):
    """A valid certificate, also with an authority that is not its own, or with none; an expired one; one for other hosts.
    The remedy is that of the cause."""
    make_authority(tmp_path, "another")
    make_certificate(tmp_path, "good", 5)
    make_certificate(tmp_path, "old", -1)
    make_certificate(tmp_path, "elsewhere", 5, "DNS:elsewhere.example")
    lines = 'tls {{ cert_file: "{0}/{1}.pem", key_file: "{0}/{1}.key" }}'
    server = start_server(lines.format(tmp_path, "good"))
    ca = ["--ca", tmp_path / "ca.pem"]

    def serve(name):
        server.kill()
        server.lines = [lines.format(tmp_path, name)]
        server.start()

    def refuse(host, options, reason, remedy):
        url = f"tls://{host}:{server.port}"
        done = run("init", "--server", url, *options)
        assert done.returncode == 3
        assert done.stderr.startswith(f"rubricctl: {url}: no TLS with the NATS server: ") and reason in done.stderr, done.stderr
        assert done.stderr.endswith(f"{remedy}\n"), done.stderr

    done = run("init", "--server", f"tls://127.0.0.1:{server.port}", *ca)
    assert done.returncode == 0, done.stderr
    refuse("127.0.0.1", [], "unable to get local issuer certificate", BY_CA)
    another = tmp_path / "another.pem"
    refuse("127.0.0.1", ["--ca", another], "unable to get local issuer certificate",
           f"; no authority in {another} vouches for the server: name the one that does with --ca")  # fmt: skip
    serve("old")
    refuse("127.0.0.1", ca, "certificate has expired", "; renew the certificate of the server")
    serve("elsewhere")
    refuse("127.0.0.1", ca, "IP address mismatch", BY_NAME)
    refuse("127.1", ca, "hostname mismatch", BY_NAME)  # no address to OpenSSL, and no resolver is needed


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_tls_with_an_authority_that_has_expired(start_server, tmp_path):
    openssl(tmp_path, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.csr", "-subj", "/CN=ca")
    openssl(tmp_path, "x509", "-req", "-in", "ca.csr", "-signkey", "ca.key", "-out", "ca.pem", "-days", -1)
    make_certificate(tmp_path, "good", 5)
    server = start_server(f'tls {{ cert_file: "{tmp_path}/good.pem", key_file: "{tmp_path}/good.key" }}')
    done = run("init", "--server", f"tls://127.0.0.1:{server.port}", "--ca", tmp_path / "ca.pem")
    assert done.returncode == 3 and "certificate has expired" in done.stderr
    assert done.stderr.endswith("; renew the certificate of the authority\n"), done.stderr


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_a_server_that_asks_for_certificates(start_server, tmp_path):
    make_certificate(tmp_path, "good", 5)
    files = f'cert_file: "{tmp_path}/good.pem", key_file: "{tmp_path}/good.key", ca_file: "{tmp_path}/ca.pem"'
    server = start_server(f"tls {{ {files}, verify: true }}")
    url, ca = f"tls://127.0.0.1:{server.port}", tmp_path / "ca.pem"
    done = run("init", "--server", url, "--ca", ca)
    assert done.returncode == 3
    assert done.stderr == (
        f"rubricctl: {url}: the NATS server has closed the connection without a word: see its log; if it asks for "
        "certificates, give one with --cert and --key\n"
    )
    done = run("init", "--server", url, "--ca", ca, "--cert", tmp_path / "good.pem", "--key", tmp_path / "good.key")
    assert done.returncode == 0, done.stderr
    make_certificate(tmp_path, "ended", -1)
    done = run("init", "--server", url, "--ca", ca, "--cert", tmp_path / "ended.pem", "--key", tmp_path / "ended.key")
    assert done.returncode == 3
    assert f"it may refuse {tmp_path}/ended.pem: it has ended if `openssl x509 -noout -checkend 0 -in {tmp_path}/ended.pem`" in done.stderr


@pytest.fixture(name="listener")
def make_listener():
    """A server that asks for no TLS, and keeps what it is sent first."""
    said = b'INFO {"server_id":"X","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576,"auth_required":true}\r\n'
    with socket.create_server(("127.0.0.1", 0)) as server:
        heard = []

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with client, contextlib.suppress(ConnectionError):
                        client.settimeout(DEADLINE)
                        client.sendall(said)
                        heard.append(client.recv(4096))

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], heard
        server.shutdown(socket.SHUT_RDWR)
        thread.join(DEADLINE)


def name_servers(text, from_environment):
    """Returns the options and the environment of a command that is to use the servers of TEXT."""
    if from_environment:
        return [], {**os.environ, "NATS_URL": text}
    return ["--server", text], {**os.environ, "NATS_URL": NOWHERE}


IN_BOTH = pytest.mark.parametrize("from_environment", [False, True], ids=["option", "NATS_URL"])


@IN_BOTH
@pytest.mark.parametrize("head", ["tls://", "\ttls://", "\n TLS://", f"{NOWHERE},\n tls://"], ids=repr)
def test_no_password_without_tls(listener, tmp_path, head, from_environment):
    """A URL of TLS means TLS, whatever the server says and whatever stands before it: nothing is sent in clear."""
    port, heard = listener
    (tmp_path / "password").write_text("secret-word\n")
    named, env = name_servers(f"{head}127.0.0.1:{port}", from_environment)
    done = run("status", *named, "--user", "ci", "--password-file", tmp_path / "password", env=env)
    # Of several, which it tries in any order, the library says what came of the last one.
    said = f"{NOWHERE}, tls://127.0.0.1:{port}: " if NOWHERE in head else f"tls://127.0.0.1:{port}: no TLS with the NATS server: "
    assert done.returncode == 3 and said in done.stderr, done.stderr
    assert b"secret-word" not in b"".join(heard) and "secret-word" not in done.stderr
    done = run("status", "--server", f"nats://127.0.0.1:{port}", "--user", "ci", "--password-file", tmp_path / "password")
    assert done.returncode == 3 and b"secret-word" in b"".join(heard), "the listener can hear it"


LACKS_SCHEME = "server 2 does not begin with nats:// or tls://, as it must where a user or token is given; in a password, a comma is %2C"


@IN_BOTH
@pytest.mark.parametrize(
    "text, message",
    [
        ("nats://ci:SE,CRET@127.0.0.1:1", f"NAME: {LACKS_SCHEME}"),
        ("nats://ci:SE CRET@127.0.0.1:1", f"NAME: {LACKS_SCHEME}"),
        ("nats://rubricd:SE,w CRET/@:SECRET@127.0.0.1:1", f"NAME: {LACKS_SCHEME}"),
        ("nats://ci:SECRET", "NAME: the port of server 1 is no number from 1 to 65535"),
        ("nats://SECRET@127.0.0.1:x", "NAME: the port of server 1 is no number from 1 to 65535"),
        ("nats://ci:SECRET%@127.0.0.1:1", "NAME: the user, password or token of server 1 is empty, or has a % that is not"),
        ("nats://ci:SECRET@127.0.0.1:1", "no NATS server at nats://127.0.0.1:1: start one"),
        ("nats://SECRET@127.0.0.1:1", "no NATS server at nats://127.0.0.1:1: start one"),
        ("wss://127.0.0.1:1", "NAME: server 1 (wss://127.0.0.1:1): its scheme is neither nats:// nor tls://"),
        (f"{NOWHERE} ws://ci:SECRET@localhost:1", "NAME: server 2 (ws://localhost:1): its scheme is neither nats:// nor tls://"),
        ("http://SECRET@localhost:1", "NAME: server 1 (http://localhost:1): its scheme is neither nats:// nor tls://"),
    ],
    ids=map(str, count()),
)  # fmt: skip
def test_addresses_and_their_secrets(text, message, from_environment):
    """Complaints name what is wrong, and show no part of a password or token."""
    named, env = name_servers(text, from_environment)
    done = run("status", *named, env=env)
    expected = message.replace("NAME", "NATS_URL" if from_environment else "--server")
    assert done.returncode == (2 if "NAME" in message else 3) and done.stderr.startswith(f"rubricctl: {expected}"), done.stderr
    assert not [part for part in ("SE,", "SE ", "CRET", "SE@", "***") if part in done.stderr], done.stderr


@IN_BOTH
@pytest.mark.parametrize("password", ["p,w d/@:x", 'a"b', "a\\b", "100%25", "a\tb", "ä"])
def test_a_password_of_any_characters(start_server, tmp_path, password, from_environment):
    """It may stand in a file as it is, and in a URL percent-encoded, as the user may."""
    server = start_server(f"authorization {{ user: 'a:b', password: {json.dumps(password, ensure_ascii=False)} }}")
    (tmp_path / "password").write_text(password + "\n")
    done = run("init", "--server", server.url, "--user", "a:b", "--password-file", tmp_path / "password")
    assert done.returncode == 0, done.stderr
    host = f"127.0.0.1:{server.port}"
    for right in (True, False):
        quoted = quote(password, safe="") + ("" if right else "x")
        named, env = name_servers(f"nats://a%3Ab:{quoted}@{host}", from_environment)
        done = run("status", *named, env=env)
        assert (done.returncode == 0) is right, done.stderr
        assert right or done.stderr.startswith(f"rubricctl: nats://{host}: the NATS server refuses the credentials")


def test_a_token_in_a_url(start_server, tmp_path):
    """It goes before one of a file."""
    server = start_server('authorization { token: "a,b:c@d" }')
    (tmp_path / "token").write_text("wrong")
    url = server.url.replace("://", "://a%2Cb%3Ac%40d@")
    assert run("init", "--server", url).returncode == 0
    assert run("status", "--server", f"{NOWHERE},{url}", "--token-file", tmp_path / "token").returncode == 0
    assert "refuses the credentials" in run("status", "--server", server.url, "--token-file", tmp_path / "token").stderr


@pytest.mark.parametrize(
    "arguments, nats_url, message",
    [
        (["--server", ""], None, "--server: it names no server"),
        ([], " , ", "NATS_URL: it names no server"),
        (["--user", "ci"], None, "--user: its password is missing: name its file with --password-file"),
        ([], "nats://ci:secret@127.0.0.1:1,nats://ci:secret@127.0.0.1:2",
         "no NATS server at nats://127.0.0.1:1, nats://127.0.0.1:2: start one"),
        ([], "nats://ci:secret@127.0.0.1:1,nats://token@127.0.0.1:2",
         "NATS_URL: server 2 has another user, password or token than the one before: all servers are shown the same"),
        ([], ",".join([NOWHERE] * 33), "NATS_URL: it names more than 32 servers"),
        (["--server", ",".join([NOWHERE] * 33)], None, "--server: it names more than 32 servers"),
        (["--server", NOWHERE] * 33, None, "--server: given more than 32 times"),
    ],
    ids=map(str, count()),
)  # fmt: skip
def test_servers_and_accounts_that_cannot_be_used(arguments, nats_url, message):
    env = {**os.environ, "NATS_URL": nats_url} if nats_url else None
    done = run("status", *arguments, env=env)
    assert done.returncode in (2, 3) and done.stderr.startswith(f"rubricctl: {message}"), done.stderr


def test_several_servers_in_the_environment(start_server):
    server = start_server()
    done = run("init", env={**os.environ, "NATS_URL": f"{NOWHERE},\n{server.url}"})
    assert done.returncode == 0, done.stderr
    done = run("status", env={**os.environ, "NATS_URL": ",".join([*[NOWHERE] * 31, server.url])})
    assert done.returncode == 0, done.stderr


def test_a_server_that_does_not_greet(start_server):
    server = start_server()
    server.process.send_signal(signal.SIGSTOP)
    done = run("status", "--server", server.url)
    assert done.returncode == 3
    assert done.stderr == f"rubricctl: {server.url}: the NATS server did not answer within 5 s\n"


def test_a_worker_waits_for_its_server(start_server, tmp_path):
    """It says so once, and connects when the server is there."""
    server = start_server()
    assert run("init", "--server", server.url).returncode == 0
    server.kill()
    worker = Worker(tmp_path, server, "a")
    try:
        wait_until(lambda: f"no NATS server at {server.url}" in worker.log(), "the worker complains")
        server.start()
        wait_until(lambda: "connected to the NATS server again" in worker.log(), "the worker connects")
        assert worker.log().count("no NATS server") == 1
        worker.stop()
    finally:
        worker.kill()


# --- a fleet that is full or slow ----------------------------------------------------------------


def set_limit(fleet, stream, max_bytes):
    with fleet.server.connect() as nats:
        config = nats.ask(f"STREAM.INFO.rubricd-{stream}")["config"]
        answer = nats.ask(f"STREAM.UPDATE.rubricd-{stream}", **{**config, "max_bytes": max_bytes})
        assert "error" not in answer, answer


@pytest.mark.parametrize("stream, what", [("jobs", "a job is not queued"), ("results", "a result is not stored")])
def test_a_full_stream(fleet, tmp_path, stream, what):
    """Whoever cannot store says so and waits. When there is room again, everything is done."""
    worker = fleet.add_host("a")
    set_limit(fleet, stream, 3000)
    jobs = write_jobs(tmp_path / "jobs", [{**echo(f"j{i}"), "stdin": "x" * 500} for i in range(30)])
    if stream == "jobs":
        fleet.workers[0].kill()  # so that the queue stays full
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    if stream == "jobs":
        read_until(batch.stderr, f"{what}: maximum bytes exceeded; keeping it and trying again")
        worker.start()
    else:
        wait_until(lambda: f"{what}: maximum bytes exceeded; keeping it and trying again" in worker.log(), "a complaint")
    assert batch.poll() is None
    set_limit(fleet, stream, -1)
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert outputs(tmp_path / "out") == {f"j{i}": f"j{i}\n" for i in range(30)}


def test_a_server_that_stops_answering(fleet, tmp_path):
    """The batch says so, waits, and ends well when the server goes on."""
    worker = fleet.add_host("a")
    jobs = write_jobs(tmp_path / "jobs", [{**echo(f"j{i}"), "argv": ["/bin/sleep", "0.1"]} for i in range(60)])
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    with fleet.server.connect() as nats:
        wait_until(lambda: len(nats.counts("results")) > 5, "some results")
    fleet.server.process.send_signal(signal.SIGSTOP)
    try:
        slow = "the NATS server is slow: it has not answered"
        wait_until(lambda: slow in worker.log() or "connection to the NATS server is lost" in worker.log(), "the worker says so")
    finally:
        fleet.server.process.send_signal(signal.SIGCONT)
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert len(outputs(tmp_path / "out")) == 60


def test_a_batch_waits_for_a_first_worker(fleet, tmp_path):
    jobs = write_jobs(tmp_path / "jobs", [echo("x")])
    batch = fleet.start("batch", "--run", "r", "--output", tmp_path / "out", jobs)
    read_until(batch.stderr, "the fleet has no worker yet; waiting for one")
    fleet.add_host("a")
    assert batch.wait(DEADLINE) == 0, batch.stderr.read()
    assert outputs(tmp_path / "out") == {"x": "x\n"}


def test_a_fleet_without_workers(fleet):
    done = fleet.run("batch", "/dev/null")
    assert done.returncode == 3
    assert done.stderr.endswith("the fleet rubricd has no worker: start one on each host (rubricctl fleet worker)\n")


# --- status --------------------------------------------------------------------------------------


def test_status(fleet, tmp_path):
    fleet.add_host("a")
    fleet.run("batch", "--output", tmp_path / "out", write_jobs(tmp_path / "jobs", [echo("x"), echo("y")]), check=True)

    def lines():
        return [line.split() for line in fleet.run("status").stdout.splitlines()]

    wait_until(lambda: any(line[:2] == ["a", "2"] and line[4] == "2" for line in lines() if len(line) > 4), "two are done")
    head = fleet.run("status").stdout.splitlines()[0]
    assert head == "fleet rubricd: 1 worker, 2 slots; 0 jobs in the queue, 2 results kept, 0 dead letters"
