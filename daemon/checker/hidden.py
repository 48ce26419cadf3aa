# SPDX-License-Identifier: MIT
"""Modules that are loaded ahead for a class of jobs, and hidden until a job imports them.

load() runs in the template (daemon/jail/template.h), of which each job of the class is a fork. It takes the modules out of
sys.modules and undoes what they have changed elsewhere. When the job imports one, everything happens as in a
Python that has not loaded it, up to the moment at which it would be executed: finders are asked, locks are held. If what
they have found is what was loaded, the module is shown instead, with what it imports itself, and nothing else.

A job that has changed how Python imports loads anew what it imports; so does one that imports what it has removed."""

import _warnings
import builtins
import posix
import sys
from _thread import RLock

import hearing
import trusted
from hearing import LOAD, MACHINERY, NOTHING, Refused

EXTERNAL = sys.modules["_frozen_importlib_external"]
FINDER = MACHINERY._find_and_load_unlocked.__code__
LOADING = ("_frozen_importlib", "_frozen_importlib_external")  # where Python's own loaders are
LOADERS = [vars(MACHINERY)[name] for name in ("BuiltinImporter", "FrozenImporter")] + [
    vars(EXTERNAL)[name]
    for name in ("PathFinder", "FileFinder", "_LoaderBasics", "SourceLoader", "FileLoader", "SourceFileLoader", "ExtensionFileLoader")
]


def told_of(kind):
    """Returns what must stay as it is in a class for imports to go as ever."""
    return dict(vars(kind))


class Hidden:
    """HEARER has loaded the modules."""

    def __init__(self, hearer):
        self.lock = RLock()
        self.nodes, self.order = hearer.nodes, {node.name: number for number, node in enumerate(hearer.order)}
        self.outer, self.closure_of = hearer.outer, hearer.closure
        self.shown = {}  # by name
        self.times = {id(change): number for number, change in enumerate(hearer.changes)}
        self.modules = {}  # all that are hidden, by name
        self.closures = {}

    # --- in the template ---

    def hide(self, hearer):
        self.modules = {node.name: sys.modules.get(node.name, node.module) for node in hearer.order}
        for node in (self.outer, *hearer.order):
            for name in node.inserted:
                if name in sys.modules:
                    self.modules.setdefault(name, sys.modules[name])
        for change in reversed(hearer.changes):
            change.undo()
        _warnings._filters_mutated()
        for node in hearer.order:
            self.unbind(node)
        for name in self.modules:
            sys.modules.pop(name, None)

    def unbind(self, node):
        """Takes a module out of its package, unless the package is shown with it anyway."""
        package, _, name = node.name.rpartition(".")
        if not package or package in self.nodes and node.name in self.closure(package):
            node.bound = None
            return
        names = vars(sys.modules[package]) if package in sys.modules else {}
        if node.bound is None and names.get(name) is self.modules[node.name]:
            node.bound = names, name, NOTHING
        if node.bound:
            hearing.Attribute(*node.bound, None).undo()

    def closure(self, name):
        """Returns the names of all modules that are there when NAME has been imported, and were hidden."""
        if name not in self.closures:
            self.closures[name] = self.closure_of(name)
        return self.closures[name]

    def install(self):
        """Has imports find the modules."""
        hidden = self

        @hearing.as_machinery
        def _load_unlocked(spec):
            found = hidden.found(spec, sys._getframe(1)) if spec.name in hidden.nodes else None
            return LOAD(spec) if found is None else found

        self.expected = list(sys.path)
        self.finders, self.hooks = list(sys.meta_path), list(sys.path_hooks)
        self.loaders = list(map(told_of, LOADERS))
        self.importer = builtins.__import__
        MACHINERY._load_unlocked = self.stand_in = _load_unlocked

    # --- in a job ---

    def give_up(self):
        """From now on everything is loaded anew: parts of two loads would not fit each other."""
        self.nodes = {}
        if MACHINERY._load_unlocked is self.stand_in:
            MACHINERY._load_unlocked = LOAD

    def found(self, spec, asker):
        """Returns the module that SPEC, which a finder has found, stands for; None: it is to be loaded."""
        with self.lock:
            node = self.nodes.get(spec.name)
            if node is None:
                return None
            if asker.f_code is not FINDER or not self.is_as_loaded(spec, node):
                self.give_up()
                return None
            if spec.name not in self.shown:  # another thread may have come first
                self.show(node)
            return self.shown[spec.name]

    def is_as_loaded(self, spec, node):
        """Returns whether to load SPEC would give what was loaded."""
        if not is_same(spec, node.spec) or builtins.__import__ is not self.importer:
            return False
        if not same_list(sys.path_hooks, self.hooks):
            return False
        if list(map(told_of, LOADERS)) != self.loaders:
            return False
        names = self.closure(node.name)
        for name in names:
            if sys.modules.get(name, self) is not self.shown.get(name, self):
                return False  # the job has another of that name, or has removed it
        absent = [one for name in names if name not in self.shown for one in self.nodes[name].absent]
        if same_list(sys.meta_path, self.finders) and not self.may_have({*names, *absent}):
            return True
        return all(map(self.is_found_there, [*self.in_order(names - {node.name}), *absent]))

    def may_have(self, names):
        """Returns whether modules of the job's own could be found in the place of NAMES: the path is another, or a
        directory of the job's is on it and has such a name."""
        if sys.path != self.expected:
            return True
        first = {name.partition(".")[0] for name in names}
        return any(own_names(entry) & first for entry in sys.path if not trusted.is_of_host(f"{entry}/module"))

    def is_found_there(self, name):
        """Returns whether the finders and the path of this job have in the place of NAME what was found ahead, if anything."""
        if name in self.shown:
            return True
        package, node = self.nodes.get(name.rpartition(".")[0]), self.nodes.get(name)
        if "." in name and package is None:
            return True  # a package that is there already says where its modules are
        found = MACHINERY._find_spec(name, package and package.spec.submodule_search_locations)
        if found is None:  # a module that is shown with it may bring the finder that has found this one: six, with six.moves
            return node is None or getattr(node.spec.loader, "__module__", None) not in LOADING
        return node is not None and is_same(found, node.spec)

    def in_order(self, names):
        """Returns NAMES as they were loaded, packages before what is in them."""
        ended = lambda name: self.order.get(name, len(self.order))  # a package that was there already has not been loaded
        return sorted(names, key=lambda name: (ended(name.partition(".")[0]), name.count("."), ended(name)))

    def show(self, node):
        nodes = [self.nodes[name] for name in self.closure(node.name) if name not in self.shown]
        nodes.sort(key=lambda one: self.order[one.name])
        changes = [change for one in nodes for change in one.changes]
        for change in sorted(changes, key=lambda one: self.times[id(one)]):
            change.redo()
        _warnings._filters_mutated()
        self.finders = list(sys.meta_path)
        for one in nodes:
            for name in (*one.inserted, one.name):
                if name in self.modules:
                    sys.modules[name] = self.shown[name] = self.modules[name]
            if one.bound:
                names, name, _ = one.bound
                names[name] = self.modules[one.name]
        self.renew(nodes)

    def renew(self, nodes):
        """Jobs have neither the random numbers of their siblings nor their keys."""
        for node in nodes:
            if node.name == "numpy.random":
                node.module.seed()
            elif node.name == "multiprocessing.process":
                import os

                node.module.current_process().authkey = os.urandom(32)


def is_same(spec, loaded):
    return (
        spec.origin == loaded.origin
        and type(spec.loader) is type(loaded.loader)
        and (spec.loader is loaded.loader or not isinstance(spec.loader, type))
        and list(spec.submodule_search_locations or ()) == list(loaded.submodule_search_locations or ())
    )


def same_list(one, other):
    return len(one) == len(other) and all(map(lambda a, b: a is b, one, other))


def own_names(directory):
    """Returns the names of the modules that DIRECTORY may have."""
    try:
        return {name.partition(".")[0] for name in posix.listdir(directory or ".")}
    except OSError:
        return set()


# --- what jobs would share ---------------------------------------------------------------------------


def borrowed(name):
    """Returns a module of Python's own, and leaves none that was not there."""
    is_there = name in sys.modules
    module = __import__(name)
    if not is_there:
        del sys.modules[name]
    return module


def state():
    """Returns what modules must not change, by what is said of it."""
    _locale, _signal, gc, os = map(borrowed, ("_locale", "_signal", "gc", "os"))
    return {
        "change how signals are handled": [_signal.getsignal(number) for number in sorted(_signal.valid_signals())],
        "change the environment": dict(os.environ),
        "change the path": list(sys.path),
        "change the hooks of imports": list(sys.path_hooks),
        "change how garbage is collected": (gc.isenabled(), gc.get_threshold()),
        "change the locale": _locale.setlocale(_locale.LC_ALL),
        "trace what runs": (sys.gettrace(), sys.getprofile()),
        "change a limit of Python": (sys.getrecursionlimit(), sys.getswitchinterval()),
    }


class Watched:
    """Hears what modules register where nothing can be taken away again."""

    PLACES = (("sys", "addaudithook"), ("_codecs", "register"), ("_codecs", "register_error"), ("codecs", "register"), ("codecs", "register_error"))

    def __enter__(self):
        self.called, self.kept = [], []
        for module, name in self.PLACES:
            names = vars(sys.modules[module])
            self.kept.append((names, name, names[name]))
            names[name] = self.noting(names[name])
        return self

    def noting(self, real):
        def register(*arguments):
            self.called.append(real.__name__)
            return real(*arguments)

        return register

    def __exit__(self, *_error):
        for names, name, real in self.kept:
            names[name] = real


def load(names):
    """Loads the modules NAMES and hides them. Returns the pairs (name, file) of all that was loaded."""
    before = state()
    with Watched() as watched:
        hearer = hearing.Hearer()
        hearer.run(names)
    if watched.called:
        raise Refused(f"its modules register something by {watched.called[0]}()")
    for what, value in state().items():
        if value != before[what]:
            raise Refused(f"its modules {what}")
    hidden = Hidden(hearer)
    for name in sorted(hearer.seen & sys.modules.keys()):
        if name in hearer.nodes and not hearing.is_of_library(hearer.nodes[name].module):
            raise Refused(f"{name} is not where Python has modules")
    hidden.hide(hearer)
    hidden.install()
    return [(name, getattr(module, "__file__", None)) for name, module in sorted(hidden.modules.items())]
