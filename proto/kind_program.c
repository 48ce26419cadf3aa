/* SPDX-License-Identifier: MIT */
/* Requests of kind `program`: a program in some language, and the tests that it is run on. */
#include "jobfiles.h"
#include "program_tests.h"

#include <string.h>

/* --- ownership ---------------------------------------------------------------------------- */

static void free_helper(struct program_helper *helper)
{
    if (helper) {
        free(helper->language);
        bytes_deinit(&helper->code);
        job_files_free(helper->files, helper->file_count);
    }
    free(helper);
}

static void free_spec(struct job_spec *job)
{
    struct program_spec *spec = &job->program;
    free(spec->language);
    bytes_deinit(&spec->text);
    bytes_deinit(&spec->prelude);
    job_files_free(spec->files, spec->file_count);
    spec->tests = program_tests_unref(spec->tests);
    free(spec->compare);
    free(spec->call);
    for (char **name = spec->collect; name && *name; name++)
        free(*name);
    free(spec->collect);
    free_helper(spec->checker);
    free_helper(spec->interactor);
}

static size_t measure_helper(const struct program_helper *helper)
{
    return helper
               ? sizeof(*helper) + ALLOCATION_OVERHEAD + text_memory(helper->language) +
                     bytes_memory(&helper->code) + job_files_size(helper->files, helper->file_count)
               : 0;
}

/* Tests that were put are counted where they are kept. */
static size_t measure(const struct job_spec *job)
{
    const struct program_spec *spec = &job->program;
    size_t size = bytes_memory(&spec->text) + bytes_memory(&spec->prelude) +
                  text_memory(spec->language) + text_memory(spec->compare) +
                  text_memory(spec->call) + texts_memory(spec->collect) +
                  job_files_size(spec->files, spec->file_count);
    if (spec->tests && !*spec->digest)
        size += spec->tests->size;
    return size + measure_helper(spec->checker) + measure_helper(spec->interactor);
}

/* --- the program -------------------------------------------------------------------------- */

/* Which languages there are, the daemon knows. */
static int decode_language(const json_t *value, const char *path, char **ret, struct fault *fault)
{
    size_t length = json_string_length(value);
    if (length == 0 || length > PROGRAM_LANGUAGE_MAX)
        return fault_set(fault, "%s: expected 1 to %d bytes, got %zu", path, PROGRAM_LANGUAGE_MAX,
                         length);
    return job_copy_text(value, ret);
}

static int decode_text(const json_t *generation, const json_t *code, struct program_spec *spec,
                       struct fault *fault)
{
    if (!generation == !code)
        return fault_set(fault, "job: expected exactly one of generation and code");
    spec->is_generation = generation != NULL;
    return job_copy_string(generation ? generation : code, &spec->text);
}

static int check_disk(const struct job_spec *job, struct fault *fault)
{
    const struct program_spec *spec = &job->program;
    uint64_t limit = job->limits.of[LIMIT_DISK];
    size_t bytes = WHOLE_PAGES(spec->text.length + spec->prelude.length) +
                   job_files_disk(spec->files, spec->file_count);
    if (bytes <= WHOLE_PAGES(limit))
        return 0;
    return fault_set(fault,
                     "job.%s: %zu bytes of disk, in whole pages; the limit disk_bytes is %zu",
                     spec->file_count > 0  ? "files"
                     : spec->is_generation ? "generation"
                                           : "code",
                     bytes, (size_t)limit);
}

/* --- the tests ---------------------------------------------------------------------------- */

static int decode_put(const json_t *object, struct program_spec *spec, struct fault *fault)
{
    static const struct field table[] = {{"put", FIELD_TEXT, FIELD_REQUIRED}};
    const json_t *digest;
    int r = fields_decode(object, "job.tests", table, 1, &digest, fault);
    if (r == 0)
        r = program_digest_check(json_string_value(digest), "job.tests.put", fault);
    if (r == 0)
        memcpy(spec->digest, json_string_value(digest), PROGRAM_DIGEST_SIZE);
    return r;
}

static int decode_tests(const json_t *value, const struct limits *ceilings,
                        struct program_spec *spec, struct fault *fault)
{
    static const char path[] = "job.tests";
    if (json_is_object(value))
        return decode_put(value, spec, fault);
    if (!json_is_array(value))
        return fault_set(fault, "%s: expected an array of tests or {\"put\": digest}, got %s", path,
                         json_type_name(value));
    int r = program_tests_decode(value, path, ceilings, &spec->tests, fault);
    return r < 0 ? r : program_tests_check_call(spec->tests, spec->call != NULL, fault);
}

static int decode_call(const json_t *value, struct program_spec *spec, struct fault *fault)
{
    size_t length = json_string_length(value);
    if (length == 0 || length > PROGRAM_CALL_MAX)
        return fault_set(fault, "job.call: expected 1 to %d bytes, got %zu", PROGRAM_CALL_MAX,
                         length);
    return job_copy_text(value, &spec->call);
}

/* --- how they are judged ------------------------------------------------------------------ */

static int decode_stop(const json_t *value, bool *ret_all, struct fault *fault)
{
    const char *stop = json_string_value(value);
    *ret_all = strcmp(stop, "all") == 0;
    if (*ret_all || strcmp(stop, "first_failure") == 0)
        return 0;
    return fault_set(fault, "job.stop: expected first_failure or all");
}

static int decode_compare(const json_t *value, const struct request_policy *policy,
                          struct program_spec *spec, struct fault *fault)
{
    struct fault why = FAULT_NULL;
    size_t length = json_string_length(value);
    if (spec->call)
        return fault_set(fault, "job.compare: a job with call compares values, not text");
    if (length == 0 || length > PROGRAM_COMPARE_MAX)
        return fault_set(fault, "job.compare: expected 1 to %d bytes, got %zu", PROGRAM_COMPARE_MAX,
                         length);
    if (policy->check_compare && policy->check_compare(json_string_value(value), &why) < 0)
        return fault_set(fault, "job.compare: %s", why.text);
    return job_copy_text(value, &spec->compare);
}

/* Decodes OBJECT, the member NAME of the job. */
static int decode_helper(const json_t *object, const char *name, struct program_helper **ret,
                         struct fault *fault)
{
    enum { LANGUAGE, CODE, FILES, FIELDS };
    static const struct field table[FIELDS] = {
        [LANGUAGE] = {"language", FIELD_TEXT, FIELD_REQUIRED},
        [CODE] = {"code", FIELD_STRING, FIELD_REQUIRED},
        [FILES] = {"files", FIELD_OBJECT, FIELD_NULLABLE},
    };
    const json_t *values[FIELDS];
    char parent[FIELD_PATH_MAX], path[FIELD_PATH_MAX];
    field_path(parent, "job", name);
    int r = fields_decode(object, parent, table, FIELDS, values, fault);
    if (r < 0)
        return r;
    struct program_helper *helper = *ret = calloc(1, sizeof(*helper));
    if (!helper)
        return -ENOMEM;
    field_path(path, parent, "language");
    r = decode_language(values[LANGUAGE], path, &helper->language, fault);
    if (r == 0)
        r = job_copy_string(values[CODE], &helper->code);
    field_path(path, parent, "files");
    if (r == 0 && values[FILES])
        r = job_decode_files(values[FILES], path, &helper->files, &helper->file_count, fault);
    return r;
}

static int decode_checker(const json_t *object, struct program_spec *spec, struct fault *fault)
{
    if (spec->call)
        return fault_set(fault, "job.checker: a job with call compares values, and has none");
    if (spec->compare)
        return fault_set(fault, "job.compare: the checker compares; only one of them may");
    return decode_helper(object, "checker", &spec->checker, fault);
}

static int decode_interactor(const json_t *object, struct program_spec *spec, struct fault *fault)
{
    if (spec->call)
        return fault_set(fault, "job.interactor: a job with call compares values, and has none");
    if (spec->compare)
        return fault_set(fault, "job.compare: the interactor judges; only one of them may");
    if (spec->checker)
        return fault_set(fault, "job.checker: the interactor judges; only one of them may");
    return decode_helper(object, "interactor", &spec->interactor, fault);
}

/* The files are those of one test; which, its kind says (daemon/kinds/program.h). */
static int decode_collect(const json_t *array, struct program_spec *spec, struct fault *fault)
{
    if (spec->interactor)
        return fault_set(fault,
                         "job.collect: a job with an interactor has no files that come back");
    int r = job_decode_collect(array, &spec->collect, fault);
    size_t length = r < 0 ? 0 : texts_length(spec->collect);
    if (length > PROGRAM_COLLECT_STRINGS_MAX)
        return fault_set(fault, "job.collect: %zu bytes, more than %u", length,
                         PROGRAM_COLLECT_STRINGS_MAX);
    return r;
}

static int decode_compile_limits(const json_t *object, const struct limits *ceilings,
                                 struct limits *ret, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        char path[FIELD_PATH_MAX];
        enum limit limit = limit_from_key(json_object_iter_key(i));
        field_path(path, "job.compile_limits", json_object_iter_key(i));
        if (limit == LIMIT_NONE)
            return fault_set(fault, "%s: unknown field", path);
        int r = job_decode_limit(json_object_iter_value(i), limit, ceilings, path, &ret->of[limit],
                                 fault);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A language has limits of its own, which give way to those of a request alone. */
static unsigned limits_given(const json_t *object)
{
    unsigned given = 0;
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i))
        given |= 1u << limit_from_key(json_object_iter_key(i));
    return given;
}

/* --- the job ------------------------------------------------------------------------------ */

enum {
    PROGRAM_LANGUAGE = JOB_FIELDS_COMMON,
    PROGRAM_CODE,
    PROGRAM_GENERATION,
    PROGRAM_PRELUDE,
    PROGRAM_FILES,
    PROGRAM_TESTS,
    PROGRAM_COMPARE,
    PROGRAM_STOP,
    PROGRAM_CALL,
    PROGRAM_CHECKER,
    PROGRAM_INTERACTOR,
    PROGRAM_COLLECT,
    PROGRAM_COMPILE_LIMITS,
    PROGRAM_FIELDS,
};

static const struct field program_fields[PROGRAM_FIELDS] = {
    JOB_FIELDS_COMMON_ENTRIES,
    [PROGRAM_LANGUAGE] = {"language", FIELD_TEXT, FIELD_REQUIRED},
    [PROGRAM_CODE] = {"code", FIELD_STRING, FIELD_NULLABLE},
    [PROGRAM_GENERATION] = {"generation", FIELD_STRING, FIELD_NULLABLE},
    [PROGRAM_PRELUDE] = {"prelude", FIELD_STRING, FIELD_NULLABLE},
    [PROGRAM_FILES] = {"files", FIELD_OBJECT, FIELD_NULLABLE},
    [PROGRAM_TESTS] = {"tests", FIELD_ANY, FIELD_REQUIRED},
    [PROGRAM_COMPARE] = {"compare", FIELD_TEXT, FIELD_NULLABLE},
    [PROGRAM_STOP] = {"stop", FIELD_TEXT, FIELD_NULLABLE},
    [PROGRAM_CALL] = {"call", FIELD_TEXT, FIELD_NULLABLE},
    [PROGRAM_CHECKER] = {"checker", FIELD_OBJECT, FIELD_NULLABLE},
    [PROGRAM_INTERACTOR] = {"interactor", FIELD_OBJECT, FIELD_NULLABLE},
    [PROGRAM_COLLECT] = {"collect", FIELD_ARRAY, FIELD_NULLABLE},
    [PROGRAM_COMPILE_LIMITS] = {"compile_limits", FIELD_OBJECT, FIELD_NULLABLE},
};
_Static_assert(PROGRAM_FIELDS <= JOB_FIELDS_MAX, "JOB_FIELDS_MAX");

static int decode_judging(const json_t *const values[], const struct request_policy *policy,
                          struct program_spec *spec, struct fault *fault)
{
    int r = 0;
    if (values[PROGRAM_STOP])
        r = decode_stop(values[PROGRAM_STOP], &spec->all, fault);
    if (r == 0 && values[PROGRAM_COMPARE])
        r = decode_compare(values[PROGRAM_COMPARE], policy, spec, fault);
    if (r == 0 && values[PROGRAM_CHECKER])
        r = decode_checker(values[PROGRAM_CHECKER], spec, fault);
    if (r == 0 && values[PROGRAM_INTERACTOR])
        r = decode_interactor(values[PROGRAM_INTERACTOR], spec, fault);
    if (r == 0 && values[PROGRAM_COLLECT])
        r = decode_collect(values[PROGRAM_COLLECT], spec, fault);
    return r;
}

static int decode_program(const json_t *const values[], const struct request_policy *policy,
                          const struct json_places *places, struct job_spec *job,
                          struct fault *fault)
{
    (void)places;
    struct program_spec *spec = &job->program;
    const struct limits *ceilings = &policy->ceilings[JOB_PROGRAM];
    spec->defaults = policy->defaults[JOB_PROGRAM];
    spec->limits_given = limits_given(values[JOB_FIELD_LIMITS]);
    int r = decode_language(values[PROGRAM_LANGUAGE], "job.language", &spec->language, fault);
    if (r == 0)
        r = decode_text(values[PROGRAM_GENERATION], values[PROGRAM_CODE], spec, fault);
    if (r == 0 && values[PROGRAM_PRELUDE])
        r = job_copy_string(values[PROGRAM_PRELUDE], &spec->prelude);
    if (r == 0 && values[PROGRAM_FILES])
        r = job_decode_files(values[PROGRAM_FILES], "job.files", &spec->files, &spec->file_count,
                             fault);
    if (r == 0)
        r = check_disk(job, fault);
    if (r == 0 && values[PROGRAM_CALL])
        r = decode_call(values[PROGRAM_CALL], spec, fault);
    if (r == 0)
        r = decode_judging(values, policy, spec, fault);
    if (r == 0)
        r = decode_tests(values[PROGRAM_TESTS], ceilings, spec, fault);
    if (r == 0 && values[PROGRAM_COMPILE_LIMITS])
        r = decode_compile_limits(values[PROGRAM_COMPILE_LIMITS], ceilings, &spec->compile_limits,
                                  fault);
    return r;
}

extern const struct job_kind job_kind_program;
const struct job_kind job_kind_program = {
    .name = "program",
    .summary = "a program in some language, which must answer its tests",
    .fields = program_fields,
    .field_count = PROGRAM_FIELDS,
    .defaults = LIMITS_DEFAULT(10 * LIMIT_SECOND, 60 * LIMIT_SECOND),
    .decode = decode_program,
    .size = measure,
    .deinit = free_spec,
};
