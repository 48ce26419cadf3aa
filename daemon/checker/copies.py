# SPDX-License-Identifier: MIT
"""What `copy` and `pickle` do with stand-ins: the other side copies its object, and pickles it; a member of an
enumeration, which both sides have, is found again."""


class Copy:
    """Stands for an instance while `copy` or `pickle` works on it."""

    def __init__(self, space, value, is_deep=False):
        self.space, self.value, self.is_deep = space, value, is_deep

    def __deepcopy__(self, memo):
        made = self.space.ask("deepcopy", self.value)
        return Copy(None, made)

    def __reduce_ex__(self, protocol):
        return unpickled, (self.space.number_here, self.space.ask("pickle", self.value))


# Spaces by number, for what pickle calls.
spaces = []


def restored(copy):
    return copy.value if copy.space is None else copy.space.ask("copy", copy.value)


def unpickled(number, data):
    return Copy(None, spaces[number].ask("unpickle", None, (data,)))


def member(number, kind_number, name, value):
    """Finds the member of an enumeration, or the combination of its flags."""
    kind = spaces[number].stand_ins[kind_number]
    return kind.__members__[name] if name in kind.__members__ else kind(value)
