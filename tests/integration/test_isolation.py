# SPDX-License-Identifier: MIT
"""What a rubric gets and what it leaves behind: its environment, its descriptors, its directory, and the
digest that says which scores can be compared. The tests run with and without namespaces."""

import errno
import json
import os
import pwd
import signal
import subprocess
import tempfile
from pathlib import Path

import conftest
import pytest
from conftest import (
    ACCOUNT,
    ALL_LAYERS,
    BARE,
    CEILINGS,
    DEFAULTS,
    NO_USER_NAMESPACES,
    PASSING,
    REPORT,
    RUBRICD,
    give_to_account,
    open_up,
    seen,
    wait_until,
)

SHM = "/dev/shm"

SCRUBBED = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8",
}

SECRET = "sk-ant-secret-do-not-leak"
FULL_ENVIRONMENT = {
    **os.environ,
    "ANTHROPIC_API_KEY": SECRET,
    "OPENAI_API_KEY": SECRET,
    "AWS_ACCESS_KEY_ID": SECRET,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "GITHUB_TOKEN": SECRET,
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/sh",
    "PATH": "/tmp:/usr/local/bin:/usr/bin:/bin",
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "C",
    "TZ": "Asia/Tokyo",
    "LD_LIBRARY_PATH": "/tmp",
    "LD_BIND_NOW": "1",
    "PYTHONPATH": "/tmp",
    "PYTHONHASHSEED": "7",
    "PYTHONSTARTUP": "/tmp/startup.py",
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONIOENCODING": "latin-1",
    "__CF_USER_TEXT_ENCODING": "0x0",
}


@pytest.fixture(name="shape", params=[ALL_LAYERS, NO_USER_NAMESPACES])
def choose_shape(request):
    return conftest.make_shape(request.param) if request.param else conftest.Shape()


# Tests whose outcome does not depend on the jail run in one shape only.
in_one_shape = pytest.mark.parametrize("shape", [None], indirect=True)


def digest(daemon):
    with daemon.connect() as client:
        return client.hello["isolation"]["digest"]


@pytest.fixture(scope="module", name="new_directory")
def make_directories_in_memory():
    """Directories in memory that everybody may enter, like /run, where the service has its work directory.
    There a job creates thousands of files quickly."""
    with tempfile.TemporaryDirectory(prefix="rubricd-", dir=SHM if os.access(SHM, os.W_OK) else None) as top:
        Path(top).chmod(0o755)

        def make():
            place = Path(tempfile.mkdtemp(dir=top))
            place.chmod(0o755)
            return place

        yield make


@pytest.fixture(name="place")
def make_place(new_directory):
    return new_directory()


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


# The environment


# The environment as Python sees it and as libc got it; /proc is not always there to read.
ENVIRONMENT = REPORT + """
import ctypes
entries = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
initial = []
while entries[len(initial)]: initial.append(entries[len(initial)].decode())
report(environ=dict(os.environ), initial=initial)
"""


def test_environment_has_exactly_four_keys(client, bench):
    got = seen(client.run(bench.job(ENVIRONMENT)))
    assert got["environ"] == SCRUBBED
    assert got["initial"] == [f"{key}={value}" for key, value in SCRUBBED.items()]


def test_nothing_of_a_full_environment_gets_through(start_daemon, bench):
    with start_daemon(env=FULL_ENVIRONMENT).connect() as client:
        assert seen(client.run(bench.job(ENVIRONMENT)))["environ"] == SCRUBBED


def test_an_empty_environment_changes_nothing(start_daemon, bench):
    with start_daemon(env={}).connect() as client:
        assert seen(client.run(bench.job(ENVIRONMENT)))["environ"] == SCRUBBED


def test_a_credential_cannot_be_read(start_daemon, bench):
    """The test of the seed. A rubric writes what it finds of the key to stderr and into the detail."""
    daemon = start_daemon(env=FULL_ENVIRONMENT)
    with daemon.connect() as client:
        result = client.run(
            bench.job(
                "import os, sys, json;"
                "keys = sorted(os.environ.keys());"
                "leak = os.environ.get('ANTHROPIC_API_KEY');"
                "sys.stderr.write(json.dumps({'keys': keys, 'leak': leak}));"
                "sys.exit(2)"
            )
        )
    assert result["score"]["failure_modes"] == [
        {
            "code": "rubric.malformed_output",
            "severity": "block",
            "detail": json.dumps({"keys": sorted(SCRUBBED), "leak": None}),
        }
    ]


HUNT = REPORT + """
case = json.load(sys.stdin)["case"]
secret = case["backwards"][::-1].encode()
found, readable = [], []
try: pids = [pid for pid in os.listdir("/proc") if pid.isdigit()]
except OSError: pids = []
for pid in pids:
    for name in "environ", "cmdline":
        try:
            if secret in open(f"/proc/{pid}/{name}", "rb").read():
                found.append(f"{pid} {name}")
            readable.append(int(pid))
        except OSError:
            pass
report(found=found, itself=os.getpid() in readable, jail=os.getppid() in readable)
"""


@pytest.mark.parametrize("shape", [ALL_LAYERS, NO_USER_NAMESPACES, BARE], indirect=True)
def test_a_credential_is_in_no_environment_that_a_rubric_can_read(start_daemon, bench):
    """A rubric that has a /proc finds none in the environment of its jail, the daemon or other processes."""
    daemon = start_daemon(env=FULL_ENVIRONMENT)
    has_proc = daemon.has_view() or "filesystem" not in daemon.layers()
    with daemon.connect() as client:
        got = seen(client.run(bench.job(HUNT, case={"backwards": SECRET[::-1]})))
    # Where a jail's /proc/PID is visible, anybody may read its command line.
    assert (got["found"], got["itself"]) == ([], has_proc)
    assert got["jail"] == ("filesystem" not in daemon.layers())
    for jail in daemon.jails():
        try:
            # Zeros if the jail still has the daemon's environment block, which the daemon has wiped.
            assert Path(f"/proc/{jail}/environ").read_bytes().strip(b"\0") == b""
        except PermissionError:
            assert os.geteuid() != 0


def test_a_credential_is_in_no_reply_and_no_log(start_daemon, bench):
    """This holds for every request, and however a rubric ends that prints all it knows."""
    daemon = start_daemon("daemon.log_level=debug", env=FULL_ENVIRONMENT)
    tell = (
        "import os, sys\n"
        "sys.stderr.write(repr(dict(os.environ)))\n"
        "for pid in 'self', os.getppid():\n"
        "    try: sys.stderr.write(open(f'/proc/{pid}/environ').read())\n"
        "    except OSError: pass\n"
    )
    sleep = "import time; time.sleep(60)"
    endings = [PASSING, "print('nonsense')", "sys.exit(3)", "os.abort()", sleep]
    with daemon.connect() as client:
        heard = [client.hello]
        for code in endings:
            case = {"rubric_wall_clock_seconds": 0.3}
            heard.append(client.run(bench.job(tell + code, case=case)))
        heard.append(client.run(bench.job(name="absent")))
        heard.append(client.run({"kind": "rubric"}, check=False))
        heard.append(client.status())
    types = [message["type"] for message in heard]
    assert types == ["hello", *["result"] * 5, "error", "error", "status"]
    assert SECRET not in json.dumps(heard)
    assert SECRET not in daemon.log()


@in_one_shape
def test_a_request_cannot_add_to_the_environment(client, bench):
    error = client.run(bench.job(PASSING, env={"EVIL": "1"}), check=False)
    assert (error["code"], error["message"]) == ("bad_request", "job.env: unknown field")


@pytest.mark.parametrize(
    "entry", ["PATH=/tmp", "LANG=C", "PYTHONHASHSEED=1", "LD_PRELOAD=/tmp/x.so"]
)
def test_the_configuration_cannot_change_the_four(entry):
    """Nor can it add variables that affect the start of the interpreter."""
    done = subprocess.run(
        [RUBRICD, "--config=/dev/null", f"--set=isolation.env_allow={entry}", "--check-config"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 78
    assert "env_allow" in done.stderr


def test_env_allow_adds_a_key(start_daemon, bench):
    allowing = start_daemon("isolation.env_allow=TZ=Europe/Berlin")
    with allowing.connect() as client:
        got = seen(client.run(bench.job(ENVIRONMENT)))
    assert got["environ"] == {**SCRUBBED, "TZ": "Europe/Berlin"}
    digests = {
        digest(allowing),
        digest(start_daemon()),
        digest(start_daemon("isolation.env_allow=TZ=Asia/Tokyo")),
    }
    assert len(digests) == 3, "the digest covers key and value"


# The digest


@in_one_shape
def test_equal_configurations_have_equal_digests(start_daemon):
    """The digest covers neither unrelated settings nor the daemon's environment."""
    one = start_daemon()
    other = start_daemon("daemon.slots=1", "queue.jobs=300", env=FULL_ENVIRONMENT)
    assert len(digest(one)) == 64 and set(digest(one)) <= set("0123456789abcdef")
    assert digest(one) == digest(other)


@in_one_shape
def test_every_limit_and_ceiling_is_in_the_digest(start_daemon):
    settings = ["rubric.wall_clock_ceiling=299s", "code_exec.wall_clock_ceiling=29s"]
    for kind, defaults in DEFAULTS.items():
        if kind != "session":  # no score comes from one
            settings += [f"{kind}.{key}={value - 1}" for key, value in defaults.items()]
    settings += [f"ceilings.{key}={value + 1}" for key, value in CEILINGS.items()]
    # Without zygotes, which cost most of the time. All of these digests say so.
    digests = [digest(start_daemon("warm.use=no", *setting)) for setting in [[], *([each] for each in settings)]]
    assert len(set(digests)) == len(settings) + 1


@in_one_shape
def test_the_interpreter_and_its_version_are_in_the_digest(start_daemon, tmp_path):
    interpreter = tmp_path / "python"

    def with_version(version):
        interpreter.write_text(
            f'#!/bin/sh\n[ "$1" = -V ] && echo "Python {version}" && exit\n'
            'exec /usr/bin/python3 "$@"\n'
        )
        interpreter.chmod(0o755)
        return digest(start_daemon(f"rubric.interpreter={interpreter}", shown))

    shown = f"isolation.readable={interpreter}"
    first, second, again = with_version("9.9.8"), with_version("9.9.9"), with_version("9.9.8")
    assert first != second
    assert first == again
    assert first != digest(start_daemon(shown))


def test_what_is_readable_beneath_var_tmp(start_daemon):
    """The job sees the directory at its path, and the daemon creates nothing for it elsewhere on the host:
    in a job's view /var/tmp is another name of /tmp."""
    with tempfile.TemporaryDirectory(prefix="rubricd-readable-", dir="/var/tmp") as place:
        open_up(Path(place))
        (Path(place) / "file").write_text("shown")
        (Path(place) / "file").chmod(0o644)
        daemon = start_daemon(f"isolation.readable={place}")
        with daemon.connect() as client:
            answer = client.run({"kind": "sandbox", "argv": ["/bin/cat", f"{place}/file"]})
        assert answer["stdout"] == "shown", answer
        assert not (Path("/tmp") / Path(place).name).exists()


def test_the_digest_does_not_differ_between_jobs(client, bench):
    """Neither a job's own timeout or limits nor the way it ends change the digest."""
    jobs = [
        bench.job(PASSING),
        bench.job(PASSING, case={"rubric_wall_clock_seconds": 5}),
        bench.job(PASSING, limits={"cpu": 5, "memory_bytes": 512 << 20, "max_open_files": 64}),
        bench.job("import os; os.abort()"),
        bench.job(name="class-1", sut={"status": "timeout"}),
    ]
    isolation = client.hello["isolation"]
    assert isolation["class"] == "subprocess"
    assert {"env", "tempdir", "rlimits", "no_new_privs", "tree_kill"} <= set(isolation["layers"])
    for job in jobs:
        assert client.run(job)["isolation"] == isolation


# The process


PROCESS = REPORT + """
import ctypes, signal
def is_open(fd):
    try: os.fstat(fd); return True
    except OSError: return False
report(fds=[fd for fd in range(256) if is_open(fd)], flags=sys.flags.no_user_site,
       argv=len(sys.argv), leader=os.getpid() == os.getpgrp(),
       session={os.getpid(): "its own", os.getppid(): "the jail's"}.get(os.getsid(0)),
       bytecode=sys.dont_write_bytecode, executable=sys.executable,
       blocked=len(signal.pthread_sigmask(signal.SIG_BLOCK, [])), umask=os.umask(0),
       no_new_privs=ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))
"""


def test_a_rubric_has_three_descriptors_and_a_process_group_of_its_own(client, bench):
    shares_a_session = {"landlock", "filesystem"} <= set(client.hello["isolation"]["layers"])
    assert seen(client.run(bench.job(PROCESS))) == {
        "fds": [0, 1, 2],
        "flags": 1,
        "argv": 1,
        "leader": True,
        "session": "the jail's" if shares_a_session else "its own",
        "bytecode": True,
        "executable": "/usr/bin/python3",
        "blocked": 0,
        "no_new_privs": 1,
        "umask": 0o022,
    }


# The kernel refuses a second change of any group within 0.1 s.
WEIGH_LESS = REPORT + """
import errno, time
def weight():
    try: return open("/proc/self/autogroup").read().split()[1:]
    except PermissionError: return ["hidden"]
told, end = None, time.monotonic() + 10
while told is None:
    try:
        with open("/proc/self/autogroup", "r+") as group:
            group.write("19")
        told = "written"
    except OSError as error:
        if error.errno != errno.EAGAIN or time.monotonic() > end:
            told = errno.errorcode[error.errno]
report(told=told, weight=weight())
"""


@pytest.mark.parametrize("settings", [[], ["isolation.without=landlock", "isolation.require=env"]])
def test_a_job_cannot_lower_the_weight_of_later_jobs(start_daemon, bench, shape, settings):
    """The kernel schedules each session as a group, and any process of the group may lower its weight."""
    if not os.path.exists("/proc/self/autogroup"):
        pytest.skip("this kernel has no groups of sessions")
    with start_daemon("daemon.slots=1", *settings).connect() as client:
        layers, (slot,) = client.hello["isolation"]["layers"], client.status()["slots"]
        told = seen(client.run(bench.job(WEIGH_LESS), id="attack"))
        if "landlock" not in layers:
            assert told == {"told": "written", "weight": ["nice", "19"]}, "it is the job's own group"
        elif "mount_namespace" in layers:
            assert told == {"told": "EACCES", "weight": ["nice", "0"]}
        else:
            assert told == {"told": "EACCES", "weight": ["hidden"]}
        group = Path(f"/proc/{slot['jail_pid']}/autogroup").read_text()
        assert group.split()[1:] == ["nice", "0"], "the jail keeps its weight"


ASK_FOR_LESS = REPORT + """
import os, subprocess
def told(): return os.getpriority(0, 0), os.sched_getscheduler(0)
before, after = told(), [os.nice(5)]
os.setpriority(0, 0, 19)
for policy in os.SCHED_BATCH, os.SCHED_IDLE | os.SCHED_RESET_ON_FORK:
    os.sched_setscheduler(0, policy, os.sched_param(0))
after.append(told())
programs = {}
for program in "nice -n 5", "renice -n 5 -p 0", "ionice -c 3", "chrt --idle 0", "chrt --batch 0":
    argv = program.split() + ([] if "-p" in program else [os.sys.executable, "-c", "import os; print(os.nice(0), os.sched_getscheduler(0))"])
    done = subprocess.run(argv, capture_output=True, text=True)
    programs[program] = [done.returncode, done.stdout if "renice" not in program else "", done.stderr]
refused = {}
for policy in os.SCHED_FIFO, os.SCHED_RR:
    try: os.sched_setscheduler(0, policy, os.sched_param(1))
    except OSError as error: refused[policy] = error.errno
try: os.nice(-20)
except OSError as error: refused["nice"] = error.errno
report(before=before, after=after, programs=programs, refused=refused)
"""


def test_programs_that_ask_for_a_lower_priority_keep_theirs(lend, bench):
    daemon = lend()
    with daemon.connect() as client:
        if "seccomp" not in client.hello["isolation"]["layers"]:
            pytest.skip("it takes the layer seccomp")
        told = seen(client.run(bench.job(ASK_FOR_LESS)))
    nice, policy = told["before"]
    assert told["after"] == [nice, [nice, policy]]
    for program, ending in told["programs"].items():
        assert ending == [0, "" if "renice" in program else f"{nice} {policy}\n", ""], program
    assert told["refused"] == {"1": errno.EPERM, "2": errno.EPERM, "nice": errno.EPERM}


@in_one_shape
def test_the_interpreter_is_not_looked_up_through_path(start_daemon, bench, tmp_path):
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\nexit 42\n")
    fake.chmod(0o755)
    with start_daemon(env={**os.environ, "PATH": str(tmp_path)}).connect() as client:
        assert client.run(bench.job(PASSING))["score"]["passed"] is True


# The directory


CWD = REPORT + """
here = os.stat(".")
mine = here.st_uid == os.geteuid()
report(cwd=os.getcwd(), mode=here.st_mode, mine=mine, entries=os.listdir("."))
open("left", "w").write("x")
"""


def test_the_directory_is_fresh_private_and_gone(client, bench, daemon):
    """Three jobs in turn leave a file each. No job sees another's file, and no file stays."""
    job = bench.job(CWD)
    runs = [seen(client.run(job, id=f"job-{n}")) for n in range(3)]
    for got in runs:
        assert got["mode"] == 0o40700
        assert got["mine"] is True
        assert got["entries"] == []
    # With a view all jobs have the same path in turn, each with an empty directory. Without, paths differ.
    cwds = [got["cwd"] for got in runs]
    if daemon.has_view():
        assert cwds == ["/work"] * 3
    else:
        assert len(set(cwds)) == 3
        assert not any(map(os.path.exists, cwds))
    assert daemon.leftovers() == []


CLUTTER = {
    "a file": "open('x', 'w').write('x' * 100000)",
    "directories 1,000 deep": """
for _ in range(1000):
    os.mkdir("d" * 50)
    os.chdir("d" * 50)
    open("f", "w").close()
""",
    "directories 1,000 deep that nobody may enter": """
for _ in range(1000):
    os.mkdir("d")
    os.chdir("d")
for _ in range(1000):
    os.chdir("..")
    os.chmod("d", 0)
""",
    "directories of mode 000": """
for name in "a", "b", "c":
    os.makedirs(f"{name}/{name}/{name}")
    open(f"{name}/{name}/{name}/f", "w").close()
    os.chmod(f"{name}/{name}/{name}", 0)
    os.chmod(f"{name}/{name}", 0)
    os.chmod(name, 0)
os.chmod(".", 0)
""",
    "links that lead out": """
os.symlink(case["target"], "directory")
os.symlink(case["target"] + "/precious", "file")
os.symlink("/", "root")
os.symlink("..", "parent")
os.symlink("loop", "loop")
os.mkdir("sub")
os.symlink("../..", "sub/up")
os.symlink(case["target"], "sub/directory")
attempt(os.link, case["target"] + "/precious", "hard")
""",
    "special files": """
import stat
os.mkfifo("fifo")
os.mknod("socket", stat.S_IFSOCK | 0o600)
os.mkdir("sub")
os.mkfifo("sub/fifo")
""",
    "10,000 files": """
for n in range(10000):
    os.close(os.open(f"f{n}", os.O_CREAT))
""",
    "a wide tree": """
for n in range(300):
    os.makedirs(f"{n}/a/b")
    os.makedirs(f"{n}/c")
    open(f"{n}/a/b/f", "w").close()
""",
    "odd names": """
for name in b"new\\nline", b"\\xff\\xfe", b" ", b"-rf", b"*", b"\\\\", b"...", b"\\x01", b"n" * 255:
    open(name, "w").close()
    os.makedirs(b"sub/" + name + b"/" + name)
""",
    "names that a cleaner might use itself": """
for n in range(20):
    os.makedirs(f".wiped-{n}/.wiped-{n}/.wiped-{n}")
    os.makedirs(f"a/{n}/.wiped-{n}")
for n in range(20, 40):
    open(f".wiped-{n}", "w").close()
""",
    "a directory that was removed": "attempt(os.rmdir, os.getcwd())",
    "a directory that was renamed": "attempt(os.rename, os.getcwd(), os.getcwd() + '-renamed')",
    "a directory that a link replaces": """
cwd = os.getcwd()
attempt(os.rename, cwd, cwd + "-renamed")
attempt(os.symlink, case["target"], cwd)
""",
}

# attempt() is for steps that a layer may refuse.
FILL = """
import json, os, sys
case = json.load(sys.stdin)["case"]
def attempt(call, *arguments):
    try: call(*arguments)
    except OSError: pass
"""


@pytest.fixture(name="target")
def make_target(place):
    target = place / "target"
    target.mkdir(mode=0o755)
    (target / "precious").write_text("precious")
    give_to_account(target)
    give_to_account(target / "precious")
    return target


def assert_untouched(target):
    assert [path.name for path in target.iterdir()] == ["precious"]
    assert (target / "precious").read_text() == "precious"
    assert (target / "precious").stat().st_nlink == 1
    assert target.stat().st_mode & 0o7777 == 0o755


def assert_clutter_goes(clutter, daemon, bench, target):
    job = bench.job(FILL + CLUTTER[clutter] + "\n" + PASSING, case={"target": str(target)})
    with daemon.connect() as client:
        result = client.run(job)
        assert result["score"]["passed"] is True, result
        assert daemon.leftovers() == []
        assert_untouched(target)
        assert seen(client.run(bench.job(CWD)))["entries"] == [], "the slot runs the next job"


@pytest.mark.parametrize("clutter", CLUTTER)
def test_a_cluttered_directory_is_gone(clutter, bench, daemon, target):
    assert_clutter_goes(clutter, daemon, bench, target)


@pytest.mark.parametrize("shape", [BARE], indirect=True)
@pytest.mark.parametrize("clutter", [name for name in CLUTTER if "attempt" in CLUTTER[name]])
def test_clutter_that_no_layer_prevents_is_gone(clutter, bench, daemon, target):
    assert_clutter_goes(clutter, daemon, bench, target)


def test_a_slot_survives_a_change_of_its_directorys_mode(client, bench, daemon):
    """A job that takes away access to its parent directory, where it can, does not harm later jobs."""
    first = client.run(bench.job(FILL + "attempt(os.chmod, '..', 0)\n" + PASSING))
    assert first["score"]["passed"] is True
    for n in range(4):
        result = client.run(bench.job(PASSING), id=f"next-{n}")
        assert result["type"] == "result", result
        assert result["score"]["passed"] is True
    assert daemon.leftovers() == []


ENDINGS = {
    "success": (PASSING, []),
    "failure": ("sys.exit(3)", ["rubric.malformed_output"]),
    "crash": ("os.abort()", ["rubric.malformed_output"]),
    "timeout": ("import time; time.sleep(60)", ["rubric.timeout"]),
    "output": ("while True: os.write(1, bytes(65536))", ["rubric.malformed_output"]),
}

# Much of the above in one job, in sibling directories.
HOSTILE = "top = os.getcwd()\n" + "".join(
    f"os.mkdir('part'); os.chdir('part')\n{CLUTTER[name]}\n"
    f"os.chdir(top); os.rename('part', {name!r})\n"
    for name in (
        "directories 1,000 deep",
        "directories of mode 000",
        "links that lead out",
        "special files",
        "a wide tree",
        "odd names",
    )
)
HOSTILE_AND_READY = HOSTILE + "open('ready', 'w').close()\nimport time; time.sleep(60)"


def wait_for_ready(daemon):
    wait_until(lambda: "ready" in daemon.files(), "the directory is full")


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_directory_is_gone_whatever_the_end(ending, client, bench, daemon, target):
    code, failure_modes = ENDINGS[ending]
    case = {"target": str(target), "rubric_wall_clock_seconds": 2 if ending == "timeout" else 60}
    result = client.run(bench.job(FILL + HOSTILE + code, case=case))
    assert daemon.leftovers() == []
    assert_untouched(target)
    assert result["type"] == "result", result
    assert [mode["code"] for mode in result["score"]["failure_modes"]] == failure_modes, result


def client_status(daemon):
    with daemon.connect() as other:
        return other.status()


def test_the_directory_is_gone_when_the_jail_was_killed(client, bench, daemon, target):
    client.submit("job", bench.job(FILL + HOSTILE_AND_READY, case={"target": str(target)}))
    wait_for_ready(daemon)
    (jail,) = (slot["jail_pid"] for slot in client_status(daemon)["slots"] if slot["job"])
    os.kill(jail, signal.SIGKILL)
    error = client.recv_answer("job")
    assert daemon.leftovers() == []
    assert_untouched(target)
    assert (error["type"], error.get("code")) == ("error", "sandbox_failed"), error


def test_the_directory_is_gone_when_a_job_is_cancelled(client, bench, daemon, target):
    client.submit("job", bench.job(FILL + HOSTILE_AND_READY, case={"target": str(target)}))
    started = client.recv()
    wait_for_ready(daemon)
    client.send({"type": "cancel", "id": "job"})
    answer = client.recv_answer("job")
    assert daemon.leftovers() == []
    assert_untouched(target)
    assert answer == {
        "type": "error",
        "id": "job",
        "job_no": started["job_no"],
        "code": "cancelled",
        "message": "cancelled while running",
        "retriable": False,
    }


def test_the_directory_is_gone_when_the_client_has_gone(daemon, bench, target):
    with daemon.connect() as client:
        client.submit("job", bench.job(FILL + HOSTILE_AND_READY, case={"target": str(target)}))
        wait_for_ready(daemon)
    wait_until(lambda: not daemon.leftovers(), "the directory is gone", deadline=5.0)
    assert_untouched(target)


# What the jobs' account can read


def test_a_bench_behind_a_closed_directory(client, bench):
    """The message says which account cannot enter which directory: checkouts in root's home are common."""
    uid = pwd.getpwnam(ACCOUNT).pw_uid if os.geteuid() == 0 else os.geteuid()
    closed = bench.root.parent / "closed"
    root = closed / "within" / "bench"
    root.mkdir(parents=True)
    closed.chmod(0)
    try:
        error = client.run(bench.job(PASSING) | {"bench_root": str(root)})
    finally:
        closed.chmod(0o755)
    assert (error["type"], error["code"]) == ("error", "not_permitted"), error
    assert error["message"] == (
        f"job.bench_root: {root}: Permission denied: jobs run as uid {uid}, "
        f"which may not enter {closed}; keep benches where others may enter, below /srv say"
    )


def test_a_rubric_that_cannot_be_read_is_no_verdict(client, bench):
    """The installation is at fault, not the answer that is graded."""
    uid = pwd.getpwnam(ACCOUNT).pw_uid if os.geteuid() == 0 else os.geteuid()
    unreadable = bench.job(PASSING, name="unreadable")
    (bench.root / "unreadable" / "rubric.py").chmod(0)
    hidden = bench.job(PASSING, name="hidden")
    (bench.root / "hidden").chmod(0)
    errors = {job["task_class"]: client.run(job) for job in (unreadable, hidden)}
    (bench.root / "hidden").chmod(0o755)
    for name, error in errors.items():
        assert error["type"] == "error", error
        assert error["code"] == "not_permitted"
        assert error["message"] == (
            f"job.task_class: {name}/rubric.py: Permission denied: jobs run as uid {uid}, which may not read it; "
            f"chmod -R go+rX {os.path.realpath(bench.root)}/{name}"
        )
        assert error["retriable"] is False
