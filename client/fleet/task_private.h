/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of a task share: task.c goes through the states, taskmark.c keeps the mark. */

#include "task.h"

/* Changes the state; nothing else does. */
void task_enter(struct task *task, enum task_state state);

/* Tells the server what becomes of the message: VERB is "+ACK", "-NAK" with or without a delay, or
 * "+TERM". */
void task_settle(struct task *task, const char *verb, enum task_end end);

/* The daemon is no longer busy with this job: the slot may have the next one. */
void task_release_slot(struct task *task);

/* Settles a task without a result: hands the job back, or terminates its message if it is
 * cancelled. Its start must be off the mark, or count. */
void task_settle_unrun(struct task *task);

/* Gives the job to the daemon, now that its start is marked. */
void task_run(struct task *task);

/* Stores a dead letter for the job, whose mark has the number of starts that is allowed. */
void task_bury(struct task *task);

/* Stores that the job is being started here, and goes on: to the daemon; to its dead letter; or it
 * is left to another host, or waits to be alone, if it has starved. */
void taskmark_start(struct task *task);

/* Takes the start off the mark, notes there if the rubric was lacking, and hands the job back then.
 */
void taskmark_take_back(struct task *task);

/* Replaces the start by a note that the job has starved here, and hands it back then. */
void taskmark_starve(struct task *task);
