/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of the engine have of each other. */

#include "engine.h"

#include "client/terminal/text.h"

/* With more than this unwritten, the daemon's replies are left where they are. */
#define ENGINE_UNWRITTEN_MAX (4U << 20)
#define ENGINE_STALL_FIRST_MS 20000

/* engine_options.c: the texts of options. NULL is the default. -EINVAL with FAULT. */
int engine_read_retries(const char *text, size_t *ret, struct fault *fault);
int engine_read_cost_cap(const char *text, double *ret, struct fault *fault);

/* engine_say.c: what is said while it runs. */

/* A message on a line of its own, under or over the live one. */
#define engine_complain(engine, ...)         \
    do {                                     \
        progress_clear(&(engine)->progress); \
        complain(__VA_ARGS__);               \
    } while (0)

/* The first few ids under way, to be freed; NULL when memory runs out. */
char *engine_name_pending(const struct engine *engine);
void engine_show_progress(struct engine *engine, int64_t now);
void engine_notice_stall(struct engine *engine, int64_t now);

/* engine_daemon.c: the daemon, and that it may go away. */

/* Whether a daemon that is lost is waited for. */
bool engine_waits_for_daemon(const struct engine *engine);
bool engine_is_connected(const struct engine *engine);

/* No word comes from the daemon any more. */
void engine_lose_daemon(struct engine *engine, const char *why);

/* What the daemon has not answered it gets again when it is back. */
void engine_lose_connection(struct engine *engine, const char *why);
void engine_go_on_connecting(struct engine *engine);

/* engine_submit.c: from the input to the daemon. */

/* Whether another job may be submitted now. */
bool engine_has_room(struct engine *engine);

/* Hands JOB to the daemon once more. */
void engine_submit_again(struct engine *engine, struct pending_job *job);

/* Submits what has been read. Afterwards either there is no room, or input has to be read. */
void engine_submit_jobs(struct engine *engine);

/* engine_attempt.c: jobs that are run again. */

/* Whether MESSAGE, the answer to JOB, does not count yet: JOB stays pending for another attempt. */
bool engine_tries_again(struct engine *engine, struct pending_job *job,
                        const struct message *message);

/* Hands to the daemon what is due, and sees to it that starved jobs get the host to themselves. */
void engine_run_again(struct engine *engine, int64_t now);

/* When engine_run_again() is due because of the time; INT64_MAX: never. */
int64_t engine_next_attempt(const struct engine *engine);

/* engine_stop.c: ending before all is done. */

/* Asks the daemon to cancel JOB. False when memory runs out. */
bool engine_cancel(struct engine *engine, const struct pending_job *job);

/* Begins nothing more, and takes back what waits in the daemon's queue. Returns how many these
 * were. */
size_t engine_withdraw(struct engine *engine);

/* Ends the run where its cost has passed the cap. */
void engine_watch_cost(struct engine *engine);

/* Ends the run where it is to end with the first job that does not pass, and this is one. */
void engine_watch_failures(struct engine *engine, const struct pending_job *job, const char *how);

/* What the cap has come to. */
void engine_tell_cost(struct engine *engine);

/* engine_answer.c: from the daemon to the output. */
void engine_take_messages(struct engine *engine);
void engine_write_output(struct engine *engine);

/* All that was written is on the disk afterwards, or the ending says that it is not. */
void engine_finish_output(struct engine *engine);

/* engine_resume.c: going on with what an earlier run has left. */

/* Reads the file of results. Negative with FAULT. */
int engine_resume(struct engine *engine, struct fault *fault);

/* Makes the file one line for each id, and counts all of it. */
void engine_conclude(struct engine *engine);
