#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares proto/extraction.c with a second implementation of the rules in its header, written here
with Python's own means (regular expressions, textwrap.dedent), and with the files in tests/data/extraction.

    extraction_check.py DRIVER [COUNT [SEED]]

DRIVER is the program built from extraction_driver.c. COUNT is the number of random texts (default: 20,000).
Prints TAP, one line for each check."""

import random
import re
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "data" / "extraction"
TAGS = {"p": {"python", "py", "python3", "py3"}, "s": {"sh", "bash", "shell"}}
BLANK = " \t\r"
SPACE = " \t\r\n\v\f"
WORD = r"a-zA-Z0-9\x80-\xff"


# --- the second implementation; a text is a str in which each character is one byte ---------------


def without_thoughts(text):
    tags = []  # (begin, end, what): tags in use, and mere mentions of <think>
    for m in re.finditer(r"""(?P<q>(?<=['"`]))?<think>|</think>(?P<e>['"]|`(?!``))?""", text):
        if m[0].startswith("<think>"):
            tags.append((m.start(), m.end(), "spoken" if m["q"] is not None else "start"))
        elif m["e"] is None:
            tags.append((m.start(), m.end(), "end"))
    kept, position, spoken = "", 0, False
    while tags:
        begin, end, what = tags.pop(0)
        if what == "spoken":
            spoken = True
        elif what == "start":
            kept += text[position:begin]
            depth, last = 1, None
            for i, (_, _, inner) in enumerate(tags):
                depth += {"start": 1, "end": -1, "spoken": 0}[inner]
                last = i if inner == "end" else last
                if depth == 0:
                    break
            if last is None:
                return kept
            position = tags[last][1]
            tags = tags[last + 1 :]
        elif not spoken:
            kept, position = "", end
    return kept + text[position:]


END_MARK = r"(?:</s>|<eos>|<end_of_turn>|<\|[a-zA-Z0-9_]+\|>)"


def without_marks(text):
    """Drops a byte order mark (its three bytes) and the marks that models end with."""
    text = text.removeprefix("\xef\xbb\xbf")
    while m := re.search(rf"{END_MARK}[{SPACE}]*\Z", text):
        text = text[: m.start()]
    return text


def tag_of(info):
    return re.match(rf"[{BLANK}]*(?:\{{[{BLANK}]*\.?)?([{WORD}_+#.-]*)", info)[1].lower()


def fence_in(line, column):
    """Returns the first fence from COLUMN that opens a block: (match, kind, inside, behind)."""
    runs = list(re.finditer(r"`{3,}|~{3,}", line))
    for run in runs:
        if run.start() < column:
            continue
        if run[0][0] == "~" and re.search(rf"[{WORD}]$", line[: run.start()]):
            continue
        second = next((r for r in runs if r.start() >= run.end() and r[0][0] == run[0][0]), None)
        info = line[run.end() :]
        if second is None:
            if not line[: run.start()].strip(BLANK) or not info.strip(BLANK) or re.match(r"[a-zA-Z{]", info):
                return run, "block", info, len(line)
        elif len(second[0]) >= len(run[0]):
            if not line[second.end() :].strip(BLANK):
                return run, "one line", line[run.end() : second.start()], second.end()
            column = second.end()
    return None


def end_in(line, fence, wanted):
    """Returns where on the line the block's code ends and whether the line is used up, or None if the code
    continues."""
    run = rf"{fence[0]}{{{len(fence)},}}"
    stripped = re.sub(rf"(?:[{BLANK}]|{END_MARK})*\Z", "", line)
    if re.search(run + r"\Z", stripped):
        runs = list(re.finditer(run, stripped))
        if len(runs) > 1:
            return None
        return (runs[0].start() if stripped[: runs[0].start()].strip(BLANK) else 0), True
    if re.match(rf"[{BLANK}]*{run}", line):
        found = fence_in(line, 0)
        begins = found and found[1] == "block" and not line[: found[0].start()].strip(BLANK)
        if begins and tag_of(found[2]) in wanted:
            return 0, False
    return None


def open_string(text):
    """Returns where the triple-quoted string begins that is still open at the end of TEXT, or None."""
    position = 0
    while m := re.compile("\"\"\"|'''").search(text, position):
        end = text.find(m[0], m.end())
        if end < 0:
            return m.start()
        position = end + 3
    return None


def end_of_block(text, start, fence, wanted):
    """Returns (end of the code, where to continue, whether the block ended)."""
    position = start
    while position < len(text):
        line = text[position:].split("\n", 1)[0]
        behind = min(position + len(line) + 1, len(text))
        found = end_in(line, fence, wanted)
        if found:
            end = position + found[0]
            result = end, behind if found[1] else position, True
            string = open_string(text[start:end])
            if string is None or text.find(text[start + string] * 3, start + string + 3) < 0:
                return result
        position = behind
    return len(text), len(text), False


def blocks_of(text, wanted):
    """Returns all blocks: dicts with rank (lowest is best), code, before, behind, bare, ended."""
    blocks, position = [], 0
    while position < len(text):
        line = text[position:].split("\n", 1)[0]
        found = fence_in(line, 0)
        next_line = position + len(line) + 1
        if found is None:
            position = next_line
            continue
        run, kind, inside, _ = found
        before = text[:position] if not line[: run.start()].strip(BLANK) else text[: position + run.start()]
        if kind == "one line":
            code = inside.strip(BLANK)
            word, *rest = re.split(rf"[{BLANK}]+", code, maxsplit=1)
            if rest and word.lower() in wanted:
                code = rest[0]
            blocks.append({"rank": 3, "code": code, "before": before, "bare": False, "ended": True})
            position = next_line
            continue
        end, position, ended = end_of_block(text, min(next_line, len(text)), run[0], wanted)
        tag = tag_of(inside)
        blocks.append({
            "rank": 0 if tag in wanted else 2 if tag else 1,
            "code": text[min(next_line, len(text)) : end],
            "before": before,
            "bare": not inside.strip(BLANK),
            "ended": ended,
        })
    return blocks


def like_prose(text):
    return re.match(rf"[{SPACE}]*(?:[A-Z](?![A-Z_])|[\x80-\xff*]|##)", text) is not None


def extract(text, wanted):
    """Returns (whether there is a fence, code)."""
    text = without_marks(without_thoughts(text).replace("\r\n", "\n"))
    blocks = blocks_of(text, wanted)
    if not blocks:
        return False, text
    first, full = blocks[0], [b for b in blocks if b["code"].strip(SPACE)]
    if first["bare"] and first["before"].strip(SPACE):
        ambiguous = len(blocks) == 1 and not first["ended"]
        if not full or (ambiguous and like_prose(first["code"]) and not like_prose(first["before"])):
            return True, first["before"]
    if not full:
        return False, ""
    best = min(full, key=lambda b: b["rank"])
    return True, best["code"] if best["rank"] == 3 else textwrap.dedent(best["code"])


# --- texts ------------------------------------------------------------------------------------

PIECES = (
    ["\n"] * 14 + ["\r\n"] * 2 + ["\r"] + ["```"] * 8 + ["````"] * 2 + ["`````", "``", "`"]
    + ["~~~"] * 3 + ["~~~~", "~", "python"] + ["```python\n"] * 3 + ["```bash\n", "~~~py\n", "\n```\n", "\n```\n"]
    + ["python", "Py", "py3", "PYTHON3", "bash", "sh", "json", "{.python}", "{python}", "{ .py .x}", " title=x"]
    + [" "] * 6 + ["    "] * 3 + ["\t", "x = 1", "def f():", "    return 1", "Text", "TEXT", "some text", "##", "*"]
    + ['"""', '"""', "'''", "'", '"', "<think>", "<think>", "</think>", "</think>", "\0", "\xc3\xa9", ":",
       "</s>", "</s>", "<|im_end|>", "<|im_end|>", "<|", "|>", "<eos>", "\xef\xbb\xbf", "{", ".", "\v", "\f"]
)


def pieces(rng, few=False):
    alphabet = rng.sample(PIECES, rng.randint(2, 6)) if few else PIECES
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 30)))


def answer(rng):
    """Returns a text that a model could have written, with occasional mistakes."""
    out = []
    for _ in range(rng.randint(1, 4)):
        mark = rng.choice(["```", "```", "```", "````", "~~~"])
        tag = rng.choice(["", "", "python", "py", "Python3", "bash", "text", " python", "python title=x"])
        indent = rng.choice(["", "", "", "  ", "    ", "\t"])
        lines = rng.choices(
            ["def f():", "    return 1", "", "  ", '    """Say:', '    """', "    ```", "    ```python", "'''", "x = 1",
             "\treturn 2", "# `x` and ```y```", "````", "~~~", "Text"],
            k=rng.randint(0, 6),
        )
        body = "".join(indent + line + "\n" for line in lines)
        end = rng.choice([mark + "\n", mark + "\n", mark + "</s>", mark + " <|im_end|> </s>\n", indent + mark + "\n", mark, "", mark + "`\n", mark + " then\n"])
        if rng.random() < 0.2:
            body = body.rstrip("\n")
        prose = rng.choice(["Sure!\n", "Here: ", "so\n", "", "\n", "x = 2\n", "Wrap it in ``` please.\n", "Call ```f``` so.\n"])
        out.append(prose + indent + mark + tag + "\n" + body + end)
    head = rng.choice(["", "", "\xef\xbb\xbf", "<think>```\nno\n```</think>", "hm</think>"])
    return head + "".join(out) + rng.choice(["", "", "", "</s>", "\n<|endoftext|>\n"])


def to_dedent(rng):
    """Returns a block that exercises indentation."""
    lines = (
        "".join(rng.choice("  \t") for _ in range(rng.randint(0, 5))) + rng.choice(["", "", "a", "b c", "d \t"])
        for _ in range(rng.randint(1, 6))
    )
    return "```\n" + "\n".join(lines) + rng.choice(["\n```", "", "\n"])


MAKERS = {
    "pieces of fences": pieces,
    "few kinds of pieces": lambda rng: pieces(rng, few=True),
    "answers": answer,
    "indentation": to_dedent,
}


def run_driver(driver, cases):
    """Runs DRIVER on CASES, [(kind, bytes)]; returns [(fenced, code)]."""
    data = b"".join(kind.encode() + struct.pack(">I", len(text)) + text for kind, text in cases)
    out = subprocess.run([driver], input=data, stdout=subprocess.PIPE, check=True).stdout
    results, at = [], 0
    while at < len(out):
        fenced, length = struct.unpack_from(">?I", out, at)
        results.append((fenced, out[at + 5 : at + 5 + length]))
        at += 5 + length
    assert len(results) == len(cases), f"{len(results)} results of {len(cases)} cases"
    return results


def compare(driver, make, count, rng):
    """Returns the first difference as text or None, and how many results were of each sort."""
    cases = [(rng.choice("pps"), make(rng)) for _ in range(count)]
    results = run_driver(driver, [(kind, text.encode("latin-1")) for kind, text in cases])
    differences, fenced_count = [], 0
    for (kind, text), (fenced, code) in zip(cases, results):
        expected = extract(text, TAGS[kind])
        fenced_count += fenced
        if (fenced, code.decode("latin-1")) != expected:
            differences.append((len(text), f"{kind} {text!r}\n  got {(fenced, code)}\n  expected {expected}"))
    return min(differences, default=(0, None))[1], len(differences), fenced_count


def corpus():
    """Yields (name, kind, text, expected) of each file. A name that begins with `shell-` asks for shell."""
    for file in sorted(CORPUS.glob("*.txt")):
        how, _, code = file.with_suffix(".expected").read_bytes().partition(b"\n")
        assert how in (b"fenced", b"bare"), f"{file.stem}.expected: {how}"
        kind = "s" if file.name.startswith("shell-") else "p"
        yield file.stem, kind, file.read_bytes(), (how == b"fenced", code)


def main():
    driver = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    checks = []

    files = list(corpus())
    checks.append(("the corpus is there", len(files) >= 30, f"{len(files)} files"))
    for (name, kind, text, expected), got in zip(files, run_driver(driver, [f[1:3] for f in files])):
        checks.append((f"{name}: the program", got == expected, f"got {got}, expected {expected}"))
        fenced, code = extract(text.decode("latin-1"), TAGS[kind])
        again = fenced, code.encode("latin-1")
        checks.append((f"{name}: the rules once more", again == expected, f"got {again}, expected {expected}"))

    for name, make in MAKERS.items():
        share = count // len(MAKERS)
        difference, number, fenced = compare(driver, make, share, random.Random(f"{seed} {name}"))
        checks.append((f"{share} texts of {name}", number == 0, f"{number} differ, the shortest: {difference}"))
        checks.append((f"{name}: with and without a fence", 0 < fenced < share, f"{fenced} of {share} with one"))

    print(f"1..{len(checks)}")
    for i, (name, good, why) in enumerate(checks, 1):
        print(f"{'ok' if good else 'not ok'} {i} - {name}")
        if not good:
            print("\n".join("# " + line for line in why.splitlines()))
    return 0 if all(good for _, good, _ in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
