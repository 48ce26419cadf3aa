/* SPDX-License-Identifier: MIT */
/* Requests of kind `rubric`: an answer and the task class whose rubric.py grades it. */
#include "jobfields.h"
#include "json_parse.h"
#include "printer.h"

#include <string.h>

/* Of SHA-256. */
#define RUBRIC_DIGEST_DIGITS 64

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

static int check_digest(const json_t *value, struct fault *fault)
{
    static const char digits[] = "0123456789abcdef";
    const char *text = json_string_value(value);
    if (strlen(text) == RUBRIC_DIGEST_DIGITS && strspn(text, digits) == RUBRIC_DIGEST_DIGITS)
        return 0;
    return fault_set(fault,
                     "job.rubric_digest: \"%.*s\" is not a digest (64 hexadecimal digits in lower "
                     "case)",
                     SHOWN(text));
}

/* Reads `case.rubric_wall_clock_seconds`; absent, null and 0 mean the default. */
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
    return job_decode_limit(wanted, LIMIT_WALL_CLOCK, ceilings, path, &limits->of[LIMIT_WALL_CLOCK],
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
    return values[DETAIL] ? job_copy_string(values[DETAIL], &rubric->sut_detail) : 0;
}

enum {
    RUBRIC_TASK_CLASS = JOB_FIELDS_COMMON,
    RUBRIC_CASE,
    RUBRIC_HARNESS_OUTPUT,
    RUBRIC_BENCH_ROOT,
    RUBRIC_DIGEST,
    RUBRIC_SUT,
    RUBRIC_WARM,
    RUBRIC_FIELDS,
};

static const struct field rubric_fields[RUBRIC_FIELDS] = {
    JOB_FIELDS_COMMON_ENTRIES,
    [RUBRIC_TASK_CLASS] = {"task_class", FIELD_TEXT, FIELD_REQUIRED},
    [RUBRIC_CASE] = {"case", FIELD_OBJECT, FIELD_REQUIRED},
    [RUBRIC_HARNESS_OUTPUT] = {"harness_output", FIELD_OBJECT, FIELD_REQUIRED},
    [RUBRIC_BENCH_ROOT] = {"bench_root", FIELD_TEXT, FIELD_NULLABLE},
    [RUBRIC_DIGEST] = {"rubric_digest", FIELD_TEXT, FIELD_NULLABLE},
    [RUBRIC_SUT] = {"sut", FIELD_OBJECT, FIELD_NULLABLE},
    [RUBRIC_WARM] = {"warm", FIELD_BOOLEAN, FIELD_NULLABLE},
};
_Static_assert(RUBRIC_FIELDS <= JOB_FIELDS_MAX, "JOB_FIELDS_MAX");

/* Adds VALUE as the client wrote it, without white space: to print numbers again takes long. */
static void add_value(struct printer *printer, const json_t *value,
                      const struct json_places *places)
{
    size_t n = json_place_length(places, value);
    char *room = n > 0 ? printer_room(printer, n) : NULL;
    if (room)
        printer_advance(printer, json_place_copy(places, value, room));
    else
        printer_value(printer, value);
}

/* Makes the rubric's stdin. A queued job keeps it as text because a parsed tree takes some ten
 * times the memory. */
static int print_input(const json_t *const values[], const struct json_places *places,
                       struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    printer_open(&printer);
    printer_name(&printer, "case");
    add_value(&printer, values[RUBRIC_CASE], places);
    printer_name(&printer, "harness_output");
    add_value(&printer, values[RUBRIC_HARNESS_OUTPUT], places);
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

static int decode_rubric(const json_t *const values[], const struct request_policy *policy,
                         const struct json_places *places, struct job_spec *spec,
                         struct fault *fault)
{
    struct rubric_spec *rubric = &spec->rubric;
    rubric->cold = json_is_false(values[RUBRIC_WARM]);
    int r = check_task_class(values[RUBRIC_TASK_CLASS], fault);
    if (r == 0 && values[RUBRIC_BENCH_ROOT])
        r = check_bench_root(values[RUBRIC_BENCH_ROOT], fault);
    if (r == 0 && values[RUBRIC_DIGEST])
        r = check_digest(values[RUBRIC_DIGEST], fault);
    if (r == 0)
        r = decode_case_wall_clock(
            json_object_get(values[RUBRIC_CASE], "rubric_wall_clock_seconds"),
            &policy->ceilings[JOB_RUBRIC], &spec->limits, fault);
    if (r == 0 && values[RUBRIC_SUT])
        r = decode_sut(values[RUBRIC_SUT], rubric, fault);
    if (r == 0)
        r = job_copy_text(values[RUBRIC_TASK_CLASS], &rubric->task_class);
    if (r == 0 && values[RUBRIC_BENCH_ROOT])
        r = job_copy_text(values[RUBRIC_BENCH_ROOT], &rubric->bench_root);
    if (r == 0 && values[RUBRIC_DIGEST])
        r = job_copy_text(values[RUBRIC_DIGEST], &rubric->digest);
    if (r == 0)
        r = print_input(values, places, &rubric->input);
    return r;
}

static size_t measure(const struct job_spec *job)
{
    const struct rubric_spec *spec = &job->rubric;
    return bytes_memory(&spec->input) + bytes_memory(&spec->sut_detail) +
           text_memory(spec->task_class) + text_memory(spec->bench_root) +
           text_memory(spec->digest);
}

static void free_spec(struct job_spec *job)
{
    struct rubric_spec *spec = &job->rubric;
    free(spec->task_class);
    free(spec->bench_root);
    free(spec->digest);
    bytes_deinit(&spec->input);
    bytes_deinit(&spec->sut_detail);
}

static int decode_limit(const char *key, const json_t *value, const struct request_policy *policy,
                        struct job_spec *spec, struct fault *fault)
{
    (void)value;
    (void)policy;
    (void)spec;
    if (strcmp(key, limit_key(LIMIT_WALL_CLOCK)) != 0)
        return LIMIT_COMMON;
    return fault_set(fault,
                     "job.limits.%s: a rubric's is set by job.case.rubric_wall_clock_seconds", key);
}

extern const struct job_kind job_kind_rubric;
const struct job_kind job_kind_rubric = {
    .name = "rubric",
    .summary = "an answer, graded by the rubric.py of its task class",
    .fields = rubric_fields,
    .field_count = RUBRIC_FIELDS,
    /* CPU time is left to the wall clock: 300 s is the ceiling of that. */
    .defaults = LIMITS_DEFAULT(60 * LIMIT_SECOND, 300 * LIMIT_SECOND),
    .wall_clock_ceiling = 300 * LIMIT_SECOND,
    .decode_limit = decode_limit,
    .decode = decode_rubric,
    .size = measure,
    .deinit = free_spec,
};
