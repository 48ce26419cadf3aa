#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the files of the checker, and what Python compiles them to, as C.

    embed.py OUTPUT FILE..."""

import importlib.util
import marshal
import sys
from pathlib import Path


def compiled(path):
    code = compile(path.read_text(), path.name, "exec", dont_inherit=True, optimize=0)
    # Bit 0: checked by hash, not by time; bit 1 clear: the hash is not compared with any source.
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


def array(data):
    rows = (data[i : i + 20] for i in range(0, len(data), 20))
    return ",\n".join("    " + ", ".join(f"{byte}" for byte in row) for row in rows)


def main():
    output, *sources = map(Path, sys.argv[1:])
    files = []
    for source in sources:
        if source.name == "main.py":
            files.append((source.name, source.read_bytes()))
        else:
            files.append((f"compiled/{source.stem}.pyc", compiled(source)))
            files.append((f"source/{source.name}", source.read_bytes()))
    text = ["/* Made by daemon/checker/embed.py. */", '#include "checker_files.h"', ""]
    for i, (_, data) in enumerate(files):
        text.append(f"static const unsigned char file_{i}[] = {{\n{array(data)}}};\n")
    text.append("const struct checker_file checker_files[] = {")
    text += [f'    {{".checker/{name}", file_{i}, sizeof(file_{i})}},' for i, (name, _) in enumerate(files)]
    text += ["};", "", f"const size_t checker_file_count = {len(files)};"]
    output.write_text("\n".join(text) + "\n")


main()
