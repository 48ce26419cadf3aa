#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures which layer holds which attack, and writes layers.json and the table in README.md.

    RUBRICD_BUILD=build tests/hostile/measure.py [ATTACK...]

Runs every attack with all layers in force, with none, with each layer alone, and without all layers that
held it alone. If the last run is still refused, some layers hold the attack only together: then removes
as many more layers as needed."""

import json
import os
import sys
from pathlib import Path

import layers
import manifest
from target import Targets, let_through

README = Path(__file__).resolve().parent / "README.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


class Measurement:
    def __init__(self, targets):
        self.targets = targets
        self.in_force = targets.get(own_uid=True).in_force

    def succeeds(self, attack, without):
        for attempt in range(3):  # on a busy host a run may fail by chance
            try:
                return let_through(attack, self.targets, without)[0]
            except AssertionError:
                if attempt == 2:
                    raise
        return None

    def alone(self, attack):
        """Returns the layers that hold the attack when no other is in force."""
        held = []
        for layer, needed in layers.ALONE.items():
            if layer == "cgroup" and attack.group:
                continue  # test_a_control_group_alone_holds_it measures it, where all controllers exist
            if layer not in self.in_force or (layer == "own_uid" and layer not in attack.needs) or layers.BRINGS.get(layer, set()) & set(held):
                continue
            if not self.succeeds(attack, layers.ALL - needed):
                held.append(layer)
        return held

    def together(self, attack, taken):
        """Returns the layers to remove in addition to TAKEN: the smallest set that a greedy search finds."""
        extra = sorted(layers.ALL - set(taken))
        for layer in list(extra):
            fewer = [other for other in extra if other != layer]
            if self.succeeds(attack, {*taken, *fewer}):
                extra = fewer
        return extra

    def of(self, attack):
        nothing = {"alone": [], "together": []}
        if self.targets.of(attack).lacks(attack):
            return {"held": "not measured", **nothing}
        if self.succeeds(attack, ()):
            return {"held": "by nothing", **nothing}
        if not self.succeeds(attack, layers.ALL):
            return {"held": "always", **nothing}
        alone = self.alone(attack)
        taken = alone + (["cgroup"] if attack.group else [])
        together = [] if self.succeeds(attack, taken) else self.together(attack, taken)
        return {"held": "by layers", "alone": alone, "together": together}


def table(record):
    lines = [
        "| attack | what it is after | " + " | ".join(layers.ALONE) + " | always |",
        "|---|---|" + ":-:|" * (len(layers.ALONE) + 1),
    ]
    for name, attack in manifest.load().items():
        found = record.get(name)
        if not found:
            continue
        about = attack.about
        if found["held"] == "by nothing":
            about += f" **(open: {attack.open})**"
        marks = [
            "●"
            if layer in found["alone"] or (layer == "cgroup" and attack.group)
            else "○" if layer in found["together"] else ""
            for layer in layers.ALONE
        ]
        marks.append("●" if found["held"] == "always" else "")
        lines.append(f"| `{name}` | {about} | " + " | ".join(marks) + " |")
    return "\n".join(lines) + "\n"


def write(record):
    layers.RECORD.write_text(json.dumps(record, indent=2) + "\n")
    text = README.read_text()
    before, rest = text.split(BEGIN)
    README.write_text(before + BEGIN + table(record) + END + rest.split(END)[1])


def main():
    if os.geteuid() != 0:
        print("as root only: some attacks act on every process of their account", file=sys.stderr)
        return 2
    attacks = manifest.load()
    record = json.loads(layers.RECORD.read_text()) if layers.RECORD.exists() else {}
    record = {name: found for name, found in record.items() if name in attacks}
    targets = Targets()
    try:
        measurement = Measurement(targets)
        for name in sys.argv[1:] or attacks:
            if attacks[name].is_here:
                try:
                    record[name] = measurement.of(attacks[name])
                    print(name, record[name], flush=True)
                except AssertionError as error:
                    print(name, "cannot be measured:", error, flush=True)
    finally:
        targets.close()
        write({name: record[name] for name in attacks if name in record})
    return 0


if __name__ == "__main__":
    sys.exit(main())
