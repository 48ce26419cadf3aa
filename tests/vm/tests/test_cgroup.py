# SPDX-License-Identifier: MIT
"""Tests daemon/cgroup/cgroup.h with cgroup_probe.c under a real systemd, as an unprivileged user: in the
root of a delegated unit, in groups below it, and without delegation."""

import signal
import subprocess
from pathlib import Path

import pytest
from conftest import CGROUPS, PROBE, Unit, is_clean, run_probe, run_script

ALL = {"memory": 1, "pids": 1, "cpu": 1}
NONE = {"memory": 0, "pids": 0, "cpu": 0}
MIB = 1 << 20
DELEGATE = "set Delegate=yes in its unit, or start it with systemd-run --user --scope -p Delegate=yes"


def has(result):
    return {name: result[name] for name in ALL}


def values(text):
    """Parses a file of lines "key number"."""
    return {key: int(number) for key, number in (line.split() for line in text.splitlines())}


# --- the root of a delegated unit ---------------------------------------------------------------


def test_a_delegated_unit_has_everything():
    result = run_probe("--memory=64", "--pids=20", "--", "/bin/cat", "/proc/self/cgroup")
    assert result["open"] == 0 and result["fault"] == ""
    assert has(result) == ALL
    assert result["own_group"].strip().endswith(".service/daemon")
    assert sorted(result["groups"]) == ["daemon", "jobs"] and result["leaves"] == ["job-1"]
    assert result["exit"] == 0 and result["evidence"] == []
    assert result["output"].strip().endswith(".service/jobs/job-1")
    assert not result["must_enter"], "the job was cloned into its leaf"
    assert is_clean(result)


def test_the_leafs_files_say_what_was_asked_for():
    result = run_probe(
        "--memory=64", "--pids=20", "--cpu=150", "--", "/bin/sh", "-c",
        "cd /sys/fs/cgroup/$(sed -n 's/^0:://p' /proc/self/cgroup); grep . memory.max memory.oom.group"
        " pids.max cpu.max ../memory.swap.max",
    )  # fmt: skip
    assert result["output"].splitlines() == [
        f"memory.max:{64 * MIB}",
        "memory.oom.group:1",
        "pids.max:20",
        "cpu.max:150000 100000",
        "../memory.swap.max:0",
    ]


def test_no_limit_is_no_limit():
    result = run_probe(
        "--", "/bin/sh", "-c",
        "cd /sys/fs/cgroup/$(sed -n 's/^0:://p' /proc/self/cgroup); cat memory.max pids.max cpu.max",
    )  # fmt: skip
    assert result["output"].split() == ["max", "max", "max", "100000"]


def test_a_jail_with_one_mapped_user_clones_into_the_leaf():
    result = run_probe("--user-namespace", "--", "/bin/cat", "/proc/self/cgroup")
    assert result["fork_error"] == 0 and not result["must_enter"]
    assert result["exit"] == 0 and result["output"].strip().endswith("/jobs/job-1")
    assert is_clean(result)


def test_a_job_may_hide_its_place_once_it_is_there():
    result = run_probe("--user-namespace", "--hide", "--", "/bin/cat", "/proc/self/cgroup")
    assert result["exit"] == 0 and result["output"] == "0::/\n"


def test_a_jail_in_a_cgroup_namespace_is_refused():
    result = run_probe("--user-namespace", "--cgroup-namespace", "--", "/bin/true")
    assert result["fork_error"] == -2, "ENOENT, as the header warns"
    assert is_clean(result)


def test_where_clone3_is_taken_away_the_job_enters_by_itself():
    restrict = "RestrictNamespaces=user mnt net ipc uts"
    result = run_probe(
        "--user-namespace", "--memory=32", "--", PROBE, "eat", "48", "1", properties=[restrict]
    )
    assert result["must_enter"]
    assert result["signal"] == signal.SIGKILL and result["evidence"] == ["memory"]
    assert is_clean(result)


# --- limits that are reached --------------------------------------------------------------------


def test_memory_of_one_process():
    result = run_probe("--memory=32", "--", PROBE, "eat", "64", "1")
    assert result["signal"] == signal.SIGKILL and result["evidence"] == ["memory"]
    assert 31 * MIB <= result["memory_peak"] <= 32 * MIB
    assert is_clean(result)


def test_memory_of_many_processes_kills_them_all():
    """The whole job is killed: its first process, which uses almost no memory, would otherwise exit with
    status 3."""
    result = run_probe("--memory=32", "--", PROBE, "eat", "12", "4")
    assert result["signal"] == signal.SIGKILL and result["evidence"] == ["memory"]
    assert is_clean(result)


def test_memory_within_the_limit_is_no_evidence():
    result = run_probe("--memory=64", "--", PROBE, "eat", "8", "4")
    assert result["exit"] == 0 and result["evidence"] == []
    assert 32 * MIB <= result["memory_peak"] <= 64 * MIB


def test_a_large_file_in_the_page_cache_is_no_evidence():
    large = Path("/var/tmp/large")
    large.write_bytes(b"x" * (64 * MIB))
    try:
        subprocess.run(["sync"], check=True)
        Path("/proc/sys/vm/drop_caches").write_text("3")
        result = run_probe("--memory=16", "--", "/bin/dd", f"if={large}", "of=/dev/null", "bs=1M")
    finally:
        large.unlink()
    assert values(result["memory_events"])["max"] > 0, "the page cache reached the limit"
    assert result["exit"] == 0 and result["evidence"] == []


@pytest.fixture
def swap():
    file = Path("/swapfile")
    subprocess.run(["fallocate", "-l", "128M", file], check=True)
    file.chmod(0o600)
    subprocess.run(["mkswap", "-q", file], check=True)
    subprocess.run(["swapon", file], check=True)
    yield
    subprocess.run(["swapoff", file], check=True)
    file.unlink()


def test_swap_does_not_stretch_the_limit(swap):
    result = run_probe("--memory=32", "--", PROBE, "eat", "64", "1")
    assert result["signal"] == signal.SIGKILL and result["evidence"] == ["memory"]


def test_a_limit_of_the_unit_is_told_from_the_jobs_own():
    result = run_probe("--memory=512", "--", PROBE, "eat", "128", "1", properties=["MemoryMax=48M"])
    assert result["signal"] == signal.SIGKILL
    assert result["evidence"] == ["memory-outside"]
    assert is_clean(result)


def test_processes():
    result = run_probe("--pids=10", "--", PROBE, "forks", "20")
    assert result["exit"] == 11 and result["output"] == "9\n", "the job and 9 children"
    assert result["evidence"] == ["pids"]
    assert is_clean(result)


def test_processes_within_the_limit():
    result = run_probe("--pids=10", "--", PROBE, "forks", "9")
    assert result["exit"] == 0 and result["evidence"] == []


def test_a_tasks_limit_of_the_unit_is_told_from_the_jobs_own():
    result = run_probe("--pids=500", "--", PROBE, "forks", "30", properties=["TasksMax=15"])
    assert result["exit"] == 11
    assert result["evidence"] == ["pids-outside"]


def test_a_fork_bomb_is_killed():
    result = run_probe("--pids=64", "--kill-on-output", "--", PROBE, "bomb")
    assert result["signal"] == signal.SIGKILL and "pids" in result["evidence"]
    assert is_clean(result)


def test_strays_in_their_own_sessions_are_killed():
    result = run_probe("--kill-on-output", "--", PROBE, "strays", "5", "1")
    assert result["output"] == "ready\n" and result["signal"] == signal.SIGKILL
    assert result["evidence"] == []
    assert is_clean(result)


def test_strays_that_outlive_their_job_are_seen_and_killed():
    result = run_probe("--", PROBE, "strays", "5", "0")
    assert result["exit"] == 0
    assert result["populated"] == 1 and result["busy"] >= 1, "the leaf stays while strays live in it"
    assert is_clean(result)


def test_cpu_time_is_that_of_the_whole_tree():
    result = run_probe("--", PROBE, "spin", "400")
    assert result["exit"] == 0
    assert 800_000 <= result["cpu_us"] <= 2_000_000


def test_cpu_max_slows_the_job_down():
    result = run_probe("--cpu=25", "--", PROBE, "spin", "200")
    assert result["exit"] == 0
    assert result["wall_ms"] >= 1000, "0.4 s of CPU time at a quarter of a CPU, but for one period"


# --- groups below a unit's root -----------------------------------------------------------------

ENABLE = 'mkdir $G/outer; echo $$ >$G/outer/cgroup.procs; echo "+memory +pids +cpu" >$G/cgroup.subtree_control; '


def test_a_group_that_is_given_the_controllers():
    (result,) = run_script(
        ENABLE + "mkdir $G/inner; echo $$ >$G/inner/cgroup.procs;"
        "exec $P run --user-namespace --memory=32 -- $P eat 48 1"
    )
    assert result["open"] == 0 and has(result) == ALL and result["fault"] == ""
    assert result["own_group"].strip().endswith("/inner/daemon")
    assert result["evidence"] == ["memory"]
    assert is_clean(result)


def test_a_group_that_is_given_none_still_kills_and_counts():
    (result,) = run_script(
        "mkdir $G/inner; echo $$ >$G/inner/cgroup.procs;"
        "exec $P run --memory=8 --kill-on-output -- $P strays 3 1"
    )
    assert result["open"] == 0 and has(result) == NONE
    assert result["fault"].startswith("no controller memory, pids, cpu for jobs: the control group ")
    assert result["fault"].endswith(
        '/inner is given ""; set Delegate=yes in rubricd\'s unit, and have the groups between pass '
        "them on (cgroup.subtree_control)"
    )
    assert result["signal"] == signal.SIGKILL and result["cpu_us"] > 0
    assert result["memory_peak"] == -1
    assert is_clean(result)


def test_one_controller_alone():
    (result,) = run_script(
        "mkdir $G/outer; echo $$ >$G/outer/cgroup.procs; echo +pids >$G/cgroup.subtree_control;"
        "mkdir $G/inner; echo $$ >$G/inner/cgroup.procs;"
        "exec $P run --memory=8 --pids=5 -- $P forks 10"
    )
    assert has(result) == {"memory": 0, "pids": 1, "cpu": 0}
    assert result["fault"].startswith("no controller memory, cpu for jobs: ")
    assert 'is given "pids";' in result["fault"]
    assert result["exit"] == 11 and result["evidence"] == ["pids"]


def test_a_delegate_subgroup_named_daemon():
    """Does what DelegateSubgroup=daemon of systemd 254 does before it starts the program."""
    (result,) = run_script(
        "mkdir $G/daemon; echo $$ >$G/daemon/cgroup.procs;"
        "exec $P run --memory=32 -- $P eat 48 1"
    )
    assert result["open"] == 0 and has(result) == ALL and result["fault"] == ""
    assert result["own_group"].strip().endswith(".service/daemon")
    assert result["evidence"] == ["memory"]
    # The process stays in its group, since the module did not move it there.
    assert result["groups_after"] == ["daemon"] and result["subtree_control_after"].strip() == ""
    assert result["own_group_after"] == result["own_group"]


def test_a_killed_predecessors_jobs_are_killed_and_removed():
    """Two daemons use one group in succession; jobs of the first still run in between."""
    first, alive, second, gone = run_script(
        "mkdir $G/outer $G/daemon; echo $$ >$G/outer/cgroup.procs;"
        "(read -r self rest </proc/self/stat; echo $self >$G/daemon/cgroup.procs;"
        " exec $P run --pids=20 --abandon -- $P strays 3 1) || true;"
        "echo \"[$(tr '\\n' ' ' <$G/jobs/job-1/cgroup.procs | sed 's/ $//; s/ /,/g')]\";"
        "(read -r self rest </proc/self/stat; echo $self >$G/daemon/cgroup.procs;"
        " exec $P run --pids=20 -- /bin/true);"
        "[ -e $G/jobs ] && echo 1 || echo 0"
    )
    assert first["output"] == "ready\n"
    # The job's own process may die with its jail; its strays survive.
    assert len(alive) >= 3, "strays outlive the daemon"
    assert second["open"] == 0 and second["fault"] == ""
    assert second["leaves"] == ["job-1"], "the second daemon could reuse the name"
    assert second["exit"] == 0
    assert gone == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in alive)


def test_a_second_daemon_in_the_same_group_is_refused():
    lines = run_script(
        "mkdir $G/daemon; echo $$ >$G/daemon/cgroup.procs; mkfifo /tmp/hold-$$ /tmp/up-$$;"
        "$P run --wait </tmp/hold-$$ >/tmp/up-$$ & exec 9>/tmp/hold-$$ 8</tmp/up-$$;"
        "read -r line <&8; echo \"$line\"; ls $G/jobs >/dev/null; $P run -- /bin/true;"
        "ls -d $G/jobs >/dev/null; exec 9>&-; cat <&8; wait; rm /tmp/hold-$$ /tmp/up-$$"
    )
    first, second, end = lines
    assert first["open"] == 0 and end["open"] == 0
    assert second["open"] == -16
    assert second["fault"].startswith("another rubricd uses the control group /sys/fs/cgroup/")
    assert second["fault"].endswith(f"; give each a group of its own: {DELEGATE}")


# --- nothing is delegated -----------------------------------------------------------------------


def test_a_unit_without_delegation():
    result = run_probe("--", "/bin/true", delegate=False)
    assert result["open"] == -13
    assert result["fault"].startswith("the control group /sys/fs/cgroup/system.slice/vm-test-")
    uid = subprocess.run(["id", "-u", "tester"], capture_output=True, text=True).stdout.strip()
    assert result["fault"].endswith(
        f".service is not delegated to rubricd's user ({uid}): Permission denied; {DELEGATE}"
    )


def test_a_unit_with_other_processes_in_its_root():
    first, names, result, after = run_script(
        "echo 1; ls -d $G/daemon $G/jobs 2>/dev/null || echo 0;"
        "$P run -- /bin/true; ls -d $G/daemon $G/jobs 2>/dev/null || echo 0"
    )
    assert (first, names, after) == (1, 0, 0), "no group was created"
    assert result["open"] == -16
    assert " has other processes (" in result["fault"] and ", sh), which are not" in result["fault"]
    assert result["fault"].endswith(f"give it a group of its own: {DELEGATE}")
    assert result["own_group"].strip().endswith(".service"), "the process stays in the unit's group"


def test_control_groups_that_are_mounted_read_only():
    result = run_probe("--", "/bin/true", properties=["ProtectControlGroups=yes"])
    assert result["open"] == -30
    assert result["fault"].startswith("the control group /sys/fs/cgroup/system.slice/vm-test-")
    assert result["fault"].endswith(
        ".service is mounted read-only; set ProtectControlGroups=no in rubricd's unit, or mount it "
        "writable in the container"
    )


@pytest.mark.parametrize("property", ["TemporaryFileSystem=/sys/fs", "InaccessiblePaths=/sys/fs/cgroup"])
def test_control_groups_that_are_hidden(property):
    result = run_probe("--", "/bin/true", properties=[property])
    assert result["open"] == -2
    assert result["fault"].startswith("the control group /system.slice/vm-test-")
    assert result["fault"].endswith(
        ".service cannot be seen from here; mount cgroup2 at /sys/fs/cgroup"
    )


def test_no_cgroup2_mounted():
    unit = Unit(
        ["/bin/sh", "-c", f"umount -R /sys/fs/cgroup && exec setpriv --reuid=tester --regid=tester"
         f" --clear-groups {PROBE} run -- /bin/true"],
        "PrivateMounts=yes", user=None,
    )  # fmt: skip
    (result,) = unit.lines()
    assert result["open"] == -2
    assert result["fault"].endswith("cannot be seen from here; mount cgroup2 at /sys/fs/cgroup")


def test_the_remedy_for_users_works():
    """The error messages recommend this to users without a unit."""
    uid = subprocess.run(["id", "-u", "tester"], capture_output=True, text=True).stdout.strip()
    subprocess.run(["systemctl", "start", f"user@{uid}.service"], check=True)
    command = f"exec systemd-run --quiet --user --scope -p Delegate=yes {PROBE} run --memory=32 -- {PROBE} eat 48 1"
    unit = Unit(
        ["/bin/sh", "-c", command],
        f"Environment=XDG_RUNTIME_DIR=/run/user/{uid}", delegate=False,
    )  # fmt: skip
    (result,) = unit.lines()
    assert result["open"] == 0 and result["fault"] == ""
    assert ".scope/daemon" in result["own_group"]
    assert result["evidence"] == ["memory"]
    assert is_clean(result)


# --- cost --------------------------------------------------------------------------------------


def test_cost(record_property):
    """Records the cost without judging it: the machine is emulated, so only ratios mean anything."""
    (cost,) = Unit([PROBE, "bench", "100"]).lines()
    for name, microseconds in cost.items():
        record_property(name, microseconds)
    assert all(number > 0 for number in cost.values())


# --- afterwards ---------------------------------------------------------------------------------


def test_no_group_is_left():
    left = [path for path in CGROUPS.rglob("*") if path.is_dir() and path.name in ("jobs", "daemon")]
    left += list(CGROUPS.rglob("job-*")) + list(CGROUPS.rglob("vm-test-*"))
    assert left == []
