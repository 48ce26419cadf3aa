# SPDX-License-Identifier: MIT
"""A session over the protocol, for the tests of sessions."""

import base64


class Session:
    """A session that CLIENT opens with FIELDS of session_open. Keeps what its commands write."""

    def __init__(self, client, id="open", **fields):
        self.client = client
        client.send({"type": "session_open", "id": id, **fields})
        self.opened = client.recv()
        assert self.opened["type"] == "session_opened", self.opened
        self.number = self.opened["session"]

    def submit(self, id="command", check=True, **command):
        job = {"kind": "session", "session": self.number, **command}
        self.client.submit(id, job, check)

    def next_output(self, id="command"):
        """Returns the next piece of output: its stream and its bytes."""
        while True:
            message = self.client.recv()
            if message["type"] == "output":
                assert message["id"] == id
                return message["stream"], base64.b64decode(message["base64"])
            assert message["type"] == "started", message

    def answer(self, id="command"):
        """Returns the answer to a command, with what it has written meanwhile in `out` and `err`."""
        written = {"stdout": [], "stderr": []}
        while True:
            message = self.client.recv()
            if message["type"] == "output":
                assert message["id"] == id
                written[message["stream"]].append(base64.b64decode(message["base64"]))
            elif message["type"] != "started":
                assert message.get("id") == id, message
                return {**message, "out": b"".join(written["stdout"]), "err": b"".join(written["stderr"])}

    def command(self, **command):
        self.submit(**command)
        return self.answer()

    def run(self, *argv, **fields):
        """Runs a program to its end; returns the answer."""
        return self.command(argv=list(argv), **fields)

    def shell(self, script, **fields):
        """Runs a shell script that succeeds; returns what it has written to stdout, as text."""
        answer = self.run("/bin/sh", "-c", script, **fields)
        assert answer["type"] == "result" and answer["outcome"]["success"], answer
        return answer["out"].decode()

    def write(self, path, content, **fields):
        # To match megabytes with the schema's pattern of base64 takes a second.
        fields.setdefault("check", len(content) <= 1 << 20)
        text = {"base64": base64.b64encode(content).decode()}
        return self.command(write=path, content=text, **fields)

    def read(self, path):
        return self.command(read=path)

    def closed(self):
        """Returns the message that tells the end."""
        message = self.client.recv()
        assert message["type"] == "session_closed" and message["session"] == self.number, message
        return message

    def close(self, id="close"):
        self.client.send({"type": "session_close", "id": id, "session": self.number})
        message = self.closed()
        assert message["id"] == id
        return message
