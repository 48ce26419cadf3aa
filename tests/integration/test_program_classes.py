# SPDX-License-Identifier: MIT
"""Which class of a program is run, and what its file is called: Java, Kotlin and Scala as their compilers have it."""

import pytest

RIGHT = [{"input": "", "output": "right\n"}]
LIMITS = {"wall_clock": 60, "cpu": 60, "memory_bytes": 512 << 20, "max_processes": 128}
MAIN = '{ public static void main(String[] a) { System.out.println("right"); } }'

PROGRAMS = {
    "a public class before the one with main": ("java", f"public class Node {{ int x; }}\nclass Main {MAIN}\n"),
    "a public class behind the one with main": ("java", f"class Main {MAIN}\npublic class Node {{ int x; }}\n"),
    "a public interface": ("java", f"public interface I {{}}\nclass Main {MAIN}\n"),
    "a package of Java": ("java", f"package a.b;\npublic class Go {MAIN}\n"),
    "letters that are no ASCII": ("java", f"package straße;\npublic class Größe {MAIN}\n"),
    "a class of Kotlin's file": ("kotlin", '@file:JvmName("X")\npackage a\nfun main() { println("right") }\n'),
    "an object of Kotlin": ("kotlin", 'package a\nobject Main { @JvmStatic fun main(a: Array<String>) { println("right") } }\n'),
    "a companion": ("kotlin", 'class A { companion object { @JvmStatic fun main(a: Array<String>) { println("right") } } }\n'),
    "a package of Kotlin": ("kotlin", 'package a.b\nclass A\nfun main() { println("right") }\n'),
    "a package of Scala": ("scala", 'package a\npackage b\nclass A\nobject Go extends App { println("right") }\n'),
}  # fmt: skip


@pytest.fixture(name="client")
def connect(lend):
    with lend("languages.directory=", "ceilings.wall_clock=300s", "ceilings.cpu=300s").connect() as client:
        yield client


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_class_with_main_is_run(client, name):
    language, code = PROGRAMS[name]
    found = {entry["name"]: entry for entry in client.status()["languages"]}[language]
    if not found["available"]:
        pytest.skip(found["why_not"])
    job = {"kind": "program", "language": language, "code": code, "tests": RIGHT, "limits": LIMITS}
    result = client.run({**job, "compile_limits": {"wall_clock": 300, "cpu": 300}})
    assert result.get("verdict") == "pass", result
