/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the files of rubrics whose digests are wanted, a portion in each turn of the event loop:
 * nothing else waits for them. */

struct supervisor;

/* 0 or -ENOMEM. The event loop need not exist. */
int rubrics_init(struct supervisor *supervisor);

/* Has the event loop, which exists, read on if there is something to read. */
void rubrics_go_on(struct supervisor *supervisor);

void rubrics_deinit(struct supervisor *supervisor);
