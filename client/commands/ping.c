/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/connection/connect.h"
#include "client/terminal/text.h"

#include <string.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void print_pong(const struct session *session, double took_ms)
{
    bool is_private = session->daemon.pid > 0;
    (void)fputs(is_private ? "a private rubricd " : "rubricd ", stdout);
    text_put(stdout, session->version, strlen(session->version));
    if (!is_private) {
        (void)fputs(" at ", stdout);
        text_put(stdout, session->where, strlen(session->where));
    }
    (void)printf(" answered in %.3f ms\n", took_ms);
}

static enum exit_status run_ping(const struct globals *globals, const void *options,
                                 const struct text_list *arguments)
{
    (void)options;
    (void)arguments;
    _cleanup_session_ struct session session = SESSION_NULL;
    if (connect_session(globals, CONNECT_ONLY, &session) < 0)
        return STATUS_NO_DAEMON;

    _cleanup_message_ struct message pong = MESSAGE_NULL;
    struct fault fault = FAULT_NULL;
    double begin = now_ms();
    int r = session_ask(&session, "{\"type\":\"ping\"}", MESSAGE_PONG,
                        monotonic_ms() + SESSION_ANSWER_MS, &pong, &fault);
    double took = now_ms() - begin;
    if (r < 0) {
        complain("%s: %s", session.where, fault.text);
        return STATUS_NO_DAEMON;
    }
    if (pong.type == MESSAGE_ERROR) {
        complain("%s: %s", message_text(&pong, "code"), message_text(&pong, "message"));
        return STATUS_ERRORS;
    }
    print_pong(&session, took);
    return STATUS_OK;
}

const struct command command_ping = {
    .name = "ping",
    .arguments = "",
    .arguments_max = 0,
    .brief = "see whether the daemon answers, and how fast",
    .description = "Connects, asks once, and prints the daemon's version and the round-trip time.\n"
                   "Never starts a daemon, unless --embedded asks for it.\n",
    .examples = "  rubricctl ping\n"
                "  rubricctl ping >/dev/null || systemctl restart rubricd\n",
    .exits = "  0    it answered\n"
             "  2    wrong usage\n"
             "  3    no daemon, or no answer within 10 seconds\n"
             "  4    it answered with an error\n",
    .run = run_ping,
};
