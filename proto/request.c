/* SPDX-License-Identifier: MIT */
#include "request.h"
#include "fields.h"
#include "utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const kind_names[JOB_KIND_COUNT] = {
    [JOB_RUBRIC] = "rubric",
    [JOB_SANDBOX] = "sandbox",
};

const char *job_kind_name(enum job_kind kind)
{
    return kind_names[kind];
}

struct job_spec *job_spec_free(struct job_spec *spec)
{
    if (spec) {
        free(spec->rubric.task_class);
        free(spec->rubric.bench_root);
        bytes_deinit(&spec->rubric.input);
        bytes_deinit(&spec->rubric.sut_detail);
        free(spec);
    }
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

/* A client's text in a message, by "%.*s": its beginning, in whole characters. */
#define SHOWN_MAX 80
#define SHOWN(text) (int)utf8_cut(text, strlen(text), SHOWN_MAX), text

static int copy_text(const json_t *value, char **ret)
{
    char *copy = strdup(json_string_value(value));
    if (!copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

static int copy_string(const json_t *value, struct bytes *ret)
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

static int decode_limit(const json_t *value, enum limit limit, const struct limits *ceilings,
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

static int decode_limits(const json_t *object, enum job_kind kind, const struct limits *ceilings,
                         struct limits *limits, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        char path[FIELD_PATH_MAX];
        field_path(path, "job.limits", json_object_iter_key(i));
        enum limit limit = limit_from_key(json_object_iter_key(i));
        if (limit == LIMIT_NONE)
            return fault_set(fault, "%s: unknown field", path);
        if (limit == LIMIT_WALL_CLOCK && kind == JOB_RUBRIC)
            return fault_set(fault, "%s: a rubric's is set by job.case.rubric_wall_clock_seconds",
                             path);
        int r = decode_limit(json_object_iter_value(i), limit, ceilings, path, &limits->of[limit],
                             fault);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- job kind rubric ---------------------------------------------------------------------- */

static bool is_alnum(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static int check_task_class(const json_t *value, struct fault *fault)
{
    const char *name = json_string_value(value);
    bool good = is_alnum(name[0]) && json_string_length(value) <= 255;
    for (const char *p = name; good && *p; p++)
        good = is_alnum(*p) || strchr("._-", *p) != NULL;
    if (good)
        return 0;
    return fault_set(fault,
                     "job.task_class: \"%.*s\" is not a task class name "
                     "([A-Za-z0-9][A-Za-z0-9._-]*, at most 255 bytes)",
                     SHOWN(name));
}

static int check_bench_root(const json_t *value, struct fault *fault)
{
    const char *path = json_string_value(value);
    if (path[0] != '/')
        return fault_set(fault, "job.bench_root: \"%.*s\" is not an absolute path", SHOWN(path));
    if (strlen(path) >= 4096)
        return fault_set(fault, "job.bench_root: longer than 4095 bytes");
    return 0;
}

/* `case.rubric_wall_clock_seconds`: absent, null and 0 mean the default. */
static int decode_case_wall_clock(const json_t *wanted, const struct limits *ceilings,
                                  struct limits *limits, struct fault *fault)
{
    static const char path[] = "job.case.rubric_wall_clock_seconds";
    if (!wanted || json_is_null(wanted))
        return 0;
    if (!json_is_number(wanted))
        return fault_set(fault, "%s: expected a number of seconds, got %s", path,
                         json_type_name(wanted));
    double seconds = json_number_value(wanted);
    if (seconds == 0)
        return 0;
    if (seconds < 0)
        return fault_set(fault, "%s: negative", path);
    return decode_limit(wanted, LIMIT_WALL_CLOCK, ceilings, path, &limits->of[LIMIT_WALL_CLOCK],
                        fault);
}

static int decode_sut(const json_t *sut, struct rubric_spec *rubric, struct fault *fault)
{
    enum { STATUS, DETAIL, FIELDS };
    static const struct field table[FIELDS] = {
        [STATUS] = {"status", FIELD_TEXT, FIELD_NULLABLE},
        [DETAIL] = {"detail", FIELD_STRING, FIELD_NULLABLE},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(sut, "job.sut", table, FIELDS, values, fault);
    if (r < 0)
        return r;

    const char *status = values[STATUS] ? json_string_value(values[STATUS]) : "ok";
    if (strcmp(status, "ok") == 0)
        rubric->sut = SUT_OK;
    else if (strcmp(status, "exception") == 0)
        rubric->sut = SUT_EXCEPTION;
    else if (strcmp(status, "timeout") == 0)
        rubric->sut = SUT_TIMEOUT;
    else
        return fault_set(fault, "job.sut.status: expected ok, exception or timeout");
    return values[DETAIL] ? copy_string(values[DETAIL], &rubric->sut_detail) : 0;
}

/* The rubric's stdin. It is kept as text while the job is queued: a parsed tree is some ten times
 * as large. */
static int print_input(const json_t *test_case, const json_t *harness_output, struct bytes *ret)
{
    _cleanup_json_ json_t *input = json_object();
    if (json_object_set(input, "case", (json_t *)(uintptr_t)test_case) < 0 ||
        json_object_set(input, "harness_output", (json_t *)(uintptr_t)harness_output) < 0)
        return -ENOMEM;
    return json_print(input, ret);
}

enum {
    JOB_FIELD_KIND,
    JOB_FIELD_PRIORITY,
    JOB_FIELD_LIMITS,
    JOB_FIELD_TASK_CLASS,
    JOB_FIELD_CASE,
    JOB_FIELD_HARNESS_OUTPUT,
    JOB_FIELD_BENCH_ROOT,
    JOB_FIELD_SUT,
    JOB_FIELDS,
};

static const struct field rubric_fields[JOB_FIELDS] = {
    [JOB_FIELD_KIND] = {"kind", FIELD_TEXT, FIELD_REQUIRED},
    [JOB_FIELD_PRIORITY] = {"priority", FIELD_INTEGER, FIELD_NULLABLE},
    [JOB_FIELD_LIMITS] = {"limits", FIELD_OBJECT, FIELD_NULLABLE},
    [JOB_FIELD_TASK_CLASS] = {"task_class", FIELD_TEXT, FIELD_REQUIRED},
    [JOB_FIELD_CASE] = {"case", FIELD_OBJECT, FIELD_REQUIRED},
    [JOB_FIELD_HARNESS_OUTPUT] = {"harness_output", FIELD_OBJECT, FIELD_REQUIRED},
    [JOB_FIELD_BENCH_ROOT] = {"bench_root", FIELD_TEXT, FIELD_NULLABLE},
    [JOB_FIELD_SUT] = {"sut", FIELD_OBJECT, FIELD_NULLABLE},
};

static int decode_rubric(const json_t *const values[], const struct limits *ceilings,
                         struct job_spec *spec, struct fault *fault)
{
    struct rubric_spec *rubric = &spec->rubric;
    int r = check_task_class(values[JOB_FIELD_TASK_CLASS], fault);
    if (r == 0 && values[JOB_FIELD_BENCH_ROOT])
        r = check_bench_root(values[JOB_FIELD_BENCH_ROOT], fault);
    if (r == 0)
        r = decode_case_wall_clock(
            json_object_get(values[JOB_FIELD_CASE], "rubric_wall_clock_seconds"), ceilings,
            &spec->limits, fault);
    if (r == 0 && values[JOB_FIELD_SUT])
        r = decode_sut(values[JOB_FIELD_SUT], rubric, fault);
    if (r == 0)
        r = copy_text(values[JOB_FIELD_TASK_CLASS], &rubric->task_class);
    if (r == 0 && values[JOB_FIELD_BENCH_ROOT])
        r = copy_text(values[JOB_FIELD_BENCH_ROOT], &rubric->bench_root);
    if (r == 0)
        r = print_input(values[JOB_FIELD_CASE], values[JOB_FIELD_HARNESS_OUTPUT], &rubric->input);
    return r;
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
        if (strcmp(json_string_value(value), kind_names[kind]) == 0) {
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
    const json_t *values[JOB_FIELDS] = {NULL};
    int r = decode_kind(job, &kind, fault);
    if (r == 0)
        r = fields_decode(job, "job", rubric_fields, JOB_FIELDS, values, fault);
    if (r < 0)
        return r;

    _cleanup_(job_spec_free_pointer) struct job_spec *spec = calloc(1, sizeof(*spec));
    if (!spec)
        return -ENOMEM;
    spec->kind = kind;
    spec->limits = policy->defaults[kind];
    r = decode_priority(values[JOB_FIELD_PRIORITY], &spec->priority, fault);
    if (r == 0 && values[JOB_FIELD_LIMITS])
        r = decode_limits(values[JOB_FIELD_LIMITS], kind, &policy->ceilings[kind], &spec->limits,
                          fault);
    if (r == 0)
        r = decode_rubric(values, &policy->ceilings[kind], spec, fault);
    if (r == 0)
        *ret = TAKE_PTR(spec);
    return r;
}

static int decode_id(const json_t *value, struct bytes *ret, struct fault *fault)
{
    size_t length = json_string_length(value);
    if (length == 0 || length > REQUEST_ID_MAX)
        return fault_set(fault, "id: expected 1 to %d bytes, got %zu", REQUEST_ID_MAX, length);
    return copy_string(value, ret);
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

/* status, ping, drain: nothing but the type. */
static int decode_bare(const json_t *message, struct fault *fault)
{
    static const struct field table[] = {{"type", FIELD_TEXT, FIELD_REQUIRED}};
    const json_t *values[1];
    return fields_decode(message, "", table, 1, values, fault);
}

static int decode_type(const json_t *message, enum request_type *ret, struct fault *fault)
{
    static const char *const names[] = {
        [REQUEST_SUBMIT] = "submit", [REQUEST_CANCEL] = "cancel", [REQUEST_STATUS] = "status",
        [REQUEST_PING] = "ping",     [REQUEST_DRAIN] = "drain",
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
    case REQUEST_PING:
    case REQUEST_DRAIN:
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
