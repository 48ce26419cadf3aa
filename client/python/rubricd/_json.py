# SPDX-License-Identifier: MIT
"""Refuses what JSON, or the daemon's reading of it, cannot hold. `json.dumps` would send some of it
as something else: a key 1 as "1", a lone surrogate as an escape that the daemon refuses."""

import json
import math
import struct
from typing import Any

from .errors import InvalidJob

DEPTH_MAX = 200  # the daemon counts the outermost object as 1
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1


def _quote(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _check_text(text: str, path: str, what: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            raise InvalidJob(
                path, f"{what} has a lone surrogate (U+{code:04X}) at {error.start}"
            ) from None


def _check_key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise InvalidJob(path, f"the key {_quote(key)} is a {type(key).__name__}, not a string")
    _check_text(key, path, f"the key {_quote(key)}")
    if "\0" in key:
        raise InvalidJob(path, f"the key {_quote(key)} has a NUL")
    return key


def _step(path: str, key: str) -> str:
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{json.dumps(key)}]"


def check(value: Any, path: str, depth: int = 1) -> None:
    """Raises InvalidJob with the path of the first value below VALUE that cannot be sent."""
    kind = type(value)
    if kind is str:
        _check_text(value, path, "the string")
    elif value is None or kind is bool:
        pass
    elif isinstance(value, dict):
        if depth > DEPTH_MAX:
            raise InvalidJob(path, f"more than {DEPTH_MAX} levels of objects and arrays")
        for key, item in value.items():
            name = _check_key(key, path)
            check(item, _step(path, name), depth + 1)
    elif isinstance(value, (list, tuple)):
        if depth > DEPTH_MAX:
            raise InvalidJob(path, f"more than {DEPTH_MAX} levels of objects and arrays")
        for index, item in enumerate(value):
            check(item, f"{path}[{index}]", depth + 1)
    else:
        _check_rarer(value, path)


def _check_rarer(value: Any, path: str) -> None:
    if isinstance(value, int):
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            raise InvalidJob(path, f"the integer {_quote(value)} does not fit into 64 bits")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidJob(path, f"{value} is no number of JSON")
    elif isinstance(value, str):
        _check_text(value, path, "the string")
    else:
        raise InvalidJob(path, f"a {type(value).__name__} is no value of JSON")


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def text(value: Any) -> bytes:
    """Returns VALUE, which check() has passed, without white space between its tokens."""
    return _encode(value).encode()


def framed(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


def frame(message: Any) -> bytes:
    """Returns MESSAGE, whose values check() has passed, as a frame."""
    return framed(text(message))
