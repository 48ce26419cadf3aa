/* SPDX-License-Identifier: MIT */
#include "sandboxjob.h"
#include "sandbox_tty.h"

#include "client/cli/files.h"
#include "client/cli/limits.h"
#include "proto/jobspec.h"
#include "proto/request.h"

#include <fts.h>
#include <string.h>
#include <sys/stat.h>

/* No daemon accepts a larger frame. */
#define CONTENT_MAX ((size_t)64 << 20)

/* Takes VALUE, which may be NULL for lack of memory. */
static int put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) < 0 ? -ENOMEM : 0;
}

/* Makes a JSON string of TEXT; a complaint names its origin, WHAT. */
static int text_json(const char *text, const char *what, json_t **ret, struct fault *fault)
{
    *ret = json_string(text);
    return *ret ? 0 : fault_set(fault, "%s: \"%s\" is not UTF-8", what, text);
}

static int put_text(json_t *object, const char *name, const char *text, const char *what,
                    struct fault *fault)
{
    json_t *value;
    int r = text_json(text, what, &value, fault);
    return r < 0 ? r : put(object, name, value);
}

/* Makes {"text": ...} or {"base64": ...}. */
static json_t *content_json(const struct bytes *content)
{
    json_t *value = file_content(content);
    return json_is_string(value) ? json_pack("{s:o}", "text", value) : value;
}

/* --- the program -------------------------------------------------------------------------- */

/* Finds NAME as the fixed PATH of every job would. 0 or -ENOENT. */
static int look_up(const char *name, char *path, size_t size)
{
    static const char *const directories[] = {"/usr/bin", "/bin"};
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
        struct stat st;
        int n = snprintf(path, size, "%s/%s", directories[i], name);
        if (n > 0 && (size_t)n < size && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            access(path, X_OK) == 0)
            return 0;
    }
    return -ENOENT;
}

/* Appends the words that start PROGRAM: its path, preceded by /usr/bin/env if that is relative. A
 * job must name an absolute path; env starts a relative one from the job's working directory. */
static int put_program(json_t *argv, const char *program, struct fault *fault)
{
    char path[4096];
    json_t *word;
    if (!strchr(program, '/')) {
        if (look_up(program, path, sizeof(path)) < 0)
            return fault_set(fault,
                             "sandbox: there is no \"%s\" in /usr/bin or /bin, where a job looks "
                             "for it; give a path (./%s is in the job's working directory)",
                             program, program);
        program = path;
    } else if (program[0] != '/') {
        if (strchr(program, '='))
            return fault_set(
                fault,
                "sandbox: the path \"%s\" must be absolute because it contains a =", program);
        if (json_array_append_new(argv, json_string("/usr/bin/env")) < 0)
            return -ENOMEM;
    }
    int r = text_json(program, "sandbox", &word, fault);
    if (r == 0 && json_array_append_new(argv, word) < 0)
        return -ENOMEM;
    return r;
}

static int put_argv(json_t *job, const struct text_list *command, struct fault *fault)
{
    json_t *argv = json_array();
    int r = put(job, "argv", argv);
    if (r == 0)
        r = put_program(argv, command->items[0], fault);
    for (size_t i = 1; r == 0 && i < command->n; i++) {
        json_t *word;
        r = text_json(command->items[i], "sandbox", &word, fault);
        if (r == 0 && json_array_append_new(argv, word) < 0)
            return -ENOMEM;
    }
    return r;
}

static int put_snippet(json_t *job, const struct sandbox_options *options, struct fault *fault)
{
    int r = put_text(job, "snippet", options->snippet, "--snippet", fault);
    if (r == 0 && options->runner)
        r = put_text(job, "runner", options->runner, "--runner", fault);
    return r;
}

static int check_options(const struct sandbox_options *options, const struct text_list *command,
                         struct fault *fault)
{
    if (options->snippet && command->n > 0)
        return fault_set(fault, "sandbox: give either a COMMAND or --snippet, not both");
    if (!options->snippet && command->n == 0)
        return fault_set(fault, "sandbox: COMMAND is missing; see rubricctl sandbox --help");
    if (options->runner && !options->snippet)
        return fault_set(fault, "--runner: goes only with --snippet");
    if (options->tty && options->json)
        return fault_set(fault, "--tty: does not go with --json: what a terminal shows is in no "
                                "answer");
    return collect_check(&options->collect, options->json, fault);
}

/* --- its surroundings ------------------------------------------------------------------------ */

static bool is_executable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (st.st_mode & S_IXUSR);
}

/* Adds the file at PATH under NAME. */
static int put_file_as(json_t *files, const char *name, const char *path, struct fault *fault)
{
    _cleanup_bytes_ struct bytes content = BYTES_NULL;
    _cleanup_json_ json_t *file = NULL, *checked = NULL;
    struct fault why = FAULT_NULL;
    int r = text_json(name, "--file", &checked, fault);
    if (r < 0)
        return r;
    if (json_object_get(files, name))
        return fault_set(fault, "--file: \"%s\" is given twice", name);
    r = file_read_all(path, CONTENT_MAX, &content, &why);
    if (r < 0) {
        (void)fault_set(fault, "--file: %s", why.text);
        return r;
    }
    file = content_json(&content);
    if (!file || (is_executable(path) && put(file, "mode", json_string("0755")) < 0))
        return -ENOMEM;
    return json_object_set(files, name, file) < 0 ? -ENOMEM : 0;
}

/* Adds what fts_read() found in the directory that gets NAME, or no name of its own if that is
 * empty. */
static int put_entry(json_t *files, const char *name, const char *top, const FTSENT *entry,
                     struct fault *fault)
{
    _cleanup_free_ char *full = NULL;
    switch (entry->fts_info) {
    case FTS_D:
    case FTS_DP:
        return 0;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        return fault_set(fault, "--file: %s: %s", entry->fts_path, strerror(entry->fts_errno));
    case FTS_DC:
        return fault_set(fault, "--file: %s: a link to a directory that holds it", entry->fts_path);
    case FTS_SLNONE:
        return fault_set(fault, "--file: %s: a link to nothing", entry->fts_path);
    case FTS_F:
        break;
    default:
        return fault_set(fault, "--file: %s: neither a file nor a directory", entry->fts_path);
    }
    if (json_object_size(files) >= SANDBOX_FILES_MAX)
        return fault_set(fault, "--file: %s holds more files than a job may have (%d)", top,
                         SANDBOX_FILES_MAX);
    const char *below = entry->fts_path + strlen(top);
    while (*below == '/')
        below++;
    if (asprintf(&full, "%s%s%s", name, *name ? "/" : "", below) < 0) {
        full = NULL; /* undefined after a failure */
        return -ENOMEM;
    }
    return put_file_as(files, full, entry->fts_path, fault);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Adds all files of the directory at PATH. Links are followed: a job's files can be none. */
static int put_directory(json_t *files, const char *name, char *path, struct fault *fault)
{
    char *const roots[] = {path, NULL};
    FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    if (!walk)
        return -errno;
    int r = 0;
    FTSENT *entry;
    while (r == 0 && (errno = 0, entry = fts_read(walk)))
        r = put_entry(files, name, path, entry, fault);
    if (r == 0 && errno != 0)
        r = -errno;
    (void)fts_close(walk);
    return r;
}

static void drop_slashes(char *path)
{
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
}

/* TEXT is "NAME=PATH", or "NAME" for a file or directory of that path. */
static int put_file(json_t *files, const char *text, struct fault *fault)
{
    const char *equals = strchr(text, '=');
    _cleanup_free_ char *name = equals ? strndup(text, (size_t)(equals - text)) : strdup(text);
    _cleanup_free_ char *path = strdup(equals ? equals + 1 : text);
    struct stat st;
    if (!name || !path)
        return -ENOMEM;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return put_file_as(files, name, path, fault);
    drop_slashes(name);
    drop_slashes(path);
    return put_directory(files, strcmp(name, ".") == 0 ? "" : name, path, fault);
}

/* TEXT is "NAME=VALUE", or "NAME" for the value of this process. */
static int put_variable(json_t *env, const char *text, struct fault *fault)
{
    const char *equals = strchr(text, '=');
    _cleanup_free_ char *name = equals ? strndup(text, (size_t)(equals - text)) : strdup(text);
    _cleanup_json_ json_t *checked = NULL;
    if (!name)
        return -ENOMEM;
    const char *value = equals ? equals + 1 : getenv(name);
    int r = text_json(name, "--env", &checked, fault);
    if (r < 0)
        return r;
    if (!value)
        return fault_set(fault, "--env: %s is not set here; give %s=VALUE", name, name);
    return put_text(env, name, value, "--env", fault);
}

static int put_each(json_t *job, const char *field, const struct text_list *list,
                    int (*put_one)(json_t *object, const char *text, struct fault *fault),
                    struct fault *fault)
{
    if (list->n == 0)
        return 0;
    json_t *object = json_object();
    int r = put(job, field, object);
    for (size_t i = 0; r == 0 && i < list->n; i++)
        r = put_one(object, list->items[i], fault);
    return r;
}

static int put_readable(json_t *job, const struct text_list *list, struct fault *fault)
{
    if (list->n == 0)
        return 0;
    json_t *array = json_array();
    int r = put(job, "readable", array);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        json_t *path;
        _cleanup_free_ char *absolute = realpath(list->items[i], NULL);
        if (!absolute)
            return fault_set(fault, "--readable: %s: %s", list->items[i], strerror(errno));
        r = text_json(absolute, "--readable", &path, fault);
        if (r == 0 && json_array_append_new(array, path) < 0)
            r = -ENOMEM;
    }
    return r;
}

static int put_stdin(json_t *job, struct fault *fault)
{
    _cleanup_bytes_ struct bytes content = BYTES_NULL;
    if (isatty(STDIN_FILENO))
        return 0;
    int r = file_read_all("-", CONTENT_MAX, &content, fault);
    if (r < 0 || content.length == 0)
        return r;
    return put(job, "stdin", file_content(&content));
}

static int put_limits(json_t *job, const struct sandbox_options *options, struct fault *fault)
{
    int r = limits_add(job, &options->limits, fault);
    if (r < 0 || !options->network)
        return r;
    json_t *limits = json_object_get(job, "limits");
    if (!limits && (r = put(job, "limits", json_object())) < 0)
        return r;
    return put(json_object_get(job, "limits"), "allow_network", json_true());
}

int sandbox_job(const struct sandbox_options *options, const struct text_list *command,
                json_t **ret, struct fault *fault)
{
    int r = check_options(options, command, fault);
    if (r < 0)
        return r;
    _cleanup_json_ json_t *job = json_pack("{s:s}", "kind", job_kind_name(JOB_SANDBOX));
    if (!job)
        return -ENOMEM;
    r = options->snippet ? put_snippet(job, options, fault) : put_argv(job, command, fault);
    if (r == 0)
        r = put_limits(job, options, fault);
    if (r == 0)
        r = put_each(job, "files", &options->files, put_file, fault);
    if (r == 0)
        r = put_each(job, "env", &options->env, put_variable, fault);
    if (r == 0)
        r = put_readable(job, &options->readable, fault);
    if (r == 0)
        r = collect_put(job, &options->collect, fault);
    if (r == 0 && options->tty)
        r = sandbox_tty_ask(job, fault);
    else if (r == 0)
        r = put_stdin(job, fault); /* last, because it may block until somebody writes */
    if (r == 0)
        *ret = TAKE_PTR(job);
    return r;
}
