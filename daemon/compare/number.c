/* SPDX-License-Identifier: MIT */
#include "number.h"

#include "proto/util.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

/* Exponents beyond this are as good as this one: no text has as many digits. */
#define EXPONENT_MAX (INT64_C(4) * 1000000000 * 1000000000)
/* decimal.MAX_EMAX and MIN_ETINY of a 64-bit host: what Decimal() can hold without rounding. */
#define DECIMAL_EMAX INT64_C(999999999999999999)
#define DECIMAL_ETINY INT64_C(-1999999999999999997)
/* A double is decided by its first 767 significant digits, and by whether there are more. */
#define DIGITS_MAX 800
/* So many digits are a whole number that a double holds. */
#define FEW_DIGITS 15
/* Beyond this each double is 0 or infinite. */
#define DOUBLE_EXPONENT_MAX 100000

/* --- characters --------------------------------------------------------------------------------
 */

enum { END = -1, OTHER = -2 };

/* Goes through the characters that count: digits of other scripts become ASCII, and underscores
 * vanish where the grammar allows them. */
struct reader {
    const char *at, *end;
    enum number_grammar grammar;
    bool after_digit;
};

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* Returns the character at AT, which lies in the text, and its length. */
static int decode(const char *at, const char *end, enum number_grammar grammar, size_t *ret_length)
{
    int value;
    *ret_length = 1;
    if (((unsigned char)*at & 0x80) == 0)
        return (unsigned char)*at;
    if (grammar != NUMBER_FLOAT && grammar != NUMBER_DECIMAL)
        return OTHER;
    size_t length = text_digit(at, end, &value);
    if (length == 0)
        return OTHER;
    *ret_length = length;
    return '0' + value;
}

/* Steps over the underscores at the reader that its grammar ignores. */
static void skip_underscores(struct reader *reader)
{
    size_t length;
    if (reader->grammar == NUMBER_DECIMAL) {
        while (reader->at < reader->end && *reader->at == '_')
            reader->at++;
    } else if (reader->grammar == NUMBER_FLOAT && reader->end - reader->at > 1 &&
               *reader->at == '_' && reader->after_digit &&
               is_digit(decode(reader->at + 1, reader->end, reader->grammar, &length))) {
        reader->at++;
    }
}

/* Returns the next character without taking it, its length in bytes in *ret_length. */
static int peek(struct reader *reader, size_t *ret_length)
{
    *ret_length = 0;
    skip_underscores(reader);
    if (reader->at >= reader->end)
        return END;
    return decode(reader->at, reader->end, reader->grammar, ret_length);
}

static int take(struct reader *reader)
{
    size_t length;
    int c = peek(reader, &length);
    reader->at += length;
    reader->after_digit = is_digit(c);
    return c;
}

static bool take_if(struct reader *reader, char wanted)
{
    size_t length;
    int c = peek(reader, &length);
    if (c < 0 || tolower(c) != wanted)
        return false;
    (void)take(reader);
    return true;
}

/* Takes WORD, in lower case here; takes nothing if it is not there. */
static bool take_word(struct reader *reader, const char *word)
{
    struct reader ahead = *reader;
    for (; *word; word++)
        if (!take_if(&ahead, *word))
            return false;
    *reader = ahead;
    return true;
}

static bool at_end(struct reader *reader)
{
    size_t length;
    return peek(reader, &length) == END;
}

/* --- words -------------------------------------------------------------------------------------
 */

/* Takes what may follow "nan". */
static void take_payload(struct reader *reader)
{
    size_t length;
    if (reader->grammar == NUMBER_DECIMAL) {
        while (is_digit(peek(reader, &length)))
            (void)take(reader);
    } else if (reader->grammar == NUMBER_ABSEIL) {
        struct reader ahead = *reader;
        if (!take_if(&ahead, '('))
            return;
        int c;
        do
            c = take(&ahead);
        while (c >= 0 && (isalnum(c) || c == '_'));
        if (c == ')')
            *reader = ahead;
    }
}

static bool parse_word(struct reader reader, struct number *number)
{
    if (take_word(&reader, "inf")) {
        (void)take_word(&reader, "inity");
        number->kind = NUMBER_INFINITE;
    } else if (take_word(&reader, "nan") ||
               (reader.grammar == NUMBER_DECIMAL && take_word(&reader, "snan"))) {
        take_payload(&reader);
        number->kind = NUMBER_NAN;
    } else {
        return false;
    }
    return at_end(&reader);
}

/* --- digits ------------------------------------------------------------------------------------
 */

/* Reads an exponent if there is one; false if there is no digit behind the `e`. */
static bool parse_exponent(struct reader *reader, int64_t *ret)
{
    *ret = 0;
    if (!take_if(reader, 'e'))
        return true;
    bool negative = take_if(reader, '-');
    if (!negative)
        (void)take_if(reader, '+');
    size_t length;
    int c = peek(reader, &length);
    if (!is_digit(c))
        return false;
    int64_t value = 0;
    for (; is_digit(c); c = peek(reader, &length))
        value = MIN(value, EXPONENT_MAX / 10 - 1) * 10 + (take(reader) - '0');
    *ret = negative ? -value : value;
    return true;
}

/* What was seen of the digits before the exponent. */
struct mantissa {
    int64_t digits;   /* all of them */
    int64_t fraction; /* of these, behind the point */
    int64_t leading;  /* of all, zeros before the first other digit */
};

static void parse_mantissa(struct reader *reader, struct number *number, struct mantissa *ret)
{
    *ret = (struct mantissa){0};
    bool point = false;
    for (;;) {
        size_t length;
        int c = peek(reader, &length);
        const char *at = reader->at;
        if (c == '.' && !point)
            point = true;
        else if (!is_digit(c))
            return;
        (void)take(reader);
        if (c == '.')
            continue;
        ret->digits++;
        ret->fraction += point;
        if (c != '0' && !number->digits.at)
            number->digits.at = at;
        if (c != '0')
            number->digits.end = reader->at;
        ret->leading += !number->digits.at;
    }
}

/* Whether Decimal() holds the number exactly; otherwise it refuses the text. */
static bool decimal_holds(const struct number *number, const struct mantissa *mantissa,
                          int64_t exponent)
{
    int64_t lowest = exponent - mantissa->fraction;
    int64_t highest = number->digits.at ? number->point - 1 : lowest;
    return lowest >= DECIMAL_ETINY && highest <= DECIMAL_EMAX;
}

static bool parse_digits(struct reader *reader, struct number *number)
{
    struct mantissa mantissa;
    int64_t exponent;
    parse_mantissa(reader, number, &mantissa);
    if (mantissa.digits == 0 || !parse_exponent(reader, &exponent) || !at_end(reader))
        return false;
    number->kind = NUMBER_FINITE;
    if (number->digits.at)
        number->point = mantissa.digits - mantissa.fraction - mantissa.leading + exponent;
    return number->grammar != NUMBER_DECIMAL || decimal_holds(number, &mantissa, exponent);
}

bool number_parse(struct span text, enum number_grammar grammar, struct number *ret)
{
    while (grammar == NUMBER_ABSEIL && text.at < text.end && *text.at == '\f')
        text.at++;
    while (grammar == NUMBER_ABSEIL && text.at < text.end && text.end[-1] == '\f')
        text.end--;
    struct reader reader = {.at = text.at, .end = text.end, .grammar = grammar};
    struct number number = {.grammar = grammar};
    number.negative = take_if(&reader, '-');
    if (!number.negative)
        (void)take_if(&reader, '+');
    if (!parse_word(reader, &number) && !parse_digits(&reader, &number))
        return false;
    *ret = number;
    return true;
}

/* --- values ------------------------------------------------------------------------------------
 */

/* Returns the next digit that counts, or END. */
static int next_digit(struct reader *reader)
{
    int c;
    do
        c = take(reader);
    while (c == '.');
    return c;
}

static struct reader read_digits(const struct number *number)
{
    return (struct reader){.at = number->digits.at,
                           .end = number->digits.end,
                           .grammar = number->grammar,
                           .after_digit = true};
}

bool number_equal(const struct number *a, const struct number *b)
{
    if (a->kind != b->kind || a->kind == NUMBER_NAN)
        return false;
    if (a->kind == NUMBER_INFINITE)
        return a->negative == b->negative;
    if (!a->digits.at || !b->digits.at)
        return !a->digits.at && !b->digits.at; /* -0 equals 0 */
    if (a->negative != b->negative || a->point != b->point)
        return false;
    struct reader left = read_digits(a), right = read_digits(b);
    int c;
    do {
        c = next_digit(&left);
        if (c != next_digit(&right))
            return false;
    } while (c != END);
    return true;
}

/* Finds the double of few digits. It is the nearest one: the digits and the power of ten are
 * doubles without an error, and one operation rounds once. False: there are more digits, or the
 * power is too large. */
static bool double_of_few(const struct number *number, double *ret)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int64_t most = (int64_t)ARRAY_SIZE(powers) - 1;
    struct reader reader = read_digits(number);
    uint64_t digits = 0;
    int64_t n = 0;
    int c;
    while ((c = next_digit(&reader)) != END) {
        if (++n > FEW_DIGITS)
            return false;
        digits = digits * 10 + (uint64_t)(c - '0');
    }
    int64_t power =
        number->point < -most || number->point > 2 * most ? most + 1 : number->point - n;
    if (FLT_EVAL_METHOD != 0 || power < -most || power > most)
        return false;
    *ret = power < 0 ? (double)digits / powers[-power] : (double)digits * powers[power];
    return true;
}

double number_double(const struct number *number)
{
    double sign = number->negative ? -1.0 : 1.0;
    if (number->kind == NUMBER_NAN)
        return NAN;
    if (number->kind == NUMBER_INFINITE)
        return sign * INFINITY;
    if (!number->digits.at)
        return sign * 0.0;
    double value;
    if (double_of_few(number, &value))
        return sign * value;
    char text[DIGITS_MAX + 32] = "0.";
    size_t n = 2;
    struct reader reader = read_digits(number);
    int c;
    for (size_t i = 0; i < DIGITS_MAX && (c = next_digit(&reader)) != END; i++)
        text[n++] = (char)c;
    if (!at_end(&reader))
        text[n++] = '1'; /* the last digit is not 0, so that there is more than nothing */
    int64_t point = MIN(MAX(number->point, -DOUBLE_EXPONENT_MAX), DOUBLE_EXPONENT_MAX);
    (void)snprintf(text + n, sizeof(text) - n, "e%d", (int)point);
    return sign * strtod(text, NULL);
}
