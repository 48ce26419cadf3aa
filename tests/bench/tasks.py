# SPDX-License-Identifier: MIT
"""Coding tasks for the benchmarks, with answers: of a file in the form of HumanEval, or a few of our own that
are as long as those. A task has task_id, prompt, test, entry_point and canonical_solution; an answer task_id
and completion."""

import json

TIMEOUT_SECONDS = 3
RUNS = 10  # of each canonical solution

DOC = '''    """ {text}
    >>> {name}({shown})
    {result}
    """
'''
# Name, parameters, what it does, body, wrong body, inputs, the answer as an expression of the input.
OWN = [
    ("has_close", "numbers: List[float], limit: float", "Check if any two numbers are closer than the limit.",
     ["for i, a in enumerate(numbers):", "    for j, b in enumerate(numbers):",
      "        if i != j and abs(a - b) < limit:", "            return True", "return False"],
     ["return False"],
     ["[1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3", "[1.0, 2.0, 5.9, 4.0, 5.0], 0.8", "[1.1, 2.2, 3.1, 4.1, 5.1], 1.0"]),
    ("split_groups", "text: str", "Split nested parentheses into the balanced groups of the outermost level.",
     ["found, depth, part = [], 0, []", "for c in text:", "    if c in '()':", "        depth += 1 if c == '(' else -1",
      "        part.append(c)", "        if depth == 0:", "            found.append(''.join(part))",
      "            part = []", "return found"],
     ["return text.split()"],
     ["'(()()) ((())) () ((())()())'", "'() (()) ((())) (((())))'", "'( ) (( )) (( )( ))'"]),
    ("intersperse", "numbers: List[int], between: int", "Insert a number between any two consecutive ones.",
     ["found = []", "for n in numbers[:-1]:", "    found.append(n)", "    found.append(between)",
      "return found + numbers[-1:]"],
     ["return [part for n in numbers for part in (n, between)]"],
     ["[], 7", "[5, 6, 3, 2], 8", "[2, 2, 2], 2"]),
    ("running_max", "numbers: List[int]", "Return the largest number found so far, at each place.",
     ["best, found = None, []", "for n in numbers:", "    best = n if best is None else max(best, n)",
      "    found.append(best)", "return found"],
     ["return sorted(numbers)"],
     ["[]", "[1, 2, 3, 4]", "[4, 3, 2, 1]", "[3, 2, 3, 100, 3]"]),
    ("count_letters", "text: str", "Return how often each letter occurs, whatever its case.",
     ["found: Dict[str, int] = {}", "for c in text.lower():", "    if c.isalpha():",
      "        found[c] = found.get(c, 0) + 1", "return found"],
     ["return {c: text.count(c) for c in text}"],
     ["''", "'Hello, World'", "'xyzXYZ 123'", "'aabbccddeeff'"]),
    ("primes_below", "limit: int", "Return the primes below a limit.",
     ["sieve = [True] * max(limit, 2)", "sieve[:2] = [False, False]", "for n in range(2, math.isqrt(max(limit, 1)) + 1):",
      "    if sieve[n]:", "        for m in range(n * n, limit, n):", "            sieve[m] = False",
      "return [n for n in range(limit) if sieve[n]]"],
     ["return list(range(2, limit))"],
     ["0", "11", "50", "1000"]),
    ("solve", "coefficients: List[float], x: float", "Evaluate a polynomial at a point.",
     ["total = 0.0", "for power, factor in enumerate(coefficients):", "    total += factor * math.pow(x, power)",
      "return total"],
     ["return sum(coefficients) * x"],
     ["[1, 2, 3], 2.0", "[-6.0, 11.0, -6.0, 1.0], 3.0", "[0.5], 7.0"]),
    ("is_balanced", "text: str", "Check if every bracket has its partner.",
     ["stack, partner = [], {')': '(', ']': '[', '}': '{'}", "for c in text:", "    if c in '([{':",
      "        stack.append(c)", "    elif not stack or stack.pop() != partner[c]:", "        return False",
      "return not stack"],
     ["return text.count('(') == text.count(')')"],
     ["''", "'([]{})'", "'([)]'", "'((('"]),
]  # fmt: skip
HEAD = "import math\nfrom typing import Dict, List\n\n\n"


def _indented(lines):
    return "".join(f"    {line}\n" for line in lines)


def _own_task(number, name, parameters, text, body, _, inputs):
    namespace = {}
    exec(f"{HEAD}def {name}({parameters}):\n{_indented(body)}", namespace)
    results = [eval(f"{name}({one})", namespace) for one in inputs]
    doc = DOC.format(text=text, name=name, shown=inputs[-1], result=results[-1])
    asserts = [f"assert candidate({one}) == {result!r}" for one, result in zip(inputs, results)]
    return {
        "task_id": f"own/{number}",
        "prompt": f"{HEAD}def {name}({parameters}):\n{doc}",
        "entry_point": name,
        "canonical_solution": _indented(body),
        "test": f"\n\nMETADATA = {{'author': 'own'}}\n\n\ndef check(candidate):\n{_indented(asserts * 2)}\n",
    }


def own_tasks():
    return [_own_task(number, *parts) for number, parts in enumerate(OWN)]


def own_answers(count):
    """Returns answers of which a third is right; one in 330 does not end."""
    found = []
    for n in range(count):
        body = OWN[n % len(OWN)][3 if n // len(OWN) % 3 == 0 else 4]
        if n % 330 == 329:
            body = ["while True:", "    pass"]
        found.append({"task_id": f"own/{n % len(OWN)}", "completion": _indented(body)})
    return found


def read(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.strip()]


def canonical_answers(tasks, count=0):
    """Returns RUNS answers to each task, or COUNT to all of them together."""
    count = count or RUNS * len(tasks)
    answers = ({"task_id": t["task_id"], "completion": t["canonical_solution"]} for _ in range(count) for t in tasks)
    return [answer for answer, _ in zip(answers, range(count))]


def program(task, answer):
    """Returns the answer and its tests as one program."""
    completion = answer["completion"]
    if completion[:1] not in (" ", "\n"):
        completion = "    " + completion
    return f"{task['prompt']}{completion}\n{task['test']}\ncheck({task['entry_point']})\n"


def job(task, answer, **fields):
    return {"kind": "code_exec", "code": answer["completion"], "prelude": task["prompt"], "test": task["test"],
            "entry_point": task["entry_point"], "metadata": {"timeout_s": TIMEOUT_SECONDS}, **fields}  # fmt: skip
