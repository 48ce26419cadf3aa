# SPDX-License-Identifier: MIT
"""Makes jobs: plain dictionaries with the fields of the protocol, for `grader.stream()` and
`grader.submit()`. A line of a file for `rubricctl batch` is such a job as well. Arguments that are
None are left out."""

import base64
import json
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import InvalidJob

Job = Dict[str, Any]
Content = Union[str, bytes, Mapping[str, Any]]
ProgramTest = Union[Mapping[str, Any], Tuple[Content, Content]]


def _job(kind: str, fields: Mapping[str, Any], common: Mapping[str, Any]) -> Job:
    job: Job = {"kind": kind}
    for source in (fields, common):
        job.update((name, value) for name, value in source.items() if value is not None)
    return job


def _content(value: Any) -> Any:
    """Bytes have a form of their own in contents of files and standard input."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(value).decode()}
    return value


def _words(value: Optional[Sequence[str]], path: str, hint: str = "") -> Optional[List[str]]:
    """A list of strings. A string is a sequence of strings, too, but never meant as one."""
    if isinstance(value, (str, bytes)):
        raise InvalidJob(path, f"expected a list of strings, got {value!r:.60}{hint}")
    return None if value is None else list(value)


_SHELL = '; for a shell: ["/bin/sh", "-c", text]'


def _files(files: Optional[Mapping[str, Content]]) -> Optional[Dict[str, Any]]:
    return None if files is None else {name: _content(value) for name, value in files.items()}


def _with_wall_clock(
    limits: Optional[Mapping[str, Any]], timeout: Optional[float]
) -> Optional[Dict[str, Any]]:
    if timeout is None:
        return None if limits is None else dict(limits)
    if limits and "wall_clock" in limits:
        raise InvalidJob("job.limits.wall_clock", "given twice: as a limit, and as timeout")
    return {**(limits or {}), "wall_clock": timeout}


def rubric(
    task_class: str,
    case: Mapping[str, Any],
    harness_output: Mapping[str, Any],
    *,
    bench_root: Optional[str] = None,
    rubric_digest: Optional[str] = None,
    sut: Optional[Mapping[str, Any]] = None,
    warm: Optional[bool] = None,
    limits: Optional[Mapping[str, Any]] = None,
    priority: Optional[int] = None,
    id: Optional[str] = None,
) -> Job:
    """An answer, and the `rubric.py` of TASK_CLASS that grades it. With RUBRIC_DIGEST no other rubric does:
    a `rubric_digest` of an earlier result."""
    fields = {
        "task_class": task_class,
        "case": case,
        "harness_output": harness_output,
        "bench_root": bench_root,
        "rubric_digest": rubric_digest,
        "sut": sut,
        "warm": warm,
    }
    return _job("rubric", fields, {"limits": limits, "priority": priority, "id": id})


def code_tests(tests: Any, path: str = "job.tests") -> Union[str, List[str]]:
    """The tests of code: one text, or a list of texts, also as JSON in one text, as data sets store it."""
    if isinstance(tests, str):
        return _listed(tests)
    items = items_of(tests, path, "a text or a list of texts")
    for number, each in enumerate(items):
        if not isinstance(each, str):
            raise InvalidJob(f"{path}[{number}]", f"expected a text, got {each!r:.60}")
    return items


def _listed(text: str) -> Union[str, List[str]]:
    """The list of texts that TEXT is as JSON, or else TEXT. In Python such a list would test nothing."""
    if not text.lstrip().startswith("["):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if all(isinstance(each, str) for each in found) else text


def items_of(values: Any, path: str, what: str) -> List[Any]:
    """What VALUES has one after another. A text has characters and a mapping has keys, but no tests."""
    if isinstance(values, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(values, Iterable):
        raise InvalidJob(path, f"expected {what}, got {values!r:.60}")
    return list(values)


_DEFINES_CHECK = re.compile(r"^def\s+check\s*\(", re.MULTILINE)


def code(
    code: Optional[str] = None,
    *,
    tests: Union[str, Sequence[str]],
    entry_point: Optional[str] = None,
    generation: Optional[str] = None,
    prelude: Optional[str] = None,
    names: Optional[Sequence[str]] = None,
    test_setup: Optional[str] = None,
    timeout: Optional[float] = None,
    verdict: Optional[str] = None,
    metadata: Optional[Mapping[str, Any]] = None,
    limits: Optional[Mapping[str, Any]] = None,
    priority: Optional[int] = None,
    id: Optional[str] = None,
) -> Job:
    """Python that a model wrote, as CODE or somewhere in a GENERATION, and what it has to pass.

    TESTS is a list of assertions, of which the share that holds is the score; or one text, which is a
    program with `check(candidate)` if there is an ENTRY_POINT to call it with, and else one
    assertion. A text that is a JSON array of strings is that list. TIMEOUT is in seconds, for all of it."""
    fields: Dict[str, Any] = {
        "code": code,
        "generation": generation,
        "entry_point": entry_point,
        "prelude": prelude,
        "names": names,
        "test_setup": test_setup,
        "verdict": verdict,
        "metadata": metadata,
    }
    tests = code_tests(tests)
    if isinstance(tests, str) and entry_point and _DEFINES_CHECK.search(tests):
        fields["test"] = tests
    else:
        fields["targets"] = [tests] if isinstance(tests, str) else tests
    limits = _with_wall_clock(limits, timeout)
    return _job("code_exec", fields, {"limits": limits, "priority": priority, "id": id})


def _program_test(test: ProgramTest, path: str) -> Dict[str, Any]:
    if isinstance(test, Mapping):
        fields = dict(test)
    elif isinstance(test, (tuple, list)) and len(test) == 2:
        fields = {"input": test[0], "output": test[1]}
    else:  # a string of two characters is no pair
        raise InvalidJob(path, f"expected a pair (input, output) or a dictionary, got {test!r:.60}")
    for name in ("input", "output"):
        if name in fields:
            fields[name] = _content(fields[name])
    return fields


def program(
    code: Optional[str] = None,
    *,
    language: str,
    tests: Sequence[ProgramTest],
    generation: Optional[str] = None,
    compare: Optional[str] = None,
    stop: Optional[str] = None,
    call: Optional[str] = None,
    checker: Optional[Mapping[str, Any]] = None,
    interactor: Optional[Mapping[str, Any]] = None,
    files: Optional[Mapping[str, Content]] = None,
    prelude: Optional[str] = None,
    timeout: Optional[float] = None,
    collect: Optional[Sequence[str]] = None,
    compile_limits: Optional[Mapping[str, Any]] = None,
    limits: Optional[Mapping[str, Any]] = None,
    priority: Optional[int] = None,
    id: Optional[str] = None,
) -> Job:
    """A program in some LANGUAGE, and TESTS: pairs of its input and the output that it is to write, or
    dictionaries as the protocol has them. TIMEOUT is in seconds, for each test. Of the test that decides
    the verdict, the files that COLLECT names come back in `result.files`."""
    given = items_of(tests, "job.tests", "a list of tests")
    fields = {
        "language": language,
        "code": code,
        "generation": generation,
        "tests": [_program_test(each, f"job.tests[{n}]") for n, each in enumerate(given)],
        "compare": compare,
        "stop": stop,
        "call": call,
        "checker": checker,
        "interactor": interactor,
        "files": _files(files),
        "prelude": prelude,
        "collect": _words(collect, "job.collect"),
        "compile_limits": compile_limits,
    }
    limits = _with_wall_clock(limits, timeout)
    return _job("program", fields, {"limits": limits, "priority": priority, "id": id})


def sandbox(
    snippet: Optional[str] = None,
    *,
    argv: Optional[Sequence[str]] = None,
    generation: Optional[str] = None,
    steps: Optional[Sequence[Mapping[str, Any]]] = None,
    runner: Optional[str] = None,
    stdin: Optional[Content] = None,
    files: Optional[Mapping[str, Content]] = None,
    collect: Optional[Sequence[str]] = None,
    env: Optional[Mapping[str, str]] = None,
    readable: Optional[Sequence[str]] = None,
    timeout: Optional[float] = None,
    limits: Optional[Mapping[str, Any]] = None,
    priority: Optional[int] = None,
    id: Optional[str] = None,
) -> Job:
    """One of: a SNIPPET for RUNNER ("shell" or "python"), a program ARGV, code in a GENERATION, or
    STEPS. FILES are put where it starts; those that COLLECT names come back in `result.files`."""
    fields = {
        "snippet": snippet,
        "argv": _words(argv, "job.argv", _SHELL),
        "generation": generation,
        "steps": None if steps is None else [_step(step) for step in steps],
        "runner": runner,
        "stdin": _content(stdin),
        "files": _files(files),
        "collect": _words(collect, "job.collect"),
        "env": env,
        "readable": readable,
    }
    limits = _with_wall_clock(limits, timeout)
    return _job("sandbox", fields, {"limits": limits, "priority": priority, "id": id})


def _step(step: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: _content(value) if name == "stdin" else value for name, value in step.items()}


def run(argv: List[str], **options: Any) -> Job:
    """The program ARGV, whose first item is an absolute path; OPTIONS are those of sandbox()."""
    return sandbox(argv=argv, **options)
