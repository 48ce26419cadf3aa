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


def is_unheard(kind, main, sources):
    """Returns whether an exception of class KIND, which is no Exception, would end a task of the tests, or a function that
    an event loop has called, where nobody hears of it: tests look for what is an Exception among the results of tasks.
    Tests that expect it there, in a `try` or a `with` around the call, hear of it. SOURCES are their texts."""
    if issubclass(kind, Exception) or issubclass(kind, GeneratorExit) or is_cancelled(kind):
        return False
    frames = sys._current_frames()
    here, others = sys._getframe(1), [frames[one] for one in frames if one != get_ident()]
    is_elsewhere = get_ident() != main
    if not _is_in_loop(here) and not (is_elsewhere and any(map(_is_in_loop, others))):
        return False
    if not is_elsewhere and issubclass(kind, (SystemExit, KeyboardInterrupt)):
        return False  # which end the loop
    return not any(_expects(frame, kind, sources) for frame in (here, frames.get(main)))


def _is_in_loop(frame):
    while frame is not None and frame.f_globals.get("__name__") != "asyncio.base_events":
        frame = frame.f_back
    return frame is not None


def _named(frame, name):
    """Returns what NAME stands for in FRAME, a function of the tests': it may be one of the code's that nobody has used yet."""
    places = [names for names in (frame.f_locals, frame.f_globals, frame.f_builtins) if isinstance(names, dict)]
    names = next((names for names in places if dict.__contains__(names, name)), frame.f_globals)
    try:
        return names[name]
    except KeyError:
        return None


def _expects(frame, kind, sources):
    """Returns whether a statement of the tests around FRAME, or around what has called it, names a class for KIND."""
    while frame is not None:
        text = sources.get(frame.f_code.co_filename)
        if text is not None:
            for name in unreached.expected_at(text, frame.f_lineno):
                found = _named(frame, name)
                if isinstance(found, type) and issubclass(kind, found):
                    return True
        frame = frame.f_back
    return False


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
