# SPDX-License-Identifier: MIT
"""Finds the program in a model's answer with the help of Python's own parser.

The daemon (proto/extraction.c) has found the fences and taken a first pick. Here that pick is kept if
it defines what the tests ask for, or continues the prelude so that it does. Otherwise these are tried in
turn, and the first that succeeds is taken:

1. the fenced blocks, in order: one that defines a wanted name;
2. the longest range of lines in a block that parses and defines one: there is prose in the block;
3. the pick and the blocks as the body of the prelude's last function;
4. the longest range of lines in the whole answer that parses and defines one: there is no fence;
5. as 3, but without the lines at the end that do not parse.

What was taken gets other blocks beside it if they define or import names that it uses and lacks. If nothing
succeeds, the pick stays.

The answer is untrusted. It is parsed and never run, and the work is bounded: TRIES_MAX texts are parsed, of
PARSED_MAX characters in all, and the search for a range looks at WINDOW characters to each side of a
definition."""

import _ast
import builtins

import program
import suite

TRIES_MAX = 200
PARSED_MAX = 2 << 20
WINDOW = 128 << 10
STARTS_MAX = 40  # beginnings of a range that are tried before the definition itself
PLACES_MAX = 4  # definitions of one name that are looked at
CUTS_MAX = 20
PIECES_MAX = 16  # of each sort: imports, definitions
USED_FROM_MAX = 16  # targets whose names count as wanted
MARK = "\ufeff"  # a byte order mark

FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, _ast.ClassDef)
IMPORTS = (_ast.Import, _ast.ImportFrom)
# How a line begins that may be the first of a program. Those that only look so cost a try.
BEGINNINGS = ("import ", "from ", "def ", "class ", "async def ", "@", "#", '"""', "'''", "if ", "try:", "for ",
              "while ", "with ")  # fmt: skip


class Spent(Exception):
    """The bound on the work is reached."""


# --- trees ----------------------------------------------------------------------------------------


def _module_level(tree):
    """Yields the statements of the module itself, those in its if, try, with and loops among them."""
    stack = [tree]
    while stack:
        for part in suite.children(stack.pop()):
            if isinstance(part, _ast.stmt):
                yield part
            if not isinstance(part, (*DEFINITIONS, _ast.expr)):
                stack.append(part)


def _is_stub(node):
    """Returns whether a definition has no body beyond a docstring and imports."""
    return all(
        isinstance(part, (_ast.Pass, *IMPORTS)) or isinstance(part, _ast.Expr) and isinstance(part.value, _ast.Constant)
        for part in node.body
    )


def _targets(node):
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return {part.id for target in targets if target for part in suite.nodes(target) if isinstance(part, _ast.Name)}


def _defined(tree):
    """Returns the names that the module defines with more than a stub. An import defines none."""
    names = set()
    for node in _module_level(tree):
        if isinstance(node, DEFINITIONS):
            names.discard(node.name)  # the last definition counts
            if not _is_stub(node) or isinstance(node, _ast.ClassDef) and node.bases:
                names.add(node.name)
        elif isinstance(node, (_ast.Assign, _ast.AnnAssign)) and node.value:
            names |= _targets(node)
    return names


def _imported(tree):
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in _module_level(tree)
        if isinstance(node, IMPORTS)
        for alias in node.names
    }


def _bound(tree):
    """Returns every name that is bound anywhere in TREE."""
    names = set()
    for node in suite.nodes(tree):
        if isinstance(node, _ast.Name) and not isinstance(node.ctx, _ast.Load):
            names.add(node.id)
        elif isinstance(node, (*DEFINITIONS, _ast.ExceptHandler)) and node.name:
            names.add(node.name)
        elif isinstance(node, _ast.arg):
            names.add(node.arg)
        elif isinstance(node, IMPORTS):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif type(node).__name__ in ("MatchAs", "MatchStar") and node.name:
            names.add(node.name)
    return names


def _loaded(tree):
    return {node.id for node in suite.nodes(tree) if isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Load)}


def _lacking(tree):
    """Returns the names that TREE uses and neither binds nor finds among the built-in ones."""
    return _loaded(tree) - _bound(tree) - set(dir(builtins))


def _returns_outside(tree):
    return any(isinstance(node, _ast.Return) for node in _module_level(tree))


def _says_nothing(node):
    """Returns whether a statement is a word or two of prose that happen to parse: `Explanation`."""
    if not isinstance(node, _ast.Expr) or isinstance(node.value, _ast.Constant):
        return False
    acts = (_ast.Call, _ast.Await, _ast.Yield, _ast.YieldFrom, _ast.NamedExpr)
    return not any(isinstance(part, acts) for part in suite.nodes(node))


# --- texts ----------------------------------------------------------------------------------------


def indent(text, indentation, parse):
    """Indents TEXT, except for the lines inside its strings. Returns None if it does not parse as a
    function's body."""
    lines = text.split("\n")
    plain = [indentation + line if line.strip() else line for line in lines]
    tree = parse("def _():\n" + "\n".join(plain))
    if tree is None:
        return None
    for node in suite.nodes(tree):
        if isinstance(node, (_ast.Constant, _ast.JoinedStr)) and node.end_lineno > node.lineno:
            if isinstance(node, _ast.Constant) and not isinstance(node.value, (str, bytes)):
                continue
            # The first line is that of `def _()`. The string's first line is code.
            for i in range(node.lineno - 1, node.end_lineno - 1):
                plain[i] = lines[i]
    return "\n".join(plain)


def _defines_here(line, name):
    for head in ("def ", "async def ", "class "):
        if line.startswith(head):
            rest = line[len(head) :].lstrip()
            return rest.startswith(name) and rest[len(name) :].lstrip()[:1] in ("(", ":", "[")
    rest = line[len(name) :].lstrip() if line.startswith(name) else ""
    return rest.startswith("=") and not rest.startswith("==")


def _may_begin(line):
    if line.startswith(BEGINNINGS):
        return True
    name, equals, _ = line.partition("=")
    return bool(equals) and name.partition(":")[0].rstrip().isidentifier()


class Finder:
    def __init__(self, prelude, names, all_names):
        self.prelude = prelude
        self.names = names
        self.enough = names.issubset if all_names else (lambda found: not names.isdisjoint(found))
        self.entry_point = min(names) if all_names else ""
        self.tries = TRIES_MAX
        self.left = PARSED_MAX
        self.trees = {}  # what has been parsed
        self.bad_line = 0  # where the last text that did not parse is wrong, from 0
        self.indentation = ""  # of a body that continues the prelude
        self.known = set()  # what the prelude defines or imports

    def parse(self, text):
        """Returns the tree of TEXT, or None, and then self.bad_line says where it is wrong."""
        if text not in self.trees:
            self.tries -= 1
            self.left -= len(text)
            if self.tries < 0 or self.left < 0 and self.trees:  # one text is always parsed
                raise Spent
            self.trees[text] = self.parse_anew(text)
        tree, self.bad_line = self.trees[text]
        return tree

    @staticmethod
    def parse_anew(text):
        try:
            return suite.parse(text, "<answer>"), 0
        except SyntaxError as error:
            return None, max((error.lineno or 1) - 1, 0)
        except (ValueError, MemoryError, RecursionError):  # a NUL, say, which counts for the first line
            return None, 0

    def read_prelude(self):
        """Learns what the prelude defines, even one that ends in the head of a function, and how far a body
        is indented that continues it."""
        last = suite.last_indentation(self.prelude)
        for end, indentation in (("", last), (f"\n{last}pass", last), (f"\n{last}    pass", last + "    ")):
            tree = self.parse(self.prelude.rstrip() + end)
            if tree is not None:
                self.known, self.indentation = _bound(tree), indentation
                break

    def whole(self, text):
        """Returns the tree of TEXT if it is a program that defines what is wanted, else None."""
        tree = self.parse(text)
        if tree is None or _returns_outside(tree) or not self.enough(_defined(tree)):
            return None
        return tree

    def ranges(self, text):
        """Yields programs that are ranges of TEXT's lines and define a wanted name, longest first for
        each definition."""
        lines = text.split("\n")
        for name in sorted(self.names):
            for at in self.places(lines, name):
                depth = len(lines[at]) - len(lines[at].lstrip(" \t"))
                margin = lines[at][:depth]
                near = [line[depth:] if line.startswith(margin) else line for line in lines] if depth else lines
                found = self.around(near, at)
                if found and self.whole(found):
                    yield found

    @staticmethod
    def places(lines, name):
        found = [i for i, line in enumerate(lines) if _defines_here(line, name)]
        if not found:
            found = [i for i, line in enumerate(lines) if _defines_here(line.lstrip(" \t"), name)]
        return found[:PLACES_MAX]

    @staticmethod
    def window(lines, at):
        """Returns the range of lines that are at most WINDOW characters away from line AT."""
        start = end = at
        room = WINDOW
        while start > 0 and (room := room - len(lines[start - 1]) - 1) >= 0:
            start -= 1
        room = WINDOW
        while end < len(lines) and (room := room - len(lines[end]) - 1) >= 0:
            end += 1
        return start, end

    def around(self, lines, at):
        """Returns the longest range about the definition in line AT that parses; "" if there is none."""
        first, end = self.window(lines, at)
        starts = [i for i in range(first, at + 1) if _may_begin(lines[i]) or i == at]
        if len(starts) > STARTS_MAX:
            starts = starts[: STARTS_MAX - 1] + [at]
        while starts and at < end:
            start = starts[0]
            text = "\n".join(lines[start:end])
            tree = self.parse(text)
            if tree is None:
                bad = start + self.bad_line
                if bad > at:
                    end = min(end - 1, bad)
                starts = starts if bad > at else [i for i in starts[1:] if i > bad]
                continue
            return self.without_words(text, tree)
        return ""

    @staticmethod
    def without_words(text, tree):
        """Returns TEXT without the lines of prose that happen to parse."""
        lines = text.split("\n")
        for node in tree.body:
            if _says_nothing(node):
                for i in range(node.lineno - 1, node.end_lineno):
                    lines[i] = ""
        return "\n".join(lines).strip("\n") + "\n"

    # --- continuing the prelude ---

    def bodies(self, code):
        """Yields what CODE may be as the continuation of the prelude."""
        indentation, start = self.indentation, "" if self.prelude.endswith("\n") else "\n"
        tree = self.parse(code) if indentation and not code.lstrip("\n")[:1].isspace() else None
        if tree is not None:
            # A body that has lost its indentation. What follows its last return is not part of it.
            end = next((node.end_lineno for node in tree.body if isinstance(node, _ast.Return)), None)
            lines = code.split("\n")
            body = indent("\n".join(lines[:end]).strip("\n"), indentation, self.parse)
            if body is not None:
                yield start + "\n".join([body, *(lines[end:] if end else ())])
        yield start + code if code[:1] in (" ", "\t") else code

    def continues(self, code):
        """Returns whether CODE behind the prelude, as the candidate puts it there, defines what is
        wanted."""
        return self.whole(program.compose(self.prelude, code, {self.entry_point} - {""})[0]) is not None

    def as_body(self, code):
        """Returns CODE, or CODE indented, if it continues the prelude; else None."""
        return next((body for body in self.bodies(code) if self.continues(body)), None) if self.prelude else None

    def cut(self, code):
        """Returns the longest beginning of CODE that continues the prelude, or None."""
        if not self.prelude:
            return None
        above = self.prelude.count("\n") + (not self.prelude.endswith("\n"))
        lines = code.split("\n")
        for _ in range(CUTS_MAX):
            text = program.compose(self.prelude, "\n".join(lines), {self.entry_point} - {""})[0]
            if self.parse(text) is not None:
                break
            lines = lines[: min(len(lines) - 1, max(self.bad_line - above, 0))]
            if not "".join(lines).strip():
                return None
        return self.as_body("\n".join(lines) + "\n")

    # --- several blocks ---

    def program(self, main):
        """Returns the tree of MAIN, or of the program that it makes with the prelude."""
        tree = self.parse(main)
        if tree is None or _returns_outside(tree):
            return self.parse(program.compose(self.prelude, main, {self.entry_point} - {""})[0]), True
        return tree, not self.enough(_defined(tree))

    def pieces(self, answer, names):
        """Returns the imports in ANSWER, and its ranges of lines that define one of NAMES."""
        lines = answer.split("\n")
        found = [line + "\n" for line in lines if line.startswith(("import ", "from "))][:PIECES_MAX]
        for name in sorted(names)[:PIECES_MAX]:
            found += [text for at in self.places(lines, name)[:1] if (text := self.around(lines, at))]
        return found

    def with_needed(self, main, place, blocks, answer):
        """Returns MAIN, a part of block number PLACE, with those of BLOCKS that define or import what it
        lacks, in the order of the answer. If it is no part of a block (-1), it gets such pieces of
        ANSWER."""
        if place is None:
            return main
        tree, is_body = self.program(main)
        if tree is None:
            return main
        lacking = _lacking(tree) - self.known
        if lacking and place < 0:
            blocks = self.pieces(answer, lacking)
        others = {}
        for i, text in enumerate(blocks if lacking else ()):
            other = self.parse(text) if i != place else None
            offered = _defined(other) | _imported(other) if other else set()
            if self.names.isdisjoint(offered):
                others[i] = offered, _lacking(other) if other else set()
        chosen = set()
        while wanted := [i for i, (offered, _) in others.items() if not lacking.isdisjoint(offered)]:
            offered, more = others.pop(wanted[0])
            chosen.add(wanted[0])
            lacking = (lacking | more) - offered
        before = [] if is_body else [blocks[i] for i in sorted(chosen) if place < 0 or i < place]
        after = [blocks[i] for i in sorted(chosen) if blocks[i] not in before]
        return "\n\n".join([*before, main, *after])

    # --- all of it ---

    def find(self, pick, blocks, answer):
        """Returns the part that defines what is wanted, and the number of its block, -1 for a part of the
        text, or None for all of it; or None."""
        numbered = list(enumerate(blocks))
        place = blocks.index(pick) if pick in blocks else None
        parts = [(place, pick), *numbered]
        if tree := self.whole(pick):
            is_bare = pick == answer and not blocks and any(map(_says_nothing, tree.body))
            return self.without_words(pick, tree) if is_bare else pick, place
        if (place is None or len(blocks) == 1) and (body := self.as_body(pick)):
            return body, place
        for i, text in numbered:
            if self.whole(text):
                return text, i
        for i, text in numbered:
            if found := next(self.ranges(text), None):
                return found, i
        for i, text in sorted(parts, key=lambda part: "return" not in part[1] and "yield" not in part[1]):
            if found := self.as_body(text):
                return found, i
        if found := next(self.ranges(answer), None):
            return found, -1
        for i, text in parts:
            if found := self.cut(text):
                return found, i
        return None


def without_mark(text):
    return text.removeprefix(MARK)


def used_names(setup, targets):
    """Returns the names that TARGETS use and neither they, SETUP nor Python define."""
    used, bound = set(), set()
    for text in (setup, *targets[:USED_FROM_MAX]):
        try:
            tree = suite.parse(text, "<tests>")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue  # reported when its turn comes
        used |= _loaded(tree)
        bound |= _bound(tree)
    return used - bound - set(dir(builtins))


def find(code, blocks, answer, prelude="", entry_point="", used=frozenset()):
    """Returns the program in ANSWER.

    CODE is the daemon's pick, BLOCKS are the contents of all fences in order, and ANSWER is the whole text;
    "" if CODE is to be taken as it is. Wanted is ENTRY_POINT, or without one any of the names USED. The
    result is code in the sense of the protocol: it continues PRELUDE or stands by itself."""
    code = without_mark(code)
    names = {entry_point} if entry_point else set(used)
    if not answer or not names:
        return code
    blocks = [without_mark(text) for text in blocks]
    finder = Finder(prelude, names, bool(entry_point))
    try:
        finder.read_prelude()
        found = finder.find(code, blocks, without_mark(answer))
        return finder.with_needed(*found, blocks, answer) if found else code
    except Spent:
        return code
