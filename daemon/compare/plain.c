/* SPDX-License-Identifier: MIT */
/* Rules of our own.
 *
 *   exact            every byte is the same.
 *   lines            the lines are the same but for the blanks at their ends (space, tab, carriage
 *                    return); empty lines at the end of the output do not count, nor whether the
 *                    last line ends in a line feed. What most judges call the default.
 *   tokens           the same words in the same order, whatever blanks lie between (space, tab,
 *                    line feed, vertical tab, form feed, carriage return). testlib's wcmp.
 *   float:ABS,REL    as tokens, but where both words are numbers (decimal, with an optional
 *                    exponent, inf or nan) their distance may be ABS, or REL times the expected
 *                    one. Where that is 0, they are equal to the last digit. Otherwise both are
 *                    read as doubles, and the distance may be as much more as these are rounded, so
 *                    that one of just ABS passes. (testlib's doubleCompare() forgives 1e-15 more,
 *                    which is all that there is where tiny numbers are expected.) nan equals nan,
 *                    and inf an inf of its sign; a number too large for a double is none. */
#include "number.h"
#include "rules.h"

#include <float.h>
#include <math.h>

#define BLANKS " \t\n\v\f\r"

static int differ(struct mismatch *ret, const char *why, struct span got, struct span expected)
{
    *ret = (struct mismatch){.why = why, .got = got, .expected = expected, .at = got.at};
    return 1;
}

/* --- lines -------------------------------------------------------------------------------------
 */

static bool is_same_but_for_blanks(struct span got, struct span expected)
{
    for (;;) {
        struct span mine, theirs;
        bool more = text_token_between(&got, BLANKS, &mine),
             wanted = text_token_between(&expected, BLANKS, &theirs);
        if (!more && !wanted)
            return true;
        if (more != wanted || !span_equal(mine, theirs))
            return false;
    }
}

static struct span without_blanks(struct span line)
{
    while (line.at < line.end &&
           (line.end[-1] == ' ' || line.end[-1] == '\t' || line.end[-1] == '\r'))
        line.end--;
    return line;
}

/* Says how the lines differ. Under the rule lines, `prepare` has left no blanks at their ends. */
static const char *why_other(struct span got, struct span expected)
{
    if (span_equal(without_blanks(got), without_blanks(expected)))
        return "the line is as expected but for blanks at its end, which the rule lines ignores";
    if (is_same_but_for_blanks(got, expected))
        return "the line is as expected but for blanks, which the rule tokens ignores";
    return "the line is not as expected";
}

/* Walks two texts line by line after `judge` has prepared each. */
static int compare_lines(struct span got, struct span expected,
                         struct span (*prepare)(struct span line), struct mismatch *ret)
{
    struct lines left = {.rest = got}, right = {.rest = expected};
    for (;;) {
        struct span mine = {got.end, got.end}, theirs = {expected.end, expected.end};
        bool more = text_next_line(&left, &mine), wanted = text_next_line(&right, &theirs);
        if (!more && !wanted)
            return 0;
        mine = prepare(mine);
        theirs = prepare(theirs);
        if (!more)
            return differ(ret,
                          right.done && span_length(theirs) == 0
                              ? "the output lacks the newline at its end"
                              : "the output ends too early",
                          mine, theirs);
        if (!wanted)
            return differ(ret,
                          left.done && span_length(mine) == 0
                              ? "the output ends in a newline that is not expected"
                              : "the output goes on where it should end",
                          mine, theirs);
        if (!span_equal(mine, theirs))
            return differ(ret, why_other(mine, theirs), mine, theirs);
    }
}

static struct span keep(struct span line)
{
    return line;
}

/* Returns TEXT without the blank lines at its end. */
static struct span without_end(struct span text)
{
    const char *end = text.end;
    while (text.at < end &&
           (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r' || end[-1] == '\n'))
        end--;
    text.end = end;
    return text;
}

int plain_exact(struct span got, struct span expected, struct mismatch *ret)
{
    return span_equal(got, expected) ? 0 : compare_lines(got, expected, keep, ret);
}

int plain_lines(struct span got, struct span expected, struct mismatch *ret)
{
    return compare_lines(without_end(got), without_end(expected), without_blanks, ret);
}

/* --- tokens ------------------------------------------------------------------------------------
 */

struct tolerance {
    double absolute, relative;
};

static bool within(const struct tolerance *tolerance, struct span got, struct span expected)
{
    struct number mine, theirs;
    if (!number_parse(got, NUMBER_PLAIN, &mine) || !number_parse(expected, NUMBER_PLAIN, &theirs))
        return false;
    if (mine.kind != NUMBER_FINITE || theirs.kind != NUMBER_FINITE)
        return mine.kind == theirs.kind &&
               (mine.kind == NUMBER_NAN || mine.negative == theirs.negative);
    if (number_equal(&mine, &theirs))
        return true;
    double a = number_double(&mine), b = number_double(&theirs);
    double most = fmax(tolerance->absolute, tolerance->relative * fabs(b));
    if (most == 0 || isinf(a) || isinf(b))
        return false;
    return fabs(a - b) <= most + DBL_EPSILON * fabs(a) + DBL_EPSILON * fabs(b);
}

/* TOLERANCE is NULL if equal words are wanted. */
static int compare_tokens(struct span got, struct span expected, const struct tolerance *tolerance,
                          struct mismatch *ret)
{
    for (;;) {
        struct span mine, theirs;
        bool more = text_token_between(&got, BLANKS, &mine),
             wanted = text_token_between(&expected, BLANKS, &theirs);
        if (!more && !wanted)
            return 0;
        if (!more)
            return differ(ret, "the output ends too early", mine, theirs);
        if (!wanted)
            return differ(ret, "the output goes on where it should end", mine, theirs);
        if (span_equal(mine, theirs))
            continue;
        if (!tolerance)
            return differ(ret, "the word is not as expected", mine, theirs);
        if (!within(tolerance, mine, theirs))
            return differ(ret, "the word is not as expected, nor a number close enough to it", mine,
                          theirs);
    }
}

int plain_tokens(struct span got, struct span expected, struct mismatch *ret)
{
    return compare_tokens(got, expected, NULL, ret);
}

int plain_float(struct span got, struct span expected, double absolute, double relative,
                struct mismatch *ret)
{
    const struct tolerance tolerance = {absolute, relative};
    return compare_tokens(got, expected, &tolerance, ret);
}
