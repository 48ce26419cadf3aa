/* SPDX-License-Identifier: MIT */
/* Fuzz target: what a program wrote, compared with what was expected by every rule.
 *
 * The input is the one, a line "---", and the other. Checks what holds for any two outputs: a rule
 * that finds them equal lets more lenient ones do so, an output equals itself, most rules do not
 * care which is which, a cut output equals nothing, and a difference is fit for a reply. */
#include "tests/fuzz/fuzz.h"

#include "daemon/compare/compare.h"
#include "daemon/compare/number.h"
#include "proto/utf8.h"

#include <math.h>
#include <string.h>

#define BETWEEN "\n---\n"

static const char *const rules[] = {
    "exact", "lines", "tokens", "float:1e-6,1e-9", "livecodebench", "apps", "codecontests",
};
enum { EXACT, LINES, TOKENS, FLOAT, LIVECODEBENCH, APPS, CODECONTESTS, RULES };

static void check_excerpt(const struct bytes *excerpt)
{
    CHECK(excerpt->length <= COMPARE_EXCERPT_MAX);
    for (size_t i = 0; i < excerpt->length;) {
        int n = utf8_sequence(excerpt->data + i, excerpt->length - i);
        CHECK(n > 0);
        i += (size_t)n;
    }
}

static void check_difference(const struct difference *difference, const struct bytes *got)
{
    uint64_t lines = 1;
    for (size_t i = 0; i < got->length; i++)
        lines += got->data[i] == '\n';
    CHECK(difference->why && difference->line >= 1 && difference->line <= lines);
    check_excerpt(&difference->got);
    check_excerpt(&difference->expected);
}

static bool are_equal(const char *rule, const struct bytes *got, const struct bytes *expected)
{
    _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
    struct compare compare;
    CHECK(compare_parse(rule, &compare, NULL) == 0);
    CHECK(compare_outputs(&compare, got, expected, &difference) == 0);
    if (difference.differs)
        check_difference(&difference, got);
    else
        CHECK(!difference.got.data && !difference.expected.data);
    return !difference.differs;
}

static void check_pair(const struct bytes *got, const struct bytes *expected)
{
    bool equal[RULES];
    for (size_t i = 0; i < RULES; i++) {
        equal[i] = are_equal(rules[i], got, expected);
        CHECK(i == APPS || are_equal(rules[i], got, got));
        CHECK(i == FLOAT || i == APPS || equal[i] == are_equal(rules[i], expected, got));
    }
    CHECK(!equal[EXACT] || (equal[LINES] && equal[LIVECODEBENCH] && equal[CODECONTESTS]));
    CHECK(!equal[LINES] || equal[TOKENS]);
    CHECK(!equal[TOKENS] || equal[FLOAT]);
}

/* Whether all that is said about a number holds, and that of the other if they are equal. */
static void check_numbers(struct span a, struct span b, enum number_grammar grammar)
{
    struct number left, right;
    if (!number_parse(a, grammar, &left))
        return;
    CHECK(left.kind != NUMBER_FINITE || isfinite(number_double(&left)) || left.point > 308);
    CHECK(number_equal(&left, &left) == (left.kind != NUMBER_NAN));
    if (!number_parse(b, grammar, &right) || !number_equal(&left, &right))
        return;
    CHECK(number_equal(&right, &left));
    CHECK(number_double(&left) == number_double(&right));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *between = size > 0 ? memmem(data, size, BETWEEN, strlen(BETWEEN)) : NULL;
    size_t n = between ? (size_t)(between - data) : size, behind = n + strlen(BETWEEN);
    _cleanup_bytes_ struct bytes got = BYTES_NULL, expected = BYTES_NULL;
    CHECK(bytes_copy(n > 0 ? (const char *)data : "", n, &got) == 0);
    CHECK(bytes_copy(between ? (const char *)data + behind : "", between ? size - behind : 0,
                     &expected) == 0);
    check_pair(&got, &expected);
    const struct span a = {got.data, got.data + got.length},
                      b = {expected.data, expected.data + expected.length};
    for (int grammar = NUMBER_PLAIN; grammar <= NUMBER_ABSEIL; grammar++)
        check_numbers(a, b, (enum number_grammar)grammar);
    return 0;
}
