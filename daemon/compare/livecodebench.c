/* SPDX-License-Identifier: MIT */
/* LiveCodeBench's rule for programs that read standard input.
 *
 * Source: lcb_runner/evaluation/testing_util.py of LiveCodeBench, in grade_stdio() (MIT).
 *
 * Strip the blanks around both outputs and cut them at line feeds; strip each line. Both must have
 * as many lines. A line is right if it is the same text, or if every word of both is a text that
 * Python's decimal.Decimal() takes and the two lists are equal: as many numbers, each with exactly
 * the same value. No tolerance, so that 50000000000000000 is not 50000000000000001. Blanks and
 * digits are those of Unicode. A nan equals nothing, but a line that holds one may be the same
 * text.
 *
 * Differs: the origin catches what a program prints as text; bytes that are no UTF-8, which it
 * never sees, stay as they are here. */
#include "number.h"
#include "rules.h"

static bool same_decimals(struct span got, struct span expected)
{
    for (;;) {
        struct span mine, theirs;
        struct number left, right;
        bool more = text_token(&got, &mine), wanted = text_token(&expected, &theirs);
        if (more != wanted)
            return false;
        if (!more)
            return true;
        if (!number_parse(mine, NUMBER_DECIMAL, &left) ||
            !number_parse(theirs, NUMBER_DECIMAL, &right) || !number_equal(&left, &right))
            return false;
    }
}

int livecodebench_compare(struct span got, struct span expected, struct mismatch *ret)
{
    got = text_strip(got);
    expected = text_strip(expected);
    struct lines left = {.rest = got}, right = {.rest = expected};
    for (;;) {
        struct span mine = {got.end, got.end}, theirs = {expected.end, expected.end};
        bool more = text_next_line(&left, &mine), wanted = text_next_line(&right, &theirs);
        if (!more && !wanted)
            return 0;
        mine = text_strip(mine);
        theirs = text_strip(theirs);
        const char *why = NULL;
        if (!more)
            why = "the output ends too early";
        else if (!wanted)
            why = "the output goes on where it should end";
        else if (!span_equal(mine, theirs) && !same_decimals(mine, theirs))
            why = "the line is not as expected, nor are all of its words the same numbers";
        if (!why)
            continue;
        *ret = (struct mismatch){.why = why, .got = mine, .expected = theirs, .at = mine.at};
        return 1;
    }
}
