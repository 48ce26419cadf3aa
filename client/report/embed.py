#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the files of the HTML page as C strings.

    embed.py OUTPUT FILE...      (page.css becomes page_css)"""

import sys
from pathlib import Path


def array(data):
    rows = (data[i : i + 20] for i in range(0, len(data), 20))
    return ",\n".join("    " + ", ".join(f"{byte}" for byte in row) for row in rows)


def main():
    output, *files = map(Path, sys.argv[1:])
    text = ["/* Made by client/report/embed.py. */", '#include "page.h"', ""]
    for file in files:
        source = file.read_bytes()
        assert source.isascii(), f"{file} is not ASCII"
        text.append(f"const char {file.name.replace('.', '_')}[] = {{\n{array(source)}, 0}};\n")
    output.write_text("\n".join(text))


if __name__ == "__main__":
    main()
