#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that data goes down the layers and never up: which file may include which.

    check_includes.py [ROOT]

Prints each include that breaks a rule with file and line, and ends with 1 if there is one."""

import re
import sys
from pathlib import Path

# A file may include the headers of lines further down (and of its own line). The order is that in
# which a job meets them; see "How the code is laid out" in CONTRIBUTING.md.
DAEMON_STAGES = [
    {"main"},
    {"supervisor", "admission", "grading", "reload", "watch"},
    {"metrics"},
    {"status", "scrape", "service", "health"},
    {"listener"},
    {"stats", "joblog"},
    {"conn"},
    {"answer"},
    {"jobset"},
    {"job"},
    {"pool"},
    {"queue"},
    {"settings"},
    {"sandbox", "code_exec"},
    {"slot", "slot_report", "slot_parts"},
    {"slotjob"},
    {"score", "report"},
    {"outcome"},
    {"rubric"},
    {"confinement"},
    {"isolation"},
    {"probe"},
    {"packet"},
    {"leaf"},
    {"await", "capture", "checker_files", "extraction", "filter", "jailproc", "peer", "privileges", "roots", "timer"},
    {"cgroup", "cgroup_tree"},
    {"cgroup_place"},
    {"cgroup_text", "cgroup_file"},
    {"result"},
    {"launch"},
    {"jail/main", "jail/warm"},
    {"jail/jail"},
    {"jail/script", "jail/large"},
    {"jail/start"},
    {"jail/confine", "jail/lockdown"},
    {"jail/work"},
    {"jail/view"},
    {"jail/interpreter", "jail/link", "jail/children", "jail/cgroup_fork", "jail/wipe", "jail/landlock", "jail/mounts", "jail/pass"},
    {"jail/layers"},
    {"exposition"},
    {"histogram", "process", "recent"},
    {"log"},
    {"outlet", "record"},
    {"messages", "clock", "version", "environment", "events", "options"},
]

FOLDERS = {
    "proto": {"proto"},
    "conf": {"conf", "proto"},
    "client": {"client", "proto", "conf"},
    "daemon": {"daemon", "proto", "conf"},
}

# What a folder must not know, by the beginning of a system header's name.
FORBIDDEN = {
    "proto": ("event2/", "systemd/", "syslog.h", "ini.h", "sys/socket.h"),
    "conf": ("event2/", "systemd/", "syslog.h", "jansson.h"),
    "daemon/jail": ("event2/", "systemd/", "syslog.h", "jansson.h", "ini.h"),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def stage_of(name):
    """The line of DAEMON_STAGES of a file named relative to daemon/, without its ending."""
    for number, stage in enumerate(DAEMON_STAGES):
        if name in stage:
            return number
    return None


def resolve(root, includer, name):
    """The included file relative to ROOT: beside the includer, or from the top."""
    beside = (includer.parent / name).resolve()
    if beside.exists():
        return beside.relative_to(root).as_posix()
    return name


def judge_own(source, target):
    """What is wrong with SOURCE including TARGET, both relative to the root; None if nothing."""
    folder, other = source.split("/")[0], target.split("/")[0]
    if other not in FOLDERS[folder]:
        return f"{folder}/ may not include {other}/"
    if folder != "daemon" or other != "daemon":
        if source.startswith("daemon/jail/") and target not in (
            "proto/util.h",
            "proto/limits.h",
        ):
            return "the jail includes of proto/ only util.h and limits.h"
        return None
    stem, other_stem = (name[len("daemon/") :].rsplit(".", 1)[0] for name in (source, target))
    stage, other_stage = stage_of(stem), stage_of(other_stem)
    if stage is None:
        return f"daemon/{stem} stands in no stage of tests/check_includes.py"
    if other_stage is None:
        return f"daemon/{other_stem} stands in no stage of tests/check_includes.py"
    if other_stage < stage:
        return f"daemon/{stem} may not include daemon/{other_stem}: it is an earlier stage"
    return None


def judge_system(source, header):
    for folder, names in FORBIDDEN.items():
        if source.startswith(folder + "/") and header.startswith(names):
            return f"{folder}/ may not include <{header}>"
    return None


def check(root):
    """All broken rules beneath ROOT as (file, line, text), and how many includes were judged."""
    root = root.resolve()
    broken, judged = [], 0
    files = [f for folder in FOLDERS for f in sorted((root / folder).rglob("*.[ch]"))]
    for file in files:
        source = file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            judged += 1
            own, system = match.groups()
            wrong = judge_own(source, resolve(root, file, own)) if own else judge_system(source, system)
            if wrong:
                broken.append((source, number, wrong))
    return broken, judged


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    broken, judged = check(root)
    for source, number, wrong in broken:
        print(f"{source}:{number}: {wrong}")
    print(f"{judged} includes judged, {len(broken)} of them wrong")
    if judged == 0:
        print("nothing was judged: is this the right folder?")
    return 1 if broken or judged == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
