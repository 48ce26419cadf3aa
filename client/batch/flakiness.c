/* SPDX-License-Identifier: MIT */
#include "flakiness.h"

#include "client/terminal/text.h"

#include <assert.h>
#include <inttypes.h>

#define NAMES_MAX 20

/* The value of a case: its verdicts in the lower half, those that passed in the upper half. */
#define VERDICT UINT64_C(1)
#define PASS (UINT64_C(1) << 32)
#define VERDICTS(value) ((uint32_t)(value))
#define PASSES(value) ((uint32_t)((value) >> 32))

int flakiness_init(struct flakiness *ret)
{
    json_t *names = json_array();
    if (!names)
        return -ENOMEM;
    *ret = (struct flakiness){.cases = IDMAP_NULL, .names = names};
    return 0;
}

void flakiness_deinit(struct flakiness *flakiness)
{
    idmap_deinit(&flakiness->cases);
    json_decref(flakiness->names);
    *flakiness = (struct flakiness)FLAKINESS_NULL;
}

static bool differs(uint64_t value)
{
    return PASSES(value) != 0 && PASSES(value) != VERDICTS(value);
}

int flakiness_add(struct flakiness *flakiness, const char *case_id, size_t n, bool passed)
{
    uint64_t *value = idmap_put(&flakiness->cases, case_id, n);
    if (!value)
        return -ENOMEM;
    bool differed = differs(*value);
    *value += VERDICT + (passed ? PASS : 0);
    assert(PASSES(*value) <= VERDICTS(*value));
    flakiness->compared += VERDICTS(*value) == 2;
    if (differed || !differs(*value))
        return 0;
    if (flakiness->different++ >= NAMES_MAX)
        return 0;
    return json_array_append_new(flakiness->names, json_stringn(case_id, n)) < 0 ? -ENOMEM : 0;
}

void flakiness_put(FILE *out, const struct flakiness *flakiness)
{
    (void)fprintf(out, "flakiness: %" PRIu64 " of %" PRIu64 " case%s had different verdicts",
                  flakiness->different, flakiness->compared, text_plural(flakiness->compared));
    for (size_t i = 0; i < json_array_size(flakiness->names); i++) {
        const json_t *name = json_array_get(flakiness->names, i);
        const char *id = json_string_value(name);
        size_t n = json_string_length(name);
        const uint64_t *value = idmap_find(&flakiness->cases, id, n);
        (void)fputs(i == 0 ? ":\n    " : ", ", out);
        text_put(out, id, n);
        if (value)
            (void)fprintf(out, " (%u of %u passed)", PASSES(*value), VERDICTS(*value));
    }
    if (flakiness->different > NAMES_MAX)
        (void)fprintf(out, " and %" PRIu64 " more", flakiness->different - NAMES_MAX);
    (void)fputc('\n', out);
}
