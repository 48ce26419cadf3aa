#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the files of languages as C source.

    embed_languages.py OUTPUT NAME.conf..."""

import sys
from pathlib import Path


def array(data):
    rows = (data[i : i + 20] for i in range(0, len(data), 20))
    return ",\n".join("    " + ", ".join(f"{byte}" for byte in row) for row in rows)


def main():
    output, *paths = map(Path, sys.argv[1:])
    files = {path.stem: path.read_text("utf-8").encode("ascii") for path in paths}
    parts = ['/* Made by conf/embed_languages.py. */\n#include "conf/language_builtin.h"\n']
    parts += [
        f"static const char file_{i}[] = {{\n{array(data)}, 0}};\n" for i, data in enumerate(files.values())
    ]
    rows = "".join(
        f'    {{"{name}", file_{i}, sizeof(file_{i}) - 1}},\n' for i, name in enumerate(files)
    )
    parts.append(f"const struct language_builtin language_builtin[] = {{\n{rows}}};")
    parts.append("const size_t language_builtin_count = sizeof(language_builtin) / sizeof(language_builtin[0]);")
    output.write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
