/* SPDX-License-Identifier: MIT */
#pragma once
/* Dismisses clients that read nothing, when what they hold takes too much memory. */

struct supervisor;

/* While the queued jobs of paused clients take too much of the queue, dismisses one of the user
 * whose clients have most there: the one that has most of that. While all leave far too much
 * unread, drops one of those that have read next to nothing for a second: of the user who leaves
 * most, the one that leaves most. While they leave twice as much as that, drops one of that user's,
 * whether it reads or not. */
void relieve_memory(struct supervisor *supervisor);
