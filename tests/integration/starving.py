#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Stands in front of a daemon and lets chosen jobs starve, as a daemon does whose host is too busy.

    starving.py SOCKET DAEMON [--word WORD] [--times N] [--timeout] [--rate P --seed N] [--log FILE]

Listens at SOCKET and passes everything on to the daemon at DAEMON and back. A job that has WORD somewhere, or each
with the probability P, gets the error `starved` and never reaches the daemon; with --timeout it runs there, and its
result says that it timed out and had no CPU meanwhile. After N of them no more starve (--times; default: no end).
Each line of FILE is an event: {"job": its last argument, "event": "submit", "beside": [those in flight]}, or
"event": "starved" or "answered"."""

import argparse
import asyncio
import json
import random
import struct
from pathlib import Path


class Between:
    """Decides which jobs starve, and writes the log."""

    def __init__(self, options):
        self.options = options
        self.left = options.times
        self.chance = random.Random(options.seed)
        self.in_flight = {}
        self.late = set()  # ids whose result is to become a timeout

    def note(self, event, name, **more):
        if self.options.log:
            with open(self.options.log, "a", encoding="utf-8") as log:
                log.write(json.dumps({"event": event, "job": name, **more}) + "\n")

    def starves(self, text):
        wanted = self.options.word and self.options.word in text or self.chance.random() < self.options.rate
        if not wanted or self.left == 0:
            return False
        self.left -= 1
        return True

    def take_submit(self, message, text):
        """Returns the answer that the daemon does not give, or None."""
        id, job = message["id"], message["job"]
        name = (job.get("argv") or [""])[-1]
        self.note("submit", name, beside=sorted(self.in_flight.values()))
        if self.starves(text):
            if not self.options.timeout:
                self.note("starved", name)
                why = "the host was too busy: of 10000 ms the job waited 9900 ms for a CPU"
                return {"type": "error", "id": id, "code": "starved", "message": why, "retriable": True}
            self.late.add(id)
        self.in_flight[id] = name
        return None

    def take_answer(self, message):
        """Returns the answer that the client gets."""
        name = self.in_flight.pop(message["id"], None)
        if message["id"] in self.late and message["type"] == "result":
            self.late.remove(message["id"])
            self.note("starved", name)
            message["outcome"].update(limit_exceeded="wall_clock", success=False)
            message["usage"].update(wall_clock_ms=1000, cpu_wait_ms=900)
            message["score"].update(passed=False, score=0)
        else:
            self.note("answered", name)
        return message


def frame(message):
    payload = json.dumps(message, separators=(",", ":")).encode()
    return struct.pack(">I", len(payload)) + payload


async def frames(reader):
    while True:
        try:
            head = await reader.readexactly(4)
            yield head, await reader.readexactly(struct.unpack(">I", head)[0])
        except (asyncio.IncompleteReadError, ConnectionError):
            return


async def pass_on(reader, writer, treat):
    """Sends what TREAT makes of each frame; nothing for None."""
    try:
        async for head, payload in frames(reader):
            data = treat(head, payload)
            if data:
                writer.write(data)
                await writer.drain()
    except ConnectionError:
        pass
    writer.close()


async def serve_client(between, reader, writer):
    try:
        from_daemon, to_daemon = await asyncio.open_unix_connection(between.options.daemon, limit=1 << 26)
    except OSError:
        writer.close()
        return
    between.in_flight.clear()

    def request(head, payload):
        if b'"submit"' in payload[:40]:
            answer = between.take_submit(json.loads(payload), payload.decode())
            if answer:
                writer.write(frame(answer))
                return None
        return head + payload

    def reply(head, payload):
        if payload.startswith((b'{"type":"result"', b'{"type":"error"')):
            message = json.loads(payload)
            if message.get("id") in between.in_flight:
                changed = message["id"] in between.late
                message = between.take_answer(message)
                return frame(message) if changed else head + payload
        return head + payload

    await asyncio.gather(pass_on(reader, to_daemon, request), pass_on(from_daemon, writer, reply))


async def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("socket", type=Path)
    parser.add_argument("daemon", type=Path)
    parser.add_argument("--word")
    parser.add_argument("--times", type=int, default=-1)
    parser.add_argument("--timeout", action="store_true")
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path)
    between = Between(parser.parse_args())
    between.options.socket.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(
        lambda reader, writer: serve_client(between, reader, writer), between.options.socket, limit=1 << 26
    )
    between.options.socket.chmod(0o666)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
