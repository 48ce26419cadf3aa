# SPDX-License-Identifier: MIT
"""What __dict__ of an object of the tests' is for the code: the names and values that the object had when it was asked
for. What the code writes there goes to the object, or is refused there; a copy would lose it without a word."""

MISSING = object()


class InstanceDict(dict):
    """Crosses as COPY, the plain dictionary that has come, which stays as this one is."""

    def __init__(self, space, value, copy):
        super().__init__(copy)
        self.space, self.value, self.copied = space, value, copy

    def __setitem__(self, name, value):
        self.space.ask("put", self.value, (name, value))
        super().__setitem__(name, value)
        self.copied[name] = value

    def __delitem__(self, name):
        if name not in self:
            raise KeyError(name)
        self.space.ask("drop", self.value, (name,))
        super().__delitem__(name)
        self.copied.pop(name, None)

    def update(self, /, *others, **more):
        for name, value in dict(*others, **more).items():
            self[name] = value

    def __ior__(self, other):
        self.update(other)
        return self

    def setdefault(self, name, value=None):
        if name not in self:
            self[name] = value
        return self[name]

    def pop(self, name, otherwise=MISSING):
        if name not in self and otherwise is not MISSING:
            return otherwise
        value = self[name]
        del self[name]
        return value

    def popitem(self):
        for name in reversed(self):
            return name, self.pop(name)
        raise KeyError("popitem(): dictionary is empty")

    def clear(self):
        for name in list(self):
            del self[name]
