# SPDX-License-Identifier: MIT
"""Keeps objects of the code from deciding a test: has the names that they may not answer (those of mocks, of test
frameworks and of differences to an expected value), and lets annotations, which the library runs, call nothing."""

import sys

import trusted

# Methods that compare a value with another, which they see, and answer for it.
COMPARING = frozenset("startswith endswith equals identical issubset issuperset isdisjoint samefile is_relative_to".split())
# Attributes by which an object of unittest.mock says that it was called as it should have been.
MOCK_ASSERTS = frozenset("""assert_any_await assert_any_call assert_awaited assert_awaited_once
assert_awaited_once_with assert_awaited_with assert_called assert_called_once assert_called_once_with
assert_called_with assert_has_awaits assert_has_calls assert_not_awaited assert_not_called""".split())
MOCK_NAMES = MOCK_ASSERTS.union("""await_args await_args_list await_count call_args call_args_list call_count called
method_calls mock_calls""".split())
# By these a framework learns that it is not to run a test, or that a failure is none.
SKIPPING_NAMES = frozenset(("__unittest_skip__", "__unittest_skip_why__", "__unittest_expecting_failure__",
                            "pytestmark", "pytest_plugins", "__test__"))  # fmt: skip
# By these `except*` learns what is in a group.
SPLITTING = ("split", "subgroup")
# A difference to an expected value turns into plain data by these, as arrays and intervals have them; numpy calls
# the later ones by name.
REDUCTIONS = frozenset("""all any item max mean median min prod ptp std sum tolist to_list to_numpy total_seconds
var norm __array__
absolute arccos arcsin arctan cbrt ceil conjugate cos cosh degrees exp exp2 expm1 fabs floor isfinite isinf isnan log
log10 log1p log2 logical_not radians rint sign sin sinh sqrt square tan tanh trunc""".split())
# What the code may ask of an object of numpy's that the tests hand over: some others are pointers into memory.
OF_NUMPY = frozenset("""accumulate beta binomial bytes choice exponential gamma integers laplace lognormal multinomial
nin nout normal outer permutation permuted poisson rand randint randn random random_integers random_sample reduce
seed shuffle standard_normal triangular uniform""".split())
SUBTRACTING = frozenset(f"__{how}{name}__" for how in ("", "r", "i") for name in ("sub", "xor"))
ADDING = frozenset(("__add__", "__radd__"))
CODE = type((lambda: 0).__code__)


def subtracts(name, value):
    """Returns whether an operator gives a difference. The abstract numbers of the library add what is negative."""
    if name in SUBTRACTING:
        return True
    numbers = sys.modules.get("numbers")
    return name in ADDING and numbers is not None and isinstance(value, numbers.Number)


class FunctionAttributes:
    """The dictionaries of stand-ins for functions, which follow those of the code's functions."""

    def __init__(self):
        self.by_id = {}

    def watch(self, attributes):
        self.by_id[id(attributes)] = attributes, SKIPPING_NAMES | MOCK_ASSERTS | COMPARING

    def narrow(self, attributes):
        """The function has become an attribute of a mock."""
        if id(attributes) in self.by_id:
            self.by_id[id(attributes)] = attributes, SKIPPING_NAMES | MOCK_NAMES | COMPARING

    def clean(self):
        for attributes, names in self.by_id.values():
            if attributes:
                drop(attributes, names)


def drop(attributes, names):
    """Drops NAMES, and those by which a function would take part in protocols of the judge's."""
    for name in [name for name in attributes if type(name) is not str or name in names or trusted.is_protocol(name)]:
        del attributes[name]


def without_splitting(bases, attributes):
    """Returns ATTRIBUTES, which describe those of a class, without what would let a group of exceptions decide which
    `except*` it meets."""
    is_group = any(isinstance(one, type) and issubclass(one, BaseExceptionGroup) for one in bases)
    if type(attributes) is not tuple or not is_group:
        return attributes
    return tuple(one for one in attributes if type(one) is not tuple or not one or one[0] not in SPLITTING)


def asserts_itself(kind):
    """Returns whether a class has methods like those of a mock."""
    return any(not MOCK_NAMES.isdisjoint(vars(one)) for one in kind.__mro__)


def uses_attributes(code, tests):
    """Returns whether the programs use attributes of functions that CODE defines, which may come and go on both sides."""
    heads = (line.partition("(")[0].split() for line in code.split("\n"))
    names = {head[-1] for head in heads if len(head) > 1 and head[-2] == "def"}
    return any(_has_attribute(text, f"{name}.") for text in (code, tests) for name in names)


def _has_attribute(text, start):
    at = text.find(start)
    while at >= 0:
        before, behind = text[at - 1 : at], text[at + len(start) : at + len(start) + 1]
        if not (before.isalnum() or before in ("_", ".")) and (behind.isalpha() or behind == "_"):
            return True
        at = text.find(start, at + 1)
    return False


def registers(text):
    """Returns whether the programs in TEXT may say which classes count as subclasses of abstract ones."""
    return "register" in text or "__subclasshook__" in text


# --- annotations -----------------------------------------------------------------------------------


def does_more(source):
    """Returns whether an annotation calls something, or gives something to a name."""
    from opcode import opname

    code = source if type(source) is CODE else compile(source, "<annotation>", "eval", dont_inherit=True)
    names = {opname[operation] for operation in code.co_code[::2]}
    return any(name.startswith(("CALL", "PRECALL", "MAKE_", "IMPORT", "LOAD_BUILD", "YIELD", "STORE", "DELETE")) for name in names)


def evaluated(source, globals=None, locals=None):
    """Is eval() for annotations that are texts, which may be the code's: they name types, and call nothing."""
    code = source if type(source) is CODE else compile(source, "<annotation>", "eval", dont_inherit=True)
    if does_more(code):
        raise NameError("an annotation that calls or binds something")
    return eval(code, globals, locals)


class CodesNames(dict):
    """The names in an annotation of the code's."""

    def __init__(self, space, *others):
        for names in others:
            self.update(names or ())
        self.space = space

    def __missing__(self, name):
        if name in self.space.theirs or name in self.space.hidden:
            return self.space.fetch(name)
        raise KeyError(name)


# The globals of stand-ins, and of the module that classes of the code say they are of.
OF_STAND_INS = ("mirrors", "signatures")
OF_CLASSES = "candidate classes"


def guard_annotations(space):
    """Has the library's functions that evaluate annotations do so by evaluated(): with the names of the code where they
    are the code's, which the function or the class that the tests have in its place does not have."""

    def evaluate(source, globals=None, locals=None):
        places = [names for names in (globals, locals) if names]
        of = [names.get("__name__") for names in places]
        if any(name in OF_STAND_INS or name == OF_CLASSES for name in of):
            shown = (names for names, name in zip(places, of) if name not in OF_STAND_INS)
            globals, locals = {"__builtins__": __builtins__}, CodesNames(space, *shown)
        return evaluated(source, globals, locals)

    for name in ("typing", "inspect"):
        vars(__import__(name))["eval"] = evaluate
