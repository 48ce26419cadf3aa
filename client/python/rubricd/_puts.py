# SPDX-License-Identifier: MIT
"""Tests of programs that a connection puts once, for all of its jobs that have them (`put` in protocol.md).

A job with many bytes of tests names them by their digest. Whoever sends the job sends the tests first, unless the
daemon has them. The daemon may drop tests that no job uses: it then answers tests_not_found, and the tests are
sent again with the job. If the daemon refuses the tests, the jobs end in that error."""

import hashlib
from typing import Any, Dict, Iterator, List, Mapping, MutableMapping, Optional, Tuple, Union

from . import _json
from .errors import InvalidJob

# Tests of fewer bytes go with each job: a message more would cost as much.
TESTS_MIN = 8 << 10
# Bytes of a message beside its tests: twice the digest, the numbers, and the names.
OVERHEAD_MAX = 320
# Sets of which is known whether the daemon has them. The daemon keeps fewer.
KNOWN_MAX = 4096


class Tests:
    """The tests of a job: the JSON text of each, and the digest of the array of all."""

    __slots__ = ("__weakref__", "digest", "items")

    def __init__(self, items: List[bytes]) -> None:
        sha = hashlib.sha256()
        for n, item in enumerate(items):
            sha.update(b"[" if n == 0 else b",")
            sha.update(item)
        sha.update(b"]")
        self.digest = f"sha256:{sha.hexdigest()}"
        self.items = items


def take(fields: MutableMapping[str, Any], max_frame: int) -> Optional[Tests]:
    """Takes the tests out of the job FIELDS if they are many, and puts their digest there. Raises InvalidJob if
    one of them does not fit into a frame."""
    array = fields.get("tests")
    if fields.get("kind") != "program" or not isinstance(array, (list, tuple)) or not array:
        return None
    items = [_json.text(test) for test in array]
    if sum(map(len, items)) + len(items) + 1 < TESTS_MIN:
        return None
    for n, item in enumerate(items):
        if len(item) + OVERHEAD_MAX > max_frame:
            what = f"{len(item)} bytes; the daemon takes at most {max_frame} in one message"
            raise InvalidJob(f"job.tests[{n}]", what)
    tests = Tests(items)
    fields["tests"] = {"put": tests.digest}
    return tests


def _parts(items: List[bytes], room: int) -> Iterator[List[bytes]]:
    part: List[bytes] = []
    size = 0
    for item in items:
        if part and size + len(item) + 1 > room:
            yield part
            part, size = [], 0
        part.append(item)
        size += len(item) + 1
    yield part


def frames(tests: Tests, sending: int, max_frame: int) -> Iterator[bytes]:
    """Makes the messages that put TESTS. SENDING, a number in their id, tells them from those of another time."""
    parts = list(_parts(tests.items, max_frame - OVERHEAD_MAX))
    for n, part in enumerate(parts, 1):
        number = b'"part":%d,"parts":%d,' % (n, len(parts)) if len(parts) > 1 else b""
        digest = tests.digest.encode()
        head = b'{"type":"put","id":"%s/%d","digest":"%s",' % (digest, sending, digest)
        yield _json.framed(head + number + b'"tests":[' + b",".join(part) + b"]}")


class Puts:
    """What a daemon has of the tests that were put on one connection."""

    def __init__(self) -> None:
        # A number: it has them, which were sent as that; a message: the error with which it refused them.
        self._known: Dict[str, Union[int, Mapping[str, Any]]] = {}
        self._sent = 0

    def missing(self, tests: Tests) -> int:
        """Returns the number of the sending if TESTS are to be sent now, and takes them for sent from then on;
        0 if not."""
        if tests.digest in self._known:
            return 0
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()  # they are put again, which does no harm
        self._sent += 1
        self._known[tests.digest] = self._sent
        return self._sent

    def take(self, message: Mapping[str, Any]) -> bool:
        """Takes MESSAGE if it answers a put. Returns whether it does."""
        if message["type"] == "stored":
            return True
        digest, slash, number = str(message.get("id")).partition("/")
        if message["type"] != "error" or not slash or not digest.startswith("sha256:"):
            return False
        # Of the errors of several parts the first one counts: the others may follow from it, and come when the
        # tests have been sent again.
        if digest in self._known and str(self._known[digest]) == number:
            self._known[digest] = message
        return True

    def lost(self, tests: Tests, answer: Mapping[str, Any]) -> Tuple[bool, Mapping[str, Any]]:
        """Looks at the ANSWER to a job that has TESTS. Returns whether the daemon does not have them (any more),
        so that the job is to be sent again with them; and what counts as the answer: if the daemon has refused
        them, that error."""
        if answer.get("code") != "tests_not_found":
            return False, answer
        known = self._known.get(tests.digest)
        refusal = None if isinstance(known, int) else known
        if refusal is None or refusal.get("retriable"):
            self._known.pop(tests.digest, None)  # the next job to go brings them again
        return refusal is None, refusal or answer
