#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The manifest of the attacks.

    manifest.py --sources     prints the names of the C files to build here, for meson

Fields of an attack in manifest.toml:

    about     the goal of the attack, for people
    source    its program is attacks/SOURCE.c; the attack's own name by default
    args      its arguments; the runner replaces {daemon} and the like (world.py)
    steps     instead of args: the arguments of several jobs in turn; the last one decides
    bare      the account that succeeds without confinement: "user" (the default), "root" if the attack
              needs a right that no job starts with, "never" if every kernel refuses it
    neighbour the arguments of the same program as the job that runs at the same time; it makes the file
              {neighbour_secret} when it is ready
    needs     the runner must provide: "neighbour" (another job runs), "own_user" (the daemon runs as a
              user of its own), "own_uid" (slots have a uid each, which takes root), "few_watches" (the
              kernel grants a uid few epoll watches, which takes root), "usage" (something reads files of /usr/bin all the time); or the host
              must have: "group" (a control group, because nothing else holds the attack)
    limits    the limits of the job
    limit     the limit that the outcome names if a limit stopped the attack
    group     the limit with which a control group alone holds it, if the group has the controller
    verdict   "printed" (the default), or "outlives": the attack has succeeded if a process is left
    ends      "jail": a successful attack may end the jail, so that the job ends in an error
    open      why no layer holds it: the attack succeeds in spite of all of them
    arch      the only architecture on which it exists
    refused   a text that its output must contain when it is refused"""

import argparse
import platform
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "attacks"


@dataclass(frozen=True)
class Attack:
    name: str
    about: str
    source: str = ""
    args: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    neighbour: list = field(default_factory=list)
    bare: str = "user"
    needs: list = field(default_factory=list)
    limits: dict = field(default_factory=dict)
    limit: str | None = None
    group: str | None = None
    verdict: str = "printed"
    ends: str | None = None
    open: str | None = None
    arch: str | None = None
    refused: str | None = None

    @property
    def program(self):
        return self.source or self.name

    @property
    def turns(self):
        """The arguments of each job, in order."""
        return self.steps or [self.args]

    @property
    def is_here(self):
        return self.arch in (None, platform.machine())


def load():
    """Returns the attacks by name, in the order of the file."""
    with open(HERE / "manifest.toml", "rb") as file:
        return {name: Attack(name, **fields) for name, fields in tomllib.load(file).items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", action="store_true", required=True)
    parser.parse_args()
    elsewhere = {attack.program for attack in load().values() if not attack.is_here}
    print("\n".join(sorted({path.stem for path in SOURCES.glob("*.c")} - elsewhere)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
