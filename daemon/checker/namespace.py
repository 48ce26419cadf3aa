# SPDX-License-Identifier: MIT
"""The names that the tests see: their own, and those of the code, which are fetched when they are looked up."""

import sys

import program


class Space(dict):
    """The names of the tests. Each lookup of a name in THEIRS fetches it from the candidate as it is at
    that time. Objects that stay in the candidate are fetched once for each assertion."""

    def __init__(self, link, **names):
        super().__init__(names)
        self.link = link
        self.theirs = set()
        self.written = set()
        self.fetched = {}

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        if name in self.written:
            self.link.ask("set_global", None, (name, value))

    def __missing__(self, name):
        if name not in self.theirs:
            raise KeyError(name)
        # The next look-up may ask again: a thread of the code's may have given the name another value.
        value = self.link.answers.pop(("global", name), self)
        if value is self:
            value = self.link.ask("global", None, (name,))
        value = self.link.without_aliases(name, value)
        if self.link.is_theirs(value):
            self.keep(name, value)
        return value

    def keep(self, name, value):
        self.fetched[name] = value
        super().__setitem__(name, value)

    def forget(self):
        for name, value in self.fetched.items():
            if self.get(name) is value:  # otherwise the tests have replaced it
                del self[name]
        self.fetched.clear()


def of_main(text):
    """Returns the names X in TEXT that stand in it as `__main__.X`, as patch() is told them."""
    found = set()
    for piece in text.split(f"{program.TESTS}.")[1:]:
        end = next((at for at, one in enumerate(piece) if not (one.isalnum() or one == "_")), len(piece))
        found.add(piece[:end])
    return found


# The dictionary of a module, which for the tests' has the space, and __doc__ and the like.
_dictionary = type(sys).__dict__["__dict__"].__get__


def _space_of(module):
    return _dictionary(module)["__space__"]


class TestsModule(type(sys)):
    """What `import __main__` gives to the tests: their own names, and those of the code, which the tests may
    replace."""

    __dict__ = property(_space_of)

    def __getattribute__(self, name):
        space = _space_of(self)
        if name == "__dict__":
            return space
        try:
            return space[name]
        except KeyError:
            return super().__getattribute__(name)

    def __setattr__(self, name, value):
        space = _space_of(self)
        space.written |= {name} & space.theirs
        space[name] = value

    def __delattr__(self, name):
        del _space_of(self)[name]

    def __dir__(self):
        return list(_space_of(self))


def give(module, space):
    """Makes SPACE the names of MODULE, a TestsModule."""
    _dictionary(module)["__space__"] = space
