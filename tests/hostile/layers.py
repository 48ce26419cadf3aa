# SPDX-License-Identifier: MIT
"""Which layer holds which attack: read from layers.json, which measure.py writes."""

import json
from pathlib import Path

import manifest

RECORD = Path(__file__).resolve().parent / "layers.json"

ALL = frozenset(
    "rlimits no_new_privs tree_kill user_namespace pid_namespace mount_namespace net_namespace "
    "network filesystem landlock seccomp cgroup".split()
)

# What is in force when a layer is measured alone: with it what it cannot be had without. `network` and
# `filesystem` tell what holds and not by which means, so they are no layers to measure.
ALONE = {
    "rlimits": {"rlimits"},
    "no_new_privs": {"no_new_privs"},
    "tree_kill": {"tree_kill"},
    "user_namespace": {"user_namespace"},
    "pid_namespace": {"user_namespace", "pid_namespace"},
    "mount_namespace": {"user_namespace", "mount_namespace", "filesystem"},
    "net_namespace": {"user_namespace", "net_namespace", "network"},
    "landlock": {"no_new_privs", "landlock", "filesystem", "network"},
    "seccomp": {"no_new_privs", "seccomp", "network"},
    "cgroup": {"cgroup"},
}

# What a layer brings along: where that holds an attack by itself, it is not this layer's doing.
BRINGS = {
    "pid_namespace": {"user_namespace"},
    "mount_namespace": {"user_namespace"},
    "net_namespace": {"user_namespace"},
    "landlock": {"no_new_privs"},
    "seccomp": {"no_new_privs"},
}


def records():
    """What was measured, by the attack's name: held ("always", "by layers", "by nothing"), alone (each
    of these layers holds it) and together (all of these do)."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def is_held(record, in_force):
    """Whether the layers IN_FORCE hold an attack with this RECORD, as far as was measured."""
    if not record or record["held"] != "by layers":
        return True
    together = set(record["together"])
    return bool(in_force & set(record["alone"])) or bool(together and together <= in_force)


def load():
    """What to take away so that an attack succeeds, by its name; empty where nothing helps, or nothing
    has to be taken away."""
    record = records()
    empty = {"alone": [], "together": []}
    return {
        name: frozenset(
            record.get(name, empty)["alone"]
            + record.get(name, empty)["together"]
            + (["cgroup"] if attack.group else [])
        )
        for name, attack in manifest.load().items()
    }
