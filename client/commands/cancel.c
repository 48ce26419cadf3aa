/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/connection/connect.h"
#include "client/terminal/text.h"

#include <string.h>

static int parse_job_no(const char *text, long long *ret)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value <= 0) {
        complain("cancel: \"%s\" is not a job number; rubricctl status shows them", text);
        return -EINVAL;
    }
    *ret = value;
    return 0;
}

/* The answer to a cancel is an `error` in either case; the code tells which. */
static enum exit_status cancel_job(struct session *session, long long job_no)
{
    _cleanup_message_ struct message answer = MESSAGE_NULL;
    struct fault fault = FAULT_NULL;
    char request[64];
    (void)snprintf(request, sizeof(request), "{\"type\":\"cancel\",\"job_no\":%lld}", job_no);

    int r = session_ask(session, request, MESSAGE_ERROR, monotonic_ms() + SESSION_ANSWER_MS,
                        &answer, &fault);
    if (r < 0) {
        complain("job %lld: %s", job_no, fault.text);
        return STATUS_NO_DAEMON;
    }
    const char *code = message_text(&answer, "code");
    if (strcmp(code, "cancelled") != 0) {
        complain("job %lld: %s: %s", job_no, code, message_text(&answer, "message"));
        return STATUS_ERRORS;
    }
    (void)printf("job %lld cancelled\n", job_no);
    return STATUS_OK;
}

static enum exit_status run_cancel(const struct globals *globals, const void *options,
                                   const struct text_list *arguments)
{
    (void)options;
    long long job_no;
    for (size_t i = 0; i < arguments->n; i++)
        if (parse_job_no(arguments->items[i], &job_no) < 0)
            return STATUS_USAGE;
    if (globals->embedded) {
        complain("cancel: --embedded makes no sense: a private daemon has no jobs but its own");
        return STATUS_USAGE;
    }

    _cleanup_session_ struct session session = SESSION_NULL;
    if (connect_session(globals, CONNECT_ONLY, &session) < 0)
        return STATUS_NO_DAEMON;
    struct ending ending = {.errors = false};
    for (size_t i = 0; i < arguments->n && !ending.lost; i++) {
        if (parse_job_no(arguments->items[i], &job_no) < 0)
            return STATUS_USAGE;
        enum exit_status status = cancel_job(&session, job_no);
        ending.lost |= status == STATUS_NO_DAEMON;
        ending.errors |= status == STATUS_ERRORS;
    }
    return ending_status(&ending, globals->no_fail);
}

const struct command command_cancel = {
    .name = "cancel",
    .arguments = "JOB_NO...",
    .argument_value = VALUE_JOB,
    .arguments_min = 1,
    .arguments_max = -1,
    .brief = "end jobs by their number",
    .description =
        "Cancels each job, queued or running, whoever submitted it; rubricctl status\n"
        "shows the numbers. Its owner gets the error `cancelled` for it. Other people's\n"
        "jobs can be cancelled by root, the daemon's own user, and an admin group.\n",
    .examples = "  rubricctl cancel 1201\n"
                "  rubricctl status --json | jq '.slots[].job.job_no // empty' | \\\n"
                "      xargs rubricctl cancel\n",
    .exits = "  0    every job was cancelled\n"
             "  2    wrong usage\n"
             "  3    no daemon, or it was lost\n"
             "  4    a job was not: it does not exist any more, or it is not yours\n",
    .run = run_cancel,
};
