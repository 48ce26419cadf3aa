#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the files of a new rubric as a C table.

    embed.py OUTPUT FILE..."""

import sys
from pathlib import Path


def rows(data):
    parts = (data[i : i + 20] for i in range(0, len(data), 20))
    return ",\n".join("    " + ", ".join(str(byte) for byte in part) for part in parts)


def main():
    output, *files = sys.argv[1:]
    texts, table = [], []
    for number, name in enumerate(files):
        data = Path(name).read_bytes()
        texts.append(f"static const char text_{number}[] = {{\n{rows(data)}, 0}};\n")
        table.append(f'    {{"{Path(name).name}", text_{number}}},\n')
    Path(output).write_text(
        "/* Made by client/commands/rubric_template/embed.py. */\n"
        '#include "client/commands/rubric_template.h"\n\n'
        + "".join(texts)
        + "\nconst struct rubric_template rubric_templates[] = {\n"
        + "".join(table)
        + f"}};\nconst size_t n_rubric_templates = {len(files)};\n"
    )


if __name__ == "__main__":
    main()
