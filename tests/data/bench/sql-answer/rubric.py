# SPDX-License-Identifier: MIT
"""Grade a SQL query by running it and comparing its rows with those of a reference query.

The case has `schema` (a script), `rows` (a list of rows by table name), `gold_sql`, and `ordered`,
which is true if the question asks for an order. The harness output has `answer`: one SELECT
statement, bare or in a Markdown fence. The positions of columns count, their names do not. 3 equals
3.0, and real numbers are compared to six decimals.

The query comes from a model, so SQLite itself confines it. An authorizer lets it only read, a
progress handler counts its steps, and limits bound the size of values, rows and the heap. The score
of a query that runs but is wrong is half of the F1 over its rows.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections import Counter
from typing import Any

MAX_ANSWER_CHARS = 10_000
MAX_DETAIL_CHARS = 160
MAX_ROWS = 2_000
MAX_RESULT_CHARS = 1_000_000
MAX_VALUE_BYTES = 16_384
MAX_SQL_BYTES = 4 * MAX_ANSWER_CHARS
MAX_HEAP_BYTES = 64 * 1024 * 1024
MAX_STEPS = 500_000
STEPS_PER_CALLBACK = 1_000

# These make the result of a query differ between runs, or reach outside of the database.
DENIED_FUNCTIONS = frozenset({"random", "randomblob", "load_extension"})
READING = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
SYNTAX_MESSAGE = re.compile(r"syntax error|incomplete input|unrecognized token|null character")
FENCE = re.compile(r"^[ \t]*```([^\n`]*)\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)

Row = tuple[Any, ...]


class QueryFailed(Exception):
    """The query gave no rows to compare. `code` is the failure mode."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class Guard:
    """Callbacks for SQLite that confine an untrusted query, and the first refusal."""

    def __init__(self, max_steps: int) -> None:
        self.callbacks_left = max_steps // STEPS_PER_CALLBACK
        self.refused = ""

    def authorize(self, action: int, first: str | None, second: str | None, *_: Any) -> int:
        """Allow reading. Deny everything else, and note the first denial."""
        if action not in READING:
            self.refused = self.refused or "the statement does more than read"
        elif action == sqlite3.SQLITE_FUNCTION and str(second).lower() in DENIED_FUNCTIONS:
            self.refused = self.refused or f"function {str(second).lower()}"
        else:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def progress(self) -> int:
        """Stop the query once it has used up its steps."""
        self.callbacks_left -= 1
        return int(self.callbacks_left < 0)

    def explain(self, error: Exception) -> QueryFailed:
        """Return the error of a query as a QueryFailed."""
        message = str(error)
        if self.refused:
            return QueryFailed("sql.forbidden", self.refused)
        if "one statement at a time" in message:
            return QueryFailed("sql.forbidden", "more than one statement")
        if self.callbacks_left < 0:
            return QueryFailed("sql.too_slow", "the query used up its steps")
        if isinstance(error, (MemoryError, sqlite3.DataError)) or "too big" in message:
            return QueryFailed("sql.too_large", "a value or the working memory grew too large")
        code = "sql.syntax" if SYNTAX_MESSAGE.search(message) else "sql.invalid"
        return QueryFailed(code, message)


def extract_query(text: str) -> str:
    """Return the first block tagged as SQL, else the first block, else the whole text."""
    blocks = [(fence[1].strip().lower(), fence[2]) for fence in FENCE.finditer(text)]
    tagged = [body for tag, body in blocks if tag in ("sql", "sqlite", "sqlite3")]
    return (tagged or [body for _, body in blocks] or [text])[0].strip().rstrip("; \t\r\n")


def build_database(case: dict[str, Any]) -> sqlite3.Connection:
    """Create the case's tables and fill them."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.executescript(case["schema"])
    for table, rows in case["rows"].items():
        for row in rows:
            database.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(row))})', row)
    return database


def confine(database: sqlite3.Connection, guard: Guard) -> None:
    """Put the limits and the guard in force, permanently."""
    database.execute(f"PRAGMA hard_heap_limit={MAX_HEAP_BYTES}")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    database.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES)
    database.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, 100)
    database.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100)
    database.set_progress_handler(guard.progress, STEPS_PER_CALLBACK)
    database.set_authorizer(guard.authorize)


def run_untrusted(database: sqlite3.Connection, query: str, guard: Guard) -> list[Row]:
    """Return the rows of the model's query, or raise QueryFailed."""
    rows: list[Row] = []
    chars = 0
    try:
        cursor = database.execute(query)
        if cursor.description is None:
            raise QueryFailed("sql.syntax", "there is no statement that gives rows")
        for row in cursor:
            rows.append(canonical_row(row))
            chars += sum(len(cell) for cell in row if isinstance(cell, (str, bytes)))
            if len(rows) > MAX_ROWS or chars > MAX_RESULT_CHARS:
                raise QueryFailed("sql.too_large", f"more than {MAX_ROWS} rows or too much in them")
    except (sqlite3.Error, sqlite3.Warning, MemoryError, UnicodeEncodeError) as error:
        raise guard.explain(error) from error
    return rows


def canonical_row(row: Row) -> Row:
    """Make equal cells identical: 3 and 3.0, 0.3 and 0.1 + 0.2."""
    return tuple(canonical_cell(cell) for cell in row)


def canonical_cell(cell: Any) -> Any:
    """Round a real number to six decimals, and make it an integer if it has no fraction."""
    if not isinstance(cell, float):
        return cell
    rounded = round(cell, 6)
    return int(rounded) if rounded.is_integer() else rounded


def row_f1(answer: list[Row], gold: list[Row]) -> float:
    """Return the harmonic mean of precision and recall of the answer's rows."""
    if not answer and not gold:
        return 1.0
    common = sum((Counter(answer) & Counter(gold)).values())
    return 2 * common / (len(answer) + len(gold))


def difference(answer: list[Row], gold: list[Row]) -> str:
    """Describe in a few words how the answer's rows differ from the right ones."""
    if answer and gold and len(answer[0]) != len(gold[0]):
        return f"{len(answer[0])} columns, expected {len(gold[0])}"
    missing = sum((Counter(gold) - Counter(answer)).values())
    surplus = sum((Counter(answer) - Counter(gold)).values())
    return f"{missing} rows missing, {surplus} rows too many"


def failure(code: str, severity: str = "block", detail: str = "") -> dict[str, str]:
    """Build one failure mode. Make its detail a single line of valid UTF-8, and cut it."""
    text = " ".join(detail.encode("utf-8", "replace").decode().split())[:MAX_DETAIL_CHARS]
    return {"code": code, "severity": severity, **({"detail": text} if text else {})}


def cost_usd(harness_output: dict[str, Any]) -> float:
    """Return the cost that the harness reports, or 0 if it is missing or not a valid number."""
    cost = harness_output.get("cost_usd")
    if isinstance(cost, bool) or not isinstance(cost, (int, float)):
        return 0
    return cost if 0 <= cost <= sys.float_info.max else 0


def grade(case: dict[str, Any], text: Any) -> tuple[float, dict[str, float], list[dict[str, str]]]:
    """Return the score, the breakdown and the failure modes of one answer."""
    if not isinstance(text, str) or not text.strip():
        return 0.0, {}, [failure("sql.missing_answer", detail="no answer text")]
    if len(text) > MAX_ANSWER_CHARS:
        return 0.0, {}, [failure("sql.too_large", detail=f"the answer has {len(text)} characters")]

    database = build_database(case)
    gold = [canonical_row(row) for row in database.execute(case["gold_sql"])]
    guard = Guard(case.get("max_steps", MAX_STEPS))
    confine(database, guard)
    try:
        rows = run_untrusted(database, extract_query(text), guard)
    except QueryFailed as failed:
        return 0.0, {"executed": 0.0}, [failure(failed.code, detail=str(failed))]
    finally:
        database.close()

    f1 = row_f1(rows, gold)
    same_bag = Counter(rows) == Counter(gold)
    matched = rows == gold if case.get("ordered", False) else same_bag
    breakdown = {"executed": 1.0, "rows_match": float(matched), "row_f1": round(f1, 6)}
    if matched:
        return 1.0, breakdown, []
    if same_bag:
        mode = failure("sql.wrong_order", detail="the right rows, not in the order asked for")
    else:
        mode = failure("sql.wrong_rows", detail=difference(rows, gold))
    return round(f1 / 2, 6), breakdown, [mode]


def score(case: dict[str, Any], harness_output: Any) -> dict[str, Any]:
    """Return the BenchScore of one case."""
    output = harness_output if isinstance(harness_output, dict) else {}
    points, breakdown, modes = grade(case, output.get("answer"))
    return {
        "passed": points == 1.0,
        "score": points,
        "breakdown": breakdown,
        "failure_modes": modes,
        "cost_usd": cost_usd(output),
    }


def main() -> None:
    """Read one case and one harness output from stdin, write one BenchScore to stdout."""
    request = json.loads(sys.stdin.buffer.read())
    json.dump(score(request["case"], request["harness_output"]), sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
