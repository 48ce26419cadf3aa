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

# Those that `site` adds for people at a prompt are the code's where it defines them: `quit()` is a function of many programs.
OF_SITE = frozenset("copyright credits exit help license quit".split())
BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_")) - OF_SITE

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
    DataFrame Series """
    # ast, hashlib, functools, io, threading, concurrent.futures, time, operator
    """literal_eval blake2b blake2s md5 sha1 sha224 sha256 sha384 sha3_256 sha3_512 sha512 cached_property partialmethod
    singledispatch BytesIO StringIO RLock Thread ThreadPoolExecutor as_completed monotonic perf_counter perf_counter_ns
    process_time time_ns attrgetter itemgetter methodcaller """
    # json, re, random, decimal, string, contextlib, statistics, bisect, pathlib, datetime, uuid, unittest.mock
    """JSONDecodeError finditer fullmatch getrandbits DivisionByZero InvalidOperation ROUND_CEILING ROUND_DOWN
    ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP capwords hexdigits octdigits AsyncExitStack
    ExitStack asynccontextmanager redirect_stderr NormalDist insort_left insort_right PosixPath PurePosixPath
    PureWindowsPath tzinfo uuid1 uuid3 uuid5 AsyncMock""".split()
)
# Of the library, too, but only in a job that says what is under test, so that they are beside it: much code that has
# nothing to do with the library calls its own so.
BESIDE = frozenset("""Barrier BoundedSemaphore Lock Semaphore call choice choices closing dedent findall partial patch
randbytes seed sleep uniform""".split())
# Values, which the tests use without calling them: a list under such a name is no other thing than theirs.
CONSTANTS = frozenset("""e inf nan pi tau ascii_letters ascii_lowercase ascii_uppercase hexdigits octdigits
ANY""".split())
# Modules, and what they are usually called.
MODULES = frozenset(sys.stdlib_module_names) | frozenset(
    "np numpy pd pandas plt matplotlib scipy sympy pytest hypothesis nx networkx torch tf dt sns stats".split()
)
# What the checker imports because the code does, if the tests use it.
IMPORTABLE = (frozenset(sys.stdlib_module_names) | {"numpy", "pandas", "scipy", "sympy"}) - {
    "__main__", "antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "builtins"
}  # fmt: skip
# What the checker takes from its own library for names that only the code imports. The code chooses these
# objects, and the tests then use them where the verdict is made, on what the code returns. So nothing is here
# that runs text or pickles (timeit, pickle.loads, typing.get_type_hints, sympy), looks into objects (gc,
# operator.attrgetter), ends or changes the process (sys.exit, os.chdir), calls whatever it is given
# (operator.call), or is equal to everything (unittest.mock.ANY and call). What is not here is the code's own.
_TAKEN_FROM = {
    "math": "*",
    "cmath": "*",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "itertools": "*",
    "functools": "cmp_to_key partial reduce lru_cache cache wraps total_ordering cached_property partialmethod"
    " singledispatch",
    "operator": "add sub mul truediv floordiv mod neg pos and_ or_ xor invert lt le eq ne ge gt itemgetter contains"
    " concat countOf indexOf lshift rshift matmul is_ is_not not_ truth",
    "collections": "ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque namedtuple abc",
    "collections.abc": "*",
    "typing": "Any AnyStr Callable ClassVar Collection Container Counter DefaultDict Deque Dict Final FrozenSet Generator"
    " Generic Hashable Iterable Iterator KeysView List Literal Mapping MutableMapping MutableSequence MutableSet NamedTuple"
    " NewType NoReturn Optional Protocol Sequence Set Sized SupportsFloat SupportsInt Text Tuple Type TypedDict"
    " TypeVar Union ValuesView cast",
    "string": "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable whitespace"
    " capwords",
    "re": "match search sub subn split findall finditer fullmatch escape IGNORECASE MULTILINE DOTALL VERBOSE",
    "statistics": "*",
    "fractions": "Fraction",
    "decimal": "Decimal InvalidOperation DivisionByZero ROUND_HALF_UP ROUND_HALF_EVEN ROUND_DOWN ROUND_UP ROUND_FLOOR"
    " ROUND_CEILING ROUND_HALF_DOWN getcontext localcontext",
    "numbers": "*",
    "datetime": "date datetime time timedelta timezone tzinfo",
    "calendar": "isleap monthrange monthcalendar",
    "random": "choice choices getrandbits randbytes randint random randrange sample seed shuffle uniform Random",
    "copy": "copy deepcopy",
    "json": "dumps loads JSONDecodeError",
    "enum": "Enum IntEnum Flag IntFlag auto unique",
    "abc": "ABC ABCMeta abstractmethod",
    "dataclasses": "asdict astuple dataclass field fields is_dataclass replace FrozenInstanceError",
    "contextlib": "contextmanager nullcontext redirect_stdout redirect_stderr suppress closing ExitStack"
    " AsyncExitStack asynccontextmanager",
    "io": "StringIO BytesIO",
    "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath",
    "types": "SimpleNamespace MappingProxyType",
    "uuid": "UUID uuid1 uuid3 uuid4 uuid5",
    "hashlib": "blake2b blake2s md5 sha1 sha224 sha256 sha384 sha3_256 sha3_512 sha512",
    "textwrap": "dedent fill indent wrap",
    "time": "sleep time perf_counter perf_counter_ns monotonic process_time time_ns",
    "threading": "Barrier BoundedSemaphore Lock RLock Semaphore Thread",
    "concurrent.futures": "ThreadPoolExecutor as_completed",
    "ast": "literal_eval",
    "unittest": "TestCase mock",
    "unittest.mock": "Mock MagicMock AsyncMock",
    "numpy": "allclose arange array array_equal inf isclose linspace nan ndarray ones zeros",
    "numpy.testing": "assert_allclose assert_almost_equal assert_array_almost_equal assert_array_equal assert_equal",
    "pandas": "DataFrame Series",
    "pandas.testing": "assert_frame_equal assert_series_equal",
}
TAKEN_FROM = {module: None if taken == "*" else frozenset(taken.split()) for module, taken in _TAKEN_FROM.items()}
# Modules that it takes whole, under their own names: there the tests say what of it they use. Tests of a
# program may well have a `profile`, a `code` or a `trace` of the program's, so no module is here of which another
# meaning is likely and that runs text. Tests that say `pickle.loads` mean it.
TAKEN_WHOLE = frozenset(name for name in TAKEN_FROM if "." not in name and name != "ast") | frozenset(
    """os sys asyncio threading queue concurrent tempfile inspect logging warnings pickle csv struct base64 binascii
    zlib html urllib shutil glob sqlite3 weakref traceback subprocess secrets unicodedata difflib pprint array
    contextvars signal socket platform scipy""".split()
)
# Names that everybody gives to a module.
CUSTOMS = {"np": (("numpy", ""),), "pd": (("pandas", ""),), "dt": (("datetime", ""), ("datetime", "datetime")),
           "ET": (("xml.etree.ElementTree", ""),)}  # fmt: skip
# What a program may replace in `sys` for its own input and output.
ITS_STREAMS = frozenset("stdin stdout stderr argv path displayhook excepthook tracebacklimit dont_write_bytecode".split())
NAMED_MAX = 3  # names that a refusal lists


class Decision:
    """UNDER_TEST: the names that the tests are about. FETCHED: the names that the candidate is asked for.
    KEPT: the names of the prelude that are the judge's own. REPLACED: names that the code only imports, by
    their sources, [(module, attribute or ""), ...], of which the judge takes the first that it can import.
    A built-in name is not among them, whatever the code imports under it.
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


def _used_by_prelude(prelude, names):
    """Returns the names that the prelude looks up; none if none of NAMES are among them."""
    outline = program.outline(prelude.tree)
    # In a class a private name is another than the text says.
    if names.isdisjoint(outline.names()[0]) and not outline.of(_ast.ClassDef):
        return set()
    return program.loads(prelude.text)[0]


def _stars_of(text):
    """Returns what the tests import with `*`."""
    found = set()
    tree = program.parse(text) if "*" in text and "import" in text else None
    for module in program.bindings(tree.body, tree)[1] if tree else ():
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


def may_take(name, module, attribute):
    """Returns whether what `from MODULE import ATTRIBUTE as NAME` binds, or `import MODULE as NAME` without
    ATTRIBUTE, may be the checker's own."""
    if (module, attribute) in CUSTOMS.get(name, ()):
        return True
    if not attribute:
        return name == module and module in TAKEN_WHOLE
    taken = TAKEN_FROM.get(module, ())
    return name == attribute and (name in public_names(module) if taken is None else name in taken)


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
            self.how, self.stars = program.bindings(self.statements, self.tree)

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

    def takes(self, name):
        """Returns the sources of NAME, if each is what the checker takes from its own library under that name, else
        None."""
        sources = self.importable(name)
        if sources and name not in self.how:  # by `*`: the last module that has the name
            sources = [(module, name) for module, _ in sources if name in public_names(module)][:1]
        return sources if sources and all(may_take(name, *source) for source in sources) else None


class _Uses:
    """How the tests use names. Parsed only when it matters."""

    def __init__(self, job):
        self.job, self.called_names = job, None

    def called(self):
        if self.called_names is None:
            self.called_names = set()
            for text in (self.job.prelude, *texts_of(self.job)):
                tree = program.parse(text)
                for node in program.outline(tree).every(_ast.Call) if tree else ():
                    if isinstance(node.func, _ast.Name):
                        self.called_names.add(node.func.id)
        return self.called_names


_DISPLAYS = (_ast.List, _ast.Dict, _ast.Set, _ast.ListComp, _ast.DictComp, _ast.SetComp, _ast.JoinedStr)


def _is_collection(how):
    return all(kind == VALUE and isinstance(node[0], _DISPLAYS) for kind, *node in how)


def _is_other_thing(name, how):
    """Returns whether what the code binds by HOW is a list or the like where the library has a function or a class."""
    return name not in CONSTANTS and _is_collection(how)


def is_librarys(name, how, uses, is_beside):
    """Returns whether NAME, which the code binds by HOW, is one of Python's library as the tests use it. A
    list such as `log = []` is not, if nobody calls it; nor is a class `queue`, if somebody does. IS_BESIDE: the job
    says what is under test."""
    if name in BUILTINS:
        return True
    if name in LIBRARY or is_beside and name in BESIDE:
        return not how or not _is_other_thing(name, how) or name in uses.called()
    return name in MODULES and name not in uses.called()


def _may_be_alias(how, hows):
    for kind, *node in how:
        parts = node[0].elts if isinstance(node[0], _ast.Tuple) else node
        if kind == VALUE and any(
            isinstance(part, _ast.Attribute) or isinstance(part, _ast.Name) and part.id not in hows for part in parts
        ):
            return True
    return False


def _could_be_tested(module, attribute):
    """Returns whether what the code imports could be its solution: a function or a class, no constant."""
    return attribute != "" and module != "typing" and callable(load_from(module, attribute))


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
    found, stack = set(), program.children(function)
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


def _may_patch(node):
    """Returns whether NODE is of the kind that _patches() looks at."""
    if isinstance(node, _ast.Attribute):
        return not isinstance(node.ctx, _ast.Load)
    if isinstance(node, _ast.Subscript):
        return not isinstance(node.ctx, _ast.Load) and isinstance(node.value, _ast.Attribute)
    return isinstance(node, _ast.Call) and isinstance(node.func, _ast.Name) and node.func.id in ("setattr", "delattr")


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


def patched_module(statements, tree):
    """Returns the first module of the library of which the code, STATEMENTS of TREE, replaces what is there, or "".
    A program may replace its own standard streams, and add what an older Python had."""
    if not any(map(_may_patch, program.outline(tree).every(_ast.Attribute, _ast.Subscript, _ast.Call))):
        return ""
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
        if _may_patch(node):
            found += _patches(node, {n: m for n, m in modules.items() if n not in local})
        stack.extend((part, local) for part in reversed(program.children(node)))
    for module, attribute in found:
        if module not in sys.stdlib_module_names or module == "sys" and attribute in ITS_STREAMS:
            continue
        ours = builtins if module == "builtins" else load_from(module, "") if module in IMPORTABLE else None
        if attribute == "*" or hasattr(ours, attribute if type(attribute) is str else ""):
            return module
    return ""


def for_the_code(trees, there, code):
    """Returns the names that the tests, TREES, bind for the code to find: of THERE, which it has, those that they never
    look up, but none that they merely import; and modules and functions of the library that they import and CODE, its
    tree, lacks."""
    used = set().union(*(used for _, used, _ in trees))
    bound = set().union(*(bound for *_, bound in trees))
    found, lacking = (bound - used) & there, set()
    if code is not None:
        looked_up, bound_there = program.outline(code).names()
        lacking = (bound & looked_up) - bound_there - there
    hows = [program.bindings(tree.body, tree)[0] for tree, *_ in trees] if found or lacking else ()
    for how in hows:
        found -= {name for name, ways in how.items() if program.imports_only(ways)}
    ways = {name: [one for how in hows for one in how.get(name, ())] for name in lacking}
    return found | {name for name in lacking if ways[name] and _gives_librarys(name, ways[name])}


def _gives_librarys(name, ways):
    """Returns whether the tests bind NAME to what the candidate has as well, wherever they do."""
    return program.imports_only(ways) and all(may_take(name, module, attribute) for _, module, attribute in ways)


# --- the decision ----------------------------------------------------------------------------------


def _under_test(defined, library, asked, beside):
    """Returns the names under test, and why the code cannot be judged with them, or "". BESIDE are names that
    the tests might be about rather than about those of LIBRARY: without any of them, those are."""
    if asked:
        wrong = {name for name in library if name not in BUILTINS}
        beside = asked
    elif not beside or not library:
        return set(defined), ""
    else:
        wrong = library
    if not wrong:
        return set(beside), ""
    return set(beside), f"the code defines {_listed(wrong)}, of Python's library, beside {_listed(beside)}: give `names`"


def _kept_from_tests(name, code, bound):
    """Returns whether tests that find NAME in their own ways (eval) get nothing of the candidate's."""
    how = code.how.get(name, ())
    if name in bound:
        return False
    return code.importable(name) is not None or (name in LIBRARY or name in MODULES) and how and not _is_other_thing(name, how)


def decide(job, code_names, prelude=None, prelude_names=()):
    """Decides whose the names are. CODE_NAMES are those that the candidate says it has; PRELUDE is the
    program.Prelude that the judge has run, PRELUDE_NAMES what it has then defined."""
    decision = Decision()
    asked, code, uses = set(asked_of(job)), _Code(job, prelude), _Uses(job)
    prelude_how = program.bindings(prelude.tree.body, prelude.tree)[0] if prelude else {}
    free, bound = used_by_tests(job)

    stubs = prelude.stubs if prelude else set()
    owned = asked | {name for name in stubs if name in code.how or name == code.continued}
    decision.kept = (set(prelude_how) | set(prelude_names)) - owned

    has = {name for name in {*code_names, *code.how, *(owned - asked)} - decision.kept if not name.startswith("__")}
    used = free | _used_by_prelude(prelude, has | code.how.keys()) if prelude else free
    defined = (has & used) - asked
    imported = {name for name in defined if code.importable(name)}
    if asked or not imported <= BUILTINS or imported != defined:
        defined -= imported & BUILTINS  # they are Python's
    replaced = {name: code.takes(name) for name in defined}
    replaced = {name: sources for name, sources in replaced.items() if sources}
    if not asked and replaced.keys() == defined:
        replaced = {}  # the code imports what is asked for
    defined -= replaced.keys()
    library = {name for name in defined if is_librarys(name, code.how.get(name), uses, bool(asked))}
    beside = defined - library
    if library and not beside and not asked:
        beside = {name for name, sources in replaced.items() if _could_be_tested(*sources[0])}
    decision.under_test, decision.refuse = _under_test(defined, library, asked, beside)

    others = {name for name in has - used if _kept_from_tests(name, code, bound)}
    left = {name for name in has if name in BUILTINS or name in library or name in others} - decision.under_test
    decision.fetched = has - left - replaced.keys()
    decision.replaced = replaced
    decision.written = asked & bound
    decision.aliases = {name for name in decision.fetched & used if _may_be_alias(code.how.get(name, ()), code.how)}
    patched = patched_module(code.statements, code.tree) if code.tree is not None else ""
    if patched:
        decision.refuse = f"the code patches `{patched}`, a module that it does not own"
    decision.refuse = _rebound(code, prelude_how, owned, used) or decision.refuse
    return decision
