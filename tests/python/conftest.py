# SPDX-License-Identifier: MIT
"""The Python package from the checkout, against the daemon of a build: RUBRICD_BUILD names it, as for the
integration tests, whose daemons, benches and stand-in these tests use."""

import asyncio
import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "client" / "python"
INTEGRATION = ROOT / "tests" / "integration"
STANDINS = Path(__file__).parent / "standins"  # for libraries that Debian does not have
sys.path[:0] = [str(PACKAGE), str(INTEGRATION)]


def _load_integration():
    """Its conftest.py has the name of this file, so it is loaded under another one."""
    spec = importlib.util.spec_from_file_location("integration_conftest", INTEGRATION / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


_load_integration()
from integration_conftest import *  # noqa: E402, F401, F403  fixtures and hooks
from integration_conftest import BENCH, DEADLINE, PYTHON, RUBRICD  # noqa: E402, F401

import rubricd  # noqa: E402

os.environ["RUBRICD"] = str(RUBRICD)


def run(work):
    """Runs the coroutine WORK, within the deadline."""
    return asyncio.run(asyncio.wait_for(work, DEADLINE))


async def event(condition, what):
    """Waits until CONDITION() is true, while the event loop runs."""
    end = asyncio.get_running_loop().time() + DEADLINE
    while not condition():
        assert asyncio.get_running_loop().time() < end, f"still not: {what}"
        await asyncio.sleep(0.005)


async def in_thread(function, *arguments, **named):
    """Calls FUNCTION, which blocks, beside the event loop."""
    return await asyncio.get_running_loop().run_in_executor(None, lambda: function(*arguments, **named))


def shell(command, **fields):
    return rubricd.jobs.run(["/bin/sh", "-c", command], **fields)


@pytest.fixture
def examples(start_daemon):
    """A daemon whose bench is the example bench; the adapters connect to it."""
    daemon = start_daemon(f"rubric.bench_root={BENCH}")
    rubricd.configure(socket=str(daemon.socket))
    yield daemon
    rubricd.configure()


@pytest.fixture
def standins(monkeypatch):
    """Libraries that the adapters need can be imported; afterwards they are forgotten."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(STANDINS))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("inspect_ai", "deepeval") or name in ("rubricd.inspect", "rubricd.deepeval"):
            del sys.modules[name]
