/* SPDX-License-Identifier: MIT */
#include "joined.h"

#include "proto/util.h"

#include <sys/wait.h>

void joined_begin(struct joined *joined, struct twin_ends *ends)
{
    joined->is_pair = true;
    joined->ends = *ends;
    *ends = (struct twin_ends)TWIN_ENDS_NULL;
}

/* Leaves the program to be reaped by whoever counts what it has used. */
void joined_note_program(struct joined *joined, pid_t pid)
{
    siginfo_t end = {0};
    joined->is_program_over = true;
    if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0)
        joined->is_failed = end.si_code != CLD_EXITED || end.si_status != 0;
    if (!joined->is_failed) /* otherwise the candidate is stopped before it finds out */
        joined->ends.wire_write = close_fd(joined->ends.wire_write);
}

void joined_note_candidate(struct joined *joined)
{
    joined->is_candidate_over = true;
    joined->was_first = !joined->is_program_over;
    joined->ends.status = close_fd(joined->ends.status);
    joined->ends.candidate_read = close_fd(joined->ends.candidate_read);
    joined->ends.candidate_write = close_fd(joined->ends.candidate_write);
    joined->ends.wire_read = close_fd(joined->ends.wire_read);
}

bool joined_is_over(const struct joined *joined)
{
    return joined->is_program_over && (!joined->is_pair || joined->is_candidate_over ||
                                       joined->is_failed || joined->is_stopped);
}

void joined_end(struct joined *joined, struct link_candidate *ret)
{
    if (joined->is_pair)
        *ret = (struct link_candidate){
            .end = joined->is_candidate_over ? LINK_CANDIDATE_ENDED : LINK_CANDIDATE_STOPPED,
            .was_first = joined->was_first,
        };
    twin_ends_close(&joined->ends);
}
