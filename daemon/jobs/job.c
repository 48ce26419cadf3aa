/* SPDX-License-Identifier: MIT */
#include "job.h"
#include "session.h"
#include "settings.h"

#include "daemon/base/clock.h"
#include "daemon/kinds/kind.h"
#include "daemon/pool/result.h"
#include "proto/utf8.h"

#include <assert.h>
#include <string.h>

struct job *job_new(struct request *request, size_t size, struct settings *settings,
                    uint64_t number, const struct job_client *client)
{
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->number = number;
    job->id = request->id;
    job->spec = TAKE_PTR(request->job);
    job->settings = settings_ref(settings);
    job->conn = client->conn;
    job->client_no = client->number;
    job->peer = client->peer;
    job->entry.size = size;
    job->entry.priority = job->spec->priority;
    const struct kind_ops *kind = kind_ops_get(job->spec->kind);
    job->entry.affinity = kind->affinity ? kind->affinity(job->spec) : 0;
    job->queued_ns = clock_now_ns();
    request->id = (struct bytes)BYTES_NULL;
    return job;
}

static _unused_ bool may_follow(enum job_place place, enum job_place next)
{
    switch (next) {
    case JOB_ADMITTED:
        return false;
    case JOB_QUEUED:
        return place == JOB_ADMITTED || place == JOB_ON_SLOT;
    case JOB_ON_SLOT:
        return place == JOB_QUEUED || place == JOB_ON_SLOT;
    case JOB_ENDED:
        return place != JOB_ENDED;
    }
    return false;
}

void job_enter(struct job *job, enum job_place place, struct slot *slot)
{
    assert(may_follow(job->place, place));
    assert((place == JOB_QUEUED) == (job->entry.lane != NULL));
    assert((place == JOB_ON_SLOT) == (slot != NULL));
    if (job->set && place == JOB_ON_SLOT && job->place != JOB_ON_SLOT)
        job_set_count(job->set, 1);
    if (job->set && place != JOB_ON_SLOT && job->place == JOB_ON_SLOT)
        job_set_count(job->set, -1);
    job->place = place;
    job->slot = slot;
}

void job_count_step(struct job *job, const struct slot_result *result)
{
    struct job_steps *steps = &job->steps;
    steps->ran_ns += result->started_ns ? result->ended_ns - result->started_ns : 0;
    steps->cpu_us += result->cpu_us;
    steps->max_rss_bytes = MAX(steps->max_rss_bytes, result->max_rss_bytes);
    steps->deadline_moves += result->deadline_moves;
    steps->deadline_ms = MAX(steps->deadline_ms, result->deadline_ms);
    bool is_known = steps->run_delay_ns != UINT64_MAX && result->run_delay_ns != UINT64_MAX;
    steps->run_delay_ns = is_known ? steps->run_delay_ns + result->run_delay_ns : UINT64_MAX;
}

int job_end_turn(struct job *job, struct kind_plan *plan)
{
    assert(job->place == JOB_ON_SLOT && !job->steps.next);
    assert(job->steps.launched == job->steps.ended && !plan->uses_result && !plan->kept);
    struct kind_plan *next = malloc(sizeof(*next));
    if (!next)
        return -ENOMEM;
    *next = TAKE_STRUCT(*plan, KIND_PLAN_NULL);
    job->steps.next = next;
    job->steps.turn_ns = 0;
    return 0;
}

struct kind_plan job_begin_turn(struct job *job)
{
    assert(job_is_between_turns(job));
    struct kind_plan plan = *job->steps.next;
    free(job->steps.next);
    job->steps.next = NULL;
    return plan;
}

size_t job_kept_bytes(const struct job *job)
{
    const struct kind_ops *kind = kind_ops_get(job->spec->kind);
    return kind->kept_bytes ? kind->kept_bytes(job->kept) : 0;
}

static void drop_next(struct job *job)
{
    if (job->steps.next)
        kind_plan_deinit(job->steps.next);
    free(job->steps.next);
}

void job_drop_input(struct job *job)
{
    kind_ops_get(job->spec->kind)->drop_input(job->spec);
}

int64_t job_queue_ms(const struct job *job)
{
    return (int64_t)((job->began_ns - job->queued_ns) / NS_PER_MS);
}

void job_describe(const struct job_spec *spec, char text[JOB_LABEL_MAX])
{
    const char *label = kind_ops_get(spec->kind)->label(spec);
    size_t shown = utf8_cut(label, strlen(label), JOB_LABEL_MAX - 1);
    memcpy(text, label, shown);
    text[shown] = '\0';
}

struct job *job_free(struct job *job)
{
    if (job) {
        assert(job->place == JOB_ADMITTED || job->place == JOB_ENDED);
        assert(!job->entry.lane && !job->set);
        const struct kind_ops *kind = kind_ops_get(job->spec->kind);
        if (job->session)
            session_forget(job->session);
        drop_next(job);
        if (kind->free_kept)
            kind->free_kept(job->kept);
        bytes_deinit(&job->id);
        bytes_deinit(&job->steps.reply);
        job_spec_free(job->spec);
        settings_unref(job->settings);
        free(job);
    }
    return NULL;
}
