#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that every relative link in the documents of an installation leads to a file of it.

    installed_links.py ROOT

ROOT is what `meson install --destdir` wrote, or the packages unpacked into one folder. Exits with 1 after naming the
links that lead nowhere, and fails if there is no document."""

import gzip
import re
import sys
from pathlib import Path


def documents(root):
    """Returns the Markdown below ROOT; the changelog is Markdown, too, whatever it is called there."""
    below = [path for share in root.rglob("share") for path in share.rglob("*") if path.is_file()]
    return [path for path in below if ".md" in path.suffixes or re.fullmatch(r"changelog(\.gz)?", path.name)]


def text_of(path):
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


def dead_links(path):
    """Returns the relative links of PATH that lead to no file; links in code are none."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text_of(path), flags=re.S)
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", text)
    return [link for link in found if not re.match(r"[a-z]+:", link) and not (path.parent / link).exists()]


def main():
    root = Path(sys.argv[1])
    found = sorted(set(documents(root)))
    dead = [f"/{path.relative_to(root)}: {link}: there is no such file" for path in found for link in dead_links(path)]
    print(*dead, sep="\n", end="\n" if dead else "")
    if not found:
        sys.exit(f"{root}: no document is installed")
    sys.exit(1 if dead else 0)


if __name__ == "__main__":
    main()
