#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes a manual page: the prose of a template, completed from tables.

    manpages.py TEMPLATE SOURCE [NAME=VALUE...] > PAGE

A line @NAME@ of the template is replaced by lines made from SOURCE: the tables that `describe`
prints, the annotated configuration, or the page on the protocol. @VALUE@ within a line is replaced
by the value that the command line gives."""

import json
import re
import sys

import mdoc


def option_lines(options):
    lines = [".Bl -tag -width Ds"]
    for option in options:
        value = f" Ar {mdoc.quoted(option['argument'])}" if option["argument"] else ""
        if option["optional_argument"]:
            value = f" Ns Oo No = Ns Ar {mdoc.quoted(option['optional_argument'])} Oc"
        long = f"Fl \\-{option['name']}{value}"
        lines.append(f".It Fl {option['letter']} , {long}" if option["letter"] else f".It {long}")
        names = [option["argument"]] if option["argument"] else []
        text = mdoc.sentence(option["help"])
        lines += mdoc.prose(text, [name for name in names if name.isalpha()])
        if "range" in option and "default" not in option["help"]:
            low, high = option["range"]
            if high < 2**31 - 1 and f"{low} to" not in option["help"]:
                lines.append(f"A number from {low} to {high}.")
    return [*lines, ".El"]


def command_lines(command, program="rubricctl"):
    arguments = command["arguments"]
    lines = [f".Ss {program} {command['name']}", ".Bd -ragged -compact"]
    lines.append(f".Nm Cm {command['name']} Op Ar option ...")
    if arguments:
        lines += [f".Ar {mdoc.quoted(arguments)}"]
    lines += [".Ed", ".Pp"]
    lines += mdoc.help_text(command["description"])
    if command["options"]:
        lines += [".Pp", "Options:", *option_lines(command["options"])]
    exits = mdoc.help_text(command["exits"], indented_is_prose=True)
    lines += [".Pp", "Exit status:", ".Pp", *exits]
    return [*lines, ".Pp", "Examples:", *mdoc.literal(command["examples"])]


def fill_from_tables(tables):
    client = tables["rubricctl"]
    commands = client["commands"]
    fleet = tables.get("rubricctl-fleet", {"options": [], "commands": []})
    return {
        "fleet options": option_lines(fleet["options"]),
        "fleet briefs": mdoc.items([(c["name"], c["brief"]) for c in fleet["commands"]]),
        "fleet commands": [line for c in fleet["commands"] for line in command_lines(c, "rubricctl fleet")],
        "client options": option_lines(client["options"]),
        "gateway options": option_lines(tables["rubricd-http"]["options"]),
        "daemon options": option_lines(tables["rubricd"]["options"]),
        "commands": [line for command in commands for line in command_lines(command)],
        "kinds": mdoc.items([(kind["name"], kind["summary"]) for kind in client["kinds"]]),
        "briefs": mdoc.items([(c["name"], c["brief"]) for c in commands]),
        "messages": mdoc.items([(m["name"], m["id"]) for m in tables["messages"]]),
        "exits": mdoc.help_text(client["exits"], indented_is_prose=True),
    }


# --- the annotated configuration -----------------------------------------------------------------


def entry_lines(keys, comment):
    lines = []
    for number, (key, value) in enumerate(keys, 1):
        lines.append(f".It Cm {key} Li = {mdoc.quoted(value) if value else ''}".rstrip())
        if number < len(keys):
            lines.append("\\&")
    return lines + paragraphs(comment)


def paragraphs(comment):
    lines = []
    for text in "\n".join(comment).split("\n\n"):
        lines += [".Pp"] * bool(lines) + mdoc.prose(text)
    return lines


def notes(text):
    """The text above the first section, without the title and the place of the file."""
    head = text.split("\n\n\n")[0]
    comments = "\n".join(line[2:] for line in head.splitlines()).split("\n\n")
    return paragraphs("\n\n".join(comments[2:]).split("\n"))


def settings(text):
    """Each section with its keys, their defaults, and the comments above them."""
    lines, comment, keys = [], [], []
    in_list = False

    def finish():
        nonlocal comment, keys, in_list
        if keys:
            if not in_list:
                lines.append(".Bl -tag -width Ds")
                in_list = True
            lines.extend(entry_lines(keys, comment))
            comment, keys = [], []

    for line in text.splitlines():
        section, key = re.fullmatch(r"\[(\w+)\]", line), re.fullmatch(r"#(\w+) =(.*)", line)
        if section:
            finish()
            lines += [".El"] * in_list + [f".Ss \\&[{section[1]}]\\&", *paragraphs(comment)]
            comment, in_list = [], False
        elif key:
            keys.append((key[1], key[2].strip()))
        elif line.startswith("#"):
            finish()
            comment.append(line[2:])
        elif not keys:
            # The page has its own words for the text above the first section.
            comment = comment if in_list else []
    finish()
    return {"settings": lines + [".El"] * in_list, "notes": notes(text)}


def main():
    template, source, *values = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    if source.endswith(".json"):
        filled = fill_from_tables(json.loads(text))
    elif source.endswith(".md"):
        filled = {"markdown": mdoc.markdown(text)}
    else:
        filled = settings(text)
    with open(template, encoding="utf-8") as file:
        for line in file.read().splitlines():
            for value in values:
                name, _, content = value.partition("=")
                line = line.replace(f"@{name}@", content)
            block = re.fullmatch(r"@([\w ]+)@", line)
            print("\n".join(filled[block[1]]) if block else line)


if __name__ == "__main__":
    main()
