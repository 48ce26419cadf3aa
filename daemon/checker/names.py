# SPDX-License-Identifier: MIT
"""Decides whose a name is that the tests of a job use. In this order: what the tests define is theirs;
names under test are the code's; what the prelude defines completely is the prelude's; then Python's; what
is left is the code's, too. Pure functions of the job's texts. All that the candidate contributes is the
list of the names that it has, from which it gains no name that a rule gives to somebody else."""

import _ast
import builtins
import sys

import program
from program import VALUE

BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))

# Functions, classes and constants of the library that a test may apply to a result without importing them,
# because the code or the prelude imports them.
LIBRARY = frozenset(
    # math, cmath
    """acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2
    expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp
    lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau
    trunc ulp phase polar rect """
    # collections, collections.abc, itertools, functools, heapq, copy, bisect; without what code that has
    # nothing to do with them often calls its own: count, chain, cycle, repeat, merge, cache, partial ...
    """ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque namedtuple Callable Collection
    Container Generator Hashable Iterable Iterator Mapping MutableMapping MutableSequence Reversible Sequence Sized
    accumulate combinations combinations_with_replacement dropwhile filterfalse groupby islice pairwise permutations
    product starmap takewhile zip_longest cmp_to_key lru_cache reduce total_ordering wraps heapify heappop heappush
    heappushpop heapreplace nlargest nsmallest copy deepcopy bisect_left bisect_right insort """
    # statistics, decimal, fractions, numbers, random, datetime, uuid
    """fmean geometric_mean harmonic_mean mean median median_grouped median_high median_low mode multimode pstdev
    pvariance quantiles stdev variance Decimal getcontext localcontext Fraction Number Integral Rational Real
    randint randrange shuffle date datetime timedelta timezone UUID uuid4 """
    # json, dataclasses, enum, contextlib, pathlib, string, types
    """dumps loads asdict astuple dataclass is_dataclass Enum IntEnum contextmanager nullcontext redirect_stdout
    suppress Path PurePath ascii_letters ascii_lowercase ascii_uppercase SimpleNamespace """
    # unittest, unittest.mock, pytest, numpy, pandas
    """TestCase ANY MagicMock Mock approx raises allclose array_equal assert_allclose assert_almost_equal
    assert_array_almost_equal assert_array_equal assert_equal assert_frame_equal assert_series_equal ndarray
    DataFrame Series""".split()
)
# Modules, and what they are usually called.
MODULES = frozenset(sys.stdlib_module_names) | frozenset(
    "np numpy pd pandas plt matplotlib scipy sympy pytest hypothesis nx networkx torch tf dt sns stats".split()
)
# What the checker imports because the code does, if the tests use it.
IMPORTABLE = (frozenset(sys.stdlib_module_names) | {"numpy", "pandas", "scipy", "sympy"}) - {
    "__main__", "antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "builtins"
}  # fmt: skip
# What a program may replace in `sys` for its own input and output.
ITS_STREAMS = frozenset("stdin stdout stderr argv path displayhook excepthook tracebacklimit dont_write_bytecode".split())
NAMED_MAX = 3  # names that a refusal lists


class Decision:
    """UNDER_TEST: the names that the tests are about. FETCHED: the names that the candidate is asked for.
    KEPT: the names of the prelude that are the judge's own. REPLACED: names that the code only imports, by
    their sources, [(module, attribute or ""), ...], of which the judge takes the first that it can import.
    WRITTEN: names under test that the tests assign; the code sees that. ALIASES: fetched names that may be
    another name for an exception class of the judge's. REFUSE: "", or why no answer of this code can pass."""

    __slots__ = ("under_test", "fetched", "kept", "replaced", "written", "aliases", "refuse")


def asked_of(job):
    """Returns the names that the job gives as those under test."""
    return ([job.entry_point] if job.entry_point else []) + [n for n in job.names if n != job.entry_point]


def texts_of(job):
    return [text for text in (job.setup, job.test, *job.targets) if text]


def used_by_tests(job):
    """Returns the names that the tests look up and do not bind themselves, and those that they bind."""
    used, bound = set(), set()
    for text in texts_of(job):
        more = program.loads(text)
        used |= more[0]
        bound |= more[1] | _stars_of(text)
    return used - bound, bound


def _stars_of(text):
    """Returns what the tests import with `*`."""
    found = set()
    tree = program.parse(text) if "*" in text and "import" in text else None
    for module in program.bindings(tree.body)[1] if tree else ():
        if module in IMPORTABLE:
            found |= public_names(module)
    return found


def public_names(module):
    imported = load_from(module, "")
    return set(getattr(imported, "__all__", None) or (n for n in dir(imported) if not n.startswith("_")))


def load_from(module, attribute):
    """Returns MODULE, or its ATTRIBUTE, of the judge's own; None if it cannot be imported."""
    try:
        found = __import__(module, fromlist=[attribute] if attribute else ["*"])
        return getattr(found, attribute) if attribute else found
    except Exception:
        return None


def _listed(names):
    names = sorted(names)
    shown = ", ".join(f"`{name}`" for name in names[:NAMED_MAX])
    return shown + (f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else "")


class _Code:
    """What the code of a job binds."""

    def __init__(self, job, prelude):
        text, continues = program.compose(job.prelude, job.code, asked_of(job))
        self.text, self.tree = text, program.parse(text)
        self.continued = None
        self.statements, self.how, self.stars = [], {}, []
        if self.tree is not None:
            self.statements, node = program.parts_of(self.tree, prelude, continues)
            self.continued = getattr(node, "name", None)
            self.how, self.stars = program.bindings(self.statements)

    def sources(self, name):
        """Returns where NAME comes from if the code only imports it, else None."""
        how = self.how.get(name)
        if how is None:
            return [(module, name) for module in reversed(self.stars)] or None
        return [(module, attribute) for _, module, attribute in how] if program.imports_only(how) else None

    def importable(self, name):
        sources = self.sources(name)
        if not sources:
            return None
        return sources if all(module.partition(".")[0] in IMPORTABLE for module, _ in sources) else None


class _Uses:
    """How the tests use names. Parsed only when it matters."""

    def __init__(self, job):
        self.job, self.called_names = job, None

    def called(self):
        if self.called_names is None:
            self.called_names = set()
            for text in (self.job.prelude, *texts_of(self.job)):
                tree = program.parse(text)
                stack = [tree] if tree else []
                while stack:
                    node = stack.pop()
                    if isinstance(node, _ast.Call) and isinstance(node.func, _ast.Name):
                        self.called_names.add(node.func.id)
                    stack.extend(program.children(node))
        return self.called_names


_DISPLAYS = (_ast.List, _ast.Dict, _ast.Set, _ast.ListComp, _ast.DictComp, _ast.SetComp, _ast.JoinedStr)


def _is_collection(how):
    return all(kind == VALUE and isinstance(node[0], _DISPLAYS) for kind, *node in how)


def is_librarys(name, how, uses):
    """Returns whether NAME, which the code binds by HOW, is one of Python's library as the tests use it. A
    list such as `log = []` is not, if nobody calls it; nor is a class `queue`, if somebody does."""
    if name in BUILTINS:
        return True
    if name in LIBRARY:
        return not how or not _is_collection(how) or name in uses.called()
    return name in MODULES and name not in uses.called()


def _may_be_alias(how, hows):
    for kind, *node in how:
        parts = node[0].elts if isinstance(node[0], _ast.Tuple) else node
        if kind == VALUE and any(
            isinstance(part, _ast.Attribute) or isinstance(part, _ast.Name) and part.id not in hows for part in parts
        ):
            return True
    return False


def _rebound(code, prelude_how, owned, used):
    """Returns why the code may not bind what it binds of the prelude's names, or ""."""
    for name, how in code.how.items():
        ours = prelude_how.get(name)
        if ours is None or name in owned or all(program.is_same(one, ours[-1]) for one in how):
            continue
        if program.imports_only(ours) and name not in used:
            continue  # a name that only the code uses
        return f"the code rebinds `{name}`, which the prelude defines"
    name = code.continued
    if name and name in prelude_how and name not in owned:
        return f"the code continues `{name}`, which the prelude defines: give `entry_point` or `names`"
    return ""


# --- modules that are not the code's own -----------------------------------------------------------


def _local_names(function):
    """Returns the names that FUNCTION binds itself."""
    found, stack = set(), list(program.children(function))
    while stack:
        node = stack.pop()
        if isinstance(node, _ast.arg):
            found.add(node.arg)
        elif isinstance(node, _ast.Name) and not isinstance(node.ctx, _ast.Load):
            found.add(node.id)
        if not isinstance(node, program.DEFINITIONS):
            stack.extend(program.children(node))
    return found


def _module_of(node, modules):
    """Returns the module that NODE stands for: a name of it, an entry of sys.modules, its __dict__."""
    if isinstance(node, _ast.Name):
        return modules.get(node.id, "")
    if isinstance(node, _ast.Attribute) and node.attr == "__dict__":
        return _module_of(node.value, modules)
    entry = node.value if isinstance(node, _ast.Subscript) else None
    if isinstance(entry, _ast.Attribute) and entry.attr == "modules" and _module_of(entry.value, modules) == "sys":
        key = node.slice
        return key.value if isinstance(key, _ast.Constant) and type(key.value) is str else ""
    return ""


def _patches(node, modules):
    """Yields (module, attribute) that NODE sets or deletes; the attribute is "*" for one of what a module
    has."""
    if isinstance(node, _ast.Attribute) and not isinstance(node.ctx, _ast.Load):
        if isinstance(node.value, _ast.Attribute) and not node.value.attr.startswith("__"):
            inner = _module_of(node.value.value, modules)
            yield "" if inner == "sys" and node.value.attr in ITS_STREAMS else inner, "*"
        else:
            module = _module_of(node.value, modules)
            yield module.removeprefix("from "), "*" if module.startswith("from ") else node.attr
    elif isinstance(node, _ast.Subscript) and not isinstance(node.ctx, _ast.Load):
        owner = node.value
        if isinstance(owner, _ast.Attribute) and owner.attr == "__dict__" and isinstance(node.slice, _ast.Constant):
            yield _module_of(owner.value, modules), node.slice.value
    elif isinstance(node, _ast.Call) and isinstance(node.func, _ast.Name) and len(node.args) > 1:
        if node.func.id in ("setattr", "delattr"):
            named = node.args[1].value if isinstance(node.args[1], _ast.Constant) else "*"
            yield _module_of(node.args[0], modules), named


def patched_module(statements):
    """Returns the first module of the library of which the code replaces what is there, or "". A program
    may replace its own standard streams, and add what an older Python had."""
    modules = {"__builtins__": "builtins"}
    stack = [(node, frozenset()) for node in reversed(statements)]
    found = []
    while stack:
        node, local = stack.pop()
        if isinstance(node, _ast.Import):
            for alias in node.names:
                modules[alias.asname or alias.name.partition(".")[0]] = alias.name
        elif isinstance(node, _ast.ImportFrom):
            modules.update((alias.asname or alias.name, f"from {node.module}") for alias in node.names)
        elif isinstance(node, (*program.FUNCTIONS, _ast.Lambda)):
            local = local | _local_names(node)
        found += [one for one in _patches(node, {n: m for n, m in modules.items() if n not in local})]
        stack.extend((part, local) for part in reversed(list(program.children(node))))
    for module, attribute in found:
        if module not in sys.stdlib_module_names or module == "sys" and attribute in ITS_STREAMS:
            continue
        ours = builtins if module == "builtins" else load_from(module, "") if module in IMPORTABLE else None
        if attribute == "*" or hasattr(ours, attribute if type(attribute) is str else ""):
            return module
    return ""


# --- the decision ----------------------------------------------------------------------------------


def runs_nothing(job):
    """Returns whether all assertions together only define functions and classes: nothing could fail."""
    harmless = (*program.DEFINITIONS, _ast.Import, _ast.ImportFrom, _ast.Pass)
    for text in job.targets:
        tree = program.parse(text)
        for node in tree.body if tree else (None,):
            is_text = isinstance(node, _ast.Expr) and isinstance(node.value, _ast.Constant)
            if not isinstance(node, harmless) and not is_text or getattr(node, "decorator_list", None):
                return False
    return bool(job.targets)


def _under_test(defined, library, asked):
    """Returns the names under test, and why the code cannot be judged with them, or ""."""
    if asked:
        wrong = {name for name in library if name not in BUILTINS}
        beside = asked
    elif len(defined) <= 1 or library == defined:
        return set(defined), ""
    else:
        wrong, beside = library, defined - library
    if not wrong:
        return set(beside), ""
    return set(beside), f"the code defines {_listed(wrong)}, of Python's library, beside {_listed(beside)}: give `names`"


def _kept_from_tests(name, code, bound):
    """Returns whether tests that find NAME in their own ways (eval) get nothing of the candidate's."""
    how = code.how.get(name, ())
    if name in bound:
        return False
    return code.importable(name) is not None or name in LIBRARY | MODULES and how and not _is_collection(how)


def decide(job, code_names, prelude=None, prelude_names=()):
    """Decides whose the names are. CODE_NAMES are those that the candidate says it has; PRELUDE is the
    program.Prelude that the judge has run, PRELUDE_NAMES what it has then defined."""
    decision = Decision()
    asked, code, uses = set(asked_of(job)), _Code(job, prelude), _Uses(job)
    prelude_how = program.bindings(prelude.tree.body)[0] if prelude else {}
    free, bound = used_by_tests(job)
    used = free | program.loads(prelude.text)[0] if prelude else free

    stubs = prelude.stubs if prelude else set()
    owned = asked | {name for name in stubs if name in code.how or name == code.continued}
    decision.kept = (set(prelude_how) | set(prelude_names)) - owned

    has = {name for name in {*code_names, *code.how, *(owned - asked)} - decision.kept if not name.startswith("__")}
    defined = (has & used) - asked
    replaced = {name: code.importable(name) for name in defined}
    replaced = {name: sources for name, sources in replaced.items() if sources}
    if not asked and replaced.keys() == defined:
        replaced = {}  # the code imports what is asked for
    defined -= replaced.keys()
    library = {name for name in defined if is_librarys(name, code.how.get(name), uses)}
    decision.under_test, decision.refuse = _under_test(defined, library, asked)

    others = {name for name in has - used if _kept_from_tests(name, code, bound)}
    decision.fetched = has - ((BUILTINS | library | others) - decision.under_test) - replaced.keys()
    decision.replaced = replaced
    decision.written = asked & bound
    decision.aliases = {name for name in decision.fetched & used if _may_be_alias(code.how.get(name, ()), code.how)}
    patched = patched_module(code.statements)
    if patched:
        decision.refuse = f"the code patches `{patched}`, a module that it does not own"
    decision.refuse = _rebound(code, prelude_how, owned, used) or decision.refuse
    if runs_nothing(job):
        decision.refuse = "the assertions only define functions and classes; nothing runs them"
    return decision
