# SPDX-License-Identifier: MIT
"""A proxy in front of a nats-server that holds jobs back on their way to a worker, so that all else overtakes them."""

import asyncio

from slow_server import SlowServer


class OvertakingServer(SlowServer):
    """Holds the messages of jobs until release(), and notes the subjects of all messages to the clients."""

    def __init__(self, port):
        self.held, self.passed = [], []
        self.is_holding = True
        super().__init__(port)

    async def _serve(self, reader, writer):
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(self._pass_on(reader, to_server), self._hold_jobs(from_server, writer), return_exceptions=True)

    async def _hold_jobs(self, reader, writer):
        while line := await reader.readline():
            words = line.split()
            if words[0] not in (b"MSG", b"HMSG"):
                writer.write(line)
                continue
            data = line + await reader.readexactly(int(words[-1]) + 2)
            if self.is_holding and words[1].startswith(b"rubricd.jobs."):
                self.held.append((writer, data))
                continue
            writer.write(data)
            self.passed.append(words[1].decode())
        writer.close()

    def release(self):
        """Lets the jobs go, and those that come."""
        self.loop.call_soon_threadsafe(self._release)

    def _release(self):
        self.is_holding = False
        for writer, data in self.held:
            writer.write(data)
