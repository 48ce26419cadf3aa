/* SPDX-License-Identifier: MIT */
#include "request.h"
#include "jobkinds.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    const struct job_kind_decoder *decoder;
} kinds[JOB_KIND_COUNT] = {
    [JOB_RUBRIC] = {"rubric", &rubric_decoder},
    [JOB_SANDBOX] = {"sandbox", &sandbox_decoder},
    [JOB_CODE_EXEC] = {"code_exec", &code_exec_decoder},
};

const char *job_kind_name(enum job_kind kind)
{
    return kinds[kind].name;
}

size_t job_spec_size(const struct job_spec *spec)
{
    switch (spec->kind) {
    case JOB_RUBRIC:
        return rubric_spec_size(&spec->rubric);
    case JOB_SANDBOX:
        return sandbox_spec_size(&spec->sandbox);
    case JOB_CODE_EXEC:
        return code_exec_spec_size(&spec->code_exec);
    case JOB_KIND_COUNT:
        break;
    }
    return 0;
}

struct job_spec *job_spec_free(struct job_spec *spec)
{
    if (!spec)
        return NULL;
    switch (spec->kind) {
    case JOB_RUBRIC:
        rubric_spec_deinit(&spec->rubric);
        break;
    case JOB_SANDBOX:
        sandbox_spec_deinit(&spec->sandbox);
        break;
    case JOB_CODE_EXEC:
        code_exec_spec_deinit(&spec->code_exec);
        break;
    case JOB_KIND_COUNT:
        break;
    }
    free(spec);
    return NULL;
}

static void job_spec_free_pointer(struct job_spec **spec)
{
    *spec = job_spec_free(*spec);
}

void request_deinit(struct request *request)
{
    bytes_deinit(&request->id);
    request->job = job_spec_free(request->job);
}

int request_copy_text(const json_t *value, char **ret)
{
    char *copy = strdup(json_string_value(value));
    if (!copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

int request_copy_string(const json_t *value, struct bytes *ret)
{
    return bytes_copy(json_string_value(value), json_string_length(value), ret);
}

/* --- limits ------------------------------------------------------------------------------- */

/* Seconds to whole milliseconds, rounded up: a limit is never shorter than was asked for. */
static uint64_t milliseconds(double seconds)
{
    double ms = ceil(seconds * 1000 - 1e-6); /* 2.007 s are 2007.0000000000002 ms */
    return ms > 1 ? (uint64_t)ms : 1;
}

static int check_ceiling(uint64_t value, enum limit limit, const struct limits *ceilings,
                         const char *path, struct fault *fault)
{
    uint64_t ceiling = ceilings->of[limit];
    if (value <= ceiling)
        return 0;
    if (limit_is_time(limit))
        return fault_set(fault, "%s: above the ceiling of %g s", path, (double)ceiling / 1000);
    return fault_set(fault, "%s: above the ceiling of %" PRIu64, path, ceiling);
}

int request_decode_limit(const json_t *value, enum limit limit, const struct limits *ceilings,
                         const char *path, uint64_t *ret, struct fault *fault)
{
    uint64_t decoded;
    if (limit_is_time(limit)) {
        double seconds = json_number_value(value);
        if (!json_is_number(value) || !(seconds > 0))
            return fault_set(fault, "%s: expected a number of seconds above 0", path);
        /* Far above any ceiling the conversion to an integer would be undefined. */
        decoded = milliseconds(MIN(seconds, 1e12));
    } else {
        if (!json_is_integer(value) || json_integer_value(value) <= 0)
            return fault_set(fault, "%s: expected an integer above 0", path);
        decoded = (uint64_t)json_integer_value(value);
    }
    int r = check_ceiling(decoded, limit, ceilings, path, fault);
    if (r == 0)
        *ret = decoded;
    return r;
}

/* The one key that is no quantity. */
static int decode_network(const json_t *value, const struct request_policy *policy, bool *ret,
                          struct fault *fault)
{
    int r = field_check_type(value, FIELD_BOOLEAN, "job.limits.allow_network", fault);
    if (r < 0)
        return r;
    if (json_is_true(value) && !policy->allow_network) {
        (void)fault_set(fault, "job.limits.allow_network: the configuration does not allow it "
                               "(allow_network of [sandbox])");
        return -EPERM;
    }
    *ret = json_is_true(value);
    return 0;
}

static int decode_limits(const json_t *object, const struct request_policy *policy,
                         struct job_spec *spec, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        char path[FIELD_PATH_MAX];
        const char *key = json_object_iter_key(i);
        const json_t *value = json_object_iter_value(i);
        field_path(path, "job.limits", key);
        enum limit limit = limit_from_key(key);
        int r;
        if (spec->kind == JOB_SANDBOX && strcmp(key, "allow_network") == 0)
            r = decode_network(value, policy, &spec->sandbox.network, fault);
        else if (limit == LIMIT_NONE)
            r = fault_set(fault, "%s: unknown field", path);
        else if (limit == LIMIT_WALL_CLOCK && spec->kind == JOB_RUBRIC)
            r = fault_set(fault, "%s: a rubric's is set by job.case.rubric_wall_clock_seconds",
                          path);
        else
            r = request_decode_limit(value, limit, &policy->ceilings[spec->kind], path,
                                     &spec->limits.of[limit], fault);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- submit ------------------------------------------------------------------------------- */

static int decode_kind(const json_t *job, enum job_kind *ret, struct fault *fault)
{
    const json_t *value = json_object_get(job, "kind");
    if (!value)
        return fault_set(fault, "job.kind: missing");
    int r = field_check_type(value, FIELD_TEXT, "job.kind", fault);
    if (r < 0)
        return r;
    for (enum job_kind kind = 0; kind < JOB_KIND_COUNT; kind++) {
        if (strcmp(json_string_value(value), kinds[kind].name) == 0) {
            *ret = kind;
            return 0;
        }
    }
    return fault_set(fault, "job.kind: unknown kind \"%.*s\"", SHOWN(json_string_value(value)));
}

static int decode_priority(const json_t *value, int *ret, struct fault *fault)
{
    json_int_t priority = json_integer_value(value); /* 0 where it is absent */
    if (priority < -REQUEST_PRIORITY_MAX || priority > REQUEST_PRIORITY_MAX)
        return fault_set(fault, "job.priority: expected an integer from -%d to %d",
                         REQUEST_PRIORITY_MAX, REQUEST_PRIORITY_MAX);
    *ret = (int)priority;
    return 0;
}

static int decode_job(const json_t *job, const struct request_policy *policy, struct job_spec **ret,
                      struct fault *fault)
{
    enum job_kind kind = 0;
    const json_t *values[JOB_FIELDS_MAX] = {NULL};
    int r = decode_kind(job, &kind, fault);
    if (r < 0)
        return r;
    const struct job_kind_decoder *decoder = kinds[kind].decoder;
    r = fields_decode(job, "job", decoder->fields, decoder->field_count, values, fault);
    if (r < 0)
        return r;

    _cleanup_(job_spec_free_pointer) struct job_spec *spec = calloc(1, sizeof(*spec));
    if (!spec)
        return -ENOMEM;
    spec->kind = kind;
    spec->limits = policy->defaults[kind];
    r = decode_priority(values[JOB_FIELD_PRIORITY], &spec->priority, fault);
    if (r == 0 && values[JOB_FIELD_LIMITS])
        r = decode_limits(values[JOB_FIELD_LIMITS], policy, spec, fault);
    if (r == 0)
        r = decoder->decode(values, policy, spec, fault);
    if (r == 0)
        *ret = TAKE_PTR(spec);
    return r;
}

static int decode_id(const json_t *value, struct bytes *ret, struct fault *fault)
{
    size_t length = json_string_length(value);
    if (length == 0 || length > REQUEST_ID_MAX)
        return fault_set(fault, "id: expected 1 to %d bytes, got %zu", REQUEST_ID_MAX, length);
    return request_copy_string(value, ret);
}

static int decode_submit(const json_t *message, const struct request_policy *policy,
                         struct request *request, struct fault *fault)
{
    enum { TYPE, ID, JOB, FIELDS };
    static const struct field table[FIELDS] = {
        [TYPE] = {"type", FIELD_TEXT, FIELD_REQUIRED},
        [ID] = {"id", FIELD_STRING, FIELD_REQUIRED},
        [JOB] = {"job", FIELD_OBJECT, FIELD_REQUIRED},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(message, "", table, FIELDS, values, fault);
    if (r == 0)
        r = decode_id(values[ID], &request->id, fault);
    if (r == 0)
        r = decode_job(values[JOB], policy, &request->job, fault);
    return r;
}

/* --- the others --------------------------------------------------------------------------- */

static int decode_cancel(const json_t *message, struct request *request, struct fault *fault)
{
    enum { TYPE, ID, JOB_NO, FIELDS };
    static const struct field table[FIELDS] = {
        [TYPE] = {"type", FIELD_TEXT, FIELD_REQUIRED},
        [ID] = {"id", FIELD_STRING, FIELD_OPTIONAL},
        [JOB_NO] = {"job_no", FIELD_INTEGER, FIELD_OPTIONAL},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(message, "", table, FIELDS, values, fault);
    if (r < 0)
        return r;
    if (!values[ID] == !values[JOB_NO])
        return fault_set(fault, "cancel: expected either id or job_no");
    if (values[ID])
        return decode_id(values[ID], &request->id, fault);
    if (json_integer_value(values[JOB_NO]) <= 0)
        return fault_set(fault, "job_no: expected an integer above 0");
    request->job_no = (uint64_t)json_integer_value(values[JOB_NO]);
    return 0;
}

/* status, metrics, ping, drain, reload: nothing but the type. */
static int decode_bare(const json_t *message, struct fault *fault)
{
    static const struct field table[] = {{"type", FIELD_TEXT, FIELD_REQUIRED}};
    const json_t *values[1];
    return fields_decode(message, "", table, 1, values, fault);
}

static int decode_type(const json_t *message, enum request_type *ret, struct fault *fault)
{
    static const char *const names[] = {
        [REQUEST_SUBMIT] = "submit",   [REQUEST_CANCEL] = "cancel", [REQUEST_STATUS] = "status",
        [REQUEST_METRICS] = "metrics", [REQUEST_PING] = "ping",     [REQUEST_DRAIN] = "drain",
        [REQUEST_RELOAD] = "reload",
    };
    const json_t *value = json_object_get(message, "type");
    if (!value)
        return fault_set(fault, "type: missing");
    int r = field_check_type(value, FIELD_TEXT, "type", fault);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcmp(json_string_value(value), names[i]) == 0) {
            *ret = (enum request_type)i;
            return 0;
        }
    }
    return fault_set(fault, "type: unknown message type \"%.*s\"", SHOWN(json_string_value(value)));
}

int request_decode(const json_t *message, const struct request_policy *policy, struct request *ret,
                   struct fault *fault)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    int r = decode_type(message, &request.type, fault);
    if (r < 0)
        return r;
    switch (request.type) {
    case REQUEST_SUBMIT:
        r = decode_submit(message, policy, &request, fault);
        break;
    case REQUEST_CANCEL:
        r = decode_cancel(message, &request, fault);
        break;
    case REQUEST_STATUS:
    case REQUEST_METRICS:
    case REQUEST_PING:
    case REQUEST_DRAIN:
    case REQUEST_RELOAD:
        r = decode_bare(message, fault);
        break;
    }
    if (r == 0) {
        *ret = request;
        request = (struct request)REQUEST_NULL;
    }
    return r;
}

const json_t *request_peek_id(const json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    size_t length = json_string_length(id);
    return json_is_string(id) && length > 0 && length <= REQUEST_ID_MAX ? id : NULL;
}
