# SPDX-License-Identifier: MIT
"""The texts of a job as programs: what they bind, which names they look up, and what of a prelude is
complete. Pure functions of text; nothing here runs any of it."""

import _ast
import _symtable

import suite
from outline import Outline
from suite import children

FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, _ast.ClassDef)
TRIMMED_MAX = 200  # lines that are left off the end of a prelude until the rest can be parsed
_GLOBAL = (_symtable.GLOBAL_EXPLICIT, _symtable.GLOBAL_IMPLICIT)
_BOUND = _symtable.DEF_BOUND
TESTS = suite.TESTS
# How a name is bound: the kinds of `bindings`.
IMPORT, DEFINED, VALUE = "import", "defined", "value"


_trees, _symbols = {}, {}  # by text: several rules look at each, and a process has one job
_outlines = {}  # by tree


def parse(text):
    """Returns the tree of TEXT, which is not to be changed, or None."""
    if text not in _trees:
        try:
            _trees[text] = None if _begins_indented(text) else suite.parse(text, "<program>")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            _trees[text] = None
    return _trees[text]


def _begins_indented(text):
    """Returns whether the first statement of TEXT is indented: to find that out Python reads all of it, twice."""
    bare = text.lstrip()
    before = text[: len(text) - len(bare)]
    indentation = before[before.rfind("\n") + 1 :]
    return bool(indentation) and not indentation.strip(" \t") and bare[:1] not in ("", "#", "\\")


def forget():
    """Drops what was kept of texts."""
    _trees.clear()
    _symbols.clear()
    _outlines.clear()


def outline(tree):
    """Returns the outline of a TREE of parse(), which is made once."""
    found = _outlines.get(tree)
    if found is None:
        found = _outlines[tree] = Outline(tree)
    return found


def take(text):
    """Returns what parse() has returned for TEXT, to be changed; None if it was not asked for."""
    tree = _trees.pop(text, None)
    _outlines.pop(tree, None)
    return tree


# --- which tests are no programs --------------------------------------------------------------------

# What Python's parser takes and its compiler may refuse, as a `return` outside of functions.
_TARGETS = "job.targets"  # begins the places of targets
_COMPILED_WORDS = ("return", "yield", "await", "async", "break", "continue", "global", "nonlocal", "__future__")


def refused(places):
    """Returns the place of the first text that does not compile, or can never fail, and why; or None. PLACES are pairs
    of a text of the tests and its place. Only before the code is loaded does that say nothing of it: it may have
    warnings be errors."""
    for text, place in places:
        tree = parse(text)
        why = None
        if tree is None or any(word in text for word in _COMPILED_WORDS):
            why = _why_not_compiled(tree or text, f"<{place}>")
        if why is None and tree is not None:
            why = _why_always_true(text, tree)
            if why is None and place.startswith(_TARGETS) and _asserts_nothing(text, tree):
                why = "it compares and asserts nothing; begin it with assert"
        if why is not None:
            return place, why
    targets = [(parse(text), place) for text, place in places if place.startswith(_TARGETS)]
    if targets and all(tree is not None and all(map(_runs_nothing, tree.body)) for tree, _ in targets):
        return _TARGETS if len(targets) > 1 else targets[0][1], "nothing that could fail runs in it"
    return None


def _why_not_compiled(program, name):
    try:
        suite.compile_plain(program, name)
    except SyntaxError as error:
        return f"it does not compile: {error.msg} (line {error.lineno})"
    except ValueError as error:
        return f"it does not compile: {error}"
    except (MemoryError, RecursionError):
        pass  # that may depend on where it is compiled
    return None


def _asserts_nothing(text, tree):
    """Returns whether a target ends in a comparison of which nothing comes. A call may well assert something."""
    last = tree.body[-1] if tree.body else None
    return isinstance(last, _ast.Expr) and _is_comparison(last.value) and "assert" not in text


def _why_always_true(text, tree):
    """Returns why an assertion of TREE says nothing, whatever its parts are, or None. Python itself only warns."""
    for node in outline(tree).every(_ast.Assert) if "assert" in text else ():
        if isinstance(node.test, _ast.Tuple) and not all(isinstance(part, _ast.Starred) for part in node.test.elts):
            return f"it asserts a tuple, which is always true; leave off its parentheses (line {node.lineno})"
    return None


def _runs_nothing(node):
    """Returns whether a statement of the module can neither fail nor ask: it defines or imports, is a text, or asserts
    what is true in any case. The body of a class runs."""
    if isinstance(node, DEFINITIONS):
        return not node.decorator_list and (isinstance(node, FUNCTIONS) or all(map(_runs_nothing, node.body)))
    if isinstance(node, _ast.Assert):
        return isinstance(node.test, _ast.Lambda) or isinstance(node.test, _ast.Constant) and bool(node.test.value)
    is_text = isinstance(node, _ast.Expr) and isinstance(node.value, (_ast.Constant, _ast.Lambda))
    return is_text or isinstance(node, (_ast.Import, _ast.ImportFrom, _ast.Pass))


def _is_comparison(node):
    """Returns whether an expression does nothing but compare, whatever comes of it."""
    if isinstance(node, _ast.BoolOp):
        return all(map(_is_comparison, node.values))
    if isinstance(node, _ast.UnaryOp):
        return isinstance(node.op, _ast.Not) and _is_comparison(node.operand)
    return isinstance(node, _ast.Compare)


# --- what the code and the prelude are together ----------------------------------------------------


def _defined_names(tree):
    for node in tree.body:
        if isinstance(node, DEFINITIONS):
            yield node.name
        elif isinstance(node, _ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, _ast.Name))


def compose(prelude, code, asked):
    """Returns the program and whether the code continues the prelude. Code that defines a name of ASKED
    (any name, if ASKED is empty) follows the prelude instead. A function body cut out of an answer has
    often lost the indentation of its first line."""
    if not prelude:
        return code, False
    tree = parse(code)
    defined = set(_defined_names(tree)) if tree else set()
    if defined & set(asked) if asked else defined:
        return _follow(prelude, code), False
    indentation = suite.last_indentation(prelude)
    if indentation and not code.lstrip("\n")[:1].isspace():
        indented = f"{prelude.rstrip()}\n{indentation}{code}"
        if parse(indented):
            return indented, True
    return prelude + code, True


def _follow(prelude, code):
    """Returns the program that is PRELUDE and then CODE, which is whole. If the prelude ends in a definition that a
    continuation would have completed (`def f(x):`), that one gets an empty body."""
    both = f"{prelude}\n{code}"
    if parse(both) is None:
        closed = f"{Prelude(prelude).text}\n{code}"
        if parse(closed) is not None:
            return closed
    return both


class Prelude:
    """A prelude as far as it can be parsed. TREE and TEXT are a whole program. STUBS are the names of
    definitions that have no body of their own: whoever completes them owns them. IS_OPEN says that the
    prelude is no program without something that follows."""

    def __init__(self, text):
        self.tree, self.text, self.is_open, self.goes_on = None, "", False, False
        self.read(text)
        self.stubs = set()
        for node in self.tree.body:
            if isinstance(node, DEFINITIONS) and not is_complete(node):
                self.stubs.add(node.name)
        last = self.tree.body[-1] if self.tree.body else None
        if self.goes_on and isinstance(last, DEFINITIONS):
            self.stubs.add(last.name)

    def read(self, text):
        lines = text.rstrip().split("\n")
        for left_off in range(min(len(lines), TRIMMED_MAX) + 1):
            head = "\n".join(lines[: len(lines) - left_off])
            indentation = suite.last_indentation(head)
            for end in ("", f"\n{indentation}pass", f"\n{indentation}    pass"):
                self.tree = parse(head + end)
                if self.tree is not None:
                    self.text, self.is_open = head + end, bool(end or left_off)
                    rest = lines[len(lines) - left_off] if left_off else ""
                    self.goes_on = bool(end) or rest[:1].isspace()
                    return
        self.tree, self.text, self.is_open = parse(""), "", True


def _is_nothing(node):
    """Returns whether a statement in a body stands for one that is missing: a docstring, `...`, `pass`,
    `raise NotImplementedError`."""
    if isinstance(node, _ast.Raise):
        raised = node.exc.func if isinstance(node.exc, _ast.Call) else node.exc
        return isinstance(raised, _ast.Name) and raised.id == "NotImplementedError"
    return isinstance(node, _ast.Pass) or isinstance(node, _ast.Expr) and isinstance(node.value, _ast.Constant)


def is_complete(node):
    """Returns whether a definition has a body. A derived class needs none. A class of nothing but methods
    that have none is not complete, unless it is abstract: derived, or with decorated methods."""
    if isinstance(node, _ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, FUNCTIONS)]
        others = [part for part in node.body if part not in methods and not _is_nothing(part)]
        if others or not methods:
            return bool(others or node.bases or node.keywords or node.decorator_list)
        return any(part.decorator_list or is_complete(part) for part in methods)
    return not isinstance(node, FUNCTIONS) or not all(map(_is_nothing, node.body))


def packages(*texts):
    """Returns the names of the packages that texts import, wherever they do. One with mistakes imports none."""
    found, trees = set(), filter(None, map(parse, texts))
    for node in (node for tree in trees for node in suite.nodes(tree)):
        if isinstance(node, _ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, _ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def is_main_guard(node):
    """Returns whether NODE is `if __name__ == "__main__":`, in either order, or goes on with `and`."""
    test = node.test if isinstance(node, _ast.If) else None
    if isinstance(test, _ast.BoolOp) and isinstance(test.op, _ast.And):
        test = test.values[0]
    if not isinstance(test, _ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], _ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    return any(isinstance(side, _ast.Name) and side.id == "__name__" for side in sides) and any(
        isinstance(side, _ast.Constant) and side.value == "__main__" for side in sides
    )


def parts_of(tree, prelude, continues):
    """Splits the tree of a composed program into the statements of the code, and the definition of the
    prelude that the code continues (or None)."""
    count = len(prelude.tree.body) if prelude else 0
    if not count or not continues:
        return tree.body[count:], None
    ours, theirs = prelude.tree.body[-1], tree.body[count - 1] if len(tree.body) >= count else None
    if theirs is None:
        return [], ours
    is_longer = prelude.is_open or (ours.end_lineno, ours.end_col_offset) != (theirs.end_lineno, theirs.end_col_offset)
    return tree.body[count:], theirs if is_longer else None


# --- what a program binds --------------------------------------------------------------------------


class _Bindings:
    """Finds what statements bind at the level of the module, and how."""

    def __init__(self, has_globals):
        self.has_globals = has_globals
        self.found = {}
        self.stars = []  # modules of `from MODULE import *`

    def add(self, name, *how):
        self.found.setdefault(name, []).append(how)

    def statements(self, body):
        for node in body:
            self.statement(node)

    def statement(self, node):
        if isinstance(node, DEFINITIONS):
            self.add(node.name, DEFINED, node)
            self.globals_in(node)
        elif isinstance(node, _ast.Import):
            for alias in node.names:
                module = alias.name if alias.asname else alias.name.partition(".")[0]
                self.add(alias.asname or module, IMPORT, module, "")
        elif isinstance(node, _ast.ImportFrom):
            self.import_from(node)
        elif isinstance(node, _ast.Assign):
            for target in node.targets:
                self.assign(target, node.value)
            self.inner(node.value)
        elif isinstance(node, _ast.AnnAssign):
            if node.value is not None:  # otherwise it binds nothing
                self.assign(node.target, node.value)
                self.inner(node.value)
        elif is_main_guard(node):
            self.statements(node.orelse)
        else:
            self.inner(node)

    def import_from(self, node):
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(node.module or "")
            else:
                module = "." * node.level + (node.module or "")
                self.add(alias.asname or alias.name, IMPORT, module, alias.name)

    def assign(self, target, value):
        if isinstance(target, _ast.Name):
            self.add(target.id, VALUE, value)
        elif isinstance(target, (_ast.Tuple, _ast.List)):
            values = value.elts if isinstance(value, (_ast.Tuple, _ast.List)) else []
            if len(values) != len(target.elts):
                values = [None] * len(target.elts)
            for part, its in zip(target.elts, values):
                self.assign(part, its)
        elif isinstance(target, _ast.Starred):
            self.assign(target.value, None)
        else:
            self.inner(target)

    def inner(self, node):
        """Anything else: names that it stores anywhere but in functions and comprehensions, statements
        in it."""
        if isinstance(node, _ast.Name):
            if not isinstance(node.ctx, _ast.Load):
                self.add(node.id, VALUE, None)
            return
        if isinstance(node, _ast.Lambda):
            self.globals_in(node)
            return
        if isinstance(node, _ast.ExceptHandler) and node.name:
            self.add(node.name, VALUE, None)
        for field in ("name", "rest"):  # of patterns; an ExceptHandler is done
            name = getattr(node, field, None)
            if type(name) is str and field in node._fields and not isinstance(node, _ast.ExceptHandler):
                self.add(name, VALUE, None)
        for part in children(node):
            if isinstance(part, _ast.comprehension):
                for piece in (part.iter, *part.ifs):
                    self.inner(piece)
            elif isinstance(part, _ast.stmt):
                self.statement(part)
            else:
                self.inner(part)

    def globals_in(self, node):
        """Names that functions below NODE declare global, and bind."""
        if not self.has_globals:
            return
        declared, stored, stack = suite.declared_global(node), set(), [node]
        while stack and declared:
            part = stack.pop()
            if isinstance(part, _ast.Name) and not isinstance(part.ctx, _ast.Load):
                stored.add(part.id)
            elif isinstance(part, DEFINITIONS):
                stored.add(part.name)
            elif isinstance(part, _ast.alias):
                stored.add(part.asname or part.name.partition(".")[0])
            stack.extend(children(part))
        for name in declared & stored:
            self.add(name, VALUE, None)


def bindings(statements, tree=None):
    """Returns what module-level STATEMENTS bind: {name: [how, ...]}, and the modules of `import *`. How:
    (IMPORT, module, attribute or ""), (DEFINED, node) or (VALUE, node or None). The body of a guard
    `if __name__ == "__main__"` does not run and binds nothing. TREE is one of parse() that has the statements."""
    finder = _Bindings(tree is None or bool(outline(tree).of(_ast.Global)))
    finder.statements(statements)
    return finder.found, finder.stars


def imports_only(how):
    return all(one[0] == IMPORT for one in how)


# --- which names a program looks up ----------------------------------------------------------------


def _tables(text):
    """Returns the symbols of the module and of all blocks in it."""
    if text not in _symbols:
        _symbols[text] = _read_tables(text)
    return _symbols[text]


def _read_tables(text):
    try:
        top = _symtable.symtable(text, "<tests>", "exec")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None, []
    inner, stack = [], list(top.children)
    while stack:
        table = stack.pop()
        inner.append(table)
        stack.extend(table.children)
    return top, inner


def loads(text):
    """Returns the names that TEXT looks up at the level of the module, also from inside functions, and
    those that it binds there. Both are empty if it does not compile."""
    top, inner = _tables(text)
    if top is None:
        return set(), set()
    used = {name for name, flags in top.symbols.items() if flags & _symtable.USE}
    bound = {name for name, flags in top.symbols.items() if flags & _BOUND}
    for table in inner:
        is_class = table.type == _symtable.TYPE_CLASS
        for name, flags in table.symbols.items():
            scope = flags >> _symtable.SCOPE_OFF & _symtable.SCOPE_MASK
            if flags & _symtable.USE and (scope in _GLOBAL or is_class and scope == _symtable.LOCAL):
                used.add(name)
            if scope == _symtable.GLOBAL_EXPLICIT and flags & _BOUND:
                bound.add(name)
    return used, bound


def loads_in_functions(text):
    """Returns the names of the module that functions, classes and comprehensions in TEXT look up."""
    found = set()
    for table in _tables(text)[1]:
        for name, flags in table.symbols.items():
            if flags & _symtable.USE and flags >> _symtable.SCOPE_OFF & _symtable.SCOPE_MASK in _GLOBAL:
                found.add(name)
    return found


def names_bound(text):
    """Returns the names that TEXT binds in any of its scopes: variables, arguments, functions, imports."""
    top, inner = _tables(text)
    tables = [top, *inner] if top is not None else []
    return {name for table in tables for name, flags in table.symbols.items() if flags & _BOUND}


# --- whether two definitions are the same ----------------------------------------------------------

_IGNORED = ("returns", "annotation", "type_comment", "kind", "ctx", "type_ignores")


def _meaning(node):
    """Returns NODE as something to compare, without docstrings, annotations and positions."""
    out, stack = [], [node]
    while stack:
        part = stack.pop()
        if not isinstance(part, _ast.AST):
            out.append((type(part), part))
            continue
        out.append(type(part))
        for field in part._fields:
            value = getattr(part, field, None)
            if field in _IGNORED:
                continue
            if field == "body" and isinstance(part, DEFINITIONS) and _is_docstring(value[0]):
                value = value[1:]
            if type(value) is list:
                out.append(len(value))
                stack.extend(value)
            else:
                stack.append(value)
    return out


def _is_docstring(node):
    return isinstance(node, _ast.Expr) and isinstance(node.value, _ast.Constant) and type(node.value.value) is str


def is_same(one, other):
    """Returns whether two hows of `bindings` bind the same thing."""
    if one[0] != other[0] or one[0] == IMPORT:
        return one == other
    return one[1] is not None and other[1] is not None and _meaning(one[1]) == _meaning(other[1])
