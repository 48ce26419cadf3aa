# SPDX-License-Identifier: MIT
"""Turns text of the project's other formats into mdoc(7), the language of manual pages."""

import json
import re
import textwrap

COLUMNS = 78
NO_HYPHEN = "\\%"  # before a word that must not be hyphenated
LITERAL_COLUMNS = 75


def escape(text):
    """TEXT escaped so that it is shown literally, with quotes and dashes as typed."""
    for char, escaped in (("\\", "\\e"), ("'", "\\(aq"), ("`", "\\(ga"), ("^", "\\(ha"), ("~", "\\(ti")):
        text = text.replace(char, escaped)
    return text.replace("-", "\\-")


def literal(text):
    """A block that is shown verbatim."""
    lines = textwrap.dedent(text.strip("\n")).split("\n")
    shown = [escape(line.rstrip()) for line in lines]
    return [".Bd -literal", *(guard(line) for line in shown), ".Ed"]


def guard(line):
    return "\\&" + line if line[:1] in (".", "'") else line


def prose(text, emphasized=()):
    """Filled text with each sentence on a line of its own. `word`, **word** and options are set in
    bold; *word* and the words of EMPHASIZED are underlined."""
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*)", " ".join(text.split()))
    marked = "".join(
        bold(part[1:-1])
        if part[:1] == "`"
        else bold(part[2:-2])
        if part[:2] == "**"
        else plain(part, emphasized)
        for part in parts
    )
    sentences = re.sub(r"([.!?:][)\"]*) (?=[\w\\(\"])", sentence_break, marked).split("\n")
    lines = []
    for sentence in sentences:
        lines += textwrap.wrap(
            sentence, COLUMNS, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return [guard(line) for line in lines if line]


def sentence(text):
    """TEXT as a sentence: capitalized, unless it begins with a name, and with a full stop."""
    first = text.split()[0].rstrip(",;:")
    return (text[:1].upper() if first.isalpha() else text[:1]) + text[1:] + "."


def sentence_break(match):
    return match[1] + ("\n" if match[1][0] != ":" else " ")


def bold(text):
    return "\\fB" + NO_HYPHEN + escape(text) + "\\fR"


def plain(text, emphasized):
    text = text.replace("\\", "\\e")
    text = re.sub(r"(?<![\w-])(--[a-z][a-z-]*|-[a-zA-Z](?![\w-]))", lambda m: bold(m[1]), text)
    text = re.sub(r"(?<!\S)(?=[$(\"]*\w*[/_.]\w)", lambda m: NO_HYPHEN, text)
    for word in emphasized:
        text = re.sub(rf"(?<![\w/]){re.escape(word)}(?!\w)", rf"\\fI{word}\\fR", text)
    return text


def quoted(text):
    """TEXT as one argument of a macro."""
    return '"' + escape(text).replace('"', "\\(dq") + '"'


# --- help of a command ---------------------------------------------------------------------------


def blocks(text):
    """("prose" | "literal" | "item", text) of help as conf/layout.h describes it."""
    found = []
    for line in text.splitlines():
        item = re.match(r" +(\S+) {2,}(\S.*)", line)
        last = found[-1] if found else ["", ""]
        if not line.strip():
            found.append(["", ""])
        elif not line.startswith(" "):
            kind = "prose"
            if last[0] == kind:
                last[1] += " " + line
            else:
                found.append([kind, line])
        elif item:
            found.append(["item", item[1] + "\n" + item[2]])
        elif last[0] == "item" and line.startswith("    "):
            last[1] += " " + line.strip()
        elif last[0] == "literal":
            last[1] += "\n" + line
        else:
            found.append(["literal", line])
    return [tuple(block) for block in found if block[0]]


def items(pairs):
    """A list of (tag, text), with all texts at the same column."""
    if not pairs:
        return []
    lines = [f".Bl -tag -width {max(max(len(tag) for tag, _ in pairs), 3)}n -compact"]
    for tag, text in pairs:
        lines += [f".It {escape(tag)}", *prose(text)]
    return [*lines, ".El"]


def help_text(text, indented_is_prose=False):
    lines, pending = [], []
    for kind, content in [*blocks(text), ("end", "")]:
        if kind == "item":
            pending.append(tuple(content.split("\n", 1)))
            continue
        if pending:
            lines += [".Pp"] * bool(lines) + items(pending)
        pending = []
        if kind == "literal" and indented_is_prose:
            kind = "prose"
        if kind == "prose":
            lines += [".Pp"] * bool(lines) + prose(content)
        elif kind == "literal":
            lines += literal(content)
    return lines


# --- Markdown ------------------------------------------------------------------------------------

# Columns of tables whose cell is one property of the row's subject.
YES_NO = {
    "required": {"yes": "required", "no": "optional"},
    "null": {"yes": "or null", "no": ""},
    "retriable": {"yes": "retriable", "no": "not retriable"},
}
BODY = ("meaning", "what it does", "what", "when", "content")


def unlink(text):
    """Makes words of links within the page, and drops links to schemas, which a manual page cannot
    follow."""
    text = re.sub(r"\s*\(?\[[Ss]chema\]\(schema/[^)]*\)\)?\.?", "", text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def table(rows):
    header, *body = rows
    lines = [".Bl -tag -width Ds"]
    for first, *cells in body:
        tag, text = [bold_words(first)], []
        for name, cell in zip(header[1:], cells):
            if not cell:
                continue
            if name == "type":
                tag.append(f"\\fI{escape(cell)}\\fR")
            elif name in YES_NO and cell in YES_NO[name]:
                tag += [YES_NO[name][cell]] * bool(YES_NO[name][cell])
            elif name in BODY or len(cells) == 1:
                text.append(cell.rstrip(".") + ".")
            else:
                text.append(f"{name[:1].upper()}{name[1:]}: {cell.rstrip('.')}.")
        lines.append(".It " + ", ".join(tag))
        lines += prose(" ".join(text)) or ["\\&"]
    return [*lines, ".El"]


def bold_words(text):
    """The first cell of a row as the argument of a macro."""
    parts = re.split(r"(`[^`]+`)", text)
    words = "".join(
        bold(part.strip("`")) if part.startswith("`") else part.replace("\\", "\\e") for part in parts
    )
    # Escape words that name a macro, and punctuation: both are text here.
    return '"' + words.replace('"', "\\(dq") + '"'


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def take_while(lines, at, condition):
    end = at
    while end < len(lines) and condition(lines[end]):
        end += 1
    return lines[at:end], end


def bullets(lines):
    """LINES as a list; indented lines continue the text of an item."""
    numbered = lines[0][0].isdigit()
    out = [".Bl -enum" if numbered else ".Bl -bullet"]
    texts = []
    for line in lines:
        if re.match(r"(-|\d+\.) ", line):
            texts.append(line.split(" ", 1)[1])
        else:
            texts[-1] += " " + line
    for text in texts:
        out += [".It", *prose(unlink(text))]
    return [*out, ".El"]


def fitted(block):
    """The lines of a JSON text, broken anew if they are too long for a page."""
    if max(map(len, block)) <= LITERAL_COLUMNS:
        return block
    return set_json(json.loads("\n".join(block)), 0, 0)


def set_json(value, indent, used):
    """VALUE as few lines; the first follows USED characters and so has no indentation."""
    whole = json.dumps(value, ensure_ascii=False)
    if used + len(whole) <= LITERAL_COLUMNS - 1 or not isinstance(value, (dict, list)) or not value:
        return [whole]
    inner = " " * (indent + 2)
    if isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value):
        # Never break an item at its spaces.
        items = [json.dumps(item, ensure_ascii=False).replace(" ", "\0") for item in value]
        wrapped = textwrap.wrap(
            ", ".join(items),
            LITERAL_COLUMNS,
            initial_indent=inner,
            subsequent_indent=inner,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return ["[", *(line.replace("\0", " ") for line in wrapped), " " * indent + "]"]
    lines, parts = [], []
    for key in value:
        name = json.dumps(key) + ": " if isinstance(value, dict) else ""
        item = value[key] if isinstance(value, dict) else key
        first, *more = set_json(item, indent + 2, indent + 2 + len(name))
        parts.append([inner + name + first, *more])
    for number, part in enumerate(parts, 1):
        lines += part[:-1] + [part[-1] + ("," if number < len(parts) else "")]
    left, right = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return [left, *lines, " " * indent + right]


def section(title):
    """Renames headings that mandoc would misread: ERRORS belongs to system calls, and REPORTS passes
    for a misspelling of it."""
    other = {"ERRORS": "ERROR CODES", "REPORTS": "THE REPORT"}
    return other.get(title.upper(), title.upper())


def markdown(text):
    """The sections of a page, without the text above them."""
    lines, out, at = text[text.index("\n## ") + 1 :].splitlines(), [], 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            block, at = take_while(lines, at + 1, lambda l: not l.startswith("```"))
            at += 1
            out += literal("\n".join(fitted(block) if line.startswith("```json") else block))
        elif line.startswith("|"):
            rows, at = take_while(lines, at, lambda l: l.startswith("|"))
            out += table([cells_of(unlink(row)) for row in rows if not re.match(r"\|[-| :]+$", row)])
        elif re.match(r"(-|\d+\.) ", line):
            block, at = take_while(lines, at, lambda l: l.startswith(" ") or re.match(r"(-|\d+\.) ", l))
            out += bullets(block)
        elif line.startswith("#"):
            level, title = line.split(" ", 1)
            title = title.replace("`", "")
            at += 1
            if len(level) > 1:
                out += [f".Sh {section(title)}" if len(level) == 2 else f".Ss {title}"]
        elif not line.strip():
            at += 1
        else:
            block, at = take_while(
                lines, at, lambda l: l.strip() and not l.startswith(("#", "```", "|", "- "))
            )
            words = prose(unlink(" ".join(block)))
            if words and out and not out[-1].startswith((".Sh", ".Ss")):
                out.append(".Pp")
            out += words
    return out
