# SPDX-License-Identifier: MIT
"""Attacks a daemon with jobs. With every layer in force the attacks are refused and leave nothing behind.
Without the layers that hold them they succeed."""

import os

import layers
import manifest
import pytest
from harness import ATTACKS as ATTACK_PROGRAMS
from harness import user_namespaces_are_refused
from target import Targets, company, let_through
from world import World, processes_with, works_here

IS_ROOT = os.geteuid() == 0
REFUSED = user_namespaces_are_refused()
ATTACKS = [attack for attack in manifest.load().values() if attack.is_here]
HELD_BY = layers.load()


@pytest.fixture(scope="module")
def targets():
    running = Targets()
    yield running
    running.close()


@pytest.fixture
def world():
    with World() as world:
        yield world


def check_account(attack):
    for need in {"own_uid", "few_watches"} & set(attack.needs):
        if not IS_ROOT:
            pytest.skip(f"only root can provide {need}")
    if "own_user" in attack.needs and not IS_ROOT:
        pytest.skip("the attack would hit every process of this test's own account")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_is_refused(attack, targets, world):
    """The attack is refused. It leaves no process, mount, file, cgroup, descriptor or System V object, has
    changed nothing on the host, and the same slot grades a good job."""
    check_account(attack)
    target = targets.of(attack)
    if target.lacks(attack):
        pytest.skip(target.lacks(attack))
    before = target.census()
    with company(attack, target, world) as neighbour:
        ending = target.run(attack, world, neighbour)
        if neighbour:
            assert neighbour.is_well()
            assert neighbour.close(), "the neighbour ended before it was cancelled"
    if attack.open:
        assert ending.how == "succeeded", f"no known layer holds this attack, but it failed: {ending}"
    else:
        assert ending.how == "refused" or (ending.how == "stopped" and ending.limit), ending
        told = {attack.limit, attack.group} if target.groups_hold(attack) else {attack.limit}
        if ending.how == "refused" and "mount_namespace" not in target.in_force:
            told.add(None)  # a place that the job cannot write to does not fill up
        assert ending.limit in told, ending
    assert attack.refused is None or attack.refused in ending.printed, ending
    assert world.touched() == []
    assert not processes_with(world.token), "a process is left"
    assert target.grades_well() == ""
    assert target.census_after(before) == before


WITHOUT = [attack for attack in ATTACKS if HELD_BY[attack.name]]


@pytest.mark.parametrize("attack", WITHOUT, ids=lambda attack: attack.name)
def test_it_succeeds_without_its_layers(attack, targets):
    """Without the layers that hold it the attack succeeds, which proves that they hold it."""
    check_account(attack)
    if REFUSED:
        pytest.skip(f"the measurements need user namespaces: {REFUSED}")
    through, ending = let_through(attack, targets, HELD_BY[attack.name])
    alone = not attack.needs and not attack.steps and not any("{" in word for word in attack.args)
    if not through and alone and not works_here(ATTACK_PROGRAMS / attack.program, attack.args):
        pytest.skip("the attack does not work on this host even without confinement")
    assert through, ending


GROUPED = [attack for attack in ATTACKS if attack.group]


@pytest.mark.parametrize("attack", GROUPED, ids=lambda attack: attack.name)
def test_a_control_group_alone_holds_it(attack, targets):
    """A control group alone holds the attack, and gives the evidence for the limit."""
    without = layers.ALL - {"cgroup"}
    if not targets.get(1, without).groups_hold(attack):
        pytest.skip("this host has no control groups that can limit the attack")
    through, ending = let_through(attack, targets, without)
    assert not through and ending.limit == attack.group, ending
