# SPDX-License-Identifier: MIT
"""Says for which objects of the code an operator with a value of the tests' may give plain data.

`f(x) % 7 == 0` shows 7 to whatever f(x) is, so an object there gives none: the tests expect a number. But tests that
write `Ring(5) % 7` call a class that they name, and know that its operators are the code's, as its methods are. Only
these objects, which the tests have made themselves, tell what comes of an operator. A difference tells nothing even
then (`abs(Length(5) - 5) < 0.1`), nor does a class that derives from a number, which Python compares as it is.

A class of the tests' that derives from one of the code's and from another has its instances in the judge. Where the
code's class decides, they are as any instance of it."""

import _weakref

import describe
import gates
from describe import ARITHMETIC, COMPARISONS, CONVERSIONS, UNARY

NUMBERS = (int, float, complex)
VALUES_MAX = 4096  # of classes derived from immutable types, which are remembered


class Refused(TypeError):
    """What the tests ask of an object of the candidate's would leave the verdict to the candidate."""


def exactly(kind, value):
    if type(value) is not kind:
        raise Refused(f"the code returned {type(value).__name__} where {kind.__name__} is due")
    return value


def remember(kept, value):
    """Keeps VALUE in mind by its id() for as long as it is there."""
    identity = id(value)
    kept[identity] = _weakref.ref(value, lambda _: kept.pop(identity, None))


class Constructed:
    """The objects that the tests have made by calling classes of the code's that they name."""

    def __init__(self, link):
        self.link = link
        self.numbers = set()  # of stand-ins
        self.made = set()  # of those that an operator has made of one of these and a value of the tests'
        self.containers = {}  # of derived classes, and objects that live here, by id()
        self.made_here = {}  # of what an operator has made: objects that live here, by id()
        self.seen_here = {}  # of these, what may tell nothing of the value of the tests' that it was made of
        self.values = {}  # by id()

    def info_of(self, value):
        """Returns what is known of the class of VALUE, if that is the code's and its instances live there."""
        info = self.link.infos.get(id(type(value)))
        return None if info is None or info.is_here or info.library else info

    def is_here(self, value):
        """Returns whether VALUE is of a class of the tests' that derives from one of the code's and from another."""
        info = self.link.infos.get(id(type(value)))
        return info is not None and info.is_here

    def note(self, kind, value):
        if type(value) is kind and self.is_here(value):
            return remember(self.containers, value)
        info = self.info_of(value)
        if type(value) is not kind or info is None or not info.fully_named():
            return
        number = self.link.stand_in_numbers.get(id(value))
        solid = describe.solid_base(kind)
        if number is not None:
            self.numbers.add(number)
        elif describe.is_among(solid, describe.MUTABLE_BASES):
            remember(self.containers, value)
        elif describe.is_among(solid, describe.IMMUTABLE_BASES):
            self.values[id(value)] = value
            if len(self.values) > VALUES_MAX:
                del self.values[next(iter(self.values))]

    def has(self, value):
        made = id(value) in self.containers or id(value) in self.values
        return made or self.link.stand_in_numbers.get(id(value)) in self.numbers

    def is_of_code(self, value):
        """Returns whether VALUE is an object of the code's, or of a class of its own that derives from a built-in type."""
        return self.link.stand_in_numbers.get(id(value)) is not None or self.info_of(value) is not None

    def are_of_code(self, value, arguments):
        """Returns whether an operator has seen objects of the code's alone. What lives here is one for another such."""
        is_here = self.is_here(value)
        return all(self.is_of_code(one) or is_here and self.is_here(one) for one in (value, *arguments))

    def is_object(self, value):
        is_known = self.link.stand_in_numbers.get(id(value)) is not None or self.is_here(value)
        return is_known and issubclass(type(value), self.link.Instance)

    def has_made(self, value):
        number = self.link.stand_in_numbers.get(id(value))
        if number is None:
            remember(self.made_here, value)
        else:
            self.made.add(number)

    def was_made(self, value):
        return id(value) in self.made_here or self.link.stand_in_numbers.get(id(value)) in self.made

    def taint(self, value):
        remember(self.seen_here, value)
        return value

    def has_seen(self, value):
        return id(value) in self.seen_here

    def give_to_code(self, operation, target, value):
        """The code has called TARGET, which gave VALUE. What a class makes for the code the tests have not made."""
        if operation == "call" and (isinstance(target, type) or type(target).__name__ == "partial"):
            self.containers.pop(id(value), None)

    def special_here(self, name, function, value, arguments, keywords):
        """Has the code do a special method of VALUE, which lives here, by the rules for its own objects. Nothing that it
        says stays an answer: what it asks of VALUE the tests may change without a question."""
        link = self.link
        if name in COMPARISONS:  # == of the code's decides between two objects of its own
            return link.ask("call", function, (value, *arguments)) if all(map(link.is_theirs, arguments)) else NotImplemented
        if name in ARITHMETIC or name in UNARY and name != "__round__":
            return link.operate(name, function, value, arguments)
        if name == "__exit__" or name == "__aexit__":
            return link.leave(name, function, value, arguments)
        if self.has_seen(value) and name != "__call__":
            raise Refused(f"{name} of an object that was made of a value of the tests'")
        found = link.ask("call", function, (value, *arguments), keywords)
        return exactly(CONVERSIONS[name], found) if name in CONVERSIONS else found

    def may_tell(self, name, value, arguments, is_object):
        """Returns whether operator NAME of VALUE may give plain data, or an object that answers (IS_OBJECT). An array
        would take part in it by itself. What has already seen a value of the tests' gives no plain data."""
        if self.was_made(value) and not is_object:
            return False
        if is_object and name in gates.ADDING and any(type(one) in NUMBERS and not abs(one) == one for one in arguments):
            return False  # what is negative, so that it is a difference
        is_array = any(type(one).__name__ == "ndarray" for one in arguments)
        is_number = describe.is_among(describe.solid_base(type(value)), NUMBERS)
        is_known = self.has(value) or self.was_made(value)
        return is_known and not is_array and not is_number and not gates.subtracts(name, value)
