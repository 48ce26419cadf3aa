# SPDX-License-Identifier: MIT
"""Reads from layers.json which layer holds which attack. measure.py writes that file."""

import json
from pathlib import Path

import manifest

RECORD = Path(__file__).resolve().parent / "layers.json"

ALL = frozenset(
    "rlimits no_new_privs tree_kill user_namespace pid_namespace mount_namespace net_namespace "
    "network filesystem landlock seccomp cgroup own_uid".split()
)

# The layers in force when one is measured alone: itself and those that it depends on. `network` and
# `filesystem` name a guarantee, not the means that provides it, so they are not measured.
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
    "own_uid": {"user_namespace", "mount_namespace", "filesystem", "own_uid"},
}

# The layers that a layer depends on. If those alone hold an attack, the layer itself does not count.
BRINGS = {
    "pid_namespace": {"user_namespace"},
    "mount_namespace": {"user_namespace"},
    "net_namespace": {"user_namespace"},
    "landlock": {"no_new_privs"},
    "seccomp": {"no_new_privs"},
    "own_uid": {"user_namespace", "mount_namespace"},
}


def records():
    """Returns the measurements by the attack's name: `held` ("always", "by layers", "by nothing"), `alone`
    (each of these layers holds the attack alone) and `together` (only all of these hold it)."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def is_held(record, in_force):
    """Returns whether the layers IN_FORCE hold an attack with this RECORD, according to the measurements."""
    if not record or record["held"] != "by layers":
        return True
    together = set(record["together"])
    return bool(in_force & set(record["alone"])) or bool(together and together <= in_force)


def load():
    """Returns by the attack's name the layers to remove so that the attack succeeds. The set is empty if
    removing layers does not help, or is not needed."""
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
