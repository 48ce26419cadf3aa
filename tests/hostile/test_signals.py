# SPDX-License-Identifier: MIT
"""The daemon reports that a job ended by a signal, and grades the next job."""

import base64
import signal

import pytest
from harness import ATTACKS
from target import Target

# By default these do not end a process.
HARMLESS = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
# Nobody continues a process that these stop. In a session of its own a job's process ignores those of a
# terminal, because its process group is orphaned.
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
        # SIGXFSZ alone proves that a file grew too large. SIGXCPU counts only if the CPU time was used.
        told = "disk" if number == signal.SIGXFSZ else None
        assert outcome["limit_exceeded"] == told, outcome
    assert target.grades_well() == ""
