/* SPDX-License-Identifier: MIT */
#pragma once
/* Commands that ask the daemon one question and print its answer. */

#include "client/cli/options.h"
#include "client/connection/session.h"

struct control_question {
    const char *request; /* as JSON */
    enum message_type wanted;
    int64_t timeout_ms;
    const char *about; /* begins complaints about a lost connection; NULL: session->where */

    /* Complains about an `error` of the daemon; NULL: with its code and message. */
    void (*complain)(const struct message *error);
};

struct control_answer {
    const struct session *session;
    const struct message *message; /* of the type that was wanted */
    double took_ms;                /* from the request to the answer */
};

/* Prints ANSWER as the command's OPTIONS say. */
typedef void control_print_fn(const struct control_answer *answer, const void *options);

/* Asks QUESTION over the connected SESSION. STATUS_OK with the wanted message in *ret; or, after a
 * complaint on stderr, STATUS_ERRORS for an `error` and STATUS_NO_DAEMON for a lost connection or
 * no answer in time. A wanted MESSAGE_ERROR counts as the answer. */
enum exit_status control_ask(struct session *session, const struct control_question *question,
                             struct message *ret);

/* Writes the daemon's message to stdout as it came, to a terminal escaped, and a newline. */
void control_put_json(const struct message *message);

/* Connects (starting a private daemon only for --embedded), asks QUESTION and has the answer
 * printed. Returns the command's exit status. */
enum exit_status control_run(const struct globals *globals, const struct control_question *question,
                             control_print_fn *print, const void *options);
