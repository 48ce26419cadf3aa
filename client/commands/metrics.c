/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/connection/connect.h"
#include "client/terminal/text.h"

static enum exit_status run_metrics(const struct globals *globals, const void *options,
                                    const struct text_list *arguments)
{
    (void)options;
    (void)arguments;
    _cleanup_session_ struct session session = SESSION_NULL;
    if (connect_session(globals, CONNECT_ONLY, &session) < 0)
        return STATUS_NO_DAEMON;

    _cleanup_message_ struct message metrics = MESSAGE_NULL;
    struct fault fault = FAULT_NULL;
    int r = session_ask(&session, "{\"type\":\"metrics\"}", MESSAGE_METRICS,
                        monotonic_ms() + SESSION_ANSWER_MS, &metrics, &fault);
    if (r < 0) {
        complain("%s: %s", session.where, fault.text);
        return STATUS_NO_DAEMON;
    }
    if (metrics.type == MESSAGE_ERROR) {
        complain("%s: %s", message_text(&metrics, "code"), message_text(&metrics, "message"));
        return STATUS_ERRORS;
    }
    (void)fputs(message_text(&metrics, "text"), stdout);
    return STATUS_OK;
}

const struct command command_metrics = {
    .name = "metrics",
    .arguments = "",
    .arguments_max = 0,
    .brief = "print the daemon's metrics for monitoring",
    .description =
        "Prints counters, gauges and latency histograms as OpenMetrics text, the same that\n"
        "the daemon serves over HTTP where [metrics] listen is configured. Never starts a\n"
        "daemon, unless --embedded asks for it.\n",
    .examples = "  rubricctl metrics\n"
                "  rubricctl metrics | grep ^rubricd_job_errors_total\n",
    .exits = "  0    printed\n"
             "  2    wrong usage\n"
             "  3    no daemon, or no answer within 10 seconds\n"
             "  4    it answered with an error\n",
    .run = run_metrics,
};
