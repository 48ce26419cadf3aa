# SPDX-License-Identifier: MIT
"""Descriptors that are sent along over a Unix socket."""

import socket
import struct

import pytest


def _are_refused():
    """Whether sockets of this kernel can refuse them (SO_PASSRIGHTS)."""
    with socket.socket(socket.AF_UNIX) as any_socket:
        try:
            any_socket.setsockopt(socket.SOL_SOCKET, 83, 0)
        except OSError:
            return False
    return True


needs_refusal = pytest.mark.skipif(not _are_refused(), reason="this kernel's sockets take any descriptor (before Linux 6.16)")


def send_descriptor(sock, fd):
    sock.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", fd))])
