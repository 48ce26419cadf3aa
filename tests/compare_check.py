#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the rules in daemon/compare with a second implementation of them, written here from their descriptions
with Python's own means: str.split(), str.splitlines(), float(), decimal.Decimal(), round(), which the origins of
`livecodebench` and `apps` use, too.

    compare_check.py DRIVER [COUNT [SEED]]

DRIVER is the program built from compare_driver.c. COUNT is the number of random pairs of outputs for each rule
(default: 4,000). Prints TAP, one line for each check."""

import math
import random
import re
import struct
import subprocess
import sys
import unicodedata
from decimal import Decimal, InvalidOperation

# --- the rules once more --------------------------------------------------------------------------


def exact(got, expected):
    return got == expected


def lines(got, expected):
    def normal(text):
        rows = [row.rstrip(b" \t\r") for row in text.split(b"\n")]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    return normal(got) == normal(expected)


def tokens(got, expected):
    return re.split(rb"[ \t\n\v\f\r]+", b" " + got + b" ") == re.split(rb"[ \t\n\v\f\r]+", b" " + expected + b" ")


EPSILON = sys.float_info.epsilon
PLAIN = re.compile(rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.I)


def as_float(word, pattern=PLAIN):
    return float(word.decode()) if pattern.fullmatch(word) else None


def close(got, expected, absolute, relative):
    if math.isnan(got) or math.isnan(expected):
        return math.isnan(got) and math.isnan(expected)
    if math.isinf(got) or math.isinf(expected):  # or too large for a double
        return False
    most = max(absolute, relative * abs(expected))
    return most > 0 and abs(got - expected) <= most + EPSILON * abs(got) + EPSILON * abs(expected)


def equal(got, expected):
    """Whether two numbers are, to the last digit."""
    try:
        got, expected = (Decimal(word.decode()) for word in (got, expected))
    except InvalidOperation:  # an exponent beyond all bounds
        return False
    return got.is_finite() and got == expected


def is_inf(got, expected):
    """Whether both are infinities of one sign, and say so."""
    return all(b"i" in word.lower() for word in (got, expected)) and float(got) == float(expected)


def floats(absolute, relative):
    def compare(got, expected):
        left, right = got.split(), expected.split()  # of bytes: the blanks of C
        if len(left) != len(right):
            return False
        for mine, theirs in zip(left, right):
            a, b = as_float(mine), as_float(theirs)
            if mine == theirs:
                continue
            if a is None or b is None or not (equal(mine, theirs) or is_inf(mine, theirs) or close(a, b, absolute, relative)):
                return False
        return True

    return compare


def text(output):
    """Bytes that are no UTF-8 become surrogates, which are neither blank nor digits."""
    return output.decode("utf-8", "surrogateescape")


def livecodebench(got, expected):
    left, right = ([row.strip() for row in text(side).strip().split("\n")] for side in (got, expected))
    if len(left) != len(right):
        return False
    for mine, theirs in zip(left, right):
        if mine == theirs:
            continue
        try:
            if [Decimal(word) for word in mine.split()] != [Decimal(word) for word in theirs.split()]:
                return False
        except (InvalidOperation, ValueError):
            return False
    return True


def allclose(got, expected):
    return len(got) == len(expected) and all(
        a == b if not (math.isfinite(a) and math.isfinite(b)) else abs(a - b) <= 1e-8 + 1e-5 * abs(b)
        for a, b in zip(got, expected)
    )


def rounded(sets):
    return {frozenset(round(float(word), 3) for word in words) for words in sets}


def apps(got, expected):
    output, wanted = text(got).splitlines(), text(expected)
    for rows in (output, [row.strip() for row in output]):
        if "\n".join(rows).strip() == wanted.strip():
            return True
    wanted = [row.strip() for row in wanted.split("\n") if row]
    if output == wanted:
        return True
    output = [row for row in output if row]
    if output == wanted:
        return True
    try:
        if allclose([float(row) for row in output], [float(row) for row in wanted]):
            return True
    except ValueError:
        pass
    left = [set(row.split()) for row in output if row.split()]
    right = [set(row.split()) for row in wanted]
    if {frozenset(words) for words in left} == {frozenset(words) for words in right}:
        return True
    try:
        return rounded(left) == rounded(right)
    except ValueError:
        return False


ABSEIL = re.compile(
    rb"\f*(?:\+|-)?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan(?:\([0-9a-z_]*\))?)\f*", re.I
)


def codecontests(got, expected):
    left, right = ([word for word in re.split(rb"[ \n\t\r\v]+", side.lower()) if word] for side in (got, expected))
    if left == right:
        return True
    if len(left) != len(right):
        return False
    for mine, theirs in zip(left, right):
        if ABSEIL.fullmatch(mine) and ABSEIL.fullmatch(theirs):
            a, b = (float(word.partition(b"(")[0].strip(b"\f").decode()) for word in (mine, theirs))
            if not abs(a - b) < 1e-5:
                return False
        elif mine != theirs:
            return False
    return True


RULES = {
    "exact": exact,
    "lines": lines,
    "tokens": tokens,
    "float:1e-6,1e-9": floats(1e-6, 1e-9),
    "float:0,0.01": floats(0, 0.01),
    "livecodebench": livecodebench,
    "apps": apps,
    "codecontests": codecontests,
}

# --- the driver -----------------------------------------------------------------------------------


def pack(part):
    return struct.pack(">I", len(part)) + part


def run_driver(driver, questions):
    """Yields (differs, line, got, expected, why) for each (rule, got, expected)."""
    stdin = b"".join(pack(rule.encode()) + pack(got) + pack(expected) for rule, got, expected in questions)
    out = subprocess.run([driver], input=stdin, stdout=subprocess.PIPE, check=True).stdout
    position = 0

    def take(n):
        nonlocal position
        position += n
        return out[position - n : position]

    for _ in questions:
        differs, line = struct.unpack(">BI", take(5))
        yield differs, line, *(take(struct.unpack(">I", take(4))[0]) for _ in range(3))
    assert position == len(out)


# --- outputs --------------------------------------------------------------------------------------

# Digits that have been in Unicode for long: the rules know those of Unicode 14.
OLD = unicodedata.ucd_3_2_0
UNICODE_14 = unicodedata.unidata_version == "14.0.0"
ZEROS = [chr(c) for c in range(0x660, 0x11000) if OLD.decimal(chr(c), -1) == 0]
BLANKS = [" ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\xa0"]
BLANKS += ["\u1680", "\u2000", "\u200a", "\u200b", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff", "\0"]
WORDS = ["a", "b", "yes", "YES", "Yes", "nan", "NaN", "-nan", "snan", "nan1", "n_an", "inf", "-inf", "Infinity", "infinit"]
WORDS += ["1e999999999999", "10e999999999998", "1e-999999999999", "1e1000000000000000000", "0.1e1000000000000000000"]
WORDS += ["0e1000000000000000000", "1e-1999999999999999998", "9" * 400, "1" + "0" * 400, "0." + "0" * 400 + "1", "5e-324"]
WORDS += ["2.4703282292062328e-324", "1_000", "_1", "1_", "1__0", "1_.0", "1e1_0", "0x10", "0x1p3", "nan()", "nan(x_1)"]
WORDS += ["nan(", "inf(1)", "++1", "+-1", "-", "+", ".", "1.", ".5", "1e", "e1", "1e+", "1.5.2", "1,5", "\xe9", "\0", "1\0"]
WORDS += ["9007199254740993", "9007199254740992", "50000000000000000", "50000000000000001", "0.0625", "0.0635", "2.0005"]
RAW = [b"\xff", b"\xc2", b"\xe2\x80", b"\xf0\x9f\x98", b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\xc2\x85"]


def foreign(rng, word):
    zero = ord(rng.choice(ZEROS))
    return "".join(chr(zero + int(c)) if c in "0123456789" and rng.random() < 0.7 else c for c in word)


def number(rng):
    value = rng.choice([0, 1, 2, 10, 12, 100, 123, 1000, 0.5, 1.25, 0.001, 0.0005, 3.14159, 1e-9, 1e5])
    value += rng.choice([0, 0, 0, 1e-9, 1e-6, 9e-6, 1e-5, 1.1e-5, 5e-4, 1e-3])
    shape = rng.choice(["{}", "{}", "{:.1f}", "{:.3f}", "{:.9f}", "{:e}", "{:.0f}", "{:+}", "{:08}", "{:E}", "{:_}"])
    word = rng.choice(["", "", "", "-"]) + shape.format(value)
    return foreign(rng, word) if rng.random() < 0.1 else word


def respell(rng, word):
    """Returns another spelling of the word, or one that is nearly one."""
    kind = rng.randrange(8)
    if kind == 0:
        return word.swapcase()
    if kind == 1:
        return word + (".0" if "." not in word else "0")
    if kind == 2:
        return "0" + word
    if kind == 3:
        return word + "e0"
    if kind == 4:
        return foreign(rng, word)
    if kind == 5:
        return word[:1] + "_" + word[1:]
    if kind == 6:
        return "+" + word
    try:
        return repr(float(word) + rng.choice([1e-9, 9e-6, -1.1e-5, 4e-4]))
    except ValueError:
        return word + "x"


def make_words(rng):
    few = [rng.choice(WORDS) if rng.random() < 0.3 else number(rng) for _ in range(rng.choice([1, 1, 2, 3, 5, 8]))]
    return [rng.choice(few) for _ in range(rng.randrange(9))]


def blank(rng):
    return rng.choice(BLANKS) if rng.random() < 0.25 else rng.choice([" ", "\n"])


def join(rng, words):
    out = b"".join(blank(rng).encode() + word.encode() for word in words)
    if rng.random() < 0.05:
        place = rng.randrange(len(out) + 1)
        out = out[:place] + rng.choice(RAW) + out[place:]
    return out + (blank(rng).encode() if rng.random() < 0.5 else b"")


def make_pair(rng):
    words = make_words(rng)
    got = join(rng, words)
    kind = rng.randrange(7)
    if kind == 0:
        return got, join(rng, words)
    if kind == 1:
        return got, join(rng, [respell(rng, word) if rng.random() < 0.5 else word for word in words])
    if kind == 2:
        return got, b"\n".join(sorted(got.split(b"\n"), key=lambda _: rng.random()))
    if kind == 3:
        return got, join(rng, rng.sample(words, len(words)))
    if kind == 4 and got:
        place = rng.randrange(len(got))
        return got, got[:place] + rng.choice([b"", b" ", b"\n", b"0", b"\r"]) + got[place + rng.randrange(2) :]
    if kind == 5:
        rows = got.split(b"\n")
        return got, b"\n".join(row + rng.choice([b"", b"", b" ", b"\n", b" \n"]) for row in rows)
    return got, join(rng, [respell(rng, word) for word in words])


# --- the checks -----------------------------------------------------------------------------------


def check_rule(driver, rule, pairs):
    wrong, equal = [], 0
    answers = run_driver(driver, [(rule, got, expected) for got, expected in pairs])
    for (got, expected), (differs, line, shown_got, shown_expected, why) in zip(pairs, answers):
        want = RULES[rule](got, expected)
        equal += want
        sound = all(len(part.decode()) >= 0 and len(part) <= 240 for part in (shown_got, shown_expected))
        sound = sound and (bool(why) if differs else not (why or line or shown_got or shown_expected))
        sound = sound and (not differs or 1 <= line <= got.count(b"\n") + 1)
        if bool(differs) == want or not sound:
            wrong.append((len(got) + len(expected), got, expected, want, (differs, line, why)))
    return equal, sorted(wrong)


def choose_characters():
    """Returns all characters that are blanks or decimal digits, those beside them, and some others."""
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    special = {c for c in points if chr(c).isspace() or unicodedata.decimal(chr(c), -1) >= 0}
    beside = {c + d for c in special for d in (-1, 0, 1)}
    some = beside | set(range(1, 0x200)) | set(random.Random(1).sample(points, 3000))
    return [c for c in points if c in some and (UNICODE_14 or OLD.category(chr(c)) != "Cn")]


def check_characters(driver):
    """Returns how many characters were tried as blanks, line breaks and digits, and what came out wrong."""
    known = choose_characters()
    questions = []
    for c in known:
        spelled = chr(c).encode()
        questions.append(("livecodebench", b"1" + spelled + b"1.0", b"1 1"))  # a blank, or not
        questions.append(("livecodebench", spelled, b"%d.0" % unicodedata.decimal(chr(c), 0)))
        questions.append(("apps", b"x" + spelled + b"y", b"y\nx"))  # a line break, or not
    wrong = []
    for (rule, got, expected), (differs, *_) in zip(questions, run_driver(driver, questions)):
        if bool(differs) == RULES[rule](got, expected):
            wrong.append((rule, got, expected))
    return len(known), wrong


def main():
    driver = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    checks = []
    known, wrong = check_characters(driver)
    checks.append((f"blanks, line breaks and digits among {known} characters", not wrong, f"{wrong[:3]}"))
    for rule in RULES:
        rng = random.Random(f"{seed} {rule}")
        pairs = [make_pair(rng) for _ in range(count)]
        equal, wrong = check_rule(driver, rule, pairs)
        checks.append((f"{rule}: {count} pairs", not wrong, f"{len(wrong)} wrong, the shortest: {wrong[:1]}"))
        checks.append((f"{rule}: some equal, some not", count * 0.02 < equal < count * 0.98, f"{equal} equal"))

    print(f"1..{len(checks)}")
    for i, (name, good, why) in enumerate(checks, 1):
        print(f"{'ok' if good else 'not ok'} {i} - {name}")
        if not good:
            print("\n".join("# " + line for line in why.splitlines()))
    return 0 if all(good for _, good, _ in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
