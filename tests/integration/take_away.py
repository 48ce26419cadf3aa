#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""take_away.py WHAT... -- COMMAND...: runs COMMAND, as this very process, where WHAT is missing.

user_namespace is refused by the kernel, as where user.max_user_namespaces is 0: COMMAND runs in a
user namespace in which nobody may make another one, as the same account (root keeps its rights over
all files and accounts). The others are taken by a filter of system calls: landlock, seccomp and
clone3 are not there, as in some kernels, nor are (internet) sockets of IPv4 and IPv6, as in some
units; mount_namespace and net_namespace are refused, as some security modules do it."""

import ctypes
import errno
import os
import platform
import socket
import struct
import sys

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
CANNOT = 125  # the exit status where the host does not let it be taken away

SECCOMP = {"x86_64": 317, "aarch64": 277}
UNSHARE = {"x86_64": 272, "aarch64": 97}
SOCKET = {"x86_64": 41, "aarch64": 198}
LANDLOCK_CREATE_RULESET, FSOPEN, CLONE3 = 444, 430, 435  # everywhere

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        sys.stderr.write(f"take_away.py: {what}: {os.strerror(number)}\n")
        os._exit(CANNOT)


def try_user_namespace():
    """Makes one for this process; 0, or why not as an error number."""
    return 0 if libc.unshare(CLONE_NEWUSER) == 0 else ctypes.get_errno()


def landlock_version():
    """The one that this process may use; 0 where there is none."""
    return max(libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), 1), 0)


# User namespaces


def identity(name):
    """The map that leaves everybody who has a number here the same one."""
    if os.geteuid() != 0:
        number = os.geteuid() if name == "uid_map" else os.getegid()
        return f"{number} {number} 1\n"
    with open(f"/proc/self/{name}") as lines:
        ranges = [line.split() for line in lines]
    return "".join(f"{first} {first} {count}\n" for first, _, count in ranges)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def map_identities(pid, maps):
    if os.geteuid() != 0:
        write(f"/proc/{pid}/setgroups", "deny")
    for name, text in maps.items():
        write(f"/proc/{pid}/{name}", text)


def unshare_mapped():
    """Mapping more than oneself takes the right of a process outside: a child that stays there."""
    maps = {name: identity(name) for name in ("uid_map", "gid_map")}
    if os.geteuid() != 0:
        check(-try_user_namespace(), "unshare")
        map_identities("self", maps)
        return
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        os.read(ready, 1)
        map_identities(os.getppid(), maps)
        os._exit(0)
    check(-try_user_namespace(), "unshare")
    os.write(told, b"x")
    os.close(told)
    os.close(ready)
    check(-os.waitpid(child, 0)[1], "mapping the identities")


def take_user_namespaces():
    unshare_mapped()
    write("/proc/sys/user/max_user_namespaces", "0\n")


# System calls


LOAD, EQUALS, HAS_BITS, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16  # in struct seccomp_data
ALLOW, ERROR = 0x7FFF0000, 0x00050000


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack("=HBBI", code, if_true, if_false, value)


def rule(number, error, bits=0):
    """System call NUMBER fails with ERROR, if its first argument has BITS; the number is loaded."""
    refusal = instruction(RETURN, ERROR | error)
    if bits:
        refusal = b"".join(
            (
                instruction(LOAD, FIRST_ARGUMENT),
                instruction(HAS_BITS, bits, 0, 1),
                refusal,
                instruction(LOAD, NUMBER),
            )
        )
    return instruction(EQUALS, number, 0, len(refusal) // 8) + refusal


def rules():
    machine = platform.machine()
    return {
        "landlock": rule(LANDLOCK_CREATE_RULESET, errno.ENOSYS),
        "seccomp": rule(SECCOMP[machine], errno.ENOSYS),
        "mount_namespace": rule(FSOPEN, errno.EPERM),
        "clone3": rule(CLONE3, errno.ENOSYS),
        "internet": rule(SOCKET[machine], errno.EAFNOSUPPORT, socket.AF_INET),
        "net_namespace": rule(UNSHARE[machine], errno.EPERM, CLONE_NEWNET),
    }


def take_system_calls(names):
    known = rules()
    program = b"".join(
        [
            instruction(LOAD, NUMBER),
            *(known[name] for name in names),
            instruction(RETURN, ALLOW),
        ]
    )
    buffer = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HL", len(program) // 8, ctypes.addressof(buffer))
    if os.geteuid() != 0:
        check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0), "seccomp")


def main():
    end = sys.argv.index("--")
    names, command = sys.argv[1:end], sys.argv[end + 1 :]
    if "user_namespace" in names:
        names.remove("user_namespace")
        try:
            take_user_namespaces()
        except OSError as error:
            sys.stderr.write(f"take_away.py: {error}\n")
            sys.exit(CANNOT)
    if names:
        take_system_calls(names)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
