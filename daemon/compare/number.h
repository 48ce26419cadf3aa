/* SPDX-License-Identifier: MIT */
#pragma once
/* Numbers in texts: recognises and compares them, and finds the nearest double. Pure.
 *
 * A number is never expanded: "1e999999999" costs its eleven characters. */

#include "text.h"

#include <stdint.h>

/* The rules by which a text is a number. All take a sign, digits with a point, an exponent, inf,
 * infinity and nan, in capitals too; none takes hexadecimal. */
enum number_grammar {
    NUMBER_PLAIN,   /* no more than that */
    NUMBER_FLOAT,   /* Python's float(): digits of all scripts, underscores between digits */
    NUMBER_DECIMAL, /* Python's decimal.Decimal(): digits of all scripts, underscores anywhere, nan
                     * with digits behind it, snan; only as large and as small as it can hold */
    NUMBER_ABSEIL,  /* absl::SimpleAtod(): form feeds around it, nan(...) */
};

enum number_kind {
    NUMBER_FINITE,
    NUMBER_INFINITE,
    NUMBER_NAN,
};

/* The value of a finite number is 0.DIGITS times ten to the power of `point`. */
struct number {
    enum number_grammar grammar;
    enum number_kind kind;
    bool negative;
    struct span digits; /* from the first to the last that is not 0, with what lies between; empty:
                         * the number is 0. Borrowed */
    int64_t point;
};

/* Returns whether TEXT is a number, with it in *ret. */
bool number_parse(struct span text, enum number_grammar grammar, struct number *ret);

/* Whether the values are equal, to the last digit; nan equals nothing. */
bool number_equal(const struct number *a, const struct number *b);

/* Returns the nearest double: an infinity for what is too large. */
double number_double(const struct number *number);
