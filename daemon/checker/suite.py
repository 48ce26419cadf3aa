# SPDX-License-Identifier: MIT
"""Runs assertions and says how each came out. For an assert that compares two values it shows both."""

import _ast
import sys
from os import _exit as leave
from os import getpid  # whatever the tests make of them

import blame
import membrane

PARSE_ONLY = 0x400  # ast.PyCF_ONLY_AST, without all that importing ast brings
DETAIL_MAX = 200
SHOWN_MAX = 80
BEFORE_MAX = 24  # of what is equal, before a difference
CO_OPTIMIZED = 1  # of functions

COMPARISONS = {
    _ast.Eq: ("==", lambda a, b: a == b),
    _ast.NotEq: ("!=", lambda a, b: a != b),
    _ast.Lt: ("<", lambda a, b: a < b),
    _ast.LtE: ("<=", lambda a, b: a <= b),
    _ast.Gt: (">", lambda a, b: a > b),
    _ast.GtE: (">=", lambda a, b: a >= b),
    _ast.Is: ("is", lambda a, b: a is b),
    _ast.IsNot: ("is not", lambda a, b: a is not b),
    _ast.In: ("in", lambda a, b: a in b),
    _ast.NotIn: ("not in", lambda a, b: a not in b),
}
OPERATORS = dict(COMPARISONS.values())


def frames():
    """Returns how many functions of Python are running in this thread, this one left out."""
    frame, count = sys._getframe(1), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


def shorten(text, most):
    return text if len(text) <= most else text[: most - 3] + "..."


def quote(text):
    out = []
    for c in text:
        n = ord(c)
        if c in '"\\':
            out.append("\\" + c)
        elif 32 <= n < 127:
            out.append(c)
        elif n > 0xFFFF:
            n -= 0x10000
            out.append(f"\\u{0xD800 + (n >> 10):04x}\\u{0xDC00 + (n & 0x3FF):04x}")
        else:
            out.append(f"\\u{0xFFFD if 0xD800 <= n < 0xE000 else n:04x}")
    return '"' + "".join(out) + '"'


def text_of(value):
    try:
        return repr(value)
    except Exception:  # repr() of an object's own, too deep, or an integer too long
        return f"<{type(value).__name__}>"


def show(value):
    return shorten(text_of(value), SHOWN_MAX)


def common_length(left, right):
    """Returns how many characters LEFT and RIGHT begin with alike. Takes time as one comparison does."""
    same, most = 0, min(len(left), len(right))
    while same < most:
        middle = (same + most + 1) // 2
        if left[same:middle] == right[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


def show_difference(left, right):
    """Shows both values, from where they begin to differ if that is not in sight of their beginnings."""
    texts = text_of(left), text_of(right)
    place = common_length(*texts)
    if place < SHOWN_MAX // 2 or max(map(len, texts)) <= SHOWN_MAX:
        return [shorten(text, SHOWN_MAX) for text in texts]
    begin = place - BEFORE_MAX
    return [shorten("..." + text[begin:], SHOWN_MAX) for text in texts]


def describe(error):
    try:
        text = str(error)
    except Exception:
        text = ""
    name = type(error).__name__
    return shorten(f"{name}: {text}" if text else name, DETAIL_MAX)


class Recorder:
    """The operands of the last evaluated assert."""

    def __init__(self):
        self.seen = None

    def compare(self, operator, left, right, swapped):
        self.seen = (operator, right, left) if swapped else (operator, left, right)
        result = OPERATORS[operator](left, right)
        if result is True:
            self.seen = None  # keeps nothing alive that the tests do not
        return result

    def truth(self, value, negated):
        self.seen = ("not" if negated else "", value, None)
        return not value if negated else value

    def explanation(self):
        if self.seen is None:
            return ""
        operator, got, expected = self.seen
        if operator == "":
            return f"got {show(got)}, expected a true value"
        if operator == "not":
            return f"got {show(got)}, expected a false value"
        if operator == "==":
            got, expected = show_difference(got, expected)
            return f"got {got}, expected {expected}"
        return f"got {show(got)}, expected {operator} {show(expected)}"


def _at(node, like):
    node.lineno, node.col_offset = like.lineno, like.col_offset
    node.end_lineno, node.end_col_offset = like.end_lineno, like.end_col_offset
    return node


def _constant(value, like):
    return _at(_ast.Constant(value=value), like)


def _is_literal(node):
    if isinstance(node, (_ast.List, _ast.Tuple, _ast.Set)):
        return all(_is_literal(part) for part in node.elts)
    if isinstance(node, _ast.UnaryOp):
        return _is_literal(node.operand)
    return isinstance(node, (_ast.Constant, _ast.Dict))


def _recorded(test):
    name, arguments = "__truth__", [test, _constant(False, test)]
    if isinstance(test, _ast.Compare) and len(test.ops) == 1:
        operator = COMPARISONS[type(test.ops[0])][0]
        left, right = test.left, test.comparators[0]
        swapped = operator in ("==", "!=") and _is_literal(left) and not _is_literal(right)
        name = "__compare__"
        arguments = [_constant(operator, test), left, right, _constant(swapped, test)]
    elif isinstance(test, _ast.UnaryOp) and isinstance(test.op, _ast.Not):
        arguments = [test.operand, _constant(True, test)]
    function = _at(_ast.Name(id=name, ctx=_ast.Load()), test)
    return _at(_ast.Call(func=function, args=arguments, keywords=[]), test)


_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # fields that hold statements, or parts that do


def _blocks_of(node):
    """Returns the statements directly below NODE, and the parts that hold some. No expression does."""
    found, names = [], vars(node)
    for field in _BLOCKS:
        block = names.get(field)
        if type(block) is list:
            found += block
    return found


def _rewrite(tree):
    """Has each assert note what it compares."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _ast.Assert):
            node.test = _recorded(node.test)
        stack += _blocks_of(node)


def declared_global(tree):
    """Returns the names that statements below TREE declare global."""
    found, stack = set(), [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _ast.Global):
            found.update(node.names)
        stack += _blocks_of(node)
    return found


def parse(text, name):
    return compile(text, name, "exec", PARSE_ONLY, dont_inherit=True)


def last_indentation(text):
    """Returns the indentation of the last line that is not blank."""
    line = (text.rstrip().splitlines() or [""])[-1]
    return line[: len(line) - len(line.lstrip())]


def compile_tests(text, name, tree=None):
    """Compiles tests. TREE, if there is one, is what TEXT was parsed to, and is changed."""
    tree = tree or parse(text, name)
    _rewrite(tree)
    return compile(tree, name, "exec", dont_inherit=True, optimize=0)


def compile_plain(text, name):
    return compile(text, name, "exec", dont_inherit=True, optimize=0)


def _codes(code):
    """Yields CODE and all code that is defined in it."""
    stack = [code]
    while stack:
        code = stack.pop()
        yield code
        stack.extend(constant for constant in code.co_consts if type(constant) is type(code))


def names_in(code):
    """Returns every name that CODE, or code defined in it, may look up."""
    return {name for part in _codes(code) for name in part.co_names}


def names_in_classes(code):
    """Returns the names that class bodies look up."""
    inner = (part for part in _codes(code) if part is not code and not part.co_flags & CO_OPTIMIZED)
    return {name for part in inner for name in part.co_names}


def names_of(tree):
    """Returns the names that a module looks up and those that it binds, wherever that is."""
    used, bound, stack = set(), set(), [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _ast.Name):
            (used if isinstance(node.ctx, _ast.Load) else bound).add(node.id)
            continue
        stack += children(node)
        if isinstance(node, _ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, _ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, _ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return used, bound


# Fields without a node that tells anything: names, numbers, operators, the context of a name.
_LEAVES = frozenset(
    ("id", "attr", "ctx", "op", "ops", "module", "level", "kind", "conversion", "is_async", "simple", "type_comment")
)
FIELDS = {_ast.Constant: (), _ast.Name: (), _ast.alias: ()}  # by class of a node: the others


def fields_of(kind):
    """Returns the names of the fields of a class of nodes that may hold nodes."""
    fields = FIELDS.get(kind)
    if fields is None:
        fields = FIELDS[kind] = tuple(field for field in kind._fields if field not in _LEAVES)
    return fields


def children(node):
    """Returns the nodes directly below NODE, in the order of the text, without operators and contexts (Load)."""
    found = []
    fields = FIELDS.get(type(node))
    if fields is None:
        fields = fields_of(type(node))
    names = vars(node)  # getattr() would look for each name in the class first
    for field in fields:
        value = names.get(field)
        if type(value) is list:
            found += [part for part in value if isinstance(part, _ast.AST)]
        elif isinstance(value, _ast.AST):
            found.append(value)
    return found


def nodes(node):
    """Yields NODE and all nodes below it."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack += children(node)


def seed_random(text, seed):
    """Gives the generators that a program mentions a known state, the same on both sides."""
    if "random" in text:
        __import__("random").seed(seed)
        if "numpy" in text:
            try:
                __import__("numpy.random").random.seed(seed % (1 << 32))
            except ImportError:
                pass


HAS_CROSSED = "has_crossed"  # an attribute of exits that the tests raised in a callback, and the code let through


TESTS = "__main__"  # the name of the tests' module, so that what they guard with it runs
OF_CODE = "<candidate>"  # the file name of the code, which may be in that module, too


def raiser(error):
    """Returns the name of the module that has raised ERROR; "" for the code."""
    frames, at = [], error.__traceback__
    while at is not None:
        frames.append(at.tb_frame)
        at = at.tb_next
    while frames and frames[-1].f_globals.get("__name__") == "_sitebuiltins":  # exit()
        frames.pop()
    if not frames or frames[-1].f_code.co_filename == OF_CODE:
        return ""
    return frames[-1].f_globals.get("__name__", "")


def run(step, recorder):
    """Returns whether STEP() completed, and why not. A test that exits with status 0, as unittest.main()
    does, has completed, unless it is the code that exits, or a module of the library (argparse) for what the code gave
    the tests. A process that the step forks does not come out of it: it has no part in the verdict."""
    process, recorder.seen = getpid(), None
    try:
        step()
    except (membrane.Lost, blame.Missing):
        end_child(process, 1)
        raise
    except SystemExit as leaving:
        end_child(process, leaving.code)
        own = type(leaving) is SystemExit and not hasattr(leaving, HAS_CROSSED) and raiser(leaving) in (TESTS, "unittest.main")
        return own and leaving.code in (None, 0), f"SystemExit: {leaving.code}"
    except AssertionError as error:
        end_child(process, 1)
        message = str(error) if error.args else ""
        parts = [part for part in (recorder.explanation(), message) if part]
        return False, shorten("; ".join(parts) or "assertion failed", DETAIL_MAX)
    except BaseException as error:
        end_child(process, 1)
        return False, describe(error)
    end_child(process, None)
    return True, ""


def end_child(process, code):
    """Ends this process as a script that exits with CODE, if it is not PROCESS."""
    if getpid() == process:
        return
    status = 0 if code is None else code if type(code) is int else 1
    try:
        sys.stdout.flush()
    finally:
        leave(status & 0xFF)
