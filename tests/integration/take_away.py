#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""take_away.py WHAT... -- COMMAND...: executes COMMAND without WHAT, in this very process.

For user_namespace, COMMAND runs in a user namespace that allows no further one, as if
user.max_user_namespaces were 0. It keeps its account; root keeps its rights over all files and
accounts. A system call filter takes the others away. landlock, seccomp and clone3 are missing, as in
some kernels; IPv4 and IPv6 sockets (internet) are missing, as in some units; mount_namespace and
net_namespace are refused, as by some security modules. Children that are siblings of their maker
(siblings) are refused, and with them clone3, whose arguments no filter sees."""

import ctypes
import errno
import os
import platform
import socket
import struct
import sys

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
CLONE_PARENT = 0x00008000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
CANNOT = 125  # exit status if the host does not allow taking WHAT away

SECCOMP = {"x86_64": 317, "aarch64": 277}
UNSHARE = {"x86_64": 272, "aarch64": 97}
SOCKET = {"x86_64": 41, "aarch64": 198}
CLONE = {"x86_64": 56, "aarch64": 220}
LANDLOCK_CREATE_RULESET, FSOPEN, CLONE3 = 444, 430, 435  # on every architecture

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        sys.stderr.write(f"take_away.py: {what}: {os.strerror(number)}\n")
        os._exit(CANNOT)


def try_user_namespace():
    """Creates a user namespace for this process. Returns 0 or an errno."""
    return 0 if libc.unshare(CLONE_NEWUSER) == 0 else ctypes.get_errno()


def landlock_version():
    """Returns the Landlock version that this process may use, or 0."""
    return max(libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), 1), 0)


# User namespaces


def identity(name):
    """Returns the map that keeps every id of this namespace unchanged."""
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
    """Unshares the user namespace. To map more than one's own id takes rights outside the new
    namespace, so a child stays outside and writes the maps."""
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
    """Makes system call NUMBER fail with ERROR if its first argument has BITS. Expects NUMBER loaded."""
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
        "siblings": rule(CLONE3, errno.ENOSYS) + rule(CLONE[machine], errno.EPERM, CLONE_PARENT),
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
