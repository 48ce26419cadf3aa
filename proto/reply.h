/* SPDX-License-Identifier: MIT */
#pragma once
/* Messages from daemon to client: struct to JSON. Each reply_ function allocates the payload of one
 * frame into *ret and returns 0 or -ENOMEM. */

#include "benchscore.h"
#include "json.h"
#include "limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROTOCOL_VERSION 1

enum error_code {
    ERROR_BAD_REQUEST,
    ERROR_FRAME_TOO_LARGE,
    ERROR_DENIED,
    ERROR_CANCELLED,
    ERROR_DRAINING,
    ERROR_RUBRIC_NOT_FOUND,
    ERROR_ANOTHER_RUBRIC,
    ERROR_NOT_PERMITTED,
    ERROR_MODULE_NOT_FOUND,
    ERROR_LANGUAGE_NOT_FOUND,
    ERROR_TESTS_NOT_FOUND,
    ERROR_SESSION_ENDED,
    ERROR_SESSION_BUSY,
    ERROR_TOO_MANY_SESSIONS,
    ERROR_SANDBOX_FAILED,
    ERROR_STARVED,
    ERROR_INTERNAL,
};

const char *error_code_name(enum error_code code);

/* Tells whether the same request may succeed later, unchanged. */
bool error_code_retriable(enum error_code code);

enum limits_times {
    LIMITS_IN_SECONDS,      /* as clients see them: whole seconds are integers */
    LIMITS_IN_MILLISECONDS, /* as they are configured */
};

/* An object of all LIMITS by their keys. The caller owns it; NULL when memory runs out. */
json_t *limits_json(const struct limits *limits, enum limits_times times);

/* How the process ended. */
struct outcome {
    bool success;
    int exit_code;     /* -1: none */
    int signal;        /* 0: none */
    enum limit limit;  /* LIMIT_NONE: none was exceeded */
    char *stderr_text; /* owned, valid UTF-8 */
    size_t stderr_length;
    char *summary; /* owned, valid UTF-8 */
};

#define OUTCOME_NULL                         \
    {                                        \
        .exit_code = -1, .limit = LIMIT_NONE \
    }

void outcome_deinit(struct outcome *outcome);
#define _cleanup_outcome_ _cleanup_(outcome_deinit)

struct usage {
    int64_t wall_clock_ms; /* from the start of the program, rounded up, at least 1 */
    int64_t cpu_ms;
    int64_t cpu_wait_ms; /* runnable, but without a CPU; -1: the kernel does not tell */
    int64_t max_rss_bytes;
    int64_t queue_ms;
};

/* A deadline that was moved because others had the CPUs. */
struct deadline {
    unsigned moves;        /* how often; 0: it was not moved */
    int64_t wall_clock_ms; /* the limit in the end */
};

struct reply_result {
    const struct bytes *id;
    uint64_t job_no;
    const char *kind;
    const struct bench_score *score; /* NULL: no score, and `reason` says why */
    const char *reason;              /* a word; NULL if there is a score */
    const char *errno_name;          /* "ENOENT" ...; NULL: nothing to tell, or not of this kind */
    const struct outcome *outcome;
    const struct usage *usage;
    struct deadline deadline;
    const struct bytes *isolation;    /* {class, layers, digest} as JSON text */
    const struct bytes *stdout_bytes; /* arbitrary bytes; NULL: this kind leaves it out */
    const char *verdict;              /* a word; NULL: this kind has none */
    const char *mode;                 /* "isolated" ...; NULL: this kind has none */
    const char *interpreter;          /* "warm" or "cold"; NULL: none ran */
    const char *rubric_digest;        /* 64 digits; NULL: none */
    const char *no_rubric_digest;     /* why there is none; NULL: there is one, or no rubric ran */
    const char *warm_class;           /* 64 digits; NULL: nothing was loaded ahead */
    const char *no_warm_class;        /* why, not empty; NULL: it was, or was not wanted */
    const json_t *assertions;         /* [{passed, detail?}], borrowed; NULL: this kind has none */
    const json_t *transcript;         /* {replayable, ...}, borrowed; NULL: none was asked for */
    const json_t *language;           /* {name, ...}, borrowed; NULL: this kind has none */
    const json_t *compile;           /* {output, usage ...}, borrowed; NULL: nothing was compiled */
    const json_t *tests;             /* [{verdict ...}], borrowed; NULL: this kind has none */
    const struct bytes *steps;       /* an array as JSON text; data NULL: the job has none */
    const struct reply_files *files; /* NULL, or with data NULL: none were asked for */
};

/* Files that were taken out of the job's work directory. */
struct reply_files {
    struct bytes files, left_out; /* arrays as JSON text */
    bool are_complete;            /* nothing was left out for being too large or too many */
};

#define REPLY_FILES_NULL                            \
    {                                               \
        .files = BYTES_NULL, .left_out = BYTES_NULL \
    }

void reply_files_deinit(struct reply_files *files);

/* Prints one of several steps: at most MAX bytes of OUT, which may be any bytes. */
struct printer;
void reply_print_step(struct printer *printer, const struct outcome *outcome,
                      const struct usage *usage, const struct bytes *out, size_t max);

/* Maximum bytes of stdout in a result. Even if every byte is escaped it fits in a frame of 64 MiB,
 * which clients can be expected to take. */
#define REPLY_STDOUT_MAX ((size_t)8 << 20)

/* Maximum `detail` bytes per assertion: a full reply fits in one frame even if every byte is
 * escaped. */
#define REPLY_ASSERTION_DETAIL_MAX 200

int reply_result(const struct reply_result *result, struct bytes *ret);

int reply_started(const struct bytes *id, uint64_t job_no, unsigned slot, struct bytes *ret);

/* Leaves out the id if ID is NULL, and the number if JOB_NO is 0. MESSAGE may be arbitrary bytes.
 */
int reply_error(const struct bytes *id, uint64_t job_no, enum error_code code, const char *message,
                struct bytes *ret);

struct reply_hello {
    const char *version;
    const json_t *limits;      /* see protocol.md */
    const json_t *isolation;   /* {class, layers, digest} */
    const json_t *interpreter; /* {path, version} */
    bool may_share;            /* the client may name shares */
};

int reply_hello(const struct reply_hello *hello, struct bytes *ret);

int reply_pong(struct bytes *ret);

/* Of tests that came in parts, what there is of them so far. */
struct reply_stored {
    const struct bytes *id; /* data NULL: none */
    const char *digest;
    size_t count, bytes;  /* of the tests */
    unsigned part, parts; /* 0: they came in one piece */
};

int reply_stored(const struct reply_stored *stored, struct bytes *ret);

/* A session as it was opened, or as it ended. */
struct reply_session {
    const struct bytes *id; /* of the request; NULL: the client has not asked */
    uint64_t number;
    const char *reason;            /* of the end, a word */
    uint64_t lease_ms, idle_ms;    /* of the opening */
    const struct limits *limits;   /* likewise */
    const struct bytes *isolation; /* likewise, JSON text */
    uint64_t commands, age_ms;     /* of the end */
};

int reply_session_opened(const struct reply_session *session, struct bytes *ret);
int reply_session_closed(const struct reply_session *session, struct bytes *ret);

/* What a program has written. */
struct reply_output {
    const struct bytes *id;
    uint64_t job_no;
    const char *stream; /* "stdout" or "stderr" */
    int step;           /* which of the job's steps has written it; -1: the job has none */
    const char *data;
    size_t length;
};

int reply_output(const struct reply_output *output, struct bytes *ret);

/* The terminal of job JOB_NO has taken N bytes of what was typed. */
int reply_input_taken(const struct bytes *id, uint64_t job_no, size_t n, struct bytes *ret);

struct reply_reloaded {
    uint64_t generation;
    char *const *changed; /* "section.key" of each key that changed */
    size_t changed_count;
    char *const *restart; /* the same of each that a restart would change */
    size_t restart_count;
    const char *digest; /* of the isolation of new jobs */
};

int reply_reloaded(const struct reply_reloaded *reloaded, struct bytes *ret);

/* REASON is a word ("draining", "replies_unread"), MESSAGE a sentence. */
int reply_bye(const char *reason, const char *message, struct bytes *ret);
