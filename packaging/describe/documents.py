#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes a Markdown page of the sources as it is installed.

    documents.py SHARE SOURCE [PAGE=PLACE...] > DOCUMENT

SOURCE is the page, from the root of the sources on; each PAGE is a file or folder of the sources that is installed
as PLACE, from the folder SHARE on. A link to one of these leads to where it is then, and any other link into the
sources loses its link, and so does one to a page of a package that need not be installed beside this one. A file in ELSEWHERE is named by the
path that the packages give it. What stands between `<!-- sources -->` and `<!-- /sources -->` is left out, and
`<!-- installed` with a `-->` on a line of its own shows what is between them. Commands name the programs and files
that are installed."""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
# Files of the sources that the packages install elsewhere, and not as pages beside others.
ELSEWHERE = {
    "CHANGELOG.md": "/usr/share/doc/rubricd/changelog.gz",
    "LICENSE": "/usr/share/doc/rubricd/copyright",
    "client/python/README.md": "/usr/share/doc/python3-rubricd/README.md",
    "conf/rubricd.conf": "/etc/rubricd/rubricd.conf",
}
# Which packages are there if that of a page is.
BESIDE = {
    "rubricctl": {"rubricctl"},
    "rubricd": {"rubricd", "rubricctl"},
    "rubricd-fleet": {"rubricd-fleet", "rubricctl"},
    "rubricd-http": {"rubricd-http", "rubricd", "rubricctl"},
}
PROGRAMS = re.compile(r"\bbuild/(?:client|daemon)/(?:http/|fleet/)?(?=rubric)")


def package_of(place):
    """Returns the package that has PLACE; the bench and the schemas are in that of the client."""
    return place.split("/")[1] if place.startswith("doc/") else "rubricctl"


def relocate(link, source, places):
    """Returns LINK, a match, as the installed page has it."""
    image, text, target = link.groups()
    path, mark, anchor = target.partition("#")
    if re.match(r"[a-z]+:", target) or not path:
        return link[0]
    wanted = os.path.normpath(os.path.join(os.path.dirname(source), path))
    if not (ROOT / wanted).exists():
        sys.exit(f"{source}: {target}: there is no such file")
    for page, place in places.items():
        if wanted == page or wanted.startswith(page + "/"):
            there = os.path.relpath(place + wanted[len(page) :], os.path.dirname(places[source]))
            # The name of a file in the sources says nothing where there are none.
            text = os.path.basename(there) if text.strip("`") == wanted else text
            if package_of(place) in BESIDE[package_of(places[source])]:
                return f"[{text}]({there}{mark}{anchor})"
            return f"{text} (package {package_of(place)})"
    if image:
        return ""
    if wanted in ELSEWHERE:
        named = f"`{ELSEWHERE[wanted]}`"
        return named if text.strip("`") == wanted else f"{text} ({named})"
    return f"{text} (in the sources)" if text.strip("`") in (wanted, os.path.dirname(wanted)) else text


def installed(text, source, places, share):
    """Returns TEXT, the page SOURCE, as it is installed."""
    text = re.sub(r"<!-- sources -->\n.*?<!-- /sources -->\n", "", text, flags=re.S)
    text = re.sub(r"<!-- installed\n(.*?)-->\n", r"\1", text, flags=re.S)
    text = LINK.sub(lambda link: relocate(link, source, places), text)
    text = PROGRAMS.sub("", text)
    text = re.sub(r"(?<![\w/.])proto/schema\b", f"{share}/rubricd/schema", text)
    return re.sub(r"\btests/data/bench\b", f"{share}/rubricd/bench", text)


def main():
    share, source, *pairs = sys.argv[1:]
    places = dict(pair.split("=", 1) for pair in pairs)
    sys.stdout.write(installed((ROOT / source).read_text("utf-8"), source, places, share))


if __name__ == "__main__":
    main()
