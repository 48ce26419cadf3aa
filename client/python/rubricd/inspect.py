# SPDX-License-Identifier: MIT
"""Scorers and a sandbox for Inspect (inspect_ai), which finds them by the package's entry point.

Scorers: a rubric, or assertions about Python, grades each sample, as rubricd/rubric and rubricd/code. A
sample whose job has no verdict, or whose rubric crashed, raises JobError, which Inspect counts as an error
of the sample and not as a score. Sandbox: `Task(..., sandbox="rubricd")` gives each sample a session (see RubricdSandbox)."""

import errno
import json
import warnings
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _shared, jobs
from ._session import Command, Session
from .results import Result

try:
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState
    from inspect_ai.util import (
        ExecResult,
        OutputLimitExceededError,
        SandboxEnvironment,
        sandboxenv,
    )
except ImportError as error:
    raise ImportError(f"rubricd.inspect needs Inspect: pip install inspect-ai ({error})") from error


def _score(result: Result, job: jobs.Job, answer: str) -> Any:
    result = _shared.verdict(result, job)
    metadata: Dict[str, Any] = {
        "passed": result.passed,
        "breakdown": dict(result.breakdown),
        "failure_modes": [mode.code for mode in result.failure_modes],
        "isolation": result.isolation.digest,
    }
    return Score(
        value=0.0 if result.score is None else float(result.score),
        answer=answer,
        explanation=result.why or "passed",
        metadata=metadata,
    )


@scorer(metrics=[mean(), stderr()])  # type: ignore[misc]
def rubric(task_class: str, bench_root: Optional[str] = None) -> "Scorer":
    """A rubric. Its case has `input`, `target` and `answer` (the target again) and the sample's
    metadata; its harness output has the completion as `answer`."""

    async def score(state: "TaskState", target: "Target") -> "Score":
        answer = state.output.completion
        case = {"input": state.input_text, "target": target.text, "answer": target.text}
        case.update(state.metadata or {})
        job = jobs.rubric(task_class, case, {"answer": answer}, bench_root=bench_root)
        return _score(await _shared.ask(job), job, answer)

    return score


@scorer(metrics=[mean(), stderr()])  # type: ignore[misc]
def code(
    tests: Union[None, str, Sequence[str]] = None,
    entry_point: Optional[str] = None,
    timeout: Optional[float] = None,
) -> "Scorer":
    """Assertions about the Python in the completion: TESTS, or else the sample's metadata `tests`, or
    else its target. ENTRY_POINT may be in the metadata, too."""

    async def score(state: "TaskState", target: "Target") -> "Score":
        answer, metadata = state.output.completion, state.metadata or {}
        job = jobs.code(
            generation=answer,
            tests=tests or metadata.get("tests") or target.text,
            entry_point=entry_point or metadata.get("entry_point"),
            timeout=timeout,
        )
        return _score(await _shared.ask(job), job, answer)

    return score


# --- the sandbox ---------------------------------------------------------------------------------

READ_MAX = "100 MiB"


def _options_of(config: Any) -> Dict[str, Any]:
    """The options of Grader.session() that CONFIG, of a sample, has: a JSON file, or a model."""
    if config is None:
        return {}
    text = Path(config).read_text() if isinstance(config, str) else None
    given: Dict[str, Any] = json.loads(text) if text is not None else dict(config)
    known = ("limits", "env", "lease", "idle")
    for name in given:
        if name not in known:
            raise ValueError(f"sandbox config: unknown option {name}; there are {', '.join(known)}")
    return given


@sandboxenv(name="rubricd")
class RubricdSandbox(SandboxEnvironment):  # type: ignore[misc]
    """A session of rubricd: `sandbox="rubricd"`, or `sandbox=("rubricd", "limits.json")` with a JSON file of
    the options of Grader.session(). There is one user and no network. Commands of a sample run one after
    another. A sample waits until a session is free: [session] max in rubricd.conf says how many there
    are."""

    def __init__(self, session: Session, ceilings: Mapping[str, Any]) -> None:
        super().__init__()
        self._session = session
        self._ceilings = ceilings

    @classmethod
    def config_files(cls) -> List[str]:
        return []

    @classmethod
    async def sample_init(
        cls, task_name: str, config: Any, metadata: Dict[str, str]
    ) -> "Dict[str, SandboxEnvironment]":
        options = _options_of(config)

        async def open_session() -> "RubricdSandbox":
            grader = _shared.grader()
            session = await grader.open_session(wait=None, **options)
            return cls(session, grader.hello["limits"]["ceilings"]["session"])

        return {"default": await _shared.begin(open_session())}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: Any,
        environments: "Dict[str, SandboxEnvironment]",
        interrupted: bool,
    ) -> None:
        for environment in environments.values():
            if isinstance(environment, RubricdSandbox):
                await _shared.begin(environment._session.close())

    async def exec(
        self,
        cmd: List[str],
        input: Union[str, bytes, None] = None,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, str]] = None,
        user: Optional[str] = None,
        timeout: Optional[int] = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> "ExecResult[str]":
        if user is not None:
            warnings.warn("rubricd runs all commands of a session as one user", UserWarning)
        longest = float(self._ceilings["wall_clock"])
        work = self._session.exec(
            list(cmd),
            input=input,
            cwd=cwd,
            env=env,
            timeout=longest if timeout is None else min(float(timeout), longest),
        )
        command = await _shared.begin(work)
        _raise_limits(command)
        if command.errno in ("EACCES", "EPERM"):
            raise PermissionError(f"{cmd[0]}: permission denied")
        code = command.exit_code if command.exit_code is not None else 128 + (command.signal or 0)
        error = command.stderr.decode()
        if command.errno:
            error += f"{cmd[0]}: {command.errno}\n"
        return ExecResult(command.success, code, command.stdout.decode(), error)

    async def write_file(self, file: str, contents: Union[str, bytes]) -> None:
        await _shared.begin(self._session.write(file, contents))

    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:
        try:
            data = await _shared.begin(self._session.read(file))
        except OSError as error:
            if error.errno == errno.EFBIG:
                raise OutputLimitExceededError(READ_MAX, None) from error
            raise
        return data.decode() if text else data


def _raise_limits(command: Command) -> None:
    if command.limit_exceeded == "wall_clock":
        raise TimeoutError("the command exceeded its time")
    if command.limit_exceeded == "output":
        text = (command.stdout or command.stderr).decode(errors="replace")
        raise OutputLimitExceededError("10 MiB", text)
