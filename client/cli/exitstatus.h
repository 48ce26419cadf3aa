/* SPDX-License-Identifier: MIT */
#pragma once
/* Exit statuses and which of several wins. A command that ran in
 * `rubricctl sandbox` has its own passed through instead. */

#include <stdbool.h>

enum exit_status {
    STATUS_OK = 0,            /* every job passed */
    STATUS_FAILED = 1,        /* a verdict failed */
    STATUS_USAGE = 2,         /* usage or bad input */
    STATUS_NO_DAEMON = 3,     /* no daemon, or lost */
    STATUS_ERRORS = 4,        /* some jobs ended in `error` */
    STATUS_COST_CAP = 5,      /* the cost cap was passed, and jobs were left out */
    STATUS_UNWRITTEN = 6,     /* the results could not be written: the disk is full, say */
    STATUS_INTERRUPTED = 130, /* as a shell reports a command that Ctrl-C ended */
};

/* All that happened in a command that may deserve a status. */
struct ending {
    bool interrupted;
    bool lost;
    bool unwritten;
    bool cost_capped;
    bool bad_input;
    bool errors;
    bool failed;
};

/* Precedence 130, 6, 3, 5, 2, 4, 1; with NO_FAIL a failed verdict counts as none. */
enum exit_status ending_status(const struct ending *ending, bool no_fail);
