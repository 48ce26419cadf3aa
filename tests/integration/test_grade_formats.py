# SPDX-License-Identifier: MIT
"""rubricctl grade reads the formats of the field's data sets: a task of each, made up here, with samples that are
right and samples that are wrong, graded by a daemon of its own."""

import base64
import hashlib
import json
import pickle
import shutil
import subprocess
import zlib

import pytest
import schema_check
from conftest import DEADLINE, RUBRICCTL

# What a host needs for a language, and the Debian package to name where it is missing.
NEEDS = {
    "bash": ("bash", "bash"),
    "cpp": ("g++", "g++"),
    "go": ("go", "golang-go"),
    "java": ("javac", "default-jdk-headless"),
    "javascript": ("node", "nodejs"),
    "lua": ("lua5.4", "lua5.4"),
    "rust": ("/usr/bin/rustc", "rustc"),
    "csharp": ("/usr/bin/mcs", "mono-mcs"),
    "php": ("/usr/bin/php", "php-cli"),
    "ruby": ("/usr/bin/ruby", "ruby"),
    "perl": ("/usr/bin/perl", "perl"),
    "r": ("/usr/bin/Rscript", "r-base-core"),
    "d": ("/usr/bin/gdc", "gdc"),
    "haskell": ("/usr/bin/ghc", "ghc"),
    "ocaml": ("/usr/bin/ocamlopt", "ocaml"),
    "typescript": ("/usr/bin/tsc", "node-typescript"),
    "scala": ("/usr/bin/scalac", "scala"),
}


def need(*languages):
    for language in languages:
        program, package = NEEDS[language]
        if not shutil.which(program):
            pytest.skip(f"{language}: there is no {program} (Debian package {package})")


class Place:
    def __init__(self, directory):
        self.directory = directory
        directory.chmod(0o755)

    def write(self, name, records):
        self.directory.joinpath(name).write_text("".join(json.dumps(record) + "\n" for record in records))

    def run(self, *arguments):
        return subprocess.run(
            [RUBRICCTL, "--embedded", "--slots", "2", "grade", *arguments],
            cwd=self.directory, capture_output=True, text=True, timeout=10 * DEADLINE, check=False,
        )  # fmt: skip

    def grade(self, tasks, samples, *arguments):
        """Returns what the first line says, and the verdict of each sample in its order."""
        self.write("tasks.jsonl", tasks)
        self.write("samples.jsonl", samples)
        done = self.run("--quiet", "--force", "-k", "1", "--dataset", "tasks.jsonl", "--samples", "samples.jsonl",
                        *arguments)  # fmt: skip
        lines = [json.loads(line) for line in self.directory.joinpath("samples.jsonl_results.jsonl").open()]
        for line in lines:
            schema_check.validate_by("run", line["run"])
        order = {(line["task_id"], line["sample"]): line["verdict"] for line in lines}
        assert len(order) == len(lines)
        self.done, self.lines = done, lines
        return done.stdout.splitlines()[0], [order[key] for key in sorted(order, key=lambda key: (str(key[0]), key[1]))]


@pytest.fixture(name="place")
def make_place(tmp_path):
    return Place(tmp_path)


def pack(text):
    return base64.b64encode(zlib.compress(pickle.dumps(text))).decode()


# --- a program and its tests in one ----------------------------------------------------------------------------------

PACK = {
    "cpp": {
        "task_id": "CPP/0",
        "prompt": "#include<vector>\nusing namespace std;\n// Doubles each.\nvector<int> twice(vector<int> v){\n",
        "canonical_solution": "    for (int &x : v) x *= 2;\n    return v;\n}\n",
        "test": "#undef NDEBUG\n#include<assert.h>\nint main(){\n    assert(twice({1, 2}) == vector<int>({2, 4}));\n}\n",
        "wrong": "    return v;\n}\n",
        "broken": "    return w;\n}\n",
    },
    "javascript": {
        "task_id": "JavaScript/0",
        "prompt": "// Doubles.\nconst twice = (a) => {\n",
        "canonical_solution": "  return 2 * a\n}\n",
        "test": "const testTwice = () => {\n  console.assert(twice(2) === 4)\n}\ntestTwice()\n",
        "wrong": "  return a\n}\n",
        "broken": "  console.log('x')\n  return 2 * a\n}\n",
    },
    "go": {
        "task_id": "Go/0",
        "prompt": "// Doubles.\nfunc Twice(a int) int {\n",
        "import": "",
        "test_setup": 'package main\n\nimport (\n    "testing"\n    "github.com/stretchr/testify/assert"\n)\n',
        "canonical_solution": "    return int(math.Round(2 * float64(a)))\n}\n",
        "test": "func TestTwice(t *testing.T) {\n    assert := assert.New(t)\n    assert.Equal(4, Twice(2))\n}\n",
        "wrong": "    return a\n}\n",
        "broken": "    return x\n}\n",
    },
    "java": {
        "task_id": "Java/0",
        "prompt": "import java.util.*;\n\nclass Solution {\n    /** Doubles. */\n    public int twice(int a) {\n",
        "canonical_solution": "        return 2 * a;\n    }\n}",
        "test": "public class Main {\n    public static void main(String[] args) {\n"
        "        if (new Solution().twice(2) != 4) throw new AssertionError();\n    }\n}\n",
        "wrong": "        return a;\n    }\n}",
        "broken": "        return x;\n    }\n}",
    },
    "rust": {
        "task_id": "Rust/0",
        "prompt": "\n/* Doubles. */\n",
        "declaration": "use rand::Rng;\nuse md5;\nfn twice(a: i32) -> i32 {\n",
        "canonical_solution": "    2 * a\n}\n",
        "test": "#[cfg(test)]\nmod tests {\n    use super::*;\n\n#[test]\n    fn test_twice() {\n"
        "        assert_eq!(twice(2), 4);\n    }\n}\n",
        "wrong": "    a\n}\n",
        "broken": "    x\n}\n",
    },
}


def pack_row(language, **fields):
    row = {name: text for name, text in PACK[language].items() if name not in ("wrong", "broken")}
    return {"declaration": row["prompt"], "example_test": "left out", **row, **fields}


@pytest.mark.parametrize("language", PACK)
def test_programs_with_their_tests(place, language):
    """A completion, the same as a whole program in an answer, a wrong one, and one that does not compile."""
    need(language)
    row, own = pack_row(language, bug_type="none"), PACK[language]
    head = row["declaration"] if language == "rust" else row["prompt"]
    whole = f"Here it is:\n```{language}\n{head}{own['canonical_solution']}\n```\nDone."
    samples = [{"task_id": row["task_id"], form: text} for form, text in [
        ("completion", own["canonical_solution"]), ("generation", whole), ("completion", own["wrong"]),
        ("completion", own["broken"]),
    ]]  # fmt: skip
    line, verdicts = place.grade([row], samples)
    title = {"cpp": "C++", "javascript": "JavaScript", "go": "Go", "java": "Java", "rust": "Rust"}[language]
    assert line == (
        f"HumanEvalPack, {title}: 1 task, by exit status: forgeable, the tests are a part of each program, 10 s; "
        "not run, as in its own project: example_test"
    )
    broken = "wrong_answer" if language == "javascript" else "compile_error"
    assert verdicts == ["pass", "pass", "runtime_error", broken]
    assert "shared: 4 samples of 1 task ran in one process with the tests, where code can forge its verdict\n" in (
        place.done.stdout
    )
    assert [line["run"]["mode"] for line in place.lines] == ["shared"] * 4
    refused = place.run("--quiet", "--force", "--isolated-only", "--dataset", "tasks.jsonl", "--canonical")
    assert (refused.returncode, "1 refused (a shared verdict; --isolated-only)" in refused.stdout) == (4, True)


def test_canonical_solutions(place):
    """HumanEval-X looks the same without what is wrong on purpose. Python is judged in isolation."""
    need("cpp")
    python = {
        "task_id": "Python/0",
        "prompt": "def twice(a):\n",
        "declaration": "def twice(a):\n",
        "canonical_solution": "    return 2 * a\n",
        "test": "def check(f):\n    assert f(2) == 4\n\ncheck(twice)\n",
    }
    place.write("tasks.jsonl", [pack_row("cpp"), python])
    done = place.run("--quiet", "-k", "1", "--dataset", "tasks.jsonl", "--canonical")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("HumanEval-X, C++: 1 task, by exit status: forgeable")
    assert lines[1] == "HumanEval-X, Python: 1 task, 1 test, judged in isolation where the reference passes so, 10 s"
    assert lines[2] == "2 tasks, 2 samples, 2 correct"
    assert (done.returncode, lines[-1]) == (0, "pass@1:    1.0000 (2 languages; 1 task shared)")


def rust_row(test, solution="    2 * a\n}\n"):
    return pack_row("rust", test=f"#[cfg(test)]\nmod tests {{\n    use super::*;\n\n{test}}}\n", canonical_solution=solution)


def test_crates_that_rust_does_not_have(place):
    """Without cargo there is neither rand nor md5: what the tests need of them stands in."""
    need("rust")
    random = rust_row(
        "#[test]\n    // some\n    fn test_twice() {\n        let mut rng = rand::thread_rng();\n"
        "        for _ in 0..100 {\n            let a: i32 = rng.gen_range(-9, 10);\n"
        "            let b: u8 = rng.gen();\n            let c = rand::random::<f64>();\n"
        "            assert!(a > -10 && a < 10 && c < 1.0 && (b as i32) < 256);\n"
        "            assert_eq!(twice(a), a + a);\n        }\n    }\n"
    )
    digest = rust_row(
        '#[test]\n    fn test_twice() {\n        assert_eq!(twice(2), 4);\n        let long = "a".repeat(119);\n'
        '        assert_eq!(format!("{:x}", md5::compute("abc")), "' + hashlib.md5(b"abc").hexdigest() + '");\n'
        '        assert_eq!(format!("{:x}", md5::compute(long.as_bytes())), "' + hashlib.md5(b"a" * 119).hexdigest()
        + '");\n    }\n'
    )  # fmt: skip
    beside = pack_row("rust", test="#[test]\nfn test_twice() {\n    assert_eq!(twice(2), 4);\n}\n\n/*\n#[test]\nfn no() {}\n*/\n")
    rows = [{**row, "task_id": f"Rust/{n}"} for n, row in enumerate([random, digest, beside])]
    samples = [{"task_id": row["task_id"], "completion": row["canonical_solution"]} for row in rows]
    _, verdicts = place.grade(rows, [*samples, {"task_id": "Rust/2", "completion": "    a\n}\n"}])
    assert verdicts == ["pass", "pass", "pass", "runtime_error"]


def test_tests_of_rust_that_are_a_comment(place):
    row = pack_row("rust", test="\n/*\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn test_twice() {}\n}\n*/\n")
    place.write("tasks.jsonl", [row])
    done = place.run("--dataset", "tasks.jsonl", "--canonical")
    assert done.returncode == 2
    said = "test: no function in it is a test (#[test]), other than in comments: whatever compiles would pass\n"
    assert said in done.stderr, done.stderr


MULTIPL_E = {
    "cpp": (
        "#include<assert.h>\n#include<bits/stdc++.h>\nlong twice(long a) {\n", "    return 2 * a;\n}\nlong more;",
        "}\nint main() {\n    auto candidate = twice;\n    assert(candidate(2) == 4);\n}\n", ["\n}"],
        "long help(long a) {\n    return 2 * a;\n}\nlong twice(long a) {\n    return help(a);\n}\nint main() { return 1; }",
    ),
    "javascript": (
        "function twice(a){\n", "  return 2 * a;\n}\nconsole.log('more'", "const assert = require('node:assert');\n"
        "assert.deepEqual(twice(2), 4);\n", ["\nfunction ", "\nconsole.log"], "const twice = (a) => 2 * a;",
    ),
    "lua": (
        "local function twice(a)\n", "  return {2 * a}\nend\n\nprint(", "lu = require('luaunit')\n\n"
        "function test_humaneval()\n    lu.assertEquals(twice(2), {4})\nend\n\nos.exit(lu.LuaUnit.run())\n",
        ["\n\n"], "local function twice(a) return {2 * a} end",
    ),
    "bash": (
        "#!/bin/bash\ntwice() {\n", "    echo $((2 * $1))\n}\nmore", '}\n\ncandidate() {\n    twice "$@"\n}\n\nset -e\n'
        'run_test() {\n    [[ $(candidate "2") = "4" ]]\n}\n\nrun_test\n', ["\n}"], "twice() {\n    echo $(($1 + $1))\n}",
    ),
    "rust": (
        "/// Doubles.\nfn twice(a: isize) -> isize {\n", "    2 * a\n}\nfn more",
        "}\n\nfn main() {\n    let candidate = twice;\n    assert_eq!(candidate(2), 4);\n}\n", ["\n}"],
        "fn twice(b: isize) -> isize {\n    b + b\n}\n",
    ),
    "go": (
        'package twice_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\n// Doubles.\nfunc twice(a int) int {\n',
        "    return 2 * a\n}\nfunc more",
        "func TestTwice(t *testing.T) {\n  candidate := twice\n  type test struct {\n    actual int\n    expected int\n"
        "  }\n  tests := []test{\n     { actual: candidate(2), expected: 4 },\n  }\n  for i, tc := range tests {\n"
        '    t.Run(fmt.Sprintf("test num % d", i), func(t *testing.T) {\n'
        '      if fmt.Sprintf("%v", tc.actual) != fmt.Sprintf("%v", tc.expected) {\n'
        "        t.Errorf(\"expected '%d', got '%d'\", tc.expected, tc.actual)\n      }\n    })\n  }\n}\n",
        ["\nfunc", "struct", "\n// "], "package main\n\nfunc twice(b int) int {\n    return b + b\n}\n",
    ),
    "java": (
        "import java.util.*;\nimport org.javatuples.*;\nclass Problem {\n"
        "    public static Pair<Long, Long> twice(long a) {\n",
        "        return Pair.with(2 * a, new Pair<>(1l, 2l).getValue1());\n    }\n    void more",
        "    }\n    public static void main(String[] args) {\n"
        "    assert(twice((2l)).equals((Pair.with(4l, 2l))));\n    }\n\n}\n", ["\n    }\n"],
        "import org.javatuples.Pair;\nclass Problem {\n    public static Pair<Long, Long> twice(long b) {\n"
        "        return new Pair<Long, Long>(b + b, b);\n    }\n}\n",
    ),
    "csharp": (
        "using System;\nusing System.Diagnostics;\nclass Problem {\n    public static long TwiceIt(long a) {\n",
        "        return 2 * a;\n    }\n    void More",
        "    }\n    public static void Main(string[] args) {\n    Debug.Assert(TwiceIt((2L)) == (4L));\n    }\n\n}\n",
        ["\n    }\n"], "class Problem {\n    public static long TwiceIt(long b) {\n        return b + b;\n    }\n}\n",
    ),
    "php": (
        "<?php\n// Doubles.\nfunction twice($a) {\n", "    return 2 * $a;\n}\nfunction more",
        "\n\nfunction candidate(...$args) {\n    return twice(...$args);\n}\n\nfunction test(): void {\n"
        '    if (candidate(2) !== 4) { throw new Exception("Test failed!"); }\n}\n\ntest();',
        ["\nfunction", "\n?>"], "<?php\nfunction twice($b) {\n    return $b + $b;\n}\n",
    ),
    "ruby": (
        "# Doubles.\ndef twice(a)\n", "  2 * a\nend\n\nputs more",
        "require 'test/unit'\nclass TestHumanEval < Test::Unit::TestCase\n  def test_twice\n"
        "    candidate = method(:twice)\n    assert_equal(4, candidate.call(2))\n  end\nend\n", ["\nclass", "\n\n"],
        "def twice(b)\n  b + b\nend\n",
    ),
    "perl": (
        "# Doubles.\nsub twice {\n    my($a) = @_;\n", "    return [2 * $a, {x => undef}];\n}\n\nsub more",
        "use Test::Deep;\n\n\nsub testhumaneval {\n    my $candidate = \\&twice;\n"
        "        if(eq_deeply($candidate->(2),[4, {x => undef}])) {\n        print \"ok!\" }else{\n        exit 1;\n"
        "        }\n}\n\ntesthumaneval();", ["\nsub", "\n\n"], "sub twice {\n    return [$_[0] + $_[0], {x => undef}];\n}\n",
    ),
    "r": (
        "# Doubles.\ntwice <- function(a) {", "\n    2 * a\n}\n# more",
        "test_humaneval <- function() {\n    candidate <- twice\n    if(!identical(candidate(2), 4)){quit('no', 1)}\n}\n"
        "test_humaneval()", ["\n#", "\n```"], "twice <- function(b) {\n    b + b\n}\n",
    ),
    "d": (
        "import std.math;\n/**\nDoubles.\n*/\nlong twice(long a) ", "{\n    return 2 * a;\n}\n\nvoid more",
        "unittest\n{\n    alias candidate = twice;\n\n    assert(candidate(2L) == 4L);\n}\nvoid main(){}",
        ["\n\n", "\nvoid"], "long twice(long b) {\n    return b + b;\n}\n",
    ),
    "haskell": (
        "-- | Doubles.\ntwice :: Int -> Int\ntwice a =", " 2 * a\n\nmore",
        "\nmain :: IO ()\nmain = do\n  let candidate = twice\n"
        '  if candidate 2 == 4 then pure () else error "assertion failed"\n  pure ()', ["\n\n"],
        "twice :: Int -> Int\ntwice b = b + b\n",
    ),
    "ocaml": (
        "(**Doubles.\n*)\nlet twice (a : int) : int =", " 2 * a\n\nlet more",
        "\nlet assertions =\n let candidate = twice in\n  (assert ((candidate 2) = 4));\n  ()\n", ["\n\n", "\nlet"],
        "let twice (b : int) : int =\n  b + b\n",
    ),
    "typescript": (
        "//Doubles.\nfunction twice(a: number): number {\n", "  return 2 * a;\n}\nfunction more",
        "declare var require: any;\nconst assert = require('node:assert');\n\n\nfunction test() {\n"
        "  let candidate = twice;\n  assert.deepEqual(candidate(2),4);\n}\n\ntest();", ["\nfunction ", "\nclass"],
        "function twice(b: number): number {\n  return b + b;\n}\n",
    ),
    "scala": (
        "import scala.math._\nobject Problem {\n    def twice(a : Long) : Long = {\n", "        2 * a\n    }\n    def more",
        "    }\n    def main(args: Array[String]) = {\n    assert(twice((2l)) == (4l));\n    }\n\n}\n", ["\n    }\n"],
        "object Problem {\n    def twice(a : Long) : Long = {\n        a + a\n    }\n}\n",
    ),
}  # fmt: skip


# How MultiPL-E calls them.
OWN_NAMES = {
    "javascript": "js", "bash": "sh", "rust": "rs", "go": "go_test.go", "csharp": "cs", "ruby": "rb", "perl": "pl",
    "haskell": "hs", "ocaml": "ml", "typescript": "ts",
}  # fmt: skip


# Their compilers take nine seconds of processor time each. No code of ours treats them differently from
# others, but for rows of tables.
SLOW = [pytest.param(language, marks=pytest.mark.once) for language in ("typescript", "scala")]


@pytest.mark.parametrize("language", [*sorted(MULTIPL_E.keys() - {"typescript", "scala"}), *SLOW])
def test_multipl_e(place, language):
    """Completions are cut at a stop token. In whole programs the tokens count behind the function's head only."""
    need(language)
    prompt, right, tests, stops, whole = MULTIPL_E[language]
    name = "HumanEval_0_twice_it" if language == "csharp" else "HumanEval_0_twice"
    row = {"name": name, "language": OWN_NAMES.get(language, language), "prompt": prompt,
           "doctests": "transform", "tests": tests, "stop_tokens": stops}  # fmt: skip
    wrong = right.replace("2 *", "3 *")
    samples = [{"name": name, "completions": [right, wrong]}, {"name": name, "generation": f"```\n{whole}\n```"}]
    line, verdicts = place.grade([row], samples)
    assert line.endswith(": 1 task, by exit status: forgeable, the tests are a part of each program, 15 s")
    assert verdicts == ["pass", "runtime_error", "pass"]
    assert {line["task_id"] for line in place.lines} == {name}
    assert all("completions" not in line for line in place.lines)
    report = subprocess.run([RUBRICCTL, "report", place.directory / "samples.jsonl_results.jsonl"],
                            capture_output=True, text=True, timeout=DEADLINE, check=False)  # fmt: skip
    assert "shared" in report.stdout


# --- standard input and calls ----------------------------------------------------------------------------------------

SUM = "a, b = map(int, input().split())\nprint(a + b)\n"


def test_livecodebench(place):
    """Public tests are JSON and private ones packed; all of them count."""
    tests = [{"input": f"{i} 1\n", "output": f"{i + 1}\n", "testtype": "stdin"} for i in range(4)]
    calls = [{"input": f"[{i}, 1]\n{i}", "output": str(2 * i + 1), "testtype": "functional"} for i in range(3)]
    rows = [
        {"question_id": "a", "contest_id": "x", "public_test_cases": json.dumps(tests[:1]),
         "private_test_cases": pack(json.dumps(tests[1:])), "metadata": "{}"},
        {"question_id": "b", "public_test_cases": json.dumps(calls[:1]),
         "private_test_cases": pack(json.dumps(calls[1:])), "metadata": json.dumps({"func_name": "add"})},
    ]  # fmt: skip
    samples = [
        {"question_id": "a", "code_list": [SUM, "print(1)", "from sys import *\nprint(1 + int(stdin.readline()[0]), '')"]},
        {"question_id": "b", "code_list": [
            "class Solution:\n    def add(self, xs: List[int], n):\n        return sum(xs) + n\n",
            "def add(xs, n):\n    return 1\n", "def sub(xs, n):\n    return 1\n"]},
    ]  # fmt: skip
    line, verdicts = place.grade(rows, samples)
    assert line == (
        "LiveCodeBench, Python or what a sample says: 1 task, 4 tests by standard input and output, up to the first "
        "failure, 6 s"
    )
    assert place.done.stdout.splitlines()[1] == (
        "LiveCodeBench, Python: 1 task, 3 tests by standard input and output, of 1 task by calls of a function, up to "
        "the first failure, 6 s"
    )
    assert verdicts == ["pass", "wrong_answer", "pass", "pass", "wrong_answer", "runtime_error"]
    assert "shared" not in place.done.stdout


def test_a_pickle_that_runs_code_is_refused(place):
    class Evil:
        def __reduce__(self):
            return (open, ("evil", "w"))

    tests = base64.b64encode(zlib.compress(pickle.dumps(Evil()))).decode()
    place.write("tasks.jsonl", [{"question_id": "a", "private_test_cases": tests}])
    done = place.run("--dataset", "tasks.jsonl", "--canonical")
    assert done.returncode == 2
    assert "tasks.jsonl:1: private_test_cases: pickle: byte " in done.stderr.splitlines()[0]
    assert not place.directory.joinpath("evil").exists()


def test_a_reexport(place):
    """All tests are packed in one member, and the solution beside them is none."""
    packed = {"input_output": json.dumps({"inputs": ["1 2\n", "3 4\n"], "outputs": ["3", "7"], "fn_name": None})}
    row = {"id": 5, "content": "Add.", "labels": "{}", "test": pack(packed), "canonical_solution": "pass"}
    line, verdicts = place.grade([row], [{"id": 5, "solution": SUM}, {"id": 5, "generation": "```python\nprint(3)\n```"}])
    assert line.startswith("LiveCodeBench, Python or what a sample says: 1 task, 2 tests by standard input")
    assert verdicts == ["pass", "wrong_answer"]


def test_apps(place):
    rows = [
        {"problem_id": 1, "input_output": json.dumps({"inputs": ["1 2\n", ["3 4"]], "outputs": ["3\n", ["7"]]}),
         "solutions": json.dumps([SUM])},
        {"problem_id": 2, "input_output": json.dumps({"fn_name": "add", "inputs": [[1, 2]], "outputs": [[3]]})},
        {"problem_id": 3, "input_output": json.dumps({"fn_name": "f", "inputs": [[1]] * 2, "outputs": [[1], [1, 2]]})},
        {"problem_id": 4, "input_output": ""},
    ]  # fmt: skip
    samples = [{"problem_id": 1, "solution": SUM}, {"problem_id": 1, "solution": "print(3)"},
               {"problem_id": 2, "solution": "def add(a, b):\n    return a + b\n"},
               {"problem_id": 2, "solution": "def add(a, b):\n    return [a + b]\n"},
               {"problem_id": 2, "solution": "def add(a, b):\n    return [[a + b]]\n"},
               {"problem_id": 3, "solution": "def f(a):\n    return 1\n"},
               {"problem_id": 3, "solution": "def f(a):\n    return 2\n"}]  # fmt: skip
    line, verdicts = place.grade(rows, samples)
    assert line.endswith(": 1 task, 2 tests by standard input and output, all are run, 4 s")
    assert verdicts == ["pass", "wrong_answer", "pass", "pass", "wrong_answer", "pass", "wrong_answer"]
    assert "tasks.jsonl:4: input_output: it is empty: the task has no tests\n" in place.done.stderr


def test_codecontests(place):
    """Each sample may be in a language of its own."""
    need("cpp")
    row = {
        "name": "1_A. Sum",
        "public_tests": {"input": ["1 2"], "output": ["3"]},
        "private_tests": {"input": [], "output": []},
        "generated_tests": {"input": ["5 5"], "output": ["10"]},
        "time_limit": {"seconds": 5, "nanos": 0},
        "solutions": {"language": [3], "solution": [SUM]},
    }
    plus = "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b << '\\n'; }\n"
    samples = [
        {"name": row["name"], "solution": SUM},
        {"name": row["name"], "solution": plus, "language": "c++"},
        {"name": row["name"], "generation": f"```cpp\n{plus.replace('+ b', '* 3')}```", "language": "cpp"},
    ]
    line, verdicts = place.grade([row], samples)
    assert line == (
        "CodeContests, Python or what a sample says: 1 task, 2 tests by standard input and output, up to the first "
        "failure, 5 s"
    )
    assert verdicts == ["pass", "pass", "wrong_answer"]
    again = place.run("--quiet", "--dataset", "tasks.jsonl", "--canonical", "-k", "1")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "pass@1:    1.0000")


def test_outputs_may_have_what_the_daemon_grants_at_most(place):
    """No data set bounds them, and the default is less than some tests expect."""
    row = {
        "name": "count",
        "public_tests": {"input": ["60000"], "output": ["\n".join(map(str, range(60000)))]},
        "solutions": {"language": [3], "solution": ["print(*range(int(input())), sep='\\n')"]},
    }
    talks = "import sys\nprint('x' * 300000, file=sys.stderr)\nprint(*range(int(input())), sep='\\n')"
    endless = "while True: print('x' * 4096)"
    samples = [{"name": "count", "solution": text} for text in (row["solutions"]["solution"][0], talks, endless)]
    _, verdicts = place.grade([row], samples)
    assert verdicts == ["pass", "pass", "output_limit"]


def test_what_humaneval_would_not_take(place):
    """--list-formats says where code passes, or does not, that is judged otherwise in the data set's own project."""
    task = {
        "task_id": "H/0",
        "prompt": 'def add(a, b):\n    """Adds."""\n',
        "entry_point": "add",
        "canonical_solution": "    return a + b\n",
        "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
    }
    whole = "def add(a, b):\n    return a + b\n"
    loud = "def add(a, b):\n    print('x' * 500000)\n    return a + b\n"
    texts = [("completion", "return a + b"), ("completion", f"```python\n{whole}```"),
             ("solution", "    return a + b\n"), ("solution", loud)]  # fmt: skip
    _, verdicts = place.grade([task], [{"task_id": "H/0", member: text} for member, text in texts])
    assert verdicts == ["pass"] * 3 + ["error"]
    listed = place.run("--list-formats").stdout.split("humaneval: ")[1].split("\n\n")[0]
    assert "a completion may be in a fence or lack the indentation of its first line" in listed
    assert "a solution may be the body of the function alone" in listed
    assert "code that prints more than the limit of output ends in an error" in listed


# --- the isolated judge ----------------------------------------------------------------------------------------------

CLASS = "class Count:\n    def __init__(self):\n        self.n = 0\n    def add(self, k):\n        self.n += k\n        return self.n\n"
CLASS_TEST = """import unittest


class CountTestAdd(unittest.TestCase):
    def setUp(self):
        self.count = Count()

    def test_add(self):
        self.assertEqual(self.count.add(2), 2)
        self.assertEqual(self.count.add(3), 5)


class CountTest(unittest.TestCase):
    def test_error(self):
        with self.assertRaises(TypeError):
            Count().add("x")
"""


def test_classes_of_unittest(place):
    row = {"task_id": "ClassEval_0", "class_name": "Count", "test": CLASS_TEST, "solution_code": CLASS,
           "test_classes": ["CountTestAdd", "CountTest"], "import_statement": ["import math"]}  # fmt: skip
    samples = [{"task_id": "ClassEval_0", "solution": text} for text in (CLASS, CLASS.replace("+= k", "= k"), "import os\nos._exit(0)")]
    line, verdicts = place.grade([row], samples)
    assert line == "ClassEval, Python: 1 task, 1 test, judged in isolation where the reference passes so, 10 s"
    assert verdicts[:2] == ["pass", "assertion_fail"]
    assert verdicts[2] != "pass"
    assert [line["run"]["mode"] for line in place.lines] == ["isolated"] * 3


def test_bigcodebench(place):
    row = {
        "task_id": "BigCodeBench/0",
        "complete_prompt": "import math\n\ndef task_func(n):\n    \"\"\"Adds up to n.\"\"\"\n",
        "instruct_prompt": "Add.",
        "entry_point": "task_func",
        "canonical_solution": "    return math.comb(n + 1, 2)\n",
        "test": "import unittest\nclass TestCases(unittest.TestCase):\n    def test_one(self):\n"
        "        self.assertEqual(task_func(4), 10)\n    def test_two(self):\n"
        "        self.assertEqual(task_func(0), 0)\n",
    }
    samples = [{"task_id": row["task_id"], "solution": text} for text in (
        "def task_func(n):\n    return sum(range(n + 1))\n", "def task_func(n):\n    return 10\n")]  # fmt: skip
    line, verdicts = place.grade([row], samples)
    assert line == "BigCodeBench, Python: 1 task, 1 test, judged in isolation where the reference passes so, 3 s"
    assert verdicts == ["pass", "assertion_fail"]


def test_cruxeval(place):
    """What f returns for an input; and by --format an input for which it returns a value."""
    row = {"id": "sample_0", "code": "def f(a):\n    return sorted(a) * 2", "input": "[2, 1]", "output": "[1, 2, 1, 2]"}
    answer = "It sorts.\n[ANSWER]\nassert f([2, 1]) == [1, 2, 1, 2]\n[/ANSWER]"
    samples = [{"id": "sample_0", "solution": "[1, 2] * 2"}, {"id": "sample_0", "generation": answer},
               {"id": "sample_0", "solution": "f([2, 1])"}, {"id": "sample_0", "solution": "[1]"}]  # fmt: skip
    line, verdicts = place.grade([row], samples)
    assert line == "CRUXEval-O, Python: 1 task, 1 test, judged in isolation where the reference passes so, 3 s"
    assert verdicts[:2] == ["pass", "pass"] and "pass" not in verdicts[2:]
    samples = [{"id": "sample_0", "solution": "f([1, 2])"}, {"id": "sample_0", "generation": answer},
               {"id": "sample_0", "solution": "[1, 2]"}, {"id": "sample_0", "solution": "f([2])"}]  # fmt: skip
    line, verdicts = place.grade([row], samples, "--format", "cruxeval-i")
    assert line.startswith("CRUXEval-I, Python: 1 task, ")
    assert verdicts[:2] == ["pass", "pass"] and "pass" not in verdicts[2:]


# --- options ---------------------------------------------------------------------------------------------------------


def test_tests_that_would_not_be_run(place):
    """They are named and the record is not used: leaving them out would look like a pass."""
    row = {"task_id": 1, "prompt": "", "entry_point": "f", "test": "def check(f): pass", "hidden_tests": ["x"]}
    place.write("tasks.jsonl", [row])
    done = place.run("--dataset", "tasks.jsonl", "--canonical")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == (
        "rubricctl: tasks.jsonl:1: hidden_tests: it has tests that would not be run: a task of HumanEval has none there "
        "(--format chooses another format; --list-formats)"
    )


def test_list_formats(place):
    done = place.run("--list-formats")
    assert (done.returncode, done.stderr) == (0, "")
    names = [line.split(":")[0] for line in done.stdout.splitlines() if line and not line.startswith(" ")]
    assert {"humaneval", "mbpp", "evalplus", "humanevalpack", "humaneval-x", "multipl-e", "livecodebench", "apps",
            "codecontests", "bigcodebench", "classeval", "cruxeval-o", "cruxeval-i"} == set(names)  # fmt: skip
    assert done.stdout.count("    differs:  ") == done.stdout.count("    source:   ") == len(names)


def test_a_format_and_a_language_that_do_not_fit(place):
    place.write("tasks.jsonl", [pack_row("cpp")])
    done = place.run("--dataset", "tasks.jsonl", "--canonical", "--format", "humanevil")
    assert (done.returncode, done.stderr.count("--format: there is no \"humanevil\"; there are evalplus, ")) == (2, 1)
    done = place.run("--dataset", "tasks.jsonl", "--canonical", "--language", "rust")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2, "rubricctl: tasks.jsonl:1: --language rust: the task is in C++",
    )  # fmt: skip
