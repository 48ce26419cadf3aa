# SPDX-License-Identifier: MIT
"""The stack of programs: languages that recurse on the system's stack have one that only the memory limit bounds."""

import resource
import shutil

import pytest

needs_gxx = pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")

MILLION = [{"input": "1000000\n", "output": "1000000\n"}]
LIMITS = {"wall_clock": 60, "cpu": 60, "memory_bytes": 1 << 30}

# Each visits the nodes of a path, one inside the other, and counts them. What a compiler could turn into a loop is
# none: the call is not the last thing that is done, and what it returns is used.
DEEP = {
    "c": """
#include <stdio.h>
#include <stdlib.h>
static int *next;
static long visit(int node) { volatile long here[4] = {node}; return next[node] < 0 ? 1 : visit(next[node]) + (here[0] >= 0); }
int main(void)
{
    int n;
    if (scanf("%d", &n) != 1) return 1;
    next = malloc(n * sizeof(*next));
    for (int i = 0; i < n; i++) next[i] = i + 1 < n ? i + 1 : -1;
    printf("%ld\\n", visit(0));
}
""",
    "cpp": """
#include <iostream>
#include <vector>
std::vector<std::vector<int>> edges;
long visit(int node, int from)
{
    volatile long sum = 1;
    for (int to : edges[node]) if (to != from) sum = sum + visit(to, node);
    return sum;
}
int main()
{
    int n;
    std::cin >> n;
    edges.resize(n);
    for (int i = 1; i < n; i++) { edges[i].push_back(i - 1); edges[i - 1].push_back(i); }
    std::cout << visit(0, -1) << "\\n";
}
""",
    "d": """
import std.stdio;
long visit(int[] next, int node) { long[4] here = node; return next[node] < 0 ? 1 : visit(next, next[node]) + (here[node & 3] >= 0); }
void main()
{
    int n;
    readf(" %d", &n);
    auto next = new int[n];
    foreach (i; 0 .. n) next[i] = i + 1 < n ? i + 1 : -1;
    writeln(visit(next, 0));
}
""",
    "ocaml": """
let rec visit next node = if next.(node) < 0 then 1 else 1 + visit next next.(node)
let () =
  let n = Scanf.scanf " %d" (fun n -> n) in
  Printf.printf "%d\\n" (visit (Array.init n (fun i -> if i + 1 < n then i + 1 else -1)) 0)
""",
    "pascal": """
var next: array of longint; n, i: longint;
function visit(node: longint): longint;
begin
  if next[node] < 0 then visit := 1 else visit := 1 + visit(next[node]);
end;
begin
  read(n);
  setlength(next, n);
  for i := 0 to n - 1 do if i + 1 < n then next[i] := i + 1 else next[i] := -1;
  writeln(visit(0));
end.
""",
    "rust": """
fn visit(next: &[i32], node: usize) -> i64 {
    let here = [node as i64; 4];
    let more = unsafe { std::ptr::read_volatile(&here[node & 3]) } >= 0;
    if next[node] < 0 { 1 } else { visit(next, next[node] as usize) + more as i64 }
}
fn main() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let n: i32 = line.trim().parse().unwrap();
    let next: Vec<i32> = (0..n).map(|i| if i + 1 < n { i + 1 } else { -1 }).collect();
    println!("{}", visit(&next, 0));
}
""",
}

THREADS = """
#include <iostream>
#include <thread>
#include <vector>
int main()
{
    std::vector<long> sums(16);
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; i++)
        threads.emplace_back([&sums, i] { volatile char all[1 << 20]; all[0] = all[sizeof(all) - 1] = 1; sums[i] = all[0]; });
    long sum = 0;
    for (int i = 0; i < 16; i++) { threads[i].join(); sum += sums[i]; }
    std::cout << sum << "\\n";
}
"""

ENDLESS = """
int visit(int n) { volatile int here[16] = {n}; return visit(n + 1) + here[n & 15]; }
int main() { return visit(0); }
"""

# Python's own stack is the usual one, for its programs run the same in an interpreter that waited.
TELL = "import resource\nprint(*resource.getrlimit(resource.RLIMIT_STACK))\n"
USUAL = [{"input": "", "output": f"{8 << 20} {resource.getrlimit(resource.RLIMIT_STACK)[1]}\n"}]
# As many programs of contests begin.
RAISE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_STACK, (0x10000000, resource.getrlimit(resource.RLIMIT_STACK)[1]))
resource.setrlimit(resource.RLIMIT_STACK, (0x10000000, 0x10000000))
sys.setrecursionlimit(0x100000)
print(1)
"""


@pytest.fixture(name="client")
def connect(lend):
    with lend("languages.directory=").connect() as client:
        yield client


def run(client, language, code, tests, **limits):
    found = {entry["name"]: entry for entry in client.status()["languages"]}[language]
    if not found["available"]:
        pytest.skip(found["why_not"])
    job = {"kind": "program", "language": language, "code": code, "tests": tests, "limits": {**LIMITS, **limits}}
    result = client.run({**job, "compile_limits": {"wall_clock": 300, "cpu": 300}})
    assert result["type"] == "result", result
    return result


@pytest.mark.parametrize("language", sorted(DEEP))
def test_recursion_may_be_a_million_deep(client, language):
    result = run(client, language, DEEP[language], MILLION)
    assert result["verdict"] == "pass", result


@needs_gxx
def test_threads_have_room_beside_such_a_stack(client):
    result = run(client, "cpp", THREADS, [{"input": "", "output": "16\n"}], memory_bytes=256 << 20)
    assert result["verdict"] == "pass", result


@needs_gxx
def test_endless_recursion_ends_at_the_memory_limit(client):
    result = run(client, "cpp", ENDLESS, [{"input": "", "output": ""}], memory_bytes=256 << 20)
    assert result["verdict"] in {"memory", "runtime_error"}, result


@needs_gxx
def test_a_program_with_an_interactor_has_such_a_stack(client):
    interactor = "import sys\nprint(1000000, flush=True)\nsys.exit(input() != '1000000')\n"
    job = {
        "kind": "program", "language": "cpp", "code": DEEP["cpp"], "tests": [{"input": ""}],
        "interactor": {"language": "python", "code": interactor}, "limits": LIMITS,
    }  # fmt: skip
    result = client.run(job)
    assert result.get("verdict") == "pass", result


def test_other_languages_have_the_usual_stack(client):
    assert run(client, "python", TELL, USUAL)["verdict"] == "pass"


def test_a_program_may_ask_for_more(client):
    result = run(client, "python", RAISE, [{"input": "", "output": "1\n"}])
    assert result["verdict"] == "pass", result
