# SPDX-License-Identifier: MIT
"""Runs hostile and good jobs on the same few slots, one after another and at the same time. Every good job
gets its own verdict, and afterwards no resource has leaked.

RUBRICD_SOAK is the number of jobs, 600 by default; 10000 takes some minutes."""

import os
import random
import time

import manifest
from target import Target, ending_of, job_of
from world import World, fill_in, processes_with

JOBS = int(os.environ.get("RUBRICD_SOAK", "600"))
SLOTS = 3
IN_FLIGHT = 2 * SLOTS
SEED = 1

# Excluded because each of these takes seconds.
SLOW = {"hang", "cpu_threads", "cpu_processes", "inotify_host", "memory_processes", "setuid_program"}
# Excluded as well: successive jobs cannot meet, but concurrent ones make this the attack lock_neighbour,
# which no layer holds.
BESIDE = {"file_lock"}


def good_job(number):
    """Makes a job that prints its number and exits with its own status, and the check of its result."""
    status = number % 3
    script = f"echo {number}; ls -A . /tmp /dev/shm | grep -v -e : -e '^$'; exit {status}"

    def check(answer):
        assert answer["type"] == "result", answer
        assert answer["stdout"] == f"{number}\n", answer
        assert answer["outcome"]["exit_code"] == status, answer
        assert answer["score"]["passed"] is (status == 0), answer

    return {"kind": "sandbox", "argv": ["/bin/sh", "-c", script]}, check


def hostile_job(attack, arguments):
    def check(answer):
        ending = ending_of(answer)
        assert ending.how != "lost", (attack.name, ending)
        assert ending.how != "succeeded" or attack.open, (attack.name, ending)

    return job_of(attack, arguments), check


class Mix:
    """An endless, repeatable mix in which every second job is a good one."""

    def __init__(self, target, world):
        self.random = random.Random(SEED)
        self.facts = {**target.facts(world, None), "neighbour": target.daemon.process.pid}
        self.attacks = [
            attack
            for attack in manifest.load().values()
            if attack.is_here and attack.name not in SLOW | BESIDE and not target.lacks(attack)
        ]

    def job(self, number):
        if number % 2 == 0:
            return good_job(number)
        attack = self.random.choice(self.attacks)
        return hostile_job(attack, fill_in(self.random.choice(attack.turns), self.facts))


def run_all(target, mix, count):
    """Submits COUNT jobs, at most IN_FLIGHT of them at a time, and checks each answer."""
    checks = {}
    with target.daemon.connect() as client:
        client.sock.settimeout(120)
        for number in range(count):
            job, checks[str(number)] = mix.job(number)
            client.submit(str(number), job, check=False)
            if len(checks) == IN_FLIGHT:
                answer = client.recv_answer()
                checks.pop(answer["id"])(answer)
        while checks:
            answer = client.recv_answer()
            checks.pop(answer["id"])(answer)


def test_hostile_and_good_jobs_mixed(record_property):
    target = Target(SLOTS)
    try:
        with World() as world:
            mix = Mix(target, world)
            run_all(target, mix, 4 * SLOTS)  # so that every slot has run jobs
            before = target.census()
            jails = target.idle_jails()
            began = time.monotonic()
            run_all(target, mix, JOBS)
            record_property("jobs", JOBS)
            record_property("seconds", round(time.monotonic() - began, 1))
            assert target.census_after(before) == before
            assert target.idle_jails() == jails, "a jail was replaced"
            assert not processes_with(world.token), "a process is left"
            assert world.touched() == []
            assert target.grades_well() == ""
    finally:
        target.close()
