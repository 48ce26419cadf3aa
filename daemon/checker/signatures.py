# SPDX-License-Identifier: MIT
"""What functions and classes look like to who inspects them on the other side: the names and kinds of their
parameters, annotations and defaults.

The stand-in for a function has parameters of the same names and kinds, so that inspect, `__code__` and `__defaults__`
tell what is so. It passes on what it was called with: a parameter that has its default is left to the function
itself. Of the tests' functions the code learns no more than that: no constants, names or closures, and of a default
that is not plain data only that there is one."""

import keyword

# Texts in which one of these occurs may look at signatures.
WORDS = ("inspect", "signature", "__annotations__", "get_type_hints", "defaults__", "__code__", "argspec")
# The same of code that registers functions by their annotations.
WORDS_OF_CODE = (*WORDS, "singledispatch")
FUNCTION = type(lambda: 0)
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
CONTAINERS = (tuple, list, dict, set, frozenset)
DEPTH_MAX = 8
DIRECT, OF_TYPING, UNION, GENERIC, CALLABLE = range(5)  # how an annotation crosses


class BadSignature(ValueError):
    """What arrived is none."""


# --- telling ----------------------------------------------------------------------------------------


def plain_copy(value, depth=DEPTH_MAX):
    """Returns a copy of plain data; `...` for anything else."""
    kind = type(value)
    if any(kind is one for one in PLAIN):
        return value
    if not any(kind is one for one in CONTAINERS) or not depth:
        return ...
    parts = [*value.keys(), *value.values()] if kind is dict else list(value)
    copies = [plain_copy(part, depth - 1) for part in parts]
    if any(copy is ... for copy in copies):
        return ...
    return dict(zip(copies[: len(value)], copies[len(value) :])) if kind is dict else kind(copies)


def _told(annotation, is_theirs, depth=DEPTH_MAX):
    """Takes an annotation of the tests' apart. The code is told types and plain data; `...` for other objects."""
    kind = type(annotation)
    if isinstance(annotation, type) or is_theirs(annotation) or not depth:
        return DIRECT, annotation if depth else ...
    typing = __import__("sys").modules.get("typing")
    if kind.__module__ == "typing" and getattr(typing, getattr(annotation, "_name", None) or "", None) is annotation:
        return OF_TYPING, annotation._name
    if (kind.__module__, kind.__name__) in ALIASES:
        origin, parts = annotation.__origin__ if hasattr(annotation, "__origin__") else None, annotation.__args__
        is_union = origin is None or typing is not None and origin is typing.Union
        parts = tuple(_told(part, is_theirs, depth - 1) for part in parts)
        if is_union or isinstance(origin, type):
            how = UNION if is_union else CALLABLE if kind.__name__.startswith("_Callable") else GENERIC
            return how, ("Union" if origin else "") if is_union else origin, parts
        return GENERIC, f"{getattr(origin, '_name', '')}", parts
    return DIRECT, plain_copy(annotation)


ALIASES = frozenset((("types", "GenericAlias"), ("types", "UnionType"), ("typing", "_GenericAlias"), ("typing", "_UnionGenericAlias"),
                     ("typing", "_CallableGenericAlias"), ("typing", "_LiteralGenericAlias"),
                     ("collections.abc", "_CallableGenericAlias")))  # fmt: skip


class Teller:
    """Tells of functions and classes. With IS_THEIRS, which says which objects are the code's own, these are those of the
    tests."""

    def __init__(self, is_theirs=None):
        self.is_theirs = is_theirs

    def annotations(self, found):
        if type(found) is not dict:
            return ()
        found = {name: one for name, one in found.items() if type(name) is str}
        return _pairs({name: _told(one, self.is_theirs) for name, one in found.items()} if self.is_theirs else found)

    def function(self, value):
        parts = of_function(value)
        kinds, names, defaults, by_keyword, _ = parts
        if not can_show(parts):
            return None
        if self.is_theirs:
            defaults = defaults and tuple(map(plain_copy, defaults))
            by_keyword = (*map(plain_copy, by_keyword),)
        return kinds, names, defaults, by_keyword, self.annotations(value.__annotations__)


def of_function(value):
    """Returns the parameters of a function, its defaults and its annotations."""
    code, annotations = value.__code__, value.__annotations__
    defaults, by_keyword = value.__defaults__, value.__kwdefaults__ or {}
    kinds = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & 0xC
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return kinds, code.co_varnames[:count], defaults, _pairs(by_keyword), _pairs(annotations)


def _pairs(items):
    return tuple(part for item in items.items() for part in item)


# --- showing ----------------------------------------------------------------------------------------


def heard(told):
    """Puts an annotation together again, on the side of the code."""
    how, what, *parts = told
    if how == DIRECT:
        return what
    if how == OF_TYPING or type(what) is str and what:
        what = getattr(__import__("typing"), what)
    if how == OF_TYPING:
        return what
    parts = tuple(map(heard, parts[0]))
    if how == UNION and not what:
        return __import__("functools").reduce(lambda a, b: a | b, parts)
    if how == CALLABLE:
        arguments = ... if parts[:1] == (...,) else list(parts[:-1])
        return __import__("typing").Callable[arguments, parts[-1]]
    return what[parts if len(parts) != 1 else parts[0]]


def checked(parts):
    """Raises BadSignature unless PARTS are what of_function() returns. Returns them."""
    shapes = (tuple, tuple, (tuple, type(None)), tuple, tuple)
    if type(parts) is not tuple or len(parts) != 5 or not all(map(isinstance, parts, shapes)):
        raise BadSignature
    kinds, names, defaults, by_keyword, annotations = parts
    if len(kinds) != 4 or not all(type(one) is int and one >= 0 for one in kinds):
        raise BadSignature
    positional, first, keyword_only, flags = kinds
    if not all(type(one) is str for one in (*names, *annotations[::2], *by_keyword[::2])):
        raise BadSignature
    if len(by_keyword) % 2 or len(annotations) % 2 or first > positional or len(defaults or ()) > positional:
        raise BadSignature
    is_whole = len(names) == positional + keyword_only + bool(flags & 4) + bool(flags & 8) == len(set(names))
    if not is_whole or not all(one.isascii() and one.isidentifier() and not keyword.iskeyword(one) for one in names):
        raise BadSignature
    return parts


def can_show(parts):
    """Returns whether a function with these parameters can be made: Python itself makes some without names
    (comprehensions), and names that are not ASCII are not worth the trouble."""
    try:
        checked(parts)
    except BadSignature:
        return False
    return True


def shaped(parts, pass_on):
    """Returns a function with the parameters of PARTS, which checked() has returned, that returns
    PASS_ON(arguments, keywords)."""
    (positional, first, keyword_only, flags), names, defaults, by_keyword, _ = parts
    by_name, more = names[:positional], names[positional + keyword_only :]
    only = names[positional : positional + keyword_only]
    rest, extra = more[0] if flags & 4 else "", more[-1] if flags & 8 else ""
    shown = [*by_name[:first], *("/" if first else ""), *by_name[first:]]
    shown += [f"*{rest}"] if rest or only else []
    shown += [*only, *([f"**{extra}"] if extra else [])]
    passing = "_"
    while passing in names:
        passing += "_"
    given = f"({''.join(f'{one},' for one in by_name)}), {rest or '()'}, ({''.join(f'{one},' for one in only)})"
    text = f"lambda {', '.join(shown)}: {passing}({given}, {extra or '{}'})"
    at_keyword = dict(zip(by_keyword[::2], by_keyword[1::2]))
    passes = Passing(pass_on, by_name, first, defaults or (), only, at_keyword)
    made = eval(compile(text, "<stand-in>", "eval", dont_inherit=True), {"__name__": __name__, passing: passes})
    made.__defaults__, made.__kwdefaults__ = defaults, at_keyword or None
    return made


class Passing:
    """Passes on the arguments of a call."""

    def __init__(self, pass_on, names, first, defaults, only, at_keyword):
        self.pass_on, self.names, self.first, self.only = pass_on, names, first, only
        self.defaults = (*(NONE,) * (len(names) - len(defaults)), *defaults)
        self.at_keyword = at_keyword

    def __call__(self, given, rest, by_keyword, more):
        keywords = {name: value for name, value in zip(self.only, by_keyword) if value is not self.at_keyword.get(name, NONE)}
        keywords.update(more)
        count = len(given)
        if not rest and self.defaults:
            left = [value is default for value, default in zip(given, self.defaults)]
            count = left.index(True) if True in left else count
            if all(left[count : self.first]):
                passed = zip(self.names[count:], given[count:], left[count:])
                keywords = {**{name: value for name, value, is_left in passed if not is_left}, **keywords}
            else:  # one that has no name for the caller stands behind
                count = len(given)
        return self.pass_on(given[:count] + rest, keywords)


NONE = object()  # no default


def is_shaped(function):
    return type(function) is FUNCTION and function.__globals__.get("__name__") == __name__


def without_first(constructor):
    """Returns the signature of a class, by its constructor."""
    if constructor is None:
        raise AttributeError("__signature__")
    signature = __import__("inspect").signature(constructor)
    return signature.replace(parameters=tuple(signature.parameters.values())[1:])
