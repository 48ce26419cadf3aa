# SPDX-License-Identifier: MIT
"""Finds out whether a program might look at addresses, or at what depends on them: the text or the hash of a
function, a class, an iterator or a match, and so the order of a set of them. These differ from process to
process, since each heap has a history of its own. So a program may only call, iterate and test such objects,
and pass them to what does no more. The rule is rough: it goes by the names of the whole program, and refuses
what it cannot follow. For simple.py, whose other rules it relies on. Pure functions of trees."""

import _ast

import suite
from outline import DEFINITIONS, FUNCTIONS

# What makes an object of which the address can be told, by its name or as a method.
MAKERS = frozenset("""iter map filter zip enumerate reversed type islice chain count cycle accumulate combinations
permutations product starmap takewhile dropwhile filterfalse compress pairwise zip_longest combinations_with_replacement
from_iterable partial cmp_to_key itemgetter lru_cache cache merge match search fullmatch scanner elements
Exception ArithmeticError AssertionError AttributeError IndexError KeyError LookupError NotImplementedError
OverflowError StopIteration TypeError UnicodeDecodeError UnicodeEncodeError UnicodeError ValueError ZeroDivisionError
RuntimeError RecursionError""".split())  # fmt: skip
# Iterators over such objects: only to loop over.
NESTED = frozenset(("groupby", "finditer"))
UNFIT = frozenset(("tee", "repeat"))  # keep what they are given, or give iterators in a tuple
# What takes functions and iterators, and keeps nothing of them but what they give.
CONSUMERS = frozenset("""all any sum sorted max min list tuple set frozenset dict map filter zip enumerate iter next
reversed isinstance issubclass callable reduce Counter deque OrderedDict bytes bytearray islice chain accumulate
combinations permutations product starmap takewhile dropwhile filterfalse compress pairwise zip_longest cycle
combinations_with_replacement from_iterable cmp_to_key groupby nlargest nsmallest merge heapify prod fsum mean median mode
stdev pstdev variance pvariance fmean lru_cache cache sort join extend update union intersection difference
symmetric_difference issubset issuperset isdisjoint sub subn""".split())  # fmt: skip
ONE = frozenset(("max", "min", "next", "partial", "defaultdict"))  # of these only the first argument
FACTORIES = frozenset("int float str list dict set tuple bool Counter deque".split())
# Attributes of values, and of modules, that are plain data.
DATA = frozenset("""real imag numerator denominator year month day hour minute second microsecond days seconds
microseconds start stop step pi e tau inf nan maxsize float_info epsilon dig I IGNORECASE M MULTILINE S DOTALL X VERBOSE A
ASCII pattern string ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable
whitespace ROUND_HALF_UP ROUND_HALF_EVEN ROUND_DOWN ROUND_UP ROUND_FLOOR ROUND_CEILING ROUND_HALF_DOWN""".split())
CONSTANTS = frozenset(("True", "False", "None", "NotImplemented", "Ellipsis", "__name__"))
# Where such an object does nothing but what it is there for: (node, field).
PLACES = frozenset(
    [(_ast.Call, "func"), (_ast.Attribute, "value"), (_ast.For, "iter"), (_ast.comprehension, "iter"), (_ast.If, "test"),
     (_ast.While, "test"), (_ast.IfExp, "test"), (_ast.Assert, "test"), (_ast.Expr, "value"), (_ast.YieldFrom, "value"),
     (_ast.Starred, "value"), (_ast.Compare, "left"), (_ast.Compare, "comparators"), (_ast.Raise, "exc"),
     (_ast.Raise, "cause"), (_ast.ExceptHandler, "type"), (_ast.Subscript, "value"), (_ast.FunctionDef, "decorator_list"),
     (_ast.FunctionDef, "returns"), (_ast.arg, "annotation"), (_ast.AnnAssign, "annotation"), (_ast.AugAssign, "value"),
     (_ast.comprehension, "ifs"), (_ast.BoolOp, "values"), (_ast.IfExp, "body"), (_ast.IfExp, "orelse"),
     (_ast.NamedExpr, "value"), (_ast.keyword, "value"), (_ast.Call, "args")])  # fmt: skip


_LOAD = _ast.Load()
# What is_one() may find to be such an object.
ONES = (_ast.Lambda, _ast.GeneratorExp, _ast.YieldFrom, _ast.Name, _ast.Attribute, _ast.Call, _ast.BoolOp, _ast.IfExp,
        _ast.NamedExpr)  # fmt: skip


class Seen(Exception):
    pass


def _refuse(why):
    raise Seen(why)


def _name_of(node):
    """Returns the last name of what NODE calls."""
    return node.id if isinstance(node, _ast.Name) else node.attr if isinstance(node, _ast.Attribute) else ""


class _Rule:
    """FUNCTIONS: by name. GIVERS: names of functions that return such objects. HELD: names of variables that may
    hold one."""

    def __init__(self, outline, built_in, imported, modules):
        self.outline, self.modules = outline, modules
        self.functions, self.givers, self.held, self.bound = {}, set(), set(), set()
        self.variables, self.inner = {}, {}  # by function: names in them
        self.global_names = (built_in | imported) - CONSTANTS
        # Of functions and names: the function around each.
        self.around = {node: around for node, _, _, around in outline.of(*FUNCTIONS, _ast.Name)}
        self.learn()
        self.ones = outline.of(*ONES)
        self.yields = outline.of(_ast.Yield, _ast.YieldFrom)

    def learn(self):
        for node, _, _, around in self.outline.of(_ast.FunctionDef):
            self.functions.setdefault(node.name, []).append(node)
            self.inner.setdefault(around, set()).add(node.name)
        for node, _, _, around in self.outline.of(_ast.arg):
            self.bound.add(node.arg)
            self.variables.setdefault(around, set()).add(node.arg)
        for node, parent, _, around in self.outline.of(_ast.Name):
            if not isinstance(node.ctx, _ast.Load):
                self.bound.add(node.id)
                if isinstance(parent, (_ast.Assign, _ast.AugAssign, _ast.For)):  # but no variable of a comprehension
                    self.variables.setdefault(around, set()).add(node.id)
        self.held.update(node.name for node, *_ in self.outline.of(_ast.ExceptHandler) if node.name)

    def is_one(self, node):
        """Returns whether NODE may be such an object."""
        if not isinstance(getattr(node, "ctx", _LOAD), _ast.Load):
            return False
        if isinstance(node, (_ast.Lambda, _ast.GeneratorExp, _ast.YieldFrom)):
            return True  # what a generator returns is not followed
        if isinstance(node, _ast.Name):
            if node.id in self.held:
                return True
            if self.is_variable(node):
                return False
            if node.id in self.functions:
                return True
            return node.id not in self.bound and node.id in self.global_names and node.id not in DATA
        if isinstance(node, _ast.Attribute):
            of_class = isinstance(node.value, _ast.Name) and node.value.id in FACTORIES - self.bound
            return node.attr not in DATA or of_class
        if isinstance(node, _ast.Call):
            name = _name_of(node.func)
            if name == "defaultdict":  # its text has that of its function
                return not all(isinstance(one, _ast.Name) and one.id in FACTORIES for one in node.args[:1])
            return self.makes(node.func, name) or name in NESTED
        if isinstance(node, _ast.BoolOp):
            return any(map(self.is_one, node.values))
        if isinstance(node, _ast.IfExp):
            return self.is_one(node.body) or self.is_one(node.orelse)
        return isinstance(node, _ast.NamedExpr) and self.is_one(node.value)

    def makes(self, function, name):
        """Returns whether FUNCTION, an expression that ends in NAME, makes such objects."""
        if name == "count" and isinstance(function, _ast.Attribute):  # of a list, or of itertools
            return isinstance(function.value, _ast.Name) and function.value.id in self.modules
        return name in MAKERS or name in self.givers

    def is_variable(self, node):
        """Returns whether the name NODE is that of a variable of the function around it, and of no function there."""
        around = self.around.get(node)
        while around is not None:
            if node.id in self.inner.get(around, ()):
                return False
            if node.id in self.variables.get(around, ()):
                return True
            around = self.around.get(around)
        return False

    def settle(self):
        """Follows such objects through variables, arguments and what functions return, until no more is found."""
        before = None
        while before != (len(self.held), len(self.givers)):
            before = len(self.held), len(self.givers)
            for *_, function in self.yields:
                if function is not None:
                    self.givers.add(getattr(function, "name", ""))
            for node, parent, field, function in self.ones:
                if self.is_one(node):
                    self.follow(node, parent, field, function)
        if "" in self.givers:
            _refuse("a generator of a lambda")

    def follow(self, node, parent, field, function):
        place = (type(parent), field)
        if place == (_ast.Return, "value"):
            self.givers.add(function.name)
        elif place in ((_ast.Assign, "value"), (_ast.AnnAssign, "value"), (_ast.NamedExpr, "value")):
            for target in getattr(parent, "targets", None) or [parent.target]:
                if isinstance(target, _ast.Name):
                    self.held.add(target.id)
                elif not isinstance(target, (_ast.Tuple, _ast.List)):
                    _refuse("an object is kept")
        elif place == (_ast.Call, "args"):
            self.argument(node, parent)
        elif place == (_ast.keyword, "value"):
            if parent.arg != "key":
                _refuse("an object as an argument by name")
        elif place == (_ast.Tuple, "elts"):
            pass  # see tuples()
        elif place not in PLACES and not (isinstance(parent, _ast.FunctionDef) and field == "args"):
            _refuse(f"an object in {type(parent).__name__}.{field}")
        if isinstance(node, _ast.Call) and _name_of(node.func) in NESTED:
            self.nested(parent, field, _name_of(node.func) == "groupby")
        if isinstance(node, _ast.Call) and _name_of(node.func) == "type" and not isinstance(parent, _ast.Compare):
            _refuse("a class that is not named")
        name = _name_of(node)
        if isinstance(node, _ast.Name) and self.is_variable(node):
            return
        is_maker = self.makes(node, name) or name in NESTED or name in UNFIT
        if is_maker and isinstance(node, (_ast.Name, _ast.Attribute)) and not self.may_be_maker(node, parent, field):
            _refuse("a function that makes objects, as a value")

    @staticmethod
    def may_be_maker(node, parent, field):
        if isinstance(parent, _ast.Call) and field == "func":
            return node.attr not in UNFIT if isinstance(node, _ast.Attribute) else node.id not in UNFIT
        if isinstance(parent, _ast.Tuple):
            return True  # see tuples()
        return (type(parent), field) in PLACES and not isinstance(parent, (_ast.Call, _ast.keyword, _ast.NamedExpr))

    def argument(self, node, call):
        name = _name_of(call.func)
        if isinstance(call.func, _ast.Name) and name in self.functions and name not in self.bound:
            for function in self.functions[name]:
                given = function.args
                if given.vararg or given.kwarg:
                    _refuse("an object among many arguments")
                self.held.update(one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs))
        elif name in CONSUMERS or name in ONE:
            if name in self.bound and isinstance(call.func, _ast.Name) or name in self.functions:
                _refuse(f"an object for another {name}")
            if name in ONE and (call.args[0] is not node or len(call.args) > 1 and name not in ("next", "partial")):
                _refuse("an object that comes back")
            if name in ("reduce", "accumulate") and node in call.args[2:]:
                _refuse("an object to begin with")
        elif not (name == "str" and isinstance(node, _ast.Name) and self.is_exception(node.id)):
            _refuse(f"an object as an argument of {name or 'what a variable holds'}")

    def is_exception(self, name):
        """Returns whether NAME is that of an exception that is caught, and nothing else."""
        return name not in self.bound and name not in self.functions and name not in self.global_names

    def nested(self, parent, field, is_pairs):
        target = getattr(parent, "target", None)
        if field != "iter" or target is None:
            _refuse("iterators in an iterator")
        if is_pairs and isinstance(target, _ast.Tuple) and len(target.elts) == 2:
            target = target.elts[1]  # behind a key
        self.held.update(part.id for part in suite.nodes(target) if isinstance(part, _ast.Name))

    def tuples(self):
        """Such an object may be in a tuple of classes, for isinstance() or in a handler."""
        for node, parent, _, _ in self.outline.of(_ast.Tuple):
            if any(map(self.is_one, node.elts)):
                is_known = isinstance(parent, _ast.Call) and _name_of(parent.func) in ("isinstance", "issubclass")
                if not is_known and not isinstance(parent, _ast.ExceptHandler):
                    _refuse("an object in a tuple")

    def unfit(self):
        """What a class makes when it is called is only known if the class is named."""
        for node, *_ in self.outline.of(_ast.Call):
            if isinstance(node.func, (_ast.Call, _ast.Subscript)):
                _refuse("calls what a call gave")
        for node, *_ in self.outline.of(*DEFINITIONS):
            for decorator in node.decorator_list:
                if any(isinstance(part, _ast.Name) and (part.id in self.functions or part.id in self.bound)
                       for part in suite.nodes(decorator)):  # fmt: skip
                    _refuse("a decorator of its own")
        for node, *_ in self.outline.of(_ast.Name):
            if node.id in UNFIT and node.id not in self.bound:
                _refuse(f"uses {node.id}")
        for node, *_ in self.outline.of(_ast.Attribute):
            if node.attr in UNFIT:
                _refuse(f"uses {node.attr}")


def why_seen(outline, built_in, imported, modules):
    """Returns why a program, of which this is the OUTLINE, might look at an address, or "". BUILT_IN are the names of
    Python, IMPORTED those from modules, and MODULES those of modules, that it uses."""
    rule = _Rule(outline, built_in, imported, modules)
    try:
        rule.unfit()
        rule.settle()
        rule.tuples()
    except Seen as found:
        return f"{found}"
    return ""
