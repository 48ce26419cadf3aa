# SPDX-License-Identifier: MIT
# text of a helper that keeps its template running behind the jail's back. WORK: what it does meanwhile, once every 20 ms (indented 8)
LIVE = r'''
import ctypes, os, time, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
class SigEvent(ctypes.Structure):
    _fields_ = [("value", ctypes.c_long), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("pad", ctypes.c_char * 48)]
def arm(first_ns, every_ns):
    ev = SigEvent(0, signal.SIGCONT, 0); t = ctypes.c_int()
    libc.syscall(222, 1, ctypes.byref(ev), ctypes.byref(t))
    spec = (ctypes.c_long * 4)(every_ns // 10**9, every_ns % 10**9, first_ns // 10**9, first_ns % 10**9)
    libc.syscall(223, t, 0, ctypes.byref(spec), 0)
STAMP = time.time_ns()
child = False
def live():
    import struct
    libc.prctl(4, 0, 0, 0, 0)
    arm(100_000_000, 50_000_000)
    if libc.syscall(56, 0x8000, 0, 0, 0, 0) == 0:
        job()
    os.write(3, struct.pack('I96s', 2, b''))
    end = time.time() + 30
    while time.time() < end:
WORK
def job():
    import socket, struct
    link = socket.socket(fileno=3)
    fds = socket.recv_fds(link, 1, 3)[1]
    os.setpgid(0, 0)
    os.write(3, struct.pack('I96s', 3, b''))
    os.read(3, 1)
    os.close(3)
    JOB
    os.write(fds[1], b'{"passed": true, "score": 1}')
    os._exit(0)
os.register_at_fork(before=live)
'''
def live(work, job="pass"): return LIVE.replace("WORK", work).replace("JOB", job)
