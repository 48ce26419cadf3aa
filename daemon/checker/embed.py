#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the checker's code as C source.

    embed.py OUTPUT START MODULE...     (no module imports one that is named after it)

The code is START, a NUL, and what START reads: the number by which Python tells its versions, the length of
the compiled modules, these, each by itself, and the modules' source."""

import importlib.util
import marshal
import sys
from pathlib import Path


def compiled(path):
    return compile(path.read_text(), path.name, "exec", dont_inherit=True, optimize=0)


def array(data):
    rows = (data[i : i + 20] for i in range(0, len(data), 20))
    return ",\n".join("    " + ", ".join(f"{byte}" for byte in row) for row in rows)


def code_of(program, modules):
    code = marshal.dumps({path.stem: marshal.dumps(compiled(path)) for path in modules})
    source = marshal.dumps({path.stem: path.read_bytes() for path in modules}, 2)  # every Python reads 2
    text = program.read_bytes()
    return b"".join((text, b"\0", importlib.util.MAGIC_NUMBER, len(code).to_bytes(4, "little"), code, source))


def main():
    output, program, *modules = map(Path, sys.argv[1:])
    text = ["/* Made by daemon/checker/embed.py. */", '#include "daemon/kinds/checker_code.h"', ""]
    text.append(f"const unsigned char checker_code[] = {{\n{array(code_of(program, modules))}}};\n")
    text.append("const size_t checker_code_length = sizeof(checker_code);")
    output.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
