# SPDX-License-Identifier: MIT
"""A proxy in front of a nats-server that holds some messages back on their way to a worker, so that others overtake them,
or loses them."""

import asyncio

from slow_server import SlowServer


class OvertakingServer(SlowServer):
    """Between hold() and release() holds the messages to the clients whose subjects are wanted."""

    def __init__(self, port):
        self.held = []
        self.is_wanted = lambda subject: False
        super().__init__(port)

    async def _serve(self, reader, writer):
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(self._pass_on(reader, to_server), self._hold_some(from_server, writer), return_exceptions=True)

    async def _hold_some(self, reader, writer):
        while line := await reader.readline():
            words = line.split()
            if words[0] not in (b"MSG", b"HMSG"):
                writer.write(line)
                continue
            data = line + await reader.readexactly(int(words[-1]) + 2)
            if self.is_wanted(words[1].decode()):
                self.held.append((writer, data))
            else:
                writer.write(data)
        writer.close()

    def hold(self, is_wanted):
        self.is_wanted = is_wanted

    def release(self):
        """Lets all go that is held, and what comes."""
        self.loop.call_soon_threadsafe(self._release)

    def lose(self):
        """Loses all that is held, and lets go what comes."""
        self.loop.call_soon_threadsafe(self._lose)

    def _lose(self):
        self.held.clear()
        self._release()

    def _release(self):
        self.is_wanted = lambda subject: False
        for writer, data in self.held:
            writer.write(data)
