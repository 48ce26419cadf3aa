# SPDX-License-Identifier: MIT
"""One side of the wire: a space of objects, of which some live here and the others are stand-ins for what
lives on the other side. How the sides talk is in conversation.py.

An object of this side that crosses for the first time is described (describe.py); the other side makes a
stand-in for it (mirrors.py), and from then on its number says which one it is."""

import _weakref
import sys
import threading

import asynchronous
import classes
import copies
import describe
import enumerations
import metaclasses
import mirrors
import sharing
import turns
import wire
from conversation import Conversation, Lost, pairs  # noqa: F401  Lost for judge.py
from wire import WireError

OBJECTS_MAX = 1 << 20


class Space(Conversation):
    trusted = True  # what the other side says of itself
    teller = None  # of signatures
    shows_attributes = False  # of functions that have none yet

    def __init__(self, read_fd, write_fd, first):
        self.fds = read_fd, write_fd
        self.turns = turns.Turns(read_fd)
        self.sharing = sharing.Sharing(first)
        self.exports, self.export_numbers = {}, {}  # ours, by number and by id()
        self.next_export = 0
        self.stand_ins, self.stand_in_numbers = {}, {}  # theirs, by number and by id()
        self.told_errors = {}  # what the other side was told of our exceptions, by number
        self.heard_errors = {}  # what their exceptions are like as both sides know, by number
        self.described = {}  # of stand-ins that can go away: their class
        self.dead = []
        self.nans, self.nan_numbers = [], {}
        self.infos = {}  # of mirror classes, by id()
        self.library_classes = {}
        self.shared_classes = classes.Shared()
        self.metaclasses = set()
        self.metaclass_by_bases = {}
        self.Mirror, self.Instance = mirrors.make_machinery(self)
        self.metaclasses.add(self.Mirror)
        self.lost = None
        self.number_here = len(copies.spaces)
        copies.spaces.append(self)
        self.lock = threading.RLock()
        self.ambient = None
        self.transcript = None
        self.steps = asynchronous.Steps(self)

    # --- sending ---

    def export(self, writer, value):
        number = self.stand_in_numbers.get(id(value))
        if number is not None:
            self.export_theirs(writer, number, value)
        elif not self.shared_classes.write(writer, value) and not self.export_container(writer, value):
            self.export_own(writer, value)

    def export_theirs(self, writer, number, value):
        """The other side has VALUE. If it is an exception, this side may have added a note, or set something."""
        before = self.heard_errors.get(number)
        now = before and classes.contents_of(value)
        has_changed = now is not None and not classes.is_same(before, now)
        writer.out += b"G" if has_changed else b"g"
        wire.write_number(writer.out, number)
        if has_changed:
            writer.changed_errors.append((number, before))
            self.heard_errors[number] = now
            writer.children(now)

    def export_container(self, writer, value):
        """Instances of classes that derive from a mutable built-in type are containers."""
        kind = type(value)
        if isinstance(value, type):
            return False
        for base in describe.MUTABLE_BASES:
            if describe.is_container_of(kind, base):
                writer.container(b"M", classes.derived(base), value)
                return True
        return False

    def export_own(self, writer, value):
        number = self.export_numbers.get(id(value))
        if number is not None:
            self.export_known(writer, number, value)
            return
        parts = self.describe(value)
        if parts[0] not in describe.NUMBERED or self.may_forget(parts):
            writer.out += b"U"
        else:
            if len(self.exports) >= OBJECTS_MAX:
                raise WireError("too many objects")
            number = self.next_export
            self.next_export += 1
            self.exports[number] = value
            self.export_numbers[id(value)] = number
            writer.exported.append(number)
            writer.out += b"H"
            wire.write_number(writer.out, number)
            if isinstance(value, BaseException):
                self.told_errors[number] = parts
        writer.children(parts)

    def export_known(self, writer, number, value):
        """The other side has VALUE. If it is an exception, it may have changed since: its constructor has ended, or
        somebody has caught it."""
        parts = self.describe(value) if isinstance(value, BaseException) else None
        has_changed = parts is not None and classes.has_changed(parts, self.told_errors.get(number))
        writer.out += b"n" if has_changed else b"h"
        wire.write_number(writer.out, number)
        if has_changed:
            writer.told_again.append((number, self.told_errors[number]))
            self.told_errors[number] = parts
            writer.children(parts)

    def may_forget(self, parts):
        return False

    def describe(self, value):
        return describe.describe(value, self.trusted, self.teller, self.shows_attributes)

    def withdraw(self, writer):
        """Undoes what writing a message that cannot be sent has changed."""
        for number in writer.exported:
            del self.export_numbers[id(self.exports.pop(number))]
            self.told_errors.pop(number, None)
        for number, parts in writer.told_again:
            self.told_errors[number] = parts
        self.heard_errors.update(reversed(writer.changed_errors))
        for entry in writer.written:
            entry.seen = None
            if entry.number in writer.entered:
                self.sharing.forget(entry.number)

    def nan_number(self, value):
        number = self.nan_numbers.get(id(value))
        if number is None:
            number = self.nan_numbers[id(value)] = len(self.nans) * 2 + self.sharing.next % 2
            self.nans.append(value)
            self.nan_numbers[number, "known"] = value
        return number

    def nan(self, number, value):
        if value == value:
            raise WireError("a NaN that is none")
        known = self.nan_numbers.get((number, "known"))
        if known is not None:
            return known
        if number % 2 == self.sharing.first:
            raise WireError("a number that is not the other side's to give")
        self.nan_numbers[number, "known"] = value
        self.nan_numbers[id(value)] = number
        return value

    # --- receiving ---

    def resolve(self, tag, reader, table):
        if tag == 103:  # g: one of ours comes back
            number = reader.number()
            if number not in self.exports:
                raise WireError("an unknown object")
            return self.exports[number]
        if tag == 71:  # G: and it has changed
            error = self.exports.get(reader.number())
            if not isinstance(error, BaseException):
                raise WireError("a change of no exception")
            return table.put_off(lambda parts: self.change_error(error, tuple(parts)), reader)
        if tag == 104:  # h
            return self.known(reader.number())
        if tag == 72:  # H
            number = reader.number()
            return table.put_off(lambda parts: self.adopt(number, tuple(parts)), reader)
        if tag == 85:  # U
            return table.put_off(lambda parts: self.adopt(None, tuple(parts)), reader)
        if tag == 110:  # n
            number = reader.number()
            return table.put_off(lambda parts: self.renew(number, tuple(parts)), reader)
        if tag == 77:  # M
            return classes.read_derived(reader, table, self)
        if tag in classes.Shared.TAGS:
            return self.shared_classes.read(tag, reader, table)
        raise WireError("an unknown tag")

    def renew(self, number, parts):
        error = classes.renew(self.known(number), parts)
        self.heard_errors[number] = classes.contents_of(error)
        return error

    def change_error(self, error, parts):
        """Hears what the other side has made of an exception of this one. Returns the exception."""
        return classes.change(error, parts) if self.may_be_changed(error) else error

    @staticmethod
    def may_be_changed(error):
        return True

    def known(self, number):
        value = self.stand_ins.get(number)
        if type(value) is _weakref.ref:
            value = value()
        if value is None:
            kind = self.described.get(number)
            if kind is None:
                raise WireError("an unknown object")
            if number in self.dead:
                self.dead.remove(number)
            value = self.new_instance(number, kind)
        return value

    def adopt(self, number, parts):
        make = self.MAKERS.get(parts[0] if parts and type(parts[0]) is str else "")
        if make is None or number in self.stand_ins:
            raise WireError("an unknown kind of object")
        # Only what is made here and now may be kept as theirs: a name leads to what was there before.
        if number is not None and parts[0] not in describe.NUMBERED:
            raise WireError("a number for what has a name")
        if len(self.stand_ins) >= OBJECTS_MAX:
            raise WireError("too many objects")
        value = make(self, number, parts)
        if number is not None and number not in self.stand_ins:
            if id(value) in self.stand_in_numbers or id(value) in self.export_numbers:
                raise WireError("two descriptions of one object")
            self.keep(number, value)
            if isinstance(value, BaseException):
                self.heard_errors[number] = classes.contents_of(value)
        return value

    def keep(self, number, value):
        self.stand_ins[number] = value
        self.stand_in_numbers[id(value)] = number

    def new_instance(self, number, kind):
        value = mirrors.empty_instance(kind)
        known = self.stand_in_numbers
        identity = id(value)

        def gone(_):
            if known.get(identity) == number:
                del known[identity]
            self.dead.append(number)

        self.stand_ins[number] = _weakref.ref(value, gone)
        self.stand_in_numbers[identity] = number
        self.described[number] = kind
        return value

    def make_instance(self, number, parts):
        _, kind, shadows = parts
        if id(kind) not in self.infos or number is None or not issubclass(kind, self.Instance):
            raise WireError("an instance without a class")
        value = self.new_instance(number, kind)
        for name in shadows if type(shadows) is tuple else ():
            self.told_shadow(kind, number, name)
        return value

    def told_shadow(self, kind, number, name):
        """Hears that an instance on the other side has an attribute in the place of a method."""
        self.shadows.add((number, name))

    shadows = frozenset()

    def make_library_instance(self, number, parts):
        _, module, qualified, specials = parts
        if type(module) is not str or type(qualified) is not str or number is None:
            raise WireError("a bad instance")
        key = (module, qualified)
        kind = self.library_classes.get(key)
        if kind is None:
            specials = self.specials_of_library(module, qualified, specials)
            kind = self.library_classes[key] = mirrors.make_library_class(self, module, qualified, specials)
        return self.new_instance(number, kind)

    def specials_of_library(self, module, qualified, specials):
        return specials if type(specials) is tuple else ()

    def make_function(self, number, parts):
        if len(parts) != 8:
            raise WireError("a bad function")
        return mirrors.make_function(self, number, parts)

    def heard(self, annotation):
        """Returns an annotation of which the other side has told."""
        return annotation

    def make_class(self, number, parts):
        return mirrors.make_class(self, number, parts)

    def make_enumeration(self, number, parts):
        return enumerations.make(self, number, parts)

    def make_metaclass(self, number, parts):
        return metaclasses.make(self, number, parts)

    def metaclass_of(self, specials, bases, more):
        return metaclasses.of_mirror(self, specials, bases, more)

    def make_method(self, number, parts):
        is_theirs = len(parts) == 3 and id(type(parts[2])) in self.infos  # as of a method that lru_cache() has made
        if not is_theirs and (len(parts) != 3 or type(parts[2]) not in (describe.FUNCTION, describe.BOUND)):
            raise WireError("a bad method")
        return describe.BOUND_METHOD(parts[2], parts[1])

    def make_library_object(self, number, parts):
        raise WireError("a name of the library")

    def built_in(self, kind):
        return kind

    def make_sentinel(self, number, parts):
        _, module, name = parts
        if name not in describe.SENTINELS.get(module, ()):
            raise WireError("an unknown sentinel")
        return vars(__import__(module))[name]

    def make_module(self, number, parts):
        return mirrors.make_function(self, None, ("f", "module", "module", None, None, 0, None, None))

    def make_exception(self, number, parts):
        if len(parts) != 8:
            raise WireError("a bad exception")
        return classes.rebuild(*parts[1:])

    def make_derived(self, number, parts):
        _, kind, value = parts
        base = describe.solid_base(kind)
        if not self.may_make(kind) or type(value) is not base or base not in describe.IMMUTABLE_BASES:
            raise WireError("a bad value")
        return base.__new__(kind, value)

    def make_plain(self, number, parts):
        if len(parts) != 2 or not describe.is_among(type(parts[1]), describe.IMMUTABLE_BASES):
            raise WireError("a bad value")
        return parts[1]

    def may_make(self, kind):
        """Returns whether the other side may have instances of a class made of their parts."""
        return id(kind) in self.infos

    def make_member(self, number, parts):
        _, kind, name = parts
        if describe.is_enumeration(kind) and type(name) is int:
            return enumerations.combination(kind, name)
        if not describe.is_enumeration(kind) or type(name) is not str or name not in kind.__members__:
            raise WireError("an unknown member")
        return kind.__members__[name]

    MAKERS = {
        "f": lambda self, *rest: self.make_function(*rest),
        "b": lambda self, *rest: self.make_method(*rest),
        "c": lambda self, *rest: self.make_class(*rest),
        "Y": lambda self, *rest: self.make_library_object(*rest),
        "q": lambda self, *rest: self.make_library_object(*rest),
        "m": lambda self, *rest: self.make_module(*rest),
        "s": lambda self, *rest: self.make_sentinel(*rest),
        "i": lambda self, *rest: self.make_instance(*rest),
        "l": lambda self, *rest: self.make_library_instance(*rest),
        "e": lambda self, *rest: self.make_exception(*rest),
        "p": lambda self, *rest: self.make_derived(*rest),
        "v": lambda self, *rest: self.make_plain(*rest),
        "n": lambda self, *rest: self.make_member(*rest),
    }

    # --- mirror classes ---

    def info(self, kind):
        return self.infos[id(kind)]

    def number_of(self, value):
        return self.stand_in_numbers.get(id(value))

    def is_here(self, value):
        """Returns whether an instance of a class that derives from a mirror lives on this side."""
        return self.infos[id(type(value))].is_here

    def derive(self, metaclass, name, bases, namespace, keywords):
        """Makes the class of a class statement one of whose bases is a mirror. Its instances live where
        those of the bases live; where these differ, here."""
        mirrored = [one for one in bases if id(one) in self.infos]
        is_theirs = all(id(one) in self.infos and not self.info(one).is_here for one in bases)
        cell = namespace.pop("__classcell__", None)
        if is_theirs and mirrored:
            made = self.ask("derive", None, (name, bases, pairs(namespace)), keywords)
            if isinstance(made, self.Mirror) and "__annotations__" in namespace:
                mirrors.set_annotations(made, namespace["__annotations__"])  # dataclasses looks for fields there
        else:
            info = mirrors.Info(None, name)
            info.is_here = info.named = True
            made = type.__new__(metaclass, name, bases, dict(namespace), **keywords)
            uncover(made, self.Instance)
            self.infos[id(made)] = info
            self.own_classes.append(made)
        if cell is not None and isinstance(made, type):
            cell.cell_contents = made
        return made

    own_classes = []
    asks_abstract = False  # which classes are registered as subclasses of abstract ones of the other side

    def attribute(self, value, name):
        """An attribute of an instance of a mirror class."""
        kind = type(value)
        info = self.infos.get(id(kind))
        if info is None or info.is_here or name in LOCAL:
            if name == "__class__" and info is not None and info.library:
                return self.class_shown(info, kind)
            try:
                return object.__getattribute__(value, name)
            except AttributeError:
                if info is None or not info.is_here or name.startswith("__"):
                    raise
            return self.attribute_of_base(kind, name)
        for one in kind.__mro__:
            own = self.infos.get(id(one))
            if own is None:
                continue
            names = vars(one)
            if name not in names or name == "__weakref__":
                continue
            if name in own.data or name in own.kept and (self.number_of(value), name) in self.shadows:
                break
            if name in own.properties:
                return self.get(value, name)
            if name in own.methods and own.methods[name] is not None:
                if (self.number_of(value), name) in self.shadows:
                    break
                if names[name] is not own.methods[name] and type(names[name]) is not describe.FUNCTION:
                    break
                return describe.BOUND_METHOD(own.methods[name], value)
            return object.__getattribute__(value, name)
        return self.get(value, name)

    def attribute_of_base(self, kind, name):
        """Returns what an object of this side has from a class of the other side's, which its class derives from, too."""
        for one in mirrors.mro_of(kind):
            info = self.infos.get(id(one))
            if info is not None and not info.is_here and not info.library:
                return self.get(one, name)
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")

    def has_ended(self, number):
        """Returns whether an iterator of the library, which may have more items later, gives none for now."""
        return False

    def notes_end(self, number):
        """Hears that such an iterator has no items left."""

    def has_set(self, value, name):
        """Hears that this side has set an attribute of an instance of the other's."""

    def make_object(self, kind, arguments, keywords):
        return self.has_made(kind, self.ask("call", kind, arguments, keywords))

    def has_made(self, kind, value):
        """Hears that calling the class KIND has given VALUE, and returns it."""
        return value

    def class_of_library(self, module, qualified):
        """Returns what makes an object like one of the other side's, whose class is the library's."""
        raise TypeError(f"cannot create {qualified!r} instances")

    def class_shown(self, info, kind):
        return kind

    def check_named(self, info, value, name):
        """Raises an exception unless special methods of a class answer on this side."""

    def may_use(self, value, name):
        """Raises an exception if what a stand-in does by itself, without special(), is not for this side."""

    def get(self, value, name):
        return self.ask("get", value, (name,))

    def special(self, info, name, function, value, arguments, keywords):
        if function is not None:
            return self.ask("call", function, (value, *arguments), keywords)
        return self.ask("special", value, (name, *arguments), keywords)

# Attributes that a stand-in has of its own.
LOCAL = frozenset(("__class__", "__doc__", "__module__", "__reduce_ex__", "__reduce__", "__weakref__", "__dir__",
                   "__init__", "__new__", "__sizeof__", "__subclasshook__"))  # fmt: skip


# Of these a mirror has its own, which stand before those of the bases that come later.
UNCOVERED = ("__setattr__", "__delattr__", "__dir__", "__hash__")


def uncover(kind, instance):
    """Has a class, whose instances live here, do as its bases behind INSTANCE say. No base of the other side's does."""
    mro = mirrors.mro_of(kind)
    before = mro[: mro.index(instance)] if instance in mro else mro
    for name in UNCOVERED:
        if not any(name in vars(one) for one in before):
            owner = next((one for one in mro if one is not instance and name in vars(one)), object)
            if owner is not object:
                type.__setattr__(kind, name, vars(owner)[name])
