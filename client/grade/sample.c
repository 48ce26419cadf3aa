/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include "proto/lenient.h"

static const char *const form_names[] = {
    [SAMPLE_COMPLETION] = "completion",
    [SAMPLE_SOLUTION] = "solution",
    [SAMPLE_GENERATION] = "generation",
};

bool sample_uses(const char *name, size_t n)
{
    static const char *const id[] = {"task_id"};
    return json_name_is_among(name, n, id, ARRAY_SIZE(id)) ||
           json_name_is_among(name, n, form_names, ARRAY_SIZE(form_names));
}

int sample_decode(const json_t *object, struct sample *ret, struct fault *fault)
{
    struct sample sample = {.text = NULL};
    int r = task_id_of(object, sample.task_id, fault);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(form_names); i++) {
        json_t *text = json_object_get(object, form_names[i]);
        if (!text || json_is_null(text))
            continue;
        if (sample.text)
            return fault_set(fault, "both %s and %s: expected only one", form_names[sample.form],
                             form_names[i]);
        if (!json_is_string(text))
            return fault_set(fault, "%s: expected a string, got %s", form_names[i],
                             json_type_name(text));
        sample.form = (enum sample_form)i;
        sample.text = text;
    }
    if (!sample.text)
        return fault_set(fault, "neither completion nor solution nor generation");
    *ret = sample;
    return 0;
}
