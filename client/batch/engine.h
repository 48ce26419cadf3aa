/* SPDX-License-Identifier: MIT */
#pragma once
/* Submits many jobs to the daemon, a window of them at a time, and writes a line for each answer.
 * struct engine_work says where the jobs come from and what a line holds. The room is described in
 * README.md. */

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
    json_t *note;       /* owned; lent to engine_work.answer with the answer; may be NULL */
    struct fault place; /* where the input has the job, "jobs.jsonl:7": for messages */
    bool left_out;      /* the input names it, but it is not to run */
    bool is_counted;    /* with INPUT_WRONG: what is wrong has been counted as unusable before */
};

#define ENGINE_JOB_NULL                \
    {                                  \
        .submission = SUBMISSION_NULL, \
    }

void engine_job_deinit(struct engine_job *job);
#define _cleanup_engine_job_ _cleanup_(engine_job_deinit)

struct engine_work {
    void *arg;
    struct input *input; /* polled and read after INPUT_WAIT; may be NULL */

    /* INPUT_LINE sets *ret, which the engine takes over; INPUT_WRONG sets FAULT, which names the
     * place. INPUT_WAIT without an INPUT waits for an answer; with none to come it ends the input.
     */
    enum input_state (*next)(void *arg, struct engine_job *ret, struct fault *fault);

    /* Makes the line for MESSAGE, a `result` or an `error`, and may take parts of it. The line is a
     * JSON object; the engine adds `run`. With ASIDE set no line is wanted. Returns 0 or -ENOMEM.
     */
    int (*answer)(void *arg, struct message *message, json_t *note, struct bytes *ret_line);

    /* Names jobs that only prepare another run and leave no lines ("reference solutions"): the
     * first signal cancels them. NULL: the jobs leave lines. */
    const char *aside;

    /* How many jobs NEXT will give. */
    uint64_t cases;   /* 0: unknown */
    uint64_t samples; /* of each case */
    bool about;       /* CASES is an estimate */

    /* At the end of a resumed run the engine counts the whole file again: it calls RECOUNT to
     * forget what ANSWER counted, then RECOUNTED for each line. Set both or neither. */
    void (*recount)(void *arg);
    void (*recounted)(void *arg, const struct result_line *line, struct summary *summary);
};

/* The options that every command with an engine has; engine_specs is their table. */
struct engine_options {
    const char *output;   /* NULL or "-": standard output */
    const char *retries;  /* NULL: the default */
    const char *cost_cap; /* NULL: none */
    struct text_list filters;
    bool numbered;  /* as in struct selection; no option sets it */
    long jobs;      /* 0: the default */
    long reconnect; /* seconds to wait for a lost daemon; 0: the default */
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

/* How far the run is. engine_enter() alone changes the phase, and it only goes forward. */
enum engine_phase {
    PHASE_SUBMITTING, /* submits jobs of the input */
    PHASE_FINISHING,  /* takes no more input; still runs jobs again */
    PHASE_STOPPING,   /* submits nothing at all; waits for what is in flight */
    PHASE_CANCELLING, /* cancelled what is in flight; waits for the answers until a deadline */
    PHASE_FLUSHING,   /* expects nothing more from the daemon; writes what is unwritten */
    PHASE_ABORTED,    /* leaves the loop now, whatever is unwritten */
    ENGINE_PHASES,
};

/* With many jobs in flight the engine looks at the daemon only now and then. */
struct engine_nap {
    int ms;                   /* between two looks; 0: no nap */
    uint64_t answered;        /* answers between the last two looks */
    uint64_t answered_before; /* answers in this run up to the last look */
};

struct engine {
    struct engine_options options;
    struct session session;
    struct interrupt interrupt;
    struct output output;
    struct pending pending;
    struct puts puts; /* of the session */
    struct ledger ledger;
    struct summary summary;
    struct flakiness *flakiness; /* borrowed; NULL: not wanted */
    struct selection selection;
    struct progress progress;
    struct ending ending;
    struct reconnect reconnect;
    struct engine_work work;
    enum engine_phase phase;
    size_t window;
    bool window_full;   /* wait until a part of the window is free */
    bool daemon_drains; /* the daemon takes no more jobs */
    bool exhausted;     /* the work had no more jobs */
    bool alone;         /* runs starved jobs, one at a time and nothing beside them */
    size_t retries;
    double cost_cap; /* INFINITY: none */
    double cost_usd; /* of all attempts so far, and of the runs that this one continues */
    uint64_t withdrawn;
    uint64_t withdrawn_begun; /* of those, ended while they ran: their cancel came late */
    uint64_t left_out;        /* wanted jobs of the input that are not to run */
    uint64_t not_in_input;    /* lines of a resumed file with ids that the whole input lacks */
    bool reader_gone;
    int64_t started_ms;
    int64_t ended_ms;
    int64_t progressed_ms; /* when a job last finished, or the first one was sent */
    int64_t stall_ms;      /* this long without progress: next notice */
    int64_t cancel_deadline_ms;
    struct engine_nap nap;
    /* Submissions that the daemon could not read, so that it does not know whose they are: those
     * after whose error it has answered a ping, and those whose connection may be about to end. */
    size_t unread, doubtful;
    json_t *unread_error; /* the last such error */
    uint64_t answered;    /* in this run */
    uint64_t taken; /* wanted jobs of the input, whether or not an earlier run answered them */
};

#define ENGINE_NULL                                                                  \
    {                                                                                \
        .session = SESSION_NULL, .interrupt = INTERRUPT_NULL, .output = OUTPUT_NULL, \
    }

/* Parses a number like 2.50 and nothing else; false if TEXT is not one. */
bool engine_read_decimal(const char *text, double *ret);

/* Opens the output and reads what a run that is resumed left there; engine->session is open. The
 * output must not be one of the N INPUTS. On failure says on stderr what is wrong and returns a
 * negative errno. */
int engine_open(struct engine *engine, const struct engine_options *options,
                const char *const *inputs, size_t n);
void engine_deinit(struct engine *engine);

/* Counts N jobs of the input that cannot be used; the run then ends as one with bad input. */
void engine_note_unusable(struct engine *engine, uint64_t n);

/* Does the work and sets engine->ending. */
void engine_run(struct engine *engine, const struct engine_work *work);

/* Counts the jobs that were submitted and got no answer. */
uint64_t engine_unanswered(const struct engine *engine);

/* Writes the summary for people to stderr; with options.quiet, only why jobs have no verdict. */
void engine_put_summary(const struct engine *engine);
