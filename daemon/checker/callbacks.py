# SPDX-License-Identifier: MIT
"""Says what the candidate may do with objects of the judge: those that the tests hand to the code, and what it
got from these. What the tests define answers as they define it. Of the library's classes only those that are
listed here answer: any other could run text, start programs, or reach descriptors and memory of this process."""

import gc
import sys

import aliases
import classes
import describe
import gates
import program
import suite
from describe import SPECIALS

TESTS = program.TESTS  # __module__ of what the tests define
NAME = "candidate"  # of what the code defines
FRAMEWORKS = ("unittest", "_pytest", "pytest")
PLAIN = (int, float, complex, str, bytes, bool, tuple, list, dict, set, frozenset, bytearray, type(None))


def _traceback_type():
    try:
        raise ValueError
    except ValueError as error:
        return type(error.__traceback__)


# Through these the candidate would reach the judge's frames and with them everything.
TRACEBACK = _traceback_type()
FORBIDDEN = (type(sys._getframe()), type((lambda: 0).__code__), type(vars(object)), TRACEBACK)
CLOSED = (*FORBIDDEN, describe.MODULE, type(None), type(i for i in ()))


# Built-in functions that reach into objects, run text or leave the process.
REACHING = frozenset("""eval exec compile getattr setattr delattr hasattr open __import__ vars globals locals dir input
breakpoint __build_class__""".split())
BUILT_IN_MODULES = ("builtins", "math", "cmath", "_operator")
OWN_MODULES = ("judge", "link", "membrane", "mirrors", "describe", "classes", "wire", "suite", "candidate", "names",
               "values", "ambient", "plain", "transcript", "watch", "start", "callbacks", "bulk", "trusted", "asynchronous",
               "program", "simple", "aliases", "states", "mirror", "numpy_values", "pandas_values", "identities", "library",
               "gates", "sharing", "wire_reader", "wire_writer", "conversation", "stand_ins", "blame", "extract", "turns",
               "texts", "restricted", "pickles", "sinks", "namespace", "unreached", "formats", "exits",
               "children", "planted", "unrepeatable", "plain_methods", "unittests", "class_names", "rehearsal", "floor", "rests",
               "instance_dict", "alarms", "signatures", "operators", "addresses", "tasks", "endings", "unheard",
               "walks", "outline", "garbage", "bodies", "own_builtins", "reports", "unasked", "enumerations", "metaclasses",
               "copies", "queries", "makers", "channels", "captures", "hearing", "hidden",
               "lookups")  # fmt: skip
SHOWN = ("__name__", "__doc__", "__qualname__", "__module__", "__dataclass_fields__", "__dict__",
         "__dataclass_params__", "_field_type")  # fmt: skip


def is_of_tests(of_class):
    return type.__getattribute__(of_class, "__module__") == TESTS


def root_of(of_class):
    return f"{type.__getattribute__(of_class, '__module__')}".partition(".")[0]


def _may_be_called(value):
    """Returns whether the candidate may call VALUE here: functions and classes that tests define, methods of
    their objects, and what C modules offer, but no built-in function, since some of those run text or look
    into objects."""
    kind = type(value)
    while kind.__module__ == "functools" and kind.__name__ == "partial":
        value = value.func
        kind = type(value)
    if kind is describe.BOUND_METHOD:
        return _may_be_called(value.__func__)
    if kind is describe.FUNCTION:
        return _is_for_tests(value)
    if kind is describe.BOUND:
        return value.__self__ is not None and type(value.__self__) is not describe.MODULE
    if isinstance(value, type):
        return is_of_tests(value)
    return callable(value) and kind not in describe.BUILT_IN_FUNCTIONS and kind not in CLOSED


def _may_be_called_inside(value):
    """Returns whether the candidate may call VALUE, a functools.partial or the like, as a whole: the tests have
    chosen what it calls, and gave it away."""
    while type(value).__module__ == "functools" and type(value).__name__ == "partial":
        value = value.func
    if type(value) is describe.BOUND and type(value.__self__) is describe.MODULE:
        return value.__self__.__name__ in BUILT_IN_MODULES and value.__name__ not in REACHING
    return any(value is kind for kind in PLAIN) or _may_be_called(value)


def _is_of_framework(of_class):
    """Returns whether instances of a class count what fails. The candidate may call the methods that tests
    define there, and nothing else."""
    return any(root_of(one) in FRAMEWORKS and not _is_mock(one) for one in of_class.__mro__)


def _is_mock(of_class):
    return f"{type.__getattribute__(of_class, '__module__')}" == "unittest.mock"


FIXTURES = frozenset("setUp tearDown setUpClass tearDownClass asyncSetUp asyncTearDown run debug runTest".split())


def _is_own(target, name):
    """Returns whether an attribute of an object of a framework's was put there by tests for others to use: a test
    case keeps what it expects to itself, and nobody else runs its tests."""
    mro = (target if isinstance(target, type) else type(target)).__mro__
    found = next((one for one in mro if name in vars(one)), None)
    if name.startswith("test") or name in FIXTURES:
        return False
    if found is None:
        return not name.startswith("_") and not any(one.__name__ == "TestCase" for one in mro)
    return is_of_tests(found) and not isinstance(target, type)


def _is_for_tests(function):
    """A function of the tests', or one of the library's, but none of the judge's own, and none by which a mock forgets
    how it was called: a function that create_autospec() has made has these as attributes."""
    module = function.__globals__.get("__name__")
    return module not in OWN_MODULES and not (module == "unittest.mock" and function.__name__ in SHUT[MOCK])


# --- classes of the library -----------------------------------------------------------------------

_LOOP = frozenset("""call_soon call_soon_threadsafe call_later call_at time create_future create_task is_running is_closed
get_debug stop run_in_executor cancel cancelled when run run_until_complete""".split())
_DATABASE = frozenset("""execute executemany executescript commit rollback close cursor fetchone fetchmany fetchall
total_changes in_transaction row_factory text_factory description rowcount lastrowid arraysize connection keys
isolation_level""".split())
_ARRAYS = frozenset("""all any argmax argmin argsort astype clip copy cumprod cumsum diagonal dot dtype fill flat flatten item
itemsize max mean min nbytes ndim nonzero prod ravel real imag repeat reshape round shape size squeeze std sum swapaxes
T take tolist trace transpose var random integers choice normal uniform shuffle permutation permuted standard_normal
poisson binomial exponential gamma beta multivariate_normal rand randn randint random_sample seed""".split())
_TREES = frozenset("""tag text tail attrib get items keys values find findall findtext iter iterchildren itersiblings itertext
iterancestors iterdescendants getparent getchildren getnext getprevious index nsmap prefix sourceline""".split())
# Attributes that answer, by module or package of the class that has them. None: all that are public.
OPEN = {
    **dict.fromkeys("""builtins io _io itertools functools _functools operator _operator collections _collections
    _collections_abc threading _thread queue _queue re datetime _datetime random _random contextlib decimal _decimal
    fractions enum dataclasses types weakref _weakref _weakrefset contextvars _contextvars logging argparse csv _csv
    configparser array struct _struct hashlib _hashlib _md5 _sha1 _sha256 _sha512 _sha2 _sha3 _blake2 hmac zlib time typing
    abc numbers heapq string tempfile pathlib asyncio _asyncio concurrent socket _socket xml json ipaddress uuid statistics
    calendar zoneinfo graphlib inspect html http email urllib textwrap unittest _sitebuiltins
    _elementtree""".split()),
    **dict.fromkeys(("asyncio.events", "asyncio.base_events", "asyncio.selector_events", "asyncio.unix_events"), _LOOP),
    **dict.fromkeys(("asyncio.subprocess", "asyncio.base_subprocess", "asyncio.transports", "concurrent.futures.process",
                     "unittest.loader", "xml.etree.cElementTree"), frozenset()),
    "sqlite3": _DATABASE,
    "lxml": _TREES,
    "numpy": _ARRAYS | gates.OF_NUMPY,
}  # fmt: skip
MOCK = "unittest.mock.NonCallableMock"
# What does not answer all the same: it looks into objects as a text says, or writes to a path or a descriptor.
SHUT = {
    "builtins.str": frozenset(("format", "format_map")),
    "string.Formatter": frozenset(("format", "vformat", "get_field", "get_value", "format_field", "convert_field")),
    "configparser.RawConfigParser": frozenset(("read",)),
    "http.cookiejar.CookieJar": frozenset(("save", "load", "revert")),
    "urllib.request.OpenerDirector": frozenset(("open",)),
    "_socket.socket": frozenset(("sendmsg", "sendmsg_afalg", "recvmsg", "recvmsg_into")),
    "xml.sax.xmlreader.XMLReader": frozenset(("parse",)),
    "xml.etree.ElementTree.ElementTree": frozenset(("write", "write_c14n", "parse")),
    MOCK: frozenset(("configure_mock", "attach_mock", "mock_add_spec", "reset_mock")),
    "unittest.mock._CallList": frozenset(("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort",
                                          "__setitem__", "__delitem__", "__iadd__", "__imul__")),
}  # fmt: skip


def _full_name(of_class):
    return f"{type.__getattribute__(of_class, '__module__')}.{type.__getattribute__(of_class, '__qualname__')}"


def _is_open(target, name):
    """Returns whether attribute NAME of TARGET answers, by the class that has it."""
    mro = target.__mro__ + type(target).__mro__ if isinstance(target, type) else type(target).__mro__
    owner = next((one for one in mro if name in vars(one)), mro[0])
    module, root = f"{type.__getattribute__(owner, '__module__')}", root_of(owner)
    if module in (TESTS, NAME):
        return True
    if any(name in SHUT.get(_full_name(one), ()) for one in mro):
        return False
    if root not in sys.stdlib_module_names and root not in sys.modules:
        return True  # a class of the code's, whatever module it says it is in
    allowed = OPEN.get(module, OPEN.get(root, frozenset()))
    return allowed is None or name in allowed or name in SPECIALS and bool(allowed)


# --- operations -----------------------------------------------------------------------------------


THROWING = ("throw", "athrow")


def is_exit(value):
    """Returns whether VALUE is an exception, or a class of some, that would end or skip a test without a failure."""
    kind = value if isinstance(value, type) else type(value)
    return kind is SystemExit or aliases.is_control(kind)


def no_exits(values):
    """Raises an exception if the candidate wants the judge to raise one that ends a test."""
    if any(map(is_exit, values)):
        raise TypeError("not for the code")


def may_be_changed(error):
    """Returns whether the code may change an exception of the tests' that it has caught: not one that ends them."""
    return isinstance(error, Exception) and not aliases.is_control(type(error)) and not _is_of_framework(type(error))


def is_raised_by_tests(error):
    """Returns whether an exception that a callback has raised comes from a statement of the tests."""
    return suite.raiser(error) == TESTS


def iterable(target, name):
    if not _is_open(target, name):
        raise TypeError("not for the code")
    return target


# What has steps that the other side may take.
STEPPED = ("generator", "coroutine", "async_generator_asend", "async_generator_athrow", "Future", "Task", "_GatheringFuture",
           "FutureIter", "coroutine_wrapper")  # fmt: skip


def may_step(target):
    """Returns whether the candidate may await TARGET."""
    kind = type(target)
    if root_of(kind) in ("builtins", "asyncio", "_asyncio") and kind.__name__ in STEPPED:
        return True
    return any("__await__" in vars(one) for one in kind.__mro__) and _is_open(target, "__await__")


FUNCTIONS = (type, *describe.BUILT_IN_FUNCTIONS, describe.FUNCTION, describe.BOUND_METHOD)


# Of sockets: what takes an address, which may be a path.
ADDRESSED = ("bind", "connect", "connect_ex", "sendto")


def _leads_out(target, arguments):
    """Returns whether TARGET is a method of a socket of the tests' that would open a path, or pass descriptors on: the
    judge's own among them, to a socket on which the code listens."""
    while type(target).__module__ == "functools" and type(target).__name__ == "partial":
        target, arguments = target.func, (*target.args, *arguments)
    if type(target) is not describe.BOUND:
        return False
    if not any(_full_name(one) == "_socket.socket" for one in type(target.__self__).__mro__):
        return False
    has_path = target.__name__ in ADDRESSED and not all(type(one) in (tuple, int) for one in arguments[-1:])
    return has_path or target.__name__ in SHUT["_socket.socket"]


def call(target, /, *arguments, **keywords):
    if _leads_out(target, arguments):
        raise TypeError("not for the code")
    is_object = not isinstance(target, FUNCTIONS)
    if not _may_be_called(target) or is_object and not _is_open(target, "__call__"):
        raise TypeError("not for the code")
    return target(*arguments, **keywords)


def method(target, name, /, *arguments, **keywords):
    if name in THROWING:
        no_exits(arguments)
    return call(get_attribute(target, name), *arguments, **keywords)


def _call_of_mock(target):
    """Returns TARGET, or if that is what a mock remembers of a call, one like it: the code writes no keywords into it."""
    if not any(_full_name(one) == "unittest.mock._Call" for one in type(target).__mro__):
        return target
    made = tuple.__new__(type(target), (dict(one) if type(one) is dict else one for one in target))
    vars(made).update(vars(target))
    return made


def get_attribute(target, name):
    if type(name) is not str or name.startswith("__") and name not in SHOWN:
        raise AttributeError(name)
    if type(target) in CLOSED and name not in ("send", "throw", "close"):
        raise AttributeError(name)
    of_class = target if isinstance(target, type) else type(target)
    of_tests = is_of_tests(of_class)
    if _is_of_framework(of_class) and (name == "__dict__" or name not in SHOWN and not _is_own(target, name)):
        raise AttributeError(name)
    if name == "__dict__":
        # A copy: what is written into the dictionary itself would take precedence over methods.
        if isinstance(target, type) or not of_tests and type(target) is not describe.FUNCTION:
            raise AttributeError(name)
        return dict(vars(target))
    if name.startswith("_") and not of_tests and name not in SHOWN:
        raise AttributeError(name)
    if type(target) is describe.FUNCTION and name not in vars(target):
        raise AttributeError(name)
    if not name.startswith("__") and not _is_open(target, name):
        raise AttributeError(name)
    value = getattr(_call_of_mock(target), name)
    if type(value) in (describe.FUNCTION, describe.BOUND_METHOD, describe.BOUND) and not _may_be_called(value):
        raise AttributeError(name)
    return value


def _may_be_added(target, name, value):
    """Returns whether a decorator of the code may add the method to a class of the tests: one that compares nothing,
    where the class has none of its own."""
    if type(name) is not str or name not in ("__init__", "__repr__", "__str__") or type(value) is not describe.FUNCTION:
        return False
    if not is_of_tests(target) or _has_any(target, (name,)):
        return False
    # Where there is one of the two, the other gives its text: of objects that are there, the tests' own says it.
    return name == "__init__" or not _has_any(target, ("__repr__", "__str__")) or not _has_instances(target)


def _text_of(function):
    def shown(self):
        text = function(self)
        if type(text) is not str:
            raise TypeError(f"{function.__name__} returned no text")
        return text

    return shown


def _is_text_of_element(target, name, value):
    """Returns whether the code changes a text in a tree of XML of the tests'."""
    is_element = _full_name(type(target)) == "xml.etree.ElementTree.Element" and not is_of_tests(type(target))
    return is_element and name in ("text", "tail", "tag") and type(value) in (str, type(None))


def _has_any(target, names):
    """Returns whether the tests say themselves what one of NAMES does for instances of a class."""
    return any(name in vars(one) for one in target.__mro__[:-1] for name in names)


def _has_instances(target):
    """Returns whether there are objects of a class of the tests', or classes that derive from it."""
    mro_of = type.__dict__["__mro__"].__get__
    return bool(type.__subclasses__(target)) or any(target in mro_of(type(one)) for one in gc.get_objects())


def _attribute_of_class(target, name, value):
    """Returns what a class of the tests' gets as its attribute NAME for VALUE, which is the code's. Python asks a property
    before it looks into an object's own dictionary. But what the tests have given an object stays theirs, or the code
    would say what comes of comparing two of them. So a property gives what no object has, and one that is set as well is
    for who decorates a class, of which there is no object yet and that compares none."""
    kind = type(value)
    if _has_any(target, ("__getattr__", "__getattribute__")) and _has_instances(target):
        raise AttributeError(f"{name} is not for the code")
    if not any(how in vars(one) for one in kind.__mro__ for how in ("__set__", "__delete__")):
        return value
    is_property = _full_name(kind) == "builtins.property"
    getter, *setters = (value.fget, value.fset, value.fdel) if is_property else (None, None, None)
    is_read_only = setters == [None, None]
    if type(getter) is not describe.FUNCTION or not is_read_only and _has_instances(target):
        raise AttributeError(f"{name} is not for the code")
    return property(_behind_dictionary(name, getter, is_read_only), *map(_setter, setters), getter.__doc__)


def _behind_dictionary(name, getter, is_read_only):
    def get(self):
        own = getattr(self, "__dict__", {})
        if not is_read_only and _has_any(type(self), ("__eq__", "__ne__")):  # by another decorator, or a class below
            raise TypeError(f"{name} of {type(self).__name__}, which the tests compare, is the code's to say")
        return own[name] if name in own else getter(self)

    return get


def _setter(function):
    return None if function is None else lambda self, *value: function(self, *value)


def set_attribute(target, name, value, is_asserting):
    """IS_ASSERTING(value) says of what is to become an attribute of a mock whether it could answer for it."""
    if _is_text_of_element(target, name, value):
        return setattr(target, name, value)
    is_class = isinstance(target, type)
    of_class = target if is_class else type(target)
    if type(name) is str and _is_mock(of_class.__mro__[min(1, len(of_class.__mro__) - 1)]) and not is_class:
        is_closed = name.startswith(("_", "assert")) or name in gates.MOCK_NAMES or hasattr(of_class, name)
        is_closed = is_closed or is_asserting(value)
    else:
        is_closed = type(name) is not str or name.startswith("__") or not is_of_tests(of_class)
    if is_class and _may_be_added(target, name, value):
        return setattr(target, name, value if name == "__init__" else _text_of(value))
    if is_closed or _is_of_framework(of_class):
        raise AttributeError(f"{name} is not for the code")
    if is_class and hasattr(target, name) or not is_class and not classes.may_be_set(type(target), name):
        raise AttributeError(f"{name} is not for the code")
    setattr(target, name, _attribute_of_class(target, name, value) if is_class else value)


def may_be_put(target, name, is_codes):
    """Returns whether the code may write NAME into the dictionary of TARGET, or delete it there: where no method of the
    tests is hidden by it. IS_CODES(value) says of what the class has whether it is a descriptor of the code's own."""
    of_class = type(target)
    if isinstance(target, type) or type(name) is not str or name.startswith("__"):
        return False
    if not is_of_tests(of_class) or _is_of_framework(of_class) or not hasattr(target, "__dict__"):
        return False
    if of_class.__setattr__ is not object.__setattr__ or of_class.__delattr__ is not object.__delattr__:
        return False
    return classes.may_be_set(of_class, name) or is_codes(classes.found_on(of_class, name))


def directory(target):
    """What dir() of an object of the tests' says, without a __dir__ of theirs."""
    names = type.__dir__(target) if isinstance(target, type) else object.__dir__(target)
    return tuple(sorted(name for name in names if type(name) is str))


def delete_attribute(target, name):
    of_class = type(target)
    if type(name) is not str or name.startswith("__") or not is_of_tests(of_class) or _is_of_framework(of_class):
        raise AttributeError(f"{name} is not for the code")
    delattr(target, name)


def special(target, name, /, *arguments, **keywords):
    is_method = name in SPECIALS or name in ("send", "throw") and type(target) is describe.GENERATOR
    if not is_method or type(target) in FORBIDDEN or isinstance(target, type):
        raise TypeError("not for the code")
    if name == "__call__" and (not _may_be_called_inside(target) or _leads_out(target, arguments)):
        raise TypeError("not for the code")
    if _is_of_framework(type(target)) and name not in ("__eq__", "__hash__", "__repr__", "__str__"):
        raise TypeError("not for the code")
    if not _is_open(target, name):
        raise TypeError("not for the code")
    if name in THROWING:
        no_exits(arguments)
    return describe.special_method(_call_of_mock(target), name)(*arguments, **keywords)


def next_item(target):
    return next(iterable(target, "__next__"))


def drain(target):
    items = []
    for item in _call_of_mock(iterable(target, "__iter__")):
        items.append(item)
        if len(items) == 1000:
            break
    return tuple(items)


def deep_copy(target):
    import copy

    if not is_of_tests(type(target)):
        raise TypeError("not for the code")
    return copy.deepcopy(target)
