# SPDX-License-Identifier: MIT
"""The membrane between judge and candidate (daemon/checker/membrane.py and what it uses), as a table of small
jobs: features.txt has honest ones, which pass in one plain process and must pass in two; attacks.txt has
wrong code that must not pass. What stays out of the isolated mode by decision is marked `@refused` with the
reason, and fails the test as soon as it passes after all."""

from pathlib import Path

import pytest

import duel

HERE = Path(__file__).resolve().parent
FEATURES = duel.Jobs(HERE / "features.txt").jobs
ATTACKS = duel.Jobs(HERE / "attacks.txt").jobs
TOOLS = (HERE / "attack_tools.txt").read_text()


@pytest.fixture(scope="module")
def referee():
    referee = duel.Referee()
    yield referee
    referee.close()


@pytest.mark.parametrize("name", FEATURES)
def test_feature(referee, name):
    job = FEATURES[name]
    plain = referee.judge(job, "plain")
    assert plain["verdict"] == "pass", plain
    found = referee.judge(job)
    if "refused" in job:
        assert found["verdict"] not in ("pass", "hung", "crashed", "none"), found
    else:
        assert found["verdict"] == "pass", found


def parts_of(job):
    """Each target of an attack has to fail by itself, unless they are `@together`."""
    return [job] if "together" in job else [{**job, "targets": [target]} for target in job["targets"]]


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(referee, name):
    job = ATTACKS[name]
    if "wire" in job:
        job = {**job, "code": TOOLS + job["code"]}
    for part in parts_of(job):
        found = referee.judge(part)
        assert found["verdict"] not in ("pass", "hung", "crashed", "none"), (found, part["targets"])
