#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that includes go down the rooms: no upward arrow, no circle between files or rooms.

    check_includes.py [--graph] [ROOT]

A room is a folder. ROOMS lists them from top to bottom; a file may include files of its own room and
of rooms further down. Prints each include that breaks a rule with file and line, and ends with 1 if
there is one. --graph prints each room with its floor and the rooms that it includes."""

import re
import sys
from pathlib import Path

# Two programs use the same two libraries. A file that lies directly in client/ or daemon/ belongs to the
# top room of that program.
CLIENT = [
    "client",
    "client/commands",
    "client/report",
    "client/grade",
    "client/batch",
    "client/program",
    "client/connection",
    "client/cli",
    "client/terminal",
]
DAEMON = [
    "daemon",
    "daemon/supervisor",
    "daemon/observe",
    "daemon/net",
    "daemon/jobs",
    "daemon/kinds",
    "daemon/compare",
    "daemon/pool",
    "daemon/confine",
    "daemon/cgroup",
    "daemon/languages",
    "daemon/log",
    "daemon/idmap",
    "daemon/jail",
    "daemon/base",
]
# The gateway talks to the daemon as rubricctl does.
HTTP = ["client/http", *CLIENT[CLIENT.index("client/connection") :]]
# The fleet has commands of rubricctl in it, with something else than a daemon behind them.
FLEET = ["client/fleet", *CLIENT[CLIENT.index("client/commands") :]]
LIBRARIES = ["conf", "rubricdir", "proto"]
PROGRAMS = [CLIENT + LIBRARIES, HTTP + LIBRARIES, FLEET + LIBRARIES, DAEMON + LIBRARIES]
ROOMS = ["client/http", "client/fleet"] + CLIENT + DAEMON + LIBRARIES

# The jail is linked with libc alone, so it may include only these headers from the rooms below it.
JAIL = "daemon/jail"
JAIL_MAY_INCLUDE = {"daemon/base/clock.h", "proto/limits.h", "proto/util.h"}

# Prefixes of the system headers that a room must not include.
FORBIDDEN = {
    "proto": ("event2/", "systemd/", "syslog.h", "ini.h", "sys/socket.h"),
    "conf": ("event2/", "systemd/", "syslog.h", "jansson.h"),
    "daemon/compare": ("event2/", "systemd/", "syslog.h", "jansson.h", "ini.h", "sys/socket.h"),
    JAIL: ("event2/", "systemd/", "syslog.h", "jansson.h", "ini.h"),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def room_of(name):
    """Returns the room of a file named relative to the root, or None if no room has that name."""
    room = name.rpartition("/")[0]
    return room if room in ROOMS else None


def resolve(root, includer, name):
    """Returns the included file relative to ROOT: in the includer's directory, or from the top."""
    beside = includer.parent / name
    return beside.relative_to(root).as_posix() if beside.exists() else name


def judge_own(source, target):
    """Returns the rule that SOURCE breaks by including TARGET, or None. Both are relative to the root."""
    room, other = room_of(source), room_of(target)
    if room is None or other is None:
        unknown = source if room is None else target
        return f"{unknown} lies in no room of tests/check_includes.py"
    if room == other:
        return None
    if not any(room in program and other in program for program in PROGRAMS):
        return f"{room} may not include {other}: it is no part of the same program"
    if ROOMS.index(other) < ROOMS.index(room):
        return f"{room} may not include {other}: that room is above it"
    if room == JAIL and target not in JAIL_MAY_INCLUDE:
        return f"the jail may include of other rooms only {', '.join(sorted(JAIL_MAY_INCLUDE))}"
    return None


def judge_system(source, header):
    """Returns the rule that SOURCE breaks by including <HEADER>, or None."""
    names = FORBIDDEN.get(room_of(source), ())
    return f"{room_of(source)} may not include <{header}>" if header.startswith(names) else None


def read_includes(root):
    """Yields each include of the rooms as (source, line, own target or None, system header or None)."""
    tops = sorted({room.split("/")[0] for room in ROOMS})
    for file in (f for top in tops for f in sorted((root / top).rglob("*.[ch]"))):
        source = file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                own, system = match.groups()
                yield source, number, own and resolve(root, file, own), system


def arrows_between(includes, key):
    """Returns {node: set of nodes that it includes}. KEY maps a file's name to its node."""
    arrows = {}
    for source, _, target, _ in includes:
        if key(source) is None:
            continue
        arrows.setdefault(key(source), set())
        if target and key(target) and key(target) != key(source):
            arrows[key(source)].add(key(target))
            arrows.setdefault(key(target), set())
    return arrows


def find_circles(arrows):
    """Returns the sets of nodes that reach each other (strongly connected components of two or more)."""
    index, low, stack, circles = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows[node]):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            circle = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(circle) > 1:
                circles.append(sorted(circle))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return circles


def floors_of(arrows):
    """Returns {node: floor}: 0 for a node that includes nothing, else one above the highest it includes."""
    floors = {}

    def floor(node):
        if node not in floors:
            floors[node] = 1 + max((floor(other) for other in arrows[node]), default=-1)
        return floors[node]

    for node in arrows:
        floor(node)
    return floors


def module_of(name):
    """Returns the module of a file: X.c, X.h and X_private.h are one module."""
    return name.rpartition(".")[0].removesuffix("_private")


def check(root):
    """Returns all broken rules under ROOT as texts, and the includes that were checked."""
    root = root.resolve()
    includes = list(read_includes(root))
    broken = []
    for source, number, own, system in includes:
        wrong = judge_own(source, own) if own else judge_system(source, system)
        if wrong:
            broken.append(f"{source}:{number}: {wrong}")
    for key, what in ((module_of, "files"), (room_of, "rooms")):
        for circle in find_circles(arrows_between(includes, key)):
            broken.append(f"a circle of {what}: {' '.join(circle)}")
    return broken, includes


def print_graph(includes):
    """Each program's rooms from its highest floor down, with the rooms that each includes."""
    arrows = arrows_between(includes, room_of)
    modules = {room: len({module_of(s) for s, *_ in includes if room_of(s) == room}) for room in ROOMS}
    for program in (DAEMON, CLIENT, HTTP, FLEET):
        inside = {room: arrows[room] & set(program) for room in program}
        floors = {} if find_circles(inside) else floors_of(inside)
        upward = sum(program.index(o) < program.index(room) for room in program for o in inside[room])
        print(
            f"{program[0]}/: {len(program)} rooms, {len(set(floors.values()))} floors, "
            f"{sum(map(len, inside.values()))} arrows, {len(find_circles(inside))} circles, "
            f"{upward} upward"
        )
        for room in program:
            below = [other for other in program if other in inside[room]]
            below += [other for other in LIBRARIES if other in arrows[room]]
            print(f"  {floors.get(room, '?'):>2}  {room:<18} {modules[room]:>2} files -> {' '.join(below)}")
    print("libraries:")
    for room in LIBRARIES:
        print(f"      {room:<18} {modules[room]:>2} files -> {' '.join(sorted(arrows[room]))}")


def main():
    arguments = sys.argv[1:]
    graph = "--graph" in arguments
    roots = [argument for argument in arguments if argument != "--graph"]
    root = Path(roots[0]) if roots else Path(__file__).resolve().parents[1]
    broken, includes = check(root)
    if graph:
        print_graph(includes)
    print("\n".join(broken) if broken else "no upward arrow, no circle")
    print(f"{len(includes)} includes judged, {len(broken)} of them wrong")
    if not includes:
        print("nothing was judged: is this the right folder?")
    return 1 if broken or not includes else 0


if __name__ == "__main__":
    sys.exit(main())
