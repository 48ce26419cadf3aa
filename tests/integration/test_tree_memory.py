# SPDX-License-Identifier: MIT
"""All processes of a job together keep its limit of memory, whether a control group sees to that or, where
there is none, the jail."""

import pytest
from conftest import ALL_LAYERS, PYTHON, Daemon, make_shape

MIB = 1 << 20


@pytest.fixture(scope="module", name="daemon")
def start_shared(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("d"), shape=make_shape(ALL_LAYERS), slots=1)
    yield daemon
    assert daemon.stop() == 0, daemon.log()


# The parent waits until every child has its memory, and then for the end.
FAMILY = """
import os, time
shared = bytearray(b"x") * (int(%r) << 20)
ready, done = os.pipe()
for _ in range(4):
    if not os.fork():
        own = bytearray(b"x") * (int(%r) << 20)
        os.write(done, b"x")
        time.sleep(float(%r))
        os._exit(0)
for _ in range(4): os.read(ready, 1)
for _ in range(4): os.wait()
"""


def run(client, shared, own, seconds):
    argv = [PYTHON, "-c", FAMILY % (shared, own, seconds)]
    result = client.run({"kind": "sandbox", "argv": argv, "limits": {"memory_bytes": 128 * MIB, "wall_clock": 60}})
    assert result["type"] == "result", result
    return result["outcome"]


def test_processes_together_exceed_the_limit(client):
    outcome = run(client, 0, 50, 60)
    assert (outcome["success"], outcome["limit_exceeded"]) == (False, "memory"), outcome
    assert run(client, 0, 1, 0)["success"] is True


def test_memory_that_processes_share_counts_once(client):
    outcome = run(client, 50, 0, 1)
    assert (outcome["success"], outcome["limit_exceeded"]) == (True, None), outcome


def test_a_candidate_counts(client):
    code = FAMILY % (0, 50, 60)
    job = {"kind": "code_exec", "code": code, "targets": ["assert True"], "limits": {"memory_bytes": 256 * MIB}}
    result = client.run({**job, "code": code.replace("range(4)", "range(8)")})
    assert result["type"] == "result" and result["outcome"]["limit_exceeded"] == "memory", result
    assert client.run({**job, "code": "x = 1", "targets": ["assert x == 1"]})["verdict"] == "pass"
