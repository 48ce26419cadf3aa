/* SPDX-License-Identifier: MIT */
/* The rule of CodeContests.
 *
 * Source: execution/tester_sandboxer.cc of google-deepmind/code_contests, in OutputsMatch() and
 * ValuesMatch() (Apache-2.0), with absl::SimpleAtod() for numbers.
 *
 * Cut both outputs into words at spaces, line feeds, tabs, carriage returns and vertical tabs, and
 * write them in lower case (ASCII). The outputs are equal if the lists of words are. If they are
 * not, both must have as many words, and at each place the words must match: where either is no
 * number they are the same; where both are numbers, they are less than 1e-5 apart as doubles. The
 * tolerance is absolute alone, whatever their size. So large integers that are the same double
 * match. No nan matches, and no infinity: these are equal only if all words of the outputs are.
 *
 * Differs: the origin takes no number of 50 million digits. */
#include "number.h"
#include "rules.h"

#include <float.h>
#include <math.h>

#define BLANKS " \n\t\r\v"
#define TOLERANCE 1e-5

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(struct span a, struct span b)
{
    if (span_length(a) != span_length(b))
        return false;
    for (; a.at < a.end; a.at++, b.at++)
        if (lower(*a.at) != lower(*b.at))
            return false;
    return true;
}

/* Whether the word is no nan and no infinity, as a look at its characters can tell. */
static bool is_surely_finite(struct span word)
{
    if (span_length(word) > DBL_MAX_10_EXP)
        return false;
    for (; word.at < word.end; word.at++)
        if (lower(*word.at) >= 'a' && lower(*word.at) <= 'z')
            return false;
    return true;
}

/* Whether two words match. SAME says whether they are the same in lower case. */
static bool match(struct span got, struct span expected, bool same)
{
    struct number mine, theirs;
    if (same && is_surely_finite(got))
        return true;
    if (!number_parse(got, NUMBER_ABSEIL, &mine) || !number_parse(expected, NUMBER_ABSEIL, &theirs))
        return same;
    return fabs(number_double(&mine) - number_double(&theirs)) < TOLERANCE;
}

int codecontests_compare(struct span got, struct span expected, struct mismatch *ret)
{
    bool all_same = true, all_match = true;
    for (;;) {
        struct span mine, theirs;
        const char *why = NULL;
        bool more = text_token_between(&got, BLANKS, &mine),
             wanted = text_token_between(&expected, BLANKS, &theirs);
        if (!more && !wanted)
            return !all_same && !all_match;
        bool same = more && wanted && same_word(mine, theirs);
        all_same = all_same && same;
        if (!more)
            why = "the output ends too early";
        else if (!wanted)
            why = "the output goes on where it should end";
        else if (!match(mine, theirs, same))
            why = same ? "the word is nan or infinite, and not all words are the same"
                       : "the word is not as expected, nor a number less than 1e-5 from it";
        if (why && all_match)
            *ret = (struct mismatch){.why = why, .got = mine, .expected = theirs, .at = mine.at};
        all_match = all_match && !why;
        if (more != wanted || (!all_match && !all_same))
            return 1;
    }
}
