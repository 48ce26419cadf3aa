# SPDX-License-Identifier: MIT
"""Starts the checker. It was compiled when the daemon was built; a Python of another version cannot read
that code and takes the source."""

import marshal
import sys

HERE = sys.path.pop(0)
MAGIC = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER

with open(HERE + "/compiled", "rb") as file:
    data = file.read()
if data[: len(MAGIC)] == MAGIC:
    files = marshal.loads(data[len(MAGIC) :])
else:
    with open(HERE + "/source", "rb") as file:
        files = marshal.load(file)
for name, code in files.items():  # no module imports a later one
    module = sys.modules[name] = type(sys)(name)
    exec(code, vars(module))
sys.modules["judge"].main(HERE)
