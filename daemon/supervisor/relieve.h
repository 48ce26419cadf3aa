/* SPDX-License-Identifier: MIT */
#pragma once
/* Dismisses clients that read nothing, when what they hold takes too much memory. */

struct supervisor;

/* While the queued jobs of paused clients take too much of the queue, dismisses the one that was
 * paused first. While all leave far too much unread, drops the one that leaves most, of those that
 * have read nothing for a second. */
void relieve_memory(struct supervisor *supervisor);
