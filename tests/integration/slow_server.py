# SPDX-License-Identifier: MIT
"""A proxy in front of a nats-server that delivers what passes through it late, as a server does that is far away,
or whose disk is slow."""

import asyncio
import threading
import time


class SlowServer:
    """Listens on a port of its own. Each byte takes `delay` seconds in each direction; the rate is not limited.
    The delay may be changed at any time."""

    def __init__(self, port, delay=0.0):
        self.target, self.delay = port, delay
        self.ready = threading.Event()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self.ready.wait(10)
        self.url = f"nats://127.0.0.1:{self.port}"

    def _run(self):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        self.loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    async def _serve(self, reader, writer):
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        pairs = ((reader, to_server), (from_server, writer))
        await asyncio.gather(*(self._pass_on(*pair) for pair in pairs), return_exceptions=True)

    async def _pass_on(self, reader, writer):
        waiting = asyncio.Queue()
        sender = asyncio.ensure_future(self._deliver(waiting, writer))
        try:
            while data := await reader.read(1 << 16):
                waiting.put_nowait((time.monotonic(), data))
        except OSError:
            pass
        waiting.put_nowait((time.monotonic(), b""))
        await sender

    async def _deliver(self, waiting, writer):
        try:
            while True:
                came, data = await waiting.get()
                while (left := came + self.delay - time.monotonic()) > 0:
                    await asyncio.sleep(min(left, 0.05))
                if not data:
                    break
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
