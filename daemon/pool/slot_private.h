/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of the slot have of each other. */

#include "slot.h"

/* slot.c: the states, the job, the jail's life. */

/* TIMEOUT_MS 0: wait for as long as it takes. */
void slot_enter(struct slot *slot, enum slot_state state, uint64_t timeout_ms);

void slot_kill_job(struct slot *slot, enum slot_kill why);

/* The program has ended, at ENDED_NS by what is known. */
void slot_note_exit(struct slot *slot, uint64_t ended_ns);

/* Gives the job back. The jail, if it lives, is free for the next one. */
void slot_complete(struct slot *slot, enum slot_end end);
void slot_complete_if_over(struct slot *slot);

/* Whether the end of the job was reported and it is not over yet: what the jail says then is not
 * for it. */
bool slot_is_deaf(const struct slot *slot);

/* The jail has not begun with the next job, and will not. */
void slot_retract_next(struct slot *slot);

void slot_jail_is_ready(struct slot *slot);
void slot_jail_lost(struct slot *slot, const char *why);

/* slot_report.c: what the jail says. */

/* Sets the timer to what comes first: the deadline, or the moment at which the tree may have used
 * up its CPU time. */
void slot_run_on(struct slot *slot);

void slot_on_link(evutil_socket_t fd, short what, void *userdata);
