/* SPDX-License-Identifier: MIT */
#pragma once
/* What sends many jobs to the daemon, a window of them at a time, and writes a line for each
 * answer. Where the jobs come from, and what a line says, is the work's. */

#include "attempt.h"
#include "flakiness.h"
#include "input.h"
#include "jobline.h"
#include "ledger.h"
#include "output.h"
#include "pending.h"
#include "progress.h"
#include "selection.h"
#include "summary.h"

#include "client/cli/options.h"
#include "client/connection/interrupt.h"
#include "client/connection/reconnect.h"
#include "client/connection/session.h"

struct engine_job {
    struct submission submission;
    json_t *note;       /* given back with the answer; may be NULL */
    struct fault place; /* where the job stands, "jobs.jsonl:7": for messages */
};

#define ENGINE_JOB_NULL                \
    {                                  \
        .submission = SUBMISSION_NULL, \
    }

void engine_job_deinit(struct engine_job *job);
#define _cleanup_engine_job_ _cleanup_(engine_job_deinit)

struct engine_work {
    void *arg;
    struct input *input; /* polled and read after INPUT_WAIT; NULL where NEXT never says so */

    /* INPUT_LINE sets *ret, which the engine takes over; INPUT_WRONG sets FAULT, which says where.
     */
    enum input_state (*next)(void *arg, struct engine_job *ret, struct fault *fault);

    /* The line for MESSAGE, a `result` or an `error`, whose parts may be taken: a JSON object, to
     * which `run` is added. 0 or -ENOMEM. */
    int (*answer)(void *arg, struct message *message, json_t *note, struct bytes *ret_line);

    /* What NEXT will give, as far as that can be told; 0: it cannot. */
    uint64_t cases;
    uint64_t samples; /* of each case */
    bool about;       /* an estimate */

    /* Where a run was resumed, its file is counted once more at the end: RECOUNT forgets what
     * ANSWER has counted, RECOUNTED is told of each line. Either both or none. */
    void (*recount)(void *arg);
    void (*recounted)(void *arg, const struct result_line *line, struct summary *summary);
};

/* Options that every command with an engine has; engine_specs is their table. */
struct engine_options {
    const char *output;   /* NULL or "-": standard output */
    const char *retries;  /* NULL: the default */
    const char *cost_cap; /* NULL: none */
    struct text_list filters;
    long jobs;      /* 0: the default */
    long reconnect; /* seconds that a lost daemon is waited for; 0: the default */
    long limit;     /* 0: none */
    bool force;
    bool resume;
    bool no_reconnect;
    bool retry_all_errors;
    bool no_rerun_starved;
    bool fail_fast;
    bool quiet;
};

enum { ENGINE_SPECS = 14 };
extern const struct option_spec engine_specs[ENGINE_SPECS];

/* The exit statuses of such a command, for its help. */
extern const char engine_exits[];

enum engine_phase {
    PHASE_SUBMITTING,
    PHASE_FINISHING,  /* no more is submitted, what is in flight is awaited */
    PHASE_CANCELLING, /* what is in flight has been cancelled */
    PHASE_OVER,       /* nothing more comes from the daemon; what is unwritten is written */
    PHASE_ABORTED,    /* the loop ends now */
};

/* While many jobs are in flight the daemon is looked at now and then. */
struct engine_nap {
    int ms;                   /* in between; 0: none */
    uint64_t answered;        /* between the last two looks */
    uint64_t answered_before; /* in this run */
};

struct engine {
    struct engine_options options;
    struct session session;
    struct interrupt interrupt;
    struct output output;
    struct pending pending;
    struct ledger ledger;
    struct summary summary;
    struct flakiness *flakiness; /* NULL: nobody wants to know; borrowed */
    struct selection selection;
    struct progress progress;
    struct ending ending;
    struct reconnect reconnect;
    struct engine_work work;
    enum engine_phase phase;
    size_t window;
    bool full;      /* it is not filled for now */
    bool draining;  /* the daemon takes no more jobs */
    bool exhausted; /* the work had no more jobs */
    bool stopped;   /* nothing is begun any more: what waits for another attempt stays so */
    bool alone;     /* jobs that were starved of CPU run, one at a time and nothing beside them */
    size_t retries;
    double cost_cap; /* INFINITY: none */
    double cost_usd; /* so far, of all attempts and of the runs that this one continues */
    uint64_t withdrawn;
    bool reader_gone;
    bool interrupted_once;
    int64_t started_ms;
    int64_t ended_ms;
    int64_t progressed_ms; /* when something last finished, or the first job was sent */
    int64_t stall_ms;      /* without progress, until the next notice */
    int64_t cancel_deadline_ms;
    struct engine_nap nap;
    uint64_t answered; /* in this run */
    uint64_t taken;    /* jobs of the input that are wanted, answered before or not */
};

#define ENGINE_NULL                                                                  \
    {                                                                                \
        .session = SESSION_NULL, .interrupt = INTERRUPT_NULL, .output = OUTPUT_NULL, \
    }

/* Opens the output on top of engine->session, which is open, and reads what it has of a run that is
 * resumed. The output may be none of the N INPUTS. Negative after it has said on stderr what is
 * wrong. */
int engine_open(struct engine *engine, const struct engine_options *options,
                const char *const *inputs, size_t n);
void engine_deinit(struct engine *engine);

/* Does the work; engine->ending tells how it ended. */
void engine_run(struct engine *engine, const struct engine_work *work);

/* Jobs that were submitted and got no answer. */
uint64_t engine_unanswered(const struct engine *engine);

/* The summary for people, to stderr. */
void engine_put_summary(const struct engine *engine);
