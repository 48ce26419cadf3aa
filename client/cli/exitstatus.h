/* SPDX-License-Identifier: MIT */
#pragma once
/* The exit statuses of rubricctl, and which one wins if several apply. `rubricctl sandbox` passes
 * on the status of the command that ran instead. */

#include <stdbool.h>

enum exit_status {
    STATUS_OK = 0,            /* every job passed */
    STATUS_FAILED = 1,        /* a job did not pass */
    STATUS_USAGE = 2,         /* wrong usage, or unusable input */
    STATUS_NO_DAEMON = 3,     /* no daemon, or the connection was lost */
    STATUS_ERRORS = 4,        /* some jobs ended in an `error` instead of a verdict */
    STATUS_COST_CAP = 5,      /* the cost cap was exceeded, so that jobs were left out */
    STATUS_UNWRITTEN = 6,     /* results could not be written; the disk may be full */
    STATUS_INTERRUPTED = 130, /* what a shell reports for a command that Ctrl-C ended */
};

/* What happened during a command, as far as it affects the exit status. */
struct ending {
    bool interrupted;
    bool lost;
    bool unwritten;
    bool cost_capped;
    bool bad_input;
    bool errors;
    bool failed;
};

/* Returns the status that wins: 130, then 6, 3, 5, 2, 4, 1. With NO_FAIL, a failed verdict does not
 * count. */
enum exit_status ending_status(const struct ending *ending, bool no_fail);
