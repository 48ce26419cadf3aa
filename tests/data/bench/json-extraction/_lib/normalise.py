# SPDX-License-Identifier: MIT
"""Normalise extracted values, so that different notations of the same value compare equal."""

from __future__ import annotations

import datetime
import math
import re
import unicodedata
from decimal import Decimal
from typing import Any

MONTH_NAMES = (
    "january jan, february feb, march mar, april apr, may, june jun, july jul, august aug, "
    "september sep sept, october oct, november nov, december dec"
)
MONTHS = {
    name: number
    for number, names in enumerate(MONTH_NAMES.split(","), start=1)
    for name in names.split()
}

TIME_OF_DAY = r"[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?"
ISO_DATE = re.compile(rf"(\d{{4}})-(\d{{1,2}})-(\d{{1,2}})(?:{TIME_OF_DAY})?")
YEAR_FIRST = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")
NUMERIC_DATE = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})")
DAY_MONTH_YEAR = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?(?: of)?[ -]([a-z]+)\.?,?[ -](\d{4})")
MONTH_DAY_YEAR = re.compile(r"([a-z]+)\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")

CURRENCY = r"(?:usd|eur|gbp|chf|us\$|[$€£¥])"
AROUND_AMOUNT = re.compile(rf"^([-+]?){CURRENCY}\s*|\s*{CURRENCY}$", re.IGNORECASE)
NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?", re.ASCII)
MAX_NUMBER_CHARS = 40


def text(value: str) -> str:
    """Return a string in NFKC with its white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", value).split())


def number(value: Any) -> Decimal | None:
    """Read a number, or a text such as "1,234.50", "-$12" or "(3.00)". Return None otherwise."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        return Decimal(str(value)) if math.isfinite(value) else None
    if not isinstance(value, str):
        return None
    written = text(value).replace("\u2212", "-")
    # Accountants write negative amounts in parentheses.
    negative = written.startswith("(") and written.endswith(")")
    written = AROUND_AMOUNT.sub(r"\1", written[1:-1] if negative else written)
    if len(written) > MAX_NUMBER_CHARS or not NUMBER.fullmatch(written):
        return None
    amount = Decimal(written.replace(",", ""))
    return -amount if negative else amount


def date(value: Any, day_first: bool | None = None) -> datetime.date | None:
    """Read a date in one of the usual notations, or return None.

    03/04/2024 is ambiguous. Such a date is read only if the case says how (`day_first`), or if only
    one reading is a day of the calendar.
    """
    if not isinstance(value, str):
        return None
    written = text(value).lower()
    if found := ISO_DATE.fullmatch(written.upper()) or YEAR_FIRST.fullmatch(written):
        return calendar_date(int(found[1]), int(found[2]), int(found[3]))
    if found := DAY_MONTH_YEAR.fullmatch(written):
        return calendar_date(int(found[3]), MONTHS.get(found[2], 0), int(found[1]))
    if found := MONTH_DAY_YEAR.fullmatch(written):
        return calendar_date(int(found[3]), MONTHS.get(found[1], 0), int(found[2]))
    if found := NUMERIC_DATE.fullmatch(written):
        first, second, year = int(found[1]), int(found[2]), int(found[3])
        readings = {
            True: calendar_date(year, second, first),
            False: calendar_date(year, first, second),
        }
        if day_first is not None:
            return readings[day_first]
        possible = {reading for reading in readings.values() if reading}
        return possible.pop() if len(possible) == 1 else None
    return None


def calendar_date(year: int, month: int, day: int) -> datetime.date | None:
    """Return the date, or None if the calendar has no such day."""
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


def string_set(value: Any) -> set[str] | None:
    """Return a list of strings as a set, with case and spacing normalised; otherwise None."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return {text(item).casefold() for item in value} - {""}
