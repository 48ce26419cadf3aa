# SPDX-License-Identifier: MIT
"""Says of which jobs a pass in two processes is a pass in one. That is so if all that crosses is fresh
plain data, if the code keeps nothing from one call to the next and changes nothing that it has not made,
and if the tests look at nothing but what the calls return. Only what is listed here is believed; anything
else is not simple, and the judge runs the job once more in one process (plain.py). Pure functions of
texts."""

import _ast

import names
import program

PLAIN = frozenset(map(type, (None, True, 0, 0.0, 0j, "", b"", (), [], {}, range(0))))

# Statements and expressions that do what they say whatever process they run in.
NODES = frozenset(
    getattr(_ast, name)
    for name in """Module Expr Assign AnnAssign AugAssign Delete Return If For While Break Continue Pass Raise Try
    Assert Import ImportFrom FunctionDef Lambda arguments arg keyword alias ExceptHandler Nonlocal
    BoolOp NamedExpr BinOp UnaryOp IfExp Dict Set ListComp SetComp DictComp GeneratorExp comprehension Compare Call
    FormattedValue JoinedStr Constant Attribute Subscript Starred Name List Tuple Slice Load Store Del Yield YieldFrom
    And Or Add BitAnd BitOr BitXor Div FloorDiv LShift Mod Mult MatMult Pow RShift Sub Invert Not UAdd USub Eq Gt GtE
    In Is IsNot Lt LtE NotEq NotIn Match match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchStar
    MatchAs MatchOr""".split()
)

# Built-in functions and classes that neither look into objects nor change what other code sees.
CALLABLES = frozenset(
    """abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format
    frozenset hash hex int isinstance issubclass iter len list map max min next oct ord pow range repr reversed round
    set slice sorted str sum tuple zip type object True False None NotImplemented Ellipsis __name__
    ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError NotImplementedError
    OverflowError RecursionError RuntimeError StopIteration TypeError UnicodeDecodeError UnicodeEncodeError
    UnicodeError ValueError ZeroDivisionError""".split()
)

_STRINGS = "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable whitespace"
# What may be used of which modules: nothing that has a state, and nothing that looks into objects.
MODULES = {
    "math": "*",
    "cmath": "*",
    "itertools": "*",
    "heapq": "*",
    "bisect": "*",
    "__future__": "*",
    "collections": "Counter OrderedDict defaultdict deque abc",
    "collections.abc": "Callable Collection Hashable Iterable Iterator Mapping MutableMapping Sequence Set Sized",
    "functools": "reduce cmp_to_key partial lru_cache cache",
    "operator": "add sub mul truediv floordiv mod neg pos abs and_ or_ xor invert not_ lt le eq ne ge gt itemgetter"
    " contains concat countOf indexOf index pow lshift rshift",
    "string": _STRINGS,
    "re": "compile match search findall finditer sub subn split fullmatch escape I IGNORECASE M MULTILINE S DOTALL"
    " X VERBOSE A ASCII",
    "copy": "copy deepcopy",
    "statistics": "mean median mode stdev pstdev variance pvariance fmean median_low median_high multimode",
    "fractions": "Fraction",
    "decimal": "Decimal ROUND_HALF_UP ROUND_HALF_EVEN ROUND_DOWN ROUND_UP ROUND_FLOOR ROUND_CEILING ROUND_HALF_DOWN",
    "datetime": "date datetime time timedelta timezone",
    "json": "dumps loads",
    "typing": "Any Callable Dict FrozenSet Generator Generic Hashable Iterable Iterator List Literal Mapping"
    " MutableMapping NoReturn Optional Sequence Set Sized Tuple Type Union",
    "sys": "maxsize float_info",
    # Only imported; for the tests see TESTS_MODULES.
    "random": "",
    "os": "",
    "time": "",
    "abc": "",
    "enum": "",
    "dataclasses": "",
}
MODULES = {name: None if parts == "*" else frozenset(parts.split()) for name, parts in MODULES.items()}
TESTS_MODULES = {**MODULES, "random": None}
KEPT = ("lru_cache", "cache")  # decorators that keep what they have returned
# Attributes by which one gets from a value to the inside of a program.
INSIDE = frozenset(
    """gi_frame gi_code gi_yieldfrom cr_frame cr_code ag_frame ag_code tb_frame tb_next f_back f_globals f_locals
    f_builtins f_code format_map with_traceback add_note cache_clear""".split()
)


class Crossings:
    """What has crossed between judge and candidate, noted by the wire. WHY is "" as long as it was nothing
    but calls of functions with fresh plain data."""

    __slots__ = ("why",)

    def __init__(self):
        self.why = ""

    def note(self, why):
        """Something crossed that may be alive in both processes: an object, a callback, an exception."""
        self.why = self.why or why

    def values(self, values):
        """VALUES are all values of a message, those within others included."""
        kinds = set(map(type, values)) - PLAIN
        if kinds:
            self.note(f"a {kinds.pop().__name__} crossed")


class NotSimple(Exception):
    pass


def _refuse(why):
    raise NotSimple(why)


def _is_constant(node):
    """Returns whether NODE is a value that cannot change."""
    if isinstance(node, _ast.Tuple):
        return all(map(_is_constant, node.elts))
    if isinstance(node, _ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    return isinstance(node, _ast.Constant) or isinstance(node, _ast.UnaryOp) and _is_constant(node.operand)


class _Walk:
    """Checks what the code and the tests have in common: only listed nodes, modules and attributes."""

    def __init__(self, modules):
        self.modules = modules
        self.imported = {}  # names of modules
        self.values = {}  # names from modules, by what they are called there
        self.used = set()  # names that are looked up, or bound, anywhere

    def imports(self, node):
        if isinstance(node, _ast.Import):
            for alias in node.names:
                if alias.name not in self.modules or "." in alias.name:
                    _refuse(f"imports {alias.name}")
                self.bind(self.imported, alias.asname or alias.name, alias.name)
            return
        allowed = self.modules.get(node.module, ())
        for alias in node.names:
            if node.level or alias.name == "*" or allowed is not None and alias.name not in allowed:
                _refuse(f"imports {alias.name} from {node.module}")
            self.bind(self.values, alias.asname or alias.name, f"{node.module}.{alias.name}")

    @staticmethod
    def bind(into, name, what):
        if into.setdefault(name, what) != what:
            _refuse(f"two imports as {name}")

    def node(self, node):
        kind = type(node)
        if kind not in NODES:
            _refuse(kind.__name__)
        if kind is _ast.Name:
            self.used.add(node.id)
            if not isinstance(node.ctx, _ast.Load) and (node.id in self.imported or node.id in self.values):
                _refuse(f"assigns {node.id}")
        elif kind is _ast.FunctionDef and (node.name in self.imported or node.name in self.values):
            _refuse(f"defines {node.name}")
        elif kind is _ast.Attribute:
            self.attribute(node)
        elif kind is _ast.Compare:
            self.comparison(node)
        elif kind is _ast.Call and isinstance(node.func, _ast.Name) and node.func.id == "type" and len(node.args) > 1:
            _refuse("makes a class")

    def attribute(self, node):
        name = node.attr
        if not isinstance(node.ctx, _ast.Load) or name.startswith("_") or name in INSIDE:
            _refuse(f"uses .{name}")
        if isinstance(node.value, _ast.Name) and node.value.id in self.imported:
            allowed = self.modules[self.imported[node.value.id]]
            if allowed is not None and name not in allowed:
                _refuse(f"uses {node.value.id}.{name}")

    @staticmethod
    def comparison(node):
        """`is` tells copies apart, so only what exists once may be compared."""
        sides = [node.left, *node.comparators]
        for number, operator in enumerate(node.ops):
            if isinstance(operator, (_ast.Is, _ast.IsNot)):
                pair = sides[number : number + 2]
                if not any(isinstance(s, _ast.Constant) and s.value in (None, True, False) for s in pair):
                    _refuse("compares identities")

    def is_module_used_whole(self, node, parent):
        """A module may only be used for what it has: passed around, anything could be done with it."""
        return isinstance(node, _ast.Name) and node.id in self.imported and not isinstance(parent, _ast.Attribute)


def _check(root, walk):
    """Shows all nodes below ROOT to WALK: first the imports, wherever they are."""
    found = list(_walk(root))
    for node, _, _ in found:
        if isinstance(node, (_ast.Import, _ast.ImportFrom)):
            walk.imports(node)
    for one in found:
        walk.visit(*one)


def _walk(root):
    """Yields (node, parent, depth) for all nodes below ROOT but the bodies of main guards; DEPTH is the
    number of functions around the node."""
    stack = [(root, None, 0)]
    while stack:
        node, parent, depth = stack.pop()
        if program.is_main_guard(node):
            stack.extend((part, node, depth) for part in node.orelse)
            continue
        yield node, parent, depth
        if isinstance(node, (_ast.FunctionDef, _ast.Lambda)):
            outside = [node.args.defaults, node.args.kw_defaults, getattr(node, "decorator_list", [])]
            stack.extend((part, node, depth) for parts in outside for part in parts if part is not None)
            body = node.body if type(node.body) is list else [node.body]
            stack.extend((part, node, depth + 1) for part in body)
            stack.extend((part, node, depth) for part in _annotations(node))
            continue
        stack.extend((part, node, depth) for part in program.children(node))


def _annotations(function):
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    found = [one.annotation for one in named if one is not None] + [getattr(function, "returns", None)]
    return [one for one in found if one is not None]


class _Code(_Walk):
    def visit(self, node, parent, depth):
        self.node(node)
        if self.is_module_used_whole(node, parent):
            _refuse("a module as a value")
        if isinstance(node, (_ast.FunctionDef, _ast.Lambda)):
            self.function(node, depth)
        elif isinstance(node, _ast.Call) and isinstance(node.func, _ast.Name) and node.func.id == "print" and depth:
            _refuse("prints")

    def function(self, node, depth):
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None and not _is_constant(default):
                _refuse("a default that can change")
        for decorator in getattr(node, "decorator_list", ()):
            made = decorator.func if isinstance(decorator, _ast.Call) else decorator
            name = made.attr if isinstance(made, _ast.Attribute) else getattr(made, "id", "")
            if depth == 0 or name not in KEPT:
                _refuse("a decorator")


def _check_code(tree, text):
    """Returns what the code binds by import, by name, and what it looks up."""
    walk = _Code(MODULES)
    _check(tree, walk)
    how, _ = program.bindings(tree.body)
    used, functions_use = program.loads(text)[0] & walk.used, program.loads_in_functions(text) & walk.used
    for name, ways in how.items():
        if name in functions_use and not all(_stays(one, how) for one in ways):
            _refuse(f"functions use {name}")
        if len(ways) > 1 and not all(program.is_same(one, ways[0]) for one in ways):
            _refuse(f"{name} is bound twice")
    for name in used - how.keys():
        if name not in CALLABLES and not (name == "print" and name not in functions_use):
            _refuse(f"uses {name}")
    for name, source in walk.values.items():
        if source in ("functools.lru_cache", "functools.cache") and _is_called(tree, name):
            _refuse("keeps what it returned")
    return {**walk.imported, **walk.values}, used, how


def _is_called(tree, name):
    """Returns whether NAME is used other than as a decorator."""
    decorators, uses = set(), set()
    for node, _, _ in _walk(tree):
        for decorator in getattr(node, "decorator_list", ()):
            decorators.add(id(decorator.func if isinstance(decorator, _ast.Call) else decorator))
        if isinstance(node, _ast.Name) and node.id == name:
            uses.add(id(node))
    return bool(uses - decorators)


def _stays(how, hows):
    """Returns whether a binding of the module is one that nobody can change the value of."""
    if how[0] != program.VALUE:
        return True
    value = how[1]
    if isinstance(value, _ast.Name):  # another name of a function
        return all(one[0] == program.DEFINED for one in hows.get(value.id, [(None,)]))
    return value is not None and (_is_constant(value) or isinstance(value, _ast.Lambda))


class _Tests(_Walk):
    """Functions under test may only be called, where they are named."""

    def __init__(self, subjects):
        super().__init__(TESTS_MODULES)
        self.subjects = subjects

    def visit(self, node, parent, depth):
        self.node(node)
        if self.is_module_used_whole(node, parent):
            _refuse("a module as a value")
        if isinstance(node, _ast.Name) and node.id in self.subjects:
            self.subject(node, parent)

    @staticmethod
    def subject(node, parent):
        if not isinstance(node.ctx, _ast.Load):
            _refuse("the tests assign what they test")
        if not isinstance(parent, _ast.Call) or parent.func is not node:
            _refuse("the tests do more than call")


def _parameter_of_check(tree):
    """Returns the name of check()'s parameter."""
    for node in tree.body:
        if isinstance(node, _ast.FunctionDef) and node.name == "check" and node.args.args:
            return node.args.args[0].arg
    _refuse("no check()")


def _check_tests(job, under_test, imports, uses, how):
    texts = names.texts_of(job)
    looked_up = [program.loads(text) for text in texts]
    bound = set().union(*(binds for _, binds in looked_up))
    if bound & under_test:
        _refuse("the tests bind what they test")
    callable_names = {name for name, ways in how.items() if ways[0][0] == program.DEFINED}
    for text, (used, binds) in zip(texts, looked_up):
        tree = program.parse(text)
        if tree is None:
            _refuse("tests that do not compile")
        subjects = under_test | callable_names - bound
        if text is job.test:
            subjects.add(_parameter_of_check(tree))
        walk = _Tests(subjects)
        _check(tree, walk)
        own_imports = {**walk.imported, **walk.values}
        for name in binds & uses:
            if imports.get(name, "") != own_imports.get(name):
                _refuse(f"the tests bind {name}, which the code uses")
        for name in used - bound - under_test:
            _check_use(name, imports, how)


def _check_use(name, imports, how):
    """NAME is used by the tests and not their own."""
    if name not in how:
        if name not in CALLABLES and name != "print":
            _refuse(f"the tests use {name}")
    elif name in names.BUILTINS or name not in imports and not all(_stays(one, how) for one in how[name]):
        _refuse(f"the tests use the code's {name}")


def why_not(code_tree, code_text, job, under_test):
    """Returns why prelude and code (CODE_TEXT, parsed: CODE_TREE) and the tests of JOB are not simple, or
    "" if they are."""
    try:
        imports, uses, how = _check_code(code_tree, code_text)
        for name in under_test:
            if not all(one[0] == program.DEFINED or isinstance(one[1], _ast.Lambda) for one in how.get(name, [("", 0)])):
                _refuse(f"{name} is no function")
        _check_tests(job, set(under_test), imports, uses, how)
    except NotSimple as found:
        return f"{found}"
    return ""
