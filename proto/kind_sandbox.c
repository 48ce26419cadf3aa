/* SPDX-License-Identifier: MIT */
/* Requests of kind `sandbox`: a program, a snippet or the code in a generation. */
#include "kind_sandbox.h"
#include "jobfiles.h"
#include "terminal.h"

#include <string.h>

static const struct {
    const char *name;
    const char *file;
} runners[] = {
    [SANDBOX_SHELL] = {"shell", ".snippet.sh"},
    [SANDBOX_PYTHON] = {"python", ".snippet.py"},
};

const char *sandbox_runner_file(enum sandbox_runner runner)
{
    return runners[runner].file;
}

/* --- ownership ---------------------------------------------------------------------------- */

static void free_strings(char **strings)
{
    for (char **item = strings; item && *item; item++)
        free(*item);
    free(strings);
}

static void free_spec(struct job_spec *job)
{
    struct sandbox_spec *spec = &job->sandbox;
    free_strings(spec->argv);
    free_strings(spec->env);
    free_strings(spec->readable);
    free_strings(spec->collect);
    for (size_t i = 0; i < spec->step_count; i++) {
        free_strings(spec->steps[i].argv);
        bytes_deinit(&spec->steps[i].input);
    }
    free(spec->steps);
    bytes_deinit(&spec->text);
    bytes_deinit(&spec->input);
    free(spec->terminal.name);
    job_files_free(spec->files, spec->file_count);
}

static size_t measure(const struct job_spec *job)
{
    const struct sandbox_spec *spec = &job->sandbox;
    size_t size = bytes_memory(&spec->text) + bytes_memory(&spec->input) +
                  texts_memory(spec->argv) + texts_memory(spec->env) +
                  texts_memory(spec->readable) + texts_memory(spec->collect) +
                  text_memory(spec->terminal.name);
    for (size_t i = 0; i < spec->step_count; i++)
        size += sizeof(spec->steps[i]) + texts_memory(spec->steps[i].argv) +
                bytes_memory(&spec->steps[i].input);
    return size + job_files_size(spec->files, spec->file_count);
}

/* --- the program -------------------------------------------------------------------------- */

int sandbox_decode_argv(const json_t *array, const char *path, char ***ret, struct fault *fault)
{
    size_t n = json_array_size(array);
    if (n == 0 || n > SANDBOX_ARGV_MAX)
        return fault_set(fault, "%s: expected 1 to %d strings, got %zu", path, SANDBOX_ARGV_MAX, n);
    int r = job_decode_strings(array, path, ret, fault);
    if (r < 0)
        return r;
    const char *program = json_string_value(json_array_get(array, 0));
    if (program[0] != '/')
        return fault_set(fault, "%s[0]: \"%.*s\" is not an absolute path", path, SHOWN(program));
    return 0;
}

static int decode_runner(const json_t *value, enum sandbox_runner *ret, struct fault *fault)
{
    for (size_t i = 0; i < ARRAY_SIZE(runners); i++) {
        if (strcmp(json_string_value(value), runners[i].name) == 0) {
            *ret = (enum sandbox_runner)i;
            return 0;
        }
    }
    return fault_set(fault, "job.runner: unknown runner \"%.*s\"; there are shell and python",
                     SHOWN(json_string_value(value)));
}

static int decode_program(const json_t *argv, const json_t *snippet, const json_t *generation,
                          const json_t *runner, struct sandbox_spec *spec, struct fault *fault)
{
    if (argv && runner)
        return fault_set(fault, "job.runner: argv has no use for it; it goes with snippet and "
                                "generation");
    if (argv) {
        spec->program = SANDBOX_ARGV;
        return sandbox_decode_argv(argv, "job.argv", &spec->argv, fault);
    }
    spec->program = snippet ? SANDBOX_SNIPPET : SANDBOX_GENERATION;
    int r = runner ? decode_runner(runner, &spec->runner, fault) : 0;
    return r < 0 ? r : job_copy_string(snippet ? snippet : generation, &spec->text);
}

/* --- env ---------------------------------------------------------------------------------- */

static bool is_allowed_variable(const char *name, const struct request_policy *policy)
{
    for (size_t i = 0; i < policy->env_name_count; i++)
        if (strcmp(name, policy->env_names[i]) == 0)
            return true;
    return false;
}

static int decode_variable(const char *name, const json_t *value,
                           const struct request_policy *policy, char **ret, struct fault *fault)
{
    char path[FIELD_PATH_MAX];
    field_path(path, "job.env", name);
    if (!is_allowed_variable(name, policy)) {
        (void)fault_set(fault,
                        "%s: the configuration does not allow this variable (env_names of "
                        "[sandbox])",
                        path);
        return -EPERM;
    }
    int r = field_check_type(value, FIELD_TEXT, path, fault);
    if (r < 0)
        return r;
    return asprintf(ret, "%s=%s", name, json_string_value(value)) < 0 ? -ENOMEM : 0;
}

static int decode_env(const json_t *object, const struct request_policy *policy,
                      struct sandbox_spec *spec, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    size_t n = 0;
    spec->env = calloc(json_object_size(object) + 1, sizeof(*spec->env));
    if (!spec->env)
        return -ENOMEM;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        char *entry = NULL;
        int r = decode_variable(json_object_iter_key(i), json_object_iter_value(i), policy, &entry,
                                fault);
        if (r < 0)
            return r;
        spec->env[n++] = entry;
    }
    return 0;
}

static int check_strings(const struct sandbox_spec *spec, struct fault *fault)
{
    size_t length = texts_length(spec->argv);
    for (size_t i = 0; i < spec->step_count; i++)
        length = MAX(length, texts_length(spec->steps[i].argv));
    length += texts_length(spec->env) + texts_length(spec->collect) +
              (spec->terminal.name ? strlen(spec->terminal.name) + sizeof("TERM=") : 0);
    if (length > SANDBOX_STRINGS_MAX)
        return fault_set(fault, "job: argv%s%s take %zu bytes, more than %u",
                         spec->collect ? ", env and collect" : " and env",
                         spec->step_count > 0 ? " of a step" : "", length, SANDBOX_STRINGS_MAX);
    return 0;
}

/* --- files -------------------------------------------------------------------------------- */

static int check_disk(const struct sandbox_spec *spec, uint64_t limit, struct fault *fault)
{
    size_t bytes = WHOLE_PAGES(spec->text.length) + job_files_disk(spec->files, spec->file_count);
    if (bytes > WHOLE_PAGES(limit))
        return fault_set(fault,
                         "job.%s: %zu bytes of disk, in whole pages; the limit disk_bytes is %zu",
                         spec->file_count > 0               ? "files"
                         : spec->program == SANDBOX_SNIPPET ? "snippet"
                                                            : "generation",
                         bytes, (size_t)limit);
    return 0;
}

/* Refuses a file where the snippet itself goes. */
static int check_snippet(const struct sandbox_spec *spec, struct fault *fault)
{
    for (size_t i = 0; i < spec->file_count; i++) {
        char path[FIELD_PATH_MAX];
        field_path(path, "job.files", spec->files[i].name);
        if (job_file_lies_in(spec->files[i].name, runners[spec->runner].file))
            return fault_set(fault, "%s: the snippet itself stands there", path);
    }
    return 0;
}

static int decode_files(const json_t *object, struct sandbox_spec *spec, struct fault *fault)
{
    int r = job_decode_files(object, "job.files", &spec->files, &spec->file_count, fault);
    bool has_snippet = spec->program == SANDBOX_SNIPPET || spec->program == SANDBOX_GENERATION;
    return r == 0 && has_snippet ? check_snippet(spec, fault) : r;
}

/* --- readable ----------------------------------------------------------------------------- */

static bool is_absolute_path(const char *path)
{
    if (path[0] != '/' || strlen(path) > SANDBOX_PATH_MAX)
        return false;
    for (const char *part = path; *part; part += strcspn(part, "/")) {
        part += strspn(part, "/");
        size_t n = strcspn(part, "/");
        if ((n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return false;
    }
    return true;
}

static int decode_readable(const json_t *array, struct sandbox_spec *spec, struct fault *fault)
{
    size_t n = json_array_size(array);
    if (n > SANDBOX_READABLE_MAX)
        return fault_set(fault, "job.readable: %zu paths, more than %d", n, SANDBOX_READABLE_MAX);
    int r = job_decode_strings(array, "job.readable", &spec->readable, fault);
    for (size_t i = 0; r == 0 && i < n; i++)
        if (!is_absolute_path(json_string_value(json_array_get(array, i))))
            r = fault_set(fault,
                          "job.readable[%zu]: expected an absolute path without . and .. in it, at "
                          "most %d bytes",
                          i, SANDBOX_PATH_MAX);
    return r;
}

/* --- the job ------------------------------------------------------------------------------ */

enum {
    SANDBOX_FIELD_ARGV = JOB_FIELDS_COMMON,
    SANDBOX_FIELD_SNIPPET,
    SANDBOX_FIELD_GENERATION,
    SANDBOX_FIELD_RUNNER,
    SANDBOX_FIELD_FILES,
    SANDBOX_FIELD_STDIN,
    SANDBOX_FIELD_ENV,
    SANDBOX_FIELD_READABLE,
    SANDBOX_FIELD_STEPS,
    SANDBOX_FIELD_COLLECT,
    SANDBOX_FIELD_STREAM,
    SANDBOX_FIELD_TERMINAL,
    SANDBOX_FIELDS,
};

static const struct field sandbox_fields[SANDBOX_FIELDS] = {
    JOB_FIELDS_COMMON_ENTRIES,
    [SANDBOX_FIELD_ARGV] = {"argv", FIELD_ARRAY, FIELD_NULLABLE},
    [SANDBOX_FIELD_SNIPPET] = {"snippet", FIELD_STRING, FIELD_NULLABLE},
    [SANDBOX_FIELD_GENERATION] = {"generation", FIELD_STRING, FIELD_NULLABLE},
    [SANDBOX_FIELD_RUNNER] = {"runner", FIELD_TEXT, FIELD_NULLABLE},
    [SANDBOX_FIELD_FILES] = {"files", FIELD_OBJECT, FIELD_NULLABLE},
    [SANDBOX_FIELD_STDIN] = {"stdin", FIELD_ANY, FIELD_NULLABLE},
    [SANDBOX_FIELD_ENV] = {"env", FIELD_OBJECT, FIELD_NULLABLE},
    [SANDBOX_FIELD_READABLE] = {"readable", FIELD_ARRAY, FIELD_NULLABLE},
    [SANDBOX_FIELD_STEPS] = {"steps", FIELD_ARRAY, FIELD_NULLABLE},
    [SANDBOX_FIELD_COLLECT] = {"collect", FIELD_ARRAY, FIELD_NULLABLE},
    [SANDBOX_FIELD_STREAM] = {"stream", FIELD_BOOLEAN, FIELD_NULLABLE},
    [SANDBOX_FIELD_TERMINAL] = {"terminal", FIELD_OBJECT, FIELD_NULLABLE},
};
_Static_assert(SANDBOX_FIELDS <= JOB_FIELDS_MAX, "JOB_FIELDS_MAX");

static int decode_programs(const json_t *const values[], const struct request_policy *policy,
                           struct job_spec *spec, struct fault *fault)
{
    const json_t *argv = values[SANDBOX_FIELD_ARGV], *snippet = values[SANDBOX_FIELD_SNIPPET];
    const json_t *generation = values[SANDBOX_FIELD_GENERATION];
    const json_t *steps = values[SANDBOX_FIELD_STEPS], *runner = values[SANDBOX_FIELD_RUNNER];
    if (!!argv + !!snippet + !!generation + !!steps != 1)
        return fault_set(fault, "job: expected exactly one of argv, snippet, generation and steps");
    if (!steps)
        return decode_program(argv, snippet, generation, runner, &spec->sandbox, fault);
    if (runner)
        return fault_set(fault, "job.runner: steps have no use for it; it goes with snippet and "
                                "generation");
    if (values[SANDBOX_FIELD_STDIN])
        return fault_set(fault, "job.stdin: each of the steps has its own");
    return sandbox_decode_steps(steps, policy, spec, fault);
}

/* A terminal is all that the program reads and writes; what it shows is told, and not kept. */
static int decode_terminal(const json_t *const values[], struct job_spec *spec, struct fault *fault)
{
    const json_t *terminal = values[SANDBOX_FIELD_TERMINAL];
    if (values[SANDBOX_FIELD_STEPS])
        return fault_set(fault, "job.terminal: steps have none");
    if (values[SANDBOX_FIELD_STDIN])
        return fault_set(fault, "job.stdin: a terminal takes its place");
    if (json_is_false(values[SANDBOX_FIELD_STREAM]))
        return fault_set(fault, "job.stream: what a terminal shows comes as output in any case");
    if (json_object_get(values[JOB_FIELD_LIMITS], limit_key(LIMIT_OUTPUT)))
        return fault_set(fault, "job.limits.%s: what a terminal shows does not count as output",
                         limit_key(LIMIT_OUTPUT));
    spec->streams = true;
    return terminal_decode(terminal, "job.terminal", &spec->sandbox.terminal, fault);
}

static int decode_sandbox(const json_t *const values[], const struct request_policy *policy,
                          const struct json_places *places, struct job_spec *spec,
                          struct fault *fault)
{
    (void)places;
    struct sandbox_spec *sandbox = &spec->sandbox;
    spec->streams = json_is_true(values[SANDBOX_FIELD_STREAM]);
    int r = decode_programs(values, policy, spec, fault);
    if (r == 0 && values[SANDBOX_FIELD_FILES])
        r = decode_files(values[SANDBOX_FIELD_FILES], sandbox, fault);
    if (r == 0)
        r = check_disk(sandbox, spec->limits.of[LIMIT_DISK], fault);
    if (r == 0 && values[SANDBOX_FIELD_STDIN])
        r = job_decode_content(values[SANDBOX_FIELD_STDIN], "job.stdin", &sandbox->input, fault);
    else if (r == 0)
        r = bytes_copy("", 0, &sandbox->input);
    if (r == 0 && values[SANDBOX_FIELD_ENV])
        r = decode_env(values[SANDBOX_FIELD_ENV], policy, sandbox, fault);
    if (r == 0 && values[SANDBOX_FIELD_COLLECT])
        r = job_decode_collect(values[SANDBOX_FIELD_COLLECT], &sandbox->collect, fault);
    if (r == 0 && values[SANDBOX_FIELD_TERMINAL])
        r = decode_terminal(values, spec, fault);
    if (r == 0)
        r = check_strings(sandbox, fault);
    if (r == 0 && values[SANDBOX_FIELD_READABLE])
        r = decode_readable(values[SANDBOX_FIELD_READABLE], sandbox, fault);
    return r;
}

/* Takes `allow_network`, the only limit that is not a quantity. */
static int decode_limit(const char *key, const json_t *value, const struct request_policy *policy,
                        struct job_spec *spec, struct fault *fault)
{
    if (strcmp(key, "allow_network") != 0)
        return LIMIT_COMMON;
    int r = field_check_type(value, FIELD_BOOLEAN, "job.limits.allow_network", fault);
    if (r < 0)
        return r;
    if (json_is_true(value) && !policy->allow_network) {
        (void)fault_set(fault, "job.limits.allow_network: the configuration does not allow it "
                               "(allow_network of [sandbox])");
        return -EPERM;
    }
    spec->network = json_is_true(value);
    return 0;
}

extern const struct job_kind job_kind_sandbox;
const struct job_kind job_kind_sandbox = {
    .name = "sandbox",
    .summary = "any program, which passes if it exits with 0",
    .fields = sandbox_fields,
    .field_count = SANDBOX_FIELDS,
    .defaults = LIMITS_DEFAULT(120 * LIMIT_SECOND, 60 * LIMIT_SECOND),
    .decode_limit = decode_limit,
    .decode = decode_sandbox,
    .size = measure,
    .deinit = free_spec,
};
