# SPDX-License-Identifier: MIT
"""Formats of the code's that the tests fill in. A replacement field looks into objects: `{user.__init__.__globals__}` would
show the code's text what the tests expect. str.format() is C and cannot be replaced, so the tests get it through this
module wherever they look it up: their trees are changed before they are compiled."""

import _ast
import builtins
import operator
import sys
from _string import formatter_field_name_split, formatter_parser

import callbacks
from restricted import MODULES, REAL_COMPILE, is_value_class
from suite import PARSE_ONLY, _at, _constant, nodes, parse, shorten
from texts import SHOWN_MAX, is_module_of_library

NAMES = ("format", "format_map")
FIND, GET = "__format_of__", "__attribute_of__"  # names by which the tests' code calls this module
MODULE = type(sys)
# Modules and packages whose functions run no text and start nothing.
COMPUTING = MODULES | frozenset("hashlib random json re zlib base64 binascii textwrap calendar time typing ast numpy pandas".split())
NESTED_MAX = 3  # levels of fields in specifications; Python allows two
PATTERNS = (_ast.MatchValue, _ast.MatchMapping, _ast.MatchClass)  # hold attributes that are no expressions
# Attributes without an underscore that lead from objects to what the tests are.
LEADING = frozenset("""gi_frame gi_code cr_frame cr_code ag_frame ag_code tb_frame tb_next f_back f_globals f_locals f_builtins
f_code func_globals""".split())
# Those with one, of all that getattr() may be told by a text that the tests have computed: dir() names many.
INNER = frozenset("""__globals__ __closure__ __code__ __builtins__ __subclasses__ __func__ __self__ __wrapped__ __dict__
__defaults__ __kwdefaults__ __traceback__""".split()) | LEADING  # fmt: skip


def fields_of(text, depth=0):
    """Yields the replacement fields of a format, those in their specifications too, as long as Python can read it."""
    try:
        for _, field, specification, _ in formatter_parser(text):
            if field:
                yield field
            if specification and depth < NESTED_MAX:
                yield from fields_of(specification, depth + 1)
    except ValueError:
        return  # as str.format() will say


def looks_inside(field):
    """Returns whether a field asks for more than an object shows."""
    try:
        for is_attribute, key in formatter_field_name_split(field)[1]:
            if is_attribute and (key.startswith("_") or key in LEADING):
                return True
            if not is_attribute and type(key) is str and key.startswith("__"):
                return True
    except ValueError:
        pass
    return False


def is_plain_class(value):
    return is_value_class(value) or isinstance(value, type) and issubclass(value, BaseException)


class Formats:
    """GATE is the texts.Gate of the job."""

    def __init__(self, gate, trees):
        self.gate = gate
        self.text = gate.job.tests()
        self.is_formatting = NAMES[0] in self.text
        self.is_getting = "getattr" in self.text and not any("getattr" in bound for _, _, bound in trees())
        self.unbound = {}  # by name: what stands for a method of the class
        if self.is_formatting:
            gate.link.observed.update((id(self.of_class(name)), getattr(str, name)) for name in NAMES)
            setattr(builtins, FIND, self.find)  # where texts find it, too, which the tests run in namespaces of their own
        if self.is_getting:
            setattr(builtins, GET, self.get)
        gate.prepare = self.prepared

    def check(self, text):
        for field in fields_of(text):
            # What the tests have written themselves, if only in parts of a text, is theirs.
            if looks_inside(field) and "{" + field not in self.text:
                self.gate.refuse(f"the tests fill in a format of the code's that looks into objects: {shorten(field, SHOWN_MAX)}")

    def of_class(self, name):
        """Returns what stands for str.format or str.format_map."""
        if name not in self.unbound:
            original = getattr(str, name)

            def formatted(text, /, *arguments, **keywords):
                if isinstance(text, str):
                    self.check(text)
                return original(text, *arguments, **keywords)

            formatted.__name__, formatted.__qualname__ = name, f"str.{name}"
            self.unbound[name] = formatted
        return self.unbound[name]

    def find(self, value, name):
        """Is VALUE.format or VALUE.format_map for the tests."""
        found = getattr(value, name)
        if found is getattr(str, name):
            return self.of_class(name)
        if type(found) is type(self.BOUND) and isinstance(found.__self__, str):
            self.check(found.__self__)
        elif type(found) is type(self.find) and self.is_user_string(found):
            self.check(found.__self__.data)
        return found

    BOUND = "".format

    @staticmethod
    def is_user_string(method):
        kind = getattr(sys.modules.get("collections"), "UserString", None)
        if kind is None or method.__func__ not in (kind.format, kind.format_map):
            return False
        return isinstance(getattr(method.__self__, "data", None), str)

    def get(self, value, name, /, *default):
        """Is getattr() for the tests."""
        if type(name) is str and name in NAMES and not default:
            return self.find(value, name)
        self.check_name(name)
        found = getattr(value, name, *default)
        self.check_found(value, name, found)
        return found

    def check_found(self, value, name, found):
        """Refuses a function of a module of the library that the tests do not name, unless it only computes."""
        if not isinstance(value, MODULE) or not isinstance(name, str) or name in self.text:
            return
        if not (callable(found) or isinstance(found, MODULE)) or self.gate.link.is_theirs(value):
            return
        module = f"{value.__name__}"
        is_harmless = module.partition(".")[0] in COMPUTING and not isinstance(found, MODULE) or is_plain_class(found)
        if not is_harmless and (module in callbacks.OWN_MODULES or is_module_of_library(vars(value))):
            self.gate.refuse(f"the tests look up `{shorten(name, SHOWN_MAX)}` in `{module}`, which they do not name")

    def check_name(self, name):
        """Refuses a dotted name that the tests have computed, if it leads into objects."""
        if isinstance(name, str) and name not in self.text and not INNER.isdisjoint(name.split(".")):
            self.gate.refuse(f"the tests look up `{shorten(name, SHOWN_MAX)}`, which they do not name")

    def rewritten(self, tree, text, name):
        """Returns the tree of a text of the tests', which looks these names up here; TREE, which may be None, if it has
        none of them. A TREE is changed."""
        if not any(word in text for word in (NAMES[0], "getattr")):
            return tree
        tree = tree or parse(text, name)
        self.rewrite(tree)
        return tree

    def prepared(self, source, mode, space=None):
        """Returns what is to be compiled for a text of the tests', or run in SPACE."""
        if not isinstance(source, (str, bytes)) or not any(word in self.gate.text_of(source) for word in (NAMES[0], "getattr")):
            return source
        if space is not None and space.get("__builtins__", builtins) not in (builtins, vars(builtins)):
            return source  # nothing of this module is found there
        try:
            tree = REAL_COMPILE(source.strip() if mode == "eval" else source, "<string>", mode, PARSE_ONLY, dont_inherit=True)
        except (SyntaxError, ValueError):
            return source  # which is refused as ever
        self.rewrite(tree)
        return tree if space is None else REAL_COMPILE(tree, "<string>", mode, dont_inherit=True)

    def rewrite(self, tree):
        for node in nodes(tree):
            for field in () if isinstance(node, PATTERNS) else node._fields:
                value = getattr(node, field, None)
                if type(value) is list:
                    value[:] = [self.instead(one) for one in value]
                elif isinstance(value, _ast.AST):
                    setattr(node, field, self.instead(value))

    def instead(self, node):
        if self.is_formatting and isinstance(node, _ast.Attribute) and node.attr in NAMES and isinstance(node.ctx, _ast.Load):
            function = _at(_ast.Name(id=FIND, ctx=node.ctx), node)
            return _at(_ast.Call(func=function, args=[node.value, _constant(node.attr, node)], keywords=[]), node)
        if self.is_getting and isinstance(node, _ast.Name) and node.id == "getattr":
            node.id = GET
        return node

    def install(self):
        """Has the library, which is not rewritten, look up nothing either."""
        if "Formatter" in self.text:
            self.guard("string", "Formatter", "get_field", lambda formatter, field, *_: "{" + field + "}")
        if "logging" in self.text:
            self.guard("logging", "StrFormatStyle", "_format", lambda style, *_: style._fmt)
        for name, guarded in (("methodcaller", self.methodcaller), ("attrgetter", self.attrgetter)):
            if name in self.text:
                made = guarded(getattr(operator, name))
                made.__name__ = made.__qualname__ = name
                made.__module__ = "operator"
                self.gate.link.observed[id(made)] = getattr(operator, name)
                setattr(operator, name, made)

    def guard(self, module, owner, name, text_of):
        """Has a method of the library check the format TEXT_OF(arguments...) before it fills it in."""
        kind = getattr(__import__(module), owner)
        original = getattr(kind, name)

        def guarded(*arguments, **keywords):
            text = text_of(*arguments, *keywords.values())
            if isinstance(text, str):
                self.check(text)
            return original(*arguments, **keywords)

        guarded.__name__, guarded.__qualname__, guarded.__module__ = name, f"{owner}.{name}", module
        setattr(kind, name, guarded)

    def methodcaller(self, original):
        def made(name, /, *arguments, **keywords):
            if type(name) is str and name in NAMES:
                return lambda value: self.find(value, name)(*arguments, **keywords)
            call = original(name, *arguments, **keywords)
            if name in self.text:
                return call

            def called(value):
                self.get(value, name)
                return call(value)

            return called

        return made

    def followed(self, name):
        """Returns what follows a dotted name as operator.attrgetter() does."""

        def follow(value):
            for part in name.split("."):
                value = self.get(value, part)
            return value

        return follow

    def attrgetter(self, original):
        def made(*names):
            for name in names:
                self.check_name(name)
            if any(type(name) is str and name.rpartition(".")[2] in NAMES for name in names):
                self.gate.refuse("the tests look up the method of a format by name")
            if all(name in self.text for name in names if type(name) is str):
                return original(*names)
            found = tuple(self.followed(name) for name in names)
            return found[0] if len(found) == 1 else lambda value: tuple(get(value) for get in found)

        return made
