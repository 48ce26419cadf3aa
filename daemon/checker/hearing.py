# SPDX-License-Identifier: MIT
"""Loads modules, and hears who imports what and what each leaves outside of itself. Runs in the template of a class
(daemon/jail/template.h) before any code does; hidden.py makes use of what was heard.

An import counts for the module that is being loaded at that moment, whichever module's function makes it. Modules written
in C import what is loaded already without calling anything that this module hears. So the Hearer takes away what earlier
names of the class have loaded while it loads the next one, and gives each module back when something asks for it. hidden.py
undoes what a module has changed in others when it hides the module, and does it again when it shows it."""

import _warnings
import builtins
import sys
import types

import trusted

MACHINERY = sys.modules["_frozen_importlib"]
LOAD, IMPORT, GCD_IMPORT = MACHINERY._load_unlocked, builtins.__import__, MACHINERY._gcd_import
NOTHING = object()  # no attribute
# Tables that modules enter something into: where they are.
TABLES = (("copyreg", "dispatch_table"), ("copyreg", "_extension_registry"), ("copyreg", "_inverted_registry"))


class Refused(Exception):
    """Jobs would share something of these modules, or would lack it."""


class Node:
    """A module that was loaded: ASKED are the names that it has imported, INSERTED those that it has put into
    sys.modules itself, CHANGES what it has changed elsewhere."""

    def __init__(self, name, spec=None):
        self.name, self.spec, self.module = name, spec, None
        self.asked, self.inserted, self.changes = {}, [], []  # of the first, the keys matter
        self.absent = []  # names that it has asked for in vain
        self.bound = None  # (names of its package, its name there, what that was before)


class Attribute:
    """An attribute of another module that was changed."""

    def __init__(self, names, name, before, after):
        self.names, self.name, self.before, self.after = names, name, before, after

    def put(self, value):
        if value is NOTHING:
            self.names.pop(self.name, None)
        else:
            self.names[self.name] = value

    def undo(self):
        self.put(self.before)

    def redo(self):
        self.put(self.after)


class Listed:
    """Entries of a list that have come, at its start or at its end, or have gone."""

    def __init__(self, find, before, after):
        self.find = find
        old, new = set(map(id, before)), set(map(id, after))
        came = [one for one in after if id(one) not in old]
        self.before = before
        self.gone = [one for one in before if id(one) not in new]
        self.at_start = [one for one, there in zip(after, came) if one is there]
        self.at_end = came[len(self.at_start) :]

    def undo(self):
        self.find()[:] = self.before

    def redo(self):
        entries = self.find()
        gone = set(map(id, self.gone))
        entries[:] = [*self.at_start, *(one for one in entries if id(one) not in gone), *self.at_end]


def filters():
    return sys.modules.get("warnings", _warnings).filters


def finders():
    return sys.meta_path


def as_machinery(function):
    """Returns FUNCTION with the file name by which Python leaves frames of its own out of tracebacks, and out of the
    frames that a warning counts."""
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    return function


def same(before, after):
    """Returns whether two dictionaries have the same entries. Values that cannot be compared are others."""
    try:
        return before == after
    except Exception:
        return False


class Hearer:
    def __init__(self):
        self.nodes, self.order = {}, []  # the order in which their loading ended
        self.changes = []  # all, in order
        self.outer = Node("")
        self.loading = [self.outer]
        self.spaces, self.root = {}, ""
        self.late = []  # modules of the root that is being loaded
        self.kept = {}  # modules of earlier names, by name, that the one that is being loaded has not asked for
        self.seen = set(sys.modules)
        for name, module in list(sys.modules.items()):
            self.follow(name, module)
        self.lists = [(find, list(find())) for find in (filters, finders)]
        self.tables = [(table, dict(table)) for table in filter(None, map(table_of, TABLES))]

    # --- looking ---

    def follow(self, name, module):
        """Looks at the attributes of a module from now on."""
        if isinstance(module, types.ModuleType):
            names = vars(module)
            self.spaces[name] = names, dict(names)

    def changed(self, change):
        self.changes.append(change)
        self.loading[-1].changes.append(change)

    def look(self):
        """Finds what has changed since the last look: it is the doing of the module that is being loaded."""
        new = sys.modules.keys() - self.seen
        if new:
            self.seen |= new
            inner = {node.name for node in self.loading}
            self.loading[-1].inserted += sorted(new - inner)
        for name, (names, before) in self.spaces.items():
            if not same(before, names):
                self.look_at(name, names, before)
        self.look_at_lists()

    def look_at(self, module, names, before):
        for name in before.keys() | names.keys():
            old, new = before.get(name, NOTHING), names.get(name, NOTHING)
            if old is new or (module, name) in UNHEARD or self.is_binding(module, name, old, new, names):
                continue
            self.changed(Attribute(names, name, old, new))
        self.spaces[module] = names, dict(names)

    def is_binding(self, module, name, old, new, names):
        """A module is an attribute of its package: that is shown with the module."""
        full = f"{module}.{name}"
        node = self.nodes.get(full)
        if new is NOTHING or node is None or sys.modules.get(full) is not new:
            return False
        node.bound = names, name, old
        return True

    def look_at_lists(self):
        for number, (find, before) in enumerate(self.lists):
            after = list(find())
            if list(map(id, after)) != list(map(id, before)):
                self.changed(Listed(find, before, after))
                self.lists[number] = find, after
        for number, (table, before) in enumerate(self.tables):
            if not same(before, table):
                for key in before.keys() | table.keys():
                    old, new = before.get(key, NOTHING), table.get(key, NOTHING)
                    if old is not new:
                        self.changed(Attribute(table, key, old, new))
                self.tables[number] = table, dict(table)

    # --- hearing ---

    def closure(self, name):
        """Returns the names of all modules that are there when NAME has been imported, and were not there at first."""
        found, stack = set(), [name]
        while stack:
            one = stack.pop()
            while one and one not in found:  # packages are imported before what is in them
                if one in self.nodes:
                    found.add(one)
                    stack += self.nodes[one].asked
                one = one.rpartition(".")[0]
        return found

    def take_away(self):
        self.kept = {name: sys.modules.pop(name) for node in self.order for name in (*node.inserted, node.name) if name in sys.modules}

    def give_back(self, name):
        for one in self.closure(name):
            for there in (*self.nodes[one].inserted, one):
                if there in self.kept:
                    sys.modules[there] = self.kept.pop(there)
        return sys.modules[name]

    def give_all_back(self):
        for name, module in self.kept.items():
            sys.modules.setdefault(name, module)
        self.kept = {}

    def load_unlocked(self, spec):
        """Stands for the function that loads what a finder has found."""
        self.look()
        self.loading[-1].asked[spec.name] = None
        if spec.name in self.kept:
            return self.give_back(spec.name)
        node = Node(spec.name, spec)
        self.loading.append(node)
        try:
            node.module = LOAD(spec)
        except BaseException:
            self.look()
            self.loading.pop()
            outer = self.loading[-1]  # what it had loaded before stays
            outer.asked.update(node.asked)
            outer.inserted += node.inserted
            outer.absent += node.absent
            outer.changes += node.changes
            raise
        self.look()
        self.loading.pop()
        self.nodes[spec.name] = node
        self.order.append(node)
        if spec.name.partition(".")[0] == self.root:
            self.late.append((spec.name, node.module))
        else:
            self.follow(spec.name, node.module)
        return node.module

    def note(self, name, fromlist=()):
        """The module that is being loaded has imported NAME, and of it what FROMLIST names."""
        if name not in sys.modules:
            return
        asked = self.loading[-1].asked
        asked[name] = None
        names = getattr(sys.modules[name], "__dict__", {})
        for item in fromlist or ():
            for one in names.get("__all__", ()) if item == "*" else (item,):
                full = f"{name}.{one}"
                if full in sys.modules and names.get(one) is sys.modules[full]:
                    asked[full] = None

    def called(self, function, *arguments):
        """Calls FUNCTION, which imports, and notes what does not exist."""
        try:
            return function(*arguments)
        except ModuleNotFoundError as error:
            if error.name and error.name not in self.nodes:
                self.loading[-1].absent.append(error.name)
            raise

    def run(self, names):
        """Loads the modules NAMES. Raises what they raise."""
        hearer = self

        @as_machinery
        def _load_unlocked(spec):
            return hearer.load_unlocked(spec)

        @as_machinery
        def __import__(name, globals=None, locals=None, fromlist=(), level=0):
            module = hearer.called(IMPORT, name, globals, locals, fromlist, level)
            hearer.note(MACHINERY._resolve_name(name, MACHINERY._calc___package__(globals), level) if level else name, fromlist)
            return module

        @as_machinery
        def _gcd_import(name, package=None, level=0):
            module = hearer.called(GCD_IMPORT, name, package, level)
            hearer.note(MACHINERY._resolve_name(name, package, level) if level else name)
            return module

        kept = sys.getrefcount(__import__)
        MACHINERY._load_unlocked, MACHINERY._gcd_import, builtins.__import__ = _load_unlocked, _gcd_import, __import__
        try:
            self.look()  # at these three
            self.outer.changes.clear(), self.changes.clear()
            for name in names:
                self.root = name.partition(".")[0]
                self.take_away()
                IMPORT(name)
                self.look()
                self.give_all_back()
                for one in self.late:
                    self.follow(*one)
                self.late.clear()
        finally:
            MACHINERY._load_unlocked, MACHINERY._gcd_import, builtins.__import__ = LOAD, GCD_IMPORT, IMPORT
        self.spaces.clear()
        if sys.getrefcount(__import__) > kept:
            raise Refused("its modules keep the function that imports")


# Attributes that loading modules changes by itself: no module is to blame.
UNHEARD = {("warnings", "filters")}


def table_of(place):
    return vars(sys.modules[place[0]])[place[1]] if place[0] in sys.modules else None


def is_of_library(module):
    """Returns whether a module was loaded from a file of the host's library, or from none."""
    file = getattr(module, "__file__", None)
    return file is None or trusted.is_of_host(file)
