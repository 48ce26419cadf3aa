# SPDX-License-Identifier: MIT
"""A template keeps deleted files of the tmpfs mapped (made in its hook, after the look): what is left for jobs of others?"""
from base import *
H = '''
import os, mmap
def take():
    done = []
    libc = __import__('ctypes').CDLL(None, use_errno=True)
    for base in ('/tmp', '/work', '/dev/shm'):
        try:
            fd = os.open(base + '/big', os.O_RDWR | os.O_CREAT, 0o600)
            size = 0
            try:
                while True: size += os.write(fd, b"x" * (1 << 20))
            except OSError as e: pass
            m = mmap.mmap(fd, max(size,4096)); kept.append(m)
            os.close(fd); os.unlink(base + '/big')
            try: os.close(fd)
            except OSError: pass
        except OSError as e: kept.append(repr(e))
    # many inodes
    for i in range(1000):
        try:
            fd = os.open('/tmp/i%d' % i, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as e: kept.append(repr(e)); break
        try: os.ftruncate(fd, 4096)
        except OSError: pass
        libc.mmap.restype = __import__('ctypes').c_void_p
        r = libc.mmap(None, 4096, 1, 2, fd, 0)
        os.close(fd); os.unlink('/tmp/i%d' % i)
kept = []
os.register_at_fork(before=take)
'''
H = H.replace("m = mmap.mmap(fd, max(size,4096)); kept.append(m)", "libc.mmap.restype = __import__('ctypes').c_void_p; kept.append(libc.mmap(None, __import__('ctypes').c_size_t(max(size,4096)), 1, 1, fd, __import__('ctypes').c_long(0)))")
if "load" in sys.argv: H = H.replace("os.register_at_fork(before=take)", "take()").replace("1, 1, fd", "1, 2, fd")
c = begin()
try:
    look = plain(c, "look", """
out = {}
for base in ('/tmp', '/work', '/dev/shm'):
    try:
        v = os.statvfs(base); out[base] = [v.f_blocks*v.f_frsize>>10, v.f_bavail*v.f_frsize>>10, v.f_files, v.f_ffree]
        open(base + '/x', 'wb').write(b'y' * (4 << 20))
    except OSError as e: out[base + ' write'] = repr(e)
report(**out)
""")
    L = {"disk_bytes": 8 << 20}
    show("before", c.answer(look, limits=L))
    evil = c.make("import helper\nreport(kept=[repr(k)[:80] for k in helper.kept][:6])\n", H)
    show("evil", c.answer(evil, limits=L))
    show("after", c.answer(look, limits=L))
    show("evil", c.answer(evil, limits=L))
    show("after", c.answer(look, limits=L))
    print(c.daemon.log()[-800:])
finally: c.close()
