/* SPDX-License-Identifier: MIT */
#include "pending.h"

#include "client/terminal/text.h"
#include "proto/util.h"

#include <assert.h>
#include <string.h>

void pending_job_free(struct pending_job *job)
{
    if (!job)
        return;
    bytes_deinit(&job->id);
    bytes_deinit(&job->payload);
    tests_deinit(&job->tests);
    free(job->place);
    json_decref(job->note);
    json_decref(job->run);
    free(job);
}

int pending_init(struct pending *ret)
{
    json_t *ids = json_object();
    if (!ids)
        return -ENOMEM;
    *ret = (struct pending){.ids = ids};
    return 0;
}

void pending_deinit(struct pending *pending)
{
    for (size_t i = 0; i < pending->room; i++)
        pending_job_free(pending->slots[i]);
    free(pending->slots);
    free(pending->free);
    json_decref(pending->ids);
    *pending = (struct pending)PENDING_NULL;
}

size_t pending_count(const struct pending *pending)
{
    return json_object_size(pending->ids);
}

bool pending_is_in_flight(const struct pending_job *job)
{
    return job->state == PENDING_QUEUED || job->state == PENDING_RUNNING ||
           job->state == PENDING_WITHDRAWN;
}

size_t pending_in_flight(const struct pending *pending)
{
    return pending->counts[PENDING_QUEUED] + pending->counts[PENDING_RUNNING] +
           pending->counts[PENDING_WITHDRAWN];
}

struct pending_job *pending_find(const struct pending *pending, const char *id, size_t n)
{
    const json_t *slot = json_object_getn(pending->ids, id, n);
    return slot ? pending->slots[json_integer_value(slot)] : NULL;
}

/* Whether a job may move from one state to another. */
_unused_ static bool may_follow(enum pending_state from, enum pending_state to)
{
#define TO(state) (1U << (state))
    static const unsigned next[PENDING_STATES] = {
        [PENDING_OUT] = TO(PENDING_QUEUED),
        /* To QUEUED once more: a lost daemon came back and gets the job again. */
        [PENDING_QUEUED] = TO(PENDING_QUEUED) | TO(PENDING_RUNNING) | TO(PENDING_WITHDRAWN) |
                           TO(PENDING_WAITING) | TO(PENDING_STARVED) | TO(PENDING_OUT),
        [PENDING_RUNNING] =
            TO(PENDING_QUEUED) | TO(PENDING_WAITING) | TO(PENDING_STARVED) | TO(PENDING_OUT),
        [PENDING_WITHDRAWN] = TO(PENDING_OUT),
        [PENDING_WAITING] = TO(PENDING_QUEUED),
        [PENDING_STARVED] = TO(PENDING_QUEUED),
    };
#undef TO
    return next[from] >> to & 1;
}

/* The only place where a job's state and the counts change. */
static void change_state(struct pending *pending, struct pending_job *job, enum pending_state state)
{
    assert(may_follow(job->state, state));
    if (job->state != PENDING_OUT) {
        assert(pending->slots[job->slot] == job);
        assert(pending->counts[job->state] > 0);
        pending->counts[job->state]--;
    }
    if (state != PENDING_OUT)
        pending->counts[state]++;
    job->state = state;
}

/* Makes sure that a slot is free. */
static int grow(struct pending *pending)
{
    if (pending->n_free > 0)
        return 0;
    size_t room = MAX(pending->room * 2, (size_t)64);
    struct pending_job **slots = reallocarray(pending->slots, room, sizeof(struct pending_job *));
    if (!slots)
        return -ENOMEM;
    pending->slots = slots;
    size_t *stack = reallocarray(pending->free, room, sizeof(*stack));
    if (!stack)
        return -ENOMEM;
    pending->free = stack;
    for (size_t i = room; i-- > pending->room;) {
        slots[i] = NULL;
        stack[pending->n_free++] = i;
    }
    pending->room = room;
    return 0;
}

int pending_add(struct pending *pending, struct bytes *take_id, struct bytes *take_payload,
                struct tests *take_tests, json_t *note, json_t *run, int64_t now)
{
    if (pending_find(pending, take_id->data, take_id->length))
        return -EEXIST;
    struct pending_job *job = calloc(1, sizeof(*job));
    if (!job || grow(pending) < 0) {
        free(job);
        return -ENOMEM;
    }
    size_t slot = pending->free[pending->n_free - 1];
    if (json_object_setn_new_nocheck(pending->ids, take_id->data, take_id->length,
                                     json_integer((json_int_t)slot)) < 0) {
        free(job);
        return -ENOMEM;
    }
    pending->n_free--;
    pending->slots[slot] = job;
    *job = (struct pending_job){
        .id = TAKE_STRUCT(*take_id, BYTES_NULL),
        .payload = TAKE_STRUCT(*take_payload, BYTES_NULL),
        .tests = TAKE_STRUCT(*take_tests, TESTS_NULL),
        .note = json_incref(note),
        .run = json_incref(run),
        .since_ms = now,
        .slot = slot,
    };
    change_state(pending, job, PENDING_QUEUED);
    assert(pending_count(pending) == pending->room - pending->n_free);
    return 0;
}

void pending_enter(struct pending *pending, struct pending_job *job, enum pending_state state,
                   int64_t now)
{
    assert(state != PENDING_OUT);
    change_state(pending, job, state);
    job->since_ms = now;
}

struct pending_job *pending_take(struct pending *pending, struct pending_job *job)
{
    change_state(pending, job, PENDING_OUT);
    (void)json_object_deln(pending->ids, job->id.data, job->id.length);
    pending->slots[job->slot] = NULL;
    pending->free[pending->n_free++] = job->slot;
    return job;
}

void pending_each(const struct pending *pending, pending_visit *visit, void *arg)
{
    for (void *i = json_object_iter(pending->ids); i; i = json_object_iter_next(pending->ids, i))
        if (!visit(pending->slots[json_integer_value(json_object_iter_value(i))], arg))
            return;
}

struct listing {
    FILE *out;
    size_t n;
    size_t max;
};

static bool put_one(struct pending_job *job, void *arg)
{
    struct listing *listing = arg;
    if (listing->n == listing->max)
        return false;
    (void)fputs(listing->n > 0 ? ", " : "", listing->out);
    text_put(listing->out, job->id.data, job->id.length);
    listing->n++;
    return true;
}

void pending_put(FILE *out, const struct pending *pending, size_t max)
{
    struct listing listing = {.out = out, .max = max};
    pending_each(pending, put_one, &listing);
    if (pending_count(pending) > listing.n)
        (void)fprintf(out, " and %zu more", pending_count(pending) - listing.n);
}
