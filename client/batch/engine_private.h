/* SPDX-License-Identifier: MIT */
#pragma once
/* Internal interface shared by the files that make up the engine. */

#include "engine.h"

#include "client/terminal/text.h"

/* With more output than this unwritten, the engine stops reading replies. */
#define ENGINE_UNWRITTEN_MAX (4U << 20)
#define ENGINE_STALL_FIRST_MS 20000

/* --- state (engine.c) --------------------------------------------------------------------- */

/* Moves the run to PHASE, which must be a later one. */
void engine_enter(struct engine *engine, enum engine_phase phase);

/* Note what happened, for the exit status. The engine changes engine->ending by these functions and
 * engine_note_unusable() alone. */
void engine_note_failed_job(struct engine *engine); /* a job did not pass */
void engine_note_job_error(struct engine *engine);  /* a job ended in an error */
void engine_note_lost(struct engine *engine);       /* jobs stay without an answer or a line */
void engine_note_unwritten(struct engine *engine);  /* the output cannot be written */
void engine_note_interrupt(struct engine *engine);  /* a signal, or the output's reader is gone */
void engine_note_cost_cap(struct engine *engine);   /* the cost has passed the cap */
void engine_note_empty(struct engine *engine);      /* the input has no job to grade */

/* The summary counts the whole file anew: takes from it whether jobs failed or ended in errors. */
void engine_note_recount(struct engine *engine);

/* The daemon accepts no more jobs. */
void engine_note_draining(struct engine *engine);

/* The daemon, or its successor, accepts jobs again; this counts as progress. */
void engine_note_daemon_back(struct engine *engine);

/* Whether jobs may still be submitted, if only those that are run again. */
static inline bool engine_submits(const struct engine *engine)
{
    return engine->phase <= PHASE_FINISHING;
}

/* Whether the daemon may still answer. */
static inline bool engine_expects_answers(const struct engine *engine)
{
    return engine->phase < PHASE_FLUSHING;
}

static inline bool engine_is_connected(const struct engine *engine)
{
    return reconnect_is_connected(&engine->reconnect);
}

/* Whether to wait for a lost daemon. A private one does not come back, and a user who asked twice
 * to end does not want to wait for one. */
static inline bool engine_waits_for_daemon(const struct engine *engine)
{
    return engine->reconnect.patience_ms > 0 && engine->phase < PHASE_CANCELLING;
}

/* --- options (batch_options.c) ------------------------------------------------------------ */

/* Parse the text of an option; NULL is the default. 0, or -EINVAL with FAULT. */
int engine_read_retries(const char *text, size_t *ret, struct fault *fault);
int engine_read_cost_cap(const char *text, double *ret, struct fault *fault);

/* --- notices (notices.c) ------------------------------------------------------------------ */

/* Writes a message on a line of its own and clears the progress display first. */
#define engine_complain(engine, ...)         \
    do {                                     \
        progress_clear(&(engine)->progress); \
        complain(__VA_ARGS__);               \
    } while (0)

/* Names the first few pending jobs. The caller frees the text; NULL when memory runs out. */
char *engine_name_pending(const struct engine *engine);
void engine_show_progress(struct engine *engine, int64_t now);
void engine_notice_stall(struct engine *engine, int64_t now);

/* --- a daemon that goes away (lost_daemon.c) ---------------------------------------------- */

/* Gives the daemon up: the run ends without the answers that are missing. WHY is for people. */
void engine_lose_daemon(struct engine *engine, const char *why);

/* Begins to reconnect. Gives the daemon up instead if the run needs nothing more from it, or if it
 * must not wait for one. */
void engine_lose_connection(struct engine *engine, const char *why);

/* Takes the next step of reconnecting. When the daemon is back, submits again what it has not
 * answered. */
void engine_go_on_connecting(struct engine *engine);

/* --- from the input to the daemon (submit.c) ---------------------------------------------- */

/* Whether another job of the input may be submitted now. */
bool engine_has_room(struct engine *engine);

/* Submits JOB, which is pending, once more. */
void engine_submit_again(struct engine *engine, struct pending_job *job);

/* Submits jobs of the input until the window is full or input has to be read. */
void engine_submit_jobs(struct engine *engine);

/* --- jobs that run again (retry.c) -------------------------------------------------------- */

/* Decides whether MESSAGE, the answer to JOB, counts. If not, returns true and keeps JOB pending
 * for another attempt. */
bool engine_tries_again(struct engine *engine, struct pending_job *job,
                        const struct message *message);

/* Submits the attempts that are due, and runs starved jobs alone when it is their turn. */
void engine_run_again(struct engine *engine, int64_t now);

/* Returns when the next attempt is due; INT64_MAX: none is. */
int64_t engine_next_attempt(const struct engine *engine);

/* --- ending early (stop.c) ---------------------------------------------------------------- */

/* Handles a SIGINT or SIGTERM: the first one stops, the second cancels, the third aborts. */
void engine_take_signal(struct engine *engine);

/* Gives up waiting for the answers to cancelled jobs once their deadline has passed. */
void engine_check_cancelling(struct engine *engine, int64_t now);

/* Stops the run if its cost has passed the cap. */
void engine_check_cost(struct engine *engine);

/* Stops the run if --fail-fast is given. JOB did not pass; HOW is for people. */
void engine_check_failures(struct engine *engine, const struct pending_job *job, const char *how);

/* Says by how much the run exceeded its cost cap, if it did. */
void engine_tell_cost(struct engine *engine);

/* Says how many of the jobs taken back were ended while they ran, if any were. */
void engine_tell_withdrawn(struct engine *engine);

/* --- from the daemon to the output (answer.c) --------------------------------------------- */

void engine_take_messages(struct engine *engine);
void engine_write_output(struct engine *engine);

/* Brings all that was written to the disk; on failure says so in engine->ending. */
void engine_finish_output(struct engine *engine);

/* --- going on with an earlier run (resume.c) ---------------------------------------------- */

/* Reads the file of results into the ledger. Negative errno with FAULT. */
int engine_resume(struct engine *engine, struct fault *fault);

/* Keeps the last line of each id in a resumed file, and counts the file for the summary. */
void engine_conclude(struct engine *engine);
