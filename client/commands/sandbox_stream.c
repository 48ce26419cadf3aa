/* SPDX-License-Identifier: MIT */
#include "sandbox_stream.h"

#include "client/connection/interrupt.h"
#include "client/terminal/relay.h"
#include "client/terminal/text.h"
#include "proto/base64.h"

#include <string.h>

#define FIELD "stream"

/* How whoever does not stream refuses the field: a daemon that does not know it, or a fleet. */
static const char refusal[] = "job." FIELD ": ";

static enum exit_status pass_on(const struct message *output, int wake_fd,
                                struct sandbox_stream *stream)
{
    const char *text = message_text(output, "base64");
    bool is_stderr = strcmp(message_text(output, "stream"), "stderr") == 0;
    int fd = is_stderr ? STDERR_FILENO : STDOUT_FILENO;
    _cleanup_bytes_ struct bytes data = BYTES_NULL;
    int r = base64_decode(text, strlen(text), &data);
    if (r == 0)
        r = relay_write(fd, data.data, data.length, wake_fd);
    if (r == 0 && data.length > 0 && isatty(fd))
        stream->is_open_line = data.data[data.length - 1] != '\n';
    if (r == 0)
        return STATUS_OK;
    stream->has_no_reader = r == -EPIPE;
    if (r == -EINTR)
        return STATUS_INTERRUPTED;
    if (!stream->has_no_reader)
        complain("cannot write the output: %s", strerror(-r));
    return STATUS_USAGE;
}

static enum exit_status wait_for_answer(struct session *session, int wake_fd,
                                        struct sandbox_stream *stream, struct message *ret)
{
    for (;;) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        enum exit_status status = single_next(session, wake_fd, &message);
        if (status != STATUS_OK)
            return status;
        if (message.type != MESSAGE_OUTPUT) {
            *ret = TAKE_STRUCT(message, MESSAGE_NULL);
            return STATUS_OK;
        }
        status = pass_on(&message, wake_fd, stream);
        if (status != STATUS_OK)
            return status;
    }
}

static bool is_refused(const struct message *answer)
{
    return answer->type == MESSAGE_ERROR &&
           strncmp(message_text(answer, "message"), refusal, strlen(refusal)) == 0;
}

enum exit_status sandbox_stream_run(struct session *session, json_t *job,
                                    struct sandbox_stream *stream, struct message *ret)
{
    _cleanup_interrupt_ struct interrupt interrupt = INTERRUPT_NULL;
    int r = interrupt_init(&interrupt);
    if (r < 0 || json_object_set_new(job, FIELD, json_true()) < 0) {
        complain("sandbox: %s", strerror(r < 0 ? -r : ENOMEM));
        return STATUS_NO_DAEMON;
    }
    stream->is_told = true;
    enum exit_status status = single_send(session, job, NULL, "sandbox");
    if (status == STATUS_OK)
        status = wait_for_answer(session, interrupt.fd, stream, ret);
    if (status != STATUS_OK || !is_refused(ret))
        return status;
    stream->is_told = false;
    message_deinit(ret);
    (void)json_object_del(job, FIELD);
    status = single_send(session, job, NULL, "sandbox");
    return status == STATUS_OK ? single_wait(session, interrupt.fd, ret) : status;
}
