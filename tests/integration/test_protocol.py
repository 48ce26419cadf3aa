# SPDX-License-Identifier: MIT
"""The wire protocol: whole, split, broken and endless frames; strict JSON; every field of every message.
The daemon answers each mistake with the exact error and goes on to serve other clients."""

import json
import os
import re
import select
import struct
import time

import pytest
from conftest import CEILINGS, COLD, DEFAULTS, PASSING, Daemon, wait_until
from request_check import (
    ABSENT,
    BAD_SUBMITS,
    GOOD_SUBMITS,
    JSON_CASES,
    OTHER_MESSAGES,
    SECONDS,
    SUBMIT,
    SUT,
    TYPES,
    changed,
    expected_of,
)

pytestmark = pytest.mark.cold

MAX_FRAME = 16 << 20

@pytest.fixture(scope="module", name="daemon")
def start_shared_daemon(tmp_path_factory):
    """Starts one daemon for the whole file: no client may affect the next one."""
    daemon = Daemon(tmp_path_factory.mktemp("shared"), *COLD)
    yield daemon
    assert daemon.stop() == 0, daemon.log()


def assert_alive(daemon):
    with daemon.connect() as other:
        other.ping()


@pytest.fixture(autouse=True)
def check_that_it_lives(daemon):
    yield
    assert_alive(daemon)


def frame(payload):
    if not isinstance(payload, bytes):
        payload = json.dumps(payload).encode()
    return struct.pack(">I", len(payload)) + payload


def bad_request(message, **id):
    return {"type": "error", **id, "code": "bad_request", "message": message, "retriable": False}


def too_large(length, max_frame=MAX_FRAME):
    return {
        "type": "error",
        "code": "frame_too_large",
        "message": f"frame: length {length} is above the maximum of {max_frame} bytes",
        "retriable": False,
    }


def assert_sut_result(message, id="a"):
    assert (message["type"], message["id"]) == ("result", id)
    assert message["score"]["failure_modes"] == [{"code": "sut.exception", "severity": "block"}]


def assert_sent_away(client, error):
    assert client.recv() == error
    client.expect_closed()


# The first message


def test_hello_says_what_is_in_force(start_daemon):
    daemon = start_daemon(
        "queue.jobs=9",
        "queue.jobs_per_client=8",
        "queue.bytes=2M",
        "protocol.max_frame=1M",
        "rubric.wall_clock=1.5s",
        "code_exec.output_bytes=200K",
        "code_exec.wall_clock_ceiling=20s",
    )
    with daemon.connect() as client:
        hello = client.hello
    assert (hello["type"], hello["software"], hello["protocol"]) == ("hello", "rubricd", 1)
    limits = hello["limits"]
    assert limits["slots"] == 2
    assert limits["queue_jobs"] == 9
    assert limits["jobs_per_client"] == 8
    assert limits["queue_bytes"] == 2 << 20
    assert limits["max_frame"] == 1 << 20
    assert limits["defaults"]["rubric"]["wall_clock"] == 1.5
    assert limits["ceilings"]["rubric"]["wall_clock"] == 300
    assert limits["defaults"]["code_exec"] == {**DEFAULTS["code_exec"], "output_bytes": 200 << 10}
    assert limits["ceilings"]["code_exec"] == {**CEILINGS, "wall_clock": 20}
    assert hello["isolation"]["class"] == "subprocess"


# Frames


def test_byte_by_byte(daemon, client):
    """Each byte arrives alone: a ping of another client between two bytes shows that the daemon has
    read the first."""
    with daemon.connect() as other:
        for byte in frame(SUBMIT) + frame({"type": "ping"}):
            client.send_bytes(bytes([byte]))
            other.ping()
    assert_sut_result(client.recv())
    assert client.recv() == {"type": "pong"}


def test_split_at_every_position(daemon, client):
    whole = frame(SUBMIT)
    with daemon.connect() as other:
        for position in range(1, len(whole)):
            client.send_bytes(whole[:position])
            other.ping()
            client.send_bytes(whole[position:])
            assert_sut_result(client.recv())


def test_several_frames_in_one_write(client):
    """The daemon answers all of them in order; a mistake in one does not affect the others."""
    client.send_bytes(
        b"".join(
            frame({"type": "ping"}) + frame({"type": "pong"}) + frame({**SUBMIT, "id": f"job-{n}"})
            for n in range(100)
        )
    )
    for n in range(100):
        assert client.recv() == {"type": "pong"}
        assert client.recv() == bad_request('type: unknown message type "pong"')
        assert_sut_result(client.recv(), f"job-{n}")


def test_the_end_of_one_frame_comes_with_the_beginning_of_the_next(daemon, client):
    stream = frame({"type": "ping"}) * 50
    with daemon.connect() as other:
        for start in range(0, len(stream), 31):
            client.send_bytes(stream[start : start + 31])
            other.ping()
    for _ in range(50):
        assert client.recv() == {"type": "pong"}


def test_length_0(client):
    client.send_bytes(b"\0\0\0\0")
    assert_sent_away(client, bad_request("frame: length 0"))


def test_what_comes_before_a_broken_frame_is_answered_and_what_comes_after_is_not(client):
    ping = frame({"type": "ping"})
    client.send_bytes(ping + frame(SUBMIT) + b"\0\0\0\0" + ping + ping)
    assert client.recv() == {"type": "pong"}
    assert_sut_result(client.recv())
    assert_sent_away(client, bad_request("frame: length 0"))


@pytest.mark.parametrize("length", [MAX_FRAME + 1, 1 << 31, (1 << 32) - 1])
def test_a_length_above_the_maximum(daemon, client, length):
    with daemon.connect() as other:
        before = other.status()["memory"]["rss_bytes"]
        client.send_bytes(struct.pack(">I", length))
        assert_sent_away(client, too_large(length))
        assert other.status()["memory"]["rss_bytes"] < before + (1 << 20), "no memory is allocated for it"


def test_a_client_that_goes_on_sending_a_frame_that_is_too_large_reads_why(client):
    client.send_bytes(struct.pack(">I", MAX_FRAME + 1))
    for _ in range(17):
        client.send_bytes(bytes(1 << 20))
    assert_sent_away(client, too_large(MAX_FRAME + 1))


def padded_submit(size):
    """Returns the payload of a submit, exactly SIZE bytes long."""
    payload = {**SUBMIT, "job": {**SUT, "harness_output": {"padding": ""}}}
    payload["job"]["harness_output"]["padding"] = "x" * (size - len(json.dumps(payload)))
    return json.dumps(payload).encode()


def test_exactly_the_maximum(client):
    client.send_frame(padded_submit(MAX_FRAME))
    assert_sut_result(client.recv())
    client.send_frame(padded_submit(MAX_FRAME))
    assert_sut_result(client.recv())
    client.send_bytes(struct.pack(">I", MAX_FRAME + 1))
    assert_sent_away(client, too_large(MAX_FRAME + 1))


@pytest.mark.parametrize("maximum", [1024, 65536, 65537, 100_000])
def test_exactly_a_configured_maximum(start_daemon, maximum):
    daemon = start_daemon(f"protocol.max_frame={maximum}")
    with daemon.connect() as client:
        assert client.hello["limits"]["max_frame"] == maximum
        for size in (maximum - 1, maximum):
            client.send_frame(padded_submit(size))
            assert_sut_result(client.recv())
        client.send_frame(padded_submit(maximum + 1))
        assert_sent_away(client, too_large(maximum + 1, maximum))
    assert_alive(daemon)


@pytest.mark.parametrize("sent", [1, 3, 4, 5, 20])
def test_a_frame_without_its_end_and_then_close(daemon, sent):
    with daemon.connect() as other:
        client = daemon.connect()
        client.send_bytes(frame(SUBMIT)[:sent])
        other.ping()
        client.close()
        wait_until(lambda: other.status()["clients_total"] == 1, "the client is forgotten")


@pytest.mark.parametrize("sent", [1, 3, 4, 5, 20])
def test_a_frame_without_its_end_and_then_half_close(client, sent):
    client.send_bytes(frame(SUBMIT)[:sent])
    client.sock.shutdown(1)
    assert_sent_away(client, bad_request(f"frame: the connection ended after {sent} bytes of it"))


def test_half_a_frame_and_then_silence(start_daemon):
    """The daemon gives up on an incomplete frame of any length, but not on a client that sends nothing."""
    daemon = start_daemon("protocol.frame_timeout=0.3")
    large = frame(padded_submit(200_000))
    small = frame(SUBMIT)
    beginnings = [small[:1], small[:4], small[:20], small[:-1], large[:4], large[:100_000]]
    idle = daemon.connect()
    clients = [daemon.connect() for _ in beginnings]
    for client, beginning in zip(clients, beginnings):
        client.ping()
        client.send_bytes(beginning)
    for client, beginning in zip(clients, beginnings):
        message = f"frame: incomplete after 0.3 s, with {len(beginning)} bytes received"
        assert_sent_away(client, bad_request(message))
        client.close()
    idle.ping()
    idle.close()


def test_a_frame_that_trickles_in_is_cut_off_too(start_daemon):
    """The timeout covers the whole frame, not the time between two bytes."""
    daemon = start_daemon("protocol.frame_timeout=0.3")
    with daemon.connect() as client:
        begun = time.monotonic()
        client.send_bytes(struct.pack(">I", 1 << 20))
        sent = 4
        while not select.select([client.sock], [], [], 0.02)[0]:
            client.send_bytes(b"{")
            sent += 1
            assert time.monotonic() < begun + 10
        error = client.recv()
        client.expect_closed()
    assert error["code"] == "bad_request"
    assert error["message"].startswith("frame: incomplete after 0.3 s, ")
    assert 5 < sent < 40
    assert_alive(daemon)


# JSON


def refusal(client, payload, **id):
    """Sends PAYLOAD, which must be answered with a bad_request. Returns the error's message. The connection
    must stay usable."""
    client.send_frame(payload)
    error = client.recv()
    assert error == bad_request(error["message"], **id)
    client.ping()
    return error["message"]


@pytest.mark.parametrize(
    "name", ["ok-empty-object", "value-null", "depth-201", "trailing-nul", "utf8-overlong", "word-True"]
)
def test_json_of_the_built_in_selection(client, name):
    """request_check.py tests all cases without a daemon."""
    case = JSON_CASES / f"{name}.json"
    assert refusal(client, case.read_bytes()) == expected_of(case)


def test_json_as_deep_as_may_be_is_graded(client):
    """The message is at level 1, its job at 2, the case at 3."""

    def submit(key, levels):
        nested = "[" * levels + "]" * levels
        job = {**SUT, key: {"deep": "HERE"}}
        return json.dumps({**SUBMIT, "job": job}).replace('"HERE"', nested).encode()

    for key in ("case", "harness_output"):
        client.send_frame(submit(key, 197))
        assert_sut_result(client.recv())
    message = submit("case", 198)
    deepest = message.index(b"[") + 197
    text = f"JSON: nested deeper than 200 levels at byte {deepest} (byte {deepest + 1}, in job.case.deep[0]"
    assert refusal(client, message, id="a").startswith(text)


def test_numbers_and_strings_reach_the_rubric_unchanged(client, bench):
    """Including strings with NUL, and integers too large for a double."""
    case = {
        "nul": "a\0b",
        "text": "\u2028\U0001f600\x7f\"\\/\n",
        "integer": 2**63 - 1,
        "negative": -(2**63),
        "real": 0.1,
        "small": 5e-324,
        "large": 1.7976931348623157e308,
        "": [None, True, False, {}, []],
    }
    code = (
        "import json, sys\n"
        "text = sys.stdin.read()\n"
        "mode = {'code': 'seen', 'severity': 'info', 'detail': text}\n"
        "print(json.dumps({'passed': True, 'score': 1, 'failure_modes': [mode]}))\n"
    )
    result = client.run(bench.job(code, case=case, output={"x": case}))
    seen = json.loads(result["score"]["failure_modes"][0]["detail"])
    assert seen == {"case": case, "harness_output": {"x": case}}
    assert isinstance(seen["case"]["integer"], int)


def python_writes(id, value):
    """Returns a submit with VALUE in its case, as json.dumps() writes it by default."""
    job = {**SUT, "case": {"scores": [1.5, value]}}
    return json.dumps({"type": "submit", "id": id, "job": job}).encode()


@pytest.mark.parametrize(
    "value, what",
    [
        (float("nan"), "invalid token near 'NaN'"),
        (float("-inf"), "invalid token near '-'"),
        ("\ud800", "invalid Unicode '\\uD800'"),
        (10**30, "too big integer"),
    ],
    ids=["NaN", "infinity", "lone surrogate", "integer"],
)
def test_a_bad_value_costs_its_own_job_alone(client, bench, gate, value, what):
    """What Python writes and JSON does not have is answered with the id of its job, the path and the
    offset. The jobs before and behind it are graded."""
    client.submit("before", bench.job(gate.python + PASSING))
    assert client.recv()["type"] == "started"
    payload = python_writes("bad", value)
    message = refusal(client, payload, id="bad")
    assert message.startswith("JSON: line 1 column ") and what in message
    place = re.search(r"\(byte (\d+), in (.*)\)$", message)
    assert place[2] == "job.case.scores[1]"
    assert payload.index(b"[1.5") + 5 < int(place[1]) <= payload.index(b"]}") + 1
    assert refusal(client, payload.replace(b'"id": "bad", ', b"")[:-1] + b', "id": "end"}', id="end")
    gate.open()
    assert client.recv_answer("before")["score"]["passed"] is True
    assert_sut_result(client.run(SUT, "behind"), "behind")


def test_an_id_that_is_unsure_is_left_out(client):
    """The answer to a broken message must not be taken for that of another job."""
    for payload in (
        b'{"type": "submit", "id": "a", "job": {"id": "b"',
        b'{"id": "a", "id": "b"}',
        b'{"job": {"id": "a"}, "x": NaN}',
        b'{"id": "a"} {"id": "b"}',
        b'{"x": "said "id": "a" ", "y": 1}',
        b"x" * 1000,
    ):
        assert refusal(client, payload).startswith("JSON: ")


# The fields of every message: request_check.py has the tables and tests all of them without a daemon


def assert_each_is_refused(client, cases):
    """Asserts that each message gets exactly its error and that the connection stays usable."""
    for message, text, *id in cases:
        client.send(message, check=False)
        assert client.recv() == bad_request(text, **({"id": id[0]} if id else {}))
        client.ping()
        assert_sut_result(client.run(SUT, "a"), "a")


def test_a_field_of_submit_that_is_wrong(client):
    """The error names the field by its path, and has the client's id."""
    some = [case for case in BAD_SUBMITS if case[0] in ("job", "x", "job.sut.status", SECONDS)]
    assert_each_is_refused(client, [(changed(SUBMIT, *case[:2]), case[2], "a") for case in some])


def test_a_field_of_submit_at_its_bounds(client):
    for path, value in GOOD_SUBMITS:
        client.send(changed(SUBMIT, path, value))
        assert_sut_result(client.recv())


def test_messages_whose_id_is_unusable_are_answered_without_one(client):
    assert_each_is_refused(client, [(changed(SUBMIT, "id", ABSENT), "id: missing"), ({}, "type: missing")])


def test_a_type_that_is_none(client):
    for value, text in TYPES[-3:]:
        message = {"type": value, "id": "a", "job": SUT}
        assert_each_is_refused(client, [({"type": value}, text), (message, text, "a")])


def test_an_id_is_an_unknown_field_where_nothing_needs_one(client):
    assert_each_is_refused(client, [({"type": "ping", "id": "a"}, "id: unknown field", "a")])


def test_one_connection_survives_all_of_it(client):
    """The daemon answers each of a thousand mistakes in one stream."""
    mistakes = [
        (changed(SUBMIT, path, value), bad_request(text, id="a"))
        for path, value, text in BAD_SUBMITS
    ] + [(message, bad_request(text)) for message, text in OTHER_MESSAGES]
    for _ in range(4):
        client.send_bytes(b"".join(frame(message) for message, _ in mistakes))
        for _, error in mistakes:
            assert client.recv() == error
    client.ping()


# Ids


IDS = {
    "one byte": "a",
    "128 bytes": "x" * 128,
    "128 bytes in 64 characters": "\u00e9" * 64,
    "128 bytes in 32 emoji": "\U0001f600" * 32,
    "NUL": "\0",
    "NUL inside": "a\0b",
    "differs behind NUL": "a\0c",
    "128 NUL": "\0" * 128,
    "blanks": "  \t",
    "newline and quotes": "a\nb\"c\\d'e/",
    "control characters": "\x01\x1b[31m\x7f",
    "not ASCII": "\u00df\u4e2d\u0627\u2028\u200f\ufeff",
    "composed": "\u00e9",
    "decomposed": "e\u0301",
    "looks like a number": "0",
    "noncharacter": "\uffff\U0010ffff",
}


@pytest.mark.parametrize("id", IDS.values(), ids=IDS.keys())
@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "raw"])
def test_an_id_is_echoed_exactly(client, bench, id, ascii_only):
    """In a result and in an error, whether the client sent it as escapes or as bytes."""

    def send(message):
        client.send_frame(json.dumps(message, ensure_ascii=ascii_only).encode())

    send({**SUBMIT, "id": id})
    assert_sut_result(client.recv(), id)
    send({"type": "submit", "id": id, "job": 1})
    assert client.recv() == bad_request("job: expected an object, got a number", id=id)
    send({"type": "cancel", "id": id})
    assert client.recv() == bad_request("id: this connection has no such unfinished job", id=id)
    send({"type": "submit", "id": id, "job": bench.job(name="absent")})
    error = client.recv()
    assert (error["code"], error["id"]) == ("rubric_not_found", id)


def test_ids_of_running_jobs_are_told_apart_and_echoed(client, bench):
    """In `started`, in status and in the answer."""
    sleeping = bench.job("import time; time.sleep(60)")
    for id in ("a\0b", "\U0001f600" * 32):
        client.submit(id, sleeping)
        started = client.recv()
        assert (started["type"], started["id"]) == ("started", id)
    running = [slot["job"]["id"] for slot in client.status()["slots"]]
    assert sorted(running) == sorted(["a\0b", "\U0001f600" * 32])
    client.send({"type": "cancel", "id": "a\0c"})
    assert client.recv() == bad_request("id: this connection has no such unfinished job", id="a\0c")
    for id in ("a\0b", "\U0001f600" * 32):
        client.send({"type": "cancel", "id": id})
        assert client.recv_answer(id)["code"] == "cancelled"


@pytest.mark.parametrize(
    "id, size",
    [
        ("", 0),
        ("x" * 129, 129),
        ("\u00e9" * 65, 130),
        ("\U0001f600" * 33, 132),
        ("x" * 100_000, 100_000),
    ],
    ids=["empty", "129", "130 in 65 characters", "132 in 33 emoji", "100,000"],
)
def test_an_id_of_a_wrong_length(client, id, size):
    client.send({**SUBMIT, "id": id}, check=False)
    assert client.recv() == bad_request(f"id: expected 1 to 128 bytes, got {size}")
    client.ping()


def test_an_id_in_use_is_refused_until_its_job_is_answered(daemon, client, bench):
    """The first job runs on undisturbed, and another connection may use the same id."""
    in_use = bad_request("id: already in use by an unfinished job of this connection", id="a")
    sleeping = bench.job("import time; time.sleep(60)")
    client.submit("a", sleeping)
    first = client.recv()
    assert (first["type"], first["id"]) == ("started", "a")
    for job in (sleeping, SUT):
        client.submit("a", job)
        assert client.recv() == in_use
    assert_sut_result(client.run(SUT, "A"), "A")
    with daemon.connect() as other:
        assert_sut_result(other.run(SUT, "a"))
    client.send({"type": "cancel", "id": "a"})
    assert client.recv() == {
        "type": "error",
        "id": "a",
        "job_no": first["job_no"],
        "code": "cancelled",
        "message": "cancelled while running",
        "retriable": False,
    }
    for _ in range(3):
        assert_sut_result(client.run(SUT, "a"))


def test_an_id_of_a_queued_job_is_in_use_too(client, bench):
    sleeping = bench.job("import time; time.sleep(60)")
    for id in ("a", "b"):
        client.submit(id, sleeping)
        assert client.recv()["type"] == "started"
    client.submit("c", sleeping)
    client.submit("c", sleeping)
    assert client.recv() == bad_request(
        "id: already in use by an unfinished job of this connection", id="c"
    )
    assert client.status()["queue"]["jobs"] == 1


def test_descriptors_of_ended_connections_are_closed(start_daemon):
    """However they ended."""
    daemon = start_daemon()
    fds = f"/proc/{daemon.process.pid}/fd"
    if not os.access(fds, os.R_OK):
        pytest.skip(f"{fds} is not readable for this user")
    with daemon.connect() as other:

        def count():
            wait_until(lambda: other.status()["clients_total"] == 1, "the others are gone")
            return len(os.listdir(fds))

        before = count()
        half = frame(SUBMIT)[:9]
        for data in (b"\0\0\0\0", b"\xff" * 4, frame(b"{"), frame(b"[]"), half, b""):
            for _ in range(20):
                with daemon.connect() as client:
                    client.send_bytes(data)
        assert count() == before
