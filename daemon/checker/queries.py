# SPDX-License-Identifier: MIT
"""Expressions that the tests give to pandas (DataFrame.query(), DataFrame.eval(), pandas.eval()). pandas has an engine of
its own for them, which finds `@name` in the frames of the tests, follows attributes and calls what it finds: a text of the
code's would reach whatever the tests can.

Whichever way the tests have come by a function of pandas, its engine has Python parse the expression, and there it is
looked at. A text of the job's own is evaluated as ever. Any other gets columns, constants, operators and methods that
compute, and of the names of the tests those that the code has been told, or that they have put there themselves."""

import _ast
import keyword

import restricted
from suite import nodes, shorten

ENGINE = "pandas.core.computation.expr"
LOCAL = "__pd_eval_local_"  # what pandas makes of @
SHOWN_MAX = 60
NODES = tuple(getattr(_ast, name) for name in """Module Expr Assign Constant UnaryOp BinOp BoolOp Compare Tuple List
Subscript Slice Name Call keyword Attribute operator unaryop boolop cmpop expr_context""".split())
# Attributes of columns that compute, and look up nothing by a text.
ATTRIBUTES = frozenset("""str dt cat values index columns size shape ndim T empty codes categories
isin isna isnull notna notnull between eq ne lt le gt ge add sub mul div truediv floordiv mod pow radd rsub rmul rdiv
abs sum mean median min max std var sem skew kurt prod count nunique mode quantile any all idxmin idxmax
cumsum cumprod cummax cummin diff shift round clip rank fillna ffill bfill pct_change duplicated astype where mask
contains startswith endswith match fullmatch len lower upper strip lstrip rstrip title capitalize casefold swapcase
isalpha isdigit isalnum isnumeric isdecimal isspace islower isupper istitle find rfind slice get replace split rsplit
zfill pad center ljust rjust repeat
year month day hour minute second microsecond dayofweek day_of_week weekday dayofyear day_of_year quarter date time
day_name month_name days seconds total_seconds normalize floor ceil is_leap_year days_in_month
is_month_start is_month_end is_quarter_start is_quarter_end is_year_start is_year_end""".split())  # fmt: skip


def check(gate, tree, frame):
    """FRAME is where Python was asked for TREE: refuses the expression if pandas asks, and it may do harm."""
    engine = frame.f_back
    if frame.f_globals.get("__name__") != "ast" or engine is None or engine.f_globals.get("__name__") != ENGINE:
        return
    text, scope = engine.f_locals.get("node"), getattr(engine.f_locals.get("self"), "env", None)
    if type(text) is str and text.strip() in gate.own().lines:
        return
    why = "it is no text" if type(text) is not str or scope is None else Expression(gate, scope, given(engine)).why_not(tree)
    if why:
        shown = shorten(" ".join(f"{text}".split()), SHOWN_MAX)
        gate.refuse(f"the tests give pandas an expression that is not theirs, and {why}: {shown}")


def given(frame):
    """Returns the names that the tests have handed to pandas for the expression, in dictionaries."""
    while frame is not None and f"{frame.f_globals.get('__name__')}".startswith("pandas."):
        if frame.f_code.co_name == "eval" and "local_dict" in frame.f_locals:
            spaces = (frame.f_locals["local_dict"], frame.f_locals.get("global_dict"))
            return {name for space in spaces if isinstance(space, dict) for name in space}
        frame = frame.f_back
    return set()


class Expression:
    """An expression of unknown origin. SCOPE is what pandas looks names up in; the tests have handed over those GIVEN."""

    def __init__(self, gate, scope, given_names):
        self.gate, self.scope, self.given = gate, scope, given_names

    def why_not(self, tree):
        """Returns why it is not evaluated, "" if it is."""
        return next(filter(None, map(self.why_not_node, nodes(tree))), "")

    def why_not_node(self, node):
        if not isinstance(node, NODES):
            return "it is more than a formula"
        if isinstance(node, _ast.Assign) and not all(isinstance(one, _ast.Name) for one in node.targets):
            return "it is more than a formula"
        if isinstance(node, _ast.Attribute) and node.attr not in ATTRIBUTES and not self.is_written(node.attr):
            return f"it asks for the attribute `{node.attr}`"
        if isinstance(node, _ast.Call) and not isinstance(node.func, _ast.Attribute) and not self.may_call(node.func):
            return "it calls what is not its own"
        if isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Load) and not self.may_use(node.id):
            return f"it uses `{node.id.removeprefix(LOCAL)}`, which is theirs"
        return ""

    def is_written(self, name):
        """Returns whether the tests have the name in an expression that they put together."""
        return not name.startswith("_") and name in self.gate.own().words

    def find(self, name):
        """Returns (whether pandas finds NAME among those of the tests, what it finds)."""
        if not name.startswith(LOCAL) and self.scope.has_resolvers:
            return False, None  # a column, or nothing
        name = name.removeprefix(LOCAL)
        return (True, self.scope.scope[name]) if name in self.scope.scope else (False, None)

    def may_use(self, name):
        is_there, value = self.find(name)
        name = name.removeprefix(LOCAL)
        if not is_there or name in self.given or restricted.is_value_class(value):
            return True
        return not name.startswith("__") and self.gate.may_use(name, value)

    def may_call(self, function):
        if not isinstance(function, _ast.Name) or keyword.iskeyword(function.id):
            return False
        is_there, value = self.find(function.id)
        if not is_there:
            return True  # sin() and the like of pandas' own
        if self.is_written(function.id.removeprefix(LOCAL)):
            return True
        return self.gate.link.is_theirs(value) or restricted.is_value_class(value) or id(value) in restricted.PURE_IDS


def guard_matrices(gate):
    """Has numpy.bmat(), which finds names in the frames of the tests, use those that the code has been told."""
    try:
        module = __import__("numpy.matrixlib.defmatrix", fromlist=[""])
    except ImportError:
        return
    original = module._from_string

    def read(text, *spaces):
        if type(text) is str and text.strip() not in gate.own().lines:
            for name in text.replace(";", " ").replace(",", " ").split():
                value = next((space[name] for space in spaces if space and name in space), None)
                if value is not None and not gate.may_use(name, value):
                    gate.refuse(f"the tests give numpy.bmat() a text that uses `{name}`, which is theirs")
        return original(text, *spaces)

    module._from_string = read
