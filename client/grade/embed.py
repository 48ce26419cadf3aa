#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes a Python file as a C string.

    embed.py OUTPUT NAME FILE HEADER"""

import sys
from pathlib import Path


def main():
    output, name, file, header = sys.argv[1:]
    data = Path(file).read_text().encode("ascii")
    rows = (data[i : i + 20] for i in range(0, len(data), 20))
    lines = ",\n".join("    " + ", ".join(f"{byte}" for byte in row) for row in rows)
    text = f'/* Made by client/grade/embed.py. */\n#include "{header}"\n\nconst char {name}[] = {{\n{lines}, 0}};\n'
    Path(output).write_text(text)


if __name__ == "__main__":
    main()
