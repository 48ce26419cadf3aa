# SPDX-License-Identifier: MIT
"""Runs code and tests with a small wire of its own: in one plain process, or in two that share their ambient
state by way of Ambient and Mirror. The wire carries what marshal does, so plain data only.

    ambient_pair.py plain|pair < {"code": ..., "tests": ...}       exits with 0 if the tests pass
    ambient_pair.py serve                                          a job a line, each in a process of its own"""

import builtins
import json
import marshal
import os
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "daemon" / "checker"))


class Pipe:
    def __init__(self, read_fd, write_fd):
        self.source, self.sink = os.fdopen(read_fd, "rb"), os.fdopen(write_fd, "wb")

    def send(self, *message):
        data = marshal.dumps(message)
        self.sink.write(len(data).to_bytes(4, "big") + data)
        self.sink.flush()

    def receive(self):
        size = int.from_bytes(self.source.read(4), "big")
        return marshal.loads(self.source.read(size)) if size else ("end",)


def told(error):
    return type(error).__name__, [arg for arg in error.args if type(arg) in (str, int)]


def rebuilt(name, arguments):
    kind = getattr(builtins, name, None)
    return kind(*arguments) if kind else RuntimeError(name, *arguments)


class Judge:
    def __init__(self, pipe, text):
        import ambient

        self.pipe, self.ambient = pipe, ambient.Ambient(text)
        self.functions = []

    def ask(self, *question):
        self.ambient.depth.open()
        self.pipe.send("ask", question, self.ambient.outgoing())
        while True:
            kind, value, changed = self.pipe.receive()
            if changed is not None:
                self.ambient.incoming(changed)
            if kind != "back":
                self.ambient.depth.close()
                if kind == "raise":
                    raise rebuilt(*value)
                return value
            self.answer(*value)

    def answer(self, kind, arguments):
        try:
            self.ambient.depth.enter()
            try:
                if kind == "function":
                    result = self.functions[arguments[0]](*arguments[1])
                else:
                    result = self.ambient.called(kind, arguments)
            finally:
                self.ambient.depth.leave()
            reply = "ok", result if type(result) in (str, bytes, int, float, list, tuple, dict) else None
        except Exception as error:
            reply = "raise", told(error)
        self.pipe.send(*reply, self.ambient.outgoing())

    def handed(self, value):
        """Returns a function of the tests as something that the candidate can call."""
        if not callable(value):
            return value
        self.functions.append(value)
        return {"function": len(self.functions) - 1}

    def stub(self, name):
        return lambda *arguments, **keywords: self.ask("call", name, [*map(self.handed, arguments)], keywords)


class Candidate:
    def __init__(self, pipe):
        import mirror

        self.pipe = pipe
        self.mirror = mirror.Mirror(self.call_back)
        self.space = {"__name__": "candidate"}

    def serve(self):
        while True:
            message = self.pipe.receive()
            if message[0] == "end":
                os._exit(0)
            self.handle(*message)

    def handle(self, _, question, changed):
        if changed is not None:
            self.mirror.incoming(changed)
        try:
            reply = "ok", getattr(self, question[0])(*question[1:])
        except Exception as error:
            reply = "raise", told(error)
        self.pipe.send(*reply, self.mirror.outgoing())

    def load(self, code):
        self.mirror.loading(code)
        exec(compile(code, "<candidate>", "exec"), self.space)
        return [name for name in self.space if callable(self.space[name])]

    def call(self, name, arguments, keywords):
        return self.space[name](*map(self.taken, arguments), **keywords)

    def taken(self, value):
        if type(value) is dict and "function" in value:
            return lambda *arguments: self.call_back("function", value["function"], arguments)
        return value

    def call_back(self, kind, *arguments):
        self.mirror.depth.open()
        self.pipe.send("back", (kind, arguments), self.mirror.outgoing())
        while True:
            kind, value, changed = self.pipe.receive()
            if kind == "ask":
                self.nested(value, changed)
                continue
            self.mirror.depth.close()
            if changed is not None:
                self.mirror.incoming(changed)
            if kind == "raise":
                raise rebuilt(*value)
            return value

    def nested(self, question, changed):
        self.mirror.depth.enter()
        try:
            self.handle("ask", question, changed)
        finally:
            self.mirror.depth.leave()


def start_candidate():
    there, here = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(there[1])
        Candidate(Pipe(there[0], here[1])).serve()
    os.close(there[0])
    os.close(here[1])
    return Pipe(here[0], there[1])


def judge(how, code, tests):
    space = {"__name__": "__test__"}
    if how == "plain":
        exec(compile(code, "<candidate>", "exec"), space)
    else:
        judge = Judge(start_candidate(), tests)
        for name in judge.ask("load", code):
            space.setdefault(name, judge.stub(name))
    exec(compile(tests, "<tests>", "exec"), space)


def run(job, errors):
    """Runs in a process of its own."""
    os.dup2(errors.fileno(), 2)
    os.dup2(2, 1)
    os.chdir(job["directory"])
    status = 1
    try:
        judge(job["how"], job["code"], job["tests"])
        status = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    os._exit(status)


def serve():
    for module in ("unittest.mock", "doctest", "decimal", "ambient", "mirror"):
        __import__(module)
    for line in sys.stdin:
        with tempfile.TemporaryFile() as errors:
            pid = os.fork()
            if pid == 0:
                run(json.loads(line), errors)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            errors.seek(0)
            print(json.dumps([status, errors.read().decode("utf-8", "replace")]), flush=True)


def main():
    if sys.argv[1] == "serve":
        serve()
    else:
        job = json.load(sys.stdin)
        judge(sys.argv[1], job["code"], job["tests"])


if __name__ == "__main__":
    main()
