/* SPDX-License-Identifier: MIT */
#pragma once
/* The room: jobs. A job is an admitted request on its way: queued, then on a slot, then answered
 * and freed. settings.c holds the rules that it was admitted under, jobset.c a connection's
 * unfinished jobs, answer.c the message that ends it.
 *
 * May include kinds, compare, pool, confine, languages, base and the libraries. Knows nothing of
 * connections or of the supervisor.
 *
 * Invariants:
 *  - job_enter() alone changes a job's place.
 *  - A set's `running` is the number of its jobs that are JOB_ON_SLOT. job_set_count() alone
 *    changes it: job_enter() calls it, and job_set_remove() for a job that leaves while on a slot.
 *  - A job has a slot exactly while it is JOB_ON_SLOT, and a queue entry in a lane exactly while it
 *    is JOB_QUEUED.
 *  - A job has a next step exactly while it is JOB_QUEUED after a turn.
 *  - A slot has as many steps of a job as were launched and have not ended: two at most, of which
 *    one is ahead.
 *  - One place at a time owns a job: the queue, a slot, or the function that answers it.
 *  - A job is freed only when it is in no queue, on no slot and in no set. */

#include "daemon/pool/queue.h"
#include "proto/request.h"

#include <assert.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#define JOB_LABEL_MAX 256

struct conn;
struct kind_plan;
struct session;
struct settings;
struct slot;

enum job_place {
    JOB_ADMITTED, /* nowhere yet */
    JOB_QUEUED,   /* its entry is in the lane of its connection, or was just popped to be launched;
                   * before it begins, and between two turns */
    JOB_ON_SLOT,  /* `slot` runs it, or has it behind the job that it runs */
    JOB_ENDED,    /* answered, or dropped because its client is gone */
};

/* The steps of a job: one launch, or several after another; on one slot, unless the job gives that
 * back between two of them. */
struct job_steps {
    unsigned launched; /* how many the slot was handed */
    unsigned ended;    /* how many of these it has given back */
    /* Of those that others followed, together: */
    uint64_t ran_ns, cpu_us, run_delay_ns, max_rss_bytes, deadline_ms;
    unsigned deadline_moves;
    uint64_t turn_ns;       /* when the first program of its turn on a slot started; 0: none has */
    struct kind_plan *next; /* owned: what it goes on with when it gets a slot again; NULL: it has
                             * one, or has not begun */
    int ahead_error;        /* a negative errno: a step could not be handed over ahead; or 0 */
    bool is_settled;   /* the answer stands: no step follows, and one that is ahead is not wanted */
    bool cannot_reply; /* there was no memory for it */
    struct bytes reply; /* owned: the answer, until it is sent */
};

struct job {
    uint64_t number; /* daemon-wide, from 1, never used again */
    struct bytes id; /* the client's */
    struct job_spec *spec;
    struct settings *settings; /* in force when it was submitted; a reference */
    struct queue_entry entry;
    TAILQ_ENTRY(job) of_conn;
    struct job_set *set; /* of its connection; NULL: in none */
    struct conn *conn;   /* NULL: its client is gone, and nobody waits for the answer */
    struct slot *slot;   /* NULL: on none */
    void *kept;          /* what its kind keeps while it runs; owned */
    struct job_steps steps;
    uint64_t client_no; /* of its connection, also when that is gone */
    struct ucred peer;  /* the client that submitted it */
    enum job_place place;
    uint64_t queued_ns;
    uint64_t began_ns;       /* when its program started, or was found not to be needed; 0 before */
    bool draining;           /* killed because the daemon stops */
    struct session *session; /* whose command it is; NULL: none */
    const char *session_over; /* killed because that ends: why, for people; NULL: it was not */
};

TAILQ_HEAD(job_list, job);

/* The unfinished jobs of a connection. Its functions are in jobset.h. */
struct job_set {
    struct job_list list; /* in the order of their submission */
    void *by_id;          /* tsearch(3)'s */
    unsigned running;     /* how many of them are JOB_ON_SLOT */
};

/* Who submits a job. */
struct job_client {
    struct conn *conn;
    uint64_t number; /* of that connection */
    struct ucred peer;
};

/* Makes job NUMBER of REQUEST, a submit of SIZE payload bytes from CLIENT that was decoded under
 * SETTINGS, and takes what REQUEST holds. NULL when memory runs out. */
struct job *job_new(struct request *request, size_t size, struct settings *settings,
                    uint64_t number, const struct job_client *client);

/* Adds CHANGE, 1 or -1, to the running jobs of SET. For job_enter() and job_set_remove() alone. */
static inline void job_set_count(struct job_set *set, int change)
{
    assert(change == 1 || (change == -1 && set->running > 0));
    set->running += (unsigned)change;
}

/* Moves JOB to PLACE. SLOT is where it runs if that is JOB_ON_SLOT (a job may move from slot to
 * slot), NULL otherwise. Its queue entry was pushed or removed by the caller before. */
void job_enter(struct job *job, enum job_place place, struct slot *slot);

/* Notes that the client of JOB, which has left its set, is gone: nobody waits for the answer. */
static inline void job_orphan(struct job *job)
{
    assert(job->conn && !job->set);
    job->conn = NULL;
}

/* Notes at BEGAN_NS that the program of JOB started, or was found not to be needed. Once. */
static inline void job_begin(struct job *job, uint64_t began_ns)
{
    assert(job->began_ns == 0);
    job->began_ns = began_ns;
}

/* Notes that JOB, which is on a slot, is about to be killed because the daemon stops. */
static inline void job_mark_draining(struct job *job)
{
    assert(job->place == JOB_ON_SLOT);
    job->draining = true;
}

/* Counts the step that ended with RESULT into the usage of JOB, of which another step follows. */
struct slot_result;
void job_count_step(struct job *job, const struct slot_result *result);

/* Whether JOB gave its slot back and waits for its next turn. */
static inline bool job_is_between_turns(const struct job *job)
{
    return job->place == JOB_QUEUED && job->steps.next;
}

/* Keeps PLAN (taken), the next step of JOB, which goes to the queue. 0 or -ENOMEM. */
int job_end_turn(struct job *job, struct kind_plan *plan);

/* Takes the next step of a job that is between two turns, and begins the next one. */
struct kind_plan job_begin_turn(struct job *job);

/* Bytes that JOB keeps outside the address space while it is between two turns. */
size_t job_kept_bytes(const struct job *job);

/* Frees the input of a job that was launched: the kernel has it by then. */
void job_drop_input(struct job *job);

/* How long a job that has begun waited for that since it was admitted, in whole milliseconds. */
int64_t job_queue_ms(const struct job *job);

/* Writes what people call a job: the task class of a rubric, the program of a sandbox job, the
 * entry point of code. */
void job_describe(const struct job_spec *spec, char text[JOB_LABEL_MAX]);

/* Frees a job that is just admitted or has ended, and is in no set. Accepts and returns NULL. */
struct job *job_free(struct job *job);
