# SPDX-License-Identifier: MIT
"""Pickles and marshalled code that the tests read. A pickle names functions and says what they are called with: one
that this process has not made itself is read by the candidate, unless it holds nothing but plain data."""

import io
import os
from _thread import get_ident

import channels

DUMPED_MAX = 64 << 20  # bytes of pickles that are remembered


class _Named(Exception):
    """A pickle names something."""


class _Tee:
    """A file, and what has been read of it."""

    def __init__(self, file):
        self.file, self.parts = file, []

    def read(self, size=-1):
        data = self.file.read(size)
        self.parts.append(data)
        return data

    def readline(self):
        data = self.file.readline()
        self.parts.append(data)
        return data


class Pickles:
    """GATE is the texts.Gate of the job."""

    def __init__(self, gate):
        self.gate = gate
        self.dumped, self.size = set(), 0
        self.process = os.getpid()
        self.trusted_in = None  # the thread that reads a pickle of this process

    def note(self, data):
        if self.size < DUMPED_MAX and data not in self.dumped:
            self.dumped.add(bytes(data))
            self.size += len(data)
        return data

    def on_find(self, frame, module, name):
        if self.trusted_in != get_ident() and not self.is_from_tests(frame):
            self.gate.refuse(f"the tests read a pickle that is not theirs, with `{module}.{name}`")

    def is_from_tests(self, frame):
        """Returns whether what FRAME reads comes from processes and threads of the tests."""
        found = channels.read_by(frame)
        if found is None or self.gate.has_received(found[1]):
            return False
        if channels.is_for_manager(frame):
            return True
        is_theirs = []
        planted = self.gate.planted
        others = planted.others if planted.is_on else None
        planted.unheard(lambda: is_theirs.append(channels.is_of_tests(found[0].fileno(), self.process, others)))
        return is_theirs[0]

    def loads(self, data, **more):
        """Is pickle.loads() of the bytes DATA."""
        data = bytes(data)
        if data in self.dumped or data in self.gate.own().data:
            return self.trusted(lambda: self.real_loads(data, **more))
        try:
            return self.plain(io.BytesIO(data), **more).load()
        except _Named:
            self.gate.link.crossings.note("a pickle")
            return self.gate.link.ask("unpickle", None, (data,))

    def trusted(self, step):
        before, self.trusted_in = self.trusted_in, get_ident()
        try:
            return step()
        finally:
            self.trusted_in = before

    def load(self, file, **more):
        """Is pickle.load(): reads one pickle and no more."""
        tee = _Tee(file)
        try:
            for _ in self.opcodes(tee):
                pass
        except ValueError:
            return self.plain(io.BytesIO(b"".join(tee.parts)), **more).load()  # which says what is wrong
        return self.loads(b"".join(tee.parts), **more)

    def install(self):
        """Puts itself in the place of what the module pickle offers."""
        import pickle
        import pickletools

        pickles, dumps = self, pickle.dumps
        self.opcodes, self.real_loads = pickletools.genops, pickle.loads

        class Plain(pickle.Unpickler):
            def find_class(self, module, name):
                raise _Named

        class Unpickler(pickle.Unpickler):
            def __init__(self, file, **more):
                super().__init__(file, **more)
                self._read = file, more

            def load(self):
                if type(self) is not Unpickler:
                    return super().load()
                return pickles.load(self._read[0], **self._read[1])

        class Pickler(pickle.Pickler):
            def __init__(self, file, *arguments, **more):
                written = self._written = io.BytesIO()
                super().__init__(written, *arguments, **more)
                self._file = file

            def dump(self, value):
                super().dump(value)
                data = pickles.note(self._written.getvalue())
                self._written.seek(0)
                self._written.truncate()
                self._file.write(data)

        self.plain = Plain
        for name, made in {
            "dumps": lambda *arguments, **more: pickles.note(dumps(*arguments, **more)),
            "dump": lambda value, file, *arguments, **more: file.write(pickles.note(dumps(value, *arguments, **more))) and None,
            "loads": lambda data, /, **more: pickles.loads(data, **more),
            "load": lambda file, **more: pickles.load(file, **more),
            "Unpickler": Unpickler,
            "Pickler": Pickler,
        }.items():
            made.__name__ = made.__qualname__ = name
            made.__module__ = "pickle"  # where the other side finds its own
            setattr(pickle, name, made)
