/* SPDX-License-Identifier: MIT */
#pragma once
/* The room daemon/kinds. Duty: know what each kind of job means to the daemon: plan its launch,
 * judge its end, name it for people. It knows nothing of connections, of the queue or of the
 * supervisor.
 *
 * May include: pool/ for what a slot is given and what it gives back, compare/, languages/,
 * base/roots.h and base/clock.h, what jail/ says of itself in headers (view.h, link.h, pattern.h),
 * conf/language.h, rubricdir/ and proto/.
 *
 * Invariants:
 *  - Each row of JOB_KINDS has its operations (kind.c).
 *  - A plan owns its parts, and borrows the spec and the host.
 *  - Judging is pure. Planning opens the rubric, whose task_class.json it reads and whose directory
 *    it digests, and the readable paths, and does no other I/O. */

#include "daemon/base/roots.h"
#include "daemon/pool/launch.h"
#include "daemon/pool/result.h"
#include "proto/benchscore.h"
#include "proto/jobkinds.h"
#include "proto/reply.h"

struct digests;

struct rubric_roots {
    const char *default_root; /* NULL: a job must name one */
    struct roots allowed;     /* under which a bench root must lie */
    struct digests *digests;  /* of rubrics' directories; NULL: nobody wants to know them */
};

/* The parts of the daemon that jobs use; borrowed. */
struct kind_host {
    const char *interpreter;        /* absolute path of the configured Python */
    const char *const *environment; /* NULL-terminated: what every job gets */
    int checker;                    /* code_exec_checker() */
    struct rubric_roots rubric_roots;
    struct roots readable_roots; /* under which a sandbox job may ask for files */
    struct languages *languages; /* what there is of those that are configured */
    bool keeps_apart; /* the programs of a joined pair (jail/link.h) cannot reach each other */
    bool has_view;    /* jails have a view of their own, with the bench at VIEW_BENCH */
};

/* How a job is run. */
struct kind_plan {
    struct launch launch; /* points into the job's spec, the host and the parts */
    bool no_code;         /* there is no code to run, and nothing to launch */
    void *parts;          /* owned; what `free_parts` frees */
    void (*free_parts)(void *parts);
    void *kept; /* owned: what judge() needs beside the spec; the kind's free_kept() frees it. Only
                 * plan() sets it */
    bool more;  /* another step may follow this one: next() is asked when it has ended */
    bool uses_result; /* the launch points into the result that next() was shown: it cannot wait */
};

#define KIND_PLAN_NULL \
    {                  \
        .parts = NULL  \
    }

/* Frees the parts, except those that the caller has taken. */
void kind_plan_deinit(struct kind_plan *plan);
#define _cleanup_kind_plan_ _cleanup_(kind_plan_deinit)

/* A job whose process has ended. */
struct kind_run {
    const struct job_spec *spec;
    const void *kept;                 /* what the plan kept */
    const struct slot_result *result; /* what the slot saw, of the last step if there are several */
    struct outcome *outcome;          /* the same for the reply; a judge may drop its stderr */
};

/* The result of judging a run. */
struct judgement {
    struct bench_score score;
    bool program_failed; /* the program gave no verdict of its own, which its stderr may explain */
    /* Texts that are not owned are static, or borrowed from the plan or the job where that is said.
     */
    const char *reason;        /* why there is no score; NULL: there is one */
    const char *errno_name;    /* of what a command met; NULL: nothing, or this kind tells none */
    const char *verdict;       /* a word of the protocol; NULL: this kind has none */
    const char *rubric_digest; /* borrowed from what the plan kept; NULL: none */
    const char *no_rubric_digest; /* why, likewise; NULL: there is one, or this kind has none */
    const char
        *warm_class; /* digest of what was loaded ahead, borrowed from the run; NULL: nothing was */
    const char *no_warm_class; /* why, likewise; NULL: it was, or nothing was wanted */
    const char *mode;          /* "isolated", "shared" or "replay"; NULL: this kind has none */
    json_t *assertions;        /* owned; NULL: this kind has none */
    json_t *language;          /* owned: {name, ...} of a program; NULL: this kind has none */
    json_t *tests;             /* owned: what became of each; NULL: this kind has none */
    json_t *compile;           /* owned; NULL: nothing was compiled */
    json_t *transcript;        /* owned: {replayable, data or reason}; NULL: none */
    struct bytes steps; /* owned: an array, printed; data NULL: this job has no steps to tell of */
    struct reply_files files;    /* owned; data NULL: none were asked for */
    bool hides_output;           /* its stdout is told in `steps` */
    char *broken;                /* owned: why there is no verdict at all; NULL: there is one */
    enum error_code broken_code; /* the error to answer with then */
};

#define JUDGEMENT_NULL             \
    {                              \
        .score = BENCH_SCORE_NULL, \
    }

void judgement_deinit(struct judgement *judgement);
#define _cleanup_judgement_ _cleanup_(judgement_deinit)

struct kind_ops {
    bool tells_output;        /* results carry stdout: it is what the job was run for */
    bool tells_interpreter;   /* results say whether the interpreter was warm or cold */
    bool label_is_task_class; /* log entries have the label as the task class, too */

    /* The job's name for people: borrowed from SPEC. */
    const char *(*label)(const struct job_spec *spec);

    /* Jobs of the same affinity had better run where one has run (queue.h). NULL: 0, they need not.
     */
    uint64_t (*affinity)(const struct job_spec *spec);

    /* Whether it takes a slot to answer the job; NULL: always. */
    bool (*is_run)(const struct job_spec *spec);

    /* The score of a job that is_run() says no of. 0 or -ENOMEM. */
    int (*score_unrun)(const struct job_spec *spec, struct bench_score *ret);

    /* Works out how SPEC is run. On failure the return value is negative and *ret_code and FAULT
     * say what to answer; either way kind_plan_deinit() frees what there is. */
    int (*plan)(struct kind_plan *plan, const struct job_spec *spec, const struct kind_host *host,
                enum error_code *ret_code, struct fault *fault);

    /* What follows once a step whose plan said `more` has ended with RESULT. KEPT is what plan()
     * kept. 1: PLAN is the next step; 0: there is none, and judge() follows, with the last result;
     * negative: *ret_code and FAULT say what the job is answered with. PLAN is NULL if ahead() has
     * planned the next step already: 1 goes on with that. NULL: the kind has no steps.
     *
     * It is asked only about a step that has run to an end of its own or at a limit, and of no job
     * that is cancelled: other ends are those of the job. */
    int (*next)(struct kind_plan *plan, const struct job_spec *spec, void *kept,
                const struct kind_host *host, const struct slot_result *result,
                enum error_code *ret_code, struct fault *fault);

    /* How many bytes KEPT holds outside the address space: files of steps that have ended. NULL:
     * none. */
    size_t (*kept_bytes)(const void *kept);

    /* Whether the request lists steps, whose numbers its client knows; NULL: never. */
    bool (*has_steps)(const struct job_spec *spec);

    /* Plans the step after the last one that was planned, which may still run. 1: PLAN is it; 0 or
     * less: it depends on the result of that, and next() will be asked. If next() says that none
     * follows, the daemon drops a step that was planned ahead, or kills it. NULL: none is planned
     * ahead. */
    int (*ahead)(struct kind_plan *plan, const struct job_spec *spec, void *kept,
                 const struct kind_host *host);

    /* Whether all is known of the host that an answer to the job takes: 1; 0 while it is being
     * found out, and the job waits: SPEC may say what for; a shortage as a negative errno, with
     * FAULT. NULL: nothing is to be found out. */
    int (*settle)(struct job_spec *spec, const struct kind_host *host, struct fault *fault);

    /* Whether settle(), which has been asked about SPEC, may say something else by now: without a
     * system call. NULL: it may. */
    bool (*is_due)(const struct job_spec *spec, const struct kind_host *host);

    /* Whether the client named the program, so that the request is wrong if the kernel refuses to
     * execute it; NULL: never. */
    bool (*names_program)(const struct job_spec *spec);

    /* Whether the step that runs is of a program that the job itself has made: then next() is told
     * if the kernel refuses to execute it, and judge() is. KEPT is what plan() kept. NULL: never.
     */
    bool (*made_program)(const void *kept);

    /* Frees what only the job's processes need: the kernel holds it once the last step was handed
     * over. */
    void (*drop_input)(struct job_spec *spec);

    /* The score of a run that ended by itself or at a limit. *ret is JUDGEMENT_NULL before, and the
     * caller's either way. 0 or -ENOMEM. */
    int (*judge)(const struct kind_run *run, struct judgement *ret);

    /* Frees what a plan kept; accepts NULL. NULL: this kind keeps nothing. */
    void (*free_kept)(void *kept);
};

/* The operations of that kind; never NULL. */
const struct kind_ops *kind_ops_get(enum job_kind_id id);
