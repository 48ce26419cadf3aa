/* SPDX-License-Identifier: MIT */
#include "real_text.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MIN 15
#define DIGITS_MAX 17

/* D.DDD times ten to the exponent. */
struct decimal {
    char digit[DIGITS_MAX]; /* as characters */
    int count;
    int exponent;
};

/* Makes the decimal with COUNT digits that is next to VALUE, which is positive. */
static struct decimal decimal_of(double value, int count)
{
    struct decimal decimal = {.count = count};
    char text[REAL_TEXT_MAX];
    (void)snprintf(text, sizeof(text), "%.*e", count - 1, value);
    decimal.digit[0] = text[0];
    memcpy(decimal.digit + 1, text + 2, (size_t)count - 1); /* whatever the locale's point is */
    decimal.exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    return decimal;
}

/* Rounds to COUNT digits. */
static void round_to(struct decimal *decimal, int count)
{
    bool is_up = decimal->digit[count] >= '5';
    decimal->count = count;
    for (int i = count - 1; is_up && i >= 0; i--) {
        is_up = decimal->digit[i] == '9';
        decimal->digit[i] = is_up ? '0' : (char)(decimal->digit[i] + 1);
    }
    if (is_up) { /* they were nines */
        decimal->digit[0] = '1';
        decimal->exponent++;
    }
}

/* Whether DECIMAL reads as VALUE. */
static bool is_text_of(const struct decimal *decimal, double value)
{
    char text[REAL_TEXT_MAX], *end = text + decimal->count;
    int exponent = decimal->exponent - decimal->count + 1, rest = abs(exponent);
    memcpy(text, decimal->digit, (size_t)decimal->count);
    *end++ = 'e';
    *end++ = exponent < 0 ? '-' : '+';
    for (int unit = 100; unit > 0; rest %= unit, unit /= 10)
        *end++ = (char)('0' + rest / unit);
    *end = '\0';
    return strtod(text, NULL) == value;
}

/* Finds 15 digits that read as VALUE without asking the library, which takes long. Most reals that
 * people write have no more. The quotient of two numbers that doubles hold exactly is what reading
 * it gives. False: there may be none. */
static bool find_short(double value, struct decimal *ret)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const double most = powers[DIGITS_MIN];
    int point = DIGITS_MIN - 1; /* digits behind the point */
    if (value < 1e-7 || value >= most)
        return false;
    while (point > 0 && value * powers[point] >= most)
        point--;
    while (value * powers[point] < most / 10)
        point++;
    double scaled = nearbyint(value * powers[point]);
    if (scaled >= most || scaled / powers[point] != value)
        return false;
    uint64_t rest = (uint64_t)scaled;
    *ret = (struct decimal){.count = DIGITS_MIN, .exponent = DIGITS_MIN - 1 - point};
    for (int i = DIGITS_MIN - 1; i >= 0; i--, rest /= 10)
        ret->digit[i] = (char)('0' + rest % 10);
    return true;
}

/* The shortest decimal of VALUE. From 17 digits follow the others. A decimal that reads as VALUE is
 * at most half a unit in the last place away from it, which is less than 12 of the 17th digit. So
 * 15 digits can only do if those that follow are near 00. */
static struct decimal shortest(double value)
{
    struct decimal all, fewer;
    if (find_short(value, &fewer))
        return fewer;
    fewer = all = decimal_of(value, DIGITS_MAX);
    bool is_normal = value >= 0x1p-1022;
    int rest = (all.digit[DIGITS_MIN] - '0') * 10 + all.digit[DIGITS_MIN + 1] - '0';
    if (rest <= 12 || rest >= 88 || !is_normal) {
        if (is_normal)
            round_to(&fewer, DIGITS_MIN);
        else
            fewer = decimal_of(value, DIGITS_MIN);
        if (is_text_of(&fewer, value))
            return fewer;
    }
    fewer = all;
    if (all.digit[DIGITS_MAX - 1] == '5') /* which may be rounded up already */
        fewer = decimal_of(value, DIGITS_MAX - 1);
    else
        round_to(&fewer, DIGITS_MAX - 1);
    return is_text_of(&fewer, value) ? fewer : all;
}

static size_t put(char *out, const char *text, int n)
{
    memcpy(out, text, (size_t)n);
    return (size_t)n;
}

/* Prints N digits with their exponent behind them. */
static size_t print_scientific(const struct decimal *decimal, int n, char *out)
{
    size_t length = put(out, decimal->digit, 1);
    if (n > 1) {
        out[length++] = '.';
        length += put(out + length, decimal->digit + 1, n - 1);
    }
    char exponent[8];
    int digits = snprintf(exponent, sizeof(exponent), "e%d", decimal->exponent);
    return length + put(out + length, exponent, digits);
}

/* Prints N digits with a point among, before or behind them. */
static size_t print_plain(const struct decimal *decimal, int n, char *out)
{
    static const char zeros[] = "00000000000000000";
    int whole = decimal->exponent + 1; /* digits before the point */
    size_t length = 0;
    if (whole <= 0) {
        length += put(out, "0.", 2);
        length += put(out + length, zeros, -whole);
        return length + put(out + length, decimal->digit, n);
    }
    int given = n < whole ? n : whole;
    length += put(out, decimal->digit, given);
    length += put(out + length, zeros, whole - given);
    out[length++] = '.';
    return length + (n > whole ? put(out + length, decimal->digit + whole, n - whole)
                               : put(out + length, zeros, 1));
}

size_t real_text(double value, char ret[REAL_TEXT_MAX])
{
    assert(isfinite(value));
    size_t length = signbit(value) ? put(ret, "-", 1) : 0;
    if (value == 0)
        return length + put(ret + length, "0.0", 3);
    struct decimal decimal = shortest(fabs(value));
    int n = decimal.count;
    while (n > 1 && decimal.digit[n - 1] == '0')
        n--;
    bool is_plain = decimal.exponent >= -4 && decimal.exponent < decimal.count;
    return length + (is_plain ? print_plain : print_scientific)(&decimal, n, ret + length);
}
