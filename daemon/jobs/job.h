/* SPDX-License-Identifier: MIT */
#pragma once
/* The room: jobs. A job is an admitted request on its way: queued, then on a slot, then answered
 * and freed. settings.c holds the rules that it was admitted under, jobset.c a connection's
 * unfinished jobs, answer.c the message that ends it.
 *
 * May include kinds, pool, confine, cgroup, log, base and the libraries.
 *
 * Invariants:
 *  - job_enter() alone changes a job's place, and counts the jobs of a connection that run.
 *  - A job has a slot exactly while it is JOB_ON_SLOT, and a queue entry in a lane exactly while it
 * is JOB_QUEUED.
 *  - A job is freed only when it is in no queue, on no slot and in no set. */

#include "daemon/pool/queue.h"
#include "proto/request.h"

#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#define JOB_LABEL_MAX 256

struct conn;
struct settings;
struct slot;

enum job_place {
    JOB_ADMITTED, /* nowhere yet */
    JOB_QUEUED,  /* its entry is in the lane of its connection, or was just popped to be launched */
    JOB_ON_SLOT, /* `slot` runs it, or has it behind the job that it runs */
    JOB_ENDED,   /* answered, or dropped because its client is gone */
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
    uint64_t client_no;  /* of its connection, also when that is gone */
    struct ucred peer;   /* the client that submitted it */
    enum job_place place;
    uint64_t queued_ns;
    uint64_t began_ns; /* when its program started, or was found not to be needed; 0 before */
    bool draining;     /* killed because the daemon stops */
};

TAILQ_HEAD(job_list, job);

/* The unfinished jobs of a connection. Its functions are in jobset.h. */
struct job_set {
    struct job_list list; /* in the order of their submission */
    void *by_id;          /* tsearch(3)'s */
    unsigned running;     /* how many of them are JOB_ON_SLOT */
};

/* Makes a job of REQUEST, a submit of SIZE payload bytes that was decoded under SETTINGS, and takes
 * what REQUEST holds. NULL when memory runs out. */
struct job *job_new(struct request *request, size_t size, struct settings *settings);

/* Moves JOB to PLACE. SLOT is where it runs if that is JOB_ON_SLOT (a job may move from slot to
 * slot), NULL otherwise. Its queue entry was pushed or removed by the caller before. */
void job_enter(struct job *job, enum job_place place, struct slot *slot);

/* Frees the input of a job that was launched: the kernel has it by then. */
void job_drop_input(struct job *job);

/* How long a job that has begun waited for that since it was admitted, in whole milliseconds. */
int64_t job_queue_ms(const struct job *job);

/* Writes what people call a job: the task class of a rubric, the program of a sandbox job, the
 * entry point of code. */
void job_describe(const struct job_spec *spec, char text[JOB_LABEL_MAX]);

/* Frees a job that is just admitted or has ended, and is in no set. Accepts and returns NULL. */
struct job *job_free(struct job *job);
