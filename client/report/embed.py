#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes one HTML page of page.html, page.css and page.js, as C strings.

    embed.py OUTPUT page.html page.css page.js

In page.html, @page.css@ stands for the file and @hash page.css@ for its digest, by which the page's
Content-Security-Policy allows it. The page is cut in two at @data@: page_head comes before the data,
page_tail behind them."""

import base64
import hashlib
import re
import sys
from pathlib import Path


def fill(page, files):
    """PAGE with each @NAME@ replaced by that file and each @hash NAME@ by its digest."""

    def replace(match):
        data = files[match[2]]
        if not match[1]:
            return data
        return "sha256-" + base64.b64encode(hashlib.sha256(data.encode()).digest()).decode()

    return re.sub(r"@(hash )?([a-z]+\.[a-z]+)@", replace, page)


def c_array(name, text):
    data = text.encode("ascii")  # so that the page is what was checked in, whatever reads it
    rows = (data[i : i + 20] for i in range(0, len(data), 20))
    lines = ",\n".join("    " + ", ".join(f"{byte}" for byte in row) for row in rows)
    return f"const char {name}[] = {{\n{lines}, 0}};\n"


def main():
    output, page, *others = map(Path, sys.argv[1:])
    files = {file.name: file.read_text() for file in others}
    head, tail = fill(page.read_text(), files).split("@data@")
    parts = ['/* Made by client/report/embed.py. */\n#include "page.h"\n']
    parts += [c_array("page_head", head), c_array("page_tail", tail)]
    output.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
