# SPDX-License-Identifier: MIT
"""Decides for which jobs a pass in two processes needs no confirmation, because it is a pass in one process,
too. That is so if all that crosses is fresh plain data, if the code keeps nothing from one call to the next
and changes nothing that it has not made, and if the tests look at nothing but what the calls return. Only
what is listed here counts as simple; for anything else the judge runs the job once more in one process
(plain.py). Pure functions of texts, and a record of what has crossed."""

import _ast
import _string

import identities
import names
import program
from outline import DEFINITIONS, Outline

FUNCTION = type(lambda: None)
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

# Built-in functions and classes that neither look into objects nor change what other code sees. What tells
# addresses (id, object and its hash) is not among them: the heap of each process has another history.
CALLABLES = frozenset(
    """abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format
    frozenset hex int isinstance issubclass iter len list map max min next oct ord pow range repr reversed round
    set slice sorted str sum tuple zip type True False None NotImplemented Ellipsis
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
    "__future__": "annotations division print_function absolute_import unicode_literals generator_stop",
    "collections": "Counter OrderedDict defaultdict deque",
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
TESTS_FRAMES = 2  # functions of the tests around a call: Depth in states.py spares the levels of so many
KEPT = ("lru_cache", "cache")  # decorators that keep what they have returned
# Attributes by which one gets from a value to the inside of a program.
INSIDE = frozenset(
    """gi_frame gi_code gi_yieldfrom cr_frame cr_code ag_frame ag_code tb_frame tb_next f_back f_globals f_locals
    f_builtins f_code format_map with_traceback add_note cache_clear mro register now today utcnow""".split()
)
# Exceptions that tell how much stack or memory is left, which is not the same in two processes, and what
# catches them without saying so.
BROAD = frozenset("Exception BaseException RuntimeError RecursionError MemoryError".split())


class Crossings:
    """What has crossed between judge and candidate, noted by the wire. WHY is "" as long as it was nothing
    but calls of functions with fresh plain data."""

    __slots__ = ("why",)

    def __init__(self):
        self.why = ""

    def note(self, why):
        """Something crossed that may be alive in both processes: an object, a callback, an exception."""
        self.why = self.why or why

    def values(self, values, functions=0):
        """VALUES are all values of a message, those within others included; so many FUNCTIONS may be among
        them. A set that is made anew may have another order. A NaN can be told from its copy."""
        for value in values:
            kind = type(value)
            if kind is FUNCTION and functions:
                functions -= 1
            elif kind not in PLAIN or kind in (float, complex) and value != value:
                self.note(f"a {kind.__name__} crossed")
                return


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


def _is_plain_format(node):
    """Returns whether NODE is a constant text that format() fills without looking into what it is given."""
    if not isinstance(node, _ast.Constant) or type(node.value) is not str:
        return False
    texts = [node.value]
    try:
        for text in texts:
            for _, field, spec, _ in _string.formatter_parser(text):
                if field is None:
                    continue
                if not field.isidentifier() and not field.isdigit() and field:
                    return False
                texts.append(spec or "")
    except ValueError:
        return True  # it raises that whatever it is given
    return True


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
        for alias in node.names:
            if node.level or not self.has(node.module, alias.name):
                _refuse(f"imports {alias.name} from {node.module}")
            if alias.asname and alias.asname != alias.name:
                _refuse(f"imports {alias.name} under another name")
            self.bind(self.values, alias.asname or alias.name, f"{node.module}.{alias.name}")

    def has(self, module, name):
        """Returns whether NAME of MODULE may be used."""
        allowed = self.modules.get(module, ())
        return name != "*" and not name.startswith("_") and (allowed is None or name in allowed)

    @staticmethod
    def bind(into, name, what):
        if into.setdefault(name, what) != what:
            _refuse(f"two imports as {name}")

    def check(self, outline):
        """Looks at all nodes of an outline: first at the imports, wherever they are."""
        for node in outline.every(_ast.Import, _ast.ImportFrom):
            self.imports(node)
        for groups in (outline.nodes, outline.annotations):
            for kind, group in groups.items():
                rule = self.RULES.get(kind)
                if rule is not None:
                    for node, parent, _, around in group:
                        rule(self, node, parent, around)
                elif kind not in NODES:
                    _refuse(kind.__name__)

    def name(self, node, parent, _around):
        name = node.id
        self.used.add(name)
        if name in self.imported or name in self.values:
            if not isinstance(node.ctx, _ast.Load):
                _refuse(f"assigns {name}")
            # Passed around, anything could be done with it.
            if name in self.imported and not isinstance(parent, _ast.Attribute):
                _refuse("a module as a value")

    def function(self, node, _parent, _around):
        if node.name in self.imported or node.name in self.values:
            _refuse(f"defines {node.name}")

    def call(self, node, _parent, _around):
        if isinstance(node.func, _ast.Name) and node.func.id == "type" and len(node.args) > 1:
            _refuse("makes a class")

    def attribute(self, node, _parent, _around):
        name = node.attr
        if not isinstance(node.ctx, _ast.Load) or name.startswith("_") or name in INSIDE:
            _refuse(f"uses .{name}")
        if name == "format" and not _is_plain_format(node.value):
            _refuse("a format that may look into objects")
        if isinstance(node.value, _ast.Name) and node.value.id in self.imported:
            if not self.has(self.imported[node.value.id], name):
                _refuse(f"uses {node.value.id}.{name}")

    def comparison(self, node, _parent, _around):
        """`is` tells copies apart, so only what exists once may be compared."""
        sides = [node.left, *node.comparators]
        for number, operator in enumerate(node.ops):
            if isinstance(operator, (_ast.Is, _ast.IsNot)):
                pair = sides[number : number + 2]
                if not any(isinstance(s, _ast.Constant) and (s.value is None or type(s.value) is bool) for s in pair):
                    _refuse("compares identities")

    def catching(self, node, _parent, _around):
        """Nothing may catch what says how much stack or memory is left."""
        if node.finalbody:
            _refuse("finally")
        for handler in node.handlers:
            caught = handler.type.elts if isinstance(handler.type, _ast.Tuple) else [handler.type]
            if not all(isinstance(one, _ast.Name) and one.id not in BROAD for one in caught):
                _refuse("catches what it may not know")

    RULES = {
        _ast.Name: name,
        _ast.FunctionDef: function,
        _ast.Call: call,
        _ast.Attribute: attribute,
        _ast.Compare: comparison,
        _ast.Try: catching,
    }


def _without_guards(tree):
    """Returns the outline of a program whose main guards do not run: all are but those of the tests."""
    whole = program.outline(tree)
    if any(around is None and program.is_main_guard(node) for node, _, _, around in whole.of(_ast.If)):
        return Outline(tree, program.is_main_guard)
    return whole


class _Code(_Walk):
    def call(self, node, parent, around):
        super().call(node, parent, around)
        if around is not None and isinstance(node.func, _ast.Name) and node.func.id == "print":
            _refuse("prints")

    def function(self, node, parent, around):
        if isinstance(node, _ast.FunctionDef):
            super().function(node, parent, around)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None and not _is_constant(default):
                _refuse("a default that can change")
        for decorator in getattr(node, "decorator_list", ()):
            made = decorator.func if isinstance(decorator, _ast.Call) else decorator
            name = made.attr if isinstance(made, _ast.Attribute) else getattr(made, "id", "")
            if around is None or name not in KEPT:
                _refuse("a decorator")

    RULES = {**_Walk.RULES, _ast.Call: call, _ast.FunctionDef: function, _ast.Lambda: function}


def _check_code(tree, text):
    """Returns what the code binds by import, by name, and what it looks up."""
    walk, outline = _Code(MODULES), _without_guards(tree)
    walk.check(outline)
    _check_bound(text)
    how, _ = program.bindings(tree.body, tree)
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
        if source in ("functools.lru_cache", "functools.cache") and _is_called(outline, name):
            _refuse("keeps what it returned")
    why = identities.why_seen(program.outline(tree), CALLABLES, set(walk.values), set(walk.imported))
    if why:
        _refuse(why)
    return {**walk.imported, **walk.values}, used, how


def _check_bound(text):
    """Nothing may bind `__name__`, on which main guards depend, nor `__builtins__` and the like."""
    for name in program.names_bound(text):
        if name.startswith("__") and name.endswith("__"):
            _refuse(f"binds {name}")


def _is_called(outline, name):
    """Returns whether NAME is used other than as a decorator."""
    decorators = set()
    for node in outline.every(*DEFINITIONS):
        for decorator in node.decorator_list:
            decorators.add(decorator.func if isinstance(decorator, _ast.Call) else decorator)
    return any(node.id == name and node not in decorators for node in outline.every(_ast.Name))


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

    def name(self, node, parent, around):
        super().name(node, parent, around)
        if node.id in self.subjects:
            self.subject(node, parent)

    RULES = {**_Walk.RULES, _ast.Name: name}

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
    looked_up_anywhere = set()
    for text, (used, binds) in zip(texts, looked_up):
        tree = program.parse(text)
        if tree is None:
            _refuse("tests that do not compile")
        subjects = under_test | callable_names - bound
        if text is job.test:
            subjects.add(_parameter_of_check(tree))
        walk = _Tests(subjects)
        walk.check(program.outline(tree))
        looked_up_anywhere |= walk.used
        _check_bound(text)
        own_imports = {**walk.imported, **walk.values}
        for name in binds & uses:
            if imports.get(name, "") != own_imports.get(name):
                _refuse(f"the tests bind {name}, which the code uses")
        for name in used - bound - under_test:
            _check_use(name, imports, how)
    trees = [program.parse(text) for text in texts]
    prelude = program.parse(job.prelude.rstrip())  # as program.Prelude has it
    prelude_how = program.bindings(prelude.body, prelude)[0] if prelude else how
    helpers = callable_names & set().union(*(used for used, _ in looked_up)) & prelude_how.keys() - under_test
    if helpers or not _is_flat(trees, looked_up_anywhere):
        _check_depth([*trees, *(how[name][0][1] for name in sorted(helpers))])


_SCOPES = (_ast.Lambda, _ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)


def _is_flat(trees, looked_up):
    """Returns whether TREES, which look up these names, have at most one function, which does not name itself, and no
    other scope in it: most tests. So _check_depth() finds nothing."""
    outlines = list(map(program.outline, trees))
    functions = [node for outline in outlines for node in outline.every(_ast.FunctionDef)]
    if len(functions) > 1 or any(node.name in looked_up for node in functions):
        return False
    return not any(outline.every(*_SCOPES) for outline in outlines)


def _check_depth(trees):
    """The tests may only be so deep in functions of their own, or the prelude's, when they call what they test:
    there it has fewer levels left in one process."""
    functions, deepest = {}, 0  # by name: the names that each uses
    stack = [(tree, 0, ()) for tree in trees]
    while stack:
        node, depth, around = stack.pop()
        if isinstance(node, _ast.Name):
            for used in around:
                used.add(node.id)
            continue
        if isinstance(node, _ast.FunctionDef):
            around = (*around, functions.setdefault(node.name, set()))
        elif isinstance(node, _SCOPES):
            depth += 1
            deepest = max(depth, deepest)
        for part in program.children(node):
            stack.append((part, depth, around))
    if len(functions) + deepest > TESTS_FRAMES:
        _refuse("the tests call from deep inside")
    if any(one in functions[other] and other in functions[one] for one in functions for other in functions):
        _refuse("the tests recur")


def _check_use(name, imports, how):
    """NAME is used by the tests and not their own."""
    if name not in how:
        if name not in CALLABLES and name not in ("print", "hash", "__name__"):
            _refuse(f"the tests use {name}")
    elif name in names.BUILTINS or name not in imports and not all(_stays(one, how) for one in how[name]):
        _refuse(f"the tests use the code's {name}")


def why_not(code_tree, code_text, job, under_test):
    """Returns why prelude and code (CODE_TEXT, parsed: CODE_TREE) and the tests of JOB are not simple, or
    "" if they are."""
    try:
        if "__name__" in job.prelude:
            _refuse("the prelude's own name")  # that of the tests where it is the judge's, and not in one process
        imports, uses, how = _check_code(code_tree, code_text)
        for name in under_test:
            if not all(one[0] == program.DEFINED or isinstance(one[1], _ast.Lambda) for one in how.get(name, [("", 0)])):
                _refuse(f"{name} is no function")
        _check_tests(job, set(under_test), imports, uses, how)
    except NotSimple as found:
        return f"{found}"
    return ""
