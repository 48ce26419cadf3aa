# SPDX-License-Identifier: MIT
"""Sandbox jobs of several steps: what passes from one to the next and what does not, how they end, and
what becomes of a job whose client, daemon or jail does not wait for its last step."""

import os
import re
import signal
from pathlib import Path

import pytest
from conftest import ALL_LAYERS, BARE, BUILD, DEADLINE, NO_USER_NAMESPACES, PYTHON, wait_until
from test_cancel import cancel

SHAPES = [ALL_LAYERS, NO_USER_NAMESPACES, BARE]


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


@pytest.fixture(name="client")
def connect(daemon):
    with daemon.connect() as client:
        yield client


def shell(text, **fields):
    return {"argv": ["/bin/sh", "-c", text], **fields}


def steps(*each, **fields):
    return {"kind": "sandbox", "steps": [shell(s) if isinstance(s, str) else s for s in each], **fields}


def outputs(result):
    assert result["type"] == "result", result
    return [step["stdout"] for step in result["steps"]]


def exits(result):
    return [step["outcome"]["exit_code"] for step in result["steps"]]


@pytest.mark.parametrize("shape", SHAPES, indirect=True)
def test_each_step_finds_the_files_of_the_one_before(client, daemon):
    result = client.run(
        steps(
            "cat given; mkdir -p d/e; echo 1 >d/e/f; printf '#!/bin/sh\\necho run\\n' >p; chmod 700 p",
            "./p; ls -l p | cut -c1-10; cat d/e/f; rm given; echo 2 >>d/e/f",
            "cat d/e/f; find . -type f | sort",
            files={"given": "from the client\n"},
        )
    )
    assert outputs(result) == ["from the client\n", "run\n-rwx------\n1\n", "1\n2\n./d/e/f\n./p\n"]
    assert result["score"]["passed"] and result["outcome"]["success"]
    assert "stdout" not in result and "files" not in result
    assert daemon.leftovers() == []


def test_nothing_else_passes_from_one_step_to_the_next(client, daemon):
    if not daemon.has_view():
        pytest.skip("without a view, jobs see the host's /tmp and processes")
    leave = "ln -s /etc/passwd link; mkfifo fifo; mkdir empty; echo >/tmp/x; echo >f; ln -s f inner; sleep 600 &"
    result = client.run(steps(leave, "ls -A . /tmp; cat /proc/[0-9]*/comm"))
    listed = outputs(result)[1].split()
    assert listed[:3] == [".:", "f", "/tmp:"] and "sh" in listed and "sleep" not in listed


def test_each_step_has_its_own_input_and_limits(client):
    result = client.run(
        steps(
            {"argv": ["/bin/cat"], "stdin": "one"},
            {"argv": ["/bin/cat"], "stdin": {"base64": "dHdv"}},
            shell("cat; ulimit -n", limits={"max_open_files": 32}),
            shell("ulimit -n"),
            limits={"max_open_files": 64},
        )
    )
    assert outputs(result) == ["one", "two", "32\n", "64\n"]


def test_a_step_that_fails_ends_the_job(client):
    result = client.run(steps("echo 1", "echo 2; echo why >&2; exit 3", "echo 3", collect=["f"]))
    assert outputs(result) == ["1\n", "2\n"] and exits(result) == [0, 3]
    assert result["score"]["failure_modes"][0]["code"] == "sandbox.failed"
    assert (result["outcome"]["exit_code"], result["outcome"]["stderr"]) == (3, "why\n")


def test_a_step_may_fail_if_the_client_says_so(client):
    failing = [shell("exit 3", may_fail=True), shell("kill -9 $$", may_fail=True)]
    result = client.run(steps(*failing, "echo end"))
    assert exits(result) == [3, None, 0] and result["score"]["passed"]
    assert client.run(steps(*failing))["outcome"]["signal"] == 9  # the last one decides


def test_limits_end_a_step_and_the_job(client):
    result = client.run(steps("echo 1", shell("sleep 600", limits={"wall_clock": 0.3}), "echo 3"))
    assert result["outcome"]["limit_exceeded"] == "wall_clock" and len(result["steps"]) == 2
    late = shell("sleep 600", limits={"wall_clock": 0.3}, may_fail=True)
    assert exits(client.run(steps(late, "echo end"))) == [None, 0]
    result = client.run(steps(shell("yes", limits={"output_bytes": 4096}), "true"))
    assert result["outcome"]["limit_exceeded"] == "output"


def test_usage_is_that_of_all_steps(client):
    burn = f"{PYTHON} -c 'import time\nwhile time.process_time() < 0.2: pass'"
    result = client.run(steps(burn, "true", burn))
    each = [step["usage"] for step in result["steps"]]
    assert [usage["cpu_ms"] >= 200 for usage in each] == [True, False, True]
    total = result["usage"]
    assert abs(total["cpu_ms"] - sum(usage["cpu_ms"] for usage in each)) <= len(each)
    assert abs(total["wall_clock_ms"] - sum(usage["wall_clock_ms"] for usage in each)) <= len(each)
    assert total["max_rss_bytes"] == max(usage["max_rss_bytes"] for usage in each)


def test_files_come_back_from_the_last_step_that_ran(client):
    result = client.run(steps("echo 1 >a; echo >b", "echo 2 >>a", collect=["a", "none"]))
    assert result["files"] == [{"name": "a", "mode": "0644", "content": "1\n2\n"}]
    assert result["left_out"] == [{"name": "none", "why": "missing"}]
    result = client.run(steps("echo 1 >a; echo >b; exit 1", "echo 2 >>a", collect=["a", "none"]))
    assert result["files"] == [{"name": "a", "mode": "0644", "content": "1\n"}]
    assert result["left_out"] == [{"name": "none", "why": "missing"}]


def test_a_step_that_leaves_too_much_for_the_next(client):
    many = f"{PYTHON} -c 'for i in range(1100): open(str(i), \"w\").close()'"
    large = "truncate -s 70M f"
    for leave in (many, large):
        result = client.run(steps(leave, "echo 2", limits={"disk_bytes": 1 << 28}))
        assert result["outcome"]["limit_exceeded"] == "disk", result
        assert result["steps"][-1]["outcome"]["limit_exceeded"] == "disk"
        assert result["score"]["failure_modes"][0]["code"] == "sandbox.limit_exceeded"
        assert client.run(steps("true", leave, limits={"disk_bytes": 1 << 28}))["score"]["passed"]


def test_a_program_that_is_not_there(client):
    answer = client.run(steps("true", {"argv": ["/nowhere"]}))
    assert (answer["code"], answer["message"]) == (
        "bad_request",
        "job.steps[1].argv[0]: /nowhere: No such file or directory",
    )


def test_many_steps_count_as_one_job(start_daemon):
    daemon = start_daemon()
    with daemon.connect() as client:
        result = client.run(steps(*["echo x >>f"] * 63, "wc -l <f"))
        totals = client.status()["kinds"]["sandbox"]
    assert outputs(result)[-1] == "63\n"
    assert totals["passed"] == 1, totals
    assert len(re.findall(r"job \d+ \(", daemon.log())) == 1


def test_output_is_told_up_to_a_bound(client):
    flood = f"head -c {3 << 20} /dev/zero | tr '\\0' x; echo end >&2"
    result = client.run(steps(*[shell(flood, may_fail=True)] * 4, limits={"output_bytes": 4 << 20}))
    assert [len(text) for text in outputs(result)] == [3 << 20, 3 << 20, (2 << 20) - 8, 0]
    assert [step["outcome"]["stderr"] for step in result["steps"]] == ["end\n", "end\n", "", ""]


# --- other jobs and other ends -------------------------------------------------------------------


def wait_for_start(client, id):
    message = client.recv()
    assert (message["type"], message["id"]) == ("started", id), message


def running(client):
    return [slot["job"]["id"] for slot in client.status()["slots"] if slot["job"]]


def test_no_other_job_gets_between_steps(start_daemon):
    """One slot, and quick jobs, of which the slot would otherwise take the next ahead."""
    daemon = start_daemon("daemon.slots=1", f"isolation.readable={BUILD / 'tests'}")
    exit0 = {"argv": [str(BUILD / "tests" / "exit0")]}
    with daemon.connect() as client:
        for n in range(6):
            client.submit(f"steps-{n}", steps(*[exit0] * 10))
            client.submit(f"other-{n}", {"kind": "sandbox", **exit0})
        order, open_id = [], None
        while len(order) < 12:
            message = client.recv()
            if message["type"] == "started":
                assert open_id is None, f"{message['id']} began before {open_id} had ended"
                open_id = message["id"]
            else:
                assert message["score"]["passed"] and message["id"] == open_id
                order, open_id = [*order, open_id], None
        assert order == [f"{kind}-{n}" for n in range(6) for kind in ("steps", "other")]


def runs(daemon, text):
    """Returns whether a process of a job has TEXT among its arguments."""
    for pid in daemon.descendants():
        try:
            if text.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
        except OSError:
            pass
    return False


@pytest.fixture(name="gated")
def make_gated(start_daemon, bench, gate):
    """A daemon with one slot, and a step that waits at the gate."""
    daemon = start_daemon("daemon.slots=1", f"sandbox.readable_roots={bench.root}")
    job = {"readable": [str(bench.root)]}
    return daemon, shell(f"read line <{bench.root}/gate"), job


def test_a_step_is_cancelled_and_none_follows(gated):
    daemon, waits, job = gated
    with daemon.connect() as client:
        client.submit("a", steps("true", "true", {**waits, "may_fail": True}, "true", **job))
        wait_for_start(client, "a")
        cancel(client, id="a")
        answer = client.recv_answer("a")
        assert (answer["code"], answer["message"]) == ("cancelled", "cancelled while running")
        assert client.run(steps("true", "true"))["score"]["passed"]


def test_a_job_whose_client_goes_away_takes_no_further_step(gated):
    daemon, waits, job = gated
    with daemon.connect() as client:
        client.submit("a", steps("true", {**waits, "may_fail": True}, "sleep 600", **job))
        wait_for_start(client, "a")
    with daemon.connect() as client:
        wait_until(lambda: not running(client), "the slot is free")
        assert client.run(steps("true", "true"))["score"]["passed"]
    assert daemon.leftovers() == []


def test_a_drain_awaits_all_steps(gated, gate):
    daemon, waits, job = gated
    with daemon.connect() as client:
        client.submit("a", steps("true", waits, "echo last", **job))
        wait_for_start(client, "a")
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "drain" in daemon.log(), "the drain begins")
        gate.open()
        assert outputs(client.recv_answer("a"))[-1] == "last\n"
    assert daemon.process.wait(DEADLINE) == 0


def test_a_drain_that_is_cut_short_ends_a_step(gated):
    daemon, waits, job = gated
    with daemon.connect() as client:
        client.submit("a", steps("true", {**waits, "may_fail": True}, "true", **job))
        wait_for_start(client, "a")
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "drain" in daemon.log(), "the drain begins")
        daemon.process.send_signal(signal.SIGTERM)
        assert client.recv_answer("a")["code"] == "draining"
    assert daemon.process.wait(DEADLINE) == 0


def test_a_jail_that_is_lost_in_a_later_step(gated):
    daemon, waits, job = gated
    with daemon.connect() as client:
        client.submit("a", steps("true", "true", {**waits, "may_fail": True}, "true", **job))
        wait_for_start(client, "a")
        # A step that no jail has begun would go to the next jail.
        wait_until(lambda: runs(daemon, "/gate"), "the third step runs")
        (jail,) = daemon.jails()
        os.kill(jail, signal.SIGKILL)
        answer = client.recv_answer("a")
        assert (answer["code"], answer["retriable"]) == ("sandbox_failed", True), answer
        assert client.run(steps("true", "true"))["score"]["passed"]
    assert daemon.leftovers() == []


# --- requests --------------------------------------------------------------------------------------

TRUE = {"argv": ["/bin/true"]}


@pytest.mark.parametrize(
    "job, expected",
    [
        ({"steps": []}, "job.steps: expected 1 to 64 steps, got 0"),
        ({"steps": [TRUE] * 65}, "job.steps: expected 1 to 64 steps, got 65"),
        ({"steps": ["x"]}, "job.steps[0]: expected an object, got a string"),
        ({"steps": [TRUE, {}]}, "job.steps[1].argv: missing"),
        ({"steps": [{"argv": []}]}, "job.steps[0].argv: expected 1 to 60 strings, got 0"),
        ({"steps": [{"argv": ["true"]}]}, 'job.steps[0].argv[0]: "true" is not an absolute path'),
        ({"steps": [{**TRUE, "snippet": "x"}]}, "job.steps[0].snippet: unknown field"),
        ({"steps": [{**TRUE, "stdin": 1}]}, 'job.steps[0].stdin: expected a string or {"base64": ...}, '),
        ({"steps": [{**TRUE, "stdin": {"base64": "?"}}]}, "job.steps[0].stdin.base64: not base64"),
        ({"steps": [{**TRUE, "may_fail": 1}]}, "job.steps[0].may_fail: expected a boolean, got a number"),
        ({"steps": [{**TRUE, "limits": {"x": 1}}]}, "job.steps[0].limits.x: unknown field"),
        ({"steps": [{**TRUE, "limits": {"cpu": 1e9}}]}, "job.steps[0].limits.cpu: above the ceiling of "),
        (
            {"steps": [{**TRUE, "limits": {"disk_bytes": 65536}}]},
            "job.steps[0].limits.disk_bytes: all steps have the same; it goes into job.limits",
        ),
        (
            {"steps": [{**TRUE, "limits": {"allow_network": True}}]},
            "job.steps[0].limits.allow_network: all steps have the same; it goes into job.limits",
        ),
        ({"steps": [TRUE], "stdin": "x"}, "job.stdin: each of the steps has its own"),
        ({"steps": [TRUE], "runner": "shell"}, "job.runner: steps have no use for it"),
        ({"steps": [TRUE], **TRUE}, "job: expected exactly one of argv, snippet, generation and steps"),
    ],
)
def test_bad_requests(client, job, expected):
    answer = client.run({"kind": "sandbox", **job}, check=False)
    assert (answer["type"], answer["code"]) == ("error", "bad_request"), answer
    assert answer["message"].startswith(expected), answer["message"]
