# SPDX-License-Identifier: MIT
"""The tasks of the tests' event loop, as the code sees them: each has a context of its own there, so that context
variables of two tasks stay apart, and is the current task of the coroutines that it drives.

Before the judge asks something from another task than before, it says which one asks. Where the tests run no loop,
nothing of this happens."""

import sys

# Code in which none of these occurs cannot tell tasks apart.
WORDS = ("contextvars", "ContextVar", "current_task", "timeout", "TaskGroup")
NAME_MAX = 200


def are_looked_at(code):
    return any(word in code for word in WORDS) and ("asyncio" in code or "context" in code)


class Told:
    """On the side of the loop: which task the other side has been told of last. ASK(number, name, parent) tells it."""

    def __init__(self, ask):
        self.ask = ask
        self.last = 0  # none
        self.next = 1
        self.numbers = self.mark = None

    def tell(self):
        events = sys.modules.get("asyncio.events")
        if events is None:
            return
        task = sys.modules["asyncio.tasks"].current_task() if events._get_running_loop() is not None else None
        if task is None:
            number = 0
        else:
            number = self.number_of(task)
        if number != self.last:
            self.last = number
            name = f"{task.get_name()}"[:NAME_MAX] if task is not None else ""
            self.ask(number, name, self.mark.get() if number else 0)
            if number:
                self.mark.set(number)

    def number_of(self, task):
        if self.numbers is None:
            self.numbers = __import__("weakref").WeakKeyDictionary()
            # Tasks that a task makes begin with a copy of its context: there they find whose they are.
            self.mark = __import__("contextvars").ContextVar("parent", default=0)
        if task not in self.numbers:
            self.numbers[task] = self.next
            self.next += 1
        return self.numbers[task]


class LentTask:
    """Stands on the side without a loop for a task of the other side's. To cancel it is to cancel what its coroutine
    waits for."""

    def __init__(self, name, context):
        self.name, self.context = name, context
        self.waiter = None
        self.must_cancel, self.count = False, 0

    def get_name(self):
        return self.name

    def set_name(self, name):
        self.name = f"{name}"

    def get_coro(self):
        return None

    def done(self):
        return False

    cancelled = done

    def cancelling(self):
        return self.count

    def uncancel(self):
        self.count = max(self.count - 1, 0)
        return self.count

    def cancel(self, msg=None):
        self.count += 1
        if self.waiter is None or not self.waiter.cancel(msg=msg):
            self.must_cancel = True
        return True


class Lent:
    """The tasks of the other side's, as this side without a loop sees them."""

    def __init__(self):
        self.by_number = {}
        self.current = self.inside = None

    def enter(self, number, name, parent):
        """Hears which task asks from now on; 0: none."""
        if number and number not in self.by_number:
            above = self.by_number.get(parent)
            context = above.context.copy() if above is not None else __import__("contextvars").copy_context()
            self.by_number[number] = LentTask(name, context)
        self.current = self.by_number.get(number)

    def run(self, function, *arguments, **keywords):
        """Calls FUNCTION in the context of the task that asks."""
        task, before = self.current, self.inside
        if task is None or task is before:
            return function(*arguments, **keywords)
        self.inside = task
        try:
            return task.context.run(function, *arguments, **keywords)
        finally:
            self.inside = before

    def step(self, take_step, iterator, how, value):
        """Has a coroutine take a step, as one of the task that asks."""
        task, asyncio = self.current, sys.modules.get("asyncio")
        loop = asyncio.events._get_running_loop() if asyncio is not None and task is not None else None
        if loop is None:
            return take_step(iterator, how, value)
        if how == "throw" and isinstance(value, asyncio.CancelledError):
            task.count += 1
        elif task.must_cancel:
            how, value = "throw", asyncio.CancelledError()
        task.must_cancel, task.waiter = False, None
        current = asyncio.tasks._current_tasks
        before = current.get(loop)
        current[loop] = task
        try:
            what, got = take_step(iterator, how, value)
        finally:
            if before is None:
                current.pop(loop, None)
            else:
                current[loop] = before
        if what == "future" and hasattr(got, "cancel"):
            task.waiter = got
            if task.must_cancel and got.cancel():
                task.must_cancel = False
        return what, got
