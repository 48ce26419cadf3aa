# SPDX-License-Identifier: MIT
"""Says for which objects of the code an operator with a value of the tests' may give plain data.

`f(x) % 7 == 0` shows 7 to whatever f(x) is, so an object there gives none: the tests expect a number. But tests that
write `Ring(5) % 7` call a class that they name, and know that its operators are the code's, as its methods are. Only
these objects, which the tests have made themselves, tell what comes of an operator. A difference tells nothing even
then (`abs(Length(5) - 5) < 0.1`), nor does a class that derives from a number, which Python compares as it is."""

import _weakref

import describe
import gates

NUMBERS = (int, float, complex)
VALUES_MAX = 4096  # of classes derived from immutable types, which are remembered


class Constructed:
    """The objects that the tests have made by calling classes of the code's that they name."""

    def __init__(self, link):
        self.link = link
        self.numbers = set()  # of stand-ins
        self.made = set()  # of those that an operator has made of one of these and a value of the tests'
        self.containers = {}  # of derived classes, by id()
        self.values = {}  # by id()

    def info_of(self, value):
        """Returns what is known of the class of VALUE, if that is the code's and its instances live there."""
        info = self.link.infos.get(id(type(value)))
        return None if info is None or info.is_here or info.library else info

    def note(self, kind, value):
        info = self.info_of(value)
        if type(value) is not kind or info is None or not info.fully_named():
            return
        number = self.link.stand_in_numbers.get(id(value))
        solid = describe.solid_base(kind)
        if number is not None:
            self.numbers.add(number)
        elif describe.is_among(solid, describe.MUTABLE_BASES):
            identity = id(value)
            self.containers[identity] = _weakref.ref(value, lambda _: self.containers.pop(identity, None))
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

    def may_tell(self, name, value, arguments, is_object):
        """Returns whether operator NAME of VALUE may give plain data, or an object that answers (IS_OBJECT). An array
        would take part in it by itself. What has already seen a value of the tests' gives no plain data."""
        number = self.link.stand_in_numbers.get(id(value))
        if number in self.made and not is_object:
            return False
        if is_object and name in gates.ADDING and any(type(one) in NUMBERS and not abs(one) == one for one in arguments):
            return False  # what is negative, so that it is a difference
        is_array = any(type(one).__name__ == "ndarray" for one in arguments)
        is_number = describe.is_among(describe.solid_base(type(value)), NUMBERS)
        is_known = self.has(value) or number in self.made
        return is_known and not is_array and not is_number and not gates.subtracts(name, value)
