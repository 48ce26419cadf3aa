# SPDX-License-Identifier: MIT
"""How the two sides of the wire talk.

Theory of operation. The sides take turns. A side that needs something asks a question and waits for the
answer; until it comes, the other side may ask in turn (a callback). A message is ("?", news, operation,
target, arguments, keywords), ("=", news, value) or ("!", news, exception); the news are what has happened
since the last message: stand-ins that nobody needs any more, and ambient state."""

import trusted
import wire
import wire_reader
import wire_writer
from wire import WireError

BRIEF = bytes((wire.BRIEF,))


class Lost(BaseException):
    """The other side is gone or violates the protocol. No test catches this by accident; even if one does,
    Space.lost still says so."""


class NoDepth:
    """In the place of ambient.Ambient.depth where there is no ambient state."""

    def open(self):
        pass

    close = enter = leave = open


NO_DEPTH = NoDepth()


def frozen(value):
    """Makes ambient state of dictionaries and lists cross as one value, not as containers to be shared."""
    kind = type(value)
    if kind is dict:
        return ("d", *(frozen(part) for item in value.items() for part in item))
    if kind is list:
        return ("l", *map(frozen, value))
    return ("t", *map(frozen, value)) if kind is tuple else value


def thawed(value):
    try:
        return _thawed(value)
    except (LookupError, TypeError, ValueError, RecursionError):
        raise WireError("bad state") from None


def _thawed(value):
    if type(value) is not tuple:
        return value
    kind, *parts = value
    parts = list(map(_thawed, parts))
    if type(kind) is not str or kind not in FROZEN:
        raise ValueError
    if kind == "d" and not all(type(name) is str for name in parts[::2]):
        raise ValueError
    return FROZEN[kind](parts)


FROZEN = {"d": wire.dictionary_of, "l": list, "t": tuple}


def pairs(keywords):
    return tuple(part for item in keywords.items() for part in item)


class Conversation:
    """The part of a space (membrane.py) that asks and answers."""

    def write(self, roots):
        writer = wire_writer.Writer(self)
        try:
            message = writer.message(roots)
            self.crossed(writer.objects, False)
            return message
        except WireError:
            self.withdraw(writer)
            raise

    def news(self):
        """Returns what the other side has not been told yet: None if there is nothing."""
        dead = self.dead
        state = self.ambient.outgoing() if self.ambient is not None else None
        if not dead and state is None:
            return None
        numbers = tuple(dead)
        state = None if state is None else frozen(state)
        dead.clear()
        for number in numbers:
            if self.stand_ins.pop(number, None) is not None:
                self.described.pop(number, None)
        return numbers, state

    def learn(self, news):
        if news is None:
            return
        if type(news) is not tuple or len(news) != 2 or type(news[0]) is not tuple:
            raise WireError("bad news")
        for number in news[0]:
            if type(number) is not int:
                raise WireError("bad news")
            value = self.exports.pop(number, None)
            self.told_errors.pop(number, None)
            if value is not None:
                del self.export_numbers[id(value)]
                self.let_go(value)
        if news[1] is not None and self.ambient is not None:
            self.ambient.incoming(thawed(news[1]))

    def let_go(self, value):
        """Hears that the other side needs VALUE no more."""

    def receive(self):
        data = wire.receive(self.turns)
        if self.transcript is not None:
            self.transcript.received(data)
        return data

    def send(self, data):
        if self.transcript is not None:
            self.transcript.sent(data)
        wire.send(self.fds[1], data)

    def ask(self, operation, target, arguments=(), keywords=None):
        """Asks the other side; returns what it returns and raises what it raises."""
        if self.lost is not None:
            raise Lost
        if any(map(trusted.is_buffer, arguments)):
            return self.ask_with_buffers(operation, target, arguments, keywords)
        with self.lock:
            what, value = self.exchange(self.question(operation, target, arguments, keywords, self.news()))
        if what == "!":
            raise self.raised(operation, value, arguments)
        return value

    def ask_with_buffers(self, operation, target, arguments, keywords):
        """Asks with empty memory in the place of what the other side is to fill, and fills that."""
        held = {id(one): bytearray(one.nbytes) for one in arguments if trusted.is_buffer(one)}
        given = tuple(memoryview(held[id(one)]) if id(one) in held else one for one in arguments)
        result = Conversation.ask(self, operation, target, given, keywords)
        for one in arguments:
            if id(one) in held:
                one.cast("B")[:] = held[id(one)]
        return result

    def exchange(self, message):
        depth = self.ambient.depth if self.ambient is not None else NO_DEPTH
        depth.open()
        try:
            self.send(message)
            return self.converse()
        except (OSError, EOFError):
            self.lost = ""
            raise Lost from None
        except WireError as broken:
            self.lost = f"{broken}"
            raise Lost from None
        finally:
            depth.close()

    def call(self, function, number, arguments, keywords):
        return self.ask("call", function, arguments, keywords)

    def question(self, operation, target, arguments, keywords, news):
        try:
            more = pairs(keywords) if keywords else ()
            return self.write(("?", news, operation, target, arguments, more))
        except WireError as error:
            raise ValueError(f"cannot be handed over: {error}") from None

    def raised(self, operation, error, arguments=()):
        return error

    def converse(self):
        """Answers the other side's questions until its answer comes."""
        while True:
            data = self.receive()
            if data[:1] == BRIEF:
                if self.is_brief_answer(data):
                    return "=", wire.read_brief_answer(data)
                continue
            what, value = self.read(data)
            data = None
            if what != "?":
                return what, value
            operation, target, arguments, keywords = value
            value = None
            reply = self.answer(operation, target, arguments, keywords)
            operation = target = arguments = keywords = None  # the arguments may be dropped now
            self.send(self.written(reply, self.news()))
            reply = None

    def crossed(self, objects, is_answer):
        """Hears of all that a message is made of."""

    def is_brief_answer(self, data):
        return True

    def read(self, data):
        try:
            return self.understand(data)
        except (WireError, RecursionError, MemoryError):  # the last two are for the program that asks
            raise
        except Exception as error:
            # Whatever a part turns out to be after all, it is the other side that has sent it.
            raise WireError(f"a message that raises {type(error).__name__}") from error

    def understand(self, data):
        table = wire_reader.Table(data, self)
        roots = table.roots
        self.crossed(table.objects, True)
        table = None
        what = roots[0] if roots and type(roots[0]) is str else ""
        if what == "?" and len(roots) == 6:
            self.learn(roots[1])
            operation, target, arguments, keywords = roots[2:]
            if type(operation) is not str or type(arguments) is not tuple or type(keywords) is not tuple:
                raise WireError("a bad question")
            if not all(type(name) is str for name in keywords[::2]):
                raise WireError("bad keywords")
            return what, (operation, target, arguments, wire.dictionary_of(keywords))
        if what in ("=", "!") and len(roots) == 3:
            self.learn(roots[1])
            if what == "!" and not isinstance(roots[2], BaseException):
                raise WireError("a bad exception")
            return what, roots[2]
        raise WireError("no answer")

    def answer(self, operation, target, arguments, keywords):
        depth = self.ambient.depth if self.ambient is not None else NO_DEPTH
        entered = False
        try:
            depth.enter()
            entered = True
            return "=", self.handle(operation, target, arguments, keywords)
        except (WireError, Lost):
            raise
        except BaseException as error:
            error.__traceback__ = None  # keep the exception, but not its frames
            return "!", error
        finally:
            if entered:
                depth.leave()

    def written(self, reply, news):
        try:
            return self.write((reply[0], news, reply[1]))
        except WireError as error:
            return self.write(("!", None, ValueError(f"{error}")))

    def handle(self, operation, target, arguments, keywords):
        raise NotImplementedError
