# SPDX-License-Identifier: MIT
"""Attacks on task classes that are loaded once for all their jobs (daemon/jail/template.h). A job attacks the
process that it is a fork of, or that of another class; the code of a class attacks the jail from within that
process. Each is also tried where it must succeed, on a process of the job's own."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from group import Group, root
from harness import BUILD, Daemon, wait_until
from world import ACCOUNT, as_account

if not (BUILD / "daemon" / "rubricd-jail-warm").exists():
    pytest.skip("this build has no rubricd-jail-warm", allow_module_level=True)

REPORT = """
import json, os, sys
def report(**seen):
    mode = {"code": "seen", "severity": "info", "detail": json.dumps(seen)}
    print(json.dumps({"passed": True, "score": 1, "failure_modes": [mode]}))
"""
STAMP = "import time\nSTAMP = time.time_ns()\n"
# What jobs and templates see of the jail's own processes: its children have pids from 2 on, those of a job
# from 100.
OWN = range(2, 64)


class Classes:
    def __init__(self, has_groups):
        self.directory = Path(tempfile.mkdtemp(prefix="rubricd-classes-", dir="/dev/shm"))
        shutil.chown(self.directory, ACCOUNT) if as_account() else None
        self.directory.chmod(0o755)
        self.root = self.directory / "bench"
        self.root.mkdir()
        self.count = 0
        self.group = Group(self.directory.name, ACCOUNT) if has_groups else None
        prefix = [*(self.group.prefix() if self.group else []), *as_account()]
        self.daemon = Daemon(self.directory, "daemon.slots=1", "warm.use=yes", prefix=prefix)
        self.client = self.daemon.connect()
        assert ("cgroup" in self.client.hello["isolation"]["layers"]) is has_groups

    def make(self, rubric, helper=STAMP):
        self.count += 1
        name = f"class-{self.count}"
        (self.root / name).mkdir()
        (self.root / name / "rubric.py").write_text(REPORT + rubric)
        (self.root / name / "helper.py").write_text(helper)
        (self.root / name / "task_class.json").write_text(json.dumps({"warm": {"helpers": ["helper"]}}))
        return name

    def answer(self, name, **fields):
        job = {"kind": "rubric", "task_class": name, "bench_root": str(self.root), "case": {}, "harness_output": {}}
        return self.client.run({**job, **fields})

    def run(self, name, **fields):
        """Returns what a job has seen, and whether it was a fork of what was loaded."""
        answer = self.answer(name, **fields)
        assert answer["type"] == "result" and answer["score"]["passed"], json.dumps(answer)
        return json.loads(answer["score"]["failure_modes"][0]["detail"]), answer["warm_class"]["loaded"]

    def close(self):
        self.client.close()
        assert self.daemon.stop() == 0, self.daemon.log()
        shutil.rmtree(self.directory)
        if self.group:
            wait_until(self.group.closes, "the control group is empty")


@pytest.fixture(params=[False, True], ids=["", "groups"])
def classes(request):
    if request.param and not root():
        pytest.skip("no control groups can be made here")
    running = Classes(request.param)
    yield running
    running.close()


# --- attacks of jobs on templates

TRY = """
import ctypes, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    ctypes.set_errno(0)
    return libc.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)) >= 0
def tried(attack):
    try:
        return attack() is not False
    except OSError:
        return False
children = []
def mine():
    pid = os.fork()
    if pid == 0:
        libc.prctl(4, 1, 0, 0, 0)
        while True: signal.pause()
    children.append(pid)
    return pid
BUFFER = ctypes.create_string_buffer(256)
BUFFER[8:12] = b'\\xff' * 4  # si_code: queued by a process
VECTOR = (ctypes.c_ulong * 2)(ctypes.addressof(BUFFER), 8)
FAR = (ctypes.c_ulong * 2)(ctypes.addressof(BUFFER), 8)
LIMIT = (ctypes.c_ulong * 2)(10, 10)
"""
# By name: an expression that attacks the process `pid`.
ATTACKS = {
    "kill": "os.kill(pid, signal.SIGKILL)",
    "stop": "os.kill(pid, signal.SIGSTOP)",
    "continue": "os.kill(pid, signal.SIGCONT)",
    "group": "os.killpg(os.getpgid(pid), signal.SIGCONT)",
    "thread": "call(200, pid, 18)",
    "thread of group": "call(234, pid, pid, 18)",
    "queue": "call(129, pid, 18, BUFFER)",
    "pidfd": "signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGCONT)",
    "limits": "call(302, pid, 1, LIMIT, 0)",
    "limits to read": "call(302, pid, 1, 0, LIMIT)",
    "priority": "os.setpriority(os.PRIO_PROCESS, pid, 19)",
    "scheduler": "os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))",
    "input and output": "call(251, 1, pid, (3 << 13))",
    "memory by /proc": "open(f'/proc/{pid}/mem', 'rb').close()",
    "environment": "len(open(f'/proc/{pid}/environ', 'rb').read()) >= 0",
    "descriptors": "os.listdir(f'/proc/{pid}/fd')",
    "maps": "open(f'/proc/{pid}/maps').read()",
    "root": "os.listdir(f'/proc/{pid}/root')",
}
# These are refused for any process, by the filter: here they show that nothing is open that should not be.
NEVER = {
    "ptrace": "call(101, 16, pid, 0, 0)",
    "memory to read": "call(310, pid, VECTOR, 1, FAR, 1, 0)",
    "memory to write": "call(311, pid, VECTOR, 1, FAR, 1, 0)",
    "descriptor": "call(438, os.pidfd_open(pid), 0, 0)",
    "comparison": "call(312, os.getpid(), pid, 1, 0, 0)",
}


def attack(expression):
    found = "[pid for pid in range(2, 64) if tried(lambda: (%s))]" % expression
    own = "tried(lambda pid=mine(): (%s))" % expression
    # Nothing is left: then the jail would kill all that it has.
    end = "for pid in children:\n    os.kill(pid, 9)\n    os.waitpid(pid, 0)\n"
    return f"{TRY}import helper\nseen = {{'reached': {found}, 'own': {own}}}\n{end}report(**seen, stamp=helper.STAMP)\n"


@pytest.mark.parametrize("name", {**ATTACKS, **NEVER})
def test_a_job_reaches_no_template(classes, name):
    """Neither its own one nor that of another class: both are there, and serve afterwards as before."""
    victim = classes.make("import helper\nreport(stamp=helper.STAMP)\n")
    before, loaded = classes.run(victim)
    assert loaded
    hostile = classes.make(attack({**ATTACKS, **NEVER}[name]))
    first, loaded = classes.run(hostile)
    assert loaded and first["reached"] == []
    assert first["own"] is (name in ATTACKS), "it works on a process of the job's own"
    again, loaded = classes.run(hostile)
    assert loaded and again["stamp"] == first["stamp"]
    assert classes.run(victim) == (before, True)


def test_kill_of_all_reaches_no_template(classes):
    victim = classes.make("import helper\nreport(stamp=helper.STAMP)\n")
    before = classes.run(victim)
    code = "import helper, signal\npid = os.fork()\nif pid == 0:\n    while True: signal.pause()\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.kill(-1, signal.SIGTERM)\nreport(own=os.waitpid(pid, 0)[1], stamp=helper.STAMP)\n"
    hostile = classes.make(code)
    first, again = classes.run(hostile), classes.run(hostile)
    assert first == again and first[0]["own"] == 15
    assert classes.run(victim) == before


def test_no_job_sees_a_template(classes):
    look = "import helper\nreport(pids=[n for n in os.listdir('/proc') if n.isdigit() and n != str(os.getpid())])\n"
    name = classes.make(look)
    classes.run(classes.make("import helper\nreport()\n"))
    for _ in range(2):
        seen, loaded = classes.run(name)
        assert loaded and [n for n in seen["pids"] if n != "1"] == []


# --- code and state of one class

# Looks for a text through all memory of the process; the pattern is not that text.
SEARCH = """
import re
def found_in_memory(pattern):
    found = 0
    with open('/proc/self/mem', 'rb', 0) as memory:
        for line in open('/proc/self/maps'):
            first, last = (int(n, 16) for n in line.split()[0].split('-'))
            if 'r' not in line.split()[1] or '[v' in line:
                continue
            try:
                memory.seek(first)
                found += len(re.findall(pattern, memory.read(last - first)))
            except (OSError, ValueError, OverflowError):
                pass
    return found
"""


def test_code_of_one_class_is_in_no_process_of_another(classes):
    mark = "marked-" + "5f3a9c"
    search = SEARCH + "import helper\nreport(found=found_in_memory(rb'marked-[5]f3[a]9c'))\n"
    marked = classes.make(search, STAMP + f"MARK = {mark!r}\ndef f_{mark.replace('-', '_')}(): return {mark!r} * 2\n")
    assert classes.run(marked)[0]["found"] > 0, "the search finds what is there"
    other = classes.make(search)
    assert classes.run(other) == ({"found": 0}, True)
    plain = classes.root / "plain"
    plain.mkdir()
    (plain / "rubric.py").write_text(REPORT + search.replace("import helper\n", ""))
    answer = classes.answer("plain")
    assert json.loads(answer["score"]["failure_modes"][0]["detail"]) == {"found": 0} and answer["interpreter"] == "warm"


def test_no_state_is_kept_between_jobs_of_one_class(classes):
    keep = """
import helper, ctypes, gc, signal, resource
seen = [getattr(helper, 'kept', None), os.environ.get('KEPT'), getattr(sys, 'kept', None), os.getcwd(),
        os.path.exists('/dev/shm/kept'), os.path.exists('/tmp/kept'), os.path.exists('/work/kept'), os.umask(0o22),
        signal.getsignal(signal.SIGUSR1).__class__.__name__, resource.getrlimit(resource.RLIMIT_CORE)[0],
        resource.getrlimit(resource.RLIMIT_NOFILE), os.getpriority(0, 0), sorted(os.listdir('/proc/self/fd')), os.getpid()]
helper.kept = os.environ['KEPT'] = sys.kept = 'kept'
for name in ('/dev/shm/kept', '/tmp/kept', '/work/kept'):
    open(name, 'w').close()
os.chdir('/tmp')
os.umask(0)
os.nice(1)
signal.signal(signal.SIGUSR1, lambda *a: None)
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
for fd in range(3, 12):
    os.dup2(0, fd)
report(seen=seen, stamp=helper.STAMP)
"""
    name = classes.make(keep)
    first, second = classes.run(name), classes.run(name)
    assert first == second and first[1]


# --- attacks of a class from within its template

LIBC = "import ctypes, os, time\nlibc = ctypes.CDLL(None)\n"
# A template is told to fork: callbacks of the interpreter run in it before, and after.
FORKS = {
    "a child of its own": (LIBC + "os.register_at_fork(before=lambda: libc.syscall(56, 17, 0, 0, 0, 0) == 0 and time.sleep(600))", False),
    "a child that has died": (LIBC + "os.register_at_fork(before=lambda: libc.syscall(56, 17, 0, 0, 0, 0) == 0 and os._exit(0))", False),
    "a sibling": (LIBC + "os.register_at_fork(before=lambda: libc.syscall(56, 0x8000, 0, 0, 0, 0) == 0 and time.sleep(600))", False),
    "an orphan": (LIBC + "def f():\n    if libc.syscall(56, 17, 0, 0, 0, 0) == 0:\n        if libc.syscall(56, 17, 0, 0, 0, 0) == 0: time.sleep(600)\n        os._exit(0)\n    os.wait()\nos.register_at_fork(before=f)", False),
    "a thread": ("import os, threading, time\nos.register_at_fork(after_in_parent=lambda: threading.Thread(target=time.sleep, args=(600,), daemon=True).start())", False),
    "nothing, for ever": ("import os, time\nos.register_at_fork(before=lambda: time.sleep(600))", False),
    "its end": ("import os\nos.register_at_fork(before=lambda: os._exit(0))", False),
    "a stop of itself": ("import os\nos.register_at_fork(before=lambda: os.kill(os.getpid(), 19))", False),
    "no wait for the jail": ("import os, time\nos.register_at_fork(after_in_parent=lambda: [0 for _ in iter(lambda: time.time() < 0, True)])", False),
    "being dumpable": (LIBC + "os.register_at_fork(before=lambda: libc.prctl(4, 1, 0, 0, 0))", False),
    "words of its own": ("import os\nos.register_at_fork(before=lambda: [os.write(3, b'x' * 100) for _ in range(50)])", None),
    "descriptors": ("import os\nkept = []\nos.register_at_fork(after_in_parent=lambda: kept.append(os.open('/etc/passwd', os.O_RDONLY)))", None),
}  # fmt: skip


@pytest.mark.parametrize("what", FORKS)
def test_what_a_template_forks_beside_its_job_is_killed(classes, what):
    """The job gets its verdict, and the next finds nothing of it; other classes are served."""
    text, loaded = FORKS[what]
    name = classes.make("report(ok=1)\n", STAMP + text + "\n")
    look = classes.make("report(pids=[n for n in os.listdir('/proc') if n.isdigit() and n not in ('1', str(os.getpid()))])\n")
    for _ in range(2):
        seen, was_loaded = classes.run(name)
        assert seen == {"ok": 1} and loaded in (None, was_loaded)
        assert classes.run(look) == ({"pids": []}, True)


def test_a_fork_that_shares_the_descriptors_of_its_template_leaves_it_none(classes):
    """The class makes the fork itself, with CLONE_FILES, and speaks for it: the template would keep the pipes of
    the job, for whose end the daemon waits."""
    helper = LIBC + """
import socket, struct
FORKED, BEGINS = 2, 3
def say(word):
    os.write(3, struct.pack('I96s', word, b''))
def share():
    while True:
        if libc.syscall(56, 0x8000 | 0x400, 0, 0, 0, 0) == 0:
            link = socket.socket(fileno=3)
            fds = socket.recv_fds(link, 1, 3)[1]
            say(BEGINS)
            os.read(3, 1)
            os.write(fds[1], b'{"passed": true, "score": 1}')
            os._exit(0)
        say(FORKED)
        os.read(3, 1)
os.register_at_fork(before=share)
"""
    name = classes.make("report(ok=1)\n", STAMP + helper)
    for _ in range(2):
        answer = classes.answer(name)
        assert answer["type"] == "result" and answer["score"]["passed"] and not answer["score"]["failure_modes"], json.dumps(answer)
        assert answer["warm_class"]["loaded"]
    assert classes.run(classes.make("report(ok=2)\n")) == ({"ok": 2}, True)
    assert "has left its output open elsewhere" not in classes.daemon.log()


def test_a_sibling_of_a_job_does_not_outlive_it(classes):
    """It is a child of the jail, as the job is, and of the kind that the jail does not look for otherwise."""
    code = LIBC + "if libc.syscall(56, 0x8000, 0, 0, 0, 0) == 0:\n    time.sleep(600)\nreport(ok=1)\n"
    look = classes.make("report(pids=[n for n in os.listdir('/proc') if n.isdigit() and n not in ('1', str(os.getpid()))])\n")
    name = classes.make(code)
    for _ in range(2):
        assert classes.run(name) == ({"ok": 1}, True)
        assert classes.run(look) == ({"pids": []}, True)


@pytest.mark.parametrize("classes", [True], ids=["groups"], indirect=True)
def test_a_job_is_in_a_group_of_its_own(classes):
    """Not in that of its template, which is the jail's; what it starts is there, too."""
    helper = "GROUP = open('/proc/self/cgroup').read()\n"
    code = "import helper, subprocess\nread = ['cat', '/proc/self/cgroup']\nreport(mine=open(read[1]).read(), child=subprocess.run(read, capture_output=True, text=True).stdout, other=helper.GROUP)\n"
    name = classes.make(code, helper)
    (first, loaded), (second, again) = classes.run(name), classes.run(name)
    assert loaded and again and first["mine"] == first["child"] != first["other"]
    assert second["mine"] != first["mine"] and second["other"] == first["other"]


@pytest.mark.parametrize("classes", [True], ids=["groups"], indirect=True)
def test_processor_time_of_all_processes_of_a_job_is_bound(classes):
    """The group counts it, which has what the job starts."""
    code = "import time\nfor n in range(2):\n    if os.fork() == 0:\n        while True: pass\ntime.sleep(60)\n"
    name = classes.make(code)
    answer = classes.answer(name, limits={"cpu": 1})
    assert answer["warm_class"]["loaded"] and answer["outcome"]["limit_exceeded"] == "cpu", answer


def test_a_class_does_not_steer_its_jail(classes):
    """From within a template, nothing of the jail is in reach that is out of reach of a job."""
    helper = """
import ctypes, os
libc = ctypes.CDLL(None)
def tried(attack):
    try:
        return attack() is not False
    except OSError:
        return False
REACHED = [
    tried(lambda: os.kill(1, 19)), tried(lambda: os.kill(os.getppid(), 9)), tried(lambda: open('/proc/1/mem', 'rb')),
    tried(lambda: os.listdir('/proc/1/fd')), tried(lambda: os.setpriority(0, 1, 19)), tried(lambda: open('/usr/x', 'w')),
    tried(lambda: os.mkdir('/bench/x')), tried(lambda: os.setuid(0)), libc.unshare(0x10000000) == 0,
    libc.mount(b'none', b'/tmp', b'tmpfs', 0, 0) == 0, libc.syscall(435, 0, 0) >= 0,
    tried(lambda: __import__('socket').socket(2, 1)),
]
CAPS = [line.split()[1] for line in open('/proc/self/status') if line.startswith(('CapPrm', 'CapEff', 'NoNewPrivs'))]
"""
    name = classes.make("import helper\nreport(reached=helper.REACHED, caps=helper.CAPS)\n", helper)
    seen, loaded = classes.run(name)
    assert loaded and seen == {"reached": [False] * 12, "caps": ["0" * 16, "0" * 16, "1"]}


def test_a_class_cannot_change_the_domain_of_others(classes):
    """The jail's Landlock ruleset, which later jobs enforce, is not among a template's descriptors."""
    helper = "import os\nFDS = [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')]\n"
    name = classes.make("import helper\nreport(fds=helper.FDS)\n", helper)
    seen, loaded = classes.run(name)
    assert loaded and not [fd for fd in seen["fds"] if "landlock" in fd]
