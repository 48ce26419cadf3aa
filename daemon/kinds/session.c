/* SPDX-License-Identifier: MIT */
/* The commands of a session. A command has no score: it tells how its program ended, and has told
 * what that wrote as it came. */
#include "kind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* What a shell says of a program that it cannot find, or find but not execute. */
#define EXIT_NOT_FOUND 127
#define EXIT_NOT_EXECUTABLE 126

static const char *label(const struct job_spec *spec)
{
    const struct session_spec *session = &spec->session;
    return session->act == SESSION_EXEC ? session->argv[0] : session->path;
}

/* --- the plan ----------------------------------------------------------------------------- */

struct session_plan {
    const char **envp;
    const char *argv[2]; /* of a file */
};

static void free_parts(void *parts)
{
    struct session_plan *plan = parts;
    if (plan)
        free(plan->envp);
    free(plan);
}

static size_t count(const char *const *strings)
{
    size_t n = 0;
    while (strings && strings[n])
        n++;
    return n;
}

/* Adds the N variables in ENTRIES to ENVP, which has *COUNT and room for them. A variable that is
 * there already gets the new value. */
static void add_variables(const char **envp, size_t *count_of, const char *const *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = 0, name = strcspn(entries[i], "=") + 1;
        while (at < *count_of && strncmp(envp[at], entries[i], name) != 0)
            at++;
        envp[at] = entries[i];
        *count_of += at == *count_of;
    }
}

static int plan_environment(struct session_plan *plan, const struct session_spec *spec,
                            const struct kind_host *host)
{
    const char *const *lists[] = {host->environment, (const char *const *)spec->common_env,
                                  (const char *const *)spec->env};
    size_t n = 0, used = 0;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        n += count(lists[i]);
    plan->envp = calloc(n + 1, sizeof(*plan->envp));
    if (!plan->envp)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        add_variables(plan->envp, &used, lists[i], count(lists[i]));
    return 0;
}

static int plan_command(struct kind_plan *plan, const struct job_spec *spec,
                        const struct kind_host *host, enum error_code *ret_code,
                        struct fault *fault)
{
    static const enum launch_act acts[] = {
        [SESSION_EXEC] = LAUNCH_EXEC,
        [SESSION_WRITE] = LAUNCH_WRITE,
        [SESSION_READ] = LAUNCH_READ,
    };
    const struct session_spec *session = &spec->session;
    struct session_plan *parts = calloc(1, sizeof(*parts));
    plan->parts = parts;
    plan->free_parts = free_parts;
    if (!parts || plan_environment(parts, session, host) < 0) {
        fault_set(fault, "out of memory");
        *ret_code = ERROR_INTERNAL;
        return -ENOMEM;
    }
    parts->argv[0] = session->path;
    plan->launch = (struct launch){
        .act = acts[session->act],
        .argv = session->act == SESSION_EXEC ? (const char *const *)session->argv : parts->argv,
        .envp = parts->envp,
        .cwd = session->cwd,
        .limits = spec->limits,
        .input = &session->input,
        .file_mode = session->mode,
        .appends = session->append,
        .streams = spec->streams,
        /* A file that is read is no output of a program. */
        .free_output = session->act == SESSION_READ ? SESSION_FILE_BYTES_MAX : 0,
    };
    return 0;
}

/* --- the end ------------------------------------------------------------------------------ */

/* Takes the place of what OUTCOME says of the end: the program has exited with EXIT_CODE, for the
 * reason ERROR. */
static int say(struct outcome *outcome, int exit_code, int error)
{
    char *summary = strdup(strerror(error));
    if (!summary)
        return -ENOMEM;
    free(outcome->summary);
    outcome->summary = summary;
    outcome->exit_code = exit_code;
    outcome->signal = 0;
    return 0;
}

static int judge(const struct kind_run *run, struct judgement *ret)
{
    const struct slot_result *result = run->result;
    struct outcome *outcome = run->outcome;
    bool is_file = run->spec->session.act != SESSION_EXEC;
    int error = 0, exit_code = outcome->exit_code;
    ret->reason = "command";
    if (result->end == SLOT_END_NOT_STARTED) {
        error = result->error;
        exit_code = error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
        outcome->limit = LIMIT_NONE;
    } else if (is_file && exit_code > 0) {
        error = exit_code;
    }
    if (error == 0)
        return 0;
    ret->errno_name = strerrorname_np(error);
    return say(outcome, exit_code, error);
}

/* What a shell would have said of it is an outcome. */
static bool made_program(const void *kept)
{
    (void)kept;
    return true;
}

static void drop_input(struct job_spec *spec)
{
    bytes_deinit(&spec->session.input);
}

extern const struct kind_ops session_ops;
const struct kind_ops session_ops = {
    .label = label,
    .plan = plan_command,
    .made_program = made_program,
    .drop_input = drop_input,
    .judge = judge,
};
