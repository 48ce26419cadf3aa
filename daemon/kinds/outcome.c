/* SPDX-License-Identifier: MIT */
#include "outcome.h"

#include "daemon/base/clock.h"
#include "proto/utf8.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define SUMMARY_LINES 8
#define SUMMARY_MAX 4096

static bool has_evidence(const struct slot_result *result, enum limit limit)
{
    return result->evidence & 1u << limit;
}

/* If a job met several limits, names the first of these: the one that the supervisor killed it for,
 * CPU time, memory, processes, disk, descriptors. A job that succeeded got over its limits, so none
 * is named. */
static enum limit limit_of(const struct slot_result *result, const struct limits *limits,
                           const struct outcome *outcome)
{
    int signal = outcome->signal;
    if (result->killed == SLOT_KILL_OUTPUT)
        return LIMIT_OUTPUT;
    if (result->killed == SLOT_KILL_DEADLINE)
        return LIMIT_WALL_CLOCK;
    if (result->killed == SLOT_KILL_CPU)
        return LIMIT_CPU;
    /* A job can send itself SIGXCPU; the CPU time is what it cannot make up. The kernel judges the
     * limit by whole ticks and tells the time that was really run: on a busy host up to a third
     * less. SIGKILL, which others send as well, takes the whole of it. */
    uint64_t cpu_ms = result->cpu_us / 1000, limit_ms = limits->of[LIMIT_CPU];
    if (outcome->exit_code == 0)
        return LIMIT_NONE;
    if ((signal == SIGXCPU && cpu_ms >= limit_ms / 2) ||
        (signal == SIGKILL && cpu_ms >= limit_ms) || has_evidence(result, LIMIT_CPU))
        return LIMIT_CPU;
    if (has_evidence(result, LIMIT_MEMORY))
        return LIMIT_MEMORY;
    if (has_evidence(result, LIMIT_PROCESSES))
        return LIMIT_PROCESSES;
    if (signal == SIGXFSZ || has_evidence(result, LIMIT_DISK))
        return LIMIT_DISK;
    return has_evidence(result, LIMIT_OPEN_FILES) ? LIMIT_OPEN_FILES : LIMIT_NONE;
}

/* Appends to SUMMARY, which has LENGTH bytes, as many whole characters of the N bytes of LINE as
 * fit. Returns the new length. */
static size_t append_line(char *summary, size_t length, const char *line, size_t n)
{
    size_t newline = length > 0 ? 1 : 0;
    size_t room = length + newline < SUMMARY_MAX ? SUMMARY_MAX - length - newline : 0;
    size_t kept = utf8_cut(line, n, room);
    if (kept == 0)
        return length;
    if (newline)
        summary[length] = '\n';
    memcpy(summary + length + newline, line, kept);
    return length + newline + kept;
}

/* Returns the first SUMMARY_LINES lines of TEXT that are not blank, cut at SUMMARY_MAX bytes and at
 * a NUL: empty if there are none. NULL if memory runs out. */
static char *first_lines(const char *text)
{
    char *summary = calloc(1, SUMMARY_MAX + 1);
    if (!summary)
        return NULL;
    size_t length = 0;
    for (int lines = 0; *text && lines < SUMMARY_LINES;) {
        size_t n = strcspn(text, "\n");
        if (strspn(text, " \t\r\f\v") < n) {
            length = append_line(summary, length, text, text[n - 1] == '\r' ? n - 1 : n);
            lines++;
        }
        text += n + (text[n] == '\n');
    }
    return summary;
}

void outcome_describe(const struct outcome *outcome, char *text, size_t size)
{
    if (outcome->limit != LIMIT_NONE) {
        (void)snprintf(text, size, "limit exceeded: %s", limit_name(outcome->limit));
    } else if (outcome->signal != 0) {
        const char *name = sigabbrev_np(outcome->signal);
        (void)snprintf(text, size, name ? "signal %d (SIG%s)" : "signal %d", outcome->signal, name);
    } else {
        (void)snprintf(text, size, "exit status %d", outcome->exit_code);
    }
}

static char *summarise(const struct outcome *outcome)
{
    char text[80];
    if (outcome->limit != LIMIT_NONE) {
        (void)snprintf(text, sizeof(text), "sandbox limit exceeded: %s",
                       limit_name(outcome->limit));
    } else if (outcome->success) {
        return strdup("ok");
    } else {
        char *lines = first_lines(outcome->stderr_text);
        if (!lines || *lines)
            return lines;
        free(lines);
        if (outcome->signal != 0)
            (void)snprintf(text, sizeof(text), "signal %d", outcome->signal);
        else
            (void)snprintf(text, sizeof(text), "exit status %d", outcome->exit_code);
    }
    return strdup(text);
}

int outcome_from_result(const struct slot_result *result, const struct limits *limits,
                        struct outcome *ret)
{
    _cleanup_outcome_ struct outcome outcome = OUTCOME_NULL;
    if (result->end == SLOT_END_EXITED) {
        if (WIFSIGNALED(result->wait_status))
            outcome.signal = WTERMSIG(result->wait_status);
        else
            outcome.exit_code = WEXITSTATUS(result->wait_status);
    } else {
        outcome.signal = SIGKILL; /* the supervisor sent it, though nobody saw the program die */
    }
    outcome.limit = limit_of(result, limits, &outcome);
    outcome.success = outcome.exit_code == 0 && outcome.limit == LIMIT_NONE;
    outcome.stderr_text = utf8_replace(result->err->data ? result->err->data : "",
                                       result->err->length, &outcome.stderr_length);
    if (!outcome.stderr_text || !(outcome.summary = summarise(&outcome)))
        return -ENOMEM;
    *ret = outcome;
    outcome = (struct outcome)OUTCOME_NULL;
    return 0;
}

void outcome_drop_stderr(struct outcome *outcome)
{
    free(outcome->stderr_text);
    outcome->stderr_text = NULL;
    outcome->stderr_length = 0;
}

static int64_t milliseconds_up(uint64_t ns)
{
    return (int64_t)((ns + NS_PER_MS - 1) / NS_PER_MS);
}

struct usage usage_from_result(const struct slot_result *result, int64_t queue_ms)
{
    uint64_t ran_ns = result->started_ns ? result->ended_ns - result->started_ns : 0;
    return (struct usage){
        .wall_clock_ms = MAX(milliseconds_up(ran_ns), 1),
        .cpu_ms = (int64_t)((result->cpu_us + 999) / 1000),
        .cpu_wait_ms =
            result->run_delay_ns == UINT64_MAX ? -1 : milliseconds_up(result->run_delay_ns),
        .max_rss_bytes = (int64_t)result->max_rss_bytes,
        .queue_ms = queue_ms,
    };
}
