/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include "daemon/base/clock.h"

#include <string.h>

static void failure_deinit(struct stats_failure *failure)
{
    bytes_deinit(&failure->id);
    free(failure->label);
    free(failure->what);
    *failure = (struct stats_failure){.job_no = 0};
}

int stats_init(struct stats *stats, uint64_t now_ns)
{
    *stats = (struct stats){.kinds = calloc(JOB_KIND_COUNT, sizeof(*stats->kinds))};
    if (!stats->kinds)
        return -ENOMEM;
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        window_init(&stats->kinds[kind].recent, now_ns);
    return 0;
}

void stats_deinit(struct stats *stats)
{
    for (size_t i = 0; i < STATS_FAILURES; i++)
        failure_deinit(&stats->failures[i]);
    free(stats->kinds);
    stats->kinds = NULL;
}

/* --- counting ------------------------------------------------------------------------------ */

void stats_count_submitted(struct stats *stats, enum job_kind_id kind)
{
    stats->kinds[kind].submitted++;
}

void stats_count_dropped(struct stats *stats, enum job_kind_id kind)
{
    stats->kinds[kind].dropped++;
}

void stats_count_session_opened(struct stats *stats)
{
    stats->sessions_opened++;
}

void stats_count_session_ended(struct stats *stats, enum session_end end)
{
    stats->sessions_ended[end]++;
}

void stats_count_refused(struct stats *stats)
{
    stats->refused++;
}

void stats_count_unread(struct stats *stats, size_t jobs)
{
    stats->unread++;
    stats->unread_jobs += jobs;
}

void stats_count_reload_refused(struct stats *stats)
{
    stats->reloads_refused++;
}

void stats_count_wait(struct stats *stats, enum job_kind_id kind, uint64_t waited_ns,
                      uint64_t now_ns)
{
    histogram_add(&stats->kinds[kind].queue_wait, waited_ns);
    window_observe(&stats->kinds[kind].recent, WINDOW_QUEUE_WAIT, waited_ns, now_ns);
}

void stats_count_result(struct stats *stats, enum job_kind_id kind,
                        const struct stats_result *result, uint64_t now_ns)
{
    struct stats_kind *of = &stats->kinds[kind];
    of->passed += result->passed;
    of->failed += !result->passed;
    window_count(&of->recent, result->passed ? WINDOW_PASSED : WINDOW_FAILED, now_ns);
    if (result->limit != LIMIT_NONE)
        of->limits[result->limit]++;
    if (result->ran_ns > 0) {
        histogram_add(&of->wall_clock, result->ran_ns);
        window_observe(&of->recent, WINDOW_WALL_CLOCK, result->ran_ns, now_ns);
    }
}

void stats_count_moves(struct stats *stats, enum job_kind_id kind, unsigned moves)
{
    stats->kinds[kind].moves += moves;
}

void stats_count_error(struct stats *stats, enum job_kind_id kind, enum error_code code,
                       uint64_t now_ns)
{
    stats->kinds[kind].errors[code]++;
    window_count(&stats->kinds[kind].recent, WINDOW_ERRORS, now_ns);
}

uint64_t stats_unfinished(const struct stats *stats, enum job_kind_id kind)
{
    const struct stats_kind *of = &stats->kinds[kind];
    uint64_t ended = of->passed + of->failed + of->dropped;
    for (enum error_code code = 0; code < STATS_ERROR_CODES; code++)
        ended += of->errors[code];
    return of->submitted - ended;
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
        return; /* remembering a failure is not worth another one */
    }
    failure_deinit(&stats->failures[stats->next_failure]);
    stats->failures[stats->next_failure] = failure;
    stats->next_failure = (stats->next_failure + 1) % STATS_FAILURES;
}

/* --- printing ------------------------------------------------------------------------------ */

/* Adds how often NAME has occurred, if it has. Negative when memory runs out. */
static int add_count(json_t *object, const char *name, uint64_t count)
{
    return count > 0 ? json_object_set_new(object, name, json_integer((json_int_t)count)) : 0;
}

static json_t *errors_json(const uint64_t errors[STATS_ERROR_CODES])
{
    _cleanup_json_ json_t *object = json_object();
    for (enum error_code code = 0; code < STATS_ERROR_CODES; code++)
        if (add_count(object, error_code_name(code), errors[code]) < 0)
            return NULL;
    return TAKE_PTR(object);
}

static json_t *exceeded_json(const uint64_t limits[LIMIT_COUNT])
{
    _cleanup_json_ json_t *object = json_object();
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        if (add_count(object, limit_name(limit), limits[limit]) < 0)
            return NULL;
    return TAKE_PTR(object);
}

json_t *stats_counters_json(const struct stats *stats)
{
    uint64_t submitted = 0, passed = 0, results = 0, errors[STATS_ERROR_CODES] = {0};
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
        const struct stats_kind *of = &stats->kinds[kind];
        submitted += of->submitted;
        passed += of->passed;
        results += of->passed + of->failed;
        for (enum error_code code = 0; code < STATS_ERROR_CODES; code++)
            errors[code] += of->errors[code];
    }
    return json_pack("{s:I,s:I,s:I,s:I,s:o}", "submitted", (json_int_t)submitted, "results",
                     (json_int_t)results, "passed", (json_int_t)passed, "failed",
                     (json_int_t)(results - passed), "errors", errors_json(errors));
}

static json_t *quantiles_json(const struct window_summary *summary, enum window_latency latency)
{
    const uint64_t *ns = summary->latencies[latency].quantiles_ns;
    if (summary->latencies[latency].count == 0)
        return json_null();
    return json_pack("{s:f,s:f,s:f}", "p50", (double)ns[0] / NS_PER_MS, "p90",
                     (double)ns[1] / NS_PER_MS, "p99", (double)ns[2] / NS_PER_MS);
}

static json_t *recent_json(const struct window *recent, uint64_t now_ns)
{
    static const unsigned windows_s[] = {60, 300, 900};
    json_t *list = json_array();
    for (size_t i = 0; i < ARRAY_SIZE(windows_s); i++) {
        struct window_summary summary;
        window_summarise(recent, windows_s[i] * NS_PER_S, now_ns, &summary);
        uint64_t passed = summary.ends[WINDOW_PASSED], failed = summary.ends[WINDOW_FAILED],
                 errors = summary.ends[WINDOW_ERRORS];
        (void)json_array_append_new(
            list,
            json_pack("{s:i,s:I,s:I,s:I,s:I,s:f,s:o,s:o}", "seconds", (int)windows_s[i], "span_ms",
                      (json_int_t)(summary.span_ns / NS_PER_MS), "passed", (json_int_t)passed,
                      "failed", (json_int_t)failed, "errors", (json_int_t)errors, "per_second",
                      window_rate(passed + failed + errors, summary.span_ns), "wall_clock_ms",
                      quantiles_json(&summary, WINDOW_WALL_CLOCK), "queue_ms",
                      quantiles_json(&summary, WINDOW_QUEUE_WAIT)));
    }
    return list;
}

json_t *stats_kinds_json(const struct stats *stats, uint64_t now_ns)
{
    json_t *object = json_object();
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
        const struct stats_kind *of = &stats->kinds[kind];
        (void)json_object_set_new(
            object, job_kind_name(kind),
            json_pack("{s:I,s:I,s:I,s:o,s:o,s:I,s:o}", "submitted", (json_int_t)of->submitted,
                      "passed", (json_int_t)of->passed, "failed", (json_int_t)of->failed, "errors",
                      errors_json(of->errors), "limits_exceeded", exceeded_json(of->limits),
                      "dropped", (json_int_t)of->dropped, "recent",
                      recent_json(&of->recent, now_ns)));
    }
    return object;
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
