/* SPDX-License-Identifier: MIT */
#include "real_text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MIN 15
#define DIGITS_MAX 17

/* Makes "1e+05" "1e5", and "1e-05" "1e-5". Returns the length. */
static size_t shorten_exponent(char *text, size_t n)
{
    char *at = memchr(text, 'e', n);
    if (!at)
        return n;
    at += at[1] == '-' ? 2 : 1;
    size_t surplus = strspn(at, "+0");
    memmove(at, at + surplus, n - surplus - (size_t)(at - text));
    return n - surplus;
}

size_t real_text(double value, char ret[REAL_TEXT_MAX])
{
    int n = 0, digits = DIGITS_MIN;
    assert(isfinite(value));
    do
        n = snprintf(ret, REAL_TEXT_MAX, "%.*g", digits, value);
    while (digits++ < DIGITS_MAX && strtod(ret, NULL) != value);
    if (strcspn(ret, ".e") < (size_t)n)
        return shorten_exponent(ret, (size_t)n);
    ret[n++] = '.'; /* a real, and no integer */
    ret[n++] = '0';
    return (size_t)n;
}
