/* SPDX-License-Identifier: MIT */
#include "compare.h"
#include "number.h"
#include "rules.h"

#include "proto/printable.h"
#include "proto/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>

/* An excerpt of a long line begins this much before the place where it differs. */
#define EXCERPT_BEFORE 40
static const char excerpt_mark[] = {'.', '.', '.'};

/* --- reading rules -----------------------------------------------------------------------------
 */

#define FLOAT_PREFIX "float:"

static const struct {
    const char *name;
    enum compare_rule rule;
} rules[] = {
    {"exact", COMPARE_EXACT},   {"lines", COMPARE_LINES},
    {"tokens", COMPARE_TOKENS}, {"livecodebench", COMPARE_LIVECODEBENCH},
    {"apps", COMPARE_APPS},     {"codecontests", COMPARE_CODECONTESTS},
};

static bool read_tolerance(struct span text, double *ret)
{
    struct number number;
    if (!number_parse(text, NUMBER_PLAIN, &number))
        return false;
    double value = number_double(&number);
    *ret = value;
    return isfinite(value) && !signbit(value);
}

static int parse_float(const char *text, struct compare *ret, struct fault *fault)
{
    const char *numbers = text + strlen(FLOAT_PREFIX), *comma = strchr(numbers, ',');
    struct compare compare = {.rule = COMPARE_FLOAT};
    if (!comma || !read_tolerance((struct span){numbers, comma}, &compare.absolute) ||
        !read_tolerance((struct span){comma + 1, text + strlen(text)}, &compare.relative)) {
        char shown[64];
        (void)printable(text, strlen(text), PRINTABLE_ESCAPED, shown, sizeof(shown));
        return fault_set(fault,
                         "\"%s\" has no two tolerances: float:ABS,REL takes two numbers that are "
                         "not negative, as in float:1e-6,1e-9",
                         shown);
    }
    *ret = compare;
    return 0;
}

int compare_parse(const char *text, struct compare *ret, struct fault *fault)
{
    if (strncmp(text, FLOAT_PREFIX, strlen(FLOAT_PREFIX)) == 0)
        return parse_float(text, ret, fault);
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        if (strcmp(text, rules[i].name) == 0) {
            *ret = (struct compare){.rule = rules[i].rule};
            return 0;
        }
    }
    char shown[64];
    (void)printable(text, strlen(text), PRINTABLE_ESCAPED, shown, sizeof(shown));
    return fault_set(fault,
                     "unknown rule \"%s\"; there are exact, lines, tokens, float:ABS,REL, "
                     "livecodebench, apps and codecontests",
                     shown);
}

/* --- differences -------------------------------------------------------------------------------
 */

void difference_deinit(struct difference *difference)
{
    bytes_deinit(&difference->got);
    bytes_deinit(&difference->expected);
    *difference = (struct difference)DIFFERENCE_NULL;
}

static size_t common_length(struct span a, struct span b)
{
    size_t n = 0, most = MIN(span_length(a), span_length(b));
    while (n < most && a.at[n] == b.at[n])
        n++;
    return n;
}

/* Copies what of TEXT is to be shown, which differs at PLACE from what it was compared with. */
static int make_excerpt(struct span text, size_t place, struct bytes *ret)
{
    const size_t room = COMPARE_EXCERPT_MAX - 2 * sizeof(excerpt_mark);
    size_t length = span_length(text), begin = 0;
    /* The end of a long line is of no use if it differs in front. */
    if (length > room && place > EXCERPT_BEFORE)
        begin = utf8_cut(text.at, length, MIN(place - EXCERPT_BEFORE, length - EXCERPT_BEFORE));
    size_t n;
    _cleanup_free_ char *shown = utf8_replace(text.at + begin, MIN(length - begin, room + 4), &n);
    char excerpt[COMPARE_EXCERPT_MAX];
    size_t at = 0;
    if (!shown)
        return -ENOMEM;
    size_t kept = utf8_cut(shown, n, room);
    if (begin > 0) {
        memcpy(excerpt, excerpt_mark, sizeof(excerpt_mark));
        at += sizeof(excerpt_mark);
    }
    memcpy(excerpt + at, shown, kept);
    at += kept;
    if (kept < n) {
        memcpy(excerpt + at, excerpt_mark, sizeof(excerpt_mark));
        at += sizeof(excerpt_mark);
    }
    return bytes_copy(excerpt, at, ret);
}

/* Returns the line of TEXT in which AT lies, from 1. */
static uint64_t line_of(struct span text, const char *at)
{
    uint64_t line = 1;
    for (const char *feed; text.at < at && (feed = memchr(text.at, '\n', (size_t)(at - text.at)));
         text.at = feed + 1)
        line++;
    return line;
}

static int tell(const struct mismatch *mismatch, struct span output, struct difference *ret)
{
    _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
    difference.differs = true;
    difference.why = mismatch->why;
    difference.line = mismatch->at ? line_of(output, mismatch->at) : 0;
    size_t place = common_length(mismatch->got, mismatch->expected);
    int r = make_excerpt(mismatch->got, place, &difference.got);
    if (r == 0)
        r = make_excerpt(mismatch->expected, place, &difference.expected);
    if (r == 0)
        *ret = TAKE_STRUCT(difference, DIFFERENCE_NULL);
    return r;
}

/* --- comparing ---------------------------------------------------------------------------------
 */

static struct span whole(const struct bytes *bytes)
{
    static const char empty[] = "";
    const char *at = bytes->data ? bytes->data : empty;
    return (struct span){at, at + bytes->length};
}

static int apply(const struct compare *compare, struct span got, struct span expected,
                 struct mismatch *ret)
{
    switch (compare->rule) {
    case COMPARE_EXACT:
        return plain_exact(got, expected, ret);
    case COMPARE_LINES:
        return plain_lines(got, expected, ret);
    case COMPARE_TOKENS:
        return plain_tokens(got, expected, ret);
    case COMPARE_FLOAT:
        return plain_float(got, expected, compare->absolute, compare->relative, ret);
    case COMPARE_LIVECODEBENCH:
        return livecodebench_compare(got, expected, ret);
    case COMPARE_APPS:
        return apps_compare(got, expected, ret);
    case COMPARE_CODECONTESTS:
        return codecontests_compare(got, expected, ret);
    }
    assert(false);
    return -EINVAL;
}

int compare_outputs(const struct compare *compare, const struct bytes *got,
                    const struct bytes *expected, struct difference *ret)
{
    struct mismatch mismatch;
    struct span output = whole(got), wanted = whole(expected);
    /* Most outputs are right to the last byte. Only `apps` may find that wrong. */
    int r = compare->rule != COMPARE_APPS && span_equal(output, wanted)
                ? 0
                : apply(compare, output, wanted, &mismatch);
    if (r > 0)
        return tell(&mismatch, output, ret);
    if (r == 0)
        *ret = (struct difference)DIFFERENCE_NULL;
    return r;
}
