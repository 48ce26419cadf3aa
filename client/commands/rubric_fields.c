/* SPDX-License-Identifier: MIT */
#include "rubric_fields.h"

#include "conf/suggest.h"

#include <assert.h>
#include <string.h>

/* Adds to FAULT, of an OBJECT with a field that TABLE has not, which one may be meant. */
static void suggest_field(const json_t *object, const struct field *table, size_t n,
                          struct fault *fault)
{
    const char *names[RUBRIC_FIELDS_MAX];
    struct fault said = *fault;
    json_t *walked = (json_t *)(uintptr_t)object;
    assert(n <= ARRAY_SIZE(names));
    for (size_t i = 0; i < n; i++)
        names[i] = table[i].name;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        struct fault unknown = FAULT_NULL;
        const char *near = suggest(json_object_iter_key(i), names, n);
        (void)fault_set(&unknown, "%s: unknown field", json_object_iter_key(i));
        if (near && strcmp(said.text, unknown.text) == 0)
            (void)fault_set(fault, "%s; did you mean %s?", said.text, near);
    }
}

int rubric_fields_decode(const json_t *object, const struct field *table, size_t n,
                         const json_t *values[], struct fault *fault)
{
    int r = fields_decode(object, "", table, n, values, fault);
    if (r == -EINVAL)
        suggest_field(object, table, n, fault);
    return r;
}
