/* SPDX-License-Identifier: MIT */
#include "rubric_class.h"
#include "warm_class.h"

#include "proto/fields.h"
#include "proto/python.h"

#include <sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rubric_class *rubric_class_free(struct rubric_class *class)
{
    for (size_t i = 0; class && i < class->count; i++)
        free(class->parts[i]);
    free(class);
    return NULL;
}

static void rubric_class_free_pointer(struct rubric_class **class)
{
    *class = rubric_class_free(*class);
}

/* Adds the names in LIST (NULL: none), each behind LETTER. */
static int add_list(struct rubric_class *class, const json_t *list, const char *path, char letter,
                    struct fault *fault)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        char where[FIELD_PATH_MAX];
        const char *name;
        int r = field_text_at(list, i, path, where, &name, fault);
        if (r < 0)
            return r;
        if (!python_is_module_name(name)) {
            fault_set(fault, "%s: not the name of a module", where);
            return -EINVAL;
        }
        if (class->count == RUBRIC_CLASS_PARTS_MAX) {
            fault_set(fault, "%s: more than %d modules and helpers", where, RUBRIC_CLASS_PARTS_MAX);
            return -EINVAL;
        }
        if (asprintf(&class->parts[class->count], "%c%s", letter, name) < 0)
            return -ENOMEM;
        class->count++;
    }
    return 0;
}

int rubric_class_decode(const json_t *value, struct rubric_class **ret, struct fault *fault)
{
    enum { MODULES, HELPERS, FIELDS };
    static const struct field table[FIELDS] = {
        [MODULES] = {"modules", FIELD_ARRAY, FIELD_NULLABLE},
        [HELPERS] = {"helpers", FIELD_ARRAY, FIELD_NULLABLE},
    };
    const json_t *values[FIELDS];
    if (!value)
        return 0;
    int r = fields_decode(value, "warm", table, FIELDS, values, fault);
    if (r < 0)
        return r;
    _cleanup_(rubric_class_free_pointer) struct rubric_class *class = calloc(1, sizeof(*class));
    if (!class)
        return -ENOMEM;
    r = add_list(class, values[MODULES], "warm.modules", 'm', fault);
    if (r == 0)
        r = add_list(class, values[HELPERS], "warm.helpers", 'h', fault);
    if (r == 0)
        *ret = TAKE_PTR(class);
    return r;
}

/* --- the key ------------------------------------------------------------------------------- */

void rubric_class_list(const struct rubric_class *class, const struct rubric_digest *digest,
                       const struct launch *launch, struct rubric_class_list *list)
{
    SHA2_CTX context;
    SHA256Init(&context);
    warm_class_add_text(&context, digest->hex);
    /* Files may have been others in between, while a template loaded them. */
    warm_class_add_number(&context, (uint64_t)digest->changed_ns);
    warm_class_add_text(&context, launch->bench.path);
    warm_class_add_number(&context, launch->bench.device);
    warm_class_add_number(&context, launch->bench.inode);
    for (const char *const *argument = launch->argv; *argument; argument++)
        warm_class_add_text(&context, *argument);
    warm_class_add_limits(&context, &launch->limits);
    list->parts[0] = list->key;
    for (size_t i = 0; i < class->count; i++) {
        warm_class_add_text(&context, class->parts[i]);
        list->parts[1 + i] = class->parts[i];
    }
    list->parts[1 + class->count] = NULL;
    (void)SHA256End(&context, list->key);
}
