# SPDX-License-Identifier: MIT
"""Finds out who sends what the tests receive from a connection or queue of multiprocessing. What the processes of a pool
send is the tests' own. The code can listen or connect, too, and a task in a pool of threads may read a file of the code's."""

import os
import stat
import sys

import planted

PEER = "3i"  # struct ucred: the number of the process comes first
READERS = {"multiprocessing.connection": "recv", "multiprocessing.queues": "get"}


def is_of(frame, module):
    """Returns whether FRAME runs a function of that module."""
    names = frame.f_globals
    return names.get("__name__") == module and vars(sys.modules.get(module, sys)) is names


def read_by(frame):
    """Returns (connection, what it has just given) if FRAME unpickles that, else None."""
    while frame is not None and is_of(frame, "pickle"):
        frame = frame.f_back
    name = frame.f_globals.get("__name__") if frame is not None else None
    if type(name) is not str or READERS.get(name) != frame.f_code.co_name or not is_of(frame, name):
        return None
    names = frame.f_locals
    reader = names.get("self")
    if "buf" in names:
        return reader, names["buf"].getvalue()
    return (reader._reader, bytes(names["res"])) if "res" in names else None


def is_for_manager(frame):
    """Returns whether FRAME serves a request to a manager, from one who knows the key that this process keeps secret. In
    the process of a manager nothing else is known of the others."""
    process = sys.modules.get("multiprocessing.process")
    while frame is not None:
        if is_of(frame, "multiprocessing.managers") and frame.f_code.co_name in ("serve_client", "handle_request", "_handle_request"):
            return frame.f_locals["self"].authkey == process.current_process().authkey
        frame = frame.f_back
    return False


def renew_key():
    """The interpreter that waits may have chosen a key, and the code comes from there, too."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.current_process().authkey = os.urandom(32)


def is_of_tests(fd, process, others):
    """Returns whether what is at the other end of a descriptor is PROCESS, in which the tests run, or one that it has
    started. OTHERS are processes that it had before any test ran, None if they are not known."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISFIFO(mode):
        return os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:")  # no file that has a name
    if not stat.S_ISSOCK(mode):
        return False
    import socket
    import struct

    with socket.socket(fileno=os.dup(fd)) as one:
        if one.family != socket.AF_UNIX:
            return one.getpeername() in own_names(one.family)
        peer = one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(PEER))
    family = {process, os.getpid()} if others is None else {process, os.getpid()} | planted.family_of(process, others)
    return struct.unpack(PEER, peer)[0] in family


def own_names(family):
    """Returns the addresses of this process's sockets."""
    import socket

    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as one:
                    found |= {one.getsockname()} if one.family == family else set()
        except OSError:
            pass  # the descriptor of the list itself
    return found
