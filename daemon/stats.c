/* SPDX-License-Identifier: MIT */
#include "stats.h"
#include "clock.h"

#include <string.h>

static void failure_deinit(struct stats_failure *failure)
{
    bytes_deinit(&failure->id);
    free(failure->label);
    free(failure->what);
    *failure = (struct stats_failure){.job_no = 0};
}

void stats_deinit(struct stats *stats)
{
    for (size_t i = 0; i < STATS_FAILURES; i++)
        failure_deinit(&stats->failures[i]);
}

void stats_count_result(struct stats *stats, bool passed)
{
    stats->results++;
    stats->passed += passed;
}

void stats_count_error(struct stats *stats, enum error_code code)
{
    stats->errors[code]++;
}

void stats_add_failure(struct stats *stats, const struct job *job, const char *what)
{
    struct stats_failure failure = {
        .job_no = job->number, .at_ns = clock_now_ns(), .kind = job_kind_name(job->spec->kind)};
    char label[JOB_LABEL_MAX];
    job_describe(job->spec, label);
    failure.label = strdup(label);
    failure.what = strdup(what);
    if (!failure.label || !failure.what ||
        bytes_copy(job->id.data, job->id.length, &failure.id) < 0) {
        failure_deinit(&failure);
        return; /* a memory of a failure is not worth another failure */
    }
    failure_deinit(&stats->failures[stats->next_failure]);
    stats->failures[stats->next_failure] = failure;
    stats->next_failure = (stats->next_failure + 1) % STATS_FAILURES;
}

json_t *stats_counters_json(const struct stats *stats)
{
    json_t *errors = json_object();
    for (enum error_code code = 0; code <= ERROR_INTERNAL; code++)
        if (stats->errors[code] > 0)
            (void)json_object_set_new(errors, error_code_name(code),
                                      json_integer((json_int_t)stats->errors[code]));
    return json_pack("{s:I,s:I,s:I,s:I,s:o}", "submitted", (json_int_t)stats->submitted, "results",
                     (json_int_t)stats->results, "passed", (json_int_t)stats->passed, "failed",
                     (json_int_t)(stats->results - stats->passed), "errors", errors);
}

json_t *stats_failures_json(const struct stats *stats, uint64_t now_ns)
{
    json_t *list = json_array();
    for (size_t i = 1; i <= STATS_FAILURES; i++) {
        const struct stats_failure *failure =
            &stats->failures[(stats->next_failure + STATS_FAILURES - i) % STATS_FAILURES];
        if (failure->job_no == 0)
            break;
        (void)json_array_append_new(
            list, json_pack("{s:I,s:o,s:s,s:s,s:o,s:I}", "job_no", (json_int_t)failure->job_no,
                            "id", json_stringn_nocheck(failure->id.data, failure->id.length),
                            "kind", failure->kind, "label", failure->label, "what",
                            json_text(failure->what, strlen(failure->what)), "ago_ms",
                            (json_int_t)((now_ns - failure->at_ns) / NS_PER_MS)));
    }
    return list;
}
