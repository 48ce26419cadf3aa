# SPDX-License-Identifier: MIT
"""rubricctl fleet serve: clients use a fleet as they use a daemon, over real servers, workers and daemons."""

import contextlib
import json
import os
import random
import resource
import socket
import stat
import struct
import subprocess
import threading

import pytest
from conftest import BENCH, DEADLINE, RUBRICCTL, Client, Closed, open_up, says_hello, wait_until
from fleet_hosts import FLEET, echo, need_fleet, outputs, read_until, shell, write_jobs
from fleet_serve import Serve, consumers, make_fleet, make_serve, queue_depth  # noqa: F401  fixtures
from processes import is_alive
from test_program import digest_of

pytestmark = pytest.mark.cold

need_fleet()

ECHO = {"kind": "sandbox", "argv": ["/bin/echo", "hi"]}
# It may run for longer than any test waits, so that none passes because the job ends by itself.
SLEEP = {"kind": "sandbox", "argv": ["/bin/sleep", "3000"], "limits": {"wall_clock": 300}}
MIB = 1 << 20


def job_of(line):
    return {key: value for key, value in line.items() if key != "id"}


def ctl(serve, *arguments, check=True, **kwargs):
    """Runs a command of rubricctl with the socket of SERVE."""
    command = [RUBRICCTL, "--socket", serve.socket, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=check, **kwargs)


def started(client, id):
    """Returns the `started` of the job; nothing else may come before it."""
    message = client.recv()
    assert (message["type"], message["id"]) == ("started", id), message
    return message


def idle(serve):
    """Whether no daemon of the fleet has a job, and the queue is empty."""
    return queue_depth(serve.fleet) == 0 and all(daemon.is_idle() for daemon in serve.fleet.daemons)


# --- the clients as they are ---------------------------------------------------------------------


@pytest.mark.warm
def test_a_batch_has_the_results_of_a_local_one(fleet, serve, tmp_path):
    open_up(BENCH)
    cases = BENCH / "cases.jsonl"
    for name, path in (("fleet", serve.socket), ("local", fleet.daemons[0].socket)):
        command = [RUBRICCTL, "--socket", path, "batch", "--bench-root", BENCH, "--no-fail"]
        subprocess.run([*command, "--output", tmp_path / name, cases], check=True, capture_output=True)

    def verdicts(name):
        lines = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        for line in lines:
            del line["score"]["wall_clock_ms"]
        return {line["id"]: (line["score"], line["isolation"], line["run"]["job_digest"]) for line in lines}

    assert verdicts("fleet") == verdicts("local")
    assert len(verdicts("fleet")) > 100


def test_commands_of_rubricctl(serve):
    assert ctl(serve, "ping").returncode == 0
    # The output comes with the result: a fleet does not stream it.
    assert ctl(serve, "sandbox", "--", "/bin/echo", "hi").stdout == "hi\n"
    answer = json.loads(ctl(serve, "sandbox", "--json", "--", "/bin/sh", "-c", "echo hi; exit 3", check=False).stdout)
    assert (answer["stdout"], answer["outcome"]["exit_code"]) == ("hi\n", 3)
    status = json.loads(ctl(serve, "status", "--json").stdout)
    assert (status["state"], len(status["slots"]), status["clients_total"]) == ("running", 2, 1)
    assert "rubricd_jobs_submitted_total" in ctl(serve, "metrics").stdout
    refused = ctl(serve, "reload", check=False)
    assert refused.returncode != 0 and "reload the daemon of each host" in refused.stderr


def test_a_terminal_is_refused_with_the_reason(serve):
    message = {"type": "submit", "id": "t", "job": {**ECHO, "stream": True, "terminal": {}}}
    with serve.connect() as client:
        client.send(message, check=False)
        answer = client.recv()
    assert (answer["id"], answer["code"], answer["retriable"]) == ("t", "bad_request", False)
    assert answer["message"] == "job.terminal: a fleet has no terminals"


@pytest.mark.parametrize(
    "message, why",
    [
        ({"type": "session_open", "id": "s"}, "type: a fleet has no sessions"),
        ({"type": "session_close", "id": "s", "session": 1}, "type: a fleet has no sessions"),
        ({"type": "input", "job_no": 3, "base64": "YQ=="}, "type: a fleet has no terminals"),
        ({"type": "resize", "job_no": 3, "rows": 1, "columns": 1}, "type: a fleet has no terminals"),
        ({"type": "reload"}, "type: a fleet has no configuration of its own"),
        ({"type": "submit", "id": "s", "share": "a", "job": ECHO}, "share: a fleet has no gateways"),
        ({"type": "submit", "id": "s", "job": {**ECHO, "stream": True}}, "job.stream: a fleet passes no output on"),
        ({"type": "submit", "id": "s", "job": {"kind": "session", "session": 1, "argv": ["/bin/true"]}}, "job.kind: a fleet has no"),
    ],
)
def test_what_a_fleet_cannot_do_is_refused_with_the_reason(serve, message, why):
    with serve.connect() as client:
        client.send(message)
        answer = client.recv()
        assert answer["code"] == "bad_request" and answer["message"].startswith(why), answer
        assert (answer.get("id"), answer.get("job_no")) == (message.get("id"), message.get("job_no"))
        client.ping()


def test_jobs_over_http(serve, tmp_path):
    from http_gateway import JSON, LINES, RUBRICD_HTTP, Gateway

    if not RUBRICD_HTTP.exists():
        pytest.skip("this build has no rubricd-http")
    gateway = Gateway(tmp_path, serve.socket)
    try:
        status, _, body = gateway.request("POST", "/v1/jobs", json.dumps(ECHO), JSON)
        assert (status, json.loads(body)["stdout"]) == (200, "hi\n")
        lines = "".join(json.dumps({"id": f"l{i}", **ECHO}) + "\n" for i in range(50))
        status, _, body = gateway.request("POST", "/v1/jobs", lines, LINES)
        answers = [json.loads(line) for line in body.splitlines()]
        assert status == 200 and {answer["id"] for answer in answers} == {f"l{i}" for i in range(50)}
        assert {answer["stdout"] for answer in answers} == {"hi\n"}
        status, _, body = gateway.request("GET", "/v1/status")
        assert status == 200 and json.loads(body)["state"] == "running"
    finally:
        gateway.process.terminate()
        gateway.process.wait(DEADLINE)


# --- ids and answers -----------------------------------------------------------------------------


def test_an_id_may_be_used_again_and_again(serve):
    """Each submission runs, though the fleet keeps the results of earlier ones for a while."""
    with serve.connect() as client:
        for i in range(20):
            assert client.run({**ECHO, "argv": ["/bin/echo", str(i)]}, id="same")["stdout"] == f"{i}\n"
        assert client.run({"kind": "sandbox", "argv": ["/bin/date", "+%N"]}, id="x")["stdout"] != client.run(
            {"kind": "sandbox", "argv": ["/bin/date", "+%N"]}, id="x"
        )["stdout"]


def test_clients_share_no_ids(serve):
    with serve.connect() as one, serve.connect() as two:
        one.submit("same", {**ECHO, "argv": ["/bin/echo", "one"]})
        two.submit("same", {**ECHO, "argv": ["/bin/echo", "two"]})
        assert one.recv_answer("same")["stdout"] == "one\n"
        assert two.recv_answer("same")["stdout"] == "two\n"


def test_numbers_are_those_of_started(serve):
    """The number of a job is the same in started, in the result and in the status, whichever daemon runs it."""
    with serve.connect() as client, serve.connect() as other:
        client.submit("a", ECHO)
        messages = [client.recv()]
        while messages[-1]["type"] == "started":  # a job that is over at once may have none
            messages.append(client.recv())
        assert len({message["job_no"] for message in messages}) == 1, messages
        client.submit("b", SLEEP)
        number = started(client, "b")["job_no"]

        def seen():
            return [slot["job"] for slot in other.status()["slots"] if slot["job"]]

        (job,) = wait_until(seen, "the status shows the job")
        assert (job["job_no"], job["id"], job["kind"], job["uid"]) == (number, "b", "sandbox", os.getuid())
        other.send({"type": "cancel", "job_no": number})
        assert other.recv()["code"] == "cancelled"
        assert client.recv_answer("b")["code"] == "cancelled"
    wait_until(lambda: idle(serve), "the job is dead")


def test_a_wrong_job_is_refused_before_it_is_queued(serve):
    with serve.connect() as client:
        answer = client.run({**ECHO, "limits": {"cpu": 1000000}}, check=False)
        assert answer["message"] == "job.limits.cpu: above the ceiling of 300 s", answer
        # Only the daemon knows which variables its configuration allows.
        answer = client.run({**ECHO, "env": {"NO_SUCH": "x"}})
        assert answer["code"] == "not_permitted" and "env_names" in answer["message"]


# --- cancelling, and going away ------------------------------------------------------------------


def test_cancel_at_every_moment(serve):
    """Each id gets exactly one answer, and nothing is left. A cancel that crosses its job on the way to a worker is
    not heard there (README): that job runs to its limit, so the limit is short."""
    brief = {**SLEEP, "limits": {"wall_clock": 20}}
    with serve.connect() as client:
        for i in range(60):
            client.submit(f"j{i}", brief if i % 3 else ECHO)
        for i in range(60):
            client.send({"type": "cancel", "id": f"j{i}"})
        answers = [client.recv_answer() for _ in range(60)]
        ids = [answer["id"] for answer in answers]
        # A cancel that came too late is answered as well.
        late = sum(answer["type"] == "result" for answer in answers)
        answers += [client.recv_answer() for _ in range(late)]
        real = [answer for answer in answers if answer.get("code") != "bad_request"]
        assert sorted(answer["id"] for answer in real) == sorted(f"j{i}" for i in range(60)), ids
        client.ping()
    wait_until(lambda: idle(serve), "nothing is left")


def test_asking_twice_gets_one_answer(serve):
    with serve.connect() as client:
        client.submit("a", SLEEP)
        started(client, "a")
        for _ in range(2):
            client.send({"type": "cancel", "id": "a"})
        first, second = client.recv(), client.recv()
        assert (first["code"], first["message"]) == ("cancelled", "cancelled while running")
        assert (second["code"], second["id"]) == ("bad_request", "a") and "job_no" not in second
        client.ping()


def test_a_killed_client_has_its_jobs_taken_back(serve, tmp_path):
    jobs = write_jobs(tmp_path / "jobs", [shell(f"j{i}", "sleep 3000", limits={"wall_clock": 300}) for i in range(200)])
    command = [RUBRICCTL, "--socket", serve.socket, "batch", "--output", tmp_path / "out", jobs]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: not serve.fleet.daemons[0].is_idle() and queue_depth(serve.fleet) >= 10, "jobs run and wait")
    process.kill()
    process.wait()
    wait_until(lambda: idle(serve), "all are taken back")
    with serve.connect() as client:
        assert client.status()["queue"]["jobs"] == 0
        assert client.run(ECHO)["stdout"] == "hi\n"


def test_half_close(serve):
    with serve.connect() as client:
        for i in range(30):
            client.submit(f"j{i}", ECHO)
        client.send({"type": "status"})
        client.sock.shutdown(socket.SHUT_WR)
        messages = []
        with contextlib.suppress(Closed):
            while True:
                messages.append(client.recv())
        assert {m["id"] for m in messages if m["type"] == "result"} == {f"j{i}" for i in range(30)}
        assert [m["type"] for m in messages].count("status") == 1
        assert [m["type"] for m in messages].count("result") == 30


# --- many clients --------------------------------------------------------------------------------


def test_two_hundred_clients_at_once(serve):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(serve.connect()) for _ in range(200)]
        for i, client in enumerate(clients):
            for j in range(3):
                client.submit(f"j{j}", {**ECHO, "argv": ["/bin/echo", f"{i} {j}"]}, check=False)
        for i, client in enumerate(clients):
            answers = {}
            for _ in range(3):
                answer = client.recv_answer()
                answers[answer["id"]] = answer["stdout"]
            assert answers == {f"j{j}": f"{i} {j}\n" for j in range(3)}
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_too_many_clients(fleet):
    fleet.add_host("a")
    serve = Serve(fleet, "--max-clients", "4")
    with serve.connect() as one, serve.connect(), serve.connect():
        # One user leaves room for the next: three of four.
        with serve.connect(hello=False) as other:
            assert other.recv()["reason"] == "too_many_clients"
            other.expect_closed()
        one.ping()
    wait_until(serve.is_up, "there is room again")
    serve.stop()


def test_connections_of_a_user_take_turns(fleet):
    """A batch of many jobs does not hold up the single job of another connection."""
    fleet.add_host("a", slots=1)
    serve = Serve(fleet)
    with serve.connect() as batch, serve.connect() as other:
        for i in range(300):
            batch.submit(f"j{i}", {"kind": "sandbox", "argv": ["/bin/sleep", "0.05"]}, check=False)
        started(batch, "j0")
        assert other.run(ECHO)["stdout"] == "hi\n"
        assert other.status()["queue"]["jobs"] > 200, "most of the batch still waits"
    wait_until(lambda: idle(serve), "nothing is left")
    serve.stop()


def test_priorities(fleet, bench, gate):
    """With one slot, jobs of a connection run by their priority."""
    fleet.add_host("a", slots=1)
    open_up(bench.root)
    serve = Serve(fleet)
    job = bench.job(gate.python + "print('{\"passed\": true, \"score\": 1}')")
    with serve.connect() as client:
        client.submit("first", job)
        started(client, "first")
        for i in range(40):
            client.submit(f"low{i}", {**ECHO, "priority": -5})
        client.submit("high", {**ECHO, "priority": 5})
        client.send({"type": "ping"})
        assert client.recv() == {"type": "pong"}
        gate.open()
        order = [client.recv_answer()["id"] for _ in range(42)]
    assert order[0] == "first" and order.index("high") < 20, order
    serve.stop()


def test_a_client_that_does_not_read(serve):
    """It is paused, and another one is served as before."""
    large = {"kind": "sandbox", "argv": ["/bin/sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x"]}
    with serve.connect() as deaf, serve.connect() as other:
        for i in range(60):
            deaf.submit(f"j{i}", large, check=False)

        def paused():
            return any(client["paused"] for client in other.status()["clients"])

        wait_until(paused, "the client that does not read is paused")
        assert other.run(ECHO)["stdout"] == "hi\n"
        seen = set()
        while len(seen) < 60:
            message = json.loads(deaf.recv_payload())
            if message["type"] == "result":
                assert len(message["stdout"]) == 200000 and message["id"] not in seen
                seen.add(message["id"])
        wait_until(lambda: not paused(), "it is read from again")
        deaf.ping()


def test_a_client_that_sends_more_than_there_is_room_for(serve):
    """It is not read from for a while; nothing is refused, nothing is lost."""
    n = 3000
    with serve.connect() as client:
        assert client.hello["limits"]["jobs_per_client"] < n
        frames = []
        for i in range(n):
            payload = json.dumps({"type": "submit", "id": f"j{i}", "job": {"kind": "rubric", "task_class": "none", "case": {},
                                  "harness_output": {}, "sut": {"status": "exception"}}}).encode()  # fmt: skip
            frames.append(struct.pack(">I", len(payload)) + payload)
        sender = threading.Thread(target=client.send_bytes, args=(b"".join(frames),))
        sender.start()
        ids = set()
        while len(ids) < n:
            message = json.loads(client.recv_payload())
            if message["type"] == "result":
                assert message["id"] not in ids
                ids.add(message["id"])
        sender.join()


def test_no_more_waits_than_the_hello_says(serve):
    """The connection is not read from then, and what it has sent is taken back when it goes away."""

    def send(client):
        with contextlib.suppress(OSError):
            for i in range(5000):
                client.submit(f"j{i}", SLEEP, check=False)

    with serve.connect() as client, serve.connect() as other:
        sender = threading.Thread(target=send, args=(client,))
        sender.start()
        wait_until(lambda: any(each["paused"] for each in other.status()["clients"]), "it is paused")
        # In the fleet are 16 jobs at most, the least that there may be.
        assert 900 < other.status()["queue"]["jobs"] <= client.hello["limits"]["jobs_per_client"] + 16
        assert other.status()["queue"]["bytes"] > 0
        client.sock.shutdown(socket.SHUT_RDWR)
        client.close()
        sender.join()
        wait_until(lambda: other.status()["queue"]["jobs"] == 0, "its jobs are taken back")
        assert other.status()["queue"]["bytes"] == 0
    wait_until(lambda: idle(serve), "nothing is left")


# --- broken clients ------------------------------------------------------------------------------


def mutate(rng, frame):
    """Returns FRAME with a few bytes changed, cut out, doubled or put in."""
    data = bytearray(frame)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) or 1)
        how = rng.randrange(4)
        if how == 0 and data:
            data[at] = rng.randrange(256)
        elif how == 1:
            del data[at : at + rng.randint(1, 8)]
        elif how == 2:
            data[at:at] = data[at : at + rng.randint(1, 8)]
        else:
            data[at:at] = rng.randbytes(rng.randint(1, 4))
    return bytes(data)


@pytest.mark.parametrize("seed", range(3))
def test_altered_frames(serve, seed):
    """Whatever a client sends, every message that it gets is one of the protocol, and others are served."""
    rng = random.Random(seed)
    tests = [{"input": "1", "output": "1"}]
    messages = [
        {"type": "submit", "id": "a", "job": ECHO},
        {"type": "submit", "id": "b", "job": {**ECHO, "priority": 3, "limits": {"cpu": 5}}},
        {"type": "cancel", "id": "a"},
        {"type": "cancel", "job_no": 3},
        {"type": "put", "digest": "sha256:" + "0" * 64, "tests": tests, "part": 1, "parts": 2},
        {"type": "status"},
        {"type": "metrics"},
        {"type": "ping"},
        {"type": "session_open", "id": "s"},
        {"type": "input", "job_no": 1, "base64": "YQ=="},
    ]
    frames = []
    for message in messages:
        payload = json.dumps(message).encode()
        frames.append(struct.pack(">I", len(payload)) + payload)
    with serve.connect() as other:
        for _ in range(150):
            with contextlib.suppress(OSError), serve.connect() as client:
                data = b"".join(mutate(rng, frame) if rng.random() < 0.5 else frame for frame in rng.sample(frames, 4))
                client.send_bytes(data)
                client.sock.shutdown(socket.SHUT_WR)
                if rng.random() < 0.5:
                    continue  # goes away without reading
                with contextlib.suppress(Exception):
                    while client.recv_payload():
                        pass
            other.ping()
        assert other.run(ECHO)["stdout"] == "hi\n"
    assert is_alive(serve.process.pid), serve.log()
    wait_until(lambda: idle(serve), "nothing is left")


def test_a_frame_that_is_too_large(serve):
    with serve.connect() as client, serve.connect() as other:
        client.send_bytes(struct.pack(">I", 0xFFFFFFFF))
        answer = client.recv()
        assert (answer["code"], answer["retriable"]) == ("frame_too_large", False)
        client.expect_closed()
        other.ping()


# --- tests that are put once ---------------------------------------------------------------------


def program(tests):
    code = "print(int(input()) + 1)"
    return {"kind": "program", "language": "python", "code": code, "tests": tests, "limits": {"wall_clock": 60}}


def test_tests_that_are_put(serve):
    """In one piece or in parts, with JSON written in more than one way; and not those of another client."""
    tests = [{"input": f"{i}\n", "output": f"{i + 1}\n", "name": "é"} for i in range(6)]
    digest = digest_of(tests)  # of the text with its escapes, as it is sent
    with serve.connect() as client, serve.connect() as other:
        client.send({"type": "put", "id": "p", "digest": digest, "tests": tests})
        answer = client.recv()
        assert (answer["type"], answer["id"], answer["digest"], answer["tests"]) == ("stored", "p", digest, 6)
        answer = client.run(program({"put": digest}))
        assert answer["type"] == "result" and answer["score"]["passed"], answer
        assert other.run(program({"put": digest}))["code"] == "tests_not_found"
        for part in range(3):
            some = tests[2 * part : 2 * part + 2]
            other.send({"type": "put", "digest": digest, "part": part + 1, "parts": 3, "tests": some})
            answer = other.recv()
            assert (answer["type"], answer["tests"], answer["part"]) == ("stored", 2 * part + 2, part + 1), answer
        assert other.run(program({"put": digest}))["score"]["passed"]


def test_puts_that_are_wrong(serve):
    tests = [{"input": "1\n", "output": "2\n"}]
    digest = digest_of(tests * 2)
    with serve.connect() as client:
        client.send({"type": "put", "id": "p", "digest": digest, "tests": tests})
        answer = client.recv()
        assert (answer["id"], answer["code"]) == ("p", "bad_request") and "digest" in answer["message"]
        client.send({"type": "put", "digest": digest, "part": 2, "parts": 2, "tests": tests})
        assert client.recv()["message"] == "part: 2 is not the next one of these tests: begin with part 1"
        wrong = digest_of(tests)
        for part, type in ((1, "stored"), (2, "error")):
            client.send({"type": "put", "digest": wrong, "part": part, "parts": 2, "tests": tests})
            answer = client.recv()
            assert answer["type"] == type, answer
        assert "digest" in answer["message"]
        client.ping()


# --- the fleet is in trouble ---------------------------------------------------------------------


@pytest.mark.long
def test_tests_that_are_too_large(serve):
    """More than serve holds for a client are refused for good, and named with the bound; the connection goes on."""
    many = [{"input": "x" * (15 << 20), "output": ""}]
    part_size = len(json.dumps(many, separators=(",", ":")))
    with serve.connect() as client:
        put = {"type": "put", "digest": "sha256:" + "0" * 64, "parts": 9, "tests": many}
        for part in range(1, 5):
            client.send({**put, "part": part}, check=False)
            assert client.recv()["type"] == "stored"
        client.send({**put, "part": 5}, check=False)
        answer = client.recv()
        assert (answer["code"], answer["retriable"]) == ("bad_request", False)
        assert answer["message"] == (
            f"tests: {5 * part_size - 4} bytes in the parts so far; the tests of a job may have at most {64 << 20} in a fleet"
        )
        client.ping()


def test_jobs_that_are_older_than_the_patience(fleet):
    """Some seconds after the server was away, jobs without an answer are queued once more. They are not to end
    because they have been in the queue for longer than anybody waits for it."""
    fleet.add_host("a")
    serve = Serve(fleet, "--patience", "3")
    with serve.connect() as client:
        for id, seconds in (("clock", "4"), ("runs", "14"), ("waits", "14"), ("waits too", "0")):
            client.submit(id, {"kind": "sandbox", "argv": ["/bin/sleep", seconds]})
        assert client.recv_answer("clock")["type"] == "result"  # so the others are older than the patience
        fleet.server.stop()
        fleet.server.start()
        answers = {}
        while len(answers) < 3:
            message = client.recv()
            if message["type"] in ("result", "error"):
                answers[message["id"]] = message
    assert {id: answer["type"] for id, answer in answers.items()} == dict.fromkeys(("runs", "waits", "waits too"), "result"), answers
    serve.stop()


def test_two_of_one_name(fleet):
    """The second would take away what the first has in the queue."""
    fleet.add_host("a")
    first = Serve(fleet, "--name", "x", name="first")
    with first.connect() as client:
        client.submit("job", {"kind": "sandbox", "argv": ["/bin/sleep", "3"]})
        second = Serve(fleet, "--name", "x", name="second", wait=False)
        assert second.process.wait(DEADLINE) == 3
        assert "another fleet serve of the fleet rubricd is called x and runs: give one of them another --name" in second.log()
        assert not second.socket.exists()
        assert client.recv_answer("job")["type"] == "result"
    first.stop()
    third = Serve(fleet, "--name", "x", name="third")  # the name is free again
    third.stop()


def test_a_batch_while_the_server_restarts(fleet, serve, tmp_path):
    fleet.add_host("b")
    jobs = write_jobs(tmp_path / "jobs", [echo(f"j{i}") for i in range(2000)])
    command = [RUBRICCTL, "--socket", serve.socket, "batch", "--output", tmp_path / "out", jobs]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            for n in (200, 900):
                wait_until(
                    lambda n=n: (tmp_path / "out").exists() and (tmp_path / "out").read_bytes().count(b"\n") > n, f"{n} results"
                )
                fleet.server.stop()
                fleet.server.start()
            errors = process.communicate(timeout=DEADLINE)[1]
        finally:
            process.kill()
    assert process.returncode == 0, errors
    assert outputs(tmp_path / "out") == {f"j{i}": f"j{i}\n" for i in range(2000)}
    wait_until(lambda: queue_depth(fleet) == 0, "the queue is empty")


def test_without_the_server_jobs_wait_and_then_end_in_an_error(fleet):
    fleet.add_host("a")
    serve = Serve(fleet, "--patience", "2")
    with serve.connect() as client:
        assert client.run(ECHO)["type"] == "result"
        fleet.server.stop()
        answer = client.run(ECHO)
        assert (answer["code"], answer["retriable"]) == ("internal", True)
        assert answer["message"].startswith("the fleet's queue is out of reach: "), answer
        wait_until(lambda: "out of reach" in serve.log(), "it says so on stderr, too")
        fleet.server.start()

        def works():
            return client.run(ECHO)["type"] == "result"

        wait_until(works, "it goes on")
    serve.stop()


def test_a_full_queue_is_an_error_that_says_so(fleet):
    fleet.add_host("a")
    serve = Serve(fleet, "--patience", "2")
    with fleet.server.connect() as nats, serve.connect() as client:
        assert client.run(ECHO)["type"] == "result"
        config = nats.ask("STREAM.INFO.rubricd-jobs")["config"]
        assert "error" not in nats.ask("STREAM.UPDATE.rubricd-jobs", **{**config, "max_bytes": 10})
        answer = client.run(ECHO)
        assert (answer["code"], answer["retriable"]) == ("internal", True)
        assert answer["message"] == "the fleet's queue has not taken the job for 2 s: maximum bytes exceeded"
        assert "error" not in nats.ask("STREAM.UPDATE.rubricd-jobs", **config)
        assert client.run(ECHO)["type"] == "result"
    serve.stop()


def test_a_job_that_a_stream_does_not_take(fleet):
    """Waiting does not help it, so that nobody is told to try again."""
    fleet.add_host("a")
    serve = Serve(fleet)
    with fleet.server.connect() as nats, serve.connect() as client:
        config = nats.ask("STREAM.INFO.rubricd-jobs")["config"]
        assert "error" not in nats.ask("STREAM.UPDATE.rubricd-jobs", **{**config, "max_msg_size": 2000})
        assert client.run(ECHO)["type"] == "result"
        job = {**ECHO, "stdin": "x" * 3000}
        answer = client.run(job)
        assert (answer["code"], answer["retriable"]) == ("bad_request", False)
        size = len(json.dumps(job, separators=(",", ":")))
        assert answer["message"] == (
            f"job: {size} bytes, and the stream rubricd-jobs of the NATS server takes at most 2000 in a message, headers "
            "included: send less, or raise its max_msg_size"
        )
        assert client.run(ECHO)["type"] == "result"
    serve.stop()


def test_wrong_credentials_are_named(tmp_path):
    from fleet_hosts import Server

    server = Server(tmp_path, "authorization { user: rubricd, password: secret }")
    (tmp_path / "password").write_text("wrong")

    class Place:
        directory, runs = tmp_path, []

    Place.server = server
    serve = Serve(Place, "--password-file", str(tmp_path / "password"), wait=False)
    try:
        wait_until(serve.listens, "it listens")
        with serve.connect(hello=False) as client:
            answer = client.recv()
            assert answer["code"] == "internal" and answer["message"].startswith("the fleet's queue is out of reach: "), answer
            assert "redential" in answer["message"], answer
            client.expect_closed()
    finally:
        serve.stop()
        server.kill()


def test_without_a_worker(fleet):
    """Whoever connects is told; and whoever waits for an answer when the last worker goes is told, too."""
    serve = Serve(fleet, "--patience", "2", wait=False)
    wait_until(serve.listens, "it listens")
    with serve.connect(hello=False) as client:
        answer = client.recv()
        assert answer["message"].startswith("the fleet rubricd has no worker: "), answer
        client.expect_closed()
    fleet.add_host("a")
    with serve.connect() as client:
        assert client.run(ECHO)["type"] == "result"
        fleet.workers[0].stop()
        answer = client.run(ECHO)
        assert answer["message"].startswith("the fleet rubricd has no worker: "), answer
        wait_until(lambda: queue_depth(fleet) == 0, "the job is taken back")
        fleet.workers[0].start()
        fleet.wait_for("a")
        wait_until(lambda: client.run(ECHO)["type"] == "result", "it goes on")
    serve.stop()


def test_hosts_that_confine_jobs_differently(fleet):
    fleet.add_host("a")
    fleet.add_worker("b", fleet.add_daemon("sandbox.memory_bytes=99M"))
    serve = Serve(fleet, wait=False)
    wait_until(serve.listens, "it listens")
    with serve.connect(hello=False) as client:
        answer = client.recv()
        assert "the hosts of the fleet confine jobs differently" in answer["message"], answer
        client.expect_closed()
    mixed = Serve(fleet, "--mix", name="mixed")

    def has_both():
        with mixed.connect() as client:
            return client.hello["limits"]["slots"] == 4

    wait_until(has_both, "it has heard of both")
    with mixed.connect() as client:
        assert client.run(ECHO)["type"] == "result"
    mixed.stop()
    serve.stop()


def test_a_worker_that_dies_loses_no_job(fleet):
    for name in "ab":
        fleet.add_host(name)
    serve = Serve(fleet, "--ack-wait", "2")
    with serve.connect() as client:
        for i in range(100):
            client.submit(f"j{i}", {"kind": "sandbox", "argv": ["/bin/sleep", "0.1"]}, check=False)
        client.recv_answer()
        fleet.workers[0].kill()
        ids = {client.recv_answer()["id"] for _ in range(99)}
        assert len(ids) == 99
    serve.stop()


# --- status and metrics --------------------------------------------------------------------------


def test_status_and_metrics_are_sums(fleet):
    fleet.add_host("a", slots=1)
    fleet.add_host("b", slots=3)
    serve = Serve(fleet)

    def samples(text):
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    with serve.connect() as client:
        wait_until(lambda: client.status()["configuration"]["slots"] == 4, "both hosts are known")
        assert client.run({**ECHO, "argv": ["/bin/false"]})["score"]["passed"] is False
        for i in range(9):
            assert client.run(ECHO, id=f"j{i}")["score"]["passed"]

        def settled():  # workers ask their daemons once a second
            return client.status()["counters"]["results"] == 10

        wait_until(settled, "the daemons have told of all results")
        status = client.status()
        assert (status["counters"]["passed"], status["counters"]["failed"]) == (9, 1)
        assert status["kinds"]["sandbox"]["submitted"] == 10
        assert [slot["slot"] for slot in status["slots"]] == [0, 1, 2, 3]
        assert [(f["id"], f["what"]) for f in status["last_failures"]] == [("job", "sandbox.failed")]
        client.send({"type": "metrics"})
        text = client.recv()["text"]
        assert text.endswith("# EOF\n")
        values = samples(text)
        assert values['rubricd_jobs_submitted_total{kind="sandbox"}'] == "10"
        assert values['rubricd_job_results_total{kind="sandbox",result="passed"}'] == "9"
        assert values["rubricd_configured_slots"] == "4"
        assert values["rubricd_fleet_hosts"] == "2"
        assert values["rubricd_fleet_jobs_submitted_total"] == "10"
    serve.stop()


# --- the end, and the beginning ------------------------------------------------------------------


def test_sigterm_drains(fleet):
    """What has started ends; what has not is refused; everybody hears goodbye; nothing is left at the server."""
    fleet.add_host("a", slots=1)
    serve = Serve(fleet)
    with serve.connect() as client, serve.connect() as other:
        client.submit("runs", {"kind": "sandbox", "argv": ["/bin/sh", "-c", "sleep 2; echo done"]})
        started(client, "runs")
        for i in range(50):
            client.submit(f"waits{i}", ECHO)
        client.send({"type": "ping"})
        assert client.recv() == {"type": "pong"}
        serve.process.terminate()
        errors = [client.recv_answer() for _ in range(50)]
        assert {answer["code"] for answer in errors} == {"draining"}
        assert {answer["id"] for answer in errors} == {f"waits{i}" for i in range(50)}
        client.submit("late", ECHO)
        assert client.recv_answer("late")["code"] == "draining"
        assert client.recv_answer("runs")["stdout"] == "done\n"
        for each in (client, other):
            assert each.recv()["reason"] == "draining"
            each.expect_closed()
    assert serve.process.wait(DEADLINE) == 0, serve.log()
    assert not serve.socket.exists()
    assert consumers(fleet) == [] and queue_depth(fleet) == 0
    with fleet.server.connect() as nats:
        assert nats.counts("results") == {} and nats.counts("marks") == {}


def test_the_grace_period_ends(fleet):
    fleet.add_host("a")
    serve = Serve(fleet, "--grace", "1")
    with serve.connect() as client:
        client.submit("runs", SLEEP)
        started(client, "runs")
        serve.process.terminate()
        assert client.recv_answer("runs")["code"] == "draining"
        assert client.recv()["reason"] == "draining"
    assert serve.process.wait(DEADLINE) == 0, serve.log()
    wait_until(lambda: idle(serve), "the job is dead")


def test_drain_takes_an_administrator(serve):
    with serve.connect() as client:
        client.send({"type": "drain"})
        assert client.recv()["reason"] == "draining"
    assert serve.process.wait(DEADLINE) == 0, serve.log()


def test_what_a_killed_one_has_left_is_taken_away(fleet):
    fleet.add_host("a")
    serve = Serve(fleet)
    with serve.connect() as client:
        for i in range(30):
            client.submit(f"j{i}", {"kind": "sandbox", "argv": ["/bin/sleep", "1"]})
        assert client.recv()["type"] == "started"
        wait_until(lambda: queue_depth(fleet) > 10, "jobs wait")
        serve.kill()
    left = consumers(fleet)
    assert left and queue_depth(fleet) > 10
    serve.start()
    wait_until(lambda: not set(left) & set(consumers(fleet)) and queue_depth(fleet) == 0, "nothing is left of it")
    with serve.connect() as client:
        assert client.run(ECHO)["stdout"] == "hi\n"
    serve.stop()


def test_an_idle_user_leaves_nothing_at_the_server(serve, fleet):
    with serve.connect() as client:
        assert client.run(ECHO)["type"] == "result"
        assert len(consumers(fleet)) == 1
        wait_until(lambda: consumers(fleet) == [], "the consumer is taken away")
        with fleet.server.connect() as nats:
            wait_until(lambda: nats.counts("results") == {} and nats.counts("marks") == {}, "and the rest")
        # And the next job makes it again.
        assert client.run(ECHO)["type"] == "result"


# --- the socket ----------------------------------------------------------------------------------


def test_the_socket(fleet):
    fleet.add_host("a")
    stale = fleet.directory / "serve.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(stale))
    serve = Serve(fleet, "--mode", "0600")
    assert stat.S_IMODE(stale.stat().st_mode) == 0o600
    second = subprocess.run(serve.command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert second.returncode == 3 and "serve.sock: somebody is listening there already" in second.stderr
    with serve.connect() as client:
        client.ping()
    serve.stop()
    assert not stale.exists()
    wrong = subprocess.run([*serve.command, "--mode", "999"], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert wrong.returncode == 2 and "--mode 999: expected an octal number up to 0777" in wrong.stderr
    without = subprocess.run([FLEET, "serve"], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert without.returncode == 2 and "--socket is missing" in without.stderr


def test_a_group_that_does_not_exist(fleet):
    """That is said with what follows from it and what to do; the socket is served."""
    fleet.add_host("a")
    path = fleet.directory / "grouped.sock"
    command = [FLEET, "serve", "--server", fleet.server.url, "--socket", path, "--group", "no-such-group"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    fleet.runs.append(process)
    assert read_until(process.stderr, "no-such-group") == (
        f"rubricctl: there is no group no-such-group, to which --group gives the socket: only root and uid {os.geteuid()} can "
        f'connect to {path}; create the group, name another one, or leave the socket\'s group alone with --group ""\n'
    )
    wait_until(lambda: path.exists() and says_hello(path), "it is served")
    with Client(path) as client:
        client.ping()


def test_a_socket_of_systemd(fleet, tmp_path):
    fleet.add_host("a")
    path = tmp_path / "passed"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        sock.listen()
        fd = sock.fileno()

        def pass_on():
            os.dup2(fd, 3)
            os.set_inheritable(3, True)

        # The pid is that of the program, which a shell becomes.
        command = ["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", FLEET, "serve", "--server", fleet.server.url]
        environment = {**os.environ, "LISTEN_FDS": "1"}
        process = subprocess.Popen(command, preexec_fn=pass_on, close_fds=False, env=environment)
        fleet.runs.append(process)
    with Client(path) as client:
        assert client.run(ECHO)["stdout"] == "hi\n"
    process.terminate()
    assert process.wait(DEADLINE) == 0
    assert path.exists(), "the socket is systemd's"
