/* SPDX-License-Identifier: MIT */
#include "rule.h"

#include "conf/suggest.h"
#include "proto/util.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FLOAT_PREFIX "float:"

static const char *const rules[] = {
    "exact", "lines", "tokens", "float:ABS,REL", "livecodebench", "apps", "codecontests",
};

/* Whether TEXT begins with a tolerance and END behind it. */
static bool has_tolerance(const char *text, char end, const char **ret_behind)
{
    size_t n = strspn(text, "+-.0123456789eE"); /* strtod() knows hexadecimal numbers, too */
    char *behind;
    double value = strtod(text, &behind);
    if (n == 0 || behind != text + n || *behind != end || !isfinite(value) || signbit(value))
        return false;
    *ret_behind = behind + 1;
    return true;
}

int rule_check(const char *text, struct fault *fault)
{
    if (strncmp(text, FLOAT_PREFIX, strlen(FLOAT_PREFIX)) == 0) {
        const char *at = text + strlen(FLOAT_PREFIX);
        if (has_tolerance(at, ',', &at) && has_tolerance(at, '\0', &at))
            return 0;
        return fault_set(fault,
                         "--compare: \"%.64s\" has no two tolerances: " FLOAT_PREFIX
                         "ABS,REL takes two numbers that are not negative, as in " FLOAT_PREFIX
                         "1e-6,1e-9",
                         text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        if (strcmp(text, rules[i]) == 0)
            return 0;
    const char *meant = suggest(text, rules, ARRAY_SIZE(rules));
    if (meant)
        return fault_set(fault, "--compare: unknown rule \"%.64s\"; did you mean %s?", text, meant);
    return fault_set(fault,
                     "--compare: unknown rule \"%.64s\"; there are exact, lines, tokens, "
                     "float:ABS,REL, livecodebench, apps and codecontests",
                     text);
}
