# SPDX-License-Identifier: MIT
"""The names that the tests see: their own, and those of the code, which are fetched when they are looked up."""

import sys

import program


# Modules of the library that look at a module's names as the tests would. Others look for names of their own there.
LOOKING = ("doctest", "inspect")
# Such names are found in no other way than by the tests' own text.
FOR_LIBRARIES = frozenset(("load_tests", "setUpModule", "tearDownModule"))


class Space(dict):
    """The names of the tests. Each lookup of a name in THEIRS fetches it from the candidate as it is at
    that time. Objects that stay in the candidate are fetched once for each assertion. Names in HIDDEN, which the tests
    do not mention, they find as well where they put a name together or go through all: otherwise a loop over
    `globals()` would check nothing of the code's."""

    def __init__(self, link, **names):
        super().__init__(names)
        self.link = link
        self.theirs, self.hidden = set(), set()
        self.written = set()
        self.fetched = {}
        self.is_asked = False  # whether the tests have looked up anything of the code's

    def belong(self, names, theirs):
        """Sets which of NAMES, those of the candidate, are THEIRS, and which of them are hidden."""
        self.theirs = theirs
        self.hidden = {name for name in names - theirs if not name.startswith("_")} - FOR_LIBRARIES

    def is_for(self, frame):
        """Returns whether what runs in FRAME may see the hidden names."""
        looking = frame.f_globals
        return looking is self or looking.get("__name__") in LOOKING

    def finds(self, name, frame):
        return type(name) is str and (name in self.theirs or name in self.hidden) and self.is_for(frame)

    def reveal(self, frame):
        """Fetches all names of the candidate's, for who goes through them."""
        if self.is_for(frame):
            for name in sorted((self.theirs | self.hidden) - set(dict.keys(self))):
                self.keep(name, self.fetch(name))

    def keys(self):
        self.reveal(sys._getframe(1))
        return super().keys()

    def values(self):
        self.reveal(sys._getframe(1))
        return super().values()

    def items(self):
        self.reveal(sys._getframe(1))
        return super().items()

    def copy(self):
        self.reveal(sys._getframe(1))
        return dict(super().items())

    def __iter__(self):
        self.reveal(sys._getframe(1))
        return super().__iter__()

    def __contains__(self, name):
        return super().__contains__(name) or self.finds(name, sys._getframe(1))

    def get(self, name, default=None, /):
        if not super().__contains__(name) and self.finds(name, sys._getframe(1)):
            return self.fetch(name)
        return super().get(name, default)

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        if name in self.written:
            self.link.ask("set_global", None, (name, value))

    def __missing__(self, name):
        if name not in self.theirs and not self.finds(name, sys._getframe(1)):
            raise KeyError(name)
        return self.fetch(name)

    def fetch(self, name):
        self.is_asked = True
        # The next look-up may ask again: a thread of the code's may have given the name another value.
        value = self.link.answers.pop(("global", name), self)
        if value is self:
            value = self.link.ask("global", None, (name,))
        value = self.link.without_aliases(name, value)
        if self.link.is_theirs(value):
            self.keep(name, value)
        return value

    def given(self, name):
        """Returns what NAME is, to be handed to a function of the tests, which has not looked at it yet."""
        was_asked, value = self.is_asked, self[name]
        self.is_asked = was_asked
        return value

    def keep(self, name, value):
        self.fetched[name] = value
        super().__setitem__(name, value)

    def forget(self):
        for name, value in self.fetched.items():
            if super().get(name) is value:  # otherwise the tests have replaced it
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
            return space.fetch(name) if name not in dict.keys(space) and space.finds(name, sys._getframe(1)) else space[name]
        except KeyError:
            return super().__getattribute__(name)

    def __setattr__(self, name, value):
        space = _space_of(self)
        space.written |= {name} & space.theirs
        space[name] = value

    def __delattr__(self, name):
        del _space_of(self)[name]

    def __dir__(self):
        space = _space_of(self)
        space.reveal(sys._getframe(1))
        return list(space)


def give(module, space):
    """Makes SPACE the names of MODULE, a TestsModule."""
    _dictionary(module)["__space__"] = space
