/* SPDX-License-Identifier: MIT */
#include "single.h"

#include "client/batch/jobline.h"
#include "client/connection/interrupt.h"
#include "client/terminal/json.h"
#include "client/terminal/text.h"
#include "proto/printer.h"
#include "proto/util.h"

#include <string.h>

void single_print(const json_t *value)
{
    if (isatty(STDOUT_FILENO)) {
        (void)json_dumpf(value, stdout,
                         JSON_INDENT(2) | JSON_REAL_PRECISION(15) | terminal_json_flags(stdout));
    } else {
        _cleanup_bytes_ struct bytes text = BYTES_NULL;
        if (json_print(value, &text) == 0)
            (void)fwrite(text.data, 1, text.length, stdout);
    }
    (void)fputc('\n', stdout);
    (void)fflush(stdout); /* before complaints about it go to stderr */
}

/* Waits for the job's result or error, or for its output if it STREAMS. -EINTR once WAKE_FD is
 * readable. */
static int wait_for_answer(struct session *session, int wake_fd, bool streams, struct message *ret,
                           struct fault *fault)
{
    for (;;) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        int r = session_wait(session, -1, wake_fd, &message, fault);
        if (r < 0)
            return r;
        if (message.type == MESSAGE_RESULT || message.type == MESSAGE_ERROR ||
            (streams && message.type == MESSAGE_OUTPUT)) {
            *ret = TAKE_STRUCT(message, MESSAGE_NULL);
            return 0;
        }
        if (message.type != MESSAGE_STARTED && message.type != MESSAGE_STORED)
            session_unexpected(&message);
    }
}

enum exit_status single_send(struct session *session, json_t *job, const char *bench_root,
                             const char *what)
{
    const struct bytes default_id = {.data = (char *)(uintptr_t)what, .length = strlen(what)};
    const struct jobline_policy policy = {
        .bench_root = bench_root,
        .max_frame = session->max_frame,
    };
    _cleanup_submission_ struct submission submission = SUBMISSION_NULL;
    _cleanup_puts_ struct puts puts = PUTS_NULL;
    struct fault fault = FAULT_NULL;
    int r = jobline_from_object(job, &default_id, &policy, &submission, &fault);
    if (r == 0)
        r = puts_send(&puts, session, &submission.tests);
    if (r == 0)
        r = session_send(session, submission.payload.data, submission.payload.length);
    if (r < 0) {
        complain("%s: %s", what, fault.text[0] ? fault.text : strerror(-r));
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

static enum exit_status wait_for(struct session *session, int wake_fd, bool streams,
                                 struct message *ret)
{
    struct fault fault = FAULT_NULL;
    int r = wait_for_answer(session, wake_fd, streams, ret, &fault);
    if (r == -EINTR)
        return STATUS_INTERRUPTED;
    if (r < 0) {
        complain("%s; the job was not answered", fault.text[0] ? fault.text : strerror(-r));
        return STATUS_NO_DAEMON;
    }
    return STATUS_OK;
}

enum exit_status single_wait(struct session *session, int wake_fd, struct message *ret)
{
    return wait_for(session, wake_fd, false, ret);
}

enum exit_status single_next(struct session *session, int wake_fd, struct message *ret)
{
    return wait_for(session, wake_fd, true, ret);
}

enum exit_status single_job(struct session *session, json_t *job, const char *bench_root,
                            const char *what, struct message *ret)
{
    _cleanup_interrupt_ struct interrupt interrupt = INTERRUPT_NULL;
    int r = interrupt_init(&interrupt);
    if (r < 0) {
        complain("signals: %s", strerror(-r));
        return STATUS_NO_DAEMON;
    }
    enum exit_status status = single_send(session, job, bench_root, what);
    return status == STATUS_OK ? single_wait(session, interrupt.fd, ret) : status;
}
