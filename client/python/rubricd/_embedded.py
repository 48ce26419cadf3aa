# SPDX-License-Identifier: MIT
"""Finds rubricd, and starts a private one: it serves one connection and ends with it."""

import asyncio
import logging
import os
import shutil
import signal
import socket
import subprocess
import time
from typing import List, Optional

from .errors import NoDaemon

SOCKET_DEFAULT = "/run/rubricd/rubricd.sock"
RUBRICD_INSTALLED = "/usr/bin/rubricd"
SLOTS_MAX = 1024  # of a daemon
# Its connection is closed before we wait, and then it kills its jobs and ends. A busy host is slow.
STOP_TIMEOUT_S = 60.0
STOP_POLL_S = 0.005
# A private daemon whose connection has broken is about to exit.
LAST_WORDS_S = 3.0

log = logging.getLogger("rubricd")


def socket_path(given: Optional[str]) -> str:
    """Returns the path of the daemon's socket, as rubricctl finds it."""
    return given or os.environ.get("RUBRICD_SOCKET") or SOCKET_DEFAULT


def find_daemon() -> str:
    """Returns the path of rubricd: what $RUBRICD names, else what is on PATH or beside rubricctl."""
    chosen = os.environ.get("RUBRICD")
    if chosen:
        if os.access(chosen, os.X_OK) and not os.path.isdir(chosen):
            return chosen
        raise NoDaemon(f"RUBRICD={chosen} cannot be executed")
    candidates = [shutil.which("rubricd") or ""]
    client = shutil.which("rubricctl")
    if client:
        folder = os.path.dirname(os.path.realpath(client))
        candidates += [f"{folder}/rubricd", f"{folder}/../daemon/rubricd"]
    for candidate in [*candidates, RUBRICD_INSTALLED]:
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise NoDaemon(
        "no rubricd to start: found none on PATH and none beside rubricctl; install the package "
        "rubricd, or name one with RUBRICD=/path/to/rubricd"
    )


class PrivateDaemon:
    """A rubricd that serves the connection `sock` alone. The caller takes and closes `sock`."""

    def __init__(
        self,
        config: Optional[str] = None,
        slots: Optional[int] = None,
        bench_root: Optional[str] = None,
    ) -> None:
        path = find_daemon()
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        arguments: List[str] = [path, f"--serve-fd={theirs.fileno()}"]
        if config is not None:
            arguments.append(f"--config={config}")
        if slots is not None:
            arguments.append(f"--set=daemon.slots={slots}")
        if bench_root is not None:
            arguments.append(f"--set=rubric.bench_root={bench_root}")
        try:
            # A session of its own: Ctrl-C goes to us alone. Its output goes to our stderr, since
            # our stdout may be a pipe, which it must not keep open.
            self.process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=2,
                stderr=2,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            self.sock.close()
            raise NoDaemon(f"cannot start {path}: {error.strerror}") from error
        finally:
            theirs.close()

    def last_words(self) -> str:
        """Says how the daemon ended after its connection broke."""
        try:
            status = self.process.wait(LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            return "the private rubricd closed the connection"
        if status < 0:
            return f"the private rubricd is gone: killed by {signal.Signals(-status).name}"
        return f"the private rubricd is gone: exit status {status}"

    async def stopped(self) -> None:
        """As stop(), without holding up the event loop."""
        end = time.monotonic() + STOP_TIMEOUT_S
        while self.process.poll() is None and time.monotonic() < end:
            await asyncio.sleep(STOP_POLL_S)
        self.stop(0.0)

    def stop(self, timeout: float = STOP_TIMEOUT_S) -> None:
        """Waits for the daemon to end, and kills it if it does not. Close the connection first."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            log.warning("the private rubricd did not end within %d s: killed", STOP_TIMEOUT_S)
            return
        if status:
            log.warning("the private rubricd ended badly: status %d", status)
