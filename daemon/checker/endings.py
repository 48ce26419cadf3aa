# SPDX-License-Identifier: MIT
"""Endings that are no failures: an exception or a cancellation by which the code would end a generator or a task of
the tests, so that what stands behind is never checked."""

import sys
from _thread import get_ident

import describe
import suite
import unreached

CANCELLED = {"asyncio.exceptions": "CancelledError", "concurrent.futures._base": "CancelledError"}
FUTURES = ("asyncio.futures", "_asyncio", "asyncio.tasks", "concurrent.futures._base")


def is_cancelled(kind):
    """Returns whether exceptions of class KIND say that something was cancelled. What a function raises in a pool of
    threads, asyncio turns from the second of these into the first."""
    classes = (getattr(sys.modules.get(module), name, ()) for module, name in CANCELLED.items())
    return any(issubclass(kind, one) for one in classes)


def _is_in_generator():
    """Returns whether a generator runs here, which somebody may be closing."""
    frame = sys._getframe(1)
    while frame is not None and not frame.f_code.co_flags & describe.FUNCTION_FLAGS:
        frame = frame.f_back
    return frame is not None


def ends(kind, main):
    """Returns whether an exception of class KIND would end a generator or a task without a failure. One that is raised
    in another thread than MAIN comes to whatever waits for that thread."""
    is_elsewhere = get_ident() != main
    if issubclass(kind, GeneratorExit):
        return is_elsewhere or _is_in_generator()
    events = sys.modules.get("asyncio.events")
    is_in_loop = events is not None and events._get_running_loop() is not None
    return (is_elsewhere or is_in_loop) and is_cancelled(kind)


def may_close(operation, arguments, kind):
    """Returns whether KIND, which ends a generator or a task, may come back from a question: where the judge has
    thrown it in, or asks for the result of something that may have been cancelled."""
    if operation == "special":
        return arguments[0] == "throw"
    if operation == "step":
        how, value = arguments
        return how == "close" or how == "throw" and isinstance(value, kind)
    return operation == "method" and arguments[0] in ("result", "exception", "throw", "athrow")


def _asked(operation, target, arguments):
    """Returns the object and the name of the method that the code calls."""
    if operation == "within":
        _, operation, *arguments = arguments
    if operation == "method" and arguments:
        return target, arguments[0], arguments[1:]
    if operation == "call" and type(target) in (describe.BOUND, describe.BOUND_METHOD):
        return target.__self__, target.__name__, arguments
    return None, "", ()


def _checks_something(task, sources):
    """Returns whether the coroutines of TASK have assertions."""
    coroutine = task.get_coro()
    while coroutine is not None:
        code = getattr(coroutine, "cr_code", None)
        if code is not None and code.co_filename in sources:
            if unreached.has_any_in(sources[code.co_filename], code.co_firstlineno):
                return True
        coroutine = getattr(coroutine, "cr_await", None)
    return False


def cancels(operation, target, arguments, sources):
    """Returns whether the code cancels what the tests wait for: a future of theirs, or a task that checks something.
    SOURCES are the tests' texts by file name."""
    value, name, given = _asked(operation, target, arguments)
    if name not in ("cancel", "set_exception") or not any(one.__module__ in FUTURES for one in type(value).__mro__):
        return False
    if name == "set_exception":
        kinds = [one if isinstance(one, type) else type(one) for one in given]
        return any(map(is_cancelled, kinds))
    return _checks_something(value, sources) if hasattr(value, "get_coro") else True


def are_cancelled(sources):
    """Returns whether the tests cancel something themselves, or speak of cancellations, other than in a text or a
    comment."""
    return any(_names_cancel(text) for text in sources.values())


def _names_cancel(text):
    nodes = suite.nodes(suite.parse(text, "<tests>")) if "cancel" in text.lower() else ()
    for node in nodes:
        if "cancel" in f"{getattr(node, 'attr', '')}{getattr(node, 'id', '')}{getattr(node, 'name', '')}".lower():
            return True
    return False
