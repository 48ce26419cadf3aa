#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the checker's files and their compiled code as C source.

    embed.py OUTPUT MAIN MODULE...      (no module imports one that is named after it)"""

import importlib.util
import marshal
import sys
from pathlib import Path


def compiled(path):
    return compile(path.read_text(), path.name, "exec", dont_inherit=True, optimize=0)


def array(data):
    rows = (data[i : i + 20] for i in range(0, len(data), 20))
    return ",\n".join("    " + ", ".join(f"{byte}" for byte in row) for row in rows)


def files_of(program, modules):
    source = {path.stem: path.read_bytes() for path in modules}
    code = {path.stem: compiled(path) for path in modules}
    return {
        program.name: program.read_bytes(),
        "compiled": importlib.util.MAGIC_NUMBER + marshal.dumps(code),
        "source": marshal.dumps(source, 2),  # every Python reads version 2
    }


def main():
    output, program, *modules = map(Path, sys.argv[1:])
    files = files_of(program, modules)
    text = ["/* Made by daemon/checker/embed.py. */", '#include "daemon/kinds/checker_files.h"', ""]
    for i, data in enumerate(files.values()):
        text.append(f"static const unsigned char file_{i}[] = {{\n{array(data)}}};\n")
    text.append("const struct checker_file checker_files[] = {")
    text += [f'    {{".checker/{name}", file_{i}, sizeof(file_{i})}},' for i, name in enumerate(files)]
    text += ["};", "", f"const size_t checker_file_count = {len(files)};"]
    output.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
