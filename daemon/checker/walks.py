# SPDX-License-Identifier: MIT
"""Items of the code's objects, which do not change while nobody but the tests asks for them. An object that gives no
items first and the right ones later would be sorted, and have the items of the list that it was made of."""


class Known:
    """The items that an object has given so far, and whether that was all of them."""

    __slots__ = ("items", "is_complete")

    def __init__(self):
        self.items, self.is_complete = [], False


class Changed(TypeError):
    """An object has other items than before."""


def _agree(one, other):
    """Returns whether two items may be the same. Objects of the code's may be made anew each time."""
    return type(one) is type(other) and (one is other or one == other or one != one) or not _is_plain(one, other)


def _is_plain(*values):
    return all(type(one) in (bool, int, float, complex, str, bytes, type(None), tuple, list) for one in values)


class Walks:
    """What has been iterated since the tests last called something of the code's, by number."""

    def __init__(self):
        self.known = {}
        self.ended = set()  # numbers of iterators of the library that have no items left
        self.ended_for_good = set()  # the same of those with `async for`, whose steps are calls

    def forget(self):
        self.known.clear()
        self.ended.clear()

    def without_forgetting(self, question, *arguments):
        """Asks for an iterator, which is no call that may change anything."""
        before, self.known, self.ended = (self.known, self.ended), {}, set()
        try:
            return question(*arguments)
        finally:
            self.known, self.ended = before

    async def step_of(self, number, awaitable):
        """Is one step of the asynchronous iterator with that number, or none if it has ended."""
        if awaitable is None:
            raise StopAsyncIteration
        try:
            return await awaitable
        except StopAsyncIteration:
            self.ended_for_good.add(number)
            raise

    def steps(self, number, iterator, is_its_own):
        """Yields the items of the object with that number. One that IS_ITS_OWN iterator, as a file is, has
        none left once it has ended."""
        known = self.known.setdefault(number, Known())
        at = 0
        while True:
            try:
                item = next(iterator)  # a loop would ask for an iterator again
            except StopIteration:
                break
            if self.known.get(number) is known:
                self.step(known, at, item)
            at += 1
            yield item
        if self.known.get(number) is known:
            if at < len(known.items) and not (is_its_own and at == 0):
                raise Changed("an object of the code has fewer items than before")
            known.is_complete = True

    @staticmethod
    def step(known, at, item):
        if at < len(known.items):
            if not _agree(known.items[at], item):
                raise Changed("an object of the code has other items than before")
        elif known.is_complete:
            raise Changed("an object of the code has more items than before")
        else:
            known.items.append(item)
