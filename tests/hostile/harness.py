# SPDX-License-Identifier: MIT
"""Loads the harness of the integration tests under another module name, so that one pytest can run both
folders."""

import importlib.util
import sys
from pathlib import Path

_PATH = Path(__file__).resolve().parents[1] / "integration" / "conftest.py"
_spec = importlib.util.spec_from_file_location("integration_harness", _PATH)
_module = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _module
sys.path.append(str(_PATH.parent))  # for its own imports
_spec.loader.exec_module(_module)

BUILD = _module.BUILD
Client = _module.Client
Closed = _module.Closed
Daemon = _module.Daemon
wait_until = _module.wait_until
user_namespaces_are_refused = _module.user_namespaces_are_refused
IDMAP = BUILD / "daemon" / "rubricd-idmap"
ATTACKS = BUILD / "tests" / "hostile"
