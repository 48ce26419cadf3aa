# SPDX-License-Identifier: MIT
"""A judge that stays for another job.

Theory of operation. Most of what a small job costs is its two processes: making each of them, and copying every page
that it writes to. The candidate's must be its own. The judge's may serve again if nothing of the job can have stayed
in it. A job is one of these, or the first and the last of its process. Invariants, and what holds each:

- All jobs of a process come from one connection to the daemon, and have the same limits and the same environment.
  The jail sees to it: it ends the judge before anything else is in the jail (daemon/jail/stay.c).
- Setup, tests and prelude of a job only compute. is_harmless() looks at their texts before anything of them runs: they
  hold nothing but the statements, functions and modules listed in simple.py and here, by which nobody reaches the
  interpreter, a module's state, a file, or an object that outlives the job.
- Only plain data has crossed between tests and code (simple.Crossings), and no ambient state (Ambient.has_heard). Of
  anything else something might be kept on either side.
- Whatever the judge itself changes for a job is put back: modules of that job, functions of Python in whose place it
  puts its own, the import system, caches of typing, the recursion limit.
- All else is found unchanged: every dictionary, list, set, cell and function that there was before the first job, by
  reference and by content of these (daemon/jail/unchanged.h). This is independent of the rules before, which might miss something.
- What is kept from job to job on purpose are facts about texts, and code compiled from them (known.py): pure functions
  of these texts, of which Python gives no warning, kept as values that nobody can change. No object of a job is among them.
- The process has grown by little, has no more CPU time than the job may have, and ends after some jobs, after some
  seconds without one, and with whatever is not as said here (daemon/jail/seat.c).

If a judge ends before it says that it takes a job, that job goes to a new one, from its start. A transcript is never
made in a judge that has stayed, so replays do not depend on this.

SEAT is what the jail's interpreter has for that (daemon/jail/seat.c), six functions: leave() gives up the right to
stay, before anything runs that could use it; done() lets go of the job and says so; next() waits for another, whose
descriptors then are in their places; take() says that this process judges that; watch() notes all containers but those
that it is given; changed() returns those that are not as they were. Without a seat, judges never stay."""

import _ast
import builtins
import gc
import os
import sys
import warnings

import mirrors
import names
import program
import signatures
import simple
import sinks
import suite

JOB_MAX = 256 << 10  # bytes: more is not worth looking at before it is known who judges it
JOBS_MAX = 1000  # of one process
# The trees of a job are many objects without a cycle among them, which the collector would look through time and
# again. What harmless jobs leave in cycles can wait.
COLLECTOR = 50000, 10, 10
COLLECT_AFTER = 64  # jobs
# Words with which the judge changes functions of Python's library for the job: formats.py, sinks.py, exits.py,
# rests.py, unittests.py, gates.py.
CHANGING = ("Formatter", "logging", "methodcaller", "attrgetter", "pickle", "marshal", "Config", "TestLoader", "resolve_name",
            "yaml", "unittest", "TestCase", "testmod", "DocTestFinder", *signatures.WORDS)  # fmt: skip
CHANGING_IN_LOWER_CASE = ("thread", "concurrent")
# With `type` the tests could come by its own class, and by that make others, whose __del__() runs at any later time.
ALLOWED = simple.CALLABLES - {"type"} | {"print", "hash", "__name__"}
BUILTINS = frozenset(vars(builtins)) | {"__builtins__", "__compare__", "__truth__"}
# Modules that the tests may import: those of simple.py but one whose contexts outlive a job. Random numbers begin anew
# with each job that names them (suite.seed_random()).
MODULES = {name: parts for name, parts in simple.TESTS_MODULES.items() if name != "decimal"}
# Modules of which the judge may load more than it had. A module may do anything when it is loaded, and which the judge
# loads is for the code to say: it asks for what the code imports.
LOADABLE = frozenset(MODULES) | frozenset("_bisect _heapq _statistics _struct _opcode numbers _datetime _random _sha512".split())
# The tests need not import a name of the library that the code imports: the judge then takes its own. These are the
# names that it may take, of modules that only compute; other names of this kind are not harmless.
COMPUTING = frozenset(
    """acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1
    fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log
    log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau trunc ulp phase
    polar rect math cmath itertools heapq bisect
    ChainMap Counter OrderedDict defaultdict deque Callable Collection Container Generator Hashable Iterable Iterator
    Mapping MutableMapping MutableSequence Reversible Sequence Sized Any Dict FrozenSet List Literal NoReturn Optional
    Set Tuple Type Union accumulate combinations combinations_with_replacement dropwhile filterfalse groupby islice
    pairwise permutations product starmap takewhile zip_longest cmp_to_key reduce heapify heappop heappush heappushpop
    heapreplace nlargest nsmallest deepcopy bisect_left bisect_right insort insort_left insort_right fmean
    geometric_mean harmonic_mean mean median median_grouped median_high median_low mode multimode pstdev pvariance
    quantiles stdev variance merge count chain cycle repeat partial compress""".split()
)
_TAKEN = frozenset().union(*filter(None, names.TAKEN_FROM.values()))
FOREIGN = frozenset().union(
    names.LIBRARY, names.BESIDE, names.CONSTANTS, names.MODULES, names.TAKEN_WHOLE, names.CUSTOMS, _TAKEN
) - COMPUTING  # fmt: skip


class _Texts(simple._Walk):
    """No text makes a class: methods of a class run unasked, also when its objects go long after the job, and by them
    copy.copy() sets any attribute of any object. Each value has a class, whose class makes classes."""

    def __init__(self):
        super().__init__(MODULES)

    def name(self, node, parent, depth):
        super().name(node, parent, depth)
        if node.id == "type" and not (isinstance(parent, _ast.Call) and parent.func is node):
            simple._refuse("uses type")

    def call(self, node, parent, depth):
        super().call(node, parent, depth)
        if isinstance(node.func, _ast.Name) and node.func.id == "type" and not isinstance(parent, _ast.Compare):
            simple._refuse("uses a class of a class")

    def attribute(self, node, parent, depth):
        super().attribute(node, parent, depth)
        if node.attr == "obj":  # of an AttributeError: what has no such attribute, which may be `type`
            simple._refuse("uses .obj")

    RULES = {**simple._Walk.RULES, _ast.Name: name, _ast.Call: call, _ast.Attribute: attribute}


def _look_at(tree, text):
    """Returns the names that the program TEXT imports modules as, but of those that may be used whole; and the names
    that it looks up and does not bind. Raises NotSimple if it could do more than compute."""
    walk = _Texts()
    walk.check(tree, False)
    simple._check_bound(text)
    for name in walk.used & BUILTINS - ALLOWED:
        simple._refuse(f"uses {name}")
    used, bound = program.loads(text)
    for name in (used - bound) & FOREIGN:
        simple._refuse(f"uses {name}, which it does not import")
    partly = {name for name, module in walk.imported.items() if MODULES[module] is not None}
    return frozenset(partly), frozenset(used - bound)


def _compiles_silently(text):
    """Returns whether Python warns of nothing when it compiles TEXT. Of what is kept it would warn in the first job
    alone."""
    filters = warnings.filters  # changed in place, and put back: all else about them is watched
    filters.insert(0, ("error", None, SyntaxWarning, None, 0))
    try:
        suite.compile_plain(text, "<text>")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    finally:
        del filters[0]
    return True


@program.kept
def _seen(text, is_prelude):
    """Returns what _look_at() does, or None if TEXT is not harmless."""
    prelude = program.Prelude(text) if is_prelude else None
    tree = prelude.tree if prelude else program.parse(text)
    whole = prelude.text if prelude else text
    try:
        return _look_at(tree, whole) if tree is not None and _compiles_silently(whole) else None
    except simple.NotSimple:
        return None


def is_harmless(job, size):
    """Returns whether nothing of JOB, of SIZE bytes, can stay in a process that judges it, as far as can be told before
    anything of it runs."""
    if size > JOB_MAX or job.shared or job.transcript or job.replay is not None:
        return False
    tests = job.tests()
    lowered = f"{tests}{job.code}".lower()
    if any(word in tests for word in CHANGING) or any(word in lowered for word in CHANGING_IN_LOWER_CASE):
        return False
    seen = [_seen(text, False) for text in names.texts_of(job)]
    if job.prelude:
        seen.append(_seen(job.prelude, True))
    if None in seen:
        return False
    # Each text was looked at by itself: none may have a module of another's.
    partly = frozenset().union(*(imported for imported, _ in seen))
    return not any(partly & used for _, used in seen)


class Stay:
    """Remembers what a job must leave as it was, and puts back what is put back easily."""

    def __init__(self, seat):
        self.leave, self.take, self.done, self.next, watch, self.changed = seat
        self.jobs = 0
        self.is_on = True
        self.modules = dict(sys.modules)
        self.finders, self.limit = list(sys.meta_path), sys.getrecursionlimit()
        self.spaces = len(mirrors.spaces)
        # By module: the dictionary in which the judge replaces functions for each job, and what it was.
        self.replaced = [(vars(module), dict(vars(module))) for module in (builtins, *map(sys.modules.get, sinks.IMPORTERS))]
        self.caches = getattr(sys.modules.get("typing"), "_cleanups", ())  # functions that empty them
        watch(self.excused())

    def excused(self):
        """Returns the containers that put_back() puts in order, and those that hold texts alone."""
        of_typing = [gc.get_referents(clear.__self__) for clear in self.caches]
        return [
            *(there for there, _ in self.replaced),
            *(one for found in of_typing for one in found if type(one) is dict),
            sys.modules,
            program._trees,
            program._symbols,
            program._found,
        ]

    def admit(self, job, size):
        """Decides whether this process may stay after JOB. One that has stayed ends if it may not judge it: then the
        jail starts another. Returns whether it may stay."""
        self.is_on = is_harmless(job, size)
        if self.jobs and not (self.is_on and self.take()):
            os._exit(0)
        if self.is_on:
            gc.set_threshold(*COLLECTOR)
        else:
            self.leave()
        return self.is_on

    def may_go_on(self, checker):
        """Returns whether this process may judge another job after that of CHECKER."""
        link = checker.link
        if not self.is_on or link.crossings.why or link.lost is not None or link.ambient.has_heard:
            return False
        self.jobs += 1
        return self.jobs < JOBS_MAX

    def goes_on(self):
        """Lets go of a job and waits for the next. Returns whether there is one."""
        return self.done() and self.next()

    def put_back(self):
        """Returns whether all is as it was."""
        program.forget_trees()
        sinks._in_force.clear()
        del mirrors.spaces[self.spaces :]
        sys.meta_path[:] = self.finders
        sys.setrecursionlimit(self.limit)
        for clear in self.caches:
            clear()
        if self.jobs % COLLECT_AFTER == 0:
            gc.collect()
        return self.put_back_modules() and self.put_back_functions() and not self.changed()

    def put_back_modules(self):
        for name in ("__main__", "candidate"):
            if name in self.modules:
                sys.modules[name] = self.modules[name]
            else:
                sys.modules.pop(name, None)
        more = sys.modules.keys() - self.modules.keys()
        return more <= LOADABLE and self.modules.items() <= sys.modules.items()

    def put_back_functions(self):
        for there, before in self.replaced:
            for name in there.keys() - before.keys():
                if name not in sinks.REAL:
                    del there[name]
            there.update(before)
            for name in sinks.REAL.keys() - before.keys():
                if name in there:
                    there[name] = sinks.REAL[name]
        return True
