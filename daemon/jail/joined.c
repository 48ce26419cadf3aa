/* SPDX-License-Identifier: MIT */
#include "joined.h"
#include "move.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

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
    int status = -1;
    ssize_t n = read(joined->ends.status, &status, sizeof(status));
    bool ended_well = n == (ssize_t)sizeof(status) && status == 0;
    joined->is_candidate_over = true;
    joined->ended_ns = clock_now_ns();
    joined->was_first = !joined->is_program_over;
    joined->ends.status = close_fd(joined->ends.status);
    if (!ended_well)
        joined->ends.candidate_read = close_fd(joined->ends.candidate_read);
    joined->ends.candidate_write = close_fd(joined->ends.candidate_write);
    joined->ends.wire_read = close_fd(joined->ends.wire_read);
}

int joined_unread(const struct joined *joined)
{
    if (joined->is_program_over)
        return joined->ends.wire_read;
    return joined->is_candidate_over ? joined->ends.candidate_read : -1;
}

void joined_drop(struct joined *joined)
{
    int *unread = joined->is_program_over ? &joined->ends.wire_read : &joined->ends.candidate_read;
    assert(*unread >= 0 && *unread == joined_unread(joined));
    ssize_t n = move_away(*unread);
    bool is_lost = n == 0 || (n < 0 && n != -EAGAIN);
    if (n > 0 && !joined->is_program_over)
        joined->dropped += (size_t)n;
    if (is_lost || joined->dropped > JOINED_DROPPED_MAX)
        *unread = close_fd(*unread);
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
            .ended_ns = joined->ended_ns,
        };
    twin_ends_close(&joined->ends);
}
