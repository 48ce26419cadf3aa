/* SPDX-License-Identifier: MIT */
#include "joblog.h"

#include "daemon/kinds/kind.h"
#include "daemon/pool/slot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Bytes of a failed job's stderr in the sentence; the field holds more. */
#define SENTENCE_STDERR_BYTES 400

int joblog_level(const struct answer *answer)
{
    if (!answer->is_result && answer->code == ERROR_INTERNAL)
        return LOG_ERR;
    if (!answer->is_result &&
        (answer->code == ERROR_SANDBOX_FAILED || answer->code == ERROR_STARVED))
        return LOG_WARNING;
    return LOG_INFO;
}

static void add_job(const struct job *job, const char *digest, struct record *record)
{
    char label[JOB_LABEL_MAX];
    job_describe(job->spec, label);
    record_add_bytes(record, RECORD_JOB_ID, job->id.data, job->id.length);
    record_add_number(record, RECORD_JOB_NO, (int64_t)job->number);
    record_add_text(record, RECORD_KIND, job_kind_name(job->spec->kind));
    record_add_text(record, RECORD_LABEL, label);
    if (kind_ops_get(job->spec->kind)->label_is_task_class)
        record_add_text(record, RECORD_TASK_CLASS, label);
    if (job->slot)
        record_add_number(record, RECORD_SLOT, slot_index(job->slot));
    record_add_number(record, RECORD_CLIENT_NO, (int64_t)job->client_no);
    record_add_number(record, RECORD_PEER_UID, job->peer.uid);
    record_add_number(record, RECORD_PEER_GID, job->peer.gid);
    record_add_number(record, RECORD_PEER_PID, job->peer.pid);
    record_add_text(record, RECORD_ISOLATION_DIGEST, digest);
}

static void add_usage(const struct usage *usage, struct record *record)
{
    record_add_number(record, RECORD_WALL_CLOCK_MS, usage->wall_clock_ms);
    record_add_number(record, RECORD_CPU_MS, usage->cpu_ms);
    if (usage->cpu_wait_ms >= 0)
        record_add_number(record, RECORD_CPU_WAIT_MS, usage->cpu_wait_ms);
    record_add_number(record, RECORD_MAX_RSS_BYTES, usage->max_rss_bytes);
    record_add_number(record, RECORD_QUEUE_MS, usage->queue_ms);
}

static void add_result(const struct answer *answer, const struct bytes *err, struct record *record)
{
    bool scored = !isnan(answer->score);
    record_add_text(record, RECORD_VERDICT,
                    !scored          ? "unscored"
                    : answer->passed ? "passed"
                                     : "failed");
    if (scored)
        record_add_real(record, RECORD_SCORE, answer->score);
    if (!answer->passed)
        record_add_text(record, RECORD_FAILURE_MODE, answer->what);
    record_add_text(record, RECORD_LIMIT, limit_name(answer->limit));
    add_usage(&answer->usage, record);
    if (answer->program_failed && err && err->length > 0)
        record_add_bytes(record, RECORD_STDERR, err->data, err->length);
}

static void say_result(const struct answer *answer, const struct bytes *err, const char *who,
                       const char *label, struct record *record)
{
    if (answer->program_failed)
        record_say(record, "%s: %s: %s after %" PRId64 " ms; stderr: %.*s", who, label,
                   answer->what, answer->usage.wall_clock_ms,
                   err ? (int)MIN(err->length, (size_t)SENTENCE_STDERR_BYTES) : 0,
                   err ? err->data : "");
    else if (isnan(answer->score))
        record_say(record, "%s: %s: no score: %s", who, label, answer->what);
    else
        record_say(record, "%s: %s: %s, score %g, %" PRId64 " ms", who, label,
                   answer->passed ? "passed" : answer->what, answer->score,
                   answer->usage.wall_clock_ms);
}

void joblog_record(const struct job *job, const struct answer *answer, const char *digest,
                   const struct bytes *err, struct record *record)
{
    char who[1024];
    record_init(record, joblog_level(answer),
                answer->is_result ? LOG_MESSAGE_JOB_VERDICT : LOG_MESSAGE_JOB_ERROR);
    add_job(job, digest, record);
    (void)snprintf(who, sizeof(who), "job %" PRIu64 " (client %" PRIu64 ", uid %u, pid %d, id %s)",
                   job->number, job->client_no, job->peer.uid, (int)job->peer.pid,
                   record_text(record, RECORD_JOB_ID));
    const char *label = record_text(record, RECORD_LABEL);
    if (answer->is_result) {
        add_result(answer, err, record);
        say_result(answer, err, who, label, record);
    } else {
        record_add_text(record, RECORD_ERROR, error_code_name(answer->code));
        record_say(record, "%s: %s: %s", who, label, answer->what);
    }
}
