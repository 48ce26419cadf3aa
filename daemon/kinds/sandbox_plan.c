/* SPDX-License-Identifier: MIT */
#include "sandbox_plan.h"
#include "proto/extraction.h"

#include "daemon/pool/terminal.h"
#include "proto/shortage.h"

#include <fcntl.h>
#include <string.h>

#define SHELL "/bin/sh"
/* Only processes of the job reach the file. */
#define SNIPPET_MODE 0644

void sandbox_plan_deinit(struct sandbox_plan *plan)
{
    for (char **path = plan->readable; path && *path; path++)
        free(*path);
    free(plan->readable);
    free(plan->envp);
    free(plan->term);
    free(plan->files);
    bytes_deinit(&plan->code);
}

static int refuse(enum error_code *ret_code, enum error_code code)
{
    *ret_code = code;
    return -EINVAL;
}

/* --- environment -------------------------------------------------------------------------- */

static size_t count(const char *const *strings)
{
    size_t n = 0;
    while (strings && strings[n])
        n++;
    return n;
}

/* Tells whether both entries, NAME=VALUE, set the same variable. */
static bool same_variable(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n + 1) == 0;
}

static bool is_set_by(const char *const *entries, const char *entry)
{
    for (; entries && *entries; entries++)
        if (same_variable(*entries, entry))
            return true;
    return false;
}

/* Joins the variables of every job with the job's own, which take precedence. */
static int plan_environment(struct sandbox_plan *plan, const char *const *common,
                            const char *const *own)
{
    size_t n = 0;
    plan->envp = calloc(count(common) + count(own) + 2, sizeof(*plan->envp));
    if (!plan->envp)
        return -ENOMEM;
    for (; *common; common++)
        if (!is_set_by(own, *common))
            plan->envp[n++] = *common;
    if (plan->term && !is_set_by(own, plan->term))
        plan->envp[n++] = plan->term;
    for (; own && *own; own++)
        plan->envp[n++] = *own;
    plan->launch.envp = plan->envp;
    return 0;
}

/* --- the terminal ------------------------------------------------------------------------- */

static int plan_terminal(struct sandbox_plan *plan, const struct job_terminal *terminal,
                         enum error_code *ret_code, struct fault *fault)
{
    if (!terminal->is_wanted)
        return 0;
    int r = terminal_check();
    if (r < 0) {
        fault_set(fault, "job.terminal: the daemon can open none: /dev/ptmx: %s", strerror(-r));
        return refuse(ret_code, ERROR_SANDBOX_FAILED);
    }
    if (terminal->name && asprintf(&plan->term, "TERM=%s", terminal->name) < 0) {
        plan->term = NULL; /* undefined after a failure */
        return -ENOMEM;
    }
    plan->launch.terminal = (struct launch_terminal){
        .is_wanted = true,
        .rows = terminal->size.rows,
        .columns = terminal->size.columns,
    };
    return 0;
}

/* --- files and program -------------------------------------------------------------------- */

static int plan_files(struct sandbox_plan *plan, const struct sandbox_spec *sandbox)
{
    plan->files = calloc(sandbox->file_count + 1, sizeof(*plan->files));
    if (!plan->files)
        return -ENOMEM;
    for (size_t i = 0; i < sandbox->file_count; i++)
        plan->files[i] = (struct launch_file){
            .name = sandbox->files[i].name,
            .mode = sandbox->files[i].mode,
            .content = &sandbox->files[i].content,
        };
    plan->launch.files = plan->files;
    plan->launch.file_count = sandbox->file_count;
    return 0;
}

/* Puts the snippet into a file: it may be longer than an argument may be, stdin belongs to the job,
 * and the interpreter's messages then name a file and a line. */
static void plan_snippet(struct sandbox_plan *plan, const struct sandbox_spec *sandbox,
                         const struct bytes *code, const struct kind_host *host)
{
    const char *file = sandbox_runner_file(sandbox->runner);
    const char **argv = plan->argv;
    switch (sandbox->runner) {
    case SANDBOX_SHELL:
        *argv++ = SHELL;
        break;
    case SANDBOX_PYTHON: /* as for a rubric: no packages from the home, no __pycache__ */
        *argv++ = host->interpreter;
        *argv++ = "-s";
        *argv++ = "-B";
        break;
    }
    *argv++ = file;
    *argv = NULL;
    plan->files[plan->launch.file_count++] = (struct launch_file){
        .name = file,
        .mode = SNIPPET_MODE,
        .content = code,
    };
    plan->launch.argv = plan->argv;
}

static int plan_program(struct sandbox_plan *plan, const struct sandbox_spec *sandbox,
                        const struct kind_host *host)
{
    const char *const *tags;
    bool found;
    int r;
    switch (sandbox->program) {
    case SANDBOX_ARGV:
        plan->launch.argv = (const char *const *)sandbox->argv;
        return 0;
    case SANDBOX_SNIPPET:
        plan_snippet(plan, sandbox, &sandbox->text, host);
        return 0;
    case SANDBOX_GENERATION:
        tags = sandbox->runner == SANDBOX_PYTHON ? extraction_python_tags : extraction_shell_tags;
        r = extraction_find(sandbox->text.data, sandbox->text.length, tags, &plan->code, &found);
        if (r < 0)
            return r;
        if (found)
            plan_snippet(plan, sandbox, &plan->code, host);
        plan->no_code = !found;
        return 0;
    case SANDBOX_STEPS: /* each plans its own */
        return 0;
    }
    return -EINVAL;
}

/* --- readable ----------------------------------------------------------------------------- */

static int find_readable(const char *path, size_t i, const struct kind_host *host, char **ret,
                         enum error_code *ret_code, struct fault *fault)
{
    const struct roots *roots = &host->readable_roots;
    _cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
    int error = fd < 0 ? errno : 0;
    _cleanup_free_ char *canonical = fd < 0 ? NULL : roots_path_of(fd);
    if (fd >= 0 && !canonical)
        error = errno;
    /* Do not tell the client whether a path outside the roots exists. */
    const char *judged = fd < 0 ? path : canonical;
    int allowed = judged ? roots_allow(roots, judged) : 0;
    if (allowed < 0)
        error = -allowed;
    if (is_shortage(error)) {
        fault_set(fault, "job.readable[%zu]: %.200s: %s", i, path, strerror(error));
        return refuse(ret_code, ERROR_INTERNAL);
    }
    if (!allowed) {
        fault_set(fault, "job.readable[%zu]: %.200s is under no root that the configuration allows",
                  i, path);
        return refuse(ret_code, ERROR_NOT_PERMITTED);
    }
    if (fd < 0) {
        fault_set(fault, "job.readable[%zu]: %.200s: %s", i, path, strerror(error));
        return refuse(ret_code, error == EACCES ? ERROR_NOT_PERMITTED : ERROR_BAD_REQUEST);
    }
    const char *cover = host->has_view ? roots_covered(canonical) : NULL;
    if (cover && strcmp(cover, canonical) != 0) {
        fault_set(fault,
                  "job.readable[%zu]: %.200s: jobs have a %s of their own, which hides it; move "
                  "it, or bind-mount it elsewhere",
                  i, path, cover);
        return refuse(ret_code, ERROR_NOT_PERMITTED);
    }
    *ret = TAKE_PTR(canonical);
    return 0;
}

static int plan_readable(struct sandbox_plan *plan, const struct sandbox_spec *sandbox,
                         const struct kind_host *host, enum error_code *ret_code,
                         struct fault *fault)
{
    size_t n = count((const char *const *)sandbox->readable);
    if (n == 0)
        return 0;
    plan->readable = calloc(n + 1, sizeof(*plan->readable));
    if (!plan->readable)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int r = find_readable(sandbox->readable[i], i, host, &plan->readable[i], ret_code, fault);
        if (r < 0)
            return r;
    }
    plan->launch.readable = (const char *const *)plan->readable;
    return 0;
}

int sandbox_plan_init(struct sandbox_plan *plan, const struct job_spec *job,
                      const struct kind_host *host, enum error_code *ret_code, struct fault *fault)
{
    const struct sandbox_spec *sandbox = &job->sandbox;
    *plan = (struct sandbox_plan){
        .launch =
            {
                .limits = job->limits,
                .input = &sandbox->input,
                .network = job->network,
                .streams = job->streams,
                .collect = (const char *const *)sandbox->collect,
                .collect_max = SANDBOX_COLLECTED_MAX,
            },
    };
    int r = plan_terminal(plan, &sandbox->terminal, ret_code, fault);
    if (r == 0)
        r = plan_environment(plan, host->environment, (const char *const *)sandbox->env);
    if (r == 0)
        r = plan_files(plan, sandbox);
    if (r == 0)
        r = plan_program(plan, sandbox, host);
    if (r == 0)
        r = plan_readable(plan, sandbox, host, ret_code, fault);
    if (r == -ENOMEM) {
        fault_set(fault, "out of memory");
        *ret_code = ERROR_INTERNAL;
    }
    return r;
}
