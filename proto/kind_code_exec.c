/* SPDX-License-Identifier: MIT */
/* Requests of kind `code_exec`: code of a model and the assertions that it has to pass. */
#include "base64.h"
#include "jobfields.h"
#include "python.h"

#include <string.h>

/* --- ownership ---------------------------------------------------------------------------- */

static void free_spec(struct job_spec *job)
{
    struct code_exec_spec *spec = &job->code_exec;
    bytes_deinit(&spec->text);
    bytes_deinit(&spec->test);
    bytes_deinit(&spec->prelude);
    bytes_deinit(&spec->test_setup);
    bytes_deinit(&spec->replay);
    free(spec->entry_point);
    for (size_t i = 0; i < spec->name_count; i++)
        free(spec->names[i]);
    free(spec->names);
    for (size_t i = 0; i < spec->warm_module_count; i++)
        free(spec->warm_modules[i]);
    free(spec->warm_modules);
    for (size_t i = 0; i < spec->target_count; i++)
        bytes_deinit(&spec->targets[i]);
    free(spec->targets);
}

static size_t measure(const struct job_spec *job)
{
    const struct code_exec_spec *spec = &job->code_exec;
    size_t size = bytes_memory(&spec->text) + bytes_memory(&spec->test) +
                  bytes_memory(&spec->prelude) + bytes_memory(&spec->test_setup) +
                  bytes_memory(&spec->replay) + text_memory(spec->entry_point);
    for (size_t i = 0; i < spec->name_count; i++)
        size += sizeof(spec->names[i]) + text_memory(spec->names[i]);
    for (size_t i = 0; i < spec->warm_module_count; i++)
        size += sizeof(spec->warm_modules[i]) + text_memory(spec->warm_modules[i]);
    for (size_t i = 0; i < spec->target_count; i++)
        size += sizeof(spec->targets[i]) + bytes_memory(&spec->targets[i]);
    return size;
}

/* --- the code ----------------------------------------------------------------------------- */

static int decode_text(const json_t *generation, const json_t *code, struct code_exec_spec *spec,
                       struct fault *fault)
{
    if (!generation == !code)
        return fault_set(fault, "job: expected exactly one of generation and code");
    spec->is_generation = generation != NULL;
    return job_copy_string(generation ? generation : code, &spec->text);
}

/* --- the assertions ------------------------------------------------------------------ */

/* Refuses blank text: a test that asserts nothing passes always. */
static int check_not_blank(const json_t *string, const char *path, struct fault *fault)
{
    const char *text = json_string_value(string);
    if (strspn(text, " \t\n\v\f\r") == json_string_length(string))
        return fault_set(fault, "%s: empty, or nothing but white space", path);
    return 0;
}

static int decode_target(const json_t *item, const char *path, struct code_exec_spec *spec,
                         struct fault *fault)
{
    int r = field_check_type(item, FIELD_STRING, path, fault);
    if (r == 0)
        r = check_not_blank(item, path, fault);
    if (r == 0)
        r = job_copy_string(item, &spec->targets[spec->target_count]);
    if (r == 0)
        spec->target_count++;
    return r;
}

static int decode_targets(const json_t *value, struct code_exec_spec *spec, struct fault *fault)
{
    static const char path[] = "job.targets";
    bool is_one = json_is_string(value);
    if (!is_one && !json_is_array(value))
        return fault_set(fault, "%s: expected a string or an array of strings, got %s", path,
                         json_type_name(value));
    size_t n = is_one ? 1 : json_array_size(value);
    if (n == 0 || n > CODE_EXEC_TARGETS_MAX)
        return fault_set(fault, "%s: expected 1 to %d assertions, got %zu", path,
                         CODE_EXEC_TARGETS_MAX, n);
    spec->targets = calloc(n, sizeof(*spec->targets));
    if (!spec->targets)
        return -ENOMEM;
    if (is_one)
        return decode_target(value, path, spec, fault);
    for (size_t i = 0; i < n; i++) {
        char item_path[FIELD_PATH_MAX];
        (void)snprintf(item_path, sizeof(item_path), "%s[%zu]", path, i);
        int r = decode_target(json_array_get(value, i), item_path, spec, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

static int decode_test(const json_t *value, struct code_exec_spec *spec, struct fault *fault)
{
    int r = check_not_blank(value, "job.test", fault);
    return r == 0 ? job_copy_string(value, &spec->test) : r;
}

/* Accepts every byte beyond ASCII, because the characters that Python allows in a name depend on
 * its version. The checker reports a name that does not exist. */
static bool is_identifier(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > CODE_EXEC_ENTRY_POINT_MAX || (*name >= '0' && *name <= '9'))
        return false;
    for (const char *p = name; *p; p++) {
        bool is_word = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                       (*p >= '0' && *p <= '9') || *p == '_' || (unsigned char)*p >= 0x80;
        if (!is_word)
            return false;
    }
    return true;
}

/* Copies the name that VALUE, a string without NUL at PATH, consists of. */
static int decode_name(const json_t *value, const char *path, char **ret, struct fault *fault)
{
    const char *name = json_string_value(value);
    if (!is_identifier(name))
        return fault_set(fault, "%s: \"%.*s\" is not a name in Python of at most %d bytes", path,
                         SHOWN(name), CODE_EXEC_ENTRY_POINT_MAX);
    if (python_is_keyword(name, strlen(name)))
        return fault_set(fault, "%s: \"%s\" is a keyword of Python", path, name);
    return job_copy_text(value, ret);
}

static bool is_among(const char *name, const struct code_exec_spec *spec)
{
    for (size_t i = 0; i < spec->name_count; i++)
        if (spec->names[i] && strcmp(spec->names[i], name) == 0)
            return true;
    return false;
}

static int decode_one_of_names(const json_t *item, const char *path, struct code_exec_spec *spec,
                               struct fault *fault)
{
    int r = field_check_type(item, FIELD_TEXT, path, fault);
    if (r < 0)
        return r;
    if (is_among(json_string_value(item), spec))
        return fault_set(fault, "%s: \"%s\" is there twice", path, json_string_value(item));
    r = decode_name(item, path, &spec->names[spec->name_count], fault);
    if (r == 0)
        spec->name_count++;
    return r;
}

static int decode_names(const json_t *value, struct code_exec_spec *spec, struct fault *fault)
{
    static const char path[] = "job.names";
    size_t n = json_array_size(value);
    if (n > CODE_EXEC_NAMES_MAX)
        return fault_set(fault, "%s: expected at most %d names, got %zu", path, CODE_EXEC_NAMES_MAX,
                         n);
    if (n == 0)
        return 0;
    spec->names = calloc(n, sizeof(*spec->names));
    if (!spec->names)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        char item_path[FIELD_PATH_MAX];
        (void)snprintf(item_path, sizeof(item_path), "%s[%zu]", path, i);
        int r = decode_one_of_names(json_array_get(value, i), item_path, spec, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

static int decode_assertions(const json_t *targets, const json_t *test, const json_t *entry_point,
                             struct code_exec_spec *spec, struct fault *fault)
{
    if (!targets == !test)
        return fault_set(fault, "job: expected exactly one of targets and test");
    int r = targets ? decode_targets(targets, spec, fault) : decode_test(test, spec, fault);
    if (r == 0 && entry_point)
        r = decode_name(entry_point, "job.entry_point", &spec->entry_point, fault);
    else if (r == 0 && test)
        r = fault_set(fault, "job.entry_point: missing; check() of test is called with it");
    return r;
}

/* --- how it is run ------------------------------------------------------------------------ */

static int decode_verdict(const json_t *value, bool *ret_shared, struct fault *fault)
{
    const char *verdict = json_string_value(value);
    *ret_shared = strcmp(verdict, "shared") == 0;
    if (*ret_shared || strcmp(verdict, "isolated") == 0)
        return 0;
    return fault_set(fault, "job.verdict: expected isolated or shared");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int decode_warm_module(const json_t *item, const char *path, struct code_exec_spec *spec,
                              struct fault *fault)
{
    int r = field_check_type(item, FIELD_TEXT, path, fault);
    if (r < 0)
        return r;
    const char *name = json_string_value(item);
    if (!python_is_module_name(name))
        return fault_set(fault, "%s: \"%.*s\" is not the name of a module of at most %d bytes",
                         path, SHOWN(name), PYTHON_MODULE_NAME_MAX);
    r = job_copy_text(item, &spec->warm_modules[spec->warm_module_count]);
    if (r == 0)
        spec->warm_module_count++;
    return r;
}

/* Their order means nothing: jobs that name the same modules are of one class. */
static int decode_warm_modules(const json_t *value, struct code_exec_spec *spec,
                               struct fault *fault)
{
    static const char path[] = "job.warm_modules";
    size_t n = json_array_size(value);
    if (n > CODE_EXEC_WARM_MODULES_MAX)
        return fault_set(fault, "%s: expected at most %d names, got %zu", path,
                         CODE_EXEC_WARM_MODULES_MAX, n);
    if (n == 0)
        return 0;
    spec->warm_modules = calloc(n, sizeof(*spec->warm_modules));
    if (!spec->warm_modules)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        char item_path[FIELD_PATH_MAX];
        (void)snprintf(item_path, sizeof(item_path), "%s[%zu]", path, i);
        int r = decode_warm_module(json_array_get(value, i), item_path, spec, fault);
        if (r < 0)
            return r;
    }
    qsort(spec->warm_modules, n, sizeof(*spec->warm_modules), compare_names);
    for (size_t i = 1; i < n; i++)
        if (strcmp(spec->warm_modules[i - 1], spec->warm_modules[i]) == 0)
            return fault_set(fault, "%s: \"%s\" is there twice", path, spec->warm_modules[i]);
    return 0;
}

/* A replay judges from a transcript, which only an isolated pass has. */
static int decode_replay(const json_t *value, struct code_exec_spec *spec, struct fault *fault)
{
    if (spec->transcript)
        return fault_set(fault, "job.transcript: a job with replay has none of its own");
    if (spec->shared)
        return fault_set(fault, "job.verdict: a job with replay is judged as isolated");
    spec->is_replay = true;
    int r = base64_decode(json_string_value(value), json_string_length(value), &spec->replay);
    if (r == -EINVAL || (r == 0 && spec->replay.length == 0))
        return fault_set(fault, "job.replay: not base64 (RFC 4648, with padding), or empty");
    return r;
}

/* Reads `timeout_s`; the other fields of `metadata` belong to the client. */
static int decode_timeout(const json_t *metadata, const json_t *limits_given,
                          const struct limits *ceilings, struct limits *limits, struct fault *fault)
{
    static const char path[] = "job.metadata.timeout_s";
    const json_t *timeout = json_object_get(metadata, "timeout_s");
    if (!timeout || json_is_null(timeout))
        return 0;
    if (json_object_get(limits_given, limit_key(LIMIT_WALL_CLOCK)))
        return fault_set(fault, "%s: job.limits.wall_clock says the same; only one of them may",
                         path);
    return job_decode_limit(timeout, LIMIT_WALL_CLOCK, ceilings, path,
                            &limits->of[LIMIT_WALL_CLOCK], fault);
}

/* --- the job ------------------------------------------------------------------------------ */

enum {
    CODE_EXEC_GENERATION = JOB_FIELDS_COMMON,
    CODE_EXEC_CODE,
    CODE_EXEC_TARGETS,
    CODE_EXEC_TEST,
    CODE_EXEC_ENTRY_POINT,
    CODE_EXEC_NAMES,
    CODE_EXEC_PRELUDE,
    CODE_EXEC_TEST_SETUP,
    CODE_EXEC_VERDICT,
    CODE_EXEC_METADATA,
    CODE_EXEC_WARM,
    CODE_EXEC_WARM_MODULES,
    CODE_EXEC_TRANSCRIPT,
    CODE_EXEC_REPLAY,
    CODE_EXEC_FIELDS,
};

static const struct field code_exec_fields[CODE_EXEC_FIELDS] = {
    JOB_FIELDS_COMMON_ENTRIES,
    [CODE_EXEC_GENERATION] = {"generation", FIELD_STRING, FIELD_NULLABLE},
    [CODE_EXEC_CODE] = {"code", FIELD_STRING, FIELD_NULLABLE},
    [CODE_EXEC_TARGETS] = {"targets", FIELD_ANY, FIELD_NULLABLE},
    [CODE_EXEC_TEST] = {"test", FIELD_STRING, FIELD_NULLABLE},
    [CODE_EXEC_ENTRY_POINT] = {"entry_point", FIELD_TEXT, FIELD_NULLABLE},
    [CODE_EXEC_NAMES] = {"names", FIELD_ARRAY, FIELD_NULLABLE},
    [CODE_EXEC_PRELUDE] = {"prelude", FIELD_STRING, FIELD_NULLABLE},
    [CODE_EXEC_TEST_SETUP] = {"test_setup", FIELD_STRING, FIELD_NULLABLE},
    [CODE_EXEC_VERDICT] = {"verdict", FIELD_TEXT, FIELD_NULLABLE},
    [CODE_EXEC_METADATA] = {"metadata", FIELD_OBJECT, FIELD_NULLABLE},
    [CODE_EXEC_WARM] = {"warm", FIELD_BOOLEAN, FIELD_NULLABLE},
    [CODE_EXEC_WARM_MODULES] = {"warm_modules", FIELD_ARRAY, FIELD_NULLABLE},
    [CODE_EXEC_TRANSCRIPT] = {"transcript", FIELD_BOOLEAN, FIELD_NULLABLE},
    [CODE_EXEC_REPLAY] = {"replay", FIELD_STRING, FIELD_NULLABLE},
};
_Static_assert(CODE_EXEC_FIELDS <= JOB_FIELDS_MAX, "JOB_FIELDS_MAX");

static int decode_code_exec(const json_t *const values[], const struct request_policy *policy,
                            const struct json_places *places, struct job_spec *spec,
                            struct fault *fault)
{
    (void)places;
    struct code_exec_spec *code_exec = &spec->code_exec;
    code_exec->cold = json_is_false(values[CODE_EXEC_WARM]);
    code_exec->transcript = json_is_true(values[CODE_EXEC_TRANSCRIPT]);
    int r = decode_text(values[CODE_EXEC_GENERATION], values[CODE_EXEC_CODE], code_exec, fault);
    if (r == 0)
        r = decode_assertions(values[CODE_EXEC_TARGETS], values[CODE_EXEC_TEST],
                              values[CODE_EXEC_ENTRY_POINT], code_exec, fault);
    if (r == 0 && values[CODE_EXEC_NAMES])
        r = decode_names(values[CODE_EXEC_NAMES], code_exec, fault);
    if (r == 0 && values[CODE_EXEC_PRELUDE])
        r = job_copy_string(values[CODE_EXEC_PRELUDE], &code_exec->prelude);
    if (r == 0 && values[CODE_EXEC_TEST_SETUP])
        r = job_copy_string(values[CODE_EXEC_TEST_SETUP], &code_exec->test_setup);
    if (r == 0 && values[CODE_EXEC_VERDICT])
        r = decode_verdict(values[CODE_EXEC_VERDICT], &code_exec->shared, fault);
    if (r == 0 && values[CODE_EXEC_WARM_MODULES])
        r = decode_warm_modules(values[CODE_EXEC_WARM_MODULES], code_exec, fault);
    if (r == 0 && values[CODE_EXEC_REPLAY])
        r = decode_replay(values[CODE_EXEC_REPLAY], code_exec, fault);
    if (r == 0 && values[CODE_EXEC_METADATA])
        r = decode_timeout(values[CODE_EXEC_METADATA], values[JOB_FIELD_LIMITS],
                           &policy->ceilings[JOB_CODE_EXEC], &spec->limits, fault);
    return r;
}

extern const struct job_kind job_kind_code_exec;
const struct job_kind job_kind_code_exec = {
    .name = "code_exec",
    .summary = "code that a model wrote, which must pass the tests of its task",
    .fields = code_exec_fields,
    .field_count = CODE_EXEC_FIELDS,
    .defaults = LIMITS_DEFAULT(3 * LIMIT_SECOND, 60 * LIMIT_SECOND),
    .wall_clock_ceiling = 30 * LIMIT_SECOND,
    .decode = decode_code_exec,
    .size = measure,
    .deinit = free_spec,
};
