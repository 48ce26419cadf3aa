# SPDX-License-Identifier: MIT
"""Results as frozen dataclasses. Fields that this version does not know are in `Result.raw`."""

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple

_Object = Mapping[str, Any]


@dataclass(frozen=True)
class FailureMode:
    code: str
    severity: str
    detail: Optional[str] = None


@dataclass(frozen=True)
class Outcome:
    """How the program ended, which is not the verdict."""

    success: bool
    exit_code: Optional[int]
    signal: Optional[int]
    limit_exceeded: Optional[str]
    stderr: str
    summary: str


@dataclass(frozen=True)
class Usage:
    wall_clock_ms: int
    cpu_ms: int
    cpu_wait_ms: Optional[int]
    max_rss_bytes: int
    queue_ms: int = 0


@dataclass(frozen=True)
class Isolation:
    """The confinement in force. Scores are comparable if `digest` agrees."""

    digest: str
    layers: Tuple[str, ...]


@dataclass(frozen=True)
class Assertion:
    passed: bool
    detail: Optional[str] = None


@dataclass(frozen=True)
class Difference:
    why: str
    line: Optional[int] = None
    got: Optional[str] = None
    expected: Optional[str] = None


@dataclass(frozen=True)
class Test:
    """One test of a `program` job."""

    __test__ = False  # pytest: this is no class of tests

    verdict: str
    name: Optional[str] = None
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    limit_exceeded: Optional[str] = None
    stderr: str = ""
    difference: Optional[Difference] = None
    wall_clock_ms: int = 0


@dataclass(frozen=True)
class File:
    name: str
    mode: int
    content: bytes


@dataclass(frozen=True)
class LeftOut:
    name: str
    why: str
    size: Optional[int] = None


@dataclass(frozen=True)
class Step:
    stdout: str
    outcome: Outcome
    usage: Usage


MALFORMED = "rubric.malformed_output"
# Failure modes that only the daemon gives, for the fault of a rubric. A timeout is none: the answer may be
# what takes too long to judge.
_RUBRIC_FAULTS = (MALFORMED, "rubric.unknown_breakdown_key", "rubric.unknown_failure_mode")


@dataclass(frozen=True)
class Result:
    """A verdict. A job that failed, crashed or ran out of time has one, too, with `passed` false.

    `score` is None if there is none, as for a generation without code; `reason` says why then.
    `verdict` is that of `code_exec` and `program` jobs. `attempts` counts this one and those whose
    error was retriable."""

    id: str
    kind: str
    passed: bool
    score: Optional[float]
    reason: Optional[str]
    breakdown: Mapping[str, float]
    failure_modes: Tuple[FailureMode, ...]
    cost_usd: float
    outcome: Outcome
    usage: Usage
    isolation: Isolation
    verdict: Optional[str] = None
    stdout: str = ""
    assertions: Tuple[Assertion, ...] = ()
    tests: Tuple[Test, ...] = ()
    steps: Tuple[Step, ...] = ()
    files: Mapping[str, File] = field(default_factory=dict)
    left_out: Tuple[LeftOut, ...] = ()
    attempts: int = 1
    raw: _Object = field(default_factory=dict, repr=False, compare=False)

    @property
    def why(self) -> str:
        """Why the job did not pass, in one line; empty if it passed."""
        if self.passed:
            return ""
        for assertion in self.assertions:
            if not assertion.passed and assertion.detail:
                return assertion.detail
        for mode in self.failure_modes:
            return f"{mode.code}: {mode.detail}" if mode.detail else mode.code
        return self.reason or self.verdict or self.outcome.summary

    @property
    def rubric_fault(self) -> Optional[str]:
        """What was wrong with the rubric, in one line, if its score of 0 therefore says nothing of the
        answer: it crashed, or its output is not what its task class announces. None: it judged."""
        code = self.failure_modes[0].code if self.failure_modes else ""
        if self.kind != "rubric" or code not in _RUBRIC_FAULTS:
            return None
        detail = self.failure_modes[0].detail or ""
        if self.outcome.success:
            what = "its output is malformed" if code == MALFORMED else code.partition(".")[2].replace("_", " ")
            return f"the rubric judged nothing: {what}: {detail}"
        lines = [line.strip() for line in (self.outcome.stderr or detail).splitlines() if line.strip()]
        return f"the rubric crashed: {lines[-1] if lines else self.outcome.summary}"


def _outcome(value: _Object) -> Outcome:
    return Outcome(
        value["success"],
        value["exit_code"],
        value["signal"],
        value["limit_exceeded"],
        value["stderr"],
        value["summary"],
    )


def _usage(value: _Object) -> Usage:
    return Usage(
        value["wall_clock_ms"],
        value["cpu_ms"],
        value.get("cpu_wait_ms"),
        value["max_rss_bytes"],
        value.get("queue_ms", 0),
    )


def _test(value: _Object) -> Test:
    found = value.get("difference")
    return Test(
        verdict=value["verdict"],
        name=value.get("name"),
        exit_code=value.get("exit_code"),
        signal=value.get("signal"),
        limit_exceeded=value.get("limit_exceeded"),
        stderr=value.get("stderr", ""),
        difference=None
        if found is None
        else Difference(
            found["why"], found.get("line"), found.get("got"), found.get("expected")
        ),
        wall_clock_ms=value.get("usage", {}).get("wall_clock_ms", 0),
    )


def _file(value: _Object) -> File:
    return File(value["name"], int(value["mode"], 8), bytes_of(value, "content"))


def bytes_of(value: _Object, name: str) -> bytes:
    """Returns the bytes that VALUE has as text under NAME, or in base64 under NAME_base64."""
    import base64

    encoded = value.get(name + "_base64")
    if encoded is not None:
        return base64.b64decode(encoded)
    return str(value.get(name) or "").encode()


# Isolations differ only between daemons and configurations, and thousands of results share one.
_isolations: Dict[Tuple[str, Tuple[str, ...]], Isolation] = {}
_ISOLATIONS_MAX = 64


def _isolation(value: _Object) -> Isolation:
    key = (value["digest"], tuple(value["layers"]))
    known = _isolations.get(key)
    if known is None:
        if len(_isolations) >= _ISOLATIONS_MAX:
            _isolations.clear()
        known = _isolations[key] = Isolation(*key)
    return known


def result_of(message: _Object, id: str, attempts: int) -> Result:
    """Makes a Result of a message of that type. Raises KeyError or TypeError if it is none."""
    score = message["score"]
    rare: Dict[str, Any] = {}
    if "assertions" in message:
        rare["assertions"] = tuple(
            Assertion(each["passed"], each.get("detail")) for each in message["assertions"]
        )
    if "tests" in message:
        rare["tests"] = tuple(_test(each) for each in message["tests"])
    if "steps" in message:
        rare["steps"] = tuple(
            Step(each["stdout"], _outcome(each["outcome"]), _usage(each["usage"]))
            for each in message["steps"]
        )
    if "files" in message:
        rare["files"] = {each["name"]: _file(each) for each in message["files"]}
        rare["left_out"] = tuple(
            LeftOut(each["name"], each["why"], each.get("size")) for each in message["left_out"]
        )
    return Result(
        id=id,
        kind=message["kind"],
        passed=score is not None and score["passed"],
        score=None if score is None else score["score"],
        reason=message.get("reason"),
        breakdown={} if score is None else score["breakdown"],
        failure_modes=()
        if score is None
        else tuple(
            FailureMode(each["code"], each["severity"], each.get("detail"))
            for each in score["failure_modes"]
        ),
        cost_usd=0.0 if score is None else score["cost_usd"],
        outcome=_outcome(message["outcome"]),
        usage=_usage(message["usage"]),
        isolation=_isolation(message["isolation"]),
        verdict=message.get("verdict"),
        stdout=message.get("stdout", ""),
        attempts=attempts,
        raw=message,
        **rare,
    )
