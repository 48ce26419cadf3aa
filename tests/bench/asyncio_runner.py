#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A commonly written runner, to compare rubricd with: asyncio.create_subprocess_exec with a
TemporaryDirectory and a scrubbed environment for each job. Under asyncio.wait_for it writes standard
input, reads both outputs and parses standard output.

    asyncio_runner.py JOBS IN_FLIGHT      (JSON Lines: bench_root, task_class, case, harness_output)

Prints {"seconds": ..., "scores": [...]}. The seconds cover the jobs alone, not the start of this
program."""

import asyncio
import json
import sys
import tempfile
import time

SCRUBBED_ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"}
TIMEOUT_SECONDS = 60.0


def failing(code, began_ns, detail=""):
    mode = {"code": code, "severity": "block", "detail": detail}
    return {"passed": False, "score": 0.0, "breakdown": {}, "failure_modes": [mode], "cost_usd": 0.0,
            "wall_clock_ms": (time.monotonic_ns() - began_ns) // 1_000_000}  # fmt: skip


async def grade(job):
    """Returns a BenchScore, whatever the rubric does."""
    rubric = f"{job['bench_root']}/{job['task_class']}/rubric.py"
    stdin = json.dumps({"case": job["case"], "harness_output": job["harness_output"]}).encode()
    timeout = job["case"].get("rubric_wall_clock_seconds") or TIMEOUT_SECONDS
    pipe, began_ns = asyncio.subprocess.PIPE, time.monotonic_ns()
    with tempfile.TemporaryDirectory() as directory:
        process = await asyncio.create_subprocess_exec(
            sys.executable, rubric, env=dict(SCRUBBED_ENV), cwd=directory, stdin=pipe, stdout=pipe, stderr=pipe
        )
        try:
            stdout, stderr = await asyncio.wait_for(process.communicate(stdin), timeout=timeout)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()
            return failing("rubric.timeout", began_ns)
    if process.returncode != 0:
        return failing("rubric.malformed_output", began_ns, stderr[:200].decode("utf-8", "replace"))
    try:
        score = json.loads(stdout)
        if type(score["passed"]) is not bool or not 0 <= score["score"] <= 1:
            raise ValueError("not a BenchScore")
    except (ValueError, KeyError, TypeError) as error:
        return failing("rubric.malformed_output", began_ns, str(error))
    return {**score, "wall_clock_ms": (time.monotonic_ns() - began_ns) // 1_000_000}


async def grade_all(jobs, in_flight):
    places = asyncio.Semaphore(in_flight)

    async def in_turn(job):
        async with places:
            return await grade(job)

    return await asyncio.gather(*map(in_turn, jobs))


def main():
    with open(sys.argv[1]) as lines:
        jobs = [json.loads(line) for line in lines]
    began = time.monotonic()
    scores = asyncio.run(grade_all(jobs, int(sys.argv[2])))
    print(json.dumps({"seconds": time.monotonic() - began, "scores": [score["score"] for score in scores]}))


if __name__ == "__main__":
    main()
