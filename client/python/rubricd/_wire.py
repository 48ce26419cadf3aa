# SPDX-License-Identifier: MIT
"""One connection: frames in both directions, and the daemon's hello."""

import asyncio
import errno
import grp
import json
import os
import struct
from typing import Any, Callable, Dict, Optional, cast

from ._embedded import PrivateDaemon
from .errors import NoDaemon, ProtocolError

Message = Dict[str, Any]

PROTOCOL = 1
FRAME_MAX = 64 << 20  # what the daemon sends is smaller
UNSENT_MAX = 1 << 20  # with more bytes unsent, no further job is taken
CONNECT_TIMEOUT_S = 10.0
HELLO_TIMEOUT_S = 30.0  # a private daemon tries out the host before it says hello


class Wire(asyncio.Protocol):
    """Calls on_message(message) for each message, and on_lost(why) once, when the connection ends."""

    def __init__(
        self, on_message: Callable[[Message], None], on_lost: Callable[["Wire", str], None]
    ) -> None:
        self._on_message = on_message
        self._on_lost = on_lost
        self._buffer = bytearray()
        self._transport: Optional[asyncio.Transport] = None
        self._bye = ""
        self._fault = ""
        self.paused = False
        self.on_room: Callable[[], None] = lambda: None
        self.hello: "asyncio.Future[Message]" = asyncio.get_running_loop().create_future()

    # --- what asyncio calls ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=UNSENT_MAX)

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        self.on_room()

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        start = 0
        while len(buffer) - start >= 4:
            (length,) = struct.unpack_from(">I", buffer, start)
            if not 1 <= length <= FRAME_MAX:
                self._abort(f"the daemon sent a frame of {length} bytes")
                return
            if len(buffer) - start - 4 < length:
                break
            payload = bytes(buffer[start + 4 : start + 4 + length])
            start += 4 + length
            if not self._take(payload):
                return
        del buffer[:start]

    def connection_lost(self, exception: Optional[BaseException]) -> None:
        self._transport = None
        why = self._fault or (f"rubricd ended the connection: {self._bye}" if self._bye else "")
        if not why and self._buffer:
            why = "rubricd closed the connection in the middle of a message"
        if not why:
            reason = f": {exception}" if exception else ""
            why = f"rubricd closed the connection{reason}"
        if not self.hello.done():
            self.hello.set_exception(NoDaemon(why))
            self.hello.exception()  # whoever waits gets it; nobody else need hear of it
        self._on_lost(self, why)

    # --- messages -------------------------------------------------------------------------

    def _abort(self, why: str) -> None:
        self._fault = why
        if self._transport:
            self._transport.abort()

    def _take(self, payload: bytes) -> bool:
        try:
            message = json.loads(payload.decode())
            kind = message["type"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self._abort(f"the daemon sent a malformed message: {error!r}")
            return False
        if kind == "bye":
            self._bye = f"{message.get('reason')}: {message.get('message', '')}"
        elif self.hello.done():
            self._on_message(message)
        else:
            self._take_hello(message)
        return True

    def _take_hello(self, message: Message) -> None:
        if message["type"] == "error":
            refusal = NoDaemon(f"refused: {message.get('code')}: {message.get('message')}")
            self.hello.set_exception(refusal)
        elif message["type"] != "hello":
            self.hello.set_exception(ProtocolError("what listens there is not rubricd"))
        elif message.get("protocol") != PROTOCOL:
            version, theirs = message.get("version"), message.get("protocol")
            text = f"rubricd {version} speaks protocol {theirs}, this package protocol {PROTOCOL}"
            self.hello.set_exception(ProtocolError(text))
        else:
            self.hello.set_result(message)

    def send(self, frame: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(frame)

    def close(self) -> None:
        if self._transport:
            self._transport.abort()


class NothingListens(NoDaemon):
    """There is no daemon at the socket. Whoever has a remedy of its own adds it to the text."""


def _explain(path: str, error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return (
            f"no rubricd at {path}: start the service (systemctl start rubricd), name its socket with "
            "RUBRICD_SOCKET"
        )
    if error.errno == errno.ECONNREFUSED:
        return f"no rubricd listens on {path}: start the service (systemctl start rubricd)"
    if error.errno in (errno.EACCES, errno.EPERM):
        try:
            group = grp.getgrgid(os.stat(path).st_gid).gr_name
        except (OSError, KeyError):
            group = "rubricd"
        return f'{path}: permission denied: members of the group "{group}" may connect'
    return f"{path}: {error.strerror or error}"


async def _greet(wire: Wire, where: str) -> None:
    try:
        await asyncio.wait_for(asyncio.shield(wire.hello), HELLO_TIMEOUT_S)
    except asyncio.TimeoutError:
        raise NoDaemon(f"{where}: connected, but no hello came within {HELLO_TIMEOUT_S} s") from None
    finally:
        if not wire.hello.done() or wire.hello.exception():
            wire.close()


async def connect(path: str, make: Callable[[], Wire]) -> Wire:
    """Connects to the daemon at PATH. Raises NoDaemon with the remedy."""
    loop = asyncio.get_running_loop()
    try:
        opening = loop.create_unix_connection(make, path)
        _, wire = await asyncio.wait_for(opening, CONNECT_TIMEOUT_S)
    except asyncio.TimeoutError:
        raise NoDaemon(f"{path}: the daemon does not accept connections") from None
    except OSError as error:
        absent = error.errno in (errno.ENOENT, errno.ECONNREFUSED)
        raise (NothingListens if absent else NoDaemon)(_explain(path, error)) from error
    await _greet(wire, path)
    return wire


async def connect_private(daemon: PrivateDaemon, make: Callable[[], Wire]) -> Wire:
    """Connects to DAEMON, whose socket it takes over."""
    _, wire = await asyncio.get_running_loop().create_unix_connection(make, sock=daemon.sock)
    await _greet(wire, "a private rubricd")
    return wire
