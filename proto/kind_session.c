/* SPDX-License-Identifier: MIT */
/* Requests of kind `session`: one command in a session that the connection has open. */
#include "jobfiles.h"
#include "kind_sandbox.h"
#include "session_request.h"

#include <string.h>

#define MODE_OF_FILES 0644
#define MODE_MAX 0777

static void free_spec(struct job_spec *job)
{
    struct session_spec *spec = &job->session;
    session_free_strings(spec->argv);
    session_free_strings(spec->env);
    free(spec->cwd);
    free(spec->path);
    bytes_deinit(&spec->input);
}

static size_t measure(const struct job_spec *job)
{
    const struct session_spec *spec = &job->session;
    return bytes_memory(&spec->input) + texts_memory(spec->argv) + texts_memory(spec->env) +
           text_memory(spec->cwd) + text_memory(spec->path);
}

/* --- fields ------------------------------------------------------------------------------- */

enum {
    SESSION_FIELD_SESSION = JOB_FIELDS_COMMON,
    SESSION_FIELD_ARGV,
    SESSION_FIELD_STDIN,
    SESSION_FIELD_ENV,
    SESSION_FIELD_CWD,
    SESSION_FIELD_WRITE,
    SESSION_FIELD_CONTENT,
    SESSION_FIELD_MODE,
    SESSION_FIELD_APPEND,
    SESSION_FIELD_READ,
    SESSION_FIELDS,
};

static const struct field session_fields[SESSION_FIELDS] = {
    JOB_FIELDS_COMMON_ENTRIES,
    [SESSION_FIELD_SESSION] = {"session", FIELD_INTEGER, FIELD_REQUIRED},
    [SESSION_FIELD_ARGV] = {"argv", FIELD_ARRAY, FIELD_NULLABLE},
    [SESSION_FIELD_STDIN] = {"stdin", FIELD_ANY, FIELD_NULLABLE},
    [SESSION_FIELD_ENV] = {"env", FIELD_OBJECT, FIELD_NULLABLE},
    [SESSION_FIELD_CWD] = {"cwd", FIELD_TEXT, FIELD_NULLABLE},
    [SESSION_FIELD_WRITE] = {"write", FIELD_TEXT, FIELD_NULLABLE},
    [SESSION_FIELD_CONTENT] = {"content", FIELD_ANY, FIELD_NULLABLE},
    [SESSION_FIELD_MODE] = {"mode", FIELD_INTEGER, FIELD_NULLABLE},
    [SESSION_FIELD_APPEND] = {"append", FIELD_BOOLEAN, FIELD_NULLABLE},
    [SESSION_FIELD_READ] = {"read", FIELD_TEXT, FIELD_NULLABLE},
};
_Static_assert(SESSION_FIELDS <= JOB_FIELDS_MAX, "JOB_FIELDS_MAX");

/* Refuses the fields FIRST to LAST, which only commands that HAVE have. */
static int refuse_fields(const json_t *const values[], int first, int last, const char *have,
                         struct fault *fault)
{
    for (int i = first; i <= last; i++)
        if (values[i])
            return fault_set(fault, "job.%s: goes with %s", session_fields[i].name, have);
    return 0;
}

static int decode_path(const json_t *value, const char *path, char **ret, struct fault *fault)
{
    size_t n = json_string_length(value);
    if (n == 0 || n > SANDBOX_PATH_MAX)
        return fault_set(fault, "%s: expected 1 to %d bytes, got %zu", path, SANDBOX_PATH_MAX, n);
    return job_copy_text(value, ret);
}

static int decode_argv(const json_t *array, struct session_spec *spec, struct fault *fault)
{
    size_t n = json_array_size(array);
    if (n == 0 || n > SANDBOX_ARGV_MAX)
        return fault_set(fault, "job.argv: expected 1 to %d strings, got %zu", SANDBOX_ARGV_MAX, n);
    int r = job_decode_strings(array, "job.argv", &spec->argv, fault);
    if (r == 0 && !*spec->argv[0])
        r = fault_set(fault, "job.argv[0]: empty");
    if (r == 0 && texts_length(spec->argv) > SANDBOX_STRINGS_MAX / 2)
        r = fault_set(fault, "job.argv: %zu bytes, more than %u", texts_length(spec->argv),
                      SANDBOX_STRINGS_MAX / 2);
    return r;
}

static int decode_exec(const json_t *const values[], struct session_spec *spec, struct fault *fault)
{
    int r = refuse_fields(values, SESSION_FIELD_CONTENT, SESSION_FIELD_APPEND, "write", fault);
    spec->act = SESSION_EXEC;
    if (r == 0)
        r = decode_argv(values[SESSION_FIELD_ARGV], spec, fault);
    if (r == 0 && values[SESSION_FIELD_ENV])
        r = session_decode_env(values[SESSION_FIELD_ENV], "job.env", &spec->env, fault);
    if (r == 0 && values[SESSION_FIELD_CWD])
        r = decode_path(values[SESSION_FIELD_CWD], "job.cwd", &spec->cwd, fault);
    if (r == 0 && values[SESSION_FIELD_STDIN])
        r = job_decode_content(values[SESSION_FIELD_STDIN], "job.stdin", &spec->input, fault);
    return r;
}

static int decode_write(const json_t *const values[], struct session_spec *spec,
                        struct fault *fault)
{
    int r = refuse_fields(values, SESSION_FIELD_STDIN, SESSION_FIELD_CWD, "argv", fault);
    const json_t *mode = values[SESSION_FIELD_MODE];
    json_int_t bits = mode ? json_integer_value(mode) : MODE_OF_FILES;
    spec->act = SESSION_WRITE;
    if (r == 0 && !values[SESSION_FIELD_CONTENT])
        r = fault_set(fault, "job.content: missing");
    if (r == 0 && (bits < 0 || bits > MODE_MAX))
        r = fault_set(fault, "job.mode: expected an integer from 0 to %d", MODE_MAX);
    if (r == 0)
        r = decode_path(values[SESSION_FIELD_WRITE], "job.write", &spec->path, fault);
    if (r == 0)
        r = job_decode_content(values[SESSION_FIELD_CONTENT], "job.content", &spec->input, fault);
    spec->mode = (unsigned)bits & MODE_MAX;
    spec->append = json_is_true(values[SESSION_FIELD_APPEND]);
    return r;
}

static int decode_read(const json_t *const values[], struct session_spec *spec, struct fault *fault)
{
    int r = refuse_fields(values, SESSION_FIELD_STDIN, SESSION_FIELD_CWD, "argv", fault);
    spec->act = SESSION_READ;
    if (r == 0)
        r = refuse_fields(values, SESSION_FIELD_CONTENT, SESSION_FIELD_APPEND, "write", fault);
    return r < 0 ? r : decode_path(values[SESSION_FIELD_READ], "job.read", &spec->path, fault);
}

static int decode_session(const json_t *const values[], const struct request_policy *policy,
                          const struct json_places *places, struct job_spec *job,
                          struct fault *fault)
{
    (void)policy;
    (void)places;
    struct session_spec *spec = &job->session;
    const json_t *argv = values[SESSION_FIELD_ARGV], *write = values[SESSION_FIELD_WRITE];
    const json_t *read = values[SESSION_FIELD_READ];
    int r =
        session_decode_number(values[SESSION_FIELD_SESSION], "job.session", &spec->number, fault);
    if (r < 0)
        return r;
    job->streams = true;
    if (!!argv + !!write + !!read != 1)
        return fault_set(fault, "job: expected exactly one of argv, write and read");
    r = argv    ? decode_exec(values, spec, fault)
        : write ? decode_write(values, spec, fault)
                : decode_read(values, spec, fault);
    return r == 0 && !spec->input.data ? bytes_copy("", 0, &spec->input) : r;
}

/* A command sets its times and its output. The rest holds for all that lives in the session. */
static int decode_limit(const char *key, const json_t *value, const struct request_policy *policy,
                        struct job_spec *spec, struct fault *fault)
{
    enum limit limit = limit_from_key(key);
    char path[FIELD_PATH_MAX];
    (void)value;
    (void)policy;
    if (limit == LIMIT_WALL_CLOCK || limit == LIMIT_CPU || limit == LIMIT_OUTPUT) {
        spec->session.limits_given |= 1u << limit;
        return LIMIT_COMMON;
    }
    if (limit == LIMIT_NONE)
        return LIMIT_COMMON;
    field_path(path, "job.limits", key);
    return fault_set(fault, "%s: holds for the whole session: session_open sets it", path);
}

extern const struct job_kind job_kind_session;
const struct job_kind job_kind_session = {
    .name = "session",
    .summary = "one command in a session, which keeps files and processes from one to the next",
    .fields = session_fields,
    .field_count = SESSION_FIELDS,
    .defaults = {{
        [LIMIT_WALL_CLOCK] = 120 * LIMIT_SECOND,
        [LIMIT_CPU] = 60 * LIMIT_SECOND,
        [LIMIT_MEMORY] = LIMIT_GIB,
        [LIMIT_OPEN_FILES] = 256,
        [LIMIT_PROCESSES] = 64,
        [LIMIT_OUTPUT] = 10 * LIMIT_MIB,
        [LIMIT_DISK] = 256 * LIMIT_MIB,
    }},
    .decode_limit = decode_limit,
    .decode = decode_session,
    .size = measure,
    .deinit = free_spec,
};
