/* SPDX-License-Identifier: MIT */
#pragma once
/* What JetStream answers, and the subjects of its requests. The requests go through the bus, which
 * does not block; the library's own calls do, and are for commands that have nothing else to do. */

#include "bus.h"
#include "names.h"

#include <jansson.h>

/* Headers of jobs and results. */
#define API_DIGEST "Rubricd-Digest" /* SHA-256 of the job that this is, or is the result of */
#define API_BODY "Rubricd-Body"     /* the body is not here but in the inputs: "HEX CHUNKS" */
#define API_TESTS "Rubricd-Tests"   /* the tests that the job names are in the inputs, as above */
#define API_BENCH "Rubricd-Bench"   /* the rubric that the job is to have: "DIGEST TASK_CLASS" */
#define API_TYPE "Rubricd-Type"     /* of a result: "result" or "error" */
#define API_HOST "Rubricd-Host"     /* of a result: the worker */
#define API_ISOLATION "Rubricd-Isolation"   /* of a result: the digest of the job's confinement */
#define API_STARVED "Rubricd-Starved"       /* of a job: "keep" its answer even if it got no CPU */
#define API_SUBMISSION "Rubricd-Submission" /* of a job: the number by which it is taken back */
#define API_EXPECT "Nats-Expected-Last-Subject-Sequence"
#define API_ID "Nats-Msg-Id"

enum api_outcome {
    API_OK,
    API_EXISTS,    /* the subject has a message, and keeps it */
    API_CONFLICT,  /* the subject's last message is not the expected one */
    API_GONE,      /* no such message */
    API_FULL,      /* a limit or the disk is reached: the message is not stored */
    API_TOO_LARGE, /* the stream takes no message of that size */
    API_AGAIN,     /* the server cannot answer now */
    API_REFUSED,   /* anything else */
};

struct api_answer {
    enum api_outcome outcome;
    uint64_t seq;   /* of what was stored; 0: nothing was */
    char text[256]; /* what the server said of an error; "" */
};

/* What to do about API_FULL, for the end of a message; "" for other outcomes. */
const char *api_remedy(const struct api_answer *answer);

/* Reads the answer to a publication or another request. */
void api_read(natsMsg *reply, struct api_answer *ret);

/* Returns the header NAME, borrowed from MESSAGE; NULL if it has none. */
const char *api_header(natsMsg *message, const char *name);

/* Returns the status that the server put into the headers (404, 408, ...); 0: none. */
int api_status(natsMsg *message);

/* Returns the sequence of a message that a direct get has found; 0 if it has found none. */
uint64_t api_sequence(natsMsg *message);

/* What the reply subject of a message from a consumer says. */
struct api_delivery {
    const char *consumer; /* borrowed from the subject: what is up to its next '.' */
    uint64_t stream_seq;
    uint64_t delivered; /* how often, this time among them */
};

/* Returns whether REPLY is such a subject. */
bool api_read_delivery(const char *reply, struct api_delivery *ret);

/* Returns whether the consumer NAME has delivered this. */
bool api_is_from(const struct api_delivery *delivery, const char *name);

/* Write the subject of a request. */
void api_direct_last(const char *fleet, enum fleet_stream stream, const char *subject, char *ret,
                     size_t size);
void api_subject(const char *what, const char *fleet, enum fleet_stream stream, const char *more,
                 char *ret, size_t size);

enum { API_SUBJECT_SIZE = NAMES_SUBJECT_SIZE * 2, API_PURGE_SIZE = NAMES_SUBJECT_SIZE + 16 };

/* Writes the request that removes all messages of STREAM whose subjects match FILTER: SUBJECT and
 * TEXT, whose length it returns. */
size_t api_purge(const char *fleet, enum fleet_stream stream, const char *filter,
                 char subject[API_SUBJECT_SIZE], char text[API_PURGE_SIZE]);
