# SPDX-License-Identifier: MIT
"""Templates that are hard to stop: in a vfork, with SIGSTOP in a loop of SIGCONT, that answer and die, that flood the link while loading."""
from base import *
V = {
 "vfork": "import ctypes, os, struct, time\nlibc = ctypes.CDLL(None)\ndef f():\n    if libc.syscall(56, 0x8000 | 0x4000, 0, 0, 0, 0) == 0:\n        os.write(3, struct.pack('I96s', 2, b''))\n        time.sleep(600)\nos.register_at_fork(before=f)\n",
 "contstorm": None,
 "die after": "import os\nos.register_at_fork(after_in_parent=lambda: (os.write(3, b'\\2\\0\\0\\0' + b'\\0' * 96), os._exit(0)))\n",
 "flood load": "import os\nwhile True:\n    try: os.write(3, b'\\x07' * 100)\n    except OSError: break\n",
 "ready itself, then goes on": "import os, time\nos.write(3, b'\\0\\0\\0\\0' + b'\\0' * 96)\ntime.sleep(5)\n",
 "shut link": "import socket\nsocket.socket(fileno=3).shutdown(2)\n",
 "seccomp all": "import ctypes, struct\nlibc = ctypes.CDLL(None)\nbuf = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x00050000))\nprog = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 1, ctypes.addressof(buf)))\nlibc.prctl(22, 2, prog)\n",
 "landlock 16": "import ctypes, struct\nlibc = ctypes.CDLL(None)\nfor _ in range(16):\n    a = ctypes.create_string_buffer(struct.pack('QQQ', 0, 0, 2))\n    fd = libc.syscall(444, a, 24, 0)\n    libc.syscall(446, fd, 0)\n    import os\n    os.close(fd)\n",
 "rlimits 0": "import resource\nfor r in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE): resource.setrlimit(r, (4, 4))\n",
 "umask cwd prctl": "import os, ctypes\nos.umask(0o777); os.chdir('/tmp'); libc = ctypes.CDLL(None)\nlibc.prctl(1, 9, 0, 0, 0); libc.prctl(36, 1, 0, 0, 0); libc.prctl(29, 10**9, 0, 0, 0); libc.prctl(15, b'rubricd-jail', 0, 0, 0)\nos.nice(19)\n",
 "mask all": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n",
 "tmp mapped": "import os, ctypes\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\nfd = os.open('/tmp/x', os.O_RDWR | os.O_CREAT)\nos.write(fd, b'x' * (512 << 10))\nlibc.mmap(None, 512 << 10, 1, 2, fd, ctypes.c_long(0))\nos.close(fd); os.unlink('/tmp/x')\n",
 "cwd deleted": "import os\nos.mkdir('/tmp/q'); os.chdir('/tmp/q'); os.rmdir('/tmp/q')\n",
}
c = begin()
try:
    v = plain(c, "v", "report(nice=os.getpriority(0,0), umask=oct(os.umask(0)), pids=[p for p in os.listdir('/proc') if p.isdigit()], files=[f for d in ('/tmp','/work','/dev/shm') for f in os.listdir(d)])\n")
    first = c.answer(v)["score"]
    honest = c.make("import helper\nreport(stamp=helper.STAMP)\n")
    h = c.run(honest)[0]
    for k, t in V.items():
        if t is None: continue
        n = c.make("import os\nreport(ok=1, cwd=os.getcwd())\n", t)
        for _ in range(2):
            t0 = time.time(); a = c.answer(n, case={"rubric_wall_clock_seconds": 3}); t1 = time.time()
            b = c.answer(v); t2 = time.time()
            s = b.get("score", b); s.pop("wall_clock_ms", 0); first.pop("wall_clock_ms", 0)
            print("%-12s %.1f s" % (k, t1 - t0), (a.get("warm_class") or {}).get("because", (a.get("warm_class") or {}).get("loaded")), (a.get("score") or a).get("passed", a.get("code")), (a.get("outcome") or {}).get("limit_exceeded"), [m.get("detail", m["code"]) for m in (a.get("score") or {}).get("failure_modes", [])], "| other %.2f s" % (t2 - t1), "same" if s == first else s, "| honest kept", c.run(honest)[0] == h, flush=True)
    print(c.daemon.log()[-1500:])
finally: c.close()
