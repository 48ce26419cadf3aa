/* SPDX-License-Identifier: MIT */
/* The fields of a sandbox job about several programs, and about the files that they leave. */
#include "jobfiles.h"
#include "kind_sandbox.h"

#include <string.h>

/* --- steps -------------------------------------------------------------------------------- */

static int decode_limit(const char *key, const json_t *value, const char *parent,
                        const struct limits *ceilings, struct sandbox_step *step,
                        struct fault *fault)
{
    char path[FIELD_PATH_MAX];
    enum limit limit = limit_from_key(key);
    field_path(path, parent, key);
    if (limit == LIMIT_DISK || strcmp(key, "allow_network") == 0)
        return fault_set(fault, "%s: all steps have the same; it goes into job.limits", path);
    if (limit == LIMIT_NONE)
        return fault_set(fault, "%s: unknown field", path);
    return job_decode_limit(value, limit, ceilings, path, &step->limits.of[limit], fault);
}

static int decode_limits(const json_t *object, const char *parent, const struct limits *ceilings,
                         struct sandbox_step *step, struct fault *fault)
{
    char path[FIELD_PATH_MAX];
    json_t *walked = (json_t *)(uintptr_t)object;
    int r = 0;
    field_path(path, parent, "limits");
    for (void *i = json_object_iter(walked); i && r == 0; i = json_object_iter_next(walked, i))
        r = decode_limit(json_object_iter_key(i), json_object_iter_value(i), path, ceilings, step,
                         fault);
    return r;
}

static int decode_step(const json_t *object, const char *parent, const struct limits *ceilings,
                       struct sandbox_step *step, struct fault *fault)
{
    enum { ARGV, STDIN, LIMITS, MAY_FAIL, FIELDS };
    static const struct field table[FIELDS] = {
        [ARGV] = {"argv", FIELD_ARRAY, FIELD_REQUIRED},
        [STDIN] = {"stdin", FIELD_ANY, FIELD_NULLABLE},
        [LIMITS] = {"limits", FIELD_OBJECT, FIELD_NULLABLE},
        [MAY_FAIL] = {"may_fail", FIELD_BOOLEAN, FIELD_NULLABLE},
    };
    const json_t *values[FIELDS] = {NULL};
    char path[FIELD_PATH_MAX];
    int r = field_check_type(object, FIELD_OBJECT, parent, fault);
    if (r == 0)
        r = fields_decode(object, parent, table, FIELDS, values, fault);
    if (r < 0)
        return r;
    field_path(path, parent, "argv");
    r = sandbox_decode_argv(values[ARGV], path, &step->argv, fault);
    field_path(path, parent, "stdin");
    if (r == 0)
        r = values[STDIN] ? job_decode_content(values[STDIN], path, &step->input, fault)
                          : bytes_copy("", 0, &step->input);
    if (r == 0 && values[LIMITS])
        r = decode_limits(values[LIMITS], parent, ceilings, step, fault);
    step->may_fail = json_is_true(values[MAY_FAIL]);
    return r;
}

int sandbox_decode_steps(const json_t *array, const struct request_policy *policy,
                         struct job_spec *spec, struct fault *fault)
{
    struct sandbox_spec *sandbox = &spec->sandbox;
    size_t n = json_array_size(array);
    int r = 0;
    if (n == 0 || n > SANDBOX_STEPS_MAX)
        return fault_set(fault, "job.steps: expected 1 to %d steps, got %zu", SANDBOX_STEPS_MAX, n);
    sandbox->program = SANDBOX_STEPS;
    sandbox->steps = calloc(n, sizeof(*sandbox->steps));
    if (!sandbox->steps)
        return -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++) {
        char path[FIELD_PATH_MAX];
        struct sandbox_step *step = &sandbox->steps[sandbox->step_count++];
        (void)snprintf(path, sizeof(path), "job.steps[%zu]", i);
        step->limits = spec->limits;
        r = decode_step(json_array_get(array, i), path, &policy->ceilings[spec->kind], step, fault);
    }
    return r;
}
