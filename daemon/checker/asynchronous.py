# SPDX-License-Identifier: MIT
"""Coroutines across the wire. The event loop is that of the side that runs one; the other side's coroutines
are driven step by step.

A stand-in for a coroutine asks the other side to take a step. There the coroutine ends, or waits for a
future of that side; then the stand-in waits for a future of this side, which the other side wakes. On the
side without a loop, a LentLoop passes on what is to be called later."""


def driver(space, target):
    """The generator that awaits the other side's TARGET."""
    how, value = "send", None
    while True:
        result = space.ask("step", target, (how, value))
        if type(result) is not tuple or len(result) != 2:
            raise TypeError("the code's coroutine does not keep to the protocol")
        what, value = result
        if what == "done":
            return value
        try:
            if what == "future":
                yield from space.steps.future_for(value).__await__()
                value = None
            else:
                value = yield value
            how = "send"
        except GeneratorExit:
            space.ask("step", target, ("close", None))
            raise
        except BaseException as error:
            how, value = "throw", error


async def left(awaitable, is_kept, has_raised):
    """Awaits what __aexit__ has returned. IS_KEPT: it does not suppress the exception. HAS_RAISED hears of another one."""
    try:
        result = await awaitable
    except Exception as error:
        has_raised(error)
        raise
    return False if is_kept else result


def add_awaiting(space, names):
    """Gives the class of stand-ins for awaitable objects what awaiting them needs."""
    drivers = {}

    def driver_of(value):
        space.may_use(value, "__await__")
        number = space.number_of(value)
        if number not in drivers:
            drivers[number] = driver(space, value)
        return drivers[number]

    names["__await__"] = driver_of
    names["send"] = lambda self, value: driver_of(self).send(value)
    names["throw"] = lambda self, *error: driver_of(self).throw(*error)
    names["close"] = lambda self: driver_of(self).close()


class Steps:
    """What one side does for the coroutines of its own that the other side drives."""

    def __init__(self, space):
        self.space = space
        self.running = {}  # iterators of objects that are awaited, by id()
        self.waiting = {}  # futures that the other side wakes, by number
        self.next = 0
        self.handles = {}
        self.loop = None

    # --- for the other side's questions ---

    def step(self, target, how, value):
        iterator = self.running.get(id(target))
        if iterator is None:
            iterator = target if hasattr(target, "send") else target.__await__()
            self.running[id(target)] = iterator
        if self.tasks is not None:
            return self.in_loop(self.tasks.step, self.take_step, iterator, how, value)
        return self.in_loop(self.take_step, iterator, how, value)

    @staticmethod
    def take_step(iterator, how, value):
        try:
            if how == "close":
                return "done", iterator.close()
            got = iterator.throw(value) if how == "throw" else iterator.send(value)
        except StopIteration as end:
            return "done", end.value
        if getattr(got, "_asyncio_future_blocking", None) is not None:
            got._asyncio_future_blocking = False
            return "future", got
        return "yielded", got

    def watch(self, future, number):
        self.in_loop(future.add_done_callback, lambda _: self.ask_or_stop("wake", number))

    def wake(self, number):
        future = self.waiting.pop(number, None)
        if future is not None and not future.done():
            future.set_result(None)

    def call_later(self, delay, number):
        loop = __import__("asyncio").get_running_loop()
        if type(delay) not in (int, float) or type(number) is not int:
            raise TypeError("a bad timer")
        if delay > 0:
            loop.call_later(delay, self.fire, number)
        else:
            loop.call_soon(self.fire, number)

    def fire(self, number):
        self.ask_or_stop("run_handle", number)

    def ask_or_stop(self, operation, number):
        """A loop goes on whatever its callbacks raise. But if the other side is gone, nobody wakes what waits here."""
        try:
            self.space.ask(operation, None, (number,))
        except Exception:
            raise
        except BaseException:
            loop = __import__("asyncio").events._get_running_loop()
            if loop is not None:
                loop.stop()
            raise

    def run_handle(self, number):
        handle = self.handles.pop(number, None)
        if handle is not None and not handle.cancelled():
            self.in_loop(handle._run)

    # --- for this side ---

    def future_for(self, theirs):
        """Returns a future of this side's loop that is done when the other side's is."""
        events = __import__("asyncio").events
        if events._get_running_loop() is None and self.lends:
            self.lend(events)  # the code has only now come to need asyncio
        future = events.get_running_loop().create_future()
        number = self.next
        self.next += 1
        self.waiting[number] = future
        self.space.ask("watch", theirs, (number,))
        return future

    def in_loop(self, function, *arguments):
        """Calls FUNCTION with a running loop: the one that is, or one that the other side lends."""
        modules = __import__("sys").modules
        events = modules.get("asyncio.events")
        if not self.lends or events is not None and events._get_running_loop() is not None:
            return function(*arguments)
        if events is not None:
            self.lend(events)
        try:
            return function(*arguments)
        finally:
            if "asyncio.events" in modules:
                modules["asyncio.events"]._set_running_loop(None)

    def lend(self, events):
        if self.loop is None:
            self.loop = lent_loop(self)
        events._set_running_loop(self.loop)

    lends = False
    tasks = None  # of the other side's (tasks.py), if this side lends

    def schedule(self, delay, handle):
        number = self.next
        self.next += 1
        self.handles[number] = handle
        self.space.ask("call_later", None, (delay, number))


def lent_loop(steps):
    """Makes the loop of the side on which none runs."""
    import asyncio
    import time

    class LentLoop(asyncio.AbstractEventLoop):
        def call_soon(self, callback, *arguments, context=None):
            handle = asyncio.Handle(callback, arguments, self, context)
            steps.schedule(0, handle)
            return handle

        call_soon_threadsafe = call_soon

        def call_later(self, delay, callback, *arguments, context=None):
            handle = asyncio.TimerHandle(self.time() + delay, callback, arguments, self, context)
            steps.schedule(max(delay, 0), handle)
            return handle

        def call_at(self, when, callback, *arguments, context=None):
            return self.call_later(when - self.time(), callback, *arguments, context=context)

        def time(self):
            return time.monotonic()

        def create_future(self):
            return asyncio.Future(loop=self)

        def create_task(self, coroutine, *, name=None, context=None):
            return asyncio.Task(coroutine, loop=self, name=name, context=context)

        def run_in_executor(self, executor, function, *arguments):
            future = self.create_future()
            try:
                future.set_result(function(*arguments))
            except Exception as error:
                future.set_exception(error)
            return future

        def get_debug(self):
            return False

        def is_running(self):
            return True

        def is_closed(self):
            return False

        def call_exception_handler(self, context):
            pass

        def _timer_handle_cancelled(self, handle):
            pass

    return LentLoop()
