/* SPDX-License-Identifier: MIT */
#pragma once
/* An admitted request on its way: first in the queue, then in a slot, then answered and freed.
 * `conn` is revocable: it becomes NULL when the client goes away. */

#include "daemon/pool/queue.h"
#include "proto/request.h"

#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#define JOB_LABEL_MAX 256

struct conn;
struct settings;
struct slot;

struct job {
    uint64_t number; /* daemon-wide, from 1, never used again */
    struct bytes id; /* the client's */
    struct job_spec *spec;
    struct settings *settings; /* in force when it was submitted; a reference */
    struct queue_entry entry;
    TAILQ_ENTRY(job) of_conn;
    struct conn *conn;  /* NULL: nobody waits for the answer */
    struct slot *slot;  /* NULL: queued */
    void *kept;         /* what its kind keeps while it runs; owned */
    uint64_t client_no; /* of the conn, also when that is gone */
    struct ucred peer;  /* who submitted it */
    uint64_t queued_ns;
    uint64_t began_ns; /* when its program started, or it was found to have none; 0 before */
    bool draining;     /* killed because the daemon stops */
};

TAILQ_HEAD(job_list, job);

/* Takes what REQUEST, a submit of SIZE payload bytes, holds; it was decoded under SETTINGS. NULL
 * when memory runs out. */
struct job *job_new(struct request *request, size_t size, struct settings *settings);

/* Frees what only the job's process needs: the kernel holds it by then. */
void job_drop_input(struct job *job);

/* How long a job that has begun waited for that since it was admitted, in whole milliseconds. */
int64_t job_queue_ms(const struct job *job);

/* What a job is called for people: the task class of a rubric, the program of a sandbox job,
 * the entry point of code. */
void job_describe(const struct job_spec *spec, char text[JOB_LABEL_MAX]);

/* Frees a job that is in no list; accepts NULL and returns NULL. */
struct job *job_free(struct job *job);
