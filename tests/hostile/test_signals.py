# SPDX-License-Identifier: MIT
"""A job that ends by a signal is reported as such, and the next job is graded."""

import base64
import signal

import pytest
from harness import ATTACKS
from target import Target

# By default these do not end a process.
HARMLESS = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
# Nobody wakes a process that these stop. The kernel ignores those of a terminal in a session that is the
# job's own.
STOPS = {signal.SIGSTOP}
STOPS_OF_A_TERMINAL = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}


@pytest.fixture(scope="module")
def target():
    target = Target()
    yield target
    target.close()


@pytest.mark.parametrize("number", sorted(signal.valid_signals()))
def test_a_job_ends_by_a_signal(number, target):
    shares_a_session = {"landlock", "filesystem"} <= target.in_force
    stops = STOPS | (STOPS_OF_A_TERMINAL if shares_a_session else set())
    harmless = (HARMLESS | STOPS_OF_A_TERMINAL) - stops
    program = base64.b64encode((ATTACKS / "die_by_signal").read_bytes()).decode()
    job = {
        "kind": "sandbox",
        "argv": ["/usr/bin/env", "./attack", str(int(number))],
        "files": {"attack": {"base64": program, "mode": "0755"}},
        "limits": {"wall_clock": 1 if number in stops else 20},
    }
    with target.daemon.connect() as client:
        outcome = client.run(job)["outcome"]
    if number in harmless:
        assert outcome["success"] is True, outcome
    elif number in stops:
        assert outcome["limit_exceeded"] == "wall_clock", outcome
    else:
        assert outcome["signal"] == int(number) and outcome["exit_code"] is None, outcome
        # SIGXFSZ alone is evidence of a file too large; SIGXCPU counts only if CPU time was used.
        told = "disk" if number == signal.SIGXFSZ else None
        assert outcome["limit_exceeded"] == told, outcome
    assert target.grades_well() == ""
