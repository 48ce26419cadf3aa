/* SPDX-License-Identifier: MIT */
/* The rule of APPS, a cascade: outputs are equal as soon as one step says so.
 *
 * Source: eval/testing_util.py of hendrycks/apps (MIT), in run_test() for programs that read
 * standard input, and custom_compare_(). codeparrot/apps_metric and TACO go the same way.
 *
 * The output is the list of its lines, cut as str.splitlines() does. The expected one is a text, or
 * a list of texts, which are joined with line feeds first.
 *
 *   1. The lines, joined with line feeds, are the expected text without blanks around both.
 *   2. So are the lines without the blanks around each.
 *   3. Cut the expected text at line feeds, drop empty lines, and strip the others: that list is
 *      the list of lines.
 *   4. It is the list of lines without the empty ones.
 *   5. Each line of both lists is a number for float(), there are as many of them, and
 *      numpy.allclose() holds: |got - expected| <= 1e-8 + 1e-5 * |expected|, or both are the same
 *      infinity; nan is close to nothing.
 *   6. Make the set of words of each line: the sets of these sets are equal. So the order of words
 *      in a line does not count, nor that of lines, nor how often each is there.
 *   7. So are the sets of sets of round(float(word), 3), if all words are numbers.
 *
 * The cascade says that outputs with a lone carriage return, a form feed and the like differ from
 * themselves, as the origin does: it cuts only the output there.
 *
 * Differs: the origin compares expected values of other types (numbers, lists of lists), too; here
 * they are texts. Steps 6 and 7 are left out, and so the outputs differ, if one of them has more
 * than APPS_WORDS_MAX words and lines, or the output more than APPS_COPY_MAX bytes and a line break
 * that is no line feed. The tolerance of step 5 is reckoned in doubles as numpy does. */
#include "number.h"
#include "rules.h"
#include "sets.h"

#include "proto/util.h"

#include <errno.h>
#include <math.h>

/* Words and lines of an output that are compared as sets. */
#define APPS_WORDS_MAX ((size_t)1 << 18)
/* Bytes of an output that is copied to replace its line breaks. */
#define APPS_COPY_MAX ((size_t)256 << 20)

#define RTOL 1e-5
#define ATOL 1e-8

/* --- the two lists of lines --------------------------------------------------------------------
 */

/* Finds a line break that is no line feed. */
static bool has_other_break(struct span text)
{
    for (const char *at = text.at; at < text.end; at++)
        if ((*at < ' ' || *at > '~') && *at != '\n' && text_break(at, text.end) > 0)
            return true;
    return false;
}

/* Copies TEXT with a line feed for each line break. */
static struct span copy_lines(struct span text, char *copy)
{
    char *to = copy;
    for (const char *at = text.at; at < text.end;) {
        size_t n = text_break(at, text.end);
        *to++ = n > 0 ? '\n' : *at;
        at += n > 0 ? n : 1;
    }
    return (struct span){copy, to};
}

/* Begins to go through the lines of OUTPUT, in which only line feeds break lines: unlike split(),
 * splitlines() has no line behind the last line feed. */
static struct lines output_lines(struct span output)
{
    struct lines lines = {.rest = output, .done = output.at == output.end};
    if (!lines.done && output.end[-1] == '\n')
        lines.rest.end--;
    return lines;
}

static struct lines expected_lines(struct span expected)
{
    return (struct lines){.rest = expected};
}

/* Returns the next line that has a character. */
static bool next_full(struct lines *lines, struct span *ret)
{
    while (text_next_line(lines, ret))
        if (span_length(*ret) > 0)
            return true;
    return false;
}

/* --- the steps ---------------------------------------------------------------------------------
 */

/* Step 2; step 1 is for those who have called text_strip() on both. */
static bool same_stripped_lines(struct span got, struct span expected)
{
    struct lines left = {.rest = got}, right = {.rest = expected};
    for (;;) {
        struct span mine, theirs;
        bool more = text_next_line(&left, &mine), wanted = text_next_line(&right, &theirs);
        if (!more || !wanted)
            return more == wanted;
        if (!span_equal(text_strip(mine), theirs))
            return false;
    }
}

/* Steps 3 and, with SKIP_EMPTY, 4. */
static bool same_lists(struct lines got, struct lines expected, bool skip_empty)
{
    for (;;) {
        struct span mine, theirs;
        bool more = skip_empty ? next_full(&got, &mine) : text_next_line(&got, &mine);
        bool wanted = next_full(&expected, &theirs);
        if (!more || !wanted)
            return more == wanted;
        if (!span_equal(mine, text_strip(theirs)))
            return false;
    }
}

static bool is_close(double got, double expected)
{
    if (!isfinite(got) || !isfinite(expected))
        return got == expected;
    return fabs(got - expected) <= ATOL + RTOL * fabs(expected);
}

/* Whether two lines are numbers that are close. Most of them are the same text. */
static bool close_lines(struct span got, struct span expected)
{
    struct number left, right;
    if (!number_parse(got, NUMBER_FLOAT, &left))
        return false;
    if (span_equal(got, expected))
        return left.kind != NUMBER_NAN;
    return number_parse(expected, NUMBER_FLOAT, &right) &&
           is_close(number_double(&left), number_double(&right));
}

/* Step 5. */
static bool same_floats(struct lines got, struct lines expected)
{
    for (;;) {
        struct span mine, theirs;
        bool more = next_full(&got, &mine), wanted = next_full(&expected, &theirs);
        if (!more || !wanted)
            return more == wanted;
        if (!close_lines(text_strip(mine), text_strip(theirs)))
            return false;
    }
}

/* Steps 6 and 7. Returns 1 if the sets are equal, 0 if not, -E2BIG, or -ENOMEM. */
static int same_sets(struct lines got, struct lines expected)
{
    _cleanup_sets_ struct sets *mine = SETS_NULL, *theirs = SETS_NULL;
    int r = sets_new(got, true, false, APPS_WORDS_MAX, &mine);
    if (r == 0)
        r = sets_new(expected, true, true, APPS_WORDS_MAX, &theirs);
    if (r < 0)
        return r;
    if (sets_equal(mine, theirs))
        return 1;
    return sets_round(mine) && sets_round(theirs) && sets_equal(mine, theirs);
}

/* Returns 1 if a step finds the outputs equal; 0, -E2BIG or -ENOMEM. */
static int cascade(struct span got, struct span expected)
{
    struct span mine = text_strip(got), theirs = text_strip(expected);
    if (span_equal(mine, theirs) || same_stripped_lines(mine, theirs))
        return 1;
    struct lines left = output_lines(got), right = expected_lines(expected);
    if (same_lists(left, right, false) || same_lists(left, right, true) || same_floats(left, right))
        return 1;
    return same_sets(left, right);
}

/* Points at the first line that is not as expected, of those that are not empty. */
static void find_difference(struct span got, struct span expected, struct mismatch *ret)
{
    struct lines left = {.rest = got}, right = {.rest = expected};
    struct span mine, theirs;
    bool more, wanted;
    do {
        mine = (struct span){got.end, got.end};
        theirs = (struct span){expected.end, expected.end};
        more = next_full(&left, &mine);
        wanted = next_full(&right, &theirs);
        mine = text_strip(mine);
        theirs = text_strip(theirs);
    } while (more && wanted && span_equal(mine, theirs));
    ret->got = mine;
    ret->expected = theirs;
    ret->at = mine.at;
}

int apps_compare(struct span got, struct span expected, struct mismatch *ret)
{
    struct span output = got;
    _cleanup_free_ char *copy = NULL;
    int r = 0;
    if (has_other_break(got)) {
        if (span_length(got) > APPS_COPY_MAX)
            r = -E2BIG;
        else if (!(copy = malloc(span_length(got))))
            return -ENOMEM;
        else
            output = copy_lines(got, copy);
    }
    if (r == 0)
        r = cascade(output, expected);
    if (r == -ENOMEM || r > 0)
        return r > 0 ? 0 : r;
    find_difference(got, expected, ret);
    ret->why = r == -E2BIG ? "the output is not as expected, and too large to compare as sets"
                           : "the output is not as expected, neither as lines, numbers nor sets";
    return 1;
}
