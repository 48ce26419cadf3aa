# SPDX-License-Identifier: MIT
"""The metrics over HTTP: what scrapers get, and that no connection can block the daemon."""

import http.client
import os
import socket
import stat
import subprocess
import time

import prometheus_client.parser
import pytest
from conftest import (
    DEADLINE,
    PASSING,
    PYTHON,
    RUBRICD,
    TAKE_AWAY,
    give_to_account,
    started_by_account,
    wait_until,
)
from processes import is_alive
from test_clients import SANITIZED
from test_metrics import Metrics, metrics
from test_queue import hold_slots

pytestmark = pytest.mark.cold

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
OLD = "text/plain; version=0.0.4; charset=utf-8"
GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"

# The same as in scrape.h
CONNECTIONS = 16
SECONDS = 10


def free_port(family=socket.AF_INET, host="127.0.0.1"):
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


class Endpoint:
    """The address at which a daemon serves its metrics."""

    def __init__(self, daemon, listen):
        self.daemon = daemon
        self.listen = listen

    def connect(self):
        if self.listen.startswith("unix:"):
            connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connected.settimeout(DEADLINE)
            connected.connect(self.listen.removeprefix("unix:"))
            return connected
        host, _, port = self.listen.rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), DEADLINE)

    def ask(self, method="GET", path="/metrics", headers=None, body=None):
        """Sends a request and returns the response, with its body as `text`."""
        client = http.client.HTTPConnection("localhost", timeout=DEADLINE)
        client.sock = self.connect()
        client.request(method, path, body=body, headers=headers or {})
        response = client.getresponse()
        response.text = response.read().decode()
        assert response.headers["Connection"] == "close", "a connection serves one request"
        return response

    def metrics(self):
        response = self.ask(headers={"Accept": "application/openmetrics-text"})
        assert (response.status, response.headers["Content-Type"]) == (200, OPENMETRICS)
        return Metrics(response.text)

    def send(self, data):
        """Sends DATA and returns everything received until the daemon closes the connection."""
        with self.connect() as sock:
            got = b""
            try:
                sock.sendall(data)
                while more := sock.recv(65536):
                    got += more
            except (BrokenPipeError, ConnectionResetError):
                pass  # the daemon closed before it had read everything
            return got


@pytest.fixture(name="start")
def make_start(start_daemon, tmp_path):
    def start(*settings, listen=None, **kwargs):
        listen = listen or f"unix:{tmp_path}/metrics.sock"
        return Endpoint(start_daemon(f"metrics.listen={listen}", *settings, **kwargs), listen)

    give_to_account(tmp_path)
    return start


@pytest.fixture(name="endpoint")
def make_endpoint(start):
    return start()


def fds(daemon):
    """Returns the daemon's own count of its descriptors, because only root could look at /proc. The count
    includes the connection that asks, and may include one that has just been closed."""
    with daemon.connect() as client:
        return metrics(client)("process_open_fds")


# Responses


def test_over_ipv4(start):
    endpoint = start(listen=f"127.0.0.1:{free_port()}")
    assert endpoint.metrics()("rubricd_state", rubricd_state="running") == 1


def test_over_ipv6(start):
    try:
        port = free_port(socket.AF_INET6, "::1")
    except OSError as e:
        pytest.skip(f"this host has no IPv6: {e}")
    assert start(listen=f"[::1]:{port}").metrics()("rubricd_queue_jobs") == 0


def test_it_is_what_the_message_says(endpoint):
    with endpoint.daemon.connect() as client:
        client.send({"type": "metrics"})
        told = Metrics(client.recv()["text"])
        assert endpoint.metrics().samples.keys() == told.samples.keys()


def test_the_older_format(endpoint):
    """It has the same samples, for scrapers that cannot read OpenMetrics."""
    response = endpoint.ask()
    assert (response.status, response.headers["Content-Type"]) == (200, OLD)
    assert "# EOF" not in response.text and "# UNIT" not in response.text
    families = list(prometheus_client.parser.text_string_to_metric_families(response.text))
    assert {family.type for family in families} == {"counter", "gauge", "histogram"}
    samples = {
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in families
        for sample in family.samples
    }
    assert samples == endpoint.metrics().samples.keys()


def test_head(endpoint):
    headers = {"Accept": OPENMETRICS}
    response = endpoint.ask("HEAD", headers=headers)
    assert (response.status, response.text) == (200, "")
    assert response.headers["Content-Type"] == OPENMETRICS
    got = endpoint.ask(headers=headers)
    length = int(response.headers["Content-Length"])
    assert length == pytest.approx(len(got.text), abs=100), "numbers may have grown by a digit"
    assert int(got.headers["Content-Length"]) == len(got.text)


def test_a_query_is_passed_over(endpoint):
    assert endpoint.ask(path="/metrics?name=x&y").status == 200


@pytest.mark.parametrize("path", ["/", "/metrics/", "/metrics/x", "//metrics", "/METRICS", "/../metrics"])
def test_there_is_nothing_else(endpoint, path):
    response = endpoint.ask(path=path)
    assert (response.status, response.text) == (404, "Only /metrics is served here.\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_only_get_and_head(endpoint, method):
    response = endpoint.ask(method)
    assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD")


# The socket


def test_by_default_nobody_listens(daemon):
    if os.geteuid() != 0:
        pytest.skip("only root can see which process owns a socket")
    with daemon.connect() as client:
        client.ping()
    listening = subprocess.run(
        ["/usr/bin/ss", "-Hlnptx"], capture_output=True, text=True, check=True
    ).stdout
    mine = [line for line in listening.splitlines() if f"pid={daemon.process.pid}," in line]
    assert len(mine) == 1 and str(daemon.socket) in mine[0], listening


def test_the_unix_socket(start, tmp_path):
    """The daemon replaces a stale socket, sets the mode of its own, and removes it at exit."""
    path = tmp_path / "metrics.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(path))
        give_to_account(path)
    endpoint = start()
    mode = path.stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o660
    endpoint.metrics()
    assert endpoint.daemon.stop() == 0
    assert not path.exists()


def refused(place, listen, *front):
    """Runs a daemon that cannot listen at LISTEN, and returns the completed process."""
    return subprocess.run(
        [
            *(*front, RUBRICD, "--config=/dev/null"),
            f"--set=daemon.socket={place}/s",
            f"--set=daemon.work_dir={place}/work",
            "--set=daemon.user=nobody",
            "--set=daemon.socket_group=",
            f"--set=metrics.listen={listen}",
        ],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def test_an_address_that_is_taken(start, start_daemon, tmp_path):
    """The address may be free at the next attempt, so the exit status is EX_UNAVAILABLE."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        done = refused(tmp_path, listen)
    assert done.returncode == 69
    assert f"[metrics] listen: {listen}: Address already in use" in done.stderr


def test_an_address_of_a_kind_that_is_not_permitted(start, start_daemon, tmp_path):
    """RestrictAddressFamilies= of a unit has this effect. Another attempt would fail too, so the exit
    status is EX_CONFIG."""
    done = refused(tmp_path, "127.0.0.1:9643", PYTHON, "-I", TAKE_AWAY, "internet", "--")
    assert done.returncode == 78
    assert "[metrics] listen: 127.0.0.1:9643: Address family not supported by protocol" in done.stderr


def test_what_others_can_reach_is_refused(tmp_path):
    config = tmp_path / "rubricd.conf"
    config.write_text("[metrics]\n# everywhere\nlisten = 0.0.0.0:9643\n")
    done = subprocess.run(
        [RUBRICD, "--check-config", f"--config={config}"],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 78
    assert done.stderr == (
        f"{config}:3: [metrics] listen: expected unix:PATH, or a loopback address with a port (as "
        "unix:/run/rubricd/metrics.sock, 127.0.0.1:9643 or [::1]:9643), got '0.0.0.0:9643'\n"
    )


def test_who_is_not_of_the_group_cannot_ask(start):
    if os.geteuid() != 0:
        pytest.skip("only root can run a client as another user")
    endpoint = start()
    path = endpoint.listen.removeprefix("unix:")
    code = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
    done = subprocess.run(
        ["/usr/bin/setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", "/usr/bin/python3", "-c", code],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert "PermissionError" in done.stderr


def test_a_drain_can_be_watched_to_its_end(start, bench, gate):
    endpoint = start()
    daemon = endpoint.daemon
    with daemon.connect() as client:
        hold_slots(client, bench.job(gate.python + PASSING))
        daemon.process.terminate()
        seen = wait_until(
            lambda: (m := endpoint.metrics())("rubricd_state", rubricd_state="draining") and m, "it drains"
        )
        assert seen("rubricd_slots", state="busy") == 2
        with endpoint.connect():  # an idle scraper does not delay the drain
            gate.open(2)
            wait_until(lambda: not is_alive(daemon.process.pid), "the daemon has ended")
    with pytest.raises(OSError):
        endpoint.connect()


def test_a_daemon_that_is_not_root(start):
    assert start(shape=started_by_account()).metrics()("rubricd_queue_jobs") == 0


# Abuse


def is_well(endpoint, bench):
    """Asserts that the daemon serves jobs and scrapers."""
    with endpoint.daemon.connect() as client:
        assert client.run(bench.job(PASSING))["score"]["passed"]
    endpoint.metrics()
    return True


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"garbage\r\n\r\n",
        b"\x00\xff" * 1000 + b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n" + b"X: x\r\n" * 10_000 + b"\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /%00%ff%zz HTTP/1.1\r\n\r\n",
        b"GET http://[::/metrics HTTP/1.1\r\n\r\n",
        b"POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
        b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
        (b"\x00\x00\x00\x0f" b'{"type":"ping"}' b"\r\n\r\n"),
    ],
    ids=lambda data: repr(data[:24]),
)
def test_what_is_no_request(endpoint, bench, data):
    before = fds(endpoint.daemon)
    answer = endpoint.send(data)
    assert b"200 OK" not in answer and b"rubricd_" not in answer
    assert is_well(endpoint, bench)
    wait_until(lambda: fds(endpoint.daemon) <= before + 1, "nothing stays open")


def test_many_connections_that_say_nothing(endpoint, bench):
    before = fds(endpoint.daemon)
    idle = [endpoint.connect() for _ in range(300)]
    for sock in idle[::2]:
        try:
            sock.sendall(GET[:20])
        except BrokenPipeError:
            pass  # the daemon has already closed it
    assert is_well(endpoint, bench)
    assert fds(endpoint.daemon) < before + 2 * CONNECTIONS, "the daemon accepts only a few at a time"
    for sock in idle:
        sock.close()
    wait_until(lambda: fds(endpoint.daemon) <= before + 1, "nothing stays open")


@pytest.mark.long  # a request may take ten seconds
def test_one_that_drips_is_closed(endpoint, bench):
    """Each byte comes soon after the last one, but the request never ends."""
    started = time.monotonic()
    with endpoint.connect() as sock:
        sock.settimeout(0.25)
        sock.sendall(GET[:-4] + b"\r\nX: ")
        ended = None
        while ended is None and time.monotonic() < started + 2 * SECONDS:
            try:
                sock.sendall(b"x")
                ended = sock.recv(1) == b"" or None
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                ended = True
    assert ended and time.monotonic() - started >= SECONDS - 1
    assert is_well(endpoint, bench)


def test_one_that_does_not_read_is_closed(endpoint, bench):
    """The reply does not fit into its socket's buffer."""
    before = fds(endpoint.daemon)
    sockets = []
    for _ in range(4):
        sock = endpoint.connect()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        sock.sendall(GET)
        sockets.append(sock)
    assert is_well(endpoint, bench)
    wait_until(lambda: fds(endpoint.daemon) <= before + 1, "they are given up")
    for sock in sockets:
        sock.close()


def many_scrapes(endpoint):
    """Scrapes many times; half of the clients leave in the middle of their request."""
    for i in range(1000):
        if i % 2:
            endpoint.send(GET)
        else:
            with endpoint.connect() as sock:
                sock.sendall(GET[: i % len(GET)])


def test_a_thousand_scrapes_leave_nothing(endpoint):
    many_scrapes(endpoint)  # so that the allocator has the memory that it keeps
    first = endpoint.metrics()
    many_scrapes(endpoint)
    last = wait_until(
        lambda: (m := endpoint.metrics())("process_open_fds") <= first("process_open_fds") and m,
        "they are closed",
    )
    grown = last("process_resident_memory_bytes") - first("process_resident_memory_bytes")
    assert grown < 1 << 20 or SANITIZED
