/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/connection/connect.h"
#include "client/terminal/text.h"

#include <string.h>

/* The daemon's last word is `bye`, then it closes the connection and goes. */
static enum exit_status wait_for_end(struct session *session)
{
    struct fault fault = FAULT_NULL;
    for (;;) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        int r = session_wait(session, -1, -1, &message, &fault);
        if (r < 0)
            break;
        if (message.type == MESSAGE_ERROR) {
            complain("%s: %s", message_text(&message, "code"), message_text(&message, "message"));
            return STATUS_ERRORS;
        }
        session_unexpected(&message);
    }
    if (session->bye && strcmp(session->bye, "draining") == 0) {
        (void)puts("drained: rubricd has finished its jobs and ends");
        return STATUS_OK;
    }
    complain("%s: %s", session->where, fault.text);
    return STATUS_NO_DAEMON;
}

static enum exit_status run_drain(const struct globals *globals, const void *options,
                                  const struct text_list *arguments)
{
    static const char request[] = "{\"type\":\"drain\"}";
    (void)options;
    (void)arguments;
    if (globals->embedded) {
        complain("drain: --embedded makes no sense: a private daemon ends with its command");
        return STATUS_USAGE;
    }
    _cleanup_session_ struct session session = SESSION_NULL;
    if (connect_session(globals, CONNECT_ONLY, &session) < 0)
        return STATUS_NO_DAEMON;
    if (session_send(&session, request, strlen(request)) < 0) {
        complain("out of memory");
        return STATUS_NO_DAEMON;
    }
    return wait_for_end(&session);
}

const struct command command_drain = {
    .name = "drain",
    .arguments = "",
    .arguments_max = 0,
    .brief = "let the daemon finish what runs, take nothing new, and end",
    .description =
        "From now on the daemon answers every new job, and every one that still waits\n"
        "in its queue, with the error `draining`; the jobs that run are finished. Waits\n"
        "until the daemon says goodbye. Needs root, the daemon's own user, or an admin\n"
        "group.\n",
    .examples = "  sudo rubricctl drain && sudo reboot\n",
    .exits = "  0    drained\n"
             "  2    wrong usage\n"
             "  3    no daemon, or it was lost before it had drained\n"
             "  4    refused: you may not drain it\n",
    .run = run_drain,
};
