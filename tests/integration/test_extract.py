# SPDX-License-Identifier: MIT
"""What daemon/checker/extract.py takes for the code in a model's answer, and that its work is bounded. The
module runs here by itself; test_code_exec.py has the same with a daemon."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "daemon" / "checker"))
import extract  # noqa: E402
import program  # noqa: E402

PRELUDE = 'from typing import List\n\n\ndef f(xs: List[int]) -> int:\n    """Adds them"""\n'
GOOD = "def f(xs):\n    return sum(xs)\n"
EXAMPLE = "print(f([1, 2]))\n"


def run(code, prelude=""):
    """Returns what the program of CODE defines."""
    space = {}
    exec(compile(program.compose(prelude, code, "f")[0], "<test>", "exec", dont_inherit=True), space)
    return space


def find(*blocks, code=None, answer="", prelude="", entry_point="f", used=()):
    code = blocks[0] if code is None else code
    return extract.find(code, list(blocks), answer or "```\n".join(blocks), prelude, entry_point, used)


def find_bare(answer, prelude=""):
    return extract.find(answer, [], answer, prelude, "f")


@pytest.mark.parametrize("code", [GOOD, "    return sum(xs)\n", "return sum(xs)\n", "not (Python\n", "", "x = 1\n"])
def test_code_without_a_fence_is_taken_as_it_is(code):
    assert extract.find(code, [], "", PRELUDE, "f") == code
    assert extract.find("\ufeff" + code, [], "", PRELUDE, "f") == code


@pytest.mark.parametrize("code", [GOOD, f"import math\n\n{GOOD}\n\n{EXAMPLE}", "f = sum\n", "if True:\n    def f(xs): return 3\n"])
def test_a_pick_that_defines_the_entry_point_stays(code):
    for prelude in ("", PRELUDE):
        assert find(code, prelude=prelude) == code
        assert find(code, EXAMPLE, "import os\n", prelude=prelude) == code
        assert find_bare(code, prelude) == code


@pytest.mark.parametrize(
    "first",
    ["import math\n", EXAMPLE, "from solution import f\n" + EXAMPLE, "pip install x\n", "def f(xs):\n    ...\n", "def g(xs):\n    return f(xs)\n"],
)  # fmt: skip
def test_the_block_that_defines_the_entry_point(first):
    assert find(first, GOOD, EXAMPLE) == GOOD
    assert find(first, GOOD, EXAMPLE, prelude=PRELUDE) == GOOD


def test_the_first_of_several_definitions():
    assert find("import os\n", GOOD, GOOD.replace("sum", "len")) == GOOD
    assert find("import os\n", "def f(xs:\n", GOOD) == GOOD


def test_blocks_that_it_needs():
    helper = "def h(x):\n    return os.path.join(x)\n"
    main = "def f(xs):\n    return h(math.pi)\n"
    found = find("import math\n", EXAMPLE, helper, main, "import os\n", "import json\n")
    assert found == "\n\n".join(["import math\n", helper, main, "import os\n"])
    # What the prelude has, no block has to bring.
    assert find("from typing import List\n", "def f(xs: List):\n    return 1\n", prelude=PRELUDE) == "def f(xs: List):\n    return 1\n"
    # The prelude stands before a body, which therefore comes first. An example is no body if there is one.
    assert run(find(EXAMPLE, "    return sum(xs)\n", prelude=PRELUDE), PRELUDE)["f"]([1, 2]) == 3
    assert run(find("import math\n", "    return math.fsum(xs)\n", prelude=PRELUDE), PRELUDE)["f"]([1, 2]) == 3


BODY = "total = 0\nfor x in xs:\n    total += x\nreturn total\n"


@pytest.mark.parametrize("prelude", [PRELUDE, PRELUDE.rstrip("\n"), PRELUDE.replace('    """Adds them"""\n', "")])
@pytest.mark.parametrize(
    "body",
    [
        BODY,
        "    " + BODY.replace("\n", "\n    ").rstrip(" "),
        BODY + '\ndef g():\n    """x"""\n\nprint(g())\n',
        'text = """\nx\n"""\nif text != "\\nx\\n":\n    return 0\nreturn sum(xs)\n',
        "xs = list(xs)\nxs.append(0)\nreturn sum(xs)",
    ],
)
def test_a_body_in_a_fence(prelude, body):
    if '"""' not in prelude and "    " + BODY[:5] == body[:9]:
        pytest.skip("without a docstring the prelude ends in a head, which such a body follows as it is")
    assert run(find(body, prelude=prelude), prelude)["f"]([1, 2]) == 3


@pytest.mark.parametrize("before", ["", "Here is the code:\n\n", "Import it.\nimport os\n\n", "Sure!\n- one\n- it's two\n\n", "Solution\n\n"])
@pytest.mark.parametrize("behind", ["", "\nThis isn't hard.\n", "\nOutput\n", "\nExample:\n>>> f([1])\n1\n", "\n" + EXAMPLE, "```\n"])
def test_prose_around_the_code(before, behind):
    found = find_bare(before + GOOD + behind)
    assert run(found)["f"]([1, 2]) == 3
    assert "import os" in found or "import os" not in before
    assert find("import os\n", before + GOOD + behind).count("def f") == 1


def test_indented_code_in_prose():
    answer = "Sure:\n\n    import math\n\n    def f(xs):\n        return math.fsum(xs)\n\nIt's done.\n"
    assert run(find_bare(answer))["f"]([1, 2]) == 3


def test_pieces_between_prose():
    answer = (
        "First we import:\nimport math\nA helper is this:\n\ndef h(x):\n    return math.fsum(x)\n\n"
        "And now the main one:\n\ndef f(xs):\n    return h(xs)\n\nThat's it."
    )
    assert run(find_bare(answer))["f"]([1, 2]) == 3


def test_prose_behind_a_body():
    found = find_bare("    return sum(xs)\n\nThis isn't hard.\n", PRELUDE)
    assert run(found, PRELUDE)["f"]([1, 2]) == 3


@pytest.mark.parametrize("answer", ["I don't know.", "", "def g(): return 1\n", "def f(xs:\n", "\0", "(" * 1000, "def f():\n" + " " * 99])
def test_without_any_code_the_pick_stays(answer):
    assert find_bare(answer) == answer
    assert find_bare(answer, PRELUDE) == answer or PRELUDE


def test_names_that_the_targets_use():
    used = extract.used_names("import os\nhelp_me = 1\n", ["x = g(1)\nassert sorted(f(x)) == [os.sep, help_me]", "not (Python"])
    assert used == {"f", "g"}
    assert find("import math\n", GOOD, entry_point="", used=used) == GOOD
    assert find("import math\n", entry_point="", used=()) == "import math\n"


@pytest.mark.parametrize(
    "unit",
    ["def f(\n", "def f(x):\n", "import this is prose\n", "x = (\n", "for example,\n", "f = (\n", "    def f(: pass\n", "class f:\n'''\n"],
)
@pytest.mark.parametrize("tail", ["", GOOD])
def test_the_work_is_bounded(monkeypatch, unit, tail):
    """Of a mebibyte of what looks like code, a bounded part is parsed."""
    parsed = []
    real = extract.Finder.parse_anew
    monkeypatch.setattr(extract.Finder, "parse_anew", staticmethod(lambda text: parsed.append(len(text)) or real(text)))
    answer = unit * ((1 << 20) // len(unit)) + tail
    find_bare(answer)
    find_bare(answer, PRELUDE)
    assert 0 < len(parsed) <= 2 * extract.TRIES_MAX
    assert sum(parsed) <= 2 * (extract.PARSED_MAX + len(answer) + len(PRELUDE))


def test_a_definition_in_much_prose():
    answer = "It's a long story.\n" * 50000 + GOOD + "It isn't over.\n" * 10000
    assert run(find_bare(answer))["f"]([1, 2]) == 3
